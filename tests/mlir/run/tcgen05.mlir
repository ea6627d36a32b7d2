// REQUIRES: numpy
// RUN: %python -c "import numpy as n, sys; r = n.random.default_rng(1); a, b = (r.integers(-8, 9, (m, 16)).astype('f2') for m in (128, 64)); w = (a @ b.T).astype('f4'); [n.save(p, x) for p, x in zip(sys.argv[1:], (a, b, w, 2 * w))]" %t.a.npy %t.b.npy %t.w.npy %t.w2.npy
// RUN: lemma run %s --grid 1 --block 128 --arg in=%t.a.npy --arg in=%t.b.npy --arg out=%t.d.npy:f32[128,64] \
// RUN:   --arg expect=%t.w.npy --arg out=%t.e.npy:f32[128,64] --arg expect=%t.w2.npy 2>&1 | FileCheck %s
// RUN: lemma run %s --grid 1 --block 128 --async=late --arg in=%t.a.npy --arg in=%t.b.npy --arg out=%t.d.npy:f32[128,64] \
// RUN:   --arg expect=%t.w.npy --arg out=%t.e.npy:f32[128,64] --arg expect=%t.w2.npy 2>&1 | FileCheck %s
// RUN: sed 's/chip = "sm_100a"/chip = "sm_90a"/' %s > %t.90.mlir
// RUN: %not lemma compile %t.90.mlir -o %t.ptx 2>&1 | FileCheck %s --check-prefix=TARGET
//
// A product of 128 x 64 x 16 by tcgen05, of upstream's operations: once with A in shared memory, and once more added to
// the first with A in tensor memory.

// CHECK: d.npy: equals
// CHECK: e.npy: equals
// TARGET: 'nvvm.tcgen05.alloc' op is not supported on sm_90a

