"""JAX on the virtual GPU: `lemma exec` calls these where jax's plugin for CUDA, and what looks for a GPU, have been imported.

XLA compiles by ptxas, or gives PTX to the driver, and not by libraries that are linked into it or keep no PTX. Nothing is autotuned, and
products stay in XLA's own code: cuBLAS, cuDNN and the like hold machine code alone. What the user has set stays: XLA takes the last of
two flags, and variables of the environment are set where they are not.
"""

import os

# What XLA's flags are before the user's.
_FLAGS = (
    "--xla_gpu_autotune_level=0",
    "--xla_gpu_enable_libnvptxcompiler=false",
    "--xla_gpu_enable_libnvjitlink=false",
    "--xla_gpu_unsafe_fallback_to_driver_on_ptxas_not_found=true",
    "--xla_gpu_cublas_fallback=false",
    "--xla_gpu_gemm_rewrite_size_threshold=9223372036854775807",
)
_WITHOUT = "--xla_disable_hlo_passes="  # has a list, which the last one replaces
_CUDNN = "conv-rewriter"  # without it XLA makes a kernel of a convolution, as of all else
_VARIABLES = {
    "JAX_SKIP_CUDA_CONSTRAINTS_CHECK": "1",  # versions of those libraries
    "XLA_PYTHON_CLIENT_PREALLOCATE": "false",  # most of the GPU's memory
}
_LOG_LEVEL_OF_JAX = "1"  # what jax sets where nobody has


def prepare(plugin):
    """The plugin reads the environment when jax initializes it, and XLA when the GPU is used first."""
    for name, value in _VARIABLES.items():
        os.environ.setdefault(name, value)
    if os.environ.get("TF_CPP_MIN_LOG_LEVEL", _LOG_LEVEL_OF_JAX) == _LOG_LEVEL_OF_JAX:
        os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"  # each compilation would say that there is no cuDNN; errors are exceptions all the same
    given = os.environ.get("XLA_FLAGS", "")
    if _FLAGS[0] in given.split():  # a child of a process that has set them
        return
    if _WITHOUT in given:
        given = given.replace(_WITHOUT, f"{_WITHOUT}{_CUDNN},")
    os.environ["XLA_FLAGS"] = " ".join(filter(None, (*_FLAGS, "" if _WITHOUT in given else _WITHOUT + _CUDNN, given)))


def show_the_gpu(hardware_utils):
    """jax looks for NVIDIA's devices in /dev."""
    hardware_utils.has_visible_nvidia_gpu = lambda: True
