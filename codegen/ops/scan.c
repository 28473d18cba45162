/* Scans: within a thread, then among lanes by shuffles, then among warps through shared memory. Source: memory
   reference, section 6. */
#include <string.h>

#include "codegen/kernel/remarks.h"
#include "codegen/ops/fold.h"
#include "codegen/ops/hooks.h"
#include "codegen/ptx/ptx.h"
#include "codegen/values/homes.h"
#include "codegen/values/strips.h"
#include "codegen/values/values.h"

/* The dimension's bits lie in order: registers, lanes, warps, strips. */
typedef struct scan_shape {
    uint32_t shift, regs, lanes, warps, strips; /* of the dimension: its place in the index, bits in each */
    cg_layout layout;
} scan_shape;

static scan_shape scan_shape_of(const cg_func *c, const ct_op *op)
{
    cg_shape s = cg_shape_of(ct_operands(op)[0]->type);
    uint32_t d = (uint32_t)ct_attr_u(op, F_scan_dim), bits = s.bits[d], count = 0;
    uint8_t order[CG_MAX_TILE_BITS];
    scan_shape scan = {.shift = s.shift[d]};
    for (uint32_t k = 0; k < bits; k++)
        order[count++] = (uint8_t)(s.shift[d] + k);
    for (uint32_t b = 0; b < s.tile_bits; b++)
        if (b < s.shift[d] || b >= s.shift[d] + bits)
            order[count++] = (uint8_t)b;
    scan.regs = bits > CG_LANE_BITS + c->warp_bits ? bits - CG_LANE_BITS - c->warp_bits : 0;
    scan.lanes = bits - scan.regs < CG_LANE_BITS ? bits - scan.regs : CG_LANE_BITS;
    scan.warps = bits - scan.regs - scan.lanes;
    if (scan.warps > cg_real_warp_bits(c)) {
        scan.strips = scan.warps - cg_real_warp_bits(c);
        scan.warps = cg_real_warp_bits(c);
    }
    scan.layout = cg_layout_ordered(order, s.tile_bits, scan.regs, c->warp_bits);
    return scan;
}

void cg_assign_scan(cg_func *c, const ct_op *op)
{
    if (cg_fold_is_too_wide(c, op))
        return;
    scan_shape scan = scan_shape_of(c, op);
    for (uint32_t i = 0; i < op->operand_count; i++) {
        cg_want(c, ct_operands(op)[i], &scan.layout);
        cg_set_home(c, cg_result(op, i), &scan.layout, CG_WEIGHT_DEFAULT);
    }
    cg_fold_assign_body(c, op);
}

/* The lines of one strip; those of others take its place. */
static cg_layout lines_of_strip(const cg_func *c, const ct_op *op, const cg_layout *l)
{
    uint32_t gone = cg_fold_mask(op, F_scan_dim);
    for (uint32_t i = cg_real_warp_bits(c); i < c->warp_bits; i++)
        gone |= l->warp[i];
    return cg_fold_layout(l, gone, NULL);
}

