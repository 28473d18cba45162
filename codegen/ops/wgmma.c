/* Products by wgmma: four warps multiply 64 rows of A by up to 256 columns of B. The instruction reads shared memory
   itself, while the threads continue. Accumulators, and fragments of A in registers, have the layout of mma.sync if
   warps 0 to 3 have consecutive strips of 16 rows. The encodings (codegen/analysis/encoding.h) are swizzled as the
   descriptor specifies. Source: PTX ISA, "Asynchronous warpgroup level matrix instructions". */
#include <stdio.h>
#include <string.h>

#include "codegen/kernel/groups.h"
#include "codegen/kernel/limits.h"
#include "codegen/kernel/remarks.h"
#include "codegen/ops/alternate.h"
#include "codegen/ops/held.h"
#include "codegen/ops/mma.h"
#include "codegen/ptx/ptx.h"
#include "codegen/values/memory.h"
#include "codegen/values/values.h"

enum { M_BITS = 6, MOST_N_BITS = 8 };

/* How an operand is divided among instructions along K, and along M or N. */
typedef struct cut {
    const cg_operand *o;
    cg_layout steps;   /* places in the encoding: registers count steps along K, then along M or N; warps have the
                  warpgroup's part */
    cg_val descriptor; /* of the first instruction */
} cut;

/* ---- the instruction ---- */

static const char *type_of(const ct_op *op, const cg_product *p, bool left)
{
    static const char *const names[] = {[BC_F16] = "f16",       [BC_BF16] = "bf16",   [BC_TF32] = "tf32",
                                        [BC_F8E4M3FN] = "e4m3", [BC_F8E5M2] = "e5m2", [BC_I8] = "u8"};
    if (op->opcode == OP_mmai
        && ct_attr_u(op, left ? F_mmai_signedness_lhs : F_mmai_signedness_rhs) == BC_Signedness_signed)
        return "s8";
    return p->in < sizeof names / sizeof *names ? names[p->in] : NULL;
}

const char *cg_wgmma_name(cg_func *c, const ct_op *op, const cg_product *p, uint32_t n, bool turned)
{
    enum { MOST = 40 };
    char *name = bc_new(&c->arena, char, MOST);
    if (!name)
        return NULL;
    if (cg_is_mixed_product(op))
        cg_need_ptx(c, CG_PTX_OF_MIXED);
    snprintf(name, MOST, "m64n%uk%u.%s.%s.%s", 1u << n, 1u << p->atom.k_bits, p->acc == BC_F32 ? "f32" : "s32",
             type_of(op, p, !turned), type_of(op, p, turned));
    return name;
}

/* ---- operands ---- */

bool cg_can_multiply_async(const cg_product *p, const cg_operand *operands)
{
    for (int i = 0; i < 2; i++) {
        const cg_operand *o = &operands[i];
        if (o->source != CG_FROM_REGISTERS
            && !cg_async_reads(p, o->left, o->across, o->source == CG_FROM_RING ? cg_encoding_of(o->v) : NULL))
            return false;
    }
    return true;
}

/* log2 of the instruction's size along M or N. */
static uint32_t width_of(const cg_product *p, bool left)
{
    uint32_t columns = p->n - p->along_n, most = p->adds_up ? CG_ADD_UP_N_BITS : MOST_N_BITS;
    return left ? M_BITS : columns < most ? columns : most;
}

/* A descriptor holds, in units of 16 bytes, the address (in clusters, the block's rank is above its low 24 bits),
   the distance between panels (if K counts rows) and the distance between groups of eight rows; and it holds the
   swizzle. */
cg_val cg_wgmma_descriptor(cg_func *c, const cg_encoding *s, cg_val base, bool across, const cg_layout *steps)
{
    uint32_t row = s->bytes << s->panel; /* bytes: 128, 64, 32 */
    uint64_t leading = across ? (uint64_t)row << s->rows >> 4 : 1, stride = (uint64_t)row * 8 >> 4;
    uint64_t swizzle = row == 128 ? 1 : row == 64 ? 2 : 3;
    cg_val unit = cg_new(c, CG_B32), wide = cg_new(c, CG_B64), d = cg_new(c, CG_B64);
    cg_place first = cg_flat_place(c, base, s->bytes, steps, 0);
    cg_ins(c, c->cluster ? "bfe.u32 %v, %v, 4, 14" : "shr.u32 %v, %v, 4", unit, first.address);
    cg_ins(c, "cvt.u64.u32 %v, %v", wide, unit);
    cg_ins(c, "or.b64 %v, %v, %q", d, wide, leading << 16 | stride << 32 | swizzle << 62);
    return d;
}

