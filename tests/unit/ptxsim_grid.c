/* What is more than one block: ids, clusters, blocks that wait for each other; variables of the module; printing;
   seeds. */
#include <string.h>

#include "tests/ptxsim/harness.h"
#include "tests/unit/test.h"

/* block 0 waits for what the last block writes */
#define WAIT(name, load, store)                                                                           \
    ".visible .entry " name "(.param .u64 p)\n{\n.reg .b64 %b; .reg .b32 %r<4>; .reg .pred %p<2>;\n"      \
    "ld.param.u64 %b, [p];\n"                                                                             \
    "mov.u32 %r0, %ctaid.x; setp.ne.u32 %p0, %r0, 0; @%p0 bra OTHER;\nL: " load ".global.u32 %r1, [%b]; " \
    "setp.eq.u32 %p1, %r1, 0;\n"                                                                          \
    "@%p1 bra L; ld.global.u32 %r2, [%b+4]; st.global.u32 [%b+8], %r2; ret;\n"                            \
    "OTHER: mov.u32 %r1, %nctaid.x; sub.u32 %r1, %r1, 1; setp.ne.u32 %p0, %r0, %r1; @%p0 ret;\n"          \
    "st.global.u32 [%b+4], 77; " store ".global.u32 [%b], 1; ret;\n}\n"

static const char text[] =
    ".version 8.6\n.target sm_90a\n.address_size 64\n"
    ".extern .func (.param .b32 r) vprintf (.param .b64 f, .param .b64 a);\n"
    ".extern .shared .align 16 .b8 dynamic[];\n"
    ".global .align 4 .u32 table[4] = {7, 8, 9};\n"
    ".global .align 8 .u64 pointer = table+4;\n"
    ".const .align 4 .f32 numbers[2] = {0f3F800000, 2.5};\n"
    ".global .align 1 .b8 format[17] = {37, 100, 32, 37, 115, 32, 37, 46, 50, 102, 32, 37, 108, 108, 117, 10, 0};\n"
    ".global .align 1 .b8 word[4] = {105, 110, 44, 0};\n"

    /* the linear number of each thread of a grid with three dimensions */
    ".visible .entry ids(.param .u64 p)\n{\n.reg .b64 %b, %o; .reg .b32 %r<16>;\nld.param.u64 %b, [p];\n"
    "mov.u32 %r0, %ctaid.z; mov.u32 %r1, %nctaid.y; mov.u32 %r2, %ctaid.y; mad.lo.u32 %r0, %r0, %r1, %r2; mov.u32 %r1, "
    "%nctaid.x;\n"
    "mov.u32 %r2, %ctaid.x; mad.lo.u32 %r0, %r0, %r1, %r2; mov.u32 %r3, %ntid.z; mov.u32 %r4, %tid.z; mad.lo.u32 %r0, "
    "%r0, %r3, %r4;\n"
    "mov.u32 %r3, %ntid.y; mov.u32 %r4, %tid.y; mad.lo.u32 %r0, %r0, %r3, %r4; mov.u32 %r3, %ntid.x; mov.u32 %r4, "
    "%tid.x;\n"
    "mad.lo.u32 %r0, %r0, %r3, %r4; mul.wide.u32 %o, %r0, 4; add.u64 %o, %o, %b; st.global.u32 [%o], %r0; ret;\n}\n"

