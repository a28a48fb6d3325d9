"""The project's own example files, at the sizes they are promised for: entry 0. They need no checkout."""
import os

import numpy as np

from harness import cdiv, dev, next_power_of_2

EXAMPLES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../examples/")


def softmax(values):
    e = np.exp(values - values.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


@dev(0, "examples/vector_add.py", "add_kernel", "98432, 10000000, 1", "f32", "bit for bit")
def vector_add(t):
    for n in (98432, 10_000_000, 1):
        x, y, out = t.randn(n), t.randn(n), t.empty(n)
        t.launch([cdiv(n, 1024)], path=EXAMPLES + "vector_add.py", x_ptr=x, y_ptr=y, output_ptr=out, n_elements=n, BLOCK_SIZE=1024)
        t.check("sum", out.raw, x.raw + y.raw)


@dev(0, "examples/fused_softmax.py", "softmax_kernel", "1823x781, 128x12345", "f32", "rel 1e-6")
def fused_softmax(t):
    for rows, cols in ((1823, 781), (128, 12345)):
        x, out = t.randn(rows, cols), t.empty(rows, cols)
        t.launch([rows], path=EXAMPLES + "fused_softmax.py", output_ptr=out, input_ptr=x, input_row_stride=cols, output_row_stride=cols, n_cols=cols,
                 BLOCK_SIZE=next_power_of_2(cols))
        t.check("softmax", out, softmax(x.values()), rtol=1e-6)


@dev(0, "examples/matmul_autotune.py", "matmul_kernel", "512x512x512, 257x129x65, 1024x1024x64", "f16", "1e-3: one f16 rounding of the result, f32 sums")
def matmul(t):
    for m, n, k in ((512, 512, 512), (257, 129, 65), (1024, 1024, 64)):
        a, b, c = t.randn(m, k, dtype="f16"), t.randn(k, n, dtype="f16"), t.empty(m, n, dtype="f16")
        t.launch("cdiv(M, BLOCK_M) * cdiv(N, BLOCK_N)", path=EXAMPLES + "matmul_autotune.py", a_ptr=a, b_ptr=b, c_ptr=c, M=m, N=n, K=k, stride_am=k, stride_ak=1,
                 stride_bk=n, stride_bn=1, stride_cm=n, stride_cn=1, GROUP_SIZE_M=8)
        t.check("c", c, a.values() @ b.values(), rtol=1e-3, atol=1e-3)


@dev(0, "examples/flash_attention_simplified.py", "flash_attn_kernel", "128x64, 256x32", "f32", "tf32 dots: 2e-3; what the file computes, not attention")
def attention_simplified(t):
    for n, d, block_m, block_n in ((128, 64, 64, 32), (256, 32, 32, 64)):
        # The file multiplies both coordinates of K by stride_kk: with 1, row i is K[i:i + d].
        q, k, v, out = t.randn(n, d, scale=d**-0.25), t.randn(n + d, scale=d**-0.25), t.randn(n, d), t.empty(n, d)
        rows = np.lib.stride_tricks.sliding_window_view(k.values(), d)[:n]
        t.launch([cdiv(n, block_m)], path=EXAMPLES + "flash_attention_simplified.py", Q=q, K=k, V=v, Out=out, stride_qm=d, stride_qk=1, stride_kn=d, stride_kk=1,
                 stride_vn=d, stride_vk=1, stride_om=d, stride_on=1, Z=1, H=1, N_CTX=n, HEAD_DIM=d, BLOCK_M=block_m, BLOCK_N=block_n)
        top = np.full(n, -np.inf)
        total, acc = np.zeros(n), np.zeros((n, d))
        for start in range(0, n, block_n):  # the file's own recurrence, its double scaling and missing softmax scale included
            scores = q.values() @ rows[start:start + block_n].T
            block_max = scores.max(1)
            new = np.maximum(top, block_max)
            old, fresh = np.exp(top - new), np.exp(block_max - new)
            p = np.exp(scores - new[:, None])
            total = total * old + p.sum(1) * fresh
            acc = acc * old[:, None] + (p @ v.values()[start:start + block_n]) * fresh[:, None]
            top = new
        # q and k are scaled so that scores are near 1, as attention has them: the tf32 error of a score is then that of its weight.
        t.check("out", out, acc / total[:, None], rtol=2e-3, atol=2e-3)


@dev(0, "examples/flash_attention.py", "flash_attention_kernel", "2x3x200x64 full and causal, heads and rows interleaved; 1x2x128x128", "f16", "f16 weights and output: 2e-3")
def attention(t):
    for z, h, n, d, causal in ((2, 3, 200, 64, False), (2, 3, 200, 64, True), (1, 2, 128, 128, True)):
        # [z, n, h, d] in memory: the strides of heads and rows are not those of a contiguous [z, h, n, d].
        q, k, v, out = t.randn(z, n, h, d, dtype="f16"), t.randn(z, n, h, d, dtype="f16"), t.randn(z, n, h, d, dtype="f16"), t.empty(z, n, h, d, dtype="f16")
        strides = {f"stride_{x}{axis}": stride for x in "qkvo" for axis, stride in
                   zip({"q": "zhmd", "k": "zhnd", "v": "zhnd", "o": "zhmd"}[x], (n * h * d, d, h * d, 1))}
        t.launch([cdiv(n, 64), z * h], path=EXAMPLES + "flash_attention.py", Q=q, K=k, V=v, Out=out, scale=d**-0.5, **strides, H=h, N_CTX=n, HEAD_DIM=d, BLOCK_M=64,
                 BLOCK_N=64, CAUSAL=causal)
        heads = lambda x: x.values().transpose(0, 2, 1, 3)
        scores = heads(q) @ heads(k).transpose(0, 1, 3, 2) * d**-0.5
        if causal:
            scores = np.where(np.tril(np.ones((n, n), bool)), scores, -np.inf)
        t.check("out", out, (softmax(scores) @ heads(v)).transpose(0, 2, 1, 3), atol=2e-3, rtol=1e-3)
