#!/usr/bin/env python3
"""Writes a.npy and b.npy, 256x256 of f16: numbers of very different sizes, so that what a tensor core cuts off while it
adds shows in the result. The same at every run."""

import numpy

rng = numpy.random.default_rng(2023)
for name in "a", "b":
    values = rng.normal(size=(256, 256)) * numpy.exp2(rng.integers(-9, 5, size=(256, 256)))
    numpy.save(f"{name}.npy", values.astype(numpy.float16))
