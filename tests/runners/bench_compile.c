/* bench_compile TILEIRAS CORPUS [--share N] [--target sm_XX]: how long compiling takes, each figure beside its aim.

   1. From bytecode to PTX in this process: opened, verified, compiled, for every kernel of versions 13.5 and 13.4.
   2. The drop-in as a process, for every Nth kernel of 13.5 (8 unless --share says so): a cubin through ptxas, and PTX;
      with TILEIR_TOOLS set to the folder of NVIDIA's tools, theirs in turn with ours, both with their ptxas.
   3. From bytecode to a loaded kernel where the cache has it, for the same kernels, against the driver that dlopen
   finds: with that of tests/fakecuda it is the loader's part alone.

   Prints, as bench.c does; refused kernels are left out on both sides and counted. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bytecode/base/text.h"
#include "loader/driver.h"
#include "tests/common/files.h"
#include "tests/common/measure.h"
#include "tilevm/tilevm.h"
#include "tilevm/tilevm_cuda.h"

enum { ROUNDS = 5, SHOWN = 10 };

/* Milliseconds of many kernels. */
typedef struct series {
    double *ms;
    size_t count;
    double worst, sum;
    const char *worst_path;
} series;

typedef struct bench {
    char *tileiras, *reference; /* reference: NULL without TILEIR_TOOLS */
    const char *corpus, *target;
    size_t share;
    char work[64]; /* folder for outputs and the cache */
} bench;

static const char *name_of(const char *path)
{
    const char *slash = path ? strrchr(path, '/') : NULL;
    return slash ? slash + 1 : "";
}

static void add(series *s, double ms, const char *path)
{
    s->ms = realloc(s->ms, (s->count + 1) * sizeof *s->ms);
    if (!s->ms)
        exit(2);
    s->ms[s->count++] = ms;
    s->sum += ms;
    if (ms > s->worst) {
        s->worst = ms;
        s->worst_path = path;
    }
}

static void heading(void)
{
    printf("%-44s %8s %8s %8s %9s  %s\n", "milliseconds", "median", "90th", "worst", "sum", "aim");
}

/* Prints a line; returns the median. */
static double put_series(series *s, const char *what, double aim_median, double aim_worst)
{
    if (s->count == 0) {
        printf("%-44s none\n", what);
        return 0;
    }
    measure_sort(s->ms, s->count);
    double median = measure_at(s->ms, s->count, 50);
    printf("%-44s %8.2f %8.2f %8.2f %9.1f ", what, median, measure_at(s->ms, s->count, 90), s->worst, s->sum);
    if (aim_median > 0)
        printf(" median %g: %s", aim_median, median <= aim_median ? "met" : "MISSED");
    if (aim_worst > 0)
        printf(", worst %g: %s", aim_worst, s->worst <= aim_worst ? "met" : "MISSED");
    printf("  (%zu kernels, worst %s)\n", s->count, name_of(s->worst_path));
    fflush(stdout);
    return median;
}

static void put_ratio(const char *what, double theirs, double ours, double aim)
{
    double ratio = ours > 0 ? theirs / ours : 0;
    printf("  %-42s %8.1f x  aim %g: %s\n", what, ratio, aim, ratio >= aim ? "met" : "MISSED");
}

/* Files of one version, sorted. */
static size_t find_kernels(const bench *b, const char *version, char ***out_paths)
{
    char folder[1024];
    size_t count = 0;
    *out_paths = NULL;
    snprintf(folder, sizeof folder, "%s/bytecode/%s", b->corpus, version);
    if (!files_find(folder, ".tbc", out_paths, &count) || count == 0) {
        fprintf(stderr, "bench_compile: no kernels in %s\n", folder);
        exit(2);
    }
    return count;
}

static void free_paths(char **paths, size_t count)
{
    for (size_t i = 0; i < count; i++)
        free(paths[i]);
    free(paths);
}

