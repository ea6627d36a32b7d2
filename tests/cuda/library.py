#!/usr/bin/env python3
"""What `--check` finds in kernels of CUB, Thrust, cooperative groups and libcu++: the programs of library/, compared with library/table.txt.

CUDA 13.5's libraries have a table of their own, table_13_5.txt. A row of a table is a kernel of a program: how many instances ran, and the findings in them, by id, that are shown and
that are suppressed (src/runtime/library_suppressions.def). A program itself must be right. Then the errors of library/misuses.cu,
each of which must be found.

usage: library.py --lemma LEMMA FOLDER            the folder has the programs, built
       library.py --lemma LEMMA FOLDER --write    writes the table
"""

import argparse
import collections
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent / "library"
# By what CUB's and Thrust's names say of their version.
TABLES = {"CUB_300001": ("table.txt", "3.0.1", "13.0"), "_V_300500": ("table_13_5.txt", "3.5.0", "13.5")}
# What another release than 13.0 has for a misuse: its thrust::unique reads without .nc.
OTHERWISE = {"13.5": {"unique_ahead": "race.global"}}
HEAD = """# What `lemma exec --check` finds in kernels of CUB, Thrust and libcu++ {} and of cooperative groups (CUDA {}): library.py --write.
# Findings by id, with their number where there are several.
"""
COLUMNS = ("program", "kernel", "instances", "shown", "suppressed")


def names(mangled, at):
    """The names that stand one behind the other in a mangled name, until there is another thing."""
    found = []
    while match := re.compile(r"S[0-9A-Z]*_|St|\d+").match(mangled, at):
        at = match.end()
        if match.group()[0] != "S":
            found.append(mangled[at:at + int(match.group())])
            at += int(match.group())
    return found


def detail(mangled):
    """What else of a kernel's template arguments says which it is: what Thrust's sets do, CUTLASS's schedule or way to fetch."""
    if operation := re.search(r"\d(serial_set_[a-z_]+?)E", mangled):
        return [operation.group(1)]
    words = []
    for match in re.finditer(r"(?<!\d)(\d{2})(?=KernelTma|KernelCpAsync|StreamK|MmaMultistage|MmaPipelined)", mangled):
        word = mangled[match.end():match.end() + int(match.group(1))]
        words += [word] if word not in words else []
    return words


def short(mangled):
    """reduce::DeviceReduceKernel, __set_operations::SetOpAgent (serial_set_union): what of a kernel's name says which it is."""
    if not mangled.startswith("_Z"):
        return mangled
    name = names(mangled, 3 if mangled.startswith("_ZN") else 2)
    # Of Thrust and CUTLASS: what the kernel does is the first argument of the template.
    if name[-1] in ("_kernel_agent", "device_kernel", "Kernel"):
        name = names(mangled, mangled.index(f"{name[-1]}IN") + len(f"{name[-1]}IN"))
    details = detail(mangled)
    return "::".join(name[-2:]) + (f" ({', '.join(details)})" if details else "")


def check(lemma, *program):
    """The report of a run, and what it said."""
    with tempfile.TemporaryDirectory() as folder:
        report = os.path.join(folder, "report.json")
        ran = subprocess.run([lemma, "exec", "--check", "--report", report, *program], capture_output=True, text=True, timeout=100,
                             env={**os.environ, "LEMMA_WORKERS": "1", "LEMMA_PATIENCE": "1"})
        return json.loads(pathlib.Path(report).read_text()), ran.stderr


def rows_of(lemma, program, versions):
    """The rows of one program; adds to the versions that its kernels' names have."""
    found, said = check(lemma, program)
    versions |= {version for version in TABLES for kernel in found["kernels"] if version in kernel["kernel"]}
    if any(run["exit_status"] for run in found["runs"]) or found["faults"]:
        sys.exit(f"{program.name} is wrong:\n{said}")
    instances = collections.Counter(short(kernel["kernel"]) for kernel in found["kernels"])
    groups = collections.defaultdict(set)  # of (kernel, suppressed): (id, group)
    for finding in found["findings"]:
        if not finding["is_note"]:
            groups[short(finding["kernel"]), finding["suppressed"]].add((finding["id"], finding["group"]))

    def ids(kernel, suppressed):
        counts = collections.Counter(id for id, _ in groups[kernel, suppressed])
        return ", ".join(id if count == 1 else f"{count} {id}" for id, count in sorted(counts.items())) or "-"

    return [(program.name, kernel, str(count), ids(kernel, False), ids(kernel, True)) for kernel, count in sorted(instances.items())]


def missed(lemma, program, otherwise):
    """The misuses that are not found, with what is; `otherwise`: ids for those that the program names."""
    listed = subprocess.run([lemma, "exec", program], capture_output=True, text=True, check=True).stdout
    wrong = []
    for name, wanted in map(str.split, listed.splitlines()):
        found, said = check(lemma, program, name)
        ids = {finding["id"] for finding in found["findings"] if not finding["is_note"] and not finding["suppressed"]}
        ids |= {fault.get("id") for fault in found["faults"]}
        wanted = otherwise.get(name, wanted)
        if wanted not in ids:
            wrong.append(f"{name}: {wanted} is not found\n{said}")
    return wrong


def table_of(head, rows):
    """The text of a table."""
    widths = [max(map(len, column)) for column in zip(COLUMNS, *rows)]
    lines = [(f"# {COLUMNS[0]}", *COLUMNS[1:]), *rows]
    return head + "".join("  ".join(cell.ljust(width) for cell, width in zip(line, widths)).rstrip() + "\n" for line in lines)


def differences(committed, table):
    """The lines that only one of two tables has."""
    return [
        f"{sign} {line}" for sign, lines, others in (("-", committed, table), ("+", table, committed))
        for line in lines.splitlines() if line not in others.splitlines()
    ]  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--lemma", required=True)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("folder", type=pathlib.Path)
    words = parser.parse_args()
    programs = sorted(source.stem for source in HERE.glob("*.cu") if source.stem != "misuses")
    versions = set()
    rows = [row for name in programs for row in rows_of(words.lemma, words.folder / name, versions)]
    if len(versions) != 1:
        sys.exit(f"kernels of {', '.join(sorted(versions)) or 'no version'}: there are tables of {', '.join(TABLES)}")
    file, *release = TABLES[versions.pop()]
    table = table_of(HEAD.format(*release), rows)
    if words.write:
        (HERE / file).write_text(table)
        return
    differ = differences((HERE / file).read_text(), table) + missed(words.lemma, words.folder / "misuses", OTHERWISE.get(release[-1], {}))
    print("\n".join(differ) or f"{len(rows)} kernels of {len(programs)} programs are as the table says")
    sys.exit(1 if differ else 0)


if __name__ == "__main__":
    main()
