/* Loads that a loop multiplies, ahead of time: cp.async brings the tiles of later iterations into a ring of stages in
   shared memory while the current ones are multiplied. */
#ifndef TILEVM_CODEGEN_PIPELINE_H
#define TILEVM_CODEGEN_PIPELINE_H

#include "codegen/stage.h"

typedef struct cg_pipeline cg_pipeline;

/* The loads of a `for` that can go ahead: weak, of a view from outside, with an index that only the induction variable
   and outer values make, read by products alone, in 16-byte pieces, from memory that the loop does not write. NULL:
   none, or no room. */
cg_pipeline *cg_pipeline_of(cg_func *c, const ct_op *loop);

/* Emits the copies of the first iterations, given the 64-bit counter `low`, `step` and the end `high`. */
void cg_pipeline_start(cg_func *c, cg_pipeline *p, cg_val low, cg_val high, cg_val step);
/* At the head of the body: waits for this iteration's tiles and starts those of a later one, unless a product that runs
   by itself (wgmma) leaves time for it. The ops of the body that make indices are lowered for it; the caller sets the
   induction variable afterwards. */
void cg_pipeline_step(cg_func *c, cg_pipeline *p);
/* log2 of the parts along K in which the ring has the operands of op, the body's one product; and part number `part`:
   the same as at the head of a body whose tiles are whole. */
uint32_t cg_pipeline_parts(const cg_func *c, const ct_op *op);
void cg_pipeline_part(cg_func *c, uint32_t part);
/* Within the body, where op has started to multiply: those copies, unless they are on their way. */
void cg_pipeline_ahead(cg_func *c, const ct_op *op);
/* After the body, before the counter moves on; and after the loop. */
void cg_pipeline_turn(cg_func *c, cg_pipeline *p);
void cg_pipeline_end(cg_func *c, cg_pipeline *p);

#endif
