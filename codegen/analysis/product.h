/* Matrix products: their operands, their instruction, and the layouts of operands and results. Nothing here emits
   code. */
#ifndef TILEVM_CODEGEN_ANALYSIS_PRODUCT_H
#define TILEVM_CODEGEN_ANALYSIS_PRODUCT_H

#include "codegen/analysis/encoding.h"

enum { CG_ATOM_ROW_BITS = 4 }; /* log2 of the rows that mma.sync multiplies */
/* log2 of a warpgroup's warps; for asynchronous products of mixed signs */
enum { CG_WARPGROUP_BITS = 2, CG_PTX_OF_MIXED = 84 };
/* The most elements of sums that a warp of a chain has. With more, each warp has a part of the columns, and rows are
   spread over several warps. */
enum { CG_SUMS_OF_A_WARP = 192 << CG_LANE_BITS };
/* log2 of the elements of K that a blocked product takes at a time; of the fewest elements that a thread has of it */
enum { CG_BLOCK_K_BITS = 2, CG_BLOCK_LEAST_BITS = 2 };
/* log2 of the elements along K and the columns that an asynchronous product sums up where it adds up */
enum { CG_ADD_UP_K_BITS = 7, CG_ADD_UP_N_BITS = 7 };

/* One mma instruction: M is 16 rows, N 8 columns. */
typedef struct cg_atom {
    const char *text;      /* after mma.sync.aligned. */
    uint32_t k_bits;       /* log2 of its K */
    uint32_t element_bits; /* log2 of the elements in a register, which has 64 bits for f64, else 32 */
    bool half_accumulator; /* f16 accumulators: two in a register */
    const char
        *widened; /* the PTX type of 8- or 4-bit floats that are widened to f16 for two or four instructions; NULL: no
                    widening */
} cg_atom;

/* What computes a product (codegen/analysis/instructions.def). */
typedef enum cg_instruction {
#define INSTRUCTION(name, text, rows, columns, warps, align, traits) CG_BY_##name,
#include "codegen/analysis/instructions.def"
    CG_INSTRUCTIONS
} cg_instruction;

/* What the code around a product must know of its instruction. */
typedef enum cg_trait {
    CG_WITH_ATOM = 1,    /* it is one of tensor cores */
    CG_ASYNCHRONOUS = 2, /* it goes on while its threads do other work, which must wait for its result; it reads shared
                            memory by itself, where writes of threads are visible after a fence */
    CG_READS_PLACED = 4, /* it can read both operands where copies have put them */
    CG_TRANSPOSES = 8,   /* it computes the transposed product, with fragments of B in registers */
    CG_ALONG_ROWS = 16,  /* warps share the rows before they share the columns */
    CG_IN_TENSOR = 32,   /* its sums are in tensor memory (codegen/analysis/tensor.h) */
} cg_trait;

typedef struct cg_traits {
    const char *text;
    uint32_t rows, columns, warps, align;
    unsigned traits;
} cg_traits;

/* How blocks of K are scaled. */
typedef struct cg_scaling {
    uint8_t in, scale;  /* bc_kind; `scale`: the kind of the scales, unless `after` */
    uint8_t block;      /* log2 of the elements that have a scale */
    uint8_t packed;     /* 1: a byte holds two elements, and the atom's sizes count bytes; otherwise 0 */
    uint8_t scale_bits; /* log2 of the blocks in the atom's K */
    uint8_t alternate;  /* 1: the instruction is executed for even blocks, and again for odd ones; otherwise 0 */
    bool after;         /* the instruction does not scale: it gives sums of blocks, which are then scaled and added */
    uint8_t ptx;        /* the PTX version that has it, if the target is in earlier ones, too; otherwise 0 */
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
    uint32_t m, n, k, batch;     /* bits; k counts bytes if elements are packed */
    bc_kind in, acc, scale_kind; /* scale_kind: of scales, if the product is scaled */
    const ct_value *lhs, *rhs, *c, *result;
    bool paired;               /* two thread blocks multiply together; n counts the columns of B that this one has, and
                                  the sum has twice as many (codegen/analysis/tcgen05.h) */
    bool scaled;               /* each block of K in a row of A or a column of B has a scale */
    const cg_scaling *scaling; /* how the atom scales; NULL: it does not */
    uint32_t packed;           /* 1: the atom reads two consecutive elements along K as a byte of A or B; otherwise 0 */
    cg_instruction instruction;
    cg_atom atom;                /* of tensor cores; for blocked products, only k_bits is set */
    bool halves_rows, halves_k;  /* the atom is two or four instructions, of half of its rows or of its K each */
    bool chained;                /* its left operand comes from another product, or its result goes to one */
    bool pairs, row_pairs;       /* bytes of B are read in pairs of columns; bytes of A in pairs of rows */
    const cg_together *together; /* the products computed together with it; NULL: layouts are not known yet, or there
                                    are none */
    uint8_t k_bit[CG_MAX_TILE_BITS],
        m_bit[CG_MAX_TILE_BITS]; /* reordered: bits of K and M, in the instruction's order */
    uint32_t falling;            /* log2 of the parts of K that are multiplied from the last one to the first */
    bool adds_up;                /* the instruction's sums start from zero and are added in f32, which has more bits */
    uint32_t along_m, along_n;   /* log2 of the warps that share M, N */
    uint32_t held;               /* ct_op.held */
    struct cg_scales *scales;    /* as lowered: codegen/ops/mma.h; NULL until then */
} cg_product;

