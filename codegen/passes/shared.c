/* The shared pass finds the memory effects of each op, and places all buffers in shared memory.

   Effects describe the accesses of an op to memory that is visible to other threads, in the order of its instructions
   (codegen/values/effects.h): it writes scratch, synchronises and reads it; it accesses global memory; it needs a
   barrier of its own; it fills or reads rings. The sizes follow from the layouts.

   The scratch of an op lives only while the op executes, so all scratch may begin at byte 0. A ring is live from its op
   to the end of its loop, and is placed after all buffers that are live at the same time. Each of several consecutive
   loops divides the whole memory again. Small scratch, such as that of a sum over warps, is placed next to the previous
   scratch, below 2 KiB, so that it need not wait for threads that still read the previous one. In warp-specialised
   kernels only consumers have scratch, and rings live as long as the kernel.

   A product that goes on into the next iteration (codegen/passes/overlap.c) reads its scratch until its threads wait
   for it. That they do before they store the next operands there, if each has registers for all of these; then loads,
   which take longest, overlap with the product. Otherwise they store some elements while they load others, to the
   other half of twice the scratch: ptxas would spill what it has no registers for. On an H200, 33 products of seeds
   that had no part in it, most of them of rows that start anywhere, are 0.97 to 2.29 times as fast, 1.09 in the
   geometric mean (docs/internals/codegen/pointers.md has more).

   Why it is right: buffers that are live at the same time have no byte in common, which codegen/check/verify_shared.c
   finds out from the ops alone; a barrier separates those that follow each other in the same bytes
   (codegen/passes/sync.c). */
#include "codegen/analysis/shared.h"

#include "codegen/analysis/encoding.h"
#include "codegen/kernel/groups.h"
#include "codegen/kernel/limits.h"
#include "codegen/ops/hooks.h"
#include "codegen/ops/mma.h"
#include "codegen/passes/pass.h"
#include "codegen/cost/cost.h"
#include "codegen/plan/again.h"
#include "codegen/plan/budget.h"
#include "codegen/values/effects.h"
#include "codegen/values/strips.h"

/* ---- effects ---- */

typedef struct finding {
    cg_func *c;
    uint32_t rings;   /* that have memory at this point */
    uint32_t stretch; /* the last one that began */
    bool copies;      /* the ops are those of producers */
    uint32_t count;
} finding;

static bool ends_ring(const ct_op *op)
{
    return op->opcode == CT_strips ? ((const cg_trips *)op->detail)->ring != NULL
                                   : op->opcode == CT_ended || (op->opcode == OP_for && op->detail);
}

/* Counts the rings that have memory after the op. */
static void go_on(finding *x, const ct_op *op)
{
    bool begins = op->opcode == CT_ring && !op->operand_count;
    x->stretch += begins && !x->rings;
    x->rings += begins;
    x->rings -= ends_ring(op);
}

/* Numbers the effects of an op. */
static void number(finding *x, const cg_effects *all)
{
    for (cg_effect *e = all->first; e; e = e->next) {
        e->number = x->count++;
        if (x->copies && e->kind == CG_USES_SCRATCH)
            cg_unsupported(x->c, e->op, "internal error: scratch is wanted by warps that copy");
    }
}

static void find_of_op(finding *x, ct_op *op)
{
    cg_find_effects(x->c, op, x->rings ? x->stretch : 0);
    if (op->effects)
        number(x, op->effects);
}

static void find_in(finding *x, const ct_block *block);

static void find_in_groups(finding *x, const ct_op *op)
{
    uint32_t warp_bits = x->c->warp_bits;
    find_in(x, op->regions[CG_CONSUMERS]);
    x->copies = true;
    if (op->region_count > CG_ISSUER)
        find_in(x, op->regions[CG_ISSUER]); /* in the layouts of the consumers, who take its sums */
    if (op->region_count > CG_CORRECTORS)
        find_in(x, op->regions[CG_CORRECTORS]);
    x->c->warp_bits = CG_PRODUCER_WARP_BITS;
    find_in(x, op->regions[CG_PRODUCERS]);
    x->c->warp_bits = CG_STARTER_WARP_BITS;
    if (op->region_count > CG_STARTERS && op->regions[CG_STARTERS])
        find_in(x, op->regions[CG_STARTERS]);
    x->c->warp_bits = warp_bits;
    x->copies = false;
}

