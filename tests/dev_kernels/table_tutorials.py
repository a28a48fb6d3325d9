"""Triton's tutorials (as the CPU fork of Triton carries them): entries 1 to 18 of the list."""
import math

import numpy as np

from harness import Tensor, bf16_bits, cdiv, dev, next_power_of_2, round_to, tensor

TUT = "triton-cpu/python/tutorials/"


@dev(1, TUT + "01-vector-add.py", "add_kernel", "98432, 1000, 1", "f32", "bit for bit")
def add_kernel(t):
    for n in (98432, 1000, 1):
        x, y, out = t.randn(n), t.randn(n), t.empty(n)
        t.launch([cdiv(n, 1024)], x_ptr=x, y_ptr=y, output_ptr=out, n_elements=n, BLOCK_SIZE=1024)
        t.check("sum", out.raw, x.raw + y.raw)


@dev(2, TUT + "01-vector-add.py", "add_kernel_tiled_autotuned", "98432, 1000", "f32, f16", "bit for bit")
def add_kernel_tiled_autotuned(t):
    for n, dtype in ((98432, "f32"), (1000, "f16")):
        x, y, out = t.randn(n, dtype=dtype), t.randn(n, dtype=dtype), t.empty(n, dtype=dtype)
        t.launch("cdiv(n_elements, BLOCK_SIZE)", x_ptr=x, y_ptr=y, output_ptr=out, n_elements=n)
        t.check("sum", out.raw, x.raw + y.raw)


