/* Checks that no byte of shared memory has two uses at once; see the header. It derives live ranges from the ops
   themselves, independently of the shared pass. A ring, its barriers and tensor maps are live like SSA values: from the
   op that creates them to the last op that reads them, in the block that creates them, so that a loop in between
   belongs to the live range with all of its iterations. The scratch of an op is live while the op executes; that of a
   product in flight is live until the product is awaited. */
#include "codegen/analysis/boxes.h"
#include "codegen/analysis/encoding.h"
#include "codegen/analysis/product.h"
#include "codegen/kernel/groups.h"
#include "codegen/check/check.h"
#include "codegen/values/effects.h"
#include "codegen/values/strips.h"

/* Bytes that are in use from op `first` to op `last`, which are in one block. */
typedef struct life {
    const ct_op *first, *last;
    cg_span span;
    const char *what; /* a phrase for the fault */
} life;

typedef struct lives {
    cg_func *c;
    life *of; /* ranges that are longer than one op: rings, their barriers, maps */
    uint32_t count, room;
} lives;

static bool is_faulty(ct_fault *fault, const ct_op *op, const char *what)
{
    *fault = (ct_fault){op, what};
    return false;
}

/* ---- positions of ops ---- */

/* The op in the block that is `op` or contains it. NULL: there is none. */
static const ct_op *in_block(const ct_op *op, const ct_block *block)
{
    while (op && op->block != block)
        op = op->block->parent;
    return op;
}

/* Is the op in the live range, or in an op that is? */
static bool is_within(const ct_op *op, const life *x)
{
    const ct_op *place = in_block(op, x->first->block);
    for (const ct_op *at = x->first; place && at; at = at->next) {
        if (at == place)
            return true;
        if (at == x->last)
            return false;
    }
    return false;
}

/* Different groups of warps run concurrently. */
static bool are_in_two_groups(const ct_op *a, const ct_op *b)
{
    for (const ct_block *x = a->block; x->parent; x = x->parent->block)
        for (const ct_block *y = b->block; x->parent->opcode == CT_groups && y->parent; y = y->parent->block)
            if (x != y && x->parent == y->parent)
                return true;
    return false;
}

static bool meet(const life *a, const life *b)
{
    bool overlap = a->span.from < b->span.to && b->span.from < a->span.to;
    return overlap && (is_within(b->first, a) || is_within(a->first, b) || are_in_two_groups(a->first, b->first));
}

/* ---- live ranges ---- */

static void extend_by_op(life *x, const ct_op *op)
{
    const ct_op *place = in_block(op, x->first->block);
    if (place && !is_within(place, x))
        x->last = place;
}

/* Extends the range to the readers: rings of later loops that use the same stages, tiles in stages, and the end of
   products in flight. */
static void extend_by_uses(life *x, const ct_value *v)
{
    for (const ct_use *use = v->uses; use; use = use->next) {
        const ct_op *op = use->op;
        bool lies_there = op->opcode == CT_ring || (op->opcode == CT_staged && !op->in_registers) || op->in_flight;
        extend_by_op(x, op);
        for (uint32_t i = 0; lies_there && i < op->result_count; i++)
            extend_by_uses(x, &op->results[i]);
    }
}

static void add(lives *x, const ct_op *op, cg_span span, const char *what)
{
    life *made = &x->of[x->count++];
    *made = (life){op, op, span, what};
    for (uint32_t i = 0; i < op->result_count; i++)
        extend_by_uses(made, &op->results[i]);
}

static cg_span span_at(const cg_func *c, uint32_t offset, uint32_t bytes)
{
    uint32_t from = c->sharing->rings_at + offset;
    return (cg_span){from, from + bytes, 0};
}

/* Adds buffers that the op creates and that outlive it. */
static void add_lasting(lives *x, const ct_op *op)
{
    const cg_ring *ring = op->opcode == CT_ring && !op->operand_count ? op->detail : NULL;
    if (ring)
        add(x, op, span_at(x->c, ring->offset, ring->slots * ring->slot_bytes), "its ring overlaps another live ring");
    if (ring && cg_is_between_groups(ring))
        add(x, op, span_at(x->c, ring->barriers, ring->slots * CG_RING_BARRIER_BYTES),
            "the barriers of its ring lie where something else is");
    if (op->opcode == CT_maps && x->c->groups)
        add(x, op, span_at(x->c, x->c->groups->maps_at, op->operand_count * CG_MAP_BYTES),
            "its tensor maps lie where something else is");
}

static bool find_lasting(lives *x)
{
    const ct_block *body = x->c->ir->body;
    for (const ct_op *op = body->first; op; op = ct_next_op(op, body))
        x->room += op->opcode == CT_ring ? 2 : op->opcode == CT_maps;
    x->of = bc_new(&x->c->arena, life, x->room + 1u);
    for (const ct_op *op = body->first; x->of && op; op = ct_next_op(op, body))
        add_lasting(x, op);
    return x->of;
}

