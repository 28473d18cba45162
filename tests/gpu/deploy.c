/* One handle, used by many threads on all devices at a time: each thread has the kernel `fill` write numbers of its own
   to memory of its device, and looks whether they are there.

     gpu_deploy bundle FILE.tvb      the handle of a bundle; says what each device runs
     gpu_deploy library FILE.tbc     that of a library of bytecode

   Ends with `gpu deploy WAY: N passed, N failed`, or with status 77 and a word where there is no device. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "loader/device.h"
#include "tests/common/files.h"
#include "tests/unit/test.h"

enum { MOST_DEVICES = 16, THREADS = 4, ROUNDS = 50 };

typedef struct shared {
    struct tvBundle_st *bundle;
    struct CUkern_st *kernel;
} shared;

typedef struct job {
    const shared *handle;
    int device, thread;
    unsigned right;   /* rounds */
    char choice[200]; /* of a bundle */
    char said[300];   /* what went wrong */
} job;

static tvResult get_function(job *j, struct CUfunc_st **out)
{
    tvBundleChoice choice;
    if (!j->handle->bundle)
        return tvKernelGetFunction(out, j->handle->kernel);
    tvResult code = tvBundleGetFunction(out, j->handle->bundle, "fill");
    if (code == 0 && (code = tvBundleGetChoice(&choice, j->handle->bundle, "fill")) == 0)
        snprintf(j->choice, sizeof j->choice, "%s", choice.why);
    return code;
}

static tvResult run_round(const ld_device *device, struct CUfunc_st *function, tvDevicePtr at, int wanted, int *out)
{
    double ms;
    void *params[] = {&at, &wanted};
    ld_launch launch = {.function = function, .grid = {1, 1, 1}, .block = {1, 1, 1}, .params = params};
    tvResult code = ld_device_run(device, &launch, &ms);
    return code == 0 ? ld_device_read(device, out, at, sizeof *out) : code;
}

static void *work(void *user)
{
    job *j = user;
    ld_device device = {0};
    struct CUfunc_st *function;
    tvDevicePtr at = 0;
    tvResult code = ld_device_open(j->device, &device);
    if (code == 0 && (code = get_function(j, &function)) == 0 && (code = ld_device_alloc(&device, 4, &at)) == 0)
        for (int i = 0; code == 0 && i < ROUNDS; i++) {
            int wanted = (j->device * THREADS + j->thread) * ROUNDS + i, found = -1;
            code = run_round(&device, function, at, wanted, &found);
            j->right += code == 0 && found == wanted;
        }
    if (code != 0)
        snprintf(j->said, sizeof j->said, "%d %s", (int)code, tvGetLastErrorMessage());
    if (at)
        ld_device_free(&device, at);
    ld_device_close(&device);
    return NULL;
}

static int count_devices(void)
{
    const ld_driver *driver;
    int count = 0;
    if (ld_driver_open(&driver) != 0 || driver->cuInit(0) != 0 || driver->cuDeviceGetCount(&count) != 0)
        return 0;
    return count < MOST_DEVICES ? count : MOST_DEVICES;
}

static void use_everywhere(const shared *handle, int devices)
{
    static job jobs[MOST_DEVICES * THREADS];
    pthread_t threads[MOST_DEVICES * THREADS];
    int count = devices * THREADS;
    for (int i = 0; i < count; i++) {
        jobs[i] = (job){.handle = handle, .device = i % devices, .thread = i / devices};
        pthread_create(&threads[i], NULL, work, &jobs[i]);
    }
    for (int i = 0; i < count; i++) {
        pthread_join(threads[i], NULL);
        CHECK_MSG(jobs[i].right == ROUNDS, "device %d, thread %d: %u of %d rounds are right: %s", jobs[i].device,
                  jobs[i].thread, jobs[i].right, ROUNDS, jobs[i].said);
        if (i < devices && jobs[i].choice[0])
            printf("device %d: %s\n", i, jobs[i].choice);
    }
}

static void use_bundle(const char *path, int devices)
{
    shared handle = {0};
    tvResult code = tvBundleOpen(&handle.bundle, path, NULL);
    CHECK_MSG(code == 0, "%s: %s", path, tvGetLastErrorMessage());
    if (code == 0)
        use_everywhere(&handle, devices);
    tvBundleClose(handle.bundle);
}

static void use_library(const char *path, int devices)
{
    shared handle = {0};
    struct CUlib_st *library;
    size_t size;
    char *bytes = files_read(path, &size);
    tvResult code = tvLibraryLoadData(&library, bytes, NULL, NULL, 0, NULL, NULL, 0);
    if (code == 0)
        code = tvLibraryGetKernel(&handle.kernel, library, "fill");
    CHECK_MSG(code == 0, "%s: %s", path, tvGetLastErrorMessage());
    if (code == 0) {
        use_everywhere(&handle, devices);
        CHECK(tvLibraryUnload(library) == 0);
    }
    free(bytes);
}

int main(int argc, char **argv)
{
    int devices = count_devices();
    if (argc != 3)
        return 2;
    if (!devices) {
        printf("gpu deploy: skipped, there is no device: %s\n", tvGetLastErrorMessage());
        return 77;
    }
    printf("%d device%s, %d threads on each\n", devices, devices == 1 ? "" : "s", THREADS);
    (strcmp(argv[1], "bundle") == 0 ? use_bundle : use_library)(argv[2], devices);
    printf("gpu deploy %s: %d passed, %d failed\n", argv[1], test_passed, test_failed);
    return test_failed != 0;
}
