/* Tiles through views: addresses, bounds, vectors. The address of an element splits into a part that is the same in all
   threads, the thread's own part, and what a register adds: constants become offsets of the instruction. Bounds are
   compared in 32 bits against how much of the tensor lies behind the tile's start. The start is computed in 32 bits
   where its range allows, else in
   64. Source: memory reference, section 2. */
#include "codegen/view.h"

#include <stdio.h>
#include <string.h>

#include "bytecode/print/print.h"
#include "codegen/facts.h"
#include "codegen/map.h"
#include "codegen/memory.h"
#include "codegen/remarks.h"

cg_view_op cg_view_op_of(const ct_op *op)
{
    cg_view_op v = {0};
    bc_range index;
    switch ((int)op->opcode) {
    case CT_copy:
    case CT_staged:
    case OP_load_view_tko:
        v.view = ct_operand(op, F_load_view_tko_view);
        v.tile = op->result_count ? cg_result(op, 0) : NULL;
        v.tile_type = bc_results(op->from)[0].type;
        index = ct_operand_range(op, F_load_view_tko_index);
        v.inbounds = ct_attr_of(op, F_load_view_tko_inbounds)->ints;
        break;
    case OP_store_view_tko:
        v.view = ct_operand(op, F_store_view_tko_view);
        v.tile = ct_operand(op, F_store_view_tko_tile);
        index = ct_operand_range(op, F_store_view_tko_index);
        v.inbounds = ct_attr_of(op, F_store_view_tko_inbounds)->ints;
        v.owned = true;
        break;
    default: /* atomic_red_view_tko */
        v.view = ct_operand(op, F_atomic_red_view_tko_view);
        v.tile = ct_operand(op, F_atomic_red_view_tko_value);
        index = ct_operand_range(op, F_atomic_red_view_tko_index);
        v.inbounds = ct_attr_of(op, F_atomic_red_view_tko_inbounds)->ints;
        v.owned = true;
        break;
    }
    v.index = ct_operands(op) + index.first;
    v.index_count = index.count;
    v.tile_type = v.tile ? v.tile->type : v.tile_type;
    return v;
}

/* The tensor dimension that tile dimension t walks. */
static uint32_t tensor_dim(const bc_type *view, uint32_t t)
{
    return view->kind == BC_GATHER_SCATTER_VIEW ? t : (uint32_t)view->dim_map[t];
}

/* ---- what alignment allows ---- */

/* Of a size or stride that the type states, or the operand that it leaves it to. */
static uint8_t divisor_of_size(int64_t stated, const ct_value *dynamic)
{
    return stated == BC_DYNAMIC ? dynamic->fact->divisor : cg_divisor_of((uint64_t)stated);
}

/* The steps of the index in coordinates: a tile's size, or the view's own stride. */
static int64_t step_of(const bc_type *view, uint32_t t)
{
    return view->kind == BC_GATHER_SCATTER_VIEW ? 1 : view->kind == BC_STRIDED_VIEW ? view->strides[t] : view->shape[t];
}

/* Divisor of the first coordinate of a tile along tile dimension t. */
static uint8_t divisor_of_start(const cg_view_op *v, uint32_t t)
{
    uint8_t index = v->index[t]->fact->divisor, step = cg_divisor_of((uint64_t)step_of(v->view->type, t));
    return (uint8_t)(index + step < CG_DIVISOR_OF_ZERO ? index + step : CG_DIVISOR_OF_ZERO);
}

static bool is_inbounds(const cg_view_op *v, uint32_t t)
{
    return v->inbounds && t < v->inbounds->count && v->inbounds->ptr[t];
}

/* Where the tile begins along tile dimension t, sparse ones apart. False: not known to lie below 2^32, with all of the
   tile. */
static bool start_range(const cg_view_op *v, uint32_t t, cg_range *out_range)
{
    int64_t step = step_of(v->view->type, t), most = UINT32_MAX - v->tile_type->shape[t];
    cg_range index;
    if (!cg_size_range(BC_DYNAMIC, v->index[t], &index) || index.high > most / step)
        return false;
    *out_range = (cg_range){index.low * step, index.high * step};
    return true;
}

/* The tensor's size along tile dimension t; false: not known to lie below 2^32. */
static bool extent_range(const cg_view_op *v, uint32_t t, cg_range *out_range)
{
    const cg_view *tensor = v->view->view;
    uint32_t d = tensor_dim(v->view->type, t);
    return cg_size_range(tensor->tensor->shape[d], tensor->extents[d], out_range) && out_range->high <= UINT32_MAX;
}

