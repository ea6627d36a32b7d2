"""The warp's products: nvgpu.mma.sync and nvgpu.mma.sp.sync, every spelling of `mma` that the dialect can say."""

import itertools
import re

import numpy as np

import values
from harness import Batch, Row

# Of PTX types: how MLIR writes a multiplicand, and an accumulator.
MLIR = {"f16": "f16", "bf16": "bf16", "tf32": "f32", "f32": "f32", "f64": "f64", "e4m3": "f8E4M3FN", "e5m2": "f8E5M2"}
MLIR |= {"s8": "i8", "u8": "ui8", "s4": "i4", "u4": "ui4", "b1": "i1", "s32": "i32"}

# Words of a spelling that the operations have attributes for, or imply.
SAYS = {"mma", "sync", "aligned", "satfinite", "popc", "xor", "and", "row", "col", "sp"}


def says(form):
    """Whether the dialect has words for all of the spelling's."""
    head = form["spelling"].split(".")
    return (all(word in SAYS or word in MLIR or re.fullmatch(r"m\d+n\d+k\d+", word) for word in head) and
            len(form["types"]) == 4)


def is_sparse(form):
    return form["spelling"].startswith("mma.sp.")


def metadata(rng, form, count):
    """Words that say, for each group of a row of A, which of its elements are not zero: the first before the second."""
    tf32 = form["types"][1] == "tf32"  # one of two: only these
    legal = np.array([0b0100, 0b1110] if tf32 else [0b0100, 0b1000, 0b1100, 0b1001, 0b1101, 0b1110], np.uint64)
    chosen = legal[rng.integers(0, len(legal), (count, 8))]
    return np.bitwise_or.reduce(chosen << (np.arange(8, dtype=np.uint64) * np.uint64(4)), axis=1).astype(np.uint32)


