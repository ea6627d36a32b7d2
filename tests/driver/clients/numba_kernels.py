#!/usr/bin/env python3
"""numba-cuda: Python compiled to kernels, with shared memory, atomics and a stream. lineinfo=True keeps the PTX in what its
linker makes.
"""

import warnings

import client

np, cuda = client.modules("numpy", "numba.cuda")
client.toolkit()
warnings.simplefilter("ignore")


@cuda.jit(lineinfo=True)
def saxpy(a, x, y):
    i = cuda.grid(1)
    if i < x.size:
        y[i] = a * x[i] + y[i]


@cuda.jit(lineinfo=True)
def total(x, out):
    shared = cuda.shared.array(256, dtype="float32")
    thread = cuda.threadIdx.x
    i = cuda.grid(1)
    shared[thread] = x[i] if i < x.size else 0.0
    cuda.syncthreads()
    half = 128
    while half > 0:
        if thread < half:
            shared[thread] += shared[thread + half]
        cuda.syncthreads()
        half //= 2
    if thread == 0:
        cuda.atomic.add(out, 0, shared[0])


x = np.arange(1000, dtype=np.float32)
on_device, sums = cuda.to_device(x), cuda.to_device(np.ones_like(x))
stream = cuda.stream()
saxpy[4, 256, stream](2.0, on_device, sums)
stream.synchronize()
assert np.array_equal(sums.copy_to_host(), 2 * x + 1)
sum_of_all = cuda.to_device(np.zeros(1, np.float32))
total[4, 256](on_device, sum_of_all)
assert sum_of_all.copy_to_host()[0] == x.sum()
