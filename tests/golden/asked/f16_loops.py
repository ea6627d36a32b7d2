#!/usr/bin/env python3
"""A product with f16 accumulators as Triton compiles it, and what it stores by which ptxas: f16_loops.csv.

    python3 f16_loops.py compile FOLDER                      with each Triton; needs no GPU
    python3 f16_loops.py run FOLDER NAME=PTXAS... jit= > f16_loops.csv    on a GPU, with numpy: NAME is for the table; jit: the driver

C is 128 x 32, of A 128 x 256 and B 32 x 256 in blocks of 64 x 32 x 64: four products of K = 64. The loop unpacks its accumulators to halves
between commit_group and wait_group, and packs them before the next product.
"""

import ctypes
import os
import pathlib
import subprocess
import sys
import tempfile

K = 256


def compile(folder):
    os.environ.update(TRITON_DISABLE_LINE_INFO="1", TRITON_ALWAYS_COMPILE="1")
    import triton
    import triton.language as tl
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    @triton.jit
    def mm(a, b, c):
        rows, columns, depth = tl.program_id(0) * 64 + tl.arange(0, 64), tl.arange(0, 32), tl.arange(0, 64)
        acc = tl.zeros((64, 32), tl.float16)
        for k in tl.range(0, 256, 64):
            x = tl.load(a + rows[:, None] * 256 + (k + depth)[None, :])
            y = tl.load(b + columns[None, :] * 256 + (k + depth)[:, None])
            acc = tl.dot(x, y, acc, out_dtype=tl.float16)
        tl.store(c + rows[:, None] * 32 + columns[None, :], acc)

    for warps in (4, 8):
        for stages in (2, 3, 4):
            source = ASTSource(mm, {p: "*fp16" for p in "abc"}, {}, {(i,): [["tt.divisibility", 16]] for i in range(3)})
            done = triton.compile(source, target=GPUTarget("cuda", 90, 32), options={"num_warps": warps, "num_stages": stages})
            # The version that Triton writes is that of its ptxas; the text needs no more than 9.0.
            text = done.asm["ptx"].replace(".version 9.4", ".version 9.0")
            (folder / f"triton_{triton.__version__}_warps_{warps}_stages_{stages}.ptx").write_text(text)


def stored(driver, image, threads):
    """What one launch stores: how many products of K = 64 are in it, "3 of 4: without 1"; or nothing that is known."""
    import itertools

    import numpy as np

    random = np.random.Generator(np.random.PCG64(1))
    a, b = random.integers(-2, 3, (128, K)).astype(np.float16), random.integers(-2, 3, (32, K)).astype(np.float16)
    c = np.full((128, 32), -1, np.float16)
    buffers = [driver.array(x.nbytes) for x in (a, b, c)] + [driver.array(16), driver.array(16)]
    for buffer, x in zip(buffers, (a, b, c)):
        driver("cuMemcpyHtoD_v2", buffer, ctypes.c_void_p(x.ctypes.data), ctypes.c_size_t(x.nbytes))
    function = driver.load({"entry": "mm", "shared_bytes": 65536}, image)
    pointers = (ctypes.c_void_p * 5)(*(ctypes.addressof(v) for v in buffers))
    driver("cuLaunchKernel", function, 2, 1, 1, threads, 1, 1, 65536, None, pointers, None)
    driver("cuCtxSynchronize")
    driver("cuMemcpyDtoH_v2", ctypes.c_void_p(c.ctypes.data), buffers[2], ctypes.c_size_t(c.nbytes))
    parts = [a[:, k : k + 64].astype(np.float64) @ b[:, k : k + 64].astype(np.float64).T for k in range(0, K, 64)]
    for count in range(4, -1, -1):
        for chosen in itertools.combinations(range(4), count):
            if (sum((parts[i] for i in chosen), np.zeros((128, 32))) == c).all():
                return "whole" if count == 4 else f"without {' '.join(str(i) for i in range(4) if i not in chosen)}"
    return "something else"


def run(folder, compilers):
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "triton"))
    from record_random import Driver

    driver = Driver()
    print("# kernel,compiler,what ptxas says,stored eight times")
    for path in sorted(folder.glob("triton_*.ptx")):
        for name, _, ptxas in (c.partition("=") for c in compilers):
            said, image = "", path.read_bytes() + b"\0"
            if ptxas:
                with tempfile.NamedTemporaryFile() as cubin:
                    done = subprocess.run([*ptxas.split(), "--gpu-name=sm_90a", path, "-o", cubin.name], capture_output=True, text=True)
                    if done.returncode:
                        continue  # an older ptxas, a newer text
                    said = " ".join(sorted({w.strip("()") for w in (done.stdout + done.stderr).split() if "(C75" in w}))
                    image = pathlib.Path(cubin.name).read_bytes()
            seen = sorted({stored(driver, image, 32 * int(path.stem.split("_")[3])) for _ in range(8)})
            print(f"{path.stem},{name},{said},{' / '.join(seen)}", flush=True)


if __name__ == "__main__":
    folder = pathlib.Path(sys.argv[2])
    compile(folder) if sys.argv[1] == "compile" else run(folder, sys.argv[3:])
