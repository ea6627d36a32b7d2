"""What a lane loads, copies and divides: nvgpu.ldmatrix, nvgpu.device_async_copy, nvgpu.rcp."""

import re

import numpy as np

import values
from harness import Batch, Row

SHARED = "#gpu.address_space<workgroup>"
SLOT_BYTES = 16  # of shared memory a lane
# Element types in memory: (MLIR, bits).
ELEMENTS = {"i4": 4, "i8": 8, "f8E4M3FN": 8, "f8E5M2": 8, "i16": 16, "f16": 16, "bf16": 16, "i32": 32, "f32": 32, "tf32": 32, "i64": 64, "f64": 64}


class Reciprocal(Row):
    op = "rcp"
    words_in = words_out = 4

    def __init__(self, form):
        super().__init__()
        self.form, self.spelling = form, form["spelling"]
        self.since = tuple(form["since"])
        words = self.spelling.split(".")
        self.rounding, self.ftz = words[1], "ftz" in words
        self.types = "f32 -> f32"
        self.shape = "any vector"
        self.variant = self.rounding + (" ftz" if self.ftz else "")
        self.is_exact = self.rounding != "approx"

    def instructions(self):
        return {self.spelling: 4}

    def operands(self, rng, kind, lanes):
        return values.words(rng, "f32", kind, lanes, 4)

    def mlir(self, prefix):
        attributes = f"{{{{rounding = {self.rounding}{', ftz' if self.ftz else ''}}}}}"
        return [f"%{prefix}w = vector.load %in[%{prefix}i] : {{in_type}}, vector<4xi32>",
                f"%{prefix}f = vector.bitcast %{prefix}w : vector<4xi32> to vector<4xf32>",
                f"%{prefix}d = nvgpu.rcp %{prefix}f {attributes} : vector<4xf32>",
                f"%{prefix}r = vector.bitcast %{prefix}d : vector<4xf32> to vector<4xi32>",
                f"vector.store %{prefix}r, %out[%{prefix}o] : {{out_type}}, vector<4xi32>"]

    def ptx(self):
        lines = [".reg .f32 %x;"]
        for i in range(4):
            lines += [f"ld.global.f32 %x, [%in+{4 * i}];", f"{self.spelling} %x, %x;", f"st.global.f32 [%out+{4 * i}], %x;"]
        return lines

    def neighbours(self):
        text = "func.func @f(%a: vector<4x{0}>) {{\n  %d = nvgpu.rcp %a {{rounding = " + self.rounding + \
               "}} : vector<4x{0}>\n  return\n}}"
        return [(name, text.format(name), ["vector of 32-bit float"]) for name in ("f64", "f16")]


def reciprocals(forms):
    return [Reciprocal(form) for form in forms if form["spelling"].endswith(".f32")]


# Shared memory holds, before the rows, a slot a lane: the lane's first words of input, of every row anew.


