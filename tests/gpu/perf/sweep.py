"""The sweep: products and attention at many tile sizes and hints."""
import math

import kernels as k
from case import Job, Kernel, array, name_of, number, out, parts

MULTIPROCESSORS = 132   # of an H100 or H200; persistent kernels take as many blocks


def product_job(name, dtype, result, tolerance, M, N, K):
    def arguments(M, N, K):
        return [array("A", dtype, M, K), array("B", dtype, K, N), out("C", result, M, N)]
    return Job(name, "product", arguments, dict(M=M, N=N, K=K), dict(M=256, N=512, K=256), tolerance,
               lambda M, N, K: 2 * M * N * K)


def batched_job(name, dtype, result, tolerance, **sizes):
    def arguments(B, M, N, K):
        return [array("A", dtype, B, M, K), array("B", dtype, B, K, N), out("C", result, B, M, N)]
    return Job(name, "product", arguments, sizes, dict(B=2, M=256, N=256, K=256), tolerance,
               lambda B, M, N, K: 2 * B * M * N * K)


def attention_job(name, expected, B, H, S, D, causal):
    def arguments(B, H, S, D):
        four = [array(n, "f16", B, H, S, D) for n in "QKV"]
        return [*four, out("O", "f16", B, H, S, D), number("scale_log2", 1.4426950408889634 / math.sqrt(D))]
    return Job(name, expected, arguments, dict(B=B, H=H, S=S, D=D), dict(B=1, H=2, S=256, D=D), 0.01,
               lambda B, H, S, D: 4 * B * H * S * S * D // (2 if causal else 1))


JOBS = [
    attention_job("fmha", "attention_causal", 1, 32, 8192, 128, True),
    product_job("mm_f16", "f16", "f16", 0.01, 8192, 8192, 8192),
    product_job("mm_tf32", "f32", "f32", 0.01, 8192, 8192, 8192),
    batched_job("bmm_e4m3", "f8e4m3fn", "f16", 0.01, B=8, M=12288, N=4096, K=2560),
]


def sweep_attention():
    for tm, tn in [(128, 128), (128, 64), (64, 128), (64, 64)]:
        for occupancy in (1, 2):
            for warps in (None, 4, 8):
                yield Kernel(name_of("fmha_f16", tm, tn), "fmha", k.attention, [128, tm, tn, True],
                             lambda B, H, S, D, tm=tm: (parts(S, tm), H, B), occupancy=occupancy, num_worker_warps=warps)


def sweep_product(prefix, job, tiles):
    for tm, tn, tk in tiles:
        for ctas, warps in [(1, None), (1, 4), (1, 8), (2, None)]:
            yield Kernel(name_of(prefix, tm, tn, tk), job, k.product, [tm, tn, tk, 8],
                         lambda M, N, K, tm=tm, tn=tn: (parts(M, tm) * parts(N, tn), 1, 1), num_ctas=ctas, num_worker_warps=warps)


def sweep_persistent(tiles):
    for tm, tn, tk in tiles:
        for ctas, warps in [(1, None), (1, 4), (1, 8), (2, None)]:
            def grid(M, N, K, tm=tm, tn=tn, ctas=ctas):
                return (min(MULTIPROCESSORS // ctas, parts(M, tm) * parts(N, tn)), 1, 1)
            yield Kernel(name_of("pmm_f16", tm, tn, tk), "mm_f16", k.product_persistent, [tm, tn, tk, 8], grid,
                         num_ctas=ctas, num_worker_warps=warps)


def sweep_batched():
    for tm, tn, tk in [(128, 128, 128), (128, 128, 64), (128, 256, 128), (256, 128, 128)]:
        for ctas in (1, 2):
            yield Kernel(name_of("bmm_e4m3", tm, tn, tk), "bmm_e4m3", k.product_batched, [tm, tn, tk],
                         lambda B, M, N, K, tm=tm, tn=tn: (parts(M, tm), parts(N, tn), B), num_ctas=ctas)


F16_TILES = [(128, 128, 128), (128, 128, 64), (128, 256, 64), (256, 128, 64), (256, 256, 64), (64, 256, 64)]
TF32_TILES = [(128, 128, 32), (128, 128, 64), (128, 256, 32), (64, 128, 64)]

KERNELS = [*sweep_attention(), *sweep_product("mm_f16", "mm_f16", F16_TILES), *sweep_product("mm_tf32", "mm_tf32", TF32_TILES),
           *sweep_persistent(F16_TILES), *sweep_batched()]
