/* Registers that a loop seems to write: held.h says why. */
#include "codegen/ops/held.h"

#include <string.h>

#include "codegen/ops/lowering.h"
#include "codegen/ptx/emit.h"
#include "codegen/ptx/ptx.h"

void cg_held_begin(cg_func *c, cg_held *held)
{
    *held = (cg_held){.outer = c->lowering->held};
    memcpy(held->before, c->emit->registers, sizeof held->before);
    c->lowering->held = held;
}

void cg_hold(cg_func *c, cg_val reg)
{
    cg_held *held = c->lowering->held;
    if (!held || !reg.id || reg.known || reg.id > held->before[reg.cls])
        return;
    for (size_t i = 0; i < held->count; i++)
        if (held->regs[i].id == reg.id && held->regs[i].cls == reg.cls)
            return;
    cg_val *grown = bc_grow(&c->arena, held->regs, held->count, &held->capacity, cg_val);
    if (!grown)
        return;
    held->regs = grown;
    held->regs[held->count++] = reg;
}

/* No multiprocessor has that number: %smid is less than %nsmid, which has 32 bits (PTX ISA, "Special Registers"). */
void cg_held_end(cg_func *c, const cg_held *held, uint32_t head)
{
    c->lowering->held = held->outer;
    if (!held->count)
        return;
    cg_val number = cg_new(c, CG_B32), exists = cg_new(c, CG_PRED);
    uint32_t behind = cg_label(c);
    cg_ins(c, "mov.u32 %v, %%smid", number);
    cg_ins(c, "setp.ne.u32 %v, %v, 0xffffffff", exists, number);
    cg_ins(c, "@%v bra.uni %l", exists, behind);
    for (size_t i = 0; i < held->count; i++)
        cg_ins(c, "mov.b%u %v, 0", cg_class_bits((cg_class)held->regs[i].cls), held->regs[i]);
    cg_ins(c, "bra.uni %l", head);
    cg_place_label(c, behind);
}
