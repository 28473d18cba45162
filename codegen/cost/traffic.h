/* Bytes that the accesses of a kernel move, and the part of them that comes from DRAM: tiles that several blocks read,
   or that are read again soon, come from L2. */
#ifndef TILEVM_CODEGEN_COST_TRAFFIC_H
#define TILEVM_CODEGEN_COST_TRAFFIC_H

#include "codegen/cost/cost.h"

/* One entry for all accesses with the same origin. */
typedef struct cg_moved {
    const ct_value *origin, *memory;
    const ct_op *first;  /* the first op that accesses it */
    const ct_op *main;   /* the first one of the block of ops that reads most of it */
    double bytes, fresh; /* of the sampled blocks; of the ops in the same block of ops as the main one */
    double part;         /* how much of it comes from DRAM, */
    bool known;          /* if that is known */
} cg_moved;

enum { CG_MOST_MOVED = 16 };

typedef struct cg_traffic {
    cg_moved items[CG_MOST_MOVED];
    uint32_t count;
} cg_traffic;

/* The part of the op's traffic that comes from DRAM: the known part, or else everything for the first op that accesses
   the memory, and nothing for the others. counts: the bytes are added up; times: how often a block executes the op. */
double cg_part_from_dram(cg_traffic *t, const ct_op *op, double times, bool counts);
/* After the bytes of so many sampled blocks were added up: finds what part of each entry comes from DRAM. Returns the
   bytes that do, of all blocks of the launch. */
double cg_share_traffic(cg_func *c, const cg_kernel_cost *k, const cg_launch *launch, cg_traffic *t, double samples);

#endif
