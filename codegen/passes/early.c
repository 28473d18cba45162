/* Prefetches loads into registers if they cannot use a ring in shared memory, because their accesses are short, their
   elements are scattered, or their pointers are carried. The loop loads the tile of the next iteration before it
   computes with the current one, which it carries:

       for i = first to end step {              %f, %is = later first, end, step {0}
         ...                                    %t0 = if %is { load of %f; yield } else { yield 0 }
         %t = load                              for i = first to end step, %t = %t0 {
         ... uses of %t ...               =>      %j, %more = later i, end, step {1}
       }                                          %next = if %more { load of %j; yield } else { yield 0 }
                                                  ... uses of %t ...
                                                  continue %next
                                                }

   The operands of the load are computed again for the next iteration: from its counter, and from carried values, for
   which the values that this iteration passes on are used if they can be computed at its head. A load that provides the
   address of another one is prefetched two iterations ahead, so that its result is available when the other one starts.
   The loads pass plans this, and the expand pass carries it out, after loops have their rings. Why it is right: %more
   is the condition of the loop, so that no load is executed that the kernel does not execute, and
   codegen/plan/early_find.c decides which loads may be moved. */
#include "codegen/plan/early.h"

#include "codegen/analysis/product.h"
#include "codegen/analysis/ring.h"
#include "codegen/cost/cost.h"
#include "codegen/kernel/groups.h"
#include "codegen/kernel/limits.h"
#include "codegen/kernel/remarks.h"
#include "codegen/passes/loads.h"
#include "codegen/rewrite/pipeline.h"

typedef struct early {
    cg_func *c;
    ct_op *loop;
    cg_scheduled *loads;
    uint32_t count, distance; /* iterations */
} early;

/* ---- which ---- */

/* The registers that prefetched loads use, and those that other tiles use; the most of a thread with which as many
   blocks share a multiprocessor as without prefetched loads, and how many of those that ptxas leaves for the chosen
   blocks tiles can have. */
typedef struct purse {
    uint32_t used, held, most, of_tiles;
} purse;

/* The blocks that share a multiprocessor beside the loop's rings. */
static uint32_t blocks_beside_rings(const cg_func *c, const ct_op *loop)
{
    const cg_plan *plan = cg_plan_of(loop);
    uint32_t used = plan ? plan->ring->slots * plan->ring->slot_bytes : 0;
    used += plan && plan->beside ? plan->beside->slots * plan->beside->slot_bytes : 0;
    return cg_blocks_of_shared(c, used);
}

/* A tile of a product whose address comes from memory is not worth a block: its address is prefetched without it, and
   other blocks multiply while it is awaited. On an H200, four such kernels of five seeds are 1.21 to 1.52 times as fast
   without it; where it costs no block, two would be 0.88 and 0.95. Warps of groups have registers by their budget. */
static purse purse_of(cg_func *c, const ct_op *loop)
{
    purse w = {.held = cg_early_held(c, loop->regions[0]), .most = UINT32_MAX};
    const uint32_t of_a_block = (uint32_t)cg_machine_of(c->target)->registers / cg_all_threads(c),
                   most = blocks_beside_rings(c, loop);
    uint32_t blocks = of_a_block / cg_registers_wanted(c, w.held);
    blocks = blocks < most ? blocks : most;
    if (!c->groups && blocks && cg_product_in(loop->regions[0]))
        w.most = of_a_block / blocks;
    const uint32_t chosen = cg_choices_of(c)->occupancy, beside = (uint32_t)cg_machine_of(c->target)->registers_mma;
    blocks = blocks > chosen ? blocks : chosen;
    w.of_tiles = of_a_block / (blocks ? blocks : 1) - beside;
    return w;
}

static bool pay(const cg_func *c, purse *w, const cg_early_row *row, const cg_early_plan *p)
{
    uint32_t want = w->used + p->distance * p->registers;
    bool fits = want <= row->most && want + w->held <= row->all
                && (!p->takes_source || cg_registers_wanted(c, want + w->held) <= w->most)
                && (row->kind != CG_EARLY_SECOND || want + w->held <= w->of_tiles);
    w->used = fits ? want : w->used;
    return fits;
}

static void tell(const cg_func *c, const ct_op *load, const cg_early_row *row, const purse *w)
{
    const cg_early_plan *p = load->detail;
    cg_remark(c, load, CG_REMARK_LoadAhead, TV_REMARK_PASSED,
              "loaded ahead: {Iterations=%u} iterations, into {Registers=%u} of {Most=%u} registers, with {Held=%u} "
              "for other tiles, because {Why=%s}",
              p->distance, p->distance * p->registers, row->most, w->held, p->why);
}

/* Schedules the load: its tile is passed on as it is loaded. */
static void add_load(early *x, ct_op *load)
{
    const cg_early_plan *p = load->detail;
    for (uint32_t i = 0; i < load->result_count; i++) {
        load->results[i].apart = p->apart;
        load->results[i].in_word = p->in_word;
    }
    load->detail = NULL;
    x->loads[x->count++] =
        (cg_scheduled){.op = load, .shift = (int32_t)x->distance, .place = x->loop->regions[0]->first};
}

/* The registers that a load's address would take are not there. */
static const char no_source[] = "too few registers are left for the load of its address";

/* Chooses the loads that are prefetched at that distance, as long as registers are left; every load gets a
   remark. */
static void choose_loads(early *x, purse *w)
{
    const ct_block *body = x->loop->regions[0];
    for (ct_op *op = body->first; op; op = op->next) {
        cg_early_plan *p = ct_is_load(op) ? op->detail : NULL;
        if (!p || p->distance != x->distance)
            continue;
        const cg_early_row *row = cg_early_row_of(cg_early_kind_of(x->c, body, op, p));
        const char *why = cg_early_obstacle(x->c, body, op, p); /* groups or skew may have rewritten it */
        if (!why && pay(x->c, w, row, p)) {
            tell(x->c, op, row, w);
            add_load(x, op);
        } else {
            cg_early_tell_why_not(x->c, op, p->why, !why ? row->why : p->takes_source ? no_source : why);
            op->detail = NULL;
        }
    }
}

static uint32_t planned_in(const ct_block *body)
{
    uint32_t count = 0;
    for (const ct_op *op = body->first; op; op = op->next)
        count += ct_is_load(op) && op->detail;
    return count;
}

ct_op *cg_load_early(cg_func *c, ct_op *loop)
{
    uint32_t planned = planned_in(loop->regions[0]);
    if (!planned)
        return loop;
    purse w = purse_of(c, loop);
    for (uint32_t distance = 2; distance > 0 && !c->failed; distance--) {
        early x = {.c = c, .loop = loop, .distance = distance, .loads = bc_new(&c->arena, cg_scheduled, planned)};
        cg_pipelined out;
        if (!x.loads)
            return loop;
        choose_loads(&x, &w);
        if (x.count && cg_pipeline(c, &(cg_schedule){.loop = loop, .ops = x.loads, .count = x.count}, &out))
            loop = out.loop;
    }
    return loop;
}
