/* The table of number types as users name them; public part in tilevm.h. */
#ifndef TILEVM_BYTECODE_DTYPE_H
#define TILEVM_BYTECODE_DTYPE_H

#include "bytecode/op.h"
#include "tilevm/tilevm.h"

typedef struct bc_dtype_info {
    const char *text, *code, *numpy, *descr, *tensors; /* see dtypes.def */
    bc_kind kind;
    bool is_signed;
} bc_dtype_info;

extern const bc_dtype_info bc_dtypes[TV_DTYPE_COUNT];

static inline bool bc_dtype_is_float(tv_dtype dtype)
{
    return bc_kinds[bc_dtypes[dtype].kind].kind_class == BC_CLASS_FLOAT;
}

/* By the code of mangled symbols, exact spelling. */
bool bc_dtype_from_code(tv_str code, tv_dtype *out_dtype);
/* The signed type for integers. False for what is not a number. */
bool bc_dtype_from_kind(bc_kind kind, tv_dtype *out_dtype);

#endif
