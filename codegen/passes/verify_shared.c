/* Checks what the shared pass leaves; see the header. */
#include "codegen/analysis/encoding.h"
#include "codegen/kernel/groups.h"
#include "codegen/passes/pass.h"
#include "codegen/values/effects.h"

static bool is_faulty(ct_fault *fault, const ct_op *op, const char *what)
{
    *fault = (ct_fault){op, what};
    return false;
}

static bool fits(const cg_func *c, const cg_effect *e)
{
    const cg_sharing *s = c->sharing;
    const cg_span *span = &e->span;
    uint32_t all = c->groups ? c->groups->shared : cg_static_shared(c->target);
    bool whole = !span->of_warp || span->of_warp << cg_real_warp_bits(c) == span->to - span->from;
    uint32_t end = e->op->effects->beside_rings && s->ring_bytes ? s->rings_at : s->scratch_bytes;
    return span->from < span->to && span->to <= end && span->to <= all && whole;
}

/* The op whose ring begins in the memory of that one, which has not ended; NULL: none. */
static const ct_op *find_ring_beside(const cg_sharing *s, const cg_effect *fills)
{
    for (uint32_t i = fills->number + 1; i < s->effect_count; i++) {
        const cg_effect *e = s->effects[i];
        if (e->kind == CG_READS_RING && e->ring == fills->ring)
            return NULL;
        if (e->kind == CG_FILLS_RING && e->span.from < fills->span.to && fills->span.from < e->span.to)
            return e->op;
    }
    return NULL;
}

/* The op whose ring begins while another one, in the same memory, has not ended; NULL: none. Between groups each ring
   has its own. */
static const ct_op *find_second_ring(const cg_sharing *s)
{
    const ct_op *second = NULL;
    for (uint32_t i = 0; i < s->effect_count && !second; i++)
        if (s->effects[i]->kind == CG_FILLS_RING)
            second = find_ring_beside(s, s->effects[i]);
    return second;
}

bool cg_verify_shared(cg_func *c, ct_fault *out_fault)
{
    const cg_sharing *s = c->sharing;
    uint32_t all = c->groups ? c->groups->shared : cg_static_shared(c->target);
    if (!s)
        return true;
    if (s->ring_bytes && (s->rings_at % (c->groups ? CG_ENCODING_ALIGN : 16) || s->rings_at + s->ring_bytes > all))
        return is_faulty(out_fault, NULL, "rings do not lie where there is room for them");
    for (uint32_t i = 0; i < s->effect_count; i++)
        if (s->effects[i]->kind == CG_USES_SCRATCH && !fits(c, s->effects[i]))
            return is_faulty(out_fault, s->effects[i]->op, "its scratch does not lie where there is room for it");
    const ct_op *second = find_second_ring(s);
    return !second || is_faulty(out_fault, second, "its ring lies where another one still is");
}
