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
#include <stdio.h>
#include <string.h>

#include "codegen/analysis/tensor.h"
#include "codegen/analysis/tensor_left.h"
#include "codegen/kernel/remarks.h"
#include "codegen/ops/hooks.h"
#include "codegen/ops/mma.h"
#include "codegen/ops/slots.h"
#include "codegen/ops/tcgen05.h"
#include "codegen/ops/tcgen05_pair.h"
#include "codegen/ops/tcgen05_scales.h"
#include "codegen/ops/tensor_move.h"
#include "codegen/ops/tensor_state.h"
#include "codegen/ptx/ptx.h"
#include "codegen/values/effects.h"
#include "codegen/values/homes.h"
#include "codegen/values/memory.h"
#include "codegen/values/values.h"

struct cg_tensor_state *cg_tensor_state_new(cg_func *c)
{
    struct cg_tensor_state *s = c->tensor->state = bc_new(&c->arena, struct cg_tensor_state, 1);
    if (!s) {
        cg_no_memory(c);
        return NULL;
    }
    s->base = cg_new(c, CG_B32);
    s->done = cg_new(c, CG_B32);
    return s;
}

uint32_t cg_tensor_begin_issuer(cg_func *c)
{
    cg_val issuer = cg_tensor_state_of(c)->issuer;
    uint32_t others = issuer.known ? 0 : cg_label(c);
    if (others)
        cg_ins(c, "@!%v bra %l", issuer, others);
    return others;
}

void cg_tensor_end_issuer(cg_func *c, uint32_t others)
{
    if (others)
        cg_place_label(c, others);
}

/* ---- order ---- */

void cg_tensor_release(cg_func *c)
{
    cg_ins(c, "tcgen05.fence::before_thread_sync");
}

void cg_tensor_acquire(cg_func *c)
{
    cg_ins(c, "tcgen05.fence::after_thread_sync");
}

/* All threads wait for each other's accesses to tensor memory. */
static void meet(cg_func *c, const ct_op *op)
{
    cg_tensor_release(c);
    cg_take_effect(c, op, CG_MEETS);
    cg_tensor_acquire(c);
}

/* ---- the kernel's tensor memory ---- */

void cg_assign_tensor(cg_func *c, const ct_op *op)
{
    (void)c, (void)op;
}

void cg_effects_tensor(cg_func *c, ct_op *op)
{
    if (!c->tensor->in_turn)
        cg_add_effect(c, op, CG_MEETS);
}

/* The number of thread blocks that multiply together, which all instructions of a kernel name. */
static uint32_t blocks_of(const cg_func *c)
{
    return c->paired ? CG_PAIR_BLOCKS : 1;
}

void cg_tensor_allocate(cg_func *c)
{
    cg_val at = cg_tensor_state_of(c)->done;
    cg_ins(c, "tcgen05.alloc.cta_group::%u.sync.aligned.shared::cta.b32 [%v+8], %u", blocks_of(c), at,
           c->tensor->columns);
    cg_ins(c, "tcgen05.relinquish_alloc_permit.cta_group::%u.sync.aligned", blocks_of(c));
}

void cg_tensor_memory(cg_func *c)
{
    cg_ins(c, "mov.u32 %v, tv_tensor", cg_tensor_state_of(c)->done);
}

void cg_tensor_address(cg_func *c, cg_val address)
{
    cg_ins(c, "ld.shared.u32 %v, [%v+8]", address, cg_tensor_state_of(c)->done);
}

void cg_tensor_free(cg_func *c, cg_val address)
{
    cg_ins(c, "tcgen05.dealloc.cta_group::%u.sync.aligned.b32 %v, %u", blocks_of(c), address, c->tensor->columns);
}

/* Only the first warp executes what follows, up to the label. */
static uint32_t begin_first_warp(cg_func *c)
{
    uint32_t others = cg_label(c);
    cg_leave_from(c, cg_tid(c), 1u << CG_LANE_BITS, others);
    return others;
}