void cg_effects_scan(cg_func *c, ct_op *op)
{
    scan_shape scan = scan_shape_of(c, op);
    cg_layout lines = lines_of_strip(c, op, &scan.layout);
    cg_fold_add_exchange(c, op, op, &lines, scan.warps);
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

/* The totals of the lanes of one line become totals of all lanes up to each; before: of those in front of it. */
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

/* Totals of whole warps, from their last lanes: to all lanes. */
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

/* Sums of single lines: of registers, of the lanes in front, of the warps. */
/* Every line of registers within its thread, and the totals of lanes in front of it. */
static void scan_registers(const scanner *s, cg_fold_row *values, cg_fold_row *totals, cg_fold_row *before)
{
    cg_func *c = s->c;
    const cg_layout *l = &s->shape.layout;
    uint32_t steps = (uint32_t)1 << s->shape.regs, lines = cg_layout_regs(l) >> s->shape.regs, n = s->op->operand_count;
    const cg_val *regs[CG_FOLD_OPERANDS];
    for (uint32_t i = 0; i < n; i++)
        if (!(regs[i] = cg_get(c, ct_operands(s->op)[i], l)))
            return;
    cg_remark(c, s->op, CG_REMARK_Reduction, s->shape.warps ? TV_REMARK_MISSED : TV_REMARK_PASSED,
              "{Registers=%u} elements in registers, {Lanes=%u} lanes by shuffles, {Warps=%u} warps%s", steps,
              1u << s->shape.lanes, 1u << s->shape.warps, s->shape.warps ? " through shared memory" : "");
    for (uint32_t k = 0; k < lines; k++) {
        for (uint32_t j = 0; j < steps && !c->failed; j++) {
            uint32_t r = k << s->shape.regs | (s->reverse ? steps - 1 - j : j);
            uint32_t earlier = k << s->shape.regs | (s->reverse ? steps - j : j - 1);
            for (uint32_t i = 0; i < n; i++)
                values[r][i] = regs[i][r];
            if (j)
                put_before(s, cg_const(CG_PRED, 1), values[earlier], values[r]);
            memcpy(totals[k], values[r], n * sizeof **values);
        }
        scan_lanes(s, totals[k], before[k]);
    }
}

/* What lies in front: of `has` in this warp, of the warps before it. Totals become those of whole lines of warps. */
static cg_val scan_warps(const scanner *s, cg_val has, cg_fold_row *totals, cg_fold_row *before)
{
    cg_func *c = s->c;
    const cg_layout *l = &s->shape.layout;
    uint32_t lines = cg_layout_regs(l) >> s->shape.regs, n = s->op->operand_count;
    uint32_t low = ((((uint32_t)1 << (s->shape.regs + s->shape.lanes)) - 1) << s->shape.shift),
             dim = cg_fold_mask(s->op, F_scan_dim);
    /* Index of a line, and above it the warp's position. */
    cg_layout line = lines_of_strip(c, s->op, l), slots = line;
    for (uint32_t i = 0, b = 0; i < cg_real_warp_bits(c); i++)
        if (l->warp[i] & dim & ~low)
            slots.warp[i] ^= (uint32_t)1 << (line.tile_bits + b++);
    slots.tile_bits = (uint8_t)(line.tile_bits + s->shape.warps);
    cg_val *parts[CG_FOLD_OPERANDS], warp = position(s, s->shape.regs + s->shape.lanes, s->shape.warps);
    for (uint32_t k = 0; k < lines; k++)
        spread_totals(s, totals[k]);
    cg_strip_puts_own(c, true);
    cg_fold_exchange(c, s->op, &line, &slots, s->shape.warps, totals, parts);
    cg_strip_puts_own(c, false);
    uint32_t count = (uint32_t)1 << s->shape.warps;
    for (uint32_t k = 0; k < lines && !c->failed; k++) {
        cg_val front[CG_FOLD_OPERANDS], sum[CG_FOLD_OPERANDS];
        uint32_t last = count - (s->shape.strips ? 0 : 1); /* nobody wants the sum of all, if there are no strips */
        for (uint32_t w = 0; w < last; w++) {              /* sum: of warps up to w; front: of those before this one */
            uint32_t at = k | (s->reverse ? count - 1 - w : w) << line.reg_bits;
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
        /* before = front, and behind it what came in this warp. */
        cg_val joined[CG_FOLD_OPERANDS], later = at_least(c, warp, 1);
        memcpy(joined, before[k], n * sizeof *joined);
        cg_fold_combine(c, s->op, front, before[k], joined);
        for (uint32_t i = 0; i < n && !c->failed; i++) {
            cg_val in_warp = cg_select(c, has, joined[i], front[i]);
            before[k][i] = cg_select(c, later, in_warp, before[k][i]);
        }
    }
    cg_val later = at_least(c, warp, 1), either = cg_new(c, CG_PRED);
    cg_ins(c, "or.pred %v, %v, %v", either, cg_reg(c, has), cg_reg(c, later));
    return either;
}

/* What the strips in front give, which the loop carries. */
static cg_val scan_strips(const scanner *s, cg_val has, cg_fold_row *totals, cg_fold_row *before)
{
    cg_func *c = s->c;
    uint32_t lines = cg_layout_regs(&s->shape.layout) >> s->shape.regs, n = s->op->operand_count;
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
    cg_ins(c, "or.pred %v, %v, %v", either, cg_reg(c, has), later);
    return either;
}

static void scan_lines(const scanner *s)
{
    cg_func *c = s->c;
    const cg_layout *l = &s->shape.layout;
    uint32_t lines = cg_layout_regs(l) >> s->shape.regs;
    cg_fold_row *values = cg_fold_rows(c, cg_layout_regs(l)), *totals = cg_fold_rows(c, lines),
                *before = cg_fold_rows(c, lines);
    if (c->failed)
        return;
    scan_registers(s, values, totals, before);
    cg_val lane = position(s, s->shape.regs, s->shape.lanes), has = at_least(c, lane, 1);
    if (s->shape.warps)
        has = scan_warps(s, has, totals, before);
    if (s->shape.strips)
        has = scan_strips(s, has, totals, before);
    for (uint32_t r = 0; r < cg_layout_regs(l) && s->shape.lanes && !c->failed; r++)
        put_before(s, has, before[r >> s->shape.regs], values[r]);
    cg_fold_set_results(c, s->op, cg_layout_regs(l), values);
}

void cg_lower_scan(cg_func *c, const ct_op *op)
{
    scanner s = {.c = c, .op = op, .shape = scan_shape_of(c, op), .reverse = ct_attr_u(op, F_scan_reverse) != 0};
    scan_lines(&s);
}
