// Which of the host's vector instructions the loops of the matrix arithmetic use: detected once, and settable
// so that tests run every level that the host has.
//
// Tests: tests/unit/numeric/dot_test.cc.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace lemma::numeric::internal {

// Compilers that have the vector types and, below, the instructions: the loops are in g++'s terms, and take
// the bytes of a word as little-endian hosts have them.
#if defined(__GNUC__) && !defined(__clang__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define LEMMA_DOT_BASELINE
#ifdef __x86_64__
#define LEMMA_DOT_X86
#endif
#endif

// In the place of `#pragma GCC target`, after `#pragma GCC push_options`: what the loops of a level are
// compiled for, of which dot_levels() asks the host.
#define LEMMA_DOT_PRAGMA(text) _Pragma(#text)
#define LEMMA_DOT_TARGET(instructions) LEMMA_DOT_PRAGMA(GCC target(instructions))
#define LEMMA_DOT_AVX2 "avx2,fma,f16c,bmi,bmi2,lzcnt"
#define LEMMA_DOT_AVX512                                                                                     \
  "avx512f,avx512bw,avx512cd,avx512dq,avx512vl," LEMMA_DOT_AVX2 ",prefer-vector-width=512"
#define LEMMA_DOT_TARGET_AVX2 LEMMA_DOT_TARGET(LEMMA_DOT_AVX2)
#define LEMMA_DOT_TARGET_AVX2_VNNI LEMMA_DOT_TARGET("avxvnni," LEMMA_DOT_AVX2)
#define LEMMA_DOT_TARGET_AVX512 LEMMA_DOT_TARGET(LEMMA_DOT_AVX512)
#define LEMMA_DOT_TARGET_AVX512_VNNI LEMMA_DOT_TARGET("avx512vnni," LEMMA_DOT_AVX512)
#define LEMMA_DOT_TARGET_AMX LEMMA_DOT_TARGET("amx-tile,amx-int8," LEMMA_DOT_AVX512)

// Slowest first. A level that has no loops of its own for some arithmetic uses those of the last one before
// it whose instructions it has: every one those of avx2, but avx512 not avx2_vnni's.
enum class DotLevel : uint8_t {
  scalar,
  baseline,    // vectors of 16 bytes, as every CPU of the target has them: SSE2 on x86-64
  avx2,        // AVX2, FMA, F16C, BMI
  avx2_vnni,   // and AVX-VNNI, for integers
  avx512,      // AVX-512 F, BW, CD, DQ, VL
  avx512_vnni, // for integers
  amx,         // INT8 tiles, for integers
};

std::string_view to_string(DotLevel level);

// The level whose loops serve where those above it have instructions for integers alone.
constexpr DotLevel without_integers(DotLevel level) {
  switch (level) {
  case DotLevel::avx2_vnni:
    return DotLevel::avx2;
  case DotLevel::avx512_vnni:
  case DotLevel::amx:
    return DotLevel::avx512;
  default:
    return level;
  }
}

// Those that this host can run, lowest first. Asks the system for the tiles' registers, where there are any.
const std::vector<DotLevel>& dot_levels();
// The level in force: the highest, unless set, for tests and benchmarks. A DotPlan keeps that of when it was
// made.
DotLevel dot_level();
void set_dot_level(DotLevel level);

} // namespace lemma::numeric::internal
