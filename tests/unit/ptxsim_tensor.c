/* Tensor maps made by a kernel, and bulk copies of boxes with them: swizzles, ends of the tensor, clusters. The swizzle
   is that of the PTX ISA ("Swizzling modes"): a chunk of 16 bytes has its number in the row XORed with that of the row.
   */
#include <string.h>

#include "tests/ptxsim/harness.h"
#include "tests/unit/test.h"

enum { ROWS = 20, COLUMNS = 72, BOX_ROWS = 16, BOX_COLUMNS = 64, BOX_BYTES = 2 * BOX_ROWS * BOX_COLUMNS };

#define HEAD ".version 8.6\n.target sm_90a\n.address_size 64\n.global .align 128 .b8 slot[260];\n"
#define ENTRY(name, of) ENTRY_WITH("32", name, of, "")
/* others: what comes before the first warp's own part */
#define ENTRY_WITH(threads, name, of, others)                                                                         \
    ".visible .entry " name "(.param .u64 p, .param .u64 q) .reqntid " threads of "\n{\n.reg .b64 %b, %o, %g, %st; "  \
    ".reg .b32 %r<16>; .reg .b16 %h; .reg .pred %p<4>;\n.shared .align 1024 .b8 sm[4096];\n"                          \
    "ld.param.u64 %b, [p]; ld.param.u64 %o, [q]; mov.u32 %r0, %tid.x; mov.u32 %r1, sm; setp.eq.u32 %p0, %r0, 0;\n"    \
    "mov.u64 %g, slot; mov.u32 %r7, %cluster_ctarank; mul.wide.u32 %st, %r7, 128; add.u64 %g, %g, %st; mul.wide.u32 " \
    "%st, %r7, 2048; add.u64 %o, %o, %st;\n" others                                                                   \
    "@%p0 mbarrier.init.shared::cta.b64 [%r1+2176], 1; fence.mbarrier_init.release.cluster; shl.b32 %r2, %r0, 2;\n"   \
    "add.u32 %r2, %r2, %r1; st.shared.b32 [%r2+2048], 0; add.u32 %r3, %r1, 2048; mov.u64 %st, 144; bar.warp.sync "    \
    "-1;\n"
#define REPLACE "@%p0 tensormap.replace.tile."
#define MAP ".shared::cta.b1024."
#define FIELDS                                                                                                    \
    REPLACE "global_address" MAP "b64 [%r3], %b;\n" REPLACE "rank" MAP "b32 [%r3], 1;\n" REPLACE "box_dim" MAP    \
            "b32 [%r3], 0, 64;\n" REPLACE "box_dim" MAP "b32 [%r3], 1, 16;\n" REPLACE "global_dim" MAP            \
            "b32 [%r3], 0, 72;\n" REPLACE "global_dim" MAP "b32 [%r3], 1, 20;\n" REPLACE "global_stride" MAP      \
            "b64 [%r3], 0, %st;\n" REPLACE "element_stride" MAP "b32 [%r3], 0, 1;\n" REPLACE "element_stride" MAP \
            "b32 [%r3], 1, 1;\n" REPLACE "elemtype" MAP "b32 [%r3], 1;\n" REPLACE "interleave_layout" MAP         \
            "b32 [%r3], 0;\n" REPLACE "fill_mode" MAP "b32 [%r3], 0;\n"
#define PUBLISH                                                                                                       \
    "bar.warp.sync -1; tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [%g], " \
    "[%r3], 128;\n"
#define ACQUIRE "fence.proxy.tensormap::generic.acquire.gpu [%g], 128;\n"
#define COPY                                                                                                          \
    "@%p0 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r1+2176], 2048; mov.u32 %r4, 8; mov.u32 %r5, -2;\n"          \
    "@%p0 cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%r1], [%g, {%r4, %r5}], " \
    "[%r1+2176];\n"
#define BEHIND                                                                                                      \
    "mov.u32 %r4, 8; mov.u32 %r5, -2;\n"                                                                            \
    "@%p0 cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%r1+3072], [%g, {%r4, " \
    "%r5}], [%r1+2176];\n"
#define ELSEWHERE                                                                                                   \
    "@%p0 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r1+2176], 2048; mov.u32 %r4, 8; mov.u32 %r5, -2; mov.b16 " \
    "%h, 2;\n@%p0 cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes."                \
    "multicast::cluster [%r1], [%g, {%r4, %r5}], [%r1+2176], %h;\n"
