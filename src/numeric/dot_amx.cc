// Integer matrices by AMX tiles: 16 rows of A, 64 bytes along K, 16 columns of B an instruction.
//
// The rows of A are tiles as they lie in memory, and so are those of C and D; only B is turned around, to
// words of four elements along K with the columns side by side. Sums wrap at 32 bits. To configure the tiles'
// registers and give them back takes as long as a warp's product: they stay configured, and each call looks
// whether they still are as it wants them, whatever another library has done in between.
//
// Intel 64 and IA-32 Architectures Software Developer's Manual, "Intel Advanced Matrix Extensions".
// Tests: tests/unit/numeric/dot_test.cc, on hosts that have them.
#include "numeric/dot_integers.h"

#include "numeric/dot_internal.h"
#include "numeric/dot_levels.h"

#include <algorithm>
#include <cstring>
#include <utility>

#ifdef LEMMA_DOT_X86
#include <immintrin.h>

#pragma GCC push_options
LEMMA_DOT_TARGET_AMX
namespace lemma::numeric::internal {
namespace {
constexpr int kLanes = 16;
constexpr bool kFastShuffles = true;
#define LEMMA_LANES_AVX512
#include "numeric/dot_vectors.inc"
// (the order matters)
#include "numeric/dot_blocks.inc"
#undef LEMMA_LANES_AVX512

constexpr int kTileRows = 16, kTileColumns = 16, kTileK = 64;
constexpr int kMaxRows = 64;              // of a call
constexpr int kMaxBlocksInRegisters = 16; // of columns

// Registers: of D and B three each, in turn, so that one block of columns need not wait for the one before.
constexpr int kD = 0, kB = 3, kA = 6, kTurns = 3;

struct alignas(64) TileConfig { // as LDTILECFG and STTILECFG have it
  uint8_t palette = 1, start_row = 0, reserved[14] = {};
  uint16_t row_bytes[16] = {};
  uint8_t rows[16] = {};

