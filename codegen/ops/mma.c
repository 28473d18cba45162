/* Matrix products by mma.sync. Fragments are loaded by ldmatrix from shared memory, either from the stage of a
   pipelined load or from scratch, in either order of dimensions. The 16-byte chunks of rows are swizzled, so that
   neither stores nor ldmatrix have bank conflicts. Left operands that are computed from another product, or before
   the loop, are kept in registers as fragments. Scaled products are in codegen/ops/mma_scaled.c, those without an
   instruction in codegen/ops/mma_blocks.c and mma_plain.c. Sources: memory reference, section 7; PTX ISA,
   "Warp-level matrix instructions", fragment figures. */
#include "codegen/ops/mma.h"

#include <string.h>

#include "codegen/analysis/reordered.h"
#include "codegen/analysis/scaling.h"
#include "codegen/analysis/turned.h"
#include "codegen/kernel/remarks.h"
#include "codegen/ops/hooks.h"
#include "codegen/ops/slots.h"
#include "codegen/ptx/ptx.h"
#include "codegen/values/effects.h"
#include "codegen/values/homes.h"
#include "codegen/values/memory.h"
#include "codegen/values/values.h"

/* ---- layouts ---- */

/* Does `to` give the same elements to the same threads as `from`? Both have images of one bit or none. */
static bool same_threads(const cg_layout *from, const cg_layout *to)
{
    return !(cg_layout_reg_images(to) & ~cg_layout_reg_images(from))
           && memcmp(from->lane, to->lane, sizeof to->lane) == 0
           && memcmp(from->warp, to->warp, to->warp_bits * sizeof *to->warp) == 0;
}

/* Is v, an operand of the op, the same in every iteration of the loop around the op? */
static bool is_made_before(const ct_value *v, const ct_op *op, const ct_op *loop)
{
    for (const ct_block *b = op->block; b != loop->block; b = b->parent->block) {
        if (v->op && v->op->block == b)
            return false;
        for (uint32_t i = 0; i < b->arg_count; i++)
            if (v == &b->args[i])
                return false;
    }
    return true;
}

/* Registers of a thread for the accumulators of a block's products. */
static uint32_t accumulators_of(const cg_func *c, const ct_block *block)
{
    uint32_t sum = 0;
    for (const ct_op *op = block->first; op; op = op->next)
        if (cg_is_product(op) && !cg_is_product(cg_maker_of(ct_operands(op)[2])))
            sum += ((uint32_t)1 << cg_shape_of(cg_result(op, 0)->type).tile_bits) / cg_threads(c);
    return sum;
}

/* Is there room in registers for the op's left operand A, which takes `registers` of them, beside the sums? */
static bool have_room(const cg_func *c, const ct_op *op, uint32_t registers)
{
    enum { MOST = 64, MOST_WITH_ACCUMULATORS = 176 }; /* registers of a thread */
    return registers <= MOST && registers + accumulators_of(c, op->block) <= MOST_WITH_ACCUMULATORS;
}

/* Is the op's left operand A loop-invariant, and is there room for it in `registers` registers beside the sums? */
static bool is_kept_in_loop(const cg_func *c, const ct_op *op, uint32_t registers)
{
    const ct_op *loop = ct_loop_around(op);
    return loop && is_made_before(ct_operands(op)[0], op, loop) && have_room(c, op, registers);
}

/* Should A be kept as fragments? There are four reasons: its threads already hold fragments; shared memory has no
   room for a step of both operands; a product of consumers stays in flight while later ops use the scratch in which
   A would be; or A is loop-invariant in a loop of this product or of a similar one, such as a loop whose first
   product has been moved in front of it (codegen/passes/skew.c). */
static bool wants_fragments(const cg_func *c, const ct_op *op, const cg_product *p, const cg_layout *home)
{
    const ct_op *from = cg_source_of(p->lhs)->op;
    if (p->atom.element_bits != 1 || (from && from->opcode == CT_staged))
        return false;
    cg_layout l = cg_fragment_layout(c, p);
    if (same_threads(home, &l) || !cg_step_fits(c, p))
        return true;
    uint32_t registers = cg_layout_regs(&l) / 2;
    bool is_kept = is_kept_in_loop(c, op, registers) || (c->groups && op->in_flight && have_room(c, op, registers));
    for (const ct_use *use = p->lhs->uses; use && !is_kept; use = use->next)
        is_kept = cg_is_product(use->op) && use->index == 0 && cg_result(use->op, 0)->type == p->result->type
                  && is_kept_in_loop(c, use->op, registers);
    return is_kept;
}

