/* The report of `tilevm run`, as text or JSON: parameters, a line for each argument, mismatch reports, figures. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bytecode/base/visible.h"
#include "bytecode/number/number.h"
#include "tools/tilevm/cli/json.h"
#include "tools/tilevm/run/against.h"
#include "tools/tilevm/run/precision.h"

/* ---- arguments as text ---- */

/* A printable copy of a name: "xs[1]" for arrays of lists. */
static void put_name(bc_text *out, const arg_value *value, size_t array)
{
    bc_text_visible(out, bc_str(value->name), "");
    if (value->leaf->kind == TV_PARAM_LIST)
        bc_text_printf(out, "[%zu]", array);
}

typedef struct widths {
    size_t name, type;
    bool failed; /* out of memory */
} widths;

static void put_padded(bc_text *out, const bc_text *word, size_t width)
{
    out->failed |= word->failed;
    bc_text_str(out, bc_text_get(word));
    for (size_t i = word->len; i < width + 2; i++)
        bc_text_char(out, ' ');
}

static size_t larger(size_t a, size_t b)
{
    return a > b ? a : b;
}

static widths measure(const run_job *job)
{
    widths w = {0};
    bc_text word;
    bc_text_init(&word, NULL);
    for (size_t i = 0; i < job->set.count; i++) {
        const arg_value *value = &job->set.values[i];
        for (size_t k = 0; k < larger(1, value->array_count); k++) {
            bc_text_clear(&word);
            put_name(&word, value, k);
            w.name = larger(w.name, word.len);
            bc_text_clear(&word);
            if (k < value->array_count)
                arg_print_type(&word, &value->arrays[k]);
            else
                bc_text_puts(&word, tv_dtype_name(value->leaf->dtype));
            w.type = larger(w.type, word.len);
        }
    }
    w.failed = word.failed;
    bc_text_release(&word);
    return w;
}

static void put_number(bc_text *out, tv_dtype dtype, uint64_t bits)
{
    if (bc_dtype_is_float(dtype))
        bc_text_printf(out, "%.6g", arg_value_of(dtype, bits));
    else
        arg_print_value(out, dtype, bits);
}

void run_put_figures(bc_text *out, tv_dtype dtype, const arg_summary *s)
{
    if (s->has_range) {
        bc_text_puts(out, "  min ");
        put_number(out, dtype, s->min);
        bc_text_printf(out, "  mean %.6g  max ", s->mean);
        put_number(out, dtype, s->max);
    }
    if (s->nan_count)
        bc_text_printf(out, "  %llu nan", (unsigned long long)s->nan_count);
    if (s->inf_count)
        bc_text_printf(out, "  %llu inf", (unsigned long long)s->inf_count);
}

static void put_summary(bc_text *out, const arg_array *array, bool written)
{
    arg_summary s;
    if (!array->storage) {
        bc_text_puts(out, "null\n");
        return;
    }
    arg_array_summary(array, &s);
    bc_text_printf(out, "%016llx", (unsigned long long)s.checksum);
    run_put_figures(out, array->dtype, &s);
    if (written)
        bc_text_puts(out, "  written");
    bc_text_char(out, '\n');
}

static void put_value(bc_text *out, const arg_value *value, widths w)
{
    bc_text word;
    bc_text_init(&word, NULL);
    bool written = value->array_count && arg_value_fingerprint(value) != value->before;
    if (value->leaf->kind == TV_PARAM_SCALAR) {
        put_name(&word, value, 0);
        put_padded(out, &word, w.name);
        bc_text_clear(&word);
        bc_text_puts(&word, tv_dtype_name(value->leaf->dtype));
        put_padded(out, &word, w.type);
        arg_print_value(out, value->leaf->dtype, value->bits);
        bc_text_char(out, '\n');
    }
    for (size_t k = 0; k < value->array_count; k++) {
        bc_text_clear(&word);
        put_name(&word, value, k);
        put_padded(out, &word, w.name);
        bc_text_clear(&word);
        arg_print_type(&word, &value->arrays[k]);
        put_padded(out, &word, w.type);
        put_summary(out, &value->arrays[k], written);
    }
    bc_text_release(&word);
}

/* ---- figures ---- */

static int by_time(const void *a, const void *b)
{
    const tv_vm_op_time *x = a, *y = b;
    if (x->seconds != y->seconds)
        return x->seconds < y->seconds ? 1 : -1;
    return (x->count < y->count) - (x->count > y->count);
}

