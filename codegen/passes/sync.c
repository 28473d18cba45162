/* The sync pass places the barriers at which threads wait for each other, and the fences that make their writes visible
   to asynchronous products.

   It follows the ops as threads execute them, with the set of effects that may not be complete for all threads. An
   effect that accesses the memory of one of them gets a barrier in front of it: of the warp, if each warp has a part of
   its own, else of all warps, which empties the set. Where control flow joins, the sets are joined. A loop is followed
   until nothing new reaches its head; an effect from a previous iteration is treated separately, because the same index
   stood for another address there. Each group of a warp-specialised kernel has a barrier of its own (number 1 for
   consumers, 2 for producers).

   Asynchronous products read shared memory through the async proxy, to which the writes of a thread are visible only
   after that thread has executed a fence. Every write that they read, and that has not been fenced on some path, is
   fenced right after it; but where a product stores an operand for itself, the fence behind that is enough for what its
   threads have written before, because all of them meet once more in front of the product. Data that TMA copies is
   visible to them already.

   Why it is right: `--verify-each` checks the result with another algorithm: it follows all paths from each effect to
   the first barrier, and from each write to the first fence (codegen/check/verify_sync.c). The trips of a loop over
   strips access different elements of the same tiles: scratch needs a barrier between trips, global accesses do not. */
#include <string.h>

#include "codegen/analysis/product.h"
#include "codegen/analysis/ring.h"
#include "codegen/kernel/groups.h"
#include "codegen/passes/pass.h"
#include "codegen/values/effects.h"

/* Pending effects, by the trip in which they occurred relative to the current op; and writes that are not fenced
   yet. */
enum { WAYS = CG_EARLIER_VIEW + 1, WRITTEN = WAYS, SETS, WORD_BITS = 64 };

typedef struct pending {
    uint64_t *sets; /* SETS of x->words words */
} pending;

typedef struct around {
    const struct around *outer;
    pending next, behind; /* the sets at the head of the loop's next trip, and after the loop */
} around;

typedef struct walk {
    cg_func *c;
    cg_sharing *all;
    uint32_t words;
    const around *loop;
} walk;

/* ---- sets ---- */

static pending nothing(walk *x)
{
    return (pending){bc_new(&x->c->arena, uint64_t, (size_t)SETS * x->words)};
}

static void clear(const walk *x, pending p)
{
    if (p.sets)
        memset(p.sets, 0, sizeof *p.sets * SETS * x->words);
}

/* All threads have met at a barrier. */
static void clear_met(const walk *x, pending p)
{
    if (p.sets)
        memset(p.sets, 0, sizeof *p.sets * WRITTEN * x->words);
}

/* All writes are fenced. */
static void clear_written(const walk *x, pending p)
{
    if (p.sets)
        memset(p.sets + (size_t)WRITTEN * x->words, 0, sizeof *p.sets * x->words);
}

/* Adds the sets of `from` to `into`. True: something is new. */
static bool join(const walk *x, pending into, pending from)
{
    uint64_t more = 0;
    for (uint32_t i = 0; into.sets && from.sets && i < SETS * x->words; i++) {
        more |= from.sets[i] & ~into.sets[i];
        into.sets[i] |= from.sets[i];
    }
    return more != 0;
}

static pending copy_of(walk *x, pending p)
{
    pending copy = nothing(x);
    join(x, copy, p);
    return copy;
}

/* The position of the next effect from `at` on, which gives the set and the number of the effect; the end if there
   is none. */
static uint32_t next_place(const walk *x, pending p, uint32_t at)
{
    uint32_t end = p.sets ? SETS * x->words * WORD_BITS : 0;
    while (at < end) {
        uint64_t rest = p.sets[at / WORD_BITS] >> at % WORD_BITS;
        if (rest)
            return at + tv_trailing_zeros(rest);
        at = (at / WORD_BITS + 1) * WORD_BITS;
    }
    return SETS * x->words * WORD_BITS;
}

static void add(const walk *x, pending p, uint32_t set, uint32_t number)
{
    if (p.sets)
        p.sets[set * x->words + number / WORD_BITS] |= (uint64_t)1 << number % WORD_BITS;
}

/* The same for a loop over strips: accesses of another trip are to other elements. */
static bool join_next_strip(walk *x, pending into, pending from)
{
    pending shared = nothing(x);
    uint32_t row = x->words * WORD_BITS;
    for (uint32_t at = next_place(x, from, 0); at < SETS * row; at = next_place(x, from, at + 1))
        if (x->all->effects[at % row]->kind != CG_ACCESSES)
            add(x, shared, at / row, at % row);
    return join(x, into, shared);
}