  void set(int tile, int tile_rows, int bytes) {
    rows[tile] = static_cast<uint8_t>(tile_rows);
    row_bytes[tile] = static_cast<uint16_t>(bytes);
  }
  void put_in_force() const {
    TileConfig current;
    asm volatile("sttilecfg %0" : "=m"(current));
    if (std::memcmp(&current, this, sizeof(current)) != 0)
      asm volatile("ldtilecfg %0" ::"m"(*this));
  }
};
static_assert(sizeof(TileConfig) == 64);

// 4-bit elements, one a byte, as 8-bit ones.
LEMMA_LANES_INLINE Ints widened(Ints bytes, IntegerFormat format) {
  typedef int8_t SignedBytes __attribute__((vector_size(4 * kLanes)));
  switch (format) {
  case IntegerFormat::s4:
    return Ints(SignedBytes((bytes & 0x0f0f0f0f) ^ 0x08080808) - 8);
  case IntegerFormat::u4:
    return bytes & 0x0f0f0f0f;
  default:
    return bytes;
  }
}

bool is_four_bits(IntegerFormat format) {
  return width_bits(format) == 4;
}

// The whole of A, widened; null where A is as it should be.
const int8_t* widened_a(const DotModel& model, const DotTile& tile, int8_t* buffer) {
  const auto* a = static_cast<const int8_t*>(tile.a);
  if (!is_four_bits(model.integer_a))
    return a;
  const size_t bytes = static_cast<size_t>(tile.m) * static_cast<size_t>(tile.k);
  for (size_t at = 0; at < bytes; at += sizeof(Ints)) {
    Ints words{};
    const size_t count = std::min(sizeof(Ints), bytes - at);
    std::memcpy(&words, a + at, count);
    words = widened(words, model.integer_a);
    std::memcpy(buffer + at, &words, count);
  }
  return buffer;
}

// 16 columns of B, a word of four elements along K after the other.
using ColumnWords = int32_t[kTileColumns];

// The block of columns from `first` on.
LEMMA_LANES_INLINE void turn_columns(const DotModel& model, const DotTile& tile, int first,
                                     ColumnWords* out) {
  const int words = tile.k / 4;
  Ints rows[kMaxIntegerK / 4];
  load_rows(static_cast<const int8_t*>(tile.b) + static_cast<size_t>(first) * tile.k, words, 1, words, 4,
            rows);
  for (int w = 0; w < words; ++w) {
    const Ints row = widened(rows[w], model.integer_b);
    std::memcpy(out[w], &row, sizeof(row));
  }
}

// g++ 12's intrinsics do not say that tiles come from memory and go there.
template <int kTile>
[[gnu::always_inline]] inline void load_tile(const void* from, size_t row_bytes) {
  asm volatile("tileloadd (%0,%1,1), %%tmm%c2" ::"r"(from), "r"(row_bytes), "i"(kTile) : "memory");
}
template <int kTile>
[[gnu::always_inline]] inline void store_tile(void* to, size_t row_bytes) {
  asm volatile("tilestored %%tmm%c2, (%0,%1,1)" ::"r"(to), "r"(row_bytes), "i"(kTile) : "memory");
}
template <int kTile>
[[gnu::always_inline]] inline void clear_tile() {
  asm volatile("tilezero %%tmm%c0" ::"i"(kTile));
}
// kTile += kA * kColumnsTile. In AT&T order the last source comes first.
template <int kTile, int kColumnsTile>
[[gnu::always_inline]] inline void multiply(bool signed_a, bool signed_b) {
  if (signed_a && signed_b)
    asm volatile("tdpbssd %%tmm%c2, %%tmm%c1, %%tmm%c0" ::"i"(kTile), "i"(kA), "i"(kColumnsTile));
  else if (signed_a)
    asm volatile("tdpbsud %%tmm%c2, %%tmm%c1, %%tmm%c0" ::"i"(kTile), "i"(kA), "i"(kColumnsTile));
  else if (signed_b)
    asm volatile("tdpbusd %%tmm%c2, %%tmm%c1, %%tmm%c0" ::"i"(kTile), "i"(kA), "i"(kColumnsTile));
  else
    asm volatile("tdpbuud %%tmm%c2, %%tmm%c1, %%tmm%c0" ::"i"(kTile), "i"(kA), "i"(kColumnsTile));
}

// So many rows of A, and how to multiply by them.
struct RowBlock {
  const int8_t* a;
  int k, step_k;
  bool signed_a, signed_b;
};

// One tile of D: C, if any, plus the products. A of a single step is loaded already.
template <int kTurn>
[[gnu::always_inline]] inline void run_tile(const RowBlock& rows, const ColumnWords* b, const int32_t* c,
                                            int32_t* d, size_t stride) {
  if (c)
    load_tile<kD + kTurn>(c, stride * 4);
  else
    clear_tile<kD + kTurn>();
  for (int first = 0; first < rows.k; first += rows.step_k) {
    if (rows.step_k < rows.k)
      load_tile<kA>(rows.a + first, static_cast<size_t>(rows.k));
    load_tile<kB + kTurn>(b[first / 4], sizeof(ColumnWords));
    multiply<kD + kTurn, kB + kTurn>(rows.signed_a, rows.signed_b);
  }
  store_tile<kD + kTurn>(d, stride * 4);
}

// C and D of columns side by side, 16 by 16.
struct Accumulators {
  const int32_t* c; // may be null
  int32_t* d;
  size_t stride; // from a row to the next
  size_t step;   // from 16 columns to the next
};

// All columns.
void run_blocks(const RowBlock& rows, const ColumnWords* b, int blocks, const Accumulators& to) {
  const auto run = [&]<int kTurn>(int block) __attribute__((always_inline)) {
    const size_t at = static_cast<size_t>(block) * to.step;
    run_tile<kTurn>(rows, b + block * rows.k / 4, to.c ? to.c + at : nullptr, to.d + at, to.stride);
  };
  int block = 0;
  for (; block + kTurns <= blocks; block += kTurns) {
    run.operator()<0>(block);
    run.operator()<1>(block + 1);
    run.operator()<2>(block + 2);
  }
  for (; block < blocks; ++block)
    run.operator()<0>(block);
}

// The same where C and D are 16 rows in a warp's registers. Tiles wait long for what vectors have just
// stored, and the other way round: so first all of C, then the products, then all of D.
void run_in_registers(const RowBlock& rows, const ColumnWords* b, const DotTile& tile) {
  constexpr int kHalf = 8;
  alignas(64) static thread_local Ints sums[kMaxBlocksInRegisters][kTileRows];
  const auto each_half = [&](auto visit) {
    for (int block = 0; block < tile.n / kTileColumns; ++block)
      for (int row = 0; row < kTileRows; row += kHalf)
        visit(Window{block * kTileColumns, kTileColumns, row, kHalf}, sums[block] + row);
  };
  if (tile.blocks_hold_c)
    each_half([&](const Window& at, Ints* half) { load_blocks<kHalf>(tile.blocks, tile.n, 4, at, half); });
  auto* words = reinterpret_cast<int32_t*>(sums);
  run_blocks(rows, b, tile.n / kTileColumns,
             {.c = tile.blocks_hold_c ? words : nullptr,
              .d = words,
              .stride = kTileColumns,
              .step = kTileRows * kTileColumns});
  each_half(
      [&](const Window& at, const Ints* half) { store_blocks<kHalf>(tile.blocks, tile.n, 4, at, half); });
}

// Tiles as they are taken: rows, and bytes along K, of one. None where they are not whole or sums saturate.
struct TileShape {
  int rows, step_k;
};

std::optional<TileShape> shape_of(const DotModel& model, const DotTile& tile) {
  const TileShape shape{std::min(tile.m, kTileRows), std::min(tile.k, kTileK)};
  if (model.satfinite || tile.a_index || tile.n % kTileColumns != 0 || tile.m > kMaxRows ||
      tile.m % shape.rows != 0 || tile.k % 4 != 0 || tile.k > kMaxIntegerK || tile.k % shape.step_k != 0)
    return std::nullopt;
  if (tile.blocks && (tile.m != kTileRows || tile.n > kMaxBlocksInRegisters * kTileColumns))
    return std::nullopt;
  return shape;
}

} // namespace

bool arrange_integer_tiles(const DotModel& model, const DotTile& tile, ArrangedB::Content& out) {
  if (!shape_of(model, tile))
    return false;
  const int blocks = tile.n / kTileColumns;
  const int words = tile.k / 4;
  auto* to = out.make<ColumnWords>(ArrangedB::Content::Form::tiles, static_cast<size_t>(blocks * words));
  for (int block = 0; block < blocks; ++block)
    turn_columns(model, tile, block * kTileColumns, to + block * words);
  return true;
}

bool dot_integer_tiles(const DotModel& model, const DotTile& tile) {
  const std::optional<TileShape> shape = shape_of(model, tile);
  if (!shape)
    return false;
  const auto* b = arranged<ColumnWords>(tile, ArrangedB::Content::Form::tiles);
  if (!b) {
    static thread_local ArrangedB::Content own;
    arrange_integer_tiles(model, tile, own);
    b = reinterpret_cast<const ColumnWords*>(own.lines.data());
  }
  TileConfig config;
  for (int turn = 0; turn < kTurns; ++turn) {
    config.set(kD + turn, shape->rows, kTileColumns * 4);
    config.set(kB + turn, shape->step_k / 4, kTileColumns * 4);
  }
  config.set(kA, shape->rows, shape->step_k);
  alignas(64) int8_t widened_rows[kMaxRows * kMaxIntegerK];
  const int8_t* a = widened_a(model, tile, widened_rows);
  config.put_in_force();
  for (int i = 0; i < tile.m; i += shape->rows) {
    const size_t at = static_cast<size_t>(i) * row_stride(tile);
    const auto* c = tile.c ? static_cast<const int32_t*>(tile.c) + at : nullptr;
    auto* d = static_cast<int32_t*>(tile.d) + at;
    const RowBlock rows{.a = a + static_cast<size_t>(i) * tile.k,
                        .k = tile.k,
                        .step_k = shape->step_k,
                        .signed_a = is_signed(model.integer_a),
                        .signed_b = is_signed(model.integer_b)};
    if (rows.step_k == rows.k)
      load_tile<kA>(rows.a, static_cast<size_t>(rows.k));
    if (tile.blocks)
      run_in_registers(rows, b, tile);
    else
      run_blocks(rows, b, tile.n / kTileColumns,
                 {.c = c, .d = d, .stride = row_stride(tile), .step = kTileColumns});
  }
  return true;
}

} // namespace lemma::numeric::internal
#pragma GCC pop_options
#else
namespace lemma::numeric::internal {

bool dot_integer_tiles(const DotModel&, const DotTile&) {
  return false;
}
bool arrange_integer_tiles(const DotModel&, const DotTile&, ArrangedB::Content&) {
  return false;
}

} // namespace lemma::numeric::internal
#endif
