/* Guessing an op from its table rows: operands from visible values that fit the rows, result types and attributes from
   the operands. Whoever calls asks the verifier whether the guess made sense. */
#include <string.h>

#include "bytecode/verify/verify.h"
#include "tools/tilevm/gen/inside.h"

/* ---- what the parts of a guess have in common ---- */

typedef struct guess {
    bc_opcode opcode;
    const bc_op_info *info;
    bool multicast;       /* the op wants multicast addresses */
    const bc_type *lead;  /* the view, else the first operand's type; NULL: none yet */
    bc_value *view;       /* chosen before the other operands; NULL: the op takes none */
    const bc_type *made;  /* the tensor_view that is made: it decides how many sizes and strides are given */
    const bc_type *index; /* one type for all indices, sizes and strides */
} guess;

static bc_op *guess_op(generator *g, bc_opcode opcode, bool multicast);

static bool is_view_form(const bc_row *row)
{
    return bc_constraints[row->constraint].form >= BC_FORM_TENSOR_VIEW;
}

/* ---- types ---- */

/* Number kinds that the row takes and the lead's pointers point to, or 0. */
static const bc_type *pointee_for(const bc_constraint_info *c, const bc_type *lead)
{
    const bc_type *pointee = bc_elem_kind(lead) == BC_PTR ? lead->elem->elem : NULL;
    return pointee && bc_kind_in((bc_kind)pointee->kind, c->elements) ? pointee : NULL;
}

/* The type a row should get, given the lead. */
static const bc_type *guess_type(generator *g, const bc_constraint_info *c, const bc_type *lead)
{
    if (c->form == BC_FORM_TOKEN)
        return g->token;
    if (c->form != BC_FORM_TILE && c->form != BC_FORM_ANY)
        return NULL;
    bc_kind_set set = c->form == BC_FORM_ANY ? BC_SET_NUMBER : c->elements;
    if (!lead || !bc_is_tile(lead))
        return gen_draw_tile(g, set & ~BC_SET(PTR), c->rank);
    const bc_type *elem = lead->elem, *pointee = pointee_for(c, lead);
    if (pointee && gen_chance(g, 85)) {
        elem = pointee;
    } else if (!bc_kind_in((bc_kind)elem->kind, set) || gen_chance(g, 15)) {
        bc_kind kind = gen_draw_kind(g, set);
        elem = kind == BC_PTR ? gen_ptr_type(g, elem->kind == BC_PTR ? elem->elem : elem, BC_NO_PTR_ATTR)
                              : gen_scalar_type(g, kind);
    }
    return c->rank == 0 ? bc_type_tile(g->m, elem, lead->shape, 0) : gen_with_elem(g, lead, elem);
}

/* The tile that goes through a view. */
static const bc_type *tile_of_view(generator *g, const bc_type *view)
{
    return bc_type_tile(g->m, view->elem->elem, view->shape, view->rank);
}

static const bc_type *guess_view(generator *g, const bc_constraint_info *c, const bc_type *source)
{
    bc_type t = {.padding = BC_NO_PADDING, .ptr_attr = BC_NO_PTR_ATTR};
    int64_t shape[3], strides[3], map[3];
    if (c->form == BC_FORM_TENSOR_VIEW) {
        if (!source || !bc_is_tile(source) || source->elem->kind != BC_PTR)
            return NULL;
        t.kind = BC_TENSOR_VIEW;
        t.ptr_attr = source->elem->ptr_attr;
        t.elem = source->elem->elem;
        t.rank = t.result_count = 1 + gen_below(g, 3);
        for (uint32_t d = 0; d < t.rank; d++) {
            shape[d] = gen_chance(g, 30) ? BC_DYNAMIC : 1 << gen_below(g, 8);
            strides[d] = d + 1 == t.rank ? 1 : gen_chance(g, 30) ? BC_DYNAMIC : 1 << gen_below(g, 8);
        }
    } else {
        if (!source || source->kind != BC_TENSOR_VIEW || source->rank == 0 || source->rank > 3)
            return NULL;
        t.kind = (uint8_t)(c->form == BC_FORM_PARTITION_VIEW ? BC_PARTITION_VIEW
                           : c->form == BC_FORM_STRIDED_VIEW ? BC_STRIDED_VIEW
                                                             : BC_GATHER_SCATTER_VIEW);
        t.elem = source;
        t.rank = t.result_count = t.stride_count = source->rank;
        t.sparse_dim = t.kind == BC_GATHER_SCATTER_VIEW ? gen_below(g, t.rank) : 0;
        bool reversed = gen_chance(g, 20);
        for (uint32_t d = 0; d < t.rank; d++) {
            shape[d] = 1 << gen_below(g, 5);
            strides[d] = 1 + gen_below(g, 9);
            map[d] = reversed ? t.rank - 1 - d : d;
        }
        if (t.kind == BC_GATHER_SCATTER_VIEW)
            t.result_count = 0;
        else
            t.dim_map = map;
        if (t.kind != BC_STRIDED_VIEW)
            t.stride_count = 0;
        if (gen_chance(g, 40))
            t.padding = (uint8_t)gen_below(g, 5);
    }
    t.shape = shape;
    if (t.kind == BC_TENSOR_VIEW || t.kind == BC_STRIDED_VIEW)
        t.strides = strides;
    return bc_type_add(g->m, &t);
}

