/* Random valid modules.

   Ops come from the table: an op is drawn, operands are drawn from visible values that fit its rows, result types and
   attributes are guessed from the operands, and the verifier says whether that made sense; most guesses fail and cost
   a microsecond. So a new op is generated as soon as it is in the table and has its rules. Only the ops with regions
   are built by hand, because their bodies must fit them. */
#include "tools/tilevm/gen.h"

#include <stdio.h>
#include <string.h>

#include "bytecode/base/text.h"
#include "bytecode/verify.h"

enum { MAX_VISIBLE = 4096, GUESSES = 60 };

typedef struct generator {
    bc_module *m;
    const gen_options *options;
    uint64_t state;
    bc_block *block;
    bc_value *visible[MAX_VISIBLE];
    uint32_t visible_count;
    unsigned ops_left, depth;
    const bc_type *token, *i32, *i1;
} generator;

static void gen_ops(generator *g, unsigned count);

/* ---- randomness: splitmix64 ---- */

static uint64_t draw(generator *g)
{
    uint64_t x = g->state += 0x9E3779B97F4A7C15u;
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9u;
    x = (x ^ x >> 27) * 0x94D049BB133111EBu;
    return x ^ x >> 31;
}

static unsigned below(generator *g, unsigned n)
{
    return (unsigned)(draw(g) % n);
}

static bool chance(generator *g, unsigned percent)
{
    return below(g, 100) < percent;
}

/* ---- types ---- */

static const bc_type *scalar_type(generator *g, bc_kind kind)
{
    return bc_type_scalar(g->m, kind);
}

static const bc_type *ptr_type(generator *g, const bc_type *pointee)
{
    return bc_type_add(g->m, &(bc_type){.kind = BC_PTR, .padding = BC_NO_PADDING, .ptr_attr = BC_NO_PTR_ATTR,
                                        .elem = pointee});
}

/* A kind of the set that the version has; i32 when there is none. */
static bc_kind draw_kind(generator *g, bc_kind_set set)
{
    bc_kind known[BC_KIND_COUNT];
    unsigned count = 0;
    for (unsigned kind = 0; kind < BC_KIND_COUNT; kind++)
        if (bc_kind_in((bc_kind)kind, set) && bc_kinds[kind].since <= g->m->version)
            known[count++] = (bc_kind)kind;
    return count ? known[below(g, count)] : BC_I32;
}

/* Shapes that meet often: few sizes, ranks 0 to 3. */
static const bc_type *draw_tile(generator *g, bc_kind_set elements, int rank)
{
    static const int64_t sizes[] = {1, 2, 4, 4, 8, 8, 16, 16, 32};
    int64_t shape[3];
    uint32_t n = rank == 0 ? 0 : below(g, 10) < 3 ? 0 : below(g, 10) < 6 ? 1 : below(g, 10) < 8 ? 2 : 3;
    for (uint32_t d = 0; d < n; d++)
        shape[d] = d && chance(g, 60) ? shape[0] : sizes[below(g, TV_COUNT(sizes))];
    bc_kind kind = draw_kind(g, elements);
    const bc_type *elem = kind == BC_PTR ? ptr_type(g, scalar_type(g, draw_kind(g, BC_SET_NUMBER)))
                                         : scalar_type(g, kind);
    return bc_type_tile(g->m, elem, shape, n);
}

static const bc_type *with_elem(generator *g, const bc_type *tile, const bc_type *elem)
{
    return bc_type_tile(g->m, elem, tile->shape, tile->rank);
}

