// A memref as the words that a function takes for it, and whether an array is one.
//
// Tests: tests/mlir/run/, tests/unit/nvgpu/api_test.cc.
#include "lemma/mlir.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <utility>

namespace lemma {
namespace {

Unexpected<Error> wrong(std::string text) {
  return Unexpected<Error>{{.kind = ErrorKind::invalid_argument, .text = std::move(text), .messages = {}}};
}

// A dtype of numpy's, "<f2": kind and bytes.
struct Dtype {
  char kind = 0;
  uint64_t bytes = 0;
};

Dtype parse_dtype(std::string_view text) {
  Dtype dtype;
  if (text.size() > 2) {
    dtype.kind = text[1];
    std::from_chars(text.data() + 2, text.data() + text.size(), dtype.bytes);
  }
  return dtype;
}

// As options name it: "f32", "s8".
std::string name_of(Dtype dtype) {
  const char* kind = dtype.kind == 'i' ? "s" : dtype.kind == 'b' ? "bool" : nullptr;
  return dtype.kind == 'b' ? kind
                           : fmt::format("{}{}", kind ? kind : std::string(1, dtype.kind), 8 * dtype.bytes);
}

// What arrays of a memref's elements are made of, "f16" or "u16 (bf16 as bits)"; empty: `dtype` fits, or
// nobody knows.
std::string wanted_instead(const MlirParameter& parameter, Dtype dtype) {
  const std::string& element = parameter.element;
  const uint64_t bits = element == "index" ? 64 : parameter.element_bits;
  if (bits == 0 || (bits < 8 && bits != 1)) // a vector, or packed
    return {};
  const uint64_t bytes = (bits + 7) / 8;
  const bool has_size = dtype.bytes == bytes;
  if (element == "f16" || element == "f32" || element == "f64")
    return has_size && dtype.kind == 'f' ? "" : element;
  const bool is_integer = element.starts_with('i') || element.starts_with("si") || element.starts_with("ui");
  if (is_integer) {
    const bool fits =
        has_size && (dtype.kind == 'i' || dtype.kind == 'u' || (bytes == 1 && dtype.kind == 'b'));
    return fits                                     ? ""
           : element.starts_with("ui") || bits == 1 ? fmt::format("u{}", 8 * bytes)
                                                    : fmt::format("s{}", 8 * bytes);
  }
  const bool fits = has_size && (dtype.kind == 'u' || dtype.kind == 'i' || dtype.kind == 'V' ||
                                 (element == "tf32" && dtype.kind == 'f'));
  return fits ? "" : fmt::format("u{}, the bits of {}", 8 * bytes, element);
}

} // namespace

Result<void, Error> check_array(const MlirParameter& parameter, std::string_view dtype,
                                std::span<const uint64_t> shape) {
  const size_t rank = parameter.shape.size();
  const Dtype given = parse_dtype(dtype);
  const std::string elements = wanted_instead(parameter, given);
  // Where rows lie apart, the array is what lies in between, too.
  bool is_dense = parameter.strides.size() == rank, fits = shape.size() == rank;
  int64_t dense = 1;
  for (size_t i = rank; i-- > 0 && is_dense;) {
    is_dense = parameter.strides[i] < 0 || dense < 0 || parameter.strides[i] == dense;
    dense = parameter.shape[i] < 0 || dense < 0 ? -1 : dense * parameter.shape[i];
  }
  for (size_t i = 0; i < rank && fits; ++i)
    fits = parameter.shape[i] < 0 || static_cast<uint64_t>(parameter.shape[i]) == shape[i];
  if (elements.empty() && (fits || !is_dense))
    return {};
  std::string extents;
  for (const int64_t extent : parameter.shape)
    extents += (extents.empty() ? "" : ",") + (extent < 0 ? "?" : std::to_string(extent));
  return wrong(
      fmt::format("it is {}[{}], and the argument a {}; legal: {}{}{}", name_of(given), fmt::join(shape, ","),
                  parameter.type, elements.empty() ? "" : "elements of " + elements,
                  elements.empty() || fits ? "" : ", ", fits ? "" : fmt::format("extents [{}]", extents)));
}

Result<std::vector<uint64_t>, Error> expand_memref(const MlirParameter& parameter, uint64_t address,
                                                   uint64_t size_bytes, std::span<const uint64_t> shape) {
  const size_t rank = parameter.shape.size();
  if (parameter.strides.size() != rank || parameter.offset > 0)
    return wrong(fmt::format("{} has a layout that a plain array has not", parameter.type));
  std::vector<int64_t> extents = parameter.shape;
  for (size_t i = 0; i < rank; ++i) {
    if (extents[i] >= 0)
      continue;
    if (shape.size() != rank)
      return wrong(fmt::format(
          "{} leaves extents open: the argument must be a .npy file, or out=FILE:TYPE[M,N], of rank {}",
          parameter.type, rank));
    extents[i] = static_cast<int64_t>(std::min<uint64_t>(shape[i], INT64_MAX));
  }
  std::vector<int64_t> strides(rank);
  int64_t dense = 1;
  bool too_large = false;
  for (size_t i = rank; i-- > 0;) {
    strides[i] = parameter.strides[i] >= 0 ? parameter.strides[i] : dense;
    too_large |= __builtin_mul_overflow(strides[i], std::max<int64_t>(extents[i], 1), &dense);
  }
  // The last element's end.
  int64_t elements = 1, reach = 0, bytes = 0;
  for (size_t i = 0; i < rank; ++i)
    if (extents[i] > 0)
      too_large |= __builtin_mul_overflow(strides[i], extents[i] - 1, &reach) ||
                   __builtin_add_overflow(elements, reach, &elements);
  if (std::find(extents.begin(), extents.end(), 0) != extents.end())
    elements = 0;
  if (parameter.element_bits == 4) // two to a byte
    bytes = elements / 2 + elements % 2;
  else
    too_large |= __builtin_mul_overflow(elements, int64_t{(parameter.element_bits + 7) / 8}, &bytes);
  if (too_large || static_cast<uint64_t>(bytes) > size_bytes)
    return wrong(fmt::format("it has {} bytes, but {} of extents [{}] has {}", size_bytes, parameter.type,
                             fmt::join(extents, ", "),
                             too_large ? "more than there are addresses" : std::to_string(bytes)));
  std::vector<uint64_t> words{address, address, 0};
  words.insert(words.end(), extents.begin(), extents.end());
  words.insert(words.end(), strides.begin(), strides.end());
  return words;
}

} // namespace lemma
