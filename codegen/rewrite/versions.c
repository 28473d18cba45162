/* Creates two versions of consecutive ops: one that relies on a condition, and the original one:

       a                       if holds { a'; for ... } else { a; for ... }
       for ...           ->

   Why it is right: both versions compute what the ops computed, whatever the condition is. Ops on which their operands
   do not depend stay in front. Loops of the second version are marked plain, so that nothing is prepared for them. */
#include "codegen/rewrite/versions.h"

#include "codegen/analysis/product.h"
#include "codegen/kernel/limits.h"

/* ---- ops that stay in front ---- */

static bool is_in(const ct_op *op, const ct_op *first, const ct_op *last)
{
    const ct_block *block = first->block;
    while (op && op->block != block)
        op = op->block->parent;
    for (const ct_op *o = op ? first : NULL; o; o = o == last ? NULL : o->next)
        if (o == op)
            return true;
    return false;
}

static bool is_ready(const ct_op *op, const ct_op *first, const ct_op *last)
{
    for (uint32_t i = 0; i < op->operand_count; i++) {
        const ct_value *v = op->operands[i];
        if (is_in(v->op ? v->op : v->block->parent, first, last))
            return false;
    }
    return ct_is_pure(op) && !op->region_count;
}

void cg_clear_range(ct_op **first, ct_op *last)
{
    for (ct_op *op = *first, *next; op != last; op = next) {
        next = op->next;
        if (!is_ready(op, *first, last))
            continue;
        if (op == *first)
            *first = next;
        else
            ct_move_before(op, *first);
    }
}

/* ---- whether ---- */

static bool is_used_outside(const ct_value *v, const ct_op *first, const ct_op *last)
{
    for (const ct_use *use = v->uses; use; use = use->next)
        if (!is_in(use->op, first, last))
            return true;
    return false;
}

static bool may_be_result(const ct_value *v)
{
    return bc_is_tile(v->type) || v->type->kind == BC_TOKEN;
}

bool cg_may_version(const ct_op *first, const ct_op *last)
{
    uint32_t ops = 0;
    for (const ct_op *op = first; op != last->next; op = ct_next_op(op, first->block))
        if ((!op->next && op->block == first->block) || op->opcode == OP_return || ++ops > CG_VERSION_OPS)
            return false; /* a terminator, or too many ops */
    for (const ct_op *op = first; op != last->next; op = op->next)
        for (uint32_t i = 0; i < op->result_count; i++)
            if (!may_be_result(&op->results[i]) && is_used_outside(&op->results[i], first, last))
                return false;
    return true;
}

/* ---- making them ---- */

/* Finds the values of the range that are used outside it, and returns their number. */
static uint32_t results_of(const ct_op *first, const ct_op *last, ct_value **out)
{
    uint32_t count = 0;
    for (const ct_op *op = first; op; op = op == last ? NULL : op->next)
        for (uint32_t i = 0; i < op->result_count; i++)
            if (is_used_outside(&op->results[i], first, last)) {
                if (count == CG_VERSION_RESULTS)
                    return UINT32_MAX;
                out[count++] = &op->results[i];
            }
    return count;
}

static bool copy_range(cg_func *c, const ct_op *first, const ct_op *last, ct_block *to, ct_map *map)
{
    for (const ct_op *op = first; op; op = op == last ? NULL : op->next) {
        ct_op *copy = ct_clone(c->ir, op, map);
        if (!copy)
            return false;
        ct_append(to, copy);
    }
    for (ct_op *op = to->first; op; op = ct_next_op(op, to))
        op->plain = ct_is_loop(op);
    return true;
}

bool cg_version(cg_func *c, ct_op *first, ct_op *last, ct_value *condition, ct_block **out_otherwise)
{
    ct_value *results[CG_VERSION_RESULTS], *copies[CG_VERSION_RESULTS];
    uint32_t count = results_of(first, last, results);
    ct_map map;
    if (count == UINT32_MAX)
        return false;
    ct_op *branch = ct_if_new(c->ir, first, condition, count);
    if (!branch || !ct_map_new(c->ir, &map) || !copy_range(c, first, last, branch->regions[1], &map))
        return false;
    ct_insert_before(branch, first);
    for (uint32_t i = 0; i < count; i++) {
        copies[i] = map.to[results[i]->id];
        ct_be_like(&branch->results[i], results[i]);
    }
    ct_op *end = ct_yield_new(c->ir, branch->regions[0], first, results, count);
    if (!end || !ct_yield_new(c->ir, branch->regions[1], first, copies, count))
        return false;
    for (ct_op *op = first, *next; op; op = next) {
        next = op == last ? NULL : op->next;
        ct_move_before(op, end);
    }
    for (uint32_t i = 0; i < count; i++)
        ct_replace_uses_outside(results[i], &branch->results[i], branch->regions[0]);
    *out_otherwise = branch->regions[1];
    return true;
}

void cg_note_likely(const ct_block *otherwise)
{
    bool nested = ct_loop_around(otherwise->parent);
    for (const ct_op *op = otherwise->first; op; op = ct_next_op(op, otherwise))
        nested = nested || (op->plain && ct_loop_around(op));
    for (ct_op *op = otherwise->first; op && !nested; op = ct_next_op(op, otherwise))
        op->likely = op->plain;
}

bool cg_has_likely(const ct_func *f)
{
    for (const ct_op *op = f->body->first; op; op = ct_next_op(op, f->body))
        if (op->likely)
            return true;
    return false;
}

void cg_let_chains_run_ahead(ct_block *second)
{
    for (ct_op *op = second->first; op; op = ct_next_op(op, second)) {
        bool lifted = true;
        uint32_t products = 0;
        for (const ct_op *in = op->plain && op->likely ? op->regions[0]->first : NULL; in;
             in = ct_next_op(in, op->regions[0])) {
            lifted = lifted && in->opcode != OP_load_ptr_tko;
            products += cg_is_product(in);
        }
        op->plain = op->plain && !(lifted && products > 1);
    }
}