static cut cut_of(cg_func *c, const cg_product *p, const cg_operand *o)
{
    uint32_t one = 1, k0 = o->left ? 0 : p->n, x0 = o->left ? p->k : 0, columns = p->n - p->along_n;
    cut k = {.o = o};
    cg_layout l = {.warp_bits = (uint8_t)c->warp_bits};
    for (uint32_t i = p->atom.k_bits; i < p->k; i++)
        l.reg[l.reg_bits++] = one << (k0 + i);
    for (uint32_t i = o->left ? 4 + p->along_m : width_of(p, false); i < (o->left ? p->m : columns); i++)
        l.reg[l.reg_bits++] = one << (x0 + i);
    for (uint32_t i = 2; o->left && i < p->along_m; i++) /* the lower two bits are within an instruction */
        l.warp[i] = one << (x0 + 4 + i);
    for (uint32_t i = 0; !o->left && i < p->along_n; i++)
        l.warp[p->along_m + i] = one << (x0 + columns + i);
    if (!o->fragments) {
        cg_encoding regular = cg_regular_encoding(p, o->left, o->across);
        k.steps = cg_encoding_layout(&regular, &l);
        k.descriptor = cg_wgmma_descriptor(c, &regular, o->base, o->across, &k.steps);
    }
    return k;
}

/* The descriptor of a step. The places of steps share no bits with the places within a step or between warpgroups. */
static cg_val step_of(cg_func *c, const cg_product *p, const cut *k, uint32_t step)
{
    return cg_descriptor_at(c, k->descriptor, cg_layout_reg(&k->steps, step) * cg_memory_bytes(p->in));
}

/* Do all sums start at zero? If so, the first product of each sum writes it instead of adding to it: x + 0 equals x
   except for the sign of a zero, which a sum of products that starts at +0 does not keep. */
static bool starts_at_zero(const cg_val *acc, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (!acc[i].known || acc[i].bits)
            return false;
    return true;
}

/* Does an op in front of the product load a tile to registers? */
static bool has_loads(const ct_op *product)
{
    bool found = false;
    for (const ct_op *op = product->block->first; op != product && !found; op = op->next)
        found = ct_is_load(op) && op->results[0].type->rank;
    return found;
}

/* Can a thread have `count` sums of the loop and, in a register each, the elements of all tiles that it waits for
   there? If not, ptxas would spill the latter, each when it has arrived, and it had better spill sums. */
static bool have_registers(cg_func *c, const ct_block *body, uint32_t count)
{
    int64_t hint = c->groups ? 0 : cg_hint_of(c, CG_HINT_OCCUPANCY), threads = hint * cg_all_threads(c);
    int64_t most = threads > CG_REGISTERS / CG_THREAD_REGISTERS ? CG_REGISTERS / threads : CG_THREAD_REGISTERS;
    for (const ct_op *op = body->first; op; op = ct_next_op(op, body)) {
        const cg_value *tile = ct_is_load(op) ? cg_value_of(c, cg_result(op, 0)) : NULL;
        count += tile && tile->form == CG_TILE ? cg_layout_regs(tile->home) : 0;
    }
    return count <= most;
}

/* May the sums be computed in the registers in which the loop carries them? Otherwise, ptxas moves all of them twice in
   each iteration. Yet it needs registers of its choice for the sums beside tiles that are loaded in the same iteration,
   and beside copies that start while the product runs if threads compute one of its operands. With groups, other warps
   multiply during the moves. */
static bool may_stay(cg_func *c, const ct_op *op, uint32_t count)
{
    const cg_product *p = cg_value_of(c, cg_result(op, 0))->product;
    bool reads_slots = cg_encoding_of(p->lhs) && cg_encoding_of(p->rhs);
    return (!op->in_flight && !c->groups && !has_loads(op) && !cg_addend_of(op)->op)
           || (((p->chained && !c->groups) || reads_slots) && have_registers(c, op->block, count));
}

