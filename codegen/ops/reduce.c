/* Reductions proceed within a thread, then among lanes by shuffles, then among warps through shared memory. The body
   is emitted once for every pair; if it is a single op on integers, one instruction reduces all lanes of a warp.

   Where nothing broadcasts the result along the dimension again, each result is computed in one thread: of two lanes
   that have the same results, each sends the other half of them, and keeps half; and each thread reads the partial
   results of all warps for the elements that it has in the usual layout of a tile. Otherwise all threads compute what
   they need. Why the results are the same: either way, the same pairs are combined in the same order.

   Source: memory reference, section 6. */
#include <string.h>

#include "codegen/analysis/reduced.h"
#include "codegen/analysis/shared.h"
#include "codegen/kernel/remarks.h"
#include "codegen/ops/fold.h"
#include "codegen/ops/hooks.h"
#include "codegen/ptx/ptx.h"
#include "codegen/values/homes.h"
#include "codegen/values/strips.h"
#include "codegen/values/values.h"

/* ---- reduce ---- */

/* All operands are read in one layout: the preferred layout with the largest weight. */
static cg_layout source_layout(cg_func *c, const ct_op *op)
{
    cg_layout best = cg_default_layout(c, ct_operands(op)[0]->type), l;
    uint32_t best_weight = 0, weight;
    for (uint32_t i = 0; i < op->operand_count; i++)
        if (cg_wish(c, ct_operands(op)[i], &l, &weight) && weight > best_weight) {
            best = l;
            best_weight = weight;
        }
    return best;
}

/* Is there room for a result of each thread at least? Partial results pass through shared memory in parts if necessary,
   each of whole registers. */
static bool may_spread(const cg_func *c, const ct_op *op)
{
    uint32_t bytes = 0;
    for (uint32_t i = 0; i < op->operand_count; i++)
        bytes += cg_threads(c) * cg_memory_bytes(bc_elem_kind(op->results[i].type));
    return !c->strip_bits && bytes <= cg_shared_for_the_rest(c);
}

/* The layouts of a reduction: of the operands; of partial results after those of a thread are combined, and after
   those of a warp; and the results'. */
typedef struct reduction {
    uint32_t mask, kept;
    cg_layout source, whole, lanes, result, slots; /* slots: lanes, with the number of the warp above the index */
    uint32_t warps;
} reduction;

/* Of lanes that have the same results, each keeps half of them. */
static cg_layout spread_lanes(const cg_layout *whole, const cg_layout *source)
{
    cg_layout l = *whole;
    for (uint32_t bit = CG_LANE_BITS; bit-- > 0 && l.reg_bits;)
        if (source->lane[bit] && !l.lane[bit])
            l.lane[bit] = l.reg[--l.reg_bits];
    return l;
}

/* The warp bits that have different elements along the dimension; they number the partial results. */
static uint32_t number_warps(const cg_func *c, const cg_layout *source, const cg_layout *result, uint32_t mask,
                             cg_layout *slots)
{
    uint32_t warps = 0;
    *slots = *result;
    for (uint32_t i = 0; i < cg_real_warp_bits(c); i++)
        if (source->warp[i] & mask)
            slots->warp[i] ^= (uint32_t)1 << (result->tile_bits + warps++);
    slots->tile_bits = (uint8_t)(result->tile_bits + warps);
    return warps;
}

static reduction reduction_of(cg_func *c, const ct_op *op, const cg_layout *source, bool spread)
{
    reduction r = {.mask = cg_fold_mask(op, F_reduce_dim), .source = *source};
    r.whole = cg_fold_layout(source, r.mask, &r.kept);
    r.lanes = spread ? spread_lanes(&r.whole, source) : r.whole;
    r.warps = number_warps(c, source, &r.lanes, r.mask, &r.slots);
    r.result = !spread ? r.whole : r.warps ? cg_default_layout(c, op->results[0].type) : r.lanes;
    return r;
}

/* Once layouts are assigned. */
static reduction settled(cg_func *c, const ct_op *op)
{
    const cg_value *x = cg_value_of(c, cg_result(op, 0));
    uint32_t mask = cg_fold_mask(op, F_reduce_dim);
    cg_layout whole = cg_fold_layout(x->source, mask, NULL);
    return reduction_of(c, op, x->source, !cg_layout_equal(&whole, x->home));
}

