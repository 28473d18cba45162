/* Tokens of the text, the errors at them, and the small phrases that everything is made of. */
#include <stdio.h>
#include <string.h>

#include "bytecode/number/number.h"
#include "bytecode/parse/parse.h"

/* ---- tokens ---- */

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}
static bool is_hex_digit(char c)
{
    return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}
static bool is_word_char(char c)
{
    return is_letter(c) || is_digit(c) || c == '.' || c == '$';
}

/* White space and comments. True when a line ended on the way. */
static bool skip_space(bc_parser *p)
{
    bool new_line = p->at == p->text;
    while (p->at < p->end) {
        char c = *p->at;
        if (c == '/' && p->end - p->at > 1 && p->at[1] == '/') {
            const char *line_end = memchr(p->at, '\n', (size_t)(p->end - p->at));
            p->at = line_end ? line_end : p->end;
            continue;
        }
        if (c != ' ' && c != '\t' && c != '\r' && c != '\n')
            break;
        new_line |= c == '\n';
        p->at++;
    }
    return new_line;
}

static const char *skip_while(const bc_parser *p, const char *at, bool (*wanted)(char))
{
    while (at < p->end && wanted(*at))
        at++;
    return at;
}

static bool is_value_char(char c)
{
    return is_word_char(c) || c == '-';
}

static void lex_number(bc_parser *p)
{
    const char *at = p->at;
    p->tok.kind = BC_TOK_INT;
    if (*at == '0' && p->end - at > 2 && at[1] == 'x' && is_hex_digit(at[2])) {
        p->at = skip_while(p, at + 2, is_hex_digit);
        return;
    }
    at = skip_while(p, at, is_digit);
    if (at < p->end && *at == '.') {
        p->tok.kind = BC_TOK_FLOAT;
        at = skip_while(p, at + 1, is_digit);
        if (at < p->end && (*at == 'e' || *at == 'E')) {
            const char *digits = at + 1;
            if (digits < p->end && (*digits == '+' || *digits == '-'))
                digits++;
            if (digits < p->end && is_digit(*digits))
                at = skip_while(p, digits, is_digit);
        }
    }
    p->at = at;
}

/* From the opening quote; false: it does not end on its line. */
static bool lex_quoted(bc_parser *p)
{
    const char *at = p->at + 1;
    while (at < p->end && *at != '"' && *at != '\n') {
        if (*at == '\\' && p->end - at > 1 && at[1] != '\n')
            at++;
        at++;
    }
    bool closed = at < p->end && *at == '"';
    p->tok.name = (tv_str){p->at + 1, (size_t)(at - p->at - 1)};
    p->at = closed ? at + 1 : at;
    return closed;
}

/* What follows a sigil: %name#index, #name, !name, ^name. */
static void lex_named(bc_parser *p, bc_token_kind kind)
{
    const char *start = p->at + 1;
    const char *at = skip_while(p, start, kind == BC_TOK_VALUE ? is_value_char : is_word_char);
    p->tok.kind = at > start ? (uint8_t)kind : BC_TOK_BAD;
    p->tok.name = (tv_str){start, (size_t)(at - start)};
    if (kind == BC_TOK_VALUE && at < p->end && *at == '#' && p->end - at > 1 && is_digit(at[1])) {
        p->tok.has_index = true;
        for (at++; at < p->end && is_digit(*at); at++)
            if (p->tok.index <= BC_MAX_OPERANDS)
                p->tok.index = p->tok.index * 10 + (uint32_t)(*at - '0');
    }
    p->at = at > start ? at : start;
}

static void lex_at(bc_parser *p)
{
    const char *start = p->at + 1;
    if (start < p->end && *start == '"') {
        p->at = start;
        p->tok.kind = lex_quoted(p) ? BC_TOK_AT : BC_TOK_BAD;
        return;
    }
    lex_named(p, BC_TOK_AT);
}

static void lex_token(bc_parser *p)
{
    char c = *p->at;
    if (is_letter(c)) {
        p->tok.kind = BC_TOK_WORD;
        p->at = skip_while(p, p->at, is_word_char);
        p->tok.name = (tv_str){p->tok.ptr, (size_t)(p->at - p->tok.ptr)};
        return;
    }
    if (is_digit(c)) {
        lex_number(p);
        return;
    }
    switch (c) {
    case '"': p->tok.kind = lex_quoted(p) ? BC_TOK_STRING : BC_TOK_BAD; return;
    case '%': lex_named(p, BC_TOK_VALUE); return;
    case '#': lex_named(p, BC_TOK_HASH); return;
    case '!': lex_named(p, BC_TOK_BANG); return;
    case '^': lex_named(p, BC_TOK_CARET); return;
    case '@': lex_at(p); return;
    default: break;
    }
    if (c == '-' && p->end - p->at > 1 && p->at[1] == '>') {
        p->tok.kind = BC_TOK_ARROW;
        p->at += 2;
        return;
    }
    p->tok.kind = c && strchr("(){}[]<>,:=?+-*/|;", c) ? BC_TOK_PUNCT : BC_TOK_BAD;
    p->tok.c = c;
    p->at++;
}

