/* Tokens, fences, assumptions, multimem ops. */
#include "codegen/ops/hooks.h"
#include "codegen/ptx/ptx.h"
#include "codegen/values/effects.h"
#include "codegen/values/homes.h"
#include "codegen/values/values.h"

/* ---- tokens: passes look at the ops themselves ---- */

#define NOTHING(name)                                  \
    void cg_assign_##name(cg_func *c, const ct_op *op) \
    {                                                  \
        (void)c, (void)op;                             \
    }                                                  \
    void cg_lower_##name(cg_func *c, const ct_op *op)  \
    {                                                  \
        (void)c, (void)op;                             \
    }
NOTHING(make_token)
NOTHING(join_tokens)

/* ---- fences (memory reference, 3.5): all threads, then all threads again ---- */

void cg_assign_memory_fence_alias_tko(cg_func *c, const ct_op *op)
{
    (void)c, (void)op;
}

void cg_effects_memory_fence_alias_tko(cg_func *c, ct_op *op)
{
    for (int i = 0; i < 2; i++)
        cg_add_effect(c, op, CG_MEETS);
}

void cg_lower_memory_fence_alias_tko(cg_func *c, const ct_op *op)
{
    cg_take_effect(c, op, CG_MEETS);
    cg_ins(c, "fence.proxy.alias");
    cg_take_effect(c, op, CG_MEETS);
}

/* ---- grid dependency (memory reference, 3.6): each thread waits by itself; for the grid's dependents to start, one
   thread of each block has to allow it ---- */

void cg_assign_gdc_wait_tko(cg_func *c, const ct_op *op)
{
    (void)c, (void)op;
}

void cg_lower_gdc_wait_tko(cg_func *c, const ct_op *op)
{
    (void)op;
    if (c->target->features & CG_HAS_GDC)
        cg_ins(c, "griddepcontrol.wait");
}

void cg_assign_gdc_launch_dependents_tko(cg_func *c, const ct_op *op)
{
    (void)c, (void)op;
}

void cg_lower_gdc_launch_dependents_tko(cg_func *c, const ct_op *op)
{
    (void)op;
    if (c->target->features & CG_HAS_GDC)
        cg_ins(c, "griddepcontrol.launch_dependents");
}

/* ---- multimem ---- */

#define MULTIMEM(name)                                                                                  \
    void cg_assign_##name(cg_func *c, const ct_op *op)                                                  \
    {                                                                                                   \
        cg_unsupported(c, op,                                                                           \
                       "'" #name "' cannot be compiled: a multicast address needs several GPUs on one " \
                       "NVSwitch fabric, which nothing here sets up");                                  \
    }                                                                                                   \
    void cg_lower_##name(cg_func *c, const ct_op *op)                                                   \
    {                                                                                                   \
        (void)c, (void)op;                                                                              \
    }
MULTIMEM(multimem_load_reduce_view_tko)
MULTIMEM(multimem_reduce_view_tko)
MULTIMEM(multimem_store_view_tko)

/* ---- assume: facts.c looks at the predicate ---- */

void cg_assign_assume(cg_func *c, const ct_op *op)
{
    const ct_value *v = cg_result(op, 0);
    cg_layout scalar = cg_layout_scalar(c->warp_bits);
    if (bc_is_tile(v->type) && v->type->rank == 0)
        cg_set_home(c, v, &scalar, 0);
    else if (bc_is_tile(v->type))
        cg_pass_wish(c, op);
}

void cg_lower_assume(cg_func *c, const ct_op *op)
{
    const ct_value *v = cg_result(op, 0);
    cg_layout scalar = cg_layout_scalar(c->warp_bits);
    if (bc_is_tile(v->type))
        cg_set(c, v, cg_get(c, ct_operand(op, F_assume_value), &scalar));
}
