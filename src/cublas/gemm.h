// C = alpha * op(A) * op(B) + beta * C, for one matrix or many, and what of it each type combination means.
//
// Tests: tests/cublas.
#pragma once

#include "cublas/operand.h"

namespace lemma::cublas {

struct Gemm {
  cublasOperation_t op_a, op_b;
  int64_t m, n, k;
  Scalar alpha, beta;
  Matrix a, b, c;            // the first of them
  bool cuts_to_tf32 = false; // f32 operands
  bool is_integer = false;   // sums, alpha and beta are int32, and wrap
};

// Matrices a stride apart, or where arrays of pointers in the device's memory say.
struct Batch {
  int64_t count = 1;
  int64_t stride_a = 0, stride_b = 0, stride_c = 0;           // in elements
  CUdeviceptr pointers_a = 0, pointers_b = 0, pointers_c = 0; // 0: strides
};

// Checks sizes, and gives it to the stream.
cublasStatus_t gemm(const cublasContext& handle, const Gemm& gemm, const Batch& batch);

// So many pointers.
std::vector<CUdeviceptr> load_pointers(const Memory& memory, CUdeviceptr array, int64_t count);

} // namespace lemma::cublas
