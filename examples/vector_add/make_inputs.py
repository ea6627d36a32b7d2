#!/usr/bin/env python3
"""Writes a.npy, b.npy and their sum expected.npy (1000 elements of f32) beside this file, always the same bytes."""

import pathlib

import numpy as np

folder = pathlib.Path(__file__).resolve().parent
rng = np.random.RandomState(1)
a = rng.uniform(-1, 1, 1000).astype(np.float32)
b = rng.uniform(-1, 1, 1000).astype(np.float32)
np.save(folder / "a.npy", a)
np.save(folder / "b.npy", b)
np.save(folder / "expected.npy", a + b)