static void find_in(finding *x, const ct_block *block)
{
    for (ct_op *op = block->first; op && !x->c->failed; op = op->next) {
        if (op->opcode == CT_groups)
            find_in_groups(x, op);
        for (uint32_t r = 0; r < op->region_count && op->opcode != CT_groups; r++)
            if (op->regions[r])
                find_in(x, op->regions[r]);
        find_of_op(x, op);
        go_on(x, op);
    }
}

static cg_effect **list(finding *x)
{
    cg_effect **effects = bc_new(&x->c->arena, cg_effect *, x->count + 1u);
    const ct_block *body = x->c->ir->body;
    for (const ct_op *op = body->first; effects && op; op = ct_next_op(op, body))
        for (cg_effect *e = op->effects ? op->effects->first : NULL; e; e = e->next)
            effects[e->number] = e;
    return effects;
}

/* ---- products in flight ---- */

static bool has_scratch(const ct_op *op)
{
    for (const cg_effect *e = op->effects ? op->effects->first : NULL; e; e = e->next)
        if (e->kind == CG_USES_SCRATCH)
            return true;
    return false;
}

/* Is the next op with scratch after the one that waits for the product? */
static bool is_awaited_soon(const ct_op *product)
{
    const ct_op *op = product->next;
    while (op && !op->region_count && !has_scratch(op) && op->opcode != CT_mma_await)
        op = op->next;
    return op && op->opcode == CT_mma_await && op->operands[0] == &product->results[0];
}

/* Does no other op of the loop use shared memory? *out_writes: one writes to global memory. */
static bool has_scratch_alone(const ct_op *product, bool *out_writes)
{
    const ct_block *body = product->block;
    *out_writes = false;
    for (const ct_op *op = body->first; op; op = ct_next_op(op, body))
        for (const cg_effect *e = op != product && op->effects ? op->effects->first : NULL; e; e = e->next) {
            if (e->kind != CG_ACCESSES && e->kind != CG_MEETS)
                return false;
            *out_writes = *out_writes || e->write;
        }
    return true;
}

/* Registers that a thread has beside its sums, and addresses, counters and the like. */
static uint32_t registers_left(const cg_func *c, const ct_op *product)
{
    enum { LEAST = 16 }; /* for a few accesses, where sums leave fewer */
    const uint32_t threads = cg_threads(c), all = CG_REGISTERS / threads,
                   most = all < CG_THREAD_REGISTERS ? all : CG_THREAD_REGISTERS,
                   taken = (1u << cg_shape_of(product->results[0].type).tile_bits) / threads
                           + (uint32_t)cg_machine_of(c->target)->registers_usual;
    return most > taken + LEAST ? most - taken : LEAST;
}

/* Registers for the tiles that the body loads. */
static uint32_t registers_loaded(cg_func *c, const ct_block *body)
{
    enum { WORD = 4 };
    uint32_t bytes = 0;
    for (const ct_op *op = body->first; op; op = ct_next_op(op, body)) {
        const bc_type *tile = ct_is_load(op) ? op->results[0].type : NULL;
        if (!tile || !tile->rank || cg_value_of(c, &op->results[0])->form != CG_TILE)
            continue;
        const cg_layout *l = cg_value_of(c, &op->results[0])->home;
        const uint32_t own = cg_memory_bytes(bc_elem_kind(tile));
        bytes += cg_layout_regs(l) * (cg_access_bytes(c, op, tile, l) < WORD ? WORD : own);
    }
    return bytes / WORD;
}

/* May the op's code have branches, or calls? */
static bool is_function(const ct_op *op)
{
    static const bool are[OP_LIMIT] = {
        [OP_divf] = true,
        [OP_divi] = true,
        [OP_remi] = true,
        [OP_sqrt] = true,
#define FUNCTION(op, ...) [OP_##op] = true,
#include "codegen/math/math.def"
    };
    return op->opcode >= OP_LIMIT || are[op->opcode];
}

