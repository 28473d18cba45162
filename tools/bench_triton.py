"""The Triton side of bench_vm.py: three kernels for its interpreter (TRITON_INTERPRET=1), on NumPy arrays."""
import triton
import triton.language as tl


class Array:
    """As much of a tensor as the interpreter asks for; memory is the array's."""

    def __init__(self, a):
        self.a, self.dtype = a, a.dtype.name

    def data_ptr(self):
        return self.a.ctypes.data

    def untyped_storage(self):
        return self

    def cpu(self):
        return self

    def copy_(self, other):
        return self

    def new_empty(self, *_, **__):
        return Array(self.a)

    def set_(self, storage, *_):
        self.a = storage.a

    def storage_offset(self):
        return 0

    def size(self):
        return self.a.shape

    def stride(self):
        return tuple(s // self.a.itemsize for s in self.a.strides)


@triton.jit
def add_kernel(a, b, c, T: tl.constexpr):
    i = tl.program_id(0) * T + tl.arange(0, T)
    tl.store(c + i, tl.load(a + i) + tl.load(b + i))


@triton.jit
def softmax_kernel(x, y, stride, W: tl.constexpr):
    i = tl.program_id(0) * stride + tl.arange(0, W)
    v = tl.load(x + i)
    p = tl.exp(v - tl.max(v, axis=0))
    tl.store(y + i, p / tl.sum(p, axis=0))


@triton.jit
def matmul_kernel(a, b, c, n, K: tl.constexpr, TM: tl.constexpr, TN: tl.constexpr, TK: tl.constexpr):
    i = tl.program_id(0) * TM + tl.arange(0, TM)
    j = tl.program_id(1) * TN + tl.arange(0, TN)
    acc = tl.zeros((TM, TN), dtype=tl.float32)
    for k in range(0, K, TK):
        r = k + tl.arange(0, TK)
        x = tl.load(a + i[:, None] * K + r[None, :])
        y = tl.load(b + r[:, None] * n + j[None, :])
        acc += tl.dot(x, y, allow_tf32=False)
    tl.store(c + i[:, None] * n + j[None, :], acc)


def add(a, b, c):
    add_kernel[(a.size // 4096,)](Array(a), Array(b), Array(c), T=4096)
    return c


def softmax(x, y):
    softmax_kernel[(x.shape[0],)](Array(x), Array(y), x.shape[1], W=x.shape[1])
    return y


def matmul(x, y, c):
    m, k = x.shape
    n = y.shape[1]
    matmul_kernel[(m // 128, n // 128)](Array(x), Array(y), Array(c), n, K=k, TM=128, TN=128, TK=32)
    return c
