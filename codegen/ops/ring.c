/* Rings in shared memory, filled by cp.async. At the head of iteration i, all copies except those of the newest
   slots - 2 groups have arrived. A barrier makes them visible and guarantees that all threads have finished
   iteration i - 1, whose slot the copies of iteration i + slots - 1 overwrite. If each thread reads only its own
   copies, its own wait is enough. A ring that refills its only slot starts the copies of iteration i + 1 once the
   tiles of iteration i are in registers. */
#include "bytecode/number/number.h"
#include "codegen/access/pointers.h"
#include "codegen/access/view_vectors.h"
#include "codegen/analysis/computed.h"
#include "codegen/ops/counter.h"
#include "codegen/ops/hooks.h"
#include "codegen/ops/maps.h"
#include "codegen/ops/slots.h"
#include "codegen/ptx/ptx.h"
#include "codegen/values/effects.h"
#include "codegen/values/homes.h"
#include "codegen/values/memory.h"
#include "codegen/values/strips.h"
#include "codegen/values/values.h"

/* ---- the ring ---- */

void cg_assign_ring(cg_func *c, const ct_op *op)
{
    (void)c, (void)op;
}

/* The view or the pointers of a load. */
static const ct_value *memory_of(const ct_op *op)
{
    return ct_operand(op, bc_info(op->from)->address);
}

void cg_effects_ring(cg_func *c, ct_op *op)
{
    const cg_ring *ring = op->detail;
    if (cg_is_between_groups(ring))
        return;
    for (uint32_t i = 0; i < ring->load_count; i++)
        cg_add_access(c, op, ring->loads[i].op, memory_of(ring->loads[i].op), false, NULL);
    if (!ring->again)
        cg_add_ring(c, op, CG_FILLS_RING, ring);
}

void cg_add_ring_end(cg_func *c, ct_op *loop, const cg_ring *ring)
{
    cg_add_ring(c, loop, CG_READS_RING, ring);
}

void cg_effects_for(cg_func *c, ct_op *op)
{
    const cg_plan *plan = op->detail;
    if (plan)
        cg_add_ring_end(c, op, plan->ring);
}

/* The address of the first slot. */
static cg_val first_slot(cg_func *c, const cg_ring *ring)
{
    cg_val memory = cg_ring_memory(c), at;
    if (!ring->offset)
        return memory;
    at = cg_new(c, CG_B32);
    cg_ins(c, "add.u32 %v, %v, %u", at, memory, ring->offset);
    return at;
}

/* The same plus the offset by thread that all loads of the ring share. */
static cg_val own_part(cg_func *c, const cg_ring *ring, cg_val memory)
{
    cg_val part = cg_thread_index(c, &ring->threads, UINT32_MAX >> (32 - CG_MAX_TILE_BITS), 0), own;
    if (part.known)
        return memory;
    own = cg_new(c, CG_B32);
    cg_ins(c, "add.u32 %v, %v, %v", own, memory, part);
    return own;
}

void cg_lower_ring(cg_func *c, const ct_op *op)
{
    cg_ring *ring = op->detail;
    ring->state = bc_new(&c->arena, cg_ring_state, 1);
    if (!ring->state)
        return;
    cg_ring_memory(c);
    if (cg_is_between_groups(ring)) {
        cg_groups_ring(c, ring);
        return;
    }
    for (uint32_t i = 0; i < ring->load_count; i++)
        cg_take_access(c, op);
    if (!ring->again)
        cg_take_effect(c, op, CG_FILLS_RING); /* an earlier execution of the loop may still read it */
    cg_val memory = first_slot(c, ring);
    ring->state->base = ring->role == CG_RING_OF_THREADS ? own_part(c, ring, memory) : memory;
    ring->state->read = cg_new(c, CG_B32);
    ring->state->write = cg_new(c, CG_B32);
    cg_ins(c, "mov.u32 %v, %v", ring->state->read, ring->state->base);
    cg_ins(c, "mov.u32 %v, %v", ring->state->write, ring->state->base);
    if (!ring->again && cg_ring_zero_gaps(c, ring))
        cg_barrier(c); /* copies of other threads go beside the zeros */
}

static void next_slot(cg_func *c, const cg_ring *ring, cg_val slot)
{
    cg_val last = cg_new(c, CG_B32), wraps = cg_new(c, CG_PRED), next = cg_new(c, CG_B32);
    cg_ins(c, "add.u32 %v, %v, %u", last, ring->state->base, (ring->slots - 1) * ring->slot_bytes);
    cg_ins(c, "setp.eq.u32 %v, %v, %v", wraps, slot, last);
    cg_ins(c, "add.u32 %v, %v, %u", next, slot, ring->slot_bytes);
    cg_ins(c, "selp.b32 %v, %v, %v, %v", slot, ring->state->base, next, wraps);
}

