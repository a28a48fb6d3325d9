"""unsloth's kernels: entries 27 to 39 of the list."""
import numpy as np
from math import pi, sqrt

from harness import FP8, Tensor, cdiv, dev, next_power_of_2, round_to, tensor

import os

UNS = "unsloth/unsloth/kernels/"
STUBS = (os.path.join(os.path.dirname(os.path.abspath(__file__)), "stubs"),)
F16_ULP = 2.0**-10


def erf(x):
    """Error function in float64 by its series and continued fraction (numpy has none)."""
    from math import erf as scalar
    return np.vectorize(scalar)(x)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def log_sum_exp(x, axis=-1):
    top = x.max(axis, keepdims=True)
    return (top + np.log(np.exp(x - top).sum(axis, keepdims=True))).squeeze(axis)


def transformed(logits, softcap, scale):
    if scale:
        logits = logits * scale
    if softcap:
        logits = softcap * np.tanh(logits / softcap)
    return logits


CE_MODES = ((0, 0), (30.0, 0), (0, 0.25))


def labels_for(t, rows, vocab):
    labels = t.randint(0, vocab, rows, dtype="i64")
    labels.raw[::5] = -100
    return labels


@dev(27, UNS + "cross_entropy_loss.py", "_cross_entropy_forward", "17 rows x 1000; softcap, scaling", "f32, bf16", "1e-5: log and sum of exp in f32", include=STUBS)
def cross_entropy_forward(t):
    for (softcap, scale), dtype in zip(CE_MODES, ("f32", "bf16", "f32")):
        rows, vocab = 17, 1000
        logits, labels = t.randn(rows, vocab, dtype=dtype, scale=3), labels_for(t, rows, vocab)
        loss, lse = t.empty(rows), t.empty(rows)
        t.launch([rows], logits_ptr=logits, logits_row_stride=vocab, loss_ptr=loss, logsumexp_ptr=lse, labels_ptr=labels, VOCAB_SIZE=vocab,
                 BLOCK_SIZE=1024, DO_SOFTCAPPING=bool(softcap), SOFTCAP=softcap, DO_LOGIT_SCALING=bool(scale), LOGIT_SCALE=scale)
        x = transformed(logits.values(), softcap, scale)
        want = log_sum_exp(x)
        t.check("logsumexp", lse, want, rtol=1e-5)
        picked = x[np.arange(rows), np.maximum(labels.raw, 0)]
        t.check("loss", loss, np.where(labels.raw == -100, 0, want - picked), rtol=1e-5, atol=1e-5)


@dev(28, UNS + "cross_entropy_loss.py", "_chunked_cross_entropy_forward", "9 rows x 2500 in chunks of 1024", "f32", "1e-5: log and sum of exp in f32", include=STUBS)
def chunked_cross_entropy_forward(t):
    for softcap, scale in CE_MODES:
        rows, vocab, block = 9, 2500, 1024
        chunks = cdiv(vocab, block)
        logits, labels = t.randn(rows, vocab, scale=3), labels_for(t, rows, vocab)
        loss, lse = t.empty(rows), t.empty(rows, chunks)
        t.launch([rows, chunks], logits_ptr=logits, logits_row_stride=vocab, loss_ptr=loss, logsumexp_ptr=lse, labels_ptr=labels, VOCAB_SIZE=vocab,
                 N_CHUNKS=chunks, BLOCK_SIZE=block, DO_SOFTCAPPING=bool(softcap), SOFTCAP=softcap, DO_LOGIT_SCALING=bool(scale), LOGIT_SCALE=scale)
        x = transformed(logits.values(), softcap, scale)
        want = np.stack([log_sum_exp(x[:, c * block:(c + 1) * block]) for c in range(chunks)], 1)
        t.check("logsumexp", lse, want, rtol=1e-5)
        picked = x[np.arange(rows), np.maximum(labels.raw, 0)]
        t.check("loss", loss, np.where(labels.raw == -100, 0, -picked), rtol=1e-5, atol=1e-6)


