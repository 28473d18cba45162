/* Creates two versions of ops and a condition that selects one at run time. */
#ifndef TILEVM_CODEGEN_REWRITE_VERSIONS_H
#define TILEVM_CODEGEN_REWRITE_VERSIONS_H

#include "codegen/kernel/kernel.h"

/* Moves values that do not depend on any of the ops from *first to `last` in front of them. */
void cg_clear_range(ct_op **first, ct_op *last);
/* May the ops be duplicated? */
bool cg_may_version(const ct_op *first, const ct_op *last);
/* Executes the ops from `first` to `last`, in one block, if the condition holds, and a copy of them, in *out_otherwise,
   if it does not. False: the ops are unchanged. */
bool cg_version(cg_func *c, ct_op *first, ct_op *last, ct_value *condition, ct_block **out_otherwise);
/* Marks the loops of the second version as being as likely to run as those of the first: then neither is
   warp-specialised. In nested loops, the rings of warp-specialised kernels continue across iterations of the outer
   loop. This gains more than the check costs, so that nothing is marked. */
void cg_note_likely(const ct_block *otherwise);
/* Has the function such a version? */
bool cg_has_likely(const ct_func *f);
/* Has loads run ahead in chains of the second version, whose loads have all become loads of views, too: launches
   with rows that are not aligned are as likely, and a block waits for the tiles of its products one after the
   other. Those of a single product run ahead if copies bring all of them (codegen/passes/loads.c). */
void cg_let_chains_run_ahead(ct_block *second);

#endif
