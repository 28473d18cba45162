/* Pipelined loads; see the header. The ring has `stages` slots of `slot_bytes`; each slot has a stage for every load.
   At the head of iteration i, all copies but those of the newest stages - 2 groups have arrived; a barrier makes them
   visible and says that all threads are done with iteration i - 1, whose slot the copies of iteration i + stages - 1 go
   to. Where slots of whole tiles are too large, a slot takes a part of K, and the product goes through the above for
   every part. */
#include "codegen/pipeline.h"

#include <string.h>

#include "codegen/assign.h"
#include "codegen/memory.h"
#include "codegen/mma.h"
#include "codegen/order.h"
#include "codegen/remarks.h"
#include "codegen/view.h"

enum {
    MAX_LOADS = 4,
    MOST_STAGES = 4,
    SHARED_FOR_TWO_BLOCKS = 100 << 10,
    SHARED_FOR_THE_REST = 16 << 10,
    MAX_PART_BITS = 3,
    MOST_VIEWS = 4 /* of a load, one of the other, to the product */
};

typedef struct piped {
    const ct_op *op;
    cg_view_op view;
    uint32_t fast; /* dimension of the tile that is contiguous in memory */
    cg_feed feed;
    cg_layout layout;                 /* of the copies over threads */
    uint32_t part_bit[MAX_PART_BITS]; /* bits of the tile's index that number the parts */
    cg_stage stage;                   /* base: of the current iteration */
    uint32_t offset;                  /* in a slot */
} piped;

struct cg_pipeline {
    const ct_op *loop;
    const ct_block *body;
    piped loads[MAX_LOADS];
    uint32_t load_count, stages, slot_bytes;
    bool *in_slice;     /* by value id: made by an op that the indices need */
    uint32_t parts;     /* log2 of the parts of K in which tiles come: a slot has one part */
    uint32_t next_part; /* that is copied next */
    bool pending;       /* the copies that this iteration starts are still to be emitted */
    cg_val high, step;
    cg_val read, write, ahead; /* addresses of slots; counter of the iteration to be copied next */
};

/* ---- which loads ---- */

static bool is_inside(const ct_op *op, const ct_block *body)
{
    for (const ct_block *b = op->block; b; b = b->parent ? b->parent->block : NULL)
        if (b == body)
            return true;
    return false;
}

/* Is v made only from the induction variable and values from outside, by scalar arithmetic? Marks what makes it. */
static bool is_slice(const cg_pipeline *p, const ct_value *v, uint32_t depth)
{
    if (!v->op) {
        if (v == &p->body->args[0])
            return true;
        for (uint32_t i = 0; i < p->body->arg_count; i++)
            if (v == &p->body->args[i])
                return false;
        return true;
    }
    if (!is_inside(v->op, p->body))
        return true;
    if (depth == 0 || v->op->block != p->body || !bc_is_tile(v->type) || v->type->rank
        || !(cg_is_map((bc_opcode)v->op->opcode) || v->op->opcode == OP_assume))
        return false;
    for (uint32_t i = 0; i < v->op->operand_count; i++)
        if (!is_slice(p, ct_operands(v->op)[i], depth - 1))
            return false;
    p->in_slice[v->id] = true;
    return true;
}

/* How all uses of v, also seen through other ops, read it from a stage; `run`: registers that are the elements of a
   16-byte chunk of it. CG_NO_FEED: not all are operands of products that do. */
static cg_feed feed_of(cg_func *c, const ct_block *body, const ct_value *v, const cg_layout *run, uint32_t depth)
{
    cg_feed feed = CG_NO_FEED;
    for (const ct_op *op = body->first; op; op = ct_next_op(op, body))
        for (uint32_t i = 0; i < op->operand_count; i++) {
            if (ct_operands(op)[i] != v)
                continue;
            if (op->block != body || depth == 0)
                return CG_NO_FEED;
            bool view = cg_stage_is_seen(op);
            cg_layout seen = view ? cg_seen_layout(op, run) : *run;
            cg_feed here = view ? feed_of(c, body, cg_result(op, 0), &seen, depth - 1) : cg_mma_feed(c, op, i, run);
            if (here == CG_NO_FEED)
                return CG_NO_FEED;
            feed = feed ? feed : here;
        }
    return feed;
}