void bc_next(bc_parser *p)
{
    bool first = skip_space(p);
    p->tok = (bc_token){.kind = BC_TOK_END, .ptr = p->at, .first_on_line = first};
    if (p->at < p->end && p->errors < BC_MAX_TEXT_ERRORS && !p->no_memory)
        lex_token(p);
    p->tok.len = (size_t)(p->at - p->tok.ptr);
}

void bc_go_to(bc_parser *p, const char *at)
{
    p->at = at;
    bc_next(p);
}

bool bc_is_punct(const bc_parser *p, char c)
{
    return p->tok.kind == BC_TOK_PUNCT && p->tok.c == c;
}

bool bc_is_word(const bc_parser *p, const char *word)
{
    return p->tok.kind == BC_TOK_WORD && bc_str_is(p->tok.name, word);
}

bool bc_take_punct(bc_parser *p, char c)
{
    if (!bc_is_punct(p, c))
        return false;
    bc_next(p);
    return true;
}

bool bc_take_word(bc_parser *p, const char *word)
{
    if (!bc_is_word(p, word))
        return false;
    bc_next(p);
    return true;
}

bool bc_expect_punct(bc_parser *p, char c)
{
    char what[] = {'\'', c, '\'', '\0'};
    return bc_take_punct(p, c) || bc_expected(p, what);
}

bool bc_expect_word(bc_parser *p, const char *word)
{
    if (bc_take_word(p, word))
        return true;
    char what[64];
    snprintf(what, sizeof what, "'%s'", word);
    return bc_expected(p, what);
}

bool bc_expect_arrow(bc_parser *p)
{
    if (p->tok.kind != BC_TOK_ARROW)
        return bc_expected(p, "'->'");
    bc_next(p);
    return true;
}

tv_str bc_without_prefix(tv_str word)
{
    static const char prefix[] = "cuda_tile.";
    size_t len = sizeof prefix - 1;
    if (word.len > len && memcmp(word.ptr, prefix, len) == 0)
        return (tv_str){word.ptr + len, word.len - len};
    return word;
}

/* ---- errors ---- */

enum { SHOWN_LINE = 400 }; /* bytes of a source line in a diagnostic */

/* The line that the token is in, cut down around it. */
static tv_str line_of(const bc_parser *p, const bc_token *at, uint32_t *out_line, uint32_t *out_column)
{
    const char *start = at->ptr, *stop = at->ptr;
    while (start > p->text && start[-1] != '\n')
        start--;
    while (stop < p->end && *stop != '\n' && *stop != '\r')
        stop++;
    uint32_t line = 1;
    for (const char *c = p->text; c < start; c++)
        line += *c == '\n';
    *out_line = line;
    *out_column = (uint32_t)(at->ptr - start) + 1;
    if (at->ptr - start > SHOWN_LINE / 2)
        start = at->ptr - SHOWN_LINE / 2;
    if (stop - start > SHOWN_LINE)
        stop = start + SHOWN_LINE;
    return (tv_str){start, (size_t)(stop - start)};
}

static void report(bc_parser *p, bc_rule rule, const bc_token *at, tv_str message)
{
    tv_diag diag = {
        .severity = bc_rules[rule].severity,
        .rule = bc_rules[rule].id,
        .message = message,
        .offset = (uint64_t)(at->ptr - p->text),
        .help = bc_str(bc_rules[rule].help),
    };
    if (p->function)
        diag.function = p->function->name->s;
    if (p->op)
        diag.op = bc_str(p->op->name);
    diag.op_text = line_of(p, at, &diag.line, &diag.column);
    diag.caret = (uint32_t)(at->ptr - diag.op_text.ptr);
    size_t left = diag.op_text.len - diag.caret;
    diag.caret_len = (uint32_t)(at->len < left ? at->len : left);
    if (p->sink.report)
        p->sink.report(p->sink.user, &diag);
}

