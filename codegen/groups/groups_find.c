/* Decides which kernels are warp-specialised; see codegen/passes/groups.c. Why it is right: producers run ahead of
   consumers, so a kernel is divided only if none of their loads may have to follow a store of the kernel
   (cg_order_holds_back). This is asked before blocks are made persistent for groups; where only a token requires the
   order, is_feasible would find it later. */
#include "codegen/groups/groups_find.h"

#include "codegen/cost/cost.h"
#include "codegen/analysis/tensor_left.h"
#include "codegen/analysis/computed.h"
#include "codegen/analysis/order.h"
#include "codegen/analysis/product.h"
#include "codegen/analysis/shared.h"
#include "codegen/analysis/tensor.h"
#include "codegen/analysis/turned.h"
#include "codegen/kernel/groups.h"
#include "codegen/kernel/limits.h"
#include "codegen/groups/computes.h"
#include "codegen/groups/maps.h"
#include "codegen/plan/loads.h"
#include "codegen/plan/block_order.h"

/* Finds the products that use a tile of the loop's body, directly or through views, in program order; if there is
   only one, *first and *last are the same. False: more than two products use the tile, or other ops do. */
static bool find_takers(const ct_value *tile, const ct_block *body, ct_op **first, ct_op **last)
{
    for (const ct_use *use = tile->uses; use; use = use->next) {
        ct_op *op = use->op;
        if (!cg_is_product(op)) {
            if (!find_takers(&op->results[0], body, first, last))
                return false;
        } else if (!*first) {
            *first = *last = op;
        } else if (op != *first && op != *last) {
            if (*first != *last || op->block != body || (*first)->block != body)
                return false;
            *(ct_is_before(op, *first) ? first : last) = op;
        }
    }
    return tile->uses;
}

/* Reuses the ring of an earlier loop if it has the same layout and no other place of this loop uses it. */
static void share_ring(cg_splitting *x, uint32_t which, uint32_t first)
{
    cg_ring_place *p = &x->places[which];
    for (uint32_t i = 0; i < first && p->is_first; i++) {
        bool taken = false;
        for (uint32_t k = first; k < which; k++)
            taken = taken || x->places[k].ring == x->places[i].ring;
        if (!taken && x->places[i].is_first && cg_ring_is_like(x->places[i].ring, p->ring)) {
            p->ring = x->places[i].ring;
            p->is_first = false;
        }
    }
}

/* Makes the encoding of bytes that ldmatrix reads in pairs of rows one that the copy engine can write. Two of these
   rows are in the same banks then, which takes a few cycles of a step; products by mma.sync read every encoding. */
static void take_encoding_of_maps(cg_ring_load *load)
{
    const bc_type *tile = load->op->results[0].type;
    cg_shape s = cg_shape_of(tile);
    if (load->feed == CG_FEED_PAIRS)
        load->encoding =
            cg_encoding_for(&s, load->fast, cg_memory_bytes(bc_elem_kind(tile)), CG_FEED_ROWS, load->encoding.left_out);
}

/* Gives each product of the loop a ring for the tiles that it reads. */
static bool add_rings(cg_splitting *x, ct_op *loop)
{
    const cg_ring *all = cg_plan_of(loop)->ring;
    uint32_t first = x->count;
    for (uint32_t i = 0; i < all->load_count; i++) {
        ct_op *product = NULL, *last = NULL;
        if (cg_is_read_by_threads(&all->loads[i]))
            continue; /* consumers have it in registers */
        bool found = find_takers(&all->loads[i].op->results[0], loop->regions[0], &product, &last);
        cg_ring_place *place = &x->places[first];
        while (place < &x->places[x->count] && (place->product != product || place->last != last))
            place++;
        if (!found || place == &x->places[CG_MOST_RINGS])
            return false;
        if (place == &x->places[x->count]) {
            *place = (cg_ring_place){.ring = bc_new(&x->c->arena, cg_ring, 1),
                                     .loop = loop,
                                     .product = product,
                                     .last = last,
                                     .is_first = true};
            if (!place->ring)
                return false;
            *place->ring = (cg_ring){.async = all->async, .behind = all->behind, .role = CG_RING_OF_GROUPS};
            x->count++;
        }
        place->loads[place->ring->load_count] = all->loads[i].op;
        place->ring->loads[place->ring->load_count] = all->loads[i];
        if (!all->async)
            take_encoding_of_maps(&place->ring->loads[place->ring->load_count]);
        place->ring->load_count++;
    }
    for (uint32_t i = first; i < x->count && x->count - first > 1; i++) /* in chains of products, none stays in
                                                                           flight */
        share_ring(x, i, first);
    return true;
}

