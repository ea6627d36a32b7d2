// See mufu.h; the functions stand in mufu_lanes.inc.
#include "numeric/mufu.h"

#include "numeric/dot_levels.h"
#include "numeric/no_dependence.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <type_traits>
#include <utility>
#ifdef LEMMA_DOT_X86
#include <immintrin.h>
#endif

namespace lemma::numeric {
namespace {

using u16 = uint16_t;
using u32 = uint32_t;
using u64 = uint64_t;
using i32 = int32_t;
using f32 = float;
using i64 = int64_t;

// The coefficients by row. `rows` holds three numbers a row.
template <size_t kRows>
struct Table {
  i32 c0[kRows], c1[kRows], c2[kRows];
  constexpr explicit Table(const i32 (&rows)[3 * kRows]) : c0{}, c1{}, c2{} {
    for (size_t i = 0; i < kRows; ++i) {
      c0[i] = rows[3 * i];
      c1[i] = rows[3 * i + 1];
      c2[i] = rows[3 * i + 2];
    }
  }
};
constexpr Table<128> kRcpTable({
#include "numeric/mufu/rcp.inc"
});
constexpr Table<128> kRsqrtTable({
#include "numeric/mufu/rsq.inc"
});
constexpr Table<128> kSqrtTable({
#include "numeric/mufu/sqrt.inc"
});
constexpr Table<64> kEx2Table({
#include "numeric/mufu/ex2.inc"
});
constexpr Table<64> kLg2Table({
#include "numeric/mufu/lg2.inc"
});
constexpr Table<64> kSinTable({
#include "numeric/mufu/sin.inc"
});
constexpr Table<51> kTanhTable({
#include "numeric/mufu/tanh.inc"
});
// Of the binades from 2^-8 on: each has 2^bits segments.
constexpr u32 kTanhSegmentBits[] = {0, 0, 0, 1, 1, 2, 2, 2, 3, 4, 3};
constexpr std::array<u32, 11> kTanhFirstRow = [] {
  std::array<u32, 11> rows{};
  for (size_t i = 1; i < rows.size(); ++i)
    rows[i] = rows[i - 1] + (1u << kTanhSegmentBits[i - 1]);
  return rows;
}();

static_assert(kTanhFirstRow.back() + (1u << kTanhSegmentBits[10]) == std::size(kTanhTable.c0));

using Loop = void (*)(const void* a, const void* b, void* d, size_t count);

namespace baseline {
#include "numeric/mufu_lanes.inc"
}

#ifdef LEMMA_DOT_X86
#pragma GCC push_options
LEMMA_DOT_TARGET_AVX2
namespace avx2 {
#include "numeric/mufu_lanes.inc"
}
#pragma GCC pop_options

#pragma GCC push_options
LEMMA_DOT_TARGET_AVX512
#define LEMMA_MUFU_VECTORS
namespace avx512 {
#include "numeric/mufu_lanes.inc"
}
#undef LEMMA_MUFU_VECTORS
#pragma GCC pop_options
#endif

const Loop* loops_in_force() {
  using internal::DotLevel;
  switch (without_integers(internal::dot_level())) {
#ifdef LEMMA_DOT_X86
  case DotLevel::avx2:
    return avx2::kLoops;
  case DotLevel::avx512:
    return avx512::kLoops;
#endif
  default:
    return baseline::kLoops;
  }
}

} // namespace

void mufu(Mufu form, const void* a, const void* b, void* d, size_t count) {
  loops_in_force()[static_cast<size_t>(form)](a, b, d, count);
}

namespace {

struct Description {
  std::string_view name;
  std::string_view checked;
};
constexpr std::string_view kAll = "all 2^32 inputs";
constexpr std::string_view kAllHalves = "all 2^16 inputs, all 2^32 pairs";
constexpr std::string_view kAllUpperWords = "all 2^32 upper words";
constexpr std::string_view kPairs = "6 x 2^26 pairs";
constexpr std::string_view kCode = "as the code of ptxas 13.0: exact multiplications";
constexpr Description kDescriptions[kMufuForms] = {
    {"rcp.approx.f32", kAll},
    {"rcp.approx.ftz.f32", kAll},
    {"sqrt.approx.f32", kAll},
    {"sqrt.approx.ftz.f32", kAll},
    {"rsqrt.approx.f32", kAll},
    {"rsqrt.approx.ftz.f32", kAll},
    {"ex2.approx.f32", kAll},
    {"ex2.approx.ftz.f32", kAll},
    {"lg2.approx.f32", kAll},
    {"lg2.approx.ftz.f32", kAll},
    {"sin.approx.f32", kAll},
    {"cos.approx.f32", kAll},
    {"sin.2pi.approx.ftz.f32", kAll},
    {"cos.2pi.approx.ftz.f32", kAll},
    {"tanh.approx.f32", kAll},
    {"ex2.approx.f16", kAllHalves},
    {"ex2.approx.ftz.bf16", kAllHalves},
    {"tanh.approx.f16", kAllHalves},
    {"tanh.approx.bf16", kAllHalves},
    {"rcp.approx.ftz.f64", kAllUpperWords},
    {"rsqrt.approx.ftz.f64", kAllUpperWords},
    {"rsqrt.approx.f64", "6 x 2^26 inputs"},
    {"div.approx.f32", kPairs},
    {"div.approx.ftz.f32", kPairs},
    {"div.full.f32", kPairs},
    {"div.full.ftz.f32", kPairs},
    {"div.approx.f32 by a constant", kCode},
    {"div.approx.ftz.f32 by a constant", kCode},
    {"div.full.f32 by a constant", kCode},
    {"div.full.ftz.f32 by a constant", kCode},
};

} // namespace

std::string_view to_string(Mufu form) {
  return kDescriptions[static_cast<size_t>(form)].name;
}

std::string_view checked_inputs(Mufu form) {
  return kDescriptions[static_cast<size_t>(form)].checked;
}

} // namespace lemma::numeric
