/* Strips: how kernels work on tiles with more elements than the registers of a block should hold.

   The layouts of such a kernel have more warp bits than the block has warps. The upper ones number strips: one real
   warp does the work of several, one after the other, in a loop that is emitted once. The strips pass says which ops
   share one (CT_strips), and which tiles are read in others: those lie in local memory, by strip and register, from the
   end of the trip that makes them. What is the same in all strips, such as scalars and small tiles, lives in registers
   as ever.

   All functions may be called for kernels without strips, and do nothing then, unless they say otherwise. */
#ifndef TILEVM_CODEGEN_VALUES_STRIPS_H
#define TILEVM_CODEGEN_VALUES_STRIPS_H

#include "codegen/ptx/access.h"

/* Of a CT_strips, its detail: which strip bits it counts through, and how. */
typedef struct cg_trips {
    uint32_t mask;        /* other bits are those of the loop around it, or zero */
    uint32_t first;       /* only so many trips, the first ones; 0: all */
    struct cg_ring *ring; /* whose slots its loads are read from, which ends with it; NULL: none */
    bool descending;
} cg_trips;

/* An open loop over strips. */
typedef struct cg_strip {
    struct cg_strip *outer;
    cg_trips trips;
    bool is_later; /* instead of `outer` for a while */
    uint32_t number;
    cg_val counter, index; /* the bits of mask in counting order; the number of the strip */
    uint32_t head_label, next_label;
    bc_text before, head; /* text of the function up to here; what begins every trip */
    struct cg_form_of_strip *forms;
} cg_strip;

/* The registers of a value that is made anew in a layout, which it is in by being computed there. */
typedef cg_val *cg_remake(cg_func *c, const ct_op *op, const cg_layout *l);

/* lower pass: around all of it. remake: of lazy values. */
void cg_strips_begin(cg_func *c, cg_remake *remake);
void cg_strips_end(cg_func *c);

/* The strip bits that select elements in the layout; those that select replicas are left out. l NULL:
   none. */
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
/* Is v a tile that lies in local memory when it is read in another loop than the one that makes it? It must have a
   home. */
bool cg_strip_is_kept(cg_func *c, const ct_value *v);
/* Bytes of local memory that it takes there, of each thread. */
uint32_t cg_strip_bytes(cg_func *c, const ct_value *v);

/* ---- loops; only in kernels with strips ---- */

/* Opens a loop within the one that is open, if any. */
cg_strip *cg_strip_open(cg_func *c, cg_trips trips);
/* The innermost open loop. */
cg_strip *cg_strip_now(const cg_func *c);
/* Ends it. */
void cg_strip_close(cg_func *c);
/* Instead of the strip at hand, the one so many trips later, or, behind the last one, again from the first one on, for
   what is emitted up to cg_strip_back. True: it is not behind the last one. Values of the trip cannot be read. */
cg_val cg_strip_later(cg_func *c, uint32_t trips);
void cg_strip_back(cg_func *c);
/* A register that starts as zero before it. */
cg_val cg_strip_carried(cg_func *c, cg_class cls);

/* thread ^ the images of the bits of the strip's number. */
cg_val cg_strip_index(cg_func *c, cg_val thread, const uint32_t *images);
/* Is what is put into shared memory from here on the trip's own, read in the same trip, whatever its layout says of
   strips? */
void cg_strip_puts_own(cg_func *c, bool own);
/* owner, and in the strip that owns what the layout's strips hold replicas of. */
cg_val cg_strip_owner(cg_func *c, const cg_layout *l, cg_val owner);

/* ---- values; only in kernels with strips ---- */

/* The registers of a variant that differs from strip to strip, in the loop that is open: made there, brought back or
 * made anew. */
cg_val *cg_strip_get(cg_func *c, const ct_value *v, cg_variant *variant);
void cg_strip_set(cg_func *c, cg_variant *variant, cg_val *regs);
/* values[i] to the local memory of homes[i], where that lies in strips, in a loop of its own. */
void cg_strip_move(cg_func *c, ct_value *const *values, const ct_value *homes, uint32_t count);

/* The variant in v's home. */
cg_variant *cg_strip_home(cg_func *c, const ct_value *v);
/* Access to a variant's registers from r on in the strip at hand; all of them to local memory where the predicate
 * holds.
 */
cg_access cg_strip_access(cg_func *c, const ct_value *v, const cg_variant *variant, uint32_t r, cg_val predicate);
void cg_strip_save(cg_func *c, const ct_value *v, const cg_variant *variant, const cg_val *regs, cg_val predicate);

/* ---- from strip to strip ---- */

/* Elements of a tile whose index, cut to mask, is a number (in a register); as a tile of their own, their indices lack
   the bits of mask. */
typedef struct cg_excerpt {
    uint32_t mask;
    cg_val number;
} cg_excerpt;
/* v, which is read in `from`, through shared memory to its result: the same elements in another layout, or an excerpt
   of them (NULL: all). Outside of loops. */
void cg_strip_transfer(cg_func *c, const ct_op *op, const ct_value *v, const cg_layout *from,
                       const cg_excerpt *excerpt);

/* ---- in pieces (codegen/values/pieces.c); in all kernels ---- */

/* A loop over the pieces of a tile, each of which goes through shared memory in row-major order; no loop where that
   takes all. */
typedef struct cg_pieces {
    uint32_t shift; /* log2 of the elements of a piece */
    cg_val number;  /* of the piece's first element; a known zero where there is one piece only */
    cg_val base;    /* address of the piece */
    uint32_t head, end;
    bool whole;
} cg_pieces;
cg_pieces cg_begin_pieces(cg_func *c, const ct_op *op, bc_kind kind, uint32_t tile_bits);
/* What v has of the piece, followed by a barrier. */
void cg_put_piece(cg_func *c, const cg_pieces *p, const ct_value *v, const cg_layout *l);
void cg_end_pieces(cg_func *c, const cg_pieces *p);

#endif
