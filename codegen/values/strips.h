/* Strips: how kernels process tiles with more elements than the registers of a block should hold.

   The layouts of such a kernel have more warp bits than the block has warps. The upper ones number strips: one real
   warp does the work of several, one after the other, in a loop that is emitted once. The strips pass decides which ops
   share a loop (CT_strips), and which tiles are read in other loops. Those are in local memory, by strip and register,
   from the end of the trip that computes them. Values that are the same in all strips, such as scalars and small tiles,
   stay in registers.

   In kernels without strips, all functions may be called and do nothing, unless they say otherwise. */
#ifndef TILEVM_CODEGEN_VALUES_STRIPS_H
#define TILEVM_CODEGEN_VALUES_STRIPS_H

#include "codegen/ptx/access.h"

/* The detail of a CT_strips: the strip bits over which it iterates. */
typedef struct cg_trips {
    uint32_t mask;        /* other bits are those of the enclosing loop, or zero */
    uint32_t first;       /* the number of trips, from the first one; 0: all */
    struct cg_ring *ring; /* whose slots its loads read, and which ends with the loop; NULL: none */
    bool descending;
} cg_trips;

/* An open loop over strips. */
typedef struct cg_strip {
    struct cg_strip *outer;
    cg_trips trips;
    bool is_later; /* a later strip temporarily replaces this one (cg_strip_later) */
    uint32_t number;
    cg_val counter, index; /* the bits of mask, in counting order; the number of the strip */
    uint32_t head_label, next_label;
    bc_text before, head; /* the text of the function so far; the beginning of every trip */
    struct cg_form_of_strip *forms;
} cg_strip;

/* The registers of a value that is recomputed in a layout. */
typedef cg_val *cg_remake(cg_func *c, const ct_op *op, const cg_layout *l);

/* lower pass: before and after the whole kernel. remake: recomputes lazy values. */
void cg_strips_begin(cg_func *c, cg_remake *remake);
void cg_strips_end(cg_func *c);

/* The strip bits that select elements in the layout, without those that select replicas. l NULL: none. */
uint32_t cg_strip_mask(const cg_func *c, const cg_layout *l);
static inline bool cg_strip_varies(const cg_func *c, const cg_layout *l)
{
    return c->strip_bits && cg_strip_mask(c, l) != 0;
}
/* All strip bits. */
static inline uint32_t cg_all_strips(const cg_func *c)
{
    return ((uint32_t)1 << c->strip_bits) - 1;
}
/* Is v, which must have a home, a tile that is in local memory if another loop reads it? */
bool cg_strip_is_kept(cg_func *c, const ct_value *v);
/* Bytes of local memory per thread for that tile. */
uint32_t cg_strip_bytes(cg_func *c, const ct_value *v);

/* ---- loops; only in kernels with strips ---- */

/* Opens a loop inside the open one, if there is one. */
cg_strip *cg_strip_open(cg_func *c, cg_trips trips);
/* The innermost open loop. */
cg_strip *cg_strip_now(const cg_func *c);
/* Ends the innermost open loop. */
void cg_strip_close(cg_func *c);
/* Code that is emitted up to cg_strip_back refers to the strip `trips` trips later or, after the last one, to the
   first ones again. The result is true if it is not after the last one. Values of the current trip cannot be read
   there. */
cg_val cg_strip_later(cg_func *c, uint32_t trips);
void cg_strip_back(cg_func *c);
/* A register that is zero before the loop. */
cg_val cg_strip_carried(cg_func *c, cg_class cls);

/* thread ^ the images of the bits of the strip's number. */
cg_val cg_strip_index(cg_func *c, cg_val thread, const uint32_t *images);
/* Is everything stored to shared memory from here on read in the same trip, whatever its layout says about strips? */
void cg_strip_puts_own(cg_func *c, bool own);
/* owner, and in the strip that owns the elements of which other strips hold replicas. */
cg_val cg_strip_owner(cg_func *c, const cg_layout *l, cg_val owner);

/* ---- values; only in kernels with strips ---- */

/* The registers of a variant that differs between strips, in the open loop: computed there, loaded or recomputed. */
cg_val *cg_strip_get(cg_func *c, const ct_value *v, cg_variant *variant);
void cg_strip_set(cg_func *c, cg_variant *variant, cg_val *regs);
/* Stores values[i] to the local memory of homes[i], if that is in strips, in a loop of its own. */
void cg_strip_move(cg_func *c, ct_value *const *values, const ct_value *homes, uint32_t count);

/* The variant of v in its home. */
cg_variant *cg_strip_home(cg_func *c, const ct_value *v);
/* The access to a variant's registers, from r on, in the current strip; and a store of all of them to local memory,
   if the predicate is true. */
cg_access cg_strip_access(cg_func *c, const ct_value *v, const cg_variant *variant, uint32_t r, cg_val predicate);
void cg_strip_save(cg_func *c, const ct_value *v, const cg_variant *variant, const cg_val *regs, cg_val predicate);

/* ---- from strip to strip ---- */

/* The elements of a tile whose index has the value `number` (a register) in the bits of mask. As a tile of their
   own, their index lacks these bits. */
typedef struct cg_excerpt {
    uint32_t mask;
    cg_val number;
} cg_excerpt;
/* Moves v, which is read in `from`, through shared memory to the op's result: the same elements in another layout,
   or an excerpt of them (NULL: all). Only outside of loops. */
void cg_strip_transfer(cg_func *c, const ct_op *op, const ct_value *v, const cg_layout *from,
                       const cg_excerpt *excerpt);

/* ---- in pieces (codegen/values/pieces.c); in all kernels ---- */

/* A loop over the pieces of a tile, each of which passes through shared memory in row-major order. There is no loop
   if the tile is a single piece. */
typedef struct cg_pieces {
    uint32_t shift; /* log2 of the elements of a piece */
    cg_val number;  /* of the piece's first element; the constant zero for a single piece */
    cg_val base;    /* address of the piece */
    uint32_t head, end;
    bool whole;
} cg_pieces;
cg_pieces cg_begin_pieces(cg_func *c, const ct_op *op, bc_kind kind, uint32_t tile_bits);
/* Stores v's part of the piece; a barrier follows. */
void cg_put_piece(cg_func *c, const cg_pieces *p, const ct_value *v, const cg_layout *l);
void cg_end_pieces(cg_func *c, const cg_pieces *p);

#endif