const cg_traits *cg_traits_of(cg_instruction instruction);
/* Has the product's instruction the trait? */
static inline bool cg_has_trait(const cg_product *p, cg_trait trait)
{
    return cg_traits_of(p->instruction)->traits & trait;
}
static inline bool cg_has_atom(const cg_product *p)
{
    return cg_has_trait(p, CG_WITH_ATOM);
}

/* Can the product take its left operand as fragments from registers? Those of 16 bits lie in pairs, bytes in fours. */
static inline bool cg_takes_fragments(const cg_product *p)
{
    return p->atom.element_bits == 1 || (p->in == BC_TF32 && !p->scaled)
           || (p->atom.element_bits == 2 && p->instruction == CG_BY_WGMMA);
}

/* The detail of a product of K slice `number` of 2^bits; the ring holds only that slice. */
typedef struct cg_k_part {
    uint32_t number, bits;
} cg_k_part;

/* The detail of an mma_await: the number of later products that may still be in flight. */
typedef struct cg_pending {
    uint32_t others;
} cg_pending;

/* log2 of the columns of the sum. */
static inline uint32_t cg_sum_columns(const cg_product *p)
{
    return p->n + p->paired;
}

/* log2 of the instructions along M. If there are fewer rows than an instruction has, lanes hold replicas, and
   registers hold only the first eight rows. */
static inline uint32_t cg_rows_of_atoms(const cg_product *p)
{
    return p->m > CG_ATOM_ROW_BITS ? p->m - CG_ATOM_ROW_BITS : 0;
}
/* Is the op a matrix product? NULL is not. */
bool cg_is_product(const ct_op *op);
/* What the product is added to. Its op is NULL if a loop carries it. */
static inline const ct_value *cg_addend_of(const ct_op *product)
{
    enum { ACCUMULATOR = 2 };
    return product->operands[ACCUMULATOR];
}
/* The argument that the product's result becomes in the loop's next iteration. The product may write the registers of
   the argument, because nothing reads them once it has started. NULL: no loop carries the result, or something does. */
const ct_value *cg_carried_sum(const ct_op *product);
/* Does the product go on into the next iteration of its loop, until that stores its operands to scratch? */
bool cg_goes_on(const cg_func *c, const ct_op *product);
/* Is there a product in the block or in its regions? */
bool cg_has_products(const ct_block *block);
/* The first product directly in the block; NULL: there is none. */
ct_op *cg_product_in(const ct_block *block);
/* The only product in the block and its regions, if it is directly in the block; otherwise NULL. */
ct_op *cg_only_product(const ct_block *block);
/* The product with the largest result; NULL: there is none. */
const ct_op *cg_largest_product(const ct_func *f);
/* What the op multiplies. */
cg_product cg_product_of(const cg_func *c, const ct_op *op);
/* Does a step of both operands along K fit into shared memory? If not, A is kept as fragments. */
bool cg_step_fits(const cg_func *c, const cg_product *p);
/* The op that computes v; for an awaited product, the product itself, and if it runs ahead, that of the first
   iteration. */
const ct_op *cg_maker_of(const ct_value *v);
/* The product that the left operand of a product is computed from, element by element; NULL: none was found. */
const ct_op *cg_product_before(const ct_op *op);
/* Is v a load, or a view of one, that only products read? It then needs no registers. */
bool cg_is_loaded_operand(const ct_value *v);
/* The largest number of bits of K that may number the K slices of a product with an instruction; 0: there can be no
   slices, or the product has no instruction. *out_k: all bits of K. */
uint32_t cg_mma_part_bits(const cg_func *c, const ct_op *op, uint32_t *out_k);
/* Is it a product of 16-bit elements with fewer rows than wgmma has, but as many columns, so that the instruction
   computes the transposed product (codegen/passes/flip.c)? */
bool cg_has_few_rows(const ct_op *product);
/* Can an asynchronous instruction multiply these 8-bit elements or tf32? */
bool cg_async_takes(const cg_func *c, const ct_op *op, const cg_product *p);
/* Does the product have a single batch, and enough rows and columns for such an instruction? */
bool cg_async_fits(const cg_product *p);
/* Is it a product of 8-bit floats without scales? */
bool cg_multiplies_bytes(const ct_op *op);
/* Would the target's instruction keep fewer bits of the product's sums than their type has, although the product
   does not allow that? Not where a single sum that starts at zero is as short as those that are added up. Source:
   memory reference, section 7.1 (`fast_acc`). */
