/* The parts of the strips pass. */
#ifndef TILEVM_CODEGEN_PASSES_STRIPS_H
#define TILEVM_CODEGEN_PASSES_STRIPS_H

#include "codegen/values/strips.h"

/* The state of the pass for the ops of a block (codegen/passes/strips.c). */
typedef struct cg_forming {
    cg_func *c;
    ct_op **members; /* of the loop that is open, in their order */
    uint32_t count;
    uint32_t along;            /* strips that it reduces over, in a loop within the one over the others; 0: none yet */
    uint32_t loops;            /* so far, the open one too */
    uint32_t *inside, *behind; /* by value id: the loop that it is made in, or that has to end before it is */
    ct_map copies;             /* of lazy values */
} cg_forming;

/* Room for the values that the pass makes: false without memory. */
bool cg_strips_room(cg_forming *x);
/* Does the op look the tile up in any layout, starting from one of them? */
static inline bool cg_reads_any_layout(const ct_use *use)
{
    return use->op->opcode < OP_LIMIT && (!use->read || use->read == CT_READ_IN_SEVERAL);
}

/* Moves the members into the region of a loop, whose results are the values that are read outside. Lazy members that
   are read outside are also recomputed after the loop. NULL: no memory (codegen/passes/strips_enclose.c). */
ct_op *cg_strips_enclose(cg_forming *x, ct_op *const *members, uint32_t count, cg_trips trips);

/* ---- live ranges of values (codegen/passes/strips_lives.c) ---- */

/* Ops are numbered in pre-order. A value that is read in a loop but computed outside is live to the loop's end; the
   operands of lazy values are live as long as these. */
typedef struct cg_lives {
    ct_op **ops;   /* by number, from 1 */
    uint32_t *end; /* by number: the last op in it */
    uint32_t count;
    uint32_t *last; /* by value id: the op that reads it last; 0: none */
    uint32_t *any;  /* by the id of what has been converted: the same for ops that look it up in several layouts */
} cg_lives;
/* false: no memory. */
bool cg_lives_find(cg_func *c, cg_lives *out);

/* ---- local memory ---- */

/* Assigns addresses in local memory to kept tiles: c->local_bytes, cg_variant.local (codegen/passes/strips_local.c). */
void cg_strips_place(cg_func *c);

#endif
