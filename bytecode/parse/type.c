/* Types: tile<4x8xf32>, with or without !cuda_tile. before them. A size list such as 4x8xf32 is read by the character,
   since x8xf32 would be a word. */
#include "bytecode/parse/parse.h"

/* Sizes of a type in the making, on the stack of the parser. */
typedef struct dims {
    size_t first;
    uint32_t count;
} dims;

static dims start_dims(const bc_parser *p)
{
    return (dims){.first = p->size_count};
}

static const int64_t *dims_of(const bc_parser *p, const dims *d)
{
    static const int64_t none[1];
    return d->count ? &p->sizes[d->first] : none;
}

/* One number of a size list at *at; false: there is none there, or it is too large (*out_bad). */
static bool scan_size(const bc_parser *p, const char **at, int64_t *out, bool *out_bad)
{
    const char *c = *at;
    if (c < p->end && *c == '?') {
        *out = BC_DYNAMIC;
        *at = c + 1;
        return true;
    }
    bool negative = c < p->end && *c == '-';
    c += negative;
    const char *digits = c;
    uint64_t value = 0;
    for (; c < p->end && *c >= '0' && *c <= '9'; c++) {
        uint64_t digit = (uint64_t)(*c - '0');
        *out_bad |= value > ((uint64_t)INT64_MAX - digit) / 10;
        value = *out_bad ? 0 : value * 10 + digit;
    }
    *out = negative ? -(int64_t)value : (int64_t)value;
    if (c == digits)
        return false;
    *at = c;
    return true;
}

/* 4x8x?x: sizes, each followed by an x; trailing: the last has none (and stands alone in parentheses). */
static bool parse_dims(bc_parser *p, bool last_has_x, dims *d)
{
    *d = start_dims(p);
    const char *at = p->tok.ptr;
    bc_token whole = p->tok;
    bool bad = false;
    int64_t size;
    while (scan_size(p, &at, &size, &bad)) {
        whole.len = (size_t)(at - whole.ptr);
        if (bad)
            return bc_parse_fail(p, BC_RULE_A_010, &whole, "a size that does not fit 64 bits");
        if (!bc_push_size(p, size))
            return false;
        d->count++;
        if (at < p->end && *at == 'x')
            at++;
        else if (!last_has_x)
            break;
        else
            return bc_parse_fail(p, BC_RULE_A_001, &whole,
                                 "a size list continues with 'x' and the element type: 4x8xf32");
    }
    bc_go_to(p, at);
    return true;
}

/* [1,?,2] */
static bool parse_strides(bc_parser *p, bool dynamic, int64_t min, int64_t max, const char *what, dims *d)
{
    *d = start_dims(p);
    if (!bc_expect_punct(p, '['))
        return false;
    while (!bc_is_punct(p, ']')) {
        int64_t stride = BC_DYNAMIC;
        if (!(dynamic && bc_take_punct(p, '?')) && !bc_parse_range(p, what, min, max, &stride))
            return false;
        if (!bc_push_size(p, stride))
            return false;
        d->count++;
        if (!bc_take_punct(p, ','))
            break;
    }
    return bc_expect_punct(p, ']');
}

bool bc_parse_add_type(bc_parser *p, const bc_token *at, const bc_type *proto, const bc_type **out)
{
    const char *problem = bc_type_problem(proto);
    if (problem)
        return bc_parse_fail(p, BC_RULE_A_012, at, "%s", problem);
    *out = bc_type_add(p->m, proto);
    return *out || bc_parse_no_memory(p);
}

static bool parse_ptr_attr(bc_parser *p, bc_type *t)
{
    uint64_t value;
    bool bare = bc_take_punct(p, '<'); /* without #cuda_tile.ptr_attr before it */
    if (!bc_parse_enum(p, BC_ENUM_PtrAttr, &value) || (bare && !bc_expect_punct(p, '>')))
        return false;
    t->ptr_attr = (uint8_t)value;
    return true;
}

static bool parse_ptr(bc_parser *p, bc_type *t)
{
    return bc_parse_type(p, &t->elem) && (!bc_take_punct(p, ',') || parse_ptr_attr(p, t));
}

static bool parse_tile(bc_parser *p, bc_type *t)
{
    dims shape;
    if (!parse_dims(p, true, &shape) || !bc_parse_type(p, &t->elem))
        return false;
    t->rank = shape.count;
    t->shape = dims_of(p, &shape);
    return true;
}

