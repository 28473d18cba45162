/* Stows tiles for the loops that load them again, where accesses are too short for copies to a ring: those of rows of
   f16 that start anywhere, for example. Each thread puts its elements of a tile into a part of the slot that is its
   own, packed, and the later loops read them from there in accesses of up to 16 bytes, instead of one element at a time
   through L1 (codegen/ops/stow.c):

       for i { %t = load ... }            %ring = ring; %few = are there no more iterations than slots?
       for i { %t = load ... }            for i { %t = load ...; stow %t, i, %ring }
                                     =>   if %few { for i { %t = stowed i, %ring ... } }
                                          else    { for i { %t = load ... } }
                                          ended %ring

   Rows with more iterations are loaded again, as before. Other loads of these loops, such as those of weights, have
   their rings behind the stowed tiles.

   Why it is right: a load that is dropped would have read the same elements, because it has the same address, mask and
   padding as that of the first loop in the same iteration, and the block of the loops has no write that it may have to
   follow (cg_order_holds_back). A thread reads what it has written itself, in its program order, so that no barrier is
   needed; slots are numbered by iterations, each of which stows its tiles, since the first loop has one end only, and
   what has no slot is not written. */
#include "codegen/analysis/order.h"
#include "codegen/analysis/product.h"
#include "codegen/analysis/spread.h"
#include "codegen/access/pointers.h"
#include "codegen/kernel/limits.h"
#include "codegen/kernel/remarks.h"
#include "codegen/plan/again.h"
#include "codegen/plan/early.h"
#include "codegen/plan/keep.h"
#include "codegen/rewrite/ring.h"
#include "codegen/rewrite/versions.h"
#include "codegen/tile/build.h"
#include "codegen/tile/tokens.h"

enum {
    MOST_LOOKED = 2 * CG_KEPT_LOOPS, /* at, for loops that load a row again */
    MOST_LOOPS = 32                  /* of a kernel, so that those which are there twice leave it small */
};

typedef struct stowing {
    cg_func *c;
    ct_op *first;  /* loop */
    cg_ring *ring; /* of the tiles that its loads and later ones read */
    ct_op *loops[CG_KEPT_LOOPS];
    ct_op *again[CG_KEPT_LOOPS][CG_RING_LOADS]; /* by later loop and load of the ring; NULL: it does not load it */
    uint32_t count;
    uint8_t *held;  /* by value id: whether a load must stay where it is, once that is known */
    uint32_t known; /* ids below it are in the table; later loads are not stowed */
} stowing;

/* ---- which ---- */

static uint64_t bytes_of(const bc_type *tile)
{
    return (uint64_t)cg_memory_bytes(bc_elem_kind(tile)) << cg_shape_of(tile).tile_bits;
}

/* Is the load of the loop too short for copies, while a thread has a word of it or more? Other tiles could be in a
   ring. */
static bool is_short(cg_func *c, ct_op *load)
{
    const bc_type *tile = load->results[0].type;
    cg_early_plan p = {.distance = 0};
    cg_early_measure(c, load, &p);
    return p.access < CG_COPY_BYTES && bytes_of(tile) / cg_threads(c) >= CG_COPY_BYTES;
}

static bool is_tile(const ct_op *op)
{
    bc_kind kind = bc_elem_kind(op->results[0].type);
    return op->results[0].type->rank && kind != BC_PTR && kind != BC_I1 && bc_kind_memory_bytes(kind);
}

/* A loop that counts up by a constant, and contains no other one. */
static bool may_stow(const ct_op *loop)
{
    const ct_block *body = loop->regions[0];
    int64_t step;
    bool may = loop->opcode == OP_for && !loop->plain && ct_is_constant(loop->operands[2], &step) && step > 0
               && !ct_attr_u(loop, F_for_unsigned_cmp);
    for (const ct_op *op = may ? body->first : NULL; op && may; op = ct_next_op(op, body))
        may = !ct_is_loop(op);
    return may;
}

