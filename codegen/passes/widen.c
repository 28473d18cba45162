/* The widen pass gives products more bits where that makes them faster or possible. It keeps sums of products in f32 if
   the kernel asks for f16 and the product can be asynchronous. A sum that a loop carries is f32 in the loop and is
   rounded once after it.

       for c = start : f16 {                    for c = ftof start : f32 {
           c = mmaf a, b, c : f16       ->          c = mmaf a, b, c : f32
       }                                        }
                                                c = ftof c : f16

   On targets without instructions for bf16 and tf32, products of such elements become products of f32, which computes
   with more bits:

       mmaf a, b, c : bf16, f32             ->      mmaf (ftof a), (ftof b), c : f32, f32

   On targets with wgmma, products of 8-bit floats that would use `mma.sync`, because they are chained or an operand is
   computed, become products of f16, which wgmma reads in either order and takes from the registers of another product.
   Each element is then converted once, instead of once in each warp that reads it:

       p = ftof s : f8                              p = ftof (ftof s : f8) : f16
       mmaf p, v, c : f8, f32               ->      mmaf p, (ftof v : f16), c : f16, f32

   They stay as they are where only one operand of a single product is computed and wgmma can read the other one as
   bytes: then it takes the computed one from registers or scratch, and multiplies twice as fast. If that is the right
   operand, the flip pass swaps them. The first product of a chain stays as it is, too, if its loop loads neighbours
   along K and the model predicts that bytes are faster (codegen/choose_chains.c): half as much goes through shared
   memory, and threads convert nothing for it.

   Asynchronous instructions take as long for f32 sums as for f16 sums, and all later passes deal with f32 sums: rings,
   warp specialisation, products in flight. Small products, which use `mma.sync`, keep f16 sums, as do targets without
   them, some of which compute f16 sums twice as fast.

   Why it is right: no access to memory moves. The instruction set leaves open how often a sum of products is rounded
   inside mmaf; a result in f16 differs from the sum by the roundings that are left out, so it is at least as exact.
   Operands are converted without rounding. A sum above 65,504 that later becomes smaller stays finite
   (docs/reference/numerics.md, "Order of operations"). */
#include "codegen/analysis/product.h"
#include "codegen/facts/facts.h"
#include "codegen/kernel/limits.h"
#include "codegen/groups/computes.h"
#include "codegen/plan/loads.h"
#include "codegen/plan/budget.h"
#include "codegen/passes/pass.h"
#include "codegen/passes/simplify.h"
#include "codegen/tile/build.h"

/* ---- products ---- */

/* Has the product a shape that asynchronous instructions compute, as it is or with swapped operands? */
static bool is_wide(const cg_func *c, const ct_op *op)
{
    const bc_type *type = op->results[0].type;
    if (op->opcode != OP_mmaf || type->rank != 2 || bc_elem_kind(type) != BC_F16 || c->warp_bits < CG_WARPGROUP_BITS)
        return false;
    int64_t m = type->shape[0], n = type->shape[1], more = m > n ? m : n, less = m > n ? n : m;
    return more >= CG_WARPGROUP_ROWS && less >= CG_ASYNC_COLUMNS;
}

/* The initial sum in f32. Zero stays a constant. */
static ct_value *widened(ct_builder *b, ct_value *v, const bc_type *wide)
{
    if (v->op && v->op->opcode == OP_constant && ct_is_zero(v->op))
        return ct_build_constant(b, wide, 0);
    return ct_build(b, OP_ftof, wide, &v, 1);
}

/* Computes the product in f32. False: out of memory. */
static bool widen(cg_func *c, ct_op *op)
{
    ct_builder b = {c->ir, op, false};
    const bc_type *narrow = op->results[0].type, *wide = ct_shaped_type(c->ir, narrow, BC_F32);
    ct_value *acc = widened(&b, op->operands[2], wide);
    if (!acc)
        return false;
    ct_value *sum = ct_build(&b, OP_mmaf, wide, (ct_value *[]){op->operands[0], op->operands[1], acc}, 3);
    if (!sum)
        return false;
    if (bc_kind_bits(bc_elem_kind(op->operands[0]->type)) == 8) /* they keep 13 bits of such sums; f16 has 10 */
        bc_attr_of(sum->op->from, F_mmaf_fast_acc)->u = 1;
    ct_value *rounded = ct_build(&b, OP_ftof, narrow, &sum, 1);
    if (!rounded)
        return false;
    ct_replace_uses(&op->results[0], rounded);
    ct_remove(op);
    return true;
}

/* ---- operands ---- */

/* Converts the operands of a product to a type that holds them exactly, each where it is computed. False: out of
   memory. */
static bool widen_operands(cg_func *c, ct_op *op, bc_kind kind)
{
    for (uint32_t i = 0; i < 2; i++) {
        const ct_op *maker = op->operands[i]->op;
        ct_builder b = {c->ir, maker ? maker->next : op, false};
        const bc_type *wide = ct_shaped_type(c->ir, op->operands[i]->type, kind);
        ct_value *operand = wide ? ct_build(&b, OP_ftof, wide, &op->operands[i], 1) : NULL;
        if (!operand)
            return false;
        ct_set_operand(op, i, operand);
    }
    return true;
}

