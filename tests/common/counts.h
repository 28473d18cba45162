/* What a launch on the simulator has done, summed over the instructions of each opcode, as text: a line for each opcode
   and shape of product. */
#ifndef TILEVM_TESTS_COMMON_COUNTS_H
#define TILEVM_TESTS_COMMON_COUNTS_H

#include "bytecode/base/text.h"
#include "tests/ptxsim/ptxsim.h"

/* Lines "OPCODE WARPS LANES BYTES M N K A-IN-SHARED", as ptxsim_use has them. */
void counts_print(const ptxsim *sim, bc_text *out);

#endif
