/* Chooses fewer warps for reductions and scans whose warps share rows: they exchange less, and wait less for each
   other. Why any choice is right: passes keep the meaning of a kernel for every number of warps. */
#include "codegen/choose_rows.h"

#include "codegen/kernel/limits.h"
#include "codegen/kernel/remarks.h"
#include "codegen/plan/again.h"
#include "codegen/plan/budget.h"

bool cg_reads_once(const cg_func *c)
{
    uint32_t loops = 0;
    for (const ct_op *op = c->ir->body->first; op; op = op->next) {
        bool loads = false;
        for (const ct_op *in = op; ct_is_loop(op) && in && in != op->next; in = ct_next_op(in, c->ir->body))
            loads = loads || ct_is_load(in);
        loops += loads;
    }
    return loops <= 1;
}

/* log2 of the fewest results of a reduction: more warps than that share rows, and exchange parts of results. */
static uint32_t fewest_results(const cg_func *c)
{
    uint32_t fewest = CG_MAX_TILE_BITS;
    for (const ct_op *op = c->ir->body->first; op; op = ct_next_op(op, c->ir->body))
        if (op->opcode == OP_reduce && cg_shape_of(op->results[0].type).tile_bits < fewest)
            fewest = cg_shape_of(op->results[0].type).tile_bits;
    return fewest;
}

/* Why a reduction had better have the warps that suit its tiles than those of its hint. NULL: it had not. Fewer warps
   are better if those of the hint would share rows and a multiprocessor then has more blocks: they exchange less, each
   of their threads has more of a row on its way, and while the warps of a block wait for each other, those of more
   blocks do not. More warps are better if only they leave it a ring: shared memory is divided among as many blocks as
   fill a multiprocessor, and two stages must fit in a share. Without a ring, ptxas decides how many loads are on their
   way, which are few, because it sums their results as they arrive. */
static const char *why_own_warps(const cg_func *c, const cg_weight *now, const cg_weight *then)
{
    if (then->warp_bits > now->warp_bits)
        return then->stages && !now->stages ? "a loop has room for loads that run ahead only with them" : NULL;
    return fewest_results(c) < now->warp_bits && cg_blocks_weighed(then) > cg_blocks_weighed(now)
               ? "fewer warps share a row, and more blocks a multiprocessor"
               : NULL;
}

/* Gives a reduction the warps that suit its tiles instead of those that a hint asks for, if that is better. A scan may
   get more, but not fewer: what a thread holds beside its tiles grows with them. Returns what is predicted for a
   block. */
static cg_weight yield_to_own(cg_func *c, const cg_watch *watch, cg_choices *room, cg_weight now)
{
    cg_choices own = *cg_choices_of(c);
    const uint32_t bits = cg_warps_unhinted(c);
    if (!cg_hint_of(c, CG_HINT_WARPS) || bits == now.warp_bits || (cg_scans(c) && bits < now.warp_bits))
        return now;
    own.warps = 1u << bits;
    const cg_weight then = cg_weigh(c, watch, &own);
    const char *why = c->failed || !then.compiles ? NULL : why_own_warps(c, &now, &then);
    if (!why)
        return now;
    cg_take(c, room, &own);
    cg_remark(c, NULL, CG_REMARK_ChosenByCost, TV_REMARK_PASSED,
              "{Warps=%u} warps instead of {UsualWarps=%u}: {Why=%s}", own.warps, 1u << now.warp_bits, why);
    return then;
}

/* Do reductions combine several tiles, such as the largest elements and their indices, in a kernel without loops? */
static bool reduces_several(const cg_func *c)
{
    bool has = false;
    for (const ct_op *op = c->ir->body->first; op; op = ct_next_op(op, c->ir->body)) {
        has = has || (op->opcode == OP_reduce && op->result_count > 1);
        if (ct_is_loop(op))
            return false;
    }
    return has;
}

/* Has each of that many threads registers for its part of what the kernel loads, and as many for other values, if half
   of the threads that a multiprocessor can have are there? */
static bool has_registers_for_loads(const cg_func *c, uint32_t threads)
{
    enum { REGISTER_BYTES = 4, WITH_OTHERS = 2 };
    uint64_t bytes = 0;
    for (const ct_op *op = c->ir->body->first; op; op = ct_next_op(op, c->ir->body))
        if (ct_is_load(op))
            bytes += (uint64_t)cg_memory_bytes(bc_elem_kind(op->results[0].type))
                     << cg_shape_of(op->results[0].type).tile_bits;
    return WITH_OTHERS * (double)bytes / REGISTER_BYTES / threads
           <= cg_machine_of(c->target)->registers / (c->target->threads / 2.0);
}

static void take_half(cg_func *c, cg_choices *room, const cg_choices *half, const char *why)
{
    cg_take(c, room, half);
    cg_remark(c, NULL, CG_REMARK_ChosenByCost, TV_REMARK_PASSED,
              "{Warps=%u} warps instead of {UsualWarps=%u}: {Why=%s}", half->warps, half->warps * 2, why);
}

