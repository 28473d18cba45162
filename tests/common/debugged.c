/* A run in the debugger. */
#include "tests/common/debugged.h"

#include "vm/debug/state.h"

tv_status debugged_run(tv_vm *vm, const char *entry, const uint32_t grid[3], const void *const *params, size_t count,
                       tv_sink sink)
{
    vm_debug *d;
    vm_debug_event event;
    vm_debug_place at;
    TV_TRY(vm_debug_open(vm, entry, grid, params, count, NULL, sink, &d));
    d->snapshot_gap = 0;
    vm_debug_continue(d, false, &event);
    vm_debug_where(d, &at);
    const uint64_t stops[] = {at.time / 2, 3 * (at.time / 4), at.time / 3, at.time ? at.time - 1 : 0, 1};
    for (size_t i = 0; i < TV_COUNT(stops); i++) {
        if (d->current && !d->trapped)
            dbg_snapshot_take(d);
        vm_debug_goto(d, stops[i], &event);
    }
    vm_debug_continue(d, false, &event);
    tv_status status = event.why == VM_DEBUG_TRAP  ? vm_report_stop(&d->run, sink)
                       : event.why == VM_DEBUG_END ? TV_OK
                                                   : TV_NO_MEMORY;
    vm_debug_close(d);
    return status;
}
