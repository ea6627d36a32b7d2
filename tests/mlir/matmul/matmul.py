"""linalg.matmul through the whole compiler, on the virtual GPU: matmul.py LEMMA CASE; --list prints the cases.

Entries are whole numbers so small that every sum is exact in every order, so that numpy owes the same bits. Sizes are
mostly such that tiles stick out of the matrices. A product's program is written here, run by `lemma run`, and its result
compared by it.
"""
import argparse
import pathlib
import re
import subprocess
import sys
import tempfile

import numpy as np

ELEMENT = {"f16": "f2", "bf16": "u2", "f32": "f4", "f64": "f8", "i32": "i4", "i8": "i1", "f8E4M3FN": "u1", "f8E5M2": "u1"}
FILE_TYPE = {"bf16": "u16", "i32": "s32", "f16": "f16", "f32": "f32", "f64": "f64"}


def stored(values, element):
    """Whole numbers as elements lie in memory."""
    if element == "bf16":
        return (values.astype("f4").view("u4") >> 16).astype("u2")
    if element.startswith("f8"):  # the upper byte of a f16 is an e5m2; e4m3 has one bit of the exponent less
        half = values.astype("f2").view("u2")
        if element == "f8E5M2":
            return (half >> 8).astype("u1")
        sign, rest = half >> 8 & 0x80, half & 0x7FFF
        return (sign | np.where(rest == 0, 0, (rest >> 7) - (8 << 3))).astype("u1")
    return values.astype(ELEMENT[element])


def program(shape, ab, c, order, adds=False, batch=None, dynamic=False, unsigned=False, shared=False):
    m, n, k = (("?",) * 3) if dynamic else shape
    outer = "" if batch is None else "?x" if dynamic else f"{batch}x"
    a_type = f"memref<{outer}{k}x{m}x{ab}>" if order[0] == "T" else f"memref<{outer}{m}x{k}x{ab}>"
    b_outer = "" if shared else outer
    b_type = f"memref<{b_outer}{n}x{k}x{ab}>" if order[1] == "T" else f"memref<{b_outer}{k}x{n}x{ab}>"
    c_type = f"memref<{outer}{m}x{n}x{c}>"
    i = "" if batch is None else "i, "
    a_map, b_map = "k, m" if order[0] == "T" else "m, k", "n, k" if order[1] == "T" else "k, n"
    zero = "0" if c.startswith("i") else "0.0"
    fill = f"linalg.fill ins(%zero : {c}) outs(%c : {c_type})" if not adds else ""
    return f"""func.func @main(%a: {a_type}, %b: {b_type}, %c: {c_type}) {{
  %zero = arith.constant {zero} : {c}
  {fill}
  linalg.{"matmul" if batch is None else "batch_matmul"}
      indexing_maps = [affine_map<({i}m, n, k) -> ({i}{a_map})>, affine_map<({i}m, n, k) -> ({"" if shared else i}{b_map})>,
                       affine_map<({i}m, n, k) -> ({i}m, n)>]
      {"{cast = #linalg.type_fn<cast_unsigned>}" if unsigned else ""} ins(%a, %b : {a_type}, {b_type}) outs(%c : {c_type})
  return
}}
"""


