/* Weighs plans of a kernel; see the header. */
#include "codegen/weight.h"

#include <stddef.h>
#include <string.h>

#include "codegen/analysis/product.h"
#include "codegen/analysis/ring.h"
#include "codegen/kernel/groups.h"
#include "codegen/kernel/limits.h"
#include "codegen/kernel/remarks.h"
#include "codegen/plan/again.h"
#include "codegen/plan/budget.h"
#include "codegen/ptx/emit.h"
#include "codegen/assume.h"
#include "codegen/promises.h"

bool cg_begin_kernel(cg_func *c)
{
    bc_arena_init(&c->arena, &c->m->arena.allocator, 0);
    c->arena.tells = (int32_t)(offsetof(cg_func, failed) - offsetof(cg_func, arena));
    if (!(c->ir = ct_import(c->f, &c->arena)) || !cg_assume(c)
        || !cg_find_promises(c->m, c->f, &c->arena, &c->promises)) {
        cg_no_memory(c);
        return false;
    }
    cg_set_warps(c);
    return true;
}

double cg_registers_at_most(const cg_func *c)
{
    double all = CG_REGISTERS / (double)cg_all_threads(c);
    return all < CG_THREAD_REGISTERS ? all : CG_THREAD_REGISTERS;
}

/* Do threads read tiles from their own slots, in every version of the kernel's loops that is likely to run? */
static bool reads_own_slots(const cg_func *c)
{
    bool reads = false;
    for (const ct_op *op = c->ir->body->first; op; op = ct_next_op(op, c->ir->body)) {
        if (op->likely)
            return false;
        reads = reads || (op->opcode == CT_ring && ((const cg_ring *)op->detail)->role == CG_RING_OF_THREADS);
    }
    return reads && !c->is_versioned;
}

/* Do tiles stay in shared memory for the loops that follow (codegen/plan/keep.c)? */
static bool keeps_tiles(const cg_func *c)
{
    for (const ct_op *op = c->ir->body->first; op; op = ct_next_op(op, c->ir->body))
        if (op->opcode == CT_ring && ((const cg_ring *)op->detail)->again)
            return true;
    return false;
}

/* Are several iterations of a loop executed together (codegen/plan/unroll.c)? */
static bool unrolls(const cg_func *c)
{
    for (const ct_op *op = c->ir->body->first; op; op = ct_next_op(op, c->ir->body))
        if (op->unrolled)
            return true;
    return false;
}

/* Bytes of memory that stages are of, in accesses shorter than 16 bytes or in others. */
static uint64_t bytes_ahead(const cg_func *c, bool is_short)
{
    uint64_t bytes = 0;
    for (const ct_op *op = c->ir->body->first; op; op = ct_next_op(op, c->ir->body))
        if (op->opcode == CT_ring)
            bytes += cg_ring_memory_bytes(op->detail, is_short);
    return bytes;
}

static bool adds_up(const cg_func *c)
{
    for (const ct_op *op = c->ir->body->first; op; op = ct_next_op(op, c->ir->body))
        if (cg_is_product(op) && cg_product_of(c, op).adds_up)
            return true;
    return false;
}

/* The operands of products by mma.sync that warps compute from tiles in slots as fragments. */
static uint32_t made_of_slots(const cg_func *c)
{
    uint32_t made = 0;
    for (const ct_op *op = c->ir->body->first; op; op = ct_next_op(op, c->ir->body))
        made |= cg_is_product(op) && op->way == CT_FRAGMENTS ? op->held : 0u;
    return made;
}

/* Do several warpgroups share the rows of a product whose left operand they compute, so that each computes all of it?
 */
static bool repeats_rows(const cg_func *c)
{
    for (const ct_op *op = c->ir->body->first; op; op = ct_next_op(op, c->ir->body))
        if (cg_is_product(op) && op->results[0].type->shape[0] <= CG_WARPGROUP_ROWS && cg_computes_left(c, op))
            return c->warp_bits > CG_WARPGROUP_BITS;
    return false;
}

/* Is there a loop of a version that is as likely to run as another one (codegen/passes/lift.c), and loads tiles in the
   iterations that need them? */
