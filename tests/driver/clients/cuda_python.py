#!/usr/bin/env python3
"""cuda-python: CUDA C++ compiled by NVRTC to PTX, launched through cuda.bindings.driver in a stream."""

import client

np, driver, nvrtc = client.modules("numpy", "cuda.bindings.driver", "cuda.bindings.nvrtc")

SOURCE = b"""extern "C" __global__ void scale(float* x, float a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    x[i] *= a;
}
"""


def must(result):
    assert int(result[0]) == 0, result
    return result[1] if len(result) == 2 else result[1:]


must(driver.cuInit(0))
must(driver.cuCtxSetCurrent(must(driver.cuDevicePrimaryCtxRetain(must(driver.cuDeviceGet(0))))))
program = must(nvrtc.nvrtcCreateProgram(SOURCE, b"scale.cu", 0, [], []))
must(nvrtc.nvrtcCompileProgram(program, 1, [b"--gpu-architecture=compute_90"]))
ptx = b" " * must(nvrtc.nvrtcGetPTXSize(program))
must(nvrtc.nvrtcGetPTX(program, ptx))
kernel = must(driver.cuModuleGetFunction(must(driver.cuModuleLoadData(ptx)), b"scale"))

host = np.arange(100, dtype=np.float32)
result = np.empty_like(host)
memory = must(driver.cuMemAlloc(host.nbytes))
stream = must(driver.cuStreamCreate(0))
must(driver.cuMemcpyHtoDAsync(memory, host.ctypes.data, host.nbytes, stream))
values = (np.array([int(memory)], np.uint64), np.array([3], np.float32), np.array([100], np.int32))
pointers = np.array([value.ctypes.data for value in values], np.uint64)
must(driver.cuLaunchKernel(kernel, 1, 1, 1, 128, 1, 1, 0, stream, pointers.ctypes.data, 0))
must(driver.cuMemcpyDtoHAsync(result.ctypes.data, memory, host.nbytes, stream))
must(driver.cuStreamSynchronize(stream))
assert np.array_equal(result, 3 * host), result
