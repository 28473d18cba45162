/* wgmma on the simulator: descriptors of every swizzle, both orientations, every type; what it gives for fixed bytes in
   shared memory was read from an H200. Then what the simulator reports about its asynchronous side. */
#include <string.h>

#include "bytecode/number/number.h"
#include "tests/ptxsim/harness.h"
#include "tests/unit/test.h"

enum { THREADS = 128, SHARED = 32768, N = 64, OUT = THREADS * 32 };

/* A descriptor: bytes from the start of shared memory, leading and stride byte offset, swizzle. */
typedef struct place {
    uint32_t start, leading, stride;
    unsigned swizzle;
} place;

typedef struct row {
    char kind; /* of the elements: h f16, b bf16, t tf32, 4 e4m3, 5 e5m2, w any bytes */
    const char *shape, *types;
    unsigned d_registers;
    bool a_in_registers, keep;
    place a, b;
    const char *immediates; /* after scale-d */
    uint32_t expected;
} row;

#define F16 "m64n64k16", "f32.f16.f16"

static const row rows[] = {
    {'h', F16, 32, false, false, {0, 128, 256, 0}, {4096, 128, 256, 0}, ", 1, 1, 0, 0", 0x16ac10d1},
    {'h', F16, 32, false, true, {16, 1024, 128, 0}, {4096, 2048, 128, 0}, ", 1, 1, 0, 0", 0x4ac44cde},
    {'h', F16, 32, false, false, {0, 16, 256, 3}, {8192, 16, 256, 3}, ", 1, 1, 0, 0", 0x28d2f8ad},
    {'h', F16, 32, false, false, {32, 16, 512, 2}, {8192, 16, 512, 2}, ", 1, 1, 0, 0", 0xfd392b7d},
    {'h', F16, 32, false, false, {0, 16, 1024, 1}, {8192, 16, 1024, 1}, ", 1, 1, 0, 0", 0x03c7e59c},
    {'h', F16, 32, false, true, {64, 16, 1024, 1}, {8192 + 96, 16, 1024, 1}, ", 1, -1, 0, 0", 0x143078ea},
    {'h', F16, 32, false, false, {0, 16, 2048, 1}, {1024, 16, 2048, 1}, ", -1, -1, 0, 0", 0xb3ae37ec},
    {'h', F16, 32, false, false, {0, 1024, 128, 0}, {8192, 2048, 256, 0}, ", 1, 1, 1, 1", 0xbdf60e00},
    {'h', F16, 32, false, false, {0, 512, 256, 3}, {8192, 1024, 256, 3}, ", 1, 1, 1, 1", 0x9252c3a9},
    {'h', F16, 32, false, false, {0, 1024, 512, 2}, {8192, 2048, 512, 2}, ", 1, 1, 1, 1", 0xeaea591c},
    {'h', F16, 32, false, false, {0, 16, 1024, 1}, {8192, 16, 2048, 1}, ", 1, 1, 1, 1", 0x94ae01b8},
    {'h', F16, 32, false, false, {0, 16, 1024, 1}, {8192, 16, 1024, 1}, ", 1, 1, 0, 1", 0xa773a79d},
    {'h', F16, 32, true, true, {0, 0, 0, 0}, {8192, 16, 1024, 1}, ", 1, 1, 0", 0x6821d858},
    {'h', F16, 32, true, false, {0, 0, 0, 0}, {8192, 16, 1024, 1}, ", 1, 1, 1", 0x5cd0fe7c},
    {'h',
     "m64n64k16",
     "f16.f16.f16",
     16,
     false,
     false,
     {0, 16, 1024, 1},
     {8192, 16, 1024, 1},
     ", 1, 1, 0, 0",
     0x1f9926ae},
    {'b',
     "m64n64k16",
     "f32.bf16.bf16",
     32,
     false,
     false,
     {0, 16, 1024, 1},
     {8192, 16, 1024, 1},
     ", 1, 1, 0, 1",
     0xa773a79d},
    {'t', "m64n64k8", "f32.tf32.tf32", 32, false, false, {0, 16, 1024, 1}, {8192, 16, 1024, 1}, ", 1, 1", 0x76a0e8d9},
    {'t', "m64n64k8", "f32.tf32.tf32", 32, true, true, {0, 0, 0, 0}, {8192, 16, 512, 2}, ", 1, 1", 0x997a3432},
    {'4', "m64n64k32", "f32.e4m3.e4m3", 32, false, false, {0, 16, 1024, 1}, {8192, 16, 1024, 1}, ", 1, 1", 0xc7b24e42},
    {'4', "m64n64k32", "f32.e4m3.e5m2", 32, true, false, {0, 0, 0, 0}, {8192, 16, 1024, 1}, ", 1, 1", 0x7a86619a},
    {'5', "m64n64k32", "f16.e5m2.e5m2", 16, false, true, {0, 128, 256, 0}, {8192, 16, 256, 3}, ", 1, 1", 0x9e8927c5},
    {'w', "m64n64k32", "s32.s8.s8", 32, false, true, {0, 16, 1024, 1}, {8192, 16, 1024, 1}, "", 0x9b23efbf},
    {'w', "m64n64k32", "s32.u8.s8", 32, true, false, {0, 0, 0, 0}, {8192, 16, 1024, 1}, "", 0x8f817ed3},
};
enum { ROWS = sizeof rows / sizeof *rows };

