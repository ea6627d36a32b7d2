#!/usr/bin/env python3
"""What a new CUDA toolkit, or LLVM, has and Lemma has not: PTX versions, targets, words, instructions.

usage: scripts/new_ptx_version.py TOOLKIT [--build BUILD] [--llvm] [--all]

TOOLKIT is the folder of its bin/nvcc, bin/ptxas and include. The instructions are those that its headers have as inline
assembly and, with --llvm, those that llc-22 writes for the nvvm intrinsics that it knows (tests/verify/agreement); its
ptxas says where each is legal, Lemma says what it thinks (build/bin/record_agreement), and what differs is printed, an
example of a kind; --all prints all. docs/add-an-instruction.md, "The next toolkit", says what to do then. Exit status 1 if
something is new.
"""

import argparse
import collections
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
AGREEMENT = ROOT / "tests/verify/agreement"


def run(*command, given=None, env=None):
    return subprocess.run([str(word) for word in command], input=given, capture_output=True, text=True, env=env)


def newest_version(ptxas):
    """The PTX version that the assembler calls its own when it is given a later one."""
    with tempfile.NamedTemporaryFile("w", suffix=".ptx") as file:
        file.write(".version 99.0\n.target sm_90\n.address_size 64\n")
        file.flush()
        said = run(ptxas, "-arch=sm_90", file.name, "-o", os.devnull)
    return re.search(r"current version is '(\d+\.\d+)'", said.stdout + said.stderr).group(1)


def known_newest():
    return ".".join(re.search(r"kNewestVersion = \{(\d+), (\d+)\}", (ROOT / "src/isa/target.h").read_text()).groups())


def known_targets():
    targets = set()
    for row in re.split(r"^MACHINE", (ROOT / "src/isa/machines.def").read_text(), flags=re.M)[1:]:
        row = re.sub(r"\.earlier = \{[^{}]*(\{[^{}]*\}[^{}]*)*\}", "", row)
        number = re.search(r"\.sm = (\d+)", row).group(1)
        targets.update("sm_" + number + suffix
                       for field, suffix in ((".since ", ""), (".since_a", "a"), (".since_f", "f")) if field in row)
    return targets


def words():
    known = set()
    for name in ("opcodes", "qualifiers"):
        known.update(re.findall(r'"([^"]+)"', (ROOT / f"src/isa/{name}.def").read_text()))
    known.update(re.findall(r"^\w+\((\w+)", (ROOT / "src/isa/types.def").read_text(), flags=re.M))
    return known | {part for word in known for part in word.split(".")}


def places(build, mode, lines, env):
    """Instruction -> where it is legal, as record_agreement's answer has it."""
    said = run(build / "bin/record_agreement", mode, "-", given="\n".join(lines) + "\n", env=env)
    if said.returncode:
        sys.exit(said.stderr)
    where, found = "", {}
    for line in said.stdout.splitlines():
        if line.startswith("== "):
            where = line[3:]
        elif not line.startswith("#"):
            found[line] = where
    return found


def kind_of(line, unknown):
    """What one example is enough of: an opcode with the same new words, else the opcode alone."""
    parts = line.split(" ")[0].rstrip(";").split(".")
    return (parts[0], tuple(sorted(set(parts) & unknown)))


def main():
    options = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    options.add_argument("toolkit", type=pathlib.Path)
    options.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    options.add_argument("--llvm", action="store_true")
    options.add_argument("--all", action="store_true")
    given = options.parse_args()
    ptxas = given.toolkit / "bin/ptxas"

    version, known = newest_version(ptxas), known_newest()
    print(f"PTX {version}; Lemma knows up to {known}")
    new_targets = set(re.findall(r"'(sm_\d+[af]?)'", run(ptxas, "--help").stdout)) - known_targets()
    print("targets that Lemma has not:", " ".join(sorted(new_targets)) or "none")

    lines = set(run(sys.executable, AGREEMENT / "spellings_of_headers.py", given.toolkit / "bin/nvcc",
                    given.toolkit / "include").stdout.splitlines())
    if given.llvm:
        lines |= {line for line in run(sys.executable, AGREEMENT / "spellings_of_llvm.py").stdout.splitlines()
                  if not line.startswith("#")}
    unknown = {word for line in lines for word in re.sub(r"@!?%p\d ", "", line).split(" ")[0].rstrip(";").split(".")} - words()
    unknown = {word for word in unknown if not word.isdigit()}
    print("words that Lemma has not:", " ".join(sorted(unknown)) or "none")

    env = dict(os.environ, PTXAS=str(ptxas))
    theirs, ours = places(given.build, "--all", sorted(lines), env), places(given.build, "--lemma", sorted(lines), env)
    differ = collections.defaultdict(list)
    for line in sorted(lines):
        if ours[line] != theirs[line]:
            differ[kind_of(line, unknown)].append(line)
    total = sum(len(some) for some in differ.values())
    print(f"{len(lines)} instructions, of which {total} are legal elsewhere than Lemma says, in {len(differ)} kinds")
    for some in differ.values():
        for line in some if given.all else some[:1]:
            print(f"{line}  ({len(some)} of the kind)\n  Lemma: {ours[line]}\n  ptxas: {theirs[line]}")
    sys.exit(1 if new_targets or unknown or total or version != known else 0)


main()
