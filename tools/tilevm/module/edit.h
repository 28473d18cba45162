/* Edits that make a module smaller and keep it well formed; what `tilevm reduce` tries one after another. */
#ifndef TILEVM_TOOLS_MODULE_EDIT_H
#define TILEVM_TOOLS_MODULE_EDIT_H

#include "bytecode/module.h"

/* Each gives false when there was nothing to do or it cannot be done; the module may then be half changed and is to be
   thrown away. Indices of ops count in pre-order over the function's body. */

bool edit_drop_function(bc_module *m, size_t function);
bool edit_drop_global(bc_module *m, size_t global);
/* Removes a parameter that nothing uses. The name of the entry stays, so a mangled one may no longer fit. */
bool edit_drop_param(bc_module *m, size_t function, size_t param);
bool edit_drop_debug(bc_module *m);
bool edit_drop_hints(bc_module *m);
/* Removes `count` ops from index `first` on (with their regions). Uses of their results become another visible value of
   the type, or a fresh zero constant or token. Terminators stay. */
bool edit_drop_ops(bc_module *m, size_t function, uint32_t first, uint32_t count);
/* Replaces an `if` by the contents of one of its regions, and a `for` by one trip through its body. */
bool edit_inline_region(bc_module *m, size_t function, uint32_t op, unsigned region);
/* Makes the index-th constant of the function a zero splat. */
bool edit_zero_constant(bc_module *m, size_t function, uint32_t op);

#endif
