/* Other programs. */
#ifndef TILEVM_TOOLS_CLI_PROGRAM_H
#define TILEVM_TOOLS_CLI_PROGRAM_H

#include "tools/tilevm/cli/cli.h"

/* Runs a program with nothing on its standard input, and appends both its outputs to log. Gives its exit status, or -1
   with the reason in log. Threads: any. */
int cli_program_run(char *const argv[], bc_text *log);

#endif
