#!/usr/bin/env python3
"""Compiles kernels.py and gluon_kernels.py to ptx/NAME.ptx and launches.json. Needs Triton, no GPU; the files are committed.

    python3 -m venv triton && triton/bin/pip install --no-deps triton==3.9.0 numpy
    triton/bin/python tests/triton/blackwell/compile.py [--check]

--check writes nothing and fails if a committed file is not what this Triton makes.
"""

import json
import pathlib
import sys

FOLDER = pathlib.Path(__file__).resolve().parent
sys.path.insert(1, str(FOLDER.parent))
import to_ptx  # noqa: E402

import gluon_kernels  # noqa: E402
import kernels  # noqa: E402
from triton.compiler import ASTSource  # noqa: E402
from triton.experimental.gluon._runtime import GluonASTSource  # noqa: E402

VERSION = "3.9.0"


def make_files():
    files, launches = {}, {}
    for name, variant in {**kernels.VARIANTS, **gluon_kernels.VARIANTS}.items():
        # Pointers come aligned to 16 bytes, as a framework allocates them, and sizes are multiples of 16.
        divisible = {p for p, type in variant.signature.items() if type.startswith("*") or p in ("m", "n", "k", "length")}
        options = {"num_warps": variant.num_warps, "num_stages": variant.num_stages, **variant.options}
        source = GluonASTSource if name in gluon_kernels.VARIANTS else ASTSource
        ptx, meta = to_ptx.compile(
            variant.kernel, variant.signature, variant.constants, divisible, 100, options, source
        )
        files[f"ptx/{name}.ptx"] = f"// Triton {VERSION}, tests/triton/blackwell/kernels.py\n" + ptx
        launches[name] = {
            "threads": 32 * meta.num_warps,
            "cluster": meta.num_ctas,
            "shared_bytes": meta.shared,
            "scratch_bytes": meta.global_scratch_size,  # of a CTA
            "parameters": list(variant.signature),
        }
    files["launches.json"] = json.dumps(launches, indent=1) + "\n"
    return files


if __name__ == "__main__":
    sys.exit(to_ptx.main(__doc__, FOLDER, make_files, (VERSION,)))
