// i4 lie two to a byte, the first in the low bits: what device_async_copy brings, and how many of them; ldmatrix finds
// them there. An odd index is misaligned, and a load of one of them is refused.
//
// REQUIRES: numpy
// RUN: %python -c "import numpy, sys; numpy.arange(16, 48, dtype='u1').tofile(sys.argv[1])" %t.in
// RUN: lemma run %s --entry copy --grid 1 --block 1 --arg in=%t.in --arg s64=0 --arg s64=32 --arg out=%t.out:16
// RUN: od -An -tx1 %t.out | FileCheck %s --check-prefix=WHOLE
// WHOLE: 10 11 12 13 14 15 16 17 18 19 1a 1b 1c 1d 1e 1f
// RUN: lemma run %s --entry copy --grid 1 --block 1 --arg in=%t.in --arg s64=32 --arg s64=5 --arg out=%t.out:16
// RUN: od -An -tx1 %t.out | FileCheck %s --check-prefix=PART
// PART: 20 21 22 00 00 00 00 00 00 00 00 00 00 00 00 00
// RUN: %not lemma run %s --entry copy --grid 1 --block 1 --arg in=%t.in --arg s64=31 --arg s64=32 --arg out=%t.out:16 2>&1 \
// RUN:   | FileCheck %s --check-prefix=ODD
// ODD: fault[misaligned address]
//
// RUN: lemma run %s --entry row --grid 1 --block 32 --arg in=%t.in --arg out=%t.out:128
// RUN: od -An -v -tx1 -N16 %t.out | FileCheck %s --check-prefix=ROW
// ROW: 20 21 22 23 24 25 26 27 28 29 2a 2b 2c 2d 2e 2f
//
// RUN: sed 's|// WITH:||' %s > %t.load.mlir
// RUN: %not lemma compile %t.load.mlir 2>&1 | FileCheck %s --check-prefix=LOAD
// LOAD: error: memref.load takes elements of 4 bits one to a byte, nvgpu.device_async_copy and nvgpu.ldmatrix two; legal here: a memref of i8

gpu.module @kernels {
  memref.global "private" @bytes : memref<128xi8, 3> {alignment = 16}

  gpu.func @copy(%in: memref<64xi4>, %from: index, %count: index, %out: memref<16xi8>) kernel {
    %c0 = arith.constant 0 : index
    %bytes = memref.get_global @bytes : memref<128xi8, 3>
    %tile = memref.view %bytes[%c0][] : memref<128xi8, 3> to memref<64xi4, 3>
    %copied = nvgpu.device_async_copy %in[%from], %tile[%c0], 32, %count : memref<64xi4> to memref<64xi4, 3>
    nvgpu.device_async_wait %copied {numGroups = 0 : i32}
    // WITH: %nibble = memref.load %tile[%c0] : memref<64xi4, 3>
    // WITH: memref.store %nibble, %tile[%from] : memref<64xi4, 3>
    %v = vector.load %bytes[%c0] : memref<128xi8, 3>, vector<16xi8>
    vector.store %v, %out[%c0] : memref<16xi8>, vector<16xi8>
    gpu.return
  }

  // The second row of 32, four times, as the matrix's first row.
  gpu.func @row(%in: memref<2x32xi4>, %out: memref<32x4xi8>) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %lane = gpu.lane_id
    %bytes = memref.get_global @bytes : memref<128xi8, 3>
    %tile = memref.view %bytes[%c0][] : memref<128xi8, 3> to memref<2x32xi4, 3>
    %copied = nvgpu.device_async_copy %in[%c1, %c0], %tile[%c1, %c0], 32 : memref<2x32xi4> to memref<2x32xi4, 3>
    nvgpu.device_async_wait %copied {numGroups = 0 : i32}
    gpu.barrier
    %row = nvgpu.ldmatrix %tile[%c1, %c0] {numTiles = 1 : i32, transpose = false} : memref<2x32xi4, 3> -> vector<1x8xi4>
    %words = vector.shape_cast %row : vector<1x8xi4> to vector<8xi4>
    %v = vector.bitcast %words : vector<8xi4> to vector<4xi8>
    vector.store %v, %out[%lane, %c0] : memref<32x4xi8>, vector<4xi8>
    gpu.return
  }
}
