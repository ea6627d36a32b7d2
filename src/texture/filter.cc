// Coordinates become positions in 256 parts of a texel, these texels and weights, and these one result, all
// in whole numbers. Every rule was measured on an H200; docs/textures.md has them in words.
#include "texture/filter.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace lemma::texture {
namespace {

constexpr int kFractionBits = 8;
constexpr int kWhole = 1 << kFractionBits;

// A place on an axis, in texels: whole ones, or one and 256 parts of the way to the next.
struct Position {
  int64_t texel = 0;
  uint32_t fraction = 0;
};

bool is_normalized(const Object& object) {
  return object.descriptor.normalized_coordinates;
}

} // namespace

TextureAddressing addressing_of(const Object& object, int axis) {
  const TextureAddressing addressing = object.descriptor.addressing[static_cast<size_t>(axis)];
  if (is_normalized(object))
    return addressing;
  return addressing == TextureAddressing::wrap     ? TextureAddressing::clamp
         : addressing == TextureAddressing::mirror ? TextureAddressing::clamp
                                                   : addressing;
}

// By the largest of the texture's sizes.
double parts_of_one(const Object& object) {
  const uint64_t depth = object.memory.shape == TextureShape::d3 ? object.memory.depth : 1;
  const uint64_t largest = std::max({object.memory.width, object.memory.height, depth});
  return largest <= 8192 ? 0x1p21 : largest <= 65536 ? 0x1p22 : 0x1p23;
}

namespace {

// Beyond that, every coordinate is as far outside as any.
constexpr double kFarTexels = 0x1p36;

// Subnormal coordinates are 0, and so is what is no number.
double value_of(uint32_t coordinate) {
  const float value = std::bit_cast<float>(coordinate);
  return std::isnormal(value) || std::isinf(value) ? value : 0;
}

// floor(value * 2^shift) of a position in texels.
Position position_at(double texels, bool linear) {
  const double clamped = std::clamp(texels, -kFarTexels, kFarTexels);
  if (!linear)
    return {static_cast<int64_t>(std::floor(clamped))};
  constexpr int64_t kHalf = 1 << (kFractionBits - 1);
  const auto fixed = static_cast<int64_t>(std::floor(clamped * (1 << kFractionBits) + 0.5)) - kHalf;
  return {fixed >> kFractionBits, static_cast<uint32_t>(fixed & ((1 << kFractionBits) - 1))};
}

// Where addressing repeats, in coordinates; 0: nowhere.
double period_of(TextureAddressing addressing) {
  return addressing == TextureAddressing::wrap ? 1 : addressing == TextureAddressing::mirror ? 2 : 0;
}

// Everything here is exact: sums and products of few bits.
Position position_of(const Object& object, uint32_t coordinate, int axis, bool linear) {
  const double value = value_of(coordinate);
  if (!is_normalized(object))
    return position_at(value, linear);
  const uint64_t size = object.size_on(axis);
  const double one = parts_of_one(object);
  double fixed = std::floor(value * one);
  if (const double period = one * period_of(object.descriptor.addressing[static_cast<size_t>(axis)]);
      period != 0)
    fixed = std::isinf(fixed) ? 0 : fixed - std::floor(fixed / period) * period;
  fixed = std::clamp(fixed, -kFarTexels, kFarTexels);
  return position_at(fixed * static_cast<double>(size) / one, linear);
}

// The texel that an index means; none: the border.
struct OnAxis {
  bool is_border = false;
  uint64_t texel = 0;
};

OnAxis address(int64_t texel, uint64_t size, TextureAddressing addressing) {
  const auto n = static_cast<int64_t>(size);
  switch (addressing) {
  case TextureAddressing::wrap:
    return {false, static_cast<uint64_t>((texel % n + n) % n)};
  case TextureAddressing::mirror: {
    const int64_t at = (texel % (2 * n) + 2 * n) % (2 * n);
    return {false, static_cast<uint64_t>(at < n ? at : 2 * n - 1 - at)};
  }
  case TextureAddressing::border:
    if (texel < 0 || texel >= n)
      return {true, 0};
    return {false, static_cast<uint64_t>(texel)};
  default:
    return {false, static_cast<uint64_t>(std::clamp<int64_t>(texel, 0, n - 1))};
  }
}

// A row is the only one of a plane, and its coordinate there is 0, halfway between the row and what is before
// it: where that is the border, a linear filter sees it.
int filtered_axes(const Object& object) {
  return object.memory.shape == TextureShape::d1 && addressing_of(object, 1) == TextureAddressing::border
             ? 2
             : object.axes();
}

Tap tap_of(const Object& object, const std::array<OnAxis, kMostAxes>& at, uint64_t layer) {
  for (const OnAxis& axis : at)
    if (axis.is_border)
      return {.is_border = true};
  const uint64_t row = at[1].texel, plane = object.axes() > 2 ? at[2].texel : layer;
  return {.offset =
              at[0].texel * object.texel_bytes() + row * object.pitch_bytes() + plane * object.plane_bytes()};
}

} // namespace

