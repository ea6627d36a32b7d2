// RUN: lemma-opt --lemma-tensors-to-memrefs %s | FileCheck %s
// RUN: %not lemma run %s --arg out=%t.npy:f32[5,4] 2>&1 | FileCheck %s --check-prefix=SIZE
//
// Results as arguments: memory of its own becomes the result's, what is an argument's is copied, and arguments that
// are written to are, too. Functions that are called keep their results.

// CHECK: #[[KM:.*]] = affine_map<(d0, d1, d2) -> (d2, d0)>
// CHECK-LABEL: func.func @main(
// CHECK-SAME: %[[OUT:.*]]: memref<?x4xf32>) {
// CHECK: %[[GIVEN:.*]] = memref.dim %[[OUT]]
// CHECK: %[[SAME:.*]] = arith.cmpi eq, %{{.*}}, %[[GIVEN]]
// CHECK: cf.assert %[[SAME]]
// CHECK-NOT: memref.alloc
// CHECK: linalg.fill ins(%{{.*}} : f32) outs(%[[OUT]] : memref<?x4xf32>)
// SIZE: the memory that was given for a result has another size than the result
func.func @main() -> tensor<?x4xf32> {
  %c4 = arith.constant 4 : index
  %rows = call @rows(%c4) : (index) -> index
  %one = arith.constant 1.0 : f32
  %empty = tensor.empty(%rows) : tensor<?x4xf32>
  %ones = linalg.fill ins(%one : f32) outs(%empty : tensor<?x4xf32>) -> tensor<?x4xf32>
  return %ones : tensor<?x4xf32>
}

func.func private @rows(%n: index) -> index {
  %c2 = arith.constant 2 : index
  %rows = arith.addi %n, %c2 : index
  return %rows : index
}

// CHECK-LABEL: func.func @kept(
// CHECK-SAME: %[[A:[a-z0-9]*]]: memref<4xf32>, %[[I:[a-z0-9]*]]: index, %[[R:[a-z0-9]*]]: memref<4xf32>, %[[S:[a-z0-9]*]]: memref<4xf32>) -> i32
// CHECK: memref.copy %[[A]], %[[R]]
// CHECK-NEXT: memref.store %{{.*}}, %[[R]]
// CHECK-NEXT: memref.copy %[[A]], %[[S]]
// CHECK-NOT: memref.store
// CHECK: return %{{.*}} : i32
func.func @kept(%a: tensor<4xf32>, %i: index) -> (tensor<4xf32>, i32, tensor<4xf32>) {
  %one = arith.constant 1.0 : f32
  %done = arith.constant 0 : i32
  %b = tensor.insert %one into %a[%i] : tensor<4xf32>
  return %b, %done, %a : tensor<4xf32>, i32, tensor<4xf32>
}

// What is transposed is read as it lies, and what is added to comes after the product.
// CHECK-LABEL: func.func @transposed(
// CHECK-SAME: %[[A:[a-z0-9]*]]: memref<8x4xf16>, %[[B:[a-z0-9]*]]: memref<8x16xf16>, %[[BIAS:[a-z0-9]*]]: memref<16xf32>, %[[R:[a-z0-9]*]]: memref<4x16xf32>)
// CHECK-NOT: linalg.transpose
// CHECK: linalg.fill ins(%{{.*}} : f32) outs(%[[SUMS:.*]] : memref<4x16xf32>)
// CHECK: linalg.matmul indexing_maps = [#[[KM]], #{{.*}}, #{{.*}}] ins(%[[A]], %[[B]] : memref<8x4xf16>, memref<8x16xf16>) outs(%[[SUMS]]
// CHECK: linalg.generic {{.*}} ins(%[[SUMS]], %[[BIAS]]
// CHECK: linalg.yield
// CHECK-NOT: linalg
// CHECK: return
func.func @transposed(%a: tensor<8x4xf16>, %b: tensor<8x16xf16>, %bias: tensor<16xf32>) -> tensor<4x16xf32> {
  %turned_empty = tensor.empty() : tensor<4x8xf16>
  %turned = linalg.transpose ins(%a : tensor<8x4xf16>) outs(%turned_empty : tensor<4x8xf16>) permutation = [1, 0]
  %empty = tensor.empty() : tensor<4x16xf32>
  %rows = linalg.broadcast ins(%bias : tensor<16xf32>) outs(%empty : tensor<4x16xf32>) dimensions = [0]
  %r = linalg.matmul ins(%turned, %b : tensor<4x8xf16>, tensor<8x16xf16>) outs(%rows : tensor<4x16xf32>) -> tensor<4x16xf32>
  return %r : tensor<4x16xf32>
}
