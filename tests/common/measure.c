#include "tests/common/measure.h"

#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>

extern char **environ;

static double clock_seconds(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

double measure_now(void)
{
    return clock_seconds(CLOCK_MONOTONIC);
}

double measure_cpu(void)
{
    return clock_seconds(CLOCK_THREAD_CPUTIME_ID);
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

void measure_sort(double *values, size_t count)
{
    qsort(values, count, sizeof *values, by_value);
}

double measure_at(const double *sorted, size_t count, unsigned percent)
{
    size_t i = count * percent / 100;
    return sorted[i < count ? i : count - 1];
}

static double seconds_of(struct timeval t)
{
    return (double)t.tv_sec + (double)t.tv_usec * 1e-6;
}

measure_process measure_run(char *const argv[])
{
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", 1, 0);
    posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", 1, 0);
    double start = measure_now();
    pid_t pid;
    int status;
    struct rusage usage;
    if (posix_spawn(&pid, argv[0], &actions, NULL, argv, environ) != 0 || wait4(pid, &status, 0, &usage) < 0) {
        fprintf(stderr, "cannot run %s\n", argv[0]);
        exit(2);
    }
    measure_process p = {.seconds = measure_now() - start,
                         .cpu_seconds = seconds_of(usage.ru_utime) + seconds_of(usage.ru_stime),
                         .rss_kib = usage.ru_maxrss,
                         .exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1};
    posix_spawn_file_actions_destroy(&actions);
    return p;
}
