/* Finds what an entry's symbol promises of its parameters. */
#ifndef TILEVM_CODEGEN_PROMISES_H
#define TILEVM_CODEGEN_PROMISES_H

#include "bytecode/module.h"
#include "codegen/kernel/promises.h"

/* A symbol that does not fit the parameters promises nothing. False: out of memory. */
bool cg_find_promises(const bc_module *m, const bc_function *f, bc_arena *arena, cg_promises *out);

#endif
