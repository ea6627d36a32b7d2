"""CUDA extensions of PyTorch on the virtual GPU: torch.utils.cpp_extension has nvcc keep lines (-lineinfo) and PTX of what it compiles for.

The runtime is shared already: extensions are linked with -lcudart, which is the shared one. Extensions that are built when they are
loaded lie in another folder than a GPU's, unless TORCH_EXTENSIONS_DIR says where.
"""

import functools
import os
import pathlib
import re

_MACHINE_CODE = re.compile(r"arch=compute_(\w+),code=sm_\1$")


def _ptx_of(flags):
    """Options that add PTX for each target of which there is machine code alone."""
    return [f"-gencode=arch=compute_{target},code=compute_{target}" for target in dict.fromkeys(_targets_without_ptx(flags))]


def _targets_without_ptx(flags):
    targets = [match.group(1) for match in map(_MACHINE_CODE.search, flags) if match]
    return [target for target in targets if not any(f"compute_{target}" in flag.partition(",code=")[2] for flag in flags)]


def keep_lines_and_ptx(cpp_extension):
    flags_of = cpp_extension._get_cuda_arch_flags

    @functools.wraps(flags_of)
    def with_ptx(cflags=None):
        flags = flags_of(cflags)
        return [*flags, *_ptx_of([*flags, *(cflags or ())])]

    cpp_extension._get_cuda_arch_flags = with_ptx
    if "-lineinfo" not in cpp_extension.COMMON_NVCC_FLAGS:
        cpp_extension.COMMON_NVCC_FLAGS.append("-lineinfo")
    caches = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "lemma"
    os.environ.setdefault("TORCH_EXTENSIONS_DIR", str(caches / "torch_extensions"))
