/* Reductions and scans: within a thread, then among lanes by shuffles, then among warps through shared memory. The body
   is emitted once for every pair; where it is one op on integers, one instruction does it for all lanes of a warp.
   Source: memory reference, section 6. */
#include "codegen/assign.h"
#include "codegen/map.h"
#include "codegen/memory.h"
#include "codegen/remarks.h"
#include "codegen/strips.h"

#include <string.h>

enum { MAX_OPERANDS = 16 };

/* Mask of the element index bits of the dimension. */
static uint32_t dim_mask(const ct_op *op, int row)
{
    cg_shape s = cg_shape_of(ct_operands(op)[0]->type);
    return cg_dim_mask(&s, (uint32_t)ct_attr_u(op, row));
}

/* ---- moving single registers between threads ---- */

/* Another lane's register: instruction "bfly", "up", "down" or "idx" of shfl; by: its operand, a register or a
   constant. */
static cg_val shuffle_word(cg_func *c, const char *how, cg_val x, cg_val by)
{
    cg_val r = cg_new(c, CG_B32);
    cg_ins(c, "shfl.sync.%s.b32 %v, %v, %v, %s, 0xffffffff", how, r, x, by, how[0] == 'u' ? "0" : "31");
    return r;
}

static cg_val shuffled(cg_func *c, const char *how, cg_val x, cg_val by)
{
    x = cg_reg(c, x);
    cg_val wide = x, r = cg_new(c, (cg_class)x.cls);
    switch ((cg_class)x.cls) {
    case CG_B16:
        wide = cg_new(c, CG_B32);
        cg_ins(c, "cvt.u32.u16 %v, %v", wide, x);
        cg_ins(c, "cvt.u16.u32 %v, %v", r, shuffle_word(c, how, wide, by));
        return r;
    case CG_PRED:
        wide = cg_new(c, CG_B32);
        cg_ins(c, "selp.u32 %v, 1, 0, %v", wide, x);
        cg_ins(c, "setp.ne.u32 %v, %v, 0", r, shuffle_word(c, how, wide, by));
        return r;
    case CG_B64: {
        cg_val low = cg_new(c, CG_B32), high = cg_new(c, CG_B32);
        cg_ins(c, "mov.b64 {%v, %v}, %v", low, high, x);
        low = shuffle_word(c, how, low, by);
        high = shuffle_word(c, how, high, by);
        cg_ins(c, "mov.b64 %v, {%v, %v}", r, low, high);
        return r;
    }
    default: return shuffle_word(c, how, x, by);
    }
}

/* Two registers of the same lane: of 16 bits in one word. */
static void shuffled_pair(cg_func *c, bc_kind kind, const char *how, const cg_val *x, cg_val by, cg_val *out)
{
    if (cg_class_of(kind) == CG_B16) {
        cg_split(c, kind, shuffle_word(c, how, cg_join(c, x, 2, 16), by), 2, 16, out);
        return;
    }
    for (int i = 0; i < 2; i++)
        out[i] = shuffled(c, how, x[i], by);
}

/* out[i] = body(first[i], second[i]) for the operands of the op. */
static void combine(cg_func *c, const ct_op *op, const cg_val *first, const cg_val *second, cg_val *out)
{
    cg_val args[2 * MAX_OPERANDS];
    for (uint32_t i = 0; i < op->operand_count; i++) {
        args[2 * i] = first[i];
        args[2 * i + 1] = second[i];
    }
    cg_inline_region(c, ct_regions(op)[0], args, out);
}

static bool too_many(cg_func *c, const ct_op *op)
{
    if (op->operand_count > MAX_OPERANDS)
        cg_unsupported(c, op, "'%s' of %u tiles; %d at most", ct_op_name(op), op->operand_count, MAX_OPERANDS);
    return op->operand_count > MAX_OPERANDS;
}

static void assign_body(cg_func *c, const ct_op *op)
{
    const ct_block *body = ct_regions(op)[0];
    cg_layout scalar = cg_layout_scalar(c->warp_bits);
    for (uint32_t i = 0; i < body->arg_count; i++)
        cg_set_home(c, &body->args[i], &scalar, 0);
    cg_assign_block(c, body);
}

