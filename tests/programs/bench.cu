// How long two kernels of the corpus take: `bench` prints NAME MICROSECONDS. Built for sm_90 it runs the machine code of the
// toolkit's compiler; built for compute_90, with libtilevm_cuda.so preloaded, that of ours.
#include <algorithm>
#include <cstdio>
#include <vector>

#include <cuda_runtime.h>

#include "cuda_bf16.h"
#include "cuda_fp16.h"
#include "cuda_fp8.h"
#include "cuda_tf32.h"
#include "cuda_tile.h"

namespace k10 {
#include "../cpp/kernels/k10_gemm.cu"
}
namespace k24 {
#include "../cpp/kernels/k24_stencil.cu"
}

#define TRY(call)                                                               \
    do {                                                                        \
        cudaError_t error = (call);                                             \
        if (error != cudaSuccess) {                                             \
            std::fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(error)); \
            return 1;                                                           \
        }                                                                       \
    } while (0)

enum { REPEATS = 30, WARM = 5 };

// Prints the median of what the launch takes.
template <class F> static int measure(const char *name, F launch)
{
    cudaEvent_t start, end;
    std::vector<float> times;
    TRY(cudaEventCreate(&start));
    TRY(cudaEventCreate(&end));
    for (int i = 0; i < WARM + REPEATS; i++) {
        float ms;
        TRY(cudaEventRecord(start));
        launch();
        TRY(cudaEventRecord(end));
        TRY(cudaEventSynchronize(end));
        TRY(cudaEventElapsedTime(&ms, start, end));
        if (i >= WARM)
            times.push_back(ms);
    }
    std::sort(times.begin(), times.end());
    std::printf("%s %.2f\n", name, times[REPEATS / 2] * 1000);
    return 0;
}

static int bench_gemm(int m, int n, int k)
{
    std::vector<__half> numbers(size_t(m) * k);
    for (size_t i = 0; i < numbers.size(); i++)
        numbers[i] = __half(float(i * 2654435761u % 1024) / 512 - 1);
    __half *x, *y;
    float *z, first, want = 0;
    TRY(cudaMalloc(&x, numbers.size() * 2));
    TRY(cudaMalloc(&y, size_t(k) * n * 2));
    TRY(cudaMalloc(&z, size_t(m) * n * 4));
    TRY(cudaMemcpy(x, numbers.data(), numbers.size() * 2, cudaMemcpyHostToDevice));
    TRY(cudaMemcpy(y, numbers.data(), std::min(numbers.size(), size_t(k) * n) * 2, cudaMemcpyHostToDevice));
    if (measure("k10_gemm", [&] { k10::gemm<<<dim3(m / 32, n / 64), 1>>>(x, y, z, m, n, k); }))
        return 1;
    TRY(cudaMemcpy(&first, z, sizeof first, cudaMemcpyDeviceToHost));
    for (int i = 0; i < k; i++)
        want += float(numbers[i]) * float(numbers[size_t(i) * n]);
    if (!(std::abs(first - want) < 0.5f))
        std::printf("k10_gemm WRONG: %g, not %g\n", first, want);
    return 0;
}

static int bench_stencil(int h, int w)
{
    std::vector<float> numbers(size_t(h) * w);
    for (size_t i = 0; i < numbers.size(); i++)
        numbers[i] = float(i % 1000);
    float *x, *y, first;
    TRY(cudaMalloc(&x, numbers.size() * 4));
    TRY(cudaMalloc(&y, numbers.size() * 4));
    TRY(cudaMemcpy(x, numbers.data(), numbers.size() * 4, cudaMemcpyHostToDevice));
    if (measure("k24_stencil", [&] { k24::stencil<<<dim3(w / 16, h / 8), 1>>>(x, y, h, w); }))
        return 1;
    TRY(cudaMemcpy(&first, y, sizeof first, cudaMemcpyDeviceToHost));
    if (first != numbers[1] + numbers[w] - 4 * numbers[0])
        std::printf("k24_stencil WRONG: %g\n", first);
    return 0;
}

int main()
{
    return bench_gemm(4096, 4096, 4096) || bench_stencil(8192, 8192);
}
