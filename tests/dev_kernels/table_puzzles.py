"""Triton-Puzzles: entries 19 to 26 of the list. The notebook gives the specification; the bodies are puzzles.py beside this file."""
import os

import numpy as np

from harness import cdiv, dev, tensor

PUZZLES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "puzzles.py")
HERE = "(puzzles.py)"


def softmax(values):
    e = np.exp(values - values.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


@dev(19, HERE, "add_vec_kernel", "32x32, 20x13", "f32", "bit for bit")
def add_vec(t):
    for n0, n1, b0, b1 in ((32, 32, 32, 32), (20, 13, 32, 16)):
        x, y, z = t.randn(n0), t.randn(n1), t.empty(n1, n0)
        t.launch([1], path=PUZZLES, x_ptr=x, y_ptr=y, z_ptr=z, N0=n0, N1=n1, B0=b0, B1=b1)
        t.check("z", z.raw, x.raw[None, :] + y.raw[:, None])


@dev(20, HERE, "mul_relu_block_back_kernel", "100x90 in blocks of 32", "f32", "bit for bit")
def mul_relu_back(t):
    n0, n1 = 100, 90
    x, y, dz, dx = t.randn(n1, n0), t.randn(n1), t.randn(n1, n0), t.empty(n1, n0)
    t.launch([cdiv(n0, 32), cdiv(n1, 32)], path=PUZZLES, x_ptr=x, y_ptr=y, dz_ptr=dz, dx_ptr=dx, N0=n0, N1=n1, B0=32, B1=32)
    t.check("dx", dx.raw, np.where(x.raw * y.raw[:, None] > 0, dz.raw * y.raw[:, None], np.float32(0)))


@dev(21, HERE, "sum_kernel", "4x200 in blocks of 32", "f32", "1e-5: f32 sums in another order")
def long_sum(t):
    x, z = t.randn(4, 200), t.empty(4)
    t.launch([4], path=PUZZLES, x_ptr=x, z_ptr=z, N0=4, N1=32, T=200, B0=1, B1=32)
    t.check("z", z, x.values().sum(1), rtol=1e-5, atol=1e-5)


@dev(22, HERE, "softmax_kernel", "4x200 in blocks of 32", "f32", "rel 4e-6: two exponentials and a division")
def long_softmax(t):
    x, z = t.randn(4, 200), t.empty(4, 200)
    t.launch([4], path=PUZZLES, x_ptr=x, z_ptr=z, N0=4, N1=32, T=200, B0=1, B1=32)
    t.check("z", z, softmax(x.values()), rtol=4e-6)


@dev(23, HERE, "flashatt_kernel", "200 in blocks of 64", "f32", "1e-5")
def flashatt(t):
    q, k, v, z = (t.randn(200) for _ in range(4))
    z = t.empty(200)
    t.launch([cdiv(200, 64)], path=PUZZLES, q_ptr=q, k_ptr=k, v_ptr=v, z_ptr=z, N0=200, T=200, B0=64)
    t.check("z", z, softmax(q.values()[:, None] * k.values()[None, :]) @ v.values(), rtol=1e-5, atol=1e-5)


@dev(24, HERE, "conv2d_kernel", "4 images of 8x8 and 3 of 7x5, kernel 4x4", "f32", "1e-5: f32 sums of 16 products")
def conv2d(t):
    for images, h, w, b0 in ((4, 8, 8, 1), (3, 7, 5, 2)):
        x, k, z = t.randn(images, h, w), t.randn(4, 4), t.empty(images, h, w)
        t.launch([cdiv(images, b0)], path=PUZZLES, x_ptr=x, k_ptr=k, z_ptr=z, N0=images, H=h, W=w, KH=4, KW=4, B0=b0)
        padded = np.pad(x.values(), ((0, 0), (0, 4), (0, 4)))
        want = np.array([[[(padded[n, i:i + 4, j:j + 4] * k.values()).sum() for j in range(w)] for i in range(h)] for n in range(images)])
        t.check("z", z, want, rtol=1e-5, atol=1e-5)


@dev(25, HERE, "dot_kernel", "4 of 32x32x32, 3 of 20x24x40", "f32", "1e-5: ieee products, f32 sums")
def batched_dot(t):
    for n2, n0, n1, mid in ((4, 32, 32, 32), (3, 20, 24, 40)):
        x, y, z = t.randn(n2, n0, mid), t.randn(n2, mid, n1), t.empty(n2, n0, n1)
        t.launch([cdiv(n0, 16), cdiv(n1, 16), n2], path=PUZZLES, x_ptr=x, y_ptr=y, z_ptr=z, N0=n0, N1=n1, N2=n2, MID=mid, B0=16, B1=16, B2=1, B_MID=16)
        t.check("z", z, x.values() @ y.values(), rtol=1e-5, atol=2e-5)


@dev(26, HERE, "quant_dot_kernel", "32x32, 64 packed 4-bit weights a row; 24x20", "f32, i32", "1e-5: ieee products, f32 sums")
def quant_dot(t):
    for n0, n1 in ((32, 32), (24, 20)):
        mid = 64
        scale, activation, z = t.randn(n0, mid // 8), t.randn(mid, n1), t.empty(n0, n1)
        offset, weight = t.randint(-2**31, 2**31, n0), t.randint(-2**31, 2**31, n0, mid // 8)
        t.launch([cdiv(n0, 16), cdiv(n1, 16)], path=PUZZLES, scale_ptr=scale, offset_ptr=offset, weight_ptr=weight, activation_ptr=activation, z_ptr=z,
                 N0=n0, N1=n1, MID=mid, B0=16, B1=16, B_MID=64)
        shifts = np.arange(8) * 4
        weights = ((weight.raw[..., None] >> shifts) & 15).reshape(n0, mid)
        zeros = np.repeat((offset.raw[:, None] >> shifts) & 15, 8, axis=1)
        t.check("z", z, (np.repeat(scale.values(), 8, axis=1) * (weights - zeros)) @ activation.values(), rtol=1e-5, atol=1e-3)
