/* The share of a multiprocessor that a kernel uses: warps, registers, blocks, slots of rings. It is decided here, from
   measurements; hints take precedence where possible. */
#ifndef TILEVM_CODEGEN_PLAN_BUDGET_H
#define TILEVM_CODEGEN_PLAN_BUDGET_H

#include "codegen/kernel/kernel.h"

/* Chooses the kernel's number of warps: before all passes, and again after a pass that changes the tiles. */
void cg_set_warps(cg_func *c);
/* log2 of the warps that suit the tiles of a kernel without strips, whatever a hint says. */
uint32_t cg_warps_unhinted(const cg_func *c);
/* Does each thread of 2^warp_bits warps have elements enough of the largest product, so that it uses what it reads more
   than once? */
bool cg_product_suits(const cg_func *c, uint32_t warp_bits);
/* Has the kernel scans? */
bool cg_scans(const cg_func *c);
/* log2 of the elements of its largest tile, which has 2^tile_bits elements, that a thread of a map should compute at
   once; tile_bits if the kernel is not a map (codegen/plan/at_once.c). as_hinted: rather than have other warps than a
   hint says. */
uint32_t cg_elements_at_once(cg_func *c, uint32_t tile_bits, bool as_hinted);
/* log2 of the elements of its largest tile that needs registers. */
uint32_t cg_largest_tile(const cg_func *c);
/* log2 of the most warps of a map whose largest tile has 2^tile_bits elements, each thread of which has an access of
   full length; fewer if its blocks take tiles in turn, because all warps of a block wait for the last one at the end of
   a tile. */
uint32_t cg_most_warps_of_map(const cg_func *c, uint32_t tile_bits);
/* log2 of the warps of a kernel without products, at most `usual`: those whose threads each have an access of full
   length. */
uint32_t cg_warps_of_accesses(const cg_func *c, uint32_t tile_bits, uint32_t usual);
/* Does it compute all its tiles element by element? */
bool cg_is_map(const cg_func *c);
/* Does the launch decide how many iterations each block has of the loop, because its step is not constant? */
bool cg_takes_turns(const ct_op *loop);
/* Has the kernel such a loop? */
bool cg_has_turns(const cg_func *c);
bool cg_has_loops(const cg_func *c);
/* Is it a map that can go in strips instead of having as many warps as its tiles need, and is this chosen, or would a
   block with that many leave no registers for a second one? */
bool cg_is_better_in_strips(cg_func *c, uint32_t tile_bits, uint32_t at_once);
/* Should the tiles of that map be divided among more warps rather than into strips, and among how many (log2)? */
bool cg_divides_among_warps(cg_func *c, uint32_t tile_bits, uint32_t *out_warps);
/* Is it a map that may finish some elements, in strips, before it begins the next ones? */
bool cg_is_strip_map(const cg_func *c);
/* For a kernel whose loops multiply without a tensor core instruction: the number of blocks that should share a
   multiprocessor, so that a thread has enough registers for its sums and operands; 0: any. */
uint32_t cg_blocks_that_suit(const cg_func *c);
/* The registers of each thread that products need for their sums and operands: with fewer, sums would be spilled, or
   ptxas would refuse asynchronous products. 0: there are no products. */
uint32_t cg_product_registers(const cg_func *c);
/* The same for the loop with the most sums: their exact number is not rounded up to a power of two. */
uint32_t cg_sum_registers(const cg_func *c);
/* Thread blocks of a cluster that a tile block needs so that the sums of its products fit their registers: 1, 2, 4 ...
 */
uint32_t cg_least_blocks(const cg_func *c);

typedef enum cg_group_kind {
    CG_ONE,       /* one product in a loop */
    CG_SHORT,     /* of these, those by wgmma whose slots come before groups have passed on the last one */
    CG_CHAIN,     /* several, one of which takes what another led to */
    CG_COMPUTED,  /* one, whose left operand consumers compute in registers */
    CG_TURNED,    /* transposed ones, whose left operands go by registers (codegen/ops/mma_turned.c) */
    CG_PUT,       /* the same; and producers round what they bring, in their registers */
    CG_SYNC,      /* one by mma.sync */
    CG_SYNC_CHAIN /* several by mma.sync */
} cg_group_kind;

/* The products of the loops of a kernel, for warp specialisation (codegen/kernel/groups.h). */
typedef struct cg_group_work {
    uint32_t consumers; /* threads */
    cg_group_kind kind;
    int64_t rows, columns; /* of the first product; of the instruction of the widest one */
    int64_t own_rows;      /* of a chain: that a warpgroup may have, so that each row is in one warp */
    uint32_t registers;    /* of a consumer, for its sums and operands (cg_sum_registers) */
    uint32_t computed;     /* more of them, for an operand that it computes */
    uint32_t launched;     /* of a thread at launch, for the largest instruction, at least */
    bool is_short;         /* one product is as CG_SHORT says */
    bool is_persistent;    /* the loops stand in another one */
    bool maps;             /* all tiles can come by tensor maps, and that pays (codegen/groups/maps.h) */
} cg_group_work;

