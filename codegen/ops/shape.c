/* Ops that take tiles apart and put them together: extract, insert, cat, pack, unpack. Where the layout allows it,
   registers are only renamed or chosen; else the tile goes through shared memory. Sources: operation reference,
   sections 5.5 and 6. */
#include <string.h>

#include "codegen/analysis/reordered.h"
#include "codegen/analysis/ring.h"
#include "codegen/facts/facts.h"
#include "codegen/ops/hooks.h"
#include "codegen/ptx/access.h"
#include "codegen/ptx/ptx.h"
#include "codegen/values/effects.h"
#include "codegen/values/homes.h"
#include "codegen/values/memory.h"
#include "codegen/values/strips.h"
#include "codegen/values/values.h"

static cg_layout wish_or_default(cg_func *c, const ct_value *v)
{
    cg_layout l;
    uint32_t weight;
    return cg_wish(c, v, &l, &weight) ? l : cg_default_layout(c, v->type);
}

static uint32_t weight_of(cg_func *c, const ct_value *v)
{
    cg_layout l;
    uint32_t weight;
    return cg_wish(c, v, &l, &weight) ? weight : CG_WEIGHT_DEFAULT;
}

/* ---- excerpts ---- */

/* Which excerpt an op means: index bits of the large tile. Known where all indices are constants, else computed. */
static cg_val excerpt_index(cg_func *c, const ct_op *op, bc_range indices, const cg_shape *small, const cg_shape *large)
{
    cg_val sum = cg_const(CG_B32, 0);
    for (uint32_t d = 0; d < indices.count; d++) {
        const ct_value *index = ct_operands(op)[indices.first + d];
        uint32_t bits = large->bits[d] - small->bits[d], shift = large->shift[d] + small->bits[d];
        if (!bits)
            continue;
        if (index->fact->constant) {
            uint32_t fixed = ((uint32_t)index->fact->value & (((uint32_t)1 << bits) - 1)) << shift;
            if (sum.known) {
                sum.bits |= fixed;
            } else {
                cg_val next = cg_new(c, CG_B32);
                cg_ins(c, "or.b32 %v, %v, %x", next, sum, fixed);
                sum = next;
            }
            continue;
        }
        cg_val next = cg_new(c, CG_B32); /* indices that are too large are undefined; the mask keeps them inside */
        cg_ins(c, "bfi.b32 %v, %v, %r, %u, %u", next, cg_scalar(c, index), sum, shift, bits);
        sum = next;
    }
    return sum;
}

static bool is_constant(const ct_op *op, bc_range indices)
{
    for (uint32_t d = 0; d < indices.count; d++)
        if (!ct_operands(op)[indices.first + d]->fact->constant)
            return false;
    return true;
}

/* part == excerpt: a known predicate where both are. */
static cg_val is_excerpt(cg_func *c, cg_val part, cg_val excerpt)
{
    if (part.known && excerpt.known)
        return cg_const(CG_PRED, part.bits == excerpt.bits);
    cg_val p = cg_new(c, CG_PRED);
    cg_ins(c, "setp.eq.u32 %v, %v, %v", p, part.id ? part : excerpt, part.id ? excerpt : part);
    return p;
}

/* ---- extract ---- */

typedef struct extract_plan {
    cg_shape small, large;
    uint32_t mask; /* which excerpt */
    cg_layout source, result;
    bool in_registers; /* every excerpt lies in registers of its own */
    bool in_strips;    /* source or result do, and it is not in registers */
} extract_plan;

/* Do the bits of mask stand in registers alone, apart from all others? */
static bool only_in_registers(const cg_layout *l, uint32_t mask)
{
    bool apart = !(cg_layout_thread_images(l) & mask);
    for (uint32_t i = 0; i < l->reg_bits; i++)
        apart = apart && (!(l->reg[i] & mask) || !(l->reg[i] & ~mask));
    return apart;
}

