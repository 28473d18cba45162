/* Copies by tensor maps in warp-specialised kernels: if TMA can copy all of a kernel's tiles, one producer thread
   issues the copies, with maps that its warp builds at the start (codegen/ops/maps.c). Tiles that all thread blocks of
   a cluster read are multicast: each block copies its part. */
#include "codegen/cost/cost.h"
#include "codegen/groups/maps.h"

#include "bytecode/verify/hints.h"
#include "codegen/analysis/order.h"
#include "codegen/analysis/product.h"
#include "codegen/kernel/limits.h"
#include "codegen/kernel/remarks.h"
#include "codegen/rewrite/ring.h"

/* ---- whether ---- */

const char *cg_maps_waste(const cg_splitting *x)
{
    if (cg_choices_of(x->c)->maps == CG_NEVER)
        return "a plan without them is asked for";
    for (uint32_t i = 0; i < x->count; i++)
        for (uint32_t k = 0; k < x->places[i].ring->load_count; k++)
            if (cg_is_transposed(&x->places[i].ring->loads[k]))
                return "threads transpose a tile on its way";
    return cg_may_use_ptx(x->c, CG_PTX_OF_MAPS) ? NULL : "they need PTX 8.5";
}

/* ---- which ---- */

ct_op *cg_tensor_maker_of(const ct_op *load)
{
    ct_op *op = cg_view_op_of(load).view->op;
    while (op && op->opcode != OP_make_tensor_view)
        op = op->operand_count ? op->operands[0]->op : NULL;
    return op;
}

/* The op of the function's body that loads the first tile, or contains that load. */
static ct_op *first_load(const cg_splitting *x)
{
    ct_op *first = ct_in_block(x->places[0].loop, x->f->body);
    for (uint32_t i = 0; i < x->kept_count; i++) {
        ct_op *op = ct_in_block(x->kept[i].load, x->f->body);
        first = ct_is_before(op, first) ? op : first;
    }
    return first;
}

/* Moves the op of the function's body in front of `place`, behind the ops that compute its operands, which move with
   it. Why it is right: all of them only compute, and are executed in any case. False: one of them does more. */
static bool move_up(ct_op *op, ct_op *place, uint32_t depth)
{
    if (op->block != place->block || ct_is_before(op, place))
        return op->block == place->block;
    bool may = depth && ct_is_pure(op) && ct_gives_no_tiles(op) && !op->region_count;
    for (uint32_t i = 0; may && i < op->operand_count; i++)
        may = !op->operands[i]->op || move_up(op->operands[i]->op, place, depth - 1);
    if (may)
        ct_move_before(op, place);
    return may;
}

static cg_tensor_map *map_for(cg_tensor_maps *all, const cg_view *view, const cg_boxes *boxes)
{
    for (uint32_t i = 0; i < all->count; i++)
        if (all->maps[i].view == view && cg_boxes_equal(&all->maps[i].boxes, boxes))
            return &all->maps[i];
    if (all->count == CG_MOST_MAPS)
        return NULL;
    all->maps[all->count] = (cg_tensor_map){.boxes = *boxes, .view = view};
    return &all->maps[all->count++];
}

/* Finds the boxes of a load or copy. Returns why there are none, or NULL. */
static const char *boxes_of(const cg_splitting *x, const ct_op *op, const cg_ring_load *load, cg_boxes *out)
{
    const char *why = load->vector_bits < cg_chunk_bits(bc_results(op->from)[0].type)
                          ? "rows are not known to start at multiples of 16 bytes"
                          : cg_boxes_obstacle(op, &load->encoding, load->fast, out);
    out->rounds = cg_is_rounded(load);
    if (!why && load->to_all && !cg_boxes_share(out, x->c->cluster))
        why = "a tile cannot be divided among the blocks of the cluster";
    return why;
}

/* ---- clusters: what differs between thread blocks ---- */

typedef struct differing {
    bool *is; /* by value id: it depends on the block's rank */
    bool has_changed;
} differing;

