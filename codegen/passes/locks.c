/* The locks pass takes a lock once around a loop that takes and releases it in each iteration. cuTile's layer norm
   adds the gradients of the weights into a few rows, each under a lock: 16 times for a row of 16,384, and each time
   the lock moves from one block to another.

       for i {                                           if there is a second iteration {
           ...                                               take
           take                                              for i {
           ... sums of tile i                                    ...
           release                                               ... sums of tile i
       }                                                     }
                                                             release
                                                         } else
                                                             the loop as it was

   A lock is a number in memory. Taking it is a loop that only compares and exchanges until it has found `free` and
   written `taken`; releasing it is an exchange that writes `free` to the same place. Nothing else in the loop may wait
   or have a memory order of its own. Work outside the lock is now done while others wait, so the pass changes only
   loops in which that work is small compared with the time in which a lock moves between blocks; the rule is in the
   code. A single iteration gains nothing, and others would wait longer for it.

   Why it is right: other blocks need not take the lock between a release and the next take, so the result was possible
   before. As tokens require, the ops that follow the lock in an iteration still follow the previous iteration. The sums
   of different tiles do not overlap, so their loads can be prefetched. */
#include "codegen/analysis/order.h"
#include "codegen/analysis/product.h"
#include "codegen/cost/cost.h"
#include "codegen/kernel/remarks.h"
#include "codegen/passes/pass.h"
#include "codegen/tile/same.h"
#include "codegen/tile/build.h"

typedef struct locking {
    cg_func *c;
    ct_op *loop, *take, *give;
    uint32_t carried; /* index of the loop's result that is the token of `give` */
} locking;

/* ---- which loops ---- */

/* Are all operands of the op, and of the ops in it, computed inside it or in front of the loop? */
static bool is_from_outside(const locking *x, const ct_op *op)
{
    for (uint32_t i = 0; i < op->operand_count; i++) {
        const ct_value *v = op->operands[i];
        if (v->type->kind != BC_TOKEN && ct_is_inside(v->block, x->loop->regions[0])
            && !ct_is_within(v->op ? v->op : v->block->parent, x->take))
            return false;
    }
    return true;
}

static const ct_op *only_op(const ct_block *block, bc_opcode opcode)
{
    const ct_op *found = NULL;
    for (const ct_op *op = block->first; op; op = ct_next_op(op, block)) {
        if (op->opcode == opcode && found)
            return NULL;
        found = op->opcode == opcode ? op : found;
    }
    return found;
}

/* The result of comparing the exchanged number with a constant if the number was `old`. -1: the op is something
   else. */
static int compare(const ct_op *test, const ct_value *exchanged, int64_t old)
{
    int64_t with;
    if (!test || test->opcode != OP_cmpi || test->operands[0] != exchanged || !ct_is_constant(test->operands[1], &with))
        return -1;
    switch (ct_attr_u(test, F_cmpi_comparison_predicate)) {
    case BC_ComparisonPredicate_equal: return old == with;
    case BC_ComparisonPredicate_not_equal: return old != with;
    default: return -1;
    }
}

/* The terminator that is reached, of the branch or of the loop's body after it, if the condition has that value. */
static uint8_t end_of(const ct_op *branch, int condition)
{
    uint32_t r = condition ? 0 : 1;
    const ct_block *region = r < branch->region_count ? branch->regions[r] : NULL;
    return region && region->last->opcode != OP_yield ? region->last->opcode : branch->block->last->opcode;
}

/* The compare-and-exchange of a loop that only takes a lock. NULL: the loop does something else. */
static const ct_op *exchange_of(const locking *x, const ct_op *loop)
{
    const ct_block *body = loop->regions[0];
    const ct_op *cas = only_op(body, OP_atomic_cas_tko), *branch = only_op(body, OP_if);
    int64_t is_free, taken;
    if (!cas || cas->block != body || !branch || branch->block != body
        || !ct_is_constant(ct_operand(cas, F_atomic_cas_tko_cmp), &is_free)
        || !ct_is_constant(ct_operand(cas, F_atomic_cas_tko_val), &taken))
        return NULL;
    for (const ct_op *op = body->first; op; op = ct_next_op(op, body))
        if (op->opcode >= OP_LIMIT || !is_from_outside(x, op)
            || !(op == cas || op == branch || ct_is_pure(op) || bc_op_in(op->opcode, BC_OPS(EXIT))))
            return NULL;
    int found = compare(branch->operands[0]->op, &cas->results[0], is_free),
        waits = compare(branch->operands[0]->op, &cas->results[0], taken);
    return found >= 0 && end_of(branch, found) == OP_break && end_of(branch, waits) == OP_continue ? cas : NULL;
}

