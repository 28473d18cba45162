/* What a thread is: its number, its part of an element index, whether it owns what it holds. All of it is computed
   once, at the start of the kernel. */
#include <string.h>

#include "codegen/strips.h"

cg_val cg_tid(cg_func *c)
{
    if (!c->tid.id) {
        c->tid = cg_new(c, CG_B32);
        cg_ins_first(c, "mov.u32 %v, %%tid.x", c->tid);
    }
    return c->tid;
}

typedef struct cg_coords {
    struct cg_coords *next;
    uint32_t images[CG_MAX_THREAD_BITS];
    cg_val value;
} cg_coords;

/* value ^= the bits of x from `bit` on, `count` of them, moved to bit `to` */
static cg_val add_run(cg_func *c, cg_val x, cg_val value, uint32_t bit, uint32_t count, uint32_t to, uint32_t total)
{
    cg_val part = x;
    if (bit + count < total) {
        cg_val cut = cg_new(c, CG_B32);
        cg_ins_first(c, "and.b32 %v, %v, %x", cut, part, (((uint32_t)1 << count) - 1) << bit);
        part = cut;
        if (to != bit) {
            cg_val moved = cg_new(c, CG_B32);
            cg_ins_first(c, to > bit ? "shl.b32 %v, %v, %u" : "shr.u32 %v, %v, %u", moved, part,
                         to > bit ? to - bit : bit - to);
            part = moved;
        }
    } else {
        if (bit) {
            cg_val low = cg_new(c, CG_B32);
            cg_ins_first(c, "shr.u32 %v, %v, %u", low, part, bit);
            part = low;
        }
        if (to) {
            cg_val moved = cg_new(c, CG_B32);
            cg_ins_first(c, "shl.b32 %v, %v, %u", moved, part, to);
            part = moved;
        }
    }
    if (value.known && value.bits == 0)
        return part;
    cg_val sum = cg_new(c, CG_B32);
    cg_ins_first(c, "xor.b32 %v, %v, %v", sum, value, part);
    return sum;
}

cg_val cg_linear(cg_func *c, cg_val x, const uint32_t *images, uint32_t total)
{
    cg_val value = cg_const(CG_B32, 0);
    for (uint32_t i = 0; i < total;) {
        uint32_t image = images[i], count = 1;
        if (image & (image - 1)) { /* several bits: one run for each of them */
            for (uint32_t rest = image; rest; rest &= rest - 1)
                value = add_run(c, x, value, i, 1, tv_trailing_zeros(rest), total);
        } else if (image) {
            while (i + count < total && images[i + count] == image << count)
                count++;
            value = add_run(c, x, value, i, count, tv_trailing_zeros(image), total);
        }
        i += count;
    }
    return value;
}

/* The part that does not change while the kernel runs. */
static cg_val fixed_index(cg_func *c, const uint32_t *images)
{
    for (cg_coords *k = c->coords; k; k = k->next)
        if (memcmp(k->images, images, sizeof k->images) == 0)
            return k->value;
    cg_coords *k = bc_new(&c->arena, cg_coords, 1);
    if (!k) {
        cg_no_memory(c);
        return cg_const(CG_B32, 0);
    }
    memcpy(k->images, images, sizeof k->images);
    bool any = false;
    for (uint32_t i = 0; i < CG_MAX_THREAD_BITS; i++)
        any = any || images[i];
    k->value = any ? cg_linear(c, cg_tid(c), images, CG_LANE_BITS + cg_real_warp_bits(c)) : cg_const(CG_B32, 0);
    k->next = c->coords;
    c->coords = k;
    return k->value;
}

cg_val cg_thread_index(cg_func *c, const cg_layout *l, uint32_t mask, uint32_t shift)
{
    uint32_t images[CG_MAX_THREAD_BITS] = {0}, strips[CG_MAX_WARP_BITS], real = cg_real_warp_bits(c);
    for (uint32_t i = 0; i < CG_LANE_BITS; i++)
        images[i] = (l->lane[i] & mask) >> shift;
    for (uint32_t i = 0; i < real; i++)
        images[CG_LANE_BITS + i] = (l->warp[i] & mask) >> shift;
    cg_val index = fixed_index(c, images);
    for (uint32_t i = 0; i < c->strip_bits; i++)
        strips[i] = (l->warp[real + i] & mask) >> shift;
    return cg_strip_index(c, index, strips);
}

/* True in the threads that have none of these bits. */
static cg_val owner_among(cg_func *c, uint32_t replicas)
{
    if (!replicas)
        return cg_const(CG_PRED, 1);
    cg_val *cached = &c->owners[cg_gather_bits(replicas, 0x3ff)];
    if (!cached->id) {
        cg_val part = cg_new(c, CG_B32);
        *cached = cg_new(c, CG_PRED);
        cg_ins_first(c, "and.b32 %v, %v, %x", part, cg_tid(c), replicas);
        cg_ins_first(c, "setp.eq.u32 %v, %v, 0", *cached, part);
    }
    return *cached;
}

cg_val cg_is_owner(cg_func *c, const cg_layout *l)
{
    uint32_t replicas = 0;
    for (uint32_t i = 0; i < CG_LANE_BITS; i++)
        if (!l->lane[i])
            replicas |= (uint32_t)1 << i;
    for (uint32_t i = 0; i < cg_real_warp_bits(c); i++)
        if (!l->warp[i])
            replicas |= (uint32_t)1 << (CG_LANE_BITS + i);
    cg_val owner = owner_among(c, replicas);
    return c->strips && cg_strip_now(c) ? cg_strip_owner(c, l, owner) : owner;
}