static void differs(differing *d, const ct_value *values, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        d->has_changed = d->has_changed || !d->is[values[i].id];
        d->is[values[i].id] = true;
    }
}

/* Marks the values that operand i of a loop or terminator becomes. */
static void hand_on(differing *d, const ct_op *op, uint32_t i)
{
    uint32_t count, first = ct_is_loop(op) ? ct_first_carried(op) : 0;
    const ct_value *targets = ct_targets(op, &count);
    const ct_op *loop = ct_is_loop(op) ? op : op->opcode == OP_continue ? ct_loop_around(op) : NULL;
    if (targets)
        differs(d, &targets[i], 1);
    if (ct_is_loop(op))
        differs(d, &op->regions[0]->args[i - first + (op->opcode == OP_for)], 1);
    if (loop && loop->opcode == OP_for)
        differs(d, &loop->results[i - first], 1);
}

/* Follows one op. False: the blocks may take different paths. */
static bool follow(differing *d, const ct_op *op)
{
    uint32_t count, handed = ct_is_loop(op) ? ct_first_carried(op) : ct_targets(op, &count) ? 0 : op->operand_count;
    bool any = op->opcode == CT_rank;
    for (uint32_t i = 0; i < op->operand_count; i++) {
        if (!d->is[op->operands[i]->id])
            continue;
        any = any || i < handed;
        if (i >= handed)
            hand_on(d, op, i);
    }
    if (any)
        differs(d, op->results, op->result_count);
    return !any || !op->region_count || !(ct_is_loop(op) || op->opcode == OP_if);
}

/* Finds the values that differ between the blocks of a cluster. False: the blocks may take different paths, or out
   of memory. */
static bool find_differing(const cg_splitting *x, differing *d)
{
    *d = (differing){.is = bc_new(&x->c->arena, bool, x->f->value_count + 1u), .has_changed = true};
    bool together = d->is;
    while (together && d->has_changed) {
        d->has_changed = false;
        for (const ct_op *op = x->f->body->first; op && together; op = ct_next_op(op, x->f->body))
            together = follow(d, op);
    }
    return together;
}

static bool is_whole(const differing *d, const ct_op *load)
{
    for (uint32_t i = 0; i < load->operand_count; i++)
        if (d->is[load->operands[i]->id] && load->operands[i]->type->kind != BC_TOKEN)
            return false;
    return true;
}

/* Finds the tiles that are multicast: those that all blocks read at the same time. Each block copies its part. */
static void find_whole(const cg_splitting *x)
{
    differing d;
    bool together = x->c->cluster && !x->c->in_parts && x->c->target->features & CG_HAS_MULTICAST
                    && find_differing(x, &d);
    for (uint32_t i = 0; i < x->count; i++)
        for (uint32_t k = 0; k < x->places[i].ring->load_count; k++) {
            cg_ring_load *load = &x->places[i].ring->loads[k];
            cg_boxes boxes;
            bool whole = together && is_whole(&d, x->places[i].loads[k])
                         && !cg_boxes_obstacle(x->places[i].loads[k], &load->encoding, load->fast, &boxes)
                         && cg_boxes_share(&boxes, x->c->cluster);
            load->to_all = whole && (x->places[i].is_first || load->to_all);
        }
}

/* ---- tiles that threads copy beside the copy engine ---- */

/* Why no tensor map serves the load, or NULL; *out: the boxes of a tile. */
static const char *copy_obstacle(const cg_splitting *x, const ct_op *load, const cg_ring_load *how, cg_boxes *out)
{
    const char *why = boxes_of(x, load, how, out);
    if (why)
        return why;
    if (bc_forbids_tma(load->from, x->c->target->sm))
        return "a hint forbids them";
    ct_op *maker = cg_tensor_maker_of(load);
    if (maker && maker->block == x->f->body && move_up(maker, first_load(x), CG_VIEW_DEPTH))
        return NULL;
    return "a view is made after the first load";
}

