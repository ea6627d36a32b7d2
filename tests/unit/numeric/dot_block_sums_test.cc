// Sums of blocks of e2m1 at every level of the host's vector instructions against the scalar code, bit for
// bit: both formats of scales and both sizes of their blocks, dense and sparse A, C and scales from equal to
// as far apart as their formats go, sums that cancel, NaN, overflow and results below the normal numbers; and
// which way ordinary and other numbers take. That the scalar code is right is in dot_test.cc.
#include "numeric/dot.h"
#include "numeric/dot_levels.h"
#include "numeric/hash.h"
#include "register_blocks.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

namespace lemma::numeric {
namespace {

using enum FloatFormat;
using internal::DotLevel;

bool has_vectors() {
  return internal::dot_levels().size() > 1;
}

uint8_t random_byte(Random& random) {
  return static_cast<uint8_t>(random.next());
}

struct Product {
  DotModel model;
  int m = 0, n = 0, k = 0, k_b = 0, stride = 0;
  std::vector<uint8_t> a, b, a_index, scale_a, scale_b;
  std::vector<uint32_t> c; // empty: +0

  static size_t size(int rows, int columns) {
    return static_cast<size_t>(rows) * static_cast<size_t>(columns);
  }

  // D, in place of C where `in_place`; what is beside it in the rows stays as it is.
  std::vector<uint32_t> run(DotLevel level, bool in_place, MatrixOutputs& paths) const {
    std::vector<uint32_t> d(size(m, stride), 0xdeadbeef);
    if (in_place && !c.empty())
      d = c;
    internal::set_dot_level(level);
    DotScratch scratch;
    paths = dot(DotPlan(model, {m, n, k, k_b}, {.row_stride = stride}),
                {.a = a.data(),
                 .b = b.data(),
                 .c = c.empty()  ? nullptr
                      : in_place ? d.data()
                                 : c.data(),
                 .d = d.data(),
                 .scale_a = scale_a.data(),
                 .scale_b = scale_b.data(),
                 .a_index = a_index.empty() ? nullptr : a_index.data()},
                scratch);
    internal::set_dot_level(internal::dot_levels().back());
    return d;
  }

  // The same with C and D in blocks, the same ones or not.
  std::vector<uint32_t> run_in_blocks(DotLevel level, bool in_place, MatrixOutputs& paths) const {
    std::vector<uint32_t> d(size(m, n));
    RegisterBlocks blocks(static_cast<size_t>(m), static_cast<size_t>(n) * sizeof(uint32_t));
    RegisterBlocks of_c(static_cast<size_t>(m), static_cast<size_t>(n) * sizeof(uint32_t));
    RegisterBlocks& c_blocks = in_place ? blocks : of_c;
    if (!c.empty())
      c_blocks.load(c.data());
    internal::set_dot_level(level);
    DotScratch scratch;
    paths = dot(DotPlan(model, {m, n, k, k_b}, {.blocks = DotBlocks::outputs}),
                {.a = a.data(),
                 .b = b.data(),
                 .c = c.empty() ? nullptr : c_blocks.blocks(),
                 .d = blocks.blocks(),
                 .scale_a = scale_a.data(),
                 .scale_b = scale_b.data(),
                 .a_index = a_index.empty() ? nullptr : a_index.data()},
                scratch);
    internal::set_dot_level(internal::dot_levels().back());
    blocks.store(d.data());
    return d;
  }

