/* The T rules: is a type well formed? Types are interned, so each is checked once, when something first uses it, and
   a broken one is reported there. The reader made sure that types are not cyclic and that a tile view names a
   tensor_view. Source: format reference, section 10; operation references, 1.3 and section 10. */
#include "bytecode/verify/verify.h"

enum { MAX_TILE_ELEMENTS = 1 << 24 };

/* The type being checked and the field that uses it. */
typedef struct type_use {
    bc_verifier *v;
    const bc_op *op; /* NULL: a parameter of the function, a global, or nothing */
    int row;
    unsigned index;
    const bc_global *global;
    const bc_type *used; /* what the field has; the broken type may lie inside */
} type_use;

static bool type_wrong(const type_use *use, bc_rule rule, const char *format, ...) TV_PRINTF(3, 4);

static bool type_wrong(const type_use *use, bc_rule rule, const char *format, ...)
{
    bc_verifier *v = use->v;
    va_list args;
    va_start(args, format);
    const char *why = bc_why_words(v, format, args), *type = bc_type_words(v, use->used);
    va_end(args);
    tv_severity severity = bc_rules[rule].severity;
    if (use->op)
        bc_wrong(v, use->op, use->row, use->index, rule, "has type %s: %s", type, why);
    else if (v->function)
        bc_wrong_function(v, rule, severity, "parameter %u has type %s: %s", use->index, type, why);
    else if (use->global)
        bc_wrong_at(v, use->global->offset, rule, severity, "a global has type %s: %s", type, why);
    else
        bc_wrong_at(v, TV_NO_OFFSET, rule, severity, "type %u of the type table, which nothing uses, is %s: %s",
                    use->index, type, why);
    return false;
}

static bool is_power_of_two(int64_t n)
{
    return n > 0 && (n & (n - 1)) == 0;
}

static bool is_number(const bc_type *t)
{
    return bc_kind_in((bc_kind)t->kind, BC_SET_NUMBER);
}

/* Sizes of a tile, or of the tile that a view yields. */
static bool check_tile_shape(const type_use *use, const bc_type *t, bc_rule size_rule, bc_rule count_rule)
{
    int64_t elements = 1;
    for (uint32_t d = 0; d < t->rank; d++) {
        int64_t size = t->shape[d];
        if (!is_power_of_two(size))
            return type_wrong(use, size_rule, "dimension %u is %lld; sizes of a tile are powers of two", d,
                              (long long)size);
        if (size > MAX_TILE_ELEMENTS / elements)
            return type_wrong(use, count_rule, "a tile has at most %d elements", MAX_TILE_ELEMENTS);
        elements *= size;
    }
    return true;
}

/* Two f4E2M1FN share a byte. Sizes are powers of two here, so one above 1 is even. */
static bool check_f4_shape(const type_use *use, const bc_type *elem, const bc_type *t, bc_rule rule)
{
    if (elem->kind != BC_F4E2M1FN)
        return true;
    for (uint32_t d = 0; d < t->rank; d++)
        if (t->shape[d] > 1)
            return true;
    return type_wrong(use, rule,
                      "a tile of f4E2M1FN needs a dimension of even size, because two elements share a byte");
}

static bool check_rank(const type_use *use, const bc_type *t)
{
    return t->rank <= BC_MAX_RANK
           || type_wrong(use, BC_RULE_T_11, "it has %u dimensions; at most %d are supported", t->rank, BC_MAX_RANK);
}

/* Attributes of ptr and tensor_view: there from 13.4 on, unicast and multicast from 13.5 on. */
static bool check_ptr_attr(const type_use *use, const bc_type *t)
{
    const bc_enum_value *value = bc_enum_find(BC_ENUM_PtrAttr, t->ptr_attr);
    if (t->ptr_attr == BC_NO_PTR_ATTR || !value || value->since <= use->v->m->version)
        return true;
    return type_wrong(use, BC_RULE_F_042, "pointer attribute '%s' needs version 13.%d; the module is 13.%d",
                      value->text, value->since, use->v->m->version);
}