/* Gives a reduction of several tiles half of the warps where they share a row: what they exchange takes long, and as
   many blocks or more have their rows on the way, as long as a thread has registers for its part. On an H200, seven
   kernels of seeds that the condition was not read from are 1.02 to 1.07 times as fast. Returns what is predicted for a
   block. */
static cg_weight share_less(cg_func *c, const cg_watch *watch, cg_choices *room, cg_weight now)
{
    cg_choices half = *cg_choices_of(c);
    if (now.warp_bits <= CG_USUAL_WARPS || fewest_results(c) >= now.warp_bits || cg_hint_of(c, CG_HINT_WARPS)
        || !reduces_several(c))
        return now;
    half.warps = 1u << (now.warp_bits - 1);
    if (!has_registers_for_loads(c, half.warps << CG_LANE_BITS))
        return now;
    const cg_weight then = cg_weigh(c, watch, &half);
    if (c->failed || !then.compiles || cg_blocks_weighed(&then) < cg_blocks_weighed(&now))
        return now;
    take_half(c, room, &half, "they exchange less");
    return then;
}

/* Gives a kernel whose rows stay in shared memory half of the warps where they share a row, if these stay there then,
   too, and a block is predicted to take less: each warp repeats what all have to do. Since the loops that follow do not
   read the rows again, it makes no difference to L2 that more blocks have theirs on the way. On an H200, ten kernels of
   fresh seeds are 0.97 to 1.28 times as fast, 1.06 in the geometric mean. Returns what is predicted for a block. */
static cg_weight keep_with_less(cg_func *c, const cg_watch *watch, cg_choices *room, cg_weight now)
{
    const double clearly = 1.01; /* what DRAM limits is predicted to take as long with any number of warps */
    cg_choices half = *cg_choices_of(c);
    if (!now.keeps || now.warp_bits < CG_USUAL_WARPS || fewest_results(c) >= now.warp_bits || half.warps)
        return now;
    half.warps = 1u << (now.warp_bits - 1);
    const cg_weight then = cg_weigh(c, watch, &half);
    if (c->failed || !then.compiles || !then.keeps || then.share * clearly >= now.share)
        return now;
    take_half(c, room, &half, "a row that stays in shared memory has fewer to share it");
    return then;
}

/* Has each of that many threads registers for its elements of every tile that is loaded, at most as many bytes of it on
   their way as eight accesses bring, and of one tile at least an access? */
static bool holds_rows(const cg_func *c, uint32_t threads)
{
    enum { MOST_ELEMENTS = 64, MOST_BYTES = 8 * CG_ACCESS_BYTES };
    uint64_t elements = 0, bytes = 0;
    for (const ct_op *op = c->ir->body->first; op; op = ct_next_op(op, c->ir->body)) {
        const bc_type *type = ct_is_load(op) ? op->results[0].type : NULL;
        const uint64_t own = type ? ((uint64_t)1 << cg_shape_of(type).tile_bits) / threads : 0,
                       own_bytes = own ? own * cg_memory_bytes(bc_elem_kind(type)) : 0;
        elements = own > elements ? own : elements;
        bytes = own_bytes > bytes ? own_bytes : bytes;
    }
    return elements <= MOST_ELEMENTS && bytes >= CG_ACCESS_BYTES && bytes <= MOST_BYTES;
}

/* Gives a kernel without loops, whose threads hold whole rows, two warps instead of four that share a row, if they have
   registers for it: fewer exchange their results and wait for each other, while as much of the rows is on its way. On
   an H200, 24 kernels that the condition was not read from are 0.99 to 1.19 times as fast, 1.04 in the geometric mean.
   Returns what is predicted for a block. */
static cg_weight hold_with_less(cg_func *c, const cg_watch *watch, cg_choices *room, cg_weight now)
{
    cg_choices half = *cg_choices_of(c);
    if (now.warp_bits != CG_USUAL_WARPS || cg_has_loops(c) || fewest_results(c) >= now.warp_bits || half.warps)
        return now;
    half.warps = 1u << (now.warp_bits - 1);
    if (!holds_rows(c, half.warps << CG_LANE_BITS))
        return now;
    const cg_weight then = cg_weigh(c, watch, &half);
    if (c->failed || !then.compiles || cg_blocks_weighed(&then) <= cg_blocks_weighed(&now))
        return now;
    take_half(c, room, &half, "fewer that hold a row wait for each other");
    return then;
}

/* Has each of that many threads at most 16 bytes of each tile that a loop loads? */
static bool loads_at_once(const cg_func *c, uint32_t threads)
{
    for (const ct_op *op = c->ir->body->first; op; op = ct_next_op(op, c->ir->body)) {
        const bc_type *tile = ct_is_load(op) && ct_loop_around(op) ? op->results[0].type : NULL;
        if (tile
            && (uint64_t)cg_memory_bytes(bc_elem_kind(tile)) << cg_shape_of(tile).tile_bits
                   > (uint64_t)threads * CG_ACCESS_BYTES)
            return false;
    }
    return true;
}

