/* Vectors of elements in memory of any space, and tiles that lie flat in shared memory. */
#ifndef TILEVM_CODEGEN_MEMORY_H
#define TILEVM_CODEGEN_MEMORY_H

#include "codegen/lower.h"

/* One access: 2^k elements that lie side by side, at most 16 bytes, or 32 in global memory where the target has that.
 */
typedef struct cg_access {
    bc_kind kind;
    const char *space; /* "global", "shared" */
    const char *order; /* "", ".relaxed.gpu", ".acquire.sys" */
    bool packed;       /* elements of half a byte come two in a byte, as in global memory; else one */
    cg_val address;    /* of the vector's first element, less offset */
    int64_t offset;
    cg_val predicate; /* whether to access at all */
} cg_access;

enum { CG_MAX_VECTOR_BITS = 6, CG_MAX_VECTOR = 1 << CG_MAX_VECTOR_BITS }; /* elements of one access */

/* log2 of the bytes that one access to global memory may have. */
static inline int cg_widest_access(const cg_func *c)
{
    return c->target->features & CG_HAS_LARGE_VECTORS ? 5 : 4;
}

/* The suffix of an access, for example ".relaxed.gpu"; "" for a weak one. */
const char *cg_order_suffix(uint64_t order, uint64_t scope);

/* Bytes of an element in memory: as in global memory; i4 and f4, which share bytes there, take one each in scratch. */
uint32_t cg_memory_bytes(bc_kind kind);

/* `count` > 1 elements of `bits` bits each as one word of 16 or 32 bits, the first lowest; and a word taken apart. A
   word that is put together again as it was is the word. */
cg_val cg_join(cg_func *c, const cg_val *elements, uint32_t count, uint32_t bits);
void cg_split(cg_func *c, bc_kind kind, cg_val word, uint32_t count, uint32_t bits, cg_val *out);

/* regs[i] = element i; where the predicate is false they keep what `otherwise` gives (NULL: undefined values are
   fine, and zeros are used). */
void cg_load_vector(cg_func *c, const cg_access *a, uint32_t count, const cg_val *otherwise, cg_val *out_regs);
void cg_store_vector(cg_func *c, const cg_access *a, uint32_t count, const cg_val *regs);

/* An access to 8x8 matrices of 16-bit elements in shared memory (codegen/matrices.c). */
typedef struct cg_matrices {
    cg_layout rows;  /* lanes: where the rows of the matrices lie; a register's place is that of its access */
    uint32_t used;   /* register bits that run within one access */
    uint32_t pair;   /* of them, the one that tells the elements of a word apart */
    uint8_t next[2]; /* and those that tell the matrices apart, `bits` of them */
    uint32_t bits;
    bool transposed;
} cg_matrices;

/* Whether the layout, in places, is made of such matrices; and whether stmatrix may store a tile in it. */
bool cg_find_matrices(const cg_layout *l, cg_matrices *out);
bool cg_matrices_store(const cg_func *c, const cg_layout *l, cg_matrices *out);
/* One access, at the places that m->rows gives for register r, in which the bits of m->used are zero. */
void cg_store_matrices(cg_func *c, const cg_matrices *m, const cg_access *a, uint32_t r, const cg_val *regs);
void cg_load_matrices(cg_func *c, const cg_matrices *m, const cg_access *a, uint32_t r, cg_val *out_regs);

/* The address of an access as an operand. */
void cg_put_address(bc_text *out, const cg_access *a);

/* A tile in row-major order at an address, 32 bits in shared memory, 64 bits in global memory: stored by the threads
   that own its elements, loaded by all; both with the widest vectors that the layout has, or as matrices: all lanes of
   a warp come here. To those with `some`, any may come, and each loads what it has itself. */
void cg_flat_store(cg_func *c, bc_kind kind, cg_val base, const cg_layout *l, const cg_val *regs);
void cg_flat_store_some(cg_func *c, bc_kind kind, cg_val base, const cg_layout *l, const cg_val *regs);
void cg_flat_load(cg_func *c, bc_kind kind, cg_val base, const cg_layout *l, cg_val *out_regs);
void cg_flat_load_some(cg_func *c, bc_kind kind, cg_val base, const cg_layout *l, cg_val *out_regs);

/* The same for tiles in another order of elements: at address `base + element * bytes` of register r of layout l,
   whose images say the place in memory. Gives a 32-bit register and a constant offset. Threads and registers may
   share image bits. */
typedef struct cg_place {
    cg_val address;
    int64_t offset;
} cg_place;
cg_place cg_flat_place(cg_func *c, cg_val base, uint32_t bytes, const cg_layout *l, uint32_t r);

/* The widest vectors of a layout's registers whose elements lie side by side from index bit 0 on. */
typedef struct cg_vectors {
    uint32_t bits;      /* log2 of the elements of one */
    uint8_t reg_bit[5]; /* the register bits that run within one */
    uint32_t mask;      /* those bits */
} cg_vectors;
cg_vectors cg_vectors_of(const cg_layout *l, uint32_t bytes);
/* Does the register hold a replica of what one with a smaller number has? */
bool cg_is_register_replica(const cg_layout *l, uint32_t r);

/* What the owners of the elements have in regs, in all threads that hold replicas: through shared memory. Nothing to do
   where there are no replicas; else a barrier is on the way, and true comes back. */
bool cg_share(cg_func *c, bc_kind kind, const cg_layout *l, cg_val *regs);

#endif
