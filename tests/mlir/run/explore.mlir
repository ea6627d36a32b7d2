// Whole programs in several schedules: what they write, print and return is compared with the usual schedule's; findings and
// faults of all are reported; and the command is printed that repeats the first that is unlike.
//
// REQUIRES: numpy
//
// What does not follow from order: no difference, though memory lies elsewhere in each (base@).
// RUN: lemma run %s --entry right --check --explore 6 --arg out=%t.right.npy:s32[64] >%t.out 2>%t.err
// RUN: FileCheck %s --check-prefix=RIGHT <%t.out
// RUN: FileCheck %s --check-prefix=QUIET <%t.err
// RIGHT: base@ = 0x
// RIGHT-NOT: base@
// QUIET-NOT: schedule {{[0-9]}}
// QUIET: explore.mlir: 2 launches; checked: no findings; 6 schedules{{$}}
// RUN: %python -c "import numpy, sys; assert (numpy.load(sys.argv[1]) == numpy.arange(64)).all()" %t.right.npy
//
// What it writes.
// RUN: %not lemma run %s --entry last_wins --explore 4 --arg out=%t.last.npy:s32[1] 2>&1 | FileCheck %s --check-prefix=WRITES
// WRITES: lemma: schedule 1 (the last warps first, {{.*}}): {{.*}}last.npy differs from the usual schedule's in 1 byte, first at 0x0
// WRITES: lemma: to repeat schedule 1: {{.*}}--entry last_wins --arg {{.*}} --schedule 1{{$}}
// WRITES: 1 launch; races not checked; 4 schedules, {{[0-9]}} with other outputs
// RUN: %python -c "import numpy, sys; assert numpy.load(sys.argv[1]) == 3" %t.last.npy
// RUN: lemma run %s --entry last_wins --schedule 1 --arg out=%t.last.npy:s32[1]
// RUN: %python -c "import numpy, sys; assert numpy.load(sys.argv[1]) != 3" %t.last.npy
//
// What it prints, by a print function and in a kernel, and what it returns.
// RUN: %not lemma run %s --entry prints --explore 4 >%t.out 2>%t.err
// RUN: FileCheck %s --check-prefix=PRINTED <%t.out
// RUN: FileCheck %s --check-prefix=PRINTS <%t.err
// PRINTED: CTA 0
// PRINTED: CTA 3
// PRINTED: 3
// PRINTED-NOT: {{.}}
// PRINTS: lemma: schedule 1 ({{.*}}): what the program prints differs from the usual schedule's in {{[0-9]}} bytes, first at 0x4
// RUN: %not lemma run %s --entry returns --explore 4 2>&1 | FileCheck %s --check-prefix=RETURNS
// RETURNS: lemma: schedule 1 ({{.*}}): what returns returns differs from the usual schedule's in 1 byte, first at 0x0
//
// A fault in a schedule; as JSON, with what the usual schedule printed kept out of it.
// RUN: %not lemma run %s --entry ticket --explore 4 2>&1 | FileCheck %s --check-prefix=FAULT
// FAULT: lemma: schedule {{[1-3]}} ({{.*}}) ends with a fault:
// FAULT-NEXT: {{.*}}explore.mlir.ptx:{{.*}}fault[out of bounds]
// FAULT-NOT: fault[
// FAULT: 1 launch; races not checked; 4 schedules, {{[1-3]}} with a fault
// RUN: %not lemma run %s --entry ticket --explore 4 --json 2>&1 >%t.json
// RUN: %python -c "import json, sys; e = json.load(open(sys.argv[1]))['exploration']; assert [s['schedule'] for s in e['schedules'] if s['fault']][0] == e['first_unlike'] > 0, e" %t.json
//
// A fault of the usual schedule, too: its findings are reported, and the others run.
// RUN: %not lemma run %s --entry outside --explore 3 --check --sarif %t.sarif 2>&1 | FileCheck %s --check-prefix=OUTSIDE
// OUTSIDE: error[race.global]
// OUTSIDE: fault[out of bounds]
// OUTSIDE-NOT: fault[
// RUN: FileCheck %s --check-prefix=SARIF <%t.sarif
// SARIF-DAG: "ruleId": "memory.bounds"
// SARIF-DAG: "ruleId": "race.global"
//
// Sums of floating-point numbers that atomics explain.
// RUN: %python -c "import numpy, sys; numpy.save(sys.argv[1], (1.1 ** numpy.arange(256)).astype('f4'))" %t.terms.npy
// RUN: lemma run %s --entry sums --explore 4 --arg in=%t.terms.npy --arg out=%t.sum.npy:f32[1] 2>&1 | FileCheck %s --check-prefix=SUMS
// SUMS: lemma: note: the kernel has added floating-point numbers by atomics
// SUMS-NOT: to repeat
// SUMS: with other outputs (floating-point atomics)
//
// A signal in a schedule ends the process, and says of which.
// RUN: %not lemma run %s --entry crashes --explore 4 2>&1 | FileCheck %s --check-prefix=CRASH
// CRASH: lemma: schedule {{[1-3]}} ({{.*}}) ends with a signal:
// CRASH: fault[SIGSEGV]: host function crashes
// CRASH: lemma: to repeat schedule {{[1-3]}}: {{.*}}--schedule {{[1-3]}}

func.func private @printMemrefI32(memref<*xi32>)
func.func private @printI64(i64)
func.func private @printNewline()

