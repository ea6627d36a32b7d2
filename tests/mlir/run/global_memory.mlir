// RUN: lemma run %s --check | FileCheck %s
//
// Device memory whose type says that it is: by its number, and by the attribute of the gpu dialect.
// CHECK: [1, 2, 3, 4]
// CHECK: [1, 2, 3, 4]

func.func private @printMemrefF32(memref<*xf32>)

func.func @main() {
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %numbered = gpu.alloc () : memref<4xf32, 1>
  %named = gpu.alloc (%c4) : memref<?xf32, #gpu.address_space<global>>
  gpu.launch blocks(%bx, %by, %bz) in (%nbx = %c1, %nby = %c1, %nbz = %c1)
             threads(%tx, %ty, %tz) in (%ntx = %c4, %nty = %c1, %ntz = %c1) {
    %next = arith.addi %tx, %c1 : index
    %next32 = arith.index_cast %next : index to i32
    %value = arith.sitofp %next32 : i32 to f32
    memref.store %value, %numbered[%tx] : memref<4xf32, 1>
    memref.store %value, %named[%tx] : memref<?xf32, #gpu.address_space<global>>
    gpu.terminator
  }
  %host = memref.alloc() : memref<4xf32>
  %any = memref.cast %host : memref<4xf32> to memref<*xf32>
  gpu.memcpy %host, %numbered : memref<4xf32>, memref<4xf32, 1>
  call @printMemrefF32(%any) : (memref<*xf32>) -> ()
  gpu.dealloc %numbered : memref<4xf32, 1>
  %host_named = memref.cast %host : memref<4xf32> to memref<?xf32>
  gpu.memcpy %host_named, %named : memref<?xf32>, memref<?xf32, #gpu.address_space<global>>
  call @printMemrefF32(%any) : (memref<*xf32>) -> ()
  gpu.dealloc %named : memref<?xf32, #gpu.address_space<global>>
  memref.dealloc %host : memref<4xf32>
  return
}
