/* Random choices, types and values for the generator. */
#include <string.h>

#include "bytecode/number/number.h"
#include "bytecode/verify/verify.h"
#include "tools/tilevm/gen/inside.h"

/* ---- randomness: splitmix64 ---- */

uint64_t gen_draw(generator *g)
{
    uint64_t x = g->state += 0x9E3779B97F4A7C15u;
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9u;
    x = (x ^ x >> 27) * 0x94D049BB133111EBu;
    return x ^ x >> 31;
}

unsigned gen_below(generator *g, unsigned n)
{
    return (unsigned)(gen_draw(g) % n);
}

bool gen_chance(generator *g, unsigned percent)
{
    return gen_below(g, 100) < percent;
}

/* ---- types ---- */

const bc_type *gen_scalar_type(generator *g, bc_kind kind)
{
    return bc_type_scalar(g->m, kind);
}

const bc_type *gen_ptr_type(generator *g, const bc_type *pointee, uint8_t ptr_attr)
{
    return bc_type_add(g->m,
                       &(bc_type){.kind = BC_PTR, .padding = BC_NO_PADDING, .ptr_attr = ptr_attr, .elem = pointee});
}

bc_kind gen_draw_kind(generator *g, bc_kind_set set)
{
    bc_kind known[BC_KIND_COUNT];
    unsigned count = 0;
    for (unsigned kind = 0; kind < BC_KIND_COUNT; kind++)
        if (bc_kind_in((bc_kind)kind, set) && bc_kinds[kind].since <= g->m->version)
            known[count++] = (bc_kind)kind;
    return count ? known[gen_below(g, count)] : BC_I32;
}

/* The type of a visible tile that is not a scalar, or NULL. */
static const bc_type *draw_visible_tile(generator *g)
{
    for (unsigned tries = 0; tries < 8 && g->visible_count; tries++) {
        const bc_type *type = g->visible[gen_below(g, g->visible_count)]->type;
        if (bc_is_tile(type) && type->rank)
            return type;
    }
    return NULL;
}

/* Shapes that meet often: those of visible tiles, else few sizes, ranks 0 to 3, in calm kernels now and then to 8. */
const bc_type *gen_draw_tile(generator *g, bc_kind_set elements, int rank)
{
    static const int64_t sizes[] = {1, 2, 4, 4, 8, 8, 16, 16, 32};
    int64_t shape[8];
    uint32_t n = rank == 0 ? 0 : gen_below(g, 10) < 3 ? 0 : gen_below(g, 10) < 6 ? 1 : gen_below(g, 10) < 8 ? 2 : 3;
    for (uint32_t d = 0; d < n; d++)
        shape[d] = d && gen_chance(g, 60) ? shape[0] : sizes[gen_below(g, TV_COUNT(sizes))];
    if (g->options->calm && n && gen_chance(g, 10)) {
        n = 4 + gen_below(g, 5);
        for (uint32_t d = 0; d < n; d++)
            shape[d] = 1 + gen_below(g, 2);
    }
    bc_kind kind = gen_draw_kind(g, elements);
    const bc_type *elem = kind == BC_PTR
                              ? gen_ptr_type(g, gen_scalar_type(g, gen_draw_kind(g, BC_SET_NUMBER)), BC_NO_PTR_ATTR)
                              : gen_scalar_type(g, kind);
    const bc_type *like = n && gen_chance(g, 70) ? draw_visible_tile(g) : NULL;
    return like ? gen_with_elem(g, like, elem) : bc_type_tile(g->m, elem, shape, n);
}

const bc_type *gen_with_elem(generator *g, const bc_type *tile, const bc_type *elem)
{
    return bc_type_tile(g->m, elem, tile->shape, tile->rank);
}

const bc_type *gen_near_shape(generator *g, const bc_type *t)
{
    int64_t shape[8];
    uint32_t n = t->rank > 6 ? 6 : t->rank;
    memcpy(shape, t->shape, n * sizeof *shape);
    unsigned d = n ? gen_below(g, n) : 0;
    switch (gen_below(g, 7)) {
    case 0: /* one size doubled, or a size added */
        if (n)
            shape[d] *= 2;
        else
            shape[n++] = 1;
        break;
    case 1: /* halved */
        if (n && shape[d] > 1)
            shape[d] /= 2;
        break;
    case 2: /* a dimension gone */
        if (n) {
            memmove(shape + d, shape + d + 1, (n - d - 1) * sizeof *shape);
            n--;
        }
        break;
    case 3: /* a dimension of 1 */
        memmove(shape + d + 1, shape + d, (n - d) * sizeof *shape);
        shape[d] = 1;
        n++;
        break;
    case 4: /* flat */
        if (n) {
            int64_t elems = bc_shape_elems(shape, n);
            shape[0] = elems > 0 ? elems : 1;
            n = 1;
        }
        break;
    case 5: /* reversed */
        for (uint32_t i = 0; i + 1 < n - i; i++) {
            int64_t s = shape[i];
            shape[i] = shape[n - 1 - i];
            shape[n - 1 - i] = s;
        }
        break;
    default: /* a size of 1 blown up */
        if (n && shape[d] == 1)
            shape[d] = 4;
        break;
    }
    return bc_type_tile(g->m, t->elem, shape, n);
}

/* ---- values ---- */

void gen_show(generator *g, bc_value *value)
{
    if (g->visible_count < GEN_MAX_VISIBLE)
        g->visible[g->visible_count++] = value;
}

void gen_place(generator *g, bc_op *op)
{
    bc_block_append(g->block, op);
    for (uint32_t i = 0; i < op->result_count; i++)
        gen_show(g, &bc_results(op)[i]);
}

