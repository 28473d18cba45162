/* Tiles of pointers: how an op reaches memory through them. */
#ifndef TILEVM_CODEGEN_ACCESS_POINTERS_H
#define TILEVM_CODEGEN_ACCESS_POINTERS_H

#include "codegen/ptx/access.h"

/* What load_ptr_tko, store_ptr_tko, atomic_rmw_tko and atomic_cas_tko have in common. */
typedef struct cg_ptr_op {
    const ct_value *pointers;
    const ct_op *load;     /* NULL: the op is none */
    const ct_value *value; /* stored, added, ...; NULL for a load */
    const ct_value *mask;  /* NULL: none */
    uint64_t order, scope;
    bool single;        /* every element just once: atomics */
    uint32_t most_bits; /* log2 of the elements that one access may have */
} cg_ptr_op;

/* Atomics: one element to an access, unless the caller knows better. */
cg_ptr_op cg_ptr_op_of(const ct_op *op);

/* log2 of the elements that one access may have, and the dimension along which they follow each other. */
uint32_t cg_pointer_vector(cg_func *c, const cg_ptr_op *p, uint32_t *out_dim);
/* The layout in which the elements of the op reach memory best. */
cg_layout cg_pointer_layout(cg_func *c, const cg_ptr_op *p);
/* Are they reached in l in accesses as long as in that one, which fill sectors of 32 bytes, or, in loads, in two
   accesses to each sector? */
bool cg_pointers_go_as_well(cg_func *c, const cg_ptr_op *p, const cg_layout *l);
/* Accesses of a thread to a tile in l, and whether those of a warp fill sectors, or rows; UINT32_MAX: not known. */
uint32_t cg_pointer_accesses(cg_func *c, const cg_ptr_op *p, const cg_layout *l, bool *out_fills);
/* Pointers, value and mask are read in l. */
void cg_want_pointers(cg_func *c, const cg_ptr_op *p, const cg_layout *l);

/* A remark on how they are reached in l. */
void cg_pointer_remark(cg_func *c, const ct_op *op, const cg_ptr_op *p, const cg_layout *l);

/* Bits of a register's number in l that make no difference for v, as the facts say: along which its elements are equal,
   as those of a mask. */
uint32_t cg_equal_registers(const ct_value *v, const cg_layout *l);
/* Bits of a register's number in l that make no difference for the accesses, of which each has the pointer and the mask
   of its first element: in the mask (returned), and in the pointers (*out_pointers). */
uint32_t cg_pointer_members(cg_func *c, const cg_ptr_op *p, const cg_layout *l, uint32_t *out_pointers);

/* One vector of the tile as the op moves it. */
typedef struct cg_pointer_part {
    uint32_t count;
    uint32_t reg[CG_MAX_VECTOR];
    cg_access access;
} cg_pointer_part;

typedef void cg_pointer_fn(cg_func *c, void *user, const cg_pointer_part *part);
/* Calls for every vector of the tile in layout l. owned: only in the one thread that owns its elements. */
void cg_pointer_parts(cg_func *c, const cg_ptr_op *p, const cg_layout *l, bool owned, void *user, cg_pointer_fn *found);

#endif
