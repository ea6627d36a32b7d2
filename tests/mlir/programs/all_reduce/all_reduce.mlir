// gpu.all_reduce over the threads of a CTA: sum, signed minimum and maximum, exclusive or, a region (the sum modulo
// 97), and the sum in f32. Two CTAs of 100 threads, so the last warp is not full. Every thread gets every result; all
// are compared with what the host computes in order.
//
// The f32 entries are whole numbers so small that every sum is exact.
//
// Not here: reductions within a warp (subgroup_reduce).
// Spec: gpu.all_reduce.
// RUN: lemma run %s | FileCheck %s
// CHECK: sum, minimum, maximum, xor, sum modulo 97:
// CHECK: {{\[\[}}-14, -50, 50, 60, 83],
// CHECK-NEXT: [-43, -50, 50, 25, 54]]
// CHECK-NEXT: Correct: 1200 of 1200

module attributes {gpu.container_module} {
  gpu.module @kernels {
    gpu.func @reduce(%in: memref<2x100xi32>, %out: memref<2x5x100xi32>, %out_f32: memref<2x100xf32>) kernel {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c2 = arith.constant 2 : index
      %c3 = arith.constant 3 : index
      %c4 = arith.constant 4 : index
      %prime = arith.constant 97 : i32
      %thread = gpu.thread_id x
      %block = gpu.block_id x
      %value = memref.load %in[%block, %thread] : memref<2x100xi32>

      %sum = gpu.all_reduce add %value uniform {} : (i32) -> i32
      %min = gpu.all_reduce minsi %value uniform {} : (i32) -> i32
      %max = gpu.all_reduce maxsi %value uniform {} : (i32) -> i32
      %xor = gpu.all_reduce xor %value uniform {} : (i32) -> i32
      %shifted = arith.addi %value, %prime : i32
      %positive = arith.remsi %shifted, %prime : i32
      %modulo = gpu.all_reduce %positive uniform {
      ^bb(%lhs: i32, %rhs: i32):
        %both = arith.addi %lhs, %rhs : i32
        %modulus = arith.constant 97 : i32
        %rest = arith.remui %both, %modulus : i32
        gpu.yield %rest : i32
      } : (i32) -> (i32)
      %real = arith.sitofp %value : i32 to f32
      %sum_f32 = gpu.all_reduce add %real uniform {} : (f32) -> f32

      memref.store %sum, %out[%block, %c0, %thread] : memref<2x5x100xi32>
      memref.store %min, %out[%block, %c1, %thread] : memref<2x5x100xi32>
      memref.store %max, %out[%block, %c2, %thread] : memref<2x5x100xi32>
      memref.store %xor, %out[%block, %c3, %thread] : memref<2x5x100xi32>
      memref.store %modulo, %out[%block, %c4, %thread] : memref<2x5x100xi32>
      memref.store %sum_f32, %out_f32[%block, %thread] : memref<2x100xf32>
      gpu.return
    }
  }

  func.func private @printMemrefI32(memref<*xi32>) attributes {llvm.emit_c_interface}

