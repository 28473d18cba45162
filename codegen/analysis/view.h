/* Views during lowering: the address of a tensor, and the accesses to a tile's elements. */
#ifndef TILEVM_CODEGEN_ANALYSIS_VIEW_H
#define TILEVM_CODEGEN_ANALYSIS_VIEW_H

#include "codegen/facts/facts.h"
#include "codegen/kernel/kernel.h"

enum { CG_VIEW_DIMS = 64 };

typedef struct cg_view {
    const bc_type *tensor;    /* a tensor_view */
    const ct_value *base;     /* its pointer */
    const ct_value **extents; /* by tensor dimension: the operand; NULL: the type states it */
    const ct_value **strides;
    const ct_op *maker; /* the make_tensor_view */
    cg_val address;     /* the rest is set by the lower pass */
    cg_val *extent;     /* unsigned 64-bit, in elements */
    cg_val *stride;
} cg_view;

/* Gives every view value its view. False: out of memory. */
bool cg_find_views(ct_func *f);

/* Where a tile ends along a dimension: values of 32 bits. */
typedef struct cg_bound {
    cg_val limit; /* coordinates in the tile below it are inside; a known UINT32_MAX: all are */
    cg_val room;  /* if registers add multiples of a unit to the thread's coordinate: how far it may go from there */
    cg_val at,
        size; /* where a thread has one vector along the dimension: its coordinate in the tensor, and the tensor's
                        size; else no registers */
} cg_bound;

/* The 64-bit address of the tile of a load whose index advances by a constant step along one dimension. */
typedef struct cg_cursor {
    cg_val address;               /* of the thread's first element; its register is updated */
    cg_val advance;               /* bytes to the next tile */
    cg_val unit[CG_VIEW_DIMS];    /* bytes to the thread's next element along each tile dimension */
    uint32_t dim;                 /* the tile dimension along which the index advances */
    cg_bound bound[CG_VIEW_DIMS]; /* along the others: of every tile */
} cg_cursor;

/* The operands and properties of an op that loads or stores a tile of a view. */
typedef struct cg_view_op {
    const ct_value *view, *tile; /* tile: the value stored, the result of a load */
    const bc_type *tile_type;
    ct_value **index;
    uint32_t index_count;
    const bc_ints *inbounds;
    bool in_turn; /* each address is computed from the previous one: fewer instructions and registers, longer latency */
    const cg_cursor *cursor; /* that holds the address; NULL: the index gives it; only if in_turn */
    bool owned;              /* only the owners of elements take part: writes, ordered loads */
    bool starts_before;      /* the tile may start in front of the tensor: its indices have signs */
    const cg_val *when;      /* a condition that each vector's `inside` includes; NULL: none */
} cg_view_op;

cg_view_op cg_view_op_of(const ct_op *op);

/* The best layout for the memory accesses of the op's tile. */
cg_layout cg_view_layout(cg_func *c, const cg_view_op *v);
/* Does every access of a warp cover whole sectors of memory if the tile has this layout, which has no replicas? */
bool cg_view_fills_sectors(cg_func *c, const cg_view_op *v, const cg_layout *l);
/* Do stores in this layout cover whole sectors if one of the threads that hold an element stores it? This is for
   tiles with fewer elements than threads, which have replicas in every layout. */
bool cg_view_stores_sectors(cg_func *c, const cg_view_op *v, const cg_layout *l);
/* Does a load in this layout cover whole sectors, with accesses as wide as in the layout that the view would choose? */
bool cg_view_loads_as_well(cg_func *c, const cg_view_op *v, const cg_layout *l);
/* log2 of the elements per access if a tile has this layout. */
uint32_t cg_view_access_bits(cg_func *c, const cg_view_op *v, const cg_layout *l);

/* Does a load in this layout cover whole sectors with accesses of 16 bytes per thread, and with no more than
   consecutive accesses to the same sector? */
bool cg_view_reads_sectors(cg_func *c, const cg_view_op *v, const cg_layout *l);

/* The best layout for memory accesses in which every warp keeps the elements that it has in l. False: there is none
   with rows of sufficient length. */
bool cg_view_rows_of_warps(cg_func *c, const cg_view_op *v, const cg_layout *l, cg_layout *out);

/* The tile dimension that is contiguous in memory; false: none is known to be. */
bool cg_view_contiguous(const cg_view_op *v, uint32_t *out_dim);
/* log2 of the elements that one aligned access along tile dimension `fast` may have without crossing the tensor's
   end. */
uint32_t cg_view_vector(cg_func *c, const cg_view_op *v, uint32_t fast);
/* The layout in which the sparse index of a gather/scatter view is read if the tile has layout l. */
cg_layout cg_view_sparse_layout(const cg_view_op *v, const cg_layout *l);

/* Emits a remark on the memory accesses of the tile in layout l, which have at most 2^most_bits elements. */
void cg_view_remark(cg_func *c, const ct_op *op, const cg_view_op *v, const cg_layout *l, uint32_t most_bits);

/* ---- functions of codegen/analysis/view.c for codegen/access/view_vectors.c ---- */

/* The tensor dimension that tile dimension t walks. */
uint32_t cg_view_dim(const bc_type *view, uint32_t t);
/* The distance between consecutive indices in coordinates: the tile's size, or the view's own step. */
int64_t cg_view_step(const bc_type *view, uint32_t t);
/* The range of the tile's start along tile dimension t, which is not sparse. False: its end is not known to be at most
   2^32. */
bool cg_view_start(const cg_view_op *v, uint32_t t, cg_range *out_range);
/* The range of the tensor's size along tile dimension t. False: it is not known to be below 2^32. */
bool cg_view_extent(const cg_view_op *v, uint32_t t, cg_range *out_range);
/* May the tile extend beyond the tensor along tile dimension t, as far as is known at compile time? */
bool cg_view_may_leave(const cg_view_op *v, uint32_t t);
/* Is the index along tile dimension t loaded, as from a table, so that nothing is known about it, and may it be cut to
   the number of tiles? The tile then starts below 2^32. */
bool cg_view_cuts_index(const cg_view_op *v, uint32_t t);
/* Does the view have 4-bit elements? */
bool cg_view_is_half(const cg_view_op *v);
/* The width of accesses along dimension `fast`, as log2 of elements. */
typedef struct cg_view_lengths {
    uint32_t fast;
    uint32_t inside, edge; /* for tiles known to be inside the tensor; for others */
    const char *limit;     /* the reason why `inside` is not the widest access; NULL: it is */
} cg_view_lengths;
cg_view_lengths cg_view_lengths_of(cg_func *c, const cg_view_op *v, const cg_layout *l, uint32_t most_bits);

#endif
