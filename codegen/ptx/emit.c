/* Where emitting begins and ends. */
#include "codegen/ptx/emit.h"

#include "codegen/ptx/ptx.h"

void cg_emit_begin(cg_func *c)
{
    cg_emit *e = bc_new(&c->arena, cg_emit, 1);
    if (!e)
        return;
    bc_text_init(&e->module_text, &c->m->arena.allocator);
    bc_text_init(&e->prologue, &c->m->arena.allocator);
    bc_text_init(&e->body, &c->m->arena.allocator);
    c->emit = e;
}

void cg_emit_end(cg_func *c)
{
    cg_emit *e = c->emit;
    if (!e)
        return;
    if (!c->failed && (e->module_text.failed || e->prologue.failed || e->body.failed))
        cg_no_memory(c);
    bc_text_release(&e->module_text);
    bc_text_release(&e->prologue);
    bc_text_release(&e->body);
    c->emit = NULL;
}

const ct_op *cg_lowered(const cg_func *c)
{
    return c->emit->op;
}

void cg_need_ptx(cg_func *c, uint8_t version)
{
    cg_written *w = c->written;
    w->ptx = version > w->ptx ? version : w->ptx;
}
