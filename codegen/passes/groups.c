/* The groups pass divides the warps of a kernel whose loops feed asynchronous products into producers, which copy, and
   consumers, which multiply (warp specialisation). Each group gets a copy of the whole kernel. The consumers' copy
   loses the copies: its loads become `staged` tiles, and products stay in flight over iterations. The producers' copy
   loses everything that the copies do not need. Tiles from which consumers compute a left operand are read into
   registers. On targets without asynchronous products, consumers read the tiles by ldmatrix, and no product stays in
   flight (CG_HAS_MAPS_FOR_MMA).

   A stage of a ring passes between the groups by two barriers in shared memory, so that copies run as far ahead as
   there are stages, even across the ends of loops. This requires a kernel whose control flow around the loops depends
   only on scalars that both groups can compute or load. The ring gets as many stages as fit.
   docs/internals/codegen/warp-specialisation.md has the rules. One thread of a further warp may issue the products by
   tcgen05 (codegen/groups/issuer.c).

   Why it is right: a stage is read only after the barrier at which its copies arrive, and written only after the
   barrier at which every consumer warp has arrived, so each consumer reads the tile that the load would have read. */
#include <string.h>

#include "codegen/analysis/order.h"
#include "codegen/analysis/tensor.h"
#include "codegen/analysis/transposed.h"
#include "codegen/analysis/turned.h"
#include "codegen/kernel/groups.h"
#include "codegen/kernel/limits.h"
#include "codegen/groups/groups_find.h"
#include "codegen/groups/copiers.h"
#include "codegen/groups/issuer.h"
#include "codegen/plan/block_order.h"
#include "codegen/groups/maps.h"
#include "codegen/passes/pass.h"
#include "codegen/groups/persist.h"
#include "codegen/passes/loads.h"
#include "codegen/groups/start.h"
#include "codegen/rewrite/carried.h"
#include "codegen/tile/tokens.h"

/* ---- the producers ---- */

static bool is_of_slot(const ct_op *op)
{
    return op->opcode == CT_acquire || op->opcode == CT_commit || op->opcode == CT_put || op->opcode == CT_put_rest;
}

static bool is_copy(const ct_op *op)
{
    return op->opcode == CT_copy || is_of_slot(op);
}

/* Is the op kept for its own sake? Producers themselves wait for the grid that writes what they copy. */
static bool is_root(const ct_op *op)
{
    return is_copy(op) || cg_is_grid_wait(op);
}

/* Is the op a load of a tile of one element, such as an extent or a pointer from a list of arrays, or of a list of
   rows? Every thread has such a tile, and each group loads it for itself. Why it is right: the load is weak, and no
   store or wait of the kernel may have to come before it (cg_order_holds_back), so that all groups read the same
   values. */
static bool is_number(const cg_splitting *x, const ct_op *op)
{
    const bc_type *type = ct_is_load(op) ? op->results[0].type : NULL;
    if (!cg_is_in_plan(op) && cg_is_list_of_rows(x->c, op))
        return true;
    return type && bc_shape_elems(type->shape, type->rank) == 1 && cg_is_weak_access(op)
           && !cg_order_holds_back(x->c, x->f->body, op);
}

/* Inserts an acquire, all copies of a ring and a commit into the producers' program; tiles that pass through
   registers (`put`) are written back a few slots later. */
static void copy_loads(const cg_splitting *x, const cg_ring_place *p)
{
    const ct_op *original = p->loop->regions[0]->first;
    uint32_t done = 0;
    for (ct_op *op = p->copy->regions[0]->first; op && done < p->ring->load_count; op = op->next) {
        if (op->from != original->from || is_of_slot(op))
            continue; /* an op that was inserted for another ring */
        if (original == p->loads[done]) {
            if (!done)
                cg_ring_put(x->c, CT_acquire, p->value, op);
            cg_ring_copy_load(x->c, op, &p->ring->loads[done], p->value);
            ct_pass_token_on(x->f, op); /* consumers wait for the slot */
            if (++done == p->ring->load_count) {
                if (cg_ring_puts(p->ring))
                    cg_ring_put_behind(x->c, CT_put, p->value, op);
                cg_ring_put_behind(x->c, CT_commit, p->value, op);
            }
        }
        original = original->next;
    }
}

