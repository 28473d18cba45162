/* Which op gets which check, and the storage of tokens. */
#include "vm/check.h"
#include "vm/compile.h"

bool vm_checks_tokens(const vm_emit *e)
{
    return (e->vm->options.checks & (TV_CHECK_RACES | TV_CHECK_TOKENS)) != 0;
}

void vm_write_token(vm_emit *e, vm_inst *inst, size_t *field, const bc_value *result)
{
    vm_layout layout = vm_layout_packed(0);
    vm_storage storage = vm_new_storage(e, sizeof(const vm_clock *), e->at);
    vm_set_stored(e, result, storage, &layout, inst);
    vm_bind(e, inst, field, storage, 0, VM_WRITE);
}

void vm_emit_checks(vm_emit *e, const bc_op *op)
{
    vm_emit_value_checks(e, op);
    vm_emit_memory_checks(e, op);
}
