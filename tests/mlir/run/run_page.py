#!/usr/bin/env python3
"""Runs what a page of docs/ shows, so that it stays true.

A ```mlir block is a file: `NAME.mlir` stands at the end of the line of text before it. Each line of a ```sh block is a
command, of lemma, lemma-opt or python3, which must succeed in the folder of those files. A ```text block has lines of what
the command before it prints, in their order: a line of `...` stands for others, ` ... ` in one for whatever is there. A block without a language that begins
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
    program = {"lemma": lemma, "lemma-opt": str(pathlib.Path(lemma).with_name("lemma-opt")), "python3": sys.executable}[words[0]]
    return subprocess.run([program, *words[1:]], cwd=folder, capture_output=True, text=True, timeout=120)


def check_output(output, body):
    """Whether these lines are in what was printed, one after the other; and the first that is not."""
    lines = iter(line.strip() for line in output.splitlines())
    for line in body.splitlines():
        pattern = re.compile(".*".join(re.escape(part.strip()) for part in line.split("...")))
        if line.strip() != "..." and not any(pattern.fullmatch(printed) for printed in lines):
            return False, subprocess.CompletedProcess([], 0, output, f"no line is: {line}\n")
    return True, None


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
    printed = ""
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
                printed = tries[-1][1].stdout
            elif language == "text":
                results = [(body.splitlines()[0], *check_output(printed, body))]
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
