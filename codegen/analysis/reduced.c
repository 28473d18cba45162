/* Follows tiles to the ops that read them, element by element; see the header. */
#include "codegen/analysis/reduced.h"

#include "codegen/kernel/limits.h"

typedef struct search {
    bool may_store;
    const ct_value *seen[CG_FOLLOWED];
    uint32_t count;
    uint32_t reduced, rows; /* index bits: of reductions; of rows that are broadcast along the others */
} search;

/* The values that have the elements of a used value at the same indices. 0: the op is none that hands them on. */
static uint32_t handed_on(const ct_use *use, const ct_value *out[2])
{
    const ct_op *op = use->op;
    uint32_t count, n = 0, first = ct_is_loop(op) ? ct_first_carried(op) : 0;
    const ct_value *targets = ct_targets(op, &count);
    if (targets)
        out[n++] = &targets[use->index];
    else if (ct_is_loop(op) && use->index >= first)
        out[n++] = &op->regions[0]->args[use->index - first + (op->opcode == OP_for)];
    else if (op->opcode < OP_LIMIT && (ct_is_map(op) || op->opcode == OP_reshape))
        out[n++] = &op->results[0];
    if (op->opcode == OP_continue && ct_loop_around(op)->opcode == OP_for)
        out[n++] = &ct_loop_around(op)->results[use->index];
    return n;
}

/* Was the value not visited before? False, too, if there are too many of them: then the search has failed. */
static bool is_new(search *s, const ct_value *v)
{
    for (uint32_t i = 0; i < s->count && i < CG_FOLLOWED; i++)
        if (s->seen[i] == v)
            return false;
    if (s->count < CG_FOLLOWED)
        s->seen[s->count] = v;
    return ++s->count <= CG_FOLLOWED;
}

static bool has_failed(const search *s)
{
    return s->count > CG_FOLLOWED;
}

/* ---- tiles that are reduced ---- */

/* Is the value computed from constants and indices alone, in the layout in which it is read? left: ops that may be
   looked at. */
static bool is_made(const ct_value *v, uint32_t *left)
{
    const ct_op *op = v->op;
    if (!v->type->rank)
        return true;
    if (!*left || !op || op->opcode >= OP_LIMIT || op->opcode == OP_permute
        || !(ct_is_map(op) || bc_op_in(op->opcode, BC_OPS(RESHAPE) | BC_OPS(MOVE) | BC_OPS(SAME))))
        return false;
    --*left;
    for (uint32_t i = 0; i < op->operand_count; i++)
        if (!is_made(op->operands[i], left))
            return false;
    return true;
}

/* Notes the rows that a map reads beside the tile. */
static void look_beside(search *s, const ct_op *map)
{
    for (uint32_t i = 0; i < map->operand_count; i++) {
        const ct_value *v = map->operands[i];
        uint32_t left = CG_FOLLOWED;
        while (v->op && v->op->opcode == OP_reshape)
            v = v->op->operands[0];
        if (!v->op || v->op->opcode != OP_broadcast || is_made(v, &left))
            continue;
        cg_shape from = cg_shape_of(v->op->operands[0]->type), to = cg_shape_of(v->type);
        for (uint32_t d = 0; d < to.rank; d++)
            s->rows |= from.bits[d] ? cg_dim_mask(&to, d) : 0;
    }
}

static bool stores(const ct_use *use)
{
    const ct_op *op = use->op;
    const ct_value *stored = op->opcode == OP_store_ptr_tko    ? ct_operand(op, F_store_ptr_tko_value)
                             : op->opcode == OP_store_view_tko ? ct_operand(op, F_store_view_tko_tile)
                                                               : NULL;
    return stored && stored == op->operands[use->index];
}

/* Is the value only reduced, or stored as it is? */
static bool stays_in_place(search *s, const ct_value *v)
{
    if (!is_new(s, v))
        return !has_failed(s);
    for (const ct_use *use = v->uses; use; use = use->next) {
        const ct_value *next[2];
        uint32_t count = handed_on(use, next);
        if (use->op->opcode == OP_reduce) {
            cg_shape shape = cg_shape_of(v->type);
            s->reduced |= cg_dim_mask(&shape, (uint32_t)ct_attr_u(use->op, F_reduce_dim));
        } else if (!count && !(s->may_store && stores(use))) {
            return false;
        }
        for (uint32_t i = 0; i < count; i++)
            if (!stays_in_place(s, next[i]))
                return false;
        if (count && next[0]->op == use->op)
            look_beside(s, use->op);
    }
    return true;
}

/* The pointer from which the op's view or pointers are made. */
static const ct_value *base_of(const ct_op *load)
{
    const ct_value *v = load->operands[0];
    for (uint32_t i = 0; i < CG_INDEX_DEPTH && v->op && v->op->operand_count && !v->op->region_count; i++)
        v = v->op->operands[0];
    return v;
}

/* Does the tile leave no registers of a thread for the indices of more columns? */
static bool fills_registers(const cg_func *c, const bc_type *tile)
{
    enum { REGISTER_BITS = 32 };
    uint32_t bits = cg_class_bits(cg_elem_class(tile)), words = bits > REGISTER_BITS ? bits / REGISTER_BITS : 1;
    return (words << cg_shape_of(tile).tile_bits) / cg_threads(c) >= CG_HALF_OF_REGISTERS;
}

static bool reduces(const ct_func *f)
{
    for (const ct_op *op = f->body->first; op; op = ct_next_op(op, f->body))
        if (op->opcode == OP_reduce)
            return true;
    return false;
}

uint32_t cg_reduced_bits(const cg_func *c, const ct_op *load, uint32_t bytes)
{
    search s = {.may_store = bytes >= CG_ACCESS_BYTES};
    const ct_value *base = base_of(load);
    uint32_t loads = 0;
    if (c->strip_bits || fills_registers(c, load->results[0].type) || !stays_in_place(&s, &load->results[0])
        || !reduces(c->ir))
        return 0; /* strips are the upper numbers of warps: a row should not take several */
    for (const ct_op *op = c->ir->body->first; op; op = ct_next_op(op, c->ir->body)) {
        if (op == load || !(ct_is_load(op) || op->opcode == CT_staged) || base_of(op) != base)
            continue;
        s.count = 0;
        if (++loads > CG_REDUCED_LOADS || op->results[0].type != load->results[0].type
            || !stays_in_place(&s, &op->results[0]))
            return 0;
    }
    return s.reduced & s.rows ? 0 : s.reduced;
}

/* ---- results ---- */

static bool is_whole(search *s, const ct_value *v)
{
    if (!is_new(s, v))
        return has_failed(s);
    for (const ct_use *use = v->uses; use; use = use->next) {
        const ct_value *next[2];
        uint32_t count = handed_on(use, next);
        if (!count && (use->op->opcode >= OP_LIMIT || !bc_op_in(use->op->opcode, BC_OPS(ACCESS))))
            return true;
        for (uint32_t i = 0; i < count; i++)
            if (is_whole(s, next[i]))
                return true;
    }
    return false;
}

bool cg_is_read_whole(const ct_op *reduction)
{
    search s = {.count = 0};
    for (uint32_t i = 0; i < reduction->result_count; i++)
        if (is_whole(&s, &reduction->results[i]))
            return true;
    return false;
}
