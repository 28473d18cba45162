/* The loops of the virtual machine: every instruction set that this processor has gives the same bits, and products
   are those of the loops written down plainly. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bytecode/base/compiler.h"
#include "tests/unit/test.h"
#include "vm/kernels/kernels.h"

enum { MAX_SIDE = 64, MAX_ELEMENTS = MAX_SIDE * MAX_SIDE };

static uint32_t state = 1;

static uint32_t random_bits(void)
{
    state = state * 1664525u + 1013904223u;
    return state >> 8 ^ state << 16;
}

/* The sets that run here, the plainest first. */
static size_t sets(const vm_kernels *out[3])
{
    size_t count = 0;
    out[count++] = vm_kernels_base();
    if (vm_kernels_avx2() && vm_kernels_best() != vm_kernels_base())
        out[count++] = vm_kernels_avx2();
    if (vm_kernels_avx512() && vm_kernels_best() == vm_kernels_avx512())
        out[count++] = vm_kernels_avx512();
    return count;
}

/* ---- products ---- */

static float a32[MAX_ELEMENTS], b32[MAX_ELEMENTS], c32[MAX_ELEMENTS], want32[MAX_ELEMENTS], panels32[MAX_ELEMENTS];
static double a64[MAX_ELEMENTS], b64[MAX_ELEMENTS], c64[MAX_ELEMENTS], want64[MAX_ELEMENTS], panels64[MAX_ELEMENTS];
static uint32_t ai[MAX_ELEMENTS], bi[MAX_ELEMENTS], ci[MAX_ELEMENTS], wanti[MAX_ELEMENTS], panelsi[MAX_ELEMENTS];

static void fill_operands(void)
{
    for (size_t i = 0; i < MAX_ELEMENTS; i++) {
        a32[i] = (float)(int32_t)random_bits() * 0x1p-20f;
        b32[i] = (float)(int32_t)random_bits() * 0x1p-31f;
        c32[i] = (float)(int32_t)random_bits() * 0x1p-24f;
        a64[i] = (double)(int32_t)random_bits() / 3;
        b64[i] = (double)(int32_t)random_bits() / 7;
        c64[i] = (double)(int32_t)random_bits();
        ai[i] = random_bits() & 0x00ff00ffu;
        bi[i] = (random_bits() & 0x007f007fu) | (random_bits() & 1 ? 0xff80ff80u : 0);
        ci[i] = random_bits();
    }
}

/* b as panels of so many columns. */
static void make_panels(const void *b, void *out, size_t k, size_t n, size_t columns, size_t bytes)
{
    for (size_t j = 0; j < n; j += columns)
        for (size_t p = 0; p < k; p++)
            memcpy((char *)out + (j * k + p * columns) * bytes, (const char *)b + (p * n + j) * bytes, columns * bytes);
}

static void plain_products(size_t m, size_t n, size_t k, bool onto)
{
    for (size_t i = 0; i < m; i++)
        for (size_t j = 0; j < n; j++) {
            float s = onto ? c32[i * n + j] : 0;
            double d = onto ? c64[i * n + j] : 0;
            uint32_t u = ci[i * n + j];
            for (size_t p = 0; p < k; p++) {
                uint32_t q = ai[i * k + p], r = bi[p * n + j];
                s = fmaf(a32[i * k + p], b32[p * n + j], s);
                d = fma(a64[i * k + p], b64[p * n + j], d);
                u += (uint32_t)((int16_t)q * (int16_t)r) + (uint32_t)((int16_t)(q >> 16) * (int16_t)(r >> 16));
            }
            want32[i * n + j] = onto ? s : s + c32[i * n + j];
            want64[i * n + j] = onto ? d : d + c64[i * n + j];
            wanti[i * n + j] = u;
        }
}

/* One product, with b as it lies and in panels; the result must be `want`, bit for bit. */
static void check_product(const vm_kernels *set, vm_mma_kernel *kernel, size_t m, size_t n, size_t k, const void *a,
                          const void *b, void *panels, const void *acc, const void *want, size_t bytes)
{
    static unsigned char out[MAX_ELEMENTS * sizeof(double)];
    size_t columns = set->panel_bytes / bytes < n ? set->panel_bytes / bytes : n;
    vm_mma mma = {.m = m,
                  .n = n,
                  .k = k,
                  .a = a,
                  .b = b,
                  .acc = acc,
                  .c = out,
                  .lda = (int64_t)k,
                  .ldb = (int64_t)n,
                  .panel = (int64_t)columns,
                  .ldc = n};
    memset(out, 0xAA, sizeof out);
    kernel(&mma);
    CHECK_MSG(memcmp(out, want, m * n * bytes) == 0, "%s: %zu x %zu x %zu of %zu bytes", set->isa, m, n, k, bytes);
    make_panels(b, panels, k, n, columns, bytes);
    mma.b = panels;
    mma.ldb = (int64_t)columns;
    mma.panel = (int64_t)(columns * k);
    memcpy(out, acc, m * n * bytes); /* in place */
    mma.acc = out;
    kernel(&mma);
    CHECK_MSG(memcmp(out, want, m * n * bytes) == 0, "%s: %zu x %zu x %zu of %zu bytes in panels", set->isa, m, n, k,
              bytes);
}

