// Integer arithmetic, bit fields and carry chains against statements in plain C++ on 128-bit integers.
#include "arithmetic_fixture.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <bit>

namespace lemma::vgpu {
namespace {

using s128 = __int128;
using u128 = unsigned __int128;

struct IntegerType {
  const char* name;
  int bits;
  bool is_signed;

  s128 value(uint64_t raw) const {
    const s128 v = bits == 64 ? s128(u128(raw)) : s128(raw & ((uint64_t{1} << bits) - 1));
    return is_signed && (v >> (bits - 1) & 1) != 0 ? v - (s128{1} << bits) : v;
  }
  s128 lowest() const { return is_signed ? -(s128{1} << (bits - 1)) : 0; }
  s128 highest() const { return (s128{1} << (is_signed ? bits - 1 : bits)) - 1; }
};
constexpr IntegerType kTypes[] = {{"u16", 16, false}, {"s16", 16, true},  {"u32", 32, false},
                                  {"s32", 32, true},  {"u64", 64, false}, {"s64", 64, true}};

// Two operands of a type to a number, whose low bits are the result.
void check_op(const char* opcode, const IntegerType& t, const std::function<s128(s128, s128)>& f) {
  check(fmt::format("{}.{}", opcode, t.name),
        [&](const uint64_t* s) { return uint64_t(f(t.value(s[0]), t.value(s[1]))); });
}
void check_op3(const char* opcode, const IntegerType& t, const std::function<s128(s128, s128, s128)>& f) {
  check(fmt::format("{}.{}", opcode, t.name),
        [&](const uint64_t* s) { return uint64_t(f(t.value(s[0]), t.value(s[1]), t.value(s[2]))); });
}

// The product as the upper and the lower half of twice the width.
s128 high_half(const IntegerType& t, s128 a, s128 b) {
  if (t.bits == 64 && !t.is_signed)
    return s128(u128(a) * u128(b) >> 64);
  return (a * b) >> t.bits;
}

TEST(Integer, SumsAndProducts) {
  for (const IntegerType& t : kTypes) {
    check_op("add", t, [](s128 a, s128 b) { return a + b; });
    check_op("sub", t, [](s128 a, s128 b) { return a - b; });
    check_op("mul.lo", t, [](s128 a, s128 b) { return s128(u128(a) * u128(b)); });
    check_op("mul.hi", t, [&](s128 a, s128 b) { return high_half(t, a, b); });
    check_op3("mad.lo", t, [](s128 a, s128 b, s128 c) { return s128(u128(a) * u128(b) + u128(c)); });
    check_op3("mad.hi", t, [&](s128 a, s128 b, s128 c) { return high_half(t, a, b) + c; });
    check_op3("sad", t, [](s128 a, s128 b, s128 c) { return c + (a < b ? b - a : a - b); });
    if (t.bits == 64)
      continue;
    check_op("mul.wide", t, [](s128 a, s128 b) { return a * b; });
    check(fmt::format("mad.wide.{}", t.name),
          [&](const uint64_t* s) { return uint64_t(t.value(s[0]) * t.value(s[1]) + s128(s[2])); });
  }
}

TEST(Integer, DivisionByZeroGivesAllOnes) {
  for (const IntegerType& t : kTypes) {
    check_op("div", t, [](s128 a, s128 b) { return b == 0 ? s128{-1} : a / b; });
    check_op("rem", t, [](s128 a, s128 b) { return b == 0 ? s128{-1} : a % b; });
  }
}

TEST(Integer, Saturation) {
  const IntegerType t = kTypes[3];
  const auto clamp = [&](s128 v) { return v < t.lowest() ? t.lowest() : v > t.highest() ? t.highest() : v; };
  check_op("add.sat", t, [&](s128 a, s128 b) { return clamp(a + b); });
  check_op("sub.sat", t, [&](s128 a, s128 b) { return clamp(a - b); });
  check_op3("mad.hi.sat", t, [&](s128 a, s128 b, s128 c) { return clamp((a * b >> 32) + c); });
  const auto low24 = [](s128 a) { return (a & 0xffffff) - ((a & 0x800000) != 0 ? 0x1000000 : 0); };
  check_op3("mad24.hi.sat", t,
            [&](s128 a, s128 b, s128 c) { return clamp((low24(a) * low24(b) >> 16) + c); });
}

TEST(Integer, ProductsOf24Bits) {
  for (const IntegerType& t : {kTypes[2], kTypes[3]}) {
    const auto low24 = [&](s128 a) {
      return (a & 0xffffff) - (t.is_signed && (a & 0x800000) != 0 ? 0x1000000 : 0);
    };
    check_op("mul24.lo", t, [&](s128 a, s128 b) { return low24(a) * low24(b); });
    check_op("mul24.hi", t, [&](s128 a, s128 b) { return low24(a) * low24(b) >> 16; });
    check_op3("mad24.lo", t, [&](s128 a, s128 b, s128 c) { return low24(a) * low24(b) + c; });
    check_op3("mad24.hi", t, [&](s128 a, s128 b, s128 c) { return (low24(a) * low24(b) >> 16) + c; });
  }
}

TEST(Integer, MinMaxAbsNeg) {
  for (const IntegerType& t : kTypes) {
    check_op("min", t, [](s128 a, s128 b) { return a < b ? a : b; });
    check_op("max", t, [](s128 a, s128 b) { return a > b ? a : b; });
    if (!t.is_signed)
      continue;
    check(fmt::format("abs.{}", t.name), [&](const uint64_t* s) {
      const s128 a = t.value(s[0]);
      return uint64_t(a < 0 ? -a : a);
    });
    check(fmt::format("neg.{}", t.name), [&](const uint64_t* s) { return uint64_t(-t.value(s[0])); });
  }
  check_op("min.relu", kTypes[3], [](s128 a, s128 b) { return std::max<s128>(0, a < b ? a : b); });
  check_op("max.relu", kTypes[3], [](s128 a, s128 b) { return std::max<s128>(0, a > b ? a : b); });
}

TEST(Integer, PackedHalves) {
  const auto packed = [](const char* spelling, bool is_signed, const std::function<int(int, int)>& f) {
    check(spelling, [&](const uint64_t* s) {
      uint64_t d = 0;
      for (int at = 0; at < 32; at += 16) {
        const int a = is_signed ? int16_t(s[0] >> at) : uint16_t(s[0] >> at);
        const int b = is_signed ? int16_t(s[1] >> at) : uint16_t(s[1] >> at);
        d |= uint64_t(uint16_t(f(a, b))) << at;
      }
      return d;
    });
  };
  const auto add = [](int a, int b) { return a + b; };
  const auto min = [](int a, int b) { return a < b ? a : b; };
  const auto max = [](int a, int b) { return a > b ? a : b; };
  packed("add.u16x2", false, add);
  packed("add.s16x2", true, add);
  packed("min.u16x2", false, min);
  packed("min.s16x2", true, min);
  packed("max.u16x2", false, max);
  packed("max.s16x2", true, max);
  packed("min.relu.s16x2", true, [&](int a, int b) { return std::max(0, min(a, b)); });
  packed("max.relu.s16x2", true, [&](int a, int b) { return std::max(0, max(a, b)); });
}

TEST(Integer, PackedBytesAndSaturation) {
  const auto packed = [](std::string_view spelling, int bits, bool is_signed,
                         const std::function<int64_t(int64_t, int64_t)>& f) {
    check(spelling, [&](const uint64_t* s) {
      uint64_t d = 0;
      const auto element = [&](uint64_t word, int at) {
        return is_signed ? int64_t(word << (64 - bits - at)) >> (64 - bits)
                         : int64_t(word >> at & ((uint64_t{1} << bits) - 1));
      };
      for (int at = 0; at < 32; at += bits)
        d |= (uint64_t(f(element(s[0], at), element(s[1], at))) & ((uint64_t{1} << bits) - 1)) << at;
      return d;
    });
  };
  const auto add = [](int64_t a, int64_t b) { return a + b; };
  const auto sub = [](int64_t a, int64_t b) { return a - b; };
  const auto min = [](int64_t a, int64_t b) { return std::min(a, b); };
  const auto max = [](int64_t a, int64_t b) { return std::max(a, b); };
  for (const auto& [type, bits, is_signed] :
       {std::tuple("u8x4", 8, false), std::tuple("s8x4", 8, true), std::tuple("u16x2", 16, false),
        std::tuple("s16x2", 16, true), std::tuple("u32", 32, false)}) {
    const int64_t low = is_signed ? -(int64_t{1} << (bits - 1)) : 0,
                  high = (int64_t{1} << (is_signed ? bits - 1 : bits)) - 1;
    packed(fmt::format("add.sat.{}", type), bits, is_signed,
           [&](int64_t a, int64_t b) { return std::clamp(a + b, low, high); });
    if (bits != 8)
      continue;
    packed(fmt::format("add.{}", type), bits, is_signed, add);
    packed(fmt::format("sub.{}", type), bits, is_signed, sub);
    packed(fmt::format("sub.sat.{}", type), bits, is_signed,
           [&](int64_t a, int64_t b) { return std::clamp(a - b, low, high); });
    packed(fmt::format("min.{}", type), bits, is_signed, min);
    packed(fmt::format("max.{}", type), bits, is_signed, max);
  }
  packed("min.relu.s8x4", 8, true, [&](int64_t a, int64_t b) { return std::max<int64_t>(0, min(a, b)); });
  packed("max.relu.s8x4", 8, true, [&](int64_t a, int64_t b) { return std::max<int64_t>(0, max(a, b)); });
  check("neg.s8x4", [](const uint64_t* s) {
    uint64_t d = 0;
    for (int at = 0; at < 32; at += 8)
      d |= uint64_t(uint8_t(-int8_t(s[0] >> at))) << at;
    return d;
  });
}

TEST(Integer, CarrylessProducts) {
  for (const bool high : {false, true})
    for (const char* type : {"u64", "s64"})
      check(fmt::format("clmad.{}.{}", high ? "hi" : "lo", type), [&](const uint64_t* s) {
        unsigned __int128 product = 0;
        for (int i = 0; i < 64; ++i)
          if ((s[0] >> i & 1) != 0)
            product ^= static_cast<unsigned __int128>(s[1]) << i;
        return uint64_t(high ? product >> 64 : product) ^ s[2];
      });
}

TEST(Integer, BitCounts) {
  check("popc.b32", [](const uint64_t* s) { return uint64_t(std::popcount(uint32_t(s[0]))); });
  check("popc.b64", [](const uint64_t* s) { return uint64_t(std::popcount(s[0])); });
  check("clz.b32", [](const uint64_t* s) { return uint64_t(std::countl_zero(uint32_t(s[0]))); });
  check("clz.b64", [](const uint64_t* s) { return uint64_t(std::countl_zero(s[0])); });
  for (const IntegerType& t : kTypes) {
    if (t.bits == 16)
      continue;
    // The highest bit that is not a copy of the sign.
    const auto find = [&](uint64_t raw) {
      const s128 a = t.value(raw);
      const u128 bits = u128(a < 0 ? ~a : a);
      for (int i = t.bits - 1; i >= 0; --i)
        if ((bits >> i & 1) != 0)
          return i;
      return -1;
    };
    check(fmt::format("bfind.{}", t.name), [&](const uint64_t* s) { return uint64_t(find(s[0])); });
    check(fmt::format("bfind.shiftamt.{}", t.name), [&](const uint64_t* s) {
      const int at = find(s[0]);
      return uint64_t(at < 0 ? -1 : t.bits - 1 - at);
    });
  }
  const auto reverse = [](uint64_t a, int bits) {
    uint64_t d = 0;
    for (int i = 0; i < bits; ++i)
      d |= (a >> i & 1) << (bits - 1 - i);
    return d;
  };
  check("brev.b32", [&](const uint64_t* s) { return reverse(s[0], 32); });
  check("brev.b64", [&](const uint64_t* s) { return reverse(s[0], 64); });
}

// Of a position or length: the 64-bit forms take them as they are (measured on an H200), which makes no
// difference to what is not below 256.
unsigned field_operand(int bits, uint64_t operand) {
  return unsigned(bits == 32 ? operand & 0xff : std::min<uint64_t>(operand, 256));
}

// As the ISA's own pseudocode has it, bit by bit.
uint64_t extract(const IntegerType& t, uint64_t a, uint64_t position, uint64_t length) {
  const unsigned msb = t.bits - 1;
  const unsigned pos = field_operand(t.bits, position), len = field_operand(t.bits, length);
  uint64_t sign = 0;
  if (t.is_signed && len != 0)
    sign = a >> std::min(pos + len - 1, msb) & 1;
  uint64_t d = 0;
  for (unsigned i = 0; i <= msb; ++i)
    d |= (i < len && pos + i <= msb ? a >> (pos + i) & 1 : sign) << i;
  return d;
}

TEST(Integer, BitFields) {
  for (const IntegerType& t : kTypes)
    if (t.bits != 16)
      check(fmt::format("bfe.{}", t.name), [&](const uint64_t* s) { return extract(t, s[0], s[1], s[2]); });
  for (const int bits : {32, 64})
    check(fmt::format("bfi.b{}", bits), [&](const uint64_t* s) {
      const unsigned pos = field_operand(bits, s[2]), len = field_operand(bits, s[3]);
      uint64_t d = s[1];
      for (unsigned at = pos; at < std::min(pos + len, unsigned(bits)); ++at)
        d = (d & ~(uint64_t{1} << at)) | (s[0] >> (at - pos) & 1) << at;
      return d;
    });
  for (const IntegerType& t : {kTypes[2], kTypes[3]}) {
    check(fmt::format("szext.clamp.{}", t.name),
          [&](const uint64_t* s) { return extract(t, s[0], 0, unsigned(std::min<uint64_t>(s[1], 32))); });
    check(fmt::format("szext.wrap.{}", t.name),
          [&](const uint64_t* s) { return extract(t, s[0], 0, unsigned(s[1] & 31)); });
  }
  const auto mask = [](uint64_t position, uint64_t width) {
    uint64_t d = 0;
    for (uint64_t i = position; i < 32 && i - position < width; ++i)
      d |= uint64_t{1} << i;
    return d;
  };
  check("bmsk.clamp.b32", [&](const uint64_t* s) { return mask(s[0], s[1]); });
  check("bmsk.wrap.b32", [&](const uint64_t* s) { return mask(s[0] & 31, s[1] & 31); });
}

TEST(Integer, FindNthSet) {
  const auto fns = [](uint64_t mask, uint64_t base, int32_t offset) -> uint64_t {
    if (offset == INT32_MIN)
      return 0; // what ptxas's code gives
    if (base > 31)
      return ~uint64_t{0};
    std::vector<int> set; // in the direction of the search
    for (int i = int(base); i >= 0 && i < 32; i += offset < 0 ? -1 : 1)
      if ((mask >> i & 1) != 0)
        set.push_back(i);
    if (offset == 0)
      return !set.empty() && set[0] == int(base) ? base : ~uint64_t{0};
    const size_t n = size_t(std::abs(int64_t{offset}));
    return n <= set.size() ? uint64_t(set[n - 1]) : ~uint64_t{0};
  };
  CheckOptions near;
  near.source = [](int source, uint64_t r) {
    return source == 0 ? r | r >> 32 : source == 1 ? r % 34 : uint64_t(int64_t(r % 70) - 35);
  };
  for (const CheckOptions& options : {CheckOptions{}, near})
    check("fns.b32", [&](const uint64_t* s) { return fns(s[0], s[1], int32_t(s[2])); }, options);
}

TEST(Integer, DotProductsOfBytes) {
  for (const char* a : {"u32", "s32"})
    for (const char* b : {"u32", "s32"}) {
      const bool sa = a[0] == 's', sb = b[0] == 's';
      const auto byte = [](uint64_t w, int i, bool s) {
        return s ? int(int8_t(w >> 8 * i)) : int(uint8_t(w >> 8 * i));
      };
      const auto half = [](uint64_t w, int i, bool s) {
        return s ? int(int16_t(w >> 16 * i)) : int(uint16_t(w >> 16 * i));
      };
      check(fmt::format("dp4a.{}.{}", a, b), [&](const uint64_t* s) {
        int64_t d = int64_t(s[2]);
        for (int i = 0; i < 4; ++i)
          d += byte(s[0], i, sa) * byte(s[1], i, sb);
        return uint64_t(d);
      });
      for (const int high : {0, 1})
        check(fmt::format("dp2a.{}.{}.{}", high != 0 ? "hi" : "lo", a, b), [&](const uint64_t* s) {
          int64_t d = int64_t(s[2]);
          for (int i = 0; i < 2; ++i)
            d += int64_t{half(s[0], i, sa)} * byte(s[1], i + 2 * high, sb);
          return uint64_t(d);
        });
    }
}

// 128-bit sums, differences and products from 32- and 64-bit pieces.
class Chain : public testing::TestWithParam<HostLevel> {
protected:
  void SetUp() override {
    before_ = host_level();
    set_host_level(GetParam());
    Random random(7);
    for (auto* operand : {&a_, &b_})
      for (int lane = 0; lane < kWarpSize; ++lane) {
        u128 value = u128(random()) << 64 | random();
        if (lane % 4 == 0) // long carries
          value = lane % 8 == 0 ? ~u128{0} : u128{1} << 64;
        operand->push_back(value);
      }
    std::swap(b_[3], b_[4]);
  }
  void TearDown() override { set_host_level(before_); }

