#!/usr/bin/env python3
"""The tables of cuBLAS's functions against the tests of this folder, docs/cublas.md and the libraries' symbols.

Every row that is answered is called by a test, and the page's table is what the rows and the tests give. With the two libraries:
each exports the rows' symbols, at its version, and nothing else, and needs no C++ library.

usage: table_test.py [--write] [LIBCUBLAS LIBCUBLASLT]   --write makes the page's tables anew. 77: there is no nm or readelf.
"""

import pathlib
import re
import shutil
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(ROOT / "tests/driver"))
from table_test import wrong_library, wrong_page  # noqa: E402

PAGE = ROOT / "docs/cublas.md"
TABLES = {"functions.def": "libcublas.so.13", "lt_functions.def": "libcublasLt.so.13"}


def rows(file):
    """(symbol, kind)"""
    for line in (ROOT / "src/cublas" / file).read_text().splitlines():
        if found := re.match(r"(ROUTINE|PLAIN|REFUSED)\((\w+)\b", line):
            yield found[2], found[1]
            if found[1] == "ROUTINE":
                yield found[2] + "_64", "WIDE"
        elif found := re.match(r"OTHER\([\w* ]+, (\w+), \(", line):
            yield found[1], "PLAIN"
        elif line and not line.startswith("//"):
            sys.exit(f"{file}: what is this? {line}")


def callers():
    """{symbol: the tests that call it}"""
    found = {}
    forms = {"FORMS": "SDCZ", "NARROW_FORMS": "SDCZ", "REAL_FORMS": "SD", "COMPLEX_FORMS": "CZ"}
    for source in sorted(HERE.glob("*.cc")) + [HERE / "fixture.h"]:
        text = re.sub(r"//[^\n]*|^#define(.*\\\n)*.*\n", "", source.read_text(), flags=re.MULTILINE)
        symbols = set(re.findall(r"\bcublas\w+\b", text))
        for kind, letters in forms.items():
            for name in re.findall(rf"\b{kind}\((\w+)\)", text):
                symbols |= {f"cublas{letter}{name}" + wide for letter in letters for wide in (("",) if kind == "NARROW_FORMS" else ("", "_64"))}
        for name in re.findall(r"\bINDEX_FORMS\((\w+)\)", text):
            symbols |= {f"cublasI{letter}{name}{wide}" for letter in "sdcz" for wide in ("", "_64")}
        symbols |= {symbol + "_64" for symbol in re.findall(r"\bWIDTHS\((\w+)\)", text)}
        for symbol in symbols:
            found.setdefault(symbol, []).append(source.stem.removesuffix("_test"))
    return found


def family(symbol):
    """"cublasSgemm_v2" and "cublasZgemm_v2" as one: what they have in common."""
    found = re.fullmatch(r"cublas(I?)((?:Sc|Dz)(?=asum|nrm2)|(?:Cs|Zd)(?=scal|rot)|[SDCZHsdcz])(?!et|reate|estroy)([a-z][a-z0-9]*(?:Strided)?(?:Batched|Ex)?)(_v2)?", symbol)
    if found and found[3] in ("opyEx", "otEx", "otcEx", "calEx", "wapEx"):
        return None
    return found and (found[1] + "_" + found[3], found[2])


def table(all_rows, called):
    """Functions of one routine on a line."""
    lines, merged, refused = ["| function | tested by |", "|---|---|"], {}, []
    for symbol, kind in all_rows:
        if kind == "REFUSED":
            refused.append(symbol)
        elif kind != "WIDE":
            name, letter = family(symbol) or (symbol, None)
            merged.setdefault(name, ([], set()))[0].append(letter or "")
            merged[name][1].update(called.get(symbol, []))
    for name, (letters, tests) in merged.items():
        i, _, rest = name.partition("_") if letters[0] else ("", "", "")
        shown = f"cublas{i}[{', '.join(sorted(letters, key='SDCZH'.find))}]{rest}" if letters[0] else name.removesuffix("_v2")
        lines.append(f"| {shown} | {', '.join(sorted(tests - {'fixture'})[:3]) or 'all'} |")
    refused = [symbol for symbol in refused if not (symbol.endswith("_64") and symbol[:-3] in refused)]
    return "\n".join(lines + ["", f"Refused with CUBLAS_STATUS_NOT_SUPPORTED: {', '.join(refused)}."])


def main():
    libraries = [argument for argument in sys.argv[1:] if argument != "--write"]
    called, wrong, count = callers(), [], 0
    for i, (file, soname) in enumerate(TABLES.items()):
        all_rows = list(rows(file))
        count += len(all_rows)
        wrong += [f"no test calls {symbol}" for symbol, kind in all_rows if kind != "REFUSED" and symbol not in called]
        begin, end = f"<!-- table of {file}: tests/cublas/table_test.py --write -->", f"<!-- end of {file} -->"
        wrong += wrong_page(PAGE, begin, end, table(all_rows, called))
        if libraries:
            if not shutil.which("nm") or not shutil.which("readelf"):
                print("SKIPPED: no nm, or no readelf")
                return 77
            wrong += wrong_library(libraries[i], {symbol for symbol, _ in all_rows}, soname, soname)
    print("\n".join(wrong) if wrong else f"{count} rows, and none that is answered without a test")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
