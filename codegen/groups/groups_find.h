/* The analysis of the groups pass (codegen/passes/groups.c) before it changes the kernel: loops, the rings from which
   their products read tiles, and their share of a multiprocessor (codegen/groups/groups_find.c). */
#ifndef TILEVM_CODEGEN_GROUPS_GROUPS_FIND_H
#define TILEVM_CODEGEN_GROUPS_GROUPS_FIND_H

#include "codegen/analysis/boxes.h"
#include "codegen/plan/budget.h"

enum { CG_MOST_RINGS = 8, CG_MOST_KEPT = 4 };

/* The tiles that one or two products of a loop read, and their ring. Consecutive loops share rings. */
typedef struct cg_ring_place {
    cg_ring *ring;
    ct_value *value;
    ct_op *loop, *copy; /* in the function, and in the producers' program */
    ct_op *product, *loads[CG_RING_LOADS];
    ct_op *last;   /* the later product that reads the same tiles, if keys are also values; otherwise the same
                      product */
    bool is_first; /* this is the first place that uses its ring */
    bool computes; /* consumers compute the product's left operand from tiles of the ring */
    bool flies;    /* the product is by tcgen05, and its sum stays in tensor memory */
} cg_ring_place;

/* An operand of products in loops that is loaded before the loops: it has a ring of one slot. */
typedef struct cg_kept_load {
    cg_ring *ring;
    ct_value *value;
    ct_op *load, *copy; /* in the function, and in the producers' program */
} cg_kept_load;

typedef struct cg_splitting {
    cg_func *c;
    ct_func *f;
    cg_ring_place places[CG_MOST_RINGS];
    cg_ring_place rows[CG_MOST_RINGS]; /* the rows of a loop that its threads read; no product does */
    cg_kept_load kept[CG_MOST_KEPT];
    ct_op *rings[2 * CG_MOST_RINGS + CG_MOST_KEPT];
    uint32_t count, row_count, kept_count, ring_count;
    bool persists;                 /* the kernel is to be a loop over tile blocks (codegen/groups/persist.c) */
    cg_group_work work;            /* what its loops multiply */
    const cg_group_budget *budget; /* for that */
    const char *why;               /* why tensor maps are not used; NULL: they are */
    const char *left;         /* why threads copy some of the tiles nevertheless; NULL: they copy none but scales */
    cg_tensor_maps *maps;     /* the maps of all tiles, if the budget says that maps copy them
                                 (codegen/groups/maps.c) */
    ct_block *starters;       /* the program of the threads that fill the first slots (codegen/groups/start.c), or copy
                                 what maps cannot (codegen/groups/copiers.c) */
    ct_block *issuer;         /* the program of the thread that issues products (codegen/groups/issuer.c) */
    bool *numbers;            /* by value id: results of loads that each group executes for itself */
    struct cg_starts *starts; /* the number of these slots; NULL: there is no such program */
} cg_splitting;

/* Runs the analysis. False: the kernel is faster without groups, or cannot have them. */
bool cg_groups_find(cg_splitting *x);
/* May a thread block compute several tile blocks (codegen/groups/persist.c)? Why it is right: no block of the kernel
   could observe in which order the others run. */
bool cg_may_persist(const cg_splitting *x);
/* Is the loop inside another one, or will it be? */
static inline bool cg_is_persistent(const cg_splitting *x, const cg_ring_place *p)
{
    return x->persists || ct_loop_around(p->loop);
}
/* Finds the rows of loops that producers copy for the threads of consumers, and reads them in the consumers' program
   (codegen/groups/groups_rows.c). */
void cg_groups_find_rows(cg_splitting *x);
void cg_groups_consume_rows(const cg_splitting *x, const cg_ring_place *rows);
/* Plans the rounding of values to tf32 while they are copied, by tensor maps or otherwise. */
void cg_groups_round(const cg_splitting *x, bool maps);
/* Registers of a consumer for the accumulators of the loop and the operands that its products pass to each other. */
int cg_registers_taken(const cg_splitting *x, const ct_op *loop);
/* Registers of the budget that each consumer leaves to producers, who execute this program (codegen/groups/lend.c). */
uint32_t cg_registers_lent(const cg_splitting *x, const ct_block *program);
/* Bytes of shared memory that the block may have. */
uint32_t cg_groups_shared(const cg_splitting *x);

#endif