bc_value *gen_find_value(generator *g, const bc_type *type)
{
    for (unsigned tries = 0; tries < 24 && g->visible_count; tries++) {
        uint32_t back = gen_below(g, tries < 12 && g->visible_count > 16 ? 16 : g->visible_count);
        bc_value *value = g->visible[g->visible_count - 1 - back];
        if (value->type == type)
            return value;
    }
    for (uint32_t i = g->visible_count; i-- > 0;)
        if (g->visible[i]->type == type)
            return g->visible[i];
    return NULL;
}

/* The attribute of the address that a value is or looks at. */
static uint8_t ptr_attr_of(const bc_type *t)
{
    return bc_is_tile_view(t) || bc_elem_kind(t) == BC_PTR ? t->elem->ptr_attr : t->ptr_attr;
}

bc_value *gen_find_fitting(generator *g, const bc_constraint_info *c, bool multicast)
{
    bool address = c->form >= BC_FORM_TENSOR_VIEW || c->elements == BC_SET(PTR);
    uint32_t start = g->visible_count ? gen_below(g, g->visible_count) : 0;
    for (uint32_t i = 0; i < g->visible_count; i++) {
        bc_value *value = g->visible[(start + i) % g->visible_count];
        bool is_multicast = ptr_attr_of(value->type) == BC_PtrAttr_multicast;
        if (bc_type_fits(value->type, c) && is_multicast == (address && multicast))
            return value;
    }
    return NULL;
}

/* Are all elements equal? Writers then keep one. */
static bool is_splat(const uint8_t *bytes, size_t size, size_t width)
{
    return memcmp(bytes, bytes + width, size - width) == 0;
}

/* A bit for each element; all of the byte where they are equal. */
static const bc_blob *draw_bits(generator *g, size_t elems, bool full)
{
    uint8_t bytes[256];
    size_t ones = 0;
    memset(bytes, 0, sizeof bytes);
    for (size_t i = 0; full && i < elems; i++)
        if (gen_chance(g, 50)) {
            bytes[i / 8] |= (uint8_t)(1u << i % 8);
            ones++;
        }
    if (full && ones && ones != elems)
        return bc_blob_add(g->m, bytes, (elems + 7) / 8, true);
    bytes[0] = gen_chance(g, 50) ? 0xff : 0;
    return bc_blob_add(g->m, bytes, 1, true);
}

uint64_t gen_small(generator *g, bc_kind kind)
{
    int64_t number = (int64_t)gen_below(g, 16) - 3;
    return bc_kinds[kind].kind_class == BC_CLASS_FLOAT ? bc_int_to_float(kind, (uint64_t)number, 64, true)
                                                       : (uint64_t)number;
}

const bc_blob *gen_draw_blob(generator *g, const bc_type *tile)
{
    uint8_t bytes[256];
    bc_kind kind = bc_elem_kind(tile);
    int64_t elems = bc_shape_elems(tile->shape, tile->rank);
    size_t width = bc_kind_constant_bytes(kind);
    bool full = elems > 1 && (size_t)elems * width <= sizeof bytes && gen_chance(g, 40);
    if (kind == BC_I1)
        return draw_bits(g, (size_t)elems, full);
    size_t size = full ? (size_t)elems * width : width;
    bool small = g->options->calm && gen_chance(g, 75);
    for (size_t at = 0; at < size; at += width) {
        uint64_t number = small ? gen_small(g, kind) : 0;
        for (size_t i = 0; i < width; i++)
            bytes[at + i] = small ? (uint8_t)(number >> 8 * i) : (uint8_t)gen_draw(g);
    }
    if (kind == BC_F4E2M1FN)
        for (size_t i = 0; i < size; i++)
            bytes[i] &= 0x0f;
    if (kind == BC_TF32)
        for (size_t i = 2; i < size; i += 3)
            bytes[i] &= 0x07;
    return bc_blob_add(g->m, bytes, full && is_splat(bytes, size, width) ? width : size, true);
}

/* Makes the constant. NULL: a type that none has, such as a scalar f4E2M1FN; or out of memory. */
static bc_value *constant_of(generator *g, const bc_type *type, const bc_blob *blob)
{
    bc_op *op = bc_op_new(g->m, OP_constant, 1, 0);
    if (!op || !blob)
        return NULL;
    bc_attr_of(op, F_constant_value)->blob = blob;
    bc_results(op)->type = type;
    if (!bc_op_is_valid(g->m, op))
        return NULL;
    gen_place(g, op);
    return bc_results(op);
}

bc_value *gen_constant(generator *g, const bc_type *type, uint64_t bits)
{
    uint8_t bytes[8];
    bc_kind kind = bc_elem_kind(type);
    for (unsigned i = 0; i < 8; i++)
        bytes[i] = kind == BC_I1 ? bits & 1 ? 0xff : 0 : (uint8_t)(bits >> 8 * i);
    return constant_of(g, type, bc_blob_add(g->m, bytes, bc_kind_constant_bytes(kind), true));
}

bc_value *gen_value_of(generator *g, const bc_type *type)
{
    bc_value *value = type && gen_chance(g, 90) ? gen_find_value(g, type) : NULL;
    if (value || !type) /* out of memory */
        return value;
    if (bc_is_tile(type) && bc_kind_in(bc_elem_kind(type), BC_SET_NUMBER))
        return constant_of(g, type, gen_draw_blob(g, type));
    if (type->kind != BC_TOKEN)
        return gen_find_value(g, type);
    bc_op *op = bc_op_new(g->m, OP_make_token, 1, 0);
    if (!op)
        return NULL;
    bc_results(op)->type = type;
    gen_place(g, op);
    return bc_results(op);
}
