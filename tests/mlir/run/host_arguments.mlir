// A host function's arguments, from --arg: memory, extents that its type leaves open, values; what it writes, compared;
// and what is said of arguments that do not fit.
//
// REQUIRES: numpy
// RUN: %python -c "import numpy, sys; numpy.save(sys.argv[1], numpy.arange(6, dtype='f4').reshape(2, 3))" %t.in.npy
// RUN: %python -c "import numpy, sys; numpy.save(sys.argv[1], 2.5 * numpy.arange(6, dtype='f4').reshape(2, 3))" %t.want.npy
// RUN: lemma run %s --entry scale --arg in=%t.in.npy --arg f32=2.5 --arg out=%t.out.npy:f32[2,3] \
// RUN:   --arg expect=%t.want.npy 2>&1 | FileCheck %s --check-prefix=EQUAL
// EQUAL: equal
// RUN: %not lemma run %s --entry scale --arg in=%t.in.npy --arg f32=2.25 --arg out=%t.out.npy:f32[2,3] \
// RUN:   --arg expect=%t.want.npy 2>&1 | FileCheck %s --check-prefix=DIFFERENT
// DIFFERENT: 5 of 6 elements of f32 differ
//
// RUN: %not lemma run %s --entry scale --arg in=%t.in.npy 2>&1 | FileCheck %s --check-prefix=MISSING
// MISSING: host function scale takes 3 arguments, (memref<?x3xf32>, f32, memref<2x3xf32>); 1 were given
// RUN: %not lemma run %s --entry scale --arg in=%t.in.npy --arg f64=2.5 --arg out=%t.out.npy:f32[2,3] 2>&1 \
// RUN:   | FileCheck %s --check-prefix=VALUE
// VALUE: argument 1 of host function scale: a f32 takes a value of 4 bytes
// RUN: %not lemma run %s --entry scale --arg f32=1 --arg f32=2.5 --arg out=%t.out.npy:f32[2,3] 2>&1 \
// RUN:   | FileCheck %s --check-prefix=MEMORY
// MEMORY: argument 0 of host function scale: a memref<?x3xf32> takes memory, not a value
// RUN: %not lemma run %s --entry scale --arg in=%t.in.npy --arg f32=2.5 --arg out=%t.out.npy:20 2>&1 \
// RUN:   | FileCheck %s --check-prefix=SMALL
// SMALL: argument 2 of host function scale: it has 20 bytes, but memref<2x3xf32> of extents [2, 3] has 24
// RUN: %not lemma run %s --entry main 2>&1 | FileCheck %s --check-prefix=ENTRY
// ENTRY: the program has no host function main; it has scale

func.func @scale(%in: memref<?x3xf32>, %factor: f32, %out: memref<2x3xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %rows = memref.dim %in, %c0 : memref<?x3xf32>
  scf.for %i = %c0 to %rows step %c1 {
    scf.for %j = %c0 to %c3 step %c1 {
      %x = memref.load %in[%i, %j] : memref<?x3xf32>
      %y = arith.mulf %x, %factor : f32
      memref.store %y, %out[%i, %j] : memref<2x3xf32>
    }
  }
  return
}
