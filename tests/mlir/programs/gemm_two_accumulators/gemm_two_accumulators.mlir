// The GEMM of gemm_128x128x128_f16_f32 (D = A * B, 128x128x128, f16 to f32, one warpgroup, two stages of copies) in the
// spelling of 2023: descriptors are wgmma descriptors, barriers say nvgpu.mbarrier.barrier, a phase is an index, and
// warpgroup.mma takes and gives one accumulator for each 64 rows of D, which are stored one by one.
//
// The entries are whole numbers so small that every sum is exact in f32: the order of additions cannot matter, and
// linalg.matmul on the host owes the same bits.
//
// Not here: predicates (gemm_128x128x128_f16_f32_pred). How accumulators begin and where they go is of a later dialect;
// that of 2023 had no operation for either.
// Spec: nvgpu.wgmma.generate.descriptor, nvgpu.warpgroup.mma, nvgpu.mbarrier.*; PTX ISA, wgmma.mma_async.
// UPSTREAM: refused: the spelling of 2023
// RUN: lemma run %s | FileCheck %s
// CHECK: Correct: 16384 of 16384
// CHECK-NEXT: Checksum: -65

!a_box = memref<128x64xf16, #gpu.address_space<workgroup>>
!b_box = memref<64x64xf16, #gpu.address_space<workgroup>>
!b_tile = memref<64x128xf16, #gpu.address_space<workgroup>>
!a_map = !nvgpu.tensormap.descriptor<tensor = !a_box, swizzle = swizzle_128b, l2promo = l2promo_128b, oob = zero,
                                     interleave = none>
!b_map = !nvgpu.tensormap.descriptor<tensor = !b_box, swizzle = swizzle_128b, l2promo = l2promo_128b, oob = zero,
                                     interleave = none>
!barriers = !nvgpu.mbarrier.barrier<memorySpace = #gpu.address_space<workgroup>, num_barriers = 2>
!accumulator = !nvgpu.warpgroup.accumulator<fragmented = vector<64x128xf32>>

