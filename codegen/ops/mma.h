/* Matrix products as lowered: what their ways (codegen/ops/mma.c with instructions, mma_scaled.c with scales,
 * mma_blocks.c and mma_plain.c without, wgmma.c, mma_turned.c) share. */
#ifndef TILEVM_CODEGEN_OPS_MMA_H
#define TILEVM_CODEGEN_OPS_MMA_H

#include "codegen/analysis/product.h"
#include "codegen/analysis/ring.h"

/* Where fragments of an operand come from. */
typedef enum cg_operand_source {
    CG_FROM_SCRATCH,   /* shared memory, to which the product brings it */
    CG_FROM_RING,      /* shared memory, to which a pipelined load has brought it */
    CG_FROM_REGISTERS, /* where it is as fragments */
} cg_operand_source;

typedef struct cg_operand {
    bool left;
    const ct_value *v;
    const cg_layout *read; /* the layout in which it is there, unless it lies in a ring */
    cg_operand_source source;
    cg_encoding encoding;    /* in shared memory; in scratch, of a part of K */
    cg_val base;             /* as lowered: where that lies, */
    const cg_val *fragments; /* or the registers */
    uint32_t k;              /* bits of K that the encoding or the fragments have */
    bool across;             /* rows of the encoding are what K counts: by ldmatrix.trans */
    cg_layout lanes; /* places in the encoding: where each lane of an ldmatrix.x4 points, or what a blocked product
                        reads: registers along K, then the thread's rows or columns */
} cg_operand;

/* What products that are computed together multiply: each operand once. */
typedef struct cg_pair {
    uint32_t left, right;
} cg_pair;
typedef struct cg_factors {
    cg_operand operands[2 * CG_MOST_TOGETHER]; /* of a product alone: A, B */
    uint32_t count, parts;                     /* of operands; log2 of the parts along K in which they go to scratch */
    cg_pair of[CG_MOST_TOGETHER];              /* by product */
} cg_factors;

/* ---- fragments (codegen/ops/mma_fragments.c) ---- */

/* Four registers of fragments of a left operand that is in registers: step `part` counts k, then rows. */
void cg_pack_fragments(cg_func *c, const cg_product *p, const cg_operand *o, uint32_t part, cg_val *out);
/* sum + part, in f32. */
cg_val cg_add_up(cg_func *c, cg_val sum, cg_val part);
/* d += a * b by p->atom: four, two and four registers. */
void cg_multiply_fragments(cg_func *c, const cg_product *p, const cg_val *a, const cg_val *b, cg_val *d);
/* Four registers of A; twice as many when f8 is widened, and when blocks alternate; four times as many when f4 is. */
void cg_take_left(cg_func *c, const cg_product *p, const cg_operand *o, uint32_t part, cg_val *out);
/* Two registers of B for the first 8 columns, two for the next; all again when widened, three times again when f4 is.
 */
void cg_take_right(cg_func *c, const cg_product *p, const cg_operand *o, uint32_t part, cg_val *out);

/* ---- the right operand of reordered products (codegen/ops/mma_reordered.c) ---- */

/* Where each lane reads its vectors, in the operand's index; registers: steps along K, pairs of eight columns, which of
   the two. */
cg_layout cg_vector_lanes(const cg_func *c, const cg_product *p);
/* As cg_take_right gives them: of step `part`, an even one, four registers, and four of the step behind it. */
void cg_take_vectors(cg_func *c, const cg_operand *o, uint32_t part, cg_val *out);

/* ---- steps (codegen/ops/mma_steps.c) ---- */

/* What the product's sums begin with, in the order of registers; NULL: no memory. And its result, from them. */
cg_val *cg_begin_sums(cg_func *c, const cg_product *p);
void cg_end_sums(cg_func *c, const cg_product *p, cg_val *acc);

/* Reports the instruction of mma.sync. */
void cg_remark_mma(cg_func *c, const ct_op *op, const cg_product *p);
/* To the sums of p and of those that are computed with it, in the order of registers: `count` steps along K, the first
   with number `first`. */
void cg_multiply_steps(cg_func *c, const cg_product *p, const cg_factors *f, uint32_t first, uint32_t count,
                       cg_val *const *sums);

/* ---- scales (codegen/ops/mma_scaled.c) ---- */

