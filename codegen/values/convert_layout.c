/* Converts a value from one layout to another: by renaming registers, if each thread keeps its elements; by
   shuffles, if elements stay in their warp and few shuffles are needed; otherwise through shared memory, in an order
   of elements without bank conflicts, and in halves if it would not fit. If elements stay in their warp, each warp
   has its own part of that memory and does not wait for others. */
#include <string.h>

#include "codegen/ptx/ptx.h"
#include "codegen/values/effects.h"
#include "codegen/values/memory.h"
#include "codegen/values/strips.h"
#include "codegen/values/values.h"

/* ---- the position of an element ---- */

/* Registers and lanes of a layout as a basis: combinations of images, each with a different leading bit. */
enum { MAX_BASIS = CG_MAX_REG_BITS + CG_LANE_BITS };

typedef struct basis {
    uint32_t count;
    uint32_t image[MAX_BASIS], reg[MAX_BASIS], lane[MAX_BASIS];
} basis;

/* Finds the bits of (register, lane) whose images are x, and returns the part of x that is not covered. */
static uint32_t reduce(const basis *b, uint32_t x, uint32_t *reg, uint32_t *lane)
{
    for (uint32_t i = 0; i < b->count; i++)
        if ((x ^ b->image[i]) < x) {
            x ^= b->image[i];
            *reg ^= b->reg[i];
            *lane ^= b->lane[i];
        }
    return x;
}

static void add(basis *b, uint32_t image, uint32_t reg, uint32_t lane)
{
    uint32_t rest = reduce(b, image, &reg, &lane), at = b->count;
    if (!rest)
        return;
    for (; at && b->image[at - 1] < rest; at--) { /* the largest first, so that one pass suffices */
        b->image[at] = b->image[at - 1];
        b->reg[at] = b->reg[at - 1];
        b->lane[at] = b->lane[at - 1];
    }
    b->image[at] = rest;
    b->reg[at] = reg;
    b->lane[at] = lane;
    b->count++;
}

static basis basis_of(const cg_layout *l)
{
    basis b = {0};
    for (uint32_t i = 0; i < l->reg_bits; i++)
        add(&b, l->reg[i], (uint32_t)1 << i, 0);
    for (uint32_t i = 0; i < CG_LANE_BITS; i++)
        add(&b, l->lane[i], 0, (uint32_t)1 << i);
    return b;
}

/* ---- within a warp ---- */

/* Register r of thread t gets the element that lane (lane_of(r) ^ lane_of(t)) has in register (reg_of(r) ^
   reg_of(t)). Each of these is linear, and given by the contributions of its bits. */
typedef struct exchange {
    uint32_t reg_of_reg[CG_MAX_REG_BITS], lane_of_reg[CG_MAX_REG_BITS];
    cg_layout reg_of_thread, lane_of_thread;
    uint32_t choices[4], choice_count; /* possible values of reg_of(t) */
    bool same_lane;                    /* lane_of(t) is always t's own lane */
} exchange;

static bool add_thread_bit(exchange *x, const basis *b, uint32_t image, uint32_t *reg, uint32_t *lane)
{
    *reg = *lane = 0;
    if (reduce(b, image, reg, lane))
        return false;
    for (uint32_t i = 0; i < x->choice_count; i++)
        if (x->choices[i] == *reg)
            return true;
    if (x->choice_count > 2)
        return false;
    for (uint32_t i = 0, n = x->choice_count; i < n; i++)
        x->choices[x->choice_count++] = x->choices[i] ^ *reg;
    return true;
}

/* False: elements change warps, or too many registers would have to be examined. */
static bool find_exchange(const cg_layout *from, const cg_layout *to, exchange *x)
{
    basis b = basis_of(from);
    *x = (exchange){.choice_count = 1, .same_lane = true};
    x->reg_of_thread = x->lane_of_thread = (cg_layout){.tile_bits = CG_MAX_TILE_BITS, .warp_bits = to->warp_bits};
    for (uint32_t i = 0; i < to->reg_bits; i++)
        if (reduce(&b, to->reg[i], &x->reg_of_reg[i], &x->lane_of_reg[i]))
            return false;
    for (uint32_t i = 0; i < CG_LANE_BITS; i++) {
        if (!add_thread_bit(x, &b, to->lane[i], &x->reg_of_thread.lane[i], &x->lane_of_thread.lane[i]))
            return false;
        x->same_lane = x->same_lane && x->lane_of_thread.lane[i] == (uint32_t)1 << i;
    }
    for (uint32_t i = 0; i < to->warp_bits; i++) {
        if (!add_thread_bit(x, &b, to->warp[i] ^ from->warp[i], &x->reg_of_thread.warp[i], &x->lane_of_thread.warp[i]))
            return false;
        x->same_lane = x->same_lane && !x->lane_of_thread.warp[i];
    }
    return true;
}

