/* `run --trace-events`: a Chrome trace of a run on the virtual machine. */
#ifndef TILEVM_TOOLS_RUN_EVENTS_H
#define TILEVM_TOOLS_RUN_EVENTS_H

#include "tools/tilevm/run/run.h"

typedef struct run_events run_events;

/* Opens the file, and observes the machine of the job. Returns CLI_OK, or the exit code after a message. */
int run_events_begin(run_job *job);
/* Completes the file, which appears only now. */
int run_events_end(run_job *job);
void run_events_release(run_job *job);

#endif