/* One warp allocates; the address comes through shared memory. */
void cg_tensor_begin(cg_func *c, const ct_op *op)
{
    struct cg_tensor_state *s = cg_tensor_state_new(c);
    if (!s)
        return;
    s->issuer = cg_new(c, CG_PRED);
    s->phase = cg_new(c, CG_B32);
    if (!c->paired)
        cg_ins(c, "setp.eq.u32 %v, %v, 0", s->issuer, cg_tid(c));
    cg_tensor_memory(c);
    cg_ins(c, "mov.u32 %v, 0", s->phase);
    if (c->tensor->flies) {
        s->begun = cg_new(c, CG_B32);
        cg_ins(c, "mov.u32 %v, 0", s->begun);
    }
    if (c->paired)
        s->issuer = cg_pair_begin(c, s->done);
    uint32_t others = begin_first_warp(c);
    if (!c->paired) {
        cg_ins(c, "@%v mbarrier.init.shared::cta.b64 [%v], 1", s->issuer, s->done);
        for (uint32_t i = 0; i < 2 && c->tensor->flies; i++)
            cg_ins(c, "@%v mbarrier.init.shared::cta.b64 [%v+%u], 1", s->issuer, s->done, CG_TENSOR_BYTES + 8 * i);
        cg_ins(c, "@%v fence.mbarrier_init.release.cluster", s->issuer);
    }
    cg_tensor_allocate(c);
    cg_place_label(c, others);
    cg_take_effect(c, op, CG_MEETS); /* the address is there */
    cg_tensor_address(c, s->base);
}

void cg_assign_tensor_end(cg_func *c, const ct_op *op)
{
    (void)c, (void)op;
}

void cg_effects_tensor_end(cg_func *c, ct_op *op)
{
    if (!c->tensor->in_turn)
        cg_add_effect(c, op, CG_MEETS);
}

/* The same warp frees it when all threads have read the last sum. */
void cg_tensor_end(cg_func *c, const ct_op *op)
{
    meet(c, op);
    uint32_t others = begin_first_warp(c);
    if (c->paired) /* for both blocks, which have to be done */
        cg_pair_end(c);
    cg_tensor_free(c, cg_tensor_state_of(c)->base);
    cg_place_label(c, others);
}

/* ---- between registers and tensor memory ---- */

/* log2 of the rows and of the columns of an instruction. */
static uint32_t rows_of(const cg_product *p)
{
    return p->m < CG_TENSOR_ROW_BITS ? p->m : CG_TENSOR_ROW_BITS;
}

static uint32_t columns_of(const cg_product *p)
{
    return p->n < CG_TENSOR_COLUMN_BITS ? p->n : CG_TENSOR_COLUMN_BITS;
}

/* Moves the thread's part of a sum. */
static void move_sum(cg_func *c, const cg_sum *s, const cg_product *p, const cg_val *regs, bool stores)
{
    cg_tensor_tile t = cg_tensor_sum(c, s, p);
    cg_tensor_move(c, cg_tensor_state_of(c)->base, &t, regs, stores);
}

/* Puts the left operand there, for instructions that are issued behind a barrier. Those of the last product have been
   waited for. */
static void store_left(cg_func *c, const ct_op *op, const cg_product *p, const cg_sum *s, const cg_operand *left)
{
    cg_tensor_tile t = cg_tensor_left(c, s, p);
    uint32_t count = cg_layout_regs(&t.layout) >> t.word_bits;
    const cg_val *elements = cg_get(c, left->v, left->read);
    cg_val *words = cg_vals(c, count);
    if (!elements || !words)
        return;
    for (uint32_t i = 0; i < count; i++)
        words[i] = cg_reg(c, cg_join(c, elements + ((size_t)i << t.word_bits), 1u << t.word_bits, 32u >> t.word_bits));
    if (s->started && s->meets)
        meet(c, op);
    else if (s->started)
        cg_tensor_acquire(c);
    cg_tensor_move(c, cg_tensor_state_of(c)->base, &t, words, true);
    cg_tensor_release(c);
}

static bool is_zero(const cg_val *values, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (!values[i].known || values[i].bits)
            return false;
    return true;
}

/* Puts the initial value of a sum into tensor memory. If it is zero, the first product writes the sum instead of adding
   to it: x + 0 equals x except for the sign of a zero, which a sum of products that starts at +0 does not keep. */
static void start_sum(cg_func *c, cg_sum *s, const cg_product *p, const ct_value *init)
{
    const cg_layout *home = cg_value_of(c, p->result)->home;
    uint32_t count = cg_layout_regs(home);
    const cg_val *values = cg_get(c, init, home);
    if (!values)
        return;
    bool zero = !s->scaled && is_zero(values, count); /* what is multiplied must be there */
    if (s->meets)
        meet(c, cg_lowered(c));
    if (!zero) {
        cg_val *regs = cg_vals(c, count);
        for (uint32_t i = 0; regs && i < count; i++)
            regs[i] = cg_reg(c, values[i]);
        if (regs)
            move_sum(c, s, p, regs, true);
    }
    s->adds = cg_new(c, CG_PRED);
    cg_ins(c, "setp.%s.u32 %v, 0, 0", zero ? "ne" : "eq", s->adds);
}

