/* Scans proceed within a thread, then among lanes by shuffles, then among warps through shared memory. Source:
   memory reference, section 6. */
#include <string.h>

#include "codegen/kernel/remarks.h"
#include "codegen/ops/fold.h"
#include "codegen/ops/hooks.h"
#include "codegen/ptx/ptx.h"
#include "codegen/values/homes.h"
#include "codegen/values/strips.h"
#include "codegen/values/values.h"

/* The order of the dimension's bits: those of a piece, which a thread has; lanes; pieces; warps; strips. */
typedef struct scan_shape {
    uint32_t shift, regs, lanes, pieces, warps, strips; /* of the dimension: its place in the index, bits in each */
    cg_layout layout;
} scan_shape;

static scan_shape scan_shape_of(const cg_func *c, const ct_op *op, const cg_layout *l)
{
    cg_shape s = cg_shape_of(ct_operands(op)[0]->type);
    uint32_t d = (uint32_t)ct_attr_u(op, F_scan_dim), mask = cg_dim_mask(&s, d);
    uint8_t reg_bit[CG_MAX_REG_BITS];
    scan_shape scan = {.shift = s.shift[d], .layout = *l};
    scan.regs = cg_layout_vector(l, s.shift[d], s.bits[d], reg_bit);
    scan.pieces = cg_count_bits(cg_layout_reg_images(l) & mask) - scan.regs;
    scan.lanes = cg_count_bits(cg_images(l->lane, CG_LANE_BITS) & mask);
    scan.warps = cg_count_bits(cg_images(l->warp, cg_real_warp_bits(c)) & mask);
    scan.strips = s.bits[d] - scan.regs - scan.pieces - scan.lanes - scan.warps;
    return scan;
}

/* The layout for strips: each thread's elements of a line are adjacent; a line extends over all warps and strips. */
static cg_layout layout_of_strips(const cg_func *c, const cg_shape *s, uint32_t d)
{
    uint32_t bits = s->bits[d], count = 0,
             regs = bits > CG_LANE_BITS + c->warp_bits ? bits - CG_LANE_BITS - c->warp_bits : 0;
    uint8_t order[CG_MAX_TILE_BITS];
    for (uint32_t k = 0; k < bits; k++)
        order[count++] = (uint8_t)(s->shift[d] + k);
    for (uint32_t b = 0; b < s->tile_bits; b++)
        if (b < s->shift[d] || b >= s->shift[d] + bits)
            order[count++] = (uint8_t)b;
    return cg_layout_ordered(order, s->tile_bits, regs, c->warp_bits);
}

/* The layout of pieces: a line consists of pieces that are adjacent in a warp, in vectors of 2^vector elements. Other
   lines are assigned to lanes and warps first, so that few warps share a line. */
static cg_layout layout_of_pieces(const cg_func *c, const cg_shape *s, uint32_t d, uint32_t vector)
{
    uint32_t bits = s->bits[d], others = s->tile_bits - bits, count = 0, next = 0, line = 0;
    uint8_t order[CG_MAX_TILE_BITS], other[CG_MAX_TILE_BITS];
    for (uint32_t b = 0; b < s->tile_bits; b++)
        if (b < s->shift[d] || b >= s->shift[d] + bits)
            other[line++] = (uint8_t)b;
    uint32_t lanes = bits - vector < CG_LANE_BITS ? bits - vector : CG_LANE_BITS;
    for (uint32_t k = 0; k < vector + lanes; k++)
        order[count++] = (uint8_t)(s->shift[d] + k);
    while (next < others && next < CG_LANE_BITS - lanes + c->warp_bits)
        order[count++] = other[next++];
    uint32_t spare = CG_LANE_BITS - lanes + c->warp_bits - next, rest = bits - vector - lanes;
    spare = spare < rest ? spare : rest; /* warps that share lines */
    for (uint32_t k = bits - spare; k < bits; k++)
        order[count++] = (uint8_t)(s->shift[d] + k);
    for (uint32_t k = vector + lanes; k < bits - spare; k++)
        order[count++] = (uint8_t)(s->shift[d] + k);
    while (next < others)
        order[count++] = other[next++];
    return cg_layout_ordered(order, s->tile_bits, vector, c->warp_bits);
}

/* The largest vectors with which all lanes and warps have elements of their own, up to 16 elements, or 32 of a tile
   that is a single line: longer ones save few shuffles, and their elements are added one after the other. */