def run(lemma, shape, ab="f16", c=None, order="NN", adds=False, flags=(), batch=None, dynamic=False, unsigned=False, shared=False):
    """One product; True if all is as it should be."""
    c = c or ab
    m, n, k = shape
    entries = np.random.default_rng(m * 7919 + n * 31 + k)
    outer = () if batch is None else (batch,)
    low, high = (0, 256) if unsigned else (-3, 4)
    a, b = entries.integers(low, high, (*outer, m, k)), entries.integers(low, high, (k, n) if shared else (*outer, k, n))
    before = entries.integers(-9, 10, (*outer, m, n)) if adds else np.zeros((*outer, m, n), int)
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        source = folder / "matmul.mlir"
        source.write_text(program(shape, ab, c, order, adds, batch, dynamic, unsigned, shared))
        arrays = {
            "a": stored(a.swapaxes(-1, -2) if order[0] == "T" else a, ab),
            "b": stored(b.swapaxes(-1, -2) if order[1] == "T" else b, ab),
            "c": stored(before, c),
            "want": stored(a @ b + before, c),
        }
        for name, array in arrays.items():
            np.save(folder / name, np.ascontiguousarray(array))
        result = f"inout={folder}/c.npy:{folder}/d.npy" if adds else f"out={folder}/d.npy:{FILE_TYPE[c]}[{','.join(map(str, (*outer, m, n)))}]"
        words = [f"in={folder}/a.npy", f"in={folder}/b.npy", result, f"expect={folder}/want.npy"]
        if "--check" in flags:
            flags = (*flags, "--notes")
        command = [lemma, "run", source, *flags] + [word for argument in words for word in ("--arg", argument)]
        done = subprocess.run(command, capture_output=True, text=True)
    what = f"{'' if batch is None else f'{batch} of '}{m}x{n}x{k} {ab} -> {c} {order}{' added' if adds else ''}{' dynamic' if dynamic else ''} {' '.join(flags)}"
    if done.returncode != 0:
        print(f"{what}: status {done.returncode}\n{done.stdout}{done.stderr}")
        return False
    # A move of a register whose product runs is a note, or a line without the checker: ptxas would make the products wait for
    # each other. No other notes are owed either.
    said = done.stdout + done.stderr
    if "wgmma.inflight" in said or ("--check" in flags and "note" in said):
        print(f"{what}: it runs, but\n{said}")
        return False
    # A program that the compiler leaves to the host has no launch.
    if not re.search(r"[1-9][0-9]* launch", done.stdout + done.stderr):
        print(f"{what}: nothing was launched\n{done.stdout}{done.stderr}")
        return False
    return True


def chain(batch, m, n, k):
    """A batch, scaled by a number, with a bias in place, a residual by an operation with a name, and a relu to f16."""
    x = "" if batch is None else "?x"
    a, c, d, bias = f"memref<{x}?x?xf16>", f"memref<{x}?x?xf32>", f"memref<{x}?x?xf16>", "memref<?xf32>"
    dims = "i, j" if batch is None else "b, i, j"
    same, column = f"affine_map<({dims}) -> ({dims})>", f"affine_map<({dims}) -> (j)>"
    loops = ", ".join(['"parallel"'] * len(dims.split(", ")))
    op, first = ("matmul", 0) if batch is None else ("batch_matmul", 1)
    sizes = "%m, %n" if batch is None else "%batch, %m, %n"
    return f"""func.func @main(%a: {a}, %b: {a}, %bias: {bias}, %residual: {c}, %scale: f32, %d: {d}) {{
  %c0 = arith.constant 0 : index
  %row = arith.constant {first} : index
  %column = arith.constant {first + 1} : index
  %batch = memref.dim %a, %c0 : {a}
  %m = memref.dim %a, %row : {a}
  %n = memref.dim %b, %column : {a}
  %zero = arith.constant 0.0 : f32
  %sums = memref.alloc({sizes}) : {c}
  linalg.fill ins(%zero : f32) outs(%sums : {c})
  linalg.{op} ins(%a, %b : {a}, {a}) outs(%sums : {c})
  linalg.generic {{indexing_maps = [{column}, {same}], iterator_types = [{loops}]}} ins(%bias : {bias}) outs(%sums : {c}) {{
  ^bb0(%y: f32, %x: f32):
    %scaled = arith.mulf %x, %scale : f32
    %z = arith.addf %scaled, %y : f32
    linalg.yield %z : f32
  }}
  %more = memref.alloc({sizes}) : {c}
  linalg.add ins(%sums, %residual : {c}, {c}) outs(%more : {c})
  memref.dealloc %sums : {c}
  linalg.generic {{indexing_maps = [{same}, {same}], iterator_types = [{loops}]}} ins(%more : {c}) outs(%d : {d}) {{
  ^bb0(%x: f32, %old: f16):
    %y = arith.maximumf %x, %zero : f32
    %z = arith.truncf %y : f32 to f16
    linalg.yield %z : f16
  }}
  memref.dealloc %more : {c}
  return
}}
"""


