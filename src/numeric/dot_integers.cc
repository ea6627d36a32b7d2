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

// Which of A and B is `wide` and which `narrow` makes no difference to the arithmetic. A plan has one,
// without where the matrices lie.
struct IntegerTile {
  const std::byte *wide = nullptr, *narrow = nullptr; // [rows][k]
  int wide_rows, narrow_rows, k;
  IntegerElement wide_element, narrow_element;
  const std::byte* c = nullptr; // element (w, s) at w * wide_stride + s * narrow_stride; may be null
  std::byte* d = nullptr;
  int wide_stride, narrow_stride;
  std::byte* const* blocks = nullptr;         // C and D in place of those, if not null: DotBlocks
  const std::byte* const* c_blocks = nullptr; // null: C is zeros
  bool satfinite = false;
  bool wide_is_a = false;
  const void* arranged = nullptr;           // all blocks of `wide` in the level's form, or null
  OperandBlocks wide_blocks, narrow_blocks; // in place of `wide` and `narrow`
};

// The loops of a level; null: there are none.
struct Loops {
  void (*integers)(const IntegerTile& tile, std::byte* workspace) = nullptr;
  size_t workspace_bytes = 0; // that it needs
  void (*arrange)(const IntegerTile& tile, DotLevel level, ArrangedB::Content& out) = nullptr;
  void (*bits)(const IntegerTile& tile, bool is_xor) = nullptr;
  bool (*is_far_from_ends)(const DotPlan& plan, const DotTile& tile) = nullptr;
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
    return {baseline::run_integers, sizeof(baseline::Workspace), baseline::arrange_wide, baseline::run_bits,
            baseline::is_far_from_ends};
#endif
#ifdef LEMMA_DOT_X86
  case DotLevel::avx2:
    return {avx2::run_integers, sizeof(avx2::Workspace), avx2::arrange_wide, avx2::run_bits,
            avx2::is_far_from_ends};
  case DotLevel::avx2_vnni:
    return {avx2_vnni::run_integers, sizeof(avx2_vnni::Workspace), avx2_vnni::arrange_wide,
            avx2_vnni::run_bits, avx2_vnni::is_far_from_ends};
  case DotLevel::avx512:
    return {avx512::run_integers, sizeof(avx512::Workspace), avx512::arrange_wide, avx512::run_bits,
            avx512::is_far_from_ends};
  case DotLevel::avx512_vnni:
  case DotLevel::amx:
    return {avx512_vnni::run_integers, sizeof(avx512_vnni::Workspace), avx512_vnni::arrange_wide,
            avx512_vnni::run_bits, avx512_vnni::is_far_from_ends};
#endif
  default: // scalar
    return {};
  }
}

// Rows of B are lanes, so that rows of C and D are vectors, unless that leaves lanes unused.
IntegerTile describe_lanes(const DotPlan& plan) {
  const DotShape& shape = plan.shape();
  const bool wide_is_a = shape.n % kLanes != 0 && shape.n < 4 * kLanes && shape.m % kLanes == 0;
  const int stride = static_cast<int>(plan.row_stride());
  return {.wide_rows = wide_is_a ? shape.m : shape.n,
          .narrow_rows = wide_is_a ? shape.n : shape.m,
          .k = shape.columns_of_b(),
          .wide_element = {},
          .narrow_element = {},
          .wide_stride = wide_is_a ? stride : 1,
          .narrow_stride = wide_is_a ? 1 : stride,
          .wide_is_a = wide_is_a,
          .wide_blocks = {},
          .narrow_blocks = {}};
}

// Where the matrices lie; A is dense.
void place(const DotPlan& plan, const DotTile& tile, IntegerTile& lanes) {
  if (plan.layout().blocks == DotBlocks::all) {
    lanes.wide_blocks = blocks_of_b(plan, tile); // whose rows are lanes
    lanes.narrow_blocks = blocks_of_a(plan, tile);
  } else {
    lanes.wide = lanes.wide_is_a ? tile.a.rows() : tile.b.rows();
    lanes.narrow = lanes.wide_is_a ? tile.b.rows() : tile.a.rows();
  }
  place_outputs(plan, tile, lanes);
}

