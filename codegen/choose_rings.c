/* Chooses rings and warps of single products; docs/internals/codegen/cost-model.md has the figures.

   A product whose block is alone on a multiprocessor with two stages gets one stage if a second block then has room and
   the block is predicted to be clearly faster: while one waits for its tiles, or stores results, the other multiplies.

   A product whose threads wait for what they multiply (mma.sync, or without tensor cores) gets fewer stages if further
   blocks then have room that are predicted to be clearly faster: each of them hides the waits of the others.

   Products by mma.sync, also those of chains, get half of their warps if shared memory limits them and they are
   predicted to be clearly faster then: each warp reads the operands that it multiplies, so that fewer read less. Not so
   where copies are short, or another version loads tiles when it needs them: each thread would issue twice as many.
   They also get half of their warps if these compute an operand as fragments, which more warps would store to scratch.

   A product of few rows or columns reads far more bytes than it multiplies. Where its tiles are copied in pieces of
   less than 16 bytes, the threads of one warpgroup issue so many copies that these take most of an iteration, and
   several blocks leave little to L1, through which such pieces pass. Then two warpgroups multiply, and others copy
   ahead with as many stages as a block alone has room for, and L1 beside them. So do those of a product by wgmma whose
   tile has rows for two warpgroups, if its rows along K fill lines: a warp that starts copies is held for most of the
   time that they take, and multiplies nothing meanwhile. */
#include "codegen/choose_rings.h"

#include "codegen/analysis/product.h"
#include "codegen/kernel/limits.h"
#include "codegen/plan/budget.h"
#include "codegen/weight.h"

enum { TWO_STAGES = 2 };

/* Products of f64 have as many stages as their time asks for. */
static bool is_f64(const ct_op *product)
{
    return bc_elem_kind(product->results[0].type) == BC_F64;
}

/* Is the product on its own, and may its plan be another one than the passes decide? */
static bool is_free(const cg_func *c)
{
    const cg_choices *usual = cg_choices_of(c);
    uint32_t count = 0;
    for (const ct_op *op = c->ir->body->first; op; op = ct_next_op(op, c->ir->body))
        if (++count > CG_WEIGHED_OPS || (cg_is_product(op) && cg_product_before(op)))
            return false;
    return !usual->warps && !usual->stages && usual->groups == CG_AS_DECIDED && !c->strip_bits
           && !cg_loops_stay_plain(c);
}

static bool take_single_stage(cg_func *c, const cg_watch *watch, cg_choices *room, const cg_weight *now)
{
    cg_choices one = *cg_choices_of(c);
    if (now->is_divided || now->stages != TWO_STAGES || cg_blocks_weighed(now) != 1
        || is_f64(cg_largest_product(c->ir)))
        return false;
    one.stages = 1;
    const cg_weight then = cg_weigh(c, watch, &one);
    if (c->failed || !then.compiles || cg_blocks_weighed(&then) < CG_FEW_BLOCKS || then.short_of > 1
        || then.share * cg_machine_of(c->target)->worth_changing > now->share)
        return false;
    cg_take_cheaper(c, room, &one, "a single stage, which leaves room for a second block", &then, now);
    return true;
}

static bool is_narrow(const ct_op *product)
{
    enum { FEW = 32 };
    const bc_type *sums = product->results[0].type;
    const int64_t *sides = &sums->shape[sums->rank - 2];
    return sides[0] <= FEW || sides[1] <= FEW;
}

/* Does wgmma multiply rows for two warpgroups, in steps whose rows along K fill lines? */
static bool has_rows_for_two(cg_func *c, const ct_op *op)
{
    const cg_product p = cg_product_of(c, op);
    return p.instruction == CG_BY_WGMMA && p.in != BC_TF32 && (1u << p.m) >= 2 * CG_WARPGROUP_ROWS
           && cg_memory_bytes(p.in) << p.k >= CG_LINE_BYTES;
}

static void copy_ahead(cg_func *c, const cg_watch *watch, cg_choices *room, const cg_weight *now)
{
    cg_choices more = *cg_choices_of(c);
    const ct_op *product = cg_largest_product(c->ir);
    if (now->is_divided || !now->is_short || c->warp_bits != CG_WARPGROUP_BITS
        || (!is_narrow(product) && !has_rows_for_two(c, product)))
        return;
    more.warps = 2u << CG_WARPGROUP_BITS;
    const cg_weight then = cg_weigh(c, watch, &more);
    if (c->failed || !then.compiles || !then.is_divided || !then.by_threads)
        return;
    cg_take_cheaper(c, room, &more, "producers copy short pieces for two warpgroups", &then, now);
    cg_leave_cache(c, watch, room, &then);
}

/* Would one more block have the registers that its threads want, but not the shared memory? */
static bool lack_shared(const cg_func *c, const cg_weight *now)
{
    const uint32_t blocks = cg_blocks_weighed(now), threads = (blocks + 1) << (now->warp_bits + CG_LANE_BITS);
    return cg_blocks_of_shared(c, now->shared) == blocks
           && now->wanted * threads <= cg_machine_of(c->target)->registers;
}

