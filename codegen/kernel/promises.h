/* What an entry's symbol promises about its parameters (memory reference, 11.3). */
#ifndef TILEVM_CODEGEN_KERNEL_PROMISES_H
#define TILEVM_CODEGEN_KERNEL_PROMISES_H

#include <stdbool.h>
#include <stdint.h>

/* An array whose address is a parameter: its extents are the parameters after that one, and its strides are the
   parameters after the extents. */
typedef struct cg_array {
    uint32_t rank;
    bool is_simple;                   /* distinct indices within the extents refer to distinct elements of memory */
    const int64_t *extents, *strides; /* by dimension; BC_DYNAMIC: the symbol does not say */
} cg_array;

typedef struct cg_promises {
    bool apart;             /* no two parameters lead to the same memory */
    const cg_array *arrays; /* by parameter; rank 0: it is not the address of an array. NULL: nothing is promised */
} cg_promises;

#endif