static uint32_t sum_of(const uint32_t *parts, uint32_t r)
{
    uint32_t sum = 0;
    for (uint32_t i = 0; r; i++, r >>= 1)
        sum ^= r & 1 ? parts[i] : 0;
    return sum;
}

static cg_val shuffle(cg_func *c, const exchange *x, uint32_t lane, cg_val word)
{
    cg_val got = cg_new(c, CG_B32), source = cg_thread_index(c, &x->lane_of_thread, 31, 0);
    if (x->same_lane) {
        if (!lane)
            return word;
        cg_ins(c, "shfl.sync.bfly.b32 %v, %v, %u, 31, 0xffffffff", got, word, lane);
        return got;
    }
    if (lane && !source.known) {
        cg_val other = cg_new(c, CG_B32);
        cg_ins(c, "xor.b32 %v, %v, %u", other, source, lane);
        source = other;
    } else if (source.known) {
        source.bits ^= lane;
    }
    cg_ins(c, "shfl.sync.idx.b32 %v, %v, %v, 31, 0xffffffff", got, word, source);
    return got;
}

/* Shuffles a register of any class as 32-bit words. */
static cg_val shuffle_value(cg_func *c, const exchange *x, uint32_t lane, cg_val v)
{
    cg_val low = cg_new(c, CG_B32), high = cg_new(c, CG_B32), got = cg_new(c, (cg_class)v.cls);
    if (v.known || (x->same_lane && !lane))
        return v; /* all threads have the value */
    switch ((cg_class)v.cls) {
    case CG_PRED:
        cg_ins(c, "selp.b32 %v, 1, 0, %v", low, v);
        cg_ins(c, "setp.ne.u32 %v, %v, 0", got, shuffle(c, x, lane, low));
        return got;
    case CG_B16:
        cg_ins(c, "cvt.u32.u16 %v, %v", low, v);
        cg_ins(c, "cvt.u16.u32 %v, %v", got, shuffle(c, x, lane, low));
        return got;
    case CG_B64:
        cg_ins(c, "mov.b64 {%v, %v}, %v", low, high, v);
        low = shuffle(c, x, lane, low);
        cg_ins(c, "mov.b64 %v, {%v, %v}", got, low, shuffle(c, x, lane, high));
        return got;
    case CG_B32:
    case CG_CLASS_COUNT: break;
    }
    return shuffle(c, x, lane, v);
}

/* Can two 16-bit registers be shuffled as one word, because one lane has both? */
static bool in_pairs(const exchange *x, bc_kind kind, const cg_layout *to)
{
    return cg_class_of(kind) == CG_B16 && to->reg_bits && !x->lane_of_reg[0];
}

/* Register r of the result, or r and the next one, if the thread takes choice i. */
static cg_val shuffle_register(cg_func *c, const exchange *x, const cg_val *regs, uint32_t r, uint32_t i, bool pair)
{
    uint32_t from = sum_of(x->reg_of_reg, r) ^ x->choices[i], lane = sum_of(x->lane_of_reg, r);
    if (!pair)
        return shuffle_value(c, x, lane, regs[from]);
    return shuffle(c, x, lane, cg_join(c, (cg_val[]){regs[from], regs[from ^ x->reg_of_reg[0]]}, 2, 16));
}

static void shuffle_all(cg_func *c, bc_kind kind, const exchange *x, const cg_val *regs, const cg_layout *to,
                        cg_val *out)
{
    bool pair = in_pairs(x, kind, to);
    cg_val choice = cg_thread_index(c, &x->reg_of_thread, UINT32_MAX, 0), is[4];
    for (uint32_t i = 1; i < x->choice_count; i++) {
        is[i] = cg_new(c, CG_PRED);
        cg_ins(c, "setp.eq.u32 %v, %v, %u", is[i], choice, x->choices[i]);
    }
    for (uint32_t r = 0; r < cg_layout_regs(to); r += pair ? 2 : 1) {
        cg_val got = shuffle_register(c, x, regs, r, 0, pair);
        for (uint32_t i = 1; i < x->choice_count; i++)
            got = cg_select(c, is[i], shuffle_register(c, x, regs, r, i, pair), got);
        if (pair)
            cg_split(c, kind, got, 2, 16, out + r);
        else
            out[r] = got;
    }
}