/* May threads copy single tiles of the rings, and the copy engine the others? Why it is right: a tile that no map
   serves is copied as in a kernel without maps, by its own addresses, bounds and mask, and its slot counts as full when
   both kinds of copies have arrived (codegen/groups/copiers.c). A slot that all blocks of a cluster or of a pair fill
   has barriers that count only what the copy engine brings, and scales (codegen/ops/tcgen05_pair.h). Tiles that a map
   would round have no other way into such a slot. With wgmma, this was not measured, and threads copy all tiles. */
static bool may_share(const cg_splitting *x)
{
    bool may = !x->c->cluster && !x->budget->launched && cg_sums_in_tensor(x->c, x->places[0].product);
    for (uint32_t i = 0; i < x->count; i++)
        may = may && !cg_ring_rounds(x->places[i].ring);
    return may;
}

/* Decides which tiles of the ring threads copy: scales, and those that no map serves. Returns the bytes of the latter,
   and in *out_all those of all tiles but scales; x->left says why. */
static uint32_t leave_of_ring(cg_splitting *x, const cg_ring_place *p, uint32_t *out_all)
{
    uint32_t left = 0;
    cg_boxes boxes;
    *out_all = 0;
    for (uint32_t k = 0; k < p->ring->load_count; k++) {
        cg_ring_load *load = &p->ring->loads[k];
        bool of_scales = cg_is_scale_feed(load->feed);
        const char *why = of_scales ? NULL : copy_obstacle(x, p->loads[k], load, &boxes);
        load->by_threads = of_scales || why || (!p->is_first && load->by_threads);
        x->left = x->left ? x->left : why;
        *out_all += of_scales ? 0 : cg_ring_load_bytes(load);
        left += of_scales || !load->by_threads ? 0 : cg_ring_load_bytes(load);
    }
    return left;
}

/* Leaves tiles to threads. Two of the producers' four warps copy them, so they are at most half of a slot's bytes: no
   thread copies more than it would without maps. Returns why there are no maps, or NULL. */
static const char *leave_to_threads(cg_splitting *x)
{
    x->left = NULL;
    for (uint32_t i = 0; i < x->count; i++) {
        uint32_t all, left = leave_of_ring(x, &x->places[i], &all);
        if (left && (!may_share(x) || 2 * left > all))
            return x->left;
    }
    return NULL;
}

/* ---- all of it ---- */

static const char *obstacle_of(cg_splitting *x, cg_tensor_maps *all, const ct_op *load, const cg_ring_load *how)
{
    cg_boxes boxes;
    const char *why = copy_obstacle(x, load, how, &boxes);
    if (why)
        return why;
    return map_for(all, cg_view_op_of(load).view->view, &boxes)
               ? NULL
               : "there are more tensors than a kernel may have tensor maps";
}

const char *cg_maps_obstacle(cg_splitting *x)
{
    cg_tensor_maps *all = bc_new(&x->c->arena, cg_tensor_maps, 1);
    find_whole(x);
    const char *why = all ? leave_to_threads(x) : "there is too little memory for them";
    for (uint32_t i = 0; i < x->count; i++)
        for (uint32_t k = 0; k < x->places[i].ring->load_count && !why; k++)
            if (!x->places[i].ring->loads[k].by_threads)
                why = obstacle_of(x, all, x->places[i].loads[k], &x->places[i].ring->loads[k]);
    for (uint32_t i = 0; i < x->kept_count && !why; i++)
        why = obstacle_of(x, all, x->kept[i].load, &x->kept[i].ring->loads[0]);
    for (uint32_t i = 0; i < x->row_count; i++)
        for (uint32_t k = 0; k < x->rows[i].ring->load_count && !why; k++)
            why = obstacle_of(x, all, x->rows[i].loads[k], &x->rows[i].ring->loads[k]);
    x->maps = all;
    return why;
}

/* Do ops after the loop, other than conversions, compute tiles of the same size and element type as the product's
   result? */
