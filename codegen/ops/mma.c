/* Matrix products by mma.sync. Fragments are loaded by ldmatrix from shared memory, either from the stage of a
   pipelined load or from scratch, in either order of dimensions. The 16-byte chunks of rows are swizzled, so that
   neither stores nor ldmatrix have bank conflicts. Left operands that are computed from another product, or before
   the loop, are kept in registers as fragments. Scaled products are in codegen/ops/mma_scaled.c, those without an
   instruction in codegen/ops/mma_blocks.c and mma_plain.c. Sources: memory reference, section 7; PTX ISA,
   "Warp-level matrix instructions", fragment figures. */
#include "codegen/ops/mma.h"

#include <string.h>

#include "codegen/analysis/reordered.h"
#include "codegen/analysis/scaling.h"
#include "codegen/analysis/tensor.h"
#include "codegen/analysis/tensor_left.h"
#include "codegen/analysis/turned.h"
#include "codegen/kernel/remarks.h"
#include "codegen/ops/hooks.h"
#include "codegen/ptx/ptx.h"
#include "codegen/values/homes.h"
#include "codegen/values/values.h"

/* ---- layouts ---- */

/* Does `to` give the same elements to the same threads as `from`? Both have images of one bit or none. */
static bool same_threads(const cg_layout *from, const cg_layout *to)
{
    return !(cg_layout_reg_images(to) & ~cg_layout_reg_images(from))
           && memcmp(from->lane, to->lane, sizeof to->lane) == 0
           && memcmp(from->warp, to->warp, to->warp_bits * sizeof *to->warp) == 0;
}

/* Is v, an operand of the op, the same in every iteration of the loop around the op? */
static bool is_made_before(const ct_value *v, const ct_op *op, const ct_op *loop)
{
    for (const ct_block *b = op->block; b != loop->block; b = b->parent->block) {
        if (v->op && v->op->block == b)
            return false;
        for (uint32_t i = 0; i < b->arg_count; i++)
            if (v == &b->args[i])
                return false;
    }
    return true;
}

/* Registers of a thread for the accumulators of a block's products. */
static uint32_t accumulators_of(const cg_func *c, const ct_block *block)
{
    uint32_t sum = 0;
    for (const ct_op *op = block->first; op; op = op->next)
        if (cg_is_product(op) && !cg_is_product(cg_maker_of(ct_operands(op)[2])))
            sum += ((uint32_t)1 << cg_shape_of(cg_result(op, 0)->type).tile_bits) / cg_threads(c);
    return sum;
}

/* Is there room in registers for the op's left operand A, which takes `registers` of them, beside the sums? */
static bool have_room(const cg_func *c, const ct_op *op, uint32_t registers)
{
    enum { MOST = 64, MOST_WITH_ACCUMULATORS = 176 }; /* registers of a thread */
    return registers <= MOST && registers + accumulators_of(c, op->block) <= MOST_WITH_ACCUMULATORS;
}

/* Is the op's left operand A loop-invariant, and is there room for it in `registers` registers beside the sums? */
static bool is_kept_in_loop(const cg_func *c, const ct_op *op, uint32_t registers)
{
    const ct_op *loop = ct_loop_around(op);
    return loop && is_made_before(ct_operands(op)[0], op, loop) && have_room(c, op, registers);
}

/* Should A be kept as fragments? There are four reasons: its threads already hold fragments; shared memory has no
   room for a step of both operands; a product of consumers stays in flight while later ops use the scratch in which
   A would be; or A is loop-invariant in a loop of this product or of a similar one, such as a loop whose first
   product has been moved in front of it (codegen/passes/skew.c). */
static bool wants_fragments(const cg_func *c, const ct_op *op, const cg_product *p, const cg_layout *home)
{
    const ct_op *from = cg_source_of(p->lhs)->op;
    if (!cg_takes_fragments(p) || (from && from->opcode == CT_staged))
        return false;
    cg_layout l = cg_fragment_layout(c, p);
    if (same_threads(home, &l) || !cg_step_fits(c, p))
        return true;
    uint32_t registers = cg_layout_regs(&l) >> p->atom.element_bits;
    bool is_kept = is_kept_in_loop(c, op, registers) || (c->groups && op->in_flight && have_room(c, op, registers));
    for (const ct_use *use = p->lhs->uses; use && !is_kept; use = use->next)
        is_kept = cg_is_product(use->op) && use->index == 0 && cg_result(use->op, 0)->type == p->result->type
                  && is_kept_in_loop(c, use->op, registers);
    return is_kept;
}

/* The layout of an operand; if all batches share it, that of one batch, with registers for the others. */
static cg_layout operand_home(cg_func *c, const ct_value *v)
{
    cg_layout l;
    uint32_t weight;
    if (cg_wish(c, v, &l, &weight))
        return l;
    const ct_value *from = v->op && v->op->opcode == OP_broadcast ? v->op->operands[0] : NULL;
    if (!from || from->type->shape[0] == v->type->shape[0] || !cg_wish(c, from, &l, &weight))
        return cg_default_layout(c, v->type);
    cg_shape one = cg_shape_of(from->type), all = cg_shape_of(v->type);
    l = cg_layout_embed(&l, &one, &all);
    for (uint32_t left = cg_excerpt_mask(&one, &all); left; left &= left - 1)
        l.reg[l.reg_bits++] = left & (~left + 1);
    return l;
}

