// Fragments: every element is held as often as it should be, and where the PTX ISA's formulae say.
//
// The formulae of "Matrix Fragments for mma.m..." are written out here a second time, in the ISA's own terms
// (groupID, threadID_in_group, index i of the element), so that a wrong stride cannot hide. The wmma tables
// are what ptxas's code for wmma.load reads, register by register.
#include "layout/fragment.h"
#include "layout/tile_map.h"

#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <map>
#include <numeric>

namespace lemma::layout {
namespace {

// Holders of each element; anything outside the matrix fails.
std::map<std::pair<int, int>, int> coverage(const Fragment& f) {
  std::map<std::pair<int, int>, int> holders;
  for (int lane = 0; lane < f.lanes(); ++lane)
    for (int reg = 0; reg < f.registers(); ++reg)
      for (int elem = 0; elem < f.elems_per_register(); ++elem) {
        const Coord at = f.at({lane, reg, elem});
        EXPECT_TRUE(at.row >= 0 && at.row < f.rows && at.col >= 0 && at.col < f.cols)
            << at.row << "," << at.col;
        ++holders[{at.row, at.col}];
      }
  return holders;
}

void expect_covered(const Fragment& f, int copies, const std::string& what) {
  SCOPED_TRACE(what);
  EXPECT_EQ(f.lanes(), 32);
  EXPECT_EQ(f.elems_per_register() * f.element_bits, f.register_bits);
  EXPECT_EQ(f.copies(), copies);
  const auto holders = coverage(f);
  EXPECT_EQ(holders.size(), static_cast<size_t>(f.rows) * static_cast<size_t>(f.cols));
  for (const auto& [at, count] : holders) {
    EXPECT_EQ(count, copies) << at.first << "," << at.second;
    const auto place = f.find({at.first, at.second});
    ASSERT_TRUE(place.has_value());
    EXPECT_EQ(f.at(*place), (Coord{at.first, at.second}));
    EXPECT_LT(place->reg, f.distinct_registers());
  }
  EXPECT_FALSE(f.find({f.rows, 0}).has_value());
}

// row and col as the ISA gives them, from g = groupID, t = threadID_in_group and i, the element's index.
using Formula = std::function<Coord(int g, int t, int i)>;

void expect_formula(const Fragment& f, const Formula& formula, const std::string& what) {
  SCOPED_TRACE(what);
  const int per_register = f.elems_per_register();
  for (int lane = 0; lane < 32; ++lane)
    for (int i = 0; i < f.registers() * per_register; ++i)
      EXPECT_EQ(f.at({lane, i / per_register, i % per_register}), formula(lane >> 2, lane % 4, i))
          << "lane " << lane << " element " << i;
}

// "Register Fragments for wgmma": of D, row = 16 * warp + g (+ 8), col = 8 * (i / 4) + 2 * t + i % 2; A
// likewise.
TEST(Fragment, OfAWarpgroup) {
  for (const int bits : {16, 32}) {
    const Fragment d = wgmma_fragment(Matrix::d, {64, 24, 16}, bits);
    EXPECT_EQ(d.lanes(), 128);
    EXPECT_EQ(d.registers(), bits == 16 ? 6 : 12);
    EXPECT_EQ(coverage(d).size(), 64u * 24);
    const int elems = d.elems_per_register();
    for (int thread = 0; thread < 128; ++thread)
      for (int i = 0; i < 12; ++i)
        EXPECT_EQ(
            d.at({thread, i / elems, i % elems}),
            (Coord{thread / 32 * 16 + thread % 32 / 4 + i / 2 % 2 * 8, i / 4 * 8 + thread % 4 * 2 + i % 2}));
  }
  for (const int bits : {1, 8, 16, 32}) {
    const Fragment a = wgmma_fragment(Matrix::a, {64, 8, 256 / bits}, bits);
    EXPECT_EQ(a.registers(), 4);
    EXPECT_EQ(coverage(a).size(), 64u * 256 / static_cast<size_t>(bits));
    const int packed = 32 / bits;
    for (int thread = 0; thread < 128; ++thread)
      for (int i = 0; i < 4 * packed; ++i)
        EXPECT_EQ(a.at({thread, i / packed, i % packed}),
                  (Coord{thread / 32 * 16 + thread % 32 / 4 + i / packed % 2 * 8,
                         i / (2 * packed) * 4 * packed + thread % 4 * packed + i % packed}));
  }
}

struct MmaCase {
  Shape shape;
  int bits; // of A and B
  int accumulator_bits;
};

constexpr MmaCase kMma[] = {
    {{16, 8, 8}, 16, 16},  {{16, 8, 8}, 16, 32},  {{16, 8, 16}, 16, 16}, {{16, 8, 16}, 16, 32},
    {{16, 8, 4}, 32, 32},  {{16, 8, 8}, 32, 32},  {{8, 8, 4}, 64, 64},   {{16, 8, 4}, 64, 64},
    {{16, 8, 8}, 64, 64},  {{16, 8, 16}, 64, 64}, {{8, 8, 16}, 8, 32},   {{16, 8, 16}, 8, 32},
    {{16, 8, 32}, 8, 32},  {{8, 8, 32}, 4, 32},   {{16, 8, 64}, 4, 32},  {{16, 8, 128}, 1, 32},
    {{16, 8, 256}, 1, 32}, {{8, 8, 128}, 1, 32},
};

std::string name(const MmaCase& c) {
  return "m" + std::to_string(c.shape.m) + "n" + std::to_string(c.shape.n) + "k" + std::to_string(c.shape.k) +
         " of " + std::to_string(c.bits) + " bits";
}

TEST(MmaFragment, HoldsEveryElementOnce) {
  for (const MmaCase& c : kMma) {
    expect_covered(mma_fragment(Matrix::a, c.shape, c.bits), 1, "A " + name(c));
    expect_covered(mma_fragment(Matrix::b, c.shape, c.bits), 1, "B " + name(c));
    expect_covered(mma_fragment(Matrix::c, c.shape, c.accumulator_bits), 1, "C " + name(c));
  }
}

TEST(MmaFragment, AgreesWithTheIsaA) {
  const auto a = [](Shape shape, int bits) { return mma_fragment(Matrix::a, shape, bits); };
  expect_formula(
      a({16, 8, 8}, 16), [](int g, int t, int i) { return Coord{i < 2 ? g : g + 8, t * 2 + (i & 1)}; },
      "m16n8k8 f16");
  expect_formula(
      a({16, 8, 16}, 16),
      [](int g, int t, int i) {
        const bool top = i < 2 || (i >= 4 && i < 6);
        return Coord{top ? g : g + 8, t * 2 + (i & 1) + (i < 4 ? 0 : 8)};
      },
      "m16n8k16 f16");
  expect_formula(
      a({16, 8, 4}, 32), [](int g, int t, int i) { return Coord{i == 0 ? g : g + 8, t}; }, "m16n8k4 tf32");
  expect_formula(
      a({16, 8, 8}, 32),
      [](int g, int t, int i) { return Coord{i == 0 || i == 2 ? g : g + 8, i < 2 ? t : t + 4}; },
      "m16n8k8 tf32");
  expect_formula(a({8, 8, 4}, 64), [](int g, int t, int) { return Coord{g, t}; }, "m8n8k4 f64");
  expect_formula(
      a({16, 8, 4}, 64), [](int g, int t, int i) { return Coord{i == 0 ? g : g + 8, t}; }, "m16n8k4 f64");
  expect_formula(
      a({16, 8, 8}, 64),
      [](int g, int t, int i) { return Coord{i == 0 || i == 2 ? g : g + 8, i < 2 ? t : t + 4}; },
      "m16n8k8 f64");
  expect_formula(
      a({16, 8, 16}, 64),
      [](int g, int t, int i) { return i % 2 == 0 ? Coord{g, i * 2 + t} : Coord{g + 8, i * 2 - 2 + t}; },
      "m16n8k16 f64");
  expect_formula(a({8, 8, 16}, 8), [](int g, int t, int i) { return Coord{g, t * 4 + i}; }, "m8n8k16 s8");
  expect_formula(
      a({16, 8, 16}, 8), [](int g, int t, int i) { return Coord{i < 4 ? g : g + 8, t * 4 + (i & 3)}; },
      "m16n8k16 s8");
  expect_formula(
      a({16, 8, 32}, 8),
      [](int g, int t, int i) {
        const bool top = i < 4 || (i >= 8 && i < 12);
        return Coord{top ? g : g + 8, t * 4 + (i & 3) + (i < 8 ? 0 : 16)};
      },
      "m16n8k32 s8");
}

TEST(MmaFragment, AgreesWithTheIsaB) {
  const auto b = [](Shape shape, int bits) { return mma_fragment(Matrix::b, shape, bits); };
  expect_formula(b({16, 8, 8}, 16), [](int g, int t, int i) { return Coord{t * 2 + i, g}; }, "m16n8k8 f16");
  expect_formula(
      b({16, 8, 16}, 16), [](int g, int t, int i) { return Coord{t * 2 + (i & 1) + (i < 2 ? 0 : 8), g}; },
      "m16n8k16 f16");
  expect_formula(b({16, 8, 4}, 32), [](int g, int t, int) { return Coord{t, g}; }, "m16n8k4 tf32");
  expect_formula(
      b({16, 8, 8}, 32), [](int g, int t, int i) { return Coord{i == 0 ? t : t + 4, g}; }, "m16n8k8 tf32");
  expect_formula(b({8, 8, 4}, 64), [](int g, int t, int) { return Coord{t, g}; }, "m8n8k4 f64");
  expect_formula(
      b({16, 8, 8}, 64), [](int g, int t, int i) { return Coord{i == 0 ? t : t + 4, g}; }, "m16n8k8 f64");
  expect_formula(b({16, 8, 16}, 64), [](int g, int t, int i) { return Coord{t + i * 4, g}; }, "m16n8k16 f64");
  expect_formula(b({8, 8, 16}, 8), [](int g, int t, int i) { return Coord{t * 4 + i, g}; }, "m8n8k16 s8");
  expect_formula(b({16, 8, 16}, 8), [](int g, int t, int i) { return Coord{t * 4 + i, g}; }, "m16n8k16 s8");
  expect_formula(
      b({16, 8, 32}, 8), [](int g, int t, int i) { return Coord{t * 4 + (i & 3) + (i < 4 ? 0 : 16), g}; },
      "m16n8k32 s8");
}

TEST(MmaFragment, AgreesWithTheIsaC) {
  const Formula m16 = [](int g, int t, int i) { return Coord{i < 2 ? g : g + 8, t * 2 + (i & 1)}; };
  const Formula m8 = [](int g, int t, int i) { return Coord{g, t * 2 + i}; };
  for (const MmaCase& c : kMma)
    expect_formula(mma_fragment(Matrix::c, c.shape, c.accumulator_bits), c.shape.m == 16 ? m16 : m8, name(c));
}

TEST(M8n8k4Fragment, HoldsEveryElementOfFourMatricesOnce) {
  for (const MajorOrder order : {MajorOrder::row, MajorOrder::col}) {
    expect_covered(m8n8k4_a(order), 1, "A");
    expect_covered(m8n8k4_b(order), 1, "B");
  }
  expect_covered(m8n8k4_c(16), 1, "C f16");
  expect_covered(m8n8k4_c(32), 1, "C f32");
}

TEST(M8n8k4Fragment, AgreesWithTheIsa) {
  for (int lane = 0; lane < 32; ++lane) {
    const int matrix = lane / 4 % 4, high = lane < 16 ? 0 : 4, in_quad = lane % 4;
    for (int i = 0; i < 4; ++i) {
      const Place place{lane, i / 2, i % 2};
      EXPECT_EQ(m8n8k4_a(MajorOrder::row).at(place), (Coord{8 * matrix + in_quad + high, i}));
      EXPECT_EQ(m8n8k4_a(MajorOrder::col).at(place), (Coord{8 * matrix + i + high, in_quad}));
      EXPECT_EQ(m8n8k4_b(MajorOrder::row).at(place), (Coord{in_quad, 8 * matrix + i + high}));
      EXPECT_EQ(m8n8k4_b(MajorOrder::col).at(place), (Coord{i, 8 * matrix + in_quad + high}));
    }
    for (int i = 0; i < 8; ++i) {
      EXPECT_EQ(m8n8k4_c(16).at({lane, i / 2, i % 2}), (Coord{8 * matrix + in_quad + high, i}));
      const int x = (lane & 1) + (i & 2);
      EXPECT_EQ(m8n8k4_c(32).at({lane, i, 0}),
                (Coord{8 * matrix + x + high, (i & 4) + (lane & 2) + (i & 1)}));
    }
  }
}

struct WmmaCase {
  const char* what;
  Matrix matrix;
  Shape shape;
  int bits;
  std::array<Coord, 5> lane_bits; // what each bit of the lane adds
  std::vector<Coord> registers;   // element 0 of each, in lane 0
  Coord next;                     // element 1 less element 0
};

// Read from the addresses of ptxas's code, sm_90a.
const WmmaCase kWmma[] = {
    {"a m16n16k16 f16",
     Matrix::a,
     {16, 16, 16},
     16,
     {{{0, 2}, {0, 4}, {1, 0}, {2, 0}, {4, 0}}},
     {{0, 0}, {8, 0}, {0, 8}, {8, 8}},
     {0, 1}},
    {"b m16n16k16 f16",
     Matrix::b,
     {16, 16, 16},
     16,
     {{{2, 0}, {4, 0}, {0, 1}, {0, 2}, {0, 4}}},
     {{0, 0}, {8, 0}, {0, 8}, {8, 8}},
     {1, 0}},
    {"c m16n16k16 f16",
     Matrix::c,
     {16, 16, 16},
     16,
     {{{0, 2}, {0, 4}, {1, 0}, {2, 0}, {4, 0}}},
     {{0, 0}, {8, 0}, {0, 8}, {8, 8}},
     {0, 1}},
    {"a m32n8k16 f16",
     Matrix::a,
     {32, 8, 16},
     16,
     {{{0, 2}, {0, 4}, {1, 0}, {2, 0}, {4, 0}}},
     {{0, 0}, {8, 0}, {0, 8}, {8, 8}, {16, 0}, {24, 0}, {16, 8}, {24, 8}},
     {0, 1}},
    {"b m32n8k16 f16",
     Matrix::b,
     {32, 8, 16},
     16,
     {{{2, 0}, {4, 0}, {0, 1}, {0, 2}, {0, 4}}},
     {{0, 0}, {8, 0}},
     {1, 0}},
    {"c m32n8k16 f16",
     Matrix::c,
     {32, 8, 16},
     16,
     {{{0, 2}, {0, 4}, {1, 0}, {2, 0}, {4, 0}}},
     {{0, 0}, {8, 0}, {16, 0}, {24, 0}},
     {0, 1}},
    {"a m8n32k16 f16",
     Matrix::a,
     {8, 32, 16},
     16,
     {{{0, 2}, {0, 4}, {1, 0}, {2, 0}, {4, 0}}},
     {{0, 0}, {0, 8}},
     {0, 1}},
    {"b m8n32k16 f16",
     Matrix::b,
     {8, 32, 16},
     16,
     {{{2, 0}, {4, 0}, {0, 1}, {0, 2}, {0, 4}}},
     {{0, 0}, {0, 8}, {8, 0}, {8, 8}, {0, 16}, {0, 24}, {8, 16}, {8, 24}},
     {1, 0}},
    {"c m8n32k16 f16",
     Matrix::c,
     {8, 32, 16},
     16,
     {{{2, 0}, {4, 0}, {0, 1}, {0, 2}, {0, 4}}},
     {{0, 0}, {0, 8}, {0, 16}, {0, 24}},
     {1, 0}},
    {"c m16n16k16 f32",
     Matrix::c,
     {16, 16, 16},
     32,
     {{{0, 2}, {0, 4}, {1, 0}, {2, 0}, {4, 0}}},
     {{0, 0}, {0, 1}, {8, 0}, {8, 1}, {0, 8}, {0, 9}, {8, 8}, {8, 9}},
     {}},
    {"c m32n8k16 f32",
     Matrix::c,
     {32, 8, 16},
     32,
     {{{0, 2}, {0, 4}, {1, 0}, {2, 0}, {4, 0}}},
     {{0, 0}, {0, 1}, {8, 0}, {8, 1}, {16, 0}, {16, 1}, {24, 0}, {24, 1}},
     {}},
    {"c m8n32k16 f32",
     Matrix::c,
     {8, 32, 16},
     32,
     {{{2, 0}, {4, 0}, {0, 1}, {0, 2}, {0, 4}}},
     {{0, 0}, {1, 0}, {0, 8}, {1, 8}, {0, 16}, {1, 16}, {0, 24}, {1, 24}},
     {}},
    {"a m16n16k16 u8",
     Matrix::a,
     {16, 16, 16},
     8,
     {{{0, 4}, {0, 8}, {1, 0}, {2, 0}, {4, 0}}},
     {{0, 0}, {8, 0}},
     {0, 1}},
    {"b m16n16k16 u8",
     Matrix::b,
     {16, 16, 16},
     8,
     {{{4, 0}, {8, 0}, {0, 1}, {0, 2}, {0, 4}}},
     {{0, 0}, {0, 8}},
     {1, 0}},
    {"a m32n8k16 u8",
     Matrix::a,
     {32, 8, 16},
     8,
     {{{0, 4}, {0, 8}, {1, 0}, {2, 0}, {4, 0}}},
     {{0, 0}, {8, 0}, {16, 0}, {24, 0}},
     {0, 1}},
    {"b m32n8k16 u8",
     Matrix::b,
     {32, 8, 16},
     8,
     {{{4, 0}, {8, 0}, {0, 1}, {0, 2}, {0, 4}}},
     {{0, 0}},
     {1, 0}},
    {"a m8n32k16 u8",
     Matrix::a,
     {8, 32, 16},
     8,
     {{{0, 4}, {0, 8}, {1, 0}, {2, 0}, {4, 0}}},
     {{0, 0}},
     {0, 1}},
    {"b m8n32k16 u8",
     Matrix::b,
     {8, 32, 16},
     8,
     {{{4, 0}, {8, 0}, {0, 1}, {0, 2}, {0, 4}}},
     {{0, 0}, {0, 8}, {0, 16}, {0, 24}},
     {1, 0}},
    {"a m16n16k8 tf32",
     Matrix::a,
     {16, 16, 8},
     32,
     {{{0, 1}, {0, 2}, {1, 0}, {2, 0}, {4, 0}}},
     {{0, 0}, {8, 0}, {0, 4}, {8, 4}},
     {}},
    {"b m16n16k8 tf32",
     Matrix::b,
     {16, 16, 8},
     32,
     {{{1, 0}, {2, 0}, {0, 1}, {0, 2}, {0, 4}}},
     {{0, 0}, {4, 0}, {0, 8}, {4, 8}},
     {}},
    {"a m8n8k4 f64", Matrix::a, {8, 8, 4}, 64, {{{0, 1}, {0, 2}, {1, 0}, {2, 0}, {4, 0}}}, {{0, 0}}, {}},
    {"b m8n8k4 f64", Matrix::b, {8, 8, 4}, 64, {{{1, 0}, {2, 0}, {0, 1}, {0, 2}, {0, 4}}}, {{0, 0}}, {}},
    {"c m8n8k4 f64",
     Matrix::c,
     {8, 8, 4},
     64,
     {{{0, 2}, {0, 4}, {1, 0}, {2, 0}, {4, 0}}},
     {{0, 0}, {0, 1}},
     {}},
};

TEST(WmmaFragment, IsWhatTheAssemblerLoads) {
  for (const WmmaCase& c : kWmma) {
    SCOPED_TRACE(c.what);
    const Fragment f = wmma_fragment(c.matrix, c.shape, c.bits);
    expect_covered(f, 1, c.what);
    ASSERT_EQ(f.registers(), static_cast<int>(c.registers.size()));
    for (int lane = 0; lane < 32; ++lane)
      for (int reg = 0; reg < f.registers(); ++reg)
        for (int elem = 0; elem < f.elems_per_register(); ++elem) {
          Coord want = c.registers[static_cast<size_t>(reg)];
          want.row += elem * c.next.row;
          want.col += elem * c.next.col;
          for (size_t bit = 0; bit < 5; ++bit)
            if (lane >> bit & 1) {
              want.row += c.lane_bits[bit].row;
              want.col += c.lane_bits[bit].col;
            }
          EXPECT_EQ(f.at({lane, reg, elem}), want) << lane << " " << reg << " " << elem;
        }
  }
}

TEST(WmmaFragment, RepeatsF16ToEightRegisters) {
  for (const Shape shape : {Shape{16, 16, 16}, Shape{32, 8, 16}, Shape{8, 32, 16}})
    for (const Matrix matrix : {Matrix::a, Matrix::b}) {
      const Fragment once = wmma_fragment(matrix, shape, 16);
      const Fragment f = repeated(once, kWmmaF16Registers);
      EXPECT_EQ(f.registers(), 8);
      expect_covered(f, 8 / once.registers(), "repeated");
      for (int lane = 0; lane < 32; ++lane)
        for (int reg = 0; reg < 8; ++reg)
          EXPECT_EQ(f.at({lane, reg, 0}), once.at({lane, reg % once.registers(), 0}));
    }
}

TEST(M8n8Fragment, AgreesWithTheIsa) {
  for (const int num : {1, 2, 4}) {
    expect_covered(m8n8_b16(num, false), 1, "ldmatrix");
    expect_covered(m8n8_b16(num, true), 1, "ldmatrix.trans");
    for (int lane = 0; lane < 32; ++lane)
      for (int reg = 0; reg < num; ++reg)
        for (int elem = 0; elem < 2; ++elem) {
          EXPECT_EQ(m8n8_b16(num, false).at({lane, reg, elem}),
                    (Coord{8 * reg + lane / 4, lane % 4 * 2 + elem}));
          EXPECT_EQ(m8n8_b16(num, true).at({lane, reg, elem}),
                    (Coord{8 * reg + lane % 4 * 2 + elem, lane / 4}));
        }
  }
}

// Bytes: lane 4 * g + q. A row of memory is the second index; what is transposed on the way swaps them.
TEST(M8n8Fragment, OfBytesAgreesWithTheIsa) {
  for (const int num : {1, 2, 4}) {
    expect_covered(m8n16_b8(num), 1, "ldmatrix m8n16");
    expect_covered(m16n16_b8(num), 1, "ldmatrix m16n16");
    expect_covered(m16n8_b8(num), 1, "stmatrix m16n8");
    for (int lane = 0; lane < 32; ++lane)
      for (int reg = 0; reg < num; ++reg)
        for (int elem = 0; elem < 4; ++elem) {
          const int g = lane / 4, q = lane % 4;
          EXPECT_EQ(m8n16_b8(num).at({lane, reg, elem}), (Coord{8 * reg + g, 4 * q + elem}));
          EXPECT_EQ(m16n16_b8(num).at({lane, 2 * reg, elem}), (Coord{16 * reg + 4 * q + elem, g}));
          EXPECT_EQ(m16n16_b8(num).at({lane, 2 * reg + 1, elem}), (Coord{16 * reg + 4 * q + elem, g + 8}));
          // Elements c0 to c3 of an accumulator of m16n8, column by column.
          const Coord c = mma_c(16, 8, 32).at({lane, elem, 0});
          EXPECT_EQ(m16n8_b8(num).at({lane, reg, elem}), (Coord{8 * reg + c.col, c.row}));
        }
  }
}

// One matrix through registers and back, and every register against at().
void expect_round_trip(const Fragment& f, MajorOrder order) {
  const TileMap map(f, order);
  const size_t bytes = static_cast<size_t>(f.element_bits / 8),
               register_bytes = static_cast<size_t>(f.register_bits / 8);
  std::vector<std::byte> tile(static_cast<size_t>(map.tile_bytes())), back(tile.size());
  for (size_t i = 0; i < tile.size(); ++i)
    tile[i] = static_cast<std::byte>(i * 37 + i / 251);
  std::vector<std::vector<std::byte>> lanes(static_cast<size_t>(f.registers()),
                                            std::vector<std::byte>(32 * register_bytes));
  std::vector<std::byte*> pointers;
  for (auto& lane : lanes)
    pointers.push_back(lane.data());
  map.scatter(tile.data(), pointers.data());
  for (int lane = 0; lane < 32; ++lane)
    for (int reg = 0; reg < f.registers(); ++reg)
      for (int elem = 0; elem < f.elems_per_register(); ++elem) {
        const Coord at = f.at({lane, reg, elem});
        const int index = order == MajorOrder::row ? at.row * f.cols + at.col : at.col * f.rows + at.row;
        const std::byte* in_register = lanes[static_cast<size_t>(reg)].data() +
                                       static_cast<size_t>(lane) * register_bytes +
                                       static_cast<size_t>(elem) * bytes;
        EXPECT_EQ(std::memcmp(in_register, &tile[static_cast<size_t>(index) * bytes], bytes), 0);
      }
  // Copies are not read back.
  for (size_t reg = static_cast<size_t>(f.distinct_registers()); reg < lanes.size(); ++reg)
    std::fill(lanes[reg].begin(), lanes[reg].end(), std::byte{0xee});
  map.gather(pointers.data(), back.data());
  EXPECT_EQ(tile, back);
}

TEST(TileMap, MovesFragmentsBothWays) {
  for (const MajorOrder order : {MajorOrder::row, MajorOrder::col}) {
    for (const MmaCase& c : kMma)
      for (const Matrix matrix : {Matrix::a, Matrix::b, Matrix::c})
        if (c.bits >= 8)
          expect_round_trip(mma_fragment(matrix, c.shape, matrix == Matrix::c ? c.accumulator_bits : c.bits),
                            order);
    for (const WmmaCase& c : kWmma)
      expect_round_trip(wmma_fragment(c.matrix, c.shape, c.bits), order);
    expect_round_trip(repeated(wmma_fragment(Matrix::b, {32, 8, 16}, 16), 8), order);
    expect_round_trip(m8n8k4_c(32), order);
    expect_round_trip(m8n8_b16(4, true), order);
    expect_round_trip(m8n16_b8(4), order);
    expect_round_trip(m16n16_b8(2), order);
    expect_round_trip(m16n8_b8(4), order);
  }
}

TEST(FragmentText, ShowsWhoHoldsWhat) {
  EXPECT_EQ(to_text(mma_fragment(Matrix::a, {8, 8, 4}, 64)),
            "8 x 4 of 64 bits, 1 registers a lane; lane:register\n"
            "0:0  1:0  2:0  3:0\n"
            "4:0  5:0  6:0  7:0\n"
            "8:0  9:0  10:0 11:0\n"
            "12:0 13:0 14:0 15:0\n"
            "16:0 17:0 18:0 19:0\n"
            "20:0 21:0 22:0 23:0\n"
            "24:0 25:0 26:0 27:0\n"
            "28:0 29:0 30:0 31:0\n");
  const std::string text = to_text(repeated(wmma_fragment(Matrix::b, {32, 8, 16}, 16), 8));
  EXPECT_TRUE(
      text.starts_with("16 x 8 of 16 bits, 8 registers a lane, each element 4 times; lane:register.element\n"
                       "0:0.0  4:0.0  8:0.0"))
      << text;
}

} // namespace
} // namespace lemma::layout
