/* The operands of products in shared memory: their encodings, their places in scratch and how they get there, and the
   effects of products on memory. */
#include "codegen/analysis/scaling.h"
#include "codegen/analysis/tensor.h"
#include "codegen/ops/hooks.h"
#include "codegen/ptx/by_stores.h"
#include "codegen/ops/mma.h"
#include "codegen/ops/slots.h"
#include "codegen/ptx/ptx.h"
#include "codegen/values/effects.h"
#include "codegen/values/memory.h"
#include "codegen/values/values.h"

/* The elements at which the lanes of an ldmatrix.x4 point, as bits of the operand's index: K begins at bit k0, and M
   or N, with x_bits bits, at x0. A: the matrices have the order (m, k) = (0,0) (8,0) (0,8) (8,8), with k in 16-byte
   chunks. B for 16 columns: (n, k) = (0,0) (0,8) (8,0) (8,8). With fewer than 16 rows or columns, the upper lanes
   point at the same ones again. Pairs: one matrix has k in rows 0, 1, 4, 5, 8 ..., the next one 2, 3, 6, 7 ..., and
   the other two are 16 further. */
static cg_layout lanes_of_matrices(const cg_product *p, const cg_operand *o, uint32_t k0, uint32_t x0, uint32_t x_bits)
{
    static const uint8_t pair_lanes[] = {0, 2, 3, 1, 4};
    uint32_t one = 1, upper_k = one << (k0 + p->atom.k_bits - 1), upper_x = x_bits > 3 ? one << (x0 + 3) : 0;
    cg_layout l = {.reg_bits = 0};
    for (uint32_t i = 0; i < 3; i++)
        l.lane[i] = o->across ? one << (k0 + i) : i < x_bits ? one << (x0 + i) : 0;
    l.lane[3] = o->left ? upper_x : upper_k;
    l.lane[4] = o->left ? upper_k : upper_x;
    for (uint32_t i = 0; (o->left ? p->row_pairs : p->pairs) && i < CG_LANE_BITS; i++)
        l.lane[i] = one << (k0 + pair_lanes[i]);
    return l;
}

/* The same if each lane loads its own four elements, which registers count in the order of a fragment. For A: 8 rows
   below, then 4 further along K. For B: 4 further along K, then 8 columns further. */
static cg_layout lanes_of_elements(const cg_operand *o, uint32_t k0, uint32_t x0, uint32_t x_bits)
{
    uint32_t one = 1, upper_k = one << (k0 + 2), upper_x = x_bits > 3 ? one << (x0 + 3) : 0;
    cg_layout l = {.reg_bits = 2, .reg = {o->left ? upper_x : upper_k, o->left ? upper_k : upper_x}};
    for (uint32_t i = 0; i < CG_LANE_BITS; i++)
        l.lane[i] = one << (i < 2 ? k0 + i : x0 + i - 2);
    return l;
}

/* Either of the two, extended by registers for K beyond the instruction's, rows or columns beyond 16, and batches,
   and by warps. */
static cg_layout lanes_of(const cg_func *c, const cg_product *p, const cg_operand *o)
{
    uint32_t one = 1, k0 = o->left ? 0 : p->n, x0 = o->left ? o->k : 0, x_bits = o->left ? p->m : p->n - p->along_n;
    cg_layout l = o->by_elements ? lanes_of_elements(o, k0, x0, x_bits) : lanes_of_matrices(p, o, k0, x0, x_bits);
    l.warp_bits = (uint8_t)c->warp_bits;
    for (uint32_t i = p->atom.k_bits; i < o->k; i++)
        l.reg[l.reg_bits++] = one << (k0 + i);
    for (uint32_t i = o->left ? 4 + p->along_m : 4; i < x_bits; i++)
        l.reg[l.reg_bits++] = one << (x0 + i);
    for (uint32_t i = 0; i < p->batch; i++)
        l.reg[l.reg_bits++] = one << (o->k + (o->left ? p->m : p->n) + i);
    for (uint32_t i = 0; o->left && i < p->along_m; i++)
        l.warp[i] = one << (x0 + 4 + i);
    for (uint32_t i = 0; !o->left && i < p->along_n; i++)
        l.warp[p->along_m + i] = one << (x0 + x_bits + i);
    return l;
}

