/* What the files of the text parser share. docs/reference/text.md describes the language.

   The parser builds a module with the invariants that the reader gives (module.h) and checks nothing else: an op whose
   operands have the wrong types is parsed, so that the verifier can be tried on it. Every function that returns bool
   gives false after an error was reported or memory ran out; the caller passes that on up to the nearest op, where
   parsing starts again. Nothing recurses deeper than the limits of module.h, whatever the text. */
#ifndef TILEVM_BYTECODE_PARSE_PARSE_H
#define TILEVM_BYTECODE_PARSE_PARSE_H

#include "bytecode/base/text.h"
#include "bytecode/print/format.h"
#include "bytecode/module.h"
#include "bytecode/rules.h"
#include "bytecode/print/scope.h"

/* ---- tokens (lex.c) ---- */

typedef enum bc_token_kind {
    BC_TOK_END,
    BC_TOK_BAD,    /* nothing that can be read: a stray byte, a string without an end */
    BC_TOK_WORD,   /* addf, cuda_tile.addf, f32 */
    BC_TOK_INT,    /* 12, 0x1F */
    BC_TOK_FLOAT,  /* 1.5e-3 */
    BC_TOK_STRING, /* "..." */
    BC_TOK_VALUE,  /* %name, %3#1 */
    BC_TOK_HASH,   /* #loc3, #cuda_tile.rounding */
    BC_TOK_BANG,   /* !cuda_tile.tile */
    BC_TOK_AT,     /* @name, @"any name" */
    BC_TOK_CARET,  /* ^bb0 */
    BC_TOK_ARROW,  /* -> */
    BC_TOK_PUNCT   /* one of ( ) { } [ ] < > , : = ? + - * / | ; */
} bc_token_kind;

typedef struct bc_token {
    uint8_t kind;
    char c; /* PUNCT */
    bool first_on_line;
    bool has_index; /* VALUE with #index */
    uint32_t index;
    const char *ptr; /* all of it */
    size_t len;
    tv_str name; /* without %, #, !, @ or quotes */
} bc_token;

enum {
    BC_MAX_TEXT_ERRORS = 20,
    BC_MAX_RESULT_ROWS = 4,
    BC_MAX_OPERAND_ROWS = 8,
    BC_MAX_ATTR_ROWS = 8,
    BC_MAX_DEBUG_CHAIN = 1000
};

/* ---- the parser ---- */

typedef struct bc_arg { /* an argument of a block to be */
    bc_token name;
    const bc_type *type; /* NULL: not stated yet */
} bc_arg;

/* `#name = ...` or `!name = ...`, found before parsing starts, since uses may come first. */
typedef enum bc_alias_state { BC_ALIAS_FRESH, BC_ALIAS_BUSY, BC_ALIAS_DONE, BC_ALIAS_FAILED } bc_alias_state;
typedef enum bc_alias_kind { BC_ALIAS_TYPE, BC_ALIAS_ATTR, BC_ALIAS_DEBUG } bc_alias_kind;

/* A location or debug attribute. A place without scope says nothing in bytecode, but a di_loc is made of one. */
typedef struct bc_debug_value {
    uint32_t ref;          /* as in bc_op.loc */
    const bc_string *file; /* of a place; NULL: not a place */
    uint32_t line, column;
    bool is_location; /* else a scope, file or compile unit */
} bc_debug_value;

typedef struct bc_alias {
    bc_token name;
    const char *body, *end; /* of the text that is named; end is known once it was parsed */
    uint8_t state, kind;
    bc_debug_value debug;
    bc_tagged attr;
    const bc_type *type;
} bc_alias;

typedef struct bc_parser {
    bc_module *m;
    tv_sink sink;
    const char *text, *end;
    const char *at; /* behind tok */
    bc_token tok;   /* the token to look at */
    bc_arena scratch;
    bc_formats formats;
    unsigned errors;
    bool panic; /* an error was reported and parsing has not started again */
    bool no_memory;
    const bc_function *function; /* being parsed, for messages */
    const bc_op_info *op;        /* likewise */
    unsigned region_depth, type_depth, attr_depth, debug_depth;
    bc_scope names;   /* %name: a run of bc_value; value NULL after an error in what defines it */
    bc_scope aliases; /* #name and !name, with the sigil: a bc_alias */
    bool in_attr_alias;
    uint16_t *debug_chain; /* by debug reference - 1: how deep it is nested */
    size_t debug_chain_capacity;
    bc_value no_value; /* stands for values that could not be defined */

    /* Stacks: an op takes its part of them and gives it back at its end. */
    bc_value **values;
    const bc_type **types;
    bc_arg *args;
    bc_token *results; /* names on the left; index holds the count */
    int64_t *sizes;
    size_t value_count, type_count, arg_count, result_count, size_count;
    size_t value_capacity, type_capacity, arg_capacity, result_capacity, size_capacity;
} bc_parser;

