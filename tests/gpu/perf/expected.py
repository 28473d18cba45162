"""What the kernels of `kernels.py` must compute, for numpy and for torch: `xp` is either, arrays are f32 of that kind.

A function takes the arrays and numbers of a job by name and gives the outputs by name.
"""
import math

LOG2_E = 1.4426950408889634


def error(xp, got, want):
    """Largest difference, as a part of the largest number of its row (or of the thousandth part of the largest of all)."""
    size = xp.abs(want)
    rows = xp.amax(size, axis=-1, keepdims=True)
    return float(xp.amax(xp.abs(got - want) / xp.maximum(rows, xp.amax(size) * 1e-3)))


def whole(x):
    """Numbers as integers, to index with."""
    return x.astype(int) if hasattr(x, "astype") else x.long()


def product(xp, A, B, C):
    return {"C": A @ B}


def product_transposed(xp, A, B, C):
    return {"C": A @ B.T}


def product_exact(xp, A, B, C):
    return {"C": A @ B}


def product_exact_t(xp, A, B, C):
    return {"C": A.T @ B}


def product_exact_by_t(xp, A, B, C):
    return {"C": A @ B.T}


def f64_division(xp, X, Y):
    return {"Y": 1 / (X * X + 1)}


def f64_exponential(xp, X, Y):
    return {"Y": xp.exp(X)}


def f64_logarithm(xp, X, Y):
    return {"Y": xp.log(X * X + 1)}


def f64_sine(xp, X, Y):
    return {"Y": xp.sin(X)}


def f64_hyperbolic_tangent(xp, X, Y):
    return {"Y": xp.tanh(X)}


def product_bias_gelu(xp, A, B, bias, C):
    x = A @ B + bias
    return {"C": 0.5 * x * (1 + xp.tanh(0.7978845608 * (x + 0.044715 * x ** 3)))}


def silu(xp, x):
    return x / (1 + xp.exp(-x))


def gated_product(xp, A, G, U, C):
    return {"C": silu(xp, A @ G) * (A @ U)}


def gemv(xp, A, x, y):
    return {"y": A @ x}


def convolution(xp, X, W, Y, height, width):
    C, N = X.shape[1], W.shape[1]
    image, taps = X.reshape(-1, height, width, C), W.reshape(9, C, N)
    sums = xp.zeros_like(Y).reshape(-1, height, width, N)
    for tap in range(9):
        dy, dx = tap // 3 - 1, tap % 3 - 1
        to_y, to_x = slice(max(0, -dy), height - max(0, dy)), slice(max(0, -dx), width - max(0, dx))
        from_y, from_x = slice(max(0, dy), height - max(0, -dy)), slice(max(0, dx), width - max(0, -dx))
        sums[:, to_y, to_x] += image[:, from_y, from_x] @ taps[tap]
    return {"Y": sums.reshape(-1, N)}


def softmax(xp, s):
    p = xp.exp(s - xp.amax(s, axis=-1, keepdims=True))
    return p / p.sum(axis=-1, keepdims=True)