/* May the tile leave the tensor along tile dimension t, as far as is known before it runs? */
static bool may_leave(const cg_view_op *v, uint32_t t)
{
    const bc_type *type = v->view->type;
    cg_range start, extent;
    if (type->kind == BC_GATHER_SCATTER_VIEW && type->sparse_dim == t)
        return true;
    return !is_inbounds(v, t)
           && !(start_range(v, t, &start) && extent_range(v, t, &extent)
                && start.high + v->tile_type->shape[t] <= extent.low);
}

bool cg_view_contiguous(const cg_view_op *v, uint32_t *out_dim)
{
    const bc_type *type = v->view->type;
    const cg_view *tensor = v->view->view;
    for (uint32_t t = 0; t < v->index_count; t++)
        if (tensor->tensor->strides[tensor_dim(type, t)] == 1
            && !(type->kind == BC_GATHER_SCATTER_VIEW && type->sparse_dim == t)) {
            *out_dim = t;
            return true;
        }
    return false;
}

/* log2 of the elements along tile dimension `fast` that one access may have where all of them are inside the tensor;
   out_limit, when given: what keeps them from more, NULL for nothing. */
static uint32_t aligned_bits(cg_func *c, const cg_view_op *v, uint32_t fast, const char **out_limit)
{
    const bc_type *type = v->view->type;
    const cg_view *tensor = v->view->view;
    int size = cg_pointee_shift(tensor->base->type), base = tensor->base->fact->divisor - size;
    int widest = cg_widest_access(c) - size, most = base < widest ? base : widest;
    const char *limit = base < widest ? "what divides the base" : NULL;
    for (uint32_t t = 0; t < v->index_count; t++) {
        uint32_t d = tensor_dim(type, t);
        int divisor = t == fast ? divisor_of_start(v, t)
                                : divisor_of_size(tensor->tensor->strides[d], tensor->strides[d]);
        if (divisor < most) {
            most = divisor;
            limit = t == fast ? "what divides the index" : "what divides a stride";
        }
    }
    if (out_limit)
        *out_limit = limit;
    return most < 0 ? 0 : (uint32_t)most;
}

uint32_t cg_view_vector(cg_func *c, const cg_view_op *v, uint32_t fast)
{
    const cg_view *tensor = v->view->view;
    uint32_t d = tensor_dim(v->view->type, fast), aligned = aligned_bits(c, v, fast, NULL);
    uint32_t extent = divisor_of_size(tensor->tensor->shape[d], tensor->extents[d]);
    return is_inbounds(v, fast) || aligned < extent ? aligned : extent;
}

/* Elements of half a byte. */
static bool is_half(const cg_view_op *v)
{
    return bc_kind_memory_bytes(bc_elem_kind(v->tile_type)) == 0;
}

cg_layout cg_view_layout(cg_func *c, const cg_view_op *v)
{
    cg_shape s = cg_shape_of(v->tile_type);
    uint32_t fast = s.rank - 1, bits = 0;
    if (cg_view_contiguous(v, &fast))
        bits = aligned_bits(c, v, fast, NULL);
    return cg_layout_memory(&s, fast, bits, is_half(v), c->warp_bits);
}

bool cg_view_fills_sectors(cg_func *c, const cg_view_op *v, const cg_layout *l)
{
    enum { SECTOR_BYTES = 32, LEAST_BYTES = 4 };
    cg_shape s = cg_shape_of(v->tile_type);
    uint32_t fast, bytes = cg_memory_bytes(bc_elem_kind(v->tile_type));
    uint8_t reg_bit[8];
    bool copies = false;
    for (uint32_t i = 0; i < CG_LANE_BITS; i++)
        copies = copies || !l->lane[i];
    for (uint32_t i = 0; i < l->warp_bits; i++)
        copies = copies || !l->warp[i];
    if (copies || is_half(v) || !cg_view_contiguous(v, &fast))
        return false;
    uint32_t vector = cg_layout_vector(l, s.shift[fast], aligned_bits(c, v, fast, NULL), reg_bit), run = vector;
    for (uint32_t i = 0; i < CG_LANE_BITS; i++) /* lanes that go on where the vector ends are in order */
        if (run < s.bits[fast] && l->lane[i] == (uint32_t)1 << (s.shift[fast] + run))
            run++;
    return bytes << vector >= LEAST_BYTES && bytes << run >= SECTOR_BYTES;
}

