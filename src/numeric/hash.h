// Fixed hashes and generators: a 128-bit hash of bytes, seeded random numbers, and operands of the kinds that
// make arithmetic go wrong. Recorded hardware bits are named by them, so what they return for a seed never
// changes.
//
// Not for security. Tests: tests/unit/numeric/hash_test.cc (known answers).
#pragma once

#include "numeric/format.h"

#include <string>
#include <vector>

namespace lemma::numeric {

struct Hash128 {
  uint64_t low = 0;
  uint64_t high = 0;
  friend bool operator==(const Hash128&, const Hash128&) = default;
};

// MurmurHash3_x64_128 (Austin Appleby, public domain), the same on every host.
Hash128 hash128(const void* data, size_t size_bytes, uint32_t seed = 0);
// 32 lower-case hexadecimal digits, `low` first.
std::string to_string(const Hash128& hash);

// One step of splitmix64 (Steele, Lea, Flood 2014): advances `state` and returns its next number.
uint64_t splitmix64(uint64_t& state);

// xoshiro256** (Blackman, Vigna 2018), its state filled by splitmix64 from the seed.
class Random {
public:
  explicit Random(uint64_t seed);
  Random(uint64_t s0, uint64_t s1, uint64_t s2, uint64_t s3) : state_{s0, s1, s2, s3} {}
  uint64_t next();
  uint64_t bits(int count) { return count == 0 ? 0 : next() >> (64 - count); }
  // Uniform in [0, bound), bound > 0; by multiplication, so its bias is below 2^-32 for bounds under 2^32.
  uint64_t below(uint64_t bound);

private:
  uint64_t state_[4];
};

enum class OperandClass : uint8_t {
  ordinary,   // magnitudes near one: exponents within 2 of the bias, random fraction and sign
  wide,       // uniform bit patterns without NaN and infinity, so every exponent alike
  cancelling, // pairs x, -x with the last fraction bit of the second random: sums that nearly vanish
  subnormal,  // half subnormals, half among the smallest normal numbers
  special,    // zeros, infinities, NaNs with random payloads, the largest finite and the smallest normal and
              // subnormal numbers, ones, and a quarter `wide`
};
inline constexpr OperandClass kAllOperandClasses[] = {OperandClass::ordinary, OperandClass::wide,
                                                      OperandClass::cancelling, OperandClass::subnormal,
                                                      OperandClass::special};
std::string_view to_string(OperandClass operand_class);

// `count` bit patterns of the class, each in the low bits of its word.
std::vector<uint64_t> operands(FloatFormat format, OperandClass operand_class, Random& random, size_t count);
// Integers: `ordinary` within +-8, `wide` uniform, `cancelling` pairs x, -x, `subnormal` 0 and +-1, `special`
// the ends of the range, zero and ones.
std::vector<uint64_t> operands(IntegerFormat format, OperandClass operand_class, Random& random,
                               size_t count);

} // namespace lemma::numeric
