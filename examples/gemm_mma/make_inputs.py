#!/usr/bin/env python3
"""Writes a.npy and b.npy (f16) beside this file, always the same bytes.

Normally distributed elements, each times a power of two from 2^-6 to 2^6: sums of such products lose bits, and which
ones depends on the order in which and the precision to which a tensor core adds. expected.npy is not made here: it is
what an H200 computed from these inputs (README.md).
"""

import pathlib

import numpy as np

M = N = K = 256

folder = pathlib.Path(__file__).resolve().parent
rng = np.random.RandomState(1)
for name, shape in (("a", (M, K)), ("b", (K, N))):
    values = rng.standard_normal(shape) * np.exp2(rng.randint(-6, 7, shape))
    np.save(folder / f"{name}.npy", values.astype(np.float16))
