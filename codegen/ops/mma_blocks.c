/* Products of f32, and of f64 in tiles that its instruction does not take, with all bits of their operands. Each
   thread has a block of rows and columns of the result in registers. For every four elements of K, it loads its rows
   of A and its columns of B from shared memory, in vectors of 16 bytes along K or along the rows and columns. They
   lie there in encodings, in a ring or in scratch. Each element is used once per column or row of the block. Sums
   are fused; the accumulator is added last for f32, first for f64 (docs/reference/numerics.md). */
#include "codegen/ops/mma.h"
#include "codegen/ptx/access.h"
#include "codegen/ptx/ptx.h"
#include "codegen/values/memory.h"
#include "codegen/values/values.h"

enum { MOST_ADDRESSES = 16, AT_ONCE = 1 << CG_BLOCK_K_BITS };

/* One operand. A "line" is a row of A or a column of B. */
typedef struct side {
    const cg_operand *o;
    cg_vectors vectors;
    uint32_t of;     /* bits of a register's number in the result that select one of the thread's lines */
    uint32_t moving; /* bits of positions that differ between threads or iterations */
    cg_val place;    /* of the iteration's first element */
    uint32_t count;  /* of addresses, by those bits of the position */
    uint32_t part[MOST_ADDRESSES];
    cg_val address[MOST_ADDRESSES];
    cg_val *x; /* by line, then by k */
} side;

typedef struct block {
    const cg_product *p;
    const cg_layout *layout; /* of the result */
    uint32_t k, trip;        /* log2 of the elements of K: in the part, in an iteration */
    uint32_t first;          /* the part's first element along all of K */
    side sides[2 * CG_MOST_TOGETHER];
    uint32_t side_count, count; /* of sides; of products */
    const cg_pair *of;          /* by product */
    cg_val *const *sums;
} block;

/* ---- positions ---- */

/* place ^ the images of the bits of k. Bits that move in the same way are combined. */
static cg_val moved_along(cg_func *c, cg_val place, cg_val k, const uint32_t *images, uint32_t from, uint32_t to)
{
    uint32_t left[CG_MAX_REG_BITS];
    for (uint32_t i = from; i < to; i++)
        left[i] = images[i];
    for (uint32_t i = from; i < to; i += !left[i]) {
        if (!left[i])
            continue;
        uint32_t at = tv_trailing_zeros(left[i]), mask = 0;
        for (uint32_t b = i; b < to; b++) {
            uint32_t bit = (uint32_t)((uint64_t)1 << (b + at) >> i);
            mask |= left[b] & bit ? (uint32_t)1 << b : 0;
            left[b] &= ~bit;
        }
        cg_val some = cg_new(c, CG_B32), there = cg_new(c, CG_B32), sum = cg_new(c, CG_B32);
        cg_ins(c, "and.b32 %v, %v, %x", some, k, mask);
        cg_ins(c, at < i ? "shr.u32 %v, %v, %u" : "shl.b32 %v, %v, %u", there, some, at < i ? i - at : at - i);
        cg_ins(c, "xor.b32 %v, %r, %v", sum, place, there);
        place = sum;
    }
    return place;
}

static void describe_side(cg_func *c, const block *b, const cg_operand *o, side *s)
{
    cg_layout lines = cg_lines_layout(b->p, o->left, o->k, b->layout);
    s->o = o;
    s->vectors = cg_vectors_of(&o->lanes, o->encoding.bytes);
    for (uint32_t i = 0; i < lines.reg_bits; i++)
        s->of |= lines.reg[i] ? (uint32_t)1 << i : 0;
    s->x = cg_vals(c, (size_t)AT_ONCE << cg_count_bits(s->of));
    s->moving = cg_layout_thread_images(&o->lanes) | cg_images(o->lanes.reg + b->trip, o->k - b->trip);
}

/* Sets the position at which an iteration begins. k: its first element in the part. */
static void begin_trip(cg_func *c, const block *b, side *s, cg_val k)
{
    const cg_layout *l = &s->o->lanes;
    s->place = cg_thread_index(c, l, (uint32_t)(((uint64_t)1 << l->tile_bits) - 1), 0);
    s->place = moved_along(c, s->place, k, l->reg, b->trip, b->k);
    s->count = 0;
}

/* base + place * bytes, for positions with the moving bits `part`. */
static cg_val address_of(cg_func *c, side *s, uint32_t part)
{
    for (uint32_t i = 0; i < s->count; i++)
        if (s->part[i] == part)
            return s->address[i];
    cg_val place = cg_reg(c, s->place), address = cg_new(c, CG_B32);
    if (part) {
        place = cg_new(c, CG_B32);
        cg_ins(c, "xor.b32 %v, %r, %x", place, s->place, part);
    }
    cg_ins(c, "mad.lo.u32 %v, %v, %u, %v", address, place, s->o->encoding.bytes, s->o->base);
    if (s->count < MOST_ADDRESSES) {
        s->part[s->count] = part;
        s->address[s->count++] = address;
    }
    return address;
}

/* ---- operands ---- */

/* Loads the elements of all lines at the iteration's k `first` + `at`, or the vectors along K that begin there. An
   operand in a ring has all of K, and the part begins somewhere in it. */
