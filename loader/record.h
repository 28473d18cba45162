/* Launch records: what a launch must know about each entry of a compiled image, read from its PTX. */
#ifndef TILEVM_LOADER_RECORD_H
#define TILEVM_LOADER_RECORD_H

#include <stdbool.h>
#include <stdint.h>

#include "bytecode/base/arena.h"
#include "bytecode/base/text.h"

typedef struct ld_record {
    const char *name;  /* of the entry */
    uint32_t block[3]; /* threads it was compiled for (.reqntid); 0: not fixed */
    uint32_t param_count;
    uint32_t param_bytes;  /* of the parameters with their alignment */
    uint32_t shared_bytes; /* dynamic shared memory to launch with */
    bool only_block;       /* code from elsewhere: nothing but the block is known, and it need be no Tile IR */
} ld_record;

/* The entries of PTX text, in its order, from its .entry directives; and, for dynamic shared memory, from comment lines
       // launch NAME shared BYTES
   False: out of memory (the arena says so), or the text is not PTX as far as it was looked at. */
bool ld_records_from_ptx(bc_arena *arena, tv_str ptx, ld_record **out_records, size_t *out_count);

/* One line for each, and back. False: out of memory, or a line that is none of ours. */
void ld_records_print(const ld_record *records, size_t count, bc_text *out);
bool ld_records_parse(bc_arena *arena, tv_str text, ld_record **out_records, size_t *out_count);

/* The comment of the form "// op ..." that stands before a line (from 1) of PTX, for messages about that line; empty if
   there is none. */
tv_str ld_ptx_origin(tv_str ptx, unsigned line);
/* The word after .target: "sm_90a"; empty if there is none. */
tv_str ld_ptx_target(tv_str ptx);

#endif