bool bc_parse_fail(bc_parser *p, bc_rule rule, const bc_token *at, const char *format, ...)
{
    if (p->panic || p->no_memory || p->errors >= BC_MAX_TEXT_ERRORS)
        return false;
    p->panic = true;
    bc_text message;
    bc_text_init(&message, &p->m->arena.allocator);
    va_list args;
    va_start(args, format);
    bc_text_vprintf(&message, format, args);
    va_end(args);
    bc_token here = *at;
    if (here.kind == BC_TOK_END && here.len == 0) { /* point at the last thing that is there */
        while (here.ptr > p->text && strchr(" \t\r\n", here.ptr[-1]))
            here.ptr--;
        here.len = here.ptr > p->text;
        here.ptr -= here.len;
    }
    report(p, rule, &here, bc_str(bc_text_words(&message)));
    p->errors++;
    bc_text_release(&message);
    return false;
}

bool bc_expected(bc_parser *p, const char *what)
{
    const bc_token *t = &p->tok;
    if (t->kind == BC_TOK_BAD && *t->ptr == '"')
        return bc_parse_fail(p, BC_RULE_A_002, t, "a string that does not end on its line");
    if (t->kind == BC_TOK_BAD && (unsigned char)*t->ptr >= 0x20 && (unsigned char)*t->ptr < 0x7f)
        return bc_parse_fail(p, BC_RULE_A_002, t, "'%c' means nothing here; expected %s", *t->ptr, what);
    if (t->kind == BC_TOK_BAD)
        return bc_parse_fail(p, BC_RULE_A_002, t, "the byte 0x%02x cannot stand here",
                             (unsigned)(unsigned char)*t->ptr);
    if (t->kind == BC_TOK_END)
        return bc_parse_fail(p, BC_RULE_A_001, t, "the text ends where %s was expected", what);
    tv_str found = {t->ptr, t->len};
    return bc_parse_fail(p, BC_RULE_A_001, t, "expected %s, found '%.*s'", what, BC_STR(found));
}

bool bc_parse_no_memory(bc_parser *p)
{
    p->no_memory = true;
    return false;
}

/* The braces are counted from the start, since the error may be inside some. */
void bc_recover(bc_parser *p, const char *start, bool (*starts)(const bc_parser *p, unsigned braces))
{
    const char *reached = p->tok.ptr > start ? p->tok.ptr : start + 1;
    unsigned braces = 0;
    for (bc_go_to(p, start); p->tok.kind != BC_TOK_END; bc_next(p)) {
        bool closes = bc_is_punct(p, '}');
        if (p->tok.ptr >= reached && (starts(p, braces) || (closes && braces == 0)))
            break;
        braces += bc_is_punct(p, '{');
        braces -= closes && braces;
    }
    p->panic = p->tok.kind == BC_TOK_END; /* one report that the text ends is enough */
}

/* ---- phrases ---- */

bool bc_parse_u64(bc_parser *p, uint64_t *out, bool *out_negative)
{
    bc_token at = p->tok;
    *out_negative = bc_take_punct(p, '-');
    if (!*out_negative)
        bc_take_punct(p, '+');
    if (p->tok.kind != BC_TOK_INT)
        return bc_expected(p, "an integer");
    tv_str digits = {p->tok.ptr, p->tok.len};
    bool hex = digits.len > 2 && digits.ptr[1] == 'x';
    uint64_t value = 0, base = hex ? 16 : 10;
    for (size_t i = hex ? 2 : 0; i < digits.len; i++) {
        char c = digits.ptr[i];
        uint64_t digit = (uint64_t)(is_digit(c) ? c - '0' : (c | 0x20) - 'a' + 10);
        if (value > (UINT64_MAX - digit) / base)
            return bc_parse_fail(p, BC_RULE_A_010, &p->tok, "%.*s does not fit 64 bits", BC_STR(digits));
        value = value * base + digit;
    }
    if (*out_negative && value > (uint64_t)INT64_MAX + 1)
        return bc_parse_fail(p, BC_RULE_A_010, &at, "-%.*s does not fit 64 bits", BC_STR(digits));
    *out = *out_negative ? 0 - value : value;
    bc_next(p);
    return true;
}

bool bc_parse_i64(bc_parser *p, int64_t *out)
{
    bc_token at = p->tok;
    uint64_t value;
    bool negative;
    if (!bc_parse_u64(p, &value, &negative))
        return false;
    if (!negative && value > INT64_MAX)
        return bc_parse_fail(p, BC_RULE_A_010, &at, "%llu does not fit a signed 64-bit number",
                             (unsigned long long)value);
    *out = (int64_t)value;
    return true;
}

