/* Calls into the device's runtime (vprintf, malloc, free), and the strings and globals of a module. */
#ifndef TILEVM_CODEGEN_MODULE_CALL_H
#define TILEVM_CODEGEN_MODULE_CALL_H

#include "codegen/kernel/kernel.h"

enum { CG_MAX_PRINT_ARGS = 32 }; /* of one call: CUDA C++ programming guide, formatted output */

/* vprintf(format, args): args are 32- and 64-bit registers as C's default promotions leave them. */
void cg_call_vprintf(cg_func *c, tv_str format, const cg_val *args, uint32_t count);
/* Prints text as it stands. */
void cg_call_print(cg_func *c, tv_str text);
/* One block at a time: from take to give, only its first thread (the predicate) prints, and no other block's text comes
   between the pieces. Threads without the predicate go on. */
void cg_take_print_lock(cg_func *c, cg_val first);
void cg_give_print_lock(cg_func *c, cg_val first);
/* Appends text to a format so that it is printed as it stands. */
void cg_put_literal(bc_text *format, tv_str text);

/* Memory of the device's heap: NULL (0) where there is none left. In the threads that run it. */
cg_val cg_call_malloc(cg_func *c, uint64_t bytes);
void cg_call_free(cg_func *c, cg_val address);

/* What goes before the kernels of a module: globals, functions of the runtime that its ops call. */
void cg_put_module(const bc_module *m, bc_text *out);

#endif
