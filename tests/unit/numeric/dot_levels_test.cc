// Every level of the host's vector instructions against the scalar code, bit for bit, where they are most
// likely to part: zeros beside tiny accumulators, exponents at the ends, sums that overflow 32 bits, sparse
// A, the two steps of fp8; and which way ordinary and other numbers take. The ordinary shapes are in
// dot_test.cc.
#include "numeric/convert.h"
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

size_t bytes_of(FloatFormat format) {
  return static_cast<size_t>(std::max(traits(format).storage_bits / 8, 1));
}

std::vector<uint8_t> pack(FloatFormat format, const std::vector<uint64_t>& values) {
  std::vector<uint8_t> bytes;
  for (const uint64_t value : values)
    for (size_t i = 0; i < bytes_of(format); ++i)
      bytes.push_back(static_cast<uint8_t>(value >> (8 * i)));
  return bytes;
}

// A product in the making: bytes of everything, and its tile.
struct Product {
  DotModel model;
  int m, n, k, k_b;
  std::vector<uint8_t> a, b, c, a_index, scale_a, scale_b;

  std::vector<uint8_t> run(DotLevel level, bool arranges_b, MatrixOutputs& paths) const {
    internal::set_dot_level(level);
    const size_t d_bytes = model.scheme == DotScheme::integer || model.scheme == DotScheme::xor_popc ||
                                   model.scheme == DotScheme::and_popc
                               ? 4
                               : bytes_of(model.d);
    std::vector<uint8_t> d(static_cast<size_t>(m * n) * d_bytes);
    const DotPlan plan(model, {m, n, k, k_b});
    DotTile tile{.a = a.data(),
                 .b = b.data(),
                 .c = c.empty() ? nullptr : c.data(),
                 .d = d.data(),
                 .scale_a = scale_a.empty() ? nullptr : scale_a.data(),
                 .scale_b = scale_b.empty() ? nullptr : scale_b.data(),
                 .a_index = a_index.empty() ? nullptr : a_index.data()};
    ArrangedB arranged;
    if (arranges_b) {
      std::vector<uint8_t> gone = b;
      tile.b = gone.data();
      arranged.arrange(plan, tile);
      tile.b = b.data();
      tile.arranged_b = &arranged;
    }
    DotScratch scratch;
    paths = dot(plan, tile, scratch);
    internal::set_dot_level(internal::dot_levels().back());
    return d;
  }

  // The same with C and D in blocks.
  std::vector<uint8_t> run_in_blocks(DotLevel level, MatrixOutputs& paths) const {
    RegisterBlocks blocks(static_cast<size_t>(m), c.size() / static_cast<size_t>(m));
    blocks.load(c.data());
    internal::set_dot_level(level);
    DotScratch scratch;
    paths = dot(DotPlan(model, {m, n, k, k_b}, {.blocks = DotBlocks::outputs}),
                {.a = a.data(),
                 .b = b.data(),
                 .c = blocks.blocks(),
                 .d = blocks.blocks(),
                 .scale_a = scale_a.empty() ? nullptr : scale_a.data(),
                 .scale_b = scale_b.empty() ? nullptr : scale_b.data(),
                 .a_index = a_index.empty() ? nullptr : a_index.data()},
                scratch);
    internal::set_dot_level(internal::dot_levels().back());
    std::vector<uint8_t> d(c.size());
    blocks.store(d.data());
    return d;
  }
  bool fits_blocks() const {
    return !c.empty() && (model.scheme == DotScheme::integer || model.c == model.d) && m % 8 == 0 &&
           c.size() / static_cast<size_t>(m) % 16 == 0;
  }

  // The paths of the highest level.
  MatrixOutputs check(const std::string& what) const {
    MatrixOutputs paths;
    const std::vector<uint8_t> expected = run(DotLevel::scalar, false, paths);
    for (const DotLevel level : internal::dot_levels())
      for (const bool arranges_b : {false, true}) {
        EXPECT_EQ(run(level, arranges_b, paths), expected)
            << what << " at level " << to_string(level) << (arranges_b ? ", B arranged" : "");
        EXPECT_EQ(paths.total(), static_cast<uint64_t>(m * n)) << what;
      }
    if (fits_blocks())
      for (const DotLevel level : internal::dot_levels()) {
        EXPECT_EQ(run_in_blocks(level, paths), expected)
            << what << " at level " << to_string(level) << ", C and D in blocks";
      }
    return paths;
  }
};

