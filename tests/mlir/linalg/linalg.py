"""Generated linalg programs on the virtual GPU, beside numpy: linalg.py PACKAGE CASE; --list prints the cases.

A program multiplies two matrices, of any types that a kernel has, any order, size, batch, and sends the sums through up to four
elementwise operations that end in a matrix of any type: integers, floats of 8 to 64 bits, i1. It is run in this process, by
lemma.run_mlir(). Entries are such that sums are exact in any order; what follows is one rounding an operation (arithmetic.py).

PACKAGE: the folder that the Python package is in, build/python.
By hand: linalg.py PACKAGE --programs 1000 [--first 0] [--targets sm_80,...], each program on all targets.
"""

import argparse
import random
import sys
import time
import warnings

import numpy as np

from arithmetic import FORMATS, agree, bits, is_float, rounded, stored, tf32

TARGETS = ("sm_90a", "sm_80", "sm_120", "sm_75", "sm_89", "sm_100a")
# A and B, as the product is written; C may be
PRODUCTS = {
    "f16": ("f32", "f16"), "bf16": ("f32", "bf16"), "tf32": ("f32",), "f32": ("f32",), "f64": ("f64",), "i8": ("i32",), "u8": ("i32",),
    "f8E4M3FN": ("f32", "f16", "bf16"), "f8E5M2": ("f32", "f16", "bf16"),
}  # fmt: skip
RESULTS = ("f16", "bf16", "f32", "f64", "f8E4M3FN", "f8E5M2", "i8", "i16", "i32", "i64", "i1")


