// Two gpu.modules with a kernel of the same name in each, launched one after the other on one buffer, and the first one
// once more: y = 3 ((3 x) + 5). A third kernel of the second module has no arguments and is launched last.
//
// Not here: modules that are never launched from.
// Spec: gpu.module, gpu.launch_func; the runner loads and unloads each module by itself.
// RUN: lemma run %s | FileCheck %s
// CHECK: Correct: 128 of 128
// CHECK-NEXT: y[1] = 24

module attributes {gpu.container_module} {
  gpu.module @scale {
    gpu.func @run(%y: memref<128xi32>, %by: i32) kernel {
      %thread = gpu.thread_id x
      %value = memref.load %y[%thread] : memref<128xi32>
      %new = arith.muli %value, %by : i32
      memref.store %new, %y[%thread] : memref<128xi32>
      gpu.return
    }
  }

  gpu.module @shift {
    gpu.func @run(%y: memref<128xi32>, %by: i32) kernel {
      %thread = gpu.thread_id x
      %value = memref.load %y[%thread] : memref<128xi32>
      %new = arith.addi %value, %by : i32
      memref.store %new, %y[%thread] : memref<128xi32>
      gpu.return
    }
    gpu.func @nothing() kernel {
      gpu.barrier
      gpu.return
    }
  }

  func.func @main() -> i32 {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c128 = arith.constant 128 : index
    %n0 = arith.constant 0 : i64
    %three = arith.constant 3 : i32
    %five = arith.constant 5 : i32
    %total = arith.constant 128 : i64

    %y = memref.alloc() : memref<128xi32>
    scf.for %i = %c0 to %c128 step %c1 {
      %x = arith.index_cast %i : index to i32
      memref.store %x, %y[%i] : memref<128xi32>
    }
    %ready = gpu.wait async
    %dy, %t0 = gpu.alloc async [%ready] () : memref<128xi32>
    %t1 = gpu.memcpy async [%t0] %dy, %y : memref<128xi32>, memref<128xi32>
    %t2 = gpu.launch_func async [%t1] @scale::@run blocks in (%c1, %c1, %c1) threads in (%c128, %c1, %c1)
      args(%dy : memref<128xi32>, %three : i32)
    %t3 = gpu.launch_func async [%t2] @shift::@run blocks in (%c1, %c1, %c1) threads in (%c128, %c1, %c1)
      args(%dy : memref<128xi32>, %five : i32)
    %t4 = gpu.launch_func async [%t3] @scale::@run blocks in (%c1, %c1, %c1) threads in (%c128, %c1, %c1)
      args(%dy : memref<128xi32>, %three : i32)
    %t5 = gpu.launch_func async [%t4] @shift::@nothing blocks in (%c1, %c1, %c1) threads in (%c128, %c1, %c1)
    %t6 = gpu.memcpy async [%t5] %y, %dy : memref<128xi32>, memref<128xi32>
    %t7 = gpu.dealloc async [%t6] %dy : memref<128xi32>
    gpu.wait [%t7]

    %correct = scf.for %i = %c0 to %c128 step %c1 iter_args(%n = %n0) -> (i64) {
      %x = arith.index_cast %i : index to i32
      %scaled = arith.muli %x, %three : i32
      %shifted = arith.addi %scaled, %five : i32
      %want = arith.muli %shifted, %three : i32
      %got = memref.load %y[%i] : memref<128xi32>
      %same = arith.cmpi eq, %want, %got : i32
      %one = arith.extui %same : i1 to i64
      %n_new = arith.addi %n, %one : i64
      scf.yield %n_new : i64
    }
    %second = memref.load %y[%c1] : memref<128xi32>
    vector.print str "Correct: "
    vector.print %correct : i64 punctuation <no_punctuation>
    vector.print str " of "
    vector.print %total : i64
    vector.print str "y[1] = "
    vector.print %second : i32

    memref.dealloc %y : memref<128xi32>
    %wrong = arith.cmpi ne, %correct, %total : i64
    %status = arith.extui %wrong : i1 to i32
    return %status : i32
  }
}