/* The last slots of a loop are written back at the program's end, so that copies run ahead of them across loops,
   unless consumers could wait for these slots while producers wait for another ring. */
static void put_rest(const cg_splitting *x, const cg_ring_place *p, ct_block *producers)
{
    if (!cg_ring_puts(p->ring))
        return;
    if (x->count > 1 || x->kept_count) {
        cg_ring_put_behind(x->c, CT_put_rest, p->value, p->copy);
        return;
    }
    for (ct_op *op = producers->first; op; op = ct_next_op(op, producers))
        if (op->opcode == OP_return)
            cg_ring_put(x->c, CT_put_rest, p->value, op);
}

/* The same for a load in front of the loops. */
static void copy_kept(const cg_splitting *x, const cg_kept_load *kept)
{
    cg_ring_copy_load(x->c, kept->copy, &kept->ring->loads[0], kept->value);
    cg_ring_put(x->c, CT_acquire, kept->value, kept->copy);
    cg_ring_put_behind(x->c, CT_commit, kept->value, kept->copy);
}

/* Can the producers compute by themselves what to copy? */
static bool is_feasible(const ct_block *producers, const bool *numbers)
{
    for (const ct_op *op = producers->first; op; op = ct_next_op(op, producers))
        if (!is_root(op) && !cg_is_in_each_group(op) && !(op->result_count && numbers[op->results[0].id]))
            return false;
    return true;
}

static void discard(ct_block *block)
{
    while (block->first)
        ct_remove(block->first);
}

/* Creates the producers' program: a copy of the original function without the ops that producers do not need. NULL:
   there can be none, or out of memory. */
static ct_block *make_producers(cg_splitting *x)
{
    ct_map map;
    ct_block *block = ct_block_new(x->f, 0), *body = x->f->body;
    if (!block || !ct_map_new(x->f, &map))
        return NULL;
    for (const ct_op *op = body->first; op; op = op->next) {
        ct_op *copy = ct_clone(x->f, op, &map);
        if (!copy)
            return NULL;
        ct_append(block, copy);
    }
    bool *numbers = x->numbers = bc_new(x->f->arena, bool, x->f->value_count + 1u);
    if (!numbers)
        return NULL;
    const ct_op *original = body->first;
    for (ct_op *op = block->first; op; op = ct_next_op(op, block), original = ct_next_op(original, body)) {
        for (uint32_t i = 0; i < x->count; i++)
            if (original == x->places[i].loop)
                x->places[i].copy = op;
        for (uint32_t i = 0; i < x->row_count; i++)
            if (original == x->rows[i].loop)
                x->rows[i].copy = op;
        for (uint32_t i = 0; i < x->kept_count; i++)
            if (original == x->kept[i].load)
                x->kept[i].copy = op;
        if (is_number(x, original))
            numbers[original->results[0].id] = numbers[op->results[0].id] = true;
    }
    for (uint32_t i = 0; i < x->count; i++)
        copy_loads(x, &x->places[i]);
    for (uint32_t i = 0; i < x->row_count; i++)
        copy_loads(x, &x->rows[i]);
    for (uint32_t i = 0; i < x->count; i++)
        put_rest(x, &x->places[i], block);
    for (uint32_t i = 0; i < x->kept_count; i++)
        copy_kept(x, &x->kept[i]);
    if (ct_prune(x->f, block, is_root, x->places[0].value) && is_feasible(block, numbers)) {
        if (x->budget->maps) {
            x->starters = cg_has_copiers(x) ? cg_part_copiers(x, block) : cg_make_starters(x, block);
            cg_put_maps(x, block);
        }
        return block;
    }
    discard(block);
    return NULL;
}

/* ---- the consumers ---- */

/* The slot of the next product is awaited while a product runs: the first slot in front of the loop, and each later
   one where the previous slot is released. */
