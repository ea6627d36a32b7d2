// RUN: lemma run %s --arg out=%t.a:f16[8,16] --arg out=%t.b:f16[16,8] --arg out=%t.c:f32[8,8] 2>&1 | FileCheck %s --check-prefix=CONTRACT
// RUN: lemma run %s --entry other --arg out=%t.a:f16[8,16] --arg out=%t.b:f16[16,8] --arg out=%t.c:f32[8,8] --arch sm_75 2>&1 | FileCheck %s --check-prefix=TARGET
//
// Of what could be a kernel and is none a note says why.

func.func @main(%a: memref<8x16xf16>, %b: memref<16x8xf16>, %c: memref<8x8xf32>) {
  // CONTRACT: without_kernel.mlir:[[@LINE+1]]:3: note: no kernel is made of this linalg.contract, which loops of the host do: kernels are made of linalg.matmul and linalg.batch_matmul
  linalg.contract indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]
      ins(%a, %b : memref<8x16xf16>, memref<16x8xf16>) outs(%c : memref<8x8xf32>)
  return
}

func.func @other(%a: memref<8x16xf16>, %b: memref<16x8xf16>, %c: memref<8x8xf32>) {
  // CONTRACT-NOT: linalg.matmul, which
  // TARGET: without_kernel.mlir:[[@LINE+1]]:3: note: no kernel is made of this linalg.matmul, which loops of the host do: none for sm_75 multiplies f16 and f16 to f32
  linalg.matmul ins(%a, %b : memref<8x16xf16>, memref<16x8xf16>) outs(%c : memref<8x8xf32>)
  return
}
