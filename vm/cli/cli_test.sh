#!/usr/bin/env bash
# The tilevm program from outside: every verb, its exit code, what it prints and what it leaves behind.
#   cli_test.sh TILEVM
set -u
tilevm=$PWD/$1
examples=$PWD/examples
work=${TEST_TMPDIR:-$(mktemp -d)}
cd "$work" || exit 1
failures=0

# check NAME WANTED_CODE COMMAND…: runs it; stdout and stderr are in out and err.
check() {
  local name=$1 wanted=$2 code
  shift 2
  "$@" >out 2>err </dev/null
  code=$?
  if [[ $code -ne $wanted ]]; then
    echo "FAIL $name: exit code $code, wanted $wanted: $*"
    sed 's/^/  out: /' out | head -n 20
    sed 's/^/  err: /' err | head -n 20
    failures=$((failures + 1))
  fi
}
# says FILE TEXT: the last command printed it.
says() {
  grep -qF -- "$2" "$1" || {
    echo "FAIL no '$2' in $1 of the last command:"
    sed 's/^/  /' "$1" | head -n 20
    failures=$((failures + 1))
  }
}
same() {
  cmp -s "$1" "$2" || {
    echo "FAIL $1 and $2 differ"
    failures=$((failures + 1))
  }
}
absent() {
  [[ ! -e $1 ]] || {
    echo "FAIL $1 was left behind"
    failures=$((failures + 1))
  }
}

check version 0 "$tilevm" --version
says out "tilevm "
check help 0 "$tilevm" --help
for verb in run compile as dis info verify inspect devices cache; do
  check "help of $verb" 0 "$tilevm" $verb --help
  says out "tilevm $verb "
done
check "no verb" 2 "$tilevm"
check "unknown verb" 2 "$tilevm" fly
says err "there is no verb 'fly'"
check "output that cannot be written" 1 bash -c "'$tilevm' info '$examples/vector_add.py' >/dev/full"
says err "standard output cannot be written"
check "unknown option" 2 "$tilevm" run --fly "$examples/vector_add.py"

check "run a file" 0 "$tilevm" run "$examples/vector_add.py" --device cpu
says out "vector_add.py: ran as __main__: 1 launch of add_kernel on cpu; all checks of the file passed (1 assert_close)"

check "run a file with a lock" 0 "$tilevm" run "$examples/layer_norm.py" --check
says out "layer_norm: forward and backward agree with torch"
says out "--check found nothing"

kernel_args=(n_elements=1000 "x_ptr=randn(n_elements, seed=1)" "y_ptr=ones(n_elements)" "output_ptr=empty_like(x_ptr)" BLOCK_SIZE=256)
grid='cdiv(n_elements, BLOCK_SIZE)'
check "run a kernel" 0 "$tilevm" run "$examples/vector_add.py" add_kernel "${kernel_args[@]}" --grid "$grid" -o output_ptr=source.npy -o x_ptr=x.npy --check
says out "--check found nothing"
cat >notes.py <<'PY'
import triton
import triton.language as tl
@triton.jit
def same(x):
    tl.store(x, 1.0)
@triton.jit
def copy(x, y):
    tl.store(y, tl.load(x))
PY
check "a race of equal values is a note" 0 "$tilevm" run notes.py same 'x=zeros(1)' --grid 4 --check
says err "note: same-value race"
check "an uninitialised read says where the value comes from" 3 "$tilevm" run notes.py copy 'x=empty(1)' 'y=zeros(1)' --grid 1 --check
says err "note: where the value comes from"
check compile 0 "$tilevm" compile "$examples/vector_add.py" -o vector_add.tbc
says out "identity "
identity=$(grep -o 'identity [0-9a-f]*' out)
check "run bytecode" 0 "$tilevm" run vector_add.tbc add_kernel "${kernel_args[@]}" --grid "$grid" -o output_ptr=bytecode.npy
same source.npy bytecode.npy
check "a tensor from a file" 0 "$tilevm" run vector_add.tbc add_kernel "n_elements=1000" "x_ptr=@x.npy" "y_ptr=ones(1000)" "output_ptr=empty(1000)" \
  BLOCK_SIZE=128 --grid "$grid" -o output_ptr=file.npy
