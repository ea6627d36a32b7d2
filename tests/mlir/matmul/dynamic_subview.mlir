// RUN: lemma run %s --check --async=late | FileCheck %s
//
// Sizes, strides and places that only the run knows, in device memory: rows that a tensor map takes and rows that it
// does not, for A, B and C. Whatever is around C stays what it was.
//
// A is 2, B 1.5, the matrix around C 1: with M x N sums of K * 3 in 24 x 40, 960 + M * N * (3 * K - 1).
// CHECK: [8320]
// CHECK: [2430]
// CHECK: [7360]
// CHECK: [20343]
// Of an empty sum come zeros, and none of an empty product.
// CHECK: [945]
// CHECK: [960]

func.func private @printMemrefF32(memref<*xf32>)

func.func @product(%a: memref<?x?xf16, strided<[?, 1], offset: ?>, 1>, %b: memref<?x?xf16, strided<[?, ?], offset: ?>, 1>,
                   %c: memref<?x?xf32, strided<[?, ?], offset: ?>, 1>) {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%c : memref<?x?xf32, strided<[?, ?], offset: ?>, 1>)
  linalg.matmul ins(%a, %b : memref<?x?xf16, strided<[?, 1], offset: ?>, 1>, memref<?x?xf16, strided<[?, ?], offset: ?>, 1>)
                outs(%c : memref<?x?xf32, strided<[?, ?], offset: ?>, 1>)
  return
}

// A product of M x N x K, C and A at column `from`.
func.func @test(%m: index, %n: index, %k: index, %from: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c24 = arith.constant 24 : index
  %c40 = arith.constant 40 : index
  %one = arith.constant 1.0 : f32
  %two = arith.constant 2.0 : f16
  %half = arith.constant 1.5 : f16
  %a = memref.alloc(%c24, %c40) : memref<?x?xf16>
  %b = memref.alloc(%c40, %c40) : memref<?x?xf16>
  %c = memref.alloc(%c24, %c40) : memref<?x?xf32>
  linalg.fill ins(%two : f16) outs(%a : memref<?x?xf16>)
  linalg.fill ins(%half : f16) outs(%b : memref<?x?xf16>)
  linalg.fill ins(%one : f32) outs(%c : memref<?x?xf32>)
  %there_a = gpu.alloc(%c24, %c40) : memref<?x?xf16>
  %there_b = gpu.alloc(%c40, %c40) : memref<?x?xf16>
  %there_c = gpu.alloc(%c24, %c40) : memref<?x?xf32>
  gpu.memcpy %there_a, %a : memref<?x?xf16>, memref<?x?xf16>
  gpu.memcpy %there_b, %b : memref<?x?xf16>, memref<?x?xf16>
  gpu.memcpy %there_c, %c : memref<?x?xf32>, memref<?x?xf32>
  %part_a = memref.subview %there_a[0, %from] [%m, %k] [1, 1] : memref<?x?xf16> to memref<?x?xf16, strided<[?, 1], offset: ?>>
  %part_b = memref.subview %there_b[0, 0] [%k, %n] [1, %c1] : memref<?x?xf16> to memref<?x?xf16, strided<[?, ?]>>
  %part_c = memref.subview %there_c[1, %from] [%m, %n] [1, %c1] : memref<?x?xf32> to memref<?x?xf32, strided<[?, ?], offset: ?>>
  %on_device_a = memref.memory_space_cast %part_a : memref<?x?xf16, strided<[?, 1], offset: ?>> to memref<?x?xf16, strided<[?, 1], offset: ?>, 1>
  %some_b = memref.cast %part_b : memref<?x?xf16, strided<[?, ?]>> to memref<?x?xf16, strided<[?, ?], offset: ?>>
  %on_device_b = memref.memory_space_cast %some_b : memref<?x?xf16, strided<[?, ?], offset: ?>> to memref<?x?xf16, strided<[?, ?], offset: ?>, 1>
  %on_device_c = memref.memory_space_cast %part_c : memref<?x?xf32, strided<[?, ?], offset: ?>> to memref<?x?xf32, strided<[?, ?], offset: ?>, 1>
  call @product(%on_device_a, %on_device_b, %on_device_c)
    : (memref<?x?xf16, strided<[?, 1], offset: ?>, 1>, memref<?x?xf16, strided<[?, ?], offset: ?>, 1>, memref<?x?xf32, strided<[?, ?], offset: ?>, 1>) -> ()
  gpu.memcpy %c, %there_c : memref<?x?xf32>, memref<?x?xf32>
  %sum = memref.alloc() : memref<f32>
  %none = arith.constant 0.0 : f32
  linalg.fill ins(%none : f32) outs(%sum : memref<f32>)
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> ()>], iterator_types = ["reduction", "reduction"]}
    ins(%c : memref<?x?xf32>) outs(%sum : memref<f32>) {
  ^bb0(%x: f32, %s: f32):
    %t = arith.addf %x, %s : f32
    linalg.yield %t : f32
  }
  %any = memref.cast %sum : memref<f32> to memref<*xf32>
  call @printMemrefF32(%any) : (memref<*xf32>) -> ()
  gpu.dealloc %there_a : memref<?x?xf16>
  gpu.dealloc %there_b : memref<?x?xf16>
  gpu.dealloc %there_c : memref<?x?xf32>
  return
}

func.func @main() {
  %c0 = arith.constant 0 : index
  %c3 = arith.constant 3 : index
  %c4 = arith.constant 4 : index
  %c5 = arith.constant 5 : index
  %c7 = arith.constant 7 : index
  %c8 = arith.constant 8 : index
  %c13 = arith.constant 13 : index
  %c16 = arith.constant 16 : index
  %c20 = arith.constant 20 : index
  %c21 = arith.constant 21 : index
  %c24 = arith.constant 24 : index
  %c33 = arith.constant 33 : index
  call @test(%c20, %c16, %c8, %c8) : (index, index, index, index) -> ()
  call @test(%c3, %c5, %c33, %c3) : (index, index, index, index) -> ()
  call @test(%c20, %c16, %c7, %c4) : (index, index, index, index) -> ()
  call @test(%c21, %c13, %c24, %c8) : (index, index, index, index) -> ()
  call @test(%c3, %c5, %c0, %c3) : (index, index, index, index) -> ()
  call @test(%c0, %c5, %c8, %c8) : (index, index, index, index) -> ()
  return
}
