#!/usr/bin/env python3
"""What `--check` costs on kernels of Triton: processor time of the launch with it, in units of that without it.

The kernels are those of tests/triton/ptx, launched on more programs than there. Of each are taken, in turns, RUNS runs with
`--check` and without, and one of a single program, whose time is subtracted: starting, reading the PTX. The medians are compared.

usage: triton_check.py --lemma LEMMA [--runs 5] [--most RATIO] [NAME ...]    --most: exit status 1 if a kernel takes longer
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

import numpy as np

PTX = pathlib.Path(__file__).resolve().parent.parent / "tests" / "triton" / "ptx"


class Kernel:
    """`args`: a type with a count, and a bound of integers, is an array; "out COUNT" are zeroed bytes; else a number."""

    def __init__(self, grid, *args):
        self.grid, self.args = grid, args


ROWS, WIDE, SIDE = 2048, 256, 256
KERNELS = {
    "add.sm_90": Kernel((16384,), f"f4 {1 << 21}", f"f4 {1 << 21}", f"out {4 << 21}", "u32=2097152"),
    "softmax.sm_90": Kernel((ROWS,), f"out {ROWS * 320 * 4}", f"f4 {ROWS * 320}", "u32=320", "u32=300"),
    "layer_norm_forward.sm_90": Kernel(
        (ROWS,), f"f2 {ROWS * WIDE}", f"out {ROWS * WIDE * 2}", f"f2 {WIDE}", f"f2 {WIDE}", f"out {ROWS * 4}", f"out {ROWS * 4}",
        f"u32={WIDE}", f"u32={WIDE}", "f32=1e-5",
    ),
    "softmax_backward.sm_90": Kernel((ROWS * 2,), f"f4 {ROWS * WIDE * 2}", f"f4 {ROWS * WIDE * 2}", f"out {ROWS * WIDE * 8}"),
    "matmul.sm_80": Kernel((4,), f"f2 {SIDE * 512}", f"f2 {512 * SIDE}", f"out {SIDE * SIDE * 4}", f"u32={SIDE}", f"u32={SIDE}", "u32=512"),
    "attention.sm_80": Kernel((4, 4), *[f"f2 {4 * 256 * 64}"] * 3, f"out {4 * 256 * 64 * 4}", f"out {4 * 256 * 4}", "f32=0.125", "u32=256"),
    "row_sum.sm_90": Kernel((ROWS,), f"f4 {ROWS * 512}", f"out {ROWS * 4}", "u32=512"),
    "bincount.sm_90": Kernel((64,), f"i4 {64 * 256} 64", "out 256", f"u32={64 * 256}"),
    "embedding.sm_90": Kernel((8192,), f"f4 {1000 * WIDE}", "i4 16384 1000", f"out {16384 * WIDE * 4}", f"u32={WIDE}"),
    "cumsum.sm_90": Kernel((4096,), f"i4 {4096 * 256}", f"out {4096 * 1024}"),
    "sort.sm_90": Kernel((2048,), f"i4 {2048 * 128}", f"out {2048 * 512}"),
    "matmul_tf32.sm_90": Kernel((8, 8), f"f4 {SIDE * SIDE}", f"f4 {SIDE * SIDE}", f"out {SIDE * SIDE * 4}", f"u32={SIDE}", f"u32={SIDE}"),
    "matmul_fp8.sm_90": Kernel((4, 8), f"u1 {SIDE * 512} 120", f"u1 {SIDE * 512} 120", f"out {SIDE * SIDE * 4}", f"u32={SIDE}", "u32=512"),
    "transpose.sm_90": Kernel((32, 32), f"f2 {1 << 20}", f"out {2 << 20}", "u32=1024", "u32=1024"),
    "dropout.sm_90": Kernel((8192,), f"f4 {1 << 20}", f"out {4 << 20}", f"out {4 << 20}", "u32=7", "f32=0.25"),
    "column_argmin.sm_90": Kernel((1,), f"f4 {1 << 16}", f"out {1 << 16}"),
}  # fmt: skip


def array(words):
    """An array of a type, with so many elements, of numbers below another."""
    kind, count, *most = words.split()
    numbers = np.random.RandomState(len(words) + int(count))
    if kind[0] == "f":
        return (numbers.random_sample(int(count)) * 2 - 1).astype(kind)
    return numbers.randint(0, int(most[0]) if most else 1 << 20, int(count)).astype(kind)


def command_of(lemma, name, folder):
    """Of a kernel, but for its grid."""
    launch = json.loads((PTX.parent / "launches.json").read_text())[name]
    words = [lemma, "run", str(PTX / f"{name}.ptx"), "--block", str(launch["threads"]), "--smem", str(launch["shared_bytes"])]
    for i, arg in enumerate(KERNELS[name].args):
        if arg.startswith("out "):
            spec = f"out={os.devnull}:{arg[4:]}"
        elif "=" in arg:
            spec = arg
        else:
            path = folder / f"{name}.{i}.bin"
            array(arg).tofile(path)
            spec = f"in={path}"
        words += ["--arg", spec]
    return words + ["--arg", "buf=1048576", "--arg", "buf=16"]  # Triton's scratch memory


def seconds(command, grid, check):
    """Processor time, of all threads."""
    words = [*command, "--grid", ",".join(map(str, grid)), *(["--check", "--max-memory", "4G"] if check else [])]
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    said = process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        sys.exit(f"{' '.join(words)}\n{said.decode()}")
    return usage.ru_utime + usage.ru_stime


def ratio_of(command, grid, runs):
    """Seconds without --check, and how many times that it takes with it."""
    times = {False: [], True: []}
    for _ in range(runs):
        for check in times:
            times[check].append(seconds(command, grid, check) - seconds(command, [1] * len(grid), check))
    plain, checked = (statistics.median(times[check]) for check in (False, True))
    return plain, checked / plain


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--lemma", required=True)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--most", type=float)
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    ratios = []
    with tempfile.TemporaryDirectory(prefix="lemma-triton-check-") as folder:
        for name in options.names or KERNELS:
            plain, ratio = ratio_of(command_of(options.lemma, name, pathlib.Path(folder)), KERNELS[name].grid, options.runs)
            ratios.append(ratio)
            print(f"{name:26}  {1000 * plain:7.0f} ms  {ratio:5.1f}", flush=True)
    print(f"{'median':26}  {'':10}  {statistics.median(ratios):5.1f}")
    return 1 if options.most and max(ratios) > options.most else 0


if __name__ == "__main__":
    sys.exit(main())
