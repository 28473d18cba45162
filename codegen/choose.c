/* Chooses the number of warps of a kernel, and other plans that only the whole kernel tells apart, by cost: it is also
   compiled with others, up to the prediction of its cost (docs/internals/codegen/cost-model.md has the figures).

   Reductions and scans, without products: if a tile is small, each warp has few elements, but repeats what all warps
   have to do: indices, bounds, control flow, the steps of reductions across warps. So half of the warps are tried, and
   half of these again, as long as each step is predicted to be faster, and all steps together by more than the error of
   the model (`worth_changing`), or at all if it scans: the model does not count what the warps that share a row wait
   for each other in each iteration. If several loops load tiles, each step must be by more than the error: they may
   read the same rows, and more blocks drive these out of L2. The model does not choose where it is known to be less
   exact: if the kernel waits rather than works, because it does not know how far ptxas moves loads ahead, and if tiles
   take so many registers that few threads share a multiprocessor, because it knows registers only approximately.
   Choices that are asked for decide before cost. A hint that says how many warps to use is where the search begins; of
   a reduction, it yields to fewer warps if its own would share rows and fewer leave room for more blocks, or if four
   would share rows that two can hold in registers. Stages are counted before scratch is known: a block that would be
   alone on a multiprocessor because of its scratch has fewer stages, so that a second one has room, since nothing else
   runs while its warps wait at a barrier; and one that carries sums has one fewer if a further block then has room. If
   accesses are short, stages also leave some of the memory to L1, which shares it with them.

   A map without loops that would have more than the usual warps goes in strips if copies of 16 bytes bring these, and
   most warps of a multiprocessor are kept. Strips that do not run ahead yield to more warps. A map without a hint for
   warps whose strips run ahead gets twice the usual warps, if they do with these, too. Other maps without such a hint
   get more warps, up to 16, as long as fewer than half of the threads that a multiprocessor can have are predicted to
   be there and each step brings more of them. If these are too few still, its rings have two stages, provided that
   this brings more. A map whose ring leaves no room for a second block has up to 32 warps, if their registers
   suffice: 16 are the most for others because all warps of a block wait for the last one, but while this one waits,
   nothing else computes. A reduction without a hint gets more, up to eight, in the same way, as long as each warp has
   results of its own, because otherwise more warps exchange more, in each iteration if a loop sums columns, and if
   accesses are shorter than 16 bytes, so that instructions limit it. Where several iterations of a loop are executed
   together, fewer warps share a row if that is predicted to be faster with these loops (codegen/choose_rows.c); all
   other choices are made as if no loop were unrolled.

   Why any choice is right: passes keep the meaning of a kernel for every number of warps. */
#include "codegen/choose.h"

#include "codegen/analysis/order.h"
#include "codegen/analysis/product.h"
#include "codegen/analysis/tensor.h"
#include "codegen/kernel/limits.h"
#include "codegen/kernel/remarks.h"
#include "codegen/plan/budget.h"
#include "codegen/plan/cluster.h"
#include "codegen/choose_products.h"
#include "codegen/choose_rows.h"
#include "codegen/weight.h"

/* ---- which kernels ---- */

/* Do threads wait for other blocks there? */
static bool waits_for_others(const ct_op *op)
{
    switch ((int)op->opcode) {
    case OP_atomic_rmw_tko:
    case OP_atomic_cas_tko:
    case OP_atomic_red_view_tko: return true;
    case OP_load_ptr_tko:
    case OP_load_view_tko:
    case OP_store_ptr_tko:
    case OP_store_view_tko: return !cg_is_weak_access(op);
    default: return false;
    }
}

/* Does it reduce or scan, without products, and may it have another number of warps? */
static bool is_reduction(const cg_func *c)
{
    uint32_t count = 0;
    bool folds = false;
    if (cg_choices_of(c)->warps || c->strip_bits || !c->warp_bits || cg_loops_stay_plain(c))
        return false;
    for (const ct_op *op = c->ir->body->first; op; op = ct_next_op(op, c->ir->body)) {
        if (++count > CG_WEIGHED_OPS || cg_is_product(op))
            return false;
        folds = folds || (op->opcode < OP_LIMIT && bc_op_in(op->opcode, BC_OPS(FOLD)));
    }
    return folds;
}

/* Does the cost of a block say little about the kernel's, because it waits for others? */
static bool is_ordered(const cg_func *c)
{
    for (const ct_op *op = c->ir->body->first; op; op = ct_next_op(op, c->ir->body))
        if (waits_for_others(op))
            return true;
    return false;
}