bool cg_view_rows_of_warps(cg_func *c, const cg_view_op *v, const cg_layout *l, cg_layout *out)
{
    enum { LEAST_BYTES = 64 }; /* of a row that a warp has */
    cg_shape s = cg_shape_of(v->tile_type);
    uint32_t fast, warps = 0, next = 0, run = 0, bytes = cg_memory_bytes(bc_elem_kind(v->tile_type));
    if (is_half(v) || !cg_view_contiguous(v, &fast))
        return false;
    for (uint32_t i = 0; i < l->warp_bits; i++) {
        if (!l->warp[i] || (l->warp[i] & (l->warp[i] - 1)) || (warps & l->warp[i]))
            return false;
        warps |= l->warp[i];
    }
    while (run < s.bits[fast] && !(warps >> (s.shift[fast] + run) & 1))
        run++;
    uint8_t order[CG_MAX_TILE_BITS];
    for (uint32_t part = 0; part < 2; part++) /* the contiguous dimension, the others */
        for (uint32_t b = 0; b < s.tile_bits; b++) {
            uint32_t bit = (uint32_t)1 << b;
            if (!(warps & bit) && part == !(cg_dim_mask(&s, fast) & bit))
                order[next++] = (uint8_t)b;
        }
    uint32_t vector = aligned_bits(c, v, fast, NULL);
    vector = vector < run ? vector : run;
    if (bytes << run < LEAST_BYTES || next < vector + CG_LANE_BITS)
        return false;
    *out = cg_layout_ordered(order, next, vector, 0);
    out->tile_bits = s.tile_bits;
    out->warp_bits = l->warp_bits;
    memcpy(out->warp, l->warp, sizeof out->warp);
    return true;
}

cg_layout cg_view_sparse_layout(const cg_view_op *v, const cg_layout *l)
{
    cg_shape s = cg_shape_of(v->tile_type);
    uint32_t others = (uint32_t)(((uint64_t)1 << s.tile_bits) - 1) & ~cg_dim_mask(&s, v->view->type->sparse_dim);
    cg_layout part = cg_layout_clear(l, others);
    part = cg_layout_squeeze(&part, others);
    return cg_layout_drop_copies(&part, NULL);
}

/* ---- addresses ---- */

enum { MAX_DIMS = 64 };

typedef struct cached {
    struct cached *next;
    uint32_t dim, delta;
    cg_val value;
} cached;

typedef struct walk {
    cg_func *c;
    const cg_view_op *op;
    const cg_view *tensor;
    const cg_layout *l;
    cg_shape shape;
    uint32_t bytes;          /* of an element; 0: half a byte */
    uint32_t fast;           /* the dimension that is contiguous in memory */
    cg_val base;             /* address of the element of register 0 */
    cg_val thread[MAX_DIMS]; /* the thread's coordinate in the tile, 32 bits */
    cg_val limit[MAX_DIMS];  /* coordinates below it are inside; a known UINT32_MAX: all are */
    bool mixed[MAX_DIMS];    /* registers and threads share bits of this dimension */
    uint32_t unit[MAX_DIMS]; /* op->in_turn: the least of what registers add to the coordinate; 0: not so */
    cg_val room[MAX_DIMS];   /* and how far it may go from the thread's */
    cached *steps, *insides, *sums;
} walk;

static cg_val *cache(walk *w, cached **list, uint32_t dim, uint32_t delta)
{
    for (cached *k = *list; k; k = k->next)
        if (k->dim == dim && k->delta == delta)
            return &k->value;
    cached *k = bc_new(&w->c->arena, cached, 1);
    if (!k) {
        static cg_val nowhere;
        cg_no_memory(w->c);
        nowhere = cg_const(CG_B64, 0);
        return &nowhere;
    }
    *k = (cached){.next = *list, .dim = dim, .delta = delta};
    *list = k;
    return &k->value;
}

static cg_val mul64(cg_func *c, cg_val a, cg_val b)
{
    if (a.known && b.known)
        return cg_const(CG_B64, a.bits * b.bits);
    if ((a.known && a.bits == 1) || (b.known && b.bits == 0))
        return b;
    if ((b.known && b.bits == 1) || (a.known && a.bits == 0))
        return a;
    cg_val r = cg_new(c, CG_B64);
    cg_ins(c, "mul.lo.s64 %v, %v, %v", r, a.id ? a : b, a.id ? b : a);
    return r;
}

