/* Prefetches of tiles to L2, in grids with few blocks. A tile that TMA will copy is prefetched by TMA (maps.c); of one
   that threads will copy, each thread prefetches lines of 128 bytes. Why it is right: a prefetch changes nothing that a
   thread can observe, and names only elements of the tensor in iterations that exist. */
#include "codegen/access/view_vectors.h"
#include "codegen/analysis/ring.h"
#include "codegen/kernel/limits.h"
#include "codegen/ops/hooks.h"
#include "codegen/ops/maps.h"
#include "codegen/ptx/ptx.h"
#include "codegen/values/homes.h"
#include "codegen/values/values.h"

void cg_assign_prefetch(cg_func *c, const ct_op *op)
{
    const cg_layout scalar = cg_layout_scalar(c->warp_bits);
    cg_want(c, op->operands[op->operand_count - 1], &scalar);
}

/* The bytes of a tile's row, if that is shorter than a line; else 0. */
static uint32_t short_row(const cg_ring_load *load)
{
    const bc_type *tile = load->op->results[0].type;
    uint32_t bytes = bc_kind_memory_bytes(bc_elem_kind(tile)) << cg_shape_of(tile).bits[load->fast];
    return bytes < CG_LINE_BYTES ? bytes : 0;
}

/* Prefetches the line of the vector. A row that is part of a line prefetches it if it is the first part, because the
   others belong to other tiles. */
static void prefetch_line(cg_func *c, void *user, const cg_tile_vector *part)
{
    const cg_ring_load *load = user;
    const uint32_t row = short_row(load);
    cg_val at = part->address, whether = part->inside;
    if (row) {
        cg_val within = cg_new(c, CG_B64), begins = cg_new(c, CG_PRED);
        at = cg_new(c, CG_B64);
        cg_ins(c, "add.s64 %v, %v, %d", at, part->address, (int)part->offset);
        cg_ins(c, "and.b64 %v, %v, %u", within, at, CG_LINE_BYTES - row);
        cg_ins(c, "setp.eq.u64 %v, %v, 0", begins, within);
        whether = cg_and(c, whether, begins);
    }
    cg_ins(c, "@%r prefetch.global.L2 [%v+%d]", whether, at, row ? 0 : (int)part->offset);
}

void cg_lower_prefetch(cg_func *c, const ct_op *op)
{
    const cg_ring_copy *copy = op->detail;
    if (copy->map) {
        cg_prefetch_boxes(c, op);
        return;
    }
    const cg_layout lines = cg_ring_lines(copy->load, c->warp_bits);
    const cg_val exists = cg_scalar(c, op->operands[op->operand_count - 1]);
    cg_view_op v = cg_view_op_of(op);
    v.in_turn = copy->cursor;
    v.cursor = copy->cursor ? copy->cursor->at : NULL;
    v.owned = true;
    v.when = &exists;
    cg_view_vectors(c, &v, &lines, 0, NULL, (void *)(uintptr_t)copy->load, prefetch_line);
    if (copy->cursor)
        cg_cursor_advance(c, copy->cursor->at);
}