module attributes {gpu.container_module} {
  func.func @main() -> i32 {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c3 = arith.constant 3 : index
    %c5 = arith.constant 5 : index
    %c7 = arith.constant 7 : index
    %c11 = arith.constant 11 : index
    %c64 = arith.constant 64 : index
    %c128 = arith.constant 128 : index
    %n0 = arith.constant 0 : i64
    %f0 = arith.constant 0.0 : f32
    %three = arith.constant 3 : i32
    %five = arith.constant 5 : i32
    %shared_bytes = arith.constant 65536 : i32
    %total = arith.constant 16384 : i64

    // A: (7 i + 3 j) mod 11 - 5; B: (5 i + 2 j) mod 7 - 3.
    %a = memref.alloc() : memref<128x128xf16>
    %b = memref.alloc() : memref<128x128xf16>
    %d = memref.alloc() : memref<128x128xf32>
    scf.for %i = %c0 to %c128 step %c1 {
      scf.for %j = %c0 to %c128 step %c1 {
        %a0 = arith.muli %i, %c7 : index
        %a1 = arith.muli %j, %c3 : index
        %a2 = arith.addi %a0, %a1 : index
        %a3 = arith.remui %a2, %c11 : index
        %a4 = arith.index_cast %a3 : index to i32
        %a5 = arith.subi %a4, %five : i32
        %a6 = arith.sitofp %a5 : i32 to f32
        %a7 = arith.truncf %a6 : f32 to f16
        memref.store %a7, %a[%i, %j] : memref<128x128xf16>
        %b0 = arith.muli %i, %c5 : index
        %b1 = arith.muli %j, %c2 : index
        %b2 = arith.addi %b0, %b1 : index
        %b3 = arith.remui %b2, %c7 : index
        %b4 = arith.index_cast %b3 : index to i32
        %b5 = arith.subi %b4, %three : i32
        %b6 = arith.sitofp %b5 : i32 to f32
        %b7 = arith.truncf %b6 : f32 to f16
        memref.store %b7, %b[%i, %j] : memref<128x128xf16>
      }
    }

    %ready = gpu.wait async
    %da, %t0 = gpu.alloc async [%ready] () : memref<128x128xf16>
    %db, %t1 = gpu.alloc async [%t0] () : memref<128x128xf16>
    %dd, %t2 = gpu.alloc async [%t1] () : memref<128x128xf32>
    %t3 = gpu.memcpy async [%t2] %da, %a : memref<128x128xf16>, memref<128x128xf16>
    %t4 = gpu.memcpy async [%t3] %db, %b : memref<128x128xf16>, memref<128x128xf16>
    gpu.wait [%t4]
    %a_any = memref.cast %da : memref<128x128xf16> to memref<*xf16>
    %b_any = memref.cast %db : memref<128x128xf16> to memref<*xf16>
    %a_map = nvgpu.tma.create.descriptor %a_any box[%c128, %c64] : memref<*xf16> -> !a_map
    %b_map = nvgpu.tma.create.descriptor %b_any box[%c64, %c64] : memref<*xf16> -> !b_map

    %t5 = gpu.wait async
    %t6 = gpu.launch async [%t5] blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
                                 threads(%thread, %ty, %tz) in (%sx = %c128, %sy = %c1, %sz = %c1)
                                 dynamic_shared_memory_size %shared_bytes {
      %ticks = arith.constant 10000000 : index
      %stage_bytes = arith.constant 32768 : index
      %a_bytes = arith.constant 16384 : index
      %box_bytes = arith.constant 8192 : index
      %shared = gpu.dynamic_shared_memory : memref<?xi8, #gpu.address_space<workgroup>>
      %barriers = nvgpu.mbarrier.create -> !barriers
      %first = arith.cmpi eq, %thread, %c0 : index
      scf.if %first {
        nvgpu.mbarrier.init %barriers[%c0], %c1 : !barriers
        nvgpu.mbarrier.init %barriers[%c1], %c1 : !barriers
      }
      gpu.barrier
      // A stage: A's box, then B's two. The innermost coordinate comes first.
      scf.for %stage = %c0 to %c2 step %c1 {
        %k = arith.muli %stage, %c64 : index
        %at_a = arith.muli %stage, %stage_bytes : index
        %at_b0 = arith.addi %at_a, %a_bytes : index
        %at_b1 = arith.addi %at_b0, %box_bytes : index
        %to_a = memref.view %shared[%at_a][] : memref<?xi8, #gpu.address_space<workgroup>> to !a_box
        %to_b0 = memref.view %shared[%at_b0][] : memref<?xi8, #gpu.address_space<workgroup>> to !b_box
        %to_b1 = memref.view %shared[%at_b1][] : memref<?xi8, #gpu.address_space<workgroup>> to !b_box
        scf.if %first {
          nvgpu.mbarrier.arrive.expect_tx %barriers[%stage], %stage_bytes : !barriers
          nvgpu.tma.async.load %a_map[%k, %c0], %barriers[%stage] to %to_a : !a_map, !barriers -> !a_box
          nvgpu.tma.async.load %b_map[%c0, %k], %barriers[%stage] to %to_b0 : !b_map, !barriers -> !b_box
          nvgpu.tma.async.load %b_map[%c64, %k], %barriers[%stage] to %to_b1 : !b_map, !barriers -> !b_box
        }
      }

      %zero = nvgpu.warpgroup.mma.init.accumulator -> !accumulator
      %top, %bottom = scf.for %stage = %c0 to %c2 step %c1 iter_args(%acc0 = %zero, %acc1 = %zero)
          -> (!accumulator, !accumulator) {
        nvgpu.mbarrier.try_wait.parity %barriers[%stage], %c0, %ticks : !barriers
        %at_a = arith.muli %stage, %stage_bytes : index
        %at_b = arith.addi %at_a, %a_bytes : index
        %tile_a = memref.view %shared[%at_a][] : memref<?xi8, #gpu.address_space<workgroup>> to !a_box
        %tile_b = memref.view %shared[%at_b][] : memref<?xi8, #gpu.address_space<workgroup>> to !b_tile
        %desc_a = nvgpu.wgmma.generate.descriptor %tile_a, %a_map
          : !a_box, !a_map -> !nvgpu.wgmma.descriptor<tensor = !a_box>
        %desc_b = nvgpu.wgmma.generate.descriptor %tile_b, %b_map
          : !b_tile, !b_map -> !nvgpu.wgmma.descriptor<tensor = !b_tile>
        %next0, %next1 = nvgpu.warpgroup.mma %desc_a, %desc_b, %acc0, %acc1 {transposeB, waitGroup = 0 : i32}
          : !nvgpu.wgmma.descriptor<tensor = !a_box>, !nvgpu.wgmma.descriptor<tensor = !b_tile>,
            !accumulator, !accumulator -> !accumulator, !accumulator
        scf.yield %next0, %next1 : !accumulator, !accumulator
      }
      %dd_top = memref.subview %dd[0, 0] [64, 128] [1, 1]
        : memref<128x128xf32> to memref<64x128xf32, strided<[128, 1]>>
      %dd_bottom = memref.subview %dd[64, 0] [64, 128] [1, 1]
        : memref<128x128xf32> to memref<64x128xf32, strided<[128, 1], offset: 8192>>
      nvgpu.warpgroup.mma.store %top, %dd_top : !accumulator to memref<64x128xf32, strided<[128, 1]>>
      nvgpu.warpgroup.mma.store %bottom, %dd_bottom
        : !accumulator to memref<64x128xf32, strided<[128, 1], offset: 8192>>
      gpu.terminator
    }
    %t7 = gpu.memcpy async [%t6] %d, %dd : memref<128x128xf32>, memref<128x128xf32>
    %t8 = gpu.dealloc async [%t7] %da : memref<128x128xf16>
    %t9 = gpu.dealloc async [%t8] %db : memref<128x128xf16>
    %t10 = gpu.dealloc async [%t9] %dd : memref<128x128xf32>
    gpu.wait [%t10]

    %want = memref.alloc() : memref<128x128xf32>
    linalg.fill ins(%f0 : f32) outs(%want : memref<128x128xf32>)
    linalg.matmul ins(%a, %b : memref<128x128xf16>, memref<128x128xf16>) outs(%want : memref<128x128xf32>)
    %correct, %checksum = scf.for %i = %c0 to %c128 step %c1 iter_args(%n_row = %n0, %s_row = %f0) -> (i64, f32) {
      %n_next, %s_next = scf.for %j = %c0 to %c128 step %c1 iter_args(%n = %n_row, %s = %s_row) -> (i64, f32) {
        %x = memref.load %want[%i, %j] : memref<128x128xf32>
        %y = memref.load %d[%i, %j] : memref<128x128xf32>
        %x_bits = arith.bitcast %x : f32 to i32
        %y_bits = arith.bitcast %y : f32 to i32
        %same = arith.cmpi eq, %x_bits, %y_bits : i32
        %one = arith.extui %same : i1 to i64
        %n_new = arith.addi %n, %one : i64
        %s_new = arith.addf %s, %y : f32
        scf.yield %n_new, %s_new : i64, f32
      }
      scf.yield %n_next, %s_next : i64, f32
    }
    vector.print str "Correct: "
    vector.print %correct : i64 punctuation <no_punctuation>
    vector.print str " of "
    vector.print %total : i64
    vector.print str "Checksum: "
    vector.print %checksum : f32

    memref.dealloc %a : memref<128x128xf16>
    memref.dealloc %b : memref<128x128xf16>
    memref.dealloc %d : memref<128x128xf32>
    memref.dealloc %want : memref<128x128xf32>
    %wrong = arith.cmpi ne, %correct, %total : i64
    %status = arith.extui %wrong : i1 to i32
    return %status : i32
  }
}
