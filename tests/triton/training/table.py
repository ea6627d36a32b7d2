#!/usr/bin/env python3
"""What `lemma run --check` finds in the kernels of training_kernels.py, as two versions of Triton compile them: compared with table.txt.

A row of the table is a kernel and a version: its findings by id, and its notes. What the kernel stores must be right, with
asynchronous work completing early and late.

usage: table.py --lemma LEMMA [--write]
"""

import argparse
import collections
import json
import pathlib
import subprocess
import sys
import tempfile

import numpy as np

import training_cases

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import run  # noqa: E402

FOLDER = pathlib.Path(__file__).resolve().parent
TABLE = FOLDER / "table.txt"
HEAD = """# What `lemma run --check` finds in the kernels of training_kernels.py, by the version of Triton: table.py --write.
# By id, with their number where there are several.
"""
COLUMNS = ("Triton", "kernel", "findings", "notes")
TIMEOUT_S = 100


def ids(findings):
    counts = collections.Counter(id for id, _ in {(finding["id"], finding["group"]) for finding in findings})
    return ", ".join(id if count == 1 else f"{count} {id}" for id, count in sorted(counts.items())) or "-"


def row(lemma, version, name, launch, folder):
    case = training_cases.cases[name]()
    found = []
    for way in ("--async=eager", "--async=late"):
        specs, outputs = run.arguments(launch, case, folder / f"{version}.{name}")
        command = [lemma, "run", str(FOLDER / "ptx" / version / f"{name}.ptx"), "--check", "--json", way]
        command += ["--grid", ",".join(map(str, case.grid)), "--block", str(launch["threads"])]
        command += ["--smem", str(launch["shared_bytes"])]
        for spec in specs:
            command += ["--arg", spec]
        done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S)
        report = json.loads(done.stdout)
        if report["outcome"] != "finished":
            sys.exit(f"{version} {name} does not finish: {done.stdout}")
        for parameter, path, argument in outputs:
            wrong = run.compare(parameter, np.fromfile(path, argument.expected.dtype), argument)
            if wrong:
                sys.exit(f"{version} {name}, {way}: {wrong}")
        found.append(tuple(ids([f for f in report["findings"] if f["is_note"] == note]) for note in (False, True)))
    if found[0] != found[1]:
        sys.exit(f"{version} {name}: early {found[0]}, late {found[1]}")
    return (version, name, *found[0])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--lemma", required=True)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory(prefix="lemma-training-") as scratch:
        for launches in sorted(FOLDER.glob("ptx/*/launches.json")):
            for name, launch in json.loads(launches.read_text()).items():
                rows.append(row(options.lemma, launches.parent.name, name, launch, pathlib.Path(scratch)))
    widths = [max(map(len, column)) for column in zip(COLUMNS, *rows)]
    lines = [(f"# {COLUMNS[0]}", *COLUMNS[1:]), *rows]
    table = HEAD + "".join("  ".join(cell.ljust(width) for cell, width in zip(line, widths)).rstrip() + "\n" for line in lines)
    if options.write:
        TABLE.write_text(table)
        return
    committed = TABLE.read_text().splitlines()
    differ = [f"- {line}" for line in committed if line not in table.splitlines()]
    differ += [f"+ {line}" for line in table.splitlines() if line not in committed]
    print("\n".join(differ) or f"{len(rows)} kernels are as the table says")
    sys.exit(1 if differ or not rows else 0)


if __name__ == "__main__":
    main()
