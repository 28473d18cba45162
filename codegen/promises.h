/* Finds what an entry's symbol promises about its parameters. */
#ifndef TILEVM_CODEGEN_PROMISES_H
#define TILEVM_CODEGEN_PROMISES_H

#include "bytecode/module.h"
#include "codegen/kernel/promises.h"

/* Reads the promises of the symbol. If it does not match the parameters, it promises nothing. False: out of memory. */
bool cg_find_promises(const bc_module *m, const bc_function *f, bc_arena *arena, cg_promises *out);

#endif
