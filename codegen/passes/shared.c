/* The shared pass: what ops do with memory that other threads see, and where shared memory lies.

   The buffers: what an op has of scratch lives as long as the op is at it, so that all of them may begin at byte 0; all
   rings live from their op to the end of their loop, behind what lives beside them. Small scratch lies behind the
   scratch before it, or in front of it, as long as few bytes are taken: then nobody has to be waited for who still
   reads that. Of groups of warps, consumers alone have scratch; rings live as long as the kernel runs. */
#include "codegen/analysis/shared.h"

#include "codegen/analysis/encoding.h"
#include "codegen/kernel/groups.h"
#include "codegen/ops/hooks.h"
#include "codegen/passes/pass.h"
#include "codegen/values/effects.h"
#include "codegen/values/strips.h"

static cg_effects_hook *const hooks[CT_LIMIT] = {
#define EFFECTS(opcode, name) [opcode] = cg_effects_##name,
#include "codegen/ops/effects.def"
};

/* ---- effects ---- */

void cg_find_effects(cg_func *c, ct_op *op, bool beside_rings)
{
    if (!hooks[op->opcode])
        return;
    op->effects = bc_new(&c->arena, cg_effects, 1);
    if (!op->effects) {
        cg_no_memory(c);
        return;
    }
    op->effects->beside_rings = beside_rings;
    hooks[op->opcode](c, op);
}

typedef struct finding {
    cg_func *c;
    uint32_t rings; /* that have memory now */
    bool copies;    /* the program is that of producers */
    uint32_t count;
} finding;

static bool ends_ring(const ct_op *op)
{
    return op->opcode == CT_strips ? ((const cg_trips *)op->detail)->ring != NULL
                                   : op->opcode == CT_ended || (op->opcode == OP_for && op->detail);
}

/* Those that the op has got. */
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
    cg_find_effects(x->c, op, x->rings != 0);
    if (op->effects)
        number(x, op->effects);
}

static void find_in(finding *x, const ct_block *block);

static void find_in_groups(finding *x, const ct_op *op)
{
    uint32_t warp_bits = x->c->warp_bits;
    find_in(x, op->regions[0]);
    x->copies = true;
    x->c->warp_bits = CG_PRODUCER_WARP_BITS;
    find_in(x, op->regions[1]);
    x->c->warp_bits = CG_STARTER_WARP_BITS;
    if (op->region_count > 2)
        find_in(x, op->regions[2]);
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
        if (hooks[op->opcode])
            find_of_op(x, op);
        x->rings += op->opcode == CT_ring && !op->operand_count;
        x->rings -= ends_ring(op);
    }
}

static cg_effect **list(finding *x)
{
    cg_effect **effects = bc_new(&x->c->arena, cg_effect *, x->count + 1u);
    const ct_block *body = x->c->ir->body;
    if (!effects)
        cg_no_memory(x->c);
    for (const ct_op *op = body->first; effects && op; op = ct_next_op(op, body))
        for (cg_effect *e = op->effects ? op->effects->first : NULL; e; e = e->next)
            effects[e->number] = e;
    return effects;
}

/* ---- places ---- */

/* Behind the span before, or in front of it; else at byte 0. */
static uint32_t place_of(const cg_func *c, const cg_effect *e, const cg_span *before)
{
    enum { MOST = 2048 }; /* such bytes lie below this */
    uint32_t bytes = e->span.to, room = cg_scratch_room(c, e->op);
    if (!e->small || bytes <= before->from || bytes > MOST)
        return 0;
    return before->to <= MOST - bytes && before->to + bytes <= room ? before->to : 0;
}

/* For fences alone. */
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
            e->span = s->effects[i - 1]->span; /* what its op has */
        if (e->kind != CG_ACCESSES && e->kind != CG_USES_SCRATCH && !is_in_proxies(e))
            before = (cg_span){0}; /* what comes next has to wait, or has not */
        if (e->kind != CG_USES_SCRATCH)
            continue;
        uint32_t from = place_of(c, e, &before), to = from + e->span.to;
        e->span = (cg_span){from, to, e->span.of_warp};
        before = (cg_span){from, (to + ALIGN - 1) & ~(uint32_t)(ALIGN - 1), 0};
        s->scratch_bytes = to > s->scratch_bytes ? to : s->scratch_bytes;
        if (e->op->effects->beside_rings && to > s->rings_at)
            s->rings_at = to;
    }
}

static cg_span slots_of(const cg_sharing *s, const cg_ring *ring)
{
    uint32_t from = s->rings_at + ring->offset;
    return (cg_span){from, from + ring->slots * ring->slot_bytes, 0};
}

/* Those of which threads read what they copied lie anywhere. */
static uint32_t alignment_of_rings(const cg_sharing *s)
{
    enum { LINE = 128 };
    uint32_t align = LINE;
    for (uint32_t i = 0; i < s->effect_count; i++)
        if (s->effects[i]->ring && !s->effects[i]->ring->by_threads)
            align = CG_ENCODING_ALIGN;
    return align;
}

static void place_rings(const cg_func *c, cg_sharing *s)
{
    uint32_t align = c->groups ? CG_ENCODING_ALIGN : alignment_of_rings(s);
    s->rings_at = (s->rings_at + align - 1) & ~(align - 1);
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
    if (!s) {
        cg_no_memory(c);
        return;
    }
    s->ring_bytes = cg_ring_bytes(c);
    find_in(&x, c->ir->body);
    s->effect_count = x.count;
    if (c->failed || !(s->effects = list(&x)))
        return;
    place_scratch(c, s);
    place_rings(c, s);
}

void cg_dump_shared(cg_func *c, bc_text *out)
{
    cg_say_sharing(c, out);
    cg_dump_ops(c, out);
}
