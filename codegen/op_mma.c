/* Matrix products. Operands go through shared memory: A as rows of M, B as rows of K (16-bit elements) or of N, their 16-byte chunks
   swizzled so that neither the stores nor ldmatrix meet bank conflicts; fragments come back by ldmatrix. What has no
   instruction (f32 and f64, which must not be rounded to less; tiles smaller than a fragment) is computed element by element
   from shared memory, products and sums rounded apart, the accumulator last. Sources: memory reference, section 7; PTX ISA,
   "Warp-level matrix instructions", fragment figures. */
#include <string.h>

#include "codegen/assign.h"
#include "codegen/map.h"
#include "codegen/memory.h"
#include "codegen/mma.h"
#include "codegen/stage.h"

/* One mma instruction: M is 16 rows, N 8 columns. */
typedef struct atom {
    const char *text;        /* after mma.sync.aligned. */
    uint32_t k_bits;         /* log2 of its K */
    uint32_t element_bits;   /* log2 of the elements in a 32-bit register */
    bool half_accumulator;   /* f16 accumulators: two in a register */
} atom;

/* M, N, K and the batch as bits of the index. */
typedef struct product {
    uint32_t m, n, k, batch; /* bits */
    bc_kind in, acc;
    const bc_value *lhs, *rhs, *c, *result;
    bool has_atom;
    atom atom;
} product;

static uint32_t log2_of(int64_t x)
{
    uint32_t n = 0;
    while ((int64_t)1 << n < x)
        n++;
    return n;
}

static bool find_atom(const cg_func *c, const bc_op *op, product *p)
{
    static const atom f16_f32 = {"m16n8k16.row.col.f32.f16.f16.f32", 4, 1, false};
    static const atom f16_f16 = {"m16n8k16.row.col.f16.f16.f16.f16", 4, 1, true};
    static const atom bf16_f32 = {"m16n8k16.row.col.f32.bf16.bf16.f32", 4, 1, false};
    static const atom tf32_f32 = {"m16n8k8.row.col.f32.tf32.tf32.f32", 3, 0, false};
    static const atom e4m3_f32 = {"m16n8k32.row.col.f32.e4m3.e4m3.f32", 5, 2, false};
    static const atom e5m2_f32 = {"m16n8k32.row.col.f32.e5m2.e5m2.f32", 5, 2, false};
    static const atom integer[2][2] = {
        {{"m16n8k32.row.col.s32.u8.u8.s32", 5, 2, false}, {"m16n8k32.row.col.s32.u8.s8.s32", 5, 2, false}},
        {{"m16n8k32.row.col.s32.s8.u8.s32", 5, 2, false}, {"m16n8k32.row.col.s32.s8.s8.s32", 5, 2, false}},
    };
    const atom *a = NULL;
    bool f8 = (c->target->features & CG_HAS_F8) != 0;
    if (p->in == BC_F16)
        a = p->acc == BC_F16 ? &f16_f16 : &f16_f32;
    else if (p->in == BC_BF16)
        a = &bf16_f32;
    else if (p->in == BC_TF32)
        a = &tf32_f32;
    else if (p->in == BC_F8E4M3FN && p->acc == BC_F32 && f8)
        a = &e4m3_f32;
    else if (p->in == BC_F8E5M2 && p->acc == BC_F32 && f8)
        a = &e5m2_f32;
    else if (op->opcode == OP_mmai)
        a = &integer[bc_attr_u(op, F_mmai_signedness_lhs) == BC_Signedness_signed]
                    [bc_attr_u(op, F_mmai_signedness_rhs) == BC_Signedness_signed];
    if (!a || op->opcode == OP_mmaf_scaled || p->m < 4 || p->n < 3 || p->n > 10 || p->k < a->k_bits)
        return false;
    p->atom = *a;
    return true;
}

static product product_of(const cg_func *c, const bc_op *op)
{
    bc_value **operands = bc_operands(op);
    const bc_type *a = operands[0]->type, *b = operands[1]->type;
    uint32_t r = a->rank;
    product p = {.m = log2_of(a->shape[r - 2]), .k = log2_of(a->shape[r - 1]), .n = log2_of(b->shape[r - 1]),
                 .batch = r == 3 ? log2_of(a->shape[0]) : 0, .in = bc_elem_kind(a), .lhs = operands[0], .rhs = operands[1],
                 .c = operands[2], .result = cg_result(op, 0)};
    p.acc = bc_elem_kind(p.c->type);
    p.has_atom = find_atom(c, op, &p);
    return p;
}

