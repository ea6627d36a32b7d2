"""Random Triton kernels: of a seed the kernel's source text, how it is launched, and the bytes of its arguments.

Nothing here needs Triton or a GPU. compile_random.py compiles the kernels, record_random.py runs them on a GPU, run_random.py in Lemma.

A kernel grows as a list of statements over a pool of values (name, type, shape). Each statement takes values of the pool and adds one;
at the end some are stored. What is stored depends on nothing that Triton or PTX leaves open: divisors are not zero, indices lie inside their
buffers, programs write to places of their own, and atomics from several places are operations that commute exactly. But combinations
of reductions need not commute: then lanes of one store have different values for one place, of which an H200 always leaves the same.
Overflow, NaN, infinities, subnormal numbers and conversions out of range are wanted: PTX defines them.

The same seed gives the same kernel and the same bytes on every machine: choices are made by Python's random.Random(seed).random(), bytes by
numpy's PCG64(seed).random_raw(); neither changes from version to version.
"""

import random
import re
from dataclasses import dataclass, field

import numpy as np

INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
FLOATS = ("float16", "bfloat16", "float32", "float64")
FP8 = ("float8e5", "float8e4nv")
BYTES = {"int1": 1, "bfloat16": 2, "float16": 2, "float32": 4, "float64": 8, **{t: 1 for t in FP8}}
BYTES.update({t: int(t.lstrip("uint")) // 8 for t in INTEGERS})
#: Types as Triton's signatures spell them.
SIGNATURE = {"float16": "fp16", "bfloat16": "bf16", "float32": "fp32", "float64": "fp64", "float8e5": "fp8e5", "float8e4nv": "fp8e4nv"}
SIGNATURE.update({t: t.replace("uint", "u").replace("int", "i") for t in INTEGERS})

HEAD = """import triton
import triton.language as tl
from triton.language.extra import libdevice
"""


@dataclass
class Argument:
    """A buffer of `count` elements, or a number (`value`)."""

    name: str
    type: str
    count: int = 0
    fill: str = "zero"  # see data()
    written: bool = False
    value: object = None
    divisible: bool = True  # the compiler is told that the pointer or the number is a multiple of 16


@dataclass
class Kernel:
    seed: int
    source: str  # its @triton.jit function is `kernel`
    grid: int
    num_warps: int
    num_stages: int
    fusion: bool
    arguments: list = field(default_factory=list)


@dataclass(frozen=True)
class Value:
    name: str
    type: str
    shape: tuple


def to_bf16(x):
    """f32 as bf16's bits, ties to even."""
    bits = x.astype(np.float32).view(np.uint32)
    rounded = (bits + np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1))) >> np.uint32(16)
    return np.where(np.isnan(x), np.uint32(0x7FFF), rounded).astype(np.uint16)


def data(seed, index, argument):
    """The bytes of argument number `index` of the kernel of this seed."""
    size = argument.count * BYTES[argument.type]
    if argument.fill == "zero":
        return np.zeros(size, np.uint8)
    raw = np.random.PCG64(seed * 1000 + index).random_raw(argument.count)
    if argument.type in INTEGERS:
        if argument.fill == "small":
            raw = raw % np.uint64(17) - np.uint64(0 if argument.type[0] == "u" else 8)
        return raw.astype(f"u{BYTES[argument.type]}").view(np.uint8)
    if argument.type in FP8:
        kept = 0xFF if argument.fill == "bits" else 0xBF  # without the exponent's top bit: less than 2
        return (raw >> np.uint64(20)).astype(np.uint8) & np.uint8(kept)
    if argument.fill == "bits":
        return raw.astype(f"u{BYTES[argument.type]}").view(np.uint8)
    if argument.fill == "small":
        x = (raw % np.uint64(17)).astype(np.float64) - 8
    else:
        x = (raw >> np.uint64(11)).astype(np.float64) * 2.0**-52 - 1
        if argument.fill == "wide":
            x = np.ldexp(x, (raw % np.uint64(25)).astype(np.int32) - 12)
    if argument.type == "bfloat16":
        return to_bf16(x.astype(np.float32)).view(np.uint8)
    with np.errstate(all="ignore"):
        return x.astype(argument.type).view(np.uint8)


def made(shape):
    return "[" + ", ".join(map(str, shape)) + "]"


def numel(shape):
    return int(np.prod(shape, dtype=np.int64))


