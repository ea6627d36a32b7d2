// The approximate functions against checksums of an H200's outputs: tests/golden/mufu/checksums.csv has, for
// 21 forms and each block of 2^23 inputs (their upper 9 bits), the sum of mix(input << 32 | output). Inputs
// of pairs of 16-bit elements are both elements; of f64 forms, whose lower words do not count, inputs and
// outputs are the upper words.
//
// Here every form runs over blocks that reach every row of its table, at every level of the host. With
// LEMMA_MUFU_ALL=1 in the environment (make test-long) it runs over all 2^32 inputs.
#include "numeric/arithmetic.h"
#include "numeric/dot_levels.h"
#include "numeric/mufu.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

namespace lemma::numeric {
namespace {

constexpr uint32_t kBlocks = 512;
constexpr int kBlockBits = 23;

enum class Elements { f32, pairs, upper_words };
struct Checked {
  const char* name; // in checksums.csv
  Mufu form;
  Elements elements;
  std::vector<uint32_t> blocks; // which reach every row of its table
};

// Of f32 forms sign and exponent. 1 to 2 has every mantissa; roots have a half of their table for even and
// one for odd exponents; 4 to 8 is more than a turn; tanh has segments in 11 binades. Beside those, blocks of
// subnormal, large, negative and special numbers.
const std::vector<uint32_t> kMantissas = {0, 127, 254, 511};
const std::vector<uint32_t> kRoots = {0, 127, 128, 383};
const std::vector<uint32_t> kWaves = {129, 511};
const std::vector<uint32_t> kPowers = {127, 255, 383, 389};
const std::vector<uint32_t> kBinades = {0, 119, 120, 121, 122, 123, 124, 125, 126, 127, 128, 129, 511};
const std::vector<uint32_t> kPairs = {127};
const std::vector<uint32_t> kUpperWords = {127, 400};

const std::vector<Checked> kChecked = {
    {"rcp", Mufu::rcp_f32, Elements::f32, kMantissas},
    {"rcp_ftz", Mufu::rcp_ftz_f32, Elements::f32, kMantissas},
    {"sqrt", Mufu::sqrt_f32, Elements::f32, kRoots},
    {"sqrt_ftz", Mufu::sqrt_ftz_f32, Elements::f32, kRoots},
    {"rsq", Mufu::rsqrt_f32, Elements::f32, kRoots},
    {"rsq_ftz", Mufu::rsqrt_ftz_f32, Elements::f32, kRoots},
    {"ex2", Mufu::ex2_f32, Elements::f32, kPowers},
    {"ex2_ftz", Mufu::ex2_ftz_f32, Elements::f32, kPowers},
    {"lg2", Mufu::lg2_f32, Elements::f32, kMantissas},
    {"lg2_ftz", Mufu::lg2_ftz_f32, Elements::f32, kMantissas},
    {"sin", Mufu::sin_f32, Elements::f32, kWaves},
    {"sin_ftz", Mufu::sin_f32, Elements::f32, kWaves},
    {"cos", Mufu::cos_f32, Elements::f32, kWaves},
    {"cos_ftz", Mufu::cos_f32, Elements::f32, kWaves},
    {"tanh", Mufu::tanh_f32, Elements::f32, kBinades},
    {"ex2_f16x2", Mufu::ex2_f16, Elements::pairs, kPairs},
    {"ex2_bf16x2", Mufu::ex2_ftz_bf16, Elements::pairs, kPairs},
    {"tanh_f16x2", Mufu::tanh_f16, Elements::pairs, kPairs},
    {"tanh_bf16x2", Mufu::tanh_bf16, Elements::pairs, kPairs},
    {"rcp64", Mufu::rcp_ftz_f64, Elements::upper_words, kUpperWords},
    {"rsq64", Mufu::rsqrt_ftz_f64, Elements::upper_words, kUpperWords},
};

// splitmix64.
uint64_t mix(uint64_t z) {
  z += 0x9e3779b97f4a7c15;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
  z = (z ^ z >> 27) * 0x94d049bb133111eb;
  return z ^ z >> 31;
}

using Checksums = std::map<std::string, std::array<uint64_t, kBlocks>>;
const Checksums& checksums() {
  static const Checksums sums = [] {
    Checksums read;
    std::ifstream file(LEMMA_GOLDEN "/mufu/checksums.csv");
    std::string op, block, sum;
    std::getline(file, op); // the heading
    while (std::getline(file, op, ',') && std::getline(file, block, ',') && std::getline(file, sum))
      if (block != "total")
        read[op].at(std::stoul(block)) = std::stoull(sum, nullptr, 16);
    return read;
  }();
  return sums;
}

using Outputs = std::vector<uint32_t>;

void evaluate(const Checked& checked, const Outputs& in, Outputs& out) {
  if (checked.elements != Elements::upper_words) {
    const size_t per_word = checked.elements == Elements::pairs ? 2 : 1;
    mufu(checked.form, in.data(), nullptr, out.data(), per_word * in.size());
    return;
  }
  std::vector<uint64_t> wide(in.size());
  for (size_t i = 0; i < in.size(); ++i)
    wide[i] = uint64_t{in[i]} << 32;
  mufu(checked.form, wide.data(), nullptr, wide.data(), wide.size());
  for (size_t i = 0; i < in.size(); ++i) {
    EXPECT_EQ(wide[i] & 0xffffffff, 0u);
    out[i] = static_cast<uint32_t>(wide[i] >> 32);
  }
}

// Of a block, with `evaluate(in, out)`.
template <class Evaluate>
uint64_t checksum(uint32_t block, Evaluate evaluate) {
  constexpr uint32_t kPiece = 4096;
  Outputs in(kPiece), out(kPiece);
  uint64_t sum = 0;
  for (uint32_t begin = 0; begin < 1u << kBlockBits; begin += kPiece) {
    for (uint32_t i = 0; i < kPiece; ++i)
      in[i] = (block << kBlockBits) + begin + i;
    evaluate(in, out);
    for (uint32_t i = 0; i < kPiece; ++i)
      sum += mix(uint64_t{in[i]} << 32 | out[i]);
  }
  return sum;
}
uint64_t checksum(const Checked& checked, uint32_t block) {
  return checksum(block, [&](const Outputs& in, Outputs& out) { evaluate(checked, in, out); });
}

bool all_inputs() {
  const char* set = std::getenv("LEMMA_MUFU_ALL");
  return set && std::string(set) == "1";
}

TEST(Mufu, ChecksumsOfTheHardware) {
  ASSERT_EQ(checksums().size(), kChecked.size());
  for (const Checked& checked : kChecked) {
    const auto& sums = checksums().at(checked.name);
    std::vector<uint32_t> blocks = checked.blocks;
    if (all_inputs()) {
      blocks.resize(kBlocks);
      for (uint32_t i = 0; i < kBlocks; ++i)
        blocks[i] = i;
    }
    int differ = 0;
    for (const uint32_t block : blocks)
      if (checksum(checked, block) != sums[block] && ++differ <= 3)
        ADD_FAILURE() << checked.name << ": block " << block << " is not the hardware's";
  }
}

// Whether every level gives the bits of the lowest, of words that `word(i)` gives.
template <class Word>
void expect_levels_agree(Mufu form, Word word) {
  using namespace internal;
  const DotLevel before = dot_level();
  constexpr size_t kCount = 32 * 1024 + 13; // leaves a tail
  std::vector<uint64_t> a(kCount), b(kCount), want(kCount), got(kCount);
  for (size_t i = 0; i < kCount; ++i) {
    a[i] = word(2 * i) | uint64_t{word(2 * i + 1)} << 32;
    b[i] = word(2 * (i + kCount)) | uint64_t{word(2 * (i + kCount) + 1)} << 32;
  }
  set_dot_level(DotLevel::scalar);
  mufu(form, a.data(), b.data(), want.data(), kCount);
  int ran = 0;
  for (const DotLevel level : dot_levels()) {
    set_dot_level(level);
    mufu(form, a.data(), b.data(), got.data(), kCount);
    EXPECT_EQ(got, want) << to_string(form) << " at " << to_string(level);
    ++ran;
  }
  set_dot_level(before);
  EXPECT_GE(ran, 1);
}

// Of radians they are those of turns: of the product with 1 / (2 pi), cut.
TEST(Mufu, SineAndCosineOfTurns) {
  constexpr size_t kCount = 1 << 16;
  Outputs radians(kCount), turns(kCount), of_radians(kCount), of_turns(kCount);
  for (size_t i = 0; i < kCount; ++i) {
    radians[i] = static_cast<uint32_t>(mix(i));
    turns[i] =
        static_cast<uint32_t>(mul(FloatFormat::f32, radians[i], 0x3e22f983, {.rounding = Rounding::rz}));
  }
  for (const auto& [radian, turn] :
       {std::pair{Mufu::sin_f32, Mufu::sin_turns_f32}, std::pair{Mufu::cos_f32, Mufu::cos_turns_f32}}) {
    mufu(radian, radians.data(), nullptr, of_radians.data(), kCount);
    mufu(turn, turns.data(), nullptr, of_turns.data(), kCount);
    EXPECT_EQ(of_radians, of_turns);
  }
}

TEST(Mufu, LevelsAgree) {
  for (int f = 0; f < kMufuForms; ++f)
    expect_levels_agree(static_cast<Mufu>(f), [](size_t i) { return static_cast<uint32_t>(mix(i)); });
}

// Numbers of one sign from 2^-7 to 2^8, for which there are shorter ways; in some of 32 is one that is any.
TEST(Mufu, LevelsAgreeOnOrdinaryNumbers) {
  for (const uint32_t sign : {0u, 0x80000000u})
    for (int f = 0; f < kMufuForms; ++f)
      expect_levels_agree(static_cast<Mufu>(f), [&](size_t i) {
        const auto any = static_cast<uint32_t>(mix(i));
        return i % 97 == 5 ? any : sign | (0x3c000000 + (any & 0x07ffffff));
      });
}

// --- The checksums can fail: ex2 written down a second time, and spoilt ---

struct Defect {
  int row = -1;                // of the table, one of whose
  std::array<int, 3> change{}; // coefficients is changed
  bool carries = false;        // the squarer keeps the carries of the columns that it drops
};

// The sum of the partial products of x from column 18 on, in units of 2^19.
std::vector<uint16_t> squares() {
  std::vector<uint16_t> all(1 << 17);
  for (int x = 0; x < 1 << 17; ++x) {
    int64_t kept = 0;
    for (int i = 0; i < 17; ++i)
      for (int j = 0; j < 17; ++j)
        if ((x >> i & 1) != 0 && (x >> j & 1) != 0 && i + j >= 18)
          kept += int64_t{1} << (i + j);
    all[static_cast<size_t>(x)] = static_cast<uint16_t>(kept >> 19);
  }
  return all;
}

// V of the row.
int64_t interpolate(const int64_t* c, int64_t x, bool carries) {
  static const std::vector<uint16_t> kept = squares();
  const int64_t squared = carries ? x * x >> 19 : kept[static_cast<size_t>(x)];
  return (c[0] << 13) + c[1] * x + c[2] * squared + 0x77e2;
}

// ex2.approx.ftz.f32 of a number in [1, 2) or (-2, -1].
uint32_t ex2(uint32_t a, const Defect& defect) {
  static constexpr int64_t kTable[] = {
#include "numeric/mufu/ex2.inc"
  };
  uint32_t fraction = a & 0x7fffff;
  int exponent = 1;
  if (a >> 31 != 0) {
    exponent = fraction != 0 ? -2 : -1;
    fraction = fraction != 0 ? ~fraction & 0x7fffff : 0;
  }
  const auto row = static_cast<int>(fraction >> 17);
  std::array<int64_t, 3> c{kTable[3 * row], kTable[3 * row + 1], kTable[3 * row + 2]};
  for (size_t i = 0; row == defect.row && i < 3; ++i)
    c[i] += defect.change[i];
  const int64_t significand = interpolate(c.data(), fraction & 0x1ffff, defect.carries) >> 15;
  return static_cast<uint32_t>(((exponent + 127) << 23) + (significand - (1 << 23)));
}

uint64_t ex2_checksum(uint32_t block, const Defect& defect) {
  return checksum(block, [&](const Outputs& in, Outputs& out) {
    for (size_t i = 0; i < in.size(); ++i)
      out[i] = ex2(in[i], defect);
  });
}

TEST(Mufu, ChecksumsFindADefect) {
  const uint64_t positive = checksums().at("ex2_ftz")[127], negative = checksums().at("ex2_ftz")[383];
  EXPECT_EQ(ex2_checksum(127, {}), positive);
  EXPECT_EQ(ex2_checksum(383, {}), negative);
  EXPECT_NE(ex2_checksum(127, {.carries = true}), positive);
  for (const int row : {0, 29, 63})
    for (size_t i = 0; i < 3; ++i)
      for (const int change : {-1, 1}) {
        Defect defect{.row = row};
        defect.change[i] = change;
        EXPECT_NE(ex2_checksum(127, defect), positive) << "row " << row << ", C" << i;
      }
}

// Rounded to nearest, the results of 16 bits are others.
TEST(Mufu, ChecksumsFindRounding) {
  const auto rounded = [](const Outputs& in, Outputs& out) {
    for (size_t i = 0; i < in.size(); ++i) {
      out[i] = 0;
      for (int half = 0; half < 2; ++half) {
        const uint32_t a = in[i] >> (16 * half) << 16;
        uint32_t d = 0;
        mufu(Mufu::ex2_ftz_f32, &a, nullptr, &d, 1);
        out[i] |= ((d + 0x7fff + (d >> 16 & 1)) >> 16) << (16 * half);
      }
    }
  };
  EXPECT_NE(checksum(127, rounded), checksums().at("ex2_bf16x2")[127]);
}

// --- Pairs, numbers of 64 bits and the scalar 16-bit forms: pairs.csv, which record_pairs.cu makes ---

constexpr uint32_t kPieceBits = 20;

uint32_t with_exponent(uint32_t bits, int exponent) {
  return (bits & 0x807fffff) | static_cast<uint32_t>(std::clamp(exponent, 0, 255)) << 23;
}

// The operands b << 32 | a of a division, as in record_pairs.cu.
uint64_t make_pair(int kind, uint64_t index) {
  const uint64_t r = mix(index), s = mix(r);
  auto a = static_cast<uint32_t>(r), b = static_cast<uint32_t>(r >> 32);
  const int near = static_cast<int>(s % 9) - 4, exponent = static_cast<int>(a >> 23 & 0xff);
  constexpr uint32_t kSpecials[] = {0,          1,          0x007fffff, 0x00800000,
                                    0x3f800000, 0x7f7fffff, 0x7f800000, 0x7fc00001};
  switch (kind) {
  case 1:
    b = with_exponent(b, exponent + near);
    break;
  case 2:
    b = with_exponent(b, 128 + exponent % 127);
    a = with_exponent(a, 128 + exponent % 127 - 126 + near);
    break;
  case 3:
    b = with_exponent(b, 255 - static_cast<int>(s % 5));
    break;
  case 4:
    b = with_exponent(b, static_cast<int>(s % 5));
    break;
  case 5:
    a = (a & 0x80000000) | kSpecials[s & 7];
    b = (s >> 8 & 1) != 0 ? (b & 0x80000000) | kSpecials[s >> 3 & 7] : b;
    break;
  default:
    break;
  }
  return uint64_t{b} << 32 | a;
}
uint64_t make_double(int kind, uint64_t index) {
  const uint64_t r = mix(index), s = mix(r);
  constexpr uint64_t kUpper[] = {0x7ff, 0xfff, 0x000, 0x800};
  if (kind == 0)
    return r;
  if (kind == 1)
    return (r & ~(uint64_t{0xfff} << 52)) | (1023 + (s & 1)) << 52;
  return (r & ((s & 7) != 0 ? ~uint64_t{0} >> 12 : 0)) | kUpper[kind - 2] << 52;
}

// The sum over a piece of mix(mix(operands) ^ result).
uint64_t piece_sum(Mufu form, int kind, uint64_t piece) {
  const bool is_half = form >= Mufu::ex2_f16 && form <= Mufu::tanh_bf16;
  const uint64_t count = is_half ? 1u << 16 : 1u << kPieceBits;
  std::vector<uint64_t> operands(count), results(count);
  for (uint64_t i = 0; i < count; ++i)
    operands[i] = is_half                   ? i
                  : form == Mufu::rsqrt_f64 ? make_double(kind, piece << kPieceBits | i)
                                            : make_pair(kind, piece << kPieceBits | i);
  const auto run = [&]<class T>(T) {
    std::vector<T> a(count), b(count);
    for (uint64_t i = 0; i < count; ++i) {
      a[i] = static_cast<T>(operands[i]);
      b[i] = static_cast<T>(operands[i] >> 32);
    }
    mufu(form, a.data(), b.data(), a.data(), count);
    std::copy(a.begin(), a.end(), results.begin());
  };
  if (is_half)
    run(uint16_t{});
  else if (form == Mufu::rsqrt_f64)
    run(uint64_t{});
  else
    run(uint32_t{});
  uint64_t sum = 0;
  for (uint64_t i = 0; i < count; ++i)
    sum += mix(mix(operands[i]) ^ results[i]);
  return sum;
}

TEST(Mufu, PairsAndNumbersOfTheHardware) {
  std::ifstream file(LEMMA_GOLDEN "/mufu/pairs.csv");
  std::string name, kind, piece, sum;
  std::getline(file, name); // the heading
  int compared = 0;
  while (std::getline(file, name, ',') && std::getline(file, kind, ',') && std::getline(file, piece, ',') &&
         std::getline(file, sum)) {
    if (piece != "0" && !all_inputs())
      continue;
    int form = 0;
    while (form < kMufuForms && to_string(static_cast<Mufu>(form)) != name)
      ++form;
    ASSERT_LT(form, kMufuForms) << name;
    EXPECT_EQ(piece_sum(static_cast<Mufu>(form), std::stoi(kind), std::stoull(piece)),
              std::stoull(sum, nullptr, 16))
        << name << ", kind " << kind << ", piece " << piece;
    ++compared;
  }
  EXPECT_GE(compared, 4 * 6 + 6 + 4);
}

// The quotient is 2^-126 - 0.46 * 2^-151, from the unit's reciprocal: it rounds up to 2^-126, and is not
// flushed. Of pairs.csv, kind 2, piece 18.
TEST(Mufu, FlushesAfterRounding) {
  const uint32_t a = 0x97fb05f6, b = 0x56fb05f6;
  for (const Mufu form : {Mufu::div_ftz_f32, Mufu::div_full_ftz_f32}) {
    uint32_t d = 0;
    mufu(form, &a, &b, &d, 1);
    EXPECT_EQ(d, 0x80800000) << to_string(form);
  }
}

// --- Divisions by a constant: what ptxas 13.0 makes of them for sm_90a ---

struct ConstantDivision {
  Mufu form;
  uint32_t divisor;
  float scale, reciprocal; // by which its code multiplies, one after the other
};
const ConstantDivision kConstantDivisions[] = {
    {Mufu::div_full_f32, 0x40400000, 1, 0.3333333432674407959f},
    {Mufu::div_full_f32, 0xc0400000, 1, -0.3333333432674407959f},
    {Mufu::div_full_f32, 0x00000000, 16777216, INFINITY},
    {Mufu::div_full_f32, 0x00000001, 16777216, 4.25352958651173079329e+37f},
    {Mufu::div_full_f32, 0x007fffff, 16777216, 5.07060300537582741330e+30f},
    {Mufu::div_full_f32, 0x00ffffff, 1, 4.25353009357197088458e+37f},
    {Mufu::div_full_f32, 0x7e7fffff, 1, 1.1754944909521339405e-38f},
    {Mufu::div_full_f32, 0x7e800001, 0.25f, 4.7019768427697643019e-38f},
    {Mufu::div_full_f32, 0x7f7fffff, 0.25f, 1.1754944909521339405e-38f},
    {Mufu::div_full_f32, 0x7f800000, 0.25f, 0},
    {Mufu::div_full_f32, 0xff800000, 0.25f, -0.0f},
    {Mufu::div_f32, 0x3f8ccccd, 1, 1 / std::bit_cast<float>(0x3f8ccccd)},
    {Mufu::div_f32, 0x00400000, 16777216, 1.01412048018258352120e+31f},
    {Mufu::div_f32, 0x7e800001, 1, 0},
    {Mufu::div_ftz_f32, 0x40400000, 1, 0.3333333432674407959f},
    {Mufu::div_ftz_f32, 0x007fffff, 1, INFINITY},
    {Mufu::div_ftz_f32, 0x7f7fffff, 1, 0},
    {Mufu::div_full_ftz_f32, 0x80000000, 1, -INFINITY},
    {Mufu::div_full_ftz_f32, 0x7e800001, 0.25f, 4.7019768427697643019e-38f},
};

TEST(Mufu, DivisionsByConstants) {
  const auto flush = [](float value) {
    return std::fpclassify(value) == FP_SUBNORMAL ? std::copysign(0.0f, value) : value;
  };
  for (const ConstantDivision& c : kConstantDivisions) {
    const bool ftz = c.form == Mufu::div_ftz_f32 || c.form == Mufu::div_full_ftz_f32;
    for (const float a : {1.0f, -7.25f, 3.0e38f, 1.1754944e-38f, 1.0e-41f, 0.0f, INFINITY, NAN, 0.1f}) {
      const auto bits = std::bit_cast<uint32_t>(a);
      uint32_t got = 0;
      mufu(by_constant(c.form), &bits, &c.divisor, &got, 1);
      const float scaled = ftz ? flush(flush(a) * c.scale) : a * c.scale;
      const float quotient = ftz ? flush(scaled * c.reciprocal) : scaled * c.reciprocal;
      EXPECT_EQ(got, std::isnan(quotient) ? 0x7fffffff : std::bit_cast<uint32_t>(quotient))
          << to_string(by_constant(c.form)) << ": " << a << " / 0x" << std::hex << c.divisor;
    }
  }
  EXPECT_EQ(by_constant(Mufu::ex2_f32), Mufu::ex2_f32);
}

} // namespace
} // namespace lemma::numeric
