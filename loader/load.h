/* Passes modules to the driver; shared with the files beside load.c. Errors have been reported (loader/message.h). */
#ifndef TILEVM_LOADER_LOAD_H
#define TILEVM_LOADER_LOAD_H

#include "loader/jit.h"

enum { LD_DEFAULT_OPT_LEVEL = 3, LD_LARGE_SHARED = 48 << 10 };

/* ---- devices: target.c ---- */

/* What a device is: 90 for sm_90. */
tvResult ld_device_target(const ld_driver *driver, int device, unsigned *out_target);
/* The same for that of the current context, which Tile IR must run on. */
tvResult ld_context_target(const ld_driver *driver, unsigned *out_target);

/* The same for code of any kind, without a message. Without a context, as when a library is loaded early, the first
   device stands for all. */
tvResult ld_current_target(const ld_driver *driver, unsigned *out_target);

/* What a library is compiled for, as target, portable, form and why of want: the oldest device that can run Tile IR at
   all, and so the others. A cubin is for devices of one kind, and needs a context. */
tvResult ld_library_target(const ld_driver *driver, ld_want *want);

/* ---- modules: load.c ---- */

/* Bytecode for that device; want says how it is compiled, and the rest of it is filled in. */
tvResult ld_module_load(const ld_driver *driver, struct CUmod_st **out_module, tv_str bytecode, ld_want want);

/* Remembers a module that was just loaded, and its kernels. Takes over one use of its image, and jit, what it was
   loaded with (NULL for a cubin); unloads the module on failure. start: when loading began, for notes. */
tvResult ld_module_adopt(const ld_driver *driver, struct CUmod_st *module, ld_image *image, ld_jit *jit, double start);

/* ---- what libraries share with them: load.c ---- */

/* The requests among JIT options. */
ld_want ld_want_of(unsigned count, const tvJitOption *options, void *const *values);
/* Puts the last message into the error log among them, and its length where its size was. */
void ld_fill_log(unsigned count, const tvJitOption *options, void **values);

/* An image, and what it is loaded with: the options of the assembler for PTX, NULL for a cubin. The caller owns both.
 */
tvResult ld_load_image(const ld_driver *driver, tv_str bytecode, const ld_want *want, ld_image **out_image,
                       ld_jit **out_jit);
/* Handles the result of the driver's call: the handle is remembered, and owns image and jit; without a handle, both are
   released. */
tvResult ld_loaded(tvResult code, const void *handle, ld_image *image, ld_jit *jit);
/* Reports why a kernel of a loaded image cannot be used: a driver that loads lazily may fail only at this point. */
tvResult ld_not_ready(tvResult code, const void *owner, const ld_record *record);
void ld_note_load(const ld_image *image, double start);

/* A kernel that was looked up by name: remembers what it is, or forgets what once had its address. */
void ld_note_function(const void *function, const void *owner, const char *name);
/* A look-up that failed. For a module or library of ours, the message names its kernels, or says why the driver, which
   may load lazily, has no code for them. */
tvResult ld_not_found(tvResult code, const void *handle, const char *name);

#endif
