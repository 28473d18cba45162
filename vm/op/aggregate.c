/* reduce and scan. A body of scalar element-wise ops runs on strips, many combinations at a time; any other body runs
   as it stands, once per combination.

   reduce   combines in a tree by halves: element i with element i + n/2, then the same on the half that results. The
            identity takes no part.
   scan     along its dimension in order: result[j] = f(result[j - 1], x[j]), from the other end when reversed.
   In both the even arguments of the body are what comes first in that order. */
#include "vm/op/aggregate.h"

#include <string.h>

#include "vm/check/check.h"
#include "vm/compile/compile.h"
#include "vm/compile/control.h"
#include "vm/compile/group.h"
#include "vm/compile/plan.h"
#include "vm/compile/storage.h"
#include "vm/run/schedule.h"

enum { MAX_PAIRS = VM_MAX_PAIRS, NARROW = 128 };

typedef vm_aggregate aggregate_inst;

/* ---- combining ---- */

/* to[k][i] = f(a[k][i], b[k][i]) for i below n and every pair k; to[k] may be a[k] or b[k]. False: the run stops. */
static bool combine(vm_frame *f, const aggregate_inst *g, unsigned char *const *to, unsigned char *const *a,
                    unsigned char *const *b, size_t n)
{
    const void *args[2 * MAX_PAIRS], *node[2 * VM_MAX_NODES];
    vm_target targets[MAX_PAIRS];
    if (g->body) {
        for (size_t i = 0; i < n; i++) {
            for (uint32_t k = 0; k < g->pairs; k++) {
                memcpy(vm_at(f, g->args[2 * k]), a[k] + i * g->bytes[k], g->bytes[k]);
                memcpy(vm_at(f, g->args[2 * k + 1]), b[k] + i * g->bytes[k], g->bytes[k]);
            }
            vm_execute(f, g->body);
            if (f->trapped)
                return false;
            for (uint32_t k = 0; k < g->pairs; k++)
                memcpy(to[k] + i * g->bytes[k], vm_at(f, g->yields[k]), g->bytes[k]);
        }
        return true;
    }
    if (g->kernel) {
        g->kernel(to[0], g->swapped ? b[0] : a[0], g->swapped ? a[0] : b[0], NULL, n);
        return vm_go_on(f, &g->head, n / VM_UNIT_ELEMENTS);
    }
    size_t strip = (size_t)1 << g->strips.strip_bits;
    for (uint32_t k = 0; k < g->pairs; k++)
        targets[k] = (vm_target){.ptr = to[k], .row_bits = 31};
    vm_strips_begin(f, &g->strips, f->scratch, node);
    for (size_t i = 0; i < n; i += strip) {
        size_t count = n - i < strip ? n - i : strip;
        for (uint32_t k = 0; k < g->pairs; k++) {
            args[2 * k] = a[k] + i * g->bytes[k];
            args[2 * k + 1] = b[k] + i * g->bytes[k];
        }
        vm_strips_run(f, &g->strips, f->scratch, i, count, args, targets, node);
        for (uint32_t k = 0; k < g->pairs; k++)
            if (node[g->nodes[k]] != to[k] + i * g->bytes[k])
                memmove(to[k] + i * g->bytes[k], node[g->nodes[k]], count * g->bytes[k]);
        if (!vm_go_on(f, &g->head, g->strips.step_count * count / VM_UNIT_ELEMENTS))
            return false;
    }
    return true;
}

static void transpose(vm_frame *f, unsigned char *to, const unsigned char *from, size_t rows, size_t columns,
                      uint8_t bytes)
{
    f->code->kernels->transpose(to, (int64_t)(rows * bytes), from, (int64_t)(columns * bytes), rows, columns, bytes);
}

/* ---- reduce ---- */

/* Halves `length` down to `until`; rows of length * inner elements, one after the other. The first halving reads in and
   writes temp, packed for the new length; the others stay in temp. */
