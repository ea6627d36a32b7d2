// RUN: lemma-opt --lemma-matmul-to-nvgpu=arch=sm_100a %s | FileCheck %s
// RUN: lemma compile %s --arch sm_100a --module matmul_kernel -o %t.bf16.ptx && lemma verify %t.bf16.ptx && %ptxas -arch=sm_100a %t.bf16.ptx && FileCheck %s --check-prefix=BF16 < %t.bf16.ptx
// RUN: lemma compile %s --arch sm_100a --allow-tf32 --module matmul_1_kernel -o %t.tf32.ptx && lemma verify %t.tf32.ptx && %ptxas -arch=sm_100a %t.tf32.ptx && FileCheck %s --check-prefix=TF32 < %t.tf32.ptx
// RUN: lemma compile %s --arch sm_100a --module matmul_2_kernel -o %t.f8.ptx && lemma verify %t.f8.ptx && %ptxas -arch=sm_100a %t.f8.ptx && FileCheck %s --check-prefix=F8 < %t.f8.ptx
// RUN: lemma compile %s --arch sm_100a --module matmul_3_kernel -o %t.i8.ptx && lemma verify %t.i8.ptx && %ptxas -arch=sm_100a %t.i8.ptx && FileCheck %s --check-prefix=I8 < %t.i8.ptx
// RUN: lemma compile %s --arch sm_110a --module matmul_3_kernel -o %t.110.ptx && lemma verify %t.110.ptx && FileCheck %s --check-prefix=I8 < %t.110.ptx
// RUN: lemma compile %s --arch sm_103a --module matmul_3_kernel -o %t.103.ptx && lemma verify %t.103.ptx && FileCheck %s --check-prefix=SYNC < %t.103.ptx
// RUN: lemma compile %s --arch sm_100f --module matmul_3_kernel -o %t.100f.ptx && lemma verify %t.100f.ptx && FileCheck %s --check-prefix=SYNC < %t.100f.ptx
// RUN: lemma compile %s --arch sm_100f --module matmul_kernel -o %t.16.ptx && lemma verify %t.16.ptx && FileCheck %s --check-prefix=BF16 < %t.16.ptx
// RUN: lemma compile %s --arch sm_103a --module matmul_kernel -o %t.16.ptx && lemma verify %t.16.ptx && FileCheck %s --check-prefix=BF16 < %t.16.ptx
//
// What becomes of products for a target with tensor memory, and that integers are not there on all of them.

// CHECK-LABEL: func.func private @matmul(
// CHECK: nvgpu.tma.create.descriptor
// CHECK: gpu.launch
// CHECK: nvvm.tcgen05.alloc
// CHECK: nvvm.tcgen05.relinquish_alloc_permit
// CHECK: nvvm.tcgen05.ld
// CHECK-NEXT: nvvm.tcgen05.wait <load>
// CHECK: nvgpu.stmatrix
// CHECK: nvgpu.tma.async.store
// CHECK: nvgpu.tma.async.load
// CHECK-COUNT-4: nvvm.tcgen05.mma
// CHECK: nvvm.tcgen05.commit
// CHECK: nvvm.tcgen05.commit
// CHECK: nvvm.tcgen05.dealloc

// Nothing reads registers of a tcgen05.ld before the wait.
// BF16: tcgen05.ld.sync.aligned.16x256b.x8.b32
// BF16-NEXT: .loc
// BF16-NEXT: tcgen05.wait::ld.sync.aligned
// BF16: cvt.rn.bf16x2.f32
// BF16: stmatrix.sync.aligned.m8n8.x4.shared.b16
// BF16: tcgen05.mma.cta_group::1.kind::f16
// BF16-NOT: mma.sync

// TF32: tcgen05.mma.cta_group::1.kind::tf32
// F8: tcgen05.mma.cta_group::1.kind::f8f6f4
// I8: tcgen05.mma.cta_group::1.kind::i8
// SYNC-NOT: tcgen05
// SYNC: mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32
// SYNC-NOT: tcgen05
#bt = affine_map<(m, n, k) -> (n, k)>
#a = affine_map<(m, n, k) -> (m, k)>
#c = affine_map<(m, n, k) -> (m, n)>
func.func @main(%a: memref<512x256xbf16>, %b: memref<256x512xbf16>, %c: memref<512x512xbf16>,
                %d: memref<64x40xf32>, %e: memref<72x40xf32>, %f: memref<64x72xf32>,
                %g: memref<64x48xf8E4M3FN>, %h: memref<72x48xf8E4M3FN>, %i: memref<64x72xf16>,
                %j: memref<64x48xi8>, %k: memref<72x48xi8>, %l: memref<64x72xi32>) {
  %zero = arith.constant 0.0 : bf16
  linalg.fill ins(%zero : bf16) outs(%c : memref<512x512xbf16>)
  linalg.matmul ins(%a, %b : memref<512x256xbf16>, memref<256x512xbf16>) outs(%c : memref<512x512xbf16>)
  linalg.matmul indexing_maps = [#a, #bt, #c] ins(%d, %e : memref<64x40xf32>, memref<72x40xf32>) outs(%f : memref<64x72xf32>)
  linalg.matmul indexing_maps = [#a, #bt, #c] ins(%g, %h : memref<64x48xf8E4M3FN>, memref<72x48xf8E4M3FN>) outs(%i : memref<64x72xf16>)
  linalg.matmul indexing_maps = [#a, #bt, #c] ins(%j, %k : memref<64x48xi8>, memref<72x48xi8>) outs(%l : memref<64x72xi32>)
  return
}
