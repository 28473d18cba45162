/* Keeps tiles that several loops load, such as a row whose mean, variance and result each have a loop. If the loops
   have the same range, a tile of one has a counterpart in another that is loaded from the same address, and nothing in
   between may write to it, then the copies of the first loop serve all of them. If there are no more iterations than
   slots, which is tested at run time, no slot of its ring is overwritten, and the later loops read their tiles from the
   slots. If there are more iterations, the later loops copy as the first one does.

   This applies only to rings of which each thread reads its own copies (codegen/plan/streams.c), so that no barriers
   are needed. Why it is right: a load that is dropped would have read the same elements, because the block of the loops
   has no write that the load may have to follow (cg_order_holds_back). */
#include "codegen/analysis/order.h"
#include "codegen/analysis/shared.h"
#include "codegen/kernel/limits.h"
#include "codegen/kernel/remarks.h"
#include "codegen/plan/again.h"
#include "codegen/plan/budget.h"
#include "codegen/plan/keep.h"
#include "codegen/plan/loads.h"

enum {
    MOST_LOOKED = 2 * CG_KEPT_LOOPS, /* at, for those */
    FEWEST_KEPT = 2,                 /* tiles */
    NONE = CG_RING_LOADS
};

/* Loops that follow each other in a block, and which of their loads read the same tiles. */
typedef struct chain {
    cg_func *c;
    ct_op *loops[CG_KEPT_LOOPS];
    uint32_t count;
    uint32_t found[CG_KEPT_LOOPS][CG_RING_LOADS]; /* by load of the first loop: the matching load of that loop, or
                                                     NONE */
} chain;

static cg_ring *ring_of(const ct_op *loop)
{
    return cg_plan_of(loop)->ring;
}

/* ---- what is the same ---- */

static bool lie_alike(const cg_ring_load *a, const cg_ring_load *b)
{
    return a->fast == b->fast && a->own_bytes == b->own_bytes && cg_layout_equal(&a->layout, &b->layout);
}

/* ---- which loops and loads ---- */

static bool may_keep(const ct_op *op)
{
    const cg_plan *plan = cg_plan_of(op);
    return plan && plan->ring->role == CG_RING_OF_THREADS && plan->ring->end != CG_FREE_ONCE_READ && !plan->beside
           && !plan->ring->offset; /* behind tiles that are stowed */
}

/* The load of the other loop that reads the same tile as this load of the first loop, among those not yet matched. */
static uint32_t find_load(const chain *x, const cg_ring_load *load, const ct_op *other, const bool *taken)
{
    const cg_ring *ring = ring_of(other);
    uint32_t i = 0;
    while (i < ring->load_count
           && (taken[i] || !lie_alike(load, &ring->loads[i])
               || !cg_load_same(load->op, x->loops[0], ring->loads[i].op, other)))
        i++;
    return i < ring->load_count && !cg_order_holds_back(x->c, other->block, ring->loads[i].op) ? i : NONE;
}

static void add_loop(chain *x, ct_op *loop)
{
    const cg_ring *first = ring_of(x->loops[0]);
    uint32_t *found = x->found[x->count], count = 0;
    bool taken[CG_RING_LOADS] = {0}; /* the first loop may load a tile twice, and this loop only once */
    for (uint32_t i = 0; i < first->load_count; i++) {
        found[i] = find_load(x, &first->loads[i], loop, taken);
        if (found[i] == NONE)
            continue;
        taken[found[i]] = true;
        count++;
    }
    if (count)
        x->loops[x->count++] = loop;
}

static bool has_ring(const ct_op *op)
{
    bool has = cg_plan_of(op);
    for (uint32_t r = 0; r < op->region_count && !has; r++)
        has = op->regions[r] && cg_has_plan(op->regions[r]);
    return has;
}

/* The later loops that load some of this loop's tiles, up to the first loop with another ring, which would overwrite
   the kept tiles. */
static chain chain_of(cg_func *c, ct_op *first)
{
    chain x = {.c = c, .loops = {first}, .count = 1};
    uint32_t looked = 0;
    for (ct_op *op = first->next; op && x.count < CG_KEPT_LOOPS && looked < MOST_LOOKED; op = op->next) {
        uint32_t before = x.count;
        if (may_keep(op) && cg_have_same_range(first, op)) {
            add_loop(&x, op);
            looked++;
        }
        if (x.count == before && has_ring(op))
            break;
    }
    return x;
}

/* Does a later loop load that tile again? */
static bool stays(const chain *x, uint32_t load)
{
    for (uint32_t k = 1; k < x->count; k++)
        if (x->found[k][load] != NONE)
            return true;
    return false;
}

/* ---- rings of their own ---- */

