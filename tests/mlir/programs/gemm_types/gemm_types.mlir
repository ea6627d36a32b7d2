// D = A * B with warpgroup.mma on the types that the other GEMMs leave out, one warpgroup and one box of A and of B each:
// 64x32 of D, K as much as fits into a line of 128 bytes.
//
//   bf16   K = 64,  f32 accumulators
//   tf32   K = 32,  f32 accumulators
//   e4m3   K = 128, f32 accumulators
//   s8     K = 128, i32 accumulators
//
// B lies with K contiguous, as all but 16-bit types must: its tile is 32xK, without transposeB. The entries are whole
// numbers so small that every sum is exact; linalg.matmul of the same numbers in f32 owes the same values.
//
// Spec: nvgpu.warpgroup.*, nvgpu.tma.*; PTX ISA, wgmma.mma_async.
// UPSTREAM: refused: a tile of B with K contiguous
// RUN: lemma run %s | FileCheck %s
// CHECK: bf16: 2048 of 2048
// CHECK-NEXT: tf32: 2048 of 2048
// CHECK-NEXT: e4m3: 2048 of 2048
// CHECK-NEXT: s8: 2048 of 2048

!a_bf16 = memref<64x64xbf16, 3>
!b_bf16 = memref<32x64xbf16, 3>
!a_map_bf16 = !nvgpu.tensormap.descriptor<tensor = !a_bf16, swizzle = swizzle_128b, l2promo = none, oob = zero,
                                    interleave = none>
!b_map_bf16 = !nvgpu.tensormap.descriptor<tensor = !b_bf16, swizzle = swizzle_128b, l2promo = none, oob = zero,
                                    interleave = none>
!a_tf32 = memref<64x32xf32, 3>
!b_tf32 = memref<32x32xf32, 3>
!a_map_tf32 = !nvgpu.tensormap.descriptor<tensor = !a_tf32, swizzle = swizzle_128b, l2promo = none, oob = zero,
                                    interleave = none>
!b_map_tf32 = !nvgpu.tensormap.descriptor<tensor = !b_tf32, swizzle = swizzle_128b, l2promo = none, oob = zero,
                                    interleave = none>
!a_e4m3 = memref<64x128xf8E4M3FN, 3>
!b_e4m3 = memref<32x128xf8E4M3FN, 3>
!a_map_e4m3 = !nvgpu.tensormap.descriptor<tensor = !a_e4m3, swizzle = swizzle_128b, l2promo = none, oob = zero,
                                    interleave = none>
!b_map_e4m3 = !nvgpu.tensormap.descriptor<tensor = !b_e4m3, swizzle = swizzle_128b, l2promo = none, oob = zero,
                                    interleave = none>
!a_s8 = memref<64x128xi8, 3>
!b_s8 = memref<32x128xi8, 3>
!a_map_s8 = !nvgpu.tensormap.descriptor<tensor = !a_s8, swizzle = swizzle_128b, l2promo = none, oob = zero,
                                    interleave = none>
!b_map_s8 = !nvgpu.tensormap.descriptor<tensor = !b_s8, swizzle = swizzle_128b, l2promo = none, oob = zero,
                                    interleave = none>
!barrier = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 1>

