/* The CUDA driver for tests; own declarations, as in loader/. */
#include "tests/common/gpu.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <unistd.h>

typedef struct CUctx_st *context;
typedef struct CUmod_st *module;
typedef struct CUfunc_st *function;
typedef struct CUevent_st *event;
typedef unsigned long long address;

static struct {
    int (*cuInit)(unsigned);
    int (*cuDeviceGet)(int *, int);
    int (*cuDeviceGetName)(char *, int, int);
    int (*cuDeviceGetAttribute)(int *, int, int);
    int (*cuDevicePrimaryCtxRetain)(context *, int);
    int (*cuDevicePrimaryCtxRelease_v2)(int);
    int (*cuDevicePrimaryCtxReset_v2)(int);
    int (*cuCtxSetCurrent)(context);
    int (*cuCtxSynchronize)(void);
    int (*cuMemAlloc_v2)(address *, size_t);
    int (*cuMemFree_v2)(address);
    int (*cuMemcpyHtoD_v2)(address, const void *, size_t);
    int (*cuMemcpyDtoH_v2)(void *, address, size_t);
    int (*cuMemcpyDtoDAsync_v2)(address, address, size_t, void *);
    int (*cuMemsetD32Async)(address, unsigned, size_t, void *);
    int (*cuMemHostRegister_v2)(void *, size_t, unsigned);
    int (*cuMemHostUnregister)(void *);
    int (*cuMemHostGetDevicePointer_v2)(address *, void *, unsigned);
    int (*cuModuleLoadData)(module *, const void *);
    int (*cuModuleUnload)(module);
    int (*cuModuleGetFunction)(function *, module, const char *);
    int (*cuLaunchKernel)(function, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *,
                          void **, void **);
    int (*cuEventCreate)(event *, unsigned);
    int (*cuEventRecord)(event, void *);
    int (*cuEventSynchronize)(event);
    int (*cuEventElapsedTime)(float *, event, event);
    int (*cuGetErrorString)(int, const char **);
} cu;

static struct {
    void *library;
    int device;
    char name[128], error[512];
    unsigned sm;
    address flush;
} gpu;

enum { FLUSH_BYTES = 256 << 20, MAX_TIMES = 200 };

static bool check(const char *what, int code)
{
    const char *text = "?";
    if (code == 0)
        return true;
    if (cu.cuGetErrorString)
        cu.cuGetErrorString(code, &text);
    snprintf(gpu.error, sizeof gpu.error, "%s: %s (%d)", what, text, code);
    return false;
}

const char *gpu_error(void)
{
    return gpu.error;
}

const char *gpu_name(void)
{
    return gpu.name;
}

unsigned gpu_sm(void)
{
    return gpu.sm;
}

static bool find_functions(void)
{
    static const struct {
        const char *name;
        void *slot;
    } functions[] = {
#define F(name) {#name, &cu.name}
        F(cuInit),
        F(cuDeviceGet),
        F(cuDeviceGetName),
        F(cuDeviceGetAttribute),
        F(cuDevicePrimaryCtxRetain),
        F(cuDevicePrimaryCtxRelease_v2),
        F(cuDevicePrimaryCtxReset_v2),
        F(cuCtxSetCurrent),
        F(cuCtxSynchronize),
        F(cuMemAlloc_v2),
        F(cuMemFree_v2),
        F(cuMemcpyHtoD_v2),
        F(cuMemcpyDtoH_v2),
        F(cuMemcpyDtoDAsync_v2),
        F(cuMemsetD32Async),
        F(cuMemHostRegister_v2),
        F(cuMemHostUnregister),
        F(cuMemHostGetDevicePointer_v2),
        F(cuModuleLoadData),
        F(cuModuleUnload),
        F(cuModuleGetFunction),
        F(cuLaunchKernel),
        F(cuEventCreate),
        F(cuEventRecord),
        F(cuEventSynchronize),
        F(cuEventElapsedTime),
        F(cuGetErrorString),
#undef F
    };
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        void *symbol = dlsym(gpu.library, functions[i].name);
        if (!symbol) {
            snprintf(gpu.error, sizeof gpu.error, "libcuda.so.1 has no %s", functions[i].name);
            return false;
        }
        *(void **)functions[i].slot = symbol;
    }
    return true;
}

bool gpu_open(void)
{
    context c;
    int major, minor;
    if (!gpu.library && !(gpu.library = dlopen("libcuda.so.1", RTLD_NOW))) {
        snprintf(gpu.error, sizeof gpu.error, "no CUDA driver: %s", dlerror());
        return false;
    }
    if (!find_functions() || !check("cuInit", cu.cuInit(0)) || !check("cuDeviceGet", cu.cuDeviceGet(&gpu.device, 0)))
        return false;
    if (!check("cuDevicePrimaryCtxRetain", cu.cuDevicePrimaryCtxRetain(&c, gpu.device))
        || !check("cuCtxSetCurrent", cu.cuCtxSetCurrent(c)))
        return false;
    cu.cuDeviceGetName(gpu.name, sizeof gpu.name, gpu.device);
    cu.cuDeviceGetAttribute(&major, 75, gpu.device);
    cu.cuDeviceGetAttribute(&minor, 76, gpu.device);
    gpu.sm = (unsigned)(major * 10 + minor);
    return true;
}

void gpu_close(void)
{
    gpu.flush = 0;
    if (!cu.cuDevicePrimaryCtxReset_v2)
        return; /* there never was a driver */
    cu.cuCtxSetCurrent(NULL);
    cu.cuDevicePrimaryCtxRelease_v2(gpu.device);
    cu.cuDevicePrimaryCtxReset_v2(gpu.device);
}

