// RUN: lemma compile %s -o %t.ptx && FileCheck %s < %t.ptx && %ptxas -arch=sm_100a %t.ptx
// RUN: lemma verify %t.ptx
//
// Nothing reads what a tcgen05.ld loads before the wait, though the values are used in pairs, and in another block.

gpu.module @kernels [#nvvm.target<chip = "sm_100a", features = "+ptx88">] {
  // CHECK-LABEL: .entry halves
  // CHECK: tcgen05.ld.sync.aligned.32x32b.x4.b32 {
  // CHECK-NEXT: .loc
  // CHECK-NEXT: tcgen05.ld.sync.aligned.32x32b.x1.b32
  // CHECK-NEXT: .loc
  // CHECK-NEXT: tcgen05.wait::ld.sync.aligned;
  // CHECK: cvt.rn.f16x2.f32
  // CHECK: st.global
  gpu.func @halves(%t: !llvm.ptr<6>, %u: !llvm.ptr<6>, %out: memref<4xf16>, %last: memref<1xi32>, %n: i32) kernel {
    %c0 = arith.constant 0 : index
    %v = nvvm.tcgen05.ld %t {shape = #nvvm.tcgen05_ldst_shape<shape_32x32b>} : vector<4xi32>
    %w = nvvm.tcgen05.ld %u {shape = #nvvm.tcgen05_ldst_shape<shape_32x32b>} : i32
    nvvm.tcgen05.wait <load>
    %f = vector.bitcast %v : vector<4xi32> to vector<4xf32>
    %h = arith.truncf %f : vector<4xf32> to vector<4xf16>
    %zero = arith.constant 0 : i32
    %has = arith.cmpi ne, %n, %zero : i32
    scf.if %has {
      vector.store %h, %out[%c0] : memref<4xf16>, vector<4xf16>
      memref.store %w, %last[%c0] : memref<1xi32>
    }
    gpu.return
  }
}
