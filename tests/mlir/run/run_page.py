#!/usr/bin/env python3
"""Runs what a page of docs/ shows, so that it stays true.

A ```mlir block is a file: `NAME.mlir` stands at the end of the line of text before it. Each line of a ```sh block is a
command, of lemma or python3, which must succeed in the folder of those files. A block without a language that begins
with NAME.mlir:LINE:COLUMN: is a message: the text before it says "With `NEW` in the file above", and NEW, for the
part of the file with the same word before " = ", must make `lemma compile` say just that.

usage: run_page.py LEMMA PAGE.md
"""

import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def run(folder, lemma, line):
    words = shlex.split(line)
    program = {"lemma": lemma, "python3": sys.executable}[words[0]]
    return subprocess.run([program, *words[1:]], cwd=folder, capture_output=True, text=True, timeout=120)


def check_message(folder, lemma, before, message):
    name = re.match(r"(\w+\.mlir):", message)[1]
    new = re.findall(r"With `([^`]*)` in the file above", before)[-1]
    path = folder / name
    text = path.read_text()
    old = re.search(re.escape(new.split(" = ")[0]) + r" = \[[^\]]*\]", text)[0]
    path.write_text(text.replace(old, new))
    done = run(folder, lemma, f"lemma compile {name}")
    path.write_text(text)
    return done.returncode == 1 and done.stderr.startswith(message), done


def main():
    lemma, page = (str(pathlib.Path(argument).resolve()) for argument in sys.argv[1:])
    text = pathlib.Path(page).read_text()
    commands = failed = 0
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)
        for block in BLOCK.finditer(text):
            language, body = block[1], block[2]
            before = text[: block.start()]
            if language == "mlir":
                (folder / re.search(r"`(\w+\.mlir)`:\s*$", before)[1]).write_text(body)
                continue
            if language == "sh":
                tries = [(line, run(folder, lemma, line)) for line in body.splitlines()]
                results = [(line, done.returncode == 0, done) for line, done in tries]
            elif re.match(r"\w+\.mlir:\d+:\d+: ", body):
                results = [(body, *check_message(folder, lemma, before, body))]
            else:
                continue
            for what, ok, done in results:
                commands += 1
                print(f"{'ok' if ok else 'FAILED'}: {what.strip()}")
                if not ok:
                    failed += 1
                    print(f"exit status {done.returncode}\n{done.stdout}{done.stderr}")
    print(f"{commands} commands, {failed} failed")
    return 0 if commands and not failed else 1


if __name__ == "__main__":
    sys.exit(main())
