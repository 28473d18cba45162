/* The driver's assembler for PTX: its options, its messages, and cubins through its linker. */
#ifndef TILEVM_LOADER_JIT_H
#define TILEVM_LOADER_JIT_H

#include "loader/image.h"

enum { LD_JIT_LOG = 8192 };

/* Options in the driver's form, and the log to which two of them point. */
typedef struct ld_jit {
    unsigned count, options[5];
    void *values[5];
    char log[LD_JIT_LOG]; /* ends with a zero, whatever the driver wrote */
} ld_jit;

/* target: a CUjit_target, 0 for the device's. The caller owns it (free); NULL: out of memory. A driver that loads
   lazily may write to it later: it must live as long as the module or library that was loaded with it. */
ld_jit *ld_jit_new(const ld_want *want, unsigned target);

/* Appends the driver's log, line by line; a line that names a line of the PTX is followed by the op from which that was
   generated. */
void ld_jit_explain(const ld_jit *jit, tv_str ptx, bc_text *out);

/* Does the code mean that PTX was not assembled, whichever call returned it? */
bool ld_jit_is_refusal(tvResult code);
/* Reports that, with the words of ld_jit_explain. Gives the code. */
tvResult ld_jit_fail(tvResult code, const bc_text *words);

/* PTX to a cubin through the driver's linker, in the current context; want->target 0: for its device, else for the
   target that the PTX names. words receives the linker's messages. The bytes are in the arena. The code is slower than
   the code that the driver's loader generates from PTX, because the linker assembles relocatable code
   (docs/reference/loader.md). */
tvResult ld_link(const ld_driver *driver, tv_str ptx, const ld_want *want, bc_arena *arena, bc_text *words,
                 const unsigned char **out_bytes, size_t *out_size);

#endif
