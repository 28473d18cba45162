/* Lowering of matrix products: the declarations that its files share (codegen/ops/mma.c with instructions,
   mma_scaled.c with scales, mma_blocks.c and mma_plain.c without instructions, wgmma.c, mma_turned.c). */
#ifndef TILEVM_CODEGEN_OPS_MMA_H
#define TILEVM_CODEGEN_OPS_MMA_H

#include "codegen/analysis/product.h"
#include "codegen/analysis/ring.h"

/* The source of an operand's fragments. */
typedef enum cg_operand_source {
    CG_FROM_SCRATCH,   /* shared memory, to which the product stores it */
    CG_FROM_RING,      /* shared memory, to which a pipelined load has copied it */
    CG_FROM_REGISTERS, /* registers, which hold it as fragments */
    CG_FROM_TENSOR,    /* tensor memory, to which the product stores it */
} cg_operand_source;

typedef struct cg_operand {
    bool left;
    const ct_value *v;
    const cg_layout *read; /* the layout in which it is read from registers, unless it is in a ring */
    cg_operand_source source;
    cg_encoding encoding;    /* in shared memory; in scratch, of a K slice */
    uint32_t beyond;         /* in scratch: bytes behind it that the product reads, too */
    cg_val base;             /* when lowered: the address in shared memory */
    const cg_val *fragments; /* when lowered: the registers with fragments */
    uint32_t k;              /* bits of K in the encoding or the fragments */
    bool across;             /* K counts the rows of the encoding: ldmatrix.trans reads it, */
    bool by_elements;        /* or lanes load its elements one by one, as ldmatrix moves those of 16 bits */
    cg_layout lanes; /* places in the encoding: those at which the lanes of an ldmatrix.x4 point, or those that a
                        blocked product reads, where registers count K, then the thread's rows or columns */
} cg_operand;

/* The operands of products that are computed together, each operand once. */
typedef struct cg_pair {
    uint32_t left, right;
} cg_pair;
typedef struct cg_factors {
    cg_operand operands[2 * CG_MOST_TOGETHER]; /* of a single product: A, B */
    uint32_t count, parts;                     /* number of operands; log2 of the K slices in which they are stored
                                                  to scratch */
    cg_pair of[CG_MOST_TOGETHER];              /* by product */
} cg_factors;

/* ---- operands (codegen/ops/mma_operands.c) ---- */

/* The product of an op whose layouts are chosen. */
const cg_product *cg_settled_product(cg_func *c, const ct_op *op);
/* Adds the operands of p and of the products computed with it, each once. */
void cg_add_operands(cg_func *c, cg_factors *f, const cg_product *p);
/* Finds the operands of the op and of products computed with it, in as few K slices as fit into scratch; returns
   bytes. */
uint32_t cg_find_factors(cg_func *c, const ct_op *op, const cg_product *p, cg_factors *f);
/* Can wgmma multiply these operands? */
bool cg_is_async(const cg_product *p, const cg_factors *f);
/* Does the product by an asynchronous instruction read nothing but what its threads have stored to scratch? */
bool cg_reads_scratch_only(cg_func *c, const ct_op *op);
/* Stores a slice of the operands that are neither in registers nor in a ring to scratch, followed by a barrier. */
void cg_encode_operands(cg_func *c, const ct_op *op, const cg_product *p, cg_factors *f, bool async, uint32_t part);
/* Records the registers of operands that are fragments. */
void cg_take_fragments(cg_func *c, cg_factors *f);

/* ---- fragments (codegen/ops/mma_fragments.c) ---- */

/* Packs four registers of fragments from a left operand in registers; the step number `part` counts K, then rows. */
void cg_pack_fragments(cg_func *c, const cg_product *p, const cg_operand *o, uint32_t part, cg_val *out);
/* sum + part, in f32. */
cg_val cg_add_up(cg_func *c, cg_val sum, cg_val part);
/* d += a * b by p->atom: four, two and four registers. */
void cg_multiply_fragments(cg_func *c, const cg_product *p, const cg_val *a, const cg_val *b, cg_val *d);
/* Loads four registers of A; twice as many if f8 is widened or blocks alternate, four times as many if f4 is
   widened. */
void cg_take_left(cg_func *c, const cg_product *p, const cg_operand *o, uint32_t part, cg_val *out);
/* Loads two registers of B for the first 8 columns and two for the next; twice as many if f8 is widened, four times
   as many if f4 is. */
void cg_take_right(cg_func *c, const cg_product *p, const cg_operand *o, uint32_t part, cg_val *out);

/* ---- the right operand of reordered products (codegen/ops/mma_reordered.c) ---- */

/* The elements at which lanes read their vectors, as bits of the operand's index. Registers count steps along K,
   pairs of 8 columns, and which of the two. */
cg_layout cg_vector_lanes(const cg_func *c, const cg_product *p);
/* Loads registers in the form of cg_take_right: four for the even step `part`, and four for the next step. */
void cg_take_vectors(cg_func *c, const cg_operand *o, uint32_t part, cg_val *out);

/* ---- steps (codegen/ops/mma_steps.c) ---- */

/* The initial values of the product's sums, in the order of registers; NULL: out of memory. The second function sets
   the result from the sums. */
cg_val *cg_begin_sums(cg_func *c, const cg_product *p);
void cg_end_sums(cg_func *c, const cg_product *p, cg_val *acc);

