#!/usr/bin/env python3
"""What `--check` finds in kernels of CUTLASS and CuTe: the programs of cutlass/, compiled with CUTLASS's headers, compared with
cutlass/table.txt. A row is as in library/table.txt.

usage: cutlass.py --lemma LEMMA --nvcc NVCC --cutlass FOLDER [--programs FOLDER] [--write]

FOLDER has CUTLASS's include and tools/util/include; --programs: where the compiled programs are, or go (they take minutes).
"""

import argparse
import pathlib
import subprocess
import sys
import tempfile

import library

HERE = pathlib.Path(__file__).resolve().parent / "cutlass"
TABLE = HERE / "table.txt"
HEAD = """# What `lemma exec --check` finds in kernels of CUTLASS 4.2 and CuTe: cutlass.py --write.
# Findings by id, with their number where there are several.
"""


def compile(nvcc, cutlass, source, program):
    arch = "arch=compute_90a,code=compute_90a"
    command = [nvcc, "-std=c++17", "-cudart", "shared", "-lineinfo", "--expt-relaxed-constexpr", "-gencode", arch]
    command += [f"-I{cutlass}/include", f"-I{cutlass}/tools/util/include", str(source), "-lcuda", "-o", str(program)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{source.name} does not compile:\n{done.stderr[:4000]}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--lemma", required=True)
    parser.add_argument("--nvcc", required=True)
    parser.add_argument("--cutlass", required=True, type=pathlib.Path)
    parser.add_argument("--programs", type=pathlib.Path)
    parser.add_argument("--write", action="store_true")
    words = parser.parse_args()
    rows, sources = [], sorted(HERE.glob("*.cu"))
    with tempfile.TemporaryDirectory(prefix="lemma-cutlass-") as scratch:
        for source in sources:
            program = (words.programs or pathlib.Path(scratch)) / source.stem
            if not program.exists():
                compile(words.nvcc, words.cutlass, source, program)
            rows += library.rows_of(words.lemma, program, set())
    table = library.table_of(HEAD, rows)
    if words.write:
        TABLE.write_text(table)
        return
    differ = library.differences(TABLE.read_text(), table)
    print("\n".join(differ) or f"{len(rows)} kernels of {len(sources)} programs are as the table says")
    sys.exit(1 if differ or not rows else 0)


if __name__ == "__main__":
    main()