static uint32_t largest_vector(const cg_func *c, const cg_shape *s, uint32_t d)
{
    enum { MOST = 4, OF_ONE_LINE = 5 };
    uint32_t bits = s->bits[d], others = s->tile_bits - bits, most = others ? MOST : OF_ONE_LINE;
    uint32_t sharing = c->warp_bits > others ? c->warp_bits - others : 0; /* of warps that share a line */
    uint32_t own = bits > CG_LANE_BITS + sharing ? bits - CG_LANE_BITS - sharing : 0;
    return own < most ? own : most;
}

/* Are pieces in vectors of 2^vector elements cheaper than a conversion through shared memory to vectors of 2^largest,
   and back? Each word of a piece needs shuffles for five lane bits, for the previous lane and for the total, each with
   an op that combines values, in two cycles; the conversion takes one cycle for a byte of all lanes. */
static bool pieces_pay(const ct_op *op, uint32_t vector, uint32_t largest)
{
    enum { SHUFFLES = CG_LANE_BITS + 2, WORD = 4 };
    uint32_t bytes = 0, words = 0;
    if (vector >= largest)
        return true;
    for (uint32_t i = 0; i < op->operand_count; i++) {
        uint32_t own = cg_memory_bytes(bc_elem_kind(ct_operands(op)[i]->type));
        bytes += own;
        words += (own + WORD - 1) / WORD;
    }
    uint64_t more = ((uint64_t)1 << (largest - vector)) - 1; /* pieces in a thread, for each of the largest */
    return 2 * SHUFFLES * words * more <= (uint64_t)bytes << largest;
}

/* The number of adjacent elements of a line in a thread, in the layout in which an operand is loaded from memory. */
static uint32_t vector_of(cg_func *c, const ct_op *op, const cg_shape *s, uint32_t d)
{
    cg_layout l;
    uint32_t weight, most = s->tile_bits > CG_LANE_BITS + c->warp_bits ? s->tile_bits - CG_LANE_BITS - c->warp_bits : 0;
    uint8_t reg_bit[CG_MAX_REG_BITS];
    if (!cg_wish(c, ct_operands(op)[0], &l, &weight))
        l = cg_default_layout(c, ct_operands(op)[0]->type);
    most = most < s->bits[d] ? most : s->bits[d];
    return cg_layout_vector(&l, s->shift[d], most < CG_MAX_VECTOR_BITS ? most : CG_MAX_VECTOR_BITS, reg_bit);
}

bool cg_scans_pieces(const cg_func *c, const ct_op *op, uint32_t vector, cg_layout *out)
{
    cg_shape s = cg_shape_of(ct_operands(op)[0]->type);
    uint32_t d = (uint32_t)ct_attr_u(op, F_scan_dim);
    uint32_t largest = largest_vector(c, &s, d);
    bool pay = !c->strip_bits && vector <= s.bits[d] && pieces_pay(op, vector, largest);
    *out = c->strip_bits ? layout_of_strips(c, &s, d) : layout_of_pieces(c, &s, d, pay ? vector : largest);
    return pay;
}

void cg_assign_scan(cg_func *c, const ct_op *op)
{
    if (cg_fold_is_too_wide(c, op))
        return;
    cg_shape s = cg_shape_of(ct_operands(op)[0]->type);
    cg_layout l;
    cg_scans_pieces(c, op, vector_of(c, op, &s, (uint32_t)ct_attr_u(op, F_scan_dim)), &l);
    for (uint32_t i = 0; i < op->operand_count; i++) {
        cg_want(c, ct_operands(op)[i], &l);
        cg_set_home(c, cg_result(op, i), &l, CG_WEIGHT_DEFAULT);
    }
    cg_fold_assign_body(c, op);
}

/* The layout of the lines of one strip; other strips use the same layout. */
static cg_layout lines_of_strip(const cg_func *c, const ct_op *op, const cg_layout *l)
{
    uint32_t gone = cg_fold_mask(op, F_scan_dim);
    for (uint32_t i = cg_real_warp_bits(c); i < c->warp_bits; i++)
        gone |= l->warp[i];
    return cg_fold_layout(l, gone, NULL);
}

void cg_effects_scan(cg_func *c, ct_op *op)
{
    const cg_layout *l = cg_value_of(c, cg_result(op, 0))->home;
    cg_layout lines = lines_of_strip(c, op, l);
    cg_fold_add_exchange(c, op, op, &lines, scan_shape_of(c, op, l).warps);
}

typedef struct scanner {
    cg_func *c;
    const ct_op *op;
    scan_shape shape;
    bool reverse;
} scanner;

