// Memory that the host and the kernel both use by one pointer.
module attributes {gpu.container_module} {
  func.func @main() {
    %c1 = arith.constant 1 : index
    %c8 = arith.constant 8 : index
    %three = arith.constant 3 : i32
    %x = gpu.alloc host_shared () : memref<8xi32>
    memref.store %three, %x[%c1] : memref<8xi32>
    gpu.launch blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
               threads(%tx, %ty, %tz) in (%sx = %c8, %sy = %c1, %sz = %c1) {
      %v = memref.load %x[%tx] : memref<8xi32>
      %t = arith.index_cast %tx : index to i32
      %sum = arith.addi %v, %t : i32
      memref.store %sum, %x[%tx] : memref<8xi32>
      gpu.terminator
    }
    // CHECK: [0,  4,  2,  3,  4,  5,  6,  7]
    %any = memref.cast %x : memref<8xi32> to memref<*xi32>
    call @printMemrefI32(%any) : (memref<*xi32>) -> ()
    %t0 = gpu.wait async
    %t1 = gpu.dealloc async [%t0] %x : memref<8xi32>
    gpu.wait [%t1]
    return
  }
  func.func private @printMemrefI32(memref<*xi32>)
}