/* Both of 32 or both of 64 bits. */
static cg_val add(cg_func *c, cg_val a, cg_val b)
{
    cg_class cls = (cg_class)a.cls;
    if (a.known && b.known)
        return cg_const(cls, cls == CG_B32 ? (uint32_t)(a.bits + b.bits) : a.bits + b.bits);
    if (a.known && a.bits == 0)
        return b;
    if (b.known && b.bits == 0)
        return a;
    cg_val r = cg_new(c, cls);
    cg_ins(c, "add.s%u %v, %v, %v", cg_class_bits(cls), r, a.id ? a : b, a.id ? b : a);
    return r;
}

static cg_val widen(cg_func *c, cg_val x)
{
    if (x.known)
        return cg_const(CG_B64, (uint32_t)x.bits);
    cg_val r = cg_new(c, CG_B64);
    cg_ins(c, "cvt.u64.u32 %v, %v", r, x);
    return r;
}

static bool is_sparse(const walk *w, uint32_t t)
{
    const bc_type *type = w->op->view->type;
    return type->kind == BC_GATHER_SCATTER_VIEW && type->sparse_dim == t;
}

/* First coordinate of the tile along tile dimension t: 64 bits. */
static cg_val tile_start(walk *w, uint32_t t)
{
    const ct_value *index = w->op->index[t];
    cg_val i = cg_to_b64(w->c, bc_elem_kind(index->type), false, cg_scalar(w->c, index));
    return mul64(w->c, i, cg_const(CG_B64, (uint64_t)step_of(w->op->view->type, t)));
}

/* The low half. */
static cg_val narrow(cg_func *c, cg_val x)
{
    if (x.known)
        return cg_const(CG_B32, (uint32_t)x.bits);
    cg_val r = cg_new(c, CG_B32);
    cg_ins(c, "cvt.u32.u64 %v, %v", r, x);
    return r;
}

/* The same in 32 bits, where start_range knows that it fits. */
static cg_val narrow_start(walk *w, uint32_t t)
{
    cg_func *c = w->c;
    const ct_value *index = w->op->index[t];
    bc_kind kind = bc_elem_kind(index->type);
    cg_val i = cg_scalar(c, index);
    i = kind == BC_I64 ? narrow(c, i) : cg_to_b32(c, kind, false, i);
    uint32_t step = (uint32_t)step_of(w->op->view->type, t);
    if (i.known)
        return cg_const(CG_B32, (uint32_t)i.bits * step);
    if (step == 1)
        return i;
    cg_val r = cg_new(c, CG_B32);
    cg_ins(c, "mul.lo.u32 %v, %v, %u", r, i, step);
    return r;
}

/* How many coordinates from start on are inside, cut to 32 bits; all of them where start is outside: none. */
static cg_val room(walk *w, cg_val extent, cg_val start)
{
    cg_func *c = w->c;
    if (extent.known && start.known) {
        uint64_t n = extent.bits > start.bits ? extent.bits - start.bits : 0;
        return cg_const(CG_B32, n < INT32_MAX ? n : INT32_MAX);
    }
    cg_val difference = cg_new(c, CG_B64), cut = cg_new(c, CG_B64), behind = cg_new(c, CG_PRED),
           some = cg_new(c, CG_B64);
    cg_val r = cg_new(c, CG_B32);
    cg_ins(c, "sub.s64 %v, %v, %v", difference, cg_reg(c, extent), start);
    cg_ins(c, "min.u64 %v, %v, 0x7fffffff", cut, difference);
    cg_ins(c, "setp.lt.u64 %v, %v, %v", behind, cg_reg(c, start), extent);
    cg_ins(c, "selp.b64 %v, %v, 0, %v", some, cut, behind);
    cg_ins(c, "cvt.u32.u64 %v, %v", r, some);
    return r;
}

/* The same of numbers of 32 bits. */
static cg_val narrow_room(walk *w, cg_val extent, cg_val start)
{
    cg_func *c = w->c;
    cg_val size = narrow(c, extent);
    if (size.known && start.known)
        return cg_const(CG_B32, size.bits > start.bits ? size.bits - start.bits : 0);
    if (start.known && start.bits == 0)
        return size;
    cg_val least = cg_new(c, CG_B32), r = cg_new(c, CG_B32);
    cg_ins(c, "max.u32 %v, %v, %v", least, size.id ? size : start, size.id ? start : size);
    cg_ins(c, "sub.u32 %v, %v, %v", r, least, start);
    return r;
}

