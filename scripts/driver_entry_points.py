#!/usr/bin/env python3
"""The table of the driver API's entry points, src/driver/entry_points.def, and its enumerations,
src/driver/enumerations.inc, from a CUDA toolkit's public headers and its link stub.

usage: scripts/driver_entry_points.py [--check] [TOOLKIT]

TOOLKIT is /usr/local/cuda unless told. Facts taken: which symbols there are (the stub's), in which CUDA version each
signature came and what it is (cudaTypedefs.h: PFN_NAME_vVERSION[_ptds|_ptsz]), and the numbers of enumerators (cuda.h).
A name's versions and its symbols NAME, NAME_v2, NAME_v3 are matched in order. What the table says beyond that - whether
Lemma implements a row, and else with which error it refuses - is ours, and kept; a new row is refused.
Written are the enumerations that the rows and src/driver/types.h name.

--check writes nothing and fails if either file would change. 77: there is no toolkit, or no g++.
"""

import argparse
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import textwrap

DRIVER = pathlib.Path(__file__).resolve().parents[1] / "src/driver"
TABLE = DRIVER / "entry_points.def"
ENUMERATIONS = DRIVER / "enumerations.inc"
REFUSAL = "CUDA_ERROR_NOT_SUPPORTED"
WIDTH = 118
# Flags that functions take as plain numbers.
FLAGS = """CUctx_flags CUstream_flags CUevent_flags CUevent_record_flags CUevent_wait_flags CUoccupancy_flags
CUmemAttach_flags CUgraphInstantiate_flags CUstreamUpdateCaptureDependencies_flags CUdriverProcAddress_flags
CUjit_target CUjit_cacheMode CUcomputemode CUmemAccess_flags CUshared_carveout CUevent_sched_flags
CUarray_cubemap_face""".split()


def run(*command, text=None):
    done = subprocess.run(command, input=text, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(command)}\n{done.stderr}")
    return done.stdout


def preprocessed(toolkit, headers):
    lines = ["#define __CUDA_API_VERSION_INTERNAL", *(f"#include <{header}>" for header in headers)]
    return run("g++", "-E", "-P", "-xc++", f"-I{toolkit}/include", "-", text="\n".join(lines) + "\n")


def symbols_of(toolkit):
    """{(name, variant): [symbols, oldest first]}; the variant is "", "_ptds" or "_ptsz"."""
    found = {}
    for line in run("nm", "-D", "--defined-only", f"{toolkit}/lib64/stubs/libcuda.so").splitlines():
        symbol = line.split()[-1]
        name, _, version, variant = re.fullmatch(r"(cu\w+?)(_v(\d+))?(_ptds|_ptsz)?", symbol).groups()
        found.setdefault((name, variant or ""), []).append((int(version or 1), symbol))
    return {key: [symbol for _, symbol in sorted(each)] for key, each in found.items()}


def aliases_of(text):
    """{name with a version: the name that means it}: `typedef X_v2 X;`"""
    return {old: new for old, new in re.findall(r"typedef (\w+_v\d+) (\w+);", text) if old.startswith(new + "_v")}


def parameter_types(parameters, aliases):
    if parameters.strip() in ("", "void"):
        return []
    types = []
    for parameter in parameters.split(","):
        words = re.findall(r"\w+|\*|\[\d*\]", parameter)
        pointer = words[-1].startswith("[")
        words = words[: -1 if pointer else None]
        builtin = {"unsigned", "int", "char", "short", "long", "const", "float"}
        if len(words) > 1 and words[-1] != "*" and words[-1] not in builtin:
            words.pop()  # the parameter's name
        words = [aliases.get(word, word) for word in words if word != "struct"]
        if pointer:
            words.append("*")
        text = " ".join(words).replace(" *", "*").replace("**", "**")
        types.append(re.sub(r"\*(?=\w)", "* ", text))
    return types


def signatures_of(text, aliases):
    """{(name, variant): [(version, [types]), oldest first]}"""
    found = {}
    pattern = r"typedef CUresult\s*\(\s*\*\s*PFN_(cu\w+?)_v(\d+)(_ptds|_ptsz)?\s*\)\s*\(([^;]*)\);"
    for name, version, variant, parameters in re.findall(pattern, text):
        found.setdefault((name, variant), {})[int(version)] = parameter_types(parameters, aliases)
    return {key: sorted(each.items()) for key, each in found.items()}


def said_so_far():
    """{symbol: "IMPLEMENTED" or the error}"""
    if not TABLE.exists():
        return {}
    rows = re.findall(r"^(IMPLEMENTED|REFUSED)\(\w+, \d+, (\w+),.*?(?:, (CUDA_ERROR_\w+))?\)$", TABLE.read_text(),
                      re.MULTILINE)
    return {symbol: error or kind for kind, symbol, error in rows}


