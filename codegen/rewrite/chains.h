/* The issuer of chains of products by tcgen05: a program of its own for the thread that starts them. */
#ifndef TILEVM_CODEGEN_REWRITE_CHAINS_H
#define TILEVM_CODEGEN_REWRITE_CHAINS_H

#include "codegen/analysis/tensor.h"

/* Gives the products of the kernel to the issuer, if all of them are of chains that it can follow; their sums have
   places in c->tensor. */
void cg_issue_chains(cg_func *c, ct_op *groups);

/* Gives the multiplication of a chain's sum to correctors (codegen/rewrite/correct.c), if that is asked for and
   possible; behind the former. */
void cg_correct_chain(cg_func *c, ct_op *groups);

/* For both, of a program that is made of the consumers': can its warps execute all of it, control flow, numbers that
   producers load as well, and what `executes` says? If not, it is discarded. */
bool cg_is_feasible_program(const ct_op *groups, ct_block *program, ct_is_root *executes);
/* An op of the consumers' program, to be changed. */
ct_op *cg_of_consumers(const ct_op *groups, const ct_op *wanted);

#endif
