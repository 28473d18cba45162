/* Matrix products by mma.sync. Operands go through shared memory: A as rows of M, B as rows of K (16-bit elements) or of N, their
   16-byte chunks swizzled so that neither the stores nor ldmatrix meet bank conflicts; fragments come back by ldmatrix. What has
   no instruction is left to codegen/op_mma_plain.c. Sources: memory reference, section 7; PTX ISA, "Warp-level matrix
   instructions", fragment figures. */
#include <string.h>

#include "codegen/assign.h"
#include "codegen/map.h"
#include "codegen/memory.h"
#include "codegen/mma.h"
#include "codegen/stage.h"

static uint32_t log2_of(int64_t x)
{
    uint32_t n = 0;
    while ((int64_t)1 << n < x)
        n++;
    return n;
}

static bool find_atom(const cg_func *c, const bc_op *op, cg_product *p)
{
    static const cg_atom f16_f32 = {"m16n8k16.row.col.f32.f16.f16.f32", 4, 1, false};
    static const cg_atom f16_f16 = {"m16n8k16.row.col.f16.f16.f16.f16", 4, 1, true};
    static const cg_atom bf16_f32 = {"m16n8k16.row.col.f32.bf16.bf16.f32", 4, 1, false};
    static const cg_atom tf32_f32 = {"m16n8k8.row.col.f32.tf32.tf32.f32", 3, 0, false};
    static const cg_atom e4m3_f32 = {"m16n8k32.row.col.f32.e4m3.e4m3.f32", 5, 2, false};
    static const cg_atom e5m2_f32 = {"m16n8k32.row.col.f32.e5m2.e5m2.f32", 5, 2, false};
    static const cg_atom integer[2][2] = {
        {{"m16n8k32.row.col.s32.u8.u8.s32", 5, 2, false}, {"m16n8k32.row.col.s32.u8.s8.s32", 5, 2, false}},
        {{"m16n8k32.row.col.s32.s8.u8.s32", 5, 2, false}, {"m16n8k32.row.col.s32.s8.s8.s32", 5, 2, false}},
    };
    const cg_atom *a = NULL;
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

static cg_product product_of(const cg_func *c, const bc_op *op)
{
    bc_value **operands = bc_operands(op);
    const bc_type *a = operands[0]->type, *b = operands[1]->type;
    uint32_t r = a->rank;
    cg_product p = {.m = log2_of(a->shape[r - 2]), .k = log2_of(a->shape[r - 1]), .n = log2_of(b->shape[r - 1]),
                 .batch = r == 3 ? log2_of(a->shape[0]) : 0, .in = bc_elem_kind(a), .lhs = operands[0], .rhs = operands[1],
                 .c = operands[2], .result = cg_result(op, 0)};
    p.acc = bc_elem_kind(p.c->type);
    p.has_atom = find_atom(c, op, &p);
    return p;
}

/* ---- layouts ---- */

/* Which warps go along M and along N: to where more is left, so that the warps' parts become square. */
static void split_warps(const cg_func *c, const cg_product *p, uint32_t *out_m, uint32_t *out_n)
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
static cg_layout accumulator_layout(const cg_func *c, const cg_product *p)
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

static cg_layout operand_home(cg_func *c, const bc_value *v)
{
    cg_layout l;
    uint32_t weight;
    return cg_wish(c, v, &l, &weight) ? l : cg_default_layout(c, v->type);
}

static void assign_product(cg_func *c, const bc_op *op)
{
    cg_product p = product_of(c, op);
    cg_layout l = p.has_atom ? accumulator_layout(c, &p) : cg_plain_layout(c, &p);
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
    cg_product p = product_of(c, op);
    return p.has_atom && p.batch == 0 && (index == 0 || (index == 1 && p.atom.element_bits == 1));
}

/* Both operands in shared memory, with a barrier behind unless they were there. */
static bool fill_stages(cg_func *c, const cg_product *p, bool b_by_columns, cg_stage *out_a, cg_stage *out_b)
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
static cg_layout a_lanes(const cg_func *c, const cg_product *p, const cg_stage *s, uint32_t along_m)
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
static cg_layout b_lanes(const cg_func *c, const cg_product *p, const cg_stage *s, uint32_t along_m, uint32_t along_n, bool by_columns)
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

static void multiply(cg_func *c, const cg_product *p, const cg_val *a, const cg_val *b, cg_val *d)
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

static void lower_with_atom(cg_func *c, const cg_product *p, cg_val *acc)
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

static void lower_product(cg_func *c, const bc_op *op)
{
    cg_product p = product_of(c, op);
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
        cg_multiply_plain(c, op, &p, cg_value_of(c, p.result)->source, acc);
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