void cg_assign_reduce(cg_func *c, const ct_op *op)
{
    if (cg_fold_is_too_wide(c, op))
        return;
    cg_layout source = source_layout(c, op);
    reduction r = reduction_of(c, op, &source, may_spread(c, op) && !cg_is_read_whole(op));
    for (uint32_t i = 0; i < op->operand_count; i++) {
        cg_want(c, ct_operands(op)[i], &source);
        cg_set_home(c, cg_result(op, i), &r.result, CG_WEIGHT_REDUCED);
    }
    cg_layout *kept = bc_new(&c->arena, cg_layout, 1);
    if (kept)
        *kept = source;
    cg_value_of(c, cg_result(op, 0))->source = kept;
    cg_fold_assign_body(c, op);
}

/* values[r][i]: partial results by register of the result's layout. */
static void reduce_registers(cg_func *c, const ct_op *op, const cg_layout *source, uint32_t kept, cg_fold_row *values)
{
    uint32_t folded = (uint32_t)(((uint64_t)1 << source->reg_bits) - 1) & ~kept;
    folded &= ~cg_layout_reg_replicas(source); /* replicas must not be combined with themselves */
    uint32_t rest = cg_layout_regs(source) - 1;
    const cg_val *regs[CG_FOLD_OPERANDS];
    for (uint32_t i = 0; i < op->operand_count; i++)
        if (!(regs[i] = cg_get(c, ct_operands(op)[i], source)))
            return;
    for (uint32_t k = 0; k <= cg_gather_bits(rest, kept); k++) {
        /* A balanced tree over the registers that fold into result register k. */
        uint32_t base = cg_scatter_bits(k, kept), count = (uint32_t)1 << cg_count_bits(folded);
        cg_val(*tree)[CG_FOLD_OPERANDS] = bc_arena_array(&c->arena, count, sizeof *tree, alignof(cg_val));
        if (!tree)
            return;
        for (uint32_t j = 0; j < count; j++)
            for (uint32_t i = 0; i < op->operand_count; i++)
                tree[j][i] = regs[i][base | cg_scatter_bits(j, folded)];
        for (uint32_t n = count / 2; n; n /= 2)
            for (uint32_t j = 0; j < n && !c->failed; j++)
                cg_fold_combine(c, op, tree[j], tree[j + n], tree[j]);
        for (uint32_t i = 0; i < op->operand_count; i++)
            values[k][i] = tree[0][i];
    }
}

/* redux.sync: the name of its operation for the op of a body, and its type. */
typedef struct redux {
    const char *text;
    bool is_signed;
} redux;

/* text NULL: the body is not a single op on two integers of at most 32 bits with such an instruction. */
static redux redux_of(const ct_op *op)
{
    const ct_block *body = ct_regions(op)[0];
    const ct_op *only = body->first;
    bc_kind kind = bc_elem_kind(ct_operands(op)[0]->type);
    if (op->operand_count != 1 || only->next != body->last || ct_operands(body->last)[0]->op != only
        || only->operand_count != 2 || (kind != BC_I1 && kind != BC_I8 && kind != BC_I16 && kind != BC_I32))
        return (redux){0};
    const ct_value *a = ct_operands(only)[0], *b = ct_operands(only)[1], *args = body->args;
    if (!(a == &args[0] && b == &args[1]) && !(a == &args[1] && b == &args[0]))
        return (redux){0};
    switch ((int)only->opcode) {
    case OP_addi: return (redux){"add.u32", false};
    case OP_andi: return (redux){"and.b32", false};
    case OP_ori: return (redux){"or.b32", false};
    case OP_xori: return (redux){"xor.b32", false};
    case OP_mini:
        return ct_attr_u(only, F_mini_signedness) == BC_Signedness_signed ? (redux){"min.s32", true}
                                                                          : (redux){"min.u32", false};
    case OP_maxi:
        return ct_attr_u(only, F_maxi_signedness) == BC_Signedness_signed ? (redux){"max.s32", true}
                                                                          : (redux){"max.u32", false};
    default: return (redux){0};
    }
}