@dev(29, UNS + "cross_entropy_loss.py", "_cross_entropy_backward", "9 rows x 2500 in blocks of 1024, in place", "f32", "2e-5: exp and products in f32", include=STUBS)
def cross_entropy_backward(t):
    for softcap, scale in CE_MODES:
        rows, vocab, block = 9, 2500, 1024
        logits, labels, dloss = t.randn(rows, vocab, scale=3), labels_for(t, rows, vocab), t.randn(rows)
        before = logits.values()
        x = transformed(before, softcap, scale)
        lse = log_sum_exp(x)
        t.launch([rows, cdiv(vocab, block)], logits_ptr=logits, logits_row_stride=vocab, dloss_ptr=dloss, dloss_row_stride=1, logsumexp_ptr=tensor(lse),
                 labels_ptr=labels, VOCAB_SIZE=vocab, BLOCK_SIZE=block, DO_SOFTCAPPING=bool(softcap), SOFTCAP=softcap, DO_LOGIT_SCALING=bool(scale),
                 LOGIT_SCALE=scale)
        y = np.exp(x - lse[:, None])
        y[np.arange(rows), np.maximum(labels.raw, 0)] -= np.where(labels.raw == -100, 0, 1)
        if scale:
            y = y * scale
        if softcap:
            y = y * (1 - np.tanh(before * (scale or 1) / softcap) ** 2)
        t.check("dlogits", logits, np.where(labels.raw == -100, 0, dloss.values())[:, None] * y, rtol=2e-5, atol=1e-6)


@dev(30, UNS + "rms_layernorm.py", "_rms_layernorm_forward", "13x1000", "f32, f16", "f32: 1e-5; f16: 2 ulp, normed and product are rounded")
def rms_layernorm_forward(t):
    for dtype in ("f32", "f16"):
        m, n, eps = 13, 1000, 1e-6
        x, w, y, r = t.randn(m, n, dtype=dtype), t.randn(n, dtype=dtype), t.empty(m, n, dtype=dtype), t.empty(m)
        t.launch([m], Y=y, Y_row_stride=n, X=x, X_row_stride=n, W=w, W_row_stride=1, r=r, r_row_stride=1, n_cols=n, eps=eps, BLOCK_SIZE=1024)
        inv = 1 / np.sqrt((x.values() ** 2).mean(1) + eps)
        t.check("r", r, inv, rtol=1e-5)
        t.check("y", y, x.values() * inv[:, None] * w.values(), rtol=1e-5 if dtype == "f32" else 2 * F16_ULP, atol=1e-7)


@dev(31, UNS + "rms_layernorm.py", "_rms_layernorm_backward", "13x1000, GEMMA and in place", "f32", "1e-4: sums of 1000 products in f32")
def rms_layernorm_backward(t):
    for gemma in (False, True):
        m, n, eps = 13, 1000, 1e-6
        dy, x, w = t.randn(m, n), t.randn(m, n), t.randn(n)
        inv = 1 / np.sqrt((x.values() ** 2).mean(1) + eps)
        dy_before, dx = dy.values(), t.empty(m, n)
        t.launch([m], dY=dy, dY_row_stride=n, dX=dx, dX_row_stride=n, X=x, X_row_stride=n, W=w, W_row_stride=1, r=tensor(inv), r_row_stride=1, n_cols=n,
                 eps=eps, GEMMA=gemma, BLOCK_SIZE=1024)
        normed, dyw = x.values() * inv[:, None], dy_before * (w.values() + (1 if gemma else 0))
        want = inv[:, None] / n * (n * dyw - normed * (dyw * normed).sum(1, keepdims=True))
        t.check("dx", dx if gemma else dy, want, rtol=1e-4, atol=1e-5)


