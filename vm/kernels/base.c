/* The kernels for any processor of the architecture the library is built for. */
#define VM_ISA base
#define VM_VECTOR 16
#include "vm/kernels/kernels.inc"
