/* The loads pass chooses the loads of a loop that are prefetched in earlier iterations (software pipelining), and how.
   Loads that only products read are copied by `cp.async` into a ring of stages in shared memory. They must be weak,
   read a view from outside the loop or pointers, have an index computed only from the induction variable, outer values
   and loads that can be started earlier (codegen/rewrite/slice.c), be contiguous in pieces of at least 4 bytes
   (usually 16 if they go through pointers), and read memory that the loop does not write.

   Products by mma.sync read f32 there and round it to tf32, or take fragments that threads compute from such tiles
   (codegen/plan/fragments.c). Where stages of whole tiles are too large, a stage holds a K slice. Another tile that is
   converted, unpacked or scaled on its way to a product uses a second ring if each thread has at least 16 bytes of the
   tile, or whole words of bytes. Each thread reads its own copies from that ring, as in kernels without products
   (codegen/plan/streams.c). Small tiles, such as rows of scales, lie in the ring of the products, where threads read
   them (codegen/plan/rows.c). Loads into registers are chosen in codegen/plan/early_find.c, loops that are unrolled in
   codegen/plan/unroll.c. The plan, which holds the rings, becomes the loop's detail; the groups pass or the expand pass
   carries it out. Every load of a loop gets a remark. The rules are in docs/internals/codegen/pipelining.md.

   Why it is right: codegen/analysis/order.h shows that no access of the loop that could touch the same memory comes
   between the copy and the place where the load stood. */
#include <string.h>

#include "codegen/analysis/order.h"
#include "codegen/analysis/shared.h"
#include "codegen/analysis/tensor.h"
#include "codegen/analysis/turned.h"
#include "codegen/kernel/limits.h"
#include "codegen/kernel/remarks.h"
#include "codegen/plan/again.h"
#include "codegen/plan/budget.h"
#include "codegen/passes/loads.h"
#include "codegen/passes/pass.h"

/* A loop that the pass is examining. */
typedef struct candidate {
    cg_func *c;
    ct_op *loop;
    ct_block *body;
    cg_ring *ring;
    cg_ring *own;          /* for loads that products cannot read unchanged */
    const cg_plan *before; /* of an earlier visit, which has told of all other loads; NULL: this is the first one */
} candidate;

/* ---- which loads ---- */

/* For slots from which products read. */
static cg_condition *const of_products[] = {cg_in_each_iteration,   cg_is_movable,      cg_fits_products,
                                            cg_is_known_by_counter, cg_precedes_writes, NULL};

/* Does each thread have 16 contiguous bytes of the tile? Smaller tiles are loaded into registers, because they need
   few of them; copies of shorter pieces cost more in instructions than they save in time. */
static bool is_wide(const cg_ring_load *load, uint32_t bytes_of_thread)
{
    return bytes_of_thread >= 16 && load->vector_bits == cg_chunk_bits(load->op->results[0].type);
}

/* Would registers hold several elements of the tile in a word? Such tiles are not prefetched into registers
   (codegen/plan/early_find.c). Each copy has at least a word. */
static bool is_in_words(const cg_ring_load *load, uint32_t bytes_of_thread)
{
    uint32_t bytes = cg_memory_bytes(bc_elem_kind(load->op->results[0].type));
    return bytes == 1 && bytes_of_thread >= CG_COPY_BYTES && bytes << load->vector_bits >= CG_COPY_BYTES;
}

/* Products without an instruction leave no registers for tiles that threads read. */
static const char *has_registers(cg_query *q)
{
    bool has = !q->load->detail && !cg_has_blocked(q->c, q->body);
    return has ? NULL : "it has been planned otherwise, or products leave no registers for it";
}

static const char *is_worth_a_slot(cg_query *q)
{
    const bc_type *type = q->out->op->results[0].type;
    uint32_t bytes = (cg_memory_bytes(bc_elem_kind(type)) << cg_shape_of(type).tile_bits) / cg_threads(q->c);
    return is_wide(q->out, bytes) || is_in_words(q->out, bytes) ? NULL : "each thread has too little of it";
}

/* For slots from which each thread reads its own copies, in loops with products. */
static cg_condition *const of_threads[] = {has_registers, cg_stream_obstacle, is_worth_a_slot, NULL};

/* For slots from which threads read small tiles. */
static cg_condition *const of_rows[] = {has_registers,      cg_in_each_iteration,   cg_is_movable, cg_is_small_tile,
                                        cg_precedes_writes, cg_is_known_by_counter, NULL};

