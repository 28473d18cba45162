/* The layouts of products: accumulators, fragments, scales, and how operands in shared memory are read. Sources: PTX
   ISA, "Warp-level matrix instructions", fragment figures; "Asynchronous warpgroup level matrix instructions". */
#include <string.h>

#include "codegen/analysis/reordered.h"
#include "codegen/analysis/ring.h"
#include "codegen/analysis/scaling.h"
#include "codegen/analysis/tcgen05.h"
#include "codegen/analysis/tcgen05_scales.h"
#include "codegen/analysis/turned.h"

bool cg_runs_along_last(const cg_layout *l, uint32_t bits)
{
    const uint32_t *const images[] = {l->reg, l->lane, l->warp};
    const uint32_t counts[] = {l->reg_bits, CG_LANE_BITS, l->warp_bits};
    for (int part = 0; part < 3; part++)
        for (uint32_t i = 0; i < counts[part]; i++)
            if (images[part][i] & (1 | (uint32_t)1 << bits))
                return images[part][i] & 1;
    return true;
}

/* Are the bytes of B, stored in rows along K, read as pairs of columns? In that case, the even ones of 16 columns go
   to one instruction and the odd ones to another. */
static bool takes_pairs(const cg_product *p, const cg_layout *rhs)
{
    cg_layout l = cg_as_bytes(p, false, rhs);
    return p->atom.element_bits == 2 && p->n >= 4 && cg_runs_along_last(&l, p->n);
}

/* May `mma.sync` read bytes of A, stored in rows along M, as pairs of rows? Chained products keep the rows of their
   sums in the order in which the next one takes them. */
static bool may_take_row_pairs(const cg_product *p)
{
    return p->instruction == CG_BY_MMA && p->atom.element_bits == 2 && p->m >= CG_ATOM_ROW_BITS && !p->packed
           && !p->scaled && !p->chained;
}

/* Are they read so? In that case, the even ones of 16 rows are the instruction's first eight, the odd ones the others.
   Bytes of A in registers are stored to scratch in rows along M if a thread has whole words of them. */
static bool takes_row_pairs(const cg_product *p, const cg_layout *lhs)
{
    enum { WORD_BITS = 2 };
    cg_layout along_k = {.tile_bits = (uint8_t)(p->m + p->k + p->batch), .reg_bits = 1, .reg = {1}};
    if (p->instruction != CG_BY_MMA || p->atom.element_bits != 2 || p->packed)
        return false;
    if (cg_encoding_of(p->lhs)) /* as cg_mma_feed has decided */
        return cg_encoding_layout_of(p->lhs, &along_k).reg[0] != 1;
    uint8_t bits[WORD_BITS];
    return may_take_row_pairs(p) && cg_layout_vector(lhs, p->k, WORD_BITS, bits) == WORD_BITS;
}

/* Distributes the warps along M and N. Each bit goes to the dimension with more instructions left, so that the
   warps' parts become square. In chained products, warps go along M, so that rows stay in their warp; also if
   four warps execute an instruction together, because they need not read B more than once. */
static void split_warps(const cg_func *c, cg_product *p)
{
    if (p->instruction == CG_BY_TCGEN05) {
        cg_tcgen05_split(c, p);
        return;
    }
    uint32_t m = cg_rows_of_atoms(p), n = p->n - (p->pairs || cg_has_trait(p, CG_READS_PLACED) ? 4 : 3);
    bool together = p->chained || cg_has_trait(p, CG_ALONG_ROWS);
    p->along_m = p->along_n = 0;
    for (uint32_t i = 0; i < c->warp_bits; i++) {
        if (m > p->along_m && (together || m - p->along_m + 1 >= n - p->along_n))
            p->along_m++;
        else if (n > p->along_n)
            p->along_n++;
        else if (m > p->along_m)
            p->along_m++;
    }
}

void cg_settle_product(const cg_func *c, cg_product *p, const cg_layout *lhs, const cg_layout *rhs)
{
    p->pairs = p->instruction != CG_BY_TCGEN05 && takes_pairs(p, rhs);
    p->row_pairs = takes_row_pairs(p, lhs);
    split_warps(c, p);
}

