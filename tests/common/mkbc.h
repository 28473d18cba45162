/* Annotated bytes to bytecode, so that broken files can be reviewed as text.

   A file is a list of words; # starts a comment that runs to the end of the line. What a word writes:

     7f  cb*7               a byte in two hex digits; the same byte seven times
     "text\n\x00"           the bytes of the text; escapes \n \t \0 \" \\ \xNN
     varint N [in B]        unsigned LEB128; with `in B` stretched to B bytes (not the shortest form)
     svarint N              zigzag, then varint
     u8 N  u16 N  u32 N  u64 N  i32 N  i64 N       little-endian
     i32s [N ...]  i64s [N ...]  bools [N ...]     a varint count, then the elements
     @name  @name+1         varint of the index of a named table item; usable before the item, and wherever N stands
     header 13.N [tag N]    magic, version and tag
     align N [pad BYTE]     bytes CB up to a multiple of N, counted from the start of the section's payload
     end                    the end marker

     section ID [align N | unaligned] [length N] [pad BYTE] { ... }
         id byte, length, and unless `unaligned` the alignment and the padding; then what stands inside. ID is a
         number, or string func debug constant type global producer, which also know their usual alignment.
         A number has no alignment of its own. `length` writes another length than that of the payload.
     table W [count N] [pad BYTE] { item [name] [at N] { ... } ... }
         varint count, padding to W, a W-byte offset for each item, the items. `at` writes another offset, `count`
         another count.
     len [N] { ... }        a varint with the number of bytes inside (or N), then these bytes

   Numbers are decimal, 0x..., or negative; an i64 may also be `min`, the value that stands for a dynamic size.
   The assembler checks its own syntax only: it writes any bytecode, however broken. */
#ifndef TILEVM_TESTS_COMMON_MKBC_H
#define TILEVM_TESTS_COMMON_MKBC_H

#include <stdbool.h>
#include <stddef.h>

typedef struct mkbc_result {
    unsigned char *bytes; /* malloc'ed, owned by the caller; NULL after an error */
    size_t size;
    unsigned line;   /* of the error, from 1 */
    char error[128]; /* empty when it went well */
} mkbc_result;

/* Assembles text (not terminated). False after an error: result->error and line say what and where. */
bool mkbc_assemble(const char *text, size_t size, mkbc_result *out_result);

#endif
