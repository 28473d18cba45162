/* The progress bar. */
#include "tools/tilevm/cli/progress.h"

#include <stdio.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "bytecode/base/text.h"

enum { BAR = 20 };
static const uint64_t first_after_ns = 1000000000, then_every_ns = 100000000;

uint64_t cli_clock_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

void cli_progress_start(cli_progress *progress, const char *noun, size_t total)
{
    uint64_t now = cli_clock_ns();
    *progress = (cli_progress){.noun = noun,
                               .total = total,
                               .terminal = isatty(STDERR_FILENO) != 0,
                               .start_ns = now,
                               .next_ns = now + first_after_ns};
}

double cli_progress_seconds(const cli_progress *progress)
{
    return (double)(cli_clock_ns() - progress->start_ns) * 1e-9;
}

bool cli_progress_is_due(const cli_progress *progress)
{
    return progress->terminal && cli_clock_ns() >= progress->next_ns;
}

static unsigned terminal_columns(void)
{
    struct winsize size;
    bool known = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1;
    return known ? size.ws_col : 80;
}

/* "[#####     ] 3 of 12 files, 3.4/s, 1:05 left, detail": as far as it can be told; one thing is not counted. */
static void put_line(bc_text *out, const cli_progress *progress, size_t done, double share, tv_str detail)
{
    double seconds = cli_progress_seconds(progress),
           left = share > 0 && share <= 1 ? seconds * (1 - share) / share : -1;
    int filled = (int)(share * BAR);
    const char *between = " ";
    bc_text_printf(out, "[%.*s%*s]", filled, "####################", BAR - filled, "");
    if (progress->total > 1) {
        bc_text_printf(out, " %zu of %zu %s", done, progress->total, progress->noun);
        between = ", ";
    }
    if (done)
        bc_text_printf(out, "%s%.*f/s", between, (double)done < 100 * seconds ? 1 : 0, (double)done / seconds);
    if (left >= 0 && left < 360000) {
        bc_text_printf(out, "%s%u:%02u left", between, (unsigned)left / 60, (unsigned)left % 60);
        between = ", ";
    }
    if (detail.len)
        bc_text_printf(out, "%s%.*s", between, (int)detail.len, detail.ptr);
}

void cli_progress_draw(cli_progress *progress, size_t done, double share, tv_str detail)
{
    bc_text line;
    bc_text_init(&line, NULL);
    put_line(&line, progress, done, share, detail);
    unsigned columns = terminal_columns() - 1;
    fprintf(stderr, "\r%.*s\033[K", (int)(line.len < columns ? line.len : columns), line.ptr ? line.ptr : "");
    fflush(stderr);
    bc_text_release(&line);
    progress->next_ns = cli_clock_ns() + then_every_ns;
    progress->shown = true;
}

void cli_progress_update(cli_progress *progress, size_t done)
{
    if (progress->total > 1 && cli_progress_is_due(progress))
        cli_progress_draw(progress, done, (double)done / (double)progress->total, (tv_str){NULL, 0});
}

void cli_progress_clear(cli_progress *progress)
{
    if (!progress->shown)
        return;
    fputs("\r\033[K", stderr);
    fflush(stderr);
    progress->shown = false;
}
