/* Views while lowering: where a tensor lies, and how the elements of a tile reach it. */
#ifndef TILEVM_CODEGEN_VIEW_H
#define TILEVM_CODEGEN_VIEW_H

#include "codegen/memory.h"

typedef struct cg_view {
    const bc_type *tensor;    /* a tensor_view */
    const ct_value *base;     /* its pointer */
    const ct_value **extents; /* by tensor dimension: the operand, NULL where the type says it */
    const ct_value **strides;
    const ct_op *maker; /* the make_tensor_view */
    cg_val address;     /* lower pass: the rest as well */
    cg_val *extent;     /* 64 bits, unsigned; elements */
    cg_val *stride;
} cg_view;

/* Gives every view value its view. False: out of memory. */
bool cg_find_views(ct_func *f);

/* What an op that moves a tile through a view has. */
typedef struct cg_view_op {
    const ct_value *view, *tile; /* tile: the value stored, the result of a load */
    const bc_type *tile_type;
    ct_value **index;
    uint32_t index_count;
    const bc_ints *inbounds;
    bool in_turn; /* an address is made from the one before, in few instructions and registers, which takes longer */
    bool owned;   /* only the owners of elements take part: writes, ordered loads */
} cg_view_op;

cg_view_op cg_view_op_of(const ct_op *op);

/* The layout in which the tile of the op reaches memory best. */
cg_layout cg_view_layout(cg_func *c, const cg_view_op *v);
/* Whether every store of a warp fills whole sectors of memory with a tile in this layout, which has no copies. */
bool cg_view_fills_sectors(cg_func *c, const cg_view_op *v, const cg_layout *l);

/* The layout in which a tile reaches memory best when every warp keeps the elements that it has in l. False: there is
   none with rows of some length. */
bool cg_view_rows_of_warps(cg_func *c, const cg_view_op *v, const cg_layout *l, cg_layout *out);

/* layouts pass: of an op that writes a tile through a view. Its first result's home says in which layout. */
void cg_assign_view_write(cg_func *c, const ct_op *op);

/* The tile dimension that is contiguous in memory; false: none is known to be. */
bool cg_view_contiguous(const cg_view_op *v, uint32_t *out_dim);
/* log2 of the elements that one aligned access along tile dimension `fast` may have: it never straddles the tensor's
   end. */
uint32_t cg_view_vector(cg_func *c, const cg_view_op *v, uint32_t fast);
/* Layout in which the sparse index of a gather/scatter view is read when the tile lies in l. */
cg_layout cg_view_sparse_layout(const cg_view_op *v, const cg_layout *l);

/* A remark on how the tile, in layout l, reaches memory by accesses of at most 2^most_bits elements. */
void cg_view_remark(cg_func *c, const ct_op *op, const cg_view_op *v, const cg_layout *l, uint32_t most_bits);

/* One vector of the tile as the op moves it. */
typedef struct cg_tile_part {
    uint32_t count;              /* elements */
    uint32_t reg[CG_MAX_VECTOR]; /* their registers */
    cg_val address;
    int64_t offset;
    cg_val inside; /* whether they lie inside the tensor */
} cg_tile_part;

typedef void cg_part_fn(cg_func *c, void *user, const cg_tile_part *part);
/* Calls for every vector of the tile in layout l, of at most 2^most_bits elements (halves of bytes: at least two).
   Threads with copies are left out where v->owned. A tensor of unknown extent may be reached in two branches, one with
   longer vectors: then every element comes twice. regs: the registers that `found` gives a value to; afterwards they
   hold what either branch left. NULL: there are none. */
void cg_view_parts(cg_func *c, const cg_view_op *v, const cg_layout *l, uint32_t most_bits, cg_val *regs, void *user,
                   cg_part_fn *found);

#endif