/* each block of a pair reads the other's shared memory */
#define PAIR(name, barrier)                                                                                            \
    ".visible .entry " name "(.param .u64 p) .reqntid 32 .reqnctapercluster 2\n{\n.reg .b64 %b, %o; .reg .b32 %r<8>; " \
    ".shared .align 4 .b32 cell[32];\nld.param.u64 %b, [p]; mov.u32 %r0, %tid.x; mov.u32 %r1, %ctaid.x; mad.lo.u32 "   \
    "%r2, %r1, 100, %r0;\n"                                                                                            \
    "mov.u32 %r3, cell; shl.b32 %r4, %r0, 2; add.u32 %r3, %r3, %r4; st.shared.u32 [%r3], %r2;\n" barrier "\n"          \
    "mov.u32 %r5, %cluster_ctarank; xor.b32 %r5, %r5, 1; mapa.shared::cluster.u32 %r6, %r3, %r5; "                     \
    "ld.shared::cluster.u32 %r7, [%r6];\n"                                                                             \
    "barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;\n"                                                  \
    "mad.lo.u32 %r1, %r1, 32, %r0; mul.wide.u32 %o, %r1, 4; add.u64 %o, %o, %b; st.global.u32 [%o], %r7; ret;\n}\n"
    PAIR("pair", "barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;") PAIR("pair_without", "")

        WAIT("wait", "ld.acquire.gpu", "st.release.gpu")

    /* each block waits for a phase that nobody completes */
    ".visible .entry stuck(.param .u64 p)\n{\n.reg .pred %p0; .shared .align 8 .b64 bar;\n"
    "mbarrier.init.shared::cta.b64 [bar], 1;\n"
    "L: mbarrier.try_wait.parity.shared::cta.b64 %p0, [bar], 0; @!%p0 bra L;\nret;\n}\n"

    /* module variables, and shared memory whose size the launch gives */
    ".visible .entry variables(.param .u64 p, .param .align 4 .b8 s[8])\n{\n.reg .b64 %b, %q; .reg .b32 %r<8>; .reg "
    ".f32 %f<2>;\n"
    ".shared .align 4 .b8 first[20];\nld.param.u64 %b, [p]; ld.param.u32 %r5, [s+4];\nld.global.u64 %q, [pointer]; "
    "ld.global.u32 %r0, [%q];\n"
    "ld.const.f32 %f0, [numbers+4]; ld.global.u32 %r1, [table+12]; mov.u32 %r2, dynamic; st.shared.u32 [%r2+60], 5;\n"
    "ld.shared.u32 %r3, [dynamic+60]; mov.u32 %r4, first; sub.u32 %r2, %r2, %r4; st.global.u32 [%b], %r0; "
    "st.global.f32 [%b+4], %f0;\n"
    "st.global.u32 [%b+8], %r1; st.global.u32 [%b+12], %r3; st.global.u32 [%b+16], %r2; st.global.u32 [%b+20], %r5; "
    "ret;\n}\n"

    ".visible .entry print(.param .u64 p)\n{\n.local .align 8 .b8 a[32]; .reg .b64 %l, %f, %d; .reg .b32 %t;\n"
    "mov.u32 %t, %tid.x; mov.u64 %l, a; st.local.u32 [a], %t; mov.u64 %d, word; st.local.u64 [a+8], %d; st.local.f64 "
    "[a+16], 0d3FF8000000000000;\n"
    "st.local.u64 [a+24], 12345678901; cvta.local.u64 %l, %l; mov.u64 %f, format;\n"
    "{ .param .b64 x; .param .b64 y; .param .b32 z; st.param.b64 [x], %f; st.param.b64 [y], %l; call (z), vprintf, (x, "
    "y); ld.param.b32 %t, [z]; }\n"
    "ret;\n}\n";

/* what blocks do to one word; %r0 is the block's number */
#define MEET(name, attributes, access)                                                                      \
    ".visible .entry " name "(.param .u64 p) " attributes "\n{\n.reg .b64 %b; .reg .b32 %r<4>; .reg .pred " \
    "%p<2>;\nld.param.u64 %b, [p]; mov.u32 %r0, %ctaid.x; setp.eq.u32 %p0, %r0, 0;\n" access "\nret;\n}\n"
