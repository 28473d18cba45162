/* Text of modules, ops, types and attributes: the assembly of docs/reference/text.md. The printer runs before the trust
   line: it takes any module that the reader or the parser made, and its output is linear in what it prints. */
#ifndef TILEVM_BYTECODE_PRINT_PRINT_H
#define TILEVM_BYTECODE_PRINT_PRINT_H

#include "bytecode/base/text.h"
#include "bytecode/number/dense.h"
#include "bytecode/module.h"

/* Appends one op as the whole disassembly shows it, with the same names, on one line and with {...} for its regions.
   row, index  the field at fault, as in bc_place; BC_NO_ROW (-1) for none
   out_caret, out_caret_len  its part of the text in bytes, counted from where out ended before; length 0 when the text
                             does not show it
   Gives an empty text when memory runs out. Takes time linear in the function. */
void bc_print_op_text(const bc_module *m, const bc_function *f, const bc_op *op, int row, unsigned index, bc_text *out,
                      uint32_t *out_caret, uint32_t *out_caret_len);

/* The same for many ops of a function, each in time that does not depend on the function. NULL: out of memory; free
   takes NULL. */
typedef struct bc_op_printer bc_op_printer;
bc_op_printer *bc_op_printer_new(const bc_module *m, const bc_function *f);
void bc_op_printer_print(bc_op_printer *printer, const bc_op *op, bc_text *out);
/* An op that somebody has changed: its values and regions are none of the function's, so `look` says how they are
   written, a value with its %, a region with its braces. The results are left out. The form is the one that `like` has,
   the op that it was; NULL: the short one. */
typedef struct bc_op_look {
    void *user;
    void (*value)(void *user, const bc_value *value, bc_text *out);
    void (*region)(void *user, const bc_block *block, bc_text *out);
} bc_op_look;
void bc_op_printer_print_as(bc_op_printer *printer, const bc_op *op, const bc_op *like, const bc_op_look *look,
                            bc_text *out);
/* One of the function's values as an operand. */
void bc_op_printer_value(const bc_op_printer *printer, const bc_value *value, bc_text *out);
/* The results of one of the function's ops as they stand in front of it. */
void bc_op_printer_results(const bc_op_printer *printer, const bc_op *op, bc_text *out);
void bc_op_printer_free(bc_op_printer *printer);

/* tile<4x8xf32>; prefix: !cuda_tile.tile<4x8xf32>. */
void bc_print_type(bc_text *out, const bc_type *type, bool prefix);
/* A self-describing attribute as MLIR writes it: 1 : i32, [true, "a"], #cuda_tile.div_by<4>. */
void bc_print_tagged(bc_text *out, const bc_tagged *attr);
/* The same where the words div_by, same_elements and bounded stand alone. */
void bc_print_predicate(bc_text *out, const bc_tagged *attr);
/* <default = {latency = 2}> */
void bc_print_hints(bc_text *out, const bc_tagged *hints);
/* <i32: [1, 2]>, without the type that follows. type is that of the value. */
void bc_print_constant(bc_text *out, bc_dense_cache *cache, const bc_type *type, const bc_blob *blob);
/* "0x00FF" */
void bc_print_hex(bc_text *out, const bc_blob *blob);
/* "with \"escapes\0A" */
void bc_print_string(bc_text *out, tv_str s);
/* @name, @"any name" */
void bc_print_symbol(bc_text *out, tv_str s);
/* The numbers of an attribute, as the encoding of its row has them: 1, 2; true, false. NULL: none. */
void bc_print_elements(bc_text *out, bc_encoding encoding, const bc_ints *ints);
void bc_print_i64(bc_text *out, int64_t value);
/* Letters, digits, _ . $, and no digit first. */
bool bc_is_identifier(tv_str s);
/* MLIR's word for the attribute of an enumeration: rounding in #cuda_tile.rounding<zero>. */
void bc_print_enum_word(bc_text *out, bc_enum_id id);
/* #cuda_tile.rounding<zero> */
void bc_print_enum_attr(bc_text *out, bc_enum_id id, uint64_t number);

#endif
