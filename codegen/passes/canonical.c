/* The canonical pass leaves each loop with one induction variable. An integer, a pointer, or a tile of either that
   a `for` carries and advances by the same amount in each iteration is computed from the loop counter where it is
   read, and is no longer carried. Its value after the loop follows from the number of iterations.

       for i in (0 to n, step 64) iter (k = 0, p = %p) {       for i in (0 to n, step 64) {
         load v[k]; load p                                       load v[i / 64]; load offset %p, (i / 64) * 32
         continue k + 1, offset p, 32                     ->     continue
       }                                                       }

   Later passes can tell to which iteration an index or a pointer belongs, and can compute it for a later one. So loads
   whose index is a second counter, or whose pointers are advanced, can be prefetched. Amounts that depend on the loop,
   values that are multiplied, and loops whose step is not constant stay as they are. A loop that ends by a break
   becomes a `for` first where such a value decides about the break (codegen/passes/count.c), and nested loops with
   loads or products may become one loop (codegen/passes/collapse.c). Iterations that repeat the one before, because an
   index is clamped, are left out (codegen/passes/clamp.c).

   Why it is right: iteration number n, which is (counter - start) / step without rounding, has seen n additions of
   the same amount, and n * amount is their sum, modulo 2^bits for integers and modulo 2^64 for addresses. No memory
   access moves. Where an addition promised not to wrap, so did all additions before it.

   The pass runs after hoist, which moves the amounts out of the loop where it can. It visits inner loops first, since
   the final value of an inner loop is the amount by which an outer one advances. */
#include "codegen/facts/recurrence.h"
#include "codegen/passes/count.h"
#include "codegen/passes/hoist.h"
#include "codegen/passes/pass.h"
#include "codegen/passes/simplify.h"
#include "codegen/tile/build.h"

/* A loop with a constant, positive step. */
typedef struct counting {
    ct_op *loop;
    ct_block *body;
    int64_t step;
    bool is_signed;
} counting;

static bool is_counted(ct_op *loop, counting *out)
{
    int64_t step;
    const ct_value *by = loop->opcode == OP_for ? ct_operand(loop, F_for_step) : NULL;
    if (!ct_is_constant(by, &step) || step <= 0)
        return false;
    *out = (counting){loop, loop->regions[0], step, !ct_attr_u(loop, F_for_unsigned_cmp)};
    return ct_ends_in_one_place(loop);
}

/* ---- amounts ---- */

/* The type of an amount: 64 bits for pointers, otherwise the value's own type. */
static bc_kind kind_of_amount(const ct_value *carried)
{
    bc_kind kind = bc_elem_kind(carried->type);
    return kind == BC_PTR ? BC_I64 : kind;
}

static ct_value *scalar_step(ct_builder *b, ct_value *step, bc_kind kind)
{
    int64_t value;
    return ct_is_constant(step, &value) ? ct_build_scalar(b, kind, value)
                                        : ct_build_resize(b, cg_uniform_of(step), kind, true);
}

/* The amount by which the recurrence grows, as a scalar. */
static ct_value *amount_of(ct_builder *b, const cg_recurrence *r, bc_kind kind)
{
    ct_value *sum = ct_build_scalar(b, kind, 0);
    for (uint32_t i = 0; i < r->count; i++) {
        ct_value *step = scalar_step(b, r->steps[i].value, kind);
        sum = r->steps[i].subtracted ? ct_build_sub(b, sum, step) : ct_build_add(b, sum, step);
    }
    return sum;
}

/* The sum of the amounts added so far; passed: the counter minus its first value, unsigned. */
static ct_value *distance(ct_builder *b, const counting *x, ct_value *passed, ct_value *amount)
{
    int64_t by;
    bc_kind kind = bc_elem_kind(amount->type);
    if (ct_is_constant(amount, &by) && by % x->step == 0) {
        ct_value *each = ct_build_scalar(b, kind, by / x->step);
        return ct_build_mul(b, ct_build_resize(b, passed, kind, false), each);
    }
    ct_value *iterations = ct_build_div_unsigned(b, passed, x->step);
    return ct_build_mul(b, ct_build_resize(b, iterations, kind, false), amount);
}

