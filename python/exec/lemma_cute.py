"""CuTe DSL (nvidia-cutlass-dsl) on the virtual GPU: cubins with PTX and lines, and Lemma's runtime in place of the one that is linked in.

Host code of its kernels calls CUDA by names that libcute_dsl_runtime.so has (_cudaMalloc); liblemma_cute_dsl.so has them too, and is named
before it. What its Python code asks of cuda.bindings.runtime, where NVIDIA's runtime is linked in as well, is asked of libcudart.so.13.
"""

import ctypes
import os
import pathlib

_LIBRARY = pathlib.Path(os.path.abspath(__file__)).parent.parent / "liblemma_cute_dsl.so"  # of lemma exec; the file may be a link


def prepare(_mlir_libs):
    """CuTe DSL has chosen its library, and reads these variables when it compiles."""
    os.environ.setdefault("CUTE_DSL_LINEINFO", "1")
    libraries = os.environ.get("CUTE_DSL_LIBS") or os.pathsep.join(map(str, _own_libraries(_mlir_libs)))
    if str(_LIBRARY) not in libraries.split(os.pathsep):
        os.environ["CUTE_DSL_LIBS"] = os.pathsep.join(filter(None, (str(_LIBRARY), libraries)))


def _own_libraries(_mlir_libs):
    root = pathlib.Path(_mlir_libs.__file__).resolve().parents[4]
    return sorted(root.glob("cu*/lib/libcute_dsl_runtime.so"))[-1:]


def use_the_shared_runtime(executor):
    runtime, shared = executor.cuda_runtime, ctypes.CDLL("libcudart.so.13")

    def gives_a_number(name):
        def function():
            number = ctypes.c_int()
            status = runtime.cudaError_t(getattr(shared, name)(ctypes.byref(number)))
            return status, number.value

        return function

    def takes_handles(name):
        def function(*handles):
            return (runtime.cudaError_t(getattr(shared, name)(*(ctypes.c_void_p(int(handle)) for handle in handles))),)

        return function

    for name in ("cudaGetDeviceCount", "cudaGetDevice"):
        setattr(runtime, name, gives_a_number(name))
    for name in ("cudaLibraryUnload", "cudaDeviceSynchronize", "cudaStreamSynchronize"):
        setattr(runtime, name, takes_handles(name))