class Maker:
    def __init__(self, seed):
        self.random = random.Random(seed)
        self.seed, self.count, self.indent = seed, 0, 1
        self.lines, self.helpers, self.pool, self.arguments = [], [], [], []

    # ---- choices, text

    def chance(self, p):
        return self.random.random() < p

    def below(self, n):
        return int(self.random.random() * n)

    def one(self, *of):
        return of[self.below(len(of))]

    def name(self, prefix="v"):
        self.count += 1
        return f"{prefix}{self.count}"

    def emit(self, line):
        self.lines.append("    " * self.indent + line)

    def let(self, expression, type, shape):
        value = Value(self.name(), type, tuple(shape))
        self.emit(f"{value.name} = {expression}")
        self.pool.append(value)
        return value

    def argument(self, prefix, type, count=0, **rest):
        made = Argument(self.name(prefix), type, count, **rest)
        self.arguments.append(made)
        return made.name

    def helper(self, parameters, body):
        name = self.name("f")
        self.helpers.append(f"\n\n@triton.jit\ndef {name}({', '.join(parameters)}):\n" + "".join(f"    {line}\n" for line in body))
        return name

    # ---- values

    def pick(self, types=None, shape=None, rank=None, size=None):
        """A value of the pool, late ones more often; None if there is none."""
        fits = [
            v for v in self.pool
            if (types is None or v.type in types) and (shape is None or v.shape == shape)
            and (rank is None or len(v.shape) in rank) and (size is None or numel(v.shape) <= size)
        ]  # fmt: skip
        if not fits:
            return None
        return fits[-1 - min(int(8 * self.random.random() ** 2), len(fits) - 1)]

    def cast(self, value, type, how=""):
        if value.type == type:
            return value
        if type in FP8 and value.type not in FLOATS:
            value = self.cast(value, "float32")
        if value.type in FP8 and type not in ("float16", "bfloat16", "float32"):
            value = self.cast(value, "float32")
        if type in FP8 and value.type == "float64":
            value = self.cast(value, "float32")
        return self.let(f"{value.name}.to(tl.{type}{how})", type, value.shape)

    def some(self, types, **rest):
        """A value of one of these types: of the pool, or made of one by a cast."""
        value = self.pick(types, **rest)
        if value is None or self.chance(0.1):
            other = self.pick(None, **rest)
            if other is None:
                return None
            value = self.cast(other, self.one(*types))
        return value

    def like(self, value):
        """Another operand for an operation on `value`: text."""
        if self.chance(0.15):
            return self.literal(value.type)
        others = [v for v in self.pool if v.shape == value.shape and v is not value]
        if not others:  # of a value with itself compilers make nothing
            return self.load(value.type, value.shape).name if value.shape and self.chance(0.7) else self.literal(value.type)
        other = self.one(*others)
        small = [v for v in self.pool if len(v.shape) + 1 == len(value.shape) and v.shape]
        if self.chance(0.25) and small:
            candidate = self.one(*small)
            for axis in range(len(value.shape)):
                if value.shape[:axis] + value.shape[axis + 1 :] == candidate.shape:
                    place = ", ".join("None" if i == axis else ":" for i in range(len(value.shape)))
                    return f"{self.cast(candidate, value.type).name}[{place}]"
        return self.cast(other, value.type).name

    def literal(self, type):
        if type in INTEGERS or type == "int1":
            top = 1 if type == "int1" else min(2 ** (8 * BYTES[type] - 1) - 1, 2**31 - 1)
            value = self.one(0, 1, 2, 3, 7, 31, 100, top, self.below(top + 1))
            if type[0] == "i" and type != "int1" and self.chance(0.3):
                value = -value
            return f"tl.full([], {min(value, top)}, tl.{type})"
        return f"tl.full([], {self.one(0.0, 0.5, 1.0, -1.0, 1.5, 3.25, -0.125, 1e-3, 37.0)}, tl.{type})"

    def offsets(self, shape):
        """Text of the row-major indices of a block."""
        terms, stride = [], numel(shape)
        for axis, extent in enumerate(shape):
            stride //= extent
            place = ", ".join(":" if i == axis else "None" for i in range(len(shape)))
            index = f"tl.arange(0, {extent})" + (f"[{place}]" if len(shape) > 1 else "")
            terms.append(index if stride == 1 else f"{index} * {stride}")
        return " + ".join(terms) if terms else "0"

    # ---- memory

    def load(self, type, shape, fill=None):
        fill = fill or (self.one("bits", "bits", "small") if type in INTEGERS else self.one("unit", "unit", "wide", "small", "bits"))
        size = numel(shape)
        last = shape[-1] * BYTES[type] if shape else 0
        if len(shape) == 2 and last >= 16 and max(shape) <= 256 and self.chance(0.3):
            return self.load_descriptor(type, shape, fill)
        pointer = self.argument("x", type, self.grid * size, fill=fill, divisible=self.chance(0.85))
        index = self.name("o")
        self.emit(f"{index} = pid * {size} + {self.offsets(shape)}")
        if self.chance(0.15) and size > 1:  # neither in order nor aligned
            self.emit(f"{index} = ({index} * {self.one(3, 5, 7, 11)} + {self.below(size)}) % {self.grid * size}")
        rest = ""
        if len(shape) == 2 and self.chance(0.1):
            return self.load_block(pointer, type, shape)
        if self.chance(0.5):
            limit = self.number(self.limit(self.grid * size))
            other = self.one(0, 1, 3) if self.chance(0.6) else 0
            rest = f", mask={index} < {limit}, other={float(other) if type in FP8 else other}"
        if self.chance(0.15):
            rest += f', cache_modifier="{self.one(".ca", ".cg")}"' if self.chance(0.5) else f', eviction_policy="{self.one("evict_first", "evict_last")}"'
        elif self.chance(0.05):
            rest += ", volatile=True"
        return self.let(f"tl.load({pointer} + {index}{rest})", type, shape)

    def load_block(self, pointer, type, shape):
        m, n = shape
        offsets, order = f"[pid * {m} - {self.one(0, 0, m // 2)}, {self.one(0, 0, n // 2)}]", self.one("[1, 0]", "[1, 0]", "[0, 1]")
        block = self.name("b")
        self.emit(f"{block} = tl.make_block_ptr({pointer}, [{self.grid * m}, {n}], [{n}, 1], {offsets}, {made(shape)}, {order})")
        padding = self.one("zero", "nan") if type in FLOATS else "zero"
        return self.let(f'tl.load({block}, boundary_check=(0, 1), padding_option="{padding}")', type, shape)

    def load_descriptor(self, type, shape, fill):
        m, n = shape
        rows, columns = self.grid * m, n
        pointer = self.argument("x", type, rows * columns, fill=fill)
        descriptor = self.name("d")
        padding = ', padding_option="nan"' if type in FLOATS and self.chance(0.2) else ""
        self.emit(f"{descriptor} = tl.make_tensor_descriptor({pointer}, [{rows}, {columns}], [{columns}, 1], {made(shape)}{padding})")
        column = self.one(0, 0, 0, n // 2, -(n // 4))
        return self.let(f"{descriptor}.load([pid * {m} + {self.one(0, 0, m // 2, -3)}, {column}])", type, shape)

    def limit(self, size):
        """Of a mask: most of the elements, or any number of them."""
        return size - self.below(1 + size // 4) if self.chance(0.7) else 1 + self.below(size)

    def number(self, value):
        return self.argument("n", "int32", value=value, divisible=value % 16 == 0 and self.chance(0.5))

    def store(self, value):
        if value.type == "int1":
            value = self.cast(value, "int8")
        size = numel(value.shape)
        pointer = self.argument("y", value.type, self.grid * size, written=True, divisible=self.chance(0.85))
        last = value.shape[-1] * BYTES[value.type] if value.shape else 0
        if len(value.shape) == 2 and last >= 16 and max(value.shape) <= 256 and self.chance(0.3):
            self.arguments[-1].divisible = True
            m, n = value.shape
            rows = self.grid * m - self.one(0, 0, 1)
            descriptor = self.name("d")
            self.emit(f"{descriptor} = tl.make_tensor_descriptor({pointer}, [{rows}, {n}], [{n}, 1], {made(value.shape)})")
            self.emit(f"{descriptor}.store([pid * {m}, 0], {value.name})")
            return
        index = self.name("o")
        self.emit(f"{index} = pid * {size} + {self.offsets(value.shape)}")
        rest = ""
        if self.chance(0.3):
            rest = f", mask={index} < {self.number(self.limit(self.grid * size))}"
        if self.chance(0.1):
            rest += f', cache_modifier="{self.one(".wb", ".cg", ".cs", ".wt")}"'
        self.emit(f"tl.store({pointer} + {index}, {value.name}{rest})")

    # ---- the whole

    def make(self):
        self.grid = self.one(1, 2, 2, 3, 4)
        num_warps, num_stages = self.one(1, 2, 4, 4, 8), self.one(1, 2, 3, 4)
        self.emit("pid = tl.program_id(0)")
        import random_statements as statements  # which needs this module

        if self.chance(0.4):
            num_warps = self.one(1, 2, 4, 4, 4, 8)
            statements.product(self, num_stages)
        else:
            rank = self.one(1, 1, 2, 2, 2, 3)
            shape = {
                1: (self.one(32, 64, 128, 256, 512, 1024),),
                2: self.one((2, 64), (8, 16), (16, 16), (16, 32), (32, 32), (64, 16), (4, 128), (32, 64)),
                3: self.one((2, 4, 32), (4, 8, 16), (8, 4, 4), (2, 16, 16)),
            }[rank]
            for _ in range(self.one(1, 2, 2, 3)):
                self.load(self.one(*INTEGERS, *FLOATS, *FLOATS, *FP8), shape)
        for _ in range(3 + self.below(7)):
            statements.statement(self)
        # All that was computed counts: what no statement uses is stored, late values first.
        text = "\n".join(self.lines)
        unused = [v for v in reversed(self.pool) if len(re.findall(rf"\b{v.name}\b", text)) == 1]
        for value in dict.fromkeys([self.pool[-1], *unused[:6]]):
            self.store(value)
        parameters = ", ".join(a.name for a in self.arguments)
        source = HEAD + "".join(self.helpers) + f"\n\n@triton.jit\ndef kernel({parameters}):\n" + "\n".join(self.lines) + "\n"
        return Kernel(self.seed, source, self.grid, num_warps, num_stages, self.chance(0.15), self.arguments)


def kernel(seed):
    """The kernel of a seed. Not every one is accepted by every Triton: compile_random.py leaves out what is refused."""
    return Maker(seed).make()


if __name__ == "__main__":
    import sys

    print(kernel(int(sys.argv[1])).source)
