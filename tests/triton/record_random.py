#!/usr/bin/env python3
"""Assembles what compile_random.py has made and runs it on a GPU, by the driver API alone: what each kernel stores.

    tests/triton/record_random.py FOLDER --as triton --ptxas .../triton/backends/nvidia/bin/ptxas --to gpu.npz
    tests/triton/record_random.py FOLDER --as jit --to jit.npz          the driver compiles the PTX itself

Every kernel runs twice from the same bytes. A line names each one that fails, hangs, or does not store the same twice; --options are more of
ptxas's. Needs Linux, numpy, a driver.
"""

import argparse
import concurrent.futures
import ctypes
import os
import pathlib
import subprocess
import sys
import tempfile
import time

import numpy as np

from run_random import buffers, launches

TIMEOUT_S = 40  # of one kernel, loading included


def assemble(options, launch, folder):
    """The cubin's path, made as Triton makes it; None if ptxas refuses."""
    seed = launch["seed"]
    cubin = folder / f"{seed}.cubin"
    fused = [] if launch["fusion"] else ["--fmad=false"]
    command = [options.ptxas, *fused, *options.options.split(), "--gpu-name=sm_90a", options.folder / f"{seed}.ptx", "-o", cubin]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        print(f"{seed}: {options.ptxas}: {done.stderr[:300]}", flush=True)
        return None
    return cubin


class Driver:
    """The few calls that are needed; an error ends the process with its text."""

    def __init__(self):
        self.cuda = ctypes.CDLL("libcuda.so.1")
        context, device = ctypes.c_void_p(), ctypes.c_int()
        self("cuInit", 0)
        self("cuDeviceGet", ctypes.byref(device), 0)
        self("cuCtxCreate_v2", ctypes.byref(context), 0, device)

    def __call__(self, name, *arguments):
        status = getattr(self.cuda, name)(*arguments)
        if status:
            text = ctypes.c_char_p()
            self.cuda.cuGetErrorName(status, ctypes.byref(text))
            raise RuntimeError(f"{name}: {(text.value or b'').decode()}")

    def array(self, size):
        address = ctypes.c_uint64()
        self("cuMemAlloc_v2", ctypes.byref(address), ctypes.c_size_t(max(size, 16)))
        return address

    def load(self, launch, image):
        module, function = ctypes.c_void_p(), ctypes.c_void_p()
        self("cuModuleLoadData", ctypes.byref(module), image)
        self("cuModuleGetFunction", ctypes.byref(function), module, launch["entry"].encode())
        self("cuFuncSetAttribute", function, 8, launch["shared_bytes"])  # the most dynamic shared memory
        return function

    def run(self, launch, function):
        """{name: bytes} of one launch."""
        given, arrays = buffers(launch)
        values, made = [], []
        for argument, data in zip(given, arrays):
            if data is None:
                values.append(ctypes.c_int32(argument.value))
                continue
            made.append(self.array(data.size))
            self("cuMemcpyHtoD_v2", made[-1], ctypes.c_void_p(data.ctypes.data), ctypes.c_size_t(data.size))
            values.append(made[-1])
        for _ in range(2):  # global scratch memory, and the profiler's
            made.append(self.array(launch["scratch_bytes"] * launch["grid"]))
            values.append(made[-1])
        pointers = (ctypes.c_void_p * len(values))(*(ctypes.addressof(v) for v in values))
        self("cuLaunchKernel", function, launch["grid"], 1, 1, launch["threads"], 1, 1, launch["shared_bytes"], None, pointers, None)
        self("cuCtxSynchronize")
        for (argument, data), address in zip([p for p in zip(given, arrays) if p[1] is not None], made):
            self("cuMemcpyDtoH_v2", ctypes.c_void_p(data.ctypes.data), address, ctypes.c_size_t(data.size))
        for address in made:
            self("cuMemFree_v2", address)
        return {a.name: data for a, data in zip(given, arrays) if a.written}


def worker(work, to):
    """Runs (launch, image's path) one after the other; an error ends it, since the context has gone."""
    driver = Driver()
    for launch, path in work:
        image = path.read_bytes() + b"\0"
        try:
            function = driver.load(launch, image)
            first, second = driver.run(launch, function), driver.run(launch, function)
        except RuntimeError as error:
            print(f"{launch['seed']}: {error}", flush=True)
            (to / f"{launch['seed']}.failed").touch()
            return
        if any((first[name] != second[name]).any() for name in first):
            print(f"{launch['seed']}: not the same bytes twice", flush=True)
        np.savez(to / f"{launch['seed']}.part", **first)
        (to / f"{launch['seed']}.part.npz").rename(to / f"{launch['seed']}.npz")


def run_all(work, to):
    """A share of the kernels, in child processes: another one after each that fails or hangs."""
    while work:
        child = os.fork()
        if not child:
            try:
                worker(work, to)
            finally:
                os._exit(0)
        done, since = 0, time.monotonic()
        while os.waitpid(child, os.WNOHANG)[0] == 0:
            time.sleep(0.05)
            now = sum((to / f"{l['seed']}.npz").exists() for l, _ in work)
            if now > done:
                done, since = now, time.monotonic()
            elif time.monotonic() - since > TIMEOUT_S:
                os.kill(child, 9)
        left = [(l, p) for l, p in work if not (to / f"{l['seed']}.npz").exists()]
        failed = [(l, p) for l, p in left if (to / f"{l['seed']}.failed").exists()]
        if left and not failed:
            print(f"{left[0][0]['seed']}: hangs, or ends the process", flush=True)
            failed = left[:1]
        work = [pair for pair in left if pair not in failed]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--as", dest="how", choices=("triton", "jit"), required=True)
    parser.add_argument("--ptxas", default="ptxas")
    parser.add_argument("--options", default="")
    parser.add_argument("--to", required=True)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    options = parser.parse_args()
    os.environ["CUDA_CACHE_DISABLE"] = "1"
    chosen = launches(options.folder)
    with tempfile.TemporaryDirectory(prefix="lemma-random-") as scratch:
        to = pathlib.Path(scratch)
        with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
            if options.how == "triton":
                images = list(pool.map(lambda launch: assemble(options, launch, to), chosen))
            else:
                images = [options.folder / f"{launch['seed']}.ptx" for launch in chosen]
        work = [(launch, image) for launch, image in zip(chosen, images) if image]
        # Processes, not threads: each has a context, and may lose it.
        children = []
        for job in range(options.jobs):
            if not (child := os.fork()):
                try:
                    run_all(work[job :: options.jobs], to)
                finally:
                    os._exit(0)
            children.append(child)
        for child in children:
            os.waitpid(child, 0)
        outputs = {f"{p.stem}.{name}": array for p in to.glob("*.npz") for name, array in np.load(p).items()}
        np.savez_compressed(options.to, **outputs)
        print(f"{len(list(to.glob('*.npz')))} of {len(chosen)} kernels recorded")


if __name__ == "__main__":
    sys.exit(main())
