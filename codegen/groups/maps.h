/* Decides whether TMA copies the tiles of a warp-specialised kernel, and adds the ops for that
   (codegen/groups/maps.c). */
#ifndef TILEVM_CODEGEN_GROUPS_MAPS_H
#define TILEVM_CODEGEN_GROUPS_MAPS_H

#include "codegen/groups/groups_find.h"

/* Why tensor maps are not worth their cost at the start of a block: a text for users. NULL: they are. */
const char *cg_maps_waste(const cg_splitting *x);
/* Why tensor maps cannot copy all tiles of the rings: a text for users. NULL: they can, and the rings' loads say which
   tiles are multicast to all blocks of a cluster. */
const char *cg_maps_obstacle(cg_splitting *x);
/* The same, once the number of slots is known. */
const char *cg_maps_waste_slots(const cg_splitting *x);
/* The make_tensor_view behind a load's view. */
ct_op *cg_tensor_maker_of(const ct_op *load);
/* Is a tensor outside of loops that one reads not the same for all tile blocks (codegen/groups/differ.c)? A map is
   built once in a thread block, before the first of its tile blocks. */
bool cg_tensors_differ(cg_func *c);
/* Are short waits the only thing that several blocks on a multiprocessor would hide of each other? If so, one
   persistent block with groups hides them as well, and needs less bandwidth at once. Measured on an H200,
   microseconds of several blocks and of one: 8192 x 8192 by 8192 x 8192 in tiles of 64x64x64 3,937 and 2,680, of
   128x32x64 7,300 and 2,986; 4096 383 and 345; 2048 48.3 and 47.9; 1024 10.1 and 10.8. */
bool cg_only_waits_are_hidden(const cg_splitting *x);
/* Is there one ring and one group of consumers, which would multiply for too few cycles between two slots? */
bool cg_has_short_steps(const cg_splitting *x);
/* Does wgmma read slots whose bytes come from L2 in no more time than groups take to pass a slot on? */
bool cg_has_short_slots(const cg_splitting *x);
/* Cycles of the place's product in an iteration. */
double cg_step_cycles(const cg_splitting *x, const cg_ring_place *p);
/* Changes the copies in the producers' program to copies by tensor maps, which it builds before the first of them. */
void cg_put_maps(cg_splitting *x, ct_block *producers);
/* Reports the decision, and the reason against maps (x->why). */
void cg_remark_maps(const cg_splitting *x);

#endif
