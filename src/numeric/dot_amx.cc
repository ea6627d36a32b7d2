// Integer matrices by AMX tiles: 16 rows of A, 64 bytes along K, 16 columns of B an instruction.
//
// The rows of A are tiles as they lie in memory, and so are those of C and D; only B is turned around, to
// words of four elements along K with the columns side by side. Sums wrap at 32 bits. The tiles' registers
// are configured for each call and given back, so that nothing depends on what another library does with
// them.
//
// Intel 64 and IA-32 Architectures Software Developer's Manual, "Intel Advanced Matrix Extensions".
// Tests: tests/unit/numeric/dot_test.cc, on hosts that have them.
#include "numeric/dot_integers.h"

#include "numeric/dot_internal.h"

#include <algorithm>
#include <cstring>
#include <utility>

#if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__)
#include <immintrin.h>

#pragma GCC push_options
#pragma GCC target(                                                                                          \
    "amx-tile,amx-int8,avx512f,avx512bw,avx512cd,avx512dq,avx512vl,avx2,bmi,bmi2,lzcnt,prefer-vector-width=512")
namespace lemma::numeric::internal {
namespace {
constexpr int kLanes = 16;
constexpr bool kFastShuffles = true;
#define LEMMA_LANES_AVX512
#include "numeric/dot_vectors.inc"
#undef LEMMA_LANES_AVX512

constexpr int kTileRows = 16, kTileColumns = 16, kTileK = 64;

// Registers. The last block of columns may be narrower and so has tiles of its own.
constexpr int kD = 0, kLastD = 1, kA = 2, kB = 3, kLastB = 4;

struct alignas(64) TileConfig {
  uint8_t palette = 1, start_row = 0, reserved[14] = {};
  uint16_t row_bytes[16] = {};
  uint8_t rows[16] = {};

  void set(int tile, int tile_rows, int bytes) {
    rows[tile] = static_cast<uint8_t>(tile_rows);
    row_bytes[tile] = static_cast<uint16_t>(bytes);
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

// Columns [first, first + count) of B as [k / 4][kTileColumns] words.
LEMMA_LANES_INLINE void turn_columns(const DotModel& model, const DotTile& tile, int first, int count,
                                     int32_t (*out)[kTileColumns]) {
  const int words = tile.k / 4;
  const auto* columns = static_cast<const int8_t*>(tile.b) + static_cast<size_t>(first) * tile.k;
  alignas(64) int8_t padded[kTileColumns * kMaxIntegerK];
  if (count < kTileColumns) {
    std::memset(padded, 0, static_cast<size_t>(kTileColumns) * tile.k);
    std::memcpy(padded, columns, static_cast<size_t>(count) * tile.k);
    columns = padded;
  }
  Ints rows[kMaxIntegerK / 4];
  load_rows(columns, words, 1, words, 4, rows);
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

// One tile of D: C, if any, plus the products.
template <int kTile, int kColumnsTile>
[[gnu::always_inline]] inline void run_tile(const DotModel& model, const int8_t* a, int k, int step_k,
                                            const int32_t (*b)[kTileColumns], const int32_t* c, int32_t* d,
                                            size_t stride) {
  if (c)
    load_tile<kTile>(c, stride * 4);
  else
    clear_tile<kTile>();
  for (int first = 0; first < k; first += step_k) {
    load_tile<kA>(a + first, static_cast<size_t>(k));
    load_tile<kColumnsTile>(b[first / 4], sizeof(b[0]));
    multiply<kTile, kColumnsTile>(is_signed(model.integer_a), is_signed(model.integer_b));
  }
  store_tile<kTile>(d, stride * 4);
}

int32_t add_saturating(int32_t a, int32_t b) {
  const int64_t sum = int64_t{a} + b;
  return static_cast<int32_t>(std::clamp<int64_t>(sum, INT32_MIN, INT32_MAX));
}

} // namespace

bool dot_integer_tiles(const DotModel& model, const DotTile& tile) {
  constexpr int kMaxRows = 64;
  const int rows = std::min(tile.m, kTileRows), step_k = std::min(tile.k, kTileK);
  if (tile.a_index || tile.m > kMaxRows || tile.m % rows != 0 || tile.k % 4 != 0 || tile.k > kMaxIntegerK ||
      tile.k % step_k != 0)
    return false;
  const int last_columns = tile.n % kTileColumns;
  TileConfig config;
  config.set(kD, rows, kTileColumns * 4);
  config.set(kA, rows, step_k);
  config.set(kB, step_k / 4, kTileColumns * 4);
  if (last_columns != 0) {
    config.set(kLastD, rows, last_columns * 4);
    config.set(kLastB, step_k / 4, last_columns * 4);
  }
  alignas(64) int8_t widened_rows[kMaxRows * kMaxIntegerK];
  const int8_t* a = widened_a(model, tile, widened_rows);
  asm volatile("ldtilecfg %0" ::"m"(config) : "memory");
  for (int j = 0; j < tile.n; j += kTileColumns) {
    const int columns = std::min(kTileColumns, tile.n - j);
    alignas(64) int32_t b[kMaxIntegerK / 4][kTileColumns];
    turn_columns(model, tile, j, columns, b);
    for (int i = 0; i < tile.m; i += rows) {
      const size_t at = static_cast<size_t>(i) * row_stride(tile) + static_cast<size_t>(j);
      const auto* c = tile.c ? static_cast<const int32_t*>(tile.c) + at : nullptr;
      auto* d = static_cast<int32_t*>(tile.d) + at;
      const int8_t* a_rows = a + static_cast<size_t>(i) * tile.k;
      alignas(64) int32_t sums[kTileRows][kTileColumns];
      int32_t* to = model.satfinite ? sums[0] : d;
      const size_t stride = model.satfinite ? kTileColumns : row_stride(tile);
      const int32_t* from = model.satfinite ? nullptr : c;
      if (columns == kTileColumns)
        run_tile<kD, kB>(model, a_rows, tile.k, step_k, b, from, to, stride);
      else
        run_tile<kLastD, kLastB>(model, a_rows, tile.k, step_k, b, from, to, stride);
      if (model.satfinite)
        for (int row = 0; row < rows; ++row)
          for (int column = 0; column < columns; ++column) {
            const size_t output = static_cast<size_t>(row) * row_stride(tile) + static_cast<size_t>(column);
            d[output] = add_saturating(sums[row][column], c ? c[output] : 0);
          }
    }
  }
  asm volatile("tilerelease" ::);
  return true;
}

} // namespace lemma::numeric::internal
#pragma GCC pop_options
#else
namespace lemma::numeric::internal {

bool dot_integer_tiles(const DotModel&, const DotTile&) {
  return false;
}

} // namespace lemma::numeric::internal
#endif
