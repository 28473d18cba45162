#include "codegen/tile/same.h"

#include <string.h>

enum { DEPTH = 8 };

static bool is_same_op(const ct_op *a, const ct_op *b)
{
    bool same = a && b && a->opcode == b->opcode && a->opcode < OP_LIMIT && a->from->opcode == b->from->opcode
                && ct_is_pure(a) && a->operand_count == b->operand_count && a->result_count == b->result_count
                && a->from->attr_slots == b->from->attr_slots;
    for (uint32_t i = 0; same && i < a->from->attr_slots; i++)
        same = bc_attrs(a->from)[i].u == bc_attrs(b->from)[i].u;
    return same;
}

static bool are_equal(const int64_t *a, const int64_t *b, uint32_t count)
{
    return count == 0 || memcmp(a, b, count * sizeof *a) == 0;
}

/* Are they, or is b the same view but for padding, of which it has none, so that anything may lie there? */
static bool types_agree(const bc_type *a, const bc_type *b)
{
    return a == b
           || (a->kind == BC_PARTITION_VIEW && b->kind == BC_PARTITION_VIEW && b->padding == BC_NO_PADDING
               && a->elem == b->elem && a->rank == b->rank && a->result_count == b->result_count
               && are_equal(a->shape, b->shape, a->rank) && are_equal(a->dim_map, b->dim_map, a->result_count));
}

/* The same in iterations of two loops; without, NULL: are they the same? */
static bool is_same(const ct_value *a, const ct_op *first, const ct_value *b, const ct_op *other, uint32_t depth)
{
    if (a == b)
        return true;
    if (first && a == &first->regions[0]->args[0])
        return b == &other->regions[0]->args[0];
    if (depth == 0 || !types_agree(a->type, b->type) || a->number != b->number || !is_same_op(a->op, b->op))
        return false;
    for (uint32_t i = 0; i < a->op->operand_count; i++)
        if (!is_same(a->op->operands[i], first, b->op->operands[i], other, depth - 1))
            return false;
    return true;
}

bool ct_is_same(const ct_value *a, const ct_value *b)
{
    return is_same(a, NULL, b, NULL, DEPTH);
}

bool ct_is_same_in(const ct_value *a, const ct_op *first, const ct_value *b, const ct_op *other)
{
    return is_same(a, first, b, other, DEPTH);
}
