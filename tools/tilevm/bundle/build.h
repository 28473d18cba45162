/* Building bundles: bytecode in, the bytes of an archive out. Errors are printed as they are found. */
#ifndef TILEVM_TOOLS_BUNDLE_BUILD_H
#define TILEVM_TOOLS_BUNDLE_BUILD_H

#include "bytecode/base/arena.h"
#include "loader/bundle/index.h"
#include "tools/tilevm/cli/cli.h"

typedef struct bundle_options {
    cli_targets targets; /* known, sorted, no two alike; none: bytecode only */
    unsigned opt_level;  /* 0 to 3 */
    bool line_info;
    const char *ptxas; /* NULL: no cubins */
    unsigned jobs;
    cli_when color;
} bundle_options;

/* How much zlib tries: cubins are 0.5 % larger than by 9, and packed in a third of the time. */
enum { BUNDLE_DEFLATE = 7 };

/* An artifact with its bytes, packed. */
typedef struct bundle_blob {
    ld_artifact artifact; /* launch lives in launch_text; at is set when it is written */
    bc_text packed, launch_text;
    uint32_t crc;                      /* of the unpacked bytes */
    unsigned char key[LD_SHA256_SIZE]; /* of PTX without the lines that name version and target */
} bundle_blob;

enum { BUNDLE_CELL_BLOBS = 3 }; /* portable PTX, PTX for the target alone, cubin */

/* What came of a module for a target. */
typedef struct bundle_cell {
    bundle_blob blobs[BUNDLE_CELL_BLOBS];
    unsigned count;
    bc_text missing;   /* why the target cannot run it: "[G-ARCH-01] ..."; empty: it can */
    bc_text no_cubin;  /* what ptxas said, when there is PTX only */
    bool failed, done; /* failed: out of memory */
} bundle_cell;

typedef struct bundle_kernel {
    tv_str symbol, function;
    struct bundle_source *source;
} bundle_kernel;

/* A module that is made of one file. */
typedef struct bundle_source {
    const char *path;
    char *name;       /* in the bundle */
    cli_file file;    /* the bytecode */
    bundle_blob blob; /* the same */
    tv_module *module;
    bundle_cell *cells; /* one for each target */
} bundle_source;

typedef struct bundle_build {
    const bundle_options *options;
    bc_arena arena; /* of names */
    bundle_source *sources;
    size_t source_count;
    bundle_kernel *kernels; /* sorted by symbol */
    size_t kernel_count;
} bundle_build;

/* Reads and verifies the files, CLI_OK or how to end. Files of equal bytes count once. */
int bundle_read(bundle_build *build, const bundle_options *options, const char *const *paths, size_t count);
/* Compiles every module for every target, on many threads. */
int bundle_compile(bundle_build *build);
/* Appends the archive. */
int bundle_write(bundle_build *build, bc_text *out);
void bundle_build_release(bundle_build *build);

/* ---- parts ---- */

/* Opens and verifies the bytecode of a source, of which the file is there, and makes its blob. CLI_OK or how to end. */
int bundle_source_open(bundle_source *source, const bundle_options *options, const char *path);
/* Sorts the sources, gives each a name of its own, and lists their kernels. */
int bundle_settle(bundle_build *build);
int bundle_no_memory(void);

/* Makes the blob of bytes: hash, checksum, packed. Only form and target of the artifact are set before. */
void bundle_blob_fill(bundle_blob *blob, tv_str bytes);
void bundle_blob_release(bundle_blob *blob);
/* One cell. The bytes are bytecode that verifies. */
void bundle_compile_cell(const bundle_options *options, const char *target, tv_str bytecode, bundle_cell *out);
/* The hash of PTX without what the lines .version and .target say. */
void bundle_ptx_key(tv_str ptx, unsigned char out_key[LD_SHA256_SIZE]);
/* Adds an artifact of another bundle to a cell, which has room. False: memory ran out. */
bool bundle_blob_take(bundle_cell *cell, const ld_artifact *artifact, tv_str bytes);
/* The artifacts of a module as they will be written. */
typedef struct bundle_artifacts {
    const ld_artifact *items;
    size_t count;
} bundle_artifacts;
/* Appends the manifest; artifacts: one for each source. */
bool bundle_manifest_write(const bundle_build *build, const bundle_artifacts *artifacts, bc_text *out);

#endif
