/* Matrix products: what their ways (codegen/op_mma.c with instructions, op_mma_scaled.c with scales, op_mma_plain.c
   without) share, and what other parts ask about them. */
#ifndef TILEVM_CODEGEN_MMA_H
#define TILEVM_CODEGEN_MMA_H

#include "codegen/stage.h"

/* One mma instruction: M is 16 rows, N 8 columns. */
typedef struct cg_atom {
    const char *text;      /* after mma.sync.aligned. */
    uint32_t k_bits;       /* log2 of its K */
    uint32_t element_bits; /* log2 of the elements in a 32-bit register */
    bool half_accumulator; /* f16 accumulators: two in a register */
    const char *
        widened; /* its 8- or 4-bit floats, of this PTX type, go as f16 to two or four instructions; NULL: they don't */
} cg_atom;

/* How blocks of K are scaled. */
typedef struct cg_scaling {
    uint8_t in, scale;  /* bc_kind; of scales, unless `after` */
    uint8_t block;      /* log2 of the elements that have a scale */
    uint8_t packed;     /* 1: elements lie two to a byte, and bytes are what the atom's sizes count; else 0 */
    uint8_t scale_bits; /* log2 of the blocks in the atom's K */
    uint8_t alternate;  /* 1: the instruction runs for even blocks, and again for odd ones; else 0 */
    bool after;         /* not by the instruction: it gives sums of blocks, which are scaled and added up */
    cg_atom atom;
} cg_scaling;

/* M, N, K and the batch as bits of the index. */
typedef struct cg_product {
    uint32_t m, n, k, batch;     /* bits; k of bytes where elements are packed */
    bc_kind in, acc, scale_kind; /* of scales, when scaled */
    const ct_value *lhs, *rhs, *c, *result;
    bool scaled;               /* every block of K of a row of A and of a column of B has a scale */
    const cg_scaling *scaling; /* by the atom; NULL: it does not */
    uint32_t packed; /* 1: two elements that follow each other along K are a byte of A and B for the atom; else 0 */
    bool has_atom;
    cg_atom atom;
    bool chained;              /* its left operand comes from another product, or its result goes to one */
    bool pairs;                /* bytes of B come by pairs of columns */
    bool async;                /* wgmma fits: four warps to 64 rows */
    bool turned;               /* so it does, transposed (codegen/op_mma_turned.c) */
    uint32_t along_m, along_n; /* log2 of the warps that share M, N */
    const cg_val
        *scales[2]; /* of A, of B: as words of up to four, or single; registers: along K, rows or columns, batches */
    cg_val *factors[2]; /* single ones as f32, once they are made */
    cg_val odd_blocks;  /* all bits in lanes whose elements of A are in odd blocks, else none */
} cg_product;

/* The detail of a product that multiplies part `number` of 2^bits parts of K, which alone lies in the ring. */
typedef struct cg_k_part {
    uint32_t number, bits;
} cg_k_part;

/* The detail of an mma_await: how many products that were started later may go on. */
typedef struct cg_pending {
    uint32_t others;
} cg_pending;

/* Where fragments of an operand come from. */
typedef struct cg_operand {
    bool left;
    const ct_value *v;
    const cg_layout *read;   /* the layout in which it is there, unless it lies in a ring */
    const cg_val *fragments; /* in registers, as fragments; else */
    bool in_ring;            /* a pipelined load has put it into shared memory; else it goes to `stage` there */
    cg_stage stage;          /* of a part of K, unless in_ring */
    uint32_t k;              /* bits of K that the stage or the fragments have */
    bool across;             /* rows of the stage are what K counts: by ldmatrix.trans */
    cg_layout lanes;         /* where each lane of an ldmatrix.x4 points, as places in the stage */
} cg_operand;

/* The bits of N that are an instruction's columns, then the one that tells it from the next instruction. */
const uint8_t *cg_column_bits(const cg_product *p);

/* ---- codegen/op_mma_scaled.c ---- */

/* How the target scales the product, whose k counts elements; NULL: it does not. */
const cg_scaling *cg_find_scaling(const cg_func *c, const ct_op *op, const cg_product *p);
/* The layout in which scales of A (left, side 0) or B (side 1) are wanted; and they, to p->scales. */
cg_layout cg_scale_layout(const cg_func *c, const cg_product *p, bool left);
void cg_take_scales(cg_func *c, const ct_op *op, cg_product *p, uint32_t side);
/* d += a * b, with the scales of that step along K, and the instruction's rows and columns of that number. a and b as
   they are for all blocks of the step: groups of four registers, of A for even blocks and then for odd ones where they
   alternate; of those, where scales come after, of the first two instructions for one half of K, then of the next two.
 */
typedef struct cg_scale_at {
    uint32_t row, column, step;
} cg_scale_at;
void cg_multiply_scaled(cg_func *c, const cg_product *p, const cg_val *a, const cg_val *b, const cg_scale_at *at,
                        cg_val *d);
/* A fragment of A in a[0..3] as one of its even blocks there and one of its odd ones in a[4..7], given p->odd_blocks.
 */
cg_val cg_odd_blocks(cg_func *c);
void cg_split_blocks(cg_func *c, const cg_product *p, cg_val *a);

/* Of an operand whose elements are packed; of any other nothing changes. A layout in which every thread has whole
   bytes; such a layout as one of bytes, and the bytes of registers in it; a layout of bytes as one of their lower
   halves. */
cg_layout cg_with_halves(const cg_product *p, bool left, const cg_layout *l);
cg_layout cg_as_bytes(const cg_product *p, bool left, const cg_layout *l);
const cg_val *cg_pack_bytes(cg_func *c, const cg_product *p, bool left, const cg_layout *l, const cg_val *regs);
cg_layout cg_from_bytes(const cg_product *p, bool left, const cg_layout *l);

