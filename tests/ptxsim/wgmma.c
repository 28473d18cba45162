/* wgmma: matrix products of a warpgroup with operands in shared memory. PTX ISA, "Asynchronous Warpgroup Level Matrix
   Multiply-Accumulate". Each of the four warps makes its own 16 rows of D, so each works for itself here.

   The product is made when it is issued. Until a wait covers it, its results count as not there yet, and its operands
   in shared memory as being read. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/ptxsim/decode.h"
#include "tests/ptxsim/mma.h"

enum { WARPGROUP = 4, ROWS = 16 };

typedef struct pending_product {
    const ps_insn *in;
    uint64_t a, b;         /* descriptors */
    uint32_t group, epoch; /* of the registers, as it began */
} pending_product;

typedef struct ps_wgmma {
    uint32_t groups; /* committed */
    pending_product *products;
    size_t count, size;
} ps_wgmma;

/* ---- decoding ---- */

static bool take_wgmma_shape(ps_decoder *d, ps_mma *mma)
{
    for (unsigned i = 0; i < d->count; i++) {
        unsigned n, k;
        int used = 0;
        if (!d->used[i] && sscanf(d->modifiers[i], "m64n%uk%u%n", &n, &k, &used) == 2
            && d->modifiers[i][used] == '\0') {
            mma->m = 64;
            mma->n = (uint16_t)n;
            mma->k = (uint16_t)k;
            d->used[i] = true;
            return n >= 8 && n <= PS_MMA_MAX_N && n % 8 == 0 && (k == 8 || k == 16 || k == 32 || k == 256);
        }
    }
    return false;
}

/* An immediate, which must be one of two numbers. */
static int take_immediate(ps_decoder *d, unsigned index, int first, int second)
{
    const ps_operand *o = &d->in->operands[index];
    int value = o->kind == PS_IMMEDIATE ? (int)(int64_t)o->value : 0;
    if (o->kind != PS_IMMEDIATE || (value != first && value != second))
        ps_decode_fail(d, "operand %u must be %d or %d", index + 1, first, second);
    return value;
}

static bool wgmma_types_fit(const ps_mma *mma)
{
    bool f8 = mma->a == PS_E4M3 || mma->a == PS_E5M2, f8_b = mma->b == PS_E4M3 || mma->b == PS_E5M2;
    switch (mma->a) {
    case PS_F16: return mma->b == PS_F16 && mma->k == 16 && (mma->d == PS_F16 || mma->d == PS_F32);
    case PS_BF16: return mma->b == PS_BF16 && mma->k == 16 && mma->d == PS_F32;
    case PS_TF32: return mma->b == PS_TF32 && mma->k == 8 && mma->d == PS_F32;
    case PS_S8:
    case PS_U8: return (mma->b == PS_S8 || mma->b == PS_U8) && mma->k == 32 && mma->d == PS_S32;
    default: return f8 && f8_b && mma->k == 32 && (mma->d == PS_F16 || mma->d == PS_F32);
    }
}

static unsigned result_registers(const ps_mma *mma)
{
    return mma->n / (mma->d == PS_F16 ? 4u : 2u);
}

/* d, a (descriptor or registers), b, scale-d{, scale-a, scale-b{, transpose-a}{, transpose-b}} */
void ps_decode_wgmma(ps_decoder *d)
{
    ps_insn *in = d->in;
    ps_mma *mma = bc_new(&d->m->arena, ps_mma, 1);
    in->mma = mma;
    in->exec = ps_exec_wgmma;
    in->first_source = 1;
    in->aligned = ps_take(d, "aligned");
    if (!ps_take(d, "sync") || !in->aligned || !take_wgmma_shape(d, mma)) {
        ps_decode_fail(d, "wants .sync.aligned and a shape");
        return;
    }
    mma->satfinite = ps_take(d, "satfinite");
    mma->d = ps_take_type(d);
    mma->a = ps_take_type(d);
    mma->b = ps_take_type(d);
    mma->c = mma->d;
    if (mma->b == PS_NO_TYPE || !wgmma_types_fit(mma)) {
        ps_decode_fail(d, "no such combination of shape and types");
        return;
    }
    mma->a_bits = ps_types[mma->a].bits;
    mma->b_bits = ps_types[mma->b].bits;
    mma->scale_a = mma->scale_b = 1;
    in->type = (uint8_t)mma->d;
    ps_want_count(d, 4, 8);
    if (d->error[0])
        return;
    mma->a_in_shared = in->operands[1].kind != PS_VECTOR;
    ps_want_vector(d, 0, result_registers(mma), mma->d == PS_F32 ? PS_F32 : PS_B32, false);
    if (mma->a_in_shared)
        ps_want(d, 1, PS_B64, false);
    else
        ps_want_vector(d, 1, 4, PS_B32, false);
    ps_want(d, 2, PS_B64, false);
    ps_want(d, 3, PS_PRED, false);
    bool integer = mma->d == PS_S32, transposes = mma->a_bits == 16;
    unsigned wanted = integer ? 4 : !transposes ? 6 : mma->a_in_shared ? 8 : 7;
    ps_want_count(d, wanted, wanted);
    if (d->error[0] || integer)
        return;
    mma->scale_a = take_immediate(d, 4, 1, -1);
    mma->scale_b = take_immediate(d, 5, 1, -1);
    if (transposes && mma->a_in_shared)
        mma->a_transposed = take_immediate(d, 6, 0, 1);
    if (transposes)
        mma->b_transposed = take_immediate(d, wanted - 1, 0, 1);
    ps_note_access(d, PS_SHARED, 16);
}

