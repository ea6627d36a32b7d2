// Matrix descriptors of wgmma. See smem_descriptor.h.
#include "layout/smem_descriptor.h"

#include "layout/smem_descriptor_fields.h"
#include "layout/tensor_smem_descriptor.h"

namespace lemma::layout {
namespace {

constexpr BitRange kStart{0, 13}, kLeading{16, 29}, kStride{32, 45}, kBaseOffset{49, 51}, kSwizzle{62, 63};
// What has no field; tcgen05 has a version in the third (tensor_smem_descriptor.h).
constexpr BitRange kNone[] = {{14, 15}, {30, 31}, {46, 48}, {52, 61}};
constexpr Swizzle kModes[] = {Swizzle::none, Swizzle::b128, Swizzle::b64, Swizzle::b32};
constexpr std::string_view kModeWords[] = {"none", "128B", "64B", "32B"};

uint32_t bytes_of(uint64_t bits, BitRange field) {
  return static_cast<uint32_t>(field.of(bits)) * kChunkBytes;
}

} // namespace

SmemDescriptor SmemDescriptor::decode(uint64_t bits) {
  return {.start = bytes_of(bits, kStart),
          .leading = bytes_of(bits, kLeading),
          .stride = bytes_of(bits, kStride),
          .base_offset = static_cast<uint32_t>(kBaseOffset.of(bits)),
          .swizzle = kModes[kSwizzle.of(bits)]};
}

uint64_t SmemDescriptor::encode() const {
  uint64_t mode = 0;
  while (kModes[mode] != swizzle)
    ++mode;
  uint64_t encoded = 0;
  const auto put = [&](BitRange field, uint64_t value) {
    encoded |= field.of(value << field.first) << field.first;
  };
  put(kStart, start / kChunkBytes);
  put(kLeading, leading / kChunkBytes);
  put(kStride, stride / kChunkBytes);
  put(kBaseOffset, base_offset);
  put(kSwizzle, mode);
  return encoded;
}

std::vector<DescriptorField> explain_smem_descriptor(uint64_t bits) {
  const SmemDescriptor d = SmemDescriptor::decode(bits);
  std::vector<DescriptorField> list;
  const auto field = [&](std::string_view name, BitRange range, std::string meaning) {
    list.push_back({name, range.to_string(), range.of(bits), std::move(meaning)});
  };
  const auto none = [&](BitRange range) { field("none", range, range.of(bits) ? "passed over" : ""); };
  field("start address", kStart, fmt::format("{:#x}", d.start));
  none(kNone[0]);
  field("leading dimension", kLeading, fmt::format("{} bytes", d.leading));
  none(kNone[1]);
  field("stride dimension", kStride, fmt::format("{} bytes", d.stride));
  none(kNone[2]);
  field("base offset", kBaseOffset, fmt::format("{}", d.base_offset));
  none(kNone[3]);
  field("swizzle", kSwizzle, std::string(kModeWords[kSwizzle.of(bits)]));
  return list;
}

std::optional<std::string> foreign_smem_descriptor(uint64_t bits) {
  const TensorSmemDescriptor other = TensorSmemDescriptor::decode(bits);
  if (other.version != TensorSmemDescriptor{}.version)
    return std::nullopt;
  return fmt::format(
      "matrix descriptor {:#018x}: {} are {:#b}, the version of a descriptor of tcgen05, which "
      "has its swizzle elsewhere; wgmma has no such field",
      bits, kNone[2].words(), kNone[2].of(bits));
}

} // namespace lemma::layout
