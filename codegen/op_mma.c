/* Matrix products by mma.sync. A fragment comes from shared memory by ldmatrix, from where a pipelined load put the
   operand or from scratch, in either order of its dimensions; 16-byte chunks of rows are swizzled so that neither the
   stores nor ldmatrix meet bank conflicts. Left operands that are made from another product, or before the loop, are
   kept in registers as fragments. What is particular to scaled products is in codegen/op_mma_scaled.c; what has no
   instruction is left to codegen/op_mma_plain.c. Sources: memory reference, section 7; PTX ISA, "Warp-level matrix
   instructions", fragment figures. */
#include <string.h>

#include "codegen/assign.h"
#include "codegen/map.h"
#include "codegen/memory.h"
#include "codegen/mma.h"
#include "codegen/remarks.h"

static uint32_t log2_of(int64_t x)
{
    uint32_t n = 0;
    while ((int64_t)1 << n < x)
        n++;
    return n;
}

static bool find_atom(const cg_func *c, const ct_op *op, cg_product *p)
{
    static const cg_atom f16_f32 = {"m16n8k16.row.col.f32.f16.f16.f32", 4, 1, false, NULL};
    static const cg_atom f16_f16 = {"m16n8k16.row.col.f16.f16.f16.f16", 4, 1, true, NULL};
    static const cg_atom bf16_f32 = {"m16n8k16.row.col.f32.bf16.bf16.f32", 4, 1, false, NULL};
    static const cg_atom tf32_f32 = {"m16n8k8.row.col.f32.tf32.tf32.f32", 3, 0, false, NULL};
    static const cg_atom f8_f32[2][2] = {
        /* [instruction of its own][e5m2] */
        {{"m16n8k16.row.col.f32.f16.f16.f32", 5, 2, false, "e4m3x2"},
         {"m16n8k16.row.col.f32.f16.f16.f32", 5, 2, false, "e5m2x2"}},
        {{"m16n8k32.row.col.f32.e4m3.e4m3.f32", 5, 2, false, NULL},
         {"m16n8k32.row.col.f32.e5m2.e5m2.f32", 5, 2, false, NULL}},
    };
    static const cg_atom integer[2][2] = {
        {{"m16n8k32.row.col.s32.u8.u8.s32", 5, 2, false, NULL}, {"m16n8k32.row.col.s32.u8.s8.s32", 5, 2, false, NULL}},
        {{"m16n8k32.row.col.s32.s8.u8.s32", 5, 2, false, NULL}, {"m16n8k32.row.col.s32.s8.s8.s32", 5, 2, false, NULL}},
    };
    const cg_atom *a = NULL;
    uint32_t has = c->target->features;
    p->scaling = p->scaled ? cg_find_scaling(c, op, p) : NULL;
    if (p->scaled)
        a = p->scaling ? &p->scaling->atom : NULL;
    else if (p->in == BC_F16)
        a = p->acc == BC_F16 ? &f16_f16 : &f16_f32;
    else if (p->in == BC_BF16)
        a = &bf16_f32;
    else if (p->in == BC_TF32)
        a = &tf32_f32;
    else if (p->in == BC_F8E4M3FN || p->in == BC_F8E5M2) /* f16 accumulators are widened */
        a = &f8_f32[(has & CG_HAS_F8_MMA) != 0][p->in == BC_F8E5M2];
    else if (op->opcode == OP_mmai)
        a = &integer[ct_attr_u(op, F_mmai_signedness_lhs) == BC_Signedness_signed]
                    [ct_attr_u(op, F_mmai_signedness_rhs) == BC_Signedness_signed];
    uint32_t packed = p->scaling ? p->scaling->packed : 0;
    if (!a || p->m < 4 || p->n < 3 || p->n > 10 || p->k < a->k_bits + packed)
        return false;
    p->atom = *a;
    p->packed = packed;
    p->k -= packed;
    return true;
}

/* ---- products that feed products ---- */

/* What made v: of a product that was awaited, the product. */
static const ct_op *maker_of(const ct_value *v)
{
    return v->op && v->op->opcode == CT_mma_await ? v->op->operands[0]->op : v->op;
}

bool cg_is_product(const ct_op *op)
{
    return op && bc_op_in(op->opcode, BC_OPS(PRODUCT));
}

bool cg_is_loaded_operand(const ct_value *v)
{
    const ct_value *load = cg_stage_source(v);
    if (!load->op || load->op->opcode != OP_load_view_tko || !v->uses)
        return false;
    for (const ct_use *use = v->uses; use; use = use->next)
        if (!(cg_is_product(use->op) && use->index < 2)
            && !(cg_stage_is_seen(use->op) && cg_is_loaded_operand(&use->op->results[0])))
            return false;
    return true;
}

