// A launch in clusters of two CTAs: every CTA writes which cluster it is in, and which of its CTAs it is.
module attributes {gpu.container_module} {
  func.func @main() {
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c6 = arith.constant 6 : index
    %x = memref.alloc() : memref<6x2xi32>
    %any = memref.cast %x : memref<6x2xi32> to memref<*xi32>
    gpu.host_register %any : memref<*xi32>
    gpu.launch clusters(%cx, %cy, %cz) in (%nx = %c2, %ny = %c1, %nz = %c1)
               blocks(%bx, %by, %bz) in (%gx = %c6, %gy = %c1, %gz = %c1)
               threads(%tx, %ty, %tz) in (%sx = %c1, %sy = %c1, %sz = %c1) {
      %block = gpu.cluster_block_id x
      %c0 = arith.constant 0 : index
      %one = arith.constant 1 : index
      %cluster_i32 = arith.index_cast %cx : index to i32
      %block_i32 = arith.index_cast %block : index to i32
      memref.store %cluster_i32, %x[%bx, %c0] : memref<6x2xi32>
      memref.store %block_i32, %x[%bx, %one] : memref<6x2xi32>
      gpu.terminator
    }
    // CHECK:      [0, 0]
    // CHECK-NEXT: [0, 1]
    // CHECK-NEXT: [1, 0]
    // CHECK-NEXT: [1, 1]
    // CHECK-NEXT: [2, 0]
    // CHECK-NEXT: [2, 1]
    call @printMemrefI32(%any) : (memref<*xi32>) -> ()
    return
  }
  func.func private @printMemrefI32(memref<*xi32>)
}
