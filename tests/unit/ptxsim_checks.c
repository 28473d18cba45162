/* What the simulator finds: for each check a kernel that must be reported, and one like it that must not. */
#include <string.h>

#include "tests/ptxsim/harness.h"
#include "tests/unit/test.h"

#define CLEAN PTXSIM_CHECK_COUNT
enum { BUFFER = 4096 };

/* The body sees %base (a buffer of 4096 zero bytes), %t, %ln = %t & 31, %own = shared address of word %t, %sh. */
typedef struct example {
    const char *name;
    unsigned threads;
    ptxsim_check expected; /* CLEAN: no report */
    const char *says;      /* part of the report's text */
    const char *body;
} example;

#define HEADER                                         \
    ".version 8.6\n.target sm_90a\n.address_size 64\n" \
    ".extern .func (.param .b64 result) malloc (.param .b64 bytes);\n.extern .func free (.param .b64 address);\n"
/* %d0 is what malloc gives; free of it. */
#define MALLOC(bytes) \
    "{ .param .b64 n, r; st.param.b64 [n], " bytes "; call (r), malloc, (n); ld.param.b64 %d0, [r]; }\n"
#define FREE "{ .param .b64 n; st.param.b64 [n], %d0; call free, (n); }\n"
#define WAIT_ALL "cp.async.commit_group;\ncp.async.wait_group 0;\n"
#define COPY "cp.async.ca.shared.global [%own], [%base], 4;\n"
#define MINE "mul.wide.u32 %d1, %t, 4; add.u64 %d1, %d1, %base; "
/* Brings so many bytes to the start of shared memory; the mbarrier lies behind them. */
#define BULK(bytes)                                                          \
    "mbarrier.init.shared.b64 [%sh+512], 1; fence.proxy.async.shared::cta; " \
    "mbarrier.arrive.expect_tx.shared.b64 _, [%sh+512], 16;\n"               \
    "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%sh], [%base], " bytes ", [%sh+512];\n"
#define BULK_WAIT "WAIT: mbarrier.try_wait.parity.shared.b64 %p2, [%sh+512], 0; @!%p2 bra WAIT;\n"
#define NEXT "add.u32 %r1, %t, 32; and.b32 %r1, %r1, 63; shl.b32 %r1, %r1, 2; add.u32 %r1, %r1, %sh;\n"

/* Warp 0 ends two phases of an mbarrier, the second one behind a flag that warp 1 sets when it has seen the first. */
#define TWO_PHASES(sets, reads)                                                                                      \
    "setp.eq.u32 %p0, %t, 0; @%p0 mbarrier.init.shared.b64 [%sh+512], 1; @%p0 st.shared.u32 [%sh+520], 0; bar.sync " \
    "0; setp.lt.u32 %p1, %t, 32; @!%p1 bra WAIT; @%p0 mbarrier.arrive.shared.b64 %d0, [%sh+512];\n"                  \
    "FLAG: ld." reads ".cta.shared.u32 %r2, [%sh+520]; setp.eq.u32 %p2, %r2, 0; @%p2 bra FLAG; @%p0 "                \
    "mbarrier.arrive.shared.b64 %d0, [%sh+512]; bra END;\n"                                                          \
    "WAIT: mbarrier.try_wait.parity.shared.b64 %p2, [%sh+512], 0; @!%p2 bra WAIT; setp.eq.u32 %p0, %t, 32; @%p0 "    \
    "st." sets ".cta.shared.u32 [%sh+520], 1; END:"

