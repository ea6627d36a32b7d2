// A kernel that works on the host's own memory: gpu.host_register, then no copies.
module attributes {gpu.container_module} {
  func.func @main() {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c4 = arith.constant 4 : index
    %c8 = arith.constant 8 : index
    %x = memref.alloc() : memref<4x8xi32>
    scf.for %i = %c0 to %c4 step %c1 {
      scf.for %j = %c0 to %c8 step %c1 {
        %row = arith.muli %i, %c8 : index
        %n = arith.addi %row, %j : index
        %v = arith.index_cast %n : index to i32
        memref.store %v, %x[%i, %j] : memref<4x8xi32>
      }
    }
    %any = memref.cast %x : memref<4x8xi32> to memref<*xi32>
    gpu.host_register %any : memref<*xi32>
    gpu.launch blocks(%bx, %by, %bz) in (%gx = %c4, %gy = %c1, %gz = %c1)
               threads(%tx, %ty, %tz) in (%sx = %c8, %sy = %c1, %sz = %c1) {
      %v = memref.load %x[%bx, %tx] : memref<4x8xi32>
      %square = arith.muli %v, %v : i32
      memref.store %square, %x[%bx, %tx] : memref<4x8xi32>
      gpu.terminator
    }
    // CHECK: [0,   1,   4,   9,   16,   25,   36,   49]
    // CHECK: [576,   625,   676,   729,   784,   841,   900,   961]
    call @printMemrefI32(%any) : (memref<*xi32>) -> ()
    gpu.host_unregister %any : memref<*xi32>
    memref.dealloc %x : memref<4x8xi32>
    return
  }
  func.func private @printMemrefI32(memref<*xi32>)
}
