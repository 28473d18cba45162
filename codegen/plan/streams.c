/* Prefetches loads of loops without products, whose tiles are summed, compared or scaled. Only the thread that copies
   an element reads it, so a slot is a part of shared memory for each thread, and no barrier is needed: a thread awaits
   its own copies. Registers could be used instead, but they hold fewer bytes in flight.

   A map whose blocks take tiles in turn may be launched with a block for each tile. Such a loop, whose step is not
   known (a grid-stride loop), is compiled twice by the expand pass, and a single iteration runs without the ring.

   If only one slot fits, it is refilled as soon as its tile is in registers. Why that is right: the thread that reads a
   byte is the one that later starts the copy to it, in its own program order.

   The loads must be weak, through views or pointers that depend only on the loop's counter, values from outside and
   loads that can be started earlier (codegen/rewrite/slice.c), in accesses of 4 to 16 bytes, in loops that contain no
   other loop with a ring. Other loads of the loop stay where they are. Why it is right: no store of the loop that a
   load may have to follow writes to its tile in an earlier iteration (cg_iterations_hold_back), so that it reads the
   same values when it is moved before them. */
#include "codegen/analysis/going_on.h"
#include "codegen/analysis/order.h"
#include "codegen/analysis/reordered.h"
#include "codegen/analysis/shared.h"
#include "codegen/analysis/transposed.h"
#include "codegen/cost/cost.h"
#include "codegen/kernel/limits.h"
#include "codegen/kernel/remarks.h"
#include "codegen/ops/fold.h"
#include "codegen/plan/budget.h"
#include "codegen/plan/loads.h"

typedef struct stream {
    cg_func *c;
    ct_op *loop;
    const ct_block *body;
    cg_ring *ring;
} stream;

/* ---- which loads ---- */

cg_layout cg_places_of_threads(const cg_layout *l, const uint8_t *vector, uint32_t bits, uint32_t warp_bits)
{
    cg_layout p = {.reg_bits = l->reg_bits, .warp_bits = l->warp_bits};
    uint32_t next = bits;
    for (uint32_t k = 0; k < bits; k++)
        p.reg[vector[k]] = (uint32_t)1 << k;
    for (uint32_t i = 0; i < CG_LANE_BITS; i++)
        p.lane[i] = (uint32_t)1 << next++;
    for (uint32_t i = 0; i < warp_bits; i++)
        p.warp[i] = (uint32_t)1 << next++;
    for (uint32_t i = 0; i < l->reg_bits; i++)
        if (!p.reg[i])
            p.reg[i] = (uint32_t)1 << next++;
    p.tile_bits = (uint8_t)next;
    return p;
}

/* log2 of the elements in 4 bytes of memory. */
static uint32_t least_bits(const bc_type *tile)
{
    uint32_t bytes = cg_memory_bytes(bc_elem_kind(tile));
    return bytes >= 4 ? 0 : bytes == 2 ? 1 : 2;
}

static const char *set_load(const cg_func *c, ct_op *op, const cg_layout *l, uint32_t fast, uint32_t bits,
                            cg_ring_load *out)
{
    const bc_type *type = op->results[0].type;
    cg_shape s = cg_shape_of(type);
    uint32_t warp_bits = cg_real_warp_bits(c);
    if (l->reg_bits + CG_LANE_BITS + warp_bits > CG_MAX_TILE_BITS)
        return "its tile is too large";
    uint8_t vector[8];
    const uint32_t along = s.rank ? cg_layout_vector(l, s.shift[fast], bits, vector) : 0;
    *out = (cg_ring_load){.op = op,
                          .fast = fast,
                          .layout = *l,
                          .places = cg_places_of_threads(l, vector, along, warp_bits),
                          .vector_bits = bits};
    out->own_bytes = cg_memory_bytes(bc_elem_kind(type)) << out->places.tile_bits;
    return NULL;
}