/* For slots from which threads read what they compute fragments from. */
static cg_condition *const of_fragments[] = {cg_in_each_iteration, cg_is_movable, cg_fits_fragments,
                                             cg_is_known_by_counter, NULL};

/* Examines a load. Returns whether products read it from a slot, or it provides the address of such a load; if no slot
   can have it, all->of[i].why says why. */
static bool find_load(const candidate *p, cg_listed_load *load, bool tell)
{
    cg_query to_ring = {.c = p->c, .loop = p->loop, .body = p->body, .ring = p->ring}, to_own = to_ring;
    to_own.ring = p->own;
    load->why = NULL;
    if (cg_is_source_of(p->ring, load->op) || cg_is_source_of(p->own, load->op)) {
        if (tell)
            cg_plan_source(p->c, p->loop, load->op, true);
        return true;
    }
    const char *why = cg_obstacle_to_ring(&to_ring, of_products, load->op);
    if (why && !cg_obstacle_to_ring(&to_ring, of_fragments, load->op))
        why = NULL;
    if (why && cg_obstacle_to_ring(&to_own, of_threads, load->op))
        load->why = why;
    return !why;
}

/* Finds the small tiles among the loads that have no slot so far. */
static void find_rows(const candidate *p, cg_listed_load *loads, uint32_t count)
{
    cg_query q = {.c = p->c, .loop = p->loop, .body = p->body, .ring = p->ring};
    for (uint32_t i = 0; i < count; i++)
        if (loads[i].why && !cg_obstacle_to_ring(&q, of_rows, loads[i].op))
            loads[i].why = NULL;
}

/* Has an earlier visit told of the load, because its plan has no slot for it? */
static bool is_told(const candidate *p, const ct_op *load)
{
    const cg_ring *const rings[] = {p->before ? p->before->ring : NULL, p->before ? p->before->beside : NULL};
    bool has_slot = !p->before;
    for (size_t r = 0; r < TV_COUNT(rings); r++)
        for (uint32_t i = 0; rings[r] && i < rings[r]->load_count; i++)
            has_slot = has_slot || rings[r]->loads[i].op == load;
    return !has_slot;
}

/* Examines all loads of the loop; true: some of them are not prefetched to slots from which products read them. */
static bool find_loads(candidate *p, bool tell)
{
    cg_load_list all = cg_loads_of(p->c, p->loop);
    bool others = false;
    p->ring->load_count = p->own->load_count = 0;
    for (uint32_t i = 0; i < all.others; i++)
        others = !find_load(p, &all.of[i], tell) || others;
    find_rows(p, all.of, all.others);
    cg_ring_find_slice(p->c, p->ring, p->body);
    cg_ring_find_slice(p->c, p->own, p->body);
    for (uint32_t i = all.others; i < all.count; i++)
        others = !find_load(p, &all.of[i], tell) || others;
    find_rows(p, all.of + all.others, all.count - all.others);
    for (uint32_t i = 0; tell && i < all.count; i++)
        if (is_told(p, all.of[i].op))
            all.of[i].why = NULL;
    if (tell)
        cg_plan_listed(p->c, p->loop, &all);
    return others;
}

/* ---- products of bytes and tf32 ---- */

/* Are both operands prefetched, and can an asynchronous instruction read A, and B unless the product is transposed, in
   the resulting encoding? */
static bool is_fed(candidate *p, const ct_op *op, const cg_product *product)
{
    find_loads(p, false);
    const cg_ring_load *left = cg_ring_load_for(p->ring, op->operands[0]),
                       *right = cg_ring_load_for(p->ring, op->operands[1]);
    if (!left || !right || !cg_async_reads(product, true, false, &left->encoding))
        return false;
    bool one_step = product->k == product->atom.k_bits, bytes = product->atom.element_bits == 2,
         transposes = cg_is_transposed(left);
    if (op->way == CT_TURNED
        && ((one_step && (bytes || !transposes)) || (bytes && transposes && op->opcode == OP_mmai)))
        return false; /* no product is in flight, or producers transpose: `mma.sync`, which can read both, is faster */
    return op->way == CT_TURNED ? cg_may_turn(p->c, op, product) || right->feed == CG_FEED_SECONDS
                                : cg_async_reads(product, false, false, &right->encoding);
}

