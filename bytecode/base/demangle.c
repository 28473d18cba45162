/* C++ names. A small symbol may stand for a huge name, as each `S_` in it repeats what it likes, and the runtime's
   demangler knows no limit: so first it is estimated from above how long the name can get, and what is too long, or
   beyond what the estimate understands (lambdas, expressions), keeps its symbol. Types are read off the demangler's
   text: it has resolved substitutions and template parameters. */
#include "bytecode/base/demangle.h"

#include <ctype.h>
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "bytecode/base/visible.h"

enum { MAX_SYMBOL = 2048, MAX_NESTING = 64, MAX_ESTIMATE = 1 << 22 };

/* ---- how long a name may get ---- */

/* Itanium C++ ABI, "mangling", as far as names of kernels have it. */
typedef struct estimate {
    const char *at, *end;
    size_t size;                /* of the name so far */
    size_t largest;             /* that one substitution may stand for */
    size_t starts[MAX_NESTING]; /* sizes where the brackets that are open began */
    unsigned depth;
    bool failed;
} estimate;

static char next(estimate *e)
{
    if (e->at == e->end) {
        e->failed = true;
        return 0;
    }
    return *e->at++;
}

static void grow(estimate *e, size_t by)
{
    e->size += by;
    e->failed |= e->size > MAX_ESTIMATE;
}

static bool skip_digits(estimate *e)
{
    const char *from = e->at;
    while (e->at < e->end && isdigit((unsigned char)*e->at))
        e->at++;
    return e->at > from;
}

/* Length and characters of an identifier. */
static void identifier(estimate *e)
{
    size_t len = 0;
    while (e->at < e->end && isdigit((unsigned char)*e->at) && len < MAX_SYMBOL)
        len = len * 10 + (size_t)(*e->at++ - '0');
    e->failed |= len == 0 || len > (size_t)(e->end - e->at);
    if (e->failed)
        return;
    e->at += len;
    grow(e, len + 2);
    e->largest = len + 2 > e->largest ? len + 2 : e->largest;
}

/* `S_`, `S1A_`, `T0_`: as large as the largest there was; `St` and its like: short words. */
static void reference(estimate *e, bool standard)
{
    if (standard && e->at < e->end && *e->at >= 'a' && *e->at <= 'z') {
        e->at++;
        grow(e, 80); /* std::basic_string<char, ...> */
        e->largest = e->largest < 80 ? 80 : e->largest;
        return;
    }
    while (e->at < e->end && (isdigit((unsigned char)*e->at) || (*e->at >= 'A' && *e->at <= 'Z')))
        e->at++;
    e->failed |= next(e) != '_';
    grow(e, e->largest + 2);
}

static void open_bracket(estimate *e)
{
    if (e->depth == MAX_NESTING) {
        e->failed = true;
        return;
    }
    e->starts[e->depth++] = e->size;
}

static void close_bracket(estimate *e)
{
    if (e->depth == 0) {
        e->failed = true;
        return;
    }
    /* What has a substitution is what began before the bracket, too: the name before its arguments. */
    size_t from = e->starts[--e->depth], since = e->size - from + e->largest;
    grow(e, 4);
    e->largest = since > e->largest ? since : e->largest;
}

/* Type and value of a literal: `Li64E`, `L4Mode1E`, `LN2ns4ModeE1E`. */
static void literal(estimate *e)
{
    char c = next(e);
    if (isdigit((unsigned char)c)) {
        e->at--;
        identifier(e);
    } else if (c == 'N') {
        while (!e->failed && e->at < e->end && isdigit((unsigned char)*e->at))
            identifier(e);
        e->failed |= next(e) != 'E';
    } else {
        e->failed |= c < 'a' || c > 'z';
    }
    if (e->at < e->end && *e->at == 'n')
        e->at++;
    e->failed |= !skip_digits(e) || next(e) != 'E';
    grow(e, 48);
}

static void token(estimate *e)
{
    char c = *e->at++;
    if (isdigit((unsigned char)c)) {
        e->at--;
        identifier(e);
    } else if (c == 'S' || c == 'T') {
        reference(e, c == 'S');
    } else if (c == 'I' || c == 'N' || c == 'F' || c == 'J') {
        open_bracket(e);
    } else if (c == 'E') {
        close_bracket(e);
    } else if (c == 'L') {
        literal(e);
    } else if (c == 'A') {
        e->failed |= !skip_digits(e) || next(e) != '_';
        grow(e, 24);
    } else if (c == 'D') {
        c = next(e);
        e->failed |= c != 'n' && c != 'i' && c != 's' && c != 'u' && c != 'h';
        grow(e, 16);
    } else {
        e->failed |= !strchr("PROKV", c) && (c < 'a' || c > 'z' || c == 'u');
        grow(e, 20);
        e->largest += strchr("PROKV", c) ? 20 : 0;
    }
}

