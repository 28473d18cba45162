/* Which version of the format a module needs, and changing the version. */
#ifndef TILEVM_BYTECODE_WRITE_CONVERT_H
#define TILEVM_BYTECODE_WRITE_CONVERT_H

#include "bytecode/module.h"

/* Reports (rule W-01) everything in the module that a file of that version cannot hold: ops, types, enumeration values,
   set flags, attributes that differ from what an older file means, used results, properties of globals and functions.
   TV_OK, TV_INVALID after reports, or TV_NO_MEMORY. What only other tables hold (unused types) does not count. */
tv_status bc_check_version(const bc_module *m, bc_version version, tv_sink sink);

/* The lowest version that can hold the module. TV_OK or TV_NO_MEMORY. */
tv_status bc_lowest_version(const bc_module *m, bc_version *out);

/* Calls found for every thing that is newer than 13.1, with its version and a description that begins with the place:
   "'tanh' rounding_mode<approx>". Ops come with function and op; types once each, with the op that first uses them. */
typedef struct bc_newer {
    bc_version since;
    const bc_function *function; /* NULL: a global or the module */
    const bc_op *op;             /* NULL: about the function itself */
    int row;                     /* F_<op>_<name>, or BC_NO_ROW */
    uint64_t offset;             /* when op is NULL */
    const char *what;            /* borrowed for the call */
} bc_newer;
typedef void bc_newer_fn(void *user, const bc_newer *newer);
tv_status bc_each_newer(const bc_module *m, void *user, bc_newer_fn *found);

#endif
