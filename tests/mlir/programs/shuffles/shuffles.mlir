// gpu.shuffle in its four modes: an inclusive prefix sum (up), differences of neighbours (down), the order of the first
// sixteen lanes reversed (idx with a width), and a butterfly sum in f32 (xor). Two warps; all results are compared with
// what the host computes, and where a shuffle has no source, its second result must say so.
//
// The f32 entries are whole numbers so small that every sum is exact.
//
// Not here: subgroup_reduce, which becomes such shuffles.
// Spec: gpu.shuffle; PTX ISA, shfl.sync.
// RUN: lemma run %s | FileCheck %s
// CHECK: Correct: 256 of 256
// CHECK-NEXT: Lanes without a source: 2

module attributes {gpu.container_module} {
  gpu.module @kernels {
    gpu.func @shuffle(%in: memref<64xi32>, %out: memref<5x64xi32>) kernel {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c2 = arith.constant 2 : index
      %c3 = arith.constant 3 : index
      %c4 = arith.constant 4 : index
      %zero = arith.constant 0 : i32
      %one = arith.constant 1 : i32
      %two = arith.constant 2 : i32
      %fifteen = arith.constant 15 : i32
      %sixteen = arith.constant 16 : i32
      %width = arith.constant 32 : i32
      %thread = gpu.thread_id x
      %thread32 = arith.index_cast %thread : index to i32
      %lane = arith.remui %thread32, %width : i32
      %value = memref.load %in[%thread] : memref<64xi32>

      // Distances 1, 2, 4, 8, 16.
      %prefix, %far = scf.while (%sum = %value, %distance = %one) : (i32, i32) -> (i32, i32) {
        %more = arith.cmpi ult, %distance, %width : i32
        scf.condition(%more) %sum, %distance : i32, i32
      } do {
      ^bb0(%sum: i32, %distance: i32):
        %below, %valid = gpu.shuffle up %sum, %distance, %width : i32
        %summand = arith.select %valid, %below, %zero : i32
        %sum_new = arith.addi %sum, %summand : i32
        %distance_new = arith.muli %distance, %two : i32
        scf.yield %sum_new, %distance_new : i32, i32
      }

      %above, %has_above = gpu.shuffle down %value, %one, %width : i32
      %difference = arith.subi %above, %value : i32
      %none = arith.select %has_above, %zero, %one : i32

      // A width of 16: the first sixteen lanes take part, and no other may.
      %low = arith.cmpi ult, %lane, %sixteen : i32
      %reversed = scf.if %low -> (i32) {
        %opposite = arith.subi %fifteen, %lane : i32
        %other, %always = gpu.shuffle idx %value, %opposite, %sixteen : i32
        scf.yield %other : i32
      } else {
        scf.yield %zero : i32
      }

      %real = arith.sitofp %value : i32 to f32
      %butterfly, %end = scf.while (%sum = %real, %mask = %one) : (f32, i32) -> (f32, i32) {
        %more = arith.cmpi ult, %mask, %width : i32
        scf.condition(%more) %sum, %mask : f32, i32
      } do {
      ^bb0(%sum: f32, %mask: i32):
        %other, %valid = gpu.shuffle xor %sum, %mask, %width : f32
        %sum_new = arith.addf %sum, %other : f32
        %mask_new = arith.muli %mask, %two : i32
        scf.yield %sum_new, %mask_new : f32, i32
      }
      %bits = arith.bitcast %butterfly : f32 to i32

      memref.store %prefix, %out[%c0, %thread] : memref<5x64xi32>
      memref.store %difference, %out[%c1, %thread] : memref<5x64xi32>
      memref.store %reversed, %out[%c2, %thread] : memref<5x64xi32>
      memref.store %bits, %out[%c3, %thread] : memref<5x64xi32>
      memref.store %none, %out[%c4, %thread] : memref<5x64xi32>
      gpu.return
    }
  }

