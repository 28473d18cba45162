/* Each arm of a select is only read where the condition is true, or only where it is false. There, another select with
   the same condition gives one of its own operands, and the other operand is not needed:

       select %c, %x, (select %c, %y, %z)                ->  select %c, %x, %z
       select %c, (addf %x, (select %c, %y, %z)), %w     ->  select %c, (addf %x, %y), %w

   A tile that only such an operand needs is then not loaded. Why it is right: ops between the selects compute each
   element from the elements at the same place, and nothing else reads their results, so only elements that nobody reads
   change. They are ops of floats: those of integers may promise not to overflow, or divide by what the inner select
   keeps from being zero. */
#include "codegen/rewrite/arms.h"

#include "codegen/tile/same.h"

enum { DEPTH = 8 }; /* ops between two selects */

static bool is_float(const ct_value *v)
{
    return bc_is_tile(v->type) && bc_kind_in(bc_elem_kind(v->type), BC_SET_FLOAT);
}

/* Does the op compute floats from floats, element by element? */
static bool passes_floats(const ct_op *op)
{
    uint32_t first = op->opcode == OP_select ? 1 : 0;
    bool floats = ct_is_map(op) && op->result_count == 1 && is_float(&op->results[0]);
    for (uint32_t i = first; floats && i < op->operand_count; i++)
        floats = is_float(op->operands[i]);
    return floats;
}

static bool has_one_reader(const ct_value *v)
{
    return !v->uses->next;
}

/* Operand i of the op is only read where the select takes this arm. Behind ops, selects that others read stay: a masked
   score, of which a chain of products takes the largest too, would be held beside the score. */
static void take(const ct_op *select, uint32_t arm, ct_op *op, uint32_t i, uint32_t depth)
{
    ct_op *inner = op->operands[i]->op;
    while (inner && inner->opcode == OP_select && ct_is_same(inner->operands[0], select->operands[0])
           && (op == select || has_one_reader(op->operands[i]))) {
        ct_set_operand(op, i, inner->operands[arm]);
        inner = op->operands[i]->op;
    }
    bool alone = inner && has_one_reader(op->operands[i]);
    if (depth && alone && passes_floats(inner))
        for (uint32_t k = 0; k < inner->operand_count; k++)
            take(select, arm, inner, k, depth - 1);
}

void cg_take_arms(ct_op *select)
{
    for (uint32_t arm = 1; arm <= 2; arm++)
        take(select, arm, select, arm, DEPTH);
}