static bool is_short(tv_str symbol)
{
    estimate e = {.at = symbol.ptr + 2, .end = symbol.ptr + symbol.len, .largest = 1};
    while (!e.failed && e.at < e.end)
        token(&e);
    return !e.failed && e.depth == 0;
}

/* ---- the runtime's demangler ---- */

/* Of libstdc++: gives memory of malloc. */
typedef char *demangle_fn(const char *symbol, char *buffer, size_t *size, int *status);

/* The library stays loaded, so that looking it up again costs nothing. */
static demangle_fn *find_demangler(void)
{
    void *library = dlopen("libstdc++.so.6", RTLD_LAZY | RTLD_LOCAL | RTLD_NODELETE);
    void *found = library ? dlsym(library, "__cxa_demangle") : NULL;
    demangle_fn *demangle = NULL;
    memcpy(&demangle, &found, sizeof found); /* ISO C has no cast from one to the other */
    if (library)
        dlclose(library);
    return demangle;
}

static bool run_demangler(const char *symbol, bc_cxx_name *out, size_t *out_len)
{
    int status = 0;
    demangle_fn *demangle = find_demangler();
    char *text = demangle ? demangle(symbol, NULL, NULL, &status) : NULL;
    *out_len = text ? strlen(text) : 0;
    bool fits = text && *out_len < BC_MAX_CXX_NAME;
    if (fits)
        memcpy(out->full, text, *out_len + 1);
    free(text);
    return fits;
}

/* ---- taking the text apart ---- */

/* The place of the bracket that opens what the text ends with, or len. */
static size_t opening(tv_str text)
{
    int depth = 0;
    for (size_t i = text.len; i-- > 0;) {
        depth += text.ptr[i] == ')' ? 1 : text.ptr[i] == '(' ? -1 : 0;
        if (depth == 0)
            return i;
    }
    return text.len;
}

static int nesting(char c)
{
    return strchr("<({[", c) && c ? 1 : strchr(">)}]", c) && c ? -1 : 0;
}

/* Behind the last character like that that lies in no brackets; 0 if there is none. */
static size_t behind_last(tv_str text, char mark)
{
    int depth = 0;
    for (size_t i = text.len; i-- > 0;) {
        depth -= nesting(text.ptr[i]);
        if (depth == 0 && text.ptr[i] == mark)
            return i + 1;
    }
    return 0;
}

static tv_str part(tv_str text, size_t from, size_t to)
{
    return (tv_str){text.ptr + from, to - from};
}

bool bc_demangle(tv_str symbol, bc_cxx_name *out)
{
    char terminated[MAX_SYMBOL];
    size_t len;
    if (symbol.len < 3 || symbol.len >= sizeof terminated || memcmp(symbol.ptr, "_Z", 2) != 0
        || memchr(symbol.ptr, 0, symbol.len))
        return false;
    memcpy(terminated, symbol.ptr, symbol.len);
    terminated[symbol.len] = 0;
    if (!is_short(symbol) || !run_demangler(terminated, out, &len) || len == 0 || out->full[len - 1] != ')')
        return false;
    tv_str full = {out->full, len};
    size_t open = opening(full);
    if (open == 0 || open == len)
        return false;
    out->function = part(full, behind_last(part(full, 0, open), ' '), open);
    out->params = part(full, open + 1, len - 1);
    return true;
}

bool bc_cxx_next_param(tv_str *rest, tv_str *out)
{
    int depth = 0;
    size_t i = 0;
    if (!rest->len)
        return false;
    for (; i < rest->len && (depth || rest->ptr[i] != ','); i++)
        depth += nesting(rest->ptr[i]);
    *out = part(*rest, 0, i);
    i += i < rest->len;
    while (i < rest->len && rest->ptr[i] == ' ')
        i++;
    *rest = part(*rest, i, rest->len);
    return true;
}

/* ---- comparing ---- */

