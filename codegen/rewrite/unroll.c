/* Unrolls loops so that the loads of several iterations are in flight at once:

       for i = first to end step s {             mid = first + max(end - first, 0) / (2 * s) * (2 * s)
         %t = load %v[i]                         for i = first to mid step 2 * s {
         ... uses of %t ...               =>       %t0 = load %v[i]; %t1 = load %v[i + s]
       }                                           ... uses of %t0 ...; ... uses of %t1 ...
                                                 }
                                                 for i = mid to end step s { ... as before ... }

   What sixteen iterations or more together leave is executed by a loop of a quarter as many, and so on, as long as that
   is at least four: a row may have hardly as many iterations as are together, or fewer, and loads one after the other
   wait for each of them. Each of these loops ends behind the last multiple of its own iterations, counted from `first`:
   not in front of where the loop before it ends, whose iterations are a multiple of these.

   Why it is right: the counters take the same values in the same order; none of them overflows, because all lie
   between `first`, which is not negative, and `end`, and the steps of 2^bits iterations are a positive number of 32
   bits. A load moves in front of other ops only if no store or ordering op of the loop has to precede it, in its
   iteration or an earlier one (cg_iterations_hold_back), and its operands are computed from the counter, values from
   outside and other such loads, by pure ops that move with it. All other ops keep their order. */
#include "codegen/rewrite/unroll.h"

#include "codegen/analysis/order.h"
#include "codegen/facts/facts.h"
#include "codegen/kernel/limits.h"
#include "codegen/tile/build.h"

/* ---- whether ---- */

/* Can its counter, of at least 32 bits, be that of several iterations? It starts at a number that is not negative, and
   its step is a constant or, where blocks take tiles in turn, at most the number of blocks. */
static bool counts_up(const ct_op *loop)
{
    bc_kind kind = loop->opcode == OP_for ? bc_elem_kind(loop->operands[0]->type) : BC_I1;
    if (!(kind == BC_I32 || kind == BC_I64) || ct_attr_u(loop, F_for_unsigned_cmp))
        return false;
    cg_range first = cg_range_of(loop->operands[0]), step = cg_range_of(loop->operands[2]);
    return first.low >= 0 && first.high <= INT32_MAX && step.low > 0 && step.high <= CG_UNROLLED_STEP;
}

/* Marks, by value id, the values from which the operands of the body's loads are computed, tokens apart. */
static bool *values_of_loads(cg_func *c, const ct_block *body)
{
    bool *marks = bc_new(&c->arena, bool, c->ir->value_count + 1u);
    for (const ct_op *op = body->last; op && marks; op = op->prev) {
        bool needs = ct_is_load(op);
        for (uint32_t i = 0; i < op->result_count; i++)
            needs = needs || marks[op->results[i].id];
        for (uint32_t i = 0; i < op->operand_count && needs; i++)
            marks[op->operands[i]->id] = op->operands[i]->type->kind != BC_TOKEN;
    }
    return marks;
}

static bool gives_marked(const bool *marks, const ct_op *op)
{
    bool gives = false;
    for (uint32_t i = 0; i < op->result_count; i++)
        gives = gives || marks[op->results[i].id];
    return gives;
}

/* Does the load follow only what is in front of the iteration, or another load? */
static bool takes_no_token(const ct_op *load, const ct_block *body)
{
    bool free = true;
    for (uint32_t i = 0; i < load->operand_count; i++) {
        const ct_value *v = load->operands[i];
        free = free && (v->type->kind != BC_TOKEN || v->block != body || !v->op || ct_is_load(v->op));
    }
    return free;
}

static bool may_repeat(const ct_op *op)
{
    return op->opcode == OP_reduce || op->opcode == CT_stow || op->opcode == CT_stowed || ct_is_pure(op)
           || cg_is_weak_access(op);
}

bool cg_may_unroll(cg_func *c, const ct_op *loop)
{
    const ct_block *body = loop->regions[0];
    if (!counts_up(loop) || body->last->opcode != OP_continue)
        return false;
    const bool *marks = values_of_loads(c, body);
    bool may = marks;
    for (uint32_t i = 1; i < body->arg_count && may; i++)
        may = !marks[body->args[i].id];
    for (const ct_op *op = body->first; op != body->last && may; op = op->next) {
        bool moves = gives_marked(marks, op);
        may = may_repeat(op) && (!moves || ct_is_pure(op) || ct_is_load(op));
        if (ct_is_load(op))
            may = may && takes_no_token(op, body) && !cg_iterations_hold_back(c, body, op);
    }
    return may;
}

/* ---- the new loop ---- */

/* What the loop counts: end - first, or 0 if it has no iteration. */
static ct_value *span_of(ct_builder *b, const ct_op *loop)
{
    ct_value *first = loop->operands[0], *end = loop->operands[1], *span = ct_build_sub(b, end, first),
             *none = ct_build_scalar(b, bc_elem_kind(first->type), 0);
    return ct_build_if_less(b, first, end, true, span, none);
}

/* The first counter value that a loop from `first` to `end` does not reach of which each iteration counts `chunk`. */
static ct_value *end_of_whole(ct_builder *b, ct_value *first, const ct_value *end, ct_value *span, ct_value *chunk,
                              bool is_bounded)
{
    ct_value *count = ct_build_quotient(b, span, chunk), *mid = ct_build_add(b, first, ct_build_mul(b, count, chunk));
    int64_t low = cg_range_of(first).high, high = cg_range_of(end).high;
    return is_bounded ? ct_build_bounded(b, mid, 0, low > high ? low : high) : mid;
}

