/* The loader on a real device: vector addition from bytecode, through the API and as a client of the driver.

     gpu_loader WAY FILE     WAY: api; client (the driver's own functions, as with libtilevm_cuda.so preloaded); library
     gpu_loader fault FILE   a kernel that is given an address that is none, and what is said then

   FILE is the corpus's vadd_f32.tbc. Checks the result of a launch and of a captured graph, and prints how long loading
   and launching take. Ends with `gpu loader WAY: N passed, N failed`, or with status 77 and a word where there is no
   device. */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "loader/driver.h"
#include "tests/common/files.h"
#include "tests/unit/test.h"

#define SYMBOL "vadd_Kt1_A1f32_1t1_p16_A1f32_1t1_p16_A1f32_1t1_p16_I256"

enum { COUNT = 100000, TILE = 256, LAUNCHES = 20000 };

typedef unsigned long long address;

/* FUNCTION(name, symbol, parameters): what the test needs beyond what the loader has. */
#define FUNCTIONS                                                                                                 \
    FUNCTION(memory, "cuMemAlloc_v2", (address * out, size_t size))                                               \
    FUNCTION(release, "cuMemFree_v2", (address at))                                                               \
    FUNCTION(upload, "cuMemcpyHtoD_v2", (address to, const void *from, size_t size))                              \
    FUNCTION(download, "cuMemcpyDtoH_v2", (void *to, address from, size_t size))                                  \
    FUNCTION(clear, "cuMemsetD8_v2", (address at, unsigned char value, size_t size))                              \
    FUNCTION(wait, "cuCtxSynchronize", (void))                                                                    \
    FUNCTION(stream, "cuStreamCreate", (struct CUstream_st * *out, unsigned flags))                               \
    FUNCTION(begin, "cuStreamBeginCapture_v2", (struct CUstream_st * stream, unsigned mode))                      \
    FUNCTION(end, "cuStreamEndCapture", (struct CUstream_st * stream, struct CUgraph_st * *out))                  \
    FUNCTION(instantiate, "cuGraphInstantiateWithFlags",                                                          \
             (struct CUgraphExec_st * *out, struct CUgraph_st * graph, address flags))                            \
    FUNCTION(replay, "cuGraphLaunch", (struct CUgraphExec_st * graph, struct CUstream_st * stream))               \
    FUNCTION(load, "cuModuleLoadData", (struct CUmod_st * *out, const void *image))                               \
    FUNCTION(unload, "cuModuleUnload", (struct CUmod_st * module))                                                \
    FUNCTION(get, "cuModuleGetFunction", (struct CUfunc_st * *out, struct CUmod_st * module, const char *name))   \
    FUNCTION(launch, "cuLaunchKernel",                                                                            \
             (struct CUfunc_st * f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, \
              unsigned shared, struct CUstream_st *stream, void **params, void **extra))

struct CUgraph_st;
struct CUgraphExec_st;

static struct {
#define FUNCTION(name, symbol, parameters) tvResult(*name) parameters;
    FUNCTIONS
#undef FUNCTION
} cu;

static bool find_functions(bool own)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW), *found;
#define FUNCTION(name, symbol, parameters)           \
    found = library ? dlsym(library, symbol) : NULL; \
    if (!found)                                      \
        return false;                                \
    memcpy(&cu.name, &found, sizeof found);
    FUNCTIONS
#undef FUNCTION
    if (own) {
        cu.load = tvModuleLoadData;
        cu.unload = tvModuleUnload;
        cu.get = tvModuleGetFunction;
        cu.launch = tvLaunchKernel;
    }
    return true;
}

static double now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

#define DO(call)                                                             \
    do {                                                                     \
        tvResult code_ = (call);                                             \
        CHECK_MSG(code_ == 0, "%d %s", (int)code_, tvGetLastErrorMessage()); \
        if (code_ != 0)                                                      \
            return;                                                          \
    } while (0)

static float a[COUNT], b[COUNT], c[COUNT];

static void check_sum(address at)
{
    size_t wrong = 0;
    DO(cu.download(c, at, sizeof c));
    for (size_t i = 0; i < COUNT; i++)
        wrong += c[i] < a[i] + b[i] || c[i] > a[i] + b[i];
    CHECK_MSG(wrong == 0, "%zu of %d sums are wrong", wrong, COUNT);
}

