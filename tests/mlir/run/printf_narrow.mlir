// RUN: lemma run %s --grid 1 --block 1 2>&1 | FileCheck %s
//
// What gpu.printf prints of types that C widens in a call.
// CHECK: 2 -3 65535 1
// CHECK-NEXT: 1.5 -0.25 7.5
// CHECK-NOT: warning

gpu.module @kernels {
  gpu.func @hello() kernel {
    %two = arith.constant 2 : i8
    %three = arith.constant -3 : i16
    %many = arith.constant 65535 : i32
    %yes = arith.constant true
    gpu.printf "%d %d %d %d\n", %two, %three, %many, %yes : i8, i16, i32, i1
    %half = arith.constant 1.5 : f16
    %quarter = arith.constant -0.25 : bf16
    %more = arith.constant 7.5 : f32
    gpu.printf "%g %g %g\n", %half, %quarter, %more : f16, bf16, f32
    gpu.return
  }
}
