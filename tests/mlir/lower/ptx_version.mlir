// RUN: lemma compile %s --module newer -o %t.ptx && FileCheck %s --check-prefix=NEWER < %t.ptx && %ptxas -arch=sm_90a %t.ptx
// RUN: lemma compile %s --module older | FileCheck %s --check-prefix=OLDER
// RUN: lemma compile %s --module asked | FileCheck %s --check-prefix=ASKED
// RUN: %not lemma compile %s --module future 2>&1 | FileCheck %s --check-prefix=FUTURE
// RUN: %not lemma compile %s --module newer --arch sm_80 2>&1 | FileCheck %s --check-prefix=TARGET
//
// The PTX version is the lowest in which LLVM has all that the operations want, and no lower than #nvvm.target says; what no
// version has for the target is refused, with its line.

// OLDER: .version 8.0
gpu.module @older [#nvvm.target<chip = "sm_90a">] {
  llvm.func @nothing() attributes {nvvm.kernel} {
    llvm.return
  }
}

// NEWER: .version 8.{{[1-9]}}
// NEWER: mbarrier.test_wait
gpu.module @newer [#nvvm.target<chip = "sm_90a">] {
  llvm.func @wait(%bar: !llvm.ptr<3>, %phase: i32, %out: !llvm.ptr) attributes {nvvm.kernel} {
    // TARGET: ptx_version.mlir:[[@LINE+1]]:13: error: LLVM's NVPTX back end makes nothing for sm_80 of this, in no PTX version up to {{.*}}: llvm.nvvm.mbarrier
    %done = nvvm.mbarrier.test.wait %bar, %phase {relaxed = true} : !llvm.ptr<3>, i32 -> i1
    %word = llvm.zext %done : i1 to i32
    llvm.store %word, %out : i32, !llvm.ptr
    llvm.return
  }
}

// ASKED: .version 8.6
gpu.module @asked [#nvvm.target<chip = "sm_90a", features = "+ptx86">] {
  llvm.func @nothing() attributes {nvvm.kernel} {
    llvm.return
  }
}

// FUTURE: ptx_version.mlir:[[@LINE+1]]:1: error: this LLVM makes PTX up to version {{[0-9.]+}}, not 99.9
gpu.module @future [#nvvm.target<chip = "sm_90a", features = "+ptx999">] {
  llvm.func @nothing() attributes {nvvm.kernel} {
    llvm.return
  }
}
