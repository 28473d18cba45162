// A program of CUDA Tile C++ that uses what its runtime asks the driver about kernels: tests/programs/build.sh makes it.
// Ends with `app: N passed, N failed`.
#include <cstdio>
#include <cstring>

#include <cuda_runtime.h>
#include <cuda_tile.h>

namespace ct = cuda::tiles;
template <class E, size_t... N> using tile = ct::tile<E, ct::shape<N...>>;

__tile__ int launches = 5;

__tile_global__ void vadd(const float *x, const float *y, float *z, int n)
{
    auto i = ct::iota<tile<int, 128>>() + int(ct::bid().x) * 128;
    auto in = i < n;
    ct::store_masked(z + i, ct::load_masked(x + i, in) + ct::load_masked(y + i, in), in);
}

__tile_global__ void count(int *out, int by)
{
    ct::atomic_add(&launches, by, ct::memory_order_relaxed_t{});
    out[0] = launches;
}

#ifndef TILES_ONLY
void launch_twice(float *x, int n); // threads.cu: a kernel of threads, for sm_90

static int passed, failed;

static void check(bool fine, const char *what)
{
    (fine ? passed : failed)++;
    if (!fine)
        printf("wrong: %s (%s)\n", what, cudaGetErrorString(cudaGetLastError()));
}
#define DO(call) check((call) == cudaSuccess, #call)

static const int n = 200;
static float *x, *z;

static bool sums_are(float factor)
{
    float sums[n];
    if (cudaMemcpy(sums, z, sizeof sums, cudaMemcpyDeviceToHost) != cudaSuccess)
        return false;
    for (int i = 0; i < n; i++)
        if (sums[i] != float(i) * factor)
            return false;
    return true;
}

// Captured into a graph and launched twice: by the runtime's other ways to launch.
static void capture()
{
    cudaStream_t stream;
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    void *args[] = {&x, &x, &z, const_cast<int *>(&n)};
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3(2);
    config.blockDim = dim3(1);
    DO(cudaStreamCreate(&stream));
    config.stream = stream;
    DO(cudaMemset(z, 0, n * sizeof *z));
    DO(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    DO(cudaLaunchKernelExC(&config, reinterpret_cast<const void *>(vadd), args));
    DO(cudaStreamEndCapture(stream, &graph));
    DO(cudaGraphInstantiate(&exec, graph, 0));
    DO(cudaGraphLaunch(exec, stream));
    DO(cudaStreamSynchronize(stream));
    check(sums_are(2), "sums of the graph");
}

// Of the tiles' variable.
static void look_at_variable()
{
    int *out, counted = 0, set = 40;
    size_t size = 0;
    DO(cudaMalloc(&out, sizeof *out));
    count<<<1, 1>>>(out, 2);
    DO(cudaMemcpy(&counted, out, sizeof counted, cudaMemcpyDeviceToHost));
    check(counted == 7, "the variable began with 5");
    DO(cudaMemcpyToSymbol(launches, &set, sizeof set));
    count<<<1, 1>>>(out, 2);
    DO(cudaMemcpyFromSymbol(&counted, launches, sizeof counted));
    check(counted == 42, "the variable was set");
    DO(cudaGetSymbolSize(&size, launches));
    check(size == sizeof(int), "the variable's size");
}

int main()
{
    float numbers[n];
    cudaFuncAttributes attributes = {};
    for (int i = 0; i < n; i++)
        numbers[i] = float(i);
    DO(cudaMalloc(&x, sizeof numbers));
    DO(cudaMalloc(&z, sizeof numbers));
    DO(cudaMemcpy(x, numbers, sizeof numbers, cudaMemcpyHostToDevice));
    vadd<<<2, 1>>>(x, x, z, n);
    check(sums_are(2), "sums");
    launch_twice(z, n);
    check(sums_are(4), "a kernel of threads");
    DO(cudaFuncGetAttributes(&attributes, reinterpret_cast<const void *>(vadd)));
    check(attributes.maxThreadsPerBlock >= 1 && attributes.numRegs > 0, "attributes");
    look_at_variable();
    capture();
    DO(cudaDeviceSynchronize());
    printf("app: %d passed, %d failed\n", passed, failed);
    return failed != 0;
}
#endif