static bool in_word(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

static bool follows(tv_str text, size_t at, const char *what)
{
    size_t len = strlen(what);
    return len <= text.len - at && memcmp(text.ptr + at, what, len) == 0;
}

/* Leaves out blanks but between words, `int` after `unsigned`, and the letters after a number (`64ul`). */
static tv_str normal(tv_str text, char *out)
{
    size_t len = 0;
    bool number = false; /* digits that are no part of a name */
    for (size_t i = 0; i < text.len && len < BC_MAX_CXX_NAME; i++) {
        char c = text.ptr[i];
        if (c == ' ' && i >= 8 && follows(text, i - 8, "unsigned int")) {
            i += 3;
        } else if (c == ' ') {
            if (len && in_word(out[len - 1]) && i + 1 < text.len && in_word(text.ptr[i + 1]))
                out[len++] = c;
        } else if (!number || (c != 'u' && c != 'l')) {
            number = isdigit((unsigned char)c) && (number || !len || !in_word(out[len - 1]));
            out[len++] = c;
        }
    }
    return (tv_str){out, len};
}

/* Without the template arguments that it ends with. */
static tv_str without_arguments(tv_str function)
{
    int depth = 0;
    if (!function.len || function.ptr[function.len - 1] != '>')
        return function;
    for (size_t i = function.len; i-- > 0;) {
        depth += function.ptr[i] == '>' ? 1 : function.ptr[i] == '<' ? -1 : 0;
        if (depth == 0)
            return part(function, 0, i);
    }
    return function;
}

tv_str bc_cxx_short_name(const bc_cxx_name *name)
{
    tv_str bare = without_arguments(name->function);
    return part(bare, behind_last(bare, ':'), bare.len);
}

/* `rms<float>` for `rms<float,64>`: all that is written but the last bracket, and the next argument follows. */
static bool leads_arguments(tv_str wanted, tv_str function)
{
    size_t len = wanted.len - (wanted.len > 0);
    return len && wanted.ptr[len] == '>' && function.len > len && function.ptr[len] == ','
           && memcmp(wanted.ptr, function.ptr, len) == 0;
}

int bc_cxx_match(const bc_cxx_name *name, tv_str wanted)
{
    char wanted_text[BC_MAX_CXX_NAME], text[BC_MAX_CXX_NAME];
    tv_str full = bc_str(name->full), function = name->function, bare = without_arguments(function);
    size_t last = behind_last(bare, ':');
    const struct {
        tv_str text;
        int rank;
    } forms[] = {{full, 0},
                 {part(full, (size_t)(function.ptr - full.ptr), full.len), 0},
                 {function, 0},
                 {bare, 1},
                 {part(function, last, function.len), 2},
                 {part(bare, last, bare.len), 2}};
    if (wanted.len > BC_MAX_CXX_NAME)
        return -1;
    wanted = normal(wanted, wanted_text);
    for (size_t i = 0; i < TV_COUNT(forms); i++)
        if (bc_str_eq(normal(forms[i].text, text), wanted))
            return forms[i].rank;
    bool leads = leads_arguments(wanted, normal(function, text))
                 || leads_arguments(wanted, normal(part(function, last, function.len), text));
    return leads ? 3 : -1;
}

/* ---- types ---- */

static bool ends_with(tv_str text, const char *end)
{
    size_t len = strlen(end);
    return text.len >= len && memcmp(text.ptr + text.len - len, end, len) == 0;
}

static tv_str drop(tv_str text, const char *end)
{
    return ends_with(text, end) ? part(text, 0, text.len - strlen(end)) : text;
}

/* CXX(name, dtype): on Linux, where char is signed with nvcc's hosts and wchar_t has 32 bits. */
static const struct {
    const char *name;
    tv_dtype dtype;
} types[] = {
    {"bool", TV_BOOL},
    {"char", TV_I8},
    {"signed char", TV_I8},
    {"unsigned char", TV_U8},
    {"char8_t", TV_U8},
    {"std::byte", TV_U8},
    {"short", TV_I16},
    {"unsigned short", TV_U16},
    {"char16_t", TV_U16},
    {"int", TV_I32},
    {"unsigned int", TV_U32},
    {"char32_t", TV_U32},
    {"wchar_t", TV_I32},
    {"long", TV_I64},
    {"unsigned long", TV_U64},
    {"long long", TV_I64},
    {"unsigned long long", TV_U64},
    {"__half", TV_F16},
    {"__nv_bfloat16", TV_BF16},
    {"float", TV_F32},
    {"double", TV_F64},
    {"__nv_tf32", TV_TF32},
    {"__nv_fp8_e4m3", TV_F8E4M3FN},
    {"__nv_fp8_e5m2", TV_F8E5M2},
    {"__nv_fp8_e8m0", TV_F8E8M0FNU},
};

bc_cxx_type bc_cxx_type_of(tv_str param)
{
    bc_cxx_type type = {0};
    param = drop(param, " __restrict__");
    param = drop(param, " __restrict");
    tv_str pointee = drop(drop(param, "*"), "&");
    type.pointer = pointee.len < param.len;
    tv_str element = drop(pointee, " const");
    type.constant = type.pointer && element.len < pointee.len;
    for (size_t i = 0; i < TV_COUNT(types); i++)
        if (bc_str_is(element, types[i].name)) {
            type.known = true;
            type.dtype = types[i].dtype;
        }
    return type;
}

void bc_text_function(bc_text *out, tv_str symbol)
{
    bc_cxx_name name;
    bc_text_visible(out, bc_demangle(symbol, &name) ? name.function : symbol, "");
}