size_t size(int rows, int columns) {
  return static_cast<size_t>(rows) * static_cast<size_t>(columns);
}

Product product_of(const DotModel& model, int m, int n, int k, OperandClass operand_class, Random& random) {
  return {.model = model,
          .m = m,
          .n = n,
          .k = k,
          .k_b = k,
          .a = pack(model.a, operands(model.a, operand_class, random, size(m, k))),
          .b = pack(model.b, operands(model.b, operand_class, random, size(n, k))),
          .c = pack(model.c, operands(model.c, operand_class, random, size(m, n))),
          .a_index = {},
          .scale_a = {},
          .scale_b = {}};
}

std::string describe(const DotModel& model, OperandClass operand_class) {
  return std::string(to_string(model.a)) + " x " + std::string(to_string(model.b)) + " + " +
         std::string(to_string(model.c)) + " to " + std::string(to_string(model.d)) + ", " +
         std::string(to_string(operand_class));
}

bool has_vectors() {
  return internal::dot_levels().size() > 1;
}

TEST(DotLevels, EightBitFormatsOfMma) {
  Random random(21);
  for (const Arch arch : {Arch::sm_89, Arch::sm_90, Arch::sm_120})
    for (const FloatFormat a : {e4m3, e5m2, e2m3, e3m2, e2m1})
      for (const FloatFormat b : {e4m3, e5m2, e3m2, e2m1})
        for (const FloatFormat d : {f32, f16})
          for (const int k : {16, 32}) {
            const auto model = dot_model(arch, DotUnit::mma, a, b, d, d, k);
            if (!model)
              continue;
            for (const OperandClass operand_class : kAllOperandClasses)
              for (const int n : {8, 48})
                product_of(*model, 16, n, k, operand_class, random)
                    .check(describe(*model, operand_class) + " on " + std::string(to_string(arch)));
          }
}

// Every size of the last block of columns, and of rows.
TEST(DotLevels, TilesOfAnySize) {
  Random random(22);
  const auto model = *dot_model(Arch::sm_90, DotUnit::wgmma, f16, f16, f32, f32, 16);
  for (int n = 1; n <= 80; n += n < 20 ? 1 : 7)
    for (const int m : {1, 3, 8, 16, 20, 64, 70})
      product_of(model, m, n, 16, OperandClass::wide, random)
          .check(std::to_string(m) + "x" + std::to_string(n));
}

// Rows and columns of zeros, with accumulators from zero to the least subnormal.
TEST(DotLevels, ZerosBesideTinyAccumulators) {
  Random random(23);
  for (const Arch arch : {Arch::sm_80, Arch::sm_90})
    for (const FloatFormat ab : {f16, bf16, tf32}) {
      const auto model = *dot_model(arch, DotUnit::mma, ab, ab, f32, f32, 16);
      for (int repeat = 0; repeat < 20; ++repeat) {
        Product product = product_of(model, 16, 64, 16, OperandClass::ordinary, random);
        const size_t row_bytes = 16 * bytes_of(ab);
        for (size_t row = 0; row < 16; row += 1 + random.below(3))
          std::fill_n(product.a.begin() + static_cast<ptrdiff_t>(row * row_bytes), row_bytes, uint8_t{0});
        const uint32_t tiny[] = {0,          0x80000000, 1,          0x80000001,
                                 0x00800000, 0x0d000000, 0x0c800000, 0x1f000000};
        for (size_t i = 0; i < size(16, 64); ++i)
          if (repeat % 2 == 0 || random.below(4) == 0)
            std::memcpy(&product.c[4 * i], &tiny[random.below(std::size(tiny))], 4);
        product.check(describe(model, OperandClass::ordinary) + " with zeros");
      }
      // Zeros alone, as padding has them, are ordinary.
      Product zeros = product_of(model, 16, 64, 16, OperandClass::ordinary, random);
      std::ranges::fill(zeros.a, uint8_t{0});
      std::ranges::fill(zeros.c, uint8_t{0});
      const MatrixOutputs paths = zeros.check("zeros");
      if (has_vectors()) {
        EXPECT_EQ(paths.vector, paths.total());
      }
    }
}

