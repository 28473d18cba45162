/* The groups pass: a kernel whose loops feed wgmma becomes two programs of the same op, one for warps that copy, one
   for the warps that multiply. Both are the whole kernel: of the producers' all is dropped but the copies and what
   decides about them, of the consumers' the copies. A ring's slots go from one to the other by barriers in shared
   memory, so that copies run ahead as far as there are slots, over the ends of loops, too. That takes a kernel whose
   control flow around the loops comes from scalars that both can compute. */
#include "codegen/groups.h"

#include <string.h>

#include "bytecode/verify/hints.h"
#include "codegen/assign.h"
#include "codegen/mma.h"
#include "codegen/order.h"
#include "codegen/pass.h"
#include "codegen/remarks.h"
#include "codegen/ring.h"

enum {
    MOST_RINGS = 8,
    MOST_KEPT = 4,
    MOST_SLOTS = 8,
    LEAST_IN_FLIGHT = 3 /* slots: of the product before, which is freed last, of the one that runs, of the next */
};

/* What one product of a loop takes, and the ring that it goes through; loops that follow each other share rings. */
typedef struct ring_place {
    cg_ring *ring;
    ct_value *value;
    ct_op *loop, *copy; /* in the function, and in the producers' program */
    ct_op *product, *loads[CG_RING_LOADS];
    bool is_first; /* of the places with its ring */
} ring_place;

/* An operand that products of loops take and that is loaded before them: it has a ring of one slot. */
typedef struct kept_load {
    cg_ring *ring;
    ct_value *value;
    ct_op *load, *copy; /* in the function, and in the producers' program */
} kept_load;

typedef struct splitting {
    cg_func *c;
    ct_func *f;
    ring_place places[MOST_RINGS];
    kept_load kept[MOST_KEPT];
    ct_op *rings[MOST_RINGS + MOST_KEPT];
    uint32_t count, kept_count, ring_count, blocks; /* blocks of a multiprocessor */
} splitting;

/* The product that takes a load, also through views of it; NULL: several do. */
static ct_op *taker_of(const ct_value *tile)
{
    ct_op *found = NULL;
    for (const ct_use *use = tile->uses; use; use = use->next) {
        ct_op *here = cg_is_product(use->op) ? use->op : taker_of(&use->op->results[0]);
        if (!here || (found && found != here))
            return NULL;
        found = here;
    }
    return found;
}

static bool is_same_load(const cg_ring_load *a, const cg_ring_load *b)
{
    const cg_stage *s = &a->stage, *t = &b->stage;
    return a->fast == b->fast && a->feed == b->feed && cg_layout_equal(&a->layout, &b->layout) && s->rows == t->rows
           && s->columns == t->columns && s->batch == t->batch && s->bytes == t->bytes && s->left_out == t->left_out
           && s->flipped == t->flipped;
}

static bool is_same_ring(const cg_ring *a, const cg_ring *b)
{
    bool same = a->load_count == b->load_count;
    for (uint32_t i = 0; same && i < a->load_count; i++)
        same = is_same_load(&a->loads[i], &b->loads[i]);
    return same;
}

/* A ring of an earlier loop that would do, which no place of this loop has taken. */
static void share_ring(splitting *x, uint32_t which, uint32_t first)
{
    ring_place *p = &x->places[which];
    for (uint32_t i = 0; i < first && p->is_first; i++) {
        bool taken = false;
        for (uint32_t k = first; k < which; k++)
            taken = taken || x->places[k].ring == x->places[i].ring;
        if (!taken && x->places[i].is_first && is_same_ring(x->places[i].ring, p->ring)) {
            p->ring = x->places[i].ring;
            p->is_first = false;
        }
    }
}