/* The registers in which the loop carries the sum, if the product may write them; otherwise NULL. */
static const cg_val *carried_registers(cg_func *c, const ct_op *op, uint32_t count)
{
    const cg_layout *home = cg_value_of(c, cg_result(op, 0))->home;
    const ct_value *arg = c->strips ? NULL : cg_carried_sum(op);
    return arg && cg_value_of(c, arg)->home == home && may_stay(c, op, count) ? cg_get(c, arg, home) : NULL;
}

cg_val *cg_wgmma_sums(cg_func *c, const ct_op *op, const cg_val *acc, uint32_t count, bool *out_from_zero)
{
    cg_val *d = cg_vals(c, count);
    bool from_zero = *out_from_zero = starts_at_zero(acc, count);
    bool in_place = op->in_place && !from_zero;
    const cg_val *carried = in_place ? acc : carried_registers(c, op, count);
    for (uint32_t i = 0; d && i < count; i++) {
        d[i] = carried ? carried[i] : cg_new(c, CG_B32);
        if (!from_zero && d[i].id != acc[i].id)
            cg_ins(c, "mov.b32 %v, %v", d[i], acc[i]);
    }
    return d;
}

/* ---- the product ---- */

/* What the instructions of a product share; log2 of their number along K, M and N. */
typedef struct work {
    const ct_op *op;
    const cg_product *p;
    cut a, b;
    uint32_t k_bits, m_bits, n_bits;
    const char *name;
    char flags[32];       /* signs of the operands, and whether they are transposed */
    const cg_val *left;   /* fragments of A, unless it lies in shared memory */
    cg_val always, never; /* predicates: add to the sums, write them */
} work;

static void set_flags(work *w)
{
    int a = (int)w->a.o->across, b = (int)w->b.o->across;
    if (w->p->atom.element_bits == 1)
        snprintf(w->flags, sizeof w->flags, w->left ? ", 1, 1, %d" : ", 1, 1, %d, %d", w->left ? b : a, b);
    else if (w->p->acc == BC_F32)
        snprintf(w->flags, sizeof w->flags, ", 1, 1");
}

/* Issues one step along K for an instruction's rows and columns. */
static void multiply_step(cg_func *c, const work *w, uint32_t k, uint32_t m, uint32_t n, const cg_val *to, bool writes)
{
    uint32_t in_one = (uint32_t)1 << (width_of(w->p, false) - 1);
    k = cg_step_in_order(w->p, k, w->k_bits);
    cg_val right = step_of(c, w->p, &w->b, k | n << w->k_bits), adds = writes ? w->never : w->always;
    if (w->left)
        cg_ins(c, "wgmma.mma_async.sync.aligned.%s %V, %V, %v, %v%s", w->name, to, in_one,
               w->left + 4 * (k | m << w->k_bits), 4u, right, adds, w->flags);
    else
        cg_ins(c, "wgmma.mma_async.sync.aligned.%s %V, %v, %v, %v%s", w->name, to, in_one,
               step_of(c, w->p, &w->a, k | m << w->k_bits), right, adds, w->flags);
}

static void multiply_in_place(cg_func *c, const work *w, cg_val *acc)
{
    uint32_t in_one = (uint32_t)1 << (width_of(w->p, false) - 1), count = in_one << (w->m_bits + w->n_bits);
    bool from_zero;
    cg_val *d = cg_wgmma_sums(c, w->op, acc, count, &from_zero);
    if (!d)
        return;
    cg_ins(c, "wgmma.fence.sync.aligned");
    for (uint32_t k = 0; k < (uint32_t)1 << w->k_bits; k++)
        for (uint32_t m = 0; m < (uint32_t)1 << w->m_bits; m++)
            for (uint32_t n = 0; n < (uint32_t)1 << w->n_bits; n++)
                multiply_step(c, w, k, m, n, d + (m << w->n_bits | n) * in_one, from_zero && !k);
    cg_ins(c, "wgmma.commit_group.sync.aligned");
    if (!w->op->in_flight)
        cg_await_products(c, 0);
    memcpy(acc, d, count * sizeof *acc);
}

void cg_await_products(cg_func *c, uint32_t others)
{
    cg_ins(c, "wgmma.wait_group.sync.aligned %u", others);
}

void cg_wgmma_add_up(cg_func *c, const cg_val *parts, uint32_t count, cg_val *acc)
{
    cg_ins(c, "wgmma.commit_group.sync.aligned");
    cg_await_products(c, 0);
    for (uint32_t i = 0; i < count; i++)
        acc[i] = cg_add_up(c, acc[i], parts[i]);
}

