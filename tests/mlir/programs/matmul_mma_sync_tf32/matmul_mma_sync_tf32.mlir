// C = A * B with mma.sync in tf32: A 32x32, B 32x16 and C 32x16 are f32. CTAs of one warp, each for 16x8 of C;
// fragments come straight out of global memory. The kernel is a gpu.launch, which is outlined, and what it uses of the
// host's values becomes its arguments.
//
// The entries are whole numbers below 2^11, which tf32 holds, and every sum is exact in f32: the host's plain triple
// loop owes the same bits. One entry is 2051, which tf32 does not hold: what the tensor core makes of it is the
// hardware's business (it drops the low bits: 2050), and the reference says so.
//
// Not here: ldmatrix of tf32 (matmul_mma_sync_f16 has ldmatrix).
// Spec: nvgpu.mma.sync with tf32Enabled; PTX ISA, fragments of mma.m16n8k8.
// RUN: lemma run %s | FileCheck %s
// CHECK: Correct: 512 of 512
// CHECK-NEXT: Checksum: 6540

#quad = affine_map<()[lane] -> (lane floordiv 4)>
#in_quad = affine_map<()[lane] -> (lane mod 4)>
#plus = affine_map<(i)[origin] -> (i + origin)>

module attributes {gpu.container_module} {
  // 3 (i * j) mod 13 - 6, and 2051 at (5, 7).
  func.func private @entry_a(%i: index, %j: index) -> f32 {
    %c3 = arith.constant 3 : index
    %c5 = arith.constant 5 : index
    %c7 = arith.constant 7 : index
    %c13 = arith.constant 13 : index
    %six = arith.constant 6.0 : f32
    %odd = arith.constant 2051.0 : f32
    %p = arith.muli %i, %j : index
    %q = arith.muli %p, %c3 : index
    %r = arith.remui %q, %c13 : index
    %s = arith.index_cast %r : index to i32
    %t = arith.sitofp %s : i32 to f32
    %u = arith.subf %t, %six : f32
    %at_i = arith.cmpi eq, %i, %c5 : index
    %at_j = arith.cmpi eq, %j, %c7 : index
    %at = arith.andi %at_i, %at_j : i1
    %v = arith.select %at, %odd, %u : f32
    return %v : f32
  }

  // (i + 3 j) mod 9 - 4
  func.func private @entry_b(%i: index, %j: index) -> f32 {
    %c3 = arith.constant 3 : index
    %c9 = arith.constant 9 : index
    %four = arith.constant 4.0 : f32
    %p = arith.muli %j, %c3 : index
    %q = arith.addi %p, %i : index
    %r = arith.remui %q, %c9 : index
    %s = arith.index_cast %r : index to i32
    %t = arith.sitofp %s : i32 to f32
    %u = arith.subf %t, %four : f32
    return %u : f32
  }

  // tf32 of an f32, low bits dropped.
  func.func private @tf32(%x: f32) -> f32 {
    %mask = arith.constant 0xffffe000 : i32
    %bits = arith.bitcast %x : f32 to i32
    %kept = arith.andi %bits, %mask : i32
    %y = arith.bitcast %kept : i32 to f32
    return %y : f32
  }

