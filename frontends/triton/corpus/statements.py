import triton, triton.language as tl
from . import (a as b, c)
@triton.autotune(configs=[triton.Config({'B': 2 ** i}, num_warps=w) for i in range(3) if i for w in (1, 2)], key=["n"])
@triton.jit
def f(x, /, n: tl.int64 = 1, *args, B: tl.constexpr, **kwargs) -> None:
    """doc"""
    y = tl.load(x + tl.arange(0, B)[:, None], mask=x[..., None] < n, other=-1.5e-3)
    for i, (j, *k) in enumerate(range(0, n, -1)):
        if (z := y) is not None and not i == 0x_ff or k in {1, *j}:
            continue
        elif z: break
        else:
            y **= 1 if z else ~2; del k[0]
    while True: return lambda a, b=1: (yield)
try:
    with (open(f"{a!r:>{w}}{b = }{{}}") as g, h): assert a, rb'\x00' b"c"
except* (A, B) as e:
    raise C from e
finally:
    async def g(): return [await x async for x in {**d, 'k': 1}]
match x:
    case 1: pass
class A(B, m=C):
	x: int = ...; y = 1_0.5j