  std::vector<uint64_t> piece(const std::vector<u128>& values, int bits, int index) const {
    std::vector<uint64_t> lanes;
    for (const u128 v : values)
      lanes.push_back(bits == 64 ? uint64_t(v >> 64 * index) : uint32_t(v >> 32 * index));
    return lanes;
  }
  std::vector<u128> chain(const std::string& first, const std::string& next, const std::string& last,
                          int bits) {
    Machine machine;
    std::vector<u128> result(kWarpSize);
    const int pieces = 128 / bits;
    for (int i = 0; i < pieces; ++i) {
      const auto d = machine.run(i == 0            ? first
                                 : i == pieces - 1 ? last
                                                   : next,
                                 {piece(a_, bits, i), piece(b_, bits, i)});
      for (int lane = 0; lane < kWarpSize; ++lane)
        result[lane] |= u128(d[lane]) << bits * i;
    }
    return result;
  }

  std::vector<u128> a_, b_;

private:
  HostLevel before_{};
};

TEST_P(Chain, Add) {
  for (const auto& [bits, type] :
       {std::pair(32, "u32"), std::pair(32, "s32"), std::pair(64, "u64"), std::pair(64, "s64")}) {
    const std::string t = type;
    const auto sum = chain("add.cc." + t, "addc.cc." + t, "addc." + t, bits);
    const auto difference = chain("sub.cc." + t, "subc.cc." + t, "subc." + t, bits);
    for (int lane = 0; lane < kWarpSize; ++lane) {
      EXPECT_TRUE(sum[lane] == a_[lane] + b_[lane]) << t << " lane " << lane;
      EXPECT_TRUE(difference[lane] == a_[lane] - b_[lane]) << t << " lane " << lane;
    }
  }
}

// 64 x 64 -> 128 from 32-bit products, as compilers write it.
TEST_P(Chain, MultiplyAdd) {
  Machine m;
  const auto a0 = piece(a_, 32, 0), a1 = piece(a_, 32, 1), b0 = piece(b_, 32, 0), b1 = piece(b_, 32, 1);
  const std::vector<uint64_t> zero(kWarpSize);
  const auto r0 = m.run("mul.lo.u32", {a0, b0});
  auto r1 = m.run("mul.hi.u32", {a0, b0});
  r1 = m.run("mad.lo.cc.u32", {a0, b1, r1});
  auto r2 = m.run("madc.hi.u32", {a0, b1, zero});
  r1 = m.run("mad.lo.cc.u32", {a1, b0, r1});
  r2 = m.run("madc.hi.cc.u32", {a1, b0, r2});
  auto r3 = m.run("addc.u32", {zero, zero});
  r2 = m.run("mad.lo.cc.u32", {a1, b1, r2});
  r3 = m.run("madc.hi.u32", {a1, b1, r3});
  for (int lane = 0; lane < kWarpSize; ++lane) {
    const u128 product = u128(uint64_t(a_[lane])) * uint64_t(b_[lane]);
    const u128 got = u128(r3[lane]) << 96 | u128(r2[lane]) << 64 | u128(r1[lane]) << 32 | r0[lane];
    EXPECT_TRUE(got == product) << "lane " << lane;
  }
}

TEST_P(Chain, OnlyActiveLanesChangeTheFlag) {
  Machine m;
  const std::vector<uint64_t> ones(kWarpSize, 0xffffffff), one(kWarpSize, 1), zero(kWarpSize);
  m.run("add.cc.u32", {ones, one});
  EXPECT_EQ(m.frame.carry, kAllLanes);
  m.active = 0x0000ffff;
  m.run("add.cc.u32", {zero, zero});
  EXPECT_EQ(m.frame.carry, 0xffff0000u);
  m.active = kAllLanes;
  EXPECT_EQ(m.run("addc.u32", {zero, zero})[31], 1u);
}

// sm_90 keeps the carry of a + ~b + 1, so that an addition after a difference adds the absence of a borrow.
TEST_P(Chain, SumsAndDifferencesShareTheFlag) {
  Machine m;
  const std::vector<uint64_t> five(kWarpSize, 5), three(kWarpSize, 3), zero(kWarpSize);
  m.run("sub.cc.u32", {five, three});
  EXPECT_EQ(m.run("addc.u32", {zero, zero})[0], 1u);
  m.run("sub.cc.u32", {three, five});
  EXPECT_EQ(m.run("addc.u32", {zero, zero})[0], 0u);
}

INSTANTIATE_TEST_SUITE_P(Levels, Chain, testing::ValuesIn(host_levels()),
                         [](const auto& info) { return std::string(to_string(info.param)); });

} // namespace
} // namespace lemma::vgpu
