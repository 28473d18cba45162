/* Which tiles are loaded, and which maps are computed, in the layout in which they are read. */
#ifndef TILEVM_CODEGEN_PLAN_HOMES_H
#define TILEVM_CODEGEN_PLAN_HOMES_H

#include "codegen/kernel/kernel.h"

/* After the first walk of the layouts pass: decides for loads and maps. */
void cg_decide_homes(cg_func *c);
/* After the last one: maps of rows are computed by all threads in the layout in which their results are read, if the
   row can be loaded there. Returns whether another walk is needed. */
bool cg_decide_row_maps(cg_func *c);

#endif
