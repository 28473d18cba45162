/* Tiles in flat order in memory, or as matrices of an encoding. */
#ifndef TILEVM_CODEGEN_VALUES_MEMORY_H
#define TILEVM_CODEGEN_VALUES_MEMORY_H

#include "codegen/analysis/encoding.h"
#include "codegen/ptx/access.h"

/* An access to 8x8 matrices of 16-bit elements in shared memory (codegen/values/matrices.c). */
typedef struct cg_matrices {
    cg_layout rows;  /* lanes: the rows of the matrices; registers: the positions of accesses */
    uint32_t used;   /* register bits within one access */
    uint32_t pair;   /* of these, the one that selects the element of a word */
    uint8_t next[2]; /* and those that select the matrix, `bits` of them */
    uint32_t bits;
    bool transposed;
} cg_matrices;

/* Does the layout of positions consist of such matrices? May stmatrix store a tile in it? */
bool cg_find_matrices(const cg_layout *l, cg_matrices *out);
bool cg_matrices_store(const cg_func *c, const cg_layout *l, cg_matrices *out);
/* One access at the positions of register r in m->rows. The bits of m->used are zero in r. */
void cg_store_matrices(cg_func *c, const cg_matrices *m, const cg_access *a, uint32_t r, const cg_val *regs);
void cg_load_matrices(cg_func *c, const cg_matrices *m, const cg_access *a, uint32_t r, cg_val *out_regs);

/* Stores or loads a tile in row-major order at an address (32-bit in shared memory, 64-bit in global memory). The
   threads that own its elements store; all threads load. Accesses use the widest vectors of the layout, or matrices,
   for which all lanes of a warp must be active. With `some`, any threads may be active, and each loads its own
   elements. */
void cg_flat_store(cg_func *c, bc_kind kind, cg_val base, const cg_layout *l, const cg_val *regs);
void cg_flat_store_some(cg_func *c, bc_kind kind, cg_val base, const cg_layout *l, const cg_val *regs);
void cg_flat_load(cg_func *c, bc_kind kind, cg_val base, const cg_layout *l, cg_val *out_regs);
void cg_flat_load_some(cg_func *c, bc_kind kind, cg_val base, const cg_layout *l, cg_val *out_regs);
/* Like cg_flat_load, but joins bytes, four to a word, as ops on all bytes of a word need them. */
void cg_flat_load_words(cg_func *c, bc_kind kind, cg_val base, const cg_layout *l, cg_val *out_regs);

/* The same for tiles in another order: `base + element * bytes` is the address of register r of layout l, whose
   images are positions in memory. Gives a 32-bit register and a constant offset. Threads and registers may share
   image bits. */
typedef struct cg_place {
    cg_val address;
    int64_t offset;
} cg_place;
cg_place cg_flat_place(cg_func *c, cg_val base, uint32_t bytes, const cg_layout *l, uint32_t r);

/* The widest vectors of a layout's registers with contiguous elements, from index bit 0 on. */
typedef struct cg_vectors {
    uint32_t bits;      /* log2 of the elements of a vector */
    uint8_t reg_bit[5]; /* the register bits within a vector */
    uint32_t mask;      /* those bits */
} cg_vectors;
cg_vectors cg_vectors_of(const cg_layout *l, uint32_t bytes);
/* Does the register hold a replica of a register with a smaller number? */
bool cg_is_register_replica(const cg_layout *l, uint32_t r);

/* Copies the elements from their owners to all threads that hold replicas, through shared memory. True: there were
   replicas, and a barrier was needed. */
bool cg_share(cg_func *c, const ct_op *op, bc_kind kind, const cg_layout *l, cg_val *regs);

/* Stores the elements of a tile whose index bits in `mask` have the value `part` to an encoding
   (codegen/values/encode.c). `part` has as many bits as mask. Their positions are the index without these bits. mask
   0: all elements. */
void cg_encode(cg_func *c, const cg_encoding *s, cg_val base, bc_kind kind, const cg_layout *l, const cg_val *regs,
               uint32_t mask, uint32_t part);

/* Stores zeros to `count` places in shared memory, `bytes` each, the first one `offset` bytes behind an address, and
   the others `stride` bytes apart; all are multiples of 16. */
typedef struct cg_zeros {
    uint32_t offset, bytes, count, stride;
} cg_zeros;
void cg_store_zeros(cg_func *c, cg_val base, cg_zeros to);

/* The descriptor, for an asynchronous product, of what lies so many bytes behind. */
cg_val cg_descriptor_at(cg_func *c, cg_val descriptor, uint32_t bytes);

#endif
