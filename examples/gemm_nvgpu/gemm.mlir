// D = A * B, 256x256x256, A and B f16, D f32: four CTAs of one warpgroup, a tile of 128x128 each.
//
// K goes in four stages of 64, each with an mbarrier and 32 KiB of shared memory of its own: one thread asks the tensor
// memory accelerator for all of them at once, and the warpgroup multiplies each as it arrives. A's part of a stage is one
// box of 128x64, B's two boxes of 64x64 side by side; all have the 128-byte swizzle.
//
// main takes what memory it is given, so that any A and B can be tried: see README.md.

!a_box = memref<128x64xf16, #gpu.address_space<workgroup>>
!b_box = memref<64x64xf16, #gpu.address_space<workgroup>>
!b_tile = memref<64x128xf16, #gpu.address_space<workgroup>>
!shared = memref<?xi8, #gpu.address_space<workgroup>>
!a_map = !nvgpu.tensormap.descriptor<tensor = !a_box, swizzle = swizzle_128b, l2promo = l2promo_128b, oob = zero,
                                     interleave = none>
!b_map = !nvgpu.tensormap.descriptor<tensor = !b_box, swizzle = swizzle_128b, l2promo = l2promo_128b, oob = zero,
                                     interleave = none>
!barriers = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 4>
!accumulator = !nvgpu.warpgroup.accumulator<fragmented = vector<128x128xf32>>

module attributes {gpu.container_module} {
  func.func @main(%a: memref<256x256xf16>, %b: memref<256x256xf16>, %d: memref<256x256xf32>) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c4 = arith.constant 4 : index
    %c64 = arith.constant 64 : index
    %c128 = arith.constant 128 : index
    %shared_bytes = arith.constant 131072 : i32

    %t0 = gpu.wait async
    %da, %t1 = gpu.alloc async [%t0] () : memref<256x256xf16>
    %db, %t2 = gpu.alloc async [%t1] () : memref<256x256xf16>
    %dd, %t3 = gpu.alloc async [%t2] () : memref<256x256xf32>
    %t4 = gpu.memcpy async [%t3] %da, %a : memref<256x256xf16>, memref<256x256xf16>
    %t5 = gpu.memcpy async [%t4] %db, %b : memref<256x256xf16>, memref<256x256xf16>
    gpu.wait [%t5]
    %a_any = memref.cast %da : memref<256x256xf16> to memref<*xf16>
    %b_any = memref.cast %db : memref<256x256xf16> to memref<*xf16>
    %a_map = nvgpu.tma.create.descriptor %a_any box[%c128, %c64] : memref<*xf16> -> !a_map
    %b_map = nvgpu.tma.create.descriptor %b_any box[%c64, %c64] : memref<*xf16> -> !b_map

    %t6 = gpu.wait async
    %t7 = gpu.launch async [%t6] blocks(%bx, %by, %bz) in (%gx = %c2, %gy = %c2, %gz = %c1)
                                 threads(%thread, %ty, %tz) in (%sx = %c128, %sy = %c1, %sz = %c1)
                                 dynamic_shared_memory_size %shared_bytes {
      %ticks = arith.constant 10000000 : index
      %stage_bytes = arith.constant 32768 : index
      %a_bytes = arith.constant 16384 : index
      %box_bytes = arith.constant 8192 : index
      %even = arith.constant false
      %row = arith.muli %by, %c128 : index
      %column0 = arith.muli %bx, %c128 : index
      %column1 = arith.addi %column0, %c64 : index
      %shared = gpu.dynamic_shared_memory : !shared
      %barriers = nvgpu.mbarrier.create -> !barriers
      %first = arith.cmpi eq, %thread, %c0 : index
      scf.if %first {
        scf.for %stage = %c0 to %c4 step %c1 {
          nvgpu.mbarrier.init %barriers[%stage], %c1 : !barriers
        }
      }
      gpu.barrier

      scf.if %first {
        scf.for %stage = %c0 to %c4 step %c1 {
          %k = arith.muli %stage, %c64 : index
          %at_a = arith.muli %stage, %stage_bytes : index
          %at_b0 = arith.addi %at_a, %a_bytes : index
          %at_b1 = arith.addi %at_b0, %box_bytes : index
          %to_a = memref.view %shared[%at_a][] : !shared to !a_box
          %to_b0 = memref.view %shared[%at_b0][] : !shared to !b_box
          %to_b1 = memref.view %shared[%at_b1][] : !shared to !b_box
          nvgpu.mbarrier.arrive.expect_tx %barriers[%stage], %stage_bytes : !barriers
          // The innermost coordinate comes first.
          nvgpu.tma.async.load %a_map[%k, %row], %barriers[%stage] to %to_a : !a_map, !barriers -> !a_box
          nvgpu.tma.async.load %b_map[%column0, %k], %barriers[%stage] to %to_b0 : !b_map, !barriers -> !b_box
          nvgpu.tma.async.load %b_map[%column1, %k], %barriers[%stage] to %to_b1 : !b_map, !barriers -> !b_box
        }
      }

      %zero = nvgpu.warpgroup.mma.init.accumulator -> !accumulator
      %sum = scf.for %stage = %c0 to %c4 step %c1 iter_args(%acc = %zero) -> (!accumulator) {
        nvgpu.mbarrier.try_wait.parity %barriers[%stage], %even, %ticks : !barriers
        %at_a = arith.muli %stage, %stage_bytes : index
        %at_b = arith.addi %at_a, %a_bytes : index
        %tile_a = memref.view %shared[%at_a][] : !shared to !a_box
        %tile_b = memref.view %shared[%at_b][] : !shared to !b_tile
        %desc_a = nvgpu.warpgroup.generate.descriptor %tile_a, %a_map
          : !a_box, !a_map -> !nvgpu.warpgroup.descriptor<tensor = !a_box>
        %desc_b = nvgpu.warpgroup.generate.descriptor %tile_b, %b_map
          : !b_tile, !b_map -> !nvgpu.warpgroup.descriptor<tensor = !b_tile>
        // 128x128x64 becomes eight wgmmas of m64n128k16. B has N contiguous, hence transposeB.
        %next = nvgpu.warpgroup.mma %desc_a, %desc_b, %acc {transposeB, waitGroup = 0 : i64}
          : !nvgpu.warpgroup.descriptor<tensor = !a_box>, !nvgpu.warpgroup.descriptor<tensor = !b_tile>, !accumulator
          -> !accumulator
        scf.yield %next : !accumulator
      }
      %tile = memref.subview %dd[%row, %column0] [128, 128] [1, 1]
        : memref<256x256xf32> to memref<128x128xf32, strided<[256, 1], offset: ?>>
      nvgpu.warpgroup.mma.store %sum, %tile : !accumulator to memref<128x128xf32, strided<[256, 1], offset: ?>>
      gpu.terminator
    }
    %t8 = gpu.memcpy async [%t7] %d, %dd : memref<256x256xf32>, memref<256x256xf32>
    %t9 = gpu.dealloc async [%t8] %da : memref<256x256xf16>
    %t10 = gpu.dealloc async [%t9] %db : memref<256x256xf16>
    %t11 = gpu.dealloc async [%t10] %dd : memref<256x256xf32>
    gpu.wait [%t11]
    return
  }
}
