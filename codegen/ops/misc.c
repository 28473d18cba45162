/* Block numbers, tokens, fences, assumptions, multimem ops. */
#include "codegen/ops/hooks.h"
#include "codegen/ptx/ptx.h"
#include "codegen/values/effects.h"
#include "codegen/values/homes.h"
#include "codegen/values/values.h"

/* ---- block numbers: of a cluster where one computes a tile block (codegen/passes/cluster.c) ---- */

static cg_val special(cg_func *c, const char *name, uint32_t dim)
{
    cg_val r = cg_new(c, CG_B32);
    cg_ins(c, "mov.u32 %v, %%%s.%s", r, name, dim == 0 ? "x" : dim == 1 ? "y" : "z");
    return r;
}

static const char *of_grid(const cg_func *c)
{
    return c->cluster ? "nclusterid" : "nctaid";
}

/* Counted from the last one on: how many there are - 1 - number. */
static cg_val from_last(cg_func *c, cg_val number)
{
    cg_val less = cg_new(c, CG_B32), r = cg_new(c, CG_B32);
    cg_ins(c, "not.b32 %v, %v", less, number);
    cg_ins(c, "add.u32 %v, %v, %v", r, special(c, of_grid(c), 0), less);
    return r;
}

/* The n-th block of a band of 2^BAND_BITS whole rows is in its row n mod 2^BAND_BITS; those of the last, narrower band
   keep their places. */
static void put_in_bands(cg_func *c, cg_val *x, cg_val *y)
{
    enum { BAND_BITS = 3, LAST = (1 << BAND_BITS) - 1, MOST_COLUMNS = INT32_MAX >> BAND_BITS };
    cg_val columns = special(c, of_grid(c), 0), rows = special(c, of_grid(c), 1), row = cg_new(c, CG_B32),
           n = cg_new(c, CG_B32), first = cg_new(c, CG_B32), end = cg_new(c, CG_B32), column = cg_new(c, CG_B32),
           whole = cg_new(c, CG_PRED);
    cg_ins(c, "and.b32 %v, %v, %d", row, *y, LAST);
    cg_ins(c, "sub.u32 %v, %v, %v", first, *y, row);
    cg_ins(c, "mad.lo.u32 %v, %v, %v, %v", n, row, columns, *x);
    cg_ins(c, "shr.u32 %v, %v, %d", column, n, BAND_BITS);
    cg_ins(c, "and.b32 %v, %v, %d", row, n, LAST);
    cg_ins(c, "add.u32 %v, %v, %d", end, first, LAST);
    cg_ins(c, "add.u32 %v, %v, %v", row, first, row);
    cg_ins(c, "setp.lt.u32 %v, %v, %v", whole, end, rows);
    cg_ins(c, "setp.le.and.u32 %v, %v, %d, %v", whole, columns, MOST_COLUMNS, whole);
    *x = cg_select(c, whole, column, *x);
    *y = cg_select(c, whole, row, *y);
}

static void lower_special(cg_func *c, const ct_op *op, const char *name, cg_block_order order)
{
    cg_val *regs = cg_vals(c, op->result_count);
    if (!regs)
        return;
    for (uint32_t i = 0; i < op->result_count; i++)
        regs[i] = special(c, name, i);
    if (order == CG_LONGEST_FIRST)
        regs[0] = from_last(c, regs[0]);
    else if (order == CG_IN_BANDS)
        put_in_bands(c, &regs[0], &regs[1]);
    for (uint32_t i = 0; i < op->result_count; i++)
        cg_set(c, cg_result(op, i), &regs[i]);
}

void cg_assign_get_tile_block_id(cg_func *c, const ct_op *op)
{
    cg_set_scalars(c, op);
}

void cg_lower_get_tile_block_id(cg_func *c, const ct_op *op)
{
    lower_special(c, op, c->cluster ? "clusterid" : "ctaid", c->block_order);
}

/* ---- thread blocks that take over the tile blocks of others (codegen/passes/persist.c) ---- */

static cg_val special_first(cg_func *c, const char *name)
{
    cg_val r = cg_new(c, CG_B32);
    cg_ins_first(c, "mov.u32 %v, %%%s", r, name);
    return r;
}

/* A predicate: can tile blocks be counted in 30 bits? Else each thread block computes its own. */
static cg_val can_share(cg_func *c)
{
    cg_val x = special_first(c, "nctaid.x"), y = special_first(c, "nctaid.y"), z = special_first(c, "nctaid.z"),
           rows = cg_new(c, CG_B32), all = cg_new(c, CG_B64), can = cg_new(c, CG_PRED);
    cg_ins_first(c, "mul.lo.u32 %v, %v, %v", rows, y, z); /* below 2^32: CUDA limits both to 65535 */
    cg_ins_first(c, "mul.wide.u32 %v, %v, %v", all, rows, x);
    cg_ins_first(c, "setp.lt.u64 %v, %v, 0x40000000", can, all);
    return can;
}