static bool is_same_or_none(const ct_value *a, const ct_value *b)
{
    return a && b ? ct_is_same(a, b) : a == b;
}

/* Does the op write the number that means `free` to the same place? */
static bool gives_back(const locking *x, const ct_op *op, const ct_op *cas)
{
    int64_t is_free, written;
    return op->opcode == OP_atomic_rmw_tko && op->block == x->loop->regions[0]
           && ct_attr_u(op, F_atomic_rmw_tko_mode) == BC_AtomicRMWMode_xchg && is_from_outside(x, op)
           && ct_is_constant(ct_operand(cas, F_atomic_cas_tko_cmp), &is_free)
           && ct_is_constant(ct_operand(op, F_atomic_rmw_tko_arg), &written) && is_free == written
           && ct_is_same(ct_operand(cas, F_atomic_cas_tko_pointers), ct_operand(op, F_atomic_rmw_tko_pointers))
           && is_same_or_none(ct_operand(cas, F_atomic_cas_tko_mask), ct_operand(op, F_atomic_rmw_tko_mask))
           && ct_operand(op, F_atomic_rmw_tko_token) && !op->results[0].uses;
}

static bool are_tokens(const ct_value *values, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (values[i].type->kind != BC_TOKEN)
            return false;
    return true;
}

/* Can no other block wait for the op or notice it? There must be no other loops and no ordered accesses. */
static bool is_plain(const locking *x, const ct_op *op)
{
    const ct_op *around = op->block->parent;
    return op == x->take || op == x->give || ct_is_pure(op) || cg_is_weak_access(op)
           || (op->opcode < OP_LIMIT && bc_op_in(op->opcode, BC_OPS(FOLD)) && !cg_is_product(op))
           || (around != x->loop && bc_op_in(around->opcode, BC_OPS(FOLD))) || op == x->loop->regions[0]->last;
}

static uint64_t elements_of(const ct_op *op)
{
    uint64_t all = 0;
    for (uint32_t i = 0; i < op->result_count && !bc_op_in(op->opcode, BC_OPS(RESHAPE) | BC_OPS(MOVE)); i++)
        if (bc_is_tile(op->results[i].type))
            all += (uint64_t)1 << cg_shape_of(op->results[i].type).tile_bits;
    return all;
}

/* Does the work in the loop besides take no longer than a lock takes to move from one block to another? A warp that is
   alone on its scheduler executes an op for an element after the other, if loads are prefetched. */
static bool is_light(const locking *x)
{
    const ct_block *body = x->loop->regions[0];
    uint64_t elements = 0;
    for (const ct_op *op = body->first; op; op = ct_next_op(op, body)) {
        if (ct_is_within(op, x->take))
            continue;
        if (op->opcode >= OP_LIMIT || cg_is_product(op) || !is_plain(x, op))
            return false;
        elements += elements_of(op);
    }
    const cg_machine *m = cg_machine_of(x->c->target);
    return (double)elements * m->op_latency <= m->lock_turn * cg_threads(x->c);
}

/* Is the token of `give` passed on by the loop, and not used otherwise? */
static bool find_token(locking *x)
{
    const ct_use *use = x->give->results[1].uses;
    if (!use || use->next || use->op != x->loop->regions[0]->last)
        return false;
    x->carried = use->index;
    return true;
}

static bool find(locking *x)
{
    const ct_op *cas = NULL;
    if (x->loop->opcode != OP_for || x->loop->regions[0]->last->opcode != OP_continue)
        return false;
    for (ct_op *op = x->loop->regions[0]->first; op; op = op->next) {
        if (op->opcode == OP_loop && x->take)
            return false;
        x->take = op->opcode == OP_loop ? op : x->take;
        if (op->opcode == OP_loop && !(cas = exchange_of(x, op)))
            return false;
        if (cas && gives_back(x, op, cas) && x->give)
            return false;
        x->give = cas && gives_back(x, op, cas) ? op : x->give;
    }
    return x->give && are_tokens(x->take->results, x->take->result_count) && find_token(x) && is_light(x);
}

/* ---- taking the lock once ---- */

/* Emits the test for a second iteration: from < to, and to - from, which is then unsigned, is larger than the step.
   NULL: out of memory. */
static ct_value *put_condition(const locking *x)
{
    ct_value *from = x->loop->operands[0], *to = x->loop->operands[1], *step = x->loop->operands[2];
    ct_builder b = {x->c->ir, x->loop, false};
    ct_value *any = ct_build_less(&b, from, to, !ct_attr_u(x->loop, F_for_unsigned_cmp)),
             *more = ct_build_less(&b, step, ct_build_sub(&b, to, from), false);
    return ct_build_two(&b, OP_andi, any, more);
}

