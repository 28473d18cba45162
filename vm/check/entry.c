/* The entry points of the checks: the code that is emitted before an op, and a run of the whole grid. */
#include "vm/check/check.h"

void vm_emit_checks(vm_emit *e, const bc_op *op)
{
    vm_emit_value_checks(e, op);
    vm_emit_memory_checks(e, op);
}

tv_status vm_run_checked(tv_vm *vm, const vm_code *code, const uint32_t grid[3], const void *const *params,
                         tv_sink sink)
{
    const vm_launch launch = {grid, params};
    uint64_t blocks = (uint64_t)grid[0] * grid[1] * grid[2];
    struct vm_check check;
    if (blocks > UINT32_MAX) {
        bc_place place = {.function = code->function, .offset = TV_NO_OFFSET, .row = BC_NO_ROW};
        bc_report(vm->module, sink, &place, BC_RULE_X_RUN_01, "checks are possible for up to %u tile blocks",
                  UINT32_MAX);
        return TV_USAGE;
    }
    vm_check_open(&check, vm, code);
    tv_status status = vm_check_results(&check, &launch, sink);
    if (atomic_load(&vm->starved)) {
        status = TV_NO_MEMORY;
    } else if (status == TV_OK) {
        vm_report_findings(&check, sink);
        status = check.errors ? TV_INVALID : TV_OK;
    }
    vm_check_close(&check);
    return status;
}
