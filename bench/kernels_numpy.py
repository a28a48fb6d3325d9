"""Rows of bench/kernels_bench.cc for numpy: one thread, processor time. Run with OPENBLAS_NUM_THREADS=1 and a numpy built on OpenBLAS."""
import time

import numpy as np


def seconds(run):
    run()
    best = 1e9
    for _ in range(7):
        runs = 1
        while True:
            start = time.thread_time()
            for _ in range(runs):
                run()
            elapsed = time.thread_time() - start
            if elapsed > 0.005:
                break
            runs *= 4
        best = min(best, elapsed / runs)
    return best


def main():
    for n in (1024, 1 << 20):
        x = np.random.rand(n).astype(np.float32) + np.float32(0.5)
        out = np.empty_like(x)
        half = x.astype(np.float16)
        rows = {
            "add f32": lambda: np.add(x, x, out=out),
            "truediv f32": lambda: np.divide(x, x, out=out),
            "maximum f32": lambda: np.maximum(x, x, out=out),
            "sqrt f32": lambda: np.sqrt(x, out=out),
            "exp f32": lambda: np.exp(x, out=out),
            "log f32": lambda: np.log(x, out=out),
            "tanh f32": lambda: np.tanh(x, out=out),
            "sin f32": lambda: np.sin(x, out=out),
            "cast f16 f32": lambda: half.astype(np.float32),
            "cast f32 f16": lambda: x.astype(np.float16),
            "sum f32": x.sum,
            "max f32": x.max,
        }
        for name, run in rows.items():
            print(f"{name:28} n={n:<8} {seconds(run) / n * 1e9:28.3f} ns/elem")
    for size in (64, 128, 1024):
        for dtype in (np.float32, np.float64):
            a = np.random.rand(size, size).astype(dtype)
            b = np.random.rand(size, size).astype(dtype)
            out = np.empty((size, size), dtype)
            rate = 2e-9 * size**3 / seconds(lambda: np.dot(a, b, out=out))
            print(f"dot {dtype.__name__:24} {size:4}^3      {rate:8.2f} GFLOP/s")


if __name__ == "__main__":
    main()
