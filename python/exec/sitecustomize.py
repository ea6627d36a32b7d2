"""What `lemma exec` adds to each Python that it starts: PyTorch's operators on the CPU, once torch is imported.

Python imports this at its start, from the folder that `lemma exec` has put into PYTHONPATH. The sitecustomize that this one hides is
imported too. `python -I` and `-E` do not look at PYTHONPATH, `-S` imports no sitecustomize: torch stays as it is there, and
`import lemma_torch` does by hand what is done here.
"""

import importlib.machinery
import importlib.util
import os
import sys

_FOLDER = os.path.dirname(os.path.abspath(__file__))


class _AfterTorch:
    """A finder of modules that lets the others find torch, and imports lemma_torch when torch has been imported."""

    @classmethod
    def find_spec(cls, name, path=None, target=None):
        if name != "torch":
            return None
        sys.meta_path.remove(cls)
        spec = importlib.util.find_spec(name)
        if spec is None or spec.loader is None:
            return spec
        loader, execute = spec.loader, spec.loader.exec_module

        def exec_module(module):
            execute(module)
            loader.exec_module = execute
            import lemma_torch  # noqa: F401

        loader.exec_module = exec_module
        return spec


def _import_the_hidden_one():
    others = [folder for folder in sys.path if os.path.abspath(folder or ".") != _FOLDER]
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", others)
    if spec is not None and spec.loader is not None:
        module = importlib.util.module_from_spec(spec)
        sys.modules["sitecustomize"] = module
        spec.loader.exec_module(module)


sys.meta_path.insert(0, _AfterTorch)
_import_the_hidden_one()
