/* Watching a kernel run on the virtual machine: progress on a terminal, and ^C, which ends the run in order. */
#ifndef TILEVM_TOOLS_RUN_WATCH_H
#define TILEVM_TOOLS_RUN_WATCH_H

#include "tools/tilevm/cli/progress.h"
#include "tools/tilevm/run/run.h"

typedef struct run_watch {
    cli_progress bar;
    tv_vm *const *vm; /* the machine, once it is made */
    bool hidden;      /* no bar */
    bool stopped;
    tv_vm_place place; /* where */
} run_watch;

/* From here on ^C stops the machine that gets these options, whose callbacks get the job, and a second one the program.
   vm: where the machine will be; hidden: no progress. */
void run_watch_start(run_watch *watch, run_job *job, tv_vm *const *vm, bool hidden, tv_vm_options *options);
/* Prints the kernel's output to standard output, and hides the progress bar for it. */
tv_writer run_watch_output(run_watch *watch);
/* Ends the watch. Returns code, or CLI_INTERRUPTED after a line that says how far the run came. */
int run_watch_end(run_watch *watch, int code);

#endif
