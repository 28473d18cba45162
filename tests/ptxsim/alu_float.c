/* PTX ISA, "Floating Point Instructions", "Half Precision", "Mixed Precision". Rounded once; approximations are the
   exact result rounded to nearest, computed by the C library in double, but those in f64 are of upper halves alone. */
#include <math.h>

#include "bytecode/number/fast.h"
#include "tests/ptxsim/lanes.h"

static uint64_t canonical_nan(bc_kind kind)
{
    return kind == BC_F32 ? 0x7FFFFFFF : kind == BC_F64 ? UINT64_C(0xFFF8000000000000) : 0x7FFF;
}

static uint64_t flush(const ps_insn *in, uint64_t x)
{
    return in->ftz ? bc_float_flush((bc_kind)in->kind, x) : x;
}

static double value(const ps_insn *in, uint64_t x)
{
    x = flush(in, x);
    switch (in->kind) {
    case BC_F16: return bc_f16_to_f32((uint16_t)x);
    case BC_BF16: return bc_bf16_to_f32((uint16_t)x);
    case BC_F32: return bc_f32_from_bits((uint32_t)x);
    case BC_F64: return bc_f64_from_bits(x);
    default: return bc_float_value((bc_kind)in->kind, x);
    }
}

static uint64_t one(bc_kind kind)
{
    return kind == BC_F16    ? 0x3C00
           : kind == BC_BF16 ? 0x3F80
           : kind == BC_F32  ? 0x3F800000
                             : UINT64_C(0x3FF0000000000000);
}

static unsigned width(const ps_insn *in)
{
    return bc_kind_bits((bc_kind)in->kind);
}

static uint64_t sign_bit(const ps_insn *in)
{
    return UINT64_C(1) << (width(in) - 1);
}

static bool is_nan(const ps_insn *in, uint64_t x)
{
    const bc_float_format *f = bc_float_format_of((bc_kind)in->kind);
    return (x & (sign_bit(in) - 1)) > f->infinity;
}

/* What the modifiers do to a result: .ftz, .sat to [0, 1] with NaN to 0, .relu with NaN kept. */
static uint64_t finish(const ps_insn *in, uint64_t x)
{
    x = flush(in, x);
    if (in->sat) {
        if (is_nan(in, x) || x & sign_bit(in))
            return 0;
        return x > one((bc_kind)in->kind) ? one((bc_kind)in->kind) : x;
    }
    if (in->relu && !is_nan(in, x) && x & sign_bit(in))
        return 0;
    return x;
}

/* A result that was computed in double. */
static uint64_t round_double(const ps_insn *in, double x)
{
    if (x != x)
        return finish(in, in->kind == BC_F64 ? bc_f64_bits(x) : canonical_nan((bc_kind)in->kind));
    switch (in->kind) {
    case BC_F16: return finish(in, bc_f64_to_f16(x));
    case BC_BF16: return finish(in, bc_f64_to_bf16(x));
    case BC_F32: return finish(in, bc_f32_bits((float)x));
    default: return finish(in, bc_f64_bits(x));
    }
}

static uint64_t from_f32(const ps_insn *in, float x)
{
    return finish(in, x != x ? (uint64_t)BC_F32_NAN : bc_f32_bits(x));
}

static float f32(const ps_insn *in, uint64_t x)
{
    return bc_f32_from_bits((uint32_t)flush(in, x));
}

static bool nearest(const ps_insn *in)
{
    return in->rounding == BC_RoundingMode_nearest_even;
}

uint64_t ps_float_fma(const ps_insn *in, const uint64_t *v)
{
    if (nearest(in) && in->kind == BC_F16)
        return finish(in, bc_f16_fma((uint16_t)flush(in, v[0]), (uint16_t)flush(in, v[1]), (uint16_t)flush(in, v[2])));
    if (nearest(in) && in->kind == BC_BF16)
        return finish(in, bc_bf16_fma((uint16_t)flush(in, v[0]), (uint16_t)flush(in, v[1]), (uint16_t)flush(in, v[2])));
    if (nearest(in) && in->kind == BC_F32)
        return from_f32(in, bc_f32_fma(f32(in, v[0]), f32(in, v[1]), f32(in, v[2])));
    return finish(in, bc_float_fma((bc_kind)in->kind, flush(in, v[0]), flush(in, v[1]), flush(in, v[2]),
                                   (bc_RoundingMode)in->rounding, in->ftz));
}

