// RUN: lemma run %s | FileCheck %s
//
// C is a part of a matrix: its neighbours stay what they were. Where C is the device's, each thread stores its elements, as
// no tensor map begins there; where it is the host's, a copy goes back.
// CHECK: [1542]
// CHECK: [1542]

func.func private @printMemrefF32(memref<*xf32>)

// 8 x 9 ones, and in their middle 3 x 5 sums of 33 times 2 * 1.5: 72 - 15 + 15 * 99 = 1542.
func.func @report(%all: memref<8x9xf32>) {
  %sum = memref.alloc() : memref<f32>
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%sum : memref<f32>)
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> ()>], iterator_types = ["reduction", "reduction"]}
    ins(%all : memref<8x9xf32>) outs(%sum : memref<f32>) {
  ^bb0(%x: f32, %s: f32):
    %t = arith.addf %x, %s : f32
    linalg.yield %t : f32
  }
  %any = memref.cast %sum : memref<f32> to memref<*xf32>
  call @printMemrefF32(%any) : (memref<*xf32>) -> ()
  return
}

func.func @main() {
  %one = arith.constant 1.0 : f32
  %two = arith.constant 2.0 : f16
  %c = arith.constant 1.5 : f16
  %zero = arith.constant 0.0 : f32
  %a = memref.alloc() : memref<3x33xf16>
  %b = memref.alloc() : memref<33x5xf16>
  linalg.fill ins(%two : f16) outs(%a : memref<3x33xf16>)
  linalg.fill ins(%c : f16) outs(%b : memref<33x5xf16>)
  %all = memref.alloc() : memref<8x9xf32>
  linalg.fill ins(%one : f32) outs(%all : memref<8x9xf32>)
  %there = gpu.alloc() : memref<8x9xf32>
  gpu.memcpy %there, %all : memref<8x9xf32>, memref<8x9xf32>

  %part = memref.subview %all[2, 3] [3, 5] [1, 1] : memref<8x9xf32> to memref<3x5xf32, strided<[9, 1], offset: 21>>
  linalg.fill ins(%zero : f32) outs(%part : memref<3x5xf32, strided<[9, 1], offset: 21>>)
  linalg.matmul ins(%a, %b : memref<3x33xf16>, memref<33x5xf16>) outs(%part : memref<3x5xf32, strided<[9, 1], offset: 21>>)
  call @report(%all) : (memref<8x9xf32>) -> ()

  %there_part = memref.subview %there[2, 3] [3, 5] [1, 1] : memref<8x9xf32> to memref<3x5xf32, strided<[9, 1], offset: 21>>
  linalg.fill ins(%zero : f32) outs(%there_part : memref<3x5xf32, strided<[9, 1], offset: 21>>)
  linalg.matmul ins(%a, %b : memref<3x33xf16>, memref<33x5xf16>) outs(%there_part : memref<3x5xf32, strided<[9, 1], offset: 21>>)
  gpu.memcpy %all, %there : memref<8x9xf32>, memref<8x9xf32>
  call @report(%all) : (memref<8x9xf32>) -> ()
  return
}
