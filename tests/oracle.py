"""Evaluates the recipes and numpy expressions of case files.

    oracle.py REQUEST ANSWER

REQUEST is text, one record a line, fields separated by tabs:

    case                                   a new case; what follows belongs to it
    arg NAME EXPRESSION                    a scalar argument, as a Python expression
    values NAME TYPE SHAPE HEX             a buffer whose bytes are known
    recipe NAME TYPE SHAPE EXPRESSION      a buffer to be made: normal(seed 1), arange(), ...
    expect NAME TYPE SHAPE EXPRESSION      the expected contents of a buffer, from the inputs

ANSWER holds, for each recipe and expect record in order, a 64-bit length and that many
bytes, row-major, little-endian; a length of -1 is followed by a length and the text of
what went wrong.

Inputs appear in expressions under their names: bool for i1, integers as they are, f16,
f32 and f64 as they are, bf16 and fp8 as float32 (which holds them exactly). A result is
rounded to its type, nearest even: an expression in float64 is rounded once. Integer
results wrap; a float result for an integer buffer is an error.
"""

import fractions
import math
import struct
import sys

import numpy as np

NUMPY_TYPES = {
    "i1": np.bool_, "i8": np.int8, "i16": np.int16, "i32": np.int32, "i64": np.int64,
    "u8": np.uint8, "u16": np.uint16, "u32": np.uint32, "u64": np.uint64,
    "f16": np.float16, "f32": np.float32, "f64": np.float64,
}
# name: (exponent bits, mantissa bits, has infinities, saturates)
NARROW = {"bf16": (8, 7, True, False), "f8e4m3": (4, 3, False, True), "f8e5m2": (5, 2, True, True)}


def storage_type(name):
    """The unsigned integer or numpy type that holds one element."""
    if name == "bf16":
        return np.dtype(np.uint16)
    if name in NARROW:
        return np.dtype(np.uint8)
    return np.dtype(NUMPY_TYPES[name])


def narrow_to_float(bits, name):
    """Patterns of bf16 or fp8 as float32, exactly."""
    exponent_bits, mantissa_bits, has_infinity, _ = NARROW[name]
    bits = bits.astype(np.int64)
    sign_bit = 1 << (exponent_bits + mantissa_bits)
    magnitude = bits & (sign_bit - 1)
    exponent = magnitude >> mantissa_bits
    mantissa = magnitude & ((1 << mantissa_bits) - 1)
    bias = (1 << (exponent_bits - 1)) - 1
    full = np.where(exponent > 0, mantissa + (1 << mantissa_bits), mantissa)
    value = np.ldexp(full.astype(np.float64), np.maximum(exponent, 1) - bias - mantissa_bits)
    top = (1 << exponent_bits) - 1
    if has_infinity:
        value = np.where(exponent == top, np.where(mantissa == 0, np.inf, np.nan), value)
    else:
        value = np.where(magnitude == sign_bit - 1, np.nan, value)
    return np.where(bits & sign_bit, -value, value).astype(np.float32)


def float_to_narrow(value, name):
    """Floats as patterns of bf16 or fp8: one rounding, nearest even, from float64."""
    exponent_bits, mantissa_bits, has_infinity, saturates = NARROW[name]
    value = np.asarray(value, dtype=np.float64)
    bias = (1 << (exponent_bits - 1)) - 1
    sign_bit = 1 << (exponent_bits + mantissa_bits)
    infinity = ((1 << exponent_bits) - 1) << mantissa_bits
    largest = infinity - 1 if has_infinity else sign_bit - 2
    nan = infinity | (1 << (mantissa_bits - 1)) if has_infinity else sign_bit - 1
    magnitude = np.where(np.isfinite(value), np.abs(value), 0.0)
    _, exponent = np.frexp(magnitude)
    unit = np.maximum(exponent - 1, 1 - bias) - mantissa_bits
    steps = np.rint(np.ldexp(magnitude, -unit)).astype(np.int64)
    bits = ((unit + mantissa_bits + bias - 1).astype(np.int64) << mantissa_bits) + steps
    bits = np.where(magnitude == 0, 0, bits)
    bits = np.minimum(bits, largest if saturates else infinity)
    bits = np.where(np.isinf(value), largest if saturates else infinity, bits)
    bits = np.where(np.isnan(value), nan, bits | np.where(np.signbit(value), sign_bit, 0))
    return bits.astype(storage_type(name))


