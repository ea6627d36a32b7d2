// Math functions in a kernel, one row of the result for each. Lemma's pipeline makes polynomials of them, which PTX's
// exactly rounded operations compute: mlir_math.ptx. Upstream's calls libdevice, and its fast variants where `afn` allows
// it: ../mlir_math_libdevice. scripts/compile_programs.sh makes both files.
module attributes {gpu.container_module} {
  gpu.module @kernels {
    gpu.func @functions(%x: memref<32768xf32>, %y: memref<32768xf32>, %results: memref<31x32768xf32>) kernel {
      %thread = gpu.thread_id x
      %block = gpu.block_id x
      %size = gpu.block_dim x
      %first = arith.muli %block, %size : index
      %i = arith.addi %first, %thread : index
      %v = memref.load %x[%i] : memref<32768xf32>
      %w = memref.load %y[%i] : memref<32768xf32>
      %exp = math.exp %v : f32
      %c0 = arith.constant 0 : index
      memref.store %exp, %results[%c0, %i] : memref<31x32768xf32>
      %exp2 = math.exp2 %v : f32
      %c1 = arith.constant 1 : index
      memref.store %exp2, %results[%c1, %i] : memref<31x32768xf32>
      %expm1 = math.expm1 %v : f32
      %c2 = arith.constant 2 : index
      memref.store %expm1, %results[%c2, %i] : memref<31x32768xf32>
      %log = math.log %v : f32
      %c3 = arith.constant 3 : index
      memref.store %log, %results[%c3, %i] : memref<31x32768xf32>
      %log2 = math.log2 %v : f32
      %c4 = arith.constant 4 : index
      memref.store %log2, %results[%c4, %i] : memref<31x32768xf32>
      %log1p = math.log1p %v : f32
      %c5 = arith.constant 5 : index
      memref.store %log1p, %results[%c5, %i] : memref<31x32768xf32>
      %sin = math.sin %v : f32
      %c6 = arith.constant 6 : index
      memref.store %sin, %results[%c6, %i] : memref<31x32768xf32>
      %cos = math.cos %v : f32
      %c7 = arith.constant 7 : index
      memref.store %cos, %results[%c7, %i] : memref<31x32768xf32>
      %tan = math.tan %v : f32
      %c8 = arith.constant 8 : index
      memref.store %tan, %results[%c8, %i] : memref<31x32768xf32>
      %tanh = math.tanh %v : f32
      %c9 = arith.constant 9 : index
      memref.store %tanh, %results[%c9, %i] : memref<31x32768xf32>
      %sinh = math.sinh %v : f32
      %c10 = arith.constant 10 : index
      memref.store %sinh, %results[%c10, %i] : memref<31x32768xf32>
      %cosh = math.cosh %v : f32
      %c11 = arith.constant 11 : index
      memref.store %cosh, %results[%c11, %i] : memref<31x32768xf32>
      %erf = math.erf %v : f32
      %c12 = arith.constant 12 : index
      memref.store %erf, %results[%c12, %i] : memref<31x32768xf32>
      %atan = math.atan %v : f32
      %c13 = arith.constant 13 : index
      memref.store %atan, %results[%c13, %i] : memref<31x32768xf32>
      %asin = math.asin %v : f32
      %c14 = arith.constant 14 : index
      memref.store %asin, %results[%c14, %i] : memref<31x32768xf32>
      %acos = math.acos %v : f32
      %c15 = arith.constant 15 : index
      memref.store %acos, %results[%c15, %i] : memref<31x32768xf32>
      %cbrt = math.cbrt %v : f32
      %c16 = arith.constant 16 : index
      memref.store %cbrt, %results[%c16, %i] : memref<31x32768xf32>
      %rsqrt = math.rsqrt %v : f32
      %c17 = arith.constant 17 : index
      memref.store %rsqrt, %results[%c17, %i] : memref<31x32768xf32>
      %sqrt = math.sqrt %v : f32
      %c18 = arith.constant 18 : index
      memref.store %sqrt, %results[%c18, %i] : memref<31x32768xf32>
      %atan2 = math.atan2 %v, %w : f32
      %c19 = arith.constant 19 : index
      memref.store %atan2, %results[%c19, %i] : memref<31x32768xf32>
      %powf = math.powf %v, %w : f32
      %c20 = arith.constant 20 : index
      memref.store %powf, %results[%c20, %i] : memref<31x32768xf32>
      %divf = arith.divf %v, %w : f32
      %c21 = arith.constant 21 : index
      memref.store %divf, %results[%c21, %i] : memref<31x32768xf32>
      %fast_exp = math.exp %v fastmath<afn> : f32
      %c22 = arith.constant 22 : index
      memref.store %fast_exp, %results[%c22, %i] : memref<31x32768xf32>
      %fast_log = math.log %v fastmath<afn> : f32
      %c23 = arith.constant 23 : index
      memref.store %fast_log, %results[%c23, %i] : memref<31x32768xf32>
      %fast_log2 = math.log2 %v fastmath<afn> : f32
      %c24 = arith.constant 24 : index
      memref.store %fast_log2, %results[%c24, %i] : memref<31x32768xf32>
      %fast_sin = math.sin %v fastmath<afn> : f32
      %c25 = arith.constant 25 : index
      memref.store %fast_sin, %results[%c25, %i] : memref<31x32768xf32>
      %fast_cos = math.cos %v fastmath<afn> : f32
      %c26 = arith.constant 26 : index
      memref.store %fast_cos, %results[%c26, %i] : memref<31x32768xf32>
      %fast_tan = math.tan %v fastmath<afn> : f32
      %c27 = arith.constant 27 : index
      memref.store %fast_tan, %results[%c27, %i] : memref<31x32768xf32>
      %fast_powf = math.powf %v, %w fastmath<afn> : f32
      %c28 = arith.constant 28 : index
      memref.store %fast_powf, %results[%c28, %i] : memref<31x32768xf32>
      %rcp_approx = nvvm.rcp.approx.ftz.f %v : f32
      %c29 = arith.constant 29 : index
      memref.store %rcp_approx, %results[%c29, %i] : memref<31x32768xf32>
      %ex2_approx = nvvm.inline_ptx "ex2.approx.ftz.f32 {$w0}, {$r0};" ro (%v : f32) -> f32
      %c30 = arith.constant 30 : index
      memref.store %ex2_approx, %results[%c30, %i] : memref<31x32768xf32>
      gpu.return
    }
  }
}