/* Each product of the loop gets a ring for what it takes. */
static bool add_rings(splitting *x, ct_op *loop)
{
    const cg_ring *all = loop->detail;
    uint32_t first = x->count;
    for (uint32_t i = 0; i < all->load_count; i++) {
        ct_op *product = taker_of(&all->loads[i].op->results[0]);
        ring_place *place = &x->places[first];
        while (place < &x->places[x->count] && place->product != product)
            place++;
        if (!product || place == &x->places[MOST_RINGS])
            return false;
        if (place == &x->places[x->count]) {
            *place = (ring_place){.ring = bc_new(&x->c->arena, cg_ring, 1),
                                  .loop = loop,
                                  .product = product,
                                  .is_first = true};
            if (!place->ring)
                return false;
            *place->ring = (cg_ring){.async = true, .behind = all->behind, .by_groups = true};
            x->count++;
        }
        place->loads[place->ring->load_count] = all->loads[i].op;
        place->ring->loads[place->ring->load_count++] = all->loads[i];
    }
    for (uint32_t i = first; i < x->count && x->count - first > 1; i++) /* of chains: nothing stays in flight */
        share_ring(x, i, first);
    return true;
}

/* ---- operands that are loaded before their loops ---- */

/* Registers of a thread when each group has its share of what the block was launched with. */
static cg_groups registers_for(const splitting *x)
{
    if (cg_threads(x->c) == 256)
        return (cg_groups){.launched = 168, .consumers = 224, .producers = 56};
    if (x->blocks == 2)
        return (cg_groups){.launched = 128, .consumers = 232, .producers = 24};
    return (cg_groups){0};
}

static uint32_t consumer_registers(const splitting *x)
{
    enum { MOST = 255 };
    uint32_t registers = registers_for(x).consumers;
    return registers ? registers : MOST;
}

/* Registers that a consumer would have left if left operands that are loaded once stayed there as fragments: of what
   its group has, less the accumulators of the loop and what products of it hand to others. */
static int registers_left(const splitting *x, const ring_place *p, const ct_value *operand)
{
    uint32_t threads = cg_threads(x->c);
    int left = (int)consumer_registers(x) - (int)(((uint32_t)1 << cg_shape_of(operand->type).tile_bits) / 2 / threads);
    for (uint32_t i = 0; i < x->count; i++) {
        const ct_op *product = x->places[i].product;
        if (x->places[i].loop != p->loop)
            continue;
        left -= (int)(((uint32_t)1 << cg_shape_of(product->results[0].type).tile_bits) / threads);
        if (cg_product_before(product))
            left -= (int)(((uint32_t)1 << cg_shape_of(product->operands[0]->type).tile_bits) / 2 / threads);
    }
    return left;
}

/* The products' operand i, when it is better kept in shared memory than in registers. */
static void keep_operand(splitting *x, const ring_place *p, uint32_t i)
{
    enum { FOR_THE_REST = 36 }; /* registers: addresses, indices, statistics of rows */
    ct_op *load = cg_stage_source(p->product->operands[i])->op;
    kept_load *kept = &x->kept[x->kept_count];
    if (!load || load->opcode != OP_load_view_tko || ct_is_inside(load->block, p->loop->regions[0])
        || x->kept_count == MOST_KEPT || registers_left(x, p, p->product->operands[i]) >= FOR_THE_REST)
        return;
    for (uint32_t k = 0; k < x->kept_count; k++)
        if (x->kept[k].load == load)
            return;
    cg_ring *ring = bc_new(&x->c->arena, cg_ring, 1);
    if (!ring || cg_load_obstacle(x->c, load, NULL, &ring->loads[0]) || cg_order_holds_back(x->c, x->f->body, load))
        return;
    ring->load_count = ring->slots = 1;
    ring->async = ring->by_groups = true;
    *kept = (kept_load){.ring = ring, .load = load};
    x->kept_count++;
}

static void find_kept(splitting *x)
{
    for (uint32_t i = 0; i < x->count; i++)
        keep_operand(x, &x->places[i], 0);
}

