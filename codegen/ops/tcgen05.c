/* Products by tcgen05. One thread, the issuer, starts the instructions, which read operands from shared memory, or the
   left one from tensor memory, and add to sums in tensor memory; a commit lets a barrier in shared memory know when
   they are complete. All threads move sums and left operands between tensor memory and registers. Source: PTX ISA,
   "TensorCore 5th Generation Family Instructions".

   The rules of order, each of which the simulator checks (tests/ptxsim):
   - Threads that have loaded or stored tensor memory execute wait::ld or wait::st and fence::before_thread_sync, meet
     at a barrier, and execute fence::after_thread_sync, before the issuer's next instruction touches the same words:
     instructions of the tensor core are ordered after those of other threads only by these fences.
   - Instructions that one thread issues are executed in order, so products that add to a sum need nothing between
     them.
   - The commit is issued by the thread that issued the instructions, since it covers only those.
   - Whoever reads a sum or refills an operand waits for the commit's barrier, because the instructions are executed
     asynchronously; before tensor memory is read, fence::after_thread_sync follows.
   - The barrier's phases are told apart by one bit, so no thread may miss two of them: a product for which all
     threads wait comes after a barrier of all threads. */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "codegen/analysis/tensor.h"
#include "codegen/analysis/tensor_left.h"
#include "codegen/kernel/remarks.h"
#include "codegen/ops/chains.h"
#include "codegen/ops/hooks.h"
#include "codegen/ops/mma.h"
#include "codegen/ops/slots.h"
#include "codegen/ops/tcgen05_flight.h"
#include "codegen/ops/tcgen05_pair.h"
#include "codegen/ops/tcgen05_scales.h"
#include "codegen/ops/tensor_move.h"
#include "codegen/ops/tensor_state.h"
#include "codegen/ptx/ptx.h"
#include "codegen/values/effects.h"
#include "codegen/values/homes.h"
#include "codegen/values/memory.h"
#include "codegen/values/values.h"

/* ---- operands ---- */

/* log2 of the rows and of the columns of an instruction. */
static uint32_t rows_of(const cg_product *p)
{
    return p->m < CG_TENSOR_ROW_BITS ? p->m : CG_TENSOR_ROW_BITS;
}

static uint32_t columns_of(const cg_product *p)
{
    return p->n < CG_TENSOR_COLUMN_BITS ? p->n : CG_TENSOR_COLUMN_BITS;
}

static const char *kind_of(const cg_product *p)
{
    return p->scaled                   ? p->scaling->atom.text
           : p->in == BC_TF32          ? "tf32"
           : p->in == BC_I8            ? "i8"
           : p->atom.element_bits == 2 ? "f8f6f4"
                                       : "f16";
}

/* The number of an operand's type in the instruction descriptor. */
static uint32_t type_of(const ct_op *op, const cg_product *p, bool left)
{
    enum { TF32 = 2 };
    if (op->opcode == OP_mmai)
        return ct_attr_u(op, left ? F_mmai_signedness_lhs : F_mmai_signedness_rhs) == BC_Signedness_signed;
    return p->in == BC_TF32 ? TF32 : p->in == BC_BF16 || p->in == BC_F8E5M2 || p->in == BC_F4E2M1FN;
}

/* The instruction descriptor: type of sums (or of scales), types, orders, N in eights, M in sixteens. PTX ISA,
   "Instruction descriptor". */
static uint32_t shape_of(const ct_op *op, const cg_product *p, const cg_operand *a, const cg_operand *b)
{
    uint32_t is_e8m0 = p->scale_kind == BC_F8E8M0FNU, sums = p->acc == BC_F32 ? 1 : 2;
    sums = p->scaled ? is_e8m0 << 23 : sums << 4;
    return sums | type_of(op, p, true) << 7 | type_of(op, p, false) << 10 | (uint32_t)a->across << 15
           | (uint32_t)b->across << 16 | (uint32_t)1 << (columns_of(p) + p->paired - 3 + 17)
           | (uint32_t)1 << (rows_of(p) + cg_tcgen05_spread(p) + p->paired - 4 + 24);
}

/* An operand as the instructions read it. */
typedef struct cut {
    cg_layout steps;   /* places in the encoding: registers count steps along K, then along M or N, then batches */
    cg_val descriptor; /* of the first one */
    uint32_t steps_of_k;
} cut;

