/* Every op of Tile IR on every type that the verifier takes, in shapes of rank 0 to 4, against references written for
   these tests (exact.h). Prints one line of counts for each part.

     matrix [--quick] [--jobs=N] [--part=I/N] [--ptx=TARGET | --gpu=TARGET] [PART...]
     matrix [--ptx=TARGET | --gpu=TARGET] --measure N

   --quick takes fewer shapes and samples, --part every Nth kernel, from the one with number I on; --jobs shares the
   kernels out among processes. --measure prints how far
   functions are from exact, over N operands each. --ptx compiles the kernels for a target and runs them in the
   simulator of tests/ptxsim, --gpu on a GPU. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/matrix/parts.h"
#include "tests/common/part.h"

static const struct {
    const char *name;
    void (*run)(mx_report *r, mx_effort effort);
} parts[] = {
    {"coverage", mx_coverage}, {"arith", mx_arith},     {"convert", mx_convert}, {"functions", mx_functions},
    {"move", mx_move},         {"views", mx_views},     {"memory", mx_memory},   {"aggregate", mx_aggregate},
    {"mma", mx_mma},           {"control", mx_control}, {"fuse", mx_fuse},       {"print", mx_print},
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

/* Counts of a part, and how long it took. */
typedef struct outcome {
    mx_report report;
    double seconds;
} outcome;

enum { PARTS = sizeof parts / sizeof *parts };

static void run_part(size_t part, mx_effort effort, outcome *out)
{
    double start = seconds();
    out->report = (mx_report){.name = parts[part].name};
    parts[part].run(&out->report, effort);
    out->seconds = seconds() - start;
    fflush(stdout);
}

static unsigned long put_outcome(const outcome *o)
{
    printf("matrix %s: %lu passed, %lu failed (%.1f s)\n", o->report.name, o->report.passed, o->report.failed,
           o->seconds);
    fflush(stdout);
    return o->report.failed;
}

static volatile sig_atomic_t is_stopped;

static void stop(int signal_number)
{
    (void)signal_number;
    is_stopped = 1;
}

/* The parts in several processes, each with its share of the kernels; what they find comes back in memory that all of
   them see. A process runs all parts: on a GPU it needs a context of its own. When the time is up (SIGTERM), what was
   found so far is told. */
static unsigned long run_jobs(const bool wanted[PARTS], mx_effort effort, test_part whole, unsigned jobs)
{
    size_t bytes = jobs * PARTS * sizeof(outcome);
    unsigned long failed = 0;
    outcome *outcomes = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (outcomes == MAP_FAILED) {
        perror("matrix");
        return 1;
    }
    sigaction(SIGTERM, &(struct sigaction){.sa_handler = stop}, NULL);
    for (unsigned j = 0; j < jobs; j++) {
        if (fork() == 0) {
            signal(SIGTERM, SIG_DFL);
            mx_use_share(j * whole.of + whole.number, jobs * whole.of);
            for (size_t i = 0; i < PARTS; i++)
                if (wanted[i])
                    run_part(i, effort, &outcomes[j * PARTS + i]);
            _exit(0);
        }
    }
    for (unsigned j = 0; j < jobs; j++) {
        int status = 0;
        bool ok = wait(&status) >= 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
        if (ok && !is_stopped)
            continue;
        puts(is_stopped ? "FAILED: the time is up" : "FAILED: a process ended early");
        failed++;
        if (is_stopped)
            break;
    }
    for (size_t i = 0; i < PARTS; i++) {
        outcome sum = {.report = {.name = parts[i].name}};
        for (unsigned j = 0; j < jobs; j++) {
            const outcome *o = &outcomes[j * PARTS + i];
            sum.report.passed += o->report.passed;
            sum.report.failed += o->report.failed;
            sum.seconds = o->seconds > sum.seconds ? o->seconds : sum.seconds;
        }
        if (wanted[i])
            failed += put_outcome(&sum);
    }
    munmap(outcomes, bytes);
    return failed;
}

int main(int argc, char **argv)
{
    mx_effort effort = {0, false};
    unsigned long failed = 0, jobs = 1;
    test_part whole = PART_ALL;
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
        if (strncmp(argv[i], "--part=", 7) == 0 && !part_read(argv[i] + 7, &whole)) {
            fprintf(stderr, "matrix: %s: no part\n", argv[i] + 7);
            return 2;
        }
        if (strcmp(argv[i], "--measure") == 0) {
            mx_functions_measure(i + 1 < argc ? strtoull(argv[i + 1], NULL, 0) : 1 << 20);
            return 0;
        }
    }
    bool wanted[PARTS];
    for (size_t i = 0; i < PARTS; i++)
        wanted[i] = all || is_named(argc, argv, parts[i].name);
    if (jobs > 1)
        return run_jobs(wanted, effort, whole, (unsigned)jobs) != 0;
    mx_use_share(whole.number, whole.of);
    for (size_t i = 0; i < PARTS; i++) {
        outcome o;
        if (!wanted[i])
            continue;
        run_part(i, effort, &o);
        failed += put_outcome(&o);
    }
    if (all && whole.of == 1 && !mx_is_ptx()) {
        mx_report r = {.name = "ops"};
        mx_check_all_executed(&r);
        printf("matrix %s: %lu passed, %lu failed\n", r.name, r.passed, r.failed);
        failed += r.failed;
    }
    return failed != 0;
}