static bool check_ptr(const type_use *use, const bc_type *t)
{
    if (!is_number(t->elem))
        return type_wrong(use, BC_RULE_T_01, "a pointer points to a number, not to %s", bc_type_words(use->v, t->elem));
    return check_ptr_attr(use, t);
}

/* An address cannot name one of the two f4E2M1FN in a byte. Compilers from 13.5 on refuse this in files of any version.
 */
static bool check_f4_pointers(const type_use *use, const bc_type *t)
{
    if (t->elem->kind != BC_PTR || t->elem->elem->kind != BC_F4E2M1FN || t->rank == 0)
        return true;
    return type_wrong(use, BC_RULE_T_12, "pointers to f4E2M1FN come as scalars only");
}

static bool check_tile(const type_use *use, const bc_type *t)
{
    if (!bc_kind_in((bc_kind)t->elem->kind, BC_SET_NUMBER | BC_SET(I4) | BC_SET(PTR)))
        return type_wrong(use, BC_RULE_T_02, "an element of a tile is a number or a pointer, not %s",
                          bc_type_words(use->v, t->elem));
    return check_rank(use, t) && check_tile_shape(use, t, BC_RULE_T_03, BC_RULE_T_03)
           && check_f4_shape(use, t->elem, t, BC_RULE_T_04) && check_f4_pointers(use, t);
}

static bool check_tensor_view(const type_use *use, const bc_type *t)
{
    if (!is_number(t->elem))
        return type_wrong(use, BC_RULE_V_TV_01, "an element of a tensor_view is a number, not %s",
                          bc_type_words(use->v, t->elem));
    if (t->rank != t->result_count)
        return type_wrong(use, BC_RULE_V_TV_02, "it has %u size%s, but %u stride%s", t->rank, bc_plural(t->rank),
                          t->result_count, bc_plural(t->result_count));
    if (!check_rank(use, t))
        return false;
    for (uint32_t d = 0; d < t->rank; d++) {
        if (t->shape[d] <= 0 && t->shape[d] != BC_DYNAMIC)
            return type_wrong(use, BC_RULE_V_TV_03, "size %u is %lld; a size is positive or dynamic", d,
                              (long long)t->shape[d]);
        if (t->strides[d] <= 0 && t->strides[d] != BC_DYNAMIC)
            return type_wrong(use, BC_RULE_V_TV_04, "stride %u is %lld; a stride is positive or dynamic", d,
                              (long long)t->strides[d]);
    }
    return check_ptr_attr(use, t);
}

static bool check_dim_map(const type_use *use, const bc_type *t)
{
    if (t->result_count != t->rank)
        return type_wrong(use, BC_RULE_V_VIEW_05, "dim_map has %u %s; the tile has %u dimension%s", t->result_count,
                          t->result_count == 1 ? "entry" : "entries", t->rank, bc_plural(t->rank));
    uint64_t seen = 0;
    for (uint32_t d = 0; d < t->rank; d++) {
        int64_t to = t->dim_map[d];
        if (to < 0 || to >= t->elem->rank)
            return type_wrong(use, BC_RULE_V_VIEW_06, "entry %u of dim_map is %lld; the tensor_view has %u dimension%s",
                              d, (long long)to, t->elem->rank, bc_plural(t->elem->rank));
        if (seen >> to & 1)
            return type_wrong(use, BC_RULE_V_VIEW_07, "dim_map names dimension %lld twice", (long long)to);
        seen |= UINT64_C(1) << to;
    }
    return true;
}

static bool check_traversal(const type_use *use, const bc_type *t)
{
    if (t->stride_count != t->rank)
        return type_wrong(use, BC_RULE_V_VIEW_08, "it has %u traversal stride%s; the tile has %u dimension%s",
                          t->stride_count, bc_plural(t->stride_count), t->rank, bc_plural(t->rank));
    for (uint32_t d = 0; d < t->rank; d++)
        if (t->strides[d] <= 0)
            return type_wrong(use, BC_RULE_V_VIEW_09, "traversal stride %u is %lld; it must be positive", d,
                              (long long)t->strides[d]);
    return true;
}