/* The matrix descriptor: in units of 16 bytes, the address, the distance between panels (if K counts rows) and the
   distance between groups of eight rows, which is less if rows are spread; a constant; the swizzle. PTX ISA, "Shared
   memory descriptor". */
static cg_val descriptor_of(cg_func *c, const cg_encoding *s, cg_val base, bool across, uint32_t spread)
{
    uint32_t row = cg_encoding_row_bytes(s); /* 128, 64, 32 */
    uint64_t leading = across ? (uint64_t)row << s->rows >> 4 : 1, stride = (uint64_t)row * 8 >> spread >> 4;
    uint64_t swizzle = row == 128 ? 2 : row == 64 ? 4 : 6;
    cg_val unit = cg_new(c, CG_B32), wide = cg_new(c, CG_B64), d = cg_new(c, CG_B64);
    cg_ins(c, "bfe.u32 %v, %v, 4, 14", unit, base);
    cg_ins(c, "cvt.u64.u32 %v, %v", wide, unit);
    cg_ins(c, "or.b64 %v, %v, %q", d, wide, leading << 16 | stride << 32 | (uint64_t)1 << 46 | swizzle << 61);
    return d;
}

/* parts: log2 of the K slices of which scratch holds one. */
static cut cut_of(cg_func *c, const cg_product *p, const cg_operand *o)
{
    uint32_t one = 1, k0 = o->left ? 0 : p->n, x0 = o->left ? o->k : 0;
    cg_product slice = *p;
    cg_layout l = {.reg_bits = 0};
    slice.k = o->k;
    cg_encoding regular = cg_regular_encoding(&slice, o->left, o->across);
    for (uint32_t i = p->atom.k_bits; i < o->k; i++)
        l.reg[l.reg_bits++] = one << (k0 + i);
    for (uint32_t i = o->left ? rows_of(p) : columns_of(p); i < (o->left ? p->m : p->n); i++)
        l.reg[l.reg_bits++] = one << (x0 + i);
    for (uint32_t i = 0; i < p->batch; i++)
        l.reg[l.reg_bits++] = one << (o->k + (o->left ? p->m : p->n) + i);
    return (cut){.steps = cg_encoding_layout(&regular, &l),
                 .descriptor = descriptor_of(c, &regular, o->base, o->across, o->left ? cg_tcgen05_spread(p) : 0),
                 .steps_of_k = o->k - p->atom.k_bits};
}

/* The descriptor of step k, block x. The places of steps share no bits with the places within a step. */
static cg_val step_of(cg_func *c, const cg_product *p, const cut *u, uint32_t k, uint32_t x)
{
    uint32_t step = (k & (((uint32_t)1 << u->steps_of_k) - 1)) | x << u->steps_of_k;
    return cg_descriptor_at(c, u->descriptor, cg_layout_reg(&u->steps, step) * cg_memory_bytes(p->in));
}

/* ---- the product ---- */

/* The left operand of step k, block m: a descriptor, or an address in tensor memory. */
static cg_val left_of(cg_func *c, const cg_product *p, const cg_sum *s, const cut *in_shared, uint32_t k, uint32_t m)
{
    enum { WORDS_BITS = 3 }; /* log2 of the words along K of a step, in each kind */
    if (in_shared)
        return step_of(c, p, in_shared, k, m);
    cg_val at = cg_new(c, CG_B32);
    cg_ins(c, "add.u32 %v, %v, %u", at, cg_tensor_state_of(c)->base,
           s->left + (m << cg_tensor_left_words(p)) + (k << WORDS_BITS));
    return at;
}

/* What is issued at a time: steps along K, of one K slice; and blocks of rows, each by-th one from the first on. They
   count those of all batches. */
typedef struct portion {
    uint32_t first, count, block, by;
} portion;

