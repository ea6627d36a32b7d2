#!/usr/bin/env python3
"""Python packages of PyPI's under `lemma exec --check`, unmodified: the programs of tests/driver/clients, and two that have a race,
which is found in the line of their own source: the package compiles to a cubin, whose line tables are read.

usage: clients_test.py --lemma build/bin/lemma [NAME ...]    LEMMA_CLIENTS_PYTHON: a Python that may have the packages; else python3
"""

import json
import os
import pathlib
import shutil
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "cli"))
from cli_case import ROOT, Case, main  # noqa: E402

PYTHON = os.environ.get("LEMMA_CLIENTS_PYTHON", "") or "python3"
SKIPPED = 77

NVRTC_RACE = '''
from cuda.core import Device, LaunchConfig, Program, ProgramOptions, launch

SOURCE = """extern "C" __global__ void reverse(int* data) {
  __shared__ int tile[64];
  tile[threadIdx.x] = data[threadIdx.x];
  data[threadIdx.x] = tile[63 - threadIdx.x];
}
"""
device = Device()
device.set_current()
stream = device.create_stream()
kernel = Program(SOURCE, "c++", ProgramOptions(arch="sm_90", name="reverse.cu")).compile("cubin").get_kernel("reverse")
memory = device.memory_resource.allocate(256, stream=stream)
launch(stream, LaunchConfig(grid=1, block=64), kernel, memory)
stream.sync()
'''

NUMBA_RACE = '''import numpy as np
from numba import cuda


@cuda.jit(lineinfo=True)
def count(values, total):
    i = cuda.grid(1)
    if i < values.size and values[i] > 0.5:
        total[0] += 1


values, total = cuda.to_device(np.ones(256, np.float32)), cuda.to_device(np.zeros(1, np.int32))
count[4, 64](values, total)
cuda.synchronize()
'''

TORCH_RACE = '''import torch
import triton
import triton.language as tl

x, side = torch.ones(1024, device="cuda"), torch.cuda.Stream()


@triton.jit
def double(p, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(p + at, tl.load(p + at) * 2)


torch.cuda.synchronize()
with torch.cuda.stream(side):
    x.copy_(torch.arange(1024.0))
double[(8,)](x, BLOCK=128)
torch.cuda.synchronize()
'''

# A cooperative kernel, which nvJitLink links with NVIDIA's device runtime.
NUMBA_GRID = """import numpy as np
from numba import cuda


@cuda.jit(lineinfo=True)
def shift(values, out):
    i = cuda.grid(1)
    values[i] = i
    cuda.cg.this_grid().sync()
    out[i] = values[(i + 32) % values.size]


values, out = cuda.to_device(np.zeros(128, np.int32)), cuda.to_device(np.zeros(128, np.int32))
shift[4, 32](values, out)
assert (out.copy_to_host() == (np.arange(128) + 32) % 128).all()
"""

# The compiler reads 16 bytes at 16 of 28.
NUMBA_OVER_READ = """import numpy as np
from numba import cuda


@cuda.jit
def copy(out):
    part = cuda.shared.array(0, np.int32)
    if cuda.threadIdx.x == 0:
        for i in range(7):
            part[i] = i
    cuda.syncthreads()
    for i in range(7):
        out[i] = part[i]


out = cuda.to_device(np.zeros(7, np.int32))
copy[1, 1, 0, 28](out)
assert (out.copy_to_host() == np.arange(7)).all()
"""

TORCH_EXTENSION = """import ctypes
import os
import pathlib

import torch
from torch.utils.cpp_extension import load

source = '''#include <cuda_runtime.h>
__global__ void reverse(int* data) {
  __shared__ int tile[64];
  tile[threadIdx.x] = data[threadIdx.x];
  data[threadIdx.x] = tile[63 - threadIdx.x];
}
extern "C" void run(int* data) { reverse<<<1, 64>>>(data); }
'''
pathlib.Path("racy.cu").write_text(source)
load("racy", ["racy.cu"], build_directory=os.getcwd(), is_python_module=False, with_cuda=True)
assert "code=compute_90" in pathlib.Path("build.ninja").read_text()
x = torch.arange(64, dtype=torch.int32, device="cuda")
ctypes.CDLL(os.path.abspath("racy.so")).run(ctypes.c_void_p(x.data_ptr()))
torch.cuda.synchronize()
"""