static extract_plan plan_extract(cg_func *c, const ct_op *op)
{
    enum { MOST_CHOICES = 3 }; /* log2 of the excerpts among which registers are chosen one by one */
    const ct_value *source = ct_operand(op, F_extract_source);
    const bc_type *result = cg_result(op, 0)->type;
    bc_range indices = ct_operand_range(op, F_extract_indices);
    extract_plan p = {.small = cg_shape_of(result), .large = cg_shape_of(source->type)};
    uint32_t bytes = cg_memory_bytes(bc_elem_kind(result)) << p.large.tile_bits;
    p.mask = cg_excerpt_mask(&p.small, &p.large);
    p.source = wish_or_default(c, source);
    bool cheap = is_constant(op, indices) || p.large.tile_bits - p.small.tile_bits <= MOST_CHOICES;
    p.in_registers = only_in_registers(&p.source, p.mask) && (cheap || bytes > CG_MAX_SCRATCH);
    if (p.in_registers) {
        p.result = cg_layout_unembed(&p.source, &p.small, &p.large);
        p.result = cg_layout_drop_replicas(&p.result, NULL);
        return p;
    }
    p.result = cg_default_layout(c, result);
    p.in_strips = cg_strip_varies(c, &p.source) || cg_strip_varies(c, &p.result);
    if (p.in_strips)
        return p;
    if (bytes > CG_MAX_SCRATCH) { /* the conversion of the source does the work */
        p.in_registers = true;
        p.source = cg_layout_embed(&p.result, &p.small, &p.large);
        for (uint32_t b = 0; b < p.large.tile_bits; b++)
            if (p.mask >> b & 1)
                p.source.reg[p.source.reg_bits++] = (uint32_t)1 << b;
    }
    return p;
}

bool cg_extract_in_registers(cg_func *c, const ct_op *op)
{
    return plan_extract(c, op).in_registers;
}

void cg_assign_extract(cg_func *c, const ct_op *op)
{
    extract_plan p = plan_extract(c, op);
    const ct_value *source = ct_operand(op, F_extract_source), *result = cg_result(op, 0);
    cg_set_home(c, result, &p.result, result->type->rank ? weight_of(c, source) : 0);
    cg_want(c, source, &p.source);
}

void cg_effects_extract(cg_func *c, ct_op *op)
{
    extract_plan p = plan_extract(c, op);
    bc_kind kind = bc_elem_kind(cg_result(op, 0)->type);
    if (p.in_strips)
        cg_add_pieces(c, op, kind, p.small.tile_bits);
    else if (!p.in_registers)
        cg_add_scratch(c, op, cg_memory_bytes(kind) << p.large.tile_bits);
}

/* Register of the source for register r of the result in the excerpt that `chosen` of the excerpt registers name. */
static cg_val *choose(cg_func *c, const extract_plan *p, const cg_val *regs, cg_val excerpt)
{
    uint32_t kept = 0, excerpts = 0;
    for (uint32_t i = 0; i < p->source.reg_bits; i++) {
        kept |= p->source.reg[i] & ~p->mask ? (uint32_t)1 << i : 0;
        excerpts |= p->source.reg[i] & p->mask ? (uint32_t)1 << i : 0;
    }
    cg_val *out = cg_vals(c, cg_layout_regs(&p->result));
    uint32_t count = cg_gather_bits(excerpts, excerpts) + 1;
    for (uint32_t s = 0; out && s < count; s++) {
        uint32_t from = cg_scatter_bits(s, excerpts);
        cg_val here = is_excerpt(c, cg_const(CG_B32, cg_layout_reg(&p->source, from) & p->mask), excerpt);
        for (uint32_t r = 0; r < cg_layout_regs(&p->result); r++) {
            cg_val x = regs[from | cg_scatter_bits(r, kept)];
            if (s == 0 || (here.known && here.bits))
                out[r] = x;
            else if (!here.known)
                out[r] = cg_select(c, here, x, out[r]);
        }
    }
    return out;
}

void cg_lower_extract(cg_func *c, const ct_op *op)
{
    extract_plan p = plan_extract(c, op);
    const ct_value *source = ct_operand(op, F_extract_source), *result = cg_result(op, 0);
    bc_kind kind = bc_elem_kind(result->type);
    cg_val excerpt = excerpt_index(c, op, ct_operand_range(op, F_extract_indices), &p.small, &p.large);
    if (p.in_strips) {
        cg_strip_transfer(c, op, source, &p.source, &(cg_excerpt){p.mask, cg_reg(c, excerpt)});
        return;
    }
    cg_val *regs = cg_get(c, source, &p.source), *out;
    if (!regs)
        return;
    if (p.in_registers) {
        out = choose(c, &p, regs, excerpt);
    } else {
        cg_layout inside = cg_layout_embed(&p.result, &p.small, &p.large);
        cg_val base = cg_scratch(c, op, cg_memory_bytes(kind) << p.large.tile_bits), from = cg_new(c, CG_B32);
        cg_flat_store(c, kind, base, &p.source, regs);
        cg_barrier(c);
        cg_ins(c, "mad.lo.u32 %v, %r, %u, %v", from, excerpt, cg_memory_bytes(kind), base);
        out = cg_vals(c, cg_layout_regs(&p.result));
        if (out)
            cg_flat_load(c, kind, from, &inside, out);
    }
    if (out)
        cg_set(c, result, out);
}

