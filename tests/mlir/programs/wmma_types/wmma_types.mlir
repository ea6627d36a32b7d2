// The subgroup (wmma) operations of the gpu dialect on the types that wmma_matmul leaves out, one warp each:
//
//   s8     D = -(A B), 32x8x32, A and B signed bytes, B's fragment one register, D i32, stored transposed
//   tf32   D = A (2 B), 16x16x16, A loaded transposed, B doubled in its fragment
//   f64    D = (A B) / 4, 8x8x8
//   f16    every thread doubles the elements that it holds, one by one, and the matrix leaves as f32
//
// The entries are whole numbers so small that every sum is exact, in tf32 too; linalg.matmul on the host owes the same
// bits.
//
// Spec: gpu.subgroup_mma_*; PTX ISA, wmma.load, wmma.mma, wmma.store.
// RUN: lemma run %s | FileCheck %s
// CHECK: s8: 256 of 256
// CHECK-NEXT: tf32: 256 of 256
// CHECK-NEXT: f64: 64 of 64
// CHECK-NEXT: f16: 256 of 256

!a_s8 = !gpu.mma_matrix<32x16xsi8, "AOp">
!b_s8 = !gpu.mma_matrix<16x8xsi8, "BOp">
!d_s8 = !gpu.mma_matrix<32x8xi32, "COp">
!a_tf32 = !gpu.mma_matrix<16x8xf32, "AOp">
!b_tf32 = !gpu.mma_matrix<8x16xf32, "BOp">
!d_tf32 = !gpu.mma_matrix<16x16xf32, "COp">
!a_f64 = !gpu.mma_matrix<8x4xf64, "AOp">
!b_f64 = !gpu.mma_matrix<4x8xf64, "BOp">
!d_f64 = !gpu.mma_matrix<8x8xf64, "COp">
!c_f16 = !gpu.mma_matrix<16x16xf16, "COp">