/* ---- reduce ---- */

/* All operands are read in one layout: the wish that weighs most. */
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

/* What is left of a layout when the dimension is gone, and which register bits stay. */
static cg_layout reduced_layout(const cg_layout *source, uint32_t mask, uint32_t *out_kept)
{
    cg_layout l = cg_layout_clear(source, mask);
    l = cg_layout_squeeze(&l, mask);
    return cg_layout_drop_replicas(&l, out_kept);
}

void cg_assign_reduce(cg_func *c, const ct_op *op)
{
    if (too_many(c, op))
        return;
    uint32_t mask = dim_mask(op, F_reduce_dim);
    cg_layout source = source_layout(c, op), result = reduced_layout(&source, mask, NULL);
    for (uint32_t i = 0; i < op->operand_count; i++) {
        cg_want(c, ct_operands(op)[i], &source);
        cg_set_home(c, cg_result(op, i), &result, CG_WEIGHT_REDUCED);
    }
    cg_layout *kept = bc_new(&c->arena, cg_layout, 1);
    if (kept)
        *kept = source;
    else
        cg_no_memory(c);
    cg_value_of(c, cg_result(op, 0))->source = kept;
    assign_body(c, op);
}

/* values[r][i]: partial results by register of the result's layout. */
static void reduce_registers(cg_func *c, const ct_op *op, const cg_layout *source, uint32_t kept,
                             cg_val (*values)[MAX_OPERANDS])
{
    uint32_t folded = (uint32_t)(((uint64_t)1 << source->reg_bits) - 1) & ~kept, zero = 0;
    for (uint32_t i = 0; i < source->reg_bits; i++)
        zero |= source->reg[i] ? 0 : (uint32_t)1 << i; /* replicas are not to be combined with themselves */
    folded &= ~zero;
    uint32_t rest = cg_layout_regs(source) - 1;
    const cg_val *regs[MAX_OPERANDS];
    for (uint32_t i = 0; i < op->operand_count; i++)
        if (!(regs[i] = cg_get(c, ct_operands(op)[i], source)))
            return;
    for (uint32_t k = 0; k <= cg_gather_bits(rest, kept); k++) {
        /* A balanced tree over the registers that fold into result register k. */
        uint32_t base = cg_scatter_bits(k, kept), count = (uint32_t)1 << cg_count_bits(folded);
        cg_val(*tree)[MAX_OPERANDS] = bc_arena_array(&c->arena, count, sizeof *tree, alignof(cg_val));
        if (!tree) {
            cg_no_memory(c);
            return;
        }
        for (uint32_t j = 0; j < count; j++)
            for (uint32_t i = 0; i < op->operand_count; i++)
                tree[j][i] = regs[i][base | cg_scatter_bits(j, folded)];
        for (uint32_t n = count / 2; n; n /= 2)
            for (uint32_t j = 0; j < n && !c->failed; j++)
                combine(c, op, tree[j], tree[j + n], tree[j]);
        for (uint32_t i = 0; i < op->operand_count; i++)
            values[k][i] = tree[0][i];
    }
}

/* redux.sync: what it is called for the op of a body, and its type. */
typedef struct redux {
    const char *text;
    bool is_signed;
} redux;

/* text NULL: the body is not one op on two integers of 32 bits at most that has such an instruction. */
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

/* Over all lanes by one instruction, where they hold different elements along the dimension. */
static bool reduce_whole_warp(cg_func *c, const ct_op *op, const cg_layout *source, uint32_t mask, uint32_t count,
                              cg_val (*values)[MAX_OPERANDS])
{
    redux by = redux_of(op);
    bc_kind kind = bc_elem_kind(ct_operands(op)[0]->type);
    for (uint32_t bit = 0; bit < CG_LANE_BITS; bit++)
        if (!by.text || !(source->lane[bit] & mask))
            return false;
    for (uint32_t k = 0; k < count; k++) {
        cg_val sum = cg_new(c, CG_B32), part = cg_reg(c, cg_to_b32(c, kind, by.is_signed, values[k][0]));
        cg_ins(c, "redux.sync.%s %v, %v, 0xffffffff", by.text, sum, part);
        values[k][0] = cg_from_b32(c, kind, sum);
    }
    return true;
}

