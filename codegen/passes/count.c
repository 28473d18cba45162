/* A `loop` that ends by a break becomes a `for` if the break depends on a carried value that advances by a constant:

       loop iter (k = %a, ...) {                    for i in (%a to %n, step 1) iter (k = %a, ...) {
         if k >= %n { break k, ... }          ->      ...
         ...                                          continue k + 1, ...
         continue k + 1, ...                        }
       }

   A loop that counts down (k > %n, k - 1) counts up in ~k, from ~%a to ~%n: ~ maps the values of k one to one and
   reverses their order.

   Why it is right: the condition of the break is evaluated at the head of each iteration, after pure ops only, for k =
   %a, %a + 1, ... So the iterations that continue are those whose k is less than %n, which are those of the `for`. A
   `for` ends where its counter would wrap; k does not wrap, because a step of 1 leads from below %n to at most %n, and
   for larger steps the addition promises it. The values that the break returns are computed once more after the loop,
   from the values that it carries then. */
#include "codegen/passes/count.h"

#include "codegen/tile/build.h"
#include "codegen/tile/compare.h"

typedef struct exit {
    ct_op *loop, *branch, *leave; /* the loop; the `if`; the break in it */
    ct_block *body;
    uint32_t index; /* of the carried value that the condition depends on */
    ct_value *end;  /* the value that it is compared with */
    int64_t step;   /* the step by which it grows; negative: it decreases */
    bool is_signed;
} exit_of;

/* ---- whether ---- */

static bool is_empty(const ct_block *block)
{
    return !block || !block->first || (block->first->opcode == OP_yield && !block->first->operand_count);
}

static ct_op *only_break(const ct_block *block)
{
    return block && block->first && block->first->opcode == OP_break ? block->first : NULL;
}

/* Finds a branch that leaves the loop or does nothing. Only pure ops may precede it in the body. */
static bool find_branch(exit_of *x, bool *out_where_true)
{
    ct_op *op = x->body->first;
    while (op->next && ct_is_pure(op))
        op = op->next;
    if (op->opcode != OP_if || op->result_count)
        return false;
    const ct_block *yes = op->regions[0], *no = op->region_count > 1 ? op->regions[1] : NULL;
    x->branch = op;
    *out_where_true = only_break(yes);
    x->leave = only_break(*out_where_true ? yes : no);
    return x->leave && is_empty(*out_where_true ? no : yes);
}

/* Is the branch the only exit of the loop, and is there only one way to the next iteration? */
static bool has_one_exit(const exit_of *x)
{
    for (const ct_op *op = x->body->first; op; op = ct_next_op(op, x->body)) {
        bool goes = op->opcode == OP_break || op->opcode == OP_continue;
        if (op->opcode == OP_return || (goes && op != x->leave && op != x->body->last && ct_loop_around(op) == x->loop))
            return false;
    }
    return x->body->last->opcode == OP_continue;
}

/* The index of the carried value; UINT32_MAX: v is not one. */
static uint32_t carried_index(const exit_of *x, const ct_value *v)
{
    return !v->op && v->block == x->body && !v->type->rank && bc_elem_kind(v->type) != BC_I1 ? v->number : UINT32_MAX;
}

/* Finds the step of the carried value: a constant, added without overflow. */
static bool find_step(exit_of *x)
{
    const ct_value *arg = &x->body->args[x->index], *next = x->body->last->operands[x->index];
    const ct_op *op = next->op;
    if (!op || (op->opcode != OP_addi && op->opcode != OP_subi))
        return false;
    bool adds = op->opcode == OP_addi, swapped = adds && op->operands[1] == arg;
    if (op->operands[swapped] != arg || !ct_is_constant(op->operands[!swapped], &x->step))
        return false;
    uint64_t promise = ct_attr_u(op, adds ? F_addi_overflow : F_subi_overflow);
    bool stays = promise == BC_IntegerOverflow_no_wrap
                 || promise == (x->is_signed ? BC_IntegerOverflow_no_signed_wrap : BC_IntegerOverflow_no_unsigned_wrap);
    x->step = adds ? x->step : x->step == INT64_MIN ? 0 : -x->step;
    return x->step == 1 || x->step == -1 || (stays && x->is_signed && x->step && x->step != INT64_MIN);
}