/* Does the product find both operands without the threads' help in each iteration? */
static bool is_fed(const ring_place *p)
{
    const ct_value *left = cg_stage_source(p->product->operands[0]), *right = cg_stage_source(p->product->operands[1]);
    bool has_left = false, has_right = false;
    for (uint32_t i = 0; i < p->ring->load_count; i++) {
        has_left = has_left || left == &p->loads[i]->results[0];
        has_right = has_right || right == &p->loads[i]->results[0];
    }
    return has_right && (has_left || cg_product_before(p->product) || left->block != p->loop->regions[0]);
}

/* Would a producer read too early what the block, or another one that it waits for, has yet to write? */
static bool is_held_back(const splitting *x)
{
    for (uint32_t i = 0; i < x->count; i++)
        for (uint32_t k = 0; k < x->places[i].ring->load_count; k++)
            if (cg_order_holds_back(x->c, x->f->body, x->places[i].loads[k]))
                return true;
    return false;
}

static bool is_in_loop(const ct_op *op)
{
    for (const ct_op *p = op->block->parent; p; p = p->block->parent)
        if (bc_is_loop(p->opcode))
            return true;
    return false;
}

/* As measured on an H200 (docs/codegen.md, "Groups"): small tiles keep more blocks busy without groups, which hide
   their beginnings and ends, unless the blocks are persistent. */
static bool is_worth_it(const splitting *x)
{
    const bc_type *first = x->places[0].product->results[0].type,
                  *last = x->places[x->count - 1].product->results[0].type;
    int64_t rows = first->shape[first->rank - 2], columns = first->shape[first->rank - 1];
    for (uint32_t i = 0; i < x->count; i++)
        if (!is_fed(&x->places[i]))
            return false;
    if (x->count == 1)
        return cg_threads(x->c) > 128 || is_in_loop(x->places[0].loop);
    return (rows > 64 || columns > 64) && last->shape[last->rank - 1] > 64 && rows <= cg_threads(x->c) / 2;
}

static bool find_loops(splitting *x)
{
    for (ct_op *op = x->f->body->first; op; op = ct_next_op(op, x->f->body)) {
        const cg_ring *ring = op->opcode == OP_for ? op->detail : NULL;
        if (ring && (!ring->async || ring->parts || !add_rings(x, op)))
            return false;
    }
    return x->count && is_worth_it(x) && !is_held_back(x);
}

/* ---- the producers ---- */

static bool is_copy(const ct_op *op)
{
    return op->opcode == CT_copy || op->opcode == CT_acquire || op->opcode == CT_commit;
}

/* What each group may compute for itself, without the threads of the other. */
static bool in_both(const ct_op *op)
{
    const bc_op_classes alone = BC_OPS(SAME) | BC_OPS(RESHAPE) | BC_OPS(VIEW) | BC_OPS(QUERY) | BC_OPS(LOOP)
                                | BC_OPS(BRANCH) | BC_OPS(EXIT);
    return is_copy(op) || cg_is_map(op->opcode) || bc_op_in(op->opcode, alone) || op->opcode == OP_broadcast
           || (bc_op_in(op->opcode, BC_OPS(TOKEN)) && !ct_info(op)->effects);
}

/* A load becomes a copy into the ring. */
static void copy_load(const splitting *x, ct_op *op, const cg_ring_load *load, ct_value *ring)
{
    cg_ring_copy *copy = bc_new(x->f->arena, cg_ring_copy, 1);
    if (!copy || !ct_add_operands(x->f, op, &ring, 1)) {
        cg_no_memory(x->c);
        return;
    }
    *copy = (cg_ring_copy){.load = load};
    op->opcode = CT_copy;
    op->detail = copy;
}

/* In the producers' program: an acquire, all copies of a ring, a commit. */
static void copy_loads(const splitting *x, const ring_place *p)
{
    const ct_op *original = p->loop->regions[0]->first;
    uint32_t done = 0;
    for (ct_op *op = p->copy->regions[0]->first; op && done < p->ring->load_count; op = op->next) {
        if (op->from != original->from || op->opcode == CT_acquire || op->opcode == CT_commit)
            continue; /* put there for another ring */
        if (original == p->loads[done]) {
            copy_load(x, op, &p->ring->loads[done], p->value);
            if (done == 0)
                cg_ring_put(x->c, CT_acquire, p->value, op);
            if (++done == p->ring->load_count)
                cg_ring_put_behind(x->c, CT_commit, p->value, op);
        }
        original = original->next;
    }
}

