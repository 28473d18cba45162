/* Chooses the kernels for this processor. */
#include "vm/kernels/kernels.h"

#include "bytecode/base/compiler.h"

/* clang 14 has no name for f16c; every processor with AVX2 has it. */
static bool has_avx2(void)
{
    return TV_CPU_HAS(AVX2, "avx2") && TV_CPU_HAS(FMA, "fma");
}

static bool has_avx512(void)
{
    return TV_CPU_HAS(AVX512F, "avx512f") && TV_CPU_HAS(AVX512BW, "avx512bw") && TV_CPU_HAS(AVX512DQ, "avx512dq")
           && TV_CPU_HAS(AVX512VL, "avx512vl");
}

const vm_kernels *vm_kernels_best(void)
{
    const vm_kernels *kernels = NULL;
    if (has_avx2() && has_avx512())
        kernels = vm_kernels_avx512();
    if (!kernels && has_avx2())
        kernels = vm_kernels_avx2();
    return kernels ? kernels : vm_kernels_base();
}
