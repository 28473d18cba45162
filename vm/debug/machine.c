/* Runs the tile blocks in turns on one thread, up to a time or a marked op. */
#include <string.h>

#include "vm/debug/state.h"

/* ---- frames ---- */

static vm_debug *session_of(vm_turns *t)
{
    return (vm_debug *)((unsigned char *)t - offsetof(vm_debug, turns));
}

static vm_started *open_frame(vm_turns *t)
{
    vm_debug *d = session_of(t);
    const tv_allocator *a = &d->normal;
    dbg_swap_allocator(d, false);
    vm_started *s = a->alloc(a->user, sizeof *s);
    if (s) {
        memset(s, 0, sizeof *s);
        if (vm_worker_open(&s->worker, t->run)) {
            vm_execute(&s->worker.frame, d->code.preamble);
        } else {
            a->release(a->user, s, sizeof *s);
            s = NULL;
        }
    }
    d->starved |= !s;
    dbg_swap_allocator(d, true);
    return s;
}

/* The frame may have been in use when the session went back. */
static void begin_block(vm_turns *t, vm_started *s)
{
    vm_frame *f = &s->worker.frame;
    (void)t;
    f->strong_accesses = 0;
    f->trapped = false;
    f->allocas = NULL;
}

bool dbg_machine_open(vm_debug *d, const uint32_t grid[3])
{
    d->run = (vm_run){.vm = d->vm, .code = &d->code, .params = d->params, .probes = &d->probes};
    memcpy(d->run.grid, grid, sizeof d->run.grid);
    d->run.blocks = (uint64_t)grid[0] * grid[1] * grid[2];
    d->run.alloca_limit = d->vm->memory_limit;
    d->turns = (vm_turns){.run = &d->run, .open = open_frame, .begin = begin_block};
    d->chunk = 1 << 10;
    d->lock_made = pthread_mutex_init(&d->run.lock, NULL) == 0;
    return d->lock_made;
}

static void free_frame(vm_debug *d, vm_started *s)
{
    vm_worker_close(&s->worker, &d->run);
    d->normal.release(d->normal.user, s, sizeof *s);
}

void dbg_machine_close(vm_debug *d)
{
    if (!d->lock_made)
        return;
    if (d->current)
        free_frame(d, d->current);
    for (vm_started *s; (s = vm_turns_take(&d->turns)) != NULL;)
        free_frame(d, s);
    pthread_mutex_destroy(&d->run.lock);
}

/* ---- where it is ---- */

const vm_probe *dbg_probe_of(const vm_started *s)
{
    for (const vm_inst *i = s->next; i; i = i->next)
        if (i->run == vm_probe_run)
            return (const vm_probe *)i;
    return NULL;
}

const vm_probe *dbg_probe(const vm_debug *d)
{
    return d->current ? dbg_probe_of(d->current) : NULL;
}

uint32_t dbg_position(const vm_debug *d)
{
    const vm_probe *probe = dbg_probe(d);
    return probe ? probe->position : DBG_NONE;
}

const vm_started *dbg_shown(const vm_debug *d)
{
    return d->chosen ? d->chosen : d->current;
}

/* ---- running ---- */

static void next_turn(vm_debug *d)
{
    d->current = vm_turns_next(&d->turns);
    if (d->current)
        d->probes.turn_end = d->current->worker.frame.strong_accesses + VM_TURN;
}

static void queue_current(vm_debug *d)
{
    vm_turns_queue(&d->turns, d->current);
    next_turn(d);
}

static bool turn_is_over(const vm_debug *d)
{
    return (int32_t)(d->current->worker.frame.strong_accesses - d->probes.turn_end) >= 0;
}

/* The block has trapped: sets the time back to that before the op. */
static dbg_outcome trap(vm_debug *d)
{
    uint32_t p = 0;
    while (p < d->op_count && d->ops[p] != d->run.stop.op)
        p++;
    if (p == d->op_count)
        p = DBG_NONE;
    while (p != DBG_NONE && !d->code.probes[p]) /* in the body of a reduction */
        p = d->parents[p];
    d->current->next = p == DBG_NONE ? d->code.body : &d->code.probes[p]->head;
    d->probes.count--;
    d->trapped = true;
    return DBG_TRAPPED;
}

/* Runs on until a probe stops it for its time or its mark. */
static dbg_outcome run_on(vm_debug *d)
{
    vm_probes *p = &d->probes;
    if (!d->current && !d->ended)
        next_turn(d);
    while (d->current && !d->starved) {
        vm_frame *f = &d->current->worker.frame;
        const vm_inst *inst = d->current->next;
        p->at = NULL;
        while (inst)
            inst = inst->run(f, inst);
        if (!p->at && f->trapped)
            return trap(d);
        if (!p->at) {
            vm_turns_end(&d->turns, d->current);
            d->run.blocks_done++;
            next_turn(d);
            continue;
        }
        d->current->next = p->at;
        if (p->count >= p->until)
            return DBG_AT_TIME;
        if (!turn_is_over(d))
            return DBG_AT_MARK;
        queue_current(d);
    }
    d->ended = !d->starved;
    return d->starved ? DBG_INTERRUPTED : DBG_ENDED;
}

/* Runs in chunks of about a hundredth of a second, whatever the ops cost. */
static void adapt_chunk(vm_debug *d)
{
    double now = vm_seconds(), took = now - d->looked;
    if (took < 0.005 && d->chunk < 1 << 20)
        d->chunk *= 2;
    else if (took > 0.02 && d->chunk > 16)
        d->chunk /= 2;
    d->looked = now;
}

dbg_outcome dbg_run(vm_debug *d, uint64_t until, const uint8_t *marks)
{
    vm_probes *p = &d->probes;
    dbg_outcome outcome;
    uint64_t most = d->options.most_ops;
    bool limited = most && until > most;
    if (d->trapped)
        return DBG_TRAPPED;
    if (limited)
        until = most;
    d->chosen = NULL;
    d->looked = vm_seconds();
    tv_float_env caller = tv_float_enter();
    dbg_swap_allocator(d, true);
    for (;;) {
        bool again = p->count < d->frontier;
        uint64_t chunk_end = p->count + d->chunk;
        p->until = until < chunk_end ? until : chunk_end;
        if (again && d->frontier < p->until)
            p->until = d->frontier;
        p->hot = marks;
        d->run.again = again;
        outcome = run_on(d);
        if (p->count > d->frontier)
            d->frontier = p->count;
        if (outcome != DBG_AT_TIME || p->count >= until)
            break;
        adapt_chunk(d);
        dbg_swap_allocator(d, false);
        dbg_snapshot_when_due(d);
        dbg_swap_allocator(d, true);
        if (d->options.interrupted && d->options.interrupted(d->options.user)) {
            outcome = DBG_INTERRUPTED;
            break;
        }
    }
    dbg_swap_allocator(d, false);
    tv_float_leave(caller);
    return limited && outcome == DBG_AT_TIME ? DBG_INTERRUPTED : outcome;
}

bool dbg_pass(vm_debug *d)
{
    d->chosen = NULL;
    if (turn_is_over(d)) {
        dbg_swap_allocator(d, true);
        queue_current(d);
        dbg_swap_allocator(d, false);
        return false;
    }
    d->current->next = dbg_probe(d)->head.next;
    d->probes.count++;
    return true;
}