/* The elements that a thread of a blocked product reads: registers count K, then its rows or columns. */
static cg_layout block_lines(cg_func *c, const cg_product *p, const cg_operand *o)
{
    const cg_layout *result = cg_value_of(c, p->result)->home;
    cg_layout l = cg_lines_layout(p, o->left, o->k, result), r = l;
    r.reg_bits = 0;
    for (uint32_t i = 0; i < o->k; i++)
        r.reg[r.reg_bits++] = (uint32_t)1 << (i + (o->left ? 0 : p->n));
    for (uint32_t i = 0; i < l.reg_bits; i++)
        if (l.reg[i])
            r.reg[r.reg_bits++] = l.reg[i];
    return r;
}

/* Can stmatrix store B, in layout l, in rows along K, and does a thread have at most two neighbours along K? If so,
   a quarter of the stores is enough, and words are stored as accumulators hold them. */
static bool goes_by_matrices(const cg_func *c, const cg_product *p, const cg_layout *l)
{
    cg_encoding s = cg_encoding_new(p->k, p->n, p->batch, cg_memory_bytes(p->in), CG_FEED_ROWS);
    cg_layout places = cg_encoding_layout(&s, l);
    cg_matrices m;
    uint8_t reg_bit[2];
    bool by_warps = p->instruction == CG_BY_MMA || p->instruction == CG_BY_REORDERED_MMA;
    return by_warps && p->atom.element_bits == 1 && cg_layout_vector(l, p->n, 2, reg_bit) < 2
           && cg_matrices_store(c, &places, &m);
}

/* In the operand's encoding with 2^parts K slices, is the last dimension contiguous, not the one before it? */
static bool goes_along_last(const cg_func *c, const cg_product *p, bool left, uint32_t parts, const cg_layout *l)
{
    return cg_runs_along_last(l, left ? p->k : p->n) || (!left && !parts && goes_by_matrices(c, p, l));
}

/* tcgen05 reads bytes in either order, if a row has at least two chunks of 16 bytes. */
static bool reads_bytes_across(const cg_product *p, bool left)
{
    enum { TWO_CHUNKS = 5 };
    return p->instruction == CG_BY_TCGEN05 && p->atom.element_bits == 2 && cg_tcgen05_reads_across(p, left)
           && (left ? p->m : p->n) >= TWO_CHUNKS;
}

/* Is the operand in registers, as fragments? */
static bool is_held(const cg_func *c, const cg_product *p, bool left, const cg_layout *read)
{
    cg_layout fragments = cg_fragment_layout(c, p);
    return left ? cg_takes_fragments(p) && p->instruction != CG_BY_TCGEN05 && cg_layout_equal(read, &fragments)
                : p->held & 2;
}

