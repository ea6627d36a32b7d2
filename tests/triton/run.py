#!/usr/bin/env python3
"""Runs the kernels of ptx/ through `lemma run` and compares what comes out with the references of cases.py.

Each file runs with asynchronous operations completing early and late. recorded.json has what an H200 gave, as
SHA-256 of each output: on the virtual GPU with the H200's arithmetic the bytes must be the same.

usage: run.py --lemma build/bin/lemma [--filter REGEX] [--keep DIR]
       run.py --lemma LEMMA --device cuda --record recorded.json   on an H200: what sm_80 and sm_90 files give
       run.py --list     the files of kernels.py, which are a test each; --small: only those of small_kernels.py
"""

import argparse
import concurrent.futures
import hashlib
import json
import pathlib
import re
import subprocess
import sys
import tempfile

try:
    import numpy as np
except ImportError:
    sys.exit("run.py: numpy is needed (Debian: python3-numpy)")

import cases
from programs import In, InOut, Value

FOLDER = pathlib.Path(__file__).resolve().parent
LAUNCHES = json.loads((FOLDER / "launches.json").read_text())
RECORDED = FOLDER / "recorded.json"
# What runs on an H200, and so has recorded bits; sm_80 code then with the H200's arithmetic.
ON_H200 = ("sm_80", "sm_90")
# Tiles that cp.async brings are multiplied by wgmma without the fence.proxy.async between that the PTX ISA asks for: Triton
# leaves it out, and the GPU gives the right product all the same. With asynchronous work completing late that must show.
WITHOUT_PROXY_FENCE = ("matmul.sm_90", "attention.sm_90", "attention_causal.sm_90", "attention_fused.sm_90")
# Where ptxas may make one fma of a multiplication and an addition, so that PTX does not say what an H200 computes: the number of
# pairs that `lemma verify` must find. A mean plus epsilon in the one that there is; it does not change these outputs.
MAY_BE_FUSED = {"layer_norm_forward_fused.sm_90": 1}
TIMEOUT_S = 240


def files():
    return [name for name in LAUNCHES if name != "triton"]


def flat(array):
    return np.ascontiguousarray(array).ravel()


def arguments(launch, case, stem):
    """(--arg SPECs, outputs: [(parameter, file, expectation)])"""
    specs, outputs = [], []
    for name in launch["parameters"]:
        if name in ("scratch", "profile"):
            ctas = int(np.prod(case.grid)) * launch["cluster"]
            specs.append(f"buf={max(launch['scratch_bytes'] * ctas, 16) if name == 'scratch' else 16}")
            continue
        argument = case.args[name]
        read, written = f"{stem}.{name}.in", f"{stem}.{name}.out"
        if isinstance(argument, Value):
            specs.append(f"{argument.type}={argument.value!r}")
            continue
        if getattr(argument, "array", None) is not None:
            flat(argument.array).tofile(read)
        if isinstance(argument, In):
            specs.append(f"in={read}")
            continue
        if getattr(argument, "array", None) is not None:
            specs.append(f"inout={read}:{written}")
        else:
            specs.append(f"out={written}:{argument.expected.nbytes}")
        outputs.append((name, written, argument))
    return specs, outputs


def compare(name, got, argument):
    """None, or what is wrong."""
    want = flat(argument.expected)
    if not isinstance(argument, cases.Close):
        bad = got.view(f"u{want.itemsize}") != want.view(f"u{want.itemsize}")
    else:
        a, b = got.astype(np.float64), want.astype(np.float64)
        with np.errstate(all="ignore"):
            near = np.abs(a - b) <= argument.absolute + argument.relative * np.abs(b)
        bad = ~(near | (a == b) | (np.isnan(a) & np.isnan(b)))
        if argument.unbounded is not None:
            bad &= ~argument.unbounded.ravel()
    if not bad.any():
        return None
    first = int(np.flatnonzero(bad)[0])
    return f"{name}: {bad.sum()} of {bad.size} elements differ, first {first}: got {got[first]!r}, want {want[first]!r}"


