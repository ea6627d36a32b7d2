// Several products on the same accumulators as one that is deeper (chainable(), longest_chain()): the same
// bits as one after the other by the scalar code, at every level of the host's vector instructions, for every
// class of operands, C and D in rows and in the registers' blocks, A and B too.
#include "numeric/dot.h"
#include "numeric/dot_levels.h"
#include "numeric/hash.h"
#include "register_blocks.h"

#include <gtest/gtest.h>

#include <cstring>

namespace lemma::numeric {
namespace {

using enum FloatFormat;
using internal::DotLevel;
using Bytes = std::vector<std::byte>;

constexpr int kRows = 64, kColumns = 64, kRowBytes = 32; // of A and B in one product

// What lies in registers' blocks; in the last case D in others than C.
enum class InBlocks { nothing, c_and_d, everything, everything_even_first };

// A and B of one product after the other, each [row][32 bytes]; C.
struct Chain {
  DotModel model; // of one product
  int k = 0;      // of one
  std::vector<Bytes> a, b;
  Bytes c;

  size_t d_bytes() const { return c.size() / (kRows * kColumns); }

  // One after the other, by the scalar code.
  Bytes expected() const {
    internal::set_dot_level(DotLevel::scalar);
    const DotPlan plan(model, {kRows, kColumns, k});
    DotScratch scratch;
    Bytes d = c;
    for (size_t i = 0; i < a.size(); ++i) {
      const Bytes before = d;
      dot(plan, {.a = a[i].data(), .b = b[i].data(), .c = before.data(), .d = d.data()}, scratch);
    }
    return d;
  }

  Bytes together(DotLevel level, InBlocks in_blocks, bool arranges_b) const {
    internal::set_dot_level(level);
    const auto joined = [&](const std::vector<Bytes>& parts, int rows) {
      Bytes out;
      for (int row = 0; row < rows; ++row)
        for (const Bytes& part : parts)
          out.insert(out.end(), part.begin() + row * kRowBytes, part.begin() + (row + 1) * kRowBytes);
      return out;
    };
    const Bytes whole_a = joined(a, kRows), whole_b = joined(b, kColumns);
    Bytes d(c.size());
    const bool of_f64 = model.d == f64;
    RegisterBlocks blocks(kRows, kColumns * d_bytes(), of_f64);
    blocks.load(c.data());
    DotTile tile{.a = whole_a.data(), .b = whole_b.data()};
    DotLayout layout;
    RegisterBlocks a_blocks(kRows, a.size() * kRowBytes, of_f64),
        b_blocks(kColumns, a.size() * kRowBytes, of_f64);
    if (in_blocks >= InBlocks::everything) {
      layout.even_columns_first = in_blocks == InBlocks::everything_even_first;
      const Bytes b_rows = layout.even_columns_first ? in_order(whole_b) : whole_b;
      a_blocks.load(whole_a.data());
      b_blocks.load(b_rows.data());
      tile.a = a_blocks.blocks();
      tile.b = b_blocks.blocks();
    }
    RegisterBlocks c_blocks(kRows, kColumns * d_bytes(), of_f64);
    c_blocks.load(c.data());
    if (in_blocks != InBlocks::nothing) {
      layout.blocks = in_blocks == InBlocks::c_and_d ? DotBlocks::outputs : DotBlocks::all;
      tile.d = blocks.blocks();
      tile.c = (in_blocks == InBlocks::everything_even_first ? c_blocks : blocks).blocks();
    } else {
      tile.c = c.data();
      tile.d = d.data();
    }
    const DotPlan plan(chainable(model, k), {kRows, kColumns, k * static_cast<int>(a.size())}, layout);
    ArrangedB arranged;
    if (arranges_b) {
      arranged.arrange(plan, tile);
      tile.arranged_b = &arranged;
    }
    DotScratch scratch;
    const MatrixOutputs paths = dot(plan, tile, scratch);
    EXPECT_EQ(paths.total(), static_cast<uint64_t>(kRows * kColumns));
    if (in_blocks != InBlocks::nothing)
      blocks.store(d.data());
    return d;
  }

  // Rows of B, of every eight the even ones first, as they are in the blocks of such a tile.
  Bytes in_order(const Bytes& b_rows) const {
    const size_t row_bytes = b_rows.size() / kColumns;
    Bytes out(b_rows.size());
    for (size_t row = 0; row < kColumns; ++row) {
      const size_t from = row / 8 * 8 + row % 8 / 2 + row % 2 * 4;
      std::memcpy(&out[row * row_bytes], &b_rows[from * row_bytes], row_bytes);
    }
    return out;
  }

