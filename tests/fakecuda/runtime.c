/* As much of a CUDA runtime as programs that nvcc builds with `-cudart none` need to launch kernels: what their code
   registers at the start, found through the driver when it is first used, as lazy loading has it. For tests on the fake
   driver, where NVIDIA's own does not start. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "loader/driver.h"

static struct {
#define CUDA(name, symbol, since, parameters) tvResult(*name) parameters;
#include "loader/cuda_api.def"
} cu;

static void *find(const char *name)
{
    static void *library;
    static tvResult (*get)(const char *, void **, int, unsigned long long, unsigned *);
    void *found = NULL;
    if (!library) {
        library = dlopen("libcuda.so.1", RTLD_NOW);
        found = library ? dlsym(library, "cuGetProcAddress_v2") : NULL;
        memcpy(&get, &found, sizeof get);
    }
    if (get)
        get(name, &found, 12000, 0, NULL);
    return found;
}

/* The device's context, made by whatever call is the first. */
static int begin(void)
{
    struct CUctx_st *context;
    if (cu.cuInit)
        return 0;
#define CUDA(name, symbol, since, parameters)        \
    if (since <= 12000 && !strstr(#name, "_ptsz")) { \
        void *found = find(#name);                   \
        memcpy(&cu.name, &found, sizeof found);      \
    }
#include "loader/cuda_api.def"
    if (!cu.cuInit || cu.cuInit(0) != 0 || cu.cuDevicePrimaryCtxRetain(&context, 0) != 0)
        return 100;
    return cu.cuCtxPushCurrent(context);
}

/* ---- what the program registers ---- */

typedef struct dim3 {
    unsigned x, y, z;
} dim3;

enum { MOST = 32 };

typedef struct binary {
    const void *wrapper;
    struct CUlib_st *library; /* NULL: not loaded yet */
} binary;

static binary binaries[MOST];
static struct {
    binary *from;
    const void *host;
    const char *name;
} kernels[MOST];
static unsigned binary_count, kernel_count;

binary *__cudaRegisterFatBinary(const void *wrapper);
binary *__cudaRegisterFatBinary(const void *wrapper)
{
    binaries[binary_count].wrapper = wrapper;
    return &binaries[binary_count++];
}

void __cudaRegisterFatBinaryEnd(binary *from);
void __cudaRegisterFatBinaryEnd(binary *from)
{
    (void)from;
}

void __cudaUnregisterFatBinary(binary *from);
void __cudaUnregisterFatBinary(binary *from)
{
    if (from->library)
        cu.cuLibraryUnload(from->library);
}

void __cudaRegisterFunction(binary *from, const void *host, char *device, const char *name, int limit, void *tid,
                            void *bid, dim3 *block, dim3 *grid, int *size);
void __cudaRegisterFunction(binary *from, const void *host, char *device, const char *name, int limit, void *tid,
                            void *bid, dim3 *block, dim3 *grid, int *size)
{
    (void)device, (void)limit, (void)tid, (void)bid, (void)block, (void)grid, (void)size;
    kernels[kernel_count].from = from;
    kernels[kernel_count].host = host;
    kernels[kernel_count++].name = name;
}

/* ---- launches ---- */

static tvLaunchConfig pushed;

unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared, struct CUstream_st *stream);
unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared, struct CUstream_st *stream)
{
    pushed = (tvLaunchConfig){grid.x, grid.y, grid.z, block.x, block.y, block.z, (unsigned)shared, stream, NULL, 0};
    return 0;
}

int __cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared, struct CUstream_st **stream);
int __cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared, struct CUstream_st **stream)
{
    *grid = (dim3){pushed.gridDimX, pushed.gridDimY, pushed.gridDimZ};
    *block = (dim3){pushed.blockDimX, pushed.blockDimY, pushed.blockDimZ};
    *shared = pushed.sharedMemBytes;
    *stream = pushed.hStream;
    return 0;
}

static int last_error;

static int note(int code)
{
    last_error = code ? code : last_error;
    return code;
}

int __cudaGetKernel(struct CUkern_st **kernel, const void *host);
int __cudaGetKernel(struct CUkern_st **kernel, const void *host)
{
    int code = begin();
    for (unsigned i = 0; !code && i < kernel_count; i++) {
        binary *from = kernels[i].from;
        if (kernels[i].host != host)
            continue;
        if (!from->library)
            code = cu.cuLibraryLoadData(&from->library, from->wrapper, NULL, NULL, 0, NULL, NULL, 0);
        return note(code ? code : cu.cuLibraryGetKernel(kernel, from->library, kernels[i].name));
    }
    return note(code ? code : LD_CUDA_NOT_FOUND);
}

int __cudaLaunchKernel(struct CUkern_st *kernel, dim3 grid, dim3 block, void **args, size_t shared,
                       struct CUstream_st *stream);
int __cudaLaunchKernel(struct CUkern_st *kernel, dim3 grid, dim3 block, void **args, size_t shared,
                       struct CUstream_st *stream)
{
    return note(cu.cuLaunchKernel((struct CUfunc_st *)kernel, grid.x, grid.y, grid.z, block.x, block.y, block.z,
                                  (unsigned)shared, stream, args, NULL));
}

/* ---- what the program itself calls ---- */

int cudaMalloc(void **memory, size_t size);
int cudaMalloc(void **memory, size_t size)
{
    unsigned long long address = 0;
    int code = begin();
    code = code ? code : cu.cuMemAlloc(&address, size);
    *memory = (void *)(uintptr_t)address;
    return note(code);
}

int cudaMemcpy(void *to, const void *from, size_t size, int kind);
int cudaMemcpy(void *to, const void *from, size_t size, int kind)
{
    enum { TO_DEVICE = 1 };
    return note(kind == TO_DEVICE ? cu.cuMemcpyHtoD((uintptr_t)to, from, size)
                                  : cu.cuMemcpyDtoH(to, (uintptr_t)from, size));
}

int cudaGetLastError(void);
int cudaGetLastError(void)
{
    int code = last_error;
    last_error = 0;
    return code;
}

const char *cudaGetErrorString(int code);
const char *cudaGetErrorString(int code)
{
    static char text[40];
    snprintf(text, sizeof text, "the driver's error %d", code);
    return text;
}
