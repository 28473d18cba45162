/* Sums in tensor memory that are multiplied there (codegen/passes/tensor.c). */
#include "codegen/analysis/tensor.h"
#include "codegen/ops/hooks.h"
#include "codegen/ops/mma.h"
#include "codegen/ops/tcgen05_flight.h"
#include "codegen/ops/tensor_move.h"
#include "codegen/ops/tensor_state.h"
#include "codegen/ptx/ptx.h"
#include "codegen/values/homes.h"
#include "codegen/values/values.h"

/* A thread of rows has few of them. */
uint32_t cg_tensor_skip_ones(cg_func *c, const cg_val *factors, uint32_t count)
{
    enum { MOST = 8 };
    cg_val distinct[MOST], others = {0};
    uint32_t known = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t k = 0;
        while (k < known && !cg_is_same_val(&distinct[k], &factors[i]))
            k++;
        if (k == MOST)
            return 0;
        if (k == known)
            distinct[known++] = factors[i];
    }
    for (uint32_t k = 0; k < known; k++) {
        cg_val other = cg_new(c, CG_PRED), factor = cg_reg(c, distinct[k]);
        if (k)
            cg_ins(c, "setp.neu.or.f32 %v, %v, 0f3F800000, %v", other, factor, others);
        else
            cg_ins(c, "setp.neu.f32 %v, %v, 0f3F800000", other, factor);
        others = other;
    }
    cg_val any = cg_new(c, CG_PRED);
    uint32_t behind = cg_label(c);
    cg_ins(c, "vote.sync.any.pred %v, %v, 0xffffffff", any, others);
    cg_ins(c, "@!%v bra.uni %l", any, behind);
    return behind;
}

/* The product of the last iteration is complete, and nothing else is in the sum's words. */
void cg_lower_scale_sum(cg_func *c, const ct_op *op)
{
    const cg_sum *s = cg_sum_of(c, op);
    const cg_product *p = cg_settled_product(c, s->product);
    const cg_layout *home = cg_value_of(c, p->result)->home;
    uint32_t count = cg_layout_regs(home);
    const cg_val *factors = cg_get(c, op->operands[1], home);
    cg_val *regs = cg_vals(c, count), *scaled = cg_vals(c, count);
    if (!factors || !regs || !scaled)
        return;
    if (s->late)
        cg_tcgen05_await_owed(c);
    uint32_t behind = cg_tensor_skip_ones(c, factors, count);
    cg_tensor_acquire(c);
    cg_tensor_tile tile = cg_tensor_sum(c, s, p);
    for (uint32_t i = 0; i < count; i++)
        regs[i] = cg_new(c, CG_B32);
    cg_tensor_move(c, cg_tensor_state_of(c)->base, &tile, regs, false);
    for (uint32_t i = 0; i < count; i++) {
        scaled[i] = cg_new(c, CG_B32);
        cg_ins(c, "mul.rn.f32 %v, %v, %v", scaled[i], regs[i], cg_reg(c, factors[i]));
    }
    cg_tensor_move(c, cg_tensor_state_of(c)->base, &tile, scaled, true);
    cg_tensor_release(c);
    if (behind)
        cg_place_label(c, behind);
}
