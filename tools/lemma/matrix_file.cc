// matrix_of() first decides what the file's element type means for the wanted type (bits, an integer in
// range, or a number to round), and refuses all else; then it goes element by element. element_text() prints
// a value so that it reads back as the same bits.
#include "matrix_file.h"

#include "numeric/convert.h"

#include <fmt/format.h>

#include <bit>
#include <cstring>
#include <optional>

namespace lemma::cli {
namespace {

using isa::Type;
using numeric::FloatFormat;

// The format of a .npy file's floating-point elements.
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

} // namespace

bool is_zero(Type type, uint64_t bits) {
  const auto format = numeric::float_format_of(isa::to_string(type));
  return (format ? bits & numeric::traits(*format).magnitude_mask() : bits) == 0;
}

Result<BitMatrix, std::string> matrix_of(const npy::Array& array, Type type) {
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

npy::Array array_of(const BitMatrix& matrix, Type type) {
  const uint64_t bytes = static_cast<uint64_t>(isa::bits_of(type) + 7) / 8;
  npy::Array array{.dtype = fmt::format("{}u{}", bytes == 1 ? '|' : '<', bytes),
                   .shape = {matrix.rows, matrix.cols},
                   .data = std::vector<std::byte>(matrix.bits.size() * bytes)};
  if (type == Type::f16 || type == Type::f32 || type == Type::f64)
    array.dtype = fmt::format("<f{}", bytes);
  else if (type == Type::s32)
    array.dtype = "<i4";
  for (size_t i = 0; i < matrix.bits.size(); ++i)
    std::memcpy(array.data.data() + i * bytes, &matrix.bits[i], bytes);
  return array;
}

std::string element_text(Type type, uint64_t bits) {
  const auto format = numeric::float_format_of(isa::to_string(type));
  if (!format)
    return fmt::format("{}", sign_extended(bits, 4));
  if (numeric::is_nan(*format, bits))
    return "nan";
  // The shortest text that reads back as the same bits of the type.
  if (*format == FloatFormat::f64)
    return fmt::format("{}", std::bit_cast<double>(bits));
  const auto single = static_cast<uint32_t>(
      *format == FloatFormat::f32 ? bits : numeric::convert_float(FloatFormat::f32, *format, bits));
  return fmt::format("{}", std::bit_cast<float>(single));
}

} // namespace lemma::cli
