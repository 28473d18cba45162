/* tcgen05.mma, commit and fences. PTX ISA, "TensorCore 5th Generation Family Instructions": products of matrices in
   shared and tensor memory with sums in tensor memory, of one block or of a pair, each of which has half of the
   operands.

   A product is computed when it is issued. Until a later commit has arrived, its results count as not available and its
   operands as being read: a checksum of the operands must be the same when the commit arrives. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "bytecode/number/fast.h"
#include "tests/ptxsim/core.h"
#include "tests/ptxsim/mbarrier.h"

enum { ROW_BYTES = 32 }; /* of an operand, in each kind */

/* ---- decoding ---- */

static bool take_kind(ps_decoder *d)
{
    static const char *const words[] = {"kind::f16",      "kind::tf32", "kind::f8f6f4",   "kind::i8",
                                        "kind::mxf8f6f4", "kind::mxf4", "kind::mxf4nvf4", NULL};
    int kind = ps_take_one(d, words);
    d->in->mode = (uint8_t)(kind < 0 ? 0 : kind);
    return kind >= 0;
}

/* Scales per row and instruction, into in->table; 0: none. */
static bool take_scale_vector(ps_decoder *d)
{
    static const char *const words[] = {"scale_vec::1X", "scale_vec::2X", "scale_vec::4X", "block32", "block16", NULL};
    ps_insn *in = d->in;
    bool scaled = ps_take(d, "block_scale"), four = in->mode == PS_KIND_MXF4 || in->mode == PS_KIND_MXF4NVF4;
    int word = ps_take_one(d, words);
    if (scaled != (in->mode >= PS_KIND_MXF8F6F4) || (!scaled && word >= 0))
        return false;
    if (!scaled)
        return true;
    bool unsaid = word < 0 && in->mode != PS_KIND_MXF4NVF4;
    in->table = (uint8_t)(word == 2 || word == 4 ? 4 : word == 1 || (word == 3 && four) || (unsaid && four) ? 2 : 1);
    bool fits = in->mode == PS_KIND_MXF8F6F4 ? in->table == 1
                : in->mode == PS_KIND_MXF4   ? in->table == 2
                                             : in->table > 1;
    return fits && (word >= 0 || unsaid);
}

/* [d], a, b, idesc{, {lanes that are not written}}, enable{, scale of d} or [d], a, b, idesc, [scales a], [scales b],
   enable; a: a descriptor or [tensor memory] */
void ps_decode_tc_mma(ps_decoder *d)
{
    ps_insn *in = d->in;
    if (ps_take(d, "sp")) {
        ps_decode_fail(d, "sparse products are not supported");
        return;
    }
    in->wide = ps_take(d, "ws");
    ps_take_cta_group(d);
    in->exec = ps_exec_tc_mma;
    if (!take_kind(d) || !take_scale_vector(d)) {
        ps_decode_fail(d, "wants a kind, and .block_scale with a number of scales where it has scales");
        return;
    }
    for (unsigned i = 0; i < d->count; i++) /* which operands the core keeps changes no result */
        if (strncmp(d->modifiers[i], "collector::", 11) == 0)
            d->used[i] = true;
    if (in->wide && (in->vector != 1 || in->table))
        ps_decode_fail(d, ".ws goes with .cta_group::1 and without scales");
    bool masks = !in->wide && !in->table && in->count > 4 && in->operands[4].kind == PS_VECTOR;
    unsigned enable = in->table ? 6u : 4u + masks;
    in->high = masks;
    ps_want_count(d, enable + 1, enable + 1 + (in->mode <= PS_KIND_TF32 && !in->wide));
    if (d->error[0])
        return;
    ps_want_address(d, 0);
    if (in->operands[1].kind == PS_ADDRESS)
        ps_want_address(d, 1);
    else
        ps_want(d, 1, PS_B64, false);
    ps_want(d, 2, PS_B64, false);
    ps_want(d, 3, PS_B32, false);
    if (masks)
        ps_want_vector(d, 4, 4u * in->vector, PS_B32, false);
    for (unsigned i = 4; in->table && i < 6; i++)
        ps_want_address(d, i);
    ps_want(d, enable, PS_PRED, false);
    ps_note_access(d, PS_SHARED, 16);
}

