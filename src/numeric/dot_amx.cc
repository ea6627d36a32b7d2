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

// Registers: of D and B three each, in turn, so that one block of columns need not wait for the one before;
// of A one for each step along K.
constexpr int kD = 0, kB = 3, kA = 6, kTurns = 3, kMaxSteps = 2;
static_assert(kMaxIntegerK <= kMaxSteps * kTileK);

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

// A as it should be: its rows one after the other, of bytes.
const int8_t* rows_of_a(const DotModel& model, const DotTile& tile, int8_t* buffer) {
  const auto* a = static_cast<const int8_t*>(tile.a);
  if (tile.a_blocks) {
    constexpr int kBlockRows = 8, kBlockBytes = 16;
    const int in_row = tile.k / kBlockBytes;
    for (int row = 0; row < tile.m; ++row)
      for (int block = 0; block < in_row; ++block)
        std::memcpy(buffer + row * tile.k + block * kBlockBytes,
                    tile.a_blocks[row / kBlockRows * in_row + block] + row % kBlockRows * kBlockBytes,
                    kBlockBytes);
    a = buffer;
  }
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
  if (tile.b_blocks)
    load_rows_of_blocks(OperandBlocks{tile.b_blocks, tile.even_columns_first}, first, words / 4, rows);
  else
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
// kTile += kRowsTile * kColumnsTile. In AT&T order the last source comes first.
template <int kTile, int kRowsTile, int kColumnsTile>
[[gnu::always_inline]] inline void multiply(bool signed_a, bool signed_b) {
  if (signed_a && signed_b)
    asm volatile("tdpbssd %%tmm%c2, %%tmm%c1, %%tmm%c0" ::"i"(kTile), "i"(kRowsTile), "i"(kColumnsTile));
  else if (signed_a)
    asm volatile("tdpbsud %%tmm%c2, %%tmm%c1, %%tmm%c0" ::"i"(kTile), "i"(kRowsTile), "i"(kColumnsTile));
  else if (signed_b)
    asm volatile("tdpbusd %%tmm%c2, %%tmm%c1, %%tmm%c0" ::"i"(kTile), "i"(kRowsTile), "i"(kColumnsTile));
  else
    asm volatile("tdpbuud %%tmm%c2, %%tmm%c1, %%tmm%c0" ::"i"(kTile), "i"(kRowsTile), "i"(kColumnsTile));
}

// What all tiles of a product have in common.
struct Steps {
  int k, step_k;
  bool signed_a, signed_b;
};

// So many rows of A: to its registers.
[[gnu::always_inline]] inline void load_rows_of_a(const Steps& steps, const int8_t* a) {
  load_tile<kA>(a, static_cast<size_t>(steps.k));
  if (steps.step_k < steps.k)
    load_tile<kA + 1>(a + steps.step_k, static_cast<size_t>(steps.k));
}

// One tile of D: C, if any, plus the products of the rows of A that are loaded.
template <int kTurn>
[[gnu::always_inline]] inline void run_tile(const Steps& steps, const ColumnWords* b, const int32_t* c,
                                            int32_t* d, size_t stride) {
  if (c)
    load_tile<kD + kTurn>(c, stride * 4);
  else
    clear_tile<kD + kTurn>();
  load_tile<kB + kTurn>(b[0], sizeof(ColumnWords));
  multiply<kD + kTurn, kA, kB + kTurn>(steps.signed_a, steps.signed_b);
  if (steps.step_k < steps.k) {
    load_tile<kB + kTurn>(b[steps.step_k / 4], sizeof(ColumnWords));
    multiply<kD + kTurn, kA + 1, kB + kTurn>(steps.signed_a, steps.signed_b);
  }
  store_tile<kD + kTurn>(d, stride * 4);
}

// The same by the registers whose turn it is.
[[gnu::always_inline]] inline void run_tile(int number, const Steps& steps, const ColumnWords* b,
                                            const int32_t* c, int32_t* d, size_t stride) {
  switch (number % kTurns) {
  case 0:
    return run_tile<0>(steps, b, c, d, stride);
  case 1:
    return run_tile<1>(steps, b, c, d, stride);
  default:
    return run_tile<2>(steps, b, c, d, stride);
  }
}

// All columns of the rows of A that are loaded, of C and D in rows.
void run_in_rows(const Steps& steps, const ColumnWords* b, int blocks, const int32_t* c, int32_t* d,
                 size_t stride) {
  for (int block = 0; block < blocks; ++block) {
    const int at = block * kTileColumns;
    run_tile(block, steps, b + block * steps.k / 4, c ? c + at : nullptr, d + at, stride);
  }
}

// All rows and columns where C and D are in warps' registers, a tile of 16 by 16 after the other. Tiles wait
// long for what vectors have just stored, and the other way round: so what is copied here is C of the tile
// that comes a little later and D of the one that came as long before.
void run_in_registers(const Steps& steps, const int8_t* a, const ColumnWords* b, const DotTile& tile) {
  constexpr int kHalf = 8, kAhead = 3, kHeld = 8; // a power of two above 2 * kAhead
  static_assert(kHeld > 2 * kAhead && (kHeld & (kHeld - 1)) == 0);
  alignas(64) static thread_local Ints held[kHeld][kTileRows];
  const int in_row = tile.n / kTileColumns, tiles = tile.m / kTileRows * in_row;
  struct Place {
    int rows = 0, block = 0; // sixteens
    void advance(int in_row) {
      if (++block == in_row)
        block = 0, ++rows;
    }
  };
  Place next, now, before;
  const auto halves = [&](const Place& at, Ints* rows, auto visit) __attribute__((always_inline)) {
    for (int row = 0; row < kTileRows; row += kHalf)
      visit(Window{at.block * kTileColumns, kTileColumns, at.rows * kTileRows + row, kHalf}, rows + row);
  };
  for (int i = -kAhead; i < tiles + kAhead; ++i) {
    if (i >= 0 && i < tiles) {
      if (now.block == 0)
        load_rows_of_a(steps, a + static_cast<size_t>(now.rows) * kTileRows * static_cast<size_t>(steps.k));
      auto* words = reinterpret_cast<int32_t*>(held[i & (kHeld - 1)]);
      run_tile(i, steps, b + now.block * steps.k / 4, tile.c_blocks ? words : nullptr, words, kTileColumns);
      now.advance(in_row);
    }
    if (i + kAhead < tiles && tile.c_blocks) {
      halves(next, held[(i + kAhead) & (kHeld - 1)],
             [&](const Window& at, Ints* half)
                 __attribute__((always_inline)) { load_blocks<kHalf>(tile.c_blocks, tile.n, 4, at, half); });
      next.advance(in_row);
    }
    if (i >= kAhead) {
      halves(before, held[(i - kAhead) & (kHeld - 1)],
             [&](const Window& at, const Ints* half)
                 __attribute__((always_inline)) { store_blocks<kHalf>(tile.blocks, tile.n, 4, at, half); });
      before.advance(in_row);
    }
  }
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
  if (tile.blocks && (tile.m % kTileRows != 0 || tile.n > kMaxBlocksInRegisters * kTileColumns))
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
  for (int step = 0; step < kMaxSteps; ++step)
    config.set(kA + step, shape->rows, shape->step_k);
  alignas(64) int8_t rows[kMaxRows * kMaxIntegerK];
  const int8_t* a = rows_of_a(model, tile, rows);
  config.put_in_force();
  const Steps steps{.k = tile.k,
                    .step_k = shape->step_k,
                    .signed_a = is_signed(model.integer_a),
                    .signed_b = is_signed(model.integer_b)};
  if (tile.blocks) {
    run_in_registers(steps, a, b, tile);
    return true;
  }
  for (int i = 0; i < tile.m; i += shape->rows) {
    const size_t at = static_cast<size_t>(i) * row_stride(tile);
    load_rows_of_a(steps, a + static_cast<size_t>(i) * tile.k);
    run_in_rows(steps, b, tile.n / kTileColumns, tile.c ? static_cast<const int32_t*>(tile.c) + at : nullptr,
                static_cast<int32_t*>(tile.d) + at, row_stride(tile));
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
