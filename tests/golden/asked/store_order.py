#!/usr/bin/env python3
"""Runs store_order.cu on a GPU, three times, and makes store_order.csv of what was stored.

    nvcc -gencode=arch=compute_90a,code=sm_90a -cubin store_order.cu -o store_order.cubin
    python3 store_order.py store_order.cubin store_order.csv        needs numpy and the driver
"""

import ctypes
import sys

import numpy as np

TESTS = 14
STAMP = "# {}, driver 580.159.04, nvcc 13.0, November 2026; README.md beside it says how this was made.\n"
STORES = {"b8": 1, "b16": 2, "b32": 4, "v2_b16": 4, "b64": 8, "v2_b32": 8, "v4_b16": 8, "v4_b32": 16, "v2_b64": 16}
KERNELS = {f"{space}_{store}": width for store, width in STORES.items() for space in ("shared", "global")}
KERNELS.update({f"shared_stmatrix_x{n}": 16 for n in (1, 2, 4)})


def places(width, rng, all_lanes):
    """Of each test the lanes' offsets: lanes meet in twos, in rows, far apart, and at random; some lanes do not store."""
    at = np.zeros((TESTS, 32), np.uint32)
    lane = np.arange(32)
    for t in range(TESTS):
        slots = (1, 2, 3, 5, 8, 16, 24)[t % 7]
        stride = max((width, 2 * width, 32, 64, 128)[rng.integers(5)], width)
        slot = (lane % slots, lane * slots // 32, rng.integers(0, slots, 32), lane * 7 % slots, (31 - lane) % slots)[t % 5]
        at[t] = slot * stride
        if t % 2 and not all_lanes:
            at[t][rng.random(32) < 0.3] = 0xFFFFFFFF
    return at


def main():
    cuda = ctypes.CDLL("libcuda.so.1")

    def call(name, *arguments):
        if status := getattr(cuda, name)(*arguments):
            sys.exit(f"{name}: {status}")

    device, context, module, name = ctypes.c_int(), ctypes.c_void_p(), ctypes.c_void_p(), ctypes.create_string_buffer(99)
    call("cuInit", 0)
    call("cuDeviceGet", ctypes.byref(device), 0)
    call("cuDeviceGetName", name, 99, device)
    call("cuCtxCreate_v2", ctypes.byref(context), 0, device)
    call("cuModuleLoad", ctypes.byref(module), sys.argv[1].encode())
    with open(sys.argv[2], "w") as csv:
        csv.write(STAMP.format(name.value.decode()))
        csv.write("# store,offset of each lane in bytes (-: it does not store),lane whose bytes stand there (of stmatrix: row)\n")
        for kernel, width in KERNELS.items():
            at = places(width, np.random.Generator(np.random.PCG64(len(kernel))), "stmatrix" in kernel)
            function, results = ctypes.c_void_p(), []
            call("cuModuleGetFunction", ctypes.byref(function), module, kernel.encode())
            for _ in range(3):
                out, buffers = np.full(TESTS * 1024, 0xEEEEEEEE, np.uint32), []
                for array in (at, out):
                    buffers.append(ctypes.c_uint64())
                    call("cuMemAlloc_v2", ctypes.byref(buffers[-1]), ctypes.c_size_t(array.nbytes))
                    call("cuMemcpyHtoD_v2", buffers[-1], ctypes.c_void_p(array.ctypes.data), ctypes.c_size_t(array.nbytes))
                values = [*buffers, ctypes.c_int(TESTS)]
                pointers = (ctypes.c_void_p * 3)(*(ctypes.addressof(v) for v in values))
                call("cuLaunchKernel", function, 1, 1, 1, 32, 1, 1, 0, None, pointers, None)
                call("cuCtxSynchronize")
                call("cuMemcpyDtoH_v2", ctypes.c_void_p(out.ctypes.data), buffers[1], ctypes.c_size_t(out.nbytes))
                results.append(out.view(np.uint8).reshape(TESTS, 4096))
            assert all((r == results[0]).all() for r in results), f"{kernel}: not the same three times"
            for offsets, stored in zip(at, results[0]):
                left = []
                for offset in sorted(set(offsets.tolist()) - {0xFFFFFFFF}):
                    bytes = stored[offset : offset + width]
                    assert (bytes == bytes[0]).all(), f"{kernel}: bytes of several lanes"
                    left.append(f"{offset}:{bytes[0]}")
                listed = " ".join("-" if o == 0xFFFFFFFF else str(o) for o in offsets.tolist())
                csv.write(f"{kernel},{listed},{' '.join(left)}\n")


if __name__ == "__main__":
    main()
