/* Tensor memory and the tensor core of sm_100 in the simulator: products of every kind with operands laid out here,
   and for each check a kernel that has the fault. Never run on the hardware: layouts are those that the PTX ISA
   describes. */
#include <string.h>

#include "bytecode/number/fast.h"
#include "tests/ptxsim/harness.h"
#include "tests/unit/test.h"

/* Shared memory of a block: A, B, scales, then an mbarrier and the address that alloc gives. */
enum { B_AT = 16384, SCALES_AT = 32768, IMAGE = 36864, BARRIER_AT = IMAGE, ADDRESS_AT = IMAGE + 16, COLUMNS = 256 };
enum { LANES = 128, SCALE_COLUMN = 256 };

/* ---- types ---- */

/* Codes of four numbers in a type, and the number of the type in the instruction descriptor. */
static const struct type {
    const char *name;
    unsigned bits, number;
    uint32_t codes[4];
    double values[4];
} types[] = {
    {"f16", 16, 0, {0, 0x3C00, 0xBC00, 0x4000}, {0, 1, -1, 2}},
    {"bf16", 16, 1, {0, 0x3F80, 0xBF80, 0x4000}, {0, 1, -1, 2}},
    {"tf32", 32, 2, {0, 0x3F800000, 0xBF800000, 0x40000000}, {0, 1, -1, 2}},
    {"e4m3", 8, 0, {0, 0x38, 0xB8, 0x40}, {0, 1, -1, 2}},
    {"e5m2", 8, 1, {0, 0x3C, 0xBC, 0x40}, {0, 1, -1, 2}},
    {"e2m3", 6, 3, {0, 0x08, 0x28, 0x10}, {0, 1, -1, 2}},
    {"e3m2", 6, 4, {0, 0x0C, 0x2C, 0x10}, {0, 1, -1, 2}},
    {"e2m1", 4, 5, {0, 0x2, 0xA, 0x4}, {0, 1, -1, 2}},
    {"u8", 8, 0, {0, 1, 255, 2}, {0, 1, 255, 2}},
    {"s8", 8, 1, {0, 1, 255, 2}, {0, 1, -1, 2}},
    {"packed e2m1", 4, 1, {0, 0x2, 0xA, 0x4}, {0, 1, -1, 2}},
};
enum { F16, BF16, TF32, E4M3, E5M2, E2M3, E3M2, E2M1, U8, S8, PACKED };
enum { D_F16, D_F32, D_S32 };
enum { NONE = 0, SWIZZLE_128 = 2, SWIZZLE_64 = 4, SWIZZLE_32 = 6 };

typedef struct example {
    const char *kind; /* with what follows it */
    unsigned a, b, d, m, n, k, group;
    unsigned swizzle;
    bool ws, b_transposed, a_in_lanes;
    unsigned scale_vec, scale_id; /* of both */
} example;

