// What the rows of functions.def call: a function for all types of elements, with the type before what
// cuBLAS's has, sizes as int64_t, and elements, alpha and beta behind void pointers. Each returns cuBLAS's
// status, or throws it as a Refusal (call.h).
//
// Tests: tests/cublas.
#pragma once

#include "cublas/types.h"

#include <cstdint>

namespace lemma::cublas::routines {

// handle.cc
cublasStatus_t create(cublasHandle_t* handle);
cublasStatus_t destroy(cublasHandle_t handle);
cublasStatus_t get_version(cublasHandle_t, int* version);
cublasStatus_t get_property(libraryPropertyType type, int* value);
cublasStatus_t set_workspace(cublasHandle_t handle, void* workspace, size_t bytes);
cublasStatus_t set_stream(cublasHandle_t handle, cudaStream_t stream);
cublasStatus_t get_stream(cublasHandle_t handle, cudaStream_t* stream);
cublasStatus_t set_pointer_mode(cublasHandle_t handle, cublasPointerMode_t mode);
cublasStatus_t get_pointer_mode(cublasHandle_t handle, cublasPointerMode_t* mode);
cublasStatus_t set_atomics_mode(cublasHandle_t handle, cublasAtomicsMode_t mode);
cublasStatus_t get_atomics_mode(cublasHandle_t handle, cublasAtomicsMode_t* mode);
cublasStatus_t set_math_mode(cublasHandle_t handle, int mode);
cublasStatus_t get_math_mode(cublasHandle_t handle, cublasMath_t* mode);
cublasStatus_t set_sm_count_target(cublasHandle_t handle, int count);
cublasStatus_t get_sm_count_target(cublasHandle_t handle, int* count);
cublasStatus_t configure_logger(int, int, int, const char*);
cublasStatus_t set_logger_callback(cublasLogCallback callback);
cublasStatus_t get_logger_callback(cublasLogCallback* callback);
cublasStatus_t copy_vector(int64_t n, int64_t element_bytes, const void* from, int64_t incx, void* to,
                           int64_t incy, cudaStream_t stream, bool waits);
cublasStatus_t copy_matrix(int64_t rows, int64_t columns, int64_t element_bytes, const void* from,
                           int64_t lda, void* to, int64_t ldb, cudaStream_t stream, bool waits);

// level1.cc
cublasStatus_t iamax(cudaDataType type, cublasHandle_t handle, int64_t n, const void* x, int64_t incx,
                     int* result);
cublasStatus_t iamax(cudaDataType type, cublasHandle_t handle, int64_t n, const void* x, int64_t incx,
                     int64_t* result);
cublasStatus_t iamin(cudaDataType type, cublasHandle_t handle, int64_t n, const void* x, int64_t incx,
                     int* result);
cublasStatus_t iamin(cudaDataType type, cublasHandle_t handle, int64_t n, const void* x, int64_t incx,
                     int64_t* result);
cublasStatus_t asum_ex(cublasHandle_t handle, int64_t n, const void* x, cudaDataType x_type, int64_t incx,
                       void* result, cudaDataType result_type, cudaDataType);
cublasStatus_t asum(cudaDataType type, cublasHandle_t handle, int64_t n, const void* x, int64_t incx,
                    void* result);
cublasStatus_t nrm2_ex(cublasHandle_t handle, int64_t n, const void* x, cudaDataType x_type, int64_t incx,
                       void* result, cudaDataType result_type, cudaDataType);
cublasStatus_t nrm2(cudaDataType type, cublasHandle_t handle, int64_t n, const void* x, int64_t incx,
                    void* result);
cublasStatus_t dot_ex(cublasHandle_t handle, int64_t n, const void* x, cudaDataType x_type, int64_t incx,
                      const void* y, cudaDataType y_type, int64_t incy, void* result,
                      cudaDataType result_type, cudaDataType);
cublasStatus_t dotc_ex(cublasHandle_t handle, int64_t n, const void* x, cudaDataType x_type, int64_t incx,
                       const void* y, cudaDataType y_type, int64_t incy, void* result,
                       cudaDataType result_type, cudaDataType);
cublasStatus_t dot(cudaDataType type, cublasHandle_t handle, int64_t n, const void* x, int64_t incx,
                   const void* y, int64_t incy, void* result);
cublasStatus_t dotc(cudaDataType type, cublasHandle_t handle, int64_t n, const void* x, int64_t incx,
                    const void* y, int64_t incy, void* result);
cublasStatus_t axpy_ex(cublasHandle_t handle, int64_t n, const void* alpha, cudaDataType alpha_type,
                       const void* x, cudaDataType x_type, int64_t incx, void* y, cudaDataType y_type,
                       int64_t incy, cudaDataType);
cublasStatus_t axpy(cudaDataType type, cublasHandle_t handle, int64_t n, const void* alpha, const void* x,
                    int64_t incx, void* y, int64_t incy);
cublasStatus_t copy_ex(cublasHandle_t handle, int64_t n, const void* x, cudaDataType x_type, int64_t incx,
                       void* y, cudaDataType y_type, int64_t incy);
cublasStatus_t copy(cudaDataType type, cublasHandle_t handle, int64_t n, const void* x, int64_t incx, void* y,
                    int64_t incy);
cublasStatus_t swap_ex(cublasHandle_t handle, int64_t n, void* x, cudaDataType x_type, int64_t incx, void* y,
                       cudaDataType y_type, int64_t incy);
cublasStatus_t swap(cudaDataType type, cublasHandle_t handle, int64_t n, void* x, int64_t incx, void* y,
                    int64_t incy);
cublasStatus_t scal_ex(cublasHandle_t handle, int64_t n, const void* alpha, cudaDataType alpha_type, void* x,
                       cudaDataType x_type, int64_t incx, cudaDataType);
cublasStatus_t scal(cudaDataType type, cudaDataType alpha_type, cublasHandle_t handle, int64_t n,
                    const void* alpha, void* x, int64_t incx);
cublasStatus_t rot_ex(cublasHandle_t handle, int64_t n, void* x, cudaDataType x_type, int64_t incx, void* y,
                      cudaDataType y_type, int64_t incy, const void* c, const void* s, cudaDataType c_s_type,
                      cudaDataType);
cublasStatus_t rot(cudaDataType type, cudaDataType sine_type, cublasHandle_t handle, int64_t n, void* x,
                   int64_t incx, void* y, int64_t incy, const void* c, const void* s);
cublasStatus_t rotm(cudaDataType type, cublasHandle_t handle, int64_t n, void* x, int64_t incx, void* y,
                    int64_t incy, const void* param);
cublasStatus_t rotmg(cudaDataType type, cublasHandle_t handle, void* d1, void* d2, void* x1, const void* y1,
                     void* param);
cublasStatus_t rotg(cudaDataType type, cublasHandle_t handle, void* a, void* b, void* c, void* s);

// level2.cc
cublasStatus_t gemv(cudaDataType type, cublasHandle_t handle, cublasOperation_t op, int64_t m, int64_t n,
                    const void* alpha, const void* a, int64_t lda, const void* x, int64_t incx,
                    const void* beta, void* y, int64_t incy);
cublasStatus_t gbmv(cudaDataType type, cublasHandle_t handle, cublasOperation_t op, int64_t m, int64_t n,
                    int64_t kl, int64_t ku, const void* alpha, const void* a, int64_t lda, const void* x,
                    int64_t incx, const void* beta, void* y, int64_t incy);
cublasStatus_t symv(cudaDataType type, bool is_hermitian, cublasHandle_t handle, cublasFillMode_t uplo,
                    int64_t n, const void* alpha, const void* a, int64_t lda, const void* x, int64_t incx,
                    const void* beta, void* y, int64_t incy);
cublasStatus_t sbmv(cudaDataType type, bool is_hermitian, cublasHandle_t handle, cublasFillMode_t uplo,
                    int64_t n, int64_t k, const void* alpha, const void* a, int64_t lda, const void* x,
                    int64_t incx, const void* beta, void* y, int64_t incy);
cublasStatus_t spmv(cudaDataType type, bool is_hermitian, cublasHandle_t handle, cublasFillMode_t uplo,
                    int64_t n, const void* alpha, const void* ap, const void* x, int64_t incx,
                    const void* beta, void* y, int64_t incy);
cublasStatus_t ger(cudaDataType type, bool conjugates, cublasHandle_t handle, int64_t m, int64_t n,
                   const void* alpha, const void* x, int64_t incx, const void* y, int64_t incy, void* a,
                   int64_t lda);
cublasStatus_t syr(cudaDataType type, bool is_hermitian, cublasHandle_t handle, cublasFillMode_t uplo,
                   int64_t n, const void* alpha, const void* x, int64_t incx, void* a, int64_t lda);
cublasStatus_t spr(cudaDataType type, bool is_hermitian, cublasHandle_t handle, cublasFillMode_t uplo,
                   int64_t n, const void* alpha, const void* x, int64_t incx, void* ap);
cublasStatus_t syr2(cudaDataType type, bool is_hermitian, cublasHandle_t handle, cublasFillMode_t uplo,
                    int64_t n, const void* alpha, const void* x, int64_t incx, const void* y, int64_t incy,
                    void* a, int64_t lda);
cublasStatus_t spr2(cudaDataType type, bool is_hermitian, cublasHandle_t handle, cublasFillMode_t uplo,
                    int64_t n, const void* alpha, const void* x, int64_t incx, const void* y, int64_t incy,
                    void* ap);
cublasStatus_t trmv(cudaDataType type, bool solves, cublasHandle_t handle, cublasFillMode_t uplo,
                    cublasOperation_t op, cublasDiagType_t diagonal, int64_t n, const void* a, int64_t lda,
                    void* x, int64_t incx);
cublasStatus_t tbmv(cudaDataType type, bool solves, cublasHandle_t handle, cublasFillMode_t uplo,
                    cublasOperation_t op, cublasDiagType_t diagonal, int64_t n, int64_t k, const void* a,
                    int64_t lda, void* x, int64_t incx);
cublasStatus_t tpmv(cudaDataType type, bool solves, cublasHandle_t handle, cublasFillMode_t uplo,
                    cublasOperation_t op, cublasDiagType_t diagonal, int64_t n, const void* ap, void* x,
                    int64_t incx);
cublasStatus_t trttp(cudaDataType type, cublasHandle_t handle, cublasFillMode_t uplo, int64_t n,
                     const void* a, int64_t lda, void* ap);
cublasStatus_t tpttr(cudaDataType type, cublasHandle_t handle, cublasFillMode_t uplo, int64_t n,
                     const void* ap, void* a, int64_t lda);

// products.cc
cublasStatus_t gemm(cudaDataType type, cublasHandle_t handle, cublasOperation_t op_a, cublasOperation_t op_b,
                    int64_t m, int64_t n, int64_t k, const void* alpha, const void* a, int64_t lda,
                    const void* b, int64_t ldb, const void* beta, void* c, int64_t ldc);
cublasStatus_t gemm_batched(cudaDataType type, cublasHandle_t handle, cublasOperation_t op_a,
                            cublasOperation_t op_b, int64_t m, int64_t n, int64_t k, const void* alpha,
                            const void* a, int64_t lda, const void* b, int64_t ldb, const void* beta,
                            const void* c, int64_t ldc, int64_t count);
cublasStatus_t gemm_strided(cudaDataType type, cublasHandle_t handle, cublasOperation_t op_a,
                            cublasOperation_t op_b, int64_t m, int64_t n, int64_t k, const void* alpha,
                            const void* a, int64_t lda, int64_t stride_a, const void* b, int64_t ldb,
                            int64_t stride_b, const void* beta, void* c, int64_t ldc, int64_t stride_c,
                            int64_t count);
cublasStatus_t gemm_ex(cublasHandle_t handle, cublasOperation_t op_a, cublasOperation_t op_b, int64_t m,
                       int64_t n, int64_t k, const void* alpha, const void* a, cudaDataType a_type,
                       int64_t lda, const void* b, cudaDataType b_type, int64_t ldb, const void* beta,
                       void* c, cudaDataType c_type, int64_t ldc, cublasComputeType_t compute,
                       cublasGemmAlgo_t);
cublasStatus_t gemm_batched_ex(cublasHandle_t handle, cublasOperation_t op_a, cublasOperation_t op_b,
                               int64_t m, int64_t n, int64_t k, const void* alpha, const void* a,
                               cudaDataType a_type, int64_t lda, const void* b, cudaDataType b_type,
                               int64_t ldb, const void* beta, const void* c, cudaDataType c_type, int64_t ldc,
                               int64_t count, cublasComputeType_t compute, cublasGemmAlgo_t);
cublasStatus_t gemm_strided_ex(cublasHandle_t handle, cublasOperation_t op_a, cublasOperation_t op_b,
                               int64_t m, int64_t n, int64_t k, const void* alpha, const void* a,
                               cudaDataType a_type, int64_t lda, int64_t stride_a, const void* b,
                               cudaDataType b_type, int64_t ldb, int64_t stride_b, const void* beta, void* c,
                               cudaDataType c_type, int64_t ldc, int64_t stride_c, int64_t count,
                               cublasComputeType_t compute, cublasGemmAlgo_t);
cublasStatus_t gemm_of_types(cudaDataType scale, cublasHandle_t handle, cublasOperation_t op_a,
                             cublasOperation_t op_b, int64_t m, int64_t n, int64_t k, const void* alpha,
                             const void* a, cudaDataType a_type, int64_t lda, const void* b,
                             cudaDataType b_type, int64_t ldb, const void* beta, void* c, cudaDataType c_type,
                             int64_t ldc);
cublasStatus_t gemv_batched(cudaDataType ab, cudaDataType c, cudaDataType scale, cublasHandle_t handle,
                            cublasOperation_t op, int64_t m, int64_t n, const void* alpha, const void* a,
                            int64_t lda, const void* x, int64_t incx, const void* beta, const void* y,
                            int64_t incy, int64_t count);
cublasStatus_t gemv_strided(cudaDataType ab, cudaDataType c, cudaDataType scale, cublasHandle_t handle,
                            cublasOperation_t op, int64_t m, int64_t n, const void* alpha, const void* a,
                            int64_t lda, int64_t stride_a, const void* x, int64_t incx, int64_t stride_x,
                            const void* beta, void* y, int64_t incy, int64_t stride_y, int64_t count);

// level3.cc
cublasStatus_t symm(cudaDataType type, bool is_hermitian, cublasHandle_t handle, cublasSideMode_t side,
                    cublasFillMode_t uplo, int64_t m, int64_t n, const void* alpha, const void* a,
                    int64_t lda, const void* b, int64_t ldb, const void* beta, void* c, int64_t ldc);
cublasStatus_t syrk(cudaDataType type, bool is_hermitian, cublasHandle_t handle, cublasFillMode_t uplo,
                    cublasOperation_t op, int64_t n, int64_t k, const void* alpha, const void* a, int64_t lda,
                    const void* beta, void* c, int64_t ldc);
cublasStatus_t syr2k(cudaDataType type, bool is_hermitian, cublasHandle_t handle, cublasFillMode_t uplo,
                     cublasOperation_t op, int64_t n, int64_t k, const void* alpha, const void* a,
                     int64_t lda, const void* b, int64_t ldb, const void* beta, void* c, int64_t ldc);
cublasStatus_t syrkx(cudaDataType type, bool is_hermitian, cublasHandle_t handle, cublasFillMode_t uplo,
                     cublasOperation_t op, int64_t n, int64_t k, const void* alpha, const void* a,
                     int64_t lda, const void* b, int64_t ldb, const void* beta, void* c, int64_t ldc);
cublasStatus_t trmm(cudaDataType type, cublasHandle_t handle, cublasSideMode_t side, cublasFillMode_t uplo,
                    cublasOperation_t op, cublasDiagType_t diagonal, int64_t m, int64_t n, const void* alpha,
                    const void* a, int64_t lda, const void* b, int64_t ldb, void* c, int64_t ldc);
cublasStatus_t trsm(cudaDataType type, cublasHandle_t handle, cublasSideMode_t side, cublasFillMode_t uplo,
                    cublasOperation_t op, cublasDiagType_t diagonal, int64_t m, int64_t n, const void* alpha,
                    const void* a, int64_t lda, void* b, int64_t ldb);
cublasStatus_t trsm_batched(cudaDataType type, cublasHandle_t handle, cublasSideMode_t side,
                            cublasFillMode_t uplo, cublasOperation_t op, cublasDiagType_t diagonal, int64_t m,
                            int64_t n, const void* alpha, const void* a, int64_t lda, const void* b,
                            int64_t ldb, int64_t count);
cublasStatus_t geam(cudaDataType type, cublasHandle_t handle, cublasOperation_t op_a, cublasOperation_t op_b,
                    int64_t m, int64_t n, const void* alpha, const void* a, int64_t lda, const void* beta,
                    const void* b, int64_t ldb, void* c, int64_t ldc);
cublasStatus_t dgmm(cudaDataType type, cublasHandle_t handle, cublasSideMode_t side, int64_t m, int64_t n,
                    const void* a, int64_t lda, const void* x, int64_t incx, void* c, int64_t ldc);

// factor.cc
cublasStatus_t getrf_batched(cudaDataType type, cublasHandle_t handle, int64_t n, const void* a, int64_t lda,
                             int* pivots, int* info, int64_t count);
cublasStatus_t getri_batched(cudaDataType type, cublasHandle_t handle, int64_t n, const void* a, int64_t lda,
                             const int* pivots, const void* c, int64_t ldc, int* info, int64_t count);
cublasStatus_t matinv_batched(cudaDataType type, cublasHandle_t handle, int64_t n, const void* a, int64_t lda,
                              const void* inverses, int64_t ld, int* info, int64_t count);
cublasStatus_t getrs_batched(cudaDataType type, cublasHandle_t handle, cublasOperation_t op, int64_t n,
                             int64_t nrhs, const void* a, int64_t lda, const int* pivots, const void* b,
                             int64_t ldb, int* info, int64_t count);
cublasStatus_t geqrf_batched(cudaDataType type, cublasHandle_t handle, int64_t m, int64_t n, const void* a,
                             int64_t lda, const void* taus, int* info, int64_t count);
cublasStatus_t gels_batched(cudaDataType type, cublasHandle_t handle, cublasOperation_t op, int64_t m,
                            int64_t n, int64_t nrhs, const void* a, int64_t lda, const void* c, int64_t ldc,
                            int* info, int* device_info, int64_t count);

} // namespace lemma::cublas::routines
