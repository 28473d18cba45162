/* The simulator's instructions of a whole warp: exchanges, matrices, copies to shared memory. What each row gives for
   fixed inputs was read from an H200; the table holds a checksum of it. */
#include <stdlib.h>
#include <string.h>

#include "bytecode/number/number.h"
#include "tests/ptxsim/harness.h"
#include "tests/unit/test.h"

enum { LANES = 32, INPUTS = 16, OUTPUTS = 8, WORDS = 2048 };

/* A lane finds words of its own in %r0 to %r15 and leaves results in %o0 to %o7, which are 0 before. 2 KB of shared
   memory (%sh) hold random words. `kinds` has a letter for each input: w any bits; h f16, b bf16, t tf32, f f32, 4
   e4m3, 5 e5m2, dd (two words) f64: small integers, so that sums are exact in any order. */
typedef struct row {
    const char *kinds, *text;
    uint32_t expected;
} row;

#define A4 "{%r0,%r1,%r2,%r3}"
#define A2 "{%r0,%r1}"
#define B4 "{%r4,%r5,%r6,%r7}"
#define B2 "{%r4,%r5}"
#define C4 "{%r8,%r9,%r10,%r11}"
#define C2 "{%r8,%r9}"
#define D4 "{%o0,%o1,%o2,%o3}"
#define D2 "{%o0,%o1}"
#define MMA(kinds, shape, types, d, a, b, c, expected)                                              \
    {                                                                                               \
        kinds, "mma.sync.aligned." shape ".row.col." types " " d ", " a ", " b ", " c ";", expected \
    }

#define TO64(n, low, high) "mov.b64 %a" #n ", {%r" #low ", %r" #high "}; "

