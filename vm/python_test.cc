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
  EXPECT_TRUE(absl::StrContains(RunBody("a = 1\na += [5]\n"), "TypeError: unsupported operand types for +: 'int' and 'list'"));
}

}  // namespace
}  // namespace tilevm::vm