/* May consumers compute the left operand in the loop, because an asynchronous instruction can read the other one from
   the ring: 8-bit floats as they are, tf32 once copies or producers have rounded it? The groups pass decides
   (codegen/groups/computes.c); without groups, threads store the left operand to scratch. */
static bool is_fed_by_consumers(candidate *p, const ct_op *op, const cg_product *product)
{
    find_loads(p, false);
    const ct_op *left = cg_source_of(op->operands[0])->op;
    const cg_ring_load *right = cg_ring_load_for(p->ring, op->operands[1]);
    const bool are_bytes = product->atom.element_bits == 2 && op->opcode == OP_mmaf;
    return (are_bytes || cg_leaves_roundings(op)) && cg_async_fits(product) && left && left->block == p->body && right
           && cg_async_reads(product, false, false, &right->encoding);
}

/* Has wgmma multiply the bytes of products that begin chains. It reads them in the ring, or threads store them to
   scratch in rows along K (codegen/passes/widen.c). */
static void choose_first_of_chains(const candidate *p)
{
    for (ct_op *op = p->body->first; op; op = op->next) {
        if (!cg_multiplies_bytes(op))
            continue;
        const cg_product product = cg_product_of(p->c, op);
        op->way = product.chained && cg_async_takes(p->c, op, &product) ? CT_DIRECT : op->way;
        if (op->way == CT_DIRECT && !cg_mma_is_async(p->c, op))
            op->way = CT_AS_IT_IS;
    }
}

/* Finds out whether an asynchronous instruction can compute the only product of the body, if its elements are 8-bit or
   tf32: directly, or transposed if N is contiguous in B or elements still have to be rounded. A product that cannot be
   transposed is marked as transposed, too, if that can compute it directly once tensor maps have rounded its operands
   (codegen/rewrite/turn.c). */
static void choose_async(candidate *p)
{
    ct_op *found = cg_only_product(p->body);
    if (!found) {
        choose_first_of_chains(p);
        return;
    }
    cg_product product = cg_product_of(p->c, found);
    if (!cg_async_takes(p->c, found, &product))
        return;
    found->way = CT_DIRECT;
    if (cg_mma_is_async(p->c, found) && is_fed(p, found, &product))
        return;
    bool may_turn = cg_may_turn(p->c, found, &product) || cg_async_fits(&product);
    cg_set_way(found, CT_TURNED);
    if (may_turn && is_fed(p, found, &product))
        return;
    cg_set_way(found, CT_DIRECT);
    if (!is_fed_by_consumers(p, found, &product))
        cg_set_way(found, CT_AS_IT_IS);
}

/* Has products by `mma.sync` make their fragments from the ring, as far as it can have what these are made from. */
static void choose_fragments(candidate *p)
{
    bool again = cg_begin_fragments(p->c, p->body);
    while (again) {
        find_loads(p, false);
        again = cg_drop_fragments(p->body, p->ring, p->own);
    }
}

/* ---- loops ---- */

/* The first asynchronous product of the body; NULL: none. */
static ct_op *first_async(cg_func *c, const ct_block *body)
{
    for (ct_op *op = body->first; op; op = op->next)
        if (cg_mma_is_async(c, op))
            return op;
    return NULL;
}

/* ---- tiles in parts ---- */

/* The only product of the body, if every iteration executes it and it multiplies all loads of the ring; otherwise
   NULL. */
static ct_op *product_of_all(const candidate *k)
{
    bool all = !k->ring->async && cg_is_straight(k->body) && k->ring->load_count == 2;
    ct_op *product = all ? cg_only_product(k->body) : NULL;
    return product && !product->falling ? product : NULL;
}

/* Splits the load into 2^parts K slices along the upper bits of K; K begins at bit `low` of the operand's index.
   False: the threads would not have whole vectors of a slice. */
