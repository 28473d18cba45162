/* Rows that several loops of a tile block read, such as a row whose mean, variance and result each have a loop. */
#ifndef TILEVM_CODEGEN_PLAN_AGAIN_H
#define TILEVM_CODEGEN_PLAN_AGAIN_H

#include "codegen/cost/cost.h"

/* Do loops have the same range; do loads of them, which both contain, read the same tile in the same iteration? Tokens
   are ignored, because the order of accesses is checked elsewhere. */
bool cg_have_same_range(const ct_op *a, const ct_op *b);
bool cg_load_same(const ct_op *a, const ct_op *first, const ct_op *b, const ct_op *other);

/* The iterations of a loop over rows of which it loads such a tile: their number if it is known, and otherwise for a
   row of CG_ROW_TAKEN elements, but at least four, since fewer would hardly be a loop. */
uint32_t cg_iterations_taken(const ct_op *loop, const bc_type *tile);

/* The bytes of rows that one half of L2 keeps, for each of all multiprocessors, beside what is written, which takes a
   third. */
double cg_room_for_again(const cg_machine *m);
/* The most blocks of so many threads whose rows, which have so many bytes, stay in L2, or that hide latency. */
uint32_t cg_blocks_for_again(const cg_machine *m, double bytes, uint32_t threads);
/* Before loads are planned: finds the rows that are read again, and notes their bytes in c->again_bytes. */
void cg_find_again(cg_func *c);
/* After shared memory is arranged: adds to the bytes that a block takes, so that no more blocks share a multiprocessor
   than the plan asks for (cg_choices.blocks), or than L2 has room for their rows. */
void cg_leave_room_for_again(cg_func *c, uint32_t *bytes);

#endif
