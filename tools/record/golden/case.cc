// Buffers of a case and the PTX text around its kernel. See case.h.
#include "golden/case.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace lemma::golden {
namespace {

uint64_t seed_of(std::string_view text, uint64_t seed) {
  return numeric::hash128(text.data(), text.size(), static_cast<uint32_t>(seed)).low ^ (seed >> 32);
}

uint64_t buffer_bytes(const std::vector<Plane>& planes, uint64_t units) {
  return planes.empty() ? 0 : planes.back().offset_bytes + planes.back().unit_bytes() * units;
}

} // namespace

Inputs::Inputs(std::span<const Plane> planes, uint64_t units) : planes_(planes) {
  bytes_.resize(planes.empty() ? 0 : planes.back().offset_bytes + planes.back().unit_bytes() * units);
}

uint64_t Case::output_bytes() const {
  return buffer_bytes(outputs, units);
}

uint64_t lay_out(std::vector<Plane>& planes, uint64_t units) {
  uint64_t offset = 0;
  for (Plane& plane : planes) {
    plane.offset_bytes = offset;
    offset = (offset + plane.unit_bytes() * units + 255) / 256 * 256;
  }
  return buffer_bytes(planes, units);
}

std::vector<std::byte> make_inputs(const Case& c, std::string_view group, uint64_t seed) {
  Inputs inputs(c.inputs, c.units);
  if (c.fill)
    for (const Part& part : c.parts) {
      numeric::Random random(seed_of(fmt::format("{}/{}/{}", group, c.name, part.name), seed));
      c.fill(part, random, inputs);
    }
  return std::move(inputs.bytes());
}

std::vector<std::byte> initial_outputs(const Case& c, std::span<const std::byte> inputs) {
  std::vector<std::byte> bytes(c.output_bytes());
  for (const Plane& plane : c.outputs) {
    if (plane.initial < 0)
      continue;
    const Plane& from = c.inputs[static_cast<size_t>(plane.initial)];
    const uint64_t size = std::min(from.unit_bytes(), plane.unit_bytes()) * c.units;
    std::copy_n(inputs.begin() + static_cast<ptrdiff_t>(from.offset_bytes), size,
                bytes.begin() + static_cast<ptrdiff_t>(plane.offset_bytes));
  }
  return bytes;
}

std::vector<std::byte> part_bytes(const Case& c, const Part& part, std::span<const std::byte> outputs,
                                  uint64_t units) {
  std::vector<std::byte> bytes;
  for (const Plane& plane : c.outputs) {
    const auto begin =
        outputs.begin() + static_cast<ptrdiff_t>(plane.offset_bytes + plane.unit_bytes() * part.first);
    const uint64_t size = plane.unit_bytes() * std::min(units, part.units);
    bytes.insert(bytes.end(), begin, begin + static_cast<ptrdiff_t>(size));
  }
  return bytes;
}

std::string module_text(std::span<const Case> cases) {
  std::string text =
      fmt::format(".version {}.{}\n.target {}\n.address_size 64\n", kPtxMajor, kPtxMinor, kTarget);
  std::set<std::string_view> common;
  for (const Case& c : cases) {
    if (!c.common.empty() && common.insert(c.common).second)
      text += c.common;
    text += "\n// " + c.name + "\n" + c.text;
  }
  return text;
}

} // namespace lemma::golden