/* tcgen05.commit.cta_group.mbarrier::arrive::one{.shared::cluster}{.multicast::cluster}.b64 [mbarrier]{, blocks} */
void ps_decode_tc_commit(ps_decoder *d)
{
    ps_insn *in = d->in;
    ps_take_cta_group(d);
    bool known = ps_take(d, "mbarrier::arrive::one");
    in->space = ps_take(d, "shared::cluster") ? PS_SHARED_CLUSTER : PS_GENERIC;
    in->wide = ps_take(d, "multicast::cluster");
    in->exec = ps_exec_tc_commit;
    if (!ps_take(d, "b64") || !known)
        ps_decode_fail(d, "wants .mbarrier::arrive::one and .b64");
    ps_want_count(d, 1u + in->wide, 1u + in->wide);
    ps_want_mbarrier(d, 0);
    if (in->wide)
        ps_want(d, 1, PS_B16, false);
}

/* tcgen05.fence::before_thread_sync, tcgen05.fence::after_thread_sync */
void ps_decode_tc_fence(ps_decoder *d)
{
    d->in->exec = d->row->exec;
    d->m->has_tensor_memory = true;
    ps_want_count(d, 0, 0);
}

/* ---- operands ---- */

typedef struct product {
    const ps_insn *in;
    ps_core_shape s;
    ps_block *blocks[2];
    uint64_t a, b; /* descriptors */
    bool a_in_shared;
    uint32_t a_address, d_address; /* of tensor memory */
    unsigned blocks_of_d;          /* number of groups of lanes that hold columns of D */
} product;

static unsigned rows_of(const product *p)
{
    return p->s.m / p->in->vector;
}

static unsigned columns_of(const product *p)
{
    return p->s.n / p->in->vector;
}

typedef struct operand {
    uint64_t descriptor;
    bool transposed;
    ps_type type;
    unsigned rows;
} operand;

static operand operand_of(const product *p, bool b)
{
    return b ? (operand){p->b, p->s.b_transposed, p->s.b, columns_of(p)}
             : (operand){p->a, p->s.a_transposed, p->s.a, rows_of(p)};
}

/* Bytes that an element takes in shared memory: types of 6 and 4 bits lie in groups of 16 elements in 16 bytes, except
   in kinds of 4 bits, which pack them. */
static unsigned bytes_of(ps_type type)
{
    return ps_core_bits(type) <= 8 ? 1 : ps_core_bits(type) / 8;
}

/* k_size: elements along K; bytes of them where they lie side by side. */
static void sum_operand(ps_warp *w, const ps_insn *in, const operand *o, unsigned k_size, ps_block *block, bool check,
                        uint32_t *crc)
{
    unsigned bytes = bytes_of(o->type), per = 16 / bytes;
    for (unsigned row = 0; row < o->rows; row += o->transposed ? per : 1)
        for (unsigned k = 0; k < k_size; k += o->transposed ? 1 : 16) {
            uint8_t piece[16] = {0};
            uint32_t address = ps_core_address(o->descriptor, o->transposed, bytes, row, k),
                     at = address - PS_SHARED_START;
            if (check)
                ps_core_read(w, in, block, address, piece);
            else if (at + 16 <= block->shared_bytes)
                memcpy(piece, block->shared + at, 16);
            *crc = (uint32_t)crc32(*crc, piece, 16);
        }
}

/* The number at a row of an operand, K index k. */
static double number_at(const product *p, const operand *o, const ps_block *block, unsigned row, unsigned k)
{
    unsigned bits = ps_core_bits(o->type), bytes = bytes_of(o->type), byte = k * bytes, first = 0;
    bool packed = p->s.k == 64;
    if (packed) {
        byte = k / 2;
        first = k % 2 * 4;
    } else if (bits < 8) { /* 16 of them in 16 bytes, from the first bit on */
        first = k % 16 * bits;
        byte = k / 16 * 16;
    }
    uint32_t at = ps_core_address(o->descriptor, o->transposed, bytes, row, o->transposed ? k : byte) - PS_SHARED_START;
    uint64_t value = 0;
    at += first / 8;
    if (at >= block->shared_bytes)
        return 0;
    memcpy(&value, block->shared + at, at + 8 <= block->shared_bytes ? 8 : block->shared_bytes - at);
    value = value >> first % 8 & ps_mask(bits);
    if (ps_types[o->type].class_ == PS_CLASS_FLOAT)
        return ps_mma_value(o->type, value);
    return ps_types[o->type].class_ == PS_CLASS_SINT ? (double)ps_signed(value, 8) : (double)value;
}

