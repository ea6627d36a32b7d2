#!/usr/bin/env python3
"""liblemma.so exports the functions that include/lemma/c.h and what it includes declare, and nothing else: no LLVM, no
libstdc++; its SONAME has the version's first two numbers (before 1.0; then the first); it needs no C++ library.

usage: exports_test.py LIBRARY INCLUDE_FOLDER VERSION   77: there is no nm or readelf.
"""

import pathlib
import re
import shutil
import subprocess
import sys

LIBRARY, INCLUDE, VERSION = sys.argv[1:]


def declared():
    headers = [pathlib.Path(INCLUDE) / "lemma/c.h", *sorted((pathlib.Path(INCLUDE) / "lemma/c").glob("*.h"))]
    names = []
    for header in headers:
        text = re.sub(r"//[^\n]*", "", header.read_text())
        names += re.findall(r"LEMMA_API\b[^;]*?\b(lemma_\w+)\(", text)
    return names


def output(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def main():
    if not shutil.which("nm") or not shutil.which("readelf"):
        print("SKIPPED: no nm, or no readelf")
        return 77
    names = declared()
    assert len(names) == len(set(names)), "a function is declared twice"
    lines = [line.split() for line in output("nm", "-D", "--defined-only", LIBRARY).splitlines()]
    exported = {fields[-1].split("@")[0] for fields in lines}
    wrong = [f"{name} is exported and not declared" for name in sorted(exported - set(names))]
    wrong += [f"{name} is declared and not exported" for name in sorted(set(names) - exported)]
    dynamic = output("readelf", "-d", "-W", LIBRARY)
    numbers = VERSION.split(".")
    soname = "liblemma.so." + (".".join(numbers[:2]) if numbers[0] == "0" else numbers[0])
    if f"[{soname}]" not in dynamic:
        wrong.append(f"the SONAME is not {soname}")
    needed = re.findall(r"NEEDED.*\[(.*)\]", dynamic)
    allowed = r"(libc|libm|libdl|libpthread|libz|libzstd|ld-linux-x86-64)\.so.*"
    wrong += [f"it needs {library}" for library in needed if not re.fullmatch(allowed, library)]
    print("\n".join(wrong) if wrong else f"{len(names)} functions, {soname}, which needs {', '.join(needed)}")
    return 1 if wrong else 0


sys.exit(main())