/* ---- left operands that consumers compute ---- */

/* Puts the load into the ring, at its place in program order. False: the ring is full. */
static bool put_in_order(cg_ring_place *p, const cg_ring_load *load)
{
    uint32_t at = p->ring->load_count;
    if (at == CG_RING_LOADS)
        return false;
    for (; at && ct_is_before(load->op, p->loads[at - 1]); at--) {
        p->loads[at] = p->loads[at - 1];
        p->ring->loads[at] = p->ring->loads[at - 1];
    }
    p->loads[at] = load->op;
    p->ring->loads[at] = *load;
    p->ring->load_count++;
    return true;
}

/* If the loop's only product takes a left operand that is computed from tiles, consumers read those tiles from the
   ring, too. Why it is right: the slot is released behind the product, when each thread has its elements in
   registers. */
static void add_computed(cg_splitting *x, cg_ring_place *p)
{
    if (p->product != p->last || cg_only_product(p->loop->regions[0]) != p->product
        || !cg_is_worth_computing(x->c, p->product, 0, false))
        return;
    for (ct_op *op = p->product->block->first; op != p->product; op = op->next) {
        cg_ring_load load;
        cg_layout l;
        if (ct_is_load(op) && cg_fragments_from(x->c, p->product, op, &l)
            && cg_load_to_compute(x->c, op, p->product, &load) && put_in_order(p, &load))
            p->computes = true;
    }
}

/* ---- operands that are loaded before their loops ---- */

/* The next grid may start when threads of any group allow it. */

static uint32_t consumer_registers(const cg_splitting *x)
{
    return x->budget->consumers ? x->budget->consumers : CG_THREAD_REGISTERS;
}

/* Registers that a consumer thread would have left if it kept this left operand, which is loaded once, as fragments. */
static int registers_left(const cg_splitting *x, const cg_ring_place *p, const ct_value *operand)
{
    uint32_t fragments = ((uint32_t)1 << cg_shape_of(operand->type).tile_bits) / 2 / cg_threads(x->c);
    return (int)consumer_registers(x) - (int)fragments - cg_registers_taken(x, p->loop);
}

/* Does the product read its left operand from registers, and do consumers have enough of them? tcgen05 reads shared
   memory, to which threads would store the operand in each iteration. */
static bool suits_registers(const cg_splitting *x, const cg_ring_place *p, const ct_op *product)
{
    return !cg_sums_in_tensor(x->c, product)
           && registers_left(x, p, product->operands[0]) >= cg_machine_of(x->c->target)->registers_loop;
}

/* Keeps an operand of the product in shared memory if that is better than in registers. */
static void keep_operand(cg_splitting *x, const cg_ring_place *p, const ct_op *product, uint32_t which)
{
    ct_op *load = cg_source_of(product->operands[which])->op;
    cg_kept_load *kept = &x->kept[x->kept_count];
    if (!load || load->opcode != OP_load_view_tko || ct_is_inside(load->block, p->loop->regions[0])
        || x->kept_count == CG_MOST_KEPT || (!which && suits_registers(x, p, product)))
        return;
    for (uint32_t k = 0; k < x->kept_count; k++)
        if (x->kept[k].load == load)
            return;
    cg_ring *ring = bc_new(&x->c->arena, cg_ring, 1);
    if (!ring || cg_load_obstacle(x->c, load, NULL, &ring->loads[0]) || cg_order_holds_back(x->c, x->f->body, load))
        return;
    ring->load_count = ring->slots = 1;
    ring->async = p->ring->async;
    ring->role = CG_RING_OF_GROUPS;
    *kept = (cg_kept_load){.ring = ring, .load = load};
    x->kept_count++;
}

