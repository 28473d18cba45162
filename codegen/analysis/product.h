/* Matrix products: what they multiply, with which instruction, and how their operands and results lie over threads.
   Emits nothing. */
#ifndef TILEVM_CODEGEN_ANALYSIS_PRODUCT_H
#define TILEVM_CODEGEN_ANALYSIS_PRODUCT_H

#include "codegen/analysis/encoding.h"

enum { CG_ATOM_ROW_BITS = 4 };                        /* log2 of the rows that mma.sync multiplies */
enum { CG_WARPGROUP_BITS = 2, CG_PTX_OF_MIXED = 84 }; /* log2 of its warps; wgmma of integers of which one is signed */
/* log2 of the elements of K that a blocked product takes at a time */
enum { CG_BLOCK_K_BITS = 2 };
/* log2 of the elements along K and the columns that wgmma sums up where a product adds up */
enum { CG_ADD_UP_K_BITS = 7, CG_ADD_UP_N_BITS = 7 };

/* One mma instruction: M is 16 rows, N 8 columns. */
typedef struct cg_atom {
    const char *text;      /* after mma.sync.aligned. */
    uint32_t k_bits;       /* log2 of its K */
    uint32_t element_bits; /* log2 of the elements in a register, which has 64 bits for f64, else 32 */
    bool half_accumulator; /* f16 accumulators: two in a register */
    const char *
        widened; /* its 8- or 4-bit floats, of this PTX type, go as f16 to two or four instructions; NULL: they don't */
} cg_atom;

/* What computes a product. */
typedef enum cg_instruction {
    CG_BY_ELEMENT,       /* fma: each element by itself (codegen/ops/mma_plain.c) */
    CG_BY_BLOCKS,        /* fma: each thread has a block of rows and columns in registers (codegen/ops/mma_blocks.c) */
    CG_BY_MMA,           /* mma.sync; what is below has tensor cores, too */
    CG_BY_REORDERED_MMA, /* mma.sync, whose fragments of A are what threads have (codegen/analysis/reordered.h) */
    CG_BY_WGMMA,         /* wgmma, with four warps to 64 rows, where it can read the operands; else mma.sync */
    CG_BY_TURNED_WGMMA,  /* wgmma, transposed (codegen/ops/mma_turned.c) */
} cg_instruction;

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

/* Products that share operands: the first one, before the others in its block, computes all of them. */
enum { CG_MOST_TOGETHER = 4 };
typedef struct cg_together {
    const ct_op *ops[CG_MOST_TOGETHER];
    uint32_t count;
} cg_together;

/* M, N, K and the batch as bits of the index. */
typedef struct cg_product {
    uint32_t m, n, k, batch;     /* bits; k of bytes where elements are packed */
    bc_kind in, acc, scale_kind; /* of scales, when scaled */
    const ct_value *lhs, *rhs, *c, *result;
    bool scaled;               /* every block of K of a row of A and of a column of B has a scale */
    const cg_scaling *scaling; /* by the atom; NULL: it does not */
    uint32_t packed; /* 1: two elements that follow each other along K are a byte of A and B for the atom; else 0 */
    cg_instruction instruction;
    cg_atom atom;                /* of tensor cores; of blocks, its k_bits */
    bool quarters;               /* the atom is four instructions, of 8 rows and half of its K each */
    bool chained;                /* its left operand comes from another product, or its result goes to one */
    bool pairs;                  /* bytes of B come by pairs of columns */
    const cg_together *together; /* with which others; NULL: layouts are not known yet, or by itself */
    uint8_t k_bit[CG_MAX_TILE_BITS],
        m_bit[CG_MAX_TILE_BITS]; /* reordered: bits of K and M, in the instruction's order */
    bool adds_up;                /* the instruction's sums start from zero and are added in f32, which has more bits */
    uint32_t along_m, along_n;   /* log2 of the warps that share M, N */
    struct cg_scales *scales;    /* as lowered: codegen/ops/mma.h; NULL until then */
} cg_product;

static inline bool cg_has_atom(const cg_product *p)
{
    return p->instruction >= CG_BY_MMA;
}

/* The detail of a product that multiplies part `number` of 2^bits parts of K, which alone lies in the ring. */
typedef struct cg_k_part {
    uint32_t number, bits;
} cg_k_part;

/* The detail of an mma_await: how many products that were started later may go on. */
typedef struct cg_pending {
    uint32_t others;
} cg_pending;

/* log2 of the instructions that it takes below each other. Where the rows are fewer than an instruction's, lanes have
   the same ones again, and registers the first eight alone. */
