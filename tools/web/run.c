/* Running a kernel in the page, and what it did as texts. */
#include <emscripten.h>

#include "tools/web/web.h"

enum { SHOWN = 8 };

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

static void put_arguments(web_page *page, const run_job *job)
{
    bc_text *out = &page->parts[WEB_ARRAYS];
    for (size_t i = 0; i < job->set.count; i++) {
        const arg_value *value = &job->set.values[i];
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

static void put_figures(web_page *page, const run_job *job)
{
    bc_text *out = &page->parts[WEB_FIGURES];
    tv_vm_stats s;
    tv_vm_op_time time;
    tv_vm_get_stats(job->vm, &s);
    bc_text_printf(out, "%llu tile blocks, %llu ops, %llu bytes loaded, %llu stored, %llu floating-point operations\n",
                   (unsigned long long)s.blocks, (unsigned long long)s.ops, (unsigned long long)s.bytes_loaded,
                   (unsigned long long)s.bytes_stored, (unsigned long long)s.flops);
    bc_text_printf(out, "%.3f ms, and %.3f ms to compile; %zu bytes of tiles in a block\n", s.seconds * 1e3,
                   s.compile_seconds * 1e3, s.frame_bytes);
    for (size_t i = 0; tv_vm_op_time_at(job->vm, i, &time); i++)
        bc_text_printf(out, "  %-28s %12llu times\n", time.op, (unsigned long long)time.count);
}

/* ---- the run ---- */

/* Runs a kernel for at most so many ms, with checks or without. Gives 0 if it has ended well; findings and traps are in
   WEB_RUN_FINDINGS. */
EMSCRIPTEN_KEEPALIVE int web_run(web_page *page, unsigned entry, unsigned x, unsigned y, unsigned z, unsigned seed,
                                 int checks, double most_ms)
{
    const web_launch launch = {.entry = entry, .grid = {x, y, z}, .seed = seed, .most_ms = most_ms};
    for (unsigned part = WEB_ARRAYS; part <= WEB_OUTPUT; part++)
        bc_text_clear(&page->parts[part]);
    web_work *work = web_work_open(page, &launch, web_sink(page, WEB_RUN_FINDINGS), WEB_RUN_FINDINGS);
    if (!work)
        return 1;
    run_job *job = &work->tiles.job;
    job->options.vm.output = (tv_writer){&page->parts[WEB_OUTPUT], bc_text_append};
    job->options.vm.checks = checks ? TV_CHECK_ALL : 0;
    tv_vm_options vm = job->options.vm;
    int code = web_run_once(job, &vm);
    if (job->vm) {
        put_arguments(page, job);
        put_figures(page, job);
    }
    web_work_close(work);
    return code != CLI_OK;
}
