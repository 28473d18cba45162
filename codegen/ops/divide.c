/* Quotients and remainders of integers by constants. ptxas divides by a constant in the same way as by any other
   number: through a reciprocal in f32, with 20 instructions or more. */
#include "codegen/facts/facts.h"
#include "codegen/ops/map.h"
#include "codegen/ptx/ptx.h"

/* A division of 32-bit or 64-bit integers. */
typedef struct division {
    uint32_t bits;
    uint64_t by;
    bool plain; /* the dividend is not negative, or the numbers are unsigned */
    bool floor; /* rounded down, */
    bool ceil;  /* or up; otherwise towards zero */
    cg_val x, result;
} division;

static cg_val fresh(cg_func *c, const division *d)
{
    return cg_new(c, d->bits == 64 ? CG_B64 : CG_B32);
}

/* Adds a bias to a negative dividend before its low bits are cut off, so that the quotient is rounded towards zero. */
static cg_val biased(cg_func *c, const division *d, uint32_t k)
{
    cg_val sign = fresh(c, d), bias = fresh(c, d), sum = fresh(c, d);
    cg_ins(c, "shr.s%u %v, %v, %u", d->bits, sign, d->x, d->bits - 1);
    cg_ins(c, "shr.u%u %v, %v, %u", d->bits, bias, sign, d->bits - k);
    cg_ins(c, "add.s%u %v, %v, %v", d->bits, sum, d->x, bias);
    return sum;
}

/* The quotient rounded down, plus one if there is a remainder, because adding first could overflow. */
static void divide_by_power_up(cg_func *c, const division *d, uint32_t k)
{
    cg_val low = fresh(c, d), down = fresh(c, d), one = fresh(c, d), is_more = cg_new(c, CG_PRED);
    cg_ins(c, "and.b%u %v, %v, %q", d->bits, low, d->x, ((uint64_t)1 << k) - 1);
    cg_ins(c, "setp.ne.u%u %v, %v, 0", d->bits, is_more, low);
    cg_ins(c, "shr.%s%u %v, %v, %u", d->plain ? "u" : "s", d->bits, down, d->x, k);
    cg_ins(c, "selp.b%u %v, 1, 0, %v", d->bits, one, is_more);
    cg_ins(c, "add.s%u %v, %v, %v", d->bits, d->result, down, one);
}

static void divide_by_power(cg_func *c, const division *d, uint32_t k)
{
    if (d->ceil) {
        divide_by_power_up(c, d, k);
        return;
    }
    cg_val from = d->plain || d->floor ? d->x : biased(c, d, k);
    cg_ins(c, "shr.%s%u %v, %v, %u", d->plain ? "u" : "s", d->bits, d->result, from, k);
}

static void remain_of_power(cg_func *c, const division *d, uint32_t k)
{
    cg_val cut = fresh(c, d);
    uint64_t low = ((uint64_t)1 << k) - 1, all = UINT64_MAX >> (64 - d->bits);
    if (d->plain) {
        cg_ins(c, "and.b%u %v, %v, %q", d->bits, d->result, d->x, low);
        return;
    }
    cg_ins(c, "and.b%u %v, %v, %q", d->bits, cut, biased(c, d, k), all - low);
    cg_ins(c, "sub.s%u %v, %v, %v", d->bits, d->result, d->x, cut);
}

/* For a dividend below 2^31: with 2^(n-1) < by <= 2^n, x * ceil(2^(31+n) / by) is the quotient plus less than one,
   above bit 31+n, because the factor is too large by less than one and x is below 2^31. */
static void divide_by_factor(cg_func *c, const division *d, cg_val quotient)
{
    uint32_t n = 64 - tv_leading_zeros(d->by - 1);
    uint64_t factor = (((uint64_t)1 << (31 + n)) - 1) / d->by + 1;
    cg_val high = fresh(c, d);
    cg_ins(c, "mul.hi.u32 %v, %v, %u", high, d->x, (uint32_t)factor);
    cg_ins(c, "shr.u32 %v, %v, %u", quotient, high, n - 1);
}

cg_val cg_quotient(cg_func *c, cg_val x, uint32_t by)
{
    division d = {.bits = 32, .by = by, .plain = true, .x = x, .result = cg_new(c, CG_B32)};
    if (by & (by - 1))
        divide_by_factor(c, &d, d.result);
    else
        divide_by_power(c, &d, cg_divisor_of(by));
    return d.result;
}

static void remain_of_factor(cg_func *c, const division *d)
{
    cg_val quotient = fresh(c, d), whole = fresh(c, d);
    divide_by_factor(c, d, quotient);
    cg_ins(c, "mul.lo.u32 %v, %v, %u", whole, quotient, (uint32_t)d->by);
    cg_ins(c, "sub.u32 %v, %v, %v", d->result, d->x, whole);
}

bool cg_divide_by_constant(cg_func *c, const ct_op *op, bool is_signed, const cg_val *operands, cg_val result)
{
    const ct_value *dividend = ct_operands(op)[0];
    bc_kind kind = bc_elem_kind(dividend->type);
    bool is_remainder = op->opcode == OP_remi, positive = cg_range_of(dividend).low >= 0;
    uint64_t rounding = is_remainder ? BC_RoundingMode_zero : ct_attr_u(op, F_divi_rounding);
    division d = {.bits = kind == BC_I64 ? 64 : 32,
                  .plain = !is_signed || positive,
                  .floor = rounding == BC_RoundingMode_negative_inf,
                  .ceil = rounding == BC_RoundingMode_positive_inf,
                  .result = result};
    if (!operands[1].known || operands[0].known)
        return false;
    d.by = d.bits == 64 ? operands[1].bits : (uint32_t)operands[1].bits;
    uint64_t highest = (uint64_t)1 << (d.bits - 1);
    bool is_power = d.by && !(d.by & (d.by - 1));
    if (d.by == 0 || d.by >= highest || (!is_power && (d.bits == 64 || !positive || d.ceil)))
        return false;
    d.x = cg_reg(c, operands[0]);
    uint32_t k = cg_divisor_of(d.by);
    if (is_power)
        (is_remainder ? remain_of_power : divide_by_power)(c, &d, k);
    else if (is_remainder)
        remain_of_factor(c, &d);
    else
        divide_by_factor(c, &d, result);
    return true;
}