/* ---- tokens ---- */

/* Reads the token at p->at into p->tok. */
void bc_next(bc_parser *p);
/* Goes on at a place in the text. */
void bc_go_to(bc_parser *p, const char *at);
bool bc_is_punct(const bc_parser *p, char c);
bool bc_is_word(const bc_parser *p, const char *word);
/* The same, and takes the token if so. */
bool bc_take_punct(bc_parser *p, char c);
bool bc_take_word(bc_parser *p, const char *word);
/* Takes the token, or reports that it was expected. */
bool bc_expect_punct(bc_parser *p, char c);
bool bc_expect_word(bc_parser *p, const char *word);
bool bc_expect_arrow(bc_parser *p);
/* A word without the prefix "cuda_tile.". */
tv_str bc_without_prefix(tv_str word);

/* [+-]digits that fits 64 bits, as two's complement; *out_negative as written. */
bool bc_parse_u64(bc_parser *p, uint64_t *out, bool *out_negative);
bool bc_parse_i64(bc_parser *p, int64_t *out);
/* An integer from min to max; what names it in messages. */
bool bc_parse_range(bc_parser *p, const char *what, int64_t min, int64_t max, int64_t *out);
/* A number with its sign as it stands in the text, and the token that messages point at; and its pattern. */
bool bc_take_number(bc_parser *p, bc_token *out);
bool bc_number_bits(bc_parser *p, const bc_token *number, bc_kind kind, uint64_t *out);
/* Whether the token is a #cuda_tile.name; out: the name without its prefix. */
bool bc_at_dialect_attr(const bc_parser *p, tv_str *out);
/* The bytes that a string stands for. */
bool bc_parse_string(bc_parser *p, const bc_string **out);
/* @name */
bool bc_parse_symbol(bc_parser *p, const bc_string **out);

/* ---- errors ---- */

/* Report at a token; both give false. The second: "expected WHAT, found ...". */
bool bc_parse_fail(bc_parser *p, bc_rule rule, const bc_token *at, const char *format, ...) TV_PRINTF(4, 5);
bool bc_expected(bc_parser *p, const char *what);
bool bc_parse_no_memory(bc_parser *p);
/* After an error in the op or item at `start`: on to the next one, which `starts` knows by its first token (braces: how
   many are open since `start`), or to the brace that ends the block around it. */
void bc_recover(bc_parser *p, const char *start, bool (*starts)(const bc_parser *p, unsigned braces));
/* "'%.*s'" */
#define BC_STR(s) (int)((s).len < 200 ? (s).len : 200), (s).ptr

/* ---- types, attributes, locations ---- */

/* Whether the token can begin a type. */
bool bc_at_type(const bc_parser *p);
/* Onto the stack of sizes. */
bool bc_push_size(bc_parser *p, int64_t size);
bool bc_parse_type(bc_parser *p, const bc_type **out);
/* The type in the module's table, unless it is made of too much; at is where the text says it. */
bool bc_parse_add_type(bc_parser *p, const bc_token *at, const bc_type *proto, const bc_type **out);
/* A tagged attribute. default_int: type of an integer that states none. */
bool bc_parse_attr(bc_parser *p, bc_kind default_int, bc_tagged *out);
/* <key = {key = value}, ...> */
bool bc_parse_hints(bc_parser *p, bc_tagged *out);
/* Value of an enumeration: word, #cuda_tile.name<word>, number. */
bool bc_parse_enum(bc_parser *p, bc_enum_id id, uint64_t *out);
bool bc_at_enum(const bc_parser *p, bc_enum_id id);
/* Value of an op's attribute row. A constant is only remembered (bc_parse_constant). */
bool bc_parse_row(bc_parser *p, const bc_row *row, bc_attr *out);