/* Issues a portion of the product; one thread executes this. */
static void issue(cg_func *c, const ct_op *op, const cg_product *p, const cg_sum *s, const cg_operand *operands,
                  portion of)
{
    bool from_tensor = operands[0].source == CG_FROM_TENSOR;
    cut a = from_tensor ? (cut){.steps_of_k = 0} : cut_of(c, p, &operands[0]), b = cut_of(c, p, &operands[1]);
    uint32_t m_bits = p->m - rows_of(p), n_bits = p->n - columns_of(p);
    cg_scale_steps scales = {.shape = shape_of(op, p, &operands[0], &operands[1]),
                             .base = cg_tensor_state_of(c)->base,
                             .column = cg_scales_of(s)};
    cg_val shape = cg_new(c, CG_B32), always = cg_reg(c, cg_const(CG_PRED, 1));
    if (!p->scaled)
        cg_ins(c, "mov.b32 %v, %x", shape, scales.shape);
    for (uint32_t m = of.block; m < 1u << (m_bits + p->batch); m += of.by)
        for (uint32_t n = 0; n < 1u << n_bits; n++) {
            uint32_t of_b = m >> m_bits << n_bits | n;
            cg_val to = cg_new(c, CG_B32);
            cg_ins(c, "add.u32 %v, %v, %u", to, cg_tensor_state_of(c)->base,
                   s->column + (m << (cg_sum_columns(p) - cg_tcgen05_halves_lanes(p))) + (n << columns_of(p)));
            for (uint32_t k = of.first; k < of.first + of.count; k++) {
                cg_val right = step_of(c, p, &b, k, of_b), left = left_of(c, p, s, from_tensor ? NULL : &a, k, m);
                cg_val adds = k ? always : s->adds;
                if (!p->scaled) {
                    cg_ins(c, "tcgen05.mma.cta_group::%u.kind::%s [%v], %s%v%s, %v, %v, %v", cg_tensor_blocks(c),
                           kind_of(p), to, from_tensor ? "[" : "", left, from_tensor ? "]" : "", right, shape, adds);
                    continue;
                }
                cg_scale_step(c, p, &scales, (cg_step_at){m, of_b, k});
                cg_ins(c, "tcgen05.mma.cta_group::%u.kind::%s [%v], %v, %v, %v, [%v], [%v], %v", cg_tensor_blocks(c),
                       kind_of(p), to, left, right, scales.instruction, scales.at[0], scales.at[1], adds);
            }
        }
}

static void remark(cg_func *c, const ct_op *op, const cg_product *p, const cg_sum *s)
{
    static_assert(CG_TENSOR_TILES == 2, "the remark counts tiles");
    uint32_t rows = cg_tensor_blocks(c) << (rows_of(p) + cg_tcgen05_spread(p));
    const char *sums = c->tensor->in_turn ? "two sums in turn, each" : "the sum";
    const char *by = !s->issued             ? ""
                     : c->tensor->tiles > 1 ? "; a warp of its own starts it, for two tiles of rows in turn"
                                            : "; a warp of its own starts it";
    if (s->left_columns)
        cg_remark(c, op, CG_REMARK_MatrixProduct, TV_REMARK_PASSED,
                  "tcgen05.{Instruction=%s}, {Rows=%u} x {Columns=%u}, the sum in {Words=%u} columns of tensor memory, "
                  "the left operand in {Left=%u} columns{By=%s}",
                  kind_of(p), rows, cg_tensor_blocks(c) << columns_of(p), cg_tcgen05_sum_columns(p), s->left_columns,
                  by);
    else
        cg_remark(
            c, op, CG_REMARK_MatrixProduct, TV_REMARK_PASSED,
            "tcgen05.{Instruction=%s}, {Rows=%u} x {Columns=%u}, %s in {Words=%u} columns of tensor memory{By=%s}",
            kind_of(p), rows, cg_tensor_blocks(c) << columns_of(p), sums, cg_tcgen05_sum_columns(p), by);
}

/* Multiplies slice by slice. */
static void multiply(cg_func *c, const ct_op *op, const cg_product *p, const cg_sum *s)
{
    cg_factors f;
    cg_find_factors(c, op, p, &f);
    uint32_t steps = (uint32_t)1 << (p->k - f.parts - p->atom.k_bits);
    bool stays = op->in_flight && !op->ahead, is_awaited = !op->in_flight;
    bool in_scratch = f.operands[0].source == CG_FROM_SCRATCH || f.operands[f.of[0].right].source == CG_FROM_SCRATCH;
    if (s->left_columns)
        cg_tensor_store_left(c, op, p, s);
    for (uint32_t part = 0; part < (uint32_t)1 << f.parts && !c->failed; part++) {
        cg_encode_operands(c, op, p, &f, true, part);
        if (!in_scratch && !stays)
            cg_take_effect(c, op, CG_MEETS); /* scratch has a barrier of its own */
        if (c->paired && !stays)
            cg_pair_ready(c, op->ahead);
        uint32_t others = cg_tensor_begin_issuer(c);
        if (!stays)
            cg_tensor_acquire(c);
        if (p->scaled && !part)
            cg_copy_scales(c, op, p, cg_tensor_state_of(c)->base, cg_scales_of(s));
        const cg_operand both[] = {f.operands[f.of[0].left], f.operands[f.of[0].right]};
        issue(c, op, p, s, both, (portion){part * steps, steps, 0, 1});
        if (is_awaited)
            cg_tcgen05_commit_done(c);
        cg_tensor_end_issuer(c, others);
        if (is_awaited && !s->late)
            cg_tcgen05_await_done(c);
    }
    if (s->late)
        cg_tcgen05_owe(c);
    if (op->ahead || (stays && !c->groups))
        cg_tcgen05_leave_in_flight(c);
    if (stays && !c->groups) /* the previous one, whose slot is overwritten next */
        cg_tcgen05_await_landing(c, 2);
    if (s->started)
        cg_ins(c, "setp.eq.u32 %v, 0, 0", s->adds);
    remark(c, op, p, s);
}