/* Describes an operand. parts: bits of K that number the slices in which it is stored to scratch. */
static cg_operand operand_of(cg_func *c, const cg_product *p, bool left, uint32_t parts)
{
    enum { MATRIX_ROWS = 3 }; /* log2, of 16 bits each: a chunk of 16 bytes */
    const cg_layout *read = cg_value_of(c, p->result)->source + !left;
    cg_operand o = {.left = left, .v = left ? p->lhs : p->rhs, .read = read, .k = p->k};
    const cg_encoding *ring = cg_encoding_of(o.v);
    bool blocked = p->instruction == CG_BY_BLOCKS, reordered = p->instruction == CG_BY_REORDERED_MMA;
    if (ring) { /* across: neighbours along K are not adjacent */
        cg_layout probe = {.reg_bits = 1, .reg = {(uint32_t)1 << (left ? 0 : p->n)}};
        probe = cg_from_bytes(p, left, &probe);
        o.source = CG_FROM_RING;
        o.encoding = *ring;
        o.base = cg_tile_in_slot(cg_source_of(o.v)->op);
        o.across = cg_encoding_layout_of(o.v, &probe).reg[0] != 1;
    } else if (is_held(c, p, left, read)) {
        o.source = CG_FROM_REGISTERS;
        return o;
    } else {
        cg_layout l = cg_as_bytes(p, left, read);
        bool along_last = goes_along_last(c, p, left, parts, &l);
        o.k = p->k - parts;
        uint32_t rows = left ? p->m : o.k, columns = left ? o.k : p->n;
        bool either = p->atom.element_bits == 1 || reads_bytes_across(p, left);
        o.across = left ? p->row_pairs || (either && !along_last && p->m >= MATRIX_ROWS)
                        : p->pairs || (either && along_last && !reordered);
        bool as_it_is = blocked || p->in == BC_F64; /* false: A in rows of M, B in rows of K, unless transposed */
        bool flipped = as_it_is ? !along_last : o.across == left;
        cg_feed feed = cg_scratch_feed(p, left, along_last);
        o.encoding =
            cg_encoding_new(flipped ? columns : rows, flipped ? rows : columns, p->batch, cg_memory_bytes(p->in), feed);
        o.encoding.flipped = flipped;
    }
    o.by_elements = p->in == BC_F64 || (p->in == BC_TF32 && o.across);
    cg_layout lanes = blocked     ? block_lines(c, p, &o)
                      : reordered ? cg_vector_lanes(c, p)
                                  : lanes_of(c, p, &o),
              elements = cg_from_bytes(p, left, &lanes);
    o.lanes = ring ? cg_encoding_layout_of(o.v, &elements) : cg_encoding_layout(&o.encoding, &lanes);
    return o;
}

/* A left operand that its product stores to tensor memory. */
static cg_operand operand_in_tensor(cg_func *c, const cg_product *p)
{
    return (cg_operand){
        .left = true, .v = p->lhs, .read = cg_value_of(c, p->result)->source, .source = CG_FROM_TENSOR, .k = p->k};
}

/* Bytes of scratch for the operand. */
static uint32_t operand_bytes(const cg_operand *o, bool async)
{
    uint32_t align = async ? CG_ENCODING_ALIGN : 16;
    return o->source != CG_FROM_SCRATCH ? 0 : (cg_encoding_bytes(&o->encoding) + o->beyond + align - 1) & ~(align - 1);
}

/* Finds the offset of each operand, and returns the end of the last one. */
static uint32_t place_operands(const cg_operand *operands, uint32_t count, bool async, uint32_t *out_at)
{
    uint32_t at = 0;
    for (uint32_t i = 0; i < count; i++) {
        out_at[i] = at;
        at += operand_bytes(&operands[i], async);
    }
    return at;
}

static uint32_t beyond_of(const cg_product *p, const cg_operand *o)
{
    bool may_be_spread = o->left && o->source == CG_FROM_SCRATCH && p->instruction == CG_BY_TCGEN05;
    return may_be_spread ? cg_tcgen05_beyond(p, cg_encoding_row_bytes(&o->encoding) << CG_GROUP_ROW_BITS) : 0;
}

static uint32_t add_operand(cg_func *c, cg_factors *f, const cg_product *p, bool left)
{
    cg_operand o = left && cg_left_in_tensor(c, p->result->op) ? operand_in_tensor(c, p)
                                                               : operand_of(c, p, left, f->parts);
    for (uint32_t i = 0; i < f->count; i++)
        if (f->operands[i].left == left && cg_is_same_operand(f->operands[i].v, o.v))
            return i;
    o.beyond = beyond_of(p, &o);
    f->operands[f->count] = o;
    return f->count++;
}

const cg_product *cg_settled_product(cg_func *c, const ct_op *op)
{
    return cg_value_of(c, cg_result(op, 0))->product;
}