enum { A_IN_LANES = 4, SCALED = 16, SCALED_PAIR = 21, BYTES_OF_PAIR = 22 };
static const example examples[] = {
    {"kind::f16", F16, F16, D_F32, 128, 64, 16, 1, SWIZZLE_128, false, false, false, 0, 0},
    {"kind::f16", F16, F16, D_F16, 128, 256, 16, 1, NONE, false, false, false, 0, 0},
    {"kind::f16", BF16, BF16, D_F32, 64, 128, 16, 1, SWIZZLE_64, false, false, false, 0, 0},
    {"kind::f16", BF16, BF16, D_F32, 128, 128, 16, 1, SWIZZLE_128, false, true, false, 0, 0},
    {"kind::f16", F16, F16, D_F32, 128, 64, 16, 1, SWIZZLE_32, false, false, true, 0, 0},
    {"kind::tf32", TF32, TF32, D_F32, 128, 32, 8, 1, SWIZZLE_32, false, false, false, 0, 0},
    {"kind::f8f6f4", E4M3, E5M2, D_F32, 64, 64, 32, 1, SWIZZLE_128, false, false, false, 0, 0},
    {"kind::f8f6f4", E2M3, E3M2, D_F32, 128, 64, 32, 1, NONE, false, false, false, 0, 0},
    {"kind::f8f6f4", E2M1, E4M3, D_F32, 128, 16, 32, 1, SWIZZLE_64, false, false, false, 0, 0},
    {"kind::i8", S8, U8, D_S32, 128, 48, 32, 1, SWIZZLE_32, false, false, false, 0, 0},
    {"kind::f16", F16, F16, D_F32, 32, 64, 16, 1, SWIZZLE_64, true, false, false, 0, 0},
    {"kind::f16", F16, F16, D_F32, 64, 128, 16, 1, SWIZZLE_128, true, false, false, 0, 0},
    {"kind::i8", S8, S8, D_S32, 128, 64, 32, 1, NONE, true, false, false, 0, 0},
    {"kind::f16", F16, F16, D_F32, 256, 128, 16, 2, SWIZZLE_128, false, false, false, 0, 0},
    {"kind::f16", BF16, BF16, D_F32, 128, 64, 16, 2, SWIZZLE_64, false, false, false, 0, 0},
    {"kind::f8f6f4", E4M3, E4M3, D_F32, 256, 32, 32, 2, NONE, false, false, false, 0, 0},
    {"kind::mxf8f6f4.block_scale.scale_vec::1X", E4M3, E2M1, D_F32, 128, 64, 32, 1, SWIZZLE_64, false, false, false, 1,
     2},
    {"kind::mxf4.block_scale.scale_vec::2X", PACKED, PACKED, D_F32, 128, 64, 64, 1, SWIZZLE_32, false, false, false, 2,
     2},
    {"kind::mxf4nvf4.block_scale.scale_vec::4X", PACKED, PACKED, D_F32, 128, 32, 64, 1, NONE, false, false, false, 4,
     0},
    {"kind::mxf8f6f4.block_scale", E5M2, E5M2, D_F32, 256, 64, 32, 2, SWIZZLE_128, false, false, false, 1, 0},
    {"kind::mxf4.block_scale.scale_vec::2X", PACKED, PACKED, D_F32, 256, 128, 64, 2, SWIZZLE_64, false, false, false, 2,
     2},
    {"kind::mxf4nvf4.block_scale.scale_vec::4X", PACKED, PACKED, D_F32, 256, 256, 64, 2, SWIZZLE_32, false, false,
     false, 4, 0},
    {"kind::i8", S8, U8, D_S32, 256, 32, 32, 2, SWIZZLE_32, false, false, false, 0, 0},
};

/* ---- operands ---- */

static unsigned mixed(unsigned which, unsigned row, unsigned k)
{
    return (row * 7 + k * 3 + which * 5 + row * k % 11) % 4;
}

/* The scale of a block of a row: a power of two; as .ue8m0, and as .ue4m3 for four of them. */
static double scale_of(unsigned which, unsigned row, unsigned block)
{
    return (row + block + which) % 2 ? 2 : 1;
}

static uint8_t scale_code(const example *x, double scale)
{
    return x->scale_vec == 4 ? (scale > 1 ? 0x40 : 0x38) : (scale > 1 ? 128 : 127);
}

/* Width in bytes of a swizzled row, and how much of a row's number changes its chunks. */
static unsigned width_of(unsigned swizzle)
{
    return swizzle == SWIZZLE_128 ? 128 : swizzle == SWIZZLE_64 ? 64 : swizzle == SWIZZLE_32 ? 32 : 16;
}

static unsigned swizzled(unsigned swizzle, unsigned row, unsigned byte)
{
    unsigned chunk = byte / 16, line = row % 8;
    chunk ^= swizzle == SWIZZLE_128 ? line : swizzle == SWIZZLE_64 ? line / 2 : swizzle == SWIZZLE_32 ? line / 4 : 0;
    return chunk * 16 + byte % 16;
}

/* Where byte `byte` of row `row` lies, K major; leading 128 and stride 256 bytes without a swizzle. */
static unsigned place_of(unsigned swizzle, unsigned row, unsigned byte)
{
    unsigned width = width_of(swizzle);
    if (swizzle == NONE)
        return row / 8 * 256 + byte / 16 * 128 + row % 8 * 16 + byte % 16;
    return row / 8 * 8 * width + row % 8 * width + swizzled(swizzle, row, byte);
}

static void put_bits(uint8_t *at, unsigned first, unsigned bits, uint32_t code)
{
    for (unsigned i = 0; i < bits; i++)
        if (code >> i & 1)
            at[(first + i) / 8] |= (uint8_t)(1 << (first + i) % 8);
}

