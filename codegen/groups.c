/* The groups pass: a kernel whose loops feed wgmma becomes two programs of the same op, one for warps that copy, one
   for the warps that multiply. Both are the whole kernel: of the producers' all is dropped but the copies and what
   decides about them, of the consumers' the copies. A ring's slots go from one to the other by barriers in shared
   memory, so that copies run ahead as far as there are slots, over the ends of loops, too. That takes a kernel whose
   control flow around the loops comes from scalars that both can compute. */
#include "codegen/groups.h"

#include <string.h>

#include "bytecode/hints.h"
#include "codegen/assign.h"
#include "codegen/mma.h"
#include "codegen/pass.h"
#include "codegen/remarks.h"
#include "codegen/ring.h"

enum { MOST_RINGS = 4, MOST_SLOTS = 8 };

/* A ring, and the loop that is around it, in the function and in the producers' program. */
typedef struct ring_place {
    cg_ring *ring;
    ct_value *value;
    ct_op *loop, *copy, *product; /* product: that takes what it holds */
} ring_place;

typedef struct splitting {
    cg_func *c;
    ct_func *f;
    ring_place places[MOST_RINGS];
    uint32_t count, blocks; /* blocks of a multiprocessor */
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
            *place = (ring_place){.ring = bc_new(&x->c->arena, cg_ring, 1), .loop = loop, .product = product};
            if (!place->ring)
                return false;
            *place->ring = (cg_ring){.async = true, .behind = all->behind, .by_groups = true};
            x->count++;
        }
        place->ring->loads[place->ring->load_count++] = all->loads[i];
    }
    return true;
}

static bool find_loops(splitting *x)
{
    for (ct_op *op = x->f->body->first; op; op = ct_next_op(op, x->f->body)) {
        const cg_ring *ring = op->opcode == OP_for ? op->detail : NULL;
        if (ring && (!ring->async || ring->parts || !add_rings(x, op)))
            return false;
    }
    return x->count;
}

/* ---- the producers ---- */

static bool is_copy(const ct_op *op)
{
    return op->opcode == CT_copy || op->opcode == CT_acquire || op->opcode == CT_commit;
}

static bool in_both(const ct_op *op)
{
    if (is_copy(op) || cg_is_map((bc_opcode)op->opcode))
        return true;
    switch ((int)op->opcode) {
    case OP_assume:
    case OP_broadcast:
    case OP_break:
    case OP_constant:
    case OP_continue:
    case OP_for:
    case OP_get_global:
    case OP_get_index_space_shape:
    case OP_get_num_tile_blocks:
    case OP_get_tensor_shape:
    case OP_get_tile_block_id:
    case OP_if:
    case OP_iota:
    case OP_join_tokens:
    case OP_loop:
    case OP_make_partition_view:
    case OP_make_strided_view:
    case OP_make_tensor_view:
    case OP_make_token:
    case OP_reshape:
    case OP_return:
    case OP_yield: return true;
    default: return false;
    }
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
        if (original == p->ring->loads[done].op) {
            copy_load(x, op, &p->ring->loads[done], p->value);
            if (done == 0)
                cg_ring_put(x->c, CT_acquire, p->value, op);
            if (++done == p->ring->load_count)
                cg_ring_put_behind(x->c, CT_commit, p->value, op);
        }
        original = original->next;
    }
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
    for (ct_op *op = block->first; op; op = ct_next_op(op, block), original = ct_next_op(original, body))
        for (uint32_t i = 0; i < x->count; i++)
            if (original == x->places[i].loop)
                x->places[i].copy = op;
    for (uint32_t i = 0; i < x->count; i++)
        copy_loads(x, &x->places[i]);
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

