/* The report of `tilevm run --precision`: how many digits the stored arrays have lost, and which ops lost them. */
#include <math.h>
#include <stdlib.h>

#include "bytecode/base/visible.h"
#include "tools/tilevm/run/precision.h"

enum { WORST_OPS = 3 };

/* ---- order ---- */

/* The largest error of a stored element that the op has caused, by its rounding or by amplification. */
static double loss_of(const tv_vm_op_precision *op)
{
    return fmax(op->caused, op->amplified);
}

/* The worst first; of equal losses the op that amplified an error first, then the earlier op. */
static int by_loss(const void *a, const void *b)
{
    const tv_vm_op_precision *x = a, *y = b;
    if (loss_of(x) != loss_of(y))
        return loss_of(x) < loss_of(y) ? 1 : -1;
    if ((x->amplified < x->caused) != (y->amplified < y->caused))
        return x->amplified < x->caused ? 1 : -1;
    return x->op_index < y->op_index ? -1 : x->op_index > y->op_index;
}

/* All ops, in that order; the caller frees them. NULL: none, or out of memory. */
static tv_vm_op_precision *sorted_ops(const run_job *job, size_t *out_count)
{
    tv_vm_op_precision op, *ops = NULL;
    *out_count = 0;
    while (tv_vm_op_precision_at(job->vm, *out_count, &op))
        ++*out_count;
    ops = *out_count ? calloc(*out_count, sizeof *ops) : NULL;
    for (size_t i = 0; ops && i < *out_count; i++)
        tv_vm_op_precision_at(job->vm, i, &ops[i]);
    if (ops)
        qsort(ops, *out_count, sizeof *ops, by_loss);
    return ops;
}

/* ---- text ---- */

/* "subf (var.py:14)", "op 12, subf" */
static void put_op(bc_text *out, const tv_vm_op_precision *op)
{
    if (!op->line) {
        bc_text_printf(out, "op %u, %s", op->op_index, op->op);
        return;
    }
    bc_text_printf(out, "%s (", op->op);
    bc_text_visible(out, op->file, "");
    bc_text_printf(out, ":%u)", op->line);
}

static void put_op_of(const run_job *job, bc_text *out, uint32_t op_index)
{
    tv_vm_op_precision op;
    for (size_t i = 0; tv_vm_op_precision_at(job->vm, i, &op); i++)
        if (op.op_index == op_index)
            put_op(out, &op);
}

static void put_block(bc_text *out, const uint32_t block[3])
{
    bc_text_printf(out, "tile block (%u, %u, %u)", block[0], block[1], block[2]);
}

/* C libraries differ in whether they print the sign of NaN. */
static void put_real(bc_text *out, double x)
{
    if (isnan(x))
        bc_text_puts(out, "nan");
    else
        bc_text_printf(out, "%.9g", x);
}

static void put_pair(bc_text *out, const tv_vm_error *e)
{
    put_real(out, e->value);
    bc_text_puts(out, ", without rounding ");
    put_real(out, e->exact);
    bc_text_char(out, '\n');
}

static void put_array(const run_job *job, bc_text *out, const tv_vm_array_precision *a)
{
    bc_text_printf(out, "precision of %s, %s: ", a->name, tv_dtype_name(a->dtype));
    if (a->error.worst == 0) {
        bc_text_printf(out, "no digit is lost; elements: %llu\n", (unsigned long long)a->elements);
        return;
    }
    if (a->error.infinite)
        bc_text_printf(out, "elements without any right digit: %llu of %llu; mean %.3g ulps of the others\n",
                       (unsigned long long)a->error.infinite, (unsigned long long)a->elements, a->error.mean);
    else
        bc_text_printf(out, "worst %.3g ulps, mean %.3g, elements: %llu\n", a->error.worst, a->error.mean,
                       (unsigned long long)a->elements);
    bc_text_puts(out, "  worst at [");
    for (uint32_t d = 0; d < a->ndim; d++)
        bc_text_printf(out, d ? ", %lld" : "%lld", (long long)a->index[d]);
    bc_text_puts(out, "], stored by ");
    put_block(out, a->error.block);
    bc_text_puts(out, ": ");
    put_pair(out, &a->error);
    if (a->origin != UINT32_MAX) {
        bc_text_puts(out, "  most of it comes from the rounding of ");
        put_op_of(job, out, a->origin);
        if (a->amplifier != UINT32_MAX) {
            bc_text_puts(out, a->amplifier == a->origin ? ", which also made it grow" : "; it grew most in ");
            if (a->amplifier != a->origin)
                put_op_of(job, out, a->amplifier);
        }
        bc_text_char(out, '\n');
    }
}

static void put_error(bc_text *out, const char *what, const tv_vm_error *e)
{
    if (e->worst == 0) {
        bc_text_printf(out, "    %s: none\n", what);
        return;
    }
    bc_text_printf(out, "    %s: worst %.3g ulps, mean %.3g; worst in ", what, e->worst, e->mean);
    put_block(out, e->block);
    bc_text_printf(out, ", element %llu: ", (unsigned long long)e->element);
    put_pair(out, e);
}

static void put_loss(bc_text *out, const tv_vm_op_precision *op)
{
    bc_text_puts(out, "  ");
    put_op(out, op);
    bc_text_printf(out, ", %s: up to %.3g ulps of what is stored", op->element, loss_of(op));
    if (op->amplified >= op->caused)
        bc_text_printf(out, ", %s up to %.1f bits", op->is_sum ? "by cancellation of" : "by making errors grow by",
                       log2(op->growth));
    bc_text_char(out, '\n');
    put_error(out, "its rounding", &op->introduced);
    put_error(out, "all errors", &op->accumulated);
}

