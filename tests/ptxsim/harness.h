/* What the tests of the simulator share. */
#ifndef TILEVM_TESTS_PTXSIM_HARNESS_H
#define TILEVM_TESTS_PTXSIM_HARNESS_H

#include "bytecode/base/text.h"
#include "tests/ptxsim/ptxsim.h"

/* Does ptxas take the text too? True where it is not installed (PTXAS, then PATH, then /usr/local/cuda/bin). Prints what it
   says against it. With PTXSIM_DUMP=FOLDER in the environment the text is also written there. */
bool harness_ptxas(const char *text, size_t size, const char *arch);

#endif
