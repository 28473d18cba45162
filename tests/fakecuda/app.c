/* A program that nvcc built of tests/programs/app.cu, as far as the driver can tell: it hands over a fat binary in the
   wrapper that nvcc puts around, asks what is in it, and launches each kernel with one thread, as the program says.

     app WAY FATBIN      WAY: library (cuLibraryLoadData), library-file, wrapper (cuModuleLoadFatBinary), data
                         (cuModuleLoadData), data-ex, file (cuModuleLoad)

   Prints what it is told, and what the kernels wrote. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "loader/driver.h"
#include "tests/fakecuda/fakecuda.h"
#include "tests/common/files.h"

static struct {
#define CUDA(name, symbol, since, parameters) tvResult(*name) parameters;
#include "loader/cuda_api.def"
#define CUDA(name, symbol, since, parameters) tvResult(*name) parameters;
#include "tests/fakecuda/more_api.def"
} cu;

/* As the CUDA runtime finds them. */
static bool find_all(void *library)
{
    tvResult (*get)(const char *, void **, int, unsigned long long, unsigned *);
    void *found = dlsym(library, "cuGetProcAddress_v2");
    memcpy(&get, &found, sizeof get);
#define FIND(name, since) (get(#name, &found, since, 0, NULL) == 0 && (memcpy(&cu.name, &found, sizeof found), true))
#define CUDA(name, symbol, since, parameters)          \
    if (!strstr(#name, "_ptsz") && !FIND(name, 13000)) \
        return false;
#include "loader/cuda_api.def"
#define CUDA(name, symbol, since, parameters) \
    if (!FIND(name, 13000))                   \
        return false;
#include "tests/fakecuda/more_api.def"
    return true;
}

#define TRY(call)                                                             \
    do {                                                                      \
        tvResult code = (call);                                               \
        if (code != 0) {                                                      \
            printf("%.*s: %d\n", (int)strcspn(#call, "("), #call, (int)code); \
            return 1;                                                         \
        }                                                                     \
    } while (0)

enum { COUNT = 200, MOST = 8 };

/* What nvcc puts into the section .nvFatBinSegmentAlt. */
typedef struct wrapper {
    unsigned magic, version;
    const void *container;
    void *more;
} wrapper;

typedef struct program {
    struct CUlib_st *library; /* one of the two */
    struct CUmod_st *module;
    unsigned count;
    struct CUfunc_st *kernels[MOST]; /* kernels of a library are launched as functions */
} program;

static int load(const char *way, const char *path, const void *container, program *p)
{
    wrapper wrapped = {0x466243b1, 1, container, NULL};
    if (strcmp(way, "library") == 0)
        TRY(cu.cuLibraryLoadData(&p->library, &wrapped, NULL, NULL, 0, NULL, NULL, 0));
    else if (strcmp(way, "library-file") == 0)
        TRY(cu.cuLibraryLoadFromFile(&p->library, path, NULL, NULL, 0, NULL, NULL, 0));
    else if (strcmp(way, "wrapper") == 0)
        TRY(cu.cuModuleLoadFatBinary(&p->module, &wrapped));
    else if (strcmp(way, "data") == 0)
        TRY(cu.cuModuleLoadData(&p->module, container));
    else if (strcmp(way, "data-ex") == 0)
        TRY(cu.cuModuleLoadDataEx(&p->module, container, 0, NULL, NULL));
    else
        TRY(cu.cuModuleLoad(&p->module, path));
    return 0;
}

static int list_kernels(program *p)
{
    if (p->library) {
        TRY(cu.cuLibraryGetKernelCount(&p->count, p->library));
        TRY(cu.cuLibraryEnumerateKernels((struct CUkern_st **)p->kernels, MOST, p->library));
    } else {
        TRY(cu.cuModuleGetFunctionCount(&p->count, p->module));
        TRY(cu.cuModuleEnumerateFunctions(p->kernels, MOST, p->module));
    }
    printf("%u kernels\n", p->count);
    return 0;
}

static int tell_kernel(const program *p, struct CUfunc_st *function, const char **name)
{
    int threads;
    if (p->library) {
        struct CUkern_st *kernel = (struct CUkern_st *)function, *again;
        struct CUlib_st *library;
        TRY(cu.cuKernelGetName(name, kernel));
        TRY(cu.cuKernelGetLibrary(&library, kernel));
        TRY(cu.cuLibraryGetKernel(&again, p->library, *name));
        TRY(cu.cuKernelGetAttribute(&threads, 0, kernel, 0));
        if (library != p->library || again != kernel)
            puts("another handle");
    } else {
        TRY(cu.cuFuncGetName(name, function));
        TRY(cu.cuFuncGetAttribute(&threads, 0, function));
    }
    printf("%s: %d threads\n", *name, threads);
    return 0;
}

static void tell_global(const program *p)
{
    unsigned long long address;
    size_t size = 0;
    tvResult code = p->library ? cu.cuLibraryGetGlobal(&address, &size, p->library, "launches")
                               : cu.cuModuleGetGlobal(&address, &size, p->module, "launches");
    printf("launches: %zu bytes, code %d\n", size, (int)code);
}

/* vadd adds two arrays; count, whose name has a 5, adds 2 to the 5 of its variable. */
static int launch(struct CUfunc_st *function, const char *name, const fake_control *fake)
{
    float x[COUNT], sum[COUNT] = {0};
    unsigned long long from, to;
    int n = strstr(name, "count") ? 2 : COUNT, right = 0;
    for (int i = 0; i < COUNT; i++)
        x[i] = (float)i;
    TRY(cu.cuMemAlloc(&from, sizeof x));
    TRY(cu.cuMemAlloc(&to, sizeof x));
    TRY(cu.cuMemcpyHtoD(from, x, sizeof x));
    void *add[] = {&from, &from, &to, &n}, *count[] = {&to, &n};
    TRY(cu.cuLaunchKernel(function, n == 2 ? 1 : 2, 1, 1, 1, 1, 1, 0, NULL, n == 2 ? count : add, NULL));
    TRY(cu.cuMemcpyDtoH(sum, to, sizeof sum));
    memcpy(&n, sum, n == 2 ? sizeof n : 0);
    for (int i = 0; i < COUNT; i++)
        right += sum[i] == x[i] + x[i];
    printf("%.*s: %d\n", (int)(strstr(fake->last_launch(), " first") - fake->last_launch()), fake->last_launch(),
           n == COUNT ? right : n);
    TRY(cu.cuMemFree(from));
    TRY(cu.cuMemFree(to));
    return 0;
}

static int run(const char *way, const char *path, const fake_control *fake)
{
    size_t size;
    const char *name;
    program p = {0};
    char *container = files_read(path, &size);
    int failed = !container || load(way, path, container, &p) || list_kernels(&p);
    if (!failed)
        tell_global(&p);
    for (unsigned i = 0; !failed && i < p.count && i < MOST; i++)
        failed = tell_kernel(&p, p.kernels[i], &name) || launch(p.kernels[i], name, fake);
    free(container);
    if (failed)
        return 1;
    if (p.library)
        TRY(cu.cuLibraryUnload(p.library));
    else
        TRY(cu.cuModuleUnload(p.module));
    return 0;
}

int main(int argc, char **argv)
{
    void *library = argc == 3 ? dlopen("libcuda.so.1", RTLD_NOW) : NULL, *found;
    fake_cuda_fn *fake_cuda;
    struct CUctx_st *context;
    if (!library || !find_all(library) || !(found = dlsym(library, "fake_cuda")))
        return 2;
    memcpy(&fake_cuda, &found, sizeof found);
    TRY(cu.cuInit(0));
    TRY(cu.cuDevicePrimaryCtxRetain(&context, 0));
    TRY(cu.cuCtxPushCurrent(context));
    int status = run(argv[1], argv[2], fake_cuda());
    TRY(cu.cuDevicePrimaryCtxRelease(0));
    if (status == 0 && fake_cuda()->live() != 0)
        puts("something was left behind");
    return status;
}
