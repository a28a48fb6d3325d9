// Host programs that go to the ends of what a value may be: deep, long, lazy, hashed, copied. Each once crashed, hung or meant something else.
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "vm/testing.h"

namespace tilevm::vm {
namespace {

bool Fails(absl::string_view body, absl::string_view message) {
  const std::string text = RunBody(body);
  if (absl::StrContains(text, message)) return true;
  ADD_FAILURE() << "wanted: " << message << "\ngot: " << text;
  return false;
}

// --- nesting without end ---

TEST(Deep, ValuesAreTakenApartWithoutRecursion) {
  EXPECT_EQ(RunBody(R"py(
import functools
def wrap(g):
    return lambda: g
class Node:
    def __init__(self, next):
        self.next = next
    def method(self):
        return 1
f = lambda: 0
p = print
t = ()
l = []
d = {}
n = None
m = None
z = iter([])
e = ValueError(0)
for i in range(30000):
    f = wrap(f)
    p = functools.partial(p, i)
    t = (t,)
    l = [l]
    d = {1: d}
    n = Node(n)
    m = Node(m).method
    z = map(str, z)
    e = ValueError(e)
a = []
a.append(a)
b = {}
b[0] = b
f = p = t = l = d = n = m = z = e = None
)py"),
            "");
}

TEST(Deep, WalksOverDeepValuesEndInAnError) {
  // Each walk is a program of its own: an error of this kind cannot be caught.
  const std::string deep =
      "t = u = ()\nl = k = []\nd = c = {}\nfor i in range(40000):\n    t, u, l, k, d, c = (t,), (u,), [l], [k], {1: d}, {1: c}\nimport copy\n";
  for (absl::string_view walk :
       {"t == u", "d == c", "l < k", "{t: 1}", "{t}", "f'{d}'", "isinstance(1, t)", "'%s' % (l,)", "copy.deepcopy(l)", "t in [u]", "'{}'.format(l)"}) {
    Fails(absl::StrCat(deep, walk, "\n"), "RecursionError: the program nests too deeply");
  }
  Fails("class A:\n    def __init__(self, n):\n        self.n = n\na = None\nfor i in range(40000):\n    a = A(a)\nrepr(a)\n", "RecursionError");
  Fails("import functools\nf = print\nfor i in range(40000):\n    f = functools.partial(f)\nf(1)\n", "RecursionError");
  Fails("f = [1]\nfor i in range(40000):\n    f = map(str, f)\nnext(f)\n", "RecursionError");
  Fails("class A:\n    pass\nfor i in range(1000):\n    class A(A):\n        pass\n", "RecursionError: class 'A' has more than 200 classes above it");
  EXPECT_EQ(RunBody(R"py(
x = [[[[[[[[[[[[1, (2,), {3: {4}}]]]]]]]]]]]]
assert repr(x) == "[[[[[[[[[[[[1, (2,), {3: {4}}]]]]]]]]]]]]"
a = [1]
a.append(a)
assert repr(a) == "[1, [...]]"
b = {}
b["b"] = b
assert repr(b) == "{'b': {...}}"
import copy
c = copy.deepcopy(a)
assert c is not a and c[1] is c
s = []
for i in range(60):
    s = [s, s]
assert len(copy.deepcopy(s)) == 2
class Point:
    def __repr__(self):
        return "point"
assert repr([Point(), {1: Point()}]) == "[point, {1: point}]" and str((Point(),)) == "(point,)"
)py"),
            "");
}

TEST(Deep, LongChainsOfSourceWork) {
  std::string chain = "x = 1", text = "y = 'a'", both = "z = 1", elifs = "def f(n):\n    if n == 0:\n        return 0\n",
              top = "n = 299\nif n == 0:\n    r = 0\n";
  for (int i = 1; i < 3000; ++i) absl::StrAppend(&chain, " + 1"), absl::StrAppend(&text, " + 'a'"), absl::StrAppend(&both, " * 3 % 7 - 1");
  for (int i = 1; i < 300; ++i) {
    absl::StrAppend(&elifs, "    elif n == ", i, ":\n        return ", i, "\n");
    absl::StrAppend(&top, "elif n == ", i, ":\n    r = ", i, "\n");
  }
  EXPECT_EQ(RunBody(absl::StrCat(chain, "\nassert x == 3000\n", text, "\nassert len(y) == 3000\n", both, "\n", elifs,
                                 "assert f(299) == 299 and f(300) is None\n", top, "assert r == 299\n")),
            "");
  std::string kernel = "import triton.language as tl\n@triton.jit\ndef k(x, N: tl.constexpr):\n    v = tl.load(x)\n    if N == 0:\n        v += 0\n";
  for (int i = 1; i < 200; ++i) absl::StrAppend(&kernel, "    elif N == ", i, ":\n        v += ", i, "\n");
  EXPECT_EQ(RunBody(absl::StrCat(kernel, "    tl.store(x, v)\nx = torch.zeros(1)\nk[(1,)](x, 199)\nassert x.item() == 199\n")), "");
}

// --- caps ---

TEST(Caps, WhatGrowsWithoutEndIsStopped) {
  Fails("s = 'a'\nwhile True:\n    s = s.replace('a', 'a' * 4096)\n", "MemoryError: a string of more than");
  Fails("s = 'a'\nwhile True:\n    s = s.join([s, s, s])\n", "MemoryError: a string of more than");
  Fails("s = 'a'\nwhile True:\n    s = f'{s}{s}'\n", "MemoryError: a string of more than");
  Fails("s = 'a'\nwhile True:\n    s = '%s%s' % (s, s)\n", "MemoryError: a string of more than");
  Fails("s = 'a'\nwhile True:\n    s = '{0}{0}'.format(s)\n", "MemoryError: a string of more than");
  Fails("'a' * (1 << 40)\n", "MemoryError");
  Fails("[0] * (1 << 40)\n", "MemoryError");
  Fails("f'{1:99999999}'\n", "ValueError: a width or precision above");
  Fails("'%99999999d' % 1\n", "ValueError: a width or precision above");
  Fails("'a'.ljust(99999999)\n", "MemoryError: a string of more than");
  Fails("import itertools\nlist(itertools.count())\n", "MemoryError: a itertools.count is spelled out");
  constexpr int64_t kCap = int64_t{1} << 24;
  for (absl::string_view body :
       {"l = []\nwhile True:\n    l.append(1)\n", "l = []\nwhile True:\n    l.append([0] * 10000)\n", "d = {}\nwhile True:\n    d[len(d)] = 'a' * 10000\n",
        "class A:\n    pass\na = None\nwhile True:\n    b = A()\n    b.next = a\n    a = b\n", "f = None\nwhile True:\n    f = lambda f=f: f\n",
        "l = [1]\nwhile True:\n    l += l\n", "l = [1]\nfor x in l:\n    l.append(x)\n", "s = set()\nwhile True:\n    s.add(len(s))\n"}) {
    EXPECT_TRUE(absl::StrContains(RunBody(body, false, kCap), "MemoryError: ")) << body;
  }
  EXPECT_EQ(RunBody("for i in range(100):\n    x = [0] * 100000\n    y = {i: x}\n", false, kCap), "");  // what is let go does not count
}

TEST(Caps, TensorsHaveABoundOfTheirOwn) {
  constexpr int64_t kCap = int64_t{1} << 24;
  for (absl::string_view body : {"x = torch.empty(5000000)\n", "l = []\nwhile True:\n    l.append(torch.zeros(1000))\n",
                                 "x = torch.ones(1000)\nwhile True:\n    x = torch.cat([x, x])\n", "x = torch.ones(2000000)\ny = x + 1\nz = x * y\n",
                                 "x = torch.ones(2000, 1)\nx.expand(2000, 4000).contiguous()\n"}) {
    EXPECT_TRUE(absl::StrContains(RunBody(body, false, 0, kCap), "bytes the program's tensors take more than 16 MiB")) << body << RunBody(body, false, 0, kCap);
  }
  // What is let go does not count, and views share.
  EXPECT_EQ(RunBody(R"py(
for i in range(20):
    x = torch.zeros(1000000)
views = [x[i:] for i in range(1000)]
del x, views
y = torch.zeros(1 << 21)
z = torch.zeros(1 << 20)
)py",
                    false, 0, kCap),
            "");
}

TEST(Caps, ListsGrowAndShrinkAtBothEnds) {
  EXPECT_EQ(RunBody(R"py(
n = 100000
a = []
for i in range(n):
    a.insert(0, i)
assert len(a) == n and a[0] == n - 1 and a[-1] == 0 and a[1000] == n - 1001
total = 0
while a:
    total += a.pop(0)
assert total == n * (n - 1) // 2
queue = [0]
for i in range(n):
    queue.append(queue.pop(0) + 1)
assert queue == [n]
del queue[0]
assert queue == []
)py"),
            "");
  // Against a plain model: a list rebuilt by slices.
  EXPECT_EQ(RunBody(R"py(
seed = 1
def draw(n):
    global seed
    seed = (seed * 1103515245 + 12345) % (1 << 31)
    return (seed >> 8) % n
a, b = [], []
for step in range(3000):
    kind = draw(7)
    at = draw(len(b) + 1)
    if kind <= 2 or not b:
        a.insert(at, step)
        b = b[:at] + [step] + b[at:]
    elif kind == 3:
        at = at % len(b)
        assert a.pop(at) == b[at]
        b = b[:at] + b[at + 1:]
    elif kind == 4:
        a.append(step)
        b = b + [step]
    elif kind == 5:
        to = min(len(b), at + draw(4))
        new = [step] * draw(4)
        a[at:to] = new
        b = b[:at] + new + b[to:]
    else:
        to = min(len(b), at + draw(3))
        del a[at:to]
        b = b[:at] + b[to:]
    assert a == b
assert len(a) > 100 and sorted(a) == sorted(b) and a[::-1] == b[::-1] and a * 2 == b + b
)py"),
            "");
}

TEST(Caps, DictsAndSetsAreHashed) {
  EXPECT_EQ(RunBody(R"py(
d = {}
s = set()
for i in range(50000):
    d[i] = i
    s.add((i, str(i)))
assert len(d) == 50000 and len(s) == 50000 and d[49999] == 49999 and (7, "7") in s and (7, "8") not in s
for i in range(0, 50000, 2):
    del d[i]
    s.discard((i, str(i)))
assert len(d) == 25000 and list(d)[:3] == [1, 3, 5] and 4 not in d and 5 in d and len(s) == 25000
while d:
    d.popitem()
while s:
    s.pop()
assert not d and not s
d = {True: "a", 1: "b", 1.0: "c"}
assert d == {1: "c"} and list(d) == [True]
nan = float("nan")
assert {nan: 1}[nan] == 1 and nan in [nan] and nan in {nan}
assert {(1, 2.0): 3}[(1.0, 2)] == 3 and {0.0: 1}[-0.0] == 1 and {2**70: 1}[2**70] == 1
f = frozenset([1, 2])
assert {f: 1}[frozenset([2, 1])] == 1 and repr(f) == "frozenset({1, 2})" and f | {3} == {1, 2, 3}
assert {1, 2} <= {1, 2, 3} and not {1, 4} <= {1, 2} and {1}.isdisjoint({2}) and {1, 2}.issuperset([1])
assert {1, 2}.union([3], (4,)) == {1, 2, 3, 4} and {1, 2, 3}.difference([1], [2]) == {3}
for bad in ([], {}, set(), ([],)):
    try:
        {bad: 1}
        failed = False
    except TypeError as e:
        failed = "unhashable type" in str(e)
    assert failed
class Key:
    def __init__(self, n):
        self.n = n
    def __hash__(self):
        return hash(self.n % 10)
    def __eq__(self, other):
        return self.n == other.n
k = {Key(i): i for i in range(100)}
assert len(k) == 100 and k[Key(57)] == 57 and Key(57) in set(k) and Key(100) not in k
class Plain:
    pass
p, q = Plain(), Plain()
assert {p: 1, q: 2}[p] == 1
try:
    for key in k:
        k[len(k) + 1] = 0
    failed = False
except RuntimeError as e:
    failed = "changed size" in str(e)
assert failed
a, b = [1], [1]
assert id(a) != id(b) and id(a) == id(a)
)py"),
            "");
}

// --- laziness ---

TEST(Lazy, ItemsAreMadeWhenTheyAreAskedFor) {
  EXPECT_EQ(RunBody(R"py(
import itertools
log = []
def note(x):
    log.append(x)
    return x
m = map(note, [1, 2, 3])
assert log == []
assert next(m) == 1 and log == [1]
assert list(m) == [2, 3] and list(m) == []
g = (note(x) for x in itertools.count() if x % 2)
assert log == [1, 2, 3] and next(g) == 1 and next(g) == 3 and log[-2:] == [1, 3]
assert any(note(x) > 1 for x in itertools.count()) and log[-3:] == [0, 1, 2]
assert not all(x < 5 for x in itertools.count())
assert next(x for x in itertools.count(10) if x % 7 == 0) == 14
z = zip(itertools.count(), "ab")
assert list(z) == [(0, "a"), (1, "b")]
assert list(enumerate("ab", start=1)) == [(1, "a"), (2, "b")]
assert next((a, b) for a in range(3) for b in itertools.count()) == (0, 0)
f = filter(None, [0, 1, 2])
assert next(f) == 1 and 2 in f and list(f) == []
l = [1]
for x in l:
    if len(l) < 5:
        l.append(x + 1)
assert l == [1, 2, 3, 4, 5]
i = iter(l)
assert next(i) == 1 and i is iter(i)
l.append(6)
assert list(i) == [2, 3, 4, 5, 6] and next(i, "end") == "end"
try:
    next(iter([]))
    failed = False
except StopIteration:
    failed = True
assert failed
assert list(iter(lambda: note(len(log)), 20))[-1] == 19
assert list(reversed([1, 2])) == [2, 1] and list(reversed(range(3))) == [2, 1, 0] and list(reversed("ab")) == ["b", "a"]
a, b = (x for x in (1, 2))
assert (a, b) == (1, 2)
first, *rest = map(str, range(3))
assert first == "0" and rest == ["1", "2"]
try:
    a, b = itertools.count()
    failed = False
except ValueError as e:
    failed = "too many values to unpack" in str(e)
assert failed
class Countdown:
    def __init__(self, n):
        self.n = n
    def __iter__(self):
        return self
    def __next__(self):
        if self.n == 0:
            raise StopIteration
        self.n -= 1
        return self.n
assert list(Countdown(3)) == [2, 1, 0] and [x for x in Countdown(2)] == [1, 0] and next(Countdown(9)) == 8 and sum(Countdown(4)) == 6
class Items:
    def __getitem__(self, i):
        if i > 2:
            raise IndexError(i)
        return i * i
assert list(Items()) == [0, 1, 4]
fs = [lambda: i for i in range(3)]
assert [f() for f in fs] == [2, 2, 2]
def inside():
    gs = {i: (lambda: (i, j)) for i in range(3) for j in "ab"}
    return [g() for g in gs.values()] + [f() for f in [lambda k=k: k for k in range(2)]]
assert inside() == [(2, "b")] * 3 + [0, 1]
i = 7
hs = [lambda: i for i in range(2)]
assert i == 7 and hs[0]() == 1
)py"),
            "");
}

TEST(Lazy, GeneratorExpressionsSeeTheNamesAsTheyAreWhenTheyRun) {
  EXPECT_EQ(RunBody(R"py(
def late():
    k = 1
    g = (i * k for i in range(3))
    k = 10
    return list(g)
assert late() == [0, 10, 20]
def first_is_early():
    xs = [1, 2]
    g = (x for x in xs)
    xs = [5]
    return list(g)
assert first_is_early() == [1, 2]
def second_is_late():
    xs, ys = [1, 2], [3]
    g = (x * y for x in xs for y in ys if y > low)
    low, ys = 0, [4]
    return list(g)
assert second_is_late() == [4, 8]
def of_targets():
    gens = [(x * y for x in range(3)) for y in range(3)]
    return [list(g) for g in gens]
assert of_targets() == [[0, 2, 4]] * 3
def in_a_loop():
    gens = []
    for y in range(3):
        gens.append(x * y for x in range(2))
    return [list(g) for g in gens]
assert in_a_loop() == [[0, 2]] * 3
def at_once():
    out = []
    for k in range(3):
        out.append(sum(i * k for i in range(4)))
        k = 100
    return out
assert at_once() == [0, 6, 12]
def same_name(x):
    return [x for x in x], list(x for x in x)
assert same_name([1, 2]) == ([1, 2], [1, 2])
def outer(x):
    def inner():
        return [x for x in x]
    return inner()
assert outer([3]) == [3]
)py"),
            "");
}

TEST(Lazy, Itertools) {
  EXPECT_EQ(RunBody(R"py(
from itertools import accumulate, chain, combinations, combinations_with_replacement, count, cycle, dropwhile, filterfalse, groupby, islice, pairwise, permutations
from itertools import product, repeat, starmap, takewhile, tee, zip_longest
import itertools
assert list(product([1, 2], "ab")) == [(1, "a"), (1, "b"), (2, "a"), (2, "b")] and list(product([0, 1], repeat=2)) == [(0, 0), (0, 1), (1, 0), (1, 1)]
assert list(product()) == [()] and list(product([], [1])) == [] and next(product(range(1000), repeat=4)) == (0, 0, 0, 0)
assert list(chain([1], (2, 3), "a")) == [1, 2, 3, "a"] and list(chain.from_iterable([[1], [2]])) == [1, 2]
assert list(islice(count(5, 2), 3)) == [5, 7, 9] and list(islice("abcdef", 1, None, 2)) == ["b", "d", "f"] and list(islice([1, 2, 3], 0)) == []
assert list(permutations([1, 2, 3])) == [(1, 2, 3), (1, 3, 2), (2, 1, 3), (2, 3, 1), (3, 1, 2), (3, 2, 1)] and list(permutations("ab", 1)) == [("a",), ("b",)]
assert list(combinations([1, 2, 3], 2)) == [(1, 2), (1, 3), (2, 3)] and list(combinations([1], 2)) == [] and list(combinations([1], 0)) == [()]
assert list(combinations_with_replacement("ab", 2)) == [("a", "a"), ("a", "b"), ("b", "b")]
assert list(repeat(1, 2)) == [1, 1] and list(accumulate([1, 2, 3])) == [1, 3, 6] and list(accumulate([1, 2, 3], lambda a, b: a * b, initial=2)) == [2, 2, 4, 12]
assert list(zip_longest([1, 2], "a", fillvalue=0)) == [(1, "a"), (2, 0)] and list(starmap(pow, [(2, 3), (3, 2)])) == [8, 9]
assert list(takewhile(lambda x: x < 3, count())) == [0, 1, 2] and list(dropwhile(lambda x: x < 3, [1, 3, 1])) == [3, 1] and list(filterfalse(None, [0, 1])) == [0]
assert list(islice(cycle([1, 2]), 5)) == [1, 2, 1, 2, 1] and list(pairwise([1, 2, 3])) == [(1, 2), (2, 3)]
assert [(k, list(g)) for k, g in groupby([1, 1, 2], key=lambda x: x)] == [(1, [1, 1]), (2, [2])]
a, b = tee([1, 2])
assert list(a) == [1, 2] and list(b) == [1, 2] and list(itertools.chain()) == []
)py"),
            "");
  Fails("list(zip([1, 2], [1], strict=True))\n", "ValueError: zip() argument 2 is shorter than argument 1");
}

TEST(Lazy, GeneratorsTakeAndReturnValues) {
  EXPECT_EQ(RunBody(R"py(
def running():
    total = 0
    while True:
        got = yield total
        if got is None:
            return "done"
        total += got
g = running()
assert next(g) == 0 and g.send(3) == 3 and g.send(4) == 7
try:
    g.send(None)
    result = None
except StopIteration as stop:
    result = str(stop)
assert result == "done"
def outer():
    result = yield from running()
    yield result
o = outer()
assert next(o) == 0 and o.send(1) == 1 and o.send(None) == "done"
def catching():
    try:
        yield 1
    except ValueError as e:
        yield str(e)
c = catching()
assert next(c) == 1 and c.throw(ValueError("thrown")) == "thrown"
try:
    running().send(1)
    failed = False
except TypeError as e:
    failed = "just-started generator" in str(e)
assert failed
)py"),
            "");
}

TEST(Text, TensorsAndDevices) {
  EXPECT_EQ(RunBody(R"py(
x = torch.zeros(3)
assert f"{torch.max(x)}" == "0.0" and f"{torch.max(x):.2f}" == "0.00" and "{}".format(x.sum()) == "0.0" and format(torch.tensor(5)) == "5"
assert f"{torch.tensor(True)}" == "True" and f"{torch.tensor([1])}" == "tensor([1])" and f"{torch.max(x)!s}" == "tensor(0.)"
assert "%.4f" % torch.tensor(2.5) == "2.5000" and "%d" % torch.tensor(3) == "3" and "%s" % torch.tensor(3) == "tensor(3)"
assert "%.1f/%d" % (torch.tensor(2.5), torch.tensor([7])) == "2.5/7"
assert str(torch.device("cpu")) == "cpu" and str(torch.device("cuda")) == "cuda" and f"{torch.device('cuda:0')}" == "cuda:0"
assert "%s" % torch.device("cuda:0") == "cuda:0" and repr(torch.device("cuda:0")) == "device(type='cuda', index=0)"
assert [round(15, -1), round(25, -1), round(-15, -1), round(1250, -2), round(149, -2), round(150, -2), round(1234567, -3), round(5, 2)] == [
    20, 20, -20, 1200, 100, 200, 1235000, 5]
assert torch.float32.itemsize * 4 == 16 and torch.float16.itemsize == 2 and not hasattr(torch.float32, "nonesuch")
assert round(-149, -2) == -100 and round(7, -1) == 10 and round(4, -1) == 0 and round(5, -50) == 0
)py"),
            "");
}

TEST(Library, CollectionsAndJson) {
  EXPECT_EQ(RunBody(R"py(
from collections import Counter, OrderedDict, defaultdict, deque
import json
c = Counter("abcab")
assert str(c) == "Counter({'a': 2, 'b': 2, 'c': 1})" and c["z"] == 0 and "z" not in c and len(c) == 3 and c.most_common(1) == [("a", 2)]
c.update("cc")
c.update({"a": 1}, d=4)
assert c.most_common() == [("d", 4), ("a", 3), ("c", 3), ("b", 2)] and c.total() == 12 and sorted(c.elements()) == list("aaabbcccdddd")
c.subtract("aaaa")
assert c["a"] == -1 and Counter(a=3, b=1) + Counter(b=2) == Counter(a=3, b=3) and Counter(a=3, b=1) - Counter(a=1, b=5) == Counter(a=2)
assert Counter(a=3, b=1) & Counter(a=1, b=5) == Counter(a=1, b=1) and Counter(a=3, b=1) | Counter(a=1, b=5) == Counter(a=3, b=5)
assert isinstance(c, dict) and isinstance(c, Counter) and type(c).__name__ == "Counter" and not isinstance({}, Counter) and Counter() == {}
o = OrderedDict([("a", 1), ("b", 2)])
o.move_to_end("a")
assert repr(o) == "OrderedDict([('b', 2), ('a', 1)])" and o.popitem(last=False) == ("b", 2) and isinstance(o, dict)
o["c"] = 3
o.move_to_end("c", last=False)
assert list(o) == ["c", "a"]
d = defaultdict(list)
d["k"].append(1)
assert repr(d) == "defaultdict(<class 'list'>, {'k': [1]})" and isinstance(d, defaultdict)
q = deque([1, 2, 3], maxlen=3)
q.append(4)
q.appendleft(0)
assert repr(q) == "deque([0, 2, 3], maxlen=3)" and q.popleft() == 0 and q.pop() == 3 and list(q) == [2] and q.maxlen == 3 and 2 in q
q = deque("abcd")
q.rotate(1)
assert "".join(q) == "dabc" and q[-1] == "c" and len(q) == 4 and q == deque("dabc") and q != deque("abc") and q.index("b") == 2
q.extendleft("xy")
q += "z"
q[0] = "w"
assert list(q) == list("wxdabcz") and bool(q) and not deque() and list(reversed(q))[0] == "z"
try:
    deque().pop()
    failed = False
except IndexError as e:
    failed = str(e) == "pop from an empty deque"
assert failed
text = json.dumps({"a": [1, 2.5, None, True, "x\n\"é"], 3: {}, "e": []})
assert text == '{"a": [1, 2.5, null, true, "x\\n\\"\\u00e9"], "3": {}, "e": []}', text
assert json.loads(text) == {"a": [1, 2.5, None, True, "x\n\"é"], "3": {}, "e": []}
assert json.dumps({"b": 1, "a": [1, {}]}, indent=2, sort_keys=True) == '{\n  "a": [\n    1,\n    {}\n  ],\n  "b": 1\n}'
assert json.dumps((1, float("inf")), separators=(",", ":")) == "[1,Infinity]" and json.dumps(torch.float32, default=str) == '"torch.float32"'
assert json.loads(' [1e3, -0.5, -7, "\\ud83d\\ude00", {"k": {"k": []}}] ') == [1000.0, -0.5, -7, "\U0001F600", {"k": {"k": []}}]
def why(f):
    try:
        f()
    except ValueError as e:
        return type(e).__name__ + ": " + str(e)
    except TypeError as e:
        return str(e)
assert why(lambda: json.loads('{"a": }')) == "JSONDecodeError: Expecting value: line 1 column 7 (char 6)", why(lambda: json.loads('{"a": }'))
assert why(lambda: json.loads("[1 2]")) == "JSONDecodeError: Expecting ',' delimiter: line 1 column 4 (char 3)"
assert why(lambda: json.loads("{}\n x")) == "JSONDecodeError: Extra data: line 2 column 2 (char 4)"
assert why(lambda: json.dumps(torch.ones(2))) == "Object of type Tensor is not JSON serializable", why(lambda: json.dumps(torch.ones(2)))
)py"),
            "");
}

TEST(Library, TheEnvironmentIsADictOfTheProgram) {
  EXPECT_EQ(RunBody(R"py(
import os, sys
assert os.environ.get("A") is None and os.environ.get("A", "b") == "b" and "A" not in os.environ and list(os.environ.items()) == [] and os.getenv("X", "1") == "1"
os.environ["Q"] = "1"
os.environ.setdefault("Z", "2")
def read():
    return os.environ["Q"] + os.getenv("Z") + os.environ.pop("Z")
assert read() == "122" and dict(os.environ) == {"Q": "1"} and os.environ.pop("Z", None) is None
del os.environ["Q"]
os.environ.update({"a": "b"})
assert sorted(os.environ) == ["a"] and os.environ.copy() == {"a": "b"}
try:
    os.environ["nope"]
    found = True
except KeyError:
    found = False
assert not found and sys.version_info.major == 3 and sys.version_info >= (3, 8) and sys.version_info[:2] >= (3, 8)
)py"),
            "");
}

TEST(Library, Operators) {
  EXPECT_EQ(RunBody(R"py(
import operator
from operator import itemgetter, attrgetter
pairs = [("b", 2), ("a", 3), ("c", 1)]
assert sorted(pairs, key=itemgetter(1)) == [("c", 1), ("b", 2), ("a", 3)] and itemgetter(1, 0)(pairs[0]) == (2, "b") and itemgetter("k")({"k": 4}) == 4
class P:
    def __init__(self, x):
        self.x = x
        self.me = self
assert max([P(1), P(3)], key=attrgetter("x")).x == 3 and attrgetter("me.x", "x")(P(2)) == (2, 2)
assert operator.truediv(1, 2) == 0.5 and operator.neg(3) == -3 and operator.lt(1, 2) and not operator.not_(1) and operator.getitem([5, 6], 1) == 6
assert operator.matmul(torch.ones(2, 2), torch.ones(2, 2)).sum() == 8 and operator.xor(5, 1) == 4 and operator.mod(7, 4) == 3
)py"),
            "");
}

TEST(Library, MathOfIntegersAndSums) {
  EXPECT_EQ(RunBody(R"py(
import math
assert [math.comb(5, 2), math.comb(60, 30), math.perm(5, 2), math.perm(4), math.factorial(20), math.lcm(4, 6), math.lcm(), math.comb(2, 5)] == [
    10, 118264581564861424, 20, 24, 2432902008176640000, 12, 1, 0]
assert math.fsum([0.1] * 10) == 1.0 and math.fsum([1e100, 1.0, -1e100]) == 1.0 and math.dist((0, 0), (3, 4)) == 5.0 and math.hypot(2, 3, 6) == 7.0
assert math.ldexp(0.5, 3) == 4.0 and math.frexp(8.0) == (0.5, 4) and math.modf(-2.5) == (-0.5, -2.0) and math.cbrt(8.0) == 2.0 and math.gamma(5) == 24.0
assert math.remainder(7, 4) == -1.0 and math.erfc(0) == 1.0 and math.atanh(0) == 0.0
)py"),
            "");
}

TEST(Values, ViewsOfDictsAndMethodsOfTypes) {
  EXPECT_EQ(RunBody(R"py(
d = {"a": 1, "b": 2}
assert str(d.keys()) == "dict_keys(['a', 'b'])" and str(d.items()) == "dict_items([('a', 1), ('b', 2)])" and repr(d.values()) == "dict_values([1, 2])"
assert d.keys() & {"a", "c"} == {"a"} and d.keys() == {"b", "a"} and d.keys() | ["z"] == {"a", "b", "z"} and d.keys() - {"a"} == {"b"} and d.keys() >= {"a"}
assert "a" in d.keys() and ("a", 1) in d.items() and len(d.values()) == 2 and d.keys() == dict(b=0, a=0).keys() and not isinstance(d.keys(), (list, tuple))
try:
    d.keys()[0]
    failed = False
except TypeError:
    failed = True
assert failed
assert sorted(["b", "A"], key=str.lower) == ["A", "b"] and list(map(str.strip, [" x "])) == ["x"] and dict.fromkeys("ab", 0) == {"a": 0, "b": 0}
assert "äbc".replace("", "-") == "-ä-b-c-" and "äbc".replace("", "-", 2) == "-ä-bc" and "".replace("", "-") == "-" and "aä".replace("", "-", 0) == "aä"
assert "Hello".swapcase() == "hELLO" and "a\tb".expandtabs(4) == "a   b" and "x_1".isidentifier() and not "1x".isidentifier() and "Ab Cd".istitle()
def messages(*calls):
    found = []
    for call in calls:
        try:
            call()
        except Exception as e:
            found.append(str(e))
    return found
def f(a, b, c, *, k): pass
assert messages(lambda: [][1], lambda: 1 + "a", lambda: "a" + 1, lambda: [1] + (2,), lambda: "a" < 1, lambda: [1][None], lambda: 1 % 0, lambda: [1].index(5),
                lambda: f(), lambda: f(1, 2), lambda: f(1, 2, 3), lambda: f(1)) == [
    "list index out of range", "unsupported operand type(s) for +: 'int' and 'str'", 'can only concatenate str (not "int") to str',
    'can only concatenate list (not "tuple") to list', "'<' not supported between instances of 'str' and 'int'",
    "list indices must be integers or slices, not NoneType", "integer modulo by zero", "5 is not in list",
    "f() missing 3 required positional arguments: 'a', 'b', and 'c'", "f() missing 1 required positional argument: 'c'",
    "f() missing 1 required keyword-only argument: 'k'", "f() missing 2 required positional arguments: 'b' and 'c'"]
)py"),
            "");
}

TEST(Errors, KnowWhatTheyCameFrom) {
  EXPECT_EQ(RunBody(R"py(
try:
    try:
        1 / 0
    except ZeroDivisionError as e:
        raise RuntimeError("wrapped") from e
except RuntimeError as e:
    assert isinstance(e.__cause__, ZeroDivisionError) and isinstance(e.__context__, ZeroDivisionError) and e.__cause__.__cause__ is None
try:
    try:
        {}["k"]
    except KeyError:
        raise ValueError
except ValueError as e:
    assert e.__cause__ is None and repr(e.__context__) == "KeyError('k')" and e.__traceback__ is None
def g():
    yield 1
    return 5
it = g()
next(it)
try:
    next(it)
except StopIteration as e:
    assert e.value == 5
from functools import total_ordering
@total_ordering
class V:
    def __init__(self, v):
        self.v = v
    def __eq__(self, other):
        return self.v == other.v
    def __lt__(self, other):
        return self.v < other.v
assert V(1) <= V(1) and V(2) > V(1) and V(2) >= V(1) and not V(2) <= V(1) and not V(1) > V(1) and max(V(1), V(5)).v == 5
)py"),
            "");
}

TEST(Library, SmallThings) {
  EXPECT_EQ(RunBody(R"py(
import string, sys
from types import SimpleNamespace
from typing import *
from dataclasses import dataclass, field, fields, is_dataclass
T = TypeVar("T")
def first(x: Optional[List[T]] = None) -> Union[T, None]:
    return x
n = SimpleNamespace(a=1, b="x")
n.c = 3
assert repr(n) == "namespace(a=1, b='x', c=3)" and vars(n) == {"a": 1, "b": "x", "c": 3} and isinstance(n, SimpleNamespace)
@dataclass
class P:
    x: int
    y: list = field(default_factory=list)
@dataclass
class Q:
    x: int
    hidden: int = field(default=2, repr=False)
    def __post_init__(self):
        self.extra = 3
assert repr(Q(1)) == "Q(x=1)" and Q(1).extra == 3
assert [f.name for f in fields(P)] == ["x", "y"] and is_dataclass(P(1)) and vars(P(1)) == {"x": 1, "y": []}
import os
assert not hasattr(os, "nonesuch") and hasattr(os.path, "join") and getattr(os, "sched_getaffinity", None) is None and hasattr(sys, "version_info")
assert range(2, 10, 2).index(6) == 2 and range(5).count(2) == 1 and "a b  c d".split(None, 2) == ["a", "b", "c d"] and "a b  c ".rsplit(None, 1) == ["a b", "c"]
class R:
    def __round__(self, n=0):
        return ("rounded", n)
assert round(R()) == ("rounded", 0) and round(R(), 2) == ("rounded", 2) and str(OSError(2, "No such file")) == "[Errno 2] No such file"
try:
    assert False
except AssertionError as e:
    assert repr(e) == "AssertionError()" and e.args == ()
assert hash(1) == hash(1.0) == hash(True) and "%c%c" % ("x", 65) == "xA" and string.digits == "0123456789" and string.ascii_lowercase[:3] == "abc"
print("seen", file=sys.stdout, flush=True)
sys.stdout.write("more\n")
print("unseen", file=sys.stderr)
try:
    raise SystemExit(3)
except SystemExit as e:
    assert e.code == 3
try:
    print(1, nonsense=2)
    failed = False
except TypeError:
    failed = True
assert failed
)py"),
            "");
  EXPECT_EQ(printed, "seen\nmore\n");
}

TEST(Calls, KeywordsKeepTheOrderOfTheSource) {
  EXPECT_EQ(RunBody(R"py(
def f(*a, **k):
    return a, list(k.items())
m = {"b": 2}
assert f(a=1, **m, c=3) == ((), [("a", 1), ("b", 2), ("c", 3)]), f(a=1, **m, c=3)
assert f(1, *[2], x=1, *[3], **{"z": 1}, y=2, **{"w": 0}) == ((1, 2, 3), [("x", 1), ("z", 1), ("y", 2), ("w", 0)])
try:
    f(a=1, **{"a": 2})
    failed = False
except TypeError as e:
    failed = "got multiple values for keyword argument 'a'" in str(e)
assert failed
)py"),
            "");
}

TEST(Errors, AreReportedWhereTheyWereRaised) {
  const std::string error = RunBody(R"py(
def inner():
    x = [1]
    return x[5]
def outer():
    try:
        inner()
    except KeyError:
        pass
outer()
)py");
  EXPECT_TRUE(absl::StartsWith(error, "test.py:7:12: error: IndexError: ")) << error;
  EXPECT_TRUE(absl::StrContains(error, "test.py:10:9: note: called from here")) << error;
  EXPECT_TRUE(absl::StrContains(error, "test.py:13:1: note: called from here")) << error;
  const std::string again = RunBody("try:\n    try:\n        int('x')\n    except ValueError as e:\n        raise\nfinally:\n    print('end')\n");
  EXPECT_TRUE(absl::StartsWith(again, "test.py:6:9: error: ValueError: invalid literal")) << again;
  const std::string by_name = RunBody("try:\n    int('x')\nexcept ValueError as e:\n    raise e\n");
  EXPECT_TRUE(absl::StartsWith(by_name, "test.py:5:5: error: ValueError: invalid literal")) << by_name;
  const std::string changed = RunBody("try:\n    int('x')\nexcept ValueError as e:\n    e.args = ('other',)\n    raise\n");
  EXPECT_TRUE(absl::StartsWith(changed, "test.py:8:5: error: ValueError: other")) << changed;
  EXPECT_EQ(RunBody(R"py(
from triton.runtime.errors import OutOfResources, PTXASError
from triton.runtime.autotuner import OutOfResources as Same
import triton.runtime.errors
text = "out of resource: shared memory, Required: 3, Hardware limit: 2. Reducing block sizes or `num_stages` may help."
for kind in (Same, triton.runtime.errors.OutOfResources, triton.OutOfResources):
    try:
        raise OutOfResources(3, 2, "shared memory")
    except kind as e:
        assert (e.required, e.limit, e.name) == (3, 2, "shared memory") and str(e) == text
try:
    raise PTXASError("x")
except (OutOfResources, PTXASError) as e:
    assert type(e).__name__ == "PTXASError"
assert issubclass(OutOfResources, triton.TritonError)
)py"),
            "");
}

TEST(Strings, PaddingLinesAndCharacters) {
  EXPECT_EQ(RunBody(R"py(
assert "-5".zfill(4) == "-005" and "+5".zfill(3) == "+05" and "é".zfill(3) == "00é" and "5".zfill(0) == "5"
assert "a\n\nb".splitlines(True) == ["a\n", "\n", "b"] and "a\r\nb\rc\n".splitlines() == ["a", "b", "c"] and "".splitlines() == []
assert "a\r\nb".splitlines(keepends=True) == ["a\r\n", "b"]
assert "héllo".index("l") == 2 and "héllo".rfind("l") == 3 and "ééx".find("x", 1) == 2 and "abab".find("b", 2, 3) == -1
assert "abab".index("a", 1) == 2 and "abab".count("a", 1) == 1 and "héé".count("") == 4 and "abc".find("", 9) == -1
assert "xabc".startswith("ab", 1) and not "abc".endswith("c", 0, 2) and "abc".startswith(("x", "b"), 1)
assert "日本".rjust(4, "*") == "**日本" and "日本".ljust(3) == "日本 " and "é".center(3, "日") == "日é日" and "ab".center(5, "*") == "**ab*"
assert "éàß".upper() == "ÉÀSS" and "ÉŁΔЖ".lower() == "éłδж" and "élan".capitalize() == "Élan" and "日本x".upper() == "日本X"
assert "%.3d|%.3x|%08.3d|%+.3i" % (5, 5, 5, 5) == "005|005|00000005|+005" and "%05s" % "a" == "    a" and "%.1s" % "éa" == "é"
assert f"{True:5}|{False:<5}|{'é':>3}|{'é':日^3}" == "    1|0    |  é|日é日"
assert chr(233) == "é" and ord("日") == 0x65e5 and [1, 2, 1].index(1, 1) == 2 and (7).bit_count() == 3
def fails(f, kind, text):
    try:
        f()
    except kind as e:
        return text in str(e)
assert fails(lambda: f"{5:.3}", ValueError, "Precision not allowed")
assert fails(lambda: f"{float('nan'):d}", ValueError, "format code 'd'")
assert fails(lambda: "%x" % 1.5, TypeError, "an integer is required")
assert fails(lambda: "ǆ".upper(), NotImplementedError, "upper case of")
)py"),
            "");
}

TEST(Numbers, RoundOnceAndCompareExactly) {
  EXPECT_EQ(RunBody(R"py(
import math
inf = float("inf")
assert divmod(-2.5, inf) == (-1.0, inf) and divmod(2.5, inf) == (0.0, 2.5) and str(divmod(-0.0, 3.0)) == "(-0.0, 0.0)"
assert str(-0.0 // 3.0) == "-0.0" and -7.5 // 2 == -4.0 and 7.5 % -2 == -0.5
assert 9007199254740993 != 9007199254740992.0 and 9007199254740993 > 9007199254740992.0 and 9007199254740992.0 < 9007199254740993
assert 2**62 == 2.0**62 and 1 < 1.5 < 2 and -1 > -1.5 and inf > 2**100 and not float("nan") < 1 and {1.0: 2}[1] == 2
assert 10**25 / 10**5 == 1e20 and (2**53 + 1) / 1 == 2.0**53 and (2**54 + 6) / -2 == -(2.0**53 + 4) and 1 / 3 == 0.3333333333333333
assert math.degrees(99.995) == 5729.291472410667
for f, kind in ((lambda: math.pow(0, -1), ValueError), (lambda: math.pow(10, 400), OverflowError)):
    try:
        f()
        assert False
    except kind:
        pass
)py"),
            "");
}

}  // namespace
}  // namespace tilevm::vm