static bool check_padding(const type_use *use, const bc_type *t)
{
    const bc_type *elem = t->elem->elem;
    if (t->padding == BC_NO_PADDING || t->padding == BC_PaddingValue_zero
        || bc_kind_in((bc_kind)elem->kind, BC_SET_FLOAT))
        return true;
    return type_wrong(use, BC_RULE_V_VIEW_11, "padding '%s' needs float elements; these are %s",
                      bc_enum_text(BC_ENUM_PaddingValue, t->padding), bc_type_words(use->v, elem));
}

static bool check_tile_view(const type_use *use, const bc_type *t)
{
    if (t->rank == 0)
        return type_wrong(use, BC_RULE_V_VIEW_01, "the tile of a view has at least one dimension");
    if (t->rank != t->elem->rank)
        return type_wrong(use, BC_RULE_V_VIEW_02, "the tile has %u dimension%s, the tensor_view %u", t->rank,
                          bc_plural(t->rank), t->elem->rank);
    if (!check_tile_shape(use, t, BC_RULE_V_VIEW_03, BC_RULE_V_VIEW_04)
        || !check_f4_shape(use, t->elem->elem, t, BC_RULE_V_VIEW_04))
        return false;
    if (t->kind == BC_GATHER_SCATTER_VIEW) {
        if (t->sparse_dim >= t->rank)
            return type_wrong(use, BC_RULE_V_VIEW_10, "sparse_dim is %u; the view has %u dimension%s", t->sparse_dim,
                              t->rank, bc_plural(t->rank));
    } else if (!check_dim_map(use, t)) {
        return false;
    }
    return (t->kind != BC_STRIDED_VIEW || check_traversal(use, t)) && check_padding(use, t);
}

static bool check(const type_use *use, const bc_type *t);

/* The type itself, its members being fine. */
static bool check_kind(const type_use *use, const bc_type *t)
{
    const bc_kind_info *info = &bc_kinds[t->kind];
    if (info->since > use->v->m->version)
        return type_wrong(use, BC_RULE_F_037, "%s needs version 13.%d; the module is 13.%d", info->text, info->since,
                          use->v->m->version);
    switch ((bc_kind)t->kind) {
    case BC_PTR: return check_ptr(use, t);
    case BC_TILE: return check_tile(use, t);
    case BC_TENSOR_VIEW: return check_tensor_view(use, t);
    case BC_PARTITION_VIEW:
    case BC_STRIDED_VIEW:
    case BC_GATHER_SCATTER_VIEW: return check_tile_view(use, t);
    default: return true; /* numbers, token; the members of a function type are checked where it is a signature */
    }
}

static bool check(const type_use *use, const bc_type *t)
{
    uint8_t *state = &use->v->type_state[t->index];
    if (*state == BC_TYPE_UNKNOWN)
        *state = (!t->elem || check(use, t->elem)) && check_kind(use, t) ? BC_TYPE_FINE : BC_TYPE_WRONG;
    return *state == BC_TYPE_FINE;
}

/* Apart from its caller, which would pay for the struct on the stack in each of its calls. */
static TV_NOINLINE bool check_first_use(bc_verifier *v, const bc_op *op, int row, unsigned index, const bc_type *type)
{
    type_use use = {.v = v, .op = op, .row = row, .index = index, .used = type};
    return check(&use, type);
}

bool bc_check_type(bc_verifier *v, const bc_op *op, int row, unsigned index, const bc_type *type)
{
    return TV_LIKELY(v->type_state[type->index] == BC_TYPE_FINE) || check_first_use(v, op, row, index, type);
}

bool bc_check_global_type(bc_verifier *v, const bc_global *global)
{
    type_use use = {.v = v, .row = BC_NO_ROW, .global = global, .used = global->type};
    return check(&use, global->type);
}

void bc_check_unused_types(bc_verifier *v)
{
    for (size_t i = 0; i < v->m->type_count && !v->done; i++) {
        type_use use = {.v = v, .row = BC_NO_ROW, .index = (unsigned)i, .used = v->m->types[i]};
        check(&use, v->m->types[i]);
    }
}