static void find_kept(cg_splitting *x)
{
    for (uint32_t i = 0; i < x->count; i++) {
        for (uint32_t which = 0; which < 2; which++) {
            keep_operand(x, &x->places[i], x->places[i].product, which);
            keep_operand(x, &x->places[i], x->places[i].last, which);
        }
    }
}

/* Can the product read both operands without work by the threads in each iteration? */
static bool finds_operands(const cg_splitting *x, const cg_ring_place *p, const ct_op *product)
{
    const ct_value *left = cg_source_of(product->operands[0]), *right = cg_source_of(product->operands[1]);
    bool has_left = false, has_right = false;
    for (uint32_t i = 0; i < p->ring->load_count; i++) {
        has_left = has_left || left == &p->loads[i]->results[0];
        has_right = has_right || right == &p->loads[i]->results[0];
    }
    if (!has_right) /* of a chain: queries, or what another product hands on through scratch */
        return has_left && cg_choices_of(x->c)->swap == CG_IF_LEGAL;
    return has_left || p->computes || cg_product_before(product) || left->block != p->loop->regions[0];
}

static bool is_fed(const cg_splitting *x, const cg_ring_place *p)
{
    return finds_operands(x, p, p->product) && finds_operands(x, p, p->last);
}

/* Could a producer read memory before this block, or another block that it waits for, has written it? */
static bool is_held_back(const cg_splitting *x)
{
    for (uint32_t i = 0; i < x->count; i++)
        for (uint32_t k = 0; k < x->places[i].ring->load_count; k++)
            if (cg_order_holds_back(x->c, x->f->body, x->places[i].loads[k]))
                return true;
    return false;
}

static bool are_fed(const cg_splitting *x)
{
    uint8_t way = x->places[0].product->way;
    for (uint32_t i = 0; i < x->count; i++)
        if (!is_fed(x, &x->places[i]) || (x->places[i].product->way == CT_TURNED) != (way == CT_TURNED))
            return false;
    return true;
}

void cg_groups_round(const cg_splitting *x, bool maps)
{
    for (uint32_t i = 0; i < x->count; i++)
        cg_set_roundings(x->c, x->places[i].product, x->places[i].ring, maps);
}

/* Registers of a consumer for a left operand that it computes: as it reads it, and as the product does. */
static uint32_t computed_registers(const cg_splitting *x)
{
    enum { TWICE = 2 };
    const cg_ring_place *p = &x->places[0];
    return p->computes ? TWICE * cg_words_of_thread(x->c, p->product->operands[0]->type) : 0;
}

static bool is_last(const cg_splitting *x, const ct_op *product)
{
    bool is = false;
    for (uint32_t i = 0; i < x->count; i++)
        is = is || x->places[i].last == product;
    return is;
}