JAX = """import jax
import jax.numpy as jnp


def outputs(weights, x):
    for w in weights[:-1]:
        x = jnp.tanh(x @ w)
    return x @ weights[-1]


@jax.jit
def step(weights, x, y):
    loss, gradients = jax.value_and_grad(lambda weights: jnp.mean((outputs(weights, x) - y) ** 2))(weights)
    return loss, [w - 0.05 * g for w, g in zip(weights, gradients)]


[device] = jax.devices()
assert device.platform == "gpu"
keys = jax.random.split(jax.random.key(0), 4)
weights = [jax.random.normal(key, shape) / shape[0] ** 0.5 for key, shape in zip(keys, ((8, 32), (32, 32), (32, 1)))]
x = jax.random.normal(keys[3], (64, 8))
y = jnp.sum(jnp.sin(x), axis=1, keepdims=True)
losses = []
for _ in range(10):
    loss, weights = step(weights, x, y)
    losses.append(float(loss))
assert losses[-1] < losses[0], losses
assert float(jax.jit(jnp.dot)(jnp.ones((128, 128)), jnp.ones((128, 128)))[0, 0]) == 128
"""

CUTE = """import cutlass
import cutlass.cute as cute
import torch
from cutlass.cute.runtime import from_dlpack


@cute.kernel
def add_kernel(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor):
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    threads, _, _ = cute.arch.block_dim()
    i = block * threads + thread
    c[i] = a[i] + b[i]


@cute.jit
def add(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor):
    add_kernel(a, b, c).launch(grid=(4, 1, 1), block=(64, 1, 1))


a, b = torch.arange(256.0).cuda(), torch.ones(256).cuda()
c = torch.empty(256, device="cuda")
add(from_dlpack(a), from_dlpack(b), from_dlpack(c))
torch.cuda.synchronize()
assert torch.equal(c.cpu(), torch.arange(256.0) + 1)
"""

# A process that has asked for the GPU by NVML alone may fork, and parent and child use it.
TORCH_FORK = '''import os
import torch

os.environ["PYTORCH_NVML_BASED_CUDA_CHECK"] = "1"
assert torch.cuda.is_available() and torch.cuda._device_count_nvml() == torch.cuda.device_count() == 1
child = os.fork()
right = torch.ones(4, device="cuda").sum().item() == 4
if child == 0:
    os._exit(0 if right else 1)
assert right and os.waitpid(child, 0)[1] == 0
[uuid] = torch.cuda._raw_device_uuid_nvml()
assert uuid == f"GPU-{torch.cuda.get_device_properties(0).uuid}"
'''

# One that has used it may not: torch says so itself, before any call of the driver.
TORCH_FORK_TOO_LATE = '''import os
import torch

torch.ones(4, device="cuda")
child = os.fork()
if child == 0:
    try:
        torch.ones(4, device="cuda")
    except RuntimeError as error:
        os._exit(0 if "Cannot re-initialize CUDA in forked subprocess" in str(error) and "spawn" in str(error) else 1)
    os._exit(2)
assert os.waitpid(child, 0)[1] == 0
'''


