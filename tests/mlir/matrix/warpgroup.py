"""The warpgroup's product: nvgpu.warpgroup.generate.descriptor, .mma, .mma.init.accumulator and .mma.store.

Rows of one batch have the same types, and read their multiplicands from the same bytes of shared memory, which the
kernel has filled from its input: which element a byte belongs to is the descriptor's word, and that is what is compared
with descriptors made here, by the rules of the PTX ISA.
"""

import re

import numpy as np

import values
from harness import Batch, Lines, Row
from mma import MLIR

THREADS = 128
A_BYTES, B_BYTES = 16 << 10, 32 << 10  # M = 128, K of 128 bytes; N = 256 likewise
SHARED_BYTES = A_BYTES + B_BYTES
REGISTER_WORDS = 16  # of A in registers, a thread: K of 128 bytes
LINE = {"none": 16, "swizzle_32b": 32, "swizzle_64b": 64, "swizzle_128b": 128}
CODE = {"none": 0, "swizzle_128b": 1, "swizzle_64b": 2, "swizzle_32b": 3}  # bits 63..62 of a matrix descriptor
STEP_BYTES = 32  # of K, of every type


class Tile:
    """A multiplicand in shared memory: `mn` rows or columns, `steps` instructions deep."""

    def __init__(self, begin, swizzle, transposed, mn, steps, depth, bits):
        self.begin, self.swizzle, self.transposed = begin, swizzle, transposed
        self.line = LINE[swizzle]
        self.depth, self.bits = depth, bits  # of one instruction
        # Rows and bytes of a row, as they lie in memory.
        self.rows = steps * depth if transposed else mn
        self.row_bytes = mn * bits // 8 if transposed else steps * STEP_BYTES
        self.logical = (mn, steps * depth)

    def descriptor(self, mn, step):
        """Without the address of shared memory: of the part at row `mn` (of B: column) and that step of K."""
        box = self.rows * self.line
        row, byte = (step * self.depth, mn * self.bits // 8) if self.transposed else (mn, step * STEP_BYTES)
        start = self.begin + byte // self.line * box + row * self.line + byte % self.line
        leading, stride = box, 8 * self.line
        if self.transposed and self.swizzle == "none":
            leading, stride = stride, leading
        return start >> 4 | (leading >> 4) << 16 | (stride >> 4) << 32 | CODE[self.swizzle] << 62

    def elements(self, count_bytes):
        return count_bytes * 8 // self.bits

    def memref(self, element):
        return (f"memref<{self.rows}x{self.elements(self.row_bytes)}x{element}, "
                "#gpu.address_space<workgroup>>")

    def map(self, element):
        # Bits come in bytes in a tensor map.
        element, bits = ("i8", 8) if self.bits == 1 else (element, self.bits)
        box = f"memref<{self.rows}x{self.line * 8 // bits}x{element}, #gpu.address_space<workgroup>>"
        return (f"!nvgpu.tensormap.descriptor<tensor = {box}, swizzle = {self.swizzle}, l2promo = none, oob = zero, "
                "interleave = none>")


class Product(Row):
    op = "warpgroup.mma"

    def __init__(self, form, n, a="swizzle_128b", b="swizzle_128b", transpose_a=False, transpose_b=False, steps=4,
                 blocks=1, accumulators=1, attributes=(), chained=False):
        """`a`: a swizzle, or "registers". `chained`: two products, the second onto the first."""
        super().__init__()
        self.form, self.n, self.steps, self.blocks = form, n, steps, blocks
        self.accumulators, self.attributes, self.chained = accumulators, list(attributes), chained
        self.d, self.a, self.b = form["types"]
        self.depth = int(re.search(r"k(\d+)", form["words"]["shape"])[1])
        self.m = 64 * blocks
        self.spelling = form["spelling"]
        self.since = tuple(form["since"])
        self.arch = "sm_90a"
        self.types = f"{self.a} x {self.b} -> {self.d}"
        self.shape = f"m{self.m}n{n}k{self.depth * steps}"
        self.swizzle_a, self.swizzle_b = a, b
        self.bits = values.BITS[self.a]
        self.tile_a = None if a == "registers" else Tile(0, a, transpose_a, self.m, steps, self.depth, self.bits)
        self.tile_b = Tile(A_BYTES, b, transpose_b, n, steps, self.depth, self.bits)
        short = lambda name: name.replace("swizzle_", "")
        self.layout = (f"A {short(a)}{' transposed' if transpose_a else ''}, "
                       f"B {short(b)}{' transposed' if transpose_b else ''}")
        self.variant = ", ".join([self.layout, *[text.split(" :")[0] for text in self.attributes],
                                  *(["M = 128"] if blocks > 1 and accumulators == 1 else []),
                                  *([f"{accumulators} accumulators"] if accumulators > 1 else []),
                                  *(["two products"] if chained else [])])
        self.transposes = any(operand["name"] == "imm-trans-b" for operand in form["operands"])
        self.count = n // 4 if self.d == "f16" else n // 2  # registers of D, of 64 rows
        self.accumulator_bits = 16 if self.d == "f16" else 32

    def instructions(self):
        return {self.spelling: self.blocks * self.steps * (2 if self.chained else 1)}

    def label(self):
        """Of one line: all N; all ways that A and B may lie in shared memory."""
        if self.steps == 1:
            return "m64nNk" + str(self.depth), self.family.n_text(self), re.sub(r"n\d+k", "nNk", self.spelling)
        if self.attributes or self.chained or self.blocks > 1:
            return self.shape, self.variant.replace(self.layout + ", ", ""), self.spelling
        swizzles = "none, 32b, 64b, 128b"
        if not self.tile_a:
            transposes = "; B transposed or not" if self.transposes else ""
            return self.shape, f"A in registers; swizzle of B: {swizzles}{transposes}", self.spelling
        transposes = "; A, B transposed or not" if self.transposes else ""
        return self.shape, f"swizzles of A, B: {swizzles}{transposes}", self.spelling

    def out_elements(self):
        return self.m * self.n

    # -- the dialect

    def types_of(self):
        element_a, element_b, element_d = MLIR[self.a], MLIR[self.b], MLIR[self.d]
        rows = self.m // self.accumulators
        # "N x K as it lies in memory, or as the product has it": a square tile has but one way to be read.
        b = f"{self.tile_b.rows}x{self.tile_b.elements(self.tile_b.row_bytes)}"
        found = {
            "b": f"!nvgpu.warpgroup.descriptor<tensor = memref<{b}x{element_b}, #gpu.address_space<workgroup>>>",
            "d": f"!nvgpu.warpgroup.accumulator<fragmented = vector<{rows}x{self.n}x{element_d}>>",
        }
        if self.tile_a:
            a = f"{self.m}x{self.depth * self.steps}"
            found["a"] = f"!nvgpu.warpgroup.descriptor<tensor = memref<{a}x{element_a}, #gpu.address_space<workgroup>>>"
        else:
            found["a"] = f"vector<{4 * self.blocks * self.steps}x{32 // self.bits}x{element_a}>"
        return found

    def attribute_text(self):
        found = list(self.attributes)
        if self.tile_a and self.tile_a.transposed:
            found.append("transposeA")
        if self.tile_b.transposed:
            found.append("transposeB")
        return "{" + ", ".join(found) + "} " if found else ""

    def maps(self):
        """The types of tensor maps that the kernel takes."""
        return [tile.map(MLIR[name]) for tile, name in [(self.tile_a, self.a), (self.tile_b, self.b)] if tile]

    def mlir_lines(self, prefix, map_names, shared_type):
        types, lines = self.types_of(), []
        for name, tile in [("a", self.tile_a), ("b", self.tile_b)]:
            element = MLIR[getattr(self, name)]
            if tile is None:
                words = 4 * self.blocks * self.steps
                lines += [f"%{prefix}aw = vector.load %in[%registers] : {{in_type}}, vector<{words}xi32>",
                          f"%{prefix}ar = vector.shape_cast %{prefix}aw : vector<{words}xi32> to vector<{words}x1xi32>",
                          f"%{prefix}a = vector.bitcast %{prefix}ar : vector<{words}x1xi32> to {types['a']}"]
                continue
            # Bits: memory has none of their own.
            memref = (tile.memref(element) if tile.bits > 1 else
                      f"memref<{tile.rows}x{tile.row_bytes}xi8, #gpu.address_space<workgroup>>")
            lines += [f"%{prefix}{name}n = arith.constant {tile.begin} : index",
                      f"%{prefix}{name}t = memref.view %shared[%{prefix}{name}n][] : {shared_type} to {memref}",
                      f"%{prefix}{name} = nvgpu.warpgroup.generate.descriptor %{prefix}{name}t, "
                      f"%{map_names[tile.map(element)]} : {memref}, {tile.map(element)} -> {types[name]}"]
        count = self.accumulators
        names = lambda step: ", ".join(f"%{prefix}{step}{i}" for i in range(count))
        lines += [f"%{prefix}c{i} = nvgpu.warpgroup.mma.init.accumulator -> {types['d']}" for i in range(count)]
        accumulators = ", ".join([types["d"]] * count)
        operands = "c"
        for result in ["e", "d"] if self.chained else ["d"]:
            # The first of two products has no attributes but the transposes.
            text = self.attribute_text() if result == "d" else Product.attribute_text(self._plain())
            lines.append(f"{names(result)} = nvgpu.warpgroup.mma %{prefix}a, %{prefix}b, {names(operands)} {text}: "
                         f"{types['a']}, {types['b']}, {accumulators} -> {accumulators}")
            operands = result
        element = MLIR[self.d]
        rows = self.m // count
        strided = f"memref<{rows}x{self.n}x{element}, strided<[{self.n}, 1], offset: ?>>"
        for i in range(count):
            lines += [f"%{prefix}s{i} = arith.constant {i * rows * self.n} : index",
                      f"%{prefix}p{i} = arith.addi %{prefix}o, %{prefix}s{i} : index",
                      f"%{prefix}m{i} = memref.reinterpret_cast %out to offset: [%{prefix}p{i}], "
                      f"sizes: [{rows}, {self.n}], strides: [{self.n}, 1] : {{out_type}} to {strided}",
                      f"nvgpu.warpgroup.mma.store %{prefix}d{i}, %{prefix}m{i} : {types['d']} to {strided}"]
        return lines

    def _plain(self):
        plain = Product.__new__(Product)
        plain.attributes, plain.tile_a, plain.tile_b = [], self.tile_a, self.tile_b
        return plain

    # -- PTX: %in and %out as the batch says; %base: the address of shared memory >> 4; %registers: A's

    def ptx(self):
        count, blocks = self.count, self.blocks
        d_type = "f32" if self.d == "f32" else "b32"
        lines = [f".reg .{d_type} %d<{count * blocks}>;", ".reg .b64 %da, %db;", ".reg .pred %yes, %scale;",
                 "setp.eq.u32 %yes, 0, 0;"]
        lines += [f"mov.b32 %d{i}, 0;" for i in range(count * blocks)]
        if not self.tile_a:
            registers = 4 * blocks * self.steps
            lines.append(f".reg .b32 %a<{registers}>;")
            lines += [f"ld.global.b32 %a{i}, [%registers+{4 * i}];" for i in range(registers)]
        for product in range(2 if self.chained else 1):
            last = product == (1 if self.chained else 0)
            lines.append("wgmma.fence.sync.aligned;")
            for block in range(blocks):
                for step in range(self.steps):
                    lines += self.instruction(block, step, self.attributes if last else [])
            lines += ["wgmma.commit_group.sync.aligned;", "wgmma.wait_group.sync.aligned 0;"]
        # Lane l of warp w has of D, of each 8 columns: row 16 w + l / 4, columns 2 (l % 4) and one more, then the
        # same of row 8 further down.
        element_bytes = self.accumulator_bits // 8
        per_block = 64 * self.n * element_bytes
        lines += [".reg .b64 %at;", ".reg .b32 %row;",
                  f"mad.wide.u32 %at, %fragment_row, {self.n * element_bytes}, %out;",
                  f"mad.wide.u32 %at, %fragment_column, {element_bytes}, %at;"]
        for block in range(blocks):
            for i in range(count):
                group, inner = (i // 2, i % 2 * 2) if self.d == "f16" else (i // 4, i % 4)
                offset = (block * per_block + (inner // 2) * 8 * self.n * element_bytes +
                          (group * 8 + inner % 2) * element_bytes)
                lines.append(f"st.global.b32 [%at+{offset}], %d{block * count + i};")
        return lines

    def instruction(self, block, step, attributes):
        count = self.count
        lines = []
        registers = "{" + ", ".join(f"%d{block * count + i}" for i in range(count)) + "}"
        if self.tile_a:
            lines.append(f"add.s64 %da, %base, {signed(self.tile_a.descriptor(64 * block, step))};")
            a = "%da"
        else:
            first = 4 * (block * self.steps + step)
            a = "{" + ", ".join(f"%a{first + i}" for i in range(4)) + "}"
        lines.append(f"add.s64 %db, %base, {signed(self.tile_b.descriptor(0, step))};")
        drop = "scaleD = false" in attributes and step == 0
        if drop:
            lines.append("setp.ne.u32 %scale, 0, 0;")
        operands = [registers, a, "%db", "%scale" if drop else "%yes"]
        if any(operand["name"] == "imm-scale-a" for operand in self.form["operands"]):
            operands += ["-1" if "negateA" in attributes else "1", "-1" if "negateB" in attributes else "1"]
        if self.transposes:
            if self.tile_a:
                operands.append("1" if self.tile_a.transposed else "0")
            operands.append("1" if self.tile_b.transposed else "0")
        lines.append(f"{self.spelling} {', '.join(operands)};")
        return lines

    # -- what is refused

    def function(self, **changed):
        types = self.types_of() | changed
        return (f"func.func @f(%a: {types['a']}, %b: {types['b']}, %c: {types['d']}) {{\n"
                f"  %d = nvgpu.warpgroup.mma %a, %b, %c {self.attribute_text()}: {types['a']}, {types['b']}, "
                f"{types['d']} -> {types['d']}\n  return\n}}")

    def neighbours(self):
        if not self.family.is_first(self):
            return []
        wrong = next(name for name in ("bf16", "f16", "s8") if name not in self.family.b_types(self))
        memref = "#gpu.address_space<workgroup>>>"
        found = [(f"B of {wrong}", self.function(b=re.sub(r"x[a-z]\w*, #gpu", f"x{MLIR[wrong]}, #gpu",
                                                           self.types_of()["b"])),
                  ["does not multiply", "legal: ", f" -> {self.d}"]),
                 ("K doubled in A alone", self.function(
                     a=f"!nvgpu.warpgroup.descriptor<tensor = memref<{self.m}x{2 * self.depth * self.steps}x{MLIR[self.a]}, {memref}"),
                  [f"A is {self.m}x{self.depth * self.steps}"])]
        n = self.family.illegal_n(self)
        tile = Tile(0, self.swizzle_b, False, n, self.steps, self.depth, self.bits)
        found.append((f"N of {n}", self.function(
            b=f"!nvgpu.warpgroup.descriptor<tensor = memref<{n}x{self.depth * self.steps}x{MLIR[self.b]}, {memref}",
            d=f"!nvgpu.warpgroup.accumulator<fragmented = vector<{self.m}x{n}x{MLIR[self.d]}>>"),
                      [f"{n}", "8", "steps of"]))
        return found


def signed(value):
    return value - (1 << 64) if value >> 63 else value


class Products(Batch):
    """Products of the same types: shared memory and A's registers are filled once."""

    unit = "CTA"

    def __init__(self, options, name, rows, ctas=len(values.CLASSES), threads=THREADS):
        super().__init__(options, name, rows, ctas, threads)
        self.shared_bytes = SHARED_BYTES

    def place(self):
        # Input: of each CTA the bytes of shared memory, then A's registers of each thread.
        self.shared_words = SHARED_BYTES // 4
        self.pitch_in = self.shared_words + REGISTER_WORDS * self.threads
        self.total_in = self.pitch_in * self.ctas
        begin = 0
        for row in self.rows:
            row.begin_out, row.pitch_out = begin, row.out_elements()  # elements
            begin += row.pitch_out * self.ctas
        self.out_elements = max(begin, 4)
        self.element_bytes = self.rows[0].accumulator_bits // 8 if self.rows else 4
        self.total_out = self.out_elements * self.element_bytes // 4

    def input(self):
        row = self.rows[0]
        memory = np.zeros((self.ctas, self.pitch_in), np.uint32)
        rng = np.random.default_rng([self.options.seed, *row.types.encode()])
        for cta in range(self.ctas):
            kind = values.CLASSES[cta % len(values.CLASSES)]
            words = [values.words(rng, row.a, kind, 1, A_BYTES // 4), values.words(rng, row.b, kind, 1, B_BYTES // 4),
                     values.words(rng, row.a, kind, 1, REGISTER_WORDS * self.threads)]
            memory[cta] = np.concatenate(words, axis=1)
        return memory.reshape(-1)

    def map_names(self):
        names = {}
        for row in self.rows:
            for text in row.maps():
                names.setdefault(text, f"map{len(names)}")
        return names

    def mlir(self):
        add = Lines()
        maps = self.map_names()
        element = MLIR[self.rows[0].d]
        in_type, out_type = f"memref<{self.total_in}xi32>", f"memref<{self.out_elements}x{element}>"
        shared_type = "memref<?xi8, #gpu.address_space<workgroup>>"
        words_type = f"memref<{self.shared_words}xi32, #gpu.address_space<workgroup>>"
        add(f"gpu.module @{self.name} {{")
        more = "".join(f",\n      %{name}: {text}" for text, name in maps.items())
        add(f"  gpu.func @batch(%in: {in_type}, %out: {out_type}{more}) kernel {{")
        add(f"    %thread = gpu.thread_id x\n    %cta = gpu.block_id x\n"
            f"    %zero = arith.constant 0 : index\n"
            f"    %threads = arith.constant {self.threads} : index\n"
            f"    %words = arith.constant {self.shared_words} : index\n"
            f"    %pitch = arith.constant {self.pitch_in} : index\n"
            f"    %each = arith.constant {REGISTER_WORDS} : index\n"
            f"    %begin = arith.muli %cta, %pitch : index\n"
            f"    %mine = arith.muli %thread, %each : index\n"
            f"    %after = arith.addi %begin, %words : index\n"
            f"    %registers = arith.addi %after, %mine : index\n"
            f"    %shared = gpu.dynamic_shared_memory : {shared_type}\n"
            f"    %filled = memref.view %shared[%zero][] : {shared_type} to {words_type}\n"
            f"    scf.for %i = %thread to %words step %threads {{\n"
            f"      %from = arith.addi %begin, %i : index\n"
            f"      %word = memref.load %in[%from] : {in_type}\n"
            f"      memref.store %word, %filled[%i] : {words_type}\n    }}\n"
            f"    nvvm.fence.proxy {{kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}}\n"
            f"    gpu.barrier")
        for number, row in enumerate(self.rows):
            prefix = f"r{number}_"
            add(f"    %{prefix}op = arith.constant {row.pitch_out} : index\n"
                f"    %{prefix}ob = arith.constant {row.begin_out} : index\n"
                f"    %{prefix}ol = arith.muli %cta, %{prefix}op : index\n"
                f"    %{prefix}o = arith.addi %{prefix}ol, %{prefix}ob : index", row)
            for line in row.mlir_lines(prefix, maps, shared_type):
                add("    " + line.replace("{in_type}", in_type).replace("{out_type}", out_type), row)
        add("    gpu.return\n  }\n}")
        return add.lines, add.owner

    def ptx(self):
        add = Lines()
        version = max([row.since for row in self.rows] + [(8, 0)])
        add(f".version {version[0]}.{version[1]}\n.target {self.arch}\n.address_size 64\n"
            f".extern .shared .align 1024 .b8 shared[];\n"
            f".visible .entry batch(.param .u64 input, .param .u64 output)\n{{\n"
            f"  .reg .b32 %thread, %cta, %i, %at, %word, %fragment_row, %fragment_column, %lane, %warp;\n"
            f"  .reg .b64 %in, %out0, %out, %base, %registers, %from;\n  .reg .pred %more;\n"
            f"  ld.param.u64 %in, [input];\n  ld.param.u64 %out0, [output];\n"
            f"  cvta.to.global.u64 %in, %in;\n  cvta.to.global.u64 %out0, %out0;\n"
            f"  mov.u32 %thread, %tid.x;\n  mov.u32 %cta, %ctaid.x;\n"
            f"  mad.wide.u32 %in, %cta, {self.pitch_in * 4}, %in;\n"
            f"  mad.wide.u32 %registers, %thread, {REGISTER_WORDS * 4}, %in;\n"
            f"  add.u64 %registers, %registers, {SHARED_BYTES};\n"
            f"  mov.u32 %i, %thread;\nfill:\n"
            f"  mad.wide.u32 %from, %i, 4, %in;\n  ld.global.b32 %word, [%from];\n"
            f"  mov.u32 %at, shared;\n  mad.lo.u32 %at, %i, 4, %at;\n  st.shared.b32 [%at], %word;\n"
            f"  add.u32 %i, %i, {self.threads};\n  setp.lt.u32 %more, %i, {self.shared_words};\n  @%more bra fill;\n"
            f"  fence.proxy.async.shared::cta;\n  bar.sync 0;\n"
            f"  mov.u32 %at, shared;\n  and.b32 %at, %at, 0x3ffff;\n  shr.u32 %at, %at, 4;\n  cvt.u64.u32 %base, %at;\n"
            f"  and.b32 %lane, %thread, 31;\n  shr.u32 %warp, %thread, 5;\n"
            f"  shr.u32 %fragment_row, %lane, 2;\n  mad.lo.u32 %fragment_row, %warp, 16, %fragment_row;\n"
            f"  and.b32 %fragment_column, %lane, 3;\n  shl.b32 %fragment_column, %fragment_column, 1;")
        for row in self.rows:
            add("  {", row)
            add(f"  mad.wide.u32 %out, %cta, {row.pitch_out * self.element_bytes}, %out0;\n"
                f"  add.u64 %out, %out, {row.begin_out * self.element_bytes};", row)
            for line in row.ptx():
                add(f"  {line}", row)
            add("  }", row)
        add("  ret;\n}")
        return add.lines, add.owner

    def arguments(self, suffix):
        output = f"out={self.path(suffix + '.out')}:{self.total_out * 4}"
        if suffix == ".ptx":
            return [f"in={self.path('.in')}", output]
        return ["buf=16", f"in={self.path('.in')}", "u64=0", f"u64={self.total_in}", "u64=1",
                "buf=16", output, "u64=0", f"u64={self.out_elements}", "u64=1", *["buf=128"] * len(self.map_names())]

    def byte_range(self, row):
        return row.begin_out * self.element_bytes, row.pitch_out * self.ctas * self.element_bytes

    def part(self, row, memory):
        elements = memory.view(np.uint16 if self.element_bytes == 2 else np.uint32)
        return elements[row.begin_out:row.begin_out + row.pitch_out * self.ctas].reshape(self.ctas, row.pitch_out)


class Family:
    """The rows of every type: each N; and of one N each way that the multiplicands may lie, and each attribute."""

    def __init__(self, forms, wanted):
        self.by_types = {}
        for form in forms:
            if ".sp" in form["words"] or " ".join(form["types"]) not in wanted:
                continue
            satfinite = ".satfinite" in form["spelling"]
            n = int(re.search(r"n(\d+)", form["words"]["shape"])[1])
            in_registers = any(operand["name"] == "a" for operand in form["operands"])
            self.by_types.setdefault(tuple(form["types"]), {})[(n, satfinite, in_registers)] = form
        self.rows = []
        for forms_of_types in self.by_types.values():
            self.rows += self.rows_of(forms_of_types)
        for row in self.rows:
            row.family = self

    def rows_of(self, forms):
        rows = []
        swizzles = list(LINE)
        get = lambda n, satfinite=False, registers=False: forms.get((n, satfinite, registers))
        for n in sorted({n for n, *_ in forms}):
            rows.append(Product(get(n), n, "swizzle_32b", "swizzle_32b", steps=1))
        n = 64
        form, from_registers = get(n), get(n, registers=True)
        transposes = any(operand["name"] == "imm-trans-b" for operand in form["operands"])
        ways = [(a, b) for a in (False, True) for b in (False, True)] if transposes else [(False, False)]
        for transpose_a, transpose_b in ways:
            for i, swizzle in enumerate(swizzles):
                for other in (swizzle, swizzles[(i + 1) % 4]):
                    rows.append(Product(form, n, swizzle, other, transpose_a, transpose_b))
        for transpose_b in (False, True) if transposes else (False,):
            for swizzle in swizzles:
                rows.append(Product(from_registers, n, "registers", swizzle, False, transpose_b))
        rows.append(Product(form, n, blocks=2))
        rows.append(Product(form, n, blocks=2, accumulators=2))
        rows.append(Product(form, n, chained=True))
        rows.append(Product(form, n, chained=True, attributes=["scaleD = false"]))
        rows.append(Product(form, n, attributes=["waitGroup = 1 : i64"]))
        if any(operand["name"] == "imm-scale-a" for operand in form["operands"]):
            for names in (["negateA"], ["negateB"], ["negateA", "negateB"]):
                rows.append(Product(form, n, attributes=names))
        if get(n, satfinite=True):
            rows.append(Product(get(n, satfinite=True), n, attributes=["satfinite"]))
        return rows

    def is_first(self, row):
        """Of its types: the neighbours of the others would be the same."""
        return next(other for other in self.rows if other.types == row.types and other.steps == 4) is row

    def n_text(self, row):
        values_of_n = sorted({other.n for other in self.rows if other.types == row.types and other.steps == 1})
        steps = {b - a for a, b in zip(values_of_n, values_of_n[1:])}
        if len(steps) == 1:
            return f"N = {values_of_n[0]} to {values_of_n[-1]} in steps of {steps.pop()}"
        return "N = " + ", ".join(map(str, values_of_n))

    def b_types(self, row):
        return {other.b for other in self.rows if (other.a, other.d) == (row.a, row.d)}

    def illegal_n(self, row):
        return 264 if 248 in {other.n for other in self.rows if other.types == row.types} else 40