static void use(struct CUfunc_st *function)
{
    address at[3];
    int extent = COUNT, stride = 1;
    void *params[9];
    for (int i = 0; i < 3; i++) {
        DO(cu.memory(&at[i], sizeof a));
        params[3 * i] = &at[i];
        params[3 * i + 1] = &extent;
        params[3 * i + 2] = &stride;
    }
    for (int i = 0; i < COUNT; i++) {
        a[i] = (float)i;
        b[i] = (float)(i % 1000) / 8;
    }
    DO(cu.upload(at[0], a, sizeof a));
    DO(cu.upload(at[1], b, sizeof b));
    DO(cu.clear(at[2], 0xff, sizeof c));
    unsigned blocks = (COUNT + TILE - 1) / TILE;
    DO(cu.launch(function, blocks, 1, 1, 1, 1, 1, 0, NULL, params, NULL));
    check_sum(at[2]);

    struct CUstream_st *stream;
    struct CUgraph_st *graph;
    struct CUgraphExec_st *ready;
    DO(cu.clear(at[2], 0xff, sizeof c));
    DO(cu.stream(&stream, 1));
    DO(cu.begin(stream, 0));
    DO(cu.launch(function, blocks, 1, 1, 1, 1, 1, 0, stream, params, NULL));
    DO(cu.end(stream, &graph));
    DO(cu.instantiate(&ready, graph, 0));
    DO(cu.replay(ready, stream));
    DO(cu.wait());
    check_sum(at[2]);

    double start = now_ms();
    for (int i = 0; i < LAUNCHES; i++)
        DO(cu.launch(function, 1, 1, 1, 1, 1, 1, 0, stream, params, NULL));
    printf("launch: %.3f us\n", (now_ms() - start) * 1e3 / LAUNCHES);
    DO(cu.wait());
    for (int i = 0; i < 3; i++)
        DO(cu.release(at[i]));
}

static void use_module(const char *bytecode)
{
    for (int round = 0; round < 3; round++) {
        struct CUmod_st *module;
        struct CUfunc_st *function;
        double start = now_ms();
        DO(cu.load(&module, bytecode));
        DO(cu.get(&function, module, SYMBOL));
        printf("bytecode to kernel, %s: %.3f ms\n", round ? "from memory" : "first in this process", now_ms() - start);
        if (round == 0)
            use(function);
        DO(cu.unload(module));
    }
}

static void use_library(const char *bytecode)
{
    struct CUlib_st *library;
    struct CUkern_st *kernel;
    struct CUfunc_st *function;
    tvJitOption options[] = {LD_JIT_OPTIMIZATION_LEVEL, LD_JIT_LINE_INFO};
    void *values[] = {(void *)1, (void *)1};
    double start = now_ms();
    DO(tvLibraryLoadData(&library, bytecode, options, values, 2, NULL, NULL, 0));
    DO(tvLibraryGetKernel(&kernel, library, SYMBOL));
    DO(tvKernelGetFunction(&function, kernel));
    printf("bytecode to kernel, library: %.3f ms\n", now_ms() - start);
    use(function);
    use((struct CUfunc_st *)kernel);
    DO(tvLibraryUnload(library));
}

static void fault(const char *bytecode)
{
    struct CUmod_st *module;
    struct CUfunc_st *function;
    address nowhere = 0x1000;
    int extent = COUNT, stride = 1;
    void *params[] = {&nowhere, &extent, &stride, &nowhere, &extent, &stride, &nowhere, &extent, &stride};
    DO(cu.load(&module, bytecode));
    DO(cu.get(&function, module, SYMBOL));
    DO(cu.launch(function, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL));
    CHECK(cu.wait() == LD_CUDA_ILLEGAL_ADDRESS);
    CHECK(cu.launch(function, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL) == LD_CUDA_ILLEGAL_ADDRESS);
    CHECK(strstr(tvGetLastErrorMessage(), "an earlier kernel accessed memory that does not belong to it") != NULL);
    CHECK(cu.load(&module, bytecode) == LD_CUDA_ILLEGAL_ADDRESS);
}

int main(int argc, char **argv)
{
    size_t size;
    char *bytecode = argc == 3 ? files_read(argv[2], &size) : NULL;
    if (!bytecode) {
        fputs("usage: gpu_loader api|client|library|fault vadd_f32.tbc\n", stderr);
        return 2;
    }
    const ld_driver *driver;
    struct CUctx_st *context;
    bool client = strcmp(argv[1], "client") == 0;
    if (!find_functions(!client) || ld_driver_open(&driver) != 0 || driver->cuInit(0) != 0
        || driver->cuDevicePrimaryCtxRetain(&context, 0) != 0 || driver->cuCtxPushCurrent(context) != 0) {
        puts("there is no device: the loader is not tested on one");
        free(bytecode);
        return 77;
    }
    if (strcmp(argv[1], "library") == 0)
        use_library(bytecode);
    else if (strcmp(argv[1], "fault") == 0)
        fault(bytecode);
    else
        use_module(bytecode);
    free(bytecode);
    printf("gpu loader %s: %d passed, %d failed\n", argv[1], test_passed, test_failed);
    return test_failed != 0;
}
