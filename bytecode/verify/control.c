/* Control flow: what regions carry, which terminator may stand where, what it hands over; tokens, assert, print.
   A terminator that its region cannot end with is reported by the rule of the region (V-FOR-07, V-LOP-03, V-ENT-04,
   V-AGG-10); one that leaves through ifs is followed outward, and what stops it reported by its own rule.
   Source: core operation reference, sections 9 and 10. */
#include "bytecode/conversion.h"
#include "bytecode/verify/verify.h"

static bool is_view(const bc_type *t)
{
    return t->kind == BC_TENSOR_VIEW || bc_is_tile_view(t);
}

/* ---- lists of values that must agree ---- */

/* A list of values: operands or results of an op, or arguments of a block. */
typedef struct list {
    bc_value *const *pointers; /* operands */
    const bc_value *values;    /* others */
    unsigned count;
} list;

static list operands_of(const bc_op *op, int row)
{
    bc_range range = bc_operand_range(op, row);
    return (list){bc_operands(op) + range.first, NULL, range.count};
}

static list results_of(const bc_op *op)
{
    return (list){NULL, bc_results(op), op->result_count};
}

static list arguments_of(const bc_block *block, unsigned first)
{
    return (list){NULL, block->args + first, block->arg_count - first};
}

static const bc_type *type_at(const list *l, unsigned i)
{
    return l->values ? l->values[i].type : l->pointers[i]->type;
}

/* `have` (described by row, or a region's arguments from `first` on) has the types of `want`. */
static bool need_same_list(bc_verifier *v, const bc_op *op, int row, unsigned first, list have, list want, bc_rule rule,
                           const char *have_noun, const char *want_noun)
{
    if (have.count != want.count)
        return bc_wrong(v, op, BC_NO_ROW, 0, rule, "has %u %s; %s: %u", have.count, have_noun, want_noun, want.count);
    for (unsigned i = 0; i < have.count; i++)
        if (type_at(&have, i) != type_at(&want, i))
            return bc_wrong(v, op, row, first + i, rule, "is %s, but number %u of the %s is %s",
                            bc_type_words(v, type_at(&have, i)), i, want_noun, bc_type_words(v, type_at(&want, i)));
    return true;
}

static bool need_no_views(bc_verifier *v, const bc_op *op, int row, list l, bc_rule rule)
{
    for (unsigned i = 0; i < l.count; i++)
        if (is_view(type_at(&l, i)))
            return bc_wrong(v, op, row, i, rule, "is %s; views cannot be carried", bc_type_words(v, type_at(&l, i)));
    return true;
}

/* ---- if, for, loop ---- */

void verify_if(bc_verifier *v, const bc_op *op)
{
    if (op->result_count && !bc_regions(op)[1])
        bc_wrong(v, op, BC_NO_ROW, 0, BC_RULE_V_IF_03, "has %u result%s, but no else branch", op->result_count,
                 bc_plural(op->result_count));
    need_no_views(v, op, F_if_results, results_of(op), BC_RULE_V_IF_05);
    for (unsigned i = 0; i < 2; i++) {
        const bc_block *block = bc_regions(op)[i];
        if (block && block->arg_count)
            bc_wrong(v, op, i ? F_if_else_region : F_if_then_region, 0, BC_RULE_V_IF_06,
                     "has %u argument%s; a branch takes none", block->arg_count, bc_plural(block->arg_count));
    }
}

static void check_for_arguments(bc_verifier *v, const bc_op *op)
{
    const bc_block *body = bc_regions(op)[0];
    if (body->arg_count == 0) {
        bc_wrong(v, op, F_for_region, 0, BC_RULE_V_FOR_02, "has no argument for the induction variable");
        return;
    }
    const bc_type *bound = bc_type_of(op, F_for_lower_bound);
    if (body->args[0].type != bound)
        bc_wrong(v, op, F_for_region, 1, BC_RULE_V_FOR_03, "is %s, but the bounds are %s",
                 bc_type_words(v, body->args[0].type), bc_type_words(v, bound));
    need_same_list(v, op, F_for_region, 2, arguments_of(body, 1), operands_of(op, F_for_init_values), BC_RULE_V_FOR_05,
                   "body arguments after the induction variable", "initial values");
}

/* The body of a for must end in continue. */
static void check_for_end(bc_verifier *v, const bc_op *op)
{
    const bc_op *last = bc_regions(op)[0]->last;
    if (last->opcode != OP_continue)
        bc_wrong(v, op, F_for_region, 0, BC_RULE_V_FOR_07, "ends in '%s'; it must end in continue",
                 bc_info(last)->name);
}

void verify_for(bc_verifier *v, const bc_op *op)
{
    list inits = operands_of(op, F_for_init_values);
    if (bc_need_same_type(v, op, F_for_upper_bound, F_for_lower_bound, BC_RULE_V_FOR_01))
        bc_need_same_type(v, op, F_for_step, F_for_lower_bound, BC_RULE_V_FOR_01);
    if (!need_no_views(v, op, F_for_init_values, inits, BC_RULE_V_FOR_06)
        || !need_no_views(v, op, F_for_result_values, results_of(op), BC_RULE_V_FOR_06))
        return;
    need_same_list(v, op, F_for_result_values, 0, results_of(op), inits, BC_RULE_V_FOR_04, "results", "initial values");
    check_for_arguments(v, op);
    check_for_end(v, op);
}

