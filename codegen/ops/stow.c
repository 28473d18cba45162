/* Tiles that threads keep in shared memory for later loops (codegen/plan/stow.c). Each thread has a part of its own of
   every slot, in which its elements lie as they lie in its registers, whatever their places in memory: accesses have 16
   bytes where it has so many, and no barrier is needed, because a thread reads only what it has written itself. */
#include "codegen/analysis/ring.h"
#include "codegen/ops/hooks.h"
#include "codegen/ops/slots.h"
#include "codegen/ptx/ptx.h"
#include "codegen/values/homes.h"
#include "codegen/values/memory.h"
#include "codegen/values/values.h"

enum { RING, NUMBER, TILE }; /* the operands */

static void want_number(cg_func *c, const ct_op *op)
{
    const cg_layout scalar = cg_layout_scalar(c->warp_bits);
    cg_want(c, op->operands[NUMBER], &scalar);
}

/* The number in 32 bits. Its upper bits are not needed where there is such a slot. */
static cg_val low_word(cg_func *c, cg_val number)
{
    if (number.known || cg_class_bits((cg_class)number.cls) <= 32)
        return number;
    cg_val low = cg_new(c, CG_B32);
    cg_ins(c, "cvt.u32.u64 %v, %v", low, number);
    return low;
}

/* The address of the tile in that slot. */
static cg_val tile_in_slot(cg_func *c, const ct_op *op, cg_val number)
{
    const cg_ring *ring = cg_ring_of(op, RING);
    const cg_ring_load *load = op->detail;
    cg_val at = cg_new(c, CG_B32);
    cg_ins(c, "mad.lo.u32 %v, %v, %u, %v", at, low_word(c, number), ring->slot_bytes, ring->state->base);
    if (!load->offset)
        return at;
    cg_val tile = cg_new(c, CG_B32);
    cg_ins(c, "add.u32 %v, %v, %u", tile, at, load->offset);
    return tile;
}

void cg_assign_stow(cg_func *c, const ct_op *op)
{
    const cg_ring_load *load = op->detail;
    cg_want(c, op->operands[TILE], &load->layout);
    want_number(c, op);
}

/* What has no slot, because there are more iterations than slots, is not written. */
void cg_lower_stow(cg_func *c, const ct_op *op)
{
    const cg_ring *ring = cg_ring_of(op, RING);
    const cg_ring_load *load = op->detail;
    const cg_val *regs = cg_get(c, op->operands[TILE], &load->layout);
    cg_val number = cg_scalar(c, op->operands[NUMBER]), beyond = cg_new(c, CG_PRED);
    const uint32_t behind = cg_label(c);
    if (!regs)
        return;
    number = cg_reg(c, number);
    cg_ins(c, "setp.ge.u%u %v, %v, %u", cg_class_bits((cg_class)number.cls), beyond, number, ring->slots);
    cg_ins(c, "@%v bra.uni %l", beyond, behind);
    cg_flat_store_some(c, bc_elem_kind(op->operands[TILE]->type), tile_in_slot(c, op, number), &load->places, regs);
    cg_place_label(c, behind);
}

void cg_assign_stowed(cg_func *c, const ct_op *op)
{
    const cg_ring_load *load = op->detail;
    cg_set_home(c, cg_result(op, 0), &load->layout, CG_WEIGHT_MEMORY);
    want_number(c, op);
}

void cg_lower_stowed(cg_func *c, const ct_op *op)
{
    const cg_ring_load *load = op->detail;
    const ct_value *tile = cg_result(op, 0);
    cg_val *regs = cg_vals(c, cg_layout_regs(&load->layout));
    if (!regs)
        return;
    cg_flat_load_some(c, bc_elem_kind(tile->type), tile_in_slot(c, op, cg_scalar(c, op->operands[NUMBER])),
                      &load->places, regs);
    cg_set(c, tile, regs);
}
