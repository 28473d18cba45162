/* Runs a program and collects what it printed. */
#ifndef TILEVM_TESTS_COMMON_PROCESS_H
#define TILEVM_TESTS_COMMON_PROCESS_H

#include <stdbool.h>
#include <stddef.h>

typedef struct process_result {
    int exit_code;   /* -1 when a signal ended it */
    int signal;      /* SIGALRM: the time was up */
    long peak_kib;   /* most memory that was resident at a time */
    char *out, *err; /* what it printed, terminated; malloc'ed */
    size_t out_len, err_len;
} process_result;

/* Runs argv[0] (a path, absolute) in folder, with stdin from a file of that folder or empty (NULL), for at most
   `seconds`. The outputs pass through the files .stdout and .stderr of the folder. False: it could not be started,
   errno says why. Threads: any. */
bool process_run(const char *folder, char *const argv[], const char *stdin_name, unsigned seconds,
                 process_result *out_result);
void process_release(process_result *result);

/* Makes sure that a sanitizer's report ends a program with status 99, which no test expects. */
void process_mark_sanitizers(void);

#endif
