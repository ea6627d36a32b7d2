// A tensor copy there and back (TMA): a box of 8 x 16 half-words comes to shared memory, every thread doubles some of
// them, and a tensor copy stores the box into another tensor, over its right and lower edge: what lies outside is not
// written. Predicates choose the thread that copies; no branch is around them.
//
// Two fences: threads' words must be visible to the copy engine (the async proxy), and the bulk group of the store
// complete before the kernel ends.
//
// Not here: swizzles (tma_load_*).
// Spec: nvgpu.tma.async.store, nvgpu.tma.fence.descriptor; PTX ISA, cp.async.bulk.tensor, fence.proxy.async.
// UPSTREAM: refused: a barrier without an index
// RUN: lemma run %s | FileCheck %s
// CHECK: {{\[\[}}-1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1],
// CHECK-NEXT: [-1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1],
// CHECK-NEXT: [-1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1],
// CHECK-NEXT: [-1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, 480, 482, 484, 486, 488, 490, 492, 494],
// CHECK-NEXT: [-1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, 544, 546, 548, 550, 552, 554, 556, 558],
// CHECK-NEXT: [-1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, 608, 610, 612, 614, 616, 618, 620, 622]]
// CHECK-NEXT: Correct: 144 of 144

!tile = memref<8x16xi16, #gpu.address_space<workgroup>>
!map = !nvgpu.tensormap.descriptor<tensor = !tile, swizzle = none, l2promo = none, oob = zero, interleave = none>
!barrier = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>

module attributes {gpu.container_module} {
  memref.global "private" @tile : !tile

  func.func private @printMemrefI32(memref<*xi32>) attributes {llvm.emit_c_interface}

  func.func @main() -> i32 {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c3 = arith.constant 3 : index
    %c4 = arith.constant 4 : index
    %c6 = arith.constant 6 : index
    %c7 = arith.constant 7 : index
    %c8 = arith.constant 8 : index
    %c16 = arith.constant 16 : index
    %c24 = arith.constant 24 : index
    %c32 = arith.constant 32 : index
    %bytes = arith.constant 256 : index
    %ticks = arith.constant 10000000 : index
    %even = arith.constant false
    %never = arith.constant false
    %two = arith.constant 2 : i16
    %untouched = arith.constant -1 : i16
    %n0 = arith.constant 0 : i64
    %total = arith.constant 144 : i64

    // Entry (i, j) of the source: 32 i + j. The destination: -1.
    %from = memref.alloc() : memref<32x32xi16>
    %to = memref.alloc() : memref<6x24xi16>
    scf.for %i = %c0 to %c32 step %c1 {
      scf.for %j = %c0 to %c32 step %c1 {
        %p = arith.muli %i, %c32 : index
        %q = arith.addi %p, %j : index
        %r = arith.index_cast %q : index to i16
        memref.store %r, %from[%i, %j] : memref<32x32xi16>
      }
    }
    scf.for %i = %c0 to %c6 step %c1 {
      scf.for %j = %c0 to %c24 step %c1 {
        memref.store %untouched, %to[%i, %j] : memref<6x24xi16>
      }
    }

    %ready = gpu.wait async
    %dfrom, %t0 = gpu.alloc async [%ready] () : memref<32x32xi16>
    %dto, %t1 = gpu.alloc async [%t0] () : memref<6x24xi16>
    %t2 = gpu.memcpy async [%t1] %dfrom, %from : memref<32x32xi16>, memref<32x32xi16>
    %t3 = gpu.memcpy async [%t2] %dto, %to : memref<6x24xi16>, memref<6x24xi16>
    gpu.wait [%t3]
    %any_from = memref.cast %dfrom : memref<32x32xi16> to memref<*xi16>
    %any_to = memref.cast %dto : memref<6x24xi16> to memref<*xi16>
    %map_from = nvgpu.tma.create.descriptor %any_from box[%c8, %c16] : memref<*xi16> -> !map
    %map_to = nvgpu.tma.create.descriptor %any_to box[%c8, %c16] : memref<*xi16> -> !map
    %t4 = gpu.wait async
    %t5 = gpu.launch async [%t4] blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
                                 threads(%thread, %ty, %tz) in (%sx = %c32, %sy = %c1, %sz = %c1) {
      %tile = memref.get_global @tile : !tile
      %barrier = nvgpu.mbarrier.create -> !barrier
      %first = arith.cmpi eq, %thread, %c0 : index
      nvgpu.tma.fence.descriptor %map_from : !map
      nvgpu.tma.fence.descriptor %map_to : !map
      nvgpu.tma.prefetch.descriptor %map_to, predicate = %first : !map
      nvgpu.mbarrier.init %barrier, %c1, predicate = %first : !barrier
      gpu.barrier
      // Columns 16..31 of rows 7..14.
      nvgpu.mbarrier.arrive.expect_tx %barrier, %bytes, predicate = %first : !barrier
      nvgpu.tma.async.load %map_from[%c16, %c7], %barrier to %tile, predicate = %first : !map, !barrier -> !tile
      nvgpu.mbarrier.try_wait.parity %barrier, %even, %ticks : !barrier

      // Four threads a row.
      %line = arith.divui %thread, %c4 : index
      %quarter = arith.remui %thread, %c4 : index
      %start = arith.muli %quarter, %c4 : index
      %end = arith.addi %start, %c4 : index
      scf.for %col = %start to %end step %c1 {
        %word = memref.load %tile[%line, %col] : !tile
        %twice = arith.muli %word, %two : i16
        memref.store %twice, %tile[%line, %col] : !tile
      }
      nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}
      gpu.barrier
      // Rows 3 to 5 of 6, columns 16 to 23 of 24: the rest of the box lies outside.
      nvgpu.tma.async.store %tile to %map_to[%c16, %c3], predicate = %first : !tile -> !map
      nvvm.cp.async.bulk.commit.group
      nvvm.cp.async.bulk.wait_group 0
      gpu.terminator
    }
    %t6 = gpu.memcpy async [%t5] %to, %dto : memref<6x24xi16>, memref<6x24xi16>
    %t7 = gpu.dealloc async [%t6] %dfrom : memref<32x32xi16>
    %t8 = gpu.dealloc async [%t7] %dto : memref<6x24xi16>
    gpu.wait [%t8]