#define OUT                                                                                                         \
    "W: mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r1+2176], 0; @!%p1 bra W;\nmov.u32 %r4, 0;\n"               \
    "L: add.u32 %r6, %r2, %r4; ld.shared.u32 %r5, [%r6]; mad.wide.u32 %st, %r0, 4, %o; st.global.u32 [%st], %r5;\n" \
    "add.u64 %o, %o, 128; add.u32 %r4, %r4, 128; setp.lt.u32 %p1, %r4, 2048; @%p1 bra L;\n"

/* each block of a pair brings eight rows of the box to both */
#define SHARED_OUT                                                                                                     \
    "barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;\n"                                                  \
    "@%p0 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r1+2176], 2048; mov.u32 %r4, 8; mov.b16 %h, 3;\n"             \
    "mad.lo.u32 %r5, %r7, 8, -2; mad.lo.u32 %r6, %r7, 1024, %r1;\n"                                                    \
    "@%p0 cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster [%r6], " \
    "[%g, {%r4, %r5}], [%r1+2176], %h;\n"

/* the second block of a pair publishes in the place of the first one, when that has given it back */
#define ONE_PLACE "mov.u64 %g, slot;\n"
#define TAKE                                                                                                      \
    "setp.eq.u32 %p2, %r7, 0; @%p2 bra F;\nT: ld.relaxed.gpu.global.u32 %r4, [%g+256]; setp.eq.u32 %p3, %r4, 0; " \
    "@%p3 bra T;\nF: "
#define GIVE_BACK "bar.warp.sync -1; @%p0 st.relaxed.gpu.global.u32 [%g+256], 1;\n"

/* a second warp copies with the map of the first one, which acquires it before or after they have met */
#define TWO_WARPS "setp.ge.u32 %p2, %r0, 32; @%p2 bra B;\n"
#define MEET "B: bar.sync 0;\nsetp.ge.u32 %p2, %r0, 32; @%p2 bra S;\n"
#define LEAVE "ret;\nS: setp.eq.u32 %p0, %r0, 32; sub.u32 %r0, %r0, 32; shl.b32 %r2, %r0, 2; add.u32 %r2, %r2, %r1;\n"