def fused(lemma, batch, m, n, k, flags=(), kernels=1):
    entries = np.random.default_rng(n)
    outer = () if batch is None else (batch,)
    a, b = entries.integers(-2, 3, (*outer, m, k)), entries.integers(-2, 3, (*outer, k, n))
    bias, residual = entries.integers(-2, 3, n), entries.integers(-9, 10, (*outer, m, n))
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        (folder / "chain.mlir").write_text(chain(batch, m, n, k))
        for name, array in {"a": a.astype("f2"), "b": b.astype("f2"), "bias": bias.astype("f4"), "residual": residual.astype("f4")}.items():
            np.save(folder / name, array)
        np.save(folder / "want", np.maximum(a @ b * 2.5 + bias + residual, 0).astype("f4").astype("f2"))
        words = [f"in={folder}/{name}.npy" for name in ("a", "b", "bias", "residual")] + ["f32=2.5"]
        words += [f"out={folder}/d.npy:f16[{','.join(map(str, (*outer, m, n)))}]", f"expect={folder}/want.npy"]
        command = [lemma, "run", folder / "chain.mlir", *flags] + [word for argument in words for word in ("--arg", argument)]
        done = subprocess.run(command, capture_output=True, text=True)
    launches = (batch or 1) * kernels
    launches = f"{launches} launches" if launches > 1 else "1 launch"
    if done.returncode != 0 or launches not in done.stdout + done.stderr:
        print(f"fused {batch} of {m}x{n}x{k}: status {done.returncode}\n{done.stdout}{done.stderr}")
        return False
    return True


def layer(m, n, k, dynamic):
    """Two layers on tensors, the first with bias and relu by operations that have names; what is added to is kept."""
    a, b, c, v = (f"tensor<{'?x?' if dynamic else shape}x{t}>" for shape, t in ((f"{m}x{k}", "f16"), (f"{k}x{n}", "f16"), (f"{m}x{n}", "f32"), (f"{n}x{n}", "f16")))
    h = c.replace("f32", "f16")
    bias = f"tensor<{'?' if dynamic else n}xf32>"
    sizes = "(%m, %n)" if dynamic else "()"
    return f"""func.func @main(%a: {a}, %b: {b}, %bias: {bias}, %v: {v}, %sums: {c}) -> ({c}, {h}) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %m = tensor.dim %a, %c0 : {a}
  %n = tensor.dim %b, %c1 : {b}
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty{sizes} : {c}
  %zeros = linalg.fill ins(%zero : f32) outs(%empty : {c}) -> {c}
  %product = linalg.matmul ins(%a, %b : {a}, {b}) outs(%zeros : {c}) -> {c}
  %rows = linalg.broadcast ins(%bias : {bias}) outs(%empty : {c}) dimensions = [0]
  %biased = linalg.add ins(%product, %rows : {c}, {c}) outs(%empty : {c}) -> {c}
  %positive = linalg.max ins(%biased, %zeros : {c}, {c}) outs(%empty : {c}) -> {c}
  %narrow = arith.truncf %positive : {c} to {h}
  %result = linalg.matmul ins(%narrow, %v : {h}, {v}) outs(%sums : {c}) -> {c}
  return %result, %narrow : {c}, {h}
}}
"""


def tensors(lemma, m, n, k, dynamic, flags=()):
    entries = np.random.default_rng(m)
    a, b, v = entries.integers(-2, 3, (m, k)), entries.integers(-2, 3, (k, n)), entries.integers(-2, 3, (n, n))
    bias, sums = entries.integers(-2, 3, n), entries.integers(-9, 10, (m, n))
    hidden = np.maximum(a @ b + bias, 0)
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        (folder / "layer.mlir").write_text(layer(m, n, k, dynamic))
        arrays = {"a": a.astype("f2"), "b": b.astype("f2"), "bias": bias.astype("f4"), "v": v.astype("f2"), "sums": sums.astype("f4")}
        for name, array in arrays.items():
            np.save(folder / name, array)
        np.save(folder / "want", (hidden @ v + sums).astype("f4"))
        np.save(folder / "hidden", hidden.astype("f2"))
        words = [f"in={folder}/{name}.npy" for name in ("a", "b", "bias", "v")]
        words += [f"inout={folder}/sums.npy:{folder}/kept.npy", f"expect={folder}/sums.npy"]
        words += [f"out={folder}/d.npy:f32[{m},{n}]", f"expect={folder}/want.npy"]
        words += [f"out={folder}/h.npy:f16[{m},{n}]", f"expect={folder}/hidden.npy"]
        command = [lemma, "run", folder / "layer.mlir", *flags] + [word for argument in words for word in ("--arg", argument)]
        done = subprocess.run(command, capture_output=True, text=True)
    # Two products and no more kernels: whatever is elementwise is in the first.
    if done.returncode != 0 or "2 launches" not in done.stdout + done.stderr:
        print(f"tensors {m}x{n}x{k}{' dynamic' if dynamic else ''}: status {done.returncode}\n{done.stdout}{done.stderr}")
        return False
    return True


