/* Parses expressions, which come from a user or an editor. */
#include "vm/debug/expr.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct parser {
    vm_debug *d;
    bc_arena *arena;
    tv_str rest;
    uint32_t position;
    unsigned depth, nodes;
    vm_debug_error *error;
} parser;

static dbg_expr *parse_or(parser *p);

/* ---- words ---- */

static bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

static void skip(parser *p)
{
    while (p->rest.len && (*p->rest.ptr == ' ' || *p->rest.ptr == '\t'))
        p->rest = (tv_str){p->rest.ptr + 1, p->rest.len - 1};
}

/* Consumes a sign or word if it comes next. */
static bool take(parser *p, const char *text)
{
    size_t len = strlen(text);
    skip(p);
    if (p->rest.len < len || memcmp(p->rest.ptr, text, len) != 0)
        return false;
    if (is_word(text[len - 1]) && p->rest.len > len && is_word(p->rest.ptr[len]))
        return false;
    p->rest = (tv_str){p->rest.ptr + len, p->rest.len - len};
    return true;
}

static dbg_expr *wrong(parser *p, const char *wanted)
{
    if (!p->error->text[0]) {
        if (p->rest.len)
            dbg_fail(p->error, "%s is missing before '%.*s'", wanted, p->rest.len < 40 ? (int)p->rest.len : 40,
                     p->rest.ptr);
        else
            dbg_fail(p->error, "%s is missing at the end", wanted);
    }
    return NULL;
}

static dbg_expr *new_node(parser *p, dbg_node node)
{
    dbg_expr *e = ++p->nodes <= DBG_MAX_NODES ? bc_new(p->arena, dbg_expr, 1) : NULL;
    if (e)
        e->node = node;
    else if (!p->error->text[0])
        dbg_fail(p->error, p->nodes > DBG_MAX_NODES ? "the expression is too long" : "out of memory");
    return e;
}

static dbg_expr *pair(parser *p, dbg_node node, dbg_expr *left, dbg_expr *right)
{
    dbg_expr *e = left && right ? new_node(p, node) : NULL;
    if (e) {
        e->kids[0] = left;
        e->kids[1] = right;
    }
    return e;
}

/* ---- items ---- */

static dbg_expr *parse_number(parser *p)
{
    char digits[48];
    size_t n = 0;
    bool real = false;
    while (n < p->rest.len && n + 1 < sizeof digits) {
        char c = p->rest.ptr[n];
        bool sign = (c == '+' || c == '-') && n && (digits[n - 1] == 'e' || digits[n - 1] == 'E')
                    && strncmp(digits, "0x", 2) != 0;
        if (!is_word(c) && c != '.' && !sign)
            break;
        digits[n++] = c;
    }
    digits[n] = 0;
    bool hex = strncmp(digits, "0x", 2) == 0;
    real = !hex && strpbrk(digits, ".eE") != NULL;
    dbg_expr *e = new_node(p, DBG_NUMBER);
    char *end;
    if (!e)
        return NULL;
    e->is_int = !real;
    e->i = real ? 0 : (int64_t)strtoull(digits, &end, hex ? 16 : 10);
    e->d = real ? strtod(digits, &end) : (double)e->i;
    if (*end || end == digits)
        return wrong(p, "a number");
    p->rest = (tv_str){p->rest.ptr + n, p->rest.len - n};
    return e;
}

static dbg_expr *real_number(parser *p, double x)
{
    dbg_expr *e = new_node(p, DBG_NUMBER);
    if (e)
        e->d = x;
    return e;
}

/* %acc, %3#1 */
static dbg_expr *parse_value(parser *p)
{
    size_t n = 1;
    while (n < p->rest.len && (is_word(p->rest.ptr[n]) || strchr("#$.", p->rest.ptr[n])))
        n++;
    tv_str name = {p->rest.ptr, n};
    const bc_value *value = dbg_find_value(p->d, name, p->position);
    if (!value) {
        dbg_fail(p->error, "the kernel has no value '%.*s'", n < 60 ? (int)n : 60, name.ptr);
        return NULL;
    }
    dbg_expr *e = new_node(p, DBG_VALUE);
    if (e)
        e->value = value;
    p->rest = (tv_str){p->rest.ptr + n, p->rest.len - n};
    return e;
}

static const struct {
    const char *name;
    dbg_function function;
} functions[] = {{"min", DBG_MIN},   {"max", DBG_MAX},   {"mean", DBG_MEAN},   {"sum", DBG_SUM},
                 {"nans", DBG_NANS}, {"infs", DBG_INFS}, {"count", DBG_COUNT}, {"abs", DBG_ABS}};

static dbg_expr *parse_call(parser *p, dbg_function function)
{
    dbg_expr *inner = parse_or(p);
    if (!inner)
        return NULL;
    if (!take(p, ")"))
        return wrong(p, "')'");
    dbg_expr *e = new_node(p, DBG_CALL);
    if (e) {
        e->which = (uint8_t)function;
        e->kids[0] = inner;
    }
    return e;
}

