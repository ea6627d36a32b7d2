// A ring of four tiles in shared memory that nvgpu.device_async_copy fills three ahead: 16 tiles of 256 f32, one group
// a tile, and a wait that leaves two groups in flight. Each thread copies four entries of every tile and adds up,
// weighted by the number of the tile, four that another thread copied. The tensor ends within the last tile:
// srcElements cuts the copies there, and the rest of the tile is zero. Copies past the last tile read nothing, so that
// every turn has a group.
//
// The entries are whole numbers so small that every sum is exact.
//
// Not here: mbarriers (mbarrier_pipeline), bulk copies (tma_load_*).
// Spec: nvgpu.device_async_copy, nvgpu.device_async_create_group, nvgpu.device_async_wait; PTX ISA, cp.async.
// RUN: lemma run %s | FileCheck %s
// CHECK: Correct: 64 of 64
// CHECK-NEXT: Sum: 258593

!ring = memref<4x256xf32, #gpu.address_space<workgroup>>

module attributes {gpu.container_module} {
  gpu.module @kernels {
    memref.global "private" @ring : !ring {alignment = 16 : i64}

    gpu.func @sum(%in: memref<3940xf32>, %out: memref<64xf32>) kernel {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c2 = arith.constant 2 : index
      %c3 = arith.constant 3 : index
      %c4 = arith.constant 4 : index
      %c16 = arith.constant 16 : index
      %c63 = arith.constant 63 : index
      %c256 = arith.constant 256 : index
      %size = arith.constant 3940 : index
      %f0 = arith.constant 0.0 : f32
      %thread = gpu.thread_id x
      %mine = arith.muli %thread, %c4 : index
      %other = arith.subi %c63, %thread : index
      %theirs = arith.muli %other, %c4 : index
      %ring = memref.get_global @ring : !ring

      // Tiles 0, 1 and 2, which are whole.
      %from1 = arith.addi %mine, %c256 : index
      %from2 = arith.addi %from1, %c256 : index
      %copy0 = nvgpu.device_async_copy %in[%mine], %ring[%c0, %mine], 4 {bypassL1} : memref<3940xf32> to !ring
      %group0 = nvgpu.device_async_create_group %copy0
      %copy1 = nvgpu.device_async_copy %in[%from1], %ring[%c1, %mine], 4 {bypassL1} : memref<3940xf32> to !ring
      %group1 = nvgpu.device_async_create_group %copy1
      %copy2 = nvgpu.device_async_copy %in[%from2], %ring[%c2, %mine], 4 {bypassL1} : memref<3940xf32> to !ring
      %group2 = nvgpu.device_async_create_group %copy2

      %total = scf.for %tile = %c0 to %c16 step %c1 iter_args(%acc = %f0) -> (f32) {
        nvgpu.device_async_wait %group2 {numGroups = 2 : i32}
        // Everybody's part of this tile has come, and everybody is done with the tile before it.
        gpu.barrier

        // Three tiles on, into the slot of the tile before this one: as many entries as are left, 0 to 4.
        %ahead = arith.addi %tile, %c3 : index
        %ahead_slot = arith.remui %ahead, %c4 : index
        %ahead_first = arith.muli %ahead, %c256 : index
        %from = arith.addi %ahead_first, %mine : index
        %inside = arith.minui %from, %size : index
        %left = arith.subi %size, %inside : index
        %elements = arith.minui %left, %c4 : index
        %copy = nvgpu.device_async_copy %in[%inside], %ring[%ahead_slot, %mine], 4, %elements {bypassL1}
          : memref<3940xf32> to !ring
        %group = nvgpu.device_async_create_group %copy

        %slot = arith.remui %tile, %c4 : index
        %number = arith.addi %tile, %c1 : index
        %number32 = arith.index_cast %number : index to i32
        %weight = arith.sitofp %number32 : i32 to f32
        %new = scf.for %k = %c0 to %c4 step %c1 iter_args(%sum = %acc) -> (f32) {
          %at = arith.addi %theirs, %k : index
          %value = memref.load %ring[%slot, %at] : !ring
          %weighted = arith.mulf %value, %weight : f32
          %sum_new = arith.addf %sum, %weighted : f32
          scf.yield %sum_new : f32
        }
        scf.yield %new : f32
      }
      memref.store %total, %out[%thread] : memref<64xf32>
      gpu.return
    }
  }