/* A row of codegen/plan/budget.def. */
typedef struct cg_group_budget {
    uint32_t blocks, slots;                  /* of a multiprocessor; of the longest ring, at least */
    uint32_t launched, consumers, producers; /* registers of a thread; launched 0: 255 throughout */
    bool maps;                               /* tiles come by tensor maps */
    const char *why;
} cg_group_budget;

/* The first row that fits with at most that many blocks; NULL: such work is faster without groups. */
const cg_group_budget *cg_group_budget_of(const cg_group_work *work, uint32_t most_blocks);

/* The thread blocks for which a multiprocessor has shared memory if each takes so many bytes beside the system's. */
uint32_t cg_blocks_of_shared(const cg_func *c, uint32_t bytes);

/* Bytes of shared memory for a block if that many threads, or more if the hint says so, are to share the memory of a
   multiprocessor. */
uint32_t cg_room_beside(cg_func *c, uint32_t threads);

typedef enum cg_slot_kind {
    CG_PRODUCTS,      /* loops with products: all threads read what all have copied */
    CG_BLOCKED,       /* which multiply without an instruction */
    CG_SLOW_PRODUCTS, /* such, or of f64, that take longer than memory takes to answer */
    CG_STREAMS,       /* loops without: each thread reads what it has copied itself */
    CG_MAPS,          /* the same in kernels that compute element by element */
    CG_TURNS,         /* the same, whose blocks take tiles in turn, as many as the launch leaves to each */
    CG_NESTS,         /* the same, with other loops in them */
    CG_STRIPS         /* loops over strips */
} cg_slot_kind;

/* A loop whose loads could be prefetched. */
typedef struct cg_slot_work {
    cg_slot_kind kind;
    uint32_t slot_bytes, iterations;
    uint32_t fits, rest; /* bytes of shared memory that its ring can have; that its block has beside them, if counted */
    uint32_t copy_bytes; /* of the shortest copy of a thread; 0: not known */
    bool may_refill;     /* a single slot may be filled again in each iteration, while no thread reads it */
} cg_slot_work;

typedef struct cg_slot_budget {
    uint32_t slots; /* less than two: loads stay where they are, unless a single slot is refilled */
    bool refills;   /* it is, although more would fit */
    uint32_t room;  /* bytes that there were for them */
    const char *why;
} cg_slot_budget;

cg_slot_budget cg_slot_budget_of(cg_func *c, const cg_slot_work *work);

/* Tiles that are kept for later loops (codegen/plan/keep.c). */
enum {
    CG_LONG_ROWS = 1 << 16, /* as many tiles as a row of usual length has, if these are more than CG_RING_SLOTS, or */
    CG_SHORT_ROWS           /* fewer */
};
typedef struct cg_kept_row {
    uint32_t least, most;   /* tiles */
    uint32_t ahead, fewest; /* slots of other loads: wanted, needed */
    uint32_t threads;       /* of a multiprocessor, in blocks that share its memory */
    const char *why;
} cg_kept_row;

/* The rows in the order in which they are tried; NULL past the end. */
const cg_kept_row *cg_kept_row_at(size_t i);

/* Loads that are prefetched into registers (codegen/plan/early_find.c). */
typedef enum cg_early_kind {
    CG_EARLY_SOURCES, /* that say where another one loads from, and that one */
    CG_EARLY_NO_ROOM, /* for whose slots there is no room */
    CG_EARLY_NESTS,   /* beside other loops in their own */
    CG_EARLY_BESIDE,  /* beside products, of what those do not multiply */
    CG_EARLY_AMONG,   /* the same beside a chain of products, whose warps have the registers that ptxas gives them */
    CG_EARLY_WIDE,    /* without products, in accesses of 8 bytes at least */
    CG_EARLY_SECOND,  /* operands of a chain, in a version for rows that are not aligned */
    CG_EARLY_SHORT,   /* all others */
    CG_EARLY_BLOCKED  /* beside products without an instruction */
} cg_early_kind;

typedef struct cg_early_row {
    cg_early_kind kind;
    uint32_t iterations; /* at least, if they are known */
    uint32_t most, all;  /* registers of a thread: for what is loaded; with what other tiles of the loop take */
    const char *why;     /* not more */
} cg_early_row;

const cg_early_row *cg_early_row_of(cg_early_kind kind);

#endif