class LdMatrix(Row):
    """A lane stores 16 bytes to its slot, one row of a matrix; the matrices' rows are slots of lanes picked by a step."""

    op = "ldmatrix"
    words_in = 4

    def __init__(self, form, element, number):
        super().__init__()
        self.form, self.element, self.bits = form, element, ELEMENTS[element]
        self.step = 2 * number + 1  # odd: lane l reads the row that lane l * step % 32 wrote
        self.spelling = form["spelling"]
        self.since = tuple(form["since"])
        self.tiles = int(re.search(r"\.x(\d)", self.spelling)[1])
        self.transposed = ".trans" in self.spelling
        self.types = element
        self.shape = f"8x{128 // self.bits}, x{self.tiles}"
        self.variant = "transpose" if self.transposed else ""
        self.words_out = self.tiles

    def instructions(self):
        return {self.spelling: 1}

    def operands(self, rng, kind, lanes):
        return rng.integers(0, 1 << 32, (lanes, 4), dtype=np.uint32)

    def result(self):
        return f"vector<{self.tiles}x{32 // self.bits}x{self.element}>"

    def mlir(self, prefix):
        memref = f"memref<{{slots}}x{128 // self.bits}x{self.element}, {SHARED}>"
        # No cast makes integers of tf32; memory does.
        words = [f"%{prefix}r = vector.bitcast %{prefix}d : {self.result()} to vector<{self.tiles}x1xi32>",
                 f"%{prefix}f = vector.shape_cast %{prefix}r : vector<{self.tiles}x1xi32> to vector<{self.tiles}xi32>"]
        if self.element == "tf32":
            words = [f"%{prefix}r = vector.shape_cast %{prefix}d : {self.result()} to vector<{self.tiles}xtf32>",
                     "gpu.barrier",
                     f"vector.store %{prefix}r, %{prefix}t[%thread, %zero] : {memref}, vector<{self.tiles}xtf32>",
                     f"%{prefix}f = vector.load %slots[%thread, %zero] : {{slots_type}}, vector<{self.tiles}xi32>"]
        attributes = f"{{{{numTiles = {self.tiles} : i32, transpose = {str(self.transposed).lower()}}}}}"
        return ["gpu.barrier",
                f"%{prefix}w = vector.load %in[%{prefix}i] : {{in_type}}, vector<4xi32>",
                f"vector.store %{prefix}w, %slots[%thread, %zero] : {{slots_type}}, vector<4xi32>",
                "gpu.barrier",
                f"%{prefix}t = memref.view %shared[%zero][] : {{shared_type}} to {memref}",
                f"%{prefix}c = arith.constant {self.step} : index",
                f"%{prefix}m = arith.muli %thread, %{prefix}c : index",
                f"%{prefix}s = arith.remui %{prefix}m, %threads : index",
                f"%{prefix}d = nvgpu.ldmatrix %{prefix}t[%{prefix}s, %zero] {attributes} : {memref} -> {self.result()}",
                *words,
                f"vector.store %{prefix}f, %out[%{prefix}o] : {{out_type}}, vector<{self.tiles}xi32>"]

    def ptx(self):
        lines = ["bar.sync 0;", f".reg .b32 %d<4>;", ".reg .b32 %at;"]
        lines += [f"ld.global.b32 %d{i}, [%in+{4 * i}];" for i in range(4)]
        lines += [f"st.shared.b32 [%slot+{4 * i}], %d{i};" for i in range(4)]
        registers = ", ".join(f"%d{i}" for i in range(self.tiles))
        lines += ["bar.sync 0;", f"mul.lo.u32 %at, %thread, {self.step};", "rem.u32 %at, %at, %threads;",
                  f"mad.lo.u32 %at, %at, {SLOT_BYTES}, %slots;", f"{self.spelling} {{{registers}}}, [%at];"]
        return lines + [f"st.global.b32 [%out+{4 * i}], %d{i};" for i in range(self.tiles)]

    def function(self, tiles=None, transposed=None, result=None, space=SHARED, element=None):
        memref = f"memref<32x{128 // self.bits}x{element or self.element}, {space}>"
        transposed = self.transposed if transposed is None else transposed
        return (f"func.func @f(%a: {memref}, %i: index) {{\n  %d = nvgpu.ldmatrix %a[%i, %i] "
                f"{{numTiles = {tiles or self.tiles} : i32, transpose = {str(transposed).lower()}}} : {memref} -> "
                f"{result or self.result()}\n  return\n}}")

    def neighbours(self):
        columns = 32 // self.bits
        found = [("numTiles of 3", self.function(tiles=3, result=f"vector<3x{columns}x{self.element}>"),
                  ["numTiles is 3; legal: 1, 2, 4"]),
                 ("a row more", self.function(result=f"vector<{self.tiles + 1}x{columns}x{self.element}>"),
                  [f"are '{self.result()}'"]),
                 ("global memory", self.function(space="1"), ["reads shared memory"])]
        if self.bits != 16:
            found.append(("transpose", self.function(transposed=True), ["transposes elements of 16 bits only"]))
        return found


