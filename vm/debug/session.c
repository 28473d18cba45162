/* Opening and closing a session. */
#include <string.h>

#include "vm/compile/compile.h"
#include "vm/debug/state.h"

#define DEFAULT_SNAPSHOTS ((size_t)256 << 20)

static tv_status compile(vm_debug *d, tv_sink sink)
{
    d->vm->probed = true;
    tv_status status = vm_compile_entry(d->vm, d->function, sink, &d->code);
    d->vm->probed = false;
    if (status != TV_OK)
        d->code = (vm_code){0};
    return status;
}

static tv_status open_session(vm_debug *d, const uint32_t grid[3], tv_sink sink)
{
    TV_TRY(compile(d, sink));
    if (!dbg_make_tables(d))
        return TV_NO_MEMORY;
    if (d->code.allocas && !(d->allocas = dbg_arena_new(&d->normal)))
        return TV_NO_MEMORY;
    d->probes.hot = d->cold;
    if (!dbg_machine_open(d, grid))
        return TV_NO_MEMORY;
    size_t frame = vm_worker_bytes(&d->code, false);
    if (frame > d->vm->memory_limit)
        return vm_no_frame(&d->run, frame, sink);
    if (!dbg_pages_open(d) || !dbg_snapshot_take(d))
        return TV_NO_MEMORY;
    dbg_run(d, 0, d->cold);
    return d->starved ? vm_no_frame(&d->run, frame, sink) : TV_OK;
}

tv_status vm_debug_open(tv_vm *vm, const char *entry, const uint32_t grid[3], const void *const *params, size_t count,
                        const vm_debug_options *options, tv_sink sink, vm_debug **out)
{
    const tv_allocator a = vm->allocator;
    const bc_function *f = NULL;
    TV_TRY(vm_find_call(vm, entry, grid, count, sink, &f));
    vm_debug *d = a.alloc(a.user, sizeof *d);
    if (!d)
        return TV_NO_MEMORY;
    memset(d, 0, sizeof *d);
    d->vm = vm;
    d->normal = a;
    d->function = f;
    d->params = params;
    if (options)
        d->options = *options;
    if (!d->options.snapshot_bytes)
        d->options.snapshot_bytes = DEFAULT_SNAPSHOTS;
    d->snapshot_gap = 0.02;
    d->next_number = 1;
    bc_arena_init(&d->arena, &a, 0);
    bc_arena_init(&d->finding_arena, &a, 0);
    tv_status status = open_session(d, grid, sink);
    if (status != TV_OK) {
        vm_debug_close(d);
        return status;
    }
    *out = d;
    return TV_OK;
}

void vm_debug_close(vm_debug *d)
{
    if (!d)
        return;
    const tv_allocator a = d->normal;
    dbg_stops_close(d);
    if (d->snapshots)
        dbg_snapshots_close(d);
    dbg_machine_close(d);
    dbg_pages_close(d);
    if (!d->allocas)
        vm_regions_release(&d->run.allocas, &a);
    dbg_arena_free(d->allocas, &a);
    bc_op_printer_free(d->printer);
    if (d->code.arena.blocks)
        bc_arena_release(&d->code.arena);
    bc_arena_release(&d->finding_arena);
    bc_arena_release(&d->arena);
    a.release(a.user, d, sizeof *d);
}
