/* Reaching tiles through views. The address of an element splits into a part that is the same in all threads, the
   thread's own part, and what a register adds: constants become offsets of the instruction. Bounds are compared in 32
   bits against how much of the tensor lies behind the tile's start. The start is computed in 32 bits where its range
   allows, else in 64. Source: memory reference, section 2. */
#include "codegen/access/view_vectors.h"

#include <string.h>

#include "codegen/ptx/access.h"
#include "codegen/ptx/ptx.h"
#include "codegen/values/values.h"

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
    uint32_t bytes;              /* of an element; 0: half a byte */
    uint32_t fast;               /* the dimension that is contiguous in memory */
    cg_val base;                 /* address of the element of register 0 */
    cg_val thread[CG_VIEW_DIMS]; /* the thread's coordinate in the tile, 32 bits */
    cg_bound bound[CG_VIEW_DIMS];
    bool mixed[CG_VIEW_DIMS];    /* registers and threads share bits of this dimension */
    uint32_t unit[CG_VIEW_DIMS]; /* op->in_turn: the least of what registers add to the coordinate; 0: not so */
    uint32_t moving;             /* bits of the tile's index in which a thread's vectors differ */
    cg_val common;               /* what all vectors' `inside` has in common */
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
    cg_val i = cg_to_b64(w->c, bc_elem_kind(index->type), w->op->starts_before, cg_scalar(w->c, index));
    return mul64(w->c, i, cg_const(CG_B64, (uint64_t)cg_view_step(w->op->view->type, t)));
}

/* The index, but at most the number of tiles: 32 bits. Why it is right: a tile with that number or a higher one lies
   behind the tensor, so that no element of it is accessed. The tensor has fewer than 2^31 elements along t. */
static cg_val cut_index(walk *w, uint32_t t)
{
    cg_func *c = w->c;
    const ct_value *index = w->op->index[t];
    bc_kind kind = bc_elem_kind(index->type);
    uint32_t step = (uint32_t)cg_view_step(w->op->view->type, t);
    cg_val size = cg_low_half(c, w->tensor->extent[cg_view_dim(w->op->view->type, t)]), tiles;
    if (size.known) {
        tiles = cg_const(CG_B32, (size.bits + step - 1) / step);
    } else {
        cg_val end = cg_new(c, CG_B32);
        tiles = cg_new(c, CG_B32);
        cg_ins(c, "add.u32 %v, %v, %u", end, size, step - 1);
        cg_ins(c, "shr.u32 %v, %v, %u", tiles, end, cg_log2_up(step));
    }
    bool wide = kind == BC_I64;
    cg_val i = cg_scalar(c, index), least = cg_new(c, wide ? CG_B64 : CG_B32);
    if (wide)
        cg_ins(c, "min.u64 %v, %v, %v", least, i, widen(c, tiles));
    else
        cg_ins(c, "min.u32 %v, %v, %v", least, cg_to_b32(c, kind, false, i), tiles);
    return wide ? cg_low_half(c, least) : least;
}

/* The same in 32 bits, where the index is cut, or its range says that it fits. */
static cg_val narrow_start(walk *w, uint32_t t, bool cuts)
{
    cg_func *c = w->c;
    const ct_value *index = w->op->index[t];
    bc_kind kind = bc_elem_kind(index->type);
    cg_val i = cuts ? cut_index(w, t) : cg_scalar(c, index);
    if (!cuts)
        i = kind == BC_I64 ? cg_low_half(c, i) : cg_to_b32(c, kind, false, i);
    uint32_t step = (uint32_t)cg_view_step(w->op->view->type, t);
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
    cg_ins(c, "sub.s64 %v, %r, %v", difference, extent, start);
    cg_ins(c, "min.u64 %v, %v, 0x7fffffff", cut, difference);
    cg_ins(c, "setp.lt.u64 %v, %r, %v", behind, start, extent);
    cg_ins(c, "selp.b64 %v, %v, 0, %v", some, cut, behind);
    cg_ins(c, "cvt.u32.u64 %v, %v", r, some);
    return r;
}

/* The same of numbers of 32 bits. */
static cg_val narrow_room(walk *w, cg_val extent, cg_val start)
{
    cg_func *c = w->c;
    cg_val size = cg_low_half(c, extent);
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
    cg_val stride = w->tensor->stride[cg_view_dim(w->op->view->type, t)];
    if (w->bytes)
        return mul64(w->c, count, mul64(w->c, stride, cg_const(CG_B64, w->bytes)));
    return t == w->fast ? halved(w->c, count) : mul64(w->c, count, halved(w->c, stride));
}