/* Finds the products that the op computes together and records this for each of them, unless an earlier product of
   the group has already done so. */
static void assign_together(cg_func *c, const ct_op *op, cg_product *p)
{
    const cg_product *told = cg_value_of(c, p->result)->product;
    cg_together *t = told ? NULL : cg_find_together(c, op);
    p->together = told ? told->together : t;
    for (uint32_t i = 1; t && i < t->count; i++) {
        cg_product *other = bc_new(&c->arena, cg_product, 1);
        if (!other)
            return;
        other->together = t;
        cg_value_of(c, cg_result(t->ops[i], 0))->product = other;
    }
}

static void assign_product(cg_func *c, const ct_op *op)
{
    cg_product *p = bc_new(&c->arena, cg_product, 1);
    cg_layout *read = bc_new(&c->arena, cg_layout, 4), result;
    if (!p || !read)
        return;
    *p = cg_product_of(c, op);
    read[0] = operand_home(c, p->lhs);
    read[1] = operand_home(c, p->rhs);
    for (uint32_t i = 3; i < op->operand_count; i++) /* scales */
        read[i - 1] = operand_home(c, ct_operands(op)[i]);
    if (p->instruction == CG_BY_TURNED_WGMMA) {
        result = cg_turned_layout(c, p);
    } else if (cg_has_atom(p)) {
        bool reordered = p->instruction == CG_BY_REORDERED_MMA;
        read[0] = cg_with_halves(p, true, &read[0]);
        read[1] = cg_with_halves(p, false, &read[1]);
        cg_settle_product(c, p, &read[0], &read[1]);
        if (reordered)
            cg_find_order(c, p, &read[0]);
        if (cg_left_in_tensor(c, op))
            read[0] = cg_tensor_left_layout(c, p);
        else if (reordered || op->held & 1 || wants_fragments(c, op, p, &read[0]))
            read[0] = cg_fragment_layout(c, p);
        if (op->held & 2)
            read[1] = cg_right_fragment_layout(c, p);
        for (uint32_t i = 0; p->scaled && i < 2; i++)
            read[2 + i] = cg_scale_layout(c, p, i == 0);
        assign_together(c, op, p);
        result = cg_accumulator_layout(c, p);
    } else if (p->instruction == CG_BY_BLOCKS) {
        assign_together(c, op, p);
        result = cg_block_layout(c, p);
    } else {
        result = cg_plain_layout(c, p);
    }
    cg_set_home(c, p->result, &result, CG_WEIGHT_MMA);
    for (uint32_t i = 0; i < op->operand_count; i++)
        cg_want(c, ct_operands(op)[i], i == 2 ? &result : &read[i < 2 ? i : i - 1]);
    cg_value_of(c, p->result)->source = read;
    cg_value_of(c, p->result)->product = p;
}

void cg_assign_mmaf(cg_func *c, const ct_op *op)
{
    assign_product(c, op);
}

void cg_assign_mmai(cg_func *c, const ct_op *op)
{
    assign_product(c, op);
}

void cg_assign_mmaf_scaled(cg_func *c, const ct_op *op)
{
    assign_product(c, op);
}

/* ---- by instructions ---- */

/* Multiplies a K slice, which is all that the ring holds. */
static void multiply_k_part(cg_func *c, const ct_op *op, const cg_product *p, const cg_k_part *part, cg_val *acc)
{
    if (!part->number) /* the other slices are like the first one */
        cg_remark_mma(c, op, p);
    cg_factors f = {0};
    cg_add_operands(c, &f, p);
    cg_take_fragments(c, &f);
    uint32_t step_bits = p->k - part->bits - p->atom.k_bits;
    cg_multiply_steps(c, p, &f, part->number << step_bits, (uint32_t)1 << step_bits, &acc);
}

static void multiply_with_atom(cg_func *c, const ct_op *op, const cg_product *p, cg_val *const *sums)
{
    cg_factors f;
    cg_find_factors(c, op, p, &f);
    uint32_t step_bits = p->k - f.parts - p->atom.k_bits;
    bool async = cg_is_async(p, &f);
    cg_take_fragments(c, &f);
    if (!async)
        cg_remark_mma(c, op, p);
    for (uint32_t number = 0; number < (uint32_t)1 << f.parts && !c->failed; number++) {
        const uint32_t part = cg_step_in_order(p, number << step_bits, step_bits + f.parts) >> step_bits;
        cg_encode_operands(c, op, p, &f, async, part);
        if (async)
            cg_multiply_async(c, op, p, f.operands, sums[0]);
        else
            cg_multiply_steps(c, p, &f, part << step_bits, (uint32_t)1 << step_bits, sums);
    }
}

