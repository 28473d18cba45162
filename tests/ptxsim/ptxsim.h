/* A simulator for PTX text: it runs a kernel's threads, warp by warp, and reports what a GPU would let pass in silence:
   races on shared memory, reads of what nobody wrote, barriers that not all threads reach, accesses beyond a buffer.
   A test tool. It follows the PTX ISA's text and knows nothing of the code generator.

   One ptxsim belongs to one thread at a time. Running out of memory ends the program. */
#ifndef TILEVM_TESTS_PTXSIM_PTXSIM_H
#define TILEVM_TESTS_PTXSIM_PTXSIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct ptxsim ptxsim;

/* What a report is about (reports.def). */
typedef enum ptxsim_check {
#define REPORT(name, text) PTXSIM_##name,
#include "tests/ptxsim/reports.def"
    PTXSIM_CHECK_COUNT
} ptxsim_check;

/* The word for a check: "race". */
const char *ptxsim_check_name(ptxsim_check check);

/* The first occurrence at one instruction. */
typedef struct ptxsim_report {
    ptxsim_check check;
    uint32_t line; /* of the PTX text, from 1; 0: of none */
    uint32_t block[3];
    uint32_t thread;     /* within the block, linear */
    uint64_t count;      /* occurrences at this instruction */
    const char *text;    /* what was found, one line */
    const char *comment; /* text of the comment line above the instruction; "" if there is none */
} ptxsim_report;

typedef struct ptxsim_param {
    const char *name;
    size_t bytes, align;
} ptxsim_param;

typedef struct ptxsim_entry {
    const char *name;
    const ptxsim_param *params;
    size_t param_count;
    uint32_t reqntid[3];  /* 0, 0, 0: not given */
    uint32_t cluster[3];  /* .reqnctapercluster; 0, 0, 0: not given */
    bool counts_clusters; /* .blocksareclusters: the grid of a launch does */
} ptxsim_entry;

/* Parses a module. NULL when it cannot be understood; then error holds "line N: ...". The text may be released. */
ptxsim *ptxsim_load(const char *text, size_t size, char *error, size_t error_size);
void ptxsim_free(ptxsim *sim);

/* Takes the text as Triton means it, where it leaves out what the ISA asks for: tcgen05.fence; fence.proxy.async behind
   cp.async; the space of the mbarrier of tcgen05.commit, whose address is one of shared memory; mbarrier.inval before a
   second .init; bar.warp.sync between a lane's fields of a tensor map and its publication by the warp. */
void ptxsim_as_triton(ptxsim *sim);

size_t ptxsim_entry_count(const ptxsim *sim);
const ptxsim_entry *ptxsim_entry_at(const ptxsim *sim, size_t index);
const ptxsim_entry *ptxsim_entry_find(const ptxsim *sim, const char *name); /* NULL: none */

/* Makes size bytes global memory and returns their address there, a multiple of 256 with a gap to the next buffer. The
   memory is borrowed until ptxsim_buffers_clear or ptxsim_free; a kernel reads and writes it in place. */
uint64_t ptxsim_buffer_add(ptxsim *sim, void *bytes, size_t size, const char *name);
/* The same at an address of the caller's choice, which must not overlap another buffer. */
void ptxsim_buffer_add_at(ptxsim *sim, uint64_t address, void *bytes, size_t size, const char *name);
void ptxsim_buffers_clear(ptxsim *sim);

/* A tensor map as cuTensorMapEncodeTiled makes one: type, interleave and swizzle are its numbers. */
typedef struct ptxsim_tensor {
    uint64_t address, stride[4]; /* bytes; of dimension 1 and on */
    uint32_t extent[5], box[5];
    uint8_t rank, type, interleave, swizzle;
    bool fills_nan;
} ptxsim_tensor;

/* The map as the simulator wants it in a kernel's parameters. */
void ptxsim_tensor_map(const ptxsim_tensor *tensor, uint8_t out[128]);

typedef struct ptxsim_launch {
    const char *entry;          /* NULL: the only one */
    uint32_t grid[3], block[3]; /* block 0, 0, 0: what .reqntid says */
    uint32_t cluster[3];        /* 0, 0, 0: what .reqnctapercluster says, else no clusters */
    uint32_t dynamic_shared;    /* bytes */
    const void *const *params;  /* one pointer per parameter to its bytes, as for cuLaunchKernel */
    uint64_t seed;              /* of the order in which warps run and asynchronous copies complete */
    uint64_t step_limit;        /* instructions of warps; 0: 2^30 */
    bool between_clusters;      /* races between clusters are looked for, too: in grids of up to 1,024 clusters */
    uint32_t ignored;           /* bits: checks that are not made */
    bool counts;                /* only what instructions do is counted (ptxsim_use_at): there are no products and no
                                   checks of order */
    size_t report_limit;        /* the launch stops at so many different reports; 0: 16 */
} ptxsim_launch;

/* Runs a kernel to its end. False when there were reports, or the launch is invalid (which is reported, too). Reports
   and output of earlier launches are forgotten. */
bool ptxsim_run(ptxsim *sim, const ptxsim_launch *launch);

size_t ptxsim_report_count(const ptxsim *sim);
const ptxsim_report *ptxsim_report_at(const ptxsim *sim, size_t index);
/* All reports as text, one or two lines each. Valid until the next run. */
const char *ptxsim_report_text(ptxsim *sim);
/* What vprintf has printed. */
const char *ptxsim_output(const ptxsim *sim);
/* Instructions of warps that the last run executed. */
uint64_t ptxsim_steps(const ptxsim *sim);

/* What the last launch has done at one instruction, if it counted. */
typedef struct ptxsim_use {
    const char *opcode;
    uint32_t line;
    uint64_t warps, lanes; /* executions by warps, and by their threads */
    uint64_t bytes;        /* of its bulk and tensor copies, at each block that they reach */
    uint32_t m, n, k;      /* products: the shape of one; for cta_group::2, that of the pair */
    bool a_in_shared;      /* products: the left operand is in shared memory */
} ptxsim_use;

size_t ptxsim_use_count(const ptxsim *sim);
const ptxsim_use *ptxsim_use_at(const ptxsim *sim, size_t index);

#endif