/* ---- checks ---- */

static uint32_t all_shared(const cg_func *c)
{
    return c->groups ? c->groups->shared : cg_shared_most(c);
}

static bool are_apart(const lives *x, ct_fault *fault)
{
    for (uint32_t i = 0; i < x->count; i++) {
        if (x->of[i].span.to > all_shared(x->c))
            return is_faulty(fault, x->of[i].first, "rings do not lie where there is room for them");
        for (uint32_t k = 0; k < i; k++)
            if (meet(&x->of[i], &x->of[k]))
                return is_faulty(fault, x->of[i].first, x->of[i].what);
    }
    return true;
}

static bool is_scratch_well(const cg_func *c, const cg_effect *e)
{
    const cg_span *span = &e->span;
    bool whole = !span->of_warp || span->of_warp << cg_real_warp_bits(c) == span->to - span->from;
    return span->from < span->to && span->to <= c->sharing->scratch_bytes && span->to <= all_shared(c) && whole;
}

/* Is the scratch of a loop over strips in use while a value created in it is? */
static bool is_around(const ct_op *op, const life *x)
{
    return op->opcode == CT_strips && ct_is_inside(x->first->block, op->regions[0]);
}

static bool is_scratch_apart(const lives *x, const cg_effect *e)
{
    life own = {e->op, e->op, e->span, NULL};
    for (uint32_t i = 0; i < x->count; i++) {
        const cg_span *span = &x->of[i].span;
        bool overlap = span->from < e->span.to && e->span.from < span->to;
        if (meet(&own, &x->of[i]) || (overlap && is_around(e->op, &x->of[i])))
            return false;
    }
    return true;
}

/* Does no other op use the scratch of a product in flight until it is awaited? There may be no barrier either,
   because other ops would assume that all threads have read the scratch by then. Products that are passed through a
   loop or branch are not checked. */
static bool is_scratch_kept(const cg_func *c, const cg_effect *e)
{
    life own = {e->op, e->op, e->span, NULL};
    extend_by_uses(&own, &e->op->results[0]);
    for (uint32_t i = 0; i < c->sharing->effect_count; i++) {
        const cg_effect *other = c->sharing->effects[i];
        if (other->op == e->op || other->op == own.last || !is_within(other->op, &own))
            continue;
        if (other->kind == CG_USES_SCRATCH || other->kind == CG_MEETS || other->before == CG_ALL_WARPS)
            return false;
    }
    return own.last->opcode == CT_mma_await;
}

/* The same for a product that goes on into the next iteration: does nothing else in the loop use shared memory, and is
   its result awaited right behind the loop? */
static bool is_scratch_kept_on(const cg_func *c, const cg_effect *e)
{
    const ct_op *loop = e->op->block->parent, *next = loop->next;
    const bool may_meet = e->by_turns || !c->sharing->synced;
    for (uint32_t i = 0; i < c->sharing->effect_count; i++) {
        const cg_effect *other = c->sharing->effects[i];
        const bool meets = other->kind == CG_MEETS || other->before == CG_ALL_WARPS,
                   uses = other->kind != CG_ACCESSES && other->kind != CG_MEETS;
        if (other->op != e->op && ct_is_inside(other->op->block, loop->regions[0]) && (uses || (meets && !may_meet)))
            return false;
    }
    return (may_meet || e->before == CG_ALL_WARPS) && next->opcode == CT_mma_await && next->operands[0]->op == loop;
}

bool cg_verify_shared(cg_func *c, ct_fault *out_fault)
{
    const cg_sharing *s = c->sharing;
    lives x = {.c = c};
    if (!s)
        return true;
    if (s->ring_bytes
        && (s->rings_at % (c->groups ? CG_ENCODING_ALIGN : 16) || s->rings_at + s->ring_bytes > all_shared(c)))
        return is_faulty(out_fault, NULL, "rings do not lie where there is room for them");
    if (!find_lasting(&x))
        return is_faulty(out_fault, NULL, "there is no memory to check places in");
    for (uint32_t i = 0; i < s->effect_count; i++) {
        const cg_effect *e = s->effects[i];
        if (e->kind == CG_USES_SCRATCH && !is_scratch_well(c, e))
            return is_faulty(out_fault, e->op, "its scratch does not lie where there is room for it");
        if (e->kind == CG_USES_SCRATCH && e->op->in_flight
            && !(cg_goes_on(c, e->op) ? is_scratch_kept_on(c, e) : is_scratch_kept(c, e)))
            return is_faulty(out_fault, e->op, "others have its scratch, or meet, before it has been awaited");
        if (e->kind == CG_USES_SCRATCH && !is_scratch_apart(&x, e))
            return is_faulty(out_fault, e->op, "its scratch overlaps a live ring");
    }
    return are_apart(&x, out_fault);
}
