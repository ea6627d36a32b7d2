#!/usr/bin/env python3
"""Writes a.npy (128 x 64 of f16), b.npy (64 x 64 of f16) and their product a * b^T, expected.npy (128 x 64 of f32), beside this
file, always the same bytes. The numbers are small integers, so that the product is exact in whatever order it is summed."""

import pathlib

import numpy as np

folder = pathlib.Path(__file__).resolve().parent
rng = np.random.RandomState(1)
a = rng.randint(-4, 5, (128, 64)).astype(np.float16)
b = rng.randint(-4, 5, (64, 64)).astype(np.float16)
np.save(folder / "a.npy", a)
np.save(folder / "b.npy", b)
np.save(folder / "expected.npy", a.astype(np.float32) @ b.astype(np.float32).T)
