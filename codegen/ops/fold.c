/* The code that reductions and scans share: registers of other lanes, and the body, which is emitted once per pair. */
#include "codegen/ops/fold.h"

#include "codegen/ops/ending.h"
#include "codegen/ops/hooks.h"
#include "codegen/ptx/ptx.h"
#include "codegen/values/homes.h"
#include "codegen/values/memory.h"
#include "codegen/values/strips.h"
#include "codegen/values/effects.h"
#include "codegen/values/values.h"

uint32_t cg_fold_mask(const ct_op *op, int row)
{
    cg_shape s = cg_shape_of(ct_operands(op)[0]->type);
    return cg_dim_mask(&s, (uint32_t)ct_attr_u(op, row));
}

/* The register of another lane: instruction "bfly", "up", "down" or "idx" of shfl; by: its operand, a register or a
   constant. */
static cg_val shuffle_word(cg_func *c, const char *how, cg_val x, cg_val by)
{
    cg_val r = cg_new(c, CG_B32);
    cg_ins(c, "shfl.sync.%s.b32 %v, %v, %v, %s, 0xffffffff", how, r, x, by, how[0] == 'u' ? "0" : "31");
    return r;
}

cg_val cg_shuffled(cg_func *c, const char *how, cg_val x, cg_val by)
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

void cg_shuffled_pair(cg_func *c, bc_kind kind, const char *how, const cg_val *x, cg_val by, cg_val *out)
{
    if (cg_class_of(kind) == CG_B16) {
        cg_split(c, kind, shuffle_word(c, how, cg_join(c, x, 2, 16), by), 2, 16, out);
        return;
    }
    for (int i = 0; i < 2; i++)
        out[i] = cg_shuffled(c, how, x[i], by);
}

void cg_fold_combine(cg_func *c, const ct_op *op, const cg_val *first, const cg_val *second, cg_val *out)
{
    cg_val args[2 * CG_FOLD_OPERANDS];
    for (uint32_t i = 0; i < op->operand_count; i++) {
        args[2 * i] = first[i];
        args[2 * i + 1] = second[i];
    }
    cg_inline_region(c, ct_regions(op)[0], args, out);
}

bool cg_fold_is_too_wide(cg_func *c, const ct_op *op)
{
    if (op->operand_count > CG_FOLD_OPERANDS)
        cg_unsupported(c, op, "'%s' of %u tiles; %d at most", ct_op_name(op), op->operand_count, CG_FOLD_OPERANDS);
    return op->operand_count > CG_FOLD_OPERANDS;
}

void cg_fold_assign_body(cg_func *c, const ct_op *op)
{
    const ct_block *body = ct_regions(op)[0];
    cg_layout scalar = cg_layout_scalar(c->warp_bits);
    for (uint32_t i = 0; i < body->arg_count; i++)
        cg_set_home(c, &body->args[i], &scalar, 0);
    cg_assign_block(c, body);
}

cg_layout cg_fold_layout(const cg_layout *source, uint32_t mask, uint32_t *out_kept)
{
    cg_layout l = cg_layout_clear(source, mask);
    l = cg_layout_squeeze(&l, mask);
    return cg_layout_drop_replicas(&l, out_kept);
}

static uint32_t bytes_of_operand(const ct_op *op, uint32_t i, uint32_t tile_bits)
{
    return ((cg_memory_bytes(bc_elem_kind(ct_operands(op)[i]->type)) << tile_bits) + 15) & ~15u;
}

static uint32_t bytes_of(const ct_op *op, uint32_t tile_bits)
{
    uint32_t bytes = 0;
    for (uint32_t i = 0; i < op->operand_count; i++)
        bytes += bytes_of_operand(op, i, tile_bits);
    return bytes;
}

/* ---- partial results of warps ---- */

