/* Optimization hints of entries: reading their names and putting other values in. */
#ifndef TILEVM_TOOLS_MODULE_HINTS_H
#define TILEVM_TOOLS_MODULE_HINTS_H

#include "bytecode/module.h"

/* A hint that an entry may have, by its name in the bytecode and in cuTile. */
typedef struct hints_kind {
    const char *name, *cutile;
} hints_kind;

enum { HINTS_KINDS = 3 };
const hints_kind *hints_kind_at(size_t index);
/* By either name; NULL: there is none. */
const hints_kind *hints_kind_find(tv_str name);
/* Sets a hint of the entry for one target, sm_90 for 90; hints for other targets stay. False: out of memory. */
bool hints_set(bc_module *m, bc_function *f, unsigned sm, const hints_kind *kind, int64_t value);

#endif