/* The same of a load before loops. */
static void copy_kept(const splitting *x, const kept_load *kept)
{
    copy_load(x, kept->copy, &kept->ring->loads[0], kept->value);
    cg_ring_put(x->c, CT_acquire, kept->value, kept->copy);
    cg_ring_put_behind(x->c, CT_commit, kept->value, kept->copy);
}

/* Can the producers find out by themselves what to copy? */
static bool is_feasible(const ct_block *producers)
{
    for (const ct_op *op = producers->first; op; op = ct_next_op(op, producers))
        if (!in_both(op))
            return false;
    return true;
}

static void discard(ct_block *block)
{
    while (block->first)
        ct_remove(block->first);
}

/* The producers' program: a copy of the function, as it was, less what is not needed. NULL: there is none, or no
   memory. */
static ct_block *make_producers(splitting *x)
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
    const ct_op *original = body->first;
    for (ct_op *op = block->first; op; op = ct_next_op(op, block), original = ct_next_op(original, body)) {
        for (uint32_t i = 0; i < x->count; i++)
            if (original == x->places[i].loop)
                x->places[i].copy = op;
        for (uint32_t i = 0; i < x->kept_count; i++)
            if (original == x->kept[i].load)
                x->kept[i].copy = op;
    }
    for (uint32_t i = 0; i < x->count; i++)
        copy_loads(x, &x->places[i]);
    for (uint32_t i = 0; i < x->kept_count; i++)
        copy_kept(x, &x->kept[i]);
    if (ct_prune(x->f, block, is_copy, x->places[0].value) && is_feasible(block))
        return block;
    discard(block);
    return NULL;
}

/* ---- the consumers ---- */

/* The product of the body, if its result goes to the next iteration's alone; *out_index: as which carried value. */
static ct_op *product_in_flight(const ct_op *loop, uint32_t *out_index)
{
    const ct_block *body = loop->regions[0];
    ct_op *found = NULL;
    for (ct_op *op = body->first; op; op = ct_next_op(op, body)) {
        if (cg_is_product(op) && (found || op->block != body))
            return NULL;
        found = cg_is_product(op) ? op : found;
    }
    const ct_use *use = found ? found->results[0].uses : NULL;
    if (!use || use->next || use->op != body->last)
        return NULL;
    const ct_value *arg = &body->args[use->index + 1];
    *out_index = use->index;
    return found->operands[2] == arg && !arg->uses->next ? found : NULL;
}

/* While a product runs, the slot of the next one is awaited: the first one before the loop, then each where the one
   before is released. */
static void await_ahead(const splitting *x, const ring_place *p)
{
    ct_op *first = cg_later_new(x->c, p->loop, p->loop->operands[0], 0);
    ct_op *next = cg_later_new(x->c, p->loop, &p->loop->regions[0]->args[0], 1);
    ct_op *await = cg_ring_op(x->c, CT_await, p->loop, p->value), *release = p->product->next;
    if (!first || !next || !await || !ct_add_operands(x->f, await, &(ct_value *){&first->results[1]}, 1)
        || !ct_add_operands(x->f, release, &(ct_value *){&next->results[1]}, 1)) {
        cg_no_memory(x->c);
        return;
    }
    ct_insert_before(first, p->loop);
    ct_insert_before(await, p->loop);
    ct_insert_before(next, p->product);
}

/* The op of the block that v is used in last, by itself or in its regions. */
static ct_op *last_user(const ct_value *v, const ct_block *block)
{
    ct_op *last = NULL;
    for (const ct_use *use = v->uses; use; use = use->next) {
        ct_op *user = use->op;
        while (user->block != block)
            user = user->block->parent;
        ct_op *of_views = cg_stage_is_seen(user) ? last_user(&user->results[0], block) : NULL;
        user = of_views ? of_views : user;
        for (ct_op *op = last ? last : user; op; op = op->next)
            last = op == user ? user : last;
    }
    return last;
}

