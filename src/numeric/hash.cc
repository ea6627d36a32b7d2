// MurmurHash3 (x64, 128 bits), splitmix64 and xoshiro256**, each as its authors published it, written out so
// that no library can change them. Then the classes of operands: how often which special value comes is part
// of what recorded cases mean, and must stay.
#include "numeric/hash.h"

#include <bit>
#include <cstring>

namespace lemma::numeric {
namespace {

uint64_t load64(const uint8_t* bytes, size_t count) {
  uint64_t value = 0;
  for (size_t i = 0; i < count; ++i)
    value |= uint64_t{bytes[i]} << (8 * i);
  return value;
}

constexpr uint64_t kMurmur1 = 0x87c37b91114253d5, kMurmur2 = 0x4cf5ad432745937f;

uint64_t mix_low(uint64_t k) {
  return std::rotl(k * kMurmur1, 31) * kMurmur2;
}
uint64_t mix_high(uint64_t k) {
  return std::rotl(k * kMurmur2, 33) * kMurmur1;
}

uint64_t finalize(uint64_t k) {
  k = (k ^ k >> 33) * 0xff51afd7ed558ccd;
  k = (k ^ k >> 33) * 0xc4ceb9fe1a85ec53;
  return k ^ k >> 33;
}

// A number with this biased exponent, random fraction and sign.
uint64_t with_exponent(const FormatTraits& t, uint64_t biased, Random& random) {
  const uint64_t fraction = random.bits(t.mantissa_bits) << t.padding_bits;
  const uint64_t sign = random.bits(1) != 0 ? t.sign_mask() : 0;
  return sign | biased << t.fraction_field_bits() | fraction;
}

uint64_t wide(FloatFormat format, Random& random) {
  const FormatTraits& t = traits(format);
  for (;;) {
    const uint64_t bits = random.bits(t.storage_bits) >> t.padding_bits << t.padding_bits;
    if ((bits & t.magnitude_mask()) <= t.max_finite())
      return bits & (t.magnitude_mask() | t.sign_mask());
  }
}

uint64_t ordinary(FloatFormat format, Random& random) {
  const FormatTraits& t = traits(format);
  const int lowest = t.bias > 2 ? t.bias - 2 : 0;
  const int highest = t.bias + 2 < t.max_biased_exponent() ? t.bias + 2 : t.max_biased_exponent() - 1;
  return with_exponent(t, lowest + random.below(highest - lowest + 1), random);
}

uint64_t special(FloatFormat format, Random& random) {
  const FormatTraits& t = traits(format);
  const uint64_t sign = random.bits(1) != 0 ? t.sign_mask() : 0;
  const uint64_t ulp = uint64_t{1} << t.padding_bits;
  switch (random.below(12)) {
  case 0:
  case 1:
    return sign;
  case 2:
    return sign | (t.has_infinity() ? t.infinity() : t.max_finite());
  case 3: {
    const uint64_t payload = random.bits(t.mantissa_bits) << t.padding_bits;
    const uint64_t nan = t.has_infinity() ? t.infinity() | payload | ulp : encode_nan(format);
    return sign | nan;
  }
  case 4:
    return sign | encode_nan(format);
  case 5:
    return sign | t.max_finite();
  case 6:
    return sign | t.min_normal();
  case 7:
    return sign | (t.has_zero && t.mantissa_bits > 0 ? ulp : 0);
  case 8:
    return sign | static_cast<uint64_t>(t.bias) << t.fraction_field_bits();
  default:
    return wide(format, random);
  }
}

} // namespace

Hash128 hash128(const void* data, size_t size_bytes, uint32_t seed) {
  const auto* bytes = static_cast<const uint8_t*>(data);
  uint64_t low = seed, high = seed;
  const size_t blocks = size_bytes / 16;
  for (size_t i = 0; i < blocks; ++i, bytes += 16) {
    low = (std::rotl(low ^ mix_low(load64(bytes, 8)), 27) + high) * 5 + 0x52dce729;
    high = (std::rotl(high ^ mix_high(load64(bytes + 8, 8)), 31) + low) * 5 + 0x38495ab5;
  }
  const size_t tail = size_bytes % 16;
  if (tail > 8)
    high ^= mix_high(load64(bytes + 8, tail - 8));
  if (tail > 0)
    low ^= mix_low(load64(bytes, tail < 8 ? tail : 8));
  low ^= size_bytes;
  high ^= size_bytes;
  low += high;
  high += low;
  low = finalize(low);
  high = finalize(high);
  low += high;
  high += low;
  return {low, high};
}

std::string to_string(const Hash128& hash) {
  std::string text;
  for (const uint64_t word : {hash.low, hash.high})
    for (int shift = 60; shift >= 0; shift -= 4)
      text += "0123456789abcdef"[word >> shift & 15];
  return text;
}

uint64_t splitmix64(uint64_t& state) {
  state += 0x9e3779b97f4a7c15;
  uint64_t z = state;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
  z = (z ^ z >> 27) * 0x94d049bb133111eb;
  return z ^ z >> 31;
}

Random::Random(uint64_t seed) {
  for (uint64_t& word : state_)
    word = splitmix64(seed);
}

uint64_t Random::next() {
  const uint64_t result = std::rotl(state_[1] * 5, 7) * 9;
  const uint64_t shifted = state_[1] << 17;
  state_[2] ^= state_[0];
  state_[3] ^= state_[1];
  state_[1] ^= state_[2];
  state_[0] ^= state_[3];
  state_[2] ^= shifted;
  state_[3] = std::rotl(state_[3], 45);
  return result;
}

uint64_t Random::below(uint64_t bound) {
  return static_cast<uint64_t>(static_cast<unsigned __int128>(next()) * bound >> 64);
}

std::string_view to_string(OperandClass operand_class) {
  constexpr std::string_view names[] = {"ordinary", "wide", "cancelling", "subnormal", "special"};
  return names[static_cast<size_t>(operand_class)];
}

std::vector<uint64_t> operands(FloatFormat format, OperandClass operand_class, Random& random, size_t count) {
  const FormatTraits& t = traits(format);
  std::vector<uint64_t> out(count);
  for (size_t i = 0; i < count; ++i) {
    switch (operand_class) {
    case OperandClass::ordinary:
      out[i] = ordinary(format, random);
      break;
    case OperandClass::wide:
      out[i] = wide(format, random);
      break;
    case OperandClass::cancelling:
      if (i % 2 == 0 || t.mantissa_bits == 0)
        out[i] = ordinary(format, random);
      else
        out[i] = out[i - 1] ^ t.sign_mask() ^ random.bits(1) << t.padding_bits;
      break;
    case OperandClass::subnormal:
      out[i] = with_exponent(t, random.bits(1) != 0 ? 0 : random.below(t.exponent_bits > 3 ? 3 : 2), random);
      break;
    case OperandClass::special:
      out[i] = special(format, random);
      break;
    }
  }
  return out;
}

std::vector<uint64_t> operands(IntegerFormat format, OperandClass operand_class, Random& random,
                               size_t count) {
  const int width = width_bits(format);
  const uint64_t mask = width == 64 ? ~uint64_t{0} : (uint64_t{1} << width) - 1;
  const uint64_t top = uint64_t{1} << (width - 1);
  const uint64_t ends[] = {0, 1, mask, top, top - 1};
  std::vector<uint64_t> out(count);
  for (size_t i = 0; i < count; ++i) {
    switch (operand_class) {
    case OperandClass::ordinary:
      out[i] = random.below(17) - 8;
      break;
    case OperandClass::wide:
      out[i] = random.next();
      break;
    case OperandClass::cancelling:
      out[i] = i % 2 == 0 ? random.next() : 0 - out[i - 1];
      break;
    case OperandClass::subnormal:
      out[i] = random.below(3) - 1;
      break;
    case OperandClass::special:
      out[i] = ends[random.below(5)];
      break;
    }
    out[i] &= mask;
  }
  return out;
}

} // namespace lemma::numeric