/* Adds `from`, as seen from the loop's next trip, to `into`. True: something is new. */
static bool join_next_trip(walk *x, pending into, pending from, const ct_block *body)
{
    pending aged = nothing(x);
    uint32_t row = x->words * WORD_BITS;
    for (uint32_t at = next_place(x, from, 0); at < SETS * row; at = next_place(x, from, at + 1)) {
        uint32_t set = at / row;
        if (set != WRITTEN)
            set = cg_before_next_trip(x->all->effects[at % row], (cg_before)set, body);
        add(x, aged, set, at % row);
    }
    return join(x, into, aged);
}

/* ---- ops ---- */

/* The barrier that the pending effects require before e. */
static cg_meeting meeting_before(const walk *x, pending p, const cg_effect *e)
{
    cg_meeting most = e->again ? cg_meeting_between(e, CG_SAME_TRIP, e) : CG_NOBODY;
    uint32_t row = x->words * WORD_BITS;
    for (uint32_t at = next_place(x, p, 0); at < WAYS * row && most != CG_ALL_WARPS; at = next_place(x, p, at + 1)) {
        cg_meeting one = cg_meeting_between(x->all->effects[at % row], (cg_before)(at / row), e);
        most = one > most ? one : most;
    }
    return most;
}

/* Is an effect pending that is not by the one thread that writes scalars? */
static bool have_others(const walk *x, pending p)
{
    uint32_t row = x->words * WORD_BITS;
    for (uint32_t at = next_place(x, p, 0); at < WAYS * row; at = next_place(x, p, at + 1))
        if (!cg_is_by_one_thread(x->all->effects[at % row]))
            return true;
    return false;
}

/* Does the op of e, a product, store an operand to scratch? The fence behind that makes what its thread has written
   earlier visible, too, and all threads of the product meet behind it (cg_encode_operands). */
static bool fences_itself(const walk *x, pending p, const cg_effect *e)
{
    uint32_t row = x->words * WORD_BITS;
    for (uint32_t at = next_place(x, p, WRITTEN * row); at < SETS * row; at = next_place(x, p, at + 1))
        if (x->all->effects[at % row]->op == e->op && x->all->effects[at % row]->fence)
            return true;
    return false;
}

/* Fences writes that asynchronous products read, right after they happen. */
static void visit_proxies(walk *x, pending p, cg_effect *e)
{
    uint32_t row = x->words * WORD_BITS;
    const bool fenced = fences_itself(x, p, e);
    for (uint32_t at = next_place(x, p, WRITTEN * row); at < SETS * row; at = next_place(x, p, at + 1)) {
        cg_effect *written = x->all->effects[at % row];
        const bool covered = fenced && !(written->ring && cg_is_between_groups(written->ring));
        written->fence = written->fence || (!covered && cg_fence_between(written, e));
    }
    if (e->fence)
        clear_written(x, p);
    else if (e->kind == CG_WRITTEN)
        add(x, p, WRITTEN, e->number);
}

static void visit_effect(walk *x, pending p, cg_effect *e)
{
    if (e->kind == CG_BEGINS)
        return; /* see visit_strips */
    visit_proxies(x, p, e);
    cg_meeting before = meeting_before(x, p, e);
    e->others = e->others || (e->for_one && have_others(x, p));
    e->before = before > e->before ? (uint8_t)before : e->before;
    if (e->leaves)
        return;
    if (e->before == CG_ALL_WARPS || cg_meeting_within(e) == CG_ALL_WARPS)
        clear_met(x, p);
    if (cg_effect_lasts(e))
        add(x, p, CG_SAME_TRIP, e->number);
}

static void visit_block(walk *x, const ct_block *block, pending p);

static void visit_loop(walk *x, const ct_op *op, pending p)
{
    const ct_block *body = op->regions[0];
    pending head = copy_of(x, p);
    around here = {.outer = x->loop, .next = nothing(x), .behind = nothing(x)};
    do {
        pending trip = copy_of(x, head);
        clear(x, here.next);
        x->loop = &here;
        visit_block(x, body, trip);
        x->loop = here.outer;
    } while (!x->c->failed && join_next_trip(x, head, here.next, body));
    if (op->opcode != OP_for)
        clear(x, p); /* there is at least one trip */
    join(x, p, here.behind);
    if (op->opcode == OP_for)
        join(x, p, here.next);
}