/* The load waits for its copy; behind the last loop that reads it the slot is free. */
static void consume_kept(const splitting *x, const kept_load *kept)
{
    cg_ring_put_behind(x->c, CT_release, kept->value, last_user(&kept->load->results[0], kept->load->block));
    cg_ring_put(x->c, CT_await, kept->value, kept->load);
    cg_ring_stage_loads(x->c, kept->ring, kept->value);
}

static void consume(const splitting *x, const ring_place *p)
{
    uint32_t carried;
    bool may_fly = p->ring->behind && p->ring->slots >= LEAST_IN_FLIGHT;
    ct_op *product = may_fly ? product_in_flight(p->loop, &carried) : NULL;
    for (uint32_t i = 0; i < p->ring->load_count; i++)
        p->ring->loads[i].op = p->loads[i];
    cg_ring_stage_loads(x->c, p->ring, p->value);
    cg_ring_put(x->c, CT_await, p->value, p->product);
    cg_ring_put_behind(x->c, CT_release, p->value, p->product);
    p->ring->in_flight = product;
    if (product) {
        product->in_flight = product->in_place = true;
        await_ahead(x, p);
        cg_ring_put_behind(x->c, CT_drain, p->value, cg_put_mma_await(x->c, &p->loop->results[carried], p->loop));
    }
}

/* ---- the pass ---- */

/* Bytes of shared memory of a block when so many share a multiprocessor: each needs 1 KiB besides. */
static uint32_t shared_of_block(const splitting *x)
{
    enum { OF_THE_SYSTEM = 1 << 10 };
    return (cg_static_shared(x->c->target) + OF_THE_SYSTEM) / x->blocks - OF_THE_SYSTEM;
}

/* Of that, for the rings. */
static uint32_t room_for_rings(const splitting *x)
{
    enum { LEAST = 8 << 10, MOST = 32 << 10 };
    uint32_t results = 0;
    for (uint32_t i = 0; i < x->count; i++) {
        uint32_t bytes = 2u << cg_shape_of(x->places[i].product->results[0].type).tile_bits;
        results = bytes > results ? bytes : results;
    }
    uint32_t most = MOST / x->blocks;
    results = results < LEAST ? LEAST : results > most ? most : results; /* on their way to memory */
    return shared_of_block(x) - results;
}

/* Slots for each ring, one more for each in turn, the last first, as long as there is room. False: too little. */
static bool choose_slots(const splitting *x)
{
    uint32_t room = room_for_rings(x) - (x->count * MOST_SLOTS + MOST_KEPT) * CG_RING_BARRIER_BYTES, used = 0;
    for (uint32_t i = 0; i < x->kept_count; i++)
        used += cg_ring_place_loads(x->kept[i].ring);
    for (uint32_t i = 0; i < x->count; i++)
        used += x->places[i].is_first ? cg_ring_place_loads(x->places[i].ring) : 0;
    if (used > room)
        return false;
    for (uint32_t i = 0; i < x->count; i++)
        x->places[i].ring->slots = 1;
    for (uint32_t slots = 2; slots <= MOST_SLOTS; slots++)
        for (uint32_t i = x->count; i-- > 0;)
            if (x->places[i].is_first && used + x->places[i].ring->slot_bytes <= room) {
                used += x->places[i].ring->slot_bytes;
                x->places[i].ring->slots = slots;
            }
    uint32_t least = x->count > 1 ? 2 : 4; /* of a chain, one of the rings */
    for (uint32_t i = 0; i < x->count; i++)
        if (x->places[i].ring->slots >= least)
            return true;
    return false;
}