/* The layout of an operand; if all batches share it, that of one batch, with registers for the others. */
static cg_layout operand_home(cg_func *c, const ct_value *v)
{
    cg_layout l;
    uint32_t weight;
    if (cg_wish(c, v, &l, &weight))
        return l;
    const ct_value *from = v->op && v->op->opcode == OP_broadcast ? v->op->operands[0] : NULL;
    if (!from || from->type->shape[0] == v->type->shape[0] || !cg_wish(c, from, &l, &weight))
        return cg_default_layout(c, v->type);
    cg_shape one = cg_shape_of(from->type), all = cg_shape_of(v->type);
    l = cg_layout_embed(&l, &one, &all);
    for (uint32_t left = cg_excerpt_mask(&one, &all); left; left &= left - 1)
        l.reg[l.reg_bits++] = left & (~left + 1);
    return l;
}

/* Finds the products that the op computes together and records this for each of them, unless an earlier product of
   the group has already done so. */
static void assign_together(cg_func *c, const ct_op *op, cg_product *p)
{
    const cg_product *told = cg_value_of(c, p->result)->product;
    cg_together *t = told ? NULL : cg_find_together(c, op);
    p->together = told ? told->together : t;
    for (uint32_t i = 1; t && i < t->count; i++) {
        cg_product *other = bc_new(&c->arena, cg_product, 1);
        if (!other) {
            cg_no_memory(c);
            return;
        }
        other->together = t;
        cg_value_of(c, cg_result(t->ops[i], 0))->product = other;
    }
}

static void assign_product(cg_func *c, const ct_op *op)
{
    cg_product *p = bc_new(&c->arena, cg_product, 1);
    cg_layout *read = bc_new(&c->arena, cg_layout, 4), result;
    if (!p || !read) {
        cg_no_memory(c);
        return;
    }
    *p = cg_product_of(c, op);
    read[0] = operand_home(c, p->lhs);
    read[1] = operand_home(c, p->rhs);
    for (uint32_t i = 3; i < op->operand_count; i++) /* scales */
        read[i - 1] = operand_home(c, ct_operands(op)[i]);
    if (p->instruction == CG_BY_TURNED_WGMMA) {
        result = cg_turned_layout(c, p);
    } else if (cg_has_atom(p)) {
        bool reordered = p->instruction == CG_BY_REORDERED_MMA;
        read[0] = cg_with_halves(p, true, &read[0]);
        read[1] = cg_with_halves(p, false, &read[1]);
        cg_settle_product(c, p, &read[0], &read[1]);
        if (reordered)
            cg_find_order(c, p, &read[0]);
        if (reordered || wants_fragments(c, op, p, &read[0]))
            read[0] = cg_fragment_layout(c, p);
        for (uint32_t i = 0; p->scaled && i < 2; i++)
            read[2 + i] = cg_scale_layout(c, p, i == 0);
        assign_together(c, op, p);
        result = cg_accumulator_layout(c, p);
    } else if (p->instruction == CG_BY_BLOCKS) {
        assign_together(c, op, p);
        result = cg_block_layout(c, p);
    } else {
        result = cg_plain_layout(c, p);
    }
    cg_set_home(c, p->result, &result, CG_WEIGHT_MMA);
    for (uint32_t i = 0; i < op->operand_count; i++)
        cg_want(c, ct_operands(op)[i], i == 2 ? &result : &read[i < 2 ? i : i - 1]);
    cg_value_of(c, p->result)->source = read;
    cg_value_of(c, p->result)->product = p;
}

void cg_assign_mmaf(cg_func *c, const ct_op *op)
{
    assign_product(c, op);
}

void cg_assign_mmai(cg_func *c, const ct_op *op)
{
    assign_product(c, op);
}

void cg_assign_mmaf_scaled(cg_func *c, const ct_op *op)
{
    assign_product(c, op);
}

/* ---- operands ---- */

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
    cg_layout l = p->in == BC_F64 ? lanes_of_elements(o, k0, x0, x_bits) : lanes_of_matrices(p, o, k0, x0, x_bits);
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

