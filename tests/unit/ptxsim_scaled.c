/* The simulator's mma with block scaling, on 4-bit floats. Fragments, scales and selectors are laid out here by the
   formulas of the PTX ISA ("Matrix fragments for mma.m16n8k64", "Block scaling for mma.sync"); bytes that must not be
   read are NaN. */
#include <stdlib.h>
#include <string.h>

#include "bytecode/number/number.h"
#include "tests/ptxsim/harness.h"
#include "tests/unit/test.h"

enum {
    LANES = 32,
    M = 16,
    N = 8,
    K = 64,
    MOST_BLOCKS = 4,
    WORDS = 16 /* of a lane: a0 to a3, b0, b1, scales, then c and d */
};

typedef struct form {
    const char *text, *scale;
    unsigned blocks; /* of K with a scale */
    unsigned byte_a, thread_a, byte_b, thread_b;
    bool taken; /* by ptxas 13.0 */
} form;

#define MXF4 "kind::mxf4.block_scale.scale_vec::2X"
#define NVF4(n) "kind::mxf4nvf4.block_scale.scale_vec::" #n "X"

static const form forms[] = {
    {MXF4, "ue8m0", 2, 0, 0, 0, 0, true},     {MXF4, "ue8m0", 2, 2, 1, 2, 3, true},
    {MXF4, "ue8m0", 2, 0, 1, 2, 2, true},     {NVF4(2), "ue8m0", 2, 2, 0, 0, 1, true},
    {NVF4(4), "ue4m3", 4, 0, 0, 0, 0, true},  {NVF4(4), "ue4m3", 4, 0, 1, 0, 2, true},
    {NVF4(4), "ue8m0", 4, 0, 1, 0, 3, false}, /* PTX 9.1 */
};

/* Forms that there are not. */
static const form wrong[] = {
    {MXF4, "ue4m3", 2, 0, 0, 0, 0, false},    {"kind::mxf4.block_scale.scale_vec::4X", "ue8m0", 4, 0, 0, 0, 0, false},
    {NVF4(2), "ue4m3", 2, 0, 0, 0, 0, false}, {"kind::mxf4nvf4.block_scale", "ue8m0", 2, 0, 0, 0, 0, false},
    {MXF4, "ue8m0", 2, 1, 0, 0, 0, false},    {MXF4, "ue8m0", 2, 0, 2, 0, 0, false},
    {NVF4(4), "ue4m3", 4, 0, 0, 2, 0, false}, {NVF4(4), "ue4m3", 4, 0, 0, 0, 4, false},
};

typedef struct problem {
    uint8_t a[M][K], b[K][N], scale_a[M][MOST_BLOCKS], scale_b[MOST_BLOCKS][N]; /* patterns */
    float c[M][N];
} problem;