module attributes {gpu.container_module} {
  gpu.module @kernels {
    gpu.func @s8(%a: memref<32x32xi8>, %b: memref<32x8xi8>, %d_t: memref<8x32xi32>) kernel {
      %c0 = arith.constant 0 : index
      %c16 = arith.constant 16 : index
      %c32 = arith.constant 32 : index
      %zero = arith.constant 0 : i32
      %zeros = gpu.subgroup_mma_constant_matrix %zero : !d_s8
      %sum = scf.for %k = %c0 to %c32 step %c16 iter_args(%acc = %zeros) -> (!d_s8) {
        %fa = gpu.subgroup_mma_load_matrix %a[%c0, %k] {leadDimension = 32 : index} : memref<32x32xi8> -> !a_s8
        %fb = gpu.subgroup_mma_load_matrix %b[%k, %c0] {leadDimension = 8 : index} : memref<32x8xi8> -> !b_s8
        %next = gpu.subgroup_mma_compute %fa, %fb, %acc : !a_s8, !b_s8 -> !d_s8
        scf.yield %next : !d_s8
      }
      %minus = gpu.subgroup_mma_elementwise negates %sum : (!d_s8) -> !d_s8
      gpu.subgroup_mma_store_matrix %minus, %d_t[%c0, %c0] {leadDimension = 32 : index, transpose}
        : !d_s8, memref<8x32xi32>
      gpu.return
    }

    gpu.func @tf32(%a_t: memref<16x16xf32>, %b: memref<16x16xf32>, %d: memref<16x16xf32>) kernel {
      %c0 = arith.constant 0 : index
      %c8 = arith.constant 8 : index
      %c16 = arith.constant 16 : index
      %zero = arith.constant 0.0 : f32
      %two = arith.constant 2.0 : f32
      %twos = gpu.subgroup_mma_constant_matrix %two : !b_tf32
      %zeros = gpu.subgroup_mma_constant_matrix %zero : !d_tf32
      %sum = scf.for %k = %c0 to %c16 step %c8 iter_args(%acc = %zeros) -> (!d_tf32) {
        %fa = gpu.subgroup_mma_load_matrix %a_t[%k, %c0] {leadDimension = 16 : index, transpose}
          : memref<16x16xf32> -> !a_tf32
        %fb = gpu.subgroup_mma_load_matrix %b[%k, %c0] {leadDimension = 16 : index} : memref<16x16xf32> -> !b_tf32
        %fb2 = gpu.subgroup_mma_elementwise mulf %fb, %twos : (!b_tf32, !b_tf32) -> !b_tf32
        %next = gpu.subgroup_mma_compute %fa, %fb2, %acc {a_transpose} : !a_tf32, !b_tf32 -> !d_tf32
        scf.yield %next : !d_tf32
      }
      gpu.subgroup_mma_store_matrix %sum, %d[%c0, %c0] {leadDimension = 16 : index} : !d_tf32, memref<16x16xf32>
      gpu.return
    }

    // D holds C, all fours, at first.
    gpu.func @f64(%a: memref<8x8xf64>, %b: memref<8x8xf64>, %d: memref<8x8xf64>) kernel {
      %c0 = arith.constant 0 : index
      %c4 = arith.constant 4 : index
      %c8 = arith.constant 8 : index
      %fours = gpu.subgroup_mma_load_matrix %d[%c0, %c0] {leadDimension = 8 : index} : memref<8x8xf64> -> !d_f64
      %zeros = gpu.subgroup_mma_elementwise subf %fours, %fours : (!d_f64, !d_f64) -> !d_f64
      %sum = scf.for %k = %c0 to %c8 step %c4 iter_args(%acc = %zeros) -> (!d_f64) {
        %fa = gpu.subgroup_mma_load_matrix %a[%c0, %k] {leadDimension = 8 : index} : memref<8x8xf64> -> !a_f64
        %fb = gpu.subgroup_mma_load_matrix %b[%k, %c0] {leadDimension = 8 : index} : memref<8x8xf64> -> !b_f64
        %next = gpu.subgroup_mma_compute %fa, %fb, %acc : !a_f64, !b_f64 -> !d_f64
        scf.yield %next : !d_f64
      }
      %quarter = gpu.subgroup_mma_elementwise divf %sum, %fours : (!d_f64, !d_f64) -> !d_f64
      gpu.subgroup_mma_store_matrix %quarter, %d[%c0, %c0] {leadDimension = 8 : index} : !d_f64, memref<8x8xf64>
      gpu.return
    }

    gpu.func @f16(%x: memref<16x16xf16>, %y: memref<16x16xf32>) kernel {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %held = arith.constant 8 : index
      %m = gpu.subgroup_mma_load_matrix %x[%c0, %c0] {leadDimension = 16 : index} : memref<16x16xf16> -> !c_f16
      %doubled = scf.for %e = %c0 to %held step %c1 iter_args(%now = %m) -> (!c_f16) {
        %one = gpu.subgroup_mma_extract_thread_local %now[%e] : !c_f16 -> f16
        %twice = arith.addf %one, %one : f16
        %next = gpu.subgroup_mma_insert_thread_local %twice, %now[%e] : f16, !c_f16 -> !c_f16
        scf.yield %next : !c_f16
      }
      %wide = gpu.subgroup_mma_elementwise extf %doubled : (!c_f16) -> !d_tf32
      gpu.subgroup_mma_store_matrix %wide, %y[%c0, %c0] {leadDimension = 16 : index} : !d_tf32, memref<16x16xf32>
      gpu.return
    }
  }

  // (7 i + 3 j + 5 p) mod 13 - 6
  func.func private @entry(%i: index, %j: index, %p: index) -> i32 {
    %c3 = arith.constant 3 : index
    %c5 = arith.constant 5 : index
    %c7 = arith.constant 7 : index
    %c13 = arith.constant 13 : index
    %six = arith.constant 6 : i32
    %x = arith.muli %i, %c7 : index
    %y = arith.muli %j, %c3 : index
    %z = arith.muli %p, %c5 : index
    %xy = arith.addi %x, %y : index
    %xyz = arith.addi %xy, %z : index
    %r = arith.remui %xyz, %c13 : index
    %s = arith.index_cast %r : index to i32
    %v = arith.subi %s, %six : i32
    return %v : i32
  }

