/* Order of accesses to shared memory. Each warp has a time of its own, which steps when it releases something, and
   knows of the other warps the time up to which their accesses happened before. An access is ordered after an earlier
   one of another thread when its warp knows a later time of that thread's warp than the one of the access. (Vector
   clocks; each granule keeps its last write and last reads.) */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/ptxsim/sim.h"

/* ---- times ---- */

static void join(ps_warp *w, uint32_t *into, const uint32_t *from)
{
    for (uint32_t i = 0; i < w->block->cluster->clock_count; i++)
        if (into[i] < from[i])
            into[i] = from[i];
}

void ps_tick(ps_warp *w)
{
    w->times[w->clock_index]++;
}

void ps_release(ps_warp *w, uint32_t *times)
{
    ps_tick(w);
    join(w, times, w->times);
    w->sim->progress++;
}

void ps_acquire(ps_warp *w, const uint32_t *times)
{
    join(w, w->times, times);
}

void ps_tell(ps_warp *w, uint32_t *times, const uint32_t *known)
{
    join(w, times, known);
    w->sim->progress++;
}

void ps_fence(ps_warp *w)
{
    ps_grid_fence(w->block->cluster);
    if (w->has_seen)
        ps_acquire(w, w->seen);
    w->has_seen = false;
    ps_tick(w);
    memcpy(w->fenced, w->times, w->block->cluster->clock_count * sizeof *w->fenced);
}

void ps_order_read(ps_warp *w, const ps_insn *in)
{
    if (in->order != PS_WEAK)
        ps_grid_acquire(w->block->cluster, in->order == PS_ACQUIRE || in->order == PS_ACQ_REL);
    if (in->order == PS_ACQUIRE || in->order == PS_ACQ_REL) {
        ps_acquire(w, w->block->cluster->published);
    } else if (in->order != PS_WEAK) {
        join(w, w->seen, w->block->cluster->published);
        w->has_seen = true;
    }
}

void ps_order_write(ps_warp *w, const ps_insn *in)
{
    if (in->order != PS_WEAK)
        ps_grid_release(w->block->cluster, in->order == PS_RELEASE || in->order == PS_ACQ_REL);
    if (in->order == PS_RELEASE || in->order == PS_ACQ_REL)
        ps_release(w, w->block->cluster->published);
    else if (in->order != PS_WEAK)
        join(w, w->block->cluster->published, w->fenced);
}

/* ---- granules ---- */

static uint16_t thread_of(const ps_warp *w, unsigned lane)
{
    return (uint16_t)(w->clock_index * PS_LANES + lane);
}

/* Did what that thread did at that time happen before what lane does now? */
static bool ordered(const ps_warp *w, unsigned lane, uint16_t thread, uint32_t time)
{
    return thread == thread_of(w, lane) || w->times[thread / PS_LANES] > time;
}

void ps_name_place(const ps_warp *w, uint64_t address, bool global, char *out, size_t size)
{
    const ps_buffer *b = global ? ps_buffer_below(w->sim, address) : NULL;
    if (b)
        snprintf(out, size, "byte %llu of buffer '%s'", (unsigned long long)(address - b->address), b->name);
    else
        snprintf(out, size, "shared byte %llu", (unsigned long long)address);
}

static void conflict(ps_warp *w, const ps_insn *in, unsigned lane, uint64_t address, bool global, const char *what,
                     uint16_t thread, uint32_t line, bool reads)
{
    bool same_warp = thread / PS_LANES == w->clock_index;
    char at[40] = "", place[300];
    if (line)
        snprintf(at, sizeof at, " at line %u", (unsigned)line);
    ps_name_place(w, address, global, place, sizeof place);
    ps_report(w, in, (int)lane, same_warp ? PTXSIM_LANE_CONFLICT : PTXSIM_RACE,
              "'%s' %s %s, which warp %u lane %u has %s%s without %s in between", in->opcode,
              reads ? "reads" : "writes", place, thread / PS_LANES % PS_MAX_WARPS, thread % PS_LANES, what, at,
              same_warp ? "bar.warp.sync or a barrier" : "a barrier");
}

/* A row of times for the readers of one granule. */
static uint32_t *readers_row(ps_cluster *cluster, uint32_t index)
{
    return cluster->readers + (size_t)(index - 1) * cluster->warp_count;
}

static uint32_t new_readers(ps_cluster *cluster)
{
    if (cluster->reader_count == cluster->reader_size) {
        cluster->reader_size = cluster->reader_size ? cluster->reader_size * 2 : 1024;
        uint32_t *grown = realloc(cluster->readers, cluster->reader_size * cluster->warp_count * sizeof *grown);
        if (!grown)
            abort();
        cluster->readers = grown;
    }
    memset(readers_row(cluster, (uint32_t)cluster->reader_count + 1), 0,
           cluster->warp_count * sizeof *cluster->readers);
    return (uint32_t)++cluster->reader_count;
}

/* Do both instructions belong to one op of the source? */
static bool same_op(const ps_insn *x, const ps_insn *y)
{
    return x == y || (*x->comment && x->comment == y->comment);
}

static void check_after_write(ps_warp *w, const ps_insn *in, unsigned lane, const ps_shadow *s, uint64_t address,
                              bool global, unsigned access)
{
    const ps_insn *writer = &w->sim->module.code[s->write_pc];
    if (!(s->state & PS_WRITTEN) || (s->state & PS_STRONG && access & PS_ATOMIC)
        || (access & PS_SAME && !(access & PS_LOADS)))
        return;
    bool same_block = s->writer / PS_LANES / w->block->warp_count == w->block->rank;
    if (global && !(access & PS_LOADS) && same_block && same_op(writer, in))
        return;
    if (!ordered(w, lane, s->writer, s->write_time))
        conflict(w, in, lane, address, global, "written", s->writer, writer->line, access & PS_LOADS);
}

