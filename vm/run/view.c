/* Boxes of views: bounds, checks, copies. Index arithmetic is that of the IR: indices and extents unsigned, 64 bits. */
#include "vm/run/view.h"

#include <sched.h>
#include <stdatomic.h>
#include <string.h>

#include "vm/run/schedule.h"
#include "vm/run/strips.h"

/* ---- which elements ---- */

/* Copies of known size compile to moves; a call for any size would take longer than the rest of a box. */
static uint64_t read_unsigned(const vm_frame *f, size_t at, unsigned bytes)
{
    const unsigned char *from = f->base + at;
    uint64_t x = 0;
    switch (bytes) { /* little-endian hosts only, as the bytecode itself */
    case 1: memcpy(&x, from, 1); break;
    case 2: memcpy(&x, from, 2); break;
    case 4: memcpy(&x, from, 4); break;
    default: memcpy(&x, from, 8); break;
    }
    return x;
}

/* Elements of [start, start + extent) below size, when start is index * step. */
static uint32_t valid_count(uint64_t index, uint64_t step, uint64_t extent, uint64_t size, uint64_t *out_start)
{
    *out_start = index * step;
    bool small = (index | step) <= UINT32_MAX; /* no overflow, and no division */
    if (small ? *out_start >= size : size == 0 || index > (size - 1) / step)
        return 0;
    uint64_t left = size - *out_start;
    return (uint32_t)(left < extent ? left : extent);
}

void vm_box_make(const vm_frame *f, const vm_access_info *info, uint32_t slice, vm_box *box)
{
    const vm_record *record = vm_at(f, info->record);
    uint64_t unit = info->bytes ? info->bytes : 1; /* f4: half bytes */
    size_t tile_step = 1;
    uint64_t base = info->bytes ? record->base : record->base * 2;
    box->dims = 0;
    box->empty = false;
    box->whole = true;
    for (uint32_t t = info->rank; t-- > 0;) {
        const vm_tile_dim *d = &info->dims[t];
        uint64_t size = (uint64_t)record->dims[d->dim], stride = (uint64_t)record->dims[info->rank + d->dim];
        bool sparse = (int32_t)t == info->sparse;
        size_t index_at = d->index + (sparse ? (size_t)slice * d->index_bytes : 0);
        uint64_t start, extent = sparse ? 1 : (uint64_t)d->extent;
        uint32_t valid =
            valid_count(read_unsigned(f, index_at, d->index_bytes), (uint64_t)d->step, extent, size, &start);
        base += start * stride * unit;
        box->empty |= valid == 0;
        box->whole &= valid == extent;
        if (d->extent > 1 && !sparse) {
            box->valid[box->dims] = valid;
            box->extent[box->dims] = (uint32_t)d->extent;
            box->step[box->dims] = (int64_t)(stride * unit);
            box->tile_step[box->dims++] = tile_step;
        }
        tile_step *= (size_t)d->extent;
    }
    box->base = base;
    /* innermost first so far; the loops want outermost first */
    for (uint32_t a = 0, b = box->dims; a + 1 < b; a++) {
        b--;
        uint32_t v = box->valid[a], x = box->extent[a];
        int64_t s = box->step[a];
        size_t ts = box->tile_step[a];
        box->valid[a] = box->valid[b], box->extent[a] = box->extent[b];
        box->step[a] = box->step[b], box->tile_step[a] = box->tile_step[b];
        box->valid[b] = v, box->extent[b] = x, box->step[b] = s, box->tile_step[b] = ts;
    }
}

/* ---- may they be touched ---- */

const vm_region *vm_region_of(vm_frame *f, uint64_t address, uint64_t size)
{
    const vm_region *hit = f->hit;
    if (hit && address >= hit->start && address < hit->end && size <= hit->end - address)
        return hit;
    hit = vm_run_find(f, address, size);
    if (hit && hit != &f->alloca_region) /* that one may go away */
        f->hit = hit;
    return hit;
}

