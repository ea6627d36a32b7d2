// RUN: lemma-opt %s | lemma-opt | FileCheck %s --check-prefix=TEXT
// RUN: lemma compile %s -o %t.ptx && FileCheck %s --check-prefix=PTX < %t.ptx
// RUN: lemma verify %t.ptx && %ptxas -arch=sm_90a %t.ptx
// RUN: lemma run %s --entry example --grid 1 --block 128 --arg u64=0 --arg u64=0 --arg buf=65536 | FileCheck %s --check-prefix=EXAMPLE
// RUN: lemma run %s --entry example --grid 1 --block 128 --arg u64=0 --arg u64=0 --arg buf=65536 --async late | FileCheck %s --check-prefix=EXAMPLE
// RUN: lemma run %s --entry attributes --grid 1 --block 128 --arg u64=0 --arg u64=0 --arg buf=32768 --async late | FileCheck %s --check-prefix=ATTRIBUTES
//
// The specification's example of nvgpu.warpgroup.mma, with two accumulators, and wgmma.generate.descriptor. Nothing reads
// through the tensor maps: they say how the matrices lie in shared memory, and any address will do.
// Sections of the description of 2023: "nvgpu.warpgroup.mma", "nvgpu.wgmma.generate.descriptor",
// "WarpgroupAccumulatorType", "WarpgroupMatrixDescriptorType".

!map = !nvgpu.tensormap.descriptor<tensor = memref<128x64xf16, 3>, swizzle = swizzle_128b, l2promo = none, oob = zero, interleave = none>
!map64 = !nvgpu.tensormap.descriptor<tensor = memref<64x64xf16, 3>, swizzle = swizzle_128b, l2promo = none, oob = zero, interleave = none>