/* The number of shuffles that the conversion takes. */
static uint32_t shuffle_count(const exchange *x, bc_kind kind, const cg_layout *to)
{
    uint32_t words = cg_class_of(kind) == CG_B64 ? 2 : 1, count = 0;
    for (uint32_t r = 0; r < cg_layout_regs(to); r++)
        count += x->same_lane && !sum_of(x->lane_of_reg, r) ? 0 : words * x->choice_count;
    return in_pairs(x, kind, to) ? count / 2 : count;
}

/* ---- through shared memory ---- */

enum { BANK_BYTES_LOG2 = 2, ROW_BYTES_LOG2 = 7, MOST_VECTOR_LOG2 = 4 }; /* 32 banks of 4 bytes */

/* The order of elements in shared memory: index bits are permuted; then `bits` of them, from bit `chunk` on, are
   XORed with those from bit `from` on. All are log2 of elements. */
typedef struct arrangement {
    uint8_t place[CG_MAX_TILE_BITS]; /* the position of index bit i */
    uint32_t chunk, from, bits;
} arrangement;

static uint32_t place_of(const void *map, uint32_t image)
{
    const arrangement *o = map;
    uint32_t y = 0;
    for (uint32_t i = 0; image; i++, image >>= 1)
        y |= (image & 1) << o->place[i];
    return y ^ (y >> o->from & (((uint32_t)1 << o->bits) - 1)) << o->chunk;
}

static cg_layout arranged(const arrangement *o, const cg_layout *l)
{
    return cg_layout_map(l, l->tile_bits, place_of, o);
}

static uint32_t vector_of(const cg_layout *l, uint32_t size)
{
    uint8_t bits[8];
    return cg_layout_vector(l, 0, size < MOST_VECTOR_LOG2 ? MOST_VECTOR_LOG2 - size : 0, bits);
}

/* log2 of the contiguous elements of an access: a vector, or a row of a matrix. */
static uint32_t unit_of(const cg_layout *l, uint32_t size)
{
    cg_matrices m;
    return size == 1 && cg_find_matrices(l, &m) ? MOST_VECTOR_LOG2 - size : vector_of(l, size);
}

/* log2 of the number of words that combinations of the images are. */
static uint32_t rank_of(const uint32_t *images, uint32_t count)
{
    uint32_t kept[CG_LANE_BITS], rank = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t rest = images[i];
        for (uint32_t k = 0; k < rank; k++)
            rest = (rest ^ kept[k]) < rest ? rest ^ kept[k] : rest;
        if (rest)
            kept[rank++] = rest;
    }
    return rank;
}

/* The number of rows of banks that one access of 2^lane_bits lanes takes, with 2^bytes bytes each, in layout `l`. A
   lane's word is a combination of images, so each bank that is accessed has as many of the different words: all of
   them, divided by the number of banks. */
static uint32_t rows_of_banks(const cg_layout *l, uint32_t size, uint32_t bytes, uint32_t lane_bits)
{
    uint32_t words[CG_LANE_BITS], banks[CG_LANE_BITS];
    for (uint32_t i = 0; i < lane_bits; i++) {
        words[i] = l->lane[i] << size >> (bytes > BANK_BYTES_LOG2 ? bytes : BANK_BYTES_LOG2);
        banks[i] = words[i] & (((uint32_t)1 << lane_bits) - 1);
    }
    return (uint32_t)1 << (rank_of(words, lane_bits) - rank_of(banks, lane_bits));
}

/* The number of rows of banks that a warp's accesses to all its registers take; each access counts as one more.
   size: log2 of an element's bytes. */
static uint32_t cost_of(const cg_func *c, const cg_layout *l, uint32_t size, bool store)
{
    cg_matrices m;
    if (size == 1 && (store ? cg_matrices_store(c, l, &m) : cg_find_matrices(l, &m))) {
        uint32_t rows = rows_of_banks(&m.rows, size, MOST_VECTOR_LOG2, 3);
        return ((rows << m.bits) + 1) << (l->reg_bits - 1 - m.bits);
    }
    uint32_t vector = vector_of(l, size), bytes = size + vector;
    uint32_t parts = bytes > BANK_BYTES_LOG2 ? bytes - BANK_BYTES_LOG2 : 0; /* log2 */
    uint32_t rows = rows_of_banks(l, size, bytes, CG_LANE_BITS - parts) << parts;
    return (rows + 1) << (l->reg_bits - vector);
}