/* One element; which: 0 A, 1 B. `row` is the block's own. */
static void put_element(const example *x, uint8_t *image, unsigned which, unsigned row, unsigned k, uint32_t code)
{
    unsigned type = which ? x->b : x->a, bits = types[type].bits;
    uint8_t *to = image + (which ? B_AT : 0);
    if (which && x->b_transposed) { /* 64 elements of 16 bits side by side, K below */
        unsigned at = row / 64 * 2048 + k / 8 * 1024 + k % 8 * 128 + swizzled(x->swizzle, k, row % 64 * 2);
        put_bits(to + at, 0, bits, code);
    } else if (type == PACKED) {
        put_bits(to + place_of(x->swizzle, row, k / 2), k % 2 * 4, bits, code);
    } else if (bits < 8) {
        put_bits(to + place_of(x->swizzle, row, k / 16 * 16), k % 16 * bits, bits, code);
    } else {
        put_bits(to + place_of(x->swizzle, row, k * bits / 8), 0, bits, code);
    }
}

/* Row r of the scales lies in the 16 bytes of row r % 32, word r / 32; so do those of B, 512 bytes behind. */
static void put_scales(const example *x, uint8_t *image, unsigned which, unsigned row, unsigned whole_row)
{
    unsigned at = SCALES_AT + which * 1024 + row / 128 * 512 + row % 32 * 16 + row / 32 % 4 * 4;
    for (unsigned i = 0; i < x->scale_vec; i++)
        image[at + x->scale_id + i] = scale_code(x, scale_of(which, whole_row, i));
}

static void make_image(const example *x, unsigned block, uint8_t *image)
{
    unsigned rows = x->m / x->group, columns = x->n / x->group;
    memset(image, 0, IMAGE);
    for (unsigned k = 0; k < x->k; k++) {
        for (unsigned row = 0; row < rows; row++)
            put_element(x, image, 0, row, k, types[x->a].codes[mixed(0, block * rows + row, k)]);
        for (unsigned row = 0; row < columns; row++)
            put_element(x, image, 1, row, k, types[x->b].codes[mixed(1, block * columns + row, k)]);
    }
    for (unsigned row = 0; row < rows; row++)
        put_scales(x, image, 0, row, block * rows + row);
    for (unsigned row = 0; row < x->n; row++)
        put_scales(x, image, 1, row, row);
}

static double expected(const example *x, unsigned row, unsigned column)
{
    double sum = 0;
    for (unsigned k = 0; k < x->k; k++) {
        double a = types[x->a].values[mixed(0, row, k)], b = types[x->b].values[mixed(1, column, k)];
        unsigned block = x->scale_vec ? k * x->scale_vec / x->k : 0;
        sum += x->scale_vec ? a * b * scale_of(0, row, block) * scale_of(1, column, block) : a * b;
    }
    return 2 * sum; /* it is added twice */
}

/* ---- the kernel ---- */

/* What a kernel leaves out or does wrong. */
enum {
    NO_WAIT_ST = 1 << 0,
    NO_BEFORE = 1 << 1,
    NO_AFTER = 1 << 2,
    NO_PROXY = 1 << 3,
    NO_WAIT_COMMIT = 1 << 4,
    NO_AFTER_COMMIT = 1 << 5,
    NO_WAIT_LD = 1 << 6,
    NO_DEALLOC = 1 << 7,
    NO_COMMIT = 1 << 8,
    OTHER_GROUP = 1 << 9,
    OVERWRITES = 1 << 10, /* an operand, before the commit has arrived */
    ALL_THREADS = 1 << 11,
    ODD_COLUMNS = 1 << 12, /* in alloc */
    ALLOC_LATE = 1 << 13,  /* behind relinquish */
    OTHER_LANES = 1 << 14,
    NOT_ALLOCATED = 1 << 15,
    NO_INIT = 1 << 16, /* D is added to and was never written */
    OTHER_BARRIER = 1 << 17,
    SCALES_ELSEWHERE = 1 << 18, /* in lanes */
    SCALES_DIFFER = 1 << 19,    /* between the quarters of the lanes, */
    SCALES_OF_OTHERS = 1 << 20  /* and those of B between the blocks of a pair */
};

typedef struct variant {
    const char *name;
    unsigned faults;
    int check; /* ptxsim_check */
    const char *says;
    uint64_t a_xor;     /* of the descriptor of A */
    uint32_t shape_xor; /* of the instruction's */
    unsigned of;        /* the example */
} variant;