// Exponents about the ends of what bytes and f32 hold.
TEST(DotLevels, ExponentsAtTheEnds) {
  Random random(24);
  for (const FloatFormat ab : {bf16, tf32}) {
    const auto model = *dot_model(Arch::sm_90, DotUnit::wgmma, ab, ab, f32, f32, 16);
    const uint32_t shift = ab == bf16 ? 7 : 23;
    for (const auto& [a_field, b_field] :
         {std::pair{147, 147}, std::pair{148, 100}, std::pair{254, 1}, std::pair{1, 147}, std::pair{1, 1},
          std::pair{77, 77}, std::pair{76, 77}, std::pair{0, 147}, std::pair{27, 127}, std::pair{26, 127}})
      for (int repeat = 0; repeat < 10; ++repeat) {
        Product product = product_of(model, 16, 64, 16, OperandClass::ordinary, random);
        const auto set = [&](std::vector<uint8_t>& bytes, int field) {
          for (size_t i = 0; i < bytes.size(); i += bytes_of(ab)) {
            uint32_t bits = 0;
            std::memcpy(&bits, &bytes[i], bytes_of(ab));
            const auto least = static_cast<uint32_t>(std::max(field - static_cast<int>(random.below(4)), 0));
            bits = (bits & ~(0xffu << shift)) | least << shift;
            std::memcpy(&bytes[i], &bits, bytes_of(ab));
          }
        };
        set(product.a, a_field);
        set(product.b, b_field);
        if (repeat % 3 == 0) // the products alone, and some of them zeros
          std::ranges::fill(product.c, uint8_t{0});
        if (repeat % 4 == 0)
          std::fill_n(product.a.begin(), product.a.size() / 2, uint8_t{0});
        for (size_t i = 3; i < product.c.size(); i += 4)
          if (repeat % 2 != 0) // from the least exponent to the largest
            product.c[i] = static_cast<uint8_t>(random.next());
        product.check(std::string(to_string(ab)) + " at " + std::to_string(a_field) + ", " +
                      std::to_string(b_field));
      }
  }
}

// A zero is never the largest term, however large its partner and small the accumulator.
TEST(DotLevels, ZerosTimesLargeNumbers) {
  Random random(31);
  for (const FloatFormat ab : {bf16, tf32}) {
    const auto model = *dot_model(Arch::sm_90, DotUnit::wgmma, ab, ab, f32, f32, 16);
    for (int exponent = 0; exponent < 127; exponent += 3) {
      Product product = product_of(model, 16, 64, 16, OperandClass::ordinary, random);
      std::ranges::fill(product.a, uint8_t{0});
      const uint32_t large = static_cast<uint32_t>(127 + exponent) << 23 >> (ab == bf16 ? 16 : 0);
      for (size_t i = 0; i < product.b.size(); i += bytes_of(ab))
        std::memcpy(&product.b[i], &large, bytes_of(ab));
      for (size_t i = 0; i < product.c.size(); i += 4) {
        const auto c = static_cast<uint32_t>(random.below(0x40000000)); // up to 2
        std::memcpy(&product.c[i], &c, 4);
      }
      product.check(std::string(to_string(ab)) + " 0 times 2^" + std::to_string(exponent));
    }
  }
}