/* Gives a kernel whose loops execute several iterations together fewer warps that share a row, as long as a thread has
   at most 16 bytes of each tile, and each step is predicted to be faster with these loops: fewer warps exchange less in
   each iteration, and their threads have longer accesses. If several loops load tiles, each step must be faster by more
   than the error of the model, because more blocks drive rows out of L2. On an H200, 18 kernels of fresh seeds are 0.94
   to 1.47 times as fast, 1.09 in the geometric mean. Returns what is predicted for a block. */
static cg_weight share_less_together(cg_func *c, const cg_watch *watch, cg_choices *room, cg_weight now)
{
    const double each = cg_reads_once(c) ? 1 : cg_machine_of(c->target)->worth_changing;
    cg_choices best = *cg_choices_of(c), fewer = best;
    uint32_t warps = 1u << now.warp_bits >> 1;
    if (fewest_results(c) >= now.warp_bits || !loads_at_once(c, warps << CG_LANE_BITS))
        return now;
    fewer.together = CG_IF_LEGAL;
    const cg_weight usual = cg_weigh(c, watch, &fewer);
    cg_weight least = usual;
    for (; warps && usual.together && loads_at_once(c, warps << CG_LANE_BITS); warps /= 2) {
        fewer.warps = warps;
        const cg_weight then = cg_weigh(c, watch, &fewer);
        if (!then.compiles || then.share * each >= least.share)
            break;
        least = then;
        best.warps = warps;
    }
    if (c->failed || least.warp_bits == usual.warp_bits)
        return now;
    cg_take(c, room, &best);
    cg_remark(c, NULL, CG_REMARK_ChosenByCost, TV_REMARK_PASSED,
              "{Warps=%u} warps, chosen by cost: {Cycles=%.0f} cycles per block instead of {UsualCycles=%.0f} with "
              "{UsualWarps=%u} warps",
              best.warps, least.share, usual.share, 1u << usual.warp_bits);
    return cg_weigh(c, watch, &best);
}

/* Does L2 keep that many bytes of each multiprocessor while a block reads them again? Either half of it keeps what its
   half of the multiprocessors reads, so that both count. Blocks with rows of 256 KB find them there on an H200, and two
   such blocks do not. */
static bool stay_in_cache(const cg_machine *m, double bytes)
{
    enum { HALVES = 2 };
    return bytes <= HALVES * cg_room_for_again(m);
}

/* The blocks with rows that several loops read, of those that are predicted: the others are kept out when the kernel is
   compiled, and not when it is weighed. */
static uint32_t blocks_with_rows(const cg_machine *m, const cg_weight *w)
{
    const uint32_t have_room = cg_blocks_weighed(w),
                   most = cg_blocks_for_again(m, w->again, 1u << (w->warp_bits + CG_LANE_BITS));
    return have_room < most ? have_room : most;
}

/* Lets a block whose rows several loops read have a multiprocessor to itself if its rows stay in its stages or in L2
   then, those of more blocks do not, and it is predicted to take clearly less than these with rows that come from DRAM
   again: its many stages hide latency, rather than other blocks. Returns what is predicted for a block. */
cg_weight cg_read_rows_alone(cg_func *c, const cg_watch *watch, cg_choices *room, cg_weight now)
{
    const cg_machine *m = cg_machine_of(c->target);
    cg_choices one = *cg_choices_of(c);
    const uint32_t blocks = now.again > 0 ? blocks_with_rows(m, &now) : 0;
    if (blocks <= 1 || now.is_short || one.blocks || stay_in_cache(m, blocks * now.again))
        return now;
    one.blocks = 1;
    const cg_weight then = cg_weigh(c, watch, &one);
    if (c->failed || !then.compiles || !then.keeps || cg_blocks_weighed(&then) > 1 || !stay_in_cache(m, then.again)
        || then.reads * m->worth_changing >= now.rereads)
        return now;
    cg_take(c, room, &one);
    cg_remark(c, NULL, CG_REMARK_ChosenByCost, TV_REMARK_PASSED,
              "one block on a multiprocessor instead of {Blocks=%u}: rows that several loops read stay in its "
              "{Stages=%u} stages, or in L2",
              blocks, then.stages);
    return then;
}

cg_weight cg_share_rows_less(cg_func *c, const cg_watch *watch, cg_choices *room, cg_weight now)
{
    now = yield_to_own(c, watch, room, now);
    now = share_less(c, watch, room, now);
    now = keep_with_less(c, watch, room, now);
    now = hold_with_less(c, watch, room, now);
    return share_less_together(c, watch, room, now);
}
