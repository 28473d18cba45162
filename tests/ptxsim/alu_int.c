/* PTX ISA, "Integer Arithmetic", "Extended-Precision", "Logic and Shift", "Comparison and Selection". Sources are the
   element's bits, zero-extended; results may have anything above them. */
#include "bytecode/base/compiler.h"
#include "tests/ptxsim/lanes.h"

static int64_t sign(const ps_insn *in, uint64_t x)
{
    return ps_signed(x, in->bits);
}

/* x as a number of the operation's type, for comparisons and divisions. */
static bool less(const ps_insn *in, uint64_t a, uint64_t b)
{
    return in->is_signed ? sign(in, a) < sign(in, b) : a < b;
}

static uint64_t saturate_s32(int64_t x)
{
    return (uint64_t)(x > INT32_MAX ? INT32_MAX : x < INT32_MIN ? INT32_MIN : x);
}

static uint64_t relu(const ps_insn *in, uint64_t x)
{
    return in->relu && sign(in, x) < 0 ? 0 : x;
}

uint64_t ps_int_add(const ps_insn *in, const uint64_t *v)
{
    return in->sat ? saturate_s32(sign(in, v[0]) + sign(in, v[1])) : v[0] + v[1];
}

uint64_t ps_int_sub(const ps_insn *in, const uint64_t *v)
{
    return in->sat ? saturate_s32(sign(in, v[0]) - sign(in, v[1])) : v[0] - v[1];
}

/* The upper half of the product of two elements. */
static uint64_t multiply_high(const ps_insn *in, uint64_t a, uint64_t b)
{
    if (in->bits < 64)
        return in->is_signed ? (uint64_t)((sign(in, a) * sign(in, b)) >> in->bits) : (a * b) >> in->bits;
    uint64_t high;
    tv_multiply_wide(a, b, &high);
    if (in->is_signed)
        high -= ((int64_t)a < 0 ? b : 0) + ((int64_t)b < 0 ? a : 0);
    return high;
}

uint64_t ps_int_mul(const ps_insn *in, const uint64_t *v)
{
    if (in->high)
        return multiply_high(in, v[0], v[1]);
    if (in->wide && in->is_signed)
        return (uint64_t)sign(in, v[0]) * (uint64_t)sign(in, v[1]);
    return v[0] * v[1];
}

uint64_t ps_int_mad(const ps_insn *in, const uint64_t *v)
{
    uint64_t product = ps_int_mul(in, v);
    if (in->sat) /* mad.hi.sat.s32 */
        return saturate_s32(sign(in, product) + sign(in, v[2]));
    return product + v[2];
}

static uint64_t multiply24(const ps_insn *in, const uint64_t *v)
{
    uint64_t product = in->is_signed ? (uint64_t)(ps_signed(v[0], 24) * ps_signed(v[1], 24))
                                     : (v[0] & 0xFFFFFF) * (v[1] & 0xFFFFFF);
    return in->high ? product >> 16 : product;
}

uint64_t ps_int_mul24(const ps_insn *in, const uint64_t *v)
{
    return multiply24(in, v);
}

uint64_t ps_int_mad24(const ps_insn *in, const uint64_t *v)
{
    uint64_t product = multiply24(in, v);
    return in->sat ? saturate_s32(sign(in, product) + sign(in, v[2])) : product + v[2];
}

uint64_t ps_int_sad(const ps_insn *in, const uint64_t *v)
{
    return v[2] + (less(in, v[0], v[1]) ? v[1] - v[0] : v[0] - v[1]);
}

/* Division by zero gives all ones, quotient and remainder, as an H200 does; PTX leaves it open. */
uint64_t ps_int_div(const ps_insn *in, const uint64_t *v)
{
    if (v[1] == 0)
        return UINT64_MAX;
    if (!in->is_signed)
        return v[0] / v[1];
    return sign(in, v[1]) == -1 ? 0 - v[0] : (uint64_t)(sign(in, v[0]) / sign(in, v[1]));
}

uint64_t ps_int_rem(const ps_insn *in, const uint64_t *v)
{
    if (v[1] == 0)
        return UINT64_MAX;
    if (!in->is_signed)
        return v[0] % v[1];
    return sign(in, v[1]) == -1 ? 0 : (uint64_t)(sign(in, v[0]) % sign(in, v[1]));
}

uint64_t ps_int_abs(const ps_insn *in, const uint64_t *v)
{
    return sign(in, v[0]) < 0 ? 0 - v[0] : v[0];
}

uint64_t ps_int_neg(const ps_insn *in, const uint64_t *v)
{
    (void)in;
    return 0 - v[0];
}

