// RUN: lemma run %s | FileCheck %s
// RUN: lemma run %s --async late | FileCheck %s
//
// gpu.alloc, memcpy, memset and dealloc without async tokens, and with several: the lowering gives them the one that the
// runtime's streams need.

module attributes {gpu.container_module} {
  gpu.module @kernels {
    gpu.func @double(%data: memref<4xf32>) kernel {
      %thread = gpu.thread_id x
      %value = memref.load %data[%thread] : memref<4xf32>
      %twice = arith.addf %value, %value : f32
      memref.store %twice, %data[%thread] : memref<4xf32>
      gpu.return
    }
  }

  func.func private @printMemrefF32(memref<*xf32>)

  func.func @main() {
    %c1 = arith.constant 1 : index
    %c4 = arith.constant 4 : index
    %three = arith.constant 3.0 : f32
    %five = arith.constant 5.0 : f32
    %host = memref.alloc() : memref<4xf32>
    %printed = memref.cast %host : memref<4xf32> to memref<*xf32>

    %device = gpu.alloc() : memref<4xf32>
    gpu.memset %device, %three : memref<4xf32>, f32
    gpu.launch_func @kernels::@double blocks in (%c1, %c1, %c1) threads in (%c4, %c1, %c1) args(%device : memref<4xf32>)
    gpu.memcpy %host, %device : memref<4xf32>, memref<4xf32>
    // CHECK: [6, 6, 6, 6]
    call @printMemrefF32(%printed) : (memref<*xf32>) -> ()

    // Both memsets come before the copies, whatever the streams do.
    %other, %allocated = gpu.alloc async () : memref<4xf32>
    %t0 = gpu.memset async [%allocated] %other, %five : memref<4xf32>, f32
    %t1 = gpu.memset async %device, %five : memref<4xf32>, f32
    %t2 = gpu.memcpy async [%t0, %t1] %host, %device : memref<4xf32>, memref<4xf32>
    gpu.memcpy [%t0, %t2] %device, %other : memref<4xf32>, memref<4xf32>
    // CHECK: [5, 5, 5, 5]
    call @printMemrefF32(%printed) : (memref<*xf32>) -> ()
    gpu.dealloc %other : memref<4xf32>
    gpu.dealloc %device : memref<4xf32>
    memref.dealloc %host : memref<4xf32>
    return
  }
}
