#!/usr/bin/env python3
"""The programs of samples/ at the sizes that the samples of CUDA have, under `lemma exec`: which are right, and how long each takes.

Prints a line a program: seconds, seconds of all processors, the launches' warp instructions by `--stats`. The exit status
is 1 where one was wrong; one that takes longer than 20 s is marked, and no failure: docs/exec.md says which do.

usage: samples.py --lemma LEMMA [--nvcc NVCC] [--folder FOLDER] [NAME ...]
       --folder: where the programs are made, and kept
"""

import argparse
import json
import pathlib
import resource
import subprocess
import sys
import tempfile
import time

SOURCES = pathlib.Path(__file__).resolve().parent / "samples"
FORMS = ["f16", "s8", "bf16", "tf32", "f64"]  # of tensor_core_gemm
LIMIT_SECONDS = 20


def runs():
    """[(name, source, arguments)]"""
    for source in sorted(SOURCES.glob("*.cu")):
        if source.stem == "tensor_core_gemm":
            yield from ((f"{source.stem}.{form}", source, [form]) for form in FORMS)
        else:
            yield source.stem, source, []


def compiled(source, nvcc, folder):
    program = folder / source.stem
    if not program.exists() or program.stat().st_mtime < source.stat().st_mtime:
        subprocess.run([nvcc, "-O2", "-std=c++20", "-cudart", "shared", "-lineinfo", "-gencode", "arch=compute_90,code=compute_90", source,
                        "-o", program], check=True)
    return program


def processor_seconds():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--lemma", required=True)
    parser.add_argument("--nvcc", default="nvcc")
    parser.add_argument("--folder", type=pathlib.Path)
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    scratch = tempfile.TemporaryDirectory()
    folder = options.folder or pathlib.Path(scratch.name)
    folder.mkdir(parents=True, exist_ok=True)
    report = pathlib.Path(scratch.name) / "report.json"
    wrong = []
    for name, source, arguments in runs():
        if options.names and name not in options.names:
            continue
        program = compiled(source, options.nvcc, folder)
        begin, used = time.monotonic(), processor_seconds()
        done = subprocess.run([options.lemma, "exec", "--report", report, program, *arguments], capture_output=True, text=True)
        seconds, used = time.monotonic() - begin, processor_seconds() - used
        instructions = sum(k.get("warp_instructions", 0) for k in json.loads(report.read_text()).get("kernels", []))
        late = "  longer than 20 s" if seconds > LIMIT_SECONDS else ""
        print(f"{name:24} {seconds:8.2f} s {used:8.2f} s of processors {instructions / 1e9:8.3f} G warp instructions{late}", flush=True)
        if done.returncode:
            wrong.append(name)
            print(done.stdout + done.stderr)
    print(f"wrong: {', '.join(wrong)}" if wrong else "all right")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
