/* Chooses plans of chains of products, in which one multiplies what another one gives, by cost
   (docs/internals/codegen/cost-model.md has the figures).

   Operands of a chain of 16 or 32 rows are swapped if groups of warps then have room and the block is predicted to be
   faster by more than `worth_swapping`, or at all if its loop reduces nothing and several such blocks share a
   multiprocessor. Where two stages do not fit, keys come in parts, or threads refill a single slot. The first product
   multiplies 8-bit floats as they are if that is predicted to be faster. */
#include "codegen/choose_chains.h"

#include "codegen/analysis/order.h"
#include "codegen/kernel/limits.h"
#include "codegen/kernel/remarks.h"
#include "codegen/plan/budget.h"
#include "codegen/weight.h"

int64_t cg_rows_of_product(const ct_op *product)
{
    return product->results[0].type->shape[product->results[0].type->rank - 2];
}

int64_t cg_rows_of_chain(const cg_func *c)
{
    uint32_t count = 0;
    int64_t rows = 0;
    for (const ct_op *op = c->ir->body->first; op; op = ct_next_op(op, c->ir->body)) {
        if (++count > CG_WEIGHED_OPS)
            return 0;
        if (cg_is_product(op) && cg_product_before(op) && cg_rows_of_product(op) > rows)
            rows = cg_rows_of_product(op);
    }
    return rows;
}

/* ---- swapped operands, and keys in parts ---- */

/* Have products of a chain keys for several parts, of which two iterations do not fit in shared memory? The pass that
   divides them knows more. */
static bool has_many_keys(const cg_func *c)
{
    enum { TWO_STAGES = 2, OPERANDS = 2 };
    for (const ct_op *op = c->ir->body->first; op; op = ct_next_op(op, c->ir->body)) {
        if (!cg_is_product(op) || !cg_product_before(op))
            continue;
        const bc_type *type = op->operands[1]->type;
        const uint64_t bytes = (uint64_t)cg_memory_bytes(bc_elem_kind(type)) << cg_shape_of(type).tile_bits;
        if (type->shape[type->rank - 2] >= 2 * CG_WARPGROUP_ROWS && TWO_STAGES * OPERANDS * bytes > cg_shared_most(c))
            return true;
    }
    return false;
}

/* Are keys of a chain its values, too? Then several products read the same tile. */
static bool are_values(const cg_func *c)
{
    for (const ct_op *op = c->ir->body->first; op; op = ct_next_op(op, c->ir->body))
        for (const ct_op *before = op->block->first; cg_is_product(op) && cg_product_before(op) && before != op;
             before = before->next)
            if (cg_is_product(before) && cg_source_of(before->operands[1]) == cg_source_of(op->operands[1]))
                return true;
    return false;
}

/* Does anything reduce or scan tiles in the loop of a product that multiplies what another one gives? */
static bool reduces_between(const cg_func *c)
{
    for (const ct_op *op = c->ir->body->first; op; op = ct_next_op(op, c->ir->body)) {
        if (!cg_is_product(op) || !cg_product_before(op))
            continue;
        for (const ct_op *in = op->block->first; in; in = ct_next_op(in, op->block))
            if (in->opcode == OP_reduce || in->opcode == OP_scan)
                return true;
    }
    return false;
}

typedef struct chain_plan {
    cg_choices choices;
    cg_weight weight;
    const char *name;
    bool suits_blocks; /* with several on a multiprocessor, it is taken if they are predicted to be faster at all */
} chain_plan;

/* Weighs a plan, which takes the place of the best one if the block is predicted to be faster by more than `worth`. */
static void try_plan(cg_func *c, const cg_watch *watch, chain_plan *plan, double worth, chain_plan *best)
{
    plan->weight = cg_weigh(c, watch, &plan->choices);
    worth = plan->suits_blocks && cg_blocks_weighed(&plan->weight) > 1 ? 1 : worth;
    const bool is_slower = best->weight.compiles && plan->weight.share * worth >= best->weight.share;
    if (!c->failed && plan->weight.compiles && plan->weight.is_divided && !is_slower)
        *best = *plan;
}

/* Swaps the operands of a chain of few rows, so that wgmma reads each of them once from shared memory, if the model
   predicts that this is clearly faster than what other rules have chosen; without producers, it was slower for most
   chains that were tried. If several blocks share a multiprocessor, so that one computes what is between products
   while another one multiplies, it need not be clear where the loop reduces nothing: reduced rows lie across warps
   then. On an H200, 11 chains that reduce nothing take 0.74 to 0.97 of the time, 0.84 in the geometric mean, and 16
   of 17 others 1.12 to 1.41. Keys of which two iterations do not fit are divided, with swapped operands or without,
   if that is predicted to be faster. If keys are also values, they remain whole with swapped operands only if that is
   predicted to be clearly faster: while products read their single slot, nothing is copied. */
