/* Chooses the kernels for this processor. */
#include "vm/kernels.h"

#if defined(__GNUC__) && defined(__x86_64__)
static bool has_avx2(void)
{
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("f16c");
}
static bool has_avx512(void)
{
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw")
           && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
}
#else
static bool has_avx2(void)
{
    return false;
}
static bool has_avx512(void)
{
    return false;
}
#endif

const vm_kernels *vm_kernels_best(void)
{
    const vm_kernels *kernels = NULL;
    if (has_avx2() && has_avx512())
        kernels = vm_kernels_avx512();
    if (!kernels && has_avx2())
        kernels = vm_kernels_avx2();
    return kernels ? kernels : vm_kernels_base();
}
