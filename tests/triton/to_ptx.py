"""What compiles Triton kernels to committed PTX: the pinned version, one compilation, writing or comparing the files.

Needs Triton, no GPU. tests/triton/compile.py and bench/triton/compile.py say which kernels.
"""

import argparse
import os
import re
import sys

os.environ["TRITON_DISABLE_LINE_INFO"] = "1"  # no paths of this machine in the files
os.environ["TRITON_ALWAYS_COMPILE"] = "1"

import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

VERSION = "3.5.1"


def compile(kernel, types, constants, divisible, sm, options, source=ASTSource):
    """(PTX, Triton's metadata). `types` of the parameters that are no constants, by name; `divisible`: the names of those
    that are multiples of 16; `source`: GluonASTSource of a kernel of Gluon."""
    names = [p.name for p in kernel.params]
    signature = {p: types.get(p, "constexpr") for p in names}
    attrs = {(i,): [["tt.divisibility", 16]] for i, p in enumerate(names) if p in divisible}
    values = {(names.index(p),): value for p, value in constants.items()}
    done = triton.compile(source(kernel, signature, values, attrs), target=GPUTarget("cuda", sm, 32), options=options)
    return re.sub(r"\n//[^\n]*", "", done.asm["ptx"]).strip() + "\n", done.metadata


def main(description, folder, make_files, versions=(VERSION,)):
    """The exit status. `make_files()`: the texts of the files by their paths in the folder; --check compares them only."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    check = parser.parse_args().check
    if triton.__version__ not in versions:
        sys.exit(f"compile.py: Triton {' or '.join(versions)} makes these files, this is {triton.__version__}")
    files, wrong = make_files(), 0
    for file, text in files.items():
        path = folder / file
        if not check:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        elif not path.exists() or path.read_text() != text:
            wrong += 1
            print(f"{file}: not what Triton {triton.__version__} makes of kernels.py")
    print(f"{len(files)} files, {wrong} differ" if check else f"{len(files)} files written")
    return 1 if wrong else 0
