// Host programs with classes: dataclasses, enums, contexts, properties, caches, modules.
#include "absl/strings/match.h"
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

TEST(Classes, Dataclasses) {
  EXPECT_EQ(RunBody(R"py(
import dataclasses
from dataclasses import dataclass, field, asdict, replace
@dataclass
class P:
    x: int
    y: int = 2
    tags: list = field(default_factory=list)
assert P(1) == P(1, 2) and P(1) != P(2) and not (P(1) == 1) and repr(P(1)) == "P(x=1, y=2, tags=[])"
p = P(1)
p.tags.append(3)
assert P(1).tags == [] and p != P(1) and asdict(p) == {"x": 1, "y": 2, "tags": [3]} and replace(p, x=9).x == 9
try:
    hash(p)
    failed = False
except TypeError as e:
    failed = "unhashable type: 'P'" in str(e)
assert failed
@dataclass(frozen=True, order=True)
class K:
    m: int
    n: int = 0
    note: str = field(default="", compare=False)
assert {K(1, 2): "a"}[K(1, 2)] == "a" and K(1) < K(2) and K(1, 1) > K(1) and sorted([K(2), K(1)]) == [K(1), K(2)] and K(1, note="z") == K(1)
assert len({K(1), K(1), K(2)}) == 2 and hash(K(1)) == hash(K(1))
try:
    K(1).m = 5
    failed = False
except dataclasses.FrozenInstanceError as e:
    failed = "cannot assign to field 'm'" in str(e)
assert failed
@dataclass
class Q(P):
    z: int = 4
    def __post_init__(self):
        self.total = self.x + self.z
assert Q(1, 2, [], 5).total == 6 and Q(1) == Q(1) and Q(1) != P(1)
@dataclass(eq=False)
class I:
    x: int
assert I(1) != I(1) and len({I(1), I(1)}) == 2
@dataclass(kw_only=True)
class W:
    a: int = 1
    b: int
assert W(b=2).a == 1
@dataclass
class H:
    a: int
    b: int = field(init=False)
    def __post_init__(self):
        self.b = self.a * 2
assert H(2).b == 4
@dataclass(frozen=True)
class F:
    a: int
    def __post_init__(self):
        object.__setattr__(self, "double", self.a * 2)
assert F(3).double == 6
)py"),
            "");
  Fails("from dataclasses import dataclass\n@dataclass\nclass A:\n    x: list = []\n",
        "ValueError: mutable default list for field x is not allowed: use default_factory");
  Fails("from dataclasses import dataclass\n@dataclass\nclass A:\n    x: int = 1\n    y: int\n",
        "TypeError: non-default argument 'y' follows default argument");
  Fails("from dataclasses import dataclass\n@dataclass\nclass A:\n    x: int\nA(1) < A(2)\n", "TypeError: '<' not supported between instances of 'A' and 'A'");
}

TEST(Classes, Enums) {
  EXPECT_EQ(RunBody(R"py(
from enum import Enum, IntEnum, auto
class E(Enum):
    A = 1
    B = "b"
    ALSO = 1
    def twice(self):
        return self.value * 2
print(E.A, [E.B], f"{E.A}", repr(E.A))
assert list(E) == [E.A, E.B] and len(E) == 2 and E(1) is E.A and E["B"] is E.B and E.ALSO is E.A and E.A.name == "A" and E.B.value == "b"
assert E.A == E.A and E.A != E.B and E.A != 1 and {E.A: 1}[E.A] == 1 and E.A in E and isinstance(E.A, E) and E.A.twice() == 2
assert [e.name for e in E] == ["A", "B"]
class N(IntEnum):
    ONE = auto()
    TWO = auto()
assert int(N.TWO) == 2 and float(N.ONE) == 1.0
assert N.TWO == 2 and N.ONE + 1 == 2 and N.ONE < N.TWO and {2: "x"}[N.TWO] == "x" and sorted([N.TWO, N.ONE])[0] is N.ONE and f"{N.TWO}" == "2"
class S(str, Enum):
    LEFT = "left"
assert S.LEFT == "left" and S("left") is S.LEFT and {"left": 1}[S.LEFT] == 1
try:
    E(5)
    failed = False
except ValueError as e:
    failed = str(e) == "5 is not a valid E"
assert failed
)py"),
            "");
  EXPECT_EQ(printed, "E.A [<E.B: 'b'>] E.A <E.A: 1>\n");
  Fails("from enum import Enum\nclass E(Enum):\n    A = 1\nE['Z']\n", "KeyError: 'Z'");
}