#define END "ret;\n}\n"
#define SWIZZLED REPLACE "swizzle_mode" MAP "b32 [%r3], 3;\n"
#define PAIR " .reqnctapercluster 2"
static const struct kernel {
    const char *text;
    uint32_t blocks;
    bool swizzled;
    int fault; /* ptxsim_check; -1: none */
} kernels[] =
    {
        {HEAD ENTRY("k", "") FIELDS REPLACE "swizzle_mode" MAP "b32 [%r3], 0;\n" PUBLISH ACQUIRE COPY OUT END, 1, false,
         -1},
        {HEAD ENTRY("k", "") FIELDS SWIZZLED PUBLISH ACQUIRE COPY OUT END, 1, true, -1},
        {HEAD ENTRY("k", PAIR) FIELDS REPLACE "box_dim" MAP "b32 [%r3], 1, 8;\n" SWIZZLED PUBLISH ACQUIRE SHARED_OUT OUT
                                              "barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;" END,
         2, true, -1},
        {HEAD ENTRY("k", "") FIELDS PUBLISH ACQUIRE COPY OUT END, 1, true, PTXSIM_TENSOR_MAP},  /* no swizzle was set */
        {HEAD ENTRY("k", "") FIELDS SWIZZLED PUBLISH COPY OUT END, 1, true, PTXSIM_TENSOR_MAP}, /* not acquired */
        {HEAD ENTRY("k", "") FIELDS SWIZZLED PUBLISH ACQUIRE COPY
         "ld.shared.u32 %r5, [%r1]; st.global.u32 [%o], %r5;" END,
         1, true, PTXSIM_ASYNC}, /* not awaited */
        {HEAD ENTRY("k", "") FIELDS SWIZZLED PUBLISH ACQUIRE COPY PUBLISH OUT END, 1, true,
         PTXSIM_TENSOR_MAP}, /* made anew while a copy may read it */
        {HEAD ENTRY("k", PAIR) FIELDS SWIZZLED ONE_PLACE TAKE PUBLISH ACQUIRE COPY OUT GIVE_BACK END, 2, true, -1},
        {HEAD ENTRY("k", PAIR) FIELDS SWIZZLED ONE_PLACE PUBLISH ACQUIRE COPY OUT GIVE_BACK END, 2, true,
         PTXSIM_RACE}, /* nothing was waited for */
        {HEAD ENTRY_WITH("64", "k", "", TWO_WARPS) FIELDS SWIZZLED PUBLISH ACQUIRE MEET LEAVE COPY OUT END, 1, true,
         PTXSIM_TENSOR_MAP}, /* acquired by another warp */
        {HEAD ENTRY("k", "") FIELDS SWIZZLED REPLACE "rank" MAP "b32 [%r3], 0;\n" PUBLISH ACQUIRE COPY OUT END, 1, true,
         PTXSIM_TENSOR_MAP}, /* of one dimension */
        {HEAD ENTRY("k", "") FIELDS SWIZZLED REPLACE "element_stride" MAP "b32 [%r3], 1, 2;\n" PUBLISH ACQUIRE COPY OUT
             END,
         1, true, PTXSIM_TENSOR_MAP}, /* every second row */
        {HEAD ENTRY("k", "") FIELDS SWIZZLED REPLACE "box_dim" MAP "b32 [%r3], 0, 32;\n" PUBLISH ACQUIRE COPY OUT END,
         1, true, PTXSIM_TENSOR_MAP}, /* rows of 64 bytes, with a swizzle for 128 */
        {HEAD ENTRY("k", "") "mov.u64 %st, 72;\n" FIELDS SWIZZLED PUBLISH ACQUIRE COPY OUT END, 1, true,
         PTXSIM_BAD_VALUE}, /* rows that start anywhere */
        {HEAD ENTRY("k", "") FIELDS SWIZZLED PUBLISH ACQUIRE
             BEHIND END,
         1, true, PTXSIM_OUT_OF_BOUNDS}, /* the box does not fit */
        {HEAD ENTRY("k", "") FIELDS SWIZZLED PUBLISH ACQUIRE ELSEWHERE OUT END, 1, true,
         PTXSIM_BAD_VALUE}, /* to a second block, which there is not */
},
  of_triton[] = {
      {HEAD ENTRY_WITH("64", "k", "", TWO_WARPS) FIELDS SWIZZLED PUBLISH ACQUIRE MEET LEAVE COPY OUT END, 1, true, -1},
      {HEAD ENTRY_WITH("64", "k", "", TWO_WARPS) FIELDS SWIZZLED PUBLISH MEET ACQUIRE LEAVE COPY OUT END, 1, true,
       PTXSIM_TENSOR_MAP}, /* acquired by another warp, which nobody waits for */
};

static bool run(ptxsim *sim, uint32_t blocks, uint16_t *out)
{
    uint16_t tensor[ROWS * COLUMNS];
    for (uint32_t i = 0; i < ROWS * COLUMNS; i++)
        tensor[i] = (uint16_t)(i + 1);
    uint64_t from = ptxsim_buffer_add(sim, tensor, sizeof tensor, "p"),
             to = ptxsim_buffer_add(sim, out, (size_t)blocks * BOX_BYTES, "q");
    ptxsim_launch launch = {.entry = "k", .grid = {blocks, 1, 1}, .params = (const void *const[]){&from, &to}};
    return ptxsim_run(sim, &launch);
}

/* The box from row -2 and column 8 on. */
static void check_box(const uint16_t *box, bool swizzled, size_t kernel)
{
    for (int r = 0; r < BOX_ROWS; r++)
        for (int c = 0; c < BOX_COLUMNS; c++) {
            int row = r - 2, column = c + 8, at = swizzled ? (c / 8 ^ r % 8) * 8 + c % 8 : c;
            uint16_t wanted = row >= 0 && row < ROWS && column < COLUMNS ? (uint16_t)(row * COLUMNS + column + 1) : 0;
            CHECK_MSG(box[r * BOX_COLUMNS + at] == wanted, "%zu: row %d, column %d: %u", kernel, r, c,
                      (unsigned)box[r * BOX_COLUMNS + at]);
        }
}