def ldmatrices(forms):
    rows = []
    for form in forms:
        match = re.fullmatch(r"ldmatrix\.sync\.aligned\.m8n8\.x\d(\.trans)?\.shared\.b16", form["spelling"])
        if not match:
            continue
        for element, bits in ELEMENTS.items():
            if bits <= 32 and (not match[1] or bits == 16):
                rows.append(LdMatrix(form, element, len(rows)))
    return rows


class Copy(Row):
    """A lane copies from its input to its slot, waits, and reads what has come."""

    op = "device_async_copy"
    words_in = 4

    def __init__(self, form, element, bytes_, source=None):
        """`source`: elements that are read; the rest are zeros."""
        super().__init__()
        self.form, self.element, self.bits = form, element, ELEMENTS[element]
        self.bytes, self.source = bytes_, source
        self.bypasses = ".cg." in form["spelling"]
        self.spelling = form["spelling"]
        self.since = tuple(form["since"])
        self.types = element
        self.count = bytes_ * 8 // self.bits
        self.shape = f"{self.count} elements, {bytes_} bytes"
        self.variant = ", ".join([*(["bypassL1"] if self.bypasses else []),
                                  *([f"srcElements {source}"] if source is not None else [])])
        self.words_out = bytes_ // 4
        self.may_be_zero = source == 0

    def instructions(self):
        return {self.spelling: 1}

    def operands(self, rng, kind, lanes):
        return rng.integers(1, 1 << 32, (lanes, 4), dtype=np.uint32)

    def label(self):
        return self.shape, re.sub(r"srcElements \d+", "with srcElements", self.variant), self.spelling

    def text(self, prefix, source, destination, in_name, at):
        more = f", %{prefix}n" if self.source is not None else ""
        attributes = " {{bypassL1}}" if self.bypasses else ""
        return (f"%{prefix}k = nvgpu.device_async_copy {in_name}[{at}], %{prefix}t[%thread, %zero], "
                f"{self.count}{more}{attributes} : {source} to {destination}")

    def mlir(self, prefix):
        destination = f"memref<{{slots}}x{SLOT_BYTES * 8 // self.bits}x{self.element}, {SHARED}>"
        source = f"memref<{{in_bytes_{self.bits}}}x{self.element}>"
        # From an index of words to one of elements.
        operation, factor = ("muli", 32 // self.bits) if self.bits <= 32 else ("divui", self.bits // 32)
        lines = [f"%{prefix}t = memref.view %shared[%zero][] : {{shared_type}} to {destination}",
                 f"%{prefix}x = arith.constant {factor} : index",
                 f"%{prefix}e = arith.{operation} %{prefix}i, %{prefix}x : index"]
        if self.source is not None:
            lines.append(f"%{prefix}n = arith.constant {self.source} : index")
        words = self.words_out
        lines += [self.text(prefix, source, destination, f"%in_{self.element}", f"%{prefix}e"),
                  f"%{prefix}g = nvgpu.device_async_create_group %{prefix}k",
                  f"nvgpu.device_async_wait %{prefix}g {{{{numGroups = 0 : i32}}}}",
                  f"%{prefix}w = vector.load %slots[%thread, %zero] : {{slots_type}}, vector<{words}xi32>",
                  f"vector.store %{prefix}w, %out[%{prefix}o] : {{out_type}}, vector<{words}xi32>"]
        return lines

    def ptx(self):
        lines, more = [".reg .b32 %d, %size;"], ""
        if self.source is not None:
            lines.append(f"mov.b32 %size, {self.source * self.bits // 8};")
            more = ", %size"
        lines += [f"{self.spelling} [%slot], [%in], {self.bytes}{more};", "cp.async.commit_group;",
                 "cp.async.wait_group 0;"]
        for i in range(self.words_out):
            lines += [f"ld.shared.b32 %d, [%slot+{4 * i}];", f"st.global.b32 [%out+{4 * i}], %d;"]
        return lines

    def neighbours(self):
        def function(count=None, element=None, bypasses=None, from_space="", to_space=f", {SHARED}"):
            source = f"memref<64x{self.element}{from_space}>"
            destination = f"memref<64x{element or self.element}{to_space}>"
            attributes = " {bypassL1}" if (self.bypasses if bypasses is None else bypasses) else ""
            return (f"func.func @f(%a: {source}, %b: {destination}, %i: index) {{\n"
                    f"  %k = nvgpu.device_async_copy %a[%i], %b[%i], {count or self.count}{attributes} : {source} to "
                    f"{destination}\n  return\n}}")

        legal = "legal with bypassL1: 16 bytes" if self.bypasses else "legal: 4, 8 and 16 bytes"
        wrong = 32 * 8 // self.bits
        found = [(f"{wrong} elements", function(count=wrong), [f"copies {wrong} elements", legal]),
                 ("to global memory", function(to_space=""), ["writes shared memory"]),
                 ("from shared memory", function(from_space=f", {SHARED}"), ["reads global memory"]),
                 ("to another type", function(element="index"), ["element types differ"])]
        if self.bytes != 16:
            found.append(("bypassL1", function(bypasses=True), ["legal with bypassL1: 16 bytes"]))
        return found


def copies(forms):
    rows = []
    by_spelling = {form["spelling"]: form for form in forms}
    for element, bits in ELEMENTS.items():
        for bytes_ in (4, 8, 16):
            if bytes_ * 8 < bits:
                continue
            for cache in ("ca", "cg") if bytes_ == 16 else ("ca",):
                form = by_spelling[f"cp.async.{cache}.shared.global"]
                rows.append(Copy(form, element, bytes_))
                count = bytes_ * 8 // bits
                if element in ("i4", "i8", "f16", "f32", "f64"):
                    rows += [Copy(form, element, bytes_, source) for source in sorted({0, count // 2, count})]
    return rows


class Slots(Batch):
    """Rows with a slot of shared memory a lane."""

    def __init__(self, options, name, rows, ctas=len(values.CLASSES), threads=32):
        super().__init__(options, name, rows, ctas, threads)
        self.shared_bytes = threads * SLOT_BYTES

    def typed_inputs(self):
        """Element types by which rows see the input."""
        return sorted({row.element for row in self.rows if isinstance(row, Copy)})

    def words_of_mlir(self):
        found = {"slots": str(self.threads), "slots_type": f"memref<{self.threads}x4xi32, {SHARED}>",
                 "shared_type": f"memref<?xi8, {SHARED}>"}
        return found | {f"in_bytes_{bits}": str(self.total_in * 32 // bits) for bits in (4, 8, 16, 32, 64)}

    def parameters(self):
        return "".join(f", %in_{element}: memref<{self.total_in * 32 // ELEMENTS[element]}x{element}>"
                       for element in self.typed_inputs())

    def preamble(self):
        return (f"    %zero = arith.constant 0 : index\n"
                f"    %shared = gpu.dynamic_shared_memory : memref<?xi8, {SHARED}>\n"
                f"    %slots = memref.view %shared[%zero][] : memref<?xi8, {SHARED}> to "
                f"memref<{self.threads}x4xi32, {SHARED}>")

    def ptx_globals(self):
        return ".extern .shared .align 16 .b8 shared[];"

    def ptx_preamble(self):
        return (f"  .reg .b32 %thread, %slots, %slot;\n  mov.u32 %thread, %tid.x;\n  mov.u32 %slots, shared;\n"
                f"  mad.lo.u32 %slot, %thread, {SLOT_BYTES}, %slots;")

    def arguments(self, suffix):
        found = super().arguments(suffix)
        if suffix != ".ptx":
            for element in self.typed_inputs():
                found += ["buf=16", f"in={self.path('.in')}", "u64=0", f"u64={self.total_in * 32 // ELEMENTS[element]}",
                          "u64=1"]
        return found
