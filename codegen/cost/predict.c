/* Predicts how long a kernel takes. It walks through a thread block in program order: an op begins when the previous
   one has been issued and its operands are available; products in flight overlap the ops after them. This gives the
   time of an iteration in a block that runs alone on a multiprocessor. The resources that all its blocks use give a
   lower bound. The longer time counts, and names the bound. In warp-specialised kernels, it walks through the
   consumers, with four warps on their own at a time; copies count where they are awaited. */
#include "codegen/cost/cost.h"

#include <math.h>
#include <string.h>

#include "codegen/analysis/order.h"
#include "codegen/analysis/ring.h"
#include "codegen/cost/traffic.h"
#include "codegen/cost/waits.h"
#include "codegen/kernel/groups.h"
#include "codegen/kernel/limits.h"
#include "codegen/values/strips.h"
#include "codegen/values/values.h"

enum {
    TWICE_BELOW = 3 /* surrounding loops, below which an iteration is walked through twice */
};

static const char *const names[CG_RESOURCES] = {
    "tensor cores", "shared memory", "instructions", "instructions at half rate", "special functions",
    "L2",           "DRAM",          "atomics"};

typedef struct walk {
    cg_func *c;
    cg_kernel_cost *k;
    const cg_machine *m;
    const cg_launch *launch;
    const cg_trip *trip;
    double *ready; /* by value id */
    double now, tensor_free;
    double cycles[CG_RESOURCES]; /* of the region that is being walked through */
    double blocks, streams, warps, times;
    cg_traffic moved;
    cg_waits waits;
    uint32_t depth;
    bool multiplies, fills, counts, known;
} walk;

static double most_of(const double *cycles, bool multiplies, uint32_t *out_which)
{
    double most = 0;
    *out_which = 0;
    for (uint32_t r = 0; r < CG_RESOURCES; r++)
        if (cycles[r] > most && !(r == CG_DRAM && multiplies)) { /* blocks share operands of products through L2 */
            most = cycles[r];
            *out_which = r;
        }
    return most;
}

/* ---- an op ---- */

/* Cycles for which four warps, or all warps of a block without groups, are busy with the work when they run alone. */
static double busy_with(const walk *x, const cg_work *w)
{
    double warps = x->warps / x->streams, schedulers = warps < CG_SCHEDULERS ? warps : CG_SCHEDULERS;
    double rate = warps * x->m->issue_of_a_warp < schedulers ? warps * x->m->issue_of_a_warp : schedulers;
    double busy = w->cycles[CG_ISSUE] * CG_SCHEDULERS / rate,
           others[] = {w->cycles[CG_HALF] * CG_SCHEDULERS / schedulers,
                       w->cycles[CG_SPECIAL] * CG_SCHEDULERS / schedulers, w->cycles[CG_SHARED_MEMORY],
                       w->cycles[CG_ATOMICS]};
    for (uint32_t i = 0; i < TV_COUNT(others); i++)
        busy = others[i] > busy ? others[i] : busy;
    return busy / x->streams;
}

/* The end of an iteration only hands on values: ops of the next one wait for what they read. */
static double start_of(const walk *x, const ct_op *op)
{
    double start = x->now;
    for (uint32_t i = 0; i < op->operand_count && op->opcode != OP_continue; i++) {
        bool adds_on = i == 2 && op->in_flight; /* it adds to the registers of the product before it */
        double ready = x->ready[op->operands[i]->id];
        start = ready > start && !adds_on ? ready : start;
    }
    return start;
}

static void give(walk *x, const ct_op *op, double ready)
{
    for (uint32_t i = 0; i < op->result_count; i++)
        x->ready[op->results[i].id] = ready;
}