/* One step of one or two neighbouring results. */
static void reduce_lane_pair(cg_func *c, const ct_op *op, cg_val by, uint32_t count, cg_val (*values)[MAX_OPERANDS])
{
    cg_val other[2][MAX_OPERANDS], pair[2];
    for (uint32_t i = 0; i < op->operand_count; i++)
        if (count == 1) {
            other[0][i] = shuffled(c, "bfly", values[0][i], by);
        } else {
            bc_kind kind = bc_elem_kind(ct_operands(op)[i]->type);
            shuffled_pair(c, kind, "bfly", (cg_val[]){values[0][i], values[1][i]}, by, pair);
            other[0][i] = pair[0];
            other[1][i] = pair[1];
        }
    for (uint32_t k = 0; k < count; k++)
        combine(c, op, values[k], other[k], values[k]);
}

static void reduce_lanes(cg_func *c, const ct_op *op, const cg_layout *source, uint32_t mask, uint32_t count,
                         cg_val (*values)[MAX_OPERANDS])
{
    if (reduce_whole_warp(c, op, source, mask, count, values))
        return;
    for (uint32_t bit = CG_LANE_BITS; bit-- > 0;) {
        cg_val by = cg_const(CG_B32, (uint64_t)1 << bit);
        for (uint32_t k = 0; k < count && source->lane[bit] & mask && !c->failed; k += 2)
            reduce_lane_pair(c, op, by, count - k < 2 ? 1 : 2, values + k);
    }
}

/* The partial results of all warps along the dimension, through shared memory. A partial result is an element of a
   tile: the index of the result, and above it the number of the warp, `warps` bits of it. parts[i]: of operand i,
   register k of warp n at k | n << register bits of the result. */
static void exchange(cg_func *c, const ct_op *op, const cg_layout *result, const cg_layout *slots, uint32_t warps,
                     cg_val (*values)[MAX_OPERANDS], cg_val **parts)
{
    uint32_t bytes = 0, offset = 0, count = cg_layout_regs(slots);
    cg_layout all = *result;
    for (uint32_t b = 0; b < warps; b++)
        all.reg[all.reg_bits++] = (uint32_t)1 << (result->tile_bits + b);
    all.tile_bits = slots->tile_bits;
    cg_val addresses[MAX_OPERANDS], *regs = cg_vals(c, count);
    for (uint32_t i = 0; i < op->operand_count; i++)
        bytes += ((cg_memory_bytes(bc_elem_kind(ct_operands(op)[i]->type)) << slots->tile_bits) + 15) & ~15u;
    cg_span span;
    cg_val base = cg_scratch_apart(c, bytes, &span);
    for (uint32_t i = 0; i < op->operand_count && regs; i++) {
        bc_kind kind = bc_elem_kind(ct_operands(op)[i]->type);
        addresses[i] = base;
        if (offset) {
            addresses[i] = cg_new(c, CG_B32);
            cg_ins(c, "add.u32 %v, %v, %u", addresses[i], base, offset);
        }
        offset += ((cg_memory_bytes(kind) << slots->tile_bits) + 15) & ~15u;
        for (uint32_t k = 0; k < count; k++)
            regs[k] = values[k][i];
        cg_flat_store(c, kind, addresses[i], slots, regs);
    }
    cg_barrier(c);
    for (uint32_t i = 0; i < op->operand_count; i++) {
        parts[i] = cg_vals(c, cg_layout_regs(&all));
        if (parts[i])
            cg_flat_load(c, bc_elem_kind(ct_operands(op)[i]->type), addresses[i], &all, parts[i]);
    }
    cg_scratch_apart_read(c, &span);
}

