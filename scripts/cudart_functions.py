#!/usr/bin/env python3
"""The table of the CUDA runtime API's functions, src/cudart/functions.def, and its enumerations,
src/cudart/enumerations.inc, from a CUDA toolkit's public headers and the list of symbols of its runtime.

usage: scripts/cudart_functions.py [--check] [TOOLKIT]

TOOLKIT is /usr/local/cuda unless told. Facts taken: which symbols libcudart.so.13 exports (nm), how they are declared
(cuda_runtime_api.h, cuda_profiler_api.h, crt/host_runtime.h, crt/device_functions.h; of those that these no longer
declare, generated_cuda_runtime_api_meta.h), and the numbers of enumerators. What the table says beyond that - whether
Lemma implements a row - is ours, and kept; a new row is refused.

--check writes nothing and fails if a file would change. 77: there is no toolkit, or no g++.
"""

import argparse
import pathlib
import re
import shutil
import sys

from driver_entry_points import enumerations_text, parameter_types, preprocessed, run, write_or_check

ROOT = pathlib.Path(__file__).resolve().parents[1]
TABLE = ROOT / "src/cudart/functions.def"
ENUMERATIONS = ROOT / "src/cudart/enumerations.inc"
HEADERS = ["cuda_runtime_api.h", "cuda_profiler_api.h"]
# What nvcc's host code calls; written for nvcc alone, so read as they are.
REGISTRATION = ["crt/host_runtime.h", "crt/device_functions.h"]


def split(parameters):
    return [re.sub(r"=.*", "", each).strip() for each in parameters.split(",")]


def types_of(parameters):
    text = re.sub(r"\b(struct|enum)\b", " ", parameters)
    text = re.sub(r"\[\d*\]", "", text)
    return parameter_types(",".join(split(text)), {})


def declarations(toolkit):
    """{symbol: (result, [types])}"""
    found = {}
    text = preprocessed(toolkit, HEADERS)
    for header in REGISTRATION:
        raw = (pathlib.Path(toolkit) / "include" / header).read_text()
        raw = re.sub(r"//[^\n]*|/\*.*?\*/", "", raw, flags=re.DOTALL)
        declared = re.findall(r"\b((?:unsigned|cudaError_t|void|char)[\s*][^;{}#()]*?\b__cuda\w+\s*\([^;{}#()]*\))\s*;", raw)
        text += "".join(f"\nextern {each};" for each in declared)
    text = re.sub(r"\b(CUDARTAPI|__host__|__device__)\b|\"C\"", " ", text)
    for result, symbol, parameters in re.findall(r"extern\s+([\w\s*]+?)\s*\b(\w+)\s*\(([^;{]*?)\)\s*;", text):
        found.setdefault(symbol, (" ".join(re.sub(r"\bstruct\b", "", result).split()).replace(" *", "*"), types_of(parameters)))
    # Deprecated functions, which the preprocessor shows with an attribute.
    for symbol, parameters in re.findall(r"cudaError_t\s+(cuda\w+)\s*\(([^;{]*?)\)\s*;", text):
        found.setdefault(symbol, ("cudaError_t", types_of(parameters)))
    meta = (pathlib.Path(toolkit) / "include/generated_cuda_runtime_api_meta.h").read_text()
    for members, symbol in re.findall(r"typedef struct \w+ \{([^}]*)\} (cuda\w+?)_v\d+_params;", meta):
        found.setdefault(symbol, ("cudaError_t", types_of(",".join(members.split(";")[:-1]))))
    return found


def symbols_of(toolkit):
    listing = run("nm", "-D", "--defined-only", f"{toolkit}/lib64/libcudart.so.13")
    symbols = [line.split()[-1].split("@")[0] for line in listing.splitlines()]
    return sorted(symbol for symbol in symbols if symbol.startswith(("cuda", "__cuda")))


def said_so_far():
    if not TABLE.exists():
        return set()
    return set(re.findall(r"^IMPLEMENTED\(.*?, (\w+), \(", TABLE.read_text(), re.MULTILINE))


HEAD = """\
// The CUDA runtime API's functions: one row a symbol of libcudart.so.13, one fact a field. Made by
// scripts/cudart_functions.py from the public headers of CUDA 13.0 and the list of its runtime's symbols, but for what
// Lemma does, which is kept when it is made again.
//
//   IMPLEMENTED(result, symbol, (parameters))
//   REFUSED(result, symbol, (parameters))               returns cudaErrorNotSupported
//   PER_THREAD(result, symbol, (parameters), (arguments), the symbol that it stands for)
//   UNDECLARED(symbol)                                  refused as well: no header that is read says what it takes
//
// A PER_THREAD row is another row's function with the calling thread's default stream in the place of the legacy one.
// Whoever includes this defines the macros, and types.h's types.
"""


def table(toolkit):
    declared, said = declarations(toolkit), said_so_far()
    rows = []
    for symbol in symbols_of(toolkit):
        base = re.sub(r"_pt[ds][sz]$", "", symbol)
        if base not in declared:
            rows.append(f"UNDECLARED({symbol})")
            continue
        result, types = declared[base]
        if base != symbol:
            letters = [chr(ord("a") + i) for i in range(len(types))]
            with_letters = ", ".join(f"{kind} {letter}" for kind, letter in zip(types, letters))
            rows.append(f"PER_THREAD({result}, {symbol}, ({with_letters}), ({', '.join(letters)}), {base})")
        else:
            kind = "IMPLEMENTED" if symbol in said else "REFUSED"
            rows.append(f"{kind}({result}, {symbol}, ({', '.join(types)}))")
    return HEAD + "\n".join(rows) + "\n"


def enumerations(toolkit):
    text = preprocessed(toolkit, HEADERS)
    bodies = {}
    for name, body, alias in re.findall(r"\benum\s+(\w*)\s*\{([^}]*)\}\s*(\w*)\s*;", text):
        if (alias or name).startswith("cuda"):
            bodies[alias or name] = body
    head = "// The runtime API's enumerations, for types.h. Made by scripts/cudart_functions.py from the headers of CUDA 13.0.\n"
    return head + enumerations_text(toolkit, HEADERS, dict(sorted(bodies.items())), {})


def main():
    arguments = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    arguments.add_argument("--check", action="store_true")
    arguments.add_argument("toolkit", nargs="?", default="/usr/local/cuda")
    options = arguments.parse_args()
    library = pathlib.Path(options.toolkit) / "lib64/libcudart.so.13"
    if not library.exists() or not shutil.which("g++") or not shutil.which("nm"):
        print(f"SKIPPED: no {library}, or no g++ or nm")
        return 77
    header = (pathlib.Path(options.toolkit) / "include/cuda_runtime_api.h").read_text()
    version = re.search(r"#define CUDART_VERSION\s+(\d+)", header)[1]
    if options.check and version != "13000":
        print(f"SKIPPED: the table is that of CUDA 13.0, and this is {version}")
        return 77
    files = {TABLE: table(options.toolkit), ENUMERATIONS: enumerations(options.toolkit)}
    return write_or_check(files, options.check, options.toolkit)


if __name__ == "__main__":
    sys.exit(main())
