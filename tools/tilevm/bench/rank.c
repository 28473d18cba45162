/* Compiles every variant with the cost model listening, by several threads, and sorts those whose code differs. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "codegen/compile.h"
#include "tools/tilevm/bench/tune.h"
#include "tools/tilevm/cli/images.h"
#include "tools/tilevm/cli/work.h"

enum { TUNE_TEXT = 300 };
typedef char tune_text[TUNE_TEXT];

typedef struct ranking {
    const tune_options *options;
    tune_result *result;
    const int64_t *params; /* integers of the launch, by position */
    size_t param_count;
    tune_text *texts;   /* one for each variant: what is wrong with it */
    size_t *seen, mask; /* places of variants, plus 1, hashed by their code */
    bool no_memory;     /* for one of them */
} ranking;

/* One variant, while it is compiled. */
typedef struct compiling {
    tune_variant *v;
    char *text;
} compiling;

/* ---- what is heard ---- */

static void note(compiling *c, tv_str message)
{
    if (!c->text[0])
        snprintf(c->text, TUNE_TEXT, "%.*s", (int)(message.len < TUNE_TEXT ? message.len : TUNE_TEXT - 1), message.ptr);
}

static void take_diag(void *user, const tv_diag *diag)
{
    compiling *c = user;
    char text[TUNE_TEXT];
    if (diag->severity != TV_ERROR)
        return;
    snprintf(text, sizeof text, "[%s] %.*s", diag->rule, (int)diag->message.len, diag->message.ptr);
    note(c, bc_str(text));
}

/* Remarks on registers: tiles are likely to spill, or a hint is not followed because they would. */
static void take_remark(void *user, const tv_remark *remark)
{
    bool wanted = strcmp(remark->name, "LargestTile") == 0 || strcmp(remark->name, "Occupancy") == 0;
    if (wanted && remark->kind == TV_REMARK_MISSED)
        note(user, remark->message);
}

static void take_kernel(void *user, cg_func *c)
{
    tune_variant *v = ((compiling *)user)->v;
    const cg_kernel_cost *cost = c->cost;
    if (!cost)
        return;
    v->us = cost->us;
    v->bound = cost->bound; /* lives forever */
    v->threads = cost->threads;
    v->registers = cost->registers;
    v->shared = cost->shared;
    v->blocks = cost->blocks;
}

/* FNV-1a, to find equal texts. */
static bool take_code(void *user, const void *bytes, size_t size)
{
    uint64_t *hash = user;
    const unsigned char *p = bytes;
    for (size_t i = 0; i < size; i++)
        *hash = (*hash ^ p[i]) * 0x100000001b3u;
    return true;
}

/* ---- one variant ---- */

/* TV_IO: text says why. */
static tv_status read_variant(const run_job *job, const tune_variant *v, cli_file *file, char *text)
{
    static const char no_memory[] = "out of memory";
    cli_images images;
    char *problem = NULL;
    *file = (cli_file){.bytes = job->file.bytes, .size = job->file.size, .borrowed = true};
    if (!v->path)
        return TV_OK;
    *file = (cli_file){.bytes = NULL};
    if (cli_images_open(v->path, &images, &problem)) {
        bool taken = cli_images_take(&images, job->symbol, file, &problem);
        cli_images_close(&images);
        if (taken)
            return TV_OK;
    }
    snprintf(text, TUNE_TEXT, "%.200s", problem ? problem : no_memory);
    free(problem);
    return strstr(text, no_memory) ? TV_NO_MEMORY : TV_IO;
}

/* The kernel of the job's name, or the only one, with the variant's hints. TV_USAGE: text says why; others: as for
   opening a module. */
static tv_status open_variant(const run_job *job, const tune_variant *v, const cli_file *file, unsigned sm,
                              tv_module **out, const bc_function **out_f, char *text)
{
    compiling heard = {.text = text};
    const tv_sink sink = {&heard, take_diag};
    size_t entry;
    TV_TRY(tv_module_open(file->bytes, file->size, NULL, sink, out));
    if (tv_module_entry_find(*out, bc_str(job->symbol), (tv_sink){0}, &entry) != TV_OK)
        TV_TRY(tv_module_entry_find(*out, bc_str(""), sink, &entry));
    const bc_function *f = bc_entry_at(*out, entry);
    size_t params = tv_signature_slot_count(job->signature);
    if (f->type->rank != params) {
        snprintf(text, TUNE_TEXT, "its kernel takes %u parameters, not %zu", f->type->rank, params);
        return TV_USAGE;
    }
    bc_function *own = &(*out)->functions[f - (*out)->functions];
    for (size_t i = 0; i < HINTS_KINDS; i++)
        if (v->hints.values[i] && !hints_set(*out, own, sm, hints_kind_at(i), v->hints.values[i]))
            return TV_NO_MEMORY;
    *out_f = own;
    return TV_OK;
}

static tv_status compile_with(ranking *r, compiling *c, cli_file *file, tv_module **m)
{
    tune_variant *v = c->v;
    const tv_sink sink = {c, take_diag};
    const bc_function *f = NULL;
    cg_launch launch = {.params = r->params, .param_count = r->param_count};
    for (size_t i = 0; i < TV_COUNT(launch.grid); i++)
        launch.grid[i] = v->grid[i];
    TV_TRY(read_variant(r->result->job, v, file, c->text));
    TV_TRY(open_variant(r->result->job, v, file, r->options->sm, m, &f, c->text));
    const tv_verify_options verify = {.target = r->options->sm};
    const tv_compile_options compile = {.target = r->options->target, .remarks = {c, take_remark}};
    const cg_request request = {.launch = &launch, .only = f, .user = c, .compiled = take_kernel};
    TV_TRY(tv_module_verify(*m, &verify, sink));
    return cg_compile_with(*m, &compile, &request, sink, (tv_writer){&v->hash, take_code});
}

