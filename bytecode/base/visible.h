/* Text of untrusted files on its way to people and to formats that are UTF-8. */
#ifndef TILEVM_BYTECODE_BASE_VISIBLE_H
#define TILEVM_BYTECODE_BASE_VISIBLE_H

#include "bytecode/base/text.h"

/* The first character of s, which is not empty, as it is shown (bc_text_visible). Gives the bytes that it has in s. */
typedef struct bc_visible {
    char bytes[16];
    size_t len;
} bc_visible;
size_t bc_visible_character(tv_str s, const char *keep, bc_visible *out);

/* Appends s as a terminal may get it: what is not UTF-8, and control characters (those of ASCII and the 32 from U+0080
   on) but those in keep, as \xNN for each byte. */
void bc_text_visible(bc_text *text, tv_str s, const char *keep);

/* Appends s as UTF-8: U+FFFD stands for a zero byte and for each byte that is not part of a character. */
void bc_text_utf8(bc_text *text, tv_str s);

#endif