bool vm_reach(vm_frame *f, const vm_inst *inst, uint64_t address, size_t bytes, bool write, size_t element)
{
    const vm_region *region = vm_region_of(f, address, bytes);
    if (TV_UNLIKELY(!region)) {
        vm_trap_outside(f, inst, address, bytes, write, element);
        return false;
    }
    if (TV_UNLIKELY(write && !region->writable)) {
        vm_trap(f, inst, BC_RULE_X_MEM_02, "element %zu would be written to '%s', which may only be read", element,
                region->name);
        return false;
    }
    if (TV_UNLIKELY(address & (bytes - 1))) {
        vm_trap_misaligned(f, inst, address, bytes, element);
        return false;
    }
    return true;
}

bool vm_box_span(const vm_box *box, size_t bytes, uint64_t *out_low, uint64_t *out_high)
{
    const int64_t limit = (int64_t)1 << 36; /* times 2^24 elements and 24 dimensions stays in 64 bits */
    int64_t low = 0, high = (int64_t)bytes;
    for (uint32_t d = 0; d < box->dims; d++) {
        if (box->step[d] > limit || box->step[d] < -limit)
            return false;
        int64_t reach = box->step[d] * (int64_t)(box->valid[d] - 1);
        if (reach < 0)
            low += reach;
        else
            high += reach;
    }
    *out_low = box->base + (uint64_t)low;
    *out_high = box->base + (uint64_t)high;
    return true;
}

/* The region that contains everything inside the box; NULL: there is none, or the strides are too large to decide. */
static const vm_region *box_region(vm_frame *f, const vm_access_info *info, const vm_box *box)
{
    uint64_t low, high;
    return vm_box_span(box, info->bytes, &low, &high) ? vm_region_of(f, low, high - low) : NULL;
}

bool vm_box_rows(vm_frame *f, const vm_access_info *info, const vm_box *box, bool write, vm_rows *out)
{
    if (!box->whole || !info->bytes || info->kind == BC_I1 || info->order != BC_MemoryOrderingSemantics_weak
        || (box->base & (info->bytes - 1u)))
        return false;
    uint32_t dims = box->dims;
    if (dims && box->step[dims - 1] != info->bytes)
        return false;
    for (uint32_t d = 0; d + 2 < dims; d++)
        if (box->step[d] != box->step[d + 1] * (int64_t)box->extent[d + 1])
            return false;
    const vm_region *region = box_region(f, info, box);
    if (!region || (write && !region->writable))
        return false;
    out->ptr = (unsigned char *)(uintptr_t)box->base;
    out->pitch = dims > 1 ? box->step[dims - 2] : (int64_t)info->bytes << info->row_bits;
    out->in_memory = true;
    return true;
}

/* ---- moving them ---- */

void vm_rows_copy(vm_rows *rows, size_t row_bytes, uint32_t count_bits, unsigned char *staging)
{
    const unsigned char *from = rows->ptr;
    for (size_t i = 0; i < (size_t)1 << count_bits; i++, from += rows->pitch)
        memcpy(staging + i * row_bytes, from, row_bytes);
    *rows = (vm_rows){staging, (int64_t)row_bytes, false};
}

#define COPY_BLOCK(T)                                           \
    for (size_t i0 = 0; i0 < ni; i0 += 16)                      \
        for (size_t j0 = 0; j0 < nj; j0 += 16)                  \
            for (size_t i = i0; i < ni && i < i0 + 16; i++)     \
                for (size_t j = j0; j < nj && j < j0 + 16; j++) \
    memcpy(to + (int64_t)i * ti + (int64_t)j * tj, from + (int64_t)i * fi + (int64_t)j * fj, sizeof(T))