/* ---- insert, cat: every element of the result comes from one of two tiles at the same place of the excerpt ---- */

/* Registers of the result in l: those of `small` (in cg_layout_unembed of l, without replicas) where the element lies
   in the excerpt, else of `others`, which lie as l or, with others_small, as small. */
static cg_val *merge(cg_func *c, const cg_layout *l, uint32_t mask, cg_val excerpt, uint32_t kept, const cg_val *small,
                     const cg_val *others, bool others_small)
{
    cg_val thread = cg_thread_index(c, l, mask, 0), *out = cg_vals(c, cg_layout_regs(l));
    for (uint32_t r = 0; out && small && others && r < cg_layout_regs(l); r++) {
        uint32_t part = cg_layout_reg(l, r) & mask, from = cg_gather_bits(r, kept);
        cg_val x = others[others_small ? from : r], at = cg_const(CG_B32, thread.bits ^ part);
        if (!thread.known) {
            at = thread;
            if (part) {
                at = cg_new(c, CG_B32);
                cg_ins(c, "xor.b32 %v, %v, %x", at, thread, part);
            }
        }
        out[r] = cg_select(c, is_excerpt(c, at, excerpt), small[from], x);
    }
    return out;
}

void cg_assign_insert(cg_func *c, const ct_op *op)
{
    const ct_value *source = ct_operand(op, F_insert_source), *destination = ct_operand(op, F_insert_destination);
    cg_shape small = cg_shape_of(source->type), large = cg_shape_of(destination->type);
    cg_layout l = wish_or_default(c, destination), part = cg_layout_unembed(&l, &small, &large);
    part = cg_layout_drop_replicas(&part, NULL);
    cg_set_home(c, cg_result(op, 0), &l, destination->type->rank ? weight_of(c, destination) : 0);
    cg_want(c, destination, &l);
    cg_want(c, source, &part);
}

void cg_lower_insert(cg_func *c, const ct_op *op)
{
    const ct_value *source = ct_operand(op, F_insert_source), *destination = ct_operand(op, F_insert_destination);
    cg_shape small = cg_shape_of(source->type), large = cg_shape_of(destination->type);
    const cg_layout *l = cg_value_of(c, cg_result(op, 0))->home;
    cg_layout part = cg_layout_unembed(l, &small, &large);
    uint32_t kept;
    part = cg_layout_drop_replicas(&part, &kept);
    cg_val excerpt = excerpt_index(c, op, ct_operand_range(op, F_insert_indices), &small, &large);
    cg_val *whole = cg_get(c, destination, l), *inserted = cg_get(c, source, &part);
    cg_val *out = merge(c, l, cg_excerpt_mask(&small, &large), excerpt, kept, inserted, whole, false);
    if (out && !c->failed)
        cg_set(c, cg_result(op, 0), out);
}

/* Are bytes only converted to floats of 16 bits? */
static bool become_halves(const ct_value *v)
{
    bool all = bc_elem_kind(v->type) == BC_I8 && v->uses;
    for (const ct_use *use = v->uses; use && all; use = use->next) {
        const ct_value *result = cg_result(use->op, 0);
        bc_kind to = bc_elem_kind(result->type);
        all = use->op->opcode == OP_reshape ? become_halves(result)
                                            : use->op->opcode == OP_itof && (to == BC_F16 || to == BC_BF16);
    }
    return all;
}

/* Shall the elements of both tiles alternate in registers? As those of fragments do, which such a weight says the
   operands are, or which registers become that have the weights of few rows. */
static bool alternates(const ct_op *op, uint32_t mask, uint32_t weight)
{
    const ct_value *result = cg_result(op, 0);
    return mask == 1 && (weight == CG_WEIGHT_MMA || cg_feeds_reordered(result)) && become_halves(result);
}

/* Puts four bytes that two words have into one of their own. */
static void join_words(cg_func *c, uint32_t count, cg_val *regs)
{
    enum { BYTES = 4, BYTE = 8, DIGIT = 4 /* bits of a selector for each byte */ };
    for (uint32_t r = 0; r + BYTES <= count && !c->failed; r += BYTES) {
        const cg_val *x = regs + r;
        uint32_t selector = 0, fitting = 0;
        for (uint32_t i = 0; i < BYTES; i++) {
            bool first = x[i].word == x[0].word;
            fitting += !x[i].known && x[i].word_bits == BYTES * BYTE && (first || x[i].word == x[1].word);
            selector |= (x[i].at / BYTE + (first ? 0u : BYTES)) << i * DIGIT;
        }
        cg_val word = cg_new(c, CG_B32), from[] = {{.cls = CG_B32, .id = x[0].word}, {.cls = CG_B32, .id = x[1].word}};
        if (fitting < BYTES)
            continue;
        cg_ins(c, "prmt.b32 %v, %v, %v, %x", word, from[0], from[1], selector);
        cg_split(c, BC_I8, word, BYTES, BYTE, regs + r);
    }
}