static bool loads_late(const cg_func *c)
{
    for (const ct_op *op = c->ir->body->first; op; op = ct_next_op(op, c->ir->body))
        for (const ct_op *in = op->likely ? op->regions[0]->first : NULL; in; in = ct_next_op(in, op->regions[0]))
            if (ct_is_load(in))
                return true;
    return false;
}

/* The loop with the longest iterations, of versions that are as likely to run as others none; NULL: there is none. */
static const cg_loop_cost *longest_loop(const cg_kernel_cost *cost)
{
    const cg_loop_cost *most = NULL;
    for (uint32_t i = 0; i < cost->loop_count; i++)
        if (!cost->loops[i].loop->likely && (!most || cost->loops[i].taken > most->taken))
            most = &cost->loops[i];
    return most;
}

/* Finds how long the loop takes beside the resource that it needs most; DRAM is shared through L2. */
static void weigh_waits(const cg_kernel_cost *cost, const cg_loop_cost *loop, cg_weight *w)
{
    double most = 0;
    for (uint32_t r = 0; loop && r < CG_RESOURCES; r++)
        most = loop->cycles[r] > most && r != CG_DRAM ? loop->cycles[r] : most;
    w->waits = most > 0 ? loop->taken / (cost->shares * most) : 1;
    w->shares = most > 0 && loop->cycles[CG_SHARED_MEMORY] >= most;
}

/* The iterations of a loop, of which one that is not known reads a row of usual length. */
static double iterations_of(const cg_loop_cost *l)
{
    const ct_block *body = l->loop->regions[0];
    for (const ct_op *op = body->first; op && l->iterations < 0 && l->loop->opcode == OP_for; op = op->next)
        if (op->opcode == CT_staged || ct_is_load(op))
            return cg_iterations_taken(l->loop, op->results[0].type);
    return l->iterations < 0 ? CG_UNKNOWN_ITERATIONS : l->iterations;
}

/* Finds the cycles of a block with rows of usual length: with rows that stay in L2, and if all that its loops bring
   from there comes from DRAM. */
static void weigh_rows(const cg_kernel_cost *cost, cg_weight *w)
{
    double slower = 1;
    for (uint32_t i = 0; i < cost->loop_count; i++) {
        const double *of = cost->loops[i].cycles;
        slower = of[CG_DRAM] > slower * of[CG_L2] && of[CG_L2] > 0 ? of[CG_DRAM] / of[CG_L2] : slower;
    }
    w->rereads = w->reads = cost->cycles;
    for (uint32_t i = 0; i < cost->loop_count; i++) {
        const cg_loop_cost *l = &cost->loops[i];
        const double counted = l->iterations < 0 ? CG_UNKNOWN_ITERATIONS : l->iterations, usual = iterations_of(l),
                     own = l->taken / cost->shares, again = slower * l->cycles[CG_L2];
        w->reads += (usual - counted) * own;
        w->rereads += usual * (again > own ? again : own) - counted * own;
    }
}

/* What its loops load, and how. */
static void weigh_loads(cg_func *c, const cg_kernel_cost *cost, cg_weight *w)
{
    const uint64_t in_short = bytes_ahead(c, true), in_long = bytes_ahead(c, false);
    for (uint32_t i = 0; i < cost->loop_count; i++)
        w->stages = cost->loops[i].stages > w->stages ? cost->loops[i].stages : w->stages;
    w->has_short = in_short || c->is_versioned;
    w->is_short = in_short > in_long || c->is_versioned;
    w->fills_cache = w->is_short || (in_short && in_short == in_long);
    w->loads_late = loads_late(c);
    w->keeps = keeps_tiles(c);
    w->again = c->again_bytes;
    if (w->again > 0 || w->keeps)
        weigh_rows(cost, w);
    w->is_fed = reads_own_slots(c);
    w->fills = !c->groups && cg_block_is_alone(c);
    weigh_waits(cost, longest_loop(cost), w);
}

