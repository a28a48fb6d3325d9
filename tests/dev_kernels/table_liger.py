"""Liger-Kernel: entries 41 to 60 of the list."""
import math

import numpy as np

from harness import Tensor, cdiv, dev, dtype_of, next_power_of_2, round_to, tensor

SRC = ("Liger-Kernel/src",)
OPS = "Liger-Kernel/src/liger_kernel/ops/"


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def log_sum_exp(x):
    top = x.max(-1, keepdims=True)
    return (top + np.log(np.exp(x - top).sum(-1, keepdims=True))).squeeze(-1)


def softmax(x):
    return np.exp(x - log_sum_exp(x)[..., None])


@dev(41, OPS + "cross_entropy.py", "liger_cross_entropy_kernel", "11 rows x 1500 in blocks of 1024; smoothing, z-loss, softcap, weights, ignored rows", "f32",
     "2e-5: exp and sums in f32, gradients scaled by 1/9", include=SRC)
def liger_cross_entropy(t):
    for smoothing, z_scale, softcap, weighted, reduction in ((0.0, 0.0, None, False, "mean"), (0.1, 1e-4, None, False, "mean"), (0.0, 0.0, 30.0, False, "sum"),
                                                              (0.1, 0.0, None, True, "mean")):
        rows, cols, ignore = 11, 1500, -100
        x, y = t.randn(rows, cols, scale=3), t.randint(0, cols, rows, dtype="i64")
        y.raw[[2, 7]] = ignore
        live = y.raw != ignore
        weight = t.rand(cols) if weighted else None
        w = weight.values() if weighted else np.ones(cols)
        target = np.maximum(y.raw, 0)
        count, weight_count, weight_sum = int(live.sum()), float(w[target[live]].sum()), float(w.sum())
        before, loss, z_loss, accuracy, predicted = x.values(), t.zeros(rows), t.zeros(rows), t.empty(rows), t.empty(rows, dtype="i64")
        t.launch([rows], X_ptr=x, X_stride=cols, Y_ptr=y, Y_stride=1, weight_ptr=weight, loss_ptr=loss, z_loss_ptr=z_loss, loss_stride=1,
                 token_accuracy_ptr=accuracy, token_accuracy_stride=1, predicted_tokens_ptr=predicted, predicted_tokens_stride=1, n_cols=cols,
                 n_non_ignore=float(count), sum_non_ignore_weight=weight_count, weight_sum=weight_sum, ignore_index=ignore, lse_square_scale=z_scale,
                 label_smoothing=smoothing, reduction=reduction, softcap=softcap, RETURN_Z_LOSS=1, RETURN_TOKEN_ACCURACY=1, RETURN_PREDICTED_TOKENS=1,
                 BLOCK_SIZE=1024, HAS_WEIGHT=weighted, HAS_SOFTCAPPING=softcap is not None, HAS_GRADIENTS=True)
        logits = softcap * np.tanh(before / softcap) if softcap else before
        lse, p = log_sum_exp(logits), softmax(logits)
        at = np.arange(rows)
        eps = smoothing / cols
        n = count if reduction == "mean" else 1
        nw = weight_count if reduction == "mean" and weighted else n
        wy = w[target]
        one_hot = np.zeros((rows, cols))
        one_hot[at, target] = 1
        main = (1 - smoothing) * wy * (lse - logits[at, target]) + eps * (w * (lse[:, None] - logits)).sum(1)
        z = z_scale * lse**2 / n
        grad = ((1 - smoothing) * wy[:, None] * (p - one_hot) + eps * (p * weight_sum - w)) / nw + 2 * z_scale * lse[:, None] * p / n
        if softcap:
            grad = grad * (1 - (logits / softcap) ** 2)
        t.check("loss", loss, np.where(live, main / nw + z, 0), rtol=2e-5, atol=1e-5)
        t.check("z_loss", z_loss, np.where(live, z, 0), rtol=1e-5)
        t.check("gradient", x, np.where(live[:, None], grad, 0), rtol=2e-5, atol=2e-6)
        t.check("predicted", predicted.raw, np.where(live, logits.argmax(1), -1))
        t.check("accuracy", accuracy, np.where(live, logits.argmax(1) == target, False).astype(float))