static void put_ops(const run_job *job, bc_text *out)
{
    enum { MOST = 256 };
    tv_vm_op_time times[MOST], total = {0};
    size_t count = 0;
    while (count < MOST && tv_vm_op_time_at(job->vm, count, &times[count]))
        count++;
    qsort(times, count, sizeof *times, by_time);
    for (size_t i = 0; i < count; i++)
        total.seconds += times[i].seconds;
    for (size_t i = 0; i < count; i++) {
        bc_text_printf(out, "  %-28s %12llu times", times[i].op, (unsigned long long)times[i].count);
        if (job->options.profile)
            bc_text_printf(out, "  %9.3f ms  %5.1f %%", times[i].seconds * 1e3,
                           total.seconds > 0 ? 100 * times[i].seconds / total.seconds : 0.0);
        bc_text_char(out, '\n');
    }
}

static void put_stats(const run_job *job, bc_text *out)
{
    const tv_vm_stats *s = &job->stats;
    bc_text_printf(out, "%llu tile blocks, %llu ops, %llu bytes loaded, %llu stored, %llu floating-point operations\n",
                   (unsigned long long)s->blocks, (unsigned long long)s->ops, (unsigned long long)s->bytes_loaded,
                   (unsigned long long)s->bytes_stored, (unsigned long long)s->flops);
    bc_text_printf(out, "%zu bytes of tiles in a block, %zu bytes in all, %u threads, %.6f s and %.6f s to compile\n",
                   s->frame_bytes, s->memory_bytes, s->threads, s->seconds, s->compile_seconds);
    put_ops(job, out);
}

/* ---- the report ---- */

static void put_expect(bc_text *out, const run_expect *e)
{
    const arg_tolerance *t = &e->tolerance;
    if (e->comparison.wrong) {
        arg_comparison_print(out, e->name, e->got, &e->comparison);
    } else if (t->mode == ARG_CLOSE) {
        bc_text_printf(out, "%s: as expected (rtol %g, atol %g)\n", e->name, t->rtol, t->atol);
    } else {
        bc_text_printf(out, "%s: as expected (%s)\n", e->name, arg_mode_name(t->mode));
    }
}

/* The device, unless it is the CPU and none was requested. */
static void put_device(const run_job *job, bc_text *out)
{
    if (job->device[0])
        bc_text_printf(out, "on %s, %.3f ms\n", job->device, job->kernel_ms);
    else if (job->options.says_where && job->options.where == RUN_ON_AUTO)
        bc_text_printf(out, "on the CPU: %s\n", job->not_device);
}

static void put_against(const run_job *job, bc_text *out)
{
    const run_against *a = job->against;
    for (size_t i = 0; i < a->pair_count; i++) {
        const run_pair *pair = &a->pairs[i];
        if (pair->comparison.wrong) {
            arg_comparison_print(out, pair->name, &pair->got, &pair->comparison);
            bc_text_puts(out, "  the first: ");
            arg_print_difference(out, &pair->got, &pair->comparison.first, "cuda", a->is_cpu ? "cpu" : "other");
            bc_text_char(out, '\n');
        } else if (!job->options.quiet) {
            bc_text_printf(out, "%s: as on %s (", pair->name, a->other);
            arg_comparison_print_tolerance(out, &pair->comparison);
            bc_text_puts(out, ")\n");
        }
    }
    if (a->differs && a->is_cpu)
        run_blame_print(out, job, &a->blame);
}

bool run_report_text(const run_job *job)
{
    bc_text text;
    bc_text_init(&text, NULL);
    if (!job->options.quiet) {
        put_device(job, &text);
        widths w = measure(job);
        text.failed |= w.failed;
        if (job->synthesised)
            bc_text_printf(&text, "made-up arguments, seed %llu\n", (unsigned long long)job->options.seed);
        for (size_t i = 0; i < job->set.count; i++)
            put_value(&text, &job->set.values[i], w);
    }
    for (size_t i = 0; i < job->expect_count; i++)
        if (job->expects[i].compared && (!job->options.quiet || job->expects[i].comparison.wrong))
            put_expect(&text, &job->expects[i]);
    if (job->against)
        put_against(job, &text);
    if (job->options.vm.precision)
        run_precision_print(job, &text);
    if (job->options.stats)
        put_stats(job, &text);
    bool whole = !text.failed;
    if (whole)
        cli_show(stdout, bc_text_get(&text), false);
    bc_text_release(&text);
    return whole;
}

/* ---- JSON ---- */

static void add_array(json_doc *doc, cJSON *list, const arg_value *value, size_t k, bool written)
{
    const arg_array *array = &value->arrays[k];
    arg_summary s;
    bc_text name;
    cJSON *item = json_object(doc, list, NULL);
    bc_text_init(&name, NULL);
    put_name(&name, value, k);
    json_made(doc, item, "name", &name);
    bc_text_release(&name);
    json_text(doc, item, "dtype", tv_dtype_name(array->dtype));
    cJSON *shape = json_array(doc, item, "shape"), *strides = json_array(doc, item, "strides");
    for (uint32_t i = 0; i < array->ndim; i++) {
        json_int(doc, shape, NULL, array->shape[i]);
        json_int(doc, strides, NULL, array->strides[i]);
    }
    arg_array_summary(array, &s);
    run_add_hex(doc, item, "checksum", s.checksum, sizeof s.checksum);
    run_add_figures(doc, item, array->dtype, &s);
    json_bool(doc, item, "written", written);
}