/* ---- layouts ---- */

/* Which warps go along M and along N: to where more is left, so that the warps' parts become square. */
static void split_warps(const cg_func *c, const product *p, uint32_t *out_m, uint32_t *out_n)
{
    uint32_t m = p->m - 4, n = p->n - 3;
    *out_m = *out_n = 0;
    for (uint32_t i = 0; i < c->warp_bits; i++) {
        if (m - *out_m + 1 >= n - *out_n && m > *out_m)
            ++*out_m;
        else if (n > *out_n)
            ++*out_n;
        else if (m > *out_m)
            ++*out_m;
    }
}

/* Accumulators: the fragment, then the further columns, rows and batches of the warp. */
static cg_layout accumulator_layout(const cg_func *c, const product *p)
{
    cg_layout l = {.tile_bits = (uint8_t)(p->m + p->n + p->batch), .warp_bits = (uint8_t)c->warp_bits};
    uint32_t along_m, along_n, one = 1, w = 0;
    split_warps(c, p, &along_m, &along_n);
    l.reg[l.reg_bits++] = one;
    l.reg[l.reg_bits++] = one << (p->n + 3);
    for (uint32_t i = 3; i < p->n - along_n; i++)
        l.reg[l.reg_bits++] = one << i;
    for (uint32_t i = 4; i < p->m - along_m; i++)
        l.reg[l.reg_bits++] = one << (p->n + i);
    for (uint32_t i = 0; i < p->batch; i++)
        l.reg[l.reg_bits++] = one << (p->n + p->m + i);
    l.lane[0] = one << 1;
    l.lane[1] = one << 2;
    for (uint32_t i = 0; i < 3; i++)
        l.lane[2 + i] = one << (p->n + i);
    for (uint32_t i = 0; i < along_m; i++)
        l.warp[w++] = one << (p->n + p->m - along_m + i);
    for (uint32_t i = 0; i < along_n; i++)
        l.warp[w++] = one << (p->n - along_n + i);
    return l;
}

/* Without an instruction: up to 4 columns and then rows to a thread's registers, the rest as it comes. */
static cg_layout scalar_layout(const cg_func *c, const product *p)
{
    uint32_t total = p->m + p->n + p->batch, threads = CG_LANE_BITS + c->warp_bits;
    uint32_t regs = total > threads ? total - threads : 0, count = 0;
    uint32_t columns = regs / 2 + regs % 2 < p->n ? regs / 2 + regs % 2 : p->n;
    uint32_t rows = regs - columns < p->m ? regs - columns : p->m;
    uint8_t order[CG_MAX_TILE_BITS];
    for (uint32_t i = 0; i < columns; i++)
        order[count++] = (uint8_t)i;
    for (uint32_t i = 0; i < rows; i++)
        order[count++] = (uint8_t)(p->n + i);
    for (uint32_t i = columns; i < p->n; i++)
        order[count++] = (uint8_t)i;
    for (uint32_t i = rows; i < p->m + p->batch; i++)
        order[count++] = (uint8_t)(p->n + i);
    return cg_layout_ordered(order, total, columns + rows, c->warp_bits);
}

static cg_layout operand_home(cg_func *c, const bc_value *v)
{
    cg_layout l;
    uint32_t weight;
    return cg_wish(c, v, &l, &weight) ? l : cg_default_layout(c, v->type);
}