/* The bytes of a loop's tiles that may get a ring. */
static uint32_t bytes_beside(cg_func *c, const ct_op *loop)
{
    uint64_t bytes = 0;
    for (ct_op *op = loop->regions[0]->first; op; op = ct_next_op(op, loop->regions[0]))
        if (ct_is_load(op) && is_tile(op) && !is_short(c, op))
            bytes += bytes_of(op->results[0].type);
    return bytes < UINT32_MAX ? (uint32_t)bytes : UINT32_MAX;
}

/* Must the load of the loop stay where it is? Each load is looked at once, since that takes as long as its block is. */
static bool is_held_back(const stowing *x, const ct_op *loop, const ct_op *load)
{
    enum { UNKNOWN, HELD, FREE };
    uint8_t *known = &x->held[load->results[0].id];
    if (*known == UNKNOWN)
        *known = cg_order_holds_back(x->c, loop->block, load) ? HELD : FREE;
    return *known == HELD;
}

static ct_op *find_again(const stowing *x, const ct_op *load, const ct_op *loop)
{
    for (ct_op *op = loop->regions[0]->first; op; op = op->next)
        if (ct_is_load(op) && op->results[0].id < x->known && cg_load_same(load, x->first, op, loop)
            && !is_held_back(x, loop, op))
            return op;
    return NULL;
}

/* The later loop, with those of its loads that read the tiles of the first one. */
static void add_loop(stowing *x, ct_op *loop, ct_op *const *loads, uint32_t count)
{
    bool any = false;
    for (uint32_t i = 0; i < count; i++)
        any = (x->again[x->count][i] = find_again(x, loads[i], loop)) || any;
    if (any)
        x->loops[x->count++] = loop;
}

static bool is_read_again(const stowing *x, uint32_t load)
{
    for (uint32_t k = 0; k < x->count; k++)
        if (x->again[k][load])
            return true;
    return false;
}

/* The bytes of the loop that has most of them. */
static uint32_t most_beside(const stowing *x)
{
    uint32_t most = bytes_beside(x->c, x->first);
    for (uint32_t k = 0; k < x->count; k++) {
        const uint32_t bytes = bytes_beside(x->c, x->loops[k]);
        most = bytes > most ? bytes : most;
    }
    return most;
}

/* ---- the ring ---- */

/* The offsets of all threads' registers in a slot: as many registers as 16 bytes hold are adjacent, whatever their
   places in memory. */
static cg_layout places_of(const cg_layout *l, uint32_t element, uint32_t warp_bits)
{
    static const uint8_t in_order[] = {0, 1, 2, 3};
    const uint32_t chunk = tv_trailing_zeros(CG_ACCESS_BYTES / element);
    return cg_places_of_threads(l, in_order, l->reg_bits < chunk ? l->reg_bits : chunk, warp_bits);
}

static cg_layout layout_of(cg_func *c, const ct_op *load)
{
    if (load->opcode == OP_load_view_tko) {
        const cg_view_op v = cg_view_op_of(load);
        return cg_view_layout(c, &v);
    }
    const cg_ptr_op p = cg_ptr_op_of(load);
    cg_reach r = {.shape = cg_shape_of(load->results[0].type),
                  .bytes = cg_memory_bytes(bc_elem_kind(load->results[0].type)),
                  .load = load};
    r.vector_bits = cg_pointer_vector(c, &p, &r.fast);
    return cg_spread(c, &r);
}

/* Adds the tile to the ring if offsets in a slot are small enough. */
static bool add_tile(cg_func *c, cg_ring *ring, ct_op *load)
{
    const cg_layout l = layout_of(c, load);
    const uint32_t warp_bits = cg_real_warp_bits(c), bytes = cg_memory_bytes(bc_elem_kind(load->results[0].type));
    if (l.reg_bits + CG_LANE_BITS + warp_bits > CG_MAX_TILE_BITS || ring->load_count == CG_RING_LOADS)
        return false;
    cg_ring_load *to = &ring->loads[ring->load_count++];
    *to = (cg_ring_load){.op = load, .layout = l, .places = places_of(&l, bytes, warp_bits)};
    to->own_bytes = bytes << to->places.tile_bits;
    return true;
}

