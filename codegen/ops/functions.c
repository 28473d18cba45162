/* Functions of several elements of a thread, side by side. One by one, each would end with a branch or a call, and none
   of its instructions would hide the latency of another's. Operands of f16 and bf16 become f32 a group at a time, and
   results f16 and bf16 again: a thread then holds no more of them in f32 than a group. */
#include "codegen/math/math.h"
#include "codegen/ops/map.h"
#include "codegen/ptx/ptx.h"

/* Results in f32 as f16 or bf16: two neighbours by one instruction, where the target has it. */
static void put_results(cg_func *c, bc_kind kind, const cg_val *x, const uint32_t *at, uint32_t count, cg_val *out)
{
    for (uint32_t i = 0, step; i < count; i += step) {
        bool pair = i + 1 < count && at[i] % 2 == 0 && at[i + 1] == at[i] + 1;
        step = pair && cg_pair_from_f32(c, kind, x + i, out + at[i]) ? 2 : 1;
        if (step == 1)
            out[at[i]] = cg_from_f32(c, kind, "rn", x[i]);
    }
}

bool cg_function_together(cg_func *c, const char *name, bc_kind kind, const cg_val *x, uint32_t count, uint32_t idle,
                          cg_val *out)
{
    bool is_half = kind == BC_F16 || kind == BC_BF16, wide = kind == BC_F64;
    if (!(is_half || wide || kind == BC_F32) || !cg_math_has_near(name, wide))
        return false;
    for (uint32_t r = 0; r < count;) {
        cg_val operands[CG_MATH_GROUP], results[CG_MATH_GROUP];
        uint32_t at[CG_MATH_GROUP], found = 0;
        for (; r < count && found < cg_math_group(wide); r++)
            if (!(r & idle)) {
                operands[found] = is_half ? cg_any_to_f32(c, kind, x[r]) : cg_reg(c, x[r]);
                at[found++] = r;
            }
        if (!found)
            break;
        cg_math_together(c, name, wide, operands, found, results);
        if (is_half)
            put_results(c, kind, results, at, found, out);
        for (uint32_t i = 0; !is_half && i < found; i++)
            out[at[i]] = results[i];
    }
    for (uint32_t r = 0; r < count; r++)
        out[r] = out[r & ~idle];
    return true;
}