static bool computes_behind(const cg_ring_place *p)
{
    const bc_type *sums = p->product->results[0].type;
    for (const ct_op *op = p->loop->next; op; op = op->next) {
        const bc_type *type = bc_op_in(op->opcode, BC_OPS(MAP)) ? op->results[0].type : NULL;
        if (type && bc_elem_kind(type) == bc_elem_kind(sums)
            && bc_elem_kind(ct_operands(op)[0]->type) == bc_elem_kind(sums)
            && cg_shape_of(type).tile_bits == cg_shape_of(sums).tile_bits)
            return true;
    }
    return false;
}

/* Does an op other than a product read the sums of a step? */
static bool computes_between(const cg_ring_place *p)
{
    for (const ct_use *use = p->last->results[0].uses; use; use = use->next)
        if (!cg_is_product(use->op) && use->op->region_count == 0 && use->op->opcode != OP_continue)
            return true;
    return false;
}

static int64_t columns_of(const cg_ring_place *p)
{
    const bc_type *sums = p->product->results[0].type;
    return sums->shape[sums->rank - 1];
}

/* For one loop and one group of consumers: besides waits, which work of each other would several blocks on a
   multiprocessor hide without groups? NULL: none. Of wide tiles, whose sums and stages leave room for two blocks at
   most, maps keep more bytes in flight. */
static const char *hidden_by_several(const cg_ring_place *p)
{
    if (columns_of(p) > CG_WIDE_COLUMNS)
        return NULL;
    if (computes_between(p))
        return "several blocks on a multiprocessor already hide the work of each step";
    return computes_behind(p) ? "several blocks on a multiprocessor already hide the work after the product" : NULL;
}

/* Does one ring feed all products, and does none pass its result to another? */
static bool has_one_ring(const cg_splitting *x)
{
    return x->count == 1 && !cg_product_before(x->places[0].last) && x->places[0].product->way != CT_TURNED;
}

enum { GROUP = 1 << (CG_WARPGROUP_BITS + CG_LANE_BITS) };

/* Does that ring feed one warpgroup? */
static bool is_one_of_one(const cg_splitting *x)
{
    return cg_threads(x->c) == GROUP && has_one_ring(x);
}

/* Has the flip pass swapped the operands, because tiles have few rows? Such a kernel probably has fewer blocks than
   there are multiprocessors. */
static bool is_swapped(const cg_ring_place *p)
{
    for (uint32_t i = 0; i < p->loop->result_count; i++) {
        const ct_use *use = p->loop->results[i].uses;
        if (use && !use->next && use->op->opcode == OP_permute)
            return true;
    }
    return false;
}

static const cg_machine *machine_of(const cg_splitting *x)
{
    return cg_machine_of(x->c->target);
}

/* Cycles that the bytes of a slot take from L2. */
static double slot_cycles(const cg_splitting *x, const cg_ring_place *p)
{
    double bytes = 0;
    for (uint32_t i = 0; i < p->ring->load_count; i++)
        bytes += cg_ring_load_bytes(&p->ring->loads[i]);
    return bytes / machine_of(x)->l2_bytes;
}

/* Do the bytes of a slot take longer from L2 than one warpgroup takes for a slot? If not, several blocks on a
   multiprocessor bring more bytes at a time. */
static bool keeps_pace(const cg_splitting *x, const cg_ring_place *p)
{
    return slot_cycles(x, p) >= machine_of(x)->slot_pace;
}

bool cg_has_short_slots(const cg_splitting *x)
{
    const cg_ring_place *p = &x->places[0];
    return cg_product_of(x->c, p->product).instruction == CG_BY_WGMMA && slot_cycles(x, p) <= machine_of(x)->slot_turn;
}

/* Does it feed more than one warpgroup, which share a multiprocessor with no other block? Without groups, several
   blocks hide each other's latency if steps are short. Microseconds with and without groups on an H200, eight warps:
   128x16x32 364 and 273; e5m2 64x64x64 116 and 87. With swapped operands, 32x128x16 56 and 60; with slots of 20 KB,
   e4m3 128x32x128 183 and 200. */
