// RUN: lemma run %s | FileCheck %s
// RUN: lemma run %s --async late | FileCheck %s
//
// async.execute in host code, as upstream's programs for several streams have it: bodies one after the other, values
// that one yields and another takes, tokens, groups, bodies within bodies.

module attributes {gpu.container_module} {
  gpu.module @kernels {
    gpu.func @add(%data: memref<4xf32>, %more: f32) kernel {
      %thread = gpu.thread_id x
      %value = memref.load %data[%thread] : memref<4xf32>
      %sum = arith.addf %value, %more : f32
      memref.store %sum, %data[%thread] : memref<4xf32>
      gpu.return
    }
  }

  func.func private @printMemrefF32(memref<*xf32>)

  func.func @main() {
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c4 = arith.constant 4 : index
    %one = arith.constant 1.0 : f32
    %ten = arith.constant 10.0 : f32
    %host = memref.alloc() : memref<4xf32>
    %printed = memref.cast %host : memref<4xf32> to memref<*xf32>

    %first, %memory = async.execute -> !async.value<memref<4xf32>> {
      %device = gpu.alloc() : memref<4xf32>
      gpu.memset %device, %one : memref<4xf32>, f32
      async.yield %device : memref<4xf32>
    }
    %second = async.execute [%first] (%memory as %device: !async.value<memref<4xf32>>) {
      %inner = async.execute {
        gpu.launch_func @kernels::@add blocks in (%c1, %c1, %c1) threads in (%c4, %c1, %c1) args(%device : memref<4xf32>, %ten : f32)
        async.yield
      }
      async.await %inner : !async.token
      async.yield
    }
    %group = async.create_group %c2 : !async.group
    %member = async.add_to_group %second, %group : !async.token
    async.await_all %group
    %ready = async.await %memory : !async.value<memref<4xf32>>
    gpu.memcpy %host, %ready : memref<4xf32>, memref<4xf32>
    gpu.dealloc %ready : memref<4xf32>
    // CHECK: [11,  11,  11,  11]
    func.call @printMemrefF32(%printed) : (memref<*xf32>) -> ()
    memref.dealloc %host : memref<4xf32>
    return
  }
}
