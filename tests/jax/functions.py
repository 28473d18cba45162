"""Functions that models and their gradients are made of, for check_jax.py and bench_jax.py."""

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np


BF16, F16, E4M3, E5M2 = ml_dtypes.bfloat16, np.float16, ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2


def draw(*shape, dtype=np.float32, low=-2.0, high=2.0, seed=0):
    if np.issubdtype(np.dtype(dtype), np.integer):
        return np.random.default_rng(seed + sum(shape)).integers(-9, 9, shape).astype(dtype)
    return (np.random.default_rng(seed + sum(shape)).random(shape) * (high - low) + low).astype(dtype)


def layer_norm(x, w, b):
    mean = x.mean(-1, keepdims=True)
    return (x - mean) * jax.lax.rsqrt(((x - mean) ** 2).mean(-1, keepdims=True) + 1e-5) * w + b


def rms_norm(x, w):
    return x * jax.lax.rsqrt((x * x).mean(-1, keepdims=True) + 1e-6) * w


# The algorithm with which no emitter of XLA rounds the operands of a product of f32. Without one, XLA's own emitters round
# them to tf32, and Tile IR does not. Tile IR has none of the batched products into which XLA divides small ones.
EXACT = "F32_F32_F32"


def functions(rows=48, columns=64, side=64, depth=128, f32_product=None):
    """By name: the function, what makes its arguments, and how many times the usual tolerance it needs. rows, columns: of
    arrays; side, depth: products are of (side, depth) by (depth, side); f32_product: their algorithm for f32."""
    found = {}

    def add(name, function, *shapes, dtype=np.float32, loose=1, **options):
        """shapes: of the arguments, or arrays."""

        def arguments():
            return [
                s if isinstance(s, np.ndarray) else draw(*s, dtype=dtype, seed=i, **options) for i, s in enumerate(shapes)
            ]

        found[name] = function, arguments, loose

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
        add(_name, _function, (rows, columns), loose=4)
    for _name, _function in {
        "log": jnp.log,
        "log1p": jnp.log1p,
        "sqrt": jnp.sqrt,
        "rsqrt": jax.lax.rsqrt,
        "reciprocal": lambda x: 1 / x,
    }.items():
        add(_name, _function, (rows, columns), low=0.1, high=4.0, loose=4)
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
        add(_name, _function, (rows, columns), (rows, columns), loose=4)
    add("divide", jnp.divide, draw(rows, columns), draw(rows, columns, low=0.5), loose=4)
    add("bias", lambda x, b: x + b, (rows, columns), (columns,))
    add("column_scale", lambda x, s: x * s[:, None], (rows, columns), (rows,))
    add("add_i32", jnp.add, (rows, columns), (rows, columns), dtype=np.int32)
    add("and_i32", jnp.bitwise_and, (rows, columns), (rows, columns), dtype=np.int32)
    add("bits_i32", lambda x, y: (x & y) ^ (x | y), (rows, columns), (rows, columns), dtype=np.int32)
    for _kind, _dtype in {"bf16": BF16, "f16": F16}.items():
        add(f"add_{_kind}", jnp.add, (rows, columns), (rows, columns), dtype=_dtype)
        add(f"gelu_{_kind}", jax.nn.gelu, (rows, columns), dtype=_dtype, loose=2)
        add(f"softmax_{_kind}", jax.nn.softmax, (rows, columns), dtype=_dtype, loose=2)
        add(f"to_f32_{_kind}", lambda x: x.astype(jnp.float32), (rows, columns), dtype=_dtype)
    add("to_bf16", lambda x: x.astype(jnp.bfloat16), (rows, columns))
    add("to_f16", lambda x: x.astype(jnp.float16), (rows, columns))
    add("to_e4m3", lambda x: x.astype(jnp.float8_e4m3fn), (rows, columns))
    add("to_e5m2", lambda x: x.astype(jnp.float8_e5m2), (rows, columns))
    add("from_e4m3", lambda x: x.astype(jnp.float32) * 2, (rows, columns), dtype=E4M3)
    add("quantize", lambda x: jnp.clip(jnp.floor(x * 16), -128, 127).astype(jnp.int8), (rows, columns))
    add("dequantize", lambda x: x.astype(jnp.float32) * 0.5, (rows, columns), dtype=np.int8)

    # ---- over an axis
    for _name, _function in {"sum": jnp.sum, "mean": jnp.mean, "max": jnp.max, "min": jnp.min}.items():
        add(f"{_name}_rows", lambda x, f=_function: f(x, -1), (rows, columns))
        add(f"{_name}_columns", lambda x, f=_function: f(x, 0), (rows, columns))
    add("sum_of_squares", lambda x: jnp.sum(x * x, -1), (rows, columns))
    add("log_sum_exp", lambda x: jax.nn.logsumexp(x, -1), (rows, columns), loose=4)
    add("softmax", jax.nn.softmax, (rows, columns), loose=4)
    add("log_softmax", jax.nn.log_softmax, (rows, columns), loose=4)
    add("standard_deviation", lambda x: jnp.std(x, -1), (rows, columns), loose=4)


    add("layer_norm", layer_norm, (rows, columns), (columns,), (columns,), loose=8)
    add("rms_norm", rms_norm, (rows, columns), (columns,), loose=8)

    # ---- products, with what follows them
    add(
        "dot_f32",
        lambda x, y: jnp.matmul(x, y, precision=f32_product),
        (side, depth),
        (depth, side),
        loose=40,
    )
    for _kind, _dtype in {"bf16": BF16, "f16": F16}.items():
        add(f"dot_{_kind}", lambda x, y: x @ y, (side, depth), (depth, side), dtype=_dtype, loose=2)
    add("dot_bias_relu", lambda x, y, b: jax.nn.relu(x @ y + b), (side, depth), (depth, side), (side,), dtype=BF16, loose=2)
    add("dot_gelu", lambda x, y: jax.nn.gelu(x @ y), (side, depth), (depth, side), dtype=BF16, loose=3)
    add("dot_transposed", lambda x, y: x @ y.T, (side, depth), (side, depth), dtype=F16, loose=2)
    add("batched_dot", lambda x, y: jnp.einsum("bij,bjk->bik", x, y), (2, side, side), (2, side, side), dtype=F16, loose=2)

    # ---- places
    add("transpose", lambda x: x.T, (rows, columns))
    add("transpose_add", lambda x: x.T + 1, (rows, columns))
    add("reshape_scale", lambda x: x.reshape(columns, rows) * 2, (rows, columns))
    add("slice", lambda x: x[8 : rows - 8, 16 : columns - 16] + 1, (rows, columns))
    add("broadcast", lambda x: jnp.broadcast_to(x[:, None], (rows, columns)) + 0.5, (rows,))
    add("iota", lambda x: x + jnp.arange(columns, dtype=jnp.float32), (rows, columns))
    add("causal_mask", lambda x: jnp.where(jnp.tril(jnp.ones((columns, columns), bool)), x, -1e9), (columns, columns))

    # ---- gradients
    for _name, _function in {
        "tanh": jnp.tanh,
        "gelu": jax.nn.gelu,
        "silu": jax.nn.silu,
        "softplus": jax.nn.softplus,
    }.items():
        add(f"gradient_{_name}", jax.grad(lambda x, f=_function: f(x).sum()), (rows, columns), loose=8)
    add("gradient_softmax", lambda x, g: jax.vjp(jax.nn.softmax, x)[1](g)[0], (rows, columns), (rows, columns), loose=8)
    add("gradient_rms_norm", lambda x, w, g: jax.vjp(rms_norm, x, w)[1](g), (rows, columns), (columns,), (rows, columns), loose=20)
    add(
        "gradient_layer_norm", lambda x, w, b, g: jax.vjp(layer_norm, x, w, b)[1](g), (rows, columns), (columns,), (columns,), (rows, columns), loose=20
    )
    add("cross_entropy", lambda x, y: -(y * jax.nn.log_softmax(x)).sum(-1).mean(), (rows, columns), (rows, columns), loose=8)
    return found
