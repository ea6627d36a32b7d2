#!/usr/bin/env python3
"""Triton's own launcher, without PyTorch: what it asks that for is answered here."""

import ctypes
import sys
import types

import client

(np,) = client.modules("numpy")


def torch_without_torch():
    cuda = types.ModuleType("torch.cuda")
    cuda.current_device = lambda: 0
    cuda.set_device = lambda device: None
    cuda.get_device_capability = lambda device=0: (9, 0)
    cuda.is_available = lambda: True
    cuda.current_stream = lambda device=0: types.SimpleNamespace(cuda_stream=0)
    torch = types.ModuleType("torch")
    torch.cuda = cuda
    torch.Tensor = type("Tensor", (), {})  # Triton 3.9 looks whether an argument is one; an array of ours need not be
    torch.version = types.SimpleNamespace(hip=None, cuda="13.0")
    sys.modules.update({"torch": torch, "torch.cuda": cuda})


torch_without_torch()
triton, tl = client.modules("triton", "triton.language")
driver = ctypes.CDLL("libcuda.so.1")


def must(status):
    assert status == 0, status


class Array:
    """An array of f32 on the device, as Triton takes one."""

    dtype = "fp32"

    def __init__(self, host):
        self.host = host
        address = ctypes.c_uint64()
        must(driver.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(host.nbytes)))
        self.address = address.value
        must(driver.cuMemcpyHtoD_v2(ctypes.c_uint64(self.address), ctypes.c_void_p(host.ctypes.data), ctypes.c_size_t(host.nbytes)))

    def data_ptr(self):
        return self.address

    def get(self):
        result = np.empty_like(self.host)
        must(driver.cuMemcpyDtoH_v2(ctypes.c_void_p(result.ctypes.data), ctypes.c_uint64(self.address), ctypes.c_size_t(result.nbytes)))
        return result


@triton.jit
def add(x, y, out, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < n
    tl.store(out + offsets, tl.load(x + offsets, mask=inside) + tl.load(y + offsets, mask=inside), mask=inside)


must(driver.cuInit(0))
context = ctypes.c_void_p()
must(driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0))
must(driver.cuCtxSetCurrent(context))
x, y = Array(np.arange(1000, dtype=np.float32)), Array(np.ones(1000, np.float32))
out = Array(np.zeros(1000, np.float32))
add[(4,)](x, y, out, 1000, BLOCK=256)
assert np.array_equal(out.get(), x.host + 1)