/* to[i][j] = from[i][j]; strides in bytes. Blocks keep both sides in the cache when one is walked across its rows. */
static void copy_2d(const vm_kernels *kernels, unsigned char *to, int64_t ti, int64_t tj, const unsigned char *from,
                    int64_t fi, int64_t fj, size_t ni, size_t nj, size_t bytes)
{
    const int64_t unit = (int64_t)bytes;
    if (tj == unit && fj == unit) {
        for (size_t i = 0; i < ni; i++)
            memcpy(to + (int64_t)i * ti, from + (int64_t)i * fi, nj * bytes);
        return;
    }
    if (ti == unit && fj == unit) {
        kernels->transpose(to, tj, from, fi, ni, nj, (unsigned)bytes);
        return;
    }
    if (tj == unit && fi == unit) {
        kernels->transpose(to, ti, from, fj, nj, ni, (unsigned)bytes);
        return;
    }
    switch (bytes) {
    case 1: COPY_BLOCK(uint8_t); break;
    case 2: COPY_BLOCK(uint16_t); break;
    case 4: COPY_BLOCK(uint32_t); break;
    default: COPY_BLOCK(uint64_t); break;
    }
}

/* Steps through the outer dimensions of a box, all but the last two. */
typedef struct vm_walk {
    uint32_t at[VM_MAX_BITS];
    int64_t memory; /* offsets of the current place */
    size_t tile;
} vm_walk;

static bool walk_on(const vm_box *box, uint32_t outer, vm_walk *w)
{
    for (uint32_t d = outer; d-- > 0;) {
        w->memory += box->step[d];
        w->tile += box->tile_step[d];
        if (++w->at[d] < box->valid[d])
            return true;
        w->memory -= box->step[d] * (int64_t)box->valid[d];
        w->tile -= box->tile_step[d] * box->valid[d];
        w->at[d] = 0;
    }
    return false;
}

void vm_box_copy(const vm_kernels *kernels, const vm_box *box, size_t bytes, unsigned char *tile, bool to_memory)
{
    unsigned char *memory = (unsigned char *)(uintptr_t)box->base;
    uint32_t outer = box->dims > 2 ? box->dims - 2 : 0;
    uint32_t i = box->dims >= 2 ? box->dims - 2 : 0, j = box->dims ? box->dims - 1 : 0;
    size_t ni = box->dims >= 2 ? box->valid[i] : 1, nj = box->dims ? box->valid[j] : 1;
    int64_t mi = box->dims >= 2 ? box->step[i] : 0, mj = box->dims ? box->step[j] : (int64_t)bytes;
    int64_t ti = box->dims >= 2 ? (int64_t)(box->tile_step[i] * bytes) : 0;
    int64_t tj = box->dims ? (int64_t)(box->tile_step[j] * bytes) : (int64_t)bytes;
    vm_walk w = {.memory = 0};
    do {
        unsigned char *m = memory + w.memory, *t = tile + w.tile * bytes;
        if (to_memory)
            copy_2d(kernels, m, mi, mj, t, ti, tj, ni, nj, bytes);
        else
            copy_2d(kernels, t, ti, tj, m, mi, mj, ni, nj, bytes);
    } while (walk_on(box, outer, &w));
}

/* Runs of bits of a layout whose strides double, as the dimensions of a box. */
static void box_of_layout(const vm_layout *layout, size_t bytes, const void *base, vm_box *box)
{
    uint32_t first[VM_MAX_BITS], count = 0;
    for (uint32_t b = 0; b < layout->bits; b++) {
        bool goes_on = b && (layout->stride[b] == 2 * layout->stride[b - 1]);
        if (!goes_on)
            first[count++] = b;
    }
    *box = (vm_box){.base = (uintptr_t)base, .dims = count, .whole = true};
    for (uint32_t d = 0; d < count; d++) { /* boxes have the innermost dimension last */
        uint32_t low = first[count - 1 - d], high = d ? first[count - d] : layout->bits;
        box->valid[d] = box->extent[d] = (uint32_t)1 << (high - low);
        box->step[d] = (int64_t)(layout->stride[low] * bytes);
        box->tile_step[d] = (size_t)1 << low;
    }
}

void vm_copy_layout(const vm_kernels *kernels, const vm_layout *layout, size_t bytes, const void *from, void *to)
{
    if (layout->bits == 0 || layout->stride[0] != 0) {
        vm_box box;
        box_of_layout(layout, bytes, from, &box);
        vm_box_copy(kernels, &box, bytes, to, false);
        return;
    }
    uint32_t run = 0; /* one element again and again */
    while (run < layout->bits && layout->stride[run] == 0)
        run++;
    vm_gather(kernels, layout, run, true, bytes, from, 0, (size_t)1 << layout->bits, to);
}

