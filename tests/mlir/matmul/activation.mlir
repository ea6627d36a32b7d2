// RUN: lemma compile %s --module matmul_kernel -o %t.ptx && FileCheck %s --check-prefix=NARROW < %t.ptx
// RUN: lemma verify %t.ptx && %ptxas -arch=sm_90a %t.ptx
// RUN: lemma compile %s --module matmul_1_kernel -o %t.ptx && FileCheck %s --check-prefix=WIDE < %t.ptx
// RUN: lemma verify %t.ptx && %ptxas -arch=sm_90a %t.ptx
//
// Functions of what follows a product. Stored as bf16, silu is by ex2 and an approximate division.
// NARROW-NOT: div.rn.f32
// NARROW: ex2.approx.ftz.f32
// NARROW-NOT: div.rn.f32
// NARROW: div.approx.f32
// NARROW-NOT: div.rn.f32
//
// Stored as f32, tanh is by ex2 and rcp, and a division is rounded.
// WIDE-NOT: tanh.approx
// WIDE: ex2.approx.ftz.f32
// WIDE: rcp.approx.ftz.f32
// WIDE-NOT: div.approx
// WIDE: div.rn.f32
// WIDE-NOT: tanh.approx

#same = affine_map<(i, j) -> (i, j)>
func.func @narrow(%a: memref<64x64xbf16>, %b: memref<64x64xbf16>, %c: memref<64x64xbf16>) {
  %zero = arith.constant 0.0 : bf16
  %one = arith.constant 1.0 : f32
  linalg.fill ins(%zero : bf16) outs(%c : memref<64x64xbf16>)
  linalg.matmul ins(%a, %b : memref<64x64xbf16>, memref<64x64xbf16>) outs(%c : memref<64x64xbf16>)
  linalg.generic {indexing_maps = [#same], iterator_types = ["parallel", "parallel"]} outs(%c : memref<64x64xbf16>) {
  ^bb0(%x: bf16):
    %v = arith.extf %x : bf16 to f32
    %minus = arith.negf %v : f32
    %e = math.exp %minus : f32
    %d = arith.addf %e, %one : f32
    %s = arith.divf %v, %d : f32
    %y = arith.truncf %s : f32 to bf16
    linalg.yield %y : bf16
  }
  return
}
func.func @wide(%a: memref<64x64xbf16>, %b: memref<64x64xbf16>, %c: memref<64x64xf32>) {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%c : memref<64x64xf32>)
  linalg.matmul ins(%a, %b : memref<64x64xbf16>, memref<64x64xbf16>) outs(%c : memref<64x64xf32>)
  linalg.generic {indexing_maps = [#same], iterator_types = ["parallel", "parallel"]} outs(%c : memref<64x64xf32>) {
  ^bb0(%x: f32):
    %t = math.tanh %x : f32
    %y = arith.divf %t, %x : f32
    linalg.yield %y : f32
  }
  return
}
