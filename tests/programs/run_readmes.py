#!/usr/bin/env python3
"""Runs the `lemma run` and `lemma link` commands that the READMEs of a folder tree print, so that what they say stays true.

A command starts in an indented or fenced line with "lemma run" (or "$ lemma run"; link likewise), goes on while lines end in a
backslash, and must succeed in a copy of the README's folder. What the README says it prints is not compared. A lemma
without MLIR leaves programs in MLIR out, and says so.

usage: run_readmes.py --lemma build/bin/lemma FOLDER
"""

import argparse
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

COMMAND = re.compile(r"^[ \t]*(?:\$ )?(lemma (?:run|link) (?:.*\\\n)*.*)$", re.MULTILINE)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--lemma", required=True, type=pathlib.Path)
    parser.add_argument("folder", type=pathlib.Path)
    options = parser.parse_args()
    lemma = options.lemma.resolve()
    passed = failed = 0
    for readme in sorted(options.folder.rglob("README.md")):
        if not COMMAND.search(readme.read_text()):
            continue
        with tempfile.TemporaryDirectory() as scratch:
            copy = pathlib.Path(scratch) / readme.parent.name
            shutil.copytree(readme.parent.parent, scratch, dirs_exist_ok=True)  # it may name ../OTHER/file
            for command in COMMAND.findall(readme.read_text()):
                words = shlex.split(command.replace("\\\n", " "))
                done = subprocess.run(
                    [lemma, *words[1:]], cwd=copy, capture_output=True, text=True, timeout=120
                )
                name = f"{readme.parent.name}: {' '.join(words)}"
                if done.returncode == 0:
                    passed += 1
                    print(f"{name}: ok")
                elif done.returncode == 3 and "built without MLIR" in done.stderr:
                    print(f"{name}: left out, this lemma has no MLIR")
                else:
                    failed += 1
                    print(f"{name}: FAILED, exit status {done.returncode}\n{done.stdout}{done.stderr}")
    print(f"{passed} passed, {failed} failed")
    return 0 if passed and not failed else 1


if __name__ == "__main__":
    sys.exit(main())
