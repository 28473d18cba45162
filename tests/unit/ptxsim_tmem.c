/* Tensor memory of sm_100 in the simulator: allocation, the order of warps, the shapes of tcgen05.ld. Never run on the
   hardware. */
#include <string.h>

#include "tests/ptxsim/harness.h"
#include "tests/unit/test.h"

/* ---- warps beside each other ---- */

#define ALLOC(group, columns)                                                             \
    "@%p1 tcgen05.alloc.cta_group::" group ".sync.aligned.shared::cta.b32 [sm], " columns \
    ";\nbar.sync 0; ld.shared.u32 %tm, [sm];\n"
#define DEALLOC(group, columns) \
    "bar.sync 0; @%p1 tcgen05.dealloc.cta_group::" group ".sync.aligned.b32 %tm, " columns ";\n"
#define FIRST_STORES "@!%p1 bra A; tcgen05.st.sync.aligned.32x32b.x1.b32 [%tm], {%t}; tcgen05.wait::st.sync.aligned;\n"
#define FIFTH_LOADS \
    "@!%p2 bra B; tcgen05.ld.sync.aligned.32x32b.x1.b32 {%r}, [%tm]; tcgen05.wait::ld.sync.aligned;\nB: "
#define BEFORE "tcgen05.fence::before_thread_sync; "
#define AFTER "tcgen05.fence::after_thread_sync;\n"

#define BARRIER_OF_FIRST                                                    \
    "setp.eq.u32 %p3, %t, 0; @%p3 mbarrier.init.shared::cta.b64 [sm], 2;\n" \
    "mov.u32 %r, sm; mapa.shared::cluster.u32 %r, %r, 0;\n"
#define BOTH_ARRIVE "@%p3 mbarrier.arrive.shared::cluster.b64 _, [%r];\n"
#define BLOCKS_MEET "barrier.cluster.arrive; barrier.cluster.wait;\n"

