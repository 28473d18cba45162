#include "codegen/tile/same.h"

#include <string.h>

/* The limits: ops from a value upwards, and pairs of values. */
enum { DEPTH = 32, MOST_PAIRS = 256 };

static bool are_equal(const int64_t *a, const int64_t *b, uint32_t count)
{
    return count == 0 || memcmp(a, b, count * sizeof *a) == 0;
}

/* Are both the same scalar or pointer? Types that passes create are not interned. */
static bool elements_agree(const bc_type *a, const bc_type *b)
{
    return a == b || (a->kind == b->kind && a->elem == b->elem && a->ptr_attr == b->ptr_attr);
}

/* Are they the same, or is b the same view without padding, so that elements outside may be anything? */
static bool types_agree(const bc_type *a, const bc_type *b)
{
    if (a == b)
        return true;
    bool same = a->kind == b->kind && a->rank == b->rank && are_equal(a->shape, b->shape, a->rank);
    if (a->kind == BC_TILE)
        return same && elements_agree(a->elem, b->elem);
    return same && a->kind == BC_PARTITION_VIEW && b->padding == BC_NO_PADDING && a->elem == b->elem
           && a->result_count == b->result_count && are_equal(a->dim_map, b->dim_map, a->result_count);
}

/* Compares the records, because constants that passes create have records of their own. */
static bool are_equal_constants(const ct_op *a, const ct_op *b)
{
    int64_t x, y;
    return a->opcode == OP_constant && b->opcode == OP_constant && ct_constant_value(a, &x) && ct_constant_value(b, &y)
           && x == y;
}

static bool have_equal_attributes(const ct_op *a, const ct_op *b)
{
    bool same = a->from->attr_slots == b->from->attr_slots;
    for (uint32_t i = 0; same && i < a->from->attr_slots; i++)
        same = bc_attrs(a->from)[i].u == bc_attrs(b->from)[i].u;
    return same || are_equal_constants(a, b);
}

bool ct_are_alike(const ct_op *a, const ct_op *b)
{
    bool same = a && b && a->opcode == b->opcode && a->opcode < OP_LIMIT && a->from->opcode == b->from->opcode
                && ct_is_pure(a) && a->operand_count == b->operand_count && a->result_count == b->result_count
                && have_equal_attributes(a, b);
    for (uint32_t i = 0; same && i < a->result_count; i++)
        same = types_agree(a->results[i].type, b->results[i].type);
    return same;
}

/* Values of the same iteration of two loops are compared; NULL: no loops. pairs: the remaining limit. */
typedef struct comparison {
    const ct_op *first, *other;
    uint32_t pairs;
} comparison;

static bool is_same(comparison *x, const ct_value *a, const ct_value *b, uint32_t depth)
{
    if (a == b)
        return true;
    if (x->first && a == &x->first->regions[0]->args[0])
        return b == &x->other->regions[0]->args[0];
    if (depth == 0 || x->pairs == 0 || a->number != b->number || !ct_are_alike(a->op, b->op))
        return false;
    x->pairs--;
    for (uint32_t i = 0; i < a->op->operand_count; i++)
        if (!is_same(x, a->op->operands[i], b->op->operands[i], depth - 1))
            return false;
    return true;
}

bool ct_is_same(const ct_value *a, const ct_value *b)
{
    comparison x = {.pairs = MOST_PAIRS};
    return is_same(&x, a, b, DEPTH);
}

bool ct_is_same_in(const ct_value *a, const ct_op *first, const ct_value *b, const ct_op *other)
{
    comparison x = {.first = first, .other = other, .pairs = MOST_PAIRS};
    return is_same(&x, a, b, DEPTH);
}
