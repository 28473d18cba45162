/* Every kernel of a bundle is loaded once on a device, as a program would, so that what that makes is in the caches. */
#include <stdlib.h>

#include "loader/device.h"
#include "loader/image.h"
#include "tools/tilevm/bundle/warm.h"
#include "tools/tilevm/cli/json.h"
#include "tools/tilevm/cli/progress.h"

enum { NAME = 4096 };

/* What one device came to. */
typedef struct warming {
    unsigned done, failed;
    bool starved; /* memory ran out, which says nothing of the bundle */
    double start;
} warming;

/* The document, while it is made. */
typedef struct warm_report {
    bool json;
    json_doc doc;
    cJSON *devices, *problems; /* problems: of the device at hand */
} warm_report;

static int say_last(const char *what)
{
    return cli_error("%s: %s", what, tvGetLastErrorMessage());
}

/* Loads all kernels for the current context. */
static void load_all(struct tvBundle_st *bundle, unsigned count, const char *device, warm_report *report, warming *w)
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
            if (report->json)
                json_text(&report->doc, report->problems, NULL, name ? tvGetLastErrorMessage() : "out of memory");
        }
        cli_progress_update(&progress, i + 1);
    }
    cli_progress_clear(&progress);
    free(name);
}

static void print_warmed(const char *what, const warming *w)
{
    cli_print(stdout, "%s: %u kernel%s loaded", what, w->done, w->done == 1 ? "" : "s");
    if (w->failed)
        cli_print(stdout, ", %u not", w->failed);
    cli_print(stdout, ", %.0f ms\n", ld_now_ms() - w->start);
}

static int warm_device(struct tvBundle_st *bundle, unsigned count, int ordinal, warm_report *report)
{
    ld_device device = {0};
    char what[200];
    warming w = {.start = ld_now_ms()};
    if (ld_device_open(ordinal, &device) != LD_CUDA_SUCCESS)
        return say_last("no device");
    snprintf(what, sizeof what, "cuda:%d, %s (sm_%u)", ordinal, device.name, device.target);
    json_doc *doc = &report->doc;
    cJSON *item = report->json ? json_object(doc, report->devices, NULL) : NULL;
    if (report->json) {
        json_uint(doc, item, "device", (uint64_t)ordinal);
        json_text(doc, item, "name", device.name);
        json_uint(doc, item, "capability", device.target);
        report->problems = json_array(doc, item, "problems");
    }
    load_all(bundle, count, what, report, &w);
    if (report->json) {
        json_uint(doc, item, "loaded", w.done);
        json_uint(doc, item, "failed", w.failed);
        json_real(doc, item, "ms", (double)(uint64_t)(ld_now_ms() - w.start + 0.5));
    } else {
        print_warmed(what, &w);
    }
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

static int warm_all(const char *path, const char *key, int ordinal, warm_report *report)
{
    struct tvBundle_st *bundle = NULL;
    unsigned kernels = 0;
    int devices = count_devices(), code = CLI_OK;
    if (devices < 1)
        return CLI_ERROR;
    tvResult opened = tvBundleOpen(&bundle, path, key);
    if (opened != LD_CUDA_SUCCESS) {
        say_last(path);
        if (report->json)
            json_text(&report->doc, report->doc.root, "problem", tvGetLastErrorMessage());
        return opened == LD_CUDA_OUT_OF_MEMORY ? CLI_ERROR : CLI_FAILED;
    }
    tvBundleGetKernelCount(&kernels, bundle);
    for (int i = ordinal < 0 ? 0 : ordinal; i < (ordinal < 0 ? devices : ordinal + 1); i++) {
        int one = warm_device(bundle, kernels, i, report);
        code = one > code ? one : code;
    }
    tvBundleClose(bundle);
    return code;
}

int bundle_warm(const char *path, const char *key, int ordinal, bool json)
{
    warm_report report = {.json = json};
    if (json) {
        cJSON *root = json_document(&report.doc, "cache-warm");
        json_text(&report.doc, root, "path", path);
        report.devices = json_array(&report.doc, root, "devices");
    }
    int code = warm_all(path, key, ordinal, &report);
    return json && !json_finish(&report.doc, &(cli_out){.file = stdout}) ? cli_error("out of memory") : code;
}