/* ---- operands ---- */

/* A view for the op: a visible one, or one that is made now. */
static bc_value *need_view(generator *g, const bc_constraint_info *c, bool multicast)
{
    static const bc_opcode makers[] = {OP_make_partition_view, OP_make_strided_view, OP_make_gather_scatter_view};
    bc_value *found = gen_chance(g, 75) ? gen_find_fitting(g, c, multicast) : NULL;
    for (unsigned tries = 0; tries < 8 && !found; tries++) {
        bc_opcode maker = c->form == BC_FORM_TENSOR_VIEW           ? OP_make_tensor_view
                          : c->form == BC_FORM_PARTITION_VIEW      ? OP_make_partition_view
                          : c->form == BC_FORM_STRIDED_VIEW        ? OP_make_strided_view
                          : c->form == BC_FORM_GATHER_SCATTER_VIEW ? OP_make_gather_scatter_view
                                                                   : makers[gen_below(g, TV_COUNT(makers))];
        bc_op *op = bc_ops[maker].since <= g->m->version ? guess_op(g, maker, multicast) : NULL;
        if (op && bc_op_is_valid(g->m, op)) {
            gen_place(g, op);
            found = bc_results(op);
        }
    }
    return found;
}

/* i: which value of a variadic row. */
static bc_value *guess_operand(generator *g, const guess *k, const bc_row *row, uint32_t i)
{
    const bc_constraint_info *c = &bc_constraints[row->constraint];
    if (is_view_form(row))
        return k->view;
    if (row->arity == BC_VARIADIC && (k->view || k->made)) {
        const bc_type *view = k->lead;
        bool sparse = k->view && view->kind == BC_GATHER_SCATTER_VIEW && i == view->sparse_dim;
        return gen_value_of(g, sparse ? bc_type_tile(g->m, k->index->elem, &view->shape[i], 1) : k->index);
    }
    if (!k->lead && gen_chance(g, 70)) {
        bc_value *value = gen_find_fitting(g, c, k->multicast);
        if (value)
            return value;
    }
    bool of_view = k->view && bc_is_tile_view(k->lead) && c->form == BC_FORM_TILE;
    const bc_type *type = of_view ? tile_of_view(g, k->lead) : guess_type(g, c, k->lead);
    bool pointers = type && bc_elem_kind(type) == BC_PTR;
    bc_value *value = NULL;
    if (type && bc_type_fits(type, c) && !pointers)
        value = gen_value_of(g, type);
    else if (type && !k->multicast)
        value = gen_find_value(g, type);
    return value ? value : gen_find_fitting(g, c, k->multicast);
}

/* How many values a variadic row wants: the rank of a view, the dynamic sizes of a tensor_view, else the rank of the
   lead or a few. */
static uint32_t guess_count(generator *g, const guess *k, const bc_row *row)
{
    if (k->made) {
        bool sizes = row == &bc_rows[F_make_tensor_view_dynamic_shape];
        uint32_t dynamic = 0;
        for (uint32_t d = 0; d < k->made->rank; d++)
            dynamic += (sizes ? k->made->shape : k->made->strides)[d] == BC_DYNAMIC;
        return dynamic;
    }
    if (k->view || (k->lead && bc_is_tile(k->lead) && gen_chance(g, 75)))
        return k->lead->rank;
    return gen_below(g, 4);
}