static void consume(const splitting *x, const ring_place *p)
{
    uint32_t carried;
    ct_op *product = p->ring->behind ? product_in_flight(p->loop, &carried) : NULL;
    cg_ring_stage_loads(x->c, p->ring, p->value);
    cg_ring_put(x->c, CT_await, p->value, p->product);
    cg_ring_put_behind(x->c, CT_release, p->value, p->product);
    p->ring->in_flight = product;
    if (product) {
        product->in_flight = product->in_place = true;
        cg_ring_put_behind(x->c, CT_drain, p->value, cg_put_mma_await(x->c, &p->loop->results[carried], p->loop));
    }
}

/* ---- the pass ---- */

/* Bytes of shared memory for the rings when so many blocks share a multiprocessor: each block needs 1 KiB besides. */
static uint32_t room_for_rings(const splitting *x)
{
    enum { LEAST = 8 << 10, MOST = 32 << 10, OF_THE_SYSTEM = 1 << 10 };
    uint32_t all = cg_static_shared(x->c->target), results = 0;
    for (uint32_t i = 0; i < x->count; i++) {
        uint32_t bytes = 2u << cg_shape_of(x->places[i].product->results[0].type).tile_bits;
        results = bytes > results ? bytes : results;
    }
    results = results < LEAST ? LEAST : results > MOST ? MOST : results; /* on their way to memory */
    return (all + OF_THE_SYSTEM) / x->blocks - OF_THE_SYSTEM - results;
}

/* Slots for each ring, one more for each in turn, the last first, as long as there is room. False: too little. */
static bool choose_slots(const splitting *x)
{
    uint32_t room = room_for_rings(x), used = 0;
    for (uint32_t i = 0; i < x->count; i++)
        used += cg_ring_place_loads(x->places[i].ring) + CG_STAGE_ALIGN;
    if (used > room)
        return false;
    for (uint32_t i = 0; i < x->count; i++)
        x->places[i].ring->slots = 1;
    for (uint32_t slots = 2; slots <= MOST_SLOTS; slots++)
        for (uint32_t i = x->count; i-- > 0;)
            if (used + x->places[i].ring->slot_bytes <= room) {
                used += x->places[i].ring->slot_bytes;
                x->places[i].ring->slots = slots;
            }
    return x->places[x->count - 1].ring->slots > 1;
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

/* Registers of a thread when each group has its share of what the block was launched with. */
static cg_groups registers_for(const splitting *x)
{
    if (cg_threads(x->c) == 256)
        return (cg_groups){.launched = 168, .consumers = 232, .producers = 40};
    if (x->blocks == 2)
        return (cg_groups){.launched = 128, .consumers = 216, .producers = 40};
    return (cg_groups){0};
}

/* The rings, in no block yet. */
static bool make_rings(splitting *x)
{
    for (uint32_t i = 0; i < x->count; i++) {
        ct_op *op = ct_op_new(x->f, CT_ring, x->places[i].loop, 0, 1);
        if (!op)
            return false;
        op->detail = x->places[i].ring;
        x->places[i].value = &op->results[0];
    }
    return true;
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
    groups->detail = detail;
    groups->region_count = 2;
    groups->regions[0] = consumers;
    groups->regions[1] = producers;
    producers->parent = groups;
    ct_move_all(f->body, consumers, groups);
    for (uint32_t i = 0; i < x->count; i++)
        ct_append(f->body, x->places[i].value->op);
    ct_append(f->body, groups);
    ct_append(f->body, end);
    x->c->groups = detail;
}

/* Two blocks of a multiprocessor where one has only 64 rows, of products one behind the other: while one computes the
   other multiplies. */
static uint32_t choose_blocks(const splitting *x)
{
    const bc_type *result = x->places[0].product->results[0].type;
    return cg_threads(x->c) == 128 && x->count > 1 && result->shape[result->rank - 2] == 64 ? 2 : 1;
}

static void split(splitting *x)
{
    x->blocks = choose_blocks(x);
    if (!choose_slots(x) && (x->blocks == 1 || (x->blocks = 1, !choose_slots(x))))
        return;
    ct_block *producers = make_rings(x) ? make_producers(x) : NULL;
    if (!producers)
        return;
    for (uint32_t i = 0; i < x->count; i++) {
        spread_copies(x->places[i].ring);
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
