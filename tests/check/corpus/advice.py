#!/usr/bin/env python3
"""Follows the advice of findings: a planted bug of bugs.py is run under `lemma run --check --json`; the repairs of its first finding are
made in the PTX as they stand there, and the kernel is run again, until there is no finding. Then it must give what its twin gives, bit for
bit. Where a finding has alternatives each is followed until one gives that. As many rounds are allowed as there were findings to begin
with, and AGAIN more.

Where a finding has no repairs its advice is no edit that can be known; of the ids of NO_EDIT that is always so. A bug counts where all its
findings have repairs, or those that have are all that is amiss: others may follow from them, as unwritten values from a race. What is
offered for an id of ONE_OF_SEVERAL may all be wrong for a bug: its words name what is no edit besides.

usage: advice.py --lemma build/bin/lemma [--filter REGEX] [--each N] [--jobs N] [--keep DIR] [--verbose]
  --each N: of each id and kind of advice N bugs, the same in each run; 0: all
"""

import argparse
import collections
import concurrent.futures
import os
import pathlib
import random
import re
import sys
import tempfile

import bases
import bugs
import edit
import run

# Why the advice of an id is no edit of the PTX.
NO_EDIT = {
    "wgmma.warps": "which of the warps has the wrong operand, nobody knows",
    "tcgen05.alloc": "which allocation is meant, nobody knows",
    "tcgen05.address": "which cells are meant, nobody knows",
    "tcgen05.pair": "which CTAs are meant, nobody knows",
    "tcgen05.descriptor": "which value is meant, nobody knows",
    "memory.undefined": "nobody knows the value that is missing",
    "memory.lifetime": "code has to be moved",
}
# What else it may be that is amiss, as the words of the advice say.
ONE_OF_SEVERAL = {
    "race.mixed-size": "the wider access, or what would order the two",
    "race.tensor": "a wait on an mbarrier that is missing",
    "mbarrier.plain": "what reads the value, which has to come from elsewhere",
    "mbarrier.count": "arrivals that are missing, or too many",
    "mbarrier.tx": "copies that are missing, or too small",
    "mbarrier.phase": "how the parity is computed, or a wait that is missing",
    "mbarrier.inval": "the write, where the object is used again",
    "barrier.divergent": "code between the branch and the barrier",
    "barrier.count": "threads that are missing",
    "barrier.id": "how the number is computed",
    "warp.mask": "code between the branch and the instruction",
    "warp.aligned": "code between the branch and the instruction",
    "warp.setmaxnreg": "which registers are meant, where warps differ in that",
    "warp.elect": "code between the branch and the instruction",
    "memory.bounds": "the address",
}
# Bugs that stand where no instruction more can give the twin's result, or none of this program.
OTHER_PROGRAMS = {
    "inplace_rows.writes_before_the_barrier": "what is to be read has been overwritten",
    "pdl_bulk.factor_before_the_barrier": "what is to be read has been read before",
    "attention_wgmma.scores_cleared_in_flight": "what the product gives is cleared",
    "fetch_past_end.uses_what_it_fetched": "the last tile takes what lies past the end",
    "chain_relaxed.adds_plainly": "an atomic operation is three instructions",
}
AGAIN = 2  # rounds
RUNS_FOR_EACH = 10  # bugs of an id that are run for each of a kind of advice that is followed
MOST_RUNS = 24  # of one bug
LEAST_IDS = 0.8  # of those that are not in NO_EDIT
LEAST_BUGS = 0.5  # of those that are not in NO_EDIT: others want what is no edit as well, or take a release where there is no flag
LEAST_OF_SEVERAL = 0.5  # of the bugs that have repairs, of those in ONE_OF_SEVERAL
LEAST_AT_ONCE = 0.75  # of the bugs that are repaired: by what the first finding offers


def edited(text, repairs):
    """The PTX with the repairs made, from the last to the first."""
    lines = text.split("\n")
    for repair in sorted(repairs, key=lambda r: (r["line"], r["column"], r["length"]), reverse=True):
        line, at = lines[repair["line"] - 1], repair["column"] - 1
        lines[repair["line"] - 1] = line[:at] + repair["text"] + line[at + repair["length"] :]
    return "\n".join(lines)