/* Registers with the sum. is_written: a predicate; it is zero if no product has been executed and nothing was stored.
   NULL: something was. */
static cg_val *load_sum(cg_func *c, const cg_sum *s, const cg_product *p, const cg_val *is_written)
{
    uint32_t count = cg_layout_regs(cg_value_of(c, p->result)->home);
    uint32_t written = is_written ? cg_label(c) : 0, behind = is_written ? cg_label(c) : 0;
    cg_val *regs = cg_vals(c, count);
    for (uint32_t i = 0; regs && i < count; i++)
        regs[i] = cg_new(c, CG_B32);
    if (!regs)
        return NULL;
    if (is_written) {
        cg_ins(c, "@%v bra.uni %l", *is_written, written);
        for (uint32_t i = 0; i < count; i++)
            cg_ins(c, "mov.b32 %v, 0", regs[i]);
        cg_ins(c, "bra.uni %l", behind);
        cg_place_label(c, written);
    }
    move_sum(c, s, p, regs, false);
    if (is_written)
        cg_place_label(c, behind);
    return regs;
}

void cg_tensor_load(cg_func *c, const cg_sum *s, const ct_value *to, const cg_val *written)
{
    cg_val *regs = load_sum(c, s, cg_settled_product(c, s->product), written);
    if (regs)
        cg_set(c, to, regs);
}

bool cg_tensor_is_written(const cg_sum *s)
{
    for (const ct_op *loop = s->product->block->parent;; loop = loop->block->parent) {
        cg_range first = cg_range_of(ct_operand(loop, F_for_lower_bound)),
                 end = cg_range_of(ct_operand(loop, F_for_upper_bound));
        if (first.low < 0 || first.high >= end.low) /* also as unsigned numbers */
            return false;
        if (loop == s->span)
            return true;
    }
}

/* ---- operands ---- */

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
           | (uint32_t)1 << (rows_of(p) + p->paired - 4 + 24);
}

/* An operand as the instructions read it. */
typedef struct cut {
    cg_layout steps;   /* places in the encoding: registers count steps along K, then along M or N, then batches */
    cg_val descriptor; /* of the first one */
    uint32_t steps_of_k;
} cut;

/* The matrix descriptor: in units of 16 bytes, the address, the distance between panels (if K counts rows) and the
   distance between groups of eight rows; a constant; the swizzle. PTX ISA, "Shared memory descriptor". */
static cg_val descriptor_of(cg_func *c, const cg_encoding *s, cg_val base, bool across)
{
    uint32_t row = s->bytes << s->panel; /* bytes: 128, 64, 32 */
    uint64_t leading = across ? (uint64_t)row << s->rows >> 4 : 1, stride = (uint64_t)row * 8 >> 4;
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
                 .descriptor = descriptor_of(c, &regular, o->base, o->across),
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

/* Issues the product of one K slice, whose first step along K is `first`; one thread executes this. Blocks of rows
   count those of all batches. */
static void issue(cg_func *c, const ct_op *op, const cg_product *p, const cg_sum *s, const cg_operand *operands,
                  uint32_t first, uint32_t count)
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
    for (uint32_t m = 0; m < 1u << (m_bits + p->batch); m++)
        for (uint32_t n = 0; n < 1u << n_bits; n++) {
            uint32_t of_b = m >> m_bits << n_bits | n;
            cg_val to = cg_new(c, CG_B32);
            cg_ins(c, "add.u32 %v, %v, %u", to, cg_tensor_state_of(c)->base,
                   s->column + (m << cg_sum_columns(p)) + (n << columns_of(p)));
            for (uint32_t k = first; k < first + count; k++) {
                cg_val right = step_of(c, p, &b, k, of_b), left = left_of(c, p, s, from_tensor ? NULL : &a, k, m);
                cg_val adds = k ? always : s->adds;
                if (!p->scaled) {
                    cg_ins(c, "tcgen05.mma.cta_group::%u.kind::%s [%v], %s%v%s, %v, %v, %v", blocks_of(c), kind_of(p),
                           to, from_tensor ? "[" : "", left, from_tensor ? "]" : "", right, shape, adds);
                    continue;
                }
                cg_scale_step(c, p, &scales, (cg_step_at){m, of_b, k});
                cg_ins(c, "tcgen05.mma.cta_group::1.kind::%s [%v], %v, %v, %v, [%v], [%v], %v", kind_of(p), to, left,
                       right, scales.instruction, scales.at[0], scales.at[1], adds);
            }
        }
}

