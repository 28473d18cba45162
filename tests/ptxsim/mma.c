/* mma.sync, ldmatrix, stmatrix, movmatrix. PTX ISA, "Warp-level matrix instructions".

   Fragments: four lanes (lane % 4) hold a row of A side by side, E elements each in one register (E = 32 / bits, one
   for wider elements), lane / 4 is the row; the next register is 8 rows below (where there are 16), then the next 4 E
   columns. B is the same with columns for rows. C and D have two elements of a row in each lane, then 8 rows below.

   Products are exact; sums are made in double and rounded once. Hardware rounds sums at places that the ISA leaves
   open. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "bytecode/number/fast.h"
#include "tests/ptxsim/decode.h"
#include "tests/ptxsim/mma.h"

/* ---- numbers ---- */

/* e3m2 and e2m3 have neither Inf nor NaN. */
static double small_float(unsigned bits, unsigned exponent_bits, unsigned mantissa_bits)
{
    unsigned mantissa = bits & ((1u << mantissa_bits) - 1),
             exponent = bits >> mantissa_bits & ((1u << exponent_bits) - 1);
    int bias = (1 << (exponent_bits - 1)) - 1;
    double value = exponent ? (1u << mantissa_bits) + mantissa : mantissa;
    value = ldexp(value, (exponent ? (int)exponent : 1) - bias - (int)mantissa_bits);
    return bits >> (exponent_bits + mantissa_bits) & 1 ? -value : value;
}

double ps_mma_value(ps_type type, uint64_t bits)
{
    switch (type) {
    case PS_F16: return bc_f16_to_f32((uint16_t)bits);
    case PS_BF16: return bc_bf16_to_f32((uint16_t)bits);
    case PS_TF32: return bc_f32_from_bits((uint32_t)bits & 0xFFFFE000);
    case PS_F32: return bc_f32_from_bits((uint32_t)bits);
    case PS_F64: return bc_f64_from_bits(bits);
    case PS_E4M3: return bc_f8e4m3_to_f32((uint8_t)bits);
    case PS_E5M2: return bc_f8e5m2_to_f32((uint8_t)bits);
    case PS_E2M1: return bc_f4e2m1_to_f32((uint8_t)bits & 15);
    case PS_E3M2: return small_float((unsigned)bits & 63, 3, 2);
    case PS_E2M3: return small_float((unsigned)bits & 63, 2, 3);
    default: return 0;
    }
}

uint64_t ps_mma_round(ps_type type, double acc)
{
    switch (type) {
    case PS_F16: return bc_f64_to_f16(acc);
    case PS_F64: return bc_f64_bits(acc);
    default: return acc != acc ? (uint64_t)BC_F32_NAN : bc_f32_bits((float)acc);
    }
}

static bool is_float(ps_type type)
{
    return ps_types[type].class_ == PS_CLASS_FLOAT;
}

static int64_t integer_value(ps_type type, uint64_t bits, unsigned width)
{
    return ps_types[type].class_ == PS_CLASS_SINT ? ps_signed(bits, width) : (int64_t)(bits & ps_mask(width));
}

/* ---- mma: decoding ---- */

static bool take_shape(ps_decoder *d, ps_mma *mma)
{
    for (unsigned i = 0; i < d->count; i++) {
        unsigned m, n, k;
        int used = 0;
        if (!d->used[i] && sscanf(d->modifiers[i], "m%un%uk%u%n", &m, &n, &k, &used) == 3
            && d->modifiers[i][used] == '\0') {
            mma->m = (uint16_t)m;
            mma->n = (uint16_t)n;
            mma->k = (uint16_t)k;
            return d->used[i] = true;
        }
    }
    return false;
}

/* Bits of an element of A or B in a register: 4-bit floats have 8 unless all of the instruction is made for them. */
static unsigned fragment_bits(ps_type type, bool f4_kind)
{
    return type == PS_B1 ? 1 : type == PS_E2M1 && f4_kind ? 4 : ps_types[type].bits;
}