static void reduce_warps(cg_func *c, const ct_op *op, const cg_layout *source, const cg_layout *result, uint32_t mask,
                         cg_val (*values)[MAX_OPERANDS])
{
    uint32_t warps = 0, count = cg_layout_regs(result);
    cg_layout slots = *result;
    for (uint32_t i = 0; i < cg_real_warp_bits(c); i++)
        if (source->warp[i] & mask)
            slots.warp[i] ^= (uint32_t)1 << (result->tile_bits + warps++);
    if (!warps)
        return;
    cg_val *parts[MAX_OPERANDS];
    slots.tile_bits = (uint8_t)(result->tile_bits + warps);
    exchange(c, op, result, &slots, warps, values, parts);
    for (uint32_t k = 0; k < count && !c->failed; k++)
        for (uint32_t n = 0; n < (uint32_t)1 << warps; n++) {
            cg_val part[MAX_OPERANDS];
            for (uint32_t i = 0; i < op->operand_count; i++)
                part[i] = parts[i][k | n << result->reg_bits];
            if (n)
                combine(c, op, values[k], part, values[k]);
            else
                memcpy(values[k], part, op->operand_count * sizeof *part);
        }
}

static cg_val (*new_values(cg_func *c, uint32_t count))[MAX_OPERANDS]
{
    cg_val(*values)[MAX_OPERANDS] = bc_arena_array(&c->arena, count, sizeof *values, alignof(cg_val));
    if (!values)
        cg_no_memory(c);
    return values;
}

static void set_results(cg_func *c, const ct_op *op, uint32_t count, cg_val (*values)[MAX_OPERANDS])
{
    for (uint32_t i = 0; i < op->operand_count && !c->failed; i++) {
        cg_val *regs = cg_vals(c, count);
        for (uint32_t k = 0; regs && k < count; k++)
            regs[k] = values[k][i];
        if (regs)
            cg_set(c, cg_result(op, i), regs);
    }
}

/* How many elements of the dimension meet where. */
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

/* Strip bits along the dimension, and others that select elements. */
static uint32_t strips_along(const cg_func *c, const cg_layout *source, uint32_t mask, uint32_t *out_others)
{
    cg_layout others = cg_layout_clear(source, mask);
    *out_others = cg_strip_mask(c, &others);
    return cg_strip_mask(c, source) & ~*out_others;
}

bool cg_reduce_in_one_loop(cg_func *c, const ct_op *op)
{
    uint32_t others, all = ((uint32_t)1 << c->strip_bits) - 1;
    uint32_t along = strips_along(c, cg_value_of(c, cg_result(op, 0))->source, dim_mask(op, F_reduce_dim), &others);
    return along == all || others == all;
}

/* The registers of every strip along the dimension: values become their sums. The loop is the open one, if that has all
   strips; it ends. */
static void reduce_along(cg_func *c, const ct_op *op, const cg_layout *source, uint32_t kept, uint32_t along,
                         uint32_t count, cg_val (*values)[MAX_OPERANDS])
{
    if (!cg_strip_now(c) || cg_strip_now(c)->mask != along)
        cg_strip_open(c, along, false);
    cg_val(*sums)[MAX_OPERANDS] = new_values(c, count), first = cg_new(c, CG_PRED);
    if (!sums || c->failed)
        return;
    reduce_registers(c, op, source, kept, values);
    cg_ins(c, "setp.eq.u32 %v, %v, 0", first, cg_strip_now(c)->counter);
    for (uint32_t k = 0; k < count && !c->failed; k++) {
        for (uint32_t i = 0; i < op->operand_count; i++)
            sums[k][i] = cg_strip_carried(c, cg_elem_class(ct_operands(op)[i]->type));
        cg_val next[MAX_OPERANDS];
        combine(c, op, sums[k], values[k], next);
        for (uint32_t i = 0; i < op->operand_count && !c->failed; i++) {
            cg_val x = cg_select(c, first, values[k][i], next[i]);
            cg_move(c, sums[k][i], x);
        }
        memcpy(values[k], sums[k], op->operand_count * sizeof **values);
    }
    cg_strip_close(c);
}

