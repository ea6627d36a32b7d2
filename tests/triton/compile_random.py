#!/usr/bin/env python3
"""Compiles random_kernels.py's kernels for sm_90: SEED.ptx and SEED.json (the launch) of each.

    python3 -m venv triton && triton/bin/pip install triton==3.6.0 numpy
    triton/bin/python tests/triton/compile_random.py FOLDER --first 0 --count 250

Seeds whose kernel this Triton refuses are left out, with Triton's words in refused.txt, until there are --count kernels. Needs no GPU.
"""

import argparse
import importlib.util
import json
import os
import pathlib
import re
import sys
import tempfile
import time

os.environ["TRITON_DISABLE_LINE_INFO"] = "1"  # no paths of this machine in the files
os.environ["TRITON_ALWAYS_COMPILE"] = "1"
os.environ.setdefault("TRITON_CACHE_DIR", tempfile.mkdtemp(prefix="lemma-random-triton-"))

import triton
from triton.backends.compiler import GPUTarget
from triton.backends.nvidia.compiler import CUDABackend
from triton.compiler import ASTSource

import random_kernels

TIMEOUT_S = 100
# record_random.py assembles, by several ptxas; here its time is saved.
CUDABackend.make_cubin = lambda *_: b"none"


def signature_type(argument):
    type = random_kernels.SIGNATURE[argument.type]
    return type if argument.value is not None else "*" + type


def compile(seed, folder):
    """Writes the files. What Triton refuses is an exception of its own."""
    made = random_kernels.kernel(seed)
    path = folder / f"{seed}.py"
    path.write_text(made.source)
    spec = importlib.util.spec_from_file_location(f"random_{seed}", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    signature = {a.name: signature_type(a) for a in made.arguments}
    attributes = {(i,): [["tt.divisibility", 16]] for i, a in enumerate(made.arguments) if a.divisible}
    options = {"num_warps": made.num_warps, "num_stages": made.num_stages, "enable_fp_fusion": made.fusion}
    done = triton.compile(ASTSource(module.kernel, signature, {}, attributes), target=GPUTarget("cuda", 90, 32), options=options)
    meta = done.metadata
    launch = {
        "seed": seed,
        "triton": triton.__version__,
        "entry": meta.name,
        "grid": made.grid,
        "threads": 32 * meta.num_warps,
        "shared_bytes": meta.shared,
        "scratch_bytes": meta.global_scratch_size,  # of a CTA
        "fusion": made.fusion,
        "arguments": [vars(a) for a in made.arguments],
    }
    (folder / f"{seed}.ptx").write_text(re.sub(r"\n//[^\n]*", "", done.asm["ptx"]).strip() + "\n")
    (folder / f"{seed}.json").write_text(json.dumps(launch) + "\n")


def attempt(seed, folder):
    """In a process of its own: compilers abort."""
    log = folder / f"{seed}.log"
    child = os.fork()
    if child:
        return child
    status = 1
    with open(log, "w") as stream:
        os.dup2(stream.fileno(), 1)
        os.dup2(stream.fileno(), 2)
        try:
            compile(seed, folder)
            status = 0
        except BaseException as error:
            while error.__cause__:
                error = error.__cause__
            print(f"{type(error).__name__}: {error}")
            sys.stdout.flush()
    os._exit(status)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--first", type=int, default=0, metavar="SEED")
    parser.add_argument("--count", type=int, default=250)
    parser.add_argument("--seeds", metavar="N,N,...", help="these and no others")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    seeds = iter([int(s) for s in options.seeds.split(",")] if options.seeds else range(options.first, 1 << 30))
    running, made, refused = {}, 0, []

    def start():
        wanted = options.count - made - len(running) if not options.seeds else options.jobs
        while len(running) < options.jobs and wanted > 0 and (seed := next(seeds, None)) is not None:
            running[attempt(seed, options.folder)] = (seed, time.monotonic())
            wanted -= 1

    start()
    while running:
        child, status = os.waitpid(-1, os.WNOHANG)
        if child:
            seed, _ = running.pop(child)
            log = options.folder / f"{seed}.log"
            words = log.read_text(errors="replace")
            if status == 0:
                made += 1
            else:
                refused.append((seed, words))
                for suffix in (".py", ".ptx", ".json"):
                    (options.folder / f"{seed}{suffix}").unlink(missing_ok=True)
            log.unlink(missing_ok=True)
            start()
            continue
        for child, (seed, since) in running.items():
            if time.monotonic() - since > TIMEOUT_S:
                os.kill(child, 9)
        time.sleep(0.02)
    (options.folder / "refused.txt").write_text("".join(f"== {seed}\n{words[-1500:]}\n" for seed, words in sorted(refused)))
    print(f"Triton {triton.__version__}: {made} kernels, {len(refused)} seeds refused")


if __name__ == "__main__":
    main()
