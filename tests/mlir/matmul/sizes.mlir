// RUN: %not lemma run %s --arg out=%t.a:f16[8,16] --arg out=%t.b:f16[15,8] --arg out=%t.c:f32[8,8] --arg out=%t.v:f32[8] 2>&1 | FileCheck %s --check-prefix=DEPTH
// RUN: %not lemma run %s --arg out=%t.a:f16[8,16] --arg out=%t.b:f16[16,8] --arg out=%t.c:f32[9,8] --arg out=%t.v:f32[8] 2>&1 | FileCheck %s --check-prefix=ROWS
// RUN: %not lemma run %s --arg out=%t.a:f16[8,16] --arg out=%t.b:f16[16,8] --arg out=%t.c:f32[8,8] --arg out=%t.v:f32[7] 2>&1 | FileCheck %s --check-prefix=BIAS
// RUN: %not lemma run %s --arch sm_75 --arg out=%t.a:f16[8,16] --arg out=%t.b:f16[15,8] --arg out=%t.c:f32[8,8] --arg out=%t.v:f32[8] 2>&1 | FileCheck %s --check-prefix=DEPTH
// RUN: lemma run %s --arg out=%t.a:f16[8,16] --arg out=%t.b:f16[16,8] --arg out=%t.c:f32[8,8] --arg out=%t.v:f32[8] 2>&1 | FileCheck %s --check-prefix=RIGHT
// RUN: %not lemma run %s --arg out=%t.a:f32[8,16] --arg out=%t.b:f16[16,8] --arg out=%t.c:f32[8,8] --arg out=%t.v:f32[8] 2>&1 | FileCheck %s --check-prefix=TYPE
// RUN: %not lemma run %s --arg out=%t.a:f16[8,16] --arg out=%t.b:f16[16,8] --arg out=%t.c:f32[8,8] --arg out=%t.v:f32[8,1] 2>&1 | FileCheck %s --check-prefix=RANK
//
// Sizes that only a run knows, and that do not go together; arrays that are not what the program says.
// DEPTH: linalg.matmul: dimension 1 of operand 0 and dimension 0 of operand 1 have different extents, and must have the same
// ROWS: linalg.matmul: dimension 0 of operand 0 and dimension 0 of operand 2 have different extents
// BIAS: linalg.generic: dimension 0 of operand 0 and dimension 1 of operand 1 have different extents
// RIGHT: 1 launch
// TYPE: it is f32[8,16], and the argument a memref<?x?xf16>; legal: elements of f16
// RANK: it is f32[8,1], and the argument a memref<?xf32>; legal: extents [?]

func.func @main(%a: memref<?x?xf16>, %b: memref<?x?xf16>, %c: memref<?x?xf32>, %v: memref<?xf32>) {
  %z = arith.constant 0.0 : f32
  linalg.fill ins(%z : f32) outs(%c : memref<?x?xf32>)
  linalg.matmul ins(%a, %b : memref<?x?xf16>, memref<?x?xf16>) outs(%c : memref<?x?xf32>)
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%v : memref<?xf32>) outs(%c : memref<?x?xf32>) {
  ^bb0(%x: f32, %s: f32):
    %y = arith.addf %s, %x : f32
    linalg.yield %y : f32
  }
  return
}
