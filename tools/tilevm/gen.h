/* Random valid modules: for `tilevm gen`, the property tests and the reference comparison. */
#ifndef TILEVM_TOOLS_GEN_H
#define TILEVM_TOOLS_GEN_H

#include "bytecode/module.h"

typedef struct gen_options {
    uint64_t seed;
    bc_version version;  /* of the module */
    unsigned functions;  /* entries, at least 1 */
    unsigned ops;        /* about how many ops an entry has */
    unsigned depth;      /* nested regions, at most 8 */
} gen_options;

/* A module that verifies. The same options give the same module. Close it with tv_module_close. */
tv_status gen_module(const gen_options *options, tv_module **out_module);

#endif
