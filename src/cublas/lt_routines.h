// What the rows of lt_functions.def call. Each returns cuBLAS's status, or throws it as a Refusal (call.h).
//
// Tests: tests/cublas.
#pragma once

#include "cublas/lt_descriptors.h"

namespace lemma::cublas::routines {

// lt_handle.cc
cublasStatus_t lt_create(cublasLtHandle_t* handle);
cublasStatus_t lt_destroy(cublasLtHandle_t handle);
cublasStatus_t lt_get_property(libraryPropertyType type, int* value);
cublasStatus_t lt_get_cache_capacity(size_t* capacity);
cublasStatus_t lt_ignore(...);

// lt_descriptors.cc
cublasStatus_t lt_matrix_layout_create(cublasLtMatrixLayout_t* to, cudaDataType type, uint64_t rows,
                                       uint64_t columns, int64_t ld);
cublasStatus_t lt_matrix_layout_init(cublasLtMatrixLayout_t to, size_t bytes, cudaDataType type,
                                     uint64_t rows, uint64_t columns, int64_t ld);
cublasStatus_t lt_matrix_layout_destroy(cublasLtMatrixLayout_t descriptor);
cublasStatus_t lt_matrix_layout_set(cublasLtMatrixLayout_t descriptor, int attribute, const void* from,
                                    size_t bytes);
cublasStatus_t lt_matrix_layout_get(cublasLtMatrixLayout_t descriptor, int attribute, void* to, size_t bytes,
                                    size_t* written);
cublasStatus_t lt_matmul_desc_create(cublasLtMatmulDesc_t* to, cublasComputeType_t compute,
                                     cudaDataType scale);
cublasStatus_t lt_matmul_desc_init(cublasLtMatmulDesc_t to, size_t bytes, cublasComputeType_t compute,
                                   cudaDataType scale);
cublasStatus_t lt_matmul_desc_destroy(cublasLtMatmulDesc_t descriptor);
cublasStatus_t lt_matmul_desc_set(cublasLtMatmulDesc_t descriptor, int attribute, const void* from,
                                  size_t bytes);
cublasStatus_t lt_matmul_desc_get(cublasLtMatmulDesc_t descriptor, int attribute, void* to, size_t bytes,
                                  size_t* written);
cublasStatus_t lt_preference_create(cublasLtMatmulPreference_t* to);
cublasStatus_t lt_preference_init(cublasLtMatmulPreference_t to, size_t bytes);
cublasStatus_t lt_preference_destroy(cublasLtMatmulPreference_t descriptor);
cublasStatus_t lt_preference_set(cublasLtMatmulPreference_t descriptor, int attribute, const void* from,
                                 size_t bytes);
cublasStatus_t lt_preference_get(cublasLtMatmulPreference_t descriptor, int attribute, void* to, size_t bytes,
                                 size_t* written);
cublasStatus_t lt_transform_desc_create(cublasLtMatrixTransformDesc_t* to, cudaDataType scale);
cublasStatus_t lt_transform_desc_init(cublasLtMatrixTransformDesc_t to, size_t bytes, cudaDataType scale);
cublasStatus_t lt_transform_desc_destroy(cublasLtMatrixTransformDesc_t descriptor);
cublasStatus_t lt_transform_desc_set(cublasLtMatrixTransformDesc_t descriptor, int attribute,
                                     const void* from, size_t bytes);
cublasStatus_t lt_transform_desc_get(cublasLtMatrixTransformDesc_t descriptor, int attribute, void* to,
                                     size_t bytes, size_t* written);
cublasStatus_t lt_algo_set(cublasLtMatmulAlgo_t* algorithm, int attribute, const void* from, size_t bytes);
cublasStatus_t lt_algo_get(const cublasLtMatmulAlgo_t* algorithm, int attribute, void* to, size_t bytes,
                           size_t* written);

// lt_matmul.cc
cublasStatus_t lt_matmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t how, const void* alpha, const void* a,
                         cublasLtMatrixLayout_t a_layout, const void* b, cublasLtMatrixLayout_t b_layout,
                         const void* beta, const void* c, cublasLtMatrixLayout_t c_layout, void* d,
                         cublasLtMatrixLayout_t d_layout, const cublasLtMatmulAlgo_t*, void* workspace,
                         size_t workspace_bytes, cudaStream_t stream);
cublasStatus_t lt_heuristic(cublasLtHandle_t handle, cublasLtMatmulDesc_t how, cublasLtMatrixLayout_t a,
                            cublasLtMatrixLayout_t b, cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                            cublasLtMatmulPreference_t preference, int wanted,
                            cublasLtMatmulHeuristicResult_t* results, int* count);
cublasStatus_t lt_algo_check(cublasLtHandle_t handle, cublasLtMatmulDesc_t how, cublasLtMatrixLayout_t a,
                             cublasLtMatrixLayout_t b, cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                             const cublasLtMatmulAlgo_t* algorithm, cublasLtMatmulHeuristicResult_t* result);
cublasStatus_t lt_algo_ids(cublasLtHandle_t handle, cublasComputeType_t, cudaDataType, cudaDataType,
                           cudaDataType, cudaDataType, cudaDataType, int wanted, int* ids, int* count);
cublasStatus_t lt_algo_init(cublasLtHandle_t handle, cublasComputeType_t, cudaDataType, cudaDataType,
                            cudaDataType, cudaDataType, cudaDataType, int id,
                            cublasLtMatmulAlgo_t* algorithm);
cublasStatus_t lt_transform(cublasLtHandle_t handle, cublasLtMatrixTransformDesc_t how, const void* alpha,
                            const void* a, cublasLtMatrixLayout_t a_layout, const void* beta, const void* b,
                            cublasLtMatrixLayout_t b_layout, void* c, cublasLtMatrixLayout_t c_layout,
                            cudaStream_t stream);

} // namespace lemma::cublas::routines