static const example examples[] = {
    {"a read behind the buffer", 1, PTXSIM_OUT_OF_BOUNDS, "byte 4096 of buffer 'p' (4096 bytes)",
     "ld.global.u32 %r0, [%base+4096];"},
    {"the last word of it", 1, CLEAN, "", "ld.global.u32 %r0, [%base+4092];"},
    {"a read in front of the buffer", 1, PTXSIM_OUT_OF_BOUNDS, "no memory", "ld.global.u32 %r0, [%base+-8];"},
    {"a write behind shared memory", 1, PTXSIM_OUT_OF_BOUNDS, "shared memory", "st.shared.u32 [%sh+1024], %t;"},
    {"a vector that begins inside", 1, PTXSIM_OUT_OF_BOUNDS, "writes 16 bytes",
     "st.global.v4.u32 [%base+4096], {%t, %t, %t, %t};"},
    {"a global access to a shared address", 1, PTXSIM_OUT_OF_BOUNDS, "",
     "cvta.shared.u64 %d1, %d0; st.global.u32 [%d1], %t;"},
    {"a local variable", 1, PTXSIM_OUT_OF_BOUNDS, "local memory", ".local .b32 v[2]; st.local.u32 [v+8], %t;"},
    {"inside the local variable", 1, CLEAN, "", ".local .b32 v[2]; st.local.u32 [v+4], %t;"},
    {"memory of malloc", 1, CLEAN, "", MALLOC("24") "st.global.u64 [%d0+16], %d0; ld.global.u64 %d1, [%d0+16];\n" FREE},
    {"a write behind it", 1, PTXSIM_OUT_OF_BOUNDS, "buffer 'malloc' (24 bytes)",
     MALLOC("24") "st.global.u32 [%d0+24], %t;"},
    {"a read of it after free", 1, PTXSIM_OUT_OF_BOUNDS, "", MALLOC("24") FREE "ld.global.u32 %r0, [%d0];"},
    {"two times free", 1, PTXSIM_BAD_VALUE, "free already", MALLOC("24") FREE FREE},
    {"more than there is", 1, CLEAN, "",
     MALLOC("8388609") "setp.ne.u64 %p0, %d0, 0; @!%p0 bra END; st.shared.u64 [%sh+1024], %d0; END:"},
    {"a misaligned word", 1, PTXSIM_MISALIGNED, "4-byte alignment", "ld.global.u32 %r0, [%base+2];"},
    {"a misaligned vector", 1, PTXSIM_MISALIGNED, "16-byte alignment",
     "ld.global.v4.u32 {%r0, %r1, %r2, %r3}, [%base+8];"},
    {"an aligned vector", 1, CLEAN, "", "ld.global.v4.u32 {%r0, %r1, %r2, %r3}, [%base+16];"},

    {"a register without a value", 1, PTXSIM_UNINITIALISED_REGISTER, "%r1", "add.u32 %r0, %r1, 1;"},
    {"a value on one path only", 32, PTXSIM_UNINITIALISED_REGISTER, "%r1",
     "setp.lt.u32 %p0, %t, 7; @%p0 mov.u32 %r1, 5; add.u32 %r0, %r1, 1;"},
    {"a value on both paths", 32, CLEAN, "",
     "setp.lt.u32 %p0, %t, 7; @%p0 mov.u32 %r1, 5; @!%p0 mov.u32 %r1, 6; add.u32 %r0, %r1, 1;"},
    {"a guard without a value", 1, PTXSIM_UNINITIALISED_REGISTER, "guard", "@%p0 mov.u32 %r0, 1;"},
    {"shared memory nobody wrote", 1, PTXSIM_UNINITIALISED_SHARED, "nobody has written", "ld.shared.u32 %r0, [%sh];"},
    {"half of it", 1, PTXSIM_UNINITIALISED_SHARED, "", "st.shared.u32 [%sh], %t; ld.shared.v2.u32 {%r0, %r1}, [%sh];"},

    {"a missing barrier", 64, PTXSIM_RACE, "without a barrier",
     "st.shared.u32 [%own], %t;\n" NEXT "ld.shared.u32 %r0, [%r1];"},
    {"the barrier", 64, CLEAN, "", "st.shared.u32 [%own], %t;\nbar.sync 0;\n" NEXT "ld.shared.u32 %r0, [%r1];"},
    {"a missing barrier before the next write", 64, PTXSIM_RACE, "",
     "st.shared.u32 [%own], %t;\nbar.sync 0;\n" NEXT "ld.shared.u32 %r0, [%r1];\nst.shared.u32 [%own], %r0;"},
    {"both barriers", 64, CLEAN, "",
     "st.shared.u32 [%own], %t;\nbar.sync 0;\n" NEXT
     "ld.shared.u32 %r0, [%r1];\nbar.sync 0;\nst.shared.u32 [%own], %r0;"},
    {"many readers, then a write", 128, PTXSIM_RACE, "",
     "st.shared.u32 [%own], %t;\nbar.sync 0;\nld.shared.u32 %r0, [%sh];\nsetp.eq.u32 %p0, %t, 0;\n@%p0 st.shared.u32 "
     "[%sh], 7;"},
    {"two warps write different values", 64, PTXSIM_RACE, "has written", "st.shared.u32 [%sh], %t;"},
    {"bytes of one word", 64, CLEAN, "", "add.u32 %r0, %sh, %t; st.shared.u8 [%r0], %t;"},
    {"atomics of all warps", 128, CLEAN, "",
     "setp.eq.u32 %p0, %t, 0; @%p0 st.shared.u32 [%sh], 0; bar.sync 0;"
     " atom.shared.add.u32 %r0, [%sh], 1; bar.sync 0; ld.shared.u32 %r1, [%sh];"},
    {"a read beside atomics", 64, PTXSIM_RACE, "",
     "setp.eq.u32 %p0, %t, 0; @%p0 st.shared.u32 [%sh], 0; bar.sync 0;"
     " setp.lt.u32 %p1, %t, 32; @%p1 atom.shared.add.u32 %r0, [%sh], 1; @!%p1 ld.shared.u32 %r1, [%sh];"},
    {"a named barrier of two warps", 128, CLEAN, "",
     "st.shared.u32 [%own], %t; shr.u32 %r2, %t, 6; add.u32 %r2, %r2, 1; bar.sync %r2, 64; xor.b32 %r1, %t, 32;"
     " shl.b32 %r1, %r1, 2; add.u32 %r1, %r1, %sh; ld.shared.u32 %r0, [%r1];"},
    {"a named barrier of the wrong warps", 128, PTXSIM_RACE, "",
     "st.shared.u32 [%own], %t; shr.u32 %r2, %t, 6; add.u32 %r2, %r2, 1; bar.sync %r2, 64; xor.b32 %r1, %t, 64;"
     " shl.b32 %r1, %r1, 2; add.u32 %r1, %r1, %sh; ld.shared.u32 %r0, [%r1];"},
    {"arrive and sync: a producer and a consumer", 64, CLEAN, "",
     "setp.lt.u32 %p0, %t, 32; @!%p0 bra CONSUMER; st.shared.u32 [%own], %t; bar.arrive 1, 64; bra END;"
     "CONSUMER: bar.sync 1, 64; sub.u32 %r1, %own, 128; ld.shared.u32 %r0, [%r1]; END:"},

    {"global memory without a barrier", 64, PTXSIM_RACE, "of buffer 'p', which warp",
     MINE "st.global.u32 [%d1], %t; xor.b32 %r1, %t, 32; mul.wide.u32 %d2, %r1, 4; add.u64 %d2, %d2, %base; "
          "ld.global.u32 %r0, [%d2];"},
    {"global memory with it", 64, CLEAN, "",
     MINE "st.global.u32 [%d1], %t; bar.sync 0; xor.b32 %r1, %t, 32; mul.wide.u32 %d2, %r1, 4; add.u64 %d2, %d2, %base;"
          " ld.global.u32 %r0, [%d2]; bar.sync 0; st.global.u32 [%d1], %r0;"},
    {"a write to what others still read", 64, PTXSIM_RACE, "",
     MINE "ld.global.u32 %r0, [%base+252]; st.global.u32 [%d1], %r0;"},
    {"one op writes an element twice", 64, CLEAN, "", "st.global.u32 [%base], %t; st.global.u32 [%base+4], %t;"},
    {"two ops write an element", 64, PTXSIM_RACE, "has written",
     "add.u32 %r0, %t, 100; bra A;\n// the other op\nA: st.global.u32 [%base], %t;\n// op\nst.global.u32 [%base], "
     "%r0;"},
    {"two threads add to an element", 64, CLEAN, "",
     "red.global.add.u32 [%base], %t;\n// the second\nred.global.add.u32 [%base], 100;"},

    {"lanes of a warp without bar.warp.sync", 32, PTXSIM_LANE_CONFLICT, "bar.warp.sync",
     "st.shared.u32 [%own], %t; xor.b32 %r1, %own, 4; ld.shared.u32 %r0, [%r1];"},
    {"with it", 32, CLEAN, "",
     "st.shared.u32 [%own], %t; bar.warp.sync 0xFFFFFFFF; xor.b32 %r1, %own, 4; ld.shared.u32 %r0, [%r1];"},
    {"lanes write different values to a word", 32, PTXSIM_LANE_CONFLICT, "", "st.shared.u32 [%sh], %t;"},
    {"lanes write the same value to a word", 32, CLEAN, "", "st.shared.u32 [%sh], 5;"},

    {"a copy read before the wait", 32, PTXSIM_ASYNC, "asynchronous copy of line",
     COPY "cp.async.commit_group;\nld.shared.u32 %r0, [%own];"},
    {"a copy read after the wait", 32, CLEAN, "", COPY WAIT_ALL "ld.shared.u32 %r0, [%own];"},
    {"a copy that was not committed", 32, PTXSIM_ASYNC, "", COPY "cp.async.wait_group 0;\nld.shared.u32 %r0, [%own];"},
    {"wait_all needs no commit", 32, CLEAN, "", COPY "cp.async.wait_all;\nld.shared.u32 %r0, [%own];"},
    {"a source that is written before the wait", 32, PTXSIM_ASYNC, "written since the copy began",
     MINE "cp.async.ca.shared.global [%own], [%d1], 4; add.u32 %r0, %t, 1000; st.global.u32 [%d1], %r0;\n" WAIT_ALL},
    {"a source that is written after the wait", 32, CLEAN, "",
     MINE "cp.async.ca.shared.global [%own], [%d1], 4; add.u32 %r0, %t, 1000;\n" WAIT_ALL "st.global.u32 [%d1], %r0;"},
    {"one group may still be on its way", 32, PTXSIM_ASYNC, "",
     COPY "cp.async.commit_group;\ncp.async.wait_group 1;\nld.shared.u32 %r0, [%own];"},
    {"an older group is there", 32, CLEAN, "",
     COPY "cp.async.commit_group;\ncp.async.commit_group;\ncp.async.wait_group 1;\nld.shared.u32 %r0, [%own];"},
    {"another thread's copy without a barrier", 64, PTXSIM_RACE, "", COPY WAIT_ALL NEXT "ld.shared.u32 %r0, [%r1];"},
    {"another thread's copy", 64, CLEAN, "", COPY WAIT_ALL "bar.sync 0;\n" NEXT "ld.shared.u32 %r0, [%r1];"},
    {"a copy into what others read", 64, PTXSIM_RACE, "",
     COPY WAIT_ALL "bar.sync 0;\n" NEXT "ld.shared.u32 %r0, [%r1];\n" COPY WAIT_ALL},
    {"a copy of too many bytes", 1, PTXSIM_BAD_VALUE, "8 of 4",
     "mov.u32 %r0, 8; cp.async.ca.shared.global [%sh], [%base], 4, %r0; cp.async.wait_all;"},
    {"a copy of zeros", 1, CLEAN, "",
     "mov.u32 %r0, 0; cp.async.cg.shared.global [%sh], [%base+65536], 16, %r0; cp.async.wait_all; ld.shared.u32 %r1, "
     "[%sh];"},

    {"a barrier that half a warp skips", 64, PTXSIM_DIVERGENT, ".aligned", "setp.lt.u32 %p0, %t, 16; @%p0 bar.sync 0;"},
    {"a barrier that a warp skips", 64, PTXSIM_DEADLOCK, "waits at barrier 1",
     "setp.lt.u32 %p0, %t, 32; @%p0 bar.sync 1, 64; bar.sync 0;"},
    {"a barrier after the others have exited", 64, CLEAN, "", "setp.lt.u32 %p0, %t, 32; @%p0 exit; bar.sync 0;"},
    {"two numbers of threads", 64, PTXSIM_BARRIER, "another number",
     "setp.lt.u32 %p0, %t, 32; @%p0 bra A; bar.sync 1, 96; bra END; A: bar.sync 1, 64; END:"},
    {"an odd number of threads", 32, PTXSIM_BARRIER, "multiple of 32", "mov.u32 %r1, 40; bar.sync 1, %r1;"},
    {"a wait for lanes that branched away", 32, PTXSIM_INACTIVE_LANES, "of its mask 0xffffffff",
     "setp.lt.u32 %p0, %t, 16; @%p0 bra END; shfl.sync.bfly.b32 %r0, %t, 1, 31, -1; END:"},
    {"an exchange of those who are there", 32, CLEAN, "",
     "setp.lt.u32 %p0, %t, 16; @%p0 bra END; shfl.sync.bfly.b32 %r0, %t, 1, 31, 0xFFFF0000; END:"},
    {"lanes that come later", 32, CLEAN, "",
     "setp.lt.u32 %p0, %t, 16; @%p0 bra A; mov.u32 %r1, 1; mov.u32 %r2, 2; bra B; A: mov.u32 %r1, 3; B: "
     "shfl.sync.bfly.b32 %r0, %r1, 1, 31, -1;"},
    {"a shuffle from outside the mask", 32, PTXSIM_INACTIVE_LANES, "reads lane",
     "setp.lt.u32 %p0, %t, 16; @!%p0 bra END; shfl.sync.bfly.b32 %r0, %t, 16, 31, 0xFFFF; END:"},
    {"a lane outside its own mask", 32, PTXSIM_INACTIVE_LANES, "not in its mask",
     "vote.sync.ballot.b32 %r0, 1, 0xFFFF;"},
    {"ldmatrix in half a warp", 32, PTXSIM_DIVERGENT, "",
     "st.shared.v4.u32 [%sh], {%ln, %ln, %ln, %ln}; setp.lt.u32 %p0, %t, 16;"
     " @%p0 ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r0}, [%sh];"},

    {"an mbarrier that is none", 1, PTXSIM_MBARRIER, "no initialised mbarrier",
     "mbarrier.arrive.shared.b64 %d0, [%sh];"},
    {"a hand-over through an mbarrier", 64, CLEAN, "",
     "setp.eq.u32 %p0, %t, 0; @%p0 mbarrier.init.shared.b64 [%sh+512], 32; bar.sync 0; setp.lt.u32 %p1, %t, 32; @!%p1 "
     "bra WAIT;"
     " st.shared.u32 [%own], %t; mbarrier.arrive.shared.b64 %d0, [%sh+512]; bra END;"
     "WAIT: mbarrier.try_wait.parity.shared.b64 %p2, [%sh+512], 0; @!%p2 bra WAIT; sub.u32 %r1, %own, 128; "
     "ld.shared.u32 %r0, [%r1]; END:"},
    {"the same without waiting", 64, PTXSIM_RACE, "",
     "setp.eq.u32 %p0, %t, 0; @%p0 mbarrier.init.shared.b64 [%sh+512], 32; bar.sync 0; setp.lt.u32 %p1, %t, 32; @!%p1 "
     "bra WAIT;"
     " st.shared.u32 [%own], %t; mbarrier.arrive.shared.b64 %d0, [%sh+512]; bra END;"
     "WAIT: nanosleep.u32 20; nanosleep.u32 20; sub.u32 %r1, %own, 128; ld.shared.u32 %r0, [%r1]; END:"},
    {"an mbarrier for copies", 64, CLEAN, "",
     "setp.eq.u32 %p0, %t, 0; @%p0 mbarrier.init.shared.b64 [%sh+512], 64; bar.sync 0;\n" COPY
     "cp.async.mbarrier.arrive.noinc.shared.b64 [%sh+512];\nWAIT: mbarrier.test_wait.parity.shared.b64 %p2, [%sh+512], "
     "0; @!%p2 bra WAIT;\n" NEXT "ld.shared.u32 %r0, [%r1];"},
    {"copies that arrive at an mbarrier, read without a wait", 32, PTXSIM_ASYNC, "may be writing it",
     "setp.eq.u32 %p0, %t, 0; @%p0 mbarrier.init.shared.b64 [%sh+512], 32; bar.warp.sync -1;\n" COPY
     "cp.async.mbarrier.arrive.noinc.shared.b64 [%sh+512];\nld.shared.u32 %r0, [%own];"},
    {"the same behind a wait for the group", 32, CLEAN, "",
     "setp.eq.u32 %p0, %t, 0; @%p0 mbarrier.init.shared.b64 [%sh+512], 32; bar.warp.sync -1;\n" COPY
     "cp.async.mbarrier.arrive.noinc.shared.b64 [%sh+512];\n" WAIT_ALL "ld.shared.u32 %r0, [%own];"},
    {"what was written behind an arrival of copies", 64, PTXSIM_RACE, "",
     "setp.eq.u32 %p0, %t, 0; @%p0 mbarrier.init.shared.b64 [%sh+512], 32; bar.sync 0; setp.lt.u32 %p1, %t, 32;\n"
     "@!%p1 bra WAIT; cp.async.mbarrier.arrive.noinc.shared.b64 [%sh+512]; st.shared.u32 [%own], %t; bra END;\n"
     "WAIT: mbarrier.test_wait.parity.shared.b64 %p2, [%sh+512], 0; @!%p2 bra WAIT; sub.u32 %r1, %own, 128;\n"
     "st.shared.u32 [%r1], 7; END:"},
    {"an mbarrier nobody completes", 32, PTXSIM_DEADLOCK, "waits here for ever",
     "setp.eq.u32 %p0, %t, 0; @%p0 mbarrier.init.shared.b64 [%sh+512], 33; bar.warp.sync -1; "
     "mbarrier.arrive.shared.b64 %d0, [%sh+512];"
     "WAIT: mbarrier.try_wait.shared.b64 %p2, [%sh+512], %d0; @!%p2 bra WAIT;"},
    {"a phase that may end while another warp still waits for the last one", 64, PTXSIM_MBARRIER, "may end before",
     TWO_PHASES("relaxed", "relaxed")},
    {"the same behind its wait", 64, CLEAN, "", TWO_PHASES("release", "acquire")},
    {"too many arrivals", 32, PTXSIM_MBARRIER, "only 0 are pending",
     "setp.eq.u32 %p0, %t, 0; @%p0 mbarrier.init.shared.b64 [%sh+512], 1; bar.warp.sync -1;"
     " @%p0 mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%sh+512], 16; mbarrier.arrive.shared.b64 %d0, [%sh+512];"},

    {"an mbarrier of no arrivals", 1, PTXSIM_MBARRIER, "0 arrivals",
     "mov.u32 %r0, 0; mbarrier.init.shared.b64 [%sh+512], %r0;"},
    {"an mbarrier made twice", 1, PTXSIM_MBARRIER, "already",
     "mbarrier.init.shared.b64 [%sh+512], 1; mbarrier.init.shared.b64 [%sh+512], 1;"},
    {"a bulk copy", 1, CLEAN, "", BULK("16") BULK_WAIT "ld.shared.u32 %r0, [%sh];"},
    {"a bulk copy of half as much", 1, PTXSIM_BAD_VALUE, "not a multiple of 16", "mov.u32 %r0, 8;" BULK("%r0")},
    {"its mbarrier is gone", 1, PTXSIM_MBARRIER, "is gone", BULK("16") "mbarrier.inval.shared.b64 [%sh+512];"},
    {"its source is written", 1, PTXSIM_ASYNC, "since the copy began",
     BULK("16") "st.global.u32 [%base], 1;" BULK_WAIT},

    {"a release and an acquire through a flag", 64, CLEAN, "",
     "setp.eq.u32 %p0, %t, 0; @%p0 st.shared.u32 [%sh+512], 0; bar.sync 0; setp.lt.u32 %p1, %t, 32; @!%p1 bra WAIT;"
     " st.shared.u32 [%own], %t; bar.warp.sync -1; setp.eq.u32 %p0, %t, 0; @%p0 st.release.cta.shared.u32 [%sh+512], "
     "1; bra END;"
     "WAIT: ld.acquire.cta.shared.u32 %r2, [%sh+512]; setp.eq.u32 %p2, %r2, 0; @%p2 bra WAIT; sub.u32 %r1, %own, 128; "
     "ld.shared.u32 %r0, [%r1];"
     " END:"},
    {"a flag that orders nothing", 64, PTXSIM_RACE, "",
     "setp.eq.u32 %p0, %t, 0; @%p0 st.shared.u32 [%sh+512], 0; bar.sync 0; setp.lt.u32 %p1, %t, 32; @!%p1 bra WAIT;"
     " st.shared.u32 [%own], %t; bar.warp.sync -1; setp.eq.u32 %p0, %t, 0; @%p0 st.relaxed.cta.shared.u32 [%sh+512], "
     "1; bra END;"
     "WAIT: ld.relaxed.cta.shared.u32 %r2, [%sh+512]; setp.eq.u32 %p2, %r2, 0; @%p2 bra WAIT; sub.u32 %r1, %own, 128; "
     "ld.shared.u32 %r0, [%r1];"
     " END:"},

    {"trap", 1, PTXSIM_TRAP, "trap", "trap;"},
    {"a loop without end", 1, PTXSIM_STEP_LIMIT, "stopped", "L: bra L;"},
};

