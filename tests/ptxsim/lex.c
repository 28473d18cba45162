/* PTX ISA, "Syntax": identifiers, integer and floating-point literals, comments. */
#include "tests/ptxsim/lex.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void ps_lex_fail(ps_lexer *lex, uint32_t line, const char *format, ...)
{
    if (!lex->error[0]) {
        va_list args;
        va_start(args, format);
        int used = snprintf(lex->error, sizeof lex->error, "line %u: ", (unsigned)line);
        vsnprintf(lex->error + used, sizeof lex->error - (size_t)used, format, args);
        va_end(args);
    }
    lex->at = lex->end;
    lex->token = (ps_token){.kind = PS_TOKEN_END, .line = line};
}

static bool is_word_char(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '$' || c == '%';
}

static char peek(const ps_lexer *lex, size_t distance)
{
    return (size_t)(lex->end - lex->at) > distance ? lex->at[distance] : '\0';
}

/* Skips one comment that starts here. A comment that has its line to itself is kept. */
static void skip_comment(ps_lexer *lex, bool line_start)
{
    const char *start = lex->at + 2;
    if (lex->at[1] == '/') {
        const char *newline = memchr(start, '\n', (size_t)(lex->end - start));
        lex->at = newline ? newline : lex->end;
        if (line_start) {
            while (start < lex->at && isspace((unsigned char)*start))
                start++;
            lex->comment = (tv_str){start, (size_t)(lex->at - start)};
        }
        return;
    }
    for (lex->at = start; lex->at < lex->end; lex->at++) {
        if (*lex->at == '\n')
            lex->line++;
        if (*lex->at == '*' && peek(lex, 1) == '/') {
            lex->at += 2;
            return;
        }
    }
}

static void skip_space(ps_lexer *lex)
{
    bool line_start = false;
    while (lex->at < lex->end) {
        if (*lex->at == '\n') {
            lex->line++;
            lex->at++;
            line_start = true;
        } else if (isspace((unsigned char)*lex->at) || *lex->at == '\0') {
            lex->at++;
        } else if (*lex->at == '/' && (peek(lex, 1) == '/' || peek(lex, 1) == '*')) {
            skip_comment(lex, line_start);
        } else {
            break;
        }
    }
}

/* A name, an opcode with its modifiers, or one directive. */
static void lex_word(ps_lexer *lex)
{
    const char *start = lex->at;
    bool directive = *lex->at == '.';
    lex->at++;
    while (lex->at < lex->end) {
        if (is_word_char(*lex->at))
            lex->at++;
        else if (*lex->at == ':' && peek(lex, 1) == ':' && is_word_char(peek(lex, 2)))
            lex->at += 2;
        else if (*lex->at == '.' && !directive && is_word_char(peek(lex, 1)))
            lex->at++;
        else
            break;
    }
    lex->token.kind = PS_TOKEN_WORD;
    lex->token.text = (tv_str){start, (size_t)(lex->at - start)};
}

static void lex_exact_float(ps_lexer *lex)
{
    unsigned digits = tolower((unsigned char)lex->at[1]) == 'f' ? 8 : 16;
    uint64_t bits = 0;
    lex->at += 2;
    for (unsigned i = 0; i < digits; i++) {
        char c = (char)tolower((unsigned char)peek(lex, 0));
        if (!isxdigit((unsigned char)c)) {
            ps_lex_fail(lex, lex->line, "a 0%c literal has %u hexadecimal digits", digits == 8 ? 'f' : 'd', digits);
            return;
        }
        bits = bits << 4 | (uint64_t)(isdigit((unsigned char)c) ? c - '0' : c - 'a' + 10);
        lex->at++;
    }
    lex->token.kind = PS_TOKEN_BITS;
    lex->token.bits = bits;
    lex->token.is_double = digits == 16;
}

