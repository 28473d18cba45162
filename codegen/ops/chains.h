/* Chains of products whose issuer has a program of its own (codegen/rewrite/chains.c). */
#ifndef TILEVM_CODEGEN_OPS_CHAINS_H
#define TILEVM_CODEGEN_OPS_CHAINS_H

#include "codegen/analysis/tensor.h"

/* One thread initialises the barriers of all tiles. Then begins the program of the op. */
void cg_chains_init(cg_func *c, cg_val memory);
void cg_chains_begin(cg_func *c, const ct_op *op);

/* The issuer: waits until consumers have made way for the product of a tile, and lets them know when it is complete;
   behind all tiles, goes on to the next product. */
void cg_chains_await(cg_func *c, const ct_op *product, uint32_t tile);
void cg_chains_commit(cg_func *c, const ct_op *product, uint32_t tile);
void cg_chains_go_on(cg_func *c, const ct_op *product);

/* The consumers: lowers `take`. */
void cg_chains_take(cg_func *c, const ct_op *op);

#endif