static void assign_product(cg_func *c, const bc_op *op)
{
    product p = product_of(c, op);
    cg_layout l = p.has_atom ? accumulator_layout(c, &p) : scalar_layout(c, &p);
    cg_layout a = operand_home(c, p.lhs), b = operand_home(c, p.rhs);
    cg_set_home(c, p.result, &l, CG_WEIGHT_MMA);
    cg_want(c, p.c, &l);
    cg_want(c, p.lhs, &a);
    cg_want(c, p.rhs, &b);
    cg_layout *read = bc_new(&c->arena, cg_layout, 4);
    if (!read) {
        cg_no_memory(c);
        return;
    }
    read[0] = a;
    read[1] = b;
    for (uint32_t i = 3; i < op->operand_count; i++) { /* scales */
        read[i - 1] = operand_home(c, bc_operands(op)[i]);
        cg_want(c, bc_operands(op)[i], &read[i - 1]);
    }
    cg_value_of(c, p.result)->source = read;
}

void cg_assign_mmaf(cg_func *c, const bc_op *op)
{
    assign_product(c, op);
}

void cg_assign_mmai(cg_func *c, const bc_op *op)
{
    assign_product(c, op);
}

void cg_assign_mmaf_scaled(cg_func *c, const bc_op *op)
{
    assign_product(c, op);
}

/* ---- shared memory ---- */

/* Images with the two inner dimensions exchanged: an index of K x N as one of N x K. */
static cg_layout exchanged(const cg_layout *l, uint32_t rows, uint32_t columns)
{
    cg_layout r = *l;
    uint32_t *const images[] = {r.reg, r.lane, r.warp};
    const uint32_t counts[] = {l->reg_bits, CG_LANE_BITS, l->warp_bits};
    uint32_t inner = ((uint32_t)1 << columns) - 1, outer = ((uint32_t)1 << rows) - 1;
    for (int part = 0; part < 3; part++)
        for (uint32_t i = 0; i < counts[part]; i++) {
            uint32_t x = images[part][i];
            images[part][i] = (x & inner) << rows | (x >> columns & outer) | (x >> (rows + columns)) << (rows + columns);
        }
    return r;
}

static void fill_stage(cg_func *c, const cg_stage *s, bc_kind kind, const cg_layout *l, const cg_val *regs)
{
    cg_layout at = cg_stage_layout(s, l);
    cg_flat_store(c, kind, s->base, &at, regs);
}

bool cg_mma_takes_stage(const cg_func *c, const bc_op *op, uint32_t index)
{
    if (op->opcode != OP_mmaf && op->opcode != OP_mmai)
        return false;
    product p = product_of(c, op);
    return p.has_atom && p.batch == 0 && (index == 0 || (index == 1 && p.atom.element_bits == 1));
}

/* Both operands in shared memory, with a barrier behind unless they were there. */
static bool fill_stages(cg_func *c, const product *p, bool b_by_columns, cg_stage *out_a, cg_stage *out_b)
{
    const cg_layout *read = cg_value_of(c, p->result)->source;
    uint32_t bytes = cg_memory_bytes(p->in);
    const cg_stage *have[] = {cg_stage_of(c, p->lhs), cg_stage_of(c, p->rhs)};
    cg_layout b = b_by_columns ? exchanged(&read[1], p->k, p->n) : read[1];
    *out_a = cg_stage_new(p->m, p->k, p->batch, bytes);
    *out_b = b_by_columns ? cg_stage_new(p->n, p->k, p->batch, bytes) : cg_stage_new(p->k, p->n, p->batch, bytes);
    uint32_t first = have[0] ? 0 : (cg_stage_bytes(out_a) + 15) & ~15u, all = first + (have[1] ? 0 : cg_stage_bytes(out_b));
    cg_val scratch = all ? cg_scratch(c, all) : (cg_val){0};
    out_a->base = have[0] ? have[0]->base : scratch;
    if (have[1]) {
        out_b->base = have[1]->base;
    } else {
        out_b->base = cg_new(c, CG_B32);
        cg_ins(c, "add.u32 %v, %v, %u", out_b->base, scratch, first);
    }
    cg_val *lhs = have[0] ? NULL : cg_get(c, p->lhs, &read[0]), *rhs = have[1] ? NULL : cg_get(c, p->rhs, &read[1]);
    if (lhs)
        fill_stage(c, out_a, p->in, &read[0], lhs);
    if (rhs)
        fill_stage(c, out_b, p->in, &b, rhs);
    if (all)
        cg_barrier(c);
    return !c->failed;
}

/* ---- with instructions ---- */