static bool halve(vm_frame *f, const aggregate_inst *g, size_t until, unsigned char *const *in,
                  unsigned char *const *temp)
{
    unsigned char *to[MAX_PAIRS], *a[MAX_PAIRS], *b[MAX_PAIRS];
    for (size_t o = 0; o < g->outer; o++) {
        size_t half = g->length / 2 * g->inner, last = until * g->inner;
        for (uint32_t k = 0; k < g->pairs; k++) {
            to[k] = temp[k] + o * last * g->bytes[k];
            a[k] = in[k] + o * 2 * half * g->bytes[k];
            b[k] = a[k] + half * g->bytes[k];
        }
        /* the first half of the row may reach into the room of the next rows, which come later */
        for (; half >= last; half /= 2) {
            if (!combine(f, g, to, a, b, half))
                return false;
            for (uint32_t k = 0; k < g->pairs; k++) {
                a[k] = to[k];
                b[k] = to[k] + half / 2 * g->bytes[k];
            }
        }
    }
    return true;
}

/* Rows of few elements: with the dimension outermost, all rows halve at once. */
static bool halve_narrow(vm_frame *f, const aggregate_inst *g, size_t length, unsigned char *const *in,
                         unsigned char *const *turned, unsigned char *const *out)
{
    unsigned char *b[MAX_PAIRS];
    for (uint32_t k = 0; k < g->pairs; k++)
        transpose(f, turned[k], in[k], g->outer, length, g->bytes[k]);
    for (size_t half = length / 2 * g->outer; half >= g->outer; half /= 2) {
        for (uint32_t k = 0; k < g->pairs; k++)
            b[k] = turned[k] + half * g->bytes[k];
        if (!combine(f, g, half == g->outer ? out : turned, turned, b, half))
            return false;
    }
    return true;
}

/* Room for what halve writes: all rows halved down, and the first half of one. */
static size_t halves_elements(const aggregate_inst *g)
{
    bool narrow = g->inner == 1 && g->outer > 1 && !g->body;
    size_t until = narrow ? NARROW : 1;
    return g->length > until ? g->outer * until * g->inner + g->length / 2 * g->inner : 0;
}

static size_t temp_elements(const aggregate_inst *g, bool is_scan)
{
    if (is_scan)
        return g->inner == 1 && g->outer > 1 ? g->outer * g->length : 1;
    return halves_elements(g) + g->outer * (g->length < NARROW ? g->length : NARROW);
}

static void pointers_to(vm_frame *f, const size_t *at, uint32_t count, unsigned char **out)
{
    for (uint32_t k = 0; k < count; k++)
        out[k] = vm_at(f, at[k]);
}

static const vm_inst *reduce_run(vm_frame *f, const vm_inst *inst)
{
    const aggregate_inst *g = (const aggregate_inst *)inst;
    unsigned char *in[MAX_PAIRS], *out[MAX_PAIRS], *temp[MAX_PAIRS], *turned[MAX_PAIRS];
    pointers_to(f, g->in, g->pairs, in);
    pointers_to(f, g->out, g->pairs, out);
    pointers_to(f, g->temp, g->pairs, temp);
    if (g->length == 1) {
        for (uint32_t k = 0; k < g->pairs; k++)
            memcpy(out[k], in[k], g->outer * g->inner * g->bytes[k]);
        return inst->next;
    }
    bool narrow = g->inner == 1 && g->outer > 1 && !g->body;
    if (!narrow) {
        if (!halve(f, g, 1, in, temp))
            return NULL;
        for (uint32_t k = 0; k < g->pairs; k++)
            memcpy(out[k], temp[k], g->outer * g->inner * g->bytes[k]);
        return inst->next;
    }
    size_t length = g->length;
    if (length > NARROW) {
        if (!halve(f, g, NARROW, in, temp))
            return NULL;
        length = NARROW;
    }
    for (uint32_t k = 0; k < g->pairs; k++)
        turned[k] = temp[k] + halves_elements(g) * g->bytes[k];
    return halve_narrow(f, g, length, length < g->length ? temp : in, turned, out) ? inst->next : NULL;
}

/* ---- scan ---- */

/* rows[j] = f(rows[j - 1], rows[j]) in place, rows of n elements. */
static bool scan_rows(vm_frame *f, const aggregate_inst *g, unsigned char *const *rows, size_t n)
{
    unsigned char *a[MAX_PAIRS], *b[MAX_PAIRS];
    for (size_t j = 1; j < g->length; j++) {
        size_t now = g->reverse ? g->length - 1 - j : j, before = g->reverse ? now + 1 : now - 1;
        for (uint32_t k = 0; k < g->pairs; k++) {
            a[k] = rows[k] + before * n * g->bytes[k];
            b[k] = rows[k] + now * n * g->bytes[k];
        }
        if (!combine(f, g, b, a, b, n))
            return false;
    }
    return true;
}

