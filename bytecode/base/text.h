/* A growing byte string: text that is being built, or bytecode that is being written. */
#ifndef TILEVM_BYTECODE_BASE_TEXT_H
#define TILEVM_BYTECODE_BASE_TEXT_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>

#include "bytecode/base/compiler.h"
#include "tilevm/tilevm.h"

typedef struct bc_text {
    tv_allocator allocator;
    char *ptr; /* len bytes, then a zero byte; NULL while empty */
    size_t len, size;
    bool failed; /* out of memory at some point; further appends do nothing */
} bc_text;

/* allocator NULL: malloc and free. */
void bc_text_init(bc_text *text, const tv_allocator *allocator);
void bc_text_release(bc_text *text);
void bc_text_clear(bc_text *text); /* keeps the memory */

void bc_text_bytes(bc_text *text, const void *bytes, size_t count);
/* The same as the function of a tv_writer whose user is the text; false once memory ran out. */
bool bc_text_append(void *text, const void *bytes, size_t count);
void bc_text_char(bc_text *text, char c);
void bc_text_puts(bc_text *text, const char *s);
void bc_text_str(bc_text *text, tv_str s);
void bc_text_number(bc_text *text, uint64_t x, unsigned base); /* base 2 to 16 */
void bc_text_signed(bc_text *text, int64_t x);                 /* decimal */
void bc_text_printf(bc_text *text, const char *format, ...) TV_PRINTF(2, 3);
void bc_text_vprintf(bc_text *text, const char *format, va_list args) TV_PRINTF(2, 0);

/* The text so far, borrowed until the next append. */
tv_str bc_text_get(const bc_text *text);
/* The same for a message, terminated: "out of memory" where the text is not whole. */
const char *bc_text_words(const bc_text *text);

bool bc_str_eq(tv_str a, tv_str b);
bool bc_str_is(tv_str s, const char *literal);
tv_str bc_str(const char *terminated);

#endif