static bool parse_tensor_view(bc_parser *p, bc_type *t)
{
    dims shape, strides = {0};
    if (!parse_dims(p, true, &shape) || !bc_parse_type(p, &t->elem))
        return false;
    while (bc_take_punct(p, ',')) {
        if (bc_take_word(p, "strides")) {
            if (!bc_expect_punct(p, '=') || !parse_strides(p, true, INT64_MIN, INT64_MAX, "the stride", &strides))
                return false;
        } else if (!parse_ptr_attr(p, t)) {
            return false;
        }
    }
    t->rank = shape.count;
    t->result_count = strides.count;
    t->shape = dims_of(p, &shape); /* only now: the stack moves as it grows */
    t->strides = dims_of(p, &strides);
    return true;
}

static bool parse_padding(bc_parser *p, bc_type *t)
{
    uint64_t value;
    if (!bc_take_word(p, "padding_value"))
        return true;
    if (!bc_expect_punct(p, '=') || !bc_parse_enum(p, BC_ENUM_PaddingValue, &value) || !bc_expect_punct(p, ','))
        return false;
    t->padding = (uint8_t)value;
    return true;
}

static bool parse_view_base(bc_parser *p, bc_type *t)
{
    bc_token at = p->tok;
    if (!bc_parse_type(p, &t->elem))
        return false;
    if (t->elem->kind != BC_TENSOR_VIEW)
        return bc_parse_fail(p, BC_RULE_A_013, &at, "a %s is made over a tensor_view, not over a %s",
                             bc_kinds[t->kind].text, bc_kinds[t->elem->kind].text);
    return true;
}

static bool parse_dim_map(bc_parser *p, const dims *tile, dims *map)
{
    if (bc_take_punct(p, ','))
        return bc_expect_word(p, "dim_map") && bc_expect_punct(p, '=')
               && parse_strides(p, false, INT32_MIN, INT32_MAX, "the dimension", map);
    *map = start_dims(p);
    for (; map->count < tile->count; map->count++)
        if (!bc_push_size(p, map->count))
            return false;
    return true;
}

static bool check_tile_sizes(bc_parser *p, const bc_token *at, const dims *tile)
{
    for (uint32_t i = 0; i < tile->count; i++)
        if (p->sizes[tile->first + i] < INT32_MIN || p->sizes[tile->first + i] > INT32_MAX)
            return bc_parse_fail(p, BC_RULE_A_010, at, "sizes of the tiles of a view have 32 bits");
    return true;
}

static bool parse_view(bc_parser *p, bc_type *t)
{
    dims tile, strides = {0}, map = {0};
    if (!bc_expect_word(p, "tile") || !bc_expect_punct(p, '=') || !bc_is_punct(p, '('))
        return bc_expected(p, "'tile=(' and the sizes of the tiles");
    bc_token at = p->tok;
    bc_next(p);
    if (!parse_dims(p, false, &tile) || !check_tile_sizes(p, &at, &tile) || !bc_expect_punct(p, ')')
        || !bc_expect_punct(p, ','))
        return false;
    if (t->kind == BC_STRIDED_VIEW
        && (!bc_expect_word(p, "traversal_strides") || !bc_expect_punct(p, '=')
            || !parse_strides(p, false, INT32_MIN, INT32_MAX, "the stride", &strides) || !bc_expect_punct(p, ',')))
        return false;
    if (!parse_padding(p, t) || !parse_view_base(p, t))
        return false;
    if (t->kind == BC_GATHER_SCATTER_VIEW) {
        int64_t dim;
        if (!bc_expect_punct(p, ',') || !bc_expect_word(p, "sparse_dim") || !bc_expect_punct(p, '=')
            || !bc_parse_range(p, "sparse_dim", 0, UINT32_MAX, &dim))
            return false;
        t->sparse_dim = (uint32_t)dim;
    } else if (!parse_dim_map(p, &tile, &map)) {
        return false;
    }
    t->rank = tile.count;
    t->shape = dims_of(p, &tile);
    t->stride_count = strides.count;
    t->strides = t->kind == BC_STRIDED_VIEW ? dims_of(p, &strides) : NULL;
    t->result_count = map.count;
    t->dim_map = t->kind == BC_GATHER_SCATTER_VIEW ? NULL : dims_of(p, &map);
    return true;
}

static bool parse_payload(bc_parser *p, bc_type *t)
{
    switch ((bc_kind)t->kind) {
    case BC_PTR: return parse_ptr(p, t);
    case BC_TILE: return parse_tile(p, t);
    case BC_TENSOR_VIEW: return parse_tensor_view(p, t);
    default: return parse_view(p, t);
    }
}