/* How the producers' threads share the copies. */
static void spread_copies(cg_ring *ring)
{
    for (uint32_t i = 0; i < ring->load_count; i++) {
        cg_ring_load *load = &ring->loads[i];
        cg_shape s = cg_shape_of(load->op->results[0].type);
        uint32_t chunk = cg_chunk_bits(load->op->results[0].type);
        load->layout = cg_layout_memory(&s, load->fast, chunk, 0, CG_PRODUCER_WARP_BITS);
    }
}

/* Where everything lies: the slots of all rings, then their barriers. Gives the bytes. */
static uint32_t place_rings(const splitting *x)
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
    }
    return at;
}

/* The value of a ring, which is in no block yet; NULL: no memory. */
static ct_value *value_of(splitting *x, cg_ring *ring, const ct_op *from)
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

static bool make_rings(splitting *x)
{
    bool made = true;
    for (uint32_t i = 0; i < x->count; i++)
        made = (x->places[i].value = value_of(x, x->places[i].ring, x->places[i].loop)) && made;
    for (uint32_t i = 0; i < x->kept_count; i++)
        made = (x->kept[i].value = value_of(x, x->kept[i].ring, x->kept[i].load)) && made;
    return made;
}

/* All of the body becomes the first region of an op that follows the rings. */
static void wrap(splitting *x, ct_block *producers)
{
    ct_func *f = x->f;
    cg_groups *detail = bc_new(f->arena, cg_groups, 1);
    ct_block *consumers = ct_block_new(f, 0);
    ct_op *groups = ct_op_new(f, CT_groups, f->body->first, 0, 0), *end = ct_clone(f, f->body->last, &(ct_map){0});
    if (!detail || !consumers || !groups || !end || !(groups->regions = bc_new(f->arena, ct_block *, 2))) {
        cg_no_memory(x->c);
        return;
    }
    *detail = registers_for(x);
    detail->ring_bytes = place_rings(x);
    detail->shared = shared_of_block(x);
    groups->detail = detail;
    groups->region_count = 2;
    groups->regions[0] = consumers;
    groups->regions[1] = producers;
    producers->parent = groups;
    ct_move_all(f->body, consumers, groups);
    for (uint32_t i = 0; i < x->ring_count; i++)
        ct_append(f->body, x->rings[i]);
    ct_append(f->body, groups);
    ct_append(f->body, end);
    x->c->groups = detail;
}

/* Two blocks of a multiprocessor where a chain has a single group of consumers: while one computes the other
   multiplies. */
static uint32_t choose_blocks(const splitting *x)
{
    return cg_threads(x->c) == 128 && x->count > 1 ? 2 : 1;
}

/* With so many blocks of a multiprocessor, and operands kept in shared memory or not, is there room? */
static bool is_room(splitting *x, uint32_t blocks, bool keeps)
{
    x->blocks = blocks;
    x->kept_count = 0;
    if (keeps)
        find_kept(x);
    return choose_slots(x);
}

static void split(splitting *x)
{
    uint32_t most = choose_blocks(x);
    if (!is_room(x, most, true) && !is_room(x, most, false) && !is_room(x, 1, true) && !is_room(x, 1, false))
        return;
    ct_block *producers = make_rings(x) ? make_producers(x) : NULL;
    if (!producers)
        return;
    for (uint32_t i = 0; i < x->ring_count; i++)
        spread_copies(x->rings[i]->detail);
    for (uint32_t i = 0; i < x->kept_count; i++)
        consume_kept(x, &x->kept[i]);
    for (uint32_t i = 0; i < x->count; i++) {
        consume(x, &x->places[i]);
        x->places[i].loop->detail = x->places[i].copy->detail = NULL;
    }
    wrap(x, producers);
}

void cg_pass_groups(cg_func *c)
{
    splitting x = {.c = c, .f = c->ir};
    uint32_t warps = cg_real_warp_bits(c);
    if (!c->strip_bits && (warps == 2 || warps == 3) && find_loops(&x))
        split(&x);
}

void cg_dump_groups(cg_func *c, bc_text *out)
{
    cg_dump_ops(c, out);
}