    %shown = memref.alloc() : memref<6x24xi32>
    %correct = scf.for %i = %c0 to %c6 step %c1 iter_args(%n_row = %n0) -> (i64) {
      %n_next = scf.for %j = %c0 to %c24 step %c1 iter_args(%n = %n_row) -> (i64) {
        %got = memref.load %to[%i, %j] : memref<6x24xi16>
        %wide = arith.extsi %got : i16 to i32
        memref.store %wide, %shown[%i, %j] : memref<6x24xi32>
        // (3, 16) of the destination is (7, 16) of the source.
        %source_row = arith.addi %i, %c4 : index
        %source = memref.load %from[%source_row, %j] : memref<32x32xi16>
        %twice = arith.muli %source, %two : i16
        %below = arith.cmpi uge, %i, %c3 : index
        %right = arith.cmpi uge, %j, %c16 : index
        %inside = arith.andi %below, %right : i1
        %want = arith.select %inside, %twice, %untouched : i16
        %same = arith.cmpi eq, %want, %got : i16
        %one = arith.extui %same : i1 to i64
        %n_new = arith.addi %n, %one : i64
        scf.yield %n_new : i64
      }
      scf.yield %n_next : i64
    }
    %any_shown = memref.cast %shown : memref<6x24xi32> to memref<*xi32>
    func.call @printMemrefI32(%any_shown) : (memref<*xi32>) -> ()
    vector.print str "Correct: "
    vector.print %correct : i64 punctuation <no_punctuation>
    vector.print str " of "
    vector.print %total : i64
    memref.dealloc %from : memref<32x32xi16>
    memref.dealloc %to : memref<6x24xi16>
    memref.dealloc %shown : memref<6x24xi32>
    %wrong = arith.cmpi ne, %correct, %total : i64
    %status = arith.extui %wrong : i1 to i32
    return %status : i32
  }
}
