/* Tiles of a ring that producers round or transpose, because copies do neither, and products read bytes and tf32 only
   if K is contiguous. The tiles are copied to their stage unchanged, some stages ahead, and `put` changes them there.
   For rounding, each thread changes the f32 elements that it copied itself. For transposing, all threads pass the tile
   through registers:

       copy     A thread copies blocks of four elements along memory and 16 bytes across: words of four bytes, or chunks
                of 16 bytes of f32. The pieces of all threads are contiguous, so that there are no bank conflicts.
       put      All threads read their blocks. After a barrier, each writes four chunks along K to the place from which
                the product reads them.

   A stage may have one tile to round and another one to transpose. Its barrier counts two arrivals of each producer;
   `put` is the second one. Sources: PTX ISA, "cp.async.wait_group", "prmt". */
#include <string.h>

#include "codegen/ops/hooks.h"
#include "codegen/ops/slots.h"
#include "codegen/ptx/ptx.h"
#include "codegen/values/memory.h"
#include "codegen/values/values.h"

enum { SIDE = 1 << CG_BLOCK_BITS };

/* The number of stages that are copied but not yet put. The consumers need the other stages: one for a running
   product, one for a product that is awaited, and one more if there are enough. */
static uint32_t slots_on_their_way(const cg_ring *ring)
{
    enum { FOR_CONSUMERS = 3 };
    return ring->slots > FOR_CONSUMERS + 1 ? ring->slots - FOR_CONSUMERS : 1;
}

/* Threads without elements skip to the label that is returned; 0: all have some. They would read what other threads
   copy, which they have not awaited. */
static uint32_t leave_idle(cg_func *c, const cg_ring_load *load)
{
    cg_val owner = cg_is_owner(c, &load->layout);
    uint32_t behind = owner.known ? 0 : cg_label(c);
    if (behind)
        cg_ins(c, "@!%v bra %l", owner, behind);
    return behind;
}

/* ---- rounded ---- */

static void round_all(cg_func *c, cg_val *words, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        cg_val rounded = cg_new(c, CG_B32);
        cg_ins(c, "cvt.rn.tf32.f32 %v, %v", rounded, words[i]);
        words[i] = rounded;
    }
}

static void put_rounded(cg_func *c, const cg_ring_load *load, cg_val base)
{
    uint32_t count = cg_layout_regs(&load->layout);
    cg_val *words = cg_vals(c, count);
    if (!words)
        return;
    uint32_t behind = leave_idle(c, load);
    cg_flat_load_some(c, BC_F32, base, &load->places, words);
    round_all(c, words, count);
    cg_flat_store_some(c, BC_F32, base, &load->places, words);
    if (behind)
        cg_place_label(c, behind);
}

/* ---- transposed ---- */

/* Transposes four words of four bytes each. */
static void transpose_bytes(cg_func *c, const cg_val *from, cg_val *to)
{
    cg_val half[SIDE];
    for (uint32_t i = 0; i < SIDE; i++) {
        half[i] = cg_new(c, CG_B32);
        cg_ins(c, "prmt.b32 %v, %v, %v, %s", half[i], from[2 * (i & 1)], from[2 * (i & 1) + 1],
               i < 2 ? "0x5140" : "0x7362");
    }
    for (uint32_t i = 0; i < SIDE; i++) {
        to[i] = cg_new(c, CG_B32);
        cg_ins(c, "prmt.b32 %v, %v, %v, %s", to[i], half[i & 2], half[(i & 2) + 1], i & 1 ? "0x7632" : "0x5410");
    }
}

/* Reads what the thread has copied, as words: four neighbouring bytes, or one element. */
static void read_words(cg_func *c, const cg_ring_load *load, cg_val base, cg_val *words)
{
    bool bytes = load->encoding.bytes == 1;
    for (uint32_t r = 0; r < cg_layout_regs(&load->layout); r += SIDE) {
        cg_place at = cg_flat_place(c, base, load->encoding.bytes, &load->places, r);
        cg_val *to = words + (bytes ? r / SIDE : r);
        for (uint32_t i = 0; i < (bytes ? 1u : SIDE); i++)
            to[i] = cg_new(c, CG_B32);
        if (bytes)
            cg_ins(c, "ld.shared.b32 %v, [%v+%d]", to[0], at.address, (int)at.offset);
        else
            cg_ins(c, "ld.shared.v4.b32 %V, [%v+%d]", to, (uint32_t)SIDE, at.address, (int)at.offset);
    }
}

