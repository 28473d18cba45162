/* Which tiles the thread blocks of a cluster, or the turns of one thread block, can have in parts
   (codegen/plan/cluster_find.c, cluster_order.c). */
#ifndef TILEVM_CODEGEN_PLAN_CLUSTER_H
#define TILEVM_CODEGEN_PLAN_CLUSTER_H

#include "codegen/kernel/kernel.h"

/* The form in which thread blocks have a value: whole, as a part along a dimension, or both if some ops need it whole
   and others in parts. */
typedef struct cg_share {
    bool whole, parted;
    uint8_t axis;
} cg_share;

typedef struct cg_spreading {
    cg_func *c;
    uint32_t blocks;      /* per tile block: a power of two */
    bool in_turn;         /* one block computes all parts in turn (codegen/cluster/cluster_turns.c) */
    bool only_first;      /* only the first part is computed (codegen/passes/narrow.c) */
    bool pair;            /* two blocks multiply as a pair, and each has half of the right operand's columns, too
                             (codegen/analysis/tcgen05.h) */
    bool columns;         /* each block has some columns of products; otherwise some rows */
    cg_share *of;         /* by value id */
    const bc_type **type; /* by value id: the original type */
    const char *why;      /* the first reason against it; NULL: there is none */
    const ct_op *against; /* the op to which the reason applies; NULL: none */
} cg_spreading;

enum { CG_ALL_OF_IT = -1, CG_NO_PART = -2 };

/* Is the kernel started with as many tile blocks as the device runs at once? */
bool cg_fills_device(const ct_func *f);
/* May the hint for clusters be followed? Not where a grid of all tile blocks fills the device and no sums of products
   need the registers of several thread blocks, or can be multiplied by a pair. */
bool cg_may_spread(const cg_func *c);

/* The part of operand i that op reads if its results are divided along `axis`: the dimension along which the operand is
   divided, or one of these two values. The stored value counts as the result of a store. */
int cg_cluster_reads(const cg_spreading *x, const ct_op *op, uint32_t i, uint32_t axis);
/* Is the op a store of a tile? out_value: the index of that operand. */
bool cg_cluster_is_store(const ct_op *op, uint32_t *out_value);

/* Can parts of the result of an op be computed, or accessed through its view, with the parts of its operands? */
bool cg_cluster_has_parts(const ct_op *op);

/* Records why the kernel cannot be divided in this way; returns false. */
bool cg_cluster_refuse(cg_spreading *x, const ct_op *op, const char *why);
/* Determines the form in which blocks have every value. False: the kernel cannot be divided in this way. */
bool cg_cluster_find(cg_spreading *x);
/* The tensor of a view. NULL: each iteration of a loop creates its own tensor, whose tiles may overlap those of
   others. */
const ct_value *cg_cluster_tensor_of(const ct_value *view);
/* Would blocks change the order of accesses that tokens order, or that a single thread block would execute in order? */
bool cg_cluster_is_torn(cg_spreading *x);

#endif