class Product(Row):
    """One spelling. A lane's words: A, B, C, and the metadata of a sparse one; then D."""

    def __init__(self, form, family, selector=0, tf32_elements=False):
        """`tf32_elements`: multiplicands are vectors of tf32, not of f32 with tf32Enabled."""
        super().__init__()
        self.tf32_elements = tf32_elements
        self.form, self.family, self.selector = form, family, selector
        self.spelling = form["spelling"]
        self.since = tuple(form["since"])
        self.d, self.a, self.b, self.c = form["types"]
        self.types = f"{self.a} x {self.b} + {self.c} -> {self.d}"
        self.sparse = is_sparse(form)
        self.op = "mma.sp.sync" if self.sparse else "mma.sync"
        self.shape = re.search(r"m\d+n\d+k\d+", self.spelling)[0]
        self.layouts = [form["words"][name] for name in ("alayout", "blayout") if name in form["words"]]
        self.bit_op = next((word for word in ("xor", "and") if word in self.spelling.split(".")), "")
        self.variant = " ".join([*self.layouts, self.bit_op,
                                 "satfinite" if ".satfinite" in self.spelling else "",
                                 "vectors of f32" if self.a == "tf32" and not tf32_elements else "",
                                 "vectors of tf32" if tf32_elements else "",
                                 f"selector {selector}" if selector else ""]).strip()
        self.variant = re.sub(" +", " ", self.variant)
        self.target = form["targets"][0]
        self.arch = "sm_90a" if "sm_90a" in form["targets"] else self.target
        operands = {operand["name"]: operand for operand in form["operands"]}
        self.registers = {}
        for name in "abcd":
            operand = operands[name]
            self.registers[name] = (operand["count"] or 1, values.BITS[operand["type"]])
        self.words = {name: count * bits // 32 for name, (count, bits) in self.registers.items()}
        self.words_in = sum(self.words[name] for name in "abc") + (2 if self.sparse else 0)
        self.words_out = self.words["d"]

    def instructions(self):
        return {self.spelling: 1}

    def label(self):
        return self.shape, re.sub(r" ?selector \d", "", self.variant), self.spelling

    def operands(self, rng, kind, lanes):
        parts = [values.words(rng, getattr(self, name), kind, lanes, self.words[name]) for name in "abc"]
        if self.sparse:
            parts.append(metadata(rng, self.form, lanes * 2).reshape(lanes, 2))
        return np.concatenate(parts, axis=1)

    # -- the dialect

    def element(self, name):
        if self.tf32_elements and name in "ab":
            return "tf32"
        return MLIR[getattr(self, name)]

    def vector(self, name, more_rows=0):
        """(rows, columns): a register a row of a multiplicand, two columns a row of an accumulator."""
        count, bits = self.registers[name]
        element_bits = values.BITS[getattr(self, name)]
        columns = bits // element_bits if name in "ab" else 2
        return count * bits // element_bits // columns + more_rows, columns

    def type(self, name, element=None, more_rows=0):
        rows, columns = self.vector(name, more_rows)
        return f"vector<{rows}x{columns}x{element or self.element(name)}>"

    def attributes(self, shape=None):
        m, n, k = re.findall(r"\d+", shape or self.shape)
        found = [f"mmaShape = [{m}, {n}, {k}]"]
        if self.a == "tf32" and not self.tf32_elements:
            found.append("tf32Enabled")
        if ".satfinite" in self.spelling:
            found.append("satfinite")
        if self.bit_op:
            found.append(f"bitOp = #nvgpu<bit_op {self.bit_op}_popc>")
        for name, layout in zip("AB", self.layouts):
            found.append(f"layout{name} = #nvgpu<layout {layout}>")
        if self.sparse:
            found.append(f"sparsitySelector = {self.selector} : i32")
        return "{{" + ", ".join(found) + "}}"

    def mlir(self, prefix):
        lines, at = [], 0
        for name in "abc":
            rows, _ = self.vector(name)
            words = self.words[name]
            if self.element(name) == "tf32":  # of memory: no cast makes one of integers
                lines += [
                    f"%{prefix}{name}n = arith.constant {at} : index",
                    f"%{prefix}{name}i = arith.addi %{prefix}i, %{prefix}{name}n : index",
                    f"%{prefix}{name}w = vector.load %in_tf32[%{prefix}{name}i] : {{in_tf32_type}}, vector<{words}xtf32>",
                    f"%{prefix}{name} = vector.shape_cast %{prefix}{name}w : vector<{words}xtf32> to {self.type(name)}",
                ]
                at += words
                continue
            lines += [
                f"%{prefix}{name}n = arith.constant {at} : index",
                f"%{prefix}{name}i = arith.addi %{prefix}i, %{prefix}{name}n : index",
                f"%{prefix}{name}w = vector.load %in[%{prefix}{name}i] : {{in_type}}, vector<{words}xi32>",
                f"%{prefix}{name}r = vector.shape_cast %{prefix}{name}w : "
                f"vector<{words}xi32> to vector<{rows}x{words // rows}xi32>",
                f"%{prefix}{name} = vector.bitcast %{prefix}{name}r : "
                f"vector<{rows}x{words // rows}xi32> to {self.type(name)}",
            ]
            at += words
        extra = ""
        if self.sparse:
            lines += [
                f"%{prefix}en = arith.constant {at} : index",
                f"%{prefix}ei = arith.addi %{prefix}i, %{prefix}en : index",
                f"%{prefix}ew = vector.load %in[%{prefix}ei] : {{in_type}}, vector<1xi32>",
                f"%{prefix}e = vector.bitcast %{prefix}ew : vector<1xi32> to vector<2xi16>",
            ]
            extra = f" metadata(%{prefix}e)"
        rows, _ = self.vector("d")
        words = self.words["d"]
        lines += [
            f"%{prefix}d = nvgpu.{self.op} (%{prefix}a, %{prefix}b, %{prefix}c){extra} {self.attributes()} : "
            f"({self.type('a')}, {self.type('b')}, {self.type('c')}) -> {self.type('d')}",
            f"%{prefix}dr = vector.bitcast %{prefix}d : {self.type('d')} to vector<{rows}x{words // rows}xi32>",
            f"%{prefix}dw = vector.shape_cast %{prefix}dr : vector<{rows}x{words // rows}xi32> to vector<{words}xi32>",
            f"vector.store %{prefix}dw, %out[%{prefix}o] : {{out_type}}, vector<{words}xi32>",
        ]
        return lines

    # -- PTX

    def ptx(self):
        lines, at = [], 0
        for name in "dabc":
            count, bits = self.registers[name]
            lines.append(f".reg .b{bits} %{name}<{count}>;")
        for name in "abc":
            count, bits = self.registers[name]
            for i in range(count):
                lines.append(f"ld.global.b{bits} %{name}{i}, [%in+{at}];")
                at += bits // 8

        def tuple_of(name):
            return "{" + ", ".join(f"%{name}{i}" for i in range(self.registers[name][0])) + "}"

        # A scalar in the operand list where the form has no braces.
        more = ""
        if self.sparse:
            lines += [".reg .b32 %e;", f"ld.global.b32 %e, [%in+{at}];"]
            more = f", %e, {self.selector}"
        lines.append(f"{self.spelling} {tuple_of('d')}, {tuple_of('a')}, {tuple_of('b')}, {tuple_of('c')}{more};")
        count, bits = self.registers["d"]
        lines += [f"st.global.b{bits} [%out+{i * bits // 8}], %d{i};" for i in range(count)]
        return lines

    # -- what is refused

    def function(self, attributes=None, **types):
        """An operation alone in a function, with these types of its vectors."""
        types = {name: types.get(name, self.type(name)) for name in "abcd"}
        more, argument = (" metadata(%e)", ", %e: vector<2xi16>") if self.sparse else ("", "")
        text = (f"func.func @f(%a: {types['a']}, %b: {types['b']}, %c: {types['c']}{argument}) {{\n"
                f"  %d = nvgpu.{self.op} (%a, %b, %c){more} {attributes or self.attributes()} : "
                f"({types['a']}, {types['b']}, {types['c']}) -> {types['d']}\n  return\n}}")
        return text.replace("{{", "{").replace("}}", "}")

    def neighbours(self):
        m, n, k = map(int, re.findall(r"\d+", self.shape))
        legal = self.family.shapes(self)
        while f"m{m}n{n}k{k}" in legal:
            k *= 2
        name = f"m{m}n{n}k{k}"
        found = [("K doubled", self.function(self.attributes(name)), [f"has no shape {name}; legal: ", *legal])]

        other = self.family.wrong_b(self)
        element_bits = values.BITS[other]
        count, bits = self.registers["b"]
        wrong = f"vector<{count}x{bits // element_bits}x{MLIR[other]}>"
        found.append((f"B of {other}", self.function(b=wrong),
                      [f"does not multiply {self.a} x {other} -> {self.d} with C of {self.c}", "legal",
                       f"{self.a} x {self.b} + {self.c} -> {self.d}"]))

        for operand in "abcd":
            found.append((f"a row more of {operand.upper()}",
                          self.function(**{operand: self.type(operand, more_rows=1)}),
                          [f"matrix {operand.upper()} is {self.type(operand, more_rows=1)}", self.type(operand)]))
        return found


class Products(Batch):
    """Memory is of words, and once more of tf32."""

    def words_of_mlir(self):
        return {"in_tf32_type": f"memref<{self.total_in}xtf32>"}

    def parameters(self):
        return f", %in_tf32: memref<{self.total_in}xtf32>"

    def arguments(self, suffix):
        found = super().arguments(suffix)
        if suffix != ".ptx":
            found += ["buf=16", f"in={self.path('.in')}", "u64=0", f"u64={self.total_in}", "u64=1"]
        return found


class Family:
    """All products of one operation."""

    def __init__(self, forms, sparse):
        self.rows = []
        for form in sorted(forms, key=lambda form: form["spelling"]):
            if not says(form) or is_sparse(form) != sparse:
                continue
            selectors = [operand["range"] for operand in form["operands"] if operand["name"] == "selector"]
            highest = selectors[0][1] if selectors else 0
            self.rows += [Product(form, self, selector, tf32)
                          for tf32 in ((False, True) if form["types"][1] == "tf32" else (False,))
                          for selector in range(highest + 1)]

    def shapes(self, row):
        """Legal ones with the row's types."""
        return sorted({other.shape for other in self.rows if other.types == row.types})

    def wrong_b(self, row):
        """A type that A does not go with."""
        good = {other.b for other in self.rows if (other.a, other.c, other.d) == (row.a, row.c, row.d)}
        # b1, tf32 and f64 need attributes or registers of their own.
        return next(name for name in ("bf16", "f16", "s8") if name not in good)
