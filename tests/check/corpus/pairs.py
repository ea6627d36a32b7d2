#!/usr/bin/env python3
"""Two planted bugs in one kernel are two findings: `lemma run --check` puts findings that one instruction would mend into a group, and the
group of the one bug is not that of the other.

Pairs of bugs of one kernel that are to be found at other lines are drawn by a seed. A pair counts where a run finds both: of two bugs one
may end the run, or hide the other. What is one's, its own run says.

usage: pairs.py --lemma build/bin/lemma [--pairs N] [--seed S] [--jobs N] [--verbose]
"""

import argparse
import concurrent.futures
import itertools
import os
import pathlib
import random
import sys
import tempfile

import bases
import bugs
import edit
import run

# Pairs that are tried whatever the seed: both are to be mended at accesses that meet a third one, or each other; at what two threads
# synchronize by who hand on the same cells.
ALWAYS = (
    ("inplace_passes.mirror_through_nc", "inplace_passes.own_word_through_nc"),
    ("lock_cluster.takes_at_the_cta", "lock_cluster.gives_to_the_cta"),
    ("warps_meet.waits_relaxed", "warps_meet.ends_relaxed"),
)
LEAST = 0.5  # of the pairs that were drawn, that have to count


def key_of(finding):
    """What a finding is, but for the lines of the PTX, which an edit moves."""
    sides = [finding[side]["place"]["instruction"] for side in ("access", "earlier") if finding[side]]
    return finding["id"], finding["fix"], *sorted(sides)


class Pairs:
    def __init__(self, runner):
        self.runner = runner
        self.alone = {}  # by the name of a bug: what its run finds

    def findings(self, name, base, edits):
        """(key, group) of each error. Raises edit.Wrong."""
        path, _ = self.runner.write(name, self.runner.text(base).with_edits(edits))
        report, command = self.runner.lemma(bases.bases[base], path, [])
        if "error" in report:
            raise edit.Wrong(report["error"])
        return {(key_of(finding), finding["group"]) for finding in report["findings"] if not finding["is_note"]}, command

    def keys(self, bug):
        if bug.name not in self.alone:
            self.alone[bug.name] = {key for key, _ in self.findings(bug.name, bug.base, bug.edits)[0]}
        return self.alone[bug.name]

    def try_pair(self, pair):
        """None: it does not count; else whether the two are told apart, and what was said."""
        one, other = pair
        try:
            both, command = self.findings(f"{one.name}.{other.name}", one.base, [*one.edits, *other.edits])
            of_one, of_other = self.keys(one), self.keys(other)
        except edit.Wrong as wrong:
            return None, str(wrong)
        groups = [{group for key, group in both if key in keys} for keys in (of_one - of_other, of_other - of_one)]
        if not all(groups):
            return None, "one of them alone is found, or they are between the same instructions"
        return groups[0] != groups[1] or len(groups[0]) > 1, f"{both}\n    {command}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lemma", required=True)
    parser.add_argument("--pairs", type=int, default=60, metavar="N")
    parser.add_argument("--seed", type=int, default=2)
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), metavar="N")
    parser.add_argument("--verbose", action="store_true", help="say why a pair does not count")
    options = parser.parse_args()
    options.ptxas = "no ptxas"
    usable = [bug for bug in bugs.bugs if bug.by_default]
    pairs = [(a, b) for a, b in itertools.combinations(usable, 2) if a.base == b.base and a.at != b.at]
    random.Random(options.seed).shuffle(pairs)
    by_name = {bug.name: bug for bug in usable}
    always = [tuple(by_name[name] for name in names) for names in ALWAYS]
    pairs = always + [pair for pair in pairs[: options.pairs] if pair not in always]
    counted = failed = 0
    with tempfile.TemporaryDirectory(prefix="lemma-pairs-") as scratch:
        runner = run.Runner(options, pathlib.Path(scratch))
        tried = Pairs(runner)
        for name in {pair[0].base for pair in pairs}:
            runner.text(name)  # and its inputs, before threads need them
            runner.arguments(bases.bases[name], pathlib.Path(scratch) / name)
        with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
            for (one, other), (apart, why) in zip(pairs, pool.map(tried.try_pair, pairs)):
                counted += apart is not None
                if apart is False:
                    failed += 1
                    print(f"{one.name} and {other.name}: FAILED, one group has both: {why}")
                elif apart is None and options.verbose:
                    print(f"{one.name} and {other.name}: not both are found: {why}")
    print(f"{counted - failed} of {counted} pairs are two findings; of {len(pairs)} drawn, {len(pairs) - counted} do not count")
    return 1 if failed or counted < LEAST * len(pairs) else 0


if __name__ == "__main__":
    sys.exit(main())