/* The shapes that exist, by the bits of an element: k for m16n8, then for m8n8; 0 ends. */
static bool shape_exists(const ps_mma *mma)
{
    static const struct {
        uint8_t bits, m;
        uint16_t k;
    } shapes[] = {
        {1, 8, 128}, {1, 16, 128}, {1, 16, 256}, {4, 8, 32},  {4, 16, 32},  {4, 16, 64},
        {8, 8, 16},  {8, 16, 16},  {8, 16, 32},  {16, 16, 8}, {16, 16, 16}, {32, 16, 4},
        {32, 16, 8}, {64, 8, 4},   {64, 16, 4},  {64, 16, 8}, {64, 16, 16},
    };
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        if (shapes[i].bits == mma->a_bits && shapes[i].m == mma->m && shapes[i].k == mma->k && mma->n == 8)
            return !(mma->m == 8 && is_float(mma->a) && mma->a_bits == 8);
    return false;
}

static bool types_fit(const ps_mma *mma)
{
    bool accumulates_f32 = mma->d == PS_F32 && mma->c == PS_F32;
    bool accumulates_f16 = (mma->d == PS_F16 || mma->d == PS_F32) && (mma->c == PS_F16 || mma->c == PS_F32);
    switch (mma->a) {
    case PS_F16: return mma->b == PS_F16 && accumulates_f16;
    case PS_BF16:
    case PS_TF32: return mma->b == mma->a && accumulates_f32;
    case PS_F64: return mma->b == PS_F64 && mma->c == PS_F64 && mma->d == PS_F64;
    case PS_S8:
    case PS_U8: return (mma->b == PS_S8 || mma->b == PS_U8) && mma->c == PS_S32 && mma->d == PS_S32;
    case PS_S4:
    case PS_U4: return (mma->b == PS_S4 || mma->b == PS_U4) && mma->c == PS_S32 && mma->d == PS_S32;
    case PS_B1: return mma->b == PS_B1 && mma->c == PS_S32 && mma->d == PS_S32 && mma->bit_op != PS_BIT_NONE;
    case PS_E4M3:
    case PS_E5M2:
    case PS_E3M2:
    case PS_E2M3:
    case PS_E2M1:
        return is_float(mma->b) && mma->b_bits == mma->a_bits && mma->c == mma->d
               && (mma->d == PS_F32 || mma->d == PS_F16);
    default: return false;
    }
}

static ps_type register_type(ps_type type)
{
    return type == PS_F64 ? PS_F64 : type == PS_F32 ? PS_F32 : PS_B32;
}

static unsigned registers(unsigned rows, unsigned columns, unsigned bits)
{
    unsigned total = rows * columns * bits / PS_LANES;
    return bits == 64 ? total / 64 : total / 32 ? total / 32 : 1;
}

enum { KIND_MXF8F6F4 = 1, KIND_MXF4, KIND_MXF4NVF4 };

/* .kind::mxf4.block_scale.scale_vec::2X: A and B with a scale for every so many columns. Gives the kind. */
static int take_block_scale(ps_decoder *d, ps_mma *mma)
{
    static const char *const kinds[] = {"kind::f8f6f4", "kind::mxf8f6f4", "kind::mxf4", "kind::mxf4nvf4", NULL};
    static const char *const vectors[] = {"scale_vec::1X", "scale_vec::2X", "scale_vec::4X", NULL};
    int kind = ps_take_one(d, kinds);
    bool scaled = ps_take(d, "block_scale");
    int vector = ps_take_one(d, vectors);
    if (scaled)
        mma->scale_vec = vector >= 0 ? 1u << vector : kind == KIND_MXF4 ? 2 : 1;
    if (scaled != (kind >= KIND_MXF8F6F4) || (kind == KIND_MXF4NVF4 && vector < 0))
        ps_decode_fail(d, ".block_scale goes with .kind::mx...");
    return kind;
}

