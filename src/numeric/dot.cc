// dot(): the choice of scheme, and the schemes that need no alignment: chains of fma, integers, single bits.
//
// The fused rule is in dot_fused.cc. Tests: tests/unit/numeric/dot_test.cc.
#include "numeric/dot.h"

#include "numeric/arithmetic.h"
#include "numeric/convert.h"
#include "numeric/dot_block_sums.h"
#include "numeric/dot_f64.h"
#include "numeric/dot_floats.h"
#include "numeric/dot_integers.h"
#include "numeric/dot_internal.h"
#include "numeric/dot_lanes.h"

#include <algorithm>
#include <bit>
#include <bitset>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <vector>

namespace lemma::numeric {
namespace {

using internal::element_bytes;
using internal::load_element;
using internal::row_stride;
using internal::store_element;

size_t columns_of_b(const DotTile& tile) {
  return tile.a_index != nullptr ? tile.k_b : tile.k;
}

// The column of b that meets element k of row i of a.
size_t column(const DotTile& tile, size_t i, size_t k) {
  return tile.a_index != nullptr ? tile.a_index[i * tile.k + k] : k;
}

// The same for f64 to nearest even by the host's fma, which is IEEE's in all but the bits of a NaN; those
// outputs say false.
bool host_fma_chain(const double* a, const double* b, size_t k_count, double c, uint64_t& bits) {
  for (size_t k = 0; k < k_count; ++k)
    c = std::fma(a[k], b[k], c);
  bits = std::bit_cast<uint64_t>(c);
  return !std::isnan(c);
}

// One IEEE fma after another, k ascending, starting from C. Measured on an H200 for all f64 shapes.
MatrixOutputs dot_fma_chain(const DotModel& model, const DotTile& tile) {
  const int bytes = element_bytes(model.d);
  const size_t n = tile.n, k_count = tile.k, k_b = columns_of_b(tile), stride = row_stride(tile);
  const ArithmeticOptions options{.rounding = model.rounding};
  const bool by_host =
      model.d == FloatFormat::f64 && model.rounding == Rounding::rn && tile.a_index == nullptr;
  for (size_t i = 0; i < static_cast<size_t>(tile.m); ++i)
    for (size_t j = 0; j < n; ++j) {
      uint64_t sum = tile.c != nullptr ? load_element(tile.c, i * stride + j, bytes) : 0;
      uint64_t result = 0;
      if (by_host && host_fma_chain(static_cast<const double*>(tile.a) + i * k_count,
                                    static_cast<const double*>(tile.b) + j * k_b, k_count,
                                    std::bit_cast<double>(sum), result)) {
        store_element(tile.d, i * stride + j, bytes, result);
        continue;
      }
      for (size_t k = 0; k < k_count; ++k)
        sum = fma(model.d, load_element(tile.a, i * k_count + k, bytes),
                  load_element(tile.b, j * k_b + column(tile, i, k), bytes), sum, options);
      store_element(tile.d, i * stride + j, bytes, sum);
    }
  return {.scalar = static_cast<uint64_t>(tile.m) * static_cast<uint64_t>(tile.n)};
}

// What ptxas (12.8 and 13.0, sm_80 to sm_120) emits for mma.m8n8k4 of f16: a call of scalar code, through
// which the operands of every lane were followed symbolically. The host's float is IEEE's f32 in all but the
// bits of a NaN.
void dot_scalar_k4(const DotModel& model, const DotTile& tile) {
  constexpr size_t kDepth = 4;
  const size_t m = tile.m, n = tile.n, stride = row_stride(tile);
  const auto widen = [](FloatFormat format, const void* array, size_t index) {
    const uint64_t bits = load_element(array, index, element_bytes(format));
    return std::bit_cast<float>(static_cast<uint32_t>(convert_float(FloatFormat::f32, format, bits)));
  };
  std::vector<float> a(m * kDepth), b(n * kDepth);
  for (size_t i = 0; i < a.size(); ++i)
    a[i] = widen(model.a, tile.a, i);
  for (size_t i = 0; i < b.size(); ++i)
    b[i] = widen(model.b, tile.b, i);
  const bool to_half = model.d == FloatFormat::f16;
  for (size_t i = 0; i < m; ++i)
    for (size_t j = 0; j < n; ++j) {
      const float *x = &a[i * kDepth], *y = &b[j * kDepth];
      const float c = tile.c != nullptr ? widen(model.c, tile.c, i * stride + j) : 0;
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
      store_element(tile.d, i * stride + j, element_bytes(model.d), bits);
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
void dot_integer(const DotModel& model, const DotTile& tile) {
  const size_t m = tile.m, n = tile.n, k_count = tile.k, k_b = columns_of_b(tile), stride = row_stride(tile);
  const std::vector<int16_t> a = decode_integers(model.integer_a, tile.a, m * k_count);
  const std::vector<int16_t> b = decode_integers(model.integer_b, tile.b, n * k_b);
  std::vector<int16_t> gathered(tile.a_index != nullptr ? k_count : 0);
  const size_t step = model.max_fused_k != 0 ? static_cast<size_t>(model.max_fused_k) : k_count;
  for (size_t i = 0; i < m; ++i)
    for (size_t j = 0; j < n; ++j) {
      const int16_t* b_row = &b[j * k_b];
      if (tile.a_index != nullptr) {
        for (size_t k = 0; k < k_count; ++k)
          gathered[k] = b_row[column(tile, i, k)];
        b_row = gathered.data();
      }
      const int16_t* a_row = &a[i * k_count];
      int32_t result = load_s32(tile.c, i * stride + j);
      for (size_t first = 0; first < k_count; first += step) {
        int32_t sum = 0; // 32768 products of at most 255 * 255 fit
        for (size_t k = first; k < std::min(first + step, k_count); ++k)
          sum += a_row[k] * b_row[k];
        result = accumulate(sum, result, model.satfinite);
      }
      store_element(tile.d, i * stride + j, 4, static_cast<uint32_t>(result));
    }
}

void dot_bits(const DotModel& model, const DotTile& tile) {
  const size_t n = tile.n, words = tile.k / 32, stride = row_stride(tile);
  const bool is_xor = model.scheme == DotScheme::xor_popc;
  for (size_t i = 0; i < static_cast<size_t>(tile.m); ++i)
    for (size_t j = 0; j < n; ++j) {
      int64_t sum = 0;
      for (size_t w = 0; w < words; ++w) {
        const auto a = static_cast<uint32_t>(load_element(tile.a, i * words + w, 4));
        const auto b = static_cast<uint32_t>(load_element(tile.b, j * words + w, 4));
        sum += std::popcount(is_xor ? a ^ b : a & b);
      }
      const int32_t c = load_s32(tile.c, i * stride + j);
      store_element(tile.d, i * stride + j, 4, static_cast<uint32_t>(accumulate(sum, c, false)));
    }
}

size_t bytes_of_b_column(const DotModel& model, const DotTile& tile) {
  switch (model.scheme) {
  case DotScheme::integer:
    return columns_of_b(tile);
  case DotScheme::xor_popc:
  case DotScheme::and_popc:
    return columns_of_b(tile) / 8;
  default:
    return columns_of_b(tile) * element_bytes(model.b);
  }
}

int bytes_of_result(const DotModel& model, FloatFormat format) {
  switch (model.scheme) {
  case DotScheme::integer:
  case DotScheme::xor_popc:
  case DotScheme::and_popc:
    return 4;
  default:
    return element_bytes(format);
  }
}

size_t bytes_of_a_row(const DotModel& model, const DotTile& tile) {
  const auto k = static_cast<size_t>(tile.k);
  switch (model.scheme) {
  case DotScheme::integer:
    return k;
  case DotScheme::xor_popc:
  case DotScheme::and_popc:
    return k / 8;
  default:
    return k * element_bytes(model.a);
  }
}

// What the loops for ordinary numbers leave of the fused rule: in blocks that fit the careful code's arrays,
// so that where one needs the scalar code the others do not.
MatrixOutputs dot_fused_otherwise(const DotModel& model, const DotTile& tile) {
  constexpr int kBlock = 32;
  MatrixOutputs paths;
  for (int i = 0; i < tile.m; i += kBlock)
    for (int j = 0; j < tile.n; j += kBlock) {
      const DotTile part =
          internal::part_of(model, tile, i, std::min(kBlock, tile.m - i), j, std::min(kBlock, tile.n - j));
      const bool is_careful = internal::dot_fused_lanes(model, part);
      if (!is_careful)
        internal::dot_fused(model, part);
      (is_careful ? paths.careful : paths.scalar) +=
          static_cast<uint64_t>(part.m) * static_cast<uint64_t>(part.n);
    }
  return paths;
}

} // namespace

namespace internal {

DotTile part_of(const DotModel& model, const DotTile& tile, int i, int m, int j, int n) {
  const auto at = [](auto* array, size_t bytes) {
    using Byte =
        std::conditional_t<std::is_const_v<std::remove_pointer_t<decltype(array)>>, const uint8_t, uint8_t>;
    return array ? static_cast<Byte*>(array) + bytes : nullptr;
  };
  const auto row = static_cast<size_t>(i), column = static_cast<size_t>(j);
  const size_t output = row * row_stride(tile) + column;
  const size_t scales = model.scale_block != 0 ? static_cast<size_t>(tile.k / model.scale_block) : 0;
  DotTile part = tile;
  part.m = m;
  part.n = n;
  part.a = at(tile.a, row * bytes_of_a_row(model, tile));
  part.b = at(tile.b, column * bytes_of_b_column(model, tile));
  part.c = at(tile.c, output * bytes_of_result(model, model.c));
  part.d = at(tile.d, output * bytes_of_result(model, model.d));
  part.scale_a = at(tile.scale_a, row * scales);
  part.scale_b = at(tile.scale_b, column * scales);
  part.a_index = at(tile.a_index, row * static_cast<size_t>(tile.k));
  part.row_stride = static_cast<int>(row_stride(tile));
  part.arranged_b = nullptr; // which is of all columns, as blocks are
  part.blocks = nullptr;
  part.c_blocks = nullptr;
  return part;
}

namespace {

constexpr size_t kBlockRows = 8;

// Are the rows of the model's blocks 32 bytes in place of 16 (DotTile::blocks)?
bool has_wide_blocks(const DotModel& model) {
  return bytes_of_result(model, model.d) == 8;
}

// Calls visit(a row of a block, where it is in the rows).
template <size_t kBytes, class Byte, class Visit>
void visit_blocks(const DotModel& model, const DotTile& tile, Byte* const* blocks, int i, int m, int j, int n,
                  Visit visit) {
  const size_t bytes = bytes_of_result(model, model.d);
  const auto in_row = [&](int columns) { return static_cast<size_t>(columns) * bytes / kBytes; };
  const auto first = static_cast<size_t>(i);
  for (size_t row = first; row < first + static_cast<size_t>(m); ++row)
    for (size_t block = 0; block < in_row(n); ++block)
      visit(blocks[row / kBlockRows * in_row(tile.n) + in_row(j) + block] + row % kBlockRows * kBytes,
            ((row - first) * in_row(n) + block) * kBytes);
}

// Rows that lie in blocks, `pitch` bytes apart there (DotTile::a_pitch), one after the other.
template <size_t kBytes>
void copy_rows(const std::byte* const* blocks, size_t pitch, size_t rows, size_t row_bytes, bool even_first,
               std::byte* to) {
  const size_t in_row = row_bytes / kBytes, apart = pitch != 0 ? pitch : kBytes;
  for (size_t row = 0; row < rows; ++row) {
    const size_t in_block = row % kBlockRows;
    const size_t from = even_first ? in_block % 4 * 2 + in_block / 4 : in_block;
    for (size_t block = 0; block < in_row; ++block, to += kBytes)
      std::memcpy(to, blocks[row / kBlockRows * in_row + block] + from * apart, kBytes);
  }
}

template <size_t kBytes>
MatrixOutputs run_blocks_as_rows(const DotModel& model, const DotTile& tile, int i, int m, int j, int n,
                                 DotRun run) {
  static thread_local std::vector<std::byte> rows;
  rows.resize(static_cast<size_t>(m) * static_cast<size_t>(n) * bytes_of_result(model, model.d));
  if (tile.c_blocks)
    visit_blocks<kBytes>(model, tile, tile.c_blocks, i, m, j, n,
                         [](const std::byte* block, size_t at) { std::memcpy(&rows[at], block, kBytes); });
  DotTile part = part_of(model, tile, i, m, j, n);
  part.c = tile.c_blocks ? rows.data() : nullptr;
  part.d = rows.data();
  part.row_stride = n;
  const MatrixOutputs paths = run(model, part);
  visit_blocks<kBytes>(model, tile, tile.blocks, i, m, j, n,
                       [](std::byte* block, size_t at) { std::memcpy(block, &rows[at], kBytes); });
  return paths;
}

} // namespace

DotTile dense_operands(const DotModel& model, const DotTile& tile) {
  static thread_local std::vector<std::byte> rows;
  const auto m = static_cast<size_t>(tile.m), n = static_cast<size_t>(tile.n);
  const size_t a_bytes = bytes_of_a_row(model, tile), b_bytes = bytes_of_b_column(model, tile);
  rows.resize(m * a_bytes + n * b_bytes);
  std::byte* const b = rows.data() + m * a_bytes;
  const auto copy = has_wide_blocks(model) ? copy_rows<32> : copy_rows<16>;
  copy(tile.a_blocks, tile.a_pitch, m, a_bytes, false, rows.data());
  copy(tile.b_blocks, tile.b_pitch, n, b_bytes, tile.even_columns_first, b);
  DotTile dense = tile;
  dense.a = rows.data();
  dense.b = b;
  dense.a_blocks = dense.b_blocks = nullptr;
  return dense;
}

MatrixOutputs run_as_rows(const DotModel& model, const DotTile& tile, int i, int m, int j, int n,
                          DotRun run) {
  return (has_wide_blocks(model) ? run_blocks_as_rows<32> : run_blocks_as_rows<16>)(model, tile, i, m, j, n,
                                                                                    run);
}

namespace {

constexpr size_t kMaxColumns = 128; // of B where A is sparse

// Do all stored elements of a row meet different columns?
bool are_distinct(const uint8_t* columns, size_t count) {
  std::bitset<kMaxColumns> taken;
  for (size_t s = 0; s < count; ++s) {
    if (taken[columns[s]])
      return false;
    taken[columns[s]] = true;
  }
  return true;
}

// A row of a sparse A to where its elements belong in a dense one; false where there is no such row.
// `in_fours`: elements have to stay among the four columns, or two, that are their own.
template <size_t kBytes>
bool spread_row(const std::byte* stored, const uint8_t* columns, size_t count, bool in_fours,
                std::byte* row) {
  std::memset(row, 0, 2 * count * kBytes);
  size_t astray = 0;
  for (size_t s = 0; s < count; s += 2) {
    const size_t first = columns[s], second = columns[s + 1];
    astray |= (first / 4 ^ s / 2) | (second / 4 ^ s / 2) | size_t{first == second};
    std::memcpy(row + first * kBytes, stored + s * kBytes, kBytes);
    std::memcpy(row + second * kBytes, stored + (s + 1) * kBytes, kBytes);
  }
  return astray == 0 || (!in_fours && are_distinct(columns, count));
}

} // namespace

// A sparse A with its zeros, which are never the largest term and add nothing to an exact sum. There is no
// such tile where two stored elements meet the same column, or one is not among the four columns, or two,
// that are its own: the steps of the fused rule would fall elsewhere.
std::optional<DotTile> dense_tile(const DotModel& model, const DotTile& tile) {
  if (!tile.a_index)
    return tile;
  const size_t m = tile.m, k = tile.k, k_b = tile.k_b, bytes = bytes_of_a_row(model, tile) / k;
  if (k_b != 2 * k || k_b > kMaxColumns || k % 2 != 0 || bytes > 4)
    return std::nullopt;
  static thread_local std::vector<std::byte> buffer; // a warp's tile is small, and allocation would show
  buffer.resize(m * k_b * bytes);
  const auto spread = bytes == 1 ? spread_row<1> : bytes == 2 ? spread_row<2> : spread_row<4>;
  const auto* a = static_cast<const std::byte*>(tile.a);
  for (size_t i = 0; i < m; ++i)
    if (!spread(a + i * k * bytes, tile.a_index + i * k, k, model.scheme != DotScheme::integer,
                &buffer[i * k_b * bytes]))
      return std::nullopt;
  DotTile dense = tile;
  dense.a = buffer.data();
  dense.k = tile.k_b;
  dense.a_index = nullptr;
  return dense;
}

} // namespace internal

ArrangedB::ArrangedB() : content_(std::make_unique<Content>()) {}
ArrangedB::~ArrangedB() = default;
ArrangedB::ArrangedB(ArrangedB&&) noexcept = default;
ArrangedB& ArrangedB::operator=(ArrangedB&&) noexcept = default;

void ArrangedB::arrange(const DotModel& model, const DotTile& tile) {
  content_->form = Content::Form::none;
  content_->level = internal::dot_level();
  DotTile dense = tile;
  if (tile.a_index) {
    dense.k = tile.k_b;
    dense.a_index = nullptr;
  }
  if (model.scheme == DotScheme::integer)
    internal::arrange_integers(model, dense, *content_);
  else
    internal::arrange_floats(model, dense, tile.k, *content_);
}

DotModel chainable(const DotModel& model, int k) {
  DotModel out = model;
  if (model.scheme == DotScheme::fused && model.scale_block == 0 && model.c == model.d &&
      model.max_fused_k == 0)
    out.max_fused_k = k;
  if (model.scheme == DotScheme::integer && model.satfinite)
    out.max_fused_k = k;
  return out;
}

int longest_chain(const DotModel& model, int k) {
  if (model.scheme == DotScheme::integer)
    return model.satfinite && model.max_fused_k != k ? 1 : std::max(1, internal::kMaxIntegerK / k);
  if (model.scheme == DotScheme::fma_chain && model.c == model.d)
    return std::max(1, internal::kMaxF64K / k);
  const bool is_chain = model.scheme == DotScheme::fused && model.scale_block == 0 && model.c == model.d &&
                        model.max_fused_k != 0 && k % model.max_fused_k == 0;
  return is_chain ? std::max(1, internal::kMaxFloatK / k) : 1;
}

MatrixOutputs dot(const DotModel& model, const DotTile& tile) {
  const uint64_t outputs = static_cast<uint64_t>(tile.m) * static_cast<uint64_t>(tile.n);
  const MatrixOutputs by_vector{.vector = outputs}, by_scalar{.scalar = outputs};
  MatrixOutputs paths;
  if (model.scheme == DotScheme::block_sums && !tile.a_blocks &&
      internal::dot_block_sums_lanes(model, tile, paths))
    return paths;
  const std::optional<DotTile> dense = internal::dense_tile(model, tile);
  const bool is_fused = model.scheme == DotScheme::fused || model.scheme == DotScheme::split_quad;
  if (is_fused && dense && internal::dot_fused_floats(model, tile, *dense, dot_fused_otherwise, paths))
    return paths;
  if (model.scheme == DotScheme::integer && dense && internal::dot_integer_lanes(model, *dense))
    return by_vector;
  if (internal::dot_f64_lanes(model, tile, dot_fma_chain, paths))
    return paths;
  if (tile.a_blocks)
    return dot(model, internal::dense_operands(model, tile));
  if (tile.blocks)
    return internal::run_as_rows(model, tile, 0, tile.m, 0, tile.n, dot);
  switch (model.scheme) {
  case DotScheme::fused:
  case DotScheme::split_quad:
    return dot_fused_otherwise(model, tile);
  case DotScheme::block_sums:
    internal::dot_block_sums(model, tile);
    return by_scalar;
  case DotScheme::fma_chain:
    return dot_fma_chain(model, tile);
  case DotScheme::scalar_k4:
    dot_scalar_k4(model, tile);
    return by_scalar;
  case DotScheme::integer:
    dot_integer(model, tile);
    return by_scalar;
  case DotScheme::xor_popc:
  case DotScheme::and_popc:
    if (internal::dot_bit_lanes(model, tile))
      return by_vector;
    dot_bits(model, tile);
    return by_scalar;
  }
  return {};
}

} // namespace lemma::numeric