  func.func private @report(%correct: i64, %total: i64) -> i1 {
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
    %c8 = arith.constant 8 : index
    %c32 = arith.constant 32 : index
    %n0 = arith.constant 0 : i64
    %zero = arith.constant 0 : i32
    %total = arith.constant 256 : i64
    %a = memref.alloc() : memref<32x32xi8>
    %b = memref.alloc() : memref<32x8xi8>
    %want = memref.alloc() : memref<32x8xi32>
    %da = gpu.alloc host_shared () : memref<32x32xi8>
    %db = gpu.alloc host_shared () : memref<32x8xi8>
    %dd = gpu.alloc host_shared () : memref<8x32xi32>
    scf.for %i = %c0 to %c32 step %c1 {
      scf.for %j = %c0 to %c32 step %c1 {
        %whole = func.call @entry(%i, %j, %c1) : (index, index, index) -> i32
        %x = arith.trunci %whole : i32 to i8
        memref.store %x, %a[%i, %j] : memref<32x32xi8>
        memref.store %x, %da[%i, %j] : memref<32x32xi8>
      }
    }
    scf.for %i = %c0 to %c32 step %c1 {
      scf.for %j = %c0 to %c8 step %c1 {
        %whole = func.call @entry(%i, %j, %c2) : (index, index, index) -> i32
        %x = arith.trunci %whole : i32 to i8
        memref.store %x, %b[%i, %j] : memref<32x8xi8>
        memref.store %x, %db[%i, %j] : memref<32x8xi8>
      }
    }
    gpu.launch_func @kernels::@s8 blocks in (%c1, %c1, %c1) threads in (%c32, %c1, %c1)
      args(%da : memref<32x32xi8>, %db : memref<32x8xi8>, %dd : memref<8x32xi32>)
    linalg.fill ins(%zero : i32) outs(%want : memref<32x8xi32>)
    linalg.matmul ins(%a, %b : memref<32x32xi8>, memref<32x8xi8>) outs(%want : memref<32x8xi32>)
    %correct = scf.for %i = %c0 to %c32 step %c1 iter_args(%row = %n0) -> (i64) {
      %next = scf.for %j = %c0 to %c8 step %c1 iter_args(%count = %row) -> (i64) {
        %ab = memref.load %want[%i, %j] : memref<32x8xi32>
        %x = arith.subi %zero, %ab : i32
        %y = memref.load %dd[%j, %i] : memref<8x32xi32>
        %same = arith.cmpi eq, %x, %y : i32
        %one = arith.extui %same : i1 to i64
        %more = arith.addi %count, %one : i64
        scf.yield %more : i64
      }
      scf.yield %next : i64
    }
    gpu.dealloc %da : memref<32x32xi8>
    gpu.dealloc %db : memref<32x8xi8>
    gpu.dealloc %dd : memref<8x32xi32>
    memref.dealloc %a : memref<32x32xi8>
    memref.dealloc %b : memref<32x8xi8>
    memref.dealloc %want : memref<32x8xi32>
    vector.print str "s8: "
    %wrong = func.call @report(%correct, %total) : (i64, i64) -> i1
    return %wrong : i1
  }

