#!/usr/bin/env python3
"""Builds the wheel as `make wheel` does, installs it where PATH has no compiler, and runs the GEMM: its bits are the H200's.
With --exec, a program under `lemma exec` too, which finds all of CUDA's libraries in the wheel.

77: this Python makes no virtual environments.

usage: wheel_test.py BUILD SCRATCH [--exec]
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import zipfile

from install import ROOT, make_venv

LIBRARIES = ("libcuda.so.1", "libcudart.so.13", "libnvidia-ml.so.1", "libcublas.so.13", "libcublasLt.so.13", "libcublas.so", "libcublasLt.so", "liblemma_preload.so", "bin/nvidia-smi", "bin/ptxas", "liblemma_cute_dsl.so")
# What they may need of the machine, and nvidia-smi of the wheel.
NEEDED = re.compile(r"(libc|libm|libcuda|libcudart|libdl|libpthread|librt|ld-linux-x86-64|libnvidia-ml|libcublas|libcublasLt)\.so\.\d")
PROGRAM = """
import ctypes
cuda, nvml = ctypes.CDLL("libcuda.so.1"), ctypes.CDLL("libnvidia-ml.so.1")
name, version, device = ctypes.create_string_buffer(96), ctypes.c_int(), ctypes.c_void_p()
assert cuda.cuInit(0) == 0 and cuda.cuDeviceGetName(name, 96, 0) == 0
assert ctypes.CDLL("libcudart.so.13").cudaRuntimeGetVersion(ctypes.byref(version)) == 0 and version.value == 13000
assert ctypes.CDLL("libcublas.so.13").cublasGetVersion_v2(None, ctypes.byref(version)) == 0 and version.value == 130100
assert ctypes.CDLL("libcublasLt.so.13").cublasLtGetVersion() == 130100
assert ctypes.CDLL("libcublas.so").cublasLtGetVersion() == 130100  # as Triton opens it
print(name.value.decode())
assert nvml.nvmlInit_v2() == 0 and nvml.nvmlDeviceGetHandleByIndex_v2(0, ctypes.byref(device)) == 0
assert nvml.nvmlDeviceGetName(device, name, 96) == 0
print(name.value.decode())
"""


def missing_in(wheel):
    """What the wheel lacks of what `lemma exec` has programs find."""
    names = zipfile.ZipFile(wheel).namelist()
    return [name for name in (*LIBRARIES, "bin/triton-ptxas", "bin/triton-ptxas-blackwell", "python/sitecustomize.py") if f"lemma/lib/lemma/{name}" not in names]


def wrong_needs(folder):
    """Which of its libraries need the C++ library of this machine, say."""
    wrong = []
    for name in LIBRARIES if shutil.which("readelf") else ():
        said = subprocess.run(["readelf", "-d", "-W", folder / name], check=True, capture_output=True, text=True).stdout
        wrong += [f"{name} needs {needed}" for needed in re.findall(r"NEEDED.*\[(.*)\]", said) if not NEEDED.match(needed)]
    return wrong


def wrong_exec(python, env, scratch):
    """What is wrong with programs under the installed `lemma exec`; empty if nothing."""
    [folder] = (python.parent.parent / "lib").glob("python3*/site-packages/lemma/lib/lemma")
    wrong = wrong_needs(folder)
    for program, wanted in (
        ([python, "-c", PROGRAM], r"Lemma virtual H200\nLemma virtual H200\n"),
        (["nvidia-smi", "-L"], r"GPU 0: Lemma virtual H200 \(UUID: GPU-[0-9a-f-]{36}\)\n"),
    ):
        done = subprocess.run([python.parent / "lemma", "exec", *program], env=env, cwd=scratch, capture_output=True, text=True)
        if done.returncode or done.stderr or not re.fullmatch(wanted, done.stdout):
            wrong.append(f"{program}: {done.returncode}, {done.stdout!r}, {done.stderr!r}")
    (folder / "libcuda.so.1").rename(scratch / "libcuda.so.1")
    said = subprocess.run([python.parent / "lemma", "exec", "true"], env=env, cwd=scratch, capture_output=True, text=True).stderr
    return wrong + ([] if "pip install" in said and "cmake" not in said else [f"without the driver it says {said!r}"])


def main():
    build, scratch = sys.argv[1], pathlib.Path(sys.argv[2])
    scratch.mkdir(parents=True, exist_ok=True)
    for old in scratch.glob("*.whl"):
        old.unlink()
    how = {**os.environ, "LEMMA_BUILD": build, "LEMMA_WHEEL_LEVEL": "1"}
    made = subprocess.run([sys.executable, ROOT / "python/lemma_build.py", scratch], env=how, capture_output=True, text=True)
    print(made.stdout + made.stderr)
    wheels = list(scratch.glob("*.whl"))
    if made.returncode or len(wheels) != 1 or not re.fullmatch(r"lemma_gpu-[\d.]+-py3-none-linux_x86_64\.whl", wheels[0].name):
        return 1
    python = make_venv(scratch / "venv", "--system-site-packages")
    if not python:
        return 77
    bare = {"PATH": str(python.parent), "HOME": str(scratch)}
    for command in (
        [python, "-m", "pip", "install", "--quiet", "--no-index", "--no-deps", "--disable-pip-version-check", wheels[0]],
        [python, "-c", "import shutil; assert not any(map(shutil.which, ('cc', 'gcc', 'c++', 'cmake', 'ld')))"],
        [python.parent / "lemma", "--version"],
    ):
        subprocess.run(command, env=bare, check=True, cwd=scratch)
    gemm = [python, ROOT / "python/examples/gemm.py"]
    said = subprocess.run(gemm, env=bare, check=True, cwd=scratch, capture_output=True, text=True).stdout
    print(f"{wheels[0].name}, {wheels[0].stat().st_size >> 20} MiB: {said}")
    wrong = [] if "all 65536 elements have the bits of the H200" in said else ["the bits"]
    if "--exec" in sys.argv:
        wrong += [f"the wheel has no {name}" for name in missing_in(wheels[0])] + wrong_exec(python, bare, scratch)
    print("\n".join(wrong))
    wheels[0].unlink()
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
