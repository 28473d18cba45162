#include "codegen/map.h"
cg_val *cg_constant_table(cg_func *c, const bc_op *op, const cg_layout *l, cg_val *out)
{ (void)l; cg_unsupported(c, op, "constant tables"); return out; }