void cg_assign_cat(cg_func *c, const ct_op *op)
{
    const ct_value *lhs = ct_operand(op, F_cat_lhs), *rhs = ct_operand(op, F_cat_rhs), *result = cg_result(op, 0);
    cg_shape small = cg_shape_of(lhs->type), large = cg_shape_of(result->type);
    const ct_value *like = weight_of(c, rhs) > weight_of(c, lhs) ? rhs : lhs;
    cg_layout part = wish_or_default(c, like);
    part = cg_layout_drop_replicas(&part, NULL);
    cg_layout l = cg_layout_embed(&part, &small, &large);
    if (l.reg_bits == CG_MAX_REG_BITS) {
        cg_unsupported(c, op, "the result of 'cat' would need 2^%u registers per thread", l.reg_bits + 1u);
        return;
    }
    uint32_t mask = cg_excerpt_mask(&small, &large), weight = weight_of(c, like),
             at = alternates(op, mask, weight) ? 0 : l.reg_bits;
    memmove(l.reg + at + 1, l.reg + at, (l.reg_bits++ - at) * sizeof *l.reg);
    l.reg[at] = mask;
    cg_set_home(c, result, &l, weight);
    cg_want(c, lhs, &part);
    cg_want(c, rhs, &part);
}

void cg_lower_cat(cg_func *c, const ct_op *op)
{
    const ct_value *lhs = ct_operand(op, F_cat_lhs), *rhs = ct_operand(op, F_cat_rhs), *result = cg_result(op, 0);
    cg_shape small = cg_shape_of(lhs->type), large = cg_shape_of(result->type);
    const cg_layout *l = cg_value_of(c, result)->home;
    cg_layout part = cg_layout_unembed(l, &small, &large);
    uint32_t kept, mask = cg_excerpt_mask(&small, &large);
    part = cg_layout_drop_replicas(&part, &kept);
    cg_val *first = cg_get(c, lhs, &part), *second = cg_get(c, rhs, &part);
    cg_val *out = merge(c, l, mask, cg_const(CG_B32, mask), kept, second, first, true);
    if (out && l->reg_bits && l->reg[0] == mask && bc_elem_kind(result->type) == BC_I8)
        join_words(c, cg_layout_regs(l), out);
    if (out && !c->failed)
        cg_set(c, result, out);
}

/* ---- pack, unpack: the same bits as elements of another size ---- */

static uint32_t packed_bits(bc_kind kind)
{
    return bc_kind_memory_bytes(kind) && kind != BC_I1 ? 8 * bc_kind_memory_bytes(kind) : bc_kind_bits(kind);
}

typedef struct repack {
    bc_kind from, to;
    uint32_t n; /* log2 of the small elements in a large one */
    bool split; /* large to small */
} repack;

static repack repack_of(const ct_op *op)
{
    repack p = {.from = bc_elem_kind(ct_operands(op)[0]->type), .to = bc_elem_kind(cg_result(op, 0)->type)};
    uint32_t from = packed_bits(p.from), to = packed_bits(p.to);
    p.split = from > to;
    p.n = p.split ? tv_trailing_zeros(from / to) : tv_trailing_zeros(to / from);
    return p;
}

static void assign_repack(cg_func *c, const ct_op *op)
{
    const ct_value *source = ct_operands(op)[0], *result = cg_result(op, 0);
    repack p = repack_of(op);
    cg_layout l = wish_or_default(c, source), home;
    uint8_t bits[8];
    if (p.split) {
        l = cg_layout_drop_replicas(&l, NULL);
        home = cg_layout_split(&l, p.n);
    } else if (cg_layout_vector(&l, 0, p.n, bits) == p.n) {
        uint32_t low = ((uint32_t)1 << p.n) - 1;
        home = cg_layout_clear(&l, low);
        home = cg_layout_squeeze(&home, low);
        home = cg_layout_drop_replicas(&home, NULL);
        l = cg_layout_split(&home, p.n);
    } else {
        home = cg_default_layout(c, result->type);
        l = cg_layout_split(&home, p.n);
    }
    cg_set_home(c, result, &home, weight_of(c, source));
    cg_want(c, source, &l);
}