module attributes {gpu.container_module} {
  gpu.module @kernels {
    memref.global "private" @tile_a_bf16 : !a_bf16 {alignment = 1024 : i64}
    memref.global "private" @tile_b_bf16 : !b_bf16 {alignment = 1024 : i64}
    memref.global "private" @tile_a_tf32 : !a_tf32 {alignment = 1024 : i64}
    memref.global "private" @tile_b_tf32 : !b_tf32 {alignment = 1024 : i64}
    memref.global "private" @tile_a_e4m3 : !a_e4m3 {alignment = 1024 : i64}
    memref.global "private" @tile_b_e4m3 : !b_e4m3 {alignment = 1024 : i64}
    memref.global "private" @tile_a_s8 : !a_s8 {alignment = 1024 : i64}
    memref.global "private" @tile_b_s8 : !b_s8 {alignment = 1024 : i64}

    gpu.func @bf16(%a_map: !a_map_bf16, %b_map: !b_map_bf16, %d: memref<64x32xf32>) kernel
        attributes {known_block_size = array<i32: 128, 1, 1>} {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %even = arith.constant false
      %ticks = arith.constant 10000000 : index
      %bytes = arith.constant 12288 : index
      %thread = gpu.thread_id x
      %first = arith.cmpi eq, %thread, %c0 : index
      %tile_a = memref.get_global @tile_a_bf16 : !a_bf16
      %tile_b = memref.get_global @tile_b_bf16 : !b_bf16
      %full_bf16 = nvgpu.mbarrier.create -> !barrier
      nvgpu.mbarrier.init %full_bf16[%c0], %c1, predicate = %first : !barrier
      gpu.barrier
      nvgpu.mbarrier.arrive.expect_tx %full_bf16[%c0], %bytes, predicate = %first : !barrier
      nvgpu.tma.async.load %a_map[%c0, %c0], %full_bf16[%c0] to %tile_a, predicate = %first
        : !a_map_bf16, !barrier -> !a_bf16
      nvgpu.tma.async.load %b_map[%c0, %c0], %full_bf16[%c0] to %tile_b, predicate = %first
        : !b_map_bf16, !barrier -> !b_bf16
      nvgpu.mbarrier.try_wait.parity %full_bf16[%c0], %even, %ticks : !barrier
      %desc_a = nvgpu.warpgroup.generate.descriptor %tile_a, %a_map
        : !a_bf16, !a_map_bf16 -> !nvgpu.warpgroup.descriptor<tensor = !a_bf16>
      %desc_b = nvgpu.warpgroup.generate.descriptor %tile_b, %b_map
        : !b_bf16, !b_map_bf16 -> !nvgpu.warpgroup.descriptor<tensor = !b_bf16>
      %zero = nvgpu.warpgroup.mma.init.accumulator
        -> !nvgpu.warpgroup.accumulator<fragmented = vector<64x32xf32>>
      %sum = nvgpu.warpgroup.mma %desc_a, %desc_b, %zero {waitGroup = 0 : i64}
        : !nvgpu.warpgroup.descriptor<tensor = !a_bf16>, !nvgpu.warpgroup.descriptor<tensor = !b_bf16>,
          !nvgpu.warpgroup.accumulator<fragmented = vector<64x32xf32>>
        -> !nvgpu.warpgroup.accumulator<fragmented = vector<64x32xf32>>
      nvgpu.warpgroup.mma.store %sum, %d
        : !nvgpu.warpgroup.accumulator<fragmented = vector<64x32xf32>> to memref<64x32xf32>
      gpu.return
    }

    gpu.func @tf32(%a_map: !a_map_tf32, %b_map: !b_map_tf32, %d: memref<64x32xf32>) kernel
        attributes {known_block_size = array<i32: 128, 1, 1>} {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %even = arith.constant false
      %ticks = arith.constant 10000000 : index
      %bytes = arith.constant 12288 : index
      %thread = gpu.thread_id x
      %first = arith.cmpi eq, %thread, %c0 : index
      %tile_a = memref.get_global @tile_a_tf32 : !a_tf32
      %tile_b = memref.get_global @tile_b_tf32 : !b_tf32
      %full_tf32 = nvgpu.mbarrier.create -> !barrier
      nvgpu.mbarrier.init %full_tf32[%c0], %c1, predicate = %first : !barrier
      gpu.barrier
      nvgpu.mbarrier.arrive.expect_tx %full_tf32[%c0], %bytes, predicate = %first : !barrier
      nvgpu.tma.async.load %a_map[%c0, %c0], %full_tf32[%c0] to %tile_a, predicate = %first
        : !a_map_tf32, !barrier -> !a_tf32
      nvgpu.tma.async.load %b_map[%c0, %c0], %full_tf32[%c0] to %tile_b, predicate = %first
        : !b_map_tf32, !barrier -> !b_tf32
      nvgpu.mbarrier.try_wait.parity %full_tf32[%c0], %even, %ticks : !barrier
      %desc_a = nvgpu.warpgroup.generate.descriptor %tile_a, %a_map
        : !a_tf32, !a_map_tf32 -> !nvgpu.warpgroup.descriptor<tensor = !a_tf32>
      %desc_b = nvgpu.warpgroup.generate.descriptor %tile_b, %b_map
        : !b_tf32, !b_map_tf32 -> !nvgpu.warpgroup.descriptor<tensor = !b_tf32>
      %zero = nvgpu.warpgroup.mma.init.accumulator
        -> !nvgpu.warpgroup.accumulator<fragmented = vector<64x32xf32>>
      %sum = nvgpu.warpgroup.mma %desc_a, %desc_b, %zero {waitGroup = 0 : i64}
        : !nvgpu.warpgroup.descriptor<tensor = !a_tf32>, !nvgpu.warpgroup.descriptor<tensor = !b_tf32>,
          !nvgpu.warpgroup.accumulator<fragmented = vector<64x32xf32>>
        -> !nvgpu.warpgroup.accumulator<fragmented = vector<64x32xf32>>
      nvgpu.warpgroup.mma.store %sum, %d
        : !nvgpu.warpgroup.accumulator<fragmented = vector<64x32xf32>> to memref<64x32xf32>
      gpu.return
    }

    gpu.func @e4m3(%a_map: !a_map_e4m3, %b_map: !b_map_e4m3, %d: memref<64x32xf32>) kernel
        attributes {known_block_size = array<i32: 128, 1, 1>} {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %even = arith.constant false
      %ticks = arith.constant 10000000 : index
      %bytes = arith.constant 12288 : index
      %thread = gpu.thread_id x
      %first = arith.cmpi eq, %thread, %c0 : index
      %tile_a = memref.get_global @tile_a_e4m3 : !a_e4m3
      %tile_b = memref.get_global @tile_b_e4m3 : !b_e4m3
      %full_e4m3 = nvgpu.mbarrier.create -> !barrier
      nvgpu.mbarrier.init %full_e4m3[%c0], %c1, predicate = %first : !barrier
      gpu.barrier
      nvgpu.mbarrier.arrive.expect_tx %full_e4m3[%c0], %bytes, predicate = %first : !barrier
      nvgpu.tma.async.load %a_map[%c0, %c0], %full_e4m3[%c0] to %tile_a, predicate = %first
        : !a_map_e4m3, !barrier -> !a_e4m3
      nvgpu.tma.async.load %b_map[%c0, %c0], %full_e4m3[%c0] to %tile_b, predicate = %first
        : !b_map_e4m3, !barrier -> !b_e4m3
      nvgpu.mbarrier.try_wait.parity %full_e4m3[%c0], %even, %ticks : !barrier
      %desc_a = nvgpu.warpgroup.generate.descriptor %tile_a, %a_map
        : !a_e4m3, !a_map_e4m3 -> !nvgpu.warpgroup.descriptor<tensor = !a_e4m3>
      %desc_b = nvgpu.warpgroup.generate.descriptor %tile_b, %b_map
        : !b_e4m3, !b_map_e4m3 -> !nvgpu.warpgroup.descriptor<tensor = !b_e4m3>
      %zero = nvgpu.warpgroup.mma.init.accumulator
        -> !nvgpu.warpgroup.accumulator<fragmented = vector<64x32xf32>>
      %sum = nvgpu.warpgroup.mma %desc_a, %desc_b, %zero {waitGroup = 0 : i64}
        : !nvgpu.warpgroup.descriptor<tensor = !a_e4m3>, !nvgpu.warpgroup.descriptor<tensor = !b_e4m3>,
          !nvgpu.warpgroup.accumulator<fragmented = vector<64x32xf32>>
        -> !nvgpu.warpgroup.accumulator<fragmented = vector<64x32xf32>>
      nvgpu.warpgroup.mma.store %sum, %d
        : !nvgpu.warpgroup.accumulator<fragmented = vector<64x32xf32>> to memref<64x32xf32>
      gpu.return
    }

    gpu.func @s8(%a_map: !a_map_s8, %b_map: !b_map_s8, %d: memref<64x32xi32>) kernel
        attributes {known_block_size = array<i32: 128, 1, 1>} {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %even = arith.constant false
      %ticks = arith.constant 10000000 : index
      %bytes = arith.constant 12288 : index
      %thread = gpu.thread_id x
      %first = arith.cmpi eq, %thread, %c0 : index
      %tile_a = memref.get_global @tile_a_s8 : !a_s8
      %tile_b = memref.get_global @tile_b_s8 : !b_s8
      %full_s8 = nvgpu.mbarrier.create -> !barrier
      nvgpu.mbarrier.init %full_s8[%c0], %c1, predicate = %first : !barrier
      gpu.barrier
      nvgpu.mbarrier.arrive.expect_tx %full_s8[%c0], %bytes, predicate = %first : !barrier
      nvgpu.tma.async.load %a_map[%c0, %c0], %full_s8[%c0] to %tile_a, predicate = %first
        : !a_map_s8, !barrier -> !a_s8
      nvgpu.tma.async.load %b_map[%c0, %c0], %full_s8[%c0] to %tile_b, predicate = %first
        : !b_map_s8, !barrier -> !b_s8
      nvgpu.mbarrier.try_wait.parity %full_s8[%c0], %even, %ticks : !barrier
      %desc_a = nvgpu.warpgroup.generate.descriptor %tile_a, %a_map
        : !a_s8, !a_map_s8 -> !nvgpu.warpgroup.descriptor<tensor = !a_s8>
      %desc_b = nvgpu.warpgroup.generate.descriptor %tile_b, %b_map
        : !b_s8, !b_map_s8 -> !nvgpu.warpgroup.descriptor<tensor = !b_s8>
      %zero = nvgpu.warpgroup.mma.init.accumulator
        -> !nvgpu.warpgroup.accumulator<fragmented = vector<64x32xi32>>
      %sum = nvgpu.warpgroup.mma %desc_a, %desc_b, %zero {waitGroup = 0 : i64}
        : !nvgpu.warpgroup.descriptor<tensor = !a_s8>, !nvgpu.warpgroup.descriptor<tensor = !b_s8>,
          !nvgpu.warpgroup.accumulator<fragmented = vector<64x32xi32>>
        -> !nvgpu.warpgroup.accumulator<fragmented = vector<64x32xi32>>
      nvgpu.warpgroup.mma.store %sum, %d
        : !nvgpu.warpgroup.accumulator<fragmented = vector<64x32xi32>> to memref<64x32xi32>
      gpu.return
    }
  }