static bool is_one_of_several(const cg_splitting *x)
{
    const cg_ring_place *p = &x->places[0];
    return cg_threads(x->c) > GROUP && has_one_ring(x) && p->ring->async && x->c->target->features & CG_HAS_WGMMA
           && !is_swapped(p) && !keeps_pace(x, p);
}

double cg_step_cycles(const cg_splitting *x, const cg_ring_place *p)
{
    return (p->ring->async ? cg_async_cycles : cg_mma_cycles)(x->c, p->product);
}

/* For kernels with one tile per block: why several blocks on a multiprocessor are better, or NULL. Measured on an
   H200, microseconds without and with maps: tall products in tiles of 64x64x64 53.5 and 85.5; gelu after 128x128x64
   205 and 234; scaled blocks of 64x128 158 and 223; narrow ones with 256 cycles a step 54.8 and 44.0. */
static const char *waste_of_block(const cg_splitting *x)
{
    const cg_ring_place *p = &x->places[0];
    bool one = is_one_of_one(x);
    if (!(one || is_one_of_several(x)) || cg_is_persistent(x, p) || cg_ring_rounds(p->ring) || p->computes)
        return NULL;
    return cg_step_cycles(x, p) < machine_of(x)->hidden_step
               ? "steps are short, and several blocks on a multiprocessor hide each other's latency"
           : one ? hidden_by_several(p)
                 : NULL;
}

bool cg_has_short_steps(const cg_splitting *x)
{
    /* Threads have too little work between two slots. Microseconds without and with maps: 64x32x64 4,966 and 6,968;
       on an H100 e4m3 64x16x64 112 and 228. */
    return (is_one_of_one(x) || is_one_of_several(x)) && cg_step_cycles(x, &x->places[0]) < machine_of(x)->slot_turn;
}

bool cg_only_waits_are_hidden(const cg_splitting *x)
{
    const cg_ring_place *p = &x->places[0];
    return is_one_of_one(x) && p->ring->async && keeps_pace(x, p) && !cg_has_short_steps(x)
           && cg_step_cycles(x, p) < machine_of(x)->hidden_step && !hidden_by_several(p)
           && !cg_product_of(x->c, p->product).adds_up;
}

static bool comes_to_all(const cg_ring_place *p)
{
    for (uint32_t i = 0; i < p->ring->load_count; i++)
        if (p->ring->loads[i].to_all)
            return true;
    return false;
}

/* Why cp.async beats TMA for the ring of a persistent block, or NULL. Tiles that threads would round in registers are
   faster by TMA in any case (1.15 to 1.30). */
static const char *tma_objection(const cg_splitting *x, const cg_ring_place *p)
{
    /* A slot that the copy engine fills arrives later than one that threads fill, and even later if it comes from
       other blocks. The slots in flight must last at least as long: each lasts as long as its products, or as its bytes
       take from L2 if that is longer. */
    enum { NOT_ON_THEIR_WAY = 2 };
    /* Few columns are slower by maps if no other block shares the tiles. Tiles of 128x64x64, microseconds by maps
       and by threads: 8192 2,165 and 1,913, 4096 261 and 247, 2048 34.2 and 35.3, 1024 9.7 and 8.7; of e4m3, which
       adds up, 1,184 and 1,411. */
    if (cg_ring_rounds(p->ring) || p->computes || cg_product_before(p->last) || x->count > 1 || !cg_is_persistent(x, p))
        return NULL;
    double ahead = (double)p->ring->slots - NOT_ON_THEIR_WAY, step = cg_step_cycles(x, p), slot = slot_cycles(x, p);
    if (ahead * (step > slot ? step : slot) < machine_of(x)->engine_delay)
        return "its stages hold too few bytes in flight";
    bool is_few = is_one_of_one(x) && columns_of(p) <= CG_FEW_COLUMNS && !comes_to_all(p);
    return is_few && !cg_product_of(x->c, p->product).adds_up ? "its products have few columns" : NULL;
}

