"""What `lemma exec` adds to each Python that it starts, once torch, Triton or JAX is imported: lemma_torch, lemma_triton, lemma_jax, ...

Python imports this at its start, from the folder that `lemma exec` has put into PYTHONPATH. The sitecustomize that this one hides is
imported too. `python -I` and `-E` do not look at PYTHONPATH, `-S` imports no sitecustomize: these stay as they are there.
"""

import importlib
import importlib.machinery
import importlib.util
import os
import sys

_FOLDER = os.path.dirname(os.path.abspath(__file__))

# After which module, what is called with it: module and function.
_AFTER = {
    "cutlass._mlir._mlir_libs": ("lemma_cute", "prepare"),
    "cutlass.cutlass_dsl.cuda_jit_executor": ("lemma_cute", "use_the_shared_runtime"),
    "jax._src.hardware_utils": ("lemma_jax", "show_the_gpu"),
    "jax_plugins.xla_cuda13": ("lemma_jax", "prepare"),
    "torch": ("lemma_torch", "follow"),
    "torch.utils.cpp_extension": ("lemma_extension", "keep_lines_and_ptx"),
    "torch._inductor.runtime.triton_heuristics": ("lemma_triton", "take_one_configuration_of_inductor"),
    "triton.knobs": ("lemma_triton", "keep_ptx"),
    "triton.runtime.autotuner": ("lemma_triton", "take_one_configuration"),
    "triton.testing": ("lemma_triton", "run_benchmarks_once"),
}


class _Follow:
    """A finder of modules that lets the others find them, and has something done when one has been imported."""

    @classmethod
    def find_spec(cls, name, path=None, target=None):
        if name not in _AFTER:
            return None
        found = (finder.find_spec(name, path, target) for finder in sys.meta_path if finder is not cls and hasattr(finder, "find_spec"))
        spec = next((spec for spec in found if spec is not None), None)
        if spec is None or spec.loader is None:
            return spec
        loader, execute = spec.loader, spec.loader.exec_module

        def exec_module(module):
            execute(module)
            follower, function = _AFTER[name]
            getattr(importlib.import_module(follower), function)(module)

        loader.exec_module = exec_module
        return spec


def _import_the_hidden_one():
    others = [folder for folder in sys.path if os.path.abspath(folder or ".") != _FOLDER]
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", others)
    if spec is not None and spec.loader is not None:
        module = importlib.util.module_from_spec(spec)
        sys.modules["sitecustomize"] = module
        spec.loader.exec_module(module)


sys.meta_path.insert(0, _Follow)
_import_the_hidden_one()
