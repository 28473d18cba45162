/* Divides a tile block among the thread blocks of a cluster, or among the turns of one thread block
   (codegen/passes/cluster.c). */
#ifndef TILEVM_CODEGEN_PASSES_CLUSTER_H
#define TILEVM_CODEGEN_PASSES_CLUSTER_H

#include "codegen/kernel/kernel.h"
#include "codegen/tile/build.h"

/* The form in which thread blocks have a value: whole, as a part along a dimension, or both if some ops need it whole
   and others in parts. */
typedef struct cg_share {
    bool whole, parted;
    uint8_t axis;
} cg_share;

typedef struct cg_spreading {
    cg_func *c;
    uint32_t blocks;      /* per tile block: a power of two */
    bool in_turn;         /* one block computes all parts in turn (codegen/passes/cluster_turns.c) */
    bool only_first;      /* only the first part is computed (codegen/passes/narrow.c) */
    bool columns;         /* each block has some columns of products; otherwise some rows */
    cg_share *of;         /* by value id */
    const bc_type **type; /* by value id: the original type */
    const char *why;      /* the first reason against it; NULL: there is none */
    const ct_op *against; /* the op to which the reason applies; NULL: none */
} cg_spreading;

enum { CG_ALL_OF_IT = -1, CG_NO_PART = -2 };

/* The part of operand i that op reads if its results are divided along `axis`: the dimension along which the operand is
   divided, or one of these two values. The stored value counts as the result of a store. */
int cg_cluster_reads(const cg_spreading *x, const ct_op *op, uint32_t i, uint32_t axis);
/* Is the op a store of a tile? out_value: the index of that operand. */
bool cg_cluster_is_store(const ct_op *op, uint32_t *out_value);

/* Records why the kernel cannot be divided in this way; returns false. */
bool cg_cluster_refuse(cg_spreading *x, const ct_op *op, const char *why);
/* Determines the form in which blocks have every value. False: the kernel cannot be divided in this way. */
bool cg_cluster_find(cg_spreading *x);
/* The tensor of a view. NULL: each iteration of a loop creates its own tensor, whose tiles may overlap those of
   others. */
const ct_value *cg_cluster_tensor_of(const ct_value *view);
/* Would blocks change the order of accesses that tokens order, or that a single thread block would execute in order? */
bool cg_cluster_is_torn(cg_spreading *x);
/* Divides the kernel. */
void cg_cluster_split(cg_spreading *x);

/* The block's rank. blocks: their number, as a 64-bit value. NULL: out of memory. */
ct_value *cg_build_rank(ct_builder *b, ct_value *blocks);
/* Distributes the iterations of a persistent kernel's loop over that many blocks, each of which computes whole tiles.
   False: the kernel is not of this kind, the change would be observable, or memory has run out. */
bool cg_cluster_deal(cg_func *c, uint32_t blocks);

/* Adds an empty loop with the given bounds at the end of the kernel and returns its counter. NULL: out of memory. */
ct_value *cg_loop_begin(cg_func *c, ct_value *const bounds[3]);
/* The same for a loop over the parts, whose counter is the current turn. */
ct_value *cg_turns_begin(cg_func *c, uint32_t count);
/* Moves ops into the loop if they depend on the turn or have effects. */
void cg_turns_enclose(cg_func *c, const ct_value *turn);

#endif