/* Types in parentheses, onto the stack of types. */
static bool parse_type_list(bc_parser *p, uint32_t *out_count)
{
    *out_count = 0;
    return bc_expect_punct(p, '(') && (bc_is_punct(p, ')') || bc_parse_types(p, out_count)) && bc_expect_punct(p, ')');
}

static bool parse_function(bc_parser *p, const bc_type **out)
{
    size_t base = p->type_count;
    bc_token at = p->tok;
    bc_type t = {.kind = BC_FUNCTION, .padding = BC_NO_PADDING, .ptr_attr = BC_NO_PTR_ATTR};
    if (!parse_type_list(p, &t.rank) || !bc_expect_arrow(p))
        return false;
    if (bc_is_punct(p, '(')) {
        if (!parse_type_list(p, &t.result_count))
            return false;
    } else {
        const bc_type *single;
        if (!bc_parse_type(p, &single) || !bc_push_type(p, single))
            return false;
        t.result_count = 1;
    }
    static const bc_type *const none[1];
    t.members = p->type_count > base ? &p->types[base] : none;
    if (!bc_parse_add_type(p, &at, &t, out))
        return false;
    p->type_count = base;
    return true;
}

static bool parse_type_alias(bc_parser *p, const bc_type **out)
{
    bool failed = false;
    bc_token at = p->tok;
    const bc_alias *alias = bc_alias_get(p, &at, &failed);
    if (failed)
        return false;
    if (!alias)
        return bc_parse_fail(p, BC_RULE_A_011, &at, "there is no type alias '!%.*s'", BC_STR(at.name));
    *out = alias->type;
    bc_next(p);
    return true;
}

static bool find_kind(tv_str word, bc_kind *out)
{
    for (unsigned kind = 0; kind < BC_KIND_COUNT; kind++) {
        if (kind != BC_FUNCTION && bc_str_is(word, bc_kinds[kind].text)) {
            *out = (bc_kind)kind;
            return true;
        }
    }
    return false;
}

static bool parse_named(bc_parser *p, const bc_type **out)
{
    bc_kind kind;
    bc_token at = p->tok;
    bool dialect = p->tok.name.len > 10 && bc_without_prefix(p->tok.name).len < p->tok.name.len;
    if (p->tok.kind == BC_TOK_BANG && !dialect)
        return parse_type_alias(p, out);
    if (!find_kind(bc_without_prefix(p->tok.name), &kind))
        return bc_parse_fail(p, BC_RULE_A_004, &p->tok, "'%.*s' is not a type", BC_STR(p->tok.name));
    bc_next(p);
    bc_type t = {.kind = (uint8_t)kind, .padding = BC_NO_PADDING, .ptr_attr = BC_NO_PTR_ATTR};
    if (bc_kinds[kind].kind_class != BC_CLASS_COMPOSITE)
        return bc_parse_add_type(p, &at, &t, out);
    size_t sizes = p->size_count;
    if (!bc_is_punct(p, '<'))
        return bc_expected(p, "'<'");
    bc_next(p);
    if (!parse_payload(p, &t) || !bc_expect_punct(p, '>') || !bc_parse_add_type(p, &at, &t, out))
        return false;
    p->size_count = sizes;
    return true;
}

bool bc_at_type(const bc_parser *p)
{
    return p->tok.kind == BC_TOK_WORD || p->tok.kind == BC_TOK_BANG || bc_is_punct(p, '(');
}

bool bc_parse_type(bc_parser *p, const bc_type **out)
{
    if (!bc_at_type(p))
        return bc_expected(p, "a type");
    if (p->type_depth > BC_MAX_TYPE_DEPTH)
        return bc_parse_fail(p, BC_RULE_A_012, &p->tok, "types are nested deeper than %d", BC_MAX_TYPE_DEPTH);
    p->type_depth++;
    bool good = bc_is_punct(p, '(') ? parse_function(p, out) : parse_named(p, out);
    p->type_depth--;
    return good;
}

bool bc_parse_types(bc_parser *p, uint32_t *out_count)
{
    *out_count = 0;
    do {
        const bc_type *type;
        if (!bc_parse_type(p, &type) || !bc_push_type(p, type))
            return false;
        if (++*out_count > BC_MAX_OPERANDS)
            return bc_parse_fail(p, BC_RULE_A_014, &p->tok, "more than %d types", BC_MAX_OPERANDS);
    } while (bc_take_punct(p, ','));
    return true;
}