// Sixteen products next to 4, all of one sign, and C: just within 32 bits, and beyond.
TEST(DotLevels, SumsAtTheEndOf32Bits) {
  Random random(25);
  for (const FloatFormat ab : {f16, bf16}) {
    const auto model = *dot_model(Arch::sm_90, DotUnit::mma, ab, ab, f32, f32, 16);
    for (const uint64_t sign : {0, 1})
      for (int repeat = 0; repeat < 20; ++repeat) {
        Product product = product_of(model, 16, 32, 16, OperandClass::ordinary, random);
        const uint64_t largest = 0x3fff; // 2 less one unit, of either
        const auto fill = [&](std::vector<uint8_t>& bytes, uint64_t bits) {
          for (size_t i = 0; i < bytes.size(); i += 2) {
            const uint64_t value = bits - (random.below(8) == 0 ? random.below(3) : 0);
            std::memcpy(&bytes[i], &value, 2);
          }
        };
        fill(product.a, largest | sign << 15);
        fill(product.b, largest);
        for (size_t i = 0; i < product.c.size(); i += 4) {
          const auto c =
              static_cast<uint32_t>(0x3f800000 + random.below(0x02000000) + (random.below(2) << 31));
          std::memcpy(&product.c[i], &c, 4);
        }
        product.check(std::string(to_string(ab)) + " near the end");
      }
  }
}

TEST(DotLevels, SpecialsInAFewPlaces) {
  Random random(26);
  for (const FloatFormat ab : {f16, bf16, tf32, e4m3, e5m2}) {
    const int k = traits(ab).storage_bits == 8 ? 32 : 16;
    const auto model = *dot_model(Arch::sm_90, DotUnit::wgmma, ab, ab, f32, f32, k);
    for (int repeat = 0; repeat < 10; ++repeat) {
      Product product = product_of(model, 16, 128, k, OperandClass::ordinary, random);
      const std::vector<uint64_t> specials = operands(ab, OperandClass::special, random, 2);
      std::vector<uint8_t>& where = repeat % 2 ? product.a : product.b;
      const std::vector<uint8_t> bytes = pack(ab, {specials[0]});
      std::copy(bytes.begin(), bytes.end(),
                where.begin() +
                    static_cast<ptrdiff_t>(random.below(where.size() / bytes.size()) * bytes.size()));
      if (repeat % 3 == 0)
        std::memcpy(&product.c[4 * random.below(size(16, 128))],
                    &"\0\0\x80\x7f\0\0\xc0\xff"[4 * (repeat % 2)], 4);
      product.check(std::string(to_string(ab)) + " with a special");
    }
  }
}

TEST(DotLevels, SparseA) {
  Random random(27);
  for (const Arch arch : {Arch::sm_80, Arch::sm_89, Arch::sm_90})
    for (const FloatFormat ab : {f16, bf16, tf32, e4m3, e5m2})
      for (const int stored : {4, 8, 16, 32}) {
        const auto model = dot_model(arch, DotUnit::mma, ab, ab, f32, f32, 2 * stored);
        if (!model || (traits(ab).storage_bits == 8) != (stored == 32))
          continue;
        for (const OperandClass operand_class : kAllOperandClasses) {
          Product product = product_of(*model, 16, 8, stored, operand_class, random);
          product.k_b = 2 * stored;
          product.b = pack(ab, operands(ab, operand_class, random, size(8, product.k_b)));
          for (int i = 0; i < 16; ++i)
            for (int s = 0; s < stored; s += 2)
              if (ab == tf32) { // one of two
                product.a_index.push_back(static_cast<uint8_t>(2 * s + static_cast<int>(random.below(2))));
                product.a_index.push_back(
                    static_cast<uint8_t>(2 * s + 2 + static_cast<int>(random.below(2))));
              } else { // two of four
                const auto first = static_cast<int>(random.below(3));
                product.a_index.push_back(static_cast<uint8_t>(2 * s + first));
                product.a_index.push_back(
                    static_cast<uint8_t>(2 * s + first + 1 + static_cast<int>(random.below(3 - first))));
              }
          const MatrixOutputs paths = product.check("sparse " + describe(*model, operand_class));
          if (has_vectors() && operand_class == OperandClass::ordinary) {
            EXPECT_EQ(paths.scalar, 0u) << describe(*model, operand_class);
          }
        }
      }
}

