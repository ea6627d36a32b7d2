// One thread too many: the program ends with the report, and prints nothing more.
// STATUS: 1
// CHECK-NOT: printed
// ERROR:      fault[out of bounds]: write of 4 bytes at global address
// ERROR-SAME: at the end of gpu.alloc 1 (32 bytes)
// ERROR:      where:   CTA 0,0,0, warp 0, lane 8
module attributes {gpu.container_module} {
  func.func @main() {
    %c1 = arith.constant 1 : index
    %c9 = arith.constant 9 : index
    %t0 = gpu.wait async
    %x, %t1 = gpu.alloc async [%t0] () : memref<8xi32>
    gpu.wait [%t1]
    gpu.launch blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
               threads(%tx, %ty, %tz) in (%sx = %c9, %sy = %c1, %sz = %c1) {
      %t = arith.index_cast %tx : index to i32
      memref.store %t, %x[%tx] : memref<8xi32>
      gpu.terminator
    }
    vector.print str "printed\n"
    return
  }
}
