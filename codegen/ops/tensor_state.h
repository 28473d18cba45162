/* Tensor memory as a program of the kernel reaches it, and the rules of order, for the files that lower products by
   tcgen05 (codegen/ops/tcgen05.c, tcgen05_flight.c, tensor_begin.c, tensor_tiles.c, turns.c, chains.c). */
#ifndef TILEVM_CODEGEN_OPS_TENSOR_STATE_H
#define TILEVM_CODEGEN_OPS_TENSOR_STATE_H

#include "codegen/analysis/tensor.h"

struct cg_tensor_state {
    cg_val issuer;      /* predicate: it is the thread that issues; known: only that thread executes what it issues */
    cg_val base;        /* the address of the columns that the sum has now */
    cg_val done, phase; /* the barrier for products that threads wait for, and the phase that is awaited next */
    cg_val begun;       /* the number of products in flight that were issued; in programs of their own, of sums that
                           were begun */
    cg_val owed;        /* whether a product is awaited late (codegen/ops/tcgen05_flight.h) */
    /* Of sums in turn (codegen/ops/turns.c): */
    cg_val allocated; /* the address of all columns */
    uint32_t behind;  /* in the issuer's program: the label where its other threads wait for it */
    cg_val ahead;     /* of chains (codegen/ops/chains.c): the phase that is awaited next of the barrier of a product
                         that runs ahead */
    cg_val given;     /* the number of times that factors were given, or taken */
};

static inline struct cg_tensor_state *cg_tensor_state_of(const cg_func *c)
{
    return c->tensor->state;
}
/* The state of a program that is lowered next; NULL: out of memory, which is reported. */
struct cg_tensor_state *cg_tensor_state_new(cg_func *c);

/* What the thread has done to tensor memory is ordered before what others do behind a barrier and `acquire`. */
void cg_tensor_release(cg_func *c);
void cg_tensor_acquire(cg_func *c);
/* All threads wait for each other's accesses to tensor memory. */
void cg_tensor_meet(cg_func *c, const ct_op *op);
/* One thread of each warp arrives at the barrier. */
void cg_tensor_arrive(cg_func *c, cg_val barrier);
/* Only the issuer executes what follows, up to the label; 0: it is the only one here. */
uint32_t cg_tensor_begin_issuer(cg_func *c);
void cg_tensor_end_issuer(cg_func *c, uint32_t others);

/* The number of thread blocks that multiply together, which all instructions of a kernel name. */
static inline uint32_t cg_tensor_blocks(const cg_func *c)
{
    return c->paired ? CG_PAIR_BLOCKS : 1;
}

/* The address of the kernel's shared memory for tensor memory becomes known. */
void cg_tensor_memory(cg_func *c);
/* One warp allocates the columns, whose address any thread then reads from shared memory; it frees them. */
void cg_tensor_allocate(cg_func *c);
void cg_tensor_address(cg_func *c, cg_val address);
void cg_tensor_free(cg_func *c, cg_val address);

/* Lets the warp skip what follows, up to the label, if the factors of all its threads are 1: x * 1 is x. 0: it has too
   many of them. */
uint32_t cg_tensor_skip_ones(cg_func *c, const cg_val *factors, uint32_t count);

/* Lower the ops `tensor`, `tensor_end` and `sum`, and the end of a sum, where all threads execute them. */
void cg_tensor_begin(cg_func *c, const ct_op *op);
void cg_tensor_end(cg_func *c, const ct_op *op);
void cg_tensor_start(cg_func *c, const ct_op *op);
void cg_tensor_take(cg_func *c, const ct_op *op);

/* Does a product add to the sum before it is taken, whatever the ends of the loops are? */
bool cg_tensor_is_written(const cg_sum *s);
/* Loads the sum, and gives it to the value; written: a predicate, where no product may have been executed, and the sum
   is zero then. */
void cg_tensor_load(cg_func *c, const cg_sum *s, const ct_value *to, const cg_val *written);
/* Puts the initial value of a sum into tensor memory, unless it is zero: then the first product writes the sum instead
   of adding to it. */
void cg_tensor_store_start(cg_func *c, cg_sum *s, const cg_product *p, const ct_value *init);
/* Puts the left operand of the sum's product there, the first operand of the op, for instructions that are issued
   behind a barrier. Those of the last product have been waited for. */
void cg_tensor_store_left(cg_func *c, const ct_op *op, const cg_product *p, const cg_sum *s);

#endif