static void add_arguments(json_doc *doc, cJSON *root, const run_job *job)
{
    cJSON *list = json_array(doc, root, "arguments");
    for (size_t i = 0; i < job->set.count; i++) {
        const arg_value *value = &job->set.values[i];
        bool written = value->array_count && arg_value_fingerprint(value) != value->before;
        for (size_t k = 0; k < value->array_count; k++)
            add_array(doc, list, value, k, written);
        if (value->leaf->kind != TV_PARAM_SCALAR)
            continue;
        cJSON *item = json_object(doc, list, NULL);
        json_text(doc, item, "name", value->name);
        json_text(doc, item, "dtype", tv_dtype_name(value->leaf->dtype));
        run_add_number(doc, item, "value", value->leaf->dtype, value->bits);
    }
}

static void add_expects(json_doc *doc, cJSON *root, const run_job *job)
{
    cJSON *list = json_array(doc, root, "expected");
    for (size_t i = 0; i < job->expect_count; i++) {
        const run_expect *e = &job->expects[i];
        if (!e->compared)
            continue;
        cJSON *item = json_object(doc, list, NULL);
        json_text(doc, item, "name", e->name);
        run_add_comparison(doc, item, e->got, &e->comparison);
    }
}

/* The op that made the difference. */
static void add_blame(json_doc *doc, cJSON *root, const run_job *job, const run_blame *b)
{
    static const char *const kinds[] = {[RUN_BLAME_NONE] = "not found",
                                        [RUN_BLAME_VALUE] = "value",
                                        [RUN_BLAME_CONTROL] = "control",
                                        [RUN_BLAME_STORE] = "store",
                                        [RUN_BLAME_HIDDEN] = "hidden"};
    const bc_op *op = run_blame_op(job, b);
    const uint32_t *grid = job->options.grid;
    tv_str file;
    uint32_t line, column;
    cJSON *item = json_object(doc, root, "blame");
    json_text(doc, item, "kind", kinds[b->kind]);
    if (b->kind == RUN_BLAME_NONE)
        json_text(doc, item, "problem", b->problem);
    if (!op)
        return;
    json_text(doc, item, "op", bc_info(op)->name);
    json_uint(doc, item, "op_index", b->op_index);
    json_uint(doc, item, "offset", op->offset);
    if (bc_source_place(job->module, op->loc, &file, &line, &column)) {
        json_str(doc, item, "file", file);
        json_uint(doc, item, "line", line);
    }
    if (b->kind == RUN_BLAME_STORE)
        return;
    cJSON *block = json_array(doc, item, "block");
    json_uint(doc, block, NULL, b->block % grid[0]);
    json_uint(doc, block, NULL, b->block / grid[0] % grid[1]);
    json_uint(doc, block, NULL, b->block / grid[0] / grid[1]);
    json_uint(doc, item, "time", b->time);
    if (b->kind == RUN_BLAME_VALUE) {
        json_uint(doc, item, "result", b->result);
        json_uint(doc, item, "wrong", b->wrong);
        run_add_difference(doc, json_object(doc, item, "first"), &b->shape, &b->first);
    }
}

static void add_against(json_doc *doc, cJSON *root, const run_job *job)
{
    const run_against *a = job->against;
    cJSON *item = json_object(doc, root, "against");
    json_text(doc, item, "other", a->is_cpu ? "cpu" : a->other);
    cJSON *list = json_array(doc, item, "arrays");
    for (size_t i = 0; i < a->pair_count; i++) {
        const run_pair *pair = &a->pairs[i];
        cJSON *one = json_object(doc, list, NULL);
        json_text(doc, one, "name", pair->name);
        run_add_tolerance(doc, one, &pair->comparison);
        json_uint(doc, one, "count", pair->comparison.count);
        json_uint(doc, one, "wrong", pair->comparison.wrong);
        if (pair->comparison.wrong)
            run_add_difference(doc, json_object(doc, one, "first"), &pair->got, &pair->comparison.first);
    }
    if (a->differs && a->is_cpu)
        add_blame(doc, item, job, &a->blame);
}

