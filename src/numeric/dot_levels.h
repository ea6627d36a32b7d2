// Which of the host's vector instructions the loops of the matrix arithmetic use: detected once, and settable
// so that tests run every level that the host has.
//
// Tests: tests/unit/numeric/dot_test.cc.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace lemma::numeric::internal {

// A level has what those before it have, and its loops where it has none of its own.
enum class DotLevel : uint8_t {
  scalar,
  avx2,        // AVX2, FMA, F16C, BMI
  avx512,      // AVX-512 F, BW, CD, DQ, VL
  avx512_vnni, // for integers
  amx,         // INT8 tiles, for integers
};

std::string_view to_string(DotLevel level);

// Those that this host can run, lowest first. Asks the system for the tiles' registers, where there are any.
const std::vector<DotLevel>& dot_levels();
// The level in force: the highest, unless set. For tests and benchmarks.
DotLevel dot_level();
void set_dot_level(DotLevel level);

} // namespace lemma::numeric::internal
