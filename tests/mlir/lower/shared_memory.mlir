// RUN: lemma compile %s --module boxes -o %t.ptx && FileCheck %s --check-prefix=BOXES < %t.ptx && %ptxas -arch=sm_90a %t.ptx
// RUN: lemma compile %s --module vectors -o %t.ptx && FileCheck %s --check-prefix=VECTORS < %t.ptx && %ptxas -arch=sm_90a %t.ptx
//
// Alignment of variables in shared memory: what the tensor maps of the module need, never less than the program says;
// and dynamic shared memory, which all arrays without elements are.

!group = !nvgpu.mbarrier.group<memorySpace = 3>
!map = !nvgpu.tensormap.descriptor<tensor = memref<8x32xf16, 3>, swizzle = swizzle_64b, l2promo = none, oob = zero, interleave = none>

gpu.module @boxes {
  memref.global "private" @tile : memref<8x32xf16, 3>
  memref.global "private" @wider : memref<8x32xf16, 3> {alignment = 1024}
  memref.global "private" @flag : memref<i32, 3>
  memref.global "private" @all : memref<0xf32, 3>
  // BOXES-DAG: .extern .shared .align 512 .b8 __dynamic_shmem__0[];
  // BOXES-DAG: .extern .shared .align 512 .b8 all[];
  // BOXES-DAG: .shared .align 512 .b8 tile[512];
  // BOXES-DAG: .shared .align 1024 .b8 wider[512];
  // BOXES-DAG: .shared .align 4 .u32 flag;
  // BOXES-DAG: .shared .align 512 .b8 __wg_kernel_0[512];
  gpu.func @kernel(%map: !map, %out: memref<1xi32>) workgroup(%own: memref<8x32xf16, 3>) kernel {
    %c0 = arith.constant 0 : index
    %tile = memref.get_global @tile : memref<8x32xf16, 3>
    %wider = memref.get_global @wider : memref<8x32xf16, 3>
    %flag = memref.get_global @flag : memref<i32, 3>
    %all = memref.get_global @all : memref<0xf32, 3>
    %same = memref.reinterpret_cast %all to offset: [0], sizes: [8, 16], strides: [16, 1] : memref<0xf32, 3> to memref<8x16xf32, 3>
    %dynamic = gpu.dynamic_shared_memory : memref<?xi8, #gpu.address_space<workgroup>>
    %view = memref.view %dynamic[%c0][] : memref<?xi8, #gpu.address_space<workgroup>> to memref<8x32xf16, #gpu.address_space<workgroup>>
    %g = nvgpu.mbarrier.create -> !group
    nvgpu.tma.async.load %map[%c0, %c0], %g to %tile : !map, !group -> memref<8x32xf16, 3>
    nvgpu.tma.async.load %map[%c0, %c0], %g to %wider : !map, !group -> memref<8x32xf16, 3>
    nvgpu.tma.async.load %map[%c0, %c0], %g to %own : !map, !group -> memref<8x32xf16, 3>
    nvgpu.tma.async.load %map[%c0, %c0], %g to %view : !map, !group -> memref<8x32xf16, #gpu.address_space<workgroup>>
    %x = memref.load %same[%c0, %c0] : memref<8x16xf32, 3>
    %bits = arith.bitcast %x : f32 to i32
    memref.store %bits, %flag[] : memref<i32, 3>
    gpu.barrier
    %y = memref.load %flag[] : memref<i32, 3>
    memref.store %y, %out[%c0] : memref<1xi32>
    gpu.return
  }
}

gpu.module @vectors {
  memref.global "private" @tile : memref<64xf16, 3>
  // VECTORS: .shared .align 16 .b8 tile[128];
  gpu.func @kernel(%from: memref<64xf16>, %i: index) kernel {
    %tile = memref.get_global @tile : memref<64xf16, 3>
    %0 = nvgpu.device_async_copy %from[%i], %tile[%i], 8 : memref<64xf16> to memref<64xf16, 3>
    gpu.return
  }
}