static void add_stats(json_doc *doc, cJSON *root, const run_job *job)
{
    const tv_vm_stats *s = &job->stats;
    cJSON *item = json_object(doc, root, "stats");
    json_uint(doc, item, "blocks", s->blocks);
    json_uint(doc, item, "ops", s->ops);
    json_uint(doc, item, "bytes_loaded", s->bytes_loaded);
    json_uint(doc, item, "bytes_stored", s->bytes_stored);
    json_uint(doc, item, "flops", s->flops);
    json_uint(doc, item, "frame_bytes", s->frame_bytes);
    json_uint(doc, item, "memory_bytes", s->memory_bytes);
    json_uint(doc, item, "threads", s->threads);
    json_real(doc, item, "seconds", s->seconds);
    json_real(doc, item, "compile_seconds", s->compile_seconds);
    cJSON *ops = json_array(doc, item, "op_kinds");
    tv_vm_op_time time;
    for (size_t i = 0; tv_vm_op_time_at(job->vm, i, &time); i++) {
        cJSON *op = json_object(doc, ops, NULL);
        json_text(doc, op, "op", time.op);
        json_uint(doc, op, "count", time.count);
        if (job->options.profile)
            json_real(doc, op, "seconds", time.seconds);
    }
}

static void add_trace(json_doc *doc, cJSON *root, const run_trace *trace)
{
    cJSON *list = json_array(doc, root, "trace");
    for (const run_traced *t = trace->first; t; t = t->next) {
        cJSON *item = json_object(doc, list, NULL), *block = json_array(doc, item, "block");
        for (unsigned i = 0; i < 3; i++)
            json_uint(doc, block, NULL, t->block[i]);
        json_str(doc, item, "op", t->op);
        json_uint(doc, item, "op_index", t->op_index);
        json_uint(doc, item, "result", t->result);
        if (t->line) {
            json_str(doc, item, "file", t->file);
            json_uint(doc, item, "line", t->line);
        }
        json_text(doc, item, "element", t->element);
        cJSON *shape = json_array(doc, item, "shape"), *first = json_array(doc, item, "first");
        for (uint32_t i = 0; i < t->rank; i++)
            json_int(doc, shape, NULL, t->shape[i]);
        for (unsigned i = 0; i < t->shown; i++)
            run_add_number(doc, first, NULL, t->dtype, t->first[i]);
        run_add_figures(doc, item, t->dtype, &t->summary);
    }
    json_uint(doc, root, "trace_left_out", trace->hidden);
}

static void add_device(json_doc *doc, cJSON *root, const run_job *job)
{
    char name[32];
    const char *comma = strchr(job->device, ',');
    snprintf(name, sizeof name, "cuda:%d", job->options.ordinal);
    json_text(doc, root, "device", comma ? name : "cpu");
    if (comma) {
        json_text(doc, root, "device_name", comma + 2);
        if (job->outcome != RUN_TRAPPED)
            json_real(doc, root, "kernel_ms", job->kernel_ms);
    }
    if (job->options.says_where && job->not_device[0])
        json_text(doc, root, "not_on_a_gpu", job->not_device);
}

bool run_report_json(const run_job *job)
{
    static const char *const outcomes[] = {[RUN_OK] = "ok",           [RUN_DIFFERENT] = "different",
                                           [RUN_TRAPPED] = "trapped", [RUN_FINDINGS] = "findings",
                                           [RUN_OUTSIDE] = "outside", [RUN_INVALID] = "invalid",
                                           [RUN_ERROR] = "error"};
    json_doc doc = {0};
    cJSON *root = json_document(&doc, "run");
    json_text(&doc, root, "file", cli_shown_path(job->options.path));
    if (job->signature) {
        json_str(&doc, root, "entry", tv_module_entry_name(job->module, job->entry));
        json_str(&doc, root, "function", tv_signature_function(job->signature));
        cJSON *grid = json_array(&doc, root, "grid");
        for (unsigned i = 0; i < 3; i++)
            json_uint(&doc, grid, NULL, job->options.grid[i]);
        add_device(&doc, root, job);
    }
    json_text(&doc, root, "outcome", outcomes[job->outcome]);
    if (job->message[0])
        json_text(&doc, root, "message", job->message);
    if (job->rule)
        json_text(&doc, root, "rule", job->rule);
    if (job->ran) {
        json_bool(&doc, root, "made_up", job->synthesised);
        add_arguments(&doc, root, job);
        add_expects(&doc, root, job);
        doc.failed |= job->output.failed;
        json_str(&doc, root, "output", bc_text_get(&job->output));
        json_bool(&doc, root, "output_cut", job->output_cut);
    }
    if (job->ran && job->against)
        add_against(&doc, root, job);
    if (job->ran && job->options.trace)
        add_trace(&doc, root, &job->trace);
    if (job->ran && job->options.vm.precision)
        run_precision_json(&doc, root, job);
    if (job->ran && job->options.stats)
        add_stats(&doc, root, job);
    report_json_diags(&doc, root, &job->report);
    doc.failed |= job->report.lost;
    cli_out out = {.file = stdout};
    return json_finish(&doc, &out);
}