def decode(data, name, shape):
    """Bytes as an array of numbers."""
    array = np.frombuffer(data, dtype=storage_type(name)).reshape(shape)
    return narrow_to_float(array, name) if name in NARROW else array


def encode(value, name, shape):
    """An array of numbers (broadcast to shape) as bytes."""
    array = np.asarray(value)
    if name in NARROW:
        array = float_to_narrow(array, name)
    elif array.dtype.kind == "f" and NUMPY_TYPES[name]().dtype.kind in "iub" and name != "i1":
        raise ValueError("a float result for %s: say how it is rounded" % name)
    elif name == "i1":
        array = array.astype(np.uint8) if array.dtype == np.bool_ else (array != 0).astype(np.uint8)
    else:
        array = array.astype(NUMPY_TYPES[name])
    return np.ascontiguousarray(np.broadcast_to(array, shape)).tobytes()


class Recipes:
    """What a recipe can be made of; the type and shape are those of the buffer."""

    def __init__(self, name, shape):
        self.type = name
        self.shape = shape
        self.count = int(np.prod(shape, dtype=np.int64))

    def normal(self, seed=0, scale=1.0):
        """Standard normal numbers."""
        return np.random.RandomState(seed).standard_normal(self.shape) * scale

    def uniform(self, low=0.0, high=1.0, seed=0):
        """Uniform in [low, high)."""
        return np.random.RandomState(seed).uniform(low, high, self.shape)

    def ints(self, low, high, seed=0):
        """Integers low .. high - 1 (exact in any type that holds them)."""
        return np.random.RandomState(seed).randint(low, high, self.shape, dtype=np.int64)

    def random_bits(self, seed=0):
        """Any pattern of the type, NaN and denormals included."""
        width = storage_type(self.type).itemsize
        data = np.random.RandomState(seed).bytes(self.count * width)
        if self.type == "i1":
            data = bytes(byte & 1 for byte in data)
        return decode(data, self.type, self.shape)

    def arange(self, start=0, step=1):
        """start, start + step, ... in row-major order."""
        return (start + step * np.arange(self.count, dtype=np.int64)).reshape(self.shape)

    def all_patterns(self):
        """Every pattern of an 8- or 16-bit type, from 0 upwards (repeated if there is room)."""
        storage = storage_type(self.type)
        patterns = np.arange(self.count, dtype=np.int64) % (1 << (8 * storage.itemsize))
        unsigned = np.dtype("u%d" % storage.itemsize)
        return decode(patterns.astype(unsigned).tobytes(), self.type, self.shape)

    def zeros(self):
        """Zeros."""
        return np.zeros(self.shape, dtype=np.int64)

    def full(self, value):
        """One value."""
        return np.full(self.shape, value)


def saturate(x, name):
    """Floats to an integer type as the engines do: towards zero, clipped, NaN is 0."""
    info = np.iinfo(NUMPY_TYPES[name])
    x = np.nan_to_num(np.asarray(x, dtype=np.float64), nan=0.0, posinf=np.inf, neginf=-np.inf)
    # 2**63 - 1 and 2**64 - 1 are no float64: compare first.
    high, low = float(info.max) if info.bits < 64 else 2.0 ** (info.bits - (info.min < 0)), float(info.min)
    inside = np.where((x >= high) | (x <= low), 0, np.trunc(x)).astype(NUMPY_TYPES[name])
    return np.where(x >= high, info.max, np.where(x <= low, info.min, inside)).astype(NUMPY_TYPES[name])


