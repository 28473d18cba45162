/* Running a kernel in the page: arguments are made up as `tilevm run` makes them up. */
#include <emscripten.h>
#include <string.h>

#include "bytecode/module.h"
#include "tools/tilevm/args/study.h"
#include "tools/web/web.h"

enum { SHOWN = 8 };

typedef struct web_run_state {
    web_page *page;
    size_t entry;
    uint32_t grid[3];
    double deadline; /* in ms of emscripten_get_now */
    bool checks;
    bc_arena arena;
    arg_budget budget;
    tv_signature *signature;
    arg_set set;
    arg_study study;
    tv_call *call;
    tv_vm *vm;
    tv_sink told;
    unsigned excused;
} web_run_state;

/* ---- before the kernel ---- */

/* Reports findings that made-up arguments may have caused as such. */
static void report(void *user, const tv_diag *diag)
{
    web_run_state *run = user;
    bc_text text;
    tv_diag excused;
    bc_text_init(&text, NULL);
    const bc_function *f = bc_entry_at(run->page->module, run->entry);
    if (arg_study_excuse(&run->study, f, diag, run->excused != 0, &text, &excused)) {
        excused.severity = run->checks ? TV_NOTE : diag->severity;
        run->excused++;
        diag = &excused;
    }
    run->told.report(run->told.user, diag);
    bc_text_release(&text);
}

static bool make_arguments(web_run_state *run, uint64_t seed, io_error *error)
{
    const arg_context context = {.arena = &run->arena, .seed = seed, .budget = &run->budget};
    return arg_set_init(&run->set, &run->arena, run->signature, error) && arg_set_make(&run->set, &context, error)
           && arg_synthesise(&run->set, &context, run->page->module, run->entry, run->grid, &run->study, error);
}

static tv_status make_call(web_run_state *run, tv_sink sink)
{
    size_t arrays = 0, used = 0;
    for (size_t i = 0; i < run->set.count; i++)
        arrays += run->set.values[i].array_count;
    tv_array *views = bc_new(&run->arena, tv_array, arrays + 1);
    tv_arg *args = bc_new(&run->arena, tv_arg, run->set.count + 1);
    if (!views || !args)
        return TV_NO_MEMORY;
    for (size_t i = 0; i < run->set.count; i++) {
        const arg_value *value = &run->set.values[i];
        args[i] = (tv_arg){value->name, views + used, value->array_count, value->dtype, value->bits};
        for (size_t k = 0; k < value->array_count; k++)
            views[used++] = arg_array_view(&value->arrays[k]);
    }
    return tv_call_new(run->signature, args, run->set.count, NULL, sink, &run->call);
}

/* Lets the kernel run until the time is over. */
static bool go_on(void *user, uint64_t done, uint64_t total)
{
    const web_run_state *run = user;
    (void)done;
    (void)total;
    return emscripten_get_now() < run->deadline;
}

/* ---- after the kernel ---- */

static void put_number(bc_text *out, tv_dtype dtype, uint64_t bits)
{
    if (bc_dtype_is_float(dtype))
        bc_text_printf(out, "%.6g", arg_value_of(dtype, bits));
    else
        arg_print_value(out, dtype, bits);
}

static void put_first(bc_text *out, const arg_array *array)
{
    arg_walk walk;
    uint64_t shown = 0;
    arg_walk_start(&walk, array);
    while (shown < SHOWN && arg_walk_next(&walk))
        for (uint64_t i = 0; i < walk.run && shown < SHOWN; i++, shown++) {
            bc_text_puts(out, shown ? ", " : "");
            put_number(out, array->dtype, arg_load(walk.at + (int64_t)i * walk.step, array->item));
        }
    bc_text_puts(out, array->count > shown ? ", ..." : "");
}

/* Name, type, changed or not, smallest, mean, largest, NaN and infinite ones, first elements. */
static void put_array(bc_text *out, const arg_value *value, size_t k, bool written)
{
    const arg_array *array = &value->arrays[k];
    arg_summary s;
    bc_text_visible(out, bc_str(value->name), "");
    bc_text_printf(out, value->leaf->kind == TV_PARAM_LIST ? "[%zu]\t" : "\t", k);
    arg_print_type(out, array);
    bc_text_puts(out, written ? "\twritten\t" : "\t\t");
    arg_array_summary(array, &s);
    if (s.has_range) {
        put_number(out, array->dtype, s.min);
        bc_text_printf(out, "\t%.6g\t", s.mean);
        put_number(out, array->dtype, s.max);
    } else {
        bc_text_puts(out, "\t\t");
    }
    bc_text_printf(out, "\t%llu\t", (unsigned long long)(s.nan_count + s.inf_count));
    put_first(out, array);
    bc_text_char(out, '\n');
}