/* The bits of N that number an instruction's columns, then the bit that numbers two neighbouring instructions. */
static const uint8_t *column_bits(const cg_product *p)
{
    static const uint8_t columns[2][4] = {{0, 1, 2, 3}, {1, 2, 3, 0}};
    return columns[p->pairs];
}

/* Adds the rows of an instruction to the layout: the first eight over lanes, the others in a second register. They
   begin at bit `first` of the index; bits beyond the rows become replicas. */
static void put_rows(const cg_product *p, uint32_t first, cg_layout *l)
{
    static const uint8_t rows[2][4] = {{0, 1, 2, 3}, {1, 2, 3, 0}};
    const uint8_t *m = rows[p->row_pairs];
    uint32_t one = 1;
    if (p->m >= CG_ATOM_ROW_BITS)
        l->reg[l->reg_bits++] = one << (first + m[3]);
    for (uint32_t i = 0; i < 3; i++)
        l->lane[2 + i] = m[i] < p->m ? one << (first + m[i]) : 0;
}

cg_layout cg_accumulator_layout(const cg_func *c, const cg_product *p)
{
    if (p->instruction == CG_BY_TCGEN05)
        return cg_tcgen05_layout(c, p);
    const uint8_t *n = column_bits(p);
    cg_layout l = {.tile_bits = (uint8_t)(p->m + p->n + p->batch), .warp_bits = (uint8_t)c->warp_bits};
    uint32_t one = 1, w = 0;
    l.reg[l.reg_bits++] = one << n[0];
    put_rows(p, p->n, &l);
    for (uint32_t i = 3; i < p->n - p->along_n; i++)
        l.reg[l.reg_bits++] = one << (i == 3 ? n[3] : i);
    for (uint32_t i = 4 + p->along_m; i < p->m; i++)
        l.reg[l.reg_bits++] = one << (p->n + i);
    for (uint32_t i = 0; i < p->batch; i++)
        l.reg[l.reg_bits++] = one << (p->n + p->m + i);
    l.lane[0] = one << n[1];
    l.lane[1] = one << n[2];
    for (uint32_t i = 0; i < p->along_m; i++)
        l.warp[w++] = one << (p->n + 4 + i);
    for (uint32_t i = 0; i < p->along_n; i++)
        l.warp[w++] = one << (p->n - p->along_n + i);
    return p->instruction == CG_BY_REORDERED_MMA ? cg_in_order(p, &l, false) : l;
}

/* The bits of M and N that are assigned to registers, lanes and warps, lowest first. */
typedef struct spread {
    uint32_t next, all, to; /* the first unassigned bit, the number of bits, their position in the index */
} spread;

static uint32_t take_bits(spread *s, uint32_t most, uint32_t *out)
{
    uint32_t count = s->all - s->next < most ? s->all - s->next : most;
    for (uint32_t i = 0; i < count; i++)
        out[i] = (uint32_t)1 << (s->to + s->next++);
    return count;
}

/* A thread has four neighbours of a row (two for f64), which is 16 bytes, and at least as many neighbouring rows:
   operands are loaded in vectors of 16 bytes along either dimension. Four lanes go along M and eight along N, with
   alternating bits, so that lanes that differ in only one of the first two bits of their number need the same
   elements of one operand (docs/internals/codegen.md). Further columns and rows of a thread follow, then warps. */
cg_layout cg_block_layout(const cg_func *c, const cg_product *p)
{
    uint32_t vector = p->in == BC_F64 ? 1 : 2, total = p->m + p->n + p->batch;
    uint32_t regs = total - CG_LANE_BITS - c->warp_bits, w = 0;
    cg_layout l = {.tile_bits = (uint8_t)total, .warp_bits = (uint8_t)c->warp_bits};
    spread m = {.all = p->m, .to = p->n}, n = {.all = p->n}, batch = {.all = p->batch, .to = p->n + p->m};
    uint32_t columns = take_bits(&n, regs < vector ? regs : vector, l.reg), got = columns, lanes = 0;
    got += take_bits(&m, regs - got < 2 ? regs - got : 2, l.reg + got);
    uint32_t more_rows = (regs - got) / 2, more_columns = regs - got - more_rows;
    for (uint32_t i = 0; i < 4; i++)
        lanes += take_bits(i % 2 ? &n : &m, 1, l.lane + lanes);
    lanes += take_bits(&n, 1, l.lane + lanes);
    got += take_bits(&n, more_columns, l.reg + got);
    got += take_bits(&m, regs - got < more_rows ? regs - got : more_rows, l.reg + got);
    spread *const rest[] = {&m, &n, &batch};
    for (uint32_t i = 0; i < 3; i++)
        lanes += take_bits(rest[i], CG_LANE_BITS - lanes, l.lane + lanes);
    for (uint32_t i = 0; i < 3; i++)
        w += take_bits(rest[i], c->warp_bits - w, l.warp + w);
    for (uint32_t i = 0; i < 3; i++)
        got += take_bits(rest[i], regs - got, l.reg + got);
    l.reg_bits = (uint8_t)got;
    return l;
}

