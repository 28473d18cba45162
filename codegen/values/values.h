/* Values in registers during lowering: the layouts and threads in which they are, and the shared memory through
   which they are converted. */
#ifndef TILEVM_CODEGEN_VALUES_VALUES_H
#define TILEVM_CODEGEN_VALUES_VALUES_H

#include "codegen/kernel/kernel.h"

/* Bytes of shared memory. */
typedef struct cg_span {
    uint32_t from, to;
    uint32_t of_warp; /* bytes that each warp may access, one part after the other; 0: any thread accesses any byte */
} cg_span;

/* The variant of a value in a layout, which the value shares with its conversions. NULL: nothing reads that layout. */
cg_variant *cg_find_copy(const cg_value *x, const cg_layout *l);
/* lower pass: the registers of v in a layout in which it is read. For scalars, all layouts are the same. */
cg_val *cg_get(cg_func *c, const ct_value *v, const cg_layout *l);
/* The register of a rank-0 value. */
cg_val cg_scalar(cg_func *c, const ct_value *v);
/* Sets the result of the op that is being lowered, in its home. */
void cg_set(cg_func *c, const ct_value *v, cg_val *regs);
/* Converts the elements to another layout, on behalf of the op (codegen/values/convert_layout.c). */
cg_val *cg_convert(cg_func *c, const ct_op *op, bc_kind kind, const cg_layout *from, const cg_val *regs,
                   const cg_layout *to);
/* Both layouts in terms of positions in shared memory, in an order of the elements without bank conflicts. The upper
   bits of large indices keep their meaning. */
void cg_shared_layouts(const cg_func *c, bc_kind kind, const cg_layout *from, const cg_layout *to,
                       cg_layout *out_stored, cg_layout *out_loaded);

/* The method of a conversion. */
typedef enum cg_way { CG_BY_NAMES, CG_BY_SHUFFLES, CG_BY_SHARED, CG_BY_HALVES, CG_BY_PIECES } cg_way;
typedef struct cg_conversion {
    cg_way way;
    uint32_t shuffles; /* per thread, for CG_BY_SHUFFLES */
    uint64_t bytes;    /* of the tile */
} cg_conversion;
cg_conversion cg_conversion_of(const cg_func *c, const ct_op *op, bc_kind kind, const cg_layout *from,
                               const cg_layout *to);
/* As text for remarks and dumps: "shuffles"; "by shuffles, 12 a thread". */
const char *cg_way_text(cg_way way);
void cg_conversion_text(bc_text *out, const cg_conversion *conversion);

/* ---- threads (codegen/values/threads.c) ---- */

/* lower pass: the following code is for threads with these numbers; {0}: the numbers in the block. The state for the
   previous threads is c->thread, which can be restored. */
void cg_thread_begin(cg_func *c, cg_val number);
/* The number of the thread in its block, its slice or its group of warps, as a 32-bit value. */
cg_val cg_tid(cg_func *c);
/* The number of the thread's slice, the same in all threads of a warp. c->slices. */
cg_val cg_slice_number(cg_func *c);
/* The following code computes the thread's part of indices from a copy of its number, which ptxas takes for another
   one; or no longer. */
void cg_thread_afresh(cg_func *c, bool afresh);
/* Threads from number `first` on jump to the label; 0: they exit. Whole warps do. */
void cg_leave_from(cg_func *c, cg_val thread, uint32_t first, uint32_t label);
/* The thread's part of the element index in a layout: its bits in mask, shifted down by `shift`; a 32-bit register
   or constant. */
cg_val cg_thread_index(cg_func *c, const cg_layout *l, uint32_t mask, uint32_t shift);
/* True in the threads whose number has none of these bits. */
cg_val cg_threads_without(cg_func *c, uint32_t bits);
/* True in one of the threads that hold replicas of the same elements; the constant true if there are no replicas. */
cg_val cg_is_owner(cg_func *c, const cg_layout *l);

/* ---- shared memory and barriers (codegen/values/barriers.c, scratch.c; codegen/values/effects.h) ---- */

/* lower pass: before and after the whole kernel. */
void cg_shared_begin(cg_func *c);
void cg_shared_end(cg_func *c);
/* The bytes that the block needs, and each of its slices; the number of barriers in the text. */
uint32_t cg_shared_bytes(const cg_func *c);
uint32_t cg_slice_bytes(const cg_func *c);
uint32_t cg_barrier_count(const cg_func *c);

/* The following code is for this group of warps: 0, or 1 for producers. */
void cg_shared_group(cg_func *c, uint32_t group);

/* Of all threads that work together: of a block, a slice or a group of warps; */
void cg_barrier(cg_func *c);
/* of all slices. */
void cg_slices_meet(cg_func *c);
/* For the threads of a warp only. */
void cg_warp_barrier(cg_func *c);
/* Is the predicate true in all threads? They wait for each other. */
cg_val cg_all(cg_func *c, cg_val predicate);
/* The address (32-bit, shared) of the scratch of that size that the op uses next. It may be written now. */
cg_val cg_scratch(cg_func *c, const ct_op *op, uint32_t bytes);
/* The same of the half of its scratch that the op's last execution did not use, and the end of its turn. */
typedef struct cg_turns {
    cg_val now, next, both; /* addresses of halves, and the sum of both */
    uint32_t loads;         /* cg_effect.loads */
} cg_turns;
cg_turns cg_scratch_by_turns(cg_func *c, const ct_op *op, uint32_t bytes);
void cg_turn(cg_func *c, const cg_turns *t);
/* The address of all rings, which share the memory of scratch (32-bit, shared). */
cg_val cg_ring_memory(cg_func *c);

#endif
