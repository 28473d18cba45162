/* Groups of warps with work of their own: consumers, which have the threads from 0 on and all that layouts spread, and
   producers behind them, which copy. */
#ifndef TILEVM_CODEGEN_KERNEL_GROUPS_H
#define TILEVM_CODEGEN_KERNEL_GROUPS_H

#include "codegen/kernel/kernel.h"

enum { CG_PRODUCER_WARP_BITS = 2, CG_PRODUCER_THREADS = 1 << (CG_PRODUCER_WARP_BITS + CG_LANE_BITS) };
/* By maps, of the producers' warps the first one makes them, and the next ones fill slots until they are there. */
enum { CG_MOST_STARTS = 8, CG_STARTER_WARP_BITS = 1, CG_STARTER_THREADS = 1 << (CG_STARTER_WARP_BITS + CG_LANE_BITS) };

/* The slots that threads fill while maps are made. */
typedef struct cg_starts {
    uint32_t count;                /* of all rings, at most CG_MOST_STARTS */
    struct cg_starts_state *state; /* as lowered (codegen/ops/start.c); NULL until then */
} cg_starts;

/* The detail of a `groups`: registers of a thread, as launched and then; 0: all keep what they have. */
typedef struct cg_groups {
    uint32_t shared;     /* bytes that the block may have */
    uint32_t ring_bytes; /* of all rings, with their barriers */
    uint32_t launched, consumers, producers;
    bool by_maps;      /* the first warp of the producers makes tensor maps, and one thread of it works on */
    bool to_all;       /* blocks of the cluster write to each other's rings */
    cg_starts *starts; /* NULL: there are none */
    uint32_t maps_at;  /* where maps are put together in the memory of rings */
} cg_groups;

/* Threads of the block, with producers. */
static inline uint32_t cg_all_threads(const cg_func *c)
{
    return cg_threads(c) + (c->groups ? CG_PRODUCER_THREADS : 0);
}

#endif
