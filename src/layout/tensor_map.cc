// Tensor maps. See tensor_map.h.
#include "layout/tensor_map.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

namespace lemma::layout {
namespace {

constexpr const char* kTypeNames[] = {"u8",       "u16",   "u32",       "s32",      "u64",     "s64",
                                      "f16",      "f32",   "f64",       "bf16",     "f32_ftz", "tf32",
                                      "tf32_ftz", "b4x16", "b4x16_p64", "b6x16_p32"};

// Of a type that is padded in shared memory, rows and boxes have so many elements, or a multiple.
constexpr uint32_t kPaddedElements = 128;

const char* name_of(TensorType type) {
  return kTypeNames[static_cast<size_t>(type)];
}

bool is_padded(TensorType type) {
  return chunk_payload_bytes(type) != kChunkBytes;
}

uint32_t element_stride(const TensorMap& map, size_t i) {
  return map.element_strides.empty() ? 1 : map.element_strides[i];
}

// "65535 or more" where the field of an encoded map holds no larger number.
std::string number(uint64_t value, uint64_t largest_held) {
  return fmt::format("{}{}", value, value == largest_held ? " or more" : "");
}

// Whoever makes a map by casts may give any number.
std::string wrong_modes(const TensorMap& map) {
  const auto wrong = [](const char* field, auto value, const char* legal) {
    return fmt::format("{} is {}: legal are {}", field, static_cast<unsigned>(value), legal);
  };
  if (map.type > TensorType::b6x16_p32)
    return wrong("the element type", map.type, "0 (u8) to 15 (b6x16_p32)");
  if (map.interleave > TensorInterleave::b32)
    return wrong("interleave", map.interleave, "0 (none), 1 (16B) and 2 (32B)");
  if (map.swizzle > TensorSwizzle::b128)
    return wrong("swizzle", map.swizzle, "0 (none), 1 (32B), 2 (64B) and 3 (128B)");
  if (map.oob_fill > TensorFill::nan)
    return wrong("oob_fill", map.oob_fill, "0 (zeros) and 1 (nan)");
  if (map.l2_promotion > TensorL2::b256)
    return wrong("l2_promotion", map.l2_promotion, "0 (none), 1 (64B), 2 (128B) and 3 (256B)");
  return {};
}

std::string wrong_sizes(const TensorMap& map) {
  const size_t rank = map.dims.size();
  if (rank < 1 || rank > kMaxTensorRank)
    return fmt::format("dims has {} entries: a tensor has 1 to 5 dimensions", rank);
  if (map.interleave != TensorInterleave::none && rank < 3)
    return fmt::format("an interleaved tensor has 3 dimensions or more, not {}", rank);
  if (map.im2col && rank < 3)
    return fmt::format("an im2col tensor has 3 to 5 dimensions, not {}", rank);
  if (map.strides_bytes.size() != rank - 1)
    return fmt::format("strides_bytes has {} entries: {} dimensions need {} (the innermost has none)",
                       map.strides_bytes.size(), rank, rank - 1);
  if (!map.im2col && map.box.size() != rank)
    return fmt::format("box has {} entries for {} dimensions", map.box.size(), rank);
  if (map.im2col && !map.box.empty())
    return "an im2col map has no box";
  if (!map.element_strides.empty() && map.element_strides.size() != rank)
    return fmt::format("element_strides has {} entries for {} dimensions", map.element_strides.size(), rank);
  return {};
}

std::string wrong_memory(const TensorMap& map) {
  const uint64_t align = map.interleave == TensorInterleave::b32 || is_padded(map.type) ? 32 : 16;
  if (map.address % align)
    return fmt::format("the tensor's address {:#x} is not a multiple of {}", map.address, align);
  for (size_t i = 0; i < map.dims.size(); ++i)
    if (map.dims[i] == 0 || map.dims[i] > uint64_t{1} << 32)
      return fmt::format("dims[{}] is {}: legal are 1 to 2^32", i, map.dims[i]);
  if (const uint32_t multiple = is_padded(map.type)   ? kPaddedElements
                                : is_packed(map.type) ? 2
                                                      : 1;
      map.dims[0] % multiple)
    return fmt::format("dims[0] is {}: legal with {} are multiples of {}", map.dims[0], name_of(map.type),
                       multiple);
  for (size_t i = 0; i < map.strides_bytes.size(); ++i)
    if (map.strides_bytes[i] % align || map.strides_bytes[i] >= uint64_t{1} << 40)
      return fmt::format("strides_bytes[{}] is {}: legal are multiples of {} below 2^40", i,
                         map.strides_bytes[i], align);
  return {};
}

std::string wrong_corners(const TensorMap& map, const TensorIm2col& im2col) {
  const size_t spatial = map.dims.size() - 2;
  constexpr int32_t kReach[] = {32768, 128, 16}; // by spatial dimensions
  const int32_t reach = kReach[spatial - 1];
  for (const auto* corner : {&im2col.lower, &im2col.upper}) {
    const char* name = corner == &im2col.lower ? "lower" : "upper";
    if (corner->size() != spatial)
      return fmt::format("im2col {} has {} entries: a tensor of {} dimensions has {} spatial ones", name,
                         corner->size(), map.dims.size(), spatial);
    for (const int32_t at : *corner)
      if (at < -reach || at >= reach)
        return fmt::format("im2col {} has {}: legal with {} spatial dimension{} are {} to {}", name, at,
                           spatial, spatial == 1 ? "" : "s", -reach, reach - 1);
  }
  if (im2col.channels_per_pixel == 0 || im2col.channels_per_pixel > 256)
    return fmt::format("channels_per_pixel is {}: legal are 1 to 256", im2col.channels_per_pixel);
  if (im2col.pixels_per_column == 0 || im2col.pixels_per_column > 1024)
    return fmt::format("pixels_per_column is {}: legal are 1 to 1024", im2col.pixels_per_column);
  return {};
}

std::string wrong_box(const TensorMap& map) {
  for (size_t i = 0; i < map.box.size(); ++i)
    if (map.box[i] == 0 || map.box[i] > 256)
      return fmt::format("box[{}] is {}: legal are 1 to 256", i, number(map.box[i], UINT16_MAX));
  for (size_t i = 0; i < map.dims.size(); ++i)
    if (element_stride(map, i) == 0 || element_stride(map, i) > 8)
      return fmt::format("element_strides[{}] is {}: legal are 1 to 8", i,
                         number(element_stride(map, i), UINT8_MAX));
  const uint32_t inner_elements = map.im2col ? map.im2col->channels_per_pixel : map.box[0];
  const uint32_t inner = inner_elements * element_bits(map.type) / 8;
  const char* what = map.im2col ? "channels_per_pixel" : "box[0]";
  if (is_padded(map.type)) {
    if (inner_elements != kPaddedElements)
      return fmt::format("{} is {}: legal with {} is {}", what, inner_elements, name_of(map.type),
                         kPaddedElements);
    if (map.interleave != TensorInterleave::none)
      return fmt::format("{} takes no interleave", name_of(map.type));
    if (map.swizzle != TensorSwizzle::none && map.swizzle != TensorSwizzle::b128)
      return fmt::format("{} takes swizzle none or 128B", name_of(map.type));
  }
  // The driver asks it of the tiles of interleaved tensors too.
  else if ((map.interleave == TensorInterleave::none || !map.im2col) &&
           inner_elements * element_bits(map.type) % 128)
    return is_packed(map.type) ? fmt::format("{} is {}: legal with {} are multiples of 32", what,
                                             inner_elements, name_of(map.type))
                               : fmt::format("{} takes {} bytes: legal are multiples of 16", what, inner);
  if (map.interleave == TensorInterleave::none) {
    const uint32_t span = line_bytes(swizzle_of(map.swizzle));
    if (map.swizzle != TensorSwizzle::none && inner > span)
      return fmt::format("{} takes {} bytes, more than the {} of the swizzle", what, inner, span);
  }
  if (map.interleave == TensorInterleave::b32 && map.swizzle != TensorSwizzle::b32)
    return "interleave 32B needs swizzle 32B";
  if (map.oob_fill == TensorFill::nan && !is_floating(map.type))
    return fmt::format("oob_fill nan needs a floating-point type, not {}", name_of(map.type));
  return {};
}

// `rank` and `mode` must be right.
TensorMap decode(const EncodedTensorMap& e) {
  const auto rank = static_cast<size_t>(e.rank);
  TensorMap map{.type = e.type,
                .address = e.address,
                .dims = {e.dims.begin(), e.dims.begin() + rank},
                .strides_bytes = {e.strides_bytes.begin(), e.strides_bytes.begin() + rank - 1},
                .element_strides = {e.element_strides.begin(), e.element_strides.begin() + rank},
                .interleave = e.interleave,
                .swizzle = e.swizzle,
                .oob_fill = e.oob_fill,
                .l2_promotion = e.l2_promotion};
  if (!e.is_im2col()) {
    map.box.assign(e.box.begin(), e.box.begin() + rank);
    return map;
  }
  const size_t spatial = rank < 3 ? 0 : rank - 2;
  map.im2col = TensorIm2col{.lower = {e.lower.begin(), e.lower.begin() + spatial},
                            .upper = {e.upper.begin(), e.upper.begin() + spatial},
                            .channels_per_pixel = e.channels,
                            .pixels_per_column = e.pixels};
  return map;
}

} // namespace

uint32_t element_bits(TensorType type) {
  switch (type) {
  case TensorType::u8:
    return 8;
  case TensorType::u16:
  case TensorType::f16:
  case TensorType::bf16:
    return 16;
  case TensorType::u64:
  case TensorType::s64:
  case TensorType::f64:
    return 64;
  case TensorType::b4x16:
  case TensorType::b4x16_p64:
    return 4;
  case TensorType::b6x16_p32:
    return 6;
  default:
    return 32;
  }
}

bool is_floating(TensorType type) {
  return type >= TensorType::f16 && !is_packed(type);
}

bool is_packed(TensorType type) {
  return type >= TensorType::b4x16;
}

uint32_t chunk_payload_bytes(TensorType type) {
  return type == TensorType::b4x16_p64 ? 8 : type == TensorType::b6x16_p32 ? 12 : kChunkBytes;
}

uint32_t coordinate_multiple(TensorType packed) {
  return is_padded(packed) ? kPaddedElements : 8 * kChunkBytes / element_bits(packed);
}

std::string wrong_with(const TensorMap& map) {
  if (std::string wrong = wrong_modes(map); !wrong.empty())
    return wrong;
  if (std::string wrong = wrong_sizes(map); !wrong.empty())
    return wrong;
  if (std::string wrong = wrong_memory(map); !wrong.empty())
    return wrong;
  if (map.im2col)
    if (std::string wrong = wrong_corners(map, *map.im2col); !wrong.empty())
      return wrong;
  return wrong_box(map);
}

std::string wrong_with(const EncodedTensorMap& map) {
  const auto bytes = std::bit_cast<std::array<std::byte, kTensorMapBytes>>(map);
  if (std::all_of(bytes.begin(), bytes.end(), [](std::byte b) { return b == std::byte{0}; }))
    return "all 128 bytes are zero: no field has been set";
  if (map.magic != EncodedTensorMap::kMagic && map.magic != 0)
    return "they are no tensor map";
  if (map.rank < 1 || map.rank > kMaxTensorRank)
    return fmt::format("its rank is {}: a tensor has 1 to 5 dimensions", number(map.rank, UINT8_MAX));
  if (map.mode > TensorMode::im2col)
    return fmt::format("its mode is {}: legal are 0 (tile) and 1 (im2col)", static_cast<unsigned>(map.mode));
  return wrong_with(decode(map));
}

std::array<std::byte, kTensorMapBytes> encode(const TensorMap& map) {
  EncodedTensorMap e;
  e.address = map.address;
  e.rank = static_cast<uint8_t>(map.dims.size());
  for (size_t i = 0; i < map.dims.size(); ++i) {
    e.dims[i] = map.dims[i];
    e.element_strides[i] = static_cast<uint8_t>(element_stride(map, i));
    if (i > 0)
      e.strides_bytes[i - 1] = map.strides_bytes[i - 1];
    if (!map.im2col)
      e.box[i] = static_cast<uint16_t>(map.box[i]);
  }
  if (map.im2col) {
    e.mode = TensorMode::im2col;
    e.channels = static_cast<uint16_t>(map.im2col->channels_per_pixel);
    e.pixels = static_cast<uint16_t>(map.im2col->pixels_per_column);
    for (size_t i = 0; i + 2 < map.dims.size(); ++i) {
      e.lower[i] = static_cast<int16_t>(map.im2col->lower[i]);
      e.upper[i] = static_cast<int16_t>(map.im2col->upper[i]);
    }
  }
  e.type = map.type;
  e.interleave = map.interleave;
  e.swizzle = map.swizzle;
  e.oob_fill = map.oob_fill;
  e.l2_promotion = map.l2_promotion;
  return std::bit_cast<std::array<std::byte, kTensorMapBytes>>(e);
}

} // namespace lemma::layout
