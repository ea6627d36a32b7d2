// RUN: lemma-opt --lemma-matmul-to-nvgpu=arch=sm_80 %s | FileCheck %s
// RUN: lemma compile %s --arch sm_80 --module matmul_kernel -o %t.bf16.ptx && lemma verify %t.bf16.ptx && %ptxas -arch=sm_80 %t.bf16.ptx && FileCheck %s --check-prefix=BF16 < %t.bf16.ptx
// RUN: lemma compile %s --arch sm_80 --module matmul_1_kernel -o %t.f32.ptx && lemma verify %t.f32.ptx && %ptxas -arch=sm_80 %t.f32.ptx && FileCheck %s --check-prefix=F32 < %t.f32.ptx
// RUN: lemma compile %s --arch sm_80 --allow-tf32 --module matmul_1_kernel -o %t.tf32.ptx && lemma verify %t.tf32.ptx && %ptxas -arch=sm_80 %t.tf32.ptx && FileCheck %s --check-prefix=TF32 < %t.tf32.ptx
// RUN: lemma compile %s --arch sm_80 --module matmul_2_kernel -o %t.f64.ptx && lemma verify %t.f64.ptx && %ptxas -arch=sm_80 %t.f64.ptx && FileCheck %s --check-prefix=F64 < %t.f64.ptx
// RUN: lemma compile %s --arch sm_90a --module matmul_2_kernel -o %t.f64w.ptx && lemma verify %t.f64w.ptx && %ptxas -arch=sm_90a %t.f64w.ptx && FileCheck %s --check-prefix=F64W < %t.f64w.ptx
// RUN: %not lemma compile %s --arch sm_86 --schedule=mma_256x128_s3 2>&1 | FileCheck %s --check-prefix=LARGE
//
// What becomes of products for a target without wgmma; f64 and exact f32 are the same on all.

// CHECK-LABEL: func.func private @matmul(
// CHECK: gpu.launch
// CHECK: nvgpu.device_async_copy
// CHECK: nvgpu.ldmatrix
// CHECK: scf.for
// CHECK: nvgpu.mma.sync
// CHECK: nvvm.cp.async.wait.group

// BF16-DAG: cp.async.cg.shared.global [{{.*}}], 16
// BF16-DAG: ldmatrix.sync.aligned.m8n8.x4.shared.b16
// BF16-DAG: ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16
// BF16-DAG: mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32
// BF16: st.global.v{{[48]}}

// F32-NOT: mma.sync
// F32: fma.rn.f32
// F32-NOT: mma.sync

// TF32: mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32

// F64: mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64
// F64W: mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64

// LARGE: error: schedule mma_256x128_s3 needs 147456 bytes of shared memory for a CTA, of which sm_86 has 101376; there are others that need less: {{.*}}mma_128x128_s3
func.func @main(%a: memref<512x256xbf16>, %b: memref<256x512xbf16>, %c: memref<512x512xbf16>,
                %d: memref<64x40xf32>, %e: memref<40x72xf32>, %f: memref<64x72xf32>,
                %g: memref<64x40xf64>, %h: memref<40x72xf64>, %i: memref<64x72xf64>) {
  %zero = arith.constant 0.0 : bf16
  linalg.fill ins(%zero : bf16) outs(%c : memref<512x512xbf16>)
  linalg.matmul ins(%a, %b : memref<512x256xbf16>, memref<256x512xbf16>) outs(%c : memref<512x512xbf16>)
  linalg.matmul ins(%d, %e : memref<64x40xf32>, memref<40x72xf32>) outs(%f : memref<64x72xf32>)
  linalg.matmul ins(%g, %h : memref<64x40xf64>, memref<40x72xf64>) outs(%i : memref<64x72xf64>)
  return
}