typedef struct lines {
    const cg_product *p;
    bool left;
    uint32_t k;
} lines;

static uint32_t line_of(const void *of, uint32_t element)
{
    const lines *x = of;
    const cg_product *p = x->p;
    uint32_t row = element >> p->n & (((uint32_t)1 << p->m) - 1), column = element & (((uint32_t)1 << p->n) - 1),
             batch = element >> (p->n + p->m);
    return x->left ? row << x->k | batch << (x->k + p->m) : column | batch << (p->n + x->k);
}

cg_layout cg_lines_layout(const cg_product *p, bool left, uint32_t k, const cg_layout *l)
{
    lines x = {p, left, k};
    return cg_layout_map(l, (left ? p->m : p->n) + k + p->batch, line_of, &x);
}

bool cg_mma_accumulator_layout(const cg_func *c, const ct_op *op, cg_layout *out)
{
    if (!cg_is_product(op))
        return false;
    cg_product p = cg_product_of(c, op);
    if (!cg_has_trait(&p, CG_ASYNCHRONOUS))
        return false;
    split_warps(c, &p);
    *out = cg_has_trait(&p, CG_TRANSPOSES) ? cg_turned_layout(c, &p) : cg_accumulator_layout(c, &p);
    return true;
}

cg_layout cg_fragment_layout(const cg_func *c, const cg_product *p)
{
    cg_layout l = {.tile_bits = (uint8_t)(p->m + p->k + p->batch), .warp_bits = (uint8_t)c->warp_bits};
    uint32_t one = 1, beside = p->atom.element_bits; /* log2 of the neighbours along K in a register */
    for (uint32_t i = 0; i < beside; i++)
        l.reg[l.reg_bits++] = one << i;
    put_rows(p, p->k, &l);
    for (uint32_t i = 2 + beside; i < p->k; i++)
        l.reg[l.reg_bits++] = one << i;
    for (uint32_t i = 4 + p->along_m; i < p->m; i++)
        l.reg[l.reg_bits++] = one << (p->k + i);
    for (uint32_t i = 0; i < p->batch; i++)
        l.reg[l.reg_bits++] = one << (p->k + p->m + i);
    l.lane[0] = one << beside;
    l.lane[1] = one << (beside + 1);
    for (uint32_t i = 0; i < p->along_m; i++)
        l.warp[i] = one << (p->k + 4 + i);
    return p->instruction == CG_BY_REORDERED_MMA ? cg_in_order(p, &l, true) : l;
}

/* Of each 8 or 16 columns, a lane has the lower and the upper half of K; then registers count K, and columns. */
cg_layout cg_right_fragment_layout(const cg_func *c, const cg_product *p)
{
    enum { ROWS = 3 };
    cg_layout l = {.tile_bits = (uint8_t)(p->k + p->n + p->batch), .warp_bits = (uint8_t)c->warp_bits};
    uint32_t one = 1, beside = p->atom.element_bits, columns = p->n - p->along_n;
    if (beside)
        l.reg[l.reg_bits++] = one << p->n;
    l.reg[l.reg_bits++] = one << (p->n + 2 + beside);
    if (columns > ROWS)
        l.reg[l.reg_bits++] = one << ROWS;
    for (uint32_t i = 3 + beside; i < p->k; i++)
        l.reg[l.reg_bits++] = one << (p->n + i);
    for (uint32_t i = ROWS + 1; i < columns; i++)
        l.reg[l.reg_bits++] = one << i;
    for (uint32_t i = 0; i < p->batch; i++)
        l.reg[l.reg_bits++] = one << (p->n + p->k + i);
    l.lane[0] = one << (p->n + beside);
    l.lane[1] = one << (p->n + beside + 1);
    for (uint32_t i = 0; i < ROWS; i++)
        l.lane[2 + i] = one << i;
    for (uint32_t i = 0; i < p->along_n; i++)
        l.warp[p->along_m + i] = one << (columns + i);
    return l;
}

