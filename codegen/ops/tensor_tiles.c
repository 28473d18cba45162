/* Sums and left operands of products between registers and tensor memory; see the header. */
#include "codegen/analysis/tensor.h"
#include "codegen/ops/mma.h"
#include "codegen/ops/tcgen05_flight.h"
#include "codegen/ops/tensor_move.h"
#include "codegen/ops/tensor_state.h"
#include "codegen/ptx/ptx.h"
#include "codegen/values/effects.h"
#include "codegen/values/homes.h"
#include "codegen/values/memory.h"
#include "codegen/values/values.h"

/* Moves the thread's part of a sum. */
static void move_sum(cg_func *c, const cg_sum *s, const cg_product *p, const cg_val *regs, bool stores)
{
    cg_tensor_tile t = cg_tensor_sum(c, s, p);
    cg_tensor_move(c, cg_tensor_state_of(c)->base, &t, regs, stores);
}

void cg_tensor_store_left(cg_func *c, const ct_op *op, const cg_product *p, const cg_sum *s)
{
    cg_tensor_tile t = cg_tensor_left(c, s, p);
    uint32_t count = cg_layout_regs(&t.layout) >> t.word_bits;
    const cg_val *elements = cg_get(c, op->operands[0], &t.layout);
    cg_val *words = cg_vals(c, count);
    if (!elements || !words)
        return;
    for (uint32_t i = 0; i < count; i++)
        words[i] = cg_reg(c, cg_join(c, elements + ((size_t)i << t.word_bits), 1u << t.word_bits, 32u >> t.word_bits));
    if (s->late && !s->scaled) /* the last product has read the operand */
        cg_tcgen05_await_owed(c);
    if (s->started && s->meets)
        cg_tensor_meet(c, op);
    else if (s->started)
        cg_tensor_acquire(c);
    cg_tensor_move(c, cg_tensor_state_of(c)->base, &t, words, true);
    cg_tensor_release(c);
}

static bool is_zero(const cg_val *values, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (!values[i].known || values[i].bits)
            return false;
    return true;
}

/* Why it is right: x + 0 equals x except for the sign of a zero, which a sum of products that starts at +0 does not
   keep. */
void cg_tensor_store_start(cg_func *c, cg_sum *s, const cg_product *p, const ct_value *init)
{
    const cg_layout *home = cg_value_of(c, p->result)->home;
    uint32_t count = cg_layout_regs(home);
    const cg_val *values = cg_get(c, init, home);
    if (!values)
        return;
    /* what is multiplied must be there; and an issuer of its own always adds */
    bool zero = !s->scaled && !s->issued && is_zero(values, count);
    if (s->meets)
        cg_tensor_meet(c, cg_lowered(c));
    if (!zero) {
        cg_val *regs = cg_vals(c, count);
        for (uint32_t i = 0; regs && i < count; i++)
            regs[i] = cg_reg(c, values[i]);
        if (regs)
            move_sum(c, s, p, regs, true);
    }
    s->adds = cg_new(c, CG_PRED);
    cg_ins(c, "setp.%s.u32 %v, 0, 0", zero ? "ne" : "eq", s->adds);
}

/* Registers with the sum. is_written: a predicate; it is zero if no product has been executed and nothing was stored.
   NULL: something was. */
static cg_val *load_sum(cg_func *c, const cg_sum *s, const cg_product *p, const cg_val *is_written)
{
    uint32_t count = cg_layout_regs(cg_value_of(c, p->result)->home);
    uint32_t written = is_written ? cg_label(c) : 0, behind = is_written ? cg_label(c) : 0;
    cg_val *regs = cg_vals(c, count);
    for (uint32_t i = 0; regs && i < count; i++)
        regs[i] = cg_new(c, CG_B32);
    if (!regs)
        return NULL;
    if (is_written) {
        cg_ins(c, "@%v bra.uni %l", *is_written, written);
        for (uint32_t i = 0; i < count; i++)
            cg_ins(c, "mov.b32 %v, 0", regs[i]);
        cg_ins(c, "bra.uni %l", behind);
        cg_place_label(c, written);
    }
    move_sum(c, s, p, regs, false);
    if (is_written)
        cg_place_label(c, behind);
    return regs;
}

void cg_tensor_load(cg_func *c, const cg_sum *s, const ct_value *to, const cg_val *written)
{
    cg_val *regs = load_sum(c, s, cg_settled_product(c, s->product), written);
    if (regs)
        cg_set(c, to, regs);
}

bool cg_tensor_is_written(const cg_sum *s)
{
    for (const ct_op *loop = s->product->block->parent;; loop = loop->block->parent) {
        cg_range first = cg_range_of(ct_operand(loop, F_for_lower_bound)),
                 end = cg_range_of(ct_operand(loop, F_for_upper_bound));
        if (first.low < 0 || first.high >= end.low) /* also as unsigned numbers */
            return false;
        if (loop == s->span)
            return true;
    }
}
