// Tokens of the gpu dialect: two chains that begin with their own gpu.wait async, so on streams of their own, each with
// gpu.alloc, gpu.memset, gpu.memcpy and a launch; then a wait for both that itself is asynchronous, a kernel that needs
// both results, and a blocking wait at the end. z = (x + 1) * (y + 2); z lies between guards that a gpu.memset wrote.
//
// Not here: gpu.async.region passes, host callbacks.
// Spec: gpu.wait and the async forms of gpu.alloc, gpu.memcpy, gpu.memset, gpu.launch_func, gpu.dealloc.
// RUN: lemma run %s | FileCheck %s
// CHECK: Correct: 256 of 256
// CHECK-NEXT: Guards: 2 of 2

module attributes {gpu.container_module} {
  gpu.module @kernels {
    gpu.func @add(%x: memref<256xi32>, %by: i32) kernel {
      %thread = gpu.thread_id x
      %value = memref.load %x[%thread] : memref<256xi32>
      %new = arith.addi %value, %by : i32
      memref.store %new, %x[%thread] : memref<256xi32>
      gpu.return
    }
    gpu.func @multiply(%x: memref<256xi32>, %y: memref<256xi32>, %z: memref<258xi32>) kernel {
      %c1 = arith.constant 1 : index
      %thread = gpu.thread_id x
      %p = memref.load %x[%thread] : memref<256xi32>
      %q = memref.load %y[%thread] : memref<256xi32>
      %r = arith.muli %p, %q : i32
      %at = arith.addi %thread, %c1 : index
      memref.store %r, %z[%at] : memref<258xi32>
      gpu.return
    }
  }

  func.func @main() -> i32 {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c256 = arith.constant 256 : index
    %c257 = arith.constant 257 : index
    %n0 = arith.constant 0 : i64
    %one32 = arith.constant 1 : i32
    %two32 = arith.constant 2 : i32
    %seven32 = arith.constant 7 : i32
    %guard = arith.constant -559038737 : i32
    %total = arith.constant 256 : i64
    %guards_total = arith.constant 2 : i64

    // x = i, y = 7 i
    %x = memref.alloc() : memref<256xi32>
    %y = memref.alloc() : memref<256xi32>
    %z = memref.alloc() : memref<258xi32>
    scf.for %i = %c0 to %c256 step %c1 {
      %i32 = arith.index_cast %i : index to i32
      %seven_i = arith.muli %i32, %seven32 : i32
      memref.store %i32, %x[%i] : memref<256xi32>
      memref.store %seven_i, %y[%i] : memref<256xi32>
    }

    %a0 = gpu.wait async
    %b0 = gpu.wait async
    %dx, %a1 = gpu.alloc async [%a0] () : memref<256xi32>
    %dy, %b1 = gpu.alloc async [%b0] () : memref<256xi32>
    %a2 = gpu.memcpy async [%a1] %dx, %x : memref<256xi32>, memref<256xi32>
    %b2 = gpu.memcpy async [%b1] %dy, %y : memref<256xi32>, memref<256xi32>
    %a3 = gpu.launch_func async [%a2] @kernels::@add blocks in (%c1, %c1, %c1) threads in (%c256, %c1, %c1)
      args(%dx : memref<256xi32>, %one32 : i32)
    %b3 = gpu.launch_func async [%b2] @kernels::@add blocks in (%c1, %c1, %c1) threads in (%c256, %c1, %c1)
      args(%dy : memref<256xi32>, %two32 : i32)

    %both = gpu.wait async [%a3, %b3]
    %dz, %t0 = gpu.alloc async [%both] () : memref<258xi32>
    %t1 = gpu.memset async [%t0] %dz, %guard : memref<258xi32>, i32
    %t2 = gpu.launch_func async [%t1] @kernels::@multiply blocks in (%c1, %c1, %c1) threads in (%c256, %c1, %c1)
      args(%dx : memref<256xi32>, %dy : memref<256xi32>, %dz : memref<258xi32>)
    %t3 = gpu.memcpy async [%t2] %z, %dz : memref<258xi32>, memref<258xi32>
    %t4 = gpu.dealloc async [%t3] %dx : memref<256xi32>
    %t5 = gpu.dealloc async [%t4] %dy : memref<256xi32>
    %t6 = gpu.dealloc async [%t5] %dz : memref<258xi32>
    gpu.wait [%t6]

    %correct = scf.for %i = %c0 to %c256 step %c1 iter_args(%n = %n0) -> (i64) {
      %p = memref.load %x[%i] : memref<256xi32>
      %q = memref.load %y[%i] : memref<256xi32>
      %p1 = arith.addi %p, %one32 : i32
      %q2 = arith.addi %q, %two32 : i32
      %want = arith.muli %p1, %q2 : i32
      %at = arith.addi %i, %c1 : index
      %got = memref.load %z[%at] : memref<258xi32>
      %same = arith.cmpi eq, %want, %got : i32
      %one = arith.extui %same : i1 to i64
      %n_new = arith.addi %n, %one : i64
      scf.yield %n_new : i64
    }
    %before = memref.load %z[%c0] : memref<258xi32>
    %after = memref.load %z[%c257] : memref<258xi32>
    %same_before = arith.cmpi eq, %before, %guard : i32
    %same_after = arith.cmpi eq, %after, %guard : i32
    %one_before = arith.extui %same_before : i1 to i64
    %one_after = arith.extui %same_after : i1 to i64
    %guards = arith.addi %one_before, %one_after : i64
    vector.print str "Correct: "
    vector.print %correct : i64 punctuation <no_punctuation>
    vector.print str " of "
    vector.print %total : i64
    vector.print str "Guards: "
    vector.print %guards : i64 punctuation <no_punctuation>
    vector.print str " of "
    vector.print %guards_total : i64

    memref.dealloc %x : memref<256xi32>
    memref.dealloc %y : memref<256xi32>
    memref.dealloc %z : memref<258xi32>
    %wrong_values = arith.cmpi ne, %correct, %total : i64
    %wrong_guards = arith.cmpi ne, %guards, %guards_total : i64
    %wrong = arith.ori %wrong_values, %wrong_guards : i1
    %status = arith.extui %wrong : i1 to i32
    return %status : i32
  }
}
