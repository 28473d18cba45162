// Two kernels of CUDA Tile C++, and a program that launches them and looks at what they wrote.
#include <cmath>
#include <cstdio>
#include <vector>

#include <cuda_runtime.h>
#include <cuda_tile.h>

namespace ct = cuda::tiles;
template <class E, size_t... N> using tile = ct::tile<E, ct::shape<N...>>;

namespace example {

// Adds n numbers; a tile block does 128.
__tile_global__ void add(const float *x, const float *y, float *sum, int n)
{
    auto i = ct::iota<tile<int, 128>>() + int(ct::bid().x) * 128;
    auto in = i < n;
    ct::store_masked(sum + i, ct::load_masked(x + i, in) + ct::load_masked(y + i, in), in);
}

// y = a * x + y.
template <class E> __tile_global__ void axpy(E a, const E *x, E *y, int n)
{
    auto i = ct::iota<tile<int, 64>>() + int(ct::bid().x) * 64;
    auto in = i < n;
    ct::store_masked(y + i, a * ct::load_masked(x + i, in) + ct::load_masked(y + i, in), in);
}
template __tile_global__ void axpy<float>(float, const float *, float *, int);

} // namespace example

#define TRY(call)                                                                    \
    do {                                                                             \
        cudaError_t error = (call);                                                  \
        if (error != cudaSuccess) {                                                  \
            std::fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(error));      \
            return 1;                                                                \
        }                                                                            \
    } while (0)

int main()
{
    const int n = 200;
    std::vector<float> x(n), y(n), sum(n), scaled(n);
    for (int i = 0; i < n; i++)
        x[i] = float(i), y[i] = 1.0f / float(i + 1);
    float *dx, *dy, *dsum;
    size_t size = n * sizeof(float);
    TRY(cudaMalloc(&dx, size));
    TRY(cudaMalloc(&dy, size));
    TRY(cudaMalloc(&dsum, size));
    TRY(cudaMemcpy(dx, x.data(), size, cudaMemcpyHostToDevice));
    TRY(cudaMemcpy(dy, y.data(), size, cudaMemcpyHostToDevice));
    example::add<<<(n + 127) / 128, 1>>>(dx, dy, dsum, n);
    example::axpy<float><<<(n + 63) / 64, 1>>>(2.5f, dx, dy, n);
    TRY(cudaGetLastError());
    TRY(cudaMemcpy(sum.data(), dsum, size, cudaMemcpyDeviceToHost));
    TRY(cudaMemcpy(scaled.data(), dy, size, cudaMemcpyDeviceToHost));
    int wrong = 0;
    for (int i = 0; i < n; i++)
        wrong += sum[i] != x[i] + y[i] || std::fabs(scaled[i] - (2.5f * x[i] + y[i])) > 1e-4f;
    std::printf("%d of %d numbers are wrong\n", wrong, 2 * n);
    return wrong != 0;
}
