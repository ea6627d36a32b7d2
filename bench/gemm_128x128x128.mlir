// The kernel of tests/mlir/programs/gemm_128x128x128_f16_f32 without its host code: what compile.cc compiles to PTX, with
// lemma and with mlir-opt of LLVM 22. Both read this spelling; upstream's pipeline does not take tensor maps as arguments
// of a gpu.func, hence the pointers.
!a_box = memref<128x64xf16, #gpu.address_space<workgroup>>
!b_box = memref<64x64xf16, #gpu.address_space<workgroup>>
!b_tile = memref<64x128xf16, #gpu.address_space<workgroup>>
!a_map = !nvgpu.tensormap.descriptor<tensor = !a_box, swizzle = swizzle_128b, l2promo = l2promo_128b, oob = zero,
                                     interleave = none>
!b_map = !nvgpu.tensormap.descriptor<tensor = !b_box, swizzle = swizzle_128b, l2promo = l2promo_128b, oob = zero,
                                     interleave = none>
!barriers = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 2>
!accumulator = !nvgpu.warpgroup.accumulator<fragmented = vector<128x128xf32>>

module attributes {gpu.container_module} {
  gpu.module @gemm {
    gpu.func @gemm_128x128x128_f16_f32(%a_pointer: !llvm.ptr, %b_pointer: !llvm.ptr, %d: memref<128x128xf32>) kernel {
      %a_map = builtin.unrealized_conversion_cast %a_pointer : !llvm.ptr to !a_map
      %b_map = builtin.unrealized_conversion_cast %b_pointer : !llvm.ptr to !b_map
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c2 = arith.constant 2 : index
      %c64 = arith.constant 64 : index
      %ticks = arith.constant 10000000 : index
      %stage_bytes = arith.constant 32768 : index
      %a_bytes = arith.constant 16384 : index
      %box_bytes = arith.constant 8192 : index
      %even = arith.constant false
      %thread = gpu.thread_id x
      %shared = gpu.dynamic_shared_memory : memref<?xi8, #gpu.address_space<workgroup>>
      %barriers = nvgpu.mbarrier.create -> !barriers
      %first = arith.cmpi eq, %thread, %c0 : index
      scf.if %first {
        nvgpu.mbarrier.init %barriers[%c0], %c1 : !barriers
        nvgpu.mbarrier.init %barriers[%c1], %c1 : !barriers
      }
      gpu.barrier
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
      %sum = scf.for %stage = %c0 to %c2 step %c1 iter_args(%acc = %zero) -> (!accumulator) {
        nvgpu.mbarrier.try_wait.parity %barriers[%stage], %even, %ticks : !barriers
        %at_a = arith.muli %stage, %stage_bytes : index
        %at_b = arith.addi %at_a, %a_bytes : index
        %tile_a = memref.view %shared[%at_a][] : memref<?xi8, #gpu.address_space<workgroup>> to !a_box
        %tile_b = memref.view %shared[%at_b][] : memref<?xi8, #gpu.address_space<workgroup>> to !b_tile
        %desc_a = nvgpu.warpgroup.generate.descriptor %tile_a, %a_map
          : !a_box, !a_map -> !nvgpu.warpgroup.descriptor<tensor = !a_box>
        %desc_b = nvgpu.warpgroup.generate.descriptor %tile_b, %b_map
          : !b_tile, !b_map -> !nvgpu.warpgroup.descriptor<tensor = !b_tile>
        %next = nvgpu.warpgroup.mma %desc_a, %desc_b, %acc {transposeB}
          : <tensor = !a_box>, <tensor = !b_tile>, <fragmented = vector<128x128xf32>>
          -> <fragmented = vector<128x128xf32>>
        scf.yield %next : !accumulator
      }
      nvgpu.warpgroup.mma.store %sum, %d : <fragmented = vector<128x128xf32>> to memref<128x128xf32>
      gpu.return
    }
  }
}