/* log2 of the parts in which they pass through scratch, by the upper register bits of the result: as few as fit. */
static uint32_t exchange_parts(const cg_func *c, const ct_op *place, const ct_op *op, const cg_layout *result,
                               uint32_t warps)
{
    uint32_t parts = 0;
    while (parts < result->reg_bits && bytes_of(op, result->tile_bits + warps - parts) > cg_scratch_room(c, place))
        parts++;
    return parts;
}

void cg_fold_add_exchange(cg_func *c, ct_op *place, const ct_op *op, const cg_layout *result, uint32_t warps)
{
    uint32_t parts = warps ? exchange_parts(c, place, op, result, warps) : 0;
    for (uint32_t part = 0; warps && part < (uint32_t)1 << parts; part++) {
        cg_effect *e = cg_add_scratch(c, place, bytes_of(op, result->tile_bits + warps - parts));
        if (e)
            e->small = !parts;
    }
}

/* The index bits that tell parts apart. */
static uint32_t mask_of_parts(const cg_layout *own, uint32_t parts)
{
    return cg_images(own->reg + own->reg_bits - parts, parts);
}

/* The layout of one part of the partial results. */
static cg_layout layout_of_part(const cg_layout *l, const cg_layout *own, uint32_t parts)
{
    return parts ? cg_fold_layout(l, mask_of_parts(own, parts), NULL) : *l;
}

/* An exchange in parts. slots: where partial results of a part are before it; all: the distribution after it, when
   all of a line are in one thread. */
typedef struct exchange {
    cg_func *c;
    const ct_op *op;
    const cg_layout *own, *result; /* the distribution of lines over threads before it and after it */
    cg_layout slots, all;
    uint32_t parts, reg_bits; /* log2: number of parts; registers of `own` in one */
    uint32_t mask, kept;      /* index bits that tell parts apart; registers of the result that a part may fill */
} exchange;

static exchange exchange_of(cg_func *c, const ct_op *place, const ct_op *op, const cg_layout *own,
                            const cg_layout *slots, uint32_t warps, const cg_layout *result)
{
    exchange x = {.c = c, .op = op, .own = own, .result = result, .parts = exchange_parts(c, place, op, own, warps)};
    x.reg_bits = own->reg_bits - x.parts;
    x.slots = layout_of_part(slots, own, x.parts);
    x.mask = mask_of_parts(own, x.parts);
    x.all = cg_layout_clear(result, x.mask);
    x.all = cg_layout_squeeze(&x.all, x.mask);
    x.all = cg_layout_drop_replicas(&x.all, &x.kept);
    for (uint32_t b = 0; b < warps; b++)
        x.all.reg[x.all.reg_bits++] = (uint32_t)1 << (result->tile_bits - x.parts + b);
    x.all.tile_bits = x.slots.tile_bits;
    return x;
}

/* The address of operand i of a part. */
static cg_val address_of(const exchange *x, cg_val base, uint32_t i)
{
    uint32_t offset = 0;
    for (uint32_t k = 0; k < i; k++)
        offset += bytes_of_operand(x->op, k, x->slots.tile_bits);
    if (!offset)
        return base;
    cg_val address = cg_new(x->c, CG_B32);
    cg_ins(x->c, "add.u32 %v, %v, %u", address, base, offset);
    return address;
}

/* Takes what was read of a part: for each register of the result, in those threads whose element is in the part. */
static void take_part(const exchange *x, uint32_t part, const cg_val *regs, cg_val *out)
{
    cg_func *c = x->c;
    uint32_t read_bits = cg_count_bits(x->kept), count = cg_layout_regs(x->result),
             in_part = cg_layout_reg(x->own, part << x->reg_bits) & x->mask;
    cg_val index = cg_thread_index(c, x->result, x->mask, 0);
    for (uint32_t r = 0; r < cg_layout_regs(&x->all) >> read_bits << x->result->reg_bits; r++) {
        uint32_t k = r & (count - 1), warp = r >> x->result->reg_bits,
                 other = (cg_layout_reg(x->result, k) & x->mask) ^ in_part;
        cg_val read = regs[cg_gather_bits(k, x->kept) | warp << read_bits], here = cg_const(CG_PRED, !other);
        if (!index.known) {
            here = cg_new(c, CG_PRED);
            cg_ins(c, "setp.eq.u32 %v, %v, %u", here, index, other);
        }
        out[r] = part && !here.known ? cg_select(c, here, read, out[r]) : here.known && !here.bits ? out[r] : read;
    }
}

