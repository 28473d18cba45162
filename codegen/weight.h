/* What is predicted for a kernel that is compiled with other choices, up to the prediction of its cost
   (codegen/choose.c). */
#ifndef TILEVM_CODEGEN_WEIGHT_H
#define TILEVM_CODEGEN_WEIGHT_H

#include "codegen/cost/cost.h"
#include "codegen/passes/pass.h"

enum { CG_FEWEST_STAGES = 2 }; /* of a ring whose block is to leave room for more, or for L1 */

/* Gets a kernel ready for the first pass: its IR, promises, and warps. False: out of memory. */
bool cg_begin_kernel(cg_func *c);
/* Releases the kernel, and its plans that have been weighed; whatever cg_begin_kernel returned. */
void cg_end_kernel(cg_func *c);

/* What is predicted for a block. */
typedef struct cg_weight {
    bool compiles;
    double cycles, busy; /* 0: the kernel cannot be compiled, or its tiles take too many registers */
    double share;        /* the cycles, however many registers */
    uint32_t wanted;     /* registers of a thread with which loops with products spill none; 0: a budget decides */
    double short_of;     /* the same, divided by those that it can have */
    uint32_t held;       /* registers of a thread that computes for its tiles, whatever a budget decides */
    bool adds_up;        /* a product adds up its sums, in registers of its own */
    uint32_t made;       /* operands of products that warps make as fragments from slots: bits of their indices */
    bool repeats;        /* several warpgroups compute the same rows of the left operand of a product */
    bool is_pair;        /* two thread blocks multiply as a pair */
    bool is_divided;     /* into groups of warps, */
    bool by_threads;     /* whose producers copy, rather than tensor maps */
    bool is_persistent;  /* a thread block computes several tile blocks */
    uint32_t resident;   /* warps of a multiprocessor that compute */
    uint32_t warp_bits;  /* log2 of those of a block */
    uint32_t strip_bits; /* log2 of the strips in which they compute a tile */
    uint32_t shared;     /* bytes of shared memory of a block */
    uint32_t stages;     /* of the longest ring; 0: no loop has one */
    bool has_short;      /* accesses that run ahead, or those of one of two versions, are shorter than 16 bytes */
    bool is_short;       /* accesses such as has_short says read most of the bytes */
    double waits;        /* how many times as long as the busiest resource its longest loop takes */
    bool shares;         /* shared memory is that resource */
    bool fills_cache;    /* or half of them, as in the two versions of a loop */
    bool loads_late;     /* a version for rows that are not aligned loads tiles in the iterations that need them */
    bool keeps;          /* rows stay in shared memory for the loops that follow */
    double again;        /* bytes of rows of usual length that several loops read, and that do not stay there */
    double reads;        /* the cycles of a block with such rows, */
    double rereads;      /* and if all that its loops read comes from DRAM, also again */
    bool fills;          /* what a loop loads takes half of a multiprocessor's registers, or more */
    bool together;       /* several iterations of a loop are executed together */
    bool is_fed;         /* no thread waits for a tile from memory: those that it reads come by a ring in any case */
} cg_weight;

/* Blocks that compute on a multiprocessor. */
static inline uint32_t cg_blocks_weighed(const cg_weight *w)
{
    return w->resident >> w->warp_bits;
}

/* The registers that a thread can have, however few blocks share a multiprocessor. */
double cg_registers_at_most(const cg_func *c);
/* Weighs the kernel with these choices on a GPU, not the one of remarks. Out of memory, *c has failed. */
cg_weight cg_weigh_on(cg_func *c, const cg_watch *watch, const cg_choices *choices, cg_gpu gpu);
/* The same on the GPU that decisions are made for. */
cg_weight cg_weigh(cg_func *c, const cg_watch *watch, const cg_choices *choices);
/* The kernel to go on with: the plan that has been chosen, if it has been weighed and nobody sees the passes that it
   has behind it, of which *watch then has the rest; otherwise *c. */
cg_func *cg_go_on(cg_func *c, cg_watch *watch);
/* Compiles the kernel with these choices, which *room keeps. */
void cg_take(cg_func *c, cg_choices *room, const cg_choices *best);
/* The same, and tells why. */
void cg_take_cheaper(cg_func *c, cg_choices *room, const cg_choices *best, const char *plan, const cg_weight *then,
                     const cg_weight *usual);
/* The same if they bring more warps to a multiprocessor than the usual ones. */
void cg_take_fuller(cg_func *c, cg_choices *room, const cg_choices *best, const cg_weight *then, uint32_t usual);

/* Gives rings fewer stages if they leave L1 more room then, as many blocks share a multiprocessor, and most of what is
   read needs it: copies of less than 16 bytes pass through L1, and so do the loads of the version for rows that are not
   aligned. A line that is on its way has its place there, so that a small L1 limits how many are, and drops lines
   before all of them is read. *now: what is predicted with the choices so far. On an H200, a multiprocessor takes 29 to
   30 bytes of such copies a cycle, and 22 to 27 beside the smallest L1 (4 to 16 warps); 33 products of eleven seeds are
   0.91 to 1.30 times as fast, 1.06 in the geometric mean, and 1.05 the 26 of seeds on which it was not found. Without
   products and scans, two stages are enough, too: 12 kernels of rows are 0.98 to 1.38 times as fast, 1.08 in the mean,
   and 1.06 without the one on which that was found; a scan would be 0.92 times as fast. Maps in turn keep theirs: 24
   would be 0.83 to 1.27 times as fast, 0.98 in the mean. */
void cg_leave_cache(cg_func *c, const cg_watch *watch, cg_choices *room, const cg_weight *now);
/* The same where fewer stages would make room for one more block, whose stages would take what L1 should get: unused
   shared memory keeps it out. On an H200, 21 products of 28 seeds are 0.99 to 1.73 times as fast,
   1.11 in the geometric mean, and 1.07 the 18 that had no part in it. */
void cg_keep_blocks_out(cg_func *c, const cg_watch *watch, cg_choices *room, const cg_weight *now);

#endif