static bool cut_load(const cg_func *c, cg_ring_load *load, const ct_value *operand, uint32_t low, uint32_t parts)
{
    const bc_type *type = load->op->results[0].type;
    cg_shape s = cg_shape_of(type);
    uint32_t bytes = cg_memory_bytes(bc_elem_kind(type)), vector = cg_chunk_bits(type), left_out = 0, count = 0;
    cg_layout k = {.tile_bits = s.tile_bits, .reg_bits = (uint8_t)parts};
    uint8_t order[CG_MAX_TILE_BITS];
    for (uint32_t i = 0; i < parts; i++)
        k.reg[i] = (uint32_t)1 << (low + i);
    k = cg_source_layout(operand, &k);
    for (uint32_t i = 0; i < parts; i++)
        left_out |= load->part_bit[i] = k.reg[i];
    for (uint32_t part = 0; part < 3; part++) /* the contiguous dimension, the others, the bits that number the
                                                 slices */
        for (uint32_t b = 0; b < s.tile_bits; b++) {
            uint32_t bit = (uint32_t)1 << b;
            if (part == (left_out & bit ? 2u : cg_dim_mask(&s, load->fast) & bit ? 0u : 1u))
                order[count++] = (uint8_t)b;
        }
    if (s.tile_bits < parts + vector + CG_LANE_BITS + c->warp_bits)
        return false;
    load->layout = cg_layout_ordered(order, s.tile_bits, vector, c->warp_bits);
    load->encoding = cg_encoding_for(&s, load->fast, bytes, load->feed, left_out | cg_half_bit(&s, load->fast, type));
    return true;
}

/* Splits both loads into 2^parts slices of the product's K, which has `k` bits. */
static bool cut_loads(const candidate *p, ct_op *product, uint32_t k, uint32_t parts)
{
    for (uint32_t i = 0; i < 2; i++) {
        const ct_value *operand = product->operands[i], *tile = cg_source_of(operand);
        uint32_t low = k - parts + (i ? cg_shape_of(operand->type).bits[operand->type->rank - 1] : 0);
        cg_ring_load *load = &p->ring->loads[p->ring->loads[0].op != tile->op];
        if (load->op != tile->op || !cut_load(p->c, load, operand, low, parts))
            return false;
    }
    return true;
}

/* If three stages of whole tiles do not fit, splits the tiles into as few K slices as fit. This applies to loops
   that do nothing but the product. */
static void take_parts(const candidate *p)
{
    cg_ring *ring = p->ring;
    ct_op *product = product_of_all(p);
    uint32_t all = cg_shared_most(p->c);
    if (!product || 3 * ring->slot_bytes <= all)
        return;
    uint32_t least = cg_scratch_least(p->c, p->body, ring);
    all = least < all ? all - least : 0;
    cg_ring_load whole[2] = {ring->loads[0], ring->loads[1]};
    uint32_t k, most = cg_mma_part_bits(p->c, product, &k);
    ring->product = product;
    for (ring->parts = 1; ring->parts <= most && ring->parts <= CG_RING_PART_BITS; ring->parts++)
        if (cut_loads(p, product, k, ring->parts) && 3 * cg_ring_place_loads(ring) <= all)
            return;
    ring->parts = 0;
    memcpy(ring->loads, whole, sizeof whole);
    cg_ring_place_loads(ring);
}

/* ---- how many slots ---- */

static void plan_early(const candidate *p, const cg_ring *ring)
{
    for (uint32_t i = 0; i < ring->load_count; i++)
        cg_plan_early(p->c, p->loop, ring->loads[i].op, "its loop is not pipelined", true);
}

static void drop_own(const candidate *p)
{
    plan_early(p, p->own);
    p->own->load_count = p->own->slot_bytes = 0;
}

/* If two stages do not fit, one slot is used, which is filled while no thread reads it. The wait is as long as for
   loads that are not prefetched, but needs no registers, and products read their operands where the copies put them.
   This is not done if registers can hold the tiles one iteration ahead, or if other loads would start only after
   that wait. */
static bool takes_one_slot(const candidate *p, uint32_t room, bool others)
{
    uint32_t registers = 0;
    for (uint32_t i = 0; i < p->ring->load_count; i++)
        registers += cg_words_of_thread(p->c, p->ring->loads[i].op->results[0].type);
    return p->ring->load_count && !p->ring->parts && !others && p->ring->slot_bytes <= room
           && registers > cg_early_row_of(CG_EARLY_NO_ROOM)->most;
}

static const char no_room[] = "its loop has too little shared memory for it";

static cg_slot_budget budget_of(const candidate *p, cg_slot_work *work)
{
    work->slot_bytes = p->ring->slot_bytes + p->own->slot_bytes;
    return p->own->load_count ? cg_budget_with_own(p->c, p->body, p->ring, p->own, work)
                              : cg_budget_of_products(p->c, p->body, p->ring, work);
}