/* Describes an operand. parts: bits of K that number the slices in which it is stored to scratch. */
static cg_operand operand_of(cg_func *c, const cg_product *p, bool left, uint32_t parts)
{
    enum { MATRIX_ROWS = 3 }; /* log2, of 16 bits each: a chunk of 16 bytes */
    const cg_layout *read = cg_value_of(c, p->result)->source + !left;
    cg_operand o = {.left = left, .v = left ? p->lhs : p->rhs, .read = read, .k = p->k};
    const cg_encoding *ring = cg_encoding_of(o.v);
    bool blocked = p->instruction == CG_BY_BLOCKS, reordered = p->instruction == CG_BY_REORDERED_MMA;
    cg_layout fragments = cg_fragment_layout(c, p);
    if (ring) { /* across: neighbours along K are not adjacent */
        cg_layout probe = {.reg_bits = 1, .reg = {(uint32_t)1 << (left ? 0 : p->n)}};
        probe = cg_from_bytes(p, left, &probe);
        o.source = CG_FROM_RING;
        o.encoding = *ring;
        o.base = cg_tile_in_slot(cg_source_of(o.v)->op);
        o.across = cg_encoding_layout_of(o.v, &probe).reg[0] != 1;
    } else if (left && p->atom.element_bits == 1 && cg_layout_equal(read, &fragments)) {
        o.source = CG_FROM_REGISTERS;
        return o;
    } else {
        cg_layout l = cg_as_bytes(p, left, read);
        bool along_last = goes_along_last(c, p, left, parts, &l);
        o.k = p->k - parts;
        uint32_t rows = left ? p->m : o.k, columns = left ? o.k : p->n;
        o.across = left ? p->row_pairs || (p->atom.element_bits == 1 && !along_last && p->m >= MATRIX_ROWS)
                        : p->pairs || (p->atom.element_bits == 1 && along_last && !reordered);
        bool as_it_is = blocked || p->in == BC_F64; /* false: A in rows of M, B in rows of K, unless transposed */
        bool flipped = as_it_is ? !along_last : o.across == left;
        cg_feed feed = cg_scratch_feed(p, left, along_last);
        o.encoding =
            cg_encoding_new(flipped ? columns : rows, flipped ? rows : columns, p->batch, cg_memory_bytes(p->in), feed);
        o.encoding.flipped = flipped;
    }
    cg_layout lanes = blocked     ? block_lines(c, p, &o)
                      : reordered ? cg_vector_lanes(c, p)
                                  : lanes_of(c, p, &o),
              elements = cg_from_bytes(p, left, &lanes);
    o.lanes = ring ? cg_encoding_layout_of(o.v, &elements) : cg_encoding_layout(&o.encoding, &lanes);
    return o;
}

