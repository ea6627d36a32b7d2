#!/usr/bin/env python3
"""tinygrad: its CUDA backend makes and launches the kernels of a matrix product and what follows it."""

import os

import client

os.environ.update(CUDA_PATH=client.toolkit(), DEV="CUDA")
np, tinygrad = client.modules("numpy", "tinygrad")

a = np.arange(64 * 48, dtype=np.float32).reshape(64, 48) % 7 - 3
b = np.arange(48 * 32, dtype=np.float32).reshape(48, 32) % 5 - 2
product = tinygrad.Tensor(a, device="CUDA") @ tinygrad.Tensor(b, device="CUDA")
assert np.array_equal(product.relu().numpy(), np.maximum(a @ b, 0))  # of small integers: exact