static char *read_kernel(const char *path, size_t *out_size)
{
    char *bytes = files_read(path, out_size);
    if (!bytes) {
        perror(path);
        exit(2);
    }
    return bytes;
}

/* ---- in this process ---- */

static tv_status compile(const char *bytes, size_t size, const char *target, bc_text *out)
{
    tv_module *m;
    TV_TRY(tv_module_open(bytes, size, NULL, (tv_sink){0}, &m));
    tv_status status = tv_module_verify(m, NULL, (tv_sink){0});
    if (status == TV_OK)
        status = tv_compile_ptx(m, &(tv_compile_options){.target = target, .opt_level = 3}, (tv_sink){0},
                                (tv_writer){out, bc_text_append});
    tv_module_close(m);
    return status;
}

/* The processor's time of this thread, least of some rounds: others on the machine do not count. */
static bool compile_ms(const char *path, const char *target, double *out_ms)
{
    size_t size;
    char *bytes = read_kernel(path, &size);
    bool ok = true;
    *out_ms = 1e9;
    for (int i = 0; i < ROUNDS && ok; i++) {
        bc_text ptx;
        bc_text_init(&ptx, NULL);
        double start = measure_cpu();
        ok = compile(bytes, size, target, &ptx) == TV_OK;
        double ms = (measure_cpu() - start) * 1e3;
        *out_ms = ms < *out_ms ? ms : *out_ms;
        bc_text_release(&ptx);
    }
    free(bytes);
    return ok;
}

static void bench_in_process(const bench *b, const char *version)
{
    char **paths, what[80];
    size_t count = find_kernels(b, version, &paths);
    series s = {0};
    for (size_t i = 0; i < count; i++) {
        double ms;
        if (compile_ms(paths[i], tv_target_exact(b->target), &ms))
            add(&s, ms, paths[i]);
    }
    snprintf(what, sizeof what, "bytecode to PTX, %s, %s", version, tv_target_exact(b->target));
    put_series(&s, what, 0.25, 30);
    if (s.count < count)
        printf("  refused: %zu kernels\n", count - s.count);
    free(s.ms);
    free_paths(paths, count);
}

/* ---- as a process ---- */

typedef struct one_kernel {
    const char *path;
    measure_process cubin, ptx, reference;
    bool counts; /* no compiler refused it */
} one_kernel;

static measure_process run(const bench *b, char *tool, const char *path, bool to_ptx)
{
    char gpu[] = "--gpu-name", o[] = "-o", output[80], *target = strdup(b->target), *input = strdup(path);
    snprintf(output, sizeof output, "%s/out", b->work);
    char *kept = getenv("TILEVM_PTXAS") ? strdup(getenv("TILEVM_PTXAS")) : NULL;
    if (to_ptx)
        setenv("TILEVM_PTXAS", "none", 1);
    measure_process p = measure_run((char *[]){tool, gpu, target, input, o, output, NULL});
    if (kept)
        setenv("TILEVM_PTXAS", kept, 1);
    else
        unsetenv("TILEVM_PTXAS");
    free(kept);
    free(target);
    free(input);
    return p;
}

static void run_each(const bench *b, one_kernel *k)
{
    k->cubin = run(b, b->tileiras, k->path, false);
    k->ptx = run(b, b->tileiras, k->path, true);
    k->counts = k->cubin.exit_code == 0 && k->ptx.exit_code == 0;
    if (b->reference && k->counts) {
        k->reference = run(b, b->reference, k->path, false);
        k->counts = k->reference.exit_code == 0;
    }
}

static int by_cubin(const void *a, const void *b)
{
    double x = ((const one_kernel *)a)->cubin.seconds, y = ((const one_kernel *)b)->cubin.seconds;
    return (x < y) - (x > y);
}

