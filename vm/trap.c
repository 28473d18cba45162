/* Traps: the first one of a run is kept and reported when all workers have stopped. */
#include <stdio.h>
#include <string.h>

#include "bytecode/report.h"
#include "vm/schedule.h"

static void record(vm_frame *f, const vm_inst *inst, bc_rule rule, const char *message)
{
    vm_run *run = f->run;
    f->trapped = true;
    pthread_mutex_lock(&run->lock);
    /* the first block in the order of the grid, among those that trapped before they were stopped */
    if (!run->stop.set || f->block_index < run->stop.block_index) {
        run->stop.set = true;
        run->stop.rule = rule;
        run->stop.block_index = f->block_index;
        memcpy(run->stop.block, f->block, sizeof f->block);
        run->stop.op = inst ? inst->op : NULL;
        snprintf(run->stop.message, sizeof run->stop.message, "%s", message);
    }
    pthread_mutex_unlock(&run->lock);
    atomic_store(&run->stopping, true);
}

const vm_inst *vm_trap(vm_frame *f, const vm_inst *inst, bc_rule rule, const char *format, ...)
{
    char message[400], text[512];
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    snprintf(text, sizeof text, "tile block (%u, %u, %u): %s", f->block[0], f->block[1], f->block[2], message);
    record(f, inst, rule, text);
    return NULL;
}

void vm_trap_outside(vm_frame *f, const vm_inst *inst, uint64_t address, size_t bytes, bool write, size_t element)
{
    const vm_region *near = vm_regions_nearest(&f->run->vm->regions, address);
    const char *verb = write ? "written" : "read";
    if (!near) {
        vm_trap(f, inst, BC_RULE_X_MEM_01, "element %zu would be %s at address 0x%llx, but no buffer was given", element,
                verb, (unsigned long long)address);
        return;
    }
    unsigned long long size = near->end - near->start;
    if (address < near->start)
        vm_trap(f, inst, BC_RULE_X_MEM_01,
                "element %zu (%zu bytes) would be %s %llu bytes before the start of '%s' (%llu bytes)", element, bytes,
                verb, (unsigned long long)(near->start - address), near->name, size);
    else
        vm_trap(f, inst, BC_RULE_X_MEM_01, "element %zu (%zu bytes) would be %s at byte %llu of '%s' (%llu bytes)",
                element, bytes, verb, (unsigned long long)(address - near->start), near->name, size);
}

void vm_output(vm_frame *f, const char *text, size_t len)
{
    const tv_writer *out = &f->run->vm->options.output;
    if (!out->write)
        return;
    pthread_mutex_lock(&f->run->lock);
    out->write(out->user, text, len);
    pthread_mutex_unlock(&f->run->lock);
}
