/* Counters of loops; see the header. Source: operation reference, section 8. */
#include "codegen/ops/counter.h"

#include "codegen/facts/facts.h"
#include "codegen/ptx/ptx.h"
#include "codegen/values/values.h"

static bool is_unsigned(const ct_op *op)
{
    return ct_attr_u(op, F_for_unsigned_cmp) != 0;
}

uint32_t cg_counter_bits(const ct_op *op, const ct_value *v, uint32_t n)
{
    cg_range at = cg_range_of(v), step = cg_range_of(op->operands[2]);
    bool narrow = bc_elem_kind(v->type) != BC_I64 && step.low > 0 && (at.low >= 0 || !is_unsigned(op));
    return narrow && at.high + step.high * n <= INT32_MAX ? 32 : 64;
}

bool cg_counter_stays(const ct_op *op, const ct_value *v, uint32_t n)
{
    cg_range at = cg_range_of(v), step = cg_range_of(op->operands[2]);
    bool wide = bc_elem_kind(v->type) == BC_I64, crosses = is_unsigned(op) && at.low < 0;
    return n == 0 || !wide || (!crosses && step.low > 0 && step.high <= (INT64_MAX - (at.high > 0 ? at.high : 0)) / n);
}

cg_val cg_counter_operand(cg_func *c, const ct_op *op, const ct_value *v, uint32_t bits)
{
    bc_kind kind = bc_elem_kind(v->type);
    cg_val x = cg_scalar(c, v);
    return bits == 32 ? cg_to_b32(c, kind, !is_unsigned(op), x) : cg_to_b64(c, kind, !is_unsigned(op), x);
}

cg_val cg_counter_element(cg_func *c, bc_kind kind, cg_val counter)
{
    cg_val low = cg_new(c, CG_B32);
    if (kind == BC_I64)
        return counter;
    cg_ins(c, counter.cls == CG_B64 ? "cvt.u32.u64 %v, %v" : "mov.b32 %v, %v", low, counter);
    return cg_from_u32(c, kind, low);
}

const char *cg_counter_sign(const ct_op *op)
{
    return is_unsigned(op) ? "u" : "s";
}