static void multiply(walk *x, const ct_op *op, const cg_work *w, double start)
{
    double busy = w->cycles[CG_TENSOR_CORES], shared = w->cycles[CG_SHARED_MEMORY];
    busy = (shared > busy ? shared : busy) / x->streams;
    start = x->tensor_free > start ? x->tensor_free : start;
    x->tensor_free = start + busy;
    if (!op->in_flight)
        x->now = x->tensor_free + w->latency;
    give(x, op, x->tensor_free + w->latency);
}

static void step(walk *x, const ct_op *op)
{
    cg_work w = cg_work_of(x->c, x->m, op);
    double start = start_of(x, op);
    double part = cg_part_from_dram(&x->moved, op, x->times, x->counts);
    w.cycles[CG_DRAM] *= part;
    if (w.latency == x->m->dram_latency && (x->multiplies || part < 0.5))
        w.latency = x->m->l2_latency;
    for (uint32_t r = 0; r < CG_RESOURCES; r++)
        x->cycles[r] += w.cycles[r];
    x->fills = x->fills || op->opcode == CT_ring;
    if (op->opcode == CT_await && x->fills) {
        start += x->m->dram_latency;
        x->fills = false;
    }
    if (cg_is_product(op) && w.cycles[CG_TENSOR_CORES] > 0) {
        multiply(x, op, &w, start);
        return;
    }
    bool arrives = op->opcode == CT_staged;
    x->now = start + (arrives ? 0 : busy_with(x, &w));
    give(x, op, x->now + w.latency);
    if (op->opcode == CT_await)
        x->now += w.latency;
    cg_waits_at(&x->waits, op, x->now);
}

/* ---- loops ---- */

static void walk_block(walk *x, const ct_block *block);

/* Carries the ready times at the end of an iteration to the beginning of the next one. */
static void carry(walk *x, const ct_op *loop)
{
    const ct_op *end = loop->regions[0]->last;
    uint32_t count = loop->regions[0]->arg_count, first = count - (end ? end->operand_count : 0);
    for (uint32_t i = first; end && end->operand_count <= count && i < count; i++)
        x->ready[loop->regions[0]->args[i].id] = x->ready[end->operands[i - first]->id];
}

/* The time of an iteration when no other block runs: that of the second iteration, which begins with the state after
   the first one. *out_start: how much longer the first one takes, because it waits for the first copies. */
static double walk_iterations(walk *x, const ct_op *loop, double outer[CG_RESOURCES], double *out_start)
{
    const ct_block *body = loop->regions[0];
    bool twice = x->depth < TWICE_BELOW, counts = x->counts;
    double begun, free, taken[2] = {0};
    memcpy(outer, x->cycles, sizeof x->cycles);
    for (uint32_t i = 0; i < body->arg_count; i++)
        x->ready[body->args[i].id] = x->now;
    x->depth++;
    for (uint32_t pass = 0; pass <= twice; pass++) {
        memset(x->cycles, 0, sizeof x->cycles);
        x->counts = counts && pass == twice;
        begun = x->now;
        free = x->tensor_free > begun ? x->tensor_free : begun;
        walk_block(x, body);
        taken[pass] = fmax(x->now - begun, x->tensor_free - free); /* products may still be in flight */
        carry(x, loop);
    }
    x->depth--;
    x->counts = counts;
    *out_start = taken[0] > taken[twice] ? taken[0] - taken[twice] : 0;
    return taken[twice];
}

static cg_loop_cost *cost_of(cg_kernel_cost *k, const ct_op *loop)
{
    for (uint32_t i = 0; i < k->loop_count; i++)
        if (k->loops[i].loop == loop)
            return &k->loops[i];
    k->loops[k->loop_count] = (cg_loop_cost){.loop = loop};
    return &k->loops[k->loop_count++];
}

/* The instructions of an iteration that no op stands for. */
static void add_overhead(walk *x, double *alone)
{
    x->cycles[CG_ISSUE] += x->warps * x->m->of_an_iteration / x->m->issue;
    *alone += x->m->of_an_iteration / x->m->issue_of_a_warp;
}

