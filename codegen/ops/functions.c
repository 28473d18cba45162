/* Functions of several elements of a thread, side by side. One by one, each would end with a branch or a call, and none
   of its instructions would hide the latency of another's. */
#include "codegen/math/math.h"
#include "codegen/ops/map.h"
#include "codegen/ptx/ptx.h"

bool cg_function_together(cg_func *c, const char *name, bc_kind kind, const cg_val *x, uint32_t count, uint32_t idle,
                          cg_val *out)
{
    bool is_half = kind == BC_F16 || kind == BC_BF16, wide = kind == BC_F64;
    uint32_t found = 0;
    if (!(is_half || wide || kind == BC_F32) || !cg_math_has_near(name, wide))
        return false;
    cg_val *operands = cg_vals(c, count), *results = cg_vals(c, count);
    for (uint32_t r = 0; operands && results && r < count; r++)
        if (!(r & idle))
            operands[found++] = is_half ? cg_any_to_f32(c, kind, x[r]) : cg_reg(c, x[r]);
    if (!found)
        return false; /* out of memory */
    cg_math_together(c, name, wide, operands, found, results);
    for (uint32_t r = 0, i = 0; r < count; r++) {
        if (r & idle)
            out[r] = out[r & ~idle];
        else
            out[r] = is_half ? cg_from_f32(c, kind, "rn", results[i++]) : results[i++];
    }
    return true;
}
