// RUN: lemma run %s | FileCheck %s
//
// The functions that MLIR programs call to print, to compare, to copy and to count, by the names and with the output that
// upstream's runner libraries have (upstream/runner_functions.mlir compares). Clocks and random numbers: what must hold of them.

func.func private @printI64(i64)
func.func private @printU64(i64)
func.func private @printF32(f32)
func.func private @printF64(f64)
func.func private @printF16(i16)
func.func private @printBF16(i16)
func.func private @printOpen()
func.func private @printClose()
func.func private @printComma()
func.func private @printNewline()
func.func private @printString(!llvm.ptr)
func.func private @printFlops(f64)
func.func private @printMemrefI8(memref<*xi8>) attributes {llvm.emit_c_interface}
func.func private @printMemrefI16(memref<*xi16>) attributes {llvm.emit_c_interface}
func.func private @printMemrefI32(memref<*xi32>) attributes {llvm.emit_c_interface}
func.func private @printMemrefI64(memref<*xi64>)
func.func private @printMemrefF16(memref<*xf16>) attributes {llvm.emit_c_interface}
func.func private @printMemrefBF16(memref<*xbf16>) attributes {llvm.emit_c_interface}
func.func private @printMemrefF32(memref<*xf32>)
func.func private @printMemrefF64(memref<*xf64>)
func.func private @printMemrefInd(memref<*xindex>)
func.func private @printMemref1dI32(memref<?xi32>) attributes {llvm.emit_c_interface}
func.func private @printMemref2dF32(memref<?x?xf32>) attributes {llvm.emit_c_interface}
func.func private @printMemrefShapeF32(memref<*xf32>) attributes {llvm.emit_c_interface}
func.func private @verifyMemRefF32(memref<*xf32>, memref<*xf32>) -> i64 attributes {llvm.emit_c_interface}
func.func private @rtclock() -> f64
func.func private @nanoTime() -> i64 attributes {llvm.emit_c_interface}
func.func private @rtsrand(i64) -> !llvm.ptr
func.func private @rtrand(!llvm.ptr, i64) -> i64
func.func private @rtdrand(!llvm.ptr)
func.func private @shuffle(memref<?xi64>, !llvm.ptr) attributes {llvm.emit_c_interface}
func.func private @stdSortI64(i64, memref<?xi64>) attributes {llvm.emit_c_interface}
func.func private @stdSortF32(i64, memref<?xf32>) attributes {llvm.emit_c_interface}

memref.global "private" constant @i8s : memref<3xi8> = dense<[65, 66, 67]>
memref.global "private" constant @i16s : memref<2xi16> = dense<[-300, 300]>
memref.global "private" constant @i32s : memref<3xi32> = dense<[-70000, 0, 7]>
memref.global "private" constant @i64s : memref<2xi64> = dense<[-5000000000, 3]>
memref.global "private" constant @f16s : memref<2xf16> = dense<[1.5, -0.25]>
memref.global "private" constant @bf16s : memref<2xbf16> = dense<[3.0, -0.5]>
memref.global "private" constant @f32s : memref<2x2xf32> = dense<[[1.5, -2.0], [0.1, 1024.0]]>
memref.global "private" constant @other : memref<2x2xf32> = dense<[[1.5, -2.0], [0.2, 1024.0]]>
memref.global "private" constant @f64s : memref<1xf64> = dense<[0.125]>
memref.global "private" constant @indices : memref<2xindex> = dense<[4, 9]>
memref.global "private" @unsorted : memref<4xi64> = dense<[3, -1, 2, 0]>
memref.global "private" @unsorted_floats : memref<3xf32> = dense<[3.5, -1.5, 2.0]>
llvm.mlir.global internal constant @text("some text\0A\00")

func.func @numbers() {
  %i64 = arith.constant -5 : i64
  %f32 = arith.constant 1.25 : f32
  %f64 = arith.constant 2.5e-3 : f64
  %half = arith.constant -0.5 : f16
  %f16 = arith.bitcast %half : f16 to i16
  %brain = arith.constant 96.0 : bf16
  %bf16 = arith.bitcast %brain : bf16 to i16
  // CHECK: ( -5, 18446744073709551611, 1.25, 0.0025, -0.5, 96 )
  call @printOpen() : () -> ()
  call @printI64(%i64) : (i64) -> ()
  call @printComma() : () -> ()
  call @printU64(%i64) : (i64) -> ()
  call @printComma() : () -> ()
  call @printF32(%f32) : (f32) -> ()
  call @printComma() : () -> ()
  call @printF64(%f64) : (f64) -> ()
  call @printComma() : () -> ()
  call @printF16(%f16) : (i16) -> ()
  call @printComma() : () -> ()
  call @printBF16(%bf16) : (i16) -> ()
  call @printClose() : () -> ()
  call @printNewline() : () -> ()
  // CHECK: some text
  %text = llvm.mlir.addressof @text : !llvm.ptr
  call @printString(%text) : (!llvm.ptr) -> ()
  call @printFlops(%f64) : (f64) -> () // to standard error
  return
}

