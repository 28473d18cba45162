/* The kernels for x86 processors with AVX-512 F, BW, DQ and VL; mk/flags.mk sets the compiler's flags. */
#include "vm/kernels/kernels.h"

#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512DQ__) && defined(__AVX512VL__)
#define VM_ISA avx512
#define VM_VECTOR 64
#include "vm/kernels/kernels.inc"
#else
const vm_kernels *vm_kernels_avx512(void)
{
    return NULL;
}
#endif