static const char commit[] = "mbarrier::arrive::one.shared::cluster";

void cg_tensor_commit(cg_func *c, cg_val barrier, bool to_all)
{
    cg_val issuer = cg_tensor_state_of(c)->issuer;
    if (!to_all && !c->paired && issuer.known) {
        cg_ins(c, "tcgen05.commit.cta_group::1.%s.b64 [%v]", commit, barrier);
        return;
    }
    if (!to_all && !c->paired) {
        cg_ins(c, "@%v tcgen05.commit.cta_group::1.%s.b64 [%v]", issuer, commit, barrier);
        return;
    }
    cg_val blocks = cg_new(c, CG_B16);
    cg_ins(c, "mov.b16 %v, %u", blocks, (1u << c->cluster) - 1);
    cg_ins(c, "@%v tcgen05.commit.cta_group::%u.%s.multicast::cluster.b64 [%v], %v", cg_reg(c, issuer), blocks_of(c),
           commit, barrier, blocks);
}

/* All threads wait until the products that the last commit to `done` covers are complete. */
static void await_done(cg_func *c)
{
    const struct cg_tensor_state *s = cg_tensor_state_of(c);
    cg_await_phase(c, s->done, s->phase);
    cg_ins(c, "xor.b32 %v, %v, 1", s->phase, s->phase);
}

/* ---- products in flight in loops of all threads ---- */

/* Two barriers tell the phases of products apart: a product is issued when all threads have met in its iteration, so
   they have waited for the last but one, which had the same barrier. */
static cg_val landing_of(cg_func *c, cg_val number)
{
    cg_val which = cg_new(c, CG_B32), at = cg_new(c, CG_B32), barrier = cg_new(c, CG_B32);
    cg_ins(c, "and.b32 %v, %v, 1", which, number);
    cg_ins(c, "mad.lo.u32 %v, %v, 8, %v", at, which, cg_tensor_state_of(c)->done);
    cg_ins(c, "add.u32 %v, %v, %u", barrier, at, (uint32_t)CG_TENSOR_BYTES);
    return barrier;
}

/* Waits for the product that was issued `back` products ago, if there was one; 1: the last one. */
static void await_landing(cg_func *c, uint32_t back)
{
    const struct cg_tensor_state *s = cg_tensor_state_of(c);
    uint32_t none = cg_label(c);
    cg_val some = cg_new(c, CG_PRED), number = cg_new(c, CG_B32), phase = cg_new(c, CG_B32);
    cg_ins(c, "setp.ge.u32 %v, %v, %u", some, s->begun, back);
    cg_ins(c, "@!%v bra.uni %l", some, none);
    cg_ins(c, "sub.u32 %v, %v, %u", number, s->begun, back);
    cg_ins(c, "bfe.u32 %v, %v, 1, 1", phase, number);
    cg_await_phase(c, landing_of(c, number), phase);
    cg_place_label(c, none);
}

/* The issued product goes on while threads wait for the previous one, whose slot they overwrite next. */
static void leave_in_flight(cg_func *c)
{
    const struct cg_tensor_state *s = cg_tensor_state_of(c);
    cg_tensor_commit(c, landing_of(c, s->begun), false);
    cg_ins(c, "add.u32 %v, %v, 1", s->begun, s->begun);
    await_landing(c, 2);
}

static void remark(cg_func *c, const ct_op *op, const cg_product *p, const cg_sum *s)
{
    const char *sums = c->tensor->in_turn ? "two sums in turn, each" : "the sum";
    if (s->left_columns)
        cg_remark(c, op, CG_REMARK_MatrixProduct, TV_REMARK_PASSED,
                  "tcgen05.{Instruction=%s}, {Rows=%u} x {Columns=%u}, the sum in {Words=%u} columns of tensor memory, "
                  "the left operand in {Left=%u} columns",
                  kind_of(p), blocks_of(c) << rows_of(p), blocks_of(c) << columns_of(p), cg_tcgen05_sum_columns(p),
                  s->left_columns);
    else
        cg_remark(c, op, CG_REMARK_MatrixProduct, TV_REMARK_PASSED,
                  "tcgen05.{Instruction=%s}, {Rows=%u} x {Columns=%u}, %s in {Words=%u} columns of tensor memory",
                  kind_of(p), blocks_of(c) << rows_of(p), blocks_of(c) << columns_of(p), sums,
                  cg_tcgen05_sum_columns(p));
}

