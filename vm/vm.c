/* The public calls of the virtual machine. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "bytecode/base/text.h"
#include "bytecode/print/report.h"
#include "vm/batches.h"
#include "vm/check/check.h"
#include "vm/run/observe.h"
#include "vm/compile/compile.h"
#include "vm/precision/precision.h"
#include "vm/run/schedule.h"

typedef struct vm_entry {
    const bc_function *function;
    vm_code code;
    bool compiled;
    vm_batches batches;
} vm_entry;

enum { MAX_GRID = (1 << 24) - 1 };

tv_status vm_wrong(const bc_module *m, tv_sink sink, const char *format, ...)
{
    bc_place place = {.offset = TV_NO_OFFSET, .row = BC_NO_ROW};
    va_list args;
    va_start(args, format);
    bc_report_as(m, sink, &place, BC_RULE_X_RUN_01, TV_ERROR, NULL, format, args);
    va_end(args);
    return TV_USAGE;
}

/* ---- globals ---- */

/* Elements of a global as memory has them, from its constant record; a record of one element fills all. */
static void init_global(const bc_global *g, unsigned char *memory, size_t count)
{
    bc_kind kind = (bc_kind)g->type->elem->kind;
    unsigned stored = bc_kind_constant_bytes(kind), bytes = bc_kind_memory_bytes(kind);
    const bc_blob *blob = g->value;
    bool splat = kind == BC_I1 ? blob->len == 1 && count > 8 : blob->len == stored && count > 1;
    for (size_t i = 0; i < count; i++) {
        uint64_t x = 0;
        size_t at = splat ? 0 : i;
        if (kind == BC_I1)
            x = splat ? blob->ptr[0] != 0 : blob->ptr[at / 8] >> (at % 8) & 1;
        else
            memcpy(&x, blob->ptr + at * stored, stored);
        if (kind == BC_TF32)
            x <<= 13;
        if (bytes)
            memcpy(memory + i * bytes, &x, bytes);
        else
            memory[i / 2] = (unsigned char)(memory[i / 2] | (x & 15) << (i % 2 * 4));
    }
}

static tv_status make_global(tv_vm *vm, vm_global *g, tv_sink sink)
{
    size_t count = (size_t)1 << vm_type_bits(g->global->type), align = 64;
    unsigned bytes = bc_kind_memory_bytes((bc_kind)g->global->type->elem->kind);
    if (g->global->alignment > align && g->global->alignment <= 1u << 20)
        align = (size_t)g->global->alignment;
    g->bytes = bytes ? count * bytes : (count + 1) / 2;
    g->held = g->bytes + align;
    g->memory = vm->allocator.alloc(vm->allocator.user, g->held);
    if (!g->memory)
        return TV_NO_MEMORY;
    g->start = (unsigned char *)(((uintptr_t)g->memory + align - 1) / align * align);
    memset(g->start, 0, g->bytes);
    init_global(g->global, g->start, count);
    uint64_t start = (uintptr_t)g->start;
    vm_region region = {.start = start, .end = start + g->bytes, .name = "a global", .writable = !g->global->constant};
    (void)sink;
    return vm_regions_add(&vm->regions, &vm->allocator, region);
}

static tv_status make_globals(tv_vm *vm, tv_sink sink)
{
    size_t count = vm->module->global_count;
    if (!count)
        return TV_OK;
    vm->globals = vm->allocator.alloc(vm->allocator.user, count * sizeof *vm->globals);
    if (!vm->globals)
        return TV_NO_MEMORY;
    memset(vm->globals, 0, count * sizeof *vm->globals);
    vm->global_count = count;
    for (size_t i = 0; i < count; i++) {
        vm->globals[i].global = &vm->module->globals[i];
        TV_TRY(make_global(vm, &vm->globals[i], sink));
    }
    return TV_OK;
}

bool tv_vm_global(const tv_vm *vm, const char *name, void **out_ptr, size_t *out_size)
{
    for (size_t i = 0; i < vm->global_count; i++)
        if (bc_str_is(vm->globals[i].global->name->s, name)) {
            *out_ptr = vm->globals[i].start;
            *out_size = vm->globals[i].bytes;
            return true;
        }
    return false;
}

/* ---- the machine ---- */