static inline uint32_t cg_rows_of_atoms(const cg_product *p)
{
    return p->m > CG_ATOM_ROW_BITS ? p->m - CG_ATOM_ROW_BITS : 0;
}
/* Is the op a matrix product? NULL is not. */
bool cg_is_product(const ct_op *op);
/* Is there one in the block, or in what it contains? */
bool cg_has_products(const ct_block *block);
/* The first one that stands in the block itself; NULL: there is none. */
ct_op *cg_product_in(const ct_block *block);
/* The only one in the block and in what it contains, if it stands in the block itself; else NULL. */
ct_op *cg_only_product(const ct_block *block);
/* The product of the largest tile; NULL: there is none. */
const ct_op *cg_largest_product(const ct_func *f);
/* What the op multiplies. */
cg_product cg_product_of(const cg_func *c, const ct_op *op);
/* Has shared memory room for a step of both operands along K? Where it has not, A is kept as fragments. */
bool cg_step_fits(const cg_func *c, const cg_product *p);
/* What made v: of a product that was awaited, the product. */
const ct_op *cg_maker_of(const ct_value *v);
/* The product that the left operand of a product is computed from, element by element; NULL: none was found. */
const ct_op *cg_product_before(const ct_op *op);
/* Is v a load, or seen as part of one, that only products take? It needs no registers. */
bool cg_is_loaded_operand(const ct_value *v);
/* The most bits of K that may number parts of a product with an instruction; 0: none, or without. *out_k: all bits of
   K. */
uint32_t cg_mma_part_bits(const cg_func *c, const ct_op *op, uint32_t *out_k);
/* Does wgmma multiply such elements of 8 bits, or tf32? */
bool cg_wgmma_takes(const cg_func *c, const ct_op *op, const cg_product *p);
/* Has the product, in one batch, the rows and columns of its instruction? */
static inline bool cg_wgmma_fits(const cg_product *p)
{
    return !p->batch && p->m >= 6 && p->n >= 4;
}
/* Would the instruction of the target keep less of the product's sums than their type does, and may it not? Source:
   memory reference, section 7.1 (`fast_acc`). */
bool cg_cuts_sums(const cg_func *c, const ct_op *op);
/* Of a product that adds up, of 2^step_bits instructions along K: how many of them come to one sum. */
static inline uint32_t cg_steps_added_up(const cg_product *p, uint32_t step_bits)
{
    uint32_t most = CG_ADD_UP_K_BITS - p->atom.k_bits;
    return (uint32_t)1 << (step_bits < most ? step_bits : most);
}
/* Of integers, one signed. */
bool cg_is_mixed_product(const ct_op *op);

/* Are both the same tile, whichever ops show it so? */
bool cg_is_same_operand(const ct_value *a, const ct_value *b);
/* Have two products, whose results are of one type, an operand in common? */
bool cg_shares_operand(const ct_op *a, const ct_op *b);
/* The products that `first` computes, itself at least (codegen/analysis/product_together.c). NULL: no memory, which is
   reported. */
cg_together *cg_find_together(cg_func *c, const ct_op *first);

/* May others be computed with the op? Not every op is a product. */
bool cg_may_join(const cg_func *c, const ct_op *op);
/* What only shows operands of such products otherwise comes right behind what it shows, so that it is there for the
   first of them. */
void cg_raise_operands(cg_func *c);

/* ---- layouts (codegen/analysis/product_layout.c) ---- */

/* Do elements of the last dimension, of `bits`, follow each other sooner than those of the one before it? */
bool cg_runs_along_last(const cg_layout *l, uint32_t bits);
/* The product with all that the layouts of its operands decide. rhs: in which B is read. */
void cg_settle_product(const cg_func *c, cg_product *p, const cg_layout *rhs);
/* Accumulators: the fragment, then the further columns, rows and batches of the warp. */
cg_layout cg_accumulator_layout(const cg_func *c, const cg_product *p);
/* The same of a blocked product. */
cg_layout cg_block_layout(const cg_func *c, const cg_product *p);
/* A layout of the result as one of the rows of A, or columns of B, that its elements need, at the first of 2^k. */
cg_layout cg_lines_layout(const cg_product *p, bool left, uint32_t k, const cg_layout *l);
/* A of 16-bit elements as fragments: two elements to a register of the instruction, of which there are four. */
cg_layout cg_fragment_layout(const cg_func *c, const cg_product *p);
/* The layout in which scales of A (left) or B are wanted. */
cg_layout cg_scale_layout(const cg_func *c, const cg_product *p, bool left);
/* The layout of the accumulator of a product by wgmma, whatever its operands are; false: the op is none. */
bool cg_mma_accumulator_layout(const cg_func *c, const ct_op *op, cg_layout *out);
/* Is the op such a product? */
bool cg_mma_is_async(const cg_func *c, const ct_op *op);

/* How the op reads its operand `index` from an encoding, when the registers of `run` are the elements of a 16-byte
   chunk there. CG_NO_FEED: it does not. */
cg_feed cg_mma_feed(cg_func *c, const ct_op *op, uint32_t index, const cg_layout *run);

/* How the product reads an operand of its own encoding, whose last dimension is contiguous there or not. */
cg_feed cg_scratch_feed(const cg_product *p, bool left, bool along_last);

/* log2 of the warps that a function wants whose products hand their results to other products in registers; 0: it has
   none. */
uint32_t cg_mma_chain_warps(const ct_func *f);
/* What the operand's encoding would be if it were made for it alone. */
cg_encoding cg_regular_encoding(const cg_product *p, bool left, bool across);
/* Does wgmma read the operand where it lies so in the encoding? across: rows are what K counts. NULL: in one that is
   made for it. */
bool cg_wgmma_reads(const cg_product *p, bool left, bool across, const cg_encoding *encoding);

#endif
