// y = a x + |b| over 1001 entries: vector.transfer_read of four entries a thread and a loop over the grid, addresses by
// affine.apply, math.fma and math.absf. 1001 is not a multiple of 4, so the last vector
// hangs over the end of its memref of dynamic size, where reads pad and writes leave out.
//
// math.fma rounds once: the inputs make products that f32 cannot hold, and the host computes the same fma, so the
// comparison is bit for bit.
//
// Not here: functions that are approximated (math_exp).
// Spec: the dialects around nvgpu: affine, vector, scf, math.
// RUN: lemma run %s | FileCheck %s
// CHECK: Correct: 1001 of 1001
// CHECK-NEXT: Sum of bits: 1137051072933

#first = affine_map<()[block, thread] -> (block * 256 + thread * 4)>

module attributes {gpu.container_module} {
  gpu.module @kernels {
    gpu.func @axpy(%n: index, %a: f32, %x: memref<?xf32>, %b: memref<?xf32>, %y: memref<?xf32>) kernel {
      %c512 = arith.constant 512 : index
      %f0 = arith.constant 0.0 : f32
      %block = gpu.block_id x
      %thread = gpu.thread_id x
      %first = affine.apply #first()[%block, %thread]
      %scale = vector.broadcast %a : f32 to vector<4xf32>
      scf.for %i = %first to %n step %c512 {
        %vx = vector.transfer_read %x[%i], %f0 : memref<?xf32>, vector<4xf32>
        %vb = vector.transfer_read %b[%i], %f0 : memref<?xf32>, vector<4xf32>
        %abs = math.absf %vb : vector<4xf32>
        %vy = math.fma %scale, %vx, %abs : vector<4xf32>
        vector.transfer_write %vy, %y[%i] : vector<4xf32>, memref<?xf32>
      }
      gpu.return
    }
  }

  func.func @main() -> i32 {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c64 = arith.constant 64 : index
    %n = arith.constant 1001 : index
    %n0 = arith.constant 0 : i64
    %total = arith.constant 1001 : i64
    %a = arith.constant 1.2345679 : f32
    %third = arith.constant 0.33333334 : f32
    %seven = arith.constant 0.7 : f32
    %middle = arith.constant 500.0 : f32

    %x = memref.alloc(%n) : memref<?xf32>
    %b = memref.alloc(%n) : memref<?xf32>
    %y = memref.alloc(%n) : memref<?xf32>
    scf.for %i = %c0 to %n step %c1 {
      %whole = arith.index_cast %i : index to i32
      %number = arith.sitofp %whole : i32 to f32
      %vx = arith.mulf %number, %third : f32
      %signed = arith.subf %number, %middle : f32
      %vb = arith.mulf %signed, %seven : f32
      memref.store %vx, %x[%i] : memref<?xf32>
      memref.store %vb, %b[%i] : memref<?xf32>
    }

    %ready = gpu.wait async
    %dx, %t0 = gpu.alloc async [%ready] (%n) : memref<?xf32>
    %db, %t1 = gpu.alloc async [%t0] (%n) : memref<?xf32>
    %dy, %t2 = gpu.alloc async [%t1] (%n) : memref<?xf32>
    %t3 = gpu.memcpy async [%t2] %dx, %x : memref<?xf32>, memref<?xf32>
    %t4 = gpu.memcpy async [%t3] %db, %b : memref<?xf32>, memref<?xf32>
    %t5 = gpu.launch_func async [%t4] @kernels::@axpy blocks in (%c2, %c1, %c1) threads in (%c64, %c1, %c1)
      args(%n : index, %a : f32, %dx : memref<?xf32>, %db : memref<?xf32>, %dy : memref<?xf32>)
    %t6 = gpu.memcpy async [%t5] %y, %dy : memref<?xf32>, memref<?xf32>
    %t7 = gpu.dealloc async [%t6] %dx : memref<?xf32>
    %t8 = gpu.dealloc async [%t7] %db : memref<?xf32>
    %t9 = gpu.dealloc async [%t8] %dy : memref<?xf32>
    gpu.wait [%t9]

    %correct, %bits = scf.for %i = %c0 to %n step %c1 iter_args(%count = %n0, %sum = %n0) -> (i64, i64) {
      %vx = memref.load %x[%i] : memref<?xf32>
      %vb = memref.load %b[%i] : memref<?xf32>
      %got = memref.load %y[%i] : memref<?xf32>
      %abs = math.absf %vb : f32
      %want = math.fma %a, %vx, %abs : f32
      %want_bits = arith.bitcast %want : f32 to i32
      %got_bits = arith.bitcast %got : f32 to i32
      %same = arith.cmpi eq, %want_bits, %got_bits : i32
      %one = arith.extui %same : i1 to i64
      %count_new = arith.addi %count, %one : i64
      %wide = arith.extui %got_bits : i32 to i64
      %sum_new = arith.addi %sum, %wide : i64
      scf.yield %count_new, %sum_new : i64, i64
    }
    vector.print str "Correct: "
    vector.print %correct : i64 punctuation <no_punctuation>
    vector.print str " of "
    vector.print %total : i64
    vector.print str "Sum of bits: "
    vector.print %bits : i64

    memref.dealloc %x : memref<?xf32>
    memref.dealloc %b : memref<?xf32>
    memref.dealloc %y : memref<?xf32>
    %wrong = arith.cmpi ne, %correct, %total : i64
    %status = arith.extui %wrong : i1 to i32
    return %status : i32
  }
}