/* Writes the four columns of a block, each as a chunk along K. r: the block's first register. */
static void write_block(cg_func *c, const cg_ring_load *load, cg_val base, const cg_layout *at, uint32_t r,
                        const cg_val *words)
{
    cg_val to[SIDE][SIDE]; /* by position in the chunk, then by column */
    for (uint32_t i = 0; i < SIDE; i++)
        if (load->encoding.bytes == 1)
            transpose_bytes(c, words + (size_t)SIDE * i, to[i]);
        else
            memcpy(to[i], words + (size_t)SIDE * i, sizeof to[i]);
    for (uint32_t i = 0; i < SIDE; i++) {
        cg_place place = cg_flat_place(c, base, load->encoding.bytes, at, r + i);
        cg_val chunk[SIDE] = {to[0][i], to[1][i], to[2][i], to[3][i]};
        cg_ins(c, "st.shared.v4.b32 [%v+%d], %V", place.address, (int)place.offset, chunk, (uint32_t)SIDE);
    }
}

static void put_transposed(cg_func *c, const cg_ring_load *load, cg_val base)
{
    const cg_layout at = cg_encoding_layout(&load->encoding, &load->layout);
    uint32_t block = (uint32_t)SIDE << load->encoding.chunk, per_block = SIDE * SIDE,
             count = cg_layout_regs(&load->layout) / block * per_block;
    cg_val *words = cg_vals(c, count);
    if (!words)
        return;
    uint32_t behind = leave_idle(c, load);
    read_words(c, load, base, words);
    if (behind)
        cg_place_label(c, behind);
    cg_barrier(c); /* all elements are in registers */
    behind = leave_idle(c, load);
    if (cg_is_rounded(load))
        round_all(c, words, count);
    for (uint32_t i = 0; i < count / per_block; i++)
        write_block(c, load, base, &at, i * block, words + (size_t)per_block * i);
    if (behind)
        cg_place_label(c, behind);
}

/* ---- the ops ---- */

/* Rounds or transposes the tiles of the first stage that is not put yet. */
static void put_slot(cg_func *c, cg_ring *ring)
{
    for (uint32_t i = 0; i < ring->load_count; i++) {
        const cg_ring_load *load = &ring->loads[i];
        if (!cg_is_put(load))
            continue;
        cg_val base = cg_new(c, CG_B32);
        cg_ins(c, "add.u32 %v, %v, %u", base, cg_groups_slot(c, ring, ring->state->put), load->offset);
        if (cg_is_transposed(load))
            put_transposed(c, load, base);
        else
            put_rounded(c, load, base);
    }
    cg_ins(c, "mbarrier.arrive.shared::cta.b64 _, [%v]", cg_groups_barrier(c, ring, ring->state->put, 0));
    cg_groups_put_next(c, ring);
}

void cg_assign_put(cg_func *c, const ct_op *op)
{
    (void)c, (void)op;
}

void cg_lower_put(cg_func *c, const ct_op *op)
{
    cg_ring *ring = cg_ring_of(op, 0);
    uint32_t ahead = slots_on_their_way(ring), behind = cg_label(c);
    cg_val few = cg_new(c, CG_PRED);
    cg_ins(c, "cp.async.commit_group");
    cg_ins(c, "add.u32 %v, %v, 1", ring->state->put_count, ring->state->put_count);
    cg_ins(c, "setp.le.u32 %v, %v, %u", few, ring->state->put_count, ahead);
    cg_ins(c, "@%v bra.uni %l", few, behind);
    cg_ins(c, "cp.async.wait_group %u", ahead);
    put_slot(c, ring);
    cg_place_label(c, behind);
}

void cg_assign_put_rest(cg_func *c, const ct_op *op)
{
    (void)c, (void)op;
}

void cg_lower_put_rest(cg_func *c, const ct_op *op)
{
    cg_ring *ring = cg_ring_of(op, 0);
    uint32_t again = cg_label(c), behind = cg_label(c);
    cg_val none = cg_new(c, CG_PRED);
    cg_ins(c, "cp.async.wait_group 0");
    cg_place_label(c, again);
    cg_ins(c, "setp.eq.u32 %v, %v, 0", none, ring->state->put_count);
    cg_ins(c, "@%v bra.uni %l", none, behind);
    put_slot(c, ring);
    cg_ins(c, "bra.uni %l", again);
    cg_place_label(c, behind);
}