/* Four words of a fragment of f4 as f16: four groups of four registers, two for each half of K. */
void cg_widen_halves(cg_func *c, bool left, const cg_val *words, cg_val *out);

/* ---- codegen/op_mma.c ---- */

/* d += a * b by p->atom: four, two and four registers. */
void cg_multiply_fragments(cg_func *c, const cg_product *p, const cg_val *a, const cg_val *b, cg_val *d);

/* The product that the left operand of a product is computed from, element by element; NULL: none was found. */
const ct_op *cg_product_before(const ct_op *op);

/* Is v a load, or seen as part of one, that only products take? It needs no registers. */
bool cg_is_loaded_operand(const ct_value *v);

/* Is the op a matrix product? NULL is not. */
bool cg_is_product(const ct_op *op);

/* Four registers of fragments of a left operand that is in registers: step `part` counts k, then rows. */
void cg_pack_fragments(cg_func *c, const cg_operand *o, uint32_t part, cg_val *out);

/* May the operands be read by wgmma? In a ring they may lie in pieces for which it has no description. */
bool cg_can_multiply_async(cg_func *c, const cg_product *p, const cg_operand *operands);
/* The product by wgmma: acc holds the accumulator, then the result. */
void cg_multiply_async(cg_func *c, const ct_op *op, const cg_product *p, const cg_operand *operands, cg_val *acc);
/* Does wgmma multiply such elements of 8 bits, or tf32? */
bool cg_wgmma_takes(const cg_func *c, const ct_op *op, const cg_product *p);
/* Its shape, with 2^n columns, and types; turned: those of B come first. NULL: no memory. */
const char *cg_wgmma_name(cg_func *c, const ct_op *op, const cg_product *p, uint32_t n, bool turned);
/* Does the operand, whose rows lie along K, lie in the stage as it reads it? */
bool cg_wgmma_reads(const cg_product *p, bool left, const cg_stage *stage);
/* The descriptor of the first instruction's operand in a stage; across: its rows are what K counts. */
cg_val cg_wgmma_descriptor(cg_func *c, const cg_stage *s, bool across, const cg_layout *steps);
/* The registers that it adds to, from those of the accumulator; *out_from_zero: the first products are to write them.
   NULL: no memory. */
cg_val *cg_wgmma_sums(cg_func *c, const ct_op *op, const cg_val *acc, uint32_t count, bool *out_from_zero);

/* ---- codegen/op_mma_turned.c ---- */

struct cg_ring;
/* May the product be computed transposed, by what it multiplies? */
bool cg_may_turn(const cg_func *c, const ct_op *op, const cg_product *p);
/* How it reads B, of which K is contiguous, or N. */
cg_feed cg_turned_feed(const cg_product *p, bool along_k);
/* The layout of its result. */
cg_layout cg_turned_layout(const cg_func *c, const cg_product *p);
/* The product, whose operands are in a ring between groups: acc holds the accumulator, then the result. */
void cg_multiply_turned(cg_func *c, const ct_op *op, const cg_product *p, cg_val *acc);
/* Of a ring with such a product in flight: loads what it begins with in the slot that is read next. */
void cg_turned_begin(cg_func *c, struct cg_ring *ring);

/* ---- codegen/turn.c ---- */

/* The product is to be turned, with the roundings of f32 to tf32 in front of it, or not. */
void cg_set_turned(ct_op *product, bool turned);
/* One that stands in the block; NULL: none. */
ct_op *cg_turned_product(const ct_block *body);
/* It takes what those roundings have taken, and they go. */
void cg_take_roundings(ct_op *product);
/* Does the load's tile go through registers, to be rounded? */
bool cg_is_put(const ct_op *product, const ct_op *load);
/* Is the op a load that only a put takes? */
bool cg_is_for_put(const ct_op *op);

/* ---- codegen/op_mma.c ---- */

/* What the op multiplies. */
cg_product cg_product_of(const cg_func *c, const ct_op *op);
/* The most bits of K that may number parts of a product with an instruction; 0: none, or without. *out_k: all bits of
   K. */
uint32_t cg_mma_part_bits(const cg_func *c, const ct_op *op, uint32_t *out_k);
/* The layout of the accumulator of a product by wgmma, whatever its operands are; false: the op is none. */
bool cg_mma_accumulator_layout(const cg_func *c, const ct_op *op, cg_layout *out);
/* Does the product find its operands in registers and rings, so that it needs no scratch? For the lower pass. */
bool cg_mma_spares_scratch(const cg_func *c, const ct_op *op);
/* Is the op such a product? */
bool cg_mma_is_async(const cg_func *c, const ct_op *op);

/* How the op reads its operand `index` from a stage, when the registers of `run` are the elements of a 16-byte chunk
   there. CG_NO_FEED: it does not. */
cg_feed cg_mma_feed(cg_func *c, const ct_op *op, uint32_t index, const cg_layout *run);

/* log2 of the warps that a function wants whose products hand their results to other products in registers; 0: it has
   none. */
uint32_t cg_mma_chain_warps(const ct_func *f);

/* The layout of the result of a product without an instruction. */
cg_layout cg_plain_layout(const cg_func *c, const cg_product *p);
/* Such a product: acc holds the accumulator in that layout, then the result. read: the layouts in which its operands
   are wanted: lhs, rhs, scales of lhs and rhs. */
void cg_multiply_plain(cg_func *c, const ct_op *op, const cg_product *p, const cg_layout *read, cg_val *acc);

#endif
