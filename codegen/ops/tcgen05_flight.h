/* When products by tcgen05, which are asynchronous, are complete: the issuer commits to a barrier, for which threads
   wait, at once or later. */
#ifndef TILEVM_CODEGEN_OPS_TCGEN05_FLIGHT_H
#define TILEVM_CODEGEN_OPS_TCGEN05_FLIGHT_H

#include "codegen/kernel/kernel.h"

/* The issuer lets the barrier, and if to_all the same one of each block of the cluster, know when the products that it
   has issued are complete. */
void cg_tensor_commit(cg_func *c, cg_val barrier, bool to_all);
/* The same for the kernel's barrier; only the issuer executes this. */
void cg_tcgen05_commit_done(cg_func *c);
/* All threads wait until the products that the last commit to the kernel's barrier covers are complete. */
void cg_tcgen05_await_done(cg_func *c);
/* They do so later, before the next use of that barrier. */
void cg_tcgen05_owe(cg_func *c);
/* Waits for what is owed, if there is something. */
void cg_tcgen05_await_owed(cg_func *c);

/* The product that the issuer has issued goes on: without groups of warps while others stay, or an iteration ahead. */
void cg_tcgen05_leave_in_flight(cg_func *c);
/* Waits for the product that was issued `back` products ago, if there was one; 1: the last one. */
void cg_tcgen05_await_landing(cg_func *c, uint32_t back);

#endif