/* ---- places in tensor memory ---- */

/* Rows of D (and of A) in lanes: with M 64 of one block, 16 of each 32; the columns stand in groups of lanes where
   there are fewer rows than lanes otherwise. (PTX ISA: layouts A, B, D, E, F, G.) */
static unsigned groups_of(const product *p)
{
    unsigned rows = rows_of(p);
    if (p->in->vector == 2 || p->in->wide)
        return PS_TM_LANES / rows;
    return 1;
}

static unsigned lane_of(const product *p, unsigned row)
{
    bool spread = p->in->vector == 1 && !p->in->wide && p->s.m == 64;
    return spread ? row / 16 * 32 + row % 16 : row;
}

static uint32_t *d_word(const product *p, unsigned block, unsigned row, unsigned column, unsigned *out_lane)
{
    unsigned per = p->s.n / p->blocks_of_d;
    unsigned lane = (p->d_address >> 16) + lane_of(p, row) + column / per * rows_of(p);
    *out_lane = lane;
    return &p->blocks[block]->tmem->words[lane][(p->d_address & 0xFFFF) + column % per];
}

/* Checks and notes a range that has the product's rows. */
static bool touch_rows(ps_warp *w, const product *p, unsigned block, uint32_t address, unsigned columns,
                       unsigned access)
{
    ps_tm_range r = ps_tm_at(p->blocks[block], address, PS_TM_LANES, columns);
    if (lane_of(p, 16) == 16)
        return ps_tm_touch(w, p->in, &r, access, true);
    r.lanes = 16;
    for (unsigned i = 0; i < 4; i++, r.lane += 32)
        if (!ps_tm_touch(w, p->in, &r, access, true))
            return false;
    return true;
}

/* ---- scales ---- */

/* The scales of `rows` rows: row r in lane r % 32 and column r / 32, the same in each quarter of the lanes. */
static bool read_scales(ps_warp *w, const product *p, unsigned block, uint32_t address, unsigned id, unsigned rows,
                        double (*out)[4])
{
    ps_tm_range r = ps_tm_at(p->blocks[block], address, PS_TM_LANES, (rows + 31) / 32);
    if (r.lane) {
        ps_report(w, p->in, -1, PTXSIM_TENSOR_MEMORY, "'%s': scales begin in lane 0", p->in->opcode);
        return false;
    }
    if (!ps_tm_touch(w, p->in, &r, PS_LOADS, true))
        return false;
    for (unsigned row = 0; row < rows; row++)
        for (unsigned i = 0; i < p->s.scale_vec; i++) {
            uint32_t word = r.block->tmem->words[row % 32][r.column + row / 32];
            uint8_t value = (uint8_t)(word >> 8 * (id + i));
            out[row][i] = p->s.scale == PS_UE8M0 ? bc_f8e8m0_to_f32(value) : bc_f8e4m3_to_f32(value);
            for (unsigned quarter = 1; quarter < 4; quarter++)
                if (r.block->tmem->words[quarter * 32 + row % 32][r.column + row / 32] != word)
                    ps_report(w, p->in, -1, PTXSIM_TENSOR_MEMORY,
                              "'%s': the scales of row %u are not the same in all quarters of the lanes", p->in->opcode,
                              row);
        }
    return true;
}

/* ---- the product ---- */

static uint32_t result_bits(const product *p, double acc)
{
    if (p->s.d != PS_S32)
        return (uint32_t)ps_mma_round(p->s.d, acc);
    if (p->s.saturates)
        acc = acc > INT32_MAX ? INT32_MAX : acc < INT32_MIN ? INT32_MIN : acc;
    return (uint32_t)(int64_t)acc;
}

static double old_value(const product *p, uint32_t bits)
{
    return p->s.d == PS_S32 ? (double)(int32_t)bits : ps_mma_value(p->s.d, p->s.d == PS_F16 ? bits & 0xFFFF : bits);
}