void cg_assign_share(cg_func *c, const ct_op *op)
{
    cg_set_scalars(c, op);
}

void cg_lower_share(cg_func *c, const ct_op *op)
{
    cg_val can = can_share(c), row = cg_new(c, CG_B32), number = cg_new(c, CG_B32), rows = cg_new(c, CG_B32),
           all = cg_new(c, CG_B32), others = cg_new(c, CG_PRED), most = special_first(c, "nsmid"),
           nx = special_first(c, "nctaid.x"), ny = special_first(c, "nctaid.y"), nz = special_first(c, "nctaid.z");
    cg_ins_first(c, "mad.lo.u32 %v, %v, %v, %v", row, special_first(c, "ctaid.z"), ny, special_first(c, "ctaid.y"));
    cg_ins_first(c, "mad.lo.u32 %v, %v, %v, %v", number, row, nx, special_first(c, "ctaid.x"));
    cg_ins_first(c, "mul.lo.u32 %v, %v, %v", rows, ny, nz);
    cg_ins_first(c, "mul.lo.u32 %v, %v, %v", all, rows, nx);
    cg_ins_first(c, "setp.ge.and.u32 %v, %v, %v, %v", others, number, most, can);
    cg_ins_first(c, "@%v ret", others);
    static const uint32_t otherwise[] = {0, 1, 1};
    const cg_val shared[] = {number, all, most};
    for (uint32_t i = 0; i < op->result_count; i++) {
        cg_val *regs = cg_vals(c, 1);
        if (!regs)
            return;
        regs[0] = cg_new(c, CG_B32);
        cg_ins_first(c, "selp.b32 %v, %v, %u, %v", regs[0], shared[i], otherwise[i], can);
        cg_set(c, cg_result(op, i), regs);
    }
}

void cg_assign_tile_block(cg_func *c, const ct_op *op)
{
    cg_set_scalars(c, op);
}

void cg_lower_tile_block(cg_func *c, const ct_op *op)
{
    cg_val can = can_share(c), n = cg_reg(c, cg_scalar(c, op->operands[0])), row = cg_new(c, CG_B32), part[3], own;
    cg_val nx = special(c, of_grid(c), 0), ny = special(c, of_grid(c), 1);
    for (uint32_t i = 0; i < 3; i++)
        part[i] = cg_new(c, CG_B32);
    cg_ins(c, "div.u32 %v, %v, %v", row, n, nx);
    cg_ins(c, "rem.u32 %v, %v, %v", part[0], n, nx);
    cg_ins(c, "div.u32 %v, %v, %v", part[2], row, ny);
    cg_ins(c, "rem.u32 %v, %v, %v", part[1], row, ny);
    for (uint32_t i = 0; i < 3; i++) {
        own = special(c, "ctaid", i);
        cg_val chosen = cg_new(c, CG_B32);
        cg_ins(c, "selp.b32 %v, %v, %v, %v", chosen, part[i], own, can);
        part[i] = chosen;
    }
    if (c->block_order == CG_IN_BANDS)
        put_in_bands(c, &part[0], &part[1]);
    for (uint32_t i = 0; i < 3; i++) {
        cg_val *regs = cg_vals(c, 1);
        if (!regs)
            return;
        regs[0] = part[i];
        cg_set(c, cg_result(op, i), regs);
    }
}

void cg_assign_get_num_tile_blocks(cg_func *c, const ct_op *op)
{
    cg_set_scalars(c, op);
}

void cg_lower_get_num_tile_blocks(cg_func *c, const ct_op *op)
{
    lower_special(c, op, of_grid(c), CG_BY_NUMBER);
}

void cg_assign_rank(cg_func *c, const ct_op *op)
{
    cg_set_scalars(c, op);
}

void cg_lower_rank(cg_func *c, const ct_op *op)
{
    cg_val *regs = cg_vals(c, 1);
    if (!regs)
        return;
    regs[0] = cg_new(c, CG_B32);
    cg_ins(c, "mov.u32 %v, %%cluster_ctarank", regs[0]);
    cg_set(c, cg_result(op, 0), regs);
}

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

#define MULTIMEM(name)                                                                                                \
    void cg_assign_##name(cg_func *c, const ct_op *op)                                                                \
    {                                                                                                                 \
        cg_unsupported(c, op,                                                                                         \
                       "'" #name "' cannot be compiled: memory behind a multicast address needs several GPUs of one " \
                       "NVSwitch fabric, which nothing here sets up");                                                \
    }                                                                                                                 \
    void cg_lower_##name(cg_func *c, const ct_op *op)                                                                 \
    {                                                                                                                 \
        (void)c, (void)op;                                                                                            \
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
