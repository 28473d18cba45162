/* Moves tiles through shared memory, in pieces if they do not fit: to other threads and strips, or to the thread
   that prints. */
#include "codegen/ptx/ptx.h"
#include "codegen/values/effects.h"
#include "codegen/values/memory.h"
#include "codegen/values/strips.h"
#include "codegen/values/values.h"

/* log2 of the bytes of shared memory that a tile goes through at a time. */
#ifdef TV_SMALL_STRIPS
enum { PIECE_LOG2 = 8 };
#else
enum { PIECE_LOG2 = 15 };
#endif

static cg_val int_xor(cg_func *c, cg_val x, uint32_t bits)
{
    cg_val r = cg_new(c, CG_B32);
    cg_ins(c, "xor.b32 %v, %v, %x", r, x, bits);
    return r;
}

/* The place of the vector of register r in the piece, and whether it is there. */
static cg_access piece_access(cg_func *c, const cg_pieces *p, bc_kind kind, const cg_layout *l, uint32_t r)
{
    cg_access a = {
        .kind = kind, .space = "shared", .order = "", .address = cg_new(c, CG_B32), .predicate = cg_const(CG_PRED, 1)};
    uint32_t part = cg_layout_reg(l, r);
    cg_val at = cg_thread_index(c, l, UINT32_MAX, 0);
    at = at.known ? cg_const(CG_B32, at.bits ^ part) : part ? int_xor(c, at, part) : at;
    if (!p->whole) {
        cg_val rest = cg_new(c, CG_B32);
        cg_ins(c, "xor.b32 %v, %v, %v", rest, p->number, at);
        a.predicate = cg_new(c, CG_PRED);
        cg_ins(c, "setp.lt.u32 %v, %v, %u", a.predicate, rest, (uint32_t)1 << p->shift);
        at = rest;
    }
    cg_ins(c, "mad.lo.u32 %v, %r, %u, %v", a.address, at, cg_memory_bytes(kind), p->base);
    return a;
}

/* Skips a strip that has no element of the piece. */
static void skip_strip(cg_func *c, const cg_pieces *p, const cg_layout *l)
{
    cg_strip *s = c->strips ? cg_strip_now(c) : NULL;
    uint32_t above = ~(((uint32_t)1 << p->shift) - 1), real = cg_real_warp_bits(c);
    uint32_t others = cg_layout_reg_images(l) | cg_images(l->lane, CG_LANE_BITS) | cg_images(l->warp, real);
    cg_layout strips = {.tile_bits = l->tile_bits, .warp_bits = l->warp_bits};
    for (uint32_t i = real; i < l->warp_bits; i++)
        strips.warp[i] = l->warp[i];
    if (!s || p->whole || (others & above))
        return;
    cg_val number = cg_thread_index(c, &strips, above, 0), elsewhere = cg_new(c, CG_PRED);
    s->next_label = cg_label(c);
    cg_ins(c, "setp.ne.u32 %v, %v, %v", elsewhere, p->number, number);
    cg_ins(c, "@%v bra.uni %l", elsewhere, s->next_label);
}

