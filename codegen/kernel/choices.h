/* Choices that replace decisions of the passes, for comparing plans (codegen/explain.h). An illegal choice has no
   effect, and no choice changes a result. */
#ifndef TILEVM_CODEGEN_KERNEL_CHOICES_H
#define TILEVM_CODEGEN_KERNEL_CHOICES_H

#include <stdbool.h>
#include <stdint.h>

typedef enum cg_decision {
    CG_AS_DECIDED, /* by the pass */
    CG_NEVER,
    CG_IF_LEGAL /* even if the pass finds that it does not pay off */
} cg_decision;

/* An assumption about a parameter that no promise covers, to find out how much the promise would gain. */
typedef struct cg_assumption {
    uint32_t parameter;
    bool multiple;     /* an integer is a multiple of 16, or a pointer of 16 bytes */
    bool non_negative; /* an integer is not negative */
} cg_assumption;

/* All zero: the passes decide everything. */
typedef struct cg_choices {
    uint32_t warps;         /* warps that compute, a power of two, like the hint num_worker_warps_per_cta; 0: the
                               passes decide */
    uint32_t occupancy;     /* blocks on a multiprocessor, like the hint of that name; 0: the hint decides */
    uint32_t cluster;       /* thread blocks of a tile block, like the hint num_cta_in_cga; 0: the hint decides */
    cg_decision pair;       /* two thread blocks of a cluster multiply as a pair: CG_NEVER */
    uint32_t stages;        /* the most stages of a loop's rings; 0: the passes decide */
    uint32_t blocks;        /* the most on a multiprocessor: unused shared memory keeps others out, and tiles that stay
                               in shared memory of a single one take all that fits; 0: any number */
    cg_decision groups;     /* producers and consumers (warp specialisation): CG_NEVER */
    cg_decision maps;       /* copies by TMA: CG_NEVER, CG_IF_LEGAL */
    cg_decision persistent; /* a thread block computes several tile blocks: CG_NEVER */
    cg_decision swap;       /* transposed products (swap-AB): CG_NEVER; CG_IF_LEGAL: those of chains, too */
    cg_decision spread;     /* rows of scaled products over those of tcgen05, if they are fewer: CG_NEVER */
    cg_decision correction; /* of sums by warps of their own, on targets with tcgen05: CG_IF_LEGAL */
    cg_decision pieces;     /* of 4 and 8 bytes behind pointers, which are copied for products: CG_IF_LEGAL */
    cg_decision keys;       /* of a chain of products in parts, if two iterations do not fit: CG_IF_LEGAL */
    cg_decision registers;  /* prefetching into registers: CG_NEVER; CG_IF_LEGAL: operands of chains whose rows are not
                               aligned, too */
    cg_decision strips;     /* of maps without loops, rather than more warps: CG_IF_LEGAL */
    cg_decision rows;       /* of maps, in front of loops that may not run: CG_NEVER */
    cg_decision together;   /* iterations of loops, also where only the cost is needed: CG_IF_LEGAL */
    cg_decision bytes;      /* unsigned, as f32 by prmt and additions rather than conversions: CG_IF_LEGAL */
    cg_decision slices;     /* of K, by groups of warps of a block: CG_NEVER */
    cg_decision halves;     /* 8-bit floats of chains of products, all as f16: CG_NEVER */
    cg_decision refill;     /* of a single slot by the threads that read it, in chains of products: CG_IF_LEGAL */
    const cg_assumption *assumed;
    uint32_t assumed_count;
} cg_choices;

#endif
