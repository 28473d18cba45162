/* Runs forwards and back, to the next stop or by steps. */
#include <stdio.h>
#include <string.h>

#include "vm/debug/state.h"

/* The goal of a step, and where it starts. */
typedef struct goal {
    vm_debug_step step;
    uint64_t block;            /* whose op it is */
    uint32_t from;             /* position */
    uint32_t first, end, body; /* of the region or loop: its op, the position behind it, the first op of its body */
} goal;

/* ---- events ---- */

static void set_end(vm_debug *d, dbg_outcome outcome, vm_debug_event *out)
{
    *out = (vm_debug_event){.why = outcome == DBG_TRAPPED       ? VM_DEBUG_TRAP
                                   : outcome == DBG_INTERRUPTED ? VM_DEBUG_INTERRUPT
                                                                : VM_DEBUG_END,
                            .position = dbg_position(d)};
    if (outcome == DBG_TRAPPED)
        snprintf(out->text, sizeof out->text, "%s: %s", bc_rules[d->run.stop.rule].id, d->run.stop.message);
    else if (outcome == DBG_INTERRUPTED && d->starved)
        snprintf(out->text, sizeof out->text, "there is no memory for another tile block");
    else if (outcome == DBG_INTERRUPTED && d->options.most_ops && d->probes.count >= d->options.most_ops)
        snprintf(out->text, sizeof out->text, "%llu ops were executed, which is the limit",
                 (unsigned long long)d->options.most_ops);
}

static void set_reached(const vm_debug *d, vm_debug_event *out)
{
    *out = (vm_debug_event){.why = VM_DEBUG_REACHED, .position = dbg_position(d)};
}

/* ---- steps ---- */

static bool same_line(const vm_debug *d, uint32_t a, uint32_t b)
{
    return d->lines[a].line && d->lines[a].line == d->lines[b].line && bc_str_eq(d->lines[a].file, d->lines[b].file);
}

static bool waits(const vm_debug *d, uint64_t block)
{
    const vm_started *s = d->turns.first;
    while (s && s->worker.frame.block_index != block)
        s = s->later;
    return s != NULL;
}

/* Whether a step ends before the op that is next. */
static bool reached(const vm_debug *d, const goal *g)
{
    uint32_t p = dbg_position(d);
    bool same = d->current->worker.frame.block_index == g->block;
    if (g->step == VM_DEBUG_BLOCK)
        return !same;
    if (!same) /* while the block waits, others run; when the block ends, so does the step */
        return !waits(d, g->block);
    switch (g->step) {
    case VM_DEBUG_LINE: return d->lines[p].starts && (!same_line(d, p, g->from) || p <= g->from);
    case VM_DEBUG_OVER:
        return d->lines[p].starts && d->depths[p] <= d->depths[g->from] && (!same_line(d, p, g->from) || p <= g->from);
    case VM_DEBUG_ITERATION: return p == g->body || p < g->first || p >= g->end;
    case VM_DEBUG_OUT: return p <= g->first || p >= g->end;
    default: return true;
    }
}

static bool is_loop(const bc_op *op)
{
    return bc_op_in(op->opcode, BC_OPS(LOOP));
}

/* Fills in the goal of the step. False: such a step is not possible here. */
static bool set_goal(const vm_debug *d, vm_debug_step step, bool back, goal *g, vm_debug_error *error)
{
    uint32_t p = dbg_position(d);
    if (!d->current || p == DBG_NONE)
        return dbg_fail(error, "the run has ended; 'back' and 'restart' go back");
    *g = (goal){.step = step, .block = d->current->worker.frame.block_index, .from = p, .end = d->op_count};
    if (step != VM_DEBUG_ITERATION && step != VM_DEBUG_OUT)
        return true;
    uint32_t around = d->parents[p];
    if (step == VM_DEBUG_ITERATION && is_loop(d->ops[p]))
        around = p;
    while (step == VM_DEBUG_ITERATION && around != DBG_NONE && !is_loop(d->ops[around]))
        around = d->parents[around];
    if (around == DBG_NONE && step == VM_DEBUG_ITERATION)
        return dbg_fail(error, "there is no loop around this op");
    if (around == DBG_NONE) { /* back: to the first op of the tile block */
        g->step = back ? VM_DEBUG_OUT : VM_DEBUG_BLOCK;
        return true;
    }
    g->first = around;
    g->end = d->ends[around];
    g->body = around + 1;
    return true;
}

