// Boxes of tensor copies. See tensor_box.h.
#include "layout/tensor_box.h"

#include <algorithm>

namespace lemma::layout {
namespace {

bool is_interleaved(const TensorMapFields& map) {
  return map.interleave != TensorInterleave::none;
}

// Bits of what the innermost dimension counts: an element, or the 16 or 32 bytes of channels of one pixel.
uint32_t unit_bits(const TensorMapFields& map) {
  return is_interleaved(map) ? 128u << (map.interleave == TensorInterleave::b32) : element_bits(map.type);
}

bool is_padded(const TensorMapFields& map) {
  return chunk_payload_bytes(map.type) != kChunkBytes;
}

// Elements that a box has along a dimension. Without interleave the hardware ignores the element stride of
// the innermost; with it, it takes one slice of channels, whatever the box says (measured on an H200).
uint32_t steps_of(const TensorMapFields& map, int d) {
  const auto i = static_cast<size_t>(d);
  if (d == 0 && !is_interleaved(map))
    return map.box[i];
  if (d == map.rank - 2 && is_interleaved(map))
    return 1;
  return (map.box[i] + map.element_strides[i] - 1u) / map.element_strides[i];
}

class Rows {
public:
  Rows(const TensorMapFields& map, uint32_t row_elements, BoxUse use) : map_(map), elements_(row_elements) {
    bits_ = unit_bits(map);
    step_ = is_interleaved(map) && !map.is_im2col() ? map.element_strides[0] : 1;
    constexpr int64_t kStoredBits = 128;
    size_ = end_ = static_cast<int64_t>(map.dims[0]);
    // Rows of padded types are whole units.
    if (const int64_t in_unit = kStoredBits / bits_; use == BoxUse::store && in_unit > 1 && !is_padded(map))
      end_ = (size_ + in_unit - 1) / in_unit * in_unit;
    runs_.reserve(box_bytes(map) / row_bytes(map));
  }

  // The next row: `row_elements` of the innermost dimension from `first` on, at `at` in the others.
  void add(int64_t first, const std::array<int64_t, kMaxTensorRank>& at) {
    bool inside = true;
    uint64_t base = 0;
    for (size_t d = 1; inside && d < map_.rank; ++d) {
      inside = at[d] >= 0 && at[d] < static_cast<int64_t>(map_.dims[d]);
      base += static_cast<uint64_t>(at[d]) * map_.strides_bytes[d - 1];
    }
    if (step_ != 1) {
      for (uint32_t i = 0; i < elements_; ++i)
        add_run(first + int64_t{i} * step_, 1, inside, base);
      return;
    }
    add_run(first, elements_, inside, base);
  }

  std::vector<BoxRun> take() { return std::move(runs_); }

private:
  // Neighbours of the innermost dimension; the rest of their place is `base`, and `inside` if it is in the
  // tensor.
  void add_run(int64_t first, uint32_t count, bool inside, uint64_t base) {
    const int64_t last = first + count;
    const int64_t begin = inside ? std::clamp<int64_t>(0, first, last) : last;
    const int64_t size = inside ? std::clamp(size_, begin, last) : last;
    const int64_t end = inside ? std::clamp(end_, begin, last) : last;
    run(begin - first, {});
    run(size - begin, {.inside = true, .global_offset = offset_of(base, begin)});
    run(end - size, {.inside = true, .past_end = true, .global_offset = offset_of(base, size)});
    run(last - end, {});
  }

  uint64_t offset_of(uint64_t base, int64_t element) const {
    // Of packed elements runs begin and end at whole bytes: see coordinate_multiple() and the rules of dims.
    return base + static_cast<uint64_t>(element) * bits_ / 8;
  }

  void run(int64_t elements, BoxRun run) {
    if (elements <= 0)
      return;
    run.bytes = static_cast<uint32_t>(elements) * bits_ / 8;
    run.box_offset = offset_;
    runs_.push_back(run);
    offset_ += run.bytes;
  }

  const TensorMapFields& map_;
  uint32_t elements_, bits_ = 0, step_ = 1, offset_ = 0;
  int64_t size_ = 0; // elements of the tensor's rows
  int64_t end_ = 0;  // ... rounded up to what is moved
  std::vector<BoxRun> runs_;
};

std::vector<BoxRun> tile_runs(const TensorMapFields& map, const BoxRequest& request, BoxUse use) {
  Rows rows(map, steps_of(map, 0), use);
  std::array<uint32_t, kMaxTensorRank> step{};
  for (;;) {
    std::array<int64_t, kMaxTensorRank> at{};
    for (size_t d = 1; d < map.rank; ++d)
      at[d] = int64_t{request.coordinates[d]} + int64_t{step[d]} * map.element_strides[d];
    if (request.by_row)
      at[1] = request.coordinates[1 + step[1]];
    rows.add(request.coordinates[0], at);
    int d = 1;
    for (; d < map.rank; ++d) {
      if (++step[static_cast<size_t>(d)] < steps_of(map, d))
        break;
      step[static_cast<size_t>(d)] = 0;
    }
    if (d >= map.rank)
      return rows.take();
  }
}

// Pixels in the order of W, H, D, N, each dimension within the bounding box and stepped by its element
// stride. W is dimension 1, after the channels; of an interleaved tensor it is dimension 0, and the slice of
// channels stays. Of wide rows only W and N move.
class Pixels {
public:
  Pixels(const TensorMapFields& map, const BoxRequest& request)
      : map_(map), w_(is_interleaved(map) ? 0 : 1), moving_(request.wide.groups ? 1 : map.rank - 2u) {
    for (size_t d = 0; d < map.rank; ++d)
      base_[d] = request.coordinates[d];
    for (size_t s = 0; s + 2 < map.rank; ++s)
      offsets_[s] = request.im2col_offsets[s];
  }

