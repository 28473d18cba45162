/* Targets: what each sm_XX has (codegen/kernel/targets.def). */
#ifndef TILEVM_CODEGEN_KERNEL_TARGET_H
#define TILEVM_CODEGEN_KERNEL_TARGET_H

#include <stddef.h>

#include "bytecode/base/text.h"

enum {
    CG_HAS_CP_ASYNC = 1,
    CG_HAS_F8 = 2,
    CG_HAS_BF16_ARITH = 4,
    CG_HAS_CLUSTERS = 8,
    CG_HAS_WGMMA = 16,
    CG_HAS_LARGE_VECTORS = 32,
    CG_HAS_F4 = 64,
    CG_HAS_GDC = 128,
    CG_HAS_RED_VECTORS = 256,
    CG_HAS_F32_PAIRS = 512,
    CG_HAS_F8_MMA = 1024,
    CG_HAS_STMATRIX = 2048,
    CG_HAS_BLOCK_SCALE = 4096,
    CG_CUTS_F8_SUMS = 8192, /* sums of products of 8-bit floats have fewer bits than f32 (docs/reference/numerics.md) */
    CG_HAS_TCGEN05 = 1 << 14,                              /* products with sums in tensor memory, */
    CG_HAS_TCGEN05_I8 = 1 << 15,                           /* also of 8-bit integers */
    CG_HAS_ASYNC_PRODUCTS = CG_HAS_WGMMA | CG_HAS_TCGEN05, /* products that read shared memory by themselves */
    CG_HAS_LONG_MMA = 1 << 16,   /* mma.sync of 16 rows and 32 bytes along K; bf16, tf32 and f64 products */
    CG_HAS_BF16 = 1 << 17,       /* fma, min, max and conversions of bf16 */
    CG_HAS_HALF_PAIRS = 1 << 18, /* conversions of two f32 to two f16 or bf16 */
    CG_HAS_MIN_MAX = 1 << 19,    /* min and max of f16, and those that propagate NaN */
    CG_HAS_REDUX = 1 << 20,
    CG_RAN_ON_HARDWARE = 1 << 21,   /* our tests have run on such a GPU */
    CG_HAS_MAPS_FOR_MMA = 1 << 22,  /* tensor maps made in the kernel, setmaxnreg; products by mma.sync are the only
                                        ones that can read what TMA brings */
    CG_HAS_MULTICAST = 1 << 23,     /* bulk copies to all blocks of a cluster, at full speed */
    CG_HAS_TF32_ROUNDING = 1 << 24, /* conversions of f32 to tf32 that round to nearest even */
    CG_ALL_OF_SM_80 = CG_HAS_CP_ASYNC | CG_HAS_LONG_MMA | CG_HAS_BF16 | CG_HAS_HALF_PAIRS | CG_HAS_MIN_MAX
                      | CG_HAS_REDUX,
    CG_ALL_OF_SM_90 = CG_ALL_OF_SM_80 | CG_HAS_F8 | CG_HAS_BF16_ARITH | CG_HAS_CLUSTERS | CG_HAS_GDC
                      | CG_HAS_RED_VECTORS | CG_HAS_STMATRIX | CG_HAS_TF32_ROUNDING
};

typedef struct cg_target {
    const char *name;
    uint16_t sm;
    char suffix;
    uint8_t ptx;
    uint16_t shared_kib;
    uint16_t threads;
    uint32_t features;
} cg_target;

enum { CG_ENCODING_ALIGN = 1024 }; /* bytes of shared memory; the period of the swizzle, which wgmma requires */

const cg_target *cg_target_find(tv_str name);
/* Bytes of static shared memory that a kernel may have. Clients launch with no dynamic shared memory, and ptxas 13.0
   takes more than 48 KiB of static memory for architecture-specific targets only (tried: sm_90a does, sm_90 does not).
 */
uint32_t cg_static_shared(const cg_target *target);
/* How products are computed and how tiles of loops are loaded on the target, in words for users, and whether that was
   ever run on such a GPU. */
typedef struct cg_path {
    const char *products, *loads;
    bool was_run;
} cg_path;
cg_path cg_path_of(const cg_target *target);
enum { CG_MAX_SCRATCH = 48 * 1024 };         /* bytes that a kernel has without a request for more at launch */
const cg_target *cg_target_at(size_t index); /* NULL past the end */

#endif
