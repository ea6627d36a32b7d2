// A table of kinds (kKinds) with a parser each; a new kind is a row there and its words in arg_spec.h.
// Numbers are read by std::from_chars: no locale, no blanks, no overflow unseen.
#include "arg_spec.h"

#include "lemma/nearest.h"
#include "lemma/npy.h"

#include <fmt/format.h>

#include <bit>
#include <charconv>
#include <cmath>

namespace lemma::cli {
namespace {

using Parsed = Result<void, std::string>;
using Bytes = std::vector<std::byte>;

struct ElementType {
  std::string_view name;
  std::string_view dtype;
};
constexpr ElementType kElementTypes[] = {{"u8", "|u1"},  {"s8", "|i1"},   {"i8", "|i1"},  {"u16", "<u2"},
                                         {"s16", "<i2"}, {"i16", "<i2"},  {"u32", "<u4"}, {"s32", "<i4"},
                                         {"i32", "<i4"}, {"u64", "<u8"},  {"s64", "<i8"}, {"i64", "<i8"},
                                         {"f16", "<f2"}, {"bf16", "|V2"}, {"f32", "<f4"}, {"f64", "<f8"}};

template <class T>
bool from_text(std::string_view text, T& value, int base = 10) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  return error == std::errc{} && end == text.data() + text.size();
}

// Takes a sign off the front of a number; true if it was a minus.
bool take_sign(std::string_view& text) {
  if (!text.starts_with('-') && !text.starts_with('+'))
    return false;
  const bool negative = text.front() == '-';
  text.remove_prefix(1);
  return negative;
}

bool take_hex_prefix(std::string_view& text) {
  if (!text.starts_with("0x") && !text.starts_with("0X"))
    return false;
  text.remove_prefix(2);
  return true;
}

Bytes little_endian(uint64_t value, size_t bytes) {
  Bytes out;
  for (size_t i = 0; i < bytes; ++i)
    out.push_back(static_cast<std::byte>(value >> (8 * i)));
  return out;
}

Result<Bytes, std::string> integer_value(std::string_view text, bool is_signed, size_t bits) {
  std::string_view digits = text;
  const bool negative = take_sign(digits);
  const bool hex = take_hex_prefix(digits);
  const uint64_t all_ones = ~uint64_t{0} >> (64 - bits);
  const uint64_t highest = is_signed ? all_ones >> 1 : all_ones;
  const uint64_t lowest = is_signed ? highest + 1 : 0; // as a magnitude below zero
  uint64_t magnitude = 0;
  if (!from_text(digits, magnitude, hex ? 16 : 10) || magnitude > (negative ? lowest : highest))
    return fail(fmt::format("'{}' is no integer from {}{} to {}", text, lowest ? "-" : "", lowest, highest));
  return little_endian(negative ? 0 - magnitude : magnitude, bits / 8);
}

// Bits as PTX writes them: 0f and 8 hex digits, 0d and 16.
template <class Bits>
std::optional<Bits> ptx_bits(std::string_view text, char letter) {
  Bits bits = 0;
  const bool prefixed = text.size() == 2 + 2 * sizeof(Bits) && text[0] == '0' && (text[1] | 0x20) == letter;
  if (!prefixed || !from_text(text.substr(2), bits, 16))
    return std::nullopt;
  return bits;
}

template <class T, class Bits>
Result<Bytes, std::string> float_value(std::string_view text, char letter) {
  if (const auto bits = ptx_bits<Bits>(text, letter))
    return little_endian(*bits, sizeof(Bits));
  std::string_view digits = text;
  const bool negative = take_sign(digits);
  const bool hex = take_hex_prefix(digits);
  T value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value,
                                            hex ? std::chars_format::hex : std::chars_format::general);
  if (error == std::errc::result_out_of_range)
    return fail(fmt::format("'{}' is out of the range of f{}", text, 8 * sizeof(T)));
  if (error != std::errc{} || end != digits.data() + digits.size() || digits.starts_with('-'))
    return fail(fmt::format("'{}' is no floating-point number", text));
  return little_endian(std::bit_cast<Bits>(negative ? -value : value), sizeof(Bits));
}

// "FILE:REST", split at the last colon. False without both.
bool split_last_colon(const std::string& value, std::string& file, std::string& rest) {
  const size_t colon = value.rfind(':');
  if (colon == value.npos || colon == 0 || colon + 1 == value.size())
    return false;
  file = value.substr(0, colon);
  rest = value.substr(colon + 1);
  return true;
}