static uint32_t next_random(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

/* Scales are 1/4 to 4, or for e4m3 any of three bits of mantissa there. */
static uint8_t random_scale(const form *f, uint32_t *state)
{
    uint32_t r = next_random(state);
    return (uint8_t)(strcmp(f->scale, "ue8m0") == 0 ? 125 + r % 5 : (5 + r % 5) << 3 | (r >> 8 & 7));
}

static void make_problem(const form *f, uint32_t seed, problem *p)
{
    uint32_t state = seed;
    for (unsigned k = 0; k < K; k++) {
        for (unsigned i = 0; i < M; i++)
            p->a[i][k] = next_random(&state) & 15;
        for (unsigned j = 0; j < N; j++)
            p->b[k][j] = next_random(&state) & 15;
    }
    for (unsigned s = 0; s < MOST_BLOCKS; s++) {
        for (unsigned i = 0; i < M; i++)
            p->scale_a[i][s] = random_scale(f, &state);
        for (unsigned j = 0; j < N; j++)
            p->scale_b[s][j] = random_scale(f, &state);
    }
    for (unsigned i = 0; i < M; i++)
        for (unsigned j = 0; j < N; j++)
            p->c[i][j] = (float)(next_random(&state) % 64) - 32;
}

/* What lane `lane` has in its registers. */
static void put_lane(const form *f, const problem *p, unsigned lane, uint32_t words[WORDS])
{
    unsigned group = lane >> 2, thread = lane % 4;
    memset(words, 0, WORDS * sizeof *words);
    for (unsigned i = 0; i < 32; i++) {
        unsigned row = i < 8 || (i >= 16 && i < 24) ? group : group + 8, k = thread * 8 + (i & 7) + (i < 16 ? 0 : 32);
        words[i / 8] |= (uint32_t)p->a[row][k] << i % 8 * 4;
    }
    for (unsigned i = 0; i < 16; i++) {
        unsigned k = thread * 8 + (i & 7) + (i < 8 ? 0 : 32);
        words[4 + i / 8] |= (uint32_t)p->b[k][group] << i % 8 * 4;
    }
    uint32_t nan = strcmp(f->scale, "ue8m0") == 0 ? 0xFFFFFFFF : 0x7F7F7F7F;
    words[6] = words[7] = nan;
    for (unsigned s = 0; s < f->blocks; s++) {
        unsigned at_a = 8 * (f->byte_a + s), at_b = 8 * (f->byte_b + s);
        if (thread / 2 == f->thread_a) /* of this pair the first lane has the upper row, the second the lower one */
            words[6] = (words[6] & ~(0xFFu << at_a)) | (uint32_t)p->scale_a[group + thread % 2 * 8][s] << at_a;
        if (thread == f->thread_b)
            words[7] = (words[7] & ~(0xFFu << at_b)) | (uint32_t)p->scale_b[s][group] << at_b;
    }
    for (unsigned i = 0; i < 4; i++)
        memcpy(&words[8 + i], &p->c[i < 2 ? group : group + 8][thread * 2 + (i & 1)], 4);
}

static double expected(const form *f, const problem *p, unsigned row, unsigned column)
{
    bc_kind scale = strcmp(f->scale, "ue8m0") == 0 ? BC_F8E8M0FNU : BC_F8E4M3FN;
    double sum = p->c[row][column];
    for (unsigned k = 0; k < K; k++) {
        unsigned s = k / (K / f->blocks);
        sum += bc_float_value(BC_F4E2M1FN, p->a[row][k]) * bc_float_value(scale, p->scale_a[row][s])
               * bc_float_value(BC_F4E2M1FN, p->b[k][column]) * bc_float_value(scale, p->scale_b[s][column]);
    }
    return sum;
}

static void write_kernel(const form *f, bc_text *t)
{
    bc_text_puts(t, ".version 8.8\n.target sm_120a\n.address_size 64\n.visible .entry k(.param .u64 p) .reqntid 32\n{\n"
                    ".reg .b64 %base, %mine;\n.reg .b32 %t, %r<16>;\nld.param.u64 %base, [p];\nmov.u32 %t, %tid.x;\n"
                    "mul.wide.u32 %mine, %t, 64;\nadd.u64 %mine, %mine, %base;\n");
    for (unsigned i = 0; i < 12; i++)
        bc_text_printf(t, "ld.global.u32 %%r%u, [%%mine+%u];\n", i, 4 * i);
    bc_text_printf(
        t,
        "mma.sync.aligned.m16n8k64.row.col.%s.f32.e2m1.e2m1.f32.%s {%%r12,%%r13,%%r14,%%r15}, {%%r0,%%r1,%%r2,%%r3}, "
        "{%%r4,%%r5}, {%%r8,%%r9,%%r10,%%r11}, %%r6, {%u, %u}, {%%r7}, {%u, %u};\n",
        f->text, f->scale, f->byte_a, f->thread_a, f->byte_b, f->thread_b);
    for (unsigned i = 12; i < WORDS; i++)
        bc_text_printf(t, "st.global.u32 [%%mine+%u], %%r%u;\n", 4 * i, i);
    bc_text_puts(t, "ret;\n}\n");
}

static void check_form(const form *f, uint32_t seed)
{
    static uint32_t words[LANES][WORDS];
    problem p;
    char error[256] = "";
    bc_text text;
    bc_text_init(&text, NULL);
    write_kernel(f, &text);
    ptxsim *sim = ptxsim_load(text.ptr, text.len, error, sizeof error);
    CHECK_MSG(sim != NULL, "%s: %s", f->text, error);
    CHECK_MSG(!f->taken || harness_ptxas(text.ptr, text.len, "sm_120a"), "%s", f->text);
    make_problem(f, seed, &p);
    for (unsigned lane = 0; lane < LANES; lane++)
        put_lane(f, &p, lane, words[lane]);
    uint64_t address = sim ? ptxsim_buffer_add(sim, words, sizeof words, "p") : 0;
    ptxsim_launch launch = {.grid = {1, 1, 1}, .params = (const void *const[]){&address}};
    CHECK_MSG(sim && ptxsim_run(sim, &launch), "%s", f->text);
    for (unsigned row = 0; sim && row < M; row++)
        for (unsigned column = 0; column < N; column++) {
            unsigned lane = row % 8 * 4 + column / 2, word = 12 + row / 8 * 2 + column % 2;
            double is = bc_float_value(BC_F32, words[lane][word]), wanted = expected(f, &p, row, column);
            CHECK_MSG(is == (double)(float)wanted, "%s.%s, element %u, %u: %g instead of %g", f->text, f->scale, row,
                      column, is, wanted);
        }
    ptxsim_free(sim);
    bc_text_release(&text);
}

static void check_wrong(const form *f)
{
    char error[256] = "";
    bc_text text;
    bc_text_init(&text, NULL);
    write_kernel(f, &text);
    ptxsim *sim = ptxsim_load(text.ptr, text.len, error, sizeof error);
    CHECK_MSG(!sim && error[0], "%s.%s {%u, %u}, {%u, %u} is taken", f->text, f->scale, f->byte_a, f->thread_a,
              f->byte_b, f->thread_b);
    CHECK_MSG(!harness_has_ptxas() || !harness_ptxas_quietly(text.ptr, text.len, "sm_120a"), "ptxas takes %s.%s",
              f->text, f->scale);
    ptxsim_free(sim);
    bc_text_release(&text);
}

/* A scale of type ue4m3 with a sign: reported. */
static void check_sign(void)
{
    static uint32_t words[LANES][WORDS];
    char error[256] = "";
    bc_text text;
    bc_text_init(&text, NULL);
    write_kernel(&(form){NVF4(4), "ue4m3", 4, 0, 0, 0, 0, true}, &text);
    ptxsim *sim = ptxsim_load(text.ptr, text.len, error, sizeof error);
    CHECK_MSG(sim != NULL, "%s", error);
    words[5][6] = 0x80;
    uint64_t address = sim ? ptxsim_buffer_add(sim, words, sizeof words, "p") : 0;
    CHECK(sim && !ptxsim_run(sim, &(ptxsim_launch){.grid = {1, 1, 1}, .params = (const void *const[]){&address}}));
    CHECK(sim && strstr(ptxsim_report_text(sim), "ue4m3 has 7 bits"));
    ptxsim_free(sim);
    bc_text_release(&text);
}

int main(void)
{
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
        for (uint32_t seed = 1; seed <= 3; seed++)
            check_form(&forms[i], seed);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        check_wrong(&wrong[i]);
    check_sign();
    return TEST_END("ptxsim_scaled");
}
