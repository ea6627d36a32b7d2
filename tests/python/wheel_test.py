#!/usr/bin/env python3
"""Builds the wheel as `make wheel` does, installs it where PATH has no compiler, and runs the GEMM: its bits are the H200's.

77: this Python makes no virtual environments.

usage: wheel_test.py BUILD SCRATCH
"""

import os
import pathlib
import re
import subprocess
import sys

from install import ROOT, make_venv


def main():
    build, scratch = sys.argv[1], pathlib.Path(sys.argv[2])
    scratch.mkdir(parents=True, exist_ok=True)
    for old in scratch.glob("*.whl"):
        old.unlink()
    how = {**os.environ, "LEMMA_BUILD": build, "LEMMA_WHEEL_LEVEL": "1"}
    made = subprocess.run([sys.executable, ROOT / "python/lemma_build.py", scratch], env=how, capture_output=True, text=True)
    print(made.stdout + made.stderr)
    wheels = list(scratch.glob("*.whl"))
    if made.returncode or len(wheels) != 1 or not re.fullmatch(r"lemma_gpu-[\d.]+-py3-none-linux_x86_64\.whl", wheels[0].name):
        return 1
    python = make_venv(scratch / "venv", "--system-site-packages")
    if not python:
        return 77
    bare = {"PATH": str(python.parent), "HOME": str(scratch)}
    for command in (
        [python, "-m", "pip", "install", "--quiet", "--no-index", "--no-deps", "--disable-pip-version-check", wheels[0]],
        [python, "-c", "import shutil; assert not any(map(shutil.which, ('cc', 'gcc', 'c++', 'cmake', 'ld')))"],
        [python.parent / "lemma", "--version"],
    ):
        subprocess.run(command, env=bare, check=True, cwd=scratch)
    gemm = [python, ROOT / "python/examples/gemm.py"]
    said = subprocess.run(gemm, env=bare, check=True, cwd=scratch, capture_output=True, text=True).stdout
    print(f"{wheels[0].name}, {wheels[0].stat().st_size >> 20} MiB: {said}")
    wheels[0].unlink()
    return 0 if "all 65536 elements have the bits of the H200" in said else 1


if __name__ == "__main__":
    sys.exit(main())
