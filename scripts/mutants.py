#!/usr/bin/env python3
"""What each wait, fence and arrive of a kernel is good for: takes them out of its PTX one at a time and runs the rest.

usage: scripts/mutants.py [--lemma PROGRAM] [--expect FILE] KERNEL.ptx

The kernel runs as the first `lemma run KERNEL.ptx` in the README.md beside it says, on the virtual GPU with
--async late, which shows what is not waited for, and then --async eager, which shows what is written too early. It
must give what that command expects; a mutant's result is compared with the kernel's, with up to four seeds each, until
one shows a difference. A line of the table:

    LINE | INSTRUCTION | different bits, deadlock, another fault by its name, or same bits | CHECKED | REASON

CHECKED is what `lemma run --check` says of it: the ids of its findings and of a fault, those of notes in brackets, or "silent".
With --expect the table must be that of FILE, and each "silent" there must have a reason: why the instruction is not
missed. Exit status: 0 so; 1 not so; 2 the kernel itself does not run, gives something else, or has findings.

Taken out are mbarrier waits (the wait counts as over at once), wgmma and bulk wait_group and commit_group, all fences,
arrivals and expected bytes, cluster barriers and CTA barriers. Not taken out are copies and products themselves, and
what is not of the kernel that --entry of that command names.
"""

import argparse
import itertools
import json
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

# Statements of one line that go away as a whole.
PLAIN = re.compile(
    r"(@!?%?\w+\s+)?("
    r"wgmma\.(wait_group|commit_group|fence)|cp\.async\.(bulk\.)?(wait_group|wait_all|commit_group)|fence\.|fence\s|"
    r"membar\.|mbarrier\.(arrive|expect_tx|complete_tx)|barrier\.cluster\.(arrive|wait)|"
    r"(bar|barrier)(\.cta)?\.(sync|arrive|red))[^;]*;\s*$"
)
WAIT = re.compile(r"mbarrier\.(try|test)_wait\S*\s+([%\w]+)\s*,[^;]*;\s*$")


def mutants(lines, entry):
    """Yields (line number from 1, instruction, text of the line in the mutant)."""
    inside = entry is None
    for number, line in enumerate(lines, 1):
        if entry and re.search(r"\.entry\s", line):
            inside = bool(re.search(rf"\.entry\s+{re.escape(entry)}\b", line))
        if not inside:
            continue
        statement = line.strip()
        if wait := WAIT.match(statement):
            yield number, statement, f"setp.eq.u32 {wait[2]}, 0, 0;"
        elif PLAIN.match(statement):
            yield number, statement, ""


def command_of(kernel):
    """The words after `lemma run KERNEL.ptx` in the README.md beside it."""
    readme = (kernel.parent / "README.md").read_text()
    found = re.search(rf"^[ \t]*lemma run {re.escape(kernel.name)} ((?:.*\\\n)*.*)$", readme, re.MULTILINE)
    if not found:
        sys.exit(f"mutants: no `lemma run {kernel.name}` in the README.md beside it")
    return shlex.split(found[1].replace("\\\n", " "))


def entry_of(words):
    return words[words.index("--entry") + 1] if "--entry" in words else None


def report_of(options, ptx, out, extra):
    """What `lemma run --json` says."""
    out.unlink(missing_ok=True)
    arguments = [re.sub(r"^out=[^:]*", f"out={out}", word) for word in command_of(options.kernel)]
    command = [options.lemma, "run", str(ptx), "--json", "--deterministic", "--max-instructions", "10000000", *extra]
    done = subprocess.run(command + arguments, cwd=options.kernel.parent, capture_output=True, text=True, timeout=300)
    try:
        return json.loads(done.stdout)
    except json.JSONDecodeError:
        sys.exit(f"mutants: no report from {' '.join(command)}\n{done.stdout}{done.stderr}")