/* How long a block takes for so many iterations: blocks that share the multiprocessor hide how long the first iteration
   waits from each other, as far as they keep a resource busy. Producers begin a later run of the loop, or the next
   tile of a persistent kernel, before consumers come to it. If the launch is known, DRAM counts for all blocks
   together, and blocks, which begin at the same time, queue for what they need; otherwise they are taken to be at
   different places of the program. Products are started ahead and do not queue. */
static double time_of(const walk *x, const cg_loop_cost *cost, double iterations, double start)
{
    uint32_t which;
    bool launched = x->launch->grid[0] > 0, begun = x->c->takes_over || (x->c->groups && x->depth);
    double each = iterations * most_of(cost->cycles, x->multiplies || launched, &which), all = x->blocks * each;
    double chain = (begun ? 0 : start) + iterations * cost->alone;
    return launched && !x->multiplies ? cg_time_in_queue(chain, each, x->blocks) : chain > all ? chain : all;
}

/* Of a loop whose iterations are not known; of K, those of a slice. Where several are executed together, they count as
   many as they are, and those that are left, by one loop or several, do not count (codegen/rewrite/unroll.c). */
static double usual_iterations(const walk *x, const ct_op *loop)
{
    const ct_op *rest = loop->next;
    int64_t step, step_by;
    while (rest && rest->unrolled && rest->next && rest->next->unrolled)
        rest = rest->next;
    if (loop->unrolled && loop->prev && loop->prev->unrolled)
        return 0;
    bool known = loop->unrolled && rest && rest->unrolled && cg_known(x->launch, x->trip, loop->operands[2], &step)
                 && cg_known(x->launch, x->trip, rest->operands[2], &step_by) && step_by > 0 && step > 0;
    const double count = CG_UNKNOWN_ITERATIONS / (cg_product_in(loop->regions[0]) ? cg_slices(x->c) : 1.0);
    return known ? count * (double)step_by / (double)step : count;
}

static void walk_loop(walk *x, const ct_op *loop)
{
    double outer[CG_RESOURCES], times = x->times, begun = start_of(x, loop), start;
    int64_t middle;
    uint32_t which;
    double count = cg_launch_iterations(x->launch, x->trip, loop, &middle),
           real = count < 0 ? usual_iterations(x, loop) : count;
    cg_trip trip = {x->trip, loop, middle};
    cg_loop_cost cost = {.loop = loop, .iterations = count};
    x->now = begun;
    x->known = x->known && count >= 0;
    x->trip = &trip;
    x->times *= real;
    cost.alone = walk_iterations(x, loop, outer, &start);
    add_overhead(x, &cost.alone);
    x->times = times;
    x->trip = trip.outer;
    memcpy(cost.cycles, x->cycles, sizeof cost.cycles);
    cg_add_waits(x->c, x->m, &x->waits, &cost);
    double all = x->blocks * most_of(cost.cycles, x->multiplies, &which);
    cost.bound = all > cost.alone ? names[which] : "latency";
    cost.taken = all > cost.alone ? all : cost.alone;
    x->now = begun + time_of(x, &cost, real, start);
    x->tensor_free = x->now;
    for (uint32_t r = 0; r < CG_RESOURCES; r++)
        x->cycles[r] = outer[r] + real * cost.cycles[r];
    give(x, loop, x->now);
    cg_loop_cost *kept = cost_of(x->k, loop);
    if (kept->taken <= cost.taken || count > kept->iterations)
        *kept = cost;
}

static void walk_region(walk *x, const ct_op *op, uint32_t region)
{
    if (region < op->region_count && op->regions[region])
        walk_block(x, op->regions[region]);
}

static bool loads_plainly(const ct_block *block)
{
    for (const ct_op *op = block->first; op; op = op->next)
        if (op->opcode == OP_load_view_tko || op->opcode == OP_load_ptr_tko)
            return true;
    return false;
}