/* The ring with the loads of the first loop whose tiles are kept. */
static cg_ring *new_first(const chain *x)
{
    cg_ring *from = ring_of(x->loops[0]), *ring = bc_new(&x->c->arena, cg_ring, 1);
    if (!ring)
        return NULL;
    *ring = (cg_ring){.slice = from->slice, .role = CG_RING_OF_THREADS, .threads = from->threads};
    for (uint32_t i = 0; i < from->load_count; i++)
        if (stays(x, i))
            ring->loads[ring->load_count++] = from->loads[i];
    cg_ring_place_loads(ring);
    return ring;
}

/* The ring of the tiles that loop k loads again, at the offsets where the first loop has put them. */
static cg_ring *new_again(const chain *x, cg_ring *first, uint32_t k)
{
    cg_ring *from = ring_of(x->loops[k]), *ring = bc_new(&x->c->arena, cg_ring, 1);
    if (!ring)
        return NULL;
    *ring = *first;
    ring->load_count = 0;
    ring->slice = from->slice;
    ring->again = first;
    ring->last = k + 1 == x->count;
    for (uint32_t i = 0, at = 0; i < ring_of(x->loops[0])->load_count; i++) {
        const cg_ring_load *there = stays(x, i) ? &first->loads[at++] : NULL;
        if (!there || x->found[k][i] == NONE)
            continue;
        cg_ring_load *load = &ring->loads[ring->load_count++];
        *load = *there;
        load->op = from->loads[x->found[k][i]].op;
    }
    return ring;
}

/* A loop's ring without the loads that have moved to a ring of their own. */
static cg_ring rest_of(const cg_ring *ring, const cg_ring *kept)
{
    cg_ring rest = *ring;
    rest.load_count = 0;
    for (uint32_t i = 0; i < ring->load_count; i++) {
        bool moved = false;
        for (uint32_t j = 0; j < kept->load_count; j++)
            moved = moved || kept->loads[j].op == ring->loads[i].op;
        if (!moved)
            rest.loads[rest.load_count++] = ring->loads[i];
    }
    cg_ring_place_loads(&rest);
    return rest;
}

/* ---- how many slots ---- */

/* What a block needs besides kept tiles: what each block takes, and scratch for one value of each warp. */
enum { BESIDE = CG_SYSTEM_SHARED + 4 * (1 << CG_BLOCK_WARPS) };

/* The row of a block that is to have a multiprocessor to itself (codegen/choose_rows.c): as many tiles as fit. */
static const cg_kept_row row_of_one = {.least = FEWEST_KEPT,
                                       .most = 32,
                                       .ahead = 4,
                                       .fewest = 2,
                                       .why =
                                           "as many stages as a block has room for that is alone on a multiprocessor"};

static bool is_one(const cg_func *c)
{
    return cg_choices_of(c)->blocks == 1 && !cg_choices_of(c)->stages;
}

/* The slots that fit into a room of that size, beside `ahead` slots for the loops' other loads of so many bytes
   each. */
static cg_kept_slots slots_in(const cg_func *c, const ct_op *loop, const cg_kept_row *row, const cg_ring *kept,
                              uint32_t others, uint32_t ahead, uint32_t room)
{
    uint32_t sm = (c->target->shared_kib + 1u) << 10, iterations = cg_iterations_of(loop),
             least = iterations < row->least ? iterations : row->least,
             most = iterations < row->most ? iterations : row->most, bytes = least * kept->slot_bytes + ahead * others;
    if (bytes > room || (iterations != UINT32_MAX && iterations > row->most))
        return (cg_kept_slots){0};
    uint32_t share = row == &row_of_one ? room : sm / (sm / (bytes + BESIDE)) - BESIDE;
    share = share < room ? share : room;
    uint32_t count = (share - ahead * others) / kept->slot_bytes;
    return (cg_kept_slots){count < most ? count : most, share, row->why};
}

/* fits: the bytes that a ring of the first loop can have. */
static uint32_t room_of(cg_func *c, uint32_t threads, uint32_t scratch, uint32_t fits)
{
    uint32_t room = cg_room_beside(c, threads);
    room = room < fits ? room : fits;
    return room > BESIDE + scratch ? room - BESIDE - scratch : 0;
}

/* The tiles that must fit; 0: the row is not for rows of `taken` iterations. While warps are chosen, plans are compared
   without rows of usual length: they leave fewer blocks, by as much for every number of warps. Short rows make room for
   a second block where two have enough threads; others keep rows that are longer than usual, too. */
static uint32_t least_of(cg_func *c, const cg_kept_row *row, uint32_t taken)
{
    const bool large = 2 * cg_threads(c) >= row->threads,
               suits = row->least == CG_LONG_ROWS ? taken > CG_RING_SLOTS : taken < CG_RING_SLOTS && large;
    if (row->least != CG_LONG_ROWS && row->least != CG_SHORT_ROWS)
        return row->least;
    return suits && taken <= row->most && !cg_leaves_out(c) ? taken : 0;
}

