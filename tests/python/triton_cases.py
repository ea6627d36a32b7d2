"""The cases of tests/triton as arguments of lemma's launches."""

import pathlib
import sys

import numpy as np

TRITON = pathlib.Path(__file__).resolve().parents[1] / "triton"
sys.path.insert(0, str(TRITON))
import run as triton_run  # noqa: E402, before cases, which adds a folder with another run.py
import cases  # noqa: E402, I001
from programs import In, Value  # noqa: E402

ARCHS = ("sm_80", "sm_90", "sm_120")


def arrays_of(case):
    """(arguments by name: arrays and numbers, what to compare: [(name, array, expectation)])"""
    arguments, outputs = {}, []
    for name, argument in case.args.items():
        if isinstance(argument, Value):
            arguments[name] = float(argument.value) if argument.type == "f32" else int(argument.value)
            continue
        given = getattr(argument, "array", None)
        if isinstance(argument, In):
            arguments[name] = np.ascontiguousarray(given)
            continue
        wanted = triton_run.flat(argument.expected)
        arguments[name] = np.zeros_like(wanted) if given is None else triton_run.flat(given).copy()
        outputs.append((name, arguments[name], argument))
    return arguments, outputs


def wrong_outputs(outputs):
    said = (
        triton_run.compare(name, triton_run.flat(array).view(triton_run.flat(e.expected).dtype), e) for name, array, e in outputs
    )
    return [why for why in said if why]
