#!/usr/bin/env python3
"""Makes a fresh virtual environment and has pip install Lemma there from the checkout, with what its tests need from PyPI.

Without PyPI: with the numpy that this Python has, and nothing else. 77: this Python makes no virtual environments (Debian:
python3-venv).

usage: install.py BUILD VENV
"""

import os
import pathlib
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]


def make_venv(venv, *options):
    """A fresh one; None if this Python makes none."""
    shutil.rmtree(venv, ignore_errors=True)
    done = subprocess.run([sys.executable, "-m", "venv", *options, venv], capture_output=True, text=True)
    if done.returncode:
        print(f"SKIPPED: {sys.executable} -m venv: {done.stdout}{done.stderr}")
    return None if done.returncode else pathlib.Path(venv) / "bin" / "python"


def pip(python, *arguments, **environment):
    command = [python, "-m", "pip", "install", "--disable-pip-version-check", "--quiet", *arguments]
    return subprocess.run(command, cwd=ROOT, env={**os.environ, **environment}, capture_output=True, text=True)


def main():
    build, venv = sys.argv[1:]
    python = make_venv(venv)
    if not python:
        return 77
    # What CMake has built already; large files are not worth packing well.
    how = {"LEMMA_BUILD": build, "LEMMA_WHEEL_LEVEL": "1"}
    needed = pip(python, "--retries", "0", "--timeout", "10", "numpy", "ml_dtypes", "pytest")
    if needed.returncode:
        print(f"no PyPI, so without ml_dtypes and pytest: {needed.stderr.strip().splitlines()[-1]}")
        python = make_venv(venv, "--system-site-packages")
    done = pip(python, "--no-index", "--no-deps" if needed.returncode else ".[test]", ".", **how)
    print(done.stdout + done.stderr)
    if done.returncode:
        return 1
    shown = [python, "-c", "import lemma; print(lemma.__version__, lemma.__file__)"]
    found = subprocess.run(shown, cwd=venv, capture_output=True, text=True)
    print(found.stdout + found.stderr)
    return 0 if "site-packages" in found.stdout else 1


if __name__ == "__main__":
    sys.exit(main())
