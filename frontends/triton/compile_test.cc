// Lowering, held to the printed open form.
#include "frontends/triton/compile.h"

#include <map>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "gtest/gtest.h"
#include "isa/print.h"
#include "isa/status.h"
#include "isa/verifier.h"

namespace tilevm::triton {
namespace {

using Files = std::map<std::string, std::string>;

CompileOptions OptionsFor(const Files& files) {
  CompileOptions options;
  options.load_file = [files](const std::string& path) -> absl::StatusOr<std::string> {
    auto found = files.find(path);
    if (found == files.end()) return absl::NotFoundError(path);
    return found->second;
  };
  return options;
}

// The program as text, checked by the verifier.
std::string Text(const std::string& source, const std::string& name = "main.py", const CompileOptions& options = {}) {
  absl::StatusOr<isa::Module> module = CompileTriton(source, name, options);
  if (!module.ok()) return FormatDiagnostic(module.status(), {SourceFile{name, source}});
  absl::Status verified = isa::VerifyModule(*module);
  if (!verified.ok()) return FormatDiagnostic(verified, module->files);
  return isa::Print(*module);
}

// The text without the lines of the imports, after Triton's usual two.
std::string Lowered(const std::string& source) {
  std::string text = Text(absl::StrCat("import triton\nimport triton.language as tl\n", source));
  const size_t last_import = text.rfind("\nimport ");
  if (last_import != std::string::npos) text = text.substr(text.find('\n', last_import + 1) + 1);
  return text;
}

// A kernel reads as its source: ops by their rows, assignments as binds.
TEST(CompileTest, VectorAdd) {
  EXPECT_EQ(Lowered(R"py(
@triton.jit
def add_kernel(x_ptr, y_ptr, output_ptr, n_elements, BLOCK_SIZE: tl.constexpr):
    """Adds."""
    pid = tl.program_id(axis=0)
    offsets = pid * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offsets < n_elements
    x = tl.load(x_ptr + offsets, mask=mask)
    tl.store(output_ptr + offsets, x, mask)
)py"), R"asm(
function add_kernel (x_ptr, y_ptr, output_ptr, n_elements, BLOCK_SIZE: constexpr)
    %pid := program_id 0
    %0 = mul %pid, %BLOCK_SIZE
    %1 = arange 0, %BLOCK_SIZE
    %offsets := add %0, %1
    %mask := lt %offsets, %n_elements
    %2 = add %x_ptr, %offsets
    %x := load %2, mask=%mask
    %3 = add %output_ptr, %offsets
    store %3, %x, mask=%mask

cell [add_kernel]
    %0 = make_function $add_kernel
    %1 = call @triton.jit, %0
    set_global %1, add_kernel
)asm");
}

// Annotations, defaults and kinds of parameters.
TEST(CompileTest, Parameters) {
  EXPECT_EQ(Lowered(R"py(
@triton.jit(do_not_specialize=["n"])
def k(x, n: tl.int64, p: tl.pointer_type(tl.float32), f: float, B: tl.constexpr, C: "tl.constexpr" = 4, *a, d: 'tl.uint8' = None, **kw):
    pass
def h(x, /, y: torch.Tensor = 1): pass
)py"), R"asm(
function k (x, n: i64, p: ptr<f32>, f: "float", B: constexpr, C: constexpr = _, *a, d: u8 = _, **kw)
    return

cell [k]
    %0 = make_function $k, 4, None
    %1 = const @triton.jit
    %2 = make_list "n"
    %3 = call %1, do_not_specialize=%2
    %4 = call %3, %0
    set_global %4, k

function h (x, /, y: "torch.Tensor" = _)
    return

cell [h]
    %0 = make_function $h, 1
    set_global %0, h
)asm");
}

// bind, bind_const, tuples, augmented, attributes and items.
TEST(CompileTest, Assignments) {
  EXPECT_EQ(Lowered(R"py(
def f(x, B):
    y: tl.constexpr = B * 2
    z: tl.int32 = 3
    u, (v, *w) = x
    u, v = v, u
    a = b = z
    u += a
    x[0], x.t = b, u
    x[v] *= 2
    x.t -= 1
    del x[0], w
    return w
)py"), R"asm(
function f (x, B)
    %0 = mul %B, 2
    %y = bind_const %0
    %z = bind 3
    %1, %2 = unpack %x
    %u = bind %1
    %3, %4 = unpack %2, 2
    %v = bind %3
    %w = bind %4
    %u.1 = bind %v
    %v.1 = bind %u
    %a = bind %z
    %b = bind %z
    %u.2 := iadd %u.1, %a
    set_item %x, 0, %b
    set_attr %x, t, %u.2
    %5 = index %x, %v.1
    %6 = imul %5, 2
    set_item %x, %v.1, %6
    %7 = getattr %x, t
    %8 = isub %7, 1
    set_attr %x, t, %8
    del_item %x, 0
    %9 = unbound w
    return %9

cell [f]
    %0 = make_function $f
    set_global %0, f
)asm");
}

// Arguments go to the operands of the row, by place, by its names or by Triton's.
TEST(CompileTest, OpArguments) {
  EXPECT_EQ(Lowered(R"py(
@triton.jit
def k(x, m):
    tl.store(pointer=x, value=1, mask=m)
    s = tl.sum(input=x, axis=1, keep_dims=True)
    r = tl.reshape(x, 4, 8)
    r = tl.permute(r, (1, 0))
    r = tl.reduce((x, s), 0, add)
    c = tl.atomic_add(x, val=1, sem="relaxed")
    tl.device_print("v", x, s, hex=True)
    tl.debug_barrier()
    return tl.dot(x, other=r, acc=s)
)py"), R"asm(
function k (x, m)
    store %x, 1, mask=%m
    %s := sum %x, axis=1, keep_dims=True
    %0 = make_tuple 4, 8
    %r := reshape %x, %0
    %1 = make_tuple 1, 0
    %r.1 := permute %r, %1
    %2 = make_tuple %x, %s
    %3 = const 0
    %4 = global add
    %r.2 := reduce %2, %3, %4
    %c := atomic_add %x, 1, sem="relaxed"
    device_print "v", %x, %s, hex=True
    debug_barrier
    %5 = dot %x, %r.2, acc=%s
    return %5

cell [k]
    %0 = make_function $k
    %1 = call @triton.jit, %0
    set_global %1, k
)asm");
}

// Stars, unknown keywords, too many or too few arguments: the evaluator binds them and words the error.
TEST(CompileTest, CallsLeftToTheEvaluator) {
  EXPECT_EQ(Lowered(R"py(
@triton.jit
def k(x):
    tl.store(*x)
    tl.load(x, bogus=1)
    tl.exp(x, x)
    tl.where(x)
    tl.range(0, x, num_stages=2)
    x.to(tl.float16, bitcast=True)
    min(x, **x)
)py"), R"asm(
function k (x)
    %0 = const @triton.language.store
    %1 = star %x
    call %0, %1
    call @triton.language.load, %x, bogus=1
    call @triton.language.exp, %x, %x
    call @triton.language.where, %x
    call @triton.language.range, 0, %x, num_stages=2
    call_method %x, to, f16, bitcast=True
    %2 = global min
    %3 = double_star %x
    call %2, %x, %3

cell [k]
    %0 = make_function $k
    %1 = call @triton.jit, %0
    set_global %1, k
)asm");
}

// Results of if are the names assigned in it; one that is unbound on a path is so there.
TEST(CompileTest, If) {
  EXPECT_EQ(Lowered(R"py(
def f(c, x):
    if c:
        x = 1
        y = 2
        only_here = 3
        x = only_here
    elif x:
        x = 4
    if c:
        return y
    return x
)py"), R"asm(
function f (c, x)
    %x.5, %y.1 = if %c
        %x.1 = bind 1
        %y = bind 2
        %only_here = bind 3
        %x.2 = bind %only_here
        yield %x.2, %y
    else
        %x.4 = if %x
            %x.3 = bind 4
            yield %x.3
        else
            yield %x
        %0 = unbound y
        yield %x.4, %0
    if %c
        return %y.1
    return %x.5

cell [f]
    %0 = make_function $f
    set_global %0, f
)asm");
}

// An arm that leaves yields nothing.
TEST(CompileTest, IfThatLeaves) {
  EXPECT_EQ(Lowered(R"py(
def f(c, x):
    if c:
        y = 1
    else:
        return None
    if x:
        return y
    else:
        raise x
)py"), R"asm(
function f (c, x)
    %y.1 = if %c
        %y = bind 1
        yield %y
    else
        return None
    if %x
        return %y.1
    else
        raise %x

cell [f]
    %0 = make_function $f
    set_global %0, f
)asm");
}

// A loop carries what its body assigns and someone may read later; the item is not bound.
TEST(CompileTest, For) {
  EXPECT_EQ(Lowered(R"py(
def f(x, n):
    acc = 0
    for i in range(n):
        t = i * 2
        acc += t
        last = t
    return acc, last, i
)py"), R"asm(
function f (x, n)
    %acc = bind 0
    %0 = global range
    %1 = call %0, %n
    %2 = unbound i
    %3 = unbound last
    %4, %acc.3, %last.2 = for %5 in %1 carry(%6 = %2, %acc.1 = %acc, %last = %3)
        %t := mul %5, 2
        %acc.2 := iadd %acc.1, %t
        %last.1 = bind %t
        yield %5, %acc.2, %last.1
    %7 = make_tuple %acc.3, %last.2, %4
    return %7

cell [f]
    %0 = make_function $f
    set_global %0, f
)asm");
}

// They carry the values of the innermost loop; else needs to know of a break.
TEST(CompileTest, BreakAndContinue) {
  EXPECT_EQ(Lowered(R"py(
def f(x):
    for a, b in x:
        if a:
            continue
        x = b
        if b:
            break
    else:
        x = 0
    return x
)py"), R"asm(
function f (x)
    %x.3, %0 = for %1 in %x carry(%x.1 = %x, %2 = False)
        %3, %4 = unpack %1
        if %3
            continue %x.1, %2
        %x.2 = bind %4
        if %4
            break %x.2, True
        yield %x.2, %2
    %5 = not %0
    %x.5 = if %5
        %x.4 = bind 0
        yield %x.4
    else
        yield %x.3
    return %x.5

cell [f]
    %0 = make_function $f
    set_global %0, f
)asm");
}

// The condition is a region of its own.
TEST(CompileTest, While) {
  EXPECT_EQ(Lowered(R"py(
def f(x):
    while x < 3:
        x += 1
        t = x
    return x
)py"), R"asm(
function f (x)
    %x.4 = while carry(%x.1 = %x)
        %0 = lt %x.1, 3
        yield %0, %x.1
    body %x.2
        %x.3 := iadd %x.2, 1
        %t = bind %x.3
        yield %x.3
    return %x.4

cell [f]
    %0 = make_function $f
    set_global %0, f
)asm");
}

// and, or, the ternary and chained comparison evaluate their right parts when needed.
TEST(CompileTest, LazyParts) {
  EXPECT_EQ(Lowered(R"py(
def f(a, b, c):
    return a and b or not c, a < b <= c, a if b else c, (d := a), d
)py"), R"asm(
function f (a, b, c)
    %0 = and %a
        yield %b
    %1 = or %0
        %2 = not %c
        yield %2
    %3 = lt %a, %b
    %4 = and %3
        %5 = le %b, %c
        yield %5
    %6 = ternary %b
        yield %a
    else
        yield %c
    %d = bind %a
    %7 = make_tuple %1, %4, %6, %d, %d
    return %7

cell [f]
    %0 = make_function $f
    set_global %0, f
)asm");
}

// What an assignment expression sets there may not be set at all.
TEST(CompileTest, WalrusInALazyPart) {
  EXPECT_EQ(Lowered(R"py(
def f(a):
    x = a and (y := a)
    return y
)py"), R"asm(
function f (a)
    %x := and %a
        %y = bind %a
        yield %y
    %0 = unbound y
    return %0

cell [f]
    %0 = make_function $f
    set_global %0, f
)asm");
}

// One collect for each for; conditions give empty lists.
TEST(CompileTest, Comprehensions) {
  EXPECT_EQ(Lowered(R"py(
def f(x, y):
    return [a + y for a in x if a for b in a], {k: v for k, v in x}, {a for a in x}, (a for a in x)
)py"), R"asm(
function f (x, y)
    %0 = collect %x do %1
        %2 = if %1
            %3 = collect %1 do %4
                %5 = add %1, %y
                %6 = make_list %5
                yield %6
            yield %3
        else
            %7 = make_list
            yield %7
        yield %2
    %8 = collect %x, 1 do %9
        %10, %11 = unpack %9
        %12 = make_tuple %10, %11
        %13 = make_list %12
        yield %13
    %14 = collect %x, 2 do %15
        %16 = make_list %15
        yield %16
    %17 = collect %x, 3 do %18
        %19 = make_list %18
        yield %19
    %20 = make_tuple %0, %8, %14, %17
    return %20

cell [f]
    %0 = make_function $f
    set_global %0, f
)asm");
}

// f-strings format their parts.
TEST(CompileTest, Strings) {
  EXPECT_EQ(Lowered(R"py(
def f(x):
    return f"{x!r:>{x}} {x:.2f} {x}" "tail", f"plain"
)py"), R"asm(
function f (x)
    %0 = call @builtins.repr, %x
    %1 = const @builtins.format
    %2 = format ">", %x
    %3 = call %1, %0, %2
    %4 = const " "
    %5 = call @builtins.format, %x, ".2f"
    %6 = format %3, %4, %5, " ", %x, "tail"
    %7 = make_tuple %6, "plain"
    return %7

cell [f]
    %0 = make_function $f
    set_global %0, f
)asm");
}

// A function captures the locals that it reads.
TEST(CompileTest, ClosuresAndLambdas) {
  EXPECT_EQ(Lowered(R"py(
def f(n):
    def inner(m): return n + m + tl.cdiv(n, G)
    grid = lambda meta, k=n: (n, k, meta["B"])
    kernel[grid](n)
    return inner
)py"), R"asm(
function inner [n] (m)
    %0 = add %n, %m
    %1 = global G
    %2 = cdiv %n, %1
    %3 = add %0, %2
    return %3

function "<lambda>" [n] (meta, k = _)
    %0 = index %meta, "B"
    %1 = make_tuple %n, %k, %0
    return %1

function f (n)
    %0 = make_function $inner, %n
    %grid := make_function $1, %n, %n
    %1 = global kernel
    %2 = index %1, %grid
    call %2, %n
    return %0

cell [f]
    %0 = make_function $f
    set_global %0, f
)asm");
}

// A captured name that changes later is shared through a cell.
TEST(CompileTest, ANameIsRebound) {
  EXPECT_EQ(Lowered(R"py(
def f(n):
    g = lambda: n
    n = 2
    return g
)py"), R"asm(
function "<lambda>" [n] ()
    %0 = getattr %n, value
    return %0

function f (n)
    %0 = call @tilevm.cell, "n"
    set_attr %0, value, %n
    %g := make_function $0, %0
    set_attr %0, value, 2
    return %g

cell [f]
    %0 = make_function $f
    set_global %0, f
)asm");
}

// Bases, then attributes; annotated names are its fields.
TEST(CompileTest, Classes) {
  EXPECT_EQ(Lowered(R"py(
class P(Base):
    """doc"""
    x: int
    y: int = 3
    @staticmethod
    def make(a): return P(a, y)
)py"), R"asm(
function make (a)
    %0 = global P
    %1 = global y
    %2 = call %0, %a, %1
    return %2

cell [P]
    %0 = global Base
    %1 = const "x"
    %2 = const "y"
    %3 = const 3
    %4 = make_function $make
    %5 = global staticmethod
    %6 = call %5, %4
    %7 = make_tuple %1, %2
    %8 = make_class P, %0, y=%3, make=%6, __annotations__=%7
    set_global %8, P
)asm");
}

// Applied from the inside out, by decorator or by call.
TEST(CompileTest, Decorators) {
  EXPECT_EQ(Lowered(R"py(
@triton.autotune(configs=[triton.Config({"B": b}, num_warps=4) for b in (1, 2)], key=["n"])
@triton.heuristics({"E": lambda args: args["n"] % 2 == 0})
@triton.jit
def k(n, B: tl.constexpr, E: tl.constexpr): pass
k2 = triton.jit(raw)
)py"), R"asm(
function k (n, B: constexpr, E: constexpr)
    return

function "<lambda>" (args)
    %0 = index %args, "n"
    %1 = mod %0, 2
    %2 = eq %1, 0
    return %2

cell [k]
    %0 = make_function $k
    %1 = call @triton.jit, %0
    %2 = const @triton.heuristics
    %3 = const "E"
    %4 = make_function $1
    %5 = make_dict %3, %4
    %6 = call %2, %5
    %7 = call %6, %1
    %8 = const @triton.autotune
    %9 = make_tuple 1, 2
    %10 = collect %9 do %11
        %12 = const @triton.Config
        %13 = make_dict "B", %11
        %14 = call %12, %13, num_warps=4
        %15 = make_list %14
        yield %15
    %16 = make_list "n"
    %17 = call %8, configs=%10, key=%16
    %18 = call %17, %7
    set_global %18, k

cell [k2]
    %0 = const @triton.jit
    %1 = global raw
    %2 = call %0, %1
    set_global %2, k2
)asm");
}

// Handlers ask for the type of the exception; what is assigned inside is kept in cells.
TEST(CompileTest, TryAndWith) {
  EXPECT_EQ(Lowered(R"py(
def f(x):
    try:
        r = x()
    except (A, B) as e:
        r = e
    else:
        r += 1
    finally:
        print(1)
    with x as y, r:
        q = y
    return q
)py"), R"asm(
function f (x)
    %0 = call @tilevm.cell, "e"
    %1 = call @tilevm.cell, "r"
    %2 = call @tilevm.cell, "y"
    %3 = call @tilevm.cell, "q"
    try
        %4 = call %x
        set_attr %1, value, %4
    handler %5
        %6 = const @builtins.isinstance
        %7 = global A
        %8 = global B
        %9 = make_tuple %7, %8
        %10 = call %6, %5, %9
        if %10
            set_attr %0, value, %5
            %11 = getattr %0, value
            set_attr %1, value, %11
            set_attr %0, value, None
            call @builtins.delattr, %0, "value"
        else
            raise %5
    orelse
        %12 = getattr %1, value
        %13 = iadd %12, 1
        set_attr %1, value, %13
    final
        %14 = global print
        call %14, 1
    with %x do %15
        set_attr %2, value, %15
        %16 = getattr %1, value
        with %16 do %17
            %18 = getattr %2, value
            set_attr %3, value, %18
    %19 = getattr %3, value
    return %19

cell [f]
    %0 = make_function $f
    set_global %0, f
)asm");
}

// At module level names are globals, and nothing is a register.
TEST(CompileTest, ModuleLevel) {
  EXPECT_EQ(Lowered(R"py(
"""doc"""
X = 1
for i in range(3):
    if i: break
    X += i
if __name__ == "__main__":
    [f(x) for x in y]
1
)py"), R"asm(
cell [X]
    set_global 1, X

cell [i, X]
    %0 = global range
    %1 = call %0, 3
    for %2 in %1
        set_global %2, i
        %3 = global i
        if %3
            break
        %4 = global X
        %5 = global i
        %6 = iadd %4, %5
        set_global %6, X

cell
    %0 = global __name__
    %1 = eq %0, "__main__"
    if %1
        %2 = global y
        collect %2 do %3
            %4 = global f
            %5 = call %4, %3
            %6 = make_list %5
            yield %6
)asm");
}

// A declared global is set where it stands.
TEST(CompileTest, Globals) {
  EXPECT_EQ(Lowered(R"py(
def f():
    global X
    X = 1
    return X
)py"), R"asm(
function f ()
    set_global 1, X
    %0 = global X
    return %0

cell [f]
    %0 = make_function $f
    set_global %0, f
)asm");
}

// What is not supported is an error where it is reached, and nowhere else.
TEST(CompileTest, Stubs) {
  EXPECT_EQ(Lowered(R"py(
async def a(): pass
def g(): yield 1
def f():
    x = 1j, b"a", "\N{DASH}", 1 << 3, 340282366920938463463374607431768211455
    match x:
        case 1: pass
    nonlocal_is_fine = 1
    return x
type T = int
)py"), R"asm(
function a ()
    stub "async functions are not supported"

cell [a]
    %0 = make_function $a
    set_global %0, a

function g ()
    %0 = call @tilevm.generator
    call @tilevm.yield, %0, 1

cell [g]
    %0 = make_function $g
    set_global %0, g

function f ()
    %0 = stub "complex numbers are not supported"
    %1 = stub "bytes literals are not supported"
    %2 = stub "\\N{...} escapes are not supported"
    %3 = shl 1, 3
    %4 = stub "integer literals beyond 128 bits are not supported"
    %x := make_tuple %0, %1, %2, %3, %4
    stub "match statements are not supported"
    %nonlocal_is_fine = bind 1
    return %x

cell [f]
    %0 = make_function $f
    set_global %0, f

cell
    stub "type alias statements are not supported"
)asm");
}

// A negative literal is one constant.
TEST(CompileTest, NegativeLiterals) {
  EXPECT_EQ(Lowered(R"py(
def f(): return -1, -1.5, -170141183460469231731687303715884105727, - -2, +3, ~4
)py"), R"asm(
function f ()
    %0 = const -1
    %1 = const -1.5
    %2 = const -170141183460469231731687303715884105727
    %3 = neg -2
    %4 = pos 3
    %5 = invert 4
    %6 = make_tuple %0, %1, %2, %3, %4, %5
    return %6

cell [f]
    %0 = make_function $f
    set_global %0, f
)asm");
}

// Loop targets of consecutive loops do not carry each other's values; a bound one does.
TEST(CompileTest, RepeatedNames) {
  EXPECT_EQ(Lowered(R"py(
def f(n):
    for i in range(n):
        n += i
    for i in range(n):
        n += i
    j = 0
    for j in range(n):
        pass
    return n, j
)py"), R"asm(
function f (n)
    %0 = global range
    %1 = call %0, %n
    %n.3 = for %2 in %1 carry(%n.1 = %n)
        %n.2 := iadd %n.1, %2
        yield %n.2
    %3 = global range
    %4 = call %3, %n.3
    %n.6 = for %5 in %4 carry(%n.4 = %n.3)
        %n.5 := iadd %n.4, %5
        yield %n.5
    %j = bind 0
    %6 = global range
    %7 = call %6, %n.6
    %8 = for %9 in %7 carry(%10 = %j)
        yield %9
    %11 = make_tuple %n.6, %8
    return %11

cell [f]
    %0 = make_function $f
    set_global %0, f
)asm");
}

// ---- names ----

// `name = <expression>` at module level gives the path that the front end finds.
std::string ValueOf(const std::string& imports, const std::string& expression) {
  const std::string text = Text(absl::StrCat(imports, "\nvalue = ", expression, "\n"));
  const size_t at = text.find("cell [value]\n    ");
  if (at == std::string::npos) return text;
  const size_t begin = text.find("\n    ", at) + 5;
  return text.substr(begin, text.find('\n', begin) - begin);
}

TEST(CompileNamesTest, AliasesOfTriton) {
  EXPECT_EQ(ValueOf("import triton.language as tl", "tl.float32"), "set_global f32, value");
  EXPECT_EQ(ValueOf("import triton.language as tl", "tl.load"), "set_global @triton.language.load, value");
  EXPECT_EQ(ValueOf("import triton.language as tl", "tl.math.exp2"), "set_global @triton.language.exp2, value");
  EXPECT_EQ(ValueOf("import triton.language as tl", "tl.core.constexpr"), "set_global @triton.language.constexpr, value");
  EXPECT_EQ(ValueOf("import triton", "triton.language.standard._log2"), "set_global @triton.language._log2, value");
  EXPECT_EQ(ValueOf("from triton import language as L", "L.cdiv"), "set_global @triton.language.cdiv, value");
  EXPECT_EQ(ValueOf("from triton.language import *", "load"), "set_global @triton.language.load, value");
  EXPECT_EQ(ValueOf("import torch.nn.functional as F", "F.gelu"), "set_global @torch.nn.functional.gelu, value");
  EXPECT_EQ(ValueOf("import triton.language as tl", "tl.float32.primitive_bitwidth"), "%0 = getattr f32, primitive_bitwidth");
}

TEST(CompileNamesTest, LibdeviceByAnyOfItsPaths) {
  const std::string expected = "set_global @libdevice.tanh, value";
  EXPECT_EQ(ValueOf("import triton.language as tl", "tl.extra.cuda.libdevice.tanh"), expected);
  EXPECT_EQ(ValueOf("from triton.language.extra import libdevice", "libdevice.tanh"), expected);
  EXPECT_EQ(ValueOf("from triton.language.extra.libdevice import tanh as t", "t"), expected);
  EXPECT_EQ(ValueOf("import triton.language as tl", "tl.math.tanh"), expected);
  EXPECT_EQ(ValueOf("import triton.language as tl", "tl.libdevice.tanh"), expected);
}

TEST(CompileNamesTest, ImportsThatAgreeAreOneName) {
  EXPECT_EQ(Text(R"py(
try:
    from triton.language.extra.libdevice import tanh
except ModuleNotFoundError:
    from triton.language.extra.cuda.libdevice import tanh
f = tanh
)py"),
            "import tanh = libdevice.tanh\n\ncell [f]\n    set_global @libdevice.tanh, f\n");
}

TEST(CompileNamesTest, ARebindingMakesItAnOrdinaryGlobal) {
  EXPECT_EQ(Text("import torch\nif x:\n    torch = None\ny = torch.empty\n"), R"asm(cell [torch]
    set_global @torch, torch

cell [torch]
    %0 = global x
    if %0
        set_global None, torch

cell [y]
    %0 = global torch
    %1 = getattr %0, empty
    set_global %1, y
)asm");
}

TEST(CompileNamesTest, ALocalHidesAnImport) {
  EXPECT_EQ(Text("import math\ndef f(math):\n    import os.path as p\n    return math.pi, p.join\n"), R"asm(import math = math

function f (math)
    %0 = const @os.path
    %1 = getattr %math, pi
    %2 = make_tuple %1, @os.path.join
    return %2

cell [f]
    %0 = make_function $f
    set_global %0, f
)asm");
}

// Each Triton spelling of the op table, called with as many arguments as the row needs, is that op.
TEST(CompileNamesTest, EverySpellingOfTheOpTable) {
  int checked = 0;
  for (const isa::OpInfo& info : isa::AllOps()) {
    int needed = 0;
    for (const isa::OperandSpec& operand : info.operands) {
      const bool given = operand.kind == isa::OperandKind::kValue || operand.kind == isa::OperandKind::kStatic;
      needed += given && !operand.optional ? 1 : 0;
    }
    for (absl::string_view surface : absl::StrSplit(info.surface, ' ', absl::SkipEmpty())) {
      if (surface[0] == '.') continue;  // methods are looked up when they are evaluated
      const bool library = absl::StartsWith(surface, "libdevice.");
      const std::string call = absl::StrCat(library ? "" : "tl.", surface, "(", absl::StrJoin(std::vector<std::string>(needed, "x"), ", "), ")");
      absl::StatusOr<isa::Module> module =
          CompileTriton(absl::StrCat("import triton.language as tl\nfrom triton.language.extra import libdevice\ndef f(x):\n    ", call, "\n"), "main.py");
      ASSERT_TRUE(module.ok()) << call;
      EXPECT_EQ(module->functions[0].body.body[0].op, info.op) << call;
      EXPECT_TRUE(isa::VerifyModule(*module).ok()) << call << isa::VerifyModule(*module);
      ++checked;
    }
  }
  EXPECT_GT(checked, 120);
}

// ---- sibling files ----

// Of a sibling only what is asked for, and what that reads, is lowered.
TEST(CompileFilesTest, FollowsImports) {
  const Files files = {{"dir/helper.py", "import triton.language as tl\nfrom .deeper import two\nOTHER = 2\nONE = base() + 1\ndef base(): return 0\n"},
                       {"dir/deeper.py", "two = 2\n"},
                       {"dir/unused.py", "syntax error here\n"}};
  EXPECT_EQ(Text("from helper import ONE, tl as language, two\nimport helper as h\nimport unused\nx = ONE, language.float32, two, h.ONE, h.missing\n",
                 "dir/main.py", OptionsFor(files)),
            R"asm(unit "__main__"
import ONE = "unit:1.ONE"
import language = triton.language
import two = "unit:2.two"
import h = "unit:1"
import unused = unused

unit "helper"
import tl = triton.language
import two = "unit:2.two"

unit "deeper"

unit "__main__"

cell [x]
    %0 = make_tuple @"unit:1.ONE", f32, @"unit:2.two", @"unit:1.ONE", @"unit:1.missing"
    set_global %0, x

unit "helper"

cell [ONE]
    %0 = global base
    %1 = call %0
    %2 = add %1, 1
    set_global %2, ONE

function base ()
    return 0

cell [base]
    %0 = make_function $base
    set_global %0, base

unit "deeper"

cell [two]
    set_global 2, two
)asm");
}

TEST(CompileFilesTest, PackagesAndFolders) {
  const Files files = {{"root/pkg/__init__.py", "from .ops import kernel\n"},
                       {"root/pkg/ops/__init__.py", ""},
                       {"root/pkg/ops/kernel.py", "def f(): pass\n"},
                       {"root/pkg/utils.py", "u = 1\n"},
                       {"lib/extra.py", "e = 1\n"}};
  CompileOptions options = OptionsFor(files);
  options.include_dirs = {"lib"};
  const std::string text = Text("from ..utils import u\nfrom pkg.ops.kernel import f\nfrom pkg import kernel\nimport pkg.utils\nfrom extra import e\n"
                                "x = u, f, kernel.f, pkg.utils.u, e\n",
                                "root/pkg/ops/main.py", options);
  EXPECT_TRUE(absl::StrContains(text, "make_tuple @\"unit:1.u\", @\"unit:2.f\", @\"unit:2.f\", @\"unit:1.u\", @\"unit:4.e\"")) << text;
}

TEST(CompileFilesTest, AFileThatCannotBeReadIsAStub) {
  const std::string text = Text("from bad import f\nfrom good import g\nx = f\n", "main.py", OptionsFor({{"bad.py", "x = = 1\n"}}));
  EXPECT_TRUE(absl::StrContains(text, "import f = \"unit:1.f\"\nimport g = good.g\n")) << text;
  EXPECT_TRUE(absl::StrContains(text, "unit \"bad\"\n\ncell [f]\n    %0 = stub \"invalid syntax\"\n    set_global %0, f\n")) << text;
}

TEST(CompileFilesTest, ImportsInACircleEnd) {
  const Files files = {{"a.py", "from b import x\n"}, {"b.py", "from a import x\n"}};
  const std::string text = Text("from a import x\ny = x\n", "main.py", OptionsFor(files));
  EXPECT_TRUE(absl::StrContains(text, "cell [y]")) << text;
}

TEST(CompileFilesTest, TheNumberOfFilesIsLimited) {
  CompileOptions options;
  options.max_files = 5;
  options.load_file = [](const std::string& path) -> absl::StatusOr<std::string> {
    if (absl::StrContains(path, "/") || !absl::EndsWith(path, ".py")) return absl::NotFoundError(path);
    const std::string stem = path.substr(0, path.size() - 3);
    return absl::StrCat("from ", stem, "x import v\nw = v\n");
  };
  absl::StatusOr<isa::Module> module = CompileTriton("from mod import v\nw = v\n", "main.py", options);
  ASSERT_TRUE(module.ok()) << module.status();
  EXPECT_EQ(module->units.size(), 5);
}

// ---- errors, places, limits ----

TEST(CompileErrorsTest, SyntaxErrorsNameTheirPlace) {
  EXPECT_EQ(Text("x = 1\ny = = 2\n", "k.py"), "k.py:2:5: error: invalid syntax\ny = = 2\n    ^\n");
}

TEST(CompileErrorsTest, PlacesOfInstructions) {
  absl::StatusOr<isa::Module> module =
      CompileTriton("import triton.language as tl\ndef f(x):\n    y = x + tl.exp(\n        x.to(tl.float32))\n", "main.py");
  ASSERT_TRUE(module.ok());
  const std::vector<isa::Inst>& body = module->functions[0].body.body;
  std::string places;
  for (const isa::Inst& inst : body) absl::StrAppend(&places, isa::Mnemonic(inst.op), " ", inst.loc.line, ":", inst.loc.col, "; ");
  EXPECT_EQ(places, "const 4:14; call_method 4:11; exp 3:13; add 3:11; bind 3:5; return 2:5; ");
}

TEST(CompileErrorsTest, DeepNestingIsAStub) {
  const auto chain = [](int count) {
    std::string source = "def f(a):\n if a: pass\n";
    for (int i = 1; i <= count; ++i) absl::StrAppend(&source, " elif a: pass\n");
    return source;
  };
  EXPECT_TRUE(absl::StrContains(Text(chain(600)), "stub \"statements and expressions nest more than 512 deep\""));
  EXPECT_FALSE(absl::StrContains(Text(chain(400)), "stub"));
}

TEST(CompileErrorsTest, EmptyAndStrangeSources) {
  EXPECT_EQ(Text(""), "");
  EXPECT_EQ(Text("# nothing\n\"\"\"doc\"\"\"\npass\n"), "");
  EXPECT_TRUE(absl::StrContains(Text(std::string("x\0y", 3)), "null bytes"));
}

}  // namespace
}  // namespace tilevm::triton
