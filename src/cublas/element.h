// Elements of matrices: what the bytes of each type mean, as f64, and how an f64 is rounded to them: once, to
// nearest even; integers saturate; e4m3 and e5m2 saturate too, as cuBLAS's do.
//
// Tests: tests/cublas.
#pragma once

#include "cublas/product.h"
#include "cublas/types.h"

#include <cstddef>
#include <cstdint>
#include <optional>

namespace lemma::cublas {

// 0: a type that no function has matrices of.
size_t bytes_of(cudaDataType type);
bool is_complex(cudaDataType type);
// The parts of a complex number; else the type itself.
cudaDataType real_type_of(cudaDataType type);
bool is_integer(cudaDataType type);

template <class T>
inline constexpr cudaDataType kTypeOf = cudaDataType(-1);
template <>
inline constexpr cudaDataType kTypeOf<float> = CUDA_R_32F;
template <>
inline constexpr cudaDataType kTypeOf<double> = CUDA_R_64F;
template <>
inline constexpr cudaDataType kTypeOf<cuComplex> = CUDA_C_32F;
template <>
inline constexpr cudaDataType kTypeOf<cuDoubleComplex> = CUDA_C_64F;
template <>
inline constexpr cudaDataType kTypeOf<__half> = CUDA_R_16F;

// `count` elements. A real type has no imaginary parts: read as 0, dropped when written.
void decode(cudaDataType type, const void* from, int64_t count, double* to);
void decode(cudaDataType type, const void* from, int64_t count, Complex* to);
void encode(cudaDataType type, const double* from, int64_t count, void* to);
void encode(cudaDataType type, const Complex* from, int64_t count, void* to);

// An f32 without the bits that tensor cores drop of a tf32 operand (measured on an H200).
double cut_to_tf32(double value);

} // namespace lemma::cublas