class IntegerWay final : public DotWay {
public:
  IntegerWay(const DotPlan& plan, const Loops& loops, DotLevel level)
      : loops_(loops), level_(level), tiles_(amx_way(plan, level)), lanes_(describe_lanes(plan)) {
    const DotModel& model = plan.model();
    lanes_.wide_element = wide_element_of(lanes_.wide_is_a ? model.integer_a : model.integer_b);
    lanes_.narrow_element = narrow_element_of(lanes_.wide_is_a ? model.integer_b : model.integer_a);
  }

  bool run(const DotPlan& plan, const DotTile& tile, DotScratch& scratch,
           MatrixOutputs& paths) const override {
    const DotModel& model = plan.model();
    DotTile dense = tile;
    if (plan.shape().is_sparse())
      dense.a = dense_a(plan, tile, scratch);
    if (!dense.a)
      return false;
    const bool saturates = model.satfinite && !loops_.is_far_from_ends(plan, tile);
    if (saturates && model.max_fused_k != 0 && model.max_fused_k < lanes_.k)
      return false;
    if (tiles_ && !saturates)
      return tiles_->run(plan, dense, scratch, paths);
    IntegerTile lanes = lanes_;
    place(plan, dense, lanes);
    lanes.satfinite = saturates;
    if (!lanes.wide_is_a)
      lanes.arranged = arranged<void>(tile, ArrangedB::Content::Form::integers, level_);
    loops_.integers(lanes, scratch.make<std::byte>(DotScratch::Use::loops, loops_.workspace_bytes));
    paths.vector += plan.shape().outputs();
    return true;
  }

  void arrange(const DotPlan& plan, const DotTile& tile, ArrangedB::Content& out) const override {
    if (tiles_ && !plan.model().satfinite)
      return tiles_->arrange(plan, tile, out);
    if (lanes_.wide_is_a)
      return;
    IntegerTile lanes = lanes_;
    lanes.wide = tile.b.rows();
    loops_.arrange(lanes, level_, out);
  }

private:
  Loops loops_;
  DotLevel level_;
  std::shared_ptr<const DotWay> tiles_; // AMX's; null: none
  IntegerTile lanes_;                   // but for where the matrices lie
};

class BitWay final : public DotWay {
public:
  BitWay(const DotPlan& plan, const Loops& loops) : loops_(loops), lanes_(describe_lanes(plan)) {}

  bool run(const DotPlan& plan, const DotTile& tile, DotScratch&, MatrixOutputs& paths) const override {
    IntegerTile lanes = lanes_;
    place(plan, tile, lanes);
    loops_.bits(lanes, plan.model().scheme == DotScheme::xor_popc);
    paths.vector += plan.shape().outputs();
    return true;
  }

private:
  Loops loops_;
  IntegerTile lanes_; // but for where the matrices lie
};

} // namespace

std::shared_ptr<const DotWay> integer_way(const DotPlan& plan, DotLevel level) {
  const Loops loops = loops_of(level);
  const DotShape& shape = plan.shape();
  const int k = shape.columns_of_b();
  if (!loops.integers || k > kMaxIntegerK || k % 4 != 0 || !takes_operands(level, plan) ||
      (shape.is_sparse() && !may_be_dense(plan)) ||
      (plan.layout().blocks != DotBlocks::none && describe_lanes(plan).wide_is_a))
    return nullptr;
  return std::make_shared<IntegerWay>(plan, loops, level);
}

std::shared_ptr<const DotWay> bit_way(const DotPlan& plan, DotLevel level) {
  const Loops loops = loops_of(level);
  if (!loops.bits || plan.shape().is_sparse() || plan.shape().k > kMaxBitsK ||
      plan.layout().blocks != DotBlocks::none)
    return nullptr;
  return std::make_shared<BitWay>(plan, loops);
}

} // namespace lemma::numeric::internal
