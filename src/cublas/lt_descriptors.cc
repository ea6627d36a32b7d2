// Attributes by their numbers: lt_attributes.def.
#include "cublas/lt_descriptors.h"

#include "cublas/lt_routines.h"

namespace lemma::cublas {
namespace {

// `field`: of(row's field) where the number is the row's.
template <class T>
Field whole(T& field) {
  return {&field, sizeof field};
}

} // namespace

#define FIELD_OF(kind)                                                                                       \
  Field field_of(kind& of, int attribute) {                                                                  \
    switch (attribute) {
#define CASE(name, number, field)                                                                            \
  case number:                                                                                               \
    return whole(of.field);
#define END                                                                                                  \
  default:                                                                                                   \
    return {};                                                                                               \
    }                                                                                                        \
    }

#define LAYOUT CASE
FIELD_OF(Layout)
#include "cublas/lt_attributes.def"
END
#define MATMUL CASE
FIELD_OF(MatmulDescription)
#include "cublas/lt_attributes.def"
END
#define PREFERENCE CASE
FIELD_OF(Preference)
#include "cublas/lt_attributes.def"
END
#define TRANSFORM CASE
FIELD_OF(TransformDescription)
#include "cublas/lt_attributes.def"
END
#define CONFIG CASE
FIELD_OF(Algorithm)
#include "cublas/lt_attributes.def"
END

cublasStatus_t set_field(const Field& field, const void* from, size_t bytes) {
  require(field.at != nullptr && from != nullptr && bytes == field.bytes);
  std::memcpy(field.at, from, bytes);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t get_field(const Field& field, void* to, size_t bytes, size_t* written) {
  require(field.at != nullptr);
  if (bytes == 0) {
    require(written != nullptr);
    *written = field.bytes;
    return CUBLAS_STATUS_SUCCESS;
  }
  require(to != nullptr && bytes == field.bytes);
  std::memcpy(to, field.at, bytes);
  if (written)
    *written = bytes;
  return CUBLAS_STATUS_SUCCESS;
}

namespace routines {
namespace {

template <class Inner, class Opaque>
cublasStatus_t create_descriptor(Opaque** to, const Inner& inner) {
  require(to != nullptr);
  *to = new Opaque{};
  inside<Inner>(*to) = inner;
  return CUBLAS_STATUS_SUCCESS;
}
template <class Inner, class Opaque>
cublasStatus_t init_descriptor(Opaque* to, size_t bytes, const Inner& inner) {
  require(to != nullptr && bytes >= sizeof(Inner));
  std::memset(to, 0, std::min(bytes, sizeof *to));
  inside<Inner>(to) = inner;
  return CUBLAS_STATUS_SUCCESS;
}
template <class Opaque>
cublasStatus_t destroy_descriptor(Opaque* descriptor) {
  delete descriptor;
  return CUBLAS_STATUS_SUCCESS;
}

Layout layout(cudaDataType type, uint64_t rows, uint64_t columns, int64_t ld) {
  return {.type = type, .rows = rows, .columns = columns, .ld = ld};
}

} // namespace

cublasStatus_t lt_matrix_layout_create(cublasLtMatrixLayout_t* to, cudaDataType type, uint64_t rows,
                                       uint64_t columns, int64_t ld) {
  return create_descriptor(to, layout(type, rows, columns, ld));
}
cublasStatus_t lt_matrix_layout_init(cublasLtMatrixLayout_t to, size_t bytes, cudaDataType type,
                                     uint64_t rows, uint64_t columns, int64_t ld) {
  return init_descriptor(to, bytes, layout(type, rows, columns, ld));
}
cublasStatus_t lt_matrix_layout_destroy(cublasLtMatrixLayout_t descriptor) {
  return destroy_descriptor(descriptor);
}
cublasStatus_t lt_matrix_layout_set(cublasLtMatrixLayout_t descriptor, int attribute, const void* from,
                                    size_t bytes) {
  return set_field(field_of(inside<Layout>(descriptor), attribute), from, bytes);
}
cublasStatus_t lt_matrix_layout_get(cublasLtMatrixLayout_t descriptor, int attribute, void* to, size_t bytes,
                                    size_t* written) {
  return get_field(field_of(inside<Layout>(descriptor), attribute), to, bytes, written);
}

cublasStatus_t lt_matmul_desc_create(cublasLtMatmulDesc_t* to, cublasComputeType_t compute,
                                     cudaDataType scale) {
  return create_descriptor(to, MatmulDescription{.compute = compute, .scale = scale});
}
cublasStatus_t lt_matmul_desc_init(cublasLtMatmulDesc_t to, size_t bytes, cublasComputeType_t compute,
                                   cudaDataType scale) {
  return init_descriptor(to, bytes, MatmulDescription{.compute = compute, .scale = scale});
}
cublasStatus_t lt_matmul_desc_destroy(cublasLtMatmulDesc_t descriptor) {
  return destroy_descriptor(descriptor);
}
cublasStatus_t lt_matmul_desc_set(cublasLtMatmulDesc_t descriptor, int attribute, const void* from,
                                  size_t bytes) {
  return set_field(field_of(inside<MatmulDescription>(descriptor), attribute), from, bytes);
}
cublasStatus_t lt_matmul_desc_get(cublasLtMatmulDesc_t descriptor, int attribute, void* to, size_t bytes,
                                  size_t* written) {
  return get_field(field_of(inside<MatmulDescription>(descriptor), attribute), to, bytes, written);
}

cublasStatus_t lt_preference_create(cublasLtMatmulPreference_t* to) {
  return create_descriptor(to, Preference());
}
cublasStatus_t lt_preference_init(cublasLtMatmulPreference_t to, size_t bytes) {
  return init_descriptor(to, bytes, Preference());
}
cublasStatus_t lt_preference_destroy(cublasLtMatmulPreference_t descriptor) {
  return destroy_descriptor(descriptor);
}
cublasStatus_t lt_preference_set(cublasLtMatmulPreference_t descriptor, int attribute, const void* from,
                                 size_t bytes) {
  return set_field(field_of(inside<Preference>(descriptor), attribute), from, bytes);
}
cublasStatus_t lt_preference_get(cublasLtMatmulPreference_t descriptor, int attribute, void* to, size_t bytes,
                                 size_t* written) {
  return get_field(field_of(inside<Preference>(descriptor), attribute), to, bytes, written);
}

cublasStatus_t lt_transform_desc_create(cublasLtMatrixTransformDesc_t* to, cudaDataType scale) {
  return create_descriptor(to, TransformDescription{.scale = scale});
}
cublasStatus_t lt_transform_desc_init(cublasLtMatrixTransformDesc_t to, size_t bytes, cudaDataType scale) {
  return init_descriptor(to, bytes, TransformDescription{.scale = scale});
}
cublasStatus_t lt_transform_desc_destroy(cublasLtMatrixTransformDesc_t descriptor) {
  return destroy_descriptor(descriptor);
}
cublasStatus_t lt_transform_desc_set(cublasLtMatrixTransformDesc_t descriptor, int attribute,
                                     const void* from, size_t bytes) {
  return set_field(field_of(inside<TransformDescription>(descriptor), attribute), from, bytes);
}
cublasStatus_t lt_transform_desc_get(cublasLtMatrixTransformDesc_t descriptor, int attribute, void* to,
                                     size_t bytes, size_t* written) {
  return get_field(field_of(inside<TransformDescription>(descriptor), attribute), to, bytes, written);
}

cublasStatus_t lt_algo_set(cublasLtMatmulAlgo_t* algorithm, int attribute, const void* from, size_t bytes) {
  return set_field(field_of(inside<Algorithm>(algorithm), attribute), from, bytes);
}
cublasStatus_t lt_algo_get(const cublasLtMatmulAlgo_t* algorithm, int attribute, void* to, size_t bytes,
                           size_t* written) {
  require(algorithm != nullptr);
  cublasLtMatmulAlgo_t copy = *algorithm;
  return get_field(field_of(inside<Algorithm>(&copy), attribute), to, bytes, written);
}

} // namespace routines
} // namespace lemma::cublas
