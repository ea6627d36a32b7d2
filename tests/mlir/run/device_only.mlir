// REQUIRES: numpy
// RUN: %python -c "import numpy, sys; numpy.save(sys.argv[1], numpy.arange(8, dtype='f4').reshape(2, 4))" %t.in.npy
// RUN: %python -c "import numpy, sys; numpy.save(sys.argv[1], 3 * numpy.arange(8, dtype='f4').reshape(2, 4))" %t.want.npy
// RUN: lemma run %s --entry scale --grid 2 --block 4 --arg in=%t.in.npy --arg f32=3 --arg out=%t.out.npy:f32[2,4] \
// RUN:   --arg expect=%t.want.npy 2>&1 | FileCheck %s --check-prefix=EQUAL
// RUN: lemma run %s --entry scale --grid 2 --block 4 --arch sm_80 --arg in=%t.in.npy --arg f32=3 \
// RUN:   --arg out=%t.out.npy:f32[2,4] --arg expect=%t.want.npy 2>&1 | FileCheck %s --check-prefix=ARCH
// RUN: %not lemma run %s --entry scale --grid 2 --block 4 --arg in=%t.in.npy --arg f32=2 --arg out=%t.out.npy:f32[2,4] \
// RUN:   --arg expect=%t.want.npy 2>&1 | FileCheck %s --check-prefix=DIFFERENT
// RUN: lemma run %s --entry hello --grid 2,1,1 --block 1,2 --deterministic | FileCheck %s --check-prefix=HELLO
//
// RUN: %not lemma run %s --grid 1 --block 1 2>&1 | FileCheck %s --check-prefix=WHICH
// RUN: %not lemma run %s --entry scael --grid 1 --block 1 2>&1 | FileCheck %s --check-prefix=NAME
// RUN: %not lemma run %s --entry hello 2>&1 | FileCheck %s --check-prefix=GRID
// RUN: %not lemma run %s --entry hello --grid 1 2>&1 | FileCheck %s --check-prefix=GRID
// RUN: %not lemma run %s --entry hello --grid 0 --block 1 2>&1 | FileCheck %s --check-prefix=ZERO
// RUN: %not lemma run %s --entry scale --grid 2 --block 4 --arg in=%t.in.npy 2>&1 | FileCheck %s --check-prefix=MISSING
// RUN: %not lemma run %s --entry scale --grid 2 --block 4 --arg f32=3 --arg f32=3 --arg out=%t.out.npy:f32[2,4] 2>&1 \
// RUN:   | FileCheck %s --check-prefix=MEMORY
// RUN: %not lemma run %s --entry scale --grid 2 --block 4 --arg in=%t.in.npy --arg f32=3 --arg out=%t.out.npy:24 2>&1 \
// RUN:   | FileCheck %s --check-prefix=SMALL
// RUN: %not lemma run %s --entry hello --grid 1 --block 1 --arg u32=1 2>&1 | FileCheck %s --check-prefix=MANY
//
// `lemma run` of a file with device code alone: the grid, a gpu.func by name, an --arg for each of its arguments (a
// memref's words come by themselves), and what is said of command lines that do not fit.

// EQUAL: equal
// ARCH: sm_80
// DIFFERENT: 7 of 8 elements of f32 differ
// WHICH: scale, hello
// NAME: scael
// GRID: --grid and --block are required
// ZERO: --grid 0: a size is X[,Y[,Z]], each from 1 up
// MISSING: 3
// MEMORY: memref<2x4xf32>
// SMALL: 24 bytes
// MANY: 0

gpu.module @kernels {
  gpu.func @scale(%in: memref<2x4xf32>, %factor: f32, %out: memref<2x4xf32>) kernel {
    %row = gpu.block_id x
    %column = gpu.thread_id x
    %x = memref.load %in[%row, %column] : memref<2x4xf32>
    %y = arith.mulf %x, %factor : f32
    memref.store %y, %out[%row, %column] : memref<2x4xf32>
    gpu.return
  }
  gpu.func @hello() kernel {
    %cta = gpu.block_id x
    %thread = gpu.thread_id y
    // HELLO: CTA 0 thread 0
    // HELLO: CTA 1 thread 1
    gpu.printf "CTA %ld thread %ld\n", %cta, %thread : index, index
    gpu.return
  }
}
