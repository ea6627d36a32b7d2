// The levels of the integer loops: each section says how a level multiplies bytes and includes
// dot_vectors.inc, dot_pairs.inc where it can only multiply pairs of 16 bits, dot_blocks.inc and
// dot_integers.inc. The host's instructions want one operand unsigned and one signed, whatever the types are:
// wide_element_of() and narrow_element_of() say which offset makes them so, and the loops take it off again.
// AMX has a file of its own (dot_amx.cc) and is asked first.
#include "numeric/dot_integers.h"

#include "numeric/dot_internal.h"
#include "numeric/dot_levels.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace lemma::numeric::internal {
namespace {

constexpr int kLanes = 16;
constexpr int kMaxBitsK = 512;

// How an element is taken: (byte & mask) ^ flip, in each byte of a word. The lanes' operand becomes an
// unsigned byte that is `offset` more than the element, the other a signed one that is `offset` less.
struct IntegerElement {
  int32_t mask = -1, flip = 0;
  int32_t offset = 0;
};

// Which of A and B is `wide` and which `narrow` makes no difference to the arithmetic.
struct IntegerTile {
  const int8_t *wide, *narrow; // [rows][k]
  int wide_rows, narrow_rows, k;
  IntegerElement wide_element, narrow_element;
  const void* c; // element (w, s) at w * wide_stride + s * narrow_stride; may be null
  void* d;
  int wide_stride, narrow_stride;
  std::byte* const* blocks;         // C and D in place of those, if not null: of DotTile
  const std::byte* const* c_blocks; // null: C is zeros
  bool satfinite;
  const void* arranged = nullptr;           // all blocks of `wide` in the level's form, or null
  OperandBlocks wide_blocks, narrow_blocks; // in place of `wide` and `narrow`
};

// The loops of a level; null: there are none.
struct Loops {
  void (*integers)(const IntegerTile& tile) = nullptr;
  void (*arrange)(const IntegerTile& tile, ArrangedB::Content& out) = nullptr;
  void (*bits)(const IntegerTile& tile, bool is_xor) = nullptr;
  bool (*is_far_from_ends)(const DotTile& tile) = nullptr;
};

} // namespace
} // namespace lemma::numeric::internal

#ifdef LEMMA_DOT_BASELINE
#ifdef __SSE2__
#include <emmintrin.h>
#endif
namespace lemma::numeric::internal::baseline {
namespace {
constexpr int kLanes = 4;
constexpr bool kFastShuffles = true; // of any two vectors
constexpr int kRows = 8, kGroupsAtOnce = 1, kWordsOfFour = 2;
#include "numeric/dot_vectors.inc"
[[gnu::always_inline]] inline Ints add_products(Ints sum, Ints a, Ints b) {
#ifdef __SSE2__
  return wrapping_sum(sum, (Ints)_mm_madd_epi16((__m128i)a, (__m128i)b));
#else
  return wrapping_sum(sum, wrapping_sum(((a << 16) >> 16) * ((b << 16) >> 16), (a >> 16) * (b >> 16)));
#endif
}
#include "numeric/dot_pairs.inc"
// (the order matters)
#include "numeric/dot_blocks.inc"
// (the order matters)
#include "numeric/dot_integers.inc"
} // namespace
} // namespace lemma::numeric::internal::baseline
#endif

#ifdef LEMMA_DOT_X86
#include <immintrin.h>

#pragma GCC push_options
LEMMA_DOT_TARGET_AVX2
namespace lemma::numeric::internal::avx2 {
namespace {
constexpr int kLanes = 8;
constexpr bool kFastShuffles = true;
constexpr int kRows = 8, kGroupsAtOnce = 1, kWordsOfFour = 2;
#include "numeric/dot_vectors.inc"
[[gnu::always_inline]] inline Ints add_products(Ints sum, Ints a, Ints b) {
  return wrapping_sum(sum, (Ints)_mm256_madd_epi16((__m256i)a, (__m256i)b));
}
#include "numeric/dot_pairs.inc"
// (the order matters)
#include "numeric/dot_blocks.inc"
// (the order matters)
#include "numeric/dot_integers.inc"
} // namespace
} // namespace lemma::numeric::internal::avx2
#pragma GCC pop_options

