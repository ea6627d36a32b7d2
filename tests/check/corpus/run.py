#!/usr/bin/env python3
"""Runs the planted bugs of bugs.py under `lemma run --check`, and their correct twins: each bug must be found, with the id and at a line
that its row names, and no twin may have a finding.

A bug is an edit of the PTX of a kernel of bases.py; the kernel itself is the twin of all its bugs. Where ptxas is,
it must assemble bug and twin.

usage: run.py --lemma build/bin/lemma [--filter REGEX] [--jobs N] [--shard I/N] [--keep DIR] [--times N]
       run.py --list       one line a bug: its name, kernel and id
       run.py --show KERNEL   its instructions with their tags
       run.py --counts     bugs and kernels of each id
       run.py --check-edits [--keep DIR]   without lemma: can each edit be made, and does ptxas take it?
       run.py --lemma LEMMA --lint   what `lemma verify --lint` finds without a run: at least LEAST_BY_LINT bugs, no twin
"""

import argparse
import collections
import concurrent.futures
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import bases
import bugs
import edit

FOLDER = pathlib.Path(__file__).resolve().parent
LEAST_BY_LINT = 60
TIMEOUT_S = 60
MOST_INSTRUCTIONS = 200_000  # of a warp; far more than any of these kernels executes


class Text:
    """The PTX of a kernel, and what it is like with a bug in it."""

    def __init__(self, base):
        self.base = base
        source = base.ptx.with_suffix(".cu")
        self.lines = edit.lines_of(base.ptx.read_text(), source.read_text() if source.exists() else None)

    def with_edits(self, edits):
        return edit.edited(self.lines, edits)


def text_of(lines):
    return "\n".join(line.text for line in lines)


class Runner:
    def __init__(self, options, folder):
        self.options, self.folder = options, folder
        self.texts = {}
        self.data = {}
        self.ptxas = shutil.which(options.ptxas)

    def text(self, name):
        if name not in self.texts:
            self.texts[name] = Text(bases.bases[name])
        return self.texts[name]

    def arguments(self, base, stem):
        """The command line's --arg options of a launch. Inputs are files, the same for all runs."""
        specs = []
        for i, argument in enumerate(base.args):
            spec = argument.spec
            if argument.data is not None:
                path = self.folder / f"{base.name}.{i}.in"
                if path not in self.data:
                    path.write_bytes(argument.data)
                    self.data[path] = True
                spec = spec.replace("FILE", str(path))
            specs += ["--arg", spec.replace("OUT", f"{stem}.{i}.out")]
        return specs

    def lemma(self, base, ptx, extra):
        """The JSON that `lemma run --check` prints."""
        command = [
            self.options.lemma,
            "run",
            str(ptx),
            "--check",
            "--json",
            "--max-instructions",
            str(MOST_INSTRUCTIONS),
        ]
        command += ["--grid", base.grid, "--block", base.block, *extra, *base.options]
        command += self.arguments(base, ptx.with_suffix(""))
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S, errors="replace")
            return json.loads(done.stdout), " ".join(command)
        except subprocess.TimeoutExpired:
            return {"error": f"no end after {TIMEOUT_S} s"}, " ".join(command)
        except json.JSONDecodeError:
            return {"error": (done.stdout + done.stderr)[:500]}, " ".join(command)

    def assembles(self, ptx, target):
        """None, or what ptxas says."""
        if not self.ptxas:
            return None
        done = subprocess.run(
            [self.ptxas, "-c", "-O0", f"-arch={target}", ptx, "-o", os.devnull], capture_output=True, text=True
        )
        return f"ptxas: {done.stderr.strip()[:300]}" if done.returncode else None

    def write(self, name, lines):
        path = self.folder / f"{name}.ptx"
        path.write_text(text_of(lines))
        return path, re.search(r"^\.target\s+(\w+)", path.read_text(), re.M)[1]


def findings_of(report, with_notes=False):
    """(id, PTX lines that it names, lines of a .cu that it names, how it reads) of each finding, and of a fault with an id."""
    rows = []
    for finding in [*report.get("findings", []), report.get("fault") or {}]:
        if "id" not in finding or (finding.get("severity", "error") != "error" and not with_notes):
            continue
        sides = [(finding.get(side) or {}).get("place") for side in ("access", "earlier")]
        places = [place for place in [*sides, finding.get("place")] if place and "ptx_line" in place]
        lines = [place["ptx_line"] for place in places]
        sources = {place["line"] for place in places if "line" in place}
        rows.append((finding["id"], lines, sources, f"{finding['id']} {finding.get('message', '')} at lines {lines}"))
    return rows


def said(report):
    if "error" in report:
        return str(report["error"])
    rows = [row[-1] for row in findings_of(report)]
    if report.get("fault"):
        fault = report["fault"]
        rows.append(
            f"fault {fault.get('kind', '')} {fault.get('message', '')} {(fault.get('place') or {}).get('ptx_line', '')}"
        )
    if not rows:
        rows.append(
            report.get("outcome", "") + " " + " ".join(d.get("message", "") for d in report.get("diagnostics", []))
        )
    return "; ".join(rows)


