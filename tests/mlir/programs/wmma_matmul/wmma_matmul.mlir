// D = A * B + C with the subgroup (wmma) operations of the gpu dialect, 32x32x32, one warp for each 16x16 of D. Twice:
// with f32 accumulators, C a constant matrix, B handed over transposed in memory, and D clamped at zero; and with f16
// accumulators, C loaded, and 2 D - 3 in the place of D.
//
// The entries are whole numbers so small that every sum is exact, in f16 too; linalg.matmul on the host owes the same
// bits.
//
// Not here: mma.sync (matmul_mma_sync_*), other types (wmma_types).
// Spec: gpu.subgroup_mma_*; PTX ISA, wmma.load, wmma.mma, wmma.store.
// RUN: lemma run %s | FileCheck %s
// CHECK: f32: 1024 of 1024
// CHECK-NEXT: f16: 1024 of 1024

module attributes {gpu.container_module} {
  gpu.module @kernels {
    // %b_t is B transposed: 32 rows of N, K contiguous.
    gpu.func @f32(%a: memref<32x32xf16>, %b_t: memref<32x32xf16>, %d: memref<32x32xf32>) kernel {
      %c0 = arith.constant 0 : index
      %c16 = arith.constant 16 : index
      %c32 = arith.constant 32 : index
      %zero = arith.constant 0.0 : f32
      %three = arith.constant 3.0 : f32
      %block_n = gpu.block_id x
      %block_m = gpu.block_id y
      %row = arith.muli %block_m, %c16 : index
      %col = arith.muli %block_n, %c16 : index
      %c = gpu.subgroup_mma_constant_matrix %three : !gpu.mma_matrix<16x16xf32, "COp">
      %sum = scf.for %k = %c0 to %c32 step %c16 iter_args(%acc = %c) -> (!gpu.mma_matrix<16x16xf32, "COp">) {
        %fa = gpu.subgroup_mma_load_matrix %a[%row, %k] {leadDimension = 32 : index}
          : memref<32x32xf16> -> !gpu.mma_matrix<16x16xf16, "AOp">
        %fb = gpu.subgroup_mma_load_matrix %b_t[%col, %k] {leadDimension = 32 : index, transpose}
          : memref<32x32xf16> -> !gpu.mma_matrix<16x16xf16, "BOp">
        %next = gpu.subgroup_mma_compute %fa, %fb, %acc {b_transpose}
          : !gpu.mma_matrix<16x16xf16, "AOp">, !gpu.mma_matrix<16x16xf16, "BOp"> -> !gpu.mma_matrix<16x16xf32, "COp">
        scf.yield %next : !gpu.mma_matrix<16x16xf32, "COp">
      }
      %zeros = gpu.subgroup_mma_constant_matrix %zero : !gpu.mma_matrix<16x16xf32, "COp">
      %clamped = gpu.subgroup_mma_elementwise maxf %sum, %zeros
        : (!gpu.mma_matrix<16x16xf32, "COp">, !gpu.mma_matrix<16x16xf32, "COp">) -> !gpu.mma_matrix<16x16xf32, "COp">
      gpu.subgroup_mma_store_matrix %clamped, %d[%row, %col] {leadDimension = 32 : index}
        : !gpu.mma_matrix<16x16xf32, "COp">, memref<32x32xf32>
      gpu.return
    }

    gpu.func @f16(%a: memref<32x32xf16>, %b: memref<32x32xf16>, %d: memref<32x32xf16>) kernel {
      %c0 = arith.constant 0 : index
      %c16 = arith.constant 16 : index
      %c32 = arith.constant 32 : index
      %two = arith.constant 2.0 : f16
      %minus_three = arith.constant -3.0 : f16
      %block_n = gpu.block_id x
      %block_m = gpu.block_id y
      %row = arith.muli %block_m, %c16 : index
      %col = arith.muli %block_n, %c16 : index
      // D starts out as C.
      %c = gpu.subgroup_mma_load_matrix %d[%row, %col] {leadDimension = 32 : index}
        : memref<32x32xf16> -> !gpu.mma_matrix<16x16xf16, "COp">
      %sum = scf.for %k = %c0 to %c32 step %c16 iter_args(%acc = %c) -> (!gpu.mma_matrix<16x16xf16, "COp">) {
        %fa = gpu.subgroup_mma_load_matrix %a[%row, %k] {leadDimension = 32 : index}
          : memref<32x32xf16> -> !gpu.mma_matrix<16x16xf16, "AOp">
        %fb = gpu.subgroup_mma_load_matrix %b[%k, %col] {leadDimension = 32 : index}
          : memref<32x32xf16> -> !gpu.mma_matrix<16x16xf16, "BOp">
        %next = gpu.subgroup_mma_compute %fa, %fb, %acc
          : !gpu.mma_matrix<16x16xf16, "AOp">, !gpu.mma_matrix<16x16xf16, "BOp"> -> !gpu.mma_matrix<16x16xf16, "COp">
        scf.yield %next : !gpu.mma_matrix<16x16xf16, "COp">
      }
      %twos = gpu.subgroup_mma_constant_matrix %two : !gpu.mma_matrix<16x16xf16, "COp">
      %minus_threes = gpu.subgroup_mma_constant_matrix %minus_three : !gpu.mma_matrix<16x16xf16, "COp">
      %doubled = gpu.subgroup_mma_elementwise mulf %sum, %twos
        : (!gpu.mma_matrix<16x16xf16, "COp">, !gpu.mma_matrix<16x16xf16, "COp">) -> !gpu.mma_matrix<16x16xf16, "COp">
      %less = gpu.subgroup_mma_elementwise addf %doubled, %minus_threes
        : (!gpu.mma_matrix<16x16xf16, "COp">, !gpu.mma_matrix<16x16xf16, "COp">) -> !gpu.mma_matrix<16x16xf16, "COp">
      gpu.subgroup_mma_store_matrix %less, %d[%row, %col] {leadDimension = 32 : index}
        : !gpu.mma_matrix<16x16xf16, "COp">, memref<32x32xf16>
      gpu.return
    }
  }

