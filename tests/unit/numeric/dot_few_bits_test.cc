// Operands of few bits, for which the vector loops have ways of their own, at every level of the host against
// the scalar code, C and D in rows and in registers' blocks.
//
// Whole multiples of powers of two, up to the limit and beyond it, whose sums the rule does not cut
// (dot_floats_exact.inc); some accumulators are as they may not be. And the 8-bit formats where the rule
// keeps 13 fraction bits (dot_floats_coarse.inc): products that are cut and that need it not, of both signs,
// under accumulators of all sizes.
#include "numeric/convert.h"
#include "numeric/dot.h"
#include "numeric/dot_levels.h"
#include "numeric/hash.h"
#include "register_blocks.h"

#include "host_float.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>

namespace lemma::numeric {
namespace {

using enum FloatFormat;
using internal::DotLevel;
using Bytes = std::vector<std::byte>;

size_t bytes_of(FloatFormat format) {
  return static_cast<size_t>(std::max(traits(format).storage_bits / 8, 1));
}

// Whole multiples of 2^unit below 2^(unit + bits) in magnitude.
struct Multiples {
  int unit = 0, bits = 1;
  enum class Kind : uint8_t { any, largest, largest_positive, sparse } kind = Kind::any;

  double draw(FloatFormat format, Random& random) const {
    const int significant = std::min(bits, traits(format).mantissa_bits + 1);
    uint64_t whole = random.bits(significant) << random.below(static_cast<uint64_t>(bits - significant + 1));
    if (kind == Kind::largest || kind == Kind::largest_positive)
      whole = ((uint64_t{1} << significant) - 1) << (bits - significant);
    if (kind == Kind::sparse && random.bits(2) != 0)
      whole = 0;
    const bool negative = kind != Kind::largest_positive && random.bits(1) != 0;
    return std::ldexp(static_cast<double>(whole) * (negative ? -1 : 1), unit); // zeros of both signs
  }
};

Bytes draw_all(const Multiples& multiples, FloatFormat format, Random& random, size_t count) {
  Bytes out(count * bytes_of(format));
  for (size_t i = 0; i < count; ++i) {
    const uint64_t bits = convert_float(format, f64, bits_of(multiples.draw(format, random)));
    std::memcpy(&out[i * bytes_of(format)], &bits, bytes_of(format));
  }
  return out;
}

struct Product {
  DotModel model;
  int m = 0, n = 0, k = 0;
  Bytes a, b, c;

  Bytes run(DotLevel level, bool in_blocks) const {
    internal::set_dot_level(level);
    Bytes d(static_cast<size_t>(m * n) * bytes_of(model.d));
    DotTile tile{.a = a.data(), .b = b.data()};
    RegisterBlocks c_blocks(static_cast<size_t>(m), static_cast<size_t>(n) * bytes_of(model.c));
    RegisterBlocks d_blocks(static_cast<size_t>(m), static_cast<size_t>(n) * bytes_of(model.d));
    if (in_blocks) {
      c_blocks.load(c.data());
      tile.c = c_blocks.blocks();
      tile.d = d_blocks.blocks();
    } else {
      tile.c = c.data();
      tile.d = d.data();
    }
    const DotLayout layout{.blocks = in_blocks ? DotBlocks::outputs : DotBlocks::none};
    DotScratch scratch;
    dot(DotPlan(model, {m, n, k}, layout), tile, scratch);
    if (in_blocks)
      d_blocks.store(d.data());
    return d;
  }