/* All numbers of an operand: rows of each block after the other. */
static double *read_operand(const product *p, bool b)
{
    operand o = operand_of(p, b);
    double *out = ps_alloc((size_t)o.rows * p->in->vector * p->s.k, sizeof *out), *next = out;
    double sign = (b ? p->s.negate_b : p->s.negate_a) ? -1 : 1;
    for (unsigned block = 0; block < p->in->vector; block++)
        for (unsigned row = 0; row < o.rows; row++)
            for (unsigned k = 0; k < p->s.k; k++)
                *next++ = sign * number_at(p, &o, p->blocks[block], row, k);
    return out;
}

/* A from tensor memory: elements of a row side by side in its lane. */
static double *read_a_of_lanes(const product *p)
{
    unsigned rows = rows_of(p), bits = ps_core_bits(p->s.a), per = 32 / bits;
    double *out = ps_alloc((size_t)rows * p->in->vector * p->s.k, sizeof *out), *next = out;
    for (unsigned block = 0; block < p->in->vector; block++)
        for (unsigned row = 0; row < rows; row++)
            for (unsigned k = 0; k < p->s.k; k++) {
                uint32_t word = p->blocks[block]->tmem->words[(p->a_address >> 16) + lane_of(p, row)]
                                                             [(p->a_address & 0xFFFF) + k / per];
                uint64_t value = word >> k % per * bits & ps_mask(bits);
                double x = ps_types[p->s.a].class_ == PS_CLASS_FLOAT  ? ps_mma_value(p->s.a, value)
                           : ps_types[p->s.a].class_ == PS_CLASS_SINT ? (double)ps_signed(value, 8)
                                                                      : (double)value;
                *next++ = p->s.negate_a ? -x : x;
            }
    return out;
}

typedef struct factors {
    double *a, *b;
    double (*scale_a)[4], (*scale_b)[4]; /* NULL: none */
    const uint32_t *kept;                /* masks of lanes that are not written, 4 a block; NULL: none */
    double scale_d;
    bool adds;
} factors;

static double dot(const product *p, const factors *f, unsigned row, unsigned column, double acc)
{
    const double *a = f->a + (size_t)row * p->s.k, *b = f->b + (size_t)column * p->s.k;
    if (!f->scale_a) {
        for (unsigned k = 0; k < p->s.k; k++)
            acc += a[k] * b[k];
        return acc;
    }
    for (unsigned k = 0; k < p->s.k; k++) {
        unsigned part = k * p->s.scale_vec / p->s.k;
        acc += a[k] * f->scale_a[row][part] * (b[k] * f->scale_b[column][part]);
    }
    return acc;
}

static void multiply(const product *p, const factors *f)
{
    unsigned rows = rows_of(p);
    for (unsigned block = 0; block < p->in->vector; block++)
        for (unsigned row = 0; row < rows; row++)
            for (unsigned column = 0; column < p->s.n; column++) {
                unsigned lane;
                uint32_t *word = d_word(p, block, row, column, &lane);
                if (f->kept && f->kept[4 * block + lane / 32] >> lane % 32 & 1)
                    continue;
                double acc = f->adds ? old_value(p, *word) * f->scale_d : 0;
                *word = result_bits(p, dot(p, f, block * rows + row, column, acc));
            }
}

static bool has_small_type(const ps_core_shape *s)
{
    return ps_core_bits(s->a) < 8;
}

/* Checks and notes what the product reads and writes. */
static bool touch(ps_warp *w, const product *p, bool adds)
{
    unsigned columns = p->s.n / p->blocks_of_d;
    for (unsigned block = 0; block < p->in->vector; block++) {
        unsigned a_columns = p->s.k * ps_core_bits(p->s.a) / 32;
        if (!p->a_in_shared && !touch_rows(w, p, block, p->a_address, a_columns, PS_LOADS))
            return false;
        if ((adds && !touch_rows(w, p, block, p->d_address, columns, PS_LOADS))
            || !touch_rows(w, p, block, p->d_address, columns, PS_STORES))
            return false;
    }
    return true;
}

