/* Prints how shared memory is divided, and the barriers of groups. */
#include "codegen/check/check.h"
#include "codegen/kernel/groups.h"
#include "codegen/values/effects.h"

static void say_sharing(const cg_func *c, bc_text *out)
{
    const cg_sharing *s = c->sharing;
    bc_text_printf(out, "// shared memory: %u bytes of scratch", s->scratch_bytes);
    if (s->ring_bytes)
        bc_text_printf(out, ", %u of rings from %u on", s->ring_bytes, s->rings_at);
    bc_text_char(out, '\n');
    if (s->synced && c->groups)
        bc_text_printf(out, "// consumers meet at barrier %u, %u threads; producers at %u, %u threads\n",
                       s->barriers[0].number, s->barriers[0].threads, s->barriers[1].number, s->barriers[1].threads);
}

void cg_dump_shared(cg_func *c, bc_text *out)
{
    say_sharing(c, out);
    cg_dump_ops(c, out);
}