static unsigned processors(void)
{
    long n = sysconf(_SC_NPROCESSORS_ONLN);
    return n > 0 ? (unsigned)n : 1;
}

static size_t half_of_memory(void)
{
    long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    return pages > 0 && page > 0 ? (size_t)pages / 2 * (size_t)page : SIZE_MAX / 2;
}

/* The allocator of a machine: the caller's, watched. */
static void *take(void *user, size_t size)
{
    tv_vm *vm = user;
    void *memory = vm->given.alloc(vm->given.user, size);
    if (!memory)
        atomic_store(&vm->starved, true);
    return memory;
}

static void give_back(void *user, void *memory, size_t size)
{
    const tv_vm *vm = user;
    vm->given.release(vm->given.user, memory, size);
}

tv_status tv_vm_new(const tv_module *module, const tv_vm_options *options, tv_sink sink, tv_vm **out_vm)
{
    tv_vm_options o = options ? *options : (tv_vm_options){0};
    tv_allocator a = o.allocator ? *o.allocator : bc_default_allocator();
    if (!module->verified)
        return vm_wrong(module, sink, "the module has not been verified: call tv_module_verify first");
    if (o.precision && o.checks)
        return vm_wrong(module, sink, "a machine has checks or precision, not both");
    tv_vm *vm = a.alloc(a.user, sizeof *vm);
    if (!vm)
        return TV_NO_MEMORY;
    memset(vm, 0, sizeof *vm);
    vm->module = module;
    vm->options = o;
    vm->given = a;
    vm->allocator = (tv_allocator){vm, take, give_back};
    vm->kernels = vm_kernels_best();
    vm->memory_limit = o.memory_limit ? o.memory_limit : half_of_memory();
    if (!o.threads)
        vm->options.threads = processors();
    if (o.trace || o.precision)
        vm->options.threads = 1;
    vm->entry_count = module->function_count;
    vm->entries = take(vm, (vm->entry_count + 1) * sizeof *vm->entries);
    tv_status status = vm->entries ? TV_OK : TV_NO_MEMORY;
    if (status == TV_OK) {
        memset(vm->entries, 0, (vm->entry_count + 1) * sizeof *vm->entries);
        status = make_globals(vm, sink);
    }
    if (status != TV_OK) {
        tv_vm_free(vm);
        return status;
    }
    *out_vm = vm;
    return TV_OK;
}

static void free_names(tv_vm *vm);

void tv_vm_free(tv_vm *vm)
{
    if (!vm)
        return;
    tv_allocator a = vm->given;
    free_names(vm);
    vm_precision_release(vm);
    for (size_t i = 0; vm->entries && i < vm->entry_count; i++) {
        vm_batches_release(&vm->entries[i].batches);
        if (vm->entries[i].compiled)
            bc_arena_release(&vm->entries[i].code.arena);
    }
    if (vm->entries)
        a.release(a.user, vm->entries, (vm->entry_count + 1) * sizeof *vm->entries);
    for (size_t i = 0; i < vm->global_count; i++)
        if (vm->globals[i].memory)
            a.release(a.user, vm->globals[i].memory, vm->globals[i].held);
    if (vm->globals)
        a.release(a.user, vm->globals, vm->module->global_count * sizeof *vm->globals);
    vm_regions_release(&vm->regions, &vm->allocator);
    vm_arrays_release(&vm->arrays, &vm->allocator);
    a.release(a.user, vm, sizeof *vm);
}

/* ---- buffers ---- */

/* Names of buffers are copied into allocations of their own. */
static const char *copy_name(tv_vm *vm, const char *name)
{
    size_t size = strlen(name) + 1;
    char *copy = vm->allocator.alloc(vm->allocator.user, size);
    return copy ? memcpy(copy, name, size) : NULL;
}

static void free_name(tv_vm *vm, vm_region *region)
{
    if (region->owned)
        vm->allocator.release(vm->allocator.user, (void *)(uintptr_t)region->name, strlen(region->name) + 1);
}

static void free_names(tv_vm *vm)
{
    for (size_t i = 0; i < vm->regions.count; i++)
        free_name(vm, &vm->regions.items[i]);
}

