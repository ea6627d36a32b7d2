// Divisions that LLVM has not: the number of blocks on the host, and the same on the device.
//
// RUN: lemma run %s | FileCheck %s
// CHECK: blocks 2, of 64 threads, for 100; on the device 2, and rounded down -2

module attributes {gpu.container_module} {
  func.func @main() {
    %c1 = arith.constant 1 : index
    %c64 = arith.constant 64 : index
    %n = arith.constant 100 : index
    %buffer = gpu.alloc host_shared () : memref<1xindex>
    %zero = arith.constant 0 : index
    memref.store %n, %buffer[%zero] : memref<1xindex>
    %loaded = memref.load %buffer[%zero] : memref<1xindex>
    %blocks = arith.ceildivui %loaded, %c64 : index
    gpu.launch blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
               threads(%t, %ty, %tz) in (%sx = %c1, %sy = %c1, %sz = %c1) {
      %here = memref.load %buffer[%zero] : memref<1xindex>
      %up = arith.ceildivsi %here, %c64 : index
      %negative = arith.subi %zero, %here : index
      %down = arith.floordivsi %negative, %c64 : index
      gpu.printf "blocks %lld, of 64 threads, for %lld; on the device %lld, and rounded down %lld\n",
        %blocks, %here, %up, %down : index, index, index, index
      gpu.terminator
    }
    return
  }
}