/* wgmma.fence, commit_group, wait_group N */
void ps_decode_wgmma_sync(ps_decoder *d)
{
    ps_insn *in = d->in;
    ps_take(d, "sync");
    in->aligned = ps_take(d, "aligned");
    in->exec = d->row->exec;
    ps_want_count(d, d->row->mode, d->row->mode);
    if (!d->error[0] && d->row->mode && in->operands[0].kind != PS_IMMEDIATE)
        ps_decode_fail(d, "the number of groups must be an immediate");
}

/* ---- operands in shared memory ---- */

/* Shared address of byte `byte` of row `row` (of A, or column of B) along the contiguous dimension K, or with
   transposed: of element `row` at K index `k`. Descriptor: bits 0 start, 16 leading and 32 stride byte offset (all /
   16), 62 swizzle: 1, 2, 3 for atoms of 128, 64, 32 bytes. A core matrix has 8 rows of 16 bytes. */
static uint32_t operand_address(uint64_t descriptor, bool transposed, unsigned bytes, unsigned row, unsigned k)
{
    uint32_t start = (uint32_t)(descriptor & 0x3FFF) << 4, leading = (uint32_t)(descriptor >> 16 & 0x3FFF) << 4;
    uint32_t stride = (uint32_t)(descriptor >> 32 & 0x3FFF) << 4, address;
    unsigned swizzle = (unsigned)(descriptor >> 62), width = swizzle ? 256u >> swizzle : 16;
    if (transposed) {
        /* rows lie side by side, `width` bytes of them; 8 values of k below each other */
        unsigned at = row * bytes, group = at / width;
        address = start + at % width + k % 8 * width
                  + (swizzle ? group * leading + k / 8 * stride : group * stride + k / 8 * leading);
    } else {
        unsigned at = k * bytes;
        address = start + row % 8 * width + row / 8 * stride + at % width + at / width * leading;
    }
    if (swizzle) {
        uint32_t mask = (width / 16 - 1) << 4;
        address ^= address >> 3 & mask;
    }
    return address;
}

/* Checks that 16 bytes were written for the asynchronous proxy: by it, or before a fence.proxy.async. */
static void check_proxy(ps_warp *w, const ps_insn *in, const ps_block *block, uint32_t offset)
{
    const ps_shadow *s = &block->shadow[offset >> w->sim->module.granule_log2];
    uint32_t writer = s->writer / PS_LANES, per_block = w->block->warp_count;
    if (!(s->state & PS_WRITTEN) || s->state & PS_ASYNC_PROXY || w->proxied[writer] > s->write_time)
        return;
    if (w->sim->module.has_tensor_memory
        && w->times[3 * (size_t)w->block->cluster->warp_count + writer] > s->write_time)
        return; /* a third warp has executed the fence between the two */
    const ps_warp *other = &w->block->cluster->blocks[writer / per_block].warps[writer % per_block];
    if (other->proxied[writer] <= s->write_time)
        ps_report(w, in, -1, PTXSIM_WGMMA,
                  "'%s' reads shared byte %u through the asynchronous proxy; between the write at line %u and the "
                  "barrier there is no fence.proxy.async",
                  in->opcode, (unsigned)offset + PS_SHARED_START, (unsigned)w->sim->module.code[s->write_pc].line);
}

void ps_proxy_read(ps_warp *w, const ps_insn *in, const ps_block *block, uint32_t offset, uint32_t size)
{
    for (uint32_t at = 0; at < size; at += (uint32_t)1 << w->sim->module.granule_log2)
        check_proxy(w, in, block, offset + at);
}