/* The resources of its ops are counted for whole tiles, so for all strips; the latencies of the strips add up. */
static void walk_strips(walk *x, const ct_op *op)
{
    double trips = 1;
    for (uint32_t mask = ((const cg_trips *)op->detail)->mask; mask; mask &= mask - 1)
        trips *= 2;
    x->now = start_of(x, op);
    walk_region(x, op, 0);
    if (loads_plainly(op->regions[0]))
        x->now += (trips - 1) * x->m->dram_latency;
    give(x, op, x->now);
}

/* ---- branches ---- */

/* Is the region the expected version of two, in a branch by the lift pass? */
static bool is_plain_version(const ct_op *op, uint32_t region)
{
    const ct_block *block = region < op->region_count ? op->regions[region] : NULL;
    for (const ct_op *in = block ? block->first : NULL; in; in = ct_next_op(in, block))
        if (in->plain || in->likely)
            return true;
    return false;
}

/* Counts the longer region if it is not known which one is executed, and, while bytes are counted, only its bytes: two
   versions read the same tiles. */
static void walk_branch(walk *x, const ct_op *op)
{
    int64_t condition;
    double cycles[2][CG_RESOURCES], ends[2], begun = x->now = start_of(x, op);
    bool known = cg_known(x->launch, x->trip, op->operands[0], &condition);
    if (!known && is_plain_version(op, 0) != is_plain_version(op, 1)) {
        known = true;
        condition = is_plain_version(op, 1);
    }
    if (known) {
        walk_region(x, op, !condition);
        give(x, op, x->now);
        return;
    }
    double before[CG_RESOURCES];
    cg_traffic start = x->moved, moved[2];
    memcpy(before, x->cycles, sizeof before);
    for (uint32_t way = 0; way < 2; way++) {
        x->now = begun;
        memcpy(x->cycles, before, sizeof before);
        x->moved = x->counts ? start : x->moved;
        walk_region(x, op, way);
        ends[way] = x->now;
        memcpy(cycles[way], x->cycles, sizeof before);
        moved[way] = x->moved;
    }
    uint32_t longer = ends[1] > ends[0];
    x->now = ends[longer];
    memcpy(x->cycles, cycles[longer], sizeof before);
    x->moved = x->counts ? moved[longer] : x->moved;
    give(x, op, x->now);
}

/* Consumers, the issuer and correctors, if there are any, run at the same time; producers are counted where tiles are
   awaited. */
static void walk_groups(walk *x, const ct_op *op)
{
    static const uint8_t together[] = {CG_CONSUMERS, CG_ISSUER, CG_CORRECTORS};
    double begun = x->now, end = begun;
    for (size_t i = 0; i < TV_COUNT(together); i++) {
        x->now = begun;
        walk_region(x, op, together[i]);
        end = x->now > end ? x->now : end;
    }
    x->now = end;
}

static void walk_block(walk *x, const ct_block *block)
{
    for (const ct_op *op = block->first; op; op = op->next)
        if (ct_is_loop(op) && op->regions[0])
            walk_loop(x, op);
        else if (op->opcode == OP_if)
            walk_branch(x, op);
        else if (op->opcode == CT_groups)
            walk_groups(x, op);
        else if (op->opcode == CT_strips)
            walk_strips(x, op);
        else
            step(x, op);
}

/* ---- a block ---- */

/* The time of a block while so many others share the multiprocessor; *x has the resources that it uses. */
static double walk_kernel(walk *x, double blocks)
{
    uint32_t which;
    memset(x->ready, 0, sizeof *x->ready * (x->c->ir->value_count + 1u));
    memset(x->cycles, 0, sizeof x->cycles);
    x->now = x->tensor_free = 0;
    x->blocks = blocks;
    walk_block(x, x->c->ir->body);
    bool shares = x->multiplies || x->launch->grid[0] > 0; /* then bytes from DRAM are counted for the launch */
    double all = blocks * most_of(x->cycles, shares, &which);
    return all > x->now ? all : x->now;
}

