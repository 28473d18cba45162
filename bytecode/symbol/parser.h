/* What the files of the decoder of mangled symbols share. All that parse give false after an error was kept in
   p->error, or when memory ran out. */
#ifndef TILEVM_BYTECODE_SYMBOL_PARSER_H
#define TILEVM_BYTECODE_SYMBOL_PARSER_H

#include "bytecode/base/compiler.h"
#include "bytecode/symbol/mangle.h"

typedef struct bc_symbol_parser {
    bc_arena *arena;
    tv_str s;
    size_t at;
    unsigned convention;
    unsigned depth;
    bc_symbol_error *error;
} bc_symbol_parser;

/* The next character; 0 at the end. */
static inline char bc_symbol_peek(const bc_symbol_parser *p)
{
    return p->at < p->s.len ? p->s.ptr[p->at] : 0;
}

static inline char bc_symbol_second(const bc_symbol_parser *p)
{
    return p->at + 1 < p->s.len ? p->s.ptr[p->at + 1] : 0;
}

static inline bool bc_symbol_take(bc_symbol_parser *p, char c)
{
    if (bc_symbol_peek(p) != c || !c)
        return false;
    p->at++;
    return true;
}

static inline bool bc_symbol_digit(char c)
{
    return c >= '0' && c <= '9';
}

static inline bool bc_symbol_lower(char c)
{
    return c >= 'a' && c <= 'z';
}

/* 0 to 15 for a lower-case hexadecimal digit, else -1. */
int bc_symbol_hex_value(char c);

/* Keeps a message about the character at offset; false. */
bool bc_symbol_fail(bc_symbol_parser *p, size_t offset, const char *format, ...) TV_PRINTF(3, 4);

/* Digits, with a sign if given. Values beyond 64 bits saturate and clear out_exact. */
bool bc_symbol_int(bc_symbol_parser *p, int64_t *out, bool *out_exact);
bool bc_symbol_int64(bc_symbol_parser *p, int64_t *out);
bool bc_symbol_divisor(bc_symbol_parser *p, int64_t *out);
/* Unsigned decimal with a limit. */
bool bc_symbol_count(bc_symbol_parser *p, const char *what, uint64_t limit, uint32_t *out);
/* Exactly count lower-case hexadecimal digits. */
bool bc_symbol_hex(bc_symbol_parser *p, unsigned count, uint64_t *out);
bool bc_symbol_dtype(bc_symbol_parser *p, tv_dtype *out);

/* Constants, after 'B', 'I', 'F'; and after 'C': a letter and '_'. */
bool bc_symbol_bool_constant(bc_symbol_parser *p, tv_constant *c);
bool bc_symbol_int_constant(bc_symbol_parser *p, tv_constant *c);
bool bc_symbol_float_constant(bc_symbol_parser *p, tv_constant *c);
bool bc_symbol_v3_constant(bc_symbol_parser *p, tv_constant *c);
/* count strings with dots between them. */
bool bc_symbol_names(bc_symbol_parser *p, unsigned count, tv_str *out);

#endif
