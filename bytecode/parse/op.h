/* What the files about one op share: op.c takes its name and makes it, pieces.c follows its format, stated.c and dict.c
   take what the text gives, block.c puts ops together. */
#ifndef TILEVM_BYTECODE_PARSE_OP_H
#define TILEVM_BYTECODE_PARSE_OP_H

#include "bytecode/parse/parse.h"

/* Number of a row among the op's operands, and among its attributes. */
static inline unsigned bc_operand_row_of(const bc_op_state *s, int row)
{
    return (unsigned)(row - s->info->first_row) - s->info->result_rows - s->info->attr_rows;
}
static inline unsigned bc_attr_row_of(const bc_op_state *s, int row)
{
    return (unsigned)(row - s->info->first_row) - s->info->result_rows;
}

/* An op with names on the left, up to and with its location. */
bool bc_parse_op(bc_parser *p, bc_op_state *s, bc_op **out);
/* Defines the results; of an op that could not be made (NULL), so that their uses are not reported as well. */
bool bc_define_results(bc_parser *p, const bc_op_state *s, bc_op *op);
/* A name that is new. */
bool bc_define(bc_parser *p, const bc_token *name, bc_value *first, uint32_t count);
/* After its name: the rest of an op in the form that its format gives. */
bool bc_parse_pieces(bc_parser *p, bc_op_state *s);

/* The operands of a row: none or more, and %a = %b, ... */
bool bc_parse_operands(bc_parser *p, bc_op_state *s, int row);
bool bc_parse_assignments(bc_parser *p, bc_op_state *s, int row);
/* The name of an argument, onto the stack. */
bool bc_take_arg_name(bc_parser *p);
/* 4, %n, 8 */
bool bc_parse_sizes(bc_parser *p, bc_op_state *s, const bc_piece *piece);
/* Whether the type says the same sizes as the list; the type comes later in the text. */
bool bc_check_sizes(bc_parser *p, const bc_op_state *s, const bc_type *type, bool strides);
/* The types of results, operands or arguments. */
bool bc_state_types(bc_parser *p, bc_op_state *s, const bc_piece *piece);
/* The result of that row is a token, which the text does not say. */
bool bc_state_token(bc_parser *p, bc_op_state *s, int row);
/* Whether the type that comes next is that of the operand; takes nothing. */
bool bc_repeats_type(bc_parser *p, const bc_op_state *s, int row);

/* Notes that the text gives the attribute, which it may do once. */
bool bc_claim_attr(bc_parser *p, bc_op_state *s, int row, const bc_token *at);

#endif