/* Position along the dimension, in scan order, of the lane (or warp) among the 2^bits: 32 bits. */
static cg_val position(const scanner *s, uint32_t from, uint32_t bits)
{
    uint32_t shift = s->shape.shift + from, ones = ((uint32_t)1 << bits) - 1;
    cg_val p = cg_thread_index(s->c, &s->shape.layout, ones << shift, shift);
    if (!s->reverse || p.known)
        return p.known && s->reverse ? cg_const(CG_B32, p.bits ^ ones) : p;
    cg_val r = cg_new(s->c, CG_B32);
    cg_ins(s->c, "xor.b32 %v, %v, %u", r, p, ones);
    return r;
}

static cg_val at_least(cg_func *c, cg_val x, uint32_t least)
{
    if (x.known)
        return cg_const(CG_PRED, x.bits >= least);
    cg_val p = cg_new(c, CG_PRED);
    cg_ins(c, "setp.ge.u32 %v, %v, %u", p, x, least);
    return p;
}

/* value = has ? body(before, value) : value */
static void put_before(const scanner *s, cg_val has, const cg_val *before, cg_val *value)
{
    cg_val sum[CG_FOLD_OPERANDS];
    if (has.known && !has.bits)
        return;
    cg_fold_combine(s->c, s->op, before, value, sum);
    for (uint32_t i = 0; i < s->op->operand_count && !s->c->failed; i++)
        value[i] = cg_select(s->c, has, sum[i], value[i]);
}

/* Turns the totals of single lanes of a line into totals up to each lane; before: the totals of the earlier lanes. */
static void scan_lanes(const scanner *s, cg_val *total, cg_val *before)
{
    cg_func *c = s->c;
    const char *how = s->reverse ? "down" : "up";
    cg_val lane = position(s, s->shape.regs, s->shape.lanes), other[CG_FOLD_OPERANDS];
    for (uint32_t by = 1; by < (uint32_t)1 << s->shape.lanes && !c->failed; by *= 2) {
        for (uint32_t i = 0; i < s->op->operand_count; i++)
            other[i] = cg_shuffled(c, how, total[i], cg_const(CG_B32, by));
        put_before(s, at_least(c, lane, by), other, total);
    }
    for (uint32_t i = 0; i < s->op->operand_count && s->shape.lanes; i++)
        before[i] = cg_shuffled(c, how, total[i], cg_const(CG_B32, 1));
}

/* Spreads the totals of whole warps from their last lanes to all lanes. */
static void spread_totals(const scanner *s, cg_val *total)
{
    cg_func *c = s->c;
    uint32_t ones = ((uint32_t)1 << s->shape.lanes) - 1;
    cg_val last = cg_new(c, CG_B32), lane = cg_new(c, CG_B32);
    cg_ins(c, "and.b32 %v, %v, 31", lane, cg_tid(c));
    cg_ins(c, s->reverse ? "and.b32 %v, %v, %x" : "or.b32 %v, %v, %x", last, lane, s->reverse ? 31 & ~ones : ones);
    for (uint32_t i = 0; i < s->op->operand_count; i++)
        total[i] = cg_shuffled(c, "idx", total[i], last);
}

static uint32_t pieces_of(const scanner *s)
{
    return (uint32_t)1 << s->shape.pieces;
}

static uint32_t lines_of(const scanner *s)
{
    return cg_layout_regs(&s->shape.layout) >> (s->shape.regs + s->shape.pieces);
}

/* The n-th of 2^bits positions in scan order. */
static uint32_t in_order(const scanner *s, uint32_t n, uint32_t bits)
{
    return s->reverse ? ((uint32_t)1 << bits) - 1 - n : n;
}

/* Scans every piece within its thread, and finds the totals of the earlier lanes. */
static void scan_registers(const scanner *s, cg_fold_row *values, cg_fold_row *totals, cg_fold_row *before)
{
    cg_func *c = s->c;
    const cg_layout *l = &s->shape.layout;
    uint32_t steps = (uint32_t)1 << s->shape.regs, n = s->op->operand_count;
    const cg_val *regs[CG_FOLD_OPERANDS];
    for (uint32_t i = 0; i < n; i++)
        if (!(regs[i] = cg_get(c, ct_operands(s->op)[i], l)))
            return;
    cg_remark(c, s->op, CG_REMARK_Reduction, s->shape.warps ? TV_REMARK_MISSED : TV_REMARK_PASSED,
              "{Registers=%u} elements in registers, {Lanes=%u} lanes by shuffles, {Warps=%u} warps%s",
              steps << s->shape.pieces, 1u << s->shape.lanes, 1u << s->shape.warps,
              s->shape.warps ? " through shared memory" : "");
    for (uint32_t k = 0; k < cg_layout_regs(l) >> s->shape.regs; k++) {
        for (uint32_t j = 0; j < steps && !c->failed; j++) {
            uint32_t r = k << s->shape.regs | in_order(s, j, s->shape.regs);
            for (uint32_t i = 0; i < n; i++)
                values[r][i] = regs[i][r];
            if (j)
                put_before(s, cg_const(CG_PRED, 1), totals[k], values[r]);
            memcpy(totals[k], values[r], n * sizeof **values);
        }
        scan_lanes(s, totals[k], before[k]);
    }
}