static const char meetings[] = ".version 8.6\n.target sm_90a\n.address_size 64\n" WAIT("waits", "ld.acquire.gpu",
                                                                                       "st.release.gpu")
    WAIT("waits_relaxed", "ld.relaxed.gpu", "st.relaxed.gpu") WAIT("waits_fenced", "ld.acquire.gpu",
                                                                   "fence.acq_rel.gpu; st.relaxed.gpu")
        MEET("all_write", "", "st.global.u32 [%b], %r0;") MEET("all_write_one", "", "st.global.u32 [%b], 0;")
            MEET("write_after_read", "", "@%p0 ld.global.u32 %r1, [%b];\n@!%p0 st.global.u32 [%b], %r0;")
                MEET("read_after_write", "", "@%p0 st.global.u32 [%b], 5;\n@!%p0 ld.global.u32 %r1, [%b];")
                    MEET("all_add", "", "red.relaxed.gpu.global.add.u32 [%b], %r0;")
                        MEET("add_after_read", "",
                             "@%p0 ld.global.u32 %r1, [%b];\n@!%p0 red.relaxed.gpu.global.add.u32 [%b], %r0;")
                            MEET("pair_writes", ".reqntid 1 .reqnctapercluster 2", "// op 1\nst.global.u32 [%b], %r0;");

/* the same where each block arrives at an mbarrier of the other one */
#define ARRIVE(order)                                                                                              \
    "{\n.reg .pred %q; .reg .b32 %n<2>; .shared .align 8 .b64 bar;\nsetp.eq.u32 %q, %r0, 0; mov.u32 %n0, bar; "    \
    "@%q mbarrier.init.shared::cta.b64 [%n0], 1;\nfence.mbarrier_init.release.cluster; "                           \
    "barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;\nmov.u32 %n1, %cluster_ctarank; xor.b32 %n1, "  \
    "%n1, 1; mapa.shared::cluster.u32 %n1, %n0, %n1;\n@%q mbarrier.arrive.release.cluster.shared::cluster.b64 _, " \
    "[%n1];\nagain: mbarrier.try_wait.parity." order "shared::cta.b64 %q, [%n0], 0; @!%q bra again;\n}\n"
static const char arrivals[] =
    ".version 8.6\n.target sm_90a\n.address_size 64\n" PAIR("arrives", ARRIVE("acquire.cluster."))
        PAIR("arrives_inside", ARRIVE(""));

static bool run(ptxsim *sim, const char *name, uint32_t *words, size_t count, ptxsim_launch launch)
{
    uint32_t pair[2] = {11, 12};
    ptxsim_buffers_clear(sim);
    uint64_t address = ptxsim_buffer_add(sim, words, 4 * count, "p");
    launch.entry = name;
    launch.params = (const void *const[]){&address, pair};
    return ptxsim_run(sim, &launch);
}

static bool reports(const ptxsim *sim, ptxsim_check check)
{
    for (size_t i = 0; i < ptxsim_report_count(sim); i++)
        if (ptxsim_report_at(sim, i)->check == check)
            return true;
    return false;
}

static void check_grids(ptxsim *sim)
{
    uint32_t words[1024] = {0};
    bool right = run(sim, "ids", words, 1024, (ptxsim_launch){.grid = {3, 2, 2}, .block = {5, 4, 2}, .seed = 3});
    CHECK_MSG(right, "%s", ptxsim_report_text(sim));
    for (uint32_t i = 0; i < 480; i++)
        right = right && words[i] == i;
    CHECK(right && words[480] == 0);

    right = run(sim, "pair", words, 1024, (ptxsim_launch){.grid = {4, 1, 1}});
    CHECK_MSG(right, "%s", ptxsim_report_text(sim));
    for (uint32_t i = 0; i < 128; i++)
        CHECK_MSG(words[i] == (i / 32 ^ 1) * 100 + i % 32, "thread %u: %u", (unsigned)i, (unsigned)words[i]);
    for (uint64_t seed = 0; seed < 5; seed++)
        CHECK(!run(sim, "pair_without", words, 1024, (ptxsim_launch){.grid = {2, 1, 1}, .seed = seed})
              && reports(sim, PTXSIM_RACE));

    memset(words, 0, sizeof words);
    right = run(sim, "wait", words, 1024, (ptxsim_launch){.grid = {9, 1, 1}, .block = {1, 1, 1}});
    CHECK_MSG(right && words[2] == 77, "%s%u", ptxsim_report_text(sim), (unsigned)words[2]);
    memset(words, 0, sizeof words);
    CHECK(!run(sim, "wait", words, 1024, (ptxsim_launch){.grid = {1, 1, 1}, .block = {1, 1, 1}, .step_limit = 100000})
          && reports(sim, PTXSIM_STEP_LIMIT));
}