uint64_t layer_of(const Object& object, uint32_t index) {
  return std::min<uint64_t>(index, object.layers() - 1);
}

namespace {

// Beyond the first and the last texel's centres there is nothing between texels.
Position clamped(const Position& position, uint64_t size) {
  if (position.texel < 0)
    return {};
  const auto last = static_cast<int64_t>(size) - 1;
  return position.texel >= last ? Position{last, 0} : position;
}

Taps find(const Object& object, const Coordinates& coordinates, uint64_t layer, bool linear, bool gathers) {
  Taps taps;
  const int axes = filtered_axes(object);
  taps.axes = linear ? axes : 0;
  taps.count = 1 << taps.axes;
  std::array<Position, kMostAxes> positions{};
  for (int axis = 0; axis < axes; ++axis) {
    const auto i = static_cast<size_t>(axis);
    positions[i] = position_of(object, coordinates[i], axis, linear);
    if (addressing_of(object, axis) == TextureAddressing::clamp && !gathers)
      positions[i] = clamped(positions[i], object.size_on(axis));
    taps.fractions[i] = positions[i].fraction;
  }
  for (int tap = 0; tap < taps.count; ++tap) {
    std::array<OnAxis, kMostAxes> at{};
    for (int axis = 0; axis < axes; ++axis) {
      const auto i = static_cast<size_t>(axis);
      at[i] =
          address(positions[i].texel + (tap >> axis & 1), object.size_on(axis), addressing_of(object, axis));
    }
    taps.taps[static_cast<size_t>(tap)] = tap_of(object, at, layer);
  }
  return taps;
}

} // namespace

Taps find_taps(const Object& object, const Coordinates& coordinates, uint64_t layer) {
  return find(object, coordinates, layer, object.descriptor.filter == TextureFilter::linear, false);
}

Taps find_texel(const Object& object, const Coordinates& coordinates, uint32_t layer) {
  Taps taps;
  taps.taps[0].is_zero = layer >= object.layers();
  std::array<OnAxis, kMostAxes> at{};
  for (int axis = 0; axis < object.axes(); ++axis) {
    const auto i = static_cast<size_t>(axis);
    at[i].texel = coordinates[i];
    taps.taps[0].is_zero |= coordinates[i] >= object.size_on(axis); // negative ones too
  }
  if (!taps.taps[0].is_zero)
    taps.taps[0] = tap_of(object, at, layer);
  return taps;
}

Taps find_gather(const Object& object, const Coordinates& coordinates, uint64_t layer) {
  Taps taps = find(object, coordinates, layer, true, true);
  taps.taps = {taps.taps[2], taps.taps[3], taps.taps[1], taps.taps[0]};
  return taps;
}