// %out[0] = the number of the CTA that wrote last, and so is what it returns.
func.func private @last(%ctas: index) -> i32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %host = memref.alloc() : memref<1xi32>
  %device = gpu.alloc() : memref<1xi32>
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %ctas, %gy = %c1, %gz = %c1)
             threads(%x, %y, %z) in (%sx = %c1, %sy = %c1, %sz = %c1) {
    %i = arith.index_cast %bx : index to i32
    memref.store %i, %device[%c0] : memref<1xi32>
    gpu.terminator
  }
  gpu.memcpy %host, %device : memref<1xi32>, memref<1xi32>
  %value = memref.load %host[%c0] : memref<1xi32>
  gpu.dealloc %device : memref<1xi32>
  memref.dealloc %host : memref<1xi32>
  return %value : i32
}

func.func @last_wins(%out: memref<1xi32>) {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %last = func.call @last(%c4) : (index) -> i32
  memref.store %last, %out[%c0] : memref<1xi32>
  return
}

func.func @prints() {
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %c4, %gy = %c1, %gz = %c1)
             threads(%x, %y, %z) in (%sx = %c1, %sy = %c1, %sz = %c1) {
    gpu.printf "CTA %d\n", %bx : index
    gpu.terminator
  }
  %last = func.call @last(%c4) : (index) -> i32
  %wide = arith.extsi %last : i32 to i64
  func.call @printI64(%wide) : (i64) -> ()
  func.call @printNewline() : () -> ()
  return
}

// 0 in the usual schedule.
func.func @returns() -> i32 {
  %c4 = arith.constant 4 : index
  %three = arith.constant 3 : i32
  %last = func.call @last(%c4) : (index) -> i32
  %off = arith.subi %three, %last : i32
  return %off : i32
}

func.func @crashes() {
  %c4 = arith.constant 4 : index
  %three = arith.constant 3 : i32
  %null = arith.constant 0 : i64
  %last = func.call @last(%c4) : (index) -> i32
  %is_usual = arith.cmpi eq, %last, %three : i32
  scf.if %is_usual {
  } else {
    %pointer = llvm.inttoptr %null : i64 to !llvm.ptr
    %value = llvm.load volatile %pointer : !llvm.ptr -> i32
  }
  return
}

func.func @right(%out: memref<64xi32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %c16 = arith.constant 16 : index
  %device = gpu.alloc() : memref<64xi32>
  scf.for %round = %c0 to %c2 step %c1 {
    gpu.launch blocks(%bx, %by, %bz) in (%gx = %c4, %gy = %c1, %gz = %c1)
               threads(%x, %y, %z) in (%sx = %c16, %sy = %c1, %sz = %c1) {
      %row = arith.muli %bx, %c16 : index
      %at = arith.addi %row, %x : index
      %i = arith.index_cast %at : index to i32
      memref.store %i, %device[%at] : memref<64xi32>
      gpu.terminator
    }
  }
  gpu.memcpy %out, %device : memref<64xi32>, memref<64xi32>
  %any = memref.cast %out : memref<64xi32> to memref<*xi32>
  func.call @printMemrefI32(%any) : (memref<*xi32>) -> ()
  gpu.dealloc %device : memref<64xi32>
  return
}

// The CTA whose ticket is not its number writes far outside.
func.func @ticket() {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %far = arith.constant 1000000000 : index
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %host = memref.alloc() : memref<1xi32>
  memref.store %zero, %host[%c0] : memref<1xi32>
  %device = gpu.alloc() : memref<1xi32>
  gpu.memcpy %device, %host : memref<1xi32>, memref<1xi32>
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %c4, %gy = %c1, %gz = %c1)
             threads(%x, %y, %z) in (%sx = %c1, %sy = %c1, %sz = %c1) {
    %ticket = memref.atomic_rmw addi %one, %device[%c0] : (i32, memref<1xi32>) -> i32
    %i = arith.index_cast %bx : index to i32
    %wrong = arith.cmpi ne, %ticket, %i : i32
    scf.if %wrong {
      memref.store %i, %device[%far] : memref<1xi32>
    }
    gpu.terminator
  }
  gpu.dealloc %device : memref<1xi32>
  memref.dealloc %host : memref<1xi32>
  return
}

// All CTAs write to one place, then far outside.
func.func @outside() {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %far = arith.constant 1000000000 : index
  %device = gpu.alloc() : memref<1xi32>
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
             threads(%x, %y, %z) in (%sx = %c4, %sy = %c1, %sz = %c1) {
    %i = arith.index_cast %x : index to i32
    memref.store %i, %device[%c0] : memref<1xi32>
    memref.store %i, %device[%far] : memref<1xi32>
    gpu.terminator
  }
  return
}

func.func @sums(%in: memref<256xf32>, %out: memref<1xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c256 = arith.constant 256 : index
  %zero = arith.constant 0.0 : f32
  memref.store %zero, %out[%c0] : memref<1xf32>
  %terms = gpu.alloc() : memref<256xf32>
  %sum = gpu.alloc() : memref<1xf32>
  gpu.memcpy %terms, %in : memref<256xf32>, memref<256xf32>
  gpu.memcpy %sum, %out : memref<1xf32>, memref<1xf32>
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %c256, %gy = %c1, %gz = %c1)
             threads(%x, %y, %z) in (%sx = %c1, %sy = %c1, %sz = %c1) {
    %term = memref.load %terms[%bx] : memref<256xf32>
    %before = memref.atomic_rmw addf %term, %sum[%c0] : (f32, memref<1xf32>) -> f32
    gpu.terminator
  }
  gpu.memcpy %out, %sum : memref<1xf32>, memref<1xf32>
  gpu.dealloc %terms : memref<256xf32>
  gpu.dealloc %sum : memref<1xf32>
  return
}