class Program:
    """The text, and what numpy makes of the same."""

    def __init__(self, seed):
        choose = self.choose = random.Random(seed)
        self.seed = seed
        self.ab = choose.choice(list(PRODUCTS))
        self.element = {"tf32": "f32", "u8": "i8"}.get(self.ab, self.ab)
        self.c = choose.choice(PRODUCTS[self.ab])
        self.order = choose.choice(("NN", "NT", "TN", "TT"))
        self.batch = choose.choice((None, None, None, 2))
        size = lambda: choose.choice((choose.randint(1, 40), choose.randint(41, 150), 16 * choose.randint(1, 9)))  # noqa: E731
        self.m, self.n, self.k = size(), size(), size()
        self.dynamic = choose.random() < 0.3
        self.on_tensors = choose.random() < 0.25
        self.adds = choose.random() < 0.15  # to what C has
        self.frees = choose.random() < 0.5
        self.steps, self.result = [], self.c
        if not self.adds:
            self.chain()

    def chain(self):
        """Elementwise operations: (kind, type before, type after, a number)."""
        choose = self.choose
        now = self.c
        to = choose.choice(RESULTS + (self.c, self.c))
        for _ in range(choose.randint(0, 3)):
            kinds = ["scale", "row", "column", "matrix", "clamp", "place"]
            if is_float(now) and bits(now) > 8:
                kinds += ["widen" if now in ("f16", "bf16") else "row"]
            kind = choose.choice(kinds)
            after = "f32" if kind == "widen" else now
            number = choose.choice((-1.5, 0.375, 2.0)) if is_float(now) else choose.choice((-3, 2, 5))
            self.steps.append((kind, now, after, number))
            now = after
        if to != now:
            if is_float(now) and to in ("i8", "i16", "i32", "i64"):  # what does not fit is poison
                self.steps.append(("clamp", now, now, 0))
            self.steps.append(("convert", now, to, 0))
        self.result = to

    # --- text

    def type_of(self, sizes, element):
        shape = ["?" if self.dynamic else str(size) for size in sizes]
        return f"{'tensor' if self.on_tensors else 'memref'}<{'x'.join(shape + [element])}>"

    def outer(self):
        return [] if self.batch is None else [self.batch]

    def shape(self):
        return [*self.outer(), self.m, self.n]

    def operands(self):
        """What the function takes: names and types of A, B, those of the chain's steps."""
        a = [*self.outer(), *((self.k, self.m) if self.order[0] == "T" else (self.m, self.k))]
        b = [*self.outer(), *((self.n, self.k) if self.order[1] == "T" else (self.k, self.n))]
        taken = [("%a", a, self.element), ("%b", b, self.element)]
        for i, (kind, before, _, _) in enumerate(self.steps):
            shape = {"row": [self.n], "column": [self.m], "matrix": self.shape()}.get(kind)
            if shape:
                taken.append((f"%x{i}", shape, before))
        return taken

    def text(self):
        c_type, d_type = self.type_of(self.shape(), self.c), self.type_of(self.shape(), self.result)
        result = "%d" if not self.adds else "%c"
        arguments = [f"{name}: {self.type_of(shape, element)}" for name, shape, element in self.operands()]
        if self.adds and self.on_tensors:
            arguments.append(f"%c: {c_type}")
        if not self.on_tensors:
            arguments.append(f"{result}: {d_type}")
        ends = f" -> {d_type}" if self.on_tensors else ""
        lines = [f"func.func @main({', '.join(arguments)}){ends} {{"]
        sizes = ""
        if self.dynamic:
            rank = len(self.shape())
            lines += [f"  %at{i} = arith.constant {i} : index" for i in range(rank)]
            a_type, b_type = (self.type_of(shape, element) for _, shape, element in self.operands()[:2])
            dim = "tensor.dim" if self.on_tensors else "memref.dim"
            first = rank - 2
            where = {"m": ("%a", a_type, first + (self.order[0] == "T")), "n": ("%b", b_type, first + (self.order[1] == "N"))}
            if self.batch is not None:
                where = {"batch": ("%a", a_type, 0), **where}
            lines += [f"  %{name} = {dim} {matrix}, %at{at} : {type}" for name, (matrix, type, at) in where.items()]
            sizes = ", ".join(f"%{name}" for name in where)
        lines += self.product(c_type, sizes)
        now = "%sums" if self.adds else "%c"
        for i, step in enumerate(self.steps):
            lines += self.step(i, now, step, sizes)
            now = f"%d{i}" if self.on_tensors or i + 1 < len(self.steps) else "%d"
        if self.frees and self.steps and not self.on_tensors:
            types = [self.c] + [after for _, _, after, _ in self.steps]
            lines += [f"  memref.dealloc {name} : {self.type_of(self.shape(), types[i])}" for i, name in enumerate(["%c"] + [f"%d{i}" for i in range(len(self.steps) - 1)])]
        lines += [f"  return {now} : {d_type}" if self.on_tensors else "  return", "}"]
        return "\n".join(lines) + "\n"

    def make(self, name, element, sizes, is_result):
        """Lines that make the memory of a matrix, unless the caller gives it."""
        type = self.type_of(self.shape(), element)
        if self.on_tensors:
            return [f"  {name} = tensor.empty({sizes}) : {type}"]
        return [] if is_result else [f"  {name} = memref.alloc({sizes}) : {type}"]

    def product(self, c_type, sizes):
        i = "" if self.batch is None else "i, "
        maps = ", ".join(
            f"affine_map<({i}m, n, k) -> ({i}{dims})>"
            for dims in ("k, m" if self.order[0] == "T" else "m, k", "n, k" if self.order[1] == "T" else "k, n", "m, n")
        )
        lines = []
        before = "%c"
        if not self.adds:
            zero = "0.0" if is_float(self.c) else "0"
            memory = "%empty" if self.on_tensors else "%c"
            if self.on_tensors or self.steps:
                lines += self.make(memory, self.c, sizes, False)
            else:  # the argument is called %d
                memory = "%d"
            before = "%zeros" if self.on_tensors else memory
            filled = f"{before} = " if self.on_tensors else ""
            lines += [f"  %zero = arith.constant {zero} : {self.c}"]
            lines += [f"  {filled}linalg.fill ins(%zero : {self.c}) outs({memory} : {c_type}){self.gives(c_type)}"]
        a, b = (self.type_of(shape, element) for _, shape, element in self.operands()[:2])
        attribute = {"tf32": "{nvgpu.tf32Enabled}", "u8": "{cast = #linalg.type_fn<cast_unsigned>}"}.get(self.ab, "")
        made = "" if not self.on_tensors else "%sums = " if self.adds else "%c = "
        name = "matmul" if self.batch is None else "batch_matmul"
        lines += [f"  {made}linalg.{name} indexing_maps = [{maps}] {attribute} ins(%a, %b : {a}, {b}) outs({before} : {c_type}){self.gives(c_type)}"]
        return lines

    def gives(self, type):
        return f" -> {type}" if self.on_tensors else ""

    def step(self, i, now, step, sizes):
        kind, before, after, number = step
        dims = ["p", "i", "j"][0 if self.batch is not None else 1 :]
        same = f"affine_map<({', '.join(dims)}) -> ({', '.join(dims)})>"
        one = {"row": f"affine_map<({', '.join(dims)}) -> (j)>", "column": f"affine_map<({', '.join(dims)}) -> (i)>", "matrix": same}.get(kind)
        from_type, to_type = self.type_of(self.shape(), before), self.type_of(self.shape(), after)
        is_last = i + 1 == len(self.steps)
        to = "%d" if is_last and not self.on_tensors else f"%e{i}" if self.on_tensors else f"%d{i}"
        lines = self.make(to, after, sizes, is_last)
        inputs, types, maps, block = [now], [from_type], [same], [f"%s: {before}"]
        if one:
            name, shape, element = next(taken for taken in self.operands() if taken[0] == f"%x{i}")
            inputs.append(name), types.append(self.type_of(shape, element)), maps.append(one), block.append(f"%x: {element}")
        body, value = self.body(kind, before, after, number, len(dims))
        made = f"%d{i} = " if self.on_tensors else ""
        loops = ", ".join(['"parallel"'] * len(dims))
        lines += [
            f"  {made}linalg.generic {{indexing_maps = [{', '.join([*maps, same])}], iterator_types = [{loops}]}}",
            f"      ins({', '.join(inputs)} : {', '.join(types)}) outs({to} : {to_type}) {{",
            f"  ^bb0({', '.join(block)}, %old: {after}):",
            *(f"    {line}" for line in body),
            f"    linalg.yield {value} : {after}",
            f"  }}{self.gives(to_type)}",
        ]
        return lines

    def body(self, kind, before, after, number, rank):
        f = is_float(before)
        if kind == "scale":
            return [f"%number = arith.constant {number} : {before}", f"%r = arith.mul{'f' if f else 'i'} %s, %number : {before}"], "%r"
        if kind in ("row", "column", "matrix"):
            return [f"%r = arith.add{'f' if f else 'i'} %s, %x : {before}"], "%r"
        if kind == "clamp":
            low, high = ("-100.0", "100.0") if f else ("-100", "100")
            most, least = ("maximumf", "minimumf") if f else ("maxsi", "minsi")
            return [
                f"%l = arith.constant {low} : {before}", f"%h = arith.constant {high} : {before}",
                f"%u = arith.{most} %s, %l : {before}", f"%r = arith.{least} %u, %h : {before}",
            ], "%r"  # fmt: skip
        if kind == "place":
            cast = f"%p = arith.sitofp %w : i32 to {before}" if f else f"%p = arith.trunci %w : i32 to {before}"
            cast = "%p = arith.addi %w, %nothing : i32" if before == "i32" else cast
            return [
                f"%j = linalg.index {rank - 1} : index", "%w = arith.index_cast %j : index to i32", "%nothing = arith.constant 0 : i32",
                cast, f"%r = arith.add{'f' if f else 'i'} %s, %p : {before}",
            ], "%r"  # fmt: skip
        return self.conversion(before, after)

    @staticmethod
    def conversion(before, after):
        if after == "i1":
            number = "3.0" if is_float(before) else "3"
            compare = "cmpf olt" if is_float(before) else "cmpi slt"
            return [f"%number = arith.constant {number} : {before}", f"%r = arith.{compare}, %s, %number : {before}"], "%r"
        if is_float(before) and is_float(after):
            if bits(before) == bits(after):  # f16 and bf16
                return [f"%w = arith.extf %s : {before} to f32", f"%r = arith.truncf %w : f32 to {after}"], "%r"
            return [f"%r = arith.{'extf' if bits(before) < bits(after) else 'truncf'} %s : {before} to {after}"], "%r"
        if is_float(after) and bits(after) == 8:
            return [f"%w = arith.sitofp %s : {before} to f32", f"%r = arith.truncf %w : f32 to {after}"], "%r"
        if is_float(after):
            return [f"%r = arith.sitofp %s : {before} to {after}"], "%r"
        if is_float(before):
            return [f"%r = arith.fptosi %s : {before} to {after}"], "%r"
        return [f"%r = arith.{'extsi' if bits(before) < bits(after) else 'trunci'} %s : {before} to {after}"], "%r"

    # --- numbers

    def numbers(self, target):
        """A, B, what steps read, C before and the result, as numpy has them."""
        entries = np.random.default_rng(self.seed)
        most = 3
        if self.c == "bf16" and target == "sm_75":  # loops of the host round after each product
            most = 1
        low, high = (0, 256) if self.ab == "u8" else (-128, 128) if self.ab == "i8" else (-most, most + 1)
        outer = self.outer()
        a, b = entries.integers(low, high, (*outer, self.m, self.k)), entries.integers(low, high, (*outer, self.k, self.n))
        a, b = a.astype("f8"), b.astype("f8")
        if self.ab == "tf32":  # 12 bits, of which 11 stay
            fine = entries.integers(-4095, 4096, a.shape if self.seed % 2 else b.shape) / 2048
            a, b = (fine, b) if self.seed % 2 else (a, fine)
        exact = tf32 if self.ab == "tf32" and target != "sm_75" else lambda values: values
        sums = exact(a) @ exact(b)
        before = entries.integers(-9, 10, sums.shape).astype("f8") if self.adds else np.zeros(sums.shape)
        value = rounded(sums + before, self.c)
        further = []
        for kind, type, after, number in self.steps:
            x = None
            if kind in ("row", "column", "matrix"):
                shape = {"row": (self.n,), "column": (self.m,), "matrix": sums.shape}[kind]
                x = rounded(entries.integers(-20, 21, shape) / (4 if is_float(type) else 1), type)
                further.append(stored(x, type))
            value = self.apply(kind, type, after, number, value, x)
        return a, b, further, before, value

    def apply(self, kind, type, after, number, value, x):
        if kind == "scale":
            return rounded(value * number, type)
        if kind == "column":
            x = x[:, None]
        if x is not None:
            return rounded(value + x, type)
        if kind == "clamp":
            return np.clip(value, -100, 100)
        if kind == "place":
            return rounded(value + rounded(np.arange(self.n), type), type)
        if after == "i1":
            return (value < 3).astype(np.int64)
        if is_float(type) and not is_float(after):
            return rounded(np.trunc(value), after)
        if is_float(after) and bits(after) == 8 and (not is_float(type)):
            value = rounded(value, "f32")
        return rounded(value, after)

    def what(self):
        chain = " ".join(f"{kind}:{after}" for kind, _, after, _ in self.steps)
        sizes = "x".join(str(size) for size in (*self.outer(), self.m, self.n, self.k))
        flags = "".join(word for word, on in ((" dynamic", self.dynamic), (" tensors", self.on_tensors), (" added", self.adds)) if on)
        return f"program {self.seed}: {sizes} {self.ab} -> {self.c} {self.order}{flags} {chain}"

    def run(self, lemma, target):
        """Empty, or what is wrong."""
        a, b, further, before, want = self.numbers(target)
        turned = lambda matrix, is_turned: np.ascontiguousarray(matrix.swapaxes(-1, -2) if is_turned else matrix)  # noqa: E731
        element = "i8" if self.element == "i8" else self.element
        entries = [turned(a, self.order[0] == "T"), turned(b, self.order[1] == "T")]
        if self.ab == "u8":
            arrays = [each.astype("u1") for each in entries]
        else:
            arrays = [stored(each, element) for each in entries]
        arrays += further
        want = want.astype("u1") if self.result == "i1" else stored(want, self.result)
        got = np.zeros(want.shape, want.dtype)
        if self.adds:
            if self.on_tensors:
                arrays.append(stored(before, self.c))
            else:
                got = stored(before, self.c)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                lemma.run_mlir(self.text(), *arrays, got, arch=target, name=f"program{self.seed}.mlir")
            except lemma.errors.Error as error:
                return f"{type(error).__name__}: {error}"
        same = agree(got, want, self.result)
        if same.all():
            return ""
        at = tuple(int(i) for i in np.argwhere(~same)[0])
        return f"{(~same).sum()} of {same.size} elements wrong, the first at {at}: {got[at]!r}, wanted {want[at]!r}"