static void write_example(bc_text *t, unsigned index, const example *e)
{
    bc_text_printf(t,
                   ".visible .entry k%u(.param .u64 p) .reqntid %u\n{\n.reg .b64 %%base, %%d<4>;\n.reg .b32 %%t, %%ln, "
                   "%%own, %%sh, "
                   "%%r<8>;\n.reg .pred %%p<4>;\n.shared .align 16 .b8 buf[1024];\nld.param.u64 %%base, [p];\nmov.u32 "
                   "%%t, %%tid.x;\n"
                   "and.b32 %%ln, %%t, 31;\nmov.u32 %%sh, buf;\nmov.u64 %%d0, buf;\nshl.b32 %%own, %%t, 2;\n"
                   "add.u32 %%own, %%own, %%sh;\n// op %u\n",
                   index, e->threads, index);
    bc_text_puts(t, e->body);
    bc_text_puts(t, "\nret;\n}\n");
}

static const ptxsim_report *find_report(const ptxsim *sim, const example *e)
{
    for (size_t i = 0; i < ptxsim_report_count(sim); i++) {
        const ptxsim_report *r = ptxsim_report_at(sim, i);
        if (r->check == e->expected && strstr(r->text, e->says))
            return r;
    }
    return NULL;
}

static void check_example(unsigned index, const example *e)
{
    static unsigned char buffer[BUFFER];
    char error[256], comment[16];
    bc_text text;
    bc_text_init(&text, NULL);
    bc_text_puts(&text, HEADER);
    write_example(&text, index, e);
    ptxsim *sim = ptxsim_load(text.ptr, text.len, error, sizeof error);
    CHECK_MSG(sim != NULL, "%s: %s", e->name, error);
    snprintf(comment, sizeof comment, "op %u", index);
    for (uint64_t seed = 0; sim && seed < 4; seed++) {
        ptxsim_buffers_clear(sim);
        memset(buffer, 0, sizeof buffer);
        uint64_t address = ptxsim_buffer_add(sim, buffer, sizeof buffer, "p");
        ptxsim_launch launch = {.grid = {1, 1, 1},
                                .params = (const void *const[]){&address},
                                .seed = seed,
                                .step_limit = 200000};
        bool clean = ptxsim_run(sim, &launch);
        const ptxsim_report *r = clean ? NULL : find_report(sim, e);
        bool right = e->expected == CLEAN ? clean : r != NULL;
        CHECK_MSG(right, "%s (seed %u): %s", e->name, (unsigned)seed, clean ? "no report" : ptxsim_report_text(sim));
        if (r && r->line)
            CHECK_MSG(strstr(e->body, "//") || strcmp(r->comment, comment) == 0, "%s: the comment is '%s'", e->name,
                      r->comment);
    }
    ptxsim_free(sim);
    bc_text_release(&text);
}

