/* reduce and scan beside exact elements: the body runs once per combination, in the same order as without them, and
   the exact elements take the way of the elements. */
#include <string.h>

#include "vm/compile/storage.h"
#include "vm/op/aggregate.h"
#include "vm/precision/precision.h"

/* ---- running ---- */

/* The elements that are worked on, per pair. */
typedef struct rows {
    unsigned char *real[VM_MAX_PAIRS];
    vm_exact *exact[VM_MAX_PAIRS];
} rows;

/* rows[to] = f(rows[a], rows[b]) for every pair. False: the run stops. */
static bool combine(vm_frame *f, const vm_aggregate *g, const rows *r, size_t to, size_t a, size_t b)
{
    const size_t from[2] = {a, b};
    for (uint32_t k = 0; k < g->pairs; k++)
        for (unsigned i = 0; i < 2; i++) {
            memcpy(vm_at(f, g->args[2 * k + i]), r->real[k] + from[i] * g->bytes[k], g->bytes[k]);
            if (g->exact[k].has)
                memcpy(vm_at(f, g->exact[k].args[i]), &r->exact[k][from[i]], sizeof(vm_exact));
        }
    vm_execute(f, g->body);
    if (f->trapped)
        return false;
    for (uint32_t k = 0; k < g->pairs; k++) {
        memcpy(r->real[k] + to * g->bytes[k], vm_at(f, g->yields[k]), g->bytes[k]);
        if (g->exact[k].has)
            memcpy(&r->exact[k][to], vm_at(f, g->exact[k].yield), sizeof(vm_exact));
    }
    return true;
}

/* Copies of the operands, of all elements, at `real` and `exact` of each pair. */
static rows copy_operands(vm_frame *f, const vm_aggregate *g, bool to_results)
{
    size_t n = g->outer * g->length * g->inner;
    rows r;
    for (uint32_t k = 0; k < g->pairs; k++) {
        const vm_aggregate_exact *x = &g->exact[k];
        r.real[k] = vm_at(f, to_results ? g->out[k] : g->temp[k]);
        r.exact[k] = vm_at(f, to_results ? x->out : x->temp);
        memcpy(r.real[k], vm_at(f, g->in[k]), n * g->bytes[k]);
        if (x->has)
            memcpy(r.exact[k], vm_at(f, x->in), n * sizeof(vm_exact));
    }
    return r;
}

static const vm_inst *reduce_run(vm_frame *f, const vm_inst *inst)
{
    const vm_aggregate *g = (const vm_aggregate *)inst;
    rows r = copy_operands(f, g, false);
    size_t row = g->length * g->inner;
    for (size_t half = row / 2; half >= g->inner && g->length > 1; half /= 2)
        for (size_t o = 0; o < g->outer; o++)
            for (size_t i = o * row; i < o * row + half; i++)
                if (!combine(f, g, &r, i, i, i + half))
                    return NULL;
    for (uint32_t k = 0; k < g->pairs; k++)
        for (size_t o = 0; o < g->outer; o++) {
            size_t bytes = g->inner * g->bytes[k];
            memcpy(f->base + g->out[k] + o * bytes, r.real[k] + o * row * g->bytes[k], bytes);
            if (g->exact[k].has)
                memcpy((vm_exact *)vm_at(f, g->exact[k].out) + o * g->inner, r.exact[k] + o * row,
                       g->inner * sizeof(vm_exact));
        }
    return inst->next;
}

static const vm_inst *scan_run(vm_frame *f, const vm_inst *inst)
{
    const vm_aggregate *g = (const vm_aggregate *)inst;
    rows r = copy_operands(f, g, true);
    for (size_t o = 0; o < g->outer; o++)
        for (size_t j = 1; j < g->length; j++) {
            size_t now = o * g->length + (g->reverse ? g->length - 1 - j : j);
            size_t before = g->reverse ? now + 1 : now - 1;
            for (size_t i = 0; i < g->inner; i++)
                if (!combine(f, g, &r, now * g->inner + i, before * g->inner + i, now * g->inner + i))
                    return NULL;
        }
    return inst->next;
}

/* ---- compiling ---- */

vm_handler *vm_aggregate_need_exact(vm_emit *e, const bc_op *op, bool is_scan)
{
    for (uint32_t k = 0; k < op->operand_count; k++)
        if (vm_has_floats(bc_operands(op)[k]))
            vm_need_exact(e, bc_operands(op)[k]);
    return is_scan ? scan_run : reduce_run;
}

vm_storage *vm_aggregate_exact_body(vm_emit *e, const bc_block *body, uint32_t pairs, vm_ctx *home)
{
    vm_storage *yields = bc_new(&e->temp, vm_storage, pairs + 1u);
    if (!yields) {
        e->failed = true;
        return NULL;
    }
    for (uint32_t i = 0; i < 2 * pairs; i++) {
        if (!vm_has_floats(&body->args[i]))
            continue;
        vm_set_exact(e, &body->args[i], vm_new_storage(e, sizeof(vm_exact), home));
        yields[i / 2] = i % 2 ? yields[i / 2] : vm_new_storage(e, sizeof(vm_exact), home);
    }
    return yields;
}

void vm_aggregate_bind_body(vm_emit *e, vm_aggregate *inst, const bc_block *body, const vm_storage *yields)
{
    inst->exact = bc_new(e->arena, vm_aggregate_exact, inst->pairs);
    if (!inst->exact || !yields) {
        e->failed = true;
        return;
    }
    for (uint32_t k = 0; k < inst->pairs; k++) {
        vm_aggregate_exact *x = &inst->exact[k];
        x->has = yields[k] != VM_NO_STORAGE;
        for (unsigned i = 0; i < 2 && x->has; i++)
            vm_bind(e, &inst->head, &x->args[i], vm_exact_storage(e, &body->args[2 * k + i]), 0, VM_UPDATE);
        if (x->has)
            vm_bind(e, &inst->head, &x->yield, yields[k], 0, VM_UPDATE);
    }
}

void vm_aggregate_bind_exact(vm_emit *e, const bc_op *op, vm_aggregate *inst, vm_storage *out_temps)
{
    for (uint32_t k = 0; k < inst->pairs; k++) {
        const bc_value *operand = bc_operands(op)[k];
        vm_aggregate_exact *x = &inst->exact[k];
        if (!x->has)
            continue;
        out_temps[k] = vm_new_storage(e, vm_exact_bytes(operand), e->at);
        vm_bind(e, &inst->head, &x->in, vm_exact_storage(e, operand), 0, VM_READ);
        vm_bind(e, &inst->head, &x->temp, out_temps[k], 0, VM_UPDATE);
        vm_write_exact(e, &inst->head, &x->out, vm_result(op, k));
    }
}

void vm_aggregate_hold_exact(vm_emit *e, const bc_op *op, const vm_aggregate *inst, vm_ctx *body,
                             const vm_storage *temps)
{
    for (uint32_t k = 0; k < inst->pairs && !e->failed; k++) {
        if (!inst->exact[k].has)
            continue;
        vm_hold(e, body, vm_exact_storage(e, bc_operands(op)[k]));
        vm_hold(e, body, vm_exact_storage(e, vm_result(op, k)));
        vm_hold(e, body, temps[k]);
    }
}