namespace {

// Parts of 256 that each texel has of the whole: the whole is split on the third axis, then on the first,
// then on the second, and rounded to parts each time. Halves go to the right one on the first axis, on the
// second to the one that the texel on the diagonal is in.
std::array<int, 8> weights_of(const Taps& taps) {
  const int x = static_cast<int>(taps.fractions[0]), y = static_cast<int>(taps.fractions[1]),
            z = static_cast<int>(taps.fractions[2]);
  std::array<int, 8> weights{};
  const int planes = taps.axes > 2 ? 2 : 1;
  for (int plane = 0; plane < planes; ++plane) {
    const int whole = planes == 1 ? kWhole : plane ? z : kWhole - z;
    const int right = (whole * x + kWhole / 2) / kWhole;
    for (int column = 0; column < 2; ++column) {
      const int both = column ? right : whole - right;
      const int upper = taps.axes > 1 ? (both * y + kWhole / 2 - 1 + column) / kWhole : 0;
      weights[static_cast<size_t>(4 * plane + column)] = both - upper;
      weights[static_cast<size_t>(4 * plane + column + 2)] = upper;
    }
  }
  return weights;
}

// How floating-point texels are added up.
struct FloatRules {
  int mantissa_bits; // after the leading one
  int least_exponent;
  uint32_t nan; // every NaN's bits, as an f32
  bool flushes; // subnormal texels and results are 0
};
constexpr FloatRules kF32{23, -126, 0x7fffffff, true}, kF16{10, -14, 0x7fffe000, false};
constexpr int kGuardBits = 4; // that a texel keeps when it is aligned to the largest of its plane
constexpr int kPlaneStep = 4; // powers of two, of what planes are aligned to

// sum * 2^unit
struct Sum {
  __int128 sum = 0;
  int unit = 0;
  bool any = false; // texels but 0
};

bool is_small(float value, const FloatRules& rules) {
  return value == 0 || (rules.flushes && std::abs(value) < 0x1p-126f);
}

// Of the texels of one plane: aligned to the largest, what is below the guard bits cut off, times their
// weights, exactly.
Sum sum_of_plane(const std::array<float, 8>& values, const std::array<int, 8>& weights, size_t first,
                 size_t end, const FloatRules& rules) {
  Sum result;
  int largest = 0;
  for (size_t i = first; i < end; ++i)
    if (weights[i] != 0 && !is_small(values[i], rules)) {
      const int exponent = std::max(std::ilogb(values[i]), rules.least_exponent);
      largest = result.any ? std::max(largest, exponent) : exponent;
      result.any = true;
    }
  if (!result.any)
    return result;
  result.unit = largest - rules.mantissa_bits - kGuardBits;
  for (size_t i = first; i < end; ++i)
    if (weights[i] != 0 && !is_small(values[i], rules)) // at most 28 bits, towards zero
      result.sum +=
          static_cast<__int128>(std::ldexp(static_cast<double>(values[i]), -result.unit)) * weights[i];
  return result;
}

// Planes are added in steps of four powers of two: the lesser is cut, towards minus infinity, below the last
// bit that the larger one's largest texel would have if its exponent, as the format stores it, were a
// multiple of four.
Sum add_planes(Sum a, Sum b, const FloatRules& rules) {
  if (!a.any || !b.any)
    return a.any ? a : b;
  if (a.unit < b.unit)
    std::swap(a, b);
  const int exponent =
      a.unit + rules.mantissa_bits + kGuardBits - rules.least_exponent + 1; // as it is stored
  const int unit = a.unit - exponent % kPlaneStep;
  constexpr int kFarthest = 100;
  const int distance = std::min(unit - b.unit, kFarthest);
  const __int128 lesser = distance >= 0 ? b.sum >> distance : b.sum * (1 << -distance);
  return {a.sum * (1 << (a.unit - unit)) + lesser, unit, true};
}

// To the format, halves away from zero. The weights' 8 bits are taken out. `zero`: what no sum becomes.
uint32_t rounded(const Sum& sum, const FloatRules& rules, uint32_t zero) {
  const bool negative = sum.sum < 0;
  auto magnitude = static_cast<unsigned __int128>(negative ? -sum.sum : sum.sum);
  if (magnitude == 0)
    return zero;
  const int unit = sum.unit - kFractionBits;
  int top = 0;
  while (magnitude >> top > 1)
    ++top;
  const int last = std::max(top, rules.least_exponent - unit) - rules.mantissa_bits; // bit that is kept
  if (last > 0)
    magnitude = ((magnitude >> (last - 1)) + 1) >> 1 << last;
  auto value = static_cast<float>(std::ldexp(static_cast<double>(magnitude), unit)); // exact
  if (is_small(value, rules))
    value = 0;
  return std::bit_cast<uint32_t>(negative ? -value : value);
}

// Of texels that have a part in the sum: those of a fraction of 0 have none, whatever they are.
bool takes_part(const Taps& taps, int tap) {
  for (int axis = 0; axis < taps.axes; ++axis)
    if ((tap >> axis & 1) && taps.fractions[static_cast<size_t>(axis)] == 0)
      return false;
  return true;
}

// The part that a texel would have in its plane alone: an infinity with none is a NaN.
bool counts_in_plane(const Taps& taps, size_t tap) {
  Taps plane = taps;
  plane.axes = std::min(taps.axes, 2);
  return weights_of(plane)[tap % 4] != 0;
}

uint32_t combine_floats(const Taps& taps, const std::array<int, 8>& weights,
                        const std::array<Texel, 8>& texels, size_t channel, const FloatRules& rules) {
  std::array<float, 8> values{};
  bool nan = false, infinity = false, negative_infinity = false;
  uint32_t signs = 0x80000000;
  for (size_t i = 0; i < static_cast<size_t>(taps.count); ++i) {
    const auto value = std::bit_cast<float>(texels[i][channel]);
    if (!takes_part(taps, static_cast<int>(i)))
      continue;
    nan |= std::isnan(value) || (std::isinf(value) && !counts_in_plane(taps, i));
    signs &= texels[i][channel];
    if (std::isinf(value))
      (value < 0 ? negative_infinity : infinity) = true;
    values[i] = std::isfinite(value) ? value : 0;
  }
  if (nan || (infinity && negative_infinity))
    return rules.nan;
  if (infinity || negative_infinity)
    return infinity ? 0x7f800000 : 0xff800000;
  const auto count = static_cast<size_t>(taps.count);
  const size_t plane = std::min<size_t>(count, 4);
  Sum sum = sum_of_plane(values, weights, 0, plane, rules);
  if (count > plane)
    sum = add_planes(sum, sum_of_plane(values, weights, plane, count, rules), rules);
  return rounded(sum, rules, signs);
}

uint32_t number_of(int64_t parts, int largest) {
  return std::bit_cast<uint32_t>(static_cast<float>(static_cast<double>(parts) / largest));
}

int64_t parts_of(uint32_t number, int largest) {
  return std::llround(static_cast<double>(std::bit_cast<float>(number)) * largest);
}

// 256 parts of parts of 127 - what weights make of them - as parts of 32767: a 1/128 more, and for the rest
// of 32767/32512 an eighth of a part for each 4096; the nearest, halves upwards.
int64_t parts_of_s8(int64_t sum) {
  const int64_t parts = sum + ((sum + 64 + 16 * (sum >> 12)) >> 7);
  return std::clamp<int64_t>(parts, -32767, 32767);
}

uint32_t combine_s8(const Taps& taps, const std::array<int, 8>& weights, const std::array<Texel, 8>& texels,
                    size_t channel) {
  int64_t sum = 0;
  for (size_t i = 0; i < static_cast<size_t>(taps.count); ++i)
    sum += parts_of(texels[i][channel], 127) * weights[i];
  return number_of(parts_of_s8(sum), 32767);
}

// Of integers of 8 and 16 bits: whole parts of the largest of 16 bits.
uint32_t combine_parts(const Taps& taps, const std::array<int, 8>& weights,
                       const std::array<Texel, 8>& texels, size_t channel, int largest) {
  int64_t sum = 0;
  for (size_t i = 0; i < static_cast<size_t>(taps.count); ++i)
    sum += parts_of(texels[i][channel], largest) * weights[i];
  return number_of((sum + kWhole / 2) >> kFractionBits, largest);
}

} // namespace

