#!/usr/bin/env python3
"""Runs every MLIR program of this folder with one lemma binary, for a machine that has that binary, Python 3 and perhaps
a GPU, and nothing else: no build tree, no FileCheck.

usage: run_all.py LEMMA [--device cpu|cuda] [--mutants] [--timeout SECONDS] [NAME...]

Each program must do as its CHECK lines say (run.py), and on a real GPU it must also print to the letter what it prints
on the virtual GPU, addresses aside. One line for a program:

    ok      gemm_128x128x128_f16_f32           0.41 s   Correct: 16384 of 16384; Checksum: -65
    FAILED  tma_store                          0.20 s   exit status 1: ...

and a last line with the totals, `run_all: 24 of 24 programs ok on cuda`. --mutants runs the mutants too; only on the
virtual GPU, since what they do on a real one is undefined.

Exit status: 0 if all programs are ok; 1 if not, or if there was none to run.
"""

import argparse
import pathlib
import re
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import run


def output(options, name, device):
    """Returns what the program prints on that device, or what went wrong as a second value."""
    path = run.HERE / name / f"{name}.mlir"
    where = argparse.Namespace(**{**vars(options), "device": device})
    done = run.lemma_run(where, path, path.read_text())
    if done.returncode:
        return done.stdout, f"{device}: exit status {done.returncode}: {done.stdout}{done.stderr}"
    return done.stdout, run.mismatch(where, path, path.read_text(), done.stdout)


def without_addresses(text):
    return re.sub(r"base@ = 0x[0-9a-f]+", "base@ = ADDRESS", text)


def check(options, name):
    """Returns the program's output and what is wrong with it; empty if nothing is."""
    try:
        if options.device == "cpu":
            wrong = run.check_program(options, name) or (run.check_mutants(options, name) if options.mutants else "")
            return output(options, name, "cpu")[0], wrong
        there, wrong = output(options, name, options.device)
        here = "" if wrong else output(options, name, "cpu")[0]
        if not wrong and without_addresses(there) != without_addresses(here):
            wrong = f"prints something else than the virtual GPU\n{options.device}:\n{there}\ncpu:\n{here}"
        return there, wrong
    except subprocess.TimeoutExpired:
        return "", f"no end after {options.timeout} s"
    except (ValueError, OSError) as error:
        return "", str(error)


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("usage: ")[1].split("\n")[0])
    parser.add_argument("lemma")
    parser.add_argument("--device", default="cpu", choices=["cpu", "cuda"])
    parser.add_argument("--mutants", action="store_true")
    parser.add_argument("--timeout", type=float, default=60)
    parser.add_argument("names", nargs="*", metavar="NAME")
    options = parser.parse_intermixed_args()
    if options.mutants and options.device != "cpu":
        parser.error("--mutants: what a mutant does on a real GPU is undefined; leave out --device cuda")
    options.lemma = str(pathlib.Path(options.lemma).resolve())
    options.filecheck = ""
    names = options.names or sorted(path.stem for path in run.HERE.glob("*/*.mlir"))
    passed = 0
    for name in names:
        begin = time.monotonic()
        printed, wrong = check(options, name)
        seconds = time.monotonic() - begin
        said = wrong or "; ".join(printed.splitlines())
        if not wrong and len(said) > 100:
            said = said[:97] + "..."
        print(f"{'FAILED' if wrong else 'ok':6}  {name:36} {seconds:6.2f} s   {said}", flush=True)
        passed += not wrong
    print(f"run_all: {passed} of {len(names)} programs ok on {options.device}")
    return 0 if names and passed == len(names) else 1


if __name__ == "__main__":
    sys.exit(main())