  func.func private @run_tf32() -> i1 {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c16 = arith.constant 16 : index
    %c32 = arith.constant 32 : index
    %n0 = arith.constant 0 : i64
    %zero = arith.constant 0.0 : f32
    %total = arith.constant 256 : i64
    %two = arith.constant 2.0 : f32
    %a = memref.alloc() : memref<16x16xf32>
    %b = memref.alloc() : memref<16x16xf32>
    %want = memref.alloc() : memref<16x16xf32>
    %da = gpu.alloc host_shared () : memref<16x16xf32>
    %db = gpu.alloc host_shared () : memref<16x16xf32>
    %dd = gpu.alloc host_shared () : memref<16x16xf32>
    scf.for %i = %c0 to %c16 step %c1 {
      scf.for %j = %c0 to %c16 step %c1 {
        %whole = func.call @entry(%i, %j, %c1) : (index, index, index) -> i32
        %x = arith.sitofp %whole : i32 to f32
        memref.store %x, %a[%i, %j] : memref<16x16xf32>
        memref.store %x, %da[%j, %i] : memref<16x16xf32>
      }
    }
    scf.for %i = %c0 to %c16 step %c1 {
      scf.for %j = %c0 to %c16 step %c1 {
        %whole = func.call @entry(%i, %j, %c2) : (index, index, index) -> i32
        %x = arith.sitofp %whole : i32 to f32
        memref.store %x, %b[%i, %j] : memref<16x16xf32>
        memref.store %x, %db[%i, %j] : memref<16x16xf32>
      }
    }
    gpu.launch_func @kernels::@tf32 blocks in (%c1, %c1, %c1) threads in (%c32, %c1, %c1)
      args(%da : memref<16x16xf32>, %db : memref<16x16xf32>, %dd : memref<16x16xf32>)
    linalg.fill ins(%zero : f32) outs(%want : memref<16x16xf32>)
    linalg.matmul ins(%a, %b : memref<16x16xf32>, memref<16x16xf32>) outs(%want : memref<16x16xf32>)
    %correct = scf.for %i = %c0 to %c16 step %c1 iter_args(%row = %n0) -> (i64) {
      %next = scf.for %j = %c0 to %c16 step %c1 iter_args(%count = %row) -> (i64) {
        %ab = memref.load %want[%i, %j] : memref<16x16xf32>
        %x = arith.mulf %ab, %two : f32
        %y = memref.load %dd[%i, %j] : memref<16x16xf32>
        %x_bits = arith.bitcast %x : f32 to i32
        %y_bits = arith.bitcast %y : f32 to i32
        %same = arith.cmpi eq, %x_bits, %y_bits : i32
        %one = arith.extui %same : i1 to i64
        %more = arith.addi %count, %one : i64
        scf.yield %more : i64
      }
      scf.yield %next : i64
    }
    gpu.dealloc %da : memref<16x16xf32>
    gpu.dealloc %db : memref<16x16xf32>
    gpu.dealloc %dd : memref<16x16xf32>
    memref.dealloc %a : memref<16x16xf32>
    memref.dealloc %b : memref<16x16xf32>
    memref.dealloc %want : memref<16x16xf32>
    vector.print str "tf32: "
    %wrong = func.call @report(%correct, %total) : (i64, i64) -> i1
    return %wrong : i1
  }

  func.func private @run_f64() -> i1 {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c8 = arith.constant 8 : index
    %c32 = arith.constant 32 : index
    %n0 = arith.constant 0 : i64
    %zero = arith.constant 0.0 : f64
    %total = arith.constant 64 : i64
    %four = arith.constant 4.0 : f64
    %a = memref.alloc() : memref<8x8xf64>
    %b = memref.alloc() : memref<8x8xf64>
    %want = memref.alloc() : memref<8x8xf64>
    %da = gpu.alloc host_shared () : memref<8x8xf64>
    %db = gpu.alloc host_shared () : memref<8x8xf64>
    %dd = gpu.alloc host_shared () : memref<8x8xf64>
    scf.for %i = %c0 to %c8 step %c1 {
      scf.for %j = %c0 to %c8 step %c1 {
        %whole = func.call @entry(%i, %j, %c1) : (index, index, index) -> i32
        %x = arith.sitofp %whole : i32 to f64
        memref.store %x, %a[%i, %j] : memref<8x8xf64>
        memref.store %x, %da[%i, %j] : memref<8x8xf64>
      }
    }
    scf.for %i = %c0 to %c8 step %c1 {
      scf.for %j = %c0 to %c8 step %c1 {
        %whole = func.call @entry(%i, %j, %c2) : (index, index, index) -> i32
        %x = arith.sitofp %whole : i32 to f64
        memref.store %x, %b[%i, %j] : memref<8x8xf64>
        memref.store %x, %db[%i, %j] : memref<8x8xf64>
      }
    }
    linalg.fill ins(%four : f64) outs(%dd : memref<8x8xf64>)
    gpu.launch_func @kernels::@f64 blocks in (%c1, %c1, %c1) threads in (%c32, %c1, %c1)
      args(%da : memref<8x8xf64>, %db : memref<8x8xf64>, %dd : memref<8x8xf64>)
    linalg.fill ins(%zero : f64) outs(%want : memref<8x8xf64>)
    linalg.matmul ins(%a, %b : memref<8x8xf64>, memref<8x8xf64>) outs(%want : memref<8x8xf64>)
    %correct = scf.for %i = %c0 to %c8 step %c1 iter_args(%row = %n0) -> (i64) {
      %next = scf.for %j = %c0 to %c8 step %c1 iter_args(%count = %row) -> (i64) {
        %ab = memref.load %want[%i, %j] : memref<8x8xf64>
        %x = arith.divf %ab, %four : f64
        %y = memref.load %dd[%i, %j] : memref<8x8xf64>
        %x_bits = arith.bitcast %x : f64 to i64
        %y_bits = arith.bitcast %y : f64 to i64
        %same = arith.cmpi eq, %x_bits, %y_bits : i64
        %one = arith.extui %same : i1 to i64
        %more = arith.addi %count, %one : i64
        scf.yield %more : i64
      }
      scf.yield %next : i64
    }
    gpu.dealloc %da : memref<8x8xf64>
    gpu.dealloc %db : memref<8x8xf64>
    gpu.dealloc %dd : memref<8x8xf64>
    memref.dealloc %a : memref<8x8xf64>
    memref.dealloc %b : memref<8x8xf64>
    memref.dealloc %want : memref<8x8xf64>
    vector.print str "f64: "
    %wrong = func.call @report(%correct, %total) : (i64, i64) -> i1
    return %wrong : i1
  }

