/* Tiles of views in memory: which elements a tile index means, whether they may be touched, and moving them. */
#ifndef TILEVM_VM_RUN_VIEW_H
#define TILEVM_VM_RUN_VIEW_H

#include "vm/run/code.h"
#include "vm/run/layout.h"

/* A tensor view while it runs, in frame storage; the tile views made from it are the same record. Extents and strides
   in elements, one each per dimension. */
typedef struct vm_record {
    uint64_t base;
    int64_t dims[]; /* extents, then strides */
} vm_record;

static inline size_t vm_record_bytes(uint32_t rank)
{
    return sizeof(vm_record) + 2 * (size_t)rank * sizeof(int64_t);
}

/* One dimension of a tile, as far as it is known when compiling. */
typedef struct vm_tile_dim {
    int64_t extent;      /* of the tile */
    int64_t step;        /* elements per tile index */
    uint32_t dim;        /* of the tensor */
    size_t index;        /* where its index operand lies */
    uint8_t index_bytes; /* 1, 2, 4, 8 */
} vm_tile_dim;

/* A load or store of one tile of a view. */
typedef struct vm_access_info {
    size_t record;
    const vm_tile_dim *dims;
    uint32_t rank;
    int32_t sparse;    /* dimension that a tile of indices selects, or -1 */
    uint32_t bits;     /* elements of the tile */
    uint32_t row_bits; /* of its innermost dimension with more than one element */
    uint8_t kind;      /* bc_kind */
    uint8_t bytes;     /* of an element in memory and in the tile; 0 for f4: two a byte in memory */
    uint8_t tile_bytes;
    uint8_t order;    /* bc_MemoryOrderingSemantics */
    uint64_t padding; /* pattern of elements outside */
} vm_access_info;

/* The elements a tile index means, in this tile block. Only dimensions of more than one element are kept. */
typedef struct vm_box {
    uint64_t base; /* address of tile element 0, whether inside or not; f4: in half bytes */
    uint32_t dims;
    uint32_t valid[VM_MAX_BITS];   /* elements inside, from 0 on */
    uint32_t extent[VM_MAX_BITS];  /* of the tile */
    int64_t step[VM_MAX_BITS];     /* bytes from one to the next; f4: half bytes */
    size_t tile_step[VM_MAX_BITS]; /* elements of the tile */
    bool empty, whole;             /* nothing, everything is inside */
} vm_box;

/* The box of one tile; with a sparse dimension, of its slice number `slice`. */
void vm_box_make(const vm_frame *f, const vm_access_info *info, uint32_t slice, vm_box *out);

/* The addresses [low, high) of what is inside a box that is not empty; false: the strides are too large to decide. */
bool vm_box_span(const vm_box *box, size_t bytes, uint64_t *out_low, uint64_t *out_high);

/* Adds the bytes that are inside to a figure. */
void vm_count_bytes(uint64_t *counter, const vm_access_info *info, const vm_box *box);

/* If the whole tile is inside one region and its innermost rows are packed: where it lies, as rows of 2^info->row_bits.
   write: the region must be writable. Reports nothing. */
bool vm_box_rows(vm_frame *f, const vm_access_info *info, const vm_box *box, bool write, vm_rows *out);

/* Copies 2^count_bits rows of row_bytes into staging, and has `rows` refer to the copy. */
void vm_rows_copy(vm_rows *rows, size_t row_bytes, uint32_t count_bits, unsigned char *staging);

/* Copies what is inside between memory and a packed tile of elements of 1, 2, 4 or 8 bytes. Checks nothing. */
void vm_box_copy(const vm_kernels *kernels, const vm_box *box, size_t bytes, unsigned char *tile, bool to_memory);

/* to[i] = element i of the tile laid out at from, for all elements. */
void vm_copy_layout(const vm_kernels *kernels, const vm_layout *layout, size_t bytes, const void *from, void *to);

/* Reads the tile into packed memory, or writes it. False: trapped. */
bool vm_view_load(vm_frame *f, const vm_inst *inst, const vm_access_info *info, void *tile);
bool vm_view_store(vm_frame *f, const vm_inst *inst, const vm_access_info *info, const void *tile);

/* Calls each(...) for every element inside, with its address (f4: in half bytes) and place in the tile. False: a call
   returned false. */
typedef bool vm_each(vm_frame *f, const vm_inst *inst, void *user, uint64_t address, size_t element);
bool vm_view_each(vm_frame *f, const vm_inst *inst, const vm_access_info *info, vm_each *each, void *user);

/* ---- single elements ---- */

/* The buffer, global or storage from alloca that holds [address, address + size), or NULL. */
const vm_region *vm_region_of(vm_frame *f, uint64_t address, uint64_t size);

/* Checks that [address, address + bytes) may be touched and is aligned; traps otherwise. element: for the message. */
bool vm_reach(vm_frame *f, const vm_inst *inst, uint64_t address, size_t bytes, bool write, size_t element);

/* Moves one element, with the memory order asked for. bytes: 1, 2, 4, 8. */
void vm_load_element(void *out, uint64_t address, unsigned bytes, bc_MemoryOrderingSemantics order);
void vm_store_element(uint64_t address, const void *from, unsigned bytes, bc_MemoryOrderingSemantics order);

/* Called before every access that is not weak: makes earlier writes visible first, and lets other workers run now and
   then, because the access may wait for them. */
void vm_breathe(vm_frame *f);

#endif
