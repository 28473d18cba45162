/* The issuer of chains of products by tcgen05: a program of its own for the thread that starts them. */
#ifndef TILEVM_CODEGEN_REWRITE_CHAINS_H
#define TILEVM_CODEGEN_REWRITE_CHAINS_H

#include "codegen/analysis/tensor.h"

/* Gives the products of the kernel to the issuer, if all of them are of chains that it can follow; their sums have
   places in c->tensor. */
void cg_issue_chains(cg_func *c, ct_op *groups);

#endif
