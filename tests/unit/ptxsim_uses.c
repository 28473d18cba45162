/* What the simulator counts, and what it lets pass in text that is taken as Triton's. */
#include <string.h>

#include "tests/ptxsim/harness.h"
#include "tests/unit/test.h"

#define HEAD                                                                                               \
    ".version 8.8\n.target sm_100a\n.address_size 64\n.visible .entry k(.param .u64 q) .reqntid 64\n{\n"   \
    ".reg .b64 %o, %d; .reg .b32 %t, %r, %c, %tm; .reg .pred %p, %f;\n.shared .align 1024 .b8 sm[1024];\n" \
    "mov.u32 %t, %tid.x; setp.eq.u32 %f, %t, 0; ld.param.u64 %o, [q]; mov.u32 %r, 0;\n"

/* A loop of three turns; a guard that holds in one lane of the first warp; the second warp waits for the first. */
static const char counted[] = HEAD
    "@%f mbarrier.init.shared.b64 [sm], 1;\nbar.sync 0;\n"
    "L: add.u32 %r, %r, 1; setp.lt.u32 %p, %r, 3; @%p bra L;\n"
    "setp.ge.u32 %p, %t, 32; @%p bra W;\n"
    "@%f mbarrier.arrive.expect_tx.shared.b64 _, [sm], 32;\n"
    "@%f cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [sm+16], [%o], 32, [sm];\n"
    "W: mbarrier.try_wait.parity.shared.b64 %p, [sm], 0; @!%p bra W;\nret;\n}\n";

static const struct expected {
    const char *opcode;
    uint64_t warps, lanes, bytes;
} expected[] = {
    {"add.u32", 6, 192, 0},
    {"bra", 10, 160, 0}, /* lanes: those that jump, 128 in the loop and 32 to W */
    {"mbarrier.init.shared.b64", 2, 1, 0},
    {"mbarrier.try_wait.parity.shared.b64", 2, 64, 0}, /* however often it had to wait */
    {"cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes", 1, 1, 32},
};

static ptxsim *loaded(const char *text)
{
    char error[300];
    ptxsim *sim = ptxsim_load(text, strlen(text), error, sizeof error);
    CHECK_MSG(sim, "%s", error);
    return sim;
}

static bool run(ptxsim *sim, ptxsim_launch launch)
{
    static uint8_t memory[4096];
    uint64_t address = ptxsim_buffer_add(sim, memory, sizeof memory, "memory");
    const void *params[] = {&address};
    launch.grid[0] = launch.grid[1] = launch.grid[2] = 1;
    launch.params = params;
    return ptxsim_run(sim, &launch);
}

static void check_counts(void)
{
    for (uint64_t seed = 0; seed < 8; seed++) {
        ptxsim *sim = loaded(counted);
        CHECK(sim && run(sim, (ptxsim_launch){.counts = true, .seed = seed}));
        for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
            const struct expected *e = &expected[i];
            struct expected sum = {.opcode = e->opcode};
            for (size_t k = 0; sim && k < ptxsim_use_count(sim); k++) {
                const ptxsim_use *use = ptxsim_use_at(sim, k);
                if (strcmp(use->opcode, e->opcode) == 0)
                    sum.warps += use->warps, sum.lanes += use->lanes, sum.bytes += use->bytes;
            }
            CHECK_MSG(sum.warps == e->warps && sum.lanes == e->lanes && sum.bytes == e->bytes, "%s: %u %u %u",
                      e->opcode, (unsigned)sum.warps, (unsigned)sum.lanes, (unsigned)sum.bytes);
        }
        ptxsim_free(sim);
    }
}

static void check_none(void)
{
    ptxsim *sim = loaded(counted);
    CHECK(sim && run(sim, (ptxsim_launch){0}) && ptxsim_use_count(sim) == 0);
    ptxsim_free(sim);
}

/* ---- Triton ---- */

/* Both warps reach tensor memory, with a barrier but no fence between them; the operands come by cp.async; the commit
   gets the number of a shared address. */
static const char triton[] = HEAD
    "@%f mbarrier.init.shared.b64 [sm], 1;\nsetp.lt.u32 %p, %t, 32;\n"
    "@%p tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [sm+8], 32;\nbar.sync 0; ld.shared.u32 %tm, [sm+8];\n"
    "mov.u32 %c, sm; add.u32 %c, %c, 512; @%f cp.async.cg.shared.global [%c], [%o], 16; cp.async.wait_all; bar.sync "
    "0;\n"
    "@!%f bra E; cvt.u64.u32 %d, %c;\n"
    "cp.async.bulk.global.shared::cta.bulk_group [%o], [%c], 16;\n"
    "cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;\n"
    "mov.u32 %c, sm; cvt.u64.u32 %d, %c; tcgen05.commit.cta_group::1.mbarrier::arrive::one.b64 [%d];\n"
    "E: bar.sync 0;\nW: mbarrier.try_wait.parity.shared.b64 %f, [sm], 0; @!%f bra W;\n"
    "@%p tcgen05.dealloc.cta_group::1.sync.aligned.b32 %tm, 32;\nret;\n}\n";

static bool has_report(const ptxsim *sim, ptxsim_check check)
{
    for (size_t i = 0; i < ptxsim_report_count(sim); i++)
        if (ptxsim_report_at(sim, i)->check == check)
            return true;
    return false;
}

static void check_triton(void)
{
    ptxsim *sim = loaded(triton);
    CHECK(sim && !run(sim, (ptxsim_launch){0}) && has_report(sim, PTXSIM_WGMMA)
          && has_report(sim, PTXSIM_OUT_OF_BOUNDS));
    ptxsim_free(sim);
    sim = loaded(triton);
    if (!sim)
        return;
    ptxsim_as_triton(sim);
    CHECK_MSG(run(sim, (ptxsim_launch){0}), "%s", ptxsim_report_text(sim));
    ptxsim_free(sim);
}

int main(void)
{
    check_counts();
    check_none();
    check_triton();
    return TEST_END("ptxsim_uses");
}