/* Reports the instruction of mma.sync. */
void cg_remark_mma(cg_func *c, const ct_op *op, const cg_product *p);
/* Adds `count` steps along K, beginning with number `first`, to the sums of p and of the products computed with it,
   in the order of registers. */
void cg_multiply_steps(cg_func *c, const cg_product *p, const cg_factors *f, uint32_t first, uint32_t count,
                       cg_val *const *sums);

/* ---- scales (codegen/ops/mma_scaled.c) ---- */

/* The state of a scaled product during lowering, for A and for B: */
typedef struct cg_scales {
    const cg_val *words[2]; /* words of up to four, or single ones; registers: along K, rows or columns, batches */
    cg_val *factors[2];     /* single ones as f32, once they are converted */
    cg_val odd_blocks;      /* all bits set in lanes whose elements of A are in odd blocks, otherwise none */
} cg_scales;
/* Packs 1, 2 or 4 scales of that kind into a word. */
cg_val cg_scale_word(cg_func *c, bc_kind kind, const cg_val *scales, uint32_t count);
/* Loads the scales of A (side 0) or B (side 1) into p->scales. */
void cg_take_scales(cg_func *c, const ct_op *op, const cg_product *p, uint32_t side);
/* d += a * b, with the scales of that step along K and of the instruction's rows and columns with that number. a and
   b hold all blocks of the step in groups of four registers. If blocks alternate, A has groups for even blocks and
   then for odd ones. If sums are scaled afterwards, the groups are those of the first two instructions, for one half
   of K, then those of the next two. */
typedef struct cg_scale_at {
    uint32_t row, column, step;
} cg_scale_at;
void cg_multiply_scaled(cg_func *c, const cg_product *p, const cg_val *a, const cg_val *b, const cg_scale_at *at,
                        cg_val *d);
/* The value of odd_blocks for products whose blocks alternate. */
cg_val cg_odd_blocks(cg_func *c);

/* Packs the elements of an operand in registers into bytes, in a layout in which every thread has whole bytes. */
const cg_val *cg_pack_bytes(cg_func *c, const cg_product *p, bool left, const cg_layout *l, const cg_val *regs);

/* ---- wgmma (codegen/ops/wgmma.c) ---- */

/* Can wgmma read the operands? In a ring, they may be in pieces that descriptors cannot describe. */
bool cg_can_multiply_async(const cg_product *p, const cg_operand *operands);
/* The product by wgmma: acc holds the accumulator, then the result. */
void cg_multiply_async(cg_func *c, const ct_op *op, const cg_product *p, const cg_operand *operands, cg_val *acc);
/* The instruction's shape, with 2^n columns, and types; turned: the type of B comes first. NULL: out of memory. */
const char *cg_wgmma_name(cg_func *c, const ct_op *op, const cg_product *p, uint32_t n, bool turned);
/* The descriptor of the first instruction's operand in an encoding; across: K counts its rows. */
cg_val cg_wgmma_descriptor(cg_func *c, const cg_encoding *s, cg_val base, bool across, const cg_layout *steps);
/* Waits until at most so many of the products that have been started are not complete. */
void cg_await_products(cg_func *c, uint32_t others);
/* Waits for the started products, which compute `count` sums in `parts`, and adds these to acc (p->adds_up). */
void cg_wgmma_add_up(cg_func *c, const cg_val *parts, uint32_t count, cg_val *acc);
/* The registers to which the product adds, initialised from the accumulator; *out_from_zero: the first products
   write them instead of adding. NULL: out of memory. */
cg_val *cg_wgmma_sums(cg_func *c, const ct_op *op, const cg_val *acc, uint32_t count, bool *out_from_zero);

/* ---- tcgen05 (codegen/ops/tcgen05.c) ---- */

/* Computes the product, and sets its result unless the sum stays in tensor memory. */
void cg_multiply_tcgen05(cg_func *c, const ct_op *op, const cg_product *p);

/* ---- transposed (codegen/ops/mma_turned.c) ---- */

/* Computes a product whose operands are in a ring between groups: acc holds the accumulator, then the result. */
void cg_multiply_turned(cg_func *c, const ct_op *op, const cg_product *p, cg_val *acc);
/* For a ring with such a product in flight: loads the first fragments from the slot that is read next. */
void cg_turned_begin(cg_func *c, cg_ring *ring);

/* ---- in blocks of registers (codegen/ops/mma_blocks.c) ---- */

/* The initial sums: for f32, constants +0; for f64, the accumulator. The second function sets p's result from the
   sums. */
cg_val *cg_block_sums(cg_func *c, const cg_product *p);
void cg_end_block_sums(cg_func *c, const cg_product *p, cg_val *sums);
/* Adds the products of one K slice out of 2^f->parts to the sums of p and of the products computed with it. Scratch
   holds only that slice; a ring holds all of K. */
void cg_multiply_blocks(cg_func *c, const cg_product *p, const cg_factors *f, uint32_t part, cg_val *const *sums);

/* ---- without an instruction (codegen/ops/mma_plain.c) ---- */

/* The layout of the result of a product without an instruction. */
cg_layout cg_plain_layout(const cg_func *c, const cg_product *p);
/* Computes such a product: acc holds the accumulator in that layout, then the result. read: the layouts in which its
   operands are read: lhs, rhs, scales of lhs and rhs. */
void cg_multiply_plain(cg_func *c, const ct_op *op, const cg_product *p, const cg_layout *read, cg_val *acc);
/* Its effects. */
void cg_effects_plain(cg_func *c, ct_op *op, const cg_product *p);

#endif
