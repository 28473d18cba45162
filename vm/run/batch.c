/* Records the memory that a batch accesses, and decides whether its blocks conflict. */
#include "vm/run/batch.h"

#include <string.h>

#include "vm/run/schedule.h"

/* Ends the batch: nothing has been written yet, and its blocks run one by one. */
static const vm_inst *give_up(vm_frame *f)
{
    f->trapped = true;
    return NULL;
}

/* ---- the shape of an access ---- */

/* Joins two dimensions if the outer one continues where the inner one ends. The dimension of the blocks stays the
   outer part of a joined one, so that each block has `own` consecutive elements of it. */
static void join_dims(vm_batch_span *s)
{
    for (uint32_t d = s->dims; d-- > 1;) {
        bool in_row = s->step[d - 1] == s->step[d] * (int64_t)s->extent[d];
        if (!in_row || s->split == d)
            continue;
        if (s->split == d - 1)
            s->own *= s->extent[d];
        s->extent[d - 1] *= s->extent[d];
        s->step[d - 1] = s->step[d];
        s->dims--;
        for (uint32_t k = d; k < s->dims; k++) {
            s->extent[k] = s->extent[k + 1];
            s->step[k] = s->step[k + 1];
        }
        if (s->split > d)
            s->split--;
    }
}

static uint64_t magnitude(int64_t x)
{
    return x < 0 ? 0 - (uint64_t)x : (uint64_t)x;
}

/* Does each dimension step over the whole range of those with smaller steps? Steps are below 2^36, extents below
   2^24. */
static bool no_element_twice(const vm_batch_span *s, uint64_t bytes)
{
    bool done[VM_BATCH_DIMS] = {false};
    uint64_t reach = bytes;
    for (uint32_t i = 0; i < s->dims; i++) {
        uint32_t least = s->dims;
        for (uint32_t d = 0; d < s->dims; d++)
            if (!done[d] && (least == s->dims || magnitude(s->step[d]) < magnitude(s->step[least])))
                least = d;
        done[least] = true;
        if (magnitude(s->step[least]) < reach)
            return false;
        reach += magnitude(s->step[least]) * (s->extent[least] - 1);
    }
    return true;
}

/* Sets the shape of a span from a box, which omits dimensions of one element. */
static void shape_of_box(const vm_view_note *n, const vm_box *box, vm_batch_span *s)
{
    if (box->dims > VM_BATCH_DIMS || !n->note.is_wide)
        return;
    s->base = box->base;
    s->dims = box->dims;
    s->own = n->own;
    s->split = 0;
    for (uint32_t d = 0; d < box->dims; d++) {
        s->step[d] = box->step[d];
        s->extent[d] = box->extent[d];
    }
    for (uint32_t t = 0; t < n->dim; t++)
        s->split += n->info.dims[t].extent > 1;
    s->is_apart = no_element_twice(s, n->info.bytes);
    join_dims(s);
}

static void touch(vm_batch_span *s, const vm_batch_span *now)
{
    if (!s->touched) {
        *s = *now;
        s->touched = true;
        return;
    }
    s->low = now->low < s->low ? now->low : s->low;
    s->high = now->high > s->high ? now->high : s->high;
    s->is_apart = false; /* in a loop */
}

/* Can a store write the whole span without a trap? */
static bool may_write(vm_frame *f, const vm_batch_span *s)
{
    const vm_region *region = vm_region_of(f, s->low, s->high - s->low);
    return region && region->writable;
}

/* ---- recording ---- */

/* Do the indices of the blocks, base, base + 1, ..., exceed their type? */
static bool index_wraps(const vm_frame *f, const vm_view_note *n)
{
    const vm_tile_dim *d = &n->info.dims[n->dim];
    uint64_t index = 0;
    memcpy(&index, vm_at(f, d->index), d->index_bytes);
    return index > (UINT64_MAX >> (64 - 8 * d->index_bytes)) - n->note.count;
}

