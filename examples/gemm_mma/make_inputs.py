#!/usr/bin/env python3
"""Writes a.npy and b.npy (f16) and the product expected.npy (f32) beside this file, always the same bytes.

The elements are integers from -4 to 4, so every partial sum of 256 products is an integer that f32 holds exactly:
whatever the order and the rounding of the tensor core, the result is the same, and it can be compared bit for bit.
"""

import pathlib

import numpy as np

M = N = K = 256

folder = pathlib.Path(__file__).resolve().parent
rng = np.random.RandomState(1)
a = rng.randint(-4, 5, (M, K))
b = rng.randint(-4, 5, (K, N))
np.save(folder / "a.npy", a.astype(np.float16))
np.save(folder / "b.npy", b.astype(np.float16))
np.save(folder / "expected.npy", (a @ b).astype(np.float32))