static cg_val halved(cg_func *c, cg_val x)
{
    if (x.known)
        return cg_const(CG_B64, x.bits >> 1);
    cg_val r = cg_new(c, CG_B64);
    cg_ins(c, "shr.u64 %v, %v, 1", r, x);
    return r;
}

/* Bytes that `count` elements along tile dimension t take. Halves of bytes come in pairs: counts along the fast
   dimension and the strides of the others are even. */
static cg_val bytes_of(walk *w, uint32_t t, cg_val count)
{
    cg_val stride = w->tensor->stride[tensor_dim(w->op->view->type, t)];
    if (w->bytes)
        return mul64(w->c, count, mul64(w->c, stride, cg_const(CG_B64, w->bytes)));
    return t == w->fast ? halved(w->c, count) : mul64(w->c, count, halved(w->c, stride));
}

/* The difference of limit and thread, so that each register is compared by itself. */
static void begin_room(walk *w, uint32_t t)
{
    cg_func *c = w->c;
    w->room[t] = cg_const(CG_B32, 0);
    if (w->limit[t].known || w->thread[t].known)
        return;
    cg_val least = cg_new(c, CG_B32);
    w->room[t] = cg_new(c, CG_B32);
    cg_ins(c, "max.u32 %v, %v, %v", least, w->limit[t], w->thread[t]);
    cg_ins(c, "sub.u32 %v, %v, %v", w->room[t], least, w->thread[t]);
}

static void begin_dim(walk *w, uint32_t t)
{
    cg_func *c = w->c;
    uint32_t d = tensor_dim(w->op->view->type, t), mask = cg_dim_mask(&w->shape, t), threads = 0, regs = 0;
    w->thread[t] = cg_thread_index(c, w->l, mask, w->shape.shift[t]);
    for (uint32_t i = 0; i < CG_LANE_BITS; i++)
        threads |= w->l->lane[i];
    for (uint32_t i = 0; i < c->warp_bits; i++)
        threads |= w->l->warp[i];
    for (uint32_t i = 0; i < w->l->reg_bits; i++)
        regs |= w->l->reg[i];
    w->mixed[t] = (threads & regs & mask) != 0;
    regs = (regs & mask) >> w->shape.shift[t];
    w->unit[t] = w->op->in_turn && !w->mixed[t] && !is_sparse(w, t) ? regs & (~regs + 1) : 0;
    w->limit[t] = cg_const(CG_B32, UINT32_MAX);
    if (is_sparse(w, t))
        return;
    cg_range start, extent;
    bool leaves = may_leave(w->op, t);
    cg_val first;
    if (start_range(w->op, t, &start) && (!leaves || extent_range(w->op, t, &extent))) {
        first = narrow_start(w, t);
        if (leaves)
            w->limit[t] = narrow_room(w, w->tensor->extent[d], first);
        first = widen(c, w->mixed[t] ? first : add(c, first, w->thread[t]));
    } else {
        cg_val wide = tile_start(w, t);
        if (leaves)
            w->limit[t] = room(w, w->tensor->extent[d], wide);
        first = w->mixed[t] ? wide : add(c, wide, widen(c, w->thread[t]));
    }
    w->base = add(c, w->base, bytes_of(w, t, first));
    if (w->unit[t])
        begin_room(w, t);
}

/* Coordinate within the tile of a register along t: 32 bits. */
static cg_val coordinate(walk *w, uint32_t t, uint32_t delta)
{
    cg_func *c = w->c;
    if (w->thread[t].known)
        return cg_const(CG_B32, w->thread[t].bits ^ delta);
    if (!delta)
        return w->thread[t];
    cg_val r = cg_new(c, CG_B32);
    cg_ins(c, "xor.b32 %v, %v, %u", r, w->thread[t], delta);
    return r;
}

static cg_val *sparse_registers(const walk *w)
{
    cg_layout l = cg_view_sparse_layout(w->op, w->l);
    return cg_get(w->c, w->op->index[w->op->view->type->sparse_dim], &l);
}