/* ---- a launch ---- */

/* The average time of the sampled blocks. */
typedef struct sample {
    double full, rest, longest; /* a block among as many as fit; a block of the last wave; the longest block */
    double cycles[CG_RESOURCES], dram;
} sample;

/* Chooses the block at that fraction of the way from the first block to the last, along each dimension. */
static void choose_block(cg_launch *one, double part)
{
    for (uint32_t d = 0; d < 3; d++)
        one->block[d] = (int64_t)(part * (double)one->grid[d]);
}

static sample look_at_blocks(walk *x, const cg_launch *launch, double blocks, double rest)
{
    enum { SAMPLES = 8 };
    cg_launch one = *launch;
    sample s = {.longest = 0};
    double count = blocks < SAMPLES ? blocks : SAMPLES;
    x->launch = &one;
    x->counts = true;
    for (double i = 0; i < count; i++) {
        choose_block(&one, (2 * i + 1) / (2 * count));
        walk_kernel(x, 1);
    }
    x->counts = false;
    s.dram = cg_share_traffic(x->c, x->k, x->launch, &x->moved, count);
    for (double i = 0; i < count; i++) {
        choose_block(&one, (2 * i + 1) / (2 * count));
        double last = rest > 0 ? walk_kernel(x, rest) : 0, full = walk_kernel(x, x->k->shares);
        s.full += full / count;
        s.rest += last / count;
        double longest = rest > 0 ? last : full; /* counts if there is a single wave */
        s.longest = longest > s.longest ? longest : s.longest;
        for (uint32_t r = 0; r < CG_RESOURCES; r++)
            s.cycles[r] += x->cycles[r] / count;
    }
    return s;
}

static const char *bound_of_kernel(const cg_kernel_cost *k)
{
    const cg_loop_cost *most = NULL;
    for (uint32_t i = 0; i < k->loop_count; i++)
        if (!most || k->loops[i].iterations * k->loops[i].taken >= most->iterations * most->taken)
            most = &k->loops[i];
    return most ? most->bound : "latency";
}

/* The time of two limits that are both near: requests arrive in bursts, so that neither is busy all the time. */
static double both(double a, double b, double exponent)
{
    double longer = a > b ? a : b, shorter = a > b ? b : a;
    return longer > 0 ? longer * pow(1 + pow(shorter / longer, exponent), 1 / exponent) : 0;
}

/* Of blocks that take turns, the last ones of the multiprocessors do not end together, and fewer and fewer of them use
   the memory. us: how long those of a multiprocessor take that run at the same time. */
static double end_of(double us)
{
    return us / 2; /* on average */
}

/* Without products, blocks that share a multiprocessor do not end together, since older warps go first: the next ones
   take their places one by one, so that a last round that is not full costs its part of a round. Blocks with products
   wait for the tensor cores in turn, and end together: a last round is one more. */
static double time_of_rounds(const walk *x, const sample *s, double on_one)
{
    double rounds = on_one / x->k->shares;
    if (rounds <= 1)
        return s->longest;
    return x->multiplies ? floor(rounds) * s->full + s->rest : rounds * s->full;
}

