// A tensor map made by the host, a box fetched through it into shared memory, and written to the host's memory.
!map = !nvgpu.tensormap.descriptor<tensor = memref<4x8xf32, 3>, swizzle = none, l2promo = none, oob = zero, interleave = none>
!barrier = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>

module attributes {gpu.container_module} {
  memref.global "private" @box : memref<4x8xf32, 3>
  func.func @main() {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c4 = arith.constant 4 : index
    %c8 = arith.constant 8 : index
    %c16 = arith.constant 16 : index
    %c32 = arith.constant 32 : index
    %host = memref.alloc() : memref<8x16xf32>
    scf.for %i = %c0 to %c8 step %c1 {
      scf.for %j = %c0 to %c16 step %c1 {
        %row = arith.muli %i, %c16 : index
        %n = arith.addi %row, %j : index
        %int = arith.index_cast %n : index to i32
        %float = arith.sitofp %int : i32 to f32
        memref.store %float, %host[%i, %j] : memref<8x16xf32>
      }
    }
    %out = memref.alloc() : memref<4x8xf32>
    %any = memref.cast %out : memref<4x8xf32> to memref<*xf32>
    gpu.host_register %any : memref<*xf32>
    %t0 = gpu.wait async
    %x, %t1 = gpu.alloc async [%t0] () : memref<8x16xf32>
    %t2 = gpu.memcpy async [%t1] %x, %host : memref<8x16xf32>, memref<8x16xf32>
    gpu.wait [%t2]
    %tensor = memref.cast %x : memref<8x16xf32> to memref<*xf32>
    %map = nvgpu.tma.create.descriptor %tensor box[%c4, %c8] : memref<*xf32> -> !map
    gpu.launch blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
               threads(%tx, %ty, %tz) in (%sx = %c32, %sy = %c1, %sz = %c1) {
      %zero = arith.constant 0 : index
      %one = arith.constant 1 : index
      %two = arith.constant 2 : index
      %eight = arith.constant 8 : index
      %bytes = arith.constant 128 : index
      %ticks = arith.constant 10000000 : index
      %phase = arith.constant false
      %box = memref.get_global @box : memref<4x8xf32, 3>
      %barrier = nvgpu.mbarrier.create -> !barrier
      %is_first = arith.cmpi eq, %tx, %zero : index
      nvgpu.mbarrier.init %barrier[%zero], %one, predicate = %is_first : !barrier
      gpu.barrier
      scf.if %is_first {
        nvgpu.mbarrier.arrive.expect_tx %barrier[%zero], %bytes : !barrier
        nvgpu.tma.async.load %map[%eight, %two], %barrier[%zero] to %box : !map, !barrier -> memref<4x8xf32, 3>
      }
      nvgpu.mbarrier.try_wait.parity %barrier[%zero], %phase, %ticks : !barrier
      %i = arith.divui %tx, %eight : index
      %j = arith.remui %tx, %eight : index
      %v = memref.load %box[%i, %j] : memref<4x8xf32, 3>
      memref.store %v, %out[%i, %j] : memref<4x8xf32>
      gpu.terminator
    }
    // CHECK:      [40,   41,   42,   43,   44,   45,   46,   47]
    // CHECK-NEXT: [56,   57,   58,   59,   60,   61,   62,   63]
    // CHECK-NEXT: [72,   73,   74,   75,   76,   77,   78,   79]
    // CHECK-NEXT: [88,   89,   90,   91,   92,   93,   94,   95]
    call @printMemrefF32(%any) : (memref<*xf32>) -> ()
    return
  }
  func.func private @printMemrefF32(memref<*xf32>)
}
