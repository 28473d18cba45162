/* Distributes items over several threads: each takes the next item that is not begun. Results are collected in
   order. */
#ifndef TILEVM_TOOLS_CLI_WORK_H
#define TILEVM_TOOLS_CLI_WORK_H

#include "tools/tilevm/cli/progress.h"

enum { CLI_MAX_THREADS = 256 };

typedef struct cli_work {
    size_t count;     /* of things */
    size_t threads;   /* up to CLI_MAX_THREADS; 0: the caller does all before it takes the first */
    const char *noun; /* what the progress bar counts; NULL: no bar */
    void *user;
    void (*run)(void *user, size_t i); /* by any thread */
    /* By the caller, once the thing and all before it are done. Clears the bar before it prints. */
    void (*take)(void *user, size_t i, cli_progress *progress);
} cli_work;

/* False: out of memory, and nothing was done. */
bool cli_work_run(const cli_work *work);

/* The number of threads for that many items: jobs, or if that is 0, one per processor; not more than items, nor than
   `most`. */
size_t cli_thread_count(unsigned jobs, size_t things, size_t most);

#endif