/* Computes the sums and then the results of the op and of the products computed with it. */
static void multiply_blocked(cg_func *c, const ct_op *op, const cg_product *p)
{
    cg_factors f;
    cg_val *sums[CG_MOST_TOGETHER];
    const cg_together *t = p->together;
    cg_find_factors(c, op, p, &f);
    for (uint32_t i = 0; i < t->count; i++)
        if (!(sums[i] = cg_block_sums(c, cg_settled_product(c, t->ops[i]))))
            return;
    for (uint32_t part = 0; part < (uint32_t)1 << f.parts && !c->failed; part++) {
        cg_encode_operands(c, op, p, &f, false, part);
        cg_multiply_blocks(c, p, &f, part, sums);
    }
    for (uint32_t i = 0; i < t->count && !c->failed; i++)
        cg_end_block_sums(c, cg_settled_product(c, t->ops[i]), sums[i]);
}

/* The reason why a product has no instruction. */
static const char *why_plain(const cg_product *p)
{
    if ((p->scaled && p->m < CG_ATOM_ROW_BITS) || p->n < 3 || p->n > 10)
        return "no instruction has that shape";
    return "no instruction takes these types, or so few elements along K";
}

/* Computes the op and the products computed with it. */
static void multiply_by_instructions(cg_func *c, const ct_op *op, const cg_product *p)
{
    const cg_together *t = p->together;
    cg_val *sums[CG_MOST_TOGETHER];
    for (uint32_t i = 0; i < t->count; i++)
        if (!(sums[i] = cg_begin_sums(c, cg_settled_product(c, t->ops[i]))))
            return;
    if (op->detail)
        multiply_k_part(c, op, p, op->detail, sums[0]);
    else
        multiply_with_atom(c, op, p, sums);
    for (uint32_t i = 0; i < t->count && !c->failed; i++)
        cg_end_sums(c, cg_settled_product(c, t->ops[i]), sums[i]);
}

static void lower_with_atom(cg_func *c, const ct_op *op, cg_product *p)
{
    cg_scales scales = {0};
    p->scales = &scales;
    for (uint32_t i = 0; p->scaled && i < 2 && !c->failed; i++)
        cg_take_scales(c, op, p, i);
    if (p->scaling && p->scaling->alternate)
        scales.odd_blocks = cg_odd_blocks(c);
    if (!c->failed)
        multiply_by_instructions(c, op, p);
}

static void lower_blocked(cg_func *c, const ct_op *op, const cg_product *p)
{
    cg_remark(c, op, CG_REMARK_MatrixProduct, TV_REMARK_MISSED,
              "computed without tensor cores, each thread in blocks of {Elements=%u} elements: {Why=%s}",
              cg_layout_regs(cg_value_of(c, p->result)->home), why_plain(p));
    if (p->together->ops[0] == op)
        multiply_blocked(c, op, p);
}

/* Lowers a product by the transposed instruction, or element by element. */
static void lower_otherwise(cg_func *c, const ct_op *op, const cg_product *p)
{
    const cg_value *result = cg_value_of(c, p->result);
    uint32_t count = cg_layout_regs(result->home);
    cg_val *start = cg_get(c, p->c, result->home), *acc = cg_vals(c, count);
    if (!start || !acc)
        return;
    memcpy(acc, start, count * sizeof *acc);
    if (p->instruction == CG_BY_TURNED_WGMMA) {
        cg_multiply_turned(c, op, p, acc);
    } else {
        cg_remark(c, op, CG_REMARK_MatrixProduct, TV_REMARK_MISSED,
                  "computed without tensor cores, element by element: {Why=%s}", why_plain(p));
        cg_multiply_plain(c, op, p, result->source, acc);
    }
    if (!c->failed)
        cg_set(c, p->result, acc);
}

static void lower_product(cg_func *c, const ct_op *op)
{
    cg_product p = *cg_settled_product(c, op);
    if ((p.in == BC_F8E4M3FN || p.in == BC_F8E5M2) && (c->target->features & CG_HAS_F8))
        cg_need_ptx(c, 84);
    if (p.instruction == CG_BY_BLOCKS)
        lower_blocked(c, op, &p);
    else if (p.instruction == CG_BY_TCGEN05)
        cg_multiply_tcgen05(c, op, &p);
    else if (p.instruction == CG_BY_TURNED_WGMMA || p.instruction == CG_BY_ELEMENT)
        lower_otherwise(c, op, &p);
    else if (p.together->ops[0] == op)
        lower_with_atom(c, op, &p);
}

void cg_lower_mmaf(cg_func *c, const ct_op *op)
{
    lower_product(c, op);
}

void cg_lower_mmai(cg_func *c, const ct_op *op)
{
    lower_product(c, op);
}

void cg_lower_mmaf_scaled(cg_func *c, const ct_op *op)
{
    lower_product(c, op);
}
