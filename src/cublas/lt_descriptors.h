// What is in cublasLt's descriptors, and how attributes of them are set and asked for.
//
// Tests: tests/cublas.
#pragma once

#include "cublas/call.h"
#include "cublas/lt_types.h"

#include <type_traits>

namespace lemma::cublas {

struct Layout {
  int32_t type = CUDA_R_32F, order = CUBLASLT_ORDER_COL;
  uint64_t rows = 0, columns = 0;
  int64_t ld = 0;
  int32_t batch_count = 1, batch_mode = 0;
  int64_t batch_stride = 0, plane_offset = 0;

  cudaDataType element() const { return static_cast<cudaDataType>(type); }
};

struct MatmulDescription {
  int32_t compute = CUBLAS_COMPUTE_32F, scale = CUDA_R_32F, pointer_mode = CUBLASLT_POINTER_MODE_HOST;
  int32_t op_a = CUBLAS_OP_N, op_b = CUBLAS_OP_N, op_c = CUBLAS_OP_N, fill = CUBLAS_FILL_MODE_FULL;
  uint32_t epilogue = CUBLASLT_EPILOGUE_DEFAULT;
  void *bias = nullptr, *aux = nullptr;
  int64_t bias_stride = 0, aux_ld = 0, aux_stride = 0, alpha_stride = 0;
  const void *a_scale = nullptr, *b_scale = nullptr, *c_scale = nullptr, *d_scale = nullptr,
             *aux_scale = nullptr;
  void *d_amax = nullptr, *aux_amax = nullptr, *d_out_scale = nullptr, *emulation = nullptr;
  int32_t sm_count_target = 0, aux_type = -1, bias_type = -1;
  int32_t a_scale_mode = 0, b_scale_mode = 0, c_scale_mode = 0, d_scale_mode = 0, aux_scale_mode = 0,
          d_out_scale_mode = 0;
  int8_t fast_accumulation = 0;
};

struct Preference {
  uint32_t search_mode = 0, reduction_schemes = 7;
  uint64_t most_workspace_bytes = 0, implementations = ~uint64_t{0};
  uint32_t alignment_a = 256, alignment_b = 256, alignment_c = 256, alignment_d = 256;
  float most_waves = 0;
};

struct TransformDescription {
  int32_t scale = CUDA_R_32F, pointer_mode = CUBLASLT_POINTER_MODE_HOST, op_a = CUBLAS_OP_N,
          op_b = CUBLAS_OP_N;
};

// There is one algorithm; how it is configured changes nothing.
struct Algorithm {
  int32_t id = 0, parts_of_k = 1;
  uint32_t tile = 0, reduction_scheme = 0, swizzling = 0, custom_option = 0, stages = 0;
  uint16_t inner_shape = 0, cluster_shape = 0;
};

// The descriptor of what programs have.
template <class Inner, class Opaque>
Inner& inside(Opaque* descriptor) {
  static_assert(sizeof(Inner) <= sizeof(Opaque) && std::is_trivially_copyable_v<Inner>);
  require(descriptor != nullptr);
  return *reinterpret_cast<Inner*>(descriptor);
}

// Where an attribute is; `at` null: there is none of that number.
struct Field {
  void* at = nullptr;
  size_t bytes = 0;
};
cublasStatus_t set_field(const Field& field, const void* from, size_t bytes);
cublasStatus_t get_field(const Field& field, void* to, size_t bytes, size_t* written);

Field field_of(Layout& of, int attribute);
Field field_of(MatmulDescription& of, int attribute);
Field field_of(Preference& of, int attribute);
Field field_of(TransformDescription& of, int attribute);
Field field_of(Algorithm& of, int attribute);

} // namespace lemma::cublas
