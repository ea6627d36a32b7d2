// The functions that MLIR host programs call: what `gpu-to-llvm` and the translation to LLVM IR make of
// gpu.launch_func, gpu.alloc, gpu.memcpy, ... and what a lowering of nvgpu.tma.create.descriptor calls. They
// run the program's kernels through lemma::Device, on the virtual GPU or a real one; context.h says which.
//
// Work is done in the order of the calls: a launch or a copy has ended when its function returns, so streams
// and events are there to be handed around and to tell the time. A call that is wrong, a module that is
// rejected and a kernel that faults end the program (context.h), so there are no error codes here.
//
//   Module*        PTX text: NUL-terminated for LoadJIT, `bytes` long (or up to a NUL) for Load. The level of
//                  optimization means nothing here. Cubins and fat binaries are machine code, and are
//                  refused.
//   Launch*        grid and block in CTAs and threads, the cluster in CTAs; each from 1 up. `params` points
//   to one value
//                  a kernel parameter, as large as the PTX declares it. `extra` must be null.
//                  LaunchClusterKernel has no count of parameters: MLIR passes none.
//   Stream*, Event*  A null stream is the default one. ElapsedTime is in milliseconds of the host's clock,
//   between two
//                  recorded events.
//   MemAlloc       Null for 0 bytes. Not host_shared: a read before the first write is reported on the
//   virtual GPU.
//                  host_shared: zeroed, and the host may use the pointer.
//   MemFree        Null is left alone.
//   Memcpy         Any direction: pointers into live device memory are the device's, all others the host's.
//   Memset*        `count` values of 4 or 2 bytes, in device memory or registered host memory.
//   MemHost*       Kernels use host memory by the host's pointers, from Register to Unregister. The MemRef
//   forms take a
//                  ranked descriptor {allocated, aligned, offset, sizes[rank], strides[rank]} and register
//                  from its lowest to its highest element, whatever its strides.
//   SetDefaultDevice  The GPU that later calls use; the virtual GPU is device 0 alone.
//   TensorMapEncode*  The driver's enumerations. The Memref forms take dimensions as the memref has them,
//   outermost
//                  first - box, corners, element strides too - and the memref's own sizes, strides and
//                  offset; they give the address of a map in device memory. `element_strides` may be null:
//                  all 1. Im2col: `lower` and `upper` have rank - 2 entries, for the dimensions between the
//                  first (images) and the last (channels).
//
// Tests: tests/unit/mgpu/, tests/mgpu/.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#define LEMMA_MGPU(result, name, parameters) extern "C" result name parameters noexcept;
#include "mgpu/entry_points.def"
#undef LEMMA_MGPU

namespace lemma::mgpu {

struct EntryPoint {
  const char* name;
  void* address;
};

// All of them, for a JIT that resolves symbols by name.
std::span<const EntryPoint> entry_points();

} // namespace lemma::mgpu
