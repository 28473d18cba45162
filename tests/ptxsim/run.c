/* Launching: blocks, clusters, the order in which warps run; groups of lanes; reports. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/ptxsim/sim.h"

enum {
    SLICE_STEPS = 1 << 18, /* that a cluster gets before the next one's turn */
    QUANTUM_STEPS = 96,    /* most that a warp gets before another's turn */
    FAIR_AFTER = 4000,     /* steps of a divided warp until groups other than the first get a turn */
    IDLE_YIELDS = 20000,   /* yields without progress that count as a deadlock */
    MAX_SHARED = 227 * 1024
};

/* ---- memory, random numbers ---- */

void *ps_alloc(size_t count, size_t size)
{
    void *p = calloc(count ? count : 1, size ? size : 1);
    if (!p) {
        fputs("ptxsim: out of memory\n", stderr);
        exit(1);
    }
    return p;
}

void *ps_grow(void *items, size_t count, size_t *size, size_t item_bytes)
{
    if (count < *size)
        return items;
    size_t wanted = *size ? *size * 2 : 16;
    void *grown = realloc(items, wanted * item_bytes);
    if (!grown) {
        fputs("ptxsim: out of memory\n", stderr);
        exit(1);
    }
    *size = wanted;
    return grown;
}

uint64_t ps_random(ptxsim *sim)
{
    uint64_t x = sim->random += UINT64_C(0x9E3779B97F4A7C15);
    x = (x ^ x >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    x = (x ^ x >> 27) * UINT64_C(0x94D049BB133111EB);
    return x ^ x >> 31;
}

/* ---- reports ---- */

static const char *const check_names[PTXSIM_CHECK_COUNT] = {
#define REPORT(name, text) text,
#include "tests/ptxsim/reports.def"
};

const char *ptxsim_check_name(ptxsim_check check)
{
    return check_names[check];
}

static ptxsim_report *report_at(ptxsim *sim, ptxsim_check check, uint32_t line)
{
    for (size_t i = 0; i < sim->report_count; i++)
        if (sim->reports[i].check == check && sim->reports[i].line == line) {
            sim->reports[i].count++;
            return NULL;
        }
    sim->reports = ps_grow(sim->reports, sim->report_count, &sim->report_size, sizeof *sim->reports);
    ptxsim_report *r = &sim->reports[sim->report_count++];
    *r = (ptxsim_report){.check = check, .line = line, .count = 1, .comment = ""};
    if (sim->report_count >= sim->report_limit)
        sim->stopped = true;
    return r;
}

static void report_text(ptxsim *sim, ptxsim_report *r, const char *format, va_list args)
{
    char text[400];
    vsnprintf(text, sizeof text, format, args);
    r->text = bc_arena_dup(&sim->run_arena, bc_str(text)).ptr;
}

void ps_report(ps_warp *w, const ps_insn *in, int lane, ptxsim_check check, const char *format, ...)
{
    ptxsim_report *r = w->sim->launch->ignored >> check & 1 ? NULL : report_at(w->sim, check, in ? in->line : 0);
    if (!r)
        return;
    unsigned first = 0;
    while (lane < 0 && first < 31 && !(w->live >> first & 1))
        first++;
    memcpy(r->block, w->block->id, sizeof r->block);
    r->thread = w->index * PS_LANES + (lane < 0 ? first : (uint32_t)lane);
    r->comment = in ? in->comment : "";
    va_list args;
    va_start(args, format);
    report_text(w->sim, r, format, args);
    va_end(args);
}

/* About the launch as a whole. */
static void report_launch(ptxsim *sim, ptxsim_check check, const char *format, ...) TV_PRINTF(3, 4);
static void report_launch(ptxsim *sim, ptxsim_check check, const char *format, ...)
{
    ptxsim_report *r = report_at(sim, check, 0);
    if (!r)
        return;
    va_list args;
    va_start(args, format);
    report_text(sim, r, format, args);
    va_end(args);
}

/* ---- groups of lanes ---- */

void ps_split(ps_warp *w, uint32_t mask, uint32_t pc)
{
    ps_group *g = ps_current(w);
    if (mask == g->mask) {
        g->pc = pc;
        w->moved = true;
    } else {
        g->mask &= ~mask;
        w->groups[w->group_count++] = (ps_group){.mask = mask, .pc = pc};
    }
}

void ps_exit_lanes(ps_warp *w, uint32_t mask)
{
    ps_group *g = ps_current(w);
    g->mask &= ~mask;
    w->live &= ~mask;
    w->sim->progress++;
    if (w->live)
        return;
    ps_copies_finish(w);
    if (--w->block->live_warps == 0)
        ps_tmem_end(w);
    w->block->cluster->live_warps--;
    ps_barriers_recheck(w->block);
    ps_cluster_recheck(w->block->cluster);
}

static void remove_group(ps_warp *w, uint32_t index)
{
    w->groups[index] = w->groups[--w->group_count];
}

static bool can_merge(const ps_group *g)
{
    return (g->state == PS_RUN || g->state == PS_AT_SYNC) && !g->released;
}

/* Groups that stand at one instruction become one. */
static void merge_groups(ps_warp *w)
{
    for (uint32_t i = 0; i < w->group_count; i++)
        for (uint32_t k = i + 1; k < w->group_count;)
            if (w->groups[i].pc == w->groups[k].pc && can_merge(&w->groups[i]) && can_merge(&w->groups[k])) {
                w->groups[i].mask |= w->groups[k].mask;
                w->groups[i].state = PS_RUN;
                remove_group(w, k);
            } else {
                k++;
            }
}

/* The group to run next becomes the current one. False: none can run. */
static bool pick_group(ps_warp *w)
{
    if (w->group_count == 1) {
        w->current = 0;
        if (w->groups[0].state == PS_AT_SYNC) { /* nobody is left who could come */
            w->groups[0].state = PS_RUN;
            w->forced = true;
        }
        return w->groups[0].state == PS_RUN;
    }
    bool found = false, at_barrier = false;
    bool fair = ++w->since_switch > FAIR_AFTER;
    uint32_t start = fair ? (uint32_t)ps_random(w->sim) % w->group_count : 0;
    if (w->since_switch > FAIR_AFTER + 64)
        w->since_switch = 0;
    for (uint32_t n = 0; n < w->group_count; n++) {
        uint32_t i = (start + n) % w->group_count;
        at_barrier = at_barrier || w->groups[i].state == PS_AT_BARRIER;
        if (w->groups[i].state != PS_RUN || (found && (fair || w->groups[i].pc >= w->groups[w->current].pc)))
            continue;
        w->current = i;
        found = true;
    }
    if (found || at_barrier || !w->group_count)
        return found;
    /* All wait for each other: the first goes on, and reports who is missing. */
    w->current = 0;
    for (uint32_t i = 1; i < w->group_count; i++)
        if (w->groups[i].pc < w->groups[w->current].pc)
            w->current = i;
    w->groups[w->current].state = PS_RUN;
    w->forced = true;
    return true;
}

bool ps_converged(ps_warp *w, const ps_insn *in, uint32_t active, uint32_t mask)
{
    uint32_t gone = mask & ~w->live, missing = mask & w->live & ~active, not_member = active & ~mask;
    ps_group *g = ps_current(w);
    if (not_member)
        ps_report(w, in, -1, PTXSIM_INACTIVE_LANES, "'%s': lanes 0x%08x execute it and are not in its mask 0x%08x",
                  in->opcode, (unsigned)not_member, (unsigned)mask);
    if (gone)
        ps_report(w, in, -1, PTXSIM_INACTIVE_LANES, "'%s': lanes 0x%08x of its mask 0x%08x have exited", in->opcode,
                  (unsigned)gone, (unsigned)mask);
    if (!missing)
        return true;
    if (!w->forced && !(missing & g->mask)) {
        g->state = PS_AT_SYNC;
        return false;
    }
    w->forced = false;
    ps_report(w, in, -1, PTXSIM_INACTIVE_LANES, "'%s': lanes 0x%08x of its mask 0x%08x are not there", in->opcode,
              (unsigned)missing, (unsigned)mask);
    return true;
}

void ps_check_aligned(ps_warp *w, const ps_insn *in, uint32_t active)
{
    if (active != w->live)
        ps_report(w, in, -1, PTXSIM_DIVERGENT, "'%s' is .aligned, and only lanes 0x%08x of 0x%08x execute it",
                  in->opcode, (unsigned)active, (unsigned)w->live);
}

/* ---- one step ---- */

static uint32_t guarded(ps_warp *w, const ps_insn *in, uint32_t mask)
{
    if (in->guard < 0)
        return mask;
    uint32_t holds = w->predicates[in->guard];
    if (mask & ~w->predicate_known[in->guard])
        ps_report(w, in, -1, PTXSIM_UNINITIALISED_REGISTER, "the guard of '%s' has no value yet", in->opcode);
    return mask & (in->guard_negated ? ~holds : holds);
}

/* False: the warp has nothing to run now. */
static bool step(ps_warp *w)
{
    if (!w->live || !pick_group(w))
        return false;
    ps_group *g = ps_current(w);
    const ps_insn *in = &w->sim->module.code[g->pc];
    uint32_t active = guarded(w, in, g->mask);
    w->sim->steps++;
    ps_flow flow = active ? in->exec(w, in, active) : PS_NEXT;
    if (flow != PS_WAIT)
        ps_use_step(w, in, active);
    if (flow == PS_NEXT) {
        g->pc++;
    } else if (flow == PS_JUMPED) {
        if (!g->mask)
            remove_group(w, w->current);
        else if (!w->moved)
            g->pc++;
        w->moved = false;
    }
    w->yielded = w->yielded || (flow == PS_WAIT && g->state != PS_AT_SYNC);
    if (w->group_count > 1)
        merge_groups(w);
    if (w->group_count == 1)
        w->since_switch = 0;
    return true;
}

/* Runs a warp for a while. False: it could not do anything. */
static bool run_warp(ps_warp *w, uint32_t quantum)
{
    bool any = false;
    w->yielded = false;
    for (uint32_t i = 0; i < quantum && !w->sim->stopped; i++) {
        if (!step(w))
            break;
        any = true;
        if (w->yielded)
            break;
    }
    return any;
}

/* ---- blocks and clusters ---- */

static void free_cluster(ps_cluster *c)
{
    for (uint32_t b = 0; c->blocks && b < c->size; b++) {
        ps_block *block = &c->blocks[b];
        for (uint32_t i = 0; i < block->warp_count; i++) {
            ps_warp *w = &block->warps[i];
            free(w->rows);
            free(w->row_known);
            free(w->predicates);
            free(w->return_pc);
            free(w->local);
            free(w->times);
            free(w->copies);
            free(w->acquired);
            free(w->row_epoch);
            free(w->fence_seen);
            ps_wgmma_free(w);
        }
        ps_tmem_free(block);
        for (unsigned i = 0; i < PS_BARRIERS; i++)
            free(block->barriers[i].times);
        for (size_t i = 0; i < block->mbarrier_count; i++)
            free(block->mbarriers[i].times);
        free(block->mbarriers);
        free(block->warps);
        free(block->shared);
        free(block->shadow);
    }
    ps_pages_release(&c->pages);
    free(c->grid_times);
    free(c->blocks);
    free(c->readers);
    free(c->barrier.times);
    free(c->published);
    free(c->transfers);
    ps_arrivals_forget(c);
    free(c->arrivals);
    free(c);
}

static ps_cluster *new_cluster(ptxsim *sim)
{
    const ps_module *m = &sim->module;
    ps_cluster *c = ps_alloc(1, sizeof *c);
    uint32_t threads = sim->block[0] * sim->block[1] * sim->block[2];
    uint64_t align = m->dynamic_align,
             shared = (sim->entry->shared_bytes + align - 1) / align * align + sim->launch->dynamic_shared;
    c->pages.bytes = sizeof(ps_shadow);
    c->size = sim->cluster[0] * sim->cluster[1] * sim->cluster[2];
    c->blocks = ps_alloc(c->size, sizeof *c->blocks);
    for (uint32_t b = 0; b < c->size; b++) {
        ps_block *block = &c->blocks[b];
        *block = (ps_block){.sim = sim,
                            .cluster = c,
                            .rank = b,
                            .thread_count = threads,
                            .warp_count = (threads + PS_LANES - 1) / PS_LANES,
                            .shared_bytes = shared};
        block->warps = ps_alloc(block->warp_count, sizeof *block->warps);
        block->shared = ps_alloc((size_t)shared, 1);
        block->shadow = ps_alloc((size_t)(shared >> m->granule_log2) + 1, sizeof *block->shadow);
        for (uint32_t i = 0; i < block->warp_count; i++)
            block->warps[i] = (ps_warp){.sim = sim, .block = block, .index = i, .clock_index = c->warp_count + i};
        c->warp_count += block->warp_count;
    }
    c->clock_count = c->warp_count * (m->has_tensor_memory ? 4 : 1);
    c->barrier.times = ps_alloc(c->clock_count, sizeof(uint32_t));
    c->published = ps_alloc(c->clock_count, sizeof(uint32_t));
    for (uint32_t b = 0; b < c->size; b++) {
        ps_block *block = &c->blocks[b];
        for (unsigned i = 0; i < PS_BARRIERS; i++)
            block->barriers[i].times = ps_alloc(c->clock_count, sizeof(uint32_t));
        for (uint32_t i = 0; i < block->warp_count; i++) {
            ps_warp *w = &block->warps[i];
            w->rows = ps_alloc(m->rows, sizeof *w->rows);
            w->row_known = ps_alloc(m->rows, sizeof(uint32_t));
            w->row_epoch = ps_alloc(m->rows, sizeof(uint32_t));
            w->predicates = ps_alloc((size_t)m->predicates * 2, sizeof(uint32_t));
            w->predicate_known = w->predicates + m->predicates;
            w->return_pc = ps_alloc(m->function_count, sizeof *w->return_pc);
            w->local = ps_alloc((size_t)m->local_bytes, PS_LANES);
            w->times = ps_alloc((size_t)c->clock_count * 4, sizeof(uint32_t));
            w->fenced = w->times + c->clock_count;
            w->seen = w->fenced + c->clock_count;
            w->proxied = w->seen + c->clock_count;
            w->fence_seen = ps_alloc(c->clock_count, sizeof(uint32_t));
        }
    }
    return c;
}

static void start_warp(ps_warp *w)
{
    const ps_module *m = &w->sim->module;
    uint32_t threads = w->block->thread_count - w->index * PS_LANES;
    memset(w->row_known, 0, m->rows * sizeof *w->row_known);
    memset(w->predicate_known, 0, m->predicates * sizeof *w->predicate_known);
    memset(w->return_pc, 0, m->function_count * sizeof *w->return_pc);
    memset(w->local, PS_POISON, (size_t)m->local_bytes * PS_LANES);
    memset(w->times, 0, (size_t)w->block->cluster->clock_count * 4 * sizeof *w->times);
    memset(w->fence_seen, 0, w->block->cluster->clock_count * sizeof *w->fence_seen);
    memset(w->row_epoch, 0, m->rows * sizeof *w->row_epoch);
    ps_wgmma_start(w);
    w->times[w->clock_index] = 1;
    w->live = w->started = threads >= PS_LANES ? PS_ALL : ((uint32_t)1 << threads) - 1;
    w->groups[0] = (ps_group){.mask = w->live, .pc = w->sim->entry->entry};
    w->group_count = 1;
    w->current = w->carry = w->since_switch = w->cluster_phase = 0;
    w->has_seen = w->yielded = w->forced = w->moved = false;
    w->copy_count = w->acquired_count = w->arrivals = 0;
    memset(w->copy_group, 0, sizeof w->copy_group);
    memset(w->bulk_group, 0, sizeof w->bulk_group);
}

/* Sets a cluster up to run the one with that number. */
static void start_cluster(ps_cluster *c, uint64_t number)
{
    ptxsim *sim = c->blocks[0].sim;
    const ps_module *m = &sim->module;
    uint64_t across = sim->grid[0] / sim->cluster[0], down = sim->grid[1] / sim->cluster[1];
    uint64_t corner[3] = {number % across, number / across % down, number / across / down};
    c->live_warps = c->warp_count;
    ps_pages_clear(&c->pages);
    ps_grid_enter(c, number);
    c->reader_count = c->transfer_count = 0;
    ps_arrivals_forget(c);
    c->yields = 0;
    memset(c->published, 0, c->clock_count * sizeof *c->published);
    memset(c->barrier.times, 0, c->clock_count * sizeof *c->barrier.times);
    c->barrier.arrived = c->barrier.result[0] = 0;
    for (uint32_t b = 0; b < c->size; b++) {
        ps_block *block = &c->blocks[b];
        uint32_t place[3] = {b % sim->cluster[0], b / sim->cluster[0] % sim->cluster[1],
                             b / sim->cluster[0] / sim->cluster[1]};
        for (unsigned i = 0; i < 3; i++)
            block->id[i] = (uint32_t)corner[i] * sim->cluster[i] + place[i];
        block->live_warps = block->warp_count;
        memset(block->shared, PS_POISON, (size_t)block->shared_bytes);
        memset(block->shadow, 0, ((size_t)(block->shared_bytes >> m->granule_log2) + 1) * sizeof *block->shadow);
        for (unsigned i = 0; i < PS_BARRIERS; i++) {
            uint32_t *times = block->barriers[i].times;
            memset(times, 0, c->clock_count * sizeof *times);
            block->barriers[i] = (ps_barrier){.times = times, .all = 1};
        }
        for (size_t i = 0; i < block->mbarrier_count; i++)
            block->mbarriers[i].live = false;
        for (uint32_t i = 0; i < block->warp_count; i++)
            start_warp(&block->warps[i]);
        ps_tmem_start(block);
    }
}

/* Says of each warp that is stuck where it stands. */
static void report_deadlock(ps_cluster *c)
{
    for (uint32_t b = 0; b < c->size; b++)
        for (uint32_t i = 0; i < c->blocks[b].warp_count; i++) {
            ps_warp *w = &c->blocks[b].warps[i];
            for (uint32_t g = 0; w->live && g < w->group_count; g++) {
                const ps_insn *in = &w->sim->module.code[w->groups[g].pc];
                const ps_barrier *barrier = &c->blocks[b].barriers[w->groups[g].barrier];
                if (w->groups[g].state == PS_AT_BARRIER)
                    ps_report(w, in, -1, PTXSIM_DEADLOCK,
                              "'%s': warp %u waits at barrier %u for ever; %u threads have arrived, %s", in->opcode,
                              (unsigned)i, w->groups[g].barrier, (unsigned)barrier->arrived,
                              barrier->expected == UINT32_MAX ? "all must" : "more must");
                else
                    ps_report(w, in, -1, PTXSIM_DEADLOCK, "'%s': warp %u waits here for ever", in->opcode, (unsigned)i);
            }
        }
}

/* Gives the warps of a cluster turns. False: it cannot go on. */
static bool run_cluster(ps_cluster *c, bool alone)
{
    ptxsim *sim = c->blocks[0].sim;
    uint64_t end = sim->steps + SLICE_STEPS;
    uint32_t per_block = c->blocks[0].warp_count;
    while (c->live_warps && sim->steps < end && !sim->stopped) {
        uint64_t random = ps_random(sim);
        uint32_t start = (uint32_t)random % c->warp_count, quantum = 1 + (uint32_t)(random >> 32) % QUANTUM_STEPS;
        bool any = ps_transfers_progress(c, false) || ps_arrivals_progress(c, false);
        for (uint32_t n = 0; n < c->warp_count && !any; n++) {
            uint32_t i = (start + n) % c->warp_count;
            ps_warp *w = &c->blocks[i / per_block].warps[i % per_block];
            any = w->live && run_warp(w, quantum);
            c->yields += any && w->yielded;
        }
        if (c->progress != sim->progress) {
            c->progress = sim->progress;
            c->yields = 0;
        }
        if (!any || (c->yields > IDLE_YIELDS && alone)) {
            if (ps_transfers_progress(c, true) || ps_arrivals_progress(c, true))
                continue;
            report_deadlock(c);
            return false;
        }
        if (sim->steps >= sim->step_limit) {
            report_launch(sim, PTXSIM_STEP_LIMIT, "stopped after %llu instructions of warps",
                          (unsigned long long)sim->steps);
            sim->stopped = true;
        }
        if (c->yields > IDLE_YIELDS)
            return true; /* something outside may change what it waits for */
    }
    return true;
}

/* Whether clusters wait for each other for ever: each has had enough turns since anything changed, and no copy of any
   of them is outstanding. One that is completes here. */
static bool are_stuck(const ptxsim *sim, ps_cluster *const *clusters, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (clusters[i]->yields <= IDLE_YIELDS || clusters[i]->progress != sim->progress)
            return false;
    for (uint32_t i = 0; i < count; i++)
        if (ps_transfers_progress(clusters[i], true) || ps_arrivals_progress(clusters[i], true))
            return false;
    return true;
}

static void run_grid(ptxsim *sim)
{
    ps_cluster *resident[PS_MAX_RESIDENT], *spare = NULL;
    uint64_t total = 1, next = 0;
    uint32_t count = 0;
    for (unsigned i = 0; i < 3; i++)
        total *= sim->grid[i] / sim->cluster[i];
    ps_grid_start(sim, total);
    bool all_wait = true;
    while ((next < total || count) && !sim->stopped) {
        if (next < total && (count == 0 || (all_wait && count < PS_MAX_RESIDENT))) {
            ps_cluster *c = spare ? spare : new_cluster(sim);
            spare = NULL;
            start_cluster(c, next++);
            resident[count++] = c;
        }
        all_wait = true;
        bool full = next == total || count == PS_MAX_RESIDENT;
        bool alone = full && (count == 1 || are_stuck(sim, resident, count));
        for (uint32_t i = 0; i < count && !sim->stopped;) {
            ps_cluster *c = resident[i];
            bool goes_on = run_cluster(c, alone);
            if (goes_on && c->live_warps) {
                i++;
                continue;
            }
            all_wait = false;
            if (goes_on)
                ps_transfers_finish(c);
            resident[i] = resident[--count];
            if (spare)
                free_cluster(c);
            else
                spare = c;
            if (!goes_on)
                sim->stopped = true;
        }
    }
    for (uint32_t i = 0; i < count; i++)
        free_cluster(resident[i]);
    if (spare)
        free_cluster(spare);
    ps_grid_end(sim);
}

/* ---- the interface ---- */

static const ps_function *find_entry(ptxsim *sim, const char *name)
{
    const ps_function *found = NULL;
    for (size_t i = 0; i < sim->module.function_count; i++) {
        const ps_function *f = sim->module.functions[i];
        if (!f->is_entry || !f->is_defined)
            continue;
        if (name ? strcmp(f->name, name) == 0 : !found)
            found = f;
        else if (!name)
            return NULL;
    }
    return found;
}

static bool is_zero(const uint32_t v[3])
{
    return v[0] == 0 && v[1] == 0 && v[2] == 0;
}

/* Sizes of grid, block and cluster; false after a report. */
static bool check_launch(ptxsim *sim, const ptxsim_launch *launch)
{
    const ps_function *f = sim->entry;
    uint64_t threads = 1, blocks = 1, cluster = 1;
    memcpy(sim->grid, launch->grid, sizeof sim->grid);
    memcpy(sim->block, is_zero(launch->block) ? f->reqntid : launch->block, sizeof sim->block);
    memcpy(sim->cluster, is_zero(launch->cluster) ? f->cluster : launch->cluster, sizeof sim->cluster);
    if (is_zero(sim->cluster))
        sim->cluster[0] = sim->cluster[1] = sim->cluster[2] = 1;
    for (unsigned i = 0; i < 3; i++) {
        sim->grid[i] *= f->counts_clusters && sim->grid[i] <= UINT16_MAX ? sim->cluster[i] : 1;
        threads *= sim->block[i];
        blocks *= sim->grid[i];
        cluster *= sim->cluster[i];
        if (sim->cluster[i] == 0 || sim->grid[i] % sim->cluster[i]) {
            report_launch(sim, PTXSIM_LAUNCH, "a cluster of %u blocks in dimension %u does not divide the grid of %u",
                          (unsigned)sim->cluster[i], i, (unsigned)sim->grid[i]);
            return false;
        }
        if (!is_zero(f->reqntid) && sim->block[i] != f->reqntid[i]) {
            report_launch(sim, PTXSIM_LAUNCH, "the block has %u threads in dimension %u, .reqntid says %u",
                          (unsigned)sim->block[i], i, (unsigned)f->reqntid[i]);
            return false;
        }
    }
    uint64_t most = is_zero(f->maxntid) ? 1024 : (uint64_t)f->maxntid[0] * f->maxntid[1] * f->maxntid[2];
    uint64_t shared = f->shared_bytes + launch->dynamic_shared;
    if (threads == 0 || threads > most || blocks == 0 || cluster > PS_MAX_CLUSTER || shared > MAX_SHARED) {
        report_launch(sim, PTXSIM_LAUNCH,
                      "%llu threads (at most %llu), %llu blocks, %llu blocks in a cluster (at most %d), %llu bytes of "
                      "shared memory (at "
                      "most %d)",
                      (unsigned long long)threads, (unsigned long long)most, (unsigned long long)blocks,
                      (unsigned long long)cluster, PS_MAX_CLUSTER, (unsigned long long)shared, MAX_SHARED);
        return false;
    }
    return true;
}

bool ptxsim_run(ptxsim *sim, const ptxsim_launch *launch)
{
    bc_arena_release(&sim->run_arena);
    bc_arena_init(&sim->run_arena, NULL, 0);
    bc_text_clear(&sim->output);
    sim->report_count = 0;
    sim->report_limit = launch->report_limit ? launch->report_limit : 16;
    sim->step_limit = launch->step_limit ? launch->step_limit : UINT64_C(1) << 30;
    sim->steps = 0;
    sim->stopped = false;
    sim->random = launch->seed;
    sim->launch = launch;
    ps_uses_start(sim);
    sim->entry = find_entry(sim, launch->entry);
    if (!sim->entry) {
        report_launch(sim, PTXSIM_LAUNCH, "no entry '%s'", launch->entry ? launch->entry : "(the only one)");
        return false;
    }
    if (!check_launch(sim, launch))
        return false;
    sim->params = ps_alloc((size_t)sim->entry->param_bytes, 1);
    for (uint32_t i = 0; i < sim->entry->param_count; i++) {
        const ps_var *v = sim->entry->params[i].var;
        if (v && launch->params)
            memcpy(sim->params + v->address, launch->params[i], (size_t)v->size);
    }
    run_grid(sim);
    free(sim->params);
    sim->params = NULL;
    sim->launch = NULL;
    return sim->report_count == 0;
}

ptxsim *ptxsim_load(const char *text, size_t size, char *error, size_t error_size)
{
    ptxsim *sim = ps_alloc(1, sizeof *sim);
    bc_arena_init(&sim->module.arena, NULL, 0);
    bc_arena_init(&sim->run_arena, NULL, 0);
    bc_text_init(&sim->report_text, NULL);
    bc_text_init(&sim->output, NULL);
    if (!ps_parse(&sim->module, text, size, error, error_size)) {
        ptxsim_free(sim);
        return NULL;
    }
    ps_wgmma_check_loops(&sim->module);
    const char *multiprocessors = getenv("PTXSIM_MULTIPROCESSORS");
    sim->multiprocessors = multiprocessors ? (uint32_t)strtoul(multiprocessors, NULL, 10) : 1;
    ptxsim_buffers_clear(sim);
    return sim;
}

void ptxsim_as_triton(ptxsim *sim)
{
    sim->module.is_triton = true;
}

static void free_heap(ptxsim *sim)
{
    for (size_t i = 0; i < sim->buffer_count; i++)
        if (sim->buffers[i].is_heap)
            free(sim->buffers[i].bytes);
    sim->heap_bytes = 0;
}

void ptxsim_free(ptxsim *sim)
{
    if (!sim)
        return;
    bc_arena_release(&sim->module.arena);
    bc_arena_release(&sim->run_arena);
    bc_text_release(&sim->report_text);
    bc_text_release(&sim->output);
    free(sim->module.code);
    free(sim->module.functions);
    free(sim->module.variables);
    free_heap(sim);
    free(sim->buffers);
    free(sim->published);
    free(sim->uses);
    free(sim->reports);
    free(sim);
}

size_t ptxsim_entry_count(const ptxsim *sim)
{
    return sim->module.entry_count;
}

const ptxsim_entry *ptxsim_entry_at(const ptxsim *sim, size_t index)
{
    return &sim->module.entries[index];
}

const ptxsim_entry *ptxsim_entry_find(const ptxsim *sim, const char *name)
{
    for (size_t i = 0; i < sim->module.entry_count; i++)
        if (strcmp(sim->module.entries[i].name, name) == 0)
            return &sim->module.entries[i];
    return NULL;
}

static void insert_buffer(ptxsim *sim, ps_buffer buffer)
{
    sim->buffers = ps_grow(sim->buffers, sim->buffer_count, &sim->buffer_size, sizeof *sim->buffers);
    size_t i = sim->buffer_count++;
    for (; i > 0 && sim->buffers[i - 1].address > buffer.address; i--)
        sim->buffers[i] = sim->buffers[i - 1];
    sim->buffers[i] = buffer;
}

uint64_t ptxsim_buffer_add(ptxsim *sim, void *bytes, size_t size, const char *name)
{
    uint64_t address = sim->next_address;
    ptxsim_buffer_add_at(sim, address, bytes, size, name);
    sim->next_address = (address + size + 4096 + 255) / 256 * 256;
    return address;
}

void ptxsim_buffer_add_at(ptxsim *sim, uint64_t address, void *bytes, size_t size, const char *name)
{
    const char *kept = bc_arena_dup(&sim->module.arena, bc_str(name ? name : "")).ptr;
    insert_buffer(sim, (ps_buffer){.address = address, .size = size, .bytes = bytes, .name = kept});
}

uint64_t ps_heap_new(ptxsim *sim, uint64_t size)
{
    enum { HEAP_BYTES = 8 << 20 };
    if (size > HEAP_BYTES - sim->heap_bytes)
        return 0;
    uint8_t *bytes = ps_alloc((size_t)size + 1, 1);
    memset(bytes, PS_POISON, (size_t)size);
    uint64_t address = sim->next_address;
    insert_buffer(sim,
                  (ps_buffer){.address = address, .size = size, .bytes = bytes, .name = "malloc", .is_heap = true});
    sim->next_address = (address + size + 4096 + 255) / 256 * 256;
    sim->heap_bytes += size;
    return address;
}

bool ps_heap_delete(ptxsim *sim, uint64_t address)
{
    for (size_t i = 0; i < sim->buffer_count; i++) {
        ps_buffer *b = &sim->buffers[i];
        if (!b->is_heap || b->address != address)
            continue;
        free(b->bytes);
        sim->heap_bytes -= b->size;
        memmove(b, b + 1, (--sim->buffer_count - i) * sizeof *b);
        sim->last_buffer = 0;
        return true;
    }
    return false;
}

void ptxsim_buffers_clear(ptxsim *sim)
{
    free_heap(sim);
    sim->buffer_count = sim->last_buffer = 0;
    sim->next_address = PS_BUFFERS;
    for (size_t i = 0; i < sim->module.variable_count; i++)
        insert_buffer(sim, sim->module.variables[i]);
}

size_t ptxsim_report_count(const ptxsim *sim)
{
    return sim->report_count;
}

const ptxsim_report *ptxsim_report_at(const ptxsim *sim, size_t index)
{
    return &sim->reports[index];
}

const char *ptxsim_report_text(ptxsim *sim)
{
    bc_text *t = &sim->report_text;
    bc_text_clear(t);
    for (size_t i = 0; i < sim->report_count; i++) {
        const ptxsim_report *r = &sim->reports[i];
        bc_text_printf(t, "line %u: %s: %s\n", (unsigned)r->line, ptxsim_check_name(r->check), r->text);
        if (r->line)
            bc_text_printf(t, "   in block (%u,%u,%u), thread %u; %llu times%s%s\n", (unsigned)r->block[0],
                           (unsigned)r->block[1], (unsigned)r->block[2], (unsigned)r->thread,
                           (unsigned long long)r->count, *r->comment ? "; // " : "", r->comment);
    }
    return t->ptr ? t->ptr : "";
}

const char *ptxsim_output(const ptxsim *sim)
{
    return sim->output.ptr ? sim->output.ptr : "";
}

uint64_t ptxsim_steps(const ptxsim *sim)
{
    return sim->steps;
}