void cg_add_operands(cg_func *c, cg_factors *f, const cg_product *p)
{
    f->count = 0;
    for (uint32_t i = 0; i < p->together->count; i++) {
        const cg_product *one = cg_settled_product(c, p->together->ops[i]);
        f->of[i] = (cg_pair){.left = add_operand(c, f, one, true)};
        f->of[i].right = add_operand(c, f, one, false);
    }
}

uint32_t cg_find_factors(cg_func *c, const ct_op *op, const cg_product *p, cg_factors *f)
{
    uint32_t at[2 * CG_MOST_TOGETHER];
    for (f->parts = 0;; f->parts++) {
        cg_add_operands(c, f, p);
        uint32_t bytes = place_operands(f->operands, f->count, cg_has_trait(p, CG_READS_PLACED), at);
        if (bytes <= cg_scratch_room(c, op) || p->k - f->parts == p->atom.k_bits
            || p->instruction == CG_BY_REORDERED_MMA)
            return bytes;
    }
}

bool cg_is_async(const cg_product *p, const cg_factors *f)
{
    return p->instruction == CG_BY_TCGEN05
           || (p->instruction == CG_BY_WGMMA && !f->parts && cg_can_multiply_async(p, f->operands));
}

bool cg_reads_scratch_only(cg_func *c, const ct_op *op)
{
    cg_factors f;
    const cg_product *p = cg_settled_product(c, op);
    cg_find_factors(c, op, p, &f);
    bool all = cg_is_async(p, &f);
    for (uint32_t i = 0; i < f.count; i++)
        all = all && f.operands[i].source == CG_FROM_SCRATCH;
    return all;
}

/* The ring whose slots hold the operand; NULL: it is in registers. */
static const cg_ring *ring_of(const ct_value *operand)
{
    const ct_op *staged = cg_encoding_of(operand) ? cg_source_of(operand)->op : NULL;
    return staged ? cg_ring_of(staged, staged->from->operand_count) : NULL;
}

/* Adds the effects of an instruction that reads the rings of operands, each ring once. */
static void add_ring_reads(cg_func *c, ct_op *op)
{
    for (uint32_t i = 0; i < op->operand_count; i++) {
        const cg_ring *ring = ring_of(op->operands[i]);
        bool is_new = ring;
        for (uint32_t k = 0; k < i; k++)
            is_new = is_new && ring != ring_of(op->operands[k]);
        if (is_new)
            cg_add_ring(c, op, CG_READS_ASYNC, ring);
    }
}

/* Adds the effects to the first of the products that are computed together. */
static void effects_in_scratch(cg_func *c, ct_op *op, const cg_product *p)
{
    cg_factors f;
    uint32_t at[2 * CG_MOST_TOGETHER], bytes = cg_find_factors(c, op, p, &f);
    bool async = cg_is_async(p, &f);
    bytes = p->instruction == CG_BY_WGMMA && !async ? place_operands(f.operands, f.count, false, at) : bytes;
    for (uint32_t part = 0; bytes && part < (uint32_t)1 << f.parts; part++)
        cg_add_scratch(c, op, bytes);
    if (bytes && async) {
        cg_add_ring(c, op, CG_WRITTEN, NULL);
        cg_add_ring(c, op, CG_READS_ASYNC, NULL);
    }
    if (async)
        add_ring_reads(c, op);
}

/* Of a product by tcgen05. The threads meet before one of them issues it, so that what all of them have stored to
   scratch and to tensor memory is there. A product in flight comes after ops that order it (codegen/ops/tcgen05.c),
   unless it runs ahead: it writes the sum that all threads have loaded. */
