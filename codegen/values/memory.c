/* Tiles in flat order in memory; see the header. */
#include "codegen/values/memory.h"

#include "codegen/ptx/ptx.h"
#include "codegen/values/effects.h"
#include "codegen/values/values.h"

cg_vectors cg_vectors_of(const cg_layout *l, uint32_t bytes)
{
    cg_vectors v = {0};
    uint32_t most = 0;
    while (most < 4 && bytes << (most + 1) <= 16)
        most++;
    v.bits = cg_layout_vector(l, 0, most, v.reg_bit);
    for (uint32_t k = 0; k < v.bits; k++)
        v.mask |= (uint32_t)1 << v.reg_bit[k];
    return v;
}

cg_place cg_flat_place(cg_func *c, cg_val base, uint32_t bytes, const cg_layout *l, uint32_t r)
{
    uint32_t mask = (uint32_t)(((uint64_t)1 << l->tile_bits) - 1), threads = cg_layout_thread_images(l),
             part = cg_layout_reg(l, r);
    cg_val index = cg_thread_index(c, l, mask, 0);
    if (index.known)
        return (cg_place){base, (int64_t)part * bytes};
    cg_place place = {.offset = (int64_t)(part & ~threads) * bytes};
    if (part & threads) {
        cg_val mixed = cg_new(c, CG_B32);
        cg_ins(c, "xor.b32 %v, %v, %x", mixed, index, part & threads);
        index = mixed;
    }
    place.address = cg_new(c, (cg_class)base.cls);
    cg_ins(c, "mad.%s.u32 %v, %v, %u, %v", base.cls == CG_B64 ? "wide" : "lo", place.address, index, bytes, base);
    return place;
}

/* The positions of a layout's registers. Those that differ by a constant share an address. */
typedef struct places {
    cg_val base;
    uint32_t bytes, threads, count;
    uint32_t part[64];
    cg_val address[64];
} places;

static cg_access flat_access(cg_func *c, places *p, bc_kind kind, const cg_layout *l, uint32_t r)
{
    cg_access a = {.kind = kind,
                   .space = p->base.cls == CG_B64 ? "global" : "shared",
                   .order = "",
                   .predicate = cg_const(CG_PRED, 1)};
    uint32_t part = cg_layout_reg(l, r);
    for (uint32_t i = 0; i < p->count; i++)
        if (p->part[i] == (part & p->threads)) {
            a.address = p->address[i];
            a.offset = (int64_t)(part & ~p->threads) * p->bytes;
            return a;
        }
    cg_place place = cg_flat_place(c, p->base, p->bytes, l, r);
    a.address = place.address;
    a.offset = place.offset;
    if (p->count < 64) {
        p->part[p->count] = part & p->threads;
        p->address[p->count++] = place.address;
    }
    return a;
}

static places places_of(cg_val base, bc_kind kind, const cg_layout *l)
{
    return (places){.base = base, .bytes = cg_memory_bytes(kind), .threads = cg_layout_thread_images(l)};
}

/* Registers whose image is zero hold replicas; only the first one is stored. */
bool cg_is_register_replica(const cg_layout *l, uint32_t r)
{
    return r & cg_layout_reg_replicas(l);
}

void cg_flat_store_some(cg_func *c, bc_kind kind, cg_val base, const cg_layout *l, const cg_val *regs)
{
    places p = places_of(base, kind, l);
    cg_vectors v = cg_vectors_of(l, cg_memory_bytes(kind));
    for (uint32_t r = 0; r < cg_layout_regs(l); r++) {
        if ((r & v.mask) || cg_is_register_replica(l, r))
            continue;
        cg_val elements[CG_MAX_VECTOR];
        for (uint32_t i = 0; i < 1u << v.bits; i++)
            elements[i] = regs[r | cg_layout_member(v.reg_bit, v.bits, i)];
        cg_access a = flat_access(c, &p, kind, l, r);
        a.predicate = cg_is_owner(c, l);
        cg_store_vector(c, &a, 1u << v.bits, elements);
    }
}