static void put_events(bc_text *out, const tv_vm_op_precision *op)
{
    if (op->overflows) {
        bc_text_puts(out, "  ");
        put_op(out, op);
        bc_text_printf(out, ": elements that became infinite or NaN from finite operands: %llu\n",
                       (unsigned long long)op->overflows);
    }
    if (op->decisions) {
        bc_text_puts(out, "  ");
        put_op(out, op);
        bc_text_printf(out, ": elements that depend on lost digits: %llu, the first in ",
                       (unsigned long long)op->decisions);
        put_block(out, op->decided.block);
        bc_text_printf(out, ", element %llu: ", (unsigned long long)op->decided.element);
        put_pair(out, &op->decided);
    }
    if (op->drops) {
        bc_text_puts(out, "  ");
        put_op(out, op);
        bc_text_puts(out, ": what it makes of floats counts as exact\n");
    }
}

void run_precision_print(const run_job *job, bc_text *out)
{
    tv_vm_array_precision array;
    size_t count = 0;
    tv_vm_op_precision *ops = sorted_ops(job, &count);
    out->failed |= count && !ops;
    for (size_t i = 0; tv_vm_array_precision_at(job->vm, i, &array); i++)
        put_array(job, out, &array);
    bool lost = ops && loss_of(&ops[0]) > 0;
    if (lost)
        bc_text_puts(out, "ops that lose most:\n");
    for (size_t i = 0; ops && i < count && i < WORST_OPS && loss_of(&ops[i]) > 0; i++)
        put_loss(out, &ops[i]);
    for (size_t i = 0; ops && i < count; i++)
        put_events(out, &ops[i]);
    free(ops);
}

/* ---- JSON ---- */

static void add_block(json_doc *doc, cJSON *parent, const uint32_t block[3])
{
    cJSON *list = json_array(doc, parent, "block");
    for (unsigned i = 0; i < 3; i++)
        json_uint(doc, list, NULL, block[i]);
}

static cJSON *add_error(json_doc *doc, cJSON *parent, const char *key, const tv_vm_error *e)
{
    cJSON *item = json_object(doc, parent, key);
    json_any_real(doc, item, "worst", e->worst);
    json_real(doc, item, "mean", e->mean);
    json_uint(doc, item, "infinite", e->infinite);
    add_block(doc, item, e->block);
    json_any_real(doc, item, "value", e->value);
    json_any_real(doc, item, "exact", e->exact);
    return item;
}

static void add_op_error(json_doc *doc, cJSON *parent, const char *key, const tv_vm_error *e)
{
    json_uint(doc, add_error(doc, parent, key, e), "element", e->element);
}

static void add_array(json_doc *doc, cJSON *list, const tv_vm_array_precision *a)
{
    cJSON *item = json_object(doc, list, NULL);
    json_text(doc, item, "name", a->name);
    json_text(doc, item, "dtype", tv_dtype_name(a->dtype));
    json_uint(doc, item, "elements", a->elements);
    cJSON *index = json_array(doc, add_error(doc, item, "error", &a->error), "index");
    for (uint32_t d = 0; d < a->ndim; d++)
        json_int(doc, index, NULL, a->index[d]);
    json_real(doc, item, "distance", a->distance);
    json_real(doc, item, "largest", a->largest);
    if (a->origin != UINT32_MAX)
        json_uint(doc, item, "origin", a->origin);
    if (a->amplifier != UINT32_MAX)
        json_uint(doc, item, "amplifier", a->amplifier);
}

static void add_op(json_doc *doc, cJSON *list, const tv_vm_op_precision *op)
{
    cJSON *item = json_object(doc, list, NULL);
    json_text(doc, item, "op", op->op);
    json_uint(doc, item, "op_index", op->op_index);
    if (op->line) {
        json_str(doc, item, "file", op->file);
        json_uint(doc, item, "line", op->line);
    }
    json_text(doc, item, "dtype", op->element);
    json_uint(doc, item, "elements", op->elements);
    json_any_real(doc, item, "lost", loss_of(op));
    json_any_real(doc, item, "caused", op->caused);
    json_any_real(doc, item, "amplified", op->amplified);
    add_op_error(doc, item, "introduced", &op->introduced);
    add_op_error(doc, item, "accumulated", &op->accumulated);
    if (op->grown) {
        cJSON *growth = json_object(doc, item, op->is_sum ? "cancellation" : "growth");
        json_uint(doc, growth, "elements", op->grown);
        json_real(doc, growth, "factor", op->growth);
        add_block(doc, growth, op->growth_block);
        json_uint(doc, growth, "element", op->growth_element);
    }
    json_uint(doc, item, "overflows", op->overflows);
    json_uint(doc, item, "decisions", op->decisions);
    if (op->decisions)
        add_op_error(doc, item, "first_decision", &op->decided);
    json_bool(doc, item, "drops", op->drops);
}

void run_precision_json(json_doc *doc, cJSON *root, const run_job *job)
{
    cJSON *item = json_object(doc, root, "precision"), *arrays = json_array(doc, item, "arrays");
    cJSON *list = json_array(doc, item, "ops");
    tv_vm_array_precision array;
    size_t count = 0;
    tv_vm_op_precision *ops = sorted_ops(job, &count);
    for (size_t i = 0; tv_vm_array_precision_at(job->vm, i, &array); i++)
        add_array(doc, arrays, &array);
    for (size_t i = 0; ops && i < count; i++)
        add_op(doc, list, &ops[i]);
    doc->failed |= count && !ops;
    free(ops);
}