static void lex_number(ps_lexer *lex)
{
    char text[80], second = (char)tolower((unsigned char)peek(lex, 1));
    if (*lex->at == '0' && (second == 'f' || second == 'd')) {
        lex_exact_float(lex);
        return;
    }
    bool prefixed = *lex->at == '0' && (second == 'x' || second == 'b'), is_float = false;
    size_t length = 0;
    while (lex->at < lex->end && length + 1 < sizeof text) {
        char c = *lex->at;
        bool sign = (c == '+' || c == '-') && !prefixed && length && tolower((unsigned char)text[length - 1]) == 'e';
        if (!isalnum((unsigned char)c) && c != '.' && !sign)
            break;
        if (!prefixed && (c == '.' || c == 'e' || c == 'E'))
            is_float = true;
        text[length++] = c;
        lex->at++;
    }
    text[length] = '\0';
    char *end = text;
    if (is_float) {
        lex->token.kind = PS_TOKEN_FLOAT;
        lex->token.number = strtod(text, &end);
    } else {
        lex->token.kind = PS_TOKEN_INTEGER;
        lex->token.bits = second == 'b' && prefixed ? strtoull(text + 2, &end, 2) : strtoull(text, &end, 0);
        if (*end == 'U' || *end == 'u')
            end++;
    }
    if (*end)
        ps_lex_fail(lex, lex->line, "'%s' is not a number", text);
}

static void lex_string(ps_lexer *lex)
{
    const char *start = ++lex->at;
    while (lex->at < lex->end && *lex->at != '"' && *lex->at != '\n')
        lex->at++;
    lex->token.kind = PS_TOKEN_STRING;
    lex->token.text = (tv_str){start, (size_t)(lex->at - start)};
    if (lex->at == lex->end || *lex->at != '"')
        ps_lex_fail(lex, lex->line, "a string without its end");
    else
        lex->at++;
}

void ps_lex_next(ps_lexer *lex)
{
    skip_space(lex);
    lex->token = (ps_token){.kind = PS_TOKEN_END, .line = lex->line};
    if (lex->at == lex->end)
        return;
    char c = *lex->at;
    if (isdigit((unsigned char)c)) {
        lex_number(lex);
    } else if (is_word_char(c) || (c == '.' && is_word_char(peek(lex, 1)))) {
        lex_word(lex);
    } else if (c == '"') {
        lex_string(lex);
    } else {
        lex->token.kind = PS_TOKEN_PUNCTUATION;
        lex->token.punctuation = c;
        lex->at++;
    }
}

void ps_lex_start(ps_lexer *lex, const char *text, size_t size)
{
    *lex = (ps_lexer){.at = text, .end = text + size, .line = 1};
    ps_lex_next(lex);
}

void ps_lex_skip_line(ps_lexer *lex)
{
    while (lex->token.kind != PS_TOKEN_END && lex->line == lex->token.line && lex->at < lex->end && *lex->at != '\n')
        lex->at++;
    ps_lex_next(lex);
}

bool ps_lex_take(ps_lexer *lex, char punctuation)
{
    if (!ps_lex_is(lex, punctuation))
        return false;
    ps_lex_next(lex);
    return true;
}

bool ps_lex_take_word(ps_lexer *lex, const char *word)
{
    if (!ps_lex_word(lex, word))
        return false;
    ps_lex_next(lex);
    return true;
}

void ps_lex_expect(ps_lexer *lex, char punctuation)
{
    if (ps_lex_take(lex, punctuation))
        return;
    const ps_token *t = &lex->token;
    if (t->kind == PS_TOKEN_WORD)
        ps_lex_fail(lex, t->line, "expected '%c', found '%.*s'", punctuation, (int)t->text.len, t->text.ptr);
    else if (t->kind == PS_TOKEN_PUNCTUATION)
        ps_lex_fail(lex, t->line, "expected '%c', found '%c'", punctuation, t->punctuation);
    else
        ps_lex_fail(lex, t->line, "expected '%c'", punctuation);
}