  // (7 i + 3 j + 5 p) mod 9 - 4
  func.func private @entry(%i: index, %j: index, %p: index) -> i32 {
    %c3 = arith.constant 3 : index
    %c5 = arith.constant 5 : index
    %c7 = arith.constant 7 : index
    %c9 = arith.constant 9 : index
    %four = arith.constant 4 : i32
    %x = arith.muli %i, %c7 : index
    %y = arith.muli %j, %c3 : index
    %z = arith.muli %p, %c5 : index
    %xy = arith.addi %x, %y : index
    %xyz = arith.addi %xy, %z : index
    %r = arith.remui %xyz, %c9 : index
    %s = arith.index_cast %r : index to i32
    %v = arith.subi %s, %four : i32
    return %v : i32
  }

  func.func private @as_bf16(%x: i32) -> bf16 {
    %y = arith.sitofp %x : i32 to f32
    %z = arith.truncf %y : f32 to bf16
    return %z : bf16
  }
  func.func private @as_tf32(%x: i32) -> f32 {
    %y = arith.sitofp %x : i32 to f32
    return %y : f32
  }
  func.func private @as_s8(%x: i32) -> i8 {
    %y = arith.trunci %x : i32 to i8
    return %y : i8
  }
  // Whole numbers from -4 to 4: 0, 0x38, 0x40, 0x44, 0x48, and the sign.
  func.func private @as_e4m3(%x: i32) -> f8E4M3FN {
    %zero = arith.constant 0 : i8
    %one = arith.constant 0x38 : i8
    %two = arith.constant 0x40 : i8
    %three = arith.constant 0x44 : i8
    %four = arith.constant 0x48 : i8
    %sign = arith.constant 0x80 : i8
    %i1 = arith.constant 1 : i32
    %i2 = arith.constant 2 : i32
    %i3 = arith.constant 3 : i32
    %i0 = arith.constant 0 : i32
    %size = math.absi %x : i32
    %is0 = arith.cmpi eq, %size, %i0 : i32
    %is1 = arith.cmpi eq, %size, %i1 : i32
    %is2 = arith.cmpi eq, %size, %i2 : i32
    %is3 = arith.cmpi eq, %size, %i3 : i32
    %negative = arith.cmpi slt, %x, %i0 : i32
    %from3 = arith.select %is3, %three, %four : i8
    %from2 = arith.select %is2, %two, %from3 : i8
    %from1 = arith.select %is1, %one, %from2 : i8
    %from0 = arith.select %is0, %zero, %from1 : i8
    %minus = arith.ori %from0, %sign : i8
    %bits = arith.select %negative, %minus, %from0 : i8
    %y = arith.bitcast %bits : i8 to f8E4M3FN
    return %y : f8E4M3FN
  }