/* ---- results ---- */

/* As many bytes of another kind. */
static const bc_type *guess_packed(generator *g, const bc_constraint_info *c, const bc_type *lead)
{
    bc_kind kind = gen_draw_kind(g, c->elements);
    int64_t bits = lead->rank == 1 ? lead->shape[0] * bc_kind_bits((bc_kind)lead->elem->kind) : 0;
    int64_t size = bits / bc_kind_bits(kind);
    return size ? bc_type_tile(g->m, gen_scalar_type(g, kind), &size, 1) : NULL;
}

static const bc_type *guess_result(generator *g, const guess *k, const bc_row *row)
{
    const bc_constraint_info *c = &bc_constraints[row->constraint];
    if (c->form == BC_FORM_TOKEN)
        return g->token;
    if (k->made)
        return k->made;
    if (is_view_form(row))
        return guess_view(g, c, k->lead);
    if (k->view)
        return row->arity == BC_VARIADIC ? k->index : tile_of_view(g, k->lead);
    if (k->opcode == OP_pack || k->opcode == OP_unpack)
        return guess_packed(g, c, k->lead);
    if (k->opcode == OP_alloca)
        return bc_type_tile(g->m,
                            gen_ptr_type(g, gen_scalar_type(g, gen_draw_kind(g, BC_SET_INT | BC_SET_BASE_FLOAT)),
                                         BC_NO_PTR_ATTR),
                            NULL, 0);
    if (k->lead && c->form == BC_FORM_ANY)
        return k->lead;
    const bc_type *pointee = k->lead ? pointee_for(c, k->lead) : NULL;
    if (pointee && gen_chance(g, 60))
        return gen_with_elem(g, k->lead, pointee);
    const bc_type *type = guess_type(g, c, k->lead);
    return type && bc_is_tile(type) && c->rank != 0 && gen_chance(g, 40) ? gen_near_shape(g, type) : type;
}

/* ---- attributes ---- */