TEST(DotLevels, IntegersOfEveryDepth) {
  Random random(28);
  for (const IntegerFormat a : {IntegerFormat::u4, IntegerFormat::s4, IntegerFormat::u8, IntegerFormat::s8})
    for (const IntegerFormat b : {IntegerFormat::u4, IntegerFormat::s4, IntegerFormat::u8, IntegerFormat::s8})
      for (const auto& [m, n, k] :
           {std::tuple{16, 256, 32}, std::tuple{16, 8, 64}, std::tuple{8, 8, 32}, std::tuple{16, 24, 128},
            std::tuple{64, 40, 32}, std::tuple{16, 17, 4}, std::tuple{5, 80, 12}})
        for (const bool satfinite : {false, true})
          for (const int fill : {0, 1, 2}) { // random; all the least; all the largest
            Product product{.model = dot_model_integer(a, b, satfinite),
                            .m = m,
                            .n = n,
                            .k = k,
                            .k_b = k,
                            .a = std::vector<uint8_t>(size(m, k)),
                            .b = std::vector<uint8_t>(size(n, k)),
                            .c = std::vector<uint8_t>(size(m, n) * 4),
                            .a_index = {},
                            .scale_a = {},
                            .scale_b = {}};
            for (auto* bytes : {&product.a, &product.b})
              for (uint8_t& byte : *bytes)
                byte = fill == 0 ? static_cast<uint8_t>(random.next()) : fill == 1 ? 0x88 : 0x7f;
            for (size_t i = 0; i < size(m, n); ++i) { // near both ends
              const auto c = static_cast<uint32_t>(0x7fffff00 + random.below(0x200));
              std::memcpy(&product.c[4 * i], &c, 4);
            }
            product.check(std::string(to_string(a)) + " x " + std::string(to_string(b)) + " k" +
                          std::to_string(k));
          }
}

// Indices as the ISA does not ask for them: in any order of each four columns; the same column twice.
TEST(DotLevels, SparseAInAnyOrder) {
  Random random(31);
  const DotModel models[] = {*dot_model_sparse(Arch::sm_90, DotUnit::wgmma, f16, f16, f32, f32, 32),
                             *dot_model_sparse(Arch::sm_90, DotUnit::mma, e4m3, e4m3, f32, f32, 32),
                             dot_model_integer(IntegerFormat::s8, IntegerFormat::u8, false)};
  for (const DotModel& model : models)
    for (const bool distinct : {true, false})
      for (int repeat = 0; repeat < 20; ++repeat) {
        const bool is_integer = model.scheme == DotScheme::integer;
        Product product = product_of(is_integer ? models[1] : model, 16, 8, 16, OperandClass::wide, random);
        product.model = model;
        product.k_b = 32;
        product.b.resize(product.b.size() * 2);
        std::ranges::copy_n(product.b.begin(), static_cast<ptrdiff_t>(product.b.size() / 2),
                            product.b.begin() + static_cast<ptrdiff_t>(product.b.size() / 2));
        for (int i = 0; i < 16; ++i)
          for (int s = 0; s < 16; s += 2) {
            const auto first = static_cast<int>(random.below(4));
            const auto other =
                static_cast<int>(distinct ? (first + 1 + random.below(3)) % 4 : random.below(4));
            product.a_index.push_back(static_cast<uint8_t>(2 * s + first));
            product.a_index.push_back(static_cast<uint8_t>(2 * s + other));
          }
        const MatrixOutputs paths =
            product.check(is_integer ? "integers" : describe(model, OperandClass::wide));
        if (has_vectors() && distinct) {
          EXPECT_EQ(paths.scalar, 0u);
        }
      }
}