def groups_of(report):
    """What is offered for each defect, by its number, each of it a list of edits: none for an error without."""
    errors = [f for f in report.get("findings", []) if f["severity"] == "error"]
    return {f["group"]: [f["repairs"], *f["alternatives"]] if f["repairs"] else [] for f in errors}


def kind_of(report):
    """The words of the advice, without numbers."""
    return " / ".join(sorted({re.sub(r"\d+", "N", f["fix"]) for f in report.get("findings", []) if f["severity"] == "error"}))


def has_one_of_several(report):
    return any(f["id"] in ONE_OF_SEVERAL for f in report.get("findings", []) if f["severity"] == "error")


def shown(repairs):
    return "; ".join(f"{' '.join(r['text'].split())} {r['where']} line {r['place']['ptx_line']}" for r in repairs)


class Followed:
    """`verdict`: none (no repairs), did, partly (what remains had none from the beginning), wrong."""

    def __init__(self, verdict, rounds=0, why=""):
        self.verdict, self.rounds, self.why = verdict, rounds, why


class Follower:
    def __init__(self, runner):
        self.runner = runner
        self.right = {}  # by kernel: what its twin gives

    def outputs(self, base, ptx):
        stem = ptx.with_suffix("")
        files = [pathlib.Path(f"{stem}.{i}.out") for i in range(len(base.args))]
        return [file.read_bytes() if file.exists() else None for file in files]

    def run_twin(self, base):
        path, _ = self.runner.write(f"{base.name}.right", self.runner.text(base.name).lines)
        report, command = self.runner.lemma(base, path, [])
        assert report.get("exit_status") == 0, command
        self.right[base.name] = self.outputs(base, path)

    def find(self, bug):
        """What a run of the bug finds."""
        path, _ = self.runner.write(bug.name, self.runner.text(bug.base).with_edits(bug.edits))
        return self.runner.lemma(bases.bases[bug.base], path, [])[0]

    def follow(self, bug, report):
        groups = groups_of(report)
        if not any(groups.values()):
            return Followed("none")
        text = run.text_of(self.runner.text(bug.base).with_edits(bug.edits))
        tried = Trial(self, bug, len(groups) + AGAIN)
        if made := tried.mend(text, groups, []):
            return Followed("did", len(made), "; then ".join(made))
        return Followed("wrong" if all(groups.values()) else "partly", tried.rounds, tried.why)


class Trial:
    """What is offered for one bug, tried."""

    def __init__(self, follower, bug, most):
        self.follower, self.bug, self.base, self.most = follower, bug, bases.bases[bug.base], most
        self.runs = self.rounds = 0
        self.why = ""  # of the trial that came farthest

    def mend(self, text, groups, made):
        """What was made until nothing is amiss; None: that did not come."""
        for repairs in next((groups[i] for i in sorted(groups) if groups[i]), []):
            if len(made) == self.most or self.runs == MOST_RUNS:
                return None
            self.runs += 1
            path = self.follower.runner.folder / f"{self.bug.name}.repaired.ptx"
            better, now = edited(text, repairs), [*made, shown(repairs)]
            path.write_text(better)
            report, command = self.follower.runner.lemma(self.base, path, [])
            wrong = run.said(report)
            if report.get("exit_status") == 0 and not run.findings_of(report):
                outputs = self.follower.outputs(self.base, path)
                if outputs == self.follower.right[self.base.name] or self.bug.name in OTHER_PROGRAMS:
                    return now
                wrong = "another result than the twin's"
            if len(now) > self.rounds:
                self.rounds, self.why = len(now), f"{'; then '.join(now)}: {wrong}\n    {command}"
            if mended := self.mend(better, groups_of(report), now):
                return mended
        return None


def draw(rows, most):
    """Of each id so many; 0: all."""
    by_id = collections.defaultdict(list)
    for bug in rows:
        by_id[bug.id].append(bug)
    for bugs_of_id in by_id.values():
        random.Random(1).shuffle(bugs_of_id)
    return [bug for bugs_of_id in by_id.values() for bug in bugs_of_id[: most or None]]


