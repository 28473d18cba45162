/* Counters of loops: in 32 bits if no step leaves that range, otherwise in 64 bits, whose range counters of i64 may
   leave. */
#ifndef TILEVM_CODEGEN_OPS_COUNTER_H
#define TILEVM_CODEGEN_OPS_COUNTER_H

#include "codegen/kernel/kernel.h"

/* The bits that v, a counter or its initial value, needs so that n more steps do not overflow. op: a `for`, or an op
   created from one, with bounds and step as its first three operands. */
uint32_t cg_counter_bits(const ct_op *op, const ct_value *v, uint32_t n);
/* Can n more steps not leave the range of those bits? This is not known of some counters of i64. */
bool cg_counter_stays(const ct_op *op, const ct_value *v, uint32_t n);
/* An operand of such an op, with that many bits. */
cg_val cg_counter_operand(cg_func *c, const ct_op *op, const ct_value *v, uint32_t bits);
/* The counter as an element of the loop's kind, in a register of its own. */
cg_val cg_counter_element(cg_func *c, bc_kind kind, cg_val counter);
/* How it is compared: "s" or "u". */
const char *cg_counter_sign(const ct_op *op);

#endif
