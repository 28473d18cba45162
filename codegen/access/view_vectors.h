/* Reaching the tiles of views, vector by vector. */
#ifndef TILEVM_CODEGEN_ACCESS_VIEW_VECTORS_H
#define TILEVM_CODEGEN_ACCESS_VIEW_VECTORS_H

#include "codegen/analysis/view.h"

/* One vector of the tile as the op moves it. */
typedef struct cg_tile_vector {
    uint32_t count;              /* elements */
    uint32_t reg[CG_MAX_VECTOR]; /* their registers */
    cg_val address;
    int64_t offset;
    cg_val inside; /* whether they lie inside the tensor */
    bool outside;  /* they lie behind its end in every thread */
} cg_tile_vector;

typedef void cg_vector_fn(cg_func *c, void *user, const cg_tile_vector *vector);
/* Calls for every vector of the tile in layout l, of at most 2^most_bits elements (halves of bytes: at least two).
   Threads with replicas are left out where v->owned. A tensor of unknown extent may be reached in two branches, one
   with longer vectors: then every element comes twice. regs: the registers that `found` gives a value to; afterwards
   they hold what either branch left. NULL: there are none. */
void cg_view_vectors(cg_func *c, const cg_view_op *v, const cg_layout *l, uint32_t most_bits, cg_val *regs, void *user,
                     cg_vector_fn *found);

/* The cursor of a load, in layout l, whose index along tile dimension t grows by `count` (64 bits) with each tile: for
   the tile that v names. v->in_turn. */
void cg_view_cursor(cg_func *c, const cg_view_op *v, const cg_layout *l, uint32_t most_bits, uint32_t t, cg_val count,
                    cg_cursor *out);
/* On to the next tile. */
void cg_cursor_advance(cg_func *c, const cg_cursor *cursor);

#endif
