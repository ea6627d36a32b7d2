#!/usr/bin/env python3
"""How much is asserted: of each suite the cases that a run of the tests counted, and of each folder of tests the assertions in its
sources and the rows of its data. Two trees beside one another show whether a change has dropped any.

usage: count_tests.py [--tree DIR] BUILD [--against DIR BUILD]     each BUILD has had its tests run

With --against only what differs is printed, and the exit status is 1 if something has become less.
"""

import argparse
import collections
import pathlib
import re
import sys

import test_results

ASSERTIONS = {
    ".cc": re.compile(r"\b(?:EXPECT|ASSERT)_\w+\(|\bADD_FAILURE\(|\bFAIL\(|\b(?:expect|require|ok|fails|equal|check)\w*\("),
    ".cu": re.compile(r"\b(?:expect|equal|ok|fails)\w*\("),
    ".h": re.compile(r"\b(?:EXPECT|ASSERT)_\w+\("),
    ".py": re.compile(r"\bself\.assert\w+\(|\bassert\b|\bself\.(?:call|fault|exec)\("),
    ".mlir": re.compile(r"(?:CHECK|ERROR)[\w-]*:|expected-(?:error|warning)|RUN:"),
    ".ptx": re.compile(r"// expect:"),
    ".sh": re.compile(r"\b(?:diff|cmp|grep -q\w*|test|\[)\s"),
}
DATA = {".txt", ".json", ".csv", ".zst", ".xz", ".npy"}


def cases(build):
    """{suite: cases}"""
    names = [result.name for result in test_results.read(build)]
    return collections.Counter(re.match(r"(?:mlir|golden|check|sanitized)\.[a-z_0-9]+|[^.]+", name)[0] for name in names)


def assertions(tree):
    """{folder of tests: assertions}, {folder: lines of data}"""
    asserted, rows = collections.Counter(), collections.Counter()
    for path in sorted(tree.glob("tests/**/*")) + sorted(tree.glob("examples/**/mutants*.txt")):
        parts = path.relative_to(tree).parts
        folder = "/".join(parts[:3] if parts[1] in ("unit", "mlir") and len(parts) > 3 else parts[:2])
        if not path.is_file():
            continue
        if path.suffix in ASSERTIONS:
            asserted[folder] += len(ASSERTIONS[path.suffix].findall(path.read_text(errors="replace")))
        elif path.suffix in DATA:
            rows[folder] += path.read_bytes().count(b"\n")
    return asserted, rows


def counted(tree, build):
    asserted, rows = assertions(tree)
    return {"cases": cases(build), "assertions": asserted, "lines of data": rows}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tree", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parent.parent)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--against", type=pathlib.Path, nargs=2, metavar=("DIR", "BUILD"))
    words = parser.parse_args()
    new = counted(words.tree, words.build)
    old = counted(*words.against) if words.against else None
    less = False
    for kind, of in new.items():
        before = old[kind] if old else collections.Counter()
        print(f"\n| {kind} of |{' before |' if old else ''} {'now' if old else 'number'} |\n|---|---|{'---|' if old else ''}")
        for name in sorted({*of, *before}):
            if not old or of[name] != before[name]:
                print(f"| {name} |{f' {before[name]} |' if old else ''} {of[name]} |")
            less |= of[name] < before[name]
        print(f"| all |{f' {sum(before.values())} |' if old else ''} {sum(of.values())} |")
    return 1 if less else 0


if __name__ == "__main__":
    sys.exit(main())