/* PTX ISA, "Valid combinations of .scale_vec_size, .kind and .stype". */
static bool scales_exist(const ps_mma *mma, int kind)
{
    static const struct {
        int kind;
        unsigned scale_vec;
        ps_type scale;
    } all[] = {{KIND_MXF8F6F4, 1, PS_UE8M0},
               {KIND_MXF4, 2, PS_UE8M0},
               {KIND_MXF4NVF4, 2, PS_UE8M0},
               {KIND_MXF4NVF4, 4, PS_UE8M0},
               {KIND_MXF4NVF4, 4, PS_UE4M3}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (all[i].kind == kind && all[i].scale_vec == mma->scale_vec && all[i].scale == mma->scale)
            return kind == KIND_MXF8F6F4 || mma->a == PS_E2M1;
    return false;
}

/* {byte, thread}: which of the four bytes the first scale is, the others follow; which of four lanes has it, or which
   pair. */
static bool selects(const ps_operand *selectors, const ps_mma *mma, unsigned threads)
{
    const ps_operand *byte = &selectors->sub[0], *thread = &selectors->sub[1];
    return (byte->kind != PS_IMMEDIATE || (byte->value < 4 && byte->value % mma->scale_vec == 0))
           && (thread->kind != PS_IMMEDIATE || thread->value < threads);
}

static void want_scales(ps_decoder *d, ps_mma *mma, int kind)
{
    /* d, a, b, c, scale_a, {byte, thread}, scale_b, {byte, thread} */
    ps_want_count(d, 8, 8);
    for (unsigned i = 4; i < 8 && !d->error[0]; i += 2) {
        ps_want_vector(d, i, 1, PS_B32, false);
        ps_want_vector(d, i + 1, 2, PS_U16, true);
        if (!d->error[0] && !selects(&d->in->operands[i + 1], mma, i == 4 ? 2 : 4))
            ps_decode_fail(d, "no such byte or thread to choose");
    }
    if (!scales_exist(mma, kind))
        ps_decode_fail(d, "no such combination of kind, types and scales");
}

void ps_decode_mma(ps_decoder *d)
{
    ps_insn *in = d->in;
    ps_mma *mma = bc_new(&d->m->arena, ps_mma, 1);
    in->mma = mma;
    in->exec = ps_exec_mma;
    in->first_source = 1;
    in->aligned = ps_take(d, "aligned");
    if (!ps_take(d, "sync") || !in->aligned || !take_shape(d, mma) || !ps_take(d, "row") || !ps_take(d, "col")) {
        ps_decode_fail(d, "wants .sync.aligned, a shape and .row.col");
        return;
    }
    mma->satfinite = ps_take(d, "satfinite");
    int kind = take_block_scale(d, mma);
    mma->bit_op = ps_take(d, "xor") ? PS_BIT_XOR : ps_take(d, "and") ? PS_BIT_AND : PS_BIT_NONE;
    if (mma->bit_op)
        ps_take(d, "popc");
    mma->d = ps_take_type(d);
    mma->a = ps_take_type(d);
    mma->b = ps_take_type(d);
    mma->c = ps_take_type(d);
    mma->scale = mma->scale_vec ? ps_take_type(d) : PS_NO_TYPE;
    if (mma->c == PS_NO_TYPE) {
        ps_decode_fail(d, "wants the types of d, a, b and c");
        return;
    }
    mma->a_bits = fragment_bits(mma->a, kind >= KIND_MXF4);
    mma->b_bits = fragment_bits(mma->b, kind >= KIND_MXF4);
    if (!types_fit(mma) || !shape_exists(mma)) {
        ps_decode_fail(d, "no such combination of shape and types");
        return;
    }
    in->type = (uint8_t)mma->d;
    if (mma->scale_vec)
        want_scales(d, mma, kind);
    else
        ps_want_count(d, 4, 4);
    ps_want_vector(d, 0, registers(mma->m, mma->n, ps_types[mma->d].bits), register_type(mma->d), false);
    ps_want_vector(d, 1, registers(mma->m, mma->k, mma->a_bits), register_type(mma->a), false);
    ps_want_vector(d, 2, registers(mma->k, mma->n, mma->b_bits), register_type(mma->b), false);
    ps_want_vector(d, 3, registers(mma->m, mma->n, ps_types[mma->c].bits), register_type(mma->c), false);
}

/* ---- mma: fragments ---- */

static unsigned part_count(const ps_operand *o)
{
    return o->kind == PS_VECTOR ? o->count : 1;
}

/* Calls for every element of A (or of B, with columns for rows): row, k, bits. */
typedef struct element_place {
    unsigned row, k;
} element_place;

static element_place place_of(unsigned rows, unsigned bits, unsigned reg, unsigned lane, unsigned j)
{
    unsigned per = bits >= 32 ? 1 : 32 / bits, tall = rows == 16;
    return (element_place){.row = lane / 4 + (tall ? 8 * (reg & 1) : 0),
                           .k = (tall ? reg >> 1 : reg) * 4 * per + lane % 4 * per + j};
}

static void read_floats(ps_warp *w, const ps_insn *in, uint32_t active, unsigned operand, unsigned rows, unsigned bits,
                        ps_type type, double out[][PS_MMA_MAX_K])
{
    const ps_operand *o = &in->operands[operand];
    unsigned per = bits >= 32 ? 1 : 32 / bits;
    for (unsigned r = 0; r < part_count(o); r++) {
        uint64_t scratch[PS_LANES];
        const uint64_t *row = ps_source(w, in, ps_part(o, r), active, scratch);
        for (unsigned l = 0; l < PS_LANES; l++)
            for (unsigned j = 0; j < per; j++) {
                element_place p = place_of(rows, bits, r, l, j);
                out[p.row][p.k] = ps_mma_value(type, row[l] >> j * bits & ps_mask(bits));
            }
    }
}

static void read_integers(ps_warp *w, const ps_insn *in, uint32_t active, unsigned operand, unsigned rows,
                          unsigned bits, ps_type type, int32_t out[][PS_MMA_MAX_K])
{
    const ps_operand *o = &in->operands[operand];
    for (unsigned r = 0; r < part_count(o); r++) {
        uint64_t scratch[PS_LANES];
        const uint64_t *row = ps_source(w, in, ps_part(o, r), active, scratch);
        for (unsigned l = 0; l < PS_LANES; l++)
            for (unsigned j = 0; j < 32 / bits; j++) {
                element_place p = place_of(rows, bits, r, l, j);
                out[p.row][p.k] = (int32_t)integer_value(type, row[l] >> j * bits & ps_mask(bits), bits);
            }
    }
}

/* Register and place in it of element (row, column) of C or D; the lane is row % 8 * 4 + column / 2. */
static unsigned accumulator_index(unsigned row, unsigned column)
{
    return row / 8 * 2 + (column & 1);
}

static void read_accumulator(ps_warp *w, const ps_insn *in, uint32_t active, const ps_mma *mma, uint64_t out[][8])
{
    const ps_operand *o = &in->operands[3];
    unsigned bits = ps_types[mma->c].bits, per = bits == 16 ? 2 : 1;
    for (unsigned r = 0; r < part_count(o); r++) {
        uint64_t scratch[PS_LANES];
        const uint64_t *row = ps_source(w, in, ps_part(o, r), active, scratch);
        for (unsigned l = 0; l < PS_LANES; l++)
            for (unsigned j = 0; j < per; j++) {
                unsigned index = r * per + j;
                out[l / 4 + index / 2 * 8][l % 4 * 2 + (index & 1)] = row[l] >> j * bits & ps_mask(bits);
            }
    }
}

static void write_accumulator(ps_warp *w, const ps_insn *in, uint32_t active, const ps_mma *mma,
                              const uint64_t values[][8])
{
    const ps_operand *o = &in->operands[0];
    unsigned bits = ps_types[mma->d].bits, per = bits == 16 ? 2 : 1;
    uint64_t out[4][PS_LANES] = {{0}};
    for (unsigned row = 0; row < mma->m; row++)
        for (unsigned column = 0; column < 8; column++) {
            unsigned index = accumulator_index(row, column), lane = row % 8 * 4 + column / 2;
            out[index / per][lane] |= values[row][column] << index % per * bits;
        }
    for (unsigned r = 0; r < part_count(o); r++)
        ps_result(w, ps_part(o, r), register_type(mma->d), active, out[r]);
}

/* ---- mma: the product ---- */

/* The scale of a row (of A or B) and block of columns: byte `byte` + block of a register of one of the four lanes of
   the row. For A lanes 0 and 1 of the four (thread 0), or 2 and 3 (thread 1), hold rows lane / 4 and lane / 4 + 8; for
   B one of them holds the column. */
static void read_scales(ps_warp *w, const ps_insn *in, uint32_t active, unsigned operand, unsigned rows,
                        const ps_mma *mma, double out[][4])
{
    uint64_t scratch[3][PS_LANES];
    const uint64_t *scales = ps_source(w, in, ps_part(&in->operands[operand], 0), active, scratch[0]);
    const uint64_t *byte = ps_source(w, in, ps_part(&in->operands[operand + 1], 0), active, scratch[1]);
    const uint64_t *thread = ps_source(w, in, ps_part(&in->operands[operand + 1], 1), active, scratch[2]);
    for (unsigned row = 0; row < rows; row++)
        for (unsigned block = 0; block < mma->scale_vec; block++) {
            unsigned which = (unsigned)thread[0] & 3;
            unsigned lane = rows == 16 ? row % 8 * 4 + (which & 1) * 2 + row / 8 : row * 4 + which;
            uint8_t bits = (uint8_t)(scales[lane] >> 8 * ((byte[lane] & 3) + block));
            out[row][block] = mma->scale == PS_UE8M0 ? bc_f8e8m0_to_f32(bits) : bc_f8e4m3_to_f32(bits);
            if (mma->scale == PS_UE4M3 && bits >> 7)
                ps_report(w, in, (int)lane, PTXSIM_BAD_VALUE, "'%s': scale 0x%x, .ue4m3 has 7 bits", in->opcode, bits);
        }
}

static void multiply_floats(ps_warp *w, const ps_insn *in, uint32_t active, const ps_mma *mma, const uint64_t c[][8],
                            uint64_t d[][8])
{
    double a[16][PS_MMA_MAX_K], b[8][PS_MMA_MAX_K], scale_a[16][4], scale_b[8][4];
    read_floats(w, in, active, 1, mma->m, mma->a_bits, mma->a, a);
    read_floats(w, in, active, 2, 8, mma->b_bits, mma->b, b);
    if (mma->scale_vec) {
        read_scales(w, in, active, 4, 16, mma, scale_a);
        read_scales(w, in, active, 6, 8, mma, scale_b);
    }
    for (unsigned row = 0; row < mma->m; row++)
        for (unsigned column = 0; column < 8; column++) {
            double acc = ps_mma_value(mma->c, c[row][column]);
            for (unsigned k = 0; k < mma->k; k++) {
                if (mma->scale_vec) {
                    unsigned block = k * mma->scale_vec / mma->k;
                    acc += a[row][k] * scale_a[row][block] * (b[column][k] * scale_b[column][block]);
                } else if (mma->a == PS_F64) {
                    acc = bc_f64_from_bits(bc_float_fma(BC_F64, bc_f64_bits(a[row][k]), bc_f64_bits(b[column][k]),
                                                        bc_f64_bits(acc), BC_RoundingMode_nearest_even, false));
                } else {
                    acc += a[row][k] * b[column][k];
                }
            }
            d[row][column] = ps_mma_round(mma->d, acc);
        }
}

static void multiply_integers(ps_warp *w, const ps_insn *in, uint32_t active, const ps_mma *mma, const uint64_t c[][8],
                              uint64_t d[][8])
{
    int32_t a[16][PS_MMA_MAX_K], b[8][PS_MMA_MAX_K];
    read_integers(w, in, active, 1, mma->m, mma->a_bits, mma->a, a);
    read_integers(w, in, active, 2, 8, mma->b_bits, mma->b, b);
    for (unsigned row = 0; row < mma->m; row++)
        for (unsigned column = 0; column < 8; column++) {
            int64_t acc = (int32_t)c[row][column];
            for (unsigned k = 0; k < mma->k; k++) {
                int32_t x = a[row][k], y = b[column][k];
                acc += mma->bit_op == PS_BIT_XOR ? (x ^ y) & 1 : mma->bit_op == PS_BIT_AND ? x & y & 1 : (int64_t)x * y;
            }
            if (mma->satfinite)
                acc = acc > INT32_MAX ? INT32_MAX : acc < INT32_MIN ? INT32_MIN : acc;
            d[row][column] = (uint32_t)acc;
        }
}

ps_flow ps_exec_mma(ps_warp *w, const ps_insn *in, uint32_t active)
{
    const ps_mma *mma = in->mma;
    uint64_t c[16][8], d[16][8];
    ps_check_aligned(w, in, active);
    if (active != PS_ALL)
        return PS_NEXT;
    bool left_out = ps_use_product(w, in, mma->m, mma->n, mma->k, false);
    read_accumulator(w, in, active, mma, c);
    if (left_out)
        memcpy(d, c, sizeof d);
    else if (is_float(mma->a))
        multiply_floats(w, in, active, mma, (const uint64_t(*)[8])c, d);
    else
        multiply_integers(w, in, active, mma, (const uint64_t(*)[8])c, d);
    write_accumulator(w, in, active, mma, (const uint64_t(*)[8])d);
    return PS_NEXT;
}