def truncating_div(x, y):
    """Integer // of kernels: towards zero; x // 0 is all ones; MIN // -1 is MIN."""
    x, y = np.broadcast_arrays(x, y)
    pairs = [(int(a), int(b)) for a, b in zip(x.flat, y.flat)]
    quotients = [-1 if b == 0 else abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1) for a, b in pairs]
    bits = 8 * x.dtype.itemsize
    wrapped = np.array([q & ((1 << bits) - 1) for q in quotients], dtype="u%d" % (bits // 8))
    return wrapped.view(x.dtype).reshape(x.shape)


def truncating_mod(x, y):
    """Integer % of kernels: the sign of x; x % 0 is x."""
    x, y = np.broadcast_arrays(x, y)
    pairs = [(int(a), int(b)) for a, b in zip(x.flat, y.flat)]
    rest = [a if b == 0 else abs(a) % abs(b) * (-1 if a < 0 else 1) for a, b in pairs]
    return np.array(rest, dtype=object).astype(x.dtype).reshape(x.shape)


def bit_cast(x, name):
    """The same bits as another type of that width."""
    return decode(np.ascontiguousarray(x).tobytes(), name, np.shape(x))


def tf32(x):
    """Operands of a tf32 dot: 10 mantissa bits, the others cut off."""
    bits = np.asarray(x, dtype=np.float32).view(np.uint32)
    return np.where(np.isfinite(x), (bits & np.uint32(0xFFFFE000)).view(np.float32), x).astype(np.float64)


def rounded(x, name):
    """x as that type holds it."""
    return decode(encode(x, name, np.shape(x)), name, np.shape(x))


def erf(x):
    """The error function in float64."""
    return np.vectorize(math.erf)(np.asarray(x, dtype=np.float64))


def erfc(x):
    """1 - erf(x) in float64, without cancellation."""
    return np.vectorize(math.erfc)(np.asarray(x, dtype=np.float64))


def philox(seed, offset, rounds=10):
    """The four words of Philox4x32 for each offset, as uint32 arrays."""
    mask = 0xFFFFFFFF
    words = []
    for value in np.asarray(offset).flat:
        value = int(value)
        c = [value & mask, (value >> 32) & mask, 0, 0]
        k = [int(seed) & mask, (int(seed) >> 32) & mask]
        for _ in range(rounds):
            high0, low0 = divmod(0xD2511F53 * c[0], 1 << 32)
            high1, low1 = divmod(0xCD9E8D57 * c[2], 1 << 32)
            c = [high1 ^ c[1] ^ k[0], low1, high0 ^ c[3] ^ k[1], low0]
            k = [(k[0] + 0x9E3779B9) & mask, (k[1] + 0xBB67AE85) & mask]
        words.append(c)
    table = np.array(words, dtype=np.uint32)
    return [table[:, i].reshape(np.shape(offset)) for i in range(4)]


def to_unit(word):
    """A 32-bit word as a float32 in [0, 1), as tl.rand does it."""
    signed = np.asarray(word).astype(np.uint32).view(np.int32)
    folded = np.where(signed < 0, -signed - 1, signed)
    return (folded.astype(np.float32) * np.float32(4.6566127342e-10)).astype(np.float32)


def max_num(x, y):
    """maximum: a NaN loses, -0 < +0."""
    x, y = np.broadcast_arrays(x, y)
    if x.dtype.kind != "f":
        return np.maximum(x, y)
    larger = np.where(x == y, np.where(np.signbit(x), y, x), np.where(x > y, x, y))
    return np.where(np.isnan(x), y, np.where(np.isnan(y), x, larger))


def min_num(x, y):
    """minimum: a NaN loses, -0 < +0."""
    if np.asarray(x).dtype.kind != "f":
        return np.minimum(x, y)
    return -max_num(-np.asarray(x), -np.asarray(y))


def shift_left(x, count):
    """x << count, the count unsigned; 0 from the width on."""
    width = 8 * x.dtype.itemsize
    count = count.astype("u%d" % x.dtype.itemsize)
    return np.where(count >= width, 0, x << (count % width).astype(x.dtype)).astype(x.dtype)


def shift_right(x, count):
    """x >> count, arithmetic for signed x; the sign or 0 from the width on."""
    width = 8 * x.dtype.itemsize
    count = np.minimum(count.astype("u%d" % x.dtype.itemsize), width)
    shifted = x >> np.minimum(count, width - 1).astype(x.dtype)
    return shifted if x.dtype.kind == "i" else np.where(count >= width, 0, shifted).astype(x.dtype)


def exact_fma(x, y, z):
    """x * y + z of finite numbers rounded to odd in float64: rounding that to a narrower type is the one rounding of fma."""
    results = []
    for a, b, c in zip(np.ravel(x).astype(float), np.ravel(y).astype(float), np.ravel(z).astype(float)):
        exact = fractions.Fraction(a) * fractions.Fraction(b) + fractions.Fraction(c)
        near = float(exact)
        if fractions.Fraction(near) != exact:
            if abs(fractions.Fraction(near)) > abs(exact):
                near = float(np.nextafter(near, 0.0))
            near = struct.unpack("<d", struct.pack("<q", struct.unpack("<q", struct.pack("<d", near))[0] | 1))[0]
        results.append(near)
    return np.array(results).reshape(np.shape(x))


def toward_zero(x, name):
    """x cut to a narrower float type; an infinity stays, a finite number never becomes one."""
    x = np.asarray(x, dtype=np.float64)
    near = rounded(x, name).astype(np.float64)
    unsigned = np.uint16
    bits = np.frombuffer(encode(near, name, x.shape), dtype=unsigned).reshape(x.shape)
    away = np.isfinite(x) & (np.abs(near) > np.abs(x))
    return decode(np.where(away, bits - 1, bits).astype(unsigned).tobytes(), name, x.shape)


HELPERS = {
    "np": np, "saturate": saturate, "truncating_div": truncating_div, "truncating_mod": truncating_mod,
    "bit_cast": bit_cast, "tf32": tf32, "rounded": rounded, "erf": erf, "erfc": erfc, "philox": philox, "to_unit": to_unit,
    "max_num": max_num, "min_num": min_num, "shift_left": shift_left, "shift_right": shift_right,
    "exact_fma": exact_fma, "toward_zero": toward_zero,
}


def namespace(inputs):
    """Names an expression may use: numpy's own, our types, the helpers, the inputs."""
    names = {key: getattr(np, key) for key in dir(np) if not key.startswith("_")}
    names.update({key: value for key, value in NUMPY_TYPES.items()})
    names.update(HELPERS)
    names.update(inputs)
    return names


def evaluate(record, inputs):
    """The bytes of one recipe or expect record; recipes become inputs."""
    kind, name, type_name, shape_text, text = record
    shape = tuple(int(extent) for extent in shape_text.split(","))
    names = namespace(inputs)
    if kind == "recipe":
        recipes = Recipes(type_name, shape)
        names.update({key: getattr(recipes, key) for key in dir(recipes) if not key.startswith("_")})
        text = text.replace("seed ", "seed=")
    value = eval(text, names)  # pylint: disable=eval-used
    data = encode(value, type_name, shape)
    if kind == "recipe":
        inputs[name] = decode(data, type_name, shape)
    return data


def main(request_path, answer_path):
    inputs = {}
    np.seterr(all="ignore")
    with open(request_path, encoding="utf-8") as request, open(answer_path, "wb") as answer:
        for line in request:
            record = line.rstrip("\n").split("\t")
            if record[0] == "case":
                inputs = {}
            elif record[0] == "arg":
                try:
                    inputs[record[1]] = eval(record[2], namespace(inputs))  # pylint: disable=eval-used
                except Exception:  # a dtype or a name: not for numpy  # pylint: disable=broad-except
                    pass
            elif record[0] == "values":
                shape = tuple(int(extent) for extent in record[3].split(","))
                inputs[record[1]] = decode(bytes.fromhex(record[4]), record[2], shape)
            else:
                try:
                    data = evaluate(record, inputs)
                    answer.write(struct.pack("<q", len(data)) + data)
                except Exception as error:  # pylint: disable=broad-except
                    text = ("%s: %s: %s" % (record[4], type(error).__name__, error)).encode()
                    answer.write(struct.pack("<qq", -1, len(text)) + text)


if __name__ == "__main__":
    main(*sys.argv[1:])