/* Leaves a tile block whose product has scales to one block if this is predicted to take clearly less time than both of
   a pair together. Where threads store scales, each product is awaited, and a pair waits as long for half as much. Only
   a block that would compute the whole tile block is compared. both: of a pair. */
static void multiply_alone(cg_func *c, const cg_watch *watch, cg_choices *room, const cg_choices *alone, cg_weight both)
{
    if (cg_largest_product(c->ir)->opcode != OP_mmaf_scaled || cg_fills_device(c->ir) || cg_least_blocks(c) > 1)
        return;
    const cg_weight one = cg_weigh_on(c, watch, alone, CG_ANY_GPU);
    both.share *= CG_PAIR_BLOCKS;
    if (!c->failed && one.compiles && one.share * cg_machine_of(c->target)->worth_changing < both.share)
        cg_take_cheaper(c, room, alone, "one thread block instead of a pair, whose times are added", &one, &both);
}

void cg_choose_pair(cg_func *c, const cg_watch *watch, cg_choices *room)
{
    const ct_op *product = cg_largest_product(c->ir);
    bool may_pair = c->target->features & CG_HAS_TCGEN05 && cg_hint_of(c, CG_HINT_CLUSTER) == CG_PAIR_BLOCKS && product
                    && cg_choices_of(c)->pair == CG_AS_DECIDED;
    cg_choices choices = *cg_choices_of(c);
    if (!may_pair || cg_pair_obstacle(c, product))
        return;
    const cg_weight pair = cg_weigh_on(c, watch, &choices, CG_ANY_GPU);
    choices.pair = CG_NEVER;
    if (pair.is_pair && pair.compiles)
        multiply_alone(c, watch, room, &choices, pair);
    else if (!pair.compiles && !c->failed)
        cg_take(c, room, &choices);
}

/* Is there too little shared memory for one block more than are predicted? */
static bool fills_shared(const cg_func *c, const cg_weight *w)
{
    return cg_blocks_of_shared(c, w->shared) <= cg_blocks_weighed(w);
}

/* Has the block a multiprocessor to itself because two of them have too little shared memory? */
static bool is_alone(const cg_func *c, const cg_weight *w)
{
    return cg_blocks_weighed(w) == 1 && fills_shared(c, w);
}

/* Does a loop carry tiles, as sums of what it loads? */
static bool carries_tiles(const cg_func *c)
{
    for (const ct_op *op = c->ir->body->first; op; op = ct_next_op(op, c->ir->body))
        for (uint32_t i = 0; ct_is_loop(op) && i < op->regions[0]->arg_count; i++) {
            const bc_type *type = op->regions[0]->args[i].type;
            if (bc_is_tile(type) && cg_shape_of(type).tile_bits && bc_elem_kind(type) != BC_PTR)
                return true;
        }
    return false;
}

/* ---- maps ---- */

static bool is_weighed_map(const cg_func *c)
{
    uint32_t count = 0;
    for (const ct_op *op = c->ir->body->first; op; op = ct_next_op(op, c->ir->body))
        if (++count > CG_WEIGHED_OPS)
            return false;
    return cg_is_map(c) && !cg_loops_stay_plain(c);
}

/* Has a multiprocessor at least three quarters of the warps that it has with the other plan? */
static bool keeps_most_warps(const cg_weight *w, const cg_weight *other)
{
    enum { PARTS = 4, MOST = 3 };
    return w->resident * PARTS >= other->resident * MOST;
}

/* Lets a map without loops that has more warps than usual go in strips instead, if copies of 16 bytes bring them. Its
   threads then have their addresses and bounds computed once, and the next strip on its way, where a block of many
   warps begins with a wait. Shorter copies take more instructions than that saves. What decides is what the kernel
   becomes: ops that passes remove may have put it in strips before. On an H200, 17 kernels that this concerns are 0.99
   to 1.18 times as fast, 1.02 in the geometric mean, and one with 24 warps in place of 40, which keeps its warps,
   0.83. Returns what is predicted for a block. */
static cg_weight go_in_strips(cg_func *c, const cg_watch *watch, cg_choices *room)
{
    cg_choices next = *cg_choices_of(c);
    const cg_weight now = cg_weigh(c, watch, &next);
    if (c->failed || next.warps || now.warp_bits <= CG_USUAL_WARPS || cg_has_loops(c))
        return now;
    next.strips = CG_IF_LEGAL;
    const cg_weight then = cg_weigh(c, watch, &next);
    if (c->failed || !then.compiles || then.warp_bits == now.warp_bits || !then.is_fed || then.has_short
        || !keeps_most_warps(&then, &now))
        return now;
    cg_take(c, room, &next);
    cg_remark(c, NULL, CG_REMARK_ChosenByCost, TV_REMARK_PASSED,
              "strips of tiles, whose loads run ahead, instead of more warps");
    return then;
}

