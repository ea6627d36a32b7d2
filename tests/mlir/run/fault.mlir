// RUN: %not lemma run %s 2>&1 | FileCheck %s --check-prefix=CHECK --check-prefix=WHOLE
// RUN: %not lemma run %s --entry beyond --grid 1 --block 1 --arg buf=64 2>&1 | FileCheck %s
//
// A kernel that faults: the report names the line of the .mlir, and nothing of the host program runs after it.

// CHECK: fault.mlir.ptx:{{[0-9]+}}: fault[out of bounds]: write of 4 bytes
// CHECK: source: {{.*}}fault.mlir:[[# @LINE + 10]], in beyond
// CHECK: CTA 0,0,0

module attributes {gpu.container_module} {
  gpu.module @kernels {
    gpu.func @beyond(%data: memref<16xf32>) kernel {
      %far = arith.constant 1000000 : index
      %one = arith.constant 1.0 : f32
      %place = memref.reinterpret_cast %data to offset: [0], sizes: [1000001], strides: [1] : memref<16xf32> to memref<1000001xf32>

      memref.store %one, %place[%far] : memref<1000001xf32>
      gpu.return
    }
  }
  func.func private @printI64(i64)
  func.func @main() {
    %c1 = arith.constant 1 : index
    %memory, %t = gpu.alloc async () : memref<16xf32>
    gpu.wait [%t]
    gpu.launch_func @kernels::@beyond blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%memory : memref<16xf32>)
    %reached = arith.constant 123454321 : i64
    // WHOLE-NOT: 123454321
    call @printI64(%reached) : (i64) -> ()
    return
  }
}