static uint32_t instruction_of(const example *x)
{
    uint32_t both = types[x->a].number << 7 | types[x->b].number << 10 | (uint32_t)x->b_transposed << 16
                    | x->n / 8 << 17 | x->m / 16 << 24;
    if (x->scale_vec)
        return both | x->scale_id << 4 | (uint32_t)(x->scale_vec != 4) << 23 | x->scale_id << 29;
    return both | x->d << 4;
}

static uint64_t descriptor_of(const example *x, bool b)
{
    unsigned width = width_of(x->swizzle);
    bool transposed = b && x->b_transposed;
    uint64_t leading = transposed ? 2048 : 128, stride = transposed ? 1024 : x->swizzle == NONE ? 256 : 8 * width;
    return leading / 16 << 16 | stride / 16 << 32 | UINT64_C(1) << 46 | (uint64_t)x->swizzle << 61;
}

static void write_start(bc_text *t, const example *x, unsigned faults)
{
    bc_text_printf(
        t,
        ".version 8.8\n.target sm_100a\n.address_size 64\n"
        ".visible .entry k(.param .u64 p, .param .u64 q) .reqntid 128%s\n{\n"
        ".reg .b64 %%b, %%o, %%da, %%db, %%d<4>; .reg .b32 %%t, %%w, %%s, %%tm, %%ln, %%z, %%i, %%rk, %%r<4>, "
        "%%v<32>; .reg .pred %%p<8>; .reg .b16 %%h;\n"
        ".shared .align 1024 .b8 sm[%u];\n"
        "ld.param.u64 %%b, [p]; ld.param.u64 %%o, [q]; mov.u32 %%t, %%tid.x; shr.u32 %%w, %%t, 5;\n"
        "mov.u32 %%s, sm; and.b32 %%s, %%s, 0xFFFFFF; mov.u32 %%rk, %%cluster_ctarank; mov.u32 %%z, 0;\n"
        "mad.wide.u32 %%b, %%rk, %u, %%b; mad.wide.u32 %%o, %%rk, %u, %%o;\n"
        "setp.eq.u32 %%p0, %%t, 0; setp.eq.u32 %%p1, %%w, 0; setp.ne.u32 %%p5, %%t, %%t;\n"
        "mul.lo.u32 %%i, %%t, 16;\n"
        "C: cvt.u64.u32 %%d0, %%i; add.u64 %%d0, %%d0, %%b; ld.global.v4.u32 {%%v0, %%v1, %%v2, %%v3}, [%%d0];\n"
        "add.u32 %%r0, %%s, %%i; st.shared.v4.u32 [%%r0], {%%v0, %%v1, %%v2, %%v3};\n"
        "add.u32 %%i, %%i, 2048; setp.lt.u32 %%p2, %%i, %u; @%%p2 bra C;\n"
        "@%%p0 mbarrier.init.shared::cta.b64 [sm+%u], 1; @%%p0 mbarrier.init.shared::cta.b64 [sm+%u], 1;\n%s",
        x->group == 2 ? " .reqnctapercluster 2" : "", ADDRESS_AT + 16, (unsigned)IMAGE, 4u * LANES * COLUMNS,
        (unsigned)IMAGE, (unsigned)BARRIER_AT, BARRIER_AT + 8u,
        faults & NO_PROXY ? "" : "fence.proxy.async.shared::cta;\n");
    if (faults & SCALES_OF_OTHERS) /* the thread that has stored the first scales of B */
        bc_text_printf(t,
                       "setp.eq.u32 %%p2, %%t, 64; setp.ne.and.u32 %%p2, %%rk, 0, %%p2; @%%p2 st.shared.u32 [sm+%u], "
                       "%%z; fence.proxy.async.shared::cta;\n",
                       SCALES_AT + 1024u);
    if (faults & ALLOC_LATE)
        bc_text_printf(t, "@%%p1 tcgen05.relinquish_alloc_permit.cta_group::%u.sync.aligned;\n", x->group);
    bc_text_printf(t, "@%%p1 tcgen05.alloc.cta_group::%u.sync.aligned.shared::cta.b32 [sm+%u], %u;\n", x->group,
                   (unsigned)ADDRESS_AT, faults & ODD_COLUMNS ? 96u : 512u);
    if (!(faults & ALLOC_LATE))
        bc_text_printf(t, "@%%p1 tcgen05.relinquish_alloc_permit.cta_group::%u.sync.aligned;\n", x->group);
    bc_text_puts(t, "bar.sync 0; ld.shared.u32 %tm, [sm+36880]; shl.b32 %ln, %w, 21; add.u32 %ln, %ln, %tm;\n");
}

