/* Names of C++: what a symbol `_Z...` stands for, by the demangler of the C++ runtime, which is loaded when the first
   such name comes. Where there is none (libstdc++.so.6), symbols stay as they are. Symbols are hostile. */
#ifndef TILEVM_BYTECODE_BASE_DEMANGLE_H
#define TILEVM_BYTECODE_BASE_DEMANGLE_H

#include "bytecode/base/text.h"

enum { BC_MAX_CXX_NAME = 4096, BC_MAX_CXX_PARAMS = 256 };

/* A function as C++ writes it. */
typedef struct bc_cxx_name {
    char full[BC_MAX_CXX_NAME]; /* "void ns::axpy<float, 64>(float, float const*)" */
    tv_str function;            /* "ns::axpy<float, 64>", in full */
    tv_str params;              /* "float, float const*" */
} bc_cxx_name;

/* False: not a function of C++, longer than that, or there is no demangler. */
bool bc_demangle(tv_str symbol, bc_cxx_name *out);
/* The next parameter; *rest begins with params. False: there is none. */
bool bc_cxx_next_param(tv_str *rest, tv_str *out);

/* Does what somebody wrote name the function? The better the lower: 0 all of it, with or without parameters; 1 without
   its template arguments; 2 without the namespaces; 3 with the first of its template arguments only, with or without
   the namespaces; -1 not at all. Blanks do not matter, and `unsigned` is `unsigned int`. */
int bc_cxx_match(const bc_cxx_name *name, tv_str wanted);
/* "axpy": neither namespaces nor template arguments; a part of name. */
tv_str bc_cxx_short_name(const bc_cxx_name *name);

/* What a parameter of C++ is, as far as it can be passed from outside. */
typedef struct bc_cxx_type {
    tv_dtype dtype; /* of the number; of what a pointer or a reference leads to */
    bool known;     /* dtype is one */
    bool pointer;   /* or a reference */
    bool constant;  /* what it leads to is only read */
} bc_cxx_type;
bc_cxx_type bc_cxx_type_of(tv_str param);

/* Appends the function's name without its parameters where the symbol is one of C++, else the symbol. */
void bc_text_function(bc_text *out, tv_str symbol);

#endif