static bool take_fewer_stages(cg_func *c, const cg_watch *watch, cg_choices *room, const cg_weight *now)
{
    const double worth = cg_machine_of(c->target)->worth_changing;
    const ct_op *product = cg_largest_product(c->ir);
    cg_choices fewer = *cg_choices_of(c), best = fewer;
    cg_weight chosen = *now;
    if (now->is_divided || now->stages <= TWO_STAGES || now->waits < worth || !lack_shared(c, now) || is_f64(product)
        || cg_mma_is_async(c, product))
        return false;
    for (fewer.stages = now->stages - 1; fewer.stages >= TWO_STAGES; fewer.stages--) {
        const cg_weight then = cg_weigh(c, watch, &fewer);
        const bool has_room = then.compiles && !then.is_divided && then.resident > now->resident && then.short_of <= 1;
        if (!has_room || then.stages != fewer.stages || then.share * worth > chosen.share)
            continue;
        chosen = then;
        best = fewer;
    }
    if (c->failed || !best.stages)
        return false;
    cg_take_cheaper(c, room, &best, "fewer stages, which leave room for further blocks", &chosen, now);
    return true;
}

/* Have threads the registers for twice as much of each tile? */
static bool can_hold_twice(const cg_func *c, const cg_weight *now)
{
    const double beside = cg_machine_of(c->target)->registers_usual;
    return 2 * (now->wanted - beside) + beside <= CG_THREAD_REGISTERS;
}

/* Has a tile of the product's result a long side? Four warps divide it, and each of them reads the other operand, which
   is short: fewer warps save little, but their blocks are alone where a grid has few. */
static bool is_long(const ct_op *product)
{
    enum { LONG = 128 };
    const bc_type *sums = product->results[0].type;
    const int64_t *sides = &sums->shape[sums->rank - 2];
    return sides[0] >= LONG || sides[1] >= LONG;
}

/* Is an operand of the product more than a tile that is loaded? */
static bool has_computed(const ct_op *product)
{
    return !cg_is_loaded_operand(product->operands[0]) || !cg_is_loaded_operand(product->operands[1]);
}

/* Do half of the warps pay? Where each warp reads less, the model must predict that they are clearly faster. Where they
   make fragments of an operand that more warps store to scratch, because as many would compute each fragment, it must
   not predict that they are clearly slower: an iteration then has neither the stores nor the barriers around them, at
   which warps wait for each other longer than the model counts. */
static bool is_better_halved(const cg_func *c, const cg_weight *now, const cg_weight *then, bool by_less)
{
    const double worth = cg_machine_of(c->target)->worth_changing;
    return then->made & ~now->made ? then->share <= now->share * worth : by_less && then->share * worth <= now->share;
}

void cg_halve_warps(cg_func *c, const cg_watch *watch, cg_choices *room)
{
    const ct_op *product = cg_largest_product(c->ir);
    cg_choices half = *cg_choices_of(c);
    if (!product || is_f64(product) || product->opcode == OP_mmaf_scaled || cg_loops_stay_plain(c)
        || cg_product_of(c, product).instruction != CG_BY_MMA)
        return;
    const cg_weight now = cg_weigh(c, watch, &half);
    if (!now.compiles || now.is_divided || now.stages < TWO_STAGES || now.warp_bits < CG_WARPGROUP_BITS
        || now.loads_late || !can_hold_twice(c, &now))
        return;
    const bool by_less = now.shares && !now.is_short && (now.warp_bits > CG_WARPGROUP_BITS || !is_long(product));
    if (!by_less && !has_computed(product))
        return;
    half.warps = 1u << (now.warp_bits - 1);
    const cg_weight then = cg_weigh(c, watch, &half);
    if (c->failed || !then.compiles || then.is_divided || then.stages < TWO_STAGES || then.short_of > 1
        || !is_better_halved(c, &now, &then, by_less))
        return;
    const bool makes = then.made & ~now.made;
    cg_take_cheaper(c, room, &half,
                    makes ? "half of the warps, which make fragments" : "half of the warps, which read less", &then,
                    &now);
}

void cg_choose_rings(cg_func *c, const cg_watch *watch, cg_choices *room)
{
    const cg_choices usual = *cg_choices_of(c);
    if (!cg_largest_product(c->ir) || !is_free(c))
        return;
    const cg_weight now = cg_weigh(c, watch, &usual);
    if (!c->failed && now.compiles && !take_single_stage(c, watch, room, &now)
        && !take_fewer_stages(c, watch, room, &now))
        copy_ahead(c, watch, room, &now);
}

/* Gives products by mma.sync two stages if more of them leave room for two blocks on a multiprocessor only, and two for
   at least twice as many: these hide each other's waits. */
void cg_prefer_blocks(cg_func *c, const cg_watch *watch, cg_choices *room)
{
    const ct_op *product = cg_largest_product(c->ir);
    const cg_choices usual = *cg_choices_of(c);
    if (!product || usual.stages || cg_product_of(c, product).instruction != CG_BY_MMA || is_f64(product))
        return;
    const cg_weight now = cg_weigh(c, watch, &usual);
    if (!now.compiles || now.is_divided || now.stages <= TWO_STAGES || cg_blocks_weighed(&now) != CG_FEW_BLOCKS)
        return;
    cg_choices fewer = usual;
    fewer.stages = TWO_STAGES;
    const cg_weight then = cg_weigh(c, watch, &fewer);
    if (!c->failed && then.compiles && cg_blocks_weighed(&then) >= 2 * CG_FEW_BLOCKS && then.share <= now.share)
        cg_take_fuller(c, room, &fewer, &then, now.resident);
}