/* The sparse index of a register, 64 bits: one of the index tile's registers. */
static cg_val sparse_index(walk *w, uint32_t t, uint32_t r)
{
    const ct_value *index = w->op->index[t];
    cg_val *regs = sparse_registers(w);
    /* Registers of the index tile: the register bits that move along t. */
    uint32_t kept = 0;
    for (uint32_t i = 0; i < w->l->reg_bits; i++)
        if (w->l->reg[i] & cg_dim_mask(&w->shape, t))
            kept |= (uint32_t)1 << i;
    return regs ? cg_to_b64(w->c, bc_elem_kind(index->type), false, regs[cg_gather_bits(r, kept)])
                : cg_const(CG_B64, 0);
}

/* Bytes that delta along t adds to the address. */
static cg_val step(walk *w, uint32_t t, uint32_t delta, uint32_t r)
{
    if (is_sparse(w, t))
        return bytes_of(w, t, sparse_index(w, t, r));
    return bytes_of(w, t, w->mixed[t] ? widen(w->c, coordinate(w, t, delta)) : cg_const(CG_B64, delta));
}

static cg_val inside_of(walk *w, uint32_t t, uint32_t delta, uint32_t r)
{
    cg_func *c = w->c;
    cg_val *known = cache(w, &w->insides, t, delta);
    if (known->id || known->known)
        return *known;
    cg_val p;
    if (is_sparse(w, t)) {
        cg_val extent = w->tensor->extent[tensor_dim(w->op->view->type, t)];
        p = cg_new(c, CG_PRED);
        cg_ins(c, "setp.lt.u64 %v, %v, %v", p, cg_reg(c, sparse_index(w, t, r)), extent);
    } else if (w->unit[t] && w->room[t].id) {
        p = cg_new(c, CG_PRED);
        cg_ins(c, "setp.gt.u32 %v, %v, %u", p, w->room[t], delta);
    } else {
        cg_val at = coordinate(w, t, delta);
        if (at.known && w->limit[t].known) {
            p = cg_const(CG_PRED, at.bits < w->limit[t].bits);
        } else if (w->limit[t].known && w->limit[t].bits >= (uint64_t)1 << w->shape.bits[t]) {
            p = cg_const(CG_PRED, 1);
        } else {
            p = cg_new(c, CG_PRED);
            cg_ins(c, "setp.lt.u32 %v, %v, %v", p, cg_reg(c, at), w->limit[t]);
        }
    }
    *known = p;
    return p;
}

static const cg_val *step_bytes(walk *w, uint32_t t, uint32_t key, uint32_t delta, uint32_t r)
{
    cg_val *bytes = cache(w, &w->steps, t, key);
    if (!bytes->id && !bytes->known)
        *bytes = step(w, t, delta, r);
    return bytes;
}

static cg_val sum_of(walk *w, cg_val address, uint32_t key, cg_val bytes)
{
    cg_val *sum = cache(w, &w->sums, address.id, key);
    if (!sum->id)
        *sum = add(w->c, address, bytes);
    return *sum;
}

/* The address delta along t behind another one: by as many steps of the unit, of which the earlier ones are there. */
static cg_val address_in_turn(walk *w, uint32_t t, cg_val address, uint32_t delta)
{
    uint32_t unit = w->unit[t];
    cg_val bytes = *step_bytes(w, t, unit, unit, 0);
    for (uint32_t at = unit; at <= delta; at += unit) {
        cg_val *sum = cache(w, &w->sums, address.id, t << 24 | at);
        if (!sum->id)
            *sum = add(w->c, at == unit ? address : *cache(w, &w->sums, address.id, t << 24 | (at - unit)), bytes);
        if (at == delta)
            return *sum;
    }
    return address;
}

static void fill_part(walk *w, uint32_t r, cg_tile_part *part)
{
    cg_func *c = w->c;
    uint32_t element = cg_layout_reg(w->l, r);
    part->address = w->base;
    part->offset = 0;
    part->inside = cg_const(CG_PRED, 1);
    for (uint32_t t = 0; t < w->shape.rank; t++) {
        uint32_t delta = (element & cg_dim_mask(&w->shape, t)) >> w->shape.shift[t];
        uint32_t key = is_sparse(w, t) ? element & cg_dim_mask(&w->shape, t) : delta;
        if (delta || is_sparse(w, t) || w->mixed[t]) {
            const cg_val *bytes = step_bytes(w, t, w->unit[t] ? w->unit[t] : key, w->unit[t] ? w->unit[t] : delta, r);
            if (!bytes->known)
                part->address = w->unit[t] ? address_in_turn(w, t, part->address, delta)
                                           : sum_of(w, part->address, bytes->id, *bytes);
            else
                part->offset += (int64_t)(w->unit[t] ? bytes->bits * (delta / w->unit[t]) : bytes->bits);
        }
        part->inside = cg_and(c, part->inside, inside_of(w, t, key, r));
    }
    if (part->offset > INT32_MAX || part->offset < INT32_MIN) { /* an instruction's offset has 32 bits */
        part->address = add(c, part->address, cg_const(CG_B64, (uint64_t)part->offset));
        part->offset = 0;
    }
    part->address = cg_reg(c, part->address);
}