/* Says in the body that the counter is less than the end of `loop`: the end of the new loop has a wider range, and the
   counters of the other iterations, which are computed, have none. */
static bool promise_range(cg_func *c, const ct_op *loop, ct_block *body)
{
    ct_builder b = {c->ir, body->first, false};
    int64_t end = cg_range_of(loop->operands[1]).high;
    ct_value *counter = ct_build_bounded(&b, &body->args[0], 0, end > 0 ? end - 1 : 0);
    if (!counter)
        return false;
    ct_replace_uses(&body->args[0], counter);
    ct_set_operand(counter->op, 0, &body->args[0]);
    return true;
}

/* Repeats the ops up to `last` for an iteration behind the first one, whose counter is larger by `ahead` steps. next:
   what that iteration carries, and then what it passes on. */
static bool repeat(cg_func *c, ct_block *body, const ct_op *last, ct_value *step, int64_t ahead, ct_value **next)
{
    ct_builder b = {c->ir, body->last, false};
    ct_value *steps = ct_build_scalar(&b, bc_elem_kind(step->type), ahead), *by = ct_build_mul(&b, step, steps);
    ct_value *counter = ct_build_add(&b, &body->args[0], by);
    ct_map map;
    if (!counter || !ct_map_new(c->ir, &map))
        return false;
    ct_map_set(&map, &body->args[0], counter);
    for (uint32_t i = 1; i < body->arg_count; i++)
        ct_map_set(&map, &body->args[i], next[i - 1]);
    for (const ct_op *op = body->first;; op = op->next) {
        ct_op *copy = ct_clone(c->ir, op, &map);
        if (!copy)
            return false;
        ct_insert_before(copy, body->last);
        for (uint32_t i = 0; i < op->operand_count && ct_is_load(op); i++)
            if (op->operands[i]->type->kind == BC_TOKEN && !op->operands[i]->op)
                ct_set_operand(copy, i, op->operands[i]);
        if (op == last)
            break;
    }
    for (uint32_t i = 1; i < body->arg_count; i++)
        next[i - 1] = ct_mapped(&map, body->last->operands[i - 1]);
    return true;
}

/* Moves all loads to the head of the body, with the ops that compute their operands. */
static void move_loads(cg_func *c, ct_block *body)
{
    const bool *marks = values_of_loads(c, body);
    ct_op *place = body->first;
    for (ct_op *op = body->first, *next; op != body->last && marks; op = next) {
        next = op->next;
        if (!ct_is_load(op) && !gives_marked(marks, op))
            continue;
        if (op == place)
            place = next;
        else
            ct_move_before(op, place);
    }
}

static bool repeat_all(cg_func *c, const ct_op *loop, ct_block *body, uint32_t bits)
{
    const ct_op *last = body->last->prev;
    uint32_t carried = body->arg_count - 1;
    ct_value **next = bc_new(&c->arena, ct_value *, carried + 1u);
    for (uint32_t i = 0; i < carried && next; i++)
        next[i] = body->last->operands[i];
    for (int64_t n = 1; n < (int64_t)1 << bits; n++)
        if (!next || !repeat(c, body, last, loop->operands[2], n, next))
            return false;
    for (uint32_t i = 0; i < carried; i++)
        ct_set_operand(body->last, i, next[i]);
    move_loads(c, body);
    return true;
}

/* Puts a loop up to `mid`, of which each iteration executes 2^bits iterations, in front of `loop`, which begins there.
   NULL: out of memory. */
static ct_op *put_whole(cg_func *c, ct_op *loop, ct_value *mid, ct_value *chunk, uint32_t bits, bool is_bounded)
{
    ct_map map;
    ct_op *whole = mid && ct_map_new(c->ir, &map) ? ct_clone(c->ir, loop, &map) : NULL;
    if (!whole)
        return NULL;
    ct_insert_before(whole, loop);
    ct_set_operand(whole, 1, mid);
    ct_set_operand(whole, 2, chunk);
    ct_set_operand(loop, 0, mid);
    uint32_t carried = ct_first_carried(loop);
    for (uint32_t i = 0; i < loop->result_count; i++)
        ct_set_operand(loop, carried + i, &whole->results[i]);
    whole->unrolled = loop->unrolled = true;
    bool done = (!is_bounded || promise_range(c, loop, whole->regions[0]))
                && repeat_all(c, loop, whole->regions[0], bits);
    return done ? whole : NULL;
}

bool cg_unroll(cg_func *c, ct_op *loop, uint32_t bits, bool is_bounded)
{
    enum { QUARTER = 2 /* log2 */ };
    ct_builder b = {c->ir, loop, false};
    ct_value *first = loop->operands[0], *step = loop->operands[2], *span = span_of(&b, loop);
    for (uint32_t left = cg_iterations_of(loop);; bits -= QUARTER) {
        if (left >> bits) {
            ct_value *count = ct_build_scalar(&b, bc_elem_kind(step->type), (int64_t)1 << bits),
                     *chunk = ct_build_mul(&b, step, count),
                     *mid = end_of_whole(&b, first, loop->operands[1], span, chunk, is_bounded);
            ct_op *whole = put_whole(c, loop, mid, chunk, bits, is_bounded);
            if (!whole)
                return false;
            b.place = b.place == loop ? whole : b.place; /* these loops are one after the other */
            left &= ((uint32_t)1 << bits) - 1;
        }
        if (bits < 2 * QUARTER)
            return true;
    }
}