static void check_after_reads(ps_warp *w, const ps_insn *in, unsigned lane, const ps_shadow *s, uint64_t address,
                              bool global)
{
    if (!(s->state & PS_READ))
        return;
    if (!s->readers) {
        if (!ordered(w, lane, s->reader, s->read_time))
            conflict(w, in, lane, address, global, "read", s->reader, 0, false);
        return;
    }
    const uint32_t *row = readers_row(w->block->cluster, s->readers);
    for (uint32_t i = 0; i < w->block->cluster->warp_count; i++)
        if (row[i] && i != w->clock_index && w->times[i] <= row[i]) {
            conflict(w, in, lane, address, global, "read", (uint16_t)(i * PS_LANES), 0, false);
            return;
        }
}

static void note_read(ps_warp *w, unsigned lane, ps_shadow *s, bool strong)
{
    uint32_t now = w->times[w->clock_index];
    if (s->readers) {
        readers_row(w->block->cluster, s->readers)[w->clock_index] = now;
    } else if (s->state & PS_READ && s->reader / PS_LANES != w->clock_index
               && !ordered(w, lane, s->reader, s->read_time)) {
        s->readers = new_readers(w->block->cluster);
        uint32_t *row = readers_row(w->block->cluster, s->readers);
        row[s->reader / PS_LANES] = s->read_time;
        row[w->clock_index] = now;
    } else {
        s->reader = thread_of(w, lane);
        s->read_time = now;
    }
    s->state |= strong ? PS_READ : PS_READ | PS_WEAK_READ;
}

static void note_write(ps_warp *w, const ps_insn *in, unsigned lane, ps_shadow *s, bool strong)
{
    s->writer = thread_of(w, lane);
    s->write_time = w->times[w->clock_index];
    s->write_pc = (uint32_t)(in - w->sim->module.code);
    s->readers = 0;
    s->state = strong ? PS_WRITTEN | PS_STRONG : PS_WRITTEN;
}

static void touch_granule(ps_warp *w, const ps_insn *in, unsigned lane, ps_shadow *s, uint64_t address, bool global,
                          unsigned access)
{
    if (s->state & PS_PENDING)
        ps_report(w, in, (int)lane, PTXSIM_ASYNC,
                  "'%s' %s shared byte %u while the asynchronous copy of line %u may be writing it", in->opcode,
                  access & PS_STORES ? "writes" : "reads", (unsigned)address,
                  (unsigned)w->sim->module.code[s->write_pc].line);
    else
        check_after_write(w, in, lane, s, address, global, access);
    if (!global && access & PS_LOADS && !(s->state & (PS_WRITTEN | PS_PENDING)))
        ps_report(w, in, (int)lane, PTXSIM_UNINITIALISED_SHARED, "'%s' reads shared byte %u, which nobody has written",
                  in->opcode, (unsigned)address);
    if (access & PS_STORES) {
        if (!(access & PS_ATOMIC) || s->state & PS_WEAK_READ)
            check_after_reads(w, in, lane, s, address, global);
        note_write(w, in, lane, s, access & PS_ATOMIC);
    } else {
        note_read(w, lane, s, access & PS_ATOMIC);
    }
}

/* ---- shared memory ---- */

void ps_shadow_touch(ps_warp *w, const ps_insn *in, unsigned lane, ps_block *block, uint32_t offset, uint32_t size,
                     unsigned access)
{
    unsigned log2 = w->sim->module.granule_log2;
    if (w->sim->uses)
        return;
    for (uint32_t g = offset >> log2; g <= (offset + size - 1) >> log2; g++)
        touch_granule(w, in, lane, &block->shadow[g], PS_SHARED_START + (g << log2), false, access);
}

void ps_shadow_begin(ps_warp *w, const ps_insn *in, unsigned lane, ps_block *block, uint32_t offset, uint32_t size)
{
    unsigned log2 = w->sim->module.granule_log2;
    ps_shadow_touch(w, in, lane, block, offset, size, PS_STORES);
    for (uint32_t g = offset >> log2; g <= (offset + size - 1) >> log2; g++)
        block->shadow[g].state |= PS_PENDING;
}

void ps_shadow_end(ps_warp *w, const ps_insn *in, unsigned lane, ps_block *block, uint32_t offset, uint32_t size,
                   uint32_t time)
{
    unsigned log2 = w->sim->module.granule_log2;
    for (uint32_t g = offset >> log2; g <= (offset + size - 1) >> log2; g++) {
        note_write(w, in, lane, &block->shadow[g], false);
        block->shadow[g].write_time = time;
    }
}

/* ---- global memory: pages that a cluster has touched ---- */

void ps_shadow_global(ps_warp *w, const ps_insn *in, unsigned lane, uint64_t address, uint32_t size, unsigned access)
{
    unsigned log2 = w->sim->module.global_granule_log2;
    if (w->sim->uses)
        return;
    ps_grid_touch(w, in, lane, address, size, access);
    for (uint64_t g = address >> log2; g <= (address + size - 1) >> log2; g++) {
        ps_shadow *page = ps_page_of(&w->block->cluster->pages, g >> PS_PAGE_LOG2);
        touch_granule(w, in, lane, &page[g & (PS_PAGE_GRANULES - 1)], g << log2, true, access);
    }
}
