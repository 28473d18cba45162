/* What iterations of loops wait for: copies into rings, slots that are free for them, and other blocks. */
#ifndef TILEVM_CODEGEN_COST_WAITS_H
#define TILEVM_CODEGEN_COST_WAITS_H

#include "codegen/analysis/ring.h"
#include "codegen/cost/cost.h"

enum { CG_WAITED_RINGS = 8 };

/* For how long a slot of a ring is occupied by a tile that has arrived. */
typedef struct cg_occupied {
    const cg_ring *ring;
    double since, cycles;
} cg_occupied;

/* The state of a walk through a kernel. */
typedef struct cg_waits {
    bool multiplies; /* the kernel: its tiles come from L2 */
    cg_occupied rings[CG_WAITED_RINGS];
    uint32_t count;
} cg_waits;

/* Takes note of an op that awaits or releases a slot at that time. */
void cg_waits_at(cg_waits *w, const ct_op *op, double now);
/* Adds to cost->alone, the time for which an iteration of the loop computes, what it waits for, and counts its stages.
   cost->cycles is known. */
void cg_add_waits(const cg_func *c, const cg_machine *m, cg_waits *w, cg_loop_cost *cost);

/* The time in which so many blocks that share a multiprocessor take turns once, if a block takes `alone` without the
   others, and a resource that only one can use at a time is busy with it for `each`. */
double cg_time_in_queue(double alone, double each, double blocks);

#endif