const vm_inst *vm_view_note_run(vm_frame *f, const vm_inst *inst)
{
    const vm_view_note *n = (const vm_view_note *)inst;
    vm_batch_span now = {0}, *span = &f->spans[n->note.slot];
    vm_box box;
    if (n->note.is_wide && index_wraps(f, n))
        return give_up(f);
    vm_box_make(f, &n->info, 0, &box);
    if (box.empty)
        return inst->next;
    if (!vm_box_span(&box, n->info.bytes, &now.low, &now.high))
        return give_up(f);
    shape_of_box(n, &box, &now);
    touch(span, &now);
    if (n->note.is_store && (!now.is_apart || (box.base & (n->info.bytes - 1u)) || !may_write(f, &now)))
        return give_up(f);
    for (uint32_t i = 1; !n->note.is_wide && i < n->note.count; i++) /* each block would load it */
        vm_count_bytes(&f->bytes_loaded, &n->info, &box);
    return inst->next;
}

/* Finds the range of the pointers, and whether they are one element apart in equal strides. False: one is
   misaligned. */
static bool scan_pointers(const vm_frame *f, const vm_pointer_note *n, vm_batch_span *s, size_t *out_count)
{
    const uint64_t *pointers = vm_at(f, n->pointers);
    const unsigned char *mask = n->has_mask ? vm_at(f, n->mask) : NULL;
    uint64_t bits = 0, low = UINT64_MAX, high = 0, base = 0;
    size_t count = 0;
    bool in_row = true;
    for (size_t i = 0; i < n->n; i++) {
        if (mask && !mask[i])
            continue;
        uint64_t p = pointers[i], from = p - i * n->bytes;
        base = count++ ? base : from;
        in_row &= from == base;
        bits |= p;
        low = p < low ? p : low;
        high = p > high ? p : high;
    }
    *out_count = count;
    if (count == 0)
        return true;
    *s = (vm_batch_span){
        .low = low, .high = high + n->bytes, .is_apart = in_row && n->note.is_wide, .base = base, .dims = 1};
    s->step[0] = n->bytes;
    s->extent[0] = (uint32_t)n->n;
    s->own = (uint32_t)n->n / n->note.count;
    return high <= UINT64_MAX - n->bytes && !(bits & (n->bytes - 1));
}

const vm_inst *vm_pointer_note_run(vm_frame *f, const vm_inst *inst)
{
    const vm_pointer_note *n = (const vm_pointer_note *)inst;
    vm_batch_span now;
    size_t count;
    if (!scan_pointers(f, n, &now, &count))
        return give_up(f);
    if (count == 0)
        return inst->next;
    touch(&f->spans[n->note.slot], &now);
    if (n->note.is_store && !may_write(f, &now))
        return give_up(f);
    if (!n->note.is_wide) /* each block would load it */
        f->bytes_loaded += count * n->bytes * (n->note.count - 1);
    return inst->next;
}

/* ---- commit ---- */

/* Does element i of both spans belong to the same block, at the same address? */
static bool same_parts(const vm_batch_span *a, const vm_batch_span *b)
{
    if (!a->is_apart || !b->is_apart || a->base != b->base || a->dims != b->dims || a->split != b->split
        || a->own != b->own)
        return false;
    for (uint32_t d = 0; d < a->dims; d++)
        if (a->step[d] != b->step[d] || a->extent[d] != b->extent[d])
            return false;
    return true;
}

/* Could the order of the two accesses be observable? It could be if they belong to different blocks, or if a load
   follows the store in the entry. */
static bool meet(const vm_batch_span *store, const vm_note *store_note, const vm_batch_span *other,
                 const vm_note *other_note)
{
    if (!store->touched || !other->touched || store->low >= other->high || other->low >= store->high)
        return false;
    bool moved = !other_note->is_store && other_note->order > store_note->order;
    return moved || !same_parts(store, other);
}

const vm_inst *vm_commit_run(vm_frame *f, const vm_inst *inst)
{
    const vm_commit *c = (const vm_commit *)inst;
    for (uint32_t i = 0; i < c->count; i++)
        for (uint32_t k = 0; c->notes[i]->is_store && k < c->count; k++)
            if (k != i && meet(&f->spans[i], c->notes[i], &f->spans[k], c->notes[k]))
                return give_up(f);
    return inst->next;
}
