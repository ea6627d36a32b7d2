// RUN: lemma-opt %s | lemma-opt | FileCheck %s --check-prefix=TEXT
// RUN: lemma compile %s -o %t.ptx && FileCheck %s --check-prefix=PTX < %t.ptx
// RUN: lemma verify %t.ptx && %ptxas -arch=sm_90a %t.ptx
// RUN: lemma run %s | FileCheck %s --check-prefix=OUT
// RUN: lemma run %s --async late | FileCheck %s --check-prefix=OUT
//
// nvgpu.tma.create.descriptor and tma.async.load, of which the specification gives the syntax and no example: with the
// mbarrier that it shows, and with each value of the tensor map's parameters.
// Sections of the description of 2023: "nvgpu.tma.async.load", "nvgpu.tma.create.descriptor", "TensorMapDescriptorType",
// "TensorMap...KindAttr".

!tile = !nvgpu.tensormap.descriptor<tensor = memref<8x8xf32, 3>, swizzle = swizzle_32b, l2promo = l2promo_128b, oob = nan, interleave = none>

module attributes {gpu.container_module} {
  gpu.module @kernels {
    // One thread loads the box at column 12, row 4 of the tensor, of which half lies outside.
    // PTX-LABEL: .entry load(
    gpu.func @load(%map: !tile) workgroup(%dst: memref<8x8xf32, 3>) kernel {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c2 = arith.constant 2 : index
      %c4 = arith.constant 4 : index
      %c12 = arith.constant 12 : index
      %bytes = arith.constant 256 : index
      %ticks = arith.constant 10000000 : index
      %barrier = nvgpu.mbarrier.create -> !nvgpu.mbarrier.barrier<memorySpace = #gpu.address_space<workgroup>>
      nvgpu.mbarrier.init %barrier, %c1 : !nvgpu.mbarrier.barrier<memorySpace = #gpu.address_space<workgroup>>
      nvgpu.mbarrier.arrive.expect_tx %barrier, %bytes : !nvgpu.mbarrier.barrier<memorySpace = #gpu.address_space<workgroup>>
      // TEXT: nvgpu.tma.async.load %{{.*}}[%{{.*}}, %{{.*}}], %{{.*}} to %{{.*}} : <tensor = memref<8x8xf32, 3>, swizzle = swizzle_32b, l2promo = l2promo_128b, oob = nan, interleave = none>, <memorySpace = #gpu.address_space<workgroup>> -> memref<8x8xf32, 3>
      // PTX: cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%r{{[0-9]+}}], [%rd{{[0-9]+}}, {%r{{[0-9]+}}, %r{{[0-9]+}}}], [%r{{[0-9]+}}];
      nvgpu.tma.async.load %map[%c12, %c4], %barrier to %dst : !tile, !nvgpu.mbarrier.barrier<memorySpace = #gpu.address_space<workgroup>> -> memref<8x8xf32, 3>
      nvgpu.mbarrier.try_wait.parity %barrier, %c0, %ticks : !nvgpu.mbarrier.barrier<memorySpace = #gpu.address_space<workgroup>>
      // Row 0 has no swizzle; in row 4 the two 16 bytes of the line change places.
      %0 = memref.load %dst[%c0, %c1] : memref<8x8xf32, 3>
      %1 = memref.load %dst[%c0, %c4] : memref<8x8xf32, 3>
      %2 = memref.load %dst[%c4, %c1] : memref<8x8xf32, 3>
      %c5 = arith.constant 5 : index
      %3 = memref.load %dst[%c4, %c5] : memref<8x8xf32, 3>
      // OUT: 413 nan nan 813
      gpu.printf "%g %g %g %g\n", %0, %1, %2, %3 : f32, f32, f32, f32
      gpu.return
    }
  }

