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
#include <optional>
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
const std::byte* rows_of_a(const DotPlan& plan, const DotTile& tile, std::byte* buffer) {
  const int m = plan.shape().m, k = plan.shape().columns_of_b();
  const std::byte* a = tile.a.rows();
  if (const OperandBlocks blocks = blocks_of_a(plan, tile); blocks.at) {
    constexpr int kBlockRows = 8, kBlockBytes = 16;
    const int in_row = k / kBlockBytes;
    for (int row = 0; row < m; ++row)
      for (int block = 0; block < in_row; ++block)
        std::memcpy(buffer + row * k + block * kBlockBytes,
                    blocks.at[row / kBlockRows * in_row + block] + row % kBlockRows * kBlockBytes,
                    kBlockBytes);
    a = buffer;
  }
  const IntegerFormat format = plan.model().integer_a;
  if (!is_four_bits(format))
    return a;
  const size_t bytes = static_cast<size_t>(m) * static_cast<size_t>(k);
  for (size_t at = 0; at < bytes; at += sizeof(Ints)) {
    Ints words{};
    const size_t count = std::min(sizeof(Ints), bytes - at);
    std::memcpy(&words, a + at, count);
    words = widened(words, format);
    std::memcpy(buffer + at, &words, count);
  }
  return buffer;
}

// 16 columns of B, a word of four elements along K after the other.
using ColumnWords = int32_t[kTileColumns];

// The block of columns from `first` on.
LEMMA_LANES_INLINE void turn_columns(const DotPlan& plan, const DotTile& tile, int first, ColumnWords* out) {
  const int k = plan.shape().columns_of_b(), words = k / 4;
  Ints rows[kMaxIntegerK / 4];
  if (const OperandBlocks blocks = blocks_of_b(plan, tile); blocks.at)
    load_rows_of_blocks(blocks, first, words / 4, rows);
  else
    load_rows(tile.b.rows() + static_cast<size_t>(first) * static_cast<size_t>(k), words, 1, words, 4, rows);
  for (int w = 0; w < words; ++w) {
    const Ints row = widened(rows[w], plan.model().integer_b);
    std::memcpy(out[w], &row, sizeof(row));
  }
}

// All columns.
void turn_all_columns(const DotPlan& plan, const DotTile& tile, ColumnWords* out) {
  const int words = plan.shape().columns_of_b() / 4;
  for (int first = 0; first < plan.shape().n; first += kTileColumns, out += words)
    turn_columns(plan, tile, first, out);
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
[[gnu::always_inline]] inline void load_rows_of_a(const Steps& steps, const std::byte* a) {
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
void run_in_registers(const Steps& steps, const DotPlan& plan, const DotTile& tile, const std::byte* a,
                      const ColumnWords* b) {
  constexpr int kHalf = 8, kAhead = 3, kHeld = 8; // a power of two above 2 * kAhead
  static_assert(kHeld > 2 * kAhead && (kHeld & (kHeld - 1)) == 0);
  alignas(64) Ints held[kHeld][kTileRows];
  const int n = plan.shape().n, in_row = n / kTileColumns, tiles = plan.shape().m / kTileRows * in_row;
  const std::byte* const* c_blocks = tile.c.blocks();
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
      run_tile(i, steps, b + now.block * steps.k / 4, c_blocks ? words : nullptr, words, kTileColumns);
      now.advance(in_row);
    }
    if (i + kAhead < tiles && c_blocks) {
      halves(next, held[(i + kAhead) & (kHeld - 1)],
             [&](const Window& at, Ints* half)
                 __attribute__((always_inline)) { load_blocks<kHalf>(c_blocks, n, 4, at, half); });
      next.advance(in_row);
    }
    if (i >= kAhead) {
      halves(before, held[(i - kAhead) & (kHeld - 1)],
             [&](const Window& at, const Ints* half)
                 __attribute__((always_inline)) { store_blocks<kHalf>(tile.d.blocks(), n, 4, at, half); });
      before.advance(in_row);
    }
  }
}

// Tiles as they are taken: rows, and bytes along K, of one. None where they are not whole.
struct TileShape {
  int rows, step_k;
};

