/* A program that starts its kernels from a bundle, for tests/shell/bundle.sh: it knows the API and nothing else.

     bundle_client FILE.tvb KERNEL...        gets each kernel, says what it is from, launches it with no arguments that
                                             it would use
     bundle_client --data FILE.tvb ...       the same from memory
     bundle_client --threads FILE.tvb ...    the same from eight threads at a time
     bundle_client --each-call FILE.tvb K    every call of the driver fails in turn
     bundle_client --bench FILE.tvb KERNEL   milliseconds for opening and the first kernel, at best of 20

   Runs on device 0 of the fake driver, all devices one after the other with BUNDLE_DEVICES=N
   (--threads: in turn). */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "loader/driver.h"
#include "tests/fakecuda/fakecuda.h"
#include "tests/common/files.h"

static const ld_driver *cu;
static const fake_control *fake;

static bool find_fake(void)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW), *found = library ? dlsym(library, "fake_cuda") : NULL;
    fake_cuda_fn *get;
    memcpy(&get, &found, sizeof get);
    fake = get ? get() : NULL;
    return fake != NULL;
}

static tvResult use_kernel(struct tvBundle_st *bundle, const char *name, bool aloud)
{
    static const char *const forms[] = {"cubin", "family cubin", "PTX", "bytecode"};
    struct CUfunc_st *function;
    tvBundleChoice choice;
    void *nothing = NULL, *params[16];
    for (size_t i = 0; i < 16; i++)
        params[i] = &nothing;
    tvResult code = tvBundleGetFunction(&function, bundle, name);
    if (code == 0)
        code = tvBundleGetChoice(&choice, bundle, name);
    if (code == 0 && aloud)
        printf("%s: %s%s%s: %s\n", name, forms[choice.form], choice.target[0] ? " " : "", choice.target, choice.why);
    if (code == 0)
        code = tvLaunchKernel(function, 3, 1, 1, 1, 1, 1, 0, NULL, params, NULL);
    if (code == 0 && aloud)
        printf("%s\n", fake->last_launch());
    return code;
}

static int fail(const char *what, tvResult code)
{
    printf("%s: %d: %s\n", what, (int)code, tvGetLastErrorMessage());
    return 1;
}

static int use_on(int device, struct tvBundle_st *bundle, char **names, bool aloud)
{
    struct CUctx_st *context;
    cu->cuDevicePrimaryCtxRetain(&context, device);
    cu->cuCtxPushCurrent(context);
    int status = 0;
    for (; *names; names++) {
        tvResult code = use_kernel(bundle, *names, aloud);
        if (code)
            status = fail(*names, code);
    }
    return status;
}

/* ---- threads ---- */

typedef struct job {
    struct tvBundle_st *bundle;
    char **names;
    int device;
} job;

static void *work(void *user)
{
    job *j = user;
    return (void *)(uintptr_t)use_on(j->device, j->bundle, j->names, false);
}

static int use_in_threads(struct tvBundle_st *bundle, char **names, int devices)
{
    pthread_t threads[8];
    job jobs[8];
    int status = 0;
    for (int i = 0; i < 8; i++) {
        jobs[i] = (job){bundle, names, i % devices};
        pthread_create(&threads[i], NULL, work, &jobs[i]);
    }
    for (int i = 0; i < 8; i++) {
        void *result;
        pthread_join(threads[i], &result);
        status |= result != NULL;
        cu->cuDevicePrimaryCtxRelease(i % devices);
    }
    printf("8 threads: %s\n", status ? "failed" : "fine");
    return status;
}

/* ---- calls that fail ---- */

static int fail_each_call(const char *path, char **names)
{
    enum { NO_MEMORY = 2 };
    struct CUctx_st *context;
    cu->cuDevicePrimaryCtxRetain(&context, 0);
    cu->cuCtxPushCurrent(context);
    unsigned n = 1, wrong = 0;
    for (;; n++) {
        struct tvBundle_st *bundle;
        if (tvBundleOpen(&bundle, path, NULL) != 0)
            return fail("open", 0);
        fake->fail_call(n, NO_MEMORY);
        tvResult code = use_kernel(bundle, names[0], false);
        const char *failed = fake->failed();
        fake->fail_call(0, 0);
        if (failed && code != NO_MEMORY) {
            printf("%s failed, but the result was %d\n", failed, (int)code);
            wrong++;
        }
        if (failed && use_kernel(bundle, names[0], false) != 0) {
            printf("after %s failed nothing works\n", failed);
            wrong++;
        }
        tvBundleClose(bundle);
        if (fake->live() != 1) {
            printf("after %s failed %zu objects were left\n", failed ? failed : "nothing", fake->live() - 1);
            wrong++;
        }
        if (!failed)
            break;
    }
    cu->cuDevicePrimaryCtxRelease(0);
    printf("each of %s calls failed in turn: %s\n", n > 8 ? "many" : "few", wrong ? "wrong" : "fine");
    return wrong != 0;
}

/* ---- figures ---- */

static double now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static int measure(const char *path, char **names)
{
    struct CUctx_st *context;
    double opened = 1e9, all = 1e9;
    cu->cuDevicePrimaryCtxRetain(&context, 0);
    cu->cuCtxPushCurrent(context);
    for (unsigned i = 0; i < 20; i++) {
        struct tvBundle_st *bundle;
        struct CUfunc_st *function;
        double start = now_ms();
        if (tvBundleOpen(&bundle, path, NULL) != 0)
            return fail("open", 0);
        double open = now_ms() - start;
        tvResult code = tvBundleGetFunction(&function, bundle, names[0]);
        double first = now_ms() - start;
        if (code)
            return fail(names[0], code);
        opened = open < opened ? open : opened;
        all = first < all ? first : all;
        tvBundleClose(bundle);
    }
    printf("%.2f %.2f\n", opened, all);
    return 0;
}

static tvResult open_as_told(struct tvBundle_st **bundle, const char *how, const char *path, char **bytes)
{
    size_t size;
    if (strcmp(how, "--data") != 0)
        return tvBundleOpen(bundle, path, NULL);
    *bytes = files_read(path, &size);
    return tvBundleOpenData(bundle, *bytes, size, NULL);
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 && argv[1][0] == '-' ? argv[1] : "", *count = getenv("BUNDLE_DEVICES");
    char **rest = argv + 1 + (how[0] != 0), *bytes = NULL;
    struct tvBundle_st *bundle = NULL;
    if (argc < 2 + (how[0] != 0) || !find_fake() || ld_driver_open(&cu) != 0 || cu->cuInit(0) != 0)
        return 2;
    if (strcmp(how, "--each-call") == 0)
        return fail_each_call(rest[0], rest + 1);
    if (strcmp(how, "--bench") == 0)
        return measure(rest[0], rest + 1);
    tvResult code = open_as_told(&bundle, how, rest[0], &bytes);
    if (code)
        return fail("open", code);
    int devices = count ? atoi(count) : 1, status = 0;
    if (strcmp(how, "--threads") == 0)
        status = use_in_threads(bundle, rest + 1, devices);
    else
        for (int device = 0; device < devices; device++)
            status |= use_on(device, bundle, rest + 1, true);
    tvBundleClose(bundle);
    for (int device = 0; device < devices && strcmp(how, "--threads") != 0; device++)
        cu->cuDevicePrimaryCtxRelease(device);
    free(bytes);
    if (fake->live())
        printf("%zu objects were left\n", fake->live());
    return status;
}
