// One tensor copy (TMA) with the 64-byte swizzle: rows of 16 words, whose four 16-byte chunks are permuted by the
// number of their pair of rows. A box of 16 x 16 words out of the middle of a 48 x 64 tensor goes to shared memory; the
// kernel hands the tile back as its bytes lie, and the host compares them with the address formula of the swizzle. What
// is printed is which chunk of its row lies where: 16 bytes a number.
//
// The kernel is a gpu.launch, and the tensor map one of the values it captures. The tile is aligned to 1024 bytes,
// where the pattern of a swizzle starts. The spelling is that of 2023: a barrier without an index in its type, a phase
// of index type, no prefetch.
//
// Not here: other swizzles (the other tma_load_* programs), predicates (gemm_128x128x128_f16_f32_pred).
// Spec: nvgpu.tma.create.descriptor, nvgpu.tma.async.load, nvgpu.mbarrier; PTX ISA, tensor swizzling modes.
// UPSTREAM: refused: the spelling of 2023
// RUN: lemma run %s | FileCheck %s
// CHECK: {{\[\[}}0, 1, 2, 3],
// CHECK-NEXT: [0, 1, 2, 3],
// CHECK-NEXT: [1, 0, 3, 2],
// CHECK-NEXT: [1, 0, 3, 2],
// CHECK-NEXT: [2, 3, 0, 1],
// CHECK-NEXT: [2, 3, 0, 1],
// CHECK-NEXT: [3, 2, 1, 0],
// CHECK-NEXT: [3, 2, 1, 0],
// CHECK-NEXT: [0, 1, 2, 3],
// CHECK-NEXT: [0, 1, 2, 3],
// CHECK-NEXT: [1, 0, 3, 2],
// CHECK-NEXT: [1, 0, 3, 2],
// CHECK-NEXT: [2, 3, 0, 1],
// CHECK-NEXT: [2, 3, 0, 1],
// CHECK-NEXT: [3, 2, 1, 0],
// CHECK-NEXT: [3, 2, 1, 0]]
// CHECK-NEXT: Correct: 256 of 256

!tile = memref<16x16xi32, #gpu.address_space<workgroup>>
!map = !nvgpu.tensormap.descriptor<tensor = !tile, swizzle = swizzle_64b, l2promo = none, oob = zero,
                                   interleave = none>
!barrier = !nvgpu.mbarrier.barrier<memorySpace = #gpu.address_space<workgroup>>

module attributes {gpu.container_module} {
  memref.global "private" @tile : !tile {alignment = 1024 : i64}

  func.func private @printMemrefI32(memref<*xi32>) attributes {llvm.emit_c_interface}

  // Word (i, j) of the tensor: 100 i + j.
  func.func private @entry(%i: index, %j: index) -> i32 {
    %c100 = arith.constant 100 : index
    %p = arith.muli %i, %c100 : index
    %q = arith.addi %p, %j : index
    %r = arith.index_cast %q : index to i32
    return %r : i32
  }

