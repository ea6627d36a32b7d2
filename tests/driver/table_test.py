#!/usr/bin/env python3
"""The table of entry points against the programs and docs/driver.md.

Every row that says IMPLEMENTED is called by a program of this folder, and the page's tables are what the rows and the
programs give, and hardware/programs.txt. With a library: it exports the rows' symbols and Lemma's own, nothing else, and needs no C++ library.

usage: table_test.py [--write] [LIBRARY]   --write makes the page's table anew. 77: there is no nm or readelf.
"""

import pathlib
import re
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
PAGE = ROOT / "docs/driver.md"
BEGIN_PROGRAMS, END_PROGRAMS = "<!-- table of programs: tests/driver/table_test.py --write -->", "<!-- end of programs -->"
BEGIN, END = "<!-- table of entry points: tests/driver/table_test.py --write -->", "<!-- end of table -->"


def rows():
    """(name, version, symbol, kind, what it says beyond: the error, or the symbol that it stands for)"""
    for line in (ROOT / "src/driver/entry_points.def").read_text().splitlines():
        if found := re.match(r"IMPLEMENTED\((\w+), (\d+), (\w+), \(.*\)\)$", line):
            yield *found.groups(), "implemented", ""
        elif found := re.match(r"REFUSED\((\w+), (\d+), (\w+), \(.*\), CUDA_ERROR_(\w+)\)$", line):
            yield *found.groups()[:3], "refused", found[4]
        elif found := re.match(r"PER_THREAD\((\w+), (\d+), \w+, (\w+), .*, (\w+)\)$", line):
            yield *found.groups()[:3], "per thread", found[4]
        elif line and not line.startswith("//"):
            sys.exit(f"entry_points.def: what is this? {line}")


def programs_by_symbol(folder, symbols):
    """{symbol: the programs of the folder that call it}; `symbols` is what one looks like."""
    callers = {}
    for program in sorted(folder.glob("*.cc")) + [folder / "check.h"]:
        text = re.sub(r"//[^\n]*", "", program.read_text())
        for symbol in set(re.findall(rf"\b({symbols})\s*[(,]", text)) | set(re.findall(rf"&({symbols})\b", text)):
            callers.setdefault(symbol, []).append(program.stem)
    return callers


def tested_by(callers, symbol):
    return ", ".join([name for name in callers.get(symbol, []) if name != "check"][:3] or ["all"])


def wrong_page(page, begin, end, table):
    """Whether the page's table is not this one; with --write it is made so."""
    text = page.read_text()
    head, rest = text.split(begin)
    made = f"{head}{begin}\n\n{table}\n\n{end}{rest.split(end)[1]}"
    if made == text:
        return []
    if "--write" in sys.argv:
        page.write_text(made)
        return []
    return [f"{page.relative_to(ROOT)}: the table is not that of the rows; run {sys.argv[0]} --write"]


def table(all_rows, callers):
    per_thread = {base: symbol for _, _, symbol, kind, base in all_rows if kind == "per thread"}
    lines = ["| symbol | CUDA | here | tested by |", "|---|---|---|---|"]
    for _, version, symbol, kind, more in all_rows:
        if kind == "per thread":
            continue
        number = f"{int(version) // 1000}.{int(version) % 1000 // 10}"
        shown = symbol + (f", {per_thread[symbol].removeprefix(symbol)}" if symbol in per_thread else "")
        if kind == "implemented":
            lines.append(f"| {shown} | {number} | yes | {tested_by(callers, symbol)} |")
    refused = {}
    for _, _, symbol, kind, error in all_rows:
        if kind == "refused":
            refused.setdefault(error, []).append(symbol)
    for error, symbols in sorted(refused.items()):
        lines += ["", f"Refused with CUDA_ERROR_{error}: {', '.join(symbols)}."]
    return "\n".join(lines)


def table_of_programs():
    """What each program is about, and how it ended on the GPU that hardware/programs.txt names; and what is wrong there."""
    recorded = dict(line.split(maxsplit=1) for line in (HERE / "hardware/programs.txt").read_text().splitlines() if not line.startswith("#"))
    lines = ["| program | | on an H200 |", "|---|---|---|"]
    for program in sorted(HERE.glob("*.cc")):
        about = []
        for line in program.read_text().splitlines():
            if not line.startswith("// "):
                break
            about.append(line[3:])
        lines.append(f"| {program.stem} | {' '.join(about).rstrip('.')} | {recorded.pop(program.stem, 'not run')} |")
    return "\n".join(lines), [f"hardware/programs.txt: {name} is no program" for name in recorded]


def wrong_library(library, symbols, soname, version=""):
    """What is wrong with a library that is to export these symbols, at that version, and bring its C++ library with it."""
    listing = subprocess.run(["nm", "-D", "--defined-only", library], check=True, capture_output=True, text=True).stdout
    # GNU ld makes a symbol of a version, too, which LLVM's does not.
    names = [line.split()[-1] for line in listing.splitlines() if line.split()[-1].split("@")[0] != version]
    there = {name.split("@")[0] for name in names}
    wrong = [f"{symbol} is not exported" for symbol in sorted(symbols - there)]
    wrong += [f"{symbol} is exported and is no row" for symbol in sorted(there - symbols)]
    wrong += [f"{name} is not of the version {version}" for name in names if version and not name.endswith("@@" + version)]
    dynamic = subprocess.run(["readelf", "-d", "-W", library], check=True, capture_output=True, text=True).stdout
    if f"[{soname}]" not in dynamic:
        wrong.append(f"the SONAME is not {soname}")
    return wrong + [f"it needs {needed}" for needed in re.findall(r"NEEDED.*\[(.*)\]", dynamic)
                    if not re.fullmatch(r"(libc|libm|libdl|libpthread|ld-linux-x86-64)\.so.*", needed)]


def main():
    arguments = [argument for argument in sys.argv[1:] if argument != "--write"]
    all_rows = list(rows())
    callers = programs_by_symbol(HERE, r"cu[A-Z]\w*")
    wrong = [f"no program calls {symbol}" for _, _, symbol, kind, _ in all_rows
             if kind == "implemented" and symbol not in callers]
    wrong += wrong_page(PAGE, BEGIN, END, table(all_rows, callers))
    of_programs, unknown = table_of_programs()
    wrong += wrong_page(PAGE, BEGIN_PROGRAMS, END_PROGRAMS, of_programs) + unknown
    if arguments:
        if not shutil.which("nm") or not shutil.which("readelf"):
            print("SKIPPED: no nm, or no readelf")
            return 77
        symbols = {symbol for _, _, symbol, _, _ in all_rows} | {"cuLemmaVersion", "cuLemmaAsk", "cuLemmaUse", "cuLemmaCompute", "cuLemmaKeepPtx"}
        wrong += wrong_library(arguments[0], symbols, "libcuda.so.1")
    print("\n".join(wrong) if wrong else f"{len(all_rows)} rows, and none without a program")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
