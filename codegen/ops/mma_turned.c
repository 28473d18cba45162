/* Products by wgmma whose right operand its descriptors do not support: 8-bit elements and tf32 with N contiguous
   instead of K, and f32 that must be rounded to tf32, which wgmma would truncate. They are computed transposed, C^T =
   B^T A^T: the A of the instruction, B^T, comes from registers, and its B is the tile of A, which a descriptor can
   address. A warpgroup multiplies strips of 64 columns of C.

   The rows of the instruction correspond to columns of C, in an order in which a thread has neighbours: its rows l /
   4 and l / 4 + 8 are columns 2 (l / 4) and the next one. For tf32, two strips are interleaved, so that a thread has
   four neighbours. Fragments use two buffers, each for one piece of the steps along K: one is loaded while the other
   is multiplied. The first piece of a stage is loaded while the last piece of the previous stage is multiplied.
   Sources: PTX ISA, "Asynchronous warpgroup level matrix instructions", fragment figures. */
#include <string.h>

#include "codegen/analysis/turned.h"
#include "codegen/kernel/remarks.h"
#include "codegen/ops/mma.h"
#include "codegen/ops/slots.h"
#include "codegen/ptx/ptx.h"
#include "codegen/values/memory.h"
#include "codegen/values/values.h"

enum { FRAGMENT = 4 };

/* ---- layouts ---- */

/* The positions at which lanes read B, then registers: the steps along K, then strips.

       words     k and, in the lowest register bit, k + 4
       mixed     the rows of the matrices of an ldmatrix.x4.trans, which moves pairs of bytes: two matrices alternate in
                 the k of four bytes, the other two are 16 further; the rows 4 to 7 of each have the k that the other
                 has in rows 0 to 3, so that all eight rows are in different banks under the swizzle of TMA
       seconds   the rows of an ldmatrix.x4 of 4-byte elements: columns 2 i, then 2 i + 1, then both at k + 4 */
static cg_layout fragment_lanes(const cg_func *c, const cg_turned *t)
{
    static const uint8_t rows[CG_LANE_BITS] = {1 << 0, 1 << 2, 1 << 3 | 1 << 1, 1 << 1, 1 << 4};
    const cg_product *p = t->p;
    cg_layout l = {.tile_bits = (uint8_t)(p->k + p->n), .warp_bits = (uint8_t)c->warp_bits};
    uint32_t one = 1, regs = 0;
    for (uint32_t i = t->feed == CG_FEED_WORDS ? 2 : p->atom.k_bits; i < p->k; i++)
        l.reg[regs++] = one << (p->n + i);
    cg_turned_columns(t, &regs, &l);
    if (t->feed == CG_FEED_SECONDS) {
        for (uint32_t i = 0; i < 3; i++)
            l.lane[i] = l.lane[i + 2];
        l.lane[3] = one;
        l.lane[4] = one << (p->n + 2);
    } else if (t->feed == CG_FEED_WORDS) {
        l.lane[0] = one << p->n;
        l.lane[1] = one << (p->n + 1);
    }
    for (uint32_t i = 0; t->feed == CG_FEED_MIXED && i < CG_LANE_BITS; i++)
        l.lane[i] = (uint32_t)rows[i] << p->n;
    l.reg_bits = (uint8_t)regs;
    return l;
}

/* ---- fragments ---- */

/* The right operand B in a stage. */
typedef struct right {
    const cg_turned *t;
    cg_layout places;
    cg_val base;
    bool rounds;      /* f32, to be rounded to tf32 */
    cg_val low, high; /* for mixed pairs: selectors of the bytes of two words for one column, and for the next one */
} right;

static const cg_ring_load *load_of(const ct_value *operand)
{
    return cg_source_of(operand)->op->detail;
}

/* Finds the selectors. In lanes with rows 0 to 3, the first word has the lower k; in other lanes, the second word
   has it. */