same source.npy file.npy
check dis 0 "$tilevm" dis vector_add.tbc -o vector_add.tasm
check as 0 "$tilevm" as vector_add.tasm -o again.tbc
says out "$identity"
check "as -" 0 bash -c "'$tilevm' dis vector_add.tbc | '$tilevm' as -"
says out "$identity"
check info 0 "$tilevm" info vector_add.tbc
says out "$identity"
says out "code"
says out "add_kernel(x_ptr, y_ptr, output_ptr, n_elements, BLOCK_SIZE)"
check "info --json" 0 "$tilevm" info vector_add.tbc --json
says out '"identity"'
check verify 0 "$tilevm" verify vector_add.tbc
says out "sound"

check "host function" 0 "$tilevm" run "$examples/fused_softmax.py" softmax "x=randn(37, 100, seed=3)" -o y.npy
says out "result = f32[37, 100]:"
cat >pair.py <<'PY'
import torch
def pair(x):
    return x + 1, x * 2
PY
check "two results into one file" 1 "$tilevm" run pair.py pair 'x=ones(3)' -o one.npy
says err "pair gave 2 results, -o names 1: -o FILE once for each, or -o 'result[0]=FILE' for one of them"
absent one.npy
check "two results" 0 "$tilevm" run pair.py pair 'x=ones(3)' -o first.npy -o second.npy
check "one of two results" 0 "$tilevm" run pair.py pair 'x=ones(3)' -o 'result[1]=again.npy'
same second.npy again.npy
check "only definitions" 0 "$tilevm" run "$examples/fused_softmax.py"
says out "host function  softmax"
check stats 0 "$tilevm" run "$examples/vector_add.py" add_kernel "${kernel_args[@]}" --grid "$grid" --stats
says err "GB/s"
check json 0 "$tilevm" run "$examples/vector_add.py" add_kernel "${kernel_args[@]}" --grid "$grid" --json
says out '"kernel": "add_kernel"'

check inspect 0 "$tilevm" inspect "$examples/vector_add.py" --stage typed add_kernel "x_ptr=ptr<f32>" "y_ptr=ptr<f32>" "output_ptr=ptr<f32>" n_elements=1000 BLOCK_SIZE=1024
says out "kernel add_kernel(%x_ptr: ptr<f32>"
check "inspect a pass" 0 "$tilevm" inspect "$examples/vector_add.py" --stage contract add_kernel "x_ptr=ptr<f32>" "y_ptr=ptr<f32>" "output_ptr=ptr<f32>" n_elements=1000 BLOCK_SIZE=1024
check "inspect the plan" 0 "$tilevm" inspect "$examples/vector_add.py" --stage plan add_kernel "x_ptr=ptr<f32>" "y_ptr=ptr<f32>" "output_ptr=ptr<f32>" n_elements=1000 BLOCK_SIZE=1024
says out "plan add_kernel: "
says out "    params: x_ptr: ptr<f32> = r0, y_ptr: ptr<f32> = r1"
says out ": tile<1024xf32> = load "
check "inspect the plan of loops" 0 "$tilevm" inspect "$examples/layer_norm.py" --stage plan layer_norm_backward dx_ptr='ptr<f32>' dy_ptr='ptr<f32>' partial_dweight_ptr='ptr<f32>' \
  partial_dbias_ptr='ptr<f32>' x_ptr='ptr<f32>' weight_ptr='ptr<f32>' mean_ptr='ptr<f32>' rstd_ptr='ptr<f32>' lock_ptr='ptr<i32>' row_stride=200 n_cols=200 PARTIALS=16 BLOCK=256
