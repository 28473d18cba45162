/* Registers of a map that are computed once for several elements: those whose operands are the same, those that facts
   know to be equal, and those that nothing reads, because an access through pointers has the pointer and the mask of
   its first element alone.

   Why it is right: the result's other registers are the same values, or are read by nobody. */
#include "codegen/access/pointers.h"
#include "codegen/kernel/limits.h"
#include "codegen/ops/map.h"
#include "codegen/ops/slots.h"
#include "codegen/ptx/ptx.h"
#include "codegen/values/homes.h"
#include "codegen/values/values.h"

/* Bits of a register's number that make no difference for any operand, as where all are broadcast: nor do they for the
   result. */
static uint32_t equal_operands(const ct_op *op, const cg_layout *l, const cg_val *const *operands)
{
    uint32_t idle = cg_layout_regs(l) - 1;
    for (uint32_t i = 0; i < op->operand_count && i < 4; i++)
        for (uint32_t r = 0; r < cg_layout_regs(l) && idle; r++)
            for (uint32_t left = idle & r; left; left &= left - 1) {
                uint32_t bit = left & (0 - left);
                if (!cg_is_same_val(&operands[i][r], &operands[i][r ^ bit]))
                    idle &= ~bit;
            }
    return idle;
}

/* Those that make none for what the uses of v do with it in l, the only layout in which it is read. */
static uint32_t unread_bits(cg_func *c, const ct_value *v, const cg_layout *l, uint32_t depth)
{
    const cg_layout *only = cg_only_wanted(cg_value_of(c, v));
    uint32_t unread = only && cg_layout_equal(only, l) ? cg_layout_regs(l) - 1 : 0;
    for (const ct_use *use = v->uses; use && unread; use = use->next) {
        const ct_op *op = use->op;
        if (op->opcode == CT_staged)
            continue; /* what has been copied is read, not its pointers */
        if (op->opcode == CT_copy && cg_copies_by_pointers(op)) {
            cg_ptr_op p = cg_copied_pointers(op);
            uint32_t of_pointers, of_mask = cg_pointer_members(c, &p, l, &of_pointers);
            unread &= v == p.pointers ? of_pointers : v == p.mask ? of_mask : 0;
        } else {
            unread &= depth && ct_is_map(op) ? unread_bits(c, cg_result(op, 0), l, depth - 1) : 0;
        }
    }
    return v->uses ? unread : 0;
}

uint32_t cg_idle_bits(cg_func *c, const ct_op *op, const cg_layout *l, const cg_val *const *operands)
{
    uint32_t unread = c->strip_bits ? 0 : unread_bits(c, cg_result(op, 0), l, CG_UNREAD_DEPTH);
    return equal_operands(op, l, operands) | cg_equal_registers(cg_result(op, 0), l) | unread;
}
