// RUN: lemma compile %s -o %t.ptx && FileCheck %s < %t.ptx && %ptxas -arch=sm_90a %t.ptx
// RUN: lemma compile %s --module main_kernel_0 | FileCheck %s --check-prefix=ONE
//
// Kernels of several gpu.launch, which nobody has named: all are in the PTX, unless one is asked for by its module.
// CHECK-DAG: .visible .entry main_kernel(
// CHECK-DAG: .visible .entry main_kernel_0(
// ONE: .visible .entry main_kernel
// ONE-NOT: .entry

func.func @main(%a: memref<4xf32>, %b: memref<4xf32>) {
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %one = arith.constant 1.0 : f32
  %two = arith.constant 2.0 : f32
  gpu.launch blocks(%bx, %by, %bz) in (%nbx = %c1, %nby = %c1, %nbz = %c1)
             threads(%tx, %ty, %tz) in (%ntx = %c4, %nty = %c1, %ntz = %c1) {
    memref.store %one, %a[%tx] : memref<4xf32>
    gpu.terminator
  }
  gpu.launch blocks(%bx, %by, %bz) in (%nbx = %c1, %nby = %c1, %nbz = %c1)
             threads(%tx, %ty, %tz) in (%ntx = %c4, %nty = %c1, %ntz = %c1) {
    memref.store %two, %b[%tx] : memref<4xf32>
    gpu.terminator
  }
  return
}
