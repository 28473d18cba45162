/* What the tests of the simulator share. */
#ifndef TILEVM_TESTS_PTXSIM_HARNESS_H
#define TILEVM_TESTS_PTXSIM_HARNESS_H

#include "bytecode/base/text.h"
#include "tests/ptxsim/ptxsim.h"

/* Does ptxas take the text too? True where it is not installed (PTXAS, then PATH, then /usr/local/cuda/bin), or
   too old for the text. Prints what it
   says against it. */
bool harness_ptxas(const char *text, size_t size, const char *arch);
bool harness_has_ptxas(void);
/* The GPU targets, "sm_90a", that ptxas lists in its help, at most `most`; the result is how many. */
typedef char harness_target[16];
size_t harness_ptxas_targets(harness_target *out, size_t most);
/* Whether it is there, new enough and takes the text; prints nothing. */
bool harness_ptxas_quietly(const char *text, size_t size, const char *arch);

/* With PTXSIM_DUMP=FOLDER in the environment, writes the bytes to that file there, so that a GPU can run the same. */
void harness_dump(const char *name, const void *bytes, size_t size);

#endif
