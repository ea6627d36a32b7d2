// RUN: lemma compile %s --emit=nvgpu | FileCheck %s --check-prefix=NVGPU
// RUN: lemma compile %s --emit nvvm | FileCheck %s --check-prefix=NVVM
// RUN: lemma compile %s --emit=llvm --module first | FileCheck %s --check-prefix=LLVM
// RUN: lemma compile %s --module first | FileCheck %s --check-prefix=PTX
// RUN: lemma compile %s --emit=ptx --module first -o %t.ptx && FileCheck %s --check-prefix=PTX < %t.ptx
// RUN: lemma compile %s --module second --arch sm_80 -o - | FileCheck %s --check-prefix=SM_80
// RUN: lemma compile %s --module first --arch sm_100a --output %t.100.ptx && %ptxas -arch=sm_100a %t.100.ptx
// RUN: %not lemma compile %s 2>&1 | FileCheck %s --check-prefix=WHICH
// RUN: %not lemma compile %s --emit=llvm --module third 2>&1 | FileCheck %s --check-prefix=NONE
// RUN: %not lemma compile %s --emit=sass 2>&1 | FileCheck %s --check-prefix=STAGE
// RUN: %not lemma compile %s --arch sm_91 --module first 2>&1 | FileCheck %s --check-prefix=ARCH
// RUN: %not lemma compile %t.absent.mlir 2>&1 | FileCheck %s --check-prefix=ABSENT
// RUN: %not lemma compile %s --module first -o %t.folder/x.ptx 2>&1 | FileCheck %s --check-prefix=WRITE
//
// `lemma compile`: the stages, the target, the output, one of several gpu.modules, and what is wrong with a command line.
// Programs that are rejected: compile_errors.mlir.

// WHICH: the program has 2 gpu.modules: first, second; choose one
// NONE: there is no gpu.module third; there is first, second
// STAGE: --emit: {{.*}}sass
// ARCH: sm_91
// ABSENT: lemma: {{.*}}absent.mlir
// WRITE: lemma: {{.*}}x.ptx

module attributes {gpu.container_module} {
  // NVGPU: gpu.module @first
  // NVGPU: nvgpu.mbarrier.create -> <memorySpace = 3 : i64>
  // NVVM: gpu.module @first
  // NVVM: llvm.func @init({{.*}}) attributes {gpu.kernel
  // NVVM: mbarrier.init.shared.b64
  // LLVM: target triple = "nvptx64-nvidia-cuda"
  // LLVM: define ptx_kernel void @init(
  // LLVM: mbarrier.init.shared.b64
  // LLVM-NOT: @store
  // PTX: .target sm_90a
  // PTX: .visible .entry init(
  // PTX: mbarrier.init.shared.b64
  // PTX-NOT: .entry store
  gpu.module @first {
    gpu.func @init() kernel {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %barrier = nvgpu.mbarrier.create -> !nvgpu.mbarrier.group<memorySpace = 3>
      nvgpu.mbarrier.init %barrier[%c0], %c1 : !nvgpu.mbarrier.group<memorySpace = 3>
      gpu.return
    }
  }
  // NVGPU: gpu.module @second
  // NVVM: gpu.module @second
  // SM_80: .target sm_80
  // SM_80: .visible .entry store(
  gpu.module @second {
    gpu.func @store(%out: memref<32xf32>) kernel {
      %thread = gpu.thread_id x
      %one = arith.constant 1.0 : f32
      memref.store %one, %out[%thread] : memref<32xf32>
      gpu.return
    }
  }
  // NVGPU: func.func @main
  // NVVM: llvm.func @main
  // NVVM: gpu.launch_func @first::@init
  func.func @main() {
    %c1 = arith.constant 1 : index
    gpu.launch_func @first::@init blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
    return
  }
}
