"""Works of which every usual tile is timed: does the cost model find the fastest one? Kernels are those of the other files.

Sizes are smaller than in the sweep, so that all of them can be timed in one run (tests/gpu/tiles_h100.csv). No figure of the model
was fitted to these kernels.
"""
import itertools

import everyday as e
import exact
import kernels as k
import operands
from case import Job, Kernel, array, name_of, number, out, parts
from sweep import attention_job, batched_job, product_job

JOBS, KERNELS = [], []
MOST_SUMS = 256 * 128       # elements of a tile of sums, which have to stay in registers
COPIED_BYTES = 192 << 10    # two stages of operands


def work(job, kernel, tiles, constants, grid, **hints):
    """constants(tile) and grid(tile, sizes) are those of the kernel with a tile."""
    JOBS.append(job)
    for tile in tiles:
        KERNELS.append(Kernel(name_of(job.name, *tile), job.name, kernel, constants(tile),
                              lambda tile=tile, **sizes: grid(tile, sizes), **hints))


def products(size, rows=(64, 128, 256), columns=(64, 128, 256), depths=(32, 64, 128)):
    """Tiles of which two stages fit, with as many sums as registers hold."""
    return [t for t in itertools.product(rows, columns, depths)
            if t[0] * t[1] <= MOST_SUMS and 2 * size * (t[0] + t[1]) * t[2] <= COPIED_BYTES]


def plane(tile, sizes):
    return (parts(sizes["M"], tile[0]), parts(sizes["N"], tile[1]), 1)


def strips(tile, sizes):
    rows, columns, _ = plane(tile, sizes)
    return (rows * columns, 1, 1)


def one_row(_, sizes):
    return (sizes["M"], 1, 1)


def as_they_are(tile):
    return [*tile]


def grouped(tile):
    return [*tile, 8]


def sized(job, name, **sizes):
    """The work of another file, with other sizes."""
    found = next(j for j in e.JOBS + exact.JOBS + operands.JOBS if j.name == job)
    return Job(name, found.expected, found.arguments, sizes, found.tiny, found.tolerance, found.flops)


# Products

F16 = products(2)
work(product_job("t_mm_f16", "f16", "f16", 0.01, 4096, 4096, 4096), k.product, F16, grouped, strips)
work(product_job("t_mm_f16_wide", "f16", "f16", 0.01, 1024, 16384, 2048), k.product, F16, grouped, strips)
work(product_job("t_mm_f16_small", "f16", "f16", 0.01, 1536, 1536, 4096), k.product, F16, grouped, strips)
work(product_job("t_mm_f16_tall", "f16", "f16", 0.01, 131072, 256, 256), k.product, F16, grouped, strips)
work(product_job("t_mm_f16_few", "f16", "f16", 0.01, 64, 16384, 8192), k.product, products(2, rows=(64,), columns=(32, 64, 128, 256)),
     grouped, strips)
work(product_job("t_mm_tf32", "f32", "f32", 0.01, 4096, 4096, 2048), k.product, products(4, depths=(16, 32, 64)), grouped, strips)
work(product_job("t_pmm_f16", "f16", "f16", 0.01, 4096, 8192, 2048), k.product_persistent, F16, grouped,
     lambda tile, sizes: (min(132, strips(tile, sizes)[0]), 1, 1))
work(batched_job("t_bmm_e4m3", "f8e4m3fn", "f16", 0.01, B=8, M=2048, N=2048, K=2048), k.product_batched,
     products(1, depths=(64, 128)), as_they_are, lambda tile, sizes: (*plane(tile, sizes)[:2], sizes["B"]))
SQUARE = dict(M=4096, N=4096, K=4096)
work(sized("mm_plain_bf16", "t_mm_plain_bf16", **SQUARE), e.product_plain, F16, as_they_are, plane)
work(sized("linear_bf16", "t_linear_bf16", **SQUARE), e.product_transposed, F16, as_they_are, plane)
work(sized("linear_e4m3", "t_linear_e4m3", **SQUARE), e.product_transposed, products(1, depths=(64, 128)), as_they_are, plane)
work(sized("linear_u8", "t_linear_u8", **SQUARE), e.product_transposed, products(1, depths=(64, 128)), as_they_are, plane)
work(sized("mm_bias_gelu", "t_mm_bias_gelu", **SQUARE), e.product_bias_gelu, F16, as_they_are, plane)
work(sized("mm_gated", "t_mm_gated", M=4096, N=4096, K=2048), e.gated_product, products(2, columns=(64, 128), rows=(64, 128)), as_they_are,
     plane)
work(sized("split_k", "t_split_k", M=256, N=256, K=16384), e.split_k,
     [(*t, by) for t in [(32, 32, 64), (64, 64, 64), (64, 128, 64), (128, 128, 64)] for by in (4, 8, 16, 32)], as_they_are,
     lambda tile, sizes: (*plane(tile, sizes)[:2], tile[3]))
work(sized("mm_f32", "t_mm_f32", M=2048, N=2048, K=2048), exact.product_exact,
     [(32, 32, 32), (64, 32, 32), (64, 64, 16), (64, 64, 32), (128, 64, 16), (128, 64, 32), (128, 128, 16), (128, 128, 32)],
     lambda tile: [*tile, 0, 0], strips)