static void await_ahead(const cg_splitting *x, const cg_ring_place *p)
{
    ct_op *first = cg_later_new(x->c, p->loop, p->loop->operands[0], 0);
    ct_op *next = cg_later_new(x->c, p->loop, &p->loop->regions[0]->args[0], 1);
    ct_op *await = cg_ring_op(x->c, CT_await, p->loop, p->value), *release = p->product->next;
    if (!first || !next || !await || !ct_add_operands(x->f, await, &(ct_value *){&first->results[1]}, 1)
        || !ct_add_operands(x->f, release, &(ct_value *){&next->results[1]}, 1))
        return;
    ct_insert_before(first, p->loop);
    ct_insert_before(await, p->loop);
    ct_insert_before(next, p->product);
}

/* The last op of the block that uses v, directly or in its regions. */
static ct_op *last_user(const ct_value *v, const ct_block *block)
{
    ct_op *last = NULL;
    for (const ct_use *use = v->uses; use; use = use->next) {
        ct_op *user = ct_in_block(use->op, block);
        ct_op *of_views = cg_is_seen(user) ? last_user(&user->results[0], block) : NULL;
        user = of_views ? of_views : user;
        for (ct_op *op = last ? last : user; op; op = op->next)
            last = op == user ? user : last;
    }
    return last;
}

/* Makes the load wait for its copy, and releases the slot after the last loop that reads it. */
static void consume_kept(const cg_splitting *x, const cg_kept_load *kept)
{
    cg_ring_put_behind(x->c, CT_release, kept->value, last_user(&kept->load->results[0], kept->load->block));
    cg_ring_put(x->c, CT_await, kept->value, kept->load);
    cg_remark_ring(x->c, NULL, kept->ring);
    cg_ring_stage_loads(x->c, kept->ring, kept->value);
}

/* For a transposed product: does it have fragments that are multiplied while the first fragments of the next slot
   are loaded? */
static bool has_pieces(const cg_splitting *x, const ct_op *product)
{
    cg_product p = cg_product_of(x->c, product);
    return product->way != CT_TURNED || cg_turned_of(&p, x->c->warp_bits).steps;
}

/* Are the scales of the product, if it has any, in its ring, from which the instruction's thread copies them? */
static bool has_scales_there(const cg_ring_place *p)
{
    enum { LEFT_SCALES = 3 };
    bool all = true;
    for (uint32_t i = LEFT_SCALES; i < p->product->operand_count; i++) {
        bool found = false;
        for (uint32_t k = 0; k < p->ring->load_count; k++)
            found = found || cg_source_of(p->product->operands[i]) == &p->loads[k]->results[0];
        all = all && found;
    }
    return all;
}

/* May the leader of a pair issue the product without waiting for the threads of the other block? It does if the copies
   of both blocks arrive at its barriers, which the copy engine's do, and those of scales by the other block's first
   thread, and if no operand is awaited by threads after the sum has started (codegen/ops/tcgen05_pair.h). */
static bool may_lead(const cg_splitting *x, const cg_ring_place *p, uint32_t carried)
{
    return !x->c->paired || (x->budget->maps && (!x->kept_count || cg_loop_of_sum(p->loop, &carried) == p->loop));
}

/* Does the product by tcgen05 stay in flight? Why it is right: it adds to tensor memory, to which only it and its
   successors add until the sum is taken, and the instruction frees the slot when it has read it. Scales that
   threads store would overwrite those of a product in flight. */
static bool flies_to_tensor(const cg_splitting *x, const cg_ring_place *p)
{
    uint32_t carried;
    return cg_sums_in_tensor(x->c, p->product) && p->last == p->product
           && cg_product_carried(p->loop, &carried) == p->product && has_scales_there(p) && may_lead(x, p, carried)
           && cg_tcgen05_has_room(x->c, cg_loop_of_sum(p->loop, &carried));
}

/* The same for all places of the ring, whose slots are freed in one way. */
static bool all_fly_to_tensor(const cg_splitting *x, const cg_ring *ring)
{
    bool all = true;
    for (uint32_t i = 0; i < x->count; i++)
        all = all && (x->places[i].ring != ring || x->places[i].flies);
    return all;
}

