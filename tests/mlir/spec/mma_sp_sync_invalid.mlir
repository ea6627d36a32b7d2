// RUN: lemma-opt %s --verify-diagnostics --split-input-file
//
// The specification's example of nvgpu.mma.sp.sync, whose B is too small, and what else the operation refuses.
// Sections of the description of 2023: "nvgpu.mma.sp.sync".

func.func @example(%a: vector<4x2xf16>, %b: vector<2x2xf16>, %c: vector<2x2xf16>, %meta: vector<2xi16>) {
// expected-error @+1 {{matrix B is vector<2x2xf16>, but a lane's part of it in mma.sp.sync.aligned.m16n8k32.row.col.f16.f16.f16.f16 is vector<4x2xf16>}}
%d = nvgpu.mma.sp.sync (%a, %b, %c) metadata (%meta) {mmaShape = [16, 8, 32]} :
  (vector<4x2xf16>, vector<2x2xf16>, vector<2x2xf16>) -> vector<2x2xf16>
  return
}

// -----

func.func @selector(%a: vector<4x2xf16>, %b: vector<4x2xf16>, %c: vector<2x2xf16>, %meta: vector<2xi16>) {
  // expected-error @+1 {{sparsitySelector is 2; mma.sp.sync.aligned.m16n8k32.row.col.f16.f16.f16.f16 takes 0 to 1}}
  %d = nvgpu.mma.sp.sync (%a, %b, %c) metadata (%meta) {mmaShape = [16, 8, 32], sparsitySelector = 2 : i32} :
    (vector<4x2xf16>, vector<4x2xf16>, vector<2x2xf16>) -> vector<2x2xf16>
  return
}

// -----

func.func @metadata(%a: vector<4x2xf16>, %b: vector<4x2xf16>, %c: vector<2x2xf16>, %meta: vector<1xi32>) { // expected-note {{prior use here}}
  // expected-error @+1 {{use of value '%meta' expects different type than prior uses: 'vector<2xi16>' vs 'vector<1xi32>'}}
  %d = nvgpu.mma.sp.sync (%a, %b, %c) metadata (%meta) {mmaShape = [16, 8, 32]} :
    (vector<4x2xf16>, vector<4x2xf16>, vector<2x2xf16>) -> vector<2x2xf16>
  return
}