  func.func @main() -> i32 {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c3 = arith.constant 3 : index
    %c4 = arith.constant 4 : index
    %c5 = arith.constant 5 : index
    %c99 = arith.constant 99 : index
    %c100 = arith.constant 100 : index
    %n0 = arith.constant 0 : i64
    %zero = arith.constant 0 : i32
    %prime = arith.constant 97 : i32
    %step = arith.constant 37 : i32
    %width = arith.constant 101 : i32
    %middle = arith.constant 50 : i32
    %offset = arith.constant 29 : i32
    %total = arith.constant 1200 : i64

    // (37 i + 29 block) mod 101 - 50
    %in = memref.alloc() : memref<2x100xi32>
    scf.for %block = %c0 to %c2 step %c1 {
      scf.for %i = %c0 to %c100 step %c1 {
        %i32 = arith.index_cast %i : index to i32
        %block32 = arith.index_cast %block : index to i32
        %p = arith.muli %i32, %step : i32
        %q = arith.muli %block32, %offset : i32
        %r = arith.addi %p, %q : i32
        %s = arith.remui %r, %width : i32
        %value = arith.subi %s, %middle : i32
        memref.store %value, %in[%block, %i] : memref<2x100xi32>
      }
    }

    %out = memref.alloc() : memref<2x5x100xi32>
    %out_f32 = memref.alloc() : memref<2x100xf32>
    %ready = gpu.wait async
    %din, %t0 = gpu.alloc async [%ready] () : memref<2x100xi32>
    %dout, %t1 = gpu.alloc async [%t0] () : memref<2x5x100xi32>
    %dout_f32, %t2 = gpu.alloc async [%t1] () : memref<2x100xf32>
    %t3 = gpu.memcpy async [%t2] %din, %in : memref<2x100xi32>, memref<2x100xi32>
    %t4 = gpu.launch_func async [%t3] @kernels::@reduce blocks in (%c2, %c1, %c1) threads in (%c100, %c1, %c1)
      args(%din : memref<2x100xi32>, %dout : memref<2x5x100xi32>, %dout_f32 : memref<2x100xf32>)
    %t5 = gpu.memcpy async [%t4] %out, %dout : memref<2x5x100xi32>, memref<2x5x100xi32>
    %t6 = gpu.memcpy async [%t5] %out_f32, %dout_f32 : memref<2x100xf32>, memref<2x100xf32>
    %t7 = gpu.dealloc async [%t6] %din : memref<2x100xi32>
    %t8 = gpu.dealloc async [%t7] %dout : memref<2x5x100xi32>
    %t9 = gpu.dealloc async [%t8] %dout_f32 : memref<2x100xf32>
    gpu.wait [%t9]

    %want = memref.alloc() : memref<2x5xi32>
    %correct = scf.for %block = %c0 to %c2 step %c1 iter_args(%n_block = %n0) -> (i64) {
      %first = memref.load %in[%block, %c0] : memref<2x100xi32>
      %sum, %min, %max, %xor, %modulo = scf.for %i = %c0 to %c100 step %c1
          iter_args(%a = %zero, %b = %first, %c = %first, %d = %zero, %e = %zero) -> (i32, i32, i32, i32, i32) {
        %value = memref.load %in[%block, %i] : memref<2x100xi32>
        %a_new = arith.addi %a, %value : i32
        %b_new = arith.minsi %b, %value : i32
        %c_new = arith.maxsi %c, %value : i32
        %d_new = arith.xori %d, %value : i32
        %shifted = arith.addi %value, %prime : i32
        %e_sum = arith.addi %e, %shifted : i32
        %e_new = arith.remsi %e_sum, %prime : i32
        scf.yield %a_new, %b_new, %c_new, %d_new, %e_new : i32, i32, i32, i32, i32
      }
      memref.store %sum, %want[%block, %c0] : memref<2x5xi32>
      memref.store %min, %want[%block, %c1] : memref<2x5xi32>
      memref.store %max, %want[%block, %c2] : memref<2x5xi32>
      memref.store %xor, %want[%block, %c3] : memref<2x5xi32>
      memref.store %modulo, %want[%block, %c4] : memref<2x5xi32>
      %real = arith.sitofp %sum : i32 to f32
      %real_bits = arith.bitcast %real : f32 to i32

      %n_next = scf.for %i = %c0 to %c100 step %c1 iter_args(%n = %n_block) -> (i64) {
        %n_ops = scf.for %op = %c0 to %c5 step %c1 iter_args(%m = %n) -> (i64) {
          %x = memref.load %want[%block, %op] : memref<2x5xi32>
          %y = memref.load %out[%block, %op, %i] : memref<2x5x100xi32>
          %same = arith.cmpi eq, %x, %y : i32
          %one = arith.extui %same : i1 to i64
          %m_new = arith.addi %m, %one : i64
          scf.yield %m_new : i64
        }
        %y_f32 = memref.load %out_f32[%block, %i] : memref<2x100xf32>
        %y_bits = arith.bitcast %y_f32 : f32 to i32
        %same = arith.cmpi eq, %real_bits, %y_bits : i32
        %one = arith.extui %same : i1 to i64
        %n_new = arith.addi %n_ops, %one : i64
        scf.yield %n_new : i64
      }
      scf.yield %n_next : i64
    }
    // What thread 99 has.
    %seen = memref.alloc() : memref<2x5xi32>
    scf.for %block = %c0 to %c2 step %c1 {
      scf.for %op = %c0 to %c5 step %c1 {
        %value = memref.load %out[%block, %op, %c99] : memref<2x5x100xi32>
        memref.store %value, %seen[%block, %op] : memref<2x5xi32>
      }
    }
    vector.print str "sum, minimum, maximum, xor, sum modulo 97:\n"
    %shown = memref.cast %seen : memref<2x5xi32> to memref<*xi32>
    func.call @printMemrefI32(%shown) : (memref<*xi32>) -> ()
    vector.print str "Correct: "
    vector.print %correct : i64 punctuation <no_punctuation>
    vector.print str " of "
    vector.print %total : i64

    memref.dealloc %in : memref<2x100xi32>
    memref.dealloc %out : memref<2x5x100xi32>
    memref.dealloc %out_f32 : memref<2x100xf32>
    memref.dealloc %want : memref<2x5xi32>
    memref.dealloc %seen : memref<2x5xi32>
    %wrong = arith.cmpi ne, %correct, %total : i64
    %status = arith.extui %wrong : i1 to i32
    return %status : i32
  }
}