/* Multiplies slice by slice. */
static void multiply(cg_func *c, const ct_op *op, const cg_product *p, const cg_sum *s)
{
    cg_factors f;
    cg_find_factors(c, op, p, &f);
    uint32_t steps = (uint32_t)1 << (p->k - f.parts - p->atom.k_bits);
    bool in_scratch = f.operands[0].source == CG_FROM_SCRATCH || f.operands[f.of[0].right].source == CG_FROM_SCRATCH;
    if (s->left_columns)
        store_left(c, op, p, s, &f.operands[f.of[0].left]);
    for (uint32_t part = 0; part < (uint32_t)1 << f.parts && !c->failed; part++) {
        cg_encode_operands(c, op, p, &f, true, part);
        if (!in_scratch && !op->in_flight)
            cg_take_effect(c, op, CG_MEETS); /* scratch has a barrier of its own */
        if (c->paired && !op->in_flight)
            cg_pair_ready(c);
        uint32_t others = cg_tensor_begin_issuer(c);
        if (!op->in_flight)
            cg_tensor_acquire(c);
        if (p->scaled && !part)
            cg_copy_scales(c, op, p, cg_tensor_state_of(c)->base, cg_scales_of(s));
        const cg_operand both[] = {f.operands[f.of[0].left], f.operands[f.of[0].right]};
        issue(c, op, p, s, both, part * steps, steps);
        if (!op->in_flight && c->paired)
            cg_tensor_commit(c, cg_tensor_state_of(c)->done, true);
        else if (!op->in_flight)
            cg_ins(c, "tcgen05.commit.cta_group::1.%s.b64 [%v]", commit, cg_tensor_state_of(c)->done);
        cg_tensor_end_issuer(c, others);
        if (!op->in_flight)
            await_done(c);
    }
    if (op->in_flight && !c->groups)
        leave_in_flight(c);
    if (s->started)
        cg_ins(c, "setp.eq.u32 %v, 0, 0", s->adds);
    remark(c, op, p, s);
}

void cg_multiply_tcgen05(cg_func *c, const ct_op *op, const cg_product *p)
{
    cg_sum *s = cg_sum_of(c, op);
    if (!s || !cg_tensor_state_of(c)) {
        cg_unsupported(c, op, "internal error: a product has no tensor memory");
        return;
    }
    bool puts = cg_has_scales_to_put(op);
    if (p->scaled)
        cg_need_ptx(c, p->scaling->ptx);
    if (!s->started)
        start_sum(c, s, p, p->c);
    else if (puts) /* the product of the iteration before has read its scales */
        cg_tensor_acquire(c);
    if (puts)
        cg_put_scales(c, op, p, cg_tensor_state_of(c)->base, cg_scales_of(s));
    if (!s->started || puts)
        cg_tensor_release(c);
    if (!c->failed)
        multiply(c, op, p, s);
    if (s->started || c->failed)
        return;
    cg_tensor_acquire(c);
    cg_val *regs = load_sum(c, s, p, NULL);
    if (regs)
        cg_set(c, p->result, regs);
}

/* ---- sums that stay ---- */

void cg_tensor_start(cg_func *c, const ct_op *op)
{
    cg_sum *s = cg_sum_of(c, op);
    start_sum(c, s, cg_settled_product(c, s->product), op->operands[0]);
    meet(c, op);
    if (c->paired && s->product->in_flight) { /* the other block has taken its last sum, and stored this one */
        cg_pair_ready(c);
        cg_tensor_acquire(c);
    }
}

void cg_tensor_take(cg_func *c, const ct_op *op)
{
    const cg_sum *s = cg_sum_of(c, op);
    if (s->product->in_flight && !c->groups) {
        await_landing(c, 1);
    } else if (s->product->in_flight) {
        cg_tensor_commit(c, cg_tensor_state_of(c)->done, false);
        await_done(c);
    }
    cg_tensor_acquire(c);
    cg_tensor_load(c, s, cg_result(op, 0), cg_tensor_is_written(s) ? NULL : &s->adds);
}