  func.func private @run_bf16() -> i1 {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c32 = arith.constant 32 : index
    %c64 = arith.constant 64 : index
    %c128 = arith.constant 128 : index
    %n0 = arith.constant 0 : i64
    %f0 = arith.constant 0.0 : f32
    %total = arith.constant 2048 : i64
    // B lies with K contiguous: its rows are the columns of the product.
    %a = memref.alloc() : memref<64x64xbf16>
    %b = memref.alloc() : memref<32x64xbf16>
    %d = memref.alloc() : memref<64x32xf32>
    %a_want = memref.alloc() : memref<64x64xf32>
    %b_want = memref.alloc() : memref<64x32xf32>
    %want = memref.alloc() : memref<64x32xf32>
    scf.for %j = %c0 to %c64 step %c1 {
      scf.for %i = %c0 to %c64 step %c1 {
        %whole = func.call @entry(%i, %j, %c1) : (index, index, index) -> i32
        %x = func.call @as_bf16(%whole) : (i32) -> bf16
        %y = arith.sitofp %whole : i32 to f32
        memref.store %x, %a[%i, %j] : memref<64x64xbf16>
        memref.store %y, %a_want[%i, %j] : memref<64x64xf32>
      }
      scf.for %i = %c0 to %c32 step %c1 {
        %whole = func.call @entry(%i, %j, %c2) : (index, index, index) -> i32
        %x = func.call @as_bf16(%whole) : (i32) -> bf16
        %y = arith.sitofp %whole : i32 to f32
        memref.store %x, %b[%i, %j] : memref<32x64xbf16>
        memref.store %y, %b_want[%j, %i] : memref<64x32xf32>
      }
    }
    %t0 = gpu.wait async
    %da, %t1 = gpu.alloc async [%t0] () : memref<64x64xbf16>
    %db, %t2 = gpu.alloc async [%t1] () : memref<32x64xbf16>
    %dd, %t3 = gpu.alloc async [%t2] () : memref<64x32xf32>
    %t4 = gpu.memcpy async [%t3] %da, %a : memref<64x64xbf16>, memref<64x64xbf16>
    %t5 = gpu.memcpy async [%t4] %db, %b : memref<32x64xbf16>, memref<32x64xbf16>
    gpu.wait [%t5]
    %a_any = memref.cast %da : memref<64x64xbf16> to memref<*xbf16>
    %b_any = memref.cast %db : memref<32x64xbf16> to memref<*xbf16>
    %a_map = nvgpu.tma.create.descriptor %a_any box[%c64, %c64] : memref<*xbf16> -> !a_map_bf16
    %b_map = nvgpu.tma.create.descriptor %b_any box[%c32, %c64] : memref<*xbf16> -> !b_map_bf16
    %t6 = gpu.wait async
    %t7 = gpu.launch_func async [%t6] @kernels::@bf16 blocks in (%c1, %c1, %c1) threads in (%c128, %c1, %c1)
      args(%a_map : !a_map_bf16, %b_map : !b_map_bf16, %dd : memref<64x32xf32>)
    %t8 = gpu.memcpy async [%t7] %d, %dd : memref<64x32xf32>, memref<64x32xf32>
    %t9 = gpu.dealloc async [%t8] %da : memref<64x64xbf16>
    %t10 = gpu.dealloc async [%t9] %db : memref<32x64xbf16>
    %t11 = gpu.dealloc async [%t10] %dd : memref<64x32xf32>
    gpu.wait [%t11]

    linalg.fill ins(%f0 : f32) outs(%want : memref<64x32xf32>)
    linalg.matmul ins(%a_want, %b_want : memref<64x64xf32>, memref<64x32xf32>) outs(%want : memref<64x32xf32>)
    %correct = scf.for %i = %c0 to %c64 step %c1 iter_args(%row = %n0) -> (i64) {
      %next = scf.for %j = %c0 to %c32 step %c1 iter_args(%count = %row) -> (i64) {
        %x = memref.load %want[%i, %j] : memref<64x32xf32>
        %y = memref.load %d[%i, %j] : memref<64x32xf32>
        %x_bits = arith.bitcast %x : f32 to i32
        %y_bits = arith.bitcast %y : f32 to i32
        %same = arith.cmpi eq, %x_bits, %y_bits : i32
        %one = arith.extui %same : i1 to i64
        %more = arith.addi %count, %one : i64
        scf.yield %more : i64
      }
      scf.yield %next : i64
    }
    memref.dealloc %a : memref<64x64xbf16>
    memref.dealloc %b : memref<32x64xbf16>
    memref.dealloc %d : memref<64x32xf32>
    memref.dealloc %a_want : memref<64x64xf32>
    memref.dealloc %b_want : memref<64x32xf32>
    memref.dealloc %want : memref<64x32xf32>
    vector.print str "bf16: "
    vector.print %correct : i64 punctuation <no_punctuation>
    vector.print str " of "
    vector.print %total : i64
    %wrong = arith.cmpi ne, %correct, %total : i64
    return %wrong : i1
  }

