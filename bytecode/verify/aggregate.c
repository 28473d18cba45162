/* Rules of reduce and scan, and of what stands in their bodies.
   Source: memory operation reference, sections 6 and 10; format reference, F-093. */
#include "bytecode/verify/verify.h"

/* The rows of reduce or scan. */
typedef struct aggregate {
    int results, operands, dim, identities, body;
    bool scan;
} aggregate;

static const aggregate reduce_rows = {F_reduce_results,    F_reduce_operands, F_reduce_dim,
                                      F_reduce_identities, F_reduce_body,     false};
static const aggregate scan_rows = {F_scan_results, F_scan_operands, F_scan_dim, F_scan_identities, F_scan_body, true};

/* ---- operands and results ---- */

static bool check_operands(bc_verifier *v, const bc_op *op, const aggregate *a)
{
    if (op->operand_count == 0)
        return bc_wrong(v, op, BC_NO_ROW, 0, BC_RULE_V_AGG_01, "has no operands");
    const bc_type *first = bc_operands(op)[0]->type;
    for (unsigned i = 1; i < op->operand_count; i++) {
        const bc_type *type = bc_operands(op)[i]->type;
        if (!bc_same_shape(type, first))
            return bc_wrong(v, op, a->operands, i, BC_RULE_V_AGG_02, "is %s, but operand 0 is %s",
                            bc_type_words(v, type), bc_type_words(v, first));
    }
    if (op->result_count != op->operand_count)
        return bc_wrong(v, op, BC_NO_ROW, 0, BC_RULE_V_AGG_03, "has %u %s for %u %s", op->result_count,
                        op->result_count == 1 ? "result" : "results", op->operand_count,
                        op->operand_count == 1 ? "operand" : "operands");
    uint64_t dim = bc_attr_u(op, a->dim);
    if (dim >= first->rank)
        return bc_wrong(v, op, a->dim, 0, BC_RULE_V_AGG_04, "is %d, but the operands are %s of rank %u",
                        (int)(int32_t)dim, bc_type_words(v, first), first->rank);
    return true;
}

/* The shape of a reduce result: the operand's without dim. */
static bool is_reduced_shape(const bc_type *result, const bc_type *operand, uint32_t dim)
{
    if (result->rank + 1 != operand->rank)
        return false;
    for (uint32_t d = 0; d < result->rank; d++)
        if (result->shape[d] != operand->shape[d + (d >= dim)])
            return false;
    return true;
}

static void wrong_reduced(bc_verifier *v, const bc_op *op, int row, unsigned i, uint32_t dim)
{
    const bc_type *result = bc_results(op)[i].type, *operand = bc_operands(op)[i]->type;
    bc_text expected;
    bc_text_init(&expected, &v->allocator);
    for (uint32_t d = 0; d < operand->rank; d++)
        if (d != dim)
            bc_text_printf(&expected, "%lldx", (long long)operand->shape[d]);
    bc_wrong(v, op, row, i, BC_RULE_V_RDC_01, "is %s, but %s without dimension %u is tile<%s%s>",
             bc_type_words(v, result), bc_type_words(v, operand), dim, bc_text_words(&expected),
             bc_type_words(v, operand->elem));
    bc_text_release(&expected);
}

static void check_results(bc_verifier *v, const bc_op *op, const aggregate *a)
{
    uint32_t dim = (uint32_t)bc_attr_u(op, a->dim);
    for (unsigned i = 0; i < op->result_count; i++) {
        const bc_type *result = bc_results(op)[i].type, *operand = bc_operands(op)[i]->type;
        if (a->scan && result != operand)
            bc_wrong(v, op, a->results, i, BC_RULE_V_SCN_01, "is %s, but its operand is %s", bc_type_words(v, result),
                     bc_type_words(v, operand));
        else if (!a->scan && (result->elem != operand->elem || !is_reduced_shape(result, operand, dim)))
            wrong_reduced(v, op, a->results, i, dim);
        else
            continue;
        return;
    }
}

/* ---- identities ---- */

/* May the attribute be an identity of that element type? Bools stand for i1; f16 and bf16 for each other. */
static bool is_identity_of(const bc_tagged *identity, const bc_type *elem)
{
    if (identity->tag == BC_TAG_BOOL)
        return elem->kind == BC_I1;
    if (identity->tag != BC_TAG_INTEGER && identity->tag != BC_TAG_FLOAT)
        return false;
    if (identity->type == elem)
        return true;
    bc_kind_set halves = BC_SET(F16) | BC_SET(BF16);
    return bc_kind_in((bc_kind)identity->type->kind, halves) && bc_kind_in((bc_kind)elem->kind, halves);
}

static const char *identity_words(bc_verifier *v, const bc_tagged *identity)
{
    if (identity->tag == BC_TAG_INTEGER || identity->tag == BC_TAG_FLOAT)
        return bc_type_words(v, identity->type);
    return identity->tag == BC_TAG_BOOL ? "a bool" : "not a number";
}