static bool each_in_box(vm_frame *f, const vm_inst *inst, const vm_box *box, size_t tile_base, vm_each *each,
                        void *user)
{
    vm_walk w = {.memory = 0};
    if (box->empty)
        return true;
    do {
        if (!each(f, inst, user, box->base + (uint64_t)w.memory, tile_base + w.tile))
            return false;
    } while (walk_on(box, box->dims, &w));
    return true;
}

/* Slices of the sparse dimension, one when there is none, and elements of the tile from one slice to the next. */
static uint32_t slices_of(const vm_access_info *info, size_t *out_step)
{
    *out_step = 0;
    if (info->sparse < 0)
        return 1;
    *out_step = 1;
    for (uint32_t t = (uint32_t)info->sparse + 1; t < info->rank; t++)
        *out_step *= (size_t)info->dims[t].extent;
    return (uint32_t)info->dims[info->sparse].extent;
}

bool vm_view_each(vm_frame *f, const vm_inst *inst, const vm_access_info *info, vm_each *each, void *user)
{
    size_t step;
    uint32_t slices = slices_of(info, &step);
    for (uint32_t s = 0; s < slices; s++) {
        vm_box box;
        vm_box_make(f, info, s, &box);
        if (!each_in_box(f, inst, &box, s * step, each, user))
            return false;
    }
    return true;
}

/* ---- loads and stores ---- */

void vm_breathe(vm_frame *f)
{
    vm_finish_streams(f);
    if ((++f->strong_accesses & 63) == 0)
        sched_yield();
}

static memory_order load_order(bc_MemoryOrderingSemantics order)
{
    return order == BC_MemoryOrderingSemantics_relaxed ? memory_order_relaxed : memory_order_acquire;
}
static memory_order store_order(bc_MemoryOrderingSemantics order)
{
    return order == BC_MemoryOrderingSemantics_relaxed ? memory_order_relaxed : memory_order_release;
}

#define ATOMIC_LOAD(T)                                                                   \
    do {                                                                                 \
        T x = atomic_load_explicit((_Atomic(T) *)(uintptr_t)address, load_order(order)); \
        memcpy(out, &x, sizeof x);                                                       \
    } while (0)
#define ATOMIC_STORE(T)                                                                 \
    do {                                                                                \
        T x;                                                                            \
        memcpy(&x, from, sizeof x);                                                     \
        atomic_store_explicit((_Atomic(T) *)(uintptr_t)address, x, store_order(order)); \
    } while (0)

void vm_load_element(void *out, uint64_t address, unsigned bytes, bc_MemoryOrderingSemantics order)
{
    if (order == BC_MemoryOrderingSemantics_weak) {
        memcpy(out, (const void *)(uintptr_t)address, bytes);
        return;
    }
    switch (bytes) {
    case 1: ATOMIC_LOAD(uint8_t); break;
    case 2: ATOMIC_LOAD(uint16_t); break;
    case 4: ATOMIC_LOAD(uint32_t); break;
    default: ATOMIC_LOAD(uint64_t); break;
    }
}

void vm_store_element(uint64_t address, const void *from, unsigned bytes, bc_MemoryOrderingSemantics order)
{
    if (order == BC_MemoryOrderingSemantics_weak) {
        memcpy((void *)(uintptr_t)address, from, bytes);
        return;
    }
    switch (bytes) {
    case 1: ATOMIC_STORE(uint8_t); break;
    case 2: ATOMIC_STORE(uint16_t); break;
    case 4: ATOMIC_STORE(uint32_t); break;
    default: ATOMIC_STORE(uint64_t); break;
    }
}

typedef struct vm_mover {
    const vm_access_info *info;
    unsigned char *tile;
} vm_mover;