/* What lowering keeps of a product with scales; of A, of B: */
typedef struct cg_scales {
    const cg_val *words[2]; /* words of up to four, or single ones; registers: along K, rows or columns, batches */
    cg_val *factors[2];     /* single ones as f32, once they are made */
    cg_val odd_blocks;      /* all bits in lanes whose elements of A are in odd blocks, else none */
} cg_scales;
/* The scales of A (side 0) or B (side 1) to p->scales. */
void cg_take_scales(cg_func *c, const ct_op *op, const cg_product *p, uint32_t side);
/* d += a * b, with the scales of that step along K, and the instruction's rows and columns of that number. a and b as
   they are for all blocks of the step: groups of four registers, of A for even blocks and then for odd ones where they
   alternate; of those, where scales come after, of the first two instructions for one half of K, then of the next two.
 */
typedef struct cg_scale_at {
    uint32_t row, column, step;
} cg_scale_at;
void cg_multiply_scaled(cg_func *c, const cg_product *p, const cg_val *a, const cg_val *b, const cg_scale_at *at,
                        cg_val *d);
/* Of products whose blocks alternate: the odd_blocks. */
cg_val cg_odd_blocks(cg_func *c);

/* The bytes of registers of an operand whose elements are packed, in a layout in which every thread has whole ones. */
const cg_val *cg_pack_bytes(cg_func *c, const cg_product *p, bool left, const cg_layout *l, const cg_val *regs);

/* ---- wgmma (codegen/ops/wgmma.c) ---- */

/* May the operands be read by wgmma? In a ring they may lie in pieces for which it has no description. */
bool cg_can_multiply_async(const cg_product *p, const cg_operand *operands);
/* The product by wgmma: acc holds the accumulator, then the result. */
void cg_multiply_async(cg_func *c, const ct_op *op, const cg_product *p, const cg_operand *operands, cg_val *acc);
/* Its shape, with 2^n columns, and types; turned: those of B come first. NULL: no memory. */
const char *cg_wgmma_name(cg_func *c, const ct_op *op, const cg_product *p, uint32_t n, bool turned);
/* The descriptor of the first instruction's operand in an encoding; across: its rows are what K counts. */
cg_val cg_wgmma_descriptor(cg_func *c, const cg_encoding *s, cg_val base, bool across, const cg_layout *steps);
/* Waits for what was started, `count` sums in `parts`, and adds them to acc (p->adds_up). */
void cg_wgmma_add_up(cg_func *c, const cg_val *parts, uint32_t count, cg_val *acc);
/* The registers that it adds to, from those of the accumulator; *out_from_zero: the first products are to write them.
   NULL: no memory. */
cg_val *cg_wgmma_sums(cg_func *c, const ct_op *op, const cg_val *acc, uint32_t count, bool *out_from_zero);

/* ---- transposed (codegen/ops/mma_turned.c) ---- */

/* The product, whose operands are in a ring between groups: acc holds the accumulator, then the result. */
void cg_multiply_turned(cg_func *c, const ct_op *op, const cg_product *p, cg_val *acc);
/* Of a ring with such a product in flight: loads what it begins with in the slot that is read next. */
void cg_turned_begin(cg_func *c, cg_ring *ring);

/* ---- in blocks of registers (codegen/ops/mma_blocks.c) ---- */

/* Sums, which begin at +0 with f32, as constants, and with the accumulator with f64; and p's result, from them. */
cg_val *cg_block_sums(cg_func *c, const cg_product *p);
void cg_end_block_sums(cg_func *c, const cg_product *p, cg_val *sums);
/* Adds to the sums of p, and of those that are computed with it, the products of their operands over one part of K, of
   the 2^f->parts that there are. What lies in scratch is that part alone; what lies in a ring is all of K. */
void cg_multiply_blocks(cg_func *c, const cg_product *p, const cg_factors *f, uint32_t part, cg_val *const *sums);

/* ---- without an instruction (codegen/ops/mma_plain.c) ---- */

/* The layout of the result of a product without an instruction. */
cg_layout cg_plain_layout(const cg_func *c, const cg_product *p);
/* Such a product: acc holds the accumulator in that layout, then the result. read: the layouts in which its operands
   are wanted: lhs, rhs, scales of lhs and rhs. */
void cg_multiply_plain(cg_func *c, const ct_op *op, const cg_product *p, const cg_layout *read, cg_val *acc);
/* Its effects. */
void cg_effects_plain(cg_func *c, ct_op *op, const cg_product *p);

#endif
