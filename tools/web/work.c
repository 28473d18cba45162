/* A launch in the page: arguments are made up as `tilevm run` makes them up, and a run ends when its time is over. */
#include <emscripten.h>
#include <stdlib.h>

#include "bytecode/module.h"
#include "tools/web/web.h"

enum { MOST_MEMORY = 1 << 30 };

/* Lets the kernel run until the time is over. */
static bool go_on(void *user, uint64_t done, uint64_t total)
{
    const web_work *work = user;
    (void)done;
    (void)total;
    return emscripten_get_now() < work->deadline;
}

static bool make_arguments(run_job *job, const web_launch *launch, io_error *error)
{
    const arg_context context = {.arena = &job->arena, .seed = launch->seed, .budget = &job->budget};
    return arg_set_init(&job->set, &job->arena, job->signature, error) && arg_set_make(&job->set, &context, error)
           && arg_synthesise(&job->set, &context, job->module, job->entry, job->options.grid, &job->study, error);
}

static tv_status prepare(run_job *job, const web_launch *launch, io_error *error)
{
    job->symbol = bc_arena_dup(&job->arena, tv_module_entry_name(job->module, job->entry)).ptr;
    if (!job->symbol)
        return TV_NO_MEMORY;
    TV_TRY(tv_signature_of_entry(job->module, job->entry, job->sink, &job->signature));
    if (!make_arguments(job, launch, error))
        return TV_USAGE;
    job->synthesised = true;
    run_made_up_listen(job);
    return run_job_call_here(job);
}

web_work *web_work_open(web_page *page, const web_launch *launch, tv_sink sink, web_part_kind part)
{
    io_error error = {{0}};
    web_work *work = page->valid && launch->entry < tv_module_entry_count(page->module) ? calloc(1, sizeof *work)
                                                                                        : NULL;
    if (!work)
        return NULL;
    run_job *job = &work->tiles.job;
    work->deadline = emscripten_get_now() + launch->most_ms;
    bc_arena_init(&job->arena, NULL, 0);
    bc_text_init(&job->output, NULL);
    report_file_init(&job->report, page->name);
    job->module = page->module;
    job->entry = launch->entry;
    job->options.path = page->name;
    job->options.vm = (tv_vm_options){.threads = 1, .user = work, .progress = go_on};
    for (unsigned d = 0; d < 3; d++)
        job->options.grid[d] = launch->grid[d];
    job->budget.limit = MOST_MEMORY;
    job->sink = sink.report ? sink : report_file_sink(&job->report);
    tv_status status = prepare(job, launch, &error);
    if (status == TV_OK)
        return work;
    bc_text_visible(&page->parts[part], bc_str(status == TV_NO_MEMORY ? "out of memory" : error.text), "");
    web_work_close(work);
    return NULL;
}

void web_work_close(web_work *work)
{
    work->tiles.job.module = NULL; /* it is the page's */
    page_tiles_release(&work->tiles);
    run_job_release(&work->tiles.job);
    free(work);
}

int web_run_once(run_job *job, tv_vm_options *options)
{
    tv_status status = run_job_kernel(job, options);
    return status == TV_NO_MEMORY ? CLI_ERROR : status == TV_OK ? CLI_OK : CLI_FAILED;
}
