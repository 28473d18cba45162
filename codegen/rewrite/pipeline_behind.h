/* The part of the expander for loops with ops behind the counter. */
#ifndef TILEVM_CODEGEN_REWRITE_PIPELINE_BEHIND_H
#define TILEVM_CODEGEN_REWRITE_PIPELINE_BEHIND_H

#include "codegen/rewrite/pipeline.h"

/* Expands such a loop. False: out of memory. */
bool cg_pipeline_behind(cg_func *c, const cg_schedule *schedule, cg_pipelined *out);

#endif
