/* A custom mutator for assembly text: takes it apart into words, numbers, values, strings and signs, and changes a few
   of them into others of their class, so that most of what comes out still parses. Types and numbers also change
   everywhere at once, which leaves the text in agreement with itself and so reaches what lies behind the verifier. */
#ifndef TILEVM_TESTS_FUZZ_TOKEN_MUTATOR_H
#define TILEVM_TESTS_FUZZ_TOKEN_MUTATOR_H
#ifndef FUZZ_REPLAY

#include <ctype.h>
#include <stdint.h>
#include <string.h>

#include "tilevm/tilevm.h"

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed);

/* ---- tokens ---- */

typedef enum token_class {
    TOKEN_SPACE,
    TOKEN_VALUE,
    TOKEN_SYMBOL,
    TOKEN_NUMBER,
    TOKEN_TYPE,
    TOKEN_WORD,
    TOKEN_STRING,
    TOKEN_SIGN,
    TOKEN_CLASSES
} token_class;

typedef struct token {
    tv_str text;
    token_class cls;
} token;

enum { MAX_TOKENS = 1 << 15 };

typedef struct tokens {
    token items[MAX_TOKENS];
    size_t count;
    uint32_t state;
} tokens;

static const char *const token_types[] = {
#define TYPE(name, tag, text, kind, bits, since) text,
#include "bytecode/types.def"
};

static const char *const token_words[] = {
#define OP(name, ...) #name,
#include "bytecode/ops.def"
#define VALUE(enum_name, name, number, text, since) text,
#include "bytecode/enums.def"
    "occupancy",
    "num_cta_in_cga",
    "num_worker_warps_per_cta",
    "latency",
    "allow_tma",
    "default",
    "sm_80",
    "sm_90",
    "sm_100",
    "token",
    "dim",
    "true",
    "false",
};

static const char *const token_numbers[] = {"0",
                                            "1",
                                            "2",
                                            "3",
                                            "4",
                                            "7",
                                            "8",
                                            "16",
                                            "31",
                                            "32",
                                            "33",
                                            "64",
                                            "128",
                                            "256",
                                            "512",
                                            "1024",
                                            "4096",
                                            "65536",
                                            "2147483647",
                                            "4294967296",
                                            "-1",
                                            "-2147483648",
                                            "9223372036854775807",
                                            "0x7fc00000",
                                            "0xff",
                                            "1.5",
                                            "?"};

static uint32_t token_draw(tokens *t, size_t below)
{
    t->state = t->state * 1664525u + 1013904223u;
    return below ? (uint32_t)((t->state >> 8) % below) : 0;
}

static tv_str token_from(tokens *t, const char *const *list, size_t count)
{
    const char *text = list[token_draw(t, count)];
    return (tv_str){text, strlen(text)};
}

static bool token_is_type(tv_str text)
{
    for (size_t i = 0; i < sizeof token_types / sizeof *token_types; i++)
        if (strlen(token_types[i]) == text.len && memcmp(token_types[i], text.ptr, text.len) == 0)
            return true;
    return false;
}

static bool token_is_inside(char ch)
{
    return isalnum((unsigned char)ch) || ch == '_' || ch == '$' || ch == '.';
}

static size_t token_span(const char *p, const char *end, token_class *cls)
{
    const char *start = p, first = *p++;
    bool after_sign = first == '-' && p < end && isdigit((unsigned char)*p);
    if (isspace((unsigned char)first)) {
        *cls = TOKEN_SPACE;
        while (first != '\n' && p < end && isspace((unsigned char)*p) && *p != '\n')
            p++;
    } else if (first == '"') {
        *cls = TOKEN_STRING;
        while (p < end && *p != '"' && *p != '\n')
            p++;
        p += p < end;
    } else if (isdigit((unsigned char)first) || after_sign) { /* 64x64xf32 is 64, x, 64, x, f32 */
        *cls = TOKEN_NUMBER;
        bool hex = first == '0' && p + 1 < end && *p == 'x' && isxdigit((unsigned char)p[1]);
        p += hex;
        while (p < end && (isdigit((unsigned char)*p) || *p == '.' || (hex && isxdigit((unsigned char)*p))))
            p++;
    } else if (first == 'x' && *cls == TOKEN_NUMBER) {
        *cls = TOKEN_SIGN;
    } else if (isalpha((unsigned char)first) || strchr("%@#_", first)) {
        while (p < end && token_is_inside(*p))
            p++;
        *cls = first == '%' ? TOKEN_VALUE : first == '@' ? TOKEN_SYMBOL : TOKEN_WORD;
        if (token_is_type((tv_str){start, (size_t)(p - start)}))
            *cls = TOKEN_TYPE;
    } else {
        *cls = TOKEN_SIGN;
    }
    return (size_t)(p - start);
}

static void token_split(tokens *t, const char *text, size_t size)
{
    token_class cls = TOKEN_SPACE;
    t->count = 0;
    for (size_t at = 0; at < size && t->count < MAX_TOKENS / 2;) {
        size_t length = token_span(text + at, text + size, &cls);
        t->items[t->count++] = (token){{text + at, length}, cls};
        at += length;
    }
}

static size_t token_join(const tokens *t, uint8_t *out, size_t max_size)
{
    size_t size = 0;
    for (size_t i = 0; i < t->count && size + t->items[i].text.len <= max_size; i++) {
        memcpy(out + size, t->items[i].text.ptr, t->items[i].text.len);
        size += t->items[i].text.len;
    }
    return size;
}

/* ---- changes ---- */

static bool token_equal(tv_str a, tv_str b)
{
    return a.len == b.len && memcmp(a.ptr, b.ptr, a.len) == 0;
}

