#!/usr/bin/env python3
"""`lemma` with --check at every run, for the runners of tests/programs, tests/mlir/programs, tests/triton and examples: a
program without a defect has no findings, and one with a known defect has those and no others.

usage: LEMMA=build/bin/lemma with_check.py run FILE ...        as lemma
"""

import os
import pathlib
import re
import subprocess
import sys

# What is wrong with programs that others wrote, by file: the ids, and why they are right.
KNOWN = {
    # libcu++'s memcpy_async refills the tile that the threads have read, and has no proxy fence before the bulk copy.
    "cuda_barrier_sm90": {"race.proxy"},
    # Triton lets cp.async bring tiles that wgmma reads, and leaves the proxy fence out.
    "matmul.sm_90": {"race.proxy"},
    "attention.sm_90": {"race.proxy"},
    "attention_fused.sm_90": {"race.proxy"},
    "attention_causal.sm_90": {"race.proxy"},
}


def main():
    lemma, arguments = os.environ["LEMMA"], sys.argv[1:]
    if arguments[:1] != ["run"]:
        return subprocess.run([lemma, *arguments]).returncode
    done = subprocess.run([lemma, "run", "--check", *arguments[1:]], capture_output=True, text=True, errors="replace")
    sys.stdout.write(done.stdout)
    sys.stderr.write(done.stderr)
    if not re.search(r"; checked: (no findings|\d+ findings?)([,; ].*)?$", done.stderr, re.MULTILINE):
        return done.returncode or 1
    file = next(pathlib.Path(a).name for a in arguments[1:] if a.endswith((".ptx", ".mlir")))
    found = set(re.findall(r": error\[([a-z0-9]+\.[a-z-]+)\]:", done.stderr))
    known = KNOWN.get(file.removesuffix(".ptx"), set()) if found else set()
    if found == known and done.returncode == (1 if found else 0):
        return 0
    return done.returncode or 1


if __name__ == "__main__":
    sys.exit(main())
