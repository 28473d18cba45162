/* alloca and get_global. Storage comes from the device's heap: one thread allocates it, and frees it at the end of
   the block of ops in which it was allocated. Source: memory reference, section 1. */
#include "codegen/facts/facts.h"
#include "codegen/module/call.h"
#include "codegen/module/spell.h"
#include "codegen/ops/hooks.h"
#include "codegen/ops/lowering.h"
#include "codegen/ptx/emit.h"
#include "codegen/ptx/ptx.h"
#include "codegen/values/effects.h"
#include "codegen/values/homes.h"
#include "codegen/values/memory.h"
#include "codegen/values/values.h"

typedef struct cg_alloca {
    struct cg_alloca *outer;
    const ct_block *block;
    cg_val address; /* as the heap returned it, in the first thread */
} cg_alloca;

static void assign_pointer(cg_func *c, const ct_op *op)
{
    cg_layout scalar = cg_layout_scalar(c->warp_bits);
    cg_set_home(c, cg_result(op, 0), &scalar, 0);
}

/* ---- alloca ---- */

void cg_assign_alloca(cg_func *c, const ct_op *op)
{
    assign_pointer(c, op);
}

void cg_effects_alloca(cg_func *c, ct_op *op)
{
    cg_layout scalar = cg_layout_scalar(c->warp_bits);
    cg_add_share(c, op, BC_PTR, &scalar);
}

void cg_lower_alloca(cg_func *c, const ct_op *op)
{
    enum { HEAP_ALIGNMENT = 16 };
    cg_layout scalar = cg_layout_scalar(c->warp_bits);
    int shift = cg_pointee_shift(cg_result(op, 0)->type);
    uint64_t count = ct_attr_u(op, F_alloca_num_elem), align = ct_attr_u(op, F_alloca_alignment);
    uint64_t spare = align > HEAP_ALIGNMENT ? align - HEAP_ALIGNMENT : 0;
    uint64_t bytes = shift < 0                           ? count / 2 + count % 2
                     : count > UINT64_MAX >> (shift + 1) ? UINT64_MAX >> 1
                                                         : count << shift;
    cg_alloca *storage = bc_new(&c->arena, cg_alloca, 1);
    cg_val *regs = cg_vals(c, 1), aligned = cg_new(c, CG_B64), none = cg_new(c, CG_PRED);
    uint32_t others = cg_label(c);
    if (!storage || !regs)
        return;
    cg_ins(c, "mov.b64 %v, 0", aligned);
    cg_ins(c, "@!%v bra %l", cg_is_owner(c, &scalar), others);
    cg_val raw = cg_call_malloc(c, bytes > UINT64_MAX - spare ? UINT64_MAX : bytes + spare + (bytes == 0));
    cg_ins(c, "setp.eq.u64 %v, %v, 0", none, raw);
    cg_ins(c, "@%v trap", none);
    cg_ins(c, "add.s64 %v, %v, %q", aligned, raw, spare);
    if (spare)
        cg_ins(c, "and.b64 %v, %v, %q", aligned, aligned, ~(align - 1));
    cg_place_label(c, others);
    *storage = (cg_alloca){.outer = c->lowering->allocas, .block = op->block, .address = raw};
    c->lowering->allocas = storage;
    regs[0] = aligned;
    cg_share(c, op, BC_PTR, &scalar, regs);
    cg_set(c, cg_result(op, 0), regs);
}

/* The outermost block of ops that a terminator leaves. */
static const ct_block *left_by(const ct_op *op)
{
    const ct_block *block = op->block;
    if (op->opcode == OP_yield)
        return block;
    while (block->parent && (op->opcode == OP_return || !bc_is_loop(block->parent->opcode)))
        block = block->parent->block;
    return block;
}

void cg_leave_block(cg_func *c, const ct_op *terminator)
{
    cg_layout scalar = cg_layout_scalar(c->warp_bits);
    const ct_block *outer = left_by(terminator);
    if (!c->lowering->allocas || !ct_is_inside(c->lowering->allocas->block, outer))
        return;
    uint32_t others = cg_label(c);
    cg_barrier(c); /* no thread uses it any more */
    cg_ins(c, "@!%v bra %l", cg_is_owner(c, &scalar), others);
    for (const cg_alloca *a = c->lowering->allocas; a && ct_is_inside(a->block, outer); a = a->outer)
        cg_call_free(c, a->address);
    cg_place_label(c, others);
    while (c->lowering->allocas && c->lowering->allocas->block == terminator->block)
        c->lowering->allocas = c->lowering->allocas->outer;
}

/* ---- globals ---- */

void cg_assign_get_global(cg_func *c, const ct_op *op)
{
    assign_pointer(c, op);
}

void cg_lower_get_global(cg_func *c, const ct_op *op)
{
    tv_str name = ct_attr_of(op, F_get_global_name)->string->s;
    cg_val *regs = cg_vals(c, 1);
    for (size_t i = 0; regs && i < c->m->global_count; i++) {
        if (!bc_str_eq(c->m->globals[i].name->s, name))
            continue;
        regs[0] = cg_new(c, CG_B64);
        cg_put(c, "\tmov.u64 %v, ", regs[0]);
        cg_put_global_name(&c->emit->body, c->m, &c->m->globals[i]);
        cg_put(c, ";\n");
        cg_set(c, cg_result(op, 0), regs);
        return;
    }
}