  func.func private @run_f16() -> i1 {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c16 = arith.constant 16 : index
    %c32 = arith.constant 32 : index
    %n0 = arith.constant 0 : i64
    %total = arith.constant 256 : i64
    %x = gpu.alloc host_shared () : memref<16x16xf16>
    %y = gpu.alloc host_shared () : memref<16x16xf32>
    scf.for %i = %c0 to %c16 step %c1 {
      scf.for %j = %c0 to %c16 step %c1 {
        %whole = func.call @entry(%i, %j, %c1) : (index, index, index) -> i32
        %half = arith.sitofp %whole : i32 to f16
        memref.store %half, %x[%i, %j] : memref<16x16xf16>
      }
    }
    gpu.launch_func @kernels::@f16 blocks in (%c1, %c1, %c1) threads in (%c32, %c1, %c1)
      args(%x : memref<16x16xf16>, %y : memref<16x16xf32>)
    %correct = scf.for %i = %c0 to %c16 step %c1 iter_args(%row = %n0) -> (i64) {
      %next = scf.for %j = %c0 to %c16 step %c1 iter_args(%count = %row) -> (i64) {
        %half = memref.load %x[%i, %j] : memref<16x16xf16>
        %one = arith.extf %half : f16 to f32
        %two = arith.addf %one, %one : f32
        %got = memref.load %y[%i, %j] : memref<16x16xf32>
        %two_bits = arith.bitcast %two : f32 to i32
        %got_bits = arith.bitcast %got : f32 to i32
        %same = arith.cmpi eq, %two_bits, %got_bits : i32
        %same_64 = arith.extui %same : i1 to i64
        %more = arith.addi %count, %same_64 : i64
        scf.yield %more : i64
      }
      scf.yield %next : i64
    }
    gpu.dealloc %x : memref<16x16xf16>
    gpu.dealloc %y : memref<16x16xf32>
    vector.print str "f16: "
    %wrong = func.call @report(%correct, %total) : (i64, i64) -> i1
    return %wrong : i1
  }

  func.func @main() -> i32 {
    %s8 = func.call @run_s8() : () -> i1
    %tf32 = func.call @run_tf32() : () -> i1
    %f64 = func.call @run_f64() : () -> i1
    %f16 = func.call @run_f16() : () -> i1
    %either = arith.ori %s8, %tf32 : i1
    %or = arith.ori %f64, %f16 : i1
    %wrong = arith.ori %either, %or : i1
    %status = arith.extui %wrong : i1 to i32
    return %status : i32
  }
}