  func.func @main() -> i32 {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c3 = arith.constant 3 : index
    %c4 = arith.constant 4 : index
    %c15 = arith.constant 15 : index
    %c16 = arith.constant 16 : index
    %c31 = arith.constant 31 : index
    %c32 = arith.constant 32 : index
    %c64 = arith.constant 64 : index
    %n0 = arith.constant 0 : i64
    %zero = arith.constant 0 : i32
    %step = arith.constant 37 : i32
    %modulus = arith.constant 101 : i32
    %middle = arith.constant 50 : i32
    %total = arith.constant 256 : i64

    // 37 i mod 101 - 50
    %in = memref.alloc() : memref<64xi32>
    scf.for %i = %c0 to %c64 step %c1 {
      %i32 = arith.index_cast %i : index to i32
      %p = arith.muli %i32, %step : i32
      %q = arith.remui %p, %modulus : i32
      %value = arith.subi %q, %middle : i32
      memref.store %value, %in[%i] : memref<64xi32>
    }

    %out = memref.alloc() : memref<5x64xi32>
    %ready = gpu.wait async
    %din, %t0 = gpu.alloc async [%ready] () : memref<64xi32>
    %dout, %t1 = gpu.alloc async [%t0] () : memref<5x64xi32>
    %t2 = gpu.memcpy async [%t1] %din, %in : memref<64xi32>, memref<64xi32>
    %t3 = gpu.launch_func async [%t2] @kernels::@shuffle blocks in (%c1, %c1, %c1) threads in (%c64, %c1, %c1)
      args(%din : memref<64xi32>, %dout : memref<5x64xi32>)
    %t4 = gpu.memcpy async [%t3] %out, %dout : memref<5x64xi32>, memref<5x64xi32>
    %t5 = gpu.dealloc async [%t4] %din : memref<64xi32>
    %t6 = gpu.dealloc async [%t5] %dout : memref<5x64xi32>
    gpu.wait [%t6]

    %correct, %without = scf.for %i = %c0 to %c64 step %c1 iter_args(%n = %n0, %m = %zero) -> (i64, i32) {
      %warp = arith.divui %i, %c32 : index
      %lane = arith.remui %i, %c32 : index
      %warp_from = arith.muli %warp, %c32 : index
      %warp_to = arith.addi %warp_from, %c32 : index
      %next = arith.addi %i, %c1 : index
      %value = memref.load %in[%i] : memref<64xi32>
      %prefix = scf.for %j = %warp_from to %next step %c1 iter_args(%s = %zero) -> (i32) {
        %x = memref.load %in[%j] : memref<64xi32>
        %s_new = arith.addi %s, %x : i32
        scf.yield %s_new : i32
      }
      // The last lane has no source and keeps its own value.
      %last = arith.cmpi eq, %lane, %c31 : index
      %source = arith.select %last, %i, %next : index
      %above = memref.load %in[%source] : memref<64xi32>
      %difference = arith.subi %above, %value : i32
      %low = arith.cmpi ult, %lane, %c16 : index
      %reversed = scf.if %low -> (i32) {
        %opposite = arith.subi %c15, %lane : index
        %from = arith.addi %warp_from, %opposite : index
        %other = memref.load %in[%from] : memref<64xi32>
        scf.yield %other : i32
      } else {
        scf.yield %zero : i32
      }
      %sum = scf.for %j = %warp_from to %warp_to step %c1 iter_args(%s = %zero) -> (i32) {
        %x = memref.load %in[%j] : memref<64xi32>
        %s_new = arith.addi %s, %x : i32
        scf.yield %s_new : i32
      }
      %real = arith.sitofp %sum : i32 to f32
      %bits = arith.bitcast %real : f32 to i32

      %got0 = memref.load %out[%c0, %i] : memref<5x64xi32>
      %got1 = memref.load %out[%c1, %i] : memref<5x64xi32>
      %got2 = memref.load %out[%c2, %i] : memref<5x64xi32>
      %got3 = memref.load %out[%c3, %i] : memref<5x64xi32>
      %got4 = memref.load %out[%c4, %i] : memref<5x64xi32>
      %same0 = arith.cmpi eq, %prefix, %got0 : i32
      %same1 = arith.cmpi eq, %difference, %got1 : i32
      %same2 = arith.cmpi eq, %reversed, %got2 : i32
      %same3 = arith.cmpi eq, %bits, %got3 : i32
      %one0 = arith.extui %same0 : i1 to i64
      %one1 = arith.extui %same1 : i1 to i64
      %one2 = arith.extui %same2 : i1 to i64
      %one3 = arith.extui %same3 : i1 to i64
      %n1 = arith.addi %n, %one0 : i64
      %n2 = arith.addi %n1, %one1 : i64
      %n3 = arith.addi %n2, %one2 : i64
      %n4 = arith.addi %n3, %one3 : i64
      %m_new = arith.addi %m, %got4 : i32
      scf.yield %n4, %m_new : i64, i32
    }
    vector.print str "Correct: "
    vector.print %correct : i64 punctuation <no_punctuation>
    vector.print str " of "
    vector.print %total : i64
    vector.print str "Lanes without a source: "
    vector.print %without : i32

    memref.dealloc %in : memref<64xi32>
    memref.dealloc %out : memref<5x64xi32>
    %two = arith.constant 2 : i32
    %wrong_values = arith.cmpi ne, %correct, %total : i64
    %wrong_lanes = arith.cmpi ne, %without, %two : i32
    %wrong = arith.ori %wrong_values, %wrong_lanes : i1
    %status = arith.extui %wrong : i1 to i32
    return %status : i32
  }
}
