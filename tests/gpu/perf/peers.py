"""The same work by torch, where it has it: a function takes torch and the arrays and numbers of a job, and gives what is timed, or a list of
implementations, of which the fastest counts. They prepare at their first call, so that one which torch lacks leaves the others."""
import functools


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


def attention_by_backends(torch, Q, K, V, **how):
    """cuDNN's and FlashAttention's implementation"""
    from torch.nn.attention import SDPBackend, sdpa_kernel

    def by(backend):
        def attend():
            with sdpa_kernel(backend):
                return torch.nn.functional.scaled_dot_product_attention(Q, K, V, **how)
        return attend
    return [by(SDPBackend.CUDNN_ATTENTION), by(SDPBackend.FLASH_ATTENTION)]


def attention_full(torch, Q, K, V, **_):
    return attention_by_backends(torch, Q, K, V)


def attention_causal(torch, Q, K, V, **_):
    return attention_by_backends(torch, Q, K, V, is_causal=True)


def flex(torch, Q, K, V, causal, window, cap):
    """flex_attention, compiled at the first call"""
    @functools.cache
    def prepared():
        from torch.nn.attention.flex_attention import create_block_mask, flex_attention

        def keep(b, h, i, j):
            return (j <= i) & (j > i - window) if window else j <= i

        def capped(score, b, h, i, j):
            return cap * torch.tanh(score / cap)
        mask = create_block_mask(keep, None, None, Q.shape[2], K.shape[2], device="cuda") if causal else None
        compiled = torch.compile(flex_attention, dynamic=False)
        return lambda: compiled(Q, K, V, score_mod=capped if cap else None, block_mask=mask)
    return lambda: prepared()()


def flash_window(torch, Q, K, V, window):
    """FlashAttention in a window; it takes (batch, length, heads, columns)"""
    q, k, v = (x.transpose(1, 2) for x in (Q, K, V))
    return lambda: torch.ops.aten._flash_attention_forward(q, k, v, None, None, q.shape[1], k.shape[1], 0.0, True, False,
                                                           window_size_left=window - 1, window_size_right=0)[0].transpose(1, 2)


def attention_capped(torch, Q, K, V, **_):
    return flex(torch, Q, K, V, False, 0, 50)


def attention_local(torch, Q, K, V, causal, window, cap, **_):
    if not window and not cap:
        return attention_by_backends(torch, Q, K, V, is_causal=bool(causal))
    return [flex(torch, Q, K, V, causal, window, cap), *([flash_window(torch, Q, K, V, window)] if window and not cap else [])]


def attention_ragged(torch, Q, K, V, at, **_):
    longest = int((at[1:] - at[:-1]).max())
    return lambda: torch.ops.aten._flash_attention_forward(Q, K, V, at, at, longest, longest, 0.0, True, False)


def product_listed(torch, As, Bs, Cs):
    if As.dtype == torch.float16:
        return lambda: [torch.mm(a, b.t(), out=c) for a, b, c in zip(As, Bs, Cs)]
    one = torch.ones((), device="cuda")
    return lambda: [torch._scaled_mm(a, b.t(), scale_a=one, scale_b=one, out_dtype=Cs.dtype) for a, b in zip(As, Bs)]


def attention_grouped(torch, Q, K, V, **_):
    return attention_by_backends(torch, Q, K, V, is_causal=True, enable_gqa=True)


def attention_back(torch, Q, K, V, G, causal, window, **_):
    """All three gradients, which two of our kernels give"""
    q, k, v = (x[None].detach().requires_grad_() for x in (Q, K, V))
    if window:
        forward = [flex(torch, q, k, v, causal, window, 0), flash_window(torch, q, k, v, window)]
    else:
        forward = attention_by_backends(torch, q, k, v, is_causal=bool(causal))

    def gradients(attend):
        output = functools.cache(attend)
        return lambda: torch.autograd.grad(output(), (q, k, v), G[None], retain_graph=True)
    return [gradients(attend) for attend in forward]


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
    return attention_by_backends(torch, Q, K, V, is_causal=True)


def top_k(torch, X, Y, at):
    return lambda: torch.topk(X, Y.shape[1])