/* Zeros to the columns of D, and what orders them before the product. */
static void write_init(bc_text *t, const example *x, unsigned faults)
{
    for (unsigned column = 0; column < COLUMNS && !(faults & NO_INIT); column += 32) {
        bc_text_printf(t, "tcgen05.st.sync.aligned.32x32b.x32.b32 [%%ln+%u], {", column);
        for (unsigned i = 0; i < 32; i++)
            bc_text_puts(t, i ? ", %z" : "%z");
        bc_text_puts(t, "};\n");
    }
    if (x->a_in_lanes) { /* 8 words of A from where place_of has put them, without its swizzle */
        bc_text_puts(t, "mul.lo.u32 %r0, %t, 32; shr.u32 %r1, %t, 2; and.b32 %r1, %r1, 1; shl.b32 %r1, %r1, 4;\n"
                        "xor.b32 %r2, %r1, 16; add.u32 %r0, %r0, %s; add.u32 %r1, %r1, %r0; add.u32 %r2, %r2, %r0;\n"
                        "ld.shared.v4.u32 {%v0, %v1, %v2, %v3}, [%r1]; ld.shared.v4.u32 {%v4, %v5, %v6, %v7}, [%r2];\n"
                        "tcgen05.st.sync.aligned.32x32b.x8.b32 [%ln+256], {%v0, %v1, %v2, %v3, %v4, %v5, %v6, %v7};\n");
    }
    if (faults & SCALES_DIFFER)
        bc_text_puts(t, "tcgen05.st.sync.aligned.32x32b.x16.b32 [%ln+256], {%w, %w, %w, %w, %w, %w, %w, %w, %w, %w, "
                        "%w, %w, %w, %w, %w, %w};\n");
    bc_text_printf(t, "%s%s%s%s", faults & NO_WAIT_ST ? "" : "tcgen05.wait::st.sync.aligned;\n",
                   faults & NO_BEFORE ? "" : "tcgen05.fence::before_thread_sync;\n",
                   x->group == 2 ? "barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;\n" : "bar.sync 0;\n",
                   faults & NO_AFTER ? "" : "tcgen05.fence::after_thread_sync;\n");
}

/* tcgen05.cp of one matrix of 32 rows of 16 bytes in rows of 8 below each other. */
static void write_scales(bc_text *t, const example *x)
{
    for (unsigned i = 0; i < 4; i++) /* A, then B from 1024 bytes on */
        bc_text_printf(
            t,
            "add.u32 %%r0, %%s, %u; shr.u32 %%r0, %%r0, 4; cvt.u64.u32 %%d0, %%r0; or.b64 %%d0, %%d0, 0x%llx;\n"
            "add.u32 %%r1, %%tm, %u; @%%p3 tcgen05.cp.cta_group::%u.32x128b.warpx4 [%%r1], %%d0;\n",
            SCALES_AT + 512 * i,
            (unsigned long long)(UINT64_C(1) << 46 | UINT64_C(128) / 16 << 32 | UINT64_C(128) / 16 << 16),
            SCALE_COLUMN + 4 * i, x->group);
}

