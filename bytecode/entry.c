/* Entries: the functions of a module that can be launched, and the types of their parameters. */
#include "bytecode/module.h"

const bc_function *bc_entry_at(const tv_module *m, size_t entry)
{
    for (size_t i = 0; i < m->function_count; i++)
        if ((m->functions[i].flags & BC_FUNC_KERNEL) && entry-- == 0)
            return &m->functions[i];
    return NULL;
}

size_t tv_module_entry_count(const tv_module *module)
{
    size_t count = 0;
    for (size_t i = 0; i < module->function_count; i++)
        count += (module->functions[i].flags & BC_FUNC_KERNEL) != 0;
    return count;
}

tv_str tv_module_entry_name(const tv_module *module, size_t entry)
{
    return bc_entry_at(module, entry)->name->s;
}

size_t tv_module_entry_param_count(const tv_module *module, size_t entry)
{
    return bc_entry_at(module, entry)->type->rank;
}

tv_entry_param bc_entry_param_of_type(const bc_type *type)
{
    const tv_entry_param unknown = {.element = "?"};
    if (type->kind != BC_TILE || type->rank != 0)
        return unknown;
    const bc_type *elem = type->elem;
    bool pointer = elem->kind == BC_PTR;
    bc_kind kind = pointer ? (bc_kind)elem->elem->kind : (bc_kind)elem->kind;
    if (!bc_kind_in(kind, BC_SET_NUMBER | BC_SET(I4)))
        return unknown;
    unsigned size = pointer ? 8 : bc_kind_memory_bytes(kind);
    return (tv_entry_param){.element = bc_kinds[kind].text, .pointer = pointer, .size = size ? size : 1};
}

tv_entry_param tv_module_entry_param(const tv_module *module, size_t entry, size_t param)
{
    return bc_entry_param_of_type(bc_entry_at(module, entry)->type->members[param]);
}