static const char *slot_of_view(cg_func *c, ct_op *op, const cg_layout *home, cg_ring_load *out)
{
    cg_view_op v = cg_view_op_of(op);
    cg_shape s = cg_shape_of(v.tile_type);
    uint32_t most = cg_chunk_bits(v.tile_type), least = least_bits(v.tile_type);
    if (v.view->type->kind == BC_GATHER_SCATTER_VIEW)
        return "it gathers";
    if (cg_view_is_half(&v))
        return "its elements have 4 bits";
    cg_layout l = home ? *home : cg_view_layout(c, &v);
    cg_view_lengths n = cg_view_lengths_of(c, &v, &l, most);
    if (n.inside < least && s.rank && !home) { /* the shorter vectors leave fewer threads without elements of their
                                                  own */
        l = cg_layout_memory(&s, n.fast, least, least, c->warp_bits);
        n = cg_view_lengths_of(c, &v, &l, most);
    }
    if (n.inside < least)
        return "its accesses are shorter than 4 bytes";
    if (n.edge < n.inside)
        return "its accesses are shorter at the tensor's end";
    return set_load(c, op, &l, n.fast, n.inside, out);
}

static const char *slot_of_pointers(cg_func *c, ct_op *op, const cg_layout *home, cg_ring_load *out)
{
    cg_ptr_op p = cg_ptr_op_of(op);
    uint32_t fast, least = least_bits(op->results[0].type);
    p.most_bits = cg_chunk_bits(op->results[0].type);
    uint32_t bits = cg_pointer_vector(c, &p, &fast);
    if (cg_pointee_shift(p.pointers->type) < 0)
        return "its elements have 4 bits";
    const cg_axis *axis = p.pointers->fact->axes ? &p.pointers->fact->axes[fast] : NULL;
    bool runs = axis && axis->run, by_one = !least && axis && axis->likely; /* copies of 4 bytes need no more */
    if (p.pointers->type->rank && !runs && !by_one)
        return "its pointers are not known to be consecutive";
    if (bits < least)
        return "its accesses are shorter than 4 bytes";
    cg_shape s = cg_shape_of(op->results[0].type);
    cg_layout l = home              ? *home
                  : runs || !s.rank ? cg_pointer_layout(c, &p)
                                    : cg_layout_memory(&s, fast, bits, 0, c->warp_bits);
    uint8_t vector[8];
    if (s.rank && !home && cg_layout_vector(&l, s.shift[fast], bits, vector) < least)
        l = cg_layout_memory(&s, fast, least, least, c->warp_bits);
    bits = s.rank ? cg_layout_vector(&l, s.shift[fast], bits, vector) : 0;
    return bits < least && s.rank ? "its accesses are shorter than 4 bytes" : set_load(c, op, &l, fast, bits, out);
}

const char *cg_slot_of_threads(cg_func *c, ct_op *op, const cg_layout *home, cg_ring_load *out)
{
    return op->opcode == OP_load_view_tko ? slot_of_view(c, op, home, out) : slot_of_pointers(c, op, home, out);
}

/* Does a map in the block read both tiles, or what maps compute from them? What a product reads does not meet. */
static bool meet(cg_func *c, const ct_block *body, const ct_value *tile, const ct_value *other)
{
    enum { NEITHER, FIRST, SECOND, BOTH };
    uint8_t *from = bc_new(&c->arena, uint8_t, c->ir->value_count + 1u);
    if (!from)
        return false;
    from[tile->id] = FIRST;
    from[other->id] = SECOND;
    for (const ct_op *op = body->first; op; op = ct_next_op(op, body))
        for (uint32_t i = 0; ct_is_map(op) && i < op->operand_count; i++) {
            uint8_t *result = &from[op->results[0].id];
            *result |= from[op->operands[i]->id];
            if (*result == BOTH)
                return true;
        }
    return false;
}

/* The layout of an earlier load with as many but smaller elements, if a map reads both tiles, which then needs no
   conversion, and this load also reads whole sectors in that layout. A thread may copy a sector by two accesses, each
   of which takes all of it from L2. NULL: the load gets a layout of its own. */
static const cg_layout *home_of(cg_func *c, const cg_ring *ring, const ct_op *op)
{
    const bc_type *type = op->results[0].type;
    if (op->opcode != OP_load_view_tko)
        return NULL;
    cg_view_op v = cg_view_op_of(op);
    for (uint32_t i = 0; i < ring->load_count; i++) {
        const cg_ring_load *other = &ring->loads[i];
        if (other->layout.tile_bits == cg_shape_of(type).tile_bits
            && cg_memory_bytes(bc_elem_kind(other->op->results[0].type)) < cg_memory_bytes(bc_elem_kind(type))
            && cg_view_reads_sectors(c, &v, &other->layout)
            && meet(c, op->block, &op->results[0], &other->op->results[0]))
            return &other->layout;
    }
    return NULL;
}

