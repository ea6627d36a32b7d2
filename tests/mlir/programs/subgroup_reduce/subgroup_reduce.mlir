// gpu.subgroup_reduce over the lanes of a warp: the sum of all lanes, the sum of each eight neighbours, the maximum
// over every fourth lane, and the sum of all in f32. Two warps; every lane gets its result, and all are compared with
// what the host computes in order.
//
// The f32 entries are whole numbers so small that every sum is exact.
//
// Not here: reductions over a CTA (all_reduce).
// Spec: gpu.subgroup_reduce.
// RUN: lemma run %s | FileCheck %s
// CHECK: Correct: 256 of 256
// CHECK-NEXT: Sums of the warps: -14 -1

module attributes {gpu.container_module} {
  gpu.module @kernels {
    gpu.func @reduce(%in: memref<64xi32>, %out: memref<4x64xi32>) kernel
        attributes {known_block_size = array<i32: 64, 1, 1>} {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c2 = arith.constant 2 : index
      %c3 = arith.constant 3 : index
      %thread = gpu.thread_id x
      %value = memref.load %in[%thread] : memref<64xi32>
      %real = arith.sitofp %value : i32 to f32

      %sum = gpu.subgroup_reduce add %value : (i32) -> i32
      %eight = gpu.subgroup_reduce add %value cluster(size = 8) : (i32) -> i32
      %fourth = gpu.subgroup_reduce maxsi %value cluster(size = 8, stride = 4) : (i32) -> i32
      %sum_f32 = gpu.subgroup_reduce add %real : (f32) -> f32
      %bits = arith.bitcast %sum_f32 : f32 to i32

      memref.store %sum, %out[%c0, %thread] : memref<4x64xi32>
      memref.store %eight, %out[%c1, %thread] : memref<4x64xi32>
      memref.store %fourth, %out[%c2, %thread] : memref<4x64xi32>
      memref.store %bits, %out[%c3, %thread] : memref<4x64xi32>
      gpu.return
    }
  }

  func.func @main() -> i32 {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c3 = arith.constant 3 : index
    %c4 = arith.constant 4 : index
    %c8 = arith.constant 8 : index
    %c32 = arith.constant 32 : index
    %c64 = arith.constant 64 : index
    %n0 = arith.constant 0 : i64
    %zero = arith.constant 0 : i32
    %step = arith.constant 37 : i32
    %width = arith.constant 101 : i32
    %middle = arith.constant 50 : i32
    %least = arith.constant -2147483648 : i32
    %total = arith.constant 256 : i64

    // 37 i mod 101 - 50
    %in = memref.alloc() : memref<64xi32>
    scf.for %i = %c0 to %c64 step %c1 {
      %i32 = arith.index_cast %i : index to i32
      %p = arith.muli %i32, %step : i32
      %q = arith.remui %p, %width : i32
      %value = arith.subi %q, %middle : i32
      memref.store %value, %in[%i] : memref<64xi32>
    }

    %out = memref.alloc() : memref<4x64xi32>
    %ready = gpu.wait async
    %din, %t0 = gpu.alloc async [%ready] () : memref<64xi32>
    %dout, %t1 = gpu.alloc async [%t0] () : memref<4x64xi32>
    %t2 = gpu.memcpy async [%t1] %din, %in : memref<64xi32>, memref<64xi32>
    %t3 = gpu.launch_func async [%t2] @kernels::@reduce blocks in (%c1, %c1, %c1) threads in (%c64, %c1, %c1)
      args(%din : memref<64xi32>, %dout : memref<4x64xi32>)
    %t4 = gpu.memcpy async [%t3] %out, %dout : memref<4x64xi32>, memref<4x64xi32>
    %t5 = gpu.dealloc async [%t4] %din : memref<64xi32>
    %t6 = gpu.dealloc async [%t5] %dout : memref<4x64xi32>
    gpu.wait [%t6]

    %correct = scf.for %i = %c0 to %c64 step %c1 iter_args(%n = %n0) -> (i64) {
      %warp = arith.divui %i, %c32 : index
      %warp_from = arith.muli %warp, %c32 : index
      %warp_to = arith.addi %warp_from, %c32 : index
      %sum = scf.for %j = %warp_from to %warp_to step %c1 iter_args(%s = %zero) -> (i32) {
        %value = memref.load %in[%j] : memref<64xi32>
        %s_new = arith.addi %s, %value : i32
        scf.yield %s_new : i32
      }
      %octet = arith.divui %i, %c8 : index
      %eight_from = arith.muli %octet, %c8 : index
      %eight_to = arith.addi %eight_from, %c8 : index
      %eight = scf.for %j = %eight_from to %eight_to step %c1 iter_args(%s = %zero) -> (i32) {
        %value = memref.load %in[%j] : memref<64xi32>
        %s_new = arith.addi %s, %value : i32
        scf.yield %s_new : i32
      }
      %phase = arith.remui %i, %c4 : index
      %fourth_from = arith.addi %warp_from, %phase : index
      %fourth = scf.for %j = %fourth_from to %warp_to step %c4 iter_args(%s = %least) -> (i32) {
        %value = memref.load %in[%j] : memref<64xi32>
        %s_new = arith.maxsi %s, %value : i32
        scf.yield %s_new : i32
      }
      %real = arith.sitofp %sum : i32 to f32
      %bits = arith.bitcast %real : f32 to i32

      %got_sum = memref.load %out[%c0, %i] : memref<4x64xi32>
      %got_eight = memref.load %out[%c1, %i] : memref<4x64xi32>
      %got_fourth = memref.load %out[%c2, %i] : memref<4x64xi32>
      %got_bits = memref.load %out[%c3, %i] : memref<4x64xi32>
      %same0 = arith.cmpi eq, %sum, %got_sum : i32
      %same1 = arith.cmpi eq, %eight, %got_eight : i32
      %same2 = arith.cmpi eq, %fourth, %got_fourth : i32
      %same3 = arith.cmpi eq, %bits, %got_bits : i32
      %one0 = arith.extui %same0 : i1 to i64
      %one1 = arith.extui %same1 : i1 to i64
      %one2 = arith.extui %same2 : i1 to i64
      %one3 = arith.extui %same3 : i1 to i64
      %n1 = arith.addi %n, %one0 : i64
      %n2 = arith.addi %n1, %one1 : i64
      %n3 = arith.addi %n2, %one2 : i64
      %n4 = arith.addi %n3, %one3 : i64
      scf.yield %n4 : i64
    }
    %first = memref.load %out[%c0, %c0] : memref<4x64xi32>
    %second = memref.load %out[%c0, %c32] : memref<4x64xi32>
    vector.print str "Correct: "
    vector.print %correct : i64 punctuation <no_punctuation>
    vector.print str " of "
    vector.print %total : i64
    vector.print str "Sums of the warps: "
    vector.print %first : i32 punctuation <no_punctuation>
    vector.print str " "
    vector.print %second : i32

    memref.dealloc %in : memref<64xi32>
    memref.dealloc %out : memref<4x64xi32>
    %wrong = arith.cmpi ne, %correct, %total : i64
    %status = arith.extui %wrong : i1 to i32
    return %status : i32
  }
}