static void ldmatrix(cg_func *c, const cg_stage *s, const cg_layout *lanes, uint32_t r, bool transposed, cg_val *out)
{
    cg_place place = cg_flat_place(c, s->base, s->bytes, lanes, r);
    for (int i = 0; i < 4; i++)
        out[i] = cg_new(c, CG_B32);
    cg_ins(c, "ldmatrix.sync.aligned.m8n8.x4%s.shared.b16 {%v, %v, %v, %v}, [%v+%d]", transposed ? ".trans" : "", out[0], out[1],
           out[2], out[3], place.address, (int)place.offset);
}

/* Where each lane of an ldmatrix.x4 points. A: matrices in the order (m, k) = (0,0) (8,0) (0,8) (8,8), k in 16-byte chunks.
   Registers: k beyond the instruction's, m beyond the fragment's, batches. */
static cg_layout a_lanes(const cg_func *c, const product *p, const cg_stage *s, uint32_t along_m)
{
    cg_layout l = {.warp_bits = (uint8_t)c->warp_bits};
    uint32_t one = 1, w = 0;
    for (uint32_t i = 0; i < 4; i++)
        l.lane[i] = one << (p->k + i);
    l.lane[4] = one << s->chunk;
    for (uint32_t i = p->atom.k_bits; i < p->k; i++)
        l.reg[l.reg_bits++] = one << i;
    for (uint32_t i = 4; i < p->m - along_m; i++)
        l.reg[l.reg_bits++] = one << (p->k + i);
    for (uint32_t i = 0; i < p->batch; i++)
        l.reg[l.reg_bits++] = one << (p->k + p->m + i);
    for (uint32_t i = 0; i < along_m; i++)
        l.warp[w++] = one << (p->k + p->m - along_m + i);
    return cg_stage_layout(s, &l);
}

/* B for 16 columns: (n, k) = (0,0) (0,8) (8,0) (8,8). With fewer columns than 16 the upper lanes point at the same rows again. */
static cg_layout b_lanes(const cg_func *c, const product *p, const cg_stage *s, uint32_t along_m, uint32_t along_n, bool by_columns)
{
    cg_layout l = {.warp_bits = (uint8_t)c->warp_bits};
    uint32_t one = 1, n0 = by_columns ? p->k : 0, k0 = by_columns ? 0 : p->n, columns = p->n - along_n;
    for (uint32_t i = 0; i < 3; i++)
        l.lane[i] = by_columns ? one << (n0 + i) : one << (k0 + i);
    l.lane[3] = by_columns ? one << s->chunk : one << (k0 + 3);
    l.lane[4] = columns > 3 ? one << (n0 + 3) : 0;
    for (uint32_t i = p->atom.k_bits; i < p->k; i++)
        l.reg[l.reg_bits++] = one << (k0 + i);
    for (uint32_t i = 4; i < columns; i++)
        l.reg[l.reg_bits++] = one << (n0 + i);
    for (uint32_t i = 0; i < p->batch; i++)
        l.reg[l.reg_bits++] = one << (p->k + p->n + i);
    for (uint32_t i = 0; i < along_n; i++)
        l.warp[along_m + i] = one << (n0 + columns + i);
    return cg_stage_layout(s, &l);
}

static void multiply(cg_func *c, const product *p, const cg_val *a, const cg_val *b, cg_val *d)
{
    cg_val out[4];
    if (p->atom.half_accumulator) {
        cg_val in[2];
        for (int i = 0; i < 2; i++) {
            in[i] = cg_new(c, CG_B32);
            out[i] = cg_new(c, CG_B32);
            cg_ins(c, "mov.b32 %v, {%v, %v}", in[i], cg_reg(c, d[2 * i]), cg_reg(c, d[2 * i + 1]));
        }
        cg_ins(c, "mma.sync.aligned.%s {%v, %v}, {%v, %v, %v, %v}, {%v, %v}, {%v, %v}", p->atom.text, out[0], out[1], a[0], a[1],
               a[2], a[3], b[0], b[1], in[0], in[1]);
        for (int i = 0; i < 2; i++) {
            d[2 * i] = cg_new(c, CG_B16);
            d[2 * i + 1] = cg_new(c, CG_B16);
            cg_ins(c, "mov.b32 {%v, %v}, %v", d[2 * i], d[2 * i + 1], out[i]);
        }
        return;
    }
    for (int i = 0; i < 4; i++)
        out[i] = cg_new(c, CG_B32);
    cg_ins(c, "mma.sync.aligned.%s {%v, %v, %v, %v}, {%v, %v, %v, %v}, {%v, %v}, {%v, %v, %v, %v}", p->atom.text, out[0], out[1],
           out[2], out[3], a[0], a[1], a[2], a[3], b[0], b[1], cg_reg(c, d[0]), cg_reg(c, d[1]), cg_reg(c, d[2]), cg_reg(c, d[3]));
    memcpy(d, out, sizeof out);
}

