// RUN: lemma compile %s --module matmul_kernel -o %t.ptx && FileCheck %s --check-prefix=LARGE < %t.ptx
// RUN: lemma compile %s --module matmul_1_kernel -o %t.ptx && FileCheck %s --check-prefix=SMALL < %t.ptx
// RUN: lemma compile %s --arch sm_100a --module matmul_1_kernel -o %t.ptx && FileCheck %s --check-prefix=TENSOR < %t.ptx
// RUN: lemma compile %s --arch sm_100a --module matmul_2_kernel -o %t.ptx && FileCheck %s --check-prefix=TINY < %t.ptx
//
// Which schedule a product has is its type's and size's, as measured: of i8 128 x 128 at 2048, and 128 x 256 at 4096. Of
// tcgen05, whose two accumulators take the columns of tensor memory, 128 x 128 where there are few tiles.
// SMALL: wgmma.mma_async.sync.aligned.m64n128k32.s32.s8.s8
// LARGE: wgmma.mma_async.sync.aligned.m64n256k32.s32.s8.s8
// TENSOR: mov.b32 [[COLUMNS:%r[0-9]+]], 512;
// TENSOR: tcgen05.alloc{{.*}}, [[COLUMNS]];
// TINY: mov.b32 [[COLUMNS:%r[0-9]+]], 256;
// TINY: tcgen05.alloc{{.*}}, [[COLUMNS]];

#a = affine_map<(m, n, k) -> (m, k)>
#b = affine_map<(m, n, k) -> (n, k)>
#c = affine_map<(m, n, k) -> (m, n)>
func.func @large(%a: memref<4096x4096xi8, 1>, %b: memref<4096x4096xi8, 1>, %c: memref<4096x4096xi32, 1>) {
  %zero = arith.constant 0 : i32
  linalg.fill ins(%zero : i32) outs(%c : memref<4096x4096xi32, 1>)
  linalg.matmul indexing_maps = [#a, #b, #c] ins(%a, %b : memref<4096x4096xi8, 1>, memref<4096x4096xi8, 1>) outs(%c : memref<4096x4096xi32, 1>)
  return
}
func.func @small(%a: memref<2048x2048xi8, 1>, %b: memref<2048x2048xi8, 1>, %c: memref<2048x2048xi32, 1>) {
  %zero = arith.constant 0 : i32
  linalg.fill ins(%zero : i32) outs(%c : memref<2048x2048xi32, 1>)
  linalg.matmul indexing_maps = [#a, #b, #c] ins(%a, %b : memref<2048x2048xi8, 1>, memref<2048x2048xi8, 1>) outs(%c : memref<2048x2048xi32, 1>)
  return
}
func.func @tiny(%a: memref<512x2048xi8, 1>, %b: memref<512x2048xi8, 1>, %c: memref<512x512xi32, 1>) {
  %zero = arith.constant 0 : i32
  linalg.fill ins(%zero : i32) outs(%c : memref<512x512xi32, 1>)
  linalg.matmul indexing_maps = [#a, #b, #c] ins(%a, %b : memref<512x2048xi8, 1>, memref<512x2048xi8, 1>) outs(%c : memref<512x512xi32, 1>)
  return
}
