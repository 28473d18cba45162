/* Decoder of mangled symbols: recursive descent over

     symbol := function "_K" convention { "_" param }         split at the last "_K"
     param  := "A" ndim dtype { "_" mask predicates } [ "_" extras ]    array
             | "L" { "g" hex } [ "i" ] array                            list
             | "S" dtype                                                scalar
             | "T" count { param }                                      tuple, from t2 on
             | "B" 0|1  |  "I" int  |  "F" 16 hex digits                constants
             | "D" string string count { param } | "P" dtype | "M" | "R"        from t3 on
             | "Cn_" | "Cs_" string | "Ce_" string string string | "Cd_" dtype

   Bounds: the symbol's length, TV_MAX_RANK axes, BC_MAX_TUPLE_DEPTH levels. Memory grows with what was read, never
   with a count that was promised. Alias group ids may come in any order: the reference decoder insists on one that
   its own encoder does not always keep. */
#include "bytecode/symbol/mangle.h"

#include <stdlib.h>
#include <string.h>

#include "bytecode/symbol/parser.h"

static bool parse_param(bc_symbol_parser *p, tv_param *out);

/* ---- arrays ---- */

typedef struct predicates { /* of one mask group */
    size_t offset;
    uint32_t mask;
    bool has_extent, has_stride, has_stride_min;
    int64_t extent, stride, stride_min, extent_multiple, stride_multiple;
} predicates;

static bool parse_mask(bc_symbol_parser *p, uint32_t ndim, uint32_t *out)
{
    size_t start = p->at;
    uint64_t mask = 0;
    for (; bc_symbol_hex_value(bc_symbol_peek(p)) >= 0; p->at++) {
        mask = mask << 4 | (uint64_t)bc_symbol_hex_value(bc_symbol_peek(p));
        if (mask >> ndim)
            return bc_symbol_fail(p, start, "the axis mask names an axis that an array of rank %u does not have", ndim);
    }
    *out = (uint32_t)mask;
    return mask || bc_symbol_fail(p, start, "the axis mask is zero");
}

static bool parse_predicates(bc_symbol_parser *p, predicates *g)
{
    if (bc_symbol_take(p, 's')) {
        size_t start = p->at;
        if (p->convention < 2)
            return bc_symbol_fail(p, start - 1, "constant extents need cutile_python_v2");
        g->has_extent = true;
        if (!bc_symbol_int64(p, &g->extent))
            return false;
        if (g->extent < 0)
            return bc_symbol_fail(p, start, "an extent cannot be negative");
    }
    if (bc_symbol_take(p, 'i') && !bc_symbol_divisor(p, &g->extent_multiple))
        return false;
    if (bc_symbol_take(p, 't')) {
        g->has_stride = true;
        if (!bc_symbol_int64(p, &g->stride))
            return false;
    }
    if (bc_symbol_take(p, 'v') && !bc_symbol_divisor(p, &g->stride_multiple))
        return false;
    if (bc_symbol_take(p, 'l')) {
        g->has_stride_min = true;
        return bc_symbol_int64(p, &g->stride_min);
    }
    return true;
}

/* Adds the predicates of a group to one of its axes; false when one of them is there already. */
static bool merge_axis(tv_axis *axis, const predicates *g)
{
    if ((g->has_extent && axis->has_extent) || (g->has_stride && axis->has_stride)
        || (g->has_stride_min && axis->has_stride_min) || (g->extent_multiple && axis->extent_multiple != 1)
        || (g->stride_multiple && axis->stride_multiple != 1))
        return false;
    if (g->has_extent) {
        axis->has_extent = true;
        axis->extent = g->extent;
    }
    if (g->has_stride) {
        axis->has_stride = true;
        axis->stride = g->stride;
    }
    if (g->has_stride_min) {
        axis->has_stride_min = true;
        axis->stride_min = g->stride_min;
    }
    if (g->extent_multiple)
        axis->extent_multiple = g->extent_multiple;
    if (g->stride_multiple)
        axis->stride_multiple = g->stride_multiple;
    return true;
}