static void lower_with_atom(cg_func *c, const product *p, cg_val *acc)
{
    uint32_t along_m, along_n;
    bool by_columns = p->atom.element_bits != 1; /* .trans moves elements of 16 bits */
    cg_stage sa, sb;
    split_warps(c, p, &along_m, &along_n);
    if (!fill_stages(c, p, by_columns, &sa, &sb))
        return;
    cg_layout la = a_lanes(c, p, &sa, along_m), lb = b_lanes(c, p, &sb, along_m, along_n, by_columns);
    uint32_t steps = (uint32_t)1 << (p->k - p->atom.k_bits), rows = (uint32_t)1 << (p->m - along_m - 4);
    uint32_t columns = p->n - along_n, pairs = columns > 4 ? (uint32_t)1 << (columns - 4) : 1, step_bits = p->k - p->atom.k_bits;
    uint32_t per_pair = columns > 3 ? 2 : 1;
    for (uint32_t batch = 0; batch < (uint32_t)1 << p->batch && !c->failed; batch++)
        for (uint32_t k = 0; k < steps; k++) {
            cg_val b[64][4];
            for (uint32_t n = 0; n < pairs; n++)
                ldmatrix(c, &sb, &lb, k | n << step_bits | batch << (lb.reg_bits - p->batch), !by_columns, b[n]);
            for (uint32_t m = 0; m < rows && !c->failed; m++) {
                cg_val a[4];
                ldmatrix(c, &sa, &la, k | m << step_bits | batch << (la.reg_bits - p->batch), false, a);
                for (uint32_t n = 0; n < pairs; n++)
                    for (uint32_t half = 0; half < per_pair; half++) {
                        uint32_t column = n * per_pair + half;
                        multiply(c, p, a, b[n] + 2 * half, acc + ((((batch * rows) + m) * (pairs * per_pair) + column) << 2));
                    }
            }
        }
    if (!cg_stage_of(c, p->lhs) || !cg_stage_of(c, p->rhs))
        cg_scratch_read(c);
}

/* ---- without ---- */

/* product and sum of one element, rounded apart */
static cg_val multiply_add(cg_func *c, bc_kind acc, cg_val a, cg_val b, cg_val sum)
{
    cg_class cls = acc == BC_F64 ? CG_B64 : CG_B32;
    cg_val r = cg_new(c, cls), t = cg_new(c, cls);
    if (acc == BC_I32) {
        cg_ins(c, "mad.lo.s32 %v, %v, %v, %v", r, a, b, sum);
        return r;
    }
    const char *type = acc == BC_F64 ? "f64" : "f32";
    cg_ins(c, "mul.rn.%s %v, %v, %v", type, t, a, b);
    cg_ins(c, "add.rn.%s %v, %v, %v", type, r, sum, t);
    return r;
}

/* side: 0 lhs, 1 rhs */
static cg_val load_operand(cg_func *c, const bc_op *op, const product *p, int side, cg_val address)
{
    cg_access a = {.kind = p->in, .space = "shared", .order = "", .address = address, .predicate = cg_const(CG_PRED, 1)};
    cg_val x;
    cg_load_vector(c, &a, 1, NULL, &x);
    if (p->in == BC_I8)
        return cg_to_b32(c, BC_I8, bc_attr_u(op, side ? F_mmai_signedness_rhs : F_mmai_signedness_lhs) == BC_Signedness_signed, x);
    if (p->in == BC_TF32) {
        cg_val cut = cg_new(c, CG_B32);
        cg_ins(c, "and.b32 %v, %v, 0xffffe000", cut, x);
        return cut;
    }
    return p->in == BC_F64 ? x : cg_any_to_f32(c, p->in, x);
}