func.func @memrefs() {
  // CHECK: Unranked Memref base@ = 0x{{[0-9a-f]+}} rank = 1 offset = 0 sizes = [3] strides = [1] data =
  // CHECK-NEXT: [A, B, C]
  %i8s = memref.get_global @i8s : memref<3xi8>
  %0 = memref.cast %i8s : memref<3xi8> to memref<*xi8>
  call @printMemrefI8(%0) : (memref<*xi8>) -> ()
  // CHECK: [-300, 300]
  %i16s = memref.get_global @i16s : memref<2xi16>
  %1 = memref.cast %i16s : memref<2xi16> to memref<*xi16>
  call @printMemrefI16(%1) : (memref<*xi16>) -> ()
  // CHECK: [-70000, 0, 7]
  %i32s = memref.get_global @i32s : memref<3xi32>
  %2 = memref.cast %i32s : memref<3xi32> to memref<*xi32>
  call @printMemrefI32(%2) : (memref<*xi32>) -> ()
  // CHECK: Memref base@ = {{.*}} rank = 1 offset = 0 sizes = [3] strides = [1] data =
  // CHECK-NEXT: [-70000, 0, 7]
  %ranked = memref.cast %i32s : memref<3xi32> to memref<?xi32>
  call @printMemref1dI32(%ranked) : (memref<?xi32>) -> ()
  // CHECK: [-5000000000, 3]
  %i64s = memref.get_global @i64s : memref<2xi64>
  %3 = memref.cast %i64s : memref<2xi64> to memref<*xi64>
  call @printMemrefI64(%3) : (memref<*xi64>) -> ()
  // CHECK: [1.5, -0.25]
  %f16s = memref.get_global @f16s : memref<2xf16>
  %4 = memref.cast %f16s : memref<2xf16> to memref<*xf16>
  call @printMemrefF16(%4) : (memref<*xf16>) -> ()
  // CHECK: [3, -0.5]
  %bf16s = memref.get_global @bf16s : memref<2xbf16>
  %5 = memref.cast %bf16s : memref<2xbf16> to memref<*xbf16>
  call @printMemrefBF16(%5) : (memref<*xbf16>) -> ()
  // CHECK: rank = 2 offset = 0 sizes = [2, 2] strides = [2, 1] data =
  // CHECK-NEXT: {{\[}}[1.5, -2],
  // CHECK-NEXT: [0.1, 1024]]
  %f32s = memref.get_global @f32s : memref<2x2xf32>
  %6 = memref.cast %f32s : memref<2x2xf32> to memref<*xf32>
  call @printMemrefF32(%6) : (memref<*xf32>) -> ()
  // CHECK: [0.125]
  %f64s = memref.get_global @f64s : memref<1xf64>
  %7 = memref.cast %f64s : memref<1xf64> to memref<*xf64>
  call @printMemrefF64(%7) : (memref<*xf64>) -> ()
  // CHECK: [4, 9]
  %indices = memref.get_global @indices : memref<2xindex>
  %8 = memref.cast %indices : memref<2xindex> to memref<*xindex>
  call @printMemrefInd(%8) : (memref<*xindex>) -> ()
  // Of a part with strides; memrefCopy makes it whole.
  // CHECK: rank = 2 offset = 1 sizes = [2, 1] strides = [2, 1] data =
  // CHECK-NEXT: {{\[}}[-2],
  // CHECK-NEXT: [1024]]
  %column = memref.subview %f32s[0, 1] [2, 1] [1, 1] : memref<2x2xf32> to memref<2x1xf32, strided<[2, 1], offset: 1>>
  %9 = memref.cast %column : memref<2x1xf32, strided<[2, 1], offset: 1>> to memref<*xf32>
  call @printMemrefF32(%9) : (memref<*xf32>) -> ()
  // CHECK: Memref base@ = {{.*}} rank = 2 offset = 0 sizes = [2, 1] strides = [1, 1] data =
  // CHECK-NEXT: {{\[}}[-2],
  // CHECK-NEXT: [1024]]
  %copy = memref.alloc() : memref<2x1xf32>
  memref.copy %column, %copy : memref<2x1xf32, strided<[2, 1], offset: 1>> to memref<2x1xf32>
  %10 = memref.cast %copy : memref<2x1xf32> to memref<?x?xf32>
  call @printMemref2dF32(%10) : (memref<?x?xf32>) -> ()
  // CHECK: rank = 2 offset = 0 sizes = [2, 2] strides = [2, 1]{{$}}
  call @printMemrefShapeF32(%6) : (memref<*xf32>) -> ()
  // Numbers of elements that differ.
  // CHECK-NEXT: 0 1
  %other = memref.get_global @other : memref<2x2xf32>
  %11 = memref.cast %other : memref<2x2xf32> to memref<*xf32>
  %same = call @verifyMemRefF32(%6, %6) : (memref<*xf32>, memref<*xf32>) -> i64
  %different = call @verifyMemRefF32(%6, %11) : (memref<*xf32>, memref<*xf32>) -> i64
  call @pair(%same, %different) : (i64, i64) -> ()
  memref.dealloc %copy : memref<2x1xf32>
  return
}

