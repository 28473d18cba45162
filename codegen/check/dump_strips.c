/* Prints where large tiles are kept between loops over strips. */
#include "codegen/check/check.h"
#include "codegen/values/strips.h"

/* A value that is in registers during a trip is shown with the storage in which it is kept. */
static void describe(cg_func *c, const ct_value *v, bc_text *out)
{
    const ct_op *around = v->block->parent;
    const cg_variant *home = cg_strip_is_kept(c, v) ? cg_strip_home(c, v) : NULL;
    if (home && home->local && !(around && around->opcode == CT_strips))
        bc_text_printf(out, "local memory %u to %u", home->local - 1, home->local - 1 + cg_strip_bytes(c, v));
}

void cg_dump_strips(cg_func *c, bc_text *out)
{
    if (c->local_bytes)
        bc_text_printf(out, "// local memory: %u bytes of a thread\n", c->local_bytes);
    cg_dump_values(c, describe, out);
}