static void compile_variant(void *user, size_t at)
{
    ranking *r = user;
    tune_variant *v = &r->result->space.variants[at];
    compiling c = {.v = v, .text = r->texts[at]};
    tv_module *m = NULL;
    cli_file file = {.bytes = NULL};
    v->hash = 0xcbf29ce484222325u;
    take_code(&v->hash, v->grid, sizeof v->grid);
    tv_status status = compile_with(r, &c, &file, &m);
    v->outcome = status == TV_OK ? TUNE_RANKED : status == TV_NO_MEMORY ? TUNE_NO_MEMORY : TUNE_REFUSED;
    v->problem = c.text[0] ? c.text : NULL;
    if (m)
        tv_module_close(m);
    cli_file_free(&file);
}

/* In the order of the space: of the variants with the same code, only the first is ranked. */
static void take_variant(void *user, size_t at, cli_progress *progress)
{
    ranking *r = user;
    tune_result *result = r->result;
    tune_variant *v = &result->space.variants[at];
    (void)progress;
    r->no_memory = r->no_memory || v->outcome == TUNE_NO_MEMORY;
    result->refused += v->outcome == TUNE_REFUSED;
    if (v->outcome != TUNE_RANKED)
        return;
    size_t place = (size_t)v->hash & r->mask;
    while (r->seen[place] && result->space.variants[r->seen[place] - 1].hash != v->hash)
        place = (place + 1) & r->mask;
    if (r->seen[place]) {
        v->outcome = TUNE_SAME;
        v->same = r->seen[place] - 1;
        result->same++;
        return;
    }
    r->seen[place] = at + 1;
    result->order[result->ranked++] = at;
}

/* ---- all of them ---- */

typedef struct ranked {
    bool known;
    double percents; /* the logarithm of the predicted time in steps of a percent: closer predictions say nothing */
    size_t at;
} ranked;

static ranked ranked_of(double us, size_t at)
{
    return (ranked){us >= 0, us > 0 ? floor(log(us) * 100) : 0, at};
}

/* Sorts by prediction, unknown ones last; ties by place, so that the unchanged kernel comes first. */
static int compare_ranked(const void *a, const void *b)
{
    const ranked *x = a, *y = b;
    if (x->known != y->known)
        return x->known ? -1 : 1;
    if (x->known && x->percents != y->percents)
        return x->percents < y->percents ? -1 : 1;
    return x->at < y->at ? -1 : x->at > y->at;
}

static bool sort_variants(tune_result *result)
{
    ranked *list = calloc(result->ranked + 1, sizeof *list);
    if (!list)
        return false;
    for (size_t i = 0; i < result->ranked; i++)
        list[i] = ranked_of(result->space.variants[result->order[i]].us, result->order[i]);
    qsort(list, result->ranked, sizeof *list, compare_ranked);
    for (size_t i = 0; i < result->ranked; i++) {
        result->order[i] = list[i].at;
        result->space.variants[list[i].at].rank = i + 1;
    }
    free(list);
    return true;
}

/* Integers of the launch; unknown ones are 0, and predictions assume that. */
static bool find_params(ranking *r)
{
    run_job *job = r->result->job;
    arg_study study;
    if (!arg_study_arguments(&job->set, bc_entry_at(job->module, job->entry), job->options.grid, &study))
        return false;
    int64_t *params = bc_new(&job->arena, int64_t, study.count);
    for (size_t i = 0; params && i < study.count; i++)
        params[i] = study.slots[i].known ? study.slots[i].value : 0;
    r->params = params;
    r->param_count = study.count;
    return params != NULL;
}

bool tune_rank(run_job *job, const tune_options *options, tune_result *result, io_error *error)
{
    size_t count = result->space.count, capacity = 16;
    while (capacity < 2 * count)
        capacity *= 2;
    result->job = job;
    result->options = options;
    result->order = bc_new(&job->arena, size_t, count);
    ranking r = {.options = options,
                 .result = result,
                 .texts = bc_new(&job->arena, tune_text, count),
                 .seen = bc_new(&job->arena, size_t, capacity),
                 .mask = capacity - 1};
    cli_work work = {.count = count,
                     .threads = cli_thread_count(options->jobs, count, CLI_MAX_THREADS),
                     .noun = "variants",
                     .user = &r,
                     .run = compile_variant,
                     .take = take_variant};
    uint64_t start = cli_clock_ns();
    bool good = result->order && r.texts && r.seen && find_params(&r) && cli_work_run(&work) && !r.no_memory
                && sort_variants(result);
    result->seconds = (double)(cli_clock_ns() - start) * 1e-9;
    return good || io_fail(error, "out of memory");
}

bool tune_variant_bytes(const run_job *job, const tune_variant *v, unsigned sm, bc_text *out, io_error *error)
{
    char text[TUNE_TEXT] = "";
    cli_file file = {.bytes = NULL};
    tv_module *m = NULL;
    const bc_function *f;
    bool good = read_variant(job, v, &file, text) == TV_OK && open_variant(job, v, &file, sm, &m, &f, text) == TV_OK
                && bc_module_compact(m) == TV_OK
                && tv_module_write(m, (tv_sink){0}, (tv_writer){out, bc_text_append}) == TV_OK && !out->failed;
    if (m)
        tv_module_close(m);
    cli_file_free(&file);
    return good || io_fail(error, "%s", text[0] ? text : "out of memory");
}
