// RUN: %not lemma run %s --entry null 2>&1 | FileCheck %s --check-prefix=NULL
// RUN: %not lemma run %s --entry trap 2>&1 | FileCheck %s --check-prefix=TRAP
// RUN: %not lemma run %s --entry stop 2>&1 | FileCheck %s --check-prefix=ABORT
// RUN: %not lemma run %s --entry deep 2>&1 | FileCheck %s --check-prefix=DEEP
// RUN: %not lemma run %s --entry divide 2>&1 | FileCheck %s --check-prefix=DIVIDE
// RUN: %not lemma run %s --entry copies 2>&1 | FileCheck %s --check-prefix=COPIES
// RUN: echo old > %t.old && cp %t.old %t.out
// RUN: %not lemma run %s --entry breaks --json --arg inout=%t.old:%t.out 2>&1 | FileCheck %s --check-prefix=JSON
// RUN: cmp %t.old %t.out
//
// Host code runs natively. A signal of its own ends the process with status 1 after a message that names the
// function; what the program printed comes before, and no output is written.

// NULL: 42
// NULL-NEXT: host_signals.mlir: fault[SIGSEGV]: host function writes_null: no memory that may be accessed so, at address 0x0000000000000000
// NULL-NEXT: note: host code runs natively

// TRAP: host_signals.mlir: fault[SIG{{ILL|TRAP}}]: host function trap: a trap, or an illegal instruction

// ABORT: host_signals.mlir: fault[SIGABRT]: in what host function stop called: abort was called

// DEEP: host_signals.mlir: fault[SIGSEGV]: host function deeper: the stack is used up

// DIVIDE: host_signals.mlir: fault[SIG{{FPE|ILL}}]: host function divide:

// COPIES: host_signals.mlir: fault[SIGSEGV]: in what host function copies called: no memory that may be accessed so

// JSON: host_signals.mlir: fault[SIGSEGV]: host function writes_null
// JSON: lemma: no output was written
// JSON: "exit_status": 1
// JSON: "outputs_written": false
module {
  func.func private @printI64(i64)
  func.func private @printNewline()
  func.func private @abort()
  func.func private @memrefCopy(i64, !llvm.ptr, !llvm.ptr)

  llvm.func @writes_null() {
    %zero = llvm.mlir.zero : !llvm.ptr
    %one = llvm.mlir.constant(1 : i32) : i32
    llvm.store volatile %one, %zero : i32, !llvm.ptr
    llvm.return
  }
  func.func @null() {
    %c = arith.constant 42 : i64
    call @printI64(%c) : (i64) -> ()
    call @printNewline() : () -> ()
    llvm.call @writes_null() : () -> ()
    return
  }
  func.func @breaks(%data: memref<?xi8>) {
    llvm.call @writes_null() : () -> ()
    return
  }
  func.func @trap() {
    llvm.intr.trap
    return
  }
  func.func @stop() {
    call @abort() : () -> ()
    return
  }
  func.func @deeper(%n: i64) -> i64 {
    %one = arith.constant 1 : i64
    %more = arith.addi %n, %one : i64
    %below = call @deeper(%more) : (i64) -> i64
    %sum = arith.addi %below, %n : i64
    return %sum : i64
  }
  func.func @deep() {
    %zero = arith.constant 0 : i64
    %sum = call @deeper(%zero) : (i64) -> i64
    call @printI64(%sum) : (i64) -> ()
    return
  }
  func.func @divide() {
    %one = llvm.mlir.constant(1 : i64) : i64
    %zero = llvm.mlir.constant(0 : i64) : i64
    %memory = llvm.alloca %one x i64 : (i64) -> !llvm.ptr
    llvm.store volatile %zero, %memory : i64, !llvm.ptr
    %n = llvm.load volatile %memory : !llvm.ptr -> i64
    %m = llvm.load volatile %memory : !llvm.ptr -> i64
    %q = arith.divsi %m, %n : i64
    call @printI64(%q) : (i64) -> ()
    return
  }
  func.func @copies() {
    %zero = llvm.mlir.zero : !llvm.ptr
    %bytes = arith.constant 4 : i64
    call @memrefCopy(%bytes, %zero, %zero) : (i64, !llvm.ptr, !llvm.ptr) -> ()
    return
  }
}