bool cg_mma_fragment_layout(const cg_func *c, const ct_op *op, uint32_t index, cg_layout *out)
{
    cg_product p = cg_product_of(c, op);
    bool held = p.held >> index & 1;
    if (!held && (index || p.instruction != CG_BY_WGMMA || !cg_takes_fragments(&p)))
        return false;
    split_warps(c, &p);
    *out = index ? cg_right_fragment_layout(c, &p) : cg_fragment_layout(c, &p);
    return true;
}

/* Scales of A: of four adjacent lanes, those with lane % 2 = 0 have the scales of the row in which their fragments
   of A begin, and the others have those of the row 8 below; the instruction reads two of the lanes. Registers count
   blocks of K, further rows, batches. Scales of B: all four lanes have those of their column. Registers count blocks
   of K, further columns, batches. If sums are scaled afterwards, every lane has the scales of its accumulators, for
   two rows and for two columns. Registers count blocks of K, which of the two, and then the same as above. */
cg_layout cg_scale_layout(const cg_func *c, const cg_product *p, bool left)
{
    if (p->instruction == CG_BY_TCGEN05)
        return cg_scale_words_layout(c, p, left);
    const uint8_t *n = column_bits(p);
    bool after = p->scaling->after;
    uint32_t one = 1, blocks = p->k - p->atom.k_bits + p->scaling->scale_bits;
    uint32_t x = left ? p->m : p->n, k0 = left ? 0 : p->n, x0 = left ? blocks : 0,
             own = left ? p->m : p->n - p->along_n;
    cg_layout l = {.tile_bits = (uint8_t)(x + blocks + p->batch), .warp_bits = (uint8_t)c->warp_bits};
    for (uint32_t i = 0; i < blocks; i++)
        l.reg[l.reg_bits++] = one << (k0 + i);
    if (after)
        l.reg[l.reg_bits++] = one << (x0 + (left ? 3 : n[0]));
    for (uint32_t i = left ? 4 + p->along_m : 3; i < own; i++)
        l.reg[l.reg_bits++] = one << (x0 + (!left && i == 3 ? n[3] : i));
    for (uint32_t i = 0; i < p->batch; i++)
        l.reg[l.reg_bits++] = one << (x + blocks + i);
    if (left && !after)
        l.lane[0] = one << (x0 + 3);
    if (!left && after) {
        l.lane[0] = one << n[1];
        l.lane[1] = one << n[2];
    }
    for (uint32_t i = 0; i < 3 && (left || !after); i++)
        l.lane[2 + i] = one << (x0 + (left ? i : n[i]));
    for (uint32_t i = 0; left && i < p->along_m; i++)
        l.warp[i] = one << (x0 + 4 + i);
    for (uint32_t i = 0; !left && i < p->along_n; i++)
        l.warp[p->along_m + i] = one << (own + i);
    return l;
}

/* Are the registers of `run` consecutive along the index from bit `from` on? */
static bool runs_from(const cg_layout *run, uint32_t from, uint32_t most)
{
    bool along = run->reg_bits <= most;
    for (uint32_t i = 0; i < run->reg_bits; i++)
        along = along && run->reg[i] == (uint32_t)1 << (from + i);
    return along;
}

/* The feed for 16-bit elements. */
static cg_feed halves_feed(const cg_product *p, uint32_t index, bool along_k)
{
    if (p->instruction != CG_BY_REORDERED_MMA || !index)
        return CG_FEED_ROWS;
    return along_k ? CG_FEED_VECTORS : CG_NO_FEED;
}

/* tcgen05 reads tf32 and packed elements only with K contiguous, in these encodings. */
static cg_feed tcgen05_feed(const cg_product *p, bool left, bool along_k)
{
    return along_k || cg_tcgen05_reads_across(p, left) ? CG_FEED_ROWS : CG_NO_FEED;
}

