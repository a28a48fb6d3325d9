"""Bodies for the kernels that Triton-Puzzles leaves to its reader (cells 22 to 49 of the notebook). The signatures are the notebook's."""
import triton
import triton.language as tl


@triton.jit
def add_vec_kernel(x_ptr, y_ptr, z_ptr, N0, N1, B0: tl.constexpr, B1: tl.constexpr):
    i = tl.arange(0, B0)
    j = tl.arange(0, B1)
    x = tl.load(x_ptr + i, mask=i < N0)
    y = tl.load(y_ptr + j, mask=j < N1)
    tl.store(z_ptr + j[:, None] * N0 + i[None, :], x[None, :] + y[:, None], mask=(j[:, None] < N1) & (i[None, :] < N0))


@triton.jit
def mul_relu_block_back_kernel(x_ptr, y_ptr, dz_ptr, dx_ptr, N0, N1, B0: tl.constexpr, B1: tl.constexpr):
    i = tl.program_id(0) * B0 + tl.arange(0, B0)
    j = tl.program_id(1) * B1 + tl.arange(0, B1)
    inside = (j[:, None] < N1) & (i[None, :] < N0)
    at = j[:, None] * N0 + i[None, :]
    x = tl.load(x_ptr + at, mask=inside, other=0.0)
    y = tl.load(y_ptr + j, mask=j < N1, other=0.0)
    dz = tl.load(dz_ptr + at, mask=inside, other=0.0)
    tl.store(dx_ptr + at, tl.where(x * y[:, None] > 0, dz * y[:, None], 0.0), mask=inside)


@triton.jit
def sum_kernel(x_ptr, z_ptr, N0, N1, T, B0: tl.constexpr, B1: tl.constexpr):
    row = tl.program_id(0) * B0 + tl.arange(0, B0)
    total = tl.zeros([B0], dtype=tl.float32)
    for start in range(0, T, B1):
        j = start + tl.arange(0, B1)
        total += tl.sum(tl.load(x_ptr + row[:, None] * T + j[None, :], mask=(row[:, None] < N0) & (j[None, :] < T), other=0.0), axis=1)
    tl.store(z_ptr + row, total, mask=row < N0)


@triton.jit
def softmax_kernel(x_ptr, z_ptr, N0, N1, T, B0: tl.constexpr, B1: tl.constexpr):
    row = tl.program_id(0) * B0 + tl.arange(0, B0)
    log2_e = 1.44269504
    top = tl.full([B0], float("-inf"), dtype=tl.float32)
    total = tl.zeros([B0], dtype=tl.float32)
    for start in tl.range(0, T, B1):
        j = start + tl.arange(0, B1)
        x = tl.load(x_ptr + row[:, None] * T + j[None, :], mask=(row[:, None] < N0) & (j[None, :] < T), other=float("-inf"))
        new_top = tl.maximum(top, tl.max(x, axis=1))
        total = total * tl.exp2(log2_e * (top - new_top)) + tl.sum(tl.exp2(log2_e * (x - new_top[:, None])), axis=1)
        top = new_top
    for start in tl.range(0, T, B1):
        j = start + tl.arange(0, B1)
        inside = (row[:, None] < N0) & (j[None, :] < T)
        x = tl.load(x_ptr + row[:, None] * T + j[None, :], mask=inside, other=float("-inf"))
        tl.store(z_ptr + row[:, None] * T + j[None, :], tl.exp2(log2_e * (x - top[:, None])) / total[:, None], mask=inside)


@triton.jit
def flashatt_kernel(q_ptr, k_ptr, v_ptr, z_ptr, N0, T, B0: tl.constexpr):
    i = tl.program_id(0) * B0 + tl.arange(0, B0)
    q = tl.load(q_ptr + i, mask=i < N0, other=0.0)
    top = tl.full([B0], float("-inf"), dtype=tl.float32)
    total = tl.zeros([B0], dtype=tl.float32)
    acc = tl.zeros([B0], dtype=tl.float32)
    for start in range(0, T, B0):
        j = start + tl.arange(0, B0)
        k = tl.load(k_ptr + j, mask=j < T, other=0.0)
        v = tl.load(v_ptr + j, mask=j < T, other=0.0)
        s = tl.where(j[None, :] < T, q[:, None] * k[None, :], float("-inf"))
        new_top = tl.maximum(top, tl.max(s, axis=1))
        p = tl.exp(s - new_top[:, None])
        old = tl.exp(top - new_top)
        total = total * old + tl.sum(p, axis=1)
        acc = acc * old + tl.sum(p * v[None, :], axis=1)
        top = new_top
    tl.store(z_ptr + i, acc / total, mask=i < N0)


