// RUN: lemma compile %s -o %t.ptx && FileCheck %s < %t.ptx
// RUN: lemma verify %t.ptx && %ptxas -arch=sm_90a %t.ptx
// RUN: lemma-opt %s | lemma-opt | FileCheck %s --check-prefix=PRINTED
//
// An accumulator's way to shared memory, and mbarriers of other CTAs.

!box = memref<64x64xf16, 3>
!map = !nvgpu.tensormap.descriptor<tensor = !box, swizzle = swizzle_128b, l2promo = none, oob = zero, interleave = none>
!tile = !nvgpu.warpgroup.descriptor<tensor = !box, swizzle = swizzle_128b>
!sum = !nvgpu.warpgroup.accumulator<fragmented = vector<64x64xf32>>
!half_sum = !nvgpu.warpgroup.accumulator<fragmented = vector<64x64xf16>>
!bars = !nvgpu.mbarrier.group<memorySpace = 3, num_barriers = 2>

gpu.module @kernels {
  // CHECK-LABEL: .entry sums(
  gpu.func @sums(%a: !tile, %b: !tile, %i: index, %j: index) workgroup(%to: memref<16x64xf16, 3>) kernel {
    %none = nvgpu.warpgroup.mma.init.accumulator -> !sum
    // CHECK: wgmma.wait_group.sync.aligned 1;
    %first = nvgpu.warpgroup.mma %a, %b, %none {waitGroup = 1 : i64, scaleD = false} : !tile, !tile, !sum -> !sum
    // CHECK: wgmma.wait_group.sync.aligned 0;
    // PRINTED: nvgpu.warpgroup.mma.wait %{{.*}} : <fragmented = vector<64x64xf32>>
    %done = nvgpu.warpgroup.mma.wait %first : !sum
    // PRINTED: nvgpu.warpgroup.mma.extract %{{.*}}[0, 16] : <fragmented = vector<64x64xf32>> -> vector<4x2xf32>
    %wide = nvgpu.warpgroup.mma.extract %done[0, 16] : !sum -> vector<4x2xf32>
    %narrow = arith.truncf %wide : vector<4x2xf32> to vector<4x2xf16>
    // CHECK: stmatrix.sync.aligned.m8n8.x4.shared.b16 [{{%r[0-9]+}}], {{{%r[0-9]+, %r[0-9]+, %r[0-9]+, %r[0-9]+}}};
    // PRINTED: nvgpu.stmatrix %{{.*}}, %{{.*}}[%{{.*}}, %{{.*}}] : vector<4x2xf16>, memref<16x64xf16, 3>
    nvgpu.stmatrix %narrow, %to[%i, %j] : vector<4x2xf16>, memref<16x64xf16, 3>
    %two = nvgpu.warpgroup.mma.extract %done[0, 56] : !sum -> vector<2x2xf32>
    %two_narrow = arith.truncf %two : vector<2x2xf32> to vector<2x2xf16>
    // CHECK: stmatrix.sync.aligned.m8n8.x2.trans.shared.b16
    nvgpu.stmatrix %two_narrow, %to[%i, %j] {transpose} : vector<2x2xf16>, memref<16x64xf16, 3>
    gpu.return
  }

  // CHECK-LABEL: .entry halves(
  gpu.func @halves(%a: !tile, %b: !tile, %i: index, %j: index) workgroup(%to: memref<16x64xf16, 3>) kernel {
    %none = nvgpu.warpgroup.mma.init.accumulator -> !half_sum
    %sum = nvgpu.warpgroup.mma %a, %b, %none : !tile, !tile, !half_sum -> !half_sum
    %part = nvgpu.warpgroup.mma.extract %sum[0, 32] : !half_sum -> vector<4x2xf16>
    // CHECK: stmatrix.sync.aligned.m8n8.x4.shared.b16
    nvgpu.stmatrix %part, %to[%i, %j] : vector<4x2xf16>, memref<16x64xf16, 3>
    gpu.return
  }

  // CHECK-LABEL: .entry others(
  gpu.func @others(%i: index, %rank: index, %p: i1, %parity: i1, %ticks: index) kernel {
    %bars = nvgpu.mbarrier.create -> !bars
    // CHECK: mapa.shared::cluster.u32 [[THERE:%r[0-9]+]], %r{{[0-9]+}}, %r{{[0-9]+}};
    // CHECK: @%p{{[0-9]+}} mbarrier.arrive.release.cluster.shared::cluster.b64 _, {{\[}}[[THERE]]];
    nvgpu.mbarrier.arrive.cluster %bars[%i], %rank, predicate = %p : !bars
    // CHECK: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64
    // PRINTED: nvgpu.mbarrier.try_wait.parity %{{.*}}[%{{.*}}], %{{.*}}, %{{.*}} {cluster}
    nvgpu.mbarrier.try_wait.parity %bars[%i], %parity, %ticks {cluster} : !bars
    gpu.return
  }
}