def table(toolkit):
    text = preprocessed(toolkit, ["cudaTypedefs.h", "cudaProfilerTypedefs.h"])
    aliases = aliases_of(text)
    symbols, signatures = symbols_of(toolkit), signatures_of(text, aliases)
    said = said_so_far()
    rows = []
    for key, names in sorted(symbols.items()):
        name, variant = key
        versions = signatures.get(key, [])
        if len(versions) != len(names):
            sys.exit(f"{name}{variant}: symbols {names}, versions {[version for version, _ in versions]}")
        for symbol, (version, types) in zip(names, versions):
            types_text = ", ".join(types)
            if variant:
                letters = [chr(ord("a") + i) for i in range(len(types))]
                declared = ", ".join(f"{kind} {letter}" for kind, letter in zip(types, letters))
                base = symbol.removesuffix(variant)
                rows.append(f"PER_THREAD({name}, {version}, {variant}, {symbol}, ({declared}), ({', '.join(letters)}), {base})")
            elif said.get(symbol) == "IMPLEMENTED":
                rows.append(f"IMPLEMENTED({name}, {version}, {symbol}, ({types_text}))")
            else:
                rows.append(f"REFUSED({name}, {version}, {symbol}, ({types_text}), {said.get(symbol, REFUSAL)})")
    head = """\
// The driver API's entry points: one row a symbol, one fact a field. Made by scripts/driver_entry_points.py from the
// public headers and the link stub of CUDA 13.0, but for what Lemma does, which is kept when it is made again.
//
//   IMPLEMENTED(name, version, symbol, (parameters))
//   REFUSED(name, version, symbol, (parameters), the error that it returns)
//   PER_THREAD(name, version, variant, symbol, (parameters), (arguments), the symbol that it stands for)
//
// `name` is what cuGetProcAddress is asked for, `version` the CUDA version in which this signature of it came (3020:
// 3.2). A PER_THREAD row is another row's function with the calling thread's default stream in the place of the legacy one.
//
// All return CUresult. Whoever includes this defines the macros, and types.h's types.
"""
    return head + "\n".join(rows) + "\n"


def enumerations(toolkit, rows):
    """Those whose types `rows` or types.h name, as C++."""
    headers = ["cuda.h", "cudaProfiler.h"]
    text = preprocessed(toolkit, headers)
    names = {alias: body for body, alias in re.findall(r"typedef enum\s*\w*\s*\{([^}]*)\}\s*(\w+);", text)}
    named = set(re.findall(r"\w+", rows + (DRIVER / "types.h").read_text())) | set(FLAGS)
    aliases = aliases_of(text)
    wanted = {n: names[n] for n in sorted(names) if aliases.get(n, n) in named}
    head = "// The driver API's enumerations, for types.h. Made by scripts/driver_entry_points.py from cuda.h of CUDA 13.0."
    return head + "\n" + enumerations_text(toolkit, headers, wanted, aliases)


def enumerations_text(toolkit, headers, bodies, aliases):
    """{name: the text between its braces} as C++, under the names that `aliases` gives them."""
    names = {name: [e.split("=")[0].strip() for e in re.sub(r"__attribute__\(\(.*?\)\)", "", body).split(",") if e.strip()]
             for name, body in bodies.items()}
    program = ["#define __CUDA_API_VERSION_INTERNAL", *(f"#include <{header}>" for header in headers), "#include <cstdio>", "int main() {"]
    for each in names.values():
        program += [f'std::printf("%lld\\n", (long long){e});' for e in each]
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder) / "values.cc"
        source.write_text("\n".join(program + ["}"]))
        run("g++", "-w", f"-I{toolkit}/include", str(source), "-o", folder + "/values")
        values = iter(run(folder + "/values").split())
    out = []
    for name, enumerators in names.items():
        numbered = [(e, int(next(values))) for e in enumerators]
        kind = "int" if any(value < 0 for _, value in numbered) else "unsigned"
        # The blanks around = are put in when the lines are broken.
        body = ", ".join(f"{e}~=~{value}" if value < 2**31 else f"{e}~=~{value:#x}" for e, value in numbered)
        wrapped = textwrap.fill(body, WIDTH, initial_indent="  ", subsequent_indent="  ", break_long_words=False).replace("~", " ")
        out.append(f"enum {aliases.get(name, name)} : {kind} {{\n{wrapped}\n}};")
    return "\n".join(out) + "\n"


def write_or_check(files, check, toolkit):
    """Writes {path: text}; with `check` says which would change. The exit status."""
    changed = [path for path, text in files.items() if not path.exists() or path.read_text() != text]
    for path in changed:
        if check:
            print(f"{path.relative_to(DRIVER.parents[1])} is not what {toolkit} gives: run {sys.argv[0]}")
        else:
            path.write_text(files[path])
    return 1 if check and changed else 0


def main():
    arguments = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    arguments.add_argument("--check", action="store_true")
    arguments.add_argument("toolkit", nargs="?", default="/usr/local/cuda")
    options = arguments.parse_args()
    stub = pathlib.Path(options.toolkit) / "lib64/stubs/libcuda.so"
    if not stub.exists() or not shutil.which("g++") or not shutil.which("nm"):
        print(f"SKIPPED: no {stub}, or no g++ or nm")
        return 77
    version = re.search(r"#define CUDA_VERSION (\d+)", (pathlib.Path(options.toolkit) / "include/cuda.h").read_text())[1]
    if options.check and version != "13000":
        print(f"SKIPPED: the table is that of CUDA 13.0, and this is {version}")
        return 77
    rows = table(options.toolkit)
    return write_or_check({TABLE: rows, ENUMERATIONS: enumerations(options.toolkit, rows)}, options.check, options.toolkit)


if __name__ == "__main__":
    sys.exit(main())
