"""The functions of check_jax.py: what models and their gradients are made of. NAME: function, arguments, tolerance."""

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np

FUNCTIONS = {}
M, N = 48, 64


def draw(*shape, dtype=np.float32, low=-2.0, high=2.0, seed=0):
    if np.issubdtype(np.dtype(dtype), np.integer):
        return np.random.default_rng(seed + sum(shape)).integers(-9, 9, shape).astype(dtype)
    return (np.random.default_rng(seed + sum(shape)).random(shape) * (high - low) + low).astype(dtype)


def add(name, function, *shapes, dtype=np.float32, loose=1, **options):
    """shapes: of the arguments, or arrays."""

    def arguments():
        return [
            s if isinstance(s, np.ndarray) else draw(*s, dtype=dtype, seed=i, **options) for i, s in enumerate(shapes)
        ]

    FUNCTIONS[name] = function, arguments, loose


BF16, F16, E4M3, E5M2 = ml_dtypes.bfloat16, np.float16, ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2

# ---- element-wise
for _name, _function in {
    "sin": jnp.sin,
    "cos": jnp.cos,
    "tanh": jnp.tanh,
    "exp": jnp.exp,
    "abs": jnp.abs,
    "negative": jnp.negative,
    "floor": jnp.floor,
    "ceil": jnp.ceil,
    "square": jnp.square,
    "sigmoid": jax.nn.sigmoid,
    "relu": jax.nn.relu,
    "silu": jax.nn.silu,
    "gelu": jax.nn.gelu,
    "softplus": jax.nn.softplus,
    "leaky_relu": jax.nn.leaky_relu,
    "elu": jax.nn.elu,
    "expm1": jnp.expm1,
    "logistic_squared": lambda x: jax.nn.sigmoid(x) ** 2,
    "clip": lambda x: jnp.clip(x, -1, 1),
}.items():
    add(_name, _function, (M, N), loose=4)
for _name, _function in {
    "log": jnp.log,
    "log1p": jnp.log1p,
    "sqrt": jnp.sqrt,
    "rsqrt": jax.lax.rsqrt,
    "reciprocal": lambda x: 1 / x,
}.items():
    add(_name, _function, (M, N), low=0.1, high=4.0, loose=4)
for _name, _function in {
    "add": jnp.add,
    "subtract": jnp.subtract,
    "multiply": jnp.multiply,
    "maximum": jnp.maximum,
    "minimum": jnp.minimum,
    "axpy": lambda x, y: 2.5 * x + y,
    "where": lambda x, y: jnp.where(x > 0, x, y),
    "less": lambda x, y: (x < y).astype(jnp.float32),
    "swiglu": lambda x, y: jax.nn.silu(x) * y,
    "hypotenuse": lambda x, y: jnp.sqrt(x * x + y * y),
}.items():
    add(_name, _function, (M, N), (M, N), loose=4)
add("divide", jnp.divide, draw(M, N), draw(M, N, low=0.5), loose=4)
add("bias", lambda x, b: x + b, (M, N), (N,))
add("column_scale", lambda x, s: x * s[:, None], (M, N), (M,))
add("add_i32", jnp.add, (M, N), (M, N), dtype=np.int32)
add("and_i32", jnp.bitwise_and, (M, N), (M, N), dtype=np.int32)
add("bits_i32", lambda x, y: (x & y) ^ (x | y), (M, N), (M, N), dtype=np.int32)
for _kind, _dtype in {"bf16": BF16, "f16": F16}.items():
    add(f"add_{_kind}", jnp.add, (M, N), (M, N), dtype=_dtype)
    add(f"gelu_{_kind}", jax.nn.gelu, (M, N), dtype=_dtype, loose=2)
    add(f"softmax_{_kind}", jax.nn.softmax, (M, N), dtype=_dtype, loose=2)
    add(f"to_f32_{_kind}", lambda x: x.astype(jnp.float32), (M, N), dtype=_dtype)