/* What another block has released is acquired in its scope. */
static void check_arrivals(void)
{
    char error[256] = "";
    uint32_t words[64] = {0};
    ptxsim *sim = ptxsim_load(arrivals, sizeof arrivals - 1, error, sizeof error);
    CHECK_MSG(sim, "%s", error);
    CHECK_MSG(sim && run(sim, "arrives", words, 64, (ptxsim_launch){.grid = {2, 1, 1}}), "%s",
              sim ? ptxsim_report_text(sim) : "");
    CHECK(sim && !run(sim, "arrives_inside", words, 64, (ptxsim_launch){.grid = {2, 1, 1}})
          && reports(sim, PTXSIM_MBARRIER));
    CHECK(harness_ptxas(arrivals, sizeof arrivals - 1, "sm_90a"));
    if (sim)
        ptxsim_free(sim);
}

/* Blocks that wait for ever: as many as run at once, and more. */
static void check_stuck(ptxsim *sim)
{
    uint32_t word = 0;
    static const uint32_t grids[] = {1, 2, 70};
    for (unsigned i = 0; i < 3; i++) {
        CHECK(!run(sim, "stuck", &word, 1, (ptxsim_launch){.grid = {grids[i], 1, 1}, .block = {1, 1, 1}})
              && reports(sim, PTXSIM_DEADLOCK));
        CHECK(!run(sim, "stuck", &word, 1,
                   (ptxsim_launch){.grid = {grids[i], 1, 1}, .block = {1, 1, 1}, .step_limit = 1000})
              && reports(sim, PTXSIM_STEP_LIMIT));
    }
}

/* A grid that counts clusters: which one of how many, the block's rank there, how many blocks there are. */
static const char clusters[] =
    ".version 9.0\n.target sm_90a\n.address_size 64\n"
    ".visible .entry clusters(.param .u64 p) .reqntid 1 .reqnctapercluster 2 .blocksareclusters\n{\n.reg .b64 %b, %o; "
    ".reg .b32 %r<8>;\n"
    "ld.param.u64 %b, [p]; mov.u32 %r0, %clusterid.x; mov.u32 %r1, %nclusterid.x; mov.u32 %r2, %cluster_ctarank; "
    "mov.u32 %r3, %ctaid.x; mov.u32 %r4, %nctaid.x;\n"
    "mad.lo.u32 %r5, %r0, 10, %r1; mad.lo.u32 %r5, %r5, 10, %r2; mad.lo.u32 %r5, %r5, 10, %r4; "
    "mul.wide.u32 %o, %r3, 4; add.u64 %o, %o, %b; st.global.u32 [%o], %r5; ret;\n}\n";

static void check_clusters(void)
{
    char error[200] = "";
    uint32_t words[8] = {0};
    ptxsim *sim = ptxsim_load(clusters, sizeof clusters - 1, error, sizeof error);
    CHECK_MSG(sim, "%s", error);
    CHECK(sim && run(sim, "clusters", words, 8, (ptxsim_launch){.grid = {3, 1, 1}}));
    for (uint32_t i = 0; i < 6; i++)
        CHECK_MSG(words[i] == i / 2 * 1000 + 306 + i % 2 * 10, "block %u: %u", (unsigned)i, (unsigned)words[i]);
    CHECK(words[6] == 0 && harness_ptxas(clusters, sizeof clusters - 1, "sm_90a"));
    ptxsim_free(sim);
}

