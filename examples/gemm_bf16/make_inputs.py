#!/usr/bin/env python3
"""Writes a.npy and b.npy (bf16, as u16 of its bits, as numpy has no such type) and the tensor maps a.json, b.json and
d.json, always the same bytes.

usage: make_inputs.py               beside this file, for M = N = 256, K = 512: twice around the ring of stages
       make_inputs.py SIZE FOLDER   into FOLDER, for M = N = K = SIZE, a multiple of 256

Normally distributed elements, each times a power of two from 2^-6 to 2^6: sums of such products lose bits, and which
ones depends on the order in which and the precision to which a tensor core adds.
"""

import json
import pathlib
import sys

import numpy as np


def bf16_bits(values):
    """Rounded to bf16, ties to even."""
    bits = values.astype(np.float32).view(np.uint32)
    return ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype(np.uint16)


def tensor_map(arg, kind, element_bytes, rows, columns, box):
    return {
        "arg": arg,
        "type": kind,
        "dims": [columns, rows],
        "strides_bytes": [columns * element_bytes],
        "box": box,
        "element_strides": [1, 1],
        "interleave": "none",
        "swizzle": "128B",
        "oob_fill": "zeros",
        "l2_promotion": "none",
    }


if len(sys.argv) == 3:
    m = n = k = int(sys.argv[1])
    folder = pathlib.Path(sys.argv[2])
else:
    m, n, k = 256, 256, 512
    folder = pathlib.Path(__file__).resolve().parent
rng = np.random.RandomState(2)
for name, shape in (("a", (m, k)), ("b", (n, k))):
    values = rng.standard_normal(shape) * np.exp2(rng.randint(-6, 7, shape))
    np.save(folder / f"{name}.npy", bf16_bits(values))
maps = {
    "a": tensor_map(4, "bf16", 2, m, k, [64, 128]),
    "b": tensor_map(5, "bf16", 2, n, k, [64, 64]),
    "d": tensor_map(6, "f32", 4, m, n, [32, 64]),
}
for name, value in maps.items():
    (folder / f"{name}.json").write_text(json.dumps(value) + "\n")
