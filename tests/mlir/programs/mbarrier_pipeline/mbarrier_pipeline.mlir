// A producer warp hands twelve rows to a consumer warp through three slots of shared memory. Barriers 0 to 2 of a group
// say that a slot is full, 3 to 5 that it is empty; every thread waits for a phase by its parity, which alternates
// with each turn of the ring, and the producer's first turn waits for the phase before the first: that is over at once.
// Barrier 6 ends the work: producers arrive twice (once without completing), consumers once, and everybody polls with
// the token of their own arrival.
//
// Not here: copies that complete a barrier (tma_load_*), barriers of other CTAs.
// Spec: nvgpu.mbarrier.*; PTX ISA, mbarrier.
// RUN: lemma run %s | FileCheck %s
// CHECK: Correct: 32 of 32
// CHECK-NEXT: Sum: 3738176

!ring = memref<3x32xi32, #gpu.address_space<workgroup>>
!barriers = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 7>

module attributes {gpu.container_module} {
  gpu.module @kernels {
    memref.global "private" @ring : !ring

    gpu.func @hand_over(%out: memref<32xi32>) kernel {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c2 = arith.constant 2 : index
      %c3 = arith.constant 3 : index
      %c6 = arith.constant 6 : index
      %c12 = arith.constant 12 : index
      %c31 = arith.constant 31 : index
      %c32 = arith.constant 32 : index
      %c96 = arith.constant 96 : index
      %c100 = arith.constant 100 : index
      %ticks = arith.constant 10000000 : index
      %zero = arith.constant 0 : i32
      %true = arith.constant true
      %thread = gpu.thread_id x
      %lane = arith.remui %thread, %c32 : index
      %producer = arith.cmpi ult, %thread, %c32 : index
      %ring = memref.get_global @ring : !ring
      %barriers = nvgpu.mbarrier.create -> !barriers

      %first = arith.cmpi eq, %thread, %c0 : index
      scf.if %first {
        scf.for %i = %c0 to %c6 step %c1 {
          nvgpu.mbarrier.init %barriers[%i], %c32 : !barriers
        }
        nvgpu.mbarrier.init %barriers[%c6], %c96 : !barriers
      }
      gpu.barrier

      scf.if %producer {
        scf.for %row = %c0 to %c12 step %c1 {
          %slot = arith.remui %row, %c3 : index
          %empty = arith.addi %slot, %c3 : index
          %turn = arith.divui %row, %c3 : index
          %turn_parity = arith.remui %turn, %c2 : index
          %odd_turn = arith.cmpi eq, %turn_parity, %c1 : index
          %before = arith.xori %odd_turn, %true : i1
          nvgpu.mbarrier.try_wait.parity %barriers[%empty], %before, %ticks : !barriers
          %base = arith.muli %row, %c100 : index
          %value = arith.addi %base, %lane : index
          %value32 = arith.index_cast %value : index to i32
          memref.store %value32, %ring[%slot, %lane] : !ring
          %filled = nvgpu.mbarrier.arrive %barriers[%slot] : !barriers -> !nvgpu.mbarrier.token
        }
        %early = nvgpu.mbarrier.arrive.nocomplete %barriers[%c6], %c1 : !barriers -> !nvgpu.mbarrier.token
      } else {
        // Row by row, weighted; what this lane reads another lane wrote.
        %opposite = arith.subi %c31, %lane : index
        %sum = scf.for %row = %c0 to %c12 step %c1 iter_args(%acc = %zero) -> (i32) {
          %slot = arith.remui %row, %c3 : index
          %empty = arith.addi %slot, %c3 : index
          %turn = arith.divui %row, %c3 : index
          %turn_parity = arith.remui %turn, %c2 : index
          %now = arith.cmpi eq, %turn_parity, %c1 : index
          nvgpu.mbarrier.try_wait.parity %barriers[%slot], %now, %ticks : !barriers
          %value = memref.load %ring[%slot, %opposite] : !ring
          %weight = arith.addi %row, %c1 : index
          %weight32 = arith.index_cast %weight : index to i32
          %weighted = arith.muli %value, %weight32 : i32
          %acc_new = arith.addi %acc, %weighted : i32
          %drained = nvgpu.mbarrier.arrive %barriers[%empty] : !barriers -> !nvgpu.mbarrier.token
          scf.yield %acc_new : i32
        }
        memref.store %sum, %out[%lane] : memref<32xi32>
      }

      // Everybody meets once more, and a consumer's result is what a producer reads and doubles.
      %token = nvgpu.mbarrier.arrive %barriers[%c6] : !barriers -> !nvgpu.mbarrier.token
      scf.while : () -> () {
        %over = nvgpu.mbarrier.test.wait %barriers[%c6], %token : !barriers, !nvgpu.mbarrier.token
        %again = arith.xori %over, %true : i1
        scf.condition(%again)
      } do {
        scf.yield
      }
      scf.if %producer {
        %sum = memref.load %out[%lane] : memref<32xi32>
        %twice = arith.addi %sum, %sum : i32
        memref.store %twice, %out[%lane] : memref<32xi32>
      }
      gpu.return
    }
  }

  func.func @main() -> i32 {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c12 = arith.constant 12 : index
    %c31 = arith.constant 31 : index
    %c32 = arith.constant 32 : index
    %c64 = arith.constant 64 : index
    %c100 = arith.constant 100 : index
    %n0 = arith.constant 0 : i64
    %total = arith.constant 32 : i64

    %out = memref.alloc() : memref<32xi32>
    %ready = gpu.wait async
    %dout, %t0 = gpu.alloc async [%ready] () : memref<32xi32>
    %t1 = gpu.launch_func async [%t0] @kernels::@hand_over blocks in (%c1, %c1, %c1) threads in (%c64, %c1, %c1)
      args(%dout : memref<32xi32>)
    %t2 = gpu.memcpy async [%t1] %out, %dout : memref<32xi32>, memref<32xi32>
    %t3 = gpu.dealloc async [%t2] %dout : memref<32xi32>
    gpu.wait [%t3]

    // Twice the sum over rows of (row + 1) (100 row + 31 - lane).
    %correct, %sum = scf.for %lane = %c0 to %c32 step %c1 iter_args(%n = %n0, %s = %n0) -> (i64, i64) {
      %opposite = arith.subi %c31, %lane : index
      %once = scf.for %row = %c0 to %c12 step %c1 iter_args(%acc = %c0) -> (index) {
        %base = arith.muli %row, %c100 : index
        %value = arith.addi %base, %opposite : index
        %weight = arith.addi %row, %c1 : index
        %weighted = arith.muli %value, %weight : index
        %acc_new = arith.addi %acc, %weighted : index
        scf.yield %acc_new : index
      }
      %twice = arith.muli %once, %c2 : index
      %want = arith.index_cast %twice : index to i32
      %got = memref.load %out[%lane] : memref<32xi32>
      %same = arith.cmpi eq, %want, %got : i32
      %one = arith.extui %same : i1 to i64
      %n_new = arith.addi %n, %one : i64
      %got64 = arith.extsi %got : i32 to i64
      %s_new = arith.addi %s, %got64 : i64
      scf.yield %n_new, %s_new : i64, i64
    }
    vector.print str "Correct: "
    vector.print %correct : i64 punctuation <no_punctuation>
    vector.print str " of "
    vector.print %total : i64
    vector.print str "Sum: "
    vector.print %sum : i64

    memref.dealloc %out : memref<32xi32>
    %wrong = arith.cmpi ne, %correct, %total : i64
    %status = arith.extui %wrong : i1 to i32
    return %status : i32
  }
}