/* Halves: every sum and product is a fused one. */
static bool is_half(const ps_insn *in)
{
    return in->kind == BC_F16 || in->kind == BC_BF16;
}

uint64_t ps_float_add(const ps_insn *in, const uint64_t *v)
{
    if (is_half(in))
        return ps_float_fma(in, (const uint64_t[]){v[0], one((bc_kind)in->kind), v[1]});
    if (nearest(in) && in->kind == BC_F32)
        return from_f32(in, f32(in, v[0]) + f32(in, v[1]));
    return finish(in, bc_float_add((bc_kind)in->kind, v[0], v[1], (bc_RoundingMode)in->rounding, in->ftz));
}

uint64_t ps_float_sub(const ps_insn *in, const uint64_t *v)
{
    if (is_half(in))
        return ps_float_fma(in, (const uint64_t[]){v[1], one((bc_kind)in->kind) | sign_bit(in), v[0]});
    if (nearest(in) && in->kind == BC_F32)
        return from_f32(in, f32(in, v[0]) - f32(in, v[1]));
    return finish(in, bc_float_sub((bc_kind)in->kind, v[0], v[1], (bc_RoundingMode)in->rounding, in->ftz));
}

uint64_t ps_float_mul(const ps_insn *in, const uint64_t *v)
{
    if (is_half(in))
        return ps_float_fma(in, (const uint64_t[]){v[0], v[1], sign_bit(in)});
    if (nearest(in) && in->kind == BC_F32 && !in->ftz) /* which flushes what rounds up to the smallest normal number */
        return from_f32(in, f32(in, v[0]) * f32(in, v[1]));
    return finish(in, bc_float_mul((bc_kind)in->kind, v[0], v[1], (bc_RoundingMode)in->rounding, in->ftz));
}

uint64_t ps_float_div(const ps_insn *in, const uint64_t *v)
{
    return finish(in, bc_float_div((bc_kind)in->kind, v[0], v[1], (bc_RoundingMode)in->rounding, in->ftz));
}

uint64_t ps_float_sqrt(const ps_insn *in, const uint64_t *v)
{
    return finish(in, bc_float_sqrt((bc_kind)in->kind, v[0], (bc_RoundingMode)in->rounding, in->ftz));
}

/* What an approximation in f64 leaves of its operand, and gives of its result; everything of other types. */
static uint64_t upper_half(const ps_insn *in, uint64_t x)
{
    return in->approx && in->kind == BC_F64 ? x >> 32 << 32 : x;
}

uint64_t ps_float_rcp(const ps_insn *in, const uint64_t *v)
{
    const uint64_t x = upper_half(in, v[0]);
    return upper_half(in, ps_float_div(in, (const uint64_t[]){one((bc_kind)in->kind), x}));
}

static uint64_t choose(const ps_insn *in, const uint64_t *v, bool max)
{
    uint64_t a = flush(in, v[0]), b = flush(in, v[1]), sign = 0;
    if (in->xorsign) {
        sign = (a ^ b) & sign_bit(in);
        a &= ~sign_bit(in);
        b &= ~sign_bit(in);
    }
    bc_kind kind = (bc_kind)in->kind;
    uint64_t r = max ? bc_float_max(kind, a, b, in->nan, in->ftz) : bc_float_min(kind, a, b, in->nan, in->ftz);
    if (is_nan(in, r))
        return kind == BC_F64 ? r : canonical_nan(kind);
    return finish(in, r | sign);
}

/* min and max take a third operand on new targets. */
uint64_t ps_float_min(const ps_insn *in, const uint64_t *v)
{
    uint64_t r = choose(in, v, false);
    return in->count == 4 ? choose(in, (const uint64_t[]){r, v[2]}, false) : r;
}

uint64_t ps_float_max(const ps_insn *in, const uint64_t *v)
{
    uint64_t r = choose(in, v, true);
    return in->count == 4 ? choose(in, (const uint64_t[]){r, v[2]}, true) : r;
}