gpu.module @kernels [#nvvm.target<chip = "sm_100a", features = "+ptx86">] {
  gpu.func @product(%a: memref<128x16xf16>, %b: memref<64x16xf16>, %d: memref<128x64xf32>, %e: memref<128x64xf32>)
      workgroup(%as: memref<16x2x8x8xf16, 3>, %bs: memref<8x2x8x8xf16, 3>, %done: memref<1xi64, 3>, %slot: memref<1xi32, 3>) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c8 = arith.constant 8 : index
    %c16 = arith.constant 16 : index
    %c64 = arith.constant 64 : index
    %c64_w = arith.constant 64 : i32
    %no = arith.constant false
    %yes = arith.constant true
    %t = gpu.thread_id x
    %n = arith.constant 128 : i32
    %one = arith.constant 1 : i32
    %w = arith.constant 32 : index
    %warp = arith.divui %t, %w : index
    %is_warp = arith.cmpi eq, %warp, %c0 : index
    %is_one = arith.cmpi eq, %t, %c0 : index
    %slot_i = memref.extract_aligned_pointer_as_index %slot : memref<1xi32, 3> -> index
    %slot_w = arith.index_cast %slot_i : index to i64
    %slot_p = llvm.inttoptr %slot_w : i64 to !llvm.ptr<3>
    %done_i = memref.extract_aligned_pointer_as_index %done : memref<1xi64, 3> -> index
    %done_w = arith.index_cast %done_i : index to i64
    %done_p = llvm.inttoptr %done_w : i64 to !llvm.ptr<3>
    scf.if %is_warp {
      nvvm.tcgen05.alloc %slot_p, %n : !llvm.ptr<3>, i32
      nvvm.tcgen05.relinquish_alloc_permit
    }
    scf.if %is_one {
      nvvm.mbarrier.init %done_p, %one : !llvm.ptr<3>, i32
    }
    // Core matrices of 8 rows by 16 bytes: [row / 8][k / 8][row % 8][k % 8].
    %r8 = arith.divui %t, %c8 : index
    %r = arith.remui %t, %c8 : index
    scf.for %k = %c0 to %c16 step %c1 {
      %k8 = arith.divui %k, %c8 : index
      %kr = arith.remui %k, %c8 : index
      %x = memref.load %a[%t, %k] : memref<128x16xf16>
      memref.store %x, %as[%r8, %k8, %r, %kr] : memref<16x2x8x8xf16, 3>
    }
    %has_b = arith.cmpi ult, %t, %c64 : index
    scf.if %has_b {
      scf.for %k = %c0 to %c16 step %c1 {
        %k8 = arith.divui %k, %c8 : index
        %kr = arith.remui %k, %c8 : index
        %x = memref.load %b[%t, %k] : memref<64x16xf16>
        memref.store %x, %bs[%r8, %k8, %r, %kr] : memref<8x2x8x8xf16, 3>
      }
    }
    nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}
    gpu.barrier
    %address = memref.load %slot[%c0] : memref<1xi32, 3>
    %taddr = llvm.inttoptr %address : i32 to !llvm.ptr<6>
    %c21 = arith.constant 21 : i32
    %warp_w = arith.index_cast %warp : index to i32
    %quarter = arith.shli %warp_w, %c21 : i32
    %own_w = arith.addi %quarter, %address : i32
    %own = llvm.inttoptr %own_w : i32 to !llvm.ptr<6>
    // A in the columns behind D: a lane has a row, a cell two elements.
    %a_row = vector.load %a[%t, %c0] : memref<128x16xf16>, vector<16xf16>
    %a_cells = vector.bitcast %a_row : vector<16xf16> to vector<8xi32>
    %own_a_w = arith.addi %own_w, %c64_w : i32
    %own_a = llvm.inttoptr %own_a_w : i32 to !llvm.ptr<6>
    nvvm.tcgen05.st %own_a, %a_cells {shape = #nvvm.tcgen05_ldst_shape<shape_32x32b>} : vector<8xi32>
    nvvm.tcgen05.wait <store>
    nvvm.tcgen05.fence <before>
    gpu.barrier
    nvvm.tcgen05.fence <after>
    %as_i = memref.extract_aligned_pointer_as_index %as : memref<16x2x8x8xf16, 3> -> index
    %bs_i = memref.extract_aligned_pointer_as_index %bs : memref<8x2x8x8xf16, 3> -> index
    %as_w = arith.index_cast %as_i : index to i32
    %bs_w = arith.index_cast %bs_i : index to i32
    // Fields as the descriptor has them: in 16 bytes.
    %c4 = arith.constant 4 : i32
    %as_f = arith.shrui %as_w, %c4 : i32
    %bs_f = arith.shrui %bs_w, %c4 : i32
    %lead = arith.constant 8 : i32
    %stride = arith.constant 16 : i32
    %none8 = arith.constant 0 : i8
    %a_desc = nvvm.tcgen05.mma_smem_desc (%as_f, %lead, %stride, %none8, %no, %none8) : (i32, i32, i32, i8, i1, i8) -> i64
    %b_desc = nvvm.tcgen05.mma_smem_desc (%bs_f, %lead, %stride, %none8, %no, %none8) : (i32, i32, i32, i8, i1, i8) -> i64
    %idesc = arith.constant 0x08100010 : i32
    scf.if %is_one {
      nvvm.tcgen05.mma %taddr, %a_desc, %b_desc, %idesc, %no {kind = #nvvm.tcgen05_mma_kind<f16>, ctaGroup = #nvvm.cta_group<cta_1>} : (!llvm.ptr<6>, i64, i64, i32, i1)
      nvvm.tcgen05.commit %done_p : !llvm.ptr<3>
    }
    %ticks = arith.constant 10000000 : i32
    %first = arith.constant 0 : i32
    nvvm.mbarrier.try_wait.parity %done_p, %first, %ticks : !llvm.ptr<3>, i32, i32
    nvvm.tcgen05.fence <after>
    %v = nvvm.tcgen05.ld %own {shape = #nvvm.tcgen05_ldst_shape<shape_32x32b>} : vector<64xi32>
    nvvm.tcgen05.wait <load>
    %f = vector.bitcast %v : vector<64xi32> to vector<64xf32>
    vector.store %f, %d[%t, %c0] : memref<128x64xf32>, vector<64xf32>
    nvvm.tcgen05.fence <before>
    gpu.barrier
    nvvm.tcgen05.fence <after>
    scf.if %is_one {
      %a_address = arith.addi %address, %c64_w : i32
      %a_taddr = llvm.inttoptr %a_address : i32 to !llvm.ptr<6>
      nvvm.tcgen05.mma %taddr, %a_taddr, %b_desc, %idesc, %yes {kind = #nvvm.tcgen05_mma_kind<f16>, ctaGroup = #nvvm.cta_group<cta_1>} : (!llvm.ptr<6>, !llvm.ptr<6>, i64, i32, i1)
      nvvm.tcgen05.commit %done_p : !llvm.ptr<3>
    }
    %second = arith.constant 1 : i32
    nvvm.mbarrier.try_wait.parity %done_p, %second, %ticks : !llvm.ptr<3>, i32, i32
    nvvm.tcgen05.fence <after>
    %v2 = nvvm.tcgen05.ld %own {shape = #nvvm.tcgen05_ldst_shape<shape_32x32b>} : vector<64xi32>
    nvvm.tcgen05.wait <load>
    %f2 = vector.bitcast %v2 : vector<64xi32> to vector<64xf32>
    vector.store %f2, %e[%t, %c0] : memref<128x64xf32>, vector<64xf32>
    nvvm.tcgen05.fence <before>
    gpu.barrier
    scf.if %is_warp {
      nvvm.tcgen05.dealloc %taddr, %n : !llvm.ptr<6>, i32
    }
    gpu.return
  }
}
