#!/usr/bin/env python3
"""Compiles kernels.py and small_kernels.py to ptx/NAME.sm_XX.ptx and launches.json. Needs Triton, no GPU; the files are committed.

    python3 -m venv triton && triton/bin/pip install triton==3.5.1
    triton/bin/python tests/triton/compile.py [--check]

--check writes nothing and fails if a committed file is not what this Triton makes.
"""

import json
import pathlib
import sys

import to_ptx

import kernels
import small_kernels


def compile(variant, sm):
    """(PTX, how it is launched)"""
    signature = variant.signature
    # Pointers come aligned to 16 bytes, as a framework allocates them, and sizes are multiples of 16.
    divisible = {p for p in signature if signature[p].startswith("*") or p in ("m", "n", "k", "stride", "length")}
    options = {"num_warps": variant.num_warps, "num_stages": variant.num_stages, "enable_fp_fusion": variant.fusion}
    ptx, meta = to_ptx.compile(variant.kernel, signature, variant.constants, divisible, sm, options)
    names = [p.name for p in variant.kernel.params]
    return ptx, {
        "entry": meta.name,
        "threads": 32 * variant.num_warps,
        "cluster": meta.num_ctas,
        "shared_bytes": meta.shared,
        "scratch_bytes": meta.global_scratch_size,  # of a CTA
        "parameters": [p for p in names if signature.get(p, "constexpr") != "constexpr"] + ["scratch", "profile"],
    }


def make_files():
    files, launches = {}, {"triton": to_ptx.VERSION}
    for name, variant in {**kernels.VARIANTS, **small_kernels.VARIANTS}.items():
        for sm in variant.targets:
            ptx, launch = compile(variant, sm)
            files[f"ptx/{name}.sm_{sm}.ptx"] = f"// Triton {to_ptx.VERSION}, tests/triton/kernels.py\n" + ptx
            launches[f"{name}.sm_{sm}"] = launch
    files["launches.json"] = json.dumps(launches, indent=1) + "\n"
    return files


if __name__ == "__main__":
    sys.exit(to_ptx.main(__doc__, pathlib.Path(__file__).resolve().parent, make_files))