static bool load_each(vm_frame *f, const vm_inst *inst, void *user, uint64_t address, size_t element)
{
    const vm_mover *m = user;
    if (!m->info->bytes) { /* f4 */
        if (!vm_reach(f, inst, address / 2, 1, false, element))
            return false;
        unsigned char byte = *(const unsigned char *)(uintptr_t)(address / 2);
        m->tile[element] = address & 1 ? byte >> 4 : byte & 15;
        return true;
    }
    if (!vm_reach(f, inst, address, m->info->bytes, false, element))
        return false;
    vm_load_element(m->tile + element * m->info->bytes, address, m->info->bytes,
                    (bc_MemoryOrderingSemantics)m->info->order);
    return true;
}

static bool store_each(vm_frame *f, const vm_inst *inst, void *user, uint64_t address, size_t element)
{
    const vm_mover *m = user;
    if (!m->info->bytes) {
        if (!vm_reach(f, inst, address / 2, 1, true, element))
            return false;
        unsigned char *byte = (unsigned char *)(uintptr_t)(address / 2), x = m->tile[element] & 15;
        *byte = (unsigned char)(address & 1 ? (*byte & 15) | x << 4 : (*byte & 0xf0) | x);
        return true;
    }
    if (!vm_reach(f, inst, address, m->info->bytes, true, element))
        return false;
    vm_store_element(address, m->tile + element * m->info->bytes, m->info->bytes,
                     (bc_MemoryOrderingSemantics)m->info->order);
    return true;
}

/* Moves one box; takes the fast way if the box lies in one region and nothing special is requested. */
static bool move_box(vm_frame *f, const vm_inst *inst, const vm_access_info *info, const vm_box *box,
                     unsigned char *tile, size_t tile_base, bool write)
{
    if (box->empty)
        return true;
    if (info->bytes && info->order == BC_MemoryOrderingSemantics_weak && !(box->base & (info->bytes - 1u))) {
        const vm_region *region = box_region(f, info, box);
        if (region && (!write || region->writable)) {
            vm_box_copy(f->code->kernels, box, info->bytes, tile + tile_base * info->bytes, write);
            return true;
        }
    }
    vm_mover mover = {info, tile};
    if (info->order != BC_MemoryOrderingSemantics_weak)
        vm_breathe(f);
    return each_in_box(f, inst, box, tile_base, write ? store_each : load_each, &mover);
}

void vm_count_bytes(uint64_t *counter, const vm_access_info *info, const vm_box *box)
{
    uint64_t elements = !box->empty;
    for (uint32_t d = 0; d < box->dims; d++)
        elements *= box->valid[d];
    *counter += info->bytes ? elements * info->bytes : elements / 2;
}

static void fill_padding(const vm_access_info *info, unsigned char *tile)
{
    size_t n = (size_t)1 << info->bits, bytes = info->tile_bytes;
    if (info->padding == 0) {
        memset(tile, 0, n * bytes);
        return;
    }
    for (size_t i = 0; i < n; i++)
        memcpy(tile + i * bytes, &info->padding, bytes);
}

bool vm_view_load(vm_frame *f, const vm_inst *inst, const vm_access_info *info, void *tile)
{
    size_t step;
    uint32_t slices = slices_of(info, &step);
    for (uint32_t s = 0; s < slices; s++) {
        vm_box box;
        vm_box_make(f, info, s, &box);
        if (s == 0 && (!box.whole || info->sparse >= 0)) /* later slices may extend beyond the view */
            fill_padding(info, tile);
        if (!move_box(f, inst, info, &box, tile, s * step, false))
            return false;
        vm_count_bytes(&f->bytes_loaded, info, &box);
    }
    if (info->kind == BC_I1)
        f->code->kernels->map[VM_K_is_set_i8](tile, tile, NULL, NULL, (size_t)1 << info->bits);
    return true;
}

bool vm_view_store(vm_frame *f, const vm_inst *inst, const vm_access_info *info, const void *tile)
{
    size_t step;
    uint32_t slices = slices_of(info, &step);
    for (uint32_t s = 0; s < slices; s++) {
        vm_box box;
        vm_box_make(f, info, s, &box);
        if (!move_box(f, inst, info, &box, (unsigned char *)(uintptr_t)tile, s * step, true))
            return false;
        vm_count_bytes(&f->bytes_stored, info, &box);
    }
    return true;
}