says out "programs may wait"
says out "give_way loop 0 if () is ()"
check "inspect open" 0 "$tilevm" inspect "$examples/vector_add.py" --stage open
check "inspect a wrong stage" 2 "$tilevm" inspect "$examples/vector_add.py" --stage fly

# Faults of the user: one clear error, nothing half-written.
check "missing argument" 1 "$tilevm" run "$examples/vector_add.py" add_kernel n_elements=10 BLOCK_SIZE=16 --grid 1
says err "add_kernel: missing arguments x_ptr, y_ptr, output_ptr"
check "unknown argument" 1 "$tilevm" run "$examples/vector_add.py" add_kernel "${kernel_args[@]}" foo=1 --grid 1
says err "'foo' is neither a parameter of the kernel nor a launch option"
check "no grid" 2 "$tilevm" run "$examples/vector_add.py" add_kernel "${kernel_args[@]}"
says err "--grid is missing"
check "wrong grid" 2 "$tilevm" run "$examples/vector_add.py" add_kernel "${kernel_args[@]}" --grid "n_elements / 2"
says err "write // or cdiv(a, b)"
check "grid beyond the limit" 2 "$tilevm" run "$examples/vector_add.py" add_kernel "${kernel_args[@]}" --grid "1, 70000"
says err "grid extent of axis 1 is 70000; the limit is 65535"
check "empty grid" 0 "$tilevm" run "$examples/vector_add.py" add_kernel "${kernel_args[@]}" --grid 0
says out "kernel add_kernel: no kernel was launched"
check "negative grid" 2 "$tilevm" run "$examples/vector_add.py" add_kernel "${kernel_args[@]}" --grid=-1
says err "grid extent of axis 0 is -1; it cannot be negative"
for bad in '1,2,3,4' '' '(' 'cdiv(' 'x_ptr' 'nope' '1,,2' '1 // 0' 'n_elements $'; do
  check "bad grid '$bad'" 2 "$tilevm" run "$examples/vector_add.py" add_kernel "${kernel_args[@]}" "--grid=$bad"
done
for value in 'randn(4, f16, f32)' 'randn(4, f16, dtype=f32)' 'randn(4, seed=-1)' 'randn(4, seed=1, seed=2)' 'full(4, value=1e400)' '1e400' '@'; do
  check "bad value $value" 2 "$tilevm" run "$examples/vector_add.py" add_kernel "x_ptr=$value" --grid 1
