/* How long iterations of a loop take because of their rings and of other blocks; see the header. */
#include "codegen/cost/waits.h"

#include "codegen/kernel/groups.h"

enum { PUT = 8 /* instructions for a word that producers put back */ };

static cg_occupied *occupied_of(cg_waits *w, const cg_ring *ring)
{
    uint32_t i = 0;
    while (i < w->count && w->rings[i].ring != ring)
        i++;
    if (i == CG_WAITED_RINGS)
        return NULL;
    if (i == w->count)
        w->rings[w->count++] = (cg_occupied){.ring = ring};
    return &w->rings[i];
}

void cg_waits_at(cg_waits *w, const ct_op *op, double now)
{
    const cg_ring *ring = op->opcode == CT_await || op->opcode == CT_release ? cg_ring_of(op, 0) : NULL;
    cg_occupied *slot = ring ? occupied_of(w, ring) : NULL;
    if (slot && op->opcode == CT_await)
        slot->since = now;
    else if (slot)
        slot->cycles = now - slot->since;
}

/* Words of a slot that each producer thread loads, rounds or transposes, and writes back. */
static double words_put(const cg_func *c, const cg_ring *ring)
{
    enum { WORD = 4 };
    double bytes = 0;
    for (uint32_t i = 0; i < ring->load_count; i++)
        bytes += cg_is_put(&ring->loads[i]) ? cg_ring_load_bytes(&ring->loads[i]) : 0;
    return c->groups ? bytes / WORD / CG_PRODUCER_THREADS : 0;
}

/* The iterations whose copies are in flight at a time. */
static uint32_t copies_ahead(const cg_ring *ring)
{
    bool whole = cg_is_between_groups(ring) && ring->end != CG_FREE_ITERATION_LATER;
    return whole ? ring->slots : cg_ring_distance(ring);
}

/* A copy takes the latency of memory and the time in which its bytes are moved. */
static double copy_of(const cg_machine *m, const cg_waits *w, const cg_ring *ring)
{
    return w->multiplies ? m->l2_latency + ring->slot_bytes / m->l2_bytes : m->dram_latency;
}

/* As many copies as run ahead are on their way at a time. Where consumers release slots, a slot is also occupied while
   its tile is read. */
static double arrival_of(const cg_machine *m, cg_waits *w, const cg_ring *ring)
{
    uint32_t ahead = copies_ahead(ring);
    const cg_occupied *slot = cg_is_between_groups(ring) && ahead == ring->slots ? occupied_of(w, ring) : NULL;
    return ahead ? (copy_of(m, w, ring) + (slot ? slot->cycles : 0)) / ahead : 0;
}

void cg_add_waits(const cg_func *c, const cg_machine *m, cg_waits *w, cg_loop_cost *cost)
{
    double taken = cost->alone, own = 0;
    for (const ct_op *op = cost->loop->regions[0]->first; op; op = op->next) {
        const cg_ring *ring = op->opcode == CT_await ? cg_ring_of(op, 0) : NULL;
        if (!ring)
            continue;
        double put = words_put(c, ring) * PUT / m->issue_of_a_warp, arrival = arrival_of(m, w, ring);
        taken = put > taken ? put : taken;
        taken = arrival > taken ? arrival : taken;
        if (!copies_ahead(ring)) { /* each iteration starts its own copies, and awaits them */
            own = copy_of(m, w, ring);
            continue;
        }
        cost->stages = ring->slots > cost->stages ? ring->slots : cost->stages;
        cost->in_flight += copies_ahead(ring) * ring->slot_bytes;
    }
    cost->alone = taken + own;
}

/* Mean value analysis of a closed queue: a block that comes to the resource finds as many others there as there are on
   average while one block fewer takes part. */
double cg_time_in_queue(double alone, double each, double blocks)
{
    double least = each > alone ? each : alone, taken = least, waiting = 0;
    for (double n = 1; n <= blocks && least > 0; n++) {
        double used = each * (1 + waiting);
        taken = used + least - each;
        waiting = n * used / taken;
    }
    return taken;
}