def softmax(values, axis=-1):
    e = np.exp(values - values.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


@dev(3, TUT + "02-fused-softmax.py", "softmax_kernel", "1823x781, 64x1024", "f32", "rel 1e-6: exp within 2 + 1.25 abs(x) ulp of values that matter, one division")
def softmax_kernel(t):
    for rows, cols, programs in ((1823, 781, 100), (64, 1024, 7)):
        x, out = t.randn(rows, cols), t.empty(rows, cols)
        t.launch([programs], output_ptr=out, input_ptr=x, input_row_stride=cols, output_row_stride=cols, n_rows=rows, n_cols=cols,
                 BLOCK_SIZE=next_power_of_2(cols), num_stages=2)
        t.check("softmax", out, softmax(x.values()), rtol=2e-6, atol=1e-12)


@dev(4, TUT + "03-matrix-multiplication.py", "matmul_kernel", "512x512x512, 257x129x65 (leaky_relu)", "f16", "1 ulp of f16 plus K * 2^-23 of the products")
def matmul_kernel(t):
    for m, n, k, activation in ((512, 512, 512, ""), (257, 129, 65, "leaky_relu")):
        a, b, c = t.randn(m, k, dtype="f16"), t.randn(k, n, dtype="f16"), t.empty(m, n, dtype="f16")
        t.launch("cdiv(M, BLOCK_SIZE_M) * cdiv(N, BLOCK_SIZE_N)", a_ptr=a, b_ptr=b, c_ptr=c, M=m, N=n, K=k, stride_am=k, stride_ak=1, stride_bk=n,
                 stride_bn=1, stride_cm=n, stride_cn=1, ACTIVATION=activation)
        want = a.values() @ b.values()
        if activation:
            want = np.where(want >= 0, want, 0.01 * want)
        t.check("c", c, want, rtol=2.0**-10, atol=1e-3)


@dev(5, TUT + "03-matrix-multiplication-cpu.py", "matmul_kernel", "512x512x512, 64x96x40 (the kernel itself takes multiples of the block only)", "f32, bf16",
     "tf32 dots: 2e-3 of the product of magnitudes")
def matmul_kernel_cpu(t):
    for m, n, k, dtype, blocks in ((512, 512, 512, "f32", (8, 32, 8)), (64, 96, 64, "bf16", (32, 32, 32))):
        for use_block_pointers in (True, False):
            a, b, c = t.randn(m, k, dtype=dtype), t.randn(k, n, dtype=dtype), t.empty(m, n)
            bm, bn, bk = blocks
            t.launch([cdiv(m, bm) * cdiv(n, bn)], a_ptr=a, b_ptr=b, c_ptr=c, M=m, N=n, K=k, stride_am=k, stride_ak=1, stride_bk=n, stride_bn=1,
                     stride_cm=n, stride_cn=1, BLOCK_SIZE_M=bm, BLOCK_SIZE_N=bn, BLOCK_SIZE_K=bk, GROUP_SIZE_M=8, USE_BLOCK_POINTERS=use_block_pointers)
            magnitude = np.abs(a.values()) @ np.abs(b.values())
            want = a.values() @ b.values()
            t.check("c", (c.values() - want) / magnitude, np.zeros((m, n)), atol=1e-3 if dtype == "f32" else 1e-6)


# --- Philox, as Triton's generator is documented -------------------------------------------------------------------------------------------
def philox(seed, offset, rounds=10):
    """Four u32 words of each offset (an int32 array)."""
    mask = np.uint64(0xffffffff)
    c = [offset.astype(np.uint32).astype(np.uint64)] + [np.zeros(offset.shape, np.uint64) for _ in range(3)]
    k0, k1 = np.uint64(seed & 0xffffffff), np.uint64((seed >> 32) & 0xffffffff)
    a, b = np.uint64(0xD2511F53), np.uint64(0xCD9E8D57)
    for _ in range(rounds):
        pa, pb = a * c[0], b * c[2]
        c = [(pb >> np.uint64(32)) ^ c[1] ^ k0, pb & mask, (pa >> np.uint64(32)) ^ c[3] ^ k1, pa & mask]
        k0, k1 = (k0 + np.uint64(0x9E3779B9)) & mask, (k1 + np.uint64(0xBB67AE85)) & mask
    return [w.astype(np.uint32) for w in c]


def uniform(word):
    x = word.view(np.int32)
    x = np.where(x < 0, -x - 1, x)
    return x.astype(np.float32) * np.float32(4.6566127342e-10)


@dev(6, TUT + "04-low-memory-dropout.py", "_seeded_dropout", "10, 5000", "f32", "mask exact; one f32 division: 1 ulp")
def seeded_dropout(t):
    for n, seed in ((10, 123), (5000, 512)):
        x, out, p = t.randn(n), t.empty(n), 0.5
        t.launch([cdiv(n, 1024)], x_ptr=x, output_ptr=out, n_elements=n, p=p, seed=seed, BLOCK_SIZE=1024)
        keep = uniform(philox(seed, np.arange(n, dtype=np.int32))[0]) > np.float32(p)
        t.check("dropout", out, np.where(keep, x.values() / (1 - p), 0.0), rtol=2.0**-22)


def layer_norm_parts(x, eps):
    mean = x.mean(1)
    rstd = 1 / np.sqrt(x.var(1) + eps)
    return mean, rstd, (x - mean[:, None]) * rstd[:, None]


@dev(7, TUT + "05-layer-norm.py", "_layer_norm_fwd_fused", "151x1000, 64x512", "f16, f32", "f16: 1 ulp; f32: 2e-6 of values below 8")
def layer_norm_fwd(t):
    for m, n, dtype, block in ((151, 1000, "f16", 256), (64, 512, "f32", 512)):
        x, w, b = t.randn(m, n, dtype=dtype), t.rand(n, dtype=dtype), t.rand(n, dtype=dtype)
        y, mean, rstd = t.empty(m, n, dtype=dtype), t.empty(m), t.empty(m)
        t.launch([m], X=x, Y=y, W=w, B=b, Mean=mean, Rstd=rstd, stride=n, N=n, eps=1e-5, BLOCK_SIZE=block)
        want_mean, want_rstd, xhat = layer_norm_parts(x.values(), 1e-5)
        t.check("mean", mean, want_mean, rtol=1e-5, atol=1e-6)
        t.check("rstd", rstd, want_rstd, rtol=1e-5)
        t.check("y", y, xhat * w.values() + b.values(), rtol=2.0**-10 if dtype == "f16" else 0, atol=1e-4 if dtype == "f16" else 8e-6)


@dev(8, TUT + "05-layer-norm.py", "_layer_norm_bwd_dx_fused", "151x1000, 40x64; groups of 7 and 8 locks", "f32", "sums in another order: 1e-4 of values below 30")
def layer_norm_bwd_dx(t):
    for m, n, groups in ((151, 1000, 7), (40, 64, 8)):
        x, dy, w = t.randn(m, n), t.randn(m, n), t.rand(n)
        mean, rstd, xhat = layer_norm_parts(x.values(), 1e-5)
        dx, dw, db = t.empty(m, n), t.zeros(groups, n), t.zeros(groups, n)
        locks = t.zeros(2 * groups, dtype="i32")
        t.launch([m], DX=dx, DY=dy, DW=dw, DB=db, X=x, W=w, Mean=tensor(mean), Rstd=tensor(rstd), Lock=locks, stride=n, N=n, GROUP_SIZE_M=groups,
                 BLOCK_SIZE_N=next_power_of_2(n))
        wdy = w.values() * dy.values()
        c1, c2 = (xhat * wdy).mean(1, keepdims=True), wdy.mean(1, keepdims=True)
        t.check("dx", dx, (wdy - (xhat * c1 + c2)) * rstd[:, None], rtol=1e-4, atol=1e-5)
        t.check("dw", dw.values().sum(0), (dy.values() * xhat).sum(0), rtol=1e-4, atol=1e-4)
        t.check("db", db.values().sum(0), dy.values().sum(0), rtol=1e-4, atol=1e-4)
        t.check("locks", locks.raw, np.array([0] * groups + [1] * groups))


@dev(9, TUT + "05-layer-norm.py", "_layer_norm_bwd_dwdb", "96x1000, 32x128", "f32", "sums in another order: 1e-5")
def layer_norm_bwd_dwdb(t):
    for m, n in ((96, 1000), (32, 128)):
        dw, db, out_w, out_b = t.randn(m, n), t.randn(m, n), t.empty(n), t.empty(n)
        t.launch([cdiv(n, 128)], DW=dw, DB=db, FINAL_DW=out_w, FINAL_DB=out_b, M=m, N=n, BLOCK_SIZE_M=32, BLOCK_SIZE_N=128)
        t.check("dw", out_w, dw.values().sum(0), rtol=1e-5, atol=2e-5)
        t.check("db", out_b, db.values().sum(0), rtol=1e-5, atol=2e-5)


LAYER_NORM_HOST = """
import torch
import triton
from layer_norm import _layer_norm_fwd_fused, _layer_norm_bwd_dx_fused, _layer_norm_bwd_dwdb

def check(m, n, groups, eps=1e-5):
    x, dy = -2.3 + 0.5 * torch.randn(m, n), 0.1 * torch.randn(m, n)
    w, b = torch.rand(n), torch.rand(n)
    y, mean, rstd = torch.empty_like(x), torch.empty(m), torch.empty(m)
    block = triton.next_power_of_2(n)
    _layer_norm_fwd_fused[(m,)](x, y, w, b, mean, rstd, x.stride(0), n, eps, BLOCK_SIZE=block, num_warps=4, num_ctas=1)
    torch.testing.assert_close(y, torch.nn.functional.layer_norm(x, (n,), w, b, eps), atol=1e-4, rtol=0)
    locks = torch.zeros(2 * groups, dtype=torch.int32)
    part_dw, part_db = torch.empty(groups, n), torch.empty(groups, n)
    dx, dw, db = torch.empty_like(x), torch.empty(n), torch.empty(n)
    _layer_norm_bwd_dx_fused[(m,)](dx, dy, part_dw, part_db, x, w, mean, rstd, locks, x.stride(0), n, BLOCK_SIZE_N=block, GROUP_SIZE_M=groups, num_warps=4)
    grid = lambda meta: (triton.cdiv(n, meta['BLOCK_SIZE_N']),)
    _layer_norm_bwd_dwdb[grid](part_dw, part_db, dw, db, min(groups, m), n, BLOCK_SIZE_M=32, BLOCK_SIZE_N=128, num_ctas=1)
    xd, dyd = x.double(), dy.double()
    c = xd - xd.mean(dim=1, keepdim=True)
    r = torch.rsqrt((c * c).mean(dim=1, keepdim=True) + eps)
    hat, wdy = c * r, dyd * w.double()
    want = (wdy - hat * (wdy * hat).mean(dim=1, keepdim=True) - wdy.mean(dim=1, keepdim=True)) * r
    torch.testing.assert_close(dx.double(), want, atol=1e-5, rtol=0)
    torch.testing.assert_close(dw.double(), (dyd * hat).sum(dim=0), atol=1e-4, rtol=0)
    torch.testing.assert_close(db.double(), dyd.sum(dim=0), atol=1e-4, rtol=0)

torch.manual_seed(SEED)
check(151, 1000, 16)
check(40, 64, 64)
"""


@dev(7, TUT + "05-layer-norm.py", "all three from a host file", "151x1000, 40x64; 16 and 64 locks", "f32", "1e-4 against torch ops; checked mode stays silent")
def layer_norm_from_a_host_file(t):
    for check in (False,) if "cuda" in t.extra else (False, True):  # checked mode is the CPU engine's
        t.host(LAYER_NORM_HOST.replace("SEED", str(int(t.rng.integers(1000)))), {"layer_norm": TUT + "05-layer-norm.py"}, check=check)



def attention(q, k, v, scale, causal):
    scores = q @ k.transpose(0, 2, 1) * scale
    if causal:
        scores = np.where(np.tril(np.ones(scores.shape[1:], bool)), scores, -np.inf)
    p = softmax(scores)
    return scores, p, p @ v


@dev(10, TUT + "06-fused-attention.py", "_attn_fwd", "1x2x256x64 full and causal, 2x1x128x128", "f16", "f16 probabilities and output: 1e-2 absolute as the tutorial's own test")
def attn_fwd(t):
    for z, h, n, d, causal in ((1, 2, 256, 64, False), (1, 2, 256, 64, True), (2, 1, 128, 128, True)):
        q, k, v = (t.randn(z * h * n, d, dtype="f16", scale=0.5) for _ in range(3))
        out, m = t.empty(z * h * n, d, dtype="f16"), t.empty(z * h, n)
        t.launch("cdiv(N_CTX, BLOCK_M)," + str(z * h), sm_scale=0.5, M=m, Z=z, H=h, desc_q=q, desc_k=k, desc_v=v, desc_o=out, N_CTX=n, HEAD_DIM=d,
                 FP8_OUTPUT=False, STAGE=3 if causal else 1, warp_specialize=False, IS_HOPPER=False)
        qv, kv, vv = (x.values().reshape(z * h, n, d) for x in (q, k, v))
        scores, p, want = attention(qv, kv, vv, 0.5, causal)
        t.check("out", out.values().reshape(z * h, n, d), want, atol=5e-3)
        top = scores.max(2)
        log_sum = (top + np.log(np.exp(scores - top[:, :, None]).sum(2))) / math.log(2)
        t.check("m", m, log_sum, atol=5e-3)


@dev(11, TUT + "06-fused-attention.py", "_attn_bwd_preprocess", "2x3x256x64", "f16", "f32 sums of 64 products: 1e-5")
def attn_bwd_preprocess(t):
    z, h, n, d = 2, 3, 256, 64
    o, do, delta = t.randn(z * h, n, d, dtype="f16"), t.randn(z * h, n, d, dtype="f16"), t.empty(z * h, n)
    t.launch([cdiv(n, 128), z * h], O=o, DO=do, Delta=delta, Z=z, H=h, N_CTX=n, BLOCK_M=128, HEAD_DIM=d)
    t.check("delta", delta, (o.values() * do.values()).sum(2), rtol=1e-5, atol=2e-5)


@dev(12, TUT + "06-fused-attention.py", "_attn_bwd", "1x2x256x64 causal and full", "f16", "f16 intermediates: 1e-2 absolute as the tutorial's own test")
def attn_bwd(t):
    z, h, n, d, sm_scale = 1, 2, 256, 64, 0.5
    for causal in (True, False):
        q, k, v, do = (t.randn(z * h, n, d, dtype="f16", scale=0.5) for _ in range(4))
        scores, p, o = attention(q.values(), k.values(), v.values(), sm_scale, causal)
        top = scores.max(2)
        m = tensor((top + np.log(np.exp(scores - top[:, :, None]).sum(2))) / math.log(2))
        delta = tensor((o * do.values()).sum(2))
        # The host code scales K by sm_scale / ln 2 before the launch.
        scaled_k = tensor(k.values() * (sm_scale / math.log(2)), "f16")
        dq, dk, dv = (t.empty(z * h, n, d, dtype="f16") for _ in range(3))
        t.launch([n // 128, 1, z * h], Q=q, K=scaled_k, V=v, sm_scale=sm_scale, DO=do, DQ=dq, DK=dk, DV=dv, M=m, D=delta, stride_z=h * n * d, stride_h=n * d,
                 stride_tok=d, stride_d=1, H=h, N_CTX=n, BLOCK_M1=32, BLOCK_N1=128, BLOCK_M2=128, BLOCK_N2=32, BLK_SLICE_FACTOR=2, HEAD_DIM=d, CAUSAL=causal)
        dp = do.values() @ v.values().transpose(0, 2, 1)
        ds = p * (dp - delta.values()[:, :, None])
        t.check("dv", dv, p.transpose(0, 2, 1) @ do.values(), atol=1e-2, rtol=1e-2)
        t.check("dk", dk, ds.transpose(0, 2, 1) @ q.values() * sm_scale, atol=1e-2, rtol=1e-2)
        t.check("dq", dq, ds @ k.values() * sm_scale, atol=1e-2, rtol=1e-2)


@dev(13, TUT + "07-extern-functions.py", "asin_kernel", "98432, 777", "f32", "libdevice asin: 4 ulp")
def asin_kernel(t):
    for n in (98432, 777):
        x, y = t.rand(n), t.empty(n)
        t.launch([cdiv(n, 1024)], x_ptr=x, y_ptr=y, n_elements=n, BLOCK_SIZE=1024)
        t.check("asin", y, np.arcsin(x.values()), rtol=4 * 2.0**-23)


@dev(14, TUT + "08-grouped-gemm.py", "grouped_matmul_kernel", "256x128x64, 128x256x128, 128x128x192 in one launch (the kernel takes whole blocks only)", "f16",
     "one f16 rounding of the result: 2e-3")
def grouped_gemm(t):
    # Pointers in a tensor: only a host program has them.
    t.host(f"""
import torch
from grouped import group_gemm_fn
torch.manual_seed({int(t.rng.integers(1 << 30))})
sizes = ((256, 128, 64), (128, 256, 128), (128, 128, 192))
group_a = [torch.randn(m, k, dtype=torch.float16) for m, n, k in sizes]
group_b = [torch.randn(k, n, dtype=torch.float16) for m, n, k in sizes]
for a, b, c in zip(group_a, group_b, group_gemm_fn(group_a, group_b)):
    torch.testing.assert_close(c.double(), a.double() @ b.double(), rtol=2e-3, atol=1e-2)
""", {"grouped": t.entry.path})


@dev(15, TUT + "09-persistent-matmul.py", "matmul_kernel_persistent", "256x384x128, 200x136x72", "f16", "1 ulp of f16 plus K * 2^-23 of the products")
def matmul_kernel_persistent(t):
    for m, n, k in ((256, 384, 128), (200, 136, 72)):
        a, b, c = t.randn(m, k, dtype="f16"), t.randn(k, n, dtype="f16"), t.empty(m, n, dtype="f16")
        t.launch("min(NUM_SMS, cdiv(M, BLOCK_SIZE_M) * cdiv(N, BLOCK_SIZE_N))", a_ptr=a, b_ptr=b, c_ptr=c, M=m, N=n, K=k, stride_am=k, stride_ak=1,
                 stride_bk=n, stride_bn=1, stride_cm=n, stride_cn=1, NUM_SMS=5)
        t.check("c", c, a.values() @ b.values(), rtol=2.0**-10, atol=1e-3)


@dev(16, TUT + "09-persistent-matmul.py", "matmul_kernel_descriptor_persistent", "256x256x128, 200x136x72", "f16", "1 ulp of f16 plus K * 2^-23 of the products")
def matmul_kernel_descriptor_persistent(t):
    for m, n, k in ((256, 256, 128), (200, 136, 72)):
        a, b, c = t.randn(m, k, dtype="f16"), t.randn(n, k, dtype="f16"), t.empty(m, n, dtype="f16")
        t.launch("min(NUM_SMS, cdiv(M, BLOCK_SIZE_M) * cdiv(N, BLOCK_SIZE_N))", a_ptr=a, b_ptr=b, c_ptr=c, M=m, N=n, K=k, NUM_SMS=4,
                 WARP_SPECIALIZE=False, FLATTEN=False)
        t.check("c", c, a.values() @ b.values().T, rtol=2.0**-10, atol=1e-3)


@dev(17, TUT + "10-block-scaled-matmul.py", "block_scaled_matmul_kernel", "256x128x256 in mxfp8, mxfp4, mxfp8 by mxfp4 (whole blocks only)", "f8e4m3, packed f4, u8 scales",
     "1e-5: sums of 256 products in f32")
def block_scaled_matmul(t):
    t.host(f"""
import torch
from triton.tools.tensor_descriptor import TensorDescriptor
from scaled import block_scaled_matmul
torch.manual_seed({int(t.rng.integers(1 << 30))})
E2M1 = torch.tensor([0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, -0.0, -0.5, -1.0, -1.5, -2.0, -3.0, -4.0, -6.0], dtype=torch.float64)
M, N, K, BM, BN, BK = 256, 128, 256, 128, 128, 128
rep_k = BK // 32 // 4
def operand(rows, packed):
    if not packed:
        x = torch.randn(rows, K).to(torch.float8_e4m3fn)
        return x, x.double()
    codes = torch.randint(0, 16, (rows, K))
    return (codes[:, 0::2] + codes[:, 1::2] * 16).to(torch.uint8), E2M1[codes]
def scales(rows):
    s = torch.randint(125, 130, (rows, K // 32))
    laid_out = s.to(torch.uint8).view(rows // 128, 4, 32, K // 128, 4).permute(0, 3, 2, 1, 4).contiguous().view(1, rows // 128, K // 128, 2, 256)
    return laid_out, torch.exp2(s.double() - 127).unsqueeze(2).expand(rows, K // 32, 32).reshape(rows, K)
for a_packed, b_packed in ((False, False), (True, True), (False, True)):
    a, a_values = operand(M, a_packed)
    b, b_values = operand(N, b_packed)
    sa, sa_values = scales(M)
    sb, sb_values = scales(N)
    ea, eb = 1 + a_packed, 1 + b_packed
    config = dict(BLOCK_SIZE_M=BM, BLOCK_SIZE_N=BN, BLOCK_SIZE_K=BK, ELEM_PER_BYTE_A=ea, ELEM_PER_BYTE_B=eb, VEC_SIZE=32, num_stages=2)
    out = block_scaled_matmul(TensorDescriptor.from_tensor(a, [BM, BK // ea]), TensorDescriptor.from_tensor(sa, [1, 1, rep_k, 2, 256]),
                              TensorDescriptor.from_tensor(b, [BN, BK // eb]), TensorDescriptor.from_tensor(sb, [1, 1, rep_k, 2, 256]),
                              torch.float32, M, N, K, 1, 1, rep_k, config)
    torch.testing.assert_close(out.double(), (a_values * sa_values) @ (b_values * sb_values).t(), rtol=1e-5, atol=1e-3)
""", {"scaled": t.entry.path})


@dev(18, TUT + "matrix-vector-multiplication.py", "gemv_kernel", "256x512, 64x96 (the kernel itself takes multiples of the block only)", "f32", "f32 sums in another order: 1e-5")
def gemv_kernel(t):
    for m, n in ((256, 512), (64, 96)):
        a, x, y = t.randn(m, n), t.randn(n), t.empty(m)
        t.launch([m // 8], Y=y, A=a, X=x, M=m, N=n, stride_am=n, BLOCK_SIZE_M=8, BLOCK_SIZE_N=32)
        t.check("y", y, a.values() @ x.values(), rtol=1e-5, atol=5e-5)