/* Of a chain, in the issuer's program: tile by tile, behind the consumers of each. */
static void multiply_tiles(cg_func *c, const ct_op *op, const cg_product *p, cg_sum *s)
{
    cg_factors f;
    cg_find_factors(c, op, p, &f);
    uint32_t steps = (uint32_t)1 << (p->k - p->atom.k_bits), tiles = c->tensor->tiles;
    const cg_operand both[] = {f.operands[f.of[0].left], f.operands[f.of[0].right]};
    s->adds = cg_reg(c, cg_const(CG_PRED, !op->ahead));
    for (uint32_t tile = 0; tile < tiles; tile++) {
        cg_chains_await(c, op, tile);
        issue(c, op, p, s, both, (portion){0, steps, tile, tiles});
        cg_chains_commit(c, op, tile);
    }
    cg_chains_go_on(c, op);
    remark(c, op, p, s);
}

void cg_multiply_tcgen05(cg_func *c, const ct_op *op, const cg_product *p)
{
    cg_sum *s = cg_sum_of(c, op);
    if (!s || !cg_tensor_state_of(c)) {
        cg_unsupported(c, op, "internal error: a product has no tensor memory");
        return;
    }
    if (s->issued) {
        multiply_tiles(c, op, p, s);
        return;
    }
    bool puts = cg_has_scales_to_put(op);
    if (p->scaled)
        cg_need_ptx(c, p->scaling->ptx);
    if (!s->started)
        cg_tensor_store_start(c, s, p, p->c);
    else if (puts) /* the product of the iteration before has read its scales */
        cg_tensor_acquire(c);
    if (puts)
        cg_put_scales(c, op, p, cg_tensor_state_of(c)->base, cg_scales_of(s));
    if (!s->started || puts)
        cg_tensor_release(c);
    if (!c->failed)
        multiply(c, op, p, s);
    if (s->started || op->ahead || c->failed)
        return;
    cg_tensor_acquire(c);
    cg_tensor_load(c, s, p->result, NULL);
}

/* ---- sums that stay ---- */

void cg_tensor_start(cg_func *c, const ct_op *op)
{
    cg_sum *s = cg_sum_of(c, op);
    cg_tensor_store_start(c, s, cg_settled_product(c, s->product), op->operands[0]);
    if (s->issued) { /* it is there when the first left operand is handed over */
        cg_tensor_release(c);
        return;
    }
    cg_tensor_meet(c, op);
    if (c->paired && s->product->in_flight) { /* the other block has taken its last sum, and stored this one */
        cg_pair_ready(c, false);
        cg_tensor_acquire(c);
    }
}

void cg_tensor_take(cg_func *c, const ct_op *op)
{
    const cg_sum *s = cg_sum_of(c, op);
    bool ahead = s->product->ahead;
    if (s->late) {
        cg_tcgen05_await_owed(c);
    } else if (ahead || (s->product->in_flight && !c->groups)) {
        cg_tcgen05_await_landing(c, 1);
    } else if (s->product->in_flight) {
        cg_tensor_commit(c, cg_tensor_state_of(c)->done, false);
        cg_tcgen05_await_done(c);
    }
    cg_tensor_acquire(c);
    cg_tensor_load(c, s, cg_result(op, 0),
                   ahead || s->scaled || s->issued || cg_tensor_is_written(s) ? NULL : &s->adds);
}
