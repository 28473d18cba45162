/* Descriptors of tcgen05. PTX ISA, "Shared memory descriptor", "Instruction descriptor", "Canonical layouts". */
#include "tests/ptxsim/core.h"

#include <string.h>

/* ---- matrices in shared memory ---- */

enum { SWIZZLE_NONE = 0, SWIZZLE_128_OF_32 = 1 };

static unsigned bits(uint64_t value, unsigned first, unsigned count)
{
    return (unsigned)(value >> first & ps_mask(count));
}

unsigned ps_core_bits(ps_type type)
{
    return type == PS_E2M1 ? 4 : type == PS_E2M3 || type == PS_E3M2 ? 6 : ps_types[type].bits;
}

unsigned ps_core_thread(ps_warp *w, const ps_insn *in, uint32_t active)
{
    unsigned first = 0;
    while (first < 31 && !(active >> first & 1))
        first++;
    if (active & (active - 1))
        ps_report(w, in, (int)first, PTXSIM_TENSOR_MEMORY, "'%s': lanes 0x%08x issue it; one thread does", in->opcode,
                  (unsigned)active);
    return first;
}

static bool bad_field(ps_warp *w, const ps_insn *in, const char *what, const char *field, unsigned value)
{
    ps_report(w, in, -1, PTXSIM_DESCRIPTOR, "'%s': %s cannot have %u as its %s", in->opcode, what, value, field);
    return false;
}

bool ps_core_descriptor(ps_warp *w, const ps_insn *in, const char *what, uint64_t descriptor)
{
    static const struct {
        const char *name;
        unsigned first, count, value;
    } fixed[] = {{"reserved bits 14 and 15", 14, 2, 0},
                 {"reserved bits 30 and 31", 30, 2, 0},
                 {"constant (bits 46 to 48)", 46, 3, 1},
                 {"matrix base offset (other than 0 is not supported)", 49, 3, 0},
                 {"leading dimension stride mode (absolute is not supported)", 52, 1, 0},
                 {"reserved bits 53 to 60", 53, 8, 0}};
    unsigned swizzle = bits(descriptor, 61, 3);
    for (size_t i = 0; i < sizeof fixed / sizeof *fixed; i++)
        if (bits(descriptor, fixed[i].first, fixed[i].count) != fixed[i].value)
            return bad_field(w, in, what, fixed[i].name, bits(descriptor, fixed[i].first, fixed[i].count));
    if (swizzle == 3 || swizzle == 5 || swizzle == 7)
        return bad_field(w, in, what, "swizzling mode", swizzle);
    return true;
}

uint32_t ps_core_address(uint64_t descriptor, bool transposed, unsigned bytes, unsigned row, unsigned k)
{
    static const uint8_t widths[] = {16, 128, 128, 0, 64, 0, 32, 0};
    uint32_t start = bits(descriptor, 0, 14) << 4, leading = bits(descriptor, 16, 14) << 4,
             stride = bits(descriptor, 32, 14) << 4, address;
    unsigned swizzle = bits(descriptor, 61, 3), width = widths[swizzle];
    if (transposed) { /* rows side by side, `width` bytes of them; 8 (4) values of k below each other */
        unsigned at = row * bytes, group = at / width, tall = swizzle == SWIZZLE_128_OF_32 ? 4 : 8;
        address = start + at % width + k % tall * width
                  + (swizzle ? group * leading + k / tall * stride : group * stride + k / tall * leading);
    } else {
        address = start + row % 8 * width + row / 8 * stride + k % width + k / width * leading;
    }
    if (swizzle == SWIZZLE_128_OF_32)
        return address ^ (address >> 2 & 0x60);
    return swizzle ? address ^ (address >> 3 & (width / 16 - 1) << 4) : address;
}

void ps_core_read(ps_warp *w, const ps_insn *in, ps_block *block, uint32_t address, uint8_t out[16])
{
    uint64_t place = ((uint64_t)block->rank << PS_RANK_SHIFT) + address;
    const uint8_t *from = ps_place(w, in, 0, PS_SHARED_CLUSTER, place, 16, 16, PS_LOADS);
    memset(out, 0, 16);
    if (!from)
        return;
    ps_proxy_read(w, in, block, address - PS_SHARED_START, 16);
    memcpy(out, from, 16);
}

/* ---- the instruction ---- */

static const struct kind {
    const char *name;
    unsigned k;
    ps_type types[8]; /* by their numbers; PS_NO_TYPE: none */
    unsigned results; /* bits: numbers of types of D */
} kinds[] = {
#define NONE PS_NO_TYPE
#define F8F6F4                                                        \
    {                                                                 \
        PS_E4M3, PS_E5M2, NONE, PS_E2M3, PS_E3M2, PS_E2M1, NONE, NONE \
    }
#define F4                                                \
    {                                                     \
        NONE, PS_E2M1, NONE, NONE, NONE, NONE, NONE, NONE \
    }
    [PS_KIND_F16] = {"kind::f16", 16, {PS_F16, PS_BF16, NONE, NONE, NONE, NONE, NONE, NONE}, 3},
    [PS_KIND_TF32] = {"kind::tf32", 8, {NONE, NONE, PS_TF32, NONE, NONE, NONE, NONE, NONE}, 2},
    [PS_KIND_F8F6F4] = {"kind::f8f6f4", 32, F8F6F4, 3},
    [PS_KIND_I8] = {"kind::i8", 32, {PS_U8, PS_S8, NONE, NONE, NONE, NONE, NONE, NONE}, 4},
    [PS_KIND_MXF8F6F4] = {"kind::mxf8f6f4", 32, F8F6F4, 0},
    [PS_KIND_MXF4] = {"kind::mxf4", 64, F4, 0},
    [PS_KIND_MXF4NVF4] = {"kind::mxf4nvf4", 64, F4, 0},
};