/* log2 of the elements in 16 bytes of memory. */
static uint32_t chunk_bits(const bc_type *tile)
{
    bc_kind kind = bc_elem_kind(tile);
    return bc_kind_memory_bytes(kind) ? 4 - tv_trailing_zeros(bc_kind_memory_bytes(kind)) : 5;
}

/* Of elements of half a byte, the bit of the tile's index that tells those of a byte apart. */
static uint32_t half_bit(const cg_shape *s, uint32_t fast, const bc_type *tile)
{
    return bc_kind_memory_bytes(bc_elem_kind(tile)) ? 0 : (uint32_t)1 << s->shift[fast];
}

/* The stage for a tile of which dimension `fast`, one of the last two, lies in 16-byte chunks in memory; without the
   bits of left_out. */
static cg_stage stage_for(const cg_shape *s, uint32_t fast, uint32_t bytes, cg_feed feed, uint32_t left_out)
{
    uint32_t last = s->rank - 1, bits[2],
             all = s->tile_bits - cg_count_bits(left_out); /* bits of the last two dimensions */
    for (uint32_t i = 0; i < 2; i++)
        bits[i] = i <= last ? s->bits[last - i] - cg_count_bits(left_out & cg_dim_mask(s, last - i)) : 0;
    uint32_t columns = bits[last - fast], rows = fast == last ? all - columns : bits[0];
    cg_stage stage = cg_stage_new(rows, columns, all - rows - columns, bytes, feed);
    stage.flipped = fast != last;
    stage.left_out = left_out;
    return stage;
}

/* Why the load cannot go ahead; NULL: it can, and *out is how. */
static const char *obstacle(cg_func *c, cg_pipeline *p, const ct_op *op, piped *out)
{
    if (ct_attr_u(op, F_load_view_tko_memory_ordering_semantics) != BC_MemoryOrderingSemantics_weak)
        return "its memory order keeps it in its place";
    cg_view_op v = cg_view_op_of(op);
    cg_shape s = cg_shape_of(v.tile_type);
    uint32_t fast, bytes = cg_memory_bytes(bc_elem_kind(v.tile_type)), chunk = chunk_bits(v.tile_type);
    uint8_t padding = v.view->type->padding, bits[5];
    const cg_view *tensor = v.view->view;
    if (v.view->type->kind == BC_GATHER_SCATTER_VIEW)
        return "it gathers";
    if (padding != BC_NO_PADDING && padding != BC_PaddingValue_zero)
        return "its padding is not zero";
    if (!cg_view_contiguous(&v, &fast) || fast + 2 < s.rank)
        return "neither of its last two dimensions is known to be contiguous";
    if (cg_view_vector(c, &v, fast) < chunk)
        return "base, strides, extent and index are not known to be aligned to 16 bytes";
    if (tensor->maker && is_inside(tensor->maker, p->body))
        return "its view is made in the loop";
    for (uint32_t i = 0; i < v.index_count; i++)
        if (!is_slice(p, v.index[i], 16))
            return "an index comes from more than the loop's counter";
    cg_layout run = {.tile_bits = s.tile_bits, .reg_bits = (uint8_t)chunk},
              l = cg_layout_memory(&s, fast, chunk, 0, c->warp_bits);
    for (uint32_t i = 0; i < chunk; i++)
        run.reg[i] = (uint32_t)1 << (s.shift[fast] + i);
    if (cg_layout_vector(&l, s.shift[fast], chunk, bits) < chunk)
        return "its tile has less than 16 bytes for a thread";
    cg_feed feed = feed_of(c, p->body, v.tile, &run, MOST_VIEWS + 1);
    if (feed == CG_NO_FEED)
        return "it is not only an operand of products that can read it from shared memory";
    if (cg_order_is_written(c, p->body, v.view))
        return "the loop may write what it reads";
    *out = (piped){.op = op,
                   .view = v,
                   .fast = fast,
                   .feed = feed,
                   .layout = l,
                   .stage = stage_for(&s, fast, bytes, feed, half_bit(&s, fast, v.tile_type))};
    return NULL;
}

