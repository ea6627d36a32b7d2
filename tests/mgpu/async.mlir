// Device memory, asynchronous copies in both directions, a fill, a kernel over them, in a chain of tokens.
module attributes {gpu.container_module} {
  func.func @main() {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %n = arith.constant 6 : index
    %half = arith.constant 0.5 : f32
    %host = memref.alloc(%n) : memref<?xf32>
    scf.for %i = %c0 to %n step %c1 {
      %int = arith.index_cast %i : index to i32
      %float = arith.sitofp %int : i32 to f32
      memref.store %float, %host[%i] : memref<?xf32>
    }
    %t0 = gpu.wait async
    %x, %t1 = gpu.alloc async [%t0] (%n) : memref<?xf32>
    %y, %t2 = gpu.alloc async [%t1] (%n) : memref<?xf32>
    %t3 = gpu.memcpy async [%t2] %x, %host : memref<?xf32>, memref<?xf32>
    %t4 = gpu.memset async [%t3] %y, %half : memref<?xf32>, f32
    %t5 = gpu.launch async [%t4] blocks(%bx, %by, %bz) in (%gx = %c2, %gy = %c1, %gz = %c1)
                                 threads(%tx, %ty, %tz) in (%sx = %n, %sy = %c1, %sz = %c1) {
      %first = arith.cmpi eq, %bx, %c0 : index
      scf.if %first {
        %a = memref.load %x[%tx] : memref<?xf32>
        %b = memref.load %y[%tx] : memref<?xf32>
        %sum = arith.addf %a, %b : f32
        memref.store %sum, %y[%tx] : memref<?xf32>
      }
      gpu.terminator
    }
    %t6 = gpu.memcpy async [%t5] %x, %y : memref<?xf32>, memref<?xf32>
    %t7 = gpu.memcpy async [%t6] %host, %x : memref<?xf32>, memref<?xf32>
    %t8 = gpu.dealloc async [%t7] %x : memref<?xf32>
    %t9 = gpu.dealloc async [%t8] %y : memref<?xf32>
    gpu.wait [%t9]
    // CHECK: [0.5, 1.5, 2.5, 3.5, 4.5, 5.5]
    %any = memref.cast %host : memref<?xf32> to memref<*xf32>
    call @printMemrefF32(%any) : (memref<*xf32>) -> ()
    memref.dealloc %host : memref<?xf32>
    return
  }
  func.func private @printMemrefF32(memref<*xf32>)
}
