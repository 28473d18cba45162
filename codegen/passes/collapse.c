/* Combines two nested loops into one if the inner loop has few iterations and the outer loop does nothing else:

       for o in (0 to n, step 1) iter (c) {            for t in (0 to n * 4, step 1) iter (c) {
         for i in (0 to 4, step 1) iter (c) {              o = t / 4, i = t % 4
           ... o * 4 + i ...                      ->       ... t ...
         }                                             }
       }

   This applies to loops that load or multiply tiles: a pipeline that is filled for only four iterations, and then
   drained, hides no latency.

   Why it is right: o and i take the same values in the same order. Each iteration takes what the one before it passed
   on, whichever loop that iteration ended. The number of iterations is exact: it is computed in 64 bits if it could
   exceed 32. The ops of the outer loop are repeated in each iteration; they are pure. */
#include "codegen/kernel/limits.h"
#include "codegen/passes/count.h"

#include "codegen/analysis/product.h"
#include "codegen/facts/facts.h"
#include "codegen/tile/build.h"

typedef struct nest {
    ct_op *outer, *inner;
    int64_t count; /* iterations of the inner loop */
    bool is_wide;
} nest;

/* Does the loop count from 0 in steps of 1, as a signed 32-bit number? */
static bool is_simple(const ct_op *loop)
{
    int64_t first, step;
    return loop->opcode == OP_for && !ct_attr_u(loop, F_for_unsigned_cmp)
           && bc_elem_kind(loop->operands[0]->type) == BC_I32 && ct_is_constant(loop->operands[0], &first) && first == 0
           && ct_is_constant(loop->operands[2], &step) && step == 1 && loop->regions[0]->last->opcode == OP_continue;
}

/* Does the outer loop only pass on the values that the inner loop carries? */
static bool hands_on(const nest *x)
{
    const ct_block *body = x->outer->regions[0];
    bool same = x->outer->result_count == x->inner->result_count;
    for (uint32_t i = 0; same && i < x->outer->result_count; i++) {
        const ct_value *arg = &body->args[i + 1], *result = &x->inner->results[i];
        same = x->inner->operands[3 + i] == arg && arg->uses && !arg->uses->next && body->last->operands[i] == result
               && result->uses && !result->uses->next;
    }
    return same;
}

/* Is the op repeated in each iteration for nothing: it is pure, and gives scalars, or the elements of its operand? */
static bool is_free(const ct_op *op)
{
    return ct_is_pure(op)
           && (ct_gives_no_tiles(op)
               || (op->opcode < OP_LIMIT && bc_op_in(op->opcode, BC_OPS(GIVEN) | BC_OPS(RESHAPE) | BC_OPS(MOVE))));
}

/* Are there loads or products in the loop? */
static bool has_pipeline(const ct_block *body)
{
    const ct_op *op = body->first;
    while (op && !ct_is_load(op) && !cg_is_product(op))
        op = ct_next_op(op, body);
    return op;
}

static bool find_nest(ct_op *outer, nest *x)
{
    *x = (nest){.outer = outer};
    if (!is_simple(outer))
        return false;
    for (ct_op *op = outer->regions[0]->first; op->next; op = op->next) {
        if (op->opcode == OP_for && !x->inner)
            x->inner = op;
        else if (x->inner || !is_free(op))
            return false;
    }
    return x->inner && is_simple(x->inner) && ct_is_constant(x->inner->operands[1], &x->count) && x->count > 1
           && x->count <= CG_RING_SLOTS && has_pipeline(x->inner->regions[0]) && hands_on(x)
           && ct_ends_in_one_place(x->inner) && ct_ends_in_one_place(outer);
}

/* ---- making the loop ---- */

static ct_op *put_loop(cg_func *c, nest *x)
{
    ct_builder b = {c->ir, x->outer, false};
    ct_value *end = x->outer->operands[1];
    x->is_wide = !end->fact || cg_range_of(end).high > INT32_MAX / x->count
                 || cg_range_of(end).low < -INT32_MAX / x->count;
    bc_kind kind = x->is_wide ? BC_I64 : BC_I32;
    ct_value *zero = ct_build_scalar(&b, kind, 0), *count = ct_build_scalar(&b, kind, x->count),
             *all = ct_build_mul(&b, ct_build_resize(&b, end, kind, true), count);
    ct_value *bounds[] = {zero, all, ct_build_scalar(&b, kind, 1)};
    if (b.failed)
        return NULL;
    ct_op *loop = ct_carrying_for_new(c->ir, x->outer, bounds, x->outer->operands + 3, x->outer->result_count);
    if (loop)
        ct_insert_before(loop, x->outer);
    return loop;
}

/* Replaces o * count + i by the number of the iteration. */
static void replace_sums(const nest *x, ct_value *number)
{
    const ct_value *o = &x->outer->regions[0]->args[0], *i = &x->inner->regions[0]->args[0];
    for (ct_use *use = i->uses, *next; use; use = next) {
        next = use->next;
        ct_op *sum = use->op;
        const ct_op *product = sum->opcode == OP_addi ? sum->operands[1 - use->index]->op : NULL;
        int64_t by;
        for (uint32_t k = 0; product && product->opcode == OP_muli && k < 2; k++)
            if (product->operands[k] == o && ct_is_constant(product->operands[1 - k], &by) && by == x->count)
                ct_replace_uses(&sum->results[0], number);
    }
}

static bool put_counters(cg_func *c, const nest *x, ct_op *loop)
{
    ct_value *t = &loop->regions[0]->args[0];
    ct_builder b = {c->ir, loop->regions[0]->first, false};
    ct_value *number = ct_build_resize(&b, t, BC_I32, true);
    ct_value *o = ct_build_resize(&b, ct_build_div_unsigned(&b, t, x->count), BC_I32, true);
    ct_value *i = ct_build_sub(&b, number, ct_build_mul(&b, o, ct_build_scalar(&b, BC_I32, x->count)));
    if (!i)
        return false;
    replace_sums(x, number);
    ct_replace_uses(&x->outer->regions[0]->args[0], o);
    ct_replace_uses(&x->inner->regions[0]->args[0], i);
    return true;
}

ct_op *cg_collapse_loops(cg_func *c, ct_op *outer)
{
    nest x;
    if (!find_nest(outer, &x))
        return NULL;
    ct_op *loop = cg_find_facts(c->ir) ? put_loop(c, &x) : NULL;
    if (!loop)
        return NULL;
    ct_block *body = x.outer->regions[0], *in = x.inner->regions[0], *to = loop->regions[0];
    for (uint32_t i = 0; i < loop->result_count; i++) {
        ct_replace_uses(&x.outer->results[i], &loop->results[i]);
        ct_replace_uses(&in->args[i + 1], &to->args[i + 1]);
    }
    ct_remove(body->last);
    while (body->first != x.inner) {
        ct_op *op = body->first;
        ct_move_before(op, in->first);
    }
    ct_move_all(in, to, loop);
    if (!put_counters(c, &x, loop))
        return NULL;
    ct_remove(x.inner);
    ct_remove(x.outer);
    return loop;
}