TEST(Classes, ContextsSeeAndTakeExceptions) {
  EXPECT_EQ(RunBody(R"py(
import contextlib
log = []
class Guard:
    def __init__(self, take):
        self.take = take
    def __enter__(self):
        return self
    def __exit__(self, kind, value, trace):
        log.append((kind, str(value)))
        return self.take
with Guard(False):
    pass
assert log[-1] == (None, "None")
with Guard(True):
    raise ValueError("taken")
assert log[-1] == (ValueError, "taken")
try:
    with Guard(False):
        raise KeyError("k")
    caught = False
except KeyError as e:
    caught = True
assert caught and log[-1][0] is KeyError
def inside():
    x = 1
    with Guard(True):
        x = 2
        raise ValueError("x")
        x = 3
    return x
assert inside() == 2
def returns():
    with Guard(True):
        return [][1]
    return "after"
assert returns() == "after" and log[-1][0] is IndexError
def partway(n):
    y = 0
    try:
        y = 1
        [][n]
        y = 2
    except IndexError:
        pass
    return y
assert partway(0) == 1
def otherwise():
    try:
        a = 1
    except ValueError:
        a = 2
    else:
        a += 10
        try:
            raise ValueError
        except ValueError:
            a += 100
    try:
        try:
            pass
        except KeyError:
            a = 0
        else:
            raise KeyError("not the one above's")
    except KeyError:
        a += 1000
    return a
assert otherwise() == 1111
def last():
    for i in range(5):
        try:
            z = i
            if i == 3:
                raise ValueError
        except ValueError:
            break
        finally:
            w = i
    return z, w
assert last() == (3, 3)
@contextlib.contextmanager
def quiet():
    try:
        yield 1
    except ValueError:
        log.append("quiet")
with quiet() as q:
    raise ValueError
assert q == 1 and log[-1] == "quiet"
with contextlib.suppress(KeyError, ValueError):
    raise KeyError("gone")
with contextlib.nullcontext(5) as five:
    assert five == 5
)py"),
            "");
  Fails("class G:\n    def __enter__(self):\n        pass\n    def __exit__(self, *a):\n        pass\nwith G():\n    [][1]\n",
        "IndexError: list index out of range");
}

TEST(Classes, NamesCanBeDeleted) {
  EXPECT_EQ(RunBody(R"py(
x = 1
del x
try:
    x
    failed = False
except NameError as e:
    failed = "name 'x' is not defined" in str(e)
assert failed
x = 2
assert x == 2
a, b = 1, 2
del a, b
class C:
    pass
c = C()
c.n = 1
del c.n
assert not hasattr(c, "n")
def f():
    global x
    y = 1
    del y, x
    try:
        print(y)
    except NameError:
        return True
assert f()
def g():
    n = 1
    h = lambda: n
    n = 2
    del n
    try:
        h()
    except NameError:
        return True
assert g()
)py"),
            "");
  Fails("del nothing\n", "NameError: name 'nothing' is not defined");
  Fails("x = 1\ndel x\nprint(x)\n", "NameError: name 'x' is not defined");
}

