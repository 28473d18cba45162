/* A run up to the moment the kernel starts: the file, the entry, the arguments, what is expected and saved. `tilevm
   run` and `tilevm check` share this part. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/tilevm/cli/images.h"
#include "tools/tilevm/run/run.h"

/* ---- options ---- */

bool run_add_pair(cli_args *args, const char *what, const char *value, const char **list, size_t *count)
{
    if (*count == RUN_MAX_PAIRS) {
        cli_usage(args, "more than %d times %s", RUN_MAX_PAIRS, what);
        return false;
    }
    list[(*count)++] = value;
    return true;
}

static bool get_grid(cli_args *args, const char *value, run_options *o)
{
    io_error error;
    o->has_grid = arg_parse_grid(bc_str(value), o->grid, &error);
    if (!o->has_grid)
        cli_usage(args, "--grid: %s", error.text);
    return o->has_grid;
}

bool run_take_option(cli_args *args, int id, const char *value, run_options *o)
{
    uint64_t number = 0;
    switch (id) {
    case RUN_OPT_GRID: return get_grid(args, value, o);
    case RUN_OPT_ENTRY: o->entry = value; return true;
    case RUN_OPT_ARGS: o->args_path = value; return true;
    case RUN_OPT_NAMES: o->names = value; return true;
    case RUN_OPT_SEED: o->has_seed = true; return cli_number(args, "--seed", value, 0, UINT32_MAX, &o->seed);
    case RUN_OPT_THREADS:
        if (!cli_number(args, "--threads", value, 1, 4096, &number))
            return false;
        o->vm.threads = (unsigned)number;
        return true;
    case RUN_OPT_MEMORY:
        if (!cli_number(args, "--memory", value, 1, SIZE_MAX >> 20, &number))
            return false;
        o->vm.memory_limit = (size_t)number << 20;
        return true;
    case RUN_OPT_SHARING: o->allow_sharing = true; return true;
    case RUN_OPT_STEPS: return cli_number(args, "--max-steps", value, 1, UINT64_MAX, &o->vm.step_limit);
    default: break;
    }
    if (o->path)
        return run_add_pair(args, "an argument", value, o->given, &o->given_count);
    o->path = value;
    return true;
}

/* "auto", "cpu", "cuda", "cuda:N" */
bool run_take_device(cli_args *args, const char *value, run_options *o)
{
    uint64_t ordinal = 0;
    o->says_where = true;
    o->where = strcmp(value, "cpu") == 0 ? RUN_ON_CPU : strcmp(value, "auto") == 0 ? RUN_ON_AUTO : RUN_ON_CUDA;
    if (o->where != RUN_ON_CUDA || strcmp(value, "cuda") == 0)
        return true;
    if (strncmp(value, "cuda:", 5) != 0) {
        cli_usage(args, "--device: '%s' is not one of auto, cpu, cuda, cuda:N", value);
        return false;
    }
    if (!cli_number(args, "--device cuda:N", value + 5, 0, 1023, &ordinal))
        return false;
    o->ordinal = (int)ordinal;
    return true;
}

static bool add_check(tv_str word, uint32_t *checks)
{
    const tv_check_info *info;
    for (size_t i = 0; (info = tv_check_at(i)) != NULL; i++)
        if (bc_str_is(word, info->name)) {
            *checks |= info->check;
            return true;
        }
    *checks |= bc_str_is(word, "all") ? TV_CHECK_ALL : 0;
    return bc_str_is(word, "all");
}

bool run_take_checks(cli_args *args, const char *what, const char *value, uint32_t *out_checks)
{
    *out_checks = 0;
    for (const char *p = value;; p++) {
        size_t len = strcspn(p, ",");
        if (!add_check((tv_str){p, len}, out_checks)) {
            cli_usage(args,
                      "%s: '%.*s' is no check; there are bounds, uninit, races, tokens, assume, values, order and all",
                      what, (int)len, p);
            return false;
        }
        p += len;
        if (!*p)
            return true;
    }
}

/* ---- the module ---- */

int run_fail(run_job *job, const io_error *error)
{
    snprintf(job->message, sizeof job->message, "%s", error->text);
    return error->text[0] ? cli_error("%s", error->text) : CLI_ERROR;
}

