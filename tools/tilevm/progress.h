/* A progress bar on stderr: only on a terminal, and only when the work takes long enough to wonder. */
#ifndef TILEVM_TOOLS_PROGRESS_H
#define TILEVM_TOOLS_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct cli_progress {
    const char *noun; /* "files" */
    size_t total;
    bool terminal, shown;
    uint64_t next_ns; /* when to draw next */
} cli_progress;

void cli_progress_start(cli_progress *progress, const char *noun, size_t total);
/* Draws when it is time; done things are finished. */
void cli_progress_update(cli_progress *progress, size_t done);
/* Removes the bar; call it before anything else is printed. It comes back with the next update. */
void cli_progress_clear(cli_progress *progress);

/* Nanoseconds of a clock that only goes forward. */
uint64_t cli_clock_ns(void);

#endif