/* neg and abs move the sign; a NaN narrower than f64 becomes the canonical one, as on an H200. */
uint64_t ps_float_neg(const ps_insn *in, const uint64_t *v)
{
    if (in->kind != BC_F64 && is_nan(in, v[0]))
        return canonical_nan((bc_kind)in->kind);
    return flush(in, v[0]) ^ sign_bit(in);
}

uint64_t ps_float_abs(const ps_insn *in, const uint64_t *v)
{
    if (in->kind != BC_F64 && is_nan(in, v[0]))
        return canonical_nan((bc_kind)in->kind);
    return flush(in, v[0]) & ~sign_bit(in);
}

uint64_t ps_float_rsqrt(const ps_insn *in, const uint64_t *v)
{
    return upper_half(in, round_double(in, 1.0 / sqrt(value(in, upper_half(in, v[0])))));
}

uint64_t ps_float_ex2(const ps_insn *in, const uint64_t *v)
{
    return round_double(in, exp2(value(in, v[0])));
}

uint64_t ps_float_lg2(const ps_insn *in, const uint64_t *v)
{
    return round_double(in, log2(value(in, v[0])));
}

uint64_t ps_float_sin(const ps_insn *in, const uint64_t *v)
{
    return round_double(in, sin(value(in, v[0])));
}

uint64_t ps_float_cos(const ps_insn *in, const uint64_t *v)
{
    return round_double(in, cos(value(in, v[0])));
}

uint64_t ps_float_tanh(const ps_insn *in, const uint64_t *v)
{
    return round_double(in, tanh(value(in, v[0])));
}

uint64_t ps_float_testp(const ps_insn *in, const uint64_t *v)
{
    const bc_float_format *f = bc_float_format_of((bc_kind)in->kind);
    uint64_t magnitude = v[0] & (sign_bit(in) - 1), smallest_normal = UINT64_C(1) << f->mantissa_bits;
    switch (in->mode) {
    case PS_TESTP_FINITE: return magnitude < f->infinity;
    case PS_TESTP_INFINITE: return magnitude == f->infinity;
    case PS_TESTP_NUMBER: return magnitude <= f->infinity;
    case PS_TESTP_NOTANUMBER: return magnitude > f->infinity;
    case PS_TESTP_NORMAL: return magnitude == 0 || (magnitude >= smallest_normal && magnitude < f->infinity);
    default: return magnitude && magnitude < smallest_normal;
    }
}

/* The sign of a on b. */
uint64_t ps_float_copysign(const ps_insn *in, const uint64_t *v)
{
    return (v[0] & sign_bit(in)) | (v[1] & ~sign_bit(in));
}

bool ps_float_compare(const ps_insn *in, uint64_t a, uint64_t b)
{
    a = flush(in, a);
    b = flush(in, b);
    bool unordered = is_nan(in, a) || is_nan(in, b);
    if (in->compare == PS_NUM || in->compare == PS_NAN)
        return unordered == (in->compare == PS_NAN);
    if (unordered)
        return in->compare >= PS_EQU;
    double x = value(in, a), y = value(in, b);
    switch (in->compare) {
    case PS_EQ:
    case PS_EQU: return x == y;
    case PS_NE:
    case PS_NEU: return x != y;
    case PS_LT:
    case PS_LTU: return x < y;
    case PS_LE:
    case PS_LEU: return x <= y;
    case PS_GT:
    case PS_GTU: return x > y;
    default: return x >= y;
    }
}

/* Sources of 16 bits are converted, which is exact; then it is the operation on f32. */
uint64_t ps_float_mixed(const ps_insn *in, const uint64_t *v)
{
    uint64_t wide[3] = {v[0], v[1], v[2]};
    for (unsigned i = 0; i + 1u < in->count; i++)
        if (in->source_type[i] != PS_F32)
            wide[i] = bc_float_convert(BC_F32, (bc_kind)ps_types[in->source_type[i]].kind, v[i],
                                       BC_RoundingMode_nearest_even);
    return in->inner(in, wide);
}