static bool bad(ps_warp *w, const ps_insn *in, const char *field, unsigned value)
{
    return bad_field(w, in, "the instruction descriptor", field, value);
}

/* M and N go together; ws: the form .ws. */
static bool check_size(ps_warp *w, const ps_insn *in, const ps_core_shape *s, bool ws)
{
    bool pair = in->vector == 2;
    bool m_fits = pair ? s->m == 128 || s->m == 256
                       : s->m == 128 || (!s->scale_vec && (s->m == 64 || (ws && s->m == 32)));
    if (!m_fits)
        return bad(w, in, "M", s->m);
    unsigned step = pair ? 16 : s->m == 64 && !s->scale_vec ? 8 : s->scale_vec ? 8 : 16;
    bool n_fits = ws ? s->n == 64 || s->n == 128 || s->n == 256 : s->n >= step && s->n <= 256 && s->n % step == 0;
    if (s->a == PS_U8 || s->a == PS_S8)
        n_fits = n_fits && (pair ? s->n % 32 == 0 : s->n < 32 || s->n % 16 == 0);
    return n_fits || bad(w, in, "N", s->n);
}

static bool is_bytes(ps_type type)
{
    return ps_core_bits(type) >= 8;
}

static bool check_types(ps_warp *w, const ps_insn *in, const ps_core_shape *s, uint32_t descriptor)
{
    if (s->a == PS_NO_TYPE)
        return bad(w, in, "type of A", bits(descriptor, 7, 3));
    if (s->b == PS_NO_TYPE || (in->mode <= PS_KIND_TF32 && s->a != s->b))
        return bad(w, in, "type of B", bits(descriptor, 10, 3));
    if (s->a_transposed && !is_bytes(s->a))
        return bad(w, in, "transposition of A, which has types of 4 or 6 bits,", 1);
    if (s->b_transposed && !is_bytes(s->b))
        return bad(w, in, "transposition of B, which has types of 4 or 6 bits,", 1);
    if ((s->negate_a || s->negate_b) && in->mode == PS_KIND_I8)
        return bad(w, in, "negation (bits 13 and 14)", bits(descriptor, 13, 2));
    return true;
}

/* Fields of the kinds with scales of blocks. */
static bool take_scales(ps_warp *w, const ps_insn *in, uint32_t descriptor, ps_core_shape *s)
{
    s->scale_vec = in->table;
    s->scale = bits(descriptor, 23, 1) ? PS_UE8M0 : PS_UE4M3;
    s->scale_a_id = bits(descriptor, 29, 2);
    s->scale_b_id = bits(descriptor, 4, 2);
    s->d = PS_F32;
    if (s->scale == PS_UE4M3 && in->mode != PS_KIND_MXF4NVF4)
        return bad(w, in, "scale type", 0);
    if (bits(descriptor, 31, 1))
        return bad(w, in, "size of K (96 is not supported)", 1);
    if (s->scale_a_id % s->scale_vec)
        return bad(w, in, "scale factor A id", s->scale_a_id);
    if (s->scale_b_id % s->scale_vec)
        return bad(w, in, "scale factor B id", s->scale_b_id);
    return true;
}

bool ps_core_instruction(ps_warp *w, const ps_insn *in, uint32_t descriptor, ps_core_shape *out)
{
    static const ps_type results[] = {PS_F16, PS_F32, PS_S32, PS_NO_TYPE};
    const struct kind *kind = &kinds[in->mode];
    bool scaled = in->mode >= PS_KIND_MXF8F6F4;
    unsigned result = bits(descriptor, 4, 2);
    *out = (ps_core_shape){.m = bits(descriptor, 24, 5) << 4,
                           .n = bits(descriptor, 17, 6) << 3,
                           .k = kind->k,
                           .a = kind->types[bits(descriptor, 7, 3)],
                           .b = kind->types[bits(descriptor, 10, 3)],
                           .d = results[result],
                           .scale = PS_NO_TYPE,
                           .negate_a = bits(descriptor, 13, 1),
                           .negate_b = bits(descriptor, 14, 1),
                           .a_transposed = bits(descriptor, 15, 1),
                           .b_transposed = bits(descriptor, 16, 1),
                           .saturates = bits(descriptor, 3, 1)};
    if (bits(descriptor, 2, 1))
        return bad(w, in, "sparsity (which is not supported)", 1);
    if (bits(descriptor, 6, 1))
        return bad(w, in, "reserved bit 6", 1);
    if (out->saturates && in->mode != PS_KIND_I8)
        return bad(w, in, "saturation", 1);
    if (scaled && !take_scales(w, in, descriptor, out))
        return false;
    if (!scaled && !(kind->results >> result & 1))
        return bad(w, in, "type of D", result);
    if (!scaled && (bits(descriptor, 23, 1) || bits(descriptor, 29, 1)))
        return bad(w, in, "reserved bits 23 and 29", bits(descriptor, 23, 1) + 2 * bits(descriptor, 29, 1));
    return check_types(w, in, out, descriptor) && check_size(w, in, out, in->wide);
}