/* The layout in which a scan reads the tile, or a value computed from it element by element, if memory accesses are
   as efficient in that layout. */
static bool is_scanned(const cg_func *c, const ct_value *tile, uint32_t vector, uint32_t depth, cg_layout *out)
{
    uint32_t looked_at = 0;
    for (const ct_use *use = tile->uses; use && depth && looked_at < CG_SCAN_USES; use = use->next, looked_at++) {
        if (use->op->opcode == OP_scan)
            return cg_scans_pieces(c, use->op, vector, out);
        if (ct_is_map(use->op) && is_scanned(c, &use->op->results[0], vector, depth - 1, out))
            return true;
    }
    return false;
}

/* The layout in which the product takes the tile that gets it through threads. False: there is no such product. */
static bool is_multiplied(cg_func *c, ct_op *op, cg_layout *out)
{
    uint32_t fast;
    if (cg_reordered_home(c, op, out))
        return true;
    if (op->opcode == OP_load_view_tko) {
        cg_view_op v = cg_view_op_of(op);
        return cg_view_contiguous(&v, &fast) && cg_transposing_home(c, op, fast, cg_view_vector(c, &v, fast), out);
    }
    cg_ptr_op p = cg_ptr_op_of(op);
    p.most_bits = cg_chunk_bits(op->results[0].type);
    uint32_t vector = cg_pointer_vector(c, &p, &fast);
    return vector && cg_transposing_home(c, op, fast, vector, out);
}

/* Like cg_slot_of_threads, in the layout that suits the tile's users. */
static const char *slot_of(cg_func *c, const cg_ring *ring, ct_op *op, cg_ring_load *out)
{
    cg_layout wanted;
    const cg_layout *home = is_multiplied(c, op, &wanted) ? &wanted : home_of(c, ring, op);
    const char *why = cg_slot_of_threads(c, op, home, out);
    cg_ring_load scanned;
    cg_layout l;
    if (!why && !home && is_scanned(c, &op->results[0], out->vector_bits, CG_SCAN_MAPS, &l)
        && !cg_slot_of_threads(c, op, &l, &scanned) && scanned.vector_bits >= out->vector_bits)
        *out = scanned;
    return why;
}

static const char *fits_threads(cg_query *q)
{
    return slot_of(q->c, q->ring, q->load, q->out);
}

static const char *differs_by_thread(cg_query *q)
{
    return q->load->results[0].type->rank ? NULL : "each thread would copy the same element";
}

const char *cg_stream_obstacle(cg_query *q)
{
    static cg_condition *const list[] = {
        cg_in_each_iteration,         cg_is_movable,     fits_threads, cg_is_known_by_counter,
        cg_precedes_other_iterations, differs_by_thread, NULL};
    return cg_obstacle(q, list);
}

/* ---- how many slots ---- */

/* Does the body contain other loops? */
static bool is_nest(const ct_block *body)
{
    for (const ct_op *op = body->first; op; op = ct_next_op(op, body))
        if (ct_is_loop(op))
            return true;
    return false;
}

/* Do the tiles of a block take at least half of a multiprocessor's registers, so that no other block hides its
   waits? */
static bool is_alone(cg_func *c)
{
    uint64_t bits;
    if (!cg_bits_held(c, &bits))
        return false;
    return (double)bits / 32 * 2 >= cg_machine_of(c->target)->registers;
}

/* The bytes of the shortest copy of a thread. */
static uint32_t shortest_copy(const cg_ring *ring)
{
    uint32_t least = CG_ACCESS_BYTES;
    for (uint32_t i = 0; i < ring->load_count; i++) {
        const cg_ring_load *load = &ring->loads[i];
        uint32_t bytes = cg_memory_bytes(bc_elem_kind(load->op->results[0].type)) << load->vector_bits;
        least = bytes < least ? bytes : least;
    }
    return least;
}

/* Does each copy have 16 bytes, or 8 in a block that is alone? Many short copies of a large tile take longer than the
   wait that they would save. */
