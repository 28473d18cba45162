/* The progress bar. */
#include "tools/tilevm/progress.h"

#include <stdio.h>
#include <time.h>
#include <unistd.h>

enum { BAR = 30 };
static const uint64_t first_after_ns = 1000000000, then_every_ns = 100000000;

uint64_t cli_clock_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

void cli_progress_start(cli_progress *progress, const char *noun, size_t total)
{
    *progress = (cli_progress){.noun = noun, .total = total, .terminal = total > 1 && isatty(STDERR_FILENO)};
    if (progress->terminal)
        progress->next_ns = cli_clock_ns() + first_after_ns;
}

void cli_progress_update(cli_progress *progress, size_t done)
{
    if (!progress->terminal)
        return;
    uint64_t now = cli_clock_ns();
    if (now < progress->next_ns)
        return;
    progress->next_ns = now + then_every_ns;
    progress->shown = true;
    int filled = (int)((double)done / (double)progress->total * BAR);
    fprintf(stderr, "\r[%.*s%*s] %zu of %zu %s\033[K", filled, "##############################", BAR - filled, "", done,
            progress->total, progress->noun);
    fflush(stderr);
}

void cli_progress_clear(cli_progress *progress)
{
    if (!progress->shown)
        return;
    fputs("\r\033[K", stderr);
    fflush(stderr);
    progress->shown = false;
}