static void predict_launch(walk *x, const cg_launch *launch)
{
    const cg_machine *m = x->m;
    cg_kernel_cost *k = x->k;
    uint32_t which, parts = x->c->cluster ? x->c->cluster : cg_slices(x->c);
    double blocks = (double)launch->grid[0] * (double)launch->grid[1] * (double)launch->grid[2];
    cg_launch own = *launch;
    own.is_small = blocks * parts <= m->multiprocessors;
    if (x->c->in_parts && !own.is_small)
        parts = 1; /* the other thread blocks of a cluster exit */
    double on_one = ceil(blocks * parts / m->multiprocessors);
    sample s = look_at_blocks(x, &own, blocks, fmod(on_one, k->shares));
    double cycles = time_of_rounds(x, &s, on_one);
    for (uint32_t r = 0; r < CG_RESOURCES; r++)
        s.cycles[r] *= blocks * parts / m->multiprocessors;
    double least = most_of(s.cycles, true, &which);
    k->cycles = s.full / k->blocks;
    k->bound = bound_of_kernel(k);
    if (least > cycles)
        k->bound = names[which];
    cycles = least > cycles ? least : cycles;
    double rests = cycles > 0 ? s.cycles[CG_TENSOR_CORES] / cycles : 0;
    double ghz = m->clock_ghz / (1 + rests * (m->clock_ghz / m->tensor_ghz - 1)), us = cycles / ghz / 1e3;
    double from_memory = s.dram * parts / m->dram_tb / 1e6 + end_of(on_one > k->shares ? s.full / ghz / 1e3 : 0);
    if (from_memory > us)
        k->bound = names[CG_DRAM];
    k->us = x->known ? m->launch_us + both(us, from_memory, m->bursts) : -1;
}

/* Predicts one of the blocks that share a multiprocessor if the grid is not known. */
static void predict_block(walk *x)
{
    cg_kernel_cost *k = x->k;
    uint32_t which;
    k->cycles = walk_kernel(x, k->shares) / k->blocks;
    k->busy = most_of(x->cycles, x->multiplies, &which);
    k->bound = bound_of_kernel(k);
}

/* ---- a kernel ---- */

static uint32_t count_loops(const cg_func *c, bool *out_multiplies)
{
    uint32_t count = 0;
    for (const ct_op *op = c->ir->body->first; op; op = ct_next_op(op, c->ir->body)) {
        count += ct_is_loop(op);
        *out_multiplies = *out_multiplies || cg_is_product(op);
    }
    return count;
}

/* The most registers that hold tiles in loops with products, where what is spilled is spilled again and again. */
typedef struct hot {
    const ct_op *loop; /* the last one that was seen */
    bool multiplies;
    uint32_t held;
} hot;

static void see_held(void *user, const ct_op *op, uint32_t registers)
{
    hot *x = user;
    const ct_op *loop = ct_loop_around(op);
    if (loop && loop != x->loop)
        *x = (hot){.loop = loop, .multiplies = cg_product_in(loop->regions[0]), .held = x->held};
    if (loop && x->multiplies && registers > x->held)
        x->held = registers;
}

cg_kernel_cost *cg_predict(cg_func *c)
{
    const cg_launch none = {.params = NULL}, *launch = c->launch ? c->launch : &none;
    uint32_t held;
    hot in_loops = {.held = 0};
    cg_machine *machine = bc_new(&c->arena, cg_machine, 1);
    walk x = {.c = c, .m = machine, .launch = launch, .known = true, .times = 1};
    uint32_t loops = count_loops(c, &x.multiplies);
    x.waits.multiplies = x.multiplies;
    cg_kernel_cost *k = x.k = bc_new(&c->arena, cg_kernel_cost, 1);
    x.ready = bc_new(&c->arena, double, c->ir->value_count + 1u);
    if (!k || !x.ready || !machine || !(k->loops = bc_new(&c->arena, cg_loop_cost, loops + 1u))
        || !cg_registers_along(c, see_held, &in_loops, &held))
        return NULL;
    cg_machine_for(c->target, launch->gpu, machine);
    k->machine = machine;
    k->shared = cg_shared_bytes(c);
    k->us = -1;
    cg_fit(c, k, held);
    k->wanted = in_loops.held ? cg_registers_wanted(c, in_loops.held) : 0;
    x.warps = (double)(1u << cg_real_warp_bits(c));
    x.streams = c->groups && x.warps > CG_SCHEDULERS ? x.warps / CG_SCHEDULERS : 1;
    if (launch->grid[0] > 0 && launch->grid[1] > 0 && launch->grid[2] > 0)
        predict_launch(&x, launch);
    else
        predict_block(&x);
    return k;
}