/* The product that v is computed from, element by element; NULL: none was found by looking at *budget ops. */
static const ct_op *product_behind(const ct_value *v, uint32_t *budget)
{
    const ct_op *op = maker_of(v);
    if (cg_is_product(op) || !op || *budget == 0)
        return cg_is_product(op) ? op : NULL;
    --*budget;
    if (!cg_is_map(op->opcode))
        return NULL;
    const ct_op *found = NULL;
    for (uint32_t i = 0; i < op->operand_count && !found; i++)
        found = product_behind(ct_operands(op)[i], budget);
    return found;
}

const ct_op *cg_product_before(const ct_op *op)
{
    uint32_t budget = 64;
    return product_behind(ct_operands(op)[0], &budget);
}

static bool is_chained(const ct_op *op)
{
    enum { MOST_OPS = 256 }; /* that are looked at for one that takes the result */
    if (cg_product_before(op))
        return true;
    uint32_t count = 0;
    for (const ct_op *next = op->next; next && count < MOST_OPS; next = next->next, count++)
        if (cg_is_product(next) && cg_product_before(next) == op)
            return true;
    return false;
}

uint32_t cg_mma_chain_warps(const ct_func *f)
{
    enum { FOR_FOUR_WARPS = 1 << 14 }; /* accumulators that four warps hold beside fragments */
    uint32_t warps = 0;
    for (const ct_op *op = f->body->first; op; op = ct_next_op(op, f->body)) {
        const ct_op *before = cg_is_product(op) ? cg_product_before(op) : NULL;
        if (!before || cg_memory_bytes(bc_elem_kind(ct_operands(op)[0]->type)) != 2)
            continue;
        const bc_type *result = cg_result(op, 0)->type, *other = cg_result(before, 0)->type;
        uint32_t m = log2_of(result->shape[result->rank - 2]);
        uint32_t held = ((uint32_t)1 << cg_shape_of(result).tile_bits) + ((uint32_t)1 << cg_shape_of(other).tile_bits);
        uint32_t wanted = held > FOR_FOUR_WARPS ? 3 : 2;
        wanted = m < 4 ? 0 : wanted < m - 4 ? wanted : m - 4;
        warps = wanted > warps ? wanted : warps;
    }
    return warps < 2 ? 0 : warps;
}

cg_product cg_product_of(const cg_func *c, const ct_op *op)
{
    ct_value **operands = ct_operands(op);
    const bc_type *a = operands[0]->type, *b = operands[1]->type;
    uint32_t r = a->rank;
    cg_product p = {.m = log2_of(a->shape[r - 2]),
                    .k = log2_of(a->shape[r - 1]),
                    .n = log2_of(b->shape[r - 1]),
                    .batch = r == 3 ? log2_of(a->shape[0]) : 0,
                    .in = bc_elem_kind(a),
                    .lhs = operands[0],
                    .rhs = operands[1],
                    .c = operands[2],
                    .result = cg_result(op, 0)};
    if (op->turned && p.in == BC_F32) /* rounded by the product */
        p.in = BC_TF32;
    p.acc = bc_elem_kind(p.c->type);
    p.scaled = op->opcode == OP_mmaf_scaled;
    p.scale_kind = p.scaled ? bc_elem_kind(operands[3]->type) : p.in;
    p.has_atom = find_atom(c, op, &p);
    p.chained = p.has_atom && is_chained(op);
    bool shape = !p.batch && p.m >= 6 && p.n >= 4 && c->warp_bits >= 2;
    p.async = p.has_atom && (c->target->features & CG_HAS_WGMMA) && p.atom.element_bits == 1 && p.acc == BC_F32
              && shape;
    p.async = p.async || (op->direct && shape);
    p.turned = op->turned;
    return p;
}

/* ---- layouts ---- */

/* Do elements of the last dimension, of `bits`, follow each other sooner than those of the one before it? */
static bool runs_along_last(const cg_layout *l, uint32_t bits)
{
    const uint32_t *const images[] = {l->reg, l->lane, l->warp};
    const uint32_t counts[] = {l->reg_bits, CG_LANE_BITS, l->warp_bits};
    for (int part = 0; part < 3; part++)
        for (uint32_t i = 0; i < counts[part]; i++)
            if (images[part][i] & (1 | (uint32_t)1 << bits))
                return images[part][i] & 1;
    return true;
}

/* Are bytes of B, which lie in rows of K, to be taken apart by pairs? Then of 16 columns the even ones go to one
   instruction and the odd ones to another. */
static bool takes_pairs(const cg_product *p, const cg_layout *rhs)
{
    cg_layout l = cg_as_bytes(p, false, rhs);
    return p->atom.element_bits == 2 && p->n >= 4 && runs_along_last(&l, p->n);
}

uint32_t cg_mma_part_bits(const cg_func *c, const ct_op *op, uint32_t *out_k)
{
    cg_product p = cg_product_of(c, op);
    *out_k = p.k + p.packed;
    return p.has_atom ? p.k - p.atom.k_bits : 0;
}

bool cg_mma_is_async(const cg_func *c, const ct_op *op)
{
    return cg_is_product(op) && (op->turned || cg_product_of(c, op).async);
}

/* Which warps go along M and along N: to where more is left, so that the warps' parts become square; of chained
   products along M, so that rows stay in their warp; for wgmma too, where four warps need not read B more than once. */