/* Row-major order, or the order in which the vectors of `first` are contiguous; the parts of the warps of `apart`
   follow each other. */
static arrangement plain_arrangement(const cg_layout *first, uint32_t tile_bits, uint32_t most, const cg_layout *apart)
{
    arrangement o = {.place = {0}};
    uint32_t next = 0, placed = 0, warps = apart ? cg_images(apart->warp, apart->warp_bits) : 0;
    for (uint32_t i = 0; first && i < first->reg_bits && next < most; i++)
        if (first->reg[i] && !(first->reg[i] & (first->reg[i] - 1)) && !(placed & first->reg[i])) {
            o.place[tv_trailing_zeros(first->reg[i])] = (uint8_t)next++;
            placed |= first->reg[i];
        }
    for (uint32_t b = 0; b < tile_bits; b++)
        if (!((placed | warps) >> b & 1))
            o.place[b] = (uint8_t)next++;
    for (uint32_t i = 0; apart && i < apart->warp_bits; i++)
        o.place[tv_trailing_zeros(apart->warp[i])] = (uint8_t)next++;
    return o;
}

static arrangement best_arrangement(const cg_func *c, const cg_layout *from, const cg_layout *to, uint32_t size,
                                    bool in_warps, uint32_t *out_cost)
{
    const cg_layout *apart = in_warps ? from : NULL;
    uint32_t most = size < MOST_VECTOR_LOG2 ? MOST_VECTOR_LOG2 - size : 0;
    const cg_layout *const firsts[] = {NULL, from, to};
    arrangement best = plain_arrangement(NULL, from->tile_bits, most, apart);
    *out_cost = UINT32_MAX;
    for (int i = 0; i < 3; i++) {
        arrangement o = plain_arrangement(firsts[i], from->tile_bits, most, apart);
        cg_layout a = arranged(&o, from), b = arranged(&o, to);
        uint32_t vector = unit_of(&a, size), other = unit_of(&b, size);
        vector = vector > other ? vector : other;
        o.chunk = vector > BANK_BYTES_LOG2 - size || size > BANK_BYTES_LOG2 ? vector : BANK_BYTES_LOG2 - size;
        for (uint32_t step = 0;; step++) {
            if (step) { /* the bits that are XORed must be above their targets */
                o.bits = ROW_BYTES_LOG2 - size - o.chunk;
                o.from = o.chunk + o.bits + step - 1;
            }
            if (o.from + (step ? 1 : 0) > from->tile_bits)
                break;
            a = arranged(&o, from);
            b = arranged(&o, to);
            uint32_t cost = cost_of(c, &a, size, true) + cost_of(c, &b, size, false);
            if (cost < *out_cost) {
                best = o;
                *out_cost = cost;
            }
        }
    }
    return best;
}

/* ---- in halves ---- */

/* The register bit of the layout whose image alone contains bit b of the index. UINT32_MAX: there is none. */
static uint32_t register_bit_of(const cg_layout *l, uint32_t b)
{
    uint8_t bit;
    return cg_layout_vector(l, b, 1, &bit) ? bit : UINT32_MAX;
}

/* A bit of the index that is the image of one register bit and in no other image; preferably one for which this is
   true in `to` as well, above the bits of an access there. UINT32_MAX: there is none. */
static uint32_t splitting_bit(const cg_layout *from, const cg_layout *to)
{
    uint32_t best = UINT32_MAX, beyond = 0;
    for (uint32_t b = 0; b < from->tile_bits; b++) {
        uint32_t bit = register_bit_of(from, b), other = register_bit_of(to, b);
        if (bit == UINT32_MAX || (best != UINT32_MAX && (other == UINT32_MAX || other < beyond)))
            continue;
        best = b;
        beyond = other == UINT32_MAX ? 0 : other;
    }
    return best;
}

static cg_layout without_bit(const cg_layout *l, uint32_t bit, uint32_t *out_kept)
{
    cg_layout r = cg_layout_clear(l, (uint32_t)1 << bit);
    r = cg_layout_squeeze(&r, (uint32_t)1 << bit);
    return cg_layout_drop_replicas(&r, out_kept);
}