/* Notes the reads of `rows` rows from `first` on, in pieces of 16 bytes. */
static void touch_operand(ps_warp *w, const ps_insn *in, uint64_t descriptor, bool transposed, unsigned bits,
                          unsigned first, unsigned rows, bool check)
{
    unsigned bytes = bits / 8, per = 16 / bytes, step_row = transposed ? per : 1, step_k = transposed ? 1 : per;
    for (unsigned row = first; row < first + rows; row += step_row)
        for (unsigned k = 0; k < in->mma->k; k += step_k) {
            uint32_t address = operand_address(descriptor, transposed, bytes, row, k);
            if (ps_place(w, in, 0, PS_SHARED, address, 16, 16, PS_LOADS) && check)
                ps_proxy_read(w, in, w->block, address - PS_SHARED_START, 16);
        }
}

static uint64_t operand_bits(ps_warp *w, uint64_t descriptor, bool transposed, unsigned bits, unsigned row, unsigned k)
{
    uint64_t value = 0;
    uint32_t offset = operand_address(descriptor, transposed, bits / 8, row, k) - PS_SHARED_START;
    if (offset + bits / 8 <= w->block->shared_bytes)
        memcpy(&value, w->block->shared + offset, bits / 8);
    return value;
}

/* ---- the product ---- */

static double number(ps_type type, uint64_t bits)
{
    if (ps_types[type].class_ == PS_CLASS_FLOAT)
        return ps_mma_value(type, bits);
    return ps_types[type].class_ == PS_CLASS_SINT ? (double)ps_signed(bits, 8) : (double)bits;
}

static void read_a(ps_warp *w, const ps_insn *in, uint64_t descriptor, double a[ROWS][PS_MMA_MAX_K])
{
    const ps_mma *mma = in->mma;
    unsigned first = w->index % WARPGROUP * ROWS;
    if (mma->a_in_shared) {
        for (unsigned row = 0; row < ROWS; row++)
            for (unsigned k = 0; k < mma->k; k++)
                a[row][k] = number(mma->a, operand_bits(w, descriptor, mma->a_transposed, mma->a_bits, first + row, k));
        return;
    }
    unsigned per = 32 / mma->a_bits;
    for (unsigned r = 0; r < 4; r++) {
        uint64_t scratch[PS_LANES];
        const uint64_t *row = ps_source(w, in, &in->operands[1].sub[r], PS_ALL, scratch);
        for (unsigned l = 0; l < PS_LANES; l++)
            for (unsigned j = 0; j < per; j++) /* as A of mma.sync */
                a[l / 4 + 8 * (r & 1)][(r >> 1) * 4 * per + l % 4 * per + j] =
                    number(mma->a, row[l] >> j * mma->a_bits & ps_mask(mma->a_bits));
    }
}

/* Where element (row, column) of the 16 rows lies: register, lane, place in it. */
static unsigned result_register(const ps_mma *mma, unsigned row, unsigned column, unsigned *lane, unsigned *place)
{
    unsigned index = column / 8 * 4 + row / 8 * 2 + (column & 1);
    *lane = row % 8 * 4 + column % 8 / 2;
    *place = mma->d == PS_F16 ? (index & 1) * 16 : 0;
    return mma->d == PS_F16 ? index / 2 : index;
}

static double accumulate(const ps_mma *mma, const double *a, const double *b, double acc)
{
    double sign = mma->scale_a * mma->scale_b;
    for (unsigned k = 0; k < mma->k; k++)
        acc += sign * a[k] * b[k];
    return acc;
}

static uint64_t result_bits(const ps_mma *mma, double acc)
{
    if (mma->d != PS_S32)
        return ps_mma_round(mma->d, acc);
    if (mma->satfinite)
        acc = acc > INT32_MAX ? INT32_MAX : acc < INT32_MIN ? INT32_MIN : acc;
    return (uint32_t)(int64_t)acc;
}

static void multiply(ps_warp *w, const ps_insn *in, uint64_t a_descriptor, uint64_t b_descriptor, bool keep)
{
    const ps_mma *mma = in->mma;
    double a[ROWS][PS_MMA_MAX_K], b[PS_MMA_MAX_K];
    unsigned bits = ps_types[mma->d].bits;
    read_a(w, in, a_descriptor, a);
    for (unsigned column = 0; column < mma->n; column++) {
        for (unsigned k = 0; k < mma->k; k++)
            b[k] = number(mma->b, operand_bits(w, b_descriptor, mma->b_transposed, mma->b_bits, column, k));
        for (unsigned row = 0; row < ROWS; row++) {
            unsigned lane, place, r = result_register(mma, row, column, &lane, &place);
            uint64_t *word = &w->rows[in->operands[0].sub[r].slot][lane];
            uint64_t old = *word >> place & ps_mask(bits);
            double acc = !keep ? 0 : mma->d == PS_S32 ? (double)(int32_t)old : ps_mma_value(mma->d, old);
            *word = (*word & ~(ps_mask(bits) << place)) | result_bits(mma, accumulate(mma, a[row], b, acc)) << place;
        }
    }
}