static void split_warps(const cg_func *c, cg_product *p)
{
    uint32_t m = p->m - 4, n = p->n - (p->pairs || p->async ? 4 : 3);
    p->along_m = p->along_n = 0;
    for (uint32_t i = 0; i < c->warp_bits; i++) {
        if (m > p->along_m && (p->chained || p->async || m - p->along_m + 1 >= n - p->along_n))
            p->along_m++;
        else if (n > p->along_n)
            p->along_n++;
        else if (m > p->along_m)
            p->along_m++;
    }
}

/* The product with all that the layouts of its operands decide. */
static void settle_product(const cg_func *c, cg_product *p, const cg_layout *rhs)
{
    p->pairs = takes_pairs(p, rhs);
    split_warps(c, p);
}

const uint8_t *cg_column_bits(const cg_product *p)
{
    static const uint8_t columns[2][4] = {{0, 1, 2, 3}, {1, 2, 3, 0}};
    return columns[p->pairs];
}

/* Accumulators: the fragment, then the further columns, rows and batches of the warp. */
static cg_layout accumulator_layout(const cg_func *c, const cg_product *p)
{
    const uint8_t *n = cg_column_bits(p);
    cg_layout l = {.tile_bits = (uint8_t)(p->m + p->n + p->batch), .warp_bits = (uint8_t)c->warp_bits};
    uint32_t one = 1, w = 0;
    l.reg[l.reg_bits++] = one << n[0];
    l.reg[l.reg_bits++] = one << (p->n + 3);
    for (uint32_t i = 3; i < p->n - p->along_n; i++)
        l.reg[l.reg_bits++] = one << (i == 3 ? n[3] : i);
    for (uint32_t i = 4 + p->along_m; i < p->m; i++)
        l.reg[l.reg_bits++] = one << (p->n + i);
    for (uint32_t i = 0; i < p->batch; i++)
        l.reg[l.reg_bits++] = one << (p->n + p->m + i);
    l.lane[0] = one << n[1];
    l.lane[1] = one << n[2];
    for (uint32_t i = 0; i < 3; i++)
        l.lane[2 + i] = one << (p->n + i);
    for (uint32_t i = 0; i < p->along_m; i++)
        l.warp[w++] = one << (p->n + 4 + i);
    for (uint32_t i = 0; i < p->along_n; i++)
        l.warp[w++] = one << (p->n - p->along_n + i);
    return l;
}

bool cg_mma_accumulator_layout(const cg_func *c, const ct_op *op, cg_layout *out)
{
    if (!cg_mma_is_async(c, op))
        return false;
    cg_product p = cg_product_of(c, op);
    split_warps(c, &p);
    *out = p.turned ? cg_turned_layout(c, &p) : accumulator_layout(c, &p);
    return true;
}

/* A of 16-bit elements as fragments: two elements to a register of the instruction, of which there are four. */
static cg_layout fragment_layout(const cg_func *c, const cg_product *p)
{
    cg_layout l = {.tile_bits = (uint8_t)(p->m + p->k + p->batch), .warp_bits = (uint8_t)c->warp_bits};
    uint32_t one = 1;
    l.reg[l.reg_bits++] = one;
    l.reg[l.reg_bits++] = one << (p->k + 3);
    for (uint32_t i = 3; i < p->k; i++)
        l.reg[l.reg_bits++] = one << i;
    for (uint32_t i = 4 + p->along_m; i < p->m; i++)
        l.reg[l.reg_bits++] = one << (p->k + i);
    for (uint32_t i = 0; i < p->batch; i++)
        l.reg[l.reg_bits++] = one << (p->k + p->m + i);
    l.lane[0] = one << 1;
    l.lane[1] = one << 2;
    for (uint32_t i = 0; i < 3; i++)
        l.lane[2 + i] = one << (p->k + i);
    for (uint32_t i = 0; i < p->along_m; i++)
        l.warp[i] = one << (p->k + 4 + i);
    return l;
}

/* Does `to` give the same elements to the same threads as `from`? Both have images of one bit or none. */
static bool same_threads(const cg_layout *from, const cg_layout *to)
{
    uint32_t regs = 0;
    for (uint32_t i = 0; i < from->reg_bits; i++)
        regs |= from->reg[i];
    for (uint32_t i = 0; i < to->reg_bits; i++)
        if (to->reg[i] & ~regs)
            return false;
    return memcmp(from->lane, to->lane, sizeof to->lane) == 0
           && memcmp(from->warp, to->warp, to->warp_bits * sizeof *to->warp) == 0;
}