  func.func private @run_tf32() -> i1 {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c32 = arith.constant 32 : index
    %c64 = arith.constant 64 : index
    %c128 = arith.constant 128 : index
    %n0 = arith.constant 0 : i64
    %f0 = arith.constant 0.0 : f32
    %total = arith.constant 2048 : i64
    // B lies with K contiguous: its rows are the columns of the product.
    %a = memref.alloc() : memref<64x32xf32>
    %b = memref.alloc() : memref<32x32xf32>
    %d = memref.alloc() : memref<64x32xf32>
    %a_want = memref.alloc() : memref<64x32xf32>
    %b_want = memref.alloc() : memref<32x32xf32>
    %want = memref.alloc() : memref<64x32xf32>
    scf.for %j = %c0 to %c32 step %c1 {
      scf.for %i = %c0 to %c64 step %c1 {
        %whole = func.call @entry(%i, %j, %c1) : (index, index, index) -> i32
        %x = func.call @as_tf32(%whole) : (i32) -> f32
        %y = arith.sitofp %whole : i32 to f32
        memref.store %x, %a[%i, %j] : memref<64x32xf32>
        memref.store %y, %a_want[%i, %j] : memref<64x32xf32>
      }
      scf.for %i = %c0 to %c32 step %c1 {
        %whole = func.call @entry(%i, %j, %c2) : (index, index, index) -> i32
        %x = func.call @as_tf32(%whole) : (i32) -> f32
        %y = arith.sitofp %whole : i32 to f32
        memref.store %x, %b[%i, %j] : memref<32x32xf32>
        memref.store %y, %b_want[%j, %i] : memref<32x32xf32>
      }
    }
    %t0 = gpu.wait async
    %da, %t1 = gpu.alloc async [%t0] () : memref<64x32xf32>
    %db, %t2 = gpu.alloc async [%t1] () : memref<32x32xf32>
    %dd, %t3 = gpu.alloc async [%t2] () : memref<64x32xf32>
    %t4 = gpu.memcpy async [%t3] %da, %a : memref<64x32xf32>, memref<64x32xf32>
    %t5 = gpu.memcpy async [%t4] %db, %b : memref<32x32xf32>, memref<32x32xf32>
    gpu.wait [%t5]
    %a_any = memref.cast %da : memref<64x32xf32> to memref<*xf32>
    %b_any = memref.cast %db : memref<32x32xf32> to memref<*xf32>
    %a_map = nvgpu.tma.create.descriptor %a_any box[%c64, %c32] : memref<*xf32> -> !a_map_tf32
    %b_map = nvgpu.tma.create.descriptor %b_any box[%c32, %c32] : memref<*xf32> -> !b_map_tf32
    %t6 = gpu.wait async
    %t7 = gpu.launch_func async [%t6] @kernels::@tf32 blocks in (%c1, %c1, %c1) threads in (%c128, %c1, %c1)
      args(%a_map : !a_map_tf32, %b_map : !b_map_tf32, %dd : memref<64x32xf32>)
    %t8 = gpu.memcpy async [%t7] %d, %dd : memref<64x32xf32>, memref<64x32xf32>
    %t9 = gpu.dealloc async [%t8] %da : memref<64x32xf32>
    %t10 = gpu.dealloc async [%t9] %db : memref<32x32xf32>
    %t11 = gpu.dealloc async [%t10] %dd : memref<64x32xf32>
    gpu.wait [%t11]

    linalg.fill ins(%f0 : f32) outs(%want : memref<64x32xf32>)
    linalg.matmul ins(%a_want, %b_want : memref<64x32xf32>, memref<32x32xf32>) outs(%want : memref<64x32xf32>)
    %correct = scf.for %i = %c0 to %c64 step %c1 iter_args(%row = %n0) -> (i64) {
      %next = scf.for %j = %c0 to %c32 step %c1 iter_args(%count = %row) -> (i64) {
        %x = memref.load %want[%i, %j] : memref<64x32xf32>
        %y = memref.load %d[%i, %j] : memref<64x32xf32>
        %x_bits = arith.bitcast %x : f32 to i32
        %y_bits = arith.bitcast %y : f32 to i32
        %same = arith.cmpi eq, %x_bits, %y_bits : i32
        %one = arith.extui %same : i1 to i64
        %more = arith.addi %count, %one : i64
        scf.yield %more : i64
      }
      scf.yield %next : i64
    }
    memref.dealloc %a : memref<64x32xf32>
    memref.dealloc %b : memref<32x32xf32>
    memref.dealloc %d : memref<64x32xf32>
    memref.dealloc %a_want : memref<64x32xf32>
    memref.dealloc %b_want : memref<32x32xf32>
    memref.dealloc %want : memref<64x32xf32>
    vector.print str "tf32: "
    vector.print %correct : i64 punctuation <no_punctuation>
    vector.print str " of "
    vector.print %total : i64
    %wrong = arith.cmpi ne, %correct, %total : i64
    return %wrong : i1
  }

