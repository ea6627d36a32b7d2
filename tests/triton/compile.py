#!/usr/bin/env python3
"""Compiles kernels.py and small_kernels.py to ptx/NAME.sm_XX.ptx and launches.json. Needs Triton, no GPU; the files are committed.

    python3 -m venv triton && triton/bin/pip install triton==3.5.1
    triton/bin/python tests/triton/compile.py [--check]

--check writes nothing and fails if a committed file is not what this Triton makes.
"""

import argparse
import json
import os
import pathlib
import re
import sys

os.environ["TRITON_DISABLE_LINE_INFO"] = "1"  # no paths of this machine in the files
os.environ["TRITON_ALWAYS_COMPILE"] = "1"

import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

import kernels
import small_kernels

VERSION = "3.5.1"
FOLDER = pathlib.Path(__file__).resolve().parent


def compile(name, variant, sm):
    """(PTX, how it is launched)"""
    names = [p.name for p in variant.kernel.params]
    signature = {p: variant.signature.get(p, "constexpr") for p in names}
    # Pointers come aligned to 16 bytes, as a framework allocates them, and sizes are multiples of 16.
    attrs = {
        (i,): [["tt.divisibility", 16]]
        for i, p in enumerate(names)
        if signature[p].startswith("*") or p in ("m", "n", "k", "stride", "length")
    }
    constants = {(names.index(p),): value for p, value in variant.constants.items()}
    done = triton.compile(
        ASTSource(variant.kernel, signature, constants, attrs),
        target=GPUTarget("cuda", sm, 32),
        options={
            "num_warps": variant.num_warps,
            "num_stages": variant.num_stages,
            "enable_fp_fusion": variant.fusion,
        },
    )
    meta = done.metadata
    ptx = re.sub(r"\n//[^\n]*", "", done.asm["ptx"]).strip() + "\n"
    return ptx, {
        "entry": meta.name,
        "threads": 32 * variant.num_warps,
        "cluster": meta.num_ctas,
        "shared_bytes": meta.shared,
        "scratch_bytes": meta.global_scratch_size,  # of a CTA
        "parameters": [p for p in names if signature[p] != "constexpr"] + ["scratch", "profile"],
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    check = parser.parse_args().check
    if triton.__version__ != VERSION:
        sys.exit(f"compile.py: Triton {VERSION} makes these files, this is {triton.__version__}")
    files, launches = {}, {"triton": VERSION}
    for name, variant in {**kernels.VARIANTS, **small_kernels.VARIANTS}.items():
        for sm in variant.targets:
            ptx, launch = compile(name, variant, sm)
            files[f"ptx/{name}.sm_{sm}.ptx"] = f"// Triton {VERSION}, tests/triton/kernels.py\n" + ptx
            launches[f"{name}.sm_{sm}"] = launch
    files["launches.json"] = json.dumps(launches, indent=1) + "\n"
    wrong = 0
    for file, text in files.items():
        path = FOLDER / file
        if not check:
            path.parent.mkdir(exist_ok=True)
            path.write_text(text)
        elif not path.exists() or path.read_text() != text:
            wrong += 1
            print(f"{file}: not what Triton {VERSION} makes of kernels.py")
    print(f"{len(files)} files, {wrong} differ" if check else f"{len(files)} files written")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