// "f32[64,128]": dtype, shape and size of an output. False if `text` is none.
bool parse_typed_shape(std::string_view text, Spec& spec) {
  const size_t bracket = text.find('[');
  if (bracket == text.npos || !text.ends_with(']'))
    return false;
  for (const ElementType& type : kElementTypes)
    if (type.name == text.substr(0, bracket))
      spec.dtype = type.dtype;
  if (spec.dtype.empty())
    return false;
  std::string_view dims = text.substr(bracket + 1, text.size() - bracket - 2);
  while (!dims.empty()) {
    const size_t comma = dims.find(',');
    const std::optional<uint64_t> dim = parse_unsigned(dims.substr(0, comma));
    if (!dim)
      return false;
    spec.shape.push_back(*dim);
    dims = comma == dims.npos ? std::string_view() : dims.substr(comma + 1);
  }
  const uint64_t count = npy::element_count(spec.shape);
  return count != UINT64_MAX &&
         !__builtin_mul_overflow(count, npy::element_bytes(spec.dtype), &spec.size_bytes);
}

Parsed parse_size(Spec& spec, const std::string& value) {
  const std::optional<uint64_t> size = parse_unsigned(value);
  if (!size)
    return fail(fmt::format("'{}' is no number of bytes, and no type and shape like f32[64,128]", value));
  spec.size_bytes = *size;
  return {};
}

Parsed parse_bytes(Spec& spec, const std::string& value) {
  if (!value.starts_with('@') || value.size() == 1)
    return fail(std::string("it is bytes=@FILE"));
  spec.path = value.substr(1);
  return {};
}

Parsed parse_tmap(Spec& spec, const std::string& value) {
  if (!value.starts_with('@') || value.size() == 1)
    return fail(std::string("it is tmap=@FILE.json"));
  spec.path = value.substr(1);
  return {};
}

Parsed parse_in(Spec& spec, const std::string& value) {
  spec.path = value;
  return {};
}

Parsed parse_out(Spec& spec, const std::string& value) {
  std::string rest;
  if (!split_last_colon(value, spec.out_path, rest))
    return fail(fmt::format(
        "how large is it? out={0}:f32[1000] says so with a type and a shape, out={0}:4000 in bytes",
        value.substr(0, value.find(':'))));
  if (rest.find('[') == rest.npos)
    return parse_size(spec, rest);
  if (parse_typed_shape(rest, spec))
    return {};
  std::string names;
  for (const ElementType& type : kElementTypes)
    names += fmt::format(" {}", type.name);
  return fail(fmt::format("'{}' is no type and shape like f32[64,128]; types:{}", rest, names));
}

Parsed parse_inout(Spec& spec, const std::string& value) {
  if (!split_last_colon(value, spec.path, spec.out_path))
    return fail(std::string("it is inout=FILE:OUTFILE"));
  return {};
}

Parsed parse_expect(Spec& spec, const std::string& value) {
  std::string file, rest;
  double tolerance = 0;
  spec.path = value;
  if (!split_last_colon(value, file, rest))
    return {};
  const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), tolerance);
  if (error != std::errc{} || end != rest.data() + rest.size())
    return {}; // the colon belongs to the name
  if (!(tolerance >= 0) || std::isinf(tolerance))
    return fail(std::string("the tolerance is a number from 0 up"));
  spec.path = file;
  spec.tolerance = tolerance;
  return {};
}

// "NAME=REST"; false without both.
bool split_variable(const std::string& value, Spec& spec, std::string& rest) {
  const size_t equals = value.find('=');
  if (equals == value.npos || equals == 0 || equals + 1 == value.size())
    return false;
  spec.variable = value.substr(0, equals);
  rest = value.substr(equals + 1);
  return true;
}

Parsed parse_set(Spec& spec, const std::string& value) {
  if (!split_variable(value, spec, spec.path))
    return fail(std::string("it is set=NAME=FILE, of a variable of the module"));
  return {};
}

Parsed parse_get(Spec& spec, const std::string& value) {
  std::string rest;
  if (!split_variable(value, spec, rest))
    return fail(std::string("it is get=NAME=FILE or get=NAME=FILE:BYTES, of a variable of the module"));
  if (rest.find(':') != rest.npos)
    return parse_out(spec, rest);
  spec.out_path = rest;
  return {};
}

template <size_t bits, bool is_signed>
Parsed parse_integer(Spec& spec, const std::string& value) {
  auto bytes = integer_value(value, is_signed, bits);
  if (!bytes)
    return fail(std::move(bytes).error());
  spec.value = *std::move(bytes);
  return {};
}