static void choose_operands(cg_func *c, const cg_watch *watch, cg_choices *room)
{
    const cg_choices usual = *cg_choices_of(c);
    if (!(c->target->features & CG_HAS_WGMMA) || usual.swap != CG_AS_DECIDED || usual.groups != CG_AS_DECIDED
        || cg_loops_stay_plain(c) || !cg_rows_of_chain(c))
        return;
    double worth = cg_machine_of(c->target)->worth_swapping;
    const bool swaps = cg_rows_of_chain(c) < CG_WARPGROUP_ROWS, divides = has_many_keys(c);
    if (!swaps && !divides)
        return;
    chain_plan now = {.choices = usual}, best, swapped, parts, both;
    now.weight = cg_weigh(c, watch, &usual);
    swapped = parts = both = best = now;
    swapped.choices.swap = both.choices.swap = CG_IF_LEGAL;
    parts.choices.keys = both.choices.keys = CG_IF_LEGAL;
    swapped.name = "swapped operands of a chain of products";
    parts.name = "keys of a chain of products in parts";
    both.name = "keys of a chain of products in parts, as left operands";
    swapped.suits_blocks = !divides && !reduces_between(c);
    if (divides)
        try_plan(c, watch, &parts, 1, &best);
    if (swaps && divides)
        try_plan(c, watch, &both, worth, &best);
    if (best.choices.swap)
        worth = are_values(c) ? cg_machine_of(c->target)->worth_changing : 1;
    if (swaps)
        try_plan(c, watch, &swapped, worth, &best);
    if (!c->failed && best.name)
        cg_take_cheaper(c, room, &best.choices, best.name, &best.weight, &now.weight);
}

/* ---- a single slot ---- */

/* Has threads copy the tiles that they read for a chain of products to a single slot, where two do not fit: the next
   iteration's are on their way while products multiply. Not if the slot would take shared memory from a block. */
static void refill_slot(cg_func *c, const cg_watch *watch, cg_choices *room)
{
    const cg_choices usual = *cg_choices_of(c);
    if (usual.refill != CG_AS_DECIDED || usual.stages || cg_loops_stay_plain(c) || !cg_rows_of_chain(c))
        return;
    const cg_weight now = cg_weigh(c, watch, &usual);
    if (!now.compiles || now.is_divided || now.stages)
        return;
    cg_choices refilled = usual;
    refilled.refill = CG_IF_LEGAL;
    const cg_weight then = cg_weigh(c, watch, &refilled);
    if (!c->failed && then.compiles && then.stages && then.resident >= now.resident && then.share < now.share)
        cg_take_cheaper(c, room, &refilled, "each thread refills the only slot that fits", &then, &now);
}

/* ---- bytes ---- */

/* Does a product of 8-bit floats multiply what another one leads to? */
static bool is_chain_of_bytes(const cg_func *c)
{
    for (const ct_op *op = c->ir->body->first; op; op = ct_next_op(op, c->ir->body))
        if (cg_is_product(op) && cg_multiplies_bytes(op) && cg_product_before(op))
            return true;
    return false;
}

/* Has wgmma multiply the bytes of a chain's first product where copies put them, if the model predicts that blocks are
   faster than with f16, to which threads convert the tiles of both products. */
void cg_choose_bytes(cg_func *c, const cg_watch *watch, cg_choices *room)
{
    const cg_choices usual = *cg_choices_of(c);
    if (!(c->target->features & CG_HAS_WGMMA) || usual.halves != CG_AS_DECIDED || cg_loops_stay_plain(c)
        || !is_chain_of_bytes(c))
        return;
    cg_choices bytes = usual;
    bytes.halves = CG_NEVER;
    const cg_weight now = cg_weigh(c, watch, &usual), then = cg_weigh(c, watch, &bytes);
    if (!c->failed && then.compiles && (!now.compiles || then.share < now.share))
        cg_take_cheaper(c, room, &bytes, "the first product of a chain by bytes", &then, &now);
}

/* ---- the correction of sums ---- */

/* Gives the sum of a chain by tcgen05 to correctors if the model predicts that the block is faster then: consumers go
   on while these multiply it. */
static void choose_correctors(cg_func *c, const cg_watch *watch, cg_choices *room)
{
    const cg_choices usual = *cg_choices_of(c);
    if (!(c->target->features & CG_HAS_TCGEN05) || usual.correction != CG_AS_DECIDED || usual.groups != CG_AS_DECIDED
        || cg_loops_stay_plain(c) || !cg_rows_of_chain(c))
        return;
    cg_choices apart = usual;
    apart.correction = CG_IF_LEGAL;
    const cg_weight now = cg_weigh(c, watch, &usual), then = cg_weigh(c, watch, &apart);
    if (c->failed || !then.compiles || !now.compiles || then.share >= now.share)
        return;
    cg_take_cheaper(c, room, &apart, "warps of their own correct the sum of a chain of products", &then, &now);
}

void cg_choose_for_chain(cg_func *c, const cg_watch *watch, cg_choices *room)
{
    choose_operands(c, watch, room);
    refill_slot(c, watch, room);
    choose_correctors(c, watch, room);
}