/* Leaves rows in loops that may not run if they would take the registers of other warps in front of them. Returns what
   is predicted for a block. */
static cg_weight leave_rows(cg_func *c, const cg_watch *watch, cg_choices *room, cg_weight now)
{
    cg_choices next = *cg_choices_of(c);
    next.rows = CG_NEVER;
    if (c->failed || !cg_has_turns(c))
        return now;
    const cg_weight then = cg_weigh(c, watch, &next);
    if (c->failed || !then.compiles || then.resident <= now.resident)
        return now;
    cg_take_fuller(c, room, &next, &then, now.resident);
    return then;
}

/* Are there predicted to be fewer than half of the threads that a multiprocessor can have? */
static bool has_few_threads(const cg_func *c, const cg_weight *now)
{
    return now->resident && now->resident < c->target->threads / 2 >> CG_LANE_BITS;
}

/* Takes the next choices if they bring more warps to a multiprocessor, and do not take the slots away by which tiles
   come: without them, ptxas decides how many loads are on their way. Where blocks take tiles in turn, as many blocks
   must be left, which the stages of a ring limit. */
static bool brings_more(cg_func *c, const cg_watch *watch, const cg_choices *next, cg_weight *now, cg_choices *best)
{
    cg_weight then = cg_weigh(c, watch, next);
    if (!then.compiles || then.resident <= now->resident || (now->is_fed && !then.is_fed))
        return false;
    if (cg_has_turns(c) && (!now->shared || then.resident < 2 * now->resident))
        return false;
    *now = then;
    *best = *next;
    return true;
}

/* Gives a block whose ring leaves no room for another one as many warps as there can be. */
static void fill_alone(cg_func *c, const cg_watch *watch, cg_weight *now, cg_choices *best)
{
    cg_choices next = *best;
    next.warps = 1u << CG_BLOCK_WARPS;
    if (now->warp_bits + 1 != CG_BLOCK_WARPS || !is_alone(c, now))
        return;
    const cg_weight then = cg_weigh(c, watch, &next);
    if (then.cycles > 0) { /* registers suffice */
        *now = then;
        *best = next;
    }
}

/* Doubles the warps, up to 2^most, as long as fewer than half of the threads that a multiprocessor can have are there
   and each step brings more of them. */
static void add_warps(cg_func *c, const cg_watch *watch, uint32_t most, cg_weight *now, cg_choices *best)
{
    cg_choices next = *best;
    for (uint32_t bits = now->warp_bits + 1; bits <= most && has_few_threads(c, now); bits++) {
        next.warps = 1u << bits;
        if (!brings_more(c, watch, &next, now, best))
            return;
    }
}

/* Returns what is predicted for a block. */
static cg_weight fill_with_map(cg_func *c, const cg_watch *watch, cg_choices *room, cg_weight now)
{
    cg_choices best = *cg_choices_of(c), next;
    const uint32_t usual = now.resident;
    if (now.compiles)
        add_warps(c, watch, cg_most_warps_of_map(c, cg_largest_tile(c)), &now, &best);
    next = best;
    next.stages = CG_FEWEST_STAGES;
    if (has_few_threads(c, &now) && !best.stages && !now.strip_bits && !cg_has_turns(c))
        brings_more(c, watch, &next, &now, &best);
    fill_alone(c, watch, &now, &best);
    if (!c->failed && now.resident != usual)
        cg_take_fuller(c, room, &best, &now, usual);
    return now;
}

/* Gives a map in strips twice the usual warps, if these still have strips that run ahead, and a multiprocessor has
   about as many warps: a block is finished sooner, so that less of the device is idle while the last blocks of a launch
   run. Rings then have two stages, if that makes room for more blocks. */
static void share_strips(cg_func *c, const cg_watch *watch, cg_choices *room, cg_weight now)
{
    cg_choices best = *cg_choices_of(c), next = best;
    next.warps = 1u << CG_MANY_WARPS;
    if (c->failed || best.warps || !now.compiles || !now.strip_bits || !now.is_fed || now.warp_bits != CG_USUAL_WARPS
        || cg_hint_of(c, CG_HINT_WARPS))
        return;
    const cg_weight usual = now;
    now = cg_weigh(c, watch, &next);
    if (c->failed || !now.compiles || !now.is_fed || !keeps_most_warps(&now, &usual))
        return;
    best = next;
    next.stages = CG_FEWEST_STAGES;
    if (!best.stages)
        brings_more(c, watch, &next, &now, &best);
    cg_take(c, room, &best);
    cg_remark(c, NULL, CG_REMARK_ChosenByCost, TV_REMARK_PASSED,
              "{Warps=%u} warps{Stages=%s}: strips are shared by more of them", best.warps,
              best.stages ? ", two stages" : "");
}

