#!/usr/bin/env python3
"""A program that nvcc makes: the one that was recorded, if it is of the sources and words as they are, else made now.

built/ has what nvcc of CUDA 13.0 made of each, without symbols, so that programs are built in no time, and where there is no
nvcc too; index.txt says of which sources and words: a digest of both. Those whose name begins with cuda_13_5/ are of CUDA 13.5's.

usage: built.py make NAME OUTPUT --nvcc NVCC --files FILE ... -- WORD ...
       built.py is-recorded NAME --files FILE ... -- WORD ...     status 1: it is not

FILEs are those that the result depends on; WORDs are nvcc's, without -o. Both name files from this folder, where nvcc runs. What
the environment variable LEMMA_CUDA_PROGRAMS says: `anew` takes nothing from the record, `record` writes it (scripts/record_cuda.sh).
Without an NVCC, which is "" then, the record is all there is.
"""

import argparse
import fcntl
import hashlib
import lzma
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

FOLDER = pathlib.Path(__file__).resolve().parent
BUILT = FOLDER / "built"
INDEX = BUILT / "index.txt"
HEAD = ("# Made by nvcc 13.0, cuda_13_5.* by nvcc 13.5, and built.py (scripts/record_cuda.sh): NAME.xz is a program, the digest that of its\n"
        "# sources and words.\n")


def digest(files, words):
    said = hashlib.sha256("\0".join(words).encode())
    for file in files:
        content = (FOLDER / file).read_bytes()
        said.update(f"\0{len(content)}\0".encode() + content)
    return said.hexdigest()[:32]


def recorded():
    """{name: digest}"""
    if not INDEX.exists():
        return {}
    return dict(line.split() for line in INDEX.read_text().splitlines() if not line.startswith("#"))


def path_of(name):
    return BUILT / f"{name.replace('/', '.')}.xz"


def release_for(name):
    """Of the CUDA whose nvcc a program's record is made by."""
    return "13.5" if name.startswith("cuda_13_5/") else "13.0"


def record(name, program, of):
    subprocess.run(["strip", program], check=True)
    BUILT.mkdir(exist_ok=True)
    path_of(name).write_bytes(lzma.compress(program.read_bytes(), preset=9 | lzma.PRESET_EXTREME))
    with open(BUILT / ".lock", "w") as lock:  # others are recorded side by side
        fcntl.flock(lock, fcntl.LOCK_EX)
        index = {**recorded(), name: of}
        INDEX.write_text(HEAD + "".join(f"{key} {index[key]}\n" for key in sorted(index)))


def release_of(nvcc):
    found = re.search(r"release ([0-9.]+),", subprocess.run([nvcc, "--version"], capture_output=True, text=True).stdout)
    return found.group(1) if found else "unknown"


def compile_now(nvcc, words, output):
    if not shutil.which(nvcc):
        sys.exit(f"built.py: {output.name} is not recorded as it is now, and there is no nvcc ({nvcc})")
    with tempfile.TemporaryDirectory() as links:
        runtime = pathlib.Path(nvcc).resolve().parents[1] / "lib" / "libcudart.so.13"
        if runtime.exists() and not runtime.with_suffix("").exists():  # PyPI's, which nobody is to be linked with
            (pathlib.Path(links) / "libcudart.so").symlink_to(runtime)
        done = subprocess.run([nvcc, *words, "-L", links, "-o", output], cwd=FOLDER)
    if done.returncode:
        sys.exit(done.returncode)


def make(words):
    of = digest(words.files, words.words)
    how = os.environ.get("LEMMA_CUDA_PROGRAMS", "")
    if how not in ("", "anew", "record"):
        sys.exit(f"LEMMA_CUDA_PROGRAMS is {how}: legal are anew and record")
    output = pathlib.Path(words.output).resolve()
    output.parent.mkdir(parents=True, exist_ok=True)
    if recorded().get(words.name) == of and not (how and words.nvcc):
        output.unlink(missing_ok=True)  # a program that runs stays as it is
        output.write_bytes(lzma.decompress(path_of(words.name).read_bytes()))
        output.chmod(0o755)
        return
    if how == "record" and release_of(words.nvcc) != release_for(words.name):
        sys.exit(f"built.py: {words.name} is recorded by nvcc {release_for(words.name)}, and {words.nvcc} is {release_of(words.nvcc)}")
    compile_now(words.nvcc, words.words, output)
    if how == "record" and "-rdc=true" not in words.words:  # which links NVIDIA's device runtime in: not ours to keep
        record(words.name, output, of)


def main():
    arguments = sys.argv[1:]
    split = arguments.index("--") if "--" in arguments else len(arguments)
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0], usage=__doc__[__doc__.index("usage:") + 7:])
    commands = parser.add_subparsers(dest="command", required=True)
    one, other = commands.add_parser("make"), commands.add_parser("is-recorded")
    for command in (one, other):
        command.add_argument("name")
        command.add_argument("--files", nargs="+", required=True)
    one.add_argument("output")
    one.add_argument("--nvcc", required=True)
    words = parser.parse_args(arguments[:split])
    words.words = arguments[split + 1:]
    if words.command == "make":
        return make(words)
    return 0 if recorded().get(words.name) == digest(words.files, words.words) else 1


if __name__ == "__main__":
    sys.exit(main())
