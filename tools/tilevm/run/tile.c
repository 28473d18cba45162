/* The values of ops as arrays. */
#include <string.h>

#include "bytecode/module.h"
#include "bytecode/number/number.h"
#include "tools/tilevm/run/run.h"

tv_dtype run_dtype_of(const char *element)
{
    tv_dtype dtype = TV_U64; /* pointers */
    for (int i = 0; i < TV_DTYPE_COUNT; i++)
        if (strcmp(bc_kinds[bc_dtypes[i].kind].text, element) == 0)
            dtype = (tv_dtype)i; /* the signed one of two comes last */
    return dtype;
}

bool run_tile_array(const tv_tile *tile, tv_dtype dtype, arg_array *out, io_error *error)
{
    const arg_layout packed = {0};
    const unsigned char *data = tile->data;
    tv_dtype stored = dtype == TV_I4 ? TV_I8 : dtype == TV_F4E2M1FN ? TV_F32 : dtype;
    if (!arg_array_new(stored, tile->rank, tile->shape, &packed, out, error))
        return false;
    if (stored == dtype) {
        memcpy(out->first, data, tile->size);
        return true;
    }
    for (uint64_t i = 0; i < tile->count; i++)
        arg_store(out->first + i * out->item, out->item,
                  dtype == TV_I4 ? (uint64_t)bc_int_sign_extend(data[i], 4)
                                 : bc_float_convert(BC_F32, BC_F4E2M1FN, data[i], BC_RoundingMode_nearest_even));
    return true;
}