/* Gives a map whose strips do not run ahead as many warps as leave none: each would wait for the one before to be
   stored, and accesses that short are no shorter with more warps. A hint for fewer yields. */
static void leave_strips(cg_func *c, const cg_watch *watch, cg_choices *room, const cg_weight *now)
{
    cg_choices next = *cg_choices_of(c);
    const uint32_t most = cg_most_warps_of_map(c, cg_largest_tile(c)), bits = now->warp_bits + now->strip_bits;
    if (c->failed || next.warps || !now->compiles || !now->strip_bits || now->is_fed)
        return;
    next.warps = 1u << (bits < most ? bits : most);
    const cg_weight then = cg_weigh(c, watch, &next);
    if (c->failed || !then.compiles || then.strip_bits >= now->strip_bits)
        return;
    cg_take(c, room, &next);
    cg_remark(c, NULL, CG_REMARK_ChosenByCost, TV_REMARK_PASSED, "{Warps=%u} warps, no strips", next.warps);
}

/* ---- reductions and scans ---- */

/* Chooses the number of warps. Returns what is predicted for a block with it. */
static cg_weight choose_by_cost(cg_func *c, const cg_watch *watch, cg_choices *room)
{
    const double worth = cg_machine_of(c->target)->worth_changing, each = cg_reads_once(c) ? 1 : worth,
                 clearly = cg_scans(c) && cg_reads_once(c) ? 1 : worth;
    const uint32_t usual = 1u << cg_real_warp_bits(c);
    cg_choices best = *cg_choices_of(c), fewer = best;
    const cg_weight of_usual = cg_weigh(c, watch, &best);
    cg_weight now = of_usual, chosen = of_usual;
    for (uint32_t warps = usual / 2; warps && now.cycles > 0 && now.cycles <= worth * now.busy; warps /= 2) {
        fewer.warps = warps;
        cg_weight then = cg_weigh(c, watch, &fewer);
        if (then.cycles <= 0 || then.cycles * each >= now.cycles)
            break;
        now = then;
        if (then.cycles * clearly < of_usual.cycles) {
            best = fewer;
            chosen = then;
        }
    }
    if (c->failed || !best.warps)
        return chosen;
    cg_take(c, room, &best);
    cg_remark(c, NULL, CG_REMARK_ChosenByCost, TV_REMARK_PASSED,
              "{Warps=%u} warps, chosen by cost: {Cycles=%.0f} cycles per block instead of {UsualCycles=%.0f} with "
              "{UsualWarps=%u} warps",
              best.warps, chosen.cycles, of_usual.cycles, usual);
    return chosen;
}

/* log2 of the bytes of the narrowest elements of tiles that are loaded. */
static uint32_t narrowest_loaded(const cg_func *c)
{
    uint32_t narrowest = (uint32_t)cg_widest_access(c);
    for (const ct_op *op = c->ir->body->first; op; op = ct_next_op(op, c->ir->body)) {
        if (!ct_is_load(op) || !cg_shape_of(op->results[0].type).tile_bits)
            continue;
        const uint32_t bytes = cg_log2_up(cg_memory_bytes(bc_elem_kind(op->results[0].type)));
        narrowest = bytes < narrowest ? bytes : narrowest;
    }
    return narrowest;
}

/* log2 of the most warps each of which has results of this reduction of its own. Where a loop reduces another
   dimension than the last one, those of a warp are the widest accesses of its lanes: results lie beside each other as
   the elements in memory do, and warps that share an access exchange sums in each iteration. Not so if the lanes of
   one warp have all results, which all warps share in any case. */
static uint32_t warps_with_results(const cg_func *c, const ct_op *reduce)
{
    const uint32_t all = cg_shape_of(reduce->results[0].type).tile_bits,
                   own = CG_LANE_BITS + (uint32_t)cg_widest_access(c) - narrowest_loaded(c);
    const bool is_row = ct_attr_u(reduce, F_reduce_dim) + 1 == ct_operands(reduce)[0]->type->rank;
    return is_row || !ct_loop_around(reduce) || all <= own ? all : all - own;
}

/* The same of all reductions: if warps share rows, more of them exchange more. */
static uint32_t most_divided_warps(const cg_func *c)
{
    uint32_t most = cg_scans(c) ? 0 : CG_MANY_WARPS;
    for (const ct_op *op = c->ir->body->first; op; op = ct_next_op(op, c->ir->body)) {
        const uint32_t warps = op->opcode == OP_reduce ? warps_with_results(c, op) : most;
        most = warps < most ? warps : most;
    }
    return most;
}