/* Does the target lack an instruction for such operands? */
static bool lacks_instruction(const cg_func *c, const ct_op *op)
{
    bc_kind kind = op->opcode == OP_mmaf ? bc_elem_kind(op->operands[0]->type) : BC_F32;
    return (kind == BC_BF16 || kind == BC_TF32) && !(c->target->features & CG_HAS_LONG_MMA);
}

/* Is the operand, or the value of which it is a view, the result of an element-wise op? */
static bool is_computed(const ct_value *operand)
{
    const ct_op *maker = cg_source_of(operand)->op;
    return maker && ct_is_map(maker);
}

/* Is it a product of 8-bit floats that asynchronous instructions compute only from f16? They read bytes only with K
   contiguous. Computed operands are in no ring. In a chain, the second product's left operand consists of sums, of
   which a thread has two neighbours instead of four, and its right operand rarely has K contiguous. */
static bool suits_halves(cg_func *c, ct_op *op)
{
    if (!cg_multiplies_bytes(op) || !(c->target->features & CG_HAS_WGMMA) || c->warp_bits < CG_WARPGROUP_BITS)
        return false;
    cg_product p = cg_product_of(c, op);
    return p.atom.widened && cg_async_fits(&p) && (p.chained || is_computed(p.lhs) || is_computed(p.rhs))
           && !cg_begins_with_bytes(c, op) && !cg_reads_bytes(c, op, 0)
           && !(cg_reads_bytes(c, op, 1) && cg_should_compute(c, op, 1));
}

/* ---- sums that loops carry ---- */

static bool is_conversion(const ct_op *op, bc_kind from, bc_kind to)
{
    return op && op->opcode == OP_ftof && bc_elem_kind(op->operands[0]->type) == from
           && bc_elem_kind(op->results[0].type) == to;
}

/* Does the body only widen the carried value, and pass on a rounded one to the next iteration? */
static bool is_wide_inside(const ct_op *loop, uint32_t index)
{
    const ct_block *body = loop->regions[0];
    const ct_op *next = body->last->operands[index]->op;
    if (bc_elem_kind(body->args[index + 1].type) != BC_F16 || !is_conversion(next, BC_F32, BC_F16)
        || ct_loop_around(next) != loop)
        return false;
    for (const ct_use *use = body->args[index + 1].uses; use; use = use->next)
        if (!is_conversion(use->op, BC_F16, BC_F32))
            return false;
    return true;
}

/* Makes the loop carry the value in f32. False: out of memory. */
static bool carry_wide(cg_func *c, ct_op *loop, uint32_t index)
{
    ct_block *body = loop->regions[0];
    ct_value *arg = &body->args[index + 1], *result = &loop->results[index];
    ct_value *next_sum = body->last->operands[index]->op->operands[0];
    uint32_t at = ct_first_carried(loop) + index;
    ct_builder before = {c->ir, loop, false}, after = {c->ir, loop->next, false};
    const bc_type *narrow = arg->type;
    ct_value *start = widened(&before, loop->operands[at], next_sum->type);
    if (!start)
        return false;
    ct_set_operand(loop, at, start);
    arg->type = result->type = next_sum->type;
    for (ct_use *use = arg->uses, *next; use; use = next) {
        ct_op *conversion = use->op;
        next = use->next;
        if (conversion->opcode != OP_ftof) /* others are conversions that read the value in f32 */
            continue;
        ct_replace_uses(&conversion->results[0], arg);
        ct_remove(conversion);
    }
    ct_set_operand(body->last, index, next_sum);
    ct_value *rounded = ct_build(&after, OP_ftof, narrow, &result, 1);
    if (!rounded)
        return false;
    ct_replace_uses(result, rounded);
    ct_set_operand(rounded->op, 0, result);
    return true;
}

/* ---- the pass ---- */

static bool widen_products(cg_func *c, ct_block *block)
{
    bool any = false, sums = c->target->features & CG_HAS_ASYNC_PRODUCTS;
    for (ct_op *op = block->first, *next; op && !c->failed; op = next) {
        next = op->next;
        for (uint32_t r = 0; r < op->region_count; r++)
            if (op->regions[r])
                any = widen_products(c, op->regions[r]) || any;
        for (uint32_t i = 0; sums && op->opcode == OP_for && ct_ends_in_one_place(op) && i < op->result_count; i++)
            if (is_wide_inside(op, i))
                carry_wide(c, op, i);
        bool by_f32 = lacks_instruction(c, op), operands = by_f32 || suits_halves(c, op),
             sum = !by_f32 && sums && is_wide(c, op);
        any = any || operands || sum;
        if (operands)
            widen_operands(c, op, by_f32 ? BC_F32 : BC_F16);
        if (sum && !c->failed)
            widen(c, op);
    }
    return any;
}

void cg_pass_widen(cg_func *c)
{
    if (c->target->features & CG_HAS_LONG_MMA && !(c->target->features & CG_HAS_ASYNC_PRODUCTS))
        return;
    if (!widen_products(c, c->ir->body) || c->failed)
        return;
    cg_simplify(c);
    cg_set_warps(c);
}