@dev(42, OPS + "dyt.py", "_dyt_bwd_kernel", "37x1500, 5 programs of rows", "f32", "2e-5: sums of 37 and 1500 products in f32", include=SRC)
def dyt_backward(t):
    m, n, sms = 37, 1500, 5
    for have_beta in (True, False):
        dy, x, alpha, gamma = t.randn(m, n), t.randn(m, n), tensor(np.array([0.7])), t.randn(n)
        dx, da, dg, db = t.empty(m, n), t.zeros(sms, cdiv(n, 512)), t.empty(sms, n), t.empty(sms, n)
        t.launch(f"cdiv(N, BLOCK_N), {sms}", DY=dy, DX=dx, DA=da, DG=dg, DB=db if have_beta else None, X=x, Alpha=alpha, Gamma=gamma, HAVE_BETA=have_beta, M=m, N=n)
        th = np.tanh(alpha.values()[0] * x.values())
        tmp = (1 - th**2) * dy.values() * gamma.values()
        t.check("dx", dx, alpha.values()[0] * tmp, rtol=2e-5, atol=1e-6)
        t.check("dg", dg.values().sum(0), (dy.values() * th).sum(0), rtol=2e-5, atol=2e-5)
        t.check("da", da.values().sum(), (x.values() * tmp).sum(), rtol=1e-4, atol=1e-2)
        if have_beta:
            t.check("db", db.values().sum(0), dy.values().sum(0), rtol=2e-5, atol=2e-5)


def router(t, tokens, k, experts):
    return np.stack([t.rng.permutation(experts)[:k] for _ in range(tokens)]).astype(np.int32)


@dev(43, OPS + "fused_moe_kernels.py", "_moe_router_histogram_kernel", "100 tokens, top 3 of 7 experts, tiles of 16; 64 tokens, top 2 of 8", "i32", "exact", include=SRC)
def moe_histogram(t):
    for tokens, k, experts, tile in ((100, 3, 7, 16), (64, 2, 8, 16)):
        ids, tiles = router(t, tokens, k, experts), cdiv(tokens, tile)
        counts = t.empty(experts, tiles, dtype="i32")
        t.launch([tiles], topk_indices_ptr=Tensor(ids, "i32"), partial_sum_ptr=counts, T=tokens, E=experts, n_tiles=tiles, TOKENS_PER_TILE=tile,
                 K_POW2=next_power_of_2(k), K=k, E_POW2=next_power_of_2(experts))
        want = np.array([[(ids[n * tile:(n + 1) * tile] == e).sum() for n in range(tiles)] for e in range(experts)])
        t.check("counts", counts.raw, want)


