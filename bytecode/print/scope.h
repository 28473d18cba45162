/* Names that go out of use in the order opposite to that in which they came: SSA names by region. A hash table over a
   stack; unwinding leaves the table as it was before, however it has grown meanwhile. */
#ifndef TILEVM_BYTECODE_PRINT_SCOPE_H
#define TILEVM_BYTECODE_PRINT_SCOPE_H

#include "bytecode/base/arena.h"

typedef struct bc_binding {
    tv_str name; /* borrowed */
    uint32_t hash;
    uint32_t count; /* for the user of the table */
    void *value;    /* likewise */
} bc_binding;

/* Zero-initialise but for the arena. */
typedef struct bc_scope {
    bc_arena *arena;
    bc_binding *bindings; /* oldest first */
    size_t count, capacity;
    uint32_t *slots;   /* index of a binding + 1 */
    size_t slot_count; /* a power of two, or 0 */
} bc_scope;

/* The binding of that name, or NULL. It moves when the table grows. */
bc_binding *bc_scope_find(const bc_scope *scope, tv_str name);
/* Adds a name that is not there. False: out of memory. */
bool bc_scope_add(bc_scope *scope, tv_str name, void *value, uint32_t count);
/* Forgets all names but the oldest `count`. */
void bc_scope_unwind(bc_scope *scope, size_t count);

#endif