  func.func private @run_e4m3() -> i1 {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c32 = arith.constant 32 : index
    %c64 = arith.constant 64 : index
    %c128 = arith.constant 128 : index
    %n0 = arith.constant 0 : i64
    %f0 = arith.constant 0.0 : f32
    %total = arith.constant 2048 : i64
    // B lies with K contiguous: its rows are the columns of the product.
    %a = memref.alloc() : memref<64x128xf8E4M3FN>
    %b = memref.alloc() : memref<32x128xf8E4M3FN>
    %d = memref.alloc() : memref<64x32xf32>
    %a_want = memref.alloc() : memref<64x128xf32>
    %b_want = memref.alloc() : memref<128x32xf32>
    %want = memref.alloc() : memref<64x32xf32>
    scf.for %j = %c0 to %c128 step %c1 {
      scf.for %i = %c0 to %c64 step %c1 {
        %whole = func.call @entry(%i, %j, %c1) : (index, index, index) -> i32
        %x = func.call @as_e4m3(%whole) : (i32) -> f8E4M3FN
        %y = arith.sitofp %whole : i32 to f32
        memref.store %x, %a[%i, %j] : memref<64x128xf8E4M3FN>
        memref.store %y, %a_want[%i, %j] : memref<64x128xf32>
      }
      scf.for %i = %c0 to %c32 step %c1 {
        %whole = func.call @entry(%i, %j, %c2) : (index, index, index) -> i32
        %x = func.call @as_e4m3(%whole) : (i32) -> f8E4M3FN
        %y = arith.sitofp %whole : i32 to f32
        memref.store %x, %b[%i, %j] : memref<32x128xf8E4M3FN>
        memref.store %y, %b_want[%j, %i] : memref<128x32xf32>
      }
    }
    %t0 = gpu.wait async
    %da, %t1 = gpu.alloc async [%t0] () : memref<64x128xf8E4M3FN>
    %db, %t2 = gpu.alloc async [%t1] () : memref<32x128xf8E4M3FN>
    %dd, %t3 = gpu.alloc async [%t2] () : memref<64x32xf32>
    %t4 = gpu.memcpy async [%t3] %da, %a : memref<64x128xf8E4M3FN>, memref<64x128xf8E4M3FN>
    %t5 = gpu.memcpy async [%t4] %db, %b : memref<32x128xf8E4M3FN>, memref<32x128xf8E4M3FN>
    gpu.wait [%t5]
    %a_any = memref.cast %da : memref<64x128xf8E4M3FN> to memref<*xf8E4M3FN>
    %b_any = memref.cast %db : memref<32x128xf8E4M3FN> to memref<*xf8E4M3FN>
    %a_map = nvgpu.tma.create.descriptor %a_any box[%c64, %c128] : memref<*xf8E4M3FN> -> !a_map_e4m3
    %b_map = nvgpu.tma.create.descriptor %b_any box[%c32, %c128] : memref<*xf8E4M3FN> -> !b_map_e4m3
    %t6 = gpu.wait async
    %t7 = gpu.launch_func async [%t6] @kernels::@e4m3 blocks in (%c1, %c1, %c1) threads in (%c128, %c1, %c1)
      args(%a_map : !a_map_e4m3, %b_map : !b_map_e4m3, %dd : memref<64x32xf32>)
    %t8 = gpu.memcpy async [%t7] %d, %dd : memref<64x32xf32>, memref<64x32xf32>
    %t9 = gpu.dealloc async [%t8] %da : memref<64x128xf8E4M3FN>
    %t10 = gpu.dealloc async [%t9] %db : memref<32x128xf8E4M3FN>
    %t11 = gpu.dealloc async [%t10] %dd : memref<64x32xf32>
    gpu.wait [%t11]

    linalg.fill ins(%f0 : f32) outs(%want : memref<64x32xf32>)
    linalg.matmul ins(%a_want, %b_want : memref<64x128xf32>, memref<128x32xf32>) outs(%want : memref<64x32xf32>)
    %correct = scf.for %i = %c0 to %c64 step %c1 iter_args(%row = %n0) -> (i64) {
      %next = scf.for %j = %c0 to %c32 step %c1 iter_args(%count = %row) -> (i64) {
        %x = memref.load %want[%i, %j] : memref<64x32xf32>
        %y = memref.load %d[%i, %j] : memref<64x32xf32>
        %x_bits = arith.bitcast %x : f32 to i32
        %y_bits = arith.bitcast %y : f32 to i32
        %same = arith.cmpi eq, %x_bits, %y_bits : i32
        %one = arith.extui %same : i1 to i64
        %more = arith.addi %count, %one : i64
        scf.yield %more : i64
      }
      scf.yield %next : i64
    }
    memref.dealloc %a : memref<64x128xf8E4M3FN>
    memref.dealloc %b : memref<32x128xf8E4M3FN>
    memref.dealloc %d : memref<64x32xf32>
    memref.dealloc %a_want : memref<64x128xf32>
    memref.dealloc %b_want : memref<128x32xf32>
    memref.dealloc %want : memref<64x32xf32>
    vector.print str "e4m3: "
    vector.print %correct : i64 punctuation <no_punctuation>
    vector.print str " of "
    vector.print %total : i64
    %wrong = arith.cmpi ne, %correct, %total : i64
    return %wrong : i1
  }

