// Three clusters of four CTAs. Every CTA says where it is: cluster, rank in the cluster, CTAs of a cluster, clusters.
// Then it fills its shared memory, the cluster meets, and it reads the shared memory of the next CTA of its cluster
// (distributed shared memory, by nvvm.mapa), which must not exit before: the cluster meets again.
//
// Not here: multicast copies, mbarriers of another CTA.
// Spec: gpu.launch_func with clusters, gpu.cluster_*; PTX ISA, mapa, barrier.cluster, ld.shared::cluster.
// RUN: lemma run %s | FileCheck %s
// CHECK: cluster, rank, CTAs of a cluster, clusters:
// CHECK: {{\[\[}}0, 0, 4, 3],
// CHECK-NEXT: [0, 1, 4, 3],
// CHECK-NEXT: [0, 2, 4, 3],
// CHECK-NEXT: [0, 3, 4, 3],
// CHECK-NEXT: [1, 0, 4, 3],
// CHECK-NEXT: [1, 1, 4, 3],
// CHECK-NEXT: [1, 2, 4, 3],
// CHECK-NEXT: [1, 3, 4, 3],
// CHECK-NEXT: [2, 0, 4, 3],
// CHECK-NEXT: [2, 1, 4, 3],
// CHECK-NEXT: [2, 2, 4, 3],
// CHECK-NEXT: [2, 3, 4, 3]]
// CHECK-NEXT: Correct: 768 of 768

!tile = memref<64xi32, #gpu.address_space<workgroup>>

module attributes {gpu.container_module} {
  gpu.module @kernels {
    memref.global "private" @tile : !tile

    gpu.func @neighbours(%where: memref<12x4xi32>, %out: memref<12x64xi32>) kernel {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c2 = arith.constant 2 : index
      %c3 = arith.constant 3 : index
      %thousand = arith.constant 1000 : index
      %thread = gpu.thread_id x
      %block = gpu.block_id x
      %cluster = gpu.cluster_id x
      %rank = gpu.cluster_block_id x
      %size = gpu.cluster_dim_blocks x
      %clusters = gpu.cluster_dim x

      %first = arith.cmpi eq, %thread, %c0 : index
      scf.if %first {
        %cluster32 = arith.index_cast %cluster : index to i32
        %rank32 = arith.index_cast %rank : index to i32
        %size32 = arith.index_cast %size : index to i32
        %clusters32 = arith.index_cast %clusters : index to i32
        memref.store %cluster32, %where[%block, %c0] : memref<12x4xi32>
        memref.store %rank32, %where[%block, %c1] : memref<12x4xi32>
        memref.store %size32, %where[%block, %c2] : memref<12x4xi32>
        memref.store %clusters32, %where[%block, %c3] : memref<12x4xi32>
      }

      %tile = memref.get_global @tile : !tile
      %base = arith.muli %block, %thousand : index
      %mine = arith.addi %base, %thread : index
      %mine32 = arith.index_cast %mine : index to i32
      memref.store %mine32, %tile[%thread] : !tile
      nvvm.cluster.arrive
      nvvm.cluster.wait

      %after = arith.addi %rank, %c1 : index
      %next = arith.remui %after, %size : index
      %next32 = arith.index_cast %next : index to i32
      %address = memref.extract_aligned_pointer_as_index %tile : !tile -> index
      %address64 = arith.index_cast %address : index to i64
      %pointer = llvm.inttoptr %address64 : i64 to !llvm.ptr<3>
      %there = nvvm.mapa %pointer, %next32 : !llvm.ptr<3> -> !llvm.ptr<7>
      %thread64 = arith.index_cast %thread : index to i64
      %element = llvm.getelementptr %there[%thread64] : (!llvm.ptr<7>, i64) -> !llvm.ptr<7>, i32
      %value = llvm.load %element : !llvm.ptr<7> -> i32
      memref.store %value, %out[%block, %thread] : memref<12x64xi32>
      nvvm.cluster.arrive {aligned}
      nvvm.cluster.wait {aligned}
      gpu.return
    }
  }

  func.func private @printMemrefI32(memref<*xi32>) attributes {llvm.emit_c_interface}

  func.func @main() -> i32 {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c4 = arith.constant 4 : index
    %c12 = arith.constant 12 : index
    %c64 = arith.constant 64 : index
    %thousand = arith.constant 1000 : index
    %n0 = arith.constant 0 : i64
    %total = arith.constant 768 : i64

    %where = memref.alloc() : memref<12x4xi32>
    %out = memref.alloc() : memref<12x64xi32>
    %ready = gpu.wait async
    %dwhere, %t0 = gpu.alloc async [%ready] () : memref<12x4xi32>
    %dout, %t1 = gpu.alloc async [%t0] () : memref<12x64xi32>
    %t2 = gpu.launch_func async [%t1] @kernels::@neighbours clusters in (%c4, %c1, %c1)
      blocks in (%c12, %c1, %c1) threads in (%c64, %c1, %c1)
      args(%dwhere : memref<12x4xi32>, %dout : memref<12x64xi32>)
    %t3 = gpu.memcpy async [%t2] %where, %dwhere : memref<12x4xi32>, memref<12x4xi32>
    %t4 = gpu.memcpy async [%t3] %out, %dout : memref<12x64xi32>, memref<12x64xi32>
    %t5 = gpu.dealloc async [%t4] %dwhere : memref<12x4xi32>
    %t6 = gpu.dealloc async [%t5] %dout : memref<12x64xi32>
    gpu.wait [%t6]

    // CTA c reads what CTA 4 (c / 4) + (c + 1) mod 4 wrote.
    %correct = scf.for %block = %c0 to %c12 step %c1 iter_args(%n_row = %n0) -> (i64) {
      %cluster = arith.divui %block, %c4 : index
      %first = arith.muli %cluster, %c4 : index
      %after = arith.addi %block, %c1 : index
      %rank = arith.remui %after, %c4 : index
      %neighbour = arith.addi %first, %rank : index
      %base = arith.muli %neighbour, %thousand : index
      %n_next = scf.for %thread = %c0 to %c64 step %c1 iter_args(%n = %n_row) -> (i64) {
        %want = arith.addi %base, %thread : index
        %want32 = arith.index_cast %want : index to i32
        %got = memref.load %out[%block, %thread] : memref<12x64xi32>
        %same = arith.cmpi eq, %want32, %got : i32
        %one = arith.extui %same : i1 to i64
        %n_new = arith.addi %n, %one : i64
        scf.yield %n_new : i64
      }
      scf.yield %n_next : i64
    }
    vector.print str "cluster, rank, CTAs of a cluster, clusters:\n"
    %shown = memref.cast %where : memref<12x4xi32> to memref<*xi32>
    func.call @printMemrefI32(%shown) : (memref<*xi32>) -> ()
    vector.print str "Correct: "
    vector.print %correct : i64 punctuation <no_punctuation>
    vector.print str " of "
    vector.print %total : i64

    memref.dealloc %where : memref<12x4xi32>
    memref.dealloc %out : memref<12x64xi32>
    %wrong = arith.cmpi ne, %correct, %total : i64
    %status = arith.extui %wrong : i1 to i32
    return %status : i32
  }
}