/* 160 threads: warps 0 and 4 reach the same lanes. */
static const struct small {
    const char *name;
    int check; /* -1: no report */
    const char *says, *cluster;
    const char *body;
} small[] = {
    {"in order", -1, "", "",
     ALLOC("1", "32") FIRST_STORES "A: " BEFORE "bar.sync 0; " AFTER FIFTH_LOADS DEALLOC("1", "32")},
    {"no barrier", PTXSIM_TENSOR_MEMORY, "order the two", "",
     ALLOC("1", "32") FIRST_STORES "A: " BEFORE AFTER FIFTH_LOADS DEALLOC("1", "32")},
    {"a barrier without fences", PTXSIM_TENSOR_MEMORY, "another warp has written", "",
     ALLOC("1", "32") FIRST_STORES "A: bar.sync 0; " FIFTH_LOADS DEALLOC("1", "32")},
    {"a store behind a load of another", PTXSIM_TENSOR_MEMORY, "order the two", "",
     ALLOC("1", "32") FIRST_STORES "A: " BEFORE "bar.sync 0; " AFTER FIFTH_LOADS
                                   "@!%p1 bra C; tcgen05.st.sync.aligned.32x32b.x1.b32 [%tm], {%t};\n"
                                   "tcgen05.wait::st.sync.aligned;\nC: " DEALLOC("1", "32")},
    {"a store behind a load of another that is not awaited", PTXSIM_TENSOR_MEMORY, "no tcgen05.wait::ld", "",
     ALLOC("1", "32") FIRST_STORES
     "A: " BEFORE "bar.sync 0; " AFTER "@!%p2 bra B; tcgen05.ld.sync.aligned.32x32b.x1.b32 {%r}, [%tm];\nB: " BEFORE
     "bar.sync 0; " AFTER "@!%p1 bra C; tcgen05.st.sync.aligned.32x32b.x1.b32 [%tm], {%t};\n"
     "tcgen05.wait::st.sync.aligned;\nC: " DEALLOC("1", "32")},
    {"an address for each lane", PTXSIM_TENSOR_MEMORY, "differs between lanes", "",
     ALLOC("1", "32") "@!%p1 bra A; add.u32 %r, %tm, %t; tcgen05.st.sync.aligned.32x32b.x1.b32 [%r], {%t};\n"
                      "tcgen05.wait::st.sync.aligned;\nA: " DEALLOC("1", "32")},
    {"a shift from lane 16 on", PTXSIM_TENSOR_MEMORY, "no multiple of 32", "",
     ALLOC("1", "32") "setp.eq.u32 %p3, %t, 0; add.u32 %r, %tm, 0x100000;\n"
                      "@%p3 tcgen05.shift.cta_group::1.down [%r];\n" DEALLOC("1", "32")},
    {"a commit to a block that is not there", PTXSIM_BAD_VALUE, "no such blocks", "",
     ".reg .b16 %h; mov.b16 %h, 2; setp.eq.u32 %p3, %t, 0; @%p3 mbarrier.init.shared::cta.b64 [sm+8], 1;\n" ALLOC(
         "1", "32") "@%p3 tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.multicast::cluster.b64 "
                    "[sm+8], %h;\n" DEALLOC("1", "32")},
    {"columns of the neighbour", PTXSIM_TENSOR_MEMORY, "are not allocated", "",
     ALLOC("1", "32") "@!%p1 bra A; add.u32 %r, %tm, 32; tcgen05.st.sync.aligned.32x32b.x1.b32 [%r], "
                      "{%t};\nA: " DEALLOC("1", "32")},
    {"half of it given back", PTXSIM_TENSOR_MEMORY, "not deallocated 32 columns", "",
     ALLOC("1", "64") DEALLOC("1", "32")},
    {"more given back than there is", PTXSIM_TENSOR_MEMORY, "is no allocation", "",
     ALLOC("1", "32") DEALLOC("1", "64")},
    {"a pair", -1, "", " .reqnctapercluster 2", ALLOC("2", "128") DEALLOC("2", "128")},
    {"a pair, one after the other", PTXSIM_TENSOR_MEMORY, "the other block of the pair has deallocated column",
     " .reqnctapercluster 2", ALLOC("2", "32") FIRST_STORES "A: " DEALLOC("2", "32")},
    {"a pair of two minds", PTXSIM_TENSOR_MEMORY, "has asked for", " .reqnctapercluster 2",
     "mov.u32 %r, %cluster_ctarank; shl.b32 %r, %r, 5; add.u32 %r, %r, 32;\n" ALLOC("2", "%r") DEALLOC("2", "%r")},
    {"a pair that ends together", -1, "", " .reqnctapercluster 2",
     ALLOC("2", "32") FIRST_STORES "A: " BLOCKS_MEET DEALLOC("2", "32")},
    {"a barrier of another block", -1, "", " .reqnctapercluster 2",
     BARRIER_OF_FIRST BLOCKS_MEET BOTH_ARRIVE BLOCKS_MEET ALLOC("1", "32") DEALLOC("1", "32")},
    {"a barrier of another block that has not been met", PTXSIM_MBARRIER, "no barrier comes between",
     " .reqnctapercluster 2", BARRIER_OF_FIRST BOTH_ARRIVE BLOCKS_MEET ALLOC("1", "32") DEALLOC("1", "32")},
    {"a pair that is none", PTXSIM_TENSOR_MEMORY, "no pair of blocks", "",
     "@%p1 tcgen05.alloc.cta_group::2.sync.aligned.shared::cta.b32 [sm], 32;\n"},
    {"more than there is", PTXSIM_DEADLOCK, "for ever", "",
     ALLOC("1", "512") "@%p1 tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [sm+4], 32;\n" DEALLOC("1",
                                                                                                            "512")},
};

/* ptxas refuses it, too. */
static const struct small two_groups = {"two groups", PTXSIM_TENSOR_MEMORY, "another cta_group",
                                        " .reqnctapercluster 2", ALLOC("2", "32") DEALLOC("1", "32")};

static bool is_reported(const ptxsim *sim, const struct small *k)
{
    for (size_t i = 0; i < ptxsim_report_count(sim); i++)
        if ((int)ptxsim_report_at(sim, i)->check == k->check && strstr(ptxsim_report_at(sim, i)->text, k->says))
            return true;
    return false;
}

static void check_small(const struct small *k, bool is_assembled)
{
    char text[3000], error[300];
    int size =
        snprintf(text, sizeof text,
                 ".version 8.8\n.target sm_100a\n.address_size 64\n.visible .entry k() .reqntid 160%s\n{\n"
                 ".reg .b32 %%t, %%w, %%tm, %%r; .reg .pred %%p<4>;\n.shared .align 16 .b8 sm[16];\n"
                 "mov.u32 %%t, %%tid.x; shr.u32 %%w, %%t, 5; setp.eq.u32 %%p1, %%w, 0; setp.eq.u32 %%p2, %%w, 4;\n"
                 "%sret;\n}\n",
                 k->cluster, k->body);
    ptxsim *sim = ptxsim_load(text, (size_t)size, error, sizeof error);
    CHECK_MSG(sim, "%s: %s", k->name, error);
    if (!sim)
        return;
    ptxsim_launch launch = {.grid = {*k->cluster ? 2 : 1, 1, 1}, .seed = 1};
    bool fine = ptxsim_run(sim, &launch);
    CHECK_MSG(k->check < 0 ? fine : !fine && is_reported(sim, k), "%s: %s", k->name, ptxsim_report_text(sim));
    if (is_assembled)
        CHECK(harness_ptxas(text, (size_t)size, "sm_100a"));
    ptxsim_free(sim);
}