def attention(xp, Q, K, V, scores):
    """scores: of a head's scaled products"""
    O, group = xp.empty_like(Q), Q.shape[1] // K.shape[1]
    for b in range(Q.shape[0]):
        for h in range(Q.shape[1]):     # head by head: the scores of all would not fit
            O[b, h] = softmax(xp, scores(Q[b, h] @ K[b, h // group].T)) @ V[b, h // group]
    return {"O": O}


def attention_full(xp, Q, K, V, O, scale_log2):
    return attention(xp, Q, K, V, lambda s: s * (scale_log2 / LOG2_E))


def attention_causal(xp, Q, K, V, O, scale_log2):
    return attention(xp, Q, K, V, lambda s: s * (scale_log2 / LOG2_E) + xp.triu(xp.full_like(s, -math.inf), 1))


def attention_grouped(xp, Q, K, V, O, scale):
    return attention_causal(xp, Q, K, V, O, scale * LOG2_E)


def attention_capped(xp, Q, K, V, O, scale_log2):
    return attention(xp, Q, K, V, lambda s: 50 * xp.tanh(s * scale_log2 / 50))


def attention_local(xp, Q, K, V, O, scale_log2, causal, window, cap):
    def scores(s):
        s = s * (scale_log2 / LOG2_E)
        if cap:
            s = cap * xp.tanh(s / cap)
        never = xp.full_like(s, -math.inf)
        if causal:
            s = s + xp.triu(never, 1)
        return s + xp.tril(never, -window) if window else s
    return attention(xp, Q, K, V, scores)


def attention_ragged(xp, Q, K, V, at, O, scale_log2):
    o, steps = xp.empty_like(O), whole(at)
    for start, stop in zip(steps[:-1], steps[1:]):
        q, k, v = (xp.swapaxes(x[int(start):int(stop)], 0, 1)[None] for x in (Q, K, V))
        o[int(start):int(stop)] = xp.swapaxes(attention_causal(xp, q, k, v, q, scale_log2)["O"][0], 0, 1)
    return {"O": o}


def attention_back(xp, Q, K, V, G, L, D, scale_log2, scale, causal, window):
    """By head: the probabilities and the gradients of what they come from."""
    for q, k, v, g, l, d in zip(Q, K, V, G, L, D):
        p = xp.exp2(q @ k.T * scale_log2 - l[:, None])
        if causal:
            p = xp.tril(p)
        if window:
            p = p - xp.tril(p, -window)
        yield q, k, g, p, p * (g @ v.T - d[:, None]) * scale


def attention_back_q(xp, DQ, **inputs):
    return {"DQ": xp.stack([ds @ k for q, k, g, p, ds in attention_back(xp, **inputs)])}


def attention_back_kv(xp, DK, DV, **inputs):
    found = [(ds.T @ q, p.T @ g) for q, k, g, p, ds in attention_back(xp, **inputs)]
    return {"DK": xp.stack([dk for dk, dv in found]), "DV": xp.stack([dv for dk, dv in found])}


def decode(xp, Q, K, V, O, scale):
    p = softmax(xp, (K * Q[:, None]).sum(axis=-1) * scale)
    return {"O": (p[:, :, None] * V).sum(axis=1)}


def layer_norm(xp, X, W, B, Y, mean, rstd, eps):
    mu = X.sum(axis=1) / X.shape[1]
    d = X - mu[:, None]
    r = 1 / xp.sqrt((d * d).sum(axis=1) / X.shape[1] + eps)
    return {"Y": d * r[:, None] * W + B, "rstd": r}


def layer_norm_back(xp, X, W, DY, mean, rstd, DX):
    x, g, n = (X - mean[:, None]) * rstd[:, None], DY * W, X.shape[1]
    return {"DX": (g - x * ((x * g).sum(axis=1) / n)[:, None] - (g.sum(axis=1) / n)[:, None]) * rstd[:, None]}


def layer_norm_back_locked(xp, X, W, DY, mean, rstd, DX, DW, DB, locks):
    shape = (-1, locks.shape[0], X.shape[1])
    dw = (X - mean[:, None]) * rstd[:, None] * DY
    return {**layer_norm_back(xp, X, W, DY, mean, rstd, DX), "DW": dw.reshape(shape).sum(axis=0), "DB": DY.reshape(shape).sum(axis=0)}


def layer_norm_back_weights(xp, X, DY, mean, rstd, DW, DB):
    return {"DW": ((X - mean[:, None]) * rstd[:, None] * DY).sum(axis=0), "DB": DY.sum(axis=0)}


def add_rms_norm(xp, X, R, W, Y, eps):
    s = X + R
    return {"R": s, "Y": s / xp.sqrt((s * s).sum(axis=1) / X.shape[1] + eps)[:, None] * W}


def rms_norm(xp, X, W, Y, eps):
    return {"Y": X / xp.sqrt((X * X).sum(axis=1) / X.shape[1] + eps)[:, None] * W}


def softmax_rows(xp, X, Y):
    return {"Y": softmax(xp, X)}


def cross_entropy(xp, X, target, loss):
    high = xp.amax(X, axis=1, keepdims=True)
    mine = X[whole(xp.cumsum(xp.full_like(loss, 1), 0)) - 1, whole(target)]
    return {"loss": high[:, 0] + xp.log(xp.exp(X - high).sum(axis=1)) - mine}


def swiglu(xp, G, U, Y):
    return {"Y": silu(xp, G) * U}


def rope(xp, Q, cosine, sine):
    x, y, c, d = Q[:, :, :, 0], Q[:, :, :, 1], cosine[:, None], sine[:, None]
    turned = xp.empty_like(Q)
    turned[:, :, :, 0], turned[:, :, :, 1] = x * c - y * d, y * c + x * d
    return {"Q": turned}


def quantize(xp, X, Y, scale):
    high = xp.amax(xp.abs(X), axis=1) / 448
    return {"scale": high, "Y": X / high[:, None]}


def histogram(xp, X, counts):
    return {"counts": xp.bincount(whole(X), minlength=256)}


def embedding(xp, table, ids, Y):
    return {"Y": table[whole(ids)]}


def column_sum(xp, X, Y):
    return {"Y": X.sum(axis=0)}


def cumulative(xp, X, Y):
    return {"Y": xp.cumsum(X, 1)}


def product_either_way(A, B, turn_a, turn_b):
    return (A.T if turn_a else A) @ (B.T if turn_b else B)


def product_residual(xp, A, B, R, C, turn_a, turn_b):
    return {"C": product_either_way(A, B, turn_a, turn_b) + R}


def product_bias_relu(xp, A, B, bias, C, turn_a, turn_b):
    x = product_either_way(A, B, turn_a, turn_b) + bias
    return {"C": (x + xp.abs(x)) / 2}


def product_row_column(xp, A, B, rows, columns, C, turn_a, turn_b):
    return {"C": product_either_way(A, B, turn_a, turn_b) * rows[:, None] * columns}


def product_packed(xp, A, B, scale, C):
    """B: the even elements of a row are the lower halves of its bytes"""
    pairs, groups = whole(B), scale.shape[1]
    w = xp.stack((pairs % 16, pairs // 16), -1).reshape(B.shape[0], groups, -1) - 8
    return {"C": A @ (w * scale[:, :, None]).reshape(B.shape[0], -1).T}


def product_gated_rows(xp, A, G, B, C):
    return {"C": (A * silu(xp, G)) @ B}


def product_scaled_rows(xp, A, scale, B, C):
    return {"C": (A * scale) @ B}


def product_block_scaled(xp, A, SA, B, SB, C):
    sums = xp.zeros_like(C)
    for k in range(SA.shape[1]):
        part = slice(128 * k, 128 * (k + 1))
        product = (A[:, part] @ B[:, part].T).reshape(A.shape[0], -1, 128)
        sums += (product * SA[:, k][:, None, None] * SB[:, k][None, :, None]).reshape(C.shape)
    return {"C": sums}


def product_listed(xp, As, Bs, Cs):
    return {"Cs": xp.matmul(As, xp.swapaxes(Bs, 1, 2))}


def product_grouped(xp, A, B, expert, scale, C):
    sums, rows = xp.empty_like(C), A.shape[0] // expert.shape[0]
    for i in range(expert.shape[0]):
        e, strip = int(expert[i]), slice(i * rows, (i + 1) * rows)
        sums[strip] = A[strip] @ B[e].T * scale[e]
    return {"C": sums}


def attention_in_parts(xp, Q, K, V, O, scale_log2):
    o = xp.empty_like(O)
    for b in range(Q.shape[0]):
        for h in range(Q.shape[1]):
            s = Q[b, h] @ K[b, h].T * (scale_log2 / LOG2_E)
            o[b, h] = softmax(xp, s + xp.triu(xp.full_like(s, -math.inf), 1)) @ V[b, h]
    return {"O": o}


def latent_decode(xp, Q, KV, O, scale_log2):
    o = xp.empty_like(O)
    for b in range(Q.shape[0]):
        o[b] = softmax(xp, Q[b] @ KV[b].T * (scale_log2 / LOG2_E)) @ KV[b][:, :512]
    return {"O": o}


def decode_split(xp, Q, K, V, O, sums, scale_log2):
    o, logs, split = xp.empty_like(O), xp.empty_like(sums), O.shape[1]
    for h in range(Q.shape[0]):
        for part in range(split):
            keys = slice(K.shape[1] // split * part, K.shape[1] // split * (part + 1))
            s = Q[h] @ K[h, keys].T * (scale_log2 / LOG2_E)
            o[h, part] = softmax(xp, s) @ V[h, keys]
            logs[h, part] = xp.log(xp.exp(s).sum(axis=-1)) * LOG2_E
    return {"O": o, "sums": logs}


def decode_pages(xp, Q, K, V, table, O, sums, scale_log2):
    o, logs, split = xp.empty_like(O), xp.empty_like(sums), O.shape[2]
    each = table.shape[1] // split
    for b in range(Q.shape[0]):
        for part in range(split):
            pages = whole(table[b, part * each:(part + 1) * each])
            for h in range(Q.shape[1]):
                k, v = K[pages, h].reshape(-1, Q.shape[3]), V[pages, h].reshape(-1, Q.shape[3])
                s = Q[b, h] @ k.T * (scale_log2 / LOG2_E)
                o[b, h, part] = softmax(xp, s) @ v
                logs[b, h, part] = xp.log(xp.exp(s).sum(axis=-1)) * LOG2_E
    return {"O": o, "sums": logs}


def gated_delta(xp, Q, K, V, gate, beta, O):
    o = xp.empty_like(O)
    state = xp.zeros_like(K[:, :1, :, None] * V[:, :1, None, :])[:, 0]
    for t in range(Q.shape[1]):
        k = K[:, t]
        state = state * xp.exp(gate[:, t])[:, None, None]
        u = beta[:, t][:, None] * (V[:, t] - (state * k[:, :, None]).sum(axis=1))
        state = state + k[:, :, None] * u[:, None, :]
        o[:, t] = (state * Q[:, t][:, :, None]).sum(axis=1)
    return {"O": o}


def top_k(xp, X, Y, at):
    x, y, where = X + 0, xp.empty_like(Y), xp.empty_like(at)
    for n in range(Y.shape[1]):
        high = xp.argmax(x, axis=1)
        rows = whole(xp.cumsum(xp.full_like(X[:, 0], 1), 0)) - 1
        y[:, n], where[:, n] = x[rows, high], high
        x[rows, high] = -math.inf
    return {"Y": y, "at": where}


def fft_stages(xp, XR, XI, FR, FI, TR, TI, YR, YI):
    R = FR.shape[0]
    x, y = XR, XI
    for stage in range(3):
        x, y = FR @ x - FI @ y, FR @ y + FI @ x
        x, y = x * TR[stage] - y * TI[stage], x * TI[stage] + y * TR[stage]
        x, y = (xp.moveaxis(z.reshape(-1, R, R, R), 1, 3).reshape(-1, R, R * R) for z in (x, y))
    return {"YR": x, "YI": y}
