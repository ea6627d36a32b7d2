#!/usr/bin/env python3
"""Writes beside this file, always the same bytes: qkv_bf16.npy (u16 of its bits, as numpy has no such type) and
qkv_f16.npy, and the tensor maps qkv_64.json and qkv_128.json.

Each file is Q, K and V, one after the other, each of two heads of dimension 64 or, the same bytes, one of 128.
Sequences of 288 and 200 are no multiples of a tile, and go around a ring of two stages. Later keys are larger, so that
the largest score of a row, to which its weights are relative, keeps changing; V is small, so that rounding weights to
bf16 costs a result less than 1e-3.
"""

import json
import pathlib

import numpy as np


def bf16_bits(values):
    """Rounded to bf16, ties to even."""
    bits = values.astype(np.float32).view(np.uint32)
    return ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype(np.uint16)


def qkv(seed, sequence):
    values = np.random.RandomState(seed).standard_normal((3, 2, sequence, 64))
    values[1] *= np.linspace(0.5, 2, sequence)[:, None]
    values[2] *= 0.25
    return values


def tensor_map(heads, sequence, dim):
    return {
        "arg": "qkv_bf16.npy",
        "type": "bf16",
        "dims": [dim, sequence, heads, 3],
        "strides_bytes": [2 * dim, 2 * dim * sequence, 2 * dim * sequence * heads],
        "box": [64, 128, 1, 1],
        "swizzle": "128B",
    }


folder = pathlib.Path(__file__).resolve().parent
np.save(folder / "qkv_bf16.npy", bf16_bits(qkv(1, 288)))
np.save(folder / "qkv_f16.npy", qkv(2, 200).astype(np.float16))
for heads, dim in ((2, 64), (1, 128)):
    (folder / f"qkv_{dim}.json").write_text(json.dumps(tensor_map(heads, 288, dim)) + "\n")