TEST(Classes, CachesCallOnce) {
  EXPECT_EQ(RunBody(R"py(
import functools
calls = []
@functools.lru_cache
def f(x, y=0):
    calls.append(x)
    return x + y
assert f(1) == 1 and f(1) == 1 and f(2) == 2 and calls == [1, 2] and f(1, y=1) == 2 and f.cache_info().hits == 1
@functools.lru_cache(maxsize=2)
def g(x):
    calls.append(x)
    return x
del calls[:]
g(1), g(2), g(1), g(3), g(1), g(2)
assert calls == [1, 2, 3, 2], calls
@functools.cache
def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)
assert fib(60) == 1548008755920
f.cache_clear()
assert f.cache_info().currsize == 0 and f.__name__ == "f"
class M:
    def __init__(self):
        self.n = 0
    @functools.lru_cache(maxsize=None)
    def one(self, k):
        self.n += 1
        return k
    @functools.cached_property
    def prop(self):
        self.n += 10
        return self.n
    @property
    def v(self):
        return self._v
    @v.setter
    def v(self, value):
        self._v = value * 2
m = M()
m.one(1), m.one(1), m.one(2)
assert m.n == 2 and m.prop == 12 and m.prop == 12
m.v = 4
assert m.v == 8
)py"),
            "");
  Fails("import functools\n@functools.cache\ndef f(x):\n    return x\nf([1])\n", "TypeError: unhashable type: 'list'");
}

TEST(Classes, SubclassesOfBuiltinsAreNamed) {
  Fails("class L(list):\n    pass\n", "class 'L': a subclass of list is not supported");
  Fails("class D(dict):\n    pass\n", "class 'D': a subclass of dict is not supported");
  Fails("class N(int):\n    pass\n", "class 'N': a subclass of int is not supported");
}

