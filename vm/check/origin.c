/* Finds the parameter from which an access derives its address, and the loads that a store cannot precede.

   Messages name the array of that parameter. Two parameters may refer to the same memory, and the address alone does
   not tell which of them the kernel used. */
#include "vm/check/access.h"

/* ---- the parameter ---- */

uint32_t vm_param_of(const bc_function *f, const bc_op *op)
{
    const bc_value *v = bc_operand(op, bc_info(op)->address);
    while (v->op && !bc_op_in(v->op->opcode, BC_OPS(ACCESS)) && bc_info(v->op)->address)
        v = bc_operand(v->op, bc_info(v->op)->address);
    return !v->op && v->id < f->body->arg_count && v == &f->body->args[v->id] ? v->id : VM_NO_PARAM;
}

static uint64_t pointer_of(const vm_run *run, uint32_t param)
{
    uint64_t pointer = 0;
    if (run->code->params[param].kind == BC_PTR)
        memcpy(&pointer, run->params[param], sizeof pointer);
    return pointer;
}

/* Arrays are described in the order of the parameters. If several begin at one address, the n-th belongs to the n-th
   pointer with that address. */
const vm_array *vm_array_of_param(const vm_run *run, uint32_t param)
{
    const vm_arrays *arrays = &run->vm->arrays;
    if (param == VM_NO_PARAM)
        return NULL;
    uint64_t pointer = pointer_of(run, param);
    size_t earlier = 0;
    for (uint32_t i = 0; i < param; i++)
        earlier += pointer_of(run, i) == pointer;
    for (size_t i = 0; i < arrays->count; i++)
        if (arrays->items[i].base == pointer && earlier-- == 0)
            return &arrays->items[i];
    return NULL;
}

/* ---- loads that come first ---- */

enum { MOST_VALUES = 256 }; /* that a search visits */

typedef struct search {
    const bc_value *values[MOST_VALUES]; /* those below `next` have been visited */
    uint32_t count, next;
} search;

static void add_value(search *s, const bc_value *v)
{
    uint32_t i = 0;
    while (i < s->count && s->values[i] != v)
        i++;
    if (i == s->count && s->count < MOST_VALUES)
        s->values[s->count++] = v;
}

static const bc_value *stored_value(const bc_op *op)
{
    return op->opcode == OP_store_ptr_tko    ? bc_operand(op, F_store_ptr_tko_value)
           : op->opcode == OP_store_view_tko ? bc_operand(op, F_store_view_tko_tile)
                                             : NULL;
}

bool vm_stores_loaded(const bc_op *store, const bc_op *load)
{
    search s = {.count = 0};
    const bc_value *value = stored_value(store);
    if (value)
        add_value(&s, value);
    while (s.next < s.count) {
        const bc_op *maker = s.values[s.next++]->op;
        if (maker == load)
            return true;
        if (!maker || !bc_op_in(maker->opcode, BC_OPS(MAP) | BC_OPS(CAST) | BC_OPS(SAME)))
            continue;
        for (unsigned i = 0; i < maker->operand_count; i++)
            add_value(&s, bc_operands(maker)[i]);
    }
    return false;
}