/* The difference of limit and thread, so that each register is compared by itself. */
static void begin_room(walk *w, uint32_t t)
{
    cg_func *c = w->c;
    w->bound[t].room = cg_const(CG_B32, 0);
    if (w->bound[t].limit.known || w->thread[t].known)
        return;
    cg_val least = cg_new(c, CG_B32);
    w->bound[t].room = cg_new(c, CG_B32);
    cg_ins(c, "max.u32 %v, %v, %v", least, w->bound[t].limit, w->thread[t]);
    cg_ins(c, "sub.u32 %v, %v, %v", w->bound[t].room, least, w->thread[t]);
}

/* The base, and `count` elements of 32 bits along t behind it. Of a known stride by one instruction: of a product in 64
   bits ptxas adds the upper half by itself, although it is zero. */
static cg_val base_behind(walk *w, uint32_t t, cg_val count)
{
    cg_func *c = w->c;
    cg_val stride = w->tensor->stride[cg_view_dim(w->op->view->type, t)];
    uint64_t bytes = stride.known && stride.bits <= UINT32_MAX ? stride.bits * w->bytes : 0;
    if (c->groups || count.known || !bytes || bytes > UINT32_MAX)
        return add(c, w->base, bytes_of(w, t, widen(c, count)));
    cg_val r = cg_new(c, CG_B64);
    cg_ins(c, "mad.wide.u32 %v, %v, %u, %v", r, count, (uint32_t)bytes, w->base);
    return r;
}

/* Has a thread one vector at most along t, and no branches for tiles at the tensor's end? Then one comparison does
   without the difference of end and start. Producers keep theirs, whose registers are counted. */
static bool is_single(const walk *w, const cg_view_lengths *n, uint32_t t)
{
    uint32_t beside = (cg_layout_reg_images(w->l) & cg_dim_mask(&w->shape, t)) >> w->shape.shift[t];
    if (t == w->fast)
        beside >>= n->edge;
    return !w->c->groups && !w->mixed[t] && !beside && n->inside == n->edge;
}

/* The tile's end along t, and its start in the address, unless a cursor has that. */
static void begin_bound(walk *w, const cg_view_lengths *n, uint32_t t)
{
    cg_func *c = w->c;
    cg_bound *bound = &w->bound[t];
    const cg_val extent = w->tensor->extent[cg_view_dim(w->op->view->type, t)];
    cg_range start, size;
    bool leaves = cg_view_may_leave(w->op, t), cuts = cg_view_cuts_index(w->op, t);
    if (cuts || (cg_view_start(w->op, t, &start) && (!leaves || cg_view_extent(w->op, t, &size)))) {
        cg_val first = narrow_start(w, t, cuts);
        bool single = leaves && is_single(w, n, t), asked = single || !w->op->cursor;
        cg_val at = asked && !w->mixed[t] ? add(c, first, w->thread[t]) : first;
        if (single)
            *bound = (cg_bound){.limit = cg_const(CG_B32, 0), .at = at, .size = cg_low_half(c, extent)};
        else if (leaves)
            bound->limit = narrow_room(w, extent, first);
        if (!w->op->cursor)
            w->base = base_behind(w, t, at);
    } else {
        cg_val wide = tile_start(w, t);
        if (leaves)
            bound->limit = room(w, extent, wide);
        if (!w->op->cursor)
            w->base = add(c, w->base, bytes_of(w, t, w->mixed[t] ? wide : add(c, wide, widen(c, w->thread[t]))));
    }
    if (w->unit[t])
        begin_room(w, t);
}