def checked(options, ptx, out, known=()):
    """What --check says: "race.proxy, (mbarrier.init)", or "silent"; without the notes that are known."""
    report = report_of(options, ptx, out, ["--check"])
    findings = report.get("findings", [])
    errors = {finding["id"] for finding in findings if finding["severity"] != "note"}
    errors |= {(report.get("fault") or {}).get("id")} - {None}
    notes = {finding["id"] for finding in findings} - errors - set(known)
    return ", ".join(sorted(errors) + [f"({note})" for note in sorted(notes)]) or "silent"


def run(options, ptx, out, mode, seed):
    """Returns (how the launch went, bytes of the result)."""
    report = report_of(options, ptx, out, ["--async", mode, "--seed", str(seed)])
    if "error" in report and "outcome" not in report:
        return "rejected: " + report["error"].get("text", ""), b""
    how = report["fault"]["kind"] if report["outcome"] == "fault" else report["outcome"]
    if how == "finished" and report["exit_status"] != 0:
        how = "different bits"
    return how, out.read_bytes() if out.exists() else b""


def verdict(options, ptx, out, want):
    for mode, seed in itertools.product(("late", "eager"), range(4)):
        how, result = run(options, ptx, out, mode, seed)
        if how != "finished":
            return how
        if result != want:
            return "different bits"
    return "same bits"


def check(path, rows):
    """Returns what is wrong with the table of the file."""
    listed = {}
    for line in pathlib.Path(path).read_text().splitlines():
        if not line or line.startswith("#"):
            continue
        number, instruction, result, checked, *reason = (part.strip() for part in line.split(" | "))
        listed[int(number), instruction] = (f"{result} | {checked}", " ".join(reason))
    wrong = []
    for number, instruction, result in rows:
        want, reason = listed.pop((number, instruction), ("nothing", ""))
        if want != result:
            wrong.append(f"line {number}, {instruction}: {result}, but {path} says {want}")
        elif result.endswith("| silent") and not reason:
            wrong.append(f"line {number}, {instruction}: silent, and {path} gives no reason")
    wrong += [f"line {number}, {instruction}: in {path}, but no such mutant" for number, instruction in listed]
    return wrong


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("usage: ")[1].split("\n")[0])
    parser.add_argument("--lemma", default=str(pathlib.Path(__file__).resolve().parent.parent / "build/bin/lemma"))
    parser.add_argument("--expect")
    parser.add_argument("kernel", type=pathlib.Path)
    options = parser.parse_args()
    options.lemma = str(pathlib.Path(options.lemma).resolve())
    options.kernel = options.kernel.resolve()

    lines = options.kernel.read_text().splitlines()
    rows = []
    with tempfile.TemporaryDirectory() as scratch:
        ptx, out = pathlib.Path(scratch) / "mutant.ptx", pathlib.Path(scratch) / "out.bin"
        ptx.write_text("\n".join(lines) + "\n")
        how, want = run(options, ptx, out, "late", 0)
        if how != "finished" or not want or verdict(options, ptx, out, want) != "same bits":
            print(f"mutants: {options.kernel} itself: {how}, or not the same with every seed", file=sys.stderr)
            return 2
        known = re.findall(r"\(([\w.-]+)\)", said := checked(options, ptx, out))
        if checked(options, ptx, out, known) != "silent":
            print(f"mutants: {options.kernel} itself: {said}", file=sys.stderr)
            return 2
        for number, instruction, replacement in mutants(lines, entry_of(command_of(options.kernel))):
            changed = lines[: number - 1] + [replacement] + lines[number:]
            ptx.write_text("\n".join(changed) + "\n")
            result = f"{verdict(options, ptx, out, want)} | {checked(options, ptx, out, known)}"
            rows.append((number, instruction, result))
            print(f"{number} | {instruction} | {result}", flush=True)
    wrong = check(options.expect, rows) if options.expect else []
    for line in wrong:
        print(f"mutants: {line}", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
