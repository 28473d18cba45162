/* What the files of the printer share. */
#ifndef TILEVM_BYTECODE_PRINT_OP_H
#define TILEVM_BYTECODE_PRINT_OP_H

#include "bytecode/print/names.h"
#include "bytecode/print/print.h"

typedef struct bc_aliases bc_aliases;

typedef struct bc_printer {
    const bc_module *m;
    tv_print_options options;
    bc_arena scratch; /* formats, and what lasts for the module */
    bc_formats formats;
    bc_dense_cache dense;
    bc_text *out;
    tv_writer sink; /* takes out when it is full */
    bool sink_failed;
    unsigned indent; /* levels of two spaces */
    /* per function */
    const bc_names *names;
    /* with debug_info */
    const bc_aliases *aliases;
    /* for the text of one op */
    bool one_line;          /* {...} for regions */
    const bc_op_look *look; /* NULL: names and regions are the module's */
    const bc_op *marked;
    int row;
    unsigned index;
    size_t mark, mark_len; /* in out */
} bc_printer;

/* { ... }; skip_last leaves out the last op. */
void bc_print_region(bc_printer *p, const bc_block *block, bool skip_last);
/* Prints the op, with its regions, without indentation before and newline after it. */
void bc_print_op(bc_printer *p, const bc_op *op);
/* The ops of a block, each on a line of its own. */
void bc_print_ops(bc_printer *p, const bc_block *block, bool skip_last);

/* ---- output.c ---- */

enum { BC_PRINT_PORTION = 1 << 16 }; /* bytes handed to the sink at a time */

/* Newline and indentation. */
void bc_print_newline(bc_printer *p);
/* Hands out to the sink once it has grown to limit bytes. */
void bc_print_flush(bc_printer *p, size_t limit);
/* The name of a value that an op has or takes. */
void bc_print_operand(bc_printer *p, const bc_value *value);
/* (%a: type, %b: type {key = value}); attrs: NULL, or an array with a dictionary for each argument. */
void bc_print_arguments(bc_printer *p, const bc_block *block, const bc_tagged *attrs);
/* The text printed since out->len was start shows entry `index` of a row of op. */
void bc_print_mark(bc_printer *p, const bc_op *op, int row, uint32_t index, size_t start);

/* ---- fit.c ---- */

/* Whether the form of the op's format says all there is to say about it; if not it is printed in generic form. */
bool bc_fits_format(const bc_format *format, const bc_module *m, const bc_op *op);
/* Whether a group prints its text (not what follows its ";"). */
bool bc_group_is_there(const bc_piece *group, const bc_op *op);
/* The values that a reference names: how many, and the i-th. */
uint32_t bc_ref_count(const bc_op *op, bc_ref ref);
const bc_value *bc_ref_value(const bc_op *op, bc_ref ref, uint32_t i);
/* Whether the region ends with that terminator, and it says nothing that the parser would not put there: no operands,
   and with locations, that of the op around it. */
bool bc_can_leave_out(const bc_block *block, uint8_t opcode, bool debug_info);

/* ---- generic.c ---- */

/* "cuda_tile.addf"(%a, %b) <{...}> : (...) -> ..., after the results. */
void bc_print_generic(bc_printer *p, const bc_op *op);

/* ---- debug.c ---- */

/* Numbers the locations of the module. NULL: out of memory. */
const bc_aliases *bc_aliases_new(const bc_module *m, bc_formats *formats, bc_arena *scratch);
void bc_print_alias(bc_text *out, const bc_aliases *aliases, uint32_t loc);
/* The definitions, a line each. */
void bc_print_aliases(bc_printer *p);
/* " loc(#loc3)" when locations are wanted. */
void bc_print_location(bc_printer *p, uint32_t loc);

#endif