def run_program(lemma, source, arrays, shape, flags=()):
    """What a program makes of arrays, its last argument: f32 of that shape. None, and a message, if it fails."""
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        (folder / "program.mlir").write_text(source)
        command = [lemma, "run", folder / "program.mlir", *flags]
        for name, array in arrays.items():
            np.save(folder / name, array)
            command += ["--arg", f"in={folder}/{name}.npy"]
        command += ["--arg", f"out={folder}/out.npy:f32[{','.join(map(str, shape))}]"]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0 or not re.search(r"[1-9][0-9]* launch", done.stdout + done.stderr):
            print(f"status {done.returncode}\n{done.stdout}{done.stderr}")
            return None
        return np.load(folder / "out.npy")


def rounds_to_tf32(lemma, flags=()):
    """Times one, a matrix is what tf32 has of it: to nearest, ties to even."""
    a = np.random.default_rng(3).standard_normal((64, 32)).astype("f4")
    a.view("u4")[0, :4] = (0x3F801000, 0x3F803000, 0x3F800FFF, 0x3F801001)  # ties, and their neighbours
    bits = a.view("u4").astype("u8")
    want = (bits + 0xFFF + (bits >> 13 & 1) & ~np.uint64(0x1FFF)).astype("u4")
    got = run_program(lemma, program((64, 32, 32), "f32", "f32", "NT", False), {"a": a, "b": np.eye(32, dtype="f4")},
                      (64, 32), ("--allow-tf32", *flags))
    return got is not None and np.array_equal(got.view("u4"), want)


def activated(function, out):
    """tanh or silu of (0 + a matrix), in f32 or by way of it."""
    body = {
        "tanh": "%y = math.tanh %v : f32",
        "silu": """%minus = arith.negf %v : f32
    %e = math.exp %minus : f32
    %d = arith.addf %e, %one : f32
    %y = arith.divf %v, %d : f32""",
    }[function]
    narrow, result = ("", "%y") if out == "f32" else (f"%n = arith.truncf %y : f32 to {out}", "%n")
    return f"""#same = affine_map<(i, j) -> (i, j)>
func.func @main(%a: memref<64x8xf16>, %b: memref<8x1024xf16>, %x: memref<64x1024xf32>, %wide: memref<64x1024xf32>) {{
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  %sums = memref.alloc() : memref<64x1024xf32>
  %made = memref.alloc() : memref<64x1024x{out}>
  linalg.fill ins(%zero : f32) outs(%sums : memref<64x1024xf32>)
  linalg.matmul ins(%a, %b : memref<64x8xf16>, memref<8x1024xf16>) outs(%sums : memref<64x1024xf32>)
  linalg.generic {{indexing_maps = [#same, #same, #same], iterator_types = ["parallel", "parallel"]}}
      ins(%sums, %x : memref<64x1024xf32>, memref<64x1024xf32>) outs(%made : memref<64x1024x{out}>) {{
  ^bb0(%sum: f32, %at: f32, %old: {out}):
    %v = arith.addf %sum, %at : f32
    {body}
    {narrow}
    linalg.yield {result} : {out}
  }}
  linalg.generic {{indexing_maps = [#same, #same], iterator_types = ["parallel", "parallel"]}}
      ins(%made : memref<64x1024x{out}>) outs(%wide : memref<64x1024xf32>) {{
  ^bb0(%value: {out}, %old: f32):
    {"%w = arith.extf %value : " + out + " to f32" if out != "f32" else "%w = arith.addf %value, %zero : f32"}
    linalg.yield %w : f32
  }}
  memref.dealloc %made : memref<64x1024x{out}>
  memref.dealloc %sums : memref<64x1024xf32>
  return
}}
"""