/* Finds the loops behind the first one that load some of its tiles, and the ring for these. */
static bool find_loops(stowing *x)
{
    ct_op *loads[CG_RING_LOADS];
    uint32_t count = 0, kept = 0, looked = 0;
    x->ring = cg_ring_plan(x->c, CG_RING_OF_THREADS);
    for (ct_op *op = x->first->regions[0]->first; op && count < CG_RING_LOADS; op = op->next)
        if (ct_is_load(op) && is_tile(op) && is_short(x->c, op))
            loads[count++] = op;
    for (ct_op *op = count && x->ring ? x->first->next : NULL; op && looked < MOST_LOOKED; op = op->next) {
        looked += op->opcode == OP_for;
        if (op->opcode == OP_for && x->count < CG_KEPT_LOOPS && cg_have_same_range(x->first, op) && may_stow(op)
            && cg_may_version(op, op))
            add_loop(x, op, loads, count);
    }
    for (uint32_t i = 0; i < count && x->count; i++) {
        if (!is_read_again(x, i) || !add_tile(x->c, x->ring, loads[i]))
            continue;
        for (uint32_t k = 0; k < x->count; k++)
            x->again[k][kept] = x->again[k][i];
        kept++;
    }
    return kept;
}

/* ---- the ops ---- */

/* The number of the iteration, in front of an op of the loop. */
static ct_value *number_of(cg_func *c, const ct_op *loop, ct_op *place)
{
    ct_builder b = {c->ir, place, false};
    int64_t step = 1;
    ct_is_constant(loop->operands[2], &step);
    return ct_build_div_unsigned(&b, ct_build_sub(&b, &loop->regions[0]->args[0], loop->operands[0]), step);
}

static void put_stow(const stowing *x, cg_ring_load *load, ct_value *ring)
{
    ct_op *behind = load->op->next;
    ct_value *number = number_of(x->c, x->first, behind);
    ct_op *op = number ? ct_op_new(x->c->ir, CT_stow, load->op, 3, 0) : NULL;
    if (!op)
        return;
    ct_set_operand(op, 0, ring);
    ct_set_operand(op, 1, number);
    ct_set_operand(op, 2, &load->op->results[0]);
    op->detail = load;
    ct_insert_before(op, behind);
}

/* Replaces a load of the later loop by the tile that has been stowed. */
static void take_stowed(const stowing *x, const ct_op *loop, ct_op *load, cg_ring_load *from, ct_value *ring)
{
    ct_value *number = number_of(x->c, loop, load);
    ct_op *op = number && ct_pass_token_on(x->c->ir, load) ? ct_op_new(x->c->ir, CT_stowed, load, 2, 1) : NULL;
    if (!op)
        return;
    ct_be_like(&op->results[0], &load->results[0]);
    ct_set_operand(op, 0, ring);
    ct_set_operand(op, 1, number);
    op->detail = from;
    ct_insert_before(op, load);
    ct_replace_uses(&load->results[0], &op->results[0]);
    ct_remove(load);
}

/* The condition that each iteration has a slot of its own, in front of the loop. */
static ct_value *has_few(const stowing *x)
{
    ct_op *more = cg_later_new(x->c, x->first, ct_operand(x->first, F_for_lower_bound), x->ring->slots);
    ct_builder b = {x->c->ir, x->first, false};
    if (more)
        ct_insert_before(more, x->first);
    return more ? ct_build_two(&b, OP_xori, &more->results[1], ct_build_scalar(&b, BC_I1, 1)) : NULL;
}