/* Is the value loaded in the block, or computed there from what is, an instruction or two for each element? */
static bool is_brought(const ct_value *v, const ct_block *block, uint32_t depth)
{
    static const bc_op_classes plain = BC_OPS(GIVEN) | BC_OPS(MAP) | BC_OPS(CAST) | BC_OPS(SAME) | BC_OPS(RESHAPE)
                                       | BC_OPS(MOVE);
    const ct_op *op = v->op;
    if (!op || op->block != block || ct_is_load(op))
        return true;
    bool all = depth && !is_function(op) && bc_op_in(op->opcode, plain);
    for (uint32_t i = 0; all && i < op->operand_count; i++)
        all = is_brought(op->operands[i], block, depth - 1);
    return all;
}

/* Can threads load, compute and store some elements of both operands after others? Elements of four bytes, of tf32, are
   left to producers, which have registers of their own. */
static bool comes_by_parts(const ct_op *product)
{
    enum { MOST_OPS = 16, HALF = 2 };
    const bc_kind kind = bc_elem_kind(product->operands[0]->type);
    return cg_memory_bytes(kind) <= HALF && is_brought(product->operands[0], product->block, MOST_OPS)
           && is_brought(product->operands[1], product->block, MOST_OPS);
}

/* May the product go on into the next iteration, until that has its operands? If a thread has registers for all of
   these, it waits for the product before it stores them. Otherwise it stores some while it loads others, to the half
   of twice the scratch that the product does not read. The threads meet behind these stores, each after it has awaited
   the previous product. So when the next iteration stores to the half that this one reads, all have awaited it. Loads
   pass the stores before them then, which may not be to global memory. */
static bool may_go_on(cg_func *c, ct_op *product)
{
    cg_effect *e = product->effects->first;
    const uint32_t left = registers_left(c, product);
    bool writes;
    if (e->kind != CG_USES_SCRATCH || !cg_reads_scratch_only(c, product) || !has_scratch_alone(product, &writes))
        return false;
    if (registers_loaded(c, product->block) <= left)
        return true;
    if (writes || !comes_by_parts(product) || 2 * e->span.to > cg_scratch_room(c, product))
        return false;
    e->span.to *= 2;
    e->by_turns = true;
    e->loads = left;
    return true;
}

/* A product that reads scratch stays in flight only until another op uses scratch, since all scratch may have the
   same address. */
static void land_products(cg_func *c)
{
    for (ct_op *op = c->ir->body->first; op; op = ct_next_op(op, c->ir->body)) {
        if (cg_goes_on(c, op) && has_scratch(op))
            op->in_flight = op->in_place = may_go_on(c, op);
        else
            op->in_flight = op->in_flight && (!has_scratch(op) || is_awaited_soon(op));
    }
}

/* ---- stretches ---- */

/* Called for each op that creates a ring, in the order of the effects, with its stretch. */
typedef void ring_fn(cg_sharing *s, const ct_op *op, cg_stretch *stretch);

static void visit_rings(finding *x, const ct_block *block, ring_fn *visit)
{
    for (const ct_op *op = block->first; op; op = op->next) {
        for (uint32_t r = 0; r < op->region_count; r++)
            if (op->regions[r])
                visit_rings(x, op->regions[r], visit);
        go_on(x, op);
        if (op->opcode == CT_ring)
            visit(x->c->sharing, op, &x->c->sharing->stretches[x->stretch - 1]);
    }
}

static void take_bytes(cg_sharing *s, const ct_op *op, cg_stretch *stretch)
{
    (void)s;
    const cg_ring *ring = op->detail;
    uint32_t bytes = ring->offset + ring->slots * ring->slot_bytes;
    stretch->bytes = bytes > stretch->bytes ? bytes : stretch->bytes;
}

/* Moves the ring from the place of the first stretch's rings to that of its own. */
static void move_ring(cg_sharing *s, const ct_op *op, cg_stretch *stretch)
{
    cg_ring *ring = op->detail;
    ring->offset += stretch->rings_at - s->rings_at;
}

/* Finds the stretches, and the bytes that rings take in each. */
static bool find_stretches(cg_func *c)
{
    cg_sharing *s = c->sharing;
    for (const ct_op *op = c->ir->body->first; op; op = ct_next_op(op, c->ir->body))
        s->stretch_count += op->opcode == CT_ring;
    s->stretches = bc_new(&c->arena, cg_stretch, s->stretch_count + 1u);
    if (!s->stretches)
        return false;
    visit_rings(&(finding){.c = c}, c->ir->body, take_bytes);
    if (c->groups)
        s->stretches[0].bytes = c->groups->ring_bytes;
    return true;
}

