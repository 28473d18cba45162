/* Live ranges of values in kernels with large tiles, and the places of kept tiles in local memory. */
#ifndef TILEVM_CODEGEN_PLAN_STRIPS_H
#define TILEVM_CODEGEN_PLAN_STRIPS_H

#include "codegen/values/strips.h"

/* Does the op find the tile in any layout, given one variant of it? */
static inline bool cg_reads_any_layout(const ct_use *use)
{
    return use->op->opcode < OP_LIMIT && (!use->read || use->read == CT_READ_IN_SEVERAL);
}

/* ---- live ranges of values (codegen/plan/strips_lives.c) ---- */

/* Ops are numbered in pre-order. A value that is read in a loop but computed outside is live to the loop's end; the
   operands of lazy values are live as long as these. */
typedef struct cg_lives {
    ct_op **ops;   /* by number, from 1 */
    uint32_t *end; /* by number: the last op inside it */
    uint32_t count;
    uint32_t *last; /* by value id: the op that reads the value last; 0: none */
    uint32_t *any;  /* by id of the unconverted value: the same for ops that look it up in several layouts */
} cg_lives;
/* False: out of memory. */
bool cg_lives_find(cg_func *c, cg_lives *out);

/* ---- local memory ---- */

/* Assigns addresses in local memory to kept tiles: c->local_bytes, cg_variant.local (codegen/plan/strips_local.c). */
void cg_strips_place(cg_func *c);

#endif
