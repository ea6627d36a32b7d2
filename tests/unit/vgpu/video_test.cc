// Video instructions against the pseudo code of the PTX ISA, "Video Instructions", stated here once more on
// wide integers; SIMD on bytes for every pair of them.
#include "arithmetic_fixture.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace lemma::vgpu {
namespace {

using Wide = __int128;

Wide clamp_to(Wide value, int bits, bool is_signed) {
  const Wide low = is_signed ? -(Wide{1} << (bits - 1)) : 0;
  const Wide high = is_signed ? (Wide{1} << (bits - 1)) - 1 : (Wide{1} << bits) - 1;
  return std::clamp(value, low, high);
}

Wide part(uint32_t value, int at, int bits, bool is_signed) {
  const uint64_t field = value >> at & ((uint64_t{1} << bits) - 1);
  return is_signed && (field >> (bits - 1) & 1) ? Wide(field) - (Wide{1} << bits) : Wide(field);
}

Wide operate(std::string_view op, Wide a, Wide b) {
  if (op == "vadd")
    return a + b;
  if (op == "vsub")
    return a - b;
  if (op == "vabsdiff")
    return a < b ? b - a : a - b;
  if (op == "vmin")
    return std::min(a, b);
  if (op == "vmax")
    return std::max(a, b);
  if (op == "vavrg")
    return a + b >= 0 ? (a + b + 1) >> 1 : (a + b) >> 1;
  const bool is_true = op == "eq"   ? a == b
                       : op == "ne" ? a != b
                       : op == "lt" ? a < b
                       : op == "le" ? a <= b
                       : op == "gt" ? a > b
                                    : a >= b;
  return is_true ? 1 : 0;
}

constexpr bool kBoth[] = {false, true};

std::string type(bool is_signed) {
  return is_signed ? ".s32" : ".u32";
}

// The selector .b0 .. .b3, .h0, .h1 as the parser numbers it; -1: none.
struct Selector {
  int8_t component;
  int at, bits;
};
constexpr Selector kSelectors[] = {{-1, 0, 32}, {4, 0, 8},  {5, 8, 8},  {6, 16, 8},
                                   {7, 24, 8},  {8, 0, 16}, {9, 16, 16}};

ptx::Operand selected(int8_t component, uint64_t digits = 0) {
  ptx::Operand operand;
  operand.kind = ptx::OperandKind::reg;
  operand.component = component;
  operand.bits = digits;
  return operand;
}

// What scalar instructions share: f(d selector, a selector, b selector), every one of each at least once.
template <class F>
void for_selectors(bool of_d, F f) {
  for (size_t i = 0; i < std::size(kSelectors); ++i)
    for (size_t k = 0; k < std::size(kSelectors); k += 1 + i % 3)
      f(kSelectors[of_d ? (i + 2 * k) % std::size(kSelectors) : 0], kSelectors[i], kSelectors[k]);
}

uint32_t merge(Wide value, const Selector& d, uint32_t c) {
  const uint32_t ones = d.bits == 32 ? ~0u : (1u << d.bits) - 1;
  return (static_cast<uint32_t>(value) & ones) << d.at | (c & ~(ones << d.at));
}

Wide to_bits(Wide value, int bits) {
  return static_cast<Wide>(static_cast<unsigned __int128>(value) << (128 - bits)) >> (128 - bits);
}

Wide combine(std::string_view step, Wide value, Wide c) {
  value = to_bits(value, 33);
  return step == ".add"   ? value + c
         : step == ".min" ? std::min(value, c)
         : step == ".max" ? std::max(value, c)
                          : value;
}

CheckOptions with(std::vector<ptx::Operand> operands) {
  CheckOptions options;
  options.warps = 6;
  options.operands = std::move(operands);
  return options;
}

// Two sources and a selector of d, or none of d and a secondary operation.
void check_scalar(const std::string& spelling, const std::string& quals, std::string_view step, bool sat,
                  bool d_signed, bool a_signed, bool b_signed, const std::function<Wide(Wide, Wide)>& op) {
  for_selectors(step.empty(), [&](const Selector& d, const Selector& a, const Selector& b) {
    std::vector<ptx::Operand> operands{selected(d.component), selected(a.component), selected(b.component)};
    if (!step.empty() || d.component >= 0)
      operands.push_back(selected(-1));
    check(
        fmt::format("{}{}{}", spelling, quals, step),
        [&](const uint64_t* s) {
          const auto low = [&](int i) { return static_cast<uint32_t>(s[i]); };
          Wide value = op(part(low(0), a.at, a.bits, a_signed), part(low(1), b.at, b.bits, b_signed));
          if (sat)
            value = clamp_to(value, d.bits, d_signed);
          const uint32_t c = operands.size() > 3 ? low(2) : 0;
          Wide total = combine(step, value, part(c, 0, 32, d_signed));
          if (d.at == 16 && d.bits == 16 && !sat)
            total >>= 16; // measured on an H200; the ISA has the lower half
          return merge(total, d, c);
        },
        with(operands));
  });
}

TEST(Video, ScalarSums) {
  for (const char* op : {"vadd", "vsub", "vabsdiff", "vmin", "vmax"})
    for (const bool d : kBoth)
      for (const bool a : kBoth)
        for (const bool b : kBoth)
          for (const bool sat : kBoth)
            for (const char* step : {"", ".add", ".min", ".max"})
              check_scalar(op + type(d) + type(a) + type(b), sat ? ".sat" : "", step, sat, d, a, b,
                           [&](Wide x, Wide y) { return operate(op, x, y); });
}

TEST(Video, ScalarShifts) {
  for (const bool left : kBoth)
    for (const bool wraps : kBoth)
      for (const bool d : kBoth)
        for (const bool a : kBoth)
          for (const bool sat : kBoth)
            for (const char* step : {"", ".add", ".min", ".max"})
              check_scalar(fmt::format("{}{}{}.u32", left ? "vshl" : "vshr", type(d), type(a)),
                           fmt::format("{}{}", sat ? ".sat" : "", wraps ? ".wrap" : ".clamp"), step, sat, d,
                           a, false, [&](Wide x, Wide y) {
                             const int by = static_cast<int>(wraps ? y & 31 : std::min<Wide>(y, 32));
                             return left ? to_bits(x << by, 34) : x >> by;
                           });
}

TEST(Video, ScalarComparisons) {
  for (const char* cmp : {"eq", "ne", "lt", "le", "gt", "ge"})
    for (const bool a : kBoth)
      for (const bool b : kBoth)
        for (const char* step : {"", ".add", ".min", ".max"})
          check_scalar("vset" + type(a) + type(b), fmt::format(".{}", cmp), step, false, a, a, b,
                       [&](Wide x, Wide y) { return operate(cmp, x, y); });
}

TEST(Video, MultiplyAdd) {
  for (const bool d : kBoth)
    for (const bool a : kBoth)
      for (const bool b : kBoth)
        for (const bool sat : kBoth)
          for (const int shift : {0, 7, 15})
            for (const int how : {0, 1, 2, 3, 4}) { // 1: -a, 2: -b, 3: -c, 4: .po
              std::vector<ptx::Operand> operands{selected(-1), selected(how < 2 ? -1 : 8),
                                                 selected(how == 3 ? 5 : -1), selected(-1)};
              if (how >= 1 && how <= 3)
                operands[static_cast<size_t>(how)].negated = true;
              const Selector a_part = how < 2 ? kSelectors[0] : kSelectors[5];
              const Selector b_part = how == 3 ? kSelectors[2] : kSelectors[0];
              check(
                  fmt::format("vmad{}{}{}{}{}{}", type(d), type(a), type(b), how == 4 ? ".po" : "",
                              sat ? ".sat" : "", shift != 0 ? fmt::format(".shr{}", shift) : ""),
                  [&](const uint64_t* s) {
                    const bool is_signed = a || b || (how >= 1 && how <= 3);
                    const auto low = [&](int i) { return static_cast<uint32_t>(s[i]); };
                    Wide value =
                        part(low(0), a_part.at, a_part.bits, a) * part(low(1), b_part.at, b_part.bits, b);
                    if (how == 1 || how == 2)
                      value = -value;
                    // The complement and the one that .po too would add make the negation of c.
                    const uint32_t c = how == 3 ? ~low(2) : low(2);
                    value += part(c, 0, 32, is_signed) + (how >= 3 ? 1 : 0);
                    value >>= shift;
                    if (is_signed)
                      value = static_cast<int64_t>(value);
                    else
                      value = static_cast<uint64_t>(value);
                    return static_cast<uint32_t>(sat ? clamp_to(value, 32, is_signed) : value);
                  },
                  with(operands));
            }
}

// Digits for element i at 4 * i; `a` and `b` are those of all sources, a first.
struct Simd {
  int parts = 2;
  uint32_t a_digits = 0, b_digits = 0, mask = 0;
};

uint32_t simd(const Simd& s, std::string_view op, bool sat, bool add, bool d_signed, bool a_signed,
              bool b_signed, const uint64_t* sources) {
  const int bits = 32 / s.parts;
  const auto element = [&](uint32_t digits, int i, bool is_signed) {
    const int digit = static_cast<int>(digits >> 4 * i & 15);
    return part(static_cast<uint32_t>(sources[digit / s.parts]), digit % s.parts * bits, bits, is_signed);
  };
  uint32_t result = static_cast<uint32_t>(sources[2]);
  for (int i = 0; i < s.parts; ++i) {
    Wide value = operate(op, element(s.a_digits, i, a_signed), element(s.b_digits, i, b_signed));
    if (sat)
      value = clamp_to(value, bits, d_signed);
    if (!(s.mask >> i & 1))
      continue;
    const uint32_t ones = ((1u << bits) - 1) << bits * i;
    result = add ? result + static_cast<uint32_t>(value)
                 : (result & ~ones) | (static_cast<uint32_t>(value) << bits * i & ones);
  }
  return result;
}

struct Selection3 {
  Simd simd;
  std::vector<ptx::Operand> operands;
};
// Without selectors, and with some.
std::vector<Selection3> selections(int parts) {
  if (parts == 2)
    return {
        {{2, 0x10, 0x32, 3}, {selected(-1), selected(-1), selected(-1), selected(-1)}},
        {{2, 0x31, 0x00, 2}, {selected(9), selected(10, 0x131), selected(10, 0x100), selected(-1)}},
        {{2, 0x02, 0x13, 1}, {selected(8), selected(10, 0x102), selected(10, 0x113), selected(-1)}},
        {{2, 0x21, 0x30, 3}, {selected(10, 0x110), selected(10, 0x121), selected(10, 0x130), selected(-1)}}};
  return {{{4, 0x3210, 0x7654, 15}, {selected(-1), selected(-1), selected(-1), selected(-1)}},
          {{4, 0x7016, 0x2345, 8}, {selected(7), selected(11, 0x17016), selected(11, 0x12345), selected(-1)}},
          {{4, 0x0123, 0x7777, 5},
           {selected(11, 0x120), selected(11, 0x10123), selected(11, 0x17777), selected(-1)}},
          {{4, 0x4567, 0x0000, 14},
           {selected(11, 0x1321), selected(11, 0x14567), selected(11, 0x10000), selected(-1)}}};
}

TEST(Video, Simd) {
  for (const int parts : {2, 4})
    for (const Selection3& selection : selections(parts))
      for (const char* op : {"vadd", "vsub", "vavrg", "vabsdiff", "vmin", "vmax"})
        for (const bool d : kBoth)
          for (const bool a : kBoth)
            for (const bool b : kBoth)
              for (const char* how : {"", ".sat", ".add"})
                check(
                    fmt::format("{}{}{}{}{}{}", op, parts, type(d), type(a), type(b), how),
                    [&](const uint64_t* s) {
                      return simd(selection.simd, op, how[0] && how[1] == 's', how[0] && how[1] == 'a', d, a,
                                  b, s);
                    },
                    with(selection.operands));
}

TEST(Video, SimdComparisons) {
  for (const int parts : {2, 4})
    for (const Selection3& selection : selections(parts))
      for (const char* cmp : {"eq", "ne", "lt", "le", "gt", "ge"})
        for (const bool a : kBoth)
          for (const bool b : kBoth)
            for (const bool add : kBoth)
              check(
                  fmt::format("vset{}{}{}.{}{}", parts, type(a), type(b), cmp, add ? ".add" : ""),
                  [&](const uint64_t* s) { return simd(selection.simd, cmp, false, add, false, a, b, s); },
                  with(selection.operands));
}

// Every pair of bytes: 65536 of them, four in each lane.
TEST(Video, EveryPairOfBytes) {
  for (const char* op : {"vadd", "vsub", "vavrg", "vabsdiff", "vmin", "vmax"})
    for (const bool is_signed : kBoth)
      for (const char* how : {"", ".sat"}) {
        CheckOptions options;
        options.warps = 65536 / 4 / 32;
        options.operands.resize(4);
        uint64_t calls = 0;
        // Source by source of a lane, lane by lane: pair n is a = n >> 8 and b = n & 255.
        options.source = [&](int source, uint64_t) {
          const uint64_t lane = calls++ / 3;
          uint64_t word = 0;
          for (uint64_t i = 0; i < 4; ++i) {
            const uint64_t pair = 4 * lane + i;
            word |= (source == 0 ? pair >> 8 & 255 : pair & 255) << 8 * i;
          }
          return word;
        };
        const std::string t = type(is_signed);
        check(
            op + ("4" + t + t + t) + how,
            [&](const uint64_t* s) {
              return simd({4, 0x3210, 0x7654, 15}, op, how[0] != 0, false, is_signed, is_signed, is_signed,
                          s);
            },
            options);
      }
}

} // namespace
} // namespace lemma::vgpu