/* Can ldmatrix and stmatrix be used? */
static bool may_be_matrices(bc_kind kind, cg_val base)
{
    return cg_class_of(kind) == CG_B16 && base.cls == CG_B32;
}

void cg_flat_store(cg_func *c, bc_kind kind, cg_val base, const cg_layout *l, const cg_val *regs)
{
    cg_matrices m;
    if (!may_be_matrices(kind, base) || !cg_matrices_store(c, l, &m)) {
        cg_flat_store_some(c, kind, base, l, regs);
        return;
    }
    places p = places_of(base, kind, &m.rows);
    for (uint32_t r = 0; r < cg_layout_regs(l); r++)
        if (!(r & m.used) && !cg_is_register_replica(l, r)) {
            cg_access a = flat_access(c, &p, kind, &m.rows, r);
            cg_store_matrices(c, &m, &a, r, regs);
        }
}

void cg_flat_load_some(cg_func *c, bc_kind kind, cg_val base, const cg_layout *l, cg_val *out_regs)
{
    places p = places_of(base, kind, l);
    cg_vectors v = cg_vectors_of(l, cg_memory_bytes(kind));
    for (uint32_t r = 0; r < cg_layout_regs(l); r++) {
        if (r & v.mask)
            continue;
        cg_val elements[CG_MAX_VECTOR];
        cg_access a = flat_access(c, &p, kind, l, r);
        cg_load_vector(c, &a, 1u << v.bits, NULL, elements);
        for (uint32_t i = 0; i < 1u << v.bits; i++)
            out_regs[r | cg_layout_member(v.reg_bit, v.bits, i)] = elements[i];
    }
}

void cg_flat_load(cg_func *c, bc_kind kind, cg_val base, const cg_layout *l, cg_val *out_regs)
{
    cg_matrices m;
    if (!may_be_matrices(kind, base) || !cg_find_matrices(l, &m)) {
        cg_flat_load_some(c, kind, base, l, out_regs);
        return;
    }
    places p = places_of(base, kind, &m.rows);
    for (uint32_t r = 0; r < cg_layout_regs(l); r++)
        if (!(r & m.used)) {
            cg_access a = flat_access(c, &p, kind, &m.rows, r);
            cg_load_matrices(c, &m, &a, r, out_regs);
        }
}

void cg_flat_load_words(cg_func *c, bc_kind kind, cg_val base, const cg_layout *l, cg_val *out_regs)
{
    enum { BYTES = 4, BITS = 8, OF_A_PAIR = 2 };
    cg_flat_load(c, kind, base, l, out_regs);
    if (kind != BC_I8 || cg_vectors_of(l, 1).bits >= OF_A_PAIR)
        return;
    for (uint32_t r = 0; r + BYTES <= cg_layout_regs(l); r += BYTES)
        cg_split(c, kind, cg_join(c, out_regs + r, BYTES, BITS), BYTES, BITS, out_regs + r);
}

bool cg_add_share(cg_func *c, ct_op *op, bc_kind kind, const cg_layout *l)
{
    bool any = cg_layout_thread_replicas(l, cg_real_warp_bits(c));
    cg_effect *e = any ? cg_add_scratch(c, op, cg_memory_bytes(kind) << l->tile_bits) : NULL;
    if (e)
        e->small = true;
    return any;
}

bool cg_share(cg_func *c, const ct_op *op, bc_kind kind, const cg_layout *l, cg_val *regs)
{
    if (cg_is_owner(c, l).known)
        return false;
    cg_val base = cg_scratch(c, op, cg_memory_bytes(kind) << l->tile_bits);
    cg_flat_store(c, kind, base, l, regs);
    cg_barrier(c);
    cg_flat_load(c, kind, base, l, regs);
    return true;
}