static void put_slowest(const bench *b, one_kernel *kernels, size_t count)
{
    qsort(kernels, count, sizeof *kernels, by_cubin);
    printf("slowest to a cubin: %-28s %9s %9s%s\n", "", "cubin", "PTX", b->reference ? " reference" : "");
    for (size_t i = 0; i < count && i < SHOWN; i++) {
        const one_kernel *k = &kernels[i];
        printf("  %-46s %9.1f %9.1f", name_of(k->path), k->cubin.seconds * 1e3, k->ptx.seconds * 1e3);
        if (b->reference)
            printf(" %9.1f", k->reference.seconds * 1e3);
        putchar('\n');
    }
}

/* Both clocks: the processor's is fair to all on a machine that others use, too. */
static void put_processes(const bench *b, const one_kernel *kernels, size_t count, bool cpu)
{
    series cubin = {0}, ptx = {0}, reference = {0};
    for (size_t i = 0; i < count; i++) {
        const one_kernel *k = &kernels[i];
        if (!k->counts)
            continue;
        add(&cubin, (cpu ? k->cubin.cpu_seconds : k->cubin.seconds) * 1e3, k->path);
        add(&ptx, (cpu ? k->ptx.cpu_seconds : k->ptx.seconds) * 1e3, k->path);
        add(&reference, (cpu ? k->reference.cpu_seconds : k->reference.seconds) * 1e3, k->path);
    }
    double a = put_series(&cubin, cpu ? "tileiras to cubin, processor's time" : "tileiras to cubin, whole process", 0,
                          0),
           p = put_series(&ptx, cpu ? "tileiras to PTX, processor's time" : "tileiras to PTX, whole process", 0, 0);
    if (b->reference) {
        double r = put_series(&reference,
                              cpu ? "reference to cubin, processor's time" : "reference to cubin, whole process", 0, 0);
        put_ratio("cubin, median", r, a, 2);
        put_ratio("cubin, sum", reference.sum, cubin.sum, 3);
        put_ratio("PTX, median", r, p, 10);
        put_ratio("PTX, sum", reference.sum, ptx.sum, 10);
    }
    free(cubin.ms);
    free(ptx.ms);
    free(reference.ms);
}

static void bench_processes(const bench *b)
{
    char **paths;
    size_t all = find_kernels(b, "13.5", &paths), count = 0;
    one_kernel *kernels = calloc(all, sizeof *kernels);
    if (!kernels)
        exit(2);
    for (size_t i = 0; i < all; i += b->share) {
        kernels[count].path = paths[i];
        run_each(b, &kernels[count++]);
    }
    put_processes(b, kernels, count, false);
    put_processes(b, kernels, count, true);
    if (!b->reference)
        printf("reference: skipped, TILEIR_TOOLS is not set to the folder of NVIDIA's tools\n");
    put_slowest(b, kernels, count);
    free(kernels);
    free_paths(paths, all);
}

/* ---- loading ---- */

static bool find_entry(const char *bytes, size_t size, char *out_name, size_t name_size)
{
    tv_module *m;
    if (tv_module_open(bytes, size, NULL, (tv_sink){0}, &m) != TV_OK)
        return false;
    bool ok = tv_module_verify(m, NULL, (tv_sink){0}) == TV_OK && tv_module_entry_count(m) > 0;
    if (ok) {
        tv_str name = tv_module_entry_name(m, 0);
        snprintf(out_name, name_size, "%.*s", (int)name.len, name.ptr);
    }
    tv_module_close(m);
    return ok;
}

static bool open_device(void)
{
    const ld_driver *driver;
    struct CUctx_st *context;
    return ld_driver_open(&driver) == 0 && driver->cuInit(0) == 0 && driver->cuDevicePrimaryCtxRetain(&context, 0) == 0
           && driver->cuCtxPushCurrent(context) == 0;
}

