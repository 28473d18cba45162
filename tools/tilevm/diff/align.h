/* A function as a list of ops, and which of them are another one's. */
#ifndef TILEVM_TOOLS_DIFF_ALIGN_H
#define TILEVM_TOOLS_DIFF_ALIGN_H

#include "bytecode/module.h"

#define FLAT_NONE UINT32_MAX

typedef struct flat_function {
    const bc_function *f;
    const bc_op **ops;      /* in pre-order */
    uint64_t *full;         /* by position: the op and everything that leads to it */
    uint64_t *own;          /* by position: the op, its types and attributes */
    uint64_t *shallow;      /* by position: the same and the op it stands in */
    uint32_t *parent;       /* by position: of the op it stands in, or NONE */
    uint64_t *values;       /* by value id: full hash */
    uint32_t *position;     /* by value id: of the defining op; of the op whose region it is an argument of, if any */
    const bc_value **other; /* by value id: the value of the other side it is aligned with */
    uint32_t *pair;         /* by position: position on the other side, or NONE */
    uint32_t count;
} flat_function;

/* The type of the value that a constant attribute of the op stands for. */
static inline const bc_type *flat_first_type(const bc_op *op)
{
    return op->result_count ? bc_results(op)[0].type : NULL;
}

/* False: out of memory. */
bool flat_open(bc_arena *arena, const bc_function *f, flat_function *flat);
/* Fills in pair on both sides. */
bool flat_align(bc_arena *arena, flat_function *a, flat_function *b);
/* Fills in other of a: values of paired ops, and arguments of their blocks, stand for each other. */
void flat_pair_values(const flat_function *a, const flat_function *b);

#endif