/* ---- left operands that do not change in a loop ---- */

/* Is the register a result of one of the instructions? */
static bool is_written(const ps_module *m, size_t first, size_t last, uint32_t slot)
{
    for (size_t i = first; i <= last; i++)
        for (uint8_t k = 0; k < m->code[i].first_source; k++) {
            const ps_operand *o = &m->code[i].operands[k];
            for (uint32_t r = 0; o->kind == PS_VECTOR && r < o->count; r++)
                if (o->sub[r].kind == PS_REG && o->sub[r].slot == slot)
                    return true;
            if (o->kind == PS_REG && o->slot == slot)
                return true;
        }
    return false;
}

/* The innermost loop around the instruction, from its head to the last branch back. */
static bool find_loop(const ps_module *m, size_t at, size_t *out_first, size_t *out_last)
{
    bool found = false;
    for (size_t i = at; i < m->code_count; i++) {
        size_t to = m->code[i].target;
        if (m->code[i].exec != ps_exec_bra || to > at || (found && to < *out_first))
            continue;
        found = true;
        *out_first = to;
        *out_last = i;
    }
    return found;
}

/* ptxas before CUDA 13.1 gives registers of A that a loop does not write to other values of the loop. */
void ps_wgmma_check_loops(ps_module *m)
{
    for (size_t i = 0; i < m->code_count; i++) {
        ps_insn *in = &m->code[i];
        size_t first = 0, last = 0;
        if (in->exec != ps_exec_wgmma || in->mma->a_in_shared || !find_loop(m, i, &first, &last))
            continue;
        const ps_operand *a = &in->operands[1];
        for (uint32_t r = 0; r < a->count; r++)
            if (!is_written(m, first, last, a->sub[r].slot))
                in->unwritten = a->sub[r].name;
    }
}

/* ---- execution ---- */

static ps_wgmma *state_of(ps_warp *w)
{
    if (!w->wgmma)
        w->wgmma = ps_alloc(1, sizeof *w->wgmma);
    return w->wgmma;
}

/* Is the row a result of a product that is under way? */
bool ps_wgmma_pending(const ps_warp *w, uint32_t slot)
{
    for (size_t i = 0; w->wgmma && i < w->wgmma->count; i++) {
        const ps_operand *d = &w->wgmma->products[i].in->operands[0];
        for (uint32_t r = 0; r < d->count; r++)
            if (d->sub[r].slot == slot)
                return true;
    }
    return false;
}

/* Registers that the product reads must not have been written since the last wgmma.fence, except by products. NVIDIA's
   assembler puts fences where its dialect lacks them. */
static void check_fence(ps_warp *w, const ps_insn *in, const ps_operand *o)
{
    for (uint32_t r = 0; r < o->count && !w->sim->module.is_dialect; r++)
        if (w->row_epoch[o->sub[r].slot] == w->epoch) {
            ps_report(w, in, -1, PTXSIM_WGMMA, "'%s' uses %s, which was written after the last wgmma.fence", in->opcode,
                      o->sub[r].name);
            return;
        }
}

/* Nor may they be written until a wait covers the product. */
static void check_kept(ps_warp *w, const pending_product *p, const ps_operand *o)
{
    for (uint32_t r = 0; r < o->count && !w->sim->module.is_dialect; r++)
        if (w->row_epoch[o->sub[r].slot] >= p->epoch) {
            ps_report(w, p->in, -1, PTXSIM_WGMMA, "%s was written before a wgmma.wait_group for '%s'", o->sub[r].name,
                      p->in->opcode);
            return;
        }
}

static uint64_t uniform(ps_warp *w, const ps_insn *in, const ps_operand *o)
{
    uint64_t scratch[PS_LANES];
    const uint64_t *row = ps_source(w, in, o, PS_ALL, scratch);
    for (unsigned l = 1; l < PS_LANES; l++)
        if (row[l] != row[0])
            ps_report(w, in, (int)l, PTXSIM_WGMMA, "'%s': the descriptor %s differs between lanes", in->opcode,
                      o->name);
    return row[0];
}