/* What is predicted for a kernel that has been compiled up to its cost. */
static cg_weight weight_of(cg_func *c)
{
    cg_weight w = {.cycles = 0};
    const cg_kernel_cost *cost = c->failed ? NULL : c->cost;
    if (cost && cost->registers * cost->machine->threads_enough < cost->machine->registers)
        w = (cg_weight){.cycles = cost->cycles, .busy = cost->busy};
    w.compiles = !c->failed;
    w.share = cost ? cost->cycles : 0;
    w.adds_up = w.compiles && adds_up(c);
    w.made = w.compiles ? made_of_slots(c) : 0;
    w.repeats = w.compiles && repeats_rows(c);
    w.is_pair = c->paired;
    w.is_divided = c->groups;
    w.by_threads = c->groups && !c->groups->by_maps;
    w.is_persistent = c->takes_over;
    w.wanted = cost && !c->groups ? cost->wanted : 0;
    w.short_of = w.wanted / cg_registers_at_most(c);
    w.held = cost ? cost->wanted : 0;
    w.warp_bits = cg_real_warp_bits(c);
    w.strip_bits = c->strip_bits;
    w.shared = cost ? cost->shared : 0;
    w.resident = cost ? cost->shares << w.warp_bits : 0;
    w.together = w.compiles && unrolls(c);
    if (cost)
        weigh_loads(c, cost, &w);
    return w;
}

/* ---- plans ---- */

/* A plan that has been weighed. It lives as long as the kernel, so that no plan is compiled twice. */
typedef struct cg_trial {
    struct cg_trial *older;
    cg_choices choices;
    cg_launch launch;
    tv_compile_options options; /* without remarks */
    cg_written written;
    cg_func kernel; /* compiled up to the prediction of its cost */
    cg_weight weight;
} cg_trial;

/* What is assumed of parameters is the same in all choices of a kernel. */
static bool are_choices(const cg_choices *a, const cg_choices *b)
{
    return memcmp(a, b, offsetof(cg_choices, assumed)) == 0;
}

/* The plan with these choices; NULL: it has not been weighed. gpu: NULL for any. */
static cg_trial *find_trial(const cg_func *c, const cg_choices *choices, const cg_gpu *gpu)
{
    cg_trial *t = c->trials;
    while (t && !(are_choices(&t->choices, choices) && (!gpu || t->launch.gpu == *gpu)))
        t = t->older;
    return t;
}

static void compile_trial(const cg_func *c, const cg_watch *watch, cg_trial *t)
{
    const cg_watch to_cost = cg_watch_to_weigh(watch);
    t->options = c->options ? *c->options : (tv_compile_options){.target = NULL};
    t->options.remarks = (tv_remark_sink){.report = NULL};
    t->written = (cg_written){.ptx = c->target->ptx};
    t->kernel = (cg_func){.m = c->m,
                          .f = c->f,
                          .target = c->target,
                          .options = &t->options,
                          .launch = &t->launch,
                          .choices = &t->choices,
                          .written = &t->written,
                          .is_weighed = true};
    if (cg_begin_kernel(&t->kernel))
        cg_run_passes(&t->kernel, &to_cost);
    t->weight = weight_of(&t->kernel);
}

cg_weight cg_weigh_on(cg_func *c, const cg_watch *watch, const cg_choices *choices, cg_gpu gpu)
{
    cg_trial *t = find_trial(c, choices, &gpu);
    if (t)
        return t->weight;
    if (!(t = bc_new(&c->arena, cg_trial, 1))) {
        cg_no_memory(c);
        return (cg_weight){.cycles = 0};
    }
    *t = (cg_trial){.older = c->trials, .choices = *choices, .launch = {.gpu = gpu}};
    c->trials = t;
    compile_trial(c, watch, t);
    if (t->kernel.status == TV_NO_MEMORY || t->kernel.arena.failed)
        cg_no_memory(c);
    return t->weight;
}

cg_weight cg_weigh(cg_func *c, const cg_watch *watch, const cg_choices *choices)
{
    return cg_weigh_on(c, watch, choices, cg_gpu_of(c->target));
}

cg_func *cg_go_on(cg_func *c, cg_watch *watch)
{
    cg_trial *t = find_trial(c, cg_choices_of(c), NULL);
    if (!t || t->kernel.failed || t->kernel.is_rough || cg_remarks_wanted(c) || c->witness || cg_watches(watch))
        return c;
    *watch = cg_watch_weighed(watch);
    t->kernel.is_weighed = false;
    t->kernel.cost = NULL;
    t->kernel.launch = c->launch;
    t->kernel.sink = c->sink;
    t->kernel.written = c->written;
    return &t->kernel;
}