gpu.module @products {
  memref.global "private" @a : memref<128x64xf16, 3> {alignment = 1024}
  memref.global "private" @b : memref<64x128xf16, 3> {alignment = 1024}

  // A is 2 and B 0.25 everywhere, however they lie.
  func.func @fill() {
    %a = memref.get_global @a : memref<128x64xf16, 3>
    %b = memref.get_global @b : memref<64x128xf16, 3>
    %two = arith.constant 2.0 : f16
    %quarter = arith.constant 0.25 : f16
    %thread = gpu.thread_id x
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c64 = arith.constant 64 : index
    scf.for %i = %c0 to %c64 step %c1 {
      memref.store %two, %a[%thread, %i] : memref<128x64xf16, 3>
      memref.store %quarter, %b[%i, %thread] : memref<64x128xf16, 3>
    }
    nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}
    gpu.barrier
    return
  }

  // TEXT-LABEL: gpu.func @example
  // PTX-LABEL: .entry example(
  gpu.func @example(%mapA: !map, %mapB: !map, %out: memref<128x128xf32>) kernel {
    %a = memref.get_global @a : memref<128x64xf16, 3>
    %b = memref.get_global @b : memref<64x128xf16, 3>
    func.call @fill() : () -> ()
    // TEXT: %[[A:.*]] = nvgpu.warpgroup.generate.descriptor %{{.*}}, %{{.*}} : memref<128x64xf16, 3>, <tensor = memref<128x64xf16, 3>, swizzle = swizzle_128b, l2promo = none, oob = zero, interleave = none> -> <tensor = memref<128x64xf16, 3>>
    // TEXT: %[[B:.*]] = nvgpu.warpgroup.generate.descriptor
    %wgmmaDescA = nvgpu.wgmma.generate.descriptor %a, %mapA : memref<128x64xf16, 3>, !map -> !nvgpu.wgmma.descriptor<tensor = memref<128x64xf16, 3>>
    %wgmmaDescB = nvgpu.wgmma.generate.descriptor %b, %mapB : memref<64x128xf16, 3>, !map -> !nvgpu.wgmma.descriptor<tensor = memref<64x128xf16, 3>>
    %acc1 = nvgpu.warpgroup.mma.init.accumulator -> !nvgpu.warpgroup.accumulator<fragmented = vector<64x128xf32>>
    %acc2 = nvgpu.warpgroup.mma.init.accumulator -> !nvgpu.warpgroup.accumulator<fragmented = vector<64x128xf32>>
    // TEXT: nvgpu.warpgroup.mma %[[A]], %[[B]], %{{.*}}, %{{.*}} : <tensor = memref<128x64xf16, 3>>, <tensor = memref<64x128xf16, 3>>,
    // TEXT-SAME: <fragmented = vector<64x128xf32>>, <fragmented = vector<64x128xf32>> -> <fragmented = vector<64x128xf32>>, <fragmented = vector<64x128xf32>>{{$}}
    // PTX: wgmma.fence.sync.aligned;
    // PTX-COUNT-8: wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16
    // PTX: wgmma.commit_group.sync.aligned;
    // PTX: wgmma.wait_group.sync.aligned 0;

  %r1,%r2 = nvgpu.warpgroup.mma %wgmmaDescA, %wgmmaDescB, %acc1, %acc2: 
             !nvgpu.wgmma.descriptor<tensor = memref<128x64xf16, 3>>, 
             !nvgpu.wgmma.descriptor<tensor = memref<64x128xf16, 3>>, 
             !nvgpu.warpgroup.accumulator<fragmented = vector<64x128xf32>>,
             !nvgpu.warpgroup.accumulator<fragmented = vector<64x128xf32>>
             -> 
             !nvgpu.warpgroup.accumulator<fragmented = vector<64x128xf32>>,
             !nvgpu.warpgroup.accumulator<fragmented = vector<64x128xf32>>

    %upper = memref.subview %out[0, 0][64, 128][1, 1] : memref<128x128xf32> to memref<64x128xf32, strided<[128, 1]>>
    %lower = memref.subview %out[64, 0][64, 128][1, 1] : memref<128x128xf32> to memref<64x128xf32, strided<[128, 1], offset: 8192>>
    nvgpu.warpgroup.mma.store %r1, %upper : !nvgpu.warpgroup.accumulator<fragmented = vector<64x128xf32>> to memref<64x128xf32, strided<[128, 1]>>
    nvgpu.warpgroup.mma.store %r2, %lower : !nvgpu.warpgroup.accumulator<fragmented = vector<64x128xf32>> to memref<64x128xf32, strided<[128, 1], offset: 8192>>
    gpu.barrier
    // The 16384 elements are 64 products each; the sum over one column a thread.
    %thread = gpu.thread_id x
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c128 = arith.constant 128 : index
    %zero = arith.constant 0.0 : f32
    %sum = scf.for %i = %c0 to %c128 step %c1 iter_args(%partial = %zero) -> f32 {
      %value = memref.load %out[%i, %thread] : memref<128x128xf32>
      %next = arith.addf %partial, %value : f32
      scf.yield %next : f32
    }
    // EXAMPLE-COUNT-128: 4096
    // EXAMPLE-NOT: {{[0-9]}}
    gpu.printf "%g\n", %sum : f32
    gpu.return
  }

  // waitGroup, transposeA and transposeB: both matrices MN-major, and the store waits for what the product left pending.
  // TEXT-LABEL: gpu.func @attributes
  // PTX-LABEL: .entry attributes(
  gpu.func @attributes(%mapA: !map, %mapB: !map64, %out: memref<128x64xf32>) kernel {
    %a = memref.get_global @a : memref<128x64xf16, 3>
    %b = memref.get_global @b : memref<64x128xf16, 3>
    func.call @fill() : () -> ()
    %flat = memref.reinterpret_cast %b to offset: [0], sizes: [64, 64], strides: [64, 1] : memref<64x128xf16, 3> to memref<64x64xf16, 3>
    %transposedA = memref.reinterpret_cast %a to offset: [0], sizes: [64, 128], strides: [128, 1] : memref<128x64xf16, 3> to memref<64x128xf16, 3>
    %descA = nvgpu.wgmma.generate.descriptor %transposedA, %mapB : memref<64x128xf16, 3>, !map64 -> !nvgpu.wgmma.descriptor<tensor = memref<64x128xf16, 3>>
    %descB = nvgpu.wgmma.generate.descriptor %flat, %mapB : memref<64x64xf16, 3>, !map64 -> !nvgpu.wgmma.descriptor<tensor = memref<64x64xf16, 3>>
    %acc = nvgpu.warpgroup.mma.init.accumulator -> !nvgpu.warpgroup.accumulator<fragmented = vector<128x64xf32>>
    // TEXT: nvgpu.warpgroup.mma %{{.*}}, %{{.*}}, %{{.*}} {transposeA, transposeB, waitGroup = 1 : i32} :
    // PTX: wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 {{.*}}, 1, 1, 1, 1;
    // PTX: wgmma.wait_group.sync.aligned 1;
    %r = nvgpu.warpgroup.mma %descA, %descB, %acc {waitGroup = 1 : i32, transposeA, transposeB} :
      !nvgpu.wgmma.descriptor<tensor = memref<64x128xf16, 3>>, !nvgpu.wgmma.descriptor<tensor = memref<64x64xf16, 3>>,
      !nvgpu.warpgroup.accumulator<fragmented = vector<128x64xf32>> -> !nvgpu.warpgroup.accumulator<fragmented = vector<128x64xf32>>
    // PTX: wgmma.wait_group.sync.aligned 0;
    nvgpu.warpgroup.mma.store %r, %out : !nvgpu.warpgroup.accumulator<fragmented = vector<128x64xf32>> to memref<128x64xf32>
    gpu.barrier
    %thread = gpu.thread_id x
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c64 = arith.constant 64 : index
    %zero = arith.constant 0.0 : f32
    %sum = scf.for %i = %c0 to %c64 step %c1 iter_args(%partial = %zero) -> f32 {
      %value = memref.load %out[%thread, %i] : memref<128x64xf32>
      %next = arith.addf %partial, %value : f32
      scf.yield %next : f32
    }
    // ATTRIBUTES-COUNT-128: 2048
    // ATTRIBUTES-NOT: {{[0-9]}}
    gpu.printf "%g\n", %sum : f32
    gpu.return
  }
}