bool gpu_alloc(size_t bytes, uint64_t *out_address)
{
    address a;
    bool ok = check("cuMemAlloc", cu.cuMemAlloc_v2(&a, bytes ? bytes : 1));
    *out_address = ok ? a : 0;
    return ok;
}

void gpu_free(uint64_t a)
{
    if (a)
        cu.cuMemFree_v2(a);
}

bool gpu_map(void *memory, size_t size)
{
    enum { MAPPED = 2 }; /* CU_MEMHOSTREGISTER_DEVICEMAP */
    address at = 0;
    if (!check("cuMemHostRegister", cu.cuMemHostRegister_v2(memory, size, MAPPED)))
        return false;
    if (check("cuMemHostGetDevicePointer", cu.cuMemHostGetDevicePointer_v2(&at, memory, 0)) && at == (uintptr_t)memory)
        return true;
    snprintf(gpu.error, sizeof gpu.error, "memory of the host has other addresses on this GPU");
    cu.cuMemHostUnregister(memory);
    return false;
}

void gpu_unmap(void *memory)
{
    cu.cuMemHostUnregister(memory);
}

bool gpu_write(uint64_t a, const void *bytes, size_t size)
{
    return check("cuMemcpyHtoD", cu.cuMemcpyHtoD_v2(a, bytes, size));
}

bool gpu_read(void *bytes, uint64_t a, size_t size)
{
    return check("cuMemcpyDtoH", cu.cuMemcpyDtoH_v2(bytes, a, size));
}

bool gpu_load(const void *image, gpu_module **out_module)
{
    module m = NULL;
    bool ok = check("cuModuleLoadData", cu.cuModuleLoadData(&m, image));
    *out_module = (gpu_module *)m;
    return ok;
}

void gpu_unload(gpu_module *m)
{
    if (m)
        cu.cuModuleUnload((module)m);
}

static bool launch(function f, const uint32_t grid[3], const void *const *params)
{
    return check("cuLaunchKernel",
                 cu.cuLaunchKernel(f, grid[0], grid[1], grid[2], 1, 1, 1, 0, NULL, (void **)(uintptr_t)params, NULL));
}

bool gpu_launch(gpu_module *m, const char *entry, const uint32_t grid[3], const void *const *params)
{
    function f;
    return check("cuModuleGetFunction", cu.cuModuleGetFunction(&f, (module)m, entry)) && launch(f, grid, params);
}

bool gpu_wait(void)
{
    return check("cuCtxSynchronize", cu.cuCtxSynchronize());
}

/* ---- what kernels print ---- */

static struct {
    FILE *file;
    int output; /* the descriptor that standard output was */
} capture;

bool gpu_capture_begin(void)
{
    fflush(stdout);
    capture.file = tmpfile();
    if (!capture.file)
        return false;
    capture.output = dup(STDOUT_FILENO);
    dup2(fileno(capture.file), STDOUT_FILENO);
    return true;
}

void gpu_capture_end(bc_text *out)
{
    char part[4096];
    size_t n;
    fflush(stdout);
    dup2(capture.output, STDOUT_FILENO);
    close(capture.output);
    rewind(capture.file);
    while ((n = fread(part, 1, sizeof part, capture.file)) > 0)
        bc_text_bytes(out, part, n);
    fclose(capture.file);
}

/* ---- times ---- */

static int by_value(const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

static bool keep(gpu_kept *kept, size_t count)
{
    bool ok = true;
    for (size_t i = 0; ok && i < count; i++)
        ok = gpu_alloc(kept[i].bytes, &kept[i].copy)
             && check("cuMemcpyDtoD", cu.cuMemcpyDtoDAsync_v2(kept[i].copy, kept[i].address, kept[i].bytes, NULL));
    return ok;
}

static void put_back(const gpu_kept *kept, size_t count)
{
    for (size_t i = 0; i < count; i++)
        cu.cuMemcpyDtoDAsync_v2(kept[i].address, kept[i].copy, kept[i].bytes, NULL);
}

bool gpu_time(gpu_module *m, const char *entry, const uint32_t grid[3], const void *const *params, gpu_kept *kept,
              size_t kept_count, unsigned count, double *out_ms)
{
    function f;
    event start, end;
    float times[MAX_TIMES];
    uint64_t flush = 0;
    if (!gpu.flush && gpu_alloc(FLUSH_BYTES, &flush))
        gpu.flush = flush;
    if (count > MAX_TIMES)
        count = MAX_TIMES;
    if (!check("cuModuleGetFunction", cu.cuModuleGetFunction(&f, (module)m, entry))
        || !check("cuEventCreate", cu.cuEventCreate(&start, 0)) || !check("cuEventCreate", cu.cuEventCreate(&end, 0)))
        return false;
    int turn = open("/proc/self/exe", O_RDONLY | O_CLOEXEC); /* processes of one program measure one at a time */
    flock(turn, LOCK_EX);
    bool ok = keep(kept, kept_count);
    for (unsigned i = 0; ok && i < count + 2; i++) { /* two to warm up */
        float ms = 0;
        put_back(kept, kept_count);
        cu.cuMemsetD32Async(gpu.flush, i, FLUSH_BYTES / 4, NULL);
        cu.cuEventRecord(start, NULL);
        ok = launch(f, grid, params);
        cu.cuEventRecord(end, NULL);
        ok = ok && check("kernel", cu.cuEventSynchronize(end));
        cu.cuEventElapsedTime(&ms, start, end);
        if (i >= 2)
            times[i - 2] = ms;
    }
    close(turn);
    for (size_t i = 0; i < kept_count; i++)
        gpu_free(kept[i].copy);
    if (!ok)
        return false;
    qsort(times, count, sizeof *times, by_value);
    *out_ms = times[count / 2];
    return true;
}
