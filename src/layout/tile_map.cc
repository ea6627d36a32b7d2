// The table of TileMap and its two loops.
#include "layout/tile_map.h"

#include <algorithm>
#include <cassert>
#include <cstring>

namespace lemma::layout {
namespace {

constexpr int kLanes = 32;

constexpr int kTogether = 8; // lanes in a turn of the loops, which else cost as much as what they move

template <class T>
void gather_words(const std::byte* lanes, int elem, const uint16_t* offsets, std::byte* tile, int stride) {
  for (int first = 0; first < kLanes; first += kTogether)
    for (int lane = first; lane < first + kTogether; ++lane)
      std::memcpy(tile + offsets[lane], lanes + lane * stride + elem * sizeof(T), sizeof(T));
}

template <class T>
void scatter_words(const std::byte* tile, int elem, const uint16_t* offsets, std::byte* lanes, int stride) {
  for (int first = 0; first < kLanes; first += kTogether)
    for (int lane = first; lane < first + kTogether; ++lane)
      std::memcpy(lanes + lane * stride + elem * sizeof(T), tile + offsets[lane], sizeof(T));
}

// The 16 bytes of four lanes, and how those of two registers lie in the tile when one's are between the
// other's.
using Quad [[gnu::vector_size(16)]] = uint32_t;
constexpr int kQuads = kLanes / 4;

Quad load(const std::byte* from) {
  Quad out;
  std::memcpy(&out, from, sizeof out);
  return out;
}
void store(std::byte* to, Quad quad) {
  std::memcpy(to, &quad, sizeof quad);
}

// Four lanes of kBytes each.
template <bool kToTile, size_t kBytes, class Tile, class Lanes>
void move_quads(const uint16_t* offsets, Tile* tile, Lanes* lanes) {
  for (size_t quad = 0; quad < kQuads; ++quad)
    if constexpr (kToTile)
      std::memcpy(tile + offsets[4 * quad], lanes + 4 * kBytes * quad, 4 * kBytes);
    else
      std::memcpy(lanes + 4 * kBytes * quad, tile + offsets[4 * quad], 4 * kBytes);
}
template <bool kToTile, class Tile, class Lanes>
void move_quads(int register_bytes, const uint16_t* offsets, Tile* tile, Lanes* lanes) {
  register_bytes == 4 ? move_quads<kToTile, 4>(offsets, tile, lanes)
                      : move_quads<kToTile, 8>(offsets, tile, lanes);
}

template <bool kToTile, class Tile, class Lanes>
void move_pairs(const uint16_t* offsets, Tile* tile, Lanes* even, Lanes* odd) {
  for (int quad = 0; quad < kQuads; ++quad) {
    Tile* at = tile + offsets[4 * quad];
    if constexpr (kToTile) {
      const Quad e = load(even + 16 * quad), o = load(odd + 16 * quad);
      store(at, __builtin_shufflevector(e, o, 0, 4, 1, 5));
      store(at + 16, __builtin_shufflevector(e, o, 2, 6, 3, 7));
    } else {
      const Quad low = load(at), high = load(at + 16);
      store(even + 16 * quad, __builtin_shufflevector(low, high, 0, 2, 4, 6));
      store(odd + 16 * quad, __builtin_shufflevector(low, high, 1, 3, 5, 7));
    }
  }
}

// An 8x8 matrix of 2-byte elements, its rows `from_stride` bytes apart, with rows and columns exchanged:
// three times a perfect shuffle of the eight rows.
template <class From, class To>
void transpose(From* from, size_t from_stride, To* to, size_t to_stride) {
  using Row [[gnu::vector_size(16)]] = uint16_t;
  Row rows[8], next[8];
  for (int i = 0; i < 8; ++i)
    std::memcpy(&rows[i], from + i * from_stride, sizeof(Row));
#pragma GCC unroll 3
  for (int stage = 0; stage < 3; ++stage) {
    for (int i = 0; i < 4; ++i) {
      next[2 * i] = __builtin_shufflevector(rows[i], rows[i + 4], 0, 8, 1, 9, 2, 10, 3, 11);
      next[2 * i + 1] = __builtin_shufflevector(rows[i], rows[i + 4], 4, 12, 5, 13, 6, 14, 7, 15);
    }
    std::copy_n(next, 8, rows);
  }
  for (int i = 0; i < 8; ++i)
    std::memcpy(to + i * to_stride, &rows[i], sizeof(Row));
}

// Is it Run::transposed, `stride` bytes from a row to the next? Elements [2][kLanes].
bool is_transposed(const uint16_t* offsets, int stride) {
  for (int lane = 0; lane < kLanes; ++lane)
    for (int e = 0; e < 2; ++e)
      if (offsets[e * kLanes + lane] != offsets[0] + (2 * (lane % 4) + e) * stride + lane / 4 * 2)
        return false;
  return true;
}

// Do lanes 4 q to 4 q + 3 lie `stride` bytes apart, for all q?
bool are_apart(const uint16_t* offsets, int stride) {
  for (int lane = 0; lane < kLanes; ++lane)
    if (offsets[lane] != offsets[lane / 4 * 4] + lane % 4 * stride)
      return false;
  return true;
}

} // namespace

TileMap::TileMap(const Fragment& fragment, MajorOrder order)
    : registers_(fragment.registers()), distinct_(fragment.distinct_registers()),
      register_bytes_(fragment.register_bits / 8), element_bytes_(fragment.element_bits / 8),
      elems_(fragment.elems_per_register()),
      tile_bytes_(fragment.rows * fragment.cols * fragment.element_bits / 8) {
  assert(fragment.lanes() == kLanes);
  const auto index = [&](Place place) {
    const Coord at = fragment.at(place);
    return order == MajorOrder::row ? at.row * fragment.cols + at.col : at.col * fragment.rows + at.row;
  };
  const auto offset = [&](Place place) { return index(place) * fragment.element_bits / 8; };
  bool whole = true;
  for (int e = 1; e < elems_; ++e)
    whole = whole && index({0, 0, e}) == index({0, 0, 0}) + e;
  assert(whole || element_bytes_ > 0);
  if (whole) {
    elems_ = 1;
    element_bytes_ = register_bytes_;
  }
  offsets_.reserve(static_cast<size_t>(registers_) * elems_ * kLanes);
  for (int r = 0; r < registers_; ++r)
    for (int e = 0; e < elems_; ++e)
      for (int lane = 0; lane < kLanes; ++lane)
        offsets_.push_back(static_cast<uint16_t>(offset({lane, r, e})));

  runs_.assign(static_cast<size_t>(registers_), Run::none);
  line_bytes_ = (order == MajorOrder::row ? fragment.cols : fragment.rows) * fragment.element_bits / 8;
  if (elems_ == 2 && element_bytes_ == 2 && register_bytes_ == 4)
    for (int r = 0; r < registers_; ++r)
      if (is_transposed(&offsets_[static_cast<size_t>(r) * 2 * kLanes], line_bytes_))
        runs_[r] = Run::transposed;
  if (elems_ == 1 && element_bytes_ == register_bytes_ && register_bytes_ >= 4)
    find_quads();
}

void TileMap::find_quads() {
  for (int r = 0; r < registers_; ++r) {
    const uint16_t *offsets = &offsets_[static_cast<size_t>(r) * kLanes], *next = offsets + kLanes;
    if (runs_[r] != Run::none)
      continue;
    if (are_apart(offsets, register_bytes_))
      runs_[r] = Run::quad;
    else if (register_bytes_ == 4 && r + 1 < registers_ && (r + 1 < distinct_) == (r < distinct_) &&
             are_apart(offsets, 8) && are_apart(next, 8) && next[0] == offsets[0] + 4)
      if (std::equal(offsets, next, next, [](int a, int b) { return a + 4 == b; })) {
        runs_[r] = Run::first;
        runs_[r + 1] = Run::second;
      }
  }
  if (line_bytes_ % (4 * register_bytes_) != 0 ||
      std::any_of(runs_.begin(), runs_.end(), [](Run run) { return run != Run::quad; }))
    return;
  for (int r = 0; r < registers_; ++r) {
    const uint16_t* offsets = &offsets_[static_cast<size_t>(r) * kLanes];
    for (int q = 1; q < kLanes / 4; ++q)
      if (offsets[4 * q] != offsets[0] + q * line_bytes_) {
        eights_.clear();
        return;
      }
    eights_.push_back(
        {static_cast<uint16_t>(offsets[0] / line_bytes_), static_cast<uint16_t>(offsets[0] % line_bytes_)});
  }
}

void TileMap::gather(const std::byte* const* registers, std::byte* tile) const {
  const uint16_t* offsets = offsets_.data();
  for (int r = 0; r < distinct_; ++r) {
    if (runs_[r] != Run::none) {
      if (runs_[r] == Run::quad)
        move_quads<true>(register_bytes_, offsets, tile, registers[r]);
      else if (runs_[r] == Run::first)
        move_pairs<true>(offsets, tile, registers[r], registers[r + 1]);
      else if (runs_[r] == Run::transposed)
        transpose(registers[r], 16, tile + offsets[0], static_cast<size_t>(line_bytes_));
      offsets += elems_ * kLanes;
      continue;
    }
    for (int e = 0; e < elems_; ++e, offsets += kLanes)
      switch (element_bytes_) {
      case 1:
        gather_words<uint8_t>(registers[r], e, offsets, tile, register_bytes_);
        break;
      case 2:
        gather_words<uint16_t>(registers[r], e, offsets, tile, register_bytes_);
        break;
      case 4:
        gather_words<uint32_t>(registers[r], e, offsets, tile, register_bytes_);
        break;
      default:
        gather_words<uint64_t>(registers[r], e, offsets, tile, register_bytes_);
      }
  }
}

void TileMap::scatter(const std::byte* tile, std::byte* const* registers) const {
  const uint16_t* offsets = offsets_.data();
  for (int r = 0; r < registers_; ++r) {
    if (runs_[r] != Run::none) {
      if (runs_[r] == Run::quad)
        move_quads<false>(register_bytes_, offsets, tile, registers[r]);
      else if (runs_[r] == Run::first)
        move_pairs<false>(offsets, tile, registers[r], registers[r + 1]);
      else if (runs_[r] == Run::transposed)
        transpose(tile + offsets[0], static_cast<size_t>(line_bytes_), registers[r], 16);
      offsets += elems_ * kLanes;
      continue;
    }
    for (int e = 0; e < elems_; ++e, offsets += kLanes)
      switch (element_bytes_) {
      case 1:
        scatter_words<uint8_t>(tile, e, offsets, registers[r], register_bytes_);
        break;
      case 2:
        scatter_words<uint16_t>(tile, e, offsets, registers[r], register_bytes_);
        break;
      case 4:
        scatter_words<uint32_t>(tile, e, offsets, registers[r], register_bytes_);
        break;
      default:
        scatter_words<uint64_t>(tile, e, offsets, registers[r], register_bytes_);
      }
  }
}

} // namespace lemma::layout
