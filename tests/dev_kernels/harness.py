"""Runs public Triton kernels, read in place from checkouts, through `tilevm run`, and holds them to numpy in float64.

    tests/dev_kernels/run.py --corpus DIR [NUMBER...]     DIR holds triton-cpu, Liger-Kernel, unsloth (any checkout of them)

An entry is a function marked @dev(number, path, kernel, ...): it makes inputs from the seeded generator it is given, launches the kernel through
the command line (each tensor travels as a .npy file), and checks the outputs. Outputs are filled with NaN (integers: 0x5a...) before the run. Each
entry runs with two seeds. Nothing of the kernels' sources is kept here.
"""
import dataclasses
import os
import subprocess
import tempfile

import numpy as np

ENTRIES = []


@dataclasses.dataclass
class Entry:
    number: int
    path: str        # below the corpus folder
    kernel: str
    shapes: str      # as a person reads them; one is no multiple of the block
    dtypes: str
    bound: str       # how close, and why
    function: object
    include: tuple   # folders below the corpus for sibling imports


def dev(number, path, kernel, shapes, dtypes, bound, include=()):
    def mark(function):
        ENTRIES.append(Entry(number, path, kernel, shapes, dtypes, bound, function, tuple(include)))
        return function
    return mark


# --- the two formats that numpy lacks, by their bits --------------------------------------------------------------------------------------
def bf16_bits(values):
    """Round to nearest even; NaN stays NaN."""
    f32 = np.asarray(values, np.float32)
    bits = f32.view(np.uint32)
    rounded = ((bits + 0x7fff + ((bits >> 16) & 1)) >> 16).astype(np.uint16)
    return np.where(np.isnan(f32), np.uint16(0x7fc0), rounded)


def bf16_values(bits):
    return (np.asarray(bits).astype(np.uint32) << 16).view(np.float32)


def fp8_table(exponent_bits, mantissa_bits, bias, finite):
    codes = np.arange(256)
    sign = np.where(codes & 0x80, -1.0, 1.0)
    exponent = (codes & 0x7f) >> mantissa_bits
    mantissa = codes & ((1 << mantissa_bits) - 1)
    value = np.where(exponent == 0, mantissa * 2.0 ** (1 - bias - mantissa_bits), (1 + mantissa / 2.0 ** mantissa_bits) * 2.0 ** (exponent - bias))
    if finite:  # e4m3fn: only all ones is NaN
        value = np.where((codes & 0x7f) == 0x7f, np.nan, value)
    else:
        top = (1 << exponent_bits) - 1
        value = np.where(exponent == top, np.where(mantissa == 0, np.inf, np.nan), value)
    return sign * value


FP8 = {"f8e4m3": fp8_table(4, 3, 7, True), "f8e5m2": fp8_table(5, 2, 15, False)}


def fp8_bits(values, dtype):
    """Nearest, ties to the even code, saturating."""
    table = FP8[dtype]
    codes = np.array([c for c in range(128) if np.isfinite(table[c])])
    grid = table[codes]
    a = np.minimum(np.abs(np.asarray(values, np.float64)), grid[-1])
    high = np.clip(np.searchsorted(grid, a), 1, len(grid) - 1)
    low = high - 1
    middle = (grid[low] + grid[high]) / 2
    pick = np.where(a > middle, high, np.where(a < middle, low, np.where(codes[low] % 2 == 0, low, high)))
    return (codes[pick] | np.where(np.signbit(values), 0x80, 0)).astype(np.uint8)


NUMPY = {"f64": np.float64, "f32": np.float32, "f16": np.float16, "i64": np.int64, "i32": np.int32, "i16": np.int16, "i8": np.int8,
         "u64": np.uint64, "u32": np.uint32, "u16": np.uint16, "u8": np.uint8, "i1": np.bool_, "bf16": np.uint16, "f8e4m3": np.uint8,
         "f8e5m2": np.uint8}


class Tensor:
    """A tensor of tilevm: raw storage as numpy sees it, and the dtype it stands for."""

    def __init__(self, raw, dtype):
        self.raw, self.dtype = np.ascontiguousarray(raw), dtype

    @property
    def shape(self):
        return self.raw.shape

    def values(self):
        """float64 for floats, the integers themselves otherwise."""
        if self.dtype == "bf16":
            return bf16_values(self.raw).astype(np.float64)
        if self.dtype in FP8:
            return FP8[self.dtype][self.raw]
        return self.raw.astype(np.float64) if self.raw.dtype.kind == "f" else self.raw

    def stride(self, axis):
        return self.raw.strides[axis] // self.raw.itemsize


def tensor(values, dtype="f32"):
    if dtype == "bf16":
        return Tensor(bf16_bits(values), dtype)
    if dtype in FP8:
        return Tensor(fp8_bits(values, dtype), dtype)
    return Tensor(np.asarray(values).astype(NUMPY[dtype]), dtype)


def dtype_of(t):
    """A dtype as an argument of a constexpr parameter."""
    return DTypeArg(t)


@dataclasses.dataclass
class DTypeArg:
    name: str


class Failure(Exception):
    pass