ps_flow ps_exec_wgmma(ps_warp *w, const ps_insn *in, uint32_t active)
{
    const ps_mma *mma = in->mma;
    const ps_operand *d = &in->operands[0];
    ps_wgmma *s = state_of(w);
    ps_check_aligned(w, in, active);
    if (active != PS_ALL)
        return PS_NEXT;
    bool left_out = ps_use_product(w, in, mma->m, mma->n, mma->k, mma->a_in_shared);
    uint32_t keep = ps_predicate(w, in, &in->operands[3], active);
    uint64_t a = mma->a_in_shared ? uniform(w, in, &in->operands[1]) : 0, b = uniform(w, in, &in->operands[2]);
    if (w->epoch == 1)
        ps_report(w, in, -1, PTXSIM_WGMMA, "'%s': there is no wgmma.fence before it", in->opcode);
    if (in->unwritten && !w->sim->module.is_dialect && !w->sim->module.is_triton)
        ps_report(w, in, -1, PTXSIM_WGMMA, "'%s': the loop does not write %s; ptxas before 13.1 may lose its value",
                  in->opcode, in->unwritten);
    check_fence(w, in, d);
    if (!mma->a_in_shared)
        check_fence(w, in, &in->operands[1]);
    for (uint32_t r = 0; keep && r < d->count; r++)
        if (w->row_known[d->sub[r].slot] != PS_ALL && !ps_wgmma_pending(w, d->sub[r].slot))
            ps_source(w, in, &d->sub[r], active, (uint64_t[PS_LANES]){0});
    if (mma->a_in_shared && !left_out)
        touch_operand(w, in, a, mma->a_transposed, mma->a_bits, w->index % WARPGROUP * ROWS, ROWS, true);
    if (!left_out) {
        touch_operand(w, in, b, mma->b_transposed, mma->b_bits, 0, mma->n, true);
        multiply(w, in, a, b, keep & 1);
    }
    for (uint32_t r = 0; r < d->count; r++)
        w->row_known[d->sub[r].slot] = 0;
    s->products = ps_grow(s->products, s->count, &s->size, sizeof *s->products);
    s->products[s->count++] = (pending_product){.in = in, .a = a, .b = b, .group = s->groups, .epoch = w->epoch};
    return PS_NEXT;
}

ps_flow ps_exec_wgmma_fence(ps_warp *w, const ps_insn *in, uint32_t active)
{
    ps_check_aligned(w, in, active);
    w->epoch++;
    return PS_NEXT;
}

ps_flow ps_exec_wgmma_commit(ps_warp *w, const ps_insn *in, uint32_t active)
{
    ps_check_aligned(w, in, active);
    state_of(w)->groups++;
    return PS_NEXT;
}

ps_flow ps_exec_wgmma_wait(ps_warp *w, const ps_insn *in, uint32_t active)
{
    ps_wgmma *s = state_of(w);
    size_t kept = 0, count = s->count;
    ps_check_aligned(w, in, active);
    for (size_t i = 0; i < count; i++) {
        pending_product p = s->products[i];
        if (p.group >= s->groups || s->groups - p.group <= in->operands[0].value) {
            s->products[kept++] = p;
            continue;
        }
        const ps_mma *mma = p.in->mma;
        check_kept(w, &p, &p.in->operands[0]);
        if (mma->a_in_shared)
            touch_operand(w, p.in, p.a, mma->a_transposed, mma->a_bits, w->index % WARPGROUP * ROWS, ROWS, false);
        else
            check_kept(w, &p, &p.in->operands[1]);
        touch_operand(w, p.in, p.b, mma->b_transposed, mma->b_bits, 0, mma->n, false);
        for (uint32_t r = 0; r < p.in->operands[0].count; r++)
            w->row_known[p.in->operands[0].sub[r].slot] = PS_ALL;
    }
    s->count = kept;
    for (size_t i = 0; i < kept; i++) /* registers of a product that goes on are still on their way */
        for (uint32_t r = 0; r < s->products[i].in->operands[0].count; r++)
            w->row_known[s->products[i].in->operands[0].sub[r].slot] = 0;
    return PS_NEXT;
}

void ps_wgmma_start(ps_warp *w)
{
    w->epoch = 1;
    if (w->wgmma)
        w->wgmma->groups = 0, w->wgmma->count = 0;
}

void ps_wgmma_free(ps_warp *w)
{
    if (w->wgmma)
        free(w->wgmma->products);
    free(w->wgmma);
}