/* Each block of a pair has the scales of its rows of A, and those of all columns of B. */
static bool take_scales(ps_warp *w, const product *p, const ps_insn *in, uint32_t active, unsigned lane, factors *f)
{
    uint64_t address[2][PS_LANES];
    unsigned rows = rows_of(p);
    f->scale_a = ps_alloc(p->s.m, sizeof *f->scale_a);
    f->scale_b = ps_alloc((size_t)in->vector * p->s.n, sizeof *f->scale_b);
    for (unsigned i = 0; i < 2; i++)
        ps_addresses(w, in, &in->operands[4 + i], active, address[i]);
    for (unsigned block = 0; block < in->vector; block++)
        if (!read_scales(w, p, block, (uint32_t)address[0][lane], p->s.scale_a_id, rows, f->scale_a + block * rows)
            || !read_scales(w, p, block, (uint32_t)address[1][lane], p->s.scale_b_id, p->s.n,
                            f->scale_b + block * p->s.n))
            return false;
    bool same = in->vector == 1 || memcmp(f->scale_b, f->scale_b + p->s.n, p->s.n * sizeof *f->scale_b) == 0;
    if (!same)
        ps_report(w, in, (int)lane, PTXSIM_TENSOR_MEMORY, "'%s': the scales of B are not the same in both blocks",
                  in->opcode);
    return same;
}

/* The product's operands. False after a report. */
static bool take_product(ps_warp *w, const ps_insn *in, uint32_t active, unsigned lane, product *p, ps_core_op *op)
{
    uint64_t at[PS_LANES], scratch[PS_LANES];
    *p = (product){.in = in, .a_in_shared = in->operands[1].kind != PS_ADDRESS};
    op->instruction = (uint32_t)ps_source(w, in, &in->operands[3], active, scratch)[lane];
    if (!ps_tm_group(w, in, p->blocks) || !ps_core_instruction(w, in, op->instruction, &p->s))
        return false;
    ps_addresses(w, in, &in->operands[0], active, at);
    p->d_address = (uint32_t)at[lane];
    p->blocks_of_d = groups_of(p);
    if (p->a_in_shared) {
        op->a = p->a = ps_source(w, in, &in->operands[1], active, scratch)[lane];
        if (!ps_core_descriptor(w, in, "the descriptor of A", p->a))
            return false;
    } else {
        ps_addresses(w, in, &in->operands[1], active, at);
        p->a_address = (uint32_t)at[lane];
        if (has_small_type(&p->s) || p->s.a_transposed) {
            ps_report(w, in, (int)lane, PTXSIM_DESCRIPTOR,
                      "'%s': A in tensor memory with types of 4 or 6 bits, or transposed, is not supported",
                      in->opcode);
            return false;
        }
    }
    op->b = p->b = ps_source(w, in, &in->operands[2], active, scratch)[lane];
    return ps_core_descriptor(w, in, "the descriptor of B", p->b);
}

ps_flow ps_exec_tc_mma(ps_warp *w, const ps_insn *in, uint32_t active)
{
    unsigned lane = ps_core_thread(w, in, active), enable = in->table ? 6 : 4u + in->high;
    uint32_t kept[8] = {0};
    uint64_t scratch[PS_LANES];
    product p;
    ps_core_op op = {.in = in};
    if (!take_product(w, in, active, lane, &p, &op))
        return PS_NEXT;
    factors f = {.scale_d = 1, .adds = ps_predicate(w, in, &in->operands[enable], active) >> lane & 1};
    if (in->count > enable + 1u)
        f.scale_d = ldexp(1, -(int)in->operands[enable + 1].value);
    for (unsigned i = 0; in->high && i < in->operands[4].count; i++)
        kept[i] = (uint32_t)ps_source(w, in, &in->operands[4].sub[i], active, scratch)[lane];
    f.kept = in->high ? kept : NULL;
    if (ps_use_product(w, in, p.s.m, p.s.n, p.s.k, p.a_in_shared))
        return PS_NEXT;
    op.crc = ps_core_crc(w, &op, true);
    if (touch(w, &p, f.adds) && (!in->table || take_scales(w, &p, in, active, lane, &f))) {
        f.a = p.a_in_shared ? read_operand(&p, false) : read_a_of_lanes(&p);
        f.b = read_operand(&p, true);
        multiply(&p, &f);
        ps_core_issue(w, &op);
    }
    free(f.a);
    free(f.b);
    free(f.scale_a);
    free(f.scale_b);
    return PS_NEXT;
}

