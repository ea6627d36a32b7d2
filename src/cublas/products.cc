// The forms of gemm: which types go together, and how many matrices there are.
//
// Source: "cuBLAS Library", the tables of cublasGemmEx(). f32 operands of a TF32 compute type, or under
// CUBLAS_TF32_TENSOR_OP_MATH, lose what tensor cores drop; that f16 or bf16 would be allowed changes nothing.
#include "cublas/gemm.h"
#include "cublas/routines.h"

namespace lemma::cublas::routines {
namespace {

struct Types {
  cudaDataType a, b, c;
  cudaDataType scale; // of alpha and beta
};

bool is_among(cudaDataType type, std::initializer_list<cudaDataType> all) {
  return std::find(all.begin(), all.end(), type) != all.end();
}

// The scale's type; CUBLAS_STATUS_NOT_SUPPORTED: these do not go together.
cudaDataType scale_of(cudaDataType ab, cudaDataType c, cublasComputeType_t compute) {
  const auto supported = [](bool is_so) { require(is_so, CUBLAS_STATUS_NOT_SUPPORTED); };
  switch (compute) {
  case CUBLAS_COMPUTE_16F:
  case CUBLAS_COMPUTE_16F_PEDANTIC:
    supported(ab == CUDA_R_16F && c == CUDA_R_16F);
    return CUDA_R_16F;
  case CUBLAS_COMPUTE_32I:
  case CUBLAS_COMPUTE_32I_PEDANTIC:
    supported(ab == CUDA_R_8I && c == CUDA_R_32I);
    return CUDA_R_32I;
  case CUBLAS_COMPUTE_32F:
  case CUBLAS_COMPUTE_32F_PEDANTIC:
    if (c == CUDA_C_32F) {
      supported(ab == CUDA_C_8I || ab == CUDA_C_32F);
      return CUDA_C_32F;
    }
    supported((c == CUDA_R_32F && is_among(ab, {CUDA_R_32F, CUDA_R_16F, CUDA_R_16BF, CUDA_R_8I})) ||
              (c == ab && is_among(ab, {CUDA_R_16F, CUDA_R_16BF})));
    return CUDA_R_32F;
  case CUBLAS_COMPUTE_32F_FAST_16F:
  case CUBLAS_COMPUTE_32F_FAST_16BF:
  case CUBLAS_COMPUTE_32F_FAST_TF32:
  case CUBLAS_COMPUTE_32F_EMULATED_16BFX9:
    supported(c == ab && is_among(ab, {CUDA_R_32F, CUDA_C_32F}));
    return ab;
  case CUBLAS_COMPUTE_64F:
  case CUBLAS_COMPUTE_64F_PEDANTIC:
  case CUBLAS_COMPUTE_64F_EMULATED_FIXEDPOINT:
    supported(c == ab && is_among(ab, {CUDA_R_64F, CUDA_C_64F}));
    return ab;
  }
  throw Refusal{CUBLAS_STATUS_INVALID_VALUE};
}

struct Shape {
  cublasOperation_t op_a, op_b;
  int64_t m, n, k, lda, ldb, ldc;
};

Gemm make(const cublasContext& with, const Types& types, const Shape& s, const void* alpha, const void* a,
          const void* b, const void* beta, const void* c) {
  require_operation(s.op_a);
  require_operation(s.op_b);
  require(s.m >= 0 && s.n >= 0 && s.k >= 0);
  const bool flip_a = transposes(s.op_a), flip_b = transposes(s.op_b);
  return {.op_a = s.op_a,
          .op_b = s.op_b,
          .m = s.m,
          .n = s.n,
          .k = s.k,
          .alpha = {with, types.scale, alpha},
          .beta = {with, types.scale, beta},
          .a = matrix(a, types.a, flip_a ? s.k : s.m, flip_a ? s.m : s.k, s.lda),
          .b = matrix(b, types.b, flip_b ? s.n : s.k, flip_b ? s.k : s.n, s.ldb),
          .c = matrix(c, types.c, s.m, s.n, s.ldc),
          .cuts_to_tf32 = with.wants_tf32()};
}

Types same(cudaDataType type) {
  return {type, type, type, type};
}

} // namespace

cublasStatus_t gemm(cudaDataType type, cublasHandle_t handle, cublasOperation_t op_a, cublasOperation_t op_b,
                    int64_t m, int64_t n, int64_t k, const void* alpha, const void* a, int64_t lda,
                    const void* b, int64_t ldb, const void* beta, void* c, int64_t ldc) {
  const cublasContext& with = checked(handle);
  return cublas::gemm(with,
                      make(with, same(type), {op_a, op_b, m, n, k, lda, ldb, ldc}, alpha, a, b, beta, c), {});
}

cublasStatus_t gemm_batched(cudaDataType type, cublasHandle_t handle, cublasOperation_t op_a,
                            cublasOperation_t op_b, int64_t m, int64_t n, int64_t k, const void* alpha,
                            const void* a, int64_t lda, const void* b, int64_t ldb, const void* beta,
                            const void* c, int64_t ldc, int64_t count) {
  const cublasContext& with = checked(handle);
  const Gemm each =
      make(with, same(type), {op_a, op_b, m, n, k, lda, ldb, ldc}, alpha, nullptr, nullptr, beta, nullptr);
  return cublas::gemm(with, each,
                      {.count = count,
                       .pointers_a = address_of(a),
                       .pointers_b = address_of(b),
                       .pointers_c = address_of(c)});
}

cublasStatus_t gemm_strided(cudaDataType type, cublasHandle_t handle, cublasOperation_t op_a,
                            cublasOperation_t op_b, int64_t m, int64_t n, int64_t k, const void* alpha,
                            const void* a, int64_t lda, int64_t stride_a, const void* b, int64_t ldb,
                            int64_t stride_b, const void* beta, void* c, int64_t ldc, int64_t stride_c,
                            int64_t count) {
  const cublasContext& with = checked(handle);
  return cublas::gemm(with,
                      make(with, same(type), {op_a, op_b, m, n, k, lda, ldb, ldc}, alpha, a, b, beta, c),
                      {.count = count, .stride_a = stride_a, .stride_b = stride_b, .stride_c = stride_c});
}

namespace {

Gemm make_ex(const cublasContext& with, const Types& types, const Shape& shape, const void* alpha,
             const void* a, const void* b, const void* beta, const void* c, cublasComputeType_t compute) {
  require(types.a == types.b, CUBLAS_STATUS_NOT_SUPPORTED);
  Gemm made = make(with, {types.a, types.b, types.c, scale_of(types.a, types.c, compute)}, shape, alpha, a, b,
                   beta, c);
  made.is_integer = types.c == CUDA_R_32I;
  made.cuts_to_tf32 =
      compute == CUBLAS_COMPUTE_32F_FAST_TF32 || (compute == CUBLAS_COMPUTE_32F && with.wants_tf32());
  return made;
}

} // namespace

cublasStatus_t gemm_ex(cublasHandle_t handle, cublasOperation_t op_a, cublasOperation_t op_b, int64_t m,
                       int64_t n, int64_t k, const void* alpha, const void* a, cudaDataType a_type,
                       int64_t lda, const void* b, cudaDataType b_type, int64_t ldb, const void* beta,
                       void* c, cudaDataType c_type, int64_t ldc, cublasComputeType_t compute,
                       cublasGemmAlgo_t) {
  const cublasContext& with = checked(handle);
  return cublas::gemm(with,
                      make_ex(with, {a_type, b_type, c_type, {}}, {op_a, op_b, m, n, k, lda, ldb, ldc}, alpha,
                              a, b, beta, c, compute),
                      {});
}

cublasStatus_t gemm_batched_ex(cublasHandle_t handle, cublasOperation_t op_a, cublasOperation_t op_b,
                               int64_t m, int64_t n, int64_t k, const void* alpha, const void* a,
                               cudaDataType a_type, int64_t lda, const void* b, cudaDataType b_type,
                               int64_t ldb, const void* beta, const void* c, cudaDataType c_type, int64_t ldc,
                               int64_t count, cublasComputeType_t compute, cublasGemmAlgo_t) {
  const cublasContext& with = checked(handle);
  const Gemm each = make_ex(with, {a_type, b_type, c_type, {}}, {op_a, op_b, m, n, k, lda, ldb, ldc}, alpha,
                            nullptr, nullptr, beta, nullptr, compute);
  return cublas::gemm(with, each,
                      {.count = count,
                       .pointers_a = address_of(a),
                       .pointers_b = address_of(b),
                       .pointers_c = address_of(c)});
}

cublasStatus_t gemm_strided_ex(cublasHandle_t handle, cublasOperation_t op_a, cublasOperation_t op_b,
                               int64_t m, int64_t n, int64_t k, const void* alpha, const void* a,
                               cudaDataType a_type, int64_t lda, int64_t stride_a, const void* b,
                               cudaDataType b_type, int64_t ldb, int64_t stride_b, const void* beta, void* c,
                               cudaDataType c_type, int64_t ldc, int64_t stride_c, int64_t count,
                               cublasComputeType_t compute, cublasGemmAlgo_t) {
  const cublasContext& with = checked(handle);
  const Gemm first = make_ex(with, {a_type, b_type, c_type, {}}, {op_a, op_b, m, n, k, lda, ldb, ldc}, alpha,
                             a, b, beta, c, compute);
  return cublas::gemm(with, first,
                      {.count = count, .stride_a = stride_a, .stride_b = stride_b, .stride_c = stride_c});
}

// cublasSgemmEx, cublasCgemmEx: `scale` is that of alpha and beta, float or cuComplex.
cublasStatus_t gemm_of_types(cudaDataType scale, cublasHandle_t handle, cublasOperation_t op_a,
                             cublasOperation_t op_b, int64_t m, int64_t n, int64_t k, const void* alpha,
                             const void* a, cudaDataType a_type, int64_t lda, const void* b,
                             cudaDataType b_type, int64_t ldb, const void* beta, void* c, cudaDataType c_type,
                             int64_t ldc) {
  require(is_complex(c_type) == is_complex(scale), CUBLAS_STATUS_NOT_SUPPORTED);
  return gemm_ex(handle, op_a, op_b, m, n, k, alpha, a, a_type, lda, b, b_type, ldb, beta, c, c_type, ldc,
                 CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT);
}

namespace {

// y' = x' * op(A)': rows, whose elements are as far apart as the vectors'.
Gemm as_gemm(const cublasContext& with, const Types& types, cublasOperation_t op, int64_t m, int64_t n,
             const void* alpha, const void* a, int64_t lda, const void* x, int64_t incx, const void* beta,
             const void* y, int64_t incy) {
  require_operation(op);
  require(m >= 0 && n >= 0 && incx > 0 && incy > 0);
  const int64_t to = op == CUBLAS_OP_N ? m : n, from = op == CUBLAS_OP_N ? n : m;
  return {.op_a = CUBLAS_OP_N,
          .op_b = op == CUBLAS_OP_N   ? CUBLAS_OP_T
                  : op == CUBLAS_OP_T ? CUBLAS_OP_N
                                      : CUBLAS_OP_CONJG,
          .m = 1,
          .n = to,
          .k = from,
          .alpha = {with, types.scale, alpha},
          .beta = {with, types.scale, beta},
          .a = matrix(x, types.a, 1, from, incx),
          .b = matrix(a, types.a, m, n, lda),
          .c = matrix(y, types.c, 1, to, incy)};
}

} // namespace

cublasStatus_t gemv_batched(cudaDataType ab, cudaDataType c, cudaDataType scale, cublasHandle_t handle,
                            cublasOperation_t op, int64_t m, int64_t n, const void* alpha, const void* a,
                            int64_t lda, const void* x, int64_t incx, const void* beta, const void* y,
                            int64_t incy, int64_t count) {
  const cublasContext& with = checked(handle);
  const Gemm each =
      as_gemm(with, {ab, ab, c, scale}, op, m, n, alpha, nullptr, lda, nullptr, incx, beta, nullptr, incy);
  return cublas::gemm(with, each,
                      {.count = count,
                       .pointers_a = address_of(x),
                       .pointers_b = address_of(a),
                       .pointers_c = address_of(y)});
}
cublasStatus_t gemv_strided(cudaDataType ab, cudaDataType c, cudaDataType scale, cublasHandle_t handle,
                            cublasOperation_t op, int64_t m, int64_t n, const void* alpha, const void* a,
                            int64_t lda, int64_t stride_a, const void* x, int64_t incx, int64_t stride_x,
                            const void* beta, void* y, int64_t incy, int64_t stride_y, int64_t count) {
  const cublasContext& with = checked(handle);
  const Gemm first = as_gemm(with, {ab, ab, c, scale}, op, m, n, alpha, a, lda, x, incx, beta, y, incy);
  return cublas::gemm(with, first,
                      {.count = count, .stride_a = stride_x, .stride_b = stride_a, .stride_c = stride_y});
}

} // namespace lemma::cublas::routines
