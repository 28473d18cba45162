/* Findings: recorded during the run, once for each pair of ops, and reported at its end. */
#include "vm/check/check.h"

#include <stdio.h>
#include <string.h>

#include "bytecode/print/report.h"

enum { DEFAULT_FINDINGS = 20 };

/* ---- the table ---- */

static const tv_check_info checks[] = {
    {"bounds", "accesses between the elements of an array, indices outside a view", TV_CHECK_BOUNDS},
    {"uninit", "reads of memory that nothing has written", TV_CHECK_UNINIT},
    {"races", "conflicting accesses of two tile blocks, or of one op, that nothing orders", TV_CHECK_RACES},
    {"tokens", "conflicting accesses of one tile block that no token orders", TV_CHECK_TOKENS},
    {"assume", "assume facts that are false", TV_CHECK_ASSUME},
    {"values", "operands for which the result of an op is undefined", TV_CHECK_VALUES},
    {"order", "results that depend on the order of the tile blocks", TV_CHECK_ORDER},
};

const tv_check_info *tv_check_at(size_t index)
{
    return index < TV_COUNT(checks) ? &checks[index] : NULL;
}

/* ---- memory ---- */

static void *take(void *user, size_t size)
{
    struct vm_check *check = user;
    const tv_allocator *a = &check->vm->allocator;
    if (size > check->vm->memory_limit - check->held)
        return NULL;
    void *memory = a->alloc(a->user, size);
    if (memory)
        check->held += size;
    return memory;
}

static void give_back(void *user, void *memory, size_t size)
{
    struct vm_check *check = user;
    const tv_allocator *a = &check->vm->allocator;
    check->held -= size;
    a->release(a->user, memory, size);
}

void vm_check_open(struct vm_check *check, tv_vm *vm, const vm_code *code)
{
    *check = (struct vm_check){.vm = vm, .code = code, .memory = {check, take, give_back}};
}

void vm_check_close(struct vm_check *check)
{
    for (size_t i = 0; i < check->finding_count; i++)
        give_back(check, check->findings[i].message, strlen(check->findings[i].message) + 1);
    if (check->findings)
        give_back(check, check->findings, check->finding_capacity * sizeof *check->findings);
}

const vm_inst *vm_check_no_memory(vm_frame *f, const vm_inst *inst)
{
    struct vm_check *check = f->run->check;
    check->failed = true;
    return vm_trap(f, inst, BC_RULE_X_RUN_02, "the checks have used %zu bytes, and the memory limit is %zu",
                   check->held, check->vm->memory_limit);
}

/* ---- findings ---- */

static bool is_known(const struct vm_check *check, bc_rule rule, const bc_op *op, const bc_op *other)
{
    for (size_t i = 0; i < check->finding_count; i++) {
        const vm_finding *f = &check->findings[i];
        if (f->rule != rule)
            continue;
        if (f->op == op && f->other == other)
            return op != NULL; /* findings that are not about an op are always new */
        if (other && f->op == other && f->other == op)
            return true; /* the same pair in the other order */
    }
    return false;
}

static void keep(struct vm_check *check, vm_finding finding, const char *text)
{
    unsigned limit = check->vm->options.max_findings;
    size_t size = strlen(text) + 1;
    if (check->full)
        return;
    if (check->finding_count == check->finding_capacity) {
        size_t larger = check->finding_capacity ? 2 * check->finding_capacity : 16;
        vm_finding *findings = take(check, larger * sizeof *findings);
        if (!findings) {
            check->failed = true;
            return;
        }
        if (check->findings) {
            memcpy(findings, check->findings, check->finding_count * sizeof *findings);
            give_back(check, check->findings, check->finding_capacity * sizeof *findings);
        }
        check->findings = findings;
        check->finding_capacity = larger;
    }
    finding.message = take(check, size);
    if (!finding.message) {
        check->failed = true;
        return;
    }
    memcpy(finding.message, text, size);
    check->findings[check->finding_count++] = finding;
    check->errors += bc_rules[finding.rule].severity == TV_ERROR;
    check->full = check->finding_count == (limit ? limit : DEFAULT_FINDINGS);
}

void vm_find(vm_frame *f, bc_rule rule, const bc_op *op, const bc_op *other, const char *format, ...)
{
    struct vm_check *check = f->run->check;
    char message[400], text[512];
    va_list args;
    if (check->junk || is_known(check, rule, op, other))
        return;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    snprintf(text, sizeof text, "tile block (%u, %u, %u): %s", f->block[0], f->block[1], f->block[2], message);
    keep(check, (vm_finding){.rule = rule, .op = op, .other = other}, text);
    if (check->full)
        atomic_store(&f->run->stopping, true);
}

void vm_find_in_results(struct vm_check *check, bc_rule rule, const bc_op *op, const char *format, ...)
{
    char text[512];
    va_list args;
    if (op && is_known(check, rule, op, NULL))
        return;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    keep(check, (vm_finding){.rule = rule, .op = op}, text);
}

void vm_report_findings(const struct vm_check *check, tv_sink sink)
{
    for (size_t i = 0; i < check->finding_count; i++) {
        const vm_finding *f = &check->findings[i];
        bc_place place = {.function = check->code->function, .op = f->op, .offset = TV_NO_OFFSET, .row = BC_NO_ROW};
        bc_report_pair(check->vm->module, sink, &place, f->other, f->rule, bc_rules[f->rule].severity,
                       bc_str(f->message));
    }
}