/* An assumption about a value of that type. */
static const bc_tagged *guess_tagged(generator *g, const bc_type *lead)
{
    bc_tagged *a = bc_new(&g->m->arena, bc_tagged, 1);
    uint32_t rank = lead && bc_is_tile(lead) ? lead->rank : 0;
    if (!a)
        return NULL;
    if (gen_chance(g, 40)) {
        a->tag = BC_TAG_DIV_BY;
        a->u.bits = (uint64_t)1 << gen_below(g, 8);
        if (rank && gen_chance(g, 40)) {
            a->has_a = a->has_b = true;
            a->a = (int64_t)1 << gen_below(g, 3);
            a->b = gen_below(g, rank);
        }
    } else if (rank && gen_chance(g, 50)) {
        int64_t *sizes = bc_new(&g->m->arena, int64_t, rank);
        if (!sizes)
            return NULL;
        for (uint32_t d = 0; d < rank; d++)
            sizes[d] = (int64_t)1 << gen_below(g, 3);
        a->tag = BC_TAG_SAME_ELEMENTS;
        a->u.ints = (bc_ints){sizes, rank};
    } else {
        a->tag = BC_TAG_BOUNDED;
        a->has_a = gen_chance(g, 70);
        a->has_b = gen_chance(g, 40);
        a->a = -(int64_t)gen_below(g, 2);
        a->b = gen_below(g, 100);
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
        values[i] = bools ? gen_below(g, 2) : (int64_t)(count - 1 - i);
    *ints = (bc_ints){values, count};
    return ints;
}

/* The number of a value that the version has; else as it was. */
static uint64_t guess_enum(generator *g, bc_enum_id id, uint64_t number)
{
    const bc_enum_value *value = NULL;
    for (unsigned tries = 0; tries < 20 && (!value || value->since > g->m->version); tries++)
        value = bc_enum_at(id, gen_below(g, 10));
    return value && value->since <= g->m->version ? value->number : number;
}

static void guess_attr(generator *g, bc_op *op, const bc_row *row, bc_attr *a, const bc_type *lead)
{
    if (row->since > g->m->version || (row->arity == BC_OPTIONAL && gen_chance(g, 60)))
        return; /* as the defaults have it */
    switch ((bc_encoding)row->encoding) {
    case BC_ENC_UNIT:
    case BC_ENC_BOOL: a->u = gen_below(g, 2); break;
    case BC_ENC_ENUM: a->u = guess_enum(g, (bc_enum_id)row->enum_id, a->u); break;
    case BC_ENC_VARINT32:
    case BC_ENC_VARINT64: a->u = gen_chance(g, 70) ? gen_below(g, 3) : (uint64_t)1 << gen_below(g, 8); break;
    case BC_ENC_STRING: a->string = bc_string_add(g->m, bc_str("plain text\n"), false); break;
    case BC_ENC_CONST:
        if (op->result_count && bc_is_tile(bc_results(op)->type))
            a->blob = gen_draw_blob(g, bc_results(op)->type);
        break;
    case BC_ENC_TAGGED: a->tagged = guess_tagged(g, lead); break;
    case BC_ENC_I32S: a->ints = guess_ints(g, lead && bc_is_tile(lead) ? lead->rank : 2, false); break;
    case BC_ENC_BOOLS:
        if (gen_chance(g, 30))
            a->ints = guess_ints(g, bc_get_segments(op).count[0], true);
        break;
    case BC_ENC_HINTS: a->tagged = gen_hints(g, op->opcode); break;
    case BC_ENC_ATTRS: /* ops with regions */
    case BC_ENC_NONE: break;
    }
}

/* ---- ops ---- */

/* The parts that the others follow: a view, a tensor_view's type. False: there is none. */
static bool begin(generator *g, guess *k)
{
    const bc_row *rows = bc_operand_rows(k->info);
    k->index =
        bc_type_tile(g->m, gen_scalar_type(g, gen_chance(g, 80) ? BC_I32 : gen_draw_kind(g, BC_SET_INT)), NULL, 0);
    for (unsigned r = 0; r < k->info->operand_rows; r++)
        if (is_view_form(&rows[r])) {
            k->view = need_view(g, &bc_constraints[rows[r].constraint], k->multicast);
            k->lead = k->view ? k->view->type : NULL;
            return k->view != NULL;
        }
    return true;
}

/* Operands row by row; their number, or UINT32_MAX when one cannot be had. */
static uint32_t guess_operands(generator *g, guess *k, bc_value **operands, uint32_t max, bc_segments *segments)
{
    const bc_row *rows = bc_operand_rows(k->info);
    uint32_t count = 0;
    unsigned variadic = 0;
    for (unsigned r = 0; r < k->info->operand_rows; r++) {
        uint32_t want = 1;
        if (rows[r].arity == BC_VARIADIC) {
            want = guess_count(g, k, &rows[r]);
            segments->count[variadic++] = (uint16_t)want;
        } else if (rows[r].arity == BC_OPTIONAL) {
            want = rows[r].since <= g->m->version && gen_chance(g, 40);
            segments->present |= (uint16_t)(want << r);
        }
        for (uint32_t i = 0; i < want && count < max; i++) {
            bc_value *value = guess_operand(g, k, &rows[r], i);
            if (!value)
                return UINT32_MAX;
            operands[count++] = value;
            if (!k->lead && rows[r].arity != BC_OPTIONAL)
                k->lead = value->type;
            if (k->opcode == OP_make_tensor_view && !k->made
                && !(k->made = guess_view(g, &bc_constraints[BC_IS_tensor_view], value->type)))
                return UINT32_MAX;
        }
    }
    return count;
}

static bool guess_results(generator *g, const guess *k, bc_op *op)
{
    const bc_row *rows = bc_result_rows(k->info);
    for (uint32_t i = 0; i < op->result_count; i++) {
        const bc_row *row = &rows[i < k->info->result_rows ? i : k->info->result_rows - 1u];
        if (!(bc_results(op)[i].type = guess_result(g, k, row)))
            return false;
    }
    return true;
}

static bool guess_attrs(generator *g, const guess *k, bc_op *op)
{
    const bc_row *rows = bc_attr_rows(k->info);
    for (unsigned r = 0; r < k->info->attr_rows; r++) {
        guess_attr(g, op, &rows[r], &bc_attrs(op)[r], k->lead);
        bool pointer = rows[r].encoding >= BC_ENC_STRING && rows[r].arity == BC_ONE;
        if (pointer && rows[r].encoding != BC_ENC_BOOLS && !bc_attrs(op)[r].tagged)
            return false;
    }
    return true;
}

static bc_op *guess_op(generator *g, bc_opcode opcode, bool multicast)
{
    guess k = {.opcode = opcode, .info = &bc_ops[opcode], .multicast = multicast};
    bc_value *operands[32];
    bc_segments segments = {0};
    if (!begin(g, &k))
        return NULL;
    uint32_t count = guess_operands(g, &k, operands, TV_COUNT(operands), &segments), results = 0;
    if (count == UINT32_MAX)
        return NULL;
    const bc_row *rows = bc_result_rows(k.info);
    for (unsigned r = 0; r < k.info->result_rows; r++)
        if (rows[r].since <= g->m->version)
            results += rows[r].arity == BC_VARIADIC ? guess_count(g, &k, &rows[r]) : 1;
    bc_op *op = bc_op_new(g->m, opcode, results, count);
    if (!op)
        return NULL;
    bc_op_defaults(op);
    if (k.info->mode == BC_MODE_SEGMENTED)
        memcpy(&bc_attrs(op)[k.info->attr_rows], &segments, sizeof segments);
    if (count)
        memcpy(bc_operands(op), operands, count * sizeof *operands);
    return guess_results(g, &k, op) && guess_attrs(g, &k, op) ? op : NULL;
}

/* ---- ops whose fields are too far apart to guess ---- */

static bc_op *make_get_global(generator *g)
{
    if (!g->m->global_count)
        return NULL;
    const bc_global *global = &g->m->globals[gen_below(g, (unsigned)g->m->global_count)];
    bc_op *op = bc_op_new(g->m, OP_get_global, 1, 0);
    if (op) {
        bc_results(op)->type = bc_type_tile(g->m, gen_ptr_type(g, global->type->elem, BC_NO_PTR_ATTR), NULL, 0);
        bc_attr_of(op, F_get_global_name)->string = global->name;
    }
    return op;
}

/* lhs [M, K], rhs [K, N], one scale for 16 or 32 elements along K; perhaps a batch of them. */
static bc_op *make_mmaf_scaled(generator *g)
{
    static const struct {
        bc_kind factor, scale;
        uint8_t length;
    } some[] = {{BC_F8E4M3FN, BC_F8E8M0FNU, 32},
                {BC_F8E5M2, BC_F8E8M0FNU, 32},
                {BC_F4E2M1FN, BC_F8E8M0FNU, 16},
                {BC_F4E2M1FN, BC_F8E4M3FN, 16},
                {BC_F4E2M1FN, BC_FNV8E5M3FNU, 32}};
    unsigned i = gen_below(g, TV_COUNT(some)), skip = gen_below(g, 2); /* skip the batch */
    const bc_type *factor = gen_scalar_type(g, some[i].factor), *scale = gen_scalar_type(g, some[i].scale);
    int64_t batch = 1 << gen_below(g, 2), m = 1 << gen_below(g, 5), n = 1 << gen_below(g, 5);
    int64_t scales = 1 << gen_below(g, 2), k = scales * some[i].length;
    const bc_type *acc = bc_type_tile(g->m, gen_scalar_type(g, BC_F32), (int64_t[]){batch, m, n} + skip, 3 - skip);
    const bc_type *types[] = {bc_type_tile(g->m, factor, (int64_t[]){batch, m, k} + skip, 3 - skip),
                              bc_type_tile(g->m, factor, (int64_t[]){batch, k, n} + skip, 3 - skip), acc,
                              bc_type_tile(g->m, scale, (int64_t[]){batch, m, scales} + skip, 3 - skip),
                              bc_type_tile(g->m, scale, (int64_t[]){batch, scales, n} + skip, 3 - skip)};
    bc_op *op = bc_op_new(g->m, OP_mmaf_scaled, 1, TV_COUNT(types));
    if (!op)
        return NULL;
    bc_results(op)->type = acc;
    for (unsigned o = 0; o < TV_COUNT(types); o++)
        if (!(bc_operands(op)[o] = gen_value_of(g, types[o])))
            return NULL;
    return op;
}

bc_op *gen_guess(generator *g, bc_opcode opcode)
{
    switch ((int)opcode) {
    case OP_get_global: return make_get_global(g);
    case OP_mmaf_scaled: return make_mmaf_scaled(g);
    case OP_multimem_load_reduce_view_tko:
    case OP_multimem_reduce_view_tko:
    case OP_multimem_store_view_tko: return guess_op(g, opcode, true);
    default: return guess_op(g, opcode, false);
    }
}
