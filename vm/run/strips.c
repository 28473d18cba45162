/* Runs strips: gathers the leaves, then calls one kernel per step. */
#include "vm/run/strips.h"

#include <string.h>

/* Elements [first, first + n) of a laid out tile into a packed buffer, a run at a time. */
void vm_gather(const vm_kernels *kernels, const vm_layout *layout, size_t run_bits, bool repeats, size_t bytes,
               const unsigned char *base, size_t first, size_t n, unsigned char *out)
{
    vm_kernel *fill = kernels->map[vm_kernel_of_int(VM_K_fill_i8, (unsigned)bytes)];
    size_t run = (size_t)1 << run_bits;
    if (run > n)
        run = n;
    for (size_t i = 0; i < n; i += run, out += run * bytes) {
        const unsigned char *from = base + vm_layout_offset(layout, first + i) * bytes;
        if (repeats)
            fill(out, from, NULL, NULL, run);
        else if (run == 1)
            memcpy(out, from, bytes);
        else
            memcpy(out, from, run * bytes);
    }
}

static const void *rows_strip(const vm_leaf *leaf, const vm_rows *rows, unsigned char *scratch, size_t first, size_t n)
{
    size_t row = (size_t)1 << leaf->row_bits, bytes = leaf->bytes;
    int64_t row_bytes = (int64_t)(row * bytes);
    if (rows->pitch == row_bytes)
        return rows->ptr + first * bytes;
    const unsigned char *from = rows->ptr + (int64_t)(first >> leaf->row_bits) * rows->pitch;
    if (n <= row)
        return from + (first & (row - 1)) * bytes;
    unsigned char *out = scratch + leaf->buffer;
    for (size_t i = 0; i < n; i += row, from += rows->pitch)
        memcpy(out + i * bytes, from, (size_t)row_bytes);
    return out;
}

void vm_strips_begin(vm_frame *f, const vm_strips *s, unsigned char *scratch, const void *node[])
{
    size_t n = (size_t)1 << s->strip_bits;
    for (uint32_t i = 0; i < s->leaf_count; i++) {
        const vm_leaf *leaf = &s->leaves[i];
        if (leaf->kind == VM_LEAF_ONCE) {
            vm_gather(f->code->kernels, &leaf->layout, leaf->run_bits, leaf->repeats, leaf->bytes, vm_at(f, leaf->at),
                      0, n, scratch + leaf->buffer);
            node[i] = scratch + leaf->buffer;
        }
    }
}

static void bring_in(vm_frame *f, const vm_strips *s, unsigned char *scratch, size_t first, size_t n,
                     const void *const *args, const void *node[])
{
    for (uint32_t i = 0; i < s->leaf_count; i++) {
        const vm_leaf *leaf = &s->leaves[i];
        switch ((vm_leaf_kind)leaf->kind) {
        case VM_LEAF_DIRECT:
            node[i] = f->base + leaf->at + (first ? vm_layout_offset(&leaf->layout, first) * leaf->bytes : 0);
            break;
        case VM_LEAF_ONCE: break;
        case VM_LEAF_EACH:
            vm_gather(f->code->kernels, &leaf->layout, leaf->run_bits, leaf->repeats, leaf->bytes, vm_at(f, leaf->at),
                      first, n, scratch + leaf->buffer);
            node[i] = scratch + leaf->buffer;
            break;
        case VM_LEAF_ROWS: node[i] = rows_strip(leaf, vm_at(f, leaf->at), scratch, first, n); break;
        case VM_LEAF_ARG: node[i] = args[leaf->arg]; break;
        }
    }
}

static unsigned char *sink_strip(const vm_target *t, const vm_step *step, size_t first)
{
    size_t row = (size_t)1 << t->row_bits;
    return t->ptr + (int64_t)(first >> t->row_bits) * t->pitch + (first & (row - 1)) * step->map.out_bytes;
}

static unsigned char *target_of(vm_frame *f, const vm_step *step, unsigned char *scratch, size_t first,
                                const vm_target *targets)
{
    switch ((vm_dest)step->dest) {
    case VM_TO_SLOT: return f->base + step->at + first * step->map.out_bytes;
    case VM_TO_SINK:
        return targets[step->at].streamed ? scratch + step->buffer : sink_strip(&targets[step->at], step, first);
    case VM_TO_BUFFER: break;
    }
    return scratch + step->at;
}

/* Copies a strip to memory past the caches, and meanwhile prefetches the next strip of up to two loads that are read in
   place. */
static void stream_strip(vm_frame *f, const vm_strips *s, void *to, const void *from, size_t bytes, size_t n,
                         const void *const node[])
{
    const void *next[2] = {NULL, NULL};
    unsigned count = 0;
    for (uint32_t i = 0; i < s->leaf_count && count < TV_COUNT(next); i++)
        if (s->leaves[i].kind == VM_LEAF_ROWS) /* an address to prefetch, which need not be valid */
            next[count++] = (const void *)((uintptr_t)node[i] + n * s->leaves[i].bytes);
    f->code->kernels->map[VM_K_stream](to, from, next[0], next[1], bytes);
    f->streamed = true;
}

void vm_strips_run(vm_frame *f, const vm_strips *s, unsigned char *scratch, size_t first, size_t n,
                   const void *const *args, const vm_target *targets, const void *node[])
{
    bring_in(f, s, scratch, first, n, args, node);
    for (uint32_t i = 0; i < s->step_count; i++) {
        const vm_step *step = &s->steps[i];
        void *out = target_of(f, step, scratch, first, targets);
        const void *a = node[step->in[0]], *b = node[step->in[1]], *c = node[step->in[2]];
        vm_map_run(&step->map, out, a, b, c, n);
        if (step->dest == VM_TO_SINK && targets[step->at].streamed)
            stream_strip(f, s, sink_strip(&targets[step->at], step, first), out, n * step->map.out_bytes, n, node);
        node[s->leaf_count + i] = out;
    }
}
