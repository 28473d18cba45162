/* Every kernel of a bundle is loaded once on a device, as a program would, so that what that makes is in the caches. */
#include <stdlib.h>

#include "loader/device.h"
#include "loader/image.h"
#include "tools/tilevm/bundle/warm.h"
#include "tools/tilevm/cli/progress.h"

enum { NAME = 4096 };

/* What one device came to. */
typedef struct warming {
    unsigned done, failed;
    bool starved; /* memory ran out, which says nothing of the bundle */
    double start;
} warming;

static int say_last(const char *what)
{
    return cli_error("%s: %s", what, tvGetLastErrorMessage());
}

/* Loads all kernels for the current context. */
static void load_all(struct tvBundle_st *bundle, unsigned count, const char *device, warming *w)
{
    char *name = malloc(NAME);
    cli_progress progress;
    struct CUfunc_st *function;
    cli_progress_start(&progress, "kernels", count);
    for (unsigned i = 0; i < count; i++) {
        tvResult code = name ? tvBundleGetKernelName(name, NAME, bundle, i) : LD_CUDA_OUT_OF_MEMORY;
        if (code == LD_CUDA_SUCCESS)
            code = tvBundleGetFunction(&function, bundle, name);
        bool loaded = code == LD_CUDA_SUCCESS;
        w->starved |= code == LD_CUDA_OUT_OF_MEMORY;
        w->done += loaded;
        w->failed += !loaded;
        if (!loaded) {
            cli_progress_clear(&progress);
            name ? say_last(device) : cli_error("out of memory");
        }
        cli_progress_update(&progress, i + 1);
    }
    cli_progress_clear(&progress);
    free(name);
}

static int warm_device(struct tvBundle_st *bundle, unsigned count, int ordinal)
{
    ld_device device = {0};
    char what[200];
    warming w = {.start = ld_now_ms()};
    if (ld_device_open(ordinal, &device) != LD_CUDA_SUCCESS)
        return say_last("no device");
    snprintf(what, sizeof what, "cuda:%d, %s (sm_%u)", ordinal, device.name, device.target);
    load_all(bundle, count, what, &w);
    cli_print(stdout, "%s: %u kernel%s loaded", what, w.done, w.done == 1 ? "" : "s");
    if (w.failed)
        cli_print(stdout, ", %u not", w.failed);
    cli_print(stdout, ", %.0f ms\n", ld_now_ms() - w.start);
    ld_device_close(&device);
    return w.starved ? CLI_ERROR : w.failed ? CLI_FAILED : CLI_OK;
}

/* How many devices there are; below 1: it was said why. */
static int count_devices(void)
{
    const ld_driver *driver;
    int count = 0;
    if (ld_driver_open(&driver) != LD_CUDA_SUCCESS)
        say_last("no device");
    else if (driver->cuInit(0) != LD_CUDA_SUCCESS || driver->cuDeviceGetCount(&count) != LD_CUDA_SUCCESS || !count)
        cli_error("there is no device");
    return count;
}

int bundle_warm(const char *path, const char *key, int ordinal)
{
    struct tvBundle_st *bundle = NULL;
    unsigned kernels = 0;
    int devices = count_devices(), code = CLI_OK;
    if (devices < 1)
        return CLI_ERROR;
    tvResult opened = tvBundleOpen(&bundle, path, key);
    if (opened != LD_CUDA_SUCCESS) {
        say_last(path);
        return opened == LD_CUDA_OUT_OF_MEMORY ? CLI_ERROR : CLI_FAILED;
    }
    tvBundleGetKernelCount(&kernels, bundle);
    for (int i = ordinal < 0 ? 0 : ordinal; i < (ordinal < 0 ? devices : ordinal + 1); i++) {
        int one = warm_device(bundle, kernels, i);
        code = one > code ? one : code;
    }
    tvBundleClose(bundle);
    return code;
}