/* In two versions (codegen/passes/align.c), no more tiles are kept than a row of usual length has: slots that such rows
   leave unused would take shared memory from other blocks, and L1 from the version with short accesses, whose loops
   read rows through it. On an H200, 21 kernels are 0.98 to 1.50 times as fast, 1.07 in the geometric mean. */
static void keep_usual(cg_kept_row *row, uint32_t taken)
{
    const uint32_t usual = taken > FEWEST_KEPT ? taken : FEWEST_KEPT;
    row->most = row->most < usual ? row->most : usual;
    row->least = row->least < row->most ? row->least : row->most;
}

cg_kept_slots cg_slots_to_keep(cg_func *c, ct_op *loop, const cg_ring *ring, const cg_ring *kept, uint32_t others,
                               uint32_t scratch)
{
    cg_kept_slots s = {0};
    const cg_kept_row *row;
    const uint32_t taken = cg_iterations_taken(loop, kept->loads[0].op->results[0].type),
                   fits = cg_shared_for_ring(c, loop->block, ring, cg_shared_for_the_rest(c));
    for (uint32_t ahead = row_of_one.ahead; is_one(c) && ahead >= row_of_one.fewest && !s.kept; ahead--)
        s = slots_in(c, loop, &row_of_one, kept, others, ahead, room_of(c, row_of_one.threads, scratch, fits));
    for (size_t i = 0; !s.kept && (row = cg_kept_row_at(i)); i++) {
        cg_kept_row own = *row;
        own.least = least_of(c, row, taken);
        if (c->is_versioned)
            keep_usual(&own, taken);
        for (uint32_t ahead = row->ahead; own.least && ahead >= row->fewest && !s.kept; ahead--)
            s = slots_in(c, loop, &own, kept, others, ahead, room_of(c, row->threads, scratch, fits));
    }
    if (s.kept >= taken)
        c->again_bytes = 0;
    bool enough = s.kept >= FEWEST_KEPT && (cg_iterations_of(loop) == UINT32_MAX || s.kept >= cg_iterations_of(loop));
    return enough ? s : (cg_kept_slots){0};
}

/* The bytes of shared memory, at least `scratch`, that are needed to convert tiles of the other loads to the layout
   of the kept tiles. */
static uint32_t converted(const cg_ring *kept, const cg_ring *rest, uint32_t scratch)
{
    for (uint32_t i = 0; i < rest->load_count; i++) {
        const cg_ring_load *load = &rest->loads[i];
        bool alike = kept->load_count && cg_layout_equal(&kept->loads[0].layout, &load->layout);
        scratch = !alike && load->own_bytes > scratch ? load->own_bytes : scratch;
    }
    return scratch;
}

/* Gives the loops rings for the kept tiles; their other loads keep a ring of their own. */
static void keep(const chain *x)
{
    cg_ring *kept[CG_KEPT_LOOPS] = {new_first(x)}, rest[CG_KEPT_LOOPS];
    uint32_t others = 0, scratch = 0;
    for (uint32_t k = 0; k < x->count; k++) {
        if (!kept[0] || (k && !(kept[k] = new_again(x, kept[0], k))))
            return;
        rest[k] = rest_of(ring_of(x->loops[k]), kept[k]);
        others = rest[k].slot_bytes > others ? rest[k].slot_bytes : others;
        scratch = converted(kept[0], &rest[k], scratch);
    }
    cg_kept_slots s = cg_slots_to_keep(x->c, x->loops[0], ring_of(x->loops[0]), kept[0], others, scratch);
    uint32_t bytes = s.kept * kept[0]->slot_bytes;
    if (s.kept)
        cg_remark(x->c, x->loops[0], CG_REMARK_Kept, TV_REMARK_PASSED,
                  "the tiles of {Loads=%u} loads stay in shared memory for the {Loops=%u} loops that follow, if there "
                  "are at most {Iterations=%u} iterations, whose tiles take {Shared=%u} bytes",
                  kept[0]->load_count, x->count - 1, s.kept, bytes);
    for (uint32_t k = 0; s.kept && k < x->count; k++) {
        cg_ring *ring = ring_of(x->loops[k]);
        uint32_t fit = rest[k].load_count ? (s.room - bytes) / rest[k].slot_bytes : 0;
        *ring = rest[k];
        cg_plan_of(x->loops[k])->beside = kept[k];
        ring->offset = bytes;
        ring->slots = fit < ring->slots ? fit : ring->slots;
        ring->slots = ring->slots < s.kept ? ring->slots : s.kept;
        kept[k]->slots = s.kept;
        kept[k]->why = ring->why = s.why;
    }
}

void cg_keep_tiles(cg_func *c)
{
    for (ct_op *op = c->ir->body->first; op && !c->failed; op = ct_next_op(op, c->ir->body)) {
        chain x = {.count = 0};
        if (may_keep(op))
            x = chain_of(c, op);
        if (x.count > 1)
            keep(&x);
    }
}
