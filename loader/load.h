/* Handing modules to the driver, for what stands beside load.c. Errors have been reported (loader/message.h). */
#ifndef TILEVM_LOADER_LOAD_H
#define TILEVM_LOADER_LOAD_H

#include "loader/jit.h"

enum { LD_DEFAULT_OPT_LEVEL = 3 };

/* What the device of the current context is: 90 for sm_90. */
tvResult ld_context_target(const ld_driver *driver, unsigned *out_target);

/* The same for code of any kind, without a message where there is no context. */
tvResult ld_current_target(const ld_driver *driver, unsigned *out_target);

/* Bytecode for that device; want says how it is compiled, and the rest of it is filled in. */
tvResult ld_module_load(const ld_driver *driver, struct CUmod_st **out_module, tv_str bytecode, ld_want want);

/* Remembers a module that was just loaded, and its kernels. Takes over one use of its image, and jit, what it was
   loaded with (NULL for a cubin); unloads the module on failure. start: when loading began, for notes. */
tvResult ld_module_adopt(const ld_driver *driver, struct CUmod_st *module, ld_image *image, ld_jit *jit, double start);

#endif
