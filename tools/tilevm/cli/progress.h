/* A progress bar on stderr: only on a terminal, and only when the work takes long enough to wonder. */
#ifndef TILEVM_TOOLS_CLI_PROGRESS_H
#define TILEVM_TOOLS_CLI_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tilevm/tilevm.h"

typedef struct cli_progress {
    const char *noun; /* "files" */
    size_t total;
    bool terminal, shown;
    uint64_t start_ns, next_ns; /* when it began; when to draw next */
} cli_progress;

void cli_progress_start(cli_progress *progress, const char *noun, size_t total);
/* Draws when it is time; done of several things are finished. */
void cli_progress_update(cli_progress *progress, size_t done);
/* The two halves of that. share: of the work that is done, 0 to 1. detail goes behind the number of things. */
bool cli_progress_is_due(const cli_progress *progress);
void cli_progress_draw(cli_progress *progress, size_t done, double share, tv_str detail);
/* Since the start. */
double cli_progress_seconds(const cli_progress *progress);
/* Removes the bar; call it before anything else is printed. It comes back with the next update. */
void cli_progress_clear(cli_progress *progress);

/* Nanoseconds of a clock that only goes forward. */
uint64_t cli_clock_ns(void);

#endif
