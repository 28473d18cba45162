/* Two runs of a kernel from the same arrays: for what it computes, and for findings. */
#include "tools/tilevm/page/page.h"
#include "tools/tilevm/run/memory.h"

enum { DEFAULT_STEPS = 200000000 }; /* of the run with checks, as of `tilevm check` */

static int run_checked(run_job *job, page_watch *watch, page_runner *run)
{
    tv_vm_options checked = job->options.vm;
    tv_vm *plain = job->vm;
    tv_vm_stats stats = job->stats;
    report_file first = job->report;
    job->vm = NULL;
    report_file_init(&job->report, first.path);
    job->observer = &watch->observer;
    checked.checks = TV_CHECK_ALL;
    checked.step_limit = checked.step_limit ? checked.step_limit : DEFAULT_STEPS;
    int code = run(job, &checked);
    tv_vm_free(job->vm);
    report_file_release(&first);
    job->vm = plain;
    job->stats = stats;
    return code;
}

int page_run_twice(page_tiles *tiles, page_watch *watch, page_runner *run)
{
    run_job *job = &tiles->job;
    run_memory memory;
    run_copy before = {0};
    tv_vm_options vm = job->options.vm;
    int code = CLI_OK;
    if (!run_memory_collect(&job->arena, &job->set, &memory) || !run_memory_save(&memory, &before)
        || !page_tiles_begin(tiles, &vm)) {
        code = cli_error("out of memory");
    } else if ((code = run(job, &vm)) != CLI_INTERRUPTED && code != CLI_ERROR) {
        run_memory_restore(&memory, &before);
        code = run_checked(job, watch, run);
    }
    run_copy_free(&before);
    return code;
}
