/* Decoder of the symbols that cuTile Python makes: function name, calling convention, parameters with the promises
   about them (memory reference, section 11.3). Symbols are hostile input. */
#ifndef TILEVM_BYTECODE_SYMBOL_MANGLE_H
#define TILEVM_BYTECODE_SYMBOL_MANGLE_H

#include "bytecode/base/arena.h"
#include "tilevm/tilevm.h"

enum {
    BC_MAX_SYMBOL = 65535,  /* bytes of a symbol that is decoded */
    BC_MAX_TUPLE_DEPTH = 32 /* tuples in tuples */
};

typedef struct bc_symbol {
    tv_str function;     /* part of the symbol before the mangling */
    unsigned convention; /* 1 to 3 */
    tv_param *params;    /* names and slots are not filled in; strings and arrays live in the arena */
    size_t param_count;
} bc_symbol;

typedef struct bc_symbol_error {
    size_t offset; /* byte of the symbol */
    char message[128];
} bc_symbol_error;

/* Splits at the last "_K". False when there is none or no calling convention ("t" and digits) follows, which is what
   tells a mangled symbol from any other. The part after the convention may still be wrong. */
bool bc_symbol_split(tv_str symbol, tv_str *out_function, tv_str *out_mangled);

/* Decodes. False: error tells what is wrong, or the arena is out of memory (arena->failed). */
bool bc_symbol_parse(bc_arena *arena, tv_str symbol, bc_symbol *out, bc_symbol_error *error);

#endif
