// RUN: %not lemma compile %s --arch sm_80 2>&1 | FileCheck %s --check-prefix=OLD
// RUN: lemma compile %s | FileCheck %s --check-prefix=OWN
// RUN: lemma compile %s --arch sm_90a | FileCheck %s --check-prefix=ASKED
// RUN: %not lemma compile %s --arch sm_91 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// RUN: %not lemma run %s --arch hopper --grid 1 --block 1 2>&1 | FileCheck %s --check-prefix=WORD
//
// The target: the module's own, another by --arch, one that has not what the program uses, and ones that do not exist.

// OLD: error_target.mlir:[[# @LINE + 8]]:5: error: mbarrier.arrive.expect_tx.shared.b64 is not there on sm_80: it needs sm_90 and up
// OWN: .target sm_90{{$}}
// ASKED: .target sm_90a{{$}}
// UNKNOWN: error_target.mlir:[[# @LINE + 2]]:1: error: there is no target sm_91 (did you mean sm_90?); there are {{.*}}sm_90, sm_90a
// WORD: error: there is no target hopper; there are
gpu.module @kernels [#nvvm.target<chip = "sm_90">] {
  gpu.func @kernel(%bytes: index) kernel {
    %barrier = nvgpu.mbarrier.create -> !nvgpu.mbarrier.group<memorySpace = 3>
    nvgpu.mbarrier.arrive.expect_tx %barrier, %bytes : !nvgpu.mbarrier.group<memorySpace = 3>
    gpu.return
  }
}
