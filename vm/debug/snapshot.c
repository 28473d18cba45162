/* Snapshots: taking, thinning out, restoring. */
#include <string.h>

#include "vm/debug/state.h"

enum {
    MOST_SNAPSHOTS = 256,
    COST_FACTOR = 20 /* the interval is at least this many times the duration of the last snapshot */
};
#define SHORTEST_GAP 0.02

/* ---- frames ---- */

static bool save_frame(vm_debug *d, dbg_saved *out, const vm_started *s)
{
    const tv_allocator *a = &d->normal;
    size_t bytes = d->code.frame_bytes;
    out->bytes = a->alloc(a->user, bytes + 1);
    if (!out->bytes)
        return false;
    out->frame = s->worker.frame;
    out->next = s->next;
    memcpy(out->bytes, s->worker.frame.base, bytes);
    return true;
}

/* Restores a saved frame into a free one, which keeps its own memory and its counters for statistics. */
static void restore_frame(const vm_debug *d, vm_started *s, const dbg_saved *saved)
{
    vm_frame own = s->worker.frame;
    vm_frame *f = &s->worker.frame;
    *f = saved->frame;
    f->base = own.base;
    f->scratch = own.scratch;
    f->segment_counts = own.segment_counts;
    f->inst_seconds = own.inst_seconds;
    memcpy(f->base, saved->bytes, d->code.frame_bytes);
    s->next = saved->next;
}

static void free_snapshot(vm_debug *d, dbg_snapshot *s)
{
    const tv_allocator *a = &d->normal;
    for (size_t i = 0; i < s->count; i++)
        if (s->saved[i].bytes)
            a->release(a->user, s->saved[i].bytes, d->code.frame_bytes + 1);
    if (s->saved)
        a->release(a->user, s->saved, (s->count + 1) * sizeof *s->saved);
    a->release(a->user, s, sizeof *s);
}

/* ---- taking one ---- */

static size_t blocks_under_way(const vm_debug *d)
{
    size_t n = d->current ? 1 : 0;
    for (const vm_started *s = d->turns.first; s; s = s->later)
        n++;
    return n;
}

static bool save_frames(vm_debug *d, dbg_snapshot *s)
{
    const tv_allocator *a = &d->normal;
    size_t n = blocks_under_way(d), i = 0;
    s->saved = a->alloc(a->user, (n + 1) * sizeof *s->saved);
    if (!s->saved)
        return false;
    memset(s->saved, 0, (n + 1) * sizeof *s->saved);
    s->count = n;
    s->bytes = sizeof *s + n * (sizeof *s->saved + d->code.frame_bytes);
    if (d->current && !save_frame(d, &s->saved[i++], d->current))
        return false;
    for (const vm_started *b = d->turns.first; b; b = b->later)
        if (!save_frame(d, &s->saved[i++], b))
            return false;
    return true;
}

/* Drops every second snapshot, but neither the first nor the newest. */
static void thin_out(vm_debug *d)
{
    size_t kept = 0;
    for (size_t i = 0; i < d->snapshot_count; i++) {
        dbg_snapshot *s = d->snapshots[i];
        if (i % 2 == 0 || i + 1 == d->snapshot_count) {
            d->snapshots[kept++] = s;
            continue;
        }
        dbg_pages_drop(d, s->number, d->snapshots[i + 1]->number);
        d->snapshot_bytes -= s->bytes;
        free_snapshot(d, s);
    }
    d->snapshot_count = kept;
    d->snapshot_gap *= 2;
}

static bool has_room(const vm_debug *d, size_t more)
{
    size_t most = d->options.snapshot_bytes, held = d->pages.held + d->snapshot_bytes;
    return held < most && more < most - held && d->snapshot_count < MOST_SNAPSHOTS;
}