/* ---- shapes ---- */

/* Strides of a thread's bits and of its registers' bits in lanes and columns, as the figures of the ISA show them: a
   thread's number is cut into parts of the given sizes. */
static const struct shape {
    const char *name;
    unsigned lanes, registers; /* of .x2 */
    struct part {
        unsigned size, lane, column;
    } thread[3], element[3];
    bool packs;
} shapes[] = {
    {"32x32b.x2", 32, 2, {{32, 1, 0}, {1, 0, 0}, {1, 0, 0}}, {{2, 0, 1}, {1, 0, 0}, {1, 0, 0}}, false},
    {"16x64b.x2", 16, 2, {{2, 8, 0}, {2, 0, 1}, {8, 1, 0}}, {{2, 0, 2}, {1, 0, 0}, {1, 0, 0}}, false},
    {"16x128b.x2", 16, 4, {{4, 0, 1}, {8, 1, 0}, {1, 0, 0}}, {{2, 8, 0}, {2, 0, 4}, {1, 0, 0}}, false},
    {"16x256b.x2", 16, 8, {{4, 0, 2}, {8, 1, 0}, {1, 0, 0}}, {{2, 0, 1}, {2, 8, 0}, {2, 0, 8}}, false},
    {"16x32bx2.x2", 16, 2, {{16, 1, 0}, {2, 0, 32}, {1, 0, 0}}, {{2, 0, 1}, {1, 0, 0}, {1, 0, 0}}, false},
    {"32x32b.x2.pack::16b", 32, 2, {{32, 1, 0}, {1, 0, 0}, {1, 0, 0}}, {{2, 0, 2}, {1, 0, 0}, {1, 0, 0}}, true},
    {"16x64b.x2.pack::16b", 16, 2, {{2, 8, 0}, {2, 0, 2}, {8, 1, 0}}, {{2, 0, 4}, {1, 0, 0}, {1, 0, 0}}, true},
};

static void add_parts(const struct part *parts, unsigned number, unsigned *lane, unsigned *column)
{
    for (unsigned i = 0; i < 3; i++) {
        *lane += number % parts[i].size * parts[i].lane;
        *column += number % parts[i].size * parts[i].column;
        number /= parts[i].size;
    }
}

static void write_shape(bc_text *t, const struct shape *s)
{
    const char *second = strstr(s->name, "bx2") ? ", 32" : "";
    bc_text_init(t, NULL);
    bc_text_puts(t, ".version 8.8\n.target sm_100a\n.address_size 64\n.visible .entry k(.param .u64 q) .reqntid 32\n{\n"
                    ".reg .b64 %o; .reg .b32 %t, %r, %c, %tm, %v<8>; .reg .pred %p;\n.shared .align 16 .b8 sm[16];\n"
                    "ld.param.u64 %o, [q]; mov.u32 %t, %tid.x; mad.wide.u32 %o, %t, 32, %o;\n"
                    "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [sm], 64;\n"
                    "bar.warp.sync -1; ld.shared.u32 %tm, [sm]; mov.u32 %c, 0; shl.b32 %v0, %t, 16; mov.u32 %r, %tm;\n"
                    "L: tcgen05.st.sync.aligned.32x32b.x1.b32 [%r], {%v0}; add.u32 %v0, %v0, 1; add.u32 %r, %r, 1;\n"
                    "add.u32 %c, %c, 1; setp.lt.u32 %p, %c, 64; @%p bra L;\ntcgen05.wait::st.sync.aligned;\n");
    bc_text_printf(t, "tcgen05.ld.sync.aligned.%s.b32 {", s->name);
    for (unsigned i = 0; i < s->registers; i++)
        bc_text_printf(t, "%s%%v%u", i ? ", " : "", i);
    bc_text_printf(t, "}, [%%tm]%s;\ntcgen05.wait::ld.sync.aligned;\n", second);
    for (unsigned i = 0; i < s->registers; i++)
        bc_text_printf(t, "st.global.u32 [%%o+%u], %%v%u;\n", 4 * i, i);
    bc_text_puts(t, "tcgen05.dealloc.cta_group::1.sync.aligned.b32 %tm, 64;\nret;\n}\n");
}