static void find_bytes(cg_func *c, right *b)
{
    cg_val part = cg_new(c, CG_B32), later = cg_new(c, CG_PRED);
    b->low = cg_new(c, CG_B32);
    b->high = cg_new(c, CG_B32);
    cg_ins_first(c, "and.b32 %v, %v, 2", part, cg_tid(c));
    cg_ins_first(c, "setp.ne.u32 %v, %v, 0", later, part);
    cg_ins_first(c, "selp.b32 %v, 0x2064, 0x6420, %v", b->low, later);
    cg_ins_first(c, "selp.b32 %v, 0x3175, 0x7531, %v", b->high, later);
}

static right right_of(cg_func *c, const cg_turned *t, cg_val base)
{
    const ct_value *v = t->p->rhs;
    cg_layout lanes = fragment_lanes(c, t), at = cg_source_layout(v, &lanes);
    right b = {.t = t,
               .places = cg_encoding_layout(&load_of(v)->encoding, &at),
               .base = base,
               .rounds = bc_elem_kind(cg_source_of(v)->type) == BC_F32 && !cg_is_rounded(load_of(v))};
    if (t->feed == CG_FEED_MIXED)
        find_bytes(c, &b);
    return b;
}

/* Loads a fragment of one strip, or of each of two. */
static void load_words(cg_func *c, const right *b, uint32_t step, uint32_t strip, const cg_val *out)
{
    const cg_turned *t = b->t;
    uint32_t count = 2u << t->twins;
    for (uint32_t half = 0; half < 2; half++) {
        const cg_val *x = out + 2 * half;
        cg_val to[] = {x[0], x[1], x[t->twins * FRAGMENT], x[t->twins * FRAGMENT + 1]}, from[4];
        for (uint32_t i = 0; i < count; i++)
            from[i] = b->rounds ? cg_new(c, CG_B32) : to[i];
        cg_place at = cg_flat_place(c, b->base, 4, &b->places, half | step << 1 | strip >> t->twins << (1 + t->steps));
        cg_ins(c, "ld.shared.v%u.b32 %V, [%v+%d]", count, from, count, at.address, (int)at.offset);
        for (uint32_t i = 0; b->rounds && i < count; i++)
            cg_ins(c, "cvt.rn.tf32.f32 %v, %v", to[i], from[i]);
    }
}

static void load_matrices(cg_func *c, const right *b, uint32_t step, uint32_t strip, const cg_val *out)
{
    bool pairs = b->t->feed == CG_FEED_MIXED;
    cg_val x[FRAGMENT];
    cg_place at = cg_flat_place(c, b->base, cg_memory_bytes(b->t->p->in), &b->places, step | strip << b->t->steps);
    for (uint32_t i = 0; i < FRAGMENT; i++)
        x[i] = pairs || b->rounds ? cg_new(c, CG_B32) : out[i];
    cg_ins(c, "ldmatrix.sync.aligned.m8n8.x4%s.shared.b16 %V, [%v+%d]", pairs ? ".trans" : "", x, (uint32_t)FRAGMENT,
           at.address, (int)at.offset);
    for (uint32_t i = 0; i < FRAGMENT; i++)
        if (pairs)
            cg_ins(c, "prmt.b32 %v, %v, %v, %v", out[i], x[i & 2], x[(i & 2) + 1], i & 1 ? b->high : b->low);
        else if (b->rounds)
            cg_ins(c, "cvt.rn.tf32.f32 %v, %v", out[i], x[i]);
}

/* Loads the fragments of a piece, step by step, and within a step strip by strip. */
static void load_piece(cg_func *c, const right *b, uint32_t piece, cg_val *out)
{
    const cg_turned *t = b->t;
    for (uint32_t i = 0; i < 1u << t->piece; i++)
        for (uint32_t strip = 0; strip < 1u << t->strips; strip += 1u << t->twins) {
            cg_val *to = out + (size_t)FRAGMENT * (i << t->strips | strip);
            if (t->feed == CG_FEED_WORDS)
                load_words(c, b, piece << t->piece | i, strip, to);
            else
                load_matrices(c, b, piece << t->piece | i, strip, to);
        }
}

static cg_val *new_buffer(cg_func *c, const cg_turned *t)
{
    uint32_t count = (uint32_t)FRAGMENT << (t->piece + t->strips);
    cg_val *f = cg_vals(c, count);
    for (uint32_t i = 0; f && i < count; i++)
        f[i] = cg_new(c, CG_B32);
    return f;
}

