// What nvgpu.mma.sync refuses, and what it says is legal.
// RUN: lemma-opt %s --verify-diagnostics --split-input-file

func.func @shape(%a: vector<4x2xf16>, %b: vector<2x2xf16>, %c: vector<2x2xf32>) {
  // expected-error @+1 {{mma.sync of f16 x f16 -> f32 has no shape m16n8k17; legal: m8n8k4, m16n8k8, m16n8k16}}
  %d = nvgpu.mma.sync (%a, %b, %c) {mmaShape = [16, 8, 17]} :
    (vector<4x2xf16>, vector<2x2xf16>, vector<2x2xf32>) -> vector<2x2xf32>
  return
}

// -----

func.func @fragment(%a: vector<2x2xf16>, %b: vector<2x2xf16>, %c: vector<2x2xf32>) {
  // expected-error @+1 {{matrix A is vector<2x2xf16>, but a lane's part of it in mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 is vector<4x2xf16>}}
  %d = nvgpu.mma.sync (%a, %b, %c) {mmaShape = [16, 8, 16]} :
    (vector<2x2xf16>, vector<2x2xf16>, vector<2x2xf32>) -> vector<2x2xf32>
  return
}

// -----

func.func @f32(%a: vector<4x1xf32>, %b: vector<2x1xf32>, %c: vector<2x2xf32>) {
  // expected-error @+1 {{f32 multiplicands need the attribute tf32Enabled: no tensor core multiplies f32, and as tf32 they lose 13 bits of their significands; legal: {tf32Enabled}, which mlir-opt's --test-nvgpu-mmasync-f32-to-tf32-patterns=precision=tf32 sets, or vectors of tf32}}
  %d = nvgpu.mma.sync (%a, %b, %c) {mmaShape = [16, 8, 8]} :
    (vector<4x1xf32>, vector<2x1xf32>, vector<2x2xf32>) -> vector<2x2xf32>
  return
}