  func.func @main() -> i32 {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c4 = arith.constant 4 : index
    %c16 = arith.constant 16 : index
    %c32 = arith.constant 32 : index
    %c48 = arith.constant 48 : index
    %c64 = arith.constant 64 : index
    %width = arith.constant 16 : index
    %chunks = arith.constant 4 : index
    %mask = arith.constant 3 : index
    %c8 = arith.constant 8 : index
    %half = arith.constant 8 : index
    %bytes = arith.constant 1024 : index
    %ticks = arith.constant 10000000 : index
    %n0 = arith.constant 0 : i64
    %total = arith.constant 256 : i64
    %hundred = arith.constant 100 : i32
    %four = arith.constant 4 : i32
    %origin = arith.constant 32 : i32

    %tensor = memref.alloc() : memref<48x64xi32>
    %out = memref.alloc() : memref<16x16xi32>
    scf.for %i = %c0 to %c48 step %c1 {
      scf.for %j = %c0 to %c64 step %c1 {
        %value = func.call @entry(%i, %j) : (index, index) -> i32
        memref.store %value, %tensor[%i, %j] : memref<48x64xi32>
      }
    }

    %ready = gpu.wait async
    %dtensor, %t0 = gpu.alloc async [%ready] () : memref<48x64xi32>
    %dout, %t1 = gpu.alloc async [%t0] () : memref<16x16xi32>
    %t2 = gpu.memcpy async [%t1] %dtensor, %tensor : memref<48x64xi32>, memref<48x64xi32>
    gpu.wait [%t2]
    %unranked = memref.cast %dtensor : memref<48x64xi32> to memref<*xi32>
    %map = nvgpu.tma.create.descriptor %unranked box[%c16, %width] : memref<*xi32> -> !map
    %t3 = gpu.wait async
    %t4 = gpu.launch async [%t3] blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
                                 threads(%thread, %ty, %tz) in (%sx = %c32, %sy = %c1, %sz = %c1) {
      %tile = memref.get_global @tile : !tile
      %barrier = nvgpu.mbarrier.create -> !barrier
      %first = arith.cmpi eq, %thread, %c0 : index
      scf.if %first {
        nvgpu.mbarrier.init %barrier[%c0], %c1 : !barrier
      }
      gpu.barrier
      // The innermost coordinate comes first: column 32 of row 16.
      scf.if %first {
        nvgpu.mbarrier.arrive.expect_tx %barrier[%c0], %bytes : !barrier
        nvgpu.tma.async.load %map[%c32, %c16], %barrier[%c0] to %tile : !map, !barrier -> !tile
      }
      nvgpu.mbarrier.try_wait.parity %barrier[%c0], %c0, %ticks : !barrier

      // Two threads a row.
      %row = arith.divui %thread, %c2 : index
      %side = arith.remui %thread, %c2 : index
      %from = arith.muli %side, %half : index
      %to = arith.addi %from, %half : index
      scf.for %col = %from to %to step %c1 {
        %word = memref.load %tile[%row, %col] : !tile
        memref.store %word, %dout[%row, %col] : memref<16x16xi32>
      }
      gpu.terminator
    }
    %t5 = gpu.memcpy async [%t4] %out, %dout : memref<16x16xi32>, memref<16x16xi32>
    %t6 = gpu.dealloc async [%t5] %dtensor : memref<48x64xi32>
    %t7 = gpu.dealloc async [%t6] %dout : memref<16x16xi32>
    gpu.wait [%t7]

    // Word by word: where the formula says that (i, j) of the box lies, and what lies there.
    %correct = scf.for %i = %c0 to %c16 step %c1 iter_args(%n_row = %n0) -> (i64) {
      %n_next = scf.for %j = %c0 to %width step %c1 iter_args(%n = %n_row) -> (i64) {
        %chunk = arith.divui %j, %c4 : index
        %word = arith.remui %j, %c4 : index
        %before = arith.muli %i, %chunks : index
        %linear = arith.addi %before, %chunk : index
        // The number of the chunk, with the low bits of the number of its 128-byte line folded in.
        %line = arith.divui %linear, %c8 : index
        %fold = arith.andi %line, %mask : index
        %lies = arith.xori %linear, %fold : index
        %row = arith.divui %lies, %chunks : index
        %chunk_there = arith.remui %lies, %chunks : index
        %first_there = arith.muli %chunk_there, %c4 : index
        %col = arith.addi %first_there, %word : index
        %got = memref.load %out[%row, %col] : memref<16x16xi32>
        %tensor_i = arith.addi %i, %c16 : index
        %tensor_j = arith.addi %j, %c32 : index
        %want = func.call @entry(%tensor_i, %tensor_j) : (index, index) -> i32
        %same = arith.cmpi eq, %want, %got : i32
        %one = arith.extui %same : i1 to i64
        %n_new = arith.addi %n, %one : i64
        scf.yield %n_new : i64
      }
      scf.yield %n_next : i64
    }

    %picture = memref.alloc() : memref<16x4xi32>
    scf.for %i = %c0 to %c16 step %c1 {
      scf.for %j = %c0 to %chunks step %c1 {
        %col = arith.muli %j, %c4 : index
        %word = memref.load %out[%i, %col] : memref<16x16xi32>
        %tensor_col = arith.remsi %word, %hundred : i32
        %box_col = arith.subi %tensor_col, %origin : i32
        %chunk = arith.divsi %box_col, %four : i32
        memref.store %chunk, %picture[%i, %j] : memref<16x4xi32>
      }
    }
    %shown = memref.cast %picture : memref<16x4xi32> to memref<*xi32>
    func.call @printMemrefI32(%shown) : (memref<*xi32>) -> ()
    vector.print str "Correct: "
    vector.print %correct : i64 punctuation <no_punctuation>
    vector.print str " of "
    vector.print %total : i64

    memref.dealloc %picture : memref<16x4xi32>
    memref.dealloc %tensor : memref<48x64xi32>
    memref.dealloc %out : memref<16x16xi32>
    %wrong = arith.cmpi ne, %correct, %total : i64
    %status = arith.extui %wrong : i1 to i32
    return %status : i32
  }
}
