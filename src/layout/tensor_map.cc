// Tensor maps. See tensor_map.h.
#include "layout/tensor_map.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <iterator>

namespace lemma::layout {
namespace {

constexpr const char* kTypeNames[] = {"u8",       "u16",   "u32",       "s32",      "u64",     "s64",
                                      "f16",      "f32",   "f64",       "bf16",     "f32_ftz", "tf32",
                                      "tf32_ftz", "b4x16", "b4x16_p64", "b6x16_p32"};

constexpr const char* kSwizzleNames[] = {
    "none", "32B", "64B", "128B", "128B_ATOM_32B", "128B_ATOM_32B_FLIP_8B", "128B_ATOM_64B"};

// Of a type that is padded in shared memory, rows and boxes have so many elements, or a multiple.
constexpr uint32_t kPaddedElements = 128;
// That an SM of sm_90 has; the driver takes a box of all of it.
constexpr uint64_t kSharedBytes = 228 * 1024;

const char* name_of(TensorType type) {
  return kTypeNames[static_cast<size_t>(type)];
}

bool is_padded(TensorType type) {
  return chunk_payload_bytes(type) != kChunkBytes;
}

uint32_t step_of(const TensorMap& map, size_t i) {
  return map.element_strides.empty() ? 1 : map.element_strides[i];
}

// --- what a load asks, and the driver too

// Of the tensor's address and strides.
uint32_t memory_align(TensorInterleave interleave, TensorType type) {
  return interleave == TensorInterleave::b32 || is_padded(type) ? 32 : 16;
}

std::string wrong_kind(const TensorMapFields& map) {
  if (map.interleave != TensorInterleave::none && map.rank < 3)
    return fmt::format("an interleaved tensor has 3 dimensions or more, not {}", map.rank);
  if (map.is_im2col() && map.rank < 3)
    return fmt::format("an im2col tensor has 3 to 5 dimensions, not {}", map.rank);
  if (map.oob_fill == TensorFill::nan && !is_floating(map.type))
    return fmt::format("oob_fill nan needs a floating-point type, not {}", name_of(map.type));
  // An H200 takes the others too, which the driver's manual forbids.
  if (map.interleave == TensorInterleave::b32 && has_atoms(map.swizzle))
    return fmt::format("interleave 32B takes swizzle 32B, not {}", swizzle_word(map.swizzle));
  if (!is_padded(map.type))
    return {};
  if (map.interleave != TensorInterleave::none)
    return fmt::format("{} takes no interleave", name_of(map.type));
  const bool is_of_6_bits = map.type == TensorType::b6x16_p32;
  switch (map.swizzle) {
  case TensorSwizzle::none:
  case TensorSwizzle::b128:
  case TensorSwizzle::b128_atom_32b:
    return {};
  case TensorSwizzle::b128_atom_64b:
    if (is_of_6_bits)
      return {};
    [[fallthrough]];
  default:
    return fmt::format("{} takes swizzle none, 128B or 128B_ATOM_32B{}, not {}", name_of(map.type),
                       is_of_6_bits ? ", and 128B_ATOM_64B for stores" : "", swizzle_word(map.swizzle));
  }
}

std::string wrong_memory(const TensorMapFields& map) {
  const uint32_t align = memory_align(map.interleave, map.type);
  if (map.address % align)
    return fmt::format("the tensor's address {:#x} is not a multiple of {}", map.address, align);
  for (size_t i = 0; i + 1 < map.rank; ++i)
    if (map.strides_bytes[i] % align)
      return fmt::format("strides_bytes[{}] is {}: legal are multiples of {} below 2^40", i,
                         map.strides_bytes[i], align);
  if (const uint32_t multiple = is_padded(map.type)   ? kPaddedElements
                                : is_packed(map.type) ? 2
                                                      : 1;
      map.dims[0] % multiple)
    return fmt::format("dims[0] is {}: legal with {} are multiples of {}", map.dims[0], name_of(map.type),
                       multiple);
  return {};
}

// A row is a whole number of chunks.
std::string wrong_row(const TensorMapFields& map) {
  const char* what = map.is_im2col() ? "channels_per_pixel" : "box[0]";
  const uint32_t elements = map.is_im2col() ? map.channels : map.box[0];
  const uint32_t bits = elements * element_bits(map.type);
  if (is_padded(map.type))
    return elements == kPaddedElements ? std::string()
                                       : fmt::format("{} is {}: legal with {} is {}", what, elements,
                                                     name_of(map.type), kPaddedElements);
  if (bits % (8 * kChunkBytes) == 0)
    return {};
  return is_packed(map.type)
             ? fmt::format("{} is {}: legal with {} are multiples of 32", what, elements, name_of(map.type))
             : fmt::format("{} takes {} bytes: legal are multiples of 16", what, bits / 8);
}

// Interleaved rows are of slices of channels, whatever the box says.
std::string wrong_box(const TensorMapFields& map) {
  if (map.interleave != TensorInterleave::none)
    return {};
  if (std::string wrong = wrong_row(map); !wrong.empty())
    return wrong;
  const uint32_t bytes = (map.is_im2col() ? map.channels : map.box[0]) * element_bits(map.type) / 8;
  const uint32_t span = line_bytes(map.swizzle);
  return map.swizzle != TensorSwizzle::none && bytes > span
             ? fmt::format("{} takes {} bytes, more than the {} of the swizzle",
                           map.is_im2col() ? "channels_per_pixel" : "box[0]", bytes, span)
             : std::string();
}

// W is dimension 1, of an interleaved tensor dimension 0. The driver compares numbers of 32 bits with a sign.
std::string wrong_bounding_box(const TensorMapFields& map) {
  const size_t w = map.interleave == TensorInterleave::none ? 1 : 0;
  for (size_t i = 0; map.is_im2col() && i + 2 < map.rank; ++i)
    if (static_cast<int32_t>(static_cast<uint32_t>(map.dims[w + i]) + static_cast<uint32_t>(map.upper[i])) <=
        map.lower[i])
      return fmt::format("the bounding box has no pixels in spatial dimension {}: it reaches from {} to {} + "
                         "{} (in 32 bits)",
                         i, map.lower[i], map.dims[w + i], map.upper[i]);
  return {};
}

std::string wrong_to_a_load(const TensorMapFields& map) {
  for (const auto& wrong_part : {wrong_kind, wrong_memory, wrong_box, wrong_bounding_box})
    if (std::string wrong = wrong_part(map); !wrong.empty())
      return wrong;
  return {};
}

// --- the bits

// What the driver stores of a box's size, rounding down where the copy rounds up: nothing reads it.
uint64_t stored_box_bytes(const TensorMapFields& map) {
  uint64_t elements = map.is_im2col() ? uint64_t{map.channels} * map.pixels : 1;
  for (size_t i = 0; !map.is_im2col() && i < std::min<size_t>(map.rank, kMaxTensorRank); ++i)
    elements *= map.box[i] / std::max<uint32_t>(1, map.element_strides[i]);
  return elements * element_bits(map.type) / 8;
}

// Codes of types are the numbers of tensormap.replace, less tf32.
constexpr TensorType kTypes[] = {
    TensorType::u8,   TensorType::u16,   TensorType::u32,       TensorType::s32,      TensorType::u64,
    TensorType::s64,  TensorType::f16,   TensorType::f32,       TensorType::f32_ftz,  TensorType::f64,
    TensorType::bf16, TensorType::b4x16, TensorType::b4x16_p64, TensorType::b6x16_p32};
constexpr uint64_t kF32 = 7, kF32Ftz = 8;

TensorType type_of(uint64_t code, bool tf32) {
  if (tf32)
    return code == kF32      ? TensorType::tf32
           : code == kF32Ftz ? TensorType::tf32_ftz
                             : TensorMapFields::kNoType;
  return code < std::size(kTypes) ? kTypes[code] : TensorMapFields::kNoType;
}

bool has_tf32(TensorType type) {
  return type == TensorType::tf32 || type == TensorType::tf32_ftz;
}

uint64_t code_of(TensorType type) {
  if (has_tf32(type))
    return type == TensorType::tf32 ? kF32 : kF32Ftz;
  return static_cast<uint64_t>(std::find(std::begin(kTypes), std::end(kTypes), type) - std::begin(kTypes));
}

int16_t signed_bits(uint64_t value, uint8_t bits) {
  const auto shift = 64 - bits;
  return static_cast<int16_t>(static_cast<int64_t>(value << shift) >> shift);
}

// Bits of a field that lie in one word: all do.
struct Place {
  size_t byte;
  int shift;
  uint64_t mask;
};
Place place_of(TensorMapField field, size_t i) {
  const size_t bit = field.bit + i * field.bits;
  return {bit / 64 * 8, static_cast<int>(bit % 64), ~uint64_t{0} >> (64 - field.bits)};
}

void put_stride(TensorMapBytes& bytes, size_t i, uint64_t stride_bytes) {
  put(bytes, map_field::stride_low, i, stride_bytes >> 4);
  put(bytes, map_field::stride_high, i, stride_bytes >> 36);
}

// Swizzles with atoms follow that of 128 bytes in the order of their numbers.
constexpr uint64_t kSwizzle128 = static_cast<uint64_t>(TensorSwizzle::b128);
TensorSwizzle swizzle_in(const TensorMapBytes& bytes, MapReader reader) {
  const uint64_t swizzle = get(bytes, map_field::swizzle);
  const bool reads_atoms = swizzle == kSwizzle128 && reader == MapReader::sm_100;
  return static_cast<TensorSwizzle>(swizzle + (reads_atoms ? get(bytes, map_field::atoms) : 0));
}

// --- what the driver asks

// Whoever makes a map by casts may give any number.
std::string wrong_modes(const TensorMap& map) {
  const auto wrong = [](const char* field, auto value, const char* legal) {
    return fmt::format("{} is {}: legal are {}", field, static_cast<unsigned>(value), legal);
  };
  if (map.type > TensorType::b6x16_p32)
    return wrong("the element type", map.type, "0 (u8) to 15 (b6x16_p32)");
  if (map.interleave > TensorInterleave::b32)
    return wrong("interleave", map.interleave, "0 (none), 1 (16B) and 2 (32B)");
  if (map.swizzle > TensorSwizzle::b128_atom_64b)
    return wrong("swizzle", map.swizzle,
                 "0 (none), 1 (32B), 2 (64B), 3 (128B), and of sm_100 4 (128B_ATOM_32B), 5 "
                 "(128B_ATOM_32B_FLIP_8B) and 6 (128B_ATOM_64B)");
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

std::string wrong_numbers(const TensorMap& map) {
  for (size_t i = 0; i < map.dims.size(); ++i)
    if (map.dims[i] == 0 || map.dims[i] > uint64_t{1} << 32)
      return fmt::format("dims[{}] is {}: legal are 1 to 2^32", i, map.dims[i]);
  for (size_t i = 0; i < map.strides_bytes.size(); ++i)
    if (map.strides_bytes[i] % 16 || map.strides_bytes[i] >= uint64_t{1} << 40)
      return fmt::format("strides_bytes[{}] is {}: legal are multiples of {} below 2^40", i,
                         map.strides_bytes[i], memory_align(map.interleave, map.type));
  for (size_t i = 0; i < map.box.size(); ++i)
    if (map.box[i] == 0 || map.box[i] > 256)
      return fmt::format("box[{}] is {}: legal are 1 to 256", i, map.box[i]);
  for (size_t i = 0; i < map.dims.size(); ++i)
    if (step_of(map, i) == 0 || step_of(map, i) > 8)
      return fmt::format("element_strides[{}] is {}: legal are 1 to 8", i, step_of(map, i));
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

// What the driver asks and a load does not (measured on an H200).
std::string wrong_to_the_driver(const TensorMap& map, const TensorMapFields& fields) {
  if (map.address >= uint64_t{1} << 57)
    return fmt::format("the tensor's address is {:#x}: legal are those below 2^57", map.address);
  if (std::string wrong = wrong_row(fields); !wrong.empty()) // of interleaved tensors too
    return wrong;
  if (const uint64_t bytes = stored_box_bytes(fields); bytes > kSharedBytes)
    return fmt::format("the box takes {} bytes, more than the {} of shared memory that there are", bytes,
                       kSharedBytes);
  return {};
}

// The map must have right numbers.
TensorMapFields fields_of(const TensorMap& map) {
  TensorMapFields fields{.address = map.address,
                         .rank = static_cast<uint8_t>(map.dims.size()),
                         .type = map.type,
                         .interleave = map.interleave,
                         .swizzle = map.swizzle,
                         .oob_fill = map.oob_fill,
                         .l2_promotion = map.l2_promotion};
  // Of dimensions that there are not, the driver stores zeros.
  fields.dims.fill(1);
  fields.box.fill(1);
  fields.element_strides.fill(1);
  const size_t rank = std::min(map.dims.size(), fields.dims.size());
  for (size_t i = 0; i < rank; ++i) {
    fields.dims[i] = map.dims[i];
    fields.element_strides[i] = static_cast<uint8_t>(step_of(map, i));
    if (i > 0)
      fields.strides_bytes[i - 1] = map.strides_bytes[i - 1];
    if (!map.im2col)
      fields.box[i] = static_cast<uint16_t>(map.box[i]);
  }
  if (map.im2col) {
    fields.mode = TensorMode::im2col;
    fields.channels = static_cast<uint16_t>(map.im2col->channels_per_pixel);
    fields.pixels = static_cast<uint16_t>(map.im2col->pixels_per_column);
    for (size_t i = 0; i + 2 < rank; ++i) {
      fields.lower[i] = static_cast<int16_t>(map.im2col->lower[i]);
      fields.upper[i] = static_cast<int16_t>(map.im2col->upper[i]);
    }
  }
  return fields;
}

} // namespace

uint64_t get(const TensorMapBytes& bytes, TensorMapField field, size_t i) {
  const Place place = place_of(field, i);
  uint64_t word;
  std::memcpy(&word, bytes.data() + place.byte, sizeof word);
  return (word >> place.shift & place.mask) + field.less;
}

void put(TensorMapBytes& bytes, TensorMapField field, size_t i, uint64_t value) {
  const Place place = place_of(field, i);
  uint64_t word;
  std::memcpy(&word, bytes.data() + place.byte, sizeof word);
  word = (word & ~(place.mask << place.shift)) | ((value - field.less) & place.mask) << place.shift;
  std::memcpy(bytes.data() + place.byte, &word, sizeof word);
}

const char* swizzle_word(TensorSwizzle swizzle) {
  return kSwizzleNames[static_cast<size_t>(swizzle)];
}

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
  for (const auto& wrong_part : {wrong_modes, wrong_sizes, wrong_numbers})
    if (std::string wrong = wrong_part(map); !wrong.empty())
      return wrong;
  if (map.im2col)
    if (std::string wrong = wrong_corners(map, *map.im2col); !wrong.empty())
      return wrong;
  const TensorMapFields fields = fields_of(map);
  if (std::string wrong = wrong_to_a_load(fields); !wrong.empty())
    return wrong;
  return wrong_to_the_driver(map, fields);
}

std::string wrong_with(const TensorMapBytes& bytes, MapReader reader) {
  if (std::all_of(bytes.begin(), bytes.end(), [](std::byte b) { return b == std::byte{0}; }))
    return "all 128 bytes are zero: no field has been set";
  const TensorMapFields map = decode(bytes, reader);
  if (map.rank > kMaxTensorRank)
    return fmt::format("its rank is {}: a tensor has 1 to 5 dimensions", map.rank);
  if (const uint64_t code = get(bytes, map_field::type); map.type == TensorMapFields::kNoType)
    return code < std::size(kTypes)
               ? fmt::format("its element type is {} with the bit of tf32, which f32 and f32_ftz alone take "
                             "(tensormap.replace.elemtype sets that bit for tf32 and never clears it)",
                             name_of(kTypes[code]))
               : fmt::format("its element type is number {}: legal are 0 (u8) to 13 (b6x16_p32)", code);
  if (map.interleave > TensorInterleave::b32)
    return "its interleave is 3: legal are 0 (none), 1 (16B) and 2 (32B)";
  if (const uint64_t atoms = get(bytes, map_field::atoms);
      reader == MapReader::sm_100 && atoms != 0 &&
      (map.swizzle == TensorSwizzle::b32 || map.swizzle == TensorSwizzle::b64))
    return fmt::format(
        "its swizzle atomicity is {} with swizzle {}: legal are 0 (16B), and with swizzle 128B "
        "1 (32B), 2 (32B, halves of 8B flipped) and 3 (64B)",
        atoms, swizzle_word(map.swizzle));
  return wrong_to_a_load(map);
}

TensorMapFields decode(const TensorMapBytes& bytes, MapReader reader) {
  using namespace map_field;
  TensorMapFields map{
      .address = get(bytes, address),
      .rank = static_cast<uint8_t>(get(bytes, rank)),
      .type = type_of(get(bytes, type), get(bytes, tf32) != 0),
      .interleave = static_cast<TensorInterleave>(get(bytes, interleave)),
      .swizzle = swizzle_in(bytes, reader),
      .oob_fill = static_cast<TensorFill>(get(bytes, oob_fill)),
      .l2_promotion = static_cast<TensorL2>(get(bytes, l2_promotion)),
      .mode = static_cast<TensorMode>(get(bytes, im2col)),
  };
  for (size_t i = 0; i < map.dims.size(); ++i) {
    map.dims[i] = get(bytes, dim, i);
    map.element_strides[i] = static_cast<uint8_t>(get(bytes, element_stride, i));
    if (i < map.strides_bytes.size())
      map.strides_bytes[i] = get(bytes, stride_low, i) << 4 | get(bytes, stride_high, i) << 36;
    if (!map.is_im2col())
      map.box[i] = static_cast<uint16_t>(get(bytes, box, i));
  }
  if (!map.is_im2col())
    return map;
  map.channels = static_cast<uint16_t>(get(bytes, channels));
  map.pixels = static_cast<uint16_t>(get(bytes, pixels));
  const size_t spatial = map.rank < 3 || map.rank > kMaxTensorRank ? 0 : map.rank - 2u;
  for (size_t i = 0; i < spatial; ++i) {
    map.lower[i] = signed_bits(get(bytes, lower(spatial), i), corner_bits(spatial));
    map.upper[i] = signed_bits(get(bytes, upper(spatial), i), corner_bits(spatial));
  }
  return map;
}

TensorMapBytes encode(const TensorMap& map) {
  return encode(fields_of(map));
}

TensorMapBytes encode(const TensorMapFields& map) {
  using namespace map_field;
  TensorMapBytes bytes{};
  put(bytes, address, 0, map.address);
  put(bytes, im2col, 0, map.is_im2col());
  put(bytes, rank, 0, map.rank);
  put(bytes, type, 0, code_of(map.type));
  put(bytes, interleave, 0, static_cast<uint64_t>(map.interleave));
  put(bytes, swizzle, 0, std::min<uint64_t>(static_cast<uint64_t>(map.swizzle), kSwizzle128));
  put(bytes, atoms, 0, has_atoms(map.swizzle) ? static_cast<uint64_t>(map.swizzle) - kSwizzle128 : 0);
  put(bytes, oob_fill, 0, static_cast<uint64_t>(map.oob_fill));
  put(bytes, tf32, 0, has_tf32(map.type));
  put(bytes, l2_promotion, 0, static_cast<uint64_t>(map.l2_promotion));
  for (size_t i = 0; i < map.dims.size(); ++i) {
    put(bytes, dim, i, map.dims[i]);
    put(bytes, element_stride, i, map.element_strides[i]);
    if (i < map.strides_bytes.size())
      put_stride(bytes, i, map.strides_bytes[i]);
    if (!map.is_im2col())
      put(bytes, box, i, map.box[i]);
  }
  if (map.is_im2col()) {
    put(bytes, channels, 0, map.channels);
    put(bytes, pixels, 0, map.pixels);
    const size_t spatial = map.rank < 3 ? 0 : map.rank - 2u;
    for (size_t i = 0; i < std::min(spatial, map.lower.size()); ++i) {
      put(bytes, lower(spatial), i, static_cast<uint64_t>(map.lower[i]));
      put(bytes, upper(spatial), i, static_cast<uint64_t>(map.upper[i]));
    }
  }
  put(bytes, map_field::box_bytes, 0, stored_box_bytes(map));
  constexpr uint64_t kAligns[] = {16, 256, 512, 1024};
  put(bytes, shared_align, 0, kAligns[get(bytes, swizzle)]);
  return bytes;
}

void replace(TensorMapBytes& bytes, ReplacedField field, size_t ordinal, uint64_t value) {
  switch (field) {
  case ReplacedField::global_address:
    return put(bytes, map_field::address, 0, value);
  case ReplacedField::rank:
    return put(bytes, map_field::rank, 0, value + map_field::rank.less);
  case ReplacedField::box_dim:
    return put(bytes, map_field::box, ordinal, value);
  case ReplacedField::global_dim:
    return put(bytes, map_field::dim, ordinal, value);
  case ReplacedField::global_stride:
    return put_stride(bytes, ordinal, value);
  case ReplacedField::element_stride:
    return put(bytes, map_field::element_stride, ordinal, value);
  case ReplacedField::elemtype: {
    constexpr uint64_t kTf32 = 11, kTf32Ftz = 12;
    const bool tf32 = value == kTf32 || value == kTf32Ftz;
    if (tf32) // other types leave that bit
      put(bytes, map_field::tf32, 0, 1);
    return put(bytes, map_field::type, 0, tf32 ? value - kTf32 + kF32 : value > kTf32Ftz ? value - 2 : value);
  }
  case ReplacedField::interleave_layout:
    return put(bytes, map_field::interleave, 0, value);
  case ReplacedField::swizzle_mode:
    put(bytes, map_field::swizzle_high, 0, 0);
    return put(bytes, map_field::swizzle, 0, value);
  case ReplacedField::swizzle_atomicity:
    return put(bytes, map_field::atoms, 0, value);
  case ReplacedField::fill_mode:
    return put(bytes, map_field::oob_fill, 0, value);
  }
}

} // namespace lemma::layout
