/* Chooses how many warps share rows of reductions and scans (codegen/choose.h). */
#ifndef TILEVM_CODEGEN_CHOOSE_ROWS_H
#define TILEVM_CODEGEN_CHOOSE_ROWS_H

#include "codegen/weight.h"

/* Does at most one loop load tiles? */
bool cg_reads_once(const cg_func *c);
/* Takes other warps than the usual ones where these would share rows, and fewer are better, or where only more leave a
   kernel a ring. now: what is predicted with the choices so far. *room keeps the choices, if they change. Returns what
   is predicted for a block then. */
cg_weight cg_share_rows_less(cg_func *c, const cg_watch *watch, cg_choices *room, cg_weight now);
/* Lets a block whose rows several loops read have a multiprocessor to itself if these stay in its stages or in L2 then.
   The same for now, *room and the result. */
cg_weight cg_read_rows_alone(cg_func *c, const cg_watch *watch, cg_choices *room, cg_weight now);

#endif
