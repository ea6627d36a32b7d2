// RUN: lemma-opt %s | lemma-opt | FileCheck %s --check-prefix=TEXT
// RUN: lemma compile %s -o %t.ptx && FileCheck %s --check-prefix=PTX < %t.ptx
// RUN: lemma verify %t.ptx && %ptxas -arch=sm_90a %t.ptx
// RUN: lemma run %s --entry groups --grid 1 --block 1 | FileCheck %s --check-prefix=GROUPS
// RUN: lemma run %s --entry groups --grid 1 --block 1 --async late | FileCheck %s --check-prefix=GROUPS
// RUN: lemma run %s --entry attributes --grid 1 --block 1 --arg u64=3 --async late | FileCheck %s --check-prefix=ATTRIBUTES
//
// The specification's examples of nvgpu.device_async_copy, device_async_create_group and device_async_wait.
// Sections of the description of 2023: "nvgpu.device_async_copy", "nvgpu.device_async_create_group", "nvgpu.device_async_wait".

gpu.module @kernels {
  memref.global "private" constant @a : memref<16xf32> = dense<[0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 11.0, 12.0, 13.0, 14.0, 15.0]>
  memref.global "private" constant @c : memref<16xf32> = dense<16.0>
  memref.global "private" constant @e : memref<16xf32> = dense<32.0>
  memref.global "private" constant @src : memref<4x5xf32> = dense<5.0>

  // TEXT-LABEL: gpu.func @groups
  // PTX-LABEL: .entry groups(
  gpu.func @groups() workgroup(%B: memref<16xf32, 3>, %D: memref<16xf32, 3>, %F: memref<16xf32, 3>) kernel {
    %A = memref.get_global @a : memref<16xf32>
    %C = memref.get_global @c : memref<16xf32>
    %E = memref.get_global @e : memref<16xf32>
    %c0 = arith.constant 0 : index
    %c3 = arith.constant 3 : index
    // PTX: cp.async.ca.shared.global [{{.*}}], [{{.*}}], 16;
    // PTX: cp.async.ca.shared.global [{{.*}}], [{{.*}}], 16;
    // PTX: cp.async.commit_group;
    // PTX: cp.async.ca.shared.global [{{.*}}], [{{.*}}], 16;
    // PTX: cp.async.commit_group;
    // PTX: cp.async.wait_group 0;
    // TEXT: %[[CP1:.*]] = nvgpu.device_async_copy %{{.*}}[%{{.*}}], %{{.*}}[%{{.*}}], 4 : memref<16xf32> to memref<16xf32, 3>
    // TEXT: %[[CP2:.*]] = nvgpu.device_async_copy
    // TEXT: %[[TOKEN1:.*]] = nvgpu.device_async_create_group %[[CP1]], %[[CP2]]
    // TEXT: %[[CP3:.*]] = nvgpu.device_async_copy
    // TEXT: %[[TOKEN2:.*]] = nvgpu.device_async_create_group %[[CP3]]
    // TEXT: nvgpu.device_async_wait %[[TOKEN1]]{{$}}
    // TEXT: nvgpu.device_async_wait %[[TOKEN2]]{{$}}

// copy 1.
%cp1 = nvgpu.device_async_copy %A[%c0], %B[%c0], 4 :memref<16xf32> to memref<16xf32, 3>
// copy 2.
%cp2 = nvgpu.device_async_copy %C[%c0], %D[%c0], 4 : memref<16xf32> to memref<16xf32, 3>
// group 1 contains copy 1 and copy 2.
%token1 = nvgpu.device_async_create_group %cp1, %cp2
// copy 3.
%cp3 = nvgpu.device_async_copy %E[%c0], %F[%c0], 4 : memref<16xf32> to memref<16xf32, 3>
// group 2 contains copy 3.
%token2 = nvgpu.device_async_create_group %cp3
// after the wait copy 1 and copy 2 are complete.
nvgpu.device_async_wait %token1
// after the wait copy 3 is complete.
nvgpu.device_async_wait %token2

    %b = memref.load %B[%c3] : memref<16xf32, 3>
    %d = memref.load %D[%c3] : memref<16xf32, 3>
    %f = memref.load %F[%c3] : memref<16xf32, 3>
    // GROUPS: 3 16 32
    gpu.printf "%g %g %g\n", %b, %d, %f : f32, f32, f32
    gpu.return
  }

  // TEXT-LABEL: gpu.func @ranks
  // PTX-LABEL: .entry ranks(
  gpu.func @ranks() workgroup(%dst: memref<2x7x5xf32, 3>) kernel {
    %src = memref.get_global @src : memref<4x5xf32>
    %c0 = arith.constant 0 : index
    // PTX: cp.async.ca.shared.global
    // TEXT: %[[COPY:.*]] = nvgpu.device_async_copy %{{.*}}[%{{.*}}, %{{.*}}], %{{.*}}[%{{.*}}, %{{.*}}, %{{.*}}], 4 : memref<4x5xf32> to memref<2x7x5xf32, 3>

%0 = nvgpu.device_async_copy %src[%c0, %c0], %dst[%c0, %c0, %c0], 4 :
  memref<4x5xf32> to memref<2x7x5xf32, 3>

    gpu.return
  }

  // TEXT-LABEL: gpu.func @group_of_none
  // PTX-LABEL: .entry group_of_none(
  gpu.func @group_of_none() kernel {
    // PTX: cp.async.commit_group;
    // PTX: cp.async.wait_group 0;
    // TEXT: %[[NONE:.*]] = nvgpu.device_async_create_group{{ *$}}
    // TEXT: nvgpu.device_async_wait %[[NONE]]{{$}}

%0 = nvgpu.device_async_create_group

nvgpu.device_async_wait %0

    gpu.return
  }

  // What the examples do not show: srcElements (of 4, %n are read, the rest is zero), bypassL1 and numGroups, and
  // memory spaces by name.
  // TEXT-LABEL: gpu.func @attributes
  // PTX-LABEL: .entry attributes(
  gpu.func @attributes(%n: index) workgroup(%to: memref<16xf32, #gpu.address_space<workgroup>>) kernel {
    %from = memref.get_global @c : memref<16xf32>
    %c0 = arith.constant 0 : index
    %c4 = arith.constant 4 : index
    // PTX: cp.async.cg.shared.global [{{.*}}], [{{.*}}], 16, %r{{[0-9]+}};
    // TEXT: nvgpu.device_async_copy %{{.*}}[%{{.*}}], %{{.*}}[%{{.*}}], 4, %{{.*}} {bypassL1} : memref<16xf32> to memref<16xf32, #gpu.address_space<workgroup>>
    %first = nvgpu.device_async_copy %from[%c0], %to[%c0], 4, %n {bypassL1} : memref<16xf32> to memref<16xf32, #gpu.address_space<workgroup>>
    %older = nvgpu.device_async_create_group %first
    %second = nvgpu.device_async_copy %from[%c4], %to[%c4], 4 : memref<16xf32> to memref<16xf32, #gpu.address_space<workgroup>>
    %newer = nvgpu.device_async_create_group %second
    // PTX: cp.async.wait_group 1;
    // TEXT: nvgpu.device_async_wait %{{.*}} {numGroups = 1 : i32}
    nvgpu.device_async_wait %newer {numGroups = 1 : i32}
    %words = vector.load %to[%c0] : memref<16xf32, #gpu.address_space<workgroup>>, vector<4xf32>
    %0 = vector.extract %words[0] : f32 from vector<4xf32>
    %1 = vector.extract %words[1] : f32 from vector<4xf32>
    %2 = vector.extract %words[2] : f32 from vector<4xf32>
    %3 = vector.extract %words[3] : f32 from vector<4xf32>
    // ATTRIBUTES: 16 16 16 0
    gpu.printf "%g %g %g %g\n", %0, %1, %2, %3 : f32, f32, f32, f32
    gpu.return
  }
}