/* A token that is no space, of that class unless it is TOKEN_CLASSES; the count when there is none. */
static size_t token_find(tokens *t, token_class cls)
{
    size_t start = token_draw(t, t->count);
    for (size_t i = 0; i < t->count; i++) {
        size_t at = (start + i) % t->count;
        if (t->items[at].cls != TOKEN_SPACE && (cls == TOKEN_CLASSES || t->items[at].cls == cls))
            return at;
    }
    return t->count;
}

/* Another text for the class: a known one, or one that stands elsewhere. */
static tv_str token_other(tokens *t, token_class cls)
{
    bool known = token_draw(t, 2) == 0;
    if (known && cls == TOKEN_TYPE)
        return token_from(t, token_types, sizeof token_types / sizeof *token_types);
    if (known && cls == TOKEN_WORD)
        return token_from(t, token_words, sizeof token_words / sizeof *token_words);
    if (known && cls == TOKEN_NUMBER)
        return token_from(t, token_numbers, sizeof token_numbers / sizeof *token_numbers);
    return t->items[token_find(t, cls)].text;
}

static void token_insert(tokens *t, size_t at, const token *items, size_t count)
{
    static token kept[256];
    count = count > 256 ? 256 : count;
    if (t->count + count > MAX_TOKENS)
        return;
    memcpy(kept, items, count * sizeof *items);
    memmove(t->items + at + count, t->items + at, (t->count - at) * sizeof *items);
    memcpy(t->items + at, kept, count * sizeof *items);
    t->count += count;
}

static void token_remove(tokens *t, size_t at, size_t count)
{
    memmove(t->items + at, t->items + at + count, (t->count - at - count) * sizeof *t->items);
    t->count -= count;
}

/* The line around a token: from its first one to the break, which is part of it. */
static size_t token_line(const tokens *t, size_t at, size_t *out_count)
{
    size_t end = at;
    while (at > 0 && t->items[at - 1].text.ptr[0] != '\n')
        at--;
    while (end < t->count && t->items[end].text.ptr[0] != '\n')
        end++;
    *out_count = end - at + (end < t->count);
    return at;
}

/* One more parameter, of any type, for a kernel. */
static void token_add_param(tokens *t)
{
    static const char *const names[] = {"%z0: tile<", "%z1: tile<", "%z2: tile<", "%z3: tile<"};
    bool address = token_draw(t, 3) == 0;
    size_t at = 0;
    while (at < t->count && !token_equal(t->items[at].text, (tv_str){"entry", 5}))
        at++;
    while (at < t->count && t->items[at].text.ptr[0] != '(')
        at++;
    if (at + 1 >= t->count)
        return;
    bool last = t->items[at + 1].text.ptr[0] == ')';
    const token param[] = {{token_from(t, names, 4), TOKEN_WORD},
                           {{"ptr<", address ? 4 : 0}, TOKEN_WORD},
                           {token_from(t, token_types, sizeof token_types / sizeof *token_types), TOKEN_TYPE},
                           {{">", address ? 1 : 0}, TOKEN_SIGN},
                           {{">, ", last ? 1 : 3}, TOKEN_SIGN}};
    token_insert(t, at + 1, param, sizeof param / sizeof *param);
}

/* The text of a token becomes another one wherever it stands. */
static void token_replace_all(tokens *t, size_t at)
{
    tv_str old = t->items[at].text, fresh = token_other(t, t->items[at].cls);
    token_class cls = t->items[at].cls;
    for (size_t i = 0; i < t->count; i++)
        if (t->items[i].cls == cls && token_equal(t->items[i].text, old))
            t->items[i].text = fresh;
}

/* Bytes between the quotes. */
static void token_mutate_string(tokens *t, size_t at)
{
    static uint8_t strings[4][400];
    uint8_t *s = strings[token_draw(t, 4)];
    size_t length = t->items[at].text.len;
    if (length < 2 || length > 300)
        return;
    memcpy(s, t->items[at].text.ptr, length);
    length = 1 + LLVMFuzzerMutate(s + 1, length - 2, 390);
    s[length++] = '"';
    t->items[at].text = (tv_str){(const char *)s, length};
}

static void token_change(tokens *t)
{
    static const token_class often[] = {TOKEN_TYPE, TOKEN_TYPE, TOKEN_NUMBER, TOKEN_NUMBER, TOKEN_VALUE, TOKEN_WORD};
    size_t at = token_find(t, often[token_draw(t, sizeof often / sizeof *often)]), count;
    size_t any = token_find(t, TOKEN_CLASSES), string = token_find(t, TOKEN_STRING);
    at = at < t->count ? at : any;
    if (any == t->count)
        return;
    switch (token_draw(t, 12)) {
    case 0:
    case 1:
    case 2:
    case 3: token_replace_all(t, at); break;
    case 4:
    case 5:
    case 6: t->items[at].text = token_other(t, t->items[at].cls); break;
    case 7: token_add_param(t); break;
    case 8: token_remove(t, any, 1); break;
    case 9: /* a line twice, or here from elsewhere */
        any = token_line(t, any, &count);
        token_insert(t, token_line(t, at, &(size_t){0}), t->items + any, count);
        break;
    case 10:
        any = token_line(t, any, &count);
        token_remove(t, any, count);
        break;
    default:
        if (string < t->count)
            token_mutate_string(t, string);
        else
            token_replace_all(t, at);
    }
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed)
{
    static tokens t;
    static char source[1 << 16];
    if (size > sizeof source || seed % 50 == 0)
        return LLVMFuzzerMutate(data, size, max_size);
    memcpy(source, data, size);
    t.state = seed;
    token_split(&t, source, size);
    for (uint32_t i = 1 + token_draw(&t, 3); i > 0; i--)
        token_change(&t);
    return token_join(&t, data, max_size);
}

#endif
#endif