class Runner:
    def __init__(self, options, folder):
        self.options, self.folder = options, folder
        self.recorded = json.loads(RECORDED.read_text())["outputs"] if RECORDED.exists() else {}
        self.new = {}

    def run(self, file, extra):
        """Runs one file once; returns what is wrong with it."""
        name = file.split(".")[0]
        launch, case = LAUNCHES[file], cases.cases[name.removesuffix("_fused")]()
        specs, outputs = arguments(launch, case, self.folder / file)
        command = [
            self.options.lemma, "run", str(FOLDER / "ptx" / f"{file}.ptx"), "--device", self.options.device,
            "--grid", ",".join(map(str, case.grid)), "--block", str(launch["threads"]),
            "--smem", str(launch["shared_bytes"]), *extra,
        ]  # fmt: skip
        for spec in specs:
            command += ["--arg", spec]
        done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S, errors="replace")
        if done.returncode != 0:
            return [f"exit status {done.returncode}: {' '.join(command)}\n{(done.stderr + done.stdout)[:2000]}"]
        wrong, hashes = [], {}
        for parameter, path, argument in outputs:
            got = np.fromfile(path, flat(argument.expected).dtype)
            wrong.append(compare(parameter, got, argument))
            hashes[parameter] = hashlib.sha256(got.tobytes()).hexdigest()[:32]
        if self.options.record:
            self.new[file] = hashes
        elif file in self.recorded and hashes != self.recorded[file]:
            names = [p for p in hashes if hashes[p] != self.recorded[file].get(p)]
            wrong.append(f"not the bits of the H200: {', '.join(names)}")
        return [w for w in wrong if w]

    def verify(self, file):
        """Returns what is wrong with what `lemma verify` says of a file."""
        command = [self.options.lemma, "verify", "--json", str(FOLDER / "ptx" / f"{file}.ptx")]
        done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S)
        verdict = json.loads(done.stdout)
        wrong = [] if verdict["accepted"] else ["lemma verify rejects it"]
        found, want = len(verdict["fusions"]), MAY_BE_FUSED.get(file, 0)
        return wrong if found == want else [*wrong, f"lemma verify finds {found} pairs that may be fused, want {want}"]

    def ways(self, file):
        """The command lines' options, one for each run."""
        if self.options.device == "cuda":
            return [[]]
        arch = ["--arch", "sm_90"] if file.endswith(".sm_80") else []
        return [arch + ["--async=eager"], arch + ["--async=late"]]

    def all_ways(self, file):
        """[(options, what is wrong)]"""
        results, verdict = [], self.verify(file)
        for way in self.ways(file):
            wrong = verdict + self.run(file, way)
            if file in WITHOUT_PROXY_FENCE and "--async=late" in way:
                wrong = [] if wrong else ["the missing fence.proxy.async does not show"]
            results.append((way, wrong))
        return results


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lemma")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--filter", default="", help="only files whose name this regular expression is found in")
    parser.add_argument("--keep", metavar="DIR", help="leave inputs and outputs there")
    parser.add_argument("--record", metavar="FILE", help="write the hashes of the outputs")
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="files at a time")
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--list", action="store_true")
    options = parser.parse_args()

    chosen = [file for file in files() if re.search(options.filter, file)]
    if options.device == "cuda":
        chosen = [file for file in chosen if file.split(".")[1] in ON_H200]
    if options.small:
        chosen = [file for file in chosen if file.split(".")[0] in cases.small]
    if options.list:
        print("\n".join(file for file in chosen if file.split(".")[0] not in cases.small))
        return 0
    if not options.lemma:
        parser.error("--lemma is needed")
    passed = failed = 0
    with tempfile.TemporaryDirectory(prefix="lemma-triton-") as scratch:
        folder = pathlib.Path(options.keep or scratch)
        folder.mkdir(parents=True, exist_ok=True)
        runner = Runner(options, folder)
        with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
            for file, results in zip(chosen, pool.map(runner.all_ways, chosen)):
                for way, wrong in results:
                    passed, failed = passed + (not wrong), failed + bool(wrong)
                    print(f"{file} {' '.join(way)}: {'ok' if not wrong else 'FAILED'}", *wrong, sep="\n  ", flush=True)
    if options.record:
        record = {"gpu": "NVIDIA H200", "triton": LAUNCHES["triton"], "outputs": runner.new}
        pathlib.Path(options.record).write_text(json.dumps(record, indent=1) + "\n")
    print(f"{passed} passed, {failed} failed")
    if not chosen:
        print("run.py: nothing ran", file=sys.stderr)
    return 0 if passed and not failed else 1


if __name__ == "__main__":
    sys.exit(main())