uint64_t ps_int_min(const ps_insn *in, const uint64_t *v)
{
    return relu(in, less(in, v[1], v[0]) ? v[1] : v[0]);
}

uint64_t ps_int_max(const ps_insn *in, const uint64_t *v)
{
    return relu(in, less(in, v[0], v[1]) ? v[1] : v[0]);
}

uint64_t ps_int_popc(const ps_insn *in, const uint64_t *v)
{
    (void)in;
    uint64_t count = 0;
    for (uint64_t x = v[0]; x; x &= x - 1)
        count++;
    return count;
}

uint64_t ps_int_clz(const ps_insn *in, const uint64_t *v)
{
    return v[0] ? tv_leading_zeros(v[0]) - (64 - in->bits) : in->bits;
}

/* Place of the highest bit that is not the sign's, counted from below, or with .shiftamt the shift that brings it up.
 */
uint64_t ps_int_bfind(const ps_insn *in, const uint64_t *v)
{
    uint64_t x = in->is_signed && sign(in, v[0]) < 0 ? ~v[0] & ps_mask(in->bits) : v[0];
    if (!x)
        return UINT32_MAX;
    unsigned place = 63 - tv_leading_zeros(x);
    return in->mode ? in->bits - 1u - place : place;
}

uint64_t ps_int_brev(const ps_insn *in, const uint64_t *v)
{
    uint64_t result = 0;
    for (unsigned i = 0; i < in->bits; i++)
        result |= (v[0] >> i & 1) << (in->bits - 1 - i);
    return result;
}

uint64_t ps_int_bfe(const ps_insn *in, const uint64_t *v)
{
    unsigned start = (unsigned)v[1] & 0xFF, length = (unsigned)v[2] & 0xFF, top = in->bits - 1u;
    unsigned last = start + length - 1 < top ? start + length - 1 : top;
    uint64_t filler = !in->is_signed || length == 0 ? 0 : v[0] >> last & 1;
    uint64_t result = 0;
    for (unsigned i = 0; i < in->bits; i++)
        result |= (i < length && start + i <= top ? v[0] >> (start + i) & 1 : filler) << i;
    return result;
}

uint64_t ps_int_bfi(const ps_insn *in, const uint64_t *v)
{
    unsigned start = (unsigned)v[2] & 0xFF, length = (unsigned)v[3] & 0xFF;
    uint64_t result = v[1];
    for (unsigned i = 0; i < length && start + i < in->bits; i++)
        result = (result & ~(UINT64_C(1) << (start + i))) | (v[0] >> i & 1) << (start + i);
    return result;
}

/* Ones from place v[0] on, v[1] of them; .wrap takes both modulo 32, .clamp caps them. */
uint64_t ps_int_bmsk(const ps_insn *in, const uint64_t *v)
{
    uint64_t start = in->wide ? v[0] & 31 : v[0], length = in->wide ? v[1] & 31 : v[1] < 32 ? v[1] : 32;
    return start >= 32 ? 0 : ((UINT64_C(1) << length) - 1) << start;
}

/* The low v[1] bits of v[0], extended as the type says. */
uint64_t ps_int_szext(const ps_insn *in, const uint64_t *v)
{
    unsigned width = in->wide ? (unsigned)v[1] & 31 : v[1] < 32 ? (unsigned)v[1] : 32;
    if (width == 0)
        return 0;
    return in->is_signed ? (uint64_t)ps_signed(v[0], width) : v[0] & ps_mask(width);
}

/* `from` is the type of a, source_type[1] of b; the sum has the type of c. */
static int64_t part(ps_type type, uint64_t x, unsigned place, unsigned bits)
{
    uint64_t cut = x >> place & ps_mask(bits);
    return ps_types[type].class_ == PS_CLASS_SINT ? ps_signed(cut, bits) : (int64_t)cut;
}

uint64_t ps_int_dp4a(const ps_insn *in, const uint64_t *v)
{
    uint64_t sum = v[2];
    for (unsigned i = 0; i < 4; i++)
        sum += (uint64_t)(part(in->source_type[0], v[0], 8 * i, 8) * part(in->source_type[1], v[1], 8 * i, 8));
    return sum;
}

uint64_t ps_int_dp2a(const ps_insn *in, const uint64_t *v)
{
    uint64_t sum = v[2];
    for (unsigned i = 0; i < 2; i++)
        sum += (uint64_t)(part(in->source_type[0], v[0], 16 * i, 16)
                          * part(in->source_type[1], v[1], 8 * i + (in->high ? 16 : 0), 8));
    return sum;
}