def is_found(bug, lines, report):
    """Is there a finding of the bug's id that names a line of each of its selectors, and for a .cu a source line too?"""
    wanted = []
    for selectors in bug.at:
        found = {i + 1 for selector in selectors.split(" | ") for i in edit.select(lines, selector)}
        if not found:
            raise edit.Wrong(f"{selectors!r} names no line of the edited PTX")
        wanted.append(found)
    from_source = bases.bases[bug.base].made_by == "nvcc"
    return any(
        id in (bug.id, *bug.others) and all(set(named) & w for w in wanted) and (sources or not from_source)
        for id, named, sources, _ in findings_of(report, bug.is_note)
    )


def modes(options, by_default):
    """Command-line options of the runs of a bug: the default run for what that must find, else --explore 8."""
    if not options.can_explore:
        return [[]]
    return [[]] if by_default else [["--explore", "8"]]


def run_bug(runner, bug):
    """(found, found by the default run, what is wrong or was found instead)"""
    try:
        lines = runner.text(bug.base).with_edits(bug.edits)
        path, target = runner.write(bug.name, lines)
        if wrong := runner.assembles(path, target):
            return None, wrong
        if not runner.options.lemma:
            is_found(bug, lines, {})
            return True, ""
        said_by = []
        for extra in modes(runner.options, bug.by_default):
            for _ in range(runner.options.times):
                report, command = runner.lemma(bases.bases[bug.base], path, extra)
                if not is_found(bug, lines, report):
                    said_by.append(said(report) + (f"\n    {command}" if runner.options.verbose else ""))
                    break
            else:
                return True, ""
        return False, " / ".join(said_by)
    except edit.Wrong as wrong:
        return None, str(wrong)


def run_twin(runner, twin):
    """(silent, what is wrong). `twin`: its name, kernel and edits."""
    name, base, edits = twin[0], bases.bases[twin[1]], twin[2]
    try:
        path, target = runner.write(f"{name}.twin", runner.text(base.name).with_edits(edits))
    except edit.Wrong as wrong:
        return False, f"not an edit that can be made: {wrong}"
    wrong = runner.assembles(path, target)
    if wrong or not runner.options.lemma:
        return not wrong, wrong or ""
    extras = [[]] + ([["--explore", "8"]] if runner.options.can_explore else [])
    for extra in extras * runner.options.times:
        report, command = runner.lemma(base, path, extra)
        if "error" in report or report.get("exit_status") != 0 or findings_of(report):
            return False, f"{said(report)}\n    {command}"
    return True, ""


def counts(rows):
    """Prints bugs and kernels of each id."""
    table = collections.defaultdict(list)
    for bug in rows:
        table[bug.id].append(bug.base)
    short = []
    for id in bugs.IDS:
        used = table.get(id, [])
        print(f"{id:22} {len(used):3} bugs in {len(set(used)):2} kernels")
        if len(used) < 5 or len(set(used)) < 3:
            short.append(id)
    made = collections.Counter(bases.bases[bug.base].made_by for bug in rows)
    print(f"{len(rows)} bugs: {', '.join(f'{n} of {by}' for by, n in sorted(made.items()))}")
    print(f"fewer than 5 bugs in 3 kernels: {', '.join(short) or 'none'}")


def lint(runner, rows, twins):
    """Exit status."""

    def findings(name, lines):
        path, _ = runner.write(name, lines)
        command = [runner.options.lemma, "verify", "--lint", "--json", path]
        done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S)
        return [(f["id"], f["line"], f["message"]) for f in json.loads(done.stdout)["lint"]]

    def of_bug(bug):
        lines = runner.text(bug.base).with_edits(bug.edits)
        wanted = {i + 1 for selectors in bug.at for one in selectors.split(" | ") for i in edit.select(lines, one)}
        return any(id in (bug.id, *bug.others) and line in wanted for id, line, _ in findings(bug.name, lines))

    with concurrent.futures.ThreadPoolExecutor(runner.options.jobs) as pool:
        found = [bug for bug, is_found in zip(rows, pool.map(of_bug, rows)) if is_found]
        said = list(
            pool.map(lambda twin: findings(f"{twin[0]}.twin", runner.text(twin[1]).with_edits(twin[2])), twins)
        )
    for id, count in sorted(collections.Counter(bug.id for bug in found).items()):
        print(f"{id:22} {count:3}")
    for (name, _, _), why in zip(twins, said):
        if why:
            print(f"twin {name}: FAILED, {why}")
    silent = sum(not why for why in said)
    print(f"{len(found)} of {len(rows)} bugs found without a run, {silent} of {len(twins)} twins silent")
    return 0 if len(found) >= LEAST_BY_LINT and silent == len(twins) else 1


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lemma")
    parser.add_argument("--filter", default="", help="only bugs whose name, kernel or id this is found in")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), metavar="N")
    parser.add_argument("--shard", default="1/1", metavar="I/N", help="the I-th of N parts of bugs and twins")
    parser.add_argument("--times", type=int, default=1, metavar="N", help="runs of each bug and twin, all of which must be right")
    parser.add_argument("--keep", metavar="DIR", help="leave the edited PTX there")
    parser.add_argument("--ptxas", default="ptxas")
    parser.add_argument("--no-ptxas", action="store_true")
    parser.add_argument("--verbose", action="store_true", help="print the commands of misses")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--show", metavar="KERNEL")
    parser.add_argument("--counts", action="store_true")
    parser.add_argument("--check-edits", action="store_true")
    parser.add_argument("--lint", action="store_true")
    options = parser.parse_args()
    if options.no_ptxas:
        options.ptxas = "no ptxas"
    alone = (options.list, options.show, options.counts, options.check_edits)
    if not options.lemma and not any(alone):
        parser.error("--lemma is needed")
    return options


