/* Tiles that TMA copies to shared memory, in boxes of a tensor map. A map gives the address and extents of a tensor
   and the size of a box (PTX ISA, "Tensors"). A box is one panel of an encoding (codegen/analysis/encoding.h), and
   has the encoding's swizzle. */
#ifndef TILEVM_CODEGEN_ANALYSIS_BOXES_H
#define TILEVM_CODEGEN_ANALYSIS_BOXES_H

#include "codegen/analysis/ring.h"

enum { CG_MAP_DIMS = 5, CG_MAP_BYTES = 128, CG_MOST_MAPS = 8 };
/* tensormap.replace exists since PTX 8.3, but assemblers before CUDA 12.4 take strides in units of 16 bytes. */
enum { CG_PTX_OF_MAPS = 85 };

typedef struct cg_boxes {
    uint32_t rank;
    uint32_t dims[CG_MAP_DIMS];      /* the tile dimension of each map dimension, the contiguous one first */
    uint32_t of_tensor[CG_MAP_DIMS]; /* the tensor dimension of each */
    uint32_t size[CG_MAP_DIMS];      /* of a box, in elements */
    uint32_t panels;                 /* boxes side by side along the first dimension */
    uint32_t element, swizzle;       /* bytes of an element; the map's swizzle field */
    bool rounds;                     /* f32 is rounded to tf32 */
    uint32_t blocks;                 /* that copy a part each for all blocks of the cluster; 1: no multicast */
    uint32_t cut;                    /* the map dimension that is divided among the blocks; 0: the panels are */
} cg_boxes;

/* The tensor map of a view and of the boxes of its tiles. */
typedef struct cg_tensor_map {
    cg_boxes boxes;
    const cg_view *view;
    struct cg_map_state *state; /* set by lowering (codegen/ops/maps.c); NULL until then */
} cg_tensor_map;

/* The detail of `maps`, all tensor maps of the kernel, and of the `unmap` that follows it. */
typedef struct cg_tensor_maps {
    cg_tensor_map maps[CG_MOST_MAPS];
    uint32_t count;
    bool prefetches; /* tiles to L2 in a small grid (codegen/groups/maps.c) */
    cg_ring **rings; /* that the maps fill */
    uint32_t ring_count;
    struct cg_maps_state *state; /* set by lowering (codegen/ops/maps.c); NULL until then */
} cg_tensor_maps;

/* A text for users: why TMA cannot copy the tile of a load to its encoding. NULL: it can, and *out says how. */
const char *cg_boxes_obstacle(const ct_op *load, const cg_encoding *encoding, uint32_t fast, cg_boxes *out);
/* Divides the tile, so that each block of a cluster copies a part of it to all blocks. False: it cannot be divided. */
bool cg_boxes_share(cg_boxes *b, uint32_t blocks);
/* Bytes of a box. */
uint32_t cg_box_bytes(const cg_boxes *b);
/* Can both use the same map? */
bool cg_boxes_equal(const cg_boxes *a, const cg_boxes *b);

#endif
