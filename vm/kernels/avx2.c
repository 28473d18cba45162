/* The kernels for x86 processors with AVX2, FMA and F16C (2013 and later); mk/flags.mk sets the compiler's flags. */
#include "vm/kernels/kernels.h"

#if defined(__AVX2__) && defined(__FMA__) && defined(__F16C__)
#define VM_ISA avx2
#define VM_VECTOR 32
#include "vm/kernels/kernels.inc"
#else
const vm_kernels *vm_kernels_avx2(void)
{
    return NULL;
}
#endif