/* A shape near another one: what reshape, reduce, cat, broadcast, extract and the like make of it. */
static const bc_type *near_shape(generator *g, const bc_type *t)
{
    int64_t shape[8];
    uint32_t n = t->rank > 6 ? 6 : t->rank;
    memcpy(shape, t->shape, n * sizeof *shape);
    unsigned d = n ? below(g, n) : 0;
    switch (below(g, 7)) {
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

static void show(generator *g, bc_value *value)
{
    if (g->visible_count < MAX_VISIBLE)
        g->visible[g->visible_count++] = value;
}

static void place(generator *g, bc_op *op)
{
    bc_block_append(g->block, op);
    for (uint32_t i = 0; i < op->result_count; i++)
        show(g, &bc_results(op)[i]);
}

static bool fits(const bc_type *t, const bc_constraint_info *c)
{
    switch ((bc_form)c->form) {
    case BC_FORM_ANY:
        return true;
    case BC_FORM_TILE:
        return bc_is_tile(t) && bc_kind_in((bc_kind)t->elem->kind, c->elements) && (c->rank < 0 || t->rank == (uint32_t)c->rank);
    case BC_FORM_TOKEN:
        return t->kind == BC_TOKEN;
    case BC_FORM_TENSOR_VIEW:
        return t->kind == BC_TENSOR_VIEW;
    case BC_FORM_PARTITION_VIEW:
        return t->kind == BC_PARTITION_VIEW;
    case BC_FORM_STRIDED_VIEW:
        return t->kind == BC_STRIDED_VIEW;
    case BC_FORM_GATHER_SCATTER_VIEW:
        return t->kind == BC_GATHER_SCATTER_VIEW;
    case BC_FORM_TILE_VIEW:
        return bc_is_tile_view(t);
    }
    return false;
}

/* A visible value of exactly that type, late ones more often; NULL when there is none. */
static bc_value *find_value(generator *g, const bc_type *type)
{
    for (unsigned tries = 0; tries < 24 && g->visible_count; tries++) {
        uint32_t back = below(g, tries < 12 && g->visible_count > 16 ? 16 : g->visible_count);
        bc_value *value = g->visible[g->visible_count - 1 - back];
        if (value->type == type)
            return value;
    }
    for (uint32_t i = g->visible_count; i-- > 0;)
        if (g->visible[i]->type == type)
            return g->visible[i];
    return NULL;
}

static bc_value *find_fitting(generator *g, const bc_constraint_info *c)
{
    for (unsigned tries = 0; tries < 40 && g->visible_count; tries++) {
        bc_value *value = g->visible[below(g, g->visible_count)];
        if (fits(value->type, c))
            return value;
    }
    return NULL;
}

static const bc_blob *draw_blob(generator *g, const bc_type *tile)
{
    uint8_t bytes[256];
    bc_kind kind = bc_elem_kind(tile);
    int64_t elems = bc_shape_elems(tile->shape, tile->rank);
    size_t width = bc_kind_constant_bytes(kind);
    bool full = elems > 1 && (size_t)elems * width <= sizeof bytes && chance(g, 40);
    size_t size = kind == BC_I1 ? (full ? ((size_t)elems + 7) / 8 : 1) : full ? (size_t)elems * width : width;
    for (size_t i = 0; i < size; i++)
        bytes[i] = (uint8_t)draw(g);
    if (kind == BC_I1 && !full)
        bytes[0] = chance(g, 50) ? 0xff : 0;
    if (kind == BC_F4E2M1FN)
        for (size_t i = 0; i < size; i++)
            bytes[i] &= 0x0f;
    if (kind == BC_TF32)
        for (size_t i = 2; i < size; i += 3)
            bytes[i] &= 0x07;
    return bc_blob_add(g->m, bytes, size, true);
}

/* A value of the type: a visible one, or a fresh constant or token. NULL when the type cannot be made. */
static bc_value *value_of(generator *g, const bc_type *type)
{
    bc_value *value = chance(g, 75) ? find_value(g, type) : NULL;
    if (value)
        return value;
    bc_op *op;
    if (type->kind == BC_TOKEN) {
        op = bc_op_new(g->m, OP_make_token, 1, 0);
    } else if (bc_is_tile(type) && bc_kind_in(bc_elem_kind(type), BC_SET_NUMBER)) {
        op = bc_op_new(g->m, OP_constant, 1, 0);
        const bc_blob *blob = draw_blob(g, type);
        if (!op || !blob)
            return NULL;
        bc_attr_of(op, F_constant_value)->blob = blob;
    } else {
        return find_value(g, type);
    }
    if (!op)
        return NULL;
    bc_results(op)->type = type;
    if (!bc_op_is_valid(g->m, op))
        return NULL; /* a type that no tile has, such as a scalar f4E2M1FN */
    place(g, op);
    return bc_results(op);
}

/* ---- guessing an op ---- */

/* The type a row should get, given the lead type of the op (a tile, or NULL). */
static const bc_type *guess_type(generator *g, const bc_constraint_info *c, const bc_type *lead)
{
    if (c->form == BC_FORM_TOKEN)
        return g->token;
    if (c->form != BC_FORM_TILE && c->form != BC_FORM_ANY)
        return NULL;
    bc_kind_set set = c->form == BC_FORM_ANY ? BC_SET_NUMBER : c->elements;
    if (!lead || !bc_is_tile(lead))
        return draw_tile(g, set & ~BC_SET(PTR), c->rank);
    const bc_type *elem = lead->elem;
    if (!bc_kind_in((bc_kind)elem->kind, set) || chance(g, 15)) {
        bc_kind kind = draw_kind(g, set);
        elem = kind == BC_PTR ? ptr_type(g, lead->elem->kind == BC_PTR ? lead->elem->elem : lead->elem)
                              : scalar_type(g, kind);
    }
    return c->rank == 0 ? bc_type_tile(g->m, elem, lead->shape, 0) : with_elem(g, lead, elem);
}

static bc_value *guess_operand(generator *g, const bc_row *row, const bc_type *lead)
{
    const bc_constraint_info *c = &bc_constraints[row->constraint];
    const bc_type *type = guess_type(g, c, lead);
    bool pointers = type && bc_is_tile(type) && type->elem->kind == BC_PTR;
    bc_value *value = NULL;
    if (type && fits(type, c) && !pointers)
        value = value_of(g, type);
    else if (type)
        value = find_value(g, type);
    return value ? value : find_fitting(g, c);
}

static const bc_type *guess_view(generator *g, const bc_constraint_info *c, const bc_type *source)
{
    bc_type t = {.padding = BC_NO_PADDING, .ptr_attr = BC_NO_PTR_ATTR};
    int64_t shape[3], strides[3], map[3];
    if (c->form == BC_FORM_TENSOR_VIEW) {
        if (!source || !bc_is_tile(source) || source->elem->kind != BC_PTR)
            return NULL;
        t.kind = BC_TENSOR_VIEW;
        t.elem = source->elem->elem;
        t.rank = t.result_count = 1 + below(g, 3);
        for (uint32_t d = 0; d < t.rank; d++) {
            shape[d] = chance(g, 30) ? BC_DYNAMIC : 1 << below(g, 8);
            strides[d] = d + 1 == t.rank ? 1 : chance(g, 30) ? BC_DYNAMIC : 1 << below(g, 8);
        }
    } else {
        if (!source || source->kind != BC_TENSOR_VIEW || source->rank == 0 || source->rank > 3)
            return NULL;
        t.kind = (uint8_t)(c->form == BC_FORM_PARTITION_VIEW ? BC_PARTITION_VIEW
                           : c->form == BC_FORM_STRIDED_VIEW ? BC_STRIDED_VIEW : BC_GATHER_SCATTER_VIEW);
        t.elem = source;
        t.rank = t.result_count = t.stride_count = source->rank;
        t.sparse_dim = below(g, t.rank);
        bool reversed = chance(g, 20);
        for (uint32_t d = 0; d < t.rank; d++) {
            shape[d] = 1 << below(g, 5);
            strides[d] = 1 + below(g, 9);
            map[d] = reversed ? t.rank - 1 - d : d;
        }
        if (t.kind == BC_GATHER_SCATTER_VIEW)
            t.result_count = 0;
        else
            t.dim_map = map;
        if (t.kind != BC_STRIDED_VIEW)
            t.stride_count = 0;
        if (chance(g, 40))
            t.padding = (uint8_t)below(g, 5);
    }
    t.shape = shape;
    if (t.kind == BC_TENSOR_VIEW || t.kind == BC_STRIDED_VIEW)
        t.strides = strides;
    return bc_type_add(g->m, &t);
}

static const bc_type *guess_result(generator *g, const bc_row *row, const bc_type *lead)
{
    const bc_constraint_info *c = &bc_constraints[row->constraint];
    if (c->form >= BC_FORM_TENSOR_VIEW)
        return guess_view(g, c, lead);
    if (lead && bc_is_tile_view(lead) && c->form == BC_FORM_TILE) /* what a load of the view gives */
        return bc_type_tile(g->m, lead->elem->elem, lead->shape, lead->rank);
    if (lead && c->form == BC_FORM_ANY)
        return lead;
    if (lead && bc_is_tile(lead) && lead->elem->kind == BC_PTR && chance(g, 60) && bc_kind_in((bc_kind)lead->elem->elem->kind, c->elements))
        return with_elem(g, lead, lead->elem->elem);
    const bc_type *type = guess_type(g, c, lead);
    return type && bc_is_tile(type) && c->rank != 0 && chance(g, 40) ? near_shape(g, type) : type;
}

static const bc_tagged *guess_tagged(generator *g)
{
    bc_tagged *a = bc_new(&g->m->arena, bc_tagged, 1);
    if (!a)
        return NULL;
    if (chance(g, 50)) {
        a->tag = BC_TAG_DIV_BY;
        a->u.bits = (uint64_t)1 << below(g, 8);
    } else {
        a->tag = BC_TAG_BOUNDED;
        a->has_a = chance(g, 70);
        a->has_b = chance(g, 40);
        a->a = -(int64_t)below(g, 2);
        a->b = below(g, 100);
    }
    return a;
}

static const bc_ints *guess_ints(generator *g, uint32_t count, bool bools)
{
    bc_ints *ints = bc_new(&g->m->arena, bc_ints, 1);
    int64_t *values = bc_new(&g->m->arena, int64_t, count);
    if (!ints || !values)
        return NULL;
    for (uint32_t i = 0; i < count; i++)
        values[i] = bools ? below(g, 2) : (int64_t)(count - 1 - i);
    *ints = (bc_ints){values, count};
    return ints;
}

static void guess_attr(generator *g, bc_op *op, const bc_row *row, bc_attr *a, const bc_type *lead)
{
    bool scalar = row->encoding >= BC_ENC_ENUM && row->encoding <= BC_ENC_BOOL;
    if (row->since > g->m->version || (row->arity == BC_OPTIONAL && chance(g, 60)))
        return; /* as the defaults have it */
    (void)scalar;
    switch ((bc_encoding)row->encoding) {
    case BC_ENC_UNIT:
    case BC_ENC_BOOL:
        a->u = below(g, 2);
        break;
    case BC_ENC_ENUM: {
        const bc_enum_value *value = NULL;
        for (unsigned tries = 0; tries < 20 && (!value || value->since > g->m->version); tries++)
            value = bc_enum_at((bc_enum_id)row->enum_id, below(g, 10));
        if (value && value->since <= g->m->version)
            a->u = value->number;
        break;
    }
    case BC_ENC_VARINT32:
    case BC_ENC_VARINT64:
        a->u = chance(g, 70) ? below(g, 3) : (uint64_t)1 << below(g, 8);
        break;
    case BC_ENC_STRING:
        a->string = g->m->global_count && op->opcode == OP_get_global ? g->m->globals[0].name
                  : bc_string_add(g->m, bc_str("plain text\n"), false);
        break;
    case BC_ENC_CONST:
        if (op->result_count && bc_is_tile(bc_results(op)->type))
            a->blob = draw_blob(g, bc_results(op)->type);
        break;
    case BC_ENC_TAGGED:
        a->tagged = guess_tagged(g);
        break;
    case BC_ENC_I32S:
        a->ints = guess_ints(g, lead && bc_is_tile(lead) ? lead->rank : 2, false);
        break;
    case BC_ENC_BOOLS:
        if (chance(g, 30))
            a->ints = guess_ints(g, bc_get_segments(op).count[0], true);
        break;
    case BC_ENC_HINTS: /* optional everywhere */
    case BC_ENC_ATTRS:
    case BC_ENC_NONE:
        break;
    }
}

/* How many values a variadic row may want: the rank of a view, the dynamic sizes of a tensor_view, a few. */
static uint32_t guess_count(generator *g, const bc_type *lead)
{
    if (lead && (bc_is_tile_view(lead) || bc_is_tile(lead)) && chance(g, 75))
        return lead->rank;
    return below(g, 4);
}

/* One guess; NULL when something it needs is not there. Constants that it made stay. */
static bc_op *guess_op(generator *g, bc_opcode opcode)
{
    const bc_op_info *info = &bc_ops[opcode];
    const bc_row *rows = bc_operand_rows(info);
    bc_value *operands[32];
    uint32_t count = 0;
    bc_segments segments = {0};
    unsigned variadic = 0;
    const bc_type *lead = NULL;
    for (unsigned r = 0; r < info->operand_rows; r++) {
        uint32_t want = 1;
        if (rows[r].arity == BC_VARIADIC) {
            want = guess_count(g, lead);
            segments.count[variadic++] = (uint16_t)want;
        } else if (rows[r].arity == BC_OPTIONAL) {
            want = rows[r].since <= g->m->version && chance(g, 40);
            segments.present |= (uint16_t)(want << r);
        }
        for (uint32_t i = 0; i < want && count < TV_COUNT(operands); i++) {
            bc_value *value = guess_operand(g, &rows[r], lead);
            if (!value)
                return NULL;
            operands[count++] = value;
            if (!lead && (rows[r].arity == BC_ONE || rows[r].arity == BC_VARIADIC))
                lead = value->type;
            /* a value and the view it goes to: let the rest follow the view */
            if (bc_is_tile_view(value->type))
                lead = value->type;
        }
    }
    const bc_row *result_rows = bc_result_rows(info);
    uint32_t results = 0;
    for (unsigned r = 0; r < info->result_rows; r++)
        if (result_rows[r].since <= g->m->version)
            results += result_rows[r].arity == BC_VARIADIC ? guess_count(g, lead) : 1;
    bc_op *op = bc_op_new(g->m, opcode, results, count);
    if (!op)
        return NULL;
    bc_op_defaults(op);
    if (info->mode == BC_MODE_SEGMENTED)
        memcpy(&bc_attrs(op)[info->attr_rows], &segments, sizeof segments);
    memcpy(bc_operands(op), operands, count * sizeof *operands);
    for (uint32_t i = 0; i < results; i++) {
        const bc_row *row = &result_rows[i < info->result_rows ? i : info->result_rows - 1u];
        const bc_type *type = guess_result(g, row, lead);
        if (!type)
            return NULL;
        bc_results(op)[i].type = type;
    }
    for (unsigned r = 0; r < info->attr_rows; r++) {
        guess_attr(g, op, &bc_attr_rows(info)[r], &bc_attrs(op)[r], lead);
        bool pointer = bc_attr_rows(info)[r].encoding >= BC_ENC_STRING && bc_attr_rows(info)[r].arity == BC_ONE;
        if (pointer && bc_attr_rows(info)[r].encoding != BC_ENC_BOOLS && !bc_attrs(op)[r].tagged)
            return NULL;
    }
    return op;
}

/* ---- ops with regions ---- */

static bc_op *end_block(generator *g, bc_opcode opcode, bc_value *const *values, uint32_t count)
{
    bc_op *op = bc_op_new(g->m, opcode, 0, count);
    if (op) {
        if (count)
            memcpy(bc_operands(op), values, count * sizeof *values);
        bc_block_append(g->block, op);
    }
    return op;
}

/* Fills a region: enters it, makes ops, ends it with `terminator` on values of the wanted types. */
static bool fill_region(generator *g, bc_op *parent, unsigned region, const bc_type *const *args, uint32_t arg_count,
                        unsigned ops, bc_opcode terminator, const bc_type *const *wanted, uint32_t wanted_count)
{
    bc_block *outer = g->block, *block = bc_block_new(g->m, parent, arg_count);
    if (!block)
        return false;
    uint32_t visible = g->visible_count;
    parent->block = outer; /* where it will stand, for whoever looks up from inside */
    bc_regions(parent)[region] = g->block = block;
    g->depth++;
    for (uint32_t i = 0; i < arg_count; i++) {
        block->args[i].type = args[i];
        show(g, &block->args[i]);
    }
    gen_ops(g, ops);
    bc_value *values[8];
    bool fine = true;
    for (uint32_t i = 0; i < wanted_count; i++)
        fine = (values[i] = value_of(g, wanted[i])) != NULL && fine;
    fine = fine && end_block(g, terminator, values, wanted_count);
    g->visible_count = visible;
    g->block = outer;
    g->depth--;
    return fine;
}

/* Types that any region may carry and that value_of can always make. */
static uint32_t draw_types(generator *g, const bc_type **types, uint32_t max)
{
    uint32_t count = below(g, max + 1);
    for (uint32_t i = 0; i < count; i++)
        types[i] = chance(g, 15) ? g->token : draw_tile(g, BC_SET_INT | BC_SET_BASE_FLOAT, -1);
    return count;
}

static bool set_operands(generator *g, bc_op *op, uint32_t first, const bc_type *const *types, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (!(bc_operands(op)[first + i] = value_of(g, types[i])))
            return false;
    return true;
}

static void set_results(bc_op *op, const bc_type *const *types)
{
    for (uint32_t i = 0; i < op->result_count; i++)
        bc_results(op)[i].type = types[i];
}

static bc_op *gen_if(generator *g, unsigned ops)
{
    const bc_type *types[3];
    uint32_t count = draw_types(g, types, 3);
    bc_op *op = bc_op_new(g->m, OP_if, count, 1);
    if (!op || !set_operands(g, op, 0, &g->i1, 1))
        return NULL;
    set_results(op, types);
    if (!fill_region(g, op, 0, NULL, 0, ops / 2, OP_yield, types, count))
        return NULL;
    if ((count || chance(g, 50)) && !fill_region(g, op, 1, NULL, 0, ops / 2, OP_yield, types, count))
        return NULL;
    return op;
}

static bc_op *gen_for(generator *g, unsigned ops)
{
    const bc_type *types[4] = {g->i32};
    uint32_t count = draw_types(g, types + 1, 3);
    const bc_type *bounds[3] = {g->i32, g->i32, g->i32};
    bc_op *op = bc_op_new(g->m, OP_for, count, 3 + count);
    if (!op || !set_operands(g, op, 0, bounds, 3) || !set_operands(g, op, 3, types + 1, count))
        return NULL;
    bc_op_defaults(op);
    set_results(op, types + 1);
    return fill_region(g, op, 0, types, count + 1, ops, OP_continue, types + 1, count) ? op : NULL;
}

static bc_op *gen_loop(generator *g, unsigned ops)
{
    const bc_type *carried[3], *left[2];
    uint32_t count = draw_types(g, carried, 3), results = draw_types(g, left, 2);
    bc_op *op = bc_op_new(g->m, OP_loop, results, count);
    if (!op || !set_operands(g, op, 0, carried, count))
        return NULL;
    set_results(op, left);
    return fill_region(g, op, 0, carried, count, ops, OP_break, left, results) ? op : NULL;
}

static const bc_tagged *identity_of(generator *g, const bc_type *const *types, uint32_t count)
{
    bc_tagged *array = bc_new(&g->m->arena, bc_tagged, 1), *items = bc_new(&g->m->arena, bc_tagged, count);
    if (!array || !items)
        return NULL;
    for (uint32_t i = 0; i < count; i++) {
        bc_kind kind = bc_elem_kind(types[i]);
        bool is_float = bc_kinds[kind].kind_class == BC_CLASS_FLOAT;
        items[i] = (bc_tagged){.tag = is_float ? BC_TAG_FLOAT : BC_TAG_INTEGER, .type = types[i]->elem};
        items[i].u.bits = is_float ? 0 : draw(g) & (kind == BC_I64 ? UINT64_MAX : ((uint64_t)1 << bc_kind_bits(kind)) - 1);
    }
    *array = (bc_tagged){.tag = BC_TAG_ARRAY, .u.array = {items, count}};
    return array;
}

static bc_op *gen_aggregate(generator *g, bc_opcode opcode, unsigned ops)
{
    const bc_type *types[2], *args[4], *scalars[2], *results[2];
    uint32_t count = 1 + below(g, 2);
    const bc_type *shape;
    do
        shape = draw_tile(g, BC_SET_INT | BC_SET_BASE_FLOAT, -1);
    while (shape->rank == 0);
    unsigned dim = below(g, shape->rank);
    for (uint32_t i = 0; i < count; i++) {
        types[i] = i ? with_elem(g, shape, scalar_type(g, draw_kind(g, BC_SET_INT | BC_SET_BASE_FLOAT))) : shape;
        scalars[i] = bc_type_tile(g->m, types[i]->elem, shape->shape, 0);
        args[2 * i] = args[2 * i + 1] = scalars[i];
        int64_t kept[8];
        uint32_t rank = 0;
        for (uint32_t d = 0; d < shape->rank; d++)
            if (d != dim)
                kept[rank++] = shape->shape[d];
        results[i] = opcode == OP_scan ? types[i] : bc_type_tile(g->m, types[i]->elem, kept, rank);
    }
    bc_op *op = bc_op_new(g->m, opcode, count, count);
    if (!op || !set_operands(g, op, 0, types, count))
        return NULL;
    bc_op_defaults(op);
    set_results(op, results);
    const bc_tagged *identities = identity_of(g, types, count);
    bc_attr_of(op, opcode == OP_scan ? F_scan_dim : F_reduce_dim)->u = dim;
    bc_attr_of(op, opcode == OP_scan ? F_scan_identities : F_reduce_identities)->tagged = identities;
    if (opcode == OP_scan)
        bc_attr_of(op, F_scan_reverse)->u = below(g, 2);
    return identities && fill_region(g, op, 0, args, 2 * count, ops > 4 ? 4 : ops, OP_yield, scalars, count) ? op : NULL;
}

/* ---- bodies ---- */

static bool in_aggregate(const generator *g)
{
    for (const bc_block *b = g->block; b->parent; b = b->parent->block)
        if (b->parent->opcode == OP_reduce || b->parent->opcode == OP_scan)
            return true;
    return false;
}

static bc_op *gen_region_op(generator *g, bc_opcode opcode, unsigned ops)
{
    if (g->depth >= g->options->depth || g->depth >= 8)
        return NULL;
    switch ((int)opcode) {
    case OP_if:
        return gen_if(g, ops);
    case OP_for:
        return gen_for(g, ops);
    case OP_loop:
        return gen_loop(g, ops);
    default:
        return gen_aggregate(g, opcode, ops);
    }
}

static bool gen_op(generator *g)
{
    bc_opcode opcode = (bc_opcode)below(g, OP_LIMIT);
    const bc_op_info *info = &bc_ops[opcode];
    if (!info->name || info->since > g->m->version || info->traits & BC_TERMINATOR
        || (info->traits & BC_EFFECTS && in_aggregate(g)))
        return false;
    if (info->region_rows && chance(g, 60))
        return false;
    for (unsigned tries = 0; tries < (info->region_rows ? 1 : GUESSES); tries++) {
        const bc_block before = *g->block;
        uint32_t visible = g->visible_count;
        bc_op *op = info->region_rows ? gen_region_op(g, opcode, 2 + below(g, 8)) : guess_op(g, opcode);
        if (op) {
            op->block = g->block;
            if (bc_op_is_valid(g->m, op)) {
                place(g, op);
                return true;
            }
        }
        /* the constants that the guess made go with it */
        *g->block = before;
        if (before.last)
            before.last->next = NULL;
        g->visible_count = visible;
    }
    return false;
}

static void gen_ops(generator *g, unsigned count)
{
    for (unsigned made = 0, tries = 0; made < count && tries < count * 20 && !g->m->arena.failed; tries++)
        made += gen_op(g);
}

static bool gen_function(generator *g, unsigned number)
{
    const bc_type *params[12];
    uint32_t count = 3 + below(g, 9);
    for (uint32_t i = 0; i < count; i++) {
        bc_kind kind = draw_kind(g, BC_SET_INT | BC_SET_BASE_FLOAT);
        const bc_type *elem = scalar_type(g, kind);
        params[i] = bc_type_tile(g->m, i < 3 || chance(g, 40) ? ptr_type(g, elem) : elem, NULL, 0);
        if (!params[i])
            return false;
    }
    char name[32];
    snprintf(name, sizeof name, "kernel_%u", number);
    bc_function *f = &g->m->functions[g->m->function_count++];
    *f = (bc_function){.flags = BC_FUNC_KERNEL, .name = bc_string_add(g->m, bc_str(name), true)};
    f->type = bc_type_add(g->m, &(bc_type){.kind = BC_FUNCTION, .padding = BC_NO_PADDING, .ptr_attr = BC_NO_PTR_ATTR,
                                           .rank = count, .members = params});
    f->body = g->block = bc_block_new(g->m, NULL, count);
    if (!f->name || !f->type || !f->body)
        return false;
    g->visible_count = 0;
    for (uint32_t i = 0; i < count; i++) {
        f->body->args[i].type = params[i];
        show(g, &f->body->args[i]);
    }
    gen_ops(g, g->options->ops);
    end_block(g, OP_return, NULL, 0);
    bc_function_number(f);
    return true;
}

static bool gen_global(generator *g)
{
    int64_t shape = 1 << below(g, 5);
    const bc_type *type = bc_type_tile(g->m, scalar_type(g, draw_kind(g, BC_SET_INT | BC_SET_BASE_FLOAT)), &shape, 1);
    const bc_blob *value = type ? draw_blob(g, type) : NULL;
    const bc_string *name = bc_string_add(g->m, bc_str("table"), false);
    if (!value || !name)
        return false;
    g->m->globals[g->m->global_count++] = (bc_global){.name = name, .type = type, .value = value, .alignment = 16};
    return true;
}

tv_status gen_module(const gen_options *options, tv_module **out_module)
{
    bc_module *m = bc_module_new(NULL, options->version);
    if (!m)
        return TV_NO_MEMORY;
    generator g = {.m = m, .options = options, .state = options->seed * 2 + 1};
    g.token = bc_type_scalar(m, BC_TOKEN);
    g.i32 = bc_type_tile(m, bc_type_scalar(m, BC_I32), NULL, 0);
    g.i1 = bc_type_tile(m, bc_type_scalar(m, BC_I1), NULL, 0);
    m->functions = bc_new(&m->arena, bc_function, options->functions);
    m->globals = bc_new(&m->arena, bc_global, 1);
    m->function_capacity = options->functions;
    m->global_capacity = 1;
    bool fine = m->functions && m->globals && (!chance(&g, 50) || gen_global(&g));
    for (unsigned i = 0; fine && i < options->functions; i++)
        fine = gen_function(&g, i);
    if (!fine || bc_module_compact(m) != TV_OK || m->arena.failed) {
        tv_module_close(m);
        return TV_NO_MEMORY;
    }
    *out_module = m;
    return TV_OK;
}