bool bc_parse_range(bc_parser *p, const char *what, int64_t min, int64_t max, int64_t *out)
{
    bc_token at = p->tok;
    if (!bc_parse_i64(p, out))
        return false;
    if (*out < min || *out > max)
        return bc_parse_fail(p, BC_RULE_A_010, &at, "%s %lld is not between %lld and %lld", what, (long long)*out,
                             (long long)min, (long long)max);
    return true;
}

static int hex_value(char c)
{
    return is_digit(c) ? c - '0' : is_hex_digit(c) ? (c | 0x20) - 'a' + 10 : -1;
}

/* Replaces \n, \t, \", \\ and \XX. */
static const bc_string *unescape(bc_parser *p, tv_str s)
{
    if (!memchr(s.ptr, '\\', s.len))
        return bc_string_add(p->m, s, true);
    char *bytes = bc_new(&p->scratch, char, s.len);
    if (!bytes)
        return NULL;
    size_t len = 0;
    for (size_t i = 0; i < s.len; i++) {
        char c = s.ptr[i];
        if (c == '\\' && i + 1 < s.len) {
            int high = i + 2 < s.len ? hex_value(s.ptr[i + 1]) : -1, low = high >= 0 ? hex_value(s.ptr[i + 2]) : -1;
            c = low >= 0              ? (char)(high << 4 | low)
                : s.ptr[i + 1] == 'n' ? '\n'
                : s.ptr[i + 1] == 't' ? '\t'
                                      : s.ptr[i + 1];
            i += low >= 0 ? 2 : 1;
        }
        bytes[len++] = c;
    }
    return bc_string_add(p->m, (tv_str){bytes, len}, true);
}

/* The name of the token, and goes on. */
static bool take_name(bc_parser *p, const bc_string **out)
{
    *out = unescape(p, p->tok.name);
    if (!*out)
        return bc_parse_no_memory(p);
    bc_next(p);
    return true;
}

bool bc_parse_string(bc_parser *p, const bc_string **out)
{
    return p->tok.kind == BC_TOK_STRING ? take_name(p, out) : bc_expected(p, "a string");
}

bool bc_parse_symbol(bc_parser *p, const bc_string **out)
{
    return p->tok.kind == BC_TOK_AT ? take_name(p, out) : bc_expected(p, "a name such as @kernel");
}

/* ---- numbers and names of attributes ---- */

/* The word of #cuda_tile.word, if the token is one. */
bool bc_at_dialect_attr(const bc_parser *p, tv_str *out)
{
    tv_str name = p->tok.name;
    *out = bc_without_prefix(name);
    return p->tok.kind == BC_TOK_HASH && out->len < name.len;
}

bool bc_take_number(bc_parser *p, bc_token *out)
{
    *out = p->tok;
    if (bc_is_punct(p, '-') || bc_is_punct(p, '+'))
        bc_next(p);
    if (p->tok.kind != BC_TOK_INT && p->tok.kind != BC_TOK_FLOAT)
        return bc_expected(p, "a number");
    if (p->tok.ptr - out->ptr > 1)
        return bc_parse_fail(p, BC_RULE_A_001, out, "a sign must stand directly before its number");
    out->kind = p->tok.kind;
    out->len = (size_t)(p->tok.ptr + p->tok.len - out->ptr);
    bc_next(p);
    return true;
}

/* A decimal number beyond the largest finite one is infinite, as for MLIR, where the kind has infinities. */
static bool is_too_large(const bc_token *number, bc_kind kind, uint64_t *out)
{
    const bc_float_format *f = bc_float_format_of(kind);
    if (number->kind != BC_TOK_FLOAT || !f || f->specials != BC_SPECIALS_IEEE)
        return false;
    bool negative = number->ptr[0] == '-';
    *out = f->infinity | (uint64_t)negative << (bc_kind_bits(kind) - 1);
    return true;
}

bool bc_number_bits(bc_parser *p, const bc_token *number, bc_kind kind, uint64_t *out)
{
    tv_str s = {number->ptr, number->len};
    if (bc_parse_number(s, kind, out) || is_too_large(number, kind, out))
        return true;
    const char *problem = bc_parse_problem(s, kind);
    return bc_parse_fail(p, BC_RULE_A_010, number, "%.*s %s (%s)", BC_STR(s), problem ? problem : "is not a number",
                         bc_kinds[kind].text);
}
