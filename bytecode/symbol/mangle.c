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

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bytecode/base/compiler.h"
#include "bytecode/base/text.h"
#include "bytecode/dtype.h"

typedef struct parser {
    bc_arena *arena;
    tv_str s;
    size_t at;
    unsigned convention;
    unsigned depth;
    bc_symbol_error *error;
} parser;

static bool parse_param(parser *p, tv_param *out);

/* ---- characters ---- */

static bool fail_at(parser *p, size_t offset, const char *format, ...) TV_PRINTF(3, 4);

static bool fail_at(parser *p, size_t offset, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    p->error->offset = offset;
    vsnprintf(p->error->message, sizeof p->error->message, format, args);
    va_end(args);
    return false;
}

/* The next character; 0 at the end. */
static char peek(const parser *p)
{
    return p->at < p->s.len ? p->s.ptr[p->at] : 0;
}

static char peek_second(const parser *p)
{
    return p->at + 1 < p->s.len ? p->s.ptr[p->at + 1] : 0;
}

static bool take(parser *p, char c)
{
    if (peek(p) != c || !c)
        return false;
    p->at++;
    return true;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static int hex_value(char c)
{
    return is_digit(c) ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool is_lower(char c)
{
    return c >= 'a' && c <= 'z';
}

/* ---- numbers ---- */

/* Digits, with a sign if given. Values beyond 64 bits saturate and clear out_exact. */
static bool parse_int(parser *p, int64_t *out, bool *out_exact)
{
    bool negative = take(p, '_');
    if (!is_digit(peek(p)))
        return fail_at(p, p->at, "a decimal number is missing");
    uint64_t value = 0, limit = (uint64_t)INT64_MAX + negative;
    bool exact = true;
    for (; is_digit(peek(p)); p->at++) {
        unsigned digit = (unsigned)(peek(p) - '0');
        if (value > (limit - digit) / 10) {
            exact = false;
            value = limit;
        } else if (exact) {
            value = value * 10 + digit;
        }
    }
    *out = !negative ? (int64_t)value : value > INT64_MAX ? INT64_MIN : -(int64_t)value;
    *out_exact = exact;
    return true;
}

static bool parse_int64(parser *p, int64_t *out)
{
    size_t start = p->at;
    bool exact;
    if (!parse_int(p, out, &exact))
        return false;
    return exact || fail_at(p, start, "the number does not fit 64 bits");
}

static bool parse_divisor(parser *p, int64_t *out)
{
    size_t start = p->at;
    if (!parse_int64(p, out))
        return false;
    return *out > 1 || fail_at(p, start, "a divisor must be larger than 1");
}

/* Unsigned decimal with a limit. */
static bool parse_count(parser *p, const char *what, uint64_t limit, uint32_t *out)
{
    size_t start = p->at;
    if (!is_digit(peek(p)))
        return fail_at(p, start, "the %s is missing", what);
    uint64_t value = 0;
    for (; is_digit(peek(p)); p->at++) {
        value = value * 10 + (uint64_t)(peek(p) - '0');
        if (value > limit)
            return fail_at(p, start, "the %s is larger than %llu", what, (unsigned long long)limit);
    }
    *out = (uint32_t)value;
    return true;
}

/* Exactly count lower-case hexadecimal digits. */
static bool parse_hex(parser *p, unsigned count, uint64_t *out)
{
    uint64_t value = 0;
    for (unsigned i = 0; i < count; i++, p->at++) {
        int digit = hex_value(peek(p));
        if (digit < 0)
            return fail_at(p, p->at, "%u hexadecimal digits are missing", count - i);
        value = value << 4 | (uint64_t)digit;
    }
    *out = value;
    return true;
}

static bool parse_dtype(parser *p, tv_dtype *out)
{
    size_t start = p->at;
    while (is_digit(peek(p)) || is_lower(peek(p)))
        p->at++;
    tv_str code = {p->s.ptr + start, p->at - start};
    if (bc_dtype_from_code(code, out))
        return true;
    return fail_at(p, start, "'%.*s' is not an element type", code.len < 24 ? (int)code.len : 24, code.ptr);
}

/* ---- text of constants, as Python writes it ---- */

static bool keep(parser *p, const char *text, size_t len, tv_str *out)
{
    *out = bc_arena_dup(p->arena, (tv_str){text, len});
    return out->ptr != NULL;
}

/* Shortest digits that give the double back: 0.5, 100000.0, 1e+20. */
static size_t print_double(double x, char *out, size_t size)
{
    char digits[40], mantissa[20];
    if (isnan(x))
        return (size_t)snprintf(out, size, "nan");
    if (isinf(x))
        return (size_t)snprintf(out, size, x < 0 ? "-inf" : "inf");
    for (int precision = 0; precision < 17; precision++) {
        snprintf(digits, sizeof digits, "%.*e", precision, x);
        if (strtod(digits, NULL) == x)
            break;
    }
    /* Only the digits are taken, so that the decimal point of the locale does not matter. */
    int count = 0, exponent = (int)strtol(strchr(digits, 'e') + 1, NULL, 10);
    for (const char *d = digits; *d != 'e'; d++)
        if (is_digit(*d))
            mantissa[count++] = *d;
    mantissa[count] = 0;
    const char *sign = signbit(x) ? "-" : "";
    if (exponent < -4 || exponent >= 16)
        return (size_t)snprintf(out, size, "%s%c%s%se%c%02d", sign, mantissa[0], count > 1 ? "." : "", mantissa + 1,
                                exponent < 0 ? '-' : '+', abs(exponent));
    if (exponent < 0)
        return (size_t)snprintf(out, size, "%s0.%.*s%s", sign, -exponent - 1, "0000", mantissa);
    if (count > exponent + 1)
        return (size_t)snprintf(out, size, "%s%.*s.%s", sign, exponent + 1, mantissa, mantissa + exponent + 1);
    return (size_t)snprintf(out, size, "%s%s%.*s.0", sign, mantissa, exponent + 1 - count, "0000000000000000");
}

/* ---- constants ---- */

static bool parse_bool_constant(parser *p, tv_constant *c)
{
    char digit = peek(p);
    if (digit != '0' && digit != '1')
        return fail_at(p, p->at, "0 or 1 is missing");
    p->at++;
    c->kind = TV_CONSTANT_BOOL;
    c->integer = digit - '0';
    return keep(p, digit == '1' ? "True" : "False", digit == '1' ? 4 : 5, &c->text);
}

static bool parse_int_constant(parser *p, tv_constant *c)
{
    size_t start = p->at;
    bool exact;
    c->kind = TV_CONSTANT_INT;
    if (!parse_int(p, &c->integer, &exact))
        return false;
    tv_str spelled = {p->s.ptr + start, p->at - start};
    bool negative = spelled.ptr[0] == '_';
    while (spelled.len > 1 && (spelled.ptr[0] == '_' || spelled.ptr[0] == '0'))
        spelled.ptr++, spelled.len--;
    bc_text text;
    bc_text_init(&text, &p->arena->allocator);
    if (negative && !bc_str_is(spelled, "0"))
        bc_text_char(&text, '-');
    bc_text_str(&text, spelled);
    bool kept = !text.failed && keep(p, text.ptr, text.len, &c->text);
    p->arena->failed |= !kept;
    bc_text_release(&text);
    return kept;
}

static bool parse_float_constant(parser *p, tv_constant *c)
{
    uint64_t bits = 0;
    char text[48];
    if (!parse_hex(p, 16, &bits))
        return false;
    c->kind = TV_CONSTANT_FLOAT;
    memcpy(&c->number, &bits, sizeof bits);
    return keep(p, text, print_double(c->number, text, sizeof text), &c->text);
}

/* ---- strings (convention 3) ---- */

static void put_utf8(bc_text *text, uint32_t c)
{
    if (c < 0x80) {
        bc_text_char(text, (char)c);
        return;
    }
    static const unsigned char lead[] = {0, 0xc0, 0xe0, 0xf0};
    unsigned more = c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
    bc_text_char(text, (char)(c >> 6 * more | lead[more]));
    while (more-- > 0)
        bc_text_char(text, (char)((c >> 6 * more & 0x3f) | 0x80));
}

/* After '_': the rest of an escape. */
static bool parse_escape(parser *p, uint32_t *out)
{
    size_t start = p->at;
    uint64_t value = 0;
    unsigned digits = 2;
    if (take(p, '_')) {
        *out = '_';
        return true;
    }
    if (take(p, 'k')) {
        *out = 'K';
        return true;
    }
    if (take(p, 'u'))
        digits = 4;
    else if (take(p, 'w'))
        digits = 8;
    if (!parse_hex(p, digits, &value))
        return false;
    if (value > 0x10ffff || (value >= 0xd800 && value < 0xe000))
        return fail_at(p, start, "the escape is not a character");
    *out = (uint32_t)value;
    return true;
}

static bool is_plain(char c)
{
    return is_digit(c) || is_lower(c) || (c >= 'A' && c <= 'Z' && c != 'K');
}

/* Appends the string as UTF-8. */
static bool parse_string(parser *p, bc_text *out)
{
    for (;;) {
        uint32_t c = 0;
        for (; is_plain(peek(p)); p->at++)
            bc_text_char(out, peek(p));
        if (!take(p, '_'))
            return fail_at(p, p->at, "the string does not end in _z");
        if (take(p, 'z'))
            return true;
        if (!parse_escape(p, &c))
            return false;
        put_utf8(out, c);
    }
}

/* count strings with dots between them. */
static bool parse_names(parser *p, unsigned count, tv_str *out)
{
    bc_text text;
    bc_text_init(&text, &p->arena->allocator);
    bool good = true;
    for (unsigned i = 0; i < count && good; i++) {
        if (i)
            bc_text_char(&text, '.');
        good = parse_string(p, &text);
    }
    if (good) {
        p->arena->failed |= text.failed;
        good = !text.failed && keep(p, text.ptr ? text.ptr : "", text.len, out);
    }
    bc_text_release(&text);
    return good;
}

/* After 'C': a letter and '_'. */
static bool parse_v3_constant(parser *p, tv_constant *c)
{
    size_t start = p->at;
    char letter = peek(p);
    if (!letter || !strchr("nsed", letter) || peek_second(p) != '_')
        return fail_at(p, start - 1, "unknown kind of constant");
    p->at += 2;
    switch (letter) {
    case 'n': c->kind = TV_CONSTANT_NONE; return keep(p, "None", 4, &c->text);
    case 's': c->kind = TV_CONSTANT_STRING; return parse_names(p, 1, &c->text);
    case 'e': c->kind = TV_CONSTANT_ENUM; return parse_names(p, 3, &c->text);
    default:
        c->kind = TV_CONSTANT_DTYPE;
        if (!parse_dtype(p, &c->dtype))
            return false;
        return keep(p, bc_dtypes[c->dtype].numpy, strlen(bc_dtypes[c->dtype].numpy), &c->text);
    }
}

/* ---- arrays ---- */

typedef struct predicates { /* of one mask group */
    size_t offset;
    uint32_t mask;
    bool has_extent, has_stride, has_stride_min;
    int64_t extent, stride, stride_min, extent_multiple, stride_multiple;
} predicates;

static bool parse_mask(parser *p, uint32_t ndim, uint32_t *out)
{
    size_t start = p->at;
    uint64_t mask = 0;
    for (; hex_value(peek(p)) >= 0; p->at++) {
        mask = mask << 4 | (uint64_t)hex_value(peek(p));
        if (mask >> ndim)
            return fail_at(p, start, "the axis mask names an axis that an array of rank %u does not have", ndim);
    }
    *out = (uint32_t)mask;
    return mask || fail_at(p, start, "the axis mask is zero");
}

static bool parse_predicates(parser *p, predicates *g)
{
    if (take(p, 's')) {
        size_t start = p->at;
        if (p->convention < 2)
            return fail_at(p, start - 1, "constant extents need cutile_python_v2");
        g->has_extent = true;
        if (!parse_int64(p, &g->extent))
            return false;
        if (g->extent < 0)
            return fail_at(p, start, "an extent cannot be negative");
    }
    if (take(p, 'i') && !parse_divisor(p, &g->extent_multiple))
        return false;
    if (take(p, 't')) {
        g->has_stride = true;
        if (!parse_int64(p, &g->stride))
            return false;
    }
    if (take(p, 'v') && !parse_divisor(p, &g->stride_multiple))
        return false;
    if (take(p, 'l')) {
        g->has_stride_min = true;
        return parse_int64(p, &g->stride_min);
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

static bool check_axes(parser *p, size_t start, const tv_param *array, const tv_axis *axes)
{
    for (uint32_t i = 0; i < array->ndim; i++) {
        const tv_axis *a = &axes[i];
        if (a->has_stride && (a->stride_multiple != 1 || a->has_stride_min))
            return fail_at(p, start, "axis %u has a constant stride and another promise about it", i);
        if (a->has_extent && a->extent % a->extent_multiple != 0)
            return fail_at(p, start, "the constant extent of axis %u is not a multiple of its divisor", i);
    }
    return true;
}

static bool parse_axes(parser *p, size_t start, tv_param *array)
{
    tv_axis *axes = bc_new(p->arena, tv_axis, array->ndim);
    if (!axes)
        return false;
    for (uint32_t i = 0; i < array->ndim; i++)
        axes[i].extent_multiple = axes[i].stride_multiple = 1;
    while (peek(p) == '_' && hex_value(peek_second(p)) >= 0) {
        predicates g = {.offset = ++p->at};
        if (!parse_mask(p, array->ndim, &g.mask) || !parse_predicates(p, &g))
            return false;
        for (uint32_t i = 0; i < array->ndim; i++)
            if ((g.mask >> i & 1) && !merge_axis(&axes[i], &g))
                return fail_at(p, g.offset, "the promise about axis %u is given twice", i);
    }
    array->axes = axes;
    return check_axes(p, start, array, axes);
}

/* { "g" hex }, strictly increasing. */
static bool parse_groups(parser *p, tv_param *out)
{
    size_t capacity = 0, count = 0;
    uint32_t *groups = NULL;
    while (peek(p) == 'g') {
        size_t start = ++p->at;
        uint64_t id = 0;
        for (; hex_value(peek(p)) >= 0 && p->at - start < 9; p->at++)
            id = id << 4 | (uint64_t)hex_value(peek(p));
        if (p->at == start || p->at - start > 8)
            return fail_at(p, start, "an alias group has one to eight hexadecimal digits");
        if (p->at - start > 1 && p->s.ptr[start] == '0')
            return fail_at(p, start, "an alias group begins with a zero");
        if (count && id <= groups[count - 1])
            return fail_at(p, start, "alias groups are not in increasing order");
        groups = bc_grow(p->arena, groups, count, &capacity, uint32_t);
        if (!groups)
            return false;
        groups[count++] = (uint32_t)id;
    }
    out->groups = groups;
    out->group_count = count;
    return true;
}

static bool parse_extras(parser *p, tv_param *array)
{
    if (peek(p) != '_' || !is_lower(peek_second(p)))
        return true;
    size_t start = ++p->at;
    if (take(p, 'p') && !parse_divisor(p, &array->base_multiple))
        return false;
    if (!parse_groups(p, array))
        return false;
    array->overlaps = take(p, 'i');
    if (take(p, 'u'))
        array->index_dtype = TV_U32;
    else if (take(p, 'w'))
        array->index_dtype = TV_I64;
    return p->at > start || fail_at(p, start, "unknown promise '%c'", peek(p));
}

/* After 'A'. */
static bool parse_array(parser *p, tv_param *out)
{
    size_t start = p->at - 1;
    out->kind = TV_PARAM_ARRAY;
    out->index_dtype = TV_I32;
    out->base_multiple = 1;
    return parse_count(p, "number of dimensions", TV_MAX_RANK, &out->ndim) && parse_dtype(p, &out->dtype)
           && parse_axes(p, start, out) && parse_extras(p, out);
}

/* After 'L'. */
static bool parse_list(parser *p, tv_param *out)
{
    if (!parse_groups(p, out))
        return false;
    out->overlaps = take(p, 'i');
    if (!take(p, 'A'))
        return fail_at(p, p->at, "a list holds arrays");
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
static bool parse_items(parser *p, tv_param *out)
{
    uint32_t count;
    size_t capacity = 0, start = p->at;
    tv_param *items = NULL;
    if (!parse_count(p, "number of items", BC_MAX_SYMBOL, &count))
        return false;
    if (p->depth == BC_MAX_TUPLE_DEPTH)
        return fail_at(p, start - 1, "tuples are nested deeper than %d", BC_MAX_TUPLE_DEPTH);
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

static bool parse_tuple(parser *p, tv_param *out)
{
    if (p->convention < 2)
        return fail_at(p, p->at - 1, "tuples need cutile_python_v2");
    out->kind = TV_PARAM_TUPLE;
    return parse_items(p, out);
}

/* Letters that came with convention 3. */
static bool parse_v3_param(parser *p, char letter, tv_param *out)
{
    switch (letter) {
    case 'C': out->kind = TV_PARAM_CONSTANT; return parse_v3_constant(p, &out->constant);
    case 'D': out->kind = TV_PARAM_STRUCT; return parse_names(p, 2, &out->type_name) && parse_items(p, out);
    case 'P': out->kind = TV_PARAM_POINTER; return parse_dtype(p, &out->dtype);
    case 'M': out->kind = TV_PARAM_TENSOR_MAP; return true;
    default: out->kind = TV_PARAM_STREAM; return true;
    }
}

static bool parse_param(parser *p, tv_param *out)
{
    char letter = peek(p);
    if (letter < 'A' || letter > 'Z')
        return fail_at(p, p->at, "a parameter begins with a capital letter");
    p->at++;
    switch (letter) {
    case 'A': return parse_array(p, out);
    case 'L': return parse_list(p, out);
    case 'S': out->kind = TV_PARAM_SCALAR; return parse_dtype(p, &out->dtype);
    case 'T': return parse_tuple(p, out);
    case 'B': out->kind = TV_PARAM_CONSTANT; return parse_bool_constant(p, &out->constant);
    case 'I': out->kind = TV_PARAM_CONSTANT; return parse_int_constant(p, &out->constant);
    case 'F': out->kind = TV_PARAM_CONSTANT; return parse_float_constant(p, &out->constant);
    default: break;
    }
    if (strchr("CDPMR", letter) && p->convention >= 3)
        return parse_v3_param(p, letter, out);
    return fail_at(p, p->at - 1, "parameters of kind '%c' are not known in cutile_python_v%u", letter, p->convention);
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
static bool check_groups(parser *p, const bc_symbol *symbol)
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
            return fail_at(p, symbol->function.len, "alias group %x has one member only", all.uses[i].id);
        if (before && all.uses[i - 1].list != all.uses[i].list)
            return fail_at(p, symbol->function.len, "alias group %x has an array and the storage of a list",
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
        if (i + 2 >= symbol.len || symbol.ptr[i + 1] != 't' || !is_digit(symbol.ptr[i + 2]))
            return false;
        *out_function = (tv_str){symbol.ptr, i - 1};
        *out_mangled = (tv_str){symbol.ptr + i + 1, symbol.len - i - 1};
        return true;
    }
    return false;
}

static bool parse_convention(parser *p)
{
    size_t start = p->at++;
    while (p->at < p->s.len && peek(p) != '_')
        p->at++;
    if (p->at - start != 2 || p->s.ptr[start + 1] < '1' || p->s.ptr[start + 1] > '3')
        return fail_at(p, start, "unknown calling convention; known are t1, t2 and t3");
    p->convention = (unsigned)(p->s.ptr[start + 1] - '0');
    return true;
}

static bool parse_params(parser *p, bc_symbol *out)
{
    size_t capacity = 0;
    while (p->at < p->s.len) {
        if (!take(p, '_'))
            return fail_at(p, p->at, "'%c' does not belong here", peek(p) >= ' ' && peek(p) < 127 ? peek(p) : '?');
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
    parser p = {.arena = arena, .s = symbol, .error = error};
    *error = (bc_symbol_error){0};
    if (symbol.len > BC_MAX_SYMBOL)
        return fail_at(&p, 0, "longer than %d bytes", BC_MAX_SYMBOL);
    if (!bc_symbol_split(symbol, &result.function, &mangled))
        return fail_at(&p, 0, "not mangled: nothing like _Kt1 is in it");
    p.at = symbol.len - mangled.len;
    if (!parse_convention(&p) || !parse_params(&p, &result) || !check_groups(&p, &result))
        return false;
    result.convention = p.convention;
    *out = result;
    return true;
}
