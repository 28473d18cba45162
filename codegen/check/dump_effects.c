/* Prints effects on memory that is visible to other threads: their addresses, and the barriers before them. */
#include "codegen/check/check.h"
#include "codegen/values/effects.h"

static void put_span(const cg_span *s, bc_text *out)
{
    bc_text_printf(out, " %u to %u", s->from, s->to);
    if (s->of_warp)
        bc_text_printf(out, ", %u of each warp", s->of_warp);
}

static void put_effect(const cg_effect *e, bool synced, bc_text *out)
{
    static const char *const kinds[] = {[CG_USES_SCRATCH] = "scratch",    [CG_ACCESSES] = "",
                                        [CG_MEETS] = "barrier",           [CG_BEGINS] = "accesses begin",
                                        [CG_FILLS_RING] = "fills rings,", [CG_READS_RING] = "read rings,",
                                        [CG_WRITTEN] = "written",         [CG_READS_ASYNC] = "product reads"};
    static const char *const before[] = {[CG_EACH_WARP] = "barrier of each warp; ", [CG_ALL_WARPS] = "barrier; "};
    bool needless = synced && e->kind == CG_MEETS && cg_meeting_within(e) == CG_NOBODY;
    bc_text_puts(out, synced && e->before ? before[e->before] : "");
    bc_text_puts(out, needless ? "no " : "");
    if (e->kind == CG_ACCESSES)
        bc_text_puts(out, e->started ? "started reading" : e->write ? "writes" : "reads");
    bc_text_puts(out, kinds[e->kind]);
    if (e->span.from != e->span.to)
        put_span(&e->span, out);
    bc_text_puts(out, e->by_turns ? ", one half after the other" : "");
    bc_text_puts(out, e->again ? ", again and again" : "");
    bc_text_puts(out, synced && e->fence ? "; fence" : "");
}

void cg_say_effects(const cg_func *c, const ct_op *op, bc_text *out)
{
    const cg_effects *all = c->sharing ? op->effects : NULL;
    for (const cg_effect *e = all ? all->first : NULL; e; e = e->next) {
        bc_text_puts(out, out->len ? "; " : "");
        put_effect(e, c->sharing->synced, out);
    }
}
