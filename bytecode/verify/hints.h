/* What the optimization hints of a verified kernel say. */
#ifndef TILEVM_BYTECODE_VERIFY_HINTS_H
#define TILEVM_BYTECODE_VERIFY_HINTS_H

#include "bytecode/module.h"

/* The integer hint of that name for a target (90: sm_90), else for all targets ("default"); 0: there is none, or it is
   out of its range and so ignored. */
int64_t bc_entry_hint(const bc_function *f, unsigned sm, const char *name);
/* May an entry's integer hint of that name have that value? out_range: which it may have, in words that live
   forever. */
bool bc_entry_hint_allows(const char *name, int64_t value, const char **out_range);
/* Does a load_view_tko say that its tile is not to come by tensor maps (allow_tma)? */
bool bc_forbids_tma(const bc_op *load, unsigned sm);

#endif