/* ---- on ---- */

/* Begins the next op and, if it is marked, examines what it did. Returns the outcome; sets out and *stops if a stop is
   taken. */
static dbg_outcome go_on(vm_debug *d, uint64_t until, bool each, bool *stops, vm_debug_event *out)
{
    uint32_t position = dbg_position(d);
    uint8_t marks = d->marks[position] & (DBG_WRITES | DBG_FLOATS);
    const vm_started *s = d->current;
    *stops = false;
    if (marks)
        dbg_before_op(d, marks);
    bool passed = dbg_pass(d);
    if (marks && passed) {
        dbg_outcome outcome = dbg_run(d, d->probes.count, d->marks);
        if (outcome != DBG_TRAPPED && outcome != DBG_INTERRUPTED)
            *stops = dbg_after_op(d, s, position, marks, out);
        return outcome;
    }
    if (each || !passed)
        return dbg_run(d, d->probes.count, d->marks);
    return dbg_run(d, until, d->marks);
}

/* Runs on to a stop, to the goal (NULL: none) or to a time. */
static void run_forward(vm_debug *d, const goal *g, uint64_t limit, vm_debug_event *out)
{
    bool stops;
    for (bool first = true;; first = false) {
        if (!d->current || d->trapped) {
            set_end(d, d->trapped ? DBG_TRAPPED : DBG_ENDED, out);
            return;
        }
        if (!first && d->probes.count >= limit) {
            set_reached(d, out);
            return;
        }
        if (d->options.most_ops && d->probes.count >= d->options.most_ops) {
            set_end(d, DBG_INTERRUPTED, out);
            return;
        }
        if (!first && dbg_stops_here(d, out))
            return;
        if (!first && g && reached(d, g)) {
            set_reached(d, out);
            return;
        }
        uint64_t until = dbg_next_finding(d, d->probes.count + 1);
        until = until < limit ? until : limit;
        dbg_outcome outcome = go_on(d, until, g != NULL, &stops, out);
        if (stops)
            return;
        if (outcome != DBG_AT_TIME && outcome != DBG_AT_MARK) {
            set_end(d, outcome, out);
            return;
        }
    }
}

/* Deletes a temporary breakpoint after its hit. */
static void drop_once(vm_debug *d, const vm_debug_event *event)
{
    for (size_t i = 0; i < d->stop_count && event->why == VM_DEBUG_BREAKPOINT; i++)
        if (d->stops[i]->number == event->number && d->stops[i]->once) {
            dbg_drop_stop(d, i);
            return;
        }
}

/* ---- back ---- */

/* Hit counts must not change when the run is repeated. */
typedef struct counters {
    uint64_t hits, ignore;
} counters;

static counters *keep_counters(vm_debug *d, bc_arena *arena)
{
    counters *kept = bc_new(arena, counters, d->stop_count + 1);
    for (size_t i = 0; kept && i < d->stop_count; i++) {
        kept[i] = (counters){d->stops[i]->hits, d->stops[i]->ignore};
        d->stops[i]->ignore = 0;
    }
    return kept;
}

static void put_counters(vm_debug *d, const counters *kept)
{
    for (size_t i = 0; kept && i < d->stop_count; i++) {
        d->stops[i]->hits = kept[i].hits;
        d->stops[i]->ignore = kept[i].ignore;
    }
}

/* The last stop between the snapshot and a time. False: there is none; or the run was interrupted. */
static bool last_stop(vm_debug *d, size_t snapshot, uint64_t before, uint64_t *out_time, vm_debug_event *out)
{
    bool found = false;
    dbg_restore(d, snapshot);
    dbg_run(d, d->probes.count, d->cold);
    while (d->probes.count < before) {
        vm_debug_event event;
        run_forward(d, NULL, before, &event);
        if (event.why == VM_DEBUG_INTERRUPT) {
            *out = event;
            return false;
        }
        if (event.why == VM_DEBUG_REACHED || event.why == VM_DEBUG_END || event.why == VM_DEBUG_TRAP)
            break;
        if (d->probes.count >= before)
            break;
        *out_time = d->probes.count;
        *out = event;
        found = true;
    }
    return found;
}

