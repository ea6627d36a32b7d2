// The host's memory handed to a kernel without gpu.host_register.
// STATUS: 1
// ERROR: fault[out of bounds]: read of 4 bytes
// ERROR-SAME: host memory that was not registered
module attributes {gpu.container_module} {
  func.func @main() {
    %c1 = arith.constant 1 : index
    %x = memref.alloc() : memref<8xi32>
    gpu.launch blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
               threads(%tx, %ty, %tz) in (%sx = %c1, %sy = %c1, %sz = %c1) {
      %v = memref.load %x[%tx] : memref<8xi32>
      %sum = arith.addi %v, %v : i32
      memref.store %sum, %x[%tx] : memref<8xi32>
      gpu.terminator
    }
    return
  }
}