def sample(found, each):
    """Of each id and kind of advice so many."""
    rows = collections.defaultdict(list)
    for bug, report in found:
        rows[bug.id, kind_of(report)].append((bug, report))
    chosen = []
    for key in sorted(rows):
        random.Random(1).shuffle(rows[key])
        chosen += rows[key][: each or None]
    return chosen


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lemma", required=True)
    parser.add_argument("--filter", default="")
    parser.add_argument("--each", type=int, default=0, metavar="N")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), metavar="N")
    parser.add_argument("--keep", metavar="DIR")
    parser.add_argument("--verbose", action="store_true", help="print what was repaired, and what has no repairs")
    return parser.parse_args()


def follow_all(options, runner, rows):
    """(bug, its report, Followed) of the sample."""
    rows = draw(rows, RUNS_FOR_EACH * options.each)
    follower = Follower(runner)
    for name in {bug.base for bug in rows}:
        runner.text(name)  # and its inputs, before threads need them
        runner.arguments(bases.bases[name], runner.folder / name)
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        chosen = sample(list(zip(rows, pool.map(follower.find, rows))), options.each)
        list(pool.map(follower.run_twin, [bases.bases[name] for name in sorted({bug.base for bug, _ in chosen})]))
        followed = pool.map(lambda one: follower.follow(*one), chosen)
        return [(bug, report, how) for (bug, report), how in zip(chosen, followed)]


def main():
    options = parse()
    options.ptxas = "no ptxas"
    rows = [bug for bug in bugs.bugs if re.search(options.filter, f"{bug.name} {bug.base} {bug.id}")]
    table = collections.defaultdict(collections.Counter)
    failed = 0
    with tempfile.TemporaryDirectory(prefix="lemma-advice-") as scratch:
        folder = pathlib.Path(options.keep or scratch)
        folder.mkdir(parents=True, exist_ok=True)
        for bug, report, how in follow_all(options, run.Runner(options, folder), rows):
            of = table[bug.id]
            for finding in report.get("findings", []):
                if finding["id"] in NO_EDIT and finding["repairs"]:
                    failed += 1
                    print(f"{bug.name}: FAILED, {finding['id']} has repairs, and stands in NO_EDIT")
            of["bugs"] += 1
            of[how.verdict] += 1
            of["once"] += how.verdict == "did" and how.rounds == 1
            if how.verdict == "wrong" and bug.name not in OTHER_PROGRAMS and not has_one_of_several(report):
                failed += 1
                print(f"{bug.name}: FAILED [{kind_of(report)}] {how.why}", flush=True)
            elif options.verbose:
                print(f"{bug.name}: {how.verdict}, rounds: {how.rounds} [{kind_of(report)}] {how.why or run.said(report)}", flush=True)
    for id in bugs.IDS:
        if id in table:
            of = table[id]
            print(
                f"{id:22} {of['did']:4} of {of['did'] + of['wrong']:4} repaired, {of['once']:4} at once, {of['partly']:4} in part; "
                f"{of['bugs']:4} bugs{', ' + NO_EDIT[id] if id in NO_EDIT else ''}"
            )
    wanted = [id for id in bugs.IDS if id in table and id not in NO_EDIT]
    repaired = [id for id in wanted if table[id]["did"]]
    total = sum((table[id] for id in wanted), collections.Counter())
    several = sum((table[id] for id in wanted if id in ONE_OF_SEVERAL), collections.Counter())
    print(
        f"{len(repaired)} of {len(table)} ids have advice that can be followed, and does: in {total['did']} of {total['bugs']} bugs, "
        f"{total['once']} at once"
    )
    if not options.filter and (
        len(repaired) < LEAST_IDS * len(set(bugs.IDS) - set(NO_EDIT))
        or total["did"] < LEAST_BUGS * total["bugs"]
        or total["once"] < LEAST_AT_ONCE * total["did"]
        or several["did"] < LEAST_OF_SEVERAL * (several["did"] + several["wrong"])
    ):
        failed += 1
        print("that is too few")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
