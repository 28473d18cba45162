/* Runs a group of element-wise ops strip by strip. Its stores write memory directly where that does not change the
   result. */
#include "vm/run/group.h"

#include "vm/run/schedule.h"

enum { MIN_STREAMED = 32 << 20, MIN_STREAMED_TILE = 4096, MIN_STREAMED_STRIP = 1024 }; /* bytes; of a tensor */

static bool overlaps(const vm_target *t, size_t t_bytes, const unsigned char *low, const unsigned char *high)
{
    return t->low < high && low < t->low + t_bytes;
}

/* First and one past the last byte of rows that hold 2^bits elements. */
static void rows_range(const vm_rows *rows, uint32_t bits, uint32_t row_bits, size_t bytes, const unsigned char **low,
                       const unsigned char **high)
{
    int64_t last = (((int64_t)1 << bits >> row_bits) - 1) * rows->pitch;
    *low = last < 0 ? rows->ptr + last : rows->ptr;
    *high = (last < 0 ? rows->ptr : rows->ptr + last) + (bytes << row_bits);
}

static void copy_rows_in(vm_frame *f, const vm_leaf *leaf, uint32_t bits)
{
    vm_rows_copy(vm_at(f, leaf->at), (size_t)leaf->bytes << leaf->row_bits, bits - leaf->row_bits,
                 vm_at(f, leaf->staging));
}

/* Copies loaded tiles that a store of this group is about to overwrite, unless the store overwrites each element in its
   own place, after it was read. */
static void protect_loads(vm_frame *f, const vm_group_inst *g, const vm_sink *sink, const vm_target *t, size_t t_bytes)
{
    for (uint32_t i = 0; i < g->strips.leaf_count; i++) {
        const vm_leaf *leaf = &g->strips.leaves[i];
        const vm_rows *rows = leaf->kind == VM_LEAF_ROWS ? vm_at(f, leaf->at) : NULL;
        const unsigned char *low, *high;
        if (!rows || !rows->in_memory)
            continue;
        if (rows->ptr == t->ptr && rows->pitch == t->pitch && leaf->row_bits == t->row_bits
            && leaf->bytes == sink->info.bytes && leaf->last_step <= sink->step)
            continue;
        rows_range(rows, g->strips.bits, leaf->row_bits, leaf->bytes, &low, &high);
        if (overlaps(t, t_bytes, low, high))
            copy_rows_in(f, leaf, g->strips.bits);
    }
}

/* Whether a sink should write past the caches: its tensor is so large that no part of it will be in a cache when it is
   read, and the pieces written are long enough. */
static bool is_streamed(const vm_frame *f, const vm_group_inst *g, const vm_sink *sink)
{
    const vm_record *record = vm_at(f, sink->info.record);
    uint64_t bytes = sink->info.bytes;
    if (bytes << g->strips.bits < MIN_STREAMED_TILE || bytes << g->strips.strip_bits < MIN_STREAMED_STRIP)
        return false;
    for (uint32_t d = 0; d < sink->info.rank && bytes < MIN_STREAMED; d++)
        bytes *= (uint64_t)record->dims[d] & UINT32_MAX; /* larger ones do not matter here */
    return bytes >= MIN_STREAMED;
}

/* The bytes that a sink writes; all bytes if they are not known. */
typedef struct span_of_sink {
    const unsigned char *low, *high;
} span_of_sink;

/* Whether a sink may write memory directly: no earlier sink may write any of the same bytes, now or later from
   staging. */
static bool is_alone(const span_of_sink *spans, uint32_t i)
{
    for (uint32_t k = 0; k < i; k++)
        if (spans[k].low < spans[i].high && spans[i].low < spans[k].high)
            return false;
    return true;
}

/* Selects where the sinks write: directly into memory if it consists of packed rows and no other sink is affected, else
   into staging. */
static void aim(vm_frame *f, const vm_group_inst *g, vm_target *targets)
{
    span_of_sink spans[VM_MAX_SINKS];
    for (uint32_t i = 0; i < g->sink_count; i++) {
        const vm_sink *sink = &g->sinks[i];
        vm_target *t = &targets[i];
        vm_rows rows;
        vm_box box;
        uint32_t row_bits = sink->info.row_bits;
        *t = (vm_target){vm_at(f, sink->staging), (int64_t)sink->info.bytes << row_bits, row_bits, NULL, false, false};
        spans[i] = (span_of_sink){NULL, (const unsigned char *)UINTPTR_MAX};
        if (sink->info.sparse >= 0)
            continue;
        vm_box_make(f, &sink->info, 0, &box);
        if (!vm_box_rows(f, &sink->info, &box, true, &rows))
            continue;
        rows_range(&rows, g->strips.bits, row_bits, sink->info.bytes, &spans[i].low, &spans[i].high);
        if (sink->stored || !is_alone(spans, i))
            continue;
        if (row_bits < g->strips.strip_bits && rows.pitch != t->pitch)
            continue; /* strips are longer than rows: staging, then one copy */
        *t = (vm_target){rows.ptr, rows.pitch, row_bits, spans[i].low, true, is_streamed(f, g, sink)};
        protect_loads(f, g, sink, t, (size_t)(spans[i].high - spans[i].low));
        f->bytes_stored += (uint64_t)sink->info.bytes << g->strips.bits;
    }
}

const vm_inst *vm_group_run(vm_frame *f, const vm_inst *inst)
{
    const vm_group_inst *g = (const vm_group_inst *)inst;
    const vm_strips *s = &g->strips;
    const void *node[2 * VM_MAX_NODES];
    vm_target targets[VM_MAX_SINKS];
    if (g->sink_count)
        aim(f, g, targets);
    vm_strips_begin(f, s, f->scratch, node);
    size_t total = (size_t)1 << s->bits, step = (size_t)1 << s->strip_bits;
    for (size_t i = 0; i < total; i += step) {
        vm_strips_run(f, s, f->scratch, i, step, NULL, targets, node);
        if (i + step < total && !vm_go_on(f, inst, s->step_count * step / VM_UNIT_ELEMENTS))
            return NULL;
    }
    for (uint32_t i = 0; i < g->sink_count; i++) {
        const vm_sink *sink = &g->sinks[i];
        if (!targets[i].in_memory && !vm_view_store(f, &sink->head, &sink->info, vm_at(f, sink->staging)))
            return NULL;
    }
    return inst->next;
}