void cg_assign_drain(cg_func *c, const ct_op *op)
{
    (void)c, (void)op;
}

void cg_lower_drain(cg_func *c, const ct_op *op)
{
    cg_groups_drain(c, cg_ring_of(op, 0));
}

void cg_assign_ended(cg_func *c, const ct_op *op)
{
    (void)c, (void)op;
}

void cg_effects_ended(cg_func *c, ct_op *op)
{
    cg_add_ring_end(c, op, cg_ring_of(op, 0));
}

void cg_lower_ended(cg_func *c, const ct_op *op)
{
    cg_take_effect(c, op, CG_READS_RING);
}

void cg_ring_end(cg_func *c, const ct_op *loop)
{
    cg_ins(c, "cp.async.wait_group 0");
    cg_take_effect(c, loop, CG_READS_RING); /* the memory becomes scratch again once all threads have read it */
}

/* ---- copies ---- */

void cg_assign_later(cg_func *c, const ct_op *op)
{
    cg_set_scalars(c, op);
}

/* n steps of the counter; for an unsigned 64-bit counter, the product saturates. */
static cg_val steps_of(cg_func *c, const ct_op *op, cg_val step, uint32_t n)
{
    uint32_t bits = cg_class_bits((cg_class)step.cls);
    if (step.known)
        return cg_const((cg_class)step.cls, step.bits > UINT64_MAX / n ? UINT64_MAX : step.bits * n);
    cg_val steps = cg_new(c, (cg_class)step.cls);
    cg_ins(c, "mul.lo.s%u %v, %v, %u", bits, steps, step, n);
    if (bits == 32 || cg_range_of(op->operands[2]).high <= INT64_MAX / n)
        return steps;
    cg_val high = cg_new(c, CG_B64), fits = cg_new(c, CG_PRED);
    cg_ins(c, "mul.hi.u64 %v, %v, %u", high, step, n);
    cg_ins(c, "setp.eq.u64 %v, %v, 0", fits, high);
    return cg_select(c, fits, steps, cg_const(CG_B64, UINT64_MAX));
}

/* Is there an iteration n steps after the one of `now`? Why it is right: nothing is prefetched for an iteration that
   does not exist, because either the counter `then` cannot overflow and is compared with the end, or the steps are
   compared with the distance to the end. */
static cg_val is_below_end(cg_func *c, const ct_op *op, uint32_t n, cg_val now, cg_val steps, cg_val then, cg_val end)
{
    uint32_t bits = cg_class_bits((cg_class)now.cls);
    bool stays = cg_counter_stays(op, op->operands[0], n);
    cg_val valid = cg_new(c, CG_PRED);
    cg_ins(c, "setp.lt.%s%u %v, %v, %v", cg_counter_sign(op), bits, valid, stays ? then : now, end);
    if (stays)
        return valid;
    cg_val rest = cg_new(c, CG_B64), enough = cg_new(c, CG_PRED);
    cg_ins(c, "sub.s64 %v, %v, %v", rest, end, now);
    cg_ins(c, "setp.gt.u64 %v, %v, %v", enough, rest, steps);
    return cg_and(c, valid, enough);
}

void cg_lower_later(cg_func *c, const ct_op *op)
{
    const ct_value *counter = cg_result(op, 0);
    cg_ring *ring = ((const cg_distance *)op->detail)->ring;
    uint32_t n = ((const cg_distance *)op->detail)->iterations, bits = cg_counter_bits(op, op->operands[0], n);
    cg_val bounds[3], *regs = cg_vals(c, 2);
    for (int i = 0; i < 3; i++)
        bounds[i] = cg_counter_operand(c, op, op->operands[i], bits);
    cg_val at = cg_reg(c, bounds[0]), steps = at;
    if (n) {
        steps = steps_of(c, op, bounds[2], n);
        at = cg_new(c, (cg_class)at.cls);
        cg_ins(c, "add.s%u %v, %v, %v", bits, at, bounds[0], steps);
    }
    cg_val valid = is_below_end(c, op, n, bounds[0], steps, at, bounds[1]);
    if (op->operand_count > 3)
        valid = cg_and(c, valid, cg_scalar(c, op->operands[3]));
    if (!regs)
        return;
    regs[0] = cg_counter_element(c, bc_elem_kind(counter->type), at);
    regs[1] = valid;
    if (ring) {
        ring->state->behind_copies = ring->state->behind_copies ? ring->state->behind_copies : cg_label(c);
        cg_ins(c, "@!%v bra.uni %l", valid, ring->state->behind_copies);
    }
    cg_set(c, counter, &regs[0]);
    cg_set(c, cg_result(op, 1), &regs[1]);
}