/* Reduces over all lanes by one instruction, if they hold different elements along the dimension. */
static bool reduce_whole_warp(cg_func *c, const ct_op *op, const cg_layout *source, uint32_t mask, uint32_t count,
                              cg_fold_row *values)
{
    redux by = redux_of(op);
    bc_kind kind = bc_elem_kind(ct_operands(op)[0]->type);
    for (uint32_t bit = 0; bit < CG_LANE_BITS; bit++)
        if (!(c->target->features & CG_HAS_REDUX) || !by.text || !(source->lane[bit] & mask))
            return false;
    for (uint32_t k = 0; k < count; k++) {
        cg_val sum = cg_new(c, CG_B32), part = cg_reg(c, cg_to_b32(c, kind, by.is_signed, values[k][0]));
        cg_ins(c, "redux.sync.%s %v, %v, 0xffffffff", by.text, sum, part);
        values[k][0] = cg_from_b32(c, kind, sum);
    }
    return true;
}

/* Exchanges one or two neighbouring rows with another lane. */
static void shuffle_pair(cg_func *c, const ct_op *op, cg_val by, uint32_t count, cg_fold_row *rows)
{
    cg_val pair[2];
    for (uint32_t i = 0; i < op->operand_count; i++)
        if (count == 1) {
            rows[0][i] = cg_shuffled(c, "bfly", rows[0][i], by);
        } else {
            bc_kind kind = bc_elem_kind(ct_operands(op)[i]->type);
            cg_shuffled_pair(c, kind, "bfly", (cg_val[]){rows[0][i], rows[1][i]}, by, pair);
            rows[0][i] = pair[0];
            rows[1][i] = pair[1];
        }
}

/* Each lane of two has the results of both. */
static void reduce_lane(cg_func *c, const ct_op *op, uint32_t bit, uint32_t count, cg_fold_row *values)
{
    cg_val by = cg_const(CG_B32, (uint64_t)1 << bit);
    for (uint32_t k = 0; k < count && !c->failed; k += 2) {
        uint32_t n = count - k < 2 ? 1 : 2;
        cg_fold_row other[2];
        memcpy(other, values[k], n * sizeof *other);
        shuffle_pair(c, op, by, n, other);
        for (uint32_t j = 0; j < n; j++)
            cg_fold_combine(c, op, values[k + j], other[j], values[k + j]);
    }
}

/* The two lanes of a bit exchange halves of their results: each keeps those of its side. */
static void exchange_halves(cg_func *c, const ct_op *op, uint32_t bit, bool combines, uint32_t half,
                            cg_fold_row *values)
{
    cg_val low = cg_threads_without(c, (uint32_t)1 << bit), by = cg_const(CG_B32, (uint64_t)1 << bit);
    cg_fold_row sent[2];
    for (uint32_t k = 0; k < half && !c->failed; k++) {
        for (uint32_t i = 0; i < op->operand_count; i++) {
            cg_val a = values[k][i], b = values[k + half][i];
            values[k][i] = cg_select(c, low, a, b);
            sent[k & 1][i] = combines ? cg_select(c, low, b, a) : a;
        }
        if (!combines || (k % 2 == 0 && k + 1 < half))
            continue;
        uint32_t first = k & ~1u, count = k - first + 1;
        shuffle_pair(c, op, by, count, sent);
        for (uint32_t j = 0; j < count; j++)
            cg_fold_combine(c, op, values[first + j], sent[j], values[first + j]);
    }
}

static void reduce_lanes(cg_func *c, const ct_op *op, const reduction *r, cg_fold_row *values)
{
    uint32_t count = cg_layout_regs(&r->whole), left = r->whole.reg_bits;
    bool done = reduce_whole_warp(c, op, &r->source, r->mask, count, values);
    for (uint32_t bit = CG_LANE_BITS; bit-- > 0;) {
        bool reduces = r->source.lane[bit] & r->mask;
        if (left > r->lanes.reg_bits && r->source.lane[bit] && !r->whole.lane[bit]) {
            exchange_halves(c, op, bit, !done, count / 2, values);
            count /= 2;
            left--;
        } else if (reduces && !done)
            reduce_lane(c, op, bit, count, values);
    }
}

void cg_add_reduce(cg_func *c, ct_op *place, const ct_op *op)
{
    reduction r = settled(c, op);
    cg_fold_add_exchange(c, place, op, &r.lanes, r.warps);
}

void cg_effects_reduce(cg_func *c, ct_op *op)
{
    if (!cg_reduces_strips(c, op))
        cg_add_reduce(c, op, op);
}