def can(lemma, command, option):
    """Does this lemma have that option?"""
    usage = subprocess.run([lemma, command, "--help"], capture_output=True, text=True).stdout
    return option in usage


def show(name):
    for line in Text(bases.bases[name]).lines:
        if edit.is_instruction(line):
            print(" ".join(line.text.split()), *(f"@{tag}" for tag in sorted(line.tags)), sep="\t")


def judge(options, bug, found, why):
    """(whether that is a failure, what to print or None)"""
    if found is None:
        return True, f"{bug.name}: FAILED, not an edit that can be made: {why}"
    if found:
        return False, None
    if not (bug.by_default or options.can_explore):
        return False, f"{bug.name}: not found without --explore, which this lemma has not"
    return True, f"{bug.name}: FAILED, {bug.id} at {bug.at} of {bug.base} not found, but: {why}"


def run_all(runner, rows, twins):
    """(failures, id -> [found, of so many], twins that were silent)"""
    table = collections.defaultdict(lambda: [0, 0])
    failed = silent = 0
    with concurrent.futures.ThreadPoolExecutor(runner.options.jobs) as pool:
        of_bugs = pool.map(lambda bug: run_bug(runner, bug), rows)
        of_twins = pool.map(lambda twin: run_twin(runner, twin), twins)
        for bug, (found, why) in zip(rows, of_bugs):
            table[bug.id][0] += bool(found)
            table[bug.id][1] += 1
            fails, line = judge(runner.options, bug, found, why)
            failed += fails
            if line:
                print(line, flush=True)
        for (name, _, _), (ok, why) in zip(twins, of_twins):
            silent += ok
            if not ok:
                failed += 1
                print(f"twin {name}: FAILED, {why}", flush=True)
    return failed, table, silent


def main():
    options = parse()
    part, parts = map(int, options.shard.split("/"))
    rows = [bug for bug in bugs.bugs if re.search(options.filter, f"{bug.name} {bug.base} {bug.id}")]
    twins = [(name, name, []) for name in sorted({bug.base for bug in rows})]
    twins += [twin for twin in bugs.fines if re.search(options.filter, twin[0])]
    rows, twins = rows[part - 1 :: parts], twins[part - 1 :: parts]
    if options.list:
        print("\n".join(f"{bug.name} {bug.base} {bug.id}" for bug in rows))
        return 0
    if options.show:
        show(options.show)
        return 0
    if options.counts:
        counts(rows)
        return 0
    if options.lint and not can(options.lemma, "verify", "--lint"):
        print("skipped: this lemma has no verify --lint")
        return 77
    options.can_explore = bool(options.lemma) and can(options.lemma, "run", "--explore")

    with tempfile.TemporaryDirectory(prefix="lemma-corpus-") as scratch:
        folder = pathlib.Path(options.keep or scratch)
        folder.mkdir(parents=True, exist_ok=True)
        runner = Runner(options, folder)
        for name in {bug.base for bug in rows} | {twin[1] for twin in twins}:
            runner.text(name)  # and its inputs, before threads need them
            runner.arguments(bases.bases[name], folder / name)
        if options.lint:
            return lint(runner, rows, twins)
        failed, table, silent = run_all(runner, rows, twins)
    for id in bugs.IDS:
        if id in table:
            print(f"{id:22} {table[id][0]:3} / {table[id][1]:3}")
    print(f"{sum(found for found, _ in table.values())} of {len(rows)} bugs found, {silent} of {len(twins)} twins silent")
    if not runner.ptxas:
        print(f"skipped: no ptxas to assemble {len(rows)} bugs and {len(twins)} twins")
    if options.lemma and not options.can_explore:
        print("skipped: this lemma has no --explore")
    if not rows:
        print("run.py: nothing ran", file=sys.stderr)
    return 1 if failed or not rows else 0


if __name__ == "__main__":
    sys.exit(main())