static void convert_halves(cg_func *c, const ct_op *op, bc_kind kind, const cg_layout *from, const cg_val *regs,
                           const cg_layout *to, uint32_t bit, cg_val *out)
{
    uint32_t kept, to_kept, mask = (uint32_t)1 << bit;
    uint8_t reg_bit;
    cg_layout a = without_bit(from, bit, &kept), b = without_bit(to, bit, &to_kept);
    cg_layout_vector(from, bit, 1, &reg_bit);
    const cg_val *halves[2];
    for (uint32_t h = 0; h < 2; h++) {
        cg_val *half = cg_vals(c, cg_layout_regs(&a));
        for (uint32_t r = 0; half && r < cg_layout_regs(&a); r++)
            half[r] = regs[cg_scatter_bits(r, kept) | h << reg_bit];
        halves[h] = half ? cg_convert(c, op, kind, &a, half, &b) : NULL;
        if (!halves[h])
            return;
    }
    cg_val thread = cg_thread_index(c, to, mask, bit), upper = cg_const(CG_PRED, 0);
    if (!thread.known) {
        upper = cg_new(c, CG_PRED);
        cg_ins(c, "setp.ne.u32 %v, %v, 0", upper, thread);
    }
    for (uint32_t r = 0; r < cg_layout_regs(to); r++) {
        uint32_t h = cg_layout_reg(to, r) >> bit & 1, at = cg_gather_bits(r, to_kept);
        out[r] = cg_select(c, upper, halves[!h][at], halves[h][at]);
    }
}

/* ---- the choice ---- */

static bool same_threads(const cg_layout *from, const cg_layout *to)
{
    for (uint32_t i = 0; i < CG_LANE_BITS; i++)
        if (from->lane[i] != to->lane[i])
            return false;
    for (uint32_t i = 0; i < from->warp_bits; i++)
        if (from->warp[i] != to->warp[i])
            return false;
    return true;
}

static basis basis_of_registers(const cg_layout *l)
{
    basis b = {0};
    for (uint32_t i = 0; i < l->reg_bits; i++)
        add(&b, l->reg[i], (uint32_t)1 << i, 0);
    return b;
}

/* Does each thread have in `from` all registers that `to` needs? */
static bool has_registers(const cg_layout *from, const cg_layout *to)
{
    basis b = basis_of_registers(from);
    uint32_t reg = 0, lane = 0;
    for (uint32_t i = 0; i < to->reg_bits; i++)
        if (reduce(&b, to->reg[i], &reg, &lane))
            return false;
    return same_threads(from, to);
}

static void rename_registers(const cg_layout *from, const cg_val *regs, const cg_layout *to, cg_val *out)
{
    basis b = basis_of_registers(from);
    for (uint32_t w = 0; w < cg_layout_regs(to); w++) {
        uint32_t reg = 0, lane = 0;
        reduce(&b, cg_layout_reg(to, w), &reg, &lane);
        out[w] = regs[reg];
    }
}

/* Does every element stay in its warp, and do bits of its index alone tell which that is? False if there is only one
   warp. */
static bool stays_in_warp(const cg_func *c, const cg_layout *from, const cg_layout *to)
{
    uint32_t warps = cg_images(from->warp, from->warp_bits);
    bool same = !c->strip_bits && warps && cg_count_bits(warps) == from->warp_bits
                && memcmp(from->warp, to->warp, from->warp_bits * sizeof *to->warp) == 0;
    for (uint32_t i = 0; i < from->warp_bits; i++)
        same = same && cg_count_bits(from->warp[i]) == 1;
    uint32_t others = cg_layout_reg_images(from) | cg_images(from->lane, CG_LANE_BITS) | cg_layout_reg_images(to)
                      | cg_images(to->lane, CG_LANE_BITS);
    return same && !(warps & others);
}

static void convert_in_shared(cg_func *c, const ct_op *op, bc_kind kind, const arrangement *o, bool in_warps,
                              const cg_layout *from, const cg_val *regs, const cg_layout *to, cg_val *out)
{
    cg_layout stored = arranged(o, from), loaded = arranged(o, to);
    cg_val base = cg_scratch(c, op, cg_memory_bytes(kind) << from->tile_bits);
    cg_flat_store(c, kind, base, &stored, regs);
    (in_warps ? cg_warp_barrier : cg_barrier)(c);
    cg_flat_load(c, kind, base, &loaded, out);
}

