/* Words of PTX text. After an error only END follows. */
#ifndef TILEVM_TESTS_PTXSIM_LEX_H
#define TILEVM_TESTS_PTXSIM_LEX_H

#include "bytecode/base/arena.h"
#include "bytecode/base/text.h"

typedef enum ps_token_kind {
    PS_TOKEN_END,
    PS_TOKEN_WORD,
    PS_TOKEN_INTEGER,
    PS_TOKEN_FLOAT,
    PS_TOKEN_BITS /* 0f..., 0d... */,
    PS_TOKEN_STRING,
    PS_TOKEN_PUNCTUATION
} ps_token_kind;

typedef struct ps_token {
    ps_token_kind kind;
    tv_str text; /* WORD: the name; STRING: what is between the quotes */
    char punctuation;
    uint64_t bits;  /* INTEGER, BITS */
    bool is_double; /* BITS: 0d */
    double number;  /* FLOAT */
    uint32_t line;
} ps_token;

typedef struct ps_lexer {
    const char *at, *end;
    uint32_t line;
    ps_token token;  /* the current one */
    tv_str comment;  /* of the last line that holds a comment alone */
    char error[200]; /* empty: none */
} ps_lexer;

void ps_lex_start(ps_lexer *lex, const char *text, size_t size);
void ps_lex_next(ps_lexer *lex);
/* Goes to the first token of the next line. */
void ps_lex_skip_line(ps_lexer *lex);
/* Records the first error, with its line. */
void ps_lex_fail(ps_lexer *lex, uint32_t line, const char *format, ...) TV_PRINTF(3, 4);

static inline bool ps_lex_is(const ps_lexer *lex, char punctuation)
{
    return lex->token.kind == PS_TOKEN_PUNCTUATION && lex->token.punctuation == punctuation;
}
static inline bool ps_lex_word(const ps_lexer *lex, const char *word)
{
    return lex->token.kind == PS_TOKEN_WORD && bc_str_is(lex->token.text, word);
}
/* Takes it if it is there. */
bool ps_lex_take(ps_lexer *lex, char punctuation);
bool ps_lex_take_word(ps_lexer *lex, const char *word);
/* Takes it or fails. */
void ps_lex_expect(ps_lexer *lex, char punctuation);

#endif