static cg_group_work work_of(const cg_splitting *x)
{
    const bc_type *first = x->places[0].product->results[0].type;
    bool is_chain = x->count > 1 || x->places[0].last != x->places[0].product,
         in_tensor = cg_is_chain_in_tensor(x->c, x->places[0].product->block);
    cg_group_work work = {.consumers = cg_threads(x->c),
                          .kind = cg_ring_puts(x->places[0].ring)          ? CG_PUT
                                  : x->places[0].product->way == CT_TURNED ? CG_TURNED
                                  : !x->places[0].ring->async              ? (is_chain ? CG_SYNC_CHAIN : CG_SYNC)
                                  : is_chain                               ? CG_CHAIN
                                  : x->places[0].computes                  ? CG_COMPUTED
                                                                           : CG_ONE,
                          .rows = first->shape[first->rank - 2],
                          .own_rows = in_tensor ? (int64_t)1 << CG_TENSOR_ROW_BITS : CG_WARPGROUP_ROWS,
                          .registers = cg_sum_registers(x->c),
                          .computed = computed_registers(x),
                          .launched = in_tensor ? CG_MOVE_REGISTERS : 0,
                          .is_short = cg_has_short_slots(x),
                          .is_persistent = cg_is_persistent(x, &x->places[0])};
    /* those of versions without groups, too: ptxas wants the registers of an instruction to be there at launch */
    for (const ct_op *op = x->f->body->first; op; op = ct_next_op(op, x->f->body))
        if (cg_is_product(op) && (is_last(x, op) || cg_product_of(x->c, op).instruction == CG_BY_WGMMA)) {
            const bc_type *type = op->results[0].type;
            int64_t columns = type->shape[type->rank - (op->way == CT_TURNED ? 2 : 1)]; /* of the instruction */
            work.columns = columns > work.columns ? columns : work.columns;
        }
    return work;
}

/* Do all products of the loop read whole tiles by ldmatrix? */
static bool are_by_mma(const cg_splitting *x, const ct_op *loop)
{
    const ct_block *body = loop->regions[0];
    for (const ct_op *op = body->first; op; op = ct_next_op(op, body))
        if (cg_is_product(op) && cg_product_of(x->c, op).instruction != CG_BY_MMA)
            return false;
    return true;
}

/* May another group of warps fill the loop's ring? Rings of asynchronous products that have a single slot are faster
   without groups, unless several products take turns: each has a ring of its own, whose slot is filled while the others
   multiply. Why it is right for products by mma.sync: such a product is complete when it has been executed, and the
   slot is released behind it. */
static bool suits_groups(const cg_splitting *x, const ct_op *loop, const cg_ring *ring)
{
    if (ring->parts || !ring->slots)
        return false;
    if (ring->async)
        return ring->slots > 1 || !cg_only_product(loop->regions[0]);
    return x->c->target->features & CG_HAS_MAPS_FOR_MMA && are_by_mma(x, loop);
}

/* Do threads read slots of their own for a product of a chain that begins with bytes? Producers have no slots for tiles
   that threads convert, which would come when they are needed. */
static bool has_others(const ct_op *loop, const cg_plan *plan)
{
    bool by_bytes = false;
    if (!plan || !plan->beside)
        return false;
    for (const ct_op *op = loop->regions[0]->first; op; op = op->next)
        by_bytes = by_bytes || (cg_is_product(op) && op->way == CT_DIRECT && cg_has_chain(loop->regions[0]));
    return by_bytes;
}

/* Alternative loops without rings need several resident blocks, so that others compute while one waits; groups would
   prevent that. If the loop is inside another one, groups gain more, because their copies continue past the end of
   the inner loop. */
static bool find_loops(cg_splitting *x)
{
    for (ct_op *op = x->f->body->first; op; op = ct_next_op(op, x->f->body)) {
        const cg_plan *plan = cg_plan_of(op);
        const cg_ring *ring = plan ? plan->ring : NULL;
        if (op->likely || has_others(op, plan))
            return false;
        if (ring && ring->role != CG_RING_OF_THREADS && cg_ring_has_tiles(ring)
            && (!suits_groups(x, op, ring) || !add_rings(x, op)))
            return false;
    }
    if (x->count == 1)
        add_computed(x, &x->places[0]);
    return x->count && are_fed(x) && !is_held_back(x);
}

/* ---- room ---- */

/* Bytes of shared memory for a block if the budget's number of blocks share a multiprocessor: each block needs 1 KiB
   more. */
