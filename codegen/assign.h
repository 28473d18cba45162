/* The layouts pass: every tile value gets a home layout, and a list of the layouts in which it is read. */
#ifndef TILEVM_CODEGEN_ASSIGN_H
#define TILEVM_CODEGEN_ASSIGN_H

#include "codegen/lower.h"

/* How much a home should decide what is computed from it. */
enum { CG_WEIGHT_DEFAULT = 1, CG_WEIGHT_MEMORY = 2, CG_WEIGHT_REDUCED = 3, CG_WEIGHT_MMA = 4 };

/* Gives v its home: a tile of this layout. */
void cg_set_home(cg_func *c, const ct_value *v, const cg_layout *l, uint32_t weight);
/* All results of the op are scalars. */
void cg_set_scalars(cg_func *c, const ct_op *op);
/* The layout that v has or would like best; false when it has no wish. */
bool cg_wish(cg_func *c, const ct_value *v, cg_layout *out_layout, uint32_t *out_weight);
/* A layout for the elements of a tile that no op has a wish for. */
cg_layout cg_default_layout(cg_func *c, const bc_type *tile);
/* A lazy value is wanted in l: what it is made of is wanted in the layouts that follow. */
void cg_want_through(cg_func *c, const ct_value *v, const cg_layout *l);
/* The result is the operand seen otherwise: made in every layout that is wanted, with the operand's wish. */
void cg_pass_wish(cg_func *c, const ct_op *op);
/* Layouts of everything in a block. */
void cg_assign_block(cg_func *c, const ct_block *block);

/* Is the op computed element by element, from operands of its own shape (codegen/op_map.c) or from the index? */
static inline bool cg_is_map(uint8_t opcode)
{
    return bc_op_in(opcode, BC_OPS(GIVEN) | BC_OPS(MAP) | BC_OPS(CAST));
}

/* Hooks of the layouts pass. */
#define HOOK(name) cg_hook cg_assign_##name;
#include "codegen/hooks.def"
#define TOP(name, ring, operands, more, results, text) cg_hook cg_assign_##name;
#include "codegen/tile/ops.def"

#endif
