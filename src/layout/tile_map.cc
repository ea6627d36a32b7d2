// The table of TileMap and its two loops.
#include "layout/tile_map.h"

#include <cassert>
#include <cstring>

namespace lemma::layout {
namespace {

constexpr int kLanes = 32;

template <class T>
void gather_words(const std::byte* lanes, int elem, const uint16_t* offsets, std::byte* tile, int stride) {
  for (int lane = 0; lane < kLanes; ++lane)
    std::memcpy(tile + offsets[lane], lanes + lane * stride + elem * sizeof(T), sizeof(T));
}

template <class T>
void scatter_words(const std::byte* tile, int elem, const uint16_t* offsets, std::byte* lanes, int stride) {
  for (int lane = 0; lane < kLanes; ++lane)
    std::memcpy(lanes + lane * stride + elem * sizeof(T), tile + offsets[lane], sizeof(T));
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
}

void TileMap::gather(const std::byte* const* registers, std::byte* tile) const {
  const uint16_t* offsets = offsets_.data();
  for (int r = 0; r < distinct_; ++r)
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

void TileMap::scatter(const std::byte* tile, std::byte* const* registers) const {
  const uint16_t* offsets = offsets_.data();
  for (int r = 0; r < registers_; ++r)
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

} // namespace lemma::layout