  func.func @main() -> i32 {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c4 = arith.constant 4 : index
    %c5 = arith.constant 5 : index
    %c17 = arith.constant 17 : index
    %c63 = arith.constant 63 : index
    %c64 = arith.constant 64 : index
    %c256 = arith.constant 256 : index
    %size = arith.constant 3940 : index
    %n0 = arith.constant 0 : i64
    %f0 = arith.constant 0.0 : f32
    %total = arith.constant 64 : i64

    // 5 i mod 17
    %in = memref.alloc() : memref<3940xf32>
    scf.for %i = %c0 to %size step %c1 {
      %p = arith.muli %i, %c5 : index
      %q = arith.remui %p, %c17 : index
      %r = arith.index_cast %q : index to i32
      %value = arith.sitofp %r : i32 to f32
      memref.store %value, %in[%i] : memref<3940xf32>
    }

    %out = memref.alloc() : memref<64xf32>
    %ready = gpu.wait async
    %din, %t0 = gpu.alloc async [%ready] () : memref<3940xf32>
    %dout, %t1 = gpu.alloc async [%t0] () : memref<64xf32>
    %t2 = gpu.memcpy async [%t1] %din, %in : memref<3940xf32>, memref<3940xf32>
    %t3 = gpu.launch_func async [%t2] @kernels::@sum blocks in (%c1, %c1, %c1) threads in (%c64, %c1, %c1)
      args(%din : memref<3940xf32>, %dout : memref<64xf32>)
    %t4 = gpu.memcpy async [%t3] %out, %dout : memref<64xf32>, memref<64xf32>
    %t5 = gpu.dealloc async [%t4] %din : memref<3940xf32>
    %t6 = gpu.dealloc async [%t5] %dout : memref<64xf32>
    gpu.wait [%t6]

    // Every entry goes to one thread: that of its place in the tile, counted from the end.
    %want = memref.alloc() : memref<64xf32>
    scf.for %i = %c0 to %c64 step %c1 {
      memref.store %f0, %want[%i] : memref<64xf32>
    }
    scf.for %i = %c0 to %size step %c1 {
      %tile = arith.divui %i, %c256 : index
      %place = arith.remui %i, %c256 : index
      %copier = arith.divui %place, %c4 : index
      %thread = arith.subi %c63, %copier : index
      %number = arith.addi %tile, %c1 : index
      %number32 = arith.index_cast %number : index to i32
      %weight = arith.sitofp %number32 : i32 to f32
      %value = memref.load %in[%i] : memref<3940xf32>
      %weighted = arith.mulf %value, %weight : f32
      %old = memref.load %want[%thread] : memref<64xf32>
      %new = arith.addf %old, %weighted : f32
      memref.store %new, %want[%thread] : memref<64xf32>
    }
    %correct, %sum = scf.for %i = %c0 to %c64 step %c1 iter_args(%n = %n0, %s = %f0) -> (i64, f32) {
      %x = memref.load %want[%i] : memref<64xf32>
      %y = memref.load %out[%i] : memref<64xf32>
      %x_bits = arith.bitcast %x : f32 to i32
      %y_bits = arith.bitcast %y : f32 to i32
      %same = arith.cmpi eq, %x_bits, %y_bits : i32
      %one = arith.extui %same : i1 to i64
      %n_new = arith.addi %n, %one : i64
      %s_new = arith.addf %s, %y : f32
      scf.yield %n_new, %s_new : i64, f32
    }
    vector.print str "Correct: "
    vector.print %correct : i64 punctuation <no_punctuation>
    vector.print str " of "
    vector.print %total : i64
    vector.print str "Sum: "
    vector.print %sum : f32

    memref.dealloc %in : memref<3940xf32>
    memref.dealloc %out : memref<64xf32>
    memref.dealloc %want : memref<64xf32>
    %wrong = arith.cmpi ne, %correct, %total : i64
    %status = arith.extui %wrong : i1 to i32
    return %status : i32
  }
}