  void check(const std::string& what) const {
    const Bytes wanted = expected();
    for (const DotLevel level : internal::dot_levels())
      for (const InBlocks in_blocks :
           {InBlocks::nothing, InBlocks::c_and_d, InBlocks::everything, InBlocks::everything_even_first})
        for (const bool arranges_b : {false, true}) {
          if (arranges_b && in_blocks >= InBlocks::everything)
            continue; // who arranges has B in rows
          EXPECT_EQ(together(level, in_blocks, arranges_b), wanted)
              << what << ", " << a.size() << " products, level " << to_string(level) << ", in blocks "
              << static_cast<int>(in_blocks) << (arranges_b ? ", B arranged" : "");
        }
    internal::set_dot_level(internal::dot_levels().back());
  }
};

Bytes packed(FloatFormat format, OperandClass operand_class, Random& random, size_t bytes) {
  const auto element = static_cast<size_t>(std::max(traits(format).storage_bits / 8, 1));
  Bytes out(bytes);
  const std::vector<uint64_t> values = operands(format, operand_class, random, bytes / element);
  for (size_t i = 0; i < values.size(); ++i)
    std::memcpy(&out[i * element], &values[i], element);
  return out;
}

// Every class of operands in chains of products of one machine's model; how many chains that were.
size_t check_floats(Arch arch, DotUnit unit, FloatFormat format, FloatFormat d, Random& random) {
  const int k = kRowBytes / std::max(traits(format).storage_bits / 8, 1);
  const auto model = dot_model(arch, unit, format, format, d, d, k);
  if (!model)
    return 0;
  const int longest = longest_chain(chainable(*model, k), k);
  EXPECT_GE(longest, 2) << to_string(format) << " " << to_string(d);
  size_t chains = 0;
  for (const OperandClass operand_class : kAllOperandClasses)
    for (const int length : {2, std::min(longest, 4)}) {
      Chain chain{.model = *model, .k = k, .a = {}, .b = {}, .c = {}};
      for (int i = 0; i < length; ++i) {
        chain.a.push_back(packed(format, operand_class, random, kRows * kRowBytes));
        chain.b.push_back(packed(format, operand_class, random, kColumns * kRowBytes));
      }
      const auto d_bytes = static_cast<size_t>(traits(d).storage_bits / 8);
      chain.c = packed(d, operand_class, random, kRows * kColumns * d_bytes);
      chain.check(std::string(to_string(format)) + " to " + std::string(to_string(d)) + " " +
                  std::string(to_string(operand_class)));
      ++chains;
    }
  return chains;
}

TEST(DotChain, FloatsAreTheSameBits) {
  Random random(21);
  size_t chains = 0;
  for (const FloatFormat format : {f16, bf16, tf32, FloatFormat::e4m3, FloatFormat::e5m2})
    for (const FloatFormat d : {f32, f16})
      chains += check_floats(Arch::sm_90, DotUnit::wgmma, format, d, random);
  EXPECT_GT(chains, 50u);
}

// Whose steps are shorter, so that no sum wraps.
TEST(DotChain, ShortStepsAreTheSameBits) {
  Random random(23);
  size_t chains = 0;
  for (const FloatFormat format : {f16, bf16, tf32})
    chains += check_floats(Arch::sm_80, DotUnit::mma, format, f32, random);
  EXPECT_GT(chains, 20u);
}

// NaNs, of which the host's are others, among them.
TEST(DotChain, ChainsOfF64AreTheSameBits) {
  Random random(24);
  EXPECT_EQ(check_floats(Arch::sm_90, DotUnit::mma, f64, f64, random), 10u);
}

// Sums that saturate, too: after each product. C is anything, or far from the ends of its range.
TEST(DotChain, IntegersAreTheSameBits) {
  Random random(22);
  const auto bytes = [&](size_t count) {
    Bytes out(count);
    for (std::byte& byte : out)
      byte = static_cast<std::byte>(random.next());
    return out;
  };
  for (const IntegerFormat a : {IntegerFormat::u8, IntegerFormat::s8})
    for (const IntegerFormat b : {IntegerFormat::u8, IntegerFormat::s8})
      for (const bool satfinite : {false, true})
        for (const bool far_from_ends : {false, true})
          for (const int length : {1, 2, 3, 4}) {
            Chain chain{
                .model = dot_model_integer(a, b, satfinite), .k = kRowBytes, .a = {}, .b = {}, .c = {}};
            ASSERT_EQ(longest_chain(chainable(chain.model, chain.k), chain.k), 4);
            for (int i = 0; i < length; ++i) {
              chain.a.push_back(bytes(kRows * kRowBytes));
              chain.b.push_back(bytes(kColumns * kRowBytes));
            }
            chain.c = bytes(kRows * kColumns * sizeof(int32_t));
            for (size_t at = 0; at < chain.c.size(); at += sizeof(int32_t)) {
              int32_t c;
              std::memcpy(&c, &chain.c[at], sizeof c);
              // Else near an end, which some sums reach and come back from.
              c = far_from_ends ? c >> 2 : (c >> 31 ^ INT32_MAX) - (c >> 12 & 0x3ffff);
              std::memcpy(&chain.c[at], &c, sizeof c);
            }
            chain.check(std::string(to_string(a)) + " by " + std::string(to_string(b)) +
                        (satfinite ? ", saturating" : ""));
          }
}

// Saturated sums without a step, C wider or narrower than D, scales and two-step rules do not go on where
// another ended.
TEST(DotChain, OtherModelsAreNone) {
  EXPECT_EQ(longest_chain(dot_model_integer(IntegerFormat::s8, IntegerFormat::s8, true), 32), 1);
  const auto widening = *dot_model(Arch::sm_90, DotUnit::mma, f16, f16, f16, f32, 16);
  EXPECT_EQ(longest_chain(chainable(widening, 16), 16), 1);
  EXPECT_EQ(longest_chain(dot_model_bits(DotScheme::xor_popc), 128), 1);
}

} // namespace
} // namespace lemma::numeric