/* Finds the condition under which the loop continues: the carried value is less than `end` or, if it decreases,
   greater. */
static bool find_condition(exit_of *x, bool leaves_where_true)
{
    const ct_op *cmp = x->branch->operands[0]->op;
    if (!cmp || cmp->opcode != OP_cmpi || cmp->results[0].type->rank)
        return false;
    bc_ComparisonPredicate p = (bc_ComparisonPredicate)ct_attr_u(cmp, F_cmpi_comparison_predicate);
    bool swapped = carried_index(x, cmp->operands[0]) == UINT32_MAX;
    x->index = carried_index(x, cmp->operands[swapped]);
    x->end = cmp->operands[!swapped];
    x->is_signed = ct_attr_u(cmp, F_cmpi_signedness) == BC_Signedness_signed;
    p = leaves_where_true ? ct_negated(p) : p;
    p = swapped ? ct_swapped(p) : p;
    return x->index != UINT32_MAX && !ct_is_inside(x->end->block, x->body) && find_step(x)
           && p == (x->step > 0 ? BC_ComparisonPredicate_less_than : BC_ComparisonPredicate_greater_than);
}

static bool find_exit(ct_op *loop, exit_of *x)
{
    bool where_true;
    *x = (exit_of){.loop = loop, .body = loop->regions[0]};
    return loop->opcode == OP_loop && x->body->first && find_branch(x, &where_true) && has_one_exit(x)
           && find_condition(x, where_true);
}

/* ---- making the loop ---- */

/* The bound in terms of the new counter, which is ~v if the value decreases. */
static ct_value *put_bound(ct_builder *b, const exit_of *x, ct_value *v)
{
    return x->step > 0 ? v : ct_build_sub(b, ct_build_scalar(b, bc_elem_kind(v->type), -1), v);
}

static ct_op *put_loop(cg_func *c, const exit_of *x)
{
    ct_builder b = {c->ir, x->loop, false};
    ct_value *first = x->loop->operands[x->index];
    ct_value *start = put_bound(&b, x, first), *end = put_bound(&b, x, x->end),
             *step = ct_build_scalar(&b, bc_elem_kind(first->type), x->step > 0 ? x->step : -x->step);
    ct_value *bounds[] = {start, end, step};
    if (b.failed)
        return NULL;
    ct_op *loop = ct_carrying_for_new(c->ir, x->loop, bounds, x->loop->operands, x->loop->operand_count);
    if (!loop)
        return NULL;
    bc_attr_of(loop->from, F_for_unsigned_cmp)->u = !x->is_signed;
    ct_insert_before(loop, x->loop);
    return loop;
}

/* Replaces the loop's results by what the break returns, computed from the final values of the `for`. */
static bool put_results(cg_func *c, const exit_of *x, const ct_op *loop)
{
    ct_map map;
    if (!ct_map_new(c->ir, &map))
        return false;
    for (uint32_t i = 0; i < loop->result_count; i++)
        ct_map_set(&map, &x->body->args[i], &loop->results[i]);
    for (const ct_op *op = x->body->first; op != x->branch; op = op->next) {
        ct_op *copy = ct_clone(c->ir, op, &map);
        if (!copy)
            return false;
        ct_insert_before(copy, x->loop);
    }
    for (uint32_t i = 0; i < x->loop->result_count; i++) {
        ct_value *v = x->leave->operands[i];
        ct_replace_uses(&x->loop->results[i], v->id < map.count && map.to[v->id] ? map.to[v->id] : v);
    }
    return true;
}

ct_op *cg_count_loop(cg_func *c, ct_op *loop)
{
    exit_of x;
    if (!find_exit(loop, &x))
        return NULL;
    ct_op *counted = put_loop(c, &x);
    if (!counted || !put_results(c, &x, counted))
        return NULL;
    ct_remove(x.leave);
    ct_remove(x.branch);
    for (uint32_t i = 0; i < x.body->arg_count; i++)
        ct_replace_uses(&x.body->args[i], &counted->regions[0]->args[i + 1]);
    ct_move_all(x.body, counted->regions[0], counted);
    ct_remove(loop);
    return counted;
}