def conversion(before, after, body):
    """A matrix of `before` becomes one of `after`, in the kernel of a product that is zero."""
    x, d, z = f"memref<256x256x{before}>", f"memref<256x256x{after}>", "memref<256x256xf32>"
    return f"""#same = affine_map<(i, j) -> (i, j)>
func.func @main(%a: memref<256x8xf16>, %b: memref<8x256xf16>, %x: {x}, %d: {d}) {{
  %zero = arith.constant 0.0 : f32
  %sums = memref.alloc() : {z}
  linalg.fill ins(%zero : f32) outs(%sums : {z})
  linalg.matmul ins(%a, %b : memref<256x8xf16>, memref<8x256xf16>) outs(%sums : {z})
  linalg.generic {{indexing_maps = [#same, #same, #same], iterator_types = ["parallel", "parallel"]}}
      ins(%sums, %x : {z}, {x}) outs(%d : {d}) {{
  ^bb0(%s: f32, %v: {before}, %old: {after}):
    %none = arith.constant 0.0 : {after}
    %is = arith.cmpf oeq, %s, %zero : f32
    %w = arith.{body} %v : {before} to {after}
    %r = arith.select %is, %w, %none : {after}
    linalg.yield %r : {after}
  }}
  return
}}
"""


def all_values(element):
    """Every value of the f8 types; of wider ones those that lie between them, at half the way and just beside it, and special ones."""
    codes = np.arange(256)
    values = []
    for narrow in ("f8E4M3FN", "f8E5M2"):
        fraction, least, most, _ = FORMATS[narrow]
        magnitude = codes & 0x7F
        exponent, part = magnitude >> fraction, magnitude & ((1 << fraction) - 1)
        of = np.where(exponent == 0, np.ldexp(part, least - fraction), np.ldexp((1 << fraction) + part, exponent - 1 + least - fraction))
        of = np.where(codes >> 7, -of, of)
        beyond = magnitude > (0x7B if narrow == "f8E5M2" else 0x7E)
        if narrow == "f8E5M2":
            decoded = np.where(beyond, np.where(magnitude == 0x7C, np.copysign(np.inf, of), np.nan), of)
        else:
            decoded = np.where(beyond, np.nan, of)
        if element == narrow:
            return np.resize(decoded, (256, 256))
        step = np.ldexp(1.0, np.maximum(np.frexp(of)[1] - 1, least) - fraction - 1)
        values += [of, of + step, of - step]
    values = np.concatenate(values)
    if element == "f16":
        return np.arange(65536, dtype="u2").view("f2").astype("f8").reshape(256, 256)
    if element == "f32":
        values = values.astype("f4")
        sides = [np.nextafter(values, np.float32(np.inf)), np.nextafter(values, np.float32(-np.inf))]
    else:
        sides = [np.nextafter(values, np.inf), np.nextafter(values, -np.inf), values * (1 + 2.0**-40), values * (1 - 2.0**-40)]
    special = [np.array([np.inf, -np.inf, np.nan, 1e30, -1e30, 1e-30, -0.0])]
    return np.resize(np.concatenate([values, *sides, *special]).astype("f8"), (256, 256))