std::optional<TileShape> shape_of(const DotPlan& plan) {
  const int m = plan.shape().m, n = plan.shape().n, k = plan.shape().columns_of_b();
  const TileShape shape{std::min(m, kTileRows), std::min(k, kTileK)};
  if (n % kTileColumns != 0 || m > kMaxRows || m % shape.rows != 0 || k % 4 != 0 || k > kMaxIntegerK ||
      k % shape.step_k != 0)
    return std::nullopt;
  if (plan.layout().blocks != DotBlocks::none &&
      (m % kTileRows != 0 || n > kMaxBlocksInRegisters * kTileColumns))
    return std::nullopt;
  return shape;
}

TileConfig config_of(const TileShape& shape) {
  TileConfig config;
  for (int turn = 0; turn < kTurns; ++turn) {
    config.set(kD + turn, shape.rows, kTileColumns * 4);
    config.set(kB + turn, shape.step_k / 4, kTileColumns * 4);
  }
  for (int step = 0; step < kMaxSteps; ++step)
    config.set(kA + step, shape.rows, shape.step_k);
  return config;
}

void run_tiles(const DotPlan& plan, const DotTile& tile, const ColumnWords* b, const TileShape& shape,
               const TileConfig& config) {
  alignas(64) std::byte rows[kMaxRows * kMaxIntegerK];
  const std::byte* a = rows_of_a(plan, tile, rows);
  config.put_in_force();
  const Steps steps{.k = plan.shape().columns_of_b(),
                    .step_k = shape.step_k,
                    .signed_a = is_signed(plan.model().integer_a),
                    .signed_b = is_signed(plan.model().integer_b)};
  if (plan.layout().blocks != DotBlocks::none)
    return run_in_registers(steps, plan, tile, a, b);
  const auto* c = reinterpret_cast<const int32_t*>(tile.c.rows());
  auto* d = reinterpret_cast<int32_t*>(tile.d.rows());
  for (int i = 0; i < plan.shape().m; i += shape.rows) {
    const size_t at = static_cast<size_t>(i) * plan.row_stride();
    load_rows_of_a(steps, a + static_cast<size_t>(i) * static_cast<size_t>(steps.k));
    run_in_rows(steps, b, plan.shape().n / kTileColumns, c ? c + at : nullptr, d + at, plan.row_stride());
  }
}

} // namespace
} // namespace lemma::numeric::internal
#pragma GCC pop_options

namespace lemma::numeric::internal {
namespace {

class AmxWay final : public DotWay {
public:
  explicit AmxWay(const TileShape& shape) : shape_(shape), config_(config_of(shape)) {}

  bool run(const DotPlan& plan, const DotTile& tile, DotScratch& scratch,
           MatrixOutputs& paths) const override {
    const auto* b = arranged<ColumnWords>(tile, ArrangedB::Content::Form::tiles, DotLevel::amx);
    if (!b) {
      auto* own = scratch.make<ColumnWords>(DotScratch::Use::loops, words_of(plan));
      turn_all_columns(plan, tile, own);
      b = own;
    }
    run_tiles(plan, tile, b, shape_, config_);
    paths.vector += plan.shape().outputs();
    return true;
  }

  void arrange(const DotPlan& plan, const DotTile& tile, ArrangedB::Content& out) const override {
    turn_all_columns(plan, tile,
                     out.make<ColumnWords>(ArrangedB::Content::Form::tiles, DotLevel::amx, words_of(plan)));
  }

private:
  // Of all blocks of columns.
  static size_t words_of(const DotPlan& plan) {
    return static_cast<size_t>(plan.shape().n / kTileColumns * (plan.shape().columns_of_b() / 4));
  }

  TileShape shape_;
  TileConfig config_;
};

} // namespace

std::shared_ptr<const DotWay> amx_way(const DotPlan& plan, DotLevel level) {
  const std::optional<TileShape> shape = level == DotLevel::amx ? shape_of(plan) : std::nullopt;
  return shape ? std::make_shared<AmxWay>(*shape) : nullptr;
}

} // namespace lemma::numeric::internal
#else
namespace lemma::numeric::internal {

std::shared_ptr<const DotWay> amx_way(const DotPlan&, DotLevel) {
  return nullptr;
}

} // namespace lemma::numeric::internal
#endif