static uint64_t descriptor(place p)
{
    return (uint64_t)(p.start >> 4) | (uint64_t)(p.leading >> 4) << 16 | (uint64_t)(p.stride >> 4) << 32
           | (uint64_t)p.swizzle << 62;
}

static void registers(bc_text *t, const char *prefix, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        bc_text_printf(t, "%s%s%u", i ? "," : "{", prefix, i);
    bc_text_char(t, '}');
}

/* Shared memory is filled from the buffer, 256 bytes a thread; then `text`; D goes behind. */
static void write_kernel(bc_text *t, const char *name, const row *r, const char *before, const char *after)
{
    bool f32 = strncmp(r->types, "f32", 3) == 0;
    bc_text_printf(
        t,
        ".visible .entry %s(.param .u64 p) .reqntid %d\n{\n.reg .b64 %%base, %%g, %%a, %%b, %%s;\n.reg .b32 %%t, %%sh, "
        "%%v<4>, "
        "%%x<4>;\n.reg .%s %%d<32>;\n.reg .pred %%keep;\n.shared .align 1024 .b8 buf[%d];\nld.param.u64 %%base, [p];\n"
        "mov.u32 %%t, %%tid.x;\nmov.u32 %%sh, buf;\n",
        name, THREADS, f32 ? "f32" : "b32", SHARED);
    bc_text_puts(t, "shl.b32 %x0, %t, 4;\nadd.u32 %x1, %x0, %sh;\ncvt.u64.u32 %g, %x0;\nadd.u64 %g, %g, %base;\n");
    for (unsigned i = 0; i < SHARED / (16 * THREADS); i++)
        bc_text_printf(
            t,
            "ld.global.v4.u32 {%%v0,%%v1,%%v2,%%v3}, [%%g+%u];\nst.shared.v4.u32 [%%x1+%u], {%%v0,%%v1,%%v2,%%v3};\n",
            16 * THREADS * i, 16 * THREADS * i);
    for (unsigned i = 0; i < r->d_registers; i++) /* D starts as small integers where it is f32 */
        bc_text_printf(t, f32 ? "cvt.rn.f32.u32 %%d%u, %%t;\n" : "mov.b32 %%d%u, 0;\n", i);
    bc_text_printf(t, "setp.%s.u32 %%keep, %%t, %%t;\n", r->keep ? "eq" : "ne");
    bc_text_printf(
        t, "shr.u32 %%x2, %%sh, 4;\ncvt.u64.u32 %%s, %%x2;\nadd.u64 %%a, %%s, 0x%llx;\nadd.u64 %%b, %%s, 0x%llx;\n",
        (unsigned long long)descriptor(r->a), (unsigned long long)descriptor(r->b));
    bc_text_printf(t, "%s\nwgmma.mma_async.sync.aligned.%s.%s ", before, r->shape, r->types);
    registers(t, "%d", r->d_registers);
    bc_text_puts(t, ", ");
    if (r->a_in_registers)
        registers(t, "%v", 4);
    else
        bc_text_puts(t, "%a");
    bc_text_printf(t, ", %%b, %%keep%s;\n%s\n", r->immediates, after);
    bc_text_puts(t, "mul.wide.u32 %g, %t, 128;\nadd.u64 %g, %g, %base;\n");
    for (unsigned i = 0; i < r->d_registers; i++)
        bc_text_printf(t, "st.global.b32 [%%g+%u], %%d%u;\n", SHARED + 4 * i, i);
    bc_text_puts(t, "ret;\n}\n");
}