/* Gives a reduction more warps where few threads are on a multiprocessor, as for maps, but only if accesses are short:
   then instructions limit it, rather than the bytes that are on their way, which a few warps have as many of. Returns
   what is predicted for a block. */
static cg_weight fill_with_rows(cg_func *c, const cg_watch *watch, cg_choices *room, cg_weight now)
{
    cg_choices best = *cg_choices_of(c);
    const uint32_t usual = now.resident;
    if (cg_hint_of(c, CG_HINT_WARPS) || best.warps || !now.has_short)
        return now;
    add_warps(c, watch, most_divided_warps(c), &now, &best);
    if (!c->failed && now.resident != usual)
        cg_take_fuller(c, room, &best, &now, usual);
    return now;
}

/* Gives a block of eight warps that has a multiprocessor to itself, because what a loop loads takes half of its
   registers, twice as many, unless it comes by a ring: ptxas keeps fewer loads of a thread on their way than such a
   tile has, and no other block has any. On an H200, 12 kernels of fresh seeds are 1.00 to 1.21 times as fast, 1.07 in
   the geometric mean. Returns what is predicted for a block. */
static cg_weight share_registers(cg_func *c, const cg_watch *watch, cg_choices *room, cg_weight now)
{
    cg_choices twice = *cg_choices_of(c);
    if (!now.fills || now.is_fed || now.warp_bits != CG_MANY_WARPS || twice.warps || cg_hint_of(c, CG_HINT_OCCUPANCY))
        return now;
    twice.warps = 2u << now.warp_bits;
    const cg_weight then = cg_weigh(c, watch, &twice);
    if (c->failed || !then.compiles)
        return now;
    cg_take_fuller(c, room, &twice, &then, now.resident);
    return then;
}

/* Gives the rings of a block fewer stages if that makes room for another block: stages are counted before it is known
   how much scratch is beside them. A block that has a multiprocessor to itself may lose several stages. Where loops
   carry sums, one stage yields: until a loop ends, its threads do nothing but wait for what they add, and other blocks
   do so at other times. Not so where blocks read rows again, because L2 holds the rows of few, or scan. Returns what is
   predicted for a block. */
static cg_weight make_room(cg_func *c, const cg_watch *watch, cg_choices *room, const cg_weight *now)
{
    const bool alone = is_alone(c, now),
               one = fills_shared(c, now) && carries_tiles(c) && cg_reads_once(c) && !cg_scans(c);
    const uint32_t least = alone ? CG_SLOTS_IN_FLIGHT : now->stages - 1;
    cg_choices fewer = *cg_choices_of(c);
    cg_weight then = *now;
    if (now->stages <= CG_SLOTS_IN_FLIGHT || !(alone || one))
        return *now;
    for (fewer.stages = now->stages - 1; fewer.stages >= least; fewer.stages--) {
        then = cg_weigh(c, watch, &fewer);
        if (then.resident > now->resident)
            break;
    }
    if (c->failed || then.resident <= now->resident)
        return *now;
    cg_take(c, room, &fewer);
    cg_remark(c, NULL, CG_REMARK_ChosenByCost, TV_REMARK_PASSED,
              "at most {Stages=%u} stages: scratch beside more of them would leave no room for a further block",
              fewer.stages);
    return then;
}

void cg_choose_warps(cg_func *c, const cg_watch *watch, cg_choices *room)
{
    if (is_weighed_map(c)) {
        cg_weight now = leave_rows(c, watch, room, go_in_strips(c, watch, room));
        if (!cg_hint_of(c, CG_HINT_WARPS))
            now = fill_with_map(c, watch, room, now);
        share_strips(c, watch, room, now);
        leave_strips(c, watch, room, &now);
        return;
    }
    if (!is_reduction(c)) {
        cg_choose_for_products(c, watch, room);
        return;
    }
    cg_weight now;
    if (is_ordered(c)) {
        now = cg_weigh(c, watch, cg_choices_of(c));
    } else {
        now = choose_by_cost(c, watch, room);
        now = cg_share_rows_less(c, watch, room, now);
    }
    now = share_registers(c, watch, room, fill_with_rows(c, watch, room, now));
    if (cg_choices_of(c)->stages)
        return; /* a number that is asked for remains */
    now = cg_read_rows_alone(c, watch, room, make_room(c, watch, room, &now));
    cg_leave_cache(c, watch, room, &now);
}
