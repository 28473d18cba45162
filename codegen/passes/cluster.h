/* Spreading a tile block over the thread blocks of a cluster, or over the turns of one (codegen/passes/cluster.c). */
#ifndef TILEVM_CODEGEN_PASSES_CLUSTER_H
#define TILEVM_CODEGEN_PASSES_CLUSTER_H

#include "codegen/kernel/kernel.h"

/* How thread blocks have a value. Every one has all of it, or its part along a dimension; both where ops want both. */
typedef struct cg_share {
    bool whole, parted;
    uint8_t axis;
} cg_share;

typedef struct cg_spreading {
    cg_func *c;
    uint32_t blocks;      /* of a tile block: a power of two */
    bool in_turn;         /* one block has the parts one after the other (codegen/passes/cluster_turns.c) */
    bool only_first;      /* there is one block, which has the first part of all (codegen/passes/narrow.c) */
    bool columns;         /* of products each block has some columns, else some rows */
    cg_share *of;         /* by value id */
    const bc_type **type; /* by value id: as it was */
    const char *why;      /* what was against it first; NULL: nothing */
    const ct_op *against; /* of which op it is; NULL: none */
} cg_spreading;

enum { CG_ALL_OF_IT = -1, CG_NO_PART = -2 };

/* What op reads of operand i where its results are parted along `axis`: the dimension along which the operand is, or
   one of these two. A store's results are what it stores. */
int cg_cluster_reads(const cg_spreading *x, const ct_op *op, uint32_t i, uint32_t axis);
/* Is it a store of a tile? out_value: which operand that is. */
bool cg_cluster_is_store(const ct_op *op, uint32_t *out_value);

/* Says that it cannot be spread so, and why: false. */
bool cg_cluster_refuse(cg_spreading *x, const ct_op *op, const char *why);
/* Finds out how blocks have every value. False: the kernel cannot be spread so. */
bool cg_cluster_find(cg_spreading *x);
/* The tensor behind a view; NULL: each iteration of a loop has one of its own, whose tiles may lie over those of
 * others.
 */
const ct_value *cg_cluster_tensor_of(const ct_value *view);
/* Would blocks read or write in another order what the kernel's tokens, or one thread block alone, put in order? */
bool cg_cluster_is_torn(cg_spreading *x);
/* Makes it so. */
void cg_cluster_split(cg_spreading *x);

/* The block's rank, in front of an op; blocks: how many there are, in 64 bits. NULL: no memory. */
ct_value *cg_put_rank(cg_func *c, ct_op *place, ct_value *blocks);
/* Deals the iterations of a persistent kernel's loop to so many blocks, each of which has all of its tiles. False: it
   is no such kernel, somebody could tell, or memory is out. */
bool cg_cluster_deal(cg_func *c, uint32_t blocks);

/* A loop around nothing yet, at the end of the kernel: its counter; from, to and step are there. NULL: no memory. */
ct_value *cg_loop_begin(cg_func *c, ct_value *const bounds[3]);
/* The same, which counts the parts: what it counts says whose turn it is. */
ct_value *cg_turns_begin(cg_func *c, uint32_t count);
/* Moves into the loop what differs from turn to turn, or does anything. */
void cg_turns_enclose(cg_func *c, const ct_value *turn);

#endif
