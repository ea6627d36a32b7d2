#!/usr/bin/env python3
"""Runs random kernels in Lemma, and compares with what a GPU stored.

    tests/triton/run_random.py --lemma build/bin/lemma      those of random/, with asynchronous work completing early and late: a test
    PYTHONPATH=build/python tests/triton/run_random.py FOLDER --compare FILE
        what compile_random.py has made: by default, late, and in 3 schedules. FILE: what record_random.py wrote, or random/h200.txt, which
        has a digest of each kernel that was recorded
    ... --compare GPU.npz --keep 1,2,3      puts these seeds into random/, and digests of all into random/h200.txt

Each kernel that does not store the same bytes is a line; the last line counts.
"""

import argparse
import hashlib
import json
import pathlib
import subprocess
import sys
import tempfile
import time

import numpy as np

import random_kernels

KEPT = pathlib.Path(__file__).resolve().parent / "random"
TIMEOUT_S = 100
WAYS = {"default": {}, "late": {"async_": "late"}, "explore": {"explore": 3}}


def launches(folder):
    """[the .json of each kernel], by seed."""
    return sorted((json.loads(p.read_text()) for p in pathlib.Path(folder).glob("*.json") if p.stem.isdigit()), key=lambda l: l["seed"])


def buffers(launch):
    """(Arguments, the bytes of each that is a buffer, else None)"""
    given = [random_kernels.Argument(**a) for a in launch["arguments"]]
    return given, [None if a.value is not None else random_kernels.data(launch["seed"], i, a) for i, a in enumerate(given)]


def run(gpu, launch, ptx, options):
    """The bytes of what the kernel may write, by name. Errors: lemma's."""
    given, arrays = buffers(launch)
    kernel = gpu.load(ptx, name=f"{launch['seed']}.ptx")[launch["entry"]]
    values = [a.value if array is None else array for a, array in zip(given, arrays)]
    hidden = len(kernel.parameters) - len(values)
    values += [gpu.zeros(max(launch["scratch_bytes"] * launch["grid"], 16), np.uint8) for _ in range(hidden)]
    kernel[launch["grid"], launch["threads"], dict(smem=launch["shared_bytes"], **options)](*values)
    return {a.name: array for a, array in zip(given, arrays) if a.written}


def difference(launch, got, want):
    """What differs, in words; empty if nothing does."""
    types, words = {a["name"]: a["type"] for a in launch["arguments"]}, []
    for name in got:
        bytes = random_kernels.BYTES[types[name]]
        a, b = got[name].view(f"u{bytes}"), want[name].view(f"u{bytes}")
        bad = np.flatnonzero(a != b)
        if bad.size:
            words.append(f"{name} {types[name]}: {bad.size} of {a.size}, [{bad[0]}] {int(a[bad[0]]):#x} not {int(b[bad[0]]):#x}")
    return "; ".join(words)


def digest(array):
    return hashlib.sha256(array.tobytes()).hexdigest()[:32]


def digest_of_all(outputs):
    """Of {name: bytes}."""
    return digest(np.concatenate([outputs[name] for name in sorted(outputs)]))


class Recorded:
    """What a GPU stored: arrays, or digests."""

    def __init__(self, path):
        self.arrays, self.digests = {}, {}
        if path.endswith(".npz"):
            for key, array in np.load(path).items():
                seed, name = key.split(".")
                self.arrays.setdefault(int(seed), {})[name] = array
            self.digests = {seed: digest_of_all(outputs) for seed, outputs in self.arrays.items()}
        else:
            lines = [line.split() for line in open(path) if not line.startswith("#")]
            self.digests = {int(seed): value for seed, _, value in lines if value != "fault"}

    def compare(self, launch, got):
        """What differs, in words; empty if nothing does."""
        seed = launch["seed"]
        if seed in self.arrays:
            return difference(launch, got, self.arrays[seed])
        return "" if self.digests.get(seed) == digest_of_all(got) else "not the bits of the H200"


def keep(folder, seeds, recorded, wrong):
    """Copies kernels to random/, with digests of what the GPU stored. `wrong`: of each, the ways in which Lemma stored something else."""
    KEPT.mkdir(exist_ok=True)
    path = KEPT / "recorded.json"
    kept = {l["seed"]: l for l in json.loads(path.read_text())} if path.exists() else {}
    for launch in launches(folder):
        seed = launch["seed"]
        if seed not in seeds:
            continue
        text = (folder / f"{seed}.ptx").read_text()
        (KEPT / f"{seed}.ptx").write_text(f"// Triton {launch['triton']}, tests/triton/random_kernels.py, seed {seed}\n{text}")
        outputs = {name: digest(array) for name, array in recorded.arrays[seed].items()}
        kept[seed] = {**launch, "outputs": outputs, "late_shows_undefined": "late" in wrong.get(seed, ())}
    lines = [json.dumps(kept[seed]) for seed in sorted(kept)]
    path.write_text("[\n " + ",\n ".join(lines) + "\n]\n")
    rows = [f"{l['seed']} {l['triton']} {recorded.digests.get(l['seed'], 'fault')}\n" for l in launches(folder)]
    (KEPT / "h200.txt").write_text("# seed, Triton, digest of all that an H200 stored; fault: an illegal instruction\n" + "".join(rows))