static void check_identities(bc_verifier *v, const bc_op *op, const aggregate *a)
{
    const bc_tagged *identities = bc_attr_of(op, a->identities)->tagged;
    uint32_t count = identities->u.array.count;
    if (count != op->operand_count) {
        bc_wrong(v, op, a->identities, 0, BC_RULE_V_AGG_05, "has %u %s for %u %s", count,
                 count == 1 ? "value" : "values", op->operand_count, op->operand_count == 1 ? "operand" : "operands");
        return;
    }
    for (uint32_t i = 0; i < count; i++) {
        const bc_tagged *identity = &identities->u.array.items[i];
        const bc_type *elem = bc_operands(op)[i]->type->elem;
        if (is_identity_of(identity, elem))
            continue;
        bc_wrong(v, op, a->identities, 0, BC_RULE_V_AGG_06,
                 "has value %u of type %s, but operand %u has elements of type %s", i, identity_words(v, identity), i,
                 bc_type_words(v, elem));
        return;
    }
}

/* ---- body ---- */

static void check_body_arguments(bc_verifier *v, const bc_op *op, const aggregate *a)
{
    const bc_block *body = bc_regions(op)[0];
    if (body->arg_count != 2u * op->operand_count) {
        bc_wrong(v, op, a->body, 0, BC_RULE_V_AGG_08, "has %u %s; %u %s %u, two for each", body->arg_count,
                 body->arg_count == 1 ? "argument" : "arguments", op->operand_count,
                 op->operand_count == 1 ? "operand needs" : "operands need", 2u * op->operand_count);
        return;
    }
    for (uint32_t i = 0; i < body->arg_count; i++) {
        const bc_type *type = body->args[i].type, *operand = bc_operands(op)[i / 2]->type;
        if (!bc_is_scalar(type))
            bc_wrong(v, op, a->body, i + 1, BC_RULE_V_AGG_08, "is %s; it must be a scalar tile",
                     bc_type_words(v, type));
        else if (type->elem != operand->elem)
            bc_wrong(v, op, a->body, i + 1, BC_RULE_V_AGG_09, "is %s, but operand %u is %s", bc_type_words(v, type),
                     i / 2, bc_type_words(v, operand));
        else
            continue;
        return;
    }
}

static void check_body_end(bc_verifier *v, const bc_op *op, const aggregate *a)
{
    const bc_op *last = bc_regions(op)[0]->last;
    if (last->opcode != OP_yield)
        bc_wrong(v, op, a->body, 0, BC_RULE_V_AGG_10, "ends in '%s'; it must end in yield", bc_info(last)->name);
}

static void check_aggregate(bc_verifier *v, const bc_op *op, const aggregate *a)
{
    check_body_end(v, op, a);
    if (!check_operands(v, op, a))
        return;
    check_results(v, op, a);
    check_identities(v, op, a);
    check_body_arguments(v, op, a);
}

void verify_reduce(bc_verifier *v, const bc_op *op)
{
    check_aggregate(v, op, &reduce_rows);
}

void verify_scan(bc_verifier *v, const bc_op *op)
{
    check_aggregate(v, op, &scan_rows);
}

/* ---- what the body yields ---- */

static void check_yielded(bc_verifier *v, const bc_op *yield, unsigned i, const bc_type *operand)
{
    const bc_type *type = bc_operands(yield)[i]->type;
    if (!bc_is_tile(type) || type->elem != operand->elem)
        bc_wrong(v, yield, F_yield_operands, i, BC_RULE_V_AGG_10, "is %s, but operand %u of %s has elements of type %s",
                 bc_type_words(v, type), i, bc_info(yield->block->parent)->name, bc_type_words(v, operand->elem));
    else if (type->rank != 0)
        bc_wrong(v, yield, F_yield_operands, i, BC_RULE_T_AGG_10, "is %s; it must be a scalar", bc_type_words(v, type));
}

static bool is_aggregate(const bc_op *op)
{
    return bc_op_in(op->opcode, BC_OPS(FOLD));
}

bool bc_check_aggregate_yield(bc_verifier *v, const bc_op *yield)
{
    const bc_op *parent = yield->block->parent;
    if (!parent || !is_aggregate(parent))
        return false;
    if (bc_is_bad_parent(v, parent))
        return true;
    if (yield->operand_count != parent->operand_count)
        bc_wrong(v, yield, BC_NO_ROW, 0, BC_RULE_V_AGG_10, "gives %u %s, but %s has %u %s", yield->operand_count,
                 yield->operand_count == 1 ? "value" : "values", bc_info(parent)->name, parent->operand_count,
                 parent->operand_count == 1 ? "operand" : "operands");
    else
        for (unsigned i = 0; i < yield->operand_count; i++)
            check_yielded(v, yield, i, bc_operands(parent)[i]->type);
    return true;
}

/* ---- effects in bodies ---- */

bool bc_check_effects(bc_verifier *v, const bc_op *op)
{
    for (const bc_op *around = op->block->parent; around; around = around->block->parent) {
        if (is_aggregate(around))
            return bc_wrong(v, op, BC_NO_ROW, 0, BC_RULE_V_AGG_11, "has effects, and the body of a '%s' may have none",
                            bc_info(around)->name);
        if (bc_info(around)->traits & BC_EFFECTS)
            return true; /* a loop in the body, which was reported itself */
    }
    return true;
}
