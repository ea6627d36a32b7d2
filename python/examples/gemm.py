"""The GEMM for Hopper of examples/gemm_bf16: TMA, mbarriers, wgmma, a cluster; its bits are those that an H200 wrote.

usage: gemm.py [cpu | cuda [FOLDER]]     with gemm_bf16.ptx, a.npy, b.npy and expected.npy
"""

import pathlib
import sys

import numpy as np

import lemma

kind = sys.argv[1] if len(sys.argv) > 1 else "cpu"
folder = pathlib.Path(sys.argv[2] if len(sys.argv) > 2 else pathlib.Path(__file__).resolve().parents[2] / "examples/gemm_bf16")
bf16 = lemma.numpy_type("bf16")  # ml_dtypes' if it is installed, else its bits
a = np.load(folder / "a.npy").view(bf16).reshape(256, 512)
b = np.load(folder / "b.npy").view(bf16).reshape(256, 512)

gpu = lemma.Device("cuda") if kind == "cuda" else lemma.Device("cpu", arch="sm_90a", check=True)
gemm = gpu.load(folder / "gemm_bf16.ptx")["gemm_bf16"]
d = gpu.zeros((256, 256), np.float32)
report = gemm[(2, 2), 384, dict(smem=196672, cluster=2)](
    lemma.TensorMap(a, box=(128, 64), swizzle=128, type="bf16"),
    lemma.TensorMap(b, box=(64, 64), swizzle=128, type="bf16"),
    lemma.TensorMap(d, box=(64, 32), swizzle=128),
    8,
)
checked = f"races looked for in {report.checked_ctas} of 4 CTAs" if report.checked_ctas else "races not checked"
print(f"{gpu.info.name}: {1e3 * report.stats.seconds:.2f} ms, {checked}")
expected = np.load(folder / "expected.npy").view(np.uint32).reshape(256, 256)
different = int((d.numpy().view(np.uint32) != expected).sum())
if different:
    sys.exit(f"{different} of {d.size} elements are not the H200's")
print(f"all {d.size} elements have the bits of the H200")