/* The slots are awaited where the products are issued, and released by these. */
static void consume_in_tensor(const cg_splitting *x, const cg_ring_place *p)
{
    uint32_t carried;
    ct_op *product = cg_product_carried(p->loop, &carried), *loop = cg_loop_of_sum(p->loop, &carried);
    p->ring->end = CG_FREE_WHEN_MULTIPLIED;
    product->in_flight = product->in_place = true;
    cg_put_mma_await(x->c, &loop->results[carried], loop);
}

static void consume(const cg_splitting *x, const cg_ring_place *p)
{
    uint32_t carried;
    bool by_tensor = cg_sums_in_tensor(x->c, p->product);
    bool may_fly = !by_tensor && !p->computes && p->ring->behind && p->ring->slots >= CG_SLOTS_IN_FLIGHT
                   && has_pieces(x, p->product);
    ct_op *product = may_fly ? cg_product_carried(p->loop, &carried) : NULL;
    for (uint32_t i = 0; i < p->ring->load_count; i++)
        p->ring->loads[i].op = p->loads[i];
    if (p->product->way == CT_TURNED)
        p->ring->product = p->product;
    cg_take_roundings(p->product);
    p->ring->why = x->budget->why;
    cg_remark_ring(x->c, p->loop, p->ring);
    cg_ring_stage_loads(x->c, p->ring, p->value);
    cg_ring_put(x->c, CT_await, p->value, p->computes ? p->loads[0] : p->product);
    cg_ring_put_behind(x->c, CT_release, p->value, p->last);
    p->ring->end = product ? CG_FREE_ITERATION_LATER : CG_FREE_BEHIND_ITERATION;
    if (by_tensor && all_fly_to_tensor(x, p->ring))
        consume_in_tensor(x, p);
    if (product) {
        product->in_flight = product->in_place = true;
        /* packed again, it would be written while the last product reads it */
        product->as_words = !ct_is_inside(product->operands[0]->block, p->loop->regions[0]);
        ct_op *loop = cg_loop_of_sum(p->loop, &carried);
        await_ahead(x, p);
        cg_ring_put_behind(x->c, CT_drain, p->value, cg_put_mma_await(x->c, &loop->results[carried], loop));
    }
}

/* ---- the pass ---- */

/* How the producers' threads share the copies of a tile that they transpose. */
static cg_layout transposing_layout(const cg_ring_load *load, uint32_t warp_bits)
{
    const bc_type *tile = load->op->results[0].type;
    cg_shape s = cg_shape_of(tile);
    return cg_transposing_layout(&s, load->fast, CG_BLOCK_BITS, cg_chunk_bits(tile), warp_bits);
}

/* The places of the elements until they are transposed: four neighbours of each thread in turn, then the next four,
   and so on. */
static cg_layout places_of_blocks(const cg_layout *l)
{
    cg_layout p = *l;
    uint32_t at = 0;
    for (uint32_t i = 0; i < CG_BLOCK_BITS; i++)
        p.reg[i] = (uint32_t)1 << at++;
    for (uint32_t i = 0; i < CG_LANE_BITS; i++)
        p.lane[i] = l->lane[i] ? (uint32_t)1 << at++ : 0;
    for (uint32_t i = 0; i < l->warp_bits; i++)
        p.warp[i] = l->warp[i] ? (uint32_t)1 << at++ : 0;
    for (uint32_t i = CG_BLOCK_BITS; i < l->reg_bits; i++)
        p.reg[i] = (uint32_t)1 << at++;
    return p;
}

/* How the producers' threads share the copies of other tiles: adjacent threads copy 128 bytes of a row, and copy the
   rest of the row one after the other from the same addresses with constant offsets. This takes few addresses,
   because producers have few registers. */