/* ---- texts that are refused ---- */

static const struct {
    const char *body, *error;
} refused[] = {
    {"frobnicate.u32 %r0, 1;", "line 5: 'frobnicate.u32': the simulator does not know this instruction"},
    {"add.purple.u32 %r0, 1, 1;", "'.purple'"},
    {"add.u32 %r0, %d0, 1;", "register '%d0' is .b64, the operand .u32"},
    {"add.u32 %r0, 1;", "2 operands, expected 3"},
    {"add.u32 %nowhere, 1, 1;", "no register of the name '%nowhere'"},
    {"bra NOWHERE;", "'NOWHERE'"},
    {"ld.global.v4.u32 {%r0, %r1}, [%d0];", "2 registers, expected 4"},
    {"ld.global.u32 %r0, %d0;", "an address in brackets"},
    {"setp.lt.u32 %r0, %r1, %r2;", "where a predicate is wanted"},
    {"setp.ltu.u32 %p0, %r1, %r2;", "a comparison of floats"},
    {"mov.b64 %d0, {%r0, %r1, %r2};", "96 bits together"},
    {"{ .reg .u32 %u; add.f32 %r0, %u, %r1; }", "register '%u' is .u32, the operand .f32"},
    {"add.f32 %r0, %r1, 0x3f800000;", "an integer stands where a .f32 is wanted"},
    {"{ .reg .b32 %r0; .reg .b32 %r0; }", "declared twice"},
    {"cp.async.cg.shared.global [%r0], [%d0], 8;", "copies 16 bytes"},
    {"mma.sync.aligned.m16n8k16.row.col.f32.tf32.tf32.f32 {%r0,%r1,%r2,%r3}, {%r0,%r1,%r2,%r3}, {%r0,%r1}, "
     "{%r0,%r1,%r2,%r3};",
     "no such combination"},
    {"mov.u32 %r0, 1", "expected ';'"},
    {"mov.f32 %r0, 0f3F80;", "8 hexadecimal digits"},
    {"L: L: ret;", "label given twice"},
    {"@%r0 ret;", "expected a predicate"},
};