static dbg_snapshot *make_snapshot(vm_debug *d)
{
    const tv_allocator *a = &d->normal;
    dbg_snapshot *s = a->alloc(a->user, sizeof *s);
    if (!s)
        return NULL;
    *s = (dbg_snapshot){.number = d->next_snapshot,
                        .time = d->probes.count,
                        .next_block = d->turns.next_block,
                        .ended = d->run.blocks_done,
                        .running = d->current != NULL,
                        .turn_end = d->probes.turn_end,
                        .allocas = d->run.allocas,
                        .alloca_bytes = d->run.alloca_bytes};
    size_t frames = d->snapshot_bytes;
    bool first = !d->snapshot_count; /* memory equals the copy just made */
    bool saved = save_frames(d, s) && (first || dbg_pages_save(d, s->number, d->options.snapshot_bytes - frames));
    if (saved)
        return s;
    free_snapshot(d, s);
    return NULL;
}

bool dbg_snapshot_take(vm_debug *d)
{
    size_t frames = blocks_under_way(d) * (sizeof(dbg_saved) + d->code.frame_bytes);
    double start = vm_seconds();
    while (d->snapshot_count > 2 && !has_room(d, frames))
        thin_out(d);
    if (d->snapshot_count && !has_room(d, frames))
        return false;
    dbg_snapshot **items = bc_grow(&d->arena, d->snapshots, d->snapshot_count, &d->snapshot_capacity, dbg_snapshot *);
    dbg_snapshot *s = items ? make_snapshot(d) : NULL;
    if (!s)
        return false;
    d->snapshots = items;
    items[d->snapshot_count++] = s;
    d->snapshot_bytes += s->bytes;
    d->next_snapshot++;
    double end = vm_seconds(), gap = COST_FACTOR * (end - start);
    d->snapshot_at = end + (gap > d->snapshot_gap ? gap : d->snapshot_gap);
    return true;
}

void dbg_snapshot_when_due(vm_debug *d)
{
    if (d->probes.count <= d->snapshots[d->snapshot_count - 1]->time || d->probes.count < d->frontier)
        return;
    if (vm_seconds() < d->snapshot_at)
        return;
    if (!dbg_snapshot_take(d))
        d->snapshot_at = vm_seconds() + d->snapshot_gap;
}

void dbg_snapshots_close(vm_debug *d)
{
    for (size_t i = 0; i < d->snapshot_count; i++)
        free_snapshot(d, d->snapshots[i]);
    d->snapshot_count = 0;
}

/* ---- going back ---- */

size_t dbg_snapshot_before(const vm_debug *d, uint64_t time)
{
    size_t i = d->snapshot_count;
    while (i > 1 && d->snapshots[i - 1]->time > time)
        i--;
    return i - 1;
}

/* All frames are free. */
static void free_frames(vm_debug *d)
{
    if (d->current) {
        d->current->later = d->turns.idle;
        d->turns.idle = d->current;
        d->current = NULL;
    }
    for (vm_started *s; (s = d->turns.first) != NULL;) {
        d->turns.first = s->later;
        s->later = d->turns.idle;
        d->turns.idle = s;
    }
    d->turns.last = NULL;
}

static vm_started *free_frame(vm_debug *d)
{
    vm_started *s = d->turns.idle;
    if (s)
        d->turns.idle = s->later;
    return s ? s : d->turns.open(&d->turns);
}

void dbg_restore(vm_debug *d, size_t index)
{
    const dbg_snapshot *s = d->snapshots[index];
    free_frames(d);
    dbg_pages_restore(d, s->number);
    d->chosen = NULL;
    d->trapped = d->ended = false;
    d->run.stop = (vm_stop){0};
    d->run.stopping = false;
    d->run.allocas = s->allocas;
    d->run.alloca_bytes = s->alloca_bytes;
    d->run.blocks_done = s->ended;
    d->turns.next_block = s->next_block;
    d->turns.under_way = s->count;
    d->probes.count = s->time;
    d->probes.turn_end = s->turn_end;
    for (size_t i = 0; i < s->count; i++) {
        vm_started *b = free_frame(d);
        if (!b)
            return; /* frames are never freed, so these still exist */
        restore_frame(d, b, &s->saved[i]);
        if (i == 0 && s->running)
            d->current = b;
        else
            vm_turns_queue(&d->turns, b);
    }
    dbg_swap_allocator(d, false);
}