/* Every vector of 2^bits elements. */
static void all_parts(walk *w, uint32_t bits, void *user, cg_part_fn *found)
{
    cg_func *c = w->c;
    const cg_layout *l = w->l;
    uint32_t mask = 0, copies = 0;
    uint8_t reg_bit[8];
    cg_layout_vector(l, w->shape.shift[w->fast], bits, reg_bit);
    w->steps = w->insides = w->sums = NULL;
    for (uint32_t k = 0; k < bits; k++)
        mask |= (uint32_t)1 << reg_bit[k];
    for (uint32_t i = 0; i < l->reg_bits; i++)
        copies |= l->reg[i] ? 0 : (uint32_t)1 << i;
    cg_val owner = w->op->owned ? cg_is_owner(c, l) : cg_const(CG_PRED, 1);
    for (uint32_t r = 0; r < cg_layout_regs(l) && !c->failed; r++) {
        if ((r & mask) || (w->op->owned && (r & copies)))
            continue;
        cg_tile_part part = {.count = (uint32_t)1 << bits};
        for (uint32_t i = 0; i < part.count; i++)
            part.reg[i] = r | cg_layout_member(reg_bit, bits, i);
        fill_part(w, r, &part);
        part.inside = cg_and(c, part.inside, owner);
        found(c, user, &part);
    }
}

/* Does the whole tile lie inside the tensor, sparse indices apart? The same in all threads. */
static cg_val is_whole(walk *w)
{
    cg_func *c = w->c;
    cg_val whole = cg_const(CG_PRED, 1);
    for (uint32_t t = 0; t < w->shape.rank; t++) {
        uint32_t size = (uint32_t)1 << w->shape.bits[t];
        cg_val fits = cg_const(CG_PRED, w->limit[t].bits >= size);
        if (!w->limit[t].known) {
            fits = cg_new(c, CG_PRED);
            cg_ins(c, "setp.ge.u32 %v, %v, %u", fits, w->limit[t], size);
        }
        whole = cg_and(c, whole, fits);
    }
    return whole;
}

/* What a load has found in one of two branches goes to the registers that both write. */
static void settle(cg_func *c, const cg_layout *l, cg_val *regs, cg_val *both)
{
    for (uint32_t r = 0; regs && r < cg_layout_regs(l); r++) {
        if (!both[r].id)
            both[r] = cg_new(c, (cg_class)regs[r].cls);
        if (regs[r].cls == CG_PRED)
            cg_ins(c, "mov.pred %v, %v", both[r], cg_reg(c, regs[r]));
        else
            cg_ins(c, "mov.b%u %v, %v", cg_class_bits((cg_class)regs[r].cls), both[r], regs[r]);
    }
}

/* A tile inside the tensor by long vectors, one at its end by those that never straddle it. */
static void two_ways(walk *w, cg_val whole, uint32_t long_bits, uint32_t bits, cg_val *regs, void *user,
                     cg_part_fn *found)
{
    cg_func *c = w->c;
    uint32_t edge = cg_label(c), end = cg_label(c);
    cg_val *both = cg_vals(c, cg_layout_regs(w->l)), limit[MAX_DIMS];
    if (!both)
        return;
    memcpy(limit, w->limit, sizeof limit);
    cg_ins(c, "@!%v bra %l", whole, edge);
    for (uint32_t t = 0; t < w->shape.rank; t++)
        w->limit[t] = cg_const(CG_B32, UINT32_MAX);
    all_parts(w, long_bits, user, found);
    settle(c, w->l, regs, both);
    cg_ins(c, "bra.uni %l", end);
    cg_place_label(c, edge);
    memcpy(w->limit, limit, sizeof limit);
    all_parts(w, bits, user, found);
    settle(c, w->l, regs, both);
    cg_place_label(c, end);
    for (uint32_t r = 0; regs && r < cg_layout_regs(w->l); r++)
        regs[r] = both[r];
}

