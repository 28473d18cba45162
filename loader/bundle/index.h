/* The index of a bundle: which kernels it has, and where the artifacts of each are. docs/reference/bundles.md has the
   format.

   The index is a head, of which the seal of the bundle has the hash, and the records of the modules, of which the head
   has the hashes: opening a bundle hashes the head alone. Everything read is untrusted until its hash has been
   compared; counts, lengths and places are checked even after that. */
#ifndef TILEVM_LOADER_BUNDLE_INDEX_H
#define TILEVM_LOADER_BUNDLE_INDEX_H

#include "bytecode/base/arena.h"
#include "bytecode/base/text.h"
#include "loader/sha256.h"

/* The problems that functions return if the input is not the cause. */
#define LD_NO_MEMORY "out of memory"

typedef enum ld_artifact_form {
    LD_ARTIFACT_BYTECODE,
    LD_ARTIFACT_PTX,
    LD_ARTIFACT_CUBIN,
    LD_ARTIFACT_FORM_COUNT
} ld_artifact_form;

/* Code to load, or the bytecode from which it was made. */
typedef struct ld_artifact {
    ld_artifact_form form;
    unsigned sm;                          /* 90 for sm_90a; 0 for bytecode, as the next two */
    char suffix;                          /* 'a': runs on that architecture only; or 0 */
    unsigned ptx;                         /* version of the PTX, 78 for 7.8; 0 for cubins */
    uint64_t at, packed, size;            /* where its bytes are in the file; deflated if packed is not size */
    unsigned char digest[LD_SHA256_SIZE]; /* SHA-256 of the unpacked bytes */
    tv_str launch;                        /* launch records as loader/record.h prints them; empty for bytecode */
} ld_artifact;

/* A module: the artifacts of one file of bytecode. */
typedef struct ld_bundle_module {
    tv_str name;        /* for people and files: letters, digits, '.', '_' and '-', not beginning with '.' */
    unsigned opt_level; /* its PTX was compiled with, as the next */
    bool line_info;
    uint32_t artifact_count; /* at least 1: the first is the bytecode */
    uint64_t record_at, record_size;
    unsigned char record_digest[LD_SHA256_SIZE];
} ld_bundle_module;

typedef struct ld_bundle_kernel {
    tv_str symbol;   /* of the entry */
    tv_str function; /* as its author named it */
    uint32_t module;
} ld_bundle_kernel;

/* ---- reading ---- */

/* A head, checked; views into the bytes, which must live as long. */
typedef struct ld_bundle_head {
    const unsigned char *bytes;
    size_t size;
    uint32_t kernel_count, module_count; /* kernels are sorted by symbol, no two alike */
    uint64_t record_bytes;               /* of all records */
} ld_bundle_head;

/* Returns the problem, or NULL. */
const char *ld_bundle_head_open(const unsigned char *bytes, size_t size, ld_bundle_head *out);
/* The i-th; i is below the count. */
ld_bundle_kernel ld_bundle_head_kernel(const ld_bundle_head *head, uint32_t i);
ld_bundle_module ld_bundle_head_module(const ld_bundle_head *head, uint32_t i);

/* The artifacts of a module from its record, of which record_size bytes are there and have the right hash. They and
   their strings are in the arena. Returns the problem, or NULL. */
const char *ld_bundle_record_read(const ld_bundle_module *module, const unsigned char *record, bc_arena *arena,
                                  ld_artifact **out_artifacts);

/* ---- writing ---- */

/* Appends the record of the artifacts, and sets the module's fields about it; record_at: where it will begin. */
void ld_bundle_record_write(ld_bundle_module *module, const ld_artifact *artifacts, uint64_t record_at, bc_text *out);
/* Appends a head. Kernels must be sorted. */
void ld_bundle_head_write(const ld_bundle_kernel *kernels, uint32_t kernel_count, const ld_bundle_module *modules,
                          uint32_t module_count, uint64_t record_bytes, bc_text *out);

/* Is it a name that a module may have? */
bool ld_bundle_name_is_fine(tv_str name);

/* Is it free of control characters, as names of symbols and functions must be? */
bool ld_bundle_text_is_fine(tv_str text);

void ld_sha256_of(const void *bytes, size_t size, unsigned char out_digest[LD_SHA256_SIZE]);

#endif
