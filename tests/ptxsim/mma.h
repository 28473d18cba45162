/* Matrix instructions: what their decoders note. */
#ifndef TILEVM_TESTS_PTXSIM_MMA_H
#define TILEVM_TESTS_PTXSIM_MMA_H

#include "tests/ptxsim/sim.h"

typedef enum ps_bit_op { PS_BIT_NONE, PS_BIT_XOR, PS_BIT_AND } ps_bit_op;

typedef struct ps_mma {
    uint16_t m, n, k;
    ps_type d, a, b, c;
    unsigned a_bits, b_bits; /* of an element in its register, or in memory */
    bool satfinite;
    ps_bit_op bit_op;
    unsigned scale_vec; /* scales per row and instruction; 0: no block scaling */
    ps_type scale;
    bool a_in_shared;                /* wgmma */
    bool a_transposed, b_transposed; /* wgmma: MN-major */
    int scale_a, scale_b;            /* wgmma: 1 or -1 */
} ps_mma;

enum { PS_MMA_MAX_M = 64, PS_MMA_MAX_N = 256, PS_MMA_MAX_K = 256 };

/* The value of an element of a float type of mma, wherever it comes from. */
double ps_mma_value(ps_type type, uint64_t bits);
/* acc as a pattern of the type of the result. */
uint64_t ps_mma_round(ps_type type, double acc);

#endif