  // (p i + q j) mod 9 - 4
  func.func private @entry(%i: index, %j: index, %p: index, %q: index) -> f16 {
    %c9 = arith.constant 9 : index
    %four = arith.constant 4.0 : f32
    %x = arith.muli %i, %p : index
    %y = arith.muli %j, %q : index
    %z = arith.addi %x, %y : index
    %r = arith.remui %z, %c9 : index
    %s = arith.index_cast %r : index to i32
    %t = arith.sitofp %s : i32 to f32
    %u = arith.subf %t, %four : f32
    %v = arith.truncf %u : f32 to f16
    return %v : f16
  }

  func.func @main() -> i32 {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c4 = arith.constant 4 : index
    %c5 = arith.constant 5 : index
    %c7 = arith.constant 7 : index
    %c32 = arith.constant 32 : index
    %n0 = arith.constant 0 : i64
    %f0 = arith.constant 0.0 : f32
    %f2 = arith.constant 2.0 : f32
    %f3 = arith.constant 3.0 : f32
    %total = arith.constant 1024 : i64

    %a = memref.alloc() : memref<32x32xf16>
    %b = memref.alloc() : memref<32x32xf16>
    %b_t = memref.alloc() : memref<32x32xf16>
    %c = memref.alloc() : memref<32x32xf16>
    %d32 = memref.alloc() : memref<32x32xf32>
    %d16 = memref.alloc() : memref<32x32xf16>
    scf.for %i = %c0 to %c32 step %c1 {
      scf.for %j = %c0 to %c32 step %c1 {
        %va = func.call @entry(%i, %j, %c7, %c2) : (index, index, index, index) -> f16
        %vb = func.call @entry(%i, %j, %c5, %c4) : (index, index, index, index) -> f16
        %vc = func.call @entry(%i, %j, %c1, %c7) : (index, index, index, index) -> f16
        memref.store %va, %a[%i, %j] : memref<32x32xf16>
        memref.store %vb, %b[%i, %j] : memref<32x32xf16>
        memref.store %vb, %b_t[%j, %i] : memref<32x32xf16>
        memref.store %vc, %c[%i, %j] : memref<32x32xf16>
      }
    }

    %ready = gpu.wait async
    %da, %t0 = gpu.alloc async [%ready] () : memref<32x32xf16>
    %db, %t1 = gpu.alloc async [%t0] () : memref<32x32xf16>
    %db_t, %t2 = gpu.alloc async [%t1] () : memref<32x32xf16>
    %dd32, %t3 = gpu.alloc async [%t2] () : memref<32x32xf32>
    %dd16, %t4 = gpu.alloc async [%t3] () : memref<32x32xf16>
    %t5 = gpu.memcpy async [%t4] %da, %a : memref<32x32xf16>, memref<32x32xf16>
    %t6 = gpu.memcpy async [%t5] %db, %b : memref<32x32xf16>, memref<32x32xf16>
    %t7 = gpu.memcpy async [%t6] %db_t, %b_t : memref<32x32xf16>, memref<32x32xf16>
    %t8 = gpu.memcpy async [%t7] %dd16, %c : memref<32x32xf16>, memref<32x32xf16>
    %t9 = gpu.launch_func async [%t8] @kernels::@f32 blocks in (%c2, %c2, %c1) threads in (%c32, %c1, %c1)
      args(%da : memref<32x32xf16>, %db_t : memref<32x32xf16>, %dd32 : memref<32x32xf32>)
    %t10 = gpu.launch_func async [%t9] @kernels::@f16 blocks in (%c2, %c2, %c1) threads in (%c32, %c1, %c1)
      args(%da : memref<32x32xf16>, %db : memref<32x32xf16>, %dd16 : memref<32x32xf16>)
    %t11 = gpu.memcpy async [%t10] %d32, %dd32 : memref<32x32xf32>, memref<32x32xf32>
    %t12 = gpu.memcpy async [%t11] %d16, %dd16 : memref<32x32xf16>, memref<32x32xf16>
    %t13 = gpu.dealloc async [%t12] %da : memref<32x32xf16>
    %t14 = gpu.dealloc async [%t13] %db : memref<32x32xf16>
    %t15 = gpu.dealloc async [%t14] %db_t : memref<32x32xf16>
    %t16 = gpu.dealloc async [%t15] %dd32 : memref<32x32xf32>
    %t17 = gpu.dealloc async [%t16] %dd16 : memref<32x32xf16>
    gpu.wait [%t17]

    %want = memref.alloc() : memref<32x32xf32>
    linalg.fill ins(%f0 : f32) outs(%want : memref<32x32xf32>)
    linalg.matmul ins(%a, %b : memref<32x32xf16>, memref<32x32xf16>) outs(%want : memref<32x32xf32>)
    %correct32, %correct16 = scf.for %i = %c0 to %c32 step %c1 iter_args(%m_row = %n0, %n_row = %n0) -> (i64, i64) {
      %m_next, %n_next = scf.for %j = %c0 to %c32 step %c1 iter_args(%m = %m_row, %n = %n_row) -> (i64, i64) {
        %ab = memref.load %want[%i, %j] : memref<32x32xf32>

        %ab3 = arith.addf %ab, %f3 : f32
        %above = arith.cmpf ogt, %ab3, %f0 : f32
        %want32 = arith.select %above, %ab3, %f0 : f32
        %got32 = memref.load %d32[%i, %j] : memref<32x32xf32>
        %want32_bits = arith.bitcast %want32 : f32 to i32
        %got32_bits = arith.bitcast %got32 : f32 to i32
        %same32 = arith.cmpi eq, %want32_bits, %got32_bits : i32
        %one32 = arith.extui %same32 : i1 to i64
        %m_new = arith.addi %m, %one32 : i64

        %vc16 = memref.load %c[%i, %j] : memref<32x32xf16>
        %vc = arith.extf %vc16 : f16 to f32
        %sum = arith.addf %ab, %vc : f32
        %doubled = arith.mulf %sum, %f2 : f32
        %less = arith.subf %doubled, %f3 : f32
        %want16 = arith.truncf %less : f32 to f16
        %got16 = memref.load %d16[%i, %j] : memref<32x32xf16>
        %want16_bits = arith.bitcast %want16 : f16 to i16
        %got16_bits = arith.bitcast %got16 : f16 to i16
        %same16 = arith.cmpi eq, %want16_bits, %got16_bits : i16
        %one16 = arith.extui %same16 : i1 to i64
        %n_new = arith.addi %n, %one16 : i64
        scf.yield %m_new, %n_new : i64, i64
      }
      scf.yield %m_next, %n_next : i64, i64
    }
    vector.print str "f32: "
    vector.print %correct32 : i64 punctuation <no_punctuation>
    vector.print str " of "
    vector.print %total : i64
    vector.print str "f16: "
    vector.print %correct16 : i64 punctuation <no_punctuation>
    vector.print str " of "
    vector.print %total : i64

    memref.dealloc %want : memref<32x32xf32>
    memref.dealloc %a : memref<32x32xf16>
    memref.dealloc %b : memref<32x32xf16>
    memref.dealloc %b_t : memref<32x32xf16>
    memref.dealloc %c : memref<32x32xf16>
    memref.dealloc %d32 : memref<32x32xf32>
    memref.dealloc %d16 : memref<32x32xf16>
    %wrong32 = arith.cmpi ne, %correct32, %total : i64
    %wrong16 = arith.cmpi ne, %correct16, %total : i64
    %wrong = arith.ori %wrong32, %wrong16 : i1
    %status = arith.extui %wrong : i1 to i32
    return %status : i32
  }
}
