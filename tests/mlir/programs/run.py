#!/usr/bin/env python3
"""Runs an MLIR program of this folder, host side included, and its mutants.

usage: run.py [--lemma PROGRAM] [--filecheck PROGRAM] [--device cpu|cuda] [--mutants | --reprint PROGRAM...] NAME...

NAME/NAME.mlir runs as `lemma run NAME.mlir` says in its RUN line, on the virtual GPU with asynchronous operations that
complete at once, then as late as they may; it must exit with 0, and what it prints must be what its CHECK and
CHECK-NEXT lines say. FileCheck decides; without it, literal text, {{regex}} and the order of lines are checked here.

With --reprint what PROGRAM (lemma-opt, upstream's mlir-opt) prints of it runs instead. A program that upstream cannot
read has a line `// UPSTREAM: refused: REASON`, which must be so.

With --mutants the program is changed, in one place at a time, as NAME/mutants.txt lists:

    OLD | NEW | different output, or fault[KIND] | REASON

OLD stands once in the program; an empty NEW takes it out. `different output`: the mutant runs to its end, and
its output is not what CHECK says; `fault[KIND]`: the virtual GPU stops it, with a fault of that name. A mutant that
passes is an error, and so is one that does not compile. A line `# options: WORDS` gives the mutants those further words
on the command line of `lemma run`.

Exit status: 0 if all is so; 1 if not.
"""

import argparse
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
RUN = re.compile(r"^// RUN: lemma run %s(.*) \| FileCheck %s$", re.MULTILINE)
CHECK = re.compile(r"^// CHECK(-NEXT)?: *(.*?) *$", re.MULTILINE)


def words(text):
    return shlex.split(text, comments=False)


def lemma_run(options, path, text, more=()):
    """Returns the finished process of `lemma run` on the program, with the words that its RUN line has."""
    run = RUN.search(text)
    if not run:
        raise ValueError(f"{path}: no line `// RUN: lemma run %s | FileCheck %s`")
    command = [options.lemma, "run", str(path), "--device", options.device, *words(run[1]), *more]
    return subprocess.run(command, capture_output=True, text=True, timeout=options.timeout)


def mismatch_here(checks, output):
    """What FileCheck would say, for literal text and {{regex}}."""
    lines = [" ".join(line.split()) for line in output.splitlines()]
    at = -1
    for next_line, want in checks:
        parts = re.split(r"\{\{(.*?)\}\}", " ".join(want.split()))
        pattern = re.compile("".join(part if i % 2 else re.escape(part) for i, part in enumerate(parts)))
        span = range(at + 1, min(at + 2, len(lines))) if next_line else range(at + 1, len(lines))
        at = next((i for i in span if pattern.search(lines[i])), None)
        if at is None:
            return f"expected{' on the next line' if next_line else ''}: {want}"
    return ""


def mismatch(options, path, text, output):
    """Returns why the output is not what the CHECK lines of the program say; empty if it is."""
    checks = CHECK.findall(text)
    if not checks:
        raise ValueError(f"{path}: no CHECK line, so nothing would be checked")
    if not options.filecheck:
        return mismatch_here(checks, output)
    command = [options.filecheck, str(path), "--allow-empty"]
    return subprocess.run(command, input=output, capture_output=True, text=True).stderr


def check_program(options, name):
    """Returns what is wrong; empty if the program prints what it must."""
    path = HERE / name / f"{name}.mlir"
    text = path.read_text()
    for mode in ["eager", "late"] if options.device == "cpu" else [""]:
        done = lemma_run(options, path, text, ["--async", mode] if mode else [])
        where = f"asynchronous operations {mode}: " if mode else ""
        if done.returncode:
            return f"{where}exit status {done.returncode}\n{done.stdout}{done.stderr}"
        if why := mismatch(options, path, text, done.stdout):
            return f"{where}{why}\nits output:\n{done.stdout}"
    return ""


def check_reprinted(options, name):
    """Returns what is wrong; empty if the program does the same in the words of each printer."""
    path = HERE / name / f"{name}.mlir"
    text = path.read_text()
    refused = re.search(r"^// UPSTREAM: refused: .+$", text, re.MULTILINE)
    with tempfile.TemporaryDirectory() as scratch:
        again = pathlib.Path(scratch) / f"{name}.mlir"
        for printer in options.reprint:
            printed = subprocess.run([printer, str(path)], capture_output=True, text=True)
            if refused and pathlib.Path(printer).name.startswith("mlir-opt"):
                if printed.returncode == 0:
                    return f"{printer} accepts it, but it says `{refused[0]}`"
                continue
            if printed.returncode:
                return f"{printer}: {printed.stderr}"
            again.write_text(printed.stdout)
            done = lemma_run(options, again, text)
            if done.returncode:
                return f"as {printer} prints it: exit status {done.returncode}\n{done.stdout}{done.stderr}"
            if why := mismatch(options, path, text, done.stdout):
                return f"as {printer} prints it: {why}"
    return ""


def outcome(options, path, text, more):
    done = lemma_run(options, path, text, more)
    if fault := re.search(r"fault\[[^\]]+\]", done.stderr):
        return fault[0]
    if done.returncode in (0, 1) and done.stdout and mismatch(options, path, text, done.stdout):
        return "different output"
    if done.returncode == 0:
        return "passes"
    return f"exit status {done.returncode}: {done.stdout}{done.stderr}"


def check_mutants(options, name):
    text = (HERE / name / f"{name}.mlir").read_text()
    listed = (HERE / name / "mutants.txt").read_text().splitlines()
    more = [word for line in listed if line.startswith("# options:") for word in words(line.split(":", 1)[1])]
    rows = [[part.strip() for part in line.split(" | ")] for line in listed if line and not line.startswith("#")]
    if not rows:
        return "mutants.txt lists no mutant"
    wrong = []
    with tempfile.TemporaryDirectory() as scratch:
        path = pathlib.Path(scratch) / f"{name}.mlir"
        for old, new, want, *reason in rows:
            if text.count(old) != 1:
                wrong.append(f"`{old}` stands {text.count(old)} times in the program")
                continue
            changed = text.replace(old, new)
            path.write_text(changed)
            got = outcome(options, path, changed, more)
            print(f"{name}: {old} -> {new}: {got}", flush=True)
            if got != want or not reason:
                wrong.append(f"`{old}` -> `{new}`: {got}; mutants.txt: {want}" + ("" if reason else ", no reason"))
    return "\n".join(wrong)


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("usage: ")[1].split("\n")[0])
    parser.add_argument("--lemma", default=str(HERE.parent.parent.parent / "build/bin/lemma"))
    parser.add_argument("--filecheck", default="")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--timeout", type=float, default=300)
    parser.add_argument("--mutants", action="store_true")
    parser.add_argument("--reprint", action="append", metavar="PROGRAM")
    parser.add_argument("names", nargs="+", metavar="NAME")
    options = parser.parse_args()
    check = check_mutants if options.mutants else check_reprinted if options.reprint else check_program
    failed = False
    for name in options.names:
        why = check(options, name)
        print(f"{name}: {'not so' if why else 'ok'}")
        if why:
            print(why, file=sys.stderr)
            failed = True
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