static void stow(const stowing *x)
{
    ct_value *few = has_few(x), *ring = few ? cg_ring_new(x->c, x->ring, x->first, x->first) : NULL;
    ct_op *last = NULL;
    for (uint32_t i = 0; ring && i < x->ring->load_count; i++)
        put_stow(x, &x->ring->loads[i], ring);
    for (uint32_t k = 0; ring && k < x->count && !x->c->failed; k++) {
        ct_block *otherwise = NULL;
        if (!cg_version(x->c, x->loops[k], x->loops[k], few, &otherwise))
            continue;
        for (ct_op *op = otherwise->first; op; op = ct_next_op(op, otherwise))
            op->plain = false;
        for (uint32_t i = 0; i < x->ring->load_count; i++)
            if (x->again[k][i])
                take_stowed(x, x->loops[k], x->again[k][i], &x->ring->loads[i], ring);
        last = otherwise->parent;
    }
    if (ring)
        cg_ring_put_behind(x->c, CT_ended, ring, last ? last : x->first);
}

static uint32_t loops_of(const cg_func *c)
{
    uint32_t loops = 0;
    for (const ct_op *op = c->ir->body->first; op; op = ct_next_op(op, c->ir->body))
        loops += ct_is_loop(op);
    return loops;
}

void cg_stow_tiles(cg_func *c)
{
    if (c->strip_bits || cg_loops_stay_plain(c) || cg_has_products(c->ir->body) || loops_of(c) > MOST_LOOPS)
        return;
    const uint32_t known = c->ir->value_count;
    uint8_t *held = bc_new(&c->arena, uint8_t, known + 1u);
    bool changed = false;
    for (ct_op *op = held ? c->ir->body->first : NULL; op && !c->failed; op = ct_next_op(op, c->ir->body)) {
        stowing x = {.c = c, .first = op, .held = held, .known = known};
        if (op->opcode != OP_for || !may_stow(op) || !cg_is_straight(op->regions[0]) || !find_loops(&x))
            continue;
        cg_ring_place_loads(x.ring);
        const cg_kept_slots slots = cg_slots_to_keep(c, op, NULL, x.ring, most_beside(&x), 0);
        x.ring->slots = slots.kept;
        x.ring->room = slots.room;
        x.ring->why = slots.why;
        if (!slots.kept)
            continue;
        cg_remark(c, op, CG_REMARK_Kept, TV_REMARK_PASSED,
                  "the tiles of {Loads=%u} loads, in accesses too short for copies, stay in shared memory for the "
                  "{Loops=%u} loops that follow, if there are at most {Iterations=%u} iterations, whose tiles take "
                  "{Shared=%u} bytes",
                  x.ring->load_count, x.count, slots.kept, slots.kept * x.ring->slot_bytes);
        stow(&x);
        changed = true;
    }
    if (changed && cg_find_facts(c->ir))
        cg_find_views(c->ir);
}

/* ---- what is beside it ---- */

/* Puts the ring of a loop behind those tiles, or gives it up. */
static void place_behind(cg_func *c, ct_op *loop, const cg_ring *stowed)
{
    enum { FEWEST = 2 };
    cg_ring *ring = cg_plan_of(loop)->ring;
    const uint32_t bytes = stowed->slots * stowed->slot_bytes, fit = (stowed->room - bytes) / ring->slot_bytes,
                   least = ring->end == CG_FREE_ONCE_READ ? 1 : FEWEST;
    ring->offset = bytes;
    ring->slots = ring->slots < fit ? ring->slots : fit;
    if (ring->slots >= least)
        return;
    loop->detail = NULL;
    for (uint32_t i = 0; i < ring->load_count; i++)
        cg_plan_early(c, loop, ring->loads[i].op, "tiles of its row leave no room", true);
}

void cg_place_behind_stowed(cg_func *c)
{
    for (ct_op *op = c->ir->body->first; op && !c->failed; op = ct_next_op(op, c->ir->body)) {
        const cg_ring *stowed = op->opcode == CT_ring ? op->detail : NULL;
        for (ct_op *next = op; stowed && next && next->opcode != CT_ended; next = ct_next_op(next, c->ir->body))
            if (cg_plan_of(next))
                place_behind(c, next, stowed);
    }
}