const char *cg_maps_waste_slots(const cg_splitting *x)
{
    /* What follows was measured with wgmma. No GPU with tcgen05 was at hand; there, with maps, one thread copies and
       one multiplies, so that whole warps wait without work in either case. */
    bool by_tcgen05 = cg_sums_in_tensor(x->c, x->places[0].product);
    if (cg_choices_of(x->c)->maps == CG_IF_LEGAL || by_tcgen05)
        return NULL;
    if (!x->places[0].ring->async)
        return cg_step_cycles(x, &x->places[0]) < machine_of(x)->slot_turn ? "steps are shorter than the turn of a slot"
                                                                           : NULL;
    const char *why = waste_of_block(x);
    for (uint32_t i = 0; i < x->count && !why; i++)
        why = tma_objection(x, &x->places[i]);
    return why;
}

void cg_remark_maps(const cg_splitting *x)
{
    const ct_op *loop = x->places[0].loop;
    uint32_t shared = 0;
    for (uint32_t i = 0; !x->why && i < x->maps->count; i++)
        shared += x->maps->maps[i].boxes.blocks > 1;
    if (x->why)
        cg_remark(x->c, loop, CG_REMARK_TensorMaps, TV_REMARK_MISSED, "tensor maps are not used: {Why=%s}", x->why);
    else if (x->left)
        cg_remark(x->c, loop, CG_REMARK_TensorMaps, TV_REMARK_PASSED,
                  "tiles are copied through {Maps=%u} tensor maps, which each block builds, and others by threads: "
                  "{Why=%s}",
                  x->maps->count, x->left);
    else
        cg_remark(x->c, loop, CG_REMARK_TensorMaps, TV_REMARK_PASSED,
                  shared ? "tiles are copied through {Maps=%u} tensor maps, which each block builds; {Shared=%u} of "
                           "them multicast to all blocks of the cluster"
                         : "tiles are copied through {Maps=%u} tensor maps, which each block builds",
                  x->maps->count, shared);
}

/* ---- the ops ---- */

static ct_op *first_copy(ct_block *producers)
{
    for (ct_op *op = producers->first; op; op = ct_next_op(op, producers))
        if (op->opcode == CT_acquire)
            return ct_in_block(op, producers);
    return NULL;
}

/* The maps are built in front of the first copy, or in front of the wait for another grid if the tensors are known
   there. */
static ct_op *place_of(const cg_splitting *x, ct_block *producers, ct_value *const *tensors)
{
    ct_op *copy = first_copy(producers), *wait = producers->first;
    while (wait != copy && !cg_is_grid_wait(wait))
        wait = wait->next;
    for (uint32_t i = 0; i < x->maps->count; i++)
        if (!ct_is_before(tensors[i]->op, wait))
            return copy;
    return wait;
}

/* Makes the copy use its map, whose tensor becomes an operand of `maps`. */
static void put_map(cg_splitting *x, ct_op *copy, ct_value **tensors)
{
    cg_ring_copy *detail = copy->detail;
    cg_boxes boxes;
    if (detail->load->by_threads || boxes_of(x, copy, detail->load, &boxes))
        return; /* the latter is not possible: cg_maps_obstacle has checked it */
    detail->map = map_for(x->maps, cg_view_op_of(copy).view->view, &boxes);
    tensors[detail->map - x->maps->maps] = &cg_tensor_maker_of(copy)->results[0];
}

/* The acquire in front of the copy, in its block. */
static ct_op *acquire_of(ct_op *copy)
{
    const ct_value *ring = copy->operands[copy->from->operand_count];
    ct_op *op = copy->prev;
    while (op && !(op->opcode == CT_acquire && op->operands[0] == ring))
        op = op->prev;
    return op;
}

