// What differs between stored and recorded bits, said so that one can find out why. See replay.h.
#include "golden/replay.h"
#include "golden/values.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

namespace lemma::golden {
namespace {

uint64_t load(std::span<const std::byte> bytes, uint64_t offset, uint32_t size) {
  uint64_t bits = 0;
  std::memcpy(&bits, bytes.data() + offset, std::min<uint32_t>(size, 8));
  return bits;
}

std::string float_text(numeric::FloatFormat format, uint64_t bits) {
  const numeric::Decoded d = numeric::decode(format, bits);
  switch (d.float_class) {
  case numeric::FloatClass::nan:
    return "nan";
  case numeric::FloatClass::infinity:
    return d.sign ? "-inf" : "inf";
  case numeric::FloatClass::zero:
    return d.sign ? "-0" : "0";
  default:
    return fmt::format("{}", std::ldexp(static_cast<double>(d.significand), d.exponent) * (d.sign ? -1 : 1));
  }
}

std::string lane_text(const Values& values, uint64_t bits) {
  if (values.is_float())
    return float_text(values.floating, bits);
  const int unused = 64 - values.lane_bits();
  if (numeric::is_signed(values.integer))
    return fmt::format("{}", static_cast<int64_t>(bits << unused) >> unused);
  return fmt::format("{}", bits << unused >> unused);
}

// "register 1 lane 4", of the element's index in its unit.
std::string place_text(const Plane& plane, uint64_t index) {
  if (plane.per_unit == 1)
    return {};
  if (plane.dims.empty())
    return fmt::format("[{}]", index);
  std::string text;
  uint64_t rest = plane.per_unit;
  for (const auto& [name, size] : plane.dims) {
    rest /= size;
    if (size > 1)
      text += fmt::format(" {} {}", name, index / rest);
    index %= rest;
  }
  return text;
}

// The operands of a unit that has one of each.
std::string operands_text(const Case& c, std::span<const std::byte> inputs, uint64_t unit) {
  std::string text;
  for (const Plane& plane : c.inputs)
    if (plane.per_unit == 1)
      text += fmt::format(
          " {}={}", plane.name,
          element_text(plane.type, plane.element_bytes,
                       load(inputs, plane.offset_bytes + unit * plane.element_bytes, plane.element_bytes)));
  return text;
}

void compare_kept(const Case& c, const Part& part, std::span<const std::byte> expected,
                  std::span<const std::byte> inputs, std::span<const std::byte> outputs,
                  PartComparison& result) {
  constexpr size_t kShown = 3;
  uint64_t unit_bytes = 0;
  for (const Plane& plane : c.outputs)
    unit_bytes += plane.unit_bytes();
  const uint64_t units = unit_bytes == 0 ? 0 : expected.size() / unit_bytes;
  uint64_t begin = 0; // of the plane, in `expected`
  for (const Plane& plane : c.outputs) {
    for (uint64_t i = 0; i < units * plane.per_unit; ++i) {
      const uint64_t at = begin + i * plane.element_bytes;
      const uint64_t got_at = plane.offset_bytes + (part.first * plane.per_unit + i) * plane.element_bytes;
      ++result.compared;
      if (std::memcmp(expected.data() + at, outputs.data() + got_at, plane.element_bytes) == 0)
        continue;
      ++result.differing;
      if (result.first.size() >= kShown)
        continue;
      const uint64_t unit = part.first + i / plane.per_unit;
      result.first.push_back(
          {unit,
           fmt::format(
               "{} {}{}:{} {}: expected {}, got {}", c.unit_name, unit, place_text(plane, i % plane.per_unit),
               operands_text(c, inputs, unit), plane.name,
               element_text(plane.type, plane.element_bytes, load(expected, at, plane.element_bytes)),
               element_text(plane.type, plane.element_bytes, load(outputs, got_at, plane.element_bytes)))});
    }
    begin += units * plane.unit_bytes();
  }
}

} // namespace

std::string element_text(isa::Type type, uint32_t bytes, uint64_t bits) {
  if (type == isa::Type::pred)
    return bits != 0 ? "1" : "0";
  const Values values = values_of(type);
  std::string text = fmt::format("0x{:0{}x}", bits, std::min(bytes, 8u) * 2);
  if (isa::kind_of(type) == isa::TypeKind::untyped)
    return text;
  text += " (";
  for (int lane = 0; lane < values.lanes; ++lane)
    text += (lane == 0 ? "" : ", ") + lane_text(values, bits >> (lane * values.lane_bits()));
  return text + ")";
}

bool CaseComparison::equal() const {
  return recorded && std::all_of(parts.begin(), parts.end(), [](const PartComparison& p) { return p.equal; });
}

CaseComparison compare(const Case& c, const GroupRecord& record, std::span<const std::byte> inputs,
                       std::span<const std::byte> outputs) {
  CaseComparison result;
  const auto recorded = record.cases.find(c.name);
  if (recorded == record.cases.end() || recorded->second.parts.size() != c.parts.size()) {
    result.recorded = false;
    return result;
  }
  for (size_t i = 0; i < c.parts.size(); ++i) {
    const Part& part = c.parts[i];
    const auto& [name, hash] = recorded->second.parts[i];
    if (name != part.name) {
      result.recorded = false;
      return result;
    }
    const std::vector<std::byte> bytes = part_bytes(c, part, outputs);
    PartComparison& p = result.parts.emplace_back();
    p.part = part.name;
    p.expected_hash = hash;
    p.hash = numeric::to_string(numeric::hash128(bytes.data(), bytes.size()));
    p.equal = p.hash == hash;
    // Kept outputs are compared too: they and the hash must say the same.
    compare_kept(c, part, record.kept_bytes(c, part), inputs, outputs, p);
    p.equal = p.equal && p.differing == 0;
  }
  return result;
}

} // namespace lemma::golden