static void check_variables(ptxsim *sim)
{
    uint32_t words[8] = {0};
    bool right =
        run(sim, "variables", words, 8, (ptxsim_launch){.grid = {1, 1, 1}, .block = {1, 1, 1}, .dynamic_shared = 64});
    CHECK_MSG(right, "%s", ptxsim_report_text(sim));
    CHECK(words[0] == 8 && words[1] == 0x40200000 && words[2] == 0 && words[3] == 5 && words[4] == 32
          && words[5] == 12);
    CHECK(!run(sim, "variables", words, 8, (ptxsim_launch){.grid = {1, 1, 1}, .block = {1, 1, 1}, .dynamic_shared = 60})
          && reports(sim, PTXSIM_OUT_OF_BOUNDS));
    right = run(sim, "print", words, 8, (ptxsim_launch){.grid = {1, 1, 1}, .block = {2, 1, 1}});
    CHECK_MSG(right, "%s", ptxsim_report_text(sim));
    CHECK_MSG(strcmp(ptxsim_output(sim), "0 in, 1.50 12345678901\n1 in, 1.50 12345678901\n") == 0, "'%s'",
              ptxsim_output(sim));
}

/* Accesses of different clusters that nothing orders: found where the launch asks for it. */
static void check_between(void)
{
    char error[200] = "";
    ptxsim *sim = ptxsim_load(meetings, sizeof meetings - 1, error, sizeof error);
    CHECK_MSG(sim, "%s", error);
    static const struct {
        const char *name;
        bool races;
    } cases[] = {{"all_write", true},        {"all_write_one", false}, {"write_after_read", true},
                 {"read_after_write", true}, {"all_add", false},       {"add_after_read", true},
                 {"waits", false},           {"waits_relaxed", true},  {"waits_fenced", false}};
    for (size_t i = 0; sim && i < sizeof cases / sizeof *cases; i++)
        for (unsigned between = 0; between < 2; between++) {
            uint32_t words[8] = {0};
            const ptxsim_launch launch = {.grid = {5, 1, 1}, .block = {1, 1, 1}, .between_clusters = between};
            bool fine = run(sim, cases[i].name, words, 8, launch);
            CHECK_MSG(fine == !(cases[i].races && between), "%s: %s", cases[i].name, ptxsim_report_text(sim));
            CHECK(fine || reports(sim, PTXSIM_RACE));
        }
    uint32_t words[8] = {0}; /* two blocks of one cluster, by one op */
    CHECK(sim && !run(sim, "pair_writes", words, 8, (ptxsim_launch){.grid = {2, 1, 1}}) && reports(sim, PTXSIM_RACE));
    CHECK(harness_ptxas(meetings, sizeof meetings - 1, "sm_90a"));
    ptxsim_free(sim);
}

/* The same seed gives the same run, to the instruction. */
static void check_seeds(ptxsim *sim)
{
    uint32_t words[1024];
    uint64_t steps[3];
    for (unsigned i = 0; i < 3; i++) {
        memset(words, 0, sizeof words);
        run(sim, "wait", words, 1024, (ptxsim_launch){.grid = {9, 1, 1}, .block = {1, 1, 1}, .seed = i == 2});
        steps[i] = ptxsim_steps(sim);
    }
    CHECK(steps[0] == steps[1] && steps[0] > 0);
}

int main(void)
{
    char error[256];
    ptxsim *sim = ptxsim_load(text, sizeof text - 1, error, sizeof error);
    CHECK_MSG(sim != NULL, "%s", error);
    if (sim) {
        check_grids(sim);
        check_stuck(sim);
        check_clusters();
        check_arrivals();
        check_variables(sim);
        check_between();
        check_seeds(sim);
    }
    CHECK(harness_ptxas(text, sizeof text - 1, "sm_90a"));
    ptxsim_free(sim);
    return TEST_END("ptxsim_grid");
}
