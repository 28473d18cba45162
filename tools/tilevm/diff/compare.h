/* Two modules compared by what they say, not by how their tables are ordered: the list of differences. */
#ifndef TILEVM_TOOLS_DIFF_COMPARE_H
#define TILEVM_TOOLS_DIFF_COMPARE_H

#include "bytecode/base/text.h"
#include "bytecode/module.h"

typedef enum compare_scope { COMPARE_MODULE, COMPARE_GLOBAL, COMPARE_ENTRY, COMPARE_OP } compare_scope;
typedef enum compare_kind { COMPARE_ADDED, COMPARE_REMOVED, COMPARE_CHANGED } compare_kind;

/* A property that differs; a and b are its texts, "" for absent. */
typedef struct compare_field {
    tv_str name, a, b;
} compare_field;

typedef struct compare_change {
    compare_scope scope;
    compare_kind kind;
    tv_str name;                /* of the global or entry; OP: of the entry, as b has it (or a) */
    const bc_function *fa, *fb; /* ENTRY, OP */
    const bc_op *a, *b;         /* OP; NULL on the side that has none */
    uint32_t a_index, b_index;  /* OP: position in the function, pre-order from 0 */
    compare_field *fields;      /* CHANGED: at least one */
    size_t field_count, field_capacity;
} compare_change;

typedef struct compare_options {
    bool ignore_debug;   /* source locations */
    bool ignore_version; /* the version number and the producer */
} compare_options;

typedef struct compare_result {
    bc_arena arena;
    compare_change *changes; /* module, globals, then entries with their ops in order */
    size_t count, capacity;
    size_t moved_locations; /* ops that are the same but for their source location: not in the list one by one */
} compare_result;

/* TV_OK, or TV_NO_MEMORY. Release the result in any case. The modules must outlive it. */
tv_status compare_modules(const bc_module *a, const bc_module *b, const compare_options *options, compare_result *out);
void compare_release(compare_result *result);
/* Is there no difference? */
bool compare_same(const compare_result *result);

#endif