/* Is there a product in the body that wgmma computes? And does every iteration come by it? */
static bool is_async(cg_func *c, const ct_block *body, bool *out_always)
{
    bool found = false;
    *out_always = true;
    for (const ct_op *op = body->first; op; op = ct_next_op(op, body)) {
        found = found || (op->block == body && cg_mma_is_async(c, op));
        *out_always = *out_always && (op->opcode != OP_continue || op->block == body);
    }
    return found;
}

static bool has_products(const ct_block *body)
{
    for (const ct_op *op = body->first; op; op = op->next)
        if (cg_is_product(op))
            return true;
    return false;
}

/* ---- tiles in parts ---- */

/* The one product of the body, when every iteration comes by it and multiplies all loads of the pipeline; else NULL. */
static const ct_op *only_product(cg_func *c, const cg_pipeline *p)
{
    const ct_op *found = NULL;
    bool always;
    if (is_async(c, p->body, &always) || !always || p->load_count != 2)
        return NULL;
    for (const ct_op *op = p->body->first; op; op = ct_next_op(op, p->body))
        if (cg_is_product(op)) {
            if (found || op->block != p->body)
                return NULL;
            found = op;
        }
    return found;
}

/* Makes the load come in 2^parts parts along the upper bits of K, which the operand's index has from bit `low` on.
   False: the threads would not have whole vectors of a part. */
static bool cut_load(cg_func *c, piped *load, const ct_value *operand, uint32_t low, uint32_t parts)
{
    const bc_type *type = load->view.tile_type;
    cg_shape s = cg_shape_of(type);
    uint32_t bytes = cg_memory_bytes(bc_elem_kind(type)), vector = chunk_bits(type), left_out = 0, count = 0;
    cg_layout k = {.tile_bits = s.tile_bits, .reg_bits = (uint8_t)parts};
    uint8_t order[CG_MAX_TILE_BITS];
    for (uint32_t i = 0; i < parts; i++)
        k.reg[i] = (uint32_t)1 << (low + i);
    k = cg_source_layout(operand, &k);
    for (uint32_t i = 0; i < parts; i++)
        left_out |= load->part_bit[i] = k.reg[i];
    for (uint32_t part = 0; part < 3; part++) /* the contiguous dimension, the others, what numbers the parts */
        for (uint32_t b = 0; b < s.tile_bits; b++) {
            uint32_t bit = (uint32_t)1 << b;
            if (part == (left_out & bit ? 2u : cg_dim_mask(&s, load->fast) & bit ? 0u : 1u))
                order[count++] = (uint8_t)b;
        }
    if (s.tile_bits < parts + vector + CG_LANE_BITS + c->warp_bits)
        return false;
    load->layout = cg_layout_ordered(order, s.tile_bits, vector, c->warp_bits);
    load->stage = stage_for(&s, load->fast, bytes, load->feed, left_out | half_bit(&s, load->fast, type));
    return true;
}

static uint32_t place_loads(cg_pipeline *p)
{
    p->slot_bytes = 0;
    for (uint32_t i = 0; i < p->load_count; i++) {
        p->loads[i].offset = p->slot_bytes;
        p->slot_bytes += (cg_stage_bytes(&p->loads[i].stage) + CG_STAGE_ALIGN - 1) & ~(uint32_t)(CG_STAGE_ALIGN - 1);
    }
    return p->slot_bytes;
}

