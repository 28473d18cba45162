/* Equal layouts are stored once, so that they can be compared by address. */
#ifndef TILEVM_CODEGEN_LAYOUT_INTERN_H
#define TILEVM_CODEGEN_LAYOUT_INTERN_H

#include "codegen/layout/layout.h"

enum { CG_LAYOUT_BUCKETS = 64 };

/* All zeros: an empty table. */
typedef struct cg_layout_table {
    struct cg_layout_entry *buckets[CG_LAYOUT_BUCKETS];
} cg_layout_table;

/* The layout of the table that equals l, in the arena. NULL: out of memory. */
const cg_layout *cg_layout_intern(cg_layout_table *table, bc_arena *arena, const cg_layout *l);

#endif