/* The method, with its parameters. */
typedef struct plan {
    cg_conversion how;
    exchange exchange;
    arrangement arrangement;
    bool in_warps;
} plan;

static bool fits_scratch(const cg_func *c, const ct_op *op, uint64_t bytes)
{
    return bytes <= CG_MAX_SCRATCH && bytes <= cg_scratch_room(c, op);
}

static void make_plan(const cg_func *c, const ct_op *op, bc_kind kind, const cg_layout *from, const cg_layout *to,
                      plan *p)
{
    enum { BARRIERS_COST = 32 }; /* of the two barriers, in rows of banks */
    p->how = (cg_conversion){.way = CG_BY_NAMES, .bytes = (uint64_t)cg_memory_bytes(kind) << from->tile_bits};
    if (has_registers(from, to))
        return;
    uint32_t cost;
    p->in_warps = stays_in_warp(c, from, to);
    p->arrangement = best_arrangement(c, from, to, tv_trailing_zeros(cg_memory_bytes(kind)), p->in_warps, &cost);
    p->how.way = fits_scratch(c, op, p->how.bytes) ? CG_BY_SHARED : CG_BY_HALVES;
    if (find_exchange(from, to, &p->exchange)) {
        p->how.shuffles = shuffle_count(&p->exchange, kind, to);
        if (p->how.shuffles <= cost + BARRIERS_COST)
            p->how.way = CG_BY_SHUFFLES;
    }
    if (p->how.way != CG_BY_SHUFFLES && (cg_strip_varies(c, from) || cg_strip_varies(c, to)))
        p->how.way = CG_BY_PIECES;
}

cg_conversion cg_conversion_of(const cg_func *c, const ct_op *op, bc_kind kind, const cg_layout *from,
                               const cg_layout *to)
{
    plan p;
    make_plan(c, op, kind, from, to, &p);
    return p.how;
}

void cg_add_conversion(cg_func *c, ct_op *op, bc_kind kind, const cg_layout *from, const cg_layout *to)
{
    plan p;
    make_plan(c, op, kind, from, to, &p);
    if (p.how.way == CG_BY_SHARED) {
        cg_effect *e = cg_add_scratch(c, op, (uint32_t)p.how.bytes);
        if (e && p.in_warps)
            e->span.of_warp = e->span.to >> c->warp_bits;
    } else if (p.how.way == CG_BY_HALVES && splitting_bit(from, to) != UINT32_MAX) {
        uint32_t bit = splitting_bit(from, to), kept;
        cg_layout a = without_bit(from, bit, &kept), b = without_bit(to, bit, &kept);
        for (int i = 0; i < 2; i++)
            cg_add_conversion(c, op, kind, &a, &b);
    }
}

cg_val *cg_convert(cg_func *c, const ct_op *op, bc_kind kind, const cg_layout *from, const cg_val *regs,
                   const cg_layout *to)
{
    cg_val *out = cg_vals(c, cg_layout_regs(to));
    plan p;
    if (!out)
        return NULL;
    make_plan(c, op, kind, from, to, &p);
    switch (p.how.way) {
    case CG_BY_NAMES: rename_registers(from, regs, to, out); break;
    case CG_BY_SHUFFLES: shuffle_all(c, kind, &p.exchange, regs, to, out); break;
    case CG_BY_SHARED: convert_in_shared(c, op, kind, &p.arrangement, p.in_warps, from, regs, to, out); break;
    case CG_BY_HALVES: {
        uint32_t bit = splitting_bit(from, to);
        if (bit == UINT32_MAX)
            cg_unsupported(c, cg_lowered(c),
                           "a tile of %u KiB is wanted in another layout; there is shared memory for %u KiB",
                           (unsigned)(p.how.bytes / 1024), CG_MAX_SCRATCH / 1024);
        else
            convert_halves(c, op, kind, from, regs, to, bit, out);
        break;
    }
    case CG_BY_PIECES: break; /* not here; see cg_strip_transfer */
    }
    return out;
}

void cg_shared_layouts(const cg_func *c, bc_kind kind, const cg_layout *from, const cg_layout *to,
                       cg_layout *out_stored, cg_layout *out_loaded)
{
    uint32_t cost;
    arrangement o = best_arrangement(c, from, to, tv_trailing_zeros(cg_memory_bytes(kind)), false, &cost);
    *out_stored = arranged(&o, from);
    *out_loaded = arranged(&o, to);
}
