/* Traps: the first one of a run is kept and reported when all workers have stopped. */
#include <stdio.h>
#include <string.h>

#include "bytecode/number/number.h"
#include "bytecode/print/report.h"
#include "vm/run/schedule.h"

/* The op of the entry for an op of the function that runs a batch of its blocks: both have the same offset in the
   file. */
static const bc_op *op_of_entry(const vm_run *run, const bc_op *op)
{
    const bc_block *body = run->code->function->body;
    for (const bc_op *o = body->first; op && o; o = bc_next_op(o, body))
        if (o->offset == op->offset)
            return o;
    return NULL;
}

static void record(vm_frame *f, const bc_op *op, bc_rule rule, const char *message)
{
    vm_run *run = f->run;
    f->trapped = true;
    if (f->spans && rule != BC_RULE_X_LIM_02)
        return; /* the block that traps will trap again when it runs alone */
    if (f->spans)
        op = op_of_entry(run, op);
    pthread_mutex_lock(&run->lock);
    /* the first block in the order of the grid, among those that trapped before they were stopped */
    if (!run->stop.set || f->block_index < run->stop.block_index) {
        run->stop.set = true;
        run->stop.rule = rule;
        run->stop.block_index = f->block_index;
        memcpy(run->stop.block, f->block, sizeof f->block);
        run->stop.op = op;
        snprintf(run->stop.message, sizeof run->stop.message, "%s", message);
    }
    pthread_mutex_unlock(&run->lock);
    atomic_store(&run->stopping, true);
}

static void trap(vm_frame *f, const bc_op *op, bc_rule rule, const char *format, va_list args)
{
    char message[400], text[512];
    vsnprintf(message, sizeof message, format, args);
    snprintf(text, sizeof text, "tile block (%u, %u, %u): %s", f->block[0], f->block[1], f->block[2], message);
    record(f, op, rule, text);
}

void vm_trap_op(vm_frame *f, const bc_op *op, bc_rule rule, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    trap(f, op, rule, format, args);
    va_end(args);
}

const vm_inst *vm_trap(vm_frame *f, const vm_inst *inst, bc_rule rule, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    trap(f, inst ? inst->op : NULL, rule, format, args);
    va_end(args);
    return NULL;
}

/* ---- places in words ---- */

void vm_print_element(bc_text *out, const bc_type *tile, size_t element)
{
    size_t below = 1;
    for (uint32_t d = 0; d < tile->rank; d++)
        below *= (size_t)tile->shape[d];
    bc_text_puts(out, tile->rank ? "element " : "the element");
    for (uint32_t d = 0; d < tile->rank; d++) {
        below /= (size_t)tile->shape[d];
        bc_text_printf(out, "%s%zu%s", d ? ", " : "[", element / below % (size_t)tile->shape[d],
                       d + 1 == tile->rank ? "]" : "");
    }
}

bool vm_print_element_of(bc_text *out, const vm_array *a, uint64_t address)
{
    int64_t index[TV_MAX_RANK];
    if (!vm_array_element(a, address, index))
        return false;
    bc_text_puts(out, "element [");
    for (uint32_t d = 0; d < a->ndim; d++)
        bc_text_printf(out, "%s%lld", d ? ", " : "", (long long)index[d]);
    bc_text_printf(out, "] of '%s', ", a->name);
    vm_array_print_type(out, a);
    return true;
}

void vm_print_place(bc_text *out, const vm_run *run, uint64_t address)
{
    bool is_element;
    const vm_array *array = vm_arrays_find(&run->vm->arrays, address, &is_element);
    if (array && is_element && vm_print_element_of(out, array, address))
        return;
    const vm_region *region = vm_regions_find(&run->vm->regions, address, 1);
    if (!region)
        region = vm_regions_find(&run->allocas, address, 1);
    if (region)
        bc_text_printf(out, "byte %llu of '%s'", (unsigned long long)(address - region->start), region->name);
    else
        bc_text_printf(out, "address 0x%llx", (unsigned long long)address);
}

void vm_print_scalar(bc_text *out, const vm_run *run, bc_kind kind, uint64_t bits)
{
    if (kind == BC_PTR)
        vm_print_place(out, run, bits);
    else if (bc_float_format_of(kind))
        bc_text_printf(out, "%.*g", kind == BC_F64 ? 17 : 9, bc_float_value(kind, bits));
    else
        bc_print_int(out, kind, bits);
}

/* "'a', f32[32, 64] (8192 bytes)" */
static void print_region(bc_text *out, const vm_run *run, const vm_region *region)
{
    const vm_arrays *arrays = &run->vm->arrays;
    bc_text_printf(out, "'%s'", region->name);
    for (size_t i = 0; i < arrays->count; i++)
        if (arrays->items[i].low >= region->start && arrays->items[i].high <= region->end) {
            bc_text_puts(out, ", ");
            vm_array_print_type(out, &arrays->items[i]);
            break;
        }
    bc_text_printf(out, " (%llu bytes)", (unsigned long long)(region->end - region->start));
}

/* The tile, or the view of tiles, that an access moves. */
static const bc_type *accessed_tile(const bc_op *op)
{
    return bc_info(op)->effects == BC_READS ? bc_results(op)[0].type : bc_operands(op)[0]->type;
}

void vm_trap_outside(vm_frame *f, const vm_inst *inst, uint64_t address, size_t bytes, bool write, size_t element)
{
    const vm_region *near = vm_regions_nearest(&f->run->vm->regions, address);
    bc_text text;
    bc_text_init(&text, &f->run->vm->allocator);
    vm_print_element(&text, accessed_tile(inst->op), element);
    bc_text_printf(&text, " (%zu byte%s) would be %s ", bytes, bytes == 1 ? "" : "s", write ? "written" : "read");
    if (!near) {
        bc_text_printf(&text, "at address 0x%llx, but no buffer was given", (unsigned long long)address);
    } else if (address < near->start) {
        bc_text_printf(&text, "%llu bytes before the start of ", (unsigned long long)(near->start - address));
        print_region(&text, f->run, near);
    } else {
        bc_text_printf(&text, "at byte %llu of ", (unsigned long long)(address - near->start));
        print_region(&text, f->run, near);
    }
    vm_trap(f, inst, BC_RULE_X_MEM_01, "%s", bc_text_words(&text));
    bc_text_release(&text);
}

void vm_trap_misaligned(vm_frame *f, const vm_inst *inst, uint64_t address, size_t bytes, size_t element)
{
    bc_text text;
    bc_text_init(&text, &f->run->vm->allocator);
    vm_print_element(&text, accessed_tile(inst->op), element);
    bc_text_puts(&text, " lies at ");
    vm_print_place(&text, f->run, address);
    vm_trap(f, inst, BC_RULE_X_MEM_03, "%s, whose address is not a multiple of its %zu bytes", bc_text_words(&text),
            bytes);
    bc_text_release(&text);
}

void vm_output(vm_frame *f, const char *text, size_t len)
{
    const tv_writer *out = &f->run->vm->options.output;
    if (!out->write || f->run->again)
        return;
    pthread_mutex_lock(&f->run->lock);
    out->write(out->user, text, len);
    pthread_mutex_unlock(&f->run->lock);
}
