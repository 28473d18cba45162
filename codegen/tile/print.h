/* Prints the tile IR: one op per line, with nested regions. Values of the function have the disassembler's names;
   others are %t0, %t1 in the order of their creation, so that a value has the same name after every pass. */
#ifndef TILEVM_CODEGEN_TILE_PRINT_H
#define TILEVM_CODEGEN_TILE_PRINT_H

#include "bytecode/base/text.h"
#include "codegen/tile/ir.h"

/* Comments of passes: words without a newline, or none. Comments about a value are below its op. Those about an op
   are in braces after an op of the tile IR, and below any other op. */
typedef struct ct_comments {
    void *user;
    void (*value)(void *user, const ct_value *v, bc_text *out);
    void (*op)(void *user, const ct_op *op, bc_text *out);
} ct_comments;

/* Appends all ops. out->failed: out of memory. */
void ct_print(const bc_module *m, const ct_func *f, const ct_comments *comments, bc_text *out);

#endif