/* Combines each piece except the first with the values in front of it: the earlier lanes, where `has` is true, and
   the earlier pieces. A line's total replaces that of its first piece. */
static void scan_pieces(const scanner *s, cg_val has, cg_fold_row *totals, cg_fold_row *before)
{
    cg_func *c = s->c;
    uint32_t n = s->op->operand_count;
    for (uint32_t k = 0; k < lines_of(s) << s->shape.pieces; k++)
        spread_totals(s, totals[k]);
    for (uint32_t line = 0; line < lines_of(s); line++) {
        cg_fold_row *total = &totals[line << s->shape.pieces], so_far;
        memcpy(so_far, total[in_order(s, 0, s->shape.pieces)], sizeof so_far);
        for (uint32_t p = 1; p < pieces_of(s) && !c->failed; p++) {
            uint32_t at = in_order(s, p, s->shape.pieces);
            cg_val *own = before[line << s->shape.pieces | at], joined[CG_FOLD_OPERANDS];
            cg_fold_combine(c, s->op, so_far, own, joined);
            for (uint32_t i = 0; i < n && !c->failed; i++)
                own[i] = cg_select(c, has, joined[i], so_far[i]);
            cg_fold_combine(c, s->op, so_far, total[at], so_far);
        }
        memcpy(totals[line], so_far, sizeof so_far);
    }
}

/* Is it the first piece of its line, in front of which there are only earlier lanes, warps and strips? */
static bool is_first(const scanner *s, uint32_t piece)
{
    return (piece & (pieces_of(s) - 1)) == in_order(s, 0, s->shape.pieces);
}

/* Combines the values in front of the line's pieces with the total of the earlier warps, if `later`. */
static void put_front(const scanner *s, cg_val has, cg_val later, const cg_val *front, cg_fold_row *before)
{
    cg_func *c = s->c;
    for (uint32_t p = 0; p < pieces_of(s) && !c->failed; p++) {
        cg_val joined[CG_FOLD_OPERANDS];
        cg_fold_combine(c, s->op, front, before[p], joined);
        for (uint32_t i = 0; i < s->op->operand_count && !c->failed; i++) {
            cg_val in_warp = is_first(s, p) ? cg_select(c, has, joined[i], front[i]) : joined[i];
            before[p][i] = cg_select(c, later, in_warp, before[p][i]);
        }
    }
}

/* The layout of the lines' totals, with the warp's position above the bits of a line's index. */
static cg_layout number_warps(const scanner *s, const cg_layout *line)
{
    const cg_layout *l = &s->shape.layout;
    uint32_t dim = cg_fold_mask(s->op, F_scan_dim);
    cg_layout slots = *line;
    for (uint32_t i = 0, b = 0; i < cg_real_warp_bits(s->c); i++)
        if (l->warp[i] & dim)
            slots.warp[i] ^= (uint32_t)1 << (line->tile_bits + b++);
    slots.tile_bits = (uint8_t)(line->tile_bits + s->shape.warps);
    return slots;
}

/* Combines the values in front of each piece: those in this warp, where `has` is true, and those of the earlier
   warps. Totals become those of whole lines over all warps. */
