/* The language of the `format` column of ops.def, taken apart once for the printer and the parser.

     format  = [names "|"] pieces
     names   result names, separated by commas: result k (and those after the last name) is called so.
             =row           named after the value of that constant attribute: cst_1_i32, true
             word+row       word, or word_ and the name of the operand where its op names results
             (a,b#)         after them, names of the arguments of regions: `b#` repeats and counts, `b?` counts only
                            when it repeats. The names of a run of # or ? are used in turn.
             Nothing before the "|": the op takes part in naming but its results have numbers.
     pieces  printed one after the other; the parser skips white space anywhere
       $row         operands of the row, or the value of the attribute
       &row         a string attribute as a symbol, @name
       #ref         types of the values; ref is a row, %N or %N*; `a=b` states one list of types for both,
                    `a|b` means the values of both; a final ~ writes one type where all are the same
       %N, %N*      argument N of the first region; that and all after it
       %N*:row      argument = operand, argument = operand, ...
       *shape:row   sizes of the tensor_view that is result 0, dynamic ones as the operands of the row; also
   *strides:row !row         nothing; the result has the one type that its row allows, a token +row=word    ` attributes
   {row = ...}` unless the attribute has that value
       @row         on a line of its own, the argument list of a region, with types
       ^row         the region; ^row/op leaves out an `op` without operands at its end
       {row?text;other}      text when the row is there, else other (which may be left out)
       {row=word?text}       text unless the attribute has that value
       {a|b?text}            text when either is there
       {*row?text}           text when the operand is not a scalar pointer to the element type of result 0
       anything else         itself

   A row is named as in ROW, without the op. Every row of an op must occur, and every result must have its type stated
   (tests/unit/format.c): what a form cannot say makes the printer fall back to the generic form of MLIR. */
#ifndef TILEVM_BYTECODE_PRINT_FORMAT_H
#define TILEVM_BYTECODE_PRINT_FORMAT_H

#include "bytecode/module.h"

enum { BC_MAX_REFS = 3, BC_MAX_NAMES = 3, BC_MAX_GROUP_DEPTH = 4 };

/* Values that a piece speaks of: those of a row, or arguments of the first region. */
typedef struct bc_ref {
    int16_t row; /* F_<op>_<name>, or BC_REF_ARGS */
    uint8_t arg; /* BC_REF_ARGS: the first argument */
    bool rest;   /* BC_REF_ARGS: and all after it */
} bc_ref;
#define BC_REF_ARGS (-1)

typedef enum bc_piece_kind {
    BC_PIECE_END,
    BC_PIECE_TEXT,
    BC_PIECE_VALUE,
    BC_PIECE_SYMBOL,
    BC_PIECE_TYPES,
    BC_PIECE_ARGS,
    BC_PIECE_ASSIGN,
    BC_PIECE_SIZES,
    BC_PIECE_TOKEN,
    BC_PIECE_DICT,
    BC_PIECE_ARG_LIST,
    BC_PIECE_REGION,
    BC_PIECE_GROUP,
    BC_PIECE_ELSE,
    BC_PIECE_CLOSE
} bc_piece_kind;

typedef struct bc_piece {
    uint8_t kind; /* bc_piece_kind */
    uint8_t ref_count;
    bool splat;          /* TYPES: ~ */
    bool either;         /* TYPES, GROUP: refs joined by | instead of = */
    bool has_word;       /* GROUP, DICT: row=word */
    bool unless_implied; /* GROUP: *row */
    bool strides;        /* SIZES: of the strides */
    uint8_t opcode;      /* REGION: terminator that is left out; OP_LIMIT: none */
    uint16_t jump;       /* GROUP: index of its ELSE or CLOSE; ELSE: of its CLOSE */
    uint64_t word;       /* GROUP, DICT: value of the enumeration */
    bc_ref refs[BC_MAX_REFS];
    tv_str text; /* TEXT */
} bc_piece;

typedef enum bc_name_form { BC_NAME_WORD, BC_NAME_CONSTANT, BC_NAME_OF_OPERAND } bc_name_form;

typedef enum bc_repeat { BC_REPEAT_NO, BC_REPEAT_COUNTED, BC_REPEAT_COUNTED_IF_MANY } bc_repeat;

typedef struct bc_format {
    bool names_results; /* takes part in naming (even if result_names is 0) */
    uint8_t result_names, arg_names;
    uint8_t name_form[BC_MAX_NAMES]; /* bc_name_form */
    int16_t name_row[BC_MAX_NAMES];  /* CONSTANT, OF_OPERAND */
    tv_str result_name[BC_MAX_NAMES];
    tv_str arg_name[BC_MAX_NAMES];
    uint8_t arg_repeat[BC_MAX_NAMES]; /* bc_repeat */
    bc_piece *pieces;                 /* ends with BC_PIECE_END */
    unsigned piece_count;             /* without the END */
    const char *error;                /* what is wrong with the column; NULL: nothing */
} bc_format;

/* Formats taken apart so far. Zero-initialise but for the arena. */
typedef struct bc_formats {
    bc_arena *arena;
    bc_format *of[OP_LIMIT];
} bc_formats;

/* The format of an op of the table; NULL when out of memory. */
const bc_format *bc_format_of(bc_formats *formats, bc_opcode opcode);

/* Piece after the end of a group. */
unsigned bc_group_end(const bc_format *format, unsigned group);
/* Groups that follow each other may begin with the same text and an operand: {mask?, $mask}{padding?, $padding}. Which
   one an operand that was met belongs to shows in its type: the first whose row takes it, or else the first.
     first    the first group of the run
     used     bit k: group k of the run has its operand
     of       one of the groups that begin alike
     Gives the piece of the group. The printer uses it too, to see whether a reader would agree. */
unsigned bc_choose_group(const bc_format *format, unsigned first, uint32_t used, unsigned of, const bc_type *type);
/* The operand row that a group begins with (after some text), or -1. */
int bc_group_operand(const bc_format *format, unsigned group);

/* Row of the op with that name, or -1. loose: case and underscores do not count (MLIR's own names use capitals). */
int bc_row_find(const bc_op_info *info, tv_str name, bool loose);

#endif