/* left: the threads that go on after the barrier of the last part. */
static void exchange_part(const exchange *x, cg_val base, uint32_t part, uint32_t left, cg_fold_row *values,
                          cg_val **out)
{
    cg_func *c = x->c;
    uint32_t count = cg_layout_regs(&x->slots), all = cg_layout_regs(&x->all);
    cg_val addresses[CG_FOLD_OPERANDS], *regs = cg_vals(c, all > count ? all : count);
    for (uint32_t i = 0; i < x->op->operand_count && regs; i++) {
        addresses[i] = address_of(x, base, i);
        for (uint32_t k = 0; k < count; k++)
            regs[k] = values[part << x->reg_bits | k][i];
        cg_flat_store(c, bc_elem_kind(ct_operands(x->op)[i]->type), addresses[i], &x->slots, regs);
    }
    cg_barrier(c);
    if (left < cg_threads(c) && part == ((uint32_t)1 << x->parts) - 1)
        cg_leave_from(c, cg_tid(c), left, 0);
    for (uint32_t i = 0; i < x->op->operand_count && regs && out[i]; i++) {
        cg_flat_load(c, bc_elem_kind(ct_operands(x->op)[i]->type), addresses[i], &x->all, regs);
        take_part(x, part, regs, out[i]);
    }
}

void cg_fold_exchange(cg_func *c, const ct_op *op, const cg_layout *own, const cg_layout *slots, uint32_t warps,
                      const cg_layout *result, cg_fold_row *values, cg_val **parts)
{
    const ct_op *place = cg_reduces_strips(c, op) ? op->block->parent : op;
    exchange x = exchange_of(c, place, op, own, slots, warps, result);
    uint32_t left = place == op && op->opcode == OP_reduce ? cg_threads_at_end(c, op) : cg_threads(c);
    for (uint32_t i = 0; i < op->operand_count; i++)
        parts[i] = cg_vals(c, (size_t)cg_layout_regs(result) << warps);
    for (uint32_t part = 0; part < (uint32_t)1 << x.parts && !c->failed; part++)
        exchange_part(&x, cg_scratch(c, place, bytes_of(op, x.slots.tile_bits)), part, left, values, parts);
}

cg_fold_row *cg_fold_rows(cg_func *c, uint32_t count)
{
    return bc_arena_array(&c->arena, count, sizeof(cg_val[CG_FOLD_OPERANDS]), alignof(cg_val));
}

void cg_fold_set_results(cg_func *c, const ct_op *op, uint32_t count, cg_fold_row *values)
{
    for (uint32_t i = 0; i < op->operand_count && !c->failed; i++) {
        cg_val *regs = cg_vals(c, count);
        for (uint32_t k = 0; regs && k < count; k++)
            regs[k] = values[k][i];
        if (regs)
            cg_set(c, cg_result(op, i), regs);
    }
}

/* ---- in strips ---- */

uint32_t cg_fold_strips(cg_func *c, const ct_op *op, uint32_t *out_others)
{
    bool reduces = op->opcode == OP_reduce;
    const cg_value *x = cg_value_of(c, cg_result(op, 0));
    const cg_layout *source = reduces ? x->source : x->home;
    cg_layout others = cg_layout_clear(source, cg_fold_mask(op, reduces ? F_reduce_dim : F_scan_dim));
    *out_others = cg_strip_mask(c, &others);
    return cg_strip_mask(c, source) & ~*out_others;
}

bool cg_reduces_strips(cg_func *c, const ct_op *op)
{
    uint32_t others;
    return c->strip_bits && op->opcode == OP_reduce && cg_fold_strips(c, op, &others);
}