static cg_val scan_warps(const scanner *s, cg_val has, cg_fold_row *totals, cg_fold_row *before)
{
    cg_func *c = s->c;
    uint32_t n = s->op->operand_count, below = s->shape.regs + s->shape.lanes + s->shape.pieces;
    cg_layout line = lines_of_strip(c, s->op, &s->shape.layout), slots = number_warps(s, &line);
    cg_val *parts[CG_FOLD_OPERANDS], warp = position(s, below, s->shape.warps), later = at_least(c, warp, 1);
    cg_strip_puts_own(c, true);
    cg_fold_exchange(c, s->op, &line, &slots, s->shape.warps, &line, totals, parts);
    cg_strip_puts_own(c, false);
    uint32_t count = (uint32_t)1 << s->shape.warps;
    for (uint32_t k = 0; k < lines_of(s) && !c->failed; k++) {
        cg_val front[CG_FOLD_OPERANDS], sum[CG_FOLD_OPERANDS];
        uint32_t last = count - (s->shape.strips ? 0 : 1); /* without strips, the total of all warps is not needed */
        for (uint32_t w = 0; w < last; w++) {              /* sum: of warps up to w; front: of those before this one */
            uint32_t at = k | in_order(s, w, s->shape.warps) << line.reg_bits;
            cg_val part[CG_FOLD_OPERANDS], here = at_least(c, warp, w + 1);
            for (uint32_t i = 0; i < n; i++)
                part[i] = parts[i][at];
            if (w)
                cg_fold_combine(c, s->op, sum, part, sum);
            else
                memcpy(sum, part, n * sizeof *sum);
            for (uint32_t i = 0; i < n && w + 1 < count; i++)
                front[i] = w ? cg_select(c, here, sum[i], front[i]) : sum[i];
        }
        memcpy(totals[k], sum, n * sizeof *sum);
        put_front(s, has, later, front, &before[k << s->shape.pieces]);
    }
    cg_val either = cg_new(c, CG_PRED);
    cg_ins(c, "or.pred %v, %r, %r", either, has, later);
    return either;
}

/* Combines the totals of the earlier strips, which the loop carries. In this case, each line is a single piece. */
static cg_val scan_strips(const scanner *s, cg_val has, cg_fold_row *totals, cg_fold_row *before)
{
    cg_func *c = s->c;
    uint32_t lines = lines_of(s), n = s->op->operand_count;
    cg_val later = cg_new(c, CG_PRED), either = cg_new(c, CG_PRED);
    cg_ins(c, "setp.ne.u32 %v, %v, 0", later, cg_strip_now(c)->counter);
    for (uint32_t k = 0; k < lines && !c->failed; k++) {
        cg_val carried[CG_FOLD_OPERANDS], joined[CG_FOLD_OPERANDS], sum[CG_FOLD_OPERANDS];
        for (uint32_t i = 0; i < n; i++)
            carried[i] = cg_strip_carried(c, cg_elem_class(ct_operands(s->op)[i]->type));
        cg_fold_combine(c, s->op, carried, before[k], joined);
        cg_fold_combine(c, s->op, carried, totals[k], sum);
        for (uint32_t i = 0; i < n && !c->failed; i++) {
            cg_val front = cg_new(c, (cg_class)carried[i].cls);
            cg_move(c, front, carried[i]);
            before[k][i] = cg_select(c, later, cg_select(c, has, joined[i], front), before[k][i]);
            cg_move(c, carried[i], cg_select(c, later, sum[i], totals[k][i]));
        }
    }
    cg_ins(c, "or.pred %v, %r, %v", either, has, later);
    return either;
}

static void scan_lines(const scanner *s)
{
    cg_func *c = s->c;
    const cg_layout *l = &s->shape.layout;
    uint32_t pieces = cg_layout_regs(l) >> s->shape.regs;
    cg_fold_row *values = cg_fold_rows(c, cg_layout_regs(l)), *totals = cg_fold_rows(c, pieces),
                *before = cg_fold_rows(c, pieces);
    if (c->failed)
        return;
    scan_registers(s, values, totals, before);
    cg_val lane = position(s, s->shape.regs, s->shape.lanes), has = at_least(c, lane, 1);
    if (s->shape.pieces || s->shape.warps)
        scan_pieces(s, has, totals, before);
    if (s->shape.warps)
        has = scan_warps(s, has, totals, before);
    if (s->shape.strips)
        has = scan_strips(s, has, totals, before);
    for (uint32_t r = 0; r < cg_layout_regs(l) && s->shape.lanes && !c->failed; r++) {
        uint32_t piece = r >> s->shape.regs;
        put_before(s, is_first(s, piece) ? has : cg_const(CG_PRED, 1), before[piece], values[r]);
    }
    cg_fold_set_results(c, s->op, cg_layout_regs(l), values);
}

void cg_lower_scan(cg_func *c, const ct_op *op)
{
    scanner s = {.c = c,
                 .op = op,
                 .shape = scan_shape_of(c, op, cg_value_of(c, cg_result(op, 0))->home),
                 .reverse = ct_attr_u(op, F_scan_reverse) != 0};
    scan_lines(&s);
}
