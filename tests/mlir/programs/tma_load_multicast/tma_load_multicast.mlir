// Two CTAs of a cluster share the work of loading a tile: each copies half of it, by a tensor copy (TMA) that delivers
// to both (multicast), and each CTA's mbarrier counts the bytes of both halves. Three clusters, each with a tile of
// its own; the host looks at what both CTAs of each got.
//
// An mbarrier must be there before another CTA's copy counts on it: a fence makes its initialisation visible to the
// cluster, which then meets.
//
// Not here: copies of one CTA (tma_load_*).
// Spec: nvgpu.tma.async.load with multicast_mask; PTX ISA, cp.async.bulk.tensor .multicast::cluster.
// UPSTREAM: refused: a barrier without an index
// RUN: lemma run %s | FileCheck %s
// CHECK: Correct: 1536 of 1536

!tile = memref<2x8x16xi32, #gpu.address_space<workgroup>>
!half = memref<8x16xi32, #gpu.address_space<workgroup>>
!map = !nvgpu.tensormap.descriptor<tensor = !half, swizzle = none, l2promo = l2promo_128b, oob = zero, interleave = none>
!barrier = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>

module attributes {gpu.container_module} {
  gpu.module @kernels {
    memref.global "private" @tile : !tile

    gpu.func @share(%map: !map, %out: memref<6x2x8x16xi32>) kernel {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c2 = arith.constant 2 : index
      %c8 = arith.constant 8 : index
      %c16 = arith.constant 16 : index
      %bytes = arith.constant 1024 : index
      %ticks = arith.constant 10000000 : index
      %both = arith.constant 3 : i16
      %even = arith.constant false
      %thread = gpu.thread_id x
      %block = gpu.block_id x
      %cluster = gpu.cluster_id x
      %rank = gpu.cluster_block_id x
      %first = arith.cmpi eq, %thread, %c0 : index

      %tile = memref.get_global @tile : !tile
      %barrier = nvgpu.mbarrier.create -> !barrier
      nvgpu.mbarrier.init %barrier, %c1, predicate = %first : !barrier
      nvvm.fence.mbarrier.init
      nvvm.cluster.arrive
      nvvm.cluster.wait

      // Half `rank` of the cluster's tile: 8 rows of 16 words.
      %pair = arith.muli %cluster, %c2 : index
      %number = arith.addi %pair, %rank : index
      %row = arith.muli %number, %c8 : index
      nvgpu.mbarrier.arrive.expect_tx %barrier, %bytes, predicate = %first : !barrier
      %half = memref.subview %tile[%rank, 0, 0][1, 8, 16][1, 1, 1]
        : !tile to memref<8x16xi32, strided<[16, 1], offset: ?>, #gpu.address_space<workgroup>>
      nvgpu.tma.async.load %map[%c0, %row], %barrier to %half multicast_mask = %both, predicate = %first
        : !map, !barrier -> memref<8x16xi32, strided<[16, 1], offset: ?>, #gpu.address_space<workgroup>>
      nvgpu.mbarrier.try_wait.parity %barrier, %even, %ticks : !barrier

      %side = arith.divui %thread, %c16 : index
      %column = arith.remui %thread, %c16 : index
      scf.for %i = %c0 to %c8 step %c1 {
        %word = memref.load %tile[%side, %i, %column] : !tile
        memref.store %word, %out[%block, %side, %i, %column] : memref<6x2x8x16xi32>
      }
      gpu.return
    }
  }

  func.func @main() -> i32 {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c6 = arith.constant 6 : index
    %c8 = arith.constant 8 : index
    %c16 = arith.constant 16 : index
    %c32 = arith.constant 32 : index
    %c48 = arith.constant 48 : index
    %n0 = arith.constant 0 : i64
    %total = arith.constant 1536 : i64

    // Word (i, j) of the tensor: 16 i + j.
    %tensor = memref.alloc() : memref<48x16xi32>
    %out = memref.alloc() : memref<6x2x8x16xi32>
    scf.for %i = %c0 to %c48 step %c1 {
      scf.for %j = %c0 to %c16 step %c1 {
        %p = arith.muli %i, %c16 : index
        %q = arith.addi %p, %j : index
        %r = arith.index_cast %q : index to i32
        memref.store %r, %tensor[%i, %j] : memref<48x16xi32>
      }
    }
    %ready = gpu.wait async
    %dtensor, %t0 = gpu.alloc async [%ready] () : memref<48x16xi32>
    %dout, %t1 = gpu.alloc async [%t0] () : memref<6x2x8x16xi32>
    %t2 = gpu.memcpy async [%t1] %dtensor, %tensor : memref<48x16xi32>, memref<48x16xi32>
    gpu.wait [%t2]
    %any = memref.cast %dtensor : memref<48x16xi32> to memref<*xi32>
    %map = nvgpu.tma.create.descriptor %any box[%c8, %c16] : memref<*xi32> -> !map
    %t3 = gpu.wait async
    %t4 = gpu.launch_func async [%t3] @kernels::@share clusters in (%c2, %c1, %c1)
      blocks in (%c6, %c1, %c1) threads in (%c32, %c1, %c1)
      args(%map : !map, %dout : memref<6x2x8x16xi32>)
    %t5 = gpu.memcpy async [%t4] %out, %dout : memref<6x2x8x16xi32>, memref<6x2x8x16xi32>
    %t6 = gpu.dealloc async [%t5] %dtensor : memref<48x16xi32>
    %t7 = gpu.dealloc async [%t6] %dout : memref<6x2x8x16xi32>
    gpu.wait [%t7]

    // Both CTAs of cluster k have rows 16 k to 16 k + 15.
    %correct = scf.for %block = %c0 to %c6 step %c1 iter_args(%n_block = %n0) -> (i64) {
      %cluster = arith.divui %block, %c2 : index
      %start = arith.muli %cluster, %c16 : index
      %n_next_block = scf.for %i = %c0 to %c16 step %c1 iter_args(%n_row = %n_block) -> (i64) {
        %row = arith.addi %start, %i : index
        %side = arith.divui %i, %c8 : index
        %line = arith.remui %i, %c8 : index
        %n_next = scf.for %j = %c0 to %c16 step %c1 iter_args(%n = %n_row) -> (i64) {
          %want = memref.load %tensor[%row, %j] : memref<48x16xi32>
          %got = memref.load %out[%block, %side, %line, %j] : memref<6x2x8x16xi32>
          %same = arith.cmpi eq, %want, %got : i32
          %one = arith.extui %same : i1 to i64
          %n_new = arith.addi %n, %one : i64
          scf.yield %n_new : i64
        }
        scf.yield %n_next : i64
      }
      scf.yield %n_next_block : i64
    }
    vector.print str "Correct: "
    vector.print %correct : i64 punctuation <no_punctuation>
    vector.print str " of "
    vector.print %total : i64
    memref.dealloc %tensor : memref<48x16xi32>
    memref.dealloc %out : memref<6x2x8x16xi32>
    %wrong = arith.cmpi ne, %correct, %total : i64
    %status = arith.extui %wrong : i1 to i32
    return %status : i32
  }
}