def by_command_line(lemma, launch, options):
    """What is wrong with a run of random/SEED.ptx by `lemma run`; None if nothing is."""
    given, arrays = buffers(launch)
    ptx = KEPT / f"{launch['seed']}.ptx"
    with tempfile.TemporaryDirectory(prefix="lemma-random-") as folder:
        folder, specs = pathlib.Path(folder), []
        for argument, array in zip(given, arrays):
            if array is None:
                specs.append(f"s32={argument.value}")
                continue
            array.tofile(folder / argument.name)
            specs.append(f"inout={folder / argument.name}:{folder / argument.name}.out" if argument.written else f"in={folder / argument.name}")
        specs += [f"buf={max(launch['scratch_bytes'] * launch['grid'], 16)}", "buf=16"]  # global scratch memory, the profiler's
        command = [lemma, "run", str(ptx), "--grid", str(launch["grid"]), "--block", str(launch["threads"])]
        command += ["--smem", str(launch["shared_bytes"]), *options, *(word for spec in specs for word in ("--arg", spec))]
        done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S, errors="replace")
        if done.returncode != 0:
            return f"exit status {done.returncode}: {' '.join(command)}\n{(done.stderr + done.stdout)[:2000]}"
        got = {name: digest(np.fromfile(folder / f"{name}.out", np.uint8)) for name in launch["outputs"]}
    bad = [name for name in got if got[name] != launch["outputs"][name]]
    return f"not the bits of the H200: {', '.join(bad)}" if bad else None


def replay(lemma):
    """The exit status."""
    passed = failed = 0
    for launch in json.loads((KEPT / "recorded.json").read_text()):
        for way in ("--async=eager", "--async=late"):
            wrong = by_command_line(lemma, launch, [way])
            if launch["late_shows_undefined"] and way == "--async=late":
                wrong = None if wrong and wrong.startswith("not the bits") else "what the PTX ISA leaves undefined does not show"
            passed, failed = passed + (not wrong), failed + bool(wrong)
            if wrong:
                print(f"{launch['seed']} {way}: {wrong}")
    print(f"{passed} passed, {failed} failed")
    return 0 if passed and not failed else 1


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path, nargs="?")
    parser.add_argument("--lemma")
    parser.add_argument("--compare", metavar="FILE")
    parser.add_argument("--only", metavar="SEED,...")
    parser.add_argument("--ways", default=",".join(WAYS))
    parser.add_argument("--keep", metavar="SEED,...", default="")
    options = parser.parse_args()
    if options.lemma:
        return replay(options.lemma)
    if not options.folder or not options.compare:
        parser.error("--lemma, or a folder and --compare, is needed")
    import lemma

    recorded, outcome, ran = Recorded(options.compare), {}, 0
    for launch in launches(options.folder):
        seed = launch["seed"]
        if options.only and str(seed) not in options.only.split(","):
            continue
        ptx, wrong = (options.folder / f"{seed}.ptx").read_text(), {}
        begin = time.monotonic()
        for way in options.ways.split(","):
            if way == "explore" and not any(word in ptx for word in ("async", "atom", "red.")):
                continue
            try:
                with lemma.Device("cpu", arch="sm_90a") as gpu:
                    got = run(gpu, launch, ptx, WAYS[way])
            except lemma.Error as error:
                if isinstance(error, lemma.Fault) and seed not in recorded.digests:  # there it was an illegal instruction, too
                    continue
                wrong[way] = f"{type(error).__name__}: {str(error)[:600]}"
                continue
            if words := recorded.compare(launch, got):
                wrong[way] = words
        ran += 1
        if wrong:
            outcome[seed] = wrong
            took = time.monotonic() - begin
            print(f"{seed} ({took:.1f} s): " + "\n    ".join(f"{way}: {words}" for way, words in wrong.items()), flush=True)
    if options.keep:
        keep(options.folder, {int(seed) for seed in options.keep.split(",")}, recorded, outcome)
    print(f"{ran} kernels, {len(outcome)} wrong")
    return 1 if outcome or not ran else 0


if __name__ == "__main__":
    sys.exit(main())