void verify_loop(bc_verifier *v, const bc_op *op)
{
    const bc_block *body = bc_regions(op)[0];
    list inits = operands_of(op, F_loop_init_values);
    if (!need_no_views(v, op, F_loop_init_values, inits, BC_RULE_V_LOP_02)
        || !need_no_views(v, op, F_loop_result_values, results_of(op), BC_RULE_V_LOP_02))
        return;
    need_same_list(v, op, F_loop_region, 1, arguments_of(body, 0), inits, BC_RULE_V_LOP_01, "body arguments",
                   "initial values");
    if (body->last->opcode == OP_yield)
        bc_wrong(v, op, F_loop_region, 0, BC_RULE_V_LOP_03,
                 "ends in 'yield'; it must end in continue, break or return");
}

/* ---- terminators ---- */

/* The op that a terminator acts on when it leaves through ifs; NULL: the kernel. */
static const bc_op *around_ifs(const bc_op *op)
{
    const bc_op *parent = op->block->parent;
    while (parent && parent->opcode == OP_if)
        parent = parent->block->parent;
    return parent;
}

/* Is the op in an if? Otherwise another rule reports that it ends the wrong region. */
static bool in_if(const bc_op *op)
{
    return op->block->parent && op->block->parent->opcode == OP_if;
}

/* One that finds no loop: there is none around its ifs, or another op is. */
static void leave_no_loop(bc_verifier *v, const bc_op *op, const bc_op *target, bc_rule nothing, bc_rule other)
{
    if (in_if(op) && !target)
        bc_wrong(v, op, BC_NO_ROW, 0, nothing, "is not inside a loop");
    else if (in_if(op))
        bc_wrong(v, op, BC_NO_ROW, 0, other, "would leave a '%s', which is no loop", bc_info(target)->name);
}

void verify_break(bc_verifier *v, const bc_op *op)
{
    const bc_op *target = around_ifs(op);
    if (target && bc_is_bad_parent(v, target))
        return;
    if (target && target->opcode == OP_loop)
        need_same_list(v, op, F_break_operands, 0, operands_of(op, F_break_operands), results_of(target),
                       BC_RULE_V_BRK_03, "values", "results of the loop");
    else
        leave_no_loop(v, op, target, BC_RULE_V_BRK_01, BC_RULE_V_BRK_02);
}

void verify_continue(bc_verifier *v, const bc_op *op)
{
    const bc_op *target = around_ifs(op);
    if (target && bc_is_bad_parent(v, target))
        return;
    if (target && target->opcode == OP_loop)
        need_same_list(v, op, F_continue_operands, 0, operands_of(op, F_continue_operands),
                       operands_of(target, F_loop_init_values), BC_RULE_V_CNT_03, "values",
                       "initial values of the loop");
    else if (target && target->opcode == OP_for)
        need_same_list(v, op, F_continue_operands, 0, operands_of(op, F_continue_operands), results_of(target),
                       BC_RULE_V_CNT_03, "values", "results of the for");
    else
        leave_no_loop(v, op, target, BC_RULE_V_CNT_01, BC_RULE_V_CNT_02);
}

void verify_yield(bc_verifier *v, const bc_op *op)
{
    const bc_op *parent = op->block->parent;
    if (!bc_check_aggregate_yield(v, op) && in_if(op) && !bc_is_bad_parent(v, parent))
        need_same_list(v, op, F_yield_operands, 0, operands_of(op, F_yield_operands), results_of(parent),
                       BC_RULE_V_IF_04, "values", "results of the if");
}

void verify_return(bc_verifier *v, const bc_op *op)
{
    if (op->operand_count)
        bc_wrong(v, op, BC_NO_ROW, 0, BC_RULE_V_RET_03, "has %u value%s; a kernel gives none", op->operand_count,
                 bc_plural(op->operand_count));
    bool in_loop = false;
    for (const bc_op *p = op->block->parent; p; p = p->block->parent) {
        in_loop |= p->opcode == OP_loop;
        if (p->opcode == OP_if || p->opcode == OP_loop)
            continue;
        if (p != op->block->parent) /* else the region's own rule has said it */
            bc_wrong(v, op, BC_NO_ROW, 0, BC_RULE_V_RET_02, "would leave a '%s', which cannot be left",
                     bc_info(p)->name);
        return;
    }
    if (in_loop && v->m->version < BC_13_4)
        bc_tolerated(v, op, BC_NO_ROW, 0, BC_RULE_V_RET_01,
                     "is inside a loop, which requires version 13.4; the module is 13.%d", v->m->version);
}

/* ---- tokens, assert, print ---- */

BC_VERIFY_NOTHING(make_token)
BC_VERIFY_NOTHING(assert)
BC_VERIFY_NOTHING(gdc_wait_tko)
BC_VERIFY_NOTHING(gdc_launch_dependents_tko)
BC_VERIFY_NOTHING(memory_fence_alias_tko)

void verify_join_tokens(bc_verifier *v, const bc_op *op)
{
    if (op->operand_count < 2)
        bc_wrong(v, op, BC_NO_ROW, 0, BC_RULE_V_TOK_01, "joins %u token%s; it needs at least 2", op->operand_count,
                 bc_plural(op->operand_count));
}

void verify_print_tko(bc_verifier *v, const bc_op *op)
{
    tv_str format = bc_attr_of(op, F_print_tko_str)->string->s;
    unsigned wanted = 0, given = bc_operand_range(op, F_print_tko_args).count;
    bc_conversion last = {.unfinished = false};
    for (size_t at = 0; !last.unfinished && bc_next_conversion(format, &at, &last);)
        wanted += last.as != BC_PRINT_PERCENT;
    if (last.unfinished)
        bc_wrong(v, op, F_print_tko_str, 0, BC_RULE_V_PRT_01, "has an unfinished conversion: '%.*s'",
                 (int)last.text.len, last.text.ptr);
    else if (wanted != given)
        bc_wrong(v, op, F_print_tko_str, 0, BC_RULE_V_PRT_02, "has %u conversion%s for %u argument%s", wanted,
                 bc_plural(wanted), given, bc_plural(given));
}