static const vm_inst *scan_run(vm_frame *f, const vm_inst *inst)
{
    const aggregate_inst *g = (const aggregate_inst *)inst;
    unsigned char *in[MAX_PAIRS], *out[MAX_PAIRS], *temp[MAX_PAIRS];
    pointers_to(f, g->in, g->pairs, in);
    pointers_to(f, g->out, g->pairs, out);
    pointers_to(f, g->temp, g->pairs, temp);
    if (g->inner == 1 && g->outer > 1) { /* all rows in step */
        for (uint32_t k = 0; k < g->pairs; k++)
            transpose(f, temp[k], in[k], g->outer, g->length, g->bytes[k]);
        if (!scan_rows(f, g, temp, g->outer))
            return NULL;
        for (uint32_t k = 0; k < g->pairs; k++)
            transpose(f, out[k], temp[k], g->length, g->outer, g->bytes[k]);
        return inst->next;
    }
    for (uint32_t k = 0; k < g->pairs; k++)
        memcpy(out[k], in[k], g->outer * g->length * g->inner * g->bytes[k]);
    for (size_t o = 0; o < g->outer; o++) {
        if (!scan_rows(f, g, out, g->inner))
            return NULL;
        for (uint32_t k = 0; k < g->pairs; k++)
            out[k] += g->length * g->inner * g->bytes[k];
    }
    return inst->next;
}

/* ---- compiling ---- */

/* The body as code of its own: arguments in frame storage, yield ends it. NULL: out of memory. */
static vm_ctx *emit_body(vm_emit *e, const bc_op *op, aggregate_inst *inst)
{
    const bc_block *block = bc_regions(op)[0];
    vm_ctx *cur = e->cur, *body = vm_new_ctx(e, cur, true, false);
    vm_region_state region = {.outer = e->region, .op = op, .header = &inst->head, .is_body = true};
    vm_storage *slots = bc_new(&e->temp, vm_storage, 3 * inst->pairs);
    if (!slots || e->failed) {
        e->failed = true;
        return NULL;
    }
    body->header = &inst->head;
    vm_begin_segment(e, body, op);
    inst->body = body->first;
    e->at = body;
    vm_layout scalar = vm_layout_packed(0);
    for (uint32_t i = 0; i < 2 * inst->pairs; i++) {
        slots[i] = vm_new_storage(e, 8, cur);
        vm_set_stored(e, &block->args[i], slots[i], &scalar, NULL);
    }
    region.results.count = inst->pairs;
    region.results.storage = slots + 2 * inst->pairs;
    for (uint32_t k = 0; k < inst->pairs; k++)
        region.results.storage[k] = vm_new_storage(e, 8, cur);
    if (e->exact)
        region.results.exact = vm_aggregate_exact_body(e, block, inst->pairs, cur);
    e->region = &region;
    e->quiet++;
    vm_emit_block(e, body, block);
    e->quiet--;
    e->region = region.outer;
    vm_close_groups(e, cur);
    for (uint32_t i = 0; i < 2 * inst->pairs; i++)
        vm_bind(e, &inst->head, &inst->args[i], slots[i], 0, VM_UPDATE);
    for (uint32_t k = 0; k < inst->pairs; k++)
        vm_bind(e, &inst->head, &inst->yields[k], region.results.storage[k], 0, VM_UPDATE);
    if (e->exact)
        vm_aggregate_bind_body(e, inst, block, region.results.exact);
    e->at = cur;
    return body;
}

static void emit_lanes(vm_emit *e, const bc_op *op, aggregate_inst *inst)
{
    const bc_block *block = bc_regions(op)[0];
    vm_group *outer = e->lanes;
    vm_ctx *cur = e->cur;
    vm_group *lanes = e->lanes = vm_lanes_begin(e, block);
    if (!lanes) {
        e->failed = true;
        return;
    }
    vm_emit_block(e, cur, block);
    e->lanes = outer;
    e->cur = e->at = cur;
    if (e->failed)
        return;
    vm_lanes_end(e, lanes, block, &inst->head, inst->outer * inst->length * inst->inner, &inst->strips, inst->nodes);
    const vm_step *step = inst->strips.steps;
    if (inst->pairs == 1 && inst->strips.step_count == 1 && inst->strips.leaf_count == 2 && step && !step->map.custom
        && step->map.operands == 2 && step->in[0] < 2 && step->in[1] == 1 - step->in[0] && inst->nodes[0] == 2) {
        inst->kernel = step->map.kernel;
        inst->swapped = step->in[0] == 1;
    }
}