class Run:
    """What an entry is given: a generator, makers of tensors, launch and check."""

    def __init__(self, tilevm, corpus, entry, seed, extra):
        self.rng = np.random.default_rng(seed)
        self.tilevm, self.corpus, self.entry, self.extra = tilevm, corpus, entry, extra

    def randn(self, *shape, dtype="f32", scale=1.0):
        return tensor(self.rng.standard_normal(shape) * scale, dtype)

    def rand(self, *shape, dtype="f32"):
        return tensor(self.rng.random(shape), dtype)

    def randint(self, low, high, *shape, dtype="i32"):
        return tensor(self.rng.integers(low, high, shape), dtype)

    def empty(self, *shape, dtype="f32"):
        """An output: NaN everywhere, so that an element never written is seen."""
        if dtype in ("f32", "f64", "f16", "bf16", "f8e4m3", "f8e5m2"):
            if dtype in FP8:
                return Tensor(np.full(shape, 0x7f, np.uint8), dtype)
            return tensor(np.full(shape, np.nan), dtype)
        return Tensor(np.frombuffer(b"\x5a" * (int(np.prod(shape)) * np.dtype(NUMPY[dtype]).itemsize), NUMPY[dtype]).reshape(shape).copy(), dtype)

    def zeros(self, *shape, dtype="f32"):
        return tensor(np.zeros(shape), dtype)

    def launch(self, grid, kernel=None, path=None, options=(), check=False, **arguments):
        """One launch. Tensors among the arguments are read back after it."""
        with tempfile.TemporaryDirectory() as folder:
            # check=True runs the checked mode: it must stay silent on a right kernel.
            source = path if path and os.path.isabs(path) else os.path.join(self.corpus, path or self.entry.path)
            command = [self.tilevm, "run", source, kernel or self.entry.kernel, *options, *self.extra]
            for include in self.entry.include:
                command += ["-I", os.path.join(self.corpus, include)]
            if check:
                command.append("--check")
            outputs = []
            for name, value in arguments.items():
                if isinstance(value, Tensor):
                    file = os.path.join(folder, name + ".npy")
                    np.save(file, value.raw)
                    suffix = ":" + value.dtype if value.dtype in ("bf16", "f8e4m3", "f8e5m2") else ""
                    command.append(f"{name}=@{file}{suffix}")
                    command += ["-o", f"{name}={file}.out.npy"]
                    outputs.append((value, file + ".out.npy"))
                elif isinstance(value, DTypeArg):
                    command.append(f"{name}={value.name}")
                elif isinstance(value, str):
                    command.append(f'{name}="{value}"')
                elif value is None or isinstance(value, bool):
                    command.append(f"{name}={value}")
                elif isinstance(value, (float, np.floating)):
                    command.append(f"{name}={float(value)!r}")
                else:
                    command.append(f"{name}={int(value)}")
            # A grid may be an expression over the arguments and tuned values, as on the command line.
            command += ["--grid", grid if isinstance(grid, str) else ",".join(str(int(g)) for g in grid)]
            done = subprocess.run(command, capture_output=True, text=True)
            if done.returncode != 0:
                raise Failure(f"exit {done.returncode}: {done.stderr.strip()[-1500:]}")
            for value, file in outputs:
                value.raw = np.load(file).view(value.raw.dtype).reshape(value.raw.shape)
            return done.stdout

    def host(self, text, modules, check=False):
        """Runs a host file of ours that imports public files, read in place: modules maps the names it imports to their paths."""
        with tempfile.TemporaryDirectory() as folder:
            for name, path in modules.items():
                os.symlink(os.path.join(self.corpus, path), os.path.join(folder, name + ".py"))
            file = os.path.join(folder, "host.py")
            with open(file, "w") as out:
                out.write(text)
            command = [self.tilevm, "run", file, *self.extra, *(["--check"] if check else [])]
            for include in self.entry.include:
                command += ["-I", os.path.join(self.corpus, include)]
            done = subprocess.run(command, capture_output=True, text=True)
            if done.returncode != 0:
                raise Failure(f"exit {done.returncode}: {done.stderr.strip()[-1500:]}")
            return done.stdout

    def check(self, what, got, expected, rtol=0.0, atol=0.0):
        """Every element within atol + rtol * |expected|; NaN only where NaN is expected."""
        got = got.values() if isinstance(got, Tensor) else got
        expected = np.asarray(expected)
        if got.shape != expected.shape:
            raise Failure(f"{what}: shape {got.shape}, expected {expected.shape}")
        if got.dtype.kind != "f" and rtol == atol == 0.0:
            wrong = got != expected
        else:
            with np.errstate(invalid="ignore"):
                close = np.abs(got - expected) <= atol + rtol * np.abs(expected)
            wrong = ~(close | (got == expected) | (np.isnan(got) & np.isnan(expected)))
        if wrong.any():
            where = tuple(int(i[0]) for i in np.nonzero(wrong))
            raise Failure(f"{what}: {int(wrong.sum())} of {wrong.size} wrong, first at {where}: {got[where]}, expected {expected[where]}")


def cdiv(x, y):
    return -(-x // y)


def next_power_of_2(n):
    return 1 << max(0, int(n - 1).bit_length())


def round_to(values, dtype):
    """values rounded to dtype, as float64: for outputs whose last step is one rounding."""
    return tensor(values, dtype).values()
