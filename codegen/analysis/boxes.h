/* Tiles that TMA copies to shared memory, in boxes of a tensor map, which gives the address and extents of a tensor and
   the size of a box (PTX ISA, "Tensors"). A box is one panel of an encoding (codegen/analysis/encoding.h), and has the
   encoding's swizzle. */
#ifndef TILEVM_CODEGEN_ANALYSIS_BOXES_H
#define TILEVM_CODEGEN_ANALYSIS_BOXES_H

#include "codegen/analysis/ring.h"

enum { CG_MAP_DIMS = 5, CG_MAP_BYTES = 128, CG_MOST_MAPS = 4 };
/* tensormap.replace exists since PTX 8.3, but assemblers before CUDA 12.4 interpret strides in units of 16 bytes. */
enum { CG_PTX_OF_MAPS = 85 };

typedef struct cg_boxes {
    uint32_t rank;
    uint32_t dims[CG_MAP_DIMS];      /* the map's dimensions as the tile's, the contiguous one first, */
    uint32_t of_tensor[CG_MAP_DIMS]; /* and as the tensor's */
    uint32_t size[CG_MAP_DIMS];      /* of a box, elements */
    uint32_t panels;                 /* boxes beside each other along the first one */
    uint32_t element, swizzle;       /* bytes of an element; the map's field */
    bool rounds;                     /* f32 comes as tf32 */
    uint32_t blocks;                 /* of the cluster, each of which brings its share to all; 1: for itself alone */
    uint32_t cut;                    /* the map's dimension of whose elements each has its share; 0: of the panels */
} cg_boxes;

/* The tensor map of a view and of the boxes of its tiles. */
typedef struct cg_tensor_map {
    cg_boxes boxes;
    const cg_view *view;
    struct cg_map_state *state; /* as lowered (codegen/ops/maps.c); NULL until then */
} cg_tensor_map;

/* The detail of a `maps`, all of the kernel's, and of the `unmap` behind it. */
typedef struct cg_tensor_maps {
    cg_tensor_map maps[CG_MOST_MAPS];
    uint32_t count;
    bool prefetches; /* in a small grid (codegen/passes/maps.c) */
    cg_ring **rings; /* that they fill */
    uint32_t ring_count;
    struct cg_maps_state *state; /* as lowered (codegen/ops/maps.c); NULL until then */
} cg_tensor_maps;

/* Why TMA cannot copy the tile of a load to its encoding: a text for users. NULL: it can, and *out says how. */
const char *cg_boxes_obstacle(const ct_op *load, const cg_encoding *encoding, uint32_t fast, cg_boxes *out);
/* Each block of a cluster is to copy its part of the tile to all blocks. False: the tile cannot be divided in this
   way. */
bool cg_boxes_share(cg_boxes *b, uint32_t blocks);
/* Bytes of a box. */
uint32_t cg_box_bytes(const cg_boxes *b);
/* Can both use one map? */
bool cg_boxes_equal(const cg_boxes *a, const cg_boxes *b);

#endif