static void write_product(bc_text *t, const example *x, const variant *v)
{
    char a[40], scales[40] = "";
    snprintf(a, sizeof a, x->a_in_lanes ? "[%%r3]" : "%%da");
    if (x->scale_vec)
        snprintf(scales, sizeof scales, ", [%%tm+%u], [%%tm+264]", v->faults & SCALES_ELSEWHERE ? 0x200100u : 0x100u);
    bc_text_printf(
        t,
        "shr.u32 %%r0, %%s, 4; cvt.u64.u32 %%da, %%r0; add.u64 %%db, %%da, %u; or.b64 %%da, %%da, 0x%llx; or.b64 "
        "%%db, %%db, 0x%llx; mov.u32 %%r2, 0x%08x; add.u32 %%r3, %%tm, 256;\n"
        "and.b32 %%r0, %%rk, 1; setp.eq.and.u32 %%p3, %%r0, 0, %%p0;\n%s",
        B_AT / 16u, (unsigned long long)(descriptor_of(x, false) ^ v->a_xor),
        (unsigned long long)descriptor_of(x, true), instruction_of(x) ^ v->shape_xor,
        v->faults & ALL_THREADS ? "setp.eq.u32 %p3, %w, 0;\n" : "");
    if (x->scale_vec && !(v->faults & SCALES_DIFFER))
        write_scales(t, x);
    for (unsigned i = 0; i < 2; i++)
        bc_text_printf(t, "@%%p3 tcgen05.mma%s.cta_group::%u.%s [%%tm%s], %s, %%db, %%r2%s, %s;\n", x->ws ? ".ws" : "",
                       x->group, x->kind, v->faults & NOT_ALLOCATED ? "+480" : "", a, scales,
                       i || v->faults & NO_INIT ? "!%p5" : "%p5");
    if (x->scale_vec)
        bc_text_puts(t, "// scales lie behind D\n");
    if (!(v->faults & NO_COMMIT))
        bc_text_printf(t,
                       "mov.b16 %%h, 3; @%%p3 tcgen05.commit.cta_group::%u.mbarrier::arrive::one.shared::cluster%s.b64 "
                       "[sm+%u]%s;\n",
                       v->faults & OTHER_GROUP ? 3 - x->group : x->group, x->group == 2 ? ".multicast::cluster" : "",
                       BARRIER_AT + (v->faults & OTHER_BARRIER ? 8u : 0u), x->group == 2 ? ", %h" : "");
    if (v->faults & OVERWRITES && x->a_in_lanes)
        bc_text_puts(t, "tcgen05.st.sync.aligned.32x32b.x1.b32 [%ln+256], {%z}; tcgen05.wait::st.sync.aligned;\n");
    else if (v->faults & OVERWRITES)
        bc_text_puts(t, "shl.b32 %r0, %t, 4; add.u32 %r0, %r0, %s; bar.sync 0; st.shared.u32 [%r0], 77;\n");
    if (!(v->faults & (NO_WAIT_COMMIT | NO_COMMIT)))
        bc_text_printf(t, "W: mbarrier.try_wait.parity.shared::cta.b64 %%p4, [sm+%u], 0; @!%%p4 bra W;\n",
                       (unsigned)BARRIER_AT);
    if (!(v->faults & NO_AFTER_COMMIT))
        bc_text_puts(t, "tcgen05.fence::after_thread_sync;\n");
}

static void write_end(bc_text *t, const example *x, unsigned faults)
{
    bc_text_puts(t, "mul.lo.u32 %i, %t, 1024; cvt.u64.u32 %d1, %i; add.u64 %d1, %d1, %o;\n");
    if (faults & OTHER_LANES)
        bc_text_puts(t, "xor.b32 %ln, %ln, 0x200000;\n");
    for (unsigned column = 0; column < COLUMNS; column += 32) {
        bc_text_printf(t, "tcgen05.ld.sync.aligned.32x32b.x32.b32 {");
        for (unsigned i = 0; i < 32; i++)
            bc_text_printf(t, "%s%%v%u", i ? ", " : "", i);
        bc_text_printf(t, "}, [%%ln+%u];\n%s", column, faults & NO_WAIT_LD ? "" : "tcgen05.wait::ld.sync.aligned;\n");
        for (unsigned i = 0; i < 32; i++)
            bc_text_printf(t, "st.global.u32 [%%d1+%u], %%v%u;\n", 4 * (column + i), i);
    }
    if (faults & NO_WAIT_LD)
        bc_text_puts(t, "tcgen05.wait::ld.sync.aligned;\n");
    bc_text_puts(t, "tcgen05.fence::before_thread_sync;\n");
    bc_text_puts(t,
                 x->group == 2 ? "barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;\n" : "bar.sync 0;\n");
    if (!(faults & NO_DEALLOC))
        bc_text_printf(t, "@%%p1 tcgen05.dealloc.cta_group::%u.sync.aligned.b32 %%tm, 512;\n", x->group);
    bc_text_puts(t, "ret;\n}\n");
}

static void write_kernel(bc_text *t, const example *x, const variant *v)
{
    bc_text_init(t, NULL);
    write_start(t, x, v->faults);
    write_init(t, x, v->faults);
    write_product(t, x, v);
    write_end(t, x, v->faults);
}

/* ---- running ---- */

static uint32_t results[2][LANES][COLUMNS];

