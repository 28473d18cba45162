/* Bulk copies on their way: what bulk.c and tensor.c share. */
#ifndef TILEVM_TESTS_PTXSIM_BULK_H
#define TILEVM_TESTS_PTXSIM_BULK_H

#include "tests/ptxsim/decode.h"

enum { PS_TENSOR_DIMS = 5, PS_MAP_BYTES = 128 };

/* A tensor map as the simulator keeps it, in the first bytes of the 128 that it takes. A field that no
   tensormap.replace has written is not in `set`. */
typedef struct ps_tensor_map {
    uint64_t address, stride[PS_TENSOR_DIMS - 1]; /* bytes; of dimension 1 and on */
    uint32_t extent[PS_TENSOR_DIMS], box[PS_TENSOR_DIMS], step[PS_TENSOR_DIMS];
    uint32_t set; /* bits: the fields in the order of tensor.c's table, each dimension its own */
    uint8_t rank, type, interleave, swizzle, fill;
} ps_tensor_map;

typedef struct ps_transfer {
    const ps_insn *in;
    ps_warp *w;
    unsigned lane;
    uint64_t to, from; /* global address, or offset in a block's shared memory; not used for a tensor */
    ps_block *to_block, *from_block, *mbarrier_block;
    uint32_t bytes, mbarrier;
    uint32_t group; /* of the thread, for copies to global memory */
    uint32_t was;   /* sum of what it would have brought from global memory when it began */
    bool is_box;    /* of a tensor: */
    uint64_t map_address;
    ps_tensor_map map;
    int64_t at[PS_TENSOR_DIMS];
} ps_transfer;

/* The copy is on its way; its bytes of shared memory are marked. */
void ps_transfer_start(const ps_transfer *t);
/* The elements of a box between the tensor and its bytes in shared memory (or a copy of them). */
void ps_tensor_move(const ps_transfer *t, uint8_t *shared);

#endif