@dev(32, UNS + "layernorm.py", "layernorm_backward", "13x1000, in place", "f32", "1e-4: sums of 1000 products in f32")
def layernorm_backward(t):
    m, n = 13, 1000
    dy, x, w, b = t.randn(m, n), t.randn(m, n), t.randn(n), t.randn(n)
    mean, inv = x.values().mean(1), 1 / np.sqrt(x.values().var(1) + 1e-5)
    before = dy.values()
    t.launch([m], dY=dy, dY_row_stride=n, X=x, X_row_stride=n, W=w, b=b, r=tensor(inv), mu=tensor(mean), n_cols=n, eps=1e-5, BLOCK_SIZE=1024)
    normed, dyw = (x.values() - mean[:, None]) * inv[:, None], before * w.values()
    t.check("dx", dy, (dyw - dyw.mean(1, keepdims=True) - normed * (dyw * normed).mean(1, keepdims=True)) * inv[:, None], rtol=1e-4, atol=1e-5)


def rope(first, second, cos, sin):
    return first * cos - second * sin, second * cos + first * sin


@dev(33, UNS + "rope_embedding.py", "_rope_embedding", "10 rows of 6 heads of 48, forward and backward", "f32", "1e-6: two products in f32")
def rope_embedding(t):
    for backward in (False, True):
        rows, heads, dim, seqlen = 10, 6, 48, 5
        q, cos, sin = t.randn(rows, heads, dim), t.randn(seqlen, dim // 2), t.randn(seqlen, dim // 2)
        before = q.values()
        t.launch([rows, cdiv(heads, 4)], Q=q, Q_row_stride=heads * dim, cos=cos, cos_row_stride=dim // 2, sin=sin, sin_row_stride=dim // 2, seqlen=seqlen,
                 head_dim=dim, n_heads=heads, BACKWARD_PASS=backward, BLOCK_SIZE=next_power_of_2(dim // 2))
        at = np.arange(rows) % seqlen
        c, s = cos.values()[at][:, None, :], sin.values()[at][:, None, :] * (-1 if backward else 1)
        t.check("q", q, np.concatenate(rope(before[..., :dim // 2], before[..., dim // 2:], c, s), -1), rtol=1e-6, atol=1e-6)


@dev(34, UNS + "rope_embedding.py", "_rope_embedding_QK", "2x5 tokens, 6 and 2 heads of 48, with and without indices", "f32", "1e-6: two products in f32")
def rope_embedding_qk(t):
    for indices, backward in ((False, False), (True, True)):
        batch, seqlen, heads, heads_k, dim = 2, 5, 6, 2, 48
        q, k = t.randn(batch, heads, seqlen, dim), t.randn(batch, heads_k, seqlen, dim)
        cos, sin = t.randn(seqlen, dim // 2), t.randn(seqlen, dim // 2)
        order = t.randint(0, seqlen, batch * seqlen)
        before_q, before_k = q.values(), k.values()
        t.launch([batch * seqlen, heads], Q=q, Q_batch_stride=q.stride(0), Q_head_stride=q.stride(1), Q_seq_stride=q.stride(2), K=k, K_batch_stride=k.stride(0),
                 K_head_stride=k.stride(1), K_seq_stride=k.stride(2), cos=cos, cos_row_stride=dim // 2, sin=sin, sin_row_stride=dim // 2,
                 rope_embedding_indices=order if indices else None, seqlen=seqlen, head_dim=dim, n_heads_K=heads_k, BACKWARD_PASS=backward,
                 HAS_ROPE_INDICES=indices, BLOCK_SIZE=next_power_of_2(dim // 2))
        at = (order.raw if indices else np.arange(batch * seqlen) % seqlen).reshape(batch, seqlen)
        c, s = cos.values()[at][:, None], sin.values()[at][:, None] * (-1 if backward else 1)
        for name, got, before in (("q", q, before_q), ("k", k, before_k)):
            t.check(name, got, np.concatenate(rope(before[..., :dim // 2], before[..., dim // 2:], c, s), -1), rtol=1e-6, atol=1e-6)


@dev(35, UNS + "geglu.py", "_exact_forward_kernel", "5000, both index widths", "f32, f16", "f32: 1e-6; f16: 2 ulp, f and the product are rounded")
def geglu_exact_forward(t):
    for dtype, wide in (("f32", 0), ("f16", 1)):
        n = 5000
        e, g, h = t.randn(n, dtype=dtype), t.randn(n, dtype=dtype), t.empty(n, dtype=dtype)
        t.launch([cdiv(n, 1024)], e=e, g=g, h=h, n_elements=n, BLOCK_SIZE=1024, LONG_INDEXING=wide)
        f = 0.5 * e.values() * (erf(e.values() / sqrt(2)) + 1)
        t.check("h", h, round_to(f, dtype) * g.values(), rtol=1e-6 if dtype == "f32" else 2 * F16_ULP, atol=1e-6)


@dev(36, UNS + "geglu.py", "_approx_backward_kernel", "5000, three in-place stores", "f32, f16", "f32: 1e-5; f16: 4 ulp of values below 16", include=STUBS)
def geglu_approx_backward(t):
    for dtype, wide in (("f32", 0), ("f16", 1)):
        n = 5000
        dw, e, g = (t.randn(n, dtype=dtype) for _ in range(3))
        dwv, ev, gv = dw.values(), e.values(), g.values()
        t.launch([cdiv(n, 1024)], DW=dw, e=e, g=g, n_elements=n, BLOCK_SIZE=1024, LONG_INDEXING=wide)
        s = sqrt(2 / pi)
        inner = s * ev * (1 + 0.044715 * ev**2)
        half = 0.5 * (1 + np.tanh(inner))
        df_de = half + 2 * half * (1 - half) * (s * ev * (1 + 3 * 0.044715 * ev**2))
        f = round_to(half * ev, dtype)
        rtol, atol = (1e-5, 1e-5) if dtype == "f32" else (4 * F16_ULP, 1e-3)
        t.check("h", dw, f * gv, rtol=rtol, atol=atol)
        t.check("df", e, dwv * f, rtol=rtol, atol=atol)
        t.check("de", g, round_to(dwv * gv, dtype) * df_de, rtol=rtol, atol=atol)


@dev(37, UNS + "swiglu.py", "_DWf_DW_dfg_kernel", "5000, three in-place stores", "f32, f16", "f32: 1e-5; f16: 4 ulp of values below 16")
def swiglu_backward(t):
    for dtype, wide in (("f32", 1), ("f16", 0)):
        n = 5000
        dw, e, g = (t.randn(n, dtype=dtype) for _ in range(3))
        dwv, ev, gv = dw.values(), e.values(), g.values()
        t.launch([cdiv(n, 1024)], DW=dw, e=e, g=g, n_elements=n, BLOCK_SIZE=1024, LONG_INDEXING=wide)
        se = sigmoid(ev)
        f = round_to(se * ev, dtype)
        rtol, atol = (1e-5, 1e-6) if dtype == "f32" else (4 * F16_ULP, 1e-3)
        t.check("h", dw, f * gv, rtol=rtol, atol=atol)
        t.check("df", e, dwv * f, rtol=rtol, atol=atol)
        t.check("de", g, round_to(dwv * gv, dtype) * se * (1 + ev * (1 - se)), rtol=rtol, atol=atol)


@dev(38, UNS + "fp8.py", "act_quant_kernel", "37 blocks of 128, one of zeros", "f32 to f8e4m3", "scale: 1 ulp; codes: the neighbours of the exact quotient")
def act_quant(t):
    blocks, size = 37, 128
    x = t.randn(blocks * size)
    x.raw[:size] = 0
    y, s = t.empty(blocks * size, dtype="f8e4m3"), t.empty(blocks)
    t.launch([blocks], x_ptr=x, y_ptr=y, s_ptr=s, BLOCK_SIZE=size)
    top = np.abs(x.values().reshape(blocks, size)).max(1)
    t.check("scale", s, np.where(top == 0, 1, top / 448), rtol=2.0**-23)
    # e4m3 has 3 bits of mantissa: half an ulp is 2**-4 of the value; below 2**-6 the step is 2**-9.
    t.check("codes", y, x.values() / np.repeat(np.where(top == 0, 1, top / 448), size), rtol=2.0**-4 * 1.0001, atol=2.0**-10)


@dev(39, UNS + "fp8.py", "_w8a8_block_fp8_matmul", "100x192x256 in blocks of 128", "f8e4m3 to f32, bf16", "exact products, f32 sums: 1e-4 of the magnitudes; bf16: 1 ulp")
def w8a8_block_fp8_matmul(t):
    for dtype in ("f32", "bf16"):
        m, n, k, group = 100, 192, 256, 128
        a, b = t.randn(m, k, dtype="f8e4m3"), t.randn(n, k, dtype="f8e4m3")
        scale_a, scale_b = t.rand(m, k // group), t.rand(cdiv(n, group), k // group)
        c = t.empty(m, n, dtype=dtype)
        t.launch([cdiv(m, 32) * cdiv(n, 64)], A=a, B=b, C=c, As=scale_a, Bs=scale_b, M=m, N=n, K=k, group_n=group, group_k=group, stride_am=k, stride_ak=1,
                 stride_bk=1, stride_bn=k, stride_cm=n, stride_cn=1, stride_As_m=k // group, stride_As_k=1, stride_Bs_k=1, stride_Bs_n=k // group,
                 BLOCK_SIZE_M=32, BLOCK_SIZE_N=64, BLOCK_SIZE_K=128, GROUP_SIZE_M=8)
        wide_a = a.values() * np.repeat(scale_a.values(), group, 1)
        wide_b = b.values() * np.repeat(np.repeat(scale_b.values(), group, 0)[:n], group, 1)
        magnitude = (np.abs(wide_a) @ np.abs(wide_b).T).max()
        t.check("c", c, wide_a @ wide_b.T, rtol=0 if dtype == "f32" else 2.0**-8, atol=1e-5 * magnitude)


@dev(40, UNS + "moe/grouped_gemm/kernels/forward.py", "_grouped_gemm_forward_kernel", "37 tokens, top 2 of 3 experts (one without tokens), 96x64; permuted loads, permuted stores, descriptors",
     "f16, bf16", "one rounding of the result after f32 sums: 1 ulp and 1e-2")
def grouped_gemm_forward(t):
    tokens, topk, experts, n, k = 37, 2, 3, 96, 64
    for mode, dtype in (("permute_x", "f16"), ("permute_y", "bf16"), ("descriptors", "f16")):
        of_row = t.rng.integers(0, 2, tokens * topk) * 2  # experts 0 and 2
        order = np.argsort(of_row, kind="stable")
        sizes = tensor(np.bincount(of_row, minlength=experts), "i32")
        x = t.randn(tokens if mode == "permute_x" else tokens * topk, k, dtype=dtype)
        w, y = t.randn(experts, n, k, dtype=dtype), t.empty(tokens * topk, n, dtype=dtype)
        wanted = np.zeros((tokens * topk, n))
        for row, expanded in enumerate(order):
            source = expanded // topk if mode == "permute_x" else row
            wanted[expanded if mode == "permute_y" else row] = w.values()[of_row[expanded]] @ x.values()[source]
        tma = mode == "descriptors"
        t.launch([5], x_ptr=x, w_ptr=w, y_ptr=y, m_sizes_ptr=sizes, gather_indices_ptr=tensor(order, "i32"), topk_weights_ptr=None, NUM_EXPERTS=experts,
                 NUM_TOKENS=tokens, TOPK=topk, N=n, K=k, NUM_SMS=5, BLOCK_SIZE_M=16, BLOCK_SIZE_N=32, BLOCK_SIZE_K=32, PERMUTE_X=mode == "permute_x",
                 PERMUTE_Y=mode == "permute_y", USE_TMA_LOAD_W=tma, USE_TMA_LOAD_X=tma, USE_TMA_STORE=tma)
        t.check(mode, y, wanted, rtol=2.0**-7 if dtype == "bf16" else 2.0**-10, atol=1e-2)