/* Barriers go in front of the loop for all accesses in it. Continues with the sets of the last trip. */
static void visit_strips(walk *x, const ct_op *op, pending p)
{
    cg_effect *begins = op->effects->first && op->effects->first->kind == CG_BEGINS ? op->effects->first : NULL;
    const ct_block *body = op->regions[0];
    for (const ct_op *inner = begins ? body->first : NULL; inner; inner = ct_next_op(inner, body))
        for (const cg_effect *e = inner->effects ? inner->effects->first : NULL; e; e = e->next)
            if (e->kind == CG_ACCESSES && meeting_before(x, p, e) == CG_ALL_WARPS)
                begins->before = CG_ALL_WARPS;
    if (begins && begins->before)
        clear_met(x, p);
    pending head = copy_of(x, p), trip;
    do {
        trip = copy_of(x, head);
        visit_block(x, body, trip);
    } while (!x->c->failed && join_next_strip(x, head, trip));
    clear(x, p);
    join(x, p, trip);
}

/* Also for groups: their ops on rings provide the barriers between them. Starters have no effects. */
static void visit_branch(walk *x, const ct_op *op, pending p)
{
    pending before = copy_of(x, p);
    if (op->region_count > 1 && op->regions[1])
        clear(x, p);
    for (uint32_t r = 0; r < op->region_count; r++) {
        if (!op->regions[r] || (op->opcode == CT_groups && r == CG_STARTERS))
            continue;
        pending way = copy_of(x, before);
        visit_block(x, op->regions[r], way);
        join(x, p, way);
    }
}

static void visit_op(walk *x, const ct_op *op, pending p)
{
    switch ((int)op->opcode) {
    case OP_for:
    case OP_loop: visit_loop(x, op, p); break;
    case OP_if:
    case CT_groups: visit_branch(x, op, p); break;
    case CT_strips: visit_strips(x, op, p); break;
    case OP_continue: join(x, x->loop->next, p); break;
    case OP_break: join(x, x->loop->behind, p); break;
    default: break;
    }
    for (cg_effect *e = op->effects ? op->effects->first : NULL; e; e = e->next)
        visit_effect(x, p, e);
    if (op->opcode == OP_continue || op->opcode == OP_break || op->opcode == OP_return)
        clear(x, p); /* nothing follows */
}

static void visit_block(walk *x, const ct_block *block, pending p)
{
    for (const ct_op *op = block ? block->first : NULL; op && !x->c->failed; op = op->next)
        visit_op(x, op, p);
}

/* Barrier 0 is for the whole block, also with groups (codegen/ops/groups.c). */
static void choose_barriers(cg_func *c)
{
    if (!c->groups)
        return;
    c->sharing->barriers[0] = (struct cg_barrier_of){1, cg_threads(c)};
    c->sharing->barriers[1] = (struct cg_barrier_of){2, c->groups->starts ? CG_STARTER_THREADS : CG_PRODUCER_THREADS};
}

/* ---- products that go on ---- */

/* Is there a barrier in the body, apart from those of the product? */
static bool has_meeting(const ct_block *body, const ct_op *product)
{
    for (const ct_op *op = body->first; op; op = ct_next_op(op, body))
        for (const cg_effect *e = op != product && op->effects ? op->effects->first : NULL; e; e = e->next)
            if (e->kind == CG_MEETS || e->before == CG_ALL_WARPS)
                return true;
    return false;
}

/* A product that goes on into the next iteration waits for itself in front of the barrier behind which its threads
   store the next operands. If they have met before, that barrier is not there, and nothing keeps these stores from a
   slower warp's product. Then it is awaited at once. */
static void land_products(cg_func *c)
{
    for (ct_op *op = c->ir->body->first; op; op = ct_next_op(op, c->ir->body))
        if (cg_goes_on(c, op) && op->effects && !op->effects->first->by_turns && has_meeting(op->block, op))
            op->in_flight = op->in_place = false;
}

void cg_pass_sync(cg_func *c)
{
    walk x = {.c = c, .all = c->sharing, .words = c->sharing->effect_count / WORD_BITS + 1};
    choose_barriers(c);
    visit_block(&x, c->ir->body, nothing(&x));
    land_products(c);
    c->sharing->synced = true;
}