static bool check_axes(bc_symbol_parser *p, size_t start, const tv_param *array, const tv_axis *axes)
{
    for (uint32_t i = 0; i < array->ndim; i++) {
        const tv_axis *a = &axes[i];
        if (a->has_stride && (a->stride_multiple != 1 || a->has_stride_min))
            return bc_symbol_fail(p, start, "axis %u has a constant stride and another promise about it", i);
        if (a->has_extent && a->extent % a->extent_multiple != 0)
            return bc_symbol_fail(p, start, "the constant extent of axis %u is not a multiple of its divisor", i);
    }
    return true;
}

static bool parse_axes(bc_symbol_parser *p, size_t start, tv_param *array)
{
    tv_axis *axes = bc_new(p->arena, tv_axis, array->ndim);
    if (!axes)
        return false;
    for (uint32_t i = 0; i < array->ndim; i++)
        axes[i].extent_multiple = axes[i].stride_multiple = 1;
    while (bc_symbol_peek(p) == '_' && bc_symbol_hex_value(bc_symbol_second(p)) >= 0) {
        predicates g = {.offset = ++p->at};
        if (!parse_mask(p, array->ndim, &g.mask) || !parse_predicates(p, &g))
            return false;
        for (uint32_t i = 0; i < array->ndim; i++)
            if ((g.mask >> i & 1) && !merge_axis(&axes[i], &g))
                return bc_symbol_fail(p, g.offset, "the promise about axis %u is given twice", i);
    }
    array->axes = axes;
    return check_axes(p, start, array, axes);
}

/* { "g" hex }, strictly increasing. */
static bool parse_groups(bc_symbol_parser *p, tv_param *out)
{
    size_t capacity = 0, count = 0;
    uint32_t *groups = NULL;
    while (bc_symbol_peek(p) == 'g') {
        size_t start = ++p->at;
        uint64_t id = 0;
        for (; bc_symbol_hex_value(bc_symbol_peek(p)) >= 0 && p->at - start < 9; p->at++)
            id = id << 4 | (uint64_t)bc_symbol_hex_value(bc_symbol_peek(p));
        if (p->at == start || p->at - start > 8)
            return bc_symbol_fail(p, start, "an alias group has one to eight hexadecimal digits");
        if (p->at - start > 1 && p->s.ptr[start] == '0')
            return bc_symbol_fail(p, start, "an alias group begins with a zero");
        if (count && id <= groups[count - 1])
            return bc_symbol_fail(p, start, "alias groups are not in increasing order");
        groups = bc_grow(p->arena, groups, count, &capacity, uint32_t);
        if (!groups)
            return false;
        groups[count++] = (uint32_t)id;
    }
    out->groups = groups;
    out->group_count = count;
    return true;
}

static bool parse_extras(bc_symbol_parser *p, tv_param *array)
{
    if (bc_symbol_peek(p) != '_' || !bc_symbol_lower(bc_symbol_second(p)))
        return true;
    size_t start = ++p->at;
    if (bc_symbol_take(p, 'p') && !bc_symbol_divisor(p, &array->base_multiple))
        return false;
    if (!parse_groups(p, array))
        return false;
    array->overlaps = bc_symbol_take(p, 'i');
    if (bc_symbol_take(p, 'u'))
        array->index_dtype = TV_U32;
    else if (bc_symbol_take(p, 'w'))
        array->index_dtype = TV_I64;
    return p->at > start || bc_symbol_fail(p, start, "unknown promise '%c'", bc_symbol_peek(p));
}

/* After 'A'. */
static bool parse_array(bc_symbol_parser *p, tv_param *out)
{
    size_t start = p->at - 1;
    out->kind = TV_PARAM_ARRAY;
    out->index_dtype = TV_I32;
    out->base_multiple = 1;
    return bc_symbol_count(p, "number of dimensions", TV_MAX_RANK, &out->ndim) && bc_symbol_dtype(p, &out->dtype)
           && parse_axes(p, start, out) && parse_extras(p, out);
}

