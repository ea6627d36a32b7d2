// REQUIRES: mlir-opt
// RUN: %mlir-opt %s -o %t.pretty.mlir && %mlir-opt %s --mlir-print-op-generic -o %t.generic.mlir
// RUN: lemma-opt %t.pretty.mlir -o - | diff %t.pretty.mlir -
// RUN: lemma-opt %t.generic.mlir -o - | diff %t.pretty.mlir -
// RUN: lemma-opt %s --mlir-print-op-generic | %mlir-opt | diff %t.pretty.mlir -
// RUN: lemma compile %t.pretty.mlir -o %t.ptx && lemma verify %t.ptx && %ptxas -arch=sm_90a %t.ptx
// RUN: FileCheck %s < %t.ptx
// RUN: lemma compile %t.generic.mlir | grep -v "\.file\|\.loc" > %t.generic.ptx
// RUN: grep -v "\.file\|\.loc" %t.ptx | diff - %t.generic.ptx
// RUN: lemma run %t.generic.mlir
//
// The tensor map operations as LLVM 22's mlir-opt prints them, and the attributes of tensor maps by themselves.

!swizzled = !nvgpu.tensormap.descriptor<tensor = memref<64x32xf16, #gpu.address_space<workgroup>>, swizzle = swizzle_64b, l2promo = l2promo_128b, oob = zero, interleave = none>
!plain = !nvgpu.tensormap.descriptor<tensor = memref<4x4x8xf32, 3>, swizzle = none, l2promo = none, oob = nan, interleave = none>
!interleaved = !nvgpu.tensormap.descriptor<tensor = memref<1x2x16xi8, 3>, swizzle = none, l2promo = l2promo_64b, oob = zero, interleave = interleave_16b>
!barriers = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 2>

module attributes {gpu.container_module} {
  gpu.module @kernels {
    // CHECK-LABEL: .entry copies(
    gpu.func @copies(%swizzled: !swizzled, %plain: !plain, %mask: i16, %flag: i1)
        workgroup(%tile: memref<64x32xf16, #gpu.address_space<workgroup>>, %box: memref<4x4x8xf32, 3>) kernel {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %barriers = nvgpu.mbarrier.create -> !barriers
      // CHECK: prefetch.tensormap
      nvgpu.tma.prefetch.descriptor %swizzled : !swizzled
      // CHECK: @%p{{[0-9]+}} prefetch.tensormap
      nvgpu.tma.prefetch.descriptor %plain, predicate = %flag : !plain
      // CHECK: fence.proxy.tensormap::generic.acquire
      nvgpu.tma.fence.descriptor %swizzled : !swizzled
      // CHECK: {{^[[:space:]]*}}cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes
      nvgpu.tma.async.load %swizzled[%c0, %c1], %barriers[%c0] to %tile : !swizzled, !barriers -> memref<64x32xf16, #gpu.address_space<workgroup>>
      // CHECK: @%p{{[0-9]+}} cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes
      nvgpu.tma.async.load %swizzled[%c0, %c1], %barriers[%c1] to %tile, predicate = %flag : !swizzled, !barriers -> memref<64x32xf16, #gpu.address_space<workgroup>>
      // CHECK: cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster
      nvgpu.tma.async.load %plain[%c0, %c1, %c1], %barriers[%c1] to %box multicast_mask = %mask : !plain, !barriers -> memref<4x4x8xf32, 3>
      // CHECK: @%p{{[0-9]+}} cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster
      nvgpu.tma.async.load %plain[%c0, %c1, %c1], %barriers[%c1] to %box multicast_mask = %mask, predicate = %flag : !plain, !barriers -> memref<4x4x8xf32, 3>
      // CHECK: {{^[[:space:]]*}}cp.async.bulk.tensor.3d.global.shared::cta.tile.bulk_group
      nvgpu.tma.async.store %box to %plain[%c0, %c1, %c1] : memref<4x4x8xf32, 3> -> !plain
      // CHECK: @%p{{[0-9]+}} cp.async.bulk.tensor.3d.global.shared::cta.tile.bulk_group
      nvgpu.tma.async.store %box to %plain[%c0, %c1, %c1], predicate = %flag : memref<4x4x8xf32, 3> -> !plain
      gpu.return
    }
  }

  func.func @main() {
    %c4 = arith.constant 4 : index
    %c8 = arith.constant 8 : index
    %c32 = arith.constant 32 : index
    %c64 = arith.constant 64 : index
    %f16, %t0 = gpu.alloc async () : memref<128x64xf16>
    %f32, %t1 = gpu.alloc async () : memref<8x8x8xf32>
    gpu.wait [%t0, %t1]
    %0 = memref.cast %f16 : memref<128x64xf16> to memref<*xf16>
    %1 = memref.cast %f32 : memref<8x8x8xf32> to memref<*xf32>
    %swizzled = nvgpu.tma.create.descriptor %0 box[%c64, %c32] : memref<*xf16> -> !swizzled
    %plain = nvgpu.tma.create.descriptor %1 box[%c4, %c4, %c8] : memref<*xf32> -> !plain
    return
  }

  // mlir-opt knows the type, but takes no descriptor of it.
  func.func private @interleaved(!interleaved)

  func.func private @attributes() attributes {
    swizzles = [#nvgpu<swizzle none>, #nvgpu<swizzle swizzle_32b>, #nvgpu<swizzle swizzle_64b>, #nvgpu<swizzle swizzle_128b>],
    l2promos = [#nvgpu<l2promo none>, #nvgpu<l2promo l2promo_64b>, #nvgpu<l2promo l2promo_128b>, #nvgpu<l2promo l2promo_256b>],
    oobs = [#nvgpu<oob zero>, #nvgpu<oob nan>],
    interleaves = [#nvgpu<interleave none>, #nvgpu<interleave interleave_16b>, #nvgpu<interleave interleave_32b>],
    roundings = [#nvgpu<rcp_rounding_mode approx>, #nvgpu<rcp_rounding_mode rn>, #nvgpu<rcp_rounding_mode rz>,
                 #nvgpu<rcp_rounding_mode rm>, #nvgpu<rcp_rounding_mode rp>]
  }
}