static const row rows[] = {
    {"www", "shfl.sync.bfly.b32 %o0|%p0, %r0, 5, 31, -1; selp.u32 %o1, 1, 0, %p0;", 0x81b9c5a7},
    {"www", "shfl.sync.up.b32 %o0|%p0, %r0, 3, 0, -1; selp.u32 %o1, 1, 0, %p0;", 0x86a7fce0},
    {"www", "shfl.sync.down.b32 %o0|%p0, %r0, 3, 31, -1; selp.u32 %o1, 1, 0, %p0;", 0x71253724},
    {"www", "shfl.sync.idx.b32 %o0|%p0, %r0, %r1, 31, -1; selp.u32 %o1, 1, 0, %p0;", 0xf1e80e4c},
    {"www", "shfl.sync.idx.b32 %o0|%p0, %r0, 9, 0x181F, -1; selp.u32 %o1, 1, 0, %p0;", 0x4f21b7a5},
    {"www", "shfl.sync.up.b32 %o0|%p0, %r0, 2, 0x1800, -1; selp.u32 %o1, 1, 0, %p0;", 0x5c5af59d},
    {"www", "shfl.sync.down.b32 %o0|%p0, %r0, 2, 0x1C03, -1; selp.u32 %o1, 1, 0, %p0;", 0xc9eb9a7d},
    {"www", "shfl.sync.bfly.b32 %o0|%p0, %r0, 9, 0x1007, -1; selp.u32 %o1, 1, 0, %p0;", 0x4c1eb271},
    {"www",
     "and.b32 %r0, %r0, 1; setp.ne.u32 %p0, %r0, 0; vote.sync.ballot.b32 %o0, %p0, -1; vote.sync.all.pred %p1, %p0, -1;"
     "selp.u32 %o1, 1, 0, %p1; vote.sync.any.pred %p1, %p0, -1; selp.u32 %o2, 1, 0, %p1; vote.sync.uni.pred %p1, %p0, "
     "-1;"
     "selp.u32 %o3, 1, 0, %p1; vote.sync.ballot.b32 %o4, !%p0, -1;",
     0x76606c45},
    {"www",
     "and.b32 %r0, %r0, 3; match.any.sync.b32 %o0, %r0, -1; match.all.sync.b32 %o1|%p0, %r0, -1; selp.u32 %o2, 1, 0, "
     "%p0;"
     "match.all.sync.b32 %o3|%p0, 7, -1; selp.u32 %o4, 1, 0, %p0;",
     0x4a0323d5},
    {"www",
     "redux.sync.add.u32 %o0, %r0, -1; redux.sync.min.s32 %o1, %r0, -1; redux.sync.max.u32 %o2, %r0, -1;"
     "redux.sync.and.b32 %o3, %r0, -1; redux.sync.or.b32 %o4, %r0, -1; redux.sync.xor.b32 %o5, %r0, -1;"
     "redux.sync.min.u32 %o6, %r0, -1; redux.sync.max.s32 %o7, %r0, -1;",
     0xe12e25c5},
    {"www", "setp.lt.u32 %p1, %t, 20; activemask.b32 %o0; elect.sync %o1|%p0, -1; selp.u32 %o2, 1, 0, %p0;",
     0x5b7fce64},
    {"www",
     "setp.lt.u32 %p1, %t, 20; @%p1 bra A; shfl.sync.bfly.b32 %o0, %r0, 1, 31, 0xFFF00000; bra B;"
     "A: redux.sync.add.s32 %o1, %r0, 0x000FFFFF; B: bar.warp.sync -1; shfl.sync.bfly.b32 %o2, %r0, 16, 31, -1;",
     0x6dacc2c0},
    {"www", "movmatrix.sync.aligned.m8n8.trans.b16 %o0, %r0;", 0xa37700b7},

    {"www", "shl.b32 %r1, %t, 4; add.u32 %r1, %r1, %sh; ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%o0}, [%r1];",
     0x031033c0},
    {"www", "shl.b32 %r1, %t, 5; add.u32 %r1, %r1, %sh; ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%o0,%o1}, [%r1+16];",
     0x398ebab6},
    {"www",
     "xor.b32 %r1, %t, 13; shl.b32 %r1, %r1, 5; add.u32 %r1, %r1, %sh;"
     "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%o0,%o1,%o2,%o3}, [%r1];",
     0x6b99776f},
    {"www",
     "xor.b32 %r1, %t, 13; shl.b32 %r1, %r1, 5; add.u32 %r1, %r1, %sh;"
     "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%o0,%o1,%o2,%o3}, [%r1];",
     0x47dd94f7},
    {"wwww",
     "xor.b32 %r4, %t, 9; shl.b32 %r4, %r4, 4; add.u32 %r4, %r4, %sh;"
     "stmatrix.sync.aligned.m8n8.x4.shared.b16 [%r4], {%r0,%r1,%r2,%r3}; bar.warp.sync -1; shl.b32 %r5, %t, 4;"
     "add.u32 %r5, %r5, %sh; ld.shared.v4.u32 {%o0,%o1,%o2,%o3}, [%r5];",
     0xd8f9af9b},
    {"wwww",
     "xor.b32 %r4, %t, 9; shl.b32 %r4, %r4, 4; add.u32 %r4, %r4, %sh;"
     "stmatrix.sync.aligned.m8n8.x2.trans.shared.b16 [%r4], {%r0,%r1}; bar.warp.sync -1; shl.b32 %r5, %t, 4;"
     "add.u32 %r5, %r5, %sh; ld.shared.v4.u32 {%o0,%o1,%o2,%o3}, [%r5];",
     0xc9f9ff36},

    MMA("hhhhhhhhffff", "m16n8k16", "f32.f16.f16.f32", D4, A4, B2, C4, 0x566203b8),
    MMA("hhhhhhhhffff", "m16n8k8", "f32.f16.f16.f32", D4, A2, "{%r4}", C4, 0xe31945c9),
    MMA("hhhhhhhhhh", "m16n8k16", "f16.f16.f16.f16", D2, A4, B2, C2, 0x4b178d75),
    MMA("hhhhhhhhhh", "m16n8k8", "f16.f16.f16.f16", D2, A2, "{%r4}", C2, 0x8386e6df),
    MMA("bbbbbbbbffff", "m16n8k16", "f32.bf16.bf16.f32", D4, A4, B2, C4, 0x566203b8),
    MMA("bbbbbbbbffff", "m16n8k8", "f32.bf16.bf16.f32", D4, A2, "{%r4}", C4, 0xe31945c9),
    MMA("ttttttttffff", "m16n8k8", "f32.tf32.tf32.f32", D4, A4, B2, C4, 0x44c922d2),
    MMA("ttttttttffff", "m16n8k4", "f32.tf32.tf32.f32", D4, A2, "{%r4}", C4, 0xd56eb307),
    MMA("44444444ffff", "m16n8k32", "f32.e4m3.e4m3.f32", D4, A4, B2, C4, 0x05035808),
    MMA("44445555ffff", "m16n8k32", "f32.e4m3.e5m2.f32", D4, A4, B2, C4, 0x05035808),
    MMA("55554444hhhh", "m16n8k32", "f16.e5m2.e4m3.f16", D2, A4, B2, C2, 0x47979c06),
    MMA("55555555ffff", "m16n8k16", "f32.e5m2.e5m2.f32", D4, A2, "{%r4}", C4, 0x81e50b22),
    MMA("wwwwwwwwwwww", "m16n8k32", "s32.s8.s8.s32", D4, A4, B2, C4, 0x832c12d2),
    MMA("wwwwwwwwwwww", "m16n8k32", "s32.u8.s8.s32", D4, A4, B2, C4, 0x0d2b9e02),
    MMA("wwwwwwwwwwww", "m16n8k16", "s32.s8.u8.s32", D4, A2, "{%r4}", C4, 0x9e638725),
    MMA("wwwwwwwwwwww", "m8n8k16", "s32.u8.u8.s32", D2, "{%r0}", "{%r4}", C2, 0xd88c3e26),
    {"wwwwwwwwwwww", "mma.sync.aligned.m16n8k32.row.col.satfinite.s32.s8.s8.s32 " D4 ", " A4 ", " B2 ", " C4 ";",
     0x832c12d2},
    MMA("wwwwwwwwwwww", "m16n8k64", "s32.s4.s4.s32", D4, A4, B2, C4, 0xce70ce44),
    MMA("wwwwwwwwwwww", "m16n8k32", "s32.u4.s4.s32", D4, A2, "{%r4}", C4, 0x174a5fc2),
    MMA("wwwwwwwwwwww", "m8n8k32", "s32.s4.u4.s32", D2, "{%r0}", "{%r4}", C2, 0xedc9d2e7),
    {"wwwwwwwwwwww", "mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.and.popc " D4 ", " A4 ", " B2 ", " C4 ";",
     0x994b5c80},
    {"wwwwwwwwwwww", "mma.sync.aligned.m16n8k128.row.col.s32.b1.b1.s32.and.popc " D4 ", " A2 ", {%r4}, " C4 ";",
     0xc00e3dcc},
    {"wwwwwwwwwwww", "mma.sync.aligned.m8n8k128.row.col.s32.b1.b1.s32.xor.popc " D2 ", {%r0}, {%r4}, " C2 ";",
     0x7e12142a},
    {"dddddddddddddddd",
     "{ .reg .f64 %a<8>, %e<4>; " TO64(0, 0, 1) TO64(1, 2, 3) TO64(2, 4, 5) TO64(3, 6, 7) TO64(4, 8, 9) TO64(5, 10, 11)
         TO64(6, 12, 13)
             TO64(7, 14,
                  15) "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%e0,%e1}, {%a0}, {%a1}, {%a2,%a3};"
                      " mov.b64 {%o0, %o1}, %e0; mov.b64 {%o2, %o3}, %e1;"
                      "mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 {%e0,%e1,%e2,%e3}, {%a0,%a1,%a2,%a3}, "
                      "{%a4,%a5}, {%a6,%a7,%a0,%a1};"
                      " mov.b64 {%o4, _}, %e0; mov.b64 {_, %o5}, %e1; mov.b64 {_, %o6}, %e2; mov.b64 {_, %o7}, %e3; }",
     0x59f8ce2a},
    {"dddddddddddddddd",
     "{ .reg .f64 %a<8>, %e<4>; " TO64(0, 0, 1) TO64(1, 2, 3) TO64(2, 4, 5) TO64(3, 6, 7) TO64(4, 8, 9) TO64(5, 10, 11)
         TO64(6, 12, 13) TO64(7, 14, 15) "mma.sync.aligned.m16n8k16.row.col.f64.f64.f64.f64 {%e0,%e1,%e2,%e3}, "
                                         "{%a0,%a1,%a2,%a3,%a4,%a5,%a6,%a7}, {%a1,%a3,%a5,%a7}, {%a6,%a7,%a0,%a1};"
                                         " mov.b64 {%o0, %o1}, %e0; mov.b64 {%o2, %o3}, %e1; mov.b64 {%o4, %o5}, %e2; "
                                         "mov.b64 {%o6, %o7}, %e3; }",
     0x10ead8cf},

    {"www",
     "cp.async.ca.shared.global [%own], [%base], 16; cp.async.commit_group; cp.async.wait_group 0; bar.sync 0; xor.b32 "
     "%r1, %own, 48;"
     "ld.shared.v4.u32 {%o0,%o1,%o2,%o3}, [%r1];",
     0x3b44ecc5},
    {"www",
     "cp.async.cg.shared.global.L2::128B [%own], [%base], 16, 12; cp.async.wait_all; ld.shared.v4.u32 "
     "{%o0,%o1,%o2,%o3}, [%own];",
     0xaff591c5},
    {"www",
     "setp.lt.u32 %p0, %t, 9; cp.async.ca.shared.global [%own], [%base], 8, %p0; cp.async.wait_all;"
     "ld.shared.v4.u32 {%o0,%o1,%o2,%o3}, [%own];",
     0x71b66d59},
    {"www",
     "add.u32 %r1, %sh, 1024; setp.eq.u32 %p0, %t, 0; @%p0 mbarrier.init.shared.b64 [%r1], 32; bar.sync 0; "
     "st.shared.u32 [%own], %r0;"
     "mbarrier.arrive.shared.b64 %d0, [%r1]; W: mbarrier.test_wait.shared.b64 %p1, [%r1], %d0; @!%p1 bra W;"
     "xor.b32 %r2, %own, 16; ld.shared.u32 %o0, [%r2]; mbarrier.arrive.shared.b64 %d0, [%r1];"
     "V: mbarrier.try_wait.parity.shared.b64 %p1, [%r1], 1; @!%p1 bra V; st.shared.u32 [%own], 5; ld.shared.u32 %o1, "
     "[%own];",
     0x2eb9ecd3},
    {"www",
     "add.u32 %r1, %sh, 1024; setp.eq.u32 %p0, %t, 0; @%p0 mbarrier.init.shared.b64 [%r1], 1; bar.sync 0;"
     "@%p0 mbarrier.arrive.expect_tx.shared.b64 %d0, [%r1], 768;"
     "@%p0 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%sh], [%base], 512, [%r1];"
     "@%p0 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%sh+512], [%base+1024], 256, [%r1];"
     "V: mbarrier.try_wait.parity.shared.b64 %p1, [%r1], 0; @!%p1 bra V; ld.shared.v4.u32 {%o0,%o1,%o2,%o3}, [%own];"
     "ld.shared.u32 %o4, [%own+256];",
     0xa6bea22f},
    {"www",
     "st.shared.u32 [%own], %r0; fence.proxy.async.shared::cta; bar.sync 0; setp.eq.u32 %p0, %t, 0;"
     "@%p0 cp.async.bulk.global.shared::cta.bulk_group [%base+4096], [%sh], 512; @%p0 cp.async.bulk.commit_group;"
     "@%p0 cp.async.bulk.wait_group 0; bar.sync 0; ld.global.v4.u32 {%o0,%o1,%o2,%o3}, [%mine+4096]; bar.sync 0;",
     0x5801c152},
    {"www",
     "and.b32 %r1, %r0, 28; add.u32 %r1, %r1, %sh; atom.shared.add.u32 %r2, [%r1], %r0; bar.sync 0; ld.shared.u32 %o0, "
     "[%own];",
     0x14190db1},
    {"www",
     "and.b32 %r1, %r0, 28; add.u32 %r1, %r1, %sh; red.shared.max.s32 [%r1], %r2; red.shared.xor.b32 [%r1+256], %r0; "
     "bar.sync 0;"
     "ld.shared.u32 %o0, [%own]; ld.shared.u32 %o1, [%own+256];",
     0x7685dfa3},
};
enum { ROWS = sizeof rows / sizeof *rows };

