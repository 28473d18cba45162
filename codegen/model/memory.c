/* Shared memory in a model: rings, the bytes of each op, and barriers. */
#include "codegen/analysis/ring.h"
#include "codegen/model/build.h"
#include "codegen/values/effects.h"

/* ---- rings ---- */

static const char *copied_by(const cg_ring *ring)
{
    static const char *const who[] = {[CG_RING_OF_BLOCK] = "all threads",
                                      [CG_RING_OF_THREADS] = "each thread what it reads itself",
                                      [CG_RING_OF_GROUPS] = "the threads of the producers",
                                      [CG_RING_OF_MAPS] = "the copy engine, by tensor maps"};
    return who[ring->role];
}

/* Fills in a ring from its op. False: out of memory. */
static bool build_ring(cg_func *c, cg_model_ring *out, const ct_op *op, uint32_t number)
{
    const cg_ring *ring = op->detail;
    cg_model_load *loads = bc_new(&c->arena, cg_model_load, ring->load_count + 1u);
    for (uint32_t i = 0; loads && i < ring->load_count; i++)
        loads[i] = (cg_model_load){.number = ring->loads[i].op ? ring->loads[i].op->number : CG_NO_INDEX,
                                   .bytes = cg_ring_load_bytes(&ring->loads[i]),
                                   .offset = ring->loads[i].offset};
    *out = (cg_model_ring){.op = number,
                           .slots = ring->slots,
                           .slot_bytes = ring->slot_bytes,
                           .ahead = cg_ring_distance(ring),
                           .copied = copied_by(ring),
                           .why = ring->why,
                           .by_groups = cg_is_between_groups(ring),
                           .is_async = ring->async,
                           .freed_later = ring->end == CG_FREE_ITERATION_LATER,
                           .loads = loads,
                           .load_count = ring->load_count};
    return loads != NULL;
}

void cg_build_rings(cg_building *b)
{
    uint32_t count = 0;
    const ct_block *body = b->c->ir->body;
    for (const ct_op *op = body->first; op; op = ct_next_op(op, body))
        count += op->opcode == CT_ring;
    b->rings = bc_new(&b->c->arena, cg_model_ring, count + 1u);
    b->ring_details = bc_new(&b->c->arena, const cg_ring *, count + 1u);
    b->failed = b->failed || !b->rings || !b->ring_details;
    for (const ct_op *op = body->first; op && !b->failed; op = ct_next_op(op, body))
        if (op->opcode == CT_ring) {
            b->ring_details[b->model.ring_count] = op->detail;
            b->failed = !build_ring(b->c, &b->rings[b->model.ring_count++], op, cg_number_of(b, op));
        }
    b->model.rings = b->rings;
}

static uint32_t number_of_ring(const cg_building *b, const cg_ring *ring)
{
    for (uint32_t i = 0; i < b->model.ring_count; i++)
        if (b->ring_details[i] == ring)
            return i;
    return CG_NO_INDEX;
}

uint32_t cg_ring_number(const cg_building *b, const ct_op *op)
{
    const ct_value *ring = ct_ring_of(op);
    const ct_op *maker = op->opcode == CT_ring ? op : ring ? ring->op : NULL;
    return maker && maker->opcode == CT_ring ? number_of_ring(b, maker->detail) : CG_NO_INDEX;
}

/* ---- bytes over time ---- */

/* The span of a ring, from the first op that uses it to the last one. */
static cg_model_span span_of_ring(const cg_building *b, uint32_t ring, uint32_t rings_at)
{
    const cg_ring *r = b->ring_details[ring];
    cg_model_span s = {.first = b->model.rings[ring].op, .ring = ring, .from = rings_at + r->offset};
    s.last = s.first;
    s.to = s.from + r->slots * r->slot_bytes;
    for (uint32_t i = 0; i < b->model.op_count; i++)
        if (b->ops[i].ring == ring)
            s.last = i > s.last ? i : s.last;
    return s;
}

static bool is_scratch(const cg_effect *e)
{
    return e->kind == CG_USES_SCRATCH && e->span.to > e->span.from;
}

static void build_meetings(cg_building *b, const cg_sharing *s)
{
    cg_model_meeting *meetings = bc_new(&b->c->arena, cg_model_meeting, s->effect_count + 1u);
    b->failed = b->failed || !meetings;
    for (uint32_t i = 0; i < s->effect_count && meetings; i++)
        if (s->effects[i]->before != CG_NOBODY)
            meetings[b->model.meeting_count++] = (cg_model_meeting){.op = cg_number_of(b, s->effects[i]->op),
                                                                    .by_warp = s->effects[i]->before == CG_EACH_WARP};
    b->model.meetings = meetings;
}

void cg_build_spans(cg_building *b)
{
    const cg_sharing *s = b->c->sharing;
    cg_model_span *spans = bc_new(&b->c->arena, cg_model_span, s->effect_count + b->model.ring_count + 1u);
    b->failed = b->failed || !spans;
    for (uint32_t i = 0; i < b->model.ring_count && spans; i++) {
        cg_model_span span = span_of_ring(b, i, s->rings_at);
        b->rings[i].from = span.from;
        spans[b->model.span_count++] = span;
    }
    for (uint32_t i = 0; i < s->effect_count && spans; i++) {
        const cg_effect *e = s->effects[i];
        uint32_t op = is_scratch(e) ? cg_number_of(b, e->op) : CG_NO_INDEX;
        if (op != CG_NO_INDEX)
            spans[b->model.span_count++] = (cg_model_span){.first = op,
                                                           .last = op,
                                                           .from = e->span.from,
                                                           .to = e->span.to,
                                                           .of_warp = e->span.of_warp,
                                                           .ring = CG_NO_INDEX};
    }
    b->model.spans = spans;
    build_meetings(b, s);
}