static void check_refused(void)
{
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        char error[256] = "";
        bc_text text;
        bc_text_init(&text, NULL);
        bc_text_printf(&text,
                       ".version 8.6 .target sm_90a .address_size 64\n.visible .entry k()\n{\n"
                       ".reg .b64 %%d<4>; .reg .b32 %%r<4>; .reg .pred %%p<4>;\n%s\n}\n",
                       refused[i].body);
        ptxsim *sim = ptxsim_load(text.ptr, text.len, error, sizeof error);
        CHECK_MSG(!sim && strstr(error, refused[i].error) && strncmp(error, "line ", 5) == 0, "%s: '%s'",
                  refused[i].body, error);
        ptxsim_free(sim);
        bc_text_release(&text);
    }
}

/* ---- launches ---- */

static void check_launches(void)
{
    static const char text[] =
        ".version 8.6 .target sm_90a .address_size 64\n.visible .entry k(.param .u32 n) .reqntid 64, 1, 1 { ret; }\n"
        ".visible .entry other() { ret; }";
    char error[256];
    uint32_t n = 0;
    const void *params[] = {&n};
    ptxsim *sim = ptxsim_load(text, sizeof text - 1, error, sizeof error);
    CHECK_MSG(sim != NULL, "%s", error);
    if (!sim)
        return;
    const ptxsim_entry *e = ptxsim_entry_find(sim, "k");
    CHECK(ptxsim_entry_count(sim) == 2 && e && e->param_count == 1 && e->params[0].bytes == 4 && e->reqntid[0] == 64);
    CHECK(ptxsim_run(sim, &(ptxsim_launch){.entry = "k", .grid = {2, 1, 1}, .params = params}));
    CHECK(!ptxsim_run(sim, &(ptxsim_launch){.entry = "k", .grid = {2, 1, 1}, .block = {32, 1, 1}, .params = params}));
    CHECK(strstr(ptxsim_report_text(sim), ".reqntid says 64"));
    CHECK(!ptxsim_run(sim, &(ptxsim_launch){.grid = {2, 1, 1}, .params = params}));
    CHECK(strstr(ptxsim_report_text(sim), "no entry"));
    CHECK(!ptxsim_run(sim, &(ptxsim_launch){.entry = "other", .grid = {1, 1, 1}, .block = {2048, 1, 1}}));
    CHECK(!ptxsim_run(sim,
                      &(ptxsim_launch){.entry = "other", .grid = {3, 1, 1}, .block = {1, 1, 1}, .cluster = {2, 1, 1}}));
    ptxsim_free(sim);
}

int main(void)
{
    bc_text all;
    bc_text_init(&all, NULL);
    bc_text_puts(&all, HEADER);
    for (unsigned i = 0; i < sizeof examples / sizeof *examples; i++) {
        check_example(i, &examples[i]);
        write_example(&all, i, &examples[i]);
    }
    CHECK(harness_ptxas(all.ptr, all.len, "sm_90a"));
    bc_text_release(&all);
    check_refused();
    check_launches();
    return TEST_END("ptxsim_checks");
}
