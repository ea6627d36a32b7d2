#!/usr/bin/env python3
"""The mutants of scripts/mutation_test.py and scripts/rules_off.py, which a person runs, can be made of the sources as they are:
what each replaces stands once in its file.

usage: mutants_test.py
"""

import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / "scripts"))

import mutation_test
import rules_off


def main():
    replaced = [("mutation_test.py", m.name, ROOT / m.file, m.old) for m in mutation_test.MUTANTS]
    replaced += [("rules_off.py", r.name, rules_off.CHECK / r.file, r.old) for r in rules_off.RULES]
    wrong = 0
    for script, name, path, old in replaced:
        times = path.read_text().count(old)
        if times != 1:
            print(f"scripts/{script}: {name}: {path.relative_to(ROOT)} has {old!r} {times} times")
            wrong += 1
    print(f"{len(replaced) - wrong} of {len(replaced)} mutants can be made")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