static bool run(ptxsim *sim, const example *x, uint64_t seed)
{
    static uint8_t images[2][IMAGE];
    memset(results, 0xEE, sizeof results);
    for (unsigned block = 0; block < x->group; block++)
        make_image(x, block, images[block]);
    uint64_t from = ptxsim_buffer_add(sim, images, sizeof images, "p"),
             to = ptxsim_buffer_add(sim, results, sizeof results, "q");
    ptxsim_launch launch = {.entry = "k",
                            .grid = {x->group, 1, 1},
                            .params = (const void *const[]){&from, &to},
                            .seed = seed};
    bool fine = ptxsim_run(sim, &launch);
    ptxsim_buffers_clear(sim);
    return fine;
}

/* Where the ISA's layouts of D have an element: block, lane and column. */
static void find(const example *x, unsigned row, unsigned column, unsigned *block, unsigned *lane, unsigned *at)
{
    unsigned rows = x->m / x->group, groups = x->ws || x->group == 2 ? LANES / rows : 1, per = x->n / groups;
    *block = row / rows;
    *lane = row % rows + column / per * rows;
    *at = column % per;
    if (x->m == 64 && !x->ws)
        *lane = row / 16 * 32 + row % 16;
}

static double number(const example *x, uint32_t word)
{
    float f32;
    if (x->d == D_S32)
        return (double)(int32_t)word;
    if (x->d == D_F16)
        return bc_f16_to_f32((uint16_t)word);
    memcpy(&f32, &word, sizeof f32);
    return f32;
}

static void check_example(const example *x)
{
    char error[300];
    static const variant right = {.name = "right"};
    bc_text text;
    write_kernel(&text, x, &right);
    ptxsim *sim = ptxsim_load(text.ptr, text.len, error, sizeof error);
    CHECK_MSG(sim, "%s: %s", x->kind, error);
    CHECK(harness_ptxas(text.ptr, text.len, "sm_100a"));
    for (uint64_t seed = 0; sim && seed < 2; seed++) {
        bool fine = run(sim, x, seed);
        CHECK_MSG(fine, "%s m%un%u: %s", x->kind, x->m, x->n, ptxsim_report_text(sim));
        for (unsigned row = 0; row < x->m && fine; row++)
            for (unsigned column = 0; column < x->n; column++) {
                unsigned block, lane, at;
                find(x, row, column, &block, &lane, &at);
                double got = number(x, results[block][lane][at]), wanted = expected(x, row, column);
                CHECK_MSG(got == wanted, "%s m%un%uk%u: row %u, column %u: %g, not %g", x->kind, x->m, x->n, x->k, row,
                          column, got, wanted);
            }
    }
    ptxsim_free(sim);
    bc_text_release(&text);
}

/* ---- faults ---- */