  func.func private @run_s8() -> i1 {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c32 = arith.constant 32 : index
    %c64 = arith.constant 64 : index
    %c128 = arith.constant 128 : index
    %n0 = arith.constant 0 : i64
    %f0 = arith.constant 0.0 : f32
    %total = arith.constant 2048 : i64
    // B lies with K contiguous: its rows are the columns of the product.
    %a = memref.alloc() : memref<64x128xi8>
    %b = memref.alloc() : memref<32x128xi8>
    %d = memref.alloc() : memref<64x32xi32>
    %a_want = memref.alloc() : memref<64x128xf32>
    %b_want = memref.alloc() : memref<128x32xf32>
    %want = memref.alloc() : memref<64x32xf32>
    scf.for %j = %c0 to %c128 step %c1 {
      scf.for %i = %c0 to %c64 step %c1 {
        %whole = func.call @entry(%i, %j, %c1) : (index, index, index) -> i32
        %x = func.call @as_s8(%whole) : (i32) -> i8
        %y = arith.sitofp %whole : i32 to f32
        memref.store %x, %a[%i, %j] : memref<64x128xi8>
        memref.store %y, %a_want[%i, %j] : memref<64x128xf32>
      }
      scf.for %i = %c0 to %c32 step %c1 {
        %whole = func.call @entry(%i, %j, %c2) : (index, index, index) -> i32
        %x = func.call @as_s8(%whole) : (i32) -> i8
        %y = arith.sitofp %whole : i32 to f32
        memref.store %x, %b[%i, %j] : memref<32x128xi8>
        memref.store %y, %b_want[%j, %i] : memref<128x32xf32>
      }
    }
    %t0 = gpu.wait async
    %da, %t1 = gpu.alloc async [%t0] () : memref<64x128xi8>
    %db, %t2 = gpu.alloc async [%t1] () : memref<32x128xi8>
    %dd, %t3 = gpu.alloc async [%t2] () : memref<64x32xi32>
    %t4 = gpu.memcpy async [%t3] %da, %a : memref<64x128xi8>, memref<64x128xi8>
    %t5 = gpu.memcpy async [%t4] %db, %b : memref<32x128xi8>, memref<32x128xi8>
    gpu.wait [%t5]
    %a_any = memref.cast %da : memref<64x128xi8> to memref<*xi8>
    %b_any = memref.cast %db : memref<32x128xi8> to memref<*xi8>
    %a_map = nvgpu.tma.create.descriptor %a_any box[%c64, %c128] : memref<*xi8> -> !a_map_s8
    %b_map = nvgpu.tma.create.descriptor %b_any box[%c32, %c128] : memref<*xi8> -> !b_map_s8
    %t6 = gpu.wait async
    %t7 = gpu.launch_func async [%t6] @kernels::@s8 blocks in (%c1, %c1, %c1) threads in (%c128, %c1, %c1)
      args(%a_map : !a_map_s8, %b_map : !b_map_s8, %dd : memref<64x32xi32>)
    %t8 = gpu.memcpy async [%t7] %d, %dd : memref<64x32xi32>, memref<64x32xi32>
    %t9 = gpu.dealloc async [%t8] %da : memref<64x128xi8>
    %t10 = gpu.dealloc async [%t9] %db : memref<32x128xi8>
    %t11 = gpu.dealloc async [%t10] %dd : memref<64x32xi32>
    gpu.wait [%t11]

    linalg.fill ins(%f0 : f32) outs(%want : memref<64x32xf32>)
    linalg.matmul ins(%a_want, %b_want : memref<64x128xf32>, memref<128x32xf32>) outs(%want : memref<64x32xf32>)
    %correct = scf.for %i = %c0 to %c64 step %c1 iter_args(%row = %n0) -> (i64) {
      %next = scf.for %j = %c0 to %c32 step %c1 iter_args(%count = %row) -> (i64) {
        %x = memref.load %want[%i, %j] : memref<64x32xf32>
        %whole = memref.load %d[%i, %j] : memref<64x32xi32>
        %y = arith.sitofp %whole : i32 to f32
        %x_bits = arith.bitcast %x : f32 to i32
        %y_bits = arith.bitcast %y : f32 to i32
        %same = arith.cmpi eq, %x_bits, %y_bits : i32
        %one = arith.extui %same : i1 to i64
        %more = arith.addi %count, %one : i64
        scf.yield %more : i64
      }
      scf.yield %next : i64
    }
    memref.dealloc %a : memref<64x128xi8>
    memref.dealloc %b : memref<32x128xi8>
    memref.dealloc %d : memref<64x32xi32>
    memref.dealloc %a_want : memref<64x128xf32>
    memref.dealloc %b_want : memref<128x32xf32>
    memref.dealloc %want : memref<64x32xf32>
    vector.print str "s8: "
    vector.print %correct : i64 punctuation <no_punctuation>
    vector.print str " of "
    vector.print %total : i64
    %wrong = arith.cmpi ne, %correct, %total : i64
    return %wrong : i1
  }

  func.func @main() -> i32 {
    %bf16 = func.call @run_bf16() : () -> i1
    %tf32 = func.call @run_tf32() : () -> i1
    %e4m3 = func.call @run_e4m3() : () -> i1
    %s8 = func.call @run_s8() : () -> i1
    %either = arith.ori %bf16, %tf32 : i1
    %or = arith.ori %e4m3, %s8 : i1
    %wrong = arith.ori %either, %or : i1
    %status = arith.extui %wrong : i1 to i32
    return %status : i32
  }
}
