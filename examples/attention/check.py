#!/usr/bin/env python3
"""Runs both kernels for both head dimensions, causal or not, and compares every result twice: bit for bit with what an
H200 wrote (expected/), and with attention in float64.

On the virtual GPU each runs with asynchronous operations early and late, and as sm_90, whose tensor cores the recorded
bits are of.

usage: check.py [--lemma PROGRAM] [--device cpu|cuda] [--record]
  --record   write expected/ instead of comparing with it; with --device cuda, on an H200
"""

import argparse
import json
import math
import pathlib
import subprocess
import sys
import tempfile
from dataclasses import dataclass

import numpy as np

FOLDER = pathlib.Path(__file__).resolve().parent
# Weights of up to 1 are rounded to 8 (bf16) or 11 (f16) bits, V is at most 1.1. The type of the result rounds again.
ERROR = 1e-3
ROUNDOFF = {"f32": 2**-24, "f16": 2**-11, "bf16": 2**-8}


@dataclass
class Kernel:
    name: str
    inputs: str
    type: str
    sequence: int
    tile: int
    threads: int
    tiles_of_shared: int
    barriers: int


KERNELS = [
    Kernel("attention", "qkv_bf16.npy", "bf16", sequence=288, tile=128, threads=384, tiles_of_shared=5, barriers=9),
    Kernel("attention_mma", "qkv_f16.npy", "f16", sequence=200, tile=64, threads=128, tiles_of_shared=5, barriers=0),
]


@dataclass
class Case:
    kernel: Kernel
    dim: int
    causal: bool
    out: str

    @property
    def heads(self):
        return 128 // self.dim

    @property
    def name(self):
        return f"{self.kernel.name}_{self.dim}{'_causal' if self.causal else ''}_{self.out}"

    def command(self, out, record):
        """What follows `lemma run`. The result goes to the file `out`, and must be as recorded, unless `record`."""
        k = self.kernel
        smem = k.tiles_of_shared * k.tile * self.dim * 2 + k.barriers * 8
        words = [f"{k.name}.ptx", "--entry", f"{k.name}_{self.dim}"]
        words += ["--grid", f"{-(-k.sequence // k.tile)},{self.heads}", "--block", str(k.threads), "--smem", str(smem)]
        kind = "f32" if self.out == "f32" else "u16"
        args = [f"out={out}:{kind}[{self.heads},{k.sequence},{self.dim}]"]
        args += [] if record else [f"expect=expected/{self.name}.npy"]
        scale = np.float32(math.log2(math.e) / math.sqrt(self.dim))
        args += [f"u32={k.sequence}", f"u32={int(self.causal)}", f"u32={int(self.out == 'f32')}", f"f32={scale}"]
        data = f"in={k.inputs}"
        if k.name == "attention":  # the map says which --arg its memory is
            tensor_map = json.loads((FOLDER / f"qkv_{self.dim}.json").read_text()) | {"arg": k.inputs}
            (here := out.with_suffix(".json")).write_text(json.dumps(tensor_map))
            args = [f"tmap=@{here}", *args, data]
        else:
            args = [data, *args]
        return words + [word for arg in args for word in ("--arg", arg)]

    def reference(self):
        """softmax(Q * K^T / sqrt(dim)) * V in float64."""
        qkv = values(np.load(FOLDER / self.kernel.inputs), self.kernel.type)
        q, k, v = qkv.reshape(3, self.heads, self.kernel.sequence, self.dim)
        scores = q @ k.transpose(0, 2, 1) / math.sqrt(self.dim)
        if self.causal:
            scores = np.where(np.tri(self.kernel.sequence) > 0, scores, -np.inf)
        weights = np.exp(scores - scores.max(-1, keepdims=True))
        return weights / weights.sum(-1, keepdims=True) @ v


def cases():
    for kernel in KERNELS:
        yield Case(kernel, 64, False, "f32")
        yield Case(kernel, 64, True, kernel.type)
        yield Case(kernel, 128, False, kernel.type)
        yield Case(kernel, 128, True, "f32")


def values(array, kind):
    """The float64 numbers of an array of f32, or of f16 or bf16 by its bits."""
    if kind == "bf16":
        return (array.astype(np.uint32) << 16).view(np.float32).astype(np.float64)
    return array.view({"f16": np.float16, "f32": np.float32}[kind]).astype(np.float64)


def run(lemma, case, mode, folder, record):
    """Returns (whether it is right, in words how)."""
    out = folder / f"{case.name}.npy"
    out.unlink(missing_ok=True)
    command = [str(lemma), "run", *case.command(out, record), *mode]
    done = subprocess.run(command, cwd=FOLDER, capture_output=True, text=True, timeout=300)
    if done.returncode:
        return False, f"exit status {done.returncode}: {' '.join(command)}\n{done.stdout}{done.stderr}"
    got = np.load(out)
    reference = case.reference()
    error = np.abs(values(got, case.out) - reference)
    bad = ~(error <= ERROR + ROUNDOFF[case.out] * np.abs(reference))  # a NaN is bad
    if bad.any():
        return False, f"{bad.sum()} of {bad.size} elements are further than {ERROR} from float64"
    if record:
        np.save(FOLDER / "expected" / out.name, got)
    return True, f"at most {error.max():.1e} from float64"


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("usage: ")[1])
    parser.add_argument("--lemma", default=FOLDER.parent.parent / "build/bin/lemma", type=pathlib.Path)
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--record", action="store_true")
    options = parser.parse_args()
    modes = [["--device", "cuda"]]
    if options.device == "cpu":
        modes = [["--arch", "sm_90a", "--async", mode] for mode in ("eager", "late")]
    passed = failed = 0
    with tempfile.TemporaryDirectory() as scratch:
        for case in cases():
            for mode in modes:
                right, how = run(options.lemma.resolve(), case, mode, pathlib.Path(scratch), options.record)
                passed, failed = passed + right, failed + (not right)
                print(f"{case.name} {mode[-1]}: {'ok' if right else 'FAILED'}, {how}", flush=True)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
