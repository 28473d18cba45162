/* Groups of warps in warp-specialised kernels: consumers have the first threads, and layouts describe these;
   producers have the threads behind them, and copy. */
#ifndef TILEVM_CODEGEN_KERNEL_GROUPS_H
#define TILEVM_CODEGEN_KERNEL_GROUPS_H

#include "codegen/kernel/kernel.h"

enum { CG_PRODUCER_WARP_BITS = 2, CG_PRODUCER_THREADS = 1 << (CG_PRODUCER_WARP_BITS + CG_LANE_BITS) };
/* With tensor maps, the first of the producers' warps builds the maps, and the next ones fill slots until the maps
   exist. */
enum { CG_MOST_STARTS = 8, CG_STARTER_WARP_BITS = 1, CG_STARTER_THREADS = 1 << (CG_STARTER_WARP_BITS + CG_LANE_BITS) };

/* The programs of a kernel's groups, which are the regions of `groups`; an absent one is NULL. Starters and the issuer
   are warps of the producers' warpgroup, which copies by tensor maps leave to them; correctors are a warpgroup behind
   it. */
typedef enum cg_group { CG_CONSUMERS, CG_PRODUCERS, CG_STARTERS, CG_ISSUER, CG_CORRECTORS, CG_GROUPS } cg_group;
enum { CG_ISSUER_WARP = (1 << CG_PRODUCER_WARP_BITS) - 1, CG_ISSUER_THREADS = 1 << CG_LANE_BITS };
enum { CG_CORRECTOR_WARP_BITS = 2, CG_CORRECTOR_THREADS = 1 << (CG_CORRECTOR_WARP_BITS + CG_LANE_BITS) };

/* The slots that threads fill while maps are built. */
typedef struct cg_starts {
    uint32_t count;                /* of all rings, at most CG_MOST_STARTS */
    struct cg_starts_state *state; /* as lowered (codegen/ops/start.c); NULL until then */
} cg_starts;

/* The detail of a `groups` op: registers of a thread at launch and afterwards; 0: all threads keep their registers. */
typedef struct cg_groups {
    uint32_t shared;     /* bytes of shared memory that the block may use */
    uint32_t ring_bytes; /* of all rings, with their barriers */
    uint32_t launched, consumers, producers;
    uint32_t correctors; /* the same of threads that multiply sums (codegen/rewrite/correct.c); 0: there are none */
    bool by_maps;        /* the first warp of the producers builds tensor maps, and one of its threads issues the
                          copies */
    bool to_all;         /* blocks of the cluster write to each other's rings */
    cg_starts *starts;   /* NULL: there are none */
    uint32_t maps_at;    /* the offset in the memory of rings at which maps are built */
} cg_groups;

/* Is the op in the program of the group? */
bool cg_is_of_group(const ct_op *op, cg_group group);
/* Is the op in the program of the issuer, which starts products whose sums other warps take? */
static inline bool cg_is_issued(const ct_op *op)
{
    return cg_is_of_group(op, CG_ISSUER);
}
/* May each group execute the op by itself, without the threads of the other groups? */
bool cg_is_in_each_group(const ct_op *op);
/* Does the program end in one place, at which its warps can meet those of others? */
bool cg_ends_once(const ct_block *program);
/* Threads of the block: of all slices, or including producers and correctors. */
static inline uint32_t cg_all_threads(const cg_func *c)
{
    return cg_slices(c) * cg_threads(c) + (c->groups ? CG_PRODUCER_THREADS : 0)
           + (c->groups && c->groups->correctors ? CG_CORRECTOR_THREADS : 0);
}

#endif