#pragma GCC push_options
LEMMA_DOT_TARGET_AVX2_VNNI
namespace lemma::numeric::internal::avx2_vnni {
namespace {
constexpr int kLanes = 8;
constexpr bool kFastShuffles = true;
constexpr int kRows = 8, kGroupsAtOnce = 1, kWordsOfFour = 1;
#include "numeric/dot_vectors.inc"
[[gnu::always_inline]] inline Ints add_products(Ints sum, Ints unsigned_bytes, Ints signed_bytes) {
  return (Ints)_mm256_dpbusd_avx_epi32((__m256i)sum, (__m256i)unsigned_bytes, (__m256i)signed_bytes);
}
template <bool kIsWide>
[[gnu::always_inline]] inline void split(Ints bytes, Ints* out) {
  out[0] = bytes;
}
#include "numeric/dot_blocks.inc"
// (the order matters)
#include "numeric/dot_integers.inc"
} // namespace
} // namespace lemma::numeric::internal::avx2_vnni
#pragma GCC pop_options

#define LEMMA_LANES_AVX512
#pragma GCC push_options
LEMMA_DOT_TARGET_AVX512
namespace lemma::numeric::internal::avx512 {
namespace {
constexpr bool kFastShuffles = true;
constexpr int kRows = 8, kGroupsAtOnce = 2, kWordsOfFour = 2;
#include "numeric/dot_vectors.inc"
[[gnu::always_inline]] inline Ints add_products(Ints sum, Ints a, Ints b) {
  return wrapping_sum(sum, (Ints)_mm512_madd_epi16((__m512i)a, (__m512i)b));
}
#include "numeric/dot_pairs.inc"
// (the order matters)
#include "numeric/dot_blocks.inc"
// (the order matters)
#include "numeric/dot_integers.inc"
} // namespace
} // namespace lemma::numeric::internal::avx512
#pragma GCC pop_options

#pragma GCC push_options
LEMMA_DOT_TARGET_AVX512_VNNI
namespace lemma::numeric::internal::avx512_vnni {
namespace {
constexpr bool kFastShuffles = true;
constexpr int kRows = 8, kGroupsAtOnce = 2, kWordsOfFour = 1;
#include "numeric/dot_vectors.inc"
[[gnu::always_inline]] inline Ints add_products(Ints sum, Ints unsigned_bytes, Ints signed_bytes) {
  return (Ints)_mm512_dpbusd_epi32((__m512i)sum, (__m512i)unsigned_bytes, (__m512i)signed_bytes);
}
template <bool kIsWide>
[[gnu::always_inline]] inline void split(Ints bytes, Ints* out) {
  out[0] = bytes;
}
#include "numeric/dot_blocks.inc"
// (the order matters)
#include "numeric/dot_integers.inc"
} // namespace
} // namespace lemma::numeric::internal::avx512_vnni
#pragma GCC pop_options
#undef LEMMA_LANES_AVX512
#endif

