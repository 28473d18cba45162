/* The public functions that report what a run with exact elements found. */
#include "vm/precision/precision.h"

#include "bytecode/dtype.h"

static void block_of(const struct vm_precision *p, uint64_t index, uint32_t out[3])
{
    out[0] = (uint32_t)(index % p->grid[0]);
    out[1] = (uint32_t)(index / p->grid[0] % p->grid[1]);
    out[2] = (uint32_t)(index / p->grid[0] / p->grid[1]);
}

static tv_vm_error error_of(const struct vm_precision *p, const vm_error *e, uint64_t elements)
{
    tv_vm_error out = {.worst = e->worst,
                       .mean = elements > e->infinite ? e->sum / (double)(elements - e->infinite) : 0,
                       .infinite = e->infinite,
                       .element = e->element,
                       .value = e->value,
                       .exact = e->exact};
    block_of(p, e->block, out.block);
    return out;
}

/* The kind of an op's floats: of its result or, if that is no float, of the operands that it compares or reads as
   bits. */
static bc_kind kind_of(const bc_op *op)
{
    const bc_value *result = &bc_results(op)[0];
    bool makes = bc_is_tile(result->type) && bc_float_format_of(bc_elem_kind(result->type));
    const bc_value *v = makes ? result : bc_operands(op)[0];
    for (unsigned i = 0; i < op->operand_count && !(bc_is_tile(v->type) && bc_float_format_of(bc_elem_kind(v->type)));
         i++)
        v = bc_operands(op)[i];
    return bc_elem_kind(v->type);
}

bool tv_vm_op_precision_at(const tv_vm *vm, size_t index, tv_vm_op_precision *out_op)
{
    const struct vm_precision *p = vm->precision;
    uint32_t i = 0, column;
    while (p && i < p->op_count && (!p->ops[i].op || index-- != 0))
        i++;
    if (!p || i >= p->op_count)
        return false;
    const vm_loss *l = &p->ops[i];
    *out_op = (tv_vm_op_precision){.op_index = i,
                                   .op = bc_info(l->op)->name,
                                   .element = bc_kinds[kind_of(l->op)].text,
                                   .elements = l->elements,
                                   .introduced = error_of(p, &l->introduced, l->elements),
                                   .accumulated = error_of(p, &l->accumulated, l->elements),
                                   .caused = l->caused,
                                   .amplified = l->amplified,
                                   .is_sum = l->is_sum,
                                   .grown = l->grown,
                                   .growth = l->growth.worst,
                                   .growth_element = l->growth.element,
                                   .overflows = l->overflows,
                                   .decisions = l->decisions,
                                   .decided = error_of(p, &l->decided, l->decisions),
                                   .drops = l->drops};
    block_of(p, l->growth.block, out_op->growth_block);
    bc_source_place(vm->module, l->op->loc, &out_op->file, &out_op->line, &column);
    return true;
}

bool tv_vm_array_precision_at(const tv_vm *vm, size_t index, tv_vm_array_precision *out_array)
{
    const struct vm_precision *p = vm->precision;
    if (!p || index >= p->array_count)
        return false;
    const vm_array_loss *a = &p->arrays[index];
    tv_dtype dtype = TV_F32;
    bc_dtype_from_kind((bc_kind)a->kind, &dtype);
    *out_array = (tv_vm_array_precision){.name = a->array ? a->array->name : a->region->name,
                                         .dtype = dtype,
                                         .elements = a->elements,
                                         .error = error_of(p, &a->error, a->elements),
                                         .distance = a->distance,
                                         .largest = a->largest,
                                         .origin = a->origin - 1,
                                         .amplifier = a->amplifier - 1};
    out_array->error.element = 0;
    out_array->described = a->array && vm_array_element(a->array, a->error.element, out_array->index);
    out_array->ndim = out_array->described ? a->array->ndim : 1;
    if (!out_array->described)
        out_array->index[0] =
            (int64_t)((a->error.element - a->region->start) / (unsigned)bc_kind_memory_bytes((bc_kind)a->kind));
    return true;
}