TEST(Classes, Modules) {
  EXPECT_EQ(RunBody(R"py(
import torch.nn as nn
class Scale(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.weight = nn.Parameter(torch.full((n,), 2.0))
        self.steps = 0
    def forward(self, x, add=0.0):
        self.steps += 1
        return x * self.weight + add
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = Scale(2)
        self.b = Scale(2)
    def forward(self, x):
        return self.b(self.a(x), add=1.0)
net = Net().to("cuda").eval()
assert net(torch.ones(2)).tolist() == [5.0, 5.0] and net.a.steps == 1
assert [n for n, p in net.named_parameters()] == ["a.weight", "b.weight"] and len(list(net.parameters())) == 2
assert sum(p.numel() for p in net.parameters()) == 4 and list(net.state_dict()) == ["a.weight", "b.weight"]
with torch.no_grad():
    assert net.a(torch.ones(2)).sum() == 4
)py"),
            "");
  Fails("class M(torch.nn.Module):\n    pass\nM()(1)\n", "NotImplementedError: Module [M] is missing the required \"forward\" function");
}

TEST(Classes, PercentFormatsFromDicts) {
  EXPECT_EQ(RunBody(R"py(
assert "%(a)d %(b)-4s|%(a)05.1f %%" % {"a": 3, "b": "x"} == "3 x   |003.0 %"
for bad in (lambda: "%(c)s" % {"a": 1}, lambda: "%(a)s" % 1, lambda: "%(a" % {"a": 1}):
    try:
        bad()
        failed = False
    except (KeyError, TypeError, ValueError):
        failed = True
    assert failed
)py"),
            "");
}

TEST(Classes, HooksOfSubclassesAndAbs) {
  EXPECT_EQ(RunBody(R"py(
class Base:
    names = []
    def __init_subclass__(cls):
        Base.names.append(cls.__name__)
class First(Base):
    def __abs__(self):
        return 5
class Second(First):
    pass
class Other:
    @classmethod
    def __init_subclass__(cls):
        cls.seen = True
class Third(Other, Base):
    pass
assert Base.names == ["First", "Second"] and Third.seen and abs(Second()) == 5
)py"),
            "");
}

TEST(Classes, KeyErrorsShowTheirKey) {
  EXPECT_EQ(RunBody(R"py(
def error_of(f):
    try:
        f()
    except KeyError as e:
        return str(e), e.args, repr(e)
def fail(*args):
    raise KeyError(*args)
assert error_of(lambda: {}["a"]) == ("'a'", ("a",), "KeyError('a')"), error_of(lambda: {}["a"])
assert error_of(lambda: {}[3]) == ("3", (3,), "KeyError(3)")
assert error_of(lambda: fail("k")) == ("'k'", ("k",), "KeyError('k')")
assert error_of(lambda: fail("a", 1))[0] == "('a', 1)"
)py"),
            "");
}

TEST(Classes, ErrorsOfTheEngineAreOfTheirClass) {
  EXPECT_EQ(RunBody(R"py(
import contextlib
import triton.language as tl
from triton.compiler.errors import CompilationError
from triton.runtime.errors import OutOfResources
@triton.jit
def k(x, B: tl.constexpr):
    tl.store(x + tl.arange(0, B), 1.0)
@triton.jit
def asserts(x, B: tl.constexpr):
    tl.static_assert(B == 4, "four")
@triton.jit
def far(x):
    tl.store(x + 1000000000, 1.0)
a = torch.zeros(3, 4)
def kind(f, *others):
    for other in (KeyError, ImportError, StopIteration, OSError, AssertionError, ZeroDivisionError, OutOfResources) + others:
        try:
            try:
                f()
            except other:
                return "taken by " + other.__name__
        except Exception:
            pass
    try:
        f()
    except Exception as e:
        assert isinstance(e, type(e)) and isinstance(e, Exception)
        return type(e).__name__
assert kind(lambda: a @ a, TypeError, CompilationError) == "RuntimeError", kind(lambda: a @ a, TypeError, CompilationError)
assert kind(lambda: a.view(5, 2), TypeError) == "RuntimeError"
assert kind(lambda: a + torch.ones(3), TypeError) == "RuntimeError"
assert kind(lambda: torch.ones(3)[7], RuntimeError) == "IndexError"
assert kind(lambda: a.nonesuch, RuntimeError) == "AttributeError"
assert kind(lambda: k[(1,)](a), RuntimeError) == "TypeError"
assert kind(lambda: k[(1,)](a, 1, 2), RuntimeError) == "TypeError"
assert kind(lambda: k[(1,)](a, 3), RuntimeError, TypeError) == "CompilationError"
assert kind(lambda: asserts[(1,)](a, 3), RuntimeError) == "CompileTimeAssertionFailure"
assert kind(lambda: far[(1,)](a), TypeError, CompilationError) == "RuntimeError"
for error in (triton.CompilationError, CompilationError, Exception, BaseException, (KeyError, triton.compiler.CompilationError)):
    try:
        asserts[(1,)](a, 3)
        caught = False
    except OutOfResources:
        caught = False
    except error as e:
        caught = "four" in str(e)
    assert caught
class Mine(Exception):
    pass
def deep(n):
    return deep(n + 1)
try:
    deep(0)
    caught = False
except Mine:
    caught = False
except RecursionError as e:
    caught = isinstance(e, RuntimeError)
assert caught
try:
    try:
        a @ a
    except RuntimeError as e:
        first = str(e)
        raise
except RuntimeError as e:
    assert str(e) == first and type(e) is RuntimeError
try:
    raise OSError("x")
except EnvironmentError as e:
    assert isinstance(e, IOError)
def steps():
    yield 1
    a @ a
try:
    caught = list(steps())
except RuntimeError:
    caught = True
assert caught is True
with contextlib.suppress(RuntimeError):
    a @ a
)py"),
            "");
  Fails("@triton.jit(bogus=1)\ndef k(x):\n    pass\n", "TypeError: jit() got an unexpected keyword argument 'bogus'");
  Fails("triton.autotune(configs=[], key=[], bogus=1)\n", "TypeError: autotune() got an unexpected keyword argument 'bogus'");
  Fails("import contextlib\nwith contextlib.suppress(KeyError):\n    torch.ones(2) @ torch.ones(3)\n", "cannot be multiplied");
  Fails("try:\n    torch.ones(2) @ torch.ones(3)\nexcept ImportError:\n    pass\n", "cannot be multiplied");
}

TEST(Classes, SeveralBasesAreAskedInTheOrderOfPython) {
  EXPECT_EQ(RunBody(R"py(
log = []
class A:
    tag = "a"
    def __init__(self, **rest):
        log.append("A")
        super().__init__(**rest)
    def name(self):
        return "A"
class B(A):
    def __init__(self, b=0, **rest):
        log.append("B")
        self.b = b
        super().__init__(**rest)
    def name(self):
        return "B" + super().name()
class C(A):
    tag = "c"
    def __init__(self, c=0, **rest):
        log.append("C")
        self.c = c
        super().__init__(**rest)
    def name(self):
        return "C" + super().name()
class D(B, C):
    def name(self):
        return "D" + super().name()
d = D(b=1, c=2)
assert log == ["B", "C", "A"] and d.name() == "DBCA" and d.tag == "c" and D.tag == "c" and (d.b, d.c) == (1, 2), (log, d.name(), d.tag)
class E(D):
    pass
assert E().name() == "DBCA" and B().name() == "BA" and isinstance(d, A) and issubclass(E, C)
class Scaled:
    def forward(self, x):
        return super().forward(x) * 2
class Base(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.w = torch.nn.Parameter(torch.ones(2))
    def forward(self, x):
        return x + self.w
class Net(Scaled, Base):
    @classmethod
    def make(cls):
        return cls()
assert Net.make()(torch.ones(2)).tolist() == [4.0, 4.0] and len(list(Net().parameters())) == 1
)py"),
            "");
  Fails("class A: pass\nclass B(A): pass\nclass C(A, B): pass\n",
        "TypeError: Cannot create a consistent method resolution order (MRO) for bases A, B");
  Fails("class A: pass\nclass C(A, A): pass\n", "TypeError: duplicate base class A");
}

TEST(Classes, NewMakesTheInstance) {
  EXPECT_EQ(RunBody(R"py(
class Point:
    def __new__(cls, *args):
        made = super().__new__(cls)
        made.given = args
        return made
    def __init__(self, x, y):
        self.x, self.y = x, y
p = Point(1, 2)
assert (p.given, p.x, p.y) == ((1, 2), 1, 2)
class One:
    only = None
    def __new__(cls):
        if cls.only is None:
            cls.only = object.__new__(cls)
        return cls.only
assert One() is One() and isinstance(One(), One)
class Number:
    def __new__(cls):
        return 5
    def __init__(self):
        raise ValueError("never")
assert Number() == 5
class Child(Point):
    pass
c = Child(3, 4)
assert type(c) is Child and c.given == (3, 4) and Point.__new__(Point, 7).given == (7,)
class Plain:
    def __init__(self, x):
        self.x = x
bare = Plain.__new__(Plain)
assert not hasattr(bare, "x") and object.__new__(Plain) is not bare
class Failure(Exception):
    def __new__(cls, text):
        return super().__new__(cls, text)
try:
    raise Failure("why")
except Failure as e:
    assert str(e) == "why"
)py"),
            "");
}

TEST(Classes, AbstractOnesHaveNoInstances) {
  EXPECT_EQ(RunBody(R"py(
import abc
from abc import ABC, abstractmethod
def why(f):
    try:
        f()
    except TypeError as e:
        return str(e)
class Shape(ABC):
    @abstractmethod
    def area(self):
        return 1
    @property
    @abstractmethod
    def name(self): ...
    @staticmethod
    @abstractmethod
    def sides(): ...
assert why(Shape) == "Can't instantiate abstract class Shape with abstract methods area, name, sides", why(Shape)
class Half(Shape):
    def area(self):
        return super().area() + 1
    name = "half"
assert why(Half) == "Can't instantiate abstract class Half with abstract method sides", why(Half)
class Whole(Half):
    @staticmethod
    def sides():
        return 2
assert Whole().area() == 2 and Whole().name == "half" and Whole.sides() == 2
class Base(metaclass=abc.ABCMeta):
    @abc.abstractmethod
    def run(self): pass
assert "with abstract method run" in why(Base)
class Loose:  # without ABC nothing is enforced
    @abstractmethod
    def run(self):
        return 3
assert Loose().run() == 3
)py"),
            "");
}

TEST(Classes, WhatHasAnIndexIsAnInteger) {
  EXPECT_EQ(RunBody(R"py(
import operator
class I:
    def __init__(self, i):
        self.i = i
    def __index__(self):
        return self.i
two, t = I(2), torch.tensor(2)
for i in (two, t):
    assert [1, 2, 3][i] == 3 and (1, 2, 3)[i] == 3 and "abc"[i] == "c" and range(10, 20)[i] == 12
    assert list(range(i)) == [0, 1] and [1, 2, 3, 4][i:] == [3, 4] and "abcd"[:i] == "ab" and bin(i) == "0b10" and hex(i) == "0x2"
    assert operator.index(i) == 2 and int(i) == 2
    a = [1, 2, 3]
    a[i] = 9
    a.insert(i, 7)
    assert a == [1, 2, 7, 9] and a.pop(i) == 7
    del a[i]
    assert a == [1, 2]
assert [0] * two == [0, 0] and "ab" * two == "abab" and torch.tensor(True).__class__ is torch.Tensor
def why(f):
    try:
        f()
    except TypeError as e:
        return "TypeError"
assert why(lambda: [1][torch.tensor(1.5)]) == why(lambda: [1][torch.tensor([1, 2])]) == why(lambda: [1][1.0]) == why(lambda: bin(1.5)) == "TypeError"
a = list(range(10))
del a[::2]
assert a == [1, 3, 5, 7, 9]
del a[1:3]
assert a == [1, 7, 9]
a = list(range(10))
del a[::-3]
assert a == [1, 2, 4, 5, 7, 8]
del a[-2:]
assert a == [1, 2, 4, 5]
)py"),
            "");
}

TEST(Classes, DescriptorsAndFunctionAttributes) {
  EXPECT_EQ(RunBody(R"py(
import functools
class Positive:
    def __set_name__(self, owner, name):
        self.name = name
    def __get__(self, instance, owner):
        return self if instance is None else instance.__dict__.get("_" + self.name, 0)
    def __set__(self, instance, value):
        if value < 0:
            raise ValueError(self.name)
        setattr(instance, "_" + self.name, value)
class Box:
    size = Positive()
    def __init__(self, size):
        self.size = size
b = Box(3)
assert b.size == 3 and isinstance(Box.size, Positive) and b._size == 3
try:
    b.size = -1
    failed = False
except ValueError as e:
    failed = str(e) == "size"
assert failed
def counter():
    counter.calls += 1
    return counter.calls
counter.calls = 0
counter()
assert counter() == 2 and hasattr(counter, "calls") and not hasattr(counter, "other")
def twice(f):
    @functools.wraps(f)
    def g(*args):
        return f(*args) * 2
    g.times = 2
    return g
@twice
def one(x):
    return x + 1
assert one(1) == 4 and one.__name__ == "one" and one.times == 2 and one.__wrapped__(1) == 2
from enum import Enum
class E(Enum):
    A = 1
    B = 2
assert list(E.__members__) == ["A", "B"] and E.__members__["B"] is E.B
)py"),
            "");
}

TEST(Classes, DictOfAnObjectIsLive) {
  EXPECT_EQ(RunBody(R"py(
import copy
class A:
    def __init__(self, **kw):
        self.__dict__.update(kw)
a = A(x=1, y=2)
assert a.x == 1 and a.y == 2
d = vars(a)
d["z"] = 3
a.w = 4
assert a.z == 3 and d["w"] == 4 and "w" in d and d.pop("x") == 1 and not hasattr(a, "x")
del d["y"]
d |= {"v": 5}
assert a.__dict__ == {"z": 3, "w": 4, "v": 5}
for c in d.copy(), copy.copy(d), dict(d), d | {}:
    c["z"] = 9
assert a.z == 3
a.__dict__.clear()
assert vars(a) == {} and not hasattr(a, "z")
try:
    d["q"]
except KeyError:
    d.setdefault("q", 7)
assert a.q == 7
def f():
    pass
f.__dict__["count"] = 1
assert f.count == 1 and f.__name__ == "f"
)py"),
            "");
}

TEST(Classes, PrivateNamesAreOfTheirClass) {
  EXPECT_EQ(RunBody(R"py(
class A:
    __limit = 3
    def __init__(self):
        self.__v = 1
    def get(self):
        return self.__v, f"{self.__v}", self.__twice(), A.__limit
    def __twice(self, __n=2):
        return self.__v * __n
class __B(A):
    def __init__(self):
        super().__init__()
        self.__v = 2
        class In:
            def put(self): self.__v = 7; return self
        self.inner = In().put()
b = __B()
assert b.get() == (1, "1", 2, 3)
assert b._A__v == 1 and b._B__v == 2 and b.inner._In__v == 7 and not hasattr(b, "__v")
b.__v = 5
assert b.__v == 5
class C: __x = 1
assert C._C__x == 1
)py"),
            "");
}

TEST(Classes, OperatorsMayLeaveTheWorkToTheOtherSide) {
  EXPECT_EQ(RunBody(R"py(
class V:
    def __init__(self, v):
        self.v = v
    def __add__(self, o):
        return V(self.v + o.v) if isinstance(o, V) else NotImplemented
    def __iadd__(self, o):
        return NotImplemented
    def __eq__(self, o):
        return self.v == o.v if isinstance(o, V) else NotImplemented
    def __lt__(self, o):
        return self.v < o.v if isinstance(o, V) else NotImplemented
class W:
    def __radd__(self, o):
        return "reflected"
    def __gt__(self, o):
        return "greater"
    def __eq__(self, o):
        return True
assert (V(1) + V(2)).v == 3 and V(1) + W() == "reflected"
v = V(1)
v += V(4)
assert v.v == 5
assert V(1) != 1 and not V(1) == "a" and V(1) == V(1) and V(1) == W() and 3 == W()
assert V(1) < V(2) and (V(1) < W()) == "greater"
for f in (lambda: V(1) + 1, lambda: V(1) < 1, lambda: 1 + V(1)):
    try:
        f()
        assert False
    except TypeError as e:
        assert "'V'" in str(e)
assert Ellipsis is ... and NotImplemented is NotImplemented
)py"),
            "");
}

TEST(Classes, AnnotationsAreFieldsUnlessTheyAreClassVars) {
  EXPECT_EQ(RunBody(R"py(
import typing
from dataclasses import dataclass, fields
from typing import ClassVar
@dataclass
class C:
    K: ClassVar[int] = 7
    L: typing.ClassVar = 8
    M: "ClassVar[int]" = 9
    x: int = 0
assert repr(C(5)) == "C(x=5)" and C.K + C.L + C.M == 24 and len(fields(C)) == 1
)py"),
            "");
}

TEST(Classes, NamedTuplesAreMadeOfSequences) {
  EXPECT_EQ(RunBody(R"py(
from collections import namedtuple
P = namedtuple("P", "x y")
p = P._make([3, 4])
assert p == P(3, 4) and p.y == 4 and [P._make(r).x for r in ((1, 2), (5, 6))] == [1, 5]
)py"),
            "");
}

TEST(Classes, EnumsThatAreStrings) {
  EXPECT_EQ(RunBody(R"py(
from enum import Enum, IntEnum
class S(str, Enum):
    A = "a"
class I(IntEnum):
    B = 2
assert str(S.A) == "S.A" and f"{S.A}|{S.A:>5}" == "S.A|  S.A" and "x" + S.A == "xa" and S.A == "a"
assert S.A.upper() == "A" and S.A.startswith("a") and I.B.bit_length() == 2
assert f"{I.B}" == "2" and str(I.B) == "2"
)py"),
            "");
}

TEST(Classes, NamesOfCaughtExceptionsAreGoneAfterwards) {
  EXPECT_EQ(RunBody(R"py(
def gone():
    e = 1
    try:
        raise ValueError("a")
    except ValueError as e:
        assert str(e) == "a"
    try:
        return e
    except NameError:
        return "gone"
assert gone() == "gone"
def left():
    try:
        raise ValueError("a")
    except ValueError as e:
        return str(e)
assert left() == "a"
try:
    raise ValueError("a")
except ValueError as e:
    kept = e
try:
    print(e)
    assert False
except NameError:
    pass
assert str(kept) == "a"
for i in range(3):
    try:
        assert i < 1, ("big", i)
    except AssertionError as e:
        assert e.args == (("big", i),) and str(e) == f"('big', {i})"
)py"),
            "");
}

}  // namespace
}  // namespace tilevm::vm