/* Stores the registers of v. l: the layout of v; places: the positions of its elements. */
static void put_piece(cg_func *c, const cg_pieces *p, const ct_value *v, const cg_layout *l, const cg_layout *places,
                      const cg_excerpt *excerpt)
{
    bc_kind kind = bc_elem_kind(v->type);
    if (cg_strip_varies(c, l))
        cg_strip_open(c, (cg_trips){.mask = cg_strip_mask(c, l)});
    skip_strip(c, p, places);
    const cg_val *regs = cg_get(c, v, l);
    cg_vectors vectors = cg_vectors_of(places, cg_memory_bytes(kind));
    cg_val owner = cg_is_owner(c, l), elements[CG_MAX_VECTOR];
    bool plain = p->whole && !excerpt;
    if (plain && !c->failed)
        cg_flat_store(c, kind, p->base, places, regs);
    for (uint32_t r = 0; !plain && r < cg_layout_regs(l) && !c->failed; r++) {
        if ((r & vectors.mask) || cg_is_register_replica(l, r))
            continue;
        cg_access a = piece_access(c, p, kind, places, r);
        for (uint32_t i = 0; i < 1u << vectors.bits; i++)
            elements[i] = regs[r | cg_layout_member(vectors.reg_bit, vectors.bits, i)];
        a.predicate = cg_and(c, a.predicate, owner);
        if (excerpt) {
            cg_val part = cg_thread_index(c, l, excerpt->mask, 0), here = cg_new(c, CG_PRED);
            uint32_t own = cg_layout_reg(l, r) & excerpt->mask;
            part = part.known ? cg_const(CG_B32, part.bits ^ own) : own ? int_xor(c, part, own) : part;
            cg_ins(c, "setp.eq.u32 %v, %r, %v", here, part, excerpt->number);
            a.predicate = cg_and(c, a.predicate, here);
        }
        cg_store_vector(c, &a, 1u << vectors.bits, elements);
    }
    if (cg_strip_varies(c, l))
        cg_strip_close(c);
}

/* Loads one vector of the piece, from register `r` of the layout on, and returns its predicate. */
static cg_val load_vector(cg_func *c, const cg_pieces *p, bc_kind kind, const cg_layout *places, uint32_t r,
                          uint32_t count, cg_val *loaded)
{
    cg_access a = piece_access(c, p, kind, places, r);
    cg_load_vector(c, &a, count, NULL, loaded);
    return a.predicate;
}

/* Loads the elements of the piece into the registers of a tile that is the same in all strips. */
static void get_piece_in_registers(cg_func *c, const cg_pieces *p, bc_kind kind, const cg_layout *places, cg_val *regs)
{
    cg_vectors vectors = cg_vectors_of(places, cg_memory_bytes(kind));
    cg_val loaded[CG_MAX_VECTOR];
    skip_strip(c, p, places);
    if (p->whole)
        cg_flat_load(c, kind, p->base, places, regs);
    for (uint32_t r = 0; !p->whole && r < cg_layout_regs(places) && !c->failed; r++) {
        if (r & vectors.mask)
            continue;
        cg_val inside = load_vector(c, p, kind, places, r, 1u << vectors.bits, loaded);
        for (uint32_t i = 0; i < 1u << vectors.bits; i++) {
            uint32_t at = r | cg_layout_member(vectors.reg_bit, vectors.bits, i);
            cg_move(c, regs[at], cg_select(c, inside, loaded[i], regs[at]));
        }
    }
}

/* Loads the elements of the piece into the local memory of a tile that differs between strips, in a loop over them. */
static void get_piece_in_strips(cg_func *c, const cg_pieces *p, const ct_value *v, cg_variant *variant,
                                const cg_layout *places)
{
    bc_kind kind = bc_elem_kind(v->type);
    cg_vectors vectors = cg_vectors_of(places, cg_memory_bytes(kind));
    cg_val loaded[CG_MAX_VECTOR];
    cg_strip_open(c, (cg_trips){.mask = cg_strip_mask(c, variant->layout)});
    skip_strip(c, p, places);
    if (p->whole) {
        cg_val *all = cg_vals(c, cg_layout_regs(places));
        if (all)
            cg_flat_load(c, kind, p->base, places, all);
        if (!c->failed)
            cg_strip_save(c, v, variant, all, cg_const(CG_PRED, 1));
    }
    for (uint32_t r = 0; !p->whole && r < cg_layout_regs(places) && !c->failed; r++) {
        if (r & vectors.mask)
            continue;
        cg_val inside = load_vector(c, p, kind, places, r, 1u << vectors.bits, loaded);
        for (uint32_t i = 0; i < 1u << vectors.bits; i++) {
            uint32_t at = r | cg_layout_member(vectors.reg_bit, vectors.bits, i);
            cg_access to = cg_strip_access(c, v, variant, at, inside);
            cg_store_vector(c, &to, 1, &loaded[i]);
        }
    }
    cg_strip_close(c);
}

