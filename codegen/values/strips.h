/* Strips: how kernels work on tiles with more elements than the registers of a block should hold.

   The layouts of such a kernel have more warp bits than the block has warps. The upper ones number strips: one real
   warp does the work of several, one after the other, in a loop that is emitted once. Ops follow each other in one loop
   as long as no thread needs what another one has; what is still wanted when a loop ends goes to local memory, by strip
   and register, and comes back from there. What is the same in all strips, such as scalars and small tiles, lives in
   registers as ever.

   All functions may be called for kernels without strips, and do nothing then, unless they say otherwise. */
#ifndef TILEVM_CODEGEN_VALUES_STRIPS_H
#define TILEVM_CODEGEN_VALUES_STRIPS_H

#include "codegen/ptx/access.h"

/* An open loop over strips. */
typedef struct cg_strip {
    struct cg_strip *outer;
    uint32_t number, mask; /* the strip bits that it counts through; other bits are the outer loop's, or zero */
    cg_val counter, index; /* the bits of mask in counting order; the number of the strip */
    bool descending;
    bool apart; /* what a trip puts into shared memory is its own, whatever the layout says */
    uint32_t head_label, next_label;
    bc_text before, head; /* text of the function up to here; what begins every trip */
    struct cg_form_of_strip *forms;
    struct cg_made *made;
} cg_strip;

/* The registers of a value that is made anew in a layout, which it is in by being computed there. */
typedef cg_val *cg_remake(cg_func *c, const ct_op *op, const cg_layout *l);

/* lower pass: around all of it. remake: of lazy values. */
void cg_strips_begin(cg_func *c, cg_remake *remake);
void cg_strips_end(cg_func *c);
/* Bytes of local memory that a thread needs. */
uint32_t cg_strips_local(const cg_func *c);

/* The strip bits that select elements in the layout; those that select replicas are left out. l NULL:
   none. */
uint32_t cg_strip_mask(const cg_func *c, const cg_layout *l);
static inline bool cg_strip_varies(const cg_func *c, const cg_layout *l)
{
    return c->strip_bits && cg_strip_mask(c, l) != 0;
}

/* ---- loops; only in kernels with strips ---- */

/* Opens a loop of its own within the one that is open, if any. */
cg_strip *cg_strip_open(cg_func *c, uint32_t mask, bool descending);
/* The innermost open loop. */
cg_strip *cg_strip_now(const cg_func *c);
/* Sees that a loop over all strips is open. */
void cg_strip_enter(cg_func *c);
/* Ends the innermost loop, if one is open. */
void cg_strip_close(cg_func *c);
/* A register that starts as zero before the innermost loop. */
cg_val cg_strip_carried(cg_func *c, cg_class cls);

/* thread ^ the images of the bits of the strip's number. */
cg_val cg_strip_index(cg_func *c, cg_val thread, const uint32_t *images);
/* owner, and in the strip that owns what the layout's strips hold replicas of. */
cg_val cg_strip_owner(cg_func *c, const cg_layout *l, cg_val owner);

/* ---- values; only in kernels with strips ---- */

cg_val *cg_strip_get(cg_func *c, const ct_value *v, cg_copy *copy);
void cg_strip_set(cg_func *c, const ct_value *v, cg_val *regs);
/* Local memory for v in its home. */
void cg_strip_keep(cg_func *c, const ct_value *v);
/* v lies in its own local memory, or in that of `like`, which has the same home. */
void cg_strip_adopt(cg_func *c, const ct_value *v, const ct_value *like);
/* values[i] to the local memory of homes[i], where that lies in strips; closes the loop. */
void cg_strip_move(cg_func *c, ct_value *const *values, const ct_value *homes, uint32_t count);

/* The copy in v's home. */
cg_copy *cg_strip_home(cg_func *c, const ct_value *v);
/* Local memory for a copy; access to its registers from r on in the strip at hand; all of them to local memory. */
void cg_strip_give(cg_func *c, const ct_value *v, cg_copy *copy);
cg_access cg_strip_access(cg_func *c, const ct_value *v, const cg_copy *copy, uint32_t r, cg_val predicate);
void cg_strip_save(cg_func *c, const ct_value *v, cg_copy *copy, const cg_val *regs);

/* ---- ops ---- */

/* Ops from here on, or up to here, are the body of a reduce or scan, which works on scalars: they leave the loop alone.
 */
void cg_strip_inline(cg_func *c, bool begins);
/* Makes copies that were asked for in layouts that other threads or strips have the elements for. */
void cg_strip_flush(cg_func *c);

/* Elements of a tile whose index, cut to mask, is slice (in a register); as a tile of their own, their indices lack the
   bits of mask. */
typedef struct cg_slice {
    uint32_t mask;
    cg_val slice;
} cg_slice;
/* v, read in `from`, to a copy of `result`: the same elements, or a slice of them (NULL: all). Outside of loops. */
void cg_strip_transfer(cg_func *c, const ct_value *v, const cg_layout *from, const cg_slice *slice,
                       const ct_value *result, cg_copy *copy);
/* The slice of v, which is read in layout `from`, through shared memory; sets the result. */
void cg_strip_extract(cg_func *c, const ct_value *v, const cg_layout *from, const cg_slice *slice,
                      const ct_value *result);

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