/* The scales of a scaled product in shared memory: rows of blocks along K for A, rows of columns for B. */
typedef struct scales {
    bc_kind kind;
    uint32_t k, block;      /* bits of the blocks along K; of the elements in one */
    cg_val base[2];
    cg_val *at[2];          /* by distinct row of A, column of B: address of its first scale */
} scales;

/* Puts the scales behind the first `offset` bytes of the scratch. */
static void fill_scales(cg_func *c, const bc_op *op, const product *p, cg_val scratch, uint32_t offset, scales *s)
{
    const cg_layout *read = cg_value_of(c, p->result)->source;
    for (int side = 0; side < 2; side++) {
        const bc_value *v = bc_operands(op)[3 + side];
        const cg_val *regs = cg_get(c, v, &read[2 + side]);
        s->base[side] = cg_new(c, CG_B32);
        cg_ins(c, "add.u32 %v, %v, %u", s->base[side], scratch, offset);
        if (regs)
            cg_flat_store(c, s->kind, s->base[side], &read[2 + side], regs);
        offset += ((cg_memory_bytes(s->kind) << cg_shape_of(v->type).tile_bits) + 15) & ~15u;
    }
}

static uint32_t scale_bytes(const bc_op *op, bc_kind kind)
{
    uint32_t bytes = 0;
    for (uint32_t i = 3; i < op->operand_count; i++)
        bytes += ((cg_memory_bytes(kind) << cg_shape_of(bc_operands(op)[i]->type).tile_bits) + 15) & ~15u;
    return bytes;
}

/* The scale at address + distance, as f32. */
static cg_val load_scale(cg_func *c, bc_kind kind, cg_val address, cg_val distance)
{
    cg_access a = {.kind = kind, .space = "shared", .order = "", .address = cg_new(c, CG_B32), .predicate = cg_const(CG_PRED, 1)};
    cg_val x;
    cg_ins(c, "add.u32 %v, %v, %v", a.address, address, distance);
    cg_load_vector(c, &a, 1, NULL, &x);
    return cg_any_to_f32(c, kind, x);
}

