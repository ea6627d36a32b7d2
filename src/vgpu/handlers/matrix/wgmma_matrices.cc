// From descriptor to tile: visit_chunks() goes over the chunks of 16 bytes in the order of rows, for each
// swizzle compiled by itself; copy_chunks() collects them, rows_of_chunks() puts K along the rows. What of B
// was last at a place is kept a host thread (`seen_at`), in the form that dot() takes, and used again if
// every chunk is still the same.
#include "vgpu/handlers/matrix/wgmma_matrices.h"

#include "vgpu/engine/launch.h"

#include <algorithm>
#include <cstring>
#include <unordered_map>
#include <vector>

namespace lemma::vgpu {
namespace {

using layout::SmemDescriptor;
using layout::Swizzle;

using Word4 [[gnu::vector_size(16)]] = uint32_t;

Word4 load_words(const void* from) {
  Word4 words;
  std::memcpy(&words, from, sizeof words);
  return words;
}

void store_words(void* to, Word4 words) {
  std::memcpy(to, &words, sizeof words);
}

// Calls visit(chunk, which) for the chunks of the first `count` rows, a multiple of 8: row after row.
template <uint32_t kChunks, Swizzle kSwizzle, class Visit>
void visit_k_major(const SmemDescriptor& descriptor, const std::byte* shared, uint32_t count, Visit visit) {
  constexpr uint32_t kEight = 8 * kChunks;
  uint32_t chunks[kEight];
  const auto find = [&](uint32_t row) {
    for (uint32_t i = 0; i < kEight; ++i)
      chunks[i] = descriptor.k_major_chunk(row + i / kChunks, i % kChunks);
  };
  find(0);
  // Where eights of rows lie whole patterns of the swizzle apart, each is as the one before.
  const bool repeats = descriptor.stride % (8 * line_bytes(kSwizzle)) == 0;
  for (uint32_t row = 0; row < count; row += 8) {
    const std::byte* from = shared + (repeats ? size_t{row / 8} * descriptor.stride : 0);
    if (row != 0 && !repeats)
      find(row);
    for (uint32_t i = 0; i < kEight; ++i)
      visit(from + chunks[i], row * kChunks + i);
  }
}

// The same of an MN-major matrix, whose elements have 16 bits: eight rows after the other, for each the steps
// along K.
template <uint32_t kChunks, class Visit>
void visit_mn_major(const SmemDescriptor& descriptor, const std::byte* shared, uint32_t count, Visit visit) {
  constexpr uint32_t kDepth = 8 * kChunks;
  for (uint32_t i = 0; i < count * kChunks; ++i)
    visit(shared + descriptor.mn_major_chunk(i / kDepth, i % kDepth), i);
}

template <uint32_t kChunks, class Visit>
void visit_chunks(SmemDescriptor descriptor, bool mn_major, const std::byte* shared, uint32_t count,
                  Visit visit) {
  const auto run = [&]<Swizzle kSwizzle>() {
    descriptor.swizzle = kSwizzle; // known here, so that the addresses are a few shifts
    mn_major ? visit_mn_major<kChunks>(descriptor, shared, count, visit)
             : visit_k_major<kChunks, kSwizzle>(descriptor, shared, count, visit);
  };
  switch (descriptor.swizzle) {
  case Swizzle::none:
    return run.template operator()<Swizzle::none>();
  case Swizzle::b32:
    return run.template operator()<Swizzle::b32>();
  case Swizzle::b64:
    return run.template operator()<Swizzle::b64>();
  case Swizzle::b128:
    return run.template operator()<Swizzle::b128>();
  }
}

template <uint32_t kChunks>
void copy_chunks(const SmemDescriptor& descriptor, bool mn_major, const std::byte* shared, uint32_t count,
                 std::byte* out) {
  visit_chunks<kChunks>(descriptor, mn_major, shared, count, [&](const std::byte* from, uint32_t i) {
    store_words(out + i * layout::kChunkBytes, load_words(from));
  });
}

// Are the chunks as copy_chunks() has once written them to `copy`?
template <uint32_t kChunks>
bool are_chunks(const SmemDescriptor& descriptor, bool mn_major, const std::byte* shared, uint32_t count,
                const std::byte* copy) {
  Word4 difference{};
  visit_chunks<kChunks>(descriptor, mn_major, shared, count, [&](const std::byte* from, uint32_t i) {
    difference |= load_words(from) ^ load_words(copy + i * layout::kChunkBytes);
  });
  return (difference[0] | difference[1] | difference[2] | difference[3]) == 0;
}

// Where row r of each eight comes.
uint32_t place_of(uint32_t row, ColumnOrder order) {
  return order == ColumnOrder::as_is ? row : (row / 2 + row % 2 * 4);
}

// Chunks as copied to a tile with K along its rows, which are `stride` bytes apart.
template <uint32_t kChunks>
void rows_of_chunks(const std::byte* chunks, bool mn_major, uint32_t count, ColumnOrder order,
                    std::byte* tile, size_t stride) {
  constexpr uint32_t kBytes = kChunks * layout::kChunkBytes, kDepth = kBytes / 2;
  const auto* elements = reinterpret_cast<const uint16_t*>(chunks);
  for (uint32_t row = 0; row < count; ++row) {
    std::byte* to = tile + (row / 8 * 8 + place_of(row % 8, order)) * stride;
    if (!mn_major) {
      std::memcpy(to, chunks + row * kBytes, kBytes);
      continue;
    }
    for (uint32_t k = 0; k < kDepth; ++k)
      reinterpret_cast<uint16_t*>(to)[k] = elements[(row / 8 * kDepth + k) * 8 + row % 8];
  }
}

// By the place: where the CTA's shared memory is, and the descriptor.
struct Place {
  const std::byte* shared = nullptr;
  uint64_t descriptor = 0;
  friend bool operator==(const Place&, const Place&) = default;
};
struct PlaceHash {
  size_t operator()(const Place& at) const {
    return std::hash<const std::byte*>()(at.shared) ^ at.descriptor * 0x9e3779b97f4a7c15;
  }
};

// What was last seen there, and as what.
struct Seen {
  WgmmaMatrix matrix;
  std::vector<uint64_t> descriptors; // of its parts along K
  ColumnOrder order = ColumnOrder::as_is;
  numeric::DotModel model;
  int n = 0;
  std::vector<std::byte> chunks, tile; // as in shared memory; as dot() wants it
  numeric::ArrangedB arranged;
};

Seen& seen_at(const Place& place) {
  constexpr size_t kMostPlaces = 64; // of a few stages; of up to 100 KiB each
  static thread_local std::unordered_map<Place, Seen, PlaceHash> known;
  if (known.size() >= kMostPlaces && !known.contains(place))
    known.clear();
  return known[place];
}

template <uint32_t kChunks>
WgmmaColumns columns_of(const WgmmaMatrix& matrix, std::span<const uint64_t> descriptors,
                        const std::byte* shared, ColumnOrder order, const numeric::DotPlan& product) {
  constexpr size_t kRowBytes = kChunks * layout::kChunkBytes;
  Seen& seen = seen_at({shared, descriptors[0]});
  const auto count = static_cast<uint32_t>(product.shape().n);
  const size_t part_bytes = count * kRowBytes;
  const auto is_same = [&](size_t part) {
    return are_chunks<kChunks>(SmemDescriptor::decode(descriptors[part]), matrix.mn_major, shared, count,
                               seen.chunks.data() + part * part_bytes);
  };
  bool same = seen.matrix == matrix && std::ranges::equal(seen.descriptors, descriptors) &&
              seen.order == order && seen.n == product.shape().n && seen.model == product.model();
  for (size_t part = 0; same && part < descriptors.size(); ++part)
    same = is_same(part);
  if (same)
    return {seen.tile.data(), &seen.arranged};
  seen.matrix = matrix;
  seen.descriptors.assign(descriptors.begin(), descriptors.end());
  seen.order = order;
  seen.n = product.shape().n;
  seen.model = product.model();
  seen.chunks.resize(descriptors.size() * part_bytes);
  seen.tile.resize(seen.chunks.size());
  for (size_t part = 0; part < descriptors.size(); ++part) {
    std::byte* chunks = seen.chunks.data() + part * part_bytes;
    copy_chunks<kChunks>(SmemDescriptor::decode(descriptors[part]), matrix.mn_major, shared, count, chunks);
    rows_of_chunks<kChunks>(chunks, matrix.mn_major, count, order, seen.tile.data() + part * kRowBytes,
                            descriptors.size() * kRowBytes);
  }
  negate(seen.tile.data(), seen.tile.size(), matrix.negate);
  seen.arranged.arrange(product, {.b = seen.tile.data()});
  return {seen.tile.data(), &seen.arranged};
}

} // namespace

bool lies_in_written(const Cta& cta, const SmemDescriptor& descriptor, uint32_t rows, uint32_t row_chunks) {
  if (rows % 8 != 0 || descriptor.stride % (8 * line_bytes(descriptor.swizzle)) != 0)
    return false;
  uint32_t lowest = UINT32_MAX, highest = 0;
  for (uint32_t i = 0; i < 8 * row_chunks; ++i) {
    const uint32_t at = descriptor.k_major_chunk(i / row_chunks, i % row_chunks);
    lowest = std::min(lowest, at);
    highest = std::max(highest, at);
  }
  const uint64_t end = highest + layout::kChunkBytes + uint64_t{rows / 8 - 1} * descriptor.stride;
  return lowest >= kSharedReservedBytes && end <= cta.shared.size() &&
         std::memchr(cta.shared_written.data() + lowest, 0, end - lowest) == nullptr;
}

void gather_rows(const WgmmaMatrix& matrix, const std::byte* shared, std::byte* rows, size_t stride) {
  constexpr uint32_t kRows = 64, kRowBytes = kWgmmaRowChunks * layout::kChunkBytes;
  alignas(64) std::byte chunks[kRows * kRowBytes];
  copy_chunks<kWgmmaRowChunks>(SmemDescriptor::decode(matrix.descriptor), matrix.mn_major, shared, kRows,
                               chunks);
  negate(chunks, sizeof chunks, matrix.negate); // as the elements lie in words in either order
  rows_of_chunks<kWgmmaRowChunks>(chunks, matrix.mn_major, kRows, ColumnOrder::as_is, rows, stride);
}

void negate(std::byte* tile, size_t bytes, uint32_t sign_bits) {
  if (sign_bits == 0)
    return;
  for (size_t i = 0; i < bytes; i += 4) {
    uint32_t word;
    std::memcpy(&word, tile + i, 4);
    word ^= sign_bits;
    std::memcpy(tile + i, &word, 4);
  }
}

WgmmaColumns columns_of(const WgmmaMatrix& matrix, std::span<const uint64_t> descriptors,
                        const std::byte* shared, ColumnOrder order, const numeric::DotPlan& product) {
  return matrix.row_chunks == kWgmmaSparseRowChunks
             ? columns_of<kWgmmaSparseRowChunks>(matrix, descriptors, shared, order, product)
             : columns_of<kWgmmaRowChunks>(matrix, descriptors, shared, order, product);
}

} // namespace lemma::vgpu
