"""Triton on the virtual GPU: its cubins keep their PTX, and what would take hours there, and says nothing about a GPU, is left out.

Autotuning takes the first configuration that a kernel's pruning leaves and that the GPU has room for; with LEMMA_AUTOTUNE=all each is
compiled and run. A benchmark runs what it times once, and says how long that took here. Caches on disk are others than a GPU's: what
was the fastest there is no matter here, nor the reverse.
"""

import atexit
import functools
import os
import pathlib
import sys
import time

_PROGRAMS = pathlib.Path(os.path.abspath(__file__)).parent.parent / "bin"  # of lemma exec; the file may be a link

_kernels_with_a_choice = set()


def _caches_of_its_own():
    """In place of the defaults of Triton and of torch.compile."""
    caches = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "lemma"
    os.environ.setdefault("TRITON_CACHE_DIR", str(caches / "triton"))
    os.environ.setdefault("TORCHINDUCTOR_CACHE_DIR", str(caches / "inductor"))


def _takes_all():
    return os.environ.get("LEMMA_AUTOTUNE") == "all"


def _say_what_was_taken():
    if _kernels_with_a_choice:
        count = len(_kernels_with_a_choice)
        kernels = f"of {count} kernels" if count > 1 else f"of {next(iter(_kernels_with_a_choice))}"
        print(f"lemma: autotuning took the first configuration {kernels} (LEMMA_AUTOTUNE=all runs each)", file=sys.stderr)


def _first(configurations, kernel):
    configurations = list(configurations)
    if len(configurations) > 1:
        if not _kernels_with_a_choice:
            atexit.register(_say_what_was_taken)
        _kernels_with_a_choice.add(kernel)
    return configurations[:1]


def _fits(tuner, configuration, kwargs):
    """Whether the kernel compiles with the configuration and fits the GPU, as a benchmark would find out."""
    from triton.compiler.errors import CompileTimeAssertionFailure
    from triton.runtime.errors import OutOfResources, PTXASError

    arguments = {**tuner.nargs, **kwargs, **configuration.all_kwargs()}
    try:
        if configuration.pre_hook:
            configuration.pre_hook(arguments)
        tuner.fn.run(**{**arguments, "warmup": True})._init_handles()
    except (OutOfResources, CompileTimeAssertionFailure, PTXASError):
        return False
    except Exception:  # the run itself says it, better
        pass
    return True


def take_one_configuration(autotuner_module):
    prune = autotuner_module.Autotuner.prune_configs

    @functools.wraps(prune)
    def prune_configs(self, kwargs, *more, **named):
        pruned = list(prune(self, kwargs, *more, **named))
        if _takes_all() or len(pruned) < 2:
            return pruned
        first = next((i for i, configuration in enumerate(pruned) if _fits(self, configuration, kwargs)), 0)
        return _first(pruned[first:] + pruned[:first], self.base_fn.__name__)

    autotuner_module.Autotuner.prune_configs = prune_configs


def take_one_configuration_of_inductor(heuristics):
    make = heuristics.CachingAutotuner.__init__

    @functools.wraps(make)
    def __init__(self, fn, triton_meta, configs, *args, **kwargs):
        make(self, fn, triton_meta, configs if _takes_all() else _first(configs, fn.__name__), *args, **kwargs)

    heuristics.CachingAutotuner.__init__ = __init__


def keep_ptx(knobs):
    """Triton's ptxas, its own or the user's, behind Lemma's of that name, which finds it by a variable."""
    for knob, name in (("ptxas", "ptxas"), ("ptxas_blackwell", "ptxas-blackwell")):
        ours = _PROGRAMS / f"triton-{name}"
        variable = name.upper().replace("-", "_")
        given = os.environ.get(f"TRITON_{variable}_PATH")
        if given == str(ours) or not ours.exists():  # a child of a process that has set it
            continue
        try:
            os.environ[f"LEMMA_TRITON_{variable}"] = getattr(knobs.nvidia, knob).path
        except Exception:  # of a Triton without it, or without knobs of this kind
            continue
        os.environ[f"TRITON_{variable}_PATH"] = str(ours)


def run_benchmarks_once(testing):
    def once(fn, *args, quantiles=None, return_mode="mean", **kwargs):
        import torch

        begin = time.perf_counter()
        fn()
        torch.cuda.synchronize()
        took = (time.perf_counter() - begin) * 1e3
        if quantiles is not None:
            return [took] * len(quantiles) if len(quantiles) > 1 else took
        return [took] if return_mode == "all" else took

    for name in ("do_bench", "do_bench_cudagraph"):
        if hasattr(testing, name):
            setattr(testing, name, functools.wraps(getattr(testing, name))(once))


_caches_of_its_own()