tv_status tv_vm_add_buffer(tv_vm *vm, void *ptr, size_t size, const char *name, bool writable, tv_sink sink)
{
    uint64_t start = (uintptr_t)ptr;
    const char *shown = name ? name : "a buffer";
    if (start == 0 && size != 0)
        return vm_wrong(vm->module, sink, "buffer '%s' has no memory: its %zu bytes would begin at address 0", shown,
                        size);
    if (size == 0 || start > UINT64_MAX - size)
        return vm_wrong(vm->module, sink, "buffer '%s' has %zu bytes at address 0x%llx", shown, size,
                        (unsigned long long)start);
    vm_region region = {.start = start, .end = start + size, .name = "a buffer", .writable = writable};
    if (name) {
        region.name = copy_name(vm, name);
        region.owned = true;
        if (!region.name)
            return TV_NO_MEMORY;
    }
    tv_status status = vm_regions_add(&vm->regions, &vm->allocator, region);
    if (status == TV_USAGE)
        vm_wrong(vm->module, sink, "buffer '%s' overlaps another one", shown);
    if (status != TV_OK)
        free_name(vm, &region);
    return status;
}

tv_status tv_vm_describe_array(tv_vm *vm, const tv_array *array, const char *name, bool undefined, tv_sink sink)
{
    uintptr_t low, high;
    const char *shown = name ? name : "an array";
    if (!tv_array_span(array, &low, &high))
        return vm_wrong(vm->module, sink, "array '%s' is larger than the address space", shown);
    vm_region *region = low < high ? vm_regions_at(&vm->regions, low, high - low) : NULL;
    if (low < high && !region)
        return vm_wrong(vm->module, sink, "array '%s' does not lie in a buffer that was added", shown);
    TV_TRY(vm_arrays_add(&vm->arrays, &vm->allocator, array, name));
    if (region) {
        const vm_array *added = &vm->arrays.items[vm->arrays.count - 1];
        region->undefined = undefined && (region->undefined || !region->described);
        region->gaps |= !added->packed;
        region->described = true;
    }
    return TV_OK;
}

void tv_vm_clear_buffers(tv_vm *vm)
{
    free_names(vm);
    vm->arrays.count = 0;
    vm->regions.count = 0;
    for (size_t i = 0; i < vm->global_count; i++) {
        const vm_global *g = &vm->globals[i];
        uint64_t start = (uintptr_t)g->start;
        vm_region region = {.start = start,
                            .end = start + g->bytes,
                            .name = "a global",
                            .writable = !g->global->constant};
        vm_regions_add(&vm->regions, &vm->allocator, region); /* there was room for it before */
    }
}

/* ---- running ---- */

static tv_status find_entry(tv_vm *vm, const char *name, tv_sink sink, vm_entry **out)
{
    const bc_module *m = vm->module;
    if (!name && m->function_count != 1)
        return vm_wrong(m, sink, "the module has %zu entries: name the one to run", m->function_count);
    for (size_t i = 0; i < m->function_count; i++)
        if (!name || bc_str_is(m->functions[i].name->s, name)) {
            vm->entries[i].function = &m->functions[i];
            *out = &vm->entries[i];
            return TV_OK;
        }
    return vm_wrong(m, sink, "the module has no entry '%s'", name);
}

static tv_status check_grid(const bc_module *m, const uint32_t grid[3], tv_sink sink)
{
    for (unsigned i = 0; i < 3; i++)
        if (grid[i] < 1 || grid[i] > MAX_GRID)
            return vm_wrong(m, sink, "the grid has %u tile blocks in %c; 1 to %d are possible", grid[i], "xyz"[i],
                            MAX_GRID);
    if ((uint64_t)grid[0] * grid[1] > UINT64_MAX / 4 / grid[2])
        return vm_wrong(m, sink, "the grid has more than 2^62 tile blocks");
    return TV_OK;
}

static tv_status compile_entry(tv_vm *vm, vm_entry *entry, tv_sink sink)
{
    if (entry->compiled)
        return TV_OK;
    double start = vm_seconds();
    tv_status status = vm_compile_entry(vm, entry->function, sink, &entry->code);
    vm->stats.compile_seconds = vm_seconds() - start;
    entry->compiled = status == TV_OK;
    if (status == TV_NO_MEMORY && !atomic_load(&vm->starved)) {
        bc_place place = {.function = entry->function, .offset = TV_NO_OFFSET, .row = BC_NO_ROW};
        bc_report(vm->module, sink, &place, BC_RULE_X_RUN_02, "the kernel could not be compiled within %zu bytes",
                  vm->memory_limit);
    }
    return status;
}