static void check_kernel(const struct kernel *k, size_t number, bool triton)
{
    char error[200];
    uint16_t out[BOX_BYTES] = {0};
    ptxsim *sim = ptxsim_load(k->text, strlen(k->text), error, sizeof error);
    CHECK_MSG(sim, "%zu: %s", number, error);
    if (!sim)
        return;
    if (triton)
        ptxsim_as_triton(sim);
    bool right = run(sim, k->blocks, out);
    CHECK_MSG(right == (k->fault < 0), "%zu: %s", number, ptxsim_report_text(sim));
    for (uint32_t b = 0; right && b < k->blocks; b++)
        check_box(out + b * BOX_BYTES / 2, k->swizzled, number);
    CHECK_MSG(right || (int)ptxsim_report_at(sim, 0)->check == k->fault, "%zu: %s", number, ptxsim_report_text(sim));
    CHECK(harness_ptxas(k->text, strlen(k->text), "sm_90a"));
    ptxsim_free(sim);
}

/* ---- a map of tf32, which rounds f32 ---- */

#define FIELDS_OF_TF32                                                                                         \
    REPLACE "global_address" MAP "b64 [%r3], %b;\n" REPLACE "rank" MAP "b32 [%r3], 0;\n" REPLACE "box_dim" MAP \
            "b32 [%r3], 0, 8;\n" REPLACE "global_dim" MAP "b32 [%r3], 0, 8;\n" REPLACE "element_stride" MAP    \
            "b32 [%r3], 0, 1;\n" REPLACE "elemtype" MAP "b32 [%r3], 11;\n" REPLACE "interleave_layout" MAP     \
            "b32 [%r3], 0;\n" REPLACE "fill_mode" MAP "b32 [%r3], 0;\n" REPLACE "swizzle_mode" MAP "b32 [%r3], 0;\n"
#define COPY_OF_TF32                                                                                             \
    "@%p0 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r1+2176], 32; mov.u32 %r4, 0;\n"                        \
    "@%p0 cp.async.bulk.tensor.1d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%r1], [%g, {%r4}], " \
    "[%r1+2176];\nsetp.ge.u32 %p2, %r0, 8; @%p2 exit;\n"                                                         \
    "V: mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r1+2176], 0; @!%p1 bra V;\n"                             \
    "ld.shared.u32 %r5, [%r2]; mad.wide.u32 %st, %r0, 4, %o; st.global.u32 [%st], %r5;\n"

static void check_rounding(void)
{
    static const char text[] = HEAD ENTRY("k", "") FIELDS_OF_TF32 PUBLISH ACQUIRE COPY_OF_TF32 END;
    static const uint32_t from[8] = {0x3f801000, 0x3f803000, 0xbf801001, 0x3f800fff,
                                     0x7f7ff000, 0x00001001, 0xff800000, 0xff800001},
                          to[8] = {0x3f800000, 0x3f804000, 0xbf802000, 0x3f800000,
                                   0x7f800000, 0x00002000, 0xff800000, 0x7fffe000};
    char error[200];
    uint32_t tensor[8], out[8] = {0};
    memcpy(tensor, from, sizeof tensor);
    ptxsim *sim = ptxsim_load(text, strlen(text), error, sizeof error);
    CHECK_MSG(sim, "%s", error);
    if (!sim)
        return;
    uint64_t in = ptxsim_buffer_add(sim, tensor, sizeof tensor, "p"), o = ptxsim_buffer_add(sim, out, sizeof out, "q");
    ptxsim_launch launch = {.entry = "k", .grid = {1, 1, 1}, .params = (const void *const[]){&in, &o}};
    CHECK_MSG(ptxsim_run(sim, &launch), "%s", ptxsim_report_text(sim));
    for (int i = 0; i < 8; i++)
        CHECK_MSG(out[i] == to[i], "0x%08x becomes 0x%08x", (unsigned)from[i], (unsigned)out[i]);
    CHECK(harness_ptxas(text, strlen(text), "sm_90a"));
    ptxsim_free(sim);
}

/* ---- maps that are parameters, and stores ---- */

