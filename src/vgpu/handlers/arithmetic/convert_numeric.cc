// cvt through src/numeric, an element at a time: the pairs that are too rare for a kernel, among them all
// that only sm_100 and up have.
//
// PTX ISA: "Data Movement and Conversion Instructions: cvt". Tests: tests/unit/vgpu/convert_test.cc.
#include "vgpu/handlers/arithmetic/convert.h"

#include <cassert>

namespace lemma::vgpu {
namespace {

using isa::Qual;
using isa::Type;
using numeric::FloatFormat;
using numeric::IntegerFormat;
using numeric::Rounding;

// DecodedInst::imm: the types and the modifiers.
//
//   | 33 random bits | 32 scaled | 31..24 sources | 23..16 modifiers | 15..8 from | 7..0 to |
struct Packed {
  Type to;
  Type from;
  uint8_t flags;
  int sources;
  bool scaled;
  bool stochastic;
};
int64_t pack(const Packed& packed) {
  return int64_t{packed.stochastic} << 33 | int64_t{packed.scaled} << 32 | int64_t{packed.sources} << 24 |
         int64_t{packed.flags} << 16 | int64_t(packed.from) << 8 | int64_t(packed.to);
}
Packed unpack(int64_t bits) {
  return {static_cast<Type>(bits & 0xff),
          static_cast<Type>(bits >> 8 & 0xff),
          static_cast<uint8_t>(bits >> 16 & 0xff),
          static_cast<int>(bits >> 24 & 0xff),
          (bits >> 32 & 1) != 0,
          (bits >> 33 & 1) != 0};
}

// The modifiers' rounding as numeric spells it. `width`, the handler's second byte, holds it.
Rounding rounding_of(Qual qual) {
  switch (qual) {
  case Qual::rz:
  case Qual::rzi:
    return Rounding::rz;
  case Qual::rm:
  case Qual::rmi:
    return Rounding::rm;
  case Qual::rp:
  case Qual::rpi:
    return Rounding::rp;
  case Qual::rna:
    return Rounding::rna;
  case Qual::rs:
    return Rounding::rs;
  default:
    return Rounding::rn;
  }
}

uint64_t convert_element(const ElementFormat& to, const ElementFormat& from, uint64_t bits,
                         const numeric::ConvertOptions& options, bool to_integral) {
  if (to.is_fixed)
    return numeric::float_to_s2f6(from.floating, bits, options);
  if (from.is_fixed)
    return numeric::s2f6_to_float(to.floating, bits, options);
  if (to.is_float && from.is_float) {
    if (to_integral && to.floating == from.floating)
      return numeric::round_to_integral(to.floating, bits, options.rounding, options.ftz, options.sat);
    return numeric::convert_float(to.floating, from.floating, bits, options);
  }
  if (to.is_float)
    return numeric::integer_to_float(to.floating, from.integer, bits, options);
  if (from.is_float)
    return numeric::float_to_integer(to.integer, from.floating, bits, options.rounding, options.ftz);
  return numeric::integer_to_integer(to.integer, from.integer, bits, options.sat);
}

// Times the scale, or, to fixed point, divided by it. A scale of all ones is NaN.
uint64_t convert_scaled(const ElementFormat& to, const ElementFormat& from, uint64_t bits, uint64_t scale,
                        numeric::ConvertOptions options) {
  constexpr uint64_t kNoScale = 0xff, kNan = 0x7fffffff;
  constexpr int kBias = 127;
  if (scale == kNoScale) {
    const ElementFormat f32{.is_float = true, .floating = FloatFormat::f32};
    return convert_element(to, f32, kNan, options, false);
  }
  const int exponent = static_cast<int>(scale) - kBias;
  options.exponent = to.is_fixed ? -exponent : exponent;
  return convert_element(to, from, bits, options, false);
}

// The random bits of element i, the highest first. Those of two halves are halves; of four elements the first
// two share 16 bits and the last two the others; of four of 4 bits, bytes of both halves.
// That two elements have the same bits is our reading of the ISA; no hardware has checked it.
uint32_t random_bits(const ElementFormat& to, int i, uint32_t rbits) {
  const bool upper = i < to.elements / 2;
  if (to.elements == 2 || to.bits == 8)
    return upper ? rbits >> 16 : rbits & 0xffff;
  const int shift = upper ? 8 : 0;
  return (rbits >> 16 >> shift & 0xff) << 8 | (rbits >> shift & 0xff);
}

void store_lane(std::byte* lanes, int bytes, int lane, uint64_t value) {
  std::memcpy(lanes + lane * bytes, &value, bytes);
}

Step run_numeric(Exec& x, const DecodedInst& in) {
  const Packed packed = unpack(in.imm);
  const std::optional<ElementFormat> to_format = format_of(packed.to), from_format = format_of(packed.from);
  assert(to_format && from_format); // or pick_numeric_conversion() had not picked this
  const ElementFormat &to = *to_format, &from = *from_format;
  numeric::ConvertOptions options;
  options.rounding = static_cast<Rounding>(in.width);
  options.ftz = (packed.flags & kFlagFtz) != 0;
  options.sat = (packed.flags & kFlagSat) != 0;
  options.relu = (packed.flags & kFlagRelu) != 0;
  options.satfinite = (packed.flags & kFlagSatfinite) != 0;
  options.random_bits = packed.stochastic ? numeric::stochastic_bits(to.floating) : 0;
  const bool to_integral = (packed.flags & kFlagRounded) != 0;
  const Slot& slot = x.dst_slot(in);
  std::byte* d = x.dst<std::byte>(in);
  const uint64_t element_mask = from.bits == 64 ? ~uint64_t{0} : (uint64_t{1} << from.bits) - 1;
  for_lanes(x.active, [&](int lane) {
    uint64_t result = 0;
    for (int i = 0; i < to.elements; ++i) { // from the highest
      const int source = packed.sources > 1 ? i : 0;
      const int shift = packed.sources > 1 ? 0 : (to.elements - 1 - i) * from.bits;
      const uint64_t element = x.src_lane(in, source, lane) >> shift & element_mask;
      const uint64_t scale =
          packed.scaled ? x.src_lane(in, packed.sources, lane) >> (to.elements - 1 - i) * 8 & 0xff : 0;
      if (packed.stochastic)
        options.random = random_bits(to, i, static_cast<uint32_t>(x.src_lane(in, packed.sources, lane))) &
                         ((1u << options.random_bits) - 1);
      const uint64_t converted = packed.scaled ? convert_scaled(to, from, element, scale, options)
                                               : convert_element(to, from, element, options, to_integral);
      result = to.elements == 1 ? converted : result << to.bits | converted;
    }
    if (!to.is_float && !to.is_fixed && numeric::is_signed(to.integer)) { // a wider register gets the sign
      const int above = 64 - to.bits;
      result = static_cast<uint64_t>(static_cast<int64_t>(result << above) >> above);
    }
    store_lane(d, slot.bytes, lane, result);
  });
  return Step::next;
}

struct TypeFormat {
  Type type;
  ElementFormat format;
};
constexpr ElementFormat floating(FloatFormat format, int elements, int bits) {
  return {.is_float = true, .floating = format, .elements = elements, .bits = bits};
}
constexpr ElementFormat integer(IntegerFormat format, int bits) {
  return {.integer = format, .bits = bits};
}
constexpr TypeFormat kFormats[] = {
    {Type::u8, integer(IntegerFormat::u8, 8)},
    {Type::s8, integer(IntegerFormat::s8, 8)},
    {Type::u16, integer(IntegerFormat::u16, 16)},
    {Type::s16, integer(IntegerFormat::s16, 16)},
    {Type::u32, integer(IntegerFormat::u32, 32)},
    {Type::s32, integer(IntegerFormat::s32, 32)},
    {Type::u64, integer(IntegerFormat::u64, 64)},
    {Type::s64, integer(IntegerFormat::s64, 64)},
    {Type::f16, floating(FloatFormat::f16, 1, 16)},
    {Type::bf16, floating(FloatFormat::bf16, 1, 16)},
    {Type::tf32, floating(FloatFormat::tf32, 1, 32)},
    {Type::f32, floating(FloatFormat::f32, 1, 32)},
    {Type::f64, floating(FloatFormat::f64, 1, 64)},
    {Type::f16x2, floating(FloatFormat::f16, 2, 16)},
    {Type::bf16x2, floating(FloatFormat::bf16, 2, 16)},
    {Type::e4m3x2, floating(FloatFormat::e4m3, 2, 8)},
    {Type::e5m2x2, floating(FloatFormat::e5m2, 2, 8)},
    {Type::e2m3x2, floating(FloatFormat::e2m3, 2, 8)},
    {Type::e3m2x2, floating(FloatFormat::e3m2, 2, 8)},
    {Type::e2m1x2, floating(FloatFormat::e2m1, 2, 4)},
    {Type::ue8m0x2, floating(FloatFormat::ue8m0, 2, 8)},
    {Type::s2f6x2, {.is_fixed = true, .elements = 2, .bits = 8}},
    {Type::e4m3x4, floating(FloatFormat::e4m3, 4, 8)},
    {Type::e5m2x4, floating(FloatFormat::e5m2, 4, 8)},
    {Type::e2m3x4, floating(FloatFormat::e2m3, 4, 8)},
    {Type::e3m2x4, floating(FloatFormat::e3m2, 4, 8)},
    {Type::e2m1x4, floating(FloatFormat::e2m1, 4, 4)},
    {Type::e2m1p4x4, floating(FloatFormat::e2m1, 4, 8)},
    {Type::ue8m0x4, floating(FloatFormat::ue8m0, 4, 8)},
};

} // namespace

std::optional<ElementFormat> format_of(Type type) {
  for (const TypeFormat& entry : kFormats)
    if (entry.type == type)
      return entry.format;
  return std::nullopt;
}

uint8_t ConvertModifiers::flags() const {
  int direction = 0;
  switch (rounding_of(rounding)) {
  case Rounding::rz:
    direction = 1;
    break;
  case Rounding::rm:
    direction = 2;
    break;
  case Rounding::rp:
    direction = 3;
    break;
  default:
    break;
  }
  return static_cast<uint8_t>((ftz ? kFlagFtz : 0) | (sat ? kFlagSat : 0) | (relu ? kFlagRelu : 0) |
                              (satfinite ? kFlagSatfinite : 0) | direction << kRoundingShift |
                              (rounding != Qual::none ? kFlagRounded : 0));
}

std::optional<ConvertModifiers> modifiers_of(const ptx::Instruction& instruction) {
  ConvertModifiers modifiers;
  for (const Qual qual : instruction.quals()) {
    switch (qual) {
    case Qual::ftz:
      modifiers.ftz = true;
      break;
    case Qual::sat:
      modifiers.sat = true;
      break;
    case Qual::relu:
      modifiers.relu = true;
      break;
    case Qual::satfinite:
      modifiers.satfinite = true;
      break;
    case Qual::rn:
    case Qual::rz:
    case Qual::rm:
    case Qual::rp:
    case Qual::rna:
    case Qual::rs:
    case Qual::rni:
    case Qual::rzi:
    case Qual::rmi:
    case Qual::rpi:
      modifiers.rounding = qual;
      break;
    case Qual::scaled_n2_ue8m0:
      modifiers.scaled = true;
      break;
    default: // .pzo, .scaled::n1: not modelled
      return std::nullopt;
    }
  }
  return modifiers;
}

bool pick_numeric_conversion(Type to, Type from, int sources, const ConvertModifiers& modifiers,
                             Selection& selection) {
  const std::optional<ElementFormat> to_format = format_of(to), from_format = format_of(from);
  if (!to_format || !from_format || to_format->elements != sources * from_format->elements)
    return false;
  selection = {};
  selection.handler = run_numeric;
  selection.dst[0] = to;
  selection.src_count = static_cast<uint8_t>(sources);
  for (int i = 0; i < sources; ++i)
    selection.src[i] = from;
  if (modifiers.scaled)
    selection.src[selection.src_count++] = Type::b16;
  if (modifiers.stochastic())
    selection.src[selection.src_count++] = Type::b32;
  selection.width = static_cast<uint8_t>(rounding_of(modifiers.rounding));
  selection.imm = pack({to, from, modifiers.flags(), sources, modifiers.scaled, modifiers.stochastic()});
  return true;
}

} // namespace lemma::vgpu