/* How long accesses are, as bits of elements along dimension `fast`. */
typedef struct lengths {
    uint32_t fast;
    uint32_t inside, edge; /* where the tile is known to lie inside the tensor; where it may not */
    const char *limit;     /* what keeps `inside` from the widest access; NULL: nothing */
} lengths;

static lengths lengths_of(cg_func *c, const cg_view_op *v, const cg_layout *l, uint32_t most_bits)
{
    lengths n = {.limit = most_bits ? "no dimension is known to be contiguous" : "elements are reached one by one"};
    uint8_t reg_bit[8];
    if (is_half(v) && !most_bits)
        most_bits = 1;
    if (!most_bits || !cg_view_contiguous(v, &n.fast))
        return n;
    uint32_t aligned = aligned_bits(c, v, n.fast, &n.limit), edge = cg_view_vector(c, v, n.fast);
    cg_shape s = cg_shape_of(v->tile_type);
    n.inside = cg_layout_vector(l, s.shift[n.fast], aligned < most_bits ? aligned : most_bits, reg_bit);
    n.edge = edge < n.inside ? edge : n.inside;
    if (n.inside < aligned)
        n.limit = "what a thread has of the tile";
    return n;
}

void cg_view_remark(cg_func *c, const ct_op *op, const cg_view_op *v, const cg_layout *l, uint32_t most_bits)
{
    if (!cg_remarks_wanted(c))
        return;
    lengths n = lengths_of(c, v, l, most_bits);
    uint32_t half = is_half(v), bytes = half ? 1 : cg_memory_bytes(bc_elem_kind(v->tile_type));
    bc_text type, checks;
    bc_text_init(&type, &c->m->arena.allocator);
    bc_text_init(&checks, &c->m->arena.allocator);
    bc_print_type(&type, v->tile_type, false);
    uint32_t start_bits = 32;
    for (uint32_t t = 0; t < v->index_count; t++) {
        cg_range start;
        if (may_leave(v, t))
            bc_text_printf(&checks, "%s%u", checks.len ? ", " : "of dim ", t);
        if (!start_range(v, t, &start))
            start_bits = 64;
    }
    cg_layout own = cg_layout_drop_copies(l, NULL);
    char edge[64] = "", limit[96] = "";
    if (n.edge < n.inside)
        snprintf(edge, sizeof edge, ", x {EdgeBytes=%u} at the tensor's end", bytes << n.edge >> half);
    if (n.limit)
        snprintf(limit, sizeof limit, "; limited by {Limit=%s}", n.limit);
    cg_remark(c, op, CG_REMARK_VectorAccess, bytes << n.inside >> half >= 16 ? TV_REMARK_PASSED : TV_REMARK_MISSED,
              "{Type=%s}: {Count=%u} x {Bytes=%u} bytes a thread%s; start in {StartBits=%u} bits; bounds checked: "
              "{Checks=%s}%s",
              bc_text_words(&type), cg_layout_regs(&own) >> n.inside, bytes << n.inside >> half, edge, start_bits,
              checks.len || checks.failed ? bc_text_words(&checks) : "none", limit);
    bc_text_release(&type);
    bc_text_release(&checks);
}

void cg_view_parts(cg_func *c, const cg_view_op *v, const cg_layout *l, uint32_t most_bits, cg_val *regs, void *user,
                   cg_part_fn *found)
{
    walk w = {.c = c, .op = v, .tensor = v->view->view, .l = l, .shape = cg_shape_of(v->tile_type)};
    lengths n = lengths_of(c, v, l, most_bits);
    w.fast = n.fast;
    w.bytes = is_half(v) ? 0 : cg_memory_bytes(bc_elem_kind(v->tile_type));
    if (!w.bytes && !n.edge) {
        cg_unsupported(
            c, c->op,
            "elements of half a byte are reached in pairs: one dimension must have the static stride 1, an even "
            "extent and an even number of elements of the tile, and all other strides must be even");
        return;
    }
    w.base = w.tensor->address;
    if (v->view->type->kind == BC_GATHER_SCATTER_VIEW)
        sparse_registers(&w); /* in front of the branches */
    for (uint32_t t = 0; t < w.shape.rank && t < MAX_DIMS; t++)
        begin_dim(&w, t);
    cg_val whole = n.inside > n.edge ? is_whole(&w) : cg_const(CG_PRED, 0);
    if (whole.known)
        all_parts(&w, whole.bits ? n.inside : n.edge, user, found);
    else
        two_ways(&w, whole, n.inside, n.edge, regs, user, found);
}
