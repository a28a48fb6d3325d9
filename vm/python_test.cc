// Python's own meaning in host programs, beyond torch: statements, modules, exceptions.
#include "absl/strings/match.h"
#include "gtest/gtest.h"
#include "vm/testing.h"

namespace tilevm::vm {
namespace {

TEST(Python, AugmentedAssignmentChangesListsSetsAndDicts) {
  EXPECT_EQ(RunBody(R"py(
a = [1]
b = a
b += [2, 3]
b += (4,)
b += range(5, 7)
assert a == [1, 2, 3, 4, 5, 6] and a is b
b *= 2
assert len(a) == 12
b += b
assert len(a) == 24
b = b + [0]
assert len(a) == 24 and len(b) == 25
s = {1, 2}
t = s
t |= {3}
t -= {1}
t &= {2, 3, 4}
t ^= {4}
assert s == {2, 3, 4}
d = {1: 2}
e = d
e |= {3: 4}
assert d == {1: 2, 3: 4}
u = (1,)
v = u
v += (2,)
assert u == (1,) and v == (1, 2)
w = "a"
w *= 3
assert w == "aaa"
def extend(to):
    to += [7]
extend(a)
assert a[-1] == 7 and len(a) == 25
n = [[0], [0]]
n[0] += [1]
n[1][0] += 5
assert n == [[0, 1], [5]]
class Count:
    total = 0
    def __init__(self):
        self.n = 0
    def __iadd__(self, by):
        self.n += by
        return self
    def __add__(self, by):
        raise ValueError("not this")
c = Count()
k = c
c += 3
c.n += 1
assert k.n == 4 and k is c
Count.total += 2
assert Count.total == 2
class Plain:
    def __init__(self, v):
        self.v = v
    def __add__(self, by):
        return Plain(self.v + by)
p = Plain(1)
q = p
p += 1
assert q.v == 1 and p.v == 2
def counter():
    n = 0
    for i in range(3):
        n += i
    while n < 10:
        n += 4
    return n
assert counter() == 11
)py"),
            "");
  EXPECT_TRUE(absl::StrContains(RunBody("a = [1]\na += 5\n"), "test.py:5:3: error: TypeError: 'int' object is not iterable"));
  EXPECT_TRUE(absl::StrContains(RunBody("a = 1\na += [5]\n"), "TypeError: unsupported operand type(s) for +: 'int' and 'list'"));
}

TEST(Python, ImportsThatFailTakeTheExceptBranch) {
  EXPECT_EQ(RunBody(R"py(
try:
    import apex
    HAS_APEX = True
except ModuleNotFoundError:
    HAS_APEX = False
assert not HAS_APEX
try:
    import numpy as np
except ImportError:
    np = None
assert np is None
try:
    from torch import frobnicate
    found = True
except ImportError as e:
    found = False
    assert "cannot import name 'frobnicate' from 'torch'" in str(e)
assert not found
try:
    import triton.no_such_module
    found = True
except ImportError:
    found = False
assert not found
try:
    import json
    import os.path
    import torch.nn.functional as F2
    from triton.tools.tensor_descriptor import TensorDescriptor
    from triton.language.extra import libdevice
    import triton.language as tl
    from triton.language import make_tensor_descriptor
    found = True
except ImportError:
    found = False
assert found
def inside():
    try:
        import not_there
    except ImportError:
        return 1
    return 0
assert inside() == 1
import never_used_elsewhere
)py"),
            "");
}

TEST(Python, AttributesOfModules) {
  EXPECT_EQ(RunBody(R"py(
import triton.language as tl
assert getattr(torch, "nope", None) is None
assert getattr(torch, "nope", 7) == 7
assert not hasattr(torch, "nope") and hasattr(torch, "zeros") and hasattr(torch, "float16") and hasattr(torch, "nn")
assert hasattr(tl, "make_tensor_descriptor") and hasattr(tl, "float32") and hasattr(tl, "dot") and not hasattr(tl, "nope")
assert hasattr(triton, "jit") and not hasattr(triton, "nope")
assert getattr(torch, "ones")(2).sum() == 2
try:
    torch.bogus and 1
    caught = False
except AttributeError:
    caught = True
assert caught
)py"),
            "");
  EXPECT_TRUE(absl::StrContains(RunBody("if torch.bogus:\n    pass\n"), "test.py:4:4: error: AttributeError: module 'torch' has no attribute 'bogus'"))
      << RunBody("if torch.bogus:\n    pass\n");
  EXPECT_TRUE(absl::StrContains(RunBody("import foo\nif foo.bar:\n    pass\n"), "ModuleNotFoundError: No module named 'foo'"));
  EXPECT_TRUE(absl::StrContains(RunBody("getattr(torch, 'bogus')\n"), "AttributeError: module 'torch' has no attribute 'bogus'"));
}

TEST(Python, TheLibraryThatProgramsLeanOn) {
  EXPECT_EQ(RunBody(R"py(
import os, sys, time, argparse
assert os.path.join("a", "b/", "c") == "a/b/c" and os.path.join("a", "/b") == "/b" and os.path.join("", "b") == "b"
assert os.path.dirname("/a/b.py") == "/a" and os.path.basename("/a/b.py") == "b.py" and os.path.dirname("/b") == "/" and os.path.split("c") == ("", "c")
assert os.path.splitext("a/b.tar.gz") == ("a/b.tar", ".gz") and os.path.splitext(".bashrc") == (".bashrc", "") and os.path.splitext("a.b/c") == ("a.b/c", "")
assert os.path.exists("/") and os.path.isdir("/") and not os.path.isfile("/") and not os.path.exists("/no/such/file")
assert os.path.abspath("/a/../b/./c") == "/b/c"
t = time.perf_counter()
time.sleep(0.001)
assert time.perf_counter() - t >= 0.001
assert time.time() > 1.6e9 and isinstance(time.time_ns(), int)
assert len(sys.argv) == 1
parser = argparse.ArgumentParser(description="x")
parser.add_argument("--rows", "-r", type=int, default=4, help="y")
parser.add_argument("--dry-run", action="store_true")
parser.add_argument("--dtype", choices=["f16", "f32"], default="f32")
parser.add_argument("names", nargs="*")
args = parser.parse_args()
assert args.rows == 4 and args.dry_run is False and args.dtype == "f32"
args = parser.parse_args(["--rows", "7", "--dry-run", "--dtype=f16", "a", "b"])
assert args.rows == 7 and args.dry_run and args.dtype == "f16" and args.names == ["a", "b"]
)py"),
            "");
  EXPECT_TRUE(absl::StrContains(RunBody("import argparse\np = argparse.ArgumentParser()\np.add_argument('n', type=int)\np.parse_args()\n"),
                                "the following arguments are required: n"));
}

TEST(Python, SlicesAsValues) {
  EXPECT_EQ(RunBody(R"py(
s = slice(1, 3)
assert [1, 2, 3, 4][s] == [2, 3] and (s.start, s.stop, s.step) == (1, 3, None) and str(slice(5)) == "slice(None, 5, None)"
assert "abcdef"[slice(None, None, 2)] == "ace" and (1, 2, 3)[slice(1, None)] == (2, 3)
assert slice(None, None, -1).indices(5) == (4, -1, -1) and slice(2, 100).indices(5) == (2, 5, 1) and slice(-3, -1).indices(5) == (2, 4, 1)
assert isinstance(s, slice) and not isinstance([], slice) and s == slice(1, 3) and s != slice(1, 4)
x = torch.arange(10)
assert x[slice(2, 5)].tolist() == [2, 3, 4] and x.view(2, 5)[:, slice(1, 3)].tolist() == [[1, 2], [6, 7]]
index = [slice(None)] * 2
index[1] = slice(0, 2)
assert x.view(2, 5)[tuple(index)].tolist() == [[0, 1], [5, 6]]
l = [1, 2, 3]
l[slice(0, 2)] = [9]
assert l == [9, 3]
for bad in (lambda: slice(), lambda: slice(1, 2, 3, 4), lambda: slice(1, 2, 0).indices(3), lambda: s.nope):
    try:
        bad()
        failed = False
    except (TypeError, ValueError, AttributeError):
        failed = True
    assert failed
)py"),
            "");
}

TEST(Python, ExitEndsTheProgram) {
  EXPECT_EQ(RunBody("import sys\nprint('a')\nsys.exit()\nprint('b')\n"), "");
  EXPECT_EQ(printed, "a\n");
  EXPECT_EQ(RunBody("import sys\nsys.exit(0)\nassert False\n"), "");
  EXPECT_EQ(RunBody("raise SystemExit\n"), "");
  EXPECT_TRUE(absl::StrContains(RunBody("import sys\nsys.exit(3)\n"), "test.py:5:1: error: SystemExit: 3"));
  EXPECT_EQ(RunBody("import sys\ntry:\n    sys.exit(3)\nexcept Exception:\n    assert False\nexcept SystemExit as e:\n    print('caught', e)\n"), "");
  EXPECT_EQ(printed, "caught 3\n");
}

TEST(Python, NumbersThatADTypeDoesNotHold) {
  EXPECT_TRUE(absl::StrContains(RunBody("torch.tensor([1, 300], dtype=torch.int8)\n"),
                                "test.py:4:1: error: RuntimeError: value cannot be converted to type int8_t without overflow (it is 300)"));
  EXPECT_TRUE(absl::StrContains(RunBody("torch.full((2,), 2**31, dtype=torch.int32)\n"), "value cannot be converted to type int without overflow"));
  EXPECT_TRUE(absl::StrContains(RunBody("torch.tensor(2**63)\n"), "value cannot be converted to type int64_t without overflow"));
  EXPECT_TRUE(absl::StrContains(RunBody("torch.full((2,), 1e6, dtype=torch.float16)\n"), "value cannot be converted to type at::Half without overflow"));
  EXPECT_TRUE(absl::StrContains(RunBody("torch.full((2,), float('nan'), dtype=torch.int32)\n"), "value cannot be converted to type int without overflow"));
  EXPECT_TRUE(absl::StrContains(RunBody("x = torch.zeros(2, dtype=torch.uint8)\nx[0] = 256\n"), "value cannot be converted to type uint8_t without overflow"));
  EXPECT_TRUE(absl::StrContains(RunBody("torch.ones(3).expand(-2)\n"), "the expanded size (-2) of dimension 0 isn't allowed"));
  EXPECT_TRUE(
      absl::StrContains(RunBody("torch.ones(3).expand(-1, 3)\n"), "the expanded size (-1) of dimension 0, which the tensor does not have, isn't allowed"));
  EXPECT_EQ(RunBody(R"py(
assert torch.tensor([-128, 127], dtype=torch.int8).tolist() == [-128, 127]
assert torch.full((2,), -1, dtype=torch.uint8).tolist() == [255, 255]
assert torch.full((1,), 2**64 - 1, dtype=torch.uint64).dtype == torch.uint64
assert torch.tensor([float('inf')], dtype=torch.float16).isinf().all()
assert torch.tensor([2**70], dtype=torch.float64).tolist() == [2.0**70]
assert torch.full((2,), 1.75, dtype=torch.int32).tolist() == [1, 1]
assert torch.ones(3, 1).expand(-1, 4).shape == (3, 4)
)py"),
            "");
}

TEST(Python, TypesAndShapesPrintAsTorchPrintsThem) {
  EXPECT_EQ(RunBody(R"py(
import triton.language as tl
x = torch.ones(2, 3, dtype=torch.bfloat16)
print(x.dtype, torch.bool, torch.int64, torch.float8_e4m3fn)
print(x.shape, x.size(), x.shape[1:], x.stride(), f"{x.shape} {x.dtype}")
print(tl.float32, [torch.float16])
assert x.dtype == torch.bfloat16 and x.shape == (2, 3) and isinstance(x.shape, torch.Size) and isinstance(x.shape, tuple)
m, n = x.shape
assert {torch.float16: 1}[torch.float16] == 1 and str(x.dtype).split(".")[-1] == "bfloat16"
assert torch.zeros(x.shape).shape == x.shape and x.shape + (1,) == (2, 3, 1)
)py"),
            "");
  EXPECT_EQ(printed,
            "torch.bfloat16 torch.bool torch.int64 torch.float8_e4m3fn\n"
            "torch.Size([2, 3]) torch.Size([2, 3]) torch.Size([3]) (3, 1) torch.Size([2, 3]) torch.bfloat16\n"
            "fp32 [torch.float16]\n");
}

TEST(Python, GeneratorsSuperAndDefaultdict) {
  EXPECT_EQ(RunBody(R"py(
from collections import defaultdict
def squares(n):
    for i in range(n):
        if i == 3:
            return
        yield i * i
def both():
    yield "a"
    yield from squares(10)
    yield
assert list(squares(2)) == [0, 1] and list(both()) == ["a", 0, 1, 4, None]
assert [x + 1 for x in squares(3)] == [1, 2, 5] and next(squares(1)) == 0 and sum(squares(9)) == 5
d = defaultdict(list)
d["a"].append(1)
d["a"].append(2)
d["b"] += [3]
assert d == {"a": [1, 2], "b": [3]} and "c" not in d and d.get("c") is None
n = defaultdict(int)
for c in "abca":
    n[c] += 1
assert n["a"] == 2
class Base:
    def __init__(self, x):
        self.x = x
    def name(self):
        return "base"
    @property
    def twice(self):
        return 2 * self.x
class Derived(Base):
    def __init__(self, x, y):
        super().__init__(x)
        self.y = y
    def name(self):
        return "derived " + super().name()
    @property
    def twice(self):
        return super().twice + 1
e = Derived(1, 2)
assert e.x == 1 and e.y == 2 and e.name() == "derived base" and e.twice == 3
class Layer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.n = 4
assert Layer().n == 4
class MyError(ValueError):
    def __init__(self, message, code):
        super().__init__(message)
        self.code = code
try:
    raise MyError("bad", 7)
except ValueError as err:
    assert str(err) == "bad" and err.code == 7
)py"),
            "");
}

TEST(Python, NestedFunctionsShareNames) {
  EXPECT_EQ(RunBody(R"py(
def loops():
    fs = []
    for i in range(3):
        fs.append(lambda: i)
    gs = [(lambda k=i: k) for i in range(3)]
    return [f() for f in fs], [g() for g in gs]
assert loops() == ([2, 2, 2], [0, 1, 2])
def later():
    f = lambda: n + 1
    n = 1
    a = f()
    n = 10
    return a, f()
assert later() == (2, 11)
def counter(start):
    n = start
    def up(by=1):
        nonlocal n
        n += by
        return n
    def value():
        return n
    up()
    up(by=5)
    return value(), n
assert counter(1) == (7, 7)
def recursive(n):
    def fact(k):
        return 1 if k < 2 else k * fact(k - 1)
    return fact(n)
assert recursive(5) == 120
def deep():
    x = 0
    def middle():
        def inner():
            nonlocal x
            x += 1
        inner()
        inner()
    middle()
    return x
assert deep() == 2
def branches(flag):
    if flag:
        size = 4
    f = lambda: size
    while size < 10:
        size += 3
    return f()
assert branches(True) == 10
try:
    branches(False)
    named = False
except NameError as e:
    named = "'size'" in str(e)
assert named
def parameter(x):
    f = lambda: x
    x = x + 1
    return f()
assert parameter(3) == 4
def sizes():
    out = []
    for n in (10, 20):
        grid = lambda meta: (triton.cdiv(n, meta["B"]),)
        out.append(grid({"B": 4}))
    return out
assert sizes() == [(3,), (5,)]
)py"),
            "");
}

TEST(Python, GeneratorsRunAsFarAsTheyAreAsked) {
  EXPECT_EQ(RunBody(R"py(
from contextlib import contextmanager
log = []
def count(start):
    n = start
    try:
        while True:
            log.append(n)
            yield n
            n += 1
    finally:
        log.append("end")
for i in count(3):
    if i == 5:
        break
assert log == [3, 4, 5, "end"], log
g = count(0)
assert next(g) == 0 and next(g) == 1
h = count(10)
assert next(h) == 10 and next(g) == 2 and next(h) == 11
g.close()
assert log[-1] == "end" and next(g, None) is None
assert [a + b for a, b in zip([1, 2], (x * x for x in [3, 4]))] == [10, 18]
def outer():
    yield from inner()
    yield "last"
def inner():
    for i in range(2):
        yield i
assert list(outer()) == [0, 1, "last"]
def fails():
    yield 1
    raise ValueError("in the body")
got = []
try:
    for v in fails():
        got.append(v)
except ValueError as e:
    got.append(str(e))
assert got == [1, "in the body"]
@contextmanager
def opened(name):
    log.append("open " + name)
    try:
        yield name.upper()
    finally:
        log.append("close " + name)
with opened("a") as a:
    log.append(a)
assert log[-3:] == ["open a", "A", "close a"]
try:
    with opened("b"):
        raise ValueError("x")
except ValueError as e:
    assert str(e) == "x"
assert log[-1] == "close b"
def depth(n):
    if n:
        yield from depth(n - 1)
    yield n
assert list(depth(20))[-1] == 20
left = count(7)
assert next(left) == 7
class Tree:
    def __init__(self, items):
        self.items = items
    def walk(self):
        for i in self.items:
            yield i
assert [x for x in Tree([1, 2]).walk()] == [1, 2] and sum(Tree([3, 4]).walk()) == 7
)py"),
            "");
  EXPECT_TRUE(absl::StrContains(RunBody("def f():\n    while True:\n        yield 1\nlist(f())\n"),
                                "MemoryError: a generator is spelled out; the limit is 65536 items"));
  EXPECT_TRUE(absl::StrContains(RunBody("def f():\n    yield 1\n    raise ValueError('x')\nlist(f())\n"), "test.py:6:5: error: ValueError: x"));
  EXPECT_TRUE(absl::StrContains(RunBody("def f():\n    yield 1\ngs = [f() for i in range(300)]\nvs = [next(g) for g in gs]\n"),
                                "more than 256 generators wait at once"));
}

// Each raise of an exception that holds exceptions costs the same.
TEST(Python, ChainsOfExceptionsAreLinear) {
  EXPECT_EQ(RunBody(R"py(
e = ValueError("first")
for i in range(20000):
    try:
        raise ValueError(e)
    except ValueError as x:
        e = x
assert str(e) == "first"
)py"),
            "");
}

// --- kernels seen from the host ---

constexpr absl::string_view kScale = R"py(
import triton.language as tl
@triton.jit
def scale(x, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x + i, tl.load(x + i, mask=i < n) * FACTOR, mask=i < n)
)py";

TEST(Launch, GivesAHandle) {
  EXPECT_EQ(RunBody(absl::StrCat("import triton.language as tl\nFACTOR = tl.constexpr(2)\n", kScale, R"py(
x = torch.ones(100)
h = scale[(4,)](x, 100, BLOCK=32, num_warps=8)
assert h.metadata.num_warps == 8 and h.metadata.num_stages == 3 and h.metadata.name == "scale" and h.metadata.shared >= 0
assert h.n_regs > 0 and h.n_spills == 0 and "ptx" in h.asm.keys() and h.asm.get("ptx") is None
h[(4,)](x, 100, BLOCK=32)
assert x.tolist() == [4.0] * 100
)py")),
            "");
  EXPECT_TRUE(absl::StrContains(RunBody(absl::StrCat("import triton.language as tl\nFACTOR = tl.constexpr(2)\n", kScale,
                                                     "x = torch.ones(4)\nprint(scale[(1,)](x, 4, BLOCK=4).asm['ptx'])\n")),
                                "asm['ptx']: the CPU engine makes no such text"));
}

TEST(Launch, AutotunedKernelsTellTheirChoice) {
  EXPECT_EQ(RunBody(R"py(
import triton.language as tl
@triton.autotune(configs=[triton.Config({'BLOCK': 32}, num_warps=2), triton.Config({'BLOCK': 64})], key=['n'])
@triton.jit
def fill(x, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x + i, BLOCK, mask=i < n)
try:
    fill.best_config
    early = True
except AttributeError:
    early = False
assert not early and len(fill.cache) == 0
x = torch.zeros(100)
fill[lambda meta: (triton.cdiv(100, meta['BLOCK']),)](x, 100)
assert fill.best_config.kwargs['BLOCK'] == 32 and fill.best_config.num_warps == 2
assert len(fill.configs) == 2 and len(fill.cache) == 1
fill[(4,)](x, 90)
assert len(fill.cache) == 2
)py"),
            "");
}

// Issue C081 inside one program: an edited constexpr, and an edited helper, are another kernel.
TEST(Launch, SeesEditedGlobals) {
  EXPECT_EQ(RunBody(absl::StrCat("import triton.language as tl\nFACTOR = tl.constexpr(2)\n", kScale, R"py(
x = torch.ones(4)
scale[(1,)](x, 4, BLOCK=4)
assert x.tolist() == [2.0] * 4
FACTOR = tl.constexpr(5)
scale[(1,)](x, 4, BLOCK=4)
assert x.tolist() == [10.0] * 4
FACTOR = tl.constexpr(2)
scale[(1,)](x, 4, BLOCK=4)
assert x.tolist() == [20.0] * 4
@triton.jit
def change(v):
    return v + 1
@triton.jit
def apply(x):
    tl.store(x, change(tl.load(x)))
y = torch.zeros(1)
apply[(1,)](y)
@triton.jit
def change(v):
    return v * 10
apply[(1,)](y)
assert y.item() == 10.0
)py")),
            "");
}

TEST(Launch, AnEmptyGridIsNoLaunch) {
  EXPECT_EQ(RunBody(absl::StrCat("import triton.language as tl\nFACTOR = tl.constexpr(2)\n", kScale, R"py(
x = torch.ones(4)
h = scale[(0,)](x, 4, BLOCK=4)
assert x.tolist() == [1.0] * 4 and h.metadata.name == "scale"
)py")),
            "");
  EXPECT_TRUE(
      absl::StrContains(RunBody(absl::StrCat("import triton.language as tl\nFACTOR = tl.constexpr(2)\n", kScale, "scale[(-1,)](torch.ones(4), 4, BLOCK=4)\n")),
                        "scale: grid extent of axis 0 is -1; it cannot be negative"));
}

TEST(Launch, PlainFunctionsAreNotForKernels) {
  const absl::string_view body = R"py(
import triton.language as tl
def twice(n):
    return 2 * n
@triton.jit
def k(x, N: tl.constexpr):
    tl.store(x, twice(N))
k[(1,)](torch.zeros(1), 3)
)py";
  EXPECT_TRUE(absl::StrContains(RunBody(body), "test.py:10:17: error: 'twice' is a plain Python function; a kernel calls functions under @triton.jit"))
      << RunBody(body);
  EXPECT_EQ(RunBody(R"py(
import triton.language as tl
@triton.constexpr_function
def twice(n):
    return helper(n)
def helper(n):
    return 2 * n
@tl.constexpr
def thrice(n):
    return 3 * n
@triton.jit
def k(x, N: tl.constexpr):
    tl.store(x, twice(N) + thrice(N))
x = torch.zeros(1)
k[(1,)](x, 3)
assert x.item() == 15.0
)py"),
            "");
}

}  // namespace
}  // namespace tilevm::vm
