// Shared-memory descriptors of tcgen05: fields, their rules and their words. See tensor_smem_descriptor.h.
#include "layout/tensor_smem_descriptor.h"

#include <algorithm>
#include <iterator>

namespace lemma::layout {
namespace {

constexpr BitRange kStart{0, 13}, kLeading{16, 29}, kStride{32, 45}, kVersion{46, 48}, kBaseOffset{49, 51},
    kLeadingMode{52, 52}, kSwizzle{61, 63};
constexpr BitRange kReserved[] = {{14, 15}, {30, 31}, {53, 60}};

using S = SmemSwizzle;
constexpr S kByCode[] = {S::none, S::b128_32b_atoms, S::b128, S::invalid,
                         S::b64,  S::invalid,        S::b32,  S::invalid};
constexpr std::string_view kSwizzles[] = {"none", "128B with 32-byte atoms", "128B", "64B", "32B", "invalid"};

constexpr uint8_t kThisVersion = 0b001;

uint32_t bytes_of(uint64_t bits, BitRange field) {
  return static_cast<uint32_t>(field.of(bits)) * kChunkBytes;
}

std::string wrong_bits(const TensorSmemDescriptor& d) {
  if (d.version != kThisVersion)
    return fmt::format("version ({}) is {:#05b}{}; legal: 0b001", kVersion.words(), d.version,
                       d.version == 0 ? ", as in a descriptor of wgmma" : "");
  for (const BitRange& range : kReserved)
    if (const uint64_t value = range.of(d.bits))
      return fmt::format("reserved {} are {:#x}; legal: 0", range.words(), value);
  if (d.swizzle == S::invalid)
    return fmt::format(
        "swizzle ({}) is {}; legal: 0 (none), 1 (128B with 32-byte atoms), 2 (128B), 4 (64B), 6 (32B)",
        kSwizzle.words(), kSwizzle.of(d.bits));
  return {};
}

std::string wrong_use(const TensorSmemDescriptor& d, const TensorSmemUse& use) {
  if (d.leading_is_address && use.k_bytes != 48)
    return fmt::format(
        "leading dimension mode ({}) is 1, an absolute address; legal: 0 where K has {} bytes (1 "
        "needs 48)",
        kLeadingMode.words(), use.k_bytes);
  if (d.leading_is_address && d.swizzle != S::b128)
    return fmt::format("swizzle ({}) is {} ({}); legal where the leading dimension is an address: 2 (128B)",
                       kSwizzle.words(), kSwizzle.of(d.bits), to_string(d.swizzle));
  if (d.leading_is_address && d.base_offset != 0)
    return fmt::format("base offset ({}) is {}; legal where the leading dimension is an address: 0",
                       kBaseOffset.words(), d.base_offset);
  const bool atoms = d.swizzle == S::b128_32b_atoms, needs_atoms = use.mn_major && use.tf32;
  if (atoms == needs_atoms)
    return {};
  const std::string found =
      fmt::format("swizzle ({}) is {} ({})", kSwizzle.words(), kSwizzle.of(d.bits), to_string(d.swizzle));
  if (needs_atoms)
    return found + "; legal for MN-major tf32: 1 (128B with 32-byte atoms)";
  return found + "; legal but for MN-major tf32: 0 (none), 2 (128B), 4 (64B), 6 (32B)";
}

} // namespace

std::string_view to_string(SmemSwizzle swizzle) {
  return kSwizzles[static_cast<size_t>(swizzle)];
}

TensorSmemDescriptor TensorSmemDescriptor::decode(uint64_t bits) {
  return {.bits = bits,
          .start = bytes_of(bits, kStart),
          .leading = bytes_of(bits, kLeading),
          .stride = bytes_of(bits, kStride),
          .version = static_cast<uint8_t>(kVersion.of(bits)),
          .base_offset = static_cast<uint8_t>(kBaseOffset.of(bits)),
          .leading_is_address = kLeadingMode.of(bits) != 0,
          .swizzle = kByCode[kSwizzle.of(bits)]};
}

uint64_t TensorSmemDescriptor::encode() const {
  uint64_t encoded = 0;
  const auto put = [&](BitRange field, uint64_t value) {
    encoded |= field.of(value << field.first) << field.first;
  };
  put(kStart, start / kChunkBytes);
  put(kLeading, leading / kChunkBytes);
  put(kStride, stride / kChunkBytes);
  put(kVersion, version);
  put(kBaseOffset, base_offset);
  put(kLeadingMode, leading_is_address);
  put(kSwizzle, static_cast<uint64_t>(std::find(std::begin(kByCode), std::end(kByCode), swizzle) -
                                      std::begin(kByCode)));
  return encoded;
}

std::optional<SmemDescriptor> TensorSmemDescriptor::as_wgmma() const {
  if (leading_is_address)
    return std::nullopt;
  SmemDescriptor same{.start = start, .leading = leading, .stride = stride, .base_offset = base_offset};
  switch (swizzle) {
  case S::none:
    same.swizzle = Swizzle::none;
    break;
  case S::b32:
    same.swizzle = Swizzle::b32;
    break;
  case S::b64:
    same.swizzle = Swizzle::b64;
    break;
  case S::b128:
    same.swizzle = Swizzle::b128;
    break;
  case S::b128_32b_atoms:
  case S::invalid:
    return std::nullopt;
  }
  return same;
}

std::optional<std::string> wrong(const TensorSmemDescriptor& descriptor, const TensorSmemUse& use) {
  std::string broken = wrong_bits(descriptor);
  if (broken.empty())
    broken = wrong_use(descriptor, use);
  if (broken.empty())
    return std::nullopt;
  return fmt::format("{} {:#018x}: {}", use.operand, descriptor.bits, broken);
}

std::vector<DescriptorField> explain(const TensorSmemDescriptor& d) {
  std::vector<DescriptorField> list;
  const auto field = [&](std::string_view name, BitRange range, std::string meaning) {
    list.push_back({name, range.to_string(), range.of(d.bits), std::move(meaning)});
  };
  const auto reserved = [&](BitRange range) {
    field("reserved", range, range.of(d.bits) ? "must be 0" : "");
  };
  field("start address", kStart, fmt::format("{:#x}", d.start));
  reserved(kReserved[0]);
  field("leading dimension", kLeading,
        d.leading_is_address ? fmt::format("address {:#x}", d.leading) : fmt::format("{} bytes", d.leading));
  reserved(kReserved[1]);
  field("stride dimension", kStride, fmt::format("{} bytes", d.stride));
  field("version", kVersion, d.version == kThisVersion ? "tcgen05" : "must be 0b001");
  field("base offset", kBaseOffset, fmt::format("{}", d.base_offset));
  field("leading dimension mode", kLeadingMode, d.leading_is_address ? "absolute address" : "byte offset");
  reserved(kReserved[2]);
  field("swizzle", kSwizzle, std::string(to_string(d.swizzle)));
  return list;
}

} // namespace lemma::layout