/* <i32: elements>, looked at once its type is known. */
typedef struct bc_literal {
    bc_token start; /* the element type; kind END: none */
    bool raw;       /* the token is a string with the bytes */
} bc_literal;
bool bc_skip_literal(bc_parser *p, bc_literal *out);
/* What a constant attribute may look like: a literal, or dense<elements> : type, or #cuda_tile.constant<"0x...">. */
bool bc_parse_constant_attr(bc_parser *p, bc_literal *out);
/* The bytes of the literal for a value of that type. */
bool bc_pack_literal(bc_parser *p, const bc_literal *literal, const bc_type *type, const bc_blob **out);

/* Finds the aliases of the whole text. */
bool bc_find_aliases(bc_parser *p);
/* `#name = ...` at the place where it is written. */
bool bc_parse_alias(bc_parser *p);
/* The alias of that name, parsed; NULL: there is none, or after an error (*out_failed). */
bc_alias *bc_alias_get(bc_parser *p, const bc_token *name, bool *out_failed);
/* loc(...), if it is there; else *out is left alone. */
bool bc_parse_location(bc_parser *p, uint32_t *out);
/* A location or debug attribute that begins at the token. */
bool bc_parse_debug(bc_parser *p, bc_debug_value *out);

/* ---- ops ---- */

typedef struct bc_rows_given { /* what was found for a row */
    size_t first;              /* on the stack of values or types */
    uint32_t count;
    bool given;
} bc_rows_given;

typedef struct bc_op_state {
    const bc_op_info *info;
    const bc_format *format; /* NULL in generic form */
    bc_opcode opcode;
    bc_token at; /* the mnemonic */
    size_t result_base, value_base, type_base, arg_base, size_base;
    uint32_t named_results; /* how many the left side names; 0: there is none */
    bc_rows_given operands[BC_MAX_OPERAND_ROWS];
    bc_rows_given results[BC_MAX_RESULT_ROWS];
    bc_attr attrs[BC_MAX_ATTR_ROWS];
    uint32_t attrs_given;   /* bit i: attribute row i */
    uint32_t attrs_implied; /* the format has a default for it */
    bc_literal literal;
    bc_block *regions[2];
    bool regions_given[2];
    size_t shape_first, stride_first; /* on the stack of sizes, for *shape and *strides */
    uint32_t shape_count, stride_count;
    bool sizes_given[2];
    bc_token sizes_at[2];
} bc_op_state;

/* A value that is used: %name. */
bool bc_parse_value(bc_parser *p, bc_value **out);
/* Entry of a stack; false: out of memory. */
bool bc_push_value(bc_parser *p, bc_value *value);
bool bc_push_type(bc_parser *p, const bc_type *type);
bool bc_push_arg(bc_parser *p, const bc_token *name, const bc_type *type);
/* Types separated by commas, at least one, onto the stack. */
bool bc_parse_types(bc_parser *p, uint32_t *out_count);
/* (%a: type, ...), with locations, onto the stack; attrs, if not NULL, receives an array of dictionaries. */
bool bc_parse_arguments(bc_parser *p, bc_tagged *attrs);
/* { ops } with the arguments on the stack since arg_base. implied: terminator to add if there is none (OP_LIMIT: no
   such). label: the arguments may instead stand behind ^name. */
bool bc_parse_region(bc_parser *p, size_t arg_base, uint8_t implied, bool label, bc_block **out);
/* A terminator that was put in has the location of the op around it, which comes later in the text. */
void bc_locate_implied(bc_block *block, uint32_t loc);
/* After "name": the rest of an op in generic form, up to and with its types. */
bool bc_parse_generic(bc_parser *p, bc_op_state *s);
/* The same around the regions of a module or entry, which have neither operands nor results: () <{properties}> (, and
   ) {attributes} : () -> (). */
bool bc_parse_item_head(bc_parser *p, bc_dict *out_properties);
bool bc_parse_item_tail(bc_parser *p);
/* After "cuda_tile.entry": name, type, hints, argument attributes and body. */
bool bc_parse_generic_entry(bc_parser *p, bc_function *f);
/* {name = value, ...}; close is '}'. */
bool bc_parse_attr_dict(bc_parser *p, bc_op_state *s, bool properties);
/* Sets an attribute row. */
bool bc_give_attr(bc_parser *p, bc_op_state *s, int row, const bc_token *at);

#endif