/* The number of slots, which are not to become fewer for small tiles beside others. */
static cg_slot_budget budget_beside_rows(const candidate *p, cg_slot_work *work)
{
    cg_slot_budget budget = budget_of(p, work);
    const bool are_beside = cg_ring_has_rows(p->ring) && (cg_ring_has_tiles(p->ring) || p->own->load_count);
    if (!are_beside || budget.slots >= CG_SLOTS_IN_FLIGHT)
        return budget;
    cg_drop_rows(p->c, p->loop, p->ring, no_room);
    return budget_of(p, work);
}

/* Do threads read all that is prefetched for a chain of products, has a block room for a single slot, and is it to be
   refilled? Each thread then starts its copies of the next iteration once it has this one's tiles in registers. Why it
   is right: a thread reads only what it has copied itself, and reads it first. */
static bool refills_own(const candidate *p)
{
    return p->own->slots == 1 && p->own->load_count && !p->ring->load_count
           && cg_choices_of(p->c)->refill == CG_IF_LEGAL && cg_has_chain(p->body);
}

/* False: too little shared memory, or none for this loop. others: the body has loads that are not prefetched. */
static bool choose_block_slots(const candidate *p, bool others, bool is_inner)
{
    cg_func *c = p->c;
    cg_ring *ring = p->ring;
    uint32_t room = cg_shared_for_ring(c, p->body, ring, ring->parts && !others ? 0 : cg_shared_for_the_rest(c));
    cg_slot_work work = {.kind = cg_kind_of_products(c, p->body),
                         .iterations = UINT32_MAX,
                         .fits = room,
                         .may_refill = !is_inner && takes_one_slot(p, room, others)};
    cg_slot_budget budget = budget_beside_rows(p, &work);
    if (budget.slots < 2 && ring->load_count && p->own->load_count) {
        drop_own(p);
        budget = budget_of(p, &work);
    }
    ring->slots = p->own->slots = budget.slots;
    ring->why = p->own->why = budget.why;
    if (p->loop->plain && ring->slots < 2)
        return false;
    if (!is_inner && ring->slots < 2 && takes_one_slot(p, room, others)) {
        drop_own(p);
        ring->slots = 1;
        ring->behind = NULL;
        ring->why = budget.refills                  ? budget.why
                    : cg_choices_of(c)->stages == 1 ? "the plan has one stage"
                                                    : "two do not fit";
        return true;
    }
    if (!is_inner && refills_own(p)) {
        p->own->end = CG_FREE_ONCE_READ;
        p->own->why = "two do not fit, and each thread refills the only one once it has read its tiles";
        return true;
    }
    if (is_inner || ring->slots < 2) {
        cg_remark_few_slots(c, p->loop, is_inner ? "an enclosing loop is pipelined" : NULL, work.slot_bytes, room);
        plan_early(p, ring);
        drop_own(p);
        return false;
    }
    return true;
}

/* ---- the pass ---- */

/* The copies of both rings for an iteration are awaited together, so both rings have the same number of slots. */
static void set_rings(const candidate *p)
{
    cg_ring *ring = p->ring, *own = p->own;
    cg_plan *plan = p->loop->detail = bc_new(&p->c->arena, cg_plan, 1);
    if (!plan)
        return;
    plan->ring = ring->load_count ? ring : own;
    if (!own->load_count)
        return;
    cg_ring_share_threads(own);
    own->offset = ring->slots * ring->slot_bytes;
    own->last = true;
    plan->beside = ring->load_count ? own : NULL;
}

/* Does the only product of the loop read all that the loop loads from the ring, as tiles of views? */
static bool comes_whole(candidate *p)
{
    bool whole = cg_only_product(p->body) && !find_loads(p, false) && p->ring->load_count && !p->own->load_count;
    for (uint32_t i = 0; i < p->ring->load_count; i++)
        whole = whole && p->ring->loads[i].op->opcode == OP_load_view_tko;
    return whole;
}

static void leave_plain(const candidate *p)
{
    ct_op *product = cg_only_product(p->body);
    if (product)
        cg_set_way(product, CT_AS_IT_IS);
    cg_end_fragments(p->body, false);
}

/* A plain loop that is as likely to run as another version runs ahead only if its product reads all tiles from a ring:
   its slots take the place of the other version's, which are there anyway. Where threads load some of the tiles in the
   iteration that needs them, or copies are awaited in the iteration that starts them, slots save no wait.

   before: the plan of an earlier visit; NULL: this is the first one. */
