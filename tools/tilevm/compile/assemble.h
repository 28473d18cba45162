/* PTX to cubins: with ptxas where one is found, else with the driver. */
#ifndef TILEVM_TOOLS_COMPILE_ASSEMBLE_H
#define TILEVM_TOOLS_COMPILE_ASSEMBLE_H

#include "bytecode/base/text.h"

typedef struct assemble_options {
    unsigned opt_level; /* 0 to 3 */
    bool line_info;
    unsigned target; /* 90: for the driver, when the PTX does not say */
    bool figures;    /* ptxas: log gets what its -v prints */
} assemble_options;

/* $TILEVM_PTXAS ("none": there is none); else ptxas beside this program, in $CUDA_HOME/bin, $CUDA_PATH/bin, the folders
   of PATH, /usr/local/cuda/bin; the first that can be run. NULL: there is none. The path is in the buffer, or the
   environment's own. */
enum { ASSEMBLE_PATH = 4096 };
const char *assemble_find_ptxas(char buffer[ASSEMBLE_PATH]);

/* Appends the cubin for the PTX's own .target. False: log has why, in lines; true: log has the figures, if they are
   wanted. */
bool assemble_with_ptxas(const char *ptxas, tv_str ptx, const assemble_options *options, bc_text *cubin, bc_text *log);
/* The same with the linker of the installed driver, on its first device. */
bool assemble_with_driver(tv_str ptx, const assemble_options *options, bc_text *cubin, bc_text *log);

#endif