/* The entry of a call that makes sense. */
static tv_status find_call(tv_vm *vm, const char *name, const uint32_t grid[3], size_t count, tv_sink sink,
                           vm_entry **out)
{
    TV_TRY(find_entry(vm, name, sink, out));
    TV_TRY(check_grid(vm->module, grid, sink));
    const bc_function *f = (*out)->function;
    uint32_t wanted = f->body->arg_count;
    if (count != wanted)
        return vm_wrong(vm->module, sink, "'%.*s' takes %u parameters, and %zu were given", (int)f->name->s.len,
                        f->name->s.ptr, wanted, count);
    return TV_OK;
}

tv_status vm_find_call(tv_vm *vm, const char *name, const uint32_t grid[3], size_t count, tv_sink sink,
                       const bc_function **out)
{
    vm_entry *entry = NULL;
    TV_TRY(find_call(vm, name, grid, count, sink, &entry));
    *out = entry->function;
    return TV_OK;
}

static tv_status run_code(tv_vm *vm, vm_entry *entry, const uint32_t grid[3], const void *const *params, tv_sink sink)
{
    if (vm->options.checks)
        return vm_run_checked(vm, &entry->code, grid, params, sink);
    if (vm->options.precision)
        return vm_run_precisely(vm, &entry->code, grid, params, sink);
    const vm_code *batch = vm_batches_for(vm, &entry->batches, &entry->code, grid);
    atomic_store(&vm->starved, false); /* without memory for batches, blocks run one by one */
    return vm_run_grid(vm, &entry->code, batch, grid, params, sink);
}

static tv_status run_entry(tv_vm *vm, const char *name, const uint32_t grid[3], const void *const *params, size_t count,
                           tv_sink sink)
{
    vm_entry *entry = NULL;
    TV_TRY(find_call(vm, name, grid, count, sink, &entry));
    vm->stats = (tv_vm_stats){0};
    memset(vm->op_counts, 0, sizeof vm->op_counts);
    memset(vm->op_seconds, 0, sizeof vm->op_seconds);
    atomic_store(&vm->starved, false);
    TV_TRY(compile_entry(vm, entry, sink));
    vm->last = &entry->code;
    memset(entry->code.segment_runs, 0, entry->code.segment_count * sizeof *entry->code.segment_runs);
    if (!vm_observe_begin(vm, entry->function))
        return TV_NO_MEMORY;
    vm->observed_from = vm_seconds();
    tv_status status = run_code(vm, entry, grid, params, sink);
    vm_observe_end(vm);
    return status;
}

tv_status tv_vm_run(tv_vm *vm, const char *name, const uint32_t grid[3], const void *const *params, size_t count,
                    tv_sink sink)
{
    TV_RETURN_COMPUTED(run_entry(vm, name, grid, params, count, sink));
}

/* ---- figures ---- */

void tv_vm_get_stats(const tv_vm *vm, tv_vm_stats *out_stats)
{
    *out_stats = vm->stats;
}

bool tv_vm_op_time_at(const tv_vm *vm, size_t index, tv_vm_op_time *out_time)
{
    for (unsigned i = 0; i < OP_LIMIT; i++)
        if (vm->op_counts[i] && index-- == 0) {
            *out_time = (tv_vm_op_time){bc_ops[i].name, vm->op_counts[i], vm->op_seconds[i]};
            return true;
        }
    return false;
}

bool tv_vm_op_runs_at(const tv_vm *vm, uint32_t op_index, uint64_t *out_runs)
{
    const vm_code *code = vm->last;
    if (!code || op_index >= code->function->op_count)
        return false;
    while (op_index && code->op_segments[op_index] == VM_NO_SEGMENT)
        op_index--;
    uint32_t segment = code->op_segments[op_index];
    *out_runs = segment == VM_NO_SEGMENT ? 0 : code->segment_runs[segment];
    return true;
}