work(sized("mm_f64", "t_mm_f64", M=1024, N=2048, K=1024), exact.product_exact,
     [(32, 32, 16), (32, 32, 32), (32, 64, 16), (64, 32, 16), (64, 64, 16), (64, 64, 32), (64, 128, 16), (128, 64, 16), (128, 128, 16)],
     lambda tile: [*tile, 0, 0], strips)
work(sized("conv3x3_32x32x128", "t_conv3x3", images=16), e.convolution,
     [(tm, tn, tc) for tm in (64, 128) for tn in (64, 128) for tc in (32, 64, 128)], lambda tile: [32, 32, 128, *tile],
     lambda tile, sizes: (parts(sizes["images"] * 1024, tile[0]), parts(128, tile[1]), 1))

# Attention

KEYS = [(tm, tn) for tm in (64, 128) for tn in (32, 64, 128)]
for length, causal in ((64, False), (128, True)):
    name = "t_fmha_%d" % length
    work(attention_job(name, "attention_causal" if causal else "attention_full", 2, 16, 4096, length, causal), k.attention, KEYS,
         lambda tile, length=length, causal=causal: [length, *tile, causal],
         lambda tile, sizes: (parts(sizes["S"], tile[0]), sizes["H"], sizes["B"]))
work(sized("fmha_grouped", "t_fmha_grouped", B=1, H=32, S=4096), e.attention_masked, KEYS, lambda tile: [4, 128, *tile],
     lambda tile, sizes: (parts(sizes["S"], tile[0]), sizes["H"], sizes["B"]))
work(sized("decode", "t_decode", H=1024, S=1024, D=128), e.decode, [(16,), (32,), (64,), (128,)], lambda tile: [128, *tile],
     lambda tile, sizes: (sizes["H"], 1, 1))

# Rows and elements

LENGTHS = [(tn,) for tn in (256, 512, 1024, 2048, 4096, 8192)]
work(sized("layer_norm_bf16", "t_layer_norm_bf16", M=16384, N=8192), e.layer_norm, LENGTHS, as_they_are, one_row)
work(sized("layer_norm_f32_back", "t_layer_norm_f32_back", M=8192, N=8192), e.layer_norm_back, LENGTHS, as_they_are, one_row)
work(sized("layer_norm_f32_back_weights", "t_norm_weights", M=8192, N=8192), e.layer_norm_back_weights,
     [(tm, tn) for tm in (8, 16, 32, 64, 128) for tn in (32, 64, 128)], as_they_are, lambda tile, sizes: (parts(sizes["N"], tile[1]), 1, 1))
work(sized("rms_norm", "t_rms_norm", M=16384, N=8192), e.rms_norm, LENGTHS, as_they_are, one_row)
work(sized("softmax", "t_softmax", M=16384, N=8192), e.softmax_online, LENGTHS, as_they_are, one_row)
work(sized("softmax", "t_softmax_whole", M=65536, N=1024), e.softmax_whole, [(tm, 1024) for tm in (1, 2, 4, 8, 16)], as_they_are,
     lambda tile, sizes: (parts(sizes["M"], tile[0]), 1, 1))
work(sized("cross_entropy", "t_cross_entropy", M=2048, N=128256), e.cross_entropy, LENGTHS, as_they_are, one_row)
work(sized("swiglu", "t_swiglu", M=8192, N=14336), e.swiglu, [(tn,) for tn in (128, 256, 512, 1024, 2048)], as_they_are,
     lambda tile, sizes: (sizes["M"], parts(sizes["N"], tile[0]), 1))
work(sized("gemv", "t_gemv", M=16384, K=8192), e.gemv, [(tm, tk) for tm in (1, 4, 8, 16, 32) for tk in (128, 256, 512, 1024)],
     as_they_are, lambda tile, sizes: (parts(sizes["M"], tile[0]), 1, 1))
work(sized("column_sum", "t_column_sum", M=16384, N=8192), e.column_sum,
     [(tm, tn) for tm in (8, 16, 32, 64, 128) for tn in (32, 64, 128)], as_they_are, lambda tile, sizes: (parts(sizes["N"], tile[1]), 1, 1))
work(sized("embedding", "t_embedding", M=32768, N=4096), e.embedding,
     [(t, n) for t in (1, 2, 4, 8, 16) for n in (256, 512, 1024, 2048)], as_they_are,
     lambda tile, sizes: (parts(sizes["M"], tile[0]), parts(sizes["N"], tile[1]), 1))
work(sized("histogram", "t_histogram", N=1 << 25), e.histogram, [(256,), (512,), (1024,), (2048,), (4096,), (8192,)], as_they_are,
     lambda tile, sizes: (parts(sizes["N"], tile[0]), 1, 1))
for of, name in enumerate(("division", "exponential")):
    work(sized("f64_" + name, "t_f64_" + name, N=1 << 22), exact.functions, [(256,), (512,), (1024,), (2048,), (4096,), (8192,)],
         lambda tile, of=of: [of, *tile], lambda tile, sizes: (parts(sizes["N"], tile[0]), 1, 1))
work(sized("mm_f16_u8", "t_mm_f16_u8", M=4096, N=4096, K=2048), operands.product_converted, products(2, rows=(64, 128)),
     lambda tile: [*tile, False], plane)
