/* What tools/bench_vm.py calls: one kernel on the virtual machine, with plain C types only. Built as a shared object
   that Python loads, so that both sides work on the same arrays in the same process. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/common/files.h"
#include "tilevm/tilevm.h"

typedef struct bench_kernel {
    char *bytes;
    tv_module *module;
    tv_vm *vm;
} bench_kernel;

bench_kernel *bench_open(const char *path, unsigned threads);
int bench_buffer(bench_kernel *k, void *ptr, size_t size);
double bench_run(bench_kernel *k, const uint32_t *grid, const void *const *params, size_t count);
size_t bench_frame_bytes(const bench_kernel *k);
void bench_close(bench_kernel *k);

static void print_finding(void *user, const tv_diag *d)
{
    (void)user;
    fprintf(stderr, "bench: %s: %.*s\n", d->rule, (int)d->message.len, d->message.ptr);
}

static const tv_sink findings = {NULL, print_finding};

/* The only entry of a file, ready to run; NULL after a message. */
bench_kernel *bench_open(const char *path, unsigned threads)
{
    size_t size;
    tv_vm_options options = {.threads = threads};
    bench_kernel *k = calloc(1, sizeof *k);
    if (!k)
        return NULL;
    k->bytes = files_read(path, &size);
    if (k->bytes && tv_module_open(k->bytes, size, NULL, findings, &k->module) == TV_OK
        && tv_module_verify(k->module, NULL, findings) == TV_OK
        && tv_vm_new(k->module, &options, findings, &k->vm) == TV_OK)
        return k;
    fprintf(stderr, "bench: cannot open %s\n", path);
    bench_close(k);
    return NULL;
}

int bench_buffer(bench_kernel *k, void *ptr, size_t size)
{
    return (int)tv_vm_add_buffer(k->vm, ptr, size, NULL, true, findings);
}

/* Seconds that the tile blocks took, without compiling; below 0: it failed. */
double bench_run(bench_kernel *k, const uint32_t *grid, const void *const *params, size_t count)
{
    tv_vm_stats stats;
    if (tv_vm_run(k->vm, NULL, grid, params, count, findings) != TV_OK)
        return -1;
    tv_vm_get_stats(k->vm, &stats);
    return stats.seconds;
}

/* Tile storage of one running block, in the last run. */
size_t bench_frame_bytes(const bench_kernel *k)
{
    tv_vm_stats stats;
    tv_vm_get_stats(k->vm, &stats);
    return stats.frame_bytes;
}

void bench_close(bench_kernel *k)
{
    if (!k)
        return;
    tv_vm_free(k->vm);
    tv_module_close(k->module);
    free(k->bytes);
    free(k);
}