/* The instruction's sums go to separate registers, a few columns at a time. */
static void multiply_adding_up(cg_func *c, const work *w, cg_val *acc)
{
    uint32_t in_one = (uint32_t)1 << (width_of(w->p, false) - 1), run = cg_steps_added_up(w->p, w->k_bits);
    for (uint32_t k = 0; k < (uint32_t)1 << w->k_bits; k += run)
        for (uint32_t part = 0; part < (uint32_t)1 << (w->m_bits + w->n_bits); part++) {
            cg_val *to = cg_vals(c, in_one);
            for (uint32_t i = 0; to && i < in_one; i++)
                to[i] = cg_new(c, CG_B32);
            if (!to)
                return;
            cg_ins(c, "wgmma.fence.sync.aligned");
            for (uint32_t i = 0; i < run; i++)
                multiply_step(c, w, k + i, part >> w->n_bits, part & (((uint32_t)1 << w->n_bits) - 1), to, !i);
            cg_wgmma_add_up(c, to, in_one, acc + (size_t)part * in_one);
        }
}

/* Is the left operand taken as the words that it was loaded as? ptxas would pack an operand that does not change in the
   loop in each iteration, with a move for each word. With groups, some loops are slower with words (codegen/passes/
   overlap.c), so that passes decide. */
static bool is_in_words(const cg_func *c, const ct_op *op)
{
    return op->as_words || (!c->groups && !ct_is_inside(op->operands[0]->block, op->block));
}

/* Registers from before the loop must not seem free behind the product (codegen/ops/held.h). ptxas packs pairs anew in
   each iteration, but it may join bytes in front of the loop. */
static void hold_left(cg_func *c, const cg_product *p, const cg_operand *o, uint32_t part, const cg_val *words)
{
    enum { WORDS = 4, PAIR_BITS = 1 };
    for (uint32_t i = 0; i < WORDS; i++)
        cg_hold(c, words[i]);
    const uint32_t bits = 2 + p->atom.element_bits;
    for (uint32_t i = 0; p->atom.element_bits > PAIR_BITS && i < (uint32_t)1 << bits; i++)
        cg_hold(c, o->fragments[(part << bits) + i]);
}

/* Fragment `part` of the left operand: packed, or as words. */
static void take_left(cg_func *c, const ct_op *op, const cg_product *p, const cg_operand *o, uint32_t part, cg_val *out)
{
    enum { WORDS = 4, HALF_BITS = 16, PAIR_BITS = 1 };
    if (p->atom.element_bits == PAIR_BITS && is_in_words(c, op))
        for (uint32_t i = 0; i < WORDS; i++)
            out[i] = cg_join(c, o->fragments + 2 * (WORDS * part + i), 2, HALF_BITS);
    else
        cg_pack_fragments(c, p, o, part, out);
    hold_left(c, p, o, part, out);
}

void cg_multiply_async(cg_func *c, const ct_op *op, const cg_product *p, const cg_operand *operands, cg_val *acc)
{
    work w = {.op = op,
              .p = p,
              .k_bits = p->k - p->atom.k_bits,
              .m_bits = p->m - 4 - p->along_m,
              .n_bits = p->n - p->along_n - width_of(p, false),
              .name = cg_wgmma_name(c, op, p, width_of(p, false), false)};
    w.a = cut_of(c, p, &operands[0]);
    w.b = cut_of(c, p, &operands[1]);
    w.always = cg_reg(c, cg_const(CG_PRED, 1));
    w.never = cg_reg(c, cg_const(CG_PRED, 0));
    uint32_t fragments = (uint32_t)1 << (w.k_bits + w.m_bits);
    cg_val *left = operands[0].fragments ? cg_vals(c, (size_t)4 * fragments) : NULL;
    for (uint32_t i = 0; left && i < fragments; i++)
        take_left(c, op, p, &operands[0], i, left + 4 * i);
    w.left = left;
    set_flags(&w);
    if (c->failed)
        return;
    cg_remark(c, op, CG_REMARK_MatrixProduct, TV_REMARK_PASSED,
              "wgmma.{Instruction=%s}, the left operand from {From=%s}", w.name, left ? "registers" : "shared memory");
    cg_alternate_take(c, op);
    if (p->adds_up)
        multiply_adding_up(c, &w, acc);
    else
        multiply_in_place(c, &w, acc);
    cg_alternate_give(c, op);
}
