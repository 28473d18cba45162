/* Bytes are often packed halves: both are converted to floats, and then `cat` makes them neighbours. If the maps are
   the same on both sides, the bytes are made neighbours instead, by half as many instructions, because a register has
   four of them and only two floats of 16 bits; and each conversion gives two that are neighbours where they are used.

       %a = itof %low : tile<64x64xi8> -> tile<64x64xf16>      %w = cat %low, %high : ... -> tile<64x64x2xi8>
       %b = itof %high : tile<64x64xi8> -> tile<64x64xf16>  ->  %v = itof %w : tile<64x64x2xi8> -> tile<64x64x2xf16>
       %v = cat %a, %b : ... -> tile<64x64x2xf16>

   Why it is right: a map gives the same element for the same elements of its operands, and no memory access moves. */
#include "codegen/rewrite/interleaved.h"

#include <string.h>

#include "codegen/facts/facts.h"
#include "codegen/tile/same.h"

enum { MOST_MAPS = 4, SIDES = 2 };

/* A map on both sides, and which operand is computed; the others are one number. */
typedef struct level {
    ct_op *side[SIDES];
    uint32_t computed;
} level;

/* The op behind views of its result in other shapes, if nothing else reads it. NULL: something does. */
static ct_op *private_op(const ct_value *v)
{
    ct_op *op = v->op;
    while (op && op->opcode == OP_reshape && op->results[0].uses && !op->results[0].uses->next)
        op = op->operands[0]->op;
    return op && op->result_count == 1 && op->results[0].uses && !op->results[0].uses->next ? op : NULL;
}

/* The constant that all elements of v are. NULL: they are computed, or differ. */
static const ct_op *number_of(const ct_value *v)
{
    const ct_op *op = v->op;
    while (op && (op->opcode == OP_broadcast || op->opcode == OP_reshape))
        op = op->operands[0]->op;
    return op && op->opcode == OP_constant && ct_is_one_number(op) ? op : NULL;
}

static bool is_same_number(const ct_value *a, const ct_value *b)
{
    const ct_op *x = number_of(a), *y = number_of(b);
    if (!x || !y || bc_elem_kind(x->results[0].type) != bc_elem_kind(y->results[0].type))
        return false;
    const bc_blob *first = ct_attr_of(x, F_constant_value)->blob, *second = ct_attr_of(y, F_constant_value)->blob;
    return memcmp(first->ptr, second->ptr, first->len) == 0;
}

/* The same map on both sides, of one operand that is computed and others that are one number? */
static bool find_level(const ct_value *a, const ct_value *b, level *out)
{
    *out = (level){.side = {private_op(a), private_op(b)}};
    const ct_op *first = out->side[0], *second = out->side[1];
    uint32_t computed = 0;
    if (!first || !second || first == second || !ct_are_alike(first, second)
        || !bc_op_in(first->opcode, BC_OPS(MAP) | BC_OPS(CAST)))
        return false;
    for (uint32_t i = 0; i < first->operand_count; i++)
        if (!is_same_number(first->operands[i], second->operands[i])) {
            out->computed = i;
            computed++;
        }
    return computed == 1;
}

/* Does it convert bytes to floats of 16 bits that hold them exactly? Two of those take no conversion then. */
static bool converts_bytes(const ct_op *op)
{
    enum { MOST_OF_BF16 = 1 << 7 };
    bc_kind to = bc_elem_kind(op->results[0].type);
    cg_range r = cg_range_of(op->operands[0]);
    return op->opcode == OP_itof && bc_elem_kind(op->operands[0]->type) == BC_I8
           && (to == BC_F16 || (to == BC_BF16 && r.low >= 0 && r.high < MOST_OF_BF16));
}

/* ---- rewriting ---- */

/* An op like that one in the shape of the cat, with elements of that kind, in front of it. NULL: out of memory. */
static ct_value *put_like(cg_func *c, ct_op *cat, const ct_op *like, bc_kind kind, ct_value *const *operands)
{
    const bc_type *type = ct_shaped_type(c->ir, cat->results[0].type, kind);
    ct_op *made = type ? ct_op_like(c->ir, (bc_opcode)like->opcode, like, like->operand_count, 1, 0) : NULL;
    for (uint32_t i = 0; made && i < like->operand_count; i++) {
        if (!operands[i])
            return NULL;
        ct_set_operand(made, i, operands[i]);
    }
    if (!made)
        return NULL;
    made->results[0].type = type;
    ct_insert_before(made, cat);
    return ct_renew_from(c->ir, made) ? &made->results[0] : NULL;
}

/* v in the shape of an operand of the cat. */
static ct_value *in_shape_of(cg_func *c, ct_op *cat, ct_value *v, const ct_value *operand)
{
    const bc_type *type = ct_shaped_type(c->ir, operand->type, bc_elem_kind(v->type));
    ct_op *made = type ? ct_made_new(c->ir, OP_reshape, cat, type, &v, 1) : NULL;
    if (!made)
        return NULL;
    ct_insert_before(made, cat);
    return &made->results[0];
}

/* The maps of the levels, the innermost one first, behind a cat of what it is computed from. NULL: out of memory. */
static ct_value *join(cg_func *c, ct_op *cat, const level *levels, uint32_t count)
{
    const level *inner = &levels[count - 1];
    ct_value *sides[SIDES];
    for (uint32_t i = 0; i < SIDES; i++)
        sides[i] = in_shape_of(c, cat, inner->side[i]->operands[inner->computed], cat->operands[i]);
    ct_value *v = put_like(c, cat, cat, BC_I8, sides);
    for (uint32_t i = count; v && i-- > 0;) {
        const ct_op *map = levels[i].side[0];
        ct_value *operands[MOST_MAPS] = {0};
        for (uint32_t k = 0; k < map->operand_count; k++)
            operands[k] = k == levels[i].computed ? v
                                                  : put_like(c, cat, number_of(map->operands[k]),
                                                             bc_elem_kind(map->operands[k]->type), NULL);
        v = put_like(c, cat, map, bc_elem_kind(map->results[0].type), operands);
    }
    return v;
}

bool cg_join_before_maps(cg_func *c, ct_op *cat)
{
    level levels[MOST_MAPS];
    uint32_t count = 0;
    const bc_type *half = cat->operands[0]->type;
    ct_value *a = cat->operands[0], *b = cat->operands[1];
    bool found = false, alternate = ct_attr_u(cat, F_cat_dim) + 1 == half->rank && half->shape[half->rank - 1] == 1;
    while (alternate && !found && count < MOST_MAPS && find_level(a, b, &levels[count])) {
        const level *x = &levels[count++];
        if (x->side[0]->operand_count > MOST_MAPS)
            return false;
        found = converts_bytes(x->side[0]) && converts_bytes(x->side[1]);
        a = x->side[0]->operands[x->computed];
        b = x->side[1]->operands[x->computed];
    }
    if (!found)
        return false;
    ct_value *v = join(c, cat, levels, count);
    if (!v)
        return false;
    ct_replace_uses(&cat->results[0], v);
    return true;
}