#define GIVEN(fence, end)                                                                                            \
    ".version 8.6\n.target sm_90a\n.address_size 64\n"                                                               \
    ".visible .entry k(.param .align 64 .b8 m[128], .param .align 64 .b8 n[128]) .reqntid 32\n{\n.reg .b64 %m, %n; " \
    ".reg .b32 %r<8>; .reg .pred %p<4>;\n.shared .align 1024 .b8 sm[4096];\nmov.b64 %m, m; cvta.param.u64 %m, %m; "  \
    "mov.b64 %n, n; cvta.param.u64 %n, %n; mov.u32 %r0, %tid.x; setp.eq.u32 %p0, %r0, 0; mov.u32 %r1, sm;\n"         \
    "@%p0 mbarrier.init.shared::cta.b64 [sm+2176], 1; fence.mbarrier_init.release.cluster; bar.warp.sync -1;\n"      \
    "mov.u32 %r4, 8; mov.u32 %r5, -2; @%p0 mbarrier.arrive.expect_tx.shared::cta.b64 _, [sm+2176], 2048;\n"          \
    "@%p0 cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [sm], [%m, {%r4, %r5}], " \
    "[sm+2176];\nW: mbarrier.try_wait.parity.shared::cta.b64 %p1, [sm+2176], 0; @!%p1 bra W;\n"                      \
    "shl.b32 %r2, %r0, 2; add.u32 %r2, %r2, %r1; ld.shared.u32 %r3, [%r2+512]; add.u32 %r3, %r3, 0x10001;\n"         \
    "st.shared.u32 [%r2+512], %r3;\n" fence "bar.warp.sync -1;\nmov.u32 %r4, 16; mov.u32 %r5, 6;\n"                  \
    "@%p0 cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%n, {%r4, %r5}], [sm];\n" end "ret;\n}\n"
#define WAIT "@%p0 cp.async.bulk.commit_group; @%p0 cp.async.bulk.wait_group 0;\n"

/* The element that the store brings to a place of the second tensor; before: what was there. */
static uint16_t stored(int row, int column, uint16_t before)
{
    int r = row - 6, c = column - 16, from_row = r - 2, from_column = c + 8;
    if (r < 0 || r >= BOX_ROWS || c < 0 || c >= BOX_COLUMNS)
        return before;
    bool inside = from_row >= 0 && from_row < ROWS && from_column < COLUMNS;
    return (uint16_t)((inside ? from_row * COLUMNS + from_column + 1 : 0) + (r == 4));
}

static void check_given(const char *text, int fault)
{
    char error[200];
    uint16_t from[ROWS * COLUMNS], to[ROWS * COLUMNS];
    uint8_t maps[2][128];
    for (uint32_t i = 0; i < ROWS * COLUMNS; i++)
        from[i] = (uint16_t)(i + 1), to[i] = 0x7777;
    ptxsim *sim = ptxsim_load(text, strlen(text), error, sizeof error);
    CHECK_MSG(sim, "%s", error);
    if (!sim)
        return;
    ptxsim_tensor tensor = {.stride = {2 * COLUMNS},
                            .extent = {COLUMNS, ROWS},
                            .box = {BOX_COLUMNS, BOX_ROWS},
                            .rank = 2,
                            .type = 1,
                            .swizzle = 3};
    tensor.address = ptxsim_buffer_add(sim, from, sizeof from, "from");
    ptxsim_tensor_map(&tensor, maps[0]);
    tensor.address = ptxsim_buffer_add(sim, to, sizeof to, "to");
    ptxsim_tensor_map(&tensor, maps[1]);
    ptxsim_launch launch = {.grid = {1, 1, 1}, .params = (const void *const[]){maps[0], maps[1]}};
    bool right = ptxsim_run(sim, &launch);
    CHECK_MSG(right == (fault < 0), "%s", ptxsim_report_text(sim));
    CHECK_MSG(right || (int)ptxsim_report_at(sim, 0)->check == fault, "%s", ptxsim_report_text(sim));
    for (int row = 0; right && row < ROWS; row++)
        for (int column = 0; column < COLUMNS; column++)
            CHECK_MSG(to[row * COLUMNS + column] == stored(row, column, 0x7777), "row %d, column %d: %u", row, column,
                      (unsigned)to[row * COLUMNS + column]);
    CHECK(harness_ptxas(text, strlen(text), "sm_90a"));
    ptxsim_free(sim);
}

static void check_stores(void)
{
    check_given(GIVEN("fence.proxy.async.shared::cta;\n", WAIT), -1);
    check_given(GIVEN("", WAIT), PTXSIM_WGMMA);                               /* written, and no fence for the copy */
    check_given(GIVEN("fence.proxy.async.shared::cta;\n", ""), PTXSIM_ASYNC); /* not awaited */
}

int main(void)
{
    check_rounding();
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++)
        check_kernel(&kernels[i], i, false);
    for (size_t i = 0; i < sizeof of_triton / sizeof *of_triton; i++)
        check_kernel(&of_triton[i], i, true);
    check_stores();
    return TEST_END("ptxsim_tensor");
}
