#!/usr/bin/env python3
"""The table of the runtime's functions against the programs and docs/cudart.md.

Every row that says IMPLEMENTED is called by a program of this folder, and the page's table is what the rows and the
programs give. With a library: it exports the rows' symbols, nothing else, and needs no C++ library.

usage: table_test.py [--write] [LIBRARY]   --write makes the page's table anew. 77: there is no nm or readelf.
"""

import pathlib
import re
import shutil
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "driver"))
from table_test import ROOT, programs_by_symbol, tested_by, wrong_library, wrong_page  # noqa: E402

PAGE = ROOT / "docs/cudart.md"
BEGIN, END = "<!-- table of functions: tests/cudart/table_test.py --write -->", "<!-- end of table -->"
VERSION = "libcudart.so.13"


def rows():
    """(symbol, kind, the symbol that it stands for)"""
    for line in (ROOT / "src/cudart/functions.def").read_text().splitlines():
        if found := re.match(r"(IMPLEMENTED|REFUSED)\(.+?, (\w+), \(.*\)\)$", line):
            yield found[2], found[1].lower(), ""
        elif found := re.match(r"PER_THREAD\(.+?, (\w+), .*, (\w+)\)$", line):
            yield found[1], "per thread", found[2]
        elif found := re.match(r"UNDECLARED\((\w+)\)$", line):
            yield found[1], "refused", ""
        elif line and not line.startswith("//"):
            sys.exit(f"functions.def: what is this? {line}")


def table(all_rows, callers):
    per_thread = {base: symbol for symbol, _, base in all_rows if base}
    lines = ["| function | tested by |", "|---|---|"]
    for symbol, kind, _ in all_rows:
        if kind == "implemented":
            shown = symbol + (f", {per_thread[symbol].removeprefix(symbol)}" if symbol in per_thread else "")
            lines.append(f"| {shown} | {tested_by(callers, symbol)} |")
    refused = [symbol for symbol, kind, _ in all_rows if kind == "refused"]
    return "\n".join(lines + ["", f"Refused with cudaErrorNotSupported: {', '.join(refused)}."])


def main():
    arguments = [argument for argument in sys.argv[1:] if argument != "--write"]
    all_rows = list(rows())
    callers = programs_by_symbol(HERE, r"(?:__)?cuda[A-Z]\w*")
    wrong = [f"no program calls {symbol}" for symbol, kind, _ in all_rows
             if kind == "implemented" and symbol not in callers]
    wrong += wrong_page(PAGE, BEGIN, END, table(all_rows, callers))
    if arguments:
        if not shutil.which("nm") or not shutil.which("readelf"):
            print("SKIPPED: no nm, or no readelf")
            return 77
        wrong += wrong_library(arguments[0], {symbol for symbol, _, _ in all_rows}, VERSION, VERSION)
    print("\n".join(wrong) if wrong else f"{len(all_rows)} rows, and none without a program")
    return 1 if wrong else 0


sys.exit(main())