static cg_layout copy_layout(const cg_ring_load *load, uint32_t warp_bits)
{
    enum { LINE = 3 /* log2 of its chunks */ };
    const bc_type *tile = load->op->results[0].type;
    cg_shape s = cg_shape_of(tile);
    uint32_t piece = load->vector_bits, one = 1, bits = piece + CG_LANE_BITS + warp_bits,
             row = cg_dim_mask(&s, load->fast), others = (one << s.tile_bits) - 1 - row;
    if (s.tile_bits < bits || s.bits[load->fast] < piece)
        return cg_layout_memory(&s, load->fast, piece, piece, warp_bits);
    uint32_t line = row & ((one << (s.shift[load->fast] + cg_chunk_bits(tile) + LINE)) - 1), threads = 0;
    for (uint32_t b = 0; b < s.tile_bits && cg_count_bits(line | threads) < bits; b++)
        threads |= others & one << b;
    uint32_t parts[] = {line, threads, row & ~line, others & ~threads}, count = 0;
    uint8_t order[CG_MAX_TILE_BITS];
    for (uint32_t i = 0; i < sizeof parts / sizeof *parts; i++)
        for (uint32_t b = 0; b < s.tile_bits; b++)
            if (parts[i] >> b & 1)
                order[count++] = (uint8_t)b;
    return cg_layout_ordered(order, s.tile_bits, piece, warp_bits);
}

static void spread_copies(cg_ring *ring)
{
    for (uint32_t i = 0; i < ring->load_count; i++) {
        cg_ring_load *load = &ring->loads[i];
        load->layout =
            cg_is_transposed(load)
                ? transposing_layout(load, CG_PRODUCER_WARP_BITS)
                : copy_layout(load, ring->role == CG_RING_OF_MAPS ? CG_STARTER_WARP_BITS : CG_PRODUCER_WARP_BITS);
        if (cg_is_put(load))
            load->places = cg_is_transposed(load) ? places_of_blocks(&load->layout)
                                                  : cg_encoding_layout(&load->encoding, &load->layout);
    }
}

/* Places the slots of all rings, then their barriers, then tensor maps. */
static void place_rings(const cg_splitting *x, cg_groups *detail)
{
    uint32_t at = 0;
    for (uint32_t i = 0; i < x->ring_count; i++) {
        cg_ring *ring = x->rings[i]->detail;
        ring->offset = at;
        at += ring->slots * ring->slot_bytes;
    }
    for (uint32_t i = 0; i < x->ring_count; i++) {
        cg_ring *ring = x->rings[i]->detail;
        ring->barriers = at;
        at += ring->slots * CG_RING_BARRIER_BYTES;
        detail->to_all = detail->to_all || cg_ring_to_all(ring);
    }
    detail->by_maps = x->budget->maps;
    if (detail->by_maps) {
        detail->maps_at = (at + CG_MAP_BYTES - 1) / CG_MAP_BYTES * CG_MAP_BYTES;
        at = detail->maps_at + x->maps->count * CG_MAP_BYTES;
    }
    detail->ring_bytes = at;
}

/* Creates the value of a ring, whose op is in no block yet; NULL: out of memory. */
static ct_value *value_of(cg_splitting *x, cg_ring *ring, const ct_op *from)
{
    for (uint32_t i = 0; i < x->ring_count; i++)
        if (x->rings[i]->detail == ring)
            return &x->rings[i]->results[0];
    ct_op *op = ct_op_new(x->f, CT_ring, from, 0, 1);
    if (!op)
        return NULL;
    op->detail = ring;
    x->rings[x->ring_count++] = op;
    return &op->results[0];
}

static bool make_rings(cg_splitting *x)
{
    bool made = true;
    for (uint32_t i = 0; i < x->count; i++)
        made = (x->places[i].value = value_of(x, x->places[i].ring, x->places[i].loop)) && made;
    for (uint32_t i = 0; i < x->kept_count; i++)
        made = (x->kept[i].value = value_of(x, x->kept[i].ring, x->kept[i].load)) && made;
    for (uint32_t i = 0; i < x->row_count; i++) /* last: their slots are not aligned as those of products */
        made = (x->rows[i].value = value_of(x, x->rows[i].ring, x->rows[i].loop)) && made;
    return made;
}

