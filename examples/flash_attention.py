"""Flash attention, forward: Out = softmax(Q K^T * scale) V, causal or not, for tensors [batch, heads, N_CTX, HEAD_DIM] of any strides.

One program owns BLOCK_M rows of one head and walks the keys in blocks of BLOCK_N with a running maximum and sum (online softmax). It is the
right one beside flash_attention_simplified.py: scores are scaled, every tensor has its own batch, head and row strides, the ragged last
block is masked, the running sum is rescaled once, and the second product is in the inputs' own type.
"""
import torch
import triton
import triton.language as tl


@triton.jit
def flash_attention_kernel(
    Q, K, V, Out, scale,
    stride_qz, stride_qh, stride_qm, stride_qd,
    stride_kz, stride_kh, stride_kn, stride_kd,
    stride_vz, stride_vh, stride_vn, stride_vd,
    stride_oz, stride_oh, stride_om, stride_od,
    H, N_CTX,
    HEAD_DIM: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, CAUSAL: tl.constexpr,
):
    start_m = tl.program_id(0)
    head = tl.program_id(1)
    z = (head // H).to(tl.int64)
    h = (head % H).to(tl.int64)
    offs_m = start_m * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_d = tl.arange(0, HEAD_DIM)

    q_ptrs = Q + z * stride_qz + h * stride_qh + offs_m[:, None] * stride_qm + offs_d[None, :] * stride_qd
    q = tl.load(q_ptrs, mask=offs_m[:, None] < N_CTX, other=0.0)

    row_max = tl.full([BLOCK_M], float('-inf'), dtype=tl.float32)
    row_sum = tl.zeros([BLOCK_M], dtype=tl.float32)
    acc = tl.zeros([BLOCK_M, HEAD_DIM], dtype=tl.float32)
    # exp(x) = 2**(x * log2 e): the factor goes into the scale.
    scale_log2 = scale * 1.44269504

    end_n = N_CTX
    if CAUSAL:
        end_n = tl.minimum(N_CTX, (start_m + 1) * BLOCK_M)
    for start_n in range(0, end_n, BLOCK_N):
        offs_n = start_n + tl.arange(0, BLOCK_N)
        k_ptrs = K + z * stride_kz + h * stride_kh + offs_n[:, None] * stride_kn + offs_d[None, :] * stride_kd
        v_ptrs = V + z * stride_vz + h * stride_vh + offs_n[:, None] * stride_vn + offs_d[None, :] * stride_vd
        k = tl.load(k_ptrs, mask=offs_n[:, None] < N_CTX, other=0.0)
        v = tl.load(v_ptrs, mask=offs_n[:, None] < N_CTX, other=0.0)
        scores = tl.dot(q, tl.trans(k))
        visible = offs_n[None, :] < N_CTX
        if CAUSAL:
            visible = visible & (offs_m[:, None] >= offs_n[None, :])
        scores = tl.where(visible, scores, float('-inf'))
        # The scale is positive: the maximum of the scaled scores is the scaled maximum, and scaling and subtracting are one multiply-add.
        new_max = tl.maximum(row_max, tl.max(scores, axis=1) * scale_log2)
        p = tl.exp2(scores * scale_log2 - new_max[:, None])
        alpha = tl.exp2(row_max - new_max)
        row_sum = row_sum * alpha + tl.sum(p, axis=1)
        acc = acc * alpha[:, None] + tl.dot(p.to(v.dtype), v)
        row_max = new_max

    acc = acc / row_sum[:, None]
    o_ptrs = Out + z * stride_oz + h * stride_oh + offs_m[:, None] * stride_om + offs_d[None, :] * stride_od
    tl.store(o_ptrs, acc.to(Out.dtype.element_ty), mask=offs_m[:, None] < N_CTX)


def flash_attention(q, k, v, causal=False, scale=None):
    batch, heads, n_ctx, head_dim = q.shape
    assert head_dim in (16, 32, 64, 128), "head dimension must be a power of two, 16 to 128"
    assert k.shape == q.shape and v.shape == q.shape
    if scale is None:
        scale = 1.0 / head_dim**0.5
    out = torch.empty_like(q)
    assert scale > 0
    # With a short head three blocks of 64 rows fit one multiprocessor, and one's products run under another's exponentials.
    BLOCK_M, BLOCK_N = (64, 128) if head_dim <= 64 else (128, 128)
    grid = (triton.cdiv(n_ctx, BLOCK_M), batch * heads)
    flash_attention_kernel[grid](
        q, k, v, out, scale,
        q.stride(0), q.stride(1), q.stride(2), q.stride(3),
        k.stride(0), k.stride(1), k.stride(2), k.stride(3),
        v.stride(0), v.stride(1), v.stride(2), v.stride(3),
        out.stride(0), out.stride(1), out.stride(2), out.stride(3),
        heads, n_ctx,
        HEAD_DIM=head_dim, BLOCK_M=BLOCK_M, BLOCK_N=BLOCK_N, CAUSAL=causal, num_warps=BLOCK_M // 16,
    )
    return out


def reference(q, k, v, causal, scale):
    scores = torch.matmul(q.float(), k.float().transpose(2, 3)) * scale
    if causal:
        n_ctx = q.shape[2]
        visible = torch.tril(torch.ones((n_ctx, n_ctx), device=q.device))
        scores = torch.where(visible > 0, scores, float('-inf'))
    return torch.matmul(torch.softmax(scores, dim=-1), v.float())


if __name__ == "__main__":
    torch.manual_seed(0)
    for shape in ((1, 2, 128, 64), (2, 3, 200, 32)):
        for causal in (False, True):
            q = torch.randn(shape, dtype=torch.float16, device='cuda')
            k = torch.randn(shape, dtype=torch.float16, device='cuda')
            v = torch.randn(shape, dtype=torch.float16, device='cuda')
            out = flash_attention(q, k, v, causal)
            expected = reference(q, k, v, causal, 1.0 / shape[3]**0.5)
            # p and the result are rounded to fp16: half an ulp of values below 4, each.
            torch.testing.assert_close(out.float(), expected, atol=4e-3, rtol=1e-3)
            print(f"flash_attention {shape} causal={causal}: ok")
