/* One run with exact elements, and its figures. */
#include "vm/precision/precision.h"

#include "bytecode/print/report.h"

/* ---- memory ---- */

static void *take(void *user, size_t size)
{
    struct vm_precision *p = user;
    const tv_allocator *a = &p->vm->allocator;
    if (size > p->vm->memory_limit - p->held)
        return NULL;
    void *memory = a->alloc(a->user, size);
    if (memory)
        p->held += size;
    return memory;
}

static void give_back(void *user, void *memory, size_t size)
{
    struct vm_precision *p = user;
    const tv_allocator *a = &p->vm->allocator;
    p->held -= size;
    a->release(a->user, memory, size);
}

const vm_inst *vm_precision_no_memory(vm_frame *f, const vm_inst *inst)
{
    const struct vm_precision *p = vm_precision_of(f);
    return vm_trap(f, inst, BC_RULE_X_RUN_02, "the exact elements have used %zu bytes, and the memory limit is %zu",
                   p->held, p->vm->memory_limit);
}

void vm_precision_release(tv_vm *vm)
{
    struct vm_precision *p = vm->precision;
    const tv_allocator *a = &vm->allocator;
    if (!p)
        return;
    vm_cells_release(&p->cells, &p->memory);
    if (p->arrays)
        give_back(p, p->arrays, p->array_capacity * sizeof *p->arrays);
    if (p->ops)
        give_back(p, p->ops, (p->op_count + 1) * sizeof *p->ops);
    a->release(a->user, p, sizeof *p);
    vm->precision = NULL;
}

static bool open_precision(tv_vm *vm, const vm_code *code)
{
    const tv_allocator *a = &vm->allocator;
    struct vm_precision *p = a->alloc(a->user, sizeof *p);
    if (!p)
        return false;
    *p = (struct vm_precision){.vm = vm,
                               .code = code,
                               .memory = {p, take, give_back},
                               .op_count = code->function->op_count};
    vm->precision = p;
    p->ops = take(p, (p->op_count + 1) * sizeof *p->ops);
    if (p->ops)
        memset(p->ops, 0, (p->op_count + 1) * sizeof *p->ops);
    return p->ops != NULL;
}

/* ---- what memory holds in the end ---- */

static bool is_of(const vm_array_loss *a, const vm_array *array, const vm_region *region, uint8_t kind)
{
    return a->array == array && a->region == region && a->kind == kind;
}

/* The figures of an array; NULL: out of memory. */
static vm_array_loss *array_of(struct vm_precision *p, const vm_array *array, const vm_region *region, uint8_t kind)
{
    for (size_t i = 0; i < p->array_count; i++)
        if (is_of(&p->arrays[i], array, region, kind))
            return &p->arrays[i];
    if (p->array_count == p->array_capacity) {
        size_t larger = p->array_capacity ? 2 * p->array_capacity : 8;
        vm_array_loss *arrays = take(p, larger * sizeof *arrays);
        if (!arrays)
            return NULL;
        if (p->arrays) {
            memcpy(arrays, p->arrays, p->array_count * sizeof *arrays);
            give_back(p, p->arrays, p->array_capacity * sizeof *arrays);
        }
        p->arrays = arrays;
        p->array_capacity = larger;
    }
    p->arrays[p->array_count] = (vm_array_loss){.array = array, .region = region, .kind = kind};
    return &p->arrays[p->array_count++];
}

/* The ops that led to the error of a stored element. */
static void blame(struct vm_precision *p, const vm_exact *exact, const bc_float_format *format, double ulps, double a)
{
    double share = fmin(ulps, vm_ulps(format, exact->share, a, exact->x.hi)); /* parts may have opposite signs */
    if (exact->origin && share > p->ops[exact->origin - 1].caused)
        p->ops[exact->origin - 1].caused = share;
    if (exact->amplifier && ulps > p->ops[exact->amplifier - 1].amplified)
        p->ops[exact->amplifier - 1].amplified = ulps;
}

static bool add_cell(struct vm_precision *p, uint64_t address, const vm_kept *kept, unsigned bytes)
{
    bc_kind kind = (bc_kind)kept->kind;
    const bc_float_format *format = bc_float_format_of(kind);
    const vm_region *region = vm_regions_find(&p->vm->regions, address, bytes);
    uint64_t bits = 0;
    bool is_element;
    if (!region)
        return true; /* storage from alloca */
    memcpy(&bits, (const void *)(uintptr_t)address, bytes);
    if (bits != kept->bits)
        return true; /* overwritten by something else */
    const vm_array *array = vm_arrays_find(&p->vm->arrays, address, &is_element);
    vm_array_loss *a = array_of(p, array, region, kept->kind);
    if (!a)
        return false;
    double real = bc_float_value(kind, kind == BC_TF32 ? bc_tf32_from_cell((uint32_t)bits) : bits);
    double distance = vm_wide_distance(vm_wide_of(real), kept->exact.x);
    double ulps = vm_ulps(format, distance, real, kept->exact.x.hi), worst = a->error.worst;
    a->elements++;
    if (vm_is_finite(kept->exact.x.hi))
        a->largest = fmax(a->largest, fabs(kept->exact.x.hi));
    if (vm_is_finite(distance))
        a->distance = fmax(a->distance, fabs(distance));
    vm_note_error(&a->error, ulps, kept->block, address, real, kept->exact.x.hi);
    if (ulps > worst) {
        a->origin = kept->exact.origin;
        a->amplifier = kept->exact.amplifier;
    }
    blame(p, &kept->exact, format, ulps, real);
    return true;
}

/* Chunks in the order of their addresses, so that figures do not depend on the layout of the table. */
static uint64_t next_key(const vm_cells *c, uint64_t from, const vm_kept_chunk **out)
{
    *out = NULL;
    for (size_t i = 0; i < c->capacity; i++)
        if (c->chunks[i] && c->chunks[i]->key >= from && (!*out || c->chunks[i]->key < (*out)->key))
            *out = c->chunks[i];
    return *out ? (*out)->key + 1 : 0;
}

static bool add_arrays(struct vm_precision *p)
{
    const vm_kept_chunk *chunk;
    for (uint64_t key = next_key(&p->cells, 0, &chunk); chunk; key = next_key(&p->cells, key, &chunk))
        for (size_t i = 0; i < vm_kept_count(chunk); i++)
            if (chunk->cells[i].set
                && !add_cell(p, (chunk->key << VM_KEPT_BITS) + i * chunk->bytes, &chunk->cells[i], chunk->bytes))
                return false;
    return true;
}

/* ---- a run ---- */

tv_status vm_run_precisely(tv_vm *vm, const vm_code *code, const uint32_t grid[3], const void *const *params,
                           tv_sink sink)
{
    vm_precision_release(vm);
    if (!open_precision(vm, code))
        return TV_NO_MEMORY;
    memcpy(vm->precision->grid, grid, sizeof vm->precision->grid);
    tv_status status = vm_run_grid(vm, code, NULL, grid, params, sink);
    if (status == TV_OK && !add_arrays(vm->precision))
        status = TV_NO_MEMORY;
    vm_cells_release(&vm->precision->cells, &vm->precision->memory);
    return status;
}