#define BEFORE "fence.proxy.async.shared::cta;\nbar.sync 0;\nwgmma.fence.sync.aligned;"
#define AFTER "wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;"

/* ---- inputs ---- */

static uint32_t next_random(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

static void fill(char kind, uint32_t *words)
{
    uint32_t state = 99;
    bc_kind k = kind == 'h'   ? BC_F16
                : kind == 'b' ? BC_BF16
                : kind == 't' ? BC_F32
                : kind == '4' ? BC_F8E4M3FN
                              : BC_F8E5M2;
    for (unsigned i = 0; i < SHARED / 4; i++) {
        words[i] = kind == 'w' ? next_random(&state) ^ next_random(&state) << 12 : 0;
        for (unsigned place_ = 0; kind != 'w' && place_ < 32; place_ += bc_kind_bits(k))
            words[i] |= (uint32_t)bc_float_round(k, (double)(next_random(&state) % 7) - 3, BC_RoundingMode_nearest_even)
                        << place_;
    }
}

static uint32_t checksum(const uint32_t *words, unsigned registers_)
{
    uint32_t hash = 2166136261u;
    for (unsigned t = 0; t < THREADS; t++)
        for (unsigned i = 0; i < registers_ * 4; i++)
            hash = (hash ^ ((const unsigned char *)&words[SHARED / 4 + t * 32])[i]) * 16777619u;
    return hash;
}

/* ---- the tests ---- */

static bool run(ptxsim *sim, const char *name, uint32_t *words, uint64_t seed)
{
    ptxsim_buffers_clear(sim);
    uint64_t address = ptxsim_buffer_add(sim, words, SHARED + 4 * OUT, "p");
    ptxsim_launch launch = {.entry = name, .grid = {1, 1, 1}, .params = (const void *const[]){&address}, .seed = seed};
    return ptxsim_run(sim, &launch);
}

static void check_values(uint32_t *words)
{
    char error[256];
    bc_text text, inputs;
    bc_text_init(&text, NULL);
    bc_text_init(&inputs, NULL);
    bc_text_puts(&text, ".version 8.7\n.target sm_90a\n.address_size 64\n");
    for (unsigned i = 0; i < ROWS; i++) {
        char name[16];
        snprintf(name, sizeof name, "k%u", i);
        write_kernel(&text, name, &rows[i], BEFORE, AFTER);
    }
    ptxsim *sim = ptxsim_load(text.ptr, text.len, error, sizeof error);
    CHECK_MSG(sim != NULL, "%s", error);
    for (unsigned i = 0; sim && i < ROWS; i++) {
        char name[16];
        snprintf(name, sizeof name, "k%u", i);
        memset(words, 0, SHARED + 4 * OUT);
        fill(rows[i].kind, words);
        bc_text_bytes(&inputs, words, SHARED);
        bool clean = run(sim, name, words, i);
        CHECK_MSG(clean, "row %u: %s", i, ptxsim_report_text(sim));
        uint32_t sum = checksum(words, rows[i].d_registers);
        CHECK_MSG(sum == rows[i].expected, "row %u: %s.%s gives 0x%08x instead of 0x%08x", i, rows[i].shape,
                  rows[i].types, (unsigned)sum, (unsigned)rows[i].expected);
    }
    CHECK(harness_ptxas(text.ptr, text.len, "sm_90a"));
    harness_dump("wgmma.ptx", text.ptr, text.len);
    harness_dump("wgmma.in", inputs.ptr, inputs.len);
    ptxsim_free(sim);
    bc_text_release(&text);
    bc_text_release(&inputs);
}

/* A second iteration; the fragments, written in it. */
#define AGAIN "\nadd.u32 %x3, %x3, 1; setp.lt.u32 %keep, %x3, 2; @%keep bra L;\n"
#define WRITTEN "mov.b32 %v0, 0; mov.b32 %v1, 0; mov.b32 %v2, 0; mov.b32 %v3, 0;\n"

static const struct {
    const char *name, *before, *after, *says;
    ptxsim_check check;
    bool a_in_registers;
} faults[] = {
    {"all in order", BEFORE, AFTER, NULL, PTXSIM_CHECK_COUNT, false},
    {"no wait", BEFORE, "wgmma.commit_group.sync.aligned;", "before wgmma.wait_group", PTXSIM_WGMMA, false},
    {"no commit", BEFORE, "wgmma.wait_group.sync.aligned 0;", "before wgmma.wait_group", PTXSIM_WGMMA, false},
    {"a wait that leaves one", BEFORE, "wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 1;",
     "before wgmma.wait_group", PTXSIM_WGMMA, false},
    {"no wgmma.fence", "fence.proxy.async.shared::cta;\nbar.sync 0;", AFTER, "wgmma.fence", PTXSIM_WGMMA, false},
    {"a register written after it", BEFORE "\nmov.f32 %d3, 0f00000000;", AFTER, "%d3, which was written after",
     PTXSIM_WGMMA, false},
    {"a descriptor for each lane", BEFORE "\nand.b32 %x3, %t, 1; cvt.u64.u32 %g, %x3; add.u64 %b, %b, %g;", AFTER,
     "differs between lanes", PTXSIM_WGMMA, false},
    {"no proxy fence", "bar.sync 0;\nwgmma.fence.sync.aligned;", AFTER, "fence.proxy.async", PTXSIM_WGMMA, false},
    {"no barrier", "fence.proxy.async.shared::cta;\nwgmma.fence.sync.aligned;", AFTER, "without a barrier", PTXSIM_RACE,
     false},
    {"a write while it reads", BEFORE, "st.shared.u32 [%sh+8192], 0;\n" AFTER, "", PTXSIM_RACE, false},
    {"a fragment that is written while it runs", BEFORE, "mov.b32 %v2, 0;\n" AFTER, "%v2 was written before",
     PTXSIM_WGMMA, true},
    {"a fragment that is written after it has run", BEFORE, AFTER "\nmov.b32 %v2, 0;", NULL, PTXSIM_CHECK_COUNT, true},
    {"a result that is written while it runs", BEFORE, "mov.f32 %d3, 0f00000000;\n" AFTER, "%d3 was written before",
     PTXSIM_WGMMA, false},
    {"a fragment from before the loop", "mov.u32 %x3, 0;\nL:\n" BEFORE, AFTER AGAIN, "the loop does not write %v3",
     PTXSIM_WGMMA, true},
    {"a fragment that the loop writes", "mov.u32 %x3, 0;\nL:\n" WRITTEN BEFORE, AFTER AGAIN, NULL, PTXSIM_CHECK_COUNT,
     true},
    {"a fragment that a branch that is never taken writes", "mov.u32 %x3, 0;\nL:\n" BEFORE,
     AFTER AGAIN "setp.eq.u32 %keep, %t, -1; @!%keep bra E;\n" WRITTEN "bra L;\nE:\n", NULL, PTXSIM_CHECK_COUNT, true},
    {"a write after it has read", BEFORE, AFTER "\nbar.sync 0;\nst.shared.u32 [%sh+8192], 0;", NULL, PTXSIM_CHECK_COUNT,
     false},
};

static void check_faults(uint32_t *words)
{
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        char error[256];
        bc_text text;
        bool found = false;
        bc_text_init(&text, NULL);
        bc_text_puts(&text, ".version 8.7\n.target sm_90a\n.address_size 64\n");
        write_kernel(&text, "k", &rows[faults[i].a_in_registers ? 12 : 4], faults[i].before, faults[i].after);
        ptxsim *sim = ptxsim_load(text.ptr, text.len, error, sizeof error);
        CHECK_MSG(sim != NULL, "%s", error);
        memset(words, 0, SHARED + 4 * OUT);
        bool clean = sim && run(sim, "k", words, i);
        for (size_t k = 0; sim && k < ptxsim_report_count(sim); k++) {
            const ptxsim_report *r = ptxsim_report_at(sim, k);
            found = found || (r->check == faults[i].check && strstr(r->text, faults[i].says));
        }
        CHECK_MSG(faults[i].says ? found : clean, "%s: %s", faults[i].name,
                  sim && !clean ? ptxsim_report_text(sim) : "no report");
        ptxsim_free(sim);
        bc_text_release(&text);
    }
}

int main(void)
{
    static uint32_t words[SHARED / 4 + OUT];
    check_values(words);
    check_faults(words);
    return TEST_END("ptxsim_wgmma");
}