uint32_t cg_groups_shared(const cg_splitting *x)
{
    return (cg_shared_most(x->c) + CG_SYSTEM_SHARED) / x->budget->blocks - CG_SYSTEM_SHARED;
}

/* The part of that for the rings, beside at most so many bytes for results, which are stored in pieces if they are
   larger. */
static uint32_t room_for_rings(const cg_splitting *x, uint32_t most)
{
    uint32_t results = 0;
    for (uint32_t i = 0; i < x->count; i++) {
        uint32_t bytes = 2u << cg_shape_of(x->places[i].last->results[0].type).tile_bits;
        results = bytes > results ? bytes : results;
    }
    most = most < CG_LEAST_OF_RESULTS ? CG_LEAST_OF_RESULTS : most;
    results = results < CG_LEAST_OF_RESULTS ? CG_LEAST_OF_RESULTS : results > most ? most : results;
    uint32_t least = cg_scratch_least(x->c, x->f->body, NULL);
    return cg_shared_beside(cg_groups_shared(x), least > results ? least : results);
}

/* Bytes behind the slots: the barriers of the largest possible number of slots, and tensor maps. */
static uint32_t bytes_behind(const cg_splitting *x)
{
    uint32_t slots = x->kept_count + x->row_count * CG_RING_SLOTS,
             maps = x->budget->maps ? x->maps->count + 1 /* for their alignment */ : 0;
    for (uint32_t i = 0; i < x->count; i++)
        slots += x->places[i].is_first ? CG_RING_SLOTS : 0;
    bool in_tensor = x->c->target->features & CG_HAS_TCGEN05;
    return slots * CG_RING_BARRIER_BYTES + maps * CG_MAP_BYTES + (in_tensor ? cg_tensor_bytes(x->c) : 0);
}

static void add_slot(cg_ring *ring, uint32_t number, uint32_t room, uint32_t *used)
{
    if (*used + ring->slot_bytes > room)
        return;
    *used += ring->slot_bytes;
    ring->slots = number;
}

/* Adds a slot to each ring in turn, the last ring first, as long as there is room. False: there is too little for
   `least` slots of any ring, or of one whose tiles two products read, keys that are also values: a single slot would be
   filled while neither of them multiplies. */
static bool share_room(const cg_splitting *x, uint32_t room, uint32_t least)
{
    uint32_t used = bytes_behind(x);
    for (uint32_t i = 0; i < x->kept_count; i++)
        used += cg_ring_place_loads(x->kept[i].ring);
    for (uint32_t i = 0; i < x->count; i++)
        used += x->places[i].is_first ? cg_ring_place_loads(x->places[i].ring) : 0;
    for (uint32_t i = 0; i < x->row_count; i++)
        used += cg_ring_place_loads(x->rows[i].ring);
    if (used > room)
        return false;
    for (uint32_t i = 0; i < x->count; i++)
        x->places[i].ring->slots = 1;
    for (uint32_t i = 0; i < x->row_count; i++)
        x->rows[i].ring->slots = 1;
    uint32_t asked = cg_choices_of(x->c)->stages, most = asked && asked < CG_RING_SLOTS ? asked : CG_RING_SLOTS;
    for (uint32_t slots = 2; slots <= most; slots++) {
        for (uint32_t i = x->count; i-- > 0;)
            if (x->places[i].is_first)
                add_slot(x->places[i].ring, slots, room, &used);
        for (uint32_t i = 0; i < x->row_count; i++)
            add_slot(x->rows[i].ring, slots, room, &used);
    }
    bool is_any = false;
    for (uint32_t i = 0; i < x->count; i++) {
        bool has_least = x->places[i].ring->slots >= least;
        if (!has_least && x->places[i].last != x->places[i].product)
            return false;
        is_any = is_any || has_least;
    }
    return is_any;
}

/* Does each ring have at least two slots? */
static bool runs_ahead(const cg_splitting *x)
{
    for (uint32_t i = 0; i < x->count; i++)
        if (x->places[i].ring->slots < 2)
            return false;
    return true;
}

