// mma.sync with a kind: formats below eight bits in containers, and block scaling, on the virtual GPU against
// exact integers.
//
// Nothing here is taken from the catalogue, the layouts or src/numeric: who holds what is the ISA's formulae
// for each shape, formats are read off their definition, and a result is a sum of integers times powers of
// two, cut and rounded as the machine's rule says (F = 25 for k16 and k32, 35 for k64). No hardware has
// checked the rule here: no H200 has these forms.
#include "run_ptx.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstring>
#include <random>

namespace lemma::vgpu {
namespace {

using Int = __int128;

struct Format {
  std::string name;
  int exponent_bits, fraction_bits, bias;
  bool has_infinity; // else all ones are the only NaN, if any
  bool has_nan;
  int low_bit; // of the element in its byte
  int width() const { return 1 + exponent_bits + fraction_bits; }
};
const Format kE4m3{"e4m3", 4, 3, 7, false, true, 0}, kE5m2{"e5m2", 5, 2, 15, true, true, 0},
    kE3m2{"e3m2", 3, 2, 3, false, false, 0}, kE2m3{"e2m3", 2, 3, 1, false, false, 0},
    kE2m1{"e2m1", 2, 1, 1, false, false, 2}, kF32{"f32", 8, 23, 127, true, true, 0},
    kF16{"f16", 5, 10, 15, true, true, 0}, kUe4m3{"ue4m3", 4, 3, 7, false, true, 0};
const Format* const kNarrow[] = {&kE4m3, &kE5m2, &kE3m2, &kE2m3, &kE2m1};

// significand * 2^(exponent - fraction bits of the format).
struct Number {
  Int significand = 0;
  int exponent = 0;
  int fraction_bits = 0;
  bool nan = false, infinite = false;
  bool zero() const { return significand == 0 && !nan && !infinite; }
};

Number read(const Format& f, uint32_t bits) {
  const auto exponent = static_cast<int>(bits >> f.fraction_bits & ((1u << f.exponent_bits) - 1));
  const uint32_t fraction = bits & ((1u << f.fraction_bits) - 1);
  const bool negative = (bits >> (f.width() - 1) & 1) != 0;
  const bool top = exponent == (1 << f.exponent_bits) - 1;
  Number n{.fraction_bits = f.fraction_bits};
  n.significand = fraction;
  n.exponent = (exponent == 0 ? 1 : exponent) - f.bias;
  if (exponent != 0)
    n.significand += Int{1} << f.fraction_bits;
  n.infinite = f.has_infinity && top && fraction == 0;
  n.nan = (f.has_infinity && top && fraction != 0) ||
          (!f.has_infinity && f.has_nan && top && fraction == (1u << f.fraction_bits) - 1);
  if (negative)
    n.significand = -n.significand;
  return n;
}

Int magnitude(Int n) {
  return n < 0 ? -n : n;
}

// value * 2^scale toward zero.
Int cut(Int value, int scale) {
  if (scale >= 0)
    return value * (Int{1} << scale);
  const Int kept = scale < -120 ? 0 : magnitude(value) >> -scale;
  return value < 0 ? -kept : kept;
}

// sum * 2^exponent in f32 (toward zero) or f16 (to nearest even).
uint32_t round_to(const Format& f, Int sum, int exponent) {
  if (sum == 0)
    return 0;
  const uint32_t sign = sum < 0 ? 1u << (f.width() - 1) : 0;
  Int m = magnitude(sum);
  int top = 0; // index of the highest bit
  while (m >> top > 1)
    ++top;
  const int least = 1 - f.bias;
  const int power = std::max(top + exponent, least); // of the result's leading bit, before rounding
  const int shift = power - f.fraction_bits - exponent;
  Int kept = shift > 120 ? 0 : shift > 0 ? m >> shift : m << -shift;
  if (shift > 0) {
    const Int rest = m - (shift > 120 ? 0 : kept << shift), half = shift > 120 ? 0 : Int{1} << (shift - 1);
    if (&f == &kF16 && shift <= 120 && (rest > half || (rest == half && kept % 2 != 0)))
      ++kept;
  }
  const Int infinity = ((Int{1} << f.exponent_bits) - 1) << f.fraction_bits;
  const Int bits =
      ((Int{power - least}) << f.fraction_bits) + kept; // the leading bit adds one to the exponent
  if (kept == 0)
    return 0; // a sum that vanishes is +0
  return sign | static_cast<uint32_t>(bits >= infinity ? infinity : bits);
}

struct Term {
  Int significand = 0;
  int exponent = 0;      // that it is aligned by
  int fraction_bits = 0; // of the significand
  bool counts = false;   // among the exponents
};

uint32_t fused(const Format& d, const std::vector<Term>& terms, int fraction) {
  int largest = -100000;
  for (const Term& t : terms)
    if (t.counts)
      largest = std::max(largest, t.exponent);
  Int sum = 0;
  for (const Term& t : terms)
    sum += t.significand == 0 ? 0 : cut(t.significand, fraction - t.fraction_bits + t.exponent - largest);
  return round_to(d, sum, largest - fraction);
}

// One instruction: its spelling and the matrices as bytes, one an element.
struct Kind {
  std::string spelling{};
  int k = 32;
  const Format *a = nullptr, *b = nullptr, *d = &kF32;
  int scales = 0; // of a line; 0: not block scaled
  bool ue8m0 = true;
  bool in_pairs = false; // two elements a byte
};

struct Operands {
  std::vector<uint8_t> a, b;   // [16][k], [8][k]: raw containers or nibbles
  std::vector<uint32_t> c;     // [16][8]
  std::vector<uint8_t> sa, sb; // [16][scales], [8][scales]
};

uint32_t canonical_nan(const Format& d) {
  return &d == &kF16 ? 0x7fff : 0x7fffffff;
}

uint32_t expected(const Kind& kind, const Operands& o, int row, int col) {
  const auto element = [&](const Format& f, uint8_t byte) {
    return read(f, static_cast<uint32_t>(byte >> (kind.in_pairs ? 0 : f.low_bit)) & ((1u << f.width()) - 1));
  };
  const auto scale = [&](uint8_t bits) {
    if (!kind.ue8m0)
      return read(kUe4m3, bits & 0x7f);
    return Number{.significand = 1, .exponent = bits - 127, .nan = bits == 0xff};
  };
  const Number c = read(*kind.d, o.c[static_cast<size_t>(row * 8 + col)]);
  std::vector<Term> terms{{c.significand, c.exponent, c.fraction_bits, !c.zero()}};
  bool nan = c.nan, plus = c.infinite && c.significand > 0, minus = c.infinite && c.significand < 0;
  const int block = kind.scales == 0 ? kind.k : kind.k / kind.scales;
  Term group;
  for (int k = 0; k < kind.k; ++k) {
    const Number a = element(*kind.a, o.a[static_cast<size_t>(row * kind.k + k)]),
                 b = element(*kind.b, o.b[static_cast<size_t>(col * kind.k + k)]);
    Number sa{.significand = 1}, sb = sa;
    if (kind.scales != 0) {
      sa = scale(o.sa[static_cast<size_t>(row * kind.scales + k / block)]);
      sb = scale(o.sb[static_cast<size_t>(col * kind.scales + k / block)]);
    }
    nan = nan || a.nan || b.nan || sa.nan || sb.nan || (a.infinite && b.zero()) || (b.infinite && a.zero());
    if (a.infinite || b.infinite)
      ((a.significand < 0) != (b.significand < 0) ? minus : plus) = true;
    const int exponent = sa.exponent + sb.exponent;
    if (kind.k != 64) {
      terms.push_back({a.significand * b.significand, a.exponent + b.exponent + exponent,
                       a.fraction_bits + b.fraction_bits, !a.zero() && !b.zero()});
      continue;
    }
    // In units of a quarter: the least exponent of e2m1 is 0, with one fraction bit.
    group.significand += (a.significand << a.exponent) * (b.significand << b.exponent);
    if (k % 16 != 15)
      continue;
    terms.push_back({group.significand * sa.significand * sb.significand, exponent,
                     2 + sa.fraction_bits + sb.fraction_bits, !sa.zero() && !sb.zero()});
    group = {};
  }
  if (nan || (plus && minus))
    return canonical_nan(*kind.d);
  if (plus || minus)
    return (minus ? 1u << (kind.d->width() - 1) : 0) | ((1u << kind.d->exponent_bits) - 1)
                                                           << kind.d->fraction_bits;
  return fused(*kind.d, terms, kind.k == 64 ? 35 : 25);
}

struct Selectors {
  int byte_a = 0, thread_a = 0, byte_b = 0, thread_b = 0;
};

constexpr int kCWords = 4; // of f32; f16 uses two

// Registers of 32 lanes in the order A, B, C, scale A, scale B: word 32 * register + lane.
std::vector<uint32_t> registers(const Kind& kind, const Operands& o, const Selectors& s,
                                std::mt19937& random) {
  const int per = kind.in_pairs ? 8 : 4, steps = kind.k / (4 * per); // elements a register; registers along K
  std::vector<uint32_t> words;
  const auto pack = [&](const std::vector<uint8_t>& m, int line, int first) {
    uint32_t word = 0;
    for (int i = 0; i < per; ++i)
      word |= static_cast<uint32_t>(m[static_cast<size_t>(line * kind.k + first + i)]) << (32 / per * i);
    return word;
  };
  for (int step = 0; step < steps; ++step)
    for (const int below : {0, 8})
      for (int lane = 0; lane < 32; ++lane)
        words.push_back(pack(o.a, lane / 4 + below, lane % 4 * per + step * 4 * per));
  for (int step = 0; step < steps; ++step)
    for (int lane = 0; lane < 32; ++lane)
      words.push_back(pack(o.b, lane / 4, lane % 4 * per + step * 4 * per));
  for (int i = 0; i < kCWords; ++i)
    for (int lane = 0; lane < 32; ++lane) {
      const auto at = [&](int j) {
        return o.c[static_cast<size_t>((lane / 4 + j / 2 * 8) * 8 + lane % 4 * 2 + j % 2)];
      };
      words.push_back(kind.d == &kF32 ? at(i) : i < 2 ? at(2 * i) | at(2 * i + 1) << 16 : 0);
    }
  const size_t scales = words.size();
  for (int i = 0; i < 64; ++i) // what is not selected must not matter
    words.push_back(static_cast<uint32_t>(random()));
  const auto put = [&](size_t lane, int byte, uint8_t value) {
    uint32_t& word = words[scales + lane];
    word = (word & ~(0xffu << 8 * byte)) | static_cast<uint32_t>(value) << 8 * byte;
  };
  for (int j = 0; j < kind.scales; ++j) {
    for (int row = 0; row < 16; ++row) // thread 0 or 1 of the pair for the upper or the lower eight rows
      put(static_cast<size_t>(row % 8 * 4 + 2 * s.thread_a + row / 8), s.byte_a + j,
          o.sa[static_cast<size_t>(row * kind.scales + j)]);
    for (int col = 0; col < 8; ++col)
      put(static_cast<size_t>(32 + col * 4 + s.thread_b), s.byte_b + j,
          o.sb[static_cast<size_t>(col * kind.scales + j)]);
  }
  return words;
}

constexpr std::string_view kHead = ".version 8.7\n.target sm_120a\n.address_size 64\n";

std::string names(char letter, int count) {
  std::string text;
  for (int i = 0; i < count; ++i)
    text += fmt::format("{}{}{}", i ? ", " : "{", letter, i);
  return text + "}";
}

// `selectors` as text, for {%h0, 1} and the like; %h0 holds byte_a.
KernelRun run(const Kind& kind, const Operands& o, const Selectors& s, std::mt19937& random,
              std::string selector_a = "", std::string_view before = "") {
  const int a_count = kind.k / (kind.in_pairs ? 8 : 4) / 2, b_count = a_count / 2;
  const int d_count = kind.d == &kF32 ? 4 : 2;
  std::string body = "  .reg .b32 a<4>, b<2>, c<4>, d<4>, s<2>;\n  .reg .b16 %h<1>;\n"
                     "  mul.wide.u32 %rd0, %t, 4;\n  add.u64 %in, %in, %rd0;\n  add.u64 %out, %out, %rd0;\n";
  int word = 0;
  const auto load = [&](char letter, int count) {
    for (int i = 0; i < count; ++i, word += 32)
      body += fmt::format("  ld.global.b32 {}{}, [%in+{}];\n", letter, i, 4 * word);
  };
  load('a', a_count);
  load('b', b_count);
  load('c', kCWords);
  load('s', 2);
  body += fmt::format("  mov.b16 %h0, {};\n{}", s.byte_a, before);
  if (selector_a.empty())
    selector_a = fmt::format("{{{}, {}}}", s.byte_a, s.thread_a);
  body += fmt::format(
      "  {} {}, {}, {}, {}{};\n", kind.spelling, names('d', d_count), names('a', a_count),
      names('b', b_count), names('c', d_count),
      kind.scales == 0 ? "" : fmt::format(", {{s0}}, {}, s1, {{{}, {}}}", selector_a, s.byte_b, s.thread_b));
  for (int i = 0; i < d_count; ++i)
    body += fmt::format("  st.global.b32 [%out+{}], d{};\n", 128 * i, i);
  LaunchConfig config;
  config.block = {32, 1, 1};
  config.workers = 1;
  return run_body(body, config, 128, registers(kind, o, s, random), kHead);
}

// Rows of random bytes: `hard` of whatever bits, else no special values and scales near one.
Operands random_operands(const Kind& kind, std::mt19937& random, bool hard) {
  Operands o;
  const auto bytes = [&](const Format& f, size_t count) {
    std::vector<uint8_t> out(count);
    for (uint8_t& byte : out)
      do
        byte = static_cast<uint8_t>(random() & (kind.in_pairs ? 15 : 255)); // padding too
      while (!hard && f.has_nan && (byte >> f.fraction_bits & ((1 << f.exponent_bits) - 1)) > 10);
    return out;
  };
  o.a = bytes(*kind.a, static_cast<size_t>(16 * kind.k));
  o.b = bytes(*kind.b, static_cast<size_t>(8 * kind.k));
  for (int i = 0; i < 128; ++i) {
    uint32_t bits = static_cast<uint32_t>(random());
    if (kind.d == &kF16)
      bits = hard ? bits & 0xffff : (bits & 0x83ff) | (8 + bits % 13) << 10;
    else if (!hard || i % 8 != 0)
      bits = (bits & 0x807fffff) | (115 + bits % 24) << 23;
    o.c.push_back(bits);
  }
  const auto scales = [&](size_t count) {
    std::vector<uint8_t> out(count);
    for (uint8_t& scale : out)
      scale = static_cast<uint8_t>(!kind.ue8m0                 ? random() & 0xff
                                   : hard && random() % 8 == 0 ? random() & 0xff
                                                               : 120 + random() % 14);
    return out;
  };
  o.sa = scales(static_cast<size_t>(16 * kind.scales));
  o.sb = scales(static_cast<size_t>(8 * kind.scales));
  return o;
}

void expect_exact(const Kind& kind, const Selectors& s, std::mt19937& random, bool hard) {
  SCOPED_TRACE(kind.spelling);
  const Operands o = random_operands(kind, random, hard);
  const KernelRun got = run(kind, o, s, random);
  ASSERT_TRUE(got.report.ok()) << fault_in(got.report).message;
  int wrong = 0;
  for (int lane = 0; lane < 32; ++lane)
    for (int j = 0; j < 4; ++j) {
      const int row = lane / 4 + j / 2 * 8, col = lane % 4 * 2 + j % 2;
      const uint32_t bits = kind.d == &kF32
                                ? got.out[static_cast<size_t>(32 * j + lane)]
                                : got.out[static_cast<size_t>(32 * (j / 2) + lane)] >> 16 * (j % 2) & 0xffff;
      const uint32_t want = expected(kind, o, row, col);
      if (bits != want && ++wrong <= 3)
        ADD_FAILURE() << fmt::format("({}, {}): {:#x}, exactly {:#x}", row, col, bits, want);
    }
  EXPECT_EQ(wrong, 0);
}

TEST(MmaKind, MultipliesNarrowFormatsExactly) {
  std::mt19937 random(1);
  for (const Format* a : kNarrow)
    for (const Format* b : kNarrow)
      for (const Format* d : {&kF32, &kF16})
        for (const int k : {16, 32}) {
          const bool fp8 = a->width() == 8 && b->width() == 8;
          if (k == 16 && !fp8)
            continue;
          Kind kind{.k = k, .a = a, .b = b, .d = d};
          kind.spelling = fmt::format("mma.sync.aligned.m16n8k{}.row.col.kind::f8f6f4.{}.{}.{}.{}", k,
                                      d->name, a->name, b->name, d->name);
          for (const bool hard : {false, true})
            expect_exact(kind, {}, random, hard);
        }
}

TEST(BlockScale, OneScaleALine) {
  std::mt19937 random(2);
  int round = 0;
  for (const Format* a : kNarrow)
    for (const Format* b : kNarrow)
      for (const bool hard : {false, true}) {
        Kind kind{.a = a, .b = b, .scales = 1};
        kind.spelling =
            fmt::format("mma.sync.aligned.m16n8k32.row.col.kind::mxf8f6f4.block_scale{}.f32.{}.{}.f32.ue8m0",
                        hard ? ".scale_vec::1X" : "", a->name, b->name);
        expect_exact(kind, {round % 4, round % 2, round / 4 % 4, round / 2 % 4}, random, hard);
        ++round;
      }
}

Kind fp4(std::string_view kind, int scales, bool ue8m0) {
  return {.spelling =
              fmt::format("mma.sync.aligned.m16n8k64.row.col.kind::{}.block_scale.scale_vec::{}X.f32.e2m1."
                          "e2m1.f32.{}",
                          kind, scales, ue8m0 ? "ue8m0" : "ue4m3"),
          .k = 64,
          .a = &kE2m1,
          .b = &kE2m1,
          .scales = scales,
          .ue8m0 = ue8m0,
          .in_pairs = true};
}

TEST(BlockScale, SeveralScalesALine) {
  std::mt19937 random(3);
  for (const Kind& kind : {fp4("mxf4", 2, true), fp4("mxf4nvf4", 2, true), fp4("mxf4nvf4", 4, false)})
    for (int thread_a = 0; thread_a < 2; ++thread_a)
      for (int thread_b = 0; thread_b < 4; ++thread_b)
        for (int byte = 0; byte + kind.scales <= 4; byte += kind.scales)
          for (const bool hard : {false, true})
            expect_exact(kind, {byte, thread_a, 4 - kind.scales - byte, thread_b}, random, hard);
}

TEST(BlockScale, TakesSelectorsFromRegistersIfAllLanesAgree) {
  std::mt19937 random(4);
  const Kind kind = fp4("mxf4", 2, true);
  const Selectors s{2, 1, 0, 3};
  const Operands o = random_operands(kind, random, false);
  const KernelRun got = run(kind, o, s, random, "{%h0, 1}");
  ASSERT_TRUE(got.report.ok()) << fault_in(got.report).message;
  EXPECT_EQ(got.out[0], expected(kind, o, 0, 0));

  const KernelRun torn = run(kind, o, s, random, "{%h0, 1}", "  cvt.u16.u32 %h0, %t;\n");
  EXPECT_EQ(fault_in(torn.report).kind, FaultKind::illegal_instruction);
  EXPECT_NE(fault_in(torn.report).message.find("different selectors"), std::string::npos)
      << fault_in(torn.report).message;
  const KernelRun odd = run(kind, o, s, random, "{%h0, 1}", "  mov.b16 %h0, 1;\n");
  EXPECT_EQ(fault_in(odd.report).kind, FaultKind::illegal_instruction);
  EXPECT_NE(fault_in(odd.report).message.find("may be 0 and 2"), std::string::npos)
      << fault_in(odd.report).message;
}

} // namespace
} // namespace lemma::vgpu
