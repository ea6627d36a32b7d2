// RUN: lemma-opt --lemma-matmul-to-nvgpu %s | FileCheck %s
// RUN: lemma run %s --check | FileCheck %s --check-prefix=BITS
// RUN: lemma run %s --check --arch sm_100a | FileCheck %s --check-prefix=BITS
//
// Bias, activation and conversion in the product's kernel: beside it the same by loops of the host, where the generic
// cannot be fused, as something else reads the sums. No element differs.

#same = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>
#column = affine_map<(i, j) -> (j)>

// BITS: Unranked Memref {{.*}} data =
// BITS-NEXT: [0]

// CHECK: func.func private @matmul{{(_[0-9])?}}({{.*}}memref<72x24xbf16>{{.*}}memref<20xf32>{{.*}}memref<72xf32>)
// CHECK: arith.maximumf

func.func private @printMemrefI32(memref<*xi32>)

// A whole number of small size at each place.
func.func private @number(%i: index, %j: index, %times: index) -> f32 {
  %c7 = arith.constant 7 : index
  %c3 = arith.constant 3 : index
  %a = arith.muli %i, %times : index
  %b = arith.muli %j, %c3 : index
  %s = arith.addi %a, %b : index
  %r = arith.remui %s, %c7 : index
  %r32 = arith.index_cast %r : index to i32
  %f = arith.sitofp %r32 : i32 to f32
  %three = arith.constant 3.0 : f32
  %centred = arith.subf %f, %three : f32
  return %centred : f32
}

// CHECK-LABEL: func.func @main
// CHECK: call @multiply{{.*}} : ({{.*}}, memref<72x20xbf16>, memref<20xf32>, memref<72xf32>)
// CHECK: iterator_types = ["parallel", "parallel"]} ins(%{{.*}} : memref<72x20xf32>, memref<20xf32>, memref<72xf32>)
// CHECK-NOT: iterator_types = ["parallel", "parallel"]} ins(%{{.*}} : memref<72x20xf32>, memref<20xf32>, memref<72xf32>)
// CHECK: return
func.func @main() {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %c5 = arith.constant 5 : index
  %a = memref.alloc() : memref<72x40xbf16>
  %b = memref.alloc() : memref<40x20xbf16>
  %bias = memref.alloc() : memref<20xf32>
  %scale = memref.alloc() : memref<72xf32>
  linalg.generic {indexing_maps = [#same], iterator_types = ["parallel", "parallel"]} outs(%a : memref<72x40xbf16>) {
  ^bb0(%old: bf16):
    %i = linalg.index 0 : index
    %j = linalg.index 1 : index
    %n = func.call @number(%i, %j, %c2) : (index, index, index) -> f32
    %t = arith.truncf %n : f32 to bf16
    linalg.yield %t : bf16
  }
  linalg.generic {indexing_maps = [#same], iterator_types = ["parallel", "parallel"]} outs(%b : memref<40x20xbf16>) {
  ^bb0(%old: bf16):
    %i = linalg.index 0 : index
    %j = linalg.index 1 : index
    %n = func.call @number(%i, %j, %c5) : (index, index, index) -> f32
    %t = arith.truncf %n : f32 to bf16
    linalg.yield %t : bf16
  }
  linalg.generic {indexing_maps = [affine_map<(i) -> (i)>], iterator_types = ["parallel"]} outs(%bias : memref<20xf32>) {
  ^bb0(%old: f32):
    %i = linalg.index 0 : index
    %n = func.call @number(%i, %c0, %c2) : (index, index, index) -> f32
    linalg.yield %n : f32
  }
  linalg.generic {indexing_maps = [affine_map<(i) -> (i)>], iterator_types = ["parallel"]} outs(%scale : memref<72xf32>) {
  ^bb0(%old: f32):
    %i = linalg.index 0 : index
    %n = func.call @number(%i, %c0, %c5) : (index, index, index) -> f32
    %small = arith.constant 0.0625 : f32
    %s = arith.mulf %n, %small : f32
    linalg.yield %s : f32
  }

  %sums = memref.alloc() : memref<72x20xf32>
  %fused = memref.alloc() : memref<72x20xbf16>
  linalg.fill ins(%zero : f32) outs(%sums : memref<72x20xf32>)
  linalg.matmul ins(%a, %b : memref<72x40xbf16>, memref<40x20xbf16>) outs(%sums : memref<72x20xf32>)
  linalg.generic {indexing_maps = [#same, #column, #row, #same], iterator_types = ["parallel", "parallel"]}
      ins(%sums, %bias, %scale : memref<72x20xf32>, memref<20xf32>, memref<72xf32>) outs(%fused : memref<72x20xbf16>) {
  ^bb0(%x: f32, %b_j: f32, %s_i: f32, %old: bf16):
    %scaled = arith.mulf %x, %s_i : f32
    %biased = arith.addf %scaled, %b_j : f32
    %y = arith.maximumf %biased, %zero : f32
    %z = arith.truncf %y : f32 to bf16
    linalg.yield %z : bf16
  }

  // The same apart: the sums of these are read twice.
  %sums2 = memref.alloc() : memref<72x20xf32>
  %apart = memref.alloc() : memref<72x20xbf16>
  linalg.fill ins(%zero : f32) outs(%sums2 : memref<72x20xf32>)
  linalg.matmul ins(%a, %b : memref<72x40xbf16>, memref<40x20xbf16>) outs(%sums2 : memref<72x20xf32>)
  linalg.generic {indexing_maps = [#same, #column, #row, #same], iterator_types = ["parallel", "parallel"]}
      ins(%sums2, %bias, %scale : memref<72x20xf32>, memref<20xf32>, memref<72xf32>) outs(%apart : memref<72x20xbf16>) {
  ^bb0(%x: f32, %b_j: f32, %s_i: f32, %old: bf16):
    %scaled = arith.mulf %x, %s_i : f32
    %biased = arith.addf %scaled, %b_j : f32
    %y = arith.maximumf %biased, %zero : f32
    %z = arith.truncf %y : f32 to bf16
    linalg.yield %z : bf16
  }
  %kept = memref.alloc() : memref<72x20xf32>
  linalg.copy ins(%sums2 : memref<72x20xf32>) outs(%kept : memref<72x20xf32>)

  %differ = memref.alloc() : memref<i32>
  %none = arith.constant 0 : i32
  linalg.fill ins(%none : i32) outs(%differ : memref<i32>)
  linalg.generic {indexing_maps = [#same, #same, affine_map<(i, j) -> ()>], iterator_types = ["reduction", "reduction"]}
      ins(%fused, %apart : memref<72x20xbf16>, memref<72x20xbf16>) outs(%differ : memref<i32>) {
  ^bb0(%x: bf16, %y: bf16, %n: i32):
    %x_bits = arith.bitcast %x : bf16 to i16
    %y_bits = arith.bitcast %y : bf16 to i16
    %other = arith.cmpi ne, %x_bits, %y_bits : i16
    %one = arith.extui %other : i1 to i32
    %sum = arith.addi %n, %one : i32
    linalg.yield %sum : i32
  }
  %any = memref.cast %differ : memref<i32> to memref<*xi32>
  call @printMemrefI32(%any) : (memref<*xi32>) -> ()
  return
}