/* A loop over k; every thread reads its rows and columns from shared memory, where neither is swizzled. */
static void lower_without(cg_func *c, const bc_op *op, const product *p, const cg_layout *l, cg_val *acc)
{
    cg_stage sa, sb;
    const cg_layout *read = cg_value_of(c, p->result)->source;
    uint32_t bytes = cg_memory_bytes(p->in), count = cg_layout_regs(l);
    cg_val *lhs = cg_get(c, p->lhs, &read[0]), *rhs = cg_get(c, p->rhs, &read[1]);
    if (!lhs || !rhs || c->failed)
        return;
    sa = (cg_stage){.rows = p->m, .columns = p->k, .batch = p->batch, .bytes = bytes};
    sb = (cg_stage){.rows = p->k, .columns = p->n, .batch = p->batch, .bytes = bytes};
    uint32_t first = (cg_stage_bytes(&sa) + 15) & ~15u;
    bool scaled = op->opcode == OP_mmaf_scaled;
    uint32_t both = first + ((cg_stage_bytes(&sb) + 15) & ~15u);
    scales s = {0};
    if (scaled) {
        const bc_type *type = bc_operands(op)[3]->type;
        s.kind = bc_elem_kind(type);
        s.k = log2_of(type->shape[type->rank - 1]);
        s.block = p->k - s.k;
    }
    sa.base = cg_scratch(c, both + (scaled ? scale_bytes(op, s.kind) : 0));
    sb.base = cg_new(c, CG_B32);
    cg_ins(c, "add.u32 %v, %v, %u", sb.base, sa.base, first);
    if (scaled)
        fill_scales(c, op, p, sa.base, both, &s);
    cg_flat_store(c, p->in, sa.base, &read[0], lhs);
    cg_flat_store(c, p->in, sb.base, &read[1], rhs);
    cg_barrier(c);
    /* Addresses of the first k of each row of A and column of B that the thread has. */
    uint32_t n_mask = ((uint32_t)1 << p->n) - 1, row_mask = (((uint32_t)1 << (p->m + p->batch)) - 1) << p->n;
    uint32_t batch_mask = (((uint32_t)1 << p->batch) - 1) << (p->n + p->m);
    cg_val thread_row = cg_thread_index(c, l, row_mask, p->n), thread_column = cg_thread_index(c, l, n_mask, 0);
    cg_val thread_batch = cg_thread_index(c, l, batch_mask, p->n + p->m);
    cg_class cls = p->acc == BC_F64 ? CG_B64 : CG_B32;
    cg_val *sum = cg_vals(c, count), *a_at = cg_vals(c, count), *b_at = cg_vals(c, count), k = cg_new(c, CG_B32);
    uint32_t *a_of = bc_new(&c->arena, uint32_t, count), *b_of = bc_new(&c->arena, uint32_t, count), a_count = 0, b_count = 0;
    uint32_t *row_of = bc_new(&c->arena, uint32_t, count), *column_of = bc_new(&c->arena, uint32_t, count);
    s.at[0] = cg_vals(c, count);
    s.at[1] = cg_vals(c, count);
    if (!sum || !a_at || !b_at || !s.at[0] || !s.at[1] || !a_of || !b_of || !row_of || !column_of) {
        cg_no_memory(c);
        return;
    }
    for (uint32_t r = 0; r < count; r++) {
        uint32_t element = cg_layout_reg(l, r), row = (element & row_mask) >> p->n, column = element & n_mask;
        uint32_t batch = element >> (p->n + p->m), i, key = column | batch << p->n;
        for (i = 0; i < a_count && row_of[i] != row; i++)
            continue;
        if (i == a_count) {
            row_of[a_count++] = row;
            a_at[i] = cg_new(c, CG_B32);
            cg_val at = cg_new(c, CG_B32);
            cg_ins(c, "xor.b32 %v, %v, %u", at, cg_reg(c, thread_row), row);
            cg_ins(c, "mad.lo.u32 %v, %v, %u, %v", a_at[i], at, bytes << p->k, sa.base);
            s.at[0][i] = cg_new(c, CG_B32);
            if (scaled)
                cg_ins(c, "mad.lo.u32 %v, %v, %u, %v", s.at[0][i], at, cg_memory_bytes(s.kind) << s.k, s.base[0]);
        }
        a_of[r] = i;
        for (i = 0; i < b_count && column_of[i] != key; i++)
            continue;
        if (i == b_count) {
            column_of[b_count++] = key;
            b_at[i] = cg_new(c, CG_B32);
            cg_val at = cg_new(c, CG_B32), base = cg_new(c, CG_B32), index = cg_new(c, CG_B32);
            cg_ins(c, "xor.b32 %v, %v, %u", at, cg_reg(c, thread_column), column);
            cg_ins(c, "xor.b32 %v, %v, %u", index, cg_reg(c, thread_batch), batch);
            cg_ins(c, "mad.lo.u32 %v, %v, %u, %v", base, index, bytes << (p->n + p->k), sb.base);
            cg_ins(c, "mad.lo.u32 %v, %v, %u, %v", b_at[i], at, bytes, base);
            s.at[1][i] = cg_new(c, CG_B32);
            if (scaled) {
                cg_ins(c, "mad.lo.u32 %v, %v, %u, %v", base, index, cg_memory_bytes(s.kind) << (p->n + s.k), s.base[1]);
                cg_ins(c, "mad.lo.u32 %v, %v, %u, %v", s.at[1][i], at, cg_memory_bytes(s.kind), base);
            }
        }
        b_of[r] = i;
        sum[r] = cg_new(c, cls);
        cg_ins(c, "mov.b%u %v, 0", cg_class_bits(cls), sum[r]);
    }
    cg_ins(c, "mov.u32 %v, 0", k);
    uint32_t head = cg_label(c);
    cg_place_label(c, head);
    cg_val *a = cg_vals(c, a_count), *b = cg_vals(c, b_count), again = cg_new(c, CG_PRED);
    for (uint32_t i = 0; a && i < a_count; i++) {
        a[i] = load_operand(c, op, p, 0, a_at[i]);
        cg_ins(c, "add.u32 %v, %v, %u", a_at[i], a_at[i], bytes);
    }
    for (uint32_t i = 0; b && i < b_count; i++) {
        b[i] = load_operand(c, op, p, 1, b_at[i]);
        cg_ins(c, "add.u32 %v, %v, %u", b_at[i], b_at[i], bytes << p->n);
    }
    cg_val *a_scale = cg_vals(c, a_count), *b_scale = cg_vals(c, b_count);
    if (scaled && a_scale && b_scale) {
        cg_val block = cg_new(c, CG_B32), along[2] = {cg_new(c, CG_B32), cg_new(c, CG_B32)};
        cg_ins(c, "shr.u32 %v, %v, %u", block, k, s.block);
        cg_ins(c, "mul.lo.u32 %v, %v, %u", along[0], block, cg_memory_bytes(s.kind));
        cg_ins(c, "mul.lo.u32 %v, %v, %u", along[1], block, cg_memory_bytes(s.kind) << p->n);
        for (uint32_t i = 0; i < a_count; i++)
            a_scale[i] = load_scale(c, s.kind, s.at[0][i], along[0]);
        for (uint32_t i = 0; i < b_count; i++)
            b_scale[i] = load_scale(c, s.kind, s.at[1][i], along[1]);
    }
    for (uint32_t r = 0; a && b && a_scale && b_scale && r < count; r++) {
        cg_val left = a[a_of[r]], right = b[b_of[r]];
        if (scaled) { /* the product of two small floats is exact, and so is mostly that with both scales */
            left = cg_new(c, CG_B32);
            right = cg_new(c, CG_B32);
            cg_ins(c, "mul.rn.f32 %v, %v, %v", left, a[a_of[r]], b[b_of[r]]);
            cg_ins(c, "mul.rn.f32 %v, %v, %v", right, a_scale[a_of[r]], b_scale[b_of[r]]);
        }
        cg_ins(c, "mov.b%u %v, %v", cg_class_bits(cls), sum[r],
               multiply_add(c, p->acc == BC_F16 ? BC_F32 : p->acc, left, right, sum[r]));
    }
    cg_ins(c, "add.u32 %v, %v, 1", k, k);
    cg_ins(c, "setp.lt.u32 %v, %v, %u", again, k, (uint32_t)1 << p->k);
    cg_ins(c, "@%v bra %l", again, head);
    cg_scratch_read(c);
    for (uint32_t r = 0; r < count; r++) {
        cg_val start = cg_reg(c, p->acc == BC_F16 ? cg_to_f32(c, BC_F16, acc[r]) : acc[r]), result = cg_new(c, cls);
        cg_ins(c, p->acc == BC_I32 ? "add.s32 %v, %v, %v" : p->acc == BC_F64 ? "add.rn.f64 %v, %v, %v" : "add.rn.f32 %v, %v, %v",
               result, sum[r], start);
        acc[r] = p->acc == BC_F16 ? cg_from_f32(c, BC_F16, "rn", result) : result;
    }
}

static void lower_product(cg_func *c, const bc_op *op)
{
    product p = product_of(c, op);
    const cg_layout *l = &cg_value_of(c, p.result)->home;
    cg_val *start = cg_get(c, p.c, l), *acc = cg_vals(c, cg_layout_regs(l));
    if (!start || !acc)
        return;
    memcpy(acc, start, cg_layout_regs(l) * sizeof *acc);
    if (p.in == BC_F8E4M3FN || p.in == BC_F8E5M2)
        cg_need_ptx(c, 84);
    if (p.has_atom)
        lower_with_atom(c, &p, acc);
    else
        lower_without(c, op, &p, l, acc);
    if (!c->failed)
        cg_set(c, p.result, acc);
}

void cg_lower_mmaf(cg_func *c, const bc_op *op)
{
    lower_product(c, op);
}

void cg_lower_mmai(cg_func *c, const bc_op *op)
{
    lower_product(c, op);
}

void cg_lower_mmaf_scaled(cg_func *c, const bc_op *op)
{
    lower_product(c, op);
}
