// RUN: lemma compile %s -o %t.ptx && FileCheck %s < %t.ptx
// RUN: lemma verify %t.ptx && %ptxas -arch=sm_90a %t.ptx
//
// Tensor copies and what is done with tensor maps on the device.

!group = !nvgpu.mbarrier.group<memorySpace = 3, num_barriers = 2>
!line = !nvgpu.tensormap.descriptor<tensor = memref<64xf32, 3>, swizzle = none, l2promo = none, oob = zero, interleave = none>
!plane = !nvgpu.tensormap.descriptor<tensor = memref<32x32xf32, 3>, swizzle = swizzle_128b, l2promo = none, oob = zero, interleave = none>
!five = !nvgpu.tensormap.descriptor<tensor = memref<1x2x4x4x32xf32, 3>, swizzle = none, l2promo = none, oob = zero, interleave = none>
!one = !nvgpu.mbarrier.group<memorySpace = 3>
!f8 = !nvgpu.tensormap.descriptor<tensor = memref<8x128xf8E4M3FN, 3>, swizzle = swizzle_128b, l2promo = none, oob = zero, interleave = none>
!tf32 = !nvgpu.tensormap.descriptor<tensor = memref<8x32xtf32, strided<[64, 1], offset: 32>, 3>, swizzle = swizzle_128b, l2promo = none, oob = nan, interleave = none>
!image3 = !nvgpu.tensormap.descriptor<tensor = memref<1x32x32xf32, 3>, swizzle = none, l2promo = none, oob = zero, interleave = none>
!image5 = !nvgpu.tensormap.descriptor<tensor = memref<1x1x1x32x32xf32, 3>, swizzle = none, l2promo = none, oob = zero, interleave = none>

