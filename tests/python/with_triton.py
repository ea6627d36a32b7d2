#!/usr/bin/env python3
"""Runs test_triton.py by the first Python that has Triton and numpy: LEMMA_TRITON_PYTHON, that of the virtual environment or of
conda, those in PATH, and those of virtual environments in the checkout. 77: none has.

usage: with_triton.py PACKAGES     where the package lemma is
"""

import glob
import os
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]


def candidates():
    """In the order in which they are tried, each once."""
    found = [os.environ.get("LEMMA_TRITON_PYTHON")]
    for folder in (os.environ.get("VIRTUAL_ENV"), os.environ.get("CONDA_PREFIX")):
        found.append(folder and f"{folder}/bin/python")
    for folder in os.environ.get("PATH", "").split(os.pathsep):
        found += [f"{folder}/python3", *sorted(glob.glob(f"{glob.escape(folder)}/python3.[0-9]*"))]
    found += [ROOT / name / "bin" / "python" for name in (".venv", "venv", "env")]
    seen = set()
    for each in found:
        if each and (path := os.path.realpath(each)) not in seen and os.access(each, os.X_OK) and "config" not in str(each):
            # A virtual environment's python is a link to another's.
            seen.add(path if not os.path.exists(f"{os.path.dirname(each)}/../pyvenv.cfg") else str(each))
            yield str(each)


def main():
    tried = 0
    for python in candidates():
        tried += 1
        probe = [python, "-c", "import triton, numpy, sys; print(triton.__version__, 'of', sys.executable)"]
        try:
            done = subprocess.run(probe, capture_output=True, text=True, timeout=60)
        except (OSError, subprocess.TimeoutExpired):
            continue
        if done.returncode == 0:
            print("Triton", done.stdout, end="", flush=True)
            environment = {**os.environ, "PYTHONPATH": sys.argv[1]}
            return subprocess.run([python, HERE / "run_tests.py", "test_triton"], env=environment).returncode
    print(f"SKIPPED: none of {tried} Pythons has Triton and numpy; LEMMA_TRITON_PYTHON may name one that has")
    return 77


if __name__ == "__main__":
    sys.exit(main())