/* Tiles of which three do not fit: in as few parts as do, for loops that do nothing else. */
static void take_parts(cg_func *c, cg_pipeline *p)
{
    const ct_op *product = only_product(c, p);
    uint32_t all = cg_static_shared(c->target);
    if (!product || 3 * p->slot_bytes <= all)
        return;
    piped whole[2] = {p->loads[0], p->loads[1]};
    uint32_t k, most = cg_mma_part_bits(c, product, &k);
    for (p->parts = 1; p->parts <= most && p->parts <= MAX_PART_BITS; p->parts++) {
        bool fits = true;
        for (uint32_t i = 0; i < 2; i++) {
            const ct_value *operand = ct_operands(product)[i];
            uint32_t low = k - p->parts + (i ? cg_shape_of(operand->type).bits[operand->type->rank - 1] : 0);
            const ct_value *tile = cg_stage_source(operand);
            piped *load = &p->loads[p->loads[0].view.tile != tile];
            fits = fits && load->view.tile == tile && cut_load(c, load, operand, low, p->parts);
        }
        if (fits && 3 * place_loads(p) <= all)
            return;
    }
    p->parts = 0;
    memcpy(p->loads, whole, sizeof whole);
    place_loads(p);
}

cg_pipeline *cg_pipeline_of(cg_func *c, const ct_op *loop)
{
    if (!has_products(ct_regions(loop)[0]))
        return NULL;
    cg_pipeline *p = bc_new(&c->arena, cg_pipeline, 1);
    if (!p || !(p->in_slice = bc_new(&c->arena, bool, c->ir->value_count + 1u))) {
        cg_no_memory(c);
        return NULL;
    }
    p->loop = loop;
    p->body = ct_regions(loop)[0];
    bool other_loads = false;
    for (const ct_op *op = p->body->first; op; op = op->next) {
        piped *load = &p->loads[p->load_count];
        if (op->opcode != OP_load_view_tko || p->load_count == MAX_LOADS)
            continue;
        const char *why = obstacle(c, p, op, load);
        if (why) {
            cg_remark(c, op, CG_REMARK_NotPipelined, TV_REMARK_MISSED, "not loaded ahead: {Why=%s}", why);
            other_loads = true;
            continue;
        }
        p->load_count++;
    }
    place_loads(p);
    take_parts(c, p);
    uint32_t all = cg_static_shared(c->target), rest = all > 48 << 10 ? SHARED_FOR_THE_REST : SHARED_FOR_THE_REST / 2;
    uint32_t kept = (c->kept_bytes + CG_STAGE_ALIGN - 1) & ~(uint32_t)(CG_STAGE_ALIGN - 1);
    rest = kept > rest || (p->parts && !other_loads) ? kept : rest;
    uint32_t room = c->plain_loops ? 0 : all - rest;
    if (p->load_count && (c->in_ring || 2 * p->slot_bytes > room))
        cg_remark(c, loop, CG_REMARK_NotPipelined, TV_REMARK_MISSED,
                  "not pipelined: {Why=%s}; two stages take {Bytes=%u} bytes of shared memory of {Room=%u}",
                  c->in_ring       ? "a loop around it is"
                  : c->plain_loops ? "loops stay plain here"
                                   : "too little room",
                  2 * p->slot_bytes, room);
    if (!p->load_count || c->in_ring || 2 * p->slot_bytes > room)
        return NULL;
    uint32_t fit = room / p->slot_bytes;
    p->stages = SHARED_FOR_TWO_BLOCKS / p->slot_bytes;
    if (p->stages < 3 || p->stages > fit)
        p->stages = fit;
    if (p->stages > MOST_STAGES)
        p->stages = MOST_STAGES;
    cg_remark(c, loop, CG_REMARK_Pipelined, TV_REMARK_PASSED,
              "pipelined: {Loads=%u} loads in {Stages=%u} stages, {InFlight=%u} bytes in flight, {Shared=%u} bytes of "
              "shared memory",
              p->load_count, p->stages, (p->stages - 1) * p->slot_bytes, p->stages * p->slot_bytes);
    return p;
}

/* ---- copies ---- */

typedef struct copying {
    const piped *load;
    cg_val base, valid;
    cg_layout places;
    uint32_t part; /* bits of the tile's index */
} copying;

