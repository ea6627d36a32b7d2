// RUN: lemma-opt %s --lower-nvgpu-host --verify-diagnostics --split-input-file
//
// Operations of kernels on the host.

!one = !nvgpu.mbarrier.group<memorySpace = 3>
func.func @main() {
  // expected-error@+1 {{is for kernels: it belongs into a gpu.func or a gpu.launch; on the host there is nvgpu.tma.create.descriptor alone}}
  %g = nvgpu.mbarrier.create -> !one
  return
}

// -----

// What MLIR's conversion leaves.
func.func @left() {
  // expected-error@+1 {{'gpu.alloc' op is not lowered in host code, with these types}}
  %memory, %token = gpu.alloc async host_shared () : memref<4xf32>
  return
}
