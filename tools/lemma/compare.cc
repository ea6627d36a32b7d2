// Elements are compared as bits; their values only serve a tolerance and the text of a difference. The tool
// sees only the public API here, so f16 is decoded by hand.
#include "compare.h"

#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <cstring>

namespace lemma::cli {
namespace {

constexpr size_t kShownDifferences = 10;

enum class Kind : uint8_t { unsigned_int, signed_int, f16, bf16, f32, f64, opaque };

struct Element {
  Kind kind = Kind::unsigned_int;
  uint64_t bytes = 1;
  std::string name = "u8";
};

Element element_of(const std::string& dtype) {
  const uint64_t bytes = npy::element_bytes(dtype);
  switch (dtype[1]) {
  case 'i':
    return {Kind::signed_int, bytes, fmt::format("s{}", 8 * bytes)};
  case 'f':
    return {bytes == 2   ? Kind::f16
            : bytes == 4 ? Kind::f32
                         : Kind::f64,
            bytes, fmt::format("f{}", 8 * bytes)};
  case 'c':
    return {bytes == 8 ? Kind::f32 : Kind::f64, bytes / 2, fmt::format("f{}", 4 * bytes)};
  case 'V':
    if (bytes == 2)
      return {Kind::bf16, bytes, "bf16"};
    return bytes <= 8 ? Element{Kind::opaque, bytes, fmt::format("b{}", 8 * bytes)} : Element{};
  default:
    return {Kind::unsigned_int, bytes, fmt::format("u{}", 8 * bytes)};
  }
}

uint64_t load(const std::byte* from, uint64_t bytes) {
  uint64_t bits = 0; // files and hosts are little-endian
  std::memcpy(&bits, from, bytes);
  return bits;
}

int64_t sign_extended(uint64_t bits, uint64_t bytes) {
  const int shift = static_cast<int>(64 - 8 * bytes);
  return static_cast<int64_t>(bits << shift) >> shift;
}

double half_value(uint64_t bits) {
  const double sign = bits & 0x8000 ? -1.0 : 1.0;
  const int exponent = static_cast<int>(bits >> 10 & 31);
  const double fraction = static_cast<double>(bits & 1023);
  if (exponent == 31)
    return fraction != 0 ? std::copysign(NAN, sign) : sign * INFINITY;
  return sign * std::ldexp(exponent ? 1024 + fraction : fraction, (exponent ? exponent : 1) - 25);
}

double value_of(const Element& element, uint64_t bits) {
  switch (element.kind) {
  case Kind::signed_int:
    return static_cast<double>(sign_extended(bits, element.bytes));
  case Kind::f16:
    return half_value(bits);
  case Kind::bf16:
    return std::bit_cast<float>(static_cast<uint32_t>(bits << 16));
  case Kind::f32:
    return std::bit_cast<float>(static_cast<uint32_t>(bits));
  case Kind::f64:
    return std::bit_cast<double>(bits);
  default:
    return static_cast<double>(bits);
  }
}

template <class T>
std::string float_text(T value) {
  std::string text = fmt::format("{}", value);
  if (text.find_first_of(".en") == text.npos)
    text += ".0";
  return text;
}

std::string show(const Element& element, uint64_t bits) {
  std::string value;
  switch (element.kind) {
  case Kind::unsigned_int:
    value = fmt::format("{}", bits);
    break;
  case Kind::signed_int:
    value = fmt::format("{}", sign_extended(bits, element.bytes));
    break;
  case Kind::f16: // as f32, whose shortest text tells more apart than these formats hold
  case Kind::bf16:
  case Kind::f32:
    value = float_text(static_cast<float>(value_of(element, bits)));
    break;
  case Kind::f64:
    value = float_text(value_of(element, bits));
    break;
  case Kind::opaque:
    return fmt::format("0x{:0{}x}", bits, 2 * element.bytes);
  }
  return fmt::format("0x{:0{}x} ({})", bits, 2 * element.bytes, value);
}

bool within(const Element& element, uint64_t got, uint64_t want, double tolerance) {
  if (got == want)
    return true;
  if (element.kind == Kind::opaque)
    return false;
  if (element.kind == Kind::unsigned_int || element.kind == Kind::signed_int) {
    const bool larger = element.kind == Kind::unsigned_int
                            ? got > want
                            : sign_extended(got, element.bytes) > sign_extended(want, element.bytes);
    const uint64_t mask = ~uint64_t{0} >> (64 - 8 * element.bytes);
    return static_cast<double>((larger ? got - want : want - got) & mask) <= tolerance;
  }
  const double g = value_of(element, got), w = value_of(element, want);
  if (std::isnan(g) || std::isnan(w))
    return std::isnan(g) && std::isnan(w);
  return g == w || std::abs(g - w) <= tolerance;
}

std::string index_text(uint64_t flat, const std::vector<uint64_t>& shape, uint64_t elements) {
  uint64_t count = npy::element_count(shape);
  if (shape.size() < 2 || count != elements || count == 0)
    return "";
  std::string text;
  for (const uint64_t dim : shape) {
    count /= dim;
    text += fmt::format("{}{}", text.empty() ? "[" : ", ", flat / count);
    flat %= count;
  }
  return text + "]";
}

} // namespace

Comparison compare(std::span<const std::byte> got, const npy::Array& want, std::optional<double> tolerance) {
  const Element element = element_of(want.dtype);
  Comparison result;
  result.type = element.name;
  if (got.size() != want.data.size()) {
    result.problem = fmt::format("{} bytes, expected {}", got.size(), want.data.size());
    return result;
  }
  result.elements = got.size() / element.bytes;
  for (uint64_t i = 0; i < result.elements; ++i) {
    const uint64_t g = load(got.data() + i * element.bytes, element.bytes);
    const uint64_t w = load(want.data.data() + i * element.bytes, element.bytes);
    if (tolerance ? within(element, g, w, *tolerance) : g == w)
      continue;
    if (++result.different <= kShownDifferences)
      result.first.push_back(
          {i, index_text(i, want.shape, result.elements), show(element, g), show(element, w)});
  }
  result.equal = result.different == 0;
  return result;
}

std::string render(const Comparison& comparison, const std::string& got_name, const std::string& want_name) {
  if (!comparison.problem.empty())
    return fmt::format("{}: differs from {}: {}\n", got_name, want_name, comparison.problem);
  if (comparison.equal)
    return fmt::format("{}: equals {} ({} elements of {})\n", got_name, want_name, comparison.elements,
                       comparison.type);
  std::string out = fmt::format("{}: {} of {} elements of {} differ from {}\n", got_name,
                                comparison.different, comparison.elements, comparison.type, want_name);
  for (const Difference& d : comparison.first)
    out += fmt::format("  element {}{}{}: got {}, want {}\n", d.element, d.index.empty() ? "" : " ", d.index,
                       d.got, d.want);
  if (comparison.different > comparison.first.size())
    out += fmt::format("  ... and {} more\n", comparison.different - comparison.first.size());
  return out;
}

} // namespace lemma::cli
