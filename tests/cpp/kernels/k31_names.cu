#include "cuda_tile.h"
namespace ct = ::cuda::tiles;
template<class E, size_t... N> using T = ct::tile<E, ct::shape<N...>>;

// names as C++ has them: templates in namespaces, overloads, an anonymous namespace, extern "C"; unsigned numbers,
// const pointers, every character type
namespace ns {
template<class E> __tile_global__ void scale(const E* x, E* y, E by) {
  auto i = ct::iota<T<int,32>>() + int(ct::bid().x) * 32;
  ct::store(y + i, ct::load(x + i) * by);
}
template __tile_global__ void scale<float>(const float*, float*, float);
template __tile_global__ void scale<unsigned>(const unsigned*, unsigned*, unsigned);
namespace inner {
template<int N, bool Twice> __tile_global__ void fill(int* y, int value) {
  ct::store(y + ct::iota<T<int,N>>(), ct::full<T<int,N>>(Twice ? value * 2 : value));
}
template __tile_global__ void fill<16, true>(int*, int);
template __tile_global__ void fill<16, false>(int*, int);
}
}
__tile_global__ void over(int* y, unsigned n) { ct::store(y + ct::iota<T<int,4>>(), ct::full<T<int,4>>(int(n / 2u))); }
__tile_global__ void over(int* y, long long n) { ct::store(y + ct::iota<T<int,4>>(), ct::full<T<int,4>>(int(n / 3))); }
extern "C" __tile_global__ void plain(unsigned char* y, unsigned long long n) {
  ct::store(y + ct::iota<T<int,8>>(), ct::full<T<unsigned char,8>>((unsigned char)(n >> 60)));
}
__tile_global__ void letters(char* a, signed char* b, char8_t* c, char16_t* d, char32_t* e, wchar_t* f, bool* g) {
  int i = int(ct::bid().x);
  g[i] = a[i] == char(b[i]) && c[i] == char8_t(d[i]);
  e[i] = e[i] + char32_t(f[i]);
}
