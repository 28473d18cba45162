/* Operations on one lane and one element, by the table of opcodes (decode.c). */
#ifndef TILEVM_TESTS_PTXSIM_LANES_H
#define TILEVM_TESTS_PTXSIM_LANES_H

#include "tests/ptxsim/sim.h"

ps_lane ps_int_add, ps_int_sub, ps_int_mul, ps_int_mad, ps_int_mul24, ps_int_mad24, ps_int_sad, ps_int_div, ps_int_rem,
    ps_int_abs, ps_int_neg, ps_int_min, ps_int_max, ps_int_popc, ps_int_clz, ps_int_bfind, ps_int_brev, ps_int_bfe,
    ps_int_bfi, ps_int_bmsk, ps_int_szext, ps_int_dp4a, ps_int_dp2a, ps_int_prmt, ps_int_lop3, ps_int_shf, ps_int_shl,
    ps_int_shr, ps_int_and, ps_int_or, ps_int_xor, ps_int_not, ps_int_cnot, ps_int_slct, ps_int_selp, ps_int_fns;
ps_lane ps_float_add, ps_float_sub, ps_float_mul, ps_float_fma, ps_float_div, ps_float_min, ps_float_max, ps_float_neg,
    ps_float_abs, ps_float_sqrt, ps_float_rcp, ps_float_rsqrt, ps_float_ex2, ps_float_lg2, ps_float_sin, ps_float_cos,
    ps_float_tanh, ps_float_testp, ps_float_copysign, ps_float_mixed;
ps_lane ps_cvt;

/* int (alu_int.c), float (alu_float.c): does the comparison hold? */
bool ps_int_compare(const ps_insn *in, uint64_t a, uint64_t b);
bool ps_float_compare(const ps_insn *in, uint64_t a, uint64_t b);

/* testp.<mode> */
enum { PS_TESTP_FINITE, PS_TESTP_INFINITE, PS_TESTP_NUMBER, PS_TESTP_NOTANUMBER, PS_TESTP_NORMAL, PS_TESTP_SUBNORMAL };
/* prmt.<mode> */
enum { PS_PRMT_INDEX, PS_PRMT_F4E, PS_PRMT_B4E, PS_PRMT_RC8, PS_PRMT_ECL, PS_PRMT_ECR, PS_PRMT_RC16 };
/* shf.<direction>.<amount>: low is left, wide is wrap */

#endif
