#!/usr/bin/env python3
"""What `make build` makes: the tool, with MLIR lemma-opt too, the library for upstream's MLIR tools, and CUDA's libraries.

usage: tools_test.py BUILD EXPECTED...    the files, relative to BUILD; exit status 77 if BUILD is none of Ninja's
"""

import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


def main(build, *expected):
    ninja = shutil.which("ninja")
    if not ninja or not (pathlib.Path(build) / "build.ninja").exists():
        print("tree.tools: skipped, this is no build by Ninja")
        return 77
    asked = subprocess.run(["make", "-n", "build"], cwd=ROOT, capture_output=True, text=True).stdout
    target = re.search(r"^cmake --build \S+ --target (\S+)", asked, re.MULTILINE)
    if not target:
        print(f"`make build` names no target:\n{asked}")
        return 1
    made = subprocess.run([ninja, "-C", build, "-t", "query", target[1]], capture_output=True, text=True).stdout.split()
    missing = [path for path in expected if path not in made]
    if missing:
        print(f"`make build` makes no {', '.join(missing)}: {made}")
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