/* ---- inputs ---- */

static uint32_t next_random(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

/* A small integer as a pattern of a float kind. */
static uint32_t small(bc_kind kind, uint32_t *state)
{
    return (uint32_t)bc_float_round(kind, (double)(next_random(state) % 9) - 4, BC_RoundingMode_nearest_even);
}

static uint32_t packed(bc_kind kind, unsigned bits, uint32_t *state)
{
    uint32_t word = 0;
    for (unsigned place = 0; place < 32; place += bits)
        word |= small(kind, state) << place;
    return word;
}

static uint32_t input(char kind, uint32_t *state)
{
    switch (kind) {
    case 'h': return packed(BC_F16, 16, state);
    case 'b': return packed(BC_BF16, 16, state);
    case 't':
    case 'f': return small(BC_F32, state);
    case '4': return packed(BC_F8E4M3FN, 8, state);
    case '5': return packed(BC_F8E5M2, 8, state);
    default: return next_random(state) ^ next_random(state) << 12;
    }
}

/* Words of the lanes, then those for shared memory. */
static void fill(const row *r, uint32_t *words)
{
    uint32_t state = 12345;
    for (unsigned lane = 0; lane < LANES; lane++)
        for (unsigned i = 0; i < INPUTS; i++) {
            uint32_t *word = &words[lane * INPUTS + i];
            char kind = i < strlen(r->kinds) ? r->kinds[i] : 'w';
            if (kind == 'd' && i % 2 == 0) {
                uint64_t bits =
                    bc_float_round(BC_F64, (double)(next_random(&state) % 9) - 4, BC_RoundingMode_nearest_even);
                word[0] = (uint32_t)bits;
                word[1] = (uint32_t)(bits >> 32);
            } else if (kind != 'd') {
                *word = input(kind, &state);
            }
        }
    for (unsigned i = LANES * INPUTS; i < LANES * INPUTS + 512; i++)
        words[i] = input('w', &state);
}

/* ---- kernels ---- */

static void write_row(bc_text *t, unsigned index)
{
    bc_text_printf(
        t,
        ".visible .entry k%u(.param .u64 p) .reqntid 32\n{\n.reg .b64 %%base, %%mine, %%d<2>;\n.reg .b32 %%t, %%own, "
        "%%sh, %%r<16>, "
        "%%o<8>;\n.reg .pred %%p<4>;\n.shared .align 128 .b8 buf[2048];\nld.param.u64 %%base, [p];\nmov.u32 %%t, "
        "%%tid.x;\n"
        "mov.u32 %%sh, buf;\nshl.b32 %%own, %%t, 4;\nadd.u32 %%own, %%own, %%sh;\nmul.wide.u32 %%mine, %%t, 64;\n"
        "add.u64 %%mine, %%mine, %%base;\n",
        index);
    for (unsigned i = 0; i < 4; i++)
        bc_text_printf(t,
                       "ld.global.v4.u32 {%%r0,%%r1,%%r2,%%r3}, [%%mine+%u];\nst.shared.v4.u32 [%%own+%u], "
                       "{%%r0,%%r1,%%r2,%%r3};\n",
                       LANES * INPUTS * 4 + 16 * i, 512 * i);
    for (unsigned i = 0; i < INPUTS; i++)
        bc_text_printf(t, "ld.global.u32 %%r%u, [%%mine+%u];\n", i, 4 * i);
    for (unsigned i = 0; i < OUTPUTS; i++)
        bc_text_printf(t, "mov.u32 %%o%u, 0;\n", i);
    bc_text_printf(t, "bar.sync 0;\n%s\n", rows[index].text);
    for (unsigned i = 0; i < OUTPUTS; i++)
        bc_text_printf(t, "st.global.u32 [%%mine+%u], %%o%u;\n", LANES * INPUTS * 4 + 2048 + 4 * i, i);
    bc_text_puts(t, "ret;\n}\n");
}

static uint32_t checksum(const uint32_t *words)
{
    uint32_t hash = 2166136261u;
    for (unsigned lane = 0; lane < LANES; lane++)
        for (unsigned i = 0; i < OUTPUTS * 4; i++)
            hash = (hash ^ ((const unsigned char *)&words[LANES * INPUTS + 512 + lane * INPUTS])[i]) * 16777619u;
    return hash;
}

/* Block scaling: row r of A is scaled by 2^(r % 4), column c of B by 2^-(c % 2); without scales the product is the
   plain one. */
static void check_block_scale(void)
{
    static uint32_t words[WORDS];
    static const row r = {"44444444ffff", "", 0};
    char error[256];
    bc_text text;
    bc_text_init(&text, NULL);
    bc_text_puts(&text,
                 ".version 8.8\n.target sm_120a\n.address_size 64\n.visible .entry k(.param .u64 p) .reqntid 32\n{\n"
                 ".reg .b64 %base, %mine;\n.reg .b32 %t, %q, %s, %u, %r<16>, %o<8>;\nld.param.u64 %base, [p];\nmov.u32 "
                 "%t, %tid.x;\n"
                 "mul.wide.u32 %mine, %t, 64;\nadd.u64 %mine, %mine, %base;\n");
    for (unsigned i = 0; i < 12; i++)
        bc_text_printf(&text, "ld.global.u32 %%r%u, [%%mine+%u];\n", i, 4 * i);
    /* lane % 4 is 0 for rows below 8, 1 for the others; 2 holds the columns */
    bc_text_puts(
        &text,
        "shr.u32 %q, %t, 2;\nand.b32 %s, %q, 3;\nadd.u32 %s, %s, 127;\nand.b32 %u, %q, 1;\nsub.u32 %u, 127, %u;\n");
    bc_text_puts(&text, "mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32 " D4 ", " A4 ", " B2 ", " C4 ";\n"
                        "mma.sync.aligned.m16n8k32.row.col.kind::mxf8f6f4.block_scale.scale_vec::1X.f32.e4m3.e4m3.f32."
                        "ue8m0 {%o4,%o5,%o6,%o7}, " A4 ", " B2 ", " C4 ", %s, {0, 0}, %u, {0, 2};\n");
    for (unsigned i = 0; i < OUTPUTS; i++)
        bc_text_printf(&text, "st.global.u32 [%%mine+%u], %%o%u;\n", LANES * INPUTS * 4 + 2048 + 4 * i, i);
    bc_text_puts(&text, "ret;\n}\n");
    ptxsim *sim = ptxsim_load(text.ptr, text.len, error, sizeof error);
    CHECK_MSG(sim != NULL, "%s", error);
    fill(&r, words);
    uint64_t address = sim ? ptxsim_buffer_add(sim, words, sizeof words, "p") : 0;
    ptxsim_launch launch = {.grid = {1, 1, 1}, .params = (const void *const[]){&address}};
    CHECK(sim && ptxsim_run(sim, &launch));
    for (unsigned lane = 0; lane < LANES; lane++)
        for (unsigned i = 0; i < 4; i++) {
            const uint32_t *own = &words[LANES * INPUTS + 512 + lane * INPUTS];
            unsigned line = lane / 4, column = lane % 4 * 2 + (i & 1);
            double c = bc_float_value(BC_F32, words[lane * INPUTS + 8 + i]),
                   scale = (double)(1u << line % 4) / (double)(1u << column % 2);
            double plain = bc_float_value(BC_F32, own[i]), scaled = bc_float_value(BC_F32, own[4 + i]);
            CHECK_MSG(scaled - c == (plain - c) * scale, "lane %u register %u: %g for %g times %g", lane, i, scaled - c,
                      plain - c, scale);
        }
    CHECK(harness_ptxas(text.ptr, text.len, "sm_120a"));
    ptxsim_free(sim);
    bc_text_release(&text);
}

int main(void)
{
    static uint32_t words[WORDS];
    bc_text text, inputs;
    char error[256];
    bc_text_init(&text, NULL);
    bc_text_init(&inputs, NULL);
    bc_text_puts(&text, ".version 8.7\n.target sm_90a\n.address_size 64\n");
    for (unsigned i = 0; i < ROWS; i++)
        write_row(&text, i);
    ptxsim *sim = ptxsim_load(text.ptr, text.len, error, sizeof error);
    CHECK_MSG(sim != NULL, "%s", error);
    for (unsigned i = 0; sim && i < ROWS; i++) {
        char name[16];
        snprintf(name, sizeof name, "k%u", i);
        memset(words, 0, sizeof words);
        fill(&rows[i], words);
        bc_text_bytes(&inputs, words, sizeof words);
        ptxsim_buffers_clear(sim);
        uint64_t address = ptxsim_buffer_add(sim, words, sizeof words, "p");
        ptxsim_launch launch = {.entry = name, .grid = {1, 1, 1}, .params = (const void *const[]){&address}, .seed = i};
        bool clean = ptxsim_run(sim, &launch);
        CHECK_MSG(clean, "%s: %s", rows[i].text, ptxsim_report_text(sim));
        CHECK_MSG(checksum(words) == rows[i].expected, "row %u: %s gives 0x%08x instead of 0x%08x", i, rows[i].text,
                  (unsigned)checksum(words), (unsigned)rows[i].expected);
    }
    CHECK(harness_ptxas(text.ptr, text.len, "sm_90a"));
    harness_dump("warp.ptx", text.ptr, text.len);
    harness_dump("warp.in", inputs.ptr, inputs.len);
    ptxsim_free(sim);
    bc_text_release(&text);
    bc_text_release(&inputs);
    check_block_scale();
    return TEST_END("ptxsim_warp");
}
