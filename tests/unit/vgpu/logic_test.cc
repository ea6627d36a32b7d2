// Logic, shifts, lop3 and prmt against bit-by-bit statements.
#include "arithmetic_fixture.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace lemma::vgpu {
namespace {

TEST(Logic, BitwiseOfEveryWidth) {
  for (const char* type : {"b16", "b32", "b64", "pred"}) {
    check(fmt::format("and.{}", type), [](const uint64_t* s) { return s[0] & s[1]; });
    check(fmt::format("or.{}", type), [](const uint64_t* s) { return s[0] | s[1]; });
    check(fmt::format("xor.{}", type), [](const uint64_t* s) { return s[0] ^ s[1]; });
    check(fmt::format("not.{}", type), [](const uint64_t* s) { return ~s[0]; });
  }
  for (const char* type : {"b16", "b32", "b64"})
    check(fmt::format("cnot.{}", type), [](const uint64_t* s) { return uint64_t{s[0] == 0}; });
}

TEST(Logic, ShiftsClampTheirAmount) {
  CheckOptions near;
  near.source = [](int source, uint64_t r) { return source == 0 ? r : r % 70; };
  for (const CheckOptions& options : {CheckOptions{}, near})
    for (const int bits : {16, 32, 64}) {
      const auto right = [bits](const uint64_t* s) { return s[1] >= unsigned(bits) ? 0 : s[0] >> s[1]; };
      const auto arithmetic = [bits](const uint64_t* s) {
        const int64_t a = int64_t(s[0] << (64 - bits)) >> (64 - bits);
        return uint64_t(a >> std::min<uint64_t>(s[1], 63));
      };
      check(
          fmt::format("shl.b{}", bits),
          [bits](const uint64_t* s) { return s[1] >= unsigned(bits) ? 0 : s[0] << s[1]; }, options);
      check(fmt::format("shr.b{}", bits), right, options);
      check(fmt::format("shr.u{}", bits), right, options);
      check(fmt::format("shr.s{}", bits), arithmetic, options);
    }
}

TEST(Logic, FunnelShift) {
  CheckOptions near;
  near.source = [](int source, uint64_t r) { return source == 2 ? r % 70 : r; };
  for (const CheckOptions& options : {CheckOptions{}, near})
    for (const bool wrap : {false, true}) {
      const auto amount = [wrap](uint64_t c) { return wrap ? c & 31 : std::min<uint64_t>(c, 32); };
      const char* mode = wrap ? "wrap" : "clamp";
      check(
          fmt::format("shf.l.{}.b32", mode),
          [&](const uint64_t* s) { return (s[1] << 32 | s[0]) << amount(s[2]) >> 32; }, options);
      check(
          fmt::format("shf.r.{}.b32", mode),
          [&](const uint64_t* s) { return (s[1] << 32 | s[0]) >> amount(s[2]); }, options);
    }
}

// The table's bit where a, b, c are its index.
uint64_t lut(int64_t table, const uint64_t* s) {
  uint64_t d = 0;
  for (int i = 0; i < 32; ++i) {
    const int index = int(s[0] >> i & 1) << 2 | int(s[1] >> i & 1) << 1 | int(s[2] >> i & 1);
    d |= uint64_t(table >> index & 1) << i;
  }
  return d;
}

TEST(Logic, Lop3WithEveryTable) {
  CheckOptions options;
  options.warps = 4;
  for (options.lut = 0; options.lut < 256; ++options.lut)
    check("lop3.b32", [&](const uint64_t* s) { return lut(options.lut, s); }, options);
}

TEST(Logic, Lop3WithPredicate) {
  CheckOptions options;
  options.warps = 8;
  for (const int64_t table : {0x00, 0x80, 0x96, 0xe8, 0xff})
    for (const int dsts : {1, 2}) {
      options.lut = table;
      options.dst_count = dsts;
      const auto run = [&](const char* spelling, bool is_or) {
        check2(
            spelling,
            [&](const uint64_t* s, uint64_t* d) {
              d[0] = lut(table, s);
              d[1] = is_or ? (d[0] != 0) | s[3] : (d[0] != 0) & s[3];
            },
            options);
      };
      run("lop3.or.b32", true);
      run("lop3.and.b32", false);
    }
}

TEST(Logic, Prmt) {
  const auto byte_of = [](const uint64_t* s, int selector) {
    const uint64_t byte = (s[1] << 32 | s[0]) >> 8 * (selector & 7) & 0xff;
    return (selector & 8) == 0 ? byte : (byte & 0x80) != 0 ? uint64_t{0xff} : uint64_t{0};
  };
  check("prmt.b32", [&](const uint64_t* s) {
    uint64_t d = 0;
    for (int i = 0; i < 4; ++i)
      d |= byte_of(s, int(s[2] >> 4 * i & 0xf)) << 8 * i;
    return d;
  });
  // The ISA's table: the source bytes of d's bytes 3, 2, 1, 0 for c = 0, 1, 2, 3.
  struct Mode {
    const char* name;
    int bytes[4][4];
  };
  constexpr Mode kModes[] = {
      {"f4e", {{3, 2, 1, 0}, {4, 3, 2, 1}, {5, 4, 3, 2}, {6, 5, 4, 3}}},
      {"b4e", {{5, 6, 7, 0}, {6, 7, 0, 1}, {7, 0, 1, 2}, {0, 1, 2, 3}}},
      {"rc8", {{0, 0, 0, 0}, {1, 1, 1, 1}, {2, 2, 2, 2}, {3, 3, 3, 3}}},
      {"ecl", {{3, 2, 1, 0}, {3, 2, 1, 1}, {3, 2, 2, 2}, {3, 3, 3, 3}}},
      {"ecr", {{0, 0, 0, 0}, {1, 1, 1, 0}, {2, 2, 1, 0}, {3, 2, 1, 0}}},
      {"rc16", {{1, 0, 1, 0}, {3, 2, 3, 2}, {1, 0, 1, 0}, {3, 2, 3, 2}}},
  };
  for (const Mode& mode : kModes)
    check(fmt::format("prmt.b32.{}", mode.name), [&](const uint64_t* s) {
      uint64_t d = 0;
      for (int i = 0; i < 4; ++i)
        d |= byte_of(s, mode.bytes[s[2] & 3][3 - i]) << 8 * i;
      return d;
    });
}

} // namespace
} // namespace lemma::vgpu