/* The innermost loop around an op; NULL: none. */
static const ct_op *loop_around(const ct_op *op)
{
    const ct_op *parent = op->block->parent;
    while (parent && !bc_is_loop(parent->opcode))
        parent = parent->block->parent;
    return parent;
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

/* Registers of accumulators that the products of a block hold in a thread. */
static uint32_t accumulators_of(const cg_func *c, const ct_block *block)
{
    uint32_t sum = 0;
    for (const ct_op *op = block->first; op; op = op->next)
        if (cg_is_product(op) && !cg_is_product(maker_of(ct_operands(op)[2])))
            sum += ((uint32_t)1 << cg_shape_of(cg_result(op, 0)->type).tile_bits) / cg_threads(c);
    return sum;
}

/* Should A be kept as fragments: because they are what its threads have, or because it is the same throughout a loop?
 */
static bool wants_fragments(const cg_func *c, const ct_op *op, const cg_product *p, const cg_layout *home)
{
    enum { MOST = 64, MOST_WITH_ACCUMULATORS = 176 }; /* registers of a thread */
    const ct_op *from = cg_stage_source(p->lhs)->op;
    if (p->atom.element_bits != 1 || (from && from->opcode == CT_staged))
        return false;
    cg_layout l = fragment_layout(c, p);
    if (same_threads(home, &l))
        return true;
    const ct_op *loop = loop_around(op);
    uint32_t registers = cg_layout_regs(&l) / 2;
    return loop && is_made_before(p->lhs, op, loop) && registers <= MOST
           && registers + accumulators_of(c, op->block) <= MOST_WITH_ACCUMULATORS;
}

static cg_layout operand_home(cg_func *c, const ct_value *v)
{
    cg_layout l;
    uint32_t weight;
    return cg_wish(c, v, &l, &weight) ? l : cg_default_layout(c, v->type);
}

static void assign_product(cg_func *c, const ct_op *op)
{
    cg_product p = cg_product_of(c, op);
    cg_layout *read = bc_new(&c->arena, cg_layout, 4), result;
    if (!read) {
        cg_no_memory(c);
        return;
    }
    read[0] = operand_home(c, p.lhs);
    read[1] = operand_home(c, p.rhs);
    for (uint32_t i = 3; i < op->operand_count; i++) /* scales */
        read[i - 1] = operand_home(c, ct_operands(op)[i]);
    if (p.turned) {
        result = cg_turned_layout(c, &p);
    } else if (p.has_atom) {
        read[0] = cg_with_halves(&p, true, &read[0]);
        read[1] = cg_with_halves(&p, false, &read[1]);
        settle_product(c, &p, &read[1]);
        if (wants_fragments(c, op, &p, &read[0]))
            read[0] = fragment_layout(c, &p);
        for (uint32_t i = 0; p.scaled && i < 2; i++)
            read[2 + i] = cg_scale_layout(c, &p, i == 0);
        result = accumulator_layout(c, &p);
    } else {
        result = cg_plain_layout(c, &p);
    }
    cg_set_home(c, p.result, &result, CG_WEIGHT_MMA);
    for (uint32_t i = 0; i < op->operand_count; i++)
        cg_want(c, ct_operands(op)[i], i == 2 ? &result : &read[i < 2 ? i : i - 1]);
    cg_value_of(c, p.result)->source = read;
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

cg_feed cg_mma_feed(cg_func *c, const ct_op *op, uint32_t index, const cg_layout *run)
{
    if (!cg_is_product(op) || index > 1)
        return CG_NO_FEED;
    cg_product p = cg_product_of(c, op);
    uint32_t k = p.k + p.packed, last = index ? p.n : k, other = index ? k : p.m;
    bool along_last = run->reg_bits <= last, along_other = run->reg_bits <= other;
    for (uint32_t i = 0; i < run->reg_bits; i++) {
        along_last = along_last && run->reg[i] == (uint32_t)1 << i;
        along_other = along_other && run->reg[i] == (uint32_t)1 << (last + i);
    }
    if (!p.has_atom || (!along_last && !along_other))
        return CG_NO_FEED;
    bool along_k = index ? along_other : along_last;
    if (p.turned && index)
        return cg_turned_feed(&p, along_k);
    if (p.atom.element_bits == 1)
        return CG_FEED_ROWS;
    if (p.atom.element_bits == 2 && index && p.n >= 4 && along_last) /* by pairs of columns, as takes_pairs finds */
        return along_k || p.packed ? CG_NO_FEED : CG_FEED_PAIRS;
    return along_k ? CG_FEED_ROWS : CG_NO_FEED;
}

/* Where each lane of an ldmatrix.x4 points, in the operand's index. A: matrices in the order (m, k) = (0,0) (8,0) (0,8)
   (8,8), k in 16-byte chunks. B for 16 columns: (n, k) = (0,0) (0,8) (8,0) (8,8); with fewer columns than 16 the upper
   lanes point at the same rows again. Pairs: k in rows 0, 1, 4, 5, 8 ... of one matrix, 2, 3, 6, 7 ... of the next,
   then 16 more. Registers: k beyond the instruction's, rows or columns beyond 16, batches. */
static cg_layout lanes_of(const cg_func *c, const cg_product *p, const cg_operand *o)
{
    static const uint8_t pair_lanes[] = {0, 2, 3, 1, 4};
    uint32_t one = 1, k0 = o->left ? 0 : p->n, x0 = o->left ? o->k : 0;
    uint32_t x = p->n - p->along_n, upper_k = one << (k0 + p->atom.k_bits - 1),
             upper_x = o->left || x > 3 ? one << (x0 + 3) : 0;
    cg_layout l = {.warp_bits = (uint8_t)c->warp_bits};
    for (uint32_t i = 0; i < 3; i++)
        l.lane[i] = one << ((o->across ? k0 : x0) + i);
    l.lane[3] = o->left ? upper_x : upper_k;
    l.lane[4] = o->left ? upper_k : upper_x;
    for (uint32_t i = 0; !o->left && p->pairs && i < CG_LANE_BITS; i++)
        l.lane[i] = one << (k0 + pair_lanes[i]);
    for (uint32_t i = p->atom.k_bits; i < o->k; i++)
        l.reg[l.reg_bits++] = one << (k0 + i);
    for (uint32_t i = o->left ? 4 + p->along_m : 4; i < (o->left ? p->m : x); i++)
        l.reg[l.reg_bits++] = one << (x0 + i);
    for (uint32_t i = 0; i < p->batch; i++)
        l.reg[l.reg_bits++] = one << (o->k + (o->left ? p->m : p->n) + i);
    for (uint32_t i = 0; o->left && i < p->along_m; i++)
        l.warp[i] = one << (x0 + 4 + i);
    for (uint32_t i = 0; !o->left && i < p->along_n; i++)
        l.warp[p->along_m + i] = one << (x0 + x + i);
    return l;
}

/* parts: bits of K that number the parts in which what goes to scratch goes there. */
static cg_operand operand_of(cg_func *c, const cg_product *p, bool left, uint32_t parts)
{
    const cg_layout *read = cg_value_of(c, p->result)->source + !left;
    cg_operand o = {.left = left, .v = left ? p->lhs : p->rhs, .read = read, .k = p->k};
    const cg_stage *ring = cg_stage_of(c, o.v);
    cg_layout fragments = fragment_layout(c, p);
    if (ring) { /* across: neighbours along K do not lie side by side */
        cg_layout probe = {.reg_bits = 1, .reg = {(uint32_t)1 << (left ? 0 : p->n)}};
        probe = cg_from_bytes(p, left, &probe);
        o.in_ring = true;
        o.stage = *ring;
        o.across = cg_stage_layout_of(c, o.v, &probe).reg[0] != 1;
    } else if (left && p->atom.element_bits == 1 && cg_layout_equal(read, &fragments)) {
        o.fragments = cg_get(c, o.v, read);
        return o;
    } else {
        cg_layout l = cg_as_bytes(p, left, read);
        bool along_last = runs_along_last(&l, left ? p->k : p->n);
        o.k = p->k - parts;
        uint32_t rows = left ? p->m : o.k, columns = left ? o.k : p->n;
        o.across = left ? p->atom.element_bits == 1 && !along_last
                        : p->pairs || (p->atom.element_bits == 1 && along_last);
        bool flipped = o.across == left; /* A lies in rows of M, B in rows of K, unless turned */
        o.stage = cg_stage_new(flipped ? columns : rows, flipped ? rows : columns, p->batch, cg_memory_bytes(p->in),
                               !left && p->pairs ? CG_FEED_PAIRS : CG_FEED_ROWS);
        o.stage.flipped = flipped;
    }
    cg_layout lanes = lanes_of(c, p, &o), elements = cg_from_bytes(p, left, &lanes);
    o.lanes = ring ? cg_stage_layout_of(c, o.v, &elements) : cg_stage_layout(&o.stage, &lanes);
    return o;
}

/* Bytes of scratch that it takes. */
static uint32_t operand_bytes(const cg_operand *o, bool async)
{
    uint32_t align = async ? CG_STAGE_ALIGN : 16;
    return o->in_ring || o->fragments ? 0 : (cg_stage_bytes(&o->stage) + align - 1) & ~(align - 1);
}

/* Both operands, in as few parts along K as scratch has room for. Gives the bits that number the parts. */
static uint32_t find_operands(cg_func *c, const cg_product *p, cg_operand *out)
{
    for (uint32_t parts = 0;; parts++) {
        out[0] = operand_of(c, p, true, parts);
        out[1] = operand_of(c, p, false, parts);
        if (operand_bytes(&out[0], p->async) + operand_bytes(&out[1], p->async) <= cg_scratch_room(c)
            || p->k - parts == p->atom.k_bits)
            return parts;
    }
}

/* Puts a part of what is neither in registers nor in a ring into scratch, with a barrier behind. True: there was
   something to put. */
static bool fill_stages(cg_func *c, const cg_product *p, cg_operand *operands, bool async, uint32_t parts,
                        uint32_t part)
{
    uint32_t at[] = {0, operand_bytes(&operands[0], async)}, all = at[1] + operand_bytes(&operands[1], async);
    uint32_t mask = (((uint32_t)1 << parts) - 1) << (p->k - parts);
    if (!all)
        return false;
    cg_val scratch = cg_scratch(c, all);
    for (int i = 0; i < 2; i++) {
        cg_operand *o = &operands[i];
        if (o->in_ring || o->fragments)
            continue;
        const cg_val *regs = cg_pack_bytes(c, p, o->left, o->read, cg_get(c, o->v, o->read));
        cg_layout l = cg_as_bytes(p, o->left, o->read);
        o->stage.base = scratch;
        if (at[i]) {
            o->stage.base = cg_new(c, CG_B32);
            cg_ins(c, "add.u32 %v, %v, %u", o->stage.base, scratch, at[i]);
        }
        if (regs)
            cg_stage_fill(c, &o->stage, p->packed ? BC_I8 : p->in, &l, regs, o->left ? mask : mask << p->n, part);
    }
    if (async)
        cg_ins(c, "fence.proxy.async.shared::cta");
    cg_barrier(c);
    return true;
}

/* ---- fragments ---- */

/* Step `part` of the operand: bits of k, of the rows or columns, of the batch, as lanes_of has them. */
static void load_fragments(cg_func *c, const cg_operand *o, uint32_t part, cg_val *out)
{
    cg_place place = cg_flat_place(c, o->stage.base, o->stage.bytes, &o->lanes, part);
    for (int i = 0; i < 4; i++)
        out[i] = cg_new(c, CG_B32);
    cg_ins(c, "ldmatrix.sync.aligned.m8n8.x4%s.shared.b16 {%v, %v, %v, %v}, [%v+%d]", o->across ? ".trans" : "", out[0],
           out[1], out[2], out[3], place.address, (int)place.offset);
}

/* Two 8-bit floats, bytes 0 and 1 or 2 and 3 of x, as f16: exact. Without an instruction e5m2 is the upper half of f16;
   e4m3 has one bit of exponent less, whose bias is lower by 8, and its one NaN has all bits set. */
static cg_val widen_pair(cg_func *c, const char *type, cg_val x, bool upper)
{
    bool is_e4m3 = strcmp(type, "e4m3x2") == 0;
    cg_val out = cg_new(c, CG_B32);
    if (c->target->features & CG_HAS_F8) {
        cg_val half[2] = {cg_new(c, CG_B16), cg_new(c, CG_B16)};
        cg_ins(c, "mov.b32 {%v, %v}, %v", half[0], half[1], x);
        cg_ins(c, "cvt.rn.f16x2.%s %v, %v", type, out, half[upper]);
        return out;
    }
    cg_ins(c, "prmt.b32 %v, %v, 0, %s", out, x, upper ? "0x3424" : "0x1404");
    if (!is_e4m3)
        return out;
    cg_val magnitude = cg_new(c, CG_B32), sign = cg_new(c, CG_B32), nan = cg_new(c, CG_B32),
           shifted = cg_new(c, CG_B32);
    cg_val number = cg_new(c, CG_B32), scaled = cg_new(c, CG_B32), mask = cg_new(c, CG_B32), result = cg_new(c, CG_B32);
    cg_ins(c, "shr.u32 %v, %v, 1", shifted, out);
    cg_ins(c, "and.b32 %v, %v, 0x3f803f80", magnitude, shifted);
    cg_ins(c, "and.b32 %v, %v, 0x80008000", sign, out);
    cg_ins(c, "or.b32 %v, %v, %v", number, magnitude, sign);
    cg_ins(c, "mul.rn.f16x2 %v, %v, %v", scaled, number, cg_reg(c, cg_const(CG_B32, 0x5C005C00))); /* 2^8 */
    cg_ins(c, "add.u32 %v, %v, 0x00800080", nan, magnitude); /* 0x4000 for NaN: of it 0x7c00, infinity's bits */
    cg_ins(c, "and.b32 %v, %v, 0x40004000", nan, nan);
    cg_ins(c, "shl.b32 %v, %v, 1", mask, nan);
    cg_ins(c, "shr.u32 %v, %v, 4", nan, nan);
    cg_ins(c, "sub.u32 %v, %v, %v", mask, mask, nan);
    cg_ins(c, "or.b32 %v, %v, %v", result, scaled, mask);
    return result;
}

/* Fragments of 8-bit floats as such of f16 for two instructions: out[0..3] of the lower halves of the four registers,
   out[4..7] of the upper ones. So each has every other pair of k: in another order than the memory's, but A and B in
   the same. */
static void widen(cg_func *c, const char *type, cg_val *out)
{
    for (int i = 0; i < 4; i++) {
        cg_val x = out[i];
        out[i] = widen_pair(c, type, x, false);
        out[4 + i] = widen_pair(c, type, x, true);
    }
}

void cg_pack_fragments(cg_func *c, const cg_operand *o, uint32_t part, cg_val *out)
{
    for (uint32_t i = 0; i < 4; i++) {
        const cg_val *two = o->fragments + (part << 3 | i << 1);
        out[i] = cg_new(c, CG_B32);
        cg_ins(c, "mov.b32 %v, {%v, %v}", out[i], cg_reg(c, two[0]), cg_reg(c, two[1]));
    }
}

/* Fragments of f4 as f16: 16 registers for each four, of which there are 4 << alternate. */
static void widen_halves(cg_func *c, bool left, uint32_t alternate, cg_val *out)
{
    for (uint32_t i = 1 + alternate; i-- > 0;) {
        cg_val words[4];
        memcpy(words, out + 4 * i, sizeof words);
        cg_widen_halves(c, left, words, out + 16 * i);
    }
}

/* Four registers of A; twice as many when f8 is widened, and when blocks alternate; four times as many when f4 is. */
static void take_left(cg_func *c, const cg_product *p, const cg_operand *o, uint32_t part, cg_val *out)
{
    if (o->fragments) {
        cg_pack_fragments(c, o, part, out);
        return;
    }
    load_fragments(c, o, part, out);
    uint32_t alternate = p->scaling ? p->scaling->alternate : 0;
    if (alternate)
        cg_split_blocks(c, p, out);
    if (p->atom.widened && p->packed)
        widen_halves(c, true, alternate, out);
    else if (p->atom.widened)
        widen(c, p->atom.widened, out);
}

/* Two registers of B for the first 8 columns, two for the next; all again when widened, three times again when f4 is.
 */
static void take_right(cg_func *c, const cg_product *p, const cg_operand *o, uint32_t part, cg_val *out)
{
    cg_val x[4];
    load_fragments(c, o, part, p->pairs ? x : out);
    for (uint32_t i = 0; p->pairs && i < 4; i++) { /* bytes of an even and an odd column in turn */
        out[i] = cg_new(c, CG_B32);
        cg_ins(c, "prmt.b32 %v, %v, %v, %s", out[i], x[2 * (i % 2)], x[2 * (i % 2) + 1], i < 2 ? "0x6420" : "0x7531");
    }
    if (p->atom.widened && p->packed)
        widen_halves(c, false, 0, out);
    else if (p->atom.widened)
        widen(c, p->atom.widened, out);
}

void cg_multiply_fragments(cg_func *c, const cg_product *p, const cg_val *a, const cg_val *b, cg_val *d)
{
    cg_val out[4];
    if (p->atom.half_accumulator) {
        cg_val in[2];
        for (int i = 0; i < 2; i++) {
            in[i] = cg_new(c, CG_B32);
            out[i] = cg_new(c, CG_B32);
            cg_ins(c, "mov.b32 %v, {%v, %v}", in[i], cg_reg(c, d[2 * i]), cg_reg(c, d[2 * i + 1]));
        }
        cg_ins(c, "mma.sync.aligned.%s {%v, %v}, {%v, %v, %v, %v}, {%v, %v}, {%v, %v}", p->atom.text, out[0], out[1],
               a[0], a[1], a[2], a[3], b[0], b[1], in[0], in[1]);
        for (int i = 0; i < 2; i++) {
            d[2 * i] = cg_new(c, CG_B16);
            d[2 * i + 1] = cg_new(c, CG_B16);
            cg_ins(c, "mov.b32 {%v, %v}, %v", d[2 * i], d[2 * i + 1], out[i]);
        }
        return;
    }
    for (int i = 0; i < 4; i++)
        out[i] = cg_new(c, CG_B32);
    cg_ins(c, "mma.sync.aligned.%s {%v, %v, %v, %v}, {%v, %v, %v, %v}, {%v, %v}, {%v, %v, %v, %v}", p->atom.text,
           out[0], out[1], out[2], out[3], a[0], a[1], a[2], a[3], b[0], b[1], cg_reg(c, d[0]), cg_reg(c, d[1]),
           cg_reg(c, d[2]), cg_reg(c, d[3]));
    memcpy(d, out, sizeof out);
}

/* All steps along K of a part: `steps` of them, the first with number `first`. */
static void multiply_part(cg_func *c, const cg_product *p, const cg_operand *operands, uint32_t first, uint32_t steps,
                          cg_val *acc)
{
    const cg_operand *left = &operands[0], *right = &operands[1];
    uint32_t m_bits = p->m - p->along_m - 4, columns = p->n - p->along_n, pair_bits = columns > 4 ? columns - 4 : 0;
    uint32_t left_bits = left->k - p->atom.k_bits, right_bits = right->k - p->atom.k_bits;
    uint32_t left_first = left->k == p->k ? first : 0, right_first = right->k == p->k ? first : 0;
    uint32_t rows = (uint32_t)1 << m_bits, pairs = (uint32_t)1 << pair_bits, per_pair = columns > 3 ? 2 : 1;
    for (uint32_t batch = 0; batch < (uint32_t)1 << p->batch && !c->failed; batch++)
        for (uint32_t k = 0; k < steps; k++) {
            cg_val b[64][16];
            for (uint32_t n = 0; n < pairs; n++)
                take_right(c, p, right, (right_first + k) | n << right_bits | batch << (right_bits + pair_bits), b[n]);
            for (uint32_t m = 0; m < rows && !c->failed; m++) {
                cg_val a[32];
                take_left(c, p, left, (left_first + k) | m << left_bits | batch << (left_bits + m_bits), a);
                for (uint32_t n = 0; n < pairs; n++)
                    for (uint32_t half = 0; half < per_pair; half++) {
                        uint32_t row = batch * rows + m, column = (batch * pairs + n) * per_pair + half;
                        cg_val *d = acc + ((row * (pairs * per_pair) + n * per_pair + half) << 2);
                        if (p->scaled)
                            cg_multiply_scaled(c, p, a, b[n] + 2 * half, &(cg_scale_at){row, column, first + k}, d);
                        for (uint32_t i = 0; !p->scaled && i < (p->atom.widened ? 8 : 4); i += 4)
                            cg_multiply_fragments(c, p, a + i, b[n] + i + 2 * half, d);
                    }
            }
        }
}

bool cg_mma_spares_scratch(const cg_func *c, const ct_op *op)
{
    cg_product p = cg_product_of(c, op);
    const cg_layout *read = c->values[p.result->id].source;
    bool spares = p.has_atom && read;
    for (uint32_t i = 0; spares && i < 2; i++) {
        const ct_op *from = cg_stage_source(op->operands[i])->op;
        settle_product(c, &p, &read[1]);
        cg_layout fragments = fragment_layout(c, &p);
        spares = (from && from->opcode == CT_staged)
                 || (i == 0 && p.atom.element_bits == 1 && cg_layout_equal(&read[0], &fragments));
    }
    return spares;
}

/* A part of K that lies in the ring, alone. */
static void multiply_k_part(cg_func *c, const cg_product *p, const cg_k_part *part, cg_val *acc)
{
    cg_operand operands[2] = {operand_of(c, p, true, 0), operand_of(c, p, false, 0)};
    uint32_t step_bits = p->k - part->bits - p->atom.k_bits;
    multiply_part(c, p, operands, part->number << step_bits, (uint32_t)1 << step_bits, acc);
}

static void multiply_with_atom(cg_func *c, const ct_op *op, const cg_product *p, cg_val *acc)
{
    cg_operand operands[2];
    uint32_t parts = find_operands(c, p, operands), step_bits = p->k - parts - p->atom.k_bits;
    bool async = p->async && !parts && cg_can_multiply_async(c, p, operands);
    if (!async)
        cg_remark(c, op, CG_REMARK_MatrixProduct, TV_REMARK_PASSED, "mma.sync.{Instruction=%s}", p->atom.text);
    for (uint32_t part = 0; part < (uint32_t)1 << parts && !c->failed; part++) {
        bool in_scratch = fill_stages(c, p, operands, async, parts, part);
        if (async)
            cg_multiply_async(c, op, p, operands, acc);
        else
            multiply_part(c, p, operands, part << step_bits, (uint32_t)1 << step_bits, acc);
        if (in_scratch)
            cg_scratch_read(c);
    }
}

/* Why a product has no instruction. */
static const char *why_plain(const cg_product *p)
{
    if (p->m < 4 || p->n < 3 || p->n > 10)
        return "no instruction has that shape";
    return "no instruction takes these types, or as few elements along k";
}

static void lower_product(cg_func *c, const ct_op *op)
{
    cg_product p = cg_product_of(c, op);
    const cg_layout *l = &cg_value_of(c, p.result)->home;
    cg_val *start = cg_get(c, p.c, l), *acc = cg_vals(c, cg_layout_regs(l));
    if (!start || !acc)
        return;
    memcpy(acc, start, cg_layout_regs(l) * sizeof *acc);
    if ((p.in == BC_F8E4M3FN || p.in == BC_F8E5M2) && (c->target->features & CG_HAS_F8))
        cg_need_ptx(c, 84);
    const cg_layout *read = cg_value_of(c, p.result)->source;
    if (p.turned) {
        cg_multiply_turned(c, op, &p, acc);
    } else if (p.has_atom) {
        settle_product(c, &p, &read[1]);
        for (uint32_t i = 0; p.scaled && i < 2 && !c->failed; i++)
            cg_take_scales(c, op, &p, i);
        if (p.scaling && p.scaling->alternate)
            p.odd_blocks = cg_odd_blocks(c);
        if (c->failed)
            return;
        bool widens = p.acc == BC_F16 && !p.atom.half_accumulator; /* sums in f32, rounded once */
        for (uint32_t r = 0; widens && r < cg_layout_regs(l); r++)
            acc[r] = cg_to_f32(c, BC_F16, acc[r]);
        if (op->detail)
            multiply_k_part(c, &p, op->detail, acc);
        else
            multiply_with_atom(c, op, &p, acc);
        for (uint32_t r = 0; widens && r < cg_layout_regs(l); r++)
            acc[r] = cg_from_f32(c, BC_F16, "rn", acc[r]);
    } else {
        cg_remark(c, op, CG_REMARK_MatrixProduct, TV_REMARK_MISSED, "element by element: {Why=%s}", why_plain(&p));
        cg_multiply_plain(c, op, &p, read, acc);
    }
    if (!c->failed)
        cg_set(c, p.result, acc);
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