static void copy_part(cg_func *c, void *user, const cg_tile_part *part)
{
    const copying *k = user;
    uint32_t mask = k->load->stage.left_out;
    if ((cg_layout_reg(&k->load->layout, part->reg[0]) & mask) != k->part)
        return;
    cg_place to = cg_flat_place(c, k->base, k->load->stage.bytes, &k->places, part->reg[0]);
    cg_val inside = part->inside.known ? k->valid : part->inside, bytes = cg_new(c, CG_B32);
    if (!part->inside.known && !k->valid.known) {
        inside = cg_new(c, CG_PRED);
        cg_ins(c, "and.pred %v, %v, %v", inside, part->inside, k->valid);
    }
    if (part->inside.known && !part->inside.bits)
        cg_ins(c, "mov.u32 %v, 0", bytes);
    else if (inside.known)
        cg_ins(c, "mov.u32 %v, 16", bytes);
    else
        cg_ins(c, "selp.u32 %v, 16, 0, %v", bytes, inside);
    cg_ins(c, "cp.async.cg.shared.global [%v+%d], [%v+%d], 16, %v", to.address, (int)to.offset, part->address,
           (int)part->offset, bytes);
}

/* The next copies into the slot at `slot`, as one group. */
static void copy_next(cg_func *c, cg_pipeline *p, cg_val slot)
{
    cg_val valid = cg_new(c, CG_PRED);
    bool is_unsigned = ct_attr_u(p->loop, F_for_unsigned_cmp) != 0;
    cg_ins(c, "setp.lt.%s64 %v, %v, %v", is_unsigned ? "u" : "s", valid, p->ahead, p->high);
    cg_set_counter(c, p->body, p->ahead);
    for (const ct_op *op = p->body->first; op && !c->failed; op = op->next)
        if (op->result_count && p->in_slice[cg_result(op, 0)->id])
            cg_lower_op(c, op);
    for (uint32_t i = 0; i < p->load_count && !c->failed; i++) {
        piped *load = &p->loads[i];
        copying k = {.load = load,
                     .base = cg_new(c, CG_B32),
                     .valid = valid,
                     .places = cg_stage_layout(&load->stage, &load->layout)};
        for (uint32_t b = 0; b < p->parts; b++)
            k.part |= p->next_part >> b & 1 ? load->part_bit[b] : 0;
        cg_ins(c, "add.u32 %v, %v, %u", k.base, slot, load->offset);
        cg_view_parts(c, &load->view, &load->layout, chunk_bits(load->view.tile_type), NULL, &k, copy_part);
    }
    cg_ins(c, "cp.async.commit_group");
    if (++p->next_part >> p->parts) {
        p->next_part = 0;
        cg_ins(c, "add.s64 %v, %v, %v", p->ahead, p->ahead, p->step);
    }
}

/* What a value has in one layout, put away while another iteration's is made. */
typedef struct kept {
    struct kept *next;
    cg_copy *copy;
    cg_val *regs;
} kept;

static kept *keep(cg_func *c, const ct_value *v, kept *list)
{
    for (cg_copy *copy = cg_value_of(c, v)->copies; copy; copy = copy->next) {
        kept *k = bc_new(&c->arena, kept, 1);
        if (!k) {
            cg_no_memory(c);
            return list;
        }
        *k = (kept){.next = list, .copy = copy, .regs = copy->regs};
        list = k;
    }
    return list;
}

/* The copies of a later iteration, within the body; the indices of this one stay. */
static void copy_ahead(cg_func *c, cg_pipeline *p)
{
    const ct_op *op_being_lowered = c->op;
    kept *list = keep(c, &p->body->args[0], NULL);
    for (const ct_op *op = p->body->first; op; op = op->next)
        if (op->result_count && p->in_slice[cg_result(op, 0)->id])
            list = keep(c, cg_result(op, 0), list);
    copy_next(c, p, p->write);
    for (; list; list = list->next)
        list->copy->regs = list->regs;
    p->pending = false;
    c->op = op_being_lowered;
}

void cg_pipeline_ahead(cg_func *c, const ct_op *op)
{
    cg_pipeline *p = c->pipeline;
    if (p && p->pending && op->block == p->body)
        copy_ahead(c, p);
}