void cg_assign_cursor(cg_func *c, const ct_op *op)
{
    cg_layout scalar = cg_layout_scalar(c->warp_bits);
    cg_want(c, op->operands[op->operand_count - 1], &scalar);
}

/* By how much the index grows in each iteration; `by` is 1 if the step is not known. */
static cg_val growth_of(cg_func *c, const cg_ring_cursor *cursor, cg_val step)
{
    if (step.known)
        return cg_const(CG_B64, (uint64_t)((int64_t)step.bits * cursor->times / cursor->by));
    if (cursor->times == 1)
        return step;
    cg_val r = cg_new(c, CG_B64);
    cg_ins(c, "mul.lo.s64 %v, %v, %d", r, step, (int)cursor->times);
    return r;
}

void cg_lower_cursor(cg_func *c, const ct_op *op)
{
    cg_ring_cursor *cursor = op->detail;
    const ct_value *step = op->operands[op->operand_count - 1];
    cg_view_op v = cg_view_op_of(op);
    v.in_turn = true;
    v.starts_before = cursor->starts_before;
    cg_val count = growth_of(c, cursor, cg_to_b64(c, bc_elem_kind(step->type), true, cg_scalar(c, step)));
    cursor->at = bc_new(&c->arena, cg_cursor, 1);
    if (!cursor->at)
        return;
    const cg_layout lines = cg_ring_lines(cursor->load, c->warp_bits);
    if (cursor->lines)
        cg_view_cursor(c, &v, &lines, 0, cursor->dim, count, cursor->at);
    else
        cg_view_cursor(c, &v, &cursor->load->layout, cg_chunk_bits(v.tile_type), cursor->dim, count, cursor->at);
}

void cg_assign_commit(cg_func *c, const ct_op *op)
{
    (void)c, (void)op;
}

static void place_behind_copies(cg_func *c, cg_ring *ring)
{
    if (ring->state->behind_copies)
        cg_place_label(c, ring->state->behind_copies);
    ring->state->behind_copies = 0;
}

/* Ends the copies in front of the loop. If some of them were skipped because their iterations do not exist, there
   are fewer groups of copies than the loop assumes, so all of them are awaited. */
static void end_first_copies(cg_func *c, cg_ring *ring)
{
    uint32_t loop = ring->state->behind_copies && !ring->joined ? cg_label(c) : 0;
    if (loop)
        cg_ins(c, "bra.uni %l", loop);
    place_behind_copies(c, ring);
    if (!loop)
        return;
    cg_ins(c, "cp.async.wait_group 0");
    cg_place_label(c, loop);
}

void cg_lower_commit(cg_func *c, const ct_op *op)
{
    cg_ring *ring = cg_ring_of(op, 0);
    if (cg_is_between_groups(ring)) {
        cg_groups_commit(c, op);
        return;
    }
    bool in_front = ring->role == CG_RING_OF_THREADS && ring->state->filled < cg_ring_distance(ring);
    if (!in_front)
        place_behind_copies(c, ring);
    if (!ring->joined)
        cg_ins(c, "cp.async.commit_group");
    if (ring->role != CG_RING_OF_THREADS)
        next_slot(c, ring, ring->state->write);
    if (!in_front)
        return;
    if (ring->end != CG_FREE_ONCE_READ)
        cg_ins(c, "add.u32 %v, %v, %u", ring->state->write, ring->state->write, ring->slot_bytes);
    if (++ring->state->filled == cg_ring_distance(ring))
        end_first_copies(c, ring);
}

/* ---- reading ---- */

/* Does the op have a condition? Between groups with products in flight, it says whether there is a slot to await. */
static bool is_conditional(const ct_op *op)
{
    return op->operand_count > 1;
}

static void want_condition(cg_func *c, const ct_op *op)
{
    cg_layout scalar = cg_layout_scalar(c->warp_bits);
    if (is_conditional(op))
        cg_want(c, op->operands[1], &scalar);
}

void cg_assign_await(cg_func *c, const ct_op *op)
{
    want_condition(c, op);
}

/* Adds the effect of copies that threads, not the copy engine, have made. */
static void add_arrival(cg_func *c, ct_op *op, const cg_ring *ring)
{
    if (cg_ring_is_of_threads(ring))
        cg_add_ring(c, op, CG_WRITTEN, ring);
}

void cg_effects_await(cg_func *c, ct_op *op)
{
    const cg_ring *ring = cg_ring_of(op, 0);
    if (!cg_is_between_groups(ring) || is_conditional(op) || ring->end != CG_FREE_ITERATION_LATER)
        add_arrival(c, op, ring);
    if (!cg_is_between_groups(ring) && ring->role != CG_RING_OF_THREADS)
        cg_add_effect(c, op, CG_MEETS);
}

