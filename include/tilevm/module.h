/* Modules: opening bytecode or assembly text, verifying, printing, writing and converting. Programs include
   tilevm/tilevm.h, which states the rules that hold for all functions. */
#ifndef TILEVM_MODULE_H
#define TILEVM_MODULE_H

#include "tilevm/base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A module of Tile IR in memory. */
typedef struct tv_module tv_module;

/* How to open a module. All zero, or NULL in its place, is the default. */
typedef struct tv_open_options {
    const tv_allocator *allocator; /* NULL: malloc and free; else copied, and in use until tv_module_close */
    size_t memory_limit;           /* bytes that the module may take; 0: no limit */
    bool strict;                   /* also enforce rules that known readers tolerate (class S) */
} tv_open_options;

/* Reads bytecode. The module is not verified yet.

   bytes     the whole file: size bytes, which may come from anywhere
   options   may be NULL
   Memory    bytes is borrowed until tv_module_close
   Returns   TV_OK; TV_INVALID at the first error in the file, which is the only one in the sink */
tv_status tv_module_open(const void *bytes, size_t size, const tv_open_options *options, tv_sink sink,
                         tv_module **out_module);

/* Parses the textual form, which docs/reference/text.md describes. The module is not verified yet.

   text      size bytes, borrowed for the call
   minor     13.minor is the version of the new module; 0: the lowest version that can express it
   options   may be NULL
   Returns   TV_OK; TV_INVALID after up to 20 errors */
tv_status tv_module_parse(const char *text, size_t size, unsigned minor, const tv_open_options *options, tv_sink sink,
                          tv_module **out_module);

/* Releases a module. NULL is fine. No handle that was made from it may be used afterwards. */
void tv_module_close(tv_module *module);

/* The minor number of the module's bytecode version: 1 to 5 for 13.1 to 13.5. */
unsigned tv_module_minor(const tv_module *module);

/* The memory of a module, in bytes: the current amount, and the largest amount since it was opened. */
void tv_module_memory(const tv_module *module, size_t *out_bytes, size_t *out_peak);

/* How to verify a module. All zero, or NULL in its place, is the default. */
typedef struct tv_verify_options {
    bool strict;         /* also enforce rules that known tools tolerate */
    unsigned max_errors; /* stop after that many; 0: 20 */
    unsigned target;     /* 80 for sm_80 ...: also check that every op can run there (G rules); 0: any target */
    bool reference;      /* with target: check what NVIDIA's compiler accepts there, instead of what can run at all */
} tv_verify_options;

/* Checks every rule. After TV_OK the module is trusted: no other function checks it again. It may be called more than
   once, with different options.

   options   may be NULL
   Returns   TV_OK, even when warnings were reported; TV_INVALID after errors were reported (an unknown target is an
             error)
   Threads   no other thread may use the module during the call */
tv_status tv_module_verify(tv_module *module, const tv_verify_options *options, tv_sink sink);

/* How to print a module. All zero, or NULL in its place, is the default. */
typedef struct tv_print_options {
    bool debug_info; /* print locations, as tileirdisasm -g does */
    bool prefix;     /* print mnemonics and types with the prefix "cuda_tile.", and a module op around everything */
    bool offsets;    /* print a comment with the byte offset before each op */
} tv_print_options;

/* Prints a module as text, verified or not.

   options   may be NULL
   out       is called with portions of the text, which ends with a newline
   Returns   TV_OK; TV_IO when out refused a portion */
tv_status tv_module_print(const tv_module *module, const tv_print_options *options, tv_writer out);

/* Writes a module as bytecode of its own version. A module that was read from a file written by cuTile Python and has
   not been changed gives the same bytes.

   sink      receives nothing today
   out       is called with the bytes of the file
   Returns   TV_OK; TV_IO when out refused them */
tv_status tv_module_write(const tv_module *module, tv_sink sink, tv_writer out);

/* Changes the version of a module to 13.minor.

   Returns   TV_OK; TV_INVALID when an op, type or attribute needs a newer version: the sink names each of them, and the
             module is unchanged
   Threads   no other thread may use the module during the call */
tv_status tv_module_convert(tv_module *module, unsigned minor, tv_sink sink);

#ifdef __cplusplus
}
#endif
#endif
