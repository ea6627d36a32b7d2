#!/usr/bin/env python3
"""Compiles training_kernels.py for sm_90 to ptx/VERSION/NAME.ptx and launches.json there, by the Triton that runs it: one of VERSIONS. Needs no
GPU; the files are committed.

    python3 -m venv triton && triton/bin/pip install --no-deps triton==3.6.0
    triton/bin/python tests/triton/training/compile.py [--check]

--check writes nothing and fails if a committed file is not what this Triton makes.
"""

import json
import pathlib
import sys

FOLDER = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(FOLDER.parent))
import to_ptx  # noqa: E402

import training_kernels  # noqa: E402

VERSIONS = ("3.6.0", "3.9.0")


def make_files():
    version = to_ptx.triton.__version__
    files, launches = {}, {}
    for name, (kernel, types, constants, num_warps) in training_kernels.VARIANTS.items():
        # Pointers come aligned to 16 bytes, as a framework allocates them.
        divisible = {parameter for parameter, type in types.items() if type.startswith("*")}
        order = {p.name: types[p.name] for p in kernel.params if p.name in types}
        ptx, meta = to_ptx.compile(kernel, order, constants, divisible, 90, {"num_warps": num_warps, "enable_fp_fusion": True})
        files[f"ptx/{version}/{name}.ptx"] = f"// Triton {version}, tests/triton/training/training_kernels.py\n{ptx}"
        launches[name] = {
            "threads": 32 * num_warps,
            "cluster": meta.num_ctas,
            "shared_bytes": meta.shared,
            "scratch_bytes": meta.global_scratch_size,  # of a CTA
            "parameters": [*order, "scratch", "profile"],
        }
    files[f"ptx/{version}/launches.json"] = json.dumps(launches, indent=1) + "\n"
    return files


if __name__ == "__main__":
    sys.exit(to_ptx.main(__doc__, FOLDER, make_files, VERSIONS))