static void check_shape(const struct shape *s)
{
    char error[300];
    uint32_t out[32][8] = {{0}};
    bc_text text;
    write_shape(&text, s);
    ptxsim *sim = ptxsim_load(text.ptr, text.len, error, sizeof error);
    CHECK_MSG(sim, "%s: %s", s->name, error);
    CHECK(harness_ptxas(text.ptr, text.len, "sm_100a"));
    if (sim) {
        uint64_t to = ptxsim_buffer_add(sim, out, sizeof out, "q");
        ptxsim_launch launch = {.grid = {1, 1, 1}, .params = (const void *const[]){&to}, .seed = 5};
        CHECK_MSG(ptxsim_run(sim, &launch), "%s: %s", s->name, ptxsim_report_text(sim));
    }
    for (unsigned thread = 0; thread < 32; thread++)
        for (unsigned r = 0; r < s->registers; r++) {
            unsigned lane = 0, column = 0;
            add_parts(s->thread, thread, &lane, &column);
            add_parts(s->element, r, &lane, &column);
            uint32_t wanted = s->packs ? column | (column + 1) << 16 : lane << 16 | column;
            CHECK_MSG(out[thread][r] == wanted, "%s: thread %u, register %u: 0x%x, not 0x%x", s->name, thread, r,
                      (unsigned)out[thread][r], (unsigned)wanted);
        }
    ptxsim_free(sim);
    bc_text_release(&text);
}

/* What is refused when it is read, with the words that say why. */
static void check_refused(void)
{
    static const char *const refused[][2] = {
        {"tcgen05.mma.sp.cta_group::1.kind::f16 [%r0], %d0, %d0, [%r1], %r0, %p0;",
         "sparse products are not supported"},
        {"tcgen05.mma.kind::f16 [%r0], %d0, %d0, %r0, %p0;", "cta_group::1 or"},
        {"tcgen05.mma.cta_group::1.kind::mxf4 [%r0], %d0, %d0, %r0, [%r1], [%r1], %p0;", ".block_scale"},
        {"tcgen05.mma.cta_group::1.kind::mxf4nvf4.block_scale [%r0], %d0, %d0, %r0, [%r1], [%r1], %p0;",
         ".block_scale"},
        {"tcgen05.mma.ws.cta_group::2.kind::f16 [%r0], %d0, %d0, %r0, %p0;", ".ws goes with"},
        {"tcgen05.cp.cta_group::1.128x256b.b8x16.b4x16_p64 [%r0], %d0;", "b8x16"},
        {"tcgen05.ld.sync.aligned.32x32b.x2.b32 {%r0}, [%r1];", "1 registers, expected 2"},
        {"tcgen05.ld.aligned.32x32b.x1.b32 {%r0}, [%r1];", "wants .sync.aligned"},
        {"tcgen05.commit.cta_group::1.b64 [%r0];", "mbarrier::arrive::one"},
        {"tcgen05.mma.cta_group::1.kind::f16.ashift [%r0], %d0, %d0, %r0, %p0;", "modifier '.ashift'"},
        {"tcgen05.shift.cta_group::1 [%r0];", "wants .down"},
        {"tcgen05.alloc.cta_group::1.shared::cta.b32 [%r0], 32;", "wants .sync.aligned"},
        {"tcgen05.dealloc.cta_group::1.sync.aligned %r0, 32;", "wants .b32"},
        {"tcgen05.cp.cta_group::1.64x64b [%r0], %d0;", "no such shape"},
        {"tcgen05.ld.sync.aligned.16x256b.x64.b32 {%r0}, [%r1];", "no such number"},
        {"tcgen05.ld.sync.aligned.16x32bx2.x1.b32 {%r0}, [%r1], %r2;", "must be an immediate"},
    };
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        char text[600], error[300] = "";
        int size =
            snprintf(text, sizeof text,
                     ".version 8.8\n.target sm_100a\n.address_size 64\n.visible .entry k()\n{\n.reg .b32 %%r<4>; .reg "
                     ".b64 %%d<2>; .reg .pred %%p<2>;\n%s\nret;\n}\n",
                     refused[i][0]);
        ptxsim *sim = ptxsim_load(text, (size_t)size, error, sizeof error);
        CHECK_MSG(!sim && strstr(error, refused[i][1]), "%s: %s", refused[i][0], error);
        ptxsim_free(sim);
    }
}

int main(void)
{
    for (size_t i = 0; i < sizeof small / sizeof *small; i++)
        check_small(&small[i], true);
    check_small(&two_groups, false);
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        check_shape(&shapes[i]);
    check_refused();
    return TEST_END("ptxsim_tmem");
}
