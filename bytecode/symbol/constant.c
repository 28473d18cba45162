/* Constants in mangled symbols, and their text as Python writes it. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bytecode/base/text.h"
#include "bytecode/dtype.h"
#include "bytecode/symbol/parser.h"

static bool keep(bc_symbol_parser *p, const char *text, size_t len, tv_str *out)
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
        if (bc_symbol_digit(*d))
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

bool bc_symbol_bool_constant(bc_symbol_parser *p, tv_constant *c)
{
    char digit = bc_symbol_peek(p);
    if (digit != '0' && digit != '1')
        return bc_symbol_fail(p, p->at, "0 or 1 is missing");
    p->at++;
    c->kind = TV_CONSTANT_BOOL;
    c->integer = digit - '0';
    return keep(p, digit == '1' ? "True" : "False", digit == '1' ? 4 : 5, &c->text);
}

bool bc_symbol_int_constant(bc_symbol_parser *p, tv_constant *c)
{
    size_t start = p->at;
    bool exact;
    c->kind = TV_CONSTANT_INT;
    if (!bc_symbol_int(p, &c->integer, &exact))
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

bool bc_symbol_float_constant(bc_symbol_parser *p, tv_constant *c)
{
    uint64_t bits = 0;
    char text[48];
    if (!bc_symbol_hex(p, 16, &bits))
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
static bool parse_escape(bc_symbol_parser *p, uint32_t *out)
{
    size_t start = p->at;
    uint64_t value = 0;
    unsigned digits = 2;
    if (bc_symbol_take(p, '_')) {
        *out = '_';
        return true;
    }
    if (bc_symbol_take(p, 'k')) {
        *out = 'K';
        return true;
    }
    if (bc_symbol_take(p, 'u'))
        digits = 4;
    else if (bc_symbol_take(p, 'w'))
        digits = 8;
    if (!bc_symbol_hex(p, digits, &value))
        return false;
    if (value > 0x10ffff || (value >= 0xd800 && value < 0xe000))
        return bc_symbol_fail(p, start, "the escape is not a character");
    *out = (uint32_t)value;
    return true;
}

static bool is_plain(char c)
{
    return bc_symbol_digit(c) || bc_symbol_lower(c) || (c >= 'A' && c <= 'Z' && c != 'K');
}

/* Appends the string as UTF-8. */
static bool parse_string(bc_symbol_parser *p, bc_text *out)
{
    for (;;) {
        uint32_t c = 0;
        for (; is_plain(bc_symbol_peek(p)); p->at++)
            bc_text_char(out, bc_symbol_peek(p));
        if (!bc_symbol_take(p, '_'))
            return bc_symbol_fail(p, p->at, "the string does not end in _z");
        if (bc_symbol_take(p, 'z'))
            return true;
        if (!parse_escape(p, &c))
            return false;
        put_utf8(out, c);
    }
}

bool bc_symbol_names(bc_symbol_parser *p, unsigned count, tv_str *out)
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

bool bc_symbol_v3_constant(bc_symbol_parser *p, tv_constant *c)
{
    size_t start = p->at;
    char letter = bc_symbol_peek(p);
    if (!letter || !strchr("nsed", letter) || bc_symbol_second(p) != '_')
        return bc_symbol_fail(p, start - 1, "unknown kind of constant");
    p->at += 2;
    switch (letter) {
    case 'n': c->kind = TV_CONSTANT_NONE; return keep(p, "None", 4, &c->text);
    case 's': c->kind = TV_CONSTANT_STRING; return bc_symbol_names(p, 1, &c->text);
    case 'e': c->kind = TV_CONSTANT_ENUM; return bc_symbol_names(p, 3, &c->text);
    default:
        c->kind = TV_CONSTANT_DTYPE;
        if (!bc_symbol_dtype(p, &c->dtype))
            return false;
        return keep(p, bc_dtypes[c->dtype].numpy, strlen(bc_dtypes[c->dtype].numpy), &c->text);
    }
}
