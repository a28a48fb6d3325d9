"""Layer normalization with its gradients: y = (x - mean) / sqrt(var + eps) * weight + bias, row by row.

The gradients of weight and bias are sums over all rows. Each row adds its part to one of PARTIALS rows of partial sums, under a lock, and a second
kernel adds those up. Run it with `tilevm run examples/layer_norm.py`; it checks itself against torch.
"""
import torch
import triton
import triton.language as tl


@triton.jit
def layer_norm_forward(x_ptr, y_ptr, weight_ptr, bias_ptr, mean_ptr, rstd_ptr, row_stride, n_cols, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    x_ptr += row * row_stride
    y_ptr += row * row_stride
    # Two passes over the row: the variance of differences from the mean loses nothing where the mean is large.
    total = tl.zeros((BLOCK,), dtype=tl.float32)
    for start in range(0, n_cols, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        total += tl.load(x_ptr + cols, mask=cols < n_cols, other=0.0).to(tl.float32)
    mean = tl.sum(total, axis=0) / n_cols
    squares = tl.zeros((BLOCK,), dtype=tl.float32)
    for start in range(0, n_cols, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + cols, mask=cols < n_cols, other=0.0).to(tl.float32)
        centred = tl.where(cols < n_cols, x - mean, 0.0)
        squares += centred * centred
    rstd = 1.0 / tl.sqrt(tl.sum(squares, axis=0) / n_cols + eps)
    tl.store(mean_ptr + row, mean)
    tl.store(rstd_ptr + row, rstd)
    for start in range(0, n_cols, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        inside = cols < n_cols
        x = tl.load(x_ptr + cols, mask=inside, other=0.0).to(tl.float32)
        weight = tl.load(weight_ptr + cols, mask=inside, other=0.0)
        bias = tl.load(bias_ptr + cols, mask=inside, other=0.0)
        tl.store(y_ptr + cols, (x - mean) * rstd * weight + bias, mask=inside)


@triton.jit
def layer_norm_backward(dx_ptr, dy_ptr, partial_dweight_ptr, partial_dbias_ptr, x_ptr, weight_ptr, mean_ptr, rstd_ptr, lock_ptr, row_stride, n_cols,
                        PARTIALS: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    inside = cols < n_cols
    x = tl.load(x_ptr + row * row_stride + cols, mask=inside, other=0.0).to(tl.float32)
    dy = tl.load(dy_ptr + row * row_stride + cols, mask=inside, other=0.0).to(tl.float32)
    weight = tl.load(weight_ptr + cols, mask=inside, other=0.0).to(tl.float32)
    mean = tl.load(mean_ptr + row)
    rstd = tl.load(rstd_ptr + row)
    # dx is what is left of weight * dy without its mean and without its part along the normalized row.
    normalized = tl.where(inside, (x - mean) * rstd, 0.0)
    scaled = weight * dy
    along = tl.sum(normalized * scaled, axis=0) / n_cols
    average = tl.sum(scaled, axis=0) / n_cols
    tl.store(dx_ptr + row * row_stride + cols, (scaled - normalized * along - average) * rstd, mask=inside)
    # One writer at a time for each row of partial sums; the first one finds them unset.
    slot = row % PARTIALS
    lock = lock_ptr + slot
    used = lock + PARTIALS
    dweight = dy * normalized
    dbias = dy
    sums = slot * n_cols + cols
    while tl.atomic_cas(lock, 0, 1) == 1:
        pass
    if tl.load(used) == 0:
        tl.atomic_xchg(used, 1)
    else:
        dweight += tl.load(partial_dweight_ptr + sums, mask=inside, other=0.0)
        dbias += tl.load(partial_dbias_ptr + sums, mask=inside, other=0.0)
    tl.store(partial_dweight_ptr + sums, dweight, mask=inside)
    tl.store(partial_dbias_ptr + sums, dbias, mask=inside)
    tl.debug_barrier()  # every store is done before the lock is open again
    tl.atomic_xchg(lock, 0)


@triton.jit
def sum_partials(partial_dweight_ptr, partial_dbias_ptr, dweight_ptr, dbias_ptr, n_partials, n_cols, ROWS: tl.constexpr, COLS: tl.constexpr):
    cols = tl.program_id(0) * COLS + tl.arange(0, COLS)
    dweight = tl.zeros((ROWS, COLS), dtype=tl.float32)
    dbias = tl.zeros((ROWS, COLS), dtype=tl.float32)
    for start in range(0, n_partials, ROWS):
        rows = start + tl.arange(0, ROWS)
        inside = (rows[:, None] < n_partials) & (cols[None, :] < n_cols)
        offsets = rows[:, None] * n_cols + cols[None, :]
        dweight += tl.load(partial_dweight_ptr + offsets, mask=inside, other=0.0)
        dbias += tl.load(partial_dbias_ptr + offsets, mask=inside, other=0.0)
    tl.store(dweight_ptr + cols, tl.sum(dweight, axis=0), mask=cols < n_cols)
    tl.store(dbias_ptr + cols, tl.sum(dbias, axis=0), mask=cols < n_cols)


def forward(x, weight, bias, eps=1e-5):
    rows, cols = x.shape
    y = torch.empty_like(x)
    mean = torch.empty((rows,), dtype=torch.float32, device=x.device)
    rstd = torch.empty((rows,), dtype=torch.float32, device=x.device)
    block = min(triton.next_power_of_2(cols), 1024)
    layer_norm_forward[(rows,)](x, y, weight, bias, mean, rstd, x.stride(0), cols, eps, BLOCK=block)
    return y, mean, rstd


def backward(dy, x, weight, mean, rstd, partials=16):
    rows, cols = x.shape
    dx = torch.empty_like(x)
    locks = torch.zeros(2 * partials, dtype=torch.int32, device=x.device)
    # Unset on purpose: the first row of each slot writes without reading.
    partial_dweight = torch.empty((partials, cols), dtype=torch.float32, device=x.device)
    partial_dbias = torch.empty((partials, cols), dtype=torch.float32, device=x.device)
    layer_norm_backward[(rows,)](dx, dy, partial_dweight, partial_dbias, x, weight, mean, rstd, locks, x.stride(0), cols, PARTIALS=partials,
                                 BLOCK=triton.next_power_of_2(cols))
    dweight, dbias = torch.empty_like(weight), torch.empty_like(weight)
    sum_partials[lambda meta: (triton.cdiv(cols, meta["COLS"]),)](partial_dweight, partial_dbias, dweight, dbias, min(partials, rows), cols, ROWS=8, COLS=128)
    return dx, dweight, dbias


def reference_backward(dy, x, weight, eps=1e-5):
    x, dy, weight = x.double(), dy.double(), weight.double()
    centred = x - x.mean(dim=1, keepdim=True)
    rstd = torch.rsqrt((centred * centred).mean(dim=1, keepdim=True) + eps)
    normalized = centred * rstd
    scaled = dy * weight
    dx = (scaled - normalized * (scaled * normalized).mean(dim=1, keepdim=True) - scaled.mean(dim=1, keepdim=True)) * rstd
    return dx, (dy * normalized).sum(dim=0), dy.sum(dim=0)


def check(rows, cols, dtype=torch.float32):
    x = -2.3 + 0.5 * torch.randn(rows, cols, device="cuda", dtype=dtype)
    weight, bias = torch.rand(cols, device="cuda", dtype=dtype), torch.rand(cols, device="cuda", dtype=dtype)
    dy = 0.1 * torch.randn(rows, cols, device="cuda", dtype=dtype)
    y, mean, rstd = forward(x, weight, bias)
    bound = 1e-2 if dtype == torch.float16 else 1e-4
    torch.testing.assert_close(y, torch.nn.functional.layer_norm(x, (cols,), weight, bias, 1e-5), atol=bound, rtol=0)
    dx, dweight, dbias = backward(dy, x, weight, mean, rstd)
    for got, wanted in zip((dx, dweight, dbias), reference_backward(dy, x, weight)):
        torch.testing.assert_close(got.double(), wanted, atol=bound, rtol=0)


if __name__ == "__main__":
    torch.manual_seed(0)
    check(151, 200)
    check(40, 1024)
    check(33, 65, dtype=torch.float16)
    print("layer_norm: forward and backward agree with torch")