void cg_turned_begin(cg_func *c, cg_ring *ring)
{
    const cg_product *p = cg_value_of(c, cg_result(ring->product, 0))->product;
    cg_turned t = cg_turned_of(p, c->warp_bits);
    cg_val base = cg_new(c, CG_B32);
    if (!ring->state->ahead && !(ring->state->ahead = new_buffer(c, &t)))
        return;
    cg_ins(c, "add.u32 %v, %v, %u", base, cg_groups_slot(c, ring, ring->state->read), load_of(p->rhs)->offset);
    right b = right_of(c, &t, base);
    load_piece(c, &b, 0, ring->state->ahead);
}

/* ---- the product ---- */

/* log2 of the columns of an instruction, which are rows of C. */
static uint32_t width_of(const cg_turned *t)
{
    return t->p->adds_up && t->rows > CG_ADD_UP_N_BITS ? CG_ADD_UP_N_BITS : t->rows;
}

/* The layout of A in its stage: registers count steps along K, then instructions along M. */
static cg_layout left_steps(const cg_func *c, const cg_turned *t, const cg_encoding *encoding)
{
    const cg_product *p = t->p;
    uint32_t one = 1;
    cg_layout l = {.tile_bits = (uint8_t)(p->m + p->k), .warp_bits = (uint8_t)c->warp_bits};
    for (uint32_t i = p->atom.k_bits; i < p->k; i++)
        l.reg[l.reg_bits++] = one << i;
    for (uint32_t i = width_of(t); i < t->rows; i++)
        l.reg[l.reg_bits++] = one << (p->k + i);
    for (uint32_t i = 0; i < t->along_m; i++)
        l.warp[CG_WARPGROUP_BITS + t->along_n + i] = one << (p->k + t->rows + i);
    l = cg_source_layout(p->lhs, &l);
    return cg_encoding_layout(encoding, &l);
}

typedef struct work {
    const cg_turned *t;
    const char *name;
    cg_layout steps;
    cg_val descriptor, always, never;
    cg_val *sums;
    bool from_zero;
} work;

static cg_val descriptor_at(cg_func *c, const work *w, uint32_t step)
{
    uint32_t distance = cg_layout_reg(&w->steps, step) * cg_memory_bytes(w->t->p->in) >> 4;
    if (!distance)
        return w->descriptor;
    cg_val d = cg_new(c, CG_B64);
    cg_ins(c, "add.s64 %v, %v, %u", d, w->descriptor, distance);
    return d;
}

static void multiply_one(cg_func *c, const work *w, const cg_val *to, const cg_val *fragments, uint32_t step,
                         bool writes)
{
    cg_ins(c, "wgmma.mma_async.sync.aligned.%s %V, %V, %v, %v%s", w->name, to, (uint32_t)1 << (width_of(w->t) - 1),
           fragments, (uint32_t)FRAGMENT, descriptor_at(c, w, step), writes ? w->never : w->always,
           w->t->p->acc == BC_F32 ? ", 1, 1" : "");
}

static void multiply_piece(cg_func *c, const work *w, uint32_t piece, const cg_val *fragments)
{
    const cg_turned *t = w->t;
    uint32_t sums = (uint32_t)1 << (t->rows - 1);
    cg_ins(c, "wgmma.fence.sync.aligned");
    for (uint32_t i = 0; i < 1u << t->piece; i++)
        for (uint32_t strip = 0; strip < 1u << t->strips; strip++) {
            uint32_t step = piece << t->piece | i;
            multiply_one(c, w, w->sums + (size_t)sums * strip, fragments + (size_t)FRAGMENT * (i << t->strips | strip),
                         step, w->from_zero && !step);
        }
    cg_ins(c, "wgmma.commit_group.sync.aligned");
}