  // A tensor of 16 x 16: 100 times the row, and the column.
  func.func @main() {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c8 = arith.constant 8 : index
    %c16 = arith.constant 16 : index
    %c100 = arith.constant 100 : index
    %host = memref.alloc() : memref<16x16xf32>
    scf.for %i = %c0 to %c16 step %c1 {
      scf.for %j = %c0 to %c16 step %c1 {
        %hundreds = arith.muli %i, %c100 : index
        %number = arith.addi %hundreds, %j : index
        %word = arith.index_cast %number : index to i32
        %value = arith.sitofp %word : i32 to f32
        memref.store %value, %host[%i, %j] : memref<16x16xf32>
      }
    }
    %device = gpu.alloc() : memref<16x16xf32>
    gpu.memcpy %device, %host : memref<16x16xf32>, memref<16x16xf32>
    %tensor = memref.cast %device : memref<16x16xf32> to memref<*xf32>
    // TEXT: nvgpu.tma.create.descriptor %{{.*}} box[%{{.*}}, %{{.*}}] : memref<*xf32> -> <tensor = memref<8x8xf32, 3>, swizzle = swizzle_32b, l2promo = l2promo_128b, oob = nan, interleave = none>
    %map = nvgpu.tma.create.descriptor %tensor box[%c8, %c8] : memref<*xf32> -> !tile
    gpu.launch_func @kernels::@load blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%map : !tile)
    gpu.dealloc %device : memref<16x16xf32>
    call @parameters(%c1, %c8, %c16) : (index, index, index) -> ()
    return
  }

  // Every value of every parameter. The runtime checks the maps as the driver does.
  // TEXT-LABEL: func.func @parameters
  func.func @parameters(%c1: index, %c8: index, %c16: index) {
    %memory = gpu.alloc() : memref<16x16x64xf16>
    %tensor = memref.cast %memory : memref<16x16x64xf16> to memref<*xf16>
    // TEXT: swizzle = none, l2promo = none, oob = zero, interleave = none>
    %0 = nvgpu.tma.create.descriptor %tensor box[%c1, %c8, %c16] : memref<*xf16>
      -> !nvgpu.tensormap.descriptor<tensor = memref<1x8x16xf16, 3>, swizzle = none, l2promo = none, oob = zero, interleave = none>
    // TEXT: swizzle = swizzle_32b, l2promo = l2promo_64b, oob = nan, interleave = none>
    %1 = nvgpu.tma.create.descriptor %tensor box[%c1, %c8, %c16] : memref<*xf16>
      -> !nvgpu.tensormap.descriptor<tensor = memref<1x8x16xf16, 3>, swizzle = swizzle_32b, l2promo = l2promo_64b, oob = nan, interleave = none>
    // TEXT: swizzle = swizzle_64b, l2promo = l2promo_128b, oob = zero, interleave = none>
    %2 = nvgpu.tma.create.descriptor %tensor box[%c1, %c8, %c16] : memref<*xf16>
      -> !nvgpu.tensormap.descriptor<tensor = memref<1x8x16xf16, #gpu.address_space<workgroup>>, swizzle = swizzle_64b, l2promo = l2promo_128b, oob = zero, interleave = none>
    // TEXT: swizzle = swizzle_128b, l2promo = l2promo_256b, oob = nan, interleave = none>
    %3 = nvgpu.tma.create.descriptor %tensor box[%c1, %c8, %c16] : memref<*xf16>
      -> !nvgpu.tensormap.descriptor<tensor = memref<1x8x16xf16, 3>, swizzle = swizzle_128b, l2promo = l2promo_256b, oob = nan, interleave = none>
    // TEXT: swizzle = none, l2promo = none, oob = zero, interleave = interleave_16b>
    %4 = nvgpu.tma.create.descriptor %tensor box[%c1, %c8, %c8] : memref<*xf16>
      -> !nvgpu.tensormap.descriptor<tensor = memref<1x8x8xf16, 3>, swizzle = none, l2promo = none, oob = zero, interleave = interleave_16b>
    // TEXT: swizzle = swizzle_32b, l2promo = none, oob = zero, interleave = interleave_32b>
    %5 = nvgpu.tma.create.descriptor %tensor box[%c1, %c8, %c16] : memref<*xf16>
      -> !nvgpu.tensormap.descriptor<tensor = memref<1x8x16xf16, 3>, swizzle = swizzle_32b, l2promo = none, oob = zero, interleave = interleave_32b>
    gpu.dealloc %memory : memref<16x16x64xf16>
    return
  }

  // The parameters as attributes by themselves; LLVM 22 has the name in the brackets.
  // TEXT-LABEL: func.func private @attributes
  // TEXT-SAME: interleaves = [#nvgpu<interleave none>, #nvgpu<interleave interleave_16b>, #nvgpu<interleave interleave_32b>]
  // TEXT-SAME: l2promos = [#nvgpu<l2promo none>, #nvgpu<l2promo l2promo_64b>, #nvgpu<l2promo l2promo_128b>, #nvgpu<l2promo l2promo_256b>]
  // TEXT-SAME: oobs = [#nvgpu<oob zero>, #nvgpu<oob nan>]
  // TEXT-SAME: swizzles = [#nvgpu<swizzle none>, #nvgpu<swizzle swizzle_32b>, #nvgpu<swizzle swizzle_64b>, #nvgpu<swizzle swizzle_128b>]
  func.func private @attributes() attributes {
    swizzles = [#nvgpu.swizzle<none>, #nvgpu.swizzle<swizzle_32b>, #nvgpu.swizzle<swizzle_64b>, #nvgpu.swizzle<swizzle_128b>],
    l2promos = [#nvgpu.l2promo<none>, #nvgpu.l2promo<l2promo_64b>, #nvgpu.l2promo<l2promo_128b>, #nvgpu.l2promo<l2promo_256b>],
    oobs = [#nvgpu.oob<zero>, #nvgpu.oob<nan>],
    interleaves = [#nvgpu.interleave<none>, #nvgpu.interleave<interleave_16b>, #nvgpu.interleave<interleave_32b>]
  }
}
