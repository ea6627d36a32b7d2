// set, setp, selp and slct against the ISA's table of comparisons.
#include "arithmetic_fixture.h"
#include "numeric/arithmetic.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace lemma::vgpu {
namespace {

using numeric::FloatFormat;
using numeric::Ordering;

struct Type {
  const char* name;
  int bits;
  char kind; // u, s, b, f
  FloatFormat format = FloatFormat::f32;
};
constexpr Type kIntegers[] = {{"u16", 16, 'u'}, {"u32", 32, 'u'}, {"u64", 64, 'u'},
                              {"s16", 16, 's'}, {"s32", 32, 's'}, {"s64", 64, 's'},
                              {"b16", 16, 'b'}, {"b32", 32, 'b'}, {"b64", 64, 'b'}};
constexpr Type kFloats[] = {{"f32", 32, 'f', FloatFormat::f32},
                            {"f64", 64, 'f', FloatFormat::f64},
                            {"f16", 16, 'f', FloatFormat::f16},
                            {"bf16", 16, 'f', FloatFormat::bf16}};
constexpr Type kPacked[] = {{"f16x2", 32, 'f', FloatFormat::f16}, {"bf16x2", 32, 'f', FloatFormat::bf16}};

// When an operator holds: for a less, equal, greater, and for a NaN among the two.
struct Operator {
  const char* name;
  bool less, equal, greater, unordered;
  const char* kinds; // of types that have it
};
constexpr Operator kOperators[] = {
    {"eq", false, true, false, false, "usbf"}, {"ne", true, false, true, false, "usbf"},
    {"lt", true, false, false, false, "usf"},  {"le", true, true, false, false, "usf"},
    {"gt", false, false, true, false, "usf"},  {"ge", false, true, true, false, "usf"},
    {"lo", true, false, false, false, "u"},    {"ls", true, true, false, false, "u"},
    {"hi", false, false, true, false, "u"},    {"hs", false, true, true, false, "u"},
    {"equ", false, true, false, true, "f"},    {"neu", true, false, true, true, "f"},
    {"ltu", true, false, false, true, "f"},    {"leu", true, true, false, true, "f"},
    {"gtu", false, false, true, true, "f"},    {"geu", false, true, true, true, "f"},
    {"num", true, true, true, false, "f"},     {"nan", false, false, false, true, "f"},
};

Ordering order(const Type& t, uint64_t a, uint64_t b, bool ftz) {
  if (t.kind == 'f')
    return numeric::compare(t.format, a, b, ftz);
  if (t.kind == 's') {
    const int64_t x = int64_t(a << (64 - t.bits)), y = int64_t(b << (64 - t.bits));
    return x < y ? Ordering::less : x > y ? Ordering::greater : Ordering::equal;
  }
  return a < b ? Ordering::less : a > b ? Ordering::greater : Ordering::equal;
}
bool holds(const Operator& op, Ordering ordering) {
  switch (ordering) {
  case Ordering::less:
    return op.less;
  case Ordering::equal:
    return op.equal;
  case Ordering::greater:
    return op.greater;
  case Ordering::unordered:
    return op.unordered;
  }
  return false;
}
bool combine(const char* bool_op, bool t, uint64_t c) {
  if (bool_op[0] == 0)
    return t;
  return bool_op[1] == 'a' ? t & c : bool_op[1] == 'o' ? t | c : t ^ c;
}
constexpr const char* kBoolOps[] = {"", ".and", ".or", ".xor"};

// Every operator of the types, alone and combined; .ftz where `ftz_types` names the type.
template <size_t kCount>
void for_comparisons(const Type (&types)[kCount],
                     const std::function<void(const Type&, const Operator&, const char*, bool)>& f) {
  for (const Type& t : types)
    for (const Operator& op : kOperators) {
      if (std::string_view(op.kinds).find(t.kind) == std::string_view::npos)
        continue;
      for (const char* bool_op : kBoolOps)
        for (const bool ftz : {false, true}) {
          const bool may_flush =
              t.kind == 'f' && t.format != FloatFormat::f64 && t.format != FloatFormat::bf16;
          if (!ftz || may_flush)
            f(t, op, bool_op, ftz);
        }
    }
}

void check_setp(const Type& t, const Operator& op, const char* bool_op, bool ftz) {
  CheckOptions options;
  options.warps = 8;
  for (const int dsts : {1, 2}) {
    options.dst_count = dsts;
    check2(
        fmt::format("setp.{}{}{}.{}", op.name, bool_op, ftz ? ".ftz" : "", t.name),
        [&](const uint64_t* s, uint64_t* d) {
          const bool r = holds(op, order(t, s[0], s[1], ftz));
          d[0] = combine(bool_op, r, bool_op[0] != 0 ? s[2] : 0);
          d[1] = combine(bool_op, !r, bool_op[0] != 0 ? s[2] : 0);
        },
        options);
  }
}

TEST(Compare, SetpOfIntegers) {
  for_comparisons(kIntegers, check_setp);
}
TEST(Compare, SetpOfFloats) {
  for_comparisons(kFloats, check_setp);
}

TEST(Compare, SetpOfPackedHalves) {
  for_comparisons(kPacked, [](const Type& t, const Operator& op, const char* bool_op, bool ftz) {
    CheckOptions options;
    options.warps = 8;
    options.dst_count = 2;
    check2(
        fmt::format("setp.{}{}{}.{}", op.name, bool_op, ftz ? ".ftz" : "", t.name),
        [&](const uint64_t* s, uint64_t* d) {
          for (int i = 0; i < 2; ++i) {
            const bool r = holds(op, order(t, s[0] >> 16 * i & 0xffff, s[1] >> 16 * i & 0xffff, ftz));
            d[i] = combine(bool_op, r, bool_op[0] != 0 ? s[2] : 0);
          }
        },
        options);
  });
}

struct Destination {
  const char* name;
  uint64_t if_true;
};

void check_set(const Type& t, const Operator& op, const char* bool_op, bool ftz, const Destination& d) {
  CheckOptions options;
  options.warps = 4;
  check(
      fmt::format("set.{}{}{}.{}.{}", op.name, bool_op, ftz ? ".ftz" : "", d.name, t.name),
      [&](const uint64_t* s) {
        const bool r = holds(op, order(t, s[0], s[1], ftz));
        return combine(bool_op, r, bool_op[0] != 0 ? s[2] : 0) ? d.if_true : 0;
      },
      options);
}

TEST(Compare, Set) {
  constexpr Destination kWords[] = {{"u32", 0xffffffff}, {"s32", 0xffffffff}, {"f32", 0x3f800000}};
  constexpr Destination kHalves[] = {
      {"u16", 0xffff}, {"s16", 0xffff}, {"u32", 0xffffffff}, {"s32", 0xffffffff}};
  for (const Destination& d : kWords) {
    for_comparisons(kIntegers, [&](const Type& t, const Operator& op, const char* bool_op, bool ftz) {
      check_set(t, op, bool_op, ftz, d);
    });
    constexpr Type kWide[] = {kFloats[0], kFloats[1]};
    for_comparisons(kWide, [&](const Type& t, const Operator& op, const char* bool_op, bool ftz) {
      check_set(t, op, bool_op, ftz, d);
    });
  }
  constexpr Type kHalfTypes[] = {kFloats[2], kFloats[3]};
  for_comparisons(kHalfTypes, [&](const Type& t, const Operator& op, const char* bool_op, bool ftz) {
    for (const Destination& d : kHalves)
      check_set(t, op, bool_op, ftz, d);
    check_set(t, op, bool_op, ftz, {t.name, t.format == FloatFormat::f16 ? 0x3c00u : 0x3f80u});
  });
}

TEST(Compare, SetOfPackedHalves) {
  for_comparisons(kPacked, [](const Type& t, const Operator& op, const char* bool_op, bool ftz) {
    const Destination one{t.name, t.format == FloatFormat::f16 ? 0x3c00u : 0x3f80u};
    for (const Destination& d : {one, Destination{"u32", 0xffff}, Destination{"s32", 0xffff}}) {
      CheckOptions options;
      options.warps = 4;
      check(
          fmt::format("set.{}{}{}.{}.{}", op.name, bool_op, ftz ? ".ftz" : "", d.name, t.name),
          [&](const uint64_t* s) {
            uint64_t result = 0;
            for (int at = 0; at < 32; at += 16) {
              const bool r = holds(op, order(t, s[0] >> at & 0xffff, s[1] >> at & 0xffff, ftz));
              result |= (combine(bool_op, r, bool_op[0] != 0 ? s[2] : 0) ? d.if_true : 0) << at;
            }
            return result;
          },
          options);
    }
  });
}

TEST(Compare, Selection) {
  for (const char* type : {"b16", "b32", "b64", "u16", "u32", "u64", "s16", "s32", "s64", "f32", "f64"}) {
    check(fmt::format("selp.{}", type), [](const uint64_t* s) { return s[2] != 0 ? s[0] : s[1]; });
    check(fmt::format("slct.{}.s32", type),
          [](const uint64_t* s) { return int32_t(s[2]) >= 0 ? s[0] : s[1]; });
    for (const bool ftz : {false, true})
      check(fmt::format("slct{}.{}.f32", ftz ? ".ftz" : "", type), [ftz](const uint64_t* s) {
        const Ordering o = numeric::compare(FloatFormat::f32, s[2], 0, ftz);
        return o == Ordering::equal || o == Ordering::greater ? s[0] : s[1];
      });
  }
}

} // namespace
} // namespace lemma::vgpu
