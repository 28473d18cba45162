/* Loads that are prefetched into registers: the loads pass plans them (codegen/plan/early_find.c), and the expand
   pass carries the plan out (codegen/passes/early.c). */
#ifndef TILEVM_CODEGEN_PLAN_EARLY_H
#define TILEVM_CODEGEN_PLAN_EARLY_H

#include "codegen/plan/budget.h"
#include "codegen/plan/loads.h"

/* The detail of a load that is to be prefetched in this way. */
typedef struct cg_early_plan {
    const char *why;    /* why it has no ring: a text for users */
    uint32_t registers; /* of one tile */
    uint32_t distance;  /* iterations: 1, or 2 for a load that provides the address of another */
    bool no_room;       /* there was no room for its slots */
    bool takes_source;  /* another load is prefetched two iterations ahead for it */
    uint32_t access;    /* bytes of an access, of the shorter ones if accesses are shorter at the tensor's end */
    bool apart;         /* each element has a register of its own, as it is loaded */
    uint8_t in_word;    /* ct_value.in_word of the tile */
} cg_early_plan;

/* Why the load cannot be repeated at the head of an iteration, because of its place in the loop or its operands: a text
   for users. NULL: it can. */
const char *cg_early_obstacle(cg_func *c, const ct_block *body, ct_op *load, cg_early_plan *p);
/* The row that applies to the other ops of the loop. */
cg_early_kind cg_early_kind_of(const cg_func *c, const ct_block *body, const ct_op *load, const cg_early_plan *p);
/* Registers of a thread for what the loop carries, its products, and the largest tile that it moves to or from memory.
 */
uint32_t cg_early_held(const cg_func *c, const ct_block *body);
/* Registers of a thread for the tile; apart: each element has one of its own. 0: it is no tile. */
uint32_t cg_tile_registers(const cg_func *c, const bc_type *tile, bool apart);
/* Finds the accesses and registers of the load's tile, whose elements have whole bytes. */
void cg_early_measure(cg_func *c, ct_op *load, cg_early_plan *p);
/* why: why the load has no ring; either: why it cannot be prefetched into registers either. */
void cg_early_tell_why_not(const cg_func *c, const ct_op *load, const char *why, const char *either);

#endif
