/* What a module's strings become in PTX. They may hold any bytes: every one that goes into the text goes through here,
   as it is where PTX can spell it, else changed or, the name of a kernel, refused. */
#ifndef TILEVM_CODEGEN_MODULE_SPELL_H
#define TILEVM_CODEGEN_MODULE_SPELL_H

#include "bytecode/base/text.h"
#include "bytecode/module.h"

/* Can a kernel have that name? It is an identifier of PTX, and no name that generated code gives to something else. */
bool cg_is_kernel_name(tv_str name);
/* A kernel's name, which is one. */
void cg_put_kernel_name(bc_text *out, tv_str name);
/* The symbol of a global: its name, or a made-up one where the name will not do. */
void cg_put_global_name(bc_text *out, const bc_module *m, const bc_global *g);
/* Between the quotes of .file. */
void cg_put_file_name(bc_text *out, tv_str name);
/* Within a comment. */
void cg_put_comment(bc_text *out, tv_str text);
/* The bytes of a string and a zero as numbers: an initializer of s.len + 1 elements. */
void cg_put_bytes(bc_text *out, tv_str s);

#endif