/* The pieces of results, of at most `most` bytes, beside which the single ring of a block that is alone on its
   multiprocessor has the most slots; several blocks have as many together, and beside several rings, pieces leave each
   of these a slot that is filled while another one is read. A piece more costs a block once what a slot more saves in
   each iteration. */
static uint32_t pieces_of_results(const cg_splitting *x, uint32_t most, uint32_t least)
{
    uint32_t best = most, slots = 0;
    for (uint32_t pieces = most; pieces >= CG_LEAST_OF_RESULTS; pieces /= 2) {
        uint32_t own = share_room(x, room_for_rings(x, pieces), least) && runs_ahead(x) ? x->places[0].ring->slots : 0;
        if (own && slots && (x->count > 1 || x->budget->blocks > 1))
            break;
        best = own > slots ? pieces : best;
        slots = own > slots ? own : slots;
    }
    return best;
}

static bool share_beside_results(const cg_splitting *x, uint32_t least)
{
    const uint32_t most = CG_MOST_OF_RESULTS / x->budget->blocks,
                   pieces = x->c->cluster && !x->c->paired ? most : pieces_of_results(x, most, least);
    return share_room(x, room_for_rings(x, pieces), least);
}

/* Can the products be computed that leave roundings to their rings? Some of them may have been planned untransposed,
   with tensor maps that round. */
static bool is_computed(const cg_splitting *x)
{
    for (uint32_t i = 0; i < x->count; i++) {
        const cg_ring_place *place = &x->places[i];
        cg_product p = cg_product_of(x->c, place->product);
        if (cg_has_trait(&p, CG_TRANSPOSES) && !cg_may_turn(x->c, place->product, &p))
            return false;
    }
    return true;
}

/* Have producers fewer registers than the addresses of a tile's pieces take, which a table gives them anew in each
   iteration? Other addresses differ from one that advances by constants. On an H200, two chains of 64x128x128 by a
   table take 0.32 and 0.46 of the time with one block, whose producers hold them. */
static bool addresses_spill(const cg_splitting *x)
{
    enum { REGISTERS_OF_ADDRESS = 2, UNLIMITED = 0 };
    for (uint32_t i = 0; i < x->count && x->budget->producers != UNLIMITED; i++) {
        const cg_ring *ring = x->places[i].ring;
        const bool by_table = cg_plan_of(x->places[i].loop)->ring->slice.source_count;
        for (uint32_t k = 0; by_table && k < ring->load_count; k++) {
            const cg_ring_load *load = &ring->loads[k];
            uint32_t pieces = 1u << (cg_shape_of(load->op->results[0].type).tile_bits - load->vector_bits);
            if (REGISTERS_OF_ADDRESS * (pieces / CG_PRODUCER_THREADS) > x->budget->producers)
                return true;
        }
    }
    return false;
}

/* A way to share a multiprocessor. */
typedef struct way {
    uint32_t blocks;  /* at most */
    bool keeps;       /* operands and rows in shared memory */
    bool takes_turns; /* with one block, the rings of several products may have one slot each */
} way;

/* Is there room in this way, with or without tensor maps? */
static bool is_room(cg_splitting *x, const way *w, bool maps)
{
    cg_groups_round(x, maps);
    x->work = work_of(x);
    x->work.maps = maps;
    x->budget = cg_group_budget_of(&x->work, w->blocks);
    x->kept_count = x->row_count = 0;
    if (!x->budget || x->budget->maps != maps || !is_computed(x)
        || (!maps && (cg_has_short_steps(x) || addresses_spill(x))))
        return false;
    if (w->takes_turns && (x->budget->blocks > 1 || x->count < 2))
        return false;
    if (w->keeps) {
        find_kept(x);
        cg_groups_find_rows(x);
    }
    return !(maps && (x->why = cg_maps_obstacle(x))) && share_beside_results(x, w->takes_turns ? 1 : x->budget->slots);
}