static void continue_back(vm_debug *d, vm_debug_event *out)
{
    uint64_t now = d->probes.count, end = now, time = 0;
    bc_arena arena;
    if (!now) {
        *out = (vm_debug_event){.why = VM_DEBUG_BEGIN, .position = dbg_position(d)};
        return;
    }
    bc_arena_init(&arena, &d->normal, 0);
    counters *kept = keep_counters(d, &arena);
    bool found = false;
    *out = (vm_debug_event){.why = VM_DEBUG_BEGIN};
    for (size_t i = dbg_snapshot_before(d, now - 1);; i--) {
        found = last_stop(d, i, end, &time, out);
        if (found || i == 0 || out->why == VM_DEBUG_INTERRUPT)
            break;
        end = d->snapshots[i]->time + 1; /* a stop at the time of a snapshot is found from the one before */
    }
    put_counters(d, kept);
    bc_arena_release(&arena);
    if (out->why == VM_DEBUG_INTERRUPT)
        return;
    dbg_goto(d, found ? time : 0);
    if (!found)
        out->position = dbg_position(d);
}

/* Whether the state is one that a step back may end at. */
static bool is_back_goal(const vm_debug *d, const goal *g)
{
    uint32_t p = dbg_position(d);
    bool same = d->current->worker.frame.block_index == g->block;
    switch (g->step) {
    case VM_DEBUG_LINE: return same && d->lines[p].starts;
    case VM_DEBUG_OVER: return same && d->lines[p].starts && d->depths[p] <= d->depths[g->from];
    case VM_DEBUG_ITERATION: return same && p == g->body;
    case VM_DEBUG_OUT: return same && p == g->first;
    case VM_DEBUG_BLOCK: return !same;
    default: return same;
    }
}

/* The last time between the snapshot and another at which the goal is met. */
static bool last_goal(vm_debug *d, const goal *g, size_t snapshot, uint64_t before, uint64_t *out_time)
{
    bool found = false;
    dbg_restore(d, snapshot);
    dbg_outcome outcome = dbg_run(d, d->probes.count, d->cold);
    while (outcome == DBG_AT_TIME && d->probes.count < before && d->current) {
        if (is_back_goal(d, g)) {
            *out_time = d->probes.count;
            found = true;
        }
        dbg_pass(d);
        outcome = dbg_run(d, d->probes.count, d->cold);
    }
    return found;
}

/* In most steps back by one op, that op is one of the same tile block. */
static bool one_op_back(vm_debug *d, const goal *g, uint64_t now, vm_debug_event *out)
{
    if (g->step != VM_DEBUG_OP || !now || dbg_goto(d, now - 1) != DBG_AT_TIME || !is_back_goal(d, g))
        return false;
    set_reached(d, out);
    return true;
}

static void step_back(vm_debug *d, const goal *g, vm_debug_event *out)
{
    uint64_t now = d->probes.count, end = now, time = 0;
    bool found = false;
    if (one_op_back(d, g, now, out))
        return;
    for (size_t i = dbg_snapshot_before(d, now ? now - 1 : 0); now; i--) {
        found = last_goal(d, g, i, end, &time);
        if (found || i == 0)
            break;
        end = d->snapshots[i]->time;
    }
    dbg_goto(d, found ? time : 0);
    *out = (vm_debug_event){.why = found ? VM_DEBUG_REACHED : VM_DEBUG_BEGIN, .position = dbg_position(d)};
}

/* ---- the calls ---- */

void vm_debug_continue(vm_debug *d, bool back, vm_debug_event *out)
{
    if (back)
        continue_back(d, out);
    else
        run_forward(d, NULL, UINT64_MAX, out);
    drop_once(d, out);
}

bool vm_debug_step_to(vm_debug *d, vm_debug_step step, bool back, vm_debug_event *out, vm_debug_error *error)
{
    goal g;
    if (back && !d->current && d->probes.count) { /* from the end: the last op that ran */
        dbg_goto(d, d->probes.count - 1);
        set_reached(d, out);
        return true;
    }
    if (!set_goal(d, step, back, &g, error))
        return false;
    if (back)
        step_back(d, &g, out);
    else
        run_forward(d, &g, UINT64_MAX, out);
    drop_once(d, out);
    return true;
}

void vm_debug_goto(vm_debug *d, uint64_t time, vm_debug_event *out)
{
    dbg_outcome outcome = dbg_goto(d, time);
    if (outcome == DBG_AT_TIME)
        set_reached(d, out);
    else
        set_end(d, outcome, out);
}
