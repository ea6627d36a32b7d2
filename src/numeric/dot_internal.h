// What the files of dot() share: one function a family of schemes. Not for other folders.
//
// Tests: tests/unit/numeric/dot_test.cc.
#pragma once

#include "numeric/dot.h"
#include "numeric/dot_levels.h"

#include <cstring>
#include <optional>
#include <vector>

namespace lemma::numeric {

struct ArrangedB::Content {
  // Whose form it is.
  enum class Form : uint8_t { none, floats, integers, tiles };
  struct alignas(64) Line {
    std::byte bytes[64];
  };

  Form form = Form::none;
  internal::DotLevel level = internal::DotLevel::scalar; // that it is arranged for
  std::vector<Line> lines;

  // Room for `count` of T, of unknown contents.
  template <class T>
  T* make(Form of_form, size_t count) {
    form = of_form;
    lines.resize((count * sizeof(T) + sizeof(Line) - 1) / sizeof(Line));
    return reinterpret_cast<T*>(lines.data());
  }
};

} // namespace lemma::numeric

namespace lemma::numeric::internal {

// What `tile` brings of that form for the level in force; null: nothing.
template <class T>
const T* arranged(const DotTile& tile, ArrangedB::Content::Form form) {
  const ArrangedB::Content* content = tile.arranged_b ? &tile.arranged_b->content() : nullptr;
  return content && content->form == form && content->level == dot_level()
             ? reinterpret_cast<const T*>(content->lines.data())
             : nullptr;
}

// A or B in blocks (DotTile::a_blocks); `at` null: in rows.
struct OperandBlocks {
  const std::byte* const* at = nullptr;
  bool even_first = false; // of every eight rows
};

// Have the loops of a level a way to take operands in blocks as this tile has them?
constexpr bool takes_operand_blocks(DotLevel level, const DotTile& tile) {
  return without_integers(level) == DotLevel::avx512 && tile.m % 16 == 0 && tile.n % 16 == 0;
}

// DotScheme::fused and split_quad (dot_fused.cc).
void dot_fused(const DotModel& model, const DotTile& tile);
// DotScheme::block_sums (dot_fused.cc).
void dot_block_sums(const DotModel& model, const DotTile& tile);

// The outputs of rows [i, i + m) and columns [j, j + n) as a tile of its own; without c and d where the tile
// has blocks.
DotTile part_of(const DotModel& model, const DotTile& tile, int i, int m, int j, int n);

// Writes all of a tile, or of a part of one; returns how.
using DotRun = MatrixOutputs (*)(const DotModel& model, const DotTile& tile);
// That part, whole blocks, of a tile that has its outputs in blocks: by `run`, to which they come as rows.
// Not from within another such `run`.
MatrixOutputs run_as_rows(const DotModel& model, const DotTile& tile, int i, int m, int j, int n, DotRun run);

// The same product with a dense A; none where the rule of a sparse one cannot be told by it. Valid until the
// thread's next call.
std::optional<DotTile> dense_tile(const DotModel& model, const DotTile& tile);

// The same product with A and B in rows where it has them in blocks. Valid until the thread's next call.
DotTile dense_operands(const DotModel& model, const DotTile& tile);

// C of f16 is converted before an instruction with accumulators of f32, so that its subnormals are normalized
// terms: measured on an H200 (wmma).
constexpr bool widens_c(const DotModel& model) {
  return model.c == FloatFormat::f16 && model.d == FloatFormat::f32;
}

constexpr int element_bytes(FloatFormat format) {
  const int bits = traits(format).storage_bits;
  return bits <= 8 ? 1 : bits / 8;
}

// By cases, because a memcpy of unknown size is a call.
inline uint64_t load_element(const void* array, size_t index, int bytes) {
  const auto load = [&]<class T>(T value) -> uint64_t {
    std::memcpy(&value, static_cast<const uint8_t*>(array) + index * sizeof(T), sizeof(T));
    return value;
  };
  switch (bytes) {
  case 1:
    return load(uint8_t{});
  case 2:
    return load(uint16_t{});
  case 4:
    return load(uint32_t{});
  default:
    return load(uint64_t{});
  }
}

inline size_t row_stride(const DotTile& tile) {
  return static_cast<size_t>(tile.row_stride != 0 ? tile.row_stride : tile.n);
}

inline void store_element(void* array, size_t index, int bytes, uint64_t bits) {
  const auto store = [&]<class T>(T) {
    const T value = static_cast<T>(bits);
    std::memcpy(static_cast<uint8_t*>(array) + index * sizeof(T), &value, sizeof(T));
  };
  switch (bytes) {
  case 1:
    return store(uint8_t{});
  case 2:
    return store(uint16_t{});
  case 4:
    return store(uint32_t{});
  default:
    return store(uint64_t{});
  }
}

} // namespace lemma::numeric::internal