/* For a product that leaves roundings to copies, tensor maps are preferred, even with one block per multiprocessor:
   without them, threads would round the tiles. */
static bool find(cg_splitting *x)
{
    static const way ways[] = {{UINT32_MAX, true, false}, {UINT32_MAX, true, true}, {UINT32_MAX, false, false},
                               {UINT32_MAX, false, true}, {1, true, false},         {1, true, true},
                               {1, false, false},         {1, false, true}};
    const uint32_t count = sizeof ways / sizeof *ways;
    if (cg_choices_of(x->c)->groups == CG_NEVER || !find_loops(x))
        return false;
    const char *waste = cg_maps_waste(x);
    bool maps_first = cg_leaves_roundings(x->places[0].product);
    x->why = waste                      ? waste
             : x->places[0].ring->async ? "such products are faster without them"
                                        : "there is too little shared memory";
    for (uint32_t i = 0; i < 2 * count; i++) {
        const way *w = &ways[maps_first ? i % count : i / 2];
        bool maps = maps_first ? i < count : i % 2 == 0;
        if (!(maps && waste) && is_room(x, w, maps) && !(maps && (x->why = cg_maps_waste_slots(x)))) {
            x->why = maps ? NULL : x->why ? x->why : "there is too little shared memory";
            return true;
        }
    }
    if (!x->why && !x->places[0].ring->async)
        x->why = "there is too little shared memory";
    return false;
}

/* Does the op prevent a loop over tile blocks? */
static bool keeps_it(const ct_op *op)
{
    return op->opcode == OP_gdc_wait_tko || op->opcode == OP_gdc_launch_dependents_tko;
}

/* Does a loop of the kernel itself take tile blocks in turn? It asks for their number, and writes results in a loop; a
   kernel that only divides K by that number writes behind its loop. */
static bool takes_turns(const ct_func *f)
{
    bool asks = false, writes = false;
    for (const ct_op *op = f->body->first; op; op = ct_next_op(op, f->body)) {
        asks = asks || op->opcode == OP_get_num_tile_blocks;
        writes = writes || (ct_info(op)->effects & BC_WRITES && ct_loop_around(op));
    }
    return asks && writes;
}

bool cg_may_persist(const cg_splitting *x)
{
    if (!cg_may_take_over(x->c) || (x->c->cluster && !x->c->in_parts) || x->c->block_order != CG_BY_NUMBER
        || !cg_blocks_are_apart(x->f))
        return false;
    for (const ct_op *op = x->f->body->first; op; op = ct_next_op(op, x->f->body))
        if (keeps_it(op))
            return false;
    return !takes_turns(x->f) && !cg_tensors_differ(x->c);
}

/* Should a second warpgroup compute its part of the left operand while the first one multiplies? It takes the other
   block's place on the multiprocessor, which is worthwhile if the kernel can be persistent. */
static bool wants_second(const cg_splitting *x)
{
    enum { TWO_WARPGROUPS = 2 * CG_WARPGROUP_ROWS };
    const bc_type *sums = x->places[0].product->results[0].type;
    return x->places[0].computes && x->c->warp_bits == CG_WARPGROUP_BITS && cg_may_persist(x)
           && sums->shape[sums->rank - 2] >= TWO_WARPGROUPS && !cg_hint_of(x->c, CG_HINT_WARPS)
           && !cg_choices_of(x->c)->warps;
}

bool cg_groups_find(cg_splitting *x)
{
    const cg_splitting as_given = *x;
    if (!find(x))
        return false;
    if (!wants_second(x))
        return !x->places[0].computes || x->c->warp_bits > CG_WARPGROUP_BITS
               || cg_is_worth_computing(x->c, x->places[0].product, 0, true);
    cg_splitting alone = *x;
    *x = as_given;
    x->c->warp_bits++;
    if (find(x))
        return true;
    x->c->warp_bits--;
    *x = alone;
    return true;
}
