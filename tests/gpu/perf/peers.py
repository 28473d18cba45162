"""The same work by torch, where it has it: a function takes torch and the arrays and numbers of a job, and gives what is timed."""


def product(torch, A, B, **_):
    if A.element_size() == 1:
        return None         # its f8 products take B transposed
    torch.backends.cuda.matmul.allow_tf32 = True
    return lambda: A @ B


def product_exact(torch, A, B, C):
    torch.backends.cuda.matmul.allow_tf32 = False
    return lambda: A @ B


def product_exact_t(torch, A, B, C):
    return product_exact(torch, A.T, B, C)


def product_exact_by_t(torch, A, B, C):
    return product_exact(torch, A, B.T, C)


def product_transposed(torch, A, B, C):
    if A.dtype == torch.uint8:
        return None
    if A.element_size() == 1:
        one = torch.ones((), device=A.device)
        return lambda: torch._scaled_mm(A, B.T, one, one, out_dtype=C.dtype)
    return lambda: A @ B.T


def product_bias_gelu(torch, A, B, bias, C):
    return lambda: torch.nn.functional.gelu(torch.addmm(bias, A, B), approximate="tanh")


def gated_product(torch, A, G, U, C):
    return lambda: torch.nn.functional.silu(A @ G) * (A @ U)


def gemv(torch, A, x, y):
    return lambda: A @ x


def convolution(torch, X, W, Y, height, width):
    image = X.reshape(-1, height, width, X.shape[1]).permute(0, 3, 1, 2)
    weights = W.reshape(3, 3, X.shape[1], -1).permute(3, 2, 0, 1).contiguous(memory_format=torch.channels_last)
    return lambda: torch.nn.functional.conv2d(image, weights, padding=1)


def attention_full(torch, Q, K, V, **_):
    return lambda: torch.nn.functional.scaled_dot_product_attention(Q, K, V)


def attention_causal(torch, Q, K, V, **_):
    return lambda: torch.nn.functional.scaled_dot_product_attention(Q, K, V, is_causal=True)


def product_listed(torch, As, Bs, Cs):
    if As.dtype == torch.float16:
        return lambda: [torch.mm(a, b.t(), out=c) for a, b, c in zip(As, Bs, Cs)]
    one = torch.ones((), device="cuda")
    return lambda: [torch._scaled_mm(a, b.t(), scale_a=one, scale_b=one, out_dtype=Cs.dtype) for a, b in zip(As, Bs)]


def attention_grouped(torch, Q, K, V, **_):
    return lambda: torch.nn.functional.scaled_dot_product_attention(Q, K, V, is_causal=True, enable_gqa=True)


def attention_back(torch, Q, K, V, G, causal, window, **_):
    """All three gradients, which two of our kernels give"""
    if window:
        return None
    q, k, v = (x[None].detach().requires_grad_() for x in (Q, K, V))
    o = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=bool(causal))
    return lambda: torch.autograd.grad(o, (q, k, v), G[None], retain_graph=True)


attention_back_q = attention_back_kv = attention_back


def decode(torch, Q, K, V, **_):
    return lambda: torch.nn.functional.scaled_dot_product_attention(Q[None, :, None], K[None], V[None])


def layer_norm(torch, X, W, B, eps, **_):
    return lambda: torch.nn.functional.layer_norm(X, W.shape, W, B, eps)


def softmax_rows(torch, X, Y):
    return lambda: torch.softmax(X, 1)


def cross_entropy(torch, X, target, loss):
    at = target.long()
    return lambda: torch.nn.functional.cross_entropy(X, at, reduction="none")


def swiglu(torch, G, U, Y):
    return lambda: torch.nn.functional.silu(G) * U


def embedding(torch, table, ids, Y):
    return lambda: torch.nn.functional.embedding(ids, table)


def column_sum(torch, X, Y):
    return lambda: X.sum(0)


def cumulative(torch, X, Y):
    return lambda: torch.cumsum(X, 1)


def either_way(A, B, turn_a, turn_b):
    return A.T if turn_a else A, B.T if turn_b else B


def product_residual(torch, A, B, R, C, turn_a, turn_b):
    a, b = either_way(A, B, turn_a, turn_b)
    return lambda: torch.addmm(R, a, b)


def product_bias_relu(torch, A, B, bias, C, turn_a, turn_b):
    a, b = either_way(A, B, turn_a, turn_b)
    return lambda: torch.relu(torch.addmm(bias, a, b))


def product_row_column(torch, A, B, rows, columns, C, turn_a, turn_b):
    if A.element_size() == 1:
        return None
    a, b = either_way(A, B, turn_a, turn_b)
    return lambda: a @ b * rows[:, None] * columns


def attention_in_parts(torch, Q, K, V, **_):
    return lambda: torch.nn.functional.scaled_dot_product_attention(Q, K, V, is_causal=True)


def top_k(torch, X, Y, at):
    return lambda: torch.topk(X, Y.shape[1])