static void begin_dim(walk *w, const cg_view_lengths *n, uint32_t t)
{
    uint32_t mask = cg_dim_mask(&w->shape, t), threads = cg_layout_thread_images(w->l),
             regs = cg_layout_reg_images(w->l);
    w->thread[t] = cg_thread_index(w->c, w->l, mask, w->shape.shift[t]);
    w->mixed[t] = (threads & regs & mask) != 0;
    regs = (regs & mask) >> w->shape.shift[t];
    w->unit[t] = w->op->in_turn && !w->mixed[t] && !is_sparse(w, t) ? regs & (~regs + 1) : 0;
    w->bound[t].limit = cg_const(CG_B32, UINT32_MAX);
    if (w->op->cursor && t != w->op->cursor->dim)
        w->bound[t] = w->op->cursor->bound[t];
    else if (!is_sparse(w, t))
        begin_bound(w, n, t);
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

/* Of 32 bits. */
static cg_val below(cg_func *c, cg_val x, cg_val end)
{
    if (x.known && end.known)
        return cg_const(CG_PRED, x.bits < end.bits);
    cg_val p = cg_new(c, CG_PRED);
    cg_ins(c, "setp.lt.u32 %v, %r, %v", p, x, end);
    return p;
}

static cg_val inside_of(walk *w, uint32_t t, uint32_t delta, uint32_t r)
{
    cg_func *c = w->c;
    cg_val *known = cache(w, &w->insides, t, delta);
    if (known->id || known->known)
        return *known;
    cg_val p;
    if (is_sparse(w, t)) {
        cg_val extent = w->tensor->extent[cg_view_dim(w->op->view->type, t)];
        p = cg_new(c, CG_PRED);
        cg_ins(c, "setp.lt.u64 %v, %r, %v", p, sparse_index(w, t, r), extent);
    } else if (w->bound[t].at.id || w->bound[t].at.known) {
        p = below(c, w->bound[t].at, w->bound[t].size);
    } else if (w->unit[t] && w->bound[t].room.id) {
        p = cg_new(c, CG_PRED);
        cg_ins(c, "setp.gt.u32 %v, %v, %u", p, w->bound[t].room, delta);
    } else {
        cg_val at = coordinate(w, t, delta);
        bool all = w->bound[t].limit.known && w->bound[t].limit.bits >= (uint64_t)1 << w->shape.bits[t];
        p = all ? cg_const(CG_PRED, 1) : below(c, at, w->bound[t].limit);
    }
    *known = p;
    return p;
}

static const cg_val *step_bytes(walk *w, uint32_t t, uint32_t key, uint32_t delta, uint32_t r)
{
    if (w->op->cursor && w->unit[t])
        return &w->op->cursor->unit[t];
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

/* The address delta along t behind another one: a few steps of the unit, or a multiple that is known once, behind that
   of the register before, so that registers hold no more than one address. */
static cg_val address_in_turn(walk *w, uint32_t t, cg_val address, uint32_t delta)
{
    enum { FEW = 2 };
    cg_val *sum = cache(w, &w->sums, address.id, t << 24 | delta);
    if (!delta || sum->id)
        return delta ? *sum : address;
    const uint32_t unit = w->unit[t], mask = cg_dim_mask(&w->shape, t),
                   all = (cg_layout_reg_images(w->l) & mask) >> w->shape.shift[t], before = (delta - 1) & all,
                   steps = (delta - before) / unit, times = steps > FEW ? 1 : steps;
    cg_val one = *step_bytes(w, t, unit, unit, 0), *bytes = cache(w, &w->steps, t, steps / times * unit);
    if (!bytes->id)
        *bytes = mul64(w->c, one, cg_const(CG_B64, steps / times));
    *sum = address_in_turn(w, t, address, before);
    for (uint32_t i = 0; i < times; i++)
        *sum = add(w->c, *sum, *bytes);
    return *sum;
}

/* What selects a register's condition along t, and its step. */
static uint32_t key_of(const walk *w, uint32_t t, uint32_t r)
{
    uint32_t along = cg_layout_reg(w->l, r) & cg_dim_mask(&w->shape, t);
    return is_sparse(w, t) ? along : along >> w->shape.shift[t];
}

/* Is the condition along t part of what all vectors have in common? */
static bool is_common(const walk *w, uint32_t t)
{
    return w->op->when && !(w->moving & cg_dim_mask(&w->shape, t));
}

/* With a condition from elsewhere, those of the bounds that do not differ between a thread's vectors are combined with
   it once, so that each vector needs one comparison. */
static void begin_common(walk *w)
{
    w->common = w->op->when ? *w->op->when : cg_const(CG_PRED, 1);
    for (uint32_t t = 0; t < w->shape.rank; t++)
        if (is_common(w, t))
            w->common = cg_and(w->c, w->common, inside_of(w, t, key_of(w, t, 0), 0));
}

/* Does a register lie behind the end of the tensor along t in every thread? What it adds to the thread's coordinate has
   bits of its own. */
static bool is_outside(const walk *w, uint32_t t, uint32_t delta)
{
    bool has_limit = !is_sparse(w, t) && !w->bound[t].at.id && !w->bound[t].at.known;
    return has_limit && !w->mixed[t] && w->bound[t].limit.known && delta >= w->bound[t].limit.bits;
}

static void fill_vector(walk *w, uint32_t r, cg_tile_vector *vector)
{
    cg_func *c = w->c;
    uint32_t element = cg_layout_reg(w->l, r);
    vector->address = w->base;
    vector->offset = 0;
    vector->inside = w->common;
    vector->outside = false;
    for (uint32_t t = 0; t < w->shape.rank; t++) {
        uint32_t delta = (element & cg_dim_mask(&w->shape, t)) >> w->shape.shift[t], key = key_of(w, t, r);
        if (delta || is_sparse(w, t) || w->mixed[t]) {
            const cg_val *bytes = step_bytes(w, t, w->unit[t] ? w->unit[t] : key, w->unit[t] ? w->unit[t] : delta, r);
            if (!bytes->known)
                vector->address = w->unit[t] ? address_in_turn(w, t, vector->address, delta)
                                             : sum_of(w, vector->address, bytes->id, *bytes);
            else
                vector->offset += (int64_t)(w->unit[t] ? bytes->bits * (delta / w->unit[t]) : bytes->bits);
        }
        if (!is_common(w, t))
            vector->inside = cg_and(c, vector->inside, inside_of(w, t, key, r));
        vector->outside = vector->outside || is_outside(w, t, delta);
    }
    if (vector->offset > INT32_MAX || vector->offset < INT32_MIN) { /* an instruction's offset has 32 bits */
        vector->address = add(c, vector->address, cg_const(CG_B64, (uint64_t)vector->offset));
        vector->offset = 0;
    }
    vector->address = cg_reg(c, vector->address);
}

/* Every vector of 2^bits elements. */
static void all_parts(walk *w, uint32_t bits, void *user, cg_vector_fn *found)
{
    cg_func *c = w->c;
    const cg_layout *l = w->l;
    uint32_t mask = 0, replicas = cg_layout_reg_replicas(l);
    uint8_t reg_bit[8];
    cg_layout_vector(l, w->shape.shift[w->fast], bits, reg_bit);
    w->steps = w->insides = w->sums = NULL;
    for (uint32_t k = 0; k < bits; k++)
        mask |= (uint32_t)1 << reg_bit[k];
    w->moving = 0;
    for (uint32_t i = 0; i < l->reg_bits; i++)
        w->moving |= mask >> i & 1 ? 0 : l->reg[i];
    cg_val owner = w->op->owned ? cg_is_owner(c, l) : cg_const(CG_PRED, 1);
    begin_common(w);
    for (uint32_t r = 0; r < cg_layout_regs(l) && !c->failed; r++) {
        if ((r & mask) || (w->op->owned && (r & replicas)))
            continue;
        cg_tile_vector vector = {.count = (uint32_t)1 << bits};
        for (uint32_t i = 0; i < vector.count; i++)
            vector.reg[i] = r | cg_layout_member(reg_bit, bits, i);
        fill_vector(w, r, &vector);
        vector.inside = cg_and(c, vector.inside, owner);
        found(c, user, &vector);
    }
}

/* Does the whole tile lie inside the tensor, sparse indices apart? The same in all threads. */
static cg_val is_whole(walk *w)
{
    cg_func *c = w->c;
    cg_val whole = cg_const(CG_PRED, 1);
    for (uint32_t t = 0; t < w->shape.rank; t++) {
        uint32_t size = (uint32_t)1 << w->shape.bits[t];
        cg_val fits = cg_const(CG_PRED, w->bound[t].limit.bits >= size);
        if (!w->bound[t].limit.known) {
            fits = cg_new(c, CG_PRED);
            cg_ins(c, "setp.ge.u32 %v, %v, %u", fits, w->bound[t].limit, size);
        }
        whole = cg_and(c, whole, fits);
    }
    return whole;
}

/* A tile inside the tensor by long vectors, one at its end by those that never straddle it. */
static void two_ways(walk *w, cg_val whole, uint32_t long_bits, uint32_t bits, cg_val *regs, void *user,
                     cg_vector_fn *found)
{
    cg_func *c = w->c;
    uint32_t edge = cg_label(c), end = cg_label(c);
    const uint32_t in_word = regs ? w->op->tile->in_word : 0, reg_bits = w->l->reg_bits;
    const cg_settled settled = {.kind = bc_elem_kind(w->op->tile_type),
                                .count = regs ? cg_layout_regs(w->l) : 0,
                                .in_word = in_word < reg_bits ? in_word : reg_bits,
                                .both = cg_vals(c, cg_layout_regs(w->l))};
    cg_bound bound[CG_VIEW_DIMS];
    if (!settled.both)
        return;
    memcpy(bound, w->bound, sizeof bound);
    cg_ins(c, "@!%v bra %l", whole, edge);
    for (uint32_t t = 0; t < w->shape.rank; t++)
        w->bound[t].limit = cg_const(CG_B32, UINT32_MAX);
    all_parts(w, long_bits, user, found);
    cg_settle(c, &settled, regs);
    cg_ins(c, "bra.uni %l", end);
    cg_place_label(c, edge);
    memcpy(w->bound, bound, sizeof bound);
    all_parts(w, bits, user, found);
    cg_settle(c, &settled, regs);
    cg_place_label(c, end);
    cg_take_settled(c, &settled, regs);
}

/* False: elements of half a byte cannot be reached, which has been reported. */
static bool begin(cg_func *c, const cg_view_op *v, const cg_layout *l, const cg_view_lengths *n, walk *w)
{
    *w = (walk){.c = c, .op = v, .tensor = v->view->view, .l = l, .shape = cg_shape_of(v->tile_type)};
    w->fast = n->fast;
    w->bytes = cg_view_is_half(v) ? 0 : cg_memory_bytes(bc_elem_kind(v->tile_type));
    if (!w->bytes && !n->edge) {
        cg_unsupported(c, cg_lowered(c),
                       "4-bit elements are accessed in pairs: one dimension needs the static stride 1, an even extent "
                       "and an even number of elements in the tile, and all other strides must be even");
        return false;
    }
    w->base = v->cursor ? v->cursor->address : w->tensor->address;
    if (v->view->type->kind == BC_GATHER_SCATTER_VIEW)
        sparse_registers(w); /* in front of the branches */
    for (uint32_t t = 0; t < w->shape.rank && t < CG_VIEW_DIMS; t++)
        begin_dim(w, n, t);
    return true;
}

void cg_view_vectors(cg_func *c, const cg_view_op *v, const cg_layout *l, uint32_t most_bits, cg_val *regs, void *user,
                     cg_vector_fn *found)
{
    cg_view_lengths n = cg_view_lengths_of(c, v, l, most_bits);
    walk w;
    if (!begin(c, v, l, &n, &w))
        return;
    cg_val whole = n.inside > n.edge ? is_whole(&w) : cg_const(CG_PRED, 0);
    if (whole.known)
        all_parts(&w, whole.bits ? n.inside : n.edge, user, found);
    else
        two_ways(&w, whole, n.inside, n.edge, regs, user, found);
}

/* Bytes, the same in all threads, in a form that ptxas does not look into: it would make wide multiplications of sums
   of what it knows to be a product, and those are slow beside asynchronous products (measured on an H200: 1.1 times at
   128x256x64). */
static cg_val plain_bytes(cg_func *c, cg_val bytes)
{
    if (bytes.known)
        return bytes;
    cg_val low = cg_new(c, CG_B32), half[2] = {low, cg_new(c, CG_B32)}, all = cg_new(c, CG_B64);
    cg_ins(c, "mov.b64 {%v, %v}, %v", half[0], half[1], bytes);
    for (int i = 0; i < 2; i++)
        cg_ins(c, "shfl.sync.idx.b32 %v, %v, 0, 31, 0xffffffff", half[i], half[i]);
    cg_ins(c, "mov.b64 %v, {%v, %v}", all, half[0], half[1]);
    return all;
}

void cg_view_cursor(cg_func *c, const cg_view_op *v, const cg_layout *l, uint32_t most_bits, uint32_t t, cg_val count,
                    cg_cursor *out)
{
    cg_view_lengths n = cg_view_lengths_of(c, v, l, most_bits);
    walk w;
    if (!begin(c, v, l, &n, &w))
        return;
    cg_val coordinates = mul64(c, count, cg_const(CG_B64, (uint64_t)cg_view_step(v->view->type, t)));
    out->advance = plain_bytes(c, bytes_of(&w, t, coordinates));
    for (uint32_t i = 0; i < w.shape.rank; i++)
        out->unit[i] = w.unit[i] ? plain_bytes(c, step(&w, i, w.unit[i], 0)) : cg_const(CG_B64, 0);
    out->dim = t;
    memcpy(out->bound, w.bound, sizeof out->bound);
    out->address = cg_new(c, CG_B64);
    cg_ins(c, "mov.b64 %v, %v", out->address, w.base);
}

void cg_cursor_advance(cg_func *c, const cg_cursor *cursor)
{
    cg_ins(c, "add.s64 %v, %v, %v", cursor->address, cursor->address, cursor->advance);
}