/* An element as a 32-bit word, or two of them. */
static void to_words(cg_func *c, cg_val x, cg_val out[2])
{
    x = cg_reg(c, x);
    out[0] = out[1] = x;
    if (x.cls == CG_B32)
        return;
    out[0] = cg_new(c, CG_B32);
    if (x.cls == CG_PRED) {
        cg_ins(c, "selp.u32 %v, 1, 0, %v", out[0], x);
    } else if (x.cls == CG_B16) {
        cg_ins(c, "cvt.u32.u16 %v, %v", out[0], x);
    } else {
        out[1] = cg_new(c, CG_B32);
        cg_ins(c, "mov.b64 {%v, %v}, %v", out[0], out[1], x);
    }
}

static cg_val from_words(cg_func *c, bc_kind kind, cg_val low, cg_val high)
{
    cg_class cls = cg_class_of(kind);
    cg_val x = cg_new(c, cls);
    if (cls == CG_B32)
        return low;
    if (cls == CG_PRED)
        cg_ins(c, "setp.ne.u32 %v, %v, 0", x, low);
    else if (cls == CG_B16)
        cg_ins(c, "cvt.u16.u32 %v, %v", x, low);
    else
        cg_ins(c, "mov.b64 %v, {%v, %v}", x, low, high);
    return x;
}

static void split_element(cg_func *c, const repack *p, cg_val x, cg_val *out)
{
    uint32_t bits = packed_bits(p->to);
    cg_val words[2];
    to_words(c, x, words);
    for (uint32_t i = 0; i < 1u << p->n; i++) {
        cg_val part = cg_new(c, CG_B32);
        cg_ins(c, "bfe.u32 %v, %v, %u, %u", part, words[i * bits / 32], i * bits % 32, bits);
        out[i] = from_words(c, p->to, part, part);
        if (bits == 4 && x.id && x.cls == CG_B32) { /* halves, which products take as bytes again */
            out[i].word_bits = x.word_bits ? x.word_bits : 32;
            out[i].word = x.word_bits ? x.word : x.id;
            out[i].at = (uint8_t)(i * bits + (x.word_bits ? x.at : 0));
            out[i].half = true;
        }
    }
}

static cg_val join_elements(cg_func *c, const repack *p, const cg_val *x)
{
    uint32_t bits = packed_bits(p->from);
    cg_val sums[2] = {{0}}, words[2];
    for (uint32_t i = 0; i < 1u << p->n; i++) {
        cg_val *sum = &sums[i * bits / 32];
        to_words(c, x[i], words);
        if (i * bits % 32 == 0) {
            *sum = words[0];
        } else {
            cg_val next = cg_new(c, CG_B32);
            cg_ins(c, "bfi.b32 %v, %v, %v, %u, %u", next, words[0], *sum, i * bits % 32, bits);
            *sum = next;
        }
    }
    return from_words(c, p->to, sums[0], sums[1]);
}

static void lower_repack(cg_func *c, const ct_op *op)
{
    const ct_value *source = ct_operands(op)[0], *result = cg_result(op, 0);
    if (cg_encoding_of(result))
        return;
    repack p = repack_of(op);
    const cg_layout *home = cg_value_of(c, result)->home;
    cg_layout l = *home;
    if (p.split) {
        uint32_t low = ((uint32_t)1 << p.n) - 1;
        l = cg_layout_clear(home, low);
        l = cg_layout_squeeze(&l, low);
        l = cg_layout_drop_replicas(&l, NULL);
    } else {
        l = cg_layout_split(home, p.n);
    }
    cg_val *regs = cg_get(c, source, &l), *out = cg_vals(c, cg_layout_regs(home));
    for (uint32_t r = 0; regs && out && r < cg_layout_regs(p.split ? &l : home); r++) {
        if (p.split)
            split_element(c, &p, regs[r], out + (r << p.n));
        else
            out[r] = join_elements(c, &p, regs + (r << p.n));
    }
    if (out && !c->failed)
        cg_set(c, result, out);
}

void cg_assign_pack(cg_func *c, const ct_op *op)
{
    assign_repack(c, op);
}

void cg_lower_pack(cg_func *c, const ct_op *op)
{
    lower_repack(c, op);
}

void cg_assign_unpack(cg_func *c, const ct_op *op)
{
    assign_repack(c, op);
}

void cg_lower_unpack(cg_func *c, const ct_op *op)
{
    lower_repack(c, op);
}
