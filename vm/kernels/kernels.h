/* The loops that do the work on elements. They know no tiles, frames or ops: arrays in, arrays out. */
#ifndef TILEVM_VM_KERNELS_KERNELS_H
#define TILEVM_VM_KERNELS_KERNELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* out[i] = f(a[i], b[i], c[i]) for i below n. Arrays are aligned to their elements; out may be one of the inputs
   when the elements have the same size, and overlaps none otherwise. Unused inputs are NULL. */
typedef void vm_kernel(void *out, const void *a, const void *b, const void *c, size_t n);

typedef enum vm_kernel_id {
#define KERNEL(name) VM_K_##name,
#include "vm/kernels/kernels.def"
    VM_KERNEL_COUNT,
    VM_K_NONE = VM_KERNEL_COUNT
} vm_kernel_id;

/* to[i][j] = widened from[i][j] for i below rows, j below n; a row starts to_pitch or from_step bytes after the one
   before. */
typedef void vm_widen_kernel(void *to, size_t to_pitch, const void *from, int64_t from_step, size_t rows, size_t n);

typedef enum vm_widen_id {
#define WIDEN(name) VM_W_##name,
#include "vm/kernels/kernels.def"
    VM_WIDEN_COUNT
} vm_widen_id;

/* c[m x n] = acc + a[m x k] * b[k x n]; pitches (ld) in elements. acc has c's pitch and may be c.
   b          in panels: groups of vm_kernels.panel_bytes of columns (all n when they are fewer), `panel` elements from
              one to the next, each k rows of pitch ldb
   mma_s32    an element of a and b is a pair of 16-bit numbers, neighbours in k; k counts pairs
   k ascends, each sum = fma(a, b, sum). Kernels either start at +0 and add acc last, or start at acc. */
typedef struct vm_mma {
    size_t m, n, k;
    const void *a, *b, *acc;
    void *c;
    int64_t lda, ldb, panel;
    size_t ldc;
} vm_mma;

typedef void vm_mma_kernel(const vm_mma *mma);

/* to[j][i] = from[i][j] for i below rows, j below columns; pitches and element size (1, 2, 4, 8) in bytes. */
typedef void vm_transpose_kernel(void *to, int64_t to_pitch, const void *from, int64_t from_pitch, size_t rows,
                                 size_t columns, unsigned bytes);

typedef struct vm_kernels {
    const char *isa;
    vm_kernel *map[VM_KERNEL_COUNT];
    vm_widen_kernel *widen[VM_WIDEN_COUNT];
    vm_mma_kernel *mma_f32;      /* acc last */
    vm_mma_kernel *mma_onto_f32; /* acc first */
    vm_mma_kernel *mma_onto_f64;
    vm_mma_kernel *mma_s32; /* sum modulo 2^32, acc first */
    size_t panel_bytes;     /* of columns of b (and c) in a panel */
    size_t block_rows;      /* of a that are worth giving at a time */
    vm_transpose_kernel *transpose;
} vm_kernels;

/* The fastest set this processor can run. */
const vm_kernels *vm_kernels_best(void);

/* One set each; NULL when it was not built. Call them only on a processor that has the instructions. */
const vm_kernels *vm_kernels_base(void);
const vm_kernels *vm_kernels_avx2(void);
const vm_kernels *vm_kernels_avx512(void);

/* The member of a family for elements of 1, 2, 4 or 8 bytes. */
static inline vm_kernel_id vm_kernel_of_int(vm_kernel_id i8, unsigned bytes)
{
    return (vm_kernel_id)((int)i8 + (bytes == 1 ? 0 : bytes == 2 ? 1 : bytes == 4 ? 2 : 3));
}
/* The member of a family for f32 or f64. */
static inline vm_kernel_id vm_kernel_of_float(vm_kernel_id f32, bool is_f64)
{
    return (vm_kernel_id)((int)f32 + is_f64);
}

#endif
