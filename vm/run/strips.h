/* Chains of element-wise ops, run strip by strip. A strip is a piece of the row-major index space, short enough that
   what passes between the ops stays in the first cache.

   Leaves bring elements in, steps make new ones; both are nodes, numbered leaves first. Nodes may have different
   element types; all have the same number of elements. */
#ifndef TILEVM_VM_RUN_STRIPS_H
#define TILEVM_VM_RUN_STRIPS_H

#include "vm/run/code.h"
#include "vm/run/layout.h"

enum {
    VM_MAX_NODES = 96,          /* of one group */
    VM_STRIP_BYTES = 24 * 1024, /* all buffers of a strip, together */
    VM_MIN_STRIP_BITS = 6,
    VM_MAX_STRIP_BITS = 12
};

typedef enum vm_leaf_kind {
    VM_LEAF_DIRECT, /* strips are packed where they lie */
    VM_LEAF_ONCE,   /* all strips are equal: gathered once, before the first */
    VM_LEAF_EACH,   /* gathered for every strip */
    VM_LEAF_ROWS,   /* through a vm_rows */
    VM_LEAF_ARG     /* an array that the caller gives */
} vm_leaf_kind;

typedef struct vm_leaf {
    uint8_t kind;
    uint8_t bytes;    /* of an element: 1, 2, 4, 8 */
    uint8_t row_bits; /* ROWS */
    uint8_t run_bits; /* ONCE, EACH: 2^run_bits elements are packed, or are one repeated element */
    bool repeats;
    uint32_t arg;       /* ARG */
    uint32_t last_step; /* that reads it */
    size_t at;          /* in the frame: the elements, or the vm_rows */
    size_t staging;     /* ROWS: where its copy would lie */
    size_t buffer;      /* in scratch */
    vm_layout layout;
} vm_leaf;

typedef enum vm_dest { VM_TO_BUFFER, VM_TO_SLOT, VM_TO_SINK } vm_dest;

typedef struct vm_step {
    vm_map map;
    uint16_t in[3];
    uint8_t dest;
    size_t at;     /* buffer in scratch, place in the frame, or index of the sink */
    size_t buffer; /* SINK: where in scratch the strip is made if the sink is written past the caches */
} vm_step;

typedef struct vm_strips {
    uint32_t bits;       /* elements of the whole */
    uint32_t strip_bits; /* of one strip; at most bits */
    uint32_t leaf_count, step_count;
    const vm_leaf *leaves;
    vm_step *steps;
    size_t scratch; /* bytes of buffers */
} vm_strips;

/* Where sinks write: rows of global memory, or packed staging. */
typedef struct vm_target {
    unsigned char *ptr;
    int64_t pitch;
    uint32_t row_bits;
    const unsigned char *low; /* first byte, when in memory */
    bool in_memory;
    bool streamed; /* past the caches */
} vm_target;

/* Gathers what is the same for all strips. scratch: memory for the buffers. */
void vm_strips_begin(vm_frame *f, const vm_strips *s, unsigned char *scratch, const void *node[]);
/* Runs elements [first, first + n), n at most 2^strip_bits. args: for VM_LEAF_ARG, the element `first` of each. node
   then holds where each node's elements are. */
void vm_strips_run(vm_frame *f, const vm_strips *s, unsigned char *scratch, size_t first, size_t n,
                   const void *const *args, const vm_target *targets, const void *node[]);

/* Elements [first, first + n) of a tile at base, packed into out. Runs of 2^run_bits elements are packed already, or
   (repeats) are one element that is repeated. */
void vm_gather(const vm_kernels *kernels, const vm_layout *layout, size_t run_bits, bool repeats, size_t bytes,
               const unsigned char *base, size_t first, size_t n, unsigned char *out);

#endif