def values_between(wide, narrow):
    """f32 or f64 at and about one in eight of the values of a float of 16 bits, the way half to the next, and just beside that."""
    codes = np.arange(0, 65536, 8, dtype="u4") + np.arange(8192, dtype="u4") % 8  # every last bit
    decoded = lambda codes: codes.astype("u2").view("f2") if narrow == "f16" else (codes << 16).view("f4")  # noqa: E731
    with np.errstate(invalid="ignore", over="ignore"):
        values, after = decoded(codes).astype("f8"), decoded(codes + 1).astype("f8")
        half = values + (after - values) / 2
        near = [half, half * (1 + 2.0**-20), half * (1 - 2.0**-40), np.nextafter(half, np.inf), np.nextafter(half, -np.inf)]
        made = np.resize(np.concatenate([values, *near, np.array([1e30, -1e30, 1e300, 1e-300, -0.0])]), (256, 256))
        return rounded(made, wide)


def conversions(lemma):
    """Between floats of 8 bits and others, and wide ones to those of 16, in kernels, without cvt and with it, and in a loop of the host."""
    narrow = ("f8E4M3FN", "f8E5M2")
    pairs = [(wide, f8, "truncf") for wide in ("f16", "f32", "f64") for f8 in narrow]
    pairs += [(narrow[i], wide, "extf") for i, wide in enumerate(("f16", "f32"))] + [(narrow[i], wide, "extf") for i, wide in enumerate(("f64", "bf16"))]
    pairs += [("f64", "f16", "truncf"), ("f64", "bf16", "truncf"), ("f32", "bf16", "truncf")]
    wrong = 0
    for before, after, body in pairs:
        values = values_between(before, after) if after in ("f16", "bf16") and body == "truncf" else all_values(before)
        want = stored(rounded(values, after), after)
        for target in ("sm_80", "sm_75", "sm_90a") if body == "truncf" else ("sm_80", "sm_75"):
            got = np.zeros_like(want)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                lemma.run_mlir(conversion(before, after, body), np.zeros((256, 8), "f2"), np.zeros((8, 256), "f2"), stored(values, before), got, arch=target)
            same = agree(got, want, after)
            if not same.all():
                wrong += 1
                at = tuple(np.argwhere(~same)[0])
                print(f"{before} to {after} on {target}: {(~same).sum()} wrong: {values[at]!r} became {got[at]!r}, wanted {want[at]!r}")
    return wrong == 0


