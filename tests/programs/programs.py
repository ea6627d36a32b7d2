"""The programs of this folder: inputs, launches, what must come out, and the mutant that must not pass.

One function a program, named like its folder, returns a `Program`. Inputs come from a fixed seed. References are
numpy or Python in the kernel's own order of operations, so results are compared bit for bit; only what the PTX ISA
or the CUDA manual gives an error bound is compared within that bound (`ulps`). A mutant is one changed line of the
.ptx, which must occur there exactly once; `run.py` checks that it differs, faults or hangs, as the mutant says.

Add a program: a folder NAME with NAME.cu (or a hand-written NAME.ptx), `scripts/compile_programs.sh NAME`, a
function here.
"""

import dataclasses
import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Callable, Optional

import numpy as np

import exact


@dataclass
class Value:
    """A scalar argument, `type` as `lemma run` spells it."""

    type: str
    value: object


@dataclass
class Bytes:
    """A structure by value."""

    array: np.ndarray


@dataclass
class TensorMap:
    """A tensor map of another argument's memory, dimensions and box innermost first."""

    argument: int  # its number
    type: str
    dims: list
    box: list
    swizzle: str = "128B"

    def fields(self):
        bits = {"u8": 8, "f16": 16, "bf16": 16, "f32": 32, "b4x16_p64": 4, "b6x16_p32": 6}[self.type]
        return {
            "arg": self.argument,
            "type": self.type,
            "dims": self.dims,
            "strides_bytes": [math.prod(self.dims[: i + 1]) * bits // 8 for i in range(len(self.dims) - 1)],
            "box": self.box,
            "element_strides": [1] * len(self.dims),
            "interleave": "none",
            "swizzle": self.swizzle,
            "oob_fill": "zeros",
            "l2_promotion": "none",
        }


@dataclass
class In:
    """A buffer that the kernel reads."""

    array: np.ndarray


@dataclass
class Out:
    """A buffer of zeros that the kernel writes; then it must equal `expected`, or be within `ulps` of it."""

    expected: np.ndarray
    ulps: Optional[np.ndarray] = None  # broadcast against `expected`


@dataclass
class Recorded:
    """A buffer of zeros that the kernel writes, row by row; of each row recorded.json has the hash of what an H200 wrote."""

    rows: list  # names
    row_bytes: int


@dataclass
class InOut:
    """A buffer that the kernel reads and writes."""

    array: np.ndarray
    expected: np.ndarray


@dataclass
class Scratch:
    """A buffer whose contents afterwards are nobody's business."""

    size_bytes: int


@dataclass
class Launch:
    grid: tuple
    block: tuple
    args: list
    entry: Optional[str] = None  # part of the name; of that one of the module's kernels
    smem: int = 0
    cluster: Optional[tuple] = None  # as the kernel declares, or none
    lines: Optional[list] = (
        None  # what the kernel prints, in any order; only lines that start with "p: " count
    )
    late: bool = False  # --async=late; the virtual GPU only
    options: list = field(default_factory=list)  # of lemma run; the virtual GPU only


@dataclass
class Mutant:
    """One changed line. `outcome`: differs (runs, and the comparison fails), fault, or hang."""

    old: str
    new: str
    outcome: str = "differs"


@dataclass
class Program:
    launches: list
    mutant: Mutant
    name: str = field(default="")
    on_gpu: bool = True  # False: the module is of a target that no GPU at hand has
    # Launches that take long to check or to compute the reference of: they run without --check, and not the mutant.
    large: Callable[[], list] = list


programs: dict[str, Callable[[], Program]] = {}


def program(function):
    programs[function.__name__] = function
    return function


def rng(seed=1):
    return np.random.RandomState(seed)


def cdiv(a, b):
    return -(-a // b)


def uniform(r, n, low=-1.0, high=1.0):
    return r.uniform(low, high, n).astype(np.float32)


def words(r, n):
    return r.randint(0, 2**32, n, dtype=np.uint64).astype(np.uint32)


U32 = 2**32 - 1
U64 = 2**64 - 1


def s32(v):
    return ((v & U32) ^ 2**31) - 2**31


def s64(v):
    return ((v & U64) ^ 2**63) - 2**63


def u32(values):
    return np.array([v & U32 for v in values], np.uint32)


def u64(values):
    return np.array([v & U64 for v in values], np.uint64)


# ---- Data in parallel, shared memory -----------------------------------------------------------------------


@program
def vector_add():
    r, n = rng(), 10007
    a, b = uniform(r, n), uniform(r, n)
    args = [In(a), In(b), Out(a + b), Value("u32", n)]
    mutant = Mutant(
        "setp.ge.u32 %p1, %r1, %r2;",
        "setp.gt.u32 %p1, %r1, %r2;",
        "fault",
    )
    return Program([Launch((cdiv(n, 256),), (256,), args)], mutant)


@program
def tiled_matmul():
    r, m, n, k = rng(), 40, 56, 75
    a, b = uniform(r, (m, k)), uniform(r, (k, n))
    c = np.zeros((m, n), np.float32)
    for i in range(k):
        c = exact.fma32(a[:, i : i + 1], b[i : i + 1, :], c)
    args = [In(a), In(b), Out(c), Value("u32", m), Value("u32", n), Value("u32", k)]
    mutant = Mutant(
        "fma.rn.f32 %f17, %f16, %f15, %f14;",
        "fma.rz.f32 %f17, %f16, %f15, %f14;",
    )
    return Program([Launch((cdiv(n, 16), cdiv(m, 16)), (16, 16), args)], mutant)


@program
def reduce_tree():
    r, n, ctas = rng(), 5000, 4
    x = uniform(r, n)
    padded = np.zeros(cdiv(n, ctas * 256) * ctas * 256, np.float32)
    padded[:n] = x
    part = np.zeros((ctas, 256), np.float32)
    for row in padded.reshape(-1, ctas, 256):
        part = part + row  # +0 in place of "no element": a sum that starts at +0 is never -0
    stride = 128
    while stride:
        part = part[:, :stride] + part[:, stride : 2 * stride]
        stride //= 2
    mutant = Mutant(
        "ld.shared.f32 %f11, [%r7+256];",
        "ld.shared.f32 %f11, [%r7+252];",
    )
    return Program([Launch((ctas,), (256,), [In(x), Out(part[:, 0]), Value("u32", n)])], mutant)


@program
def reduce_shuffle():
    ctas = 5
    x = uniform(rng(), ctas * 256, -1000, 1000)
    v = x.reshape(ctas, 8, 32)
    for offset in (16, 8, 4, 2, 1):
        v = v[..., :offset] + v[..., offset : 2 * offset]
    v = np.concatenate([v[..., 0], np.zeros((ctas, 24), np.float32)], axis=1)
    for offset in (16, 8, 4, 2, 1):
        v = v[:, :offset] + v[:, offset : 2 * offset]
    args = [In(x), Out(v[:, 0]), Out(x.reshape(ctas, 256).max(axis=1))]
    return Program(
        [Launch((ctas,), (256,), args)], Mutant("max.f32 %f40, %f49, %f39;", "min.f32 %f40, %f49, %f39;")
    )


@program
def transpose():
    rows, cols = 70, 100
    x = words(rng(), rows * cols).reshape(rows, cols)
    args = [In(x), Out(np.ascontiguousarray(x.T)), Value("u32", rows), Value("u32", cols)]
    mutant = Mutant(
        "ld.shared.u32 %r41, [%r13+96];",
        "ld.shared.u32 %r41, [%r13+64];",
    )
    return Program([Launch((cdiv(cols, 32), cdiv(rows, 32)), (32, 8), args)], mutant)


@program
def histogram():
    n = 20011
    x = np.clip(rng().normal(100, 20, n), 0, 255).astype(np.uint8)
    args = [In(x), Out(np.bincount(x, minlength=256).astype(np.uint32)), Value("u32", n)]
    mutant = Mutant(
        "atom.shared.add.u32 %r18, [%r17], 1;",
        "atom.shared.exch.b32 %r18, [%r17], 1;",
    )
    return Program([Launch((6,), (256,), args)], mutant)


@program
def bitonic_sort():
    x = words(rng(), 3 * 1024).view(np.int32).reshape(3, 1024)
    x[1, ::3] = 7  # many equal keys
    mutant = Mutant(
        "and.b32 %r151, %r22, 16;",
        "and.b32 %r151, %r22, 32;",
    )
    return Program([Launch((3,), (512,), [InOut(x, np.sort(x, axis=1))])], mutant)


@program
def scan():
    n = 5000
    ctas = cdiv(n, 256)
    x = words(rng(), n)
    sums = np.cumsum(x, dtype=np.uint32)
    ends = [sums[min(n, (i + 1) * 256) - 1] for i in range(ctas)]
    state = np.array([ctas] + [1] * ctas + ends, np.uint32)
    args = [In(x), Out(sums), Out(state), Value("u32", n)]
    return Program(
        [Launch((ctas,), (256,), args)], Mutant("st.volatile.global.u32 [%rd24+4], %r79;", "", "hang")
    )


@program
def dynamic_shared():
    r = rng()
    launches = []
    for letter, dtype, n, ctas in (
        ("h", np.uint8, 96, 3),
        ("f", np.float32, 128, 2),
        ("d", np.float64, 40, 3),
    ):
        x = (
            r.randint(0, 200, (ctas, n)).astype(dtype)
            if letter == "h"
            else r.uniform(-1, 1, (ctas, n)).astype(dtype)
        )
        out = x[:, ::-1] + np.roll(x, 5, axis=1)
        args = [In(x), Out(np.ascontiguousarray(out)), Value("u32", 5)]
        entry = f"_Z14reverse_rotateI{letter}EvPKT_PS0_j"
        launches.append(Launch((ctas,), (n,), args, entry, smem=2 * n * x.itemsize))
    return Program(launches, Mutant("rem.u32 %r11, %r10, %r2;", "mov.u32 %r11, %r10;", "fault"))


@program
def constant_memory():
    n = 192
    x = uniform(rng(), n, -3, 3)
    coefficients = np.array([0.5, -1.25, 3.0, 0.1, -0.7, 2.0], np.float32)
    p = np.full(n, coefficients[5])
    for c in coefficients[4::-1]:
        p = exact.fma32(p, x, np.full(n, c))
    permutation = [3, 14, 0, 9, 12, 5, 1, 15, 7, 2, 11, 6, 13, 8, 4, 10]
    lengths, mask = [5, 2, 9], [0x0000FFFF, 0xFF00FF00]
    weights = rng(2).randint(-1000, 1000, 12).astype(np.int32)
    mixed = []
    for i in range(n):
        j = permutation[permutation[i % 16] ^ (i // 16 % 16)]
        word = (j << 8 | lengths[i % 3] << 4 | 7) ^ (mask[i % 2] & (i * 0x01010101 & U32))
        mixed.append(word ^ (int(weights[(j + i) % 12]) & U32))
    scaled = 0.125 * np.arange(n) - 300
    args = [In(x), Out(p), Out(u32(mixed)), Out(scaled), Bytes(weights)]
    mutant = Mutant(
        "ld.const.f32 %f7, [coefficients+8];",
        "ld.const.f32 %f7, [coefficients+4];",
    )
    return Program([Launch((3,), (64,), args)], mutant)


@program
def local_array():
    n = 64
    x = rng().randint(-10000, 10000, (n, 24)).astype(np.int32)
    ordered = np.sort(x, axis=1)
    walks, sums = [], []
    for i in range(n):
        stack, h = [1], i
        while stack:
            node = stack.pop()
            h = (h * 31 + node) & U32
            if node < 32:
                if (h ^ node) & 3:
                    stack.append(node * 2)
                stack.append(node * 2 + 1)
        walks.append(h)
        bins = [0] * 8
        for v in ordered[i]:
            bins[v & 7] += int(v)
        sums.append(sum(bins[(k + i) & 7] * (k + 1) for k in range(8)))
    args = [In(x), Out(ordered), Out(u32(walks)), Out(np.array(sums, np.float64))]
    return Program(
        [Launch((2,), (32,), args)], Mutant("st.local.u8 [%rd165], %rs4;", "st.local.u8 [%rd165], %rs2;")
    )


@program
def vector_access():
    r, n = rng(), 96
    record = np.dtype(
        [
            ("kind", "u1"),
            ("delta", "i1"),
            ("size", "u2"),
            ("value", "i4"),
            ("weight", "f8"),
            ("color", "f4", 4),
        ]
    )
    assert record.itemsize == 32
    records = np.zeros(n, record)
    records["kind"], records["size"] = r.randint(0, 256, n), r.randint(0, 65536, n)
    records["delta"] = r.randint(-128, 128, n)
    records["value"], records["weight"] = words(r, n).view(np.int32), r.uniform(-1, 1, n)
    records["color"] = uniform(r, (n, 4))
    out = records.copy()
    out["kind"] = records["kind"] + np.uint8(200)
    out["delta"] = records["delta"] - np.int8(100)
    out["size"] = records["size"] * np.uint16(3)
    out["value"] = records["value"] + out["delta"].astype(np.int32)
    out["weight"] *= 2
    out["color"] = records["color"][:, ::-1]
    c = r.randint(0, 256, (n, 4)).astype(np.uint8)
    bytes_out = np.stack([c[:, 3], c[:, 0] + c[:, 1], c[:, 1] ^ c[:, 3], c[:, 2] - c[:, 3]], axis=1)
    s = r.randint(-32768, 32768, (n, 2)).astype(np.int16)
    shorts_out = np.stack([s[:, 1] - s[::-1, 0], s[::-1, 1]], axis=1)
    q = words(r, n * 4).reshape(n, 4)
    quads_out = np.stack([q[:, 1], q[:, 0], q[:, 3] + np.uint32(1), q[:, 2]], axis=1)
    d = r.uniform(-1, 1, (n, 2))
    pairs_out = np.stack([d[:, 1], d[:, 0] * 2], axis=1)
    args = [In(records), In(c), In(s), In(q), In(d)]
    args += [Out(out[::-1].copy()), Out(bytes_out), Out(shorts_out), Out(quads_out), Out(pairs_out)]
    mutant = Mutant(
        "ld.volatile.global.u8 %rs23, [%rd27];",
        "ld.volatile.global.u8 %rs23, [%rd27+1];",
    )
    return Program([Launch((3,), (32,), args)], mutant)


@program
def generic_pointers():
    n = 128
    x = [int(v) for v in rng().randint(-1000, 1000, n)]
    parameters = rng(2).randint(-50, 50, 8).astype(np.int32)
    table, device = [5, 4, 3, 2, 1, 0, -1, -2], [10, 20, 30, 40, 50, 60, 70, 80]
    out, spaces = [], []
    for t in range(n):
        base = t // 8 * 8
        p = [
            x[base : base + 8],
            [3 * v for v in x[base : base + 8]],
            [x[t] + k * k for k in range(8)],
            device,
        ][t % 4]
        v = p[t % 8] * 2 + p[(t + 3) % 8]
        spaces.append([1, 2, 4, 1][t % 4] | 8)
        v += table[t % 8] * 100 + int(parameters[(t + v) & 7]) * 1000
        local = x[t] + (t % 8) ** 2 + (0 if t % 2 else t)
        shared = 3 * x[t ^ 1] + (t ^ 1 if (t ^ 1) % 2 else 0)
        out.append(v + shared * 7 + local)
    args = [In(np.array(x, np.int32)), Out(u32(out)), Out(u32(spaces)), Bytes(parameters)]
    return Program(
        [Launch((1,), (n,), args)], Mutant("isspacep.shared %p5, %rd46;", "isspacep.local %p5, %rd46;")
    )


# ---- Control flow ------------------------------------------------------------------------------------------


@program
def recursion():
    n = 64
    keys = rng().randint(-100, 100, (n, 16)).astype(np.int32)

    def fib(k):
        return k if k < 2 else fib(k - 1) + fib(k - 2)

    def ackermann(a, b):
        if a == 0:
            return b + 1
        return ackermann(a - 1, 1) if b == 0 else ackermann(a - 1, ackermann(a, b - 1))

    def female(k):
        return 1 if k == 0 else k - male(female(k - 1))

    def male(k):
        return 0 if k == 0 else k - female(male(k - 1))

    t = range(n)
    args = [
        In(keys),
        Out(u32(fib(i % 11) for i in t)),
        Out(u32(ackermann(i % 3, i // 3 % 3) for i in t)),
        Out(u32(female(i % 7) * 16 + male(i % 6) for i in t)),
        Out(np.sort(keys, axis=1)),
    ]
    return Program(
        [Launch((1,), (n,), args)], Mutant("add.s32 %r4, %r8, -1;", "add.s32 %r4, %r8, 0;", "fault")
    )


@program
def function_pointers():
    r, n = rng(), 128
    a, b = (r.randint(-1000, 1000, n) for _ in range(2))
    which = r.randint(0, 4, n)

    def op_loop(x, y):
        total = 0
        for i in range((y & 7) + 1):
            total = s32(total * 3 + (x ^ i))
        return total

    operations = [
        (lambda x, y: s32(x + y), 1),
        (lambda x, y: s32(x - y), 10),
        (lambda x, y: s32(x * y), 100),
        (op_loop, 1000),
    ]
    constant_table = [operations[k] for k in (3, 2, 1, 0)]
    out, calls = [], []
    for i in range(n):
        first, cost = operations[which[i]]
        x = first(int(a[i]), int(b[i]))
        second, more = constant_table[which[i] ^ 1] if x & 1 else operations[2]
        out.append(second(x, int(b[i])))
        calls.append(cost + more)
    args = [In(v.astype(np.int32)) for v in (a, b, which)] + [Out(u32(out)), Out(u32(calls))]
    mutant = Mutant(
        ".global .align 8 .u64 global_table[4] = {_Z6op_addiiPi, _Z6op_subiiPi, _Z6op_muliiPi, _Z7op_loopiiPi};",
        ".global .align 8 .u64 global_table[4] = {_Z6op_subiiPi, _Z6op_addiiPi, _Z6op_muliiPi, _Z7op_loopiiPi};",
    )
    return Program([Launch((2,), (64,), args)], mutant)


def interpret(code, start, acc, steps):
    """One lane of interpreter.cu and of switch_brx.ptx."""
    pc, x, trace = start % len(code), start, 0
    for step in range(steps):
        op = code[pc]
        pc = 0 if pc + 1 == len(code) else pc + 1
        if op == 0:
            acc += x
        elif op == 1:
            acc -= 3 * x
        elif op == 2:
            acc *= 2654435761
        elif op == 3:
            acc ^= acc >> 15
        elif op == 4:
            x = acc & 0xFF
        elif op == 5:
            x = (x * x + step) & U32
        elif op == 6:
            trace = (trace * 7 + acc) & U32
        elif op == 7:
            acc = acc << 7 | acc >> 25
        elif op == 8:
            if acc & 1:
                pc = (pc + 3) % len(code)
        elif op == 9:
            acc = ~acc
        elif op in (10, 11):
            if op == 10:
                trace ^= x << 16 & U32
            acc += 0x9E3779B9
        elif op == 12:
            x = acc // (x | 1)
        else:
            acc += op
        acc &= U32
    return acc ^ trace ^ x


def interpreter_launch():
    r, n, steps = rng(), 128, 60
    code = [int(v) for v in r.permutation(list(range(15)) * 2 + [2, 3, 5, 6, 8, 10, 12])]
    x = words(r, n)
    out = u32(interpret(code, i, int(x[i]), steps) for i in range(n))
    args = [In(np.array(code, np.uint8)), Value("u32", len(code)), In(x), Out(out), Value("u32", steps)]
    return Launch((2,), (64,), args)


@program
def interpreter():
    return Program(
        [interpreter_launch()], Mutant("add.s32 %r124, %r124, %r104;", "sub.s32 %r124, %r124, %r104;")
    )


@program
def switch_brx():
    mutant = Mutant(
        "targets: .branchtargets op0, op1, op2, op3, op4, op5, op6, op7, op8, op9, op10, op11, op12, other;",
        "targets: .branchtargets op0, op1, op3, op2, op4, op5, op6, op7, op8, op9, op10, op11, op12, other;",
    )
    return Program([interpreter_launch()], mutant)


@program
def divergence():
    n, block = 160, 64  # the last CTA loses its second warp at once
    x = rng().randint(1, 5000, 192)
    x[5] = 27 << 20  # long enough to be cut off
    steps = []
    for v in x[:n]:
        v, count = int(v), 0
        while v != 1:
            v = (3 * v + 1) & U32 if v % 2 else v // 2
            count += 1
            if count == 200:
                break
        steps.append(count)
    result = []
    for first in range(0, n, 32):
        sums = []
        for lane in range(32):
            total = 0
            for a in range(lane % 5 + 1):
                if (a ^ lane) % 3 == 0:
                    continue
                for b in range((a * 7 + lane) % 9):
                    if b * a > 20:
                        break
                    total += b * a + (1 if lane & b else 100)
            sums.append(total)
        before = list(sums)
        after = [before[k] + before[k ^ 2] if k % 2 else before[k] for k in range(32)]
        votes = bin(sum(1 << k for k in range(2, 32, 4) if before[k] & 2)).count("1")
        for k in range(32):
            if k % 2:
                sums[k] = after[k] + after[k ^ 4] * 3
            elif k % 4:
                sums[k] = before[k] + votes * 1000
            else:
                sums[k] = before[k] - before[(k + 4) % 32]
        sums = [(sums[k] + sums[min(k + 1, 31)]) & U32 for k in range(32)]
        for k in range(32):
            for turn in range(k * 5 % 17):
                sums[k] = (sums[k] * 5 + turn) & U32
        result += sums
    args = [In(x.astype(np.uint32)), Out(u32(steps)), Out(u32(result)), Value("u32", n)]
    return Program(
        [Launch((192 // block,), (block,), args)], Mutant("mov.u32 %r127, 4;", "mov.u32 %r127, 8;")
    )


# ---- What threads do together ------------------------------------------------------------------------------


@program
def warp_votes():
    r, n, block = rng(), 192, 64
    x = r.randint(0, 1023, n)
    x[0:32] = r.randint(0, 900, 32)
    x[64:128] = r.randint(0, 900, 64)
    x[130] = 3
    x[40] = x[70] = 7
    x[96:128] = 2
    v = [int(k) for k in x]
    rows = []
    for first in range(0, n, 32):
        w = v[first : first + 32]
        cta = v[first // block * block :][:block]

        def mask(test):
            return sum(1 << k for k in range(32) if test(k))

        def every(value):
            return [value] * 32

        odd = mask(lambda k: w[k] & 1)
        same = len({k > 2000 for k in w}) == 1
        minimum = min(k - 500 for k in w)
        together_and, together_or, together_xor = U32, 0, 0
        for k in w:
            together_and, together_or, together_xor = (
                together_and & (k | 0xFF0),
                together_or | k,
                together_xor ^ k,
            )
        part = []
        for k in range(32):
            if k % 3 == 0:
                thirds = range(0, 32, 3)
                alike = sum(1 for j in thirds if w[j] % 2 == w[k] % 2)
                part.append(sum(w[j] for j in thirds) + alike * 100000)
            else:
                part.append(w[k] & 1)
        up = [w[k - 3] if k % 16 >= 3 else w[k] for k in range(32)]
        down = [w[k + 5] if k % 8 + 5 < 8 else w[k] for k in range(32)]
        rows.append(
            [
                every(any(k == 3 for k in w)),
                every(all(k < 1000 for k in w)),
                every(odd),
                [mask(lambda j: w[j] % 5 == w[k] % 5) for k in range(32)],
                [mask(lambda j: w[j] % 3 == w[k] % 3) for k in range(32)],
                every(U32 if same else 0),
                every(same),
                every(sum(w)),
                every(minimum),
                every(max(k * 2654435761 & U32 for k in w)),
                every(together_and),
                every(together_or),
                every(together_xor),
                [w[k // 8 * 8 + 1] for k in range(32)],
                [w[k * 7 % 32] for k in range(32)],
                up,
                down,
                [w[k ^ 12] for k in range(32)],
                [w[31 - k] for k in range(32)],
                part,
                every(sum(k & 1 for k in cta)),
                every(any(k == 7 for k in cta)),
                every(all(k < 900 for k in cta)),
                list(range(32)),
                [(1 << k) - 1 ^ (2 << k) - 1 ^ (U32 << (k + 1) & U32) for k in range(32)],
                [(U32 << k & U32) - (1 << k) for k in range(32)],
            ]
        )
    out = u32(int(value) for row in range(len(rows[0])) for warp in rows for value in warp[row])
    args = [In(x.astype(np.uint32)), Out(out), Value("u32", n)]
    mutant = Mutant(
        "redux.sync.min.s32 %r46, %r45, %r19;",
        "redux.sync.min.u32 %r46, %r45, %r19;",
    )
    return Program([Launch((n // block,), (block,), args)], mutant)


@program
def named_barriers():
    rounds = 9
    x = words(rng(), rounds * 32).reshape(rounds, 32)
    lanes = np.arange(32)
    sums = [np.full(32, 1, np.uint32), np.full(32, 2, np.uint32)]
    for k in range(rounds):
        buffer = x[k] * np.uint32(k + 1)
        sums[0] = sums[0] * np.uint32(31) + buffer[lanes]
        sums[1] = sums[1] * np.uint32(31) + buffer[31 - lanes]
    args = [In(x), Out(np.concatenate(sums)), Value("u32", rounds)]
    return Program([Launch((1,), (96,), args)], Mutant("bar.arrive %r46, 96;", "", "hang"))


@program
def grid_barrier():
    ctas, block, rounds = 24, 64, 7
    start = words(rng(), ctas * block).reshape(ctas, block)
    buffers = [start, np.zeros_like(start)]
    for _ in range(rounds):
        x = buffers[0]
        after = np.roll(x, 1, axis=0) + np.uint32(3) * np.roll(np.roll(x, -1, axis=0), -1, axis=1)
        buffers = [after, x]
    # After an odd number of rounds the newest rows are in the scratch buffer.
    args = [InOut(start, buffers[1]), Out(buffers[0]), Out(u32([ctas * rounds])), Value("u32", rounds)]
    mutant = Mutant(
        "atom.global.add.u32 %r23, [%rd1], 1;",
        "atom.global.add.u32 %r23, [%rd1], 0;",
        "hang",
    )
    return Program([Launch((ctas,), (block,), args)], mutant)


@program
def cluster_histogram():
    ctas, cluster, block, bins_per_cta = 6, 3, 128, 256
    bins = cluster * bins_per_cta
    values = words(rng(), 5000)
    mutant = Mutant("mapa.u64 	%rd9, %rd8, %r24;", "mapa.u64 	%rd9, %rd8, 0;")
    args = [In(values), Value("u32", len(values)), Out(u32(np.bincount(values % bins, minlength=bins)))]
    return Program([Launch((ctas,), (block,), args, cluster=(cluster,))], mutant)


@program
def persistent_tiles():
    tile, tiles = 32, 6
    values = words(rng(), (tile * tiles) ** 2).reshape(tile * tiles, -1)
    index = np.arange(tile * tiles, dtype=np.uint32) // tile
    want = (values ^ (index[:, None] << 16 | index)).T
    launches = [
        Launch((tiles, tiles), (tile,), [In(values), Out(want), In(np.zeros(1, np.uint32))], entry=entry, late=late)
        for entry in ("cluster_tiles", "tiles")
        for late in (False, True)
    ]
    # Tiles of the diagonal alone are taken.
    mutant = Mutant(
        "clusterlaunchcontrol.query_cancel.get_first_ctaid::y.b32.b128 %r43, B128_try_cancel_response;",
        "clusterlaunchcontrol.query_cancel.get_first_ctaid::x.b32.b128 %r43, B128_try_cancel_response;",
    )
    return Program(launches, mutant, on_gpu=False)


@program
def cluster_softmax():
    rows, per_row = 5, 4 * 128 * 3
    values = rng().randint(-60, 20, (rows, per_row)).astype(np.int32)
    greatest = values.max(axis=1, keepdims=True)
    weights = np.uint64(1) << np.maximum(0, 40 + values - greatest).astype(np.uint64)
    sums = weights.sum(axis=1, dtype=np.uint64)
    shares = (weights << np.uint64(16)) // sums[:, None]
    # One CTA's sum taken twice, another's not.
    mutant = Mutant("mapa.u64 	%rd55, %rd53, %r98;", "mapa.u64 	%rd55, %rd53, %r97;")
    args = [In(values), Out(shares), Out(sums)]
    return Program([Launch((rows * 4,), (128,), args)], mutant)


@program
def atomics_cas():
    state = np.dtype([("lock", "u4"), ("count", "u4"), ("sum", "u8")])
    ctas, rounds = 12, 4
    values = [i * 1000 + k for i in range(ctas) for k in range(rounds)]
    by_cta = np.array([(0, len(values), sum(v * v for v in values))], state)
    values = range(70000, 70000 + 2 * 48)
    by_lane = np.array([(0, len(values), sum(v * v for v in values))], state)
    x = uniform(rng(), 256, -5, 900)
    return Program(
        [
            Launch((ctas,), (32,), [Out(by_cta), Value("u32", rounds)], "grid_lock"),
            Launch((2,), (48,), [Out(by_lane)], "lane_lock"),
            Launch((2,), (128,), [In(x), Out(x.max(keepdims=True))], "float_max"),
        ],
        Mutant("atom.global.exch.b32 %r14, [%rd1], 0;", "atom.global.exch.b32 %r14, [%rd1], 1;", "hang"),
    )


@program
def atomics_all():
    ctas, block = 2, 128
    n = ctas * block
    every = range(n)

    def fold(start, values, operation):
        for v in values:
            start = operation(start, v)
        return start

    def xor(a, b):
        return a ^ b

    golden = 11400714819323198485
    w0 = [5, U32, 3, U32, 8, 9, 10, 20, 0, 77] + [0] * 6
    w = list(w0)
    w[0] -= sum(every)
    w[1] = min([w0[1]] + [i * 2654435761 & U32 for i in every])
    w[2] = max([w0[2]] + [i * 2654435761 & U32 for i in every])
    w[3] = fold(w0[3], (U32 ^ 1 << i % 31 for i in every), lambda a, b: a & b)
    w[4] = fold(w0[4], (1 << i % 29 for i in every), lambda a, b: a | b)
    w[5] = fold(w0[5], (i * i * 77777 & U32 for i in every), xor)
    w[6] = fold(w0[6], every, lambda a, _: 0 if a >= 36 else a + 1)
    w[7] = fold(w0[7], every, lambda a, _: 36 if a == 0 or a > 36 else a - 1)
    w[8], w[9] = n, 1234
    w[11] = ctas
    for first in range(0, n, block):
        cta = range(first, first + block)
        w[12] += sum(cta)
        w[13] += max(i * 40503 % 65536 for i in cta)
        w[14] += fold(0, (i * 99 for i in cta), xor)

    d0 = [1, U64, 2, 3, 4, 0, U64, 0]
    d = list(d0)
    d[0] += sum(i << 33 for i in every)
    d[1] = min(i * golden & U64 for i in every)
    d[2] = max([d0[2]] + [i * golden & U64 for i in every])
    d[3] = fold(d0[3], (i * i << 20 for i in every), xor)
    d[4] = fold(d0[4], (1 << i % 61 for i in every), lambda a, b: a | b)
    d[5] = 99
    d[6] = fold(d0[6], (U64 ^ 1 << i % 50 for i in every), lambda a, b: a & b)
    d[7] = sum(i * 5000000000 for i in every)

    signed = [s32(i * 2654435761) for i in every]
    s0 = [100, -100, 7]
    s = [min(signed + s0[:1]), max(signed + s0[1:2]), 7 - sum(every)]
    f = np.array([sum(i % 16 for i in every) * 0.25, sum(i % 8 for i in every)], np.float32)
    g = np.array([sum(i % 16 for i in every) * 0.125])
    h = np.array([n, -2 * n, 0, 0], np.float16)
    h.view(np.uint16)[2] = 7
    tickets = u32(3 * i for i in every)
    args = [
        InOut(u32(w0), u32(w)),
        InOut(u64(d0), u64(d)),
        InOut(np.array(s0, np.int32), np.array(s, np.int32)),
        Out(f),
        Out(g),
        Out(h),
        Out(tickets),
    ]
    mutant = Mutant(
        "atom.global.max.s32 %r49, [%rd58], %r17;",
        "atom.global.max.u32 %r49, [%rd58], %r17;",
    )
    return Program([Launch((ctas,), (block,), args)], mutant)


# ---- Arithmetic --------------------------------------------------------------------------------------------


@program
def nbody_f64():
    r, n, steps, dt = rng(), 64, 3, 0.01
    position, mass = r.uniform(-1, 1, (3, n)), r.uniform(0.5, 2, n)
    velocity = np.zeros((3, n))
    x = position.copy()
    for _ in range(steps):
        acceleration = np.zeros((3, n))
        for j in range(n):
            delta = [x[k, j] - x[k] for k in range(3)]
            r2 = np.full(n, 0.0625)
            for k in range(3):
                r2 = exact.fma64(delta[k], delta[k], r2)
            s = mass[j] * (1.0 / (r2 * np.sqrt(r2)))
            for k in range(3):
                acceleration[k] = exact.fma64(delta[k], s, acceleration[k])
        for k in range(3):
            velocity[k] = exact.fma64(acceleration[k], dt, velocity[k])
            x[k] = exact.fma64(velocity[k], dt, x[k])
    args = [In(position), In(mass), Out(x), Out(velocity), Value("u32", steps), Value("f64", dt)]
    mutant = Mutant(
        "fma.rn.f64 %fd107, %fd96, %fd104, %fd90;",
        "fma.rz.f64 %fd107, %fd96, %fd104, %fd90;",
    )
    return Program([Launch((1,), (n,), args)], mutant)


def math_inputs(r, n, dtype, largest, smallest):
    """Numbers of all sizes, with neither NaN nor infinity nor -0; the second array has no zero."""
    x = r.uniform(-10, 10, n)
    x[: n // 4] = r.uniform(-1, 1, n // 4) * 2.0 ** r.randint(-40, 40, n // 4)
    x[n // 4 : n // 4 + 8] = [largest, -largest, largest / 3, smallest, -smallest * 12345, 0, 1, -1]
    x[n // 4 + 8 : n // 4 + 14] = [0.5, 1.5, 2.5, -2.5, 1e9 + 0.5, -0.25]
    y = r.uniform(-10, 10, n)
    y[n // 4 : n // 4 + 8] = [0.75, 3, -7, 1.5, 3, 2, -5, 1e-3]
    y[: n // 8] *= 2.0 ** r.randint(-30, 30, n // 8)
    x, y = x.astype(dtype), y.astype(dtype)
    assert np.isfinite(x).all() and np.isfinite(y).all() and (y != 0).all()
    return x, y


def exact_rows(fmt, x, y):
    """The rows that f32_math.cu and f64_math.cu begin with, as bits."""
    a, b = exact.bits_of(x), exact.bits_of(y)
    one = fmt.round(Fraction(1))
    absolute = [v & ~fmt.sign for v in a]

    def each(operation, *modes):
        return [[operation(v, w, mode) for v, w in zip(a, b)] for mode in modes]

    rows = each(fmt.div, "rn")
    rows += [[fmt.sqrt(v) for v in absolute]]
    rows += [[fmt.div(one, v) for v in a]]
    rows += [[fmt.fma(v, w, v ^ fmt.sign) for v, w in zip(a, b)]]
    rows += each(fmt.add, "rn", "rz", "ru", "rd")
    rows += each(fmt.mul, "rn", "rz", "ru", "rd")
    return rows


def shared_rows(x, y):
    """The rows without rounding that both files have, as arrays."""
    fmod = np.array([math.fmod(float(v), float(w)) for v, w in zip(x, y)]).astype(x.dtype)
    return [np.floor(x), np.ceil(x), np.trunc(x), np.rint(x), np.fmin(x, y), np.fmax(x, y), fmod]


@program
def f64_math():
    n = 256
    x, y = math_inputs(rng(), n, np.float64, 1.7e308, 5e-324)
    a, b = exact.bits_of(x), exact.bits_of(y)
    rows = exact_rows(exact.f64, x, y)
    rows += [[exact.f64.div(v, w, mode) for v, w in zip(a, b)] for mode in ("rz", "ru")]
    rows += [[exact.f64.sqrt(v & ~exact.f64.sign, "rd") for v in a]]
    rows = [u64(row).view(np.float64) for row in rows] + shared_rows(x, y)
    with np.errstate(over="ignore"):
        rows += [x.astype(np.float32).astype(np.float64), np.copysign(x, y)]

    small = np.array([math.fmod(v, 300.0) for v in x])
    wide, wide_small = x.astype(np.longdouble), small.astype(np.longdouble)
    with np.errstate(divide="ignore"):
        functions = [  # with the error bounds of the CUDA C++ Programming Guide, mathematical functions
            (np.exp(wide_small), 1),
            (np.log(np.abs(wide)), 1),
            (np.sin(wide_small), 2),
            (np.cos(wide_small), 2),
            (np.cbrt(wide), 1),
            (1 / np.sqrt(np.abs(wide)), 1),
            (np.power(np.abs(wide_small), np.longdouble(1.7)), 2),
            (np.tanh(wide_small / 64), 1),
        ]
    results = np.stack([f.astype(np.float64) for f, _ in functions])
    ulps = np.array([bound for _, bound in functions]).reshape(-1, 1)
    args = [In(x), In(y), Out(np.stack(rows)), Out(results, ulps), Value("u32", n)]
    mutant = Mutant(
        "div.rp.f64 %fd88, %fd2, %fd1;",
        "div.rn.f64 %fd88, %fd2, %fd1;",
    )
    return Program([Launch((cdiv(n, 96),), (96,), args)], mutant)


@program
def f32_math():
    n = 256
    x, y = math_inputs(rng(), n, np.float32, 3.3e38, 1.5e-45)
    a, b = exact.bits_of(x), exact.bits_of(y)
    rows = exact_rows(exact.f32, x, y)
    rows += [[exact.f32.div(v, w, "rz") for v, w in zip(a, b)]]
    rows += [[exact.f32.sqrt(v & ~exact.f32.sign, "rd") for v in a]]
    rows = [u32(row).view(np.float32) for row in rows] + shared_rows(x, y)
    rows += [np.where(x > 0, np.minimum(x, 1), 0).astype(np.float32), np.copysign(x, y)]

    small = np.array([math.fmod(float(v), 80.0) for v in x]).astype(np.float32)
    wide, wide_small = x.astype(np.float64), small.astype(np.float64)
    with np.errstate(divide="ignore"):
        functions = [  # with the error bounds of the CUDA C++ Programming Guide, mathematical functions
            (np.sin(wide_small), 2),
            (np.cos(wide_small), 2),
            (np.sin(wide), 2),
            (np.cos(wide), 2),
            (np.exp(wide_small), 2),
            (np.log(np.abs(wide)), 1),
            (np.exp2(wide_small), 2),
            (np.log2(np.abs(wide)), 1),
            (np.tanh((small / np.float32(16)).astype(np.float64)), 2),
            (1 / np.sqrt(np.abs(wide)), 2),
            (np.cbrt(wide), 1),
            (np.power(np.abs(wide_small), float(np.float32(1.7))), 4),
        ]
    results = np.stack([f.astype(np.float32) for f, _ in functions])
    ulps = np.array([bound for _, bound in functions]).reshape(-1, 1)
    args = [In(x), In(y), Out(np.stack(rows)), Out(results, ulps), Value("u32", n)]
    mutant = Mutant(
        "mul.rz.f32 %f101, %f2, %f1;",
        "mul.rn.f32 %f101, %f2, %f1;",
    )
    return Program([Launch((cdiv(n, 96),), (96,), args)], mutant)


@program
def half_bfloat16():
    r, n = rng(), 200

    def pairs(fmt, specials, seed):
        """2n values of all sizes, a few of them from `specials`."""
        r = rng(seed)
        x = r.uniform(-2, 2, 2 * n) * 2.0 ** r.randint(-8, 8, 2 * n)
        x[: n // 2] *= 2.0 ** r.randint(-16, 0, n // 2)  # with subnormals of f16
        bits = [fmt.round(Fraction(float(v))) for v in x]
        for k, special in enumerate(specials):
            bits[7 + 11 * k + seed] = special
        return bits

    def join(bits):
        """Neighbours to a word, the first one low."""
        return [low | high << 16 for low, high in zip(bits[::2], bits[1::2])]

    def minimum(fmt, a, b, largest=False, propagate=False):
        if fmt.is_nan(a) or fmt.is_nan(b):
            return fmt.nan if propagate or (fmt.is_nan(a) and fmt.is_nan(b)) else b if fmt.is_nan(a) else a
        # Order as integers, -0 below +0.
        low, high = sorted((a, b), key=lambda v: -(v & ~fmt.sign) - 1 if fmt.negative(v) else v)
        return high if largest else low

    def less(fmt, a, b, or_equal=False):
        if fmt.is_nan(a) or fmt.is_nan(b):
            return False
        x, y = (
            math.copysign(math.inf, -1 if fmt.negative(v) else 1) if fmt.is_infinite(v) else fmt.value(v)
            for v in (a, b)
        )
        return x <= y if or_equal else x < y

    def rows(fmt, x, y, z):
        return [
            [fmt.add(a, b) for a, b in zip(x, y)],
            [fmt.sub(a, b) for a, b in zip(x, y)],
            [fmt.mul(a, b) for a, b in zip(x, y)],
            [fmt.fma(a, b, c) for a, b, c in zip(x, y, z)],
            [minimum(fmt, a, b) for a, b in zip(x, y)],
        ]

    h, b16 = exact.f16, exact.bf16
    finite = [h.sign, 0, 1, 0x03FF, 0x7BFF, h.infinity, h.sign | h.infinity, 0x8001]
    x, y, z = (
        pairs(h, finite, 1),
        pairs(h, [0x7E00, h.infinity, 0xFE01, 0x0001, 0x7BFF], 2),
        pairs(h, [0x7BFF, 1], 3),
    )
    h_rows = rows(h, x, y, z)
    h_rows += [[minimum(h, a, b, largest=True, propagate=True) for a, b in zip(x, y)]]
    h_rows += [[0x3C00 if less(h, b, a) else 0 for a, b in zip(x, y)]]
    h_rows += [[a & 0x7FFF for a in x]]
    h_rows += [[0 if h.negative(v) else v for v in h_rows[3]]]
    h_rows += [[0 if h.is_nan(v) else minimum(h, minimum(h, v, 0x3C00), 0, largest=True) for v in h_rows[0]]]
    flags = [1 | 2 * (less(h, y[k], z[k]) and less(h, y[k + 1], z[k + 1])) for k in range(0, 2 * n, 2)]
    h_out = u32([v for row in h_rows for v in join(row)] + flags)

    finite = [b16.sign, 0, 1, 0x007F, 0x7F7F, b16.infinity, b16.sign | b16.infinity, 0x8001]
    u, v, w = (
        pairs(b16, finite, 4),
        pairs(b16, [0x7FC0, b16.infinity, 0xFFC1, 1, 0x7F7F], 5),
        pairs(b16, [0x7F7F, 1], 6),
    )
    b_rows = rows(b16, u, v, w)
    b_rows += [[minimum(b16, a, b, largest=True) for a, b in zip(u, v)]]
    b_rows += [[0x3F80 if less(b16, a, b, or_equal=True) else 0 for a, b in zip(u, v)]]
    b_rows += [[a | 0x8000 for a in u]]
    b_out = u32([v for row in b_rows for v in join(row)])

    f = (r.uniform(-2, 2, 2 * n) * 2.0 ** r.randint(-30, 20, 2 * n)).astype(np.float32)
    f[:12] = [
        65504,
        65519.99,
        65520,
        1e30,
        -1e30,
        np.inf,
        np.nan,
        2**-25,
        3 * 2**-26,
        1 + 2**-8,
        1 + 3 * 2**-8,
        0,
    ]
    bits = exact.bits_of(f)

    def narrow(fmt, v, mode="rn"):
        if exact.f32.is_nan(v):
            return fmt.nan
        if exact.f32.is_infinite(v):
            return fmt.infinity | (fmt.sign if exact.f32.negative(v) else 0)
        return fmt.round(exact.f32.value(v), mode, exact.f32.negative(v))

    def to_int(v):
        if h.is_nan(v):
            return 0
        if h.is_infinite(v):
            return -(2**31) if h.negative(v) else 2**31 - 1
        return exact.round_to_integer(h.value(v), "rn")

    cvt = join([narrow(h, k) for k in bits]) + join([narrow(b16, k) for k in bits])
    cvt += join([narrow(h, k, "ru" if i % 2 else "rz") for i, k in enumerate(bits)])
    cvt += exact.bits_of(np.array(x[::2], np.uint16).view(np.float16).astype(np.float32))
    cvt += [k << 16 for k in u[1::2]]
    cvt += [to_int(k) for k in y[::2]]
    cvt += join([k for pair in zip(x[1::2], x[::2]) for k in pair])

    def halves(bits):
        return In(np.array(bits, np.uint16))

    args = [halves(x), halves(y), halves(z), Out(h_out), halves(u), halves(v), halves(w), Out(b_out)]
    args += [In(f), Out(u32(cvt)), Value("u32", n)]
    mutant = Mutant(
        "{fma.rn.relu.f16x2 %r32,%r7,%r8,%r18;",
        "{fma.rn.f16x2 %r32,%r7,%r8,%r18;",
    )
    return Program([Launch((cdiv(n, 64),), (64,), args)], mutant)


@program
def integer_ops():
    r, n = rng(), 160
    xs, ys, zs = words(r, n), words(r, n), words(r, n)
    edges = [0, 1, 0x80000000, 0x7FFFFFFF, U32, 0x8000, 0xFF00FF00]
    xs[:7], ys[8:15], zs[16:23] = edges, edges, edges
    xs[24:48] >>= np.arange(24, dtype=np.uint32)
    zs[24:48] = np.arange(20, 44)
    out, out64 = [], []
    for x, y, z in zip(*(map(int, v) for v in (xs, ys, zs))):
        o, o64 = integer_row(x, y, z)
        out.append(o)
        out64.append(o64)
    args = [In(xs), In(ys), In(zs), Out(u32(v for row in zip(*out) for v in row))]
    args += [Out(u64(v for row in zip(*out64) for v in row)), Value("u32", n)]
    mutant = Mutant(
        "shf.l.clamp.b32 %r31, %r8, %r9, %r107;",
        "shf.l.wrap.b32 %r31, %r8, %r9, %r107;",
    )
    return Program([Launch((cdiv(n, 64),), (64,), args)], mutant)


def integer_row(x, y, z):
    """What one thread of integer_ops.cu puts, in its order; defined in the PTX ISA, integer and logic instructions."""

    def quotient(a, b):
        q = abs(a) // abs(b)
        return q if (a < 0) == (b < 0) else -q

    def remainder(a, b):
        return a - quotient(a, b) * b

    def sign_extend(v, bits):
        v &= 2**bits - 1
        return v - 2**bits if v >> (bits - 1) else v

    def byte(v, k, signed=False):
        return sign_extend(v >> 8 * k, 8) if signed else v >> 8 * k & 0xFF

    def half(v, k, signed=False):
        return sign_extend(v >> 16 * k, 16) if signed else v >> 16 * k & 0xFFFF

    def reverse(v, bits):
        return int(f"{v:0{bits}b}"[::-1], 2)

    def first_set(v):
        return (v & -v).bit_length()

    def dp4a(signed):
        a, b, c = (s32(x), s32(y), s32(z)) if signed else (x, y, z)
        return c + sum(byte(a, k, signed) * byte(b, k, signed) for k in range(4))

    def dp2a(signed, high):
        return (s32(z) if signed else z) + sum(
            half(x, k, signed) * byte(y, 2 * high + k, signed) for k in range(2)
        )

    def pick(selectors):
        both = y << 32 | x
        return sum((both >> 8 * s & 0xFF) << 8 * k for k, s in enumerate(selectors))

    def bfe(signed):
        position, length = y & 63, z & 63
        fill = x >> min(position + length - 1, 31) & 1 if signed and length else 0
        take = [x >> position + k & 1 if k < length and position + k <= 31 else fill for k in range(32)]
        return sum(bit << k for k, bit in enumerate(take))

    def bfi():
        result, position, length = y, z & 63, z >> 8 & 63
        for k in range(length):
            if position + k <= 31:
                result = result & ~(1 << position + k) | (x >> k & 1) << position + k
        return result

    def lop3(table):
        return sum(
            (table >> ((x >> k & 1) << 2 | (y >> k & 1) << 1 | z >> k & 1) & 1) << k for k in range(32)
        )

    def bfind(v):
        return v.bit_length() - 1

    def bfind_shift_amount_signed(v):
        v = s32(v)
        top = bfind(v if v >= 0 else ~v)
        return 31 - top if top >= 0 else -1

    def saturate(v):
        return max(-(2**31), min(2**31 - 1, v))

    def bmsk(a, b, clamp):
        mask0, total = U32 << (a & 31) & U32, (a & 31) + (b & 31)
        overflow = total >= 32
        if clamp:
            mask0 = 0 if a >= 32 else mask0
            overflow = overflow or a >= 32 or b >= 32
        mask1 = 0 if overflow else U32 << total & U32
        return mask0 & ~mask1

    def szext(bits):
        if bits >= 32:
            return x
        return sign_extend(x, bits) if bits else 0

    big_x, big_y = x << 32 | y, z << 32 | x
    o = [bin(x).count("1"), 32 - (x & z).bit_length(), reverse(x, 32), first_set(x & y & z)]
    o += [bin(big_x).count("1"), 64 - (big_x & big_y).bit_length(), first_set(big_x & big_y)]
    o += [dp4a(True), dp4a(False), dp2a(True, 0), dp2a(False, 1)]
    o += [s32(x) * s32(y) >> 32, x * y >> 32]
    o += [sign_extend(x, 24) * sign_extend(y, 24), (x & 0xFFFFFF) * (y & 0xFFFFFF)]
    joined, clamped = y << 32 | x, min(z & 63, 32)
    o += [joined << (z & 31) >> 32, joined >> (z & 31), joined << clamped >> 32, joined >> clamped]
    o += [pick([z >> 4 * k & 7 for k in range(4)])]
    o += [abs(s32(x) - s32(y)) + z, abs(x - y) + z, s32(x) + s32(y) >> 1, x + y + 1 >> 1]
    o += [abs(s32(x)), min(s32(x), s32(y)), max(x, y)]
    assert (x, y | 1) != (0x80000000, U32) and (x, z | 1) != (
        0x80000000,
        U32,
    ), "overflow of the quotient is undefined"
    o += [
        quotient(s32(x), s32(y | 1)),
        remainder(s32(x), s32(z | 1)),
        x // (z | 1),
        x % (y | 1),
        s32(x) >> (z & 31),
    ]
    c = z & 3
    o += [pick([c + k for k in range(4)]), pick([c - k & 7 for k in range(4)]), pick([c] * 4)]
    o += [pick([max(k, c) for k in range(4)]), pick([min(k, c) for k in range(4)])]
    o += [pick([2, 3, 2, 3] if c & 1 else [0, 1, 0, 1])]
    o += [bfe(False), bfe(True), bfi(), lop3(0x6A), bfind(x & z), bfind_shift_amount_signed(x)]
    o += [saturate(s32(x) + s32(y)), saturate(s32(x) - s32(y))]
    o += [x << (z & 63), x >> (z & 63), s32(x) >> (z & 63)]
    o += [bmsk(y & 63, z & 63, True), bmsk(y & 63, z & 63, False), szext(z & 63)]
    o += [saturate((s32(x) * s32(y) >> 32) + s32(z))]
    both, other = s32(x) < s32(y) and z & 1, s32(x) >= s32(y) and z & 1
    o += [(5 if both else 0) + (100 if other else 0)]

    wide = (big_x * big_y + (big_y << 64 | big_x)) % 2**128
    difference = ((big_x << 64 | big_y) - wide) % 2**128
    o64 = [big_x * big_y >> 64, s64(big_x) * s64(big_y) >> 64, big_x * big_y]
    o64 += [big_x // (big_y | 1), big_x % (big_y >> 40 | 1)]
    o64 += [quotient(s64(big_x), big_y >> 20 | 1), remainder(s64(big_x), (big_y & 0xFFFFFF) | 1)]
    o64 += [reverse(big_x, 64), s64(big_x) >> (z & 63), s32(x) * s32(y), x * y + big_x]
    o64 += [wide, wide >> 64, difference >> 64]
    return o, o64


@program
def conversions():
    r, n = rng(), 192
    x = (r.uniform(-2, 2, n) * 2.0 ** r.randint(-6, 70, n)).astype(np.float32)
    x[:80] = r.uniform(-300, 300, 80).astype(np.float32)
    x[:12] = [
        0.5,
        1.5,
        2.5,
        -0.5,
        -1.5,
        0,
        np.nan,
        np.inf,
        -np.inf,
        2147483648.0,
        -2147483648.0,
        4294967296.0,
    ]
    y = r.uniform(-2, 2, n) * 2.0 ** r.randint(-6, 70, n)
    y[:80] = r.uniform(-1e6, 1e6, 80)
    y[:8] = [0.5, 2147483647.5, -2147483648.5, 1 + 2**-24, 1 + 3 * 2**-24, 1e300, 1e-46, -3e-45]
    w = words(r, n)
    w[:10] = [0, 1, 127, 128, 255, 256, 0x7FFFFFFF, 0x80000000, U32, 0xFFFFFF7F]
    w[10:40] = r.randint(-40000, 40000, 30).astype(np.int32).view(np.uint32)

    def to_integer(fmt, v, mode, bits, signed):
        low, high = (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if signed else (0, 2**bits - 1)
        if fmt.is_nan(
            v
        ):  # PTX ISA, cvt: 0 for sources other than f64 and targets of up to 32 bits, else the top bit
            return 1 << (bits - 1) if bits == 64 or fmt is exact.f64 else 0
        if fmt.is_infinite(v):
            return low if fmt.negative(v) else high
        return max(low, min(high, exact.round_to_integer(fmt.value(v), mode)))

    single, double = exact.bits_of(x), exact.bits_of(y)
    f, g = exact.f32, exact.f64
    ints = [int(v) for v in w]
    q = [v << 29 ^ (~v & U32) for v in ints]

    def from_single(mode, bits, signed):
        return [to_integer(f, v, mode, bits, signed) for v in single]

    def from_double(mode, bits, signed):
        return [to_integer(g, v, mode, bits, signed) for v in double]

    def clamp(values, low, high):
        return [max(low, min(high, v)) for v in values]

    rows = [from_single(mode, 32, True) for mode in ("rn", "rz", "ru", "rd")]
    rows += [from_single("rn", 32, False), from_single("rz", 32, False)]
    rows += [from_double("rn", 32, True), from_double("rz", 32, False)]
    rows += [from_single("rz", 16, False), from_single("rn", 16, True), [v >> 3 for v in single]]
    rows += [[(v & 0xFF ^ 0x80) - 0x80 for v in ints], [v >> 5 & 0xFF for v in ints]]
    rows += [[(v >> 3 & 0xFFFF ^ 0x8000) - 0x8000 for v in ints]]
    signed = [s32(v) for v in ints]
    rows += [clamp(signed, -128, 127), clamp(signed, 0, 65535)]
    rows64 = [from_single("rn", 64, True), from_single("rz", 64, False), from_double("rd", 64, True)]
    rows64 += [from_double("ru", 64, False), signed]

    def to_float(fmt, values, mode="rn"):
        return [fmt.round(Fraction(v), mode) for v in values]

    rows_f = [to_float(f, signed), to_float(f, ints), to_float(f, signed, "rz"), to_float(f, ints, "ru")]
    rows_f += [to_float(f, [s64(v) for v in q]), to_float(f, q)]
    rows_f += [to_float(f, [g.value(v) for v in double], mode) for mode in ("rn", "rz", "ru", "rd")]
    widened = np.where(np.isnan(x), 0, x.astype(np.float64))
    rows_d = [
        exact.bits_of(widened),
        to_float(g, signed),
        to_float(g, [s64(v) for v in q]),
        to_float(g, q, "rd"),
    ]

    def flat(rows):
        return [v for row in rows for v in row]

    args = [In(x), In(y), In(w), Out(u32(flat(rows))), Out(u64(flat(rows64)))]
    args += [
        Out(u32(flat(rows_f)).view(np.float32)),
        Out(u64(flat(rows_d)).view(np.float64)),
        Value("u32", n),
    ]
    mutant = Mutant(
        "cvt.rni.s32.f32 %r13, %f1;",
        "cvt.rzi.s32.f32 %r13, %f1;",
    )
    return Program([Launch((cdiv(n, 64),), (64,), args)], mutant)


# ---- Approximate functions: the bits are those of an H200 -----------------------------------------------------

SINGLE_FUNCTIONS = (
    "expf __expf exp2f exp10f expm1f logf __logf log2f log10f log1pf powf __powf sinf __sinf cosf __cosf tanf tanhf erff rsqrtf "
    "sqrtf reciprocal quotient __fdividef sigmoid"
).split()
HALF_FUNCTIONS = "hexp hexp2 hexp10 hlog hlog2 hsin hcos htanh htanh_approx hrsqrt hsqrt hrcp __hdiv".split()


def every_exponent(n):
    """f32 numbers with every sign and exponent and the same number of significands in each, and as many that are near
    those in size, near 1, or anywhere: infinities and NaNs too. Bits, by whole numbers alone."""
    i = np.arange(n, dtype=np.uint32)
    scrambled = i * np.uint32(2654435761)
    step = 2**32 // n
    x = i * np.uint32(step) + scrambled % np.uint32(step)
    near = x + (scrambled & np.uint32(0x01FFFFFF)) - np.uint32(0x01000000)
    moderate = np.uint32(0x3E000000) + (scrambled & np.uint32(0x83FFFFFF))
    y = np.where(i % 4 == 0, near, np.where(i % 4 == 1, scrambled, moderate))
    return x, y.astype(np.uint32)


def nvcc_functions(mutant):
    n = 32768
    x, y = every_exponent(n)
    halves = np.arange(65536, dtype=np.uint16)
    singles = [In(x), In(y), Recorded(SINGLE_FUNCTIONS, 4 * n), Value("u32", n)]
    halves = [In(halves), Recorded(HALF_FUNCTIONS, halves.nbytes), Value("u32", halves.size)]
    launches = [Launch((n // 128,), (128,), singles, "singles"), Launch((512,), (128,), halves, "halves")]
    return Program(launches, mutant)


@program
def nvcc_math():
    return nvcc_functions(Mutant("div.approx.f32 %f388, %f2, %f1;", "div.full.f32 %f388, %f2, %f1;"))


@program
def nvcc_math_fast():
    return nvcc_functions(Mutant("rsqrt.approx.ftz.f32 %f106, %f2;", "rsqrt.approx.f32 %f106, %f2;"))


MLIR_FUNCTIONS = (
    "exp exp2 expm1 log log2 log1p sin cos tan tanh sinh cosh erf atan asin acos cbrt rsqrt sqrt atan2 powf divf "
    "fast_exp fast_log fast_log2 fast_sin fast_cos fast_tan fast_powf rcp_approx ex2_approx"
).split()


def mlir_functions(mutant):
    n = 32768
    x, y = every_exponent(n)

    def memref(buffer, *shape):
        """A descriptor: the allocation (not looked at), the first element, offset, sizes, strides."""
        return [Value("u64", 0), buffer, Value("u64", 0), *[Value("u64", v) for v in shape]]

    args = memref(In(x), n, 1) + memref(In(y), n, 1)
    args += memref(Recorded(MLIR_FUNCTIONS, 4 * n), len(MLIR_FUNCTIONS), n, n, 1)
    return Program([Launch((n // 128,), (128,), args)], mutant)


@program
def mlir_math():
    return mlir_functions(Mutant("rcp.approx.ftz.f32 %r443, %r2;", "rcp.rn.ftz.f32 %r443, %r2;"))


@program
def mlir_math_libdevice():
    return mlir_functions(Mutant("sin.approx.f32 %r457, %r452;", "cos.approx.f32 %r457, %r452;"))


# ---- Libraries ---------------------------------------------------------------------------------------------
#
# The kernels that CUB launches, with the launches that its dispatch makes of them on sm_90
# (cub/device/dispatch/dispatch_*.cuh). What one leaves in memory for the next is known, so each is compared.

SMALL, LARGE = 3000, 30000  # items: one tile or less, and several


def tile_status(tiles):
    """Of decoupled look-back, as an init kernel leaves it: 32 of padding, then the tiles, none of them known."""
    return np.array([0] * 32 + [99] * tiles, np.uint64)


def zeros(count):
    """Words that a kernel reads and writes, and that are nobody's business afterwards."""
    return In(np.zeros(count, np.uint32))


@program
def cub_radix_sort_keys():
    keys = words(rng(), LARGE)
    few = keys[:SMALL]
    none = np.zeros(1, np.uint8)
    single = [In(few), Out(np.sort(few)), Value("u64", 0), Value("u64", 0)]
    single += [Value("u32", SMALL), Value("s32", 0), Value("s32", 32), Bytes(none)]
    launches = [Launch((1,), (256,), single, "SingleTile")]
    # The last tile of 2048 is filled up with the greatest key, which moves no start.
    padded = np.append(keys, np.full(-LARGE % 2048, U32, np.uint32))
    histograms = [np.bincount(padded >> 8 * i & 255, minlength=256) for i in range(4)]
    starts = [np.cumsum(h) - h for h in histograms]
    bins, starts = u32(np.concatenate(histograms)), u32(np.concatenate(starts))
    counting = [Out(bins), In(keys), Value("u32", LARGE), Value("s32", 0), Value("s32", 32), Bytes(none)]
    launches += [
        Launch((6,), (128,), counting, "RadixSortHistogram"),
        Launch((4,), (256,), [InOut(bins, starts)], "RadixSortExclusiveSum"),
    ]
    tile = 384 * 20
    for i in range(4):
        ordered = keys[np.argsort(keys >> 8 * i & 255, kind="stable")]
        args = [zeros(cdiv(LARGE, tile) * 256), zeros(1), Value("u64", 0), In(starts[i * 256 : i * 256 + 256])]
        args += [Out(ordered), In(keys), Value("u64", 0), Value("u64", 0)]
        args += [Value("s32", LARGE), Value("s32", 8 * i), Value("s32", 8), Bytes(none)]
        launches.append(Launch((cdiv(LARGE, tile),), (384,), args, "Onesweep"))
        keys = ordered
    assert (keys == np.sort(keys)).all()
    # The counts of the tiles before, less their lowest bit.
    mutant = Mutant("and.b32 %r1725, %r223, 1073741823;", "and.b32 %r1725, %r223, 1073741822;")
    return Program(launches, mutant)


@program
def cub_radix_sort_pairs():
    r = rng()
    keys, values = words(r, LARGE), words(r, LARGE)
    keys[::7] = keys[0]  # equal keys keep the order of their values
    order = np.argsort(keys[:SMALL], kind="stable")
    none = np.zeros(1, np.uint8)
    single = [In(keys[:SMALL]), Out(keys[order]), In(values[:SMALL]), Out(values[order])]
    single += [Value("u32", SMALL), Value("s32", 0), Value("s32", 32), Bytes(none)]
    launches = [Launch((1,), (256,), single, "SingleTile")]
    tile = 384 * 23
    for i in range(4):
        digits = keys >> 8 * i & 255
        order = np.argsort(digits, kind="stable")
        counts = np.bincount(digits, minlength=256)
        args = [zeros(cdiv(LARGE, tile) * 256), zeros(1), Value("u64", 0), In(u32(np.cumsum(counts) - counts))]
        args += [Out(keys[order]), In(keys), Out(values[order]), In(values)]
        args += [Value("s32", LARGE), Value("s32", 8 * i), Value("s32", 8), Bytes(none)]
        launches.append(Launch((cdiv(LARGE, tile),), (384,), args, "Onesweep"))
        keys, values = keys[order], values[order]
    mutant = Mutant("and.b32 %r2417, %r369, 1073741823;", "and.b32 %r2417, %r369, 1073741822;")
    return Program(launches, mutant)


@program
def cub_scan():
    n = LARGE
    tiles = cdiv(n, 128 * 24)
    values = words(rng(), n).astype(np.int32)
    sums = np.cumsum(values, dtype=np.int32)
    none = Bytes(np.zeros(1, np.uint8))
    args = [In(values), Out(sums), In(tile_status(tiles)), Value("s32", 0), none, none, Value("u32", n)]
    return Program(
        [
            Launch((1,), (128,), [Out(tile_status(tiles)), Value("s32", tiles)], "ScanInit"),
            Launch((tiles,), (128,), args, "DeviceScanKernel"),
        ],
        # A tile that never says that its sum is known.
        Mutant("mov.u32 %r941, 101;", "mov.u32 %r941, 99;", "hang"),
    )


@program
def cub_select():
    n = LARGE
    tiles = cdiv(n, 384 * 17)
    values = words(rng(), n).astype(np.int32)
    odd = values[values & 1 == 1]
    selected = np.zeros(n, np.int32)
    selected[: len(odd)] = odd
    none = Bytes(np.zeros(1, np.uint8))
    context = np.zeros(5, np.uint64)  # the only partition: the first and the last, of n items
    context[0], context[1] = 0x0101, n
    args = [In(values), Value("u64", 0), Out(selected), Out(u32([len(odd)])), In(tile_status(tiles)), none, none]
    args += [Value("s32", n), Value("s32", tiles), Bytes(context), Bytes(np.zeros(1, np.uint64))]
    init = [Out(tile_status(tiles)), Value("s32", tiles), Out(u32([0]))]
    return Program(
        [Launch((1,), (128,), init, "CompactInit"), Launch((tiles,), (384,), args, "SelectSweep")],
        Mutant("and.b32 %r240, %r239, 1;", "and.b32 %r240, %r239, 2;"),
    )


@program
def cg_grid_reduce():
    n, ctas, block = 50000, 264, 64
    values = words(rng(), n)
    padded = np.zeros(cdiv(n, ctas * block) * ctas * block, np.uint32)
    padded[:n] = values
    partial = padded.reshape(-1, ctas, block).sum(axis=(0, 2), dtype=np.uint32)
    total = values.sum(dtype=np.uint32)
    args = [In(values), Out(partial), Out(u32([int(total)])), Out(values * total), Value("u32", n)]
    # CTAs that do not arrive.
    mutant = Mutant("atom.add.release.gpu.u32 %r62,[%rd13],%r63;", "ld.acquire.gpu.u32 %r62,[%rd13];", "hang")
    return Program([Launch((ctas,), (block,), args)], mutant)


def both_modes(*launches):
    return [dataclasses.replace(launch, late=late) for late in (False, True) for launch in launches]


def cuda_barrier(mutant):
    tiles, tile = 9, 512
    values = rng().randint(-(2**20), 2**20, (tiles, tile)).astype(np.int32)
    args = [In(values), Out(2 * values + values[:, ::-1]), Value("s32", tiles)]
    return Program(both_modes(Launch((1,), (128,), args, "mirror_sums")), mutant)


@program
def cuda_barrier_sm80():
    # Who does not wait sees it when copies are late.
    wait = "mbarrier.test_wait.shared.b64 p, [%r19], %rd7;"
    return cuda_barrier(Mutant(wait, "setp.eq.u32 p, %r19, %r19;"))


@program
def cuda_barrier_sm90():
    wait = "mbarrier.try_wait.shared.b64 p, [%r11], %rd6;"
    return cuda_barrier(Mutant(wait, "setp.eq.u32 p, %r11, %r11;"))


def cuda_pipeline(mutant):
    r, tiles, tile = rng(), 11, 256
    values = words(r, tiles * tile).reshape(tiles, tile)
    sums = (values * np.arange(1, tile + 1, dtype=np.uint32)).sum(axis=1, dtype=np.uint32)
    steps = words(r, tiles * tile).reshape(tiles, tile)
    added = steps.copy()
    added[1:] += steps[:-1]
    return Program(
        both_modes(
            Launch((1,), (96,), [In(values), Out(sums), Value("s32", tiles)], "specialized"),
            Launch((1,), (tile,), [In(steps), Out(added), Value("s32", tiles)], "own"),
        ),
        mutant,
    )


@program
def cuda_pipeline_sm80():
    wait = "{.reg .pred %p;mbarrier.test_wait.parity.shared.b64 %p, [%r21], %r22;selp.u16 %rs28, 1, 0, %p;}"
    return cuda_pipeline(Mutant(wait, "mov.u16 %rs28, 1;", "hang"))


@program
def cuda_pipeline_sm90():
    wait = "mbarrier.try_wait.parity.shared.b64 p, [%r21], %r22;"
    return cuda_pipeline(Mutant(wait, "setp.eq.u32 p, %r21, %r21;", "hang"))


# ---- Tensor cores ------------------------------------------------------------------------------------------
#
# Small integers, whose sums of products f32 holds exactly: every order and rounding inside the unit gives the same.


def small_integers(r, shape):
    return r.randint(-8, 9, shape)


@program
def wmma_gemm():
    r, m, n, k = rng(), 64, 96, 80
    a, b, c = small_integers(r, (m, k)), small_integers(r, (k, n)), small_integers(r, (m, n))
    args = [In(a.astype(np.float16)), In(b.astype(np.float16)), In(c.astype(np.float32))]
    args += [Out((a @ b + c).astype(np.float32)), Value("u32", n), Value("u32", k)]
    mutant = Mutant(
        "wmma.load.b.sync.aligned.row.m16n16k16.global.f16 {%r28, %r29, %r30, %r31, %r32, %r33, %r34, %r35}, [%rd21], %r4;",
        "wmma.load.b.sync.aligned.col.m16n16k16.global.f16 {%r28, %r29, %r30, %r31, %r32, %r33, %r34, %r35}, [%rd21], %r4;",
    )
    return Program([Launch((n // 32, m // 32), (128,), args)], mutant)


@program
def mma_ldmatrix_gemm():
    r, m, n, k = rng(), 64, 96, 96
    a, b = small_integers(r, (m, k)), small_integers(r, (k, n))
    d = (a @ b).astype(np.float32)
    half = np.float16
    args = [In(a.astype(half)), In(b.astype(half)), In(np.ascontiguousarray(b.T).astype(half))]
    args += [Out(d), Out(d), Value("u32", n), Value("u32", k)]
    mutant = Mutant(
        "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%r63, %r64, %r65, %r66}, [%r16];",
        "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r63, %r64, %r65, %r66}, [%r16];",
    )
    return Program([Launch((n // 32, m // 32), (128,), args)], mutant)


# ---- Tensor cores of sm_100 ---------------------------------------------------------------------------------


def in_ways(launches, *ways):
    return [dataclasses.replace(launch, options=way) for way in ways for launch in launches]


def in_every_way(launches):
    """Each launch as it is, late, at random times, and in eight schedules."""
    return in_ways(launches, [], ["--async", "late"], ["--async", "random", "--seed", "3"], ["--explore", "8"])


def small_and_large(launches, small, large, mutant):
    """A program whose launches of the sizes `small` run in every way, those of `large` as they are and late."""
    return Program(
        in_every_way(launches(*small)),
        mutant,
        on_gpu=False,
        large=lambda: in_ways(launches(*large), [], ["--async", "late"]),
    )


def to_bf16(x):
    """f32, to nearest even, as bits; finite numbers."""
    bits = x.view(np.uint32)
    return (bits + 0x7FFF + (bits >> 16 & 1) >> 16).astype(np.uint16)


def from_bf16(bits):
    return (bits.astype(np.uint32) << 16).view(np.float32)


def padded(array, step, axis):
    """With zeros up to a multiple of step."""
    widths = [(0, 0)] * array.ndim
    widths[axis] = (0, -array.shape[axis] % step)
    return np.pad(array, widths)


F16_LEAST = (-14, -14)  # the first normal number's exponent, of A and B
BF16_LEAST = (-126, -126)


@program
def tcgen05_gemm():
    def launches(m, n, k, ctas):
        r, smem = rng(), 3 * 32768
        a, b = r.standard_normal((m, k)).astype(np.float16), r.standard_normal((n, k)).astype(np.float16)
        a32, b32 = (padded(x.astype(np.float32), 16, 1) for x in (a, b))
        d = exact.tensor_product(a32, b32.T, 16, F16_LEAST)
        sizes = Bytes(np.array([m, n, k], np.int32))
        maps = [TensorMap(at, "f16", [k, size], [64, 128]) for at, size in ((4, m), (5, n))]
        f32 = [*maps, Out(d), sizes, In(a), In(b)]
        bf16 = [*maps, TensorMap(6, "bf16", [n, m], [64, 128]), sizes, In(a), In(b), Out(to_bf16(d))]
        return [
            Launch((ctas,), (192,), f32, "gemm_f32", smem),
            Launch((ctas,), (192,), bf16, "gemm_bf16", smem + 32768),
        ]

    # The first sixteen of K of B for the second.
    mutant = Mutant(
        "tcgen05.mma.cta_group::1.kind::f16 [%r32], %rd10, %rd11, %r148, adds;",
        "tcgen05.mma.cta_group::1.kind::f16 [%r32], %rd10, %rd9, %r148, adds;",
    )
    return small_and_large(launches, (136, 264, 232, 2), (520, 568, 584, 5), mutant)


@program
def tcgen05_gemm_pair():
    def launches(m, n, k):
        r = rng()
        a, b = (to_bf16(r.standard_normal(shape).astype(np.float32)) for shape in ((m, k), (k, n)))
        d = exact.tensor_product(padded(from_bf16(a), 16, 1), padded(from_bf16(b), 16, 0), 16, BF16_LEAST)
        maps = [
            TensorMap(6, "bf16", [k, m], [64, 128]),
            TensorMap(7, "bf16", [n, k], [64, 64]),
            TensorMap(8, "f32", [n, m], [32, 128]),
        ]
        args = [*maps, *(Value("s32", v) for v in (m, n, k)), In(a), In(b), Out(d)]
        return [Launch((4,), (192,), args, smem=3 * 32768 + 32768)]

    # The even CTA alone hears that a tile is complete.
    mutant = Mutant(
        "tcgen05.commit.cta_group::2.mbarrier::arrive::one.shared::cluster.multicast::cluster.b64 [%r219], %rs2;",
        "tcgen05.commit.cta_group::2.mbarrier::arrive::one.shared::cluster.b64 [%r219];",
        "hang",
    )
    return small_and_large(launches, (520, 264, 232), (520, 568, 584), mutant)


E4M3, E5M2, E3M2, E2M3, E2M1 = (4, 3), (5, 2), (3, 2), (2, 3), (2, 1)  # bits of exponent and fraction
NARROW_LEAST = {E4M3: -6, E5M2: -14, E3M2: -2, E2M3: 0, E2M1: 0}


def narrow(r, shape, format):
    """Bits of random numbers, of 8 bits without the largest exponent."""
    exponent_bits, fraction_bits = format
    magnitudes = 2**exponent_bits - (sum(format) == 7) << fraction_bits
    return (r.randint(0, magnitudes, shape) | r.randint(0, 2, shape) << sum(format)).astype(np.uint8)


def packed(codes, bits):
    """Codes one after the other, the lowest bits first; a row has whole bytes."""
    each = codes[:, :, None] >> np.arange(bits, dtype=np.uint8) & 1
    return np.packbits(each.reshape(len(codes), -1), axis=1, bitorder="little")


def scale_tiles(scales, tile):
    """Scale factors [rows, blocks of K] as tcgen05.cp takes them, of `tile` rows: for four blocks of K 512 bytes for
    each 128 rows."""
    rows, blocks = (cdiv(scales.shape[0], tile) * tile, cdiv(scales.shape[1], 4) * 4)
    full = np.full((rows, blocks), 0x38, np.uint8)
    full[: scales.shape[0], : scales.shape[1]] = scales
    of = full.reshape(rows // tile, tile // 128, 4, 32, blocks // 4, 4)  # tile, 128s, 32s, row, four blocks, block
    return np.ascontiguousarray(of.transpose(0, 4, 1, 3, 2, 5))


def narrow_launches(m, n, k, n_of_fp4, k_of_fp4, k_of_packed):
    """Of each kernel of tcgen05_gemm_narrow."""
    r = rng()

    def launch(entry, a, b, d, k_bytes, scales=(np.zeros(0, np.uint8),) * 2, types=("u8", "u8"), tile_n=128):
        m, n = d.shape
        maps = [TensorMap(8 + i, types[i], [k_bytes, size], [128, (128, tile_n)[i]]) for i, size in enumerate((m, n))]
        args = [*maps, *map(In, scales), Out(d), Value("s32", m), Value("s32", n), Value("s32", cdiv(k_bytes, 128))]
        smem = 3 * 128 * (128 + tile_n) + 3 * 512 * {128: 2, 256: 12}[tile_n]
        return Launch((cdiv(n, tile_n), cdiv(m, 128)), (192,), [*args, In(a), In(b)], entry, smem)

    def fp8(entry, format_b, half=False):
        a, b = narrow(r, (m, k), E4M3), narrow(r, (n, k), format_b)
        if half:  # of a size that f16 holds
            a, b = a & 0xBF, b & 0xBF
        values = [padded(exact.from_bits(x, *f), 32, 1) for x, f in ((a, E4M3), (b, format_b))]
        d = exact.tensor_product(values[0], values[1].T, 32, (-6, NARROW_LEAST[format_b]), half=half)
        return launch(entry, a, b, d.astype(np.float16) if half else d, k)

    def mxfp8():
        a, b = narrow(r, (m, k), E4M3), narrow(r, (n, k), E4M3)
        scales = [r.randint(127 - 9, 127 + 9, (rows, cdiv(k, 32))).astype(np.uint8) for rows in (m, n)]
        values = [padded(exact.from_bits(x, *E4M3), 32, 1) for x in (a, b)]
        powers = [x.astype(np.int32) - 127 for x in scales]
        d = exact.tensor_product(values[0], values[1].T, 32, (-6, -6), scales=(powers[0], powers[1].T))
        return launch("gemm_mxfp8", a, b, d, k, [scale_tiles(x, 128) for x in scales])

    def nvfp4(n, k):
        codes = [narrow(r, (rows, k), E2M1) for rows in (m, n)]
        a, b = (x[:, ::2] | x[:, 1::2] << 4 for x in codes)
        scales = [r.randint(0, 0x7F, (rows, k // 16)).astype(np.uint8) for rows in (m, n)]
        values = [padded(exact.from_bits(x, *E2M1), 64, 1) for x in codes]
        factors = [padded(exact.from_bits(x, *E4M3), 4, 1) for x in scales]
        d = exact.scaled_f4_product(values[0], values[1].T, factors[0], factors[1].T)
        tiled = [scale_tiles(padded(x, 16, 1), tile) for x, tile in zip(scales, (128, 256))]
        return launch("gemm_nvfp4", a, b, d, k // 2, tiled, tile_n=256)

    def of_packed(entry, formats, is_scaled, k):
        codes = [narrow(r, (rows, k), format) for rows, format in zip((m, n), formats)]
        values = [exact.from_bits(x, *format) for x, format in zip(codes, formats)]
        scales = [r.randint(127 - 9, 127 + 9, (rows, k // 32)).astype(np.uint8) for rows in (m, n)]
        powers = scales[0].astype(np.int32) - 127, scales[1].T.astype(np.int32) - 127
        least = [NARROW_LEAST[format] for format in formats]
        d = exact.tensor_product(values[0], values[1].T, 32, least, scales=powers if is_scaled else None)
        bits = [1 + sum(format) for format in formats]
        a, b = (packed(x, width) for x, width in zip(codes, bits))
        tiled = [scale_tiles(x, 128) for x in scales] if is_scaled else (np.zeros(0, np.uint8),) * 2
        return launch(entry, a, b, d, k, tiled, [{4: "b4x16_p64", 6: "b6x16_p32"}[width] for width in bits])

    return [
        fp8("gemm_fp8", E5M2),
        fp8("gemm_fp8_to_f16", E4M3, half=True),
        mxfp8(),
        nvfp4(n_of_fp4, k_of_fp4),
        of_packed("gemm_f4f6", (E2M1, E3M2), False, k_of_packed),
        of_packed("gemm_mxf6f4", (E2M3, E2M1), True, k_of_packed),
    ]


@program
def tcgen05_gemm_narrow():
    # Columns from 128 on have the scale factors of those before, in the last 64 of K of a stage.
    mutant = Mutant(
        "tcgen05.cp.cta_group::1.32x128b.warpx4 [%r32], %rd26;",
        "tcgen05.cp.cta_group::1.32x128b.warpx4 [%r32], %rd25;",
    )
    return small_and_large(narrow_launches, (136, 136, 432, 264, 864, 512), (520, 568, 592, 568, 1120, 640), mutant)


def two_of_four(r, rows, k):
    """Which columns of each four a sparse A has stored: [rows, k / 4, 2], the lower first, as offsets in the four."""
    pairs = np.array([(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)])
    return pairs[r.randint(0, 6, (rows, k // 4))]


def expanded(stored, chosen):
    """The dense A of the stored elements [rows, k / 2]."""
    rows, fours, _ = chosen.shape
    dense = np.zeros((rows, fours, 4), stored.dtype)
    np.put_along_axis(dense, chosen, stored.reshape(rows, fours, 2), 2)
    return dense.reshape(rows, -1)


def metadata_of_f16(codes):
    """Codes [128, chunks of a row] as the lanes of tensor memory have them, 16 bytes of four products each: [stage,
    lane, 4] words. A word has four chunks of a row, then four of the one eight below; eight lanes are of a product's
    first four chunks, eight of its others."""
    stages = codes.shape[1] // 32
    of = codes.reshape(8, 2, 8, stages, 4, 2, 4).astype(np.uint32)  # 16s, 8s, row, stage, product, lanes, chunk
    of = of << (np.arange(2)[:, None, None, None, None, None] * 16 + np.arange(4) * 4).astype(np.uint32)
    return of.sum((1, 6), dtype=np.uint32).transpose(2, 0, 4, 1, 3).reshape(stages, 128, 4)


def metadata_of_8_bits(codes):
    """The same of e4m3, 32 bytes: a lane has its own row's 16 chunks of each product, eight a word; in core matrices."""
    stages = codes.shape[1] // 64
    of = codes.reshape(128, stages, 8, 8).astype(np.uint32) << (np.arange(8) * 4).astype(np.uint32)
    words = of.sum(3, dtype=np.uint32).transpose(1, 0, 2)  # stage, lane, word
    return words.reshape(stages, 16, 8, 2, 4).transpose(0, 1, 3, 2, 4)


@program
def tcgen05_sparse():
    def launch(r, entry, m, n, k_step, steps, type, metadata_of):
        k, stage = steps * k_step, 4 * k_step
        if type == "f16":
            a, b = (r.standard_normal(shape).astype(np.float16) for shape in ((m, k // 2), (n, k)))
            values, least = [x.astype(np.float32) for x in (a, b)], F16_LEAST
        else:
            a, b = narrow(r, (m, k // 2), E4M3), narrow(r, (n, k), E4M3)
            values, least = [exact.from_bits(x, *E4M3) for x in (a, b)], (-6, -6)
        chosen = two_of_four(r, m, k)
        d = exact.tensor_product(expanded(values[0], chosen), values[1].T, k_step, least)
        codes = np.full((cdiv(m, 128) * 128, cdiv(k, stage) * stage // 4), 0b0100)
        codes[:m, : k // 4] = chosen[:, :, 0] | chosen[:, :, 1] << 2
        box = 64 if type == "f16" else 128
        maps = [TensorMap(7, type, [k // 2, m], [box, 128]), TensorMap(8, type, [k, n], [box, 128])]
        metadata = np.stack([metadata_of(codes[first : first + 128]) for first in range(0, m, 128)])
        sizes = [Value("s32", v) for v in (m, n, cdiv(k, stage))]
        args = [*maps, In(metadata), Out(d), *sizes, In(a), In(b)]
        smem = 3 * (3 * 16384 + metadata[0, 0].nbytes)
        return Launch((cdiv(n, 128), cdiv(m, 128)), (192,), args, entry, smem)

    def launches(m, n, steps_of_f16, steps_of_e4m3):
        r = rng()
        return [
            launch(r, "sparse_f16", m, n, 32, steps_of_f16, "f16", metadata_of_f16),
            launch(r, "sparse_e4m3", m, n, 64, steps_of_e4m3, "u8", metadata_of_8_bits),
        ]

    # The other of two columns of metadata.
    mutant = Mutant(
        "tcgen05.mma.sp.cta_group::1.kind::f16 [%r3], %rd16, %rd17, [%r128], %r137, adds;",
        "tcgen05.mma.sp.cta_group::1.kind::f16 [%r3], %rd16, %rd17, [%r128], %r133, adds;",
    )
    return small_and_large(launches, (136, 136, 13, 13), (520, 568, 19, 17), mutant)


def to_tf32(x):
    """What tcgen05.mma takes of f32: the low thirteen bits count for nothing."""
    return (x.view(np.uint32) & np.uint32(0xFFFFE000)).view(np.float32)


@program
def tcgen05_weights():
    def few_rows(r, m, n, k):
        a, b = r.standard_normal((m, k)).astype(np.float32), r.standard_normal((n, k)).astype(np.float32)
        d = exact.tensor_product(padded(to_tf32(a), 8, 1), padded(to_tf32(b), 8, 1).T, 8, BF16_LEAST)
        maps = [TensorMap(6, "f32", [k, m], [32, 64]), TensorMap(7, "f32", [k, n], [32, 256])]
        args = [*maps, Out(d), *(Value("s32", v) for v in (m, n, cdiv(k, 32))), In(a), In(b)]
        return Launch((cdiv(n, 256), cdiv(m, 64)), (192,), args, "few_rows", 3 * 320 * 128)

    def widened(r, m, n, k):
        groups = cdiv(k, 64)  # W has them whole, X ends at k
        w = r.randint(-128, 128, (m, groups * 64)).astype(np.int8)
        factors = r.uniform(0.001, 0.1, (m, groups)).astype(np.float16)
        x = r.standard_normal((n, k)).astype(np.float16)
        wide = (w.astype(np.float32) * np.repeat(factors, 64, 1).astype(np.float32)).astype(np.float16)
        x32 = padded(x.astype(np.float32), 64, 1)
        d = exact.tensor_product(wide.astype(np.float32), x32.T, 16, F16_LEAST)
        sizes = [Value("s32", v) for v in (m, n, groups)]
        args = [In(w), In(factors), TensorMap(7, "f16", [k, n], [64, 64]), Out(d), *sizes, In(x)]
        return Launch((cdiv(n, 64), cdiv(m, 128)), (192,), args, "widened")

    def launches(sizes_of_few_rows, sizes_of_widened):
        r = rng()
        return [few_rows(r, *sizes_of_few_rows), widened(r, *sizes_of_widened)]

    # Sixteen of K of W for those after it.
    mutant = Mutant(
        "tcgen05.mma.cta_group::1.kind::f16 [%r3], [%r509], %rd21, %r518, adds;",
        "tcgen05.mma.cta_group::1.kind::f16 [%r3], [%r505], %rd21, %r518, adds;",
    )
    return small_and_large(launches, ((72, 264, 148), (136, 72, 296)), ((520, 568, 584),) * 2, mutant)


def exp2_polynomial(x):
    """2^x in f32, by tcgen05_attention's polynomial."""
    x = np.maximum(x, np.float32(-127))
    whole = np.floor(x)
    rest = x - whole
    y = exact.fma32(np.float32(0.077119089663028717), rest, np.float32(0.227564394474029541))
    for coefficient in (0.695146143436431885, 1):
        y = exact.fma32(y, rest, np.float32(coefficient))
    return (y.view(np.int32) + (whole.astype(np.int32) << 23)).view(np.float32)


def attention_of_blocks(q, k, v, scale):
    """One head, in the order of tcgen05_attention: q, k, v in f16, the result in f16."""
    q, k, v = (x.astype(np.float32) for x in (q, k, v))
    keys, block = k.shape[0], 128
    greatest, total, o = np.full(len(q), -np.inf, np.float32), np.zeros(len(q), np.float32), None
    by_polynomial = np.arange(block) // 2 % 4 == 3
    for first in range(0, keys, block):
        of = slice(first, first + block)
        s = exact.tensor_product(q, padded(k[of], block, 0).T, 16, F16_LEAST)
        s[:, keys - first :] = -1e30  # for -infinity: its exponential is 0, too
        new = np.maximum(greatest, s.max(axis=1))
        exponent = (greatest - new) * scale  # of the first, -infinity
        stays = exponent >= -8
        factor = np.where(stays, np.float32(1), exact.exp2_approx(exponent))
        greatest = np.where(stays, greatest, new)
        x = exact.fma32(s, scale, -(greatest * scale)[:, None])
        weights = np.where(by_polynomial, exp2_polynomial(x), exact.exp2_approx(x)).astype(np.float32)
        even, odd = total * factor, np.zeros_like(total)
        for i in range(0, block, 2):
            even, odd = even + weights[:, i], odd + weights[:, i + 1]
        total = even + odd
        o = None if o is None else o * factor[:, None]
        values = padded(v[of], block, 0)
        o = exact.tensor_product(weights.astype(np.float16).astype(np.float32), values, 16, F16_LEAST, o)
    return (o * (np.float32(1) / total)[:, None]).astype(np.float16)


@program
def tcgen05_attention():
    def launches(queries, keys):
        r, heads, dim = rng(), 2, 64
        q, k, v = (r.standard_normal((heads, n, dim)).astype(np.float16) for n in (queries, keys, keys))
        # Keys that grow, so that some rows' maxima do by more than 2^8.
        k = (k * np.linspace(0.5, 6, keys)[:, None]).astype(np.float16)
        scale = np.float32(math.log2(math.e) / math.sqrt(dim))
        o = np.stack([attention_of_blocks(q[h], k[h], v[h], scale) for h in range(heads)])
        maps = [TensorMap(i, "f16", [dim, n, heads], [dim, 128, 1]) for i, n in ((7, queries), (8, keys), (9, keys))]
        sizes = [Value("s32", queries), Value("s32", keys), Value("f32", float(scale))]
        args = [*maps, Out(o), *sizes, In(q), In(k), In(v)]
        kernels = "attention", "attention_overlapping"
        grid, smem = (cdiv(queries, 256), heads), 5 * 128 * dim * 2
        return [Launch(grid, (512,), args, kernel, smem) for kernel in kernels]

    # O is corrected only where all rows of a warp need it.
    mutant = Mutant(
        "vote.sync.any.pred 	%p33, %p32, %r475;",
        "vote.sync.all.pred 	%p33, %p32, %r475;",
    )
    return small_and_large(launches, (270, 290), (520, 584), mutant)


# ---- Printing ----------------------------------------------------------------------------------------------


@program
def printf():
    block = 32
    lines, counts = [], [0] * 64
    for i in (3, 19, 35, 51):
        lane, cta = i % block, i // block
        lines.append(
            "p: lane %d of cta %d: %5d|%-5d|%05d|%+d|%x|%X|%#o\n"
            % (lane, cta, i, i, i, i, 0xBEEF + i, 0xBEEF + i, i)
        )
        lines[-1] = lines[-1].replace("0o", "0").rstrip("\n")
        counts[i] = 9
    lines.append("p: -1234567890123456789 18446744073709551615 123456789abcdef -7 -3 ok 100%")
    counts[1] = 7
    lines.append("p: 1.500000 0.667      -3.14| 1.234568e+04 1e-05 1e+20 0x1p+0")
    counts[2] = 7
    lines.append("p: string and      right| left  | tr")
    counts[4] = 4
    lines.append("p: no arguments")
    launch = Launch((2,), (block,), [Out(np.array(counts, np.int32))], lines=lines)
    return Program([launch], Mutant("st.local.u32 [%rd2+32], %r3;", "st.local.u32 [%rd2+32], %r2;"))
