// RUN: %not lemma compile %s 2>&1 | FileCheck %s --match-full-lines --strict-whitespace
// RUN: %not lemma run %s --grid 1 --block 1 2>&1 | FileCheck %s --match-full-lines --strict-whitespace
//
// A program that does not parse: file, line, column, the line and a caret.
//
//      CHECK:{{.*}}error_syntax.mlir:[[# @LINE + 5]]:16: error: custom op 'nvgpu.mbarrier.creat' is unknown
// CHECK-NEXT:  [[# @LINE + 4]] |     %barrier = nvgpu.mbarrier.creat -> !nvgpu.mbarrier.group<memorySpace = 3>
// CHECK-NEXT:     |                ^
gpu.module @kernels {
  gpu.func @kernel() kernel {
    %barrier = nvgpu.mbarrier.creat -> !nvgpu.mbarrier.group<memorySpace = 3>
    gpu.return
  }
}
