/* A program as others write it: loads a kernel through the driver and launches it with one thread, as Tile IR kernels
   are. It knows nothing of tilevm.

     host WAY FILE KERNEL...     WAY: linked, dlsym, address (cuGetProcAddress), stream (the same, per-thread stream),
                                 library, file, kernel (cuLibraryGetKernel launched as a function)

   Prints what the driver was asked to launch, or the code of what failed. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "loader/driver.h"
#include "tests/fakecuda/fakecuda.h"
#include "tests/common/files.h"

/* The declarations of cuda.h. */
#define CUDA(name, symbol, since, parameters) tvResult symbol parameters;
#include "loader/cuda_api.def"

static struct {
#define CUDA(name, symbol, since, parameters) tvResult(*name) parameters;
#include "loader/cuda_api.def"
} cu;

static void set(void *target, void *found)
{
    memcpy(target, &found, sizeof found);
}

static void find_all(const char *way, void *library)
{
    bool by_address = strcmp(way, "address") == 0 || strcmp(way, "stream") == 0;
    unsigned long long flags = strcmp(way, "stream") == 0 ? 2 : 0;
    tvResult (*get)(const char *, void **, int, unsigned long long, unsigned *);
    set(&get, dlsym(library, "cuGetProcAddress_v2"));
    void *found = NULL;
#define CUDA(name, symbol, since, parameters)             \
    found = NULL;                                         \
    if (strcmp(way, "linked") == 0)                       \
        cu.name = symbol;                                 \
    else if (!by_address)                                 \
        set(&cu.name, dlsym(library, #symbol));           \
    else if (get(#name, &found, 12000, flags, NULL) == 0) \
        set(&cu.name, found);
#include "loader/cuda_api.def"
    /* The functions that came from there must in turn give out the same. */
    if (by_address && get("cuGetProcAddress", &found, 12000, flags, NULL) == 0) {
        void *again = NULL;
        set(&get, found);
        if (get("cuModuleLoadData", &again, 12000, flags, NULL) == 0)
            set(&cu.cuModuleLoadData, again);
    }
}

#define TRY(call)                                                             \
    do {                                                                      \
        tvResult code = (call);                                               \
        if (code != 0) {                                                      \
            printf("%.*s: %d\n", (int)strcspn(#call, "("), #call, (int)code); \
            return 1;                                                         \
        }                                                                     \
    } while (0)

static int launch_all(const char *way, const char *path, char **names, const fake_control *fake)
{
    size_t size;
    char *image = files_read(path, &size);
    if (!image)
        return 2;
    struct CUmod_st *module = NULL;
    struct CUlib_st *library = NULL;
    if (strcmp(way, "library") == 0 || strcmp(way, "kernel") == 0)
        TRY(cu.cuLibraryLoadData(&library, image, NULL, NULL, 0, NULL, NULL, 0));
    else if (strcmp(way, "file") == 0)
        TRY(cu.cuModuleLoad(&module, path));
    else
        TRY(cu.cuModuleLoadData(&module, image));
    free(image);
    for (; *names; names++) {
        struct CUfunc_st *function;
        struct CUkern_st *kernel;
        if (library)
            TRY(cu.cuLibraryGetKernel(&kernel, library, *names));
        if (strcmp(way, "kernel") == 0)
            function = (struct CUfunc_st *)kernel;
        else if (library)
            TRY(cu.cuKernelGetFunction(&function, kernel));
        else
            TRY(cu.cuModuleGetFunction(&function, module, *names));
        unsigned long long value = 42;
        void *params[8] = {&value, &value, &value, &value, &value, &value, &value, &value};
        TRY(cu.cuLaunchKernel(function, 3, 1, 1, 1, 1, 1, 0, NULL, params, NULL));
        puts(fake->last_launch());
        tvLaunchConfig config = {
            .gridDimX = 4, .gridDimY = 1, .gridDimZ = 1, .blockDimX = 1, .blockDimY = 1, .blockDimZ = 1};
        TRY(cu.cuLaunchKernelEx(&config, function, params, NULL));
        puts(fake->last_launch());
    }
    if (module)
        TRY(cu.cuModuleUnload(module));
    else
        TRY(cu.cuLibraryUnload(library));
    return 0;
}

int main(int argc, char **argv)
{
    if (argc < 3)
        return 2;
    void *library = dlopen("libcuda.so.1", RTLD_NOW);
    fake_cuda_fn *fake_cuda;
    set(&fake_cuda, library ? dlsym(library, "fake_cuda") : NULL);
    if (!fake_cuda)
        return 2;
    find_all(argv[1], library);
    struct CUctx_st *context;
    TRY(cu.cuInit(0));
    TRY(cu.cuDevicePrimaryCtxRetain(&context, 0));
    TRY(cu.cuCtxPushCurrent(context));
    int status = launch_all(argv[1], argv[2], argv + 3, fake_cuda());
    TRY(cu.cuDevicePrimaryCtxRelease(0));
    if (status == 0 && fake_cuda()->live() != 0)
        puts("something was left behind");
    return status;
}