static void look_at_loop(cg_func *c, ct_op *loop, bool is_inner, const cg_plan *before)
{
    candidate p = {.c = c,
                   .loop = loop,
                   .body = loop->regions[0],
                   .ring = cg_ring_plan(c, CG_RING_OF_BLOCK),
                   .own = cg_ring_plan(c, CG_RING_OF_THREADS),
                   .before = before};
    if (!p.ring || !p.own)
        return;
    if (!before)
        choose_async(&p);
    choose_fragments(&p);
    if (loop->plain && !comes_whole(&p)) {
        leave_plain(&p);
        return;
    }
    bool others = find_loads(&p, true);
    ct_op *product = cg_ring_has_tiles(p.ring) ? first_async(c, p.body) : NULL;
    p.ring->async = product;
    p.ring->behind = product && cg_is_straight(p.body) && !cg_cuts_sums(c, product) ? product : NULL;
    cg_ring_place_loads(p.ring);
    if (!cg_rows_suit_ring(c, p.ring))
        cg_drop_rows(c, loop, p.ring, "a ring of small tiles alone is not worth its barrier");
    else if (CG_SLOTS_IN_FLIGHT * p.ring->slot_bytes > cg_shared_most(c))
        cg_drop_rows(c, loop, p.ring, no_room);
    if (!p.ring->load_count && !p.own->load_count) {
        cg_end_fragments(p.body, false);
        return;
    }
    take_parts(&p);
    if (loop->plain && p.ring->parts) {
        leave_plain(&p);
        return;
    }
    if (p.ring->parts)
        drop_own(&p);
    cg_ring_place_loads(p.own);
    bool has_ring = choose_block_slots(&p, others, is_inner);
    if (has_ring)
        set_rings(&p);
    else if (product && cg_only_product(p.body))
        cg_set_way(product, CT_AS_IT_IS);
    cg_end_fragments(p.body, has_ring);
}

/* Visits inner loops first, because their loads are executed most often. */
static void find_streams(cg_func *c, const ct_block *block, bool products)
{
    for (ct_op *op = block->first; op && !c->failed; op = op->next) {
        for (uint32_t r = 0; r < op->region_count; r++)
            if (op->regions[r])
                find_streams(c, op->regions[r], products);
        if (ct_is_loop(op) && !op->plain && !op->unrolled && (op->opcode != OP_for || !cg_product_in(op->regions[0])))
            cg_find_streams(c, op, products);
    }
}

void cg_pass_loads(cg_func *c)
{
    bool products = false;
    cg_find_again(c);
    cg_stow_tiles(c);
    cg_unroll_loops(c);
    for (ct_op *op = c->ir->body->first; op && !c->failed; op = ct_next_op(op, c->ir->body)) {
        products = products || cg_is_product(op);
        if (op->opcode == OP_for && cg_product_in(op->regions[0]) && (!op->plain || op->likely)
            && !cg_has_too_many_loads(c, op))
            look_at_loop(c, op, cg_is_in_plan(op), NULL);
    }
    find_streams(c, c->ir->body, products);
    if (products)
        return;
    cg_place_behind_stowed(c);
    cg_keep_tiles(c);
}

void cg_loads_straight(cg_func *c)
{
    for (ct_op *op = c->ir->body->first; op && !c->failed; op = ct_next_op(op, c->ir->body)) {
        const cg_plan *before = cg_plan_of(op);
        ct_op *product = before ? cg_rounding_product(op->regions[0]) : NULL;
        if (!product)
            continue;
        cg_set_way(product, CT_AS_IT_IS);
        op->detail = NULL;
        look_at_loop(c, op, cg_is_in_plan(op), before);
    }
}

void cg_drop_streams(cg_func *c)
{
    static const char to_others[] = "warps of their own copy for this kernel";
    for (ct_op *op = c->ir->body->first; op && !c->failed; op = ct_next_op(op, c->ir->body)) {
        cg_plan *plan = cg_plan_of(op);
        cg_ring *own = !plan ? NULL : plan->beside ? plan->beside : plan->ring;
        bool of_threads_only = own && own == plan->ring && own->role == CG_RING_OF_THREADS;
        if (own)
            cg_drop_rows(c, op, plan->ring, to_others);
        if (own && (of_threads_only || !plan->ring->load_count))
            op->detail = NULL;
        if (!own || own->role != CG_RING_OF_THREADS)
            continue;
        plan->beside = NULL;
        for (uint32_t i = 0; i < own->load_count; i++)
            if (own->loads[i].op->opcode != CT_staged)
                cg_plan_early(c, op, own->loads[i].op, to_others, false);
    }
}