  void check(const std::string& what) const {
    const Bytes expected = run(DotLevel::scalar, false);
    for (const DotLevel level : internal::dot_levels())
      for (const bool in_blocks : {false, bytes_of(model.c) == bytes_of(model.d)})
        ASSERT_EQ(run(level, in_blocks), expected) << what << " m" << m << "n" << n << "k" << k << ", level "
                                                   << to_string(level) << (in_blocks ? ", in blocks" : "");
    internal::set_dot_level(internal::dot_levels().back());
  }
};

// Accumulators that are no multiples, too large, or none of a number: some, so that others beside them are
// added.
void spoil(FloatFormat format, Random& random, Bytes& c) {
  for (int i = 0; i < 3; ++i) {
    const double values[] = {std::ldexp(1.0, -14), 1.5e4, -0.0, INFINITY, std::ldexp(1.0, -30), NAN, 1e30};
    const uint64_t bits = convert_float(format, f64, bits_of(values[random.below(std::size(values))]));
    std::memcpy(&c[random.below(c.size() / bytes_of(format)) * bytes_of(format)], &bits, bytes_of(format));
  }
}

// The bits that an accumulator has at a limit.
int limit_bits(const DotModel& model) {
  return std::min({model.fraction_bits, model.kept_fraction_bits + 1, model.d == f16 ? 11 : 24});
}

size_t check_model(const DotModel& model, int k, Random& random) {
  const int deep = longest_chain(chainable(model, k), k) >= 2 ? 2 * k : k;
  size_t products = 0;
  for (const auto& [m, n] : {std::pair{16, 8}, std::pair{16, 32}, std::pair{8, 80}})
    for (const int depth : {k, deep})
      for (int repeat = 0; repeat < 24; ++repeat) {
        using Kind = Multiples::Kind;
        const int depth_bits = std::bit_width(static_cast<unsigned>(depth - 1));
        // Of A and B together, from a few less than there may be to more.
        const int together = limit_bits(model) - depth_bits + 2 - static_cast<int>(random.below(8));
        const auto kind = static_cast<Kind>(random.below(4));
        Multiples a{.kind = kind}, b{.kind = kind};
        a.bits = 1 + static_cast<int>(random.below(static_cast<uint64_t>(std::clamp(together - 1, 1, 12))));
        b.bits = std::clamp(together - a.bits, 1, 13);
        const int least = traits(model.a).min_exponent() - traits(model.a).mantissa_bits;
        a.unit = std::max(least, -3 - static_cast<int>(random.below(5)));
        b.unit = std::max(traits(model.b).min_exponent() - traits(model.b).mantissa_bits,
                          -3 + static_cast<int>(random.below(4)));
        const Multiples c{.unit = a.unit + b.unit,
                          .bits = std::max(1, limit_bits(model) + 1 - static_cast<int>(random.below(4))),
                          .kind = kind};
        Product product{.model = depth == k ? model : chainable(model, k),
                        .m = m,
                        .n = n,
                        .k = depth,
                        .a = {},
                        .b = {},
                        .c = {}};
        product.a = draw_all(a, model.a, random, static_cast<size_t>(m * depth));
        product.b = draw_all(b, model.b, random, static_cast<size_t>(n * depth));
        product.c = draw_all(c, model.c, random, static_cast<size_t>(m * n));
        if (repeat % 4 == 3)
          spoil(model.c, random, product.c);
        product.check(std::string(to_string(model.a)) + " to " + std::string(to_string(model.d)) + " bits " +
                      std::to_string(a.bits) + " " + std::to_string(b.bits) + " " + std::to_string(c.bits));
        ++products;
      }
  return products;
}

TEST(DotFewBits, ExactSumsAreTheSameBits) {
  Random random(31);
  size_t products = 0;
  for (const Arch arch : {Arch::sm_70, Arch::sm_80, Arch::sm_89, Arch::sm_90, Arch::sm_120})
    for (const DotUnit unit : {DotUnit::mma, DotUnit::wgmma})
      for (const FloatFormat format : {f16, bf16, tf32, FloatFormat::e4m3, FloatFormat::e5m2})
        for (const auto& [c, d] : {std::pair{f32, f32}, std::pair{f16, f32}, std::pair{f16, f16}}) {
          const int k = format == tf32 ? 8 : traits(format).storage_bits == 8 ? 32 : 16;
          if (const auto model = dot_model(arch, unit, format, format, c, d, k))
            products += check_model(*model, k, random);
        }
  EXPECT_GT(products, 3000u);
}

// Elements of magnitudes that differ by up to `spread` powers of two, some zeros.
Bytes draw_bytes(FloatFormat format, int spread, Random& random, size_t count) {
  const FormatTraits& t = traits(format);
  const int top = static_cast<int>(t.max_finite() >> t.mantissa_bits);
  const int most = top - static_cast<int>(random.below(static_cast<uint64_t>(top - spread)));
  Bytes out(count);
  for (std::byte& byte : out) {
    const auto field = static_cast<uint64_t>(most) - random.below(static_cast<uint64_t>(spread) + 1);
    uint64_t bits = std::min(field << t.mantissa_bits | random.bits(t.mantissa_bits), t.max_finite());
    if (random.bits(4) == 0)
      bits = 0;
    byte = static_cast<std::byte>(bits | (random.bits(1) ? t.sign_mask() : 0));
  }
  return out;
}

// Accumulators of a few sizes about 2^exponent, some zeros; all of their bits, or those that a result has.
Bytes draw_accumulators(int exponent, bool all_bits, Random& random, size_t count) {
  Bytes out(count * sizeof(float));
  for (size_t i = 0; i < count; ++i) {
    const int of_one = exponent + static_cast<int>(random.below(7)) - 3;
    const float magnitude = std::ldexp(1 + static_cast<float>(random.bits(23)) * 0x1p-23f, of_one);
    uint32_t bits = std::bit_cast<uint32_t>(magnitude) & (all_bits ? ~0u : ~0u << 10);
    bits = random.bits(4) == 0 ? 0 : bits;
    bits |= static_cast<uint32_t>(random.bits(1)) << 31;
    std::memcpy(&out[i * sizeof(float)], &bits, sizeof(bits));
  }
  return out;
}

TEST(DotFewBits, CoarseSumsAreTheSameBits) {
  Random random(33);
  size_t products = 0;
  for (const auto& [arch, unit] :
       {std::pair{Arch::sm_90, DotUnit::wgmma}, std::pair{Arch::sm_89, DotUnit::mma}})
    for (const FloatFormat a : {FloatFormat::e4m3, FloatFormat::e5m2})
      for (const FloatFormat b : {FloatFormat::e4m3, FloatFormat::e5m2})
        for (const auto& [m, n] : {std::pair{8, 16}, std::pair{24, 80}})
          for (const int depth : {32, 64})
            for (int repeat = 0; repeat < 100; ++repeat) {
              const auto model = dot_model(arch, unit, a, b, f32, f32, 32);
              ASSERT_TRUE(model && model->fraction_bits == 13);
              Product product{
                  .model = chainable(*model, 32), .m = m, .n = n, .k = depth, .a = {}, .b = {}, .c = {}};
              const auto spread = static_cast<int>(random.below(8));
              product.a = draw_bytes(a, spread, random, static_cast<size_t>(m * depth));
              product.b = draw_bytes(b, spread, random, static_cast<size_t>(n * depth));
              if (repeat % 10 == 9) // few terms, so that sums nearly vanish or do
                for (std::byte& element : product.a)
                  element = random.bits(4) == 0 ? element : std::byte{0};
              const int exponent = repeat % 5 == 0   ? static_cast<int>(random.below(250)) - 125
                                   : repeat % 5 == 1 ? 97
                                                     : static_cast<int>(random.below(70)) - 40;
              product.c = draw_accumulators(exponent, repeat % 2 == 0, random, static_cast<size_t>(m * n));
              product.check(std::string(to_string(a)) + " by " + std::string(to_string(b)) + ", C about 2^" +
                            std::to_string(exponent));
              ++products;
            }
  EXPECT_EQ(products, 3200u);
}

} // namespace
} // namespace lemma::numeric