Texel combine(const Object& object, const Taps& taps, const std::array<Texel, 8>& texels) {
  Texel result{};
  if (taps.axes == 0) {
    result = texels[0];
    if (object.memory.type == TexelType::s8 && object.reads_floats())
      for (uint32_t& number : result) // -128, which load_texel() keeps for the filter
        number = std::bit_cast<uint32_t>(std::max(std::bit_cast<float>(number), -1.0f));
    return result;
  }
  const std::array<int, 8> weights = weights_of(taps);
  for (size_t channel = 0; channel < object.memory.channels; ++channel)
    switch (object.memory.type) {
    case TexelType::u8:
    case TexelType::u16:
      result[channel] = combine_parts(taps, weights, texels, channel, 65535);
      break;
    case TexelType::s16:
      result[channel] = combine_parts(taps, weights, texels, channel, 32767);
      break;
    case TexelType::s8:
      result[channel] = combine_s8(taps, weights, texels, channel);
      break;
    case TexelType::f16:
      result[channel] = combine_floats(taps, weights, texels, channel, kF16);
      break;
    default:
      result[channel] = combine_floats(taps, weights, texels, channel, kF32);
    }
  return result;
}

uint32_t gathered(const Object& object, uint32_t word) {
  if (!object.reads_floats())
    return word;
  if (object.memory.type == TexelType::s8)
    return number_of(parts_of_s8(parts_of(word, 127) * kWhole), 32767);
  const FloatRules& rules = object.memory.type == TexelType::f16 ? kF16 : kF32;
  const auto value = std::bit_cast<float>(word);
  if (std::isnan(value))
    return rules.nan;
  return rules.flushes && is_small(value, rules) ? word & 0x80000000 : word;
}

} // namespace lemma::texture
