// RUN: %not lemma run %s 2>&1 | FileCheck %s
//
// cf.assert in a kernel, in the words in which CUDA prints it.

// CHECK: fault[assertion failed]: {{.*}}assert.mlir:[[# @LINE + 7]]: k: block: [0,0,0], thread: [0,2,0] Assertion `two rows at most` failed.

module attributes {gpu.container_module} {
  gpu.module @kernels {
    gpu.func @k(%limit: index) kernel {
      %y = gpu.thread_id y
      %few = arith.cmpi ult, %y, %limit : index
      cf.assert %few, "two rows at most"
      gpu.return
    }
  }
  func.func @main() {
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c3 = arith.constant 3 : index
    gpu.launch_func @kernels::@k blocks in (%c1, %c1, %c1) threads in (%c3, %c3, %c1) args(%c2 : index)
    return
  }
}
