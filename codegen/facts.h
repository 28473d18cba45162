/* What is known about values before any instruction: which power of two divides an integer or an address, and constants. */
#ifndef TILEVM_CODEGEN_FACTS_H
#define TILEVM_CODEGEN_FACTS_H

#include "bytecode/module.h"

typedef struct cg_fact {
    uint8_t divisor;   /* log2 of a power of two that divides every element (pointers: the address); 63 for zero */
    bool constant;     /* every element is `value` */
    int64_t value;     /* sign-extended */
} cg_fact;

/* By value id. NULL: out of memory. */
cg_fact *cg_find_facts(const bc_module *m, const bc_function *f, bc_arena *arena);

#endif
