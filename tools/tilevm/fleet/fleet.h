/* Rollout checks without GPUs: which artifact of a bundle every host of a fleet will run, and what keeps it from that.
   The choice is tvBundleGetFunction's own (loader/bundle/bundle.h); figures of devices are in gpus.def. */
#ifndef TILEVM_TOOLS_FLEET_FLEET_H
#define TILEVM_TOOLS_FLEET_FLEET_H

#include "codegen/kernel/target.h"
#include "loader/bundle/bundle.h"
#include "tools/tilevm/report/report.h"

/* ---- what is known of devices and drivers ---- */

typedef struct fleet_gpu {
    const char *name;
    unsigned sm, processors; /* processors 0: not known */
} fleet_gpu;

/* Of a compute capability: limits of a multiprocessor, and of a thread block where the name says so. */
typedef struct fleet_capability {
    unsigned sm;
    int first_cuda;
    unsigned shared_bytes, block_shared_bytes, threads, blocks;
    cg_path path; /* of the device's own target */
} fleet_capability;

/* By name, in any case; "sm_90" is any device of that capability. False: not known. */
bool fleet_find_gpu(const char *name, fleet_gpu *out);
/* The i-th name, NULL past the end; for cli_closest. */
const char *fleet_gpu_name(const void *unused, size_t i);
/* False: too old for Tile IR, or not known. */
bool fleet_find_capability(unsigned sm, fleet_capability *out);
/* 12040 for "12.4", CUDA's version, and for "550.54.15", the driver's own; 0: neither. */
int fleet_cuda_of_driver(const char *text);

/* ---- the fleet ---- */

/* A kind of host with one driver. */
typedef struct fleet_host {
    const char *name, *driver; /* as the fleet has them */
    fleet_gpu gpu;
    int cuda; /* of the driver */
} fleet_host;

typedef struct fleet {
    fleet_host *hosts; /* in the arena */
    size_t count;
} fleet;

/* Reads a file as docs/guides/fleets.md describes it. False: problem has what is wrong, and where. */
bool fleet_read(const char *path, bc_arena *arena, fleet *out, bc_text *problem);
/* The same of a text with a zero after it; path: for messages. */
bool fleet_parse(const char *path, const char *text, size_t size, bc_arena *arena, fleet *out, bc_text *problem);

/* ---- what a kernel takes ---- */

typedef struct fleet_needs {
    tv_str kernel;                        /* symbol */
    unsigned threads;                     /* of a thread block; 0: not known */
    unsigned registers;                   /* of a thread; 0: known when the driver has assembled it */
    uint64_t static_bytes, dynamic_bytes; /* shared memory of a thread block */
} fleet_needs;
/* Both together. */
uint64_t fleet_shared(const fleet_needs *needs);

/* The kernels of PTX or of a cubin with their launch records as text. NULL: out of memory, or records that cannot be
   read. */
fleet_needs *fleet_needs_of(ld_artifact_form form, tv_str code, tv_str launch, bc_arena *arena, size_t *out_count);

/* Thread blocks on a multiprocessor; without registers an upper bound. 0: threads is 0, or it does not fit. */
unsigned fleet_blocks(const fleet_needs *needs, const fleet_capability *capability);
/* The share of the multiprocessor's threads that this number of blocks has, 0 to 1. */
double fleet_occupancy(const fleet_needs *needs, const fleet_capability *capability, unsigned blocks);

/* ---- the matrix ---- */

/* A kernel on a host. */
typedef struct fleet_cell {
    tv_str kernel, shown; /* its symbol; what people call it */
    const fleet_host *host;
    const ld_artifact *artifact; /* NULL: nothing was chosen */
    tv_str why;                  /* it was, as ld_artifact_explain has it */
    fleet_needs needs;           /* zero: not known */
    unsigned blocks;
    double occupancy; /* with registers unknown: at most */
    tv_diag diag;     /* rule NULL: it runs */
} fleet_cell;

typedef struct fleet_matrix {
    const char *bundle_path, *fleet_path;
    size_t bundle_size;
    fleet fleet;
    fleet_cell *cells; /* kernel by kernel, host by host */
    uint32_t kernels;
    size_t failed; /* cells that do not run */
} fleet_matrix;

/* Gives what is wrong with the bundle, or NULL. The bundle must stay open as long as the matrix is used. */
const char *fleet_judge(const ld_bundle *bundle, bc_arena *arena, fleet_matrix *matrix);

/* ---- reports ---- */

/* False: out of memory. */
bool fleet_write_text(const fleet_matrix *matrix, bool color, cli_out *out);
bool fleet_write_json(const fleet_matrix *matrix, cli_out *out);
/* The models that are known, as `tilevm fleet gpus` lists them. False: out of memory. */
bool fleet_write_gpus(cli_out *out);
bool fleet_write_gpus_json(cli_out *out);
/* One file of findings for SARIF, one test case a cell for JUnit. */
bool fleet_write_sarif(const fleet_matrix *matrix, cli_out *out);
bool fleet_write_junit(const fleet_matrix *matrix, cli_out *out);

#endif