/* What concerns one entry: errors, and warnings that name no other. */
typedef struct entry_filter {
    tv_sink next;
    tv_str entry; /* its symbol; empty: findings about any entry */
} entry_filter;

static void pass_on(void *user, const tv_diag *diag)
{
    const entry_filter *filter = user;
    bool other = filter->entry.len && diag->function.len && !bc_str_eq(diag->function, filter->entry);
    if (filter->next.report && !(other && diag->severity == TV_WARNING))
        filter->next.report(filter->next.user, diag);
}

static tv_status verify_module(run_job *job)
{
    size_t entry;
    entry_filter filter = {.next = job->sink};
    const char *name = job->options.entry;
    if (name && tv_module_entry_find(job->module, bc_str(name), (tv_sink){0}, &entry) == TV_OK)
        filter.entry = tv_module_entry_name(job->module, entry);
    return tv_module_verify(job->module, NULL, (tv_sink){.user = &filter, .report = pass_on});
}

static int run_usage(run_job *job, const char *message)
{
    snprintf(job->message, sizeof job->message, "%s", message);
    return cli_usage(job->args, "%s", message);
}

/* The file, or the image in it that has the entry. False: message says why not. */
static bool read_module(run_job *job)
{
    cli_images images;
    char *problem = NULL;
    if (cli_images_open(job->options.path, &images, &problem)) {
        bool taken = cli_images_take(&images, job->options.entry, &job->file, &problem);
        cli_images_close(&images);
        if (taken)
            return true;
    }
    snprintf(job->message, sizeof job->message, "%s", problem ? problem : "out of memory");
    free(problem);
    return false;
}

static int open_module(run_job *job)
{
    const char *path = job->options.path;
    if (!read_module(job))
        return cli_error("%s", job->message);
    if (job->file.name)
        path = job->report.path = job->printer.path = job->file.name;
    job->outcome = RUN_INVALID;
    tv_status status = tv_module_open(job->file.bytes, job->file.size, NULL, job->sink, &job->module);
    if (status == TV_OK)
        status = verify_module(job);
    return cli_exit_of(status, path);
}

static int choose_entry(run_job *job)
{
    const char *name = job->options.entry;
    tv_str wanted = name ? bc_str(name) : job->arg_file.entry;
    if (!wanted.ptr)
        wanted = bc_str("");
    tv_status status = tv_module_entry_find(job->module, wanted, job->sink, &job->entry);
    job->symbol = status == TV_OK ? bc_arena_dup(&job->arena, tv_module_entry_name(job->module, job->entry)).ptr : NULL;
    if (status == TV_OK && !job->symbol)
        status = TV_NO_MEMORY;
    if (status == TV_OK && !job->options.params)
        status = tv_signature_of_entry(job->module, job->entry, job->sink, &job->signature);
    return cli_exit_of(status, job->options.path);
}

/* ---- the argument file ---- */

/* "dir/kernel.args.json" for "dir/kernel.tbc". */
static char *beside(run_job *job)
{
    const char *path = job->options.path, *slash = strrchr(path, '/'), *dot = strrchr(path, '.');
    size_t len = dot && (!slash || dot > slash + 1) ? (size_t)(dot - path) : strlen(path);
    bc_text text;
    bc_text_init(&text, &job->arena.allocator);
    bc_text_printf(&text, "%.*s.args.json", (int)len, path);
    tv_str kept = text.failed ? (tv_str){0} : bc_arena_dup(&job->arena, bc_text_get(&text));
    bc_text_release(&text);
    return (char *)(uintptr_t)kept.ptr;
}

static bool read_argument_file(run_job *job, io_error *error)
{
    const char *path = job->options.args_path;
    if (path && strcmp(path, "none") == 0)
        return true;
    if (!path) {
        if (strcmp(job->options.path, "-") == 0)
            return true;
        path = beside(job);
        if (!path)
            return io_fail(error, "out of memory");
        if (access(path, F_OK) != 0)
            return true;
    }
    if (!arg_file_read(&job->arena, path, &job->arg_file, error))
        return false;
    run_options *o = &job->options;
    const arg_file *f = &job->arg_file;
    if (!o->has_grid && f->has_grid) {
        o->has_grid = true;
        memcpy(o->grid, f->grid, sizeof o->grid);
    }
    if (!o->has_rtol && f->has_rtol) {
        o->has_rtol = true;
        o->rtol = f->rtol;
    }
    if (!o->has_atol && f->has_atol) {
        o->has_atol = true;
        o->atol = f->atol;
    }
    if (!o->has_seed)
        o->seed = f->seed;
    o->allow_sharing |= f->allow_sharing;
    return true;
}

