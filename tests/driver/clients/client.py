"""What the scripts of this folder share: each runs an unmodified package of PyPI's on Lemma's driver, and is skipped where the
package is not there.
"""

import importlib
import sys

SKIPPED = 77  # as CMakeLists.txt has it


def modules(*names: str):
    """The modules, or the end of the script."""
    found = []
    for name in names:
        try:
            found.append(importlib.import_module(name))
        except ImportError as problem:
            print(f"SKIPPED: {problem}")
            sys.exit(SKIPPED)
    return found


def toolkit() -> str:
    """The folder of CUDA's headers and libraries, for packages that compile CUDA C++."""
    import os
    import pathlib

    folder = pathlib.Path(os.environ.get("CUDA_HOME", "/usr/local/cuda"))
    if not (folder / "include" / "cuda.h").exists():
        print(f"SKIPPED: no CUDA toolkit in {folder} (CUDA_HOME)")
        sys.exit(SKIPPED)
    return str(folder)