static void reduce_warps(cg_func *c, const ct_op *op, const reduction *r, cg_fold_row *values)
{
    uint32_t count = cg_layout_regs(&r->result);
    if (!r->warps)
        return;
    cg_val *parts[CG_FOLD_OPERANDS];
    cg_fold_exchange(c, op, &r->lanes, &r->slots, r->warps, &r->result, values, parts);
    for (uint32_t k = 0; k < count && !c->failed; k++)
        for (uint32_t n = 0; n < (uint32_t)1 << r->warps; n++) {
            cg_val part[CG_FOLD_OPERANDS];
            for (uint32_t i = 0; i < op->operand_count; i++)
                part[i] = parts[i][k | n << r->result.reg_bits];
            if (n)
                cg_fold_combine(c, op, values[k], part, values[k]);
            else
                memcpy(values[k], part, op->operand_count * sizeof *part);
        }
}

/* Reports how many elements of the dimension are combined in registers, by shuffles and through shared memory. */
static void remark_reduce(cg_func *c, const ct_op *op, const cg_layout *source, uint32_t mask)
{
    uint32_t regs = 1, lanes = 1, warps = 1;
    for (uint32_t i = 0; i < source->reg_bits; i++)
        regs <<= (source->reg[i] & mask) != 0;
    for (uint32_t i = 0; i < CG_LANE_BITS; i++)
        lanes <<= (source->lane[i] & mask) != 0;
    for (uint32_t i = 0; i < source->warp_bits; i++)
        warps <<= (source->warp[i] & mask) != 0;
    cg_remark(c, op, CG_REMARK_Reduction, warps > 1 ? TV_REMARK_MISSED : TV_REMARK_PASSED,
              "{Registers=%u} elements in registers, {Lanes=%u} lanes by shuffles, {Warps=%u} warps%s", regs, lanes,
              warps, warps > 1 ? " through shared memory" : "");
}

/* Combines the values of this trip with those of all earlier trips. */
static void add_to_sums(cg_func *c, const ct_op *op, uint32_t count, cg_fold_row *values)
{
    cg_val first = cg_new(c, CG_PRED);
    cg_ins(c, "setp.eq.u32 %v, %v, 0", first, cg_strip_now(c)->counter);
    for (uint32_t k = 0; k < count && !c->failed; k++) {
        cg_val sums[CG_FOLD_OPERANDS], next[CG_FOLD_OPERANDS];
        for (uint32_t i = 0; i < op->operand_count; i++)
            sums[i] = cg_strip_carried(c, cg_elem_class(ct_operands(op)[i]->type));
        cg_fold_combine(c, op, sums, values[k], next);
        for (uint32_t i = 0; i < op->operand_count && !c->failed; i++)
            cg_move(c, sums[i], cg_select(c, first, values[k][i], next[i]));
        memcpy(values[k], sums, op->operand_count * sizeof *sums);
    }
}

/* Combines the threads' values into the results. */
static void add_threads(cg_func *c, const ct_op *op, cg_fold_row *values)
{
    reduction r = settled(c, op);
    reduce_lanes(c, op, &r, values);
    reduce_warps(c, op, &r, values);
    cg_fold_set_results(c, op, cg_layout_regs(&r.result), values);
}

void cg_lower_reduce(cg_func *c, const ct_op *op)
{
    reduction r = settled(c, op);
    uint32_t count = cg_layout_regs(&r.whole), most = cg_layout_regs(&r.result);
    cg_val(*values)[CG_FOLD_OPERANDS] = cg_fold_rows(c, count > most ? count : most);
    if (!values)
        return;
    if (cg_remarks_wanted(c))
        remark_reduce(c, op, &r.source, r.mask);
    reduce_registers(c, op, &r.source, r.kept, values);
    if (!cg_reduces_strips(c, op)) {
        add_threads(c, op, values);
        return;
    }
    add_to_sums(c, op, count, values);
    cg_fold_set_results(c, op, count, values);
}

void cg_reduce_behind(cg_func *c, const ct_op *op)
{
    uint32_t count = cg_layout_regs(cg_value_of(c, cg_result(op, 0))->home);
    cg_val(*values)[CG_FOLD_OPERANDS] = cg_fold_rows(c, count);
    if (!values)
        return;
    for (uint32_t i = 0; i < op->operand_count; i++)
        for (uint32_t k = 0; k < count; k++)
            values[k][i] = cg_strip_home(c, cg_result(op, i))->regs[k];
    add_threads(c, op, values);
}