static void effects_of_tcgen05(cg_func *c, ct_op *op, const cg_product *p)
{
    cg_factors f;
    uint32_t bytes = cg_find_factors(c, op, p, &f);
    const cg_sum *sum = cg_sum_of(c, op);
    if (sum && sum->issued) { /* other threads store nothing for it here */
        add_ring_reads(c, op);
        return;
    }
    if (sum && sum->meets && (!sum->started || sum->left_columns))
        cg_add_effect(c, op, CG_MEETS);
    for (uint32_t part = 0; bytes && part < (uint32_t)1 << f.parts; part++) {
        cg_add_scratch(c, op, bytes);
        cg_add_ring(c, op, CG_WRITTEN, NULL);
    }
    if (bytes)
        cg_add_ring(c, op, CG_READS_ASYNC, NULL);
    else if (!op->in_flight || op->ahead)
        cg_add_effect(c, op, CG_MEETS);
    add_ring_reads(c, op);
}

static void effects_of_product(cg_func *c, ct_op *op)
{
    const cg_product *p = cg_value_of(c, cg_result(op, 0))->product;
    if (p->instruction == CG_BY_TURNED_WGMMA)
        cg_add_ring(c, op, CG_READS_ASYNC, ring_of(p->lhs)); /* its left operand is read in its slot */
    else if (p->instruction == CG_BY_TCGEN05)
        effects_of_tcgen05(c, op, p);
    else if (p->instruction == CG_BY_ELEMENT)
        cg_effects_plain(c, op, p);
    else if (p->together->ops[0] == op && !op->detail) /* with a detail, both operands are in the ring, for mma.sync */
        effects_in_scratch(c, op, p);
}

void cg_effects_mmaf(cg_func *c, ct_op *op)
{
    effects_of_product(c, op);
}

void cg_effects_mmai(cg_func *c, ct_op *op)
{
    effects_of_product(c, op);
}

void cg_effects_mmaf_scaled(cg_func *c, ct_op *op)
{
    effects_of_product(c, op);
}

void cg_encode_operands(cg_func *c, const ct_op *op, const cg_product *p, cg_factors *f, bool async, uint32_t part)
{
    uint32_t at[2 * CG_MOST_TOGETHER], all = place_operands(f->operands, f->count, async, at);
    uint32_t mask = (((uint32_t)1 << f->parts) - 1) << (p->k - f->parts);
    if (!all)
        return;
    const bool goes_on = cg_goes_on(c, op), by_turns = goes_on && op->effects->first->by_turns;
    if (goes_on && !by_turns)
        cg_await_products(c, 0); /* the previous one, which reads what is overwritten now */
    const cg_turns turns = by_turns ? cg_scratch_by_turns(c, op, all) : (cg_turns){.now = cg_scratch(c, op, all)};
    const cg_val scratch = turns.now;
    for (uint32_t i = 0; i < f->count; i++) {
        cg_operand *o = &f->operands[i];
        if (o->source != CG_FROM_SCRATCH)
            continue;
        const cg_val *regs = cg_pack_bytes(c, p, o->left, o->read, cg_get(c, o->v, o->read));
        cg_layout l = cg_as_bytes(p, o->left, o->read);
        o->base = scratch;
        if (at[i]) {
            o->base = cg_new(c, CG_B32);
            cg_ins(c, "add.u32 %v, %v, %u", o->base, scratch, at[i]);
        }
        if (regs)
            cg_encode(c, &o->encoding, o->base, p->packed ? BC_I8 : p->in, &l, regs, o->left ? mask : mask << p->n,
                      part);
        if (o->beyond)
            cg_store_zeros(c, o->base, (cg_zeros){cg_encoding_bytes(&o->encoding), o->beyond, 1, 0});
    }
    if (by_turns)
        cg_order_by_stores(c, 0, turns.loads);
    if (async)
        cg_take_effect(c, op, CG_WRITTEN);
    if (by_turns)
        cg_await_products(c, 0); /* the previous one, before the next one overwrites what it reads */
    cg_barrier(c);
    if (by_turns)
        cg_turn(c, &turns);
}

void cg_take_fragments(cg_func *c, cg_factors *f)
{
    for (uint32_t i = 0; i < f->count; i++)
        if (f->operands[i].source == CG_FROM_REGISTERS)
            f->operands[i].fragments = cg_get(c, f->operands[i].v, f->operands[i].read);
}