static void test_products(void)
{
    const vm_kernels *set[3];
    size_t count = sets(set);
    fill_operands();
    for (size_t m = 1; m <= MAX_SIDE; m *= 2)
        for (size_t n = 1; n <= MAX_SIDE; n *= 2)
            for (size_t k = 1; k <= MAX_SIDE / 2; k *= 4) {
                plain_products(m, n, k, false);
                for (size_t s = 0; s < count; s++) {
                    check_product(set[s], set[s]->mma_f32, m, n, k, a32, b32, panels32, c32, want32, 4);
                    check_product(set[s], set[s]->mma_s32, m, n, k, ai, bi, panelsi, ci, wanti, 4);
                }
                plain_products(m, n, k, true);
                for (size_t s = 0; s < count; s++) {
                    check_product(set[s], set[s]->mma_onto_f32, m, n, k, a32, b32, panels32, c32, want32, 4);
                    check_product(set[s], set[s]->mma_onto_f64, m, n, k, a64, b64, panels64, c64, want64, 8);
                }
            }
}

/* ---- transposes, copies past the caches ---- */

static void test_transposes(void)
{
    static unsigned char from[MAX_ELEMENTS * 8], to[MAX_ELEMENTS * 8];
    const vm_kernels *set[3];
    size_t count = sets(set);
    for (size_t i = 0; i < sizeof from; i++)
        from[i] = (unsigned char)random_bits();
    for (size_t s = 0; s < count; s++)
        for (unsigned bytes = 1; bytes <= 8; bytes *= 2)
            for (size_t rows = 1; rows <= MAX_SIDE; rows *= 2)
                for (size_t columns = 1; columns <= MAX_SIDE; columns *= 2) {
                    size_t bad = 0;
                    set[s]->transpose(to, (int64_t)(rows * bytes), from, (int64_t)(columns * bytes), rows, columns,
                                      bytes);
                    for (size_t i = 0; i < rows; i++)
                        for (size_t j = 0; j < columns; j++)
                            bad += memcmp(to + (j * rows + i) * bytes, from + (i * columns + j) * bytes, bytes) != 0;
                    CHECK_MSG(bad == 0, "%s: %zu x %zu elements of %u bytes", set[s]->isa, rows, columns, bytes);
                }
}

static void test_stream(void)
{
    static unsigned char from[600], to[600];
    const vm_kernels *set[3];
    size_t count = sets(set);
    for (size_t i = 0; i < sizeof from; i++)
        from[i] = (unsigned char)random_bits();
    for (size_t s = 0; s < count; s++)
        for (size_t at = 0; at < 70; at += 3)
            for (size_t n = 0; n < 400; n += 7) {
                memset(to, 0, sizeof to);
                set[s]->map[VM_K_stream](to + at, from, from, NULL, n);
                TV_STREAM_FENCE();
                CHECK_MSG(memcmp(to + at, from, n) == 0 && to[at + n] == 0 && (at == 0 || to[at - 1] == 0),
                          "%s: %zu bytes at %zu", set[s]->isa, n, at);
            }
}

/* ---- the same bits everywhere ---- */

/* Patterns of all kinds: random ones, and small numbers as integers and floats. */
static void fill_patterns(unsigned char *out, size_t bytes)
{
    for (size_t i = 0; i < bytes; i += 4) {
        uint32_t x = random_bits();
        float f = (float)(int32_t)x * 0x1p-26f;
        if (i / 4 % 3 == 1)
            x &= 7;
        else if (i / 4 % 3 == 2)
            memcpy(&x, &f, sizeof x);
        memcpy(out + i, &x, sizeof x);
    }
}

static bool same_f32(const unsigned char *x, const unsigned char *y)
{
    float f, g;
    memcpy(&f, x, sizeof f);
    memcpy(&g, y, sizeof g);
    return memcmp(x, y, sizeof f) == 0 || (isnan(f) && isnan(g));
}
static bool same_f64(const unsigned char *x, const unsigned char *y)
{
    double f, g;
    memcpy(&f, x, sizeof f);
    memcpy(&g, y, sizeof g);
    return memcmp(x, y, sizeof f) == 0 || (isnan(f) && isnan(g));
}

/* Results of 8 bytes an element at most; what a kernel does not write is the same on both sides. A NaN may differ in
   its pattern, which nothing promises. */
static size_t differences(const unsigned char *x, const unsigned char *y, size_t bytes)
{
    size_t bad = 0;
    for (size_t i = 0; i < bytes; i += 8)
        bad += memcmp(x + i, y + i, 8) != 0 && !same_f64(x + i, y + i)
               && !(same_f32(x + i, y + i) && same_f32(x + i + 4, y + i + 4));
    return bad;
}

static void test_sets_agree(void)
{
    enum { N = 96 };
    static unsigned char a[8 * N], b[8 * N], c[8 * N], want[8 * N], got[8 * N];
    static const char *const names[] = {
#define KERNEL(name) #name,
#include "vm/kernels/kernels.def"
    };
    const vm_kernels *set[3];
    size_t count = sets(set);
    for (int round = 0; round < 20; round++) {
        fill_patterns(a, sizeof a);
        fill_patterns(b, sizeof b);
        fill_patterns(c, sizeof c);
        for (size_t s = 1; s < count; s++)
            for (size_t k = 0; k < VM_KERNEL_COUNT; k++) {
                memset(want, 0, sizeof want);
                memset(got, 0, sizeof got);
                set[0]->map[k](want, a, b, c, N - 5);
                set[s]->map[k](got, a, b, c, N - 5);
                CHECK_MSG(differences(want, got, sizeof want) == 0, "%s: %s", set[s]->isa, names[k]);
            }
    }
}

int main(void)
{
    test_products();
    test_transposes();
    test_stream();
    test_sets_agree();
    return TEST_END("kernels");
}
