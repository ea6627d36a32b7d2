// A kernel that reads and writes the host's own memory: gpu.host_register on two memrefs, one of them of rank 2, and
// gpu.host_unregister afterwards. Nothing is copied; a gpu.wait is all that stands between the kernel and the host.
//
// Not here: gpu.alloc with host_shared.
// Spec: gpu.host_register, gpu.host_unregister.
// RUN: lemma run %s | FileCheck %s
// CHECK: Correct: 512 of 512
// CHECK-NEXT: Sum: 374528

module attributes {gpu.container_module} {
  gpu.module @kernels {
    // y[i][j] = 2 x[i] + j
    gpu.func @spread(%x: memref<8xf32>, %y: memref<8x64xf32>) kernel {
      %two = arith.constant 2.0 : f32
      %row = gpu.block_id x
      %col = gpu.thread_id x
      %value = memref.load %x[%row] : memref<8xf32>
      %col32 = arith.index_cast %col : index to i32
      %real = arith.sitofp %col32 : i32 to f32
      %twice = arith.mulf %value, %two : f32
      %sum = arith.addf %twice, %real : f32
      memref.store %sum, %y[%row, %col] : memref<8x64xf32>
      gpu.return
    }
  }

  func.func @main() -> i32 {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c8 = arith.constant 8 : index
    %c64 = arith.constant 64 : index
    %n0 = arith.constant 0 : i64
    %f0 = arith.constant 0.0 : f32
    %two = arith.constant 2.0 : f32
    %hundred = arith.constant 100.0 : f32
    %total = arith.constant 512 : i64

    %x = memref.alloc() : memref<8xf32>
    %y = memref.alloc() : memref<8x64xf32>
    scf.for %i = %c0 to %c8 step %c1 {
      %i32 = arith.index_cast %i : index to i32
      %real = arith.sitofp %i32 : i32 to f32
      %value = arith.mulf %real, %hundred : f32
      memref.store %value, %x[%i] : memref<8xf32>
      scf.for %j = %c0 to %c64 step %c1 {
        memref.store %f0, %y[%i, %j] : memref<8x64xf32>
      }
    }

    %x_any = memref.cast %x : memref<8xf32> to memref<*xf32>
    %y_any = memref.cast %y : memref<8x64xf32> to memref<*xf32>
    gpu.host_register %x_any : memref<*xf32>
    gpu.host_register %y_any : memref<*xf32>
    %ready = gpu.wait async
    %done = gpu.launch_func async [%ready] @kernels::@spread blocks in (%c8, %c1, %c1) threads in (%c64, %c1, %c1)
      args(%x : memref<8xf32>, %y : memref<8x64xf32>)
    gpu.wait [%done]
    gpu.host_unregister %x_any : memref<*xf32>
    gpu.host_unregister %y_any : memref<*xf32>

    %correct, %sum = scf.for %i = %c0 to %c8 step %c1 iter_args(%n_row = %n0, %s_row = %f0) -> (i64, f32) {
      %value = memref.load %x[%i] : memref<8xf32>
      %twice = arith.mulf %value, %two : f32
      %n_next, %s_next = scf.for %j = %c0 to %c64 step %c1 iter_args(%n = %n_row, %s = %s_row) -> (i64, f32) {
        %j32 = arith.index_cast %j : index to i32
        %real = arith.sitofp %j32 : i32 to f32
        %want = arith.addf %twice, %real : f32
        %got = memref.load %y[%i, %j] : memref<8x64xf32>
        %want_bits = arith.bitcast %want : f32 to i32
        %got_bits = arith.bitcast %got : f32 to i32
        %same = arith.cmpi eq, %want_bits, %got_bits : i32
        %one = arith.extui %same : i1 to i64
        %n_new = arith.addi %n, %one : i64
        %s_new = arith.addf %s, %got : f32
        scf.yield %n_new, %s_new : i64, f32
      }
      scf.yield %n_next, %s_next : i64, f32
    }
    vector.print str "Correct: "
    vector.print %correct : i64 punctuation <no_punctuation>
    vector.print str " of "
    vector.print %total : i64
    vector.print str "Sum: "
    vector.print %sum : f32

    memref.dealloc %x : memref<8xf32>
    memref.dealloc %y : memref<8x64xf32>
    %wrong = arith.cmpi ne, %correct, %total : i64
    %status = arith.extui %wrong : i1 to i32
    return %status : i32
  }
}