  // Where the pixel is, `steps` along W beyond where the traversal is.
  std::array<int64_t, kMaxTensorRank> at(int64_t steps) const {
    std::array<int64_t, kMaxTensorRank> at = base_;
    for (size_t s = 0; s + 2 < map_.rank; ++s)
      at[w_ + s] += offsets_[s];
    at[w_] += steps * map_.element_strides[w_];
    return at;
  }

  bool is_in_box(int64_t steps) const { return base_[w_] + steps * map_.element_strides[w_] < end(0); }

  void next() {
    for (size_t s = 0; s < moving_; ++s) {
      int64_t& position = base_[w_ + s];
      position += map_.element_strides[w_ + s];
      if (position < end(s))
        return;
      position = map_.lower[s];
    }
    ++base_[map_.rank - 1u];
  }

private:
  int64_t end(size_t s) const { return static_cast<int64_t>(map_.dims[w_ + s]) + map_.upper[s]; }

  const TensorMapFields& map_;
  size_t w_, moving_; // spatial dimensions that the traversal moves in
  std::array<int64_t, kMaxTensorRank> base_{};
  std::array<int64_t, kMaxTensorRank> offsets_{};
};

std::vector<BoxRun> im2col_runs(const TensorMapFields& map, const BoxRequest& request, BoxUse use) {
  Rows rows(map, is_interleaved(map) ? 1 : map.channels, use);
  Pixels pixels(map, request);
  const auto add = [&](int64_t steps) {
    const auto at = pixels.at(steps);
    rows.add(at[0], at);
  };
  const WideRows wide =
      request.wide.groups ? request.wide : WideRows{.groups = 1, .pixels = map.pixels, .halo = 0};
  for (uint32_t group = 0; group < wide.groups; ++group) {
    for (uint32_t i = 1; i < wide.pixels; ++i, pixels.next())
      add(0);
    for (uint32_t i = 0; i <= wide.halo; ++i)
      add(i);
    pixels.next();
  }
  return rows.take();
}

} // namespace

TensorMapFields map_of_rows(TensorMapFields map) {
  map.box[1] = kIndexedRows;
  map.element_strides[1] = 1;
  return map;
}

TensorMapFields map_of_wide(TensorMapFields map, WideRows rows) {
  map.pixels = static_cast<uint16_t>(rows.groups * (rows.pixels + rows.halo));
  return map;
}

bool halo_leaves_box(const TensorMapFields& map, const BoxRequest& request) {
  Pixels pixels(map, request);
  for (uint32_t group = 0; group < request.wide.groups; ++group, pixels.next()) {
    for (uint32_t i = 1; i < request.wide.pixels; ++i)
      pixels.next();
    if (!pixels.is_in_box(request.wide.halo))
      return true;
  }
  return false;
}

uint64_t box_bytes(const TensorMapFields& map) {
  if (map.is_im2col())
    return uint64_t{row_bytes(map)} * map.pixels;
  uint64_t units = 1;
  for (int d = 0; d < map.rank; ++d)
    units *= steps_of(map, d);
  return units * unit_bits(map) / 8;
}

uint32_t row_bytes(const TensorMapFields& map) {
  if (map.is_im2col())
    return unit_bits(map) * (is_interleaved(map) ? 1 : map.channels) / 8;
  return unit_bits(map) * steps_of(map, 0) / 8;
}

uint32_t row_pitch(const TensorMapFields& map) {
  if (is_padded(map))
    return row_bytes(map) / chunk_payload_bytes(map.type) * kChunkBytes;
  if (map.swizzle == TensorSwizzle::none || is_interleaved(map))
    return row_bytes(map);
  return line_bytes(map.swizzle);
}

uint64_t shared_bytes(const TensorMapFields& map) {
  const uint64_t bytes = box_bytes(map) / row_bytes(map) * row_pitch(map);
  // The rows of interleaved boxes are dense, and the last chunk may change places with one after it.
  const uint64_t line = line_bytes(map.swizzle);
  return (bytes + line - 1) / line * line;
}

std::vector<BoxRun> box_runs(const TensorMapFields& map, const BoxRequest& request, BoxUse use) {
  return map.is_im2col() ? im2col_runs(map, request, use) : tile_runs(map, request, use);
}

} // namespace lemma::layout
