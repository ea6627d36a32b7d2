// The matrix arithmetic against an independent statement of each rule: the fused rule in exact double
// arithmetic with frexp, trunc and ldexp; chains with the host's fma; integers in 64 bits. Also that the
// numbers of a model matter: F off by one, or another rounding, gives other bits.
#include "numeric/dot.h"

#include "numeric/arithmetic.h"
#include "numeric/convert.h"
#include "numeric/dot_lanes.h"
#include "numeric/hash.h"

#include "host_float.h"

#include <gtest/gtest.h>

#include <functional>

namespace lemma::numeric {
namespace {

using enum FloatFormat;

int bytes_of(FloatFormat format) {
  return std::max(traits(format).storage_bits / 8, 1);
}

std::vector<uint8_t> pack(FloatFormat format, const std::vector<uint64_t>& values) {
  std::vector<uint8_t> bytes;
  for (const uint64_t value : values)
    for (int i = 0; i < bytes_of(format); ++i)
      bytes.push_back(static_cast<uint8_t>(value >> (8 * i)));
  return bytes;
}

std::vector<uint64_t> unpack(FloatFormat format, const std::vector<uint8_t>& bytes) {
  std::vector<uint64_t> values(bytes.size() / bytes_of(format));
  for (size_t i = 0; i < bytes.size(); ++i)
    values[i / bytes_of(format)] |= uint64_t{bytes[i]} << (8 * (i % bytes_of(format)));
  return values;
}

double value_of(FloatFormat format, uint64_t bits) {
  return as_double(convert_float(f64, format, format == tf32 ? bits & 0xffffe000 : bits));
}

// MMA-Sim's significand and exponent: value = significand * 2^exponent, |significand| < 2.
void split(FloatFormat format, double value, double& significand, int& exponent) {
  significand = std::frexp(value, &exponent) * 2;
  --exponent;
  const int least = traits(format).min_exponent();
  if (value == 0)
    exponent = -9000;
  else if (exponent < least) {
    significand = std::ldexp(significand, exponent - least);
    exponent = least;
  }
}

// One fused step, restated. `scale_exponent` is added to every product's exponent.
uint64_t brute_step(const DotModel& model, FloatFormat c_format, const std::vector<double>& a,
                    const std::vector<double>& b, double c, int scale_exponent = 0) {
  double infinities = c;
  for (size_t k = 0; k < a.size(); ++k)
    infinities += std::isfinite(a[k] * b[k]) ? 0.0 : a[k] * b[k];
  if (!std::isfinite(infinities))
    return std::isnan(infinities) ? encode_nan(model.d) : encode_infinity(model.d, infinities < 0);

  const bool as_f16 = model.scheme == DotScheme::split_quad;
  std::vector<double> significands(a.size() + 1);
  std::vector<int> exponents(a.size() + 1);
  for (size_t k = 0; k < a.size(); ++k) {
    double sa = 0, sb = 0;
    int ea = 0, eb = 0;
    split(as_f16 ? f16 : model.a, a[k], sa, ea);
    split(as_f16 ? f16 : model.b, b[k], sb, eb);
    significands[k] = sa * sb;
    exponents[k] = ea + eb + scale_exponent;
  }
  split(c_format, c, significands.back(), exponents.back());
  const int largest =
      std::max(*std::max_element(exponents.begin(), exponents.end()), model.fraction_bits - 158);
  double sum = 0;
  for (size_t k = 0; k < significands.size(); ++k)
    sum += std::trunc(std::ldexp(significands[k], model.fraction_bits + exponents[k] - largest));
  if (sum == 0)
    return 0;
  const double result = std::ldexp(sum, largest - model.fraction_bits);
  if (model.d == f32 && std::fabs(result) >= 0x1p128)
    return encode_infinity(f32, result < 0);
  const uint64_t bits = convert_float(model.d, f64, bits_of(result), {.rounding = model.rounding});
  if ((bits & traits(model.d).magnitude_mask()) == 0)
    return 0;
  return model.d == f32 ? bits >> (23 - model.kept_fraction_bits) << (23 - model.kept_fraction_bits) : bits;
}

uint64_t brute_output(const DotModel& model, const std::vector<double>& a, const std::vector<double>& b,
                      double c, int scale_exponent = 0) {
  if (model.scheme == DotScheme::split_quad) {
    uint64_t partial = 0;
    for (const size_t half : {0, 2}) {
      std::vector<double> some_a, some_b;
      for (size_t k = 0; k < a.size(); ++k)
        if (k % 4 / 2 * 2 == half) {
          some_a.push_back(a[k]);
          some_b.push_back(b[k]);
        }
      partial = brute_step(model, model.d, some_a, some_b, value_of(model.d, partial));
    }
    const double sum =
        value_of(model.d, partial) + c; // exact, or rounded once more harmlessly: 53 >= 2 * 24 + 2
    return std::isnan(sum) ? encode_nan(model.d) : convert_float(model.d, f64, bits_of(sum));
  }
  const size_t step = model.max_fused_k == 0 ? a.size() : model.max_fused_k;
  uint64_t partial = 0;
  for (size_t k = 0; k < a.size(); k += step) {
    const size_t end = std::min(k + step, a.size());
    const double accumulator = k == 0 ? c : value_of(model.d, partial);
    const bool is_c = k == 0 && !(model.c == f16 && model.d == f32); // that is widened before
    partial = brute_step(model, is_c ? model.c : model.d, {a.begin() + k, a.begin() + end},
                         {b.begin() + k, b.begin() + end}, accumulator, scale_exponent);
  }
  return partial;
}

struct Operands {
  std::vector<uint64_t> a, b, c;
};

std::vector<uint64_t> run(const DotModel& model, int m, int n, int k, const Operands& in) {
  const std::vector<uint8_t> a = pack(model.a, in.a), b = pack(model.b, in.b), c = pack(model.c, in.c);
  std::vector<uint8_t> d(m * n * bytes_of(model.d));
  DotScratch scratch;
  dot(DotPlan(model, {m, n, k}), {.a = a.data(), .b = b.data(), .c = c.data(), .d = d.data()}, scratch);
  return unpack(model.d, d);
}

std::vector<double> row(FloatFormat format, const std::vector<uint64_t>& values, int index, int k) {
  std::vector<double> out;
  for (int i = 0; i < k; ++i)
    out.push_back(value_of(format, values[index * k + i]));
  return out;
}

Operands make_operands(const DotModel& model, int m, int n, int k, OperandClass operand_class,
                       Random& random) {
  Operands in;
  in.a = operands(model.a, operand_class, random, m * k);
  in.b = operands(model.b, operand_class, random, n * k);
  if (operand_class == OperandClass::cancelling) // equal rows of b, so that the products cancel too
    for (size_t i = 1; i < in.b.size(); i += 2)
      in.b[i] = in.b[i - 1];
  in.c = operands(model.c, operand_class, random, m * n);
  return in;
}

void agree_with_brute_force(const DotModel& model, int k) {
  constexpr int m = 8, n = 8;
  Random random(k);
  for (int repeat = 0; repeat < 4; ++repeat)
    for (const OperandClass operand_class : kAllOperandClasses) {
      const Operands in = make_operands(model, m, n, k, operand_class, random);
      const std::vector<uint64_t> d = run(model, m, n, k, in);
      for (int i = 0; i < m; ++i)
        for (int j = 0; j < n; ++j)
          ASSERT_EQ(d[i * n + j], brute_output(model, row(model.a, in.a, i, k), row(model.b, in.b, j, k),
                                               value_of(model.c, in.c[i * n + j])))
              << to_string(model.a) << " " << to_string(model.d) << " " << to_string(operand_class) << " k"
              << k;
    }
}

// The tiles and formats of mma and wmma at every level of the host's vector instructions, in both orders of
// the accumulator's formats, against the scalar code.
TEST(Dot, VectorLevelsAgreeWithTheScalarCode) {
  using internal::DotLevel;
  ASSERT_GE(internal::dot_levels().size(), 1u);
  size_t tiles = 0;
  Random random(5);
  for (const Arch arch : {Arch::sm_70, Arch::sm_75, Arch::sm_80, Arch::sm_90, Arch::sm_120})
    for (const FloatFormat ab : {f16, bf16, tf32})
      for (const auto& [c, d] : {std::pair{f32, f32}, std::pair{f16, f32}, std::pair{f16, f16}})
        for (const auto& [m, n, k] : {std::tuple{16, 8, 8}, std::tuple{16, 8, 16}, std::tuple{16, 16, 16},
                                      std::tuple{32, 8, 16}, std::tuple{8, 32, 16}, std::tuple{16, 8, 4}}) {
          const auto model = dot_model(arch, DotUnit::mma, ab, ab, c, d, k);
          if (!model)
            continue;
          for (int repeat = 0; repeat < 20; ++repeat)
            for (const OperandClass operand_class : kAllOperandClasses) {
              const Operands in = make_operands(*model, m, n, k, operand_class, random);
              internal::set_dot_level(DotLevel::scalar);
              const std::vector<uint64_t> expected = run(*model, m, n, k, in);
              for (const DotLevel level : internal::dot_levels()) {
                internal::set_dot_level(level);
                ASSERT_EQ(run(*model, m, n, k, in), expected)
                    << to_string(arch) << " " << to_string(ab) << " " << to_string(d) << " m" << m << "n" << n
                    << "k" << k << " " << to_string(operand_class) << " level " << static_cast<int>(level);
              }
              ++tiles;
            }
        }
  internal::set_dot_level(internal::dot_levels().back());
  EXPECT_GT(tiles, 5000u);
}

// The same for wgmma: a warp's 16 rows, tiles cut into blocks of columns, 8-bit formats.
TEST(Dot, VectorLevelsAgreeOnWideTiles) {
  using internal::DotLevel;
  Random random(7);
  for (const auto& [a, b] :
       {std::pair{f16, f16}, std::pair{bf16, bf16}, std::pair{tf32, tf32},
        std::pair{FloatFormat::e4m3, FloatFormat::e5m2}, std::pair{FloatFormat::e5m2, FloatFormat::e5m2},
        std::pair{FloatFormat::e4m3, FloatFormat::e4m3}})
    for (const FloatFormat d : {f32, f16}) {
      const int k = a == tf32 ? 8 : traits(a).storage_bits == 8 ? 32 : 16;
      const auto model = dot_model(Arch::sm_90, DotUnit::wgmma, a, b, d, d, k);
      if (!model)
        continue;
      for (const int n : {8, 24, 40, 64, 184})
        for (const OperandClass operand_class : kAllOperandClasses) {
          const Operands in = make_operands(*model, 16, n, k, operand_class, random);
          internal::set_dot_level(DotLevel::scalar);
          const std::vector<uint64_t> expected = run(*model, 16, n, k, in);
          for (const DotLevel level : internal::dot_levels()) {
            internal::set_dot_level(level);
            ASSERT_EQ(run(*model, 16, n, k, in), expected)
                << to_string(a) << " " << to_string(d) << " n" << n << " " << to_string(operand_class)
                << " level " << static_cast<int>(level);
          }
        }
    }
  internal::set_dot_level(internal::dot_levels().back());
}

// Subnormal elements whose products are ordinary numbers.
TEST(Dot, VectorLevelsAgreeOnSubnormalsTimesLargeNumbers) {
  using internal::DotLevel;
  Random random(10);
  for (const FloatFormat format : {f16, bf16, tf32, FloatFormat::e4m3, FloatFormat::e5m2}) {
    const int k = format == tf32 ? 8 : traits(format).storage_bits == 8 ? 32 : 16;
    const auto model = *dot_model(Arch::sm_90, DotUnit::wgmma, format, format, f32, f32, k);
    for (int repeat = 0; repeat < 50; ++repeat) {
      Operands in = make_operands(model, 16, 32, k, OperandClass::subnormal, random);
      const FormatTraits& t = traits(format);
      for (uint64_t& b : in.b) // near the largest
        b = (t.max_finite() & ~(uint64_t{3} << t.fraction_field_bits())) ^
            (random.bits(1) ? t.sign_mask() : 0);
      internal::set_dot_level(DotLevel::scalar);
      const std::vector<uint64_t> expected = run(model, 16, 32, k, in);
      for (const DotLevel level : internal::dot_levels()) {
        internal::set_dot_level(level);
        ASSERT_EQ(run(model, 16, 32, k, in), expected)
            << to_string(format) << " level " << static_cast<int>(level);
      }
    }
  }
  internal::set_dot_level(internal::dot_levels().back());
}

TEST(Dot, VectorLevelsOfIntegersAgreeWithTheScalarCode) {
  using internal::DotLevel;
  Random random(8);
  for (const IntegerFormat a : {IntegerFormat::u4, IntegerFormat::s4, IntegerFormat::u8, IntegerFormat::s8})
    for (const IntegerFormat b : {IntegerFormat::u4, IntegerFormat::s4, IntegerFormat::u8, IntegerFormat::s8})
      for (const auto& [m, n, k] : {std::tuple{16, 8, 16}, std::tuple{16, 8, 32}, std::tuple{8, 8, 16},
                                    std::tuple{16, 40, 32}, std::tuple{32, 8, 16}})
        for (const bool satfinite : {false, true}) {
          const DotModel model = dot_model_integer(a, b, satfinite);
          std::vector<uint8_t> x(static_cast<size_t>(m * k)), y(static_cast<size_t>(n * k));
          std::vector<int32_t> c(static_cast<size_t>(m * n));
          for (auto* bytes : {&x, &y})
            for (uint8_t& byte : *bytes)
              byte = static_cast<uint8_t>(random.next());
          for (int32_t& value : c) // near the ends, where the sum overflows
            value =
                static_cast<int32_t>(random.next() % 4096 + (random.next() % 2 ? 0x7ffff800u : 0x7ffff000u));
          const auto compute = [&](DotLevel level) {
            internal::set_dot_level(level);
            std::vector<int32_t> d(c.size());
            DotScratch scratch;
            dot(DotPlan(model, {m, n, k}), {.a = x.data(), .b = y.data(), .c = c.data(), .d = d.data()},
                scratch);
            return d;
          };
          const std::vector<int32_t> expected = compute(DotLevel::scalar);
          for (const DotLevel level : internal::dot_levels())
            ASSERT_EQ(compute(level), expected) << to_string(a) << " " << to_string(b) << " m" << m << "n"
                                                << n << "k" << k << " level " << static_cast<int>(level);
        }
  internal::set_dot_level(internal::dot_levels().back());
}

// A tile inside a larger matrix: what lies beside it stays.
TEST(Dot, RowStrideLeavesTheColumnsBeside) {
  const auto model = *dot_model(Arch::sm_90, DotUnit::mma, f16, f16, f32, f32, 16);
  Random random(9);
  const Operands in = make_operands(model, 16, 8, 16, OperandClass::ordinary, random);
  const std::vector<uint64_t> expected = run(model, 16, 8, 16, in);
  constexpr int stride = 12;
  std::vector<uint32_t> c(16 * stride), d(16 * stride, 0xabcdef);
  std::vector<uint16_t> a(in.a.begin(), in.a.end()), b(in.b.begin(), in.b.end());
  for (int i = 0; i < 16; ++i)
    for (int j = 0; j < 8; ++j)
      c[i * stride + j] = static_cast<uint32_t>(in.c[i * 8 + j]);
  for (const internal::DotLevel level : internal::dot_levels()) {
    internal::set_dot_level(level);
    DotScratch scratch;
    dot(DotPlan(model, {16, 8, 16}, {.row_stride = stride}),
        {.a = a.data(), .b = b.data(), .c = c.data(), .d = d.data()}, scratch);
    for (int i = 0; i < 16; ++i)
      for (int j = 0; j < stride; ++j)
        ASSERT_EQ(d[i * stride + j], j < 8 ? expected[i * 8 + j] : 0xabcdefu);
  }
}

TEST(Dot, VectorLevelsOfF64AgreeWithTheScalarCode) {
  Random random(6);
  for (const auto& [m, n, k] : {std::tuple{8, 8, 4}, std::tuple{16, 8, 4}, std::tuple{16, 8, 16},
                                std::tuple{24, 16, 8}, std::tuple{4, 8, 4}, std::tuple{8, 8, 68}}) {
    const auto model = *dot_model(Arch::sm_90, DotUnit::mma, f64, f64, f64, f64, k);
    for (int repeat = 0; repeat < 50; ++repeat)
      for (const OperandClass operand_class : kAllOperandClasses) {
        const Operands in = make_operands(model, m, n, k, operand_class, random);
        internal::set_dot_level(internal::DotLevel::scalar);
        const std::vector<uint64_t> expected = run(model, m, n, k, in);
        for (const internal::DotLevel level : internal::dot_levels()) {
          internal::set_dot_level(level);
          ASSERT_EQ(run(model, m, n, k, in), expected) << "m" << m << "k" << k << " level " << int(level);
        }
      }
  }
  internal::set_dot_level(internal::dot_levels().back());
}

// What the vector code has to leave, and what it must not: an accumulator on top of the largest products,
// which overflows 32 bits; subnormal results; and the usual case.
TEST(Dot, VectorLevelsKnowWhatTheyLeave) {
  if (internal::dot_levels().size() < 2)
    GTEST_SKIP() << "the host has no vector level";
  const auto model = *dot_model(Arch::sm_90, DotUnit::mma, f16, f16, f32, f32, 16);
  const DotPlan plan(model, {16, 8, 16});
  const auto taken = [&](uint16_t a, uint16_t b, float c) {
    const std::vector<uint16_t> as(16 * 16, a), bs(8 * 16, b);
    const std::vector<float> cs(16 * 8, c);
    std::vector<float> d(16 * 8);
    const DotTile tile{.a = as.data(), .b = bs.data(), .c = cs.data(), .d = d.data()};
    return internal::dot_fused_lanes(model, internal::rows_of(plan, tile, {0, 16, 0, 8}));
  };
  EXPECT_TRUE(taken(0x3c00, 0x4000, 3));
  EXPECT_TRUE(taken(0, 0, 0));
  EXPECT_TRUE(taken(0x0001, 0x0001, 0));
  EXPECT_TRUE(taken(0x7bff, 0x7bff, 1));
  EXPECT_FALSE(taken(0x3fff, 0x3fff, 1.999f));
  EXPECT_FALSE(taken(0x7c00, 0x3c00, 0));
  EXPECT_FALSE(taken(0, 0, 0x1p-140f));
}

TEST(Dot, EveryFloatingPointModelAgreesWithBruteForce) {
  int models = 0;
  for (const Arch arch : kArchs)
    for (const DotUnit unit : {DotUnit::mma, DotUnit::wgmma, DotUnit::tcgen05})
      for (const FloatFormat a : {f16, bf16, tf32, e4m3, e5m2, e2m3, e3m2, e2m1})
        for (const FloatFormat b : {f16, bf16, tf32, e4m3, e5m2, e2m3, e3m2, e2m1})
          for (const FloatFormat c : {f16, f32})
            for (const FloatFormat d : {f16, f32})
              for (const int k : {8, 16, 32})
                if (const auto model = dot_model(arch, unit, a, b, c, d, k)) {
                  agree_with_brute_force(*model, k);
                  ++models;
                }
  EXPECT_GT(models, 200);
}

// 1 - 1 + 2^-e: survives exactly as long as e <= F.
uint64_t kept_tail(const DotModel& model, int e) {
  Operands in;
  const uint64_t one = convert_float(model.a, f32, bits_of(1.0f));
  const uint64_t one_b = convert_float(model.b, f32, bits_of(1.0f));
  in.a = {one, one ^ traits(model.a).sign_mask(), 0, 0};
  in.b = {one_b, one_b, 0, 0};
  in.c = {bits_of(std::ldexp(1.0f, -e))};
  return run(model, 1, 1, 4, in)[0];
}

TEST(Dot, FractionBitsOfEachMachine) {
  const auto check = [](const std::optional<DotModel>& model, int bits) {
    ASSERT_TRUE(model.has_value());
    EXPECT_EQ(kept_tail(*model, bits), bits_of(std::ldexp(1.0f, -bits)));
    EXPECT_EQ(kept_tail(*model, bits + 1), 0u);
  };
  check(dot_model(Arch::sm_70, DotUnit::mma, f16, f16, f32, f32, 4), 23);
  check(dot_model(Arch::sm_80, DotUnit::mma, bf16, bf16, f32, f32, 8), 24);
  check(dot_model(Arch::sm_90, DotUnit::mma, f16, f16, f32, f32, 16), 25);
  check(dot_model(Arch::sm_90, DotUnit::wgmma, e4m3, e5m2, f32, f32, 32), 13);
  check(dot_model(Arch::sm_89, DotUnit::mma, e4m3, e4m3, f32, f32, 32), 13);
  check(dot_model(Arch::sm_120, DotUnit::mma, e2m1, e3m2, f32, f32, 32), 25);
}

TEST(Dot, KnownResults) {
  const auto hopper = *dot_model(Arch::sm_90, DotUnit::mma, f16, f16, f32, f32, 16);
  // Truncation, not rounding: 1 + 3/4 of the last place.
  EXPECT_EQ(run(hopper, 1, 1, 2, {{0x3c00, 0x3c00}, {0x3c00, 0x0006}, {bits_of(0x1p-23f * 0.375f)}})[0],
            run(hopper, 1, 1, 2, {{0x3c00, 0x3c00}, {0x3c00, 0x0006}, {0}})[0]);
  // -0 everywhere sums to +0.
  EXPECT_EQ(run(hopper, 1, 1, 1, {{0x8000}, {0x3c00}, {0x80000000}})[0], 0u);
  // Overflow is infinity even though rounding is toward zero.
  EXPECT_EQ(run(hopper, 1, 1, 1, {{0x7bff}, {0x7bff}, {0x7f7fffff}})[0], 0x7f7fffffu);
  EXPECT_EQ(run(hopper, 1, 1, 1, {{0x3c00}, {0x3c00}, {0x7f800000}})[0], 0x7f800000u);
  const auto bf = *dot_model(Arch::sm_90, DotUnit::mma, bf16, bf16, f32, f32, 16);
  EXPECT_EQ(run(bf, 1, 1, 1, {{0x7f7f}, {0x4000}, {0}})[0], 0x7f800000u);
  // NaN is canonical.
  EXPECT_EQ(run(hopper, 1, 1, 1, {{0x7c00}, {0x0000}, {0}})[0], 0x7fffffffu);
  EXPECT_EQ(run(hopper, 1, 1, 1, {{0xfe00}, {0x3c00}, {0}})[0], 0x7fffffffu);
  const auto half = *dot_model(Arch::sm_90, DotUnit::mma, f16, f16, f16, f16, 16);
  EXPECT_EQ(run(half, 1, 1, 1, {{0x7c00}, {0x3c00}, {0xfc00}})[0], 0x7fffu);
  EXPECT_EQ(run(half, 1, 1, 1, {{0x7bff}, {0x4000}, {0}})[0], 0x7c00u);
}

// Measured on an H200.
TEST(Dot, ATinyNegativeSumIsPlusZero) {
  const auto half = *dot_model(Arch::sm_90, DotUnit::mma, f16, f16, f16, f16, 16);
  EXPECT_EQ(run(half, 1, 1, 1, {{0x8001}, {0x0001}, {0}})[0], 0u);      // -2^-48
  EXPECT_EQ(run(half, 1, 1, 1, {{0x8c00}, {0x0800}, {0}})[0], 0u);      // -2^-25: half of the least f16
  EXPECT_EQ(run(half, 1, 1, 1, {{0x8c01}, {0x0800}, {0}})[0], 0x8001u); // just beyond it
}

// Measured on an H200: C of f16 with accumulators of f32 is a normalized term.
TEST(Dot, CIsWidenedBeforeItIsAdded) {
  const auto model = *dot_model(Arch::sm_90, DotUnit::mma, f16, f16, f16, f32, 16);
  // With f16's least exponent, -14, nothing below 2^-39 would be left.
  EXPECT_EQ(run(model, 1, 1, 1, {{0x0010}, {0x0010}, {0x0001}})[0], bits_of(0x1p-24f + 0x1p-40f));
}

// Measured on an H200, for every power of two here: beside -2^e a term of 2^q * 45/32 is cut away where q is
// below e - 25, and where it is below -158.
TEST(Dot, NothingBelowTheLastDigitIsAdded) {
  for (const FloatFormat format : {bf16, tf32}) {
    const DotModel model = *dot_model(Arch::sm_90, DotUnit::mma, format, format, f32, f32, 8);
    const auto bits = [&](double value) { return convert_float(format, f64, bits_of(value)); };
    for (int e = -128; e >= -149; --e)
      for (int q = e - 22; q >= e - 29; --q) {
        const bool counts = q >= e - 25 && q >= -158;
        const double term = std::ldexp(1.40625, -40 + (q - e)), one = -std::ldexp(1.0, -60);
        const Operands in = {{bits(std::ldexp(1.0, e + 40)), bits(0), bits(one)},
                             {bits(term), bits(0), bits(std::ldexp(1.0, e + 60))},
                             {0}};
        EXPECT_EQ(run(model, 1, 1, 3, in)[0],
                  (counts && e == -149 ? 0 : 0x80000000u) | ((1u << (e + 149)) - counts))
            << to_string(format) << " " << e << " " << q;
      }
  }
}

TEST(Dot, ANumberOfTheModelOffGivesOtherBits) {
  const auto right = *dot_model(Arch::sm_90, DotUnit::mma, f16, f16, f32, f32, 16);
  DotModel more = right, fewer = right, nearest = right, stepped = right;
  ++more.fraction_bits;
  --fewer.fraction_bits;
  nearest.rounding = Rounding::rn;
  stepped.max_fused_k = 8;
  Random random(77);
  const Operands in = make_operands(right, 32, 32, 16, OperandClass::wide, random);
  const std::vector<uint64_t> expected = run(right, 32, 32, 16, in);
  for (const DotModel& wrong : {more, fewer, nearest, stepped})
    EXPECT_NE(run(wrong, 32, 32, 16, in), expected);
}

TEST(Dot, F64IsAChainOfFma) {
  const auto model = *dot_model(Arch::sm_90, DotUnit::mma, f64, f64, f64, f64, 16);
  Random random(1);
  const Operands in = make_operands(model, 8, 8, 16, OperandClass::ordinary, random);
  const std::vector<uint64_t> d = run(model, 8, 8, 16, in);
  for (int i = 0; i < 8; ++i)
    for (int j = 0; j < 8; ++j) {
      double sum = as_double(in.c[i * 8 + j]);
      for (int k = 0; k < 16; ++k)
        sum = std::fma(as_double(in.a[i * 16 + k]), as_double(in.b[j * 16 + k]), sum);
      ASSERT_EQ(d[i * 8 + j], bits_of(sum));
    }
}

TEST(Dot, F64ChainsAgreeWithExactArithmeticToTheNan) {
  const auto model = *dot_model(Arch::sm_90, DotUnit::mma, f64, f64, f64, f64, 16);
  Random random(2);
  for (const OperandClass operand_class : kAllOperandClasses) {
    const Operands in = make_operands(model, 16, 8, 16, operand_class, random);
    const std::vector<uint64_t> d = run(model, 16, 8, 16, in);
    for (size_t i = 0; i < 16; ++i)
      for (size_t j = 0; j < 8; ++j) {
        uint64_t sum = in.c[i * 8 + j];
        for (size_t k = 0; k < 16; ++k)
          sum = fma(f64, in.a[i * 16 + k], in.b[j * 16 + k], sum);
        ASSERT_EQ(d[i * 8 + j], sum) << to_string(operand_class);
      }
  }
}

float half_value(uint64_t bits) {
  return static_cast<float>(value_of(f16, bits));
}

// What ptxas emits in place of the instruction that only sm_70 and sm_75 have.
TEST(Dot, M8n8k4IsScalarFromSm80On) {
  Random random(3);
  for (const Arch arch : {Arch::sm_80, Arch::sm_90, Arch::sm_120})
    for (const auto& [c_format, d_format] : {std::pair{f32, f32}, std::pair{f16, f32}, std::pair{f16, f16}}) {
      const auto model = *dot_model(arch, DotUnit::mma, f16, f16, c_format, d_format, 4);
      EXPECT_EQ(model.scheme, DotScheme::scalar_k4);
      const Operands in = make_operands(model, 8, 8, 4, OperandClass::wide, random);
      const std::vector<uint64_t> d = run(model, 8, 8, 4, in);
      for (size_t i = 0; i < 8; ++i)
        for (size_t j = 0; j < 8; ++j) {
          float a[4], b[4];
          for (size_t k = 0; k < 4; ++k) {
            a[k] = half_value(in.a[i * 4 + k]);
            b[k] = half_value(in.b[j * 4 + k]);
          }
          const auto c = static_cast<float>(value_of(c_format, in.c[i * 8 + j]));
          if (d_format == f32) {
            float sum = 0;
            for (size_t k = 0; k < 4; ++k)
              sum = std::fma(a[k], b[k], sum);
            ASSERT_EQ(d[i * 8 + j], bits_of(sum + c));
          } else {
            const float sum = c + std::fma(a[1], b[1], a[0] * b[0]) + std::fma(a[3], b[3], a[2] * b[2]);
            ASSERT_EQ(d[i * 8 + j], convert_float(f16, f32, bits_of(sum)));
          }
        }
    }
  const auto hopper = *dot_model(Arch::sm_90, DotUnit::mma, f16, f16, f32, f32, 4);
  EXPECT_EQ(run(hopper, 1, 1, 4, {{0x7c00, 0, 0, 0}, {0, 0, 0, 0}, {0}})[0], 0x7fffffffu);
  const auto half = *dot_model(Arch::sm_90, DotUnit::mma, f16, f16, f16, f16, 4);
  EXPECT_EQ(run(half, 1, 1, 4, {{0xfe01, 0, 0, 0}, {0, 0, 0, 0}, {0}})[0], 0x7fffu);
  EXPECT_EQ(dot_model(Arch::sm_75, DotUnit::mma, f16, f16, f32, f32, 4)->scheme, DotScheme::fused);
}

TEST(Dot, SparseMeetsTheIndexedColumns) {
  constexpr int m = 8, n = 8, k = 16, k_b = 32;
  for (const auto& [unit, format] : {std::pair{DotUnit::mma, f16}, std::pair{DotUnit::mma, e4m3}}) {
    const auto model = *dot_model(Arch::sm_90, unit, format, format, f32, f32, 32);
    Random random(4);
    Operands in;
    in.a = operands(format, OperandClass::ordinary, random, m * k);
    in.b = operands(format, OperandClass::special, random, n * k_b);
    in.c = operands(f32, OperandClass::ordinary, random, m * n);
    std::vector<uint8_t> index(m * k);
    for (size_t i = 0; i < index.size(); i += 2) { // two of each four
      const auto first = static_cast<uint8_t>(random.below(3));
      index[i] = static_cast<uint8_t>(i % k * 2 + first);
      index[i + 1] = static_cast<uint8_t>(i % k * 2 + first + 1 + random.below(3 - first));
    }
    const std::vector<uint8_t> a = pack(format, in.a), b = pack(format, in.b), c = pack(f32, in.c);
    std::vector<uint8_t> d(m * n * 4);
    DotScratch scratch;
    dot(DotPlan(model, {m, n, k, k_b}),
        {.a = a.data(), .b = b.data(), .c = c.data(), .d = d.data(), .a_index = index.data()}, scratch);
    const std::vector<uint64_t> result = unpack(f32, d);
    for (int i = 0; i < m; ++i)
      for (int j = 0; j < n; ++j) {
        std::vector<double> met;
        for (int s = 0; s < k; ++s)
          met.push_back(value_of(format, in.b[j * k_b + index[i * k + s]]));
        ASSERT_EQ(result[i * n + j],
                  brute_output(model, row(format, in.a, i, k), met, value_of(f32, in.c[i * n + j])));
      }
  }
}

TEST(Dot, BlockScaleFoldsPowersOfTwoIntoExponents) {
  constexpr int m = 8, n = 8, k = 32;
  for (const FloatFormat format : {e4m3, e5m2, e2m3, e3m2, e2m1}) {
    const auto model = *dot_model_block_scale(Arch::sm_120, DotUnit::mma, format, e4m3, ue8m0, k, 32);
    Random random(6);
    const Operands in = make_operands(model, m, n, k, OperandClass::wide, random);
    std::vector<uint8_t> scale_a(m), scale_b(n);
    for (uint8_t& scale : scale_a)
      scale = static_cast<uint8_t>(100 + random.below(50));
    for (uint8_t& scale : scale_b)
      scale = static_cast<uint8_t>(100 + random.below(50));
    scale_b[3] = 0xff;
    const std::vector<uint8_t> a = pack(format, in.a), b = pack(e4m3, in.b), c = pack(f32, in.c);
    std::vector<uint8_t> d(m * n * 4);
    DotScratch scratch;
    dot(DotPlan(model, {m, n, k}),
        {.a = a.data(),
         .b = b.data(),
         .c = c.data(),
         .d = d.data(),
         .scale_a = scale_a.data(),
         .scale_b = scale_b.data()},
        scratch);
    const std::vector<uint64_t> result = unpack(f32, d);
    for (int i = 0; i < m; ++i)
      for (int j = 0; j < n; ++j)
        ASSERT_EQ(result[i * n + j],
                  j == 3 ? 0x7fffffffu
                         : brute_output(model, row(format, in.a, i, k), row(e4m3, in.b, j, k),
                                        value_of(f32, in.c[i * n + j]), scale_a[i] + scale_b[j] - 254));
  }
}

// mxf4nvf4, of K = 96 too: groups of 16, each with the scales of its block; the fused rule over the groups
// and C.
TEST(Dot, BlockSumsAgreeWithBruteForce) {
  constexpr int m = 8, n = 8;
  const struct {
    Arch arch;
    DotUnit unit;
    int k;
    FloatFormat scale;
    int block;
  } kForms[] = {{Arch::sm_120, DotUnit::mma, 64, ue4m3, 16},
                {Arch::sm_120, DotUnit::mma, 64, ue8m0, 32},
                {Arch::sm_100, DotUnit::tcgen05, 96, ue4m3, 16},
                {Arch::sm_100, DotUnit::tcgen05, 96, ue8m0, 32}};
  for (const auto& [arch, unit, k, scale, block] : kForms) {
    const auto model = *dot_model_block_scale(arch, unit, e2m1, e2m1, scale, k, block);
    Random random(9);
    const Operands in = make_operands(model, m, n, k, OperandClass::wide, random);
    std::vector<uint8_t> scale_a(m * k / block), scale_b(n * k / block);
    for (std::vector<uint8_t>* scales : {&scale_a, &scale_b})
      for (uint8_t& bits : *scales)
        bits = static_cast<uint8_t>(scale == ue8m0 ? 110 + random.below(30) : random.below(0x7f));
    const std::vector<uint8_t> a = pack(e2m1, in.a), b = pack(e2m1, in.b), c = pack(f32, in.c);
    std::vector<uint8_t> d(m * n * 4);
    DotScratch scratch;
    dot(DotPlan(model, {m, n, k}),
        {.a = a.data(),
         .b = b.data(),
         .c = c.data(),
         .d = d.data(),
         .scale_a = scale_a.data(),
         .scale_b = scale_b.data()},
        scratch);
    const std::vector<uint64_t> result = unpack(f32, d);
    for (int i = 0; i < m; ++i)
      for (int j = 0; j < n; ++j) {
        const std::vector<double> x = row(e2m1, in.a, i, k), y = row(e2m1, in.b, j, k);
        std::vector<double> significands(k / 16 + 1);
        std::vector<int> exponents(k / 16 + 1);
        for (int g = 0; g < k / 16; ++g) {
          double sum = 0, sa = 0, sb = 0;
          int ea = 0, eb = 0;
          for (int s = g * 16; s < g * 16 + 16; ++s)
            sum += x[s] * y[s];
          split(scale, value_of(scale, scale_a[i * (k / block) + g * 16 / block]), sa, ea);
          split(scale, value_of(scale, scale_b[j * (k / block) + g * 16 / block]), sb, eb);
          significands[g] = sum * sa * sb;
          exponents[g] = ea + eb;
        }
        split(f32, value_of(f32, in.c[i * n + j]), significands.back(), exponents.back());
        const int largest = *std::max_element(exponents.begin(), exponents.end());
        double sum = 0;
        for (size_t g = 0; g < exponents.size(); ++g)
          sum += std::trunc(std::ldexp(significands[g], 35 + exponents[g] - largest));
        const uint64_t expected = sum == 0 ? 0
                                           : convert_float(f32, f64, bits_of(std::ldexp(sum, largest - 35)),
                                                           {.rounding = Rounding::rz});
        ASSERT_EQ(result[i * n + j], expected);
      }
  }
}

TEST(Dot, Integers) {
  constexpr int m = 4, n = 4, k = 64;
  for (const IntegerFormat a_format :
       {IntegerFormat::u8, IntegerFormat::s8, IntegerFormat::u4, IntegerFormat::s4})
    for (const IntegerFormat b_format :
         {IntegerFormat::u8, IntegerFormat::s8, IntegerFormat::u4, IntegerFormat::s4})
      for (const bool satfinite : {false, true})
        for (const OperandClass operand_class : kAllOperandClasses) {
          Random random(12);
          const auto av = operands(a_format, operand_class, random, m * k);
          const auto bv = operands(b_format, operand_class, random, n * k);
          const auto cv = operands(IntegerFormat::s32, operand_class, random, m * n);
          const std::vector<uint8_t> a(av.begin(), av.end()), b(bv.begin(), bv.end());
          const std::vector<uint32_t> c(cv.begin(), cv.end());
          std::vector<uint32_t> d(m * n);
          DotScratch scratch;
          dot(DotPlan(dot_model_integer(a_format, b_format, satfinite), {m, n, k}),
              {.a = a.data(), .b = b.data(), .c = c.data(), .d = d.data()}, scratch);
          const auto number = [](IntegerFormat format, uint64_t bits) {
            return static_cast<int64_t>(integer_to_integer(IntegerFormat::s64, format, bits, false));
          };
          for (int i = 0; i < m; ++i)
            for (int j = 0; j < n; ++j) {
              int64_t sum = number(IntegerFormat::s32, c[i * n + j]);
              for (int s = 0; s < k; ++s)
                sum += number(a_format, a[i * k + s]) * number(b_format, b[j * k + s]);
              if (satfinite)
                sum = std::clamp<int64_t>(sum, INT32_MIN, INT32_MAX);
              ASSERT_EQ(d[i * n + j], static_cast<uint32_t>(sum));
            }
        }
}

TEST(Dot, SingleBits) {
  const std::vector<uint32_t> a = {0xffffffff, 0x0000000f, 0, 0}, b = {0x0f0f0f0f, 0x000000ff, 0, 1};
  const std::vector<uint32_t> c = {100};
  uint32_t d = 0;
  const DotTile tile{.a = a.data(), .b = b.data(), .c = c.data(), .d = &d};
  DotScratch scratch;
  dot(DotPlan(dot_model_bits(DotScheme::xor_popc), {1, 1, 128}), tile, scratch);
  EXPECT_EQ(d, 100u + 16 + 4 + 1);
  dot(DotPlan(dot_model_bits(DotScheme::and_popc), {1, 1, 128}), tile, scratch);
  EXPECT_EQ(d, 100u + 16 + 4);
}

TEST(DotModel, LookUp) {
  EXPECT_FALSE(dot_model(Arch::sm_70, DotUnit::mma, bf16, bf16, f32, f32, 8));
  EXPECT_FALSE(dot_model(Arch::sm_100, DotUnit::wgmma, f16, f16, f32, f32, 16));
  EXPECT_FALSE(dot_model(Arch::sm_90, DotUnit::mma, e2m1, e2m1, f32, f32, 32));
  EXPECT_FALSE(dot_model(Arch::sm_90, DotUnit::mma, f16, bf16, f32, f32, 16));
  EXPECT_FALSE(dot_model(Arch::sm_90, DotUnit::mma, bf16, bf16, f16, f16, 16));
  EXPECT_EQ(dot_model(Arch::sm_90, DotUnit::mma, f16, f16, f32, f32, 16)->evidence, Evidence::measured);
  EXPECT_EQ(dot_model(Arch::sm_90, DotUnit::mma, e4m3, e5m2, f16, f16, 32)->scheme, DotScheme::split_quad);
  EXPECT_EQ(dot_model(Arch::sm_80, DotUnit::mma, f16, f16, f32, f32, 16)->max_fused_k, 8);
  EXPECT_EQ(dot_model(Arch::sm_80, DotUnit::mma, tf32, tf32, f32, f32, 8)->max_fused_k, 4);
}

} // namespace
} // namespace lemma::numeric
