/* Loads and stores through tiles of pointers. Source: memory reference, sections 3 and 4. */
#include "codegen/access/pointers.h"
#include "codegen/analysis/transposed.h"
#include "codegen/ops/hooks.h"
#include "codegen/ptx/ptx.h"
#include "codegen/values/effects.h"
#include "codegen/values/homes.h"
#include "codegen/values/memory.h"
#include "codegen/values/values.h"

/* As a product takes it. */
static cg_layout layout_to_load(cg_func *c, const ct_op *op, const cg_ptr_op *p)
{
    cg_layout l;
    uint32_t fast, vector = cg_pointer_vector(c, p, &fast);
    return vector && cg_transposing_home(c, op, fast, vector, &l) ? l : cg_pointer_layout(c, p);
}

void cg_assign_load_ptr_tko(cg_func *c, const ct_op *op)
{
    cg_ptr_op p = cg_ptr_op_of(op);
    const cg_layout *decided = c->homes->decided[cg_result(op, 0)->id];
    cg_layout l = decided ? *decided : layout_to_load(c, op, &p);
    const ct_value *padding = ct_operand(op, F_load_ptr_tko_padding_value);
    cg_set_home(c, cg_result(op, 0), &l, p.pointers->type->rank ? CG_WEIGHT_MEMORY : 0);
    cg_want_pointers(c, &p, &l);
    if (padding)
        cg_want(c, padding, &l);
}

void cg_assign_store_ptr_tko(cg_func *c, const ct_op *op)
{
    cg_ptr_op p = cg_ptr_op_of(op);
    cg_layout l = cg_pointer_layout(c, &p);
    cg_value_of(c, cg_result(op, 0))->home = cg_intern(c, &l);
    cg_want_pointers(c, &p, &l);
}

typedef struct move {
    cg_val *regs;
    const cg_val *padding;
} move;

static void load_part(cg_func *c, void *user, const cg_pointer_part *part)
{
    move *m = user;
    cg_val loaded[CG_MAX_VECTOR], padding[CG_MAX_VECTOR];
    for (uint32_t i = 0; m->padding && i < part->count; i++)
        padding[i] = m->padding[part->reg[i]];
    cg_load_vector(c, &part->access, part->count, m->padding ? padding : NULL, loaded);
    for (uint32_t i = 0; i < part->count; i++)
        m->regs[part->reg[i]] = loaded[i];
}

static void store_part(cg_func *c, void *user, const cg_pointer_part *part)
{
    move *m = user;
    cg_val stored[CG_MAX_VECTOR];
    for (uint32_t i = 0; i < part->count; i++)
        stored[i] = m->regs[part->reg[i]];
    cg_access access = part->access;
    access.passes = c->again_bytes != 0;
    cg_store_vector(c, &access, part->count, stored);
}

void cg_lower_load_ptr_tko(cg_func *c, const ct_op *op)
{
    cg_ptr_op p = cg_ptr_op_of(op);
    const ct_value *result = cg_result(op, 0), *padding = ct_operand(op, F_load_ptr_tko_padding_value);
    const cg_layout *l = cg_value_of(c, result)->home;
    bool weak = p.order == BC_MemoryOrderingSemantics_weak;
    move m = {.regs = cg_vals(c, cg_layout_regs(l)), .padding = padding && p.mask ? cg_get(c, padding, l) : NULL};
    if (!m.regs)
        return;
    cg_take_access(c, op);
    cg_pointer_remark(c, op, &p, l);
    /* With an order, another thread could see another value: one loads for all that hold replicas. */
    cg_pointer_parts(c, &p, l, !weak, &m, load_part);
    bool shared = !weak && cg_share(c, op, bc_elem_kind(result->type), l, m.regs);
    if (p.order == BC_MemoryOrderingSemantics_acquire && !shared)
        cg_take_effect(c, op, CG_MEETS);
    if (!c->failed)
        cg_set(c, result, m.regs);
}

void cg_lower_store_ptr_tko(cg_func *c, const ct_op *op)
{
    cg_ptr_op p = cg_ptr_op_of(op);
    const cg_layout *l = cg_value_of(c, cg_result(op, 0))->home;
    move m = {.regs = cg_get(c, p.value, l)};
    if (!m.regs)
        return;
    if (p.order == BC_MemoryOrderingSemantics_release)
        cg_take_effect(c, op, CG_MEETS);
    cg_take_access(c, op);
    cg_pointer_remark(c, op, &p, l);
    cg_pointer_parts(c, &p, l, true, &m, store_part);
}