static cg_val *zeros(cg_func *c, cg_class cls, uint32_t count)
{
    cg_val *regs = cg_vals(c, count);
    for (uint32_t r = 0; regs && r < count; r++) {
        regs[r] = cg_new(c, cls);
        cg_move(c, regs[r], cg_const(cls, 0));
    }
    return regs;
}

/* The number and size of pieces. */
static cg_pieces pieces_of(bc_kind kind, uint32_t tile_bits)
{
    uint32_t most = PIECE_LOG2 - tv_trailing_zeros(cg_memory_bytes(kind));
    return (cg_pieces){.shift = tile_bits < most ? tile_bits : most,
                       .number = cg_const(CG_B32, 0),
                       .end = (uint32_t)1 << tile_bits,
                       .whole = tile_bits <= most};
}

cg_effect *cg_add_pieces(cg_func *c, ct_op *op, bc_kind kind, uint32_t tile_bits)
{
    cg_pieces p = pieces_of(kind, tile_bits);
    cg_effect *e = cg_add_scratch(c, op, cg_memory_bytes(kind) << p.shift);
    if (e)
        e->again = !p.whole;
    return e;
}

cg_pieces cg_begin_pieces(cg_func *c, const ct_op *op, bc_kind kind, uint32_t tile_bits)
{
    cg_pieces p = pieces_of(kind, tile_bits);
    if (!p.whole) {
        p.number = cg_new(c, CG_B32);
        p.head = cg_label(c);
        cg_ins(c, "mov.b32 %v, 0", p.number);
        cg_place_label(c, p.head);
    }
    p.base = cg_scratch(c, op, cg_memory_bytes(kind) << p.shift);
    return p;
}

void cg_end_pieces(cg_func *c, const cg_pieces *p)
{
    if (p->whole)
        return;
    cg_ins(c, "bar.warp.sync 0xffffffff"); /* lanes may have diverged */
    cg_val more = cg_new(c, CG_PRED);
    cg_ins(c, "add.u32 %v, %v, %u", p->number, p->number, (uint32_t)1 << p->shift);
    cg_ins(c, "setp.lt.u32 %v, %v, %u", more, p->number, p->end);
    cg_ins(c, "@%v bra.uni %l", more, p->head);
}

void cg_strip_transfer(cg_func *c, const ct_op *op, const ct_value *v, const cg_layout *from, const cg_excerpt *excerpt)
{
    const ct_value *result = cg_result(op, 0);
    bc_kind kind = bc_elem_kind(v->type);
    cg_variant *variant = cg_strip_home(c, result);
    cg_layout source = *from, stored, loaded;
    if (excerpt) {
        source = cg_layout_clear(from, excerpt->mask);
        source = cg_layout_squeeze(&source, excerpt->mask);
    }
    cg_shared_layouts(c, kind, &source, variant->layout, &stored, &loaded);
    bool varies = cg_strip_varies(c, variant->layout);
    cg_val *regs = varies ? NULL : zeros(c, cg_class_of(kind), cg_layout_regs(variant->layout));
    cg_pieces p = cg_begin_pieces(c, op, kind, source.tile_bits);
    put_piece(c, &p, v, from, &stored, excerpt);
    cg_barrier(c);
    if (varies)
        get_piece_in_strips(c, &p, result, variant, &loaded);
    else if (regs)
        get_piece_in_registers(c, &p, kind, &loaded, regs);
    cg_end_pieces(c, &p);
    if (!varies)
        cg_set(c, result, regs);
}

void cg_put_piece(cg_func *c, const cg_pieces *p, const ct_value *v, const cg_layout *l)
{
    put_piece(c, p, v, l, l, NULL);
    cg_barrier(c);
}
