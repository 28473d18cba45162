/* Values in registers while lowering: in which layouts, in which threads, and by which shared memory they get there. */
#ifndef TILEVM_CODEGEN_VALUES_VALUES_H
#define TILEVM_CODEGEN_VALUES_VALUES_H

#include "codegen/kernel/kernel.h"

/* Bytes of shared memory. */
typedef struct cg_span {
    uint32_t from, to;
    uint32_t of_warp; /* each warp reaches only its own so many of them, which follow each other; 0: any thread, any */
} cg_span;

/* The variant of a value in a layout, which it and its conversions share; NULL: none is wanted. */
cg_variant *cg_find_copy(const cg_value *x, const cg_layout *l);
/* lower pass: the registers of v in a layout that was wanted. Scalars: every layout is the same. */
cg_val *cg_get(cg_func *c, const ct_value *v, const cg_layout *l);
/* A rank-0 value. */
cg_val cg_scalar(cg_func *c, const ct_value *v);
/* The result of the op being lowered, in its home. */
void cg_set(cg_func *c, const ct_value *v, cg_val *regs);
/* Another layout of the same elements, for the sake of the op (codegen/values/convert_layout.c). */
cg_val *cg_convert(cg_func *c, const ct_op *op, bc_kind kind, const cg_layout *from, const cg_val *regs,
                   const cg_layout *to);
/* Both layouts with places in shared memory for indices: an order of the elements without bank conflicts. The upper
   bits of large indices keep their meaning. */
void cg_shared_layouts(const cg_func *c, bc_kind kind, const cg_layout *from, const cg_layout *to,
                       cg_layout *out_stored, cg_layout *out_loaded);

/* How that is done. */
typedef enum cg_way { CG_BY_NAMES, CG_BY_SHUFFLES, CG_BY_SHARED, CG_BY_HALVES, CG_BY_PIECES } cg_way;
typedef struct cg_conversion {
    cg_way way;
    uint32_t shuffles; /* of a thread, CG_BY_SHUFFLES */
    uint64_t bytes;    /* of the tile */
} cg_conversion;
cg_conversion cg_conversion_of(const cg_func *c, const ct_op *op, bc_kind kind, const cg_layout *from,
                               const cg_layout *to);
/* In words, for remarks and dumps: "shuffles"; "by shuffles, 12 a thread". */
const char *cg_way_text(cg_way way);
void cg_conversion_text(bc_text *out, const cg_conversion *conversion);

/* ---- threads (codegen/values/threads.c) ---- */

/* lower pass: what is emitted from here on is for threads with these numbers; {0}: those of the block. What was known
   of the ones before is c->thread, which can be put back. */
void cg_thread_begin(cg_func *c, cg_val number);
/* The number of the thread in its block, or in its group of warps: 32 bits. */
cg_val cg_tid(cg_func *c);
/* The thread's part of the element index under a layout, cut to the bits of mask and shifted down by `shift`: a 32-bit
   register or constant. */
cg_val cg_thread_index(cg_func *c, const cg_layout *l, uint32_t mask, uint32_t shift);
/* True in the one thread of those that hold replicas of the same elements; a known true when there are no replicas. */
cg_val cg_is_owner(cg_func *c, const cg_layout *l);

/* ---- shared memory and barriers (codegen/values/barriers.c, scratch.c; codegen/values/effects.h) ---- */

/* lower pass: around all of it. */
void cg_shared_begin(cg_func *c);
void cg_shared_end(cg_func *c);
/* Bytes that the block needs; barriers that it meets at, as they stand in the text. */
uint32_t cg_shared_bytes(const cg_func *c);
uint32_t cg_barrier_count(const cg_func *c);

/* Which group of warps all that is emitted from here on is for: 0, or 1 for producers. */
void cg_shared_group(cg_func *c, uint32_t group);

void cg_barrier(cg_func *c);
/* Among the threads of a warp alone. */
void cg_warp_barrier(cg_func *c);
/* Whether the predicate is true in all threads, which meet for it. */
cg_val cg_all(cg_func *c, cg_val predicate);
/* The scratch that the op uses next, of so many bytes, which can be written now: its address (32-bit, shared). */
cg_val cg_scratch(cg_func *c, const ct_op *op, uint32_t bytes);
/* The address of all rings, which share the memory of scratch (32-bit, shared). */
cg_val cg_ring_memory(cg_func *c);

#endif
