/* Random valid modules: for `tilevm gen`, the property tests and the reference comparison. */
#ifndef TILEVM_TOOLS_GEN_GEN_H
#define TILEVM_TOOLS_GEN_GEN_H

#include "bytecode/module.h"

typedef struct gen_options {
    uint64_t seed;
    bc_version version; /* of the module */
    unsigned functions; /* entries, at least 1 */
    unsigned ops;       /* about how many ops an entry has */
    unsigned depth;     /* nested regions, at most 8 */
    bool calm; /* to be run: most numbers are small, loops go round a few times, and what reduces or scans gives the
                  same in whatever order it is done */
    bool (*keep)(const bc_op *op); /* is an op wanted that is about to be placed? NULL: every one is */
} gen_options;

/* A module that verifies. The same options give the same module. Close it with tv_module_close. */
tv_status gen_module(const gen_options *options, tv_module **out_module);

#endif