void cg_lower_await(cg_func *c, const ct_op *op)
{
    cg_ring *ring = cg_ring_of(op, 0);
    cg_val slot = ring->state->read;
    if (is_conditional(op)) {
        cg_groups_await(c, op, cg_scalar(c, op->operands[1]));
        return;
    }
    if (cg_is_between_groups(ring)) {
        if (ring->end != CG_FREE_ITERATION_LATER)
            cg_groups_await(c, op, cg_const(CG_PRED, 1));
        slot = cg_groups_slot(c, ring, ring->state->read);
    } else {
        if (!ring->joined)
            cg_ins(c, "cp.async.wait_group %u", ring->slots > 2 ? cg_ring_distance(ring) - 1 : 0);
        cg_take_effect(c, op, CG_WRITTEN);
        if (ring->role != CG_RING_OF_THREADS)
            cg_take_effect(c, op, CG_MEETS);
    }
    for (uint32_t i = 0; i < ring->load_count; i++) {
        cg_val *tile = &ring->state->tiles[i];
        *tile = cg_new(c, CG_B32);
        cg_ins(c, "add.u32 %v, %v, %u", *tile, slot, ring->loads[i].offset);
    }
}

/* A tile that products read gets the layout of a load from memory, but no registers are loaded. One that consumers
   compute from gets that of fragments; one copied for threads may be read in any (codegen/passes/layouts.c). */
void cg_assign_staged(cg_func *c, const ct_op *op)
{
    const cg_ring_load *load = op->detail;
    cg_layout l = load->layout;
    bool fragments = load->computed && cg_fragments_from(c, load->computed, op, &l);
    if (!load->own_bytes && !fragments && cg_copies_by_pointers(op)) {
        cg_ptr_op p = cg_ptr_op_of(op);
        l = cg_pointer_layout(c, &p);
    } else if (!load->own_bytes && !fragments) {
        cg_view_op v = cg_view_op_of(op);
        l = cg_view_layout(c, &v);
    }
    const cg_layout *decided = c->homes->decided[cg_result(op, 0)->id];
    cg_set_home(c, cg_result(op, 0), decided ? decided : &l, fragments ? CG_WEIGHT_MMA : CG_WEIGHT_MEMORY);
}

void cg_effects_staged(cg_func *c, ct_op *op)
{
    cg_add_access(c, op, op, memory_of(op), false, NULL);
    if (op->effects && op->effects->last)
        op->effects->last->started = true;
}

/* Reports how the copies access memory. */
static void say_access(cg_func *c, const ct_op *op, const cg_layout *l)
{
    if (cg_copies_by_pointers(op)) {
        cg_ptr_op p = cg_copied_pointers(op);
        cg_pointer_remark(c, op, &p, l);
    } else {
        cg_view_op v = cg_view_op_of(op);
        cg_view_remark(c, op, &v, l, cg_chunk_bits(v.tile_type));
    }
}

void cg_lower_staged(cg_func *c, const ct_op *op)
{
    const cg_ring_load *load = op->detail;
    const ct_value *tile = cg_result(op, 0);
    const cg_layout *home = cg_value_of(c, tile)->home;
    cg_val *regs = op->in_registers ? cg_vals(c, cg_layout_regs(home)) : NULL;
    if (!regs)
        return; /* products read it in the slot (cg_encoding_of) */
    cg_layout places = load->own_bytes ? load->places : cg_encoding_layout(&load->encoding, home);
    say_access(c, op, &load->layout);
    (load->computed ? cg_flat_load_words : cg_flat_load_some)(c, bc_elem_kind(tile->type), cg_tile_in_slot(op), &places,
                                                              regs);
    cg_set(c, tile, regs);
}

void cg_assign_release(cg_func *c, const ct_op *op)
{
    want_condition(c, op);
}

/* If products are in flight, the release also awaits the next slot. */
void cg_effects_release(cg_func *c, ct_op *op)
{
    const cg_ring *ring = cg_ring_of(op, 0);
    if (cg_is_between_groups(ring) && ring->end == CG_FREE_ITERATION_LATER)
        add_arrival(c, op, ring);
}

void cg_lower_release(cg_func *c, const ct_op *op)
{
    cg_ring *ring = cg_ring_of(op, 0);
    if (cg_is_between_groups(ring))
        cg_groups_release(c, op, is_conditional(op) ? cg_scalar(c, op->operands[1]) : cg_const(CG_PRED, 1));
    else {
        if (ring->role == CG_RING_OF_THREADS) /* the slot that is free now is written next */
            cg_ins(c, "mov.u32 %v, %v", ring->state->write, ring->state->read);
        next_slot(c, ring, ring->state->read);
    }
}
