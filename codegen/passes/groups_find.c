/* Decides which kernels are warp-specialised; see codegen/passes/groups.c. Why it is right: producers run ahead of
   consumers, so a kernel is divided only if none of their loads may have to follow a store of the kernel
   (cg_order_holds_back). This is asked before blocks are made persistent for groups; where only a token requires the
   order, is_feasible would find it later. */
#include "codegen/passes/groups_find.h"

#include "codegen/cost/cost.h"
#include "codegen/analysis/order.h"
#include "codegen/analysis/product.h"
#include "codegen/analysis/shared.h"
#include "codegen/analysis/turned.h"
#include "codegen/kernel/limits.h"
#include "codegen/passes/maps.h"
#include "codegen/passes/loads.h"

/* Of two ops of a block. */
static bool is_earlier(const ct_op *op, const ct_op *other)
{
    while (op && op != other)
        op = op->next;
    return op;
}

/* The products that take a tile of the loop's body, also through views of it, in their order: of one both are the same.
   False: there are more, or others take it. */
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
            *(is_earlier(op, *first) ? first : last) = op;
        }
    }
    return tile->uses;
}

/* A ring of an earlier loop that would do, which no place of this loop has taken. */
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

/* Each product of the loop gets a ring for what it takes. */
static bool add_rings(cg_splitting *x, ct_op *loop)
{
    const cg_ring *all = cg_plan_of(loop)->ring;
    uint32_t first = x->count;
    for (uint32_t i = 0; i < all->load_count; i++) {
        ct_op *product = NULL, *last = NULL;
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
            *place->ring = (cg_ring){.async = true, .behind = all->behind, .role = CG_RING_OF_GROUPS};
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

static uint32_t consumer_registers(const cg_splitting *x)
{
    return x->budget->consumers ? x->budget->consumers : CG_THREAD_REGISTERS;
}

/* Registers of a thread for a product: its sums, and what another one hands to it. */
static int registers_of(const ct_op *product, uint32_t threads)
{
    uint32_t sums = (uint32_t)1 << cg_shape_of(product->results[0].type).tile_bits,
             handed = cg_product_before(product) ? (uint32_t)1 << cg_shape_of(product->operands[0]->type).tile_bits : 0;
    return (int)(sums / threads + handed / 2 / threads);
}

/* Registers that a consumer would have left if left operands that are loaded once stayed there as fragments: of what
   its group has, less the accumulators of the loop and what products of it hand to others. */
static int registers_left(const cg_splitting *x, const cg_ring_place *p, const ct_value *operand)
{
    uint32_t threads = cg_threads(x->c);
    int left = (int)consumer_registers(x) - (int)(((uint32_t)1 << cg_shape_of(operand->type).tile_bits) / 2 / threads);
    for (uint32_t i = 0; i < x->count; i++) {
        const cg_ring_place *place = &x->places[i];
        if (place->loop != p->loop)
            continue;
        left -= registers_of(place->product, threads);
        left -= place->last != place->product ? registers_of(place->last, threads) : 0;
    }
    return left;
}

/* The products' operand i, when it is better kept in shared memory than in registers. */
static void keep_operand(cg_splitting *x, const cg_ring_place *p, uint32_t i)
{
    ct_op *load = cg_source_of(p->product->operands[i])->op;
    cg_kept_load *kept = &x->kept[x->kept_count];
    if (!load || load->opcode != OP_load_view_tko || ct_is_inside(load->block, p->loop->regions[0])
        || x->kept_count == CG_MOST_KEPT
        || registers_left(x, p, p->product->operands[i]) >= cg_machine_of(x->c->target)->registers_loop)
        return;
    for (uint32_t k = 0; k < x->kept_count; k++)
        if (x->kept[k].load == load)
            return;
    cg_ring *ring = bc_new(&x->c->arena, cg_ring, 1);
    if (!ring || cg_load_obstacle(x->c, load, NULL, &ring->loads[0]) || cg_order_holds_back(x->c, x->f->body, load))
        return;
    ring->load_count = ring->slots = 1;
    ring->async = true;
    ring->role = CG_RING_OF_GROUPS;
    *kept = (cg_kept_load){.ring = ring, .load = load};
    x->kept_count++;
}

static void find_kept(cg_splitting *x)
{
    for (uint32_t i = 0; i < x->count; i++)
        keep_operand(x, &x->places[i], 0);
}

/* Does the product find both operands without the threads' help in each iteration? */
static bool finds_operands(const cg_ring_place *p, const ct_op *product)
{
    const ct_value *left = cg_source_of(product->operands[0]), *right = cg_source_of(product->operands[1]);
    bool has_left = false, has_right = false;
    for (uint32_t i = 0; i < p->ring->load_count; i++) {
        has_left = has_left || left == &p->loads[i]->results[0];
        has_right = has_right || right == &p->loads[i]->results[0];
    }
    return has_right && (has_left || cg_product_before(product) || left->block != p->loop->regions[0]);
}

static bool is_fed(const cg_ring_place *p)
{
    return finds_operands(p, p->product) && finds_operands(p, p->last);
}

/* Would a producer read too early what the block, or another one that it waits for, has yet to write? */
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
        if (!is_fed(&x->places[i]) || (x->places[i].product->way == CT_TURNED) != (way == CT_TURNED))
            return false;
    return true;
}

void cg_groups_round(const cg_splitting *x, bool maps)
{
    for (uint32_t i = 0; i < x->count; i++)
        cg_set_roundings(x->c, x->places[i].product, x->places[i].ring, maps);
}

static cg_group_work work_of(const cg_splitting *x)
{
    const bc_type *first = x->places[0].product->results[0].type;
    bool is_chain = x->count > 1 || x->places[0].last != x->places[0].product;
    cg_group_work work = {.consumers = cg_threads(x->c),
                          .kind = cg_ring_puts(x->places[0].ring)          ? CG_PUT
                                  : x->places[0].product->way == CT_TURNED ? CG_TURNED
                                  : is_chain                               ? CG_CHAIN
                                                                           : CG_ONE,
                          .rows = first->shape[first->rank - 2],
                          .is_persistent = cg_is_persistent(x, &x->places[0])};
    for (uint32_t i = 0; i < x->count; i++) {
        const bc_type *type = x->places[i].last->results[0].type;
        work.columns = type->shape[type->rank - 1] > work.columns ? type->shape[type->rank - 1] : work.columns;
    }
    return work;
}

/* Loops that may run instead of those with rings, and have none, need what groups would take: other blocks that compute
   while one waits. In another loop, rings of groups gain more, as they run on where the inner loop ends. */
static bool find_loops(cg_splitting *x)
{
    for (ct_op *op = x->f->body->first; op; op = ct_next_op(op, x->f->body)) {
        const cg_plan *plan = cg_plan_of(op);
        const cg_ring *ring = plan ? plan->ring : NULL;
        if (op->likely)
            return false;
        if (ring && ring->role != CG_RING_OF_THREADS
            && (!ring->async || ring->slots < 2 || ring->parts || !add_rings(x, op)))
            return false;
    }
    return x->count && are_fed(x) && !is_held_back(x);
}

/* ---- room ---- */

/* Bytes of shared memory of a block when so many share a multiprocessor: each needs 1 KiB besides. */
uint32_t cg_groups_shared(const cg_splitting *x)
{
    return (cg_static_shared(x->c->target) + CG_SYSTEM_SHARED) / x->budget->blocks - CG_SYSTEM_SHARED;
}

/* Bytes of shared memory in which results are on their way to memory, in pieces if they are longer. */
/* Of that, for the rings, beside so many bytes of results at most. */
static uint32_t room_for_rings(const cg_splitting *x, uint32_t most)
{
    uint32_t results = 0;
    for (uint32_t i = 0; i < x->count; i++) {
        uint32_t bytes = 2u << cg_shape_of(x->places[i].last->results[0].type).tile_bits;
        results = bytes > results ? bytes : results;
    }
    most = most < CG_LEAST_OF_RESULTS ? CG_LEAST_OF_RESULTS : most;
    results = results < CG_LEAST_OF_RESULTS ? CG_LEAST_OF_RESULTS : results > most ? most : results;
    uint32_t least = cg_scratch_least(x->c, x->f->body, NULL), all = cg_groups_shared(x);
    least = least > results ? least : results;
    return least < all ? all - least : 0;
}

/* What lies behind the slots: barriers of the most that there can be, and tensor maps. */
static uint32_t bytes_behind(const cg_splitting *x)
{
    uint32_t slots = x->kept_count, maps = x->budget->maps ? x->maps->count + 1 /* for their alignment */ : 0;
    for (uint32_t i = 0; i < x->count; i++)
        slots += x->places[i].is_first ? CG_RING_SLOTS : 0;
    return slots * CG_RING_BARRIER_BYTES + maps * CG_MAP_BYTES;
}

/* Slots for each ring, one more for each in turn, the last first, as long as there is room. False: too little. */
static bool share_room(const cg_splitting *x, uint32_t room)
{
    uint32_t used = bytes_behind(x);
    for (uint32_t i = 0; i < x->kept_count; i++)
        used += cg_ring_place_loads(x->kept[i].ring);
    for (uint32_t i = 0; i < x->count; i++)
        used += x->places[i].is_first ? cg_ring_place_loads(x->places[i].ring) : 0;
    if (used > room)
        return false;
    for (uint32_t i = 0; i < x->count; i++)
        x->places[i].ring->slots = 1;
    uint32_t asked = cg_choices_of(x->c)->stages, most = asked && asked < CG_RING_SLOTS ? asked : CG_RING_SLOTS;
    for (uint32_t slots = 2; slots <= most; slots++)
        for (uint32_t i = x->count; i-- > 0;)
            if (x->places[i].is_first && used + x->places[i].ring->slot_bytes <= room) {
                used += x->places[i].ring->slot_bytes;
                x->places[i].ring->slots = slots;
            }
    for (uint32_t i = 0; i < x->count; i++)
        if (x->places[i].ring->slots >= x->budget->slots)
            return true;
    return false;
}

/* Has each ring two slots? */
static bool runs_ahead(const cg_splitting *x)
{
    for (uint32_t i = 0; i < x->count; i++)
        if (x->places[i].ring->slots < 2)
            return false;
    return true;
}

/* Where a ring would have one slot, which nobody fills while it is read, results go out in smaller pieces, if that
   brings another one. */
static bool choose_slots(const cg_splitting *x)
{
    uint32_t most = CG_MOST_OF_RESULTS / x->budget->blocks;
    for (uint32_t pieces = most; pieces >= CG_LEAST_OF_RESULTS; pieces /= 2)
        if (share_room(x, room_for_rings(x, pieces)) && runs_ahead(x))
            return true;
    return share_room(x, room_for_rings(x, most));
}

/* Can wgmma compute what is turned? It may have been meant to be as it is, with tensor maps that round. */
static bool is_computed(const cg_splitting *x)
{
    for (uint32_t i = 0; i < x->count; i++) {
        cg_product p = cg_product_of(x->c, x->places[i].product);
        if (p.instruction == CG_BY_TURNED_WGMMA && !cg_may_turn(x->c, x->places[i].product, &p))
            return false;
    }
    return true;
}

/* Is there room with at most so many blocks of a multiprocessor, with operands kept in shared memory or not, and with
   tensor maps or not? */
static bool is_room(cg_splitting *x, uint32_t most_blocks, bool keeps, bool maps)
{
    cg_groups_round(x, maps);
    cg_group_work work = work_of(x);
    work.maps = maps;
    x->budget = cg_group_budget_of(&work, most_blocks);
    x->kept_count = 0;
    if (!x->budget || x->budget->maps != maps || !is_computed(x) || (!maps && cg_has_short_steps(x)))
        return false;
    if (keeps)
        find_kept(x);
    return !(maps && (x->why = cg_maps_obstacle(x))) && choose_slots(x);
}

/* Of a turned product tensor maps come first, if need be with one block: without them threads would round tiles. */
bool cg_groups_find(cg_splitting *x)
{
    static const struct way {
        uint32_t blocks;
        bool keeps;
    } ways[] = {{UINT32_MAX, true}, {UINT32_MAX, false}, {1, true}, {1, false}};
    const uint32_t count = sizeof ways / sizeof *ways;
    if (cg_choices_of(x->c)->groups == CG_NEVER || !find_loops(x))
        return false;
    const char *waste = cg_maps_waste(x);
    bool maps_first = x->places[0].product->way == CT_TURNED;
    x->why = waste ? waste : "such products are faster without them";
    for (uint32_t i = 0; i < 2 * count; i++) {
        const struct way *way = &ways[maps_first ? i % count : i / 2];
        bool maps = maps_first ? i < count : i % 2 == 0;
        if (!(maps && waste) && is_room(x, way->blocks, way->keeps, maps)
            && !(maps && (x->why = cg_maps_waste_slots(x)))) {
            x->why = maps ? NULL : x->why ? x->why : "there is too little shared memory";
            return true;
        }
    }
    return false;
}
