/* Other programs. */
#ifndef TILEVM_TOOLS_CLI_PROGRAM_H
#define TILEVM_TOOLS_CLI_PROGRAM_H

#include "tools/tilevm/cli/cli.h"

/* Runs a program with nothing on its standard input, and appends both its outputs to log. Gives its exit status, or -1
   with the reason in log. Threads: any. */
int cli_program_run(char *const argv[], bc_text *log);

/* Seconds, of a clock that only goes forward. */
double cli_seconds(void);

enum { CLI_TIMED_OUT = -2 };
/* The same with a limit: a program that runs longer is stopped, and the status is CLI_TIMED_OUT. 0: no limit. */
int cli_program_run_for(char *const argv[], double seconds, bc_text *log);

#endif