/* The array of a list is called "xs[1]". */
static const vm_array *array_of_list(parser *p, size_t *n)
{
    size_t end = *n;
    while (end < p->rest.len && p->rest.ptr[end] != ']')
        end++;
    if (*n >= p->rest.len || p->rest.ptr[*n] != '[' || end == p->rest.len)
        return NULL;
    *n = end + 1;
    return dbg_find_array(p->d, (tv_str){p->rest.ptr, *n});
}

static dbg_expr *parse_name(parser *p)
{
    size_t n = 0;
    while (n < p->rest.len && (is_word(p->rest.ptr[n]) || p->rest.ptr[n] == '.'))
        n++;
    tv_str name = {p->rest.ptr, n};
    if (!n)
        return wrong(p, "a value");
    for (size_t i = 0; i < TV_COUNT(functions); i++)
        if (bc_str_is(name, functions[i].name) && n < p->rest.len && p->rest.ptr[n] == '(') {
            p->rest = (tv_str){p->rest.ptr + n + 1, p->rest.len - n - 1};
            return parse_call(p, functions[i].function);
        }
    const vm_array *array = dbg_find_array(p->d, name);
    if (!array)
        array = array_of_list(p, &n);
    if (!array) {
        dbg_fail(p->error, "'%.*s' is no array, and a value of the kernel is written %%%.*s",
                 name.len < 60 ? (int)name.len : 60, name.ptr, name.len < 60 ? (int)name.len : 60, name.ptr);
        return NULL;
    }
    dbg_expr *e = new_node(p, DBG_ARRAY);
    if (e)
        e->array = array;
    p->rest = (tv_str){p->rest.ptr + n, p->rest.len - n};
    return e;
}

static dbg_expr *parse_bid(parser *p)
{
    static const char *const axes[] = {".x", ".y", ".z"};
    for (uint8_t i = 0; i < 3; i++)
        if (take(p, axes[i])) {
            dbg_expr *e = new_node(p, DBG_BID_AXIS);
            if (e)
                e->which = i;
            return e;
        }
    return new_node(p, DBG_BID);
}

/* "(a)" or "(x, y, z)" */
static dbg_expr *parse_parentheses(parser *p)
{
    dbg_expr *first = parse_or(p);
    if (!first)
        return NULL;
    if (take(p, ")"))
        return first;
    dbg_expr *e = new_node(p, DBG_TUPLE);
    if (!e)
        return NULL;
    e->kids[0] = first;
    for (unsigned i = 1; i < 3; i++) {
        if (!take(p, ","))
            return wrong(p, "','");
        e->kids[i] = parse_or(p);
        if (!e->kids[i])
            return NULL;
    }
    return take(p, ")") ? e : wrong(p, "')'");
}

static dbg_expr *parse_item(parser *p)
{
    skip(p);
    if (!p->rest.len)
        return wrong(p, "a value");
    char c = *p->rest.ptr;
    if (c == '%')
        return parse_value(p);
    if ((c >= '0' && c <= '9') || c == '.')
        return parse_number(p);
    if (take(p, "("))
        return parse_parentheses(p);
    if (take(p, "nan"))
        return real_number(p, (double)NAN);
    if (take(p, "inf"))
        return real_number(p, (double)INFINITY);
    if (take(p, "bid"))
        return parse_bid(p);
    if (take(p, "time"))
        return new_node(p, DBG_TIME);
    if (take(p, "op"))
        return new_node(p, DBG_OP);
    return parse_name(p);
}

/* ---- indices ---- */

static bool at_end_of_index(parser *p)
{
    skip(p);
    return !p->rest.len || strchr(",]:", *p->rest.ptr);
}

static bool parse_index(parser *p, dbg_index *out)
{
    *out = (dbg_index){0};
    if (!at_end_of_index(p) && !(out->from = parse_or(p)))
        return false;
    out->range = take(p, ":");
    if (!out->range)
        return out->from || wrong(p, "an index");
    return at_end_of_index(p) || (out->to = parse_or(p)) != NULL;
}

static dbg_expr *parse_indices(parser *p, dbg_expr *of)
{
    dbg_expr *e = of ? new_node(p, DBG_INDEX) : NULL;
    if (!e)
        return NULL;
    e->kids[0] = of;
    e->indices = bc_new(p->arena, dbg_index, VM_DEBUG_MAX_RANK);
    if (!e->indices)
        return wrong(p, "memory");
    do {
        if (e->index_count == VM_DEBUG_MAX_RANK)
            return wrong(p, "']'");
        if (!parse_index(p, &e->indices[e->index_count++]))
            return NULL;
    } while (take(p, ","));
    return take(p, "]") ? e : wrong(p, "']'");
}

/* ---- operators ---- */