@dev(44, OPS + "fused_moe_kernels.py", "_moe_router_scatter_kernel", "100 tokens, top 3 of 7 experts, tiles of 16; 64 tokens, top 2 of 8", "i32", "exact", include=SRC)
def moe_scatter(t):
    for tokens, k, experts, tile in ((100, 3, 7, 16), (64, 2, 8, 16)):
        block = 8
        ids, tiles, total = router(t, tokens, k, experts), cdiv(tokens, tile), tokens * k
        counts = np.array([[(ids[n * tile:(n + 1) * tile] == e).sum() for n in range(tiles)] for e in range(experts)])
        before = np.cumsum(counts, 1) - counts
        starts = np.concatenate([[0], np.cumsum(counts.sum(1))])
        m_tiles = -(-counts.sum(1) // block)
        tile_starts = np.concatenate([[0], np.cumsum(m_tiles)])
        scatter, reverse, gather = (t.empty(total, dtype="i32") for _ in range(3))
        row_start, expert_of = t.empty(int(tile_starts[-1]), dtype="i32"), t.empty(int(tile_starts[-1]), dtype="i32")
        t.launch([tiles], s_scatter_idx_ptr=scatter, s_reverse_scatter_idx_ptr=reverse, x_gather_idx_ptr=gather, tile_row_start_ptr=row_start,
                 tile_expert_ptr=expert_of, topk_indices_ptr=Tensor(ids, "i32"), T=tokens, partial_sum_ptr=Tensor(before.astype(np.int32), "i32"), n_tiles=tiles,
                 expert_offs_ptr=Tensor(starts.astype(np.int32), "i32"), expert_tile_offset_ptr=Tensor(tile_starts.astype(np.int32), "i32"),
                 K_POW2=next_power_of_2(k), K=k, TOKENS_PER_BLOCK=tile, BLOCK_M_TOKEN=block)
        order = np.argsort(ids.reshape(-1), kind="stable")
        t.check("scatter", scatter.raw, order)
        t.check("reverse", reverse.raw, np.argsort(order, kind="stable"))
        t.check("gather", gather.raw, order // k)
        t.check("row starts", row_start.raw, np.concatenate([starts[e] + block * np.arange(m_tiles[e]) for e in range(experts)]))
        t.check("tile experts", expert_of.raw, np.repeat(np.arange(experts), m_tiles))


@dev(45, OPS + "fused_moe_kernels.py", "_fused_up_proj_swiglu_kernel", "40 rows of 4 experts, H 96, I 72", "bf16", "bf16 results: 1 ulp and f32 sums of 96 products", include=SRC)
def moe_up_projection(t):
    tokens, hidden, inner, experts, block = 23, 96, 72, 4, 16
    counts = np.array([17, 0, 9, 14])
    rows = int(counts.sum())
    x, w = t.randn(tokens, hidden, dtype="bf16"), t.randn(experts, 2 * inner, hidden, dtype="bf16", scale=0.1)
    gather = t.randint(0, tokens, rows)
    starts = np.concatenate([[0], np.cumsum(counts)])
    tiles = -(-counts // block)
    row_start = np.concatenate([starts[e] + block * np.arange(tiles[e]) for e in range(experts)]).astype(np.int32)
    expert_of = np.repeat(np.arange(experts), tiles).astype(np.int32)
    pre, post = t.empty(rows, 2 * inner, dtype="bf16"), t.empty(rows, inner, dtype="bf16")
    t.launch(f"{len(row_start)}, cdiv(I_dim, BLOCK_N)", x_ptr=x, gate_up_proj_ptr=w, x_gather_idx_ptr=gather, expert_start_ptr=Tensor(starts.astype(np.int32), "i32"),
             tile_row_start_ptr=Tensor(row_start, "i32"), tile_expert_ptr=Tensor(expert_of, "i32"), pre_act_ptr=pre, post_act_ptr=post, H_dim=hidden,
             I_dim=inner, stride_x_T=hidden, stride_x_H=1, stride_w_E=2 * inner * hidden, stride_w_N=hidden, stride_w_K=1, stride_pre_TK=2 * inner,
             stride_pre_N=1, stride_post_TK=inner, stride_post_N=1, BLOCK_M=block)
    expert = np.repeat(np.arange(experts), counts)
    both = np.einsum("rh,rnh->rn", x.values()[gather.raw], w.values()[expert])
    gate, up = both[:, :inner], both[:, inner:]
    t.check("pre", pre, both, rtol=2.0**-8, atol=1e-4)
    t.check("post", post, gate * sigmoid(gate) * up, rtol=2.0**-8, atol=1e-3)


@dev(46, OPS + "fused_neighborhood_attention.py", "_fused_neighborhood_attention_qk_kernel", "2x2x50x40 in blocks of 32", "f32", "tf32 dots: 2e-3 of the product of magnitudes", include=SRC)
def neighborhood_qk(t):
    batch, heads, length, dim = 2, 2, 50, 40
    q, k, out = t.randn(batch, heads, length, dim), t.randn(batch, heads, length, dim), t.empty(batch, heads, length, length)
    near = np.abs(np.arange(length)[:, None] - np.arange(length)[None, :]) <= 3
    s = [heads * length * dim, length * dim, dim, 1]
    o = [heads * length * length, length * length, length, 1]
    t.launch([batch * heads, cdiv(length, 32), cdiv(length, 32)], Q_ptr=q, K_ptr=k, QK_ptr=out, mask_ptr=tensor(near), q_batch_stride=s[0], q_head_stride=s[1],
             q_seq_stride=s[2], q_dim_stride=s[3], k_batch_stride=s[0], k_head_stride=s[1], k_seq_stride=s[2], k_dim_stride=s[3], qk_batch_stride=o[0],
             qk_head_stride=o[1], qk_seq_stride=o[2], qk_seq2_stride=o[3], batch_size=batch, num_heads=heads, seq_len=length, head_dim=dim, scale=0.25,
             kernel_size=7, dilation=1, BLOCK_SIZE_M=32, BLOCK_SIZE_N=32, BLOCK_SIZE_K=16, num_stages=2, num_warps=4)
    want = np.where(near, q.values() @ k.values().transpose(0, 1, 3, 2) * 0.25, -np.inf)
    t.check("scores", out, want, rtol=2e-3, atol=2e-2)


@dev(47, OPS + "group_norm.py", "_group_norm_backward_kernel", "3 rows, 6 channels of 300 in 2 groups, blocks of 128", "f32", "1e-4: sums of 900 products in f32", include=SRC)
def group_norm_backward(t):
    rows, channels, hidden, groups = 3, 6, 300, 2
    per = channels // groups
    x, up, w = t.randn(rows, channels, hidden), t.randn(rows, channels, hidden), t.randn(channels)
    grouped = x.values().reshape(rows, groups, -1)
    mean, rstd = grouped.mean(2), 1 / np.sqrt(grouped.var(2) + 1e-6)
    dx, dw, db = t.empty(rows, channels, hidden), t.zeros(channels), t.zeros(channels)
    t.launch([rows, groups], X_ptr=x, X_row_stride=channels * hidden, X_col_stride=hidden, W_ptr=w, Mean_ptr=tensor(mean), Mean_ptr_row_stride=groups,
             Mean_ptr_col_stride=1, RSTD_ptr=tensor(rstd), DX_ptr=dx, DW_ptr=dw, DB_ptr=db, UPSTREAM_ptr=up, hidden_size=hidden, channels_per_group=per,
             BLOCK_SIZE=128, dtype=dtype_of("f32"))
    xhat = ((grouped - mean[..., None]) * rstd[..., None]).reshape(rows, channels, hidden)
    wdy = w.values()[None, :, None] * up.values()
    c1, c2 = ((v.reshape(rows, groups, -1).mean(2)) for v in (xhat * wdy, wdy))
    spread = lambda v: np.repeat(v, per, 1)[..., None]
    t.check("dx", dx, (wdy - (xhat * spread(c1) + spread(c2))) * spread(rstd), rtol=1e-4, atol=1e-5)
    t.check("dw", dw, (up.values() * xhat).sum((0, 2)), rtol=1e-4, atol=1e-4)
    t.check("db", db, up.values().sum((0, 2)), rtol=1e-4, atol=1e-4)


@dev(48, OPS + "grpo_loss.py", "_grpo_loss_fwd_kernel", "3x5 tokens, 1500 logits in blocks of 1024; masks, None pointers, three losses", "f32", "2e-5: exp of differences in f32", include=SRC)
def grpo_loss(t):
    for loss_type, masked, old, beta in ((0, True, True, 0.04), (1, False, True, 0.0), (2, True, False, 0.04)):
        b, l, n, temperature, low, high = 3, 5, 1500, 0.9, 0.2, 0.3
        logits, ids = t.randn(b, l + 1, n), t.randint(0, n, b, l, dtype="i64")
        logp_all = logits.values()[:, :l] / temperature
        lse = log_sum_exp(logp_all)
        logp = np.take_along_axis(logp_all, ids.raw[..., None], 2)[..., 0] - lse
        old_logp, ref = tensor(logp + 0.3 * t.rng.standard_normal((b, l))), tensor(logp + 0.3 * t.rng.standard_normal((b, l)))
        mask = t.randint(0, 2, b, l)
        advantages = t.randn(b)
        loss, out_lse, kl, clipped = t.zeros(b, l), t.zeros(b, l), t.zeros(b, l), t.zeros(b, l)
        t.launch([b, l], LOGITS=logits, OLD_LOGP=old_logp if old else None, REF_LOGP=ref if beta else None, INPUT_IDS=ids, COMPLETION_MASK=mask if masked else None,
                 ADVANTAGES=advantages, VLLM_IS_RATIO=None, VLLM_IS_RATIO_STRIDE=1, PHI_SEQ=None, LOSS=loss, LSE=out_lse, KL=kl if beta else None,
                 IS_CLIPPED=clipped, TEMPERATURE=temperature, BETA=beta, EPS_LOW=low, EPS_HIGH=high, LOSS_TYPE=loss_type, SAPO_TEMP_POS=1.0, SAPO_TEMP_NEG=1.05,
                 DELTA=0.0, USE_BIAS_CORRECTION_KL=False, L=l, N=n, BLOCK_N=1024)
        ratio, adv = np.exp(logp - (old_logp.values() if old else logp)), advantages.values()[:, None]
        if loss_type == 0:
            want = -np.minimum(ratio * adv, np.clip(ratio, 1 - low, 1 + high) * adv)
            is_clipped = ((ratio < 1 - low) & (adv < 0)) | ((ratio > 1 + high) & (adv > 0))
        elif loss_type == 1:
            want = -np.minimum(ratio, high) * adv * logp
            is_clipped = (ratio > high) & (adv > 0)
        else:
            temp = np.where(adv > 0, 1.0, 1.05)
            want = -sigmoid(temp * (ratio - 1)) * 4 / temp * adv
            is_clipped = np.zeros((b, l))
        gap = ref.values() - logp
        want_kl = np.exp(gap) - gap - 1
        live = mask.raw != 0 if masked else np.ones((b, l), bool)
        t.check("loss", loss, np.where(live, want + beta * want_kl, 0), rtol=5e-5, atol=2e-5)
        t.check("lse", out_lse, np.where(live, lse, 0), rtol=1e-5)
        t.check("clipped", clipped, np.where(live, is_clipped, 0).astype(float))
        if beta:
            t.check("kl", kl, np.where(live, want_kl, 0), rtol=1e-4, atol=1e-5)


def log_softmax(x):
    return x - log_sum_exp(x)[..., None]


@dev(49, OPS + "jsd.py", "_jsd_kernel", "9 rows x 1500 in blocks of 1024, beta 0, 0.5 and 1, labels", "f32", "2e-5: exp and log in f32", include=SRC)
def jsd(t):
    for beta, labelled in ((0.0, False), (0.5, True), (1.0, False), (0.3, False)):
        rows, cols = 9, 1500
        x, y = tensor(log_softmax(t.rng.standard_normal((rows, cols)))), tensor(log_softmax(t.rng.standard_normal((rows, cols))))
        labels = t.randint(0, cols, rows, dtype="i64")
        labels.raw[4] = -100
        loss, dx = t.zeros(rows, cols), t.empty(rows, cols)
        count = rows - 1 if labelled else rows
        t.launch([rows], X_ptr=x, X_stride=cols, Y_ptr=y, Y_stride=cols, loss_ptr=loss, loss_stride=cols, dX_ptr=dx, dX_stride=cols, label_ptr=labels, beta=beta,
                 n_non_ignore=count, ignore_index=-100, n_cols=cols, BLOCK_SIZE=1024, HAS_LABEL=labelled)
        xv, yv = x.values(), y.values()
        q, p = np.exp(xv), np.exp(yv)
        if beta == 0:
            want, grad = p * (yv - xv), -p
        elif beta == 1:
            want = q * (xv - yv)
            grad = want + q
        else:
            m = beta * p + (1 - beta) * q
            want = beta * p * yv + (1 - beta) * q * xv - m * np.log(m)
            grad = (1 - beta) * q * (xv - np.log(m))
        live = np.ones(rows, bool) if not labelled else labels.raw != -100
        t.check("loss", loss, np.where(live[:, None], want, 0) / count, rtol=2e-5, atol=2e-8)
        t.check("dx", dx, np.where(live[:, None], grad, 0) / count, rtol=2e-5, atol=2e-8)


@dev(50, OPS + "kl_div.py", "_kldiv_kernel_forward", "9 rows x 1500 in blocks of 1024, both targets, none and batchmean", "f32", "2e-5: log and products in f32", include=SRC)
def kl_div(t):
    for log_target, none in ((False, False), (True, True), (False, True)):
        rows, cols = 9, 1500
        y, gt = log_softmax(t.rng.standard_normal((rows, cols))), log_softmax(t.rng.standard_normal((rows, cols)))
        y, gt = tensor(y), tensor(gt if log_target else np.exp(gt))
        loss = t.empty(rows, cols) if none else t.empty(rows)
        extra = {"reduction": 0} if none else {}  # the default is a constexpr of the module
        t.launch([rows], y_ptr=y, y_stride=cols, gt_ptr=gt, gt_stride=cols, loss_ptr=loss, loss_stride=cols if none else 1, n_cols=cols, eps=1e-10, BLOCK_SIZE=1024,
                 log_target=log_target, **extra)
        g = gt.values()
        want = np.exp(g) * (g - y.values()) if log_target else g * (np.log(np.maximum(g, 1e-10)) - y.values())
        t.check("loss", loss, want if none else want.sum(1), rtol=2e-5, atol=2e-6)


@dev(51, OPS + "llama4_rope.py", "_llama4_rope_kernel", "2x7 tokens, 5 and 2 heads of 80, blocks of 32", "f32", "1e-6: two products and an fma in f32", include=SRC)
def llama4_rope(t):
    batch, length, heads, heads_k, half = 2, 7, 5, 2, 40
    for sign in (1.0, -1.0):
        q, k, freqs = t.randn(batch, length, heads, half, 2), t.randn(batch, length, heads_k, half, 2), t.randn(length, half, 2)
        before = [q.values(), k.values()]
        t.launch([batch * length, heads], q_ptr=q, k_ptr=k, freqs_complex_ptr=freqs, q_row_stride=heads * half * 2, k_row_stride=heads_k * half * 2,
                 q_head_stride=half * 2, k_head_stride=half * 2, freqs_row_stride=half * 2, seq_len=length, batch_size=batch, imag_sign=sign, head_dim_half=half,
                 n_q_heads=heads, n_k_heads=heads_k, BLOCK_SIZE=32)
        f = (freqs.values()[..., 0] + 1j * sign * freqs.values()[..., 1])[None, :, None]
        for name, got, old in (("q", q, before[0]), ("k", k, before[1])):
            z = (old[..., 0] + 1j * old[..., 1]) * f
            t.check(name, got, np.stack([z.real, z.imag], -1), rtol=1e-6, atol=1e-6)


@dev(52, OPS + "mhc.py", "_mhc_sinkhorn_bwd_hist_kernel", "13 matrices of 4x4, 5 iterations", "f32", "1e-4: five rounds of divisions in f32", include=SRC)
def sinkhorn_backward(t):
    n, hc, rounds, eps, alpha = 13, 4, 5, 1e-6, 0.8
    width = 2 * hc + hc * hc
    mix, b, grad = t.randn(n, width), t.randn(width), t.randn(n, hc, hc)
    logits = (mix.values() * alpha + b.values())[:, 2 * hc:].reshape(n, hc, hc)

    def forward(logits):
        p = softmax(logits) + eps
        mats = [p / (p.sum(1, keepdims=True) + eps)]
        for _ in range(rounds - 1):
            m = mats[-1] / (mats[-1].sum(2, keepdims=True) + eps)
            mats.append(m / (m.sum(1, keepdims=True) + eps))
        return mats

    hist = tensor(np.stack(forward(logits), 1))
    out = t.empty(n, hc, hc)
    t.launch([n], mix_ptr=mix, b_ptr=b, hist_ptr=hist, grad_out_ptr=grad, grad_logits_ptr=out, N=n, HC=hc, stride_mn=width, stride_mm=1, stride_hn=rounds * hc * hc,
             stride_ht=hc * hc, stride_hi=hc, stride_hj=1, stride_go_n=hc * hc, stride_go_i=hc, stride_go_j=1, stride_gl_n=hc * hc, stride_gl_i=hc, stride_gl_j=1,
             alpha_res_ptr=tensor(np.array([alpha])), sinkhorn_eps=eps, TMAX=rounds)
    # Central differences of the forward pass: step 1e-5 in float64 leaves about 1e-9.
    want, step = np.zeros((n, hc, hc)), 1e-5
    for i in range(hc):
        for j in range(hc):
            delta = np.zeros((hc, hc))
            delta[i, j] = step
            want[:, i, j] = ((forward(logits + delta)[-1] - forward(logits - delta)[-1]) / (2 * step) * grad.values()).sum((1, 2))
    t.check("grad_logits", out, want, rtol=1e-4, atol=1e-5)


@dev(53, OPS + "mhc.py", "_mhc_mm_norm_bwd_fused_kernel", "50x96, 24 columns, blocks of 16 and 32; ieee is not asked for", "f32, bf16", "tf32 or bf16 dots: 2e-3, 1e-2 of the largest", include=SRC)
def mhc_mm_norm_backward(t):
    n, k, m = 50, 96, 24
    for dtype, f32 in (("f32", True), ("bf16", False)):
        x, phi = t.randn(n, k, dtype=dtype), t.randn(k, m, dtype=dtype)
        invr = 1 / np.sqrt((x.values() ** 2).mean(1) + 1e-6)
        mix, grad_mix = tensor((x.values() @ phi.values()) * invr[:, None]), t.randn(n, m)
        gx, gphi = t.empty(n, k, dtype=dtype), t.zeros(k, m)
        t.launch([cdiv(n, 16), cdiv(k, 32)], x_ptr=x, phi_ptr=phi, mix_ptr=mix, invr_ptr=tensor(invr), grad_mix_ptr=grad_mix, grad_x_ptr=gx, grad_phi_ptr=gphi, N=n,
                 K=k, M=m, stride_xn=k, stride_xk=1, stride_phik=m, stride_phim=1, stride_mn=m, stride_mm=1, stride_invr=1, stride_gmn=m, stride_gmm=1, stride_gxn=k,
                 stride_gxk=1, stride_gpk=m, stride_gpm=1, BLOCK_N=16, BLOCK_K=32, BLOCK_M=16, CAST_FP32=f32)
        gz = grad_mix.values() * invr[:, None]
        factor = -(grad_mix.values() * mix.values()).sum(1) / invr * invr**3 / k
        bound = 2e-3 if f32 else 1e-2
        for name, got, want in (("grad_x", gx, gz @ phi.values().T + x.values() * factor[:, None]), ("grad_phi", gphi, x.values().T @ gz)):
            t.check(name, got, want, rtol=bound, atol=bound * np.abs(want).max())


@dev(54, OPS + "mlp.py", "_swiglu_kernel_forward", "2x70x96 by 144, 1x128x64 by 128", "f16, bf16", "one rounding of each output: 1e-2", include=SRC)
def swiglu_mlp_forward(t):
    # Tensor descriptors as arguments, whose block shapes the autotuner's hook sets: a host program makes them.
    t.host(f"""
import torch, triton
from triton.tools.tensor_descriptor import TensorDescriptor
from mlp import _swiglu_kernel_forward
torch.manual_seed({int(t.rng.integers(1 << 30))})
d = lambda x: TensorDescriptor.from_tensor(x, [1] * x.dim())
for B, S, D, H, dtype in ((2, 70, 96, 144, torch.float16), (1, 128, 64, 128, torch.bfloat16)):
    x = torch.randn(B, S, D, dtype=dtype)
    wg, wu = torch.randn(H, D, dtype=dtype) / 8, torch.randn(H, D, dtype=dtype) / 8
    a, g, u = (torch.full((B, S, H), float("nan"), dtype=dtype) for i in range(3))
    grid = lambda m: (triton.cdiv(S, m["BLOCK_M"]) * triton.cdiv(H, m["BLOCK_N"]), B)
    _swiglu_kernel_forward[grid](d(x), d(wg), d(wu), d(a), d(g), d(u), S, D, H, 0, gate_multiplier=1.0)
    gate, up = x.double() @ wg.double().t(), x.double() @ wu.double().t()
    for got, want in ((g, gate), (u, up), (a, gate * torch.sigmoid(gate) * up)):
        torch.testing.assert_close(got.double(), want, rtol=1e-2, atol=2e-2)
""", {"mlp": t.entry.path})


@dev(55, OPS + "multi_token_attention.py", "_mask_fwd_kernel", "3 matrices of 70x70 in blocks of 32", "f32, f16", "bit for bit", include=SRC)
def mask_forward(t):
    for dtype in ("f32", "f16"):
        b, l = 3, 70
        scores, out = t.randn(b, l, l, dtype=dtype), t.empty(b, l, l, dtype=dtype)
        t.launch([cdiv(l, 32), cdiv(l, 32), b], scores_ptr=scores, out_ptr=out, stride_b=l * l, stride_m=l, stride_n=1, L=l, mask_val=0.0, BLOCK=32, num_warps=4)
        t.check("out", out.raw, np.tril(scores.raw))


@dev(56, OPS + "rms_norm.py", "_block_rms_norm_backward_kernel", "37x1000, 3 programs of 16 rows, three casting modes", "f32, f16", "f32: 1e-4, sums of 1000 products; f16: 4 ulp", include=SRC)
def rms_norm_backward(t):
    for mode, dtype in ((0, "f32"), (1, "f16"), (-1, "f32")):
        m, n, programs = 37, 1000, 3
        dy, x, w = t.randn(m, n, dtype=dtype), t.randn(m, n, dtype=dtype), t.randn(n, dtype=dtype)
        rstd = 1 / np.sqrt((x.values() ** 2).mean(1) + 1e-6)
        dx, dw = t.empty(m, n, dtype=dtype), t.empty(programs, n)
        t.launch([programs], dY_ptr=dy, dY_row_stride=n, dX_ptr=dx, dX_row_stride=n, X_ptr=x, X_row_stride=n, X_dtype=dtype_of(dtype), W_ptr=w, W_row_stride=1,
                 RSTD_ptr=tensor(rstd), RSTD_row_stride=1, dW_ptr=dw, dW_row_stride=n, n_rows=m, n_cols=n, offset=0.5, casting_mode=mode, elementwise_affine=True,
                 BLOCK_SIZE=1024, BLOCK_ROW=16)
        g = dy.values() * (w.values() + 0.5)
        want = rstd[:, None] * (g - (rstd**2 * (g * x.values()).mean(1))[:, None] * x.values())
        t.check("dx", dx, want, rtol=1e-4 if dtype == "f32" else 2.0**-8, atol=1e-5 if dtype == "f32" else 2e-3)
        t.check("dw", dw.values().sum(0), (dy.values() * x.values() * rstd[:, None]).sum(0), rtol=1e-4, atol=1e-4 if dtype == "f32" else 2e-2)


@dev(58, OPS + "sparsemax.py", "_sparsemax_forward_kernel", "17x1000", "f32", "1e-4: prefix sums of 1000 values in f32", include=SRC)
def sparsemax(t):
    rows, cols = 17, 1000
    x, out = t.randn(rows, cols), t.empty(rows, cols)
    ordered = tensor(-np.sort(-x.values(), 1))
    t.launch([rows], x_ptr=x, x_stride_row=cols, sorted_x_ptr=ordered, sorted_x_stride_row=cols, o_ptr=out, o_stride_row=cols, n_cols=cols, BLOCK_SIZE=1024, num_warps=4)
    z = ordered.values()
    support = z > (np.cumsum(z, 1) - 1) / np.arange(1, cols + 1)
    tau = ((z * support).sum(1) - 1) / support.sum(1)
    t.check("out", out, np.maximum(x.values() - tau[:, None], 0), rtol=1e-4, atol=1e-5)


@dev(59, OPS + "swiglu.py", "_swiglu_forward_kernel", "13x1000", "f32, bf16", "f32: 2e-6; bf16: silu is rounded before the product: 2 ulp", include=SRC)
def swiglu_forward(t):
    for dtype in ("f32", "bf16"):
        rows, cols = 13, 1000
        a, b, c = t.randn(rows, cols, dtype=dtype), t.randn(rows, cols, dtype=dtype), t.empty(rows, cols, dtype=dtype)
        t.launch([rows], a_ptr=a, b_ptr=b, c_ptr=c, stride=cols, gate_multiplier=1.5, n_cols=cols, BLOCK_SIZE=1024)
        gate = a.values() * 1.5
        t.check("c", c, gate * sigmoid(gate) * b.values(), rtol=4e-6 if dtype == "f32" else 2.0**-7, atol=1e-6)


@dev(60, OPS + "experimental/mm_int8int2.py", "matmul_kernel", "70x100x512, 2-bit weights", "i8, u8 to i32", "exact", include=SRC)
def mm_int8int2(t):
    m, n, k = 70, 100, 512
    a, weights = t.randint(-128, 128, m, k, dtype="i8"), t.rng.integers(-1, 2, (k, n))
    packed = np.zeros((k // 4, n), np.uint8)
    for i in range(4):
        packed |= ((weights[i * (k // 4):(i + 1) * (k // 4)] + 1) << (2 * i)).astype(np.uint8)
    c = t.empty(m, n, dtype="i32")
    t.launch("cdiv(M, BLOCK_SIZE_M) * cdiv(N, BLOCK_SIZE_N)", a_ptr=a, b_ptr=Tensor(packed, "u8"), c_ptr=c, M=m, N=n, K=k, stride_am=k, stride_ak=1, stride_bk=n,
             stride_bn=1, stride_cm=n, stride_cn=1)
    t.check("c", c.raw, a.raw.astype(np.int64) @ weights)
