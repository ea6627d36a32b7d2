// RUN: lemma compile %s -o %t.ptx && FileCheck %s < %t.ptx && %ptxas -arch=sm_100a %t.ptx
// RUN: lemma verify %t.ptx
//
// Upstream's operations of tcgen05: intrinsics of LLVM, each of which becomes the instruction of its name. A function
// has one .cta_group. `run/tcgen05.mlir` runs a product of them.

gpu.module @kernels [#nvvm.target<chip = "sm_100a", features = "+ptx88">] {
  // CHECK-LABEL: .entry memory
  gpu.func @memory(%slot: !llvm.ptr<3>, %any: !llvm.ptr, %t: !llvm.ptr<6>, %n: i32) kernel {
    // CHECK: tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 {{.*}}[%rd[[SLOT:[0-9]+]]], %r[[N:[0-9]+]];
    nvvm.tcgen05.alloc %slot, %n : !llvm.ptr<3>, i32
    // CHECK: tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;
    nvvm.tcgen05.relinquish_alloc_permit
    // CHECK: tcgen05.fence::before_thread_sync;
    nvvm.tcgen05.fence <before>
    // CHECK: tcgen05.fence::after_thread_sync;
    nvvm.tcgen05.fence <after>
    // CHECK: tcgen05.wait::ld.sync.aligned;
    nvvm.tcgen05.wait <load>
    // CHECK: tcgen05.wait::st.sync.aligned;
    nvvm.tcgen05.wait <store>
    // CHECK: tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 {{.*}}[%rd[[SLOT]]];
    nvvm.tcgen05.commit %slot : !llvm.ptr<3>
    // CHECK: tcgen05.commit.cta_group::1.mbarrier::arrive::one{{.*}}.b64
    nvvm.tcgen05.commit %any : !llvm.ptr
    // CHECK: tcgen05.shift.cta_group::1.down {{.*}}[%r[[T:[0-9]+]]];
    nvvm.tcgen05.shift %t : !llvm.ptr<6>
    // CHECK: tcgen05.dealloc.cta_group::1.sync.aligned.b32 {{.*}}%r[[T]], %r[[N]];
    nvvm.tcgen05.dealloc %t, %n : !llvm.ptr<6>, i32
    gpu.return
  }

  // CHECK-LABEL: .entry memory_of_a_pair
  gpu.func @memory_of_a_pair(%slot: !llvm.ptr<3>, %any: !llvm.ptr, %t: !llvm.ptr<6>, %n: i32, %mask: i16) kernel {
    // CHECK: tcgen05.alloc.cta_group::2.sync.aligned.b32
    nvvm.tcgen05.alloc %any, %n {group = #nvvm.cta_group<cta_2>} : !llvm.ptr, i32
    // CHECK: tcgen05.relinquish_alloc_permit.cta_group::2.sync.aligned;
    nvvm.tcgen05.relinquish_alloc_permit {group = #nvvm.cta_group<cta_2>}
    // CHECK: tcgen05.commit.cta_group::2.mbarrier::arrive::one.shared::cluster.multicast::cluster.b64 {{.*}}, %rs{{[0-9]+}};
    nvvm.tcgen05.commit %slot, multicast_mask = %mask {group = #nvvm.cta_group<cta_2>} : !llvm.ptr<3>, i16
    // CHECK: tcgen05.cp.cta_group::2.4x256b
    %s = arith.constant 0x4000404000010040 : i64
    nvvm.tcgen05.cp %t, %s {shape = #nvvm.tcgen05_cp_shape<shape_4x256b>, group = #nvvm.cta_group<cta_2>}
    // CHECK: tcgen05.dealloc.cta_group::2.sync.aligned.b32
    nvvm.tcgen05.dealloc %t, %n {group = #nvvm.cta_group<cta_2>} : !llvm.ptr<6>, i32
    gpu.return
  }

  // CHECK-LABEL: .entry copies
  gpu.func @copies(%t: !llvm.ptr<6>, %s: i64) kernel {
    // CHECK: tcgen05.cp.cta_group::1.128x256b {{.*}}[%r{{[0-9]+}}], %rd{{[0-9]+}};
    nvvm.tcgen05.cp %t, %s {shape = #nvvm.tcgen05_cp_shape<shape_128x256b>}
    // CHECK: tcgen05.cp.cta_group::1.128x128b.b8x16.b4x16_p64
    nvvm.tcgen05.cp %t, %s {shape = #nvvm.tcgen05_cp_shape<shape_128x128b>, srcFormat = #nvvm.tcgen05_cp_src_fmt<b4x16_p64>}
    // CHECK: tcgen05.cp.cta_group::1.64x128b.warpx2::01_23.b8x16.b6x16_p32
    nvvm.tcgen05.cp %t, %s {shape = #nvvm.tcgen05_cp_shape<shape_64x128b>, multicast = #nvvm.tcgen05_cp_multicast<warpx2_01_23>, srcFormat = #nvvm.tcgen05_cp_src_fmt<b6x16_p32>}
    // CHECK: tcgen05.cp.cta_group::1.32x128b.warpx4
    nvvm.tcgen05.cp %t, %s {shape = #nvvm.tcgen05_cp_shape<shape_32x128b>, multicast = #nvvm.tcgen05_cp_multicast<warpx4>}
    gpu.return
  }

  // CHECK-LABEL: .entry registers
  gpu.func @registers(%t: !llvm.ptr<6>) kernel {
    %half = arith.constant 16 : i64
    // CHECK: tcgen05.ld.sync.aligned.16x64b.x1.b32
    %a = nvvm.tcgen05.ld %t {shape = #nvvm.tcgen05_ldst_shape<shape_16x64b>} : i32
    // CHECK: tcgen05.ld.sync.aligned.16x128b.x2.pack::16b.b32
    %b = nvvm.tcgen05.ld %t pack {shape = #nvvm.tcgen05_ldst_shape<shape_16x128b>} : vector<4xi32>
    // CHECK: tcgen05.ld.sync.aligned.16x256b.x2.b32
    %c = nvvm.tcgen05.ld %t {shape = #nvvm.tcgen05_ldst_shape<shape_16x256b>} : vector<8xi32>
    // CHECK: tcgen05.ld.sync.aligned.16x32bx2.x2.b32 {{.*}}, 16;
    %d = nvvm.tcgen05.ld %t, %half {shape = #nvvm.tcgen05_ldst_shape<shape_16x32bx2>} : vector<2xi32>
    // CHECK: tcgen05.wait::ld
    nvvm.tcgen05.wait <load>
    // CHECK: tcgen05.st.sync.aligned.16x64b.x1.b32
    nvvm.tcgen05.st %t, %a {shape = #nvvm.tcgen05_ldst_shape<shape_16x64b>} : i32
    // CHECK: tcgen05.st.sync.aligned.16x128b.x2.unpack::16b.b32
    nvvm.tcgen05.st %t, %b unpack {shape = #nvvm.tcgen05_ldst_shape<shape_16x128b>} : vector<4xi32>
    // CHECK: tcgen05.st.sync.aligned.16x256b.x2.b32
    nvvm.tcgen05.st %t, %c {shape = #nvvm.tcgen05_ldst_shape<shape_16x256b>} : vector<8xi32>
    // CHECK: tcgen05.st.sync.aligned.16x32bx2.x2.b32 {{.*}}, 16, {
    nvvm.tcgen05.st %t, %d, %half {shape = #nvvm.tcgen05_ldst_shape<shape_16x32bx2>} : vector<2xi32>
    gpu.return
  }

  // CHECK-LABEL: .entry products
  gpu.func @products(%t: !llvm.ptr<6>, %u: !llvm.ptr<6>, %a: i64, %b: i64, %i: i32, %yes: i1, %lanes: vector<4xi32>) kernel {
    %two = arith.constant 2 : i64
    // CHECK: tcgen05.mma.cta_group::1.kind::f16.collector::a::discard [%r[[D:[0-9]+]]], %rd{{[0-9]+}}, %rd[[B:[0-9]+]], %r[[I:[0-9]+]], %p{{[0-9]+}};
    nvvm.tcgen05.mma %t, %a, %b, %i, %yes {kind = #nvvm.tcgen05_mma_kind<f16>, ctaGroup = #nvvm.cta_group<cta_1>} : (!llvm.ptr<6>, i64, i64, i32, i1)
    // CHECK: tcgen05.mma.cta_group::1.kind::f8f6f4.collector::a::fill [%r[[D]]], [%r[[U:[0-9]+]]], %rd[[B]], %r[[I]], %p
    nvvm.tcgen05.mma %t, %u, %b, %i, %yes {kind = #nvvm.tcgen05_mma_kind<f8f6f4>, ctaGroup = #nvvm.cta_group<cta_1>, collectorOp = #nvvm.tcgen05_mma_collectorop<fill>} : (!llvm.ptr<6>, !llvm.ptr<6>, i64, i32, i1)
    // CHECK: tcgen05.mma.cta_group::1.kind::tf32.collector::a::discard.ashift
    nvvm.tcgen05.mma %t, %u, %b, %i, %yes {kind = #nvvm.tcgen05_mma_kind<tf32>, ctaGroup = #nvvm.cta_group<cta_1>, aShift} : (!llvm.ptr<6>, !llvm.ptr<6>, i64, i32, i1)
    // CHECK: tcgen05.mma.cta_group::1.kind::f16{{.*}}, %p{{[0-9]+}}, 2;
    nvvm.tcgen05.mma %t, %a, %b, %i, %yes scale = %two {kind = #nvvm.tcgen05_mma_kind<f16>, ctaGroup = #nvvm.cta_group<cta_1>} : (!llvm.ptr<6>, i64, i64, i32, i1, i64)
    // CHECK: tcgen05.mma.cta_group::1.kind::i8{{.*}}, {%r{{[0-9]+}}, %r{{[0-9]+}}, %r{{[0-9]+}}, %r{{[0-9]+}}}, %p
    nvvm.tcgen05.mma %t, %a, %b, %i, %yes mask = %lanes {kind = #nvvm.tcgen05_mma_kind<i8>, ctaGroup = #nvvm.cta_group<cta_1>} : (!llvm.ptr<6>, i64, i64, i32, i1, vector<4xi32>)
    // CHECK: tcgen05.mma.sp.cta_group::1.kind::f16.collector::a::discard [%r[[D]]], %rd{{[0-9]+}}, %rd[[B]], [%r[[U]]], %r[[I]], %p
    nvvm.tcgen05.mma.sp %t, %a, %b, %i, %yes, %u {kind = #nvvm.tcgen05_mma_kind<f16>, ctaGroup = #nvvm.cta_group<cta_1>} : (!llvm.ptr<6>, i64, i64, i32, i1, !llvm.ptr<6>)
    // CHECK: tcgen05.mma.cta_group::1.kind::mxf8f6f4.block_scale{{.*}}, [%r[[U]]], [%r[[D]]], %p
    nvvm.tcgen05.mma.block_scale %t, %a, %b, %i, %yes, %u, %t {kind = #nvvm.block_scale_kind<mxf8f6f4>, ctaGroup = #nvvm.cta_group<cta_1>} : (!llvm.ptr<6>, i64, i64, i32, i1, !llvm.ptr<6>, !llvm.ptr<6>)
    // CHECK: tcgen05.mma.cta_group::1.kind::mxf4nvf4.block_scale.block16
    nvvm.tcgen05.mma.block_scale %t, %a, %b, %i, %yes, %u, %u {kind = #nvvm.block_scale_kind<mxf4nvf4>, ctaGroup = #nvvm.cta_group<cta_1>, blockScale = #nvvm.tcgen05_mma_block_scale<block16>} : (!llvm.ptr<6>, i64, i64, i32, i1, !llvm.ptr<6>, !llvm.ptr<6>)
    // CHECK: tcgen05.mma.sp.cta_group::1.kind::mxf4.block_scale
    nvvm.tcgen05.mma.sp.block_scale %t, %a, %b, %i, %yes, %u, %u, %u {kind = #nvvm.block_scale_kind<mxf4>, ctaGroup = #nvvm.cta_group<cta_1>} : (!llvm.ptr<6>, i64, i64, i32, i1, !llvm.ptr<6>, !llvm.ptr<6>, !llvm.ptr<6>)
    // CHECK: tcgen05.mma.ws.cta_group::1.kind::f16.collector::b0::discard
    nvvm.tcgen05.mma.ws %t, %a, %b, %i, %yes {kind = #nvvm.tcgen05_mma_kind<f16>} : (!llvm.ptr<6>, i64, i64, i32, i1)
    // CHECK: tcgen05.mma.ws.cta_group::1.kind::i8.collector::b2::lastuse {{.*}}, %p{{[0-9]+}}, %rd[[B]];
    nvvm.tcgen05.mma.ws %t, %a, %b, %i, %yes, %b {kind = #nvvm.tcgen05_mma_kind<i8>, collectorBBuffer = #nvvm.tcgen05_mma_collectorb<b2>, collectorOp = #nvvm.tcgen05_mma_collectorop<lastuse>} : (!llvm.ptr<6>, i64, i64, i32, i1, i64)
    // CHECK: tcgen05.mma.ws.sp.cta_group::1.kind::f16.collector::b0::discard
    nvvm.tcgen05.mma.ws.sp %t, %a, %b, %i, %yes, %u {kind = #nvvm.tcgen05_mma_kind<f16>} : (!llvm.ptr<6>, i64, i64, i32, i1, !llvm.ptr<6>)
    gpu.return
  }

  // CHECK-LABEL: .entry products_of_a_pair
  gpu.func @products_of_a_pair(%t: !llvm.ptr<6>, %a: i64, %b: i64, %i: i32, %yes: i1, %lanes: vector<8xi32>) kernel {
    // CHECK: tcgen05.mma.cta_group::2.kind::f16.collector::a::discard {{.*}}, {%r{{[0-9]+}}, %r{{[0-9]+}}, %r{{[0-9]+}}, %r{{[0-9]+}}, %r{{[0-9]+}}, %r{{[0-9]+}}, %r{{[0-9]+}}, %r{{[0-9]+}}}, %p
    nvvm.tcgen05.mma %t, %a, %b, %i, %yes mask = %lanes {kind = #nvvm.tcgen05_mma_kind<f16>, ctaGroup = #nvvm.cta_group<cta_2>} : (!llvm.ptr<6>, i64, i64, i32, i1, vector<8xi32>)
    gpu.return
  }

  // Fields as the descriptor has them, in units of 16 bytes; the version is the operation's: 0x4000404000010040.
  // CHECK-LABEL: .entry descriptor
  gpu.func @descriptor(%out: memref<1xi64>) kernel {
    %c0 = arith.constant 0 : index
    %start = arith.constant 0x40 : i32
    %leading = arith.constant 1 : i32
    %stride = arith.constant 64 : i32
    %zero = arith.constant 0 : i8
    %no = arith.constant 0 : i1
    %swizzle = arith.constant 2 : i8
    %d = nvvm.tcgen05.mma_smem_desc (%start, %leading, %stride, %zero, %no, %swizzle) : (i32, i32, i32, i8, i1, i8) -> i64
    // CHECK-DAG: st.global.b32 [%rd{{[0-9]+}}+4], 1073758272;
    // CHECK-DAG: st.global.b32 [%rd{{[0-9]+}}], 65600;
    memref.store %d, %out[%c0] : memref<1xi64>
    gpu.return
  }
}