/* Milliseconds of loading a kernel in a process of its own, which has loaded nothing yet. 0: it could not be. */
static double load_ms(const char *bytes, const char *entry)
{
    int ends[2];
    double ms = 0;
    if (pipe(ends) != 0)
        return 0;
    pid_t child = fork();
    if (child == 0) {
        struct CUmod_st *module;
        struct CUfunc_st *function;
        if (!open_device())
            _exit(77);
        double start = measure_now();
        bool ok = tvModuleLoadData(&module, bytes) == 0 && tvModuleGetFunction(&function, module, entry) == 0;
        ms = (measure_now() - start) * 1e3;
        _exit(ok && write(ends[1], &ms, sizeof ms) == (ssize_t)sizeof ms ? 0 : 1);
    }
    close(ends[1]);
    if (child < 0 || read(ends[0], &ms, sizeof ms) != (ssize_t)sizeof ms)
        ms = 0;
    close(ends[0]);
    waitpid(child, NULL, 0);
    return ms;
}

static void bench_loading(const bench *b)
{
    char **paths, cache[80], name[4096];
    size_t count = find_kernels(b, "13.5", &paths);
    series cold = {0}, hit = {0};
    snprintf(cache, sizeof cache, "%s/cache", b->work);
    setenv("TILEVM_CACHE_DIR", cache, 1);
    for (size_t i = 0; i < count; i += b->share) {
        size_t size;
        char *bytes = read_kernel(paths[i], &size);
        double first = find_entry(bytes, size, name, sizeof name) ? load_ms(bytes, name) : 0,
               second = first > 0 ? load_ms(bytes, name) : 0;
        if (second > 0) {
            add(&cold, first, paths[i]);
            add(&hit, second, paths[i]);
        }
        free(bytes);
    }
    if (hit.count == 0) {
        printf("loading: skipped, there is no driver, or no device\n");
    } else {
        put_series(&cold, "bytecode to loaded kernel, empty cache", 0, 0);
        put_series(&hit, "bytecode to loaded kernel, from the cache", 2, 0);
    }
    free(cold.ms);
    free(hit.ms);
    free_paths(paths, count);
}

/* ---- all ---- */

/* Ours takes the ptxas of the reference where there is one: the same for both. */
static void find_reference(bench *b)
{
    const char *tools = getenv("TILEIR_TOOLS");
    char path[4096];
    if (!tools || snprintf(path, sizeof path, "%s/bin/tileiras", tools) >= (int)sizeof path || access(path, X_OK) != 0)
        return;
    b->reference = strdup(path);
    setenv("CUDA_HOME", tools, 1);
    snprintf(path, sizeof path, "%s/bin/ptxas", tools);
    if (access(path, X_OK) == 0)
        setenv("TILEVM_PTXAS", path, 1);
}

static bool parse(bench *b, int argc, char **argv)
{
    *b = (bench){.target = "sm_90", .share = 8, .work = "/tmp/bench-compile-XXXXXX"};
    if (argc < 3)
        return false;
    b->tileiras = argv[1];
    b->corpus = argv[2];
    for (int i = 3; i < argc; i += 2) {
        if (i + 1 == argc)
            return false;
        if (strcmp(argv[i], "--share") == 0)
            b->share = strtoul(argv[i + 1], NULL, 10);
        else if (strcmp(argv[i], "--target") == 0)
            b->target = argv[i + 1];
        else
            return false;
    }
    return b->share > 0;
}

int main(int argc, char **argv)
{
    bench b;
    char command[128];
    if (!parse(&b, argc, argv)) {
        fprintf(stderr, "usage: bench_compile TILEIRAS CORPUS [--share N] [--target sm_XX]\n");
        return 2;
    }
    if (!mkdtemp(b.work)) {
        perror(b.work);
        return 2;
    }
    find_reference(&b);
    heading();
    bench_in_process(&b, "13.5");
    bench_in_process(&b, "13.4");
    bench_processes(&b);
    bench_loading(&b);
    snprintf(command, sizeof command, "rm -rf '%s'", b.work);
    return system(command) == 0 ? 0 : 2;
}
