// The host function that multiplies two matrices in device memory, and in it the kernel, as MLIR text: what a
// hand would write in operations of nvgpu, gpu, nvvm, arith, scf and memref.
//
//   func.func private @NAME(%a: A, %b: B, %c: C, %operands...)
//
// A CTA has a warpgroup that brings tiles (one thread of it: the producer) and others that multiply
// (consumers). Tiles of A and B go through a ring of stages in shared memory; of each stage one mbarrier says
// that it is full, one that it is empty. CTAs stay: each takes one tile of C after the other, and the
// producer brings the next tile's first stages while the consumers still store the last one's results, most
// of which they keep in registers and store among the next one's products.
//
// Text, and not a builder: a kernel reads as it will be printed, and the verifiers look at it as at any
// program's. Tests: tests/mlir/matmul/.
#pragma once

#include "nvgpu/matmul/schedule.h"

#include <cstdint>
#include <string>
#include <vector>

namespace lemma::nvgpu {

// A matrix of a product. Its two last dimensions, if it has three, are the matrix, the first the batch.
struct MatmulOperand {
  std::string type;     // its memref, as MLIR writes it
  std::string any_type; // the same of any rank
  std::string element;  // "bf16"
  int64_t element_bytes = 2;
  bool transposed = false;  // A lies as K x M, B as N x K
  bool is_unsigned = false; // integers
};

// What is done with the sums on their way to C.
enum class MatmulStore : uint8_t {
  tma,      // whole boxes, from shared memory: C's rows are multiples of 16 bytes
  elements, // each thread its elements, those that C has
};

struct MatmulKernel {
  std::string name = {};
  Schedule schedule;
  int64_t multiprocessors = kMultiprocessors; // of CTAs that stay there are as many
  MatmulOperand a, b, c;
  // Sizes of A and B, where they are known before it runs: no checks in the text, where they are multiples of
  // a tile's. C may be larger, and what is there has any value in the end.
  int64_t m = -1, n = -1, k = -1;
  std::string sum = "f32";  // element of the accumulators: f32, i32 or f64
  bool has_wide_f64 = true; // mma.sync of f64 has m16n8k8, and not m8n8k4 alone
  bool rounds_tf32 = true;  // there is a cvt.rn.tf32.f32
  bool accumulates = false; // C += A * B
  MatmulStore store = MatmulStore::tma;
  // A function (vector<4x2xSUM>, index, index, further operands) -> vector<4x2xC>: a thread's elements of 16
  // columns, the row and the column of the first. Empty: a conversion, or nothing.
  std::string epilogue = {};
  std::vector<std::string> operands = {}; // types of further arguments, which the epilogue takes
};

std::string matmul_text(const MatmulKernel& kernel);

// func.func private @NAME(%from, %to) of any matrices of such an element in device memory: copies the one,
// or its transpose; zeros where the other is larger.
std::string copy_text(const std::string& name, const std::string& element, bool transposes);

} // namespace lemma::nvgpu