/* ---- addresses ---- */

/* After the previous span, or before it; otherwise byte 0. */
static uint32_t place_of(const cg_func *c, const cg_effect *e, const cg_span *before)
{
    uint32_t bytes = e->span.to, room = cg_scratch_room(c, e->op);
    if (!e->small || bytes <= before->from || bytes > CG_SMALL_SCRATCH)
        return 0;
    return before->to <= CG_SMALL_SCRATCH - bytes && before->to + bytes <= room ? before->to : 0;
}

/* Is the effect only relevant for fences? */
static bool is_in_proxies(const cg_effect *e)
{
    return e->kind == CG_WRITTEN || e->kind == CG_READS_ASYNC;
}

static void place_scratch(const cg_func *c, cg_sharing *s)
{
    enum { ALIGN = 16 };
    cg_span before = {0};
    for (uint32_t i = 0; i < s->effect_count; i++) {
        cg_effect *e = s->effects[i];
        if (is_in_proxies(e) && !e->ring)
            e->span = s->effects[i - 1]->span; /* the address that its op has already */
        if (e->kind != CG_ACCESSES && e->kind != CG_USES_SCRATCH && !is_in_proxies(e))
            before = (cg_span){0}; /* the next op has to wait anyway, or need not */
        if (e->kind != CG_USES_SCRATCH)
            continue;
        uint32_t from = place_of(c, e, &before), to = from + e->span.to;
        e->span = (cg_span){from, to, e->span.of_warp};
        before = (cg_span){from, (to + ALIGN - 1) & ~(uint32_t)(ALIGN - 1), 0};
        s->scratch_bytes = to > s->scratch_bytes ? to : s->scratch_bytes;
        cg_stretch *stretch = e->op->effects->stretch ? &s->stretches[e->op->effects->stretch - 1] : NULL;
        if (stretch && to > stretch->rings_at)
            stretch->rings_at = to;
    }
}

static cg_span slots_of(const cg_sharing *s, const cg_ring *ring)
{
    uint32_t from = s->rings_at + ring->offset;
    return (cg_span){from, from + ring->slots * ring->slot_bytes, 0};
}

/* Rings whose threads read only their own copies need no alignment. */
static uint32_t alignment_of_rings(const cg_sharing *s)
{
    uint32_t align = CG_LINE_BYTES;
    for (uint32_t i = 0; i < s->effect_count; i++)
        if (s->effects[i]->ring && s->effects[i]->ring->role != CG_RING_OF_THREADS)
            align = CG_ENCODING_ALIGN;
    return align;
}

static void place_rings(cg_func *c, cg_sharing *s)
{
    uint32_t align = c->groups ? CG_ENCODING_ALIGN : alignment_of_rings(s), end = 0;
    s->rings_at = UINT32_MAX;
    for (uint32_t i = 0; i < s->stretch_count; i++) {
        cg_stretch *x = &s->stretches[i];
        if (!x->bytes)
            continue;
        x->rings_at = (x->rings_at + align - 1) & ~(align - 1);
        s->rings_at = x->rings_at < s->rings_at ? x->rings_at : s->rings_at;
        end = x->rings_at + x->bytes > end ? x->rings_at + x->bytes : end;
    }
    s->rings_at = end ? s->rings_at : 0;
    s->ring_bytes = end - s->rings_at;
    visit_rings(&(finding){.c = c}, c->ir->body, move_ring);
    for (uint32_t i = 0; i < s->effect_count; i++) {
        cg_effect *e = s->effects[i];
        if (e->ring)
            e->span = slots_of(s, e->ring);
    }
}

/* ---- the pass ---- */

void cg_pass_shared(cg_func *c)
{
    finding x = {.c = c};
    cg_sharing *s = c->sharing = bc_new(&c->arena, cg_sharing, 1);
    if (!s)
        return;
    if (!find_stretches(c))
        return;
    find_in(&x, c->ir->body);
    s->effect_count = x.count;
    if (c->failed || !(s->effects = list(&x)))
        return;
    land_products(c);
    place_scratch(c, s);
    place_rings(c, s);
    uint32_t bytes = cg_shared_bytes(c), taken = bytes;
    cg_leave_room_for_again(c, &taken);
    s->scratch_bytes = taken > bytes ? taken : s->scratch_bytes;
}