static bool begin_work(cg_func *c, const ct_op *op, const cg_turned *t, work *w)
{
    const cg_product *p = t->p;
    const cg_encoding *left = &load_of(p->lhs)->encoding;
    *w = (work){.t = t, .steps = left_steps(c, t, left)};
    w->always = cg_reg(c, cg_const(CG_PRED, 1));
    w->never = cg_reg(c, cg_const(CG_PRED, 0));
    w->descriptor = cg_wgmma_descriptor(c, left, cg_tile_in_slot(cg_source_of(p->lhs)->op), false, &w->steps);
    w->name = cg_wgmma_name(c, op, p, width_of(t), true);
    cg_remark(c, op, CG_REMARK_MatrixProduct, TV_REMARK_PASSED,
              "wgmma.{Instruction=%s}, transposed, the right operand from {From=%s}", w->name, "registers");
    return w->name;
}

static void multiply_in_place(cg_func *c, const ct_op *op, work *w, const right *b, cg_val *acc)
{
    const cg_turned *t = w->t;
    uint32_t count = (uint32_t)1 << (t->p->m + t->p->n - CG_LANE_BITS - c->warp_bits);
    cg_ring *ring = cg_ring_of(cg_source_of(t->p->rhs)->op, cg_source_of(t->p->rhs)->op->from->operand_count);
    cg_val *buffers[2];
    buffers[0] = op->in_flight ? ring->state->ahead : new_buffer(c, t);
    buffers[1] = new_buffer(c, t);
    w->sums = cg_wgmma_sums(c, op, acc, count, &w->from_zero);
    if (!buffers[0] || !buffers[1] || !w->sums)
        return;
    if (!op->in_flight)
        load_piece(c, b, 0, buffers[0]);
    for (uint32_t i = 0; i < 1u << (t->steps - t->piece); i++) {
        bool is_last = i + 1 == 1u << (t->steps - t->piece);
        multiply_piece(c, w, i, buffers[i & 1]);
        if (i || op->in_flight)
            cg_await_products(c, 1);
        if (!i && op->in_flight)
            cg_groups_free_last(c, ring);
        if (!is_last)
            load_piece(c, b, i + 1, buffers[(i + 1) & 1]);
    }
    if (!op->in_flight)
        cg_await_products(c, 0);
    memcpy(acc, w->sums, sizeof *acc * count);
}

/* The sums of an instruction go to registers of their own, for one strip and few rows at a time. One warpgroup adds
   them up while the other one multiplies. */
static void multiply_adding_up(cg_func *c, const work *w, const right *b, cg_val *acc)
{
    enum { MOST_STEPS = 4 };
    const cg_turned *t = w->t;
    uint32_t run = cg_steps_added_up(t->p, t->steps), parts = (uint32_t)1 << (t->rows - width_of(t)),
             count = (uint32_t)1 << (width_of(t) - 1);
    cg_val fragments[MOST_STEPS * FRAGMENT], *to = cg_vals(c, count);
    for (uint32_t i = 0; i < MOST_STEPS * FRAGMENT; i++)
        fragments[i] = cg_new(c, CG_B32);
    for (uint32_t i = 0; to && i < (uint32_t)1 << (t->steps + t->strips); i += run) {
        uint32_t strip = i >> t->steps, first = i & (((uint32_t)1 << t->steps) - 1);
        for (uint32_t k = 0; k < run; k++)
            load_matrices(c, b, first + k, strip, fragments + (size_t)FRAGMENT * k);
        for (uint32_t part = 0; part < parts; part++) {
            for (uint32_t r = 0; r < count; r++)
                to[r] = cg_new(c, CG_B32);
            cg_ins(c, "wgmma.fence.sync.aligned");
            for (uint32_t k = 0; k < run; k++)
                multiply_one(c, w, to, fragments + (size_t)FRAGMENT * k, (first + k) | part << t->steps, !k);
            cg_wgmma_add_up(c, to, count, acc + (size_t)count * (part + parts * strip));
        }
    }
}

void cg_multiply_turned(cg_func *c, const ct_op *op, const cg_product *p, cg_val *acc)
{
    cg_turned t = cg_turned_of(p, c->warp_bits);
    right b = right_of(c, &t, cg_tile_in_slot(cg_source_of(p->rhs)->op));
    work w;
    if (!begin_work(c, op, &t, &w))
        return;
    if (p->adds_up)
        multiply_adding_up(c, &w, &b, acc);
    else
        multiply_in_place(c, op, &w, &b, acc);
}