void cg_end_kernel(cg_func *c)
{
    for (cg_trial *t = c->trials; t; t = t->older)
        bc_arena_release(&t->kernel.arena);
    bc_arena_release(&c->arena);
}

void cg_take(cg_func *c, cg_choices *room, const cg_choices *best)
{
    *room = *best;
    c->choices = room;
    cg_set_warps(c);
}

void cg_take_cheaper(cg_func *c, cg_choices *room, const cg_choices *best, const char *plan, const cg_weight *then,
                     const cg_weight *usual)
{
    cg_take(c, room, best);
    cg_remark(c, NULL, CG_REMARK_ChosenByCost, TV_REMARK_PASSED,
              "{Plan=%s}: about {Cycles=%.0f} cycles of a block instead of {UsualCycles=%.0f}", plan, then->share,
              usual->share);
}

void cg_take_fuller(cg_func *c, cg_choices *room, const cg_choices *best, const cg_weight *then, uint32_t usual)
{
    const bool has_stages = best->stages && best->stages != cg_choices_of(c)->stages;
    cg_take(c, room, best);
    cg_remark(c, NULL, CG_REMARK_ChosenByCost, TV_REMARK_PASSED,
              "{Warps=%u} warps{Stages=%s}: about {Resident=%u} are on a multiprocessor at a time instead of "
              "{UsualResident=%u}",
              1u << then->warp_bits, has_stages ? ", two stages" : "", then->resident, usual);
}

/* Does the shared memory of all blocks leave L1 only the smallest part of the memory that both share? */
static bool crowds_cache(const cg_func *c, const cg_weight *w)
{
    return (double)cg_blocks_weighed(w) * (w->shared + CG_SYSTEM_SHARED)
           > cg_machine_of(c->target)->shared_beside_kib * 1024;
}

/* The fewest stages that leave L1 room. Without products, where three stages of all blocks fill shared memory, copies
   to one stage of each are more than enough to keep memory busy (`bytes_ahead`). But a scan waits for its tile in each
   iteration, and two stages leave it that of the next one only. */
static uint32_t fewest_stages(const cg_func *c)
{
    return cg_has_products(c->ir->body) || cg_scans(c) ? CG_SLOTS_IN_FLIGHT : CG_FEWEST_STAGES;
}

/* outside: blocks that fewer stages make room for stay out. */
static void leave_cache(cg_func *c, const cg_watch *watch, cg_choices *room, const cg_weight *now, bool outside)
{
    cg_choices fewer = *cg_choices_of(c);
    if (!now->stages || !crowds_cache(c, now))
        return;
    for (fewer.stages = now->stages - 1; fewer.stages >= fewest_stages(c); fewer.stages--) {
        fewer.blocks = 0;
        cg_weight then = cg_weigh(c, watch, &fewer);
        if (outside && then.resident > now->resident) {
            fewer.blocks = cg_blocks_weighed(now);
            then = cg_weigh(c, watch, &fewer);
        }
        if (c->failed || then.resident != now->resident || then.is_divided != now->is_divided)
            return;
        if (crowds_cache(c, &then))
            continue;
        cg_take(c, room, &fewer);
        cg_remark(c, NULL, CG_REMARK_ChosenByCost, TV_REMARK_PASSED,
                  "at most {Stages=%u} stages%s: short accesses pass through L1, for which more of them leave little "
                  "room",
                  fewer.stages, fewer.blocks ? ", and no more blocks on a multiprocessor" : "");
        return;
    }
}

void cg_leave_cache(cg_func *c, const cg_watch *watch, cg_choices *room, const cg_weight *now)
{
    if (now->is_short)
        leave_cache(c, watch, room, now, false);
}

void cg_keep_blocks_out(cg_func *c, const cg_watch *watch, cg_choices *room, const cg_weight *now)
{
    if (now->fills_cache && !now->is_divided)
        leave_cache(c, watch, room, now, true);
}