static bool are_long(cg_func *c, const cg_ring *ring)
{
    uint32_t least = shortest_copy(ring);
    return least == CG_ACCESS_BYTES || (least == CG_ACCESS_BYTES / 2 && is_alone(c));
}

/* Chooses the number of slots. With fewer than two, the loop stays unchanged, and a remark says so, unless its only
   slot may be refilled. */
static void choose_stream_slots(const stream *x)
{
    cg_func *c = x->c;
    cg_ring *ring = x->ring;
    cg_slot_work work = {.kind = is_nest(x->body)          ? CG_NESTS
                                 : !cg_is_map(c)           ? CG_STREAMS
                                 : cg_takes_turns(x->loop) ? CG_TURNS
                                                           : CG_MAPS,
                         .slot_bytes = ring->slot_bytes,
                         .iterations = cg_iterations_of(x->loop),
                         .copy_bytes = shortest_copy(ring),
                         .fits = cg_shared_for_ring(c, x->body, ring, cg_shared_for_the_rest(c))};
    cg_slot_budget budget = cg_slot_budget_of(c, &work);
    ring->slots = budget.slots;
    ring->why = budget.why;
    if (ring->slots == 1 && work.iterations > 1 && are_long(c, ring))
        ring->end = CG_FREE_ONCE_READ;
    else if (ring->slots < 2)
        cg_remark_few_slots(c, x->loop,
                            work.iterations < 2 && !cg_loops_stay_plain(c) ? "the loop has a single iteration" : NULL,
                            ring->slot_bytes, budget.room);
}

/* ---- the loop ---- */

/* Why no load of the loop can be prefetched; NULL: no such obstacle. */
static const char *loop_obstacle(const stream *x, bool products)
{
    if (x->loop->opcode != OP_for)
        return cg_goes_on_by_memory(x->c, x->loop) ? "whether there is a next iteration depends on what its loop reads"
                                                   : "its loop has no induction variable";
    return products ? "the kernel has products" : cg_has_plan(x->body) ? "an inner loop is pipelined" : NULL;
}

/* Returns why the load has no slot; NULL: it has one, or provides the address of another load that runs ahead. */
static const char *find_load(const stream *x, ct_op *op, bool addresses, const char *loop_why)
{
    static cg_condition *const list[] = {cg_stream_obstacle, NULL};
    bool of_ring = cg_is_source_of(x->ring, op);
    if (addresses && (cg_plan_source(x->c, x->loop, op, of_ring) || of_ring))
        return NULL;
    cg_query q = {.c = x->c, .loop = x->loop, .body = x->body, .ring = x->ring};
    return loop_why ? loop_why : cg_obstacle_to_ring(&q, list, op);
}

static void find_loads(const stream *x, const char *loop_why)
{
    cg_load_list all = cg_loads_of(x->c, x->loop);
    for (uint32_t i = 0; i < all.count; i++) {
        if (i == all.others)
            cg_ring_find_slice(x->c, x->ring, x->body);
        all.of[i].why = find_load(x, all.of[i].op, i >= all.others, loop_why);
    }
    cg_plan_listed(x->c, x->loop, &all);
}

void cg_find_streams(cg_func *c, ct_op *loop, bool products)
{
    if (c->strip_bits || cg_has_too_many_loads(c, loop))
        return; /* codegen/passes/ahead.c prefetches those of strips */
    stream x = {.c = c, .loop = loop, .body = loop->regions[0], .ring = cg_ring_plan(c, CG_RING_OF_THREADS)};
    cg_plan *plan = bc_new(&c->arena, cg_plan, 1);
    if (!x.ring || !plan)
        return;
    plan->ring = x.ring;
    find_loads(&x, loop_obstacle(&x, products));
    if (!x.ring->load_count)
        return;
    cg_ring_place_loads(x.ring);
    choose_stream_slots(&x);
    bool runs_ahead = x.ring->slots >= 2 || x.ring->end == CG_FREE_ONCE_READ;
    plan->not_for_one = cg_is_map(c) && cg_takes_turns(loop);
    if (runs_ahead)
        loop->detail = plan;
    cg_ring_share_threads(x.ring);
    for (uint32_t i = 0; i < x.ring->load_count && !runs_ahead; i++)
        cg_plan_early(c, loop, x.ring->loads[i].op, "its loop is not pipelined", true);
}