  // The paths of the highest level.
  MatrixOutputs check(const std::string& what) const {
    MatrixOutputs paths;
    for (const bool in_place : {false, true}) {
      const std::vector<uint32_t> expected = run(DotLevel::scalar, in_place, paths);
      EXPECT_EQ(paths.scalar, paths.total()) << what;
      for (const DotLevel level : internal::dot_levels()) {
        EXPECT_EQ(run(level, in_place, paths), expected) << what << " at level " << to_string(level);
        EXPECT_EQ(paths.total(), static_cast<uint64_t>(m) * static_cast<uint64_t>(n)) << what;
      }
    }
    if (m % 8 == 0 && n % 4 == 0 && stride == n) {
      const std::vector<uint32_t> expected = run(DotLevel::scalar, false, paths);
      for (const DotLevel level : internal::dot_levels()) {
        EXPECT_EQ(run_in_blocks(level, false, paths), expected)
            << what << " at level " << to_string(level) << ", C and D in blocks";
        EXPECT_EQ(run_in_blocks(level, true, paths), expected)
            << what << " at level " << to_string(level) << ", C and D in the same blocks";
        EXPECT_EQ(paths.total(), static_cast<uint64_t>(m) * static_cast<uint64_t>(n)) << what;
      }
    }
    return paths;
  }
};

struct Form {
  FloatFormat scale;
  int scale_block;
  bool is_sparse;
};

constexpr Form kForms[] = {{ue8m0, 32, false}, {ue8m0, 32, true}, {ue8m0, 16, false}, {ue8m0, 16, true},
                           {ue4m3, 16, false}, {ue4m3, 16, true}, {ue4m3, 32, false}, {ue4m3, 32, true}};

std::string describe(const Form& form) {
  return std::string(to_string(form.scale)) + " of " + std::to_string(form.scale_block) +
         (form.is_sparse ? ", sparse" : ", dense");
}

// Four of each eight columns, in pairs as elements of four bits are stored.
std::vector<uint8_t> indices(int rows, int stored, Random& random) {
  std::vector<uint8_t> out;
  for (int i = 0; i < rows; ++i)
    for (int s = 0; s < stored; s += 4) {
      const auto first = static_cast<int>(random.below(3)),
                 second = first + 1 + static_cast<int>(random.below(3 - static_cast<uint64_t>(first)));
      for (const int pair : {first, second})
        for (const int element : {0, 1})
          out.push_back(static_cast<uint8_t>(2 * s + 2 * pair + element));
    }
  return out;
}

// Random elements (all bits of a byte: the high ones do not count), scales of one, C of zero.
Product product_of(const Form& form, int m, int n, Random& random, int k = 64) {
  Product out{.model = *dot_model_block_scale(Arch::sm_120, DotUnit::mma, e2m1, e2m1, form.scale, 64,
                                              form.scale_block),
              .m = m,
              .n = n,
              .k = k,
              .k_b = form.is_sparse ? 2 * k : k,
              .stride = n,
              .a = std::vector<uint8_t>(Product::size(m, k)),
              .b = std::vector<uint8_t>(Product::size(n, form.is_sparse ? 2 * k : k)),
              .a_index = {},
              .scale_a = std::vector<uint8_t>(Product::size(m, k / form.scale_block),
                                              form.scale == ue8m0 ? 127 : 0x38),
              .scale_b = std::vector<uint8_t>(Product::size(n, k / form.scale_block),
                                              form.scale == ue8m0 ? 127 : 0x38),
              .c = std::vector<uint32_t>(Product::size(m, n))};
  for (auto* bytes : {&out.a, &out.b})
    for (uint8_t& byte : *bytes)
      byte = random_byte(random);
  if (form.is_sparse)
    out.a_index = indices(m, k, random);
  return out;
}

// Scales from `center` - spread to center + spread, all that are no NaN.
void set_scales(Product& product, int center, int spread, Random& random) {
  const int last = product.model.scale == ue8m0 ? 254 : 126;
  for (auto* scales : {&product.scale_a, &product.scale_b})
    for (uint8_t& scale : *scales)
      scale = static_cast<uint8_t>(std::clamp(
          center - spread + static_cast<int>(random.below(2 * static_cast<uint64_t>(spread) + 1)), 0, last));
}

// Accumulators with exponent fields from `least` to `most`, a few of them zero.
void set_c(Product& product, int least, int most, Random& random) {
  for (uint32_t& c : product.c) {
    const uint64_t field =
        static_cast<uint64_t>(least) + random.below(static_cast<uint64_t>(most - least + 1));
    c = static_cast<uint32_t>((random.next() & 0x807fffff) | field << 23);
    if (random.below(16) == 0)
      c &= 0x80000000;
  }
}

TEST(DotBlockSums, ScalesAndAccumulatorsNearAndFarApart) {
  Random random(41);
  for (const Form& form : kForms)
    for (const int spread : {0, 3, 12, 40, 127})
      for (const auto& [least, most] : {std::pair{0, 0}, std::pair{120, 135}, std::pair{80, 170},
                                        std::pair{1, 254}, std::pair{160, 175}}) {
        Product product = product_of(form, 16, 8, random);
        const int middle = form.scale == ue8m0 ? 127 : 0x38;
        for (int repeat = 0; repeat < 6; ++repeat) {
          set_scales(product, middle, spread, random);
          set_c(product, least, most, random);
          if (least == 0) // subnormal ones
            for (uint32_t& c : product.c)
              c &= repeat % 2 ? 0 : 0x807fffff;
          const MatrixOutputs paths = product.check(describe(form) + ", spread " + std::to_string(spread));
          if (has_vectors() && spread <= 12 && least >= 80) {
            EXPECT_EQ(paths.vector, paths.total()) << describe(form);
          }
        }
      }
}

// Scales about every place of their range: results from zero to infinity, subnormal scales of ue4m3.
TEST(DotBlockSums, ScalesEverywhere) {
  Random random(42);
  for (const Form& form : kForms)
    for (int center = 0; center < (form.scale == ue8m0 ? 255 : 127); ++center) {
      Product product = product_of(form, 16, 8, random);
      set_scales(product, center, 2, random);
      const int field = form.scale == ue8m0 ? std::clamp(2 * center - 127, 0, 250) : center / 4 + 110;
      set_c(product, std::max(field - 3, 0), field + 4, random);
      if (center % 3 == 0)
        product.c.clear();
      product.check(describe(form) + " about " + std::to_string(center));
    }
}

// Results at the two ends of f32's normal numbers.
TEST(DotBlockSums, ResultsAtTheEnds) {
  Random random(43);
  for (const Form& form : {kForms[0], kForms[1]})
    for (const int of_a : {0, 10, 100, 127, 190, 254})
      for (const int sum : {-134, -130, -126, -122, 112, 116, 118, 120, 122, 127})
        for (int repeat = 0; repeat < 4; ++repeat) {
          const int of_b = sum - (of_a - 127) + 127;
          if (of_b < 0 || of_b > 254)
            continue;
          Product product = product_of(form, 16, 8, random);
          std::ranges::fill(product.scale_a, static_cast<uint8_t>(of_a));
          std::ranges::fill(product.scale_b, static_cast<uint8_t>(of_b));
          const int field = std::clamp(sum + 127, 0, 250);
          if (repeat != 0)
            set_c(product, std::max(field - repeat, 0), field + 4, random);
          product.check(describe(form) + " at 2^" + std::to_string(sum));
        }
}

// A large sum less one so small that it is just kept, or just cut off; where C is zero also below the least
// exponent that an accumulator has.
TEST(DotBlockSums, TermsAboutTheCut) {
  Random random(49);
  for (const Form& form : {kForms[0], kForms[1]})
    for (const int exponent : {-130, -128, -127, -126, -120, 0, 100})
      for (int gap = 26; gap < 44; ++gap) {
        Product product = product_of(form, 16, 8, random);
        const size_t k = static_cast<size_t>(product.k);
        for (size_t i = 0; i < product.a.size(); ++i) // of the second block one element
          product.a[i] = i % k < k / 2 ? 7 : i % k == k / 2 + i / k ? 9 + i / k % 7 : 0;
        for (size_t i = 0; i < product.b.size(); ++i)
          product.b[i] = static_cast<uint8_t>(1 + random.below(7));
        for (size_t i = 0; i < product.scale_a.size(); ++i)
          product.scale_a[i] = static_cast<uint8_t>(127 - (i % 2 ? gap : 0));
        std::ranges::fill(product.scale_b, static_cast<uint8_t>(std::max(127 + exponent, 0)));
        if (exponent < -127)
          for (uint8_t& scale : product.scale_a)
            scale = static_cast<uint8_t>(scale + exponent + 127);
        product.check(describe(form) + ", 2^" + std::to_string(exponent) + ", cut " + std::to_string(gap));
      }
}

// Elements so that the groups cancel each other, or all products are the largest there are.
TEST(DotBlockSums, CancellationAndLargestSums) {
  Random random(44);
  for (const Form& form : kForms)
    for (int repeat = 0; repeat < 30; ++repeat) {
      Product product = product_of(form, 16, 8, random);
      const auto k = static_cast<size_t>(product.k), k_b = static_cast<size_t>(product.k_b);
      for (size_t i = 0; i < product.a.size(); ++i) {
        const bool negative = repeat % 3 == 0 ? i % k >= k / 2 : repeat % 3 == 1 && i % 2;
        product.a[i] = static_cast<uint8_t>(7 - (repeat >= 15 && random.below(32) == 0) + 8 * negative);
      }
      for (size_t i = 0; i < product.b.size(); ++i)
        product.b[i] = static_cast<uint8_t>(7 + 8 * (repeat % 5 == 0 && i / k_b % 2));
      set_scales(product, form.scale == ue8m0 ? 127 : 0x3f, repeat / 10, random);
      if (repeat % 2) // about the sum's own size
        set_c(product, 100, 140, random);
      const MatrixOutputs paths = product.check(describe(form) + ", large sums");
      if (has_vectors()) {
        EXPECT_EQ(paths.vector, paths.total()) << describe(form);
      }
    }
}

// A zero's sum has its scales' exponent all the same; a scale of zero has none.
TEST(DotBlockSums, GroupsOfZeros) {
  Random random(45);
  for (const Form& form : kForms)
    for (int repeat = 0; repeat < 40; ++repeat) {
      Product product = product_of(form, 16, 8, random);
      set_scales(product, form.scale == ue8m0 ? 127 : 0x38, form.scale == ue8m0 ? 30 : 0x38, random);
      const size_t blocks = product.scale_a.size() / 16;
      for (size_t i = 0; i < product.a.size(); ++i)
        if ((i / 16 + static_cast<size_t>(repeat)) % 3 != 0)
          product.a[i] &= 0xf8; // of either sign
      if (form.scale == ue4m3)
        for (auto* scales : {&product.scale_a, &product.scale_b})
          for (uint8_t& scale : *scales)
            if (random.below(3) == 0)
              scale = static_cast<uint8_t>(random.below(2) << 7); // the top bit is ignored
      if (repeat % 8 == 7)                                        // nothing at all
        std::fill_n(product.scale_a.begin(), blocks * 4, uint8_t{0});
      set_c(product, 60 + repeat, 62 + 2 * repeat, random);
      if (repeat % 4 == 0)
        std::ranges::fill(product.c, repeat % 8 ? 0x80000000 : 0);
      product.check(describe(form) + ", zeros");
    }
}

TEST(DotBlockSums, NanAndInfinityInAFewPlaces) {
  Random random(46);
  for (const Form& form : kForms)
    for (int repeat = 0; repeat < 20; ++repeat) {
      Product product = product_of(form, 16, 24, random);
      set_c(product, 120, 135, random);
      std::vector<uint8_t>& scales = repeat % 2 ? product.scale_a : product.scale_b;
      if (repeat % 4 != 3)
        scales[random.below(scales.size())] = form.scale == ue8m0 ? 0xff : repeat % 3 ? 0x7f : 0xff;
      constexpr uint32_t kSpecial[] = {0x7f800000, 0xff800000, 0x7fc00000, 0xff800001};
      if (repeat % 5 != 4)
        product.c[random.below(product.c.size())] = kSpecial[random.below(4)];
      const MatrixOutputs paths = product.check(describe(form) + " with a special");
      if (has_vectors()) {
        EXPECT_GT(paths.vector, 0u);
      }
    }
}

TEST(DotBlockSums, TilesOfAnySize) {
  Random random(47);
  for (const Form& form : kForms)
    for (const int k : {32, 64, 96, 128})
      for (const int m : {1, 16, 65})
        for (const int n : {1, 7, 8, 9, 12, 24, 33}) {
          Product product = product_of(form, m, n, random, k);
          product.stride = n % 4 == 0 ? n : n + 3;
          product.c.resize(Product::size(m, product.stride));
          set_scales(product, form.scale == ue8m0 ? 127 : 0x38, 3, random);
          set_c(product, 120, 135, random);
          const MatrixOutputs paths = product.check(describe(form) + ", " + std::to_string(m) + "x" +
                                                    std::to_string(n) + "x" + std::to_string(k));
          if (has_vectors() && product.k_b <= 128) {
            EXPECT_EQ(paths.vector, paths.total()) << describe(form);
          }
        }
}

// Indices as the ISA does not ask for them: in any order within 32 columns, one twice, one of other columns,
// a pair twice.
TEST(DotBlockSums, SparseAInAnyOrder) {
  Random random(48);
  for (const Form& form : {kForms[1], kForms[5]})
    for (const int kind : {0, 1, 2, 3})
      for (int repeat = 0; repeat < 10; ++repeat) {
        Product product = product_of(form, 16, 8, random);
        set_c(product, 120, 135, random);
        for (size_t group = 0; kind != 3 && group < product.a_index.size(); group += 16)
          for (size_t i = 15; i > 0; --i)
            std::swap(product.a_index[group + i], product.a_index[group + random.below(i + 1)]);
        const size_t last = product.a_index.size() - 1;
        if (kind == 1)
          product.a_index[last] = product.a_index[last - 1];
        if (kind == 2)
          product.a_index[last] = static_cast<uint8_t>(random.below(96));
        if (kind == 3)
          std::copy_n(product.a_index.end() - 4, 2, product.a_index.end() - 2);
        const MatrixOutputs paths = product.check(describe(form) + ", any order");
        if (has_vectors() && kind == 0) {
          EXPECT_EQ(paths.vector, paths.total());
        }
      }
}

} // namespace
} // namespace lemma::numeric