/* The feed for bytes and tf32: pairs of rows or columns where takes_pairs or takes_row_pairs will decide so. */
static cg_feed other_feed(const cg_product *p, uint32_t index, bool along_k, bool along_last)
{
    if (p->atom.element_bits == 2 && index && p->n >= 4 && along_last)
        return along_k || p->packed ? CG_NO_FEED : CG_FEED_PAIRS;
    if (!index && !along_k && may_take_row_pairs(p))
        return CG_FEED_PAIRS;
    return along_k ? CG_FEED_ROWS : CG_NO_FEED;
}

cg_feed cg_mma_feed(cg_func *c, const ct_op *op, uint32_t index, const cg_layout *run)
{
    enum { RIGHT = 1, LEFT_SCALES = 3 };
    if (!cg_is_product(op))
        return CG_NO_FEED;
    cg_product p = cg_product_of(c, op);
    if (index > RIGHT)
        return index >= LEFT_SCALES && p.instruction == CG_BY_TCGEN05 ? cg_scale_feed(&p, index == LEFT_SCALES)
                                                                      : CG_NO_FEED;
    uint32_t k = p.k + p.packed, last = index ? p.n : k, other = index ? k : p.m;
    bool along_last = runs_from(run, 0, last), along_other = runs_from(run, last, other);
    if (p.instruction == CG_BY_ELEMENT || (!along_last && !along_other))
        return CG_NO_FEED;
    bool along_k = index ? along_other : along_last;
    if (p.instruction == CG_BY_BLOCKS)
        return along_k ? CG_FEED_FOURTHS : CG_FEED_ONE;
    if (p.instruction == CG_BY_TCGEN05)
        return tcgen05_feed(&p, !index, along_k);
    if (cg_has_trait(&p, CG_TRANSPOSES) && (index || !along_k))
        return index ? cg_turned_feed(&p, along_k) : CG_FEED_ACROSS;
    if (p.in == BC_F64)
        return CG_FEED_ELEMENTS;
    if (op->way == CT_DIRECT && !along_k && bc_elem_kind(cg_source_of(op->operands[index])->type) == BC_F32)
        return CG_FEED_ACROSS; /* producers transpose what they round */
    if (p.in == BC_TF32 && p.instruction == CG_BY_MMA && !along_k)
        return CG_FEED_ELEMENTS;
    if (p.atom.element_bits == 1)
        return halves_feed(&p, index, along_k);
    return other_feed(&p, index, along_k, along_last);
}

cg_feed cg_scratch_feed(const cg_product *p, bool left, bool along_last)
{
    if (p->instruction == CG_BY_BLOCKS)
        return along_last == left ? CG_FEED_FOURTHS : CG_FEED_ONE;
    if (p->in == BC_F64)
        return CG_FEED_ELEMENTS;
    if (p->instruction == CG_BY_REORDERED_MMA)
        return CG_FEED_VECTORS;
    return (left ? p->row_pairs : p->pairs) ? CG_FEED_PAIRS : CG_FEED_ROWS;
}

cg_encoding cg_regular_encoding(const cg_product *p, bool left, bool across)
{
    uint32_t rows = left ? p->m : p->k, columns = left ? p->k : p->n;
    bool flipped = across == left;
    cg_encoding s = cg_encoding_new(flipped ? columns : rows, flipped ? rows : columns, p->batch,
                                    cg_memory_bytes(p->in), CG_FEED_ROWS);
    s.flipped = flipped;
    return s;
}

bool cg_async_reads(const cg_product *p, bool left, bool across, const cg_encoding *encoding)
{
    cg_encoding regular = cg_regular_encoding(p, left, across);
    cg_layout index = {.tile_bits = (uint8_t)(p->k + (left ? p->m : p->n) + p->batch)};
    if (index.tile_bits > CG_MAX_REG_BITS || regular.panel <= regular.chunk)
        return false;
    for (uint32_t b = 0; b < index.tile_bits; b++)
        index.reg[index.reg_bits++] = (uint32_t)1 << b;
    cg_layout wanted = cg_encoding_layout(&regular, &index), elements = cg_from_bytes(p, left, &index),
              source = cg_source_layout(left ? p->lhs : p->rhs, &elements);
    cg_layout is = encoding ? cg_encoding_layout(encoding, &source) : wanted;
    return memcmp(wanted.reg, is.reg, index.reg_bits * sizeof *is.reg) == 0;
}