func.func @pair(%a: i64, %b: i64) {
  call @printI64(%a) : (i64) -> ()
  %space = llvm.mlir.addressof @space : !llvm.ptr
  call @printString(%space) : (!llvm.ptr) -> ()
  call @printI64(%b) : (i64) -> ()
  call @printNewline() : () -> ()
  return
}
llvm.mlir.global internal constant @space(" \00")

func.func @orders() {
  // CHECK: [-1, 0, 2, 3]
  %c4 = arith.constant 4 : i64
  %unsorted = memref.get_global @unsorted : memref<4xi64>
  %values = memref.cast %unsorted : memref<4xi64> to memref<?xi64>
  call @stdSortI64(%c4, %values) : (i64, memref<?xi64>) -> ()
  %0 = memref.cast %unsorted : memref<4xi64> to memref<*xi64>
  call @printMemrefI64(%0) : (memref<*xi64>) -> ()
  // CHECK: [-1.5, 2, 3.5]
  %c3 = arith.constant 3 : i64
  %floats = memref.get_global @unsorted_floats : memref<3xf32>
  %1 = memref.cast %floats : memref<3xf32> to memref<?xf32>
  call @stdSortF32(%c3, %1) : (i64, memref<?xf32>) -> ()
  %2 = memref.cast %floats : memref<3xf32> to memref<*xf32>
  call @printMemrefF32(%2) : (memref<*xf32>) -> ()

  // A shuffle is 0, 1, 2, 3 in some order, and the same seed gives the same numbers.
  // CHECK: [0, 1, 2, 3]
  // CHECK: 1 1
  %seed = arith.constant 42 : i64
  %bound = arith.constant 1000000 : i64
  %a = call @rtsrand(%seed) : (i64) -> !llvm.ptr
  %b = call @rtsrand(%seed) : (i64) -> !llvm.ptr
  %first = call @rtrand(%a, %bound) : (!llvm.ptr, i64) -> i64
  %again = call @rtrand(%b, %bound) : (!llvm.ptr, i64) -> i64
  call @shuffle(%values, %a) : (memref<?xi64>, !llvm.ptr) -> ()
  call @stdSortI64(%c4, %values) : (i64, memref<?xi64>) -> ()
  call @printMemrefI64(%0) : (memref<*xi64>) -> ()
  call @rtdrand(%a) : (!llvm.ptr) -> ()
  call @rtdrand(%b) : (!llvm.ptr) -> ()
  %equal = arith.cmpi eq, %first, %again : i64
  %in_bounds = arith.cmpi ule, %first, %bound : i64
  %3 = arith.extui %equal : i1 to i64
  %4 = arith.extui %in_bounds : i1 to i64
  call @pair(%3, %4) : (i64, i64) -> ()

  // Time does not run backwards.
  // CHECK: 1 1
  %s0 = call @rtclock() : () -> f64
  %n0 = call @nanoTime() : () -> i64
  %s1 = call @rtclock() : () -> f64
  %n1 = call @nanoTime() : () -> i64
  %later_s = arith.cmpf oge, %s1, %s0 : f64
  %later_n = arith.cmpi sge, %n1, %n0 : i64
  %5 = arith.extui %later_s : i1 to i64
  %6 = arith.extui %later_n : i1 to i64
  call @pair(%5, %6) : (i64, i64) -> ()
  return
}

func.func @main() {
  call @numbers() : () -> ()
  call @memrefs() : () -> ()
  call @orders() : () -> ()
  return
}