/* Bytes of scratch for the operand. */
static uint32_t operand_bytes(const cg_operand *o, bool async)
{
    uint32_t align = async ? CG_ENCODING_ALIGN : 16;
    return o->source != CG_FROM_SCRATCH ? 0 : (cg_encoding_bytes(&o->encoding) + align - 1) & ~(align - 1);
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

static uint32_t add_operand(cg_func *c, cg_factors *f, const cg_product *p, bool left)
{
    cg_operand o = operand_of(c, p, left, f->parts);
    for (uint32_t i = 0; i < f->count; i++)
        if (f->operands[i].left == left && cg_is_same_operand(f->operands[i].v, o.v))
            return i;
    f->operands[f->count] = o;
    return f->count++;
}

static const cg_product *product_of(cg_func *c, const ct_op *op)
{
    return cg_value_of(c, cg_result(op, 0))->product;
}

static void add_operands(cg_func *c, cg_factors *f, const cg_product *p)
{
    f->count = 0;
    for (uint32_t i = 0; i < p->together->count; i++) {
        const cg_product *one = product_of(c, p->together->ops[i]);
        f->of[i] = (cg_pair){.left = add_operand(c, f, one, true)};
        f->of[i].right = add_operand(c, f, one, false);
    }
}

/* Finds the operands of the op and of products computed with it, in as few K slices as fit into scratch; returns
   bytes. */
static uint32_t find_factors(cg_func *c, const ct_op *op, const cg_product *p, cg_factors *f)
{
    uint32_t at[2 * CG_MOST_TOGETHER];
    for (f->parts = 0;; f->parts++) {
        add_operands(c, f, p);
        uint32_t bytes = place_operands(f->operands, f->count, p->instruction == CG_BY_WGMMA, at);
        if (bytes <= cg_scratch_room(c, op) || p->k - f->parts == p->atom.k_bits
            || p->instruction == CG_BY_REORDERED_MMA)
            return bytes;
    }
}

/* Can wgmma multiply these operands? */
static bool is_async(const cg_product *p, const cg_factors *f)
{
    return p->instruction == CG_BY_WGMMA && !f->parts && cg_can_multiply_async(p, f->operands);
}

/* The ring whose slots hold the operand; NULL: it is in registers. */
static const cg_ring *ring_of(const ct_value *operand)
{
    const ct_op *staged = cg_encoding_of(operand) ? cg_source_of(operand)->op : NULL;
    return staged ? cg_ring_of(staged, staged->from->operand_count) : NULL;
}

/* Adds the effects to the first of the products that are computed together. */
static void effects_in_scratch(cg_func *c, ct_op *op, const cg_product *p)
{
    cg_factors f;
    uint32_t at[2 * CG_MOST_TOGETHER], bytes = find_factors(c, op, p, &f);
    bool async = is_async(p, &f);
    bytes = p->instruction == CG_BY_WGMMA && !async ? place_operands(f.operands, f.count, false, at) : bytes;
    for (uint32_t part = 0; bytes && part < (uint32_t)1 << f.parts; part++)
        cg_add_scratch(c, op, bytes);
    if (bytes && async) {
        cg_add_ring(c, op, CG_WRITTEN, NULL);
        cg_add_ring(c, op, CG_READS_ASYNC, NULL);
    }
    const cg_ring *a = ring_of(p->lhs), *b = ring_of(p->rhs);
    if (async && a)
        cg_add_ring(c, op, CG_READS_ASYNC, a);
    if (async && b && a != b)
        cg_add_ring(c, op, CG_READS_ASYNC, b);
}

static void effects_of_product(cg_func *c, ct_op *op)
{
    const cg_product *p = cg_value_of(c, cg_result(op, 0))->product;
    if (p->instruction == CG_BY_TURNED_WGMMA)
        cg_add_ring(c, op, CG_READS_ASYNC, ring_of(p->lhs)); /* its left operand is read in its slot */
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

/* Stores a slice of the operands that are neither in registers nor in a ring to scratch, followed by a barrier. */
static void encode_operands(cg_func *c, const ct_op *op, const cg_product *p, cg_factors *f, bool async, uint32_t part)
{
    uint32_t at[2 * CG_MOST_TOGETHER], all = place_operands(f->operands, f->count, async, at);
    uint32_t mask = (((uint32_t)1 << f->parts) - 1) << (p->k - f->parts);
    if (!all)
        return;
    cg_val scratch = cg_scratch(c, op, all);
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
    }
    if (async)
        cg_take_effect(c, op, CG_WRITTEN);
    cg_barrier(c);
}

/* Records the registers of operands that are fragments. */
static void take_fragments(cg_func *c, cg_factors *f)
{
    for (uint32_t i = 0; i < f->count; i++)
        if (f->operands[i].source == CG_FROM_REGISTERS)
            f->operands[i].fragments = cg_get(c, f->operands[i].v, f->operands[i].read);
}

/* ---- by instructions ---- */

/* Multiplies a K slice, which is all that the ring holds. */
static void multiply_k_part(cg_func *c, const ct_op *op, const cg_product *p, const cg_k_part *part, cg_val *acc)
{
    if (!part->number) /* the other slices are like the first one */
        cg_remark_mma(c, op, p);
    cg_factors f = {0};
    add_operands(c, &f, p);
    take_fragments(c, &f);
    uint32_t step_bits = p->k - part->bits - p->atom.k_bits;
    cg_multiply_steps(c, p, &f, part->number << step_bits, (uint32_t)1 << step_bits, &acc);
}

static void multiply_with_atom(cg_func *c, const ct_op *op, const cg_product *p, cg_val *const *sums)
{
    cg_factors f;
    find_factors(c, op, p, &f);
    uint32_t step_bits = p->k - f.parts - p->atom.k_bits;
    bool async = is_async(p, &f);
    take_fragments(c, &f);
    if (!async)
        cg_remark_mma(c, op, p);
    for (uint32_t part = 0; part < (uint32_t)1 << f.parts && !c->failed; part++) {
        encode_operands(c, op, p, &f, async, part);
        if (async)
            cg_multiply_async(c, op, p, f.operands, sums[0]);
        else
            cg_multiply_steps(c, p, &f, part << step_bits, (uint32_t)1 << step_bits, sums);
    }
}

/* Computes the sums and then the results of the op and of the products computed with it. */
static void multiply_blocked(cg_func *c, const ct_op *op, const cg_product *p)
{
    cg_factors f;
    cg_val *sums[CG_MOST_TOGETHER];
    const cg_together *t = p->together;
    find_factors(c, op, p, &f);
    for (uint32_t i = 0; i < t->count; i++)
        if (!(sums[i] = cg_block_sums(c, product_of(c, t->ops[i]))))
            return;
    for (uint32_t part = 0; part < (uint32_t)1 << f.parts && !c->failed; part++) {
        encode_operands(c, op, p, &f, false, part);
        cg_multiply_blocks(c, p, &f, part, sums);
    }
    for (uint32_t i = 0; i < t->count && !c->failed; i++)
        cg_end_block_sums(c, product_of(c, t->ops[i]), sums[i]);
}

/* The reason why a product has no instruction. */
static const char *why_plain(const cg_product *p)
{
    if ((p->scaled && p->m < CG_ATOM_ROW_BITS) || p->n < 3 || p->n > 10)
        return "no instruction has that shape";
    return "no instruction takes these types, or so few elements along K";
}

/* Computes the op and the products computed with it. */
static void multiply_by_instructions(cg_func *c, const ct_op *op, const cg_product *p)
{
    const cg_together *t = p->together;
    cg_val *sums[CG_MOST_TOGETHER];
    for (uint32_t i = 0; i < t->count; i++)
        if (!(sums[i] = cg_begin_sums(c, product_of(c, t->ops[i]))))
            return;
    if (op->detail)
        multiply_k_part(c, op, p, op->detail, sums[0]);
    else
        multiply_with_atom(c, op, p, sums);
    for (uint32_t i = 0; i < t->count && !c->failed; i++)
        cg_end_sums(c, product_of(c, t->ops[i]), sums[i]);
}

static void lower_with_atom(cg_func *c, const ct_op *op, cg_product *p)
{
    cg_scales scales = {0};
    p->scales = &scales;
    for (uint32_t i = 0; p->scaled && i < 2 && !c->failed; i++)
        cg_take_scales(c, op, p, i);
    if (p->scaling && p->scaling->alternate)
        scales.odd_blocks = cg_odd_blocks(c);
    if (!c->failed)
        multiply_by_instructions(c, op, p);
}

static void lower_blocked(cg_func *c, const ct_op *op, const cg_product *p)
{
    cg_remark(c, op, CG_REMARK_MatrixProduct, TV_REMARK_MISSED,
              "computed without tensor cores, each thread in blocks of {Elements=%u} elements: {Why=%s}",
              cg_layout_regs(cg_value_of(c, p->result)->home), why_plain(p));
    if (p->together->ops[0] == op)
        multiply_blocked(c, op, p);
}

/* Lowers a product by transposed wgmma, or element by element. */
static void lower_otherwise(cg_func *c, const ct_op *op, const cg_product *p)
{
    const cg_value *result = cg_value_of(c, p->result);
    uint32_t count = cg_layout_regs(result->home);
    cg_val *start = cg_get(c, p->c, result->home), *acc = cg_vals(c, count);
    if (!start || !acc)
        return;
    memcpy(acc, start, count * sizeof *acc);
    if (p->instruction == CG_BY_TURNED_WGMMA) {
        cg_multiply_turned(c, op, p, acc);
    } else {
        cg_remark(c, op, CG_REMARK_MatrixProduct, TV_REMARK_MISSED,
                  "computed without tensor cores, element by element: {Why=%s}", why_plain(p));
        cg_multiply_plain(c, op, p, result->source, acc);
    }
    if (!c->failed)
        cg_set(c, p->result, acc);
}

static void lower_product(cg_func *c, const ct_op *op)
{
    cg_product p = *product_of(c, op);
    if ((p.in == BC_F8E4M3FN || p.in == BC_F8E5M2) && (c->target->features & CG_HAS_F8))
        cg_need_ptx(c, 84);
    if (p.instruction == CG_BY_BLOCKS)
        lower_blocked(c, op, &p);
    else if (p.instruction == CG_BY_TURNED_WGMMA || p.instruction == CG_BY_ELEMENT)
        lower_otherwise(c, op, &p);
    else if (p.together->ops[0] == op)
        lower_with_atom(c, op, &p);
}

void cg_lower_mmaf(cg_func *c, const ct_op *op)
{
    lower_product(c, op);
}

void cg_lower_mmai(cg_func *c, const ct_op *op)
{
    lower_product(c, op);
}

void cg_lower_mmaf_scaled(cg_func *c, const ct_op *op)
{
    lower_product(c, op);
}
