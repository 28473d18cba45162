/* The storage of tokens, and ops that only join them. */
#include <string.h>

#include "vm/check/check.h"
#include "vm/compile/compile.h"

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

typedef struct join_check {
    vm_inst head;
    size_t out;
    uint32_t count;
    size_t *tokens;
} join_check;

static const vm_inst *join_run(vm_frame *f, const vm_inst *inst)
{
    const join_check *j = (const join_check *)inst;
    const vm_clock *clock = NULL;
    for (uint32_t i = 0; i < j->count; i++)
        clock = vm_clock_join(&f->check->clocks, clock, vm_token_at(f, j->tokens[i]));
    memcpy(f->base + j->out, &clock, sizeof clock);
    return f->check->clocks.failed ? vm_check_no_memory(f, inst) : inst->next;
}

void vm_emit_join(vm_emit *e, const bc_op *op)
{
    const bc_value *result = op->result_count ? vm_result(op, op->result_count - 1u) : NULL;
    if (!result || result->type->kind != BC_TOKEN)
        return;
    join_check *j = vm_new_inst(e, op, join_run, join_check);
    j->tokens = vm_code_bytes(e, (op->operand_count + 1u) * sizeof *j->tokens);
    for (unsigned i = 0; i < op->operand_count && !e->failed; i++)
        if (bc_operands(op)[i]->type->kind == BC_TOKEN)
            vm_read(e, &j->head, &j->tokens[j->count++], bc_operands(op)[i]);
    vm_write_token(e, &j->head, &j->out, result);
    vm_append(e, &j->head);
}
