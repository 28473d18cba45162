/* The parts of the strips pass. */
#ifndef TILEVM_CODEGEN_PASSES_STRIPS_H
#define TILEVM_CODEGEN_PASSES_STRIPS_H

#include "codegen/values/strips.h"

/* The state of the pass for the ops of a block (codegen/passes/strips.c). */
typedef struct cg_forming {
    cg_func *c;
    ct_op **members; /* of the open loop, in order */
    uint32_t count;
    uint32_t along;            /* strips over which it reduces, in an inner loop; 0: none yet */
    uint32_t loops;            /* so far, including the open one */
    uint32_t *inside, *behind; /* by value id: the loop in which it is computed, or which must end before it is */
    ct_map copies;             /* of lazy values */
} cg_forming;

/* Makes room for the values that the pass creates. False: out of memory. */
bool cg_strips_room(cg_forming *x);
/* Does the op find the tile in any layout, given one variant of it? */
static inline bool cg_reads_any_layout(const ct_use *use)
{
    return use->op->opcode < OP_LIMIT && (!use->read || use->read == CT_READ_IN_SEVERAL);
}

/* Moves the members into the region of a loop, whose results are the values that are read outside. Lazy members that
   are read outside are also recomputed after the loop. NULL: out of memory (codegen/passes/strips_enclose.c). */
ct_op *cg_strips_enclose(cg_forming *x, ct_op *const *members, uint32_t count, cg_trips trips);

/* ---- live ranges of values (codegen/passes/strips_lives.c) ---- */

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

/* Assigns addresses in local memory to kept tiles: c->local_bytes, cg_variant.local (codegen/passes/strips_local.c). */
void cg_strips_place(cg_func *c);

#endif
