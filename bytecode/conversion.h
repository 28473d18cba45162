/* Conversions in the format of print_tko: where they are, and what they print. Source: operation reference, section
   10. */
#ifndef TILEVM_BYTECODE_CONVERSION_H
#define TILEVM_BYTECODE_CONVERSION_H

#include <stdbool.h>
#include <stddef.h>

#include "tilevm/tilevm.h"

typedef enum bc_print_as {
    BC_PRINT_TEXT, /* device printf does not know it: it comes out as it stands */
    BC_PRINT_SIGNED,
    BC_PRINT_UNSIGNED,
    BC_PRINT_FLOAT,
    BC_PRINT_CHAR,
    BC_PRINT_POINTER,
    BC_PRINT_PERCENT /* "%%": takes no argument */
} bc_print_as;

typedef struct bc_conversion {
    tv_str literal; /* the text before it */
    tv_str text;    /* from its % to its letter, or to before a % that is the next one's; empty after the last one */
    bc_print_as as;
    bool wide;       /* takes 64 bits of an integer */
    bool unfinished; /* the format ends first; in a verified one none is */
} bc_conversion;

/* The next conversion of a format from *at on, which moves behind it. False: none; literal is the rest. All but "%%"
   take an argument. */
bool bc_next_conversion(tv_str format, size_t *at, bc_conversion *out);

#endif