add("to_bf16", lambda x: x.astype(jnp.bfloat16), (M, N))
add("to_f16", lambda x: x.astype(jnp.float16), (M, N))
add("to_e4m3", lambda x: x.astype(jnp.float8_e4m3fn), (M, N))
add("to_e5m2", lambda x: x.astype(jnp.float8_e5m2), (M, N))
add("from_e4m3", lambda x: x.astype(jnp.float32) * 2, (M, N), dtype=E4M3)
add("quantize", lambda x: jnp.clip(jnp.floor(x * 16), -128, 127).astype(jnp.int8), (M, N))
add("dequantize", lambda x: x.astype(jnp.float32) * 0.5, (M, N), dtype=np.int8)

# ---- over an axis
for _name, _function in {"sum": jnp.sum, "mean": jnp.mean, "max": jnp.max, "min": jnp.min}.items():
    add(f"{_name}_rows", lambda x, f=_function: f(x, -1), (M, N))
    add(f"{_name}_columns", lambda x, f=_function: f(x, 0), (M, N))
add("sum_of_squares", lambda x: jnp.sum(x * x, -1), (M, N))
add("log_sum_exp", lambda x: jax.nn.logsumexp(x, -1), (M, N), loose=4)
add("softmax", jax.nn.softmax, (M, N), loose=4)
add("log_softmax", jax.nn.log_softmax, (M, N), loose=4)
add("standard_deviation", lambda x: jnp.std(x, -1), (M, N), loose=4)


def layer_norm(x, w, b):
    mean = x.mean(-1, keepdims=True)
    return (x - mean) * jax.lax.rsqrt(((x - mean) ** 2).mean(-1, keepdims=True) + 1e-5) * w + b


def rms_norm(x, w):
    return x * jax.lax.rsqrt((x * x).mean(-1, keepdims=True) + 1e-6) * w


add("layer_norm", layer_norm, (M, N), (N,), (N,), loose=8)
add("rms_norm", rms_norm, (M, N), (N,), loose=8)

# ---- products, with what follows them
for _kind, _dtype in {"f32": np.float32, "bf16": BF16, "f16": F16}.items():
    add(
        f"dot_{_kind}",
        lambda x, y: x @ y,
        (64, 128),
        (128, 64),
        dtype=_dtype,
        loose=40 if _dtype == np.float32 else 2,
    )
add("dot_bias_relu", lambda x, y, b: jax.nn.relu(x @ y + b), (64, 128), (128, 64), (64,), dtype=BF16, loose=2)
add("dot_gelu", lambda x, y: jax.nn.gelu(x @ y), (64, 128), (128, 64), dtype=BF16, loose=3)
add("dot_transposed", lambda x, y: x @ y.T, (64, 128), (64, 128), dtype=F16, loose=2)
add("batched_dot", lambda x, y: jnp.einsum("bij,bjk->bik", x, y), (2, 64, 64), (2, 64, 64), dtype=F16, loose=2)

# ---- places
add("transpose", lambda x: x.T, (M, N))
add("transpose_add", lambda x: x.T + 1, (M, N))
add("reshape_scale", lambda x: x.reshape(N, M) * 2, (M, N))
add("slice", lambda x: x[8:40, 16:48] + 1, (M, N))
add("broadcast", lambda x: jnp.broadcast_to(x[:, None], (M, N)) + 0.5, (M,))
add("iota", lambda x: x + jnp.arange(N, dtype=jnp.float32), (M, N))
add("causal_mask", lambda x: jnp.where(jnp.tril(jnp.ones((N, N), bool)), x, -1e9), (N, N))

# ---- gradients
for _name, _function in {
    "tanh": jnp.tanh,
    "gelu": jax.nn.gelu,
    "silu": jax.nn.silu,
    "softplus": jax.nn.softplus,
}.items():
    add(f"gradient_{_name}", jax.grad(lambda x, f=_function: f(x).sum()), (M, N), loose=8)
add("gradient_softmax", lambda x, g: jax.vjp(jax.nn.softmax, x)[1](g)[0], (M, N), (M, N), loose=8)
add("gradient_rms_norm", lambda x, w, g: jax.vjp(rms_norm, x, w)[1](g), (M, N), (N,), (M, N), loose=20)
add(
    "gradient_layer_norm", lambda x, w, b, g: jax.vjp(layer_norm, x, w, b)[1](g), (M, N), (N,), (N,), (M, N), loose=20
)
add("cross_entropy", lambda x, y: -(y * jax.nn.log_softmax(x)).sum(-1).mean(), (M, N), (M, N), loose=8)
