/* What someone who weighs plans asks of the passes in place of what they would decide (codegen/explain.h). A choice
   that is not legal has no effect; none of them changes a result. */
#ifndef TILEVM_CODEGEN_KERNEL_CHOICES_H
#define TILEVM_CODEGEN_KERNEL_CHOICES_H

#include <stdbool.h>
#include <stdint.h>

typedef enum cg_decision {
    CG_AS_DECIDED, /* by the pass */
    CG_NEVER,
    CG_IF_LEGAL /* also where the pass finds that it does not pay */
} cg_decision;

/* What is assumed of a parameter that nothing promises, to find out what the promise would be worth. */
typedef struct cg_assumption {
    uint32_t parameter;
    bool multiple;     /* of 16: of an integer; bytes: of a pointer */
    bool non_negative; /* an integer */
} cg_assumption;

/* All zero: everything as decided. */
typedef struct cg_choices {
    uint32_t warps;         /* that compute, a power of two: as the hint num_worker_warps_per_cta; 0: as decided */
    uint32_t occupancy;     /* blocks of a multiprocessor: as the hint of that name; 0: as hinted */
    uint32_t cluster;       /* thread blocks of a tile block: as the hint num_cta_in_cga; 0: as hinted */
    uint32_t stages;        /* of rings of loops, at most; 0: as decided */
    cg_decision groups;     /* producers and consumers (warp specialisation): CG_NEVER */
    cg_decision maps;       /* copies by TMA: CG_NEVER, CG_IF_LEGAL */
    cg_decision persistent; /* a thread block computes several tile blocks: CG_NEVER */
    cg_decision swap;       /* of the operands of products: CG_NEVER */
    cg_decision registers;  /* loads that go ahead into registers: CG_NEVER */
    const cg_assumption *assumed;
    uint32_t assumed_count;
} cg_choices;

#endif