done
says err "argument x_ptr: the name of a file is missing after '@'"
check "a device has no name of its own" 0 "$tilevm" as /dev/null
absent /dev/null.tbc
check "negative threads" 2 "$tilevm" run "$examples/vector_add.py" --threads -5
check "no name to write to" 2 "$tilevm" compile "$examples/vector_add.py" -o ''
says err "the name of a file is missing"
check "a size that comes later" 2 "$tilevm" run "$examples/vector_add.py" add_kernel 'x_ptr=randn(n_elements)' n_elements=100 --grid 1
says err "argument x_ptr: 'n_elements' is used before it is given; put n_elements=100 in front"
check "no dtype" 2 "$tilevm" run "$examples/vector_add.py" add_kernel 'x_ptr=randn(16, f33)' --grid 1
says err "randn: 'f33' is neither a dtype (f32, f16, bf16, i64, ...) nor an integer argument given before"
check "f32 data is no bf16" 2 "$tilevm" run "$examples/vector_add.py" add_kernel "x_ptr=@x.npy:bf16" --grid 1
says err "its data is f32, which is not read as bf16"
printf 'import sys\nprint("bye")\nsys.exit(7)\n' >leave.py
check "sys.exit" 7 "$tilevm" run leave.py
says out "bye"
printf 'import sys\nsys.exit("no GPU here")\n' >leave.py
check "sys.exit with a text" 1 "$tilevm" run leave.py
says err "no GPU here"
printf 'import sys\nif __name__ == "__main__":\n    sys.exit(0)\n' >leave.py
check "sys.exit(0)" 0 "$tilevm" run leave.py
check "not a value" 2 "$tilevm" run "$examples/vector_add.py" add_kernel n_elements=ten --grid 1
check "no such function" 1 "$tilevm" run "$examples/vector_add.py" nothing
says err "there is no kernel or function 'nothing' in the file"
check "no such file" 1 "$tilevm" run nothing.py
says err "cannot read nothing.py"
# There may be a GPU or none: a hundredth there is nowhere.
check "no such GPU" 1 "$tilevm" run "$examples/vector_add.py" --device cuda:99
says err "--device cpu runs the same file"
check "no device at all" 2 "$tilevm" run "$examples/vector_add.py" --device tpu
says err "device 'tpu' is unknown; cpu, cuda, cuda:N and auto are possible"
check "checked mode on a GPU" 2 "$tilevm" run "$examples/vector_add.py" --device cuda --check
says err "checked mode runs on the CPU engine"
check devices 0 "$tilevm" devices
says out "the CPU engine"
check "devices as JSON" 0 "$tilevm" devices --json
says out '"devices"'
inspected=("$examples/vector_add.py" add_kernel "x_ptr=ptr<f32>" "y_ptr=ptr<f32>" "output_ptr=ptr<f32>" n_elements=1000 BLOCK_SIZE=1024)
check "inspect layout" 0 "$tilevm" inspect --stage layout "${inspected[@]}"
says out "layout L0 = [1024]"
check "inspect cuda" 0 "$tilevm" inspect --stage cuda --arch sm_80 "${inspected[@]}"
says out '__global__ void __launch_bounds__(256) add_kernel('
check "inspect slice" 0 "$tilevm" inspect --stage slice --arch sm_80 "${inspected[@]}"
says out "nothing has to hold"
check "inspect pipeline" 0 "$tilevm" inspect --stage pipeline --arch sm_90a "${inspected[@]}"
says out "kernel add_kernel for sm_90a: 256 threads, 0 of 232448 bytes of shared memory"
says out "no loop is pipelined: the kernel has none"
says out "assembled "  # or why it is not, without NVRTC
printf 'import triton\nimport triton.language as tl\n@triton.jit\ndef order(x, BLOCK: tl.constexpr):\n    i = tl.arange(0, BLOCK)\n    tl.store(x + i, tl.sort(tl.load(x + i)))\n' >order.py
check "inspect what does not fit" 1 "$tilevm" inspect order.py order --stage cuda --arch sm_80 'x=ptr<f32>' BLOCK=65536
says err "order.py:6:"
says err "sm_80 has 166912 for a block: a tile 2 times smaller fits; BLOCK=32768 fits"
check "inspect remarks" 0 "$tilevm" inspect --remarks --arch sm_90a "${inspected[@]}"
says out "remark: load x from x_ptr tile<1024xf32>: into registers, 16 bytes at a time, and single elements where the mask ends"
check "inspect for no GPU" 2 "$tilevm" inspect --stage cuda --arch sm_70 "${inspected[@]}"
says err "unknown architecture 'sm_70'"
check "inspect for no name" 2 "$tilevm" inspect --stage cuda --arch "" "${inspected[@]}"
for verb in ls stats verify gc clear; do
  check "cache $verb" 0 "$tilevm" cache $verb --cache-dir "$work/no-cache"