/* The operand of the copy that is its loop's counter, if all others are loop-invariant; otherwise -1. */
static int counting_operand(const ct_op *copy)
{
    const ct_op *loop = copy->block->parent;
    int found = -1;
    for (uint32_t i = 0; loop && loop->opcode == OP_for && i < copy->from->operand_count; i++) {
        const ct_value *v = copy->operands[i];
        if (v == &loop->regions[0]->args[0] && found < 0)
            found = (int)i;
        else if (ct_is_inside(v->block, loop->regions[0]))
            return -1;
    }
    return found;
}

/* If several blocks share a multiprocessor, the slots of each block hold only its part of the bytes that must be in
   flight, even in a grid with fewer blocks than multiprocessors. For such grids, tiles that a ring with few slots
   will copy one round later are prefetched to L2. Measured on an H200, microseconds without and with it: 32 blocks
   of decoding 17.2 and 15.1, 15.5 and 16.2 with three slots; 256 blocks 45.8 and 54.8, attention of 4,096 blocks 940
   and 970. */
static void put_prefetch(const cg_splitting *x, ct_op *copy)
{
    const cg_ring_copy *detail = copy->detail;
    const cg_ring *ring = cg_ring_of(copy, copy->from->operand_count);
    int counter = counting_operand(copy);
    ct_op *loop = copy->block->parent, *place = acquire_of(copy);
    if (x->budget->blocks == 1 || ring->slots > CG_PREFETCHED_SLOTS || detail->map->boxes.blocks > 1 || counter < 0
        || !place)
        return;
    ct_op *later = cg_later_new(x->c, loop, &loop->regions[0]->args[0], ring->slots);
    ct_op *op = ct_op_new(x->f, CT_prefetch, copy, copy->operand_count + 1, 0);
    if (!later || !op)
        return;
    for (uint32_t i = 0; i < copy->operand_count; i++)
        ct_set_operand(op, i, (int)i == counter ? &later->results[0] : copy->operands[i]);
    ct_set_operand(op, copy->operand_count, &later->results[1]);
    op->detail = copy->detail;
    x->maps->prefetches = true;
    ct_insert_before(later, place);
    ct_insert_before(op, place);
}

/* Inserts the op that gives the maps back after all other ops on every path from `place` to the kernel's end. */
static void put_unmaps(cg_splitting *x, ct_value *maps, ct_op *place, const ct_block *producers)
{
    for (ct_op *op = place; op; op = ct_next_op(op, producers)) {
        if (op->opcode != OP_return)
            continue;
        ct_op *unmap = ct_op_new(x->f, CT_unmap, op, 1, 0);
        if (!unmap)
            return;
        ct_set_operand(unmap, 0, maps);
        unmap->detail = x->maps;
        ct_insert_before(unmap, op);
    }
}

static bool list_rings(cg_splitting *x)
{
    cg_tensor_maps *maps = x->maps;
    if (!(maps->rings = bc_new(&x->c->arena, cg_ring *, x->ring_count)))
        return false;
    for (uint32_t i = 0; i < x->ring_count; i++) {
        cg_ring *ring = maps->rings[maps->ring_count++] = x->rings[i]->detail;
        ring->role = CG_RING_OF_MAPS;
    }
    return true;
}

void cg_put_maps(cg_splitting *x, ct_block *producers)
{
    ct_value *tensors[CG_MOST_MAPS] = {0};
    for (ct_op *op = producers->first; op; op = ct_next_op(op, producers))
        if (op->opcode == CT_copy) {
            put_map(x, op, tensors);
            put_prefetch(x, op);
        }
    ct_op *place = place_of(x, producers, tensors), *op = ct_op_new(x->f, CT_maps, place, x->maps->count, 1);
    if (!op || !list_rings(x))
        return;
    for (uint32_t i = 0; i < x->maps->count; i++)
        ct_set_operand(op, i, tensors[i]);
    op->results[0].type = &ct_own_type;
    op->detail = x->maps;
    ct_insert_before(op, place);
    put_unmaps(x, &op->results[0], place, producers);
}
