/* Findings: a run with checks, whose turns are those of the session's own run, records the time of each finding. */
#include <string.h>

#include "vm/check/check.h"
#include "vm/compile/compile.h"
#include "vm/debug/state.h"

enum { MOST_FINDINGS = 1000 };

static uint32_t position_of(const vm_debug *d, const bc_op *op)
{
    for (uint32_t p = 0; op && p < d->op_count; p++)
        if (d->ops[p] == op)
            return p;
    return DBG_NONE;
}

static bool keep(vm_debug *d, const struct vm_check *check)
{
    vm_debug_finding *all = bc_new(&d->finding_arena, vm_debug_finding, check->finding_count + 1);
    size_t count = 0;
    for (size_t i = 0; all && i < check->finding_count; i++) {
        const vm_finding *f = &check->findings[i];
        tv_str text = bc_arena_dup(&d->finding_arena, bc_str(f->message));
        if (!text.ptr)
            return false;
        if (f->count) /* it is about the op that began last */
            all[count++] = (vm_debug_finding){.rule = bc_rules[f->rule].id,
                                              .text = text.ptr,
                                              .time = f->count - 1,
                                              .position = position_of(d, f->op),
                                              .other = position_of(d, f->other)};
    }
    d->findings = all;
    d->finding_count = all ? count : 0;
    return all != NULL;
}

static tv_status run_checked(vm_debug *d, const vm_code *code)
{
    const vm_launch launch = {d->run.grid, d->params};
    vm_probes probes = {.until = UINT64_MAX, .hot = d->cold, .turn_end = INT32_MAX};
    struct vm_check check;
    vm_check_open(&check, d->vm, code);
    check.probes = &probes;
    tv_status status = vm_run_order(&check, &launch, 0, false, (tv_sink){0});
    if (status != TV_NO_MEMORY && !keep(d, &check))
        status = TV_NO_MEMORY;
    vm_check_close(&check);
    return status;
}

/* The run changes memory: the first snapshot restores it, and the session then returns to its time. */
bool dbg_find_all(vm_debug *d, uint32_t checks, vm_debug_error *error)
{
    tv_vm *vm = d->vm;
    vm_code code;
    tv_vm_options kept = vm->options;
    uint64_t now = d->probes.count;
    bool trapped = d->trapped;
    checks |= d->checked;
    if (checks == d->checked)
        return true;
    if (d->run.blocks > UINT32_MAX)
        return dbg_fail(error, "checks are possible for up to %u tile blocks", UINT32_MAX);
    vm->options.checks = checks;
    vm->options.max_findings = MOST_FINDINGS;
    vm->options.output = (tv_writer){0};
    vm->probed = true;
    dbg_restore(d, 0);
    tv_float_env caller = tv_float_enter();
    tv_status status = vm_compile_entry(vm, d->function, (tv_sink){0}, &code);
    if (status == TV_OK) {
        status = run_checked(d, &code);
        bc_arena_release(&code.arena);
    }
    tv_float_leave(caller);
    vm->probed = false;
    vm->options = kept;
    dbg_restore(d, 0);
    dbg_goto(d, now);
    if (trapped)
        dbg_run(d, now + 1, d->cold);
    if (status == TV_NO_MEMORY || status == TV_UNSUPPORTED)
        return dbg_fail(error, "the run with checks ran out of memory");
    d->checked = checks;
    return true;
}

bool vm_debug_finding_at(const vm_debug *d, size_t index, vm_debug_finding *out)
{
    if (index >= d->finding_count)
        return false;
    *out = d->findings[index];
    return true;
}