static dbg_expr *parse_unary(parser *p)
{
    if (p->depth == DBG_MAX_DEPTH) {
        dbg_fail(p->error, "the expression is nested too deep");
        return NULL;
    }
    p->depth++;
    dbg_expr *e;
    if (take(p, "-")) {
        dbg_expr *inner = parse_unary(p);
        e = inner ? new_node(p, DBG_NEGATE) : NULL;
        if (e)
            e->kids[0] = inner;
    } else {
        e = parse_item(p);
        while (e && take(p, "["))
            e = parse_indices(p, e);
    }
    p->depth--;
    return e;
}

static dbg_expr *parse_product(parser *p)
{
    dbg_expr *e = parse_unary(p);
    while (e) {
        if (take(p, "*"))
            e = pair(p, DBG_MUL, e, parse_unary(p));
        else if (take(p, "/"))
            e = pair(p, DBG_DIV, e, parse_unary(p));
        else if (take(p, "%"))
            e = pair(p, DBG_MOD, e, parse_unary(p));
        else
            break;
    }
    return e;
}

static dbg_expr *parse_sum(parser *p)
{
    dbg_expr *e = parse_product(p);
    while (e) {
        if (take(p, "+"))
            e = pair(p, DBG_ADD, e, parse_product(p));
        else if (take(p, "-"))
            e = pair(p, DBG_SUB, e, parse_product(p));
        else
            break;
    }
    return e;
}

static dbg_expr *parse_has(parser *p, dbg_expr *of)
{
    bool nan = take(p, "nan");
    if (!nan && !take(p, "inf"))
        return wrong(p, "nan or inf");
    dbg_expr *e = new_node(p, DBG_HAS);
    if (e) {
        e->which = nan;
        e->kids[0] = of;
    }
    return e;
}

static dbg_expr *parse_compare(parser *p)
{
    static const struct {
        const char *text;
        dbg_node node;
    } signs[] = {{"==", DBG_EQ}, {"!=", DBG_NE}, {"<=", DBG_LE}, {">=", DBG_GE}, {"<", DBG_LT}, {">", DBG_GT}};
    dbg_expr *e = parse_sum(p);
    if (!e)
        return NULL;
    if (take(p, "has"))
        return parse_has(p, e);
    for (size_t i = 0; i < TV_COUNT(signs); i++)
        if (take(p, signs[i].text))
            return pair(p, signs[i].node, e, parse_sum(p));
    return e;
}

static dbg_expr *parse_not(parser *p)
{
    unsigned times = 0;
    for (skip(p); take(p, "not") || (p->rest.len > 1 && p->rest.ptr[0] == '!' && p->rest.ptr[1] != '=' && take(p, "!"));
         skip(p))
        times++;
    dbg_expr *e = parse_compare(p);
    if (!e || !times)
        return e;
    for (unsigned i = 0; e && i < 2 - times % 2; i++) { /* the second `not` makes it 0 or 1 */
        dbg_expr *inner = e;
        e = new_node(p, DBG_NOT);
        if (e)
            e->kids[0] = inner;
    }
    return e;
}

static dbg_expr *parse_and(parser *p)
{
    dbg_expr *e = parse_not(p);
    while (e && (take(p, "and") || take(p, "&&")))
        e = pair(p, DBG_AND, e, parse_not(p));
    return e;
}

static dbg_expr *parse_or(parser *p)
{
    if (p->depth == DBG_MAX_DEPTH) {
        dbg_fail(p->error, "the expression is nested too deep");
        return NULL;
    }
    p->depth++;
    dbg_expr *e = parse_and(p);
    while (e && (take(p, "or") || take(p, "||")))
        e = pair(p, DBG_OR, e, parse_and(p));
    p->depth--;
    return e;
}

dbg_expr *dbg_parse(vm_debug *d, bc_arena *arena, tv_str text, uint32_t position, vm_debug_error *error)
{
    parser p = {.d = d, .arena = arena, .rest = text, .position = position, .error = error};
    error->text[0] = 0;
    dbg_expr *e = parse_or(&p);
    skip(&p);
    if (e && p.rest.len) {
        dbg_fail(error, "'%.*s' is too much", p.rest.len < 40 ? (int)p.rest.len : 40, p.rest.ptr);
        return NULL;
    }
    return e;
}

/* ---- names ---- */

bool dbg_check_scope(const vm_debug *d, const dbg_expr *e, uint32_t position, vm_debug_error *error)
{
    if (!e)
        return true;
    if (e->node == DBG_VALUE && !dbg_in_scope(d, e->value, position, error))
        return false;
    for (unsigned i = 0; i < 3; i++)
        if (!dbg_check_scope(d, e->kids[i], position, error))
            return false;
    for (uint32_t i = 0; i < e->index_count; i++)
        if (!dbg_check_scope(d, e->indices[i].from, position, error)
            || !dbg_check_scope(d, e->indices[i].to, position, error))
            return false;
    return true;
}