// Elements of four bits are stored and skipped in pairs: four of eight columns.
TEST(DotLevels, SparseFourBits) {
  Random random(32);
  Product product{.model = dot_model_integer(IntegerFormat::s4, IntegerFormat::u4, false),
                  .m = 16,
                  .n = 8,
                  .k = 64,
                  .k_b = 128,
                  .a = std::vector<uint8_t>(size(16, 64)),
                  .b = std::vector<uint8_t>(size(8, 128)),
                  .c = std::vector<uint8_t>(size(16, 8) * 4),
                  .a_index = {},
                  .scale_a = {},
                  .scale_b = {}};
  for (auto* bytes : {&product.a, &product.b, &product.c})
    for (uint8_t& byte : *bytes)
      byte = static_cast<uint8_t>(random.next());
  for (int i = 0; i < 16; ++i)
    for (int s = 0; s < 64; s += 4) {
      const auto first = static_cast<int>(random.below(4)),
                 other = (first + 1 + static_cast<int>(random.below(3))) % 4;
      for (const int pair : {first, other})
        for (const int element : {0, 1})
          product.a_index.push_back(static_cast<uint8_t>(2 * s + 2 * pair + element));
    }
  const MatrixOutputs paths = product.check("s4");
  if (has_vectors()) {
    EXPECT_EQ(paths.vector, paths.total());
  }
}

// Scales of 32 products; of a sparse A too.
TEST(DotLevels, ScaledEightBitFormats) {
  Random random(33);
  for (const FloatFormat a : {e4m3, e5m2, e2m3, e3m2, e2m1})
    for (const FloatFormat b : {e4m3, e5m2, e3m2, e2m1})
      for (const bool is_sparse : {false, true})
        for (const int spread : {0, 6, 60, 127}) { // of the scales about one
          const auto model = *dot_model_block_scale(Arch::sm_120, DotUnit::mma, a, b, ue8m0, 32, 32);
          for (const OperandClass operand_class : kAllOperandClasses) {
            Product product = product_of(model, 16, 8, 32, operand_class, random);
            if (is_sparse) {
              product.k_b = 64;
              product.b = pack(b, operands(b, operand_class, random, size(8, 64)));
              for (int i = 0; i < 16; ++i)
                for (int s = 0; s < 32; s += 2) {
                  product.a_index.push_back(static_cast<uint8_t>(2 * s + static_cast<int>(random.below(2))));
                  product.a_index.push_back(
                      static_cast<uint8_t>(2 * s + 2 + static_cast<int>(random.below(2))));
                }
            }
            product.scale_a.resize(16);
            product.scale_b.resize(8);
            for (auto* scales : {&product.scale_a, &product.scale_b})
              for (uint8_t& scale : *scales)
                scale = static_cast<uint8_t>(127 - spread + static_cast<int>(random.below(2 * spread + 2)));
            const MatrixOutputs paths = product.check("scaled " + describe(model, operand_class));
            if (has_vectors() && operand_class == OperandClass::ordinary && spread <= 6) {
              EXPECT_EQ(paths.scalar, 0u) << describe(model, operand_class);
            }
          }
        }
}

TEST(DotLevels, SingleBits) {
  Random random(29);
  for (const DotScheme scheme : {DotScheme::xor_popc, DotScheme::and_popc})
    for (const auto& [m, n, k] : {std::tuple{8, 8, 128}, std::tuple{16, 8, 128}, std::tuple{16, 8, 256},
                                  std::tuple{16, 40, 256}, std::tuple{3, 5, 32}, std::tuple{16, 8, 512}})
      for (const bool is_random : {true, false}) {
        Product product{.model = dot_model_bits(scheme),
                        .m = m,
                        .n = n,
                        .k = k,
                        .k_b = k,
                        .a = std::vector<uint8_t>(size(m, k / 8)),
                        .b = std::vector<uint8_t>(size(n, k / 8)),
                        .c = std::vector<uint8_t>(size(m, n) * 4),
                        .a_index = {},
                        .scale_a = {},
                        .scale_b = {}};
        for (auto* bytes : {&product.a, &product.b, &product.c})
          for (uint8_t& byte : *bytes)
            byte = is_random ? static_cast<uint8_t>(random.next()) : 0xff;
        const MatrixOutputs paths = product.check("b1");
        if (has_vectors()) {
          EXPECT_EQ(paths.vector, paths.total());
        }
      }
}

