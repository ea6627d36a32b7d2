// bits_of() first decides what the array's element type means for the wanted type (bits, an integer in
// range, or a number to round), and refuses all else; then it goes element by element. element_text() prints
// a value so that it reads back as the same bits.
#include "inspect/elements.h"

#include "inspect/availability.h"
#include "numeric/convert.h"

#include <fmt/format.h>

#include <bit>
#include <cstring>
#include <optional>

namespace lemma {
namespace inspect {
namespace {

using isa::Type;
using numeric::FloatFormat;

// The format of an array's floating-point elements.
std::optional<FloatFormat> file_format(std::string_view dtype) {
  if (dtype == "<f2")
    return FloatFormat::f16;
  if (dtype == "<f4")
    return FloatFormat::f32;
  return dtype == "<f8" ? std::optional(FloatFormat::f64) : std::nullopt;
}

char kind_of(std::string_view dtype) {
  return dtype.size() > 1 ? dtype[1] : '?';
}

uint64_t raw_bits(const npy::Array& array, uint64_t index, uint64_t bytes) {
  uint64_t bits = 0;
  std::memcpy(&bits, array.data.data() + index * bytes, bytes);
  return bits;
}

int64_t sign_extended(uint64_t bits, uint64_t bytes) {
  const int shift = 64 - 8 * static_cast<int>(bytes);
  return static_cast<int64_t>(bits << shift) >> shift;
}

struct IntegerRange {
  int64_t least = 0, most = 0;
};
std::optional<IntegerRange> range_of(Type type) {
  switch (type) {
  case Type::b1:
    return IntegerRange{0, 1};
  case Type::u4:
    return IntegerRange{0, 15};
  case Type::s4:
    return IntegerRange{-8, 7};
  case Type::u8:
    return IntegerRange{0, 255};
  case Type::s8:
    return IntegerRange{-128, 127};
  case Type::s32:
    return IntegerRange{INT32_MIN, INT32_MAX};
  default:
    return std::nullopt;
  }
}

Result<uint64_t, std::string> integer_element(const npy::Array& array, uint64_t index, uint64_t bytes,
                                              Type type, IntegerRange range) {
  const char kind = kind_of(array.dtype);
  const uint64_t bits = raw_bits(array, index, bytes);
  const bool huge = kind != 'i' && bits > INT64_MAX;
  const int64_t value = kind == 'i' ? sign_extended(bits, bytes) : static_cast<int64_t>(bits);
  if (huge || value < range.least || value > range.most)
    return fail(fmt::format("element {} is {}; legal for {}: {} to {}", index,
                            kind == 'i' ? fmt::format("{}", value) : fmt::format("{}", bits),
                            isa::to_string(type), range.least, range.most));
  return static_cast<uint64_t>(value) & (~uint64_t{0} >> (64 - isa::bits_of(type)));
}

uint64_t converted(FloatFormat to, FloatFormat from, uint64_t bits) {
  if (to == from || (to == FloatFormat::tf32 && from == FloatFormat::f32))
    return bits;
  const bool narrow = numeric::traits(to).storage_bits <= 8;
  return numeric::convert_float(to, from, bits, {.satfinite = narrow});
}

Result<BitMatrix, std::string> matrix_from(const npy::Array& array, Type type) {
  if (array.shape.size() != 2)
    return fail(fmt::format("it has {} dimensions; a matrix has 2", array.shape.size()));
  BitMatrix out{.rows = array.shape[0], .cols = array.shape[1], .bits = {}};
  const uint64_t bytes = npy::element_bytes(array.dtype), count = npy::element_count(array.shape);
  const char kind = kind_of(array.dtype);
  out.bits.reserve(count);
  const auto integers = range_of(type);
  const auto to = numeric::float_format_of(isa::to_string(type));
  const auto from = file_format(array.dtype);
  const uint64_t type_bytes = static_cast<uint64_t>(isa::bits_of(type) + 7) / 8;
  const bool is_raw = (kind == 'u' || kind == 'V') && bytes == type_bytes;
  const bool is_integer = kind == 'u' || kind == 'i' || kind == 'b';
  if (integers ? !is_integer || bytes == 0 : !to || (!from && !is_raw))
    return fail(fmt::format("its elements are {}; legal for {}: {}", array.dtype, isa::to_string(type),
                            integers ? std::string("integers")
                                     : fmt::format("f2, f4, f8, or u{} for bits", type_bytes)));
  const uint64_t legal_bits = to ? ~uint64_t{0} >> (64 - numeric::traits(*to).storage_bits) : 0;
  for (uint64_t i = 0; i < count; ++i) {
    if (integers) {
      const auto element = integer_element(array, i, bytes, type, *integers);
      if (!element)
        return fail(element.error());
      out.bits.push_back(*element);
      continue;
    }
    const uint64_t bits = raw_bits(array, i, bytes);
    if (!from && (bits & ~legal_bits) != 0)
      return fail(fmt::format("element {} is {:#x}, which has more than the {} bits of {}", i, bits,
                              numeric::traits(*to).storage_bits, isa::to_string(type)));
    out.bits.push_back(from ? converted(*to, *from, bits) : bits);
  }
  return out;
}

} // namespace

bool is_zero(Type type, uint64_t bits) {
  const auto format = numeric::float_format_of(isa::to_string(type));
  return (format ? bits & numeric::traits(*format).magnitude_mask() : bits) == 0;
}

std::vector<std::byte> packed(const BitMatrix& matrix, isa::Type type, bool transposed) {
  const uint64_t rows = transposed ? matrix.cols : matrix.rows, cols = transposed ? matrix.rows : matrix.cols;
  const auto at = [&](uint64_t row, uint64_t col) {
    return transposed ? matrix.at(col, row) : matrix.at(row, col);
  };
  if (type == Type::b1) {
    std::vector<uint32_t> words(rows * cols / 32);
    for (uint64_t row = 0; row < rows; ++row)
      for (uint64_t col = 0; col < cols; ++col)
        words[(row * cols + col) / 32] |= static_cast<uint32_t>(at(row, col)) << (col % 32);
    std::vector<std::byte> bytes(words.size() * 4);
    std::memcpy(bytes.data(), words.data(), bytes.size());
    return bytes;
  }
  const uint64_t size = static_cast<uint64_t>(isa::bits_of(type) + 7) / 8;
  std::vector<std::byte> bytes(rows * cols * size);
  for (uint64_t row = 0; row < rows; ++row)
    for (uint64_t col = 0; col < cols; ++col) {
      const uint64_t bits = at(row, col);
      std::memcpy(bytes.data() + (row * cols + col) * size, &bits, size);
    }
  return bytes;
}

} // namespace inspect

Result<BitMatrix, Error> bits_of(const npy::Array& array, std::string_view type_word) {
  const auto type = isa::parse_type(type_word);
  if (!type)
    return inspect::wrong(fmt::format("there is no type {}", type_word));
  auto matrix = inspect::matrix_from(array, *type);
  if (!matrix)
    return inspect::wrong(std::move(matrix).error());
  return *std::move(matrix);
}

npy::Array array_of(const BitMatrix& matrix, std::string_view type) {
  const uint64_t bytes = static_cast<uint64_t>(bits_of_type(type) + 7) / 8;
  npy::Array array{.dtype = fmt::format("{}u{}", bytes == 1 ? '|' : '<', bytes),
                   .shape = {matrix.rows, matrix.cols},
                   .data = std::vector<std::byte>(matrix.bits.size() * bytes)};
  if (type == "f16" || type == "f32" || type == "f64")
    array.dtype = fmt::format("<f{}", bytes);
  else if (type == "s32")
    array.dtype = "<i4";
  for (size_t i = 0; i < matrix.bits.size(); ++i)
    std::memcpy(array.data.data() + i * bytes, &matrix.bits[i], bytes);
  return array;
}

std::string element_text(uint64_t bits, std::string_view type) {
  using numeric::FloatFormat;
  const auto format = numeric::float_format_of(type);
  if (!format)
    return fmt::format("{}", inspect::sign_extended(bits, 4));
  if (numeric::is_nan(*format, bits))
    return "nan";
  // The shortest text that reads back as the same bits of the type.
  if (*format == FloatFormat::f64)
    return fmt::format("{}", std::bit_cast<double>(bits));
  const auto single = static_cast<uint32_t>(
      *format == FloatFormat::f32 ? bits : numeric::convert_float(FloatFormat::f32, *format, bits));
  return fmt::format("{}", std::bit_cast<float>(single));
}

int bits_of_type(std::string_view type) {
  const auto known = isa::parse_type(type);
  return known ? isa::bits_of(*known) : 0;
}

} // namespace lemma