namespace lemma::numeric::internal {
namespace {

IntegerElement wide_element_of(IntegerFormat format) {
  switch (format) {
  case IntegerFormat::s8:
    return {.mask = -1, .flip = static_cast<int32_t>(0x80808080), .offset = 128};
  case IntegerFormat::s4:
    return {.mask = 0x0f0f0f0f, .flip = 0x08080808, .offset = 8};
  case IntegerFormat::u4:
    return {.mask = 0x0f0f0f0f};
  default:
    return {};
  }
}

IntegerElement narrow_element_of(IntegerFormat format) {
  switch (format) {
  case IntegerFormat::u8:
    return {.mask = -1, .flip = static_cast<int32_t>(0x80808080), .offset = 128};
  case IntegerFormat::s4:
    return {.mask = 0x0f0f0f0f, .flip = 0x08080808, .offset = -8};
  case IntegerFormat::u4:
    return {.mask = 0x0f0f0f0f};
  default:
    return {};
  }
}

Loops loops_of(DotLevel level) {
  switch (level) {
#ifdef LEMMA_DOT_BASELINE
  case DotLevel::baseline:
    return {baseline::run_integers, baseline::arrange_wide, baseline::run_bits, baseline::is_far_from_ends};
#endif
#ifdef LEMMA_DOT_X86
  case DotLevel::avx2:
    return {avx2::run_integers, avx2::arrange_wide, avx2::run_bits, avx2::is_far_from_ends};
  case DotLevel::avx2_vnni:
    return {avx2_vnni::run_integers, avx2_vnni::arrange_wide, avx2_vnni::run_bits,
            avx2_vnni::is_far_from_ends};
  case DotLevel::avx512:
    return {avx512::run_integers, avx512::arrange_wide, avx512::run_bits, avx512::is_far_from_ends};
  case DotLevel::avx512_vnni:
  case DotLevel::amx:
    return {avx512_vnni::run_integers, avx512_vnni::arrange_wide, avx512_vnni::run_bits,
            avx512_vnni::is_far_from_ends};
#endif
  default: // scalar
    return {};
  }
}

// Rows of B are lanes, so that rows of C and D are vectors, unless that leaves lanes unused.
IntegerTile describe(const DotTile& tile, bool& wide_is_a) {
  wide_is_a = tile.n % kLanes != 0 && tile.n < 4 * kLanes && tile.m % kLanes == 0;
  const int stride = static_cast<int>(row_stride(tile));
  const auto *a = static_cast<const int8_t*>(tile.a), *b = static_cast<const int8_t*>(tile.b);
  return {.wide = wide_is_a ? a : b,
          .narrow = wide_is_a ? b : a,
          .wide_rows = wide_is_a ? tile.m : tile.n,
          .narrow_rows = wide_is_a ? tile.n : tile.m,
          .k = tile.k,
          .wide_element = {},
          .narrow_element = {},
          .c = tile.c,
          .d = tile.d,
          .wide_stride = wide_is_a ? stride : 1,
          .narrow_stride = wide_is_a ? 1 : stride,
          .blocks = tile.blocks,
          .c_blocks = tile.c_blocks,
          .satfinite = false,
          .wide_blocks = {tile.b_blocks, tile.even_columns_first},
          .narrow_blocks = {tile.a_blocks, false}};
}

IntegerTile describe(const DotModel& model, const DotTile& tile, bool& wide_is_a) {
  IntegerTile lanes = describe(tile, wide_is_a);
  lanes.wide_element = wide_element_of(wide_is_a ? model.integer_a : model.integer_b);
  lanes.narrow_element = narrow_element_of(wide_is_a ? model.integer_b : model.integer_a);
  lanes.satfinite = model.satfinite;
  return lanes;
}

bool has_integer_loops(const Loops& loops, const DotTile& tile) {
  return loops.integers && !tile.a_index && tile.k <= kMaxIntegerK && tile.k % 4 == 0;
}

} // namespace

bool dot_integer_lanes(const DotModel& model, const DotTile& tile) {
  const DotLevel level = dot_level();
  const Loops loops = loops_of(level);
  if (!has_integer_loops(loops, tile) || (tile.a_blocks && !takes_operand_blocks(level, tile)))
    return false;
  if (model.satfinite && loops.is_far_from_ends(tile)) {
    DotModel wraps = model;
    wraps.satfinite = false;
    return dot_integer_lanes(wraps, tile);
  }
  if (model.satfinite && model.max_fused_k != 0 && model.max_fused_k < tile.k)
    return false;
  if (level == DotLevel::amx && dot_integer_tiles(model, tile))
    return true;
  bool wide_is_a = false;
  IntegerTile lanes = describe(model, tile, wide_is_a);
  if (wide_is_a && tile.blocks)
    return false;
  if (!wide_is_a)
    lanes.arranged = arranged<void>(tile, ArrangedB::Content::Form::integers);
  loops.integers(lanes);
  return true;
}

void arrange_integers(const DotModel& model, const DotTile& dense, ArrangedB::Content& out) {
  const DotLevel level = dot_level();
  const Loops loops = loops_of(level);
  if (!has_integer_loops(loops, dense) ||
      (level == DotLevel::amx && arrange_integer_tiles(model, dense, out)))
    return;
  bool wide_is_a = false;
  const IntegerTile lanes = describe(model, dense, wide_is_a);
  if (!wide_is_a)
    loops.arrange(lanes, out);
}

bool dot_bit_lanes(const DotModel& model, const DotTile& tile) {
  const Loops loops = loops_of(dot_level());
  if (!loops.bits || tile.a_index || tile.k > kMaxBitsK)
    return false;
  bool wide_is_a = false;
  loops.bits(describe(tile, wide_is_a), model.scheme == DotScheme::xor_popc);
  return true;
}

} // namespace lemma::numeric::internal