template <class T, class Bits, char letter>
Parsed parse_float(Spec& spec, const std::string& value) {
  auto bytes = float_value<T, Bits>(value, letter);
  if (!bytes)
    return fail(std::move(bytes).error());
  spec.value = *std::move(bytes);
  return {};
}

struct KindRow {
  std::string_view name;
  SpecKind kind;
  Parsed (*parse)(Spec& spec, const std::string& value);
  std::string_view usage;
};
constexpr KindRow kKinds[] = {
    {"u8", SpecKind::scalar, parse_integer<8, false>, "u8=VALUE"},
    {"s8", SpecKind::scalar, parse_integer<8, true>, "s8=VALUE"},
    {"u16", SpecKind::scalar, parse_integer<16, false>, "u16=VALUE"},
    {"s16", SpecKind::scalar, parse_integer<16, true>, "s16=VALUE"},
    {"u32", SpecKind::scalar, parse_integer<32, false>, "u32=VALUE"},
    {"s32", SpecKind::scalar, parse_integer<32, true>, "s32=VALUE"},
    {"u64", SpecKind::scalar, parse_integer<64, false>, "u64=VALUE"},
    {"s64", SpecKind::scalar, parse_integer<64, true>, "s64=VALUE"},
    {"i8", SpecKind::scalar, parse_integer<8, true>, "i8=VALUE"},
    {"i16", SpecKind::scalar, parse_integer<16, true>, "i16=VALUE"},
    {"i32", SpecKind::scalar, parse_integer<32, true>, "i32=VALUE"},
    {"i64", SpecKind::scalar, parse_integer<64, true>, "i64=VALUE"},
    {"f32", SpecKind::scalar, parse_float<float, uint32_t, 'f'>, "f32=VALUE"},
    {"f64", SpecKind::scalar, parse_float<double, uint64_t, 'd'>, "f64=VALUE"},
    {"bytes", SpecKind::bytes, parse_bytes, "bytes=@FILE"},
    {"tmap", SpecKind::tmap, parse_tmap, "tmap=@FILE.json"},
    {"buf", SpecKind::buf, parse_size, "buf=BYTES"},
    {"in", SpecKind::in, parse_in, "in=FILE"},
    {"out", SpecKind::out, parse_out, "out=FILE:BYTES"},
    {"inout", SpecKind::inout, parse_inout, "inout=FILE:OUTFILE"},
    {"expect", SpecKind::expect, parse_expect, "expect=FILE[:TOLERANCE]"},
    {"set", SpecKind::set, parse_set, "set=NAME=FILE"},
    {"get", SpecKind::get, parse_get, "get=NAME=FILE[:BYTES]"},
};

std::string all_kinds() {
  std::string text;
  for (const KindRow& row : kKinds)
    text += fmt::format("{}{}", text.empty() ? "" : " ", row.usage);
  return text;
}

} // namespace

std::optional<uint64_t> parse_unsigned(std::string_view text) {
  const bool hex = take_hex_prefix(text);
  uint64_t value = 0;
  if (!from_text(text, value, hex ? 16 : 10))
    return std::nullopt;
  return value;
}

Result<Spec, std::string> parse_spec(const std::string& text) {
  const size_t equals = text.find('=');
  if (equals == text.npos || equals + 1 == text.size())
    return fail(fmt::format("--arg {}: an argument is one of {}", text, all_kinds()));
  std::string_view kind = std::string_view(text).substr(0, equals);
  const size_t colon = kind.rfind(':');
  const std::string_view label = colon == kind.npos ? "" : kind.substr(0, colon);
  kind.remove_prefix(colon == kind.npos ? 0 : colon + 1);
  std::vector<std::string_view> names;
  for (const KindRow& row : kKinds) {
    names.push_back(row.name);
    if (row.name != kind)
      continue;
    Spec spec;
    spec.kind = row.kind;
    spec.text = text;
    spec.label = label;
    if (row.kind == SpecKind::scalar)
      spec.type = kind;
    const Parsed parsed = row.parse(spec, text.substr(equals + 1));
    if (!parsed)
      return fail(fmt::format("--arg {}: {}", text, parsed.error()));
    return spec;
  }
  return fail(fmt::format("--arg {}: there is no {}={}; an argument is one of {}", text, kind,
                          did_you_mean(kind, names), all_kinds()));
}

} // namespace lemma::cli
