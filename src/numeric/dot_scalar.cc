// The code that takes every number: the schemes that need no alignment - chains of fma, integers, single bits
// - and, block after block, the fused rule.
//
// The fused rule itself is in dot_fused.cc. Tests: tests/unit/numeric/dot_test.cc.
#include "numeric/arithmetic.h"
#include "numeric/convert.h"
#include "numeric/dot_internal.h"
#include "numeric/dot_lanes.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <vector>

namespace lemma::numeric::internal {
namespace {

// One output of f64 to nearest even by the host's fma, which is IEEE's in all but the bits of a NaN; such an
// output says false.
bool host_fma_chain(const double* a, const double* b, size_t k_count, double c, uint64_t& bits) {
  for (size_t k = 0; k < k_count; ++k)
    c = std::fma(a[k], b[k], c);
  bits = std::bit_cast<uint64_t>(c);
  return !std::isnan(c);
}

// One IEEE fma after another, k ascending, starting from C. Measured on an H200 for all f64 shapes.
void dot_fma_chain(const DotModel& model, const DotRows& rows) {
  const int bytes = element_bytes(model.d);
  const size_t n = rows.n, k_count = rows.k, k_b = rows.k_b, stride = rows.stride;
  const ArithmeticOptions options{.rounding = model.rounding};
  const bool by_host =
      model.d == FloatFormat::f64 && model.rounding == Rounding::rn && rows.a_index == nullptr;
  for (size_t i = 0; i < static_cast<size_t>(rows.m); ++i)
    for (size_t j = 0; j < n; ++j) {
      uint64_t sum = rows.c != nullptr ? load_element(rows.c, i * stride + j, bytes) : 0;
      uint64_t result = 0;
      if (by_host && host_fma_chain(reinterpret_cast<const double*>(rows.a) + i * k_count,
                                    reinterpret_cast<const double*>(rows.b) + j * k_b, k_count,
                                    std::bit_cast<double>(sum), result)) {
        store_element(rows.d, i * stride + j, bytes, result);
        continue;
      }
      for (size_t k = 0; k < k_count; ++k)
        sum = fma(model.d, load_element(rows.a, i * k_count + k, bytes),
                  load_element(rows.b, j * k_b + rows.column(i, k), bytes), sum, options);
      store_element(rows.d, i * stride + j, bytes, sum);
    }
}

// What ptxas (12.8 and 13.0, sm_80 to sm_120) emits for mma.m8n8k4 of f16: a call of scalar code, through
// which the operands of every lane were followed symbolically. The host's float is IEEE's f32 in all but the
// bits of a NaN.
void dot_scalar_k4(const DotModel& model, const DotRows& rows) {
  constexpr size_t kDepth = 4;
  const size_t m = rows.m, n = rows.n, stride = rows.stride;
  const auto widen = [](FloatFormat format, const void* array, size_t index) {
    const uint64_t bits = load_element(array, index, element_bytes(format));
    return std::bit_cast<float>(static_cast<uint32_t>(convert_float(FloatFormat::f32, format, bits)));
  };
  std::vector<float> a(m * kDepth), b(n * kDepth);
  for (size_t i = 0; i < a.size(); ++i)
    a[i] = widen(model.a, rows.a, i);
  for (size_t i = 0; i < b.size(); ++i)
    b[i] = widen(model.b, rows.b, i);
  const bool to_half = model.d == FloatFormat::f16;
  for (size_t i = 0; i < m; ++i)
    for (size_t j = 0; j < n; ++j) {
      const float *x = &a[i * kDepth], *y = &b[j * kDepth];
      const float c = rows.c != nullptr ? widen(model.c, rows.c, i * stride + j) : 0;
      float sum = 0;
      if (to_half) {
        sum = (c + std::fma(x[1], y[1], x[0] * y[0])) + std::fma(x[3], y[3], x[2] * y[2]);
      } else {
        for (size_t k = 0; k < kDepth; ++k)
          sum = std::fma(x[k], y[k], sum);
        sum += c;
      }
      uint64_t bits = std::isnan(sum) ? encode_nan(FloatFormat::f32) : std::bit_cast<uint32_t>(sum);
      if (to_half)
        bits = convert_float(FloatFormat::f16, FloatFormat::f32, bits);
      store_element(rows.d, i * stride + j, element_bytes(model.d), bits);
    }
}

// Elements of up to 8 bits, one a byte, to numbers.
std::vector<int16_t> decode_integers(IntegerFormat format, const void* array, size_t count) {
  const auto* bytes = static_cast<const uint8_t*>(array);
  const int unused = 8 - width_bits(format);
  std::vector<int16_t> values(count);
  for (size_t i = 0; i < count; ++i) {
    const auto top_aligned = static_cast<uint8_t>(bytes[i] << unused);
    values[i] = static_cast<int16_t>(is_signed(format) ? static_cast<int8_t>(top_aligned) >> unused
                                                       : top_aligned >> unused);
  }
  return values;
}

int32_t accumulate(int64_t sum, int32_t c, bool satfinite) {
  using limits = std::numeric_limits<int32_t>;
  sum += c;
  if (satfinite)
    sum = std::clamp<int64_t>(sum, limits::min(), limits::max());
  return static_cast<int32_t>(static_cast<uint32_t>(sum));
}

int32_t load_s32(const void* array, size_t index) {
  return array == nullptr ? 0 : static_cast<int32_t>(load_element(array, index, 4));
}

// Saturation is of the exact sum with C; whether the hardware saturates in between is not known.
void dot_integer(const DotModel& model, const DotRows& rows) {
  const size_t m = rows.m, n = rows.n, k_count = rows.k, k_b = rows.k_b, stride = rows.stride;
  const std::vector<int16_t> a = decode_integers(model.integer_a, rows.a, m * k_count);
  const std::vector<int16_t> b = decode_integers(model.integer_b, rows.b, n * k_b);
  std::vector<int16_t> gathered(rows.a_index != nullptr ? k_count : 0);
  const size_t step = model.max_fused_k != 0 ? static_cast<size_t>(model.max_fused_k) : k_count;
  for (size_t i = 0; i < m; ++i)
    for (size_t j = 0; j < n; ++j) {
      const int16_t* b_row = &b[j * k_b];
      if (rows.a_index != nullptr) {
        for (size_t k = 0; k < k_count; ++k)
          gathered[k] = b_row[rows.column(i, k)];
        b_row = gathered.data();
      }
      const int16_t* a_row = &a[i * k_count];
      int32_t result = load_s32(rows.c, i * stride + j);
      for (size_t first = 0; first < k_count; first += step) {
        int32_t sum = 0; // 32768 products of at most 255 * 255 fit
        for (size_t k = first; k < std::min(first + step, k_count); ++k)
          sum += a_row[k] * b_row[k];
        result = accumulate(sum, result, model.satfinite);
      }
      store_element(rows.d, i * stride + j, 4, static_cast<uint32_t>(result));
    }
}

void dot_bits(const DotModel& model, const DotRows& rows) {
  const size_t n = rows.n, words = rows.k / 32, stride = rows.stride;
  const bool is_xor = model.scheme == DotScheme::xor_popc;
  for (size_t i = 0; i < static_cast<size_t>(rows.m); ++i)
    for (size_t j = 0; j < n; ++j) {
      int64_t sum = 0;
      for (size_t w = 0; w < words; ++w) {
        const auto a = static_cast<uint32_t>(load_element(rows.a, i * words + w, 4));
        const auto b = static_cast<uint32_t>(load_element(rows.b, j * words + w, 4));
        sum += std::popcount(is_xor ? a ^ b : a & b);
      }
      const int32_t c = load_s32(rows.c, i * stride + j);
      store_element(rows.d, i * stride + j, 4, static_cast<uint32_t>(accumulate(sum, c, false)));
    }
}

// The fused rule in blocks that fit the careful code's arrays, so that where one needs the scalar code the
// others do not.
MatrixOutputs dot_fused_in_blocks(const DotModel& model, const DotRows& rows, DotScratch& scratch) {
  constexpr int kBlock = 32;
  MatrixOutputs paths;
  for (int i = 0; i < rows.m; i += kBlock)
    for (int j = 0; j < rows.n; j += kBlock) {
      const DotRows part =
          rows_of(model, rows, {i, std::min(kBlock, rows.m - i), j, std::min(kBlock, rows.n - j)});
      const bool is_careful = dot_fused_lanes(model, part);
      if (!is_careful)
        dot_fused(model, part, scratch);
      (is_careful ? paths.careful : paths.scalar) +=
          static_cast<uint64_t>(part.m) * static_cast<uint64_t>(part.n);
    }
  return paths;
}

} // namespace

MatrixOutputs dot_rows(const DotModel& model, const DotRows& rows, DotScratch& scratch) {
  switch (model.scheme) {
  case DotScheme::fused:
  case DotScheme::split_quad:
    return dot_fused_in_blocks(model, rows, scratch);
  case DotScheme::block_sums:
    dot_block_sums(model, rows);
    break;
  case DotScheme::fma_chain:
    dot_fma_chain(model, rows);
    break;
  case DotScheme::scalar_k4:
    dot_scalar_k4(model, rows);
    break;
  case DotScheme::integer:
    dot_integer(model, rows);
    break;
  case DotScheme::xor_popc:
  case DotScheme::and_popc:
    dot_bits(model, rows);
    break;
  }
  return {.scalar = static_cast<uint64_t>(rows.m) * static_cast<uint64_t>(rows.n)};
}

} // namespace lemma::numeric::internal