// Plans of several families, each of the level at which it was made, take turns with one scratch.
TEST(DotLevels, PlansTakeTurnsWithOneScratch) {
  Random random(35);
  const DotModel models[] = {*dot_model(Arch::sm_90, DotUnit::mma, f16, f16, f32, f32, 16),
                             *dot_model(Arch::sm_90, DotUnit::mma, e4m3, e4m3, f32, f32, 16),
                             *dot_model(Arch::sm_90, DotUnit::mma, f64, f64, f64, f64, 16),
                             dot_model_integer(IntegerFormat::s8, IntegerFormat::s8, true)};
  for (const DotLevel level : internal::dot_levels()) {
    internal::set_dot_level(level);
    std::vector<DotPlan> plans;
    for (const DotModel& model : models)
      plans.emplace_back(model, DotShape{16, 16, 16});
    DotScratch scratch;
    for (const OperandClass operand_class : kAllOperandClasses)
      for (const DotPlan& plan : plans) {
        const Product product = product_of(plan.model(), 16, 16, 16, operand_class, random);
        MatrixOutputs paths;
        const std::vector<uint8_t> expected = product.run(DotLevel::scalar, false, paths);
        std::vector<uint8_t> d(product.c.size());
        paths =
            dot(plan, {.a = product.a.data(), .b = product.b.data(), .c = product.c.data(), .d = d.data()},
                scratch);
        d.resize(expected.size());
        EXPECT_EQ(d, expected) << describe(plan.model(), operand_class) << " at level " << to_string(level);
        if (level == DotLevel::scalar) {
          EXPECT_EQ(paths.vector, 0u);
        }
      }
  }
  internal::set_dot_level(internal::dot_levels().back());
}

// What a bench calls a failure: ordinary numbers that leave the fast way.
TEST(DotLevels, OrdinaryNumbersTakeTheVectorPath) {
  if (!has_vectors())
    GTEST_SKIP() << "this host has no vector instructions that the loops use";
  Random random(30);
  for (const FloatFormat ab : {f16, bf16, tf32, e4m3, e5m2})
    for (const DotUnit unit : {DotUnit::mma, DotUnit::wgmma}) {
      const int k = traits(ab).storage_bits == 8 ? 32 : ab == tf32 ? 8 : 16;
      const auto model = *dot_model(Arch::sm_90, unit, ab, ab, f32, f32, k);
      const Product product = product_of(model, 16, 64, k, OperandClass::ordinary, random);
      product.check("ordinary");
      for (const DotLevel level : internal::dot_levels()) {
        MatrixOutputs paths;
        product.run(level, false, paths);
        EXPECT_EQ(paths.vector, level == DotLevel::scalar ? 0 : paths.total())
            << to_string(ab) << " at level " << to_string(level);
      }
      Product special = product;
      special.a.assign(special.a.size(), 0x7f); // NaNs, or the largest numbers
      EXPECT_EQ(special.check("not ordinary").vector, 0u) << to_string(ab);
    }
}

// Finite numbers beyond the fast way are no work for the scalar code, whatever the tile's size.
TEST(DotLevels, LargeNumbersTakeTheCarefulPath) {
  if (!has_vectors())
    GTEST_SKIP() << "this host has no vector instructions that the loops use";
  Random random(31);
  for (const FloatFormat ab : {bf16, tf32})
    for (const auto& [m, n] : {std::pair{16, 8}, std::pair{16, 256}, std::pair{64, 96}}) {
      const int k = ab == tf32 ? 8 : 16;
      const auto model = *dot_model(Arch::sm_90, DotUnit::wgmma, ab, ab, f32, f32, k);
      Product product = product_of(model, m, n, k, OperandClass::ordinary, random);
      for (size_t i = bytes_of(ab) - 1; i < product.a.size(); i += bytes_of(ab)) // 2^30 times as large
        product.a[i] = static_cast<uint8_t>(product.a[i] + 15);
      product.check("large");
      for (const DotLevel level : internal::dot_levels()) {
        MatrixOutputs paths;
        product.run(level, false, paths);
        EXPECT_EQ(paths.careful, level == DotLevel::scalar ? 0 : paths.total())
            << to_string(ab) << " m" << m << "n" << n << " at level " << to_string(level);
      }
    }
}

} // namespace
} // namespace lemma::numeric
