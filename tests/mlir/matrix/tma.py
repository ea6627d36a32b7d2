"""Tensor copies: nvgpu.tma.async.load and .store, by element type, swizzle, rank, mode and fill.

Their kernels take tensor maps, so they run as `lemma run F.mlir` with a --arg tmap each; the PTX by hand takes the same
maps by value. All maps of loads are of the input from its begin on, all of stores of the output.
"""

import json

import numpy as np

import values
from harness import Batch, Lines, Row

SHARED = "#gpu.address_space<workgroup>"
THREADS = 64
REGION_BYTES = 4096  # of shared memory, input and output, of a row and a CTA: at least a box
INPUT_BYTES = 1 << 16
LINE = {"none": 64, "swizzle_32b": 32, "swizzle_64b": 64, "swizzle_128b": 128}
# MLIR's element types: bytes, and the tensor map's word.
ELEMENTS = {"i8": (1, "u8"), "f8E4M3FN": (1, "u8"), "f8E5M2": (1, "u8"), "i16": (2, "u16"), "f16": (2, "f16"),
            "bf16": (2, "bf16"), "i32": (4, "s32"), "ui32": (4, "u32"), "f32": (4, "f32"), "tf32": (4, "tf32"),
            "i64": (8, "s64"), "ui64": (8, "u64"), "f64": (8, "f64")}
# Extents of a box but the innermost, by rank, outermost first.
OUTER = {1: [], 2: [8], 3: [2, 8], 4: [2, 2, 8], 5: [2, 2, 2, 4]}


def power_of_two(value):
    return 1 << (value - 1).bit_length()


class TensorCopy(Row):
    def __init__(self, form, element, rank, swizzle="none", l2="none", oob="zero", im2col=False):
        super().__init__()
        self.form, self.spelling = form, form["spelling"]
        self.since = tuple(form["since"])
        self.element, self.rank, self.swizzle, self.l2, self.oob, self.im2col = element, rank, swizzle, l2, oob, im2col
        self.element_bytes, self.map_type = ELEMENTS[element]
        inner = LINE[swizzle] // self.element_bytes
        self.box = OUTER[rank] + [inner] if not im2col else [1] * (rank - 2) + [16, inner]
        self.box_bytes = int(np.prod(self.box)) * self.element_bytes
        self.types = element
        self.shape = f"rank {rank}"
        self.variant = ", ".join([swizzle, *(["im2col"] if im2col else []), *([f"l2promo = {l2}"] if l2 != "none" else []),
                                  *([f"oob = {oob}"] if oob != "zero" else [])])

    def instructions(self):
        return {self.spelling: 1}

    def map(self, **changed):
        box = "x".join(map(str, changed.get("box", self.box)))
        element = changed.get("element", self.element)
        return (f"!nvgpu.tensormap.descriptor<tensor = memref<{box}x{element}, {SHARED}>, swizzle = "
                f"{changed.get('swizzle', self.swizzle)}, l2promo = {self.l2}, oob = {self.oob}, interleave = none>")

    def tile(self, box=None):
        return f"memref<{'x'.join(map(str, box or self.box))}x{self.element}, {SHARED}>"

    def json(self, argument, outer_extent):
        """Dimensions from the innermost; each stride is that of the box, so that a box lies in one piece."""
        box = self.box[::-1]
        strides, stride = [], box[0] * self.element_bytes
        for extent in box[1:]:
            strides.append(stride)
            stride *= extent
        dims = self.extents(outer_extent)
        found = {"arg": argument, "type": self.map_type, "dims": dims, "strides_bytes": strides, "box": box,
                 "swizzle": self.swizzle.replace("swizzle_", "").replace("b", "B"),
                 "oob_fill": "nan" if self.oob == "nan" else "zeros",
                 "l2_promotion": self.l2.replace("l2promo_", "").replace("b", "B")}
        if self.im2col:
            # Images of 4 pixels a dimension.
            del found["box"]
            inner, images = box[0], outer_extent
            found["dims"] = [inner] + [4] * (self.rank - 2) + [images]
            found["strides_bytes"] = [inner * self.element_bytes * 4**i for i in range(self.rank - 1)]
            found["im2col"] = {"lower": [-1] * (self.rank - 2), "upper": [-1] * (self.rank - 2),
                               "channels_per_pixel": inner, "pixels_per_column": 16}
        return found

    def neighbours(self):
        more = [2 * extent for extent in self.box]
        found = []
        if self.swizzle != "none" and not self.im2col:
            wide = self.box[:-1] + [2 * self.box[-1]]
            found.append(("rows longer than the swizzle", self.function(box=wide), ["no tensor map is like that"]))
        return found + [(f"{name} memref", self.function(**changed), wanted) for name, changed, wanted in [
            ("a larger", {"memref": f"memref<{'x'.join(map(str, more))}x{self.element}, {SHARED}>"}, ["copies the tensor map's box"]),
            ("a global", {"memref": self.tile().replace(SHARED, "1")}, ["is shared memory"]),
        ]] + [("a coordinate more", self.function(coordinates=self.rank + 1),
               [f"has {self.rank + 1} coordinates for a tensor map of rank {self.rank}"])]