class Clients(Case):
    def run_client(self, path, *options):
        words = [os.path.abspath(self.lemma), "exec", "--check", *options, PYTHON, str(path)]
        return subprocess.run(words, capture_output=True, text=True, timeout=240, cwd=self.folder)

    def is_right(self, name):
        done = self.run_client(ROOT / "tests" / "driver" / "clients" / f"{name}.py")
        if done.returncode == SKIPPED:
            self.skipTest(done.stdout.strip())
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertRegex(done.stderr, r"1 process, \d+ launch.*; checked: no findings")

    def runs(self, module, text):
        """The program ends well, and nothing is found."""
        self.needs(module)
        (self.folder / "program.py").write_text(text)
        done = self.run_client("program.py")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertRegex(done.stderr, r"1 process, \d+ launch.*; checked: no findings")

    def needs(self, module):
        if subprocess.run([PYTHON, "-c", f"import {module}"], capture_output=True).returncode != 0:
            self.skipTest(f"no {module}")

    def finds(self, module, text, finding, file, lines):
        """The lines of the finding's accesses are among `lines`, and some is."""
        self.needs(module)
        (self.folder / "program.py").write_text(text)
        done = self.run_client("program.py", "--report", self.path("report.json"))
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        found = json.loads((self.folder / "report.json").read_text())["findings"]
        self.assertEqual({each["id"] for each in found}, {finding})
        for each in found:
            place = each["access"]["place"]
            self.assertEqual(os.path.basename(place["file"]), file, place)
            self.assertIn(place["line"], lines)

    def test_cuda_python(self):
        self.is_right("cuda_python")

    def test_cuda_core(self):
        self.is_right("cuda_core")

    def test_numba(self):
        self.is_right("numba_kernels")

    def test_triton(self):
        self.is_right("triton_launcher")

    def test_torch(self):
        self.needs_torch()
        words = [os.path.abspath(self.lemma), "exec", "--check", PYTHON, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
        tests = [str(each) for each in sorted((ROOT / "tests" / "torch").glob("test_*.py")) if each.name != "test_compile.py"]
        done = subprocess.run([*words, *tests], capture_output=True, text=True, timeout=900, cwd=self.folder)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("checked: no findings", done.stderr)

    def test_softmax_in_triton(self):
        """The README's example: the test passes, and the race is found in the user's line."""
        self.needs_torch()
        example, report = ROOT / "examples" / "triton_softmax", self.path("report.json")
        words = [os.path.abspath(self.lemma), "exec", "--check", "--report", report, PYTHON, "-m", "pytest", "-p", "no:cacheprovider"]
        done = subprocess.run([*words, str(example)], capture_output=True, text=True, timeout=240, cwd=self.folder)
        self.assertIn("1 passed", done.stdout)
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        [found] = json.loads(pathlib.Path(report).read_text())["findings"]
        self.assertEqual(found["id"], "race.global")
        line = (example / "softmax.py").read_text().split("\n")[found["access"]["place"]["line"] - 1]
        self.assertIn("tl.store(log_sums,", line)

    def needs_torch(self):
        if subprocess.run([PYTHON, "-c", "import torch, triton, pytest; assert torch.version.cuda"], capture_output=True).returncode != 0:
            self.skipTest("no torch with CUDA, Triton and pytest")

    def test_torch_forks_before_it_uses_the_gpu(self):
        if subprocess.run([PYTHON, "-c", "import torch; assert torch.version.cuda"], capture_output=True).returncode != 0:
            self.skipTest("no torch with CUDA")
        self.call("exec", PYTHON, "-c", TORCH_FORK)
        self.assertNotIn("child of fork", self.call("exec", PYTHON, "-c", TORCH_FORK_TOO_LATE).stderr)

    def test_race_with_torch(self):
        self.finds("torch, triton", TORCH_RACE, "stream.race", "program.py", (11,))

    def test_race_by_nvrtc(self):
        self.finds("cuda.core", NVRTC_RACE, "race.shared", "reverse.cu", (3, 4))

    def test_race_by_numba(self):
        self.finds("numba.cuda", NUMBA_RACE, "race.global", "program.py", (9,))

    def test_numba_grid_sync(self):
        self.runs("numba.cuda", NUMBA_GRID)

    def test_numba_reads_past_shared_memory(self):
        self.runs("numba.cuda", NUMBA_OVER_READ)

    def test_race_in_a_torch_extension(self):
        nvcc = os.environ.get("LEMMA_NVCC") or shutil.which("nvcc") or ""
        if not os.access(nvcc, os.X_OK) or not shutil.which("ninja"):
            self.skipTest("no nvcc, or no ninja")
        os.environ.update(CUDA_HOME=str(pathlib.Path(nvcc).parent.parent), TORCH_CUDA_ARCH_LIST="9.0")
        self.finds("torch", TORCH_EXTENSION, "race.shared", "racy.cu", (4, 5))

    def test_jax(self):
        self.runs("jax_plugins.xla_cuda13", JAX)

    def test_cute_dsl(self):
        self.runs("cutlass.cute, torch", CUTE)


if __name__ == "__main__":
    sys.exit(main(Clients, __doc__))