/* The byte of {b, a} that result byte i takes, and whether it is its sign. */
static unsigned prmt_selector(const ps_insn *in, unsigned c, unsigned i)
{
    unsigned k = c & 3;
    switch (in->mode) {
    case PS_PRMT_F4E: return k + i;
    case PS_PRMT_B4E: return (k + 8 - i) & 7;
    case PS_PRMT_RC8: return k;
    case PS_PRMT_ECL: return i > k ? i : k;
    case PS_PRMT_ECR: return i < k ? i : k;
    case PS_PRMT_RC16: return (k & 1) * 2 + (i & 1);
    default: return c >> 4 * i & 0xF;
    }
}

uint64_t ps_int_prmt(const ps_insn *in, const uint64_t *v)
{
    uint64_t bytes = v[0] | v[1] << 32, result = 0;
    for (unsigned i = 0; i < 4; i++) {
        unsigned selector = prmt_selector(in, (unsigned)v[2], i);
        uint64_t byte = bytes >> 8 * (selector & 7) & 0xFF;
        if (selector & 8)
            byte = byte & 0x80 ? 0xFF : 0;
        result |= byte << 8 * i;
    }
    return result;
}

uint64_t ps_int_lop3(const ps_insn *in, const uint64_t *v)
{
    uint64_t result = 0;
    for (unsigned i = 0; i < 8; i++)
        if (in->table >> i & 1)
            result |= (i & 4 ? v[0] : ~v[0]) & (i & 2 ? v[1] : ~v[1]) & (i & 1 ? v[2] : ~v[2]);
    return result;
}

uint64_t ps_int_shf(const ps_insn *in, const uint64_t *v)
{
    uint64_t both = v[0] | v[1] << 32;
    unsigned n = in->wide ? (unsigned)v[2] & 31 : v[2] < 32 ? (unsigned)v[2] : 32;
    return in->low ? (n ? both >> (32 - n) : v[1]) : both >> n;
}

uint64_t ps_int_shl(const ps_insn *in, const uint64_t *v)
{
    return v[1] >= in->bits ? 0 : v[0] << v[1];
}

uint64_t ps_int_shr(const ps_insn *in, const uint64_t *v)
{
    if (in->is_signed)
        return (uint64_t)(sign(in, v[0]) >> (v[1] < 63 ? v[1] : 63));
    return v[1] >= in->bits ? 0 : v[0] >> v[1];
}

uint64_t ps_int_and(const ps_insn *in, const uint64_t *v)
{
    (void)in;
    return v[0] & v[1];
}

uint64_t ps_int_or(const ps_insn *in, const uint64_t *v)
{
    (void)in;
    return v[0] | v[1];
}

uint64_t ps_int_xor(const ps_insn *in, const uint64_t *v)
{
    (void)in;
    return v[0] ^ v[1];
}

uint64_t ps_int_not(const ps_insn *in, const uint64_t *v)
{
    (void)in;
    return ~v[0];
}

uint64_t ps_int_cnot(const ps_insn *in, const uint64_t *v)
{
    (void)in;
    return v[0] == 0;
}

uint64_t ps_int_selp(const ps_insn *in, const uint64_t *v)
{
    (void)in;
    return v[2] ? v[0] : v[1];
}

/* a where c >= 0. With an f32 condition -0 counts as 0 and NaN as negative. */
uint64_t ps_int_slct(const ps_insn *in, const uint64_t *v)
{
    bool nonnegative = (int32_t)v[2] >= 0;
    if (in->source_type[2] == PS_F32)
        nonnegative = (v[2] & 0x7FFFFFFF) <= 0x7F800000
                      && ((int32_t)v[2] >= 0 || (v[2] & 0x7FFFFFFF) == 0 || (in->ftz && (v[2] & 0x7F800000) == 0));
    return nonnegative ? v[0] : v[1];
}

/* The place of the n-th set bit of mask from base on; n < 0 counts downwards. */
uint64_t ps_int_fns(const ps_insn *in, const uint64_t *v)
{
    (void)in;
    int32_t n = (int32_t)v[2];
    uint32_t mask = (uint32_t)v[0], base = (uint32_t)v[1] & 31;
    if (n == 0)
        return mask >> base & 1 ? base : UINT32_MAX;
    int step = n > 0 ? 1 : -1, left = n > 0 ? n : -n;
    for (int place = (int)base; place >= 0 && place < 32; place += step)
        if (mask >> place & 1 && --left == 0)
            return (uint64_t)place;
    return UINT32_MAX;
}

bool ps_int_compare(const ps_insn *in, uint64_t a, uint64_t b)
{
    switch (in->compare) {
    case PS_EQ: return a == b;
    case PS_NE: return a != b;
    case PS_LT: return less(in, a, b);
    case PS_LE: return !less(in, b, a);
    case PS_GT: return less(in, b, a);
    default: return !less(in, a, b);
    }
}