gpu.module @kernels {
  memref.global "private" @tiles : memref<4x32x32xf32, 3> {alignment = 1024}

  // A map is its address; coordinates come in the program's order.
  // CHECK-LABEL: .entry loads(
  gpu.func @loads(%line: !line, %plane: !plane, %five: !five, %x: index, %y: index, %i: index, %mask: i16, %p: i1) kernel {
    %c0 = arith.constant 0 : index
    %tiles = memref.get_global @tiles : memref<4x32x32xf32, 3>
    %short = memref.subview %tiles[0, 0, 0][1, 2, 32][1, 1, 1] : memref<4x32x32xf32, 3> to memref<2x32xf32, strided<[32, 1]>, 3>
    %first = memref.subview %tiles[0, 0, 0][1, 32, 32][1, 1, 1] : memref<4x32x32xf32, 3> to memref<32x32xf32, strided<[32, 1]>, 3>
    %second = memref.subview %tiles[1, 0, 0][1, 32, 32][1, 1, 1] : memref<4x32x32xf32, 3> to memref<32x32xf32, strided<[32, 1], offset: 1024>, 3>
    %g = nvgpu.mbarrier.create -> !group
    // CHECK: cp.async.bulk.tensor.1d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [[[TO:%r[0-9]+]]], [%rd{{[0-9]+}}, {[[X:%r[0-9]+]]}], [[[BAR:%r[0-9]+]]];
    nvgpu.tma.async.load %line[%x], %g[%c0] to %short : !line, !group -> memref<2x32xf32, strided<[32, 1]>, 3>
    // CHECK: cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes {{\[}}[[TO]]], [[[MAP:%rd[0-9]+]], {[[X]], [[Y:%r[0-9]+]]}], {{\[}}[[BAR]]];
    nvgpu.tma.async.load %plane[%x, %y], %g[%c0] to %first : !plane, !group -> memref<32x32xf32, strided<[32, 1]>, 3>
    // CHECK: cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%r{{[0-9]+}}], {{\[}}[[MAP]], {[[Y]], [[X]]}], [%r{{[0-9]+}}];
    nvgpu.tma.async.load %plane[%y, %x], %g[%i] to %second : !plane, !group -> memref<32x32xf32, strided<[32, 1], offset: 1024>, 3>
    // CHECK: @%p{{[0-9]+}} cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster {{\[}}[[TO]]], {{\[}}[[MAP]], {[[X]], [[Y]]}], {{\[}}[[BAR]]], %rs{{[0-9]+}};
    nvgpu.tma.async.load %plane[%x, %y], %g[%c0] to %first multicast_mask = %mask, predicate = %p : !plane, !group -> memref<32x32xf32, strided<[32, 1]>, 3>
    // CHECK: cp.async.bulk.tensor.5d.shared::cluster.global.tile.mbarrier::complete_tx::bytes {{\[}}[[TO]]], [%rd{{[0-9]+}}, {[[X]], [[Y]], [[X]], [[Y]], [[X]]}], {{\[}}[[BAR]]];
    nvgpu.tma.async.load %five[%x, %y, %x, %y, %x], %g[%c0] to %first : !five, !group -> memref<32x32xf32, strided<[32, 1]>, 3>
    gpu.return
  }

  // CHECK-LABEL: .entry loads_im2col(
  gpu.func @loads_im2col(%image3: !image3, %image5: !image5, %x: index, %w: index, %h: index, %d: index, %mask: i16) kernel {
    %c0 = arith.constant 0 : index
    %tiles = memref.get_global @tiles : memref<4x32x32xf32, 3>
    %first = memref.subview %tiles[0, 0, 0][1, 32, 32][1, 1, 1] : memref<4x32x32xf32, 3> to memref<32x32xf32, strided<[32, 1]>, 3>
    %g = nvgpu.mbarrier.create -> !group
    // CHECK: cp.async.bulk.tensor.3d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes [%r{{[0-9]+}}], [%rd{{[0-9]+}}, {%r{{[0-9]+}}, %r{{[0-9]+}}, %r{{[0-9]+}}}], [%r{{[0-9]+}}], {[[W:%rs[0-9]+]]};
    nvgpu.tma.async.load %image3[%x, %x, %x] im2col [%w], %g[%c0] to %first : !image3, !group -> memref<32x32xf32, strided<[32, 1]>, 3>
    // CHECK: cp.async.bulk.tensor.5d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes.multicast::cluster [%r{{[0-9]+}}], [%rd{{[0-9]+}}, {{{.*}}}], [%r{{[0-9]+}}], {[[W]], %rs{{[0-9]+}}, %rs{{[0-9]+}}}, %rs{{[0-9]+}};
    nvgpu.tma.async.load %image5[%x, %x, %x, %x, %x] im2col [%w, %h, %d], %g[%c0] to %first multicast_mask = %mask : !image5, !group -> memref<32x32xf32, strided<[32, 1]>, 3>
    gpu.return
  }

  // The copy alone: groups are the program's.
  // CHECK-LABEL: .entry stores(
  gpu.func @stores(%plane: !plane, %line: !line, %x: index, %y: index, %p: i1) kernel {
    %tiles = memref.get_global @tiles : memref<4x32x32xf32, 3>
    %first = memref.subview %tiles[0, 0, 0][1, 32, 32][1, 1, 1] : memref<4x32x32xf32, 3> to memref<32x32xf32, strided<[32, 1]>, 3>
    %short = memref.subview %tiles[0, 0, 0][1, 2, 32][1, 1, 1] : memref<4x32x32xf32, 3> to memref<2x32xf32, strided<[32, 1]>, 3>
    // CHECK: {{^[[:space:]]}}cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%rd{{[0-9]+}}, {[[X:%r[0-9]+]], [[Y:%r[0-9]+]]}], [[[FROM:%r[0-9]+]]];
    nvgpu.tma.async.store %first to %plane[%x, %y] : memref<32x32xf32, strided<[32, 1]>, 3> -> !plane
    // CHECK: @%p{{[0-9]+}} cp.async.bulk.tensor.1d.global.shared::cta.tile.bulk_group [%rd{{[0-9]+}}, {[[Y]]}], {{\[}}[[FROM]]];
    nvgpu.tma.async.store %short to %line[%y], predicate = %p : memref<2x32xf32, strided<[32, 1]>, 3> -> !line
    // CHECK: cp.async.bulk.commit_group;
    nvvm.cp.async.bulk.commit.group
    // CHECK: cp.async.bulk.wait_group 0;
    nvvm.cp.async.bulk.wait_group 0
    gpu.return
  }

  // The fence needs PTX 8.3, and the module says so.
  // CHECK-LABEL: .entry maps(
  gpu.func @maps(%plane: !plane, %p: i1) kernel {
    // CHECK: fence.proxy.tensormap::generic.acquire.sys [[[MAP:%rd[0-9]+]]], 128;
    nvgpu.tma.fence.descriptor %plane : !plane
    // CHECK: {{^[[:space:]]}}prefetch.tensormap {{\[}}[[MAP]]];
    nvgpu.tma.prefetch.descriptor %plane : !plane
    // CHECK: @%p{{[0-9]+}} prefetch.tensormap {{\[}}[[MAP]]];
    nvgpu.tma.prefetch.descriptor %plane, predicate = %p : !plane
    gpu.return
  }

  // Elements that LLVM has not: f8 is a byte, tf32 an f32.
  // CHECK-LABEL: .entry elements(
  // CHECK-DAG: .shared .align 1024 .b8 bytes[1024];
  // CHECK-DAG: .shared .align 1024 .b8 floats[1024];
  memref.global "private" @bytes : memref<8x128xf8E4M3FN, 3>
  memref.global "private" @floats : memref<8x32xtf32, 3>
  gpu.func @elements(%f8: !f8, %tf32: !tf32, %x: index) kernel {
    %bytes = memref.get_global @bytes : memref<8x128xf8E4M3FN, 3>
    %floats = memref.get_global @floats : memref<8x32xtf32, 3>
    %g = nvgpu.mbarrier.create -> !one
    // CHECK-COUNT-2: cp.async.bulk.tensor.2d
    nvgpu.tma.async.load %f8[%x, %x], %g to %bytes : !f8, !one -> memref<8x128xf8E4M3FN, 3>
    nvgpu.tma.async.load %tf32[%x, %x], %g to %floats : !tf32, !one -> memref<8x32xtf32, 3>
    gpu.return
  }
}