/* After 'L'. */
static bool parse_list(bc_symbol_parser *p, tv_param *out)
{
    if (!parse_groups(p, out))
        return false;
    out->overlaps = bc_symbol_take(p, 'i');
    if (!bc_symbol_take(p, 'A'))
        return bc_symbol_fail(p, p->at, "a list holds arrays");
    tv_param *element = bc_new(p->arena, tv_param, 1);
    if (!element || !parse_array(p, element))
        return false;
    out->kind = TV_PARAM_LIST;
    out->items = element;
    out->item_count = 1;
    out->dtype = element->dtype;
    out->ndim = element->ndim;
    return true;
}

/* ---- tuples, parameters ---- */

/* A count, then that many parameters. */
static bool parse_items(bc_symbol_parser *p, tv_param *out)
{
    uint32_t count;
    size_t capacity = 0, start = p->at;
    tv_param *items = NULL;
    if (!bc_symbol_count(p, "number of items", BC_MAX_SYMBOL, &count))
        return false;
    if (p->depth == BC_MAX_TUPLE_DEPTH)
        return bc_symbol_fail(p, start - 1, "tuples are nested deeper than %d", BC_MAX_TUPLE_DEPTH);
    p->depth++;
    for (uint32_t i = 0; i < count; i++) {
        items = bc_grow(p->arena, items, i, &capacity, tv_param);
        if (!items)
            return false;
        items[i] = (tv_param){0};
        if (!parse_param(p, &items[i]))
            return false;
    }
    p->depth--;
    out->items = items;
    out->item_count = count;
    return true;
}

static bool parse_tuple(bc_symbol_parser *p, tv_param *out)
{
    if (p->convention < 2)
        return bc_symbol_fail(p, p->at - 1, "tuples need cutile_python_v2");
    out->kind = TV_PARAM_TUPLE;
    return parse_items(p, out);
}

/* Letters that came with convention 3. */
static bool parse_v3_param(bc_symbol_parser *p, char letter, tv_param *out)
{
    switch (letter) {
    case 'C': out->kind = TV_PARAM_CONSTANT; return bc_symbol_v3_constant(p, &out->constant);
    case 'D': out->kind = TV_PARAM_STRUCT; return bc_symbol_names(p, 2, &out->type_name) && parse_items(p, out);
    case 'P': out->kind = TV_PARAM_POINTER; return bc_symbol_dtype(p, &out->dtype);
    case 'M': out->kind = TV_PARAM_TENSOR_MAP; return true;
    default: out->kind = TV_PARAM_STREAM; return true;
    }
}

static bool parse_param(bc_symbol_parser *p, tv_param *out)
{
    char letter = bc_symbol_peek(p);
    if (letter < 'A' || letter > 'Z')
        return bc_symbol_fail(p, p->at, "a parameter begins with a capital letter");
    p->at++;
    switch (letter) {
    case 'A': return parse_array(p, out);
    case 'L': return parse_list(p, out);
    case 'S': out->kind = TV_PARAM_SCALAR; return bc_symbol_dtype(p, &out->dtype);
    case 'T': return parse_tuple(p, out);
    case 'B': out->kind = TV_PARAM_CONSTANT; return bc_symbol_bool_constant(p, &out->constant);
    case 'I': out->kind = TV_PARAM_CONSTANT; return bc_symbol_int_constant(p, &out->constant);
    case 'F': out->kind = TV_PARAM_CONSTANT; return bc_symbol_float_constant(p, &out->constant);
    default: break;
    }
    if (strchr("CDPMR", letter) && p->convention >= 3)
        return parse_v3_param(p, letter, out);
    return bc_symbol_fail(p, p->at - 1, "parameters of kind '%c' are not known in cutile_python_v%u", letter,
                          p->convention);
}

/* ---- alias groups over the whole signature ---- */

typedef struct group_use {
    uint32_t id;
    bool list;
} group_use;

typedef struct group_uses {
    group_use *uses;
    size_t count, capacity;
} group_uses;

static bool collect_groups(bc_arena *arena, const tv_param *params, size_t count, group_uses *all)
{
    for (size_t i = 0; i < count; i++) {
        for (size_t k = 0; k < params[i].group_count; k++) {
            all->uses = bc_grow(arena, all->uses, all->count, &all->capacity, group_use);
            if (!all->uses)
                return false;
            all->uses[all->count++] = (group_use){params[i].groups[k], params[i].kind == TV_PARAM_LIST};
        }
        if (!collect_groups(arena, params[i].items, params[i].item_count, all))
            return false;
    }
    return true;
}

