// math.exp and math.tanh in a kernel. There is no libdevice to call, so they become polynomials, and their last bits
// are nobody's debt: each result must be within 2^-20 of the exact one, which the host computes in f64. What is owed to
// the bit is checked so: exp(0) is 1, tanh is odd.
//
// Not here: functions that are exact, as math.fma (vector_add).
// Spec: the math dialect; its polynomial approximations.
// RUN: lemma run %s | FileCheck %s
// CHECK: exp: 512 of 512
// CHECK-NEXT: tanh: 512 of 512
// CHECK-NEXT: odd: 512 of 512
// CHECK-NEXT: exp(0) = 1

module attributes {gpu.container_module} {
  gpu.module @kernels {
    gpu.func @functions(%x: memref<512xf32>, %exp: memref<512xf32>, %tanh: memref<512xf32>) kernel {
      %thread = gpu.thread_id x
      %block = gpu.block_id x
      %size = gpu.block_dim x
      %first = arith.muli %block, %size : index
      %i = arith.addi %first, %thread : index
      %value = memref.load %x[%i] : memref<512xf32>
      %e = math.exp %value : f32
      %t = math.tanh %value : f32
      memref.store %e, %exp[%i] : memref<512xf32>
      memref.store %t, %tanh[%i] : memref<512xf32>
      gpu.return
    }
  }

  // 1 if |got - want| <= 2^-20 |want|, else 0.
  func.func private @close(%got: f32, %want: f64) -> i64 {
    %bound = arith.constant 9.5367431640625e-07 : f64
    %got64 = arith.extf %got : f32 to f64
    %difference = arith.subf %got64, %want : f64
    %error = math.absf %difference : f64
    %size = math.absf %want : f64
    %allowed = arith.mulf %size, %bound : f64
    %good = arith.cmpf ole, %error, %allowed : f64
    %one = arith.extui %good : i1 to i64
    return %one : i64
  }

  func.func @main() -> i32 {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c4 = arith.constant 4 : index
    %c128 = arith.constant 128 : index
    %c256 = arith.constant 256 : index
    %c512 = arith.constant 512 : index
    %n0 = arith.constant 0 : i64
    %middle = arith.constant 256 : i32
    %scale = arith.constant 0.0390625 : f32
    %total = arith.constant 512 : i64

    // (i - 256) / 25.6: from -10 to 10, and 0 in the middle.
    %x = memref.alloc() : memref<512xf32>
    scf.for %i = %c0 to %c512 step %c1 {
      %i32 = arith.index_cast %i : index to i32
      %whole = arith.subi %i32, %middle : i32
      %real = arith.sitofp %whole : i32 to f32
      %value = arith.mulf %real, %scale : f32
      memref.store %value, %x[%i] : memref<512xf32>
    }

    %exp = memref.alloc() : memref<512xf32>
    %tanh = memref.alloc() : memref<512xf32>
    %ready = gpu.wait async
    %dx, %t0 = gpu.alloc async [%ready] () : memref<512xf32>
    %dexp, %t1 = gpu.alloc async [%t0] () : memref<512xf32>
    %dtanh, %t2 = gpu.alloc async [%t1] () : memref<512xf32>
    %t3 = gpu.memcpy async [%t2] %dx, %x : memref<512xf32>, memref<512xf32>
    %t4 = gpu.launch_func async [%t3] @kernels::@functions blocks in (%c4, %c1, %c1) threads in (%c128, %c1, %c1)
      args(%dx : memref<512xf32>, %dexp : memref<512xf32>, %dtanh : memref<512xf32>)
    %t5 = gpu.memcpy async [%t4] %exp, %dexp : memref<512xf32>, memref<512xf32>
    %t6 = gpu.memcpy async [%t5] %tanh, %dtanh : memref<512xf32>, memref<512xf32>
    %t7 = gpu.dealloc async [%t6] %dx : memref<512xf32>
    %t8 = gpu.dealloc async [%t7] %dexp : memref<512xf32>
    %t9 = gpu.dealloc async [%t8] %dtanh : memref<512xf32>
    gpu.wait [%t9]

    %good_exp, %good_tanh, %odd = scf.for %i = %c0 to %c512 step %c1
        iter_args(%n_exp = %n0, %n_tanh = %n0, %n_odd = %n0) -> (i64, i64, i64) {
      %value = memref.load %x[%i] : memref<512xf32>
      %value64 = arith.extf %value : f32 to f64
      %got_exp = memref.load %exp[%i] : memref<512xf32>
      %want_exp = math.exp %value64 : f64
      %one_exp = func.call @close(%got_exp, %want_exp) : (f32, f64) -> i64
      %n_exp_new = arith.addi %n_exp, %one_exp : i64

      %got_tanh = memref.load %tanh[%i] : memref<512xf32>
      %want_tanh = math.tanh %value64 : f64
      %one_tanh = func.call @close(%got_tanh, %want_tanh) : (f32, f64) -> i64
      %n_tanh_new = arith.addi %n_tanh, %one_tanh : i64

      // The first entry has no counterpart; it stands for itself.
      %mirror = arith.subi %c512, %i : index
      %first = arith.cmpi eq, %i, %c0 : index
      %counterpart = arith.select %first, %c0, %mirror : index
      %other = memref.load %tanh[%counterpart] : memref<512xf32>
      %negative = arith.negf %other : f32
      %expected = arith.select %first, %other, %negative : f32
      // 0 and -0 are equal.
      %same = arith.cmpf oeq, %got_tanh, %expected : f32
      %one_odd = arith.extui %same : i1 to i64
      %n_odd_new = arith.addi %n_odd, %one_odd : i64
      scf.yield %n_exp_new, %n_tanh_new, %n_odd_new : i64, i64, i64
    }
    %exp_0 = memref.load %exp[%c256] : memref<512xf32>
    vector.print str "exp: "
    vector.print %good_exp : i64 punctuation <no_punctuation>
    vector.print str " of "
    vector.print %total : i64
    vector.print str "tanh: "
    vector.print %good_tanh : i64 punctuation <no_punctuation>
    vector.print str " of "
    vector.print %total : i64
    vector.print str "odd: "
    vector.print %odd : i64 punctuation <no_punctuation>
    vector.print str " of "
    vector.print %total : i64
    vector.print str "exp(0) = "
    vector.print %exp_0 : f32

    memref.dealloc %x : memref<512xf32>
    memref.dealloc %exp : memref<512xf32>
    memref.dealloc %tanh : memref<512xf32>
    %all_two = arith.addi %good_exp, %good_tanh : i64
    %all = arith.addi %all_two, %odd : i64
    %three = arith.constant 1536 : i64
    %wrong = arith.cmpi ne, %all, %three : i64
    %status = arith.extui %wrong : i1 to i32
    return %status : i32
  }
}