static void put_arguments(web_run_state *run)
{
    bc_text *out = &run->page->parts[WEB_ARRAYS];
    for (size_t i = 0; i < run->set.count; i++) {
        const arg_value *value = &run->set.values[i];
        bool written = value->array_count && arg_value_fingerprint(value) != value->before;
        for (size_t k = 0; k < value->array_count; k++)
            if (value->arrays[k].storage)
                put_array(out, value, k, written);
        if (value->leaf->kind != TV_PARAM_SCALAR)
            continue;
        bc_text_visible(out, bc_str(value->name), "");
        bc_text_printf(out, "\t%s\t\t\t\t\t\t", tv_dtype_name(value->leaf->dtype));
        put_number(out, value->leaf->dtype, value->bits);
        bc_text_char(out, '\n');
    }
}

static void put_figures(web_run_state *run)
{
    bc_text *out = &run->page->parts[WEB_FIGURES];
    tv_vm_stats s;
    tv_vm_op_time time;
    tv_vm_get_stats(run->vm, &s);
    bc_text_printf(out, "%llu tile blocks, %llu ops, %llu bytes loaded, %llu stored, %llu floating-point operations\n",
                   (unsigned long long)s.blocks, (unsigned long long)s.ops, (unsigned long long)s.bytes_loaded,
                   (unsigned long long)s.bytes_stored, (unsigned long long)s.flops);
    bc_text_printf(out, "%.3f ms, and %.3f ms to compile; %zu bytes of tiles in a block\n", s.seconds * 1e3,
                   s.compile_seconds * 1e3, s.frame_bytes);
    for (size_t i = 0; tv_vm_op_time_at(run->vm, i, &time); i++)
        bc_text_printf(out, "  %-28s %12llu times\n", time.op, (unsigned long long)time.count);
}

/* ---- the run ---- */

static tv_status run_kernel(web_run_state *run, tv_sink sink)
{
    size_t count;
    const tv_vm_options options = {.threads = 1,
                                   .output = {&run->page->parts[WEB_OUTPUT], bc_text_append},
                                   .user = run,
                                   .progress = go_on,
                                   .checks = run->checks ? TV_CHECK_ALL : 0};
    tv_str symbol = tv_module_entry_name(run->page->module, run->entry);
    const char *name = bc_arena_dup(&run->arena, symbol).ptr;
    if (!name)
        return TV_NO_MEMORY;
    TV_TRY(make_call(run, sink));
    TV_TRY(tv_vm_new(run->page->module, &options, sink, &run->vm));
    const void *const *params = tv_call_params(run->call, &count);
    TV_TRY(tv_vm_add_params(run->vm, run->signature, params, count, NULL, sink));
    for (size_t i = 0; i < run->set.count; i++)
        if (run->set.values[i].array_count)
            run->set.values[i].before = arg_value_fingerprint(&run->set.values[i]);
    tv_status status = tv_vm_run(run->vm, name, run->grid, params, count, sink);
    put_arguments(run);
    put_figures(run);
    return status;
}

static void close_run(web_run_state *run)
{
    arg_set_release(&run->set);
    tv_vm_free(run->vm);
    tv_call_free(run->call);
    tv_signature_close(run->signature);
    bc_arena_release(&run->arena);
}

/* Runs a kernel for at most so many ms, with checks or without. Gives 0 if it has ended well; findings and traps are in
   WEB_RUN_FINDINGS. */
EMSCRIPTEN_KEEPALIVE int web_run(web_page *page, unsigned entry, unsigned x, unsigned y, unsigned z, unsigned seed,
                                 int checks, double most_ms)
{
    web_run_state run = {.page = page, .entry = entry, .grid = {x, y, z}, .checks = checks != 0};
    io_error error = {{0}};
    for (unsigned part = WEB_ARRAYS; part <= WEB_OUTPUT; part++)
        bc_text_clear(&page->parts[part]);
    if (!page->valid || entry >= tv_module_entry_count(page->module))
        return 1;
    run.told = web_sink(page, WEB_RUN_FINDINGS);
    run.deadline = emscripten_get_now() + most_ms;
    run.budget.limit = (uint64_t)1 << 30;
    bc_arena_init(&run.arena, NULL, 0);
    tv_status status = tv_signature_of_entry(page->module, entry, run.told, &run.signature);
    if (status == TV_OK && !make_arguments(&run, seed, &error)) {
        bc_text_visible(&page->parts[WEB_RUN_FINDINGS], bc_str(error.text), "");
        status = TV_USAGE;
    }
    if (status == TV_OK)
        status = run_kernel(&run, (tv_sink){.user = &run, .report = report});
    if (status == TV_NO_MEMORY)
        bc_text_puts(&page->parts[WEB_RUN_FINDINGS], "out of memory\n");
    close_run(&run);
    return status != TV_OK;
}
