/* What a file consists of: sections, entries, ops, constants, and features newer than version 13.1. */
#ifndef TILEVM_TOOLS_MODULE_INSPECT_H
#define TILEVM_TOOLS_MODULE_INSPECT_H

#include "bytecode/module.h"

typedef struct inspect_section {
    const char *name;
    uint64_t offset, bytes; /* of the payload */
} inspect_section;

typedef struct inspect_op {
    unsigned count;
    uint64_t bytes; /* bytes of the records; those of ops in regions count for these ops */
} inspect_op;

typedef struct inspect_entry {
    const bc_function *f;
    uint64_t bytes; /* of the whole record */
    unsigned depth; /* of nesting; 0: no regions */
    unsigned memory_ops;
} inspect_entry;

/* A feature that came after 13.1, and how often it occurs. */
typedef struct inspect_feature {
    tv_str what;
    bc_version since;
    unsigned count;
} inspect_feature;

typedef struct inspect_constant {
    const bc_blob *blob;
    const bc_function *f; /* where it is used first; NULL: by a global or nowhere */
    const bc_op *op;
    unsigned uses;
} inspect_constant;

typedef struct inspect_info {
    bc_arena arena;
    const bc_module *m;
    inspect_section sections[BC_SECTION_COUNT]; /* in file order */
    size_t section_count;
    uint64_t overhead; /* bytes of the file outside every payload: header, section heads, padding, end mark */
    inspect_op ops[OP_LIMIT];
    unsigned op_count;
    inspect_entry *entries;    /* function_count of the module */
    inspect_feature *features; /* newest first */
    size_t feature_count, feature_capacity;
    bc_version lowest;
    inspect_constant *constants; /* constant_count of the module, largest first */
    uint64_t constant_bytes;
    size_t source_files, located_ops; /* distinct files in debug information; ops with a place in one */
} inspect_info;

/* TV_OK or TV_NO_MEMORY. The module must come from bytecode and outlive the result; release it in any case. */
tv_status inspect_module(const bc_module *m, inspect_info *out);
void inspect_release(inspect_info *info);

#endif