  func.func @main() -> i32 {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c4 = arith.constant 4 : index
    %c8 = arith.constant 8 : index
    %c16 = arith.constant 16 : index
    %c32 = arith.constant 32 : index
    %n0 = arith.constant 0 : i64
    %f0 = arith.constant 0.0 : f32
    %total = arith.constant 512 : i64

    %a = memref.alloc() : memref<32x32xf32>
    %b = memref.alloc() : memref<32x16xf32>
    %c = memref.alloc() : memref<32x16xf32>
    scf.for %i = %c0 to %c32 step %c1 {
      scf.for %j = %c0 to %c32 step %c1 {
        %value = func.call @entry_a(%i, %j) : (index, index) -> f32
        memref.store %value, %a[%i, %j] : memref<32x32xf32>
      }
      scf.for %j = %c0 to %c16 step %c1 {
        %value = func.call @entry_b(%i, %j) : (index, index) -> f32
        memref.store %value, %b[%i, %j] : memref<32x16xf32>
      }
    }

    %ready = gpu.wait async
    %da, %t0 = gpu.alloc async [%ready] () : memref<32x32xf32>
    %db, %t1 = gpu.alloc async [%t0] () : memref<32x16xf32>
    %dc, %t2 = gpu.alloc async [%t1] () : memref<32x16xf32>
    %t3 = gpu.memcpy async [%t2] %da, %a : memref<32x32xf32>, memref<32x32xf32>
    %t4 = gpu.memcpy async [%t3] %db, %b : memref<32x16xf32>, memref<32x16xf32>
    %t5 = gpu.launch async [%t4] blocks(%bx, %by, %bz) in (%gx = %c2, %gy = %c2, %gz = %c1)
                                 threads(%tx, %ty, %tz) in (%sx = %c32, %sy = %c1, %sz = %c1) {
      %row0 = arith.muli %by, %c16 : index
      %col0 = arith.muli %bx, %c8 : index
      %g = affine.apply #quad()[%tx]
      %t = affine.apply #in_quad()[%tx]
      %row_lo = affine.apply #plus(%g)[%row0]
      %row_hi = arith.addi %row_lo, %c8 : index
      %n = affine.apply #plus(%g)[%col0]
      %zero_a = arith.constant dense<0.0> : vector<4x1xf32>
      %zero_b = arith.constant dense<0.0> : vector<2x1xf32>
      %zero_c = arith.constant dense<0.0> : vector<2x2xf32>
      %sum = scf.for %k = %c0 to %c32 step %c8 iter_args(%acc = %zero_c) -> (vector<2x2xf32>) {
        %k_lo = arith.addi %k, %t : index
        %k_hi = arith.addi %k_lo, %c4 : index
        %a0 = memref.load %da[%row_lo, %k_lo] : memref<32x32xf32>
        %a1 = memref.load %da[%row_hi, %k_lo] : memref<32x32xf32>
        %a2 = memref.load %da[%row_lo, %k_hi] : memref<32x32xf32>
        %a3 = memref.load %da[%row_hi, %k_hi] : memref<32x32xf32>
        %b0 = memref.load %db[%k_lo, %n] : memref<32x16xf32>
        %b1 = memref.load %db[%k_hi, %n] : memref<32x16xf32>
        %fa0 = vector.insert %a0, %zero_a[0, 0] : f32 into vector<4x1xf32>
        %fa1 = vector.insert %a1, %fa0[1, 0] : f32 into vector<4x1xf32>
        %fa2 = vector.insert %a2, %fa1[2, 0] : f32 into vector<4x1xf32>
        %fa = vector.insert %a3, %fa2[3, 0] : f32 into vector<4x1xf32>
        %fb0 = vector.insert %b0, %zero_b[0, 0] : f32 into vector<2x1xf32>
        %fb = vector.insert %b1, %fb0[1, 0] : f32 into vector<2x1xf32>
        %next = nvgpu.mma.sync(%fa, %fb, %acc) {mmaShape = [16, 8, 8], tf32Enabled}
          : (vector<4x1xf32>, vector<2x1xf32>, vector<2x2xf32>) -> vector<2x2xf32>
        scf.yield %next : vector<2x2xf32>
      }
      // Rows g and g + 8, columns 2 t and 2 t + 1, two at a time.
      %pair = arith.muli %t, %c2 : index
      %col = affine.apply #plus(%pair)[%col0]
      %lo = vector.extract %sum[0] : vector<2xf32> from vector<2x2xf32>
      %hi = vector.extract %sum[1] : vector<2xf32> from vector<2x2xf32>
      vector.store %lo, %dc[%row_lo, %col] : memref<32x16xf32>, vector<2xf32>
      vector.store %hi, %dc[%row_hi, %col] : memref<32x16xf32>, vector<2xf32>
      gpu.terminator
    }
    %t6 = gpu.memcpy async [%t5] %c, %dc : memref<32x16xf32>, memref<32x16xf32>
    %t7 = gpu.dealloc async [%t6] %da : memref<32x32xf32>
    %t8 = gpu.dealloc async [%t7] %db : memref<32x16xf32>
    %t9 = gpu.dealloc async [%t8] %dc : memref<32x16xf32>
    gpu.wait [%t9]

    // The reference, and how many entries have its bits.
    %correct, %checksum = scf.for %i = %c0 to %c32 step %c1 iter_args(%n_row = %n0, %s_row = %f0) -> (i64, f32) {
      %n_next, %s_next = scf.for %j = %c0 to %c16 step %c1 iter_args(%n = %n_row, %s = %s_row) -> (i64, f32) {
        %want = scf.for %k = %c0 to %c32 step %c1 iter_args(%acc = %f0) -> (f32) {
          %x32 = memref.load %a[%i, %k] : memref<32x32xf32>
          %y = memref.load %b[%k, %j] : memref<32x16xf32>
          %x = func.call @tf32(%x32) : (f32) -> f32
          %xy = arith.mulf %x, %y : f32
          %next = arith.addf %acc, %xy : f32
          scf.yield %next : f32
        }
        %got = memref.load %c[%i, %j] : memref<32x16xf32>
        %want_bits = arith.bitcast %want : f32 to i32
        %got_bits = arith.bitcast %got : f32 to i32
        %same = arith.cmpi eq, %want_bits, %got_bits : i32
        %one = arith.extui %same : i1 to i64
        %n_new = arith.addi %n, %one : i64
        %s_new = arith.addf %s, %got : f32
        scf.yield %n_new, %s_new : i64, f32
      }
      scf.yield %n_next, %s_next : i64, f32
    }
    vector.print str "Correct: "
    vector.print %correct : i64 punctuation <no_punctuation>
    vector.print str " of "
    vector.print %total : i64
    vector.print str "Checksum: "
    vector.print %checksum : f32

    memref.dealloc %a : memref<32x32xf32>
    memref.dealloc %b : memref<32x16xf32>
    memref.dealloc %c : memref<32x16xf32>
    %wrong = arith.cmpi ne, %correct, %total : i64
    %status = arith.extui %wrong : i1 to i32
    return %status : i32
  }
}