@triton.jit
def conv2d_kernel(x_ptr, k_ptr, z_ptr, N0, H, W, KH: tl.constexpr, KW: tl.constexpr, B0: tl.constexpr):
    image = tl.program_id(0) * B0
    kh = tl.arange(0, KH)[:, None]
    kw = tl.arange(0, KW)[None, :]
    k = tl.load(k_ptr + kh * KW + kw)
    for b in range(0, B0):
        if image + b < N0:
            for i in range(0, H):
                for j in range(0, W):
                    inside = (i + kh < H) & (j + kw < W)
                    x = tl.load(x_ptr + (image + b) * H * W + (i + kh) * W + j + kw, mask=inside, other=0.0)
                    tl.store(z_ptr + (image + b) * H * W + i * W + j, tl.sum(k * x))


@triton.jit
def dot_kernel(x_ptr, y_ptr, z_ptr, N0, N1, N2, MID, B0: tl.constexpr, B1: tl.constexpr, B2: tl.constexpr, B_MID: tl.constexpr):
    j = tl.program_id(0) * B0 + tl.arange(0, B0)
    l = tl.program_id(1) * B1 + tl.arange(0, B1)
    i = tl.program_id(2) * B2 + tl.arange(0, B2)
    acc = tl.zeros([B2, B0, B1], dtype=tl.float32)
    for start in range(0, MID, B_MID):
        m = start + tl.arange(0, B_MID)
        x = tl.load(x_ptr + i[:, None, None] * N0 * MID + j[None, :, None] * MID + m[None, None, :],
                    mask=(i[:, None, None] < N2) & (j[None, :, None] < N0) & (m[None, None, :] < MID), other=0.0)
        y = tl.load(y_ptr + i[:, None, None] * MID * N1 + m[None, :, None] * N1 + l[None, None, :],
                    mask=(i[:, None, None] < N2) & (m[None, :, None] < MID) & (l[None, None, :] < N1), other=0.0)
        acc += tl.dot(x, y, input_precision="ieee")
    tl.store(z_ptr + i[:, None, None] * N0 * N1 + j[None, :, None] * N1 + l[None, None, :], acc,
             mask=(i[:, None, None] < N2) & (j[None, :, None] < N0) & (l[None, None, :] < N1))


@triton.jit
def quant_dot_kernel(scale_ptr, offset_ptr, weight_ptr, activation_ptr, z_ptr, N0, N1, MID, B0: tl.constexpr, B1: tl.constexpr,
                     B_MID: tl.constexpr):
    # Eight 4-bit numbers in an i32; one scale for a group of eight weights; the zero points of a row packed into one i32.
    row = tl.program_id(0) * B0 + tl.arange(0, B0)
    col = tl.program_id(1) * B1 + tl.arange(0, B1)
    acc = tl.zeros([B0, B1], dtype=tl.float32)
    for start in range(0, MID, B_MID):
        m = start + tl.arange(0, B_MID)
        group = m // 8
        inside = (row[:, None] < N0) & (m[None, :] < MID)
        scale = tl.load(scale_ptr + row[:, None] * (MID // 8) + group[None, :], mask=inside, other=0.0)
        packed = tl.load(weight_ptr + row[:, None] * (MID // 8) + group[None, :], mask=inside, other=0)
        offsets = tl.load(offset_ptr + row, mask=row < N0, other=0)
        weight = (packed >> ((m % 8) * 4)[None, :]) & 15
        zero = (offsets[:, None] >> (group * 4)[None, :]) & 15
        activation = tl.load(activation_ptr + m[:, None] * N1 + col[None, :], mask=(m[:, None] < MID) & (col[None, :] < N1), other=0.0)
        acc += tl.dot(scale * (weight - zero), activation, input_precision="ieee")
    tl.store(z_ptr + row[:, None] * N1 + col[None, :], acc, mask=(row[:, None] < N0) & (col[None, :] < N1))
