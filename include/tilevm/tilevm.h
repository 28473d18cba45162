/* tilevm: reads, verifies, prints, assembles, writes, compiles and runs CUDA Tile IR bytecode.

   This header includes the whole C API except the loader's, which is in tilevm_cuda.h:

   base.h      status codes, allocators, strings, diagnostics, rules, writers
   module.h    opening, verifying, printing, writing and converting modules
   compile.h   compiling modules to PTX
   call.h      entries, signatures, arguments of launches
   vm.h        running kernels on the CPU

   To run a kernel, call tv_module_open and tv_module_verify. tv_module_entry_find and tv_signature_of_entry describe
   its parameters, and tv_call_new checks arguments and lays them out. Then call tv_vm_new, tv_vm_add_buffer for each
   range of memory, tv_vm_run and tv_vm_get_stats. tests/api/example.c shows all of it.

   These rules hold for every function whose comment does not say otherwise:

   Handles    Everything is an opaque handle or a plain struct. The functions keep no global state, never print, never
              exit and never read a file: they take bytes, and report through the sink that they are given.
   Memory     open/close and new/free pair up: the caller owns what open or new returned, and releases it once. Strings
              and arrays inside a handle live as long as the handle. Arguments are borrowed for the call only.
   Errors     A function that can fail returns a tv_status. Its results go to out_ parameters, which are written only on
              TV_OK. Any of these functions may return TV_NO_MEMORY.
   Threads    A handle is used by one thread at a time; different handles are independent. A verified module is read
              only: any number of threads may run, compile, print or query it.
   Floats     The caller's floating-point environment (rounding, flushing, traps) has no effect and is left as it was.
              Callbacks are called in the default one. */
#ifndef TILEVM_TILEVM_H
#define TILEVM_TILEVM_H

#include "tilevm/base.h"
#include "tilevm/call.h"
#include "tilevm/compile.h"
#include "tilevm/module.h"
#include "tilevm/vm.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The version of this header. */
#define TV_VERSION "0.1.0"

/* The version of the library that the program runs with, which may differ from TV_VERSION.

   Memory    the string lives forever
   Threads   any */
const char *tv_version(void);

/* A number, as text, that changes with the source of the library. Caches store it with each entry, so that the results
   of one build are not used by another.

   Memory    the string lives forever
   Threads   any */
const char *tv_build_id(void);

#ifdef __cplusplus
}
#endif
#endif