class Load(TensorCopy):
    op = "tma.async.load"

    def extents(self, outer_extent):
        """One short of the box in every dimension but the innermost: some elements are outside, and are filled."""
        box = self.box[::-1]
        return [box[0]] + [extent - 1 for extent in box[1:]] if self.rank > 1 else [box[0] - 1]

    def coordinates(self):
        """Of CTA 0, and what CTA 1 adds, from the innermost; the first row is outside of the tensor."""
        if self.im2col:
            return [0] + [-1] * (self.rank - 2) + [0], [0] * (self.rank - 1) + [1]
        first = [0] + ([-1] + [0] * (self.rank - 2) if self.rank > 1 else [])
        return first, ([0, 1] + [0] * (self.rank - 2) if self.rank > 1 else [16 // self.element_bytes])

    def offsets(self):
        return list(range(1, self.rank - 1))

    def body(self, prefix, number):
        coordinates, step = self.coordinates()
        lines = [f"%{prefix}t = memref.view %shared[%zero][] : {{shared_type}} to {self.tile()}",
                 f"%{prefix}b = arith.constant {number} : index",
                 f"%{prefix}n = arith.constant {self.box_bytes} : index"]
        for i, (at, more) in enumerate(zip(coordinates, step)):
            lines += [f"%{prefix}f{i} = arith.constant {at} : index", f"%{prefix}m{i} = arith.constant {more} : index",
                      f"%{prefix}s{i} = arith.muli %cta, %{prefix}m{i} : index",
                      f"%{prefix}c{i} = arith.addi %{prefix}f{i}, %{prefix}s{i} : index"]
        at = ", ".join(f"%{prefix}c{i}" for i in range(self.rank))
        im2col = ""
        if self.im2col:
            lines += [f"%{prefix}w{i} = arith.constant {offset} : index" for i, offset in enumerate(self.offsets())]
            im2col = " im2col [" + ", ".join(f"%{prefix}w{i}" for i in range(self.rank - 2)) + "]"
        return lines + [
            f"nvgpu.mbarrier.arrive.expect_tx %group[%{prefix}b], %{prefix}n, predicate = %first : {{group}}",
            f"nvgpu.tma.async.load %map{number}[{at}]{im2col}, %group[%{prefix}b] to %{prefix}t, predicate = %first : "
            f"{self.map()}, {{group}} -> {self.tile()}",
            f"nvgpu.mbarrier.try_wait.parity %group[%{prefix}b], %even, %ticks : {{group}}",
            f"%{prefix}q = arith.constant {self.box_bytes // 4} : index",
            f"scf.for %i = %thread to %{prefix}q step %threads {{{{",
            f"  %word = memref.load %words[%i] : {{words_type}}",
            f"  %to = arith.addi %{prefix}o, %i : index",
            f"  memref.store %word, %out[%to] : {{out_type}}",
            "}}",
            "gpu.barrier"]

    def ptx_body(self, number):
        first, step = self.coordinates()
        lines = [f".reg .b32 %c<{self.rank}>, %bar;", ".reg .pred %done;", f"mov.u32 %bar, bars;", f"add.u32 %bar, %bar, {8 * number};"]
        lines += [f"mad.lo.s32 %c{i}, %cta, {more}, {at};" for i, (at, more) in enumerate(zip(first, step))]
        at = ", ".join(f"%c{i}" for i in range(self.rank))
        offsets = ""
        if self.im2col:
            lines.append(f".reg .b16 %w<{self.rank - 2}>;")
            lines += [f"mov.b16 %w{i}, {offset};" for i, offset in enumerate(self.offsets())]
            offsets = ", {" + ", ".join(f"%w{i}" for i in range(self.rank - 2)) + "}"
        return lines + [
            f"@%first mbarrier.arrive.expect_tx.shared::cta.b64 _, [%bar], {self.box_bytes};",
            f"@%first {self.spelling} [%shared], [%map, {{{at}}}], [%bar]{offsets};",
            "wait:", "mbarrier.try_wait.parity.shared::cta.b64 %done, [%bar], 0;", "@!%done bra wait;",
            *copy_loop("ld.shared.b32 %word, [%s];", "st.global.b32 [%g], %word;", "%out", self.box_bytes), "bar.sync 0;"]

    def function(self, memref=None, coordinates=None, box=None):
        memref = memref or self.tile(box)
        map_type = self.map(box=box or self.box)
        group = f"!nvgpu.mbarrier.group<memorySpace = {SHARED}>"
        at = ", ".join(["%i"] * (coordinates or self.rank))
        im2col = " im2col [" + ", ".join(["%i"] * (self.rank - 2)) + "]" if self.im2col else ""
        return (f"func.func @f(%m: {map_type}, %g: {group}, %t: {memref}, %i: index) {{\n"
                f"  nvgpu.tma.async.load %m[{at}]{im2col}, %g to %t : {map_type}, {group} -> {memref}\n  return\n}}")


class Store(TensorCopy):
    op = "tma.async.store"

    def extents(self, outer_extent):
        """The second dimension is one short of the box, where it is not the outermost: what is outside stays as it was."""
        box = self.box[::-1]
        dims = box[:-1] + [outer_extent]
        if self.rank > 2:
            dims[1] -= 1
        return dims

    def outer_stride(self):
        """Bytes between two of the outermost coordinate."""
        return int(np.prod(self.box[1:])) * self.element_bytes

    def body(self, prefix, number):
        lines = [f"%{prefix}t = memref.view %shared[%zero][] : {{shared_type}} to {self.tile()}",
                 f"%{prefix}q = arith.constant {self.box_bytes // 4} : index",
                 f"scf.for %i = %thread to %{prefix}q step %threads {{{{",
                 f"  %from = arith.addi %{prefix}i, %i : index",
                 f"  %word = memref.load %in[%from] : {{in_type}}",
                 f"  memref.store %word, %words[%i] : {{words_type}}",
                 "}}",
                 "nvvm.fence.proxy {{kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}}",
                 "gpu.barrier",
                 # The outermost coordinate says which part of the output.
                 f"%{prefix}x = arith.constant {self.outer_stride() // 4 or 1} : index",
                 f"%{prefix}y = arith.divui %{prefix}o, %{prefix}x : index"]
        outer = f"%{prefix}y"
        if self.outer_stride() < 4:
            lines += [f"%{prefix}z = arith.constant {4 // self.outer_stride()} : index",
                      f"%{prefix}v = arith.muli %{prefix}o, %{prefix}z : index"]
            outer = f"%{prefix}v"
        at = ", ".join(["%zero"] * (self.rank - 1) + [outer])
        return lines + [f"nvgpu.tma.async.store %{prefix}t to %map{number}[{at}], predicate = %first : {self.tile()} -> "
                        f"{self.map()}",
                        "nvvm.cp.async.bulk.commit.group", "nvvm.cp.async.bulk.wait_group 0", "gpu.barrier"]

    def ptx_body(self, number):
        at = ", ".join(["0"] * (self.rank - 1) + ["%outer"])
        return [".reg .b32 %outer;", *copy_loop("ld.global.b32 %word, [%g];", "st.shared.b32 [%s], %word;", "%in", self.box_bytes),
                "fence.proxy.async.shared::cta;", "bar.sync 0;",
                f"mad.lo.u32 %outer, %cta, {REGION_BYTES}, {self.begin_out * 4};",
                f"div.u32 %outer, %outer, {self.outer_stride()};",
                ".reg .b32 %zero;", "mov.u32 %zero, 0;",
                f"@%first {self.spelling} [%map, {{{at.replace('0', '%zero')}}}], [%shared];",
                "cp.async.bulk.commit_group;", "cp.async.bulk.wait_group 0;", "bar.sync 0;"]

    def function(self, memref=None, coordinates=None, box=None):
        memref = memref or self.tile(box)
        map_type = self.map(box=box or self.box)
        at = ", ".join(["%i"] * (coordinates or self.rank))
        return (f"func.func @f(%m: {map_type}, %t: {memref}, %i: index) {{\n"
                f"  nvgpu.tma.async.store %t to %m[{at}] : {memref} -> {map_type}\n  return\n}}")


def copy_loop(load, store, base, size):
    """The CTA's threads, each every THREADS-th word of shared memory (%s) and global memory (%g)."""
    return [".reg .b32 %i, %s, %word;", ".reg .b64 %g;", ".reg .pred %more;", "mov.u32 %i, %thread;", "copy:",
            f"setp.lt.u32 %more, %i, {size // 4};", "@!%more bra copied;", "mad.lo.u32 %s, %i, 4, %shared;", f"mad.wide.u32 %g, %i, 4, {base};", load, store,
            f"add.u32 %i, %i, {THREADS};", "bra copy;", "copied:"]


class Copies(Batch):
    unit = "CTA"

    def __init__(self, options, name, rows, ctas=2, threads=THREADS):
        super().__init__(options, name, rows, ctas, threads)
        self.shared_bytes = REGION_BYTES

    def place(self):
        for number, row in enumerate(self.rows):
            row.begin_in, row.begin_out = 0, number * self.ctas * REGION_BYTES // 4
        self.total_in = INPUT_BYTES // 4
        self.total_out = len(self.rows) * self.ctas * REGION_BYTES // 4

    def input(self):
        return np.random.default_rng(self.options.seed).integers(0, 1 << 32, self.total_in, dtype=np.uint32)

    def part(self, row, memory):
        part = memory[row.begin_out:row.begin_out + self.ctas * REGION_BYTES // 4]
        return part.reshape(self.ctas, -1)

    def byte_range(self, row):
        return row.begin_out * 4, self.ctas * REGION_BYTES

    def mlir(self):
        add = Lines()
        words = {"in_type": f"memref<{self.total_in}xi32>", "out_type": f"memref<{self.total_out}xi32>",
                 "shared_type": f"memref<?xi8, {SHARED}>", "words_type": f"memref<{REGION_BYTES // 4}xi32, {SHARED}>",
                 "group": f"!nvgpu.mbarrier.group<memorySpace = {SHARED}, num_barriers = {len(self.rows)}>"}
        add(f"gpu.module @{self.name} {{")
        maps = "".join(f",\n      %map{number}: {row.map()}" for number, row in enumerate(self.rows))
        add(f"  gpu.func @batch(%in: {words['in_type']}, %out: {words['out_type']}{maps}) kernel {{")
        add(f"    %thread = gpu.thread_id x\n    %cta = gpu.block_id x\n    %zero = arith.constant 0 : index\n"
            f"    %one = arith.constant 1 : index\n    %threads = arith.constant {self.threads} : index\n"
            f"    %rows = arith.constant {len(self.rows)} : index\n    %ticks = arith.constant 1000000 : index\n"
            f"    %even = arith.constant false\n    %first = arith.cmpi eq, %thread, %zero : index\n"
            f"    %region = arith.constant {REGION_BYTES // 4} : index\n    %mine = arith.muli %cta, %region : index\n"
            f"    %shared = gpu.dynamic_shared_memory : {words['shared_type']}\n"
            f"    %words = memref.view %shared[%zero][] : {words['shared_type']} to {words['words_type']}\n"
            f"    %group = nvgpu.mbarrier.create -> {words['group']}\n"
            f"    scf.for %i = %zero to %rows step %one {{\n"
            f"      nvgpu.mbarrier.init %group[%i], %one, predicate = %first : {words['group']}\n    }}\n"
            f"    nvvm.fence.proxy {{kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}}\n"
            f"    gpu.barrier")
        for number, row in enumerate(self.rows):
            prefix = f"r{number}_"
            add(f"    %{prefix}ob = arith.constant {row.begin_out} : index\n"
                f"    %{prefix}o = arith.addi %{prefix}ob, %mine : index\n"
                f"    %{prefix}ib = arith.constant {row.begin_in} : index\n"
                f"    %{prefix}i = arith.addi %{prefix}ib, %mine : index", row)
            for line in row.body(prefix, number):
                add("    " + line.format(**words), row)
        add("    gpu.return\n  }\n}")
        return add.lines, add.owner

    def ptx(self):
        add = Lines()
        maps = "".join(f", .param .align 64 .b8 map{number}[128]" for number in range(len(self.rows)))
        add(f".version 8.1\n.target {self.arch}\n.address_size 64\n.extern .shared .align 1024 .b8 dynamic[];\n"
            f".visible .entry batch(.param .u64 input, .param .u64 output{maps})\n{{\n"
            f"  .shared .align 8 .b64 bars[{len(self.rows)}];\n"
            f"  .reg .b32 %thread, %cta, %shared, %bar0;\n  .reg .b64 %in, %out0, %out, %map;\n  .reg .pred %first;\n"
            f"  ld.param.u64 %in, [input];\n  ld.param.u64 %out0, [output];\n"
            f"  cvta.to.global.u64 %in, %in;\n  cvta.to.global.u64 %out0, %out0;\n"
            f"  mov.u32 %thread, %tid.x;\n  mov.u32 %cta, %ctaid.x;\n  mov.u32 %shared, dynamic;\n"
            f"  setp.eq.u32 %first, %thread, 0;\n"
            f"  mad.wide.u32 %in, %cta, {REGION_BYTES}, %in;\n  mad.wide.u32 %out0, %cta, {REGION_BYTES}, %out0;\n"
            f"  mov.u32 %bar0, bars;")
        for number in range(len(self.rows)):
            add(f"  @%first mbarrier.init.shared::cta.b64 [%bar0+{8 * number}], 1;")
        add("  fence.proxy.async.shared::cta;\n  bar.sync 0;")
        for number, row in enumerate(self.rows):
            add("  {", row)
            add(f"  add.u64 %out, %out0, {row.begin_out * 4};\n  mov.b64 %map, map{number};\n"
                f"  cvta.param.u64 %map, %map;", row)
            for line in row.ptx_body(number):
                add(f"  {line}", row)
            add("  }", row)
        add("  ret;\n}")
        return add.lines, add.owner

    def program(self, suffix):
        # Maps are memory, which `lemma run` makes for a program in MLIR.
        return self.path(".mlir" if suffix == ".mlir.ptx" else suffix)

    def emitted_files(self):
        return super().emitted_files() + [self.path(f".map{number}.json") for number in range(len(self.rows))]

    def arguments(self, suffix):
        found = [f"in={self.path('.in')}", f"out={self.path(suffix + '.out')}:{self.total_out * 4}"]
        for number, row in enumerate(self.rows):
            path = self.path(f".map{number}.json")
            is_load = isinstance(row, Load)
            if is_load:
                outer = 8
            else:
                outer = self.total_out * 4 // row.outer_stride()
            path.write_text(json.dumps(row.json(0 if is_load else 1, outer)))
            found.append(f"tmap=@{path}")
        return found


def loads_and_stores(forms):
    by_spelling = {form["spelling"]: form for form in forms}
    tail = "shared::cluster.global.{}.mbarrier::complete_tx::bytes"
    load = lambda rank, mode="tile": by_spelling[f"cp.async.bulk.tensor.{rank}d." + tail.format(mode)]
    store = lambda rank: by_spelling[f"cp.async.bulk.tensor.{rank}d.global.shared::cta.tile.bulk_group"]
    loads, stores = [], []
    for rank in range(1, 6):
        for swizzle in LINE if rank > 1 else ["none"]:
            loads.append(Load(load(rank), "f16", rank, swizzle))
            stores.append(Store(store(rank), "f16", rank, swizzle))
    for element in ELEMENTS:
        for swizzle in ("none", "swizzle_128b"):
            loads.append(Load(load(2), element, 2, swizzle))
            stores.append(Store(store(2), element, 2, swizzle))
    for l2 in ("l2promo_64b", "l2promo_128b", "l2promo_256b"):
        loads.append(Load(load(2), "f16", 2, "swizzle_128b", l2=l2))
    for element in ("f16", "bf16", "f32", "tf32", "f64"):
        loads.append(Load(load(2), element, 2, "swizzle_128b", oob="nan"))
    for rank in (3, 4, 5):
        for swizzle in LINE:
            loads.append(Load(load(rank, "im2col"), "f16", rank, swizzle, im2col=True))
    # f16 of rank 2 comes twice.
    unique = lambda rows: list({(row.spelling, row.types, row.variant): row for row in rows}.values())
    return unique(loads), unique(stores)