void cg_pipeline_start(cg_func *c, cg_pipeline *p, cg_val low, cg_val high, cg_val step)
{
    for (uint32_t i = 0; i < p->load_count; i++)
        cg_order_access(c, p->loads[i].op, p->loads[i].view.view, false, NULL);
    cg_barrier(c); /* an earlier run of the loop may still read the ring */
    if (p->stages * p->slot_bytes > c->ring_bytes)
        c->ring_bytes = p->stages * p->slot_bytes;
    c->in_ring = true;
    if (!c->ring.id)
        c->ring = cg_new(c, CG_B32);
    p->read = cg_new(c, CG_B32);
    p->write = cg_new(c, CG_B32);
    p->ahead = cg_new(c, CG_B64);
    p->high = high;
    p->step = step;
    cg_ins(c, "mov.b64 %v, %v", p->ahead, low);
    for (uint32_t s = 0; s + 1 < p->stages; s++) {
        cg_val slot = cg_new(c, CG_B32);
        cg_ins(c, "add.u32 %v, %v, %u", slot, c->ring, s * p->slot_bytes);
        copy_next(c, p, slot);
    }
    cg_ins(c, "mov.u32 %v, %v", p->read, c->ring);
    cg_ins(c, "add.u32 %v, %v, %u", p->write, c->ring, (p->stages - 1) * p->slot_bytes);
}

/* Waits for what lies in the slot at p->read and starts the next copies, unless a product will. async: wgmma reads it.
 */
static void take_slot(cg_func *c, cg_pipeline *p, bool async, bool leave_copies)
{
    cg_ins(c, "cp.async.wait_group %u", p->stages - 2);
    if (async)
        cg_ins(c, "fence.proxy.async.shared::cta");
    cg_barrier(c);
    p->pending = true;
    if (!leave_copies)
        copy_ahead(c, p);
    for (uint32_t i = 0; i < p->load_count; i++) {
        piped *load = &p->loads[i];
        load->stage.base = cg_new(c, CG_B32);
        cg_ins(c, "add.u32 %v, %v, %u", load->stage.base, p->read, load->offset);
    }
}

void cg_pipeline_step(cg_func *c, cg_pipeline *p)
{
    bool always, async = is_async(c, p->body, &always);
    if (!p->parts)
        take_slot(c, p, async, async && always);
    for (uint32_t i = 0; i < p->load_count; i++)
        cg_value_of(c, p->loads[i].view.tile)->stage = &p->loads[i].stage;
}

uint32_t cg_pipeline_parts(const cg_func *c, const ct_op *op)
{
    return c->pipeline && op->block == c->pipeline->body ? c->pipeline->parts : 0;
}

static void next_slot(cg_func *c, const cg_pipeline *p, cg_val slot)
{
    cg_val last = cg_new(c, CG_B32), wraps = cg_new(c, CG_PRED), next = cg_new(c, CG_B32);
    cg_ins(c, "add.u32 %v, %v, %u", last, c->ring, (p->stages - 1) * p->slot_bytes);
    cg_ins(c, "setp.eq.u32 %v, %v, %v", wraps, slot, last);
    cg_ins(c, "add.u32 %v, %v, %u", next, slot, p->slot_bytes);
    cg_ins(c, "selp.b32 %v, %v, %v, %v", slot, c->ring, next, wraps);
}

void cg_pipeline_part(cg_func *c, uint32_t part)
{
    if (part)
        cg_pipeline_turn(c, c->pipeline);
    take_slot(c, c->pipeline, false, false);
}

void cg_pipeline_turn(cg_func *c, cg_pipeline *p)
{
    if (p->pending)
        copy_ahead(c, p);
    next_slot(c, p, p->read);
    next_slot(c, p, p->write);
}

void cg_pipeline_end(cg_func *c, cg_pipeline *p)
{
    cg_ins(c, "cp.async.wait_group 0");
    c->in_ring = false;
    cg_scratch_read(c); /* the ring is scratch again once all threads have read it */
    for (uint32_t i = 0; i < p->load_count; i++)
        cg_value_of(c, p->loads[i].view.tile)->stage = NULL;
}
