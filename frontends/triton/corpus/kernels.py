import triton
import triton.language as tl
from triton.language.extra import libdevice as ld
X: tl.constexpr = tl.constexpr(1)
@triton.jit
def k(p, n, B: tl.constexpr = 4):
    acc = tl.zeros((B,), tl.float32); m: tl.constexpr = B * 2
    for i in tl.range(0, tl.cdiv(n, B), num_stages=2):
        x = tl.load(p + i * B + tl.arange(0, B), mask=None, other=0.)
        if i == 0 and not X or n > 1 < 2:
            acc, y = x, (x if B else ld.tanh(x))
        elif i: return
        else: continue
        acc += y[None, :].to(tl.int32)
    while n > 0:
        n -= 1
        if n: break
    else: tl.store(p, tl.sum(acc, axis=0), *[1], **{})
def host(x):
    global G
    grid = lambda meta, *a, k=x, **kw: (meta[f"{k!r:>{x}}"], {a: b for a, b in x if a for c in b})
    k[grid](x, B=1); G = x
    try:
        with x as y, x: del y
    except (A, B) as e: x.a[1:] //= e
    except: raise
    else: z = (w := x)
    finally: x = [i for i in range(3)]
    def inner(): nonlocal x; return x, z
    class C(A):
        a: int = 1
        def f(self): return a, x
    return C