static int by_id(const void *a, const void *b)
{
    uint32_t x = ((const group_use *)a)->id, y = ((const group_use *)b)->id;
    return (x > y) - (x < y);
}

/* A group has at least two members, all arrays or all lists. */
static bool check_groups(bc_symbol_parser *p, const bc_symbol *symbol)
{
    group_uses all = {0};
    if (!collect_groups(p->arena, symbol->params, symbol->param_count, &all))
        return false;
    if (all.count)
        qsort(all.uses, all.count, sizeof all.uses[0], by_id);
    for (size_t i = 0; i < all.count; i++) {
        bool before = i > 0 && all.uses[i - 1].id == all.uses[i].id;
        bool after = i + 1 < all.count && all.uses[i + 1].id == all.uses[i].id;
        if (!before && !after)
            return bc_symbol_fail(p, symbol->function.len, "alias group %x has one member only", all.uses[i].id);
        if (before && all.uses[i - 1].list != all.uses[i].list)
            return bc_symbol_fail(p, symbol->function.len, "alias group %x has an array and the storage of a list",
                                  all.uses[i].id);
    }
    return true;
}

/* ---- symbols ---- */

bool bc_symbol_split(tv_str symbol, tv_str *out_function, tv_str *out_mangled)
{
    for (size_t i = symbol.len; i-- > 1;) {
        if (symbol.ptr[i] != 'K' || symbol.ptr[i - 1] != '_')
            continue;
        if (i + 2 >= symbol.len || symbol.ptr[i + 1] != 't' || !bc_symbol_digit(symbol.ptr[i + 2]))
            return false;
        *out_function = (tv_str){symbol.ptr, i - 1};
        *out_mangled = (tv_str){symbol.ptr + i + 1, symbol.len - i - 1};
        return true;
    }
    return false;
}

static bool parse_convention(bc_symbol_parser *p)
{
    size_t start = p->at++;
    while (p->at < p->s.len && bc_symbol_peek(p) != '_')
        p->at++;
    if (p->at - start != 2 || p->s.ptr[start + 1] < '1' || p->s.ptr[start + 1] > '3')
        return bc_symbol_fail(p, start, "unknown calling convention; known are t1, t2 and t3");
    p->convention = (unsigned)(p->s.ptr[start + 1] - '0');
    return true;
}

static bool parse_params(bc_symbol_parser *p, bc_symbol *out)
{
    size_t capacity = 0;
    while (p->at < p->s.len) {
        if (!bc_symbol_take(p, '_'))
            return bc_symbol_fail(p, p->at, "'%c' does not belong here",
                                  bc_symbol_peek(p) >= ' ' && bc_symbol_peek(p) < 127 ? bc_symbol_peek(p) : '?');
        out->params = bc_grow(p->arena, out->params, out->param_count, &capacity, tv_param);
        if (!out->params)
            return false;
        out->params[out->param_count] = (tv_param){0};
        if (!parse_param(p, &out->params[out->param_count]))
            return false;
        out->param_count++;
    }
    return true;
}

bool bc_symbol_parse(bc_arena *arena, tv_str symbol, bc_symbol *out, bc_symbol_error *error)
{
    bc_symbol result = {0};
    tv_str mangled;
    bc_symbol_parser p = {.arena = arena, .s = symbol, .error = error};
    *error = (bc_symbol_error){0};
    if (symbol.len > BC_MAX_SYMBOL)
        return bc_symbol_fail(&p, 0, "longer than %d bytes", BC_MAX_SYMBOL);
    if (!bc_symbol_split(symbol, &result.function, &mangled))
        return bc_symbol_fail(&p, 0, "not mangled: it contains nothing like _Kt1");
    p.at = symbol.len - mangled.len;
    if (!parse_convention(&p) || !parse_params(&p, &result) || !check_groups(&p, &result))
        return false;
    result.convention = p.convention;
    *out = result;
    return true;
}
