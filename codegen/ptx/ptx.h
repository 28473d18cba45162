/* PTX text: registers, constants, instructions, and what an instruction or two make of single elements. */
#ifndef TILEVM_CODEGEN_PTX_PTX_H
#define TILEVM_CODEGEN_PTX_PTX_H

#include "codegen/kernel/kernel.h"

/* The op that what is emitted is for. */
const ct_op *cg_lowered(const cg_func *c);
/* What is emitted needs at least this ISA version, as major * 10 + minor. */
void cg_need_ptx(cg_func *c, uint8_t version);

cg_val cg_new(cg_func *c, cg_class cls);
/* The same value in a register; a constant gets one in the prologue. */
cg_val cg_reg(cg_func *c, cg_val v);
uint32_t cg_label(cg_func *c);

/* Appends one instruction. In format, %v is a cg_val (a constant is written as a literal), %r one that comes in a
   register (cg_reg, in the order of the format), %V a pointer to some and their number, which become a {vector}, %l a
   label number, %s %u %d %x and %q (uint64_t as hex) as in printf. The line's semicolon is added. */
void cg_ins(cg_func *c, const char *format, ...);
/* The same to the prologue, without %r. */
void cg_ins_first(cg_func *c, const char *format, ...);
/* The same for a part of a line, of which nothing is added. */
void cg_put(cg_func *c, const char *format, ...);
void cg_place_label(cg_func *c, uint32_t label);

/* Appends a template: lines that end in ';', where $0 is the result, $1 to $9 are the operands, and #p0, #h0, #w0, #d0
   and so on are predicates and 16-, 32- and 64-bit registers of its own. ?name? is replaced by the text that modifiers
   gives for it: pairs of names and texts, ended by NULL. Operands come in registers. */
void cg_template(cg_func *c, const char *text, cg_val result, const cg_val *operands, const char *const *modifiers);

/* Declares the registers that are in use. */
void cg_put_registers(const cg_func *c, bc_text *out);

/* An array of registers in the arena. */
cg_val *cg_vals(cg_func *c, size_t count);
/* ---- elements (codegen/ptx/words.c) ---- */

/* Is it the same register, or part of one, or constant? */
bool cg_is_same_val(const cg_val *a, const cg_val *b);
/* to = from, a register or a constant of its class. */
void cg_move(cg_func *c, cg_val to, cg_val from);
/* Both predicates. */
cg_val cg_and(cg_func *c, cg_val a, cg_val b);
/* condition ? a : b, any class. */
cg_val cg_select(cg_func *c, cg_val condition, cg_val a, cg_val b);
/* Between the form in which an element is held and 32-bit integers: i1, i8, i16, i32; kind says which. */
cg_val cg_to_b32(cg_func *c, bc_kind kind, bool is_signed, cg_val x);
cg_val cg_from_b32(cg_func *c, bc_kind kind, cg_val x);
/* An unsigned 32-bit number as an element of any integer kind. */
cg_val cg_from_u32(cg_func *c, bc_kind kind, cg_val x);
/* An integer element of any kind as 64 bits. */
cg_val cg_to_b64(cg_func *c, bc_kind kind, bool is_signed, cg_val x);
/* The lower 32 of 64 bits. */
cg_val cg_low_half(cg_func *c, cg_val x);
/* f16 and bf16 as f32. */
cg_val cg_to_f32(cg_func *c, bc_kind kind, cg_val x);

/* ---- bits of numbers (codegen/ptx/linear.c) ---- */

/* The XOR of the images of the bits of x, which has `total` of them: made in the prologue. */
cg_val cg_linear(cg_func *c, cg_val x, const uint32_t *images, uint32_t total);

#endif
