/* Tiles that lie flat in memory, or as matrices of an encoding. */
#ifndef TILEVM_CODEGEN_VALUES_MEMORY_H
#define TILEVM_CODEGEN_VALUES_MEMORY_H

#include "codegen/analysis/encoding.h"
#include "codegen/ptx/access.h"

/* An access to 8x8 matrices of 16-bit elements in shared memory (codegen/values/matrices.c). */
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
bool cg_share(cg_func *c, const ct_op *op, bc_kind kind, const cg_layout *l, cg_val *regs);

/* To an encoding (codegen/values/encode.c): stores the elements of a tile whose index bits in `mask` have the value
   `part` (as many bits as mask): at the places of their index without these bits. A mask of 0 stores all. */
void cg_encode(cg_func *c, const cg_encoding *s, cg_val base, bc_kind kind, const cg_layout *l, const cg_val *regs,
               uint32_t mask, uint32_t part);

#endif
