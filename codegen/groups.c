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

enum { MOST_RINGS = 4, MOST_SLOTS = 8, SHARED_FOR_SCRATCH = 32 << 10, BARRIER_BYTES = 16 /* of a slot */ };

typedef struct splitting {
    cg_func *c;
    ct_func *f;
    ct_op *loops[MOST_RINGS], *copies[MOST_RINGS]; /* of the function, and in the producers' program */
    ct_value *rings[MOST_RINGS];
    uint32_t count;
} splitting;

static bool find_loops(splitting *x)
{
    for (ct_op *op = x->f->body->first; op; op = ct_next_op(op, x->f->body)) {
        if (op->opcode != OP_for || !op->detail)
            continue;
        const cg_ring *ring = op->detail;
        if (x->count == MOST_RINGS || !ring->async || ring->parts)
            return false;
        x->loops[x->count++] = op;
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

/* Of a loop, in the producers' program: an acquire, all its copies, a commit. */
static void copy_loads(const splitting *x, uint32_t which, const ct_op *loop)
{
    const cg_ring *ring = x->loops[which]->detail;
    const ct_op *original = x->loops[which]->regions[0]->first;
    uint32_t done = 0;
    for (ct_op *op = loop->regions[0]->first; op && done < ring->load_count; op = op->next, original = original->next) {
        if (original != ring->loads[done].op)
            continue;
        copy_load(x, op, &ring->loads[done], x->rings[which]);
        if (done == 0)
            cg_ring_put(x->c, CT_acquire, x->rings[which], op);
        if (++done == ring->load_count)
            cg_ring_put_behind(x->c, CT_commit, x->rings[which], op);
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
    ct_block *block = ct_block_new(x->f), *body = x->f->body;
    if (!block || !ct_map_new(x->f, &map))
        return NULL;
    for (const ct_op *op = body->first; op; op = op->next) {
        ct_op *copy = ct_clone(x->f, op, &map);
        if (!copy)
            return NULL;
        ct_append(block, copy);
    }
    const ct_op *original = body->first;
    uint32_t which = 0;
    for (ct_op *op = block->first; op; op = ct_next_op(op, block), original = ct_next_op(original, body))
        if (which < x->count && original == x->loops[which])
            x->copies[which++] = op;
    for (uint32_t i = 0; i < x->count; i++)
        copy_loads(x, i, x->copies[i]);
    if (ct_prune(x->f, block, is_copy, x->rings[0]) && is_feasible(block))
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

static void consume(const splitting *x, uint32_t which)
{
    ct_op *loop = x->loops[which], *first;
    ct_value *value = x->rings[which];
    cg_ring *ring = loop->detail;
    uint32_t carried;
    ct_op *product = ring->behind ? product_in_flight(loop, &carried) : NULL;
    first = ring->loads[0].op;
    cg_ring_stage_loads(x->c, ring, value);
    cg_ring_put(x->c, CT_await, value, first);
    ring->in_flight = product;
    if (product) {
        product->in_flight = product->in_place = true;
        cg_ring_put_behind(x->c, CT_release, value, product);
        cg_ring_put_behind(x->c, CT_drain, value, cg_put_mma_await(x->c, &loop->results[carried], loop));
    } else {
        cg_ring_put_releases(x->c, loop, value);
    }
}

/* ---- the pass ---- */

/* How many slots each ring gets; 0: too few. */
static uint32_t slots_for(const splitting *x)
{
    uint32_t all = cg_static_shared(x->c->target), bytes = 0;
    for (uint32_t i = 0; i < x->count; i++)
        bytes += ((const cg_ring *)x->loops[i]->detail)->slot_bytes;
    uint32_t slots = (all - SHARED_FOR_SCRATCH - x->count * CG_STAGE_ALIGN) / bytes;
    return slots < 2 ? 0 : slots < MOST_SLOTS ? slots : MOST_SLOTS;
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

/* Registers of a thread when both groups have their share of what the block was launched with. */
static cg_groups registers_for(const cg_func *c)
{
    return cg_threads(c) == 256 ? (cg_groups){.launched = 168, .consumers = 232, .producers = 40} : (cg_groups){0};
}

/* The rings, in no block yet. */
static bool make_rings(splitting *x)
{
    for (uint32_t i = 0; i < x->count; i++) {
        ct_op *op = ct_op_new(x->f, CT_ring, x->loops[i], 0, 1);
        if (!op)
            return false;
        op->detail = x->loops[i]->detail;
        x->rings[i] = &op->results[0];
    }
    return true;
}

/* All of the body becomes the first region of an op that follows the rings. */
static void wrap(splitting *x, ct_block *producers)
{
    ct_func *f = x->f;
    cg_groups *detail = bc_new(f->arena, cg_groups, 1);
    ct_block *consumers = ct_block_new(f);
    ct_op *groups = ct_op_new(f, CT_groups, f->body->first, 0, 0), *end = ct_clone(f, f->body->last, &(ct_map){0});
    if (!detail || !consumers || !groups || !end || !(groups->regions = bc_new(f->arena, ct_block *, 2))) {
        cg_no_memory(x->c);
        return;
    }
    *detail = registers_for(x->c);
    groups->detail = detail;
    groups->region_count = 2;
    groups->regions[0] = consumers;
    groups->regions[1] = producers;
    producers->parent = groups;
    ct_move_all(f->body, consumers, groups);
    for (uint32_t i = 0; i < x->count; i++)
        ct_append(f->body, x->rings[i]->op);
    ct_append(f->body, groups);
    ct_append(f->body, end);
    x->c->groups = detail;
}

static void split(splitting *x)
{
    uint32_t slots = slots_for(x);
    ct_block *producers = slots && make_rings(x) ? make_producers(x) : NULL;
    if (!producers)
        return;
    for (uint32_t i = 0; i < x->count; i++) {
        cg_ring *ring = x->loops[i]->detail;
        ring->slots = slots;
        ring->by_groups = true;
        spread_copies(ring);
        consume(x, i);
        x->loops[i]->detail = x->copies[i]->detail = NULL;
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
