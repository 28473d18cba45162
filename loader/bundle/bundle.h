/* Bundles: one file with the bytecode, PTX and cubins of many kernels for many devices.
   docs/reference/bundles.md has the format.

   A bundle is a zip archive. Its seal, a member of a few lines, has the hash of the manifest and of the head of the
   index; the head has those of the records, and a record those of artifacts. Nothing is used before its hash has been
   compared. Signatures sign the seal (loader/bundle/signature.h). The file is mapped, so a bundle in use must be
   replaced by renaming a new one into its place. */
#ifndef TILEVM_LOADER_BUNDLE_BUNDLE_H
#define TILEVM_LOADER_BUNDLE_BUNDLE_H

#include "bytecode/base/zip.h"
#include "loader/bundle/index.h"

#define LD_BUNDLE_MANIFEST "manifest.json"
#define LD_BUNDLE_SEAL "seal"
#define LD_BUNDLE_INDEX "index"
#define LD_BUNDLE_SIGNATURE "signature"
#define LD_BUNDLE_OBJECTS "objects/"

enum { LD_BUNDLE_MEMBER = 64 }; /* room for the name of an artifact's member */

/* What the seal says. */
typedef struct ld_seal {
    uint64_t head_size, manifest_size;
    unsigned char head[LD_SHA256_SIZE], manifest[LD_SHA256_SIZE];
} ld_seal;
void ld_seal_print(const ld_seal *seal, bc_text *out);

typedef struct ld_bundle {
    const unsigned char *bytes; /* of the file */
    size_t size;
    bool mapped;
    bc_zip_directory directory;
    tv_str seal_text, signature; /* views; signature empty: there is none */
    ld_seal seal;
    bc_zip_member manifest;
    uint64_t records_at; /* in the file */
    ld_bundle_head head; /* a copy that no other process can change */
    unsigned char *head_copy;
} ld_bundle;

/* Opens a file, or bytes that outlive the bundle. Returns the problem, or NULL; close the bundle in any case. */
const char *ld_bundle_open(const char *path, ld_bundle *out);
const char *ld_bundle_open_bytes(const void *bytes, size_t size, ld_bundle *out);
void ld_bundle_close(ld_bundle *bundle);

typedef enum ld_bundle_found { LD_BUNDLE_FOUND, LD_BUNDLE_NONE, LD_BUNDLE_SEVERAL } ld_bundle_found;
/* A kernel by symbol, or by the name of its function if only one has that. */
ld_bundle_found ld_bundle_find(const ld_bundle *bundle, tv_str name, uint32_t *out_kernel);

/* The artifacts of a module, after comparing hashes. Returns the problem, or NULL. */
const char *ld_bundle_artifacts(const ld_bundle *bundle, const ld_bundle_module *module, bc_arena *arena,
                                ld_artifact **out_artifacts);
/* The bytes of an artifact, and a zero after them, in the arena, after comparing the hash. Returns the problem, or
   NULL. */
const char *ld_bundle_fetch(const ld_bundle *bundle, const ld_artifact *artifact, bc_arena *arena, tv_str *out);
/* The manifest, likewise. */
const char *ld_bundle_manifest(const ld_bundle *bundle, bc_arena *arena, tv_str *out);

/* The name of the member that holds an artifact: "objects/<half of its hash>.ptx". */
void ld_bundle_member_name(const ld_artifact *artifact, char out_name[LD_BUNDLE_MEMBER]);
/* "ptx", "cubin", "tbc". */
const char *ld_artifact_ending(ld_artifact_form form);
/* "sm_90a"; "" for bytecode. */
enum { LD_TARGET_NAME = 24 };
void ld_artifact_target(const ld_artifact *artifact, char out_name[LD_TARGET_NAME]);
/* "PTX", "cubin", "bytecode". */
const char *ld_artifact_form_name(ld_artifact_form form);

/* ---- which artifact for which device ---- */

/* How an artifact suits a device, the worst first. */
typedef enum ld_fit {
    LD_FIT_NONE,
    LD_FIT_BYTECODE, /* must be compiled */
    LD_FIT_PTX,      /* the driver must assemble it */
    LD_FIT_FAMILY,   /* a cubin for an earlier device of the same family */
    LD_FIT_EXACT     /* a cubin for that very device */
} ld_fit;

/* sm: of the device. ptx: highest version that the driver takes, as ld_ptx_version gives it. */
ld_fit ld_artifact_fit(const ld_artifact *artifact, unsigned sm, unsigned ptx);
/* Indices of the artifacts that suit the device, the best first; returns their number. out has room for count. */
size_t ld_bundle_choose(const ld_artifact *artifacts, size_t count, unsigned sm, unsigned ptx, uint32_t *out);
/* What it is and why it suits: "a cubin for sm_80, which sm_86 runs too". */
void ld_artifact_explain(const ld_artifact *artifact, unsigned sm, unsigned ptx, bc_text *out);

#endif
