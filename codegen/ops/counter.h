/* Counters of loops: in 32 bits where no step leaves them, else in 64, which those of i64 may leave. */
#ifndef TILEVM_CODEGEN_OPS_COUNTER_H
#define TILEVM_CODEGEN_OPS_COUNTER_H

#include "codegen/kernel/kernel.h"

/* The bits that v, a counter or what one starts with, takes so that n steps more do not overflow. op: a `for`, or what
   was made of it and has its bounds and step as the first three operands. */
uint32_t cg_counter_bits(const ct_op *op, const ct_value *v, uint32_t n);
/* Can n steps more not leave what those bits hold? Not known of some counters of i64. */
bool cg_counter_stays(const ct_op *op, const ct_value *v, uint32_t n);
/* An operand of such an op in so many bits. */
cg_val cg_counter_operand(cg_func *c, const ct_op *op, const ct_value *v, uint32_t bits);
/* The counter's register as an element of the loop's kind, in a register of its own. */
cg_val cg_counter_element(cg_func *c, bc_kind kind, cg_val counter);
/* "s" or "u": how it is compared. */
const char *cg_counter_sign(const ct_op *op);

#endif