static ct_value *advanced(ct_builder *b, ct_value *start, ct_value *distance)
{
    ct_value *spread = ct_build_spread(b, distance, start->type);
    return bc_elem_kind(start->type) == BC_PTR ? ct_build_two(b, OP_offset, start, spread)
                                               : ct_build_add(b, start, spread);
}

/* ---- the value in the loop, and after it ---- */

static ct_value *in_loop(ct_builder *b, const counting *x, ct_value *start, ct_value *amount)
{
    ct_value *first = ct_operand(x->loop, F_for_lower_bound);
    return advanced(b, start, distance(b, x, ct_build_sub(b, &x->body->args[0], first), amount));
}

/* The value after the loop. The final counter minus its first value is the number of iterations times the step; it
   is used as an unsigned number, divided by the step, so that it cannot overflow. */
static ct_value *behind_loop(ct_builder *b, const counting *x, ct_value *start, ct_value *amount)
{
    ct_value *first = ct_operand(x->loop, F_for_lower_bound), *end = ct_operand(x->loop, F_for_upper_bound);
    bc_kind counts = bc_elem_kind(first->type), kind = bc_elem_kind(amount->type);
    ct_value *one = ct_build_scalar(b, counts, 1), *last = ct_build_sub(b, ct_build_sub(b, end, first), one);
    ct_value *before = ct_build_resize(b, ct_build_div_unsigned(b, last, x->step), kind, false);
    ct_value *come = ct_build_add(b, ct_build_mul(b, before, amount), amount);
    ct_value *none = ct_build_scalar(b, kind, 0);
    return advanced(b, start, ct_build_if_less(b, first, end, x->is_signed, come, none));
}

static bool replace(cg_func *c, const counting *x, uint32_t index, const cg_recurrence *r)
{
    ct_value *carried = &x->body->args[index + 1], *result = &x->loop->results[index];
    ct_value *now = r->start, *behind = r->start;
    ct_builder before = {c->ir, x->loop, false}, in = {c->ir, x->body->first, false},
               after = {c->ir, x->loop->next, false};
    if (r->count) {
        ct_value *amount = amount_of(&before, r, kind_of_amount(carried));
        now = amount ? in_loop(&in, x, r->start, amount) : NULL;
        behind = amount && result->uses ? behind_loop(&after, x, r->start, amount) : r->start;
    }
    if (!now || !behind)
        return false;
    ct_replace_uses(carried, now);
    ct_replace_uses(result, behind);
    ct_drop_carried(x->loop, index);
    return true;
}

/* ---- which ---- */

static bool is_integer_or_pointer(const ct_value *v)
{
    return bc_is_tile(v->type) && (bc_elem_kind(v->type) == BC_PTR || bc_kind_in(bc_elem_kind(v->type), BC_SET_INT));
}

static bool canonicalise(cg_func *c, ct_op *loop)
{
    counting x;
    bool found = false;
    if (!is_counted(loop, &x))
        return false;
    for (uint32_t i = loop->result_count; i-- > 0 && !c->failed;) {
        cg_recurrence r;
        if (!is_integer_or_pointer(&x.body->args[i + 1]) || !cg_find_recurrence(loop, i, &r))
            continue;
        found = true;
        replace(c, &x, i, &r);
    }
    return found;
}

static bool canonicalise_all(cg_func *c, ct_block *block)
{
    bool found = false;
    for (ct_op *op = block->first; op && !c->failed; op = op->next) {
        ct_op *one = ct_is_loop(op) ? cg_collapse_loops(c, op) : NULL;
        bool inside = one;
        op = one ? one : op;
        for (uint32_t r = 0; r < op->region_count; r++)
            if (op->regions[r])
                inside = canonicalise_all(c, op->regions[r]) || inside;
        if (!ct_is_loop(op)) {
            found = found || inside;
            continue;
        }
        if (inside)
            cg_hoist_from_loop(op);
        ct_op *counted = cg_count_loop(c, op);
        op = counted ? counted : op;
        found = canonicalise(c, op) || found || inside || counted;
        found = cg_end_clamped(c, op) || found;
    }
    return found;
}

void cg_pass_canonical(cg_func *c)
{
    if (canonicalise_all(c, c->ir->body) && !c->failed)
        cg_simplify(c);
}