/* ---- arguments ---- */

static bool give_all(run_job *job, io_error *error)
{
    const arg_file *f = &job->arg_file;
    const run_options *o = &job->options;
    if (!arg_set_init(&job->set, &job->arena, job->signature, error))
        return false;
    tv_str names = o->names ? bc_str(o->names) : f->names;
    if (names.len && !arg_set_names(&job->set, names, error))
        return false;
    for (size_t i = 0; i < f->arg_count; i++)
        if (!arg_set_give(&job->set, f->args[i].target, f->args[i].text, f->folder, false, error))
            return false;
    bool from_file = f->arg_count > 0;
    for (size_t i = 0; i < o->given_count; i++) {
        tv_str target, text;
        arg_cut_target(bc_str(o->given[i]), &target, &text);
        if (!arg_set_give(&job->set, target, text, NULL, from_file, error))
            return false;
    }
    return true;
}

static bool say_missing(const run_job *job, const arg_value *value, io_error *error)
{
    bc_text text;
    bc_text_init(&text, NULL);
    text.failed |= tv_param_print(value->leaf, (tv_writer){.user = &text, .write = bc_text_append}) != TV_OK;
    io_fail(error, "argument '%s' is missing: %s; for something made up say %s=auto", value->name, bc_text_words(&text),
            value->name);
    bc_text_release(&text);
    (void)job;
    return false;
}

static bool any_auto(const arg_set *set)
{
    for (size_t i = 0; i < set->count; i++)
        if (set->values[i].given && set->values[i].spec.form == ARG_AUTO)
            return true;
    return false;
}

static bool make_all(run_job *job, const arg_context *context, io_error *error)
{
    const arg_value *missing = arg_set_missing(&job->set);
    if (missing && job->set.any)
        return say_missing(job, missing, error);
    if (!arg_set_make(&job->set, context, error))
        return false;
    job->synthesised = missing || any_auto(&job->set);
    return !job->synthesised
           || arg_synthesise(&job->set, context, job->module, job->entry, job->options.grid, &job->study, error);
}

/* ---- expectations and saves ---- */

arg_tolerance run_tolerance(const run_options *o, tv_dtype dtype)
{
    arg_tolerance tolerance = arg_tolerance_default(dtype);
    if (o->has_rtol || o->has_atol)
        tolerance = (arg_tolerance){.mode = ARG_CLOSE,
                                    .rtol = o->has_rtol ? o->rtol : tolerance.rtol,
                                    .atol = o->has_atol ? o->atol : tolerance.atol};
    return tolerance;
}

arg_tolerance run_sum_tolerance(const run_options *o, tv_dtype dtype, const run_sum *sum)
{
    arg_tolerance tolerance = run_tolerance(o, dtype);
    if (tolerance.mode != ARG_CLOSE || o->has_rtol || o->has_atol)
        return tolerance;
    tolerance.sums = sum->bound;
    tolerance.terms = sum->terms;
    tolerance.sum_dtype = sum->dtype;
    return tolerance;
}