/* Puts the loop into one side of a branch, and a copy of it into the other side. Returns the branch. NULL: out of
   memory. */
static ct_op *part(const locking *x, ct_value *condition)
{
    ct_func *f = x->c->ir;
    uint32_t count = x->loop->result_count;
    ct_map map;
    ct_op *branch = ct_if_new(f, x->loop, condition, count),
          *other = branch && ct_map_new(f, &map) ? ct_clone(f, x->loop, &map) : NULL;
    ct_value **results = bc_new(f->arena, ct_value *, 2 * count + 1u);
    if (!other || !results)
        return NULL;
    for (uint32_t i = 0; i < count; i++) {
        branch->results[i].type = x->loop->results[i].type;
        ct_replace_uses(&x->loop->results[i], &branch->results[i]);
        results[i] = &x->loop->results[i];
        results[count + i] = &other->results[i];
    }
    ct_insert_before(branch, x->loop);
    ct_append(branch->regions[1], other);
    const ct_op *like = x->loop->regions[0]->last;
    ct_op *end = ct_yield_new(f, branch->regions[0], like, results, count);
    if (!end || !ct_yield_new(f, branch->regions[1], like, results + count, count))
        return NULL;
    ct_move_before(x->loop, end);
    return branch;
}

/* The value of a token before the first iteration. A token from the body becomes one that orders nothing: the
   accesses that it orders before the lock is taken may also happen while it is held. NULL: out of memory. */
static ct_value *first_of(const locking *x, ct_value *token)
{
    const ct_block *body = x->loop->regions[0];
    if (!ct_is_inside(token->block, body))
        return token;
    if (!token->op && token->block == body)
        return x->loop->operands[ct_for_inits(x->loop).first + token->number - 1];
    return ct_build(&(ct_builder){x->c->ir, x->loop, false}, OP_make_token, token->type, NULL, 0);
}

/* Joins the tokens, in front of `place`. NULL: out of memory. */
static ct_value *join(const locking *x, ct_value *const *tokens, uint32_t count, ct_op *place)
{
    return ct_build(&(ct_builder){x->c->ir, place, false}, OP_join_tokens, tokens[0]->type, tokens, count);
}

/* In the loop, ops that followed the lock follow the previous iteration. NULL: out of memory. */
static ct_value *put_take(const locking *x)
{
    ct_op *take = x->take, *next = take->next;
    uint32_t count = take->operand_count;
    ct_value **tokens = bc_new(x->c->ir->arena, ct_value *, 2 * count + 1u);
    if (!tokens)
        return NULL;
    for (uint32_t i = 0; i < count; i++) {
        tokens[i] = tokens[count + i] = take->operands[i];
        ct_value *first = first_of(x, take->operands[i]);
        if (!first)
            return NULL;
        ct_set_operand(take, i, first);
    }
    tokens[2 * count] = &x->loop->regions[0]->args[x->carried + 1];
    ct_value *all = join(x, tokens, 2 * count + 1, next);
    for (uint32_t i = 0; i < count && all; i++) {
        ct_replace_uses(&take->results[i], all);
        ct_set_operand(all->op, count + i, &take->results[i]);
    }
    ct_move_before(take, x->loop);
    return all;
}

static bool put_give(const locking *x, ct_value *taken)
{
    ct_op *give = x->give, *end = x->loop->regions[0]->last;
    ct_value *last = &x->loop->results[x->carried], *old = ct_operand(give, F_atomic_rmw_tko_token),
             *handed_on = join(x, (ct_value *const[]){old, taken}, 2, give);
    if (!handed_on)
        return false;
    ct_set_operand(end, x->carried, handed_on);
    ct_replace_uses(last, &give->results[1]);
    ct_set_operand(give, ct_operand_range(give, F_atomic_rmw_tko_token).first, last);
    ct_move_before(give, x->loop->next);
    return true;
}

/* The op to visit next. */
static ct_op *look_at(cg_func *c, ct_op *loop)
{
    locking x = {.c = c, .loop = loop};
    if (!find(&x))
        return ct_next_op(loop, c->ir->body);
    ct_value *several = put_condition(&x);
    ct_op *branch = several ? part(&x, several) : NULL;
    ct_value *taken = branch ? put_take(&x) : NULL;
    if (!taken || !put_give(&x, taken))
        return NULL;
    cg_remark(c, loop, CG_REMARK_Lock, TV_REMARK_PASSED,
              "the lock that each iteration takes is taken once around the loop, if it has more than one iteration");
    return branch->next;
}

void cg_pass_locks(cg_func *c)
{
    for (ct_op *op = c->ir->body->first; op && !c->failed;)
        op = op->opcode == OP_for ? look_at(c, op) : ct_next_op(op, c->ir->body);
}
