// What a kernel prints with gpu.printf: text, integers of 32 and 64 bits, an f32 (which printf takes as a double), and
// percent signs. One warp, so the lanes that print do so in their order; one of them prints twice. The program has no
// result: its exit status is 0, and its verdict is what it prints.
//
// Not here: the order of printing among CTAs, which nothing defines.
// Spec: gpu.printf; CUDA C++, formatted output (vprintf).
// RUN: lemma run %s | FileCheck %s
// CHECK: Before the kernel
// CHECK-NEXT: lane 0 of CTA 0
// CHECK-NEXT: lane 1 of CTA 0
// CHECK-NEXT: lane 2 of CTA 0
// CHECK-NEXT: lane 3 of CTA 0
// CHECK-NEXT: -7 and 4294967296, 0.625 and 100%
// CHECK-NEXT: nothing but text
// CHECK-NEXT: After the kernel

module attributes {gpu.container_module} {
  gpu.module @kernels {
    gpu.func @speak(%small: i32, %large: i64, %real: f32) kernel {
      %four = arith.constant 4 : index
      %two = arith.constant 2 : index
      %thread = gpu.thread_id x
      %block = gpu.block_id x
      %speaks = arith.cmpi ult, %thread, %four : index
      scf.if %speaks {
        gpu.printf "lane %lld of CTA %lld\n", %thread, %block : index, index
      }
      %third = arith.cmpi eq, %thread, %two : index
      scf.if %third {
        gpu.printf "%d and %lld, %.3f and 100%%\n", %small, %large, %real : i32, i64, f32
        gpu.printf "nothing but text\n"
      }
      gpu.return
    }
  }

  func.func @main() {
    %c1 = arith.constant 1 : index
    %c32 = arith.constant 32 : index
    %small = arith.constant -7 : i32
    %large = arith.constant 4294967296 : i64
    %real = arith.constant 0.625 : f32
    vector.print str "Before the kernel\n"
    %ready = gpu.wait async
    %done = gpu.launch_func async [%ready] @kernels::@speak blocks in (%c1, %c1, %c1) threads in (%c32, %c1, %c1)
      args(%small : i32, %large : i64, %real : f32)
    gpu.wait [%done]
    vector.print str "After the kernel\n"
    return
  }
}