static bool add_expect(run_job *job, const arg_context *context, tv_str target, tv_str text, const char *folder,
                       io_error *error)
{
    run_expect *e = &job->expects[job->expect_count++];
    arg_value *value;
    size_t array;
    arg_spec spec;
    arg_context here = *context;
    io_error inner;
    here.folder = folder;
    if (!target.len)
        return io_fail(error, "--expect %.*s: no array is named; write NAME=VALUE", text.len < 80 ? (int)text.len : 80,
                       text.ptr);
    if (!arg_set_find(&job->set, target, &value, &array, error))
        return false;
    *e = (run_expect){.got = &value->arrays[array]};
    tv_str name = bc_arena_dup(&job->arena, target);
    e->name = name.ptr;
    e->tolerance = run_tolerance(&job->options, e->got->dtype);
    if (!name.ptr)
        return io_fail(error, "out of memory");
    if (!arg_spec_parse(&job->arena, text, &spec, &inner)
        || !arg_make_array(&here, &spec, e->got->dtype, 0, &e->want, &inner)
        || !arg_tolerance_keys(&spec, &e->tolerance, &inner)
        || !arg_comparable(e->got, &e->want, &e->tolerance, &inner))
        return io_fail(error, "expected '%s': %.400s", e->name, inner.text);
    return true;
}

static bool add_save(run_job *job, tv_str target, tv_str text, const char *folder, io_error *error)
{
    arg_value *value;
    size_t array;
    if (!target.len)
        return io_fail(error, "--save %.*s: no array is named; write NAME=FILE", text.len < 80 ? (int)text.len : 80,
                       text.ptr);
    if (!arg_set_find(&job->set, target, &value, &array, error))
        return false;
    if (!value->arrays[array].storage)
        return io_fail(error, "'%s' is a null pointer and has nothing to save", value->name);
    bc_text path;
    bc_text_init(&path, &job->arena.allocator);
    if (folder && text.len && text.ptr[0] != '/')
        bc_text_printf(&path, "%s/", folder);
    bc_text_str(&path, text);
    arg_save *save = &job->saves[job->save_count++];
    *save = (arg_save){.array = &value->arrays[array],
                       .name = bc_arena_dup(&job->arena, target).ptr,
                       .path = bc_arena_dup(&job->arena, bc_text_get(&path))};
    bool good = !path.failed && save->name && save->path.ptr;
    bc_text_release(&path);
    return good || io_fail(error, "out of memory");
}

static bool add_results(run_job *job, const arg_context *context, io_error *error)
{
    const arg_file *f = &job->arg_file;
    const run_options *o = &job->options;
    tv_str target, text;
    job->expects = bc_new(&job->arena, run_expect, f->expect_count + o->expect_count);
    job->saves = bc_new(&job->arena, arg_save, f->save_count + o->save_count);
    if (!job->expects || !job->saves)
        return io_fail(error, "out of memory");
    for (size_t i = 0; i < f->expect_count; i++)
        if (!add_expect(job, context, f->expects[i].target, f->expects[i].text, f->folder, error))
            return false;
    for (size_t i = 0; i < o->expect_count; i++) {
        arg_cut_target(bc_str(o->expects[i]), &target, &text);
        if (!add_expect(job, context, target, text, NULL, error))
            return false;
    }
    for (size_t i = 0; i < f->save_count; i++)
        if (!add_save(job, f->saves[i].target, f->saves[i].text, f->folder, error))
            return false;
    for (size_t i = 0; i < o->save_count; i++) {
        arg_cut_target(bc_str(o->saves[i]), &target, &text);
        if (!add_save(job, target, text, NULL, error))
            return false;
    }
    return true;
}

int run_job_prepare(run_job *job)
{
    io_error error = {{0}};
    bc_arena_init(&job->arena, NULL, 0);
    bc_text_init(&job->output, NULL);
    int code = open_module(job);
    if (code != CLI_OK)
        return code;
    if (!job->options.params && !read_argument_file(job, &error))
        return run_fail(job, &error);
    if (job->options.params && !job->options.entry)
        return run_print_params(job, SIZE_MAX);
    code = choose_entry(job);
    if (code != CLI_OK)
        return code;
    if (job->options.params)
        return run_print_params(job, job->entry);
    if (!job->options.has_grid)
        return run_usage(job, "the number of tile blocks is missing; use --grid X[,Y[,Z]]");
    job->budget.limit = arg_memory_limit();
    const arg_context context = {.arena = &job->arena, .seed = job->options.seed, .budget = &job->budget};
    if (!give_all(job, &error) || !make_all(job, &context, &error) || !add_results(job, &context, &error))
        return run_fail(job, &error);
    if (job->synthesised)
        run_made_up_listen(job);
    return cli_exit_of(run_job_call_here(job), job->options.path);
}