def is_close(lemma, function, out, units):
    """Off by at most so many units in the last place of f32, or of the type that the kernel stores: docs/matmul.md."""
    signs = np.random.default_rng(4).choice((-1, 1), (64, 1024))
    x = (signs * np.logspace(-6, 1.4, 64 * 1024).reshape(64, 1024)).astype("f4")
    zeros = {"a": np.zeros((64, 8), "f2"), "b": np.zeros((8, 1024), "f2"), "x": x}
    got = run_program(lemma, activated(function, out), zeros, x.shape)
    if got is None:
        return False
    exact = x.astype("f8")
    exact = np.tanh(exact) if function == "tanh" else exact / (1 + np.exp(-exact))
    last = np.exp2(np.floor(np.log2(np.abs(exact))) - {"f32": 23, "bf16": 7, "f16": 10}[out])
    if out == "f16":
        last = np.maximum(last, 2.0**-24)
    worst = np.max(np.abs(got - exact) / last)
    print(f"{function} to {out}: off by at most {worst:.2f} units in the last place")
    return worst <= units


def schedules(lemma):
    """Their names, as the message about one that is not there has them."""
    with tempfile.NamedTemporaryFile("w", suffix=".mlir") as source:
        source.write(program((64, 64, 64), "f16", "f16", "NN"))
        source.flush()
        wrong = subprocess.run([lemma, "compile", source.name, "--schedule", "none"], capture_output=True, text=True)
    return re.search(r"there are (.*)", wrong.stderr).group(1).split(", ")


def wgmma_schedules(lemma):
    return [name for name in schedules(lemma) if re.match("[0-9]", name)]


def each_schedule(lemma, flags=()):
    names = [name for name in schedules(lemma) if not name.startswith("tcgen05")]
    assert len(names) >= 4, names
    # K in more steps than any ring has stages: consumers take turns.
    return all([run(lemma, (300, 300, 460), flags=("--matmul-schedule", name, *flags)) for name in names])