static void load_lines(cg_func *c, const block *b, side *s, uint32_t first, uint32_t at)
{
    const cg_layout *l = &s->o->lanes;
    uint32_t k_bits = s->o->k, bytes = s->o->encoding.bytes, part = k_bits == b->p->k ? b->first : 0;
    for (uint32_t line = 0; line < 1u << cg_count_bits(s->of); line++) {
        uint32_t r = part | first | at | line << k_bits, place = cg_layout_reg(l, r);
        if (r & s->vectors.mask)
            continue;
        cg_val x[CG_MAX_VECTOR];
        cg_access a = {.kind = b->p->in,
                       .space = "shared",
                       .order = "",
                       .address = address_of(c, s, place & s->moving),
                       .offset = (int64_t)(place & ~s->moving) * bytes,
                       .predicate = cg_const(CG_PRED, 1)};
        cg_load_vector(c, &a, 1u << s->vectors.bits, NULL, x);
        for (uint32_t n = 0; n < 1u << s->vectors.bits; n++) {
            uint32_t to = r | cg_layout_member(s->vectors.reg_bit, s->vectors.bits, n);
            s->x[to % AT_ONCE | to >> k_bits << CG_BLOCK_K_BITS] = x[n];
        }
    }
}

/* The sums of product i += a * b at one k. */
static void multiply(cg_func *c, const block *b, uint32_t i, uint32_t k)
{
    const side *left = &b->sides[b->of[i].left], *right = &b->sides[b->of[i].right];
    bool wide = b->p->acc == BC_F64;
    for (uint32_t r = 0; r < cg_layout_regs(b->layout) && !c->failed; r++) {
        cg_val *sum = &b->sums[i][r], before = cg_reg(c, *sum);
        if (sum->known)
            *sum = cg_new(c, CG_B32);
        cg_ins(c, wide ? "fma.rn.f64 %v, %v, %v, %v" : "fma.rn.f32 %v, %v, %v, %v", *sum,
               left->x[cg_gather_bits(r, left->of) << CG_BLOCK_K_BITS | k],
               right->x[cg_gather_bits(r, right->of) << CG_BLOCK_K_BITS | k], before);
    }
}

static void do_trip(cg_func *c, block *b, cg_val k)
{
    for (uint32_t i = 0; i < b->side_count; i++)
        begin_trip(c, b, &b->sides[i], k);
    for (uint32_t at = 0; at < 1u << b->trip && !c->failed; at++) {
        for (uint32_t i = 0; i < b->side_count; i++)
            load_lines(c, b, &b->sides[i], at - at % AT_ONCE, at % AT_ONCE);
        for (uint32_t i = 0; i < b->count; i++)
            multiply(c, b, i, at % AT_ONCE);
    }
}

/* ---- the product ---- */

/* log2 of the elements of K in an iteration: as many as keep its text no longer than that of the largest block. */
static uint32_t trip_bits(const block *b, uint32_t k)
{
    enum { TEXT = 10 }; /* log2 of multiplications */
    uint32_t bits = CG_BLOCK_K_BITS, sums = b->layout->reg_bits + cg_log2_up(b->count);
    while (bits < k && bits + sums < TEXT)
        bits++;
    return bits;
}

/* Moves sums that a loop changes to registers. */
static void put_in_registers(cg_func *c, cg_val *sums, uint32_t count)
{
    for (uint32_t r = 0; r < count; r++) {
        if (!sums[r].known)
            continue;
        sums[r] = cg_new(c, CG_B32);
        cg_ins(c, "mov.b32 %v, 0", sums[r]);
    }
}

void cg_multiply_blocks(cg_func *c, const cg_product *p, const cg_factors *f, uint32_t part, cg_val *const *sums)
{
    block *b = bc_new(&c->arena, block, 1);
    if (!b || c->failed)
        return;
    uint32_t k_bits = p->k - f->parts, head = cg_label(c);
    *b = (block){.p = p,
                 .layout = cg_value_of(c, p->result)->home,
                 .side_count = f->count,
                 .count = p->together->count,
                 .of = f->of,
                 .k = k_bits,
                 .first = part << k_bits,
                 .sums = sums};
    b->trip = trip_bits(b, k_bits);
    for (uint32_t i = 0; i < f->count; i++)
        describe_side(c, b, &f->operands[i], &b->sides[i]);
    if (b->trip == k_bits) {
        do_trip(c, b, cg_const(CG_B32, 0));
        return;
    }
    cg_val k = cg_new(c, CG_B32), again = cg_new(c, CG_PRED);
    for (uint32_t i = 0; i < b->count; i++)
        put_in_registers(c, sums[i], cg_layout_regs(b->layout));
    cg_ins(c, "mov.u32 %v, 0", k);
    cg_place_label(c, head);
    do_trip(c, b, k);
    cg_ins(c, "add.u32 %v, %v, %u", k, k, 1u << b->trip);
    cg_ins(c, "setp.lt.u32 %v, %v, %u", again, k, 1u << k_bits);
    cg_ins(c, "@%v bra %l", again, head);
}

cg_val *cg_block_sums(cg_func *c, const cg_product *p)
{
    bool wide = p->acc == BC_F64;
    const cg_layout *l = cg_value_of(c, p->result)->home;
    uint32_t count = cg_layout_regs(l);
    const cg_val *start = wide ? cg_get(c, p->c, l) : NULL;
    cg_val *sums = cg_vals(c, count);
    for (uint32_t r = 0; sums && r < count && !c->failed; r++) {
        sums[r] = wide ? cg_new(c, CG_B64) : cg_const(CG_B32, 0);
        if (wide)
            cg_ins(c, "mov.b64 %v, %r", sums[r], start[r]);
    }
    return sums;
}

void cg_end_block_sums(cg_func *c, const cg_product *p, cg_val *sums)
{
    const cg_layout *l = cg_value_of(c, p->result)->home;
    const cg_val *start = p->acc == BC_F64 ? NULL : cg_get(c, p->c, l);
    for (uint32_t r = 0; start && r < cg_layout_regs(l); r++) {
        cg_val sum = sums[r];
        sums[r] = cg_new(c, CG_B32);
        cg_ins(c, "add.rn.f32 %v, %v, %r", sums[r], sum, start[r]);
    }
    if (!c->failed)
        cg_set(c, p->result, sums);
}