done
absent "$work/no-cache"
entry=$work/damaged/ab/$(printf '0%.0s' {1..62})
mkdir -p "$(dirname "$entry")" && echo "no entry" >"$entry"
check "cache with a damaged entry" 1 "$tilevm" cache verify --cache-dir "$work/damaged"
says out "1 entries, 9 bytes, 1 damaged"
says out "damaged: $entry"
check "cache of no size" 2 "$tilevm" cache gc --cache-dir "$work/no-cache" --max-size big
check "cache without a verb" 2 "$tilevm" cache
head -c 300 vector_add.tbc >cut.tbc
check "truncated bytecode" 1 "$tilevm" run cut.tbc
check "truncated bytecode, verified" 1 "$tilevm" verify cut.tbc
head -c 200 x.npy >cut.npy
check "truncated .npy" 1 "$tilevm" run "$examples/fused_softmax.py" softmax "x=@cut.npy" -o never.npy
says err "cut.npy"
says err "truncated"
absent never.npy
printf 'import triton\n@triton.jit\ndef k(x_ptr, n):\n    x = (\n' >syntax.py
check "syntax error" 1 "$tilevm" compile syntax.py -o syntax.tbc
says err "syntax.py:"
absent syntax.tbc

# Checked mode finds a store beyond the buffer.
cat >beyond.py <<'PY'
import triton
import triton.language as tl

@triton.jit
def beyond(x_ptr, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(x_ptr + offsets, offsets.to(tl.float32))
PY
check "out of bounds" 3 "$tilevm" run beyond.py beyond "x_ptr=zeros(12)" BLOCK=16 --grid 1 --check
says err "beyond.py:7:"
check "out of bounds as JSON" 3 "$tilevm" run beyond.py beyond "x_ptr=zeros(12)" BLOCK=16 --grid 1 --check --json
says out '"ok": false'

# Stars through files: of Python's modules, of Triton's, in a circle.
mkdir -p stars
cat >stars/main.py <<'PY'
from first import *
assert list(chain([1], islice(count(), 2))) == [1, 0, 1] and isqrt(17) == 4 and own(3) == [3, 0, 1, 2] and later() == 2.5
@triton.jit
def k(x_ptr):
    store(x_ptr + arange(0, 4), arange(0, 4) + cdiv(7, 2))
x = torch.zeros(4, dtype=torch.int32)
k[(1,)](x)
assert x.tolist() == [4, 5, 6, 7]
for name in ("nowhere", "_hidden"):
    try:
        eval_of = {"nowhere": lambda: nowhere, "_hidden": lambda: _hidden}[name]()
        found = True
    except NameError:
        found = False
    assert not found
print("stars are found")
PY
cat >stars/first.py <<'PY'
import torch
import triton
from itertools import *
from triton.language import *
from second import *
def own(n):
    return list(chain([n], range(n)))
PY
cat >stars/second.py <<'PY'
from math import *
from first import *
_hidden = 1
def later():
    return fabs(-2.5)
PY
check "stars through files" 0 "$tilevm" run stars/main.py
says out "stars are found"
check "stars as bytecode" 0 "$tilevm" compile stars/main.py -o stars.tbc
check "stars from bytecode" 0 "$tilevm" run stars.tbc
check "stars as text" 0 "$tilevm" dis stars.tbc
mv out stars.tasm
check "stars from text" 0 "$tilevm" run stars.tasm
says out "stars are found"

check "no more memory than said" 1 "$tilevm" run "$examples/vector_add.py" --max-memory 1M
says err "MemoryError: with a tensor of 40000000 bytes the program's tensors take more than 1 MiB"
check "no more memory for arguments" 1 "$tilevm" run "$examples/vector_add.py" add_kernel "x_ptr=zeros(1000000)" --grid 1 --max-memory 1M
check "no threads" 2 "$tilevm" run "$examples/vector_add.py" --threads -1
says err "'-1' is no number from 0 on"
check "no size" 2 "$tilevm" run "$examples/vector_add.py" --max-memory much
says err "'much' is no size such as 512M or 8G"

ls ./*.tmp >/dev/null 2>&1 && { echo "FAIL temporary files are left: $(ls ./*.tmp)"; failures=$((failures + 1)); }
[[ $failures -eq 0 ]] && echo "all checks passed"
exit $((failures > 0))