CASES = {
    "types": lambda lemma: all(
        [
            run(lemma, (200, 136, 72), "f16", "f16"),
            run(lemma, (200, 136, 72), "f16", "f32"),
            run(lemma, (136, 264, 200), "bf16", "bf16"),
            run(lemma, (136, 264, 200), "bf16", "f32"),
            run(lemma, (72, 300, 176), "i8", "i32"),
            run(lemma, (72, 300, 176), "i8", "i32", unsigned=True),
            run(lemma, (72, 296, 144), "f8E4M3FN", "f32", "NT"),
            run(lemma, (72, 296, 144), "f8E5M2", "bf16", "NT"),
            run(lemma, (72, 300, 100), "f32", "f32", "NT", flags=("--allow-tf32",)),
        ]
    ),
    "orders": lambda lemma: all(
        [
            run(lemma, (152, 280, 104), ab, c, order, flags=("--allow-tf32",))
            for ab, c in (("bf16", "bf16"), ("i8", "i32"), ("f32", "f32"))
            for order in ("NN", "NT", "TN", "TT")
        ]
    ),
    # Rows that no tensor map takes, fewer than a tile, and none to spare.
    "edges": lambda lemma: all(
        [run(lemma, shape, ab, c) for shape in ((1, 1, 1), (7, 5, 3), (129, 257, 65)) for ab, c in (("f16", "f16"), ("i8", "i32"))]
    ),
    "added": lambda lemma: all(
        [run(lemma, (130, 51, 33), "f16", "f32", adds=True), run(lemma, (64, 64, 64), "i8", "i32", adds=True)]
    ),
    # With and without a tensor map for each matrix of the batch.
    "batch": lambda lemma: all(
        [
            run(lemma, (72, 40, 24), "bf16", "bf16", batch=3),
            run(lemma, (30, 21, 17), "f16", "f32", "TT", batch=2, flags=("--check",)),
            run(lemma, (30, 21, 17), "i8", "i32", "NN", batch=2),
        ]
    ),
    # Sizes that the run brings, in both orders; rows with and without a tensor map.
    "dynamic": lambda lemma: all(
        [
            run(lemma, (72, 136, 40), "bf16", "bf16", "NT", dynamic=True, flags=("--check", "--async=late")),
            run(lemma, (7, 5, 3), "f16", "f32", "TN", dynamic=True),
            run(lemma, (31, 17, 67), "i8", "i32", "NN", dynamic=True),
            run(lemma, (31, 17, 0), "f16", "f32", "TT", dynamic=True),
            run(lemma, (30, 21, 17), "f16", "f32", dynamic=True, adds=True),
            run(lemma, (30, 21, 17), "f16", "f32", "NT", dynamic=True, batch=3, flags=("--check", "--async=late")),
            run(lemma, (16, 8, 24), "f16", "f16", dynamic=True, batch=2, adds=True),
            run(lemma, (9, 13, 10), "f16", "f32", dynamic=True, batch=3, shared=True),
        ]
    ),
    "fused": lambda lemma: fused(lemma, None, 39, 23, 17, ("--check", "--async=late")) and fused(lemma, 2, 18, 24, 9),
    "fused_parts": lambda lemma: fused(lemma, None, 39, 24, 300, ("--matmul-schedule", "128x128_s6_k2", "--check"), kernels=2),
    "tensors": lambda lemma: tensors(lemma, 40, 21, 19, False)
    and tensors(lemma, 21, 24, 17, True, ("--check", "--async=late")),
    "tf32": rounds_to_tf32,
    "activations": lambda lemma: all(
        [
            is_close(lemma, "tanh", "f32", 2),
            is_close(lemma, "tanh", "bf16", 0.6),
            is_close(lemma, "tanh", "f16", 0.6),
            is_close(lemma, "silu", "bf16", 0.6),
        ]
    ),
    # K in parts: of two rows each a CTA's, with C's old elements, with rows that no TMA stores, by itself where K is deep.
    "parts": lambda lemma: all(
        [
            run(lemma, (150, 100, 500), "f16", "f16", flags=("--matmul-schedule", "128x128_s6_k4", "--check")),
            run(lemma, (70, 51, 333), "i8", "i32", adds=True, flags=("--matmul-schedule", "128x128_s6_k2")),
            run(lemma, (70, 51, 333), "bf16", "f32", "TT", flags=("--matmul-schedule", "128x128_s6_k8")),
            run(lemma, (33, 70, 5000), "i8", "i32", "NT"),
        ]
    ),
    # More tiles than multiprocessors: results stay in registers until the next tile is multiplied.
    "held": lambda lemma: all(
        [run(lemma, (4500, 1000, 40), "f16", "f32", flags=("--matmul-schedule", name)) for name in wgmma_schedules(lemma)]
        + [
            run(lemma, (8600, 264, 230), "f32", "f32", "NT", flags=("--allow-tf32",)),
            run(lemma, (8600, 260, 900), "i8", "i32", "NT", dynamic=True),
            run(lemma, (8600, 264, 330), "f16", "f16", flags=("--check", "--async=late")),
            run(lemma, (8600, 260, 10), "f16", "f32", "TT", flags=("--check", "--async=late")),
            fused(lemma, None, 8600, 264, 17),
        ]
    ),
    "schedules": each_schedule,
    "checked": lambda lemma: each_schedule(lemma, ("--check", "--async=late")),
}


def main(cases):
    """Runs the case of the command line, or lists them."""
    parser = argparse.ArgumentParser()
    parser.add_argument("lemma", nargs="?")
    parser.add_argument("case", nargs="?", choices=cases)
    parser.add_argument("--list", action="store_true")
    options = parser.parse_args()
    if options.list:
        print("\n".join(cases))
        return 0
    return 0 if cases[options.case](options.lemma) else 1


if __name__ == "__main__":
    sys.exit(main(CASES))