CASES = {f"{target}": 8 for target in ("sm_80", "sm_90a", "sm_120", "sm_75")}  # programs in `make test`


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("package", nargs="?")
    parser.add_argument("case", nargs="?")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--programs", type=int, default=0)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--targets", default=",".join(TARGETS[:4]))
    parser.add_argument("--show", action="store_true", help="print the programs")
    options = parser.parse_args()
    if options.list:
        print("\n".join([*CASES, "conversions"]))
        return 0
    sys.path.insert(0, options.package)
    import lemma

    if options.case == "conversions":
        return not conversions(lemma)
    targets, count = options.targets.split(","), options.programs
    first = options.first
    if options.case:  # others for each target
        targets, count = [options.case], CASES[options.case]
        first = 100 * list(CASES).index(options.case)
    ran = wrong = 0
    begun = time.time()
    for seed in range(first, first + count):
        program = Program(seed)
        if options.show:
            print(program.text())
        for target in targets:
            ran += 1
            if problem := program.run(lemma, target):
                wrong += 1
                print(f"{program.what()} on {target}: {problem}", flush=True)
    print(f"{ran} runs of {count} programs on {', '.join(targets)}: {wrong} wrong, {time.time() - begun:.1f} s")
    return wrong != 0 or ran == 0


if __name__ == "__main__":
    sys.exit(main())