#define START_BIT(n) (UINT64_C(1) << (n))
static const variant variants[] = {
    {"no tcgen05.wait::st", NO_WAIT_ST, PTXSIM_TENSOR_MEMORY, "no tcgen05.wait::st", 0, 0, 0},
    {"no fence before the barrier", NO_BEFORE, PTXSIM_TENSOR_MEMORY, "fence::before_thread_sync", 0, 0, 0},
    {"no fence behind the barrier", NO_AFTER, PTXSIM_TENSOR_MEMORY, "fence::after_thread_sync", 0, 0, 0},
    {"no proxy fence", NO_PROXY, PTXSIM_WGMMA, "fence.proxy.async", 0, 0, 0},
    {"nobody waits for the commit", NO_WAIT_COMMIT, PTXSIM_TENSOR_MEMORY, "no commit was waited for", 0, 0, 0},
    {"no fence behind that wait", NO_AFTER_COMMIT, PTXSIM_TENSOR_MEMORY, "fence::after_thread_sync", 0, 0, 0},
    {"no tcgen05.wait::ld", NO_WAIT_LD, PTXSIM_TENSOR_MEMORY, "before tcgen05.wait::ld", 0, 0, 0},
    {"no dealloc", NO_DEALLOC, PTXSIM_TENSOR_MEMORY, "not deallocated 512 columns", 0, 0, 0},
    {"no commit", NO_COMMIT | NO_WAIT_COMMIT, PTXSIM_TENSOR_MEMORY, "no commit has followed", 0, 0, 0},
    {"a commit of another cta_group", OTHER_GROUP, PTXSIM_TENSOR_MEMORY, "has another cta_group than", 0, 0, 0},
    {"an operand is overwritten", OVERWRITES, PTXSIM_ASYNC, "has been written since", 0, 0, 0},
    {"32 threads issue it", ALL_THREADS, PTXSIM_TENSOR_MEMORY, "one thread does", 0, 0, 0},
    {"96 columns", ODD_COLUMNS, PTXSIM_TENSOR_MEMORY, "powers of two from 32 to 512", 0, 0, 0},
    {"alloc behind relinquish", ALLOC_LATE, PTXSIM_TENSOR_MEMORY, "has relinquished", 0, 0, 0},
    {"lanes of another warp", OTHER_LANES, PTXSIM_TENSOR_MEMORY, "reaches lanes", 0, 0, 0},
    {"columns that are not there", NOT_ALLOCATED, PTXSIM_TENSOR_MEMORY, "are not allocated", 0, 0, 0},
    {"a sum that nobody has begun", NO_INIT, PTXSIM_TENSOR_MEMORY, "nothing has written", 0, 0, 0},
    {"a commit at another mbarrier", OTHER_BARRIER, PTXSIM_DEADLOCK, "for ever", 0, 0, 0},
    {"reserved bits of a descriptor", 0, PTXSIM_DESCRIPTOR, "reserved bits 14 and 15", START_BIT(14), 0, 0},
    {"its constant", 0, PTXSIM_DESCRIPTOR, "constant (bits 46 to 48)", START_BIT(47), 0, 0},
    {"its base offset", 0, PTXSIM_DESCRIPTOR, "matrix base offset", START_BIT(49), 0, 0},
    {"its swizzling mode", 0, PTXSIM_DESCRIPTOR, "swizzling mode", START_BIT(61), 0, 0},
    {"sparsity", 0, PTXSIM_DESCRIPTOR, "sparsity", 0, 1 << 2, 0},
    {"the type of A", 0, PTXSIM_DESCRIPTOR, "type of A", 0, 7 << 7, 0},
    {"the type of D", 0, PTXSIM_DESCRIPTOR, "type of D", 0, 3 << 4, 0},
    {"types of A and B", 0, PTXSIM_DESCRIPTOR, "type of B", 0, 1 << 10, 0},
    {"M", 0, PTXSIM_DESCRIPTOR, "as its M", 0, 1 << 24, 0},
    {"N", 0, PTXSIM_DESCRIPTOR, "as its N", 0, 1 << 17, 0},
    {"A in tensor memory, transposed", 0, PTXSIM_DESCRIPTOR, "A in tensor memory with", 0, 1 << 15, A_IN_LANES},
    {"a left operand is overwritten", OVERWRITES, PTXSIM_TENSOR_MEMORY, "may still be reading", 0, 0, A_IN_LANES},
    {"scales from another lane on", SCALES_ELSEWHERE, PTXSIM_TENSOR_MEMORY, "scales begin in lane 0", 0, 0, SCALED},
    {"scales that differ between lanes", SCALES_DIFFER, PTXSIM_TENSOR_MEMORY, "not the same in all quarters", 0, 0,
     SCALED},
    {"scales that differ between blocks", SCALES_OF_OTHERS, PTXSIM_TENSOR_MEMORY, "not the same in both blocks", 0, 0,
     SCALED_PAIR},
    {"N of a pair of bytes", 0, PTXSIM_DESCRIPTOR, "as its N", 0, 2 << 17, BYTES_OF_PAIR},
};

static bool is_reported(const ptxsim *sim, const variant *v)
{
    for (size_t i = 0; i < ptxsim_report_count(sim); i++)
        if ((int)ptxsim_report_at(sim, i)->check == v->check && strstr(ptxsim_report_at(sim, i)->text, v->says))
            return true;
    return false;
}

static void check_variant(const variant *v)
{
    char error[300];
    bc_text text;
    write_kernel(&text, &examples[v->of], v);
    ptxsim *sim = ptxsim_load(text.ptr, text.len, error, sizeof error);
    CHECK_MSG(sim, "%s: %s", v->name, error);
    if (sim) {
        bool fine = run(sim, &examples[v->of], 3);
        CHECK_MSG(!fine && is_reported(sim, v), "%s: %s", v->name, ptxsim_report_text(sim));
    }
    ptxsim_free(sim);
    bc_text_release(&text);
}

int main(void)
{
    for (size_t i = 0; i < sizeof examples / sizeof *examples; i++)
        check_example(&examples[i]);
    for (size_t i = 0; i < sizeof variants / sizeof *variants; i++)
        check_variant(&variants[i]);
    return TEST_END("ptxsim_tcgen05");
}
