/* Fills the first slots of rings that TMA fills otherwise: building tensor maps takes as long as two or three products,
   so some of the producers' threads copy these slots in the meantime. Their program is that of the producers, without
   the ops that fill other slots. */
#include "codegen/cost/cost.h"
#include "codegen/groups/start.h"

#include "codegen/analysis/order.h"
#include "codegen/analysis/product.h"
#include "codegen/kernel/groups.h"
#include "codegen/kernel/limits.h"
#include "codegen/groups/maps.h"
#include "codegen/rewrite/ring.h"

/* ---- how many slots ---- */

/* As many slots as the products need until the copy engine's first tiles arrive, and no more than can arrive by
   then. Loops with nothing but products need more of them than loops that also compute between products. All rings
   of a loop have the same number. Measured on an H200, 8192 x 8192 by 8192 x 8192 in tiles of 128x128x64: 1,681 us
   with 3 slots, 1,512 with 5, 1,508 with 7; of 8-bit elements that are read as fragments, 1,971, 2,051 and 2,088. */
static uint32_t slots_at_start(const cg_splitting *x)
{
    const cg_machine *m = cg_machine_of(x->c->target);
    bool is_plain = x->count == 1 && x->places[0].product->way != CT_TURNED && !cg_product_before(x->places[0].last);
    double enough = is_plain ? m->maps_built : m->engine_delay;
    uint32_t most = UINT32_MAX, rings = 0, bytes = 0, count = 1;
    double cycles = 0;
    for (uint32_t i = 0; i < x->count && x->places[i].loop == x->places[0].loop; i++) {
        const cg_ring *ring = x->places[i].ring;
        most = ring->slots < most ? ring->slots : most;
        bytes += ring->slot_bytes;
        rings++;
        cycles += cg_step_cycles(x, &x->places[i]) * x->budget->blocks;
    }
    for (uint32_t i = 0; i < x->row_count && x->rows[i].loop == x->places[0].loop; i++) {
        most = x->rows[i].ring->slots < most ? x->rows[i].ring->slots : most;
        rings++;
    }
    while (count < most && (count + 1) * rings + x->kept_count <= CG_MOST_STARTS && count * cycles < enough
           && (count + 1) * bytes <= m->maps_built * m->l2_port_bytes)
        count++;
    return count;
}

/* Chooses the slots of all rings that are filled early: those of the first loop and of kept operands. */
static uint32_t choose_starts(const cg_splitting *x)
{
    uint32_t each = slots_at_start(x), all = x->kept_count;
    for (uint32_t i = 0; i < x->kept_count; i++)
        x->kept[i].ring->at_start = 1;
    for (uint32_t i = 0; i < x->count && x->places[i].loop == x->places[0].loop; i++) {
        x->places[i].ring->at_start = each;
        all += each;
    }
    for (uint32_t i = 0; i < x->row_count && x->rows[i].loop == x->places[0].loop; i++) {
        x->rows[i].ring->at_start = each;
        all += each;
    }
    return all;
}

/* ---- the program ---- */

static bool is_start(const ct_op *op)
{
    return op->opcode == CT_copy || op->opcode == CT_started || cg_is_grid_wait(op);
}

/* Adapts an op of the producers' program. */
static void adapt(const cg_splitting *x, ct_op *op)
{
    const ct_value *value = ct_ring_of(op);
    const cg_ring *ring = value ? value->op->detail : NULL;
    if (op->opcode == CT_acquire || (ring && !ring->at_start)) {
        ct_remove(op);
    } else if (op->opcode == OP_for) {
        op->detail = NULL; /* the ring of the original function */
    } else if (op->opcode == CT_commit) {
        op->opcode = CT_started;
    } else if (op->opcode == CT_copy) {
        cg_ring_copy *copy = bc_new(x->f->arena, cg_ring_copy, 1);
        if (!copy)
            return;
        *copy = *(const cg_ring_copy *)op->detail;
        copy->at_start = true;
        op->detail = copy;
    }
}

static void put_landed(const cg_splitting *x, ct_op *end)
{
    ct_op *op = ct_op_new(x->f, CT_landed, end, 0, 0);
    if (op)
        ct_insert_before(op, end);
}

ct_block *cg_make_starters(cg_splitting *x, const ct_block *producers)
{
    if (x->c->cluster || cg_ring_rounds(x->places[0].ring)) /* cp.async does not round */
        return NULL;
    ct_map map;
    ct_block *block = ct_map_new(x->f, &map) ? ct_clone_block(x->f, producers, NULL, &map) : NULL;
    x->starts = block ? bc_new(x->f->arena, cg_starts, 1) : NULL;
    if (!x->starts)
        return NULL;
    x->starts->count = choose_starts(x);
    for (ct_op *op = block->first, *next; op; op = next) {
        next = ct_next_op(op, block);
        adapt(x, op);
    }
    if (!ct_prune(x->f, block, is_start, x->places[0].value))
        return NULL;
    for (ct_op *op = block->first; op; op = ct_next_op(op, block))
        if (op->opcode == OP_return)
            put_landed(x, op);
    return block;
}
