/* Every op of Tile IR on every type that the verifier takes, in shapes of rank 0 to 4, against references written for
   these tests (exact.h). Prints one line of counts for each part.

     matrix [--quick] [--jobs=N] [--ptx=TARGET | --gpu=TARGET] [PART...]
     matrix [--ptx=TARGET | --gpu=TARGET] --measure N

   --quick takes fewer shapes and samples, --jobs shares the kernels out among processes. --measure prints how far functions are from exact, over N operands each. --ptx
   compiles the kernels for a target and runs them in the simulator of tests/ptxsim, --gpu on a GPU. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/matrix/parts.h"

static const struct {
    const char *name;
    void (*run)(mx_report *r, mx_effort effort);
} parts[] = {
    {"coverage", mx_coverage}, {"arith", mx_arith},     {"convert", mx_convert}, {"functions", mx_functions},
    {"move", mx_move},         {"views", mx_views},     {"memory", mx_memory},   {"aggregate", mx_aggregate},
    {"mma", mx_mma},           {"control", mx_control},
    {"fuse", mx_fuse}, {"print", mx_print},
};

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static bool is_named(int argc, char **argv, const char *name)
{
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], name) == 0)
            return true;
    return false;
}

/* The part's kernels, or this process's share of them. */
static mx_report run_part(size_t part, mx_effort effort)
{
    mx_report r = {.name = parts[part].name};
    parts[part].run(&r, effort);
    fflush(stdout);
    return r;
}

/* One process for each share of the kernels; counts come back in memory that all of them see. */
static mx_report run_jobs(size_t part, mx_effort effort, unsigned jobs)
{
    mx_report sum = {.name = parts[part].name};
    size_t bytes = jobs * sizeof sum;
    mx_report *shares = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shares == MAP_FAILED) {
        perror("matrix");
        exit(2);
    }
    for (unsigned i = 0; i < jobs; i++) {
        if (fork() == 0) {
            mx_use_share(i, jobs);
            shares[i] = run_part(part, effort);
            _exit(0);
        }
    }
    for (unsigned i = 0; i < jobs; i++) {
        int status = 0;
        if (wait(&status) < 0 || !WIFEXITED(status) || WEXITSTATUS(status) != 0) {
            printf("FAILED %s: a process ended early\n", sum.name);
            sum.failed++;
        }
    }
    for (unsigned i = 0; i < jobs; i++) {
        sum.passed += shares[i].passed;
        sum.failed += shares[i].failed;
    }
    munmap(shares, bytes);
    return sum;
}

int main(int argc, char **argv)
{
    mx_effort effort = {0, false};
    unsigned long failed = 0, jobs = 1;
    bool all = true;
    for (int i = 1; i < argc; i++)
        all &= argv[i][0] == '-';
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--quick") == 0)
            effort = (mx_effort){.shift = 5, .quick = true};
        if (strncmp(argv[i], "--ptx=", 6) == 0)
            mx_use_ptx(argv[i] + 6, false);
        if (strncmp(argv[i], "--gpu=", 6) == 0)
            mx_use_ptx(argv[i] + 6, true);
        if (strncmp(argv[i], "--jobs=", 7) == 0)
            jobs = strtoul(argv[i] + 7, NULL, 10);
        if (strcmp(argv[i], "--measure") == 0) {
            mx_functions_measure(i + 1 < argc ? strtoull(argv[i + 1], NULL, 0) : 1 << 20);
            return 0;
        }
    }
    for (size_t i = 0; i < TV_COUNT(parts); i++) {
        if (!all && !is_named(argc, argv, parts[i].name))
            continue;
        double start = seconds();
        mx_report r = jobs > 1 ? run_jobs(i, effort, (unsigned)jobs) : run_part(i, effort);
        printf("matrix %s: %lu passed, %lu failed (%.1f s)\n", r.name, r.passed, r.failed, seconds() - start);
        fflush(stdout);
        failed += r.failed;
    }
    if (all && !mx_is_ptx() && jobs <= 1) {
        mx_report r = {.name = "ops"};
        mx_check_all_executed(&r);
        printf("matrix %s: %lu passed, %lu failed\n", r.name, r.passed, r.failed);
        failed += r.failed;
    }
    return failed != 0;
}