uint32_t ps_core_crc(ps_warp *w, const ps_core_op *op, bool check)
{
    uint32_t crc = 0;
    const ps_insn *in = op->in;
    ps_block *blocks[2];
    product p = {.in = in, .a = op->a, .b = op->b};
    if (in->exec == ps_exec_tm_shift || !ps_tm_blocks(w->block, in->vector, blocks))
        return 0;
    if (in->exec == ps_exec_tm_cp) {
        operand matrix = {.descriptor = op->a, .type = PS_U8};
        unsigned bytes;
        ps_tm_cp_shape(in, &matrix.rows, &bytes);
        for (unsigned block = 0; block < in->vector; block++)
            sum_operand(w, in, &matrix, bytes, blocks[block], false, &crc);
        return crc;
    }
    if (!ps_core_instruction(w, in, op->instruction, &p.s))
        return 0;
    for (unsigned b = in->operands[1].kind == PS_ADDRESS; b < 2; b++) {
        operand o = operand_of(&p, b);
        for (unsigned block = 0; block < in->vector; block++)
            sum_operand(w, in, &o, o.transposed ? p.s.k : ROW_BYTES, blocks[block], check, &crc);
    }
    return crc;
}

/* ---- commit, fences ---- */

/* Orders what this warp has done so far before what others do after a fence::after_thread_sync. */
static void fence_before(ps_warp *w)
{
    ps_tick(w);
    w->times[w->block->cluster->warp_count + w->clock_index] = w->times[w->clock_index];
}

ps_flow ps_exec_tc_before(ps_warp *w, const ps_insn *in, uint32_t active)
{
    (void)in;
    (void)active;
    fence_before(w);
    return PS_NEXT;
}

ps_flow ps_exec_tc_after(ps_warp *w, const ps_insn *in, uint32_t active)
{
    uint32_t n = w->block->cluster->warp_count;
    (void)in;
    (void)active;
    memcpy(w->fence_seen, w->times + n, (size_t)2 * n * sizeof *w->fence_seen);
    return PS_NEXT;
}

ps_flow ps_exec_tc_commit(ps_warp *w, const ps_insn *in, uint32_t active)
{
    unsigned lane = ps_core_thread(w, in, active);
    uint64_t address[PS_LANES], scratch[PS_LANES];
    ps_tcgen *t = ps_tcgen_of(w);
    ps_block *blocks[2];
    uint16_t mask = in->wide ? (uint16_t)ps_source(w, in, &in->operands[1], active, scratch)[lane] : 0;
    ps_addresses(w, in, &in->operands[0], active, address);
    if (in->space == PS_GENERIC && w->sim->module.is_triton && address[lane] < PS_SHARED_WINDOW)
        address[lane] += PS_SHARED_WINDOW;
    t->commits++;
    for (size_t i = 0; i < t->op_count; i++)
        if (t->ops[i].commit == t->commits && t->ops[i].group != in->vector)
            ps_report(w, in, (int)lane, PTXSIM_TENSOR_MEMORY,
                      "'%s' has another cta_group than '%s' of line %u, which it does not cover", in->opcode,
                      t->ops[i].in->opcode, (unsigned)t->ops[i].in->line);
    if (!ps_tm_group(w, in, blocks))
        return PS_NEXT;
    if (in->wide && !mask && w->sim->module.is_dialect) /* what blocks execute that issue no products */
        return PS_NEXT;
    if (in->wide && (!mask || (uint32_t)mask >> w->block->cluster->size))
        ps_report(w, in, (int)lane, PTXSIM_BAD_VALUE, "'%s': there are no such blocks", in->opcode);
    fence_before(w);
    ps_arrive_later(w, in, lane, address[lane], mask, t->commits);
    return PS_NEXT;
}

void ps_commit_arrives(ps_warp *w, uint32_t commit)
{
    ps_tcgen *t = ps_tcgen_of(w);
    size_t kept = 0;
    for (size_t i = 0; i < t->op_count; i++) {
        const ps_core_op *op = &t->ops[i];
        if (op->commit > commit)
            t->ops[kept++] = *op;
        else if (ps_core_crc(w, op, false) != op->crc)
            ps_report(w, op->in, -1, PTXSIM_ASYNC, "'%s' reads shared memory that has been written since it was issued",
                      op->in->opcode);
    }
    t->op_count = kept;
}