bool cg_cuts_sums(const cg_func *c, const ct_op *op);
/* The step along K that is multiplied as the one with that number, of 2^bits. */
static inline uint32_t cg_step_in_order(const cg_product *p, uint32_t number, uint32_t bits)
{
    return number ^ (((1u << p->falling) - 1) << (bits - p->falling));
}
/* For a product whose sums are added in f32, with 2^step_bits instructions along K: the number of instructions per
   sum. */
static inline uint32_t cg_steps_added_up(const cg_product *p, uint32_t step_bits)
{
    uint32_t most = CG_ADD_UP_K_BITS - p->atom.k_bits;
    return (uint32_t)1 << (step_bits < most ? step_bits : most);
}
/* Is it a product of integers of which one is signed? */
bool cg_is_mixed_product(const ct_op *op);

/* Are both the same tile, possibly through different views? */
bool cg_is_same_operand(const ct_value *a, const ct_value *b);
/* Do two products whose results have the same type share an operand? */
bool cg_shares_operand(const ct_op *a, const ct_op *b);
/* The products that `first` computes, including itself (codegen/analysis/product_together.c). NULL: out of memory,
   which is reported. */
cg_together *cg_find_together(cg_func *c, const ct_op *first);

/* May others be computed with the op? Not every op is a product. */
bool cg_may_join(const cg_func *c, const ct_op *op);
/* Moves views of the operands of such products right behind the op that computes the operand, so that they are
   available to the first product. */
void cg_raise_operands(cg_func *c);

/* ---- layouts (codegen/analysis/product_layout.c) ---- */

/* Are elements along the last dimension, which has `bits` bits, closer to each other in the layout than those along
   the dimension before it? */
bool cg_runs_along_last(const cg_layout *l, uint32_t bits);
/* Completes the product with the properties that the layouts in which its operands are read decide. */
void cg_settle_product(const cg_func *c, cg_product *p, const cg_layout *lhs, const cg_layout *rhs);
/* The layout of accumulators: registers count the fragment, then the further columns, rows and batches of the warp. */
cg_layout cg_accumulator_layout(const cg_func *c, const cg_product *p);
/* The same for a blocked product. */
cg_layout cg_block_layout(const cg_func *c, const cg_product *p);
/* Converts a layout of the result to a layout of the rows of A, or columns of B, that its elements need, at the
   first of 2^k elements along K. */
cg_layout cg_lines_layout(const cg_product *p, bool left, uint32_t k, const cg_layout *l);
/* The layout of A as fragments: four registers for an instruction, with one element of tf32 or two of 16 bits each. */
cg_layout cg_fragment_layout(const cg_func *c, const cg_product *p);
/* The same of B for mma.sync: two registers for each 8 columns. */
cg_layout cg_right_fragment_layout(const cg_func *c, const cg_product *p);
/* Either of the two, by the operand's index, if threads compute it as fragments, or wgmma can take A as such, which is
   independent of its operands; false: the op has no such fragments. */
bool cg_mma_fragment_layout(const cg_func *c, const ct_op *op, uint32_t index, cg_layout *out);
/* The layout in which scales of A (left) or B are wanted. */
cg_layout cg_scale_layout(const cg_func *c, const cg_product *p, bool left);
/* The layout of the accumulator of an asynchronous product, independent of its operands; false: the op is no such
   product. */
bool cg_mma_accumulator_layout(const cg_func *c, const ct_op *op, cg_layout *out);
/* Is the op such a product? */
bool cg_mma_is_async(const cg_func *c, const ct_op *op);
/* Is it a product with sums in tensor memory? */
bool cg_sums_in_tensor(const cg_func *c, const ct_op *op);

/* How the op reads its operand `index` from an encoding in which the registers of `run` are the elements of a
   16-byte chunk. CG_NO_FEED: it does not. */
cg_feed cg_mma_feed(cg_func *c, const ct_op *op, uint32_t index, const cg_layout *run);

/* How the product reads an operand that it encodes itself, with the last dimension contiguous or not. */
cg_feed cg_scratch_feed(const cg_product *p, bool left, bool along_last);

/* The elements of the results that the products of a block hold at a time; products that add to the same sum count
   once. */
uint32_t cg_sums_held(const ct_block *block);
/* log2 of the warps that have rows of their own in every product of a chain, if they can hold its sums; otherwise
   UINT32_MAX. Warpgroups that share the rows of a product would each read its left operand, for fewer columns: an
   instruction with fewer than 64 takes as long. */
uint32_t cg_warps_of_rows(const ct_block *body);
/* log2 of the preferred number of warps for a function with products that pass their results to other products in
   registers; 0: it has no such products. */
uint32_t cg_mma_chain_warps(const cg_func *c);
/* The encoding that the operand would get if no other reader had to be considered. */
cg_encoding cg_regular_encoding(const cg_product *p, bool left, bool across);
/* Can an asynchronous instruction read the operand from this encoding? across: K counts rows. NULL: from an encoding
   that is made for it. */
bool cg_async_reads(const cg_product *p, bool left, bool across, const cg_encoding *encoding);

#endif