static void emit_aggregate(vm_emit *e, const bc_op *op, vm_handler *run, uint32_t dim, bool reverse, bool is_scan)
{
    bc_value **operands = bc_operands(op);
    const bc_block *block = bc_regions(op)[0];
    const bc_type *type = operands[0]->type;
    vm_storage temps[MAX_PAIRS], exact_temps[MAX_PAIRS];
    uint32_t pairs = op->operand_count;
    if (pairs > MAX_PAIRS) {
        vm_unsupported(e, op, "'%s' of %u tiles at once; %u is the limit", bc_info(op)->name, pairs,
                       (unsigned)MAX_PAIRS);
        return;
    }
    for (uint32_t k = 0; k < pairs; k++)
        vm_need_packed(e, operands[k]);
    if (e->exact)
        run = vm_aggregate_need_exact(e, op, is_scan);
    aggregate_inst *inst = vm_new_inst(e, op, run, aggregate_inst);
    inst->pairs = pairs;
    inst->reverse = reverse;
    inst->outer = inst->length = inst->inner = 1;
    for (uint32_t d = 0; d < type->rank; d++)
        *(d < dim ? &inst->outer : d == dim ? &inst->length : &inst->inner) *= (size_t)type->shape[d];
    size_t *fields = vm_code_bytes(e, 6 * (size_t)pairs * sizeof *fields);
    inst->in = fields;
    inst->out = fields + pairs;
    inst->temp = fields + 2 * pairs;
    inst->args = fields + 3 * pairs;
    inst->yields = fields + 5 * pairs;
    inst->nodes = vm_code_bytes(e, pairs * sizeof *inst->nodes);
    inst->bytes = vm_code_bytes(e, pairs);
    for (uint32_t k = 0; k < pairs; k++)
        inst->bytes[k] = (uint8_t)vm_elem_bytes(bc_elem_kind(operands[k]->type));
    uint32_t position = e->position;
    vm_ctx *at = e->at, *body = NULL;
    if (vm_body_is_lanes(block) && !e->lanes && !e->exact && !(e->checks && vm_body_has_checks(e, block)))
        emit_lanes(e, op, inst);
    else
        body = emit_body(e, op, inst);
    e->at = at;
    e->position = position; /* the body has moved it on, and copies that were made here are for this op */
    for (uint32_t k = 0; k < pairs && !e->failed; k++) {
        size_t elements = e->exact ? inst->outer * inst->length * inst->inner : temp_elements(inst, is_scan);
        vm_storage temp = vm_new_storage(e, elements * inst->bytes[k], e->at);
        vm_read_packed(e, &inst->head, &inst->in[k], operands[k]);
        vm_bind(e, &inst->head, &inst->temp[k], temp, 0, VM_UPDATE);
        vm_write(e, &inst->head, &inst->out[k], vm_result(op, k));
        temps[k] = temp;
    }
    if (e->exact && !e->failed)
        vm_aggregate_bind_exact(e, op, inst, exact_temps);
    vm_append(e, &inst->head);
    if (e->exact && !e->failed)
        vm_aggregate_hold_exact(e, op, inst, body, exact_temps);
    for (uint32_t k = 0; k < pairs && body && !e->failed; k++) { /* each run of the body is between two uses of these */
        const vm_value *operand = vm_value_of(e, operands[k]);
        vm_hold(e, body, vm_has_packed(e, operand) ? operand->packed : operand->storage);
        vm_hold(e, body, vm_value_of(e, vm_result(op, k))->storage);
        vm_hold(e, body, temps[k]);
    }
}

void vm_reduce(vm_emit *e, const bc_op *op)
{
    emit_aggregate(e, op, reduce_run, (uint32_t)bc_attr_u(op, F_reduce_dim), false, false);
}

void vm_scan(vm_emit *e, const bc_op *op)
{
    uint64_t reverse = bc_attr_u(op, F_scan_reverse);
    emit_aggregate(e, op, scan_run, (uint32_t)bc_attr_u(op, F_scan_dim), reverse != 0, true);
}
