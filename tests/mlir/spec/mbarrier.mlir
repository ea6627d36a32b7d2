// RUN: lemma-opt %s | lemma-opt | FileCheck %s --check-prefix=TEXT
// RUN: lemma compile %s -o %t.ptx && FileCheck %s --check-prefix=PTX < %t.ptx
// RUN: lemma verify %t.ptx && %ptxas -arch=sm_90a %t.ptx
// RUN: lemma run %s --entry arrivals --grid 1 --block 4 | FileCheck %s --check-prefix=ARRIVALS
// RUN: lemma run %s --entry transactions --grid 1 --block 1 | FileCheck %s --check-prefix=TRANSACTIONS
// RUN: lemma run %s --entry groups --grid 1 --block 1 --arg u64=2 | FileCheck %s --check-prefix=GROUPS
//
// The specification's examples of the mbarrier operations, in its spelling: the type mbarrier.barrier, no [%id] for the
// only mbarrier of a group, noComplete with a capital letter, a phase that is an index.
// Sections of the description of 2023: "nvgpu.mbarrier.*", "MBarrierGroupType", "MBarrierTokenType".

gpu.module @kernels {
  // The first of four threads arrives for all.
  // TEXT-LABEL: gpu.func @arrivals
  // PTX-LABEL: .entry arrivals(
  gpu.func @arrivals() kernel {
    %thread = gpu.thread_id x
    %c0 = arith.constant 0 : index
    %count = arith.constant 3 : index
    %is_first = arith.cmpi eq, %thread, %c0 : index
    scf.if %is_first {
    // TEXT: %[[THREADS:.*]] = gpu.block_dim x
    // TEXT: %[[BARRIER:.*]] = nvgpu.mbarrier.create -> <memorySpace = #gpu.address_space<workgroup>>
    // TEXT: nvgpu.mbarrier.init %[[BARRIER]], %[[THREADS]] : <memorySpace = #gpu.address_space<workgroup>>
    // PTX: mbarrier.init.shared.b64 [%r{{[0-9]+}}], %r{{[0-9]+}};

  %num_threads = gpu.block_dim x
  %barrier = nvgpu.mbarrier.create -> !nvgpu.mbarrier.barrier<memorySpace = #gpu.address_space<workgroup>>
  nvgpu.mbarrier.init %barrier, %num_threads : !nvgpu.mbarrier.barrier<memorySpace = #gpu.address_space<workgroup>>

    // Three of four arrivals.
    %early = func.call @no_complete(%barrier, %count) : (!nvgpu.mbarrier.barrier<memorySpace = #gpu.address_space<workgroup>>, index) -> !nvgpu.mbarrier.token
    %before = nvgpu.mbarrier.test.wait %barrier, %early : !nvgpu.mbarrier.barrier<memorySpace = #gpu.address_space<workgroup>>, !nvgpu.mbarrier.token

    // TEXT: %[[TOKEN:.*]] = nvgpu.mbarrier.arrive %[[BARRIER]] : <memorySpace = #gpu.address_space<workgroup>> -> !nvgpu.mbarrier.token
    // TEXT: nvgpu.mbarrier.test.wait %[[BARRIER]], %[[TOKEN]] : <memorySpace = #gpu.address_space<workgroup>>, !nvgpu.mbarrier.token
    // PTX: mbarrier.arrive.shared.b64 [[STATE:%rd[0-9]+]], [%r{{[0-9]+}}];
    // PTX: mbarrier.test_wait.shared.b64 %p{{[0-9]+}}, [%r{{[0-9]+}}], [[STATE]];

  %token = nvgpu.mbarrier.arrive %barrier : !nvgpu.mbarrier.barrier<memorySpace = #gpu.address_space<workgroup>> -> !nvgpu.mbarrier.token
  %isComplete = nvgpu.mbarrier.test.wait %barrier, %token : !nvgpu.mbarrier.barrier<memorySpace = #gpu.address_space<workgroup>>, !nvgpu.mbarrier.token

    %0 = arith.extui %before : i1 to i32
    %1 = arith.extui %isComplete : i1 to i32
    // ARRIVALS: complete after 3 arrivals: 0, after 4: 1
    gpu.printf "complete after 3 arrivals: %d, after 4: %d\n", %0, %1 : i32, i32
    }
    gpu.return
  }

  // TEXT-LABEL: func.func @no_complete
  func.func @no_complete(%barrier: !nvgpu.mbarrier.barrier<memorySpace = #gpu.address_space<workgroup>>, %count: index) -> !nvgpu.mbarrier.token {
    // TEXT: nvgpu.mbarrier.arrive.nocomplete %{{.*}}, %{{.*}} : <memorySpace = #gpu.address_space<workgroup>> -> !nvgpu.mbarrier.token

  %token = nvgpu.mbarrier.arrive.noComplete %barrier, %count : !nvgpu.mbarrier.barrier<memorySpace = #gpu.address_space<workgroup>> -> !nvgpu.mbarrier.token

    return %token : !nvgpu.mbarrier.token
  }

  // No bytes to wait for: the arrival completes the phase.
  // TEXT-LABEL: gpu.func @transactions
  // PTX-LABEL: .entry transactions(
  gpu.func @transactions() kernel {
    %ic0 = arith.constant 0 : index
    %ticks = arith.constant 1000 : index
    %phase = arith.constant 0 : index
    %num_threads = gpu.block_dim x
  %barrier = nvgpu.mbarrier.create -> !nvgpu.mbarrier.barrier<memorySpace = #gpu.address_space<workgroup>>
    nvgpu.mbarrier.init %barrier, %num_threads : !nvgpu.mbarrier.barrier<memorySpace = #gpu.address_space<workgroup>>
    // TEXT: nvgpu.mbarrier.arrive.expect_tx %{{.*}}, %{{.*}} : <memorySpace = #gpu.address_space<workgroup>>
    // TEXT: nvgpu.mbarrier.try_wait.parity %{{.*}}, %{{.*}}, %{{.*}} : <memorySpace = #gpu.address_space<workgroup>>
    // PTX: mbarrier.arrive.expect_tx.shared.b64 _, [%r{{[0-9]+}}], %r{{[0-9]+}};
    // PTX: mbarrier.try_wait.parity.shared.b64 complete, [%r{{[0-9]+}}], %r{{[0-9]+}}, %r{{[0-9]+}};

  nvgpu.mbarrier.arrive.expect_tx %barrier, %ic0 : !nvgpu.mbarrier.barrier<memorySpace = #gpu.address_space<workgroup>>

  nvgpu.mbarrier.try_wait.parity %barrier, %phase, %ticks : !nvgpu.mbarrier.barrier<memorySpace = #gpu.address_space<workgroup>>

    // TRANSACTIONS: the phase is complete
    gpu.printf "the phase is complete\n"
    gpu.return
  }

  // The syntax has [%id] and types have num_barriers; the newer phase is a parity.
  // TEXT-LABEL: gpu.func @groups
  // PTX-LABEL: .entry groups(
  gpu.func @groups(%id: index) kernel {
    %c2 = arith.constant 2 : index
    %ticks = arith.constant 1000 : index
    %parity = arith.constant false
    // TEXT: nvgpu.mbarrier.create -> <memorySpace = 3 : i64, num_barriers = 4>
    %barriers = nvgpu.mbarrier.create -> !nvgpu.mbarrier.group<memorySpace = 3, num_barriers = 4>
    // TEXT: nvgpu.mbarrier.init %{{.*}}[%{{.*}}], %{{.*}} : <memorySpace = 3 : i64, num_barriers = 4>
    nvgpu.mbarrier.init %barriers[%id], %c2 : !nvgpu.mbarrier.group<memorySpace = 3, num_barriers = 4>
    // TEXT: nvgpu.mbarrier.arrive %{{.*}}[%{{.*}}] :
    %token = nvgpu.mbarrier.arrive %barriers[%id] : !nvgpu.mbarrier.group<memorySpace = 3, num_barriers = 4> -> !nvgpu.mbarrier.token
    // TEXT: nvgpu.mbarrier.test.wait %{{.*}}[%{{.*}}], %{{.*}} :
    %half = nvgpu.mbarrier.test.wait %barriers[%id], %token : !nvgpu.mbarrier.group<memorySpace = 3, num_barriers = 4>, !nvgpu.mbarrier.token
    // TEXT: nvgpu.mbarrier.arrive.expect_tx %{{.*}}[%{{.*}}], %{{.*}} :
    %c0 = arith.constant 0 : index
    nvgpu.mbarrier.arrive.expect_tx %barriers[%id], %c0 : !nvgpu.mbarrier.group<memorySpace = 3, num_barriers = 4>
    // TEXT: nvgpu.mbarrier.try_wait.parity %{{.*}}[%{{.*}}], %{{.*}}, %{{.*}} :
    nvgpu.mbarrier.try_wait.parity %barriers[%id], %parity, %ticks : !nvgpu.mbarrier.group<memorySpace = 3, num_barriers = 4>
    // TEXT: nvgpu.mbarrier.arrive.nocomplete %{{.*}}[%{{.*}}], %{{.*}} :
    %c1 = arith.constant 1 : index
    %next = nvgpu.mbarrier.arrive.nocomplete %barriers[%id], %c1 : !nvgpu.mbarrier.group<memorySpace = 3, num_barriers = 4> -> !nvgpu.mbarrier.token
    %again = nvgpu.mbarrier.test.wait %barriers[%id], %next : !nvgpu.mbarrier.group<memorySpace = 3, num_barriers = 4>, !nvgpu.mbarrier.token
    %0 = arith.extui %half : i1 to i32
    %1 = arith.extui %again : i1 to i32
    // GROUPS: 0 0
    gpu.printf "%d %d\n", %0, %1 : i32, i32
    gpu.return
  }
}
