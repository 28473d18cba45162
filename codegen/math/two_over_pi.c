/* The bits of 2/pi, a table that a module has once. */
#include "codegen/math/math.h"
#include "codegen/ptx/emit.h"
#include "codegen/ptx/ptx.h"

cg_val cg_two_over_pi(cg_func *c)
{
    static const uint32_t words[] = {
        0,
#define TWO_PI_BITS(...) __VA_ARGS__
#include "codegen/math/coefficients.def"
    };
    enum { COUNT = sizeof words / sizeof *words };
    if (cg_math_once(c, CG_TABLE_BIT)) {
        bc_text_printf(&c->emit->module_text, ".const .align 4 .b32 tv_two_over_pi[%u] = {", (unsigned)COUNT);
        for (size_t i = 0; i < COUNT; i++)
            bc_text_printf(&c->emit->module_text, "%s0x%08x",
                           i == 0  ? "\n\t"
                           : i % 8 ? ", "
                                   : ",\n\t",
                           (unsigned)words[i]);
        bc_text_puts(&c->emit->module_text, "};\n\n");
    }
    cg_val address = cg_new(c, CG_B64);
    cg_ins(c, "mov.u64 %v, tv_two_over_pi", address);
    return address;
}
