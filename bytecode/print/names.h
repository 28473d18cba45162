/* SSA names of a function, the ones MLIR's printer gives: hints from the ops made unique within their region and the
   regions around it, else numbers. */
#ifndef TILEVM_BYTECODE_PRINT_NAMES_H
#define TILEVM_BYTECODE_PRINT_NAMES_H

#include "bytecode/base/text.h"
#include "bytecode/number/dense.h"
#include "bytecode/print/format.h"
#include "bytecode/module.h"

typedef struct bc_names bc_names;

/* Names every value of f. Memory comes from scratch, and the result lives as long as that. NULL: out of memory. */
bc_names *bc_names_new(const bc_module *m, const bc_function *f, bc_formats *formats, bc_dense_cache *dense,
                       bc_arena *scratch);

/* Appends the value as an operand: %name, %12, %3#1. */
void bc_print_value(bc_text *out, const bc_names *names, const bc_value *value);
/* Appends the results as a definition lists them: %a, %b:2. Nothing for an op without results. */
void bc_print_results(bc_text *out, const bc_names *names, const bc_op *op);

/* A result that the op has, but that the version of its module cannot write (print_tko in 13.1): MLIR names and types
   it all the same. The row, or NULL. */
const bc_row *bc_unwritten_result(const bc_module *m, const bc_op *op);

#endif