static void reduce_in_strips(cg_func *c, const ct_op *op, const cg_layout *source, const cg_layout *result,
                             uint32_t mask, uint32_t kept, cg_val (*values)[MAX_OPERANDS])
{
    uint32_t others, along = strips_along(c, source, mask, &others), count = cg_layout_regs(result);
    bool fused = cg_strip_now(c) != NULL; /* it is a loop over all strips, which are `along` or `others` */
    if (others && !fused)
        cg_strip_open(c, others, false);
    if (along)
        reduce_along(c, op, source, kept, along, count, values);
    else
        reduce_registers(c, op, source, kept, values);
    reduce_lanes(c, op, source, mask, count, values);
    reduce_warps(c, op, source, result, mask, values);
    set_results(c, op, count, values);
    if (others && !fused)
        cg_strip_close(c);
}

void cg_lower_reduce(cg_func *c, const ct_op *op)
{
    uint32_t mask = dim_mask(op, F_reduce_dim), kept;
    const cg_layout source = *cg_value_of(c, cg_result(op, 0))->source;
    cg_layout result = reduced_layout(&source, mask, &kept);
    cg_val(*values)[MAX_OPERANDS] = new_values(c, cg_layout_regs(&result));
    if (!values)
        return;
    if (cg_remarks_wanted(c))
        remark_reduce(c, op, &source, mask);
    if (cg_strip_varies(c, &source)) {
        reduce_in_strips(c, op, &source, &result, mask, kept, values);
        return;
    }
    reduce_registers(c, op, &source, kept, values);
    reduce_lanes(c, op, &source, mask, cg_layout_regs(&result), values);
    reduce_warps(c, op, &source, &result, mask, values);
    set_results(c, op, cg_layout_regs(&result), values);
}

/* ---- scan ---- */

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
    if (too_many(c, op))
        return;
    scan_shape scan = scan_shape_of(c, op);
    for (uint32_t i = 0; i < op->operand_count; i++) {
        cg_want(c, ct_operands(op)[i], &scan.layout);
        cg_set_home(c, cg_result(op, i), &scan.layout, CG_WEIGHT_DEFAULT);
    }
    assign_body(c, op);
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
    cg_val sum[MAX_OPERANDS];
    if (has.known && !has.bits)
        return;
    combine(s->c, s->op, before, value, sum);
    for (uint32_t i = 0; i < s->op->operand_count && !s->c->failed; i++)
        value[i] = cg_select(s->c, has, sum[i], value[i]);
}

/* The totals of the lanes of one line become totals of all lanes up to each; before: of those in front of it. */
static void scan_lanes(const scanner *s, cg_val *total, cg_val *before)
{
    cg_func *c = s->c;
    const char *how = s->reverse ? "down" : "up";
    cg_val lane = position(s, s->shape.regs, s->shape.lanes), other[MAX_OPERANDS];
    for (uint32_t by = 1; by < (uint32_t)1 << s->shape.lanes && !c->failed; by *= 2) {
        for (uint32_t i = 0; i < s->op->operand_count; i++)
            other[i] = shuffled(c, how, total[i], cg_const(CG_B32, by));
        put_before(s, at_least(c, lane, by), other, total);
    }
    for (uint32_t i = 0; i < s->op->operand_count && s->shape.lanes; i++)
        before[i] = shuffled(c, how, total[i], cg_const(CG_B32, 1));
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
        total[i] = shuffled(c, "idx", total[i], last);
}

/* Sums of single lines: of registers, of the lanes in front, of the warps. */
typedef cg_val scan_row[MAX_OPERANDS];