/* Moves the whole body to the first region of a `groups` op, which follows the rings. */
static void wrap(cg_splitting *x, ct_block *producers)
{
    ct_func *f = x->f;
    const uint32_t lent = cg_registers_lent(x, producers);
    cg_groups *detail = bc_new(f->arena, cg_groups, 1);
    ct_block *consumers = ct_block_new(f, 0);
    ct_op *groups = ct_op_new(f, CT_groups, f->body->first, 0, 0), *end = ct_clone(f, f->body->last, &(ct_map){0});
    if (!detail || !consumers || !groups || !end || !(groups->regions = bc_new(f->arena, ct_block *, CG_GROUPS)))
        return;
    *detail = (cg_groups){.launched = x->budget->launched,
                          .consumers = x->budget->consumers - lent,
                          .producers = x->budget->producers + lent * cg_threads(x->c) / CG_PRODUCER_THREADS,
                          .starts = x->starts};
    place_rings(x, detail);
    detail->shared = cg_groups_shared(x);
    groups->detail = detail;
    groups->region_count = x->issuer ? CG_ISSUER + 1 : x->starters ? CG_STARTERS + 1 : CG_PRODUCERS + 1;
    groups->regions[CG_CONSUMERS] = consumers;
    groups->regions[CG_PRODUCERS] = producers;
    groups->regions[CG_STARTERS] = x->starters;
    groups->regions[CG_ISSUER] = x->issuer;
    for (uint32_t r = CG_PRODUCERS; r < CG_GROUPS; r++)
        if (groups->regions[r])
            groups->regions[r]->parent = groups;
    ct_move_all(f->body, consumers, groups);
    for (uint32_t i = 0; i < x->ring_count; i++)
        ct_append(f->body, x->rings[i]);
    ct_append(f->body, groups);
    ct_append(f->body, end);
    x->c->groups = detail;
}

static bool split(cg_splitting *x)
{
    ct_block *producers = make_rings(x) ? make_producers(x) : NULL;
    if (!producers)
        return false;
    for (uint32_t i = 0; i < x->ring_count; i++)
        spread_copies(x->rings[i]->detail);
    for (uint32_t i = 0; i < x->count; i++)
        cg_ring_find_sources(x->c, x->places[i].copy, x->places[i].value);
    for (uint32_t i = 0; i < x->row_count; i++)
        cg_ring_find_sources(x->c, x->rows[i].copy, x->rows[i].value);
    if (x->starters && cg_has_copiers(x))
        cg_copiers_find_sources(x);
    for (uint32_t i = 0; i < x->kept_count; i++)
        consume_kept(x, &x->kept[i]);
    for (uint32_t i = 0; i < x->row_count; i++)
        cg_groups_consume_rows(x, &x->rows[i]);
    for (uint32_t i = 0; i < x->count; i++)
        x->places[i].flies = flies_to_tensor(x, &x->places[i]);
    for (uint32_t i = 0; i < x->count; i++)
        consume(x, &x->places[i]);
    cg_drop_streams(x->c);
    for (uint32_t i = 0; i < x->count; i++) {
        if (cg_plan_of(x->places[i].loop))
            cg_drop_sources(x->c, x->places[i].loop, cg_plan_of(x->places[i].loop)->ring);
        x->places[i].loop->detail = x->places[i].copy->detail = NULL;
    }
    x->issuer = cg_make_issuer(x);
    wrap(x, producers);
    return true;
}

void cg_pass_groups(cg_func *c)
{
    cg_splitting x = {.c = c, .f = c->ir};
    uint32_t warps = cg_real_warp_bits(c), chosen = c->warp_bits;
    bool fits = !c->strip_bits && !c->slices && (warps == 2 || warps == 3), found = fits && cg_groups_find(&x);
    cg_bands bands = cg_bands_of(c);
    if (fits)
        found = cg_take_over_blocks(&x, found);
    if (found || x.why)
        cg_remark_maps(&x);
    if (!found || !split(&x)) {
        found = false;
        c->warp_bits = chosen;
        cg_groups_round(&x, false);
        cg_loads_straight(c);
    }
    cg_order_in_bands(c, &bands, found && x.budget->blocks == 1);
}
