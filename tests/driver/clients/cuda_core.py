#!/usr/bin/env python3
"""cuda.core: its own compilation, memory pools, streams and launches."""

import client

np, core, driver = client.modules("numpy", "cuda.core", "cuda.bindings.driver")

SOURCE = r"""extern "C" __global__ void scale(float* x, float a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    x[i] *= a;
}
"""

device = core.Device()
device.set_current()
stream = device.create_stream()
program = core.Program(SOURCE, code_type="c++", options=core.ProgramOptions(std="c++17", arch="sm_90"))
kernel = program.compile("ptx").get_kernel("scale")

host = np.arange(100, dtype=np.float32)
result = np.empty_like(host)
memory = device.allocate(host.nbytes, stream=stream)
driver.cuMemcpyHtoDAsync(int(memory.handle), host.ctypes.data, host.nbytes, stream.handle)
core.launch(stream, core.LaunchConfig(grid=1, block=128), kernel, memory, np.float32(3), np.int32(100))
driver.cuMemcpyDtoHAsync(result.ctypes.data, int(memory.handle), host.nbytes, stream.handle)
stream.sync()
assert np.array_equal(result, 3 * host), result