/* Every line of registers within its thread, and the totals of lanes in front of it. */
static void scan_registers(const scanner *s, scan_row *values, scan_row *totals, scan_row *before)
{
    cg_func *c = s->c;
    const cg_layout *l = &s->shape.layout;
    uint32_t steps = (uint32_t)1 << s->shape.regs, lines = cg_layout_regs(l) >> s->shape.regs, n = s->op->operand_count;
    const cg_val *regs[MAX_OPERANDS];
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
static cg_val scan_warps(const scanner *s, cg_val has, scan_row *totals, scan_row *before)
{
    cg_func *c = s->c;
    const cg_layout *l = &s->shape.layout;
    uint32_t lines = cg_layout_regs(l) >> s->shape.regs, n = s->op->operand_count, kept;
    uint32_t low = ((((uint32_t)1 << (s->shape.regs + s->shape.lanes)) - 1) << s->shape.shift),
             dim = dim_mask(s->op, F_scan_dim);
    /* Index of a line, and above it the warp's position. */
    cg_layout line = reduced_layout(l, dim, &kept), slots = line;
    for (uint32_t i = 0, b = 0; i < cg_real_warp_bits(c); i++)
        if (l->warp[i] & dim & ~low)
            slots.warp[i] ^= (uint32_t)1 << (line.tile_bits + b++);
    slots.tile_bits = (uint8_t)(line.tile_bits + s->shape.warps);
    cg_val *parts[MAX_OPERANDS], warp = position(s, s->shape.regs + s->shape.lanes, s->shape.warps);
    for (uint32_t k = 0; k < lines; k++)
        spread_totals(s, totals[k]);
    exchange(c, s->op, &line, &slots, s->shape.warps, totals, parts);
    uint32_t count = (uint32_t)1 << s->shape.warps;
    for (uint32_t k = 0; k < lines && !c->failed; k++) {
        cg_val front[MAX_OPERANDS], sum[MAX_OPERANDS];
        uint32_t last = count - (s->shape.strips ? 0 : 1); /* nobody wants the sum of all, if there are no strips */
        for (uint32_t w = 0; w < last; w++) {              /* sum: of warps up to w; front: of those before this one */
            uint32_t at = k | (s->reverse ? count - 1 - w : w) << line.reg_bits;
            cg_val part[MAX_OPERANDS], here = at_least(c, warp, w + 1);
            for (uint32_t i = 0; i < n; i++)
                part[i] = parts[i][at];
            if (w)
                combine(c, s->op, sum, part, sum);
            else
                memcpy(sum, part, n * sizeof *sum);
            for (uint32_t i = 0; i < n && w + 1 < count; i++)
                front[i] = w ? cg_select(c, here, sum[i], front[i]) : sum[i];
        }
        memcpy(totals[k], sum, n * sizeof *sum);
        /* before = front, and behind it what came in this warp. */
        cg_val joined[MAX_OPERANDS], later = at_least(c, warp, 1);
        memcpy(joined, before[k], n * sizeof *joined);
        combine(c, s->op, front, before[k], joined);
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
static cg_val scan_strips(const scanner *s, cg_val has, scan_row *totals, scan_row *before)
{
    cg_func *c = s->c;
    uint32_t lines = cg_layout_regs(&s->shape.layout) >> s->shape.regs, n = s->op->operand_count;
    cg_val later = cg_new(c, CG_PRED), either = cg_new(c, CG_PRED);
    cg_ins(c, "setp.ne.u32 %v, %v, 0", later, cg_strip_now(c)->counter);
    for (uint32_t k = 0; k < lines && !c->failed; k++) {
        cg_val carried[MAX_OPERANDS], joined[MAX_OPERANDS], sum[MAX_OPERANDS];
        for (uint32_t i = 0; i < n; i++)
            carried[i] = cg_strip_carried(c, cg_elem_class(ct_operands(s->op)[i]->type));
        combine(c, s->op, carried, before[k], joined);
        combine(c, s->op, carried, totals[k], sum);
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
    scan_row *values = new_values(c, cg_layout_regs(l)), *totals = new_values(c, lines), *before = new_values(c, lines);
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
    set_results(c, s->op, cg_layout_regs(l), values);
}

void cg_lower_scan(cg_func *c, const ct_op *op)
{
    scanner s = {.c = c, .op = op, .shape = scan_shape_of(c, op), .reverse = ct_attr_u(op, F_scan_reverse) != 0};
    uint32_t others = 0, along = 0;
    if (cg_strip_varies(c, &s.shape.layout))
        along = strips_along(c, &s.shape.layout, dim_mask(op, F_scan_dim), &others);
    if (others)
        cg_strip_open(c, others, false);
    cg_strip *trips = along ? cg_strip_open(c, along, s.reverse) : NULL;
    if (trips)
        trips->apart = true; /* sums of the strip */
    if (!c->failed)
        scan_lines(&s);
    if (along)
        cg_strip_close(c);
    if (others)
        cg_strip_close(c);
}
